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
from ggfmt.diagnostics.diagnostic import Diagnostic, Span, UsageError
from ggfmt.frames.column_types import TEXT
from ggfmt.model.table import quoted_name
from ggfmt.rows.numbers import is_number
from ggfmt.rows.tables import RowTable

MAX_NAME_BYTES = 63  # PostgreSQL cuts longer names, without an error
_CLOCKS = ("time", "timetz")
_FINE = r"'\.\d{6}\d*[1-9]'"  # digits that a microsecond does not have
_TYPES: dict[pa.DataType, str] = {
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
    return UsageError(Diagnostic("GG596", message, Span(table=table, field=column), help))


def sql_type(table: RowTable, column: str) -> str:
    """Return the type of a new column. Numbers that were found in data may have more digits later."""
    type = table.types[column]
    return "numeric" if column in table.found and is_number(type) else _sql_type(type)


def _sql_type(type: pa.DataType) -> str:
    if pa.types.is_decimal(type):
        return f"numeric({type.precision},{type.scale})"
    if pa.types.is_list(type):
        item = type.value_type
        return "jsonb" if pa.types.is_list(item) or pa.types.is_binary(item) else f"{_sql_type(item)}[]"
    return _TYPES.get(type, "text")


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
    def name(self) -> str:
        return quoted_name(self.there.name or "")

    @property
    def fits(self) -> bool:
        """Return whether the server reads the values as what they mean. A text may mean anything."""
        types, type, there = pa.types, self.type, self.there
        if types.is_binary(type):
            return there.type == "bytea"
        if types.is_list(type):
            return (bool(there.element) and _sql_type(type) != "jsonb") or there.type in ("json", "jsonb")
        if types.is_string(type) or there.category == "S":
            return True
        if types.is_time(type):
            return there.type in _CLOCKS
        if types.is_temporal(type):
            return there.category == "D" and there.type not in _CLOCKS
        return there.category == ("B" if types.is_boolean(type) else "N")

    def value(self, text: str) -> str:
        """Return the expression of a value from its text. Arrays are JSON, as sources write them, or as in SQL."""
        cast = f"{text}::{self.there.cast}"
        if not self.there.element:
            return cast
        items = f"select coalesce(array_agg(item), '{{}}') from jsonb_array_elements_text({text}::jsonb) as items(item)"
        return (
            f"case when {text} ~ '^\\[' and {text} !~ '^\\[[-0-9]+:' then ({items})::{self.there.cast} else {cast} end"
        )

    @property
    def text(self) -> str:
        """The expression of the text of a value stored in the table `t`, as rows have it."""
        value, types, type = f"t.{self.name}", pa.types, self.type
        if types.is_binary(type):
            return f"translate(encode({value}, 'base64'), E'\\n', '')"
        if types.is_date(type):
            return f"{value}::date::text"
        if types.is_timestamp(type):
            zone = "" if type.tz is None else " || 'Z'"
            return f"({value}::timestamptz at time zone 'UTC')::text{zone}"
        if self.there.element:
            return f"case when array_ndims({value}) > 1 then {value}::text else array_to_json({value})::text end"
        if self.there.type == "bytea":
            return f"'\\x' || encode({value}, 'hex')"
        return f"{value}::text" if self.there.category == "B" else output_text(value)

    def is_changed(self, text: str) -> Iterator[str]:
        """Yield conditions that are true where the server has stored another value in `t` than it was given."""
        stored, there = f"t.{self.name}", self.there
        if there.category == "N":
            number = f"{stored}::numeric" if there.type == "money" else f"{stored}::text::numeric"
            yield f"{number} is distinct from {text}::numeric"
        elif there.type in _CLOCKS:
            yield f"{stored}::text::timetz is distinct from {text}::timetz or {text} ~ '^\\d+-\\d' or {text} ~ {_FINE}"
        elif there.category == "D":
            yield f"{stored}::text::timestamptz is distinct from {text}::timestamptz or {text} ~ {_FINE}"
        elif there.type == "bytea":
            yield f"{text} !~ '^\\\\x([0-9a-fA-F]{{2}})*$'"
        elif (there.modifier or -1) >= 0 and there.type not in ("bpchar", "bit"):
            yield f"{stored} is distinct from {self.value(text)}"


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
    def shown(self) -> str:
        return f"{quoted_name(self.schema)}.{quoted_name(self.name)}"

    @property
    def touched(self) -> str:
        """The name of the temporary table of keys as texts `k0`, `k1` and so on; `keys` has their values, too."""
        return f"ggfmt_touched_{self.number}"

    @property
    def keys(self) -> str:
        return f"ggfmt_keys_{self.number}"

    @property
    def rows(self) -> str:
        """The name of the temporary table of rows as texts `s0`, `s1` and so on."""
        return f"ggfmt_rows_{self.number}"

    def _key(self, text: str, prefix: str) -> list[str]:
        """Return the values of the key from texts with a prefix: `k`, or `s` of rows."""
        places = enumerate(self.key)
        return [self.columns[i].value(f"{text}.{prefix}{i if prefix == 's' else j}") for j, i in places]

    def _same_key(self, values: Sequence[str]) -> str:
        names = (self.columns[i].name for i in self.key)
        return " and ".join(f"t.{name} = {value}" for name, value in zip(names, values, strict=True))

    def make_keys(self) -> str:
        values = ", ".join(f"{value} as v{j}" for j, value in enumerate(self._key("k", "k")))
        return f"create temporary table {self.keys} as select k.*, {values} from {self.touched} as k"

    def equal_keys(self) -> str:
        """Return the query whether keys that differ in the source are one key to the server."""
        values = ", ".join(f"v{j}" for j in range(len(self.key)))
        return f"select exists (select from {self.keys} group by {values} having count(*) > 1)"

    def read_touched(self) -> str:
        """Return the query of the present rows, with the keys as the source writes them."""
        names = {i: f"k.k{j}" for j, i in enumerate(self.key) if not pa.types.is_binary(self.columns[i].type)}
        texts = ", ".join(f'{names.get(i, column.text)} as "{i}"' for i, column in enumerate(self.columns))
        same = self._same_key([f"k.v{j}" for j in range(len(self.key))])
        return f"select {texts} from {self.keys} as k join {self.shown} as t on {same}"

    def delete(self, has_rows: bool) -> str:
        """Return the statement that deletes the touched keys without a row."""
        gone = f"select {', '.join(f'k.v{j}' for j in range(len(self.key)))} from {self.keys} as k"
        if has_rows:
            gone += f" except select {', '.join(self._key('s', 's'))} from {self.rows} as s"
        values = ", ".join(f"v{j}" for j in range(len(self.key)))
        same = self._same_key([f"gone.v{j}" for j in range(len(self.key))])
        return f"delete from {self.shown} as t using ({gone}) as gone ({values}) where {same}"

    def merge(self) -> str:
        written = [(i, column) for i, column in enumerate(self.columns) if column.there.filled != "s"]
        names = ", ".join(column.name for _, column in written)
        values = ", ".join(f"s.{column.name}" for _, column in written)
        rows = ", ".join(f"{column.value(f'r.s{i}')} as {column.name}" for i, column in written)
        changes = ", ".join(f"{column.name} = s.{column.name}" for i, column in written if i not in self.key)
        system = " overriding system value" if any(column.there.filled == "a" for _, column in written) else ""
        same = self._same_key([f"s.{self.columns[i].name}" for i in self.key])
        return (
            f"merge into {self.shown} as t\nusing (select {rows} from {self.rows} as r) as s\non {same}\n"
            f"when matched then {f'update set {changes}' if changes else 'do nothing'}\n"
            f"when not matched then insert ({names}){system} values ({values})"
        )

    def changed(self) -> tuple[list[TableColumn], str]:
        """Return columns, and the query that counts the rows without a row in the table, and by column those of which
        the server has stored another value."""
        checks = [
            (column, condition)
            for i, column in enumerate(self.columns)
            if column.there.filled != "s"
            for condition in column.is_changed(f"s.s{i}")
        ]
        lost = f"count(*) filter (where t.{self.columns[self.key[0]].name} is null)"
        counts = ", ".join([lost, *(f"count(*) filter (where {condition})" for _, condition in checks)])
        same = self._same_key(self._key("s", "s"))
        return [
            column for column, _ in checks
        ], f"select {counts} from {self.rows} as s left join {self.shown} as t on {same}"
