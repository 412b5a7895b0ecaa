"""JSON, GoldenGate for Big Data 12.2, 6.3: `json`.

* One object an operation: metadata, then `before` and `after` as the operation has them. An update always shows both,
  an insert no `before`, a delete no `after`, a truncate neither.
* A missing column has no member; NULL is `null`; numbers keep the digits of the source.
* Pretty print and schemas are laid out and escaped as by javax.json 1.0, which made Oracle's.
"""

from __future__ import annotations

from dataclasses import dataclass

from ggfmt.formats.api.format import Format
from ggfmt.formats.api.losses import (
    CHARACTER_REPLACED,
    EMPTY_FOR_ABSENT,
    KEYS_NOT_SHOWN,
    NESTED_AS_TEXT,
    NO_BEFORE_AS_EMPTY,
    NUMBER_SPELLING,
    TYPES_BY_VALUE,
    TYPES_NOT_SHOWN,
)
from ggfmt.formats.goldengate.losses import NUMBERS, TOKENS
from ggfmt.formats.goldengate.options import SCHEMA_DIRECTORY, iso8601_option, op_key_option
from ggfmt.options.spec import Options, option
from ggfmt.options.value_types import Bool, Charset, Delimiter, SchemaDirectory


@dataclass(frozen=True)
class JsonOptions(Options):
    insert_op_key: str = op_key_option("insert", "I")
    update_op_key: str = op_key_option("update", "U")
    delete_op_key: str = op_key_option("delete", "D")
    truncate_op_key: str = op_key_option("truncate", "T")
    pretty_print: bool = option(
        Bool(), False, "Lay each message out over lines.", aliases=("prettyPrintformat.prettyPrint",)
    )
    json_delimiter: str = option(Delimiter(), "", "Stands after each message; without one, messages touch.")
    generate_schema: bool = option(Bool(), True, "Write a JSON schema for each table, `<table>.schema.json`.")
    schema_directory: str = option(
        SchemaDirectory("generate_schema"),
        SCHEMA_DIRECTORY,
        "Where schemas are written; a relative one is below the output.",
    )
    treat_all_columns_as_strings: bool = option(
        Bool(), False, "Write every column as a string.", aliases=("treatAllColumnsAsString",)
    )
    encoding: str = option(Charset(), "UTF-8", "The charset of messages and schemas.")
    version_schemas: bool = option(Bool(), False, "Keep a copy of every schema written, with a time stamp in its name.")
    iso8601_format: bool = iso8601_option()
    include_primary_keys: bool = option(Bool(), False, "Write the names of the primary key's columns.", until="19.1")


FORMATS = (
    Format(
        name="json",
        doc="JSON: one object an operation, with its before and after images.",
        options=JsonOptions,
        writes="ggfmt.formats.goldengate.json.write",
        reads="ggfmt.formats.goldengate.json.read",
        proposed=(
            "fileSuffix=.json",
            "format.jsonDelimiter=CDATA[\\n]",
        ),
        marks=(b"{",),
        schema_kind="json",
        losses=(
            NESTED_AS_TEXT,
            NO_BEFORE_AS_EMPTY,
            NUMBER_SPELLING.of(*NUMBERS).except_when("treatAllColumnsAsStrings=true"),
            CHARACTER_REPLACED,
            EMPTY_FOR_ABSENT,
            TOKENS,
            KEYS_NOT_SHOWN.except_when("includePrimaryKeys=true"),
            TYPES_BY_VALUE,
            TYPES_NOT_SHOWN.when("treatAllColumnsAsStrings=true"),
        ),
    ),
)
