"""Debezium's schema changes: the definitions that their `tableChanges` tell."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from ggfmt.formats.debezium import DebeziumOptions
from ggfmt.formats.debezium.source import qualified_name
from ggfmt.formats.debezium.types import TableColumn, of_table_column
from ggfmt.formats.records.refused import RecordError
from ggfmt.model.table import Column, TableDef

_PART = re.compile(r'"((?:[^"]|"")*)"(?:\.|$)')


class ChangedTable(msgspec.Struct, gc=False):
    columns: tuple[TableColumn, ...] = ()
    primaryKeyColumnNames: tuple[str, ...] | None = None


class TableChange(msgspec.Struct, gc=False):
    type: str
    id: str
    table: ChangedTable | None = None


class SchemaChangeRecord(msgspec.Struct, gc=False):
    tableChanges: tuple[TableChange, ...] | None = None


def described_tables(change: SchemaChangeRecord, options: DebeziumOptions) -> Iterator[TableDef]:
    """The definitions of the tables that a schema change makes or alters; Refused for an `id` that names none."""
    for item in change.tableChanges or ():
        if item.type != "DROP" and item.table is not None and item.table.columns:
            columns = sorted(item.table.columns, key=lambda column: column.position or 0)
            yield TableDef(
                _name(item.id, options),
                tuple(Column(column.name, of_table_column(column), column.optional) for column in columns),
            ).with_keys(item.table.primaryKeyColumnNames or ())


def _name(identity: str, options: DebeziumOptions) -> str:
    """The name of a table from its quoted parts, `"db"."schema"."table"`."""
    parts = [part.replace('""', '"') for part in _PART.findall(identity)]
    if not 1 <= len(parts) <= 3 or not parts[-1]:
        raise RecordError("GG308", "`tableChanges` has an `id` that is no name of a table")
    database = parts[0] if len(parts) > 1 else None
    schema = parts[1] if len(parts) > 2 else None
    return qualified_name(database, schema, parts[-1], options)
