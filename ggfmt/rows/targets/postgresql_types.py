"""The columns of a table in PostgreSQL that takes rows: their values from texts, and whether these are the given ones.

A cast has no length and no scale: the server then refuses a text that is too long. It rounds numbers and times in
silence, and some types drop what they do not know. A rule of each type therefore compares what the server has stored
with the text. A type without a rule holds the texts that it shows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import pyarrow as pa

from ggfmt.database.postgresql import PostgreSQL, output_text
from ggfmt.dataclasses import dataclass, replace
from ggfmt.model.sql import POSTGRESQL, Sql, sql
from ggfmt.rows.targets.database_table import TargetColumn

_CLOCKS = ("time", "timetz")
_NAMES = {
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
_TYPES = sql("""
with recursive type (oid) as (
  select distinct a.atttypid
  from pg_catalog.pg_attribute a join pg_catalog.pg_class c on c.oid = a.attrelid
  where c.relkind in ('r', 'p') and a.attnum > 0 and not a.attisdropped
  union
  select inside.oid
  from type join pg_catalog.pg_type t on t.oid = type.oid
  left join pg_catalog.pg_range r on t.oid in (r.rngtypid, r.rngmultitypid)
  cross join lateral (values (t.typbasetype), (t.typelem), (r.rngsubtype)) as inside (oid)
  where inside.oid <> 0
)
select t.oid::bigint, t.typname, case when element.oid is null then t.typtype::text else 'a' end,
  t.typcategory::text, pg_catalog.format_type(t.oid, -1),
  coalesce(r.rngsubtype, element.oid, t.typbasetype)::bigint
from type join pg_catalog.pg_type t on t.oid = type.oid
left join pg_catalog.pg_type element on element.oid = t.typelem and element.typarray = t.oid
left join pg_catalog.pg_range r on t.oid in (r.rngtypid, r.rngmultitypid)
""")


@dataclass(frozen=True)
class CatalogType:
    """A type of the catalog that is no domain.

    kind      as in `pg_type.typtype`: `b`, `c` (row), `e` (enum), `r` (range), `m` (multirange); and `a` for an array
    category  as in `pg_type.typcategory`
    inner     of the elements of an array, and of the bounds of ranges, where `kind` is `d` for a domain
    """

    name: str
    kind: str
    category: str
    cast: Sql
    inner: CatalogType | None


def read_types(database: PostgreSQL) -> dict[int, CatalogType]:
    """Return the types of all columns by their number in the catalog."""
    rows = {oid: row for oid, *row in database.rows(_TYPES)}

    def found(oid: int) -> CatalogType:
        name, kind, category, cast, inner = rows[oid]
        if kind == "d":
            return found(inner)
        inside = found(inner) if inner else None
        if inside is not None and kind != "a" and rows[inner][1] == "d":
            inside = replace(inside, kind="d")  # a domain may round, which no rule of a range would see
        return CatalogType(name, kind, category, cast, inside)

    return {oid: found(oid) for oid in rows}


def name_of(type: pa.DataType) -> Sql:
    """Return the SQL name of the type of a new column."""
    if pa.types.is_decimal(type):
        return sql("numeric({},{})", type.precision, type.scale)
    if pa.types.is_list(type):
        item = type.value_type
        return sql("jsonb") if pa.types.is_list(item) or pa.types.is_binary(item) else sql("{}[]", name_of(item))
    return sql(_NAMES.get(type, "text"))


# Values


def _quoted(text: Sql) -> Sql:
    return sql(r"""'"' || regexp_replace({}, '(["\\])', '\\\1', 'g') || '"'""", text)


def _literal(type: CatalogType, text: Sql) -> Sql:
    """Return the expression of a text that the type reads: Debezium has values of some types as JSON objects."""
    if type.kind != "b":
        return text
    if type.name == "hstore":
        key, value = _quoted(sql("key")), _quoted(sql("value"))
        pairs = sql("string_agg({} || '=>' || coalesce({}, 'NULL'), ',')", key, value)
        members = sql("select coalesce({}, '') from json_each_text({}::json)", pairs, text)
    elif type.name == "point":
        point = sql("'(' || (point ->> 'x') || ',' || (point ->> 'y') || ')'")
        members = sql("select {} from (select {}::json) as given (point)", point, text)
    else:
        return text
    return sql("case when {0} ~ '^\\s*\\{{' then ({1}) else {0} end", text, members)


def _is_json_array(text: Sql) -> Sql:
    return sql(r"{0} ~ '^\s*\[' and {0} !~ '^\s*\[[-+0-9]+:'", text)  # and not bounds, as in `[2:3]={1,2}`


def value_of(type: CatalogType, text: Sql) -> Sql:
    """Return the expression of a value from its text. Arrays are JSON, as sources write them, or as in SQL."""
    if type.kind != "a" or type.inner is None:
        return sql("({})::{}", _literal(type, text), type.cast)
    item = _literal(type.inner, sql("item"))
    return sql(
        "case when {is_json} then (select coalesce(array_agg({item}), '{{}}') from "
        "json_array_elements_text({text}::json) as items (item))::{cast} else {text}::{cast} end",
        is_json=_is_json_array(text),
        item=item,
        text=text,
        cast=type.cast,
    )


def stored_text(type: CatalogType, value: Sql) -> Sql:
    """Return the expression of a text that `value_of` reads as the value again."""
    if type.kind == "a" and type.inner is not None:
        items = value
        if type.inner.name == "money":
            items = sql("{}::numeric[]", value)
        elif type.inner.category not in ("B", "D", "N", "S"):  # JSON has another text, or an object
            items = sql("{}::text[]", value)
        is_list = sql("array_ndims({0}) is null or (array_ndims({0}) = 1 and array_lower({0}, 1) = 1)", value)
        return sql("case when {0} then array_to_json({1})::text else {1}::text end", is_list, items)
    if type.name == "money":
        return sql("{}::numeric::text", value)
    return sql("{}::text", value) if type.name in ("bool", "xml") else output_text(value)


# Rules: whether a value, which is not NULL, is that of a text

_CLOCK = r"\d{1,2}:[0-5]\d(:[0-5]\d(\.\d{1,6}0*)?)?( ?[AP]M)?"
_DAY = r"(\d{4,}[-/]\d{1,2}[-/]\d{1,2}|\d{8})"
_ZONE = r"( ?(Z|UTC|GMT|[-+]\d{1,2}(:?[0-5]\d(:?[0-5]\d)?)?))?"
_UTC = r"( ?(Z|UTC|GMT|[-+]00(:?00)?))?"
_STAMP = rf"{_DAY}([T :]{_CLOCK}{_ZONE})?( BC)?"
_SECONDS = r"[-+]?\d+(\.\d{1,6}0*)?"
_HOURS = r"\d+:\d{2}(:\d{2}(\.\d{1,6}0*)?)?"
_INTERVALS = (
    rf"P([-+]?\d+[YMWD])*(T([-+]?\d+[HM])*({_SECONDS}S)?)?",
    rf"@? *(([-+]?\d+ *[a-z]+|{_SECONDS} *s(ec(ond)?s?)?|[-+]?{_HOURS}) *)+(ago)?",
    rf"\+?\d+ +{_HOURS}",  # with `-`, PostgreSQL negates the days alone, and Oracle has all negative
    r"[-+]?\d+-\d+",
    _SECONDS,
)
# Texts of which the server may lose only a part of the day, or a zone.
_EXACT: Mapping[str, str] = {
    **dict.fromkeys(("date", "timestamp", "timestamptz"), _STAMP),
    **dict.fromkeys(_CLOCKS, _CLOCK + _ZONE),
    "interval": "|".join(_INTERVALS),
}
# Texts of which it loses nothing.
_EXACT_BOUNDS: Mapping[str, str] = {
    **_EXACT,
    "date": rf"{_DAY}( BC)?",
    "timestamp": rf"{_DAY}([T :]{_CLOCK}{_UTC})?( BC)?",
    "time": _CLOCK + _UTC,
}
_NUMBER = POSTGRESQL.literal(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|[-+]?Infinity|NaN")
_IN_QUOTES = POSTGRESQL.literal(r'\\.|"(?:\\.|[^"\\])*"')

Rule: TypeAlias = Callable[[CatalogType, Sql, Sql], Sql]  # of a type, a stored value, and a text


def _is_pattern(text: Sql, pattern: str) -> Sql:
    return sql("{} ~* {}", text, POSTGRESQL.literal(f"^ *({pattern}) *$"))


def _is_read(type: CatalogType, stored: Sql, text: Sql) -> Sql:
    return sql("format('%s', {}) = format('%s', {})", stored, value_of(type, text))


def _is_number(type: CatalogType, stored: Sql, text: Sql) -> Sql:
    return sql("{}::text::numeric = {}::numeric", stored, text)


def _is_instant(type: CatalogType, stored: Sql, text: Sql) -> Sql:
    """Compare what ggfmt writes by its text, which is cheaper than an expression: `2020-01-01 12:00:00.500000`."""
    zoned, short = sql("timetz" if type.name in _CLOCKS else "timestamptz"), sql("rtrim(rtrim({}, '0'), '.')", text)
    return sql(
        "case when {text} like '%.%' and format('%s', {stored}) in ({short}, {short} || '+00') then true "
        "when {exact} then {stored}::{zoned} = {text}::{zoned} end",
        text=text,
        stored=stored,
        short=short,
        exact=_is_pattern(text, _EXACT[type.name]),
        zoned=zoned,
    )


def _is_interval(type: CatalogType, stored: Sql, text: Sql) -> Sql:
    return sql("{} and {}", _is_pattern(text, _EXACT[type.name]), _is_read(type, stored, text))


def _has_same_numbers(type: CatalogType, stored: Sql, text: Sql) -> Sql:
    """Corners of a box may come in another order."""
    order = sql("order by number[1]::numeric" if type.name == "box" else "")
    numbers = [
        sql("array(select number[1]::numeric from regexp_matches({}, {}, 'gi') as number {})", each, _NUMBER, order)
        for each in (sql("format('%s', {})", stored), _literal(type, text))
    ]
    return sql("{} = {} and {}", *numbers, _is_read(type, stored, text))


def _has_same_marks(mark: str) -> Rule:
    """Return a rule that compares the counts of a mark outside of quotes: of a name that comes twice, one is lost."""

    def rule(type: CatalogType, stored: Sql, text: Sql) -> Sql:
        stored_text, literal, quoted = sql("{}::text", stored), _literal(type, text), POSTGRESQL.literal(mark)
        sizes = [sql("length({0}) - length(replace({0}, {1}, ''))", each, quoted) for each in (stored_text, literal)]
        counts = [
            sql("regexp_count(regexp_replace({}, {}, '', 'g'), {})", each, _IN_QUOTES, quoted)
            for each in (stored_text, literal)
        ]
        return sql(  # without escapes, the marks in quotes are the same, and all can be counted, which is cheaper
            "case when {text} !~ '\\\\' then {} = {} else {} = {} end and {read}",
            *sizes,
            *counts,
            text=text,
            read=_is_read(type, stored, text),
        )

    return rule


_RULES: Mapping[str, Rule] = {
    **dict.fromkeys(("bool", "uuid", "inet", "cidr", "macaddr", "bit", "varbit"), _is_read),
    **dict.fromkeys(("int2", "int4", "int8", "float4", "float8", "numeric", "oid", "xid", "xid8", "cid"), _is_number),
    **dict.fromkeys(("date", "timestamp", "timestamptz", *_CLOCKS), _is_instant),
    **dict.fromkeys(("point", "line", "lseg", "box", "path", "polygon", "circle"), _has_same_numbers),
    "interval": _is_interval,
    "money": lambda type, stored, text: sql("{}::numeric = {}::numeric", stored, text),
    "bpchar": lambda type, stored, text: sql("rtrim(format('%s', {}), ' ') = rtrim({}, ' ')", stored, text),
    "bytea": lambda type, stored, text: sql("'\\x' || encode({}, 'hex') = lower({})", stored, text),
    "jsonb": _has_same_marks(":"),
    "hstore": _has_same_marks("=>"),
    "xml": lambda type, stored, text: sql("{}::text = {}", stored, text),
}
_READ_EXACTLY = {"int2", "int4", "int8", "numeric", "text", "varchar"} | {
    name for name, rule in _RULES.items() if rule is _is_read
}


def _is_range(type: CatalogType, stored: Sql, text: Sql) -> Sql:
    assert type.inner is not None
    bound, read = type.inner.name if type.inner.kind == "b" else "", _is_read(type, stored, text)
    if bound in ("float4", "float8"):
        return _has_same_numbers(type, stored, text)
    if bound in _EXACT_BOUNDS:
        value = rf'"?({_EXACT_BOUNDS[bound]}|-?infinity)?"?'
        range = rf"(empty|[[(] *{value} *, *{value} *[])])"
        pattern = range if type.kind == "r" else rf"\{{ *({range} *(, *{range} *)*)?\}}"
        return sql("{} and {}", _is_pattern(text, pattern), read)
    return read if bound in _READ_EXACTLY else sql("false")


def _has_same_items(type: CatalogType, stored: Sql, text: Sql) -> Sql:
    assert type.inner is not None
    items = sql(
        "case when {0} then array(select json_array_elements_text({1}::json)) else {1}::text[] end",
        _is_json_array(text),
        text,
    )
    is_row = type.inner.kind == "c"  # of which `unnest` makes columns
    return sql(
        "case when {shown} = {text} then true else\narray_dims({stored}) is not distinct from array_dims({items}) "
        "and not exists (select from unnest({items}, {stored}{cast}) as pair (given, stored) where {changed}) end",
        shown=stored_text(type, stored),
        text=text,
        stored=stored,
        items=items,
        cast=sql("::text[]" if is_row else ""),
        changed=is_changed(type.inner, sql("pair.stored"), sql("pair.given")),
    )


def _rule(type: CatalogType) -> Rule | None:
    kinds: Mapping[str, Rule] = {"a": _has_same_items, "r": _is_range, "m": _is_range}
    return _RULES.get(type.name) if type.kind == "b" else kinds.get(type.kind)


def is_changed(type: CatalogType, stored: Sql, text: Sql) -> Sql:
    """Return the condition that a stored value is another one than its text says."""
    rule = _rule(type)
    return sql(
        "case when {text} is null then {stored} is distinct from null when {stored} is not distinct from null "
        "then true\nwhen format('%s', {stored}) = {text} then false else {same} end",
        text=text,
        stored=stored,
        same=sql("true") if rule is None else sql("({}) is not true", rule(type, stored, text)),
    )


_PARKED = {
    **dict.fromkeys(("int2", "int4", "int8", "numeric"), "({start}::numeric + 1 + {number})::{cast}"),
    **dict.fromkeys(("text", "varchar", "bpchar", "citext"), "(chr(1) || to_hex({number}))::{cast}"),
    "uuid": "md5('ggfmt ' || {number})::uuid",
    "bytea": "decode(md5('ggfmt ' || {number}), 'hex')",
    "date": "({start}::date + 1 + {number}::int)",
    **dict.fromkeys(("timestamp", "timestamptz"), "({start}::{cast} + (1 + {number}) * interval '1 second')"),
}


@dataclass(frozen=True)
class TableColumn(TargetColumn):
    """A column of PostgreSQL. `stored_type`: that of its values."""

    stored_type: CatalogType

    @property
    def name(self) -> Sql:
        return POSTGRESQL.identifier(self.there.name or "")

    @property
    def cast(self) -> Sql:
        return self.stored_type.cast

    @property
    def fits(self) -> bool:
        return _fits(self.type, self.stored_type)

    @property
    def parks(self) -> bool:
        return self.there.type in _PARKED and not self.there.is_computed

    def parked(self, start: Sql, number: Sql) -> Sql:
        return sql(_PARKED[self.there.type or ""], number=number, start=start, cast=self.cast)

    def value(self, text: Sql) -> Sql:
        """Return the expression of a value from its text."""
        return value_of(self.stored_type, text)

    @property
    def text(self) -> Sql:
        """The expression of the text of a value stored in the table `t`, as rows have it."""
        value, types, type = sql("t.{}", self.name), pa.types, self.type
        if types.is_binary(type):
            return sql("translate(encode({}, 'base64'), E'\\n', '')", value)
        if types.is_date(type):  # with a time of day it is no date, which stops the run
            return sql("regexp_replace({}::text, ' 00:00:00([+]00)?$', '')", value)
        if types.is_timestamp(type):
            zone = sql("" if type.tz is None else " || 'Z'")
            return sql("({}::timestamptz at time zone 'UTC')::text{}", value, zone)
        return stored_text(self.stored_type, value)

    def is_changed(self, text: Sql) -> Sql:
        """Return the condition that the server has stored another value in `t` than it was given."""
        return is_changed(self.stored_type, sql("t.{}", self.name), text)

    def loss(self, values: str) -> tuple[str, str]:
        type, shown, source = self.stored_type, self.there.written, f"`{self.source}`"
        if type.name in ("text", "varchar", "citext") and (self.there.modifier or -1) < 0:
            help = f"nothing was changed; look at the triggers and rules that change {source}"
            return f"the database has changed {values} of {source}", help
        help = f"nothing was changed; give the column {source} a type that has the values, such as `text`"
        if _rule(type) is None and type.category != "S":
            help += "; or write them as the server shows them"
        return f"the type `{shown}` of {source} in the database does not hold {values} exactly", help


def _fits(type: pa.DataType, there: CatalogType) -> bool:
    types = pa.types
    if types.is_binary(type):
        return there.name == "bytea"
    if types.is_list(type):
        item = there.inner if there.kind == "a" and name_of(type) != "jsonb" else None
        return there.name in ("json", "jsonb") or (item is not None and _fits(type.value_type, item))
    if types.is_string(type) or types.is_null(type) or there.category == "S":
        return True
    if types.is_time(type):
        return there.name in _CLOCKS
    if types.is_temporal(type):
        return there.category == "D" and there.name not in _CLOCKS
    return there.category == ("B" if types.is_boolean(type) else "N")
