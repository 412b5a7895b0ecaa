"""JSON: `json` (GoldenGate for Big Data 12.2, 6.3) and `json_row` (from 12.3 on).

* `json` writes one object per operation: first the metadata, then the images `before` and `after`. An update has both.
  An insert has no `before`, a delete no `after`, a truncate neither.
* `json_row` writes the columns of one image next to the metadata: the after image of an insert or update, the before
  image of a delete. A truncate has only metadata.
* A missing column has no member. NULL is `null`. Numbers keep the digits of the source.
* Pretty print and schemas have the layout and the escapes of javax.json 1.0, the library of GoldenGate.
"""

from __future__ import annotations

from functools import partial
from itertools import chain

from ggfmt.dataclasses import dataclass
from ggfmt.formats.api import losses
from ggfmt.formats.api.format import Context, Format, Name, Records, column_names
from ggfmt.formats.goldengate import metacolumns
from ggfmt.formats.goldengate import options as shared
from ggfmt.model.table import TableDef
from ggfmt.options.spec import option, switch
from ggfmt.options.value_types import Charset, Delimiter, MemberName, SchemaDirectory, Text


@dataclass(frozen=True)
class JsonRecordOptions(shared.OpKeyOptions):
    pretty_print: bool = switch(
        "Write each message over several lines, indented.", aliases=("prettyPrintformat.prettyPrint",)
    )
    json_delimiter: str = option(Delimiter(), "", "The text after each message. If empty, nothing separates messages.")
    generate_schema: bool = switch("Write a JSON schema for each table, `<table>.schema.json`.", True)
    schema_directory: str = option(
        SchemaDirectory("generate_schema"),
        shared.SCHEMA_DIRECTORY,
        "The directory for schemas. A relative path is below the output directory.",
    )
    treat_all_columns_as_strings: bool = switch("Write every column as a string.", aliases=("treatAllColumnsAsString",))
    encoding: str = option(Charset(), "UTF-8", "The charset of messages and schemas.")
    version_schemas: bool = switch("Also write each schema to a file with a time stamp in its name.")
    iso8601_format: bool = shared.iso8601_option()
    include_primary_keys: bool = switch(
        "Write the names of the primary key's columns.", until="19.1", replaced_by="metaColumnsTemplate"
    )
    meta_columns_template: tuple[metacolumns.MetaColumn, ...] | None = metacolumns.template_option()
    omit_null_values: bool = switch(
        # The manuals of these releases print that `false` omits NULL, and that `true` is the default.
        "Leave out columns that are NULL.",
        since="12.3",
        disputed=("12.3", "12.3.2"),
    )
    omit_null_values_special_update_handling: bool = switch(
        "With `omitNullValues`: in updates, keep NULL in `after` if the column was not NULL before.", since="21"
    )

    def metadata(self, context: Context) -> tuple[metacolumns.MetaColumn, ...]:
        more = ["primary_keys"] * self.include_primary_keys + ["tokens"] * context.include_tokens
        return metacolumns.columns_of(self, context, *metacolumns.ALWAYS_FIXED, *more)


@dataclass(frozen=True)
class JsonOptions(JsonRecordOptions):
    flatten: bool = switch(
        "Write the columns of both images as members `before.NAME` and `after.NAME`, without nested objects.",
        since="12.3",
    )
    flatten_delimiter: str = option(
        Text(), ".", "The text between the names of the image and the column in a flattened message.", since="12.3"
    )
    before_object_name: str = option(MemberName(), "before", "The name of the before image.", since="12.3")
    after_object_name: str = option(MemberName(), "after", "The name of the after image.", since="12.3")

    @property
    def image_names(self) -> tuple[str, str]:
        """The names of the images, or, in flattened messages, the prefixes of their columns."""
        end = self.flatten_delimiter if self.flatten else ""
        return self.before_object_name + end, self.after_object_name + end


@dataclass(frozen=True)
class JsonRowOptions(JsonRecordOptions):
    pk_update_handling: str = shared.pk_update_option()


def _operation_names(options: JsonOptions, context: Context, table: TableDef) -> Records:
    metadata = metacolumns.metadata_names(options, context)
    before = Name(options.before_object_name, "the before image", "beforeObjectName")
    after = Name(options.after_object_name, "the after image", "afterObjectName")
    if not options.flatten:
        return ((*metadata, before, after),)
    columns = (
        column_names(table, prefix=image.text + options.flatten_delimiter, property=image.property)
        for image in (before, after)
    )
    return (before, after), [*metadata, *chain.from_iterable(columns)]


_LOSSES = (
    losses.NESTED_AS_TEXT,
    losses.NUMBER_SPELLING.of(*shared.NUMBER_KINDS).except_when("treatAllColumnsAsStrings=true"),
    losses.CHARACTER_REPLACED,
    *shared.NO_METADATA,
    losses.KEYS_NOT_SHOWN.except_when("includePrimaryKeys=true").by_template("primarykeycolumns"),
    losses.NULL_AS_MISSING.when("omitNullValues=true"),
    losses.TYPES_BY_VALUE,
    losses.TYPES_NOT_SHOWN.when("treatAllColumnsAsStrings=true"),
)


_format = partial(Format, schema_kind="json")

FORMATS = (
    _format(
        name="json",
        doc="JSON: one object per operation, with its before and after images.",
        options=JsonOptions,
        proposed=("fileSuffix=.json", "format.jsonDelimiter=CDATA[\\n]"),
        names=_operation_names,
        losses=(losses.EMPTY_BEFORE_AS_NONE, *_LOSSES),
    ),
    _format(
        name="json_row",
        doc="JSON: one object per operation, with the columns of one image next to its metadata.",
        options=JsonRowOptions,
        proposed=("fileSuffix=.json", "format.jsonDelimiter=CDATA[\\n]", "format.pkUpdateHandling=delete-insert"),
        names=lambda options, context, table: ([*metacolumns.metadata_names(options, context), *column_names(table)],),
        losses=(*shared.KEY_UPDATES, losses.BEFORE_NOT_SHOWN, *_LOSSES),
        since="12.3",
    ),
)
