"""What all databases have in common whose tables take rows: the catalog, and what a table has to say in SQL."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import pyarrow as pa

from ggfmt.columnar.typed import as_text
from ggfmt.database.postgresql import CatalogColumn
from ggfmt.dataclasses import dataclass, field
from ggfmt.diagnostics.diagnostic import Span, UsageError
from ggfmt.frames.column_types import TEXT
from ggfmt.model.sql import Sql, joined, sql
from ggfmt.rows.query import DELETED, STATE

NO_SQL = sql("")
MARK = sql(STATE)  # the column that marks rows of `--keep deleted`
_DELETED = sql("'{}'", sql(DELETED))
_IS_MARKED = sql("coalesce(t.{}, '') = {}", MARK, _DELETED)
_IS_CURRENT = sql("coalesce(t.{}, '') <> {}", MARK, _DELETED)


def table_error(table: str, message: str, help: str, column: str | None = None) -> UsageError:
    return UsageError("GG596", message, Span(table=table, field=column), help)


def found_name(table: str, name: str, known: Sequence[str] | Mapping[str, object]) -> str | None:
    """Return which of the known names a name of the source means: the same, or the only one in another case. Raises:
    UsageError GG596 if several are in another case."""
    alike = [name] if name in known else [each for each in known if each.casefold() == name.casefold()]
    if len(alike) > 1:
        message = f"`{name}` may be `{alike[0]}` or `{alike[1]}` in the database"
        raise table_error(table, message, "rename one of them in the database")
    return alike[0] if alike else None


def text_of(values: pa.Array[Any]) -> pa.StringArray:
    """Return n values as texts that the server reads."""
    if pa.types.is_binary(values.type):
        return pa.array([None if value is None else f"\\x{value.hex()}" for value in values.to_pylist()], TEXT)
    return as_text(values)


class ForeignKey(NamedTuple):
    """A foreign key, by the numbers of the tables in the catalog. Actions are letters, as in `confupdtype`."""

    table: int
    to: int
    on_update: str
    on_delete: str
    is_deferrable: bool
    columns: Sequence[str]
    to_columns: Sequence[str]

    @property
    def cascades(self) -> bool:
        return self.on_update == "c"


class UniqueIndex(NamedTuple):
    """A unique index of columns, besides that of the primary key, that is checked at each row."""

    one_null: bool  # two NULL are the same
    columns: Sequence[str]


@dataclass
class CatalogTable:
    """A table. `sequences`: by column schema and name of the sequence that it owns."""

    schema: str
    name: str
    oid: int = 0  # another one for each
    is_partitioned: bool = False
    columns: dict[str, CatalogColumn] = field(default_factory=dict)
    types: dict[str, Any] = field(default_factory=dict)  # those that the database has, if it needs them
    key: Sequence[str] = ()
    unique: list[UniqueIndex] = field(default_factory=list)
    foreign_keys: list[ForeignKey] = field(default_factory=list)
    defers_key: bool = False  # the primary key is checked at the end of a transaction
    acts_on_delete: bool = (
        False  # a foreign key that refers to it changes other rows at a delete, or refuses it at once
    )
    partition_key: Sequence[str] = ()
    sequences: dict[str, tuple[str, str]] = field(default_factory=dict)
    is_transactional: bool = True
    identity: int | str | None = None  # another one once the table was made again


class TargetCatalog:
    """The tables of a database by schema and name."""

    schemas: dict[str, dict[str, CatalogTable]]


def parents_first(tables: Iterable[CatalogTable]) -> list[CatalogTable]:
    """Return tables so that each comes behind those that its foreign keys refer to, as far as these are no cycles."""
    by_oid = {table.oid: table for table in tables}
    found: dict[int, CatalogTable] = {}
    entered: set[int] = set()
    for first in by_oid.values():
        waiting = [(first, _parents(first, by_oid, entered))]
        entered.add(first.oid)
        while waiting:
            table, parents = waiting[-1]
            parent = next(parents, None)
            if parent is None:
                found.setdefault(table.oid, table)
                waiting.pop()
            else:
                entered.add(parent.oid)
                waiting.append((parent, _parents(parent, by_oid, entered)))
    return [*found.values()]


def _parents(
    table: CatalogTable, by_oid: Mapping[int, CatalogTable], entered: Collection[int]
) -> Iterator[CatalogTable]:
    return (by_oid[key.to] for key in table.foreign_keys if key.to in by_oid and key.to not in entered)


@dataclass(frozen=True)
class TargetColumn(ABC):
    """A column of the source in the table. `type`: of its values in rows; `there`: the column of the table."""

    source: str
    type: pa.DataType
    there: CatalogColumn

    @property
    @abstractmethod
    def name(self) -> Sql: ...

    @property
    @abstractmethod
    def fits(self) -> bool:
        """Return whether the server reads the values as what they mean. A text may mean anything."""

    @property
    @abstractmethod
    def parks(self) -> bool:
        """Return whether the column can have values for a while that no row has."""

    @abstractmethod
    def parked(self, start: Sql, number: Sql) -> Sql:
        """Return the expression of such a value, another one for each number. `start`: the highest value of rows."""

    @abstractmethod
    def loss(self, values: str) -> tuple[str, str]:
        """Return what to say of so many `values` that the server has stored as others, and what to do."""


@dataclass(frozen=True)
class Parking:
    """Values that no row has, for rows that wait until others have left the values that they will have.

    start  the highest value that any row has or will have, as a literal
    """

    column: TargetColumn
    start: Sql

    def value(self, number: Sql) -> Sql:
        return self.column.parked(self.start, number)


def counts(conditions: Iterable[Sql]) -> Sql:
    """Return the expressions that count the rows for which conditions hold."""
    return joined(", ", [sql("count(case when {} then 1 end)", each) for each in conditions])


@dataclass(frozen=True)
class TargetTable(ABC):
    """A table that takes rows. `columns`: of the source, in the order of the rows; `key`: places among them.

    Statements name the present row `t`. `v0`, `v1` and so on are the key of an operation or a row, and `w0` and so on
    that from which a row has moved, in the types of the database.
    """

    number: int  # among the tables of the run
    source: str
    there: CatalogTable
    columns: Sequence[Any]  # each a `TargetColumn`
    key: tuple[int, ...]
    keeps_deleted: bool = False  # rows that the source deletes are marked, and count as gone

    @property
    @abstractmethod
    def shown(self) -> Sql: ...

    @property
    def only(self) -> Sql:
        """The table without those that inherit from it."""
        return self.shown

    @property
    def written(self) -> list[tuple[int, Any]]:
        return [(i, column) for i, column in enumerate(self.columns) if column.there.filled != "s"]

    @property
    @abstractmethod
    def _keys(self) -> Sql:
        """The keys of operations, with `v0` and so on."""

    @abstractmethod
    def _rows(self, moved: bool | None = None) -> Sql:
        """Return the numbers `i` and the keys of rows: of those that have moved, with `w0` and so on, of the others, or
        of all."""

    @property
    @abstractmethod
    def _given(self) -> Sql:
        """The rows of the changes. Statements name one `s`; it has a number `i`."""

    @abstractmethod
    def _value(self, i: int) -> Sql:
        """Return the value of a column in the row `s`."""

    @abstractmethod
    def _is_changed(self, i: int, column: Any) -> Sql:
        """Return the condition that the table has another value in a column than the row `s`."""

    @abstractmethod
    def _update(self, source: Sql, same: Sql, values: Mapping[Sql, Sql], where: Sql = NO_SQL) -> Sql:
        """Return the statement that gives values to columns of rows for which a row of a source is the same."""

    @abstractmethod
    def _delete(self, source: Sql = NO_SQL, same: Sql = NO_SQL) -> Sql:
        """Return the statement that deletes all rows, or those for which a row of a source is the same."""

    def _values(self, template: str = "v{}") -> list[Sql]:
        return [sql(template, j) for j in range(len(self.key))]

    def _same_key(self, values: Sequence[Sql]) -> Sql:
        names = (self.columns[i].name for i in self.key)
        return joined(" and ", [sql("t.{} = {}", *both) for both in zip(names, values, strict=True)])

    def _equal(self, one: str, other: str) -> Sql:
        both = zip(self._values(one), self._values(other), strict=True)
        return joined(" and ", [sql("{} = {}", *each) for each in both])

    def parked_column(self) -> TargetColumn | None:
        """Return a column of the key that can have values for a while that it has in no row; None for none."""
        kept = {name for key in self.there.foreign_keys for name in key.columns}
        columns = [self.columns[i] for i in self.key if self.columns[i].there.name not in kept]
        columns.sort(key=lambda each: each.there.name in self.there.partition_key)  # it may have no partition
        return next((column for column in columns if column.parks), None)

    def unique_values(self) -> Iterator[tuple[UniqueIndex, Any, list[tuple[int, Any]]]]:
        """Yield unique indexes, a column of each that can have another value for a while, and those that rows have."""
        key = [self.columns[i] for i in self.key]
        for index in self.there.unique:
            own = [(i, column) for i, column in self.written if column.there.name in index.columns]
            others = [column for _, column in own if column not in key]
            nullable = (each for each in others if not (each.there.required or index.one_null))
            possible = (each for each in others if each.parks)
            if own:
                yield index, next(chain(nullable, possible), None), own

    def followed(self, parent: TargetTable, key: ForeignKey) -> list[tuple[int, int]]:
        """Return the places of a foreign key in the primary keys of the table and of its parent, if the rows of this
        one move with theirs; otherwise none."""
        own, others = ([each.there.name for each in table.columns] for table in (self, parent))
        try:
            places = [self.key.index(own.index(name)) for name in key.columns]
            of_parent = [parent.key.index(others.index(name)) for name in key.to_columns]
        except ValueError:
            return []  # it is not in the primary key, or refers to another one
        return [*zip(places, of_parent, strict=True)] if key.cascades else []

    # Reading

    def equal_keys(self) -> Sql:
        """Return the query whether keys that differ are one key to the server."""
        values = joined(", ", self._values())
        return sql("select exists (select 1 from {} as k group by {} having count(*) > 1)", self._keys, values)

    @abstractmethod
    def read_touched(self) -> Sql:
        """Return the query of the present rows, with the keys as the source writes them."""

    @property
    def _only_current(self) -> Sql:
        """What a query of present rows has after its condition."""
        return sql(" and {}", _IS_CURRENT) if self.keeps_deleted else NO_SQL

    # Moving rows to other keys

    def occupied(self) -> Sql:
        """Return the query whether a row moves to a key that another one has."""
        same = self._same_key(self._values("m.v{}"))
        return sql("select exists (select 1 from {} as m join {} as t on {})", self._rows(True), self.only, same)

    @abstractmethod
    def highest(self, column: Any) -> Sql:
        """Return the query of the highest value that a column has now or will have, as a text."""

    def park(self, parking: Parking) -> Sql:
        """Return the statement that takes rows away from the keys to which others move."""
        same = self._same_key(self._values("m.v{}"))
        return self._update(sql("{} as m", self._rows(True)), same, {parking.column.name: parking.value(sql("m.i"))})

    def move(self, parking: Parking | None) -> Sql:
        """Return the statement that gives rows their keys."""
        source = sql("{} as m{}", self._rows(True), self._other(parking, sql("m"), "w{}"))
        names = [self.columns[i].name for i in self.key]
        values = dict(zip(names, self._values("m.v{}"), strict=True))
        return self._update(source, self._same_key(self._present(parking, sql("m"), "w{}")), values)

    @abstractmethod
    def follow(self, parent: Any, key: ForeignKey, moves: bool) -> Iterator[Sql]:
        """Yield statements for a foreign key in the primary key: where the rows of another table move, rows have moved
        with them before their own turn comes."""

    def _other(self, parking: Parking | None, of: Sql, name: str) -> Sql:
        """Return the join with the row `o` that moves to a key, so that `_present` is where the row there is now."""
        if parking is None:
            return sql("")
        return sql(" left join {} as o on {}", self._rows(True), self._equal("o.v{}", f"{of}.{name}"))

    def _present(self, parking: Parking | None, of: Sql, name: str) -> list[Sql]:
        values = self._values(f"{of}.{name}")
        if parking is not None:
            j = [self.columns[i] for i in self.key].index(parking.column)
            values[j] = sql("case when o.i is null then {} else {} end", values[j], parking.value(sql("o.i")))
        return values

    # Writing

    def gone(self, parking: Parking | None, has_rows: bool, upserted: bool) -> Sql:
        """Return the query of the present keys of rows that are no more: of those touched that no row came from.
        `upserted`: rows are at their keys, and have come to keys where no row was or from where `parking` took it."""
        values = joined(", ", self._values())
        gone = sql("select {} from {} as k", values, self._keys)
        if has_rows:
            moved = joined(", ", self._values("w{}"))
            there = self._rows(None if upserted and parking is None else False)
            gone = sql("{} except (select {} from {} as r union all", gone, values, there)
            gone = sql("{} select {} from {} as m)", gone, moved, self._rows(True))
        present = [sql("{} as v{}", value, j) for j, value in enumerate(self._present(parking, sql("g"), "v{}"))]
        joins = self._other(parking, sql("g"), "v{}")
        return sql("select {} from ({}) as g{}", joined(", ", present), gone, joins)

    def delete(self, parking: Parking | None, has_rows: bool, upserted: bool, truncates: bool) -> Sql:
        """Return the statement that deletes or marks rows that are no more: after a truncate, all but those that came
        again."""
        if not truncates:
            gone = sql("({}) as gone", self.gone(parking, has_rows, upserted))
            same = self._same_key(self._values("gone.v{}"))
            if self.keeps_deleted:
                return self._update(gone, same, {MARK: _DELETED}, _IS_CURRENT)
            return self._delete(gone, same)
        same = self._same_key(self._values("r.v{}"))
        others = sql("not exists (select 1 from {} as r where {})", self._rows(), same)
        if self.keeps_deleted:
            where = sql(" and {}", others) if has_rows else NO_SQL
            return sql("update {} as t set {} = {} where {}{}", self.only, MARK, _DELETED, _IS_CURRENT, where)
        return sql("{} where {}", self._delete(), others) if has_rows else sql("delete from {}", self.only)

    def replace_marked(self) -> Sql:
        """Return the statement that deletes marked rows where other rows come."""
        same = self._same_key(self._values("r.v{}"))
        return self._delete(sql("{} as r", self._rows()), sql("{} and {}", same, _IS_MARKED))

    def park_unique(
        self, column: Any, value: Parking | None, own: Sequence[tuple[int, Any]], gone: Sql | None, truncates: bool
    ) -> Sql:
        """Return the statement that takes a unique value away from rows, if another row gets it: from rows that get
        their own later, and from those in `gone`; after a truncate from all others. Rows have their keys already."""
        waits = sql("exists (select 1 from {} as r where {})", self._rows(), self._same_key(self._values("r.v{}")))
        if truncates:
            waits = sql("true")
        elif gone is not None:
            leaves = self._same_key(self._values("g.v{}"))
            waits = sql("({} or exists (select 1 from ({}) as g where {}))", waits, gone, leaves)
        return self._update(
            sql("{} as s", self._given),
            joined(" and ", [sql("t.{} = {}", each.name, self._value(i)) for i, each in own]),
            {column.name: sql("null") if value is None else value.value(sql("s.i"))},
            sql("not ({}) and {}", self._same_key([self._value(i) for i in self.key]), waits),
        )

    @abstractmethod
    def merge(self) -> Iterator[Sql]:
        """Yield statements that insert rows, and update those whose values differ: no trigger sees others."""

    def changed(self) -> tuple[list[Any], Sql]:
        """Return columns, and the query that counts the rows without a row in the table, and by column those of which
        the server has stored another value."""
        wrong = [sql("t.{} is null", self.columns[self.key[0]].name)]
        wrong += [self._is_changed(i, column) for i, column in self.written]
        same = self._same_key([self._value(i) for i in self.key])
        query = sql("select {} from {} as s left join {} as t on {}", counts(wrong), self._given, self.only, same)
        return [column for _, column in self.written], query

    def sequences(self) -> Iterator[Sql]:
        """Yield statements that advance the sequences of columns beyond the values of rows."""
        return iter(())
