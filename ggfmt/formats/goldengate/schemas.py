"""What Avro, JSON and Hive schemas of GoldenGate's messages share: metadata fields, types by release, and Hive tables.

A schema of fixed metadata is as the manual of 12.2 prints it, so the names of its metadata fields are known. The same
is true of a `metaColumnsTemplate` with the same fields. For other templates, and releases without fixed metadata, no
schema is published. Their schemas get an additional property with the metadata fields as a template; Avro and JSON
Schema allow it. Avro's Parsing Canonical Form and fingerprint ignore it. `schema_hash` is a hash of the whole text: if
messages name their schema by that hash, the schema has no such property.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any

from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.formats.api.format import Context
from ggfmt.formats.goldengate import metacolumns
from ggfmt.java.text import InvalidValueError
from ggfmt.model.table import Column, Kind, SqlType, TableDef
from ggfmt.options.releases import RELEASES

if TYPE_CHECKING:
    from ggfmt.model.sql import Sql  # few runs make statements for Hive

METADATA_PROPERTY = "ggfmt.metaColumnsTemplate"
PREFIXES_PROPERTY = "ggfmt.flattened"  # prefixes of column names in the two images of a JSON message

# JSON does not say what kind of number it has. DECIMAL without precision keeps the digits as they are.
JSON_TYPES = {
    "string": SqlType(Kind.STRING),
    "number": SqlType(Kind.DECIMAL),
    "integer": SqlType(Kind.INTEGER),
    "boolean": SqlType(Kind.BOOLEAN),
}

# The end of a field name in Avro and Kafka Connect. The field is true if its column is missing.
MISSING_SUFFIX = "_isMissing"


def is_flag(name: str, fields: Mapping[str, object]) -> bool:
    """Return whether a field says whether another one is missing. Columns may be null, and flags may not."""
    suffixed = name.endswith(MISSING_SUFFIX) and name.removesuffix(MISSING_SUFFIX) in fields
    return suffixed and fields[name] == "boolean"


def metadata_property(options: Any, context: Context) -> dict[str, str]:
    """Return the property of a schema that lists the metadata fields; empty for fixed metadata."""
    metadata: Sequence[metacolumns.MetaColumn] = options.metadata(context)
    return {} if _are_fixed(metadata) else {METADATA_PROPERTY: metacolumns.Template().render(tuple(metadata))}


def _are_fixed(metadata: Sequence[metacolumns.MetaColumn]) -> bool:
    names = tuple(column.name for column in metadata)
    if names[:5] != metacolumns.ALWAYS_FIXED or not metacolumns.FIXED_NAMES.keys() >= set(names):
        return False
    fixed = (metacolumns.fixed_columns(iso8601, *names) for iso8601 in (False, True))
    return tuple(metadata) in fixed


def declared_metadata(schema: Mapping[str, Any]) -> tuple[metacolumns.MetaColumn, ...] | None:
    """Return the metadata fields that a schema lists; None without them. Raises: InvalidValueError for wrong text."""
    text = schema.get(METADATA_PROPERTY)
    if text is None:
        return None
    if not isinstance(text, str):
        raise InvalidValueError("is not a string")
    return metacolumns.Template().parse(text) if text.strip() else ()


def declared_prefixes(schema: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the prefixes of column names in the two images; None if the schema does not declare them."""
    match schema.get(PREFIXES_PROPERTY):
        case [str(before), str(after)]:
            return before, after
    return None


# The kind of a column for each primitive type of an Avro schema.
AVRO_KINDS = {
    "string": Kind.STRING,
    "boolean": Kind.BOOLEAN,
    "int": Kind.INTEGER,
    "long": Kind.INTEGER,
    "float": Kind.FLOAT,
    "double": Kind.DOUBLE,
    "bytes": Kind.BINARY,
}


class MessageType(str, Enum):
    STRING = "string"
    BOOLEAN = "boolean"
    INTEGER = "integer"
    FLOAT = "float"
    DOUBLE = "double"


def target_type(source: SqlType, release: str) -> MessageType:
    """Return the type of a column in messages. Booleans come from other sources than trails."""
    kind = source.kind
    if kind is Kind.BOOLEAN:
        return MessageType.BOOLEAN
    if not RELEASES[release].typed_numbers:
        return (
            MessageType.DOUBLE if kind in (Kind.INTEGER, Kind.DECIMAL, Kind.FLOAT, Kind.DOUBLE) else MessageType.STRING
        )
    if kind is Kind.INTEGER or (kind is Kind.DECIMAL and source.scale == 0):
        return MessageType.INTEGER
    if kind is Kind.FLOAT:
        return MessageType.FLOAT
    return MessageType.DOUBLE if kind in (Kind.DECIMAL, Kind.NUMBER, Kind.DOUBLE) else MessageType.STRING


_HIVE_TYPES = {Kind.INTEGER: "BIGINT", Kind.FLOAT: "FLOAT", Kind.DOUBLE: "DOUBLE", Kind.BOOLEAN: "BOOLEAN"}


def hive_table_name(table: TableDef) -> str:
    """Return the name in the metastore: the parts of the full name in lower case, with `_` for other characters."""
    return re.sub(r"[^a-z0-9_]", "_", "_".join(table.parts).lower())


def hive_type(column: Column) -> Sql:
    """Return the type that reads a column's text without loss; decimals of unknown scale are strings."""
    from ggfmt.model.sql import sql

    if column.type.kind is Kind.DECIMAL and column.type.scale is not None and 0 <= column.type.scale <= 38:
        return sql("DECIMAL(38,{})", column.type.scale)
    return sql(_HIVE_TYPES.get(column.type.kind, "STRING"))


def unique_names(names: Sequence[str], taken: Sequence[str]) -> list[str]:
    """Append underscores to each name until it is not in `taken`. Hive ignores case."""
    used = {name.lower() for name in taken}
    result = []
    for name in names:
        while name.lower() in used:
            name += "_"
        used.add(name.lower())
        result.append(name)
    return result


def text_table(
    table: TableDef,
    columns: Sequence[tuple[str, Sql]],
    field: str,
    line: str,
    null: str,
    location: str,
    header: bool = False,
) -> Sql | Diagnostic:
    """Return the statement for a table over delimited text; a Diagnostic if Hive cannot read the format. `header`: the
    first line of each file has names. Spark ignores `NULL DEFINED AS`, so a table property has the text for NULL."""
    from ggfmt.model.sql import HIVE, sql

    if len(field) != 1 or ord(field) > 0x7F:
        return _hive_problem(
            table, "Hive separates fields with one ASCII character", "set `fieldDelimiter` to one ASCII character"
        )
    if line != "\n":
        return _hive_problem(table, "Hive ends lines with a line feed", "set `lineDelimiter` to `CDATA[\\n]`")
    return create_table(
        table,
        columns,
        sql("ROW FORMAT DELIMITED FIELDS TERMINATED BY {}\nSTORED AS TEXTFILE", HIVE.literal(field)),
        location,
        {"serialization.null.format": null} | ({"skip.header.line.count": "1"} if header else {}),
    )


def create_table(
    table: TableDef, columns: Sequence[tuple[str, Sql]], storage: Sql, location: str, properties: dict[str, str]
) -> Sql | Diagnostic:
    from ggfmt.model.sql import HIVE, UnquotableError, joined, sql

    try:
        listed = joined(",\n", [sql("  {} {}", HIVE.identifier(name), kind) for name, kind in columns])
    except UnquotableError as error:
        return _hive_problem(table, f"Hive has no such column: {error}", "name the column by `format.replacements`")
    return sql(
        "CREATE EXTERNAL TABLE IF NOT EXISTS {}{}\n{}\nLOCATION {}\nTBLPROPERTIES ({});\n",
        HIVE.identifier(hive_table_name(table)),
        sql(" (\n{}\n)", listed) if columns else sql(""),
        storage,
        HIVE.literal(location),
        joined(", ", [sql("{}={}", HIVE.literal(name), HIVE.literal(text)) for name, text in properties.items()]),
    )


def _hive_problem(table: TableDef, reason: str, help: str) -> Diagnostic:
    return Diagnostic("GG208", f"ggfmt cannot define a Hive table: {reason}", Span(table=table.full_name), help)
