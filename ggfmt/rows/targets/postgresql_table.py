"""A table of PostgreSQL that takes rows: the statements that read and change it.

Rows come as texts into a temporary table. In the end, a query compares what the server has stored with them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import pyarrow as pa

from ggfmt.columnar.typed import as_text
from ggfmt.dataclasses import dataclass
from ggfmt.diagnostics.diagnostic import Span, UsageError
from ggfmt.frames.column_types import TEXT
from ggfmt.model.sql import POSTGRESQL, Sql, UnquotableError, joined, sql
from ggfmt.rows.numbers import is_number
from ggfmt.rows.tables import RowTable
from ggfmt.rows.targets.postgresql_catalog import CatalogTable, ForeignKey, UniqueIndex
from ggfmt.rows.targets.postgresql_types import TableColumn, name_of

MAX_NAME_BYTES = 63  # PostgreSQL cuts longer names, without an error


def table_error(table: str, message: str, help: str, column: str | None = None) -> UsageError:
    return UsageError("GG596", message, Span(table=table, field=column), help)


def sql_type(table: RowTable, column: str) -> Sql:
    """Return the type of a new column. Numbers that were found in data may have more digits later."""
    type = table.types[column]
    return sql("numeric") if column in table.found and is_number(type) else name_of(type)


def found_name(table: str, name: str, known: Sequence[str] | Mapping[str, object]) -> str | None:
    """Return which of the known names a name of the source means: the same, or the only one in another case. Raises:
    UsageError GG596 if several are in another case."""
    alike = [name] if name in known else [each for each in known if each.casefold() == name.casefold()]
    if len(alike) > 1:
        message = f"`{name}` may be `{alike[0]}` or `{alike[1]}` in the database"
        raise table_error(table, message, "rename one of them in the database")
    return alike[0] if alike else None


def new_name(table: str, name: str) -> str:
    """Return the name of a new table or column: a name without small letters is written small, as SQL reads it."""
    try:
        POSTGRESQL.identifier(name)
    except UnquotableError as error:
        raise table_error(table, f"PostgreSQL cannot have a name: {error}", "leave it out with `--exclude`") from None
    if len(name.encode()) > MAX_NAME_BYTES:
        message = f"`{name}` has more than {MAX_NAME_BYTES} bytes, the longest name in PostgreSQL"
        raise table_error(table, message, "create the table with a shorter name, or leave it out with `--exclude`")
    return name.lower() if name == name.upper() else name


def text_of(values: pa.Array[Any]) -> pa.StringArray:
    """Return n values as texts that the server reads."""
    if pa.types.is_binary(values.type):
        return pa.array([None if value is None else f"\\x{value.hex()}" for value in values.to_pylist()], TEXT)
    return as_text(values)


_WIDER = {"smallint": ("integer", "bigint", "numeric"), "integer": ("bigint", "numeric"), "bigint": ("numeric",)}
_WIDER |= {"real": ("double precision",), "character varying": ("text",), "character": ("text",)}


def holds(type: str, other: str) -> bool:
    """Return whether a type, as SQL writes it, has all values of another one."""
    base, other_base = (re.sub(r"\(.*\)", "", each) for each in (type, other))
    limits, others = ([int(size) for size in re.findall("[0-9]+", each)] for each in (type, other))
    if type == other or (base == other_base and not limits):
        return True
    if base != other_base:
        return base in _WIDER.get(other_base, ()) and not limits
    if not others:
        return False
    if base == "numeric":
        limits, others = [limits[0] - limits[1], limits[1]], [others[0] - others[1], others[1]]
    return all(size >= least for size, least in zip(limits, others, strict=True))


TOUCHED = sql("ggfmt_touched")  # keys of operations: `n`, the number of the table, and texts `k0`, `k1` and so on
# Rows as texts `s0`, `s1` and so on, of the table `n`. `i` is another number for each; `f0` and so on are the key from
# which the row has moved.
ROWS = sql("ggfmt_rows")
_PARKED = {
    **dict.fromkeys(("int2", "int4", "int8", "numeric"), "({start}::numeric + 1 + {number})::{cast}"),
    **dict.fromkeys(("text", "varchar", "bpchar", "citext"), "(chr(1) || to_hex({number}))::{cast}"),
    "uuid": "md5('ggfmt ' || {number})::uuid",
    "bytea": "decode(md5('ggfmt ' || {number}), 'hex')",
    "date": "({start}::date + 1 + {number}::int)",
    **dict.fromkeys(("timestamp", "timestamptz"), "({start}::{cast} + (1 + {number}) * interval '1 second')"),
}


@dataclass(frozen=True)
class Parking:
    """Values that no row has, for rows that wait until others have left the values that they will have.

    start  the highest value that any row has or will have, as a text
    """

    column: TableColumn
    start: str

    @staticmethod
    def is_possible(column: TableColumn) -> bool:
        return column.there.type in _PARKED and not column.there.is_computed

    def value(self, number: Sql) -> Sql:
        template, start = _PARKED[self.column.there.type or ""], POSTGRESQL.literal(self.start)
        return sql(template, number=number, start=start, cast=self.column.cast)


@dataclass(frozen=True)
class TargetTable:
    """A table that takes rows. `columns`: of the source, in the order of the rows; `key`: places among them.

    Statements name the present row `t`. `v0`, `v1` and so on are the key of an operation or a row, and `w0` and so on
    that from which a row has moved, in the types of the database.
    """

    number: int  # among the tables of the run
    source: str
    there: CatalogTable
    columns: tuple[TableColumn, ...]
    key: tuple[int, ...]

    @property
    def shown(self) -> Sql:
        return POSTGRESQL.identifier(self.there.schema, self.there.name)

    @property
    def only(self) -> Sql:
        """The table without those that inherit from it. The rows of a partitioned one are in its partitions."""
        return sql("{}" if self.there.is_partitioned else "only {}", self.shown)

    @property
    def written(self) -> list[tuple[int, TableColumn]]:
        return [(i, column) for i, column in enumerate(self.columns) if column.there.filled != "s"]

    def _values(self, template: str = "v{}") -> list[Sql]:
        return [sql(template, j) for j in range(len(self.key))]

    def _key_of(self, texts: Sequence[Sql], name: str) -> list[Sql]:
        """Return the values of the key from their texts, with names."""
        values = (self.columns[i].value(text) for i, text in zip(self.key, texts, strict=True))
        return [sql("{} as {}", *both) for both in zip(values, self._values(name), strict=True)]

    def _same_key(self, values: Sequence[Sql]) -> Sql:
        names = (self.columns[i].name for i in self.key)
        return joined(" and ", [sql("t.{} = {}", *both) for both in zip(names, values, strict=True)])

    def _equal(self, one: str, other: str) -> Sql:
        both = zip(self._values(one), self._values(other), strict=True)
        return joined(" and ", [sql("{} = {}", *each) for each in both])

    def _keys(self) -> Sql:
        values = joined(", ", self._key_of(self._values("k.k{}"), "v{}"))
        return sql("(select k.*, {} from {} as k where k.n = {})", values, TOUCHED, self.number)

    def _rows(self, moved: bool | None = None) -> Sql:
        """Return the keys of rows: of those that have moved, of the others, or of all."""
        own = self._key_of([sql("s.s{}", i) for i in self.key], "v{}")
        values = joined(", ", own if moved is None else [*own, *self._key_of(self._values("s.f{}"), "w{}")])
        which = sql("" if moved is None else " and s.f0 is not null" if moved else " and s.f0 is null")
        return sql("(select s.i, {} from {} as s where s.n = {}{})", values, ROWS, self.number, which)

    # Reading

    def equal_keys(self) -> Sql:
        """Return the query whether keys that differ in the source are one key to the server."""
        values = joined(", ", self._values())
        return sql("select exists (select from {} as k group by {} having count(*) > 1)", self._keys(), values)

    def read_touched(self) -> Sql:
        """Return the query of the present rows, with the keys as the source writes them."""
        names = {i: sql("k.k{}", j) for j, i in enumerate(self.key) if not pa.types.is_binary(self.columns[i].type)}
        texts = [sql('{} as "{}"', names.get(i, column.text), i) for i, column in enumerate(self.columns)]
        same = self._same_key(self._values("k.v{}"))
        return sql("select {} from {} as k join {} as t on {}", joined(", ", texts), self._keys(), self.only, same)

    # Moving rows to other keys

    def occupied(self) -> Sql:
        """Return the query whether a row moves to a key that another one has."""
        same = self._same_key(self._values("m.v{}"))
        return sql("select exists (select from {} as m join {} as t on {})", self._rows(True), self.only, same)

    def parked_column(self) -> TableColumn | None:
        """Return a column of the key that can have values for a while that it has in no row; None for none."""
        kept = {name for key in self.there.foreign_keys for name in key.columns}
        columns = [self.columns[i] for i in self.key if self.columns[i].there.name not in kept]
        columns.sort(key=lambda each: each.there.name in self.there.partition_key)  # it may have no partition
        return next(filter(Parking.is_possible, columns), None)

    def highest(self, column: TableColumn) -> Sql:
        """Return the query of the highest value that a column has now or will have, as a text."""
        text, rows = column.value(sql("s.s{}", self.columns.index(column))), sql("{} as s", ROWS)
        if (column.there.type or "") not in ("int2", "int4", "int8", "numeric", "date", "timestamp", "timestamptz"):
            return sql("select ''")
        new = sql("(select max({}) from {} where s.n = {})", text, rows, self.number)
        return sql("select greatest((select max({}) from {}), {})::text", column.name, self.only, new)

    def park(self, parking: Parking) -> Sql:
        """Return the statement that takes rows away from the keys to which others move."""
        return sql(
            "update {} as t set {} = {} from {} as m where {}",
            self.only,
            parking.column.name,
            parking.value(sql("m.i")),
            self._rows(True),
            self._same_key(self._values("m.v{}")),
        )

    def move(self, parking: Parking | None) -> Sql:
        """Return the statement that gives rows their keys."""
        names = [self.columns[i].name for i in self.key]
        return sql(
            "update {} as t set {} from {} as m{} where {}",
            self.only,
            joined(", ", [sql("{} = {}", *both) for both in zip(names, self._values("m.v{}"), strict=True)]),
            self._rows(True),
            self._other(parking, sql("m"), "w{}"),
            self._same_key(self._present(parking, sql("m"), "w{}")),
        )

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
        gone = sql("select {} from {} as k", values, self._keys())
        if has_rows:
            moved = joined(", ", self._values("w{}"))
            there = self._rows(None if upserted and parking is None else False)
            gone = sql("{} except (select {} from {} as r union all", gone, values, there)
            gone = sql("{} select {} from {} as m)", gone, moved, self._rows(True))
        present = [sql("{} as v{}", value, j) for j, value in enumerate(self._present(parking, sql("g"), "v{}"))]
        joins = self._other(parking, sql("g"), "v{}")
        return sql("select {} from ({}) as g{}", joined(", ", present), gone, joins)

    def delete(self, parking: Parking | None, has_rows: bool, upserted: bool, truncates: bool) -> Sql:
        """Return the statement that deletes rows that are no more: after a truncate, all but those that came again."""
        if truncates and not has_rows:
            return sql("delete from {}", self.only)
        if truncates:
            same = self._same_key(self._values("r.v{}"))
            rows = self._rows()
            return sql("delete from {} as t where not exists (select from {} as r where {})", self.only, rows, same)
        gone = self.gone(parking, has_rows, upserted)
        return sql(
            "delete from {} as t using ({}) as gone where {}", self.only, gone, self._same_key(self._values("gone.v{}"))
        )

    def follow(self, parent: TargetTable, key: ForeignKey, moves: bool) -> Iterator[Sql]:
        """Yield statements for a foreign key in the primary key: where the rows of another table move, rows have moved
        with them before their own turn comes."""
        own, others = ([each.there.name for each in table.columns] for table in (self, parent))
        try:
            places = [self.key.index(own.index(name)) for name in key.columns]
            of_parent = [parent.key.index(others.index(name)) for name in key.to_columns]
        except ValueError:
            return  # it is not in the primary key, or refers to another one
        if not key.cascades:
            return
        for rows, name in ((TOUCHED, "k"), (ROWS, "f")):
            if rows == ROWS and not moves:
                continue
            same = [
                sql(
                    "{} = {}",
                    self.columns[self.key[j]].value(sql("c.{}{}", sql(name), j)),
                    self.columns[self.key[j]].value(sql("p.f{}", o)),
                )
                for j, o in zip(places, of_parent, strict=True)
            ]
            yield sql(
                "update {} as c set {} from {} as p where c.n = {} and p.n = {} and p.f0 is not null and {}",
                rows,
                joined(
                    ", ",
                    [sql("{}{} = p.s{}", sql(name), j, parent.key[o]) for j, o in zip(places, of_parent, strict=True)],
                ),
                ROWS,
                self.number,
                parent.number,
                joined(" and ", same),
            )

    def sequences(self) -> Iterator[Sql]:
        """Yield statements that advance the sequences of columns beyond the values of rows."""
        for i, column in self.written:
            if column.there.name in self.there.sequences:
                sequence = POSTGRESQL.identifier(*self.there.sequences[column.there.name])
                yield sql(
                    "select setval({}, m) from (select max({}) as m from {} as s where s.n = {}) as x\n"
                    "where m > (select last_value from {})",
                    POSTGRESQL.literal(sequence),
                    column.value(sql("s.s{}", i)),
                    ROWS,
                    self.number,
                    sequence,
                )

    def unique_values(self) -> Iterator[tuple[UniqueIndex, TableColumn | None, list[tuple[int, TableColumn]]]]:
        """Yield unique indexes, a column of each that can have another value for a while, and those that rows have."""
        key = [self.columns[i] for i in self.key]
        for index in self.there.unique:
            own = [(i, column) for i, column in self.written if column.there.name in index.columns]
            others = [column for _, column in own if column not in key]
            nullable = (each for each in others if not (each.there.required or index.one_null))
            possible = (each for each in others if Parking.is_possible(each))
            if own:
                yield index, next(chain(nullable, possible), None), own

    def park_unique(
        self,
        column: TableColumn,
        value: Parking | None,
        own: Sequence[tuple[int, TableColumn]],
        gone: Sql | None,
        truncates: bool,
    ) -> Sql:
        """Return the statement that takes a unique value away from rows, if another row gets it: from rows that get
        their own later, and from those in `gone`; after a truncate from all others. Rows have their keys already."""
        same = [sql("t.{} = {}", column.name, column.value(sql("s.s{}", i))) for i, column in own]
        of_row = self._same_key(self._values("r.v{}"))
        waits = sql("exists (select from {} as r where {})", self._rows(), of_row)
        if truncates:
            waits = sql("true")
        elif gone is not None:
            leaves = self._same_key(self._values("g.v{}"))
            waits = sql("({} or exists (select from ({}) as g where {}))", waits, gone, leaves)
        own_key = [self.columns[i].value(sql("s.s{}", i)) for i in self.key]
        return sql(
            "update {} as t set {} = {} from {} as s where s.n = {} and {} and not ({}) and {}",
            self.only,
            column.name,
            sql("null") if value is None else value.value(sql("s.i")),
            ROWS,
            self.number,
            joined(" and ", same),
            self._same_key(own_key),
            waits,
        )

    def merge(self) -> Sql:
        """Return the statement that inserts rows, and updates those whose values differ: no trigger sees others."""
        written = self.written
        changes = [column for i, column in written if i not in self.key and not column.there.is_computed]
        differ = [
            joined(", ", [sql("{}.{}::{}", of, column.name, column.there.written or column.cast) for column in changes])
            for of in (sql("t"), sql("s"))
        ]
        update = sql(
            "when matched and row({})::record operator(pg_catalog.*<>) row({})::record then update set {}\n",
            *differ,
            joined(", ", [sql("{0} = s.{0}", column.name) for column in changes]),
        )
        is_filled = any(column.there.filled == "a" for _, column in written)
        return sql(
            "merge into {table} as t\nusing (select {sources} from {rows} as r where r.n = {number}) as s\non {same}\n"
            "{update}when not matched then insert ({names}){system} values ({values})",
            table=self.only,
            sources=joined(", ", [sql("{} as {}", c.value(sql("r.s{}", i)), c.name) for i, c in written]),
            rows=ROWS,
            number=self.number,
            same=self._same_key([sql("s.{}", self.columns[i].name) for i in self.key]),
            update=update if changes else sql(""),
            names=joined(", ", [column.name for _, column in written]),
            system=sql(" overriding system value" if is_filled else ""),
            values=joined(", ", [sql("s.{}", column.name) for _, column in written]),
        )

    def changed(self) -> tuple[list[TableColumn], Sql]:
        """Return columns, and the query that counts the rows without a row in the table, and by column those of which
        the server has stored another value."""
        lost = sql("t.{} is null", self.columns[self.key[0]].name)
        wrong = [lost, *(column.is_changed(sql("s.s{}", i)) for i, column in self.written)]
        counts = joined(", ", [sql("count(*) filter (where {})", condition) for condition in wrong])
        same = self._same_key([self.columns[i].value(sql("s.s{}", i)) for i in self.key])
        rows = sql("(select * from {} as s where s.n = {})", ROWS, self.number)
        query = sql("select {} from {} as s left join {} as t on {}", counts, rows, self.only, same)
        return [column for _, column in self.written], query
