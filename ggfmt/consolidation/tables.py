"""The tables of an input: what each is at last, which columns were added on the way, and the types of its values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

import pyarrow as pa

from ggfmt.consolidation.asked import unusable
from ggfmt.diagnostics.diagnostic import Diagnostic, Span, UsageError, suggestion
from ggfmt.frames.batches import FILE_BITS, FrameProjection
from ggfmt.frames.plan import merge_tables
from ggfmt.frames.shapes import HEAD, IMAGES, MAX_DIGITS, MISSING, NAMES, SCALARS, column_type
from ggfmt.model.table import Column, TableDef
from ggfmt.options.value_types import Keys, keys_of
from ggfmt.scan.splits import ReadJob

EVERY_TABLE = "*"  # in keys

_NOT_STAGED = ("table", "tokens")
_DECIMAL = re.compile(r"decimal\( *([0-9]{1,2}) *, *([0-9]{1,2}) *\)")
_BY_NAME = {name: type for type, name in SCALARS.items()}

Types = Sequence[tuple[str, str]]  # patterns of `TABLE.COLUMN`, and names of types


@dataclass(frozen=True)
class Table:
    """A table of the input.

    definition  the last one, with its key; its types have the values of all definitions before it, too
    added       columns that an earlier definition lacked, and the `seq` from which on they are there
    types       the type of each column in frames
    """

    definition: TableDef
    added: Mapping[str, int] = field(default_factory=dict)
    types: Mapping[str, pa.DataType] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.definition.full_name

    @property
    def row(self) -> list[pa.Field[Any]]:
        """The columns of its rows."""
        return [pa.field(name, self.types[name]) for name in self.definition.column_names]

    @property
    def wanted(self) -> FrameProjection:
        """Its operations in the typed shape, without tokens and the name of the table."""
        head = [field for field in HEAD if field.name not in _NOT_STAGED]
        image = pa.struct(self.row)
        images = (one for name in IMAGES for one in (pa.field(name, image), pa.field(MISSING[name], NAMES)))
        return FrameProjection(pa.schema([*head, *images]))


def tables_of(
    job: ReadJob, keys: Keys = (), types: Types = (), known_keys: Mapping[str, Sequence[str]] | None = None
) -> dict[str, Table]:
    """All tables that are known, in the order of their names; `known_keys` are those of tables whose key neither `keys`
    nor a definition tells. UsageError GG551 for a key of columns that there are not,
    for a type that there is not, and for a pattern that no column has."""
    chosen = [(pattern, type_named(name)) for pattern, name in types]
    known = [*(table for table in job.catalog.tables() if table.columns), *(event.table for event in job.events)]
    by_name: dict[str, list[TableDef]] = {}
    for definition in known:
        by_name.setdefault(definition.full_name, []).append(definition)
    tables = {}
    for name in sorted(by_name):
        table = _table(job, by_name[name], keys, chosen)
        key = (known_keys or {}).get(name)
        if key and not table.definition.primary_keys:
            table = replace(table, definition=with_key(table.definition, key))
        tables[name] = table
    if tables:
        _check_patterns(tables, chosen)
    return tables


def _table(
    job: ReadJob, definitions: Sequence[TableDef], keys: Keys, types: Sequence[tuple[str, pa.DataType]]
) -> Table:
    table, added = last_definition(job, definitions[0].full_name)
    common = {column.name: column.type for column in merge_tables(definitions).columns}
    table = replace(table, columns=tuple(replace(column, type=common[column.name]) for column in table.columns))
    by_column = {
        column.name: next(
            (type for pattern, type in reversed(types) if fnmatchcase(f"{table.full_name}.{column.name}", pattern)),
            column_type(column.type),
        )
        for column in table.columns
    }
    names = keys_of(table.full_name, keys) or keys_of(EVERY_TABLE, keys)
    return Table(with_key(table, names) if names else table, added, by_column)


def last_definition(job: ReadJob, name: str) -> tuple[TableDef, Mapping[str, int]]:
    """The last definition of a table in the input, and the columns that some definition added to the one before, with
    the `seq` from which on they are there."""
    table = job.catalog.get(name)
    added: dict[str, int] = {}
    for event in job.events:
        if event.table.full_name != name:
            continue
        if table is not None:
            place = (event.input << FILE_BITS) + event.line
            added |= {column: place for column in event.table.column_names if column not in table.column_names}
        table = event.table
    assert table is not None
    return table, {column: place for column, place in added.items() if column in table.column_names}


def with_key(table: TableDef, names: Sequence[str]) -> TableDef:
    """The table with a key of some columns; UsageError GG551 for a column that it does not have."""
    keyed = table.with_keys(names)
    lacking = keyed.not_in_key(names)
    if lacking:
        message = f"`primaryKeys` names `{lacking[0]}`, which is no column of the table"
        help = f"its columns are {', '.join(f'`{name}`' for name in table.column_names)}"
        raise UsageError(Diagnostic("GG551", message, Span(table=table.full_name), help))
    return keyed


def type_named(name: str) -> pa.DataType:
    """A type of columns by its name in Spark's SQL; UsageError GG551 if there is none."""
    found = _DECIMAL.fullmatch(name)
    if found is not None and 1 <= int(found[1]) <= MAX_DIGITS and int(found[2]) <= int(found[1]):
        return pa.decimal128(int(found[1]), int(found[2]))
    if name not in _BY_NAME:
        legal = ", ".join(f"`{known}`" for known in _BY_NAME)
        raise UsageError(
            Diagnostic("GG551", f"`{name}` is no type of a column", help=f"give {legal} or `decimal(P,S)`")
        )
    return _BY_NAME[name]


def _check_patterns(tables: Mapping[str, Table], types: Sequence[tuple[str, pa.DataType]]) -> None:
    columns = [f"{table.name}.{name}" for table in tables.values() for name in table.types]
    for pattern, _ in types:
        if not any(fnmatchcase(column, pattern) for column in columns):
            message = f"no column is `{pattern}`, which is to have a type"
            help = suggestion(pattern, columns) or "give TABLE.COLUMN, such as `S.ORDERS.PRICE` or `*.PRICE`"
            raise unusable(message, help)


def is_defined(job: ReadJob, name: str) -> bool:
    """Whether somebody says which columns a table has: the user, or a metadata record."""
    return name in job.catalog.trusted or any(event.table.full_name == name for event in job.events)


def with_columns(table: TableDef, names: Sequence[str]) -> TableDef:
    """A table that was found in data, with the columns of rows that were there before: data may show changed ones
    alone."""
    own = {column.name: column for column in table.columns}
    return replace(table, columns=tuple(({name: own.get(name, Column(name)) for name in names} | own).values()))
