"""The tables of an input: what each is at last, which columns were added on the way, and the types of its values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import pairwise

import pyarrow as pa

from ggfmt.diagnostics.diagnostic import Diagnostic, Span, UsageError, suggestion
from ggfmt.engine.plan import Job
from ggfmt.frames.batches import FILE_BITS, Wanted
from ggfmt.frames.plan import merged
from ggfmt.frames.shapes import HEAD, IMAGES, MISSING, MOST_DIGITS, NAMES, SCALARS, column_type
from ggfmt.model.table import TableDef
from ggfmt.options.table_keys import Keys, keys_of

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
    def row(self) -> list[pa.Field]:
        """The columns of its rows."""
        return [pa.field(name, self.types[name]) for name in self.definition.column_names]

    @property
    def wanted(self) -> Wanted:
        """Its operations in the typed shape, without tokens and the name of the table."""
        head = [field for field in HEAD if field.name not in _NOT_STAGED]
        image = pa.struct(self.row)
        images = (one for name in IMAGES for one in (pa.field(name, image), pa.field(MISSING[name], NAMES)))
        return Wanted(pa.schema([*head, *images]))


def tables_of(job: Job, keys: Keys = (), types: Types = ()) -> dict[str, Table]:
    """All tables that are known, in the order of their names. UsageError GG570 for a key of columns that there are not,
    for a type that there is not, and for a pattern that no column has."""
    chosen = [(pattern, _type(name)) for pattern, name in types]
    by_name: dict[str, list[tuple[TableDef, int]]] = {
        table.full_name: [(table, -1)] for table in job.catalog.tables() if table.columns
    }
    for event in job.events:
        at = (event.input << FILE_BITS) + event.line
        by_name.setdefault(event.table.full_name, []).append((event.table, at))
    tables = {name: _table(by_name[name], keys, chosen) for name in sorted(by_name)}
    if tables:
        _check_patterns(tables, chosen)
    return tables


def _table(definitions: Sequence[tuple[TableDef, int]], keys: Keys, types: Sequence[tuple[str, pa.DataType]]) -> Table:
    last = definitions[-1][0]
    common = {column.name: column.type for column in merged(table for table, _ in definitions).columns}
    table = replace(last, columns=tuple(replace(column, type=common[column.name]) for column in last.columns))
    added = {
        name: at
        for (before, _), (after, at) in pairwise(definitions)
        for name in after.column_names
        if name not in before.column_names
    }
    by_column = {
        column.name: next(
            (type for pattern, type in reversed(types) if fnmatchcase(f"{table.full_name}.{column.name}", pattern)),
            column_type(column.type),
        )
        for column in table.columns
    }
    return Table(_keyed(table, keys), {name: at for name, at in added.items() if name in by_column}, by_column)


def _keyed(table: TableDef, keys: Keys) -> TableDef:
    """The table with the key that is given for it, if there is one."""
    names = keys_of(table.full_name, keys) or keys_of(EVERY_TABLE, keys)
    found = table.with_keys(names) if names else table
    for lacking in found.not_in_key(names):
        message = f"the key is to have `{lacking}`, which is no column of the table"
        help = suggestion(lacking, table.column_names) or "name one of its columns"
        raise UsageError(Diagnostic("GG570", message, Span(table=table.full_name), help))
    return found


def _type(name: str) -> pa.DataType:
    found = _DECIMAL.fullmatch(name)
    if found is not None and 1 <= int(found[1]) <= MOST_DIGITS and int(found[2]) <= int(found[1]):
        return pa.decimal128(int(found[1]), int(found[2]))
    if name not in _BY_NAME:
        legal = ", ".join(f"`{known}`" for known in _BY_NAME)
        raise UsageError(
            Diagnostic("GG570", f"`{name}` is no type of a column", help=f"give {legal} or `decimal(P,S)`")
        )
    return _BY_NAME[name]


def _check_patterns(tables: Mapping[str, Table], types: Sequence[tuple[str, pa.DataType]]) -> None:
    columns = [f"{table.name}.{name}" for table in tables.values() for name in table.types]
    for pattern, _ in types:
        if not any(fnmatchcase(column, pattern) for column in columns):
            message = f"no column is `{pattern}`, which is to have a type"
            help = suggestion(pattern, columns) or "give TABLE.COLUMN, such as `S.ORDERS.PRICE` or `*.PRICE`"
            raise UsageError(Diagnostic("GG570", message, help=help))
