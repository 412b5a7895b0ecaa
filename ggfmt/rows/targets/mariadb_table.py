"""A table of MariaDB that takes rows: the statements that read and change it.

Keys and rows of the changes are in temporary tables with the types of the table. All statements begin with these
(`straight_join`), so that the server looks for each row by its key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ggfmt.model.sql import MYSQL, Sql, joined, sql
from ggfmt.rows.targets.database_table import NO_SQL, ForeignKey, TargetTable, counts
from ggfmt.rows.targets.mariadb_types import MariaDBColumn

TEXTS = sql("ggfmt_texts")  # the texts of one table, before they have types: `i` and `s0`, `s1` and so on


class MariaDBTable(TargetTable):
    """A table of MariaDB. Its keys have texts `k0` and so on, and values `v0`; its rows have a number `i`, the values
    `c0` and so on of its columns, and the key `w0` and so on from which they have moved."""

    @property
    def shown(self) -> Sql:
        return MYSQL.identifier(self.there.name)  # the database is that of the connection

    @property
    def _keys(self) -> Sql:
        return sql("ggfmt_keys_{}", self.number)

    @property
    def _new(self) -> Sql:
        return sql("ggfmt_rows_{}", self.number)

    def _rows(self, moved: bool | None = None) -> Sql:
        names = [sql("c{} as v{}, w{}", i, j, j) for j, i in enumerate(self.key)]
        which = sql("" if moved is None else " where w0 is not null" if moved else " where w0 is null")
        return sql("(select i, {} from {}{})", joined(", ", names), self._new, which)

    @property
    def _given(self) -> Sql:
        return self._new

    def _value(self, i: int) -> Sql:
        return sql("s.c{}", i)

    def _is_changed(self, i: int, column: MariaDBColumn) -> Sql:
        return column.differs(sql("t.{}", column.name), self._value(i))

    def _update(self, source: Sql, same: Sql, values: Mapping[Sql, Sql], where: Sql = NO_SQL) -> Sql:
        sets = joined(", ", [sql("t.{} = {}", *each) for each in values.items()])
        more = sql(" where {}" if where else "", where)
        return sql("update {} straight_join {} t on {} set {}{}", source, self.shown, same, sets, more)

    def _delete(self, source: Sql = NO_SQL, same: Sql = NO_SQL) -> Sql:
        if not source:
            return sql("delete t from {} t", self.shown)
        return sql("delete t from {} straight_join {} t on {}", source, self.shown, same)

    # Bringing keys and rows

    def bring_keys(self) -> list[Sql]:
        """Return the statements that give types to the texts of keys."""
        texts = [(f"k{j}", "longtext character set utf8mb4 collate utf8mb4_bin", f"s{j}") for j in range(len(self.key))]
        keys = [(f"v{j}", i, f"s{j}") for j, i in enumerate(self.key)]
        return self._bring(self._keys, texts, keys, [self._values()])

    def bring_rows(self) -> list[Sql]:
        """Return the statements that give types to the texts of rows. `f0` and so on are the keys before a move."""
        columns = [(f"c{i}", i, f"s{i}") for i in range(len(self.columns))]
        columns += [(f"w{j}", i, f"f{j}") for j, i in enumerate(self.key)]
        return self._bring(
            self._new,
            [("i", "bigint primary key", "i")],
            columns,
            [[sql("c{}", i) for i in self.key], self._values("w{}")],
        )

    def _bring(
        self,
        name: Sql,
        plain: Sequence[tuple[str, str, str]],
        typed: Sequence[tuple[str, int, str]],
        keys: Sequence[Sequence[Sql]],
    ) -> list[Sql]:
        """Return the statements that make a table. `plain`: names, types and expressions of columns; `typed`: names,
        the columns of the table that have their types, and texts; `keys`: columns with an index."""
        columns = [sql("{} {}", sql(each), sql(type)) for each, type, _ in plain]
        columns += [sql("{} {} null", sql(each), self.columns[i].there.written) for each, i, _ in typed]
        columns += [sql("key ({})", joined(", ", each)) for each in keys]
        values = [sql(text) for *_, text in plain]
        values += [self.columns[i].value(sql(text)) for _, i, text in typed]
        return [
            sql("create temporary table {} ({}) engine=InnoDB", name, joined(", ", columns)),
            sql("insert into {} select {} from {}", name, joined(", ", values), TEXTS),
        ]

    def inexact(self) -> tuple[list[MariaDBColumn], Sql]:
        """Return columns, and the query that counts by column the values that are others than their texts say."""
        changed = [column.is_changed(sql("n.c{}", i), sql("s.s{}", i)) for i, column in self.written]
        query = sql("select {} from {} s straight_join {} n on n.i = s.i", counts(changed), TEXTS, self._new)
        return [column for _, column in self.written], query

    def inexact_keys(self) -> tuple[list[MariaDBColumn], Sql]:
        """As above, for the keys of operations."""
        columns = [self.columns[i] for i in self.key]
        changed = [column.is_changed(sql("v{}", j), sql("k{}", j)) for j, column in enumerate(columns)]
        return columns, sql("select {} from {}", counts(changed), self._keys)

    # Reading

    def equal_keys(self) -> Sql:
        """As above, or whether a present row has another key that is equal by its collation."""
        values = self._values("k.v{}")
        pairs = [(self.columns[i], value) for i, value in zip(self.key, values, strict=True)]
        differ = joined(" or ", [column.differs(sql("t.{}", column.name), value) for column, value in pairs])
        both = sql("{} k straight_join {} t on {}", self._keys, self.shown, self._same_key(values))
        return sql("{} or exists (select 1 from {} where {})", super().equal_keys(), both, differ)

    def read_touched(self) -> Sql:
        """As above. The rows are locked."""
        names = {i: sql("k.k{}", j) for j, i in enumerate(self.key) if not self.columns[i].is_bytes}
        texts = joined(", ", [names.get(i, column.text) for i, column in enumerate(self.columns)])
        same = sql("{}{}", self._same_key(self._values("k.v{}")), self._only_current)
        return sql("select {} from {} k straight_join {} t on {} for update", texts, self._keys, self.shown, same)

    # Moving rows to other keys

    def highest(self, column: MariaDBColumn) -> Sql:
        new = sql("select max(c{}) from {}", self.columns.index(column), self._new)
        old = sql("select max({}) from {}", column.name, self.shown)
        return sql("select cast(greatest(coalesce(({0}), ({1})), coalesce(({1}), ({0}))) as char)", new, old)

    def follow(self, parent: MariaDBTable, key: ForeignKey, moves: bool) -> Iterator[Sql]:
        places = self.followed(parent, key)
        for rows, name in ((self._keys, "v"), (self._new, "w")):
            if places and (moves or rows == self._keys):
                same = [sql("c.{}{} = p.w{}", sql(name), j, o) for j, o in places]
                sets = [sql("c.{}{} = p.v{}", sql(name), j, o) for j, o in places]
                rest = joined(" and ", same), joined(", ", sets)
                yield sql("update {} p straight_join {} c on {} set {}", parent._rows(True), rows, *rest)

    # Writing

    def merge(self) -> Iterator[Sql]:
        same = self._same_key([self._value(i) for i in self.key])
        changes = {column.name: self._value(i) for i, column in self.written if i not in self.key}
        if changes:
            differ = [self._is_changed(i, column) for i, column in self.written if i not in self.key]
            yield self._update(sql("{} s", self._new), same, changes, joined(" or ", differ))
        yield sql(
            "insert into {} ({}) select {} from {} s left join {} t on {} where t.{} is null order by s.i",
            self.shown,
            joined(", ", [column.name for _, column in self.written]),
            joined(", ", [self._value(i) for i, _ in self.written]),
            self._new,
            self.shown,
            same,
            self.columns[self.key[0]].name,
        )
