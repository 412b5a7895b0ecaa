"""The tables of an input: their columns at every place of the input, their keys, and the types of their values."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from fnmatch import fnmatchcase
from functools import cached_property

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import narrow, repeated
from ggfmt.dataclasses import dataclass, field, replace
from ggfmt.diagnostics.diagnostic import Span, UsageError, suggestion
from ggfmt.frames.batches import FILE_BITS
from ggfmt.frames.column_types import SMALL_TYPES, TEXT, column_type, listed_types, named_type, type_name
from ggfmt.frames.plan import merge_tables
from ggfmt.model.selection import TableSelection
from ggfmt.model.table import Column, Kind, SqlType, TableDef
from ggfmt.options.value_types import EVERY_TABLE, Keys, OnUnfit, key_of, keys_of
from ggfmt.reading.splits import ReadJob
from ggfmt.rowfiles.writers import stores
from ggfmt.rows.numbers import NumberRange, is_number
from ggfmt.rows.positions import PositionKind
from ggfmt.rows.query import parse_time, query_error

_UNIX = datetime(1970, 1, 1, tzinfo=timezone.utc)
_START = -(1 << 62)  # the `seq` before that of every operation

FOUND_NUMBER = SqlType(Kind.DECIMAL)  # what discovery says of a number in JSON

_NUMBERS = (Kind.INTEGER, Kind.DECIMAL, Kind.FLOAT, Kind.DOUBLE)

Types = Sequence[tuple[str, str]]  # patterns of `TABLE.COLUMN`, and names of types


@dataclass(frozen=True)
class Epoch:
    """A stretch of the input in which a table has the same columns. `start`: the `seq` from which on it has them."""

    start: int
    columns: tuple[str, ...]


@dataclass(frozen=True)
class RowTable:
    """A table of the input."""

    definition: TableDef  # with the columns of all definitions in the input, in order of appearance, and with the key
    epochs: tuple[Epoch, ...]  # the columns at every place of the input, in input order; at least one
    types: Mapping[str, pa.DataType] = field(default_factory=dict)  # the type of each column in a result
    defined: bool = True  # the user or a metadata record defines the columns; otherwise they were found in the data
    # columns of numbers that were found in the data: `types` has their type once all data are read. The type of a later
    # definition stays if it has all of the numbers.
    found: frozenset[str] = frozenset()
    chosen: Mapping[str, pa.DataType] = field(default_factory=dict)  # own types of columns with one that the user chose
    on_unfit: OnUnfit = "error"  # what becomes of a value that the type of its column does not have

    @property
    def name(self) -> str:
        return self.definition.full_name

    @property
    def key(self) -> tuple[str, ...]:
        return self.definition.primary_keys

    @property
    def identity(self) -> tuple[str, ...]:
        """The columns that identify a row: the key, or all columns of a table without a key."""
        return self.key or self.columns

    @property
    def key_hash(self) -> str:
        name = "hash"
        while name in self.columns:
            name += "_"
        return name

    @property
    def columns(self) -> tuple[str, ...]:
        return self.definition.column_names

    def key_type(self, name: str) -> pa.DataType:
        """Return the type in which values of a column are compared as a key, or as a part of rows without one."""
        type = self.types[name]
        return TEXT if name in self.found or pa.types.is_list(type) else type

    def has_numbers(self, name: str) -> bool:
        """Return whether the source has numbers in a column, whatever type the rows have."""
        return name in self.found or any(
            column.name == name and column.type.kind in (*_NUMBERS, Kind.NUMBER) for column in self.definition.columns
        )

    @property
    def number_texts(self) -> list[str]:
        """The columns of the key whose numbers rows have as texts, so that they are compared by value."""
        return [name for name in self.key if self.key_type(name) == TEXT and self.has_numbers(name)]

    def schema_of(self, columns: Sequence[str]) -> pa.Schema:
        return pa.schema([pa.field(name, self.types[name]) for name in columns])

    def is_old(self, name: str, epoch: int) -> bool:
        return self.arrivals(name)[epoch] == self.epochs[0].start

    @cached_property
    def _starts(self) -> list[int]:
        return [epoch.start for epoch in self.epochs[1:]]

    def epochs_of(self, seqs: pa.Int64Array) -> pa.Int64Array:
        """Return the numbers of the epochs of operations. Those of a batch are of a few epochs in most cases."""
        ends = pc.min_max(seqs)
        first, last = (bisect_right(self._starts, ends[end].as_py() or 0) for end in ("min", "max"))
        starts = self._starts[first:last]
        if not starts:
            return narrow(repeated(pa.scalar(first, pa.int64()), len(seqs)), pa.Int64Array)
        order = pc.array_sort_indices(pa.concat_arrays([pa.array(starts, pa.int64()), seqs]))  # a stable sort
        begun = pc.cumulative_sum(pc.cast(pc.less(order, len(starts)), pa.int64()))
        return pc.add(begun.take(pc.array_sort_indices(order)).slice(len(starts)), first)

    @cached_property
    def _arrivals(self) -> dict[str, list[int | None]]:
        found: dict[str, list[int | None]] = {name: [] for name in self.columns}
        last: dict[str, int] = {}
        for epoch in self.epochs:
            last = {name: last.get(name, epoch.start) for name in epoch.columns}
            for name, arrivals in found.items():
                arrivals.append(last.get(name))
        return found

    def arrivals(self, name: str) -> list[int | None]:
        """Return for each epoch the `seq` since which the table has a column, None where it lacks the column. A column
        that was dropped and added again is a new one."""
        return self._arrivals[name]

    @cached_property
    def presence(self) -> dict[str, pa.BooleanArray]:
        """By column whether the table has it in each epoch."""
        return {name: pa.array([at is not None for at in every]) for name, every in self._arrivals.items()}


def tables_of(
    job: ReadJob,
    keys: Keys = (),
    types: Types = (),
    known_keys: Mapping[str, Sequence[str]] | None = None,
    to: str = "parquet",
    on_unfit: OnUnfit = "error",
    before: Mapping[str, pa.DataType] | None = None,
) -> dict[str, RowTable]:
    """Return all known tables that are selected, in the order of their names.

    known_keys  the keys of tables for which neither `keys` nor a definition has one
    to          where rows go: columns are texts if it does not have the type of their source
    before      the types of columns in a base snapshot, by `TABLE.COLUMN`

    Raises: UsageError GG551 for a key with an unknown column, for an unknown type, and for a pattern without a column.
    """
    chosen = [(pattern, _stored_type_named(name, to)) for pattern, name in types]
    known = [*(table for table in job.catalog.tables() if table.columns), *(event.table for event in job.events)]
    by_name: dict[str, list[TableDef]] = {}
    for definition in known:
        if job.selection.selects(definition.full_name):
            by_name.setdefault(definition.full_name, []).append(definition)
    tables = {}
    for name in sorted(by_name):
        table = replace(_table(job, by_name[name], keys, chosen, to), on_unfit=on_unfit)
        key = (known_keys or {}).get(name)
        if key and not table.key:
            table = replace(table, definition=with_key(table.definition, key))
        tables[name] = table
    if tables:
        _check_patterns(tables, chosen, before or {})
    return tables


def _table(
    job: ReadJob, definitions: Sequence[TableDef], keys: Keys, types: Sequence[tuple[str, pa.DataType]], to: str
) -> RowTable:
    name = definitions[0].full_name
    first = job.catalog.get(name)
    epochs = [] if first is None or not first.columns else [Epoch(_START, first.column_names)]
    last = first
    for event in job.events:
        if event.table.full_name == name:
            last = event.table
            place = (event.input << FILE_BITS) + event.line
            epochs.append(Epoch(place if epochs else _START, event.table.column_names))
    assert last is not None
    found_in = () if first is None or name in job.catalog.trusted else first.columns
    numbers = {column.name for column in found_in if column.type == FOUND_NUMBER}
    merged = merge_tables(definitions).columns
    later = {column.name: column for column in (merge_tables(definitions[1:]).columns if definitions[1:] else merged)}
    columns = (later[column.name] if column.name in numbers & later.keys() else column for column in merged)
    table = TableDef(name, tuple(columns)).with_keys(last.key_names)
    asked: dict[str, pa.DataType] = {}
    for pattern, type in types:
        asked |= {column: type for column in table.column_names if fnmatchcase(f"{name}.{column}", pattern)}
    own = {column.name: stored_type(column_type(column.type), to) for column in table.columns}
    chosen = key_of(name, keys)
    defined = name in job.catalog.trusted or any(event.table.full_name == name for event in job.events)
    of_number = {column.name for column in table.columns if column.type.kind in _NUMBERS}
    found = frozenset(of_number & numbers - asked.keys())
    of_user = {name: own[name] for name in asked}
    table = with_key(table, chosen) if chosen else table
    return RowTable(table, tuple(epochs), {**own, **asked}, defined, found, of_user)


def with_key(table: TableDef, names: Sequence[str]) -> TableDef:
    """Return the table with a key of some columns. Raises: UsageError GG551 for a column that it does not have."""
    keyed = table.with_keys(names)
    lacking = keyed.not_in_key(names)
    if lacking:
        message = f"`--key` names `{lacking[0]}`, which is not a column of the table"
        help = f"choose from its columns: {', '.join(f'`{name}`' for name in table.column_names)}"
        raise UsageError("GG551", message, Span(table=table.full_name), help)
    return keyed


def type_named(name: str) -> pa.DataType:
    """Return a type of columns by its name in Spark's SQL. Raises: UsageError GG551 if there is none."""
    found = named_type(name)
    if found is None:
        raise UsageError(
            "GG551", f"`{name}` is not a type of a column", help=f"use one of these types: {listed_types()}"
        )
    return found


def _stored_type_named(name: str, to: str) -> pa.DataType:
    type = type_named(name)
    if not stores(to, type):
        raise query_error(f"`{to}` cannot store columns of the type `{name}`", "give `string`")
    return type


def stored_type(type: pa.DataType, to: str) -> pa.DataType:
    return type if stores(to, type) else TEXT


def stored_types(types: Mapping[str, pa.DataType], to: str) -> dict[str, pa.DataType]:
    return {column: stored_type(type, to) for column, type in types.items()}


def row_type_named(name: str) -> pa.DataType:
    """Return a type of rows by its name in a manifest. Raises: UsageError GG551 if there is none."""
    return SMALL_TYPES.get(name) or type_named(name)


def _check_patterns(
    tables: Mapping[str, RowTable], types: Sequence[tuple[str, pa.DataType]], before: Mapping[str, pa.DataType]
) -> None:
    columns = [f"{table.name}.{name}" for table in tables.values() for name in table.types]
    for pattern, type in types:
        if any(fnmatchcase(column, pattern) for column in columns):
            continue
        other = {column: own for column, own in before.items() if fnmatchcase(column, pattern)}
        for column, own in other.items():
            if own != type:
                message = f"`{column}` is `{type_name(own)}` in the existing rows, and no new file has the column"
                raise query_error(message, "leave out the type, or give the type of the existing rows")
        if not other:
            columns = [*columns, *before]
            message = f"a type is given for `{pattern}`, but no column matches"
            help = suggestion(pattern, columns) or "give TABLE.COLUMN, such as `S.ORDERS.PRICE` or `*.PRICE`"
            raise query_error(message, help)


def unmatched_names(
    columns: Mapping[str, Collection[str]],
    selection: TableSelection,
    keys: Keys,
    partition_by: Keys,
    sort_by: Sequence[str],
) -> Iterator[str]:
    """Yield a warning for each name in the options of the command that matches no table, or no column of any table.

    columns  the columns of each table in the data or in a base snapshot, by the name of the table
    """
    last_parts = {name.rpartition(".")[2] for name in columns}
    for option, given in (("--key", keys), ("--partition-by", partition_by)):
        for name in dict(given):
            if name != EVERY_TABLE and name not in columns and name not in last_parts and selection.selects(name):
                near = suggestion(name, [*columns, *last_parts])
                yield "; ".join(filter(None, (f"`{option}` names the table `{name}`, which is not in the data", near)))
    everywhere = keys_of(EVERY_TABLE, partition_by)
    if everywhere and not any(set(everywhere) <= set(names) for names in columns.values()):
        yield f"no table has all columns of `--partition-by`: {', '.join(f'`{name}`' for name in everywhere)}"
    for column in sort_by:
        if not any(column in names for names in columns.values()):
            yield f"`--sort-by` names `{column}`, which no table has as a column"


def with_base_columns(
    table: RowTable, types: Mapping[str, pa.DataType], numbers: Collection[str] = (), of_result: bool = False
) -> RowTable:
    """Return a table that was found in data with the columns of a base snapshot first: data may show changed columns
    alone, and some of them with nothing but NULL. `numbers`: columns whose types were found in data. In a base
    `of_result`, other types than text come from definitions, and text in data does not contradict them."""
    own = {column.name: column for column in table.definition.columns}
    columns = tuple(({name: own.get(name, Column(name)) for name in types} | own).values())
    definition = replace(table.definition, columns=columns)
    epochs = tuple(Epoch(epoch.start, definition.column_names) for epoch in table.epochs)
    # Numbers that an earlier ggfmt wrote as texts, or a user gave another type, keep it.
    found = frozenset(name for name in table.found if name not in types or is_number(types[name]))
    unseen = {name for name in types if name not in own or own[name].type.unseen}
    if of_result:
        texts = {name for name, type in {**table.types, **table.chosen}.items() if type == TEXT}
        unseen |= texts & types.keys() - {*numbers}
    kept = {name: types[name] for name in {*(table.found - found), *unseen} - table.chosen.keys()}
    found |= unseen & {*numbers} - table.chosen.keys()
    chosen = {name: types[name] if name in unseen else own for name, own in table.chosen.items()}
    types = {**types, **table.types, **kept}
    return replace(table, definition=definition, epochs=epochs, types=types, found=found, chosen=chosen)


def with_base_numbers(table: RowTable, numbers: Collection[str]) -> RowTable:
    """Return a table that a record defines with the columns whose numbers were found in the data of a base snapshot."""
    columns = {column.name for column in table.definition.columns if column.type.kind in _NUMBERS}
    return replace(table, found=table.found | (columns & {*numbers}) - table.chosen.keys())


def with_found_types(
    table: RowTable, numbers: Mapping[str, NumberRange], before: Mapping[str, NumberRange]
) -> tuple[RowTable, dict[str, NumberRange]]:
    found = {name: NumberRange() for name in sorted(table.found)}
    for name, own in found.items():
        for other in (numbers.get(name), before.get(name)):
            if other is not None:
                own.merge(other)
    types = {name: table.types[name] if own.fits(table.types[name]) else own.type for name, own in found.items()}
    return replace(table, types={**table.types, **types}), found


def of_base(name: str, key: Sequence[str], types: Mapping[str, pa.DataType]) -> RowTable:
    definition = TableDef(name, tuple(map(Column, types))).with_keys(key)
    return RowTable(definition, (Epoch(_START, definition.column_names),), types)


def epoch_at(
    table: RowTable, moment: str | None, starts: Mapping[int, tuple[str | None, int | None]], kind: PositionKind | None
) -> int:
    """Return the number of the epoch in force at a point in time (None: at the end).

    starts  by epoch the position and the time, in microseconds, of its first operation
    """
    last = len(table.epochs) - 1
    if moment is None or not last:
        return last
    time = parse_time(moment)
    found = 0
    for number in range(len(table.epochs)):
        if number not in starts:
            continue
        position, micros = starts[number]
        if time is not None:
            begun = micros is None or micros <= (time - _UNIX) // timedelta(microseconds=1)
        else:
            assert kind is not None and position is not None
            place, bound = kind.value(position), kind.value(moment)
            begun = place is not None and bound is not None and place <= bound
        if begun:
            found = number
    return found


def can_hold(type: pa.DataType, other: pa.DataType) -> bool:
    types = pa.types
    if types.is_string(type) or type == other or types.is_null(other):
        return True
    if types.is_decimal(type):
        if types.is_decimal(other):
            digits = type.precision - type.scale >= other.precision - other.scale
            return bool(digits and type.scale >= other.scale)
        digits_of = {8: 3, 16: 5, 32: 10, 64: 19}
        return types.is_integer(other) and bool(type.precision - type.scale >= digits_of[other.bit_width])
    if types.is_list(type) and types.is_list(other):
        return can_hold(type.value_type, other.value_type)
    if types.is_integer(type) and types.is_integer(other):
        return other.bit_width < type.bit_width
    return types.is_float64(type) and types.is_float32(other)
