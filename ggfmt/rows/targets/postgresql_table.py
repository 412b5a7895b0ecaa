"""A table of PostgreSQL that takes rows: the statements that read and change it.

Rows come as texts into a temporary table. In the end, a query compares what the server has stored with them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from ggfmt.model.sql import POSTGRESQL, Sql, UnquotableError, joined, sql
from ggfmt.rows.numbers import is_number
from ggfmt.rows.tables import RowTable
from ggfmt.rows.targets.database_table import NO_SQL, ForeignKey, TargetTable, table_error
from ggfmt.rows.targets.postgresql_types import TableColumn, name_of

MAX_NAME_BYTES = 63  # PostgreSQL cuts longer names, without an error


def sql_type(table: RowTable, column: str) -> Sql:
    """Return the type of a new column. Numbers that were found in data may have more digits later."""
    type = table.types[column]
    return sql("numeric") if column in table.found and is_number(type) else name_of(type)


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


class PostgreSQLTable(TargetTable):
    """A table of PostgreSQL."""

    @property
    def shown(self) -> Sql:
        return POSTGRESQL.identifier(self.there.schema, self.there.name)

    @property
    def only(self) -> Sql:
        """As above. The rows of a partitioned table are in its partitions."""
        return sql("{}" if self.there.is_partitioned else "only {}", self.shown)

    def _key_of(self, texts: Sequence[Sql], name: str) -> list[Sql]:
        """Return the values of the key from their texts, with names."""
        values = (self.columns[i].value(text) for i, text in zip(self.key, texts, strict=True))
        return [sql("{} as {}", *both) for both in zip(values, self._values(name), strict=True)]

    @property
    def _keys(self) -> Sql:
        values = joined(", ", self._key_of(self._values("k.k{}"), "v{}"))
        return sql("(select k.*, {} from {} as k where k.n = {})", values, TOUCHED, self.number)

    def _rows(self, moved: bool | None = None) -> Sql:
        own = self._key_of([sql("s.s{}", i) for i in self.key], "v{}")
        values = joined(", ", own if moved is None else [*own, *self._key_of(self._values("s.f{}"), "w{}")])
        which = sql("" if moved is None else " and s.f0 is not null" if moved else " and s.f0 is null")
        return sql("(select s.i, {} from {} as s where s.n = {}{})", values, ROWS, self.number, which)

    @property
    def _given(self) -> Sql:
        return sql("(select * from {} as s where s.n = {})", ROWS, self.number)

    def _value(self, i: int) -> Sql:
        column: TableColumn = self.columns[i]
        return column.value(sql("s.s{}", i))

    def _is_changed(self, i: int, column: TableColumn) -> Sql:
        return column.is_changed(sql("s.s{}", i))

    def _update(self, source: Sql, same: Sql, values: Mapping[Sql, Sql], where: Sql = NO_SQL) -> Sql:
        sets = joined(", ", [sql("{} = {}", *each) for each in values.items()])
        more = sql(" and {}" if where else "", where)
        return sql("update {} as t set {} from {} where {}{}", self.only, sets, source, same, more)

    def _delete(self, source: Sql = NO_SQL, same: Sql = NO_SQL) -> Sql:
        if not source:
            return sql("delete from {} as t", self.only)
        return sql("delete from {} as t using {} where {}", self.only, source, same)

    # Reading

    def read_touched(self) -> Sql:
        names = {i: sql("k.k{}", j) for j, i in enumerate(self.key) if not pa.types.is_binary(self.columns[i].type)}
        texts = [sql('{} as "{}"', names.get(i, column.text), i) for i, column in enumerate(self.columns)]
        same = sql("{}{}", self._same_key(self._values("k.v{}")), self._only_current)
        return sql("select {} from {} as k join {} as t on {}", joined(", ", texts), self._keys, self.only, same)

    # Moving rows to other keys

    def highest(self, column: TableColumn) -> Sql:
        if (column.there.type or "") not in ("int2", "int4", "int8", "numeric", "date", "timestamp", "timestamptz"):
            return sql("select ''")
        new = sql("(select max({}) from {} as s)", self._value(self.columns.index(column)), self._given)
        return sql("select greatest((select max({}) from {}), {})::text", column.name, self.only, new)

    def follow(self, parent: PostgreSQLTable, key: ForeignKey, moves: bool) -> Iterator[Sql]:
        places = self.followed(parent, key)
        if not places:
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
                for j, o in places
            ]
            yield sql(
                "update {} as c set {} from {} as p where c.n = {} and p.n = {} and p.f0 is not null and {}",
                rows,
                joined(
                    ", ",
                    [sql("{}{} = p.s{}", sql(name), j, parent.key[o]) for j, o in places],
                ),
                ROWS,
                self.number,
                parent.number,
                joined(" and ", same),
            )

    def sequences(self) -> Iterator[Sql]:
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

    # Writing

    def merge(self) -> Iterator[Sql]:
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
        yield sql(
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
