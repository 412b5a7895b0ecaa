"""JSON schemas of a table's messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ggfmt.columnar.pieces import escape_json_text
from ggfmt.formats.api.format import Context
from ggfmt.formats.api.writing import SchemaFile
from ggfmt.formats.goldengate.json import JsonOptions, JsonRecordOptions
from ggfmt.formats.goldengate.metacolumns import (
    ALL_TOKENS,
    KEY_COLUMNS,
    KEYWORDS,
    NOW,
    NOW_ISO8601,
    OBJECT_NAME,
    OP_TYPE,
    POSITION,
    TIMESTAMP,
    MetaColumn,
)
from ggfmt.formats.goldengate.schemas import PREFIXES_PROPERTY, MessageType, metadata_property, target_type
from ggfmt.java.charsets import byte_order_mark, codec_of
from ggfmt.model.table import Column, TableDef
from ggfmt.options.releases import FIRST_RELEASE, is_later

_JSON_TYPES = {
    MessageType.STRING: "string",
    MessageType.BOOLEAN: "boolean",
    MessageType.INTEGER: "integer",
    MessageType.FLOAT: "number",
    MessageType.DOUBLE: "number",
}

# As the manual prints them (6.3.3); of other keywords no schema is known.
_DESCRIPTIONS = {
    OBJECT_NAME: "The fully qualified table name",
    OP_TYPE: "The operation type",
    TIMESTAMP: "The operation timestamp",
    NOW: "The current processing timestamp",
    NOW_ISO8601: "The current processing timestamp",
    POSITION: "The position of the operation in the data source",
}

# JSON documents laid out as by javax.json 1.0, which made Oracle's: four blanks, no blank after the colon.

Json = Mapping[str, "Json"] | Sequence["Json"] | str | int | bool | None


def pretty(value: Json, depth: int = 0) -> str:
    """The document as text; an empty object is a brace, a line end and a brace."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return escape_json_text(value)
    inner, outer = "\n" + "    " * (depth + 1), "\n" + "    " * depth
    if isinstance(value, Mapping):
        members = ",".join(f"{inner}{escape_json_text(key)}:{pretty(item, depth + 1)}" for key, item in value.items())
        return f"{{{members}{outer}}}"
    return f"[{','.join(inner + pretty(item, depth + 1) for item in value)}{outer}]"


_KEYS: Json = {
    "description": "Array of the primary key column names.",
    "type": "array",
    "items": {"type": "string"},
    "minItems": 0,
    "uniqueItems": True,
}
_TOKENS: Json = {
    "type": "object",
    "description": "Token keys and values are free form key value pairs.",
    "properties": {},
    "additionalProperties": True,
}


def json_type(column: Column, options: JsonRecordOptions, release: str) -> str:
    """The JSON type of a column."""
    return "string" if options.treat_all_columns_as_strings else _JSON_TYPES[target_type(column.type, release)]


def json_schema(table: TableDef, options: JsonRecordOptions, context: Context) -> tuple[SchemaFile, ...]:
    """`<table>.schema.json` as the manual prints it (6.3.3).

    Fixed metadata always have `tokens`, and from 12.3 on and in the row model `primary_keys` too, whether messages have
    them or not; those of a template are what messages have, and a property says which they are.
    """
    if not options.generate_schema:
        return ()
    text = pretty(_schema(table, options, context))
    content = byte_order_mark(options.encoding) + text.encode(codec_of(options.encoding), "replace")
    return (SchemaFile(f"{table.full_name}.schema.json", content),)


def _schema(table: TableDef, options: JsonRecordOptions, context: Context) -> Json:
    metadata = _metadata(options, context)
    columns: dict[str, Json] = {
        column.name: {"type": [json_type(column, options, context.release), "null"]} for column in table.columns
    }
    definitions: dict[str, Json] = {}
    flattened: dict[str, Json] = {}
    if isinstance(options, JsonOptions):
        names = (options.before_object_name, options.after_object_name)
        if options.flatten:
            delimiter = options.flatten_delimiter
            prefixes = [name + delimiter for name in names]
            values = {prefix + column: kind for prefix in prefixes for column, kind in columns.items()}
            flattened = {PREFIXES_PROPERTY: prefixes}
        else:
            definitions["row"] = {"type": "object", "properties": columns, "additionalProperties": False}
            values = {name: {"$ref": "#/definitions/row"} for name in names}
    else:
        values = columns
    properties = {column.name: _property(column) for column in metadata if column.name not in values}
    if any(column.keyword == ALL_TOKENS for column in metadata):
        definitions["tokens"] = _TOKENS
    required = [column.name for column in metadata if column.keyword not in (KEY_COLUMNS, ALL_TOKENS)]
    return {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "title": table.full_name,
        "description": f"JSON schema for table {table.full_name}",
        "definitions": definitions,
        "type": "object",
        "properties": {**properties, **values},
        **({"required": required} if required else {}),  # which cannot be empty in draft 4
        "additionalProperties": False,
        **metadata_property(options, context),
        **flattened,
    }


def _metadata(options: JsonRecordOptions, context: Context) -> tuple[MetaColumn, ...]:
    """The metadata members that a schema tells of."""
    shown = options.metadata(context)
    if options.meta_columns_template is not None or not shown:
        return shown
    keys = options.include_primary_keys or not isinstance(options, JsonOptions)
    keys = keys or is_later(context.release, FIRST_RELEASE)
    scalar = (column for column in options.fixed if column.keyword != KEY_COLUMNS)
    return (*scalar, *[MetaColumn(KEY_COLUMNS, "primary_keys")] * keys, MetaColumn(ALL_TOKENS, "tokens"))


def _property(column: MetaColumn) -> Json:
    if column.keyword == KEY_COLUMNS:
        return _KEYS
    if column.keyword == ALL_TOKENS:
        return {"$ref": "#/definitions/tokens"}
    return {"description": _DESCRIPTIONS.get(column.keyword, KEYWORDS[column.keyword].title), "type": "string"}
