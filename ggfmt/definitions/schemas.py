"""Table definitions from the Avro and JSON schemas that GoldenGate's formatters write (`.avsc`, `.schema.json`).

A schema does not list the primary key: every column has key 0. JSON schemas also lack lengths, precisions and scales.

In a row schema, columns and metadata of the messages are fields side by side. These decide, in this order: the property
that ggfmt writes into its schemas; the settings of the messages' writer (`--input-config`); the names of the fixed
metadata in the manual of 12.2 (6.3.3 and 6.4.3). ggfmt does not guess: fields that may be metadata of a template are an
error. GoldenGate's columns may be null, its metadata are never null.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum, auto
from itertools import takewhile
from typing import Any

from ggfmt.dataclasses import dataclass
from ggfmt.definitions.source import DefinitionFile
from ggfmt.diagnostics.diagnostic import list_names
from ggfmt.formats.api.format import WriterSettings
from ggfmt.formats.goldengate.json import JsonOptions
from ggfmt.formats.goldengate.metacolumns import ALWAYS_FIXED, FIXED_NAMES, OP_TYPE, MetaColumn, Template
from ggfmt.formats.goldengate.schemas import (
    AVRO_KINDS,
    JSON_TYPES,
    METADATA_PROPERTY,
    declared_metadata,
    declared_prefixes,
    is_flag,
)
from ggfmt.java.text import InvalidValueError
from ggfmt.model.table import Column, Kind, SqlType, TableDef

_OP_TYPE_NAME = next(name for name, keyword in FIXED_NAMES.items() if keyword == OP_TYPE)
_SHOWN_NAMES = 6
_HELP = (
    "give the handler file that wrote the messages by `--input-config`; if all of these properties are columns, add "
    f'`"{METADATA_PROPERTY}": ""` to the schema'
)


class FieldForm(Enum):
    NULLABLE = auto()  # always a column
    TEXT = auto()  # a text that is never null: metadata in GoldenGate's schemas, otherwise a column
    CONTAINER = auto()  # a list or a map: always metadata
    OTHER = auto()  # a column, but not in a schema of GoldenGate


@dataclass(frozen=True)
class WrittenMetadata:
    """The metadata fields according to the settings of a writer.

    names     names of the metadata fields
    fixed     the metadata are the fixed ones of a release
    prefixes  prefixes of column names in the two images of flattened messages
    """

    names: Sequence[str]
    fixed: bool = False
    prefixes: tuple[str, str] | None = None

    @classmethod
    def of(cls, source: WriterSettings) -> WrittenMetadata | None:
        """Return the metadata fields; None if the settings do not define them."""
        text = source.given.get("metaColumnsTemplate")
        if text is not None:
            try:
                return cls([column.name for column in Template().parse(text)])
            except InvalidValueError:
                return None  # reported when the input is planned
        options: Any = source.options
        if not hasattr(options, "meta_columns_template"):
            return None
        prefixes = None
        if isinstance(options, JsonOptions) and options.flatten:
            delimiter = options.flatten_delimiter
            prefixes = (options.before_object_name + delimiter, options.after_object_name + delimiter)
        template: Sequence[MetaColumn] | None = options.meta_columns_template
        if template is not None:
            return cls([column.name for column in template], prefixes=prefixes)
        return cls(ALWAYS_FIXED, True, prefixes) if options.metadata(source.context) else None


def column_fields(
    source: DefinitionFile,
    table: str,
    schema: Mapping[str, object],
    forms: Mapping[str, FieldForm],
    written: WrittenMetadata | None,
) -> list[str]:
    """Return the fields that are columns. An undecided field is a doubt of `source`, an error a problem."""
    try:
        declared = declared_metadata(schema)
    except InvalidValueError as error:
        source.problem(f"the property `{METADATA_PROPERTY}` {error}", error.help, table=table)
        return []
    if declared is not None:
        return _without(forms, _checked(source, table, declared, forms))
    if written is not None and all(_may_be_metadata(forms.get(name)) for name in written.names):
        return _without(forms, _fixed(forms) if written.fixed else written.names)
    rest = _without(forms, _fixed(forms))
    leading = list(takewhile(lambda name: _may_be_metadata(forms[name]), rest))
    columns = rest[len(leading) :]
    if leading and columns and all(forms[name] is FieldForm.NULLABLE for name in columns):
        shown = list_names(leading[:_SHOWN_NAMES])
        more = f" and {len(leading) - _SHOWN_NAMES} more" if len(leading) > _SHOWN_NAMES else ""
        noun = "field" if len(leading) == 1 else "fields"
        message = f"the schema does not say whether the {noun} {shown}{more} are columns or metadata of the messages"
        source.doubt(message if len(leading) > 1 else message.replace(" are columns ", " is a column "), _HELP, table)
        return columns
    return rest


def _checked(
    source: DefinitionFile, table: str, declared: Sequence[MetaColumn], forms: Mapping[str, FieldForm]
) -> list[str]:
    """Return declared metadata without those that are also columns, which a JSON row message may have."""
    names = [column.name for column in declared]
    for name in names:
        if name not in forms:
            message = f"the property `{METADATA_PROPERTY}` names a field that the schema does not have"
            source.problem(message, table=table, field=name)
    return [name for name in names if forms.get(name) is not FieldForm.NULLABLE]


def _without(forms: Mapping[str, FieldForm], names: Sequence[str]) -> list[str]:
    left_out = set(names)
    return [name for name in forms if name not in left_out]


def _fixed(forms: Mapping[str, FieldForm]) -> list[str]:
    """Return the fixed metadata among the fields, if the operation type is one."""
    names = [name for name in FIXED_NAMES if _may_be_metadata(forms.get(name))]
    return names if _OP_TYPE_NAME in names else []


def without_metadata(names: Sequence[str]) -> list[str]:
    """Return the names of columns in the header of a file, which may start with the fixed metadata."""
    forms = dict.fromkeys(names, FieldForm.TEXT)
    return _without(forms, _fixed(forms))


def _may_be_metadata(form: FieldForm | None) -> bool:
    return form in (FieldForm.TEXT, FieldForm.CONTAINER)


LOGICAL_KINDS = {
    ("long", "timestamp-millis"): Kind.TIMESTAMP,
    ("long", "timestamp-micros"): Kind.TIMESTAMP,
    ("long", "local-timestamp-millis"): Kind.TIMESTAMP,
    ("long", "local-timestamp-micros"): Kind.TIMESTAMP,
    ("int", "date"): Kind.DATE,
    ("int", "time-millis"): Kind.TIME,
    ("long", "time-micros"): Kind.TIME,
}
WRAPPER_FIELDS = (["table_name", "schema_hash", "payload"], ["table_name", "schema_fingerprint", "payload"])


def is_avro_schema(document: object) -> bool:
    return isinstance(document, dict) and document.get("type") == "record" and isinstance(document.get("fields"), list)


def parse_avro_schema(
    source: DefinitionFile, document: Mapping[str, object], written: WrittenMetadata | None
) -> list[TableDef]:
    """Return the table of an Avro schema; none for the generic wrapper. Problems and doubts are GG202.

    The columns of a row schema (manual of 12.2, 6.4.3) are the fields beside the metadata, those of an operation schema
    (6.5.3) the fields of the record in `before` and `after`. `<COL>_isMissing` is a flag. The generic wrapper's schema
    (6.4.7.3) describes no table.
    """
    name, namespace = document.get("name"), document.get("namespace")
    if not isinstance(name, str):
        source.problem("the record has no `name`, which names the table")
        return []
    table_name = f"{namespace}.{name}" if isinstance(namespace, str) and namespace and "." not in name else name
    before = len(source.problems)
    fields = _named_fields(source, document, table_name)
    if table_name == "oracle.goldengate.generic_wrapper" or list(fields) in WRAPPER_FIELDS:
        return []
    image = _image(fields)
    if image is None:
        forms = {name: _avro_form(spec) for name, spec in fields.items() if not is_flag(name, fields)}
        columns_and_flags = (
            set(column_fields(source, table_name, document, forms, written)) | fields.keys() - forms.keys()
        )
        fields = {name: spec for name, spec in fields.items() if name in columns_and_flags}
    else:
        fields = _named_fields(source, image, table_name)
    columns = list(_avro_columns(source, fields, table_name))
    if len(source.problems) > before:
        return []
    table = source.table(table_name, columns)
    return [table] if table else []


def _named_fields(source: DefinitionFile, record: Mapping[str, object], table: str) -> dict[str, object]:
    fields: dict[str, object] = {}
    given = record.get("fields")
    for place, item in enumerate(given if isinstance(given, list) else (), 1):
        name = item.get("name") if isinstance(item, dict) else None
        if not isinstance(name, str) or "type" not in item:
            source.problem(f"field {place} of the record is not an object with `name` and `type`", table=table)
        elif name in fields:
            source.problem("the record has the field twice", table=table, field=name)
        else:
            fields[name] = item["type"]
    return fields


def _image(fields: Mapping[str, object]) -> Mapping[str, object] | None:
    if "before" not in fields or "after" not in fields:
        return None
    for name in ("before", "after"):
        spec = _resolve(fields[name])[0]
        if isinstance(spec, dict) and spec.get("type") == "record":
            return spec
    return None


def _avro_form(spec: object) -> FieldForm:
    value, nullable = _resolve(spec)
    if nullable:
        return FieldForm.NULLABLE
    if isinstance(value, dict):
        value = value.get("type") if not value.get("logicalType") else None
    if value == "string":
        return FieldForm.TEXT
    return FieldForm.CONTAINER if value in ("array", "map") else FieldForm.OTHER


def _avro_columns(source: DefinitionFile, fields: Mapping[str, object], table: str) -> Iterable[Column]:
    for name, spec in fields.items():
        if is_flag(name, fields):
            continue
        value, nullable = _resolve(spec)
        sql_type = _sql_type(value)
        if sql_type is None:
            source.problem(
                "the type of a column is not understood",
                f"give one of {list_names(AVRO_KINDS)}, alone or in a union with `null`",
                table=table,
                field=name,
            )
        else:
            yield Column(name, sql_type, nullable)


def _resolve(spec: object) -> tuple[object, bool]:
    """Return the innermost type of a field and whether it may be null. A union of several types stays."""
    nullable = False
    while True:
        if isinstance(spec, list):
            values = [item for item in spec if item != "null"]
            nullable = nullable or len(values) < len(spec)
            if len(values) != 1:
                return spec, nullable
            spec = values[0]
        elif isinstance(spec, dict) and isinstance(spec.get("type"), (dict, list)):
            spec = spec["type"]
        else:
            return spec, nullable


def _sql_type(spec: object) -> SqlType | None:
    attributes: Mapping[str, object] = spec if isinstance(spec, dict) else {"type": spec}
    base, logical = attributes.get("type"), attributes.get("logicalType")
    if not isinstance(base, str):
        return None
    if base in ("bytes", "fixed") and logical == "decimal":
        precision, scale = attributes.get("precision"), attributes.get("scale", 0)
        if type(precision) is int and type(scale) is int and 0 <= scale <= precision:
            return SqlType(Kind.DECIMAL, precision=precision, scale=scale)
        return None
    if isinstance(logical, str) and (base, logical) in LOGICAL_KINDS:
        return SqlType(LOGICAL_KINDS[base, logical])
    if base == "fixed":
        size = attributes.get("size")
        return SqlType(Kind.BINARY, length=size) if type(size) is int else None
    return SqlType(AVRO_KINDS[base]) if base in AVRO_KINDS else None


DEFAULT_PREFIXES = ("before.", "after.")  # of columns in flattened messages


def is_json_schema(document: object) -> bool:
    return (
        isinstance(document, dict)
        and document.get("type") == "object"
        and isinstance(document.get("properties"), dict)
        and ("$schema" in document or "title" in document)
    )


def parse_json_schema(
    source: DefinitionFile, document: Mapping[str, object], written: WrittenMetadata | None
) -> list[TableDef]:
    """Return the table of a JSON schema, named by its `title`. Problems and doubts are GG202.

    The columns of the operation model (manual of 12.2, 6.3.3) are in `definitions.row`. Those of the row model
    (`json_row`) are at the top level, among the metadata, and so are those of flattened messages, prefixed by image.
    """
    title = document.get("title")
    if not isinstance(title, str):
        source.problem("the schema has no `title`, which names the table")
        return []
    members = _json_members(source, title, document, written)
    if members is None:
        source.problem("`definitions.row` has no `properties`, which are the columns", table=title)
        return []
    columns = []
    for name, member in members.items():
        column = _json_column(name, member)
        if column is None:
            source.problem(
                "the type of a column is not understood",
                "give `string`, `number`, `integer` or `boolean`, alone or in a list with `null`",
                table=title,
                field=name,
            )
        else:
            columns.append(column)
    if len(columns) < len(members):
        return []
    table = source.table(title, columns)
    return [table] if table else []


def _json_members(
    source: DefinitionFile, table: str, document: Mapping[str, object], written: WrittenMetadata | None
) -> dict[str, object] | None:
    """Return the members that are columns; None if the row of the operation model has none."""
    definitions = document.get("definitions")
    if isinstance(definitions, dict) and "row" in definitions:
        row = definitions["row"]
        members = row.get("properties") if isinstance(row, dict) else None
        return members if isinstance(members, dict) else None
    properties = document["properties"]
    assert isinstance(properties, dict)  # by is_json_schema
    forms = {name: _json_form(member) for name, member in properties.items()}
    columns = {name: properties[name] for name in column_fields(source, table, document, forms, written)}
    prefixes = declared_prefixes(document) or (written.prefixes if written is not None else None) or DEFAULT_PREFIXES
    before = [name for name in columns if name.startswith(prefixes[0])]
    names = [name.removeprefix(prefixes[0]) for name in before]
    if names and [*before, *(prefixes[1] + name for name in names)] == list(columns):
        return dict(zip(names, columns.values(), strict=False))
    return columns


def _json_form(member: object) -> FieldForm:
    if not isinstance(member, dict):
        return FieldForm.OTHER
    kind = member.get("type")
    if isinstance(kind, list) and "null" in kind:
        return FieldForm.NULLABLE
    if kind == "string":
        return FieldForm.TEXT
    return FieldForm.CONTAINER if kind in ("array", "object") or "$ref" in member else FieldForm.OTHER


def _json_column(name: str, member: object) -> Column | None:
    given = member.get("type") if isinstance(member, dict) else None
    types = given if isinstance(given, list) else [given]
    values = [item for item in types if item != "null"]
    if len(values) != 1 or not isinstance(values[0], str) or values[0] not in JSON_TYPES:
        return None
    return Column(name, JSON_TYPES[values[0]], nullable=len(values) < len(types))
