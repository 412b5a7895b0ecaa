"""Hive and Spark table definitions over what a handler writes: text with delimiters, and object container files.

Spark drops `NULL DEFINED AS` in silence, so the text for NULL is given as a property.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.model.table import Column, Kind, TableDef

_TYPES = {Kind.INTEGER: "BIGINT", Kind.FLOAT: "FLOAT", Kind.DOUBLE: "DOUBLE", Kind.BOOLEAN: "BOOLEAN"}
_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def table_name(table: TableDef) -> str:
    """The name in the metastore: the parts of the full name put together, in lower case, of letters, digits and `_`."""
    return re.sub(r"[^a-z0-9_]", "_", "_".join(table.parts).lower())


def column_type(column: Column) -> str:
    """The type that reads a column's text without loss: decimals of unknown scale and all else stay text."""
    if column.type.kind is Kind.DECIMAL and column.type.scale is not None and 0 <= column.type.scale <= 38:
        return f"DECIMAL(38,{column.type.scale})"
    return _TYPES.get(column.type.kind, "STRING")


def literal(text: str) -> str:
    """A text as a string of Hive's SQL; control characters in octal."""
    inner = "".join(_ESCAPES.get(char) or (f"\\{ord(char):03o}" if ord(char) < 0x20 else char) for char in text)
    return f"'{inner}'"


def unique(names: Sequence[str], taken: Sequence[str]) -> list[str]:
    """The names, each with underscores behind it until it is none of `taken`; case does not matter to Hive."""
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
    columns: Sequence[tuple[str, str]],
    field: str,
    line: str,
    null: str,
    location: str,
    header: bool = False,
) -> str | Diagnostic:
    """A table over delimited text; a Diagnostic where Hive cannot read what is written. `header`: the first line of a
    file has names."""
    if len(field) != 1 or ord(field) > 0x7F:
        return _unreadable(table, "Hive divides fields by one ASCII character", "set another `fieldDelimiter`")
    if line != "\n":
        return _unreadable(table, "Hive ends lines with a line feed", "set `lineDelimiter` to `CDATA[\\n]`")
    return _statement(
        table,
        columns,
        f"ROW FORMAT DELIMITED FIELDS TERMINATED BY {literal(field)}\nSTORED AS TEXTFILE",
        location,
        {"serialization.null.format": null} | ({"skip.header.line.count": "1"} if header else {}),
    )


def avro_table(table: TableDef, schema: str, location: str) -> str:
    """A table over object container files with their schema."""
    return _statement(table, (), "STORED AS AVRO", location, {"avro.schema.literal": schema})


def _statement(
    table: TableDef, columns: Sequence[tuple[str, str]], storage: str, location: str, properties: dict[str, str]
) -> str:
    listed = ",\n".join(f"  `{name.replace('`', '``')}` {kind}" for name, kind in columns)
    listing = f" (\n{listed}\n)" if columns else ""
    given = ", ".join(f"{literal(name)}={literal(value)}" for name, value in properties.items())
    return (
        f"CREATE EXTERNAL TABLE IF NOT EXISTS `{table_name(table)}`{listing}\n{storage}\n"
        f"LOCATION {literal(location)}\nTBLPROPERTIES ({given});\n"
    )


def _unreadable(table: TableDef, reason: str, help: str) -> Diagnostic:
    return Diagnostic("GG208", f"no Hive table can be made: {reason}", Span(table=table.full_name), help)
