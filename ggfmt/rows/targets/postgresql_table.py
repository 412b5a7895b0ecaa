"""A table of PostgreSQL that takes rows: its columns, and the statements that read and change it.

Rows come as texts into a temporary table. A cast to the type of a column has no length and no scale: the server then
refuses a text that is too long. It rounds numbers and times in silence, so that a query compares what it has stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ggfmt.columnar.typed import as_text
from ggfmt.database.postgresql import CatalogColumn, output_text
from ggfmt.diagnostics.diagnostic import Span, UsageError
from ggfmt.frames.column_types import TEXT
from ggfmt.model.sql import POSTGRESQL, Sql, UnquotableError, joined, sql
from ggfmt.rows.numbers import is_number
from ggfmt.rows.tables import RowTable

_JSON = sql("jsonb")
MAX_NAME_BYTES = 63  # PostgreSQL cuts longer names, without an error
_CLOCKS = ("time", "timetz")
_FINE = POSTGRESQL.literal(r"\.\d{6}\d*[1-9]")  # digits that a microsecond does not have
_TYPES = {
    pa.bool_(): "boolean",
    pa.int8(): "smallint",
    pa.int16(): "smallint",
    pa.int32(): "integer",
    pa.int64(): "bigint",
    pa.float32(): "real",
    pa.float64(): "double precision",
    pa.date32(): "date",
    pa.time64("us"): "time",
    pa.timestamp("us"): "timestamp",
    pa.timestamp("us", "UTC"): "timestamptz",
    pa.binary(): "bytea",
}


def table_error(table: str, message: str, help: str, column: str | None = None) -> UsageError:
    return UsageError("GG596", message, Span(table=table, field=column), help)


def sql_type(table: RowTable, column: str) -> Sql:
    """Return the type of a new column. Numbers that were found in data may have more digits later."""
    type = table.types[column]
    return sql("numeric") if column in table.found and is_number(type) else _sql_type(type)


def _sql_type(type: pa.DataType) -> Sql:
    if pa.types.is_decimal(type):
        return sql("numeric({},{})", type.precision, type.scale)
    if pa.types.is_list(type):
        item = type.value_type
        return _JSON if pa.types.is_list(item) or pa.types.is_binary(item) else sql("{}[]", _sql_type(item))
    return sql(_TYPES.get(type, "text"))


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


@dataclass(frozen=True)
class TableColumn:
    """A column of the source in the table. `type`: of its values in rows."""

    source: str
    type: pa.DataType
    there: CatalogColumn

    @property
    def name(self) -> Sql:
        return POSTGRESQL.identifier(self.there.name or "")

    @property
    def cast(self) -> Sql:
        assert self.there.cast is not None
        return self.there.cast

    @property
    def fits(self) -> bool:
        """Return whether the server reads the values as what they mean. A text may mean anything."""
        types, type, there = pa.types, self.type, self.there
        if types.is_binary(type):
            return there.type == "bytea"
        if types.is_list(type):
            return (bool(there.element) and _sql_type(type) != _JSON) or there.type in ("json", "jsonb")
        if types.is_string(type) or there.category == "S":
            return True
        if types.is_time(type):
            return there.type in _CLOCKS
        if types.is_temporal(type):
            return there.category == "D" and there.type not in _CLOCKS
        return there.category == ("B" if types.is_boolean(type) else "N")

    def value(self, text: Sql) -> Sql:
        """Return the expression of a value from its text. Arrays are JSON, as sources write them, or as in SQL."""
        if not self.there.element:
            return sql("{}::{}", text, self.cast)
        items = sql(
            "select coalesce(array_agg(item), '{{}}') from jsonb_array_elements_text({}::jsonb) as items(item)", text
        )
        return sql(
            "case when {text} ~ '^\\[' and {text} !~ '^\\[[-0-9]+:' then ({items})::{cast} else {text}::{cast} end",
            text=text,
            items=items,
            cast=self.cast,
        )

    @property
    def text(self) -> Sql:
        """The expression of the text of a value stored in the table `t`, as rows have it."""
        value, types, type = sql("t.{}", self.name), pa.types, self.type
        if types.is_binary(type):
            return sql("translate(encode({}, 'base64'), E'\\n', '')", value)
        if types.is_date(type):
            return sql("{}::date::text", value)
        if types.is_timestamp(type):
            zone = sql("") if type.tz is None else sql(" || 'Z'")
            return sql("({}::timestamptz at time zone 'UTC')::text{}", value, zone)
        if self.there.element:
            return sql("case when array_ndims({0}) > 1 then {0}::text else array_to_json({0})::text end", value)
        if self.there.type == "bytea":
            return sql("'\\x' || encode({}, 'hex')", value)
        return sql("{}::text", value) if self.there.category == "B" else output_text(value)

    def is_changed(self, text: Sql) -> Iterator[Sql]:
        """Yield conditions that are true where the server has stored another value in `t` than it was given."""
        stored, there = sql("t.{}", self.name), self.there
        if there.category == "N":
            number = sql("{}::numeric" if there.type == "money" else "{}::text::numeric", stored)
            yield sql("{} is distinct from {}::numeric", number, text)
        elif there.type in _CLOCKS:
            changed = "{0}::text::timetz is distinct from {1}::timetz or {1} ~ '^\\d+-\\d' or {1} ~ {2}"
            yield sql(changed, stored, text, _FINE)
        elif there.category == "D":
            changed = "{0}::text::timestamptz is distinct from {1}::timestamptz or {1} ~ {2}"
            yield sql(changed, stored, text, _FINE)
        elif there.type == "bytea":
            yield sql("{} !~ '^\\\\x([0-9a-fA-F]{{2}})*$'", text)
        elif (there.modifier or -1) >= 0 and there.type not in ("bpchar", "bit"):
            yield sql("{} is distinct from {}", stored, self.value(text))


@dataclass(frozen=True)
class TargetTable:
    """A table that takes rows. `columns`: of the source, in the order of the rows; `key`: places among them."""

    number: int  # among the tables of the run
    source: str
    schema: str
    name: str
    columns: tuple[TableColumn, ...]
    key: tuple[int, ...]

    @property
    def shown(self) -> Sql:
        return POSTGRESQL.identifier(self.schema, self.name)

    @property
    def touched(self) -> Sql:
        """The name of the temporary table of keys as texts `k0`, `k1` and so on; `keys` has their values, too."""
        return sql("ggfmt_touched_{}", self.number)

    @property
    def keys(self) -> Sql:
        return sql("ggfmt_keys_{}", self.number)

    @property
    def rows(self) -> Sql:
        """The name of the temporary table of rows as texts `s0`, `s1` and so on."""
        return sql("ggfmt_rows_{}", self.number)

    def _keys(self) -> list[Sql]:
        """Return the values of the key from the texts of `touched`."""
        return [self.columns[i].value(sql("k.k{}", j)) for j, i in enumerate(self.key)]

    def _keys_of_rows(self) -> list[Sql]:
        return [self.columns[i].value(sql("s.s{}", i)) for i in self.key]

    def _values(self, template: str = "v{}") -> list[Sql]:
        return [sql(template, j) for j in range(len(self.key))]

    def _same_key(self, values: Sequence[Sql]) -> Sql:
        names = (self.columns[i].name for i in self.key)
        return joined(" and ", [sql("t.{} = {}", *both) for both in zip(names, values, strict=True)])

    def make_keys(self) -> Sql:
        values = joined(", ", [sql("{} as v{}", value, j) for j, value in enumerate(self._keys())])
        return sql("create temporary table {} as select k.*, {} from {} as k", self.keys, values, self.touched)

    def equal_keys(self) -> Sql:
        """Return the query whether keys that differ in the source are one key to the server."""
        values = joined(", ", self._values())
        return sql("select exists (select from {} group by {} having count(*) > 1)", self.keys, values)

    def read_touched(self) -> Sql:
        """Return the query of the present rows, with the keys as the source writes them."""
        names = {i: sql("k.k{}", j) for j, i in enumerate(self.key) if not pa.types.is_binary(self.columns[i].type)}
        texts = [sql('{} as "{}"', names.get(i, column.text), i) for i, column in enumerate(self.columns)]
        same = self._same_key(self._values("k.v{}"))
        return sql("select {} from {} as k join {} as t on {}", joined(", ", texts), self.keys, self.shown, same)

    def delete(self, has_rows: bool) -> Sql:
        """Return the statement that deletes the touched keys without a row."""
        gone = sql("select {} from {} as k", joined(", ", self._values("k.v{}")), self.keys)
        if has_rows:
            gone = sql("{} except select {} from {} as s", gone, joined(", ", self._keys_of_rows()), self.rows)
        values, same = joined(", ", self._values()), self._same_key(self._values("gone.v{}"))
        return sql("delete from {} as t using ({}) as gone ({}) where {}", self.shown, gone, values, same)

    def merge(self) -> Sql:
        written = [(i, column) for i, column in enumerate(self.columns) if column.there.filled != "s"]
        changes = joined(", ", [sql("{0} = s.{0}", column.name) for i, column in written if i not in self.key])
        is_filled = any(column.there.filled == "a" for _, column in written)
        return sql(
            "merge into {table} as t\nusing (select {sources} from {rows} as r) as s\non {same}\n"
            "when matched then {update}\nwhen not matched then insert ({names}){system} values ({values})",
            table=self.shown,
            sources=joined(", ", [sql("{} as {}", c.value(sql("r.s{}", i)), c.name) for i, c in written]),
            rows=self.rows,
            same=self._same_key([sql("s.{}", self.columns[i].name) for i in self.key]),
            update=sql("update set {}", changes) if changes else sql("do nothing"),
            names=joined(", ", [column.name for _, column in written]),
            system=sql(" overriding system value" if is_filled else ""),
            values=joined(", ", [sql("s.{}", column.name) for _, column in written]),
        )

    def changed(self) -> tuple[list[TableColumn], Sql]:
        """Return columns, and the query that counts the rows without a row in the table, and by column those of which
        the server has stored another value."""
        checks = [
            (column, condition)
            for i, column in enumerate(self.columns)
            if column.there.filled != "s"
            for condition in column.is_changed(sql("s.s{}", i))
        ]
        lost = sql("t.{} is null", self.columns[self.key[0]].name)
        wrong = [lost, *(condition for _, condition in checks)]
        counts = joined(", ", [sql("count(*) filter (where {})", condition) for condition in wrong])
        same = self._same_key(self._keys_of_rows())
        query = sql("select {} from {} as s left join {} as t on {}", counts, self.rows, self.shown, same)
        return [column for column, _ in checks], query
