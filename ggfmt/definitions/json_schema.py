"""Table definitions from the JSON schemas that GoldenGate's JSON formatters write (`.schema.json`).

Followed: the manual of 12.2, 6.3.3, for the operation model, whose columns stand in `definitions.row`; and what later
releases write for the row model (`json_row`), whose columns stand at the top among the metadata members. So do those of
both images of flattened messages, each with the name of its image before its own.

A JSON schema does not list the primary key: every column has key 0. Nor does it tell lengths, precisions and scales.
`number` is DECIMAL, `integer` INTEGER, `boolean` BOOLEAN and `string` STRING; a column is nullable if its type
includes `null`.
"""

from __future__ import annotations

from collections.abc import Mapping

from ggfmt.definitions.row_fields import FieldForm, WrittenMetadata, column_fields
from ggfmt.definitions.source import DefinitionFile
from ggfmt.formats.goldengate.schema_metadata import declared_prefixes
from ggfmt.model.table import Column, Kind, SqlType, TableDef

DEFAULT_PREFIXES = ("before.", "after.")  # of columns in flattened messages
TYPES = {
    "string": SqlType(Kind.STRING),
    "number": SqlType(Kind.DECIMAL),
    "integer": SqlType(Kind.INTEGER),
    "boolean": SqlType(Kind.BOOLEAN),
}


def is_json_schema(document: object) -> bool:
    """Whether a parsed JSON document is the schema of an object with members."""
    return (
        isinstance(document, dict)
        and document.get("type") == "object"
        and isinstance(document.get("properties"), dict)
        and ("$schema" in document or "title" in document)
    )


def parse_json_schema(
    source: DefinitionFile, document: Mapping[str, object], written: WrittenMetadata | None
) -> list[TableDef]:
    """The one table of a JSON schema, named by its `title`; problems and doubts go to `source`, all GG202."""
    title = document.get("title")
    if not isinstance(title, str):
        source.problem("the schema has no `title`, which names the table")
        return []
    members = _members(source, title, document, written)
    if members is None:
        source.problem("`definitions.row` has no `properties`, which are the columns", table=title)
        return []
    columns = []
    for name, member in members.items():
        column = _column(name, member)
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


def _members(
    source: DefinitionFile, table: str, document: Mapping[str, object], written: WrittenMetadata | None
) -> dict[str, object] | None:
    """The members of the schema that are columns; None if the operation model's row lacks them."""
    definitions = document.get("definitions")
    if isinstance(definitions, dict) and "row" in definitions:
        row = definitions["row"]
        members = row.get("properties") if isinstance(row, dict) else None
        return members if isinstance(members, dict) else None
    properties = document["properties"]
    assert isinstance(properties, dict)  # by is_json_schema
    forms = {name: _form(member) for name, member in properties.items()}
    columns = {name: properties[name] for name in column_fields(source, table, document, forms, written)}
    prefixes = declared_prefixes(document) or (written.prefixes if written is not None else None) or DEFAULT_PREFIXES
    before = [name for name in columns if name.startswith(prefixes[0])]
    names = [name.removeprefix(prefixes[0]) for name in before]
    if names and [*before, *(prefixes[1] + name for name in names)] == list(columns):
        return dict(zip(names, columns.values(), strict=False))
    return columns


def _form(member: object) -> FieldForm:
    if not isinstance(member, dict):
        return FieldForm.OTHER
    kind = member.get("type")
    if isinstance(kind, list) and "null" in kind:
        return FieldForm.NULLABLE
    if kind == "string":
        return FieldForm.TEXT
    return FieldForm.CONTAINER if kind in ("array", "object") or "$ref" in member else FieldForm.OTHER


def _column(name: str, member: object) -> Column | None:
    given = member.get("type") if isinstance(member, dict) else None
    types = given if isinstance(given, list) else [given]
    values = [item for item in types if item != "null"]
    if len(values) != 1 or not isinstance(values[0], str) or values[0] not in TYPES:
        return None
    return Column(name, TYPES[values[0]], nullable=len(values) < len(types))
