"""The columns of a table in MariaDB that takes rows: their values from texts, and whether these are the given ones.

In strict mode the server refuses most texts that a type does not have. It rounds numbers and times in silence, takes
numbers for members of enums, and cuts blanks: a rule of each type compares what it has stored with the text. A type
without a rule takes no rows.
"""

from __future__ import annotations

import pyarrow as pa

from ggfmt.dataclasses import dataclass
from ggfmt.model.sql import MYSQL, Sql, sql
from ggfmt.rows.targets.database_table import TargetColumn

_NAMES = {
    pa.bool_(): "boolean",
    pa.int8(): "tinyint",
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.date32(): "date",
    pa.time64("us"): "time(6)",
    pa.timestamp("us"): "datetime(6)",
    pa.timestamp("us", "UTC"): "datetime(6)",  # TIMESTAMP ends in 2038
}
_KEY_LENGTH = 255  # of texts and bytes in new keys
_WHOLE = ("tinyint", "smallint", "mediumint", "int", "bigint", "year", "bit", "decimal")
_TEXTS = ("char", "varchar", "tinytext", "text", "mediumtext", "longtext", "json", "enum", "set")
_BYTES = ("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob")
_INSTANTS = ("date", "datetime", "timestamp", "time")
_EXACT = "'^[-+]?[0-9]{{1,35}}([.][0-9]{{1,30}}0*)?$'"
_MANTISSA = "substring_index(lower({text}), 'e', 1)"
_DIGITS = f"length(trim(both '0' from regexp_replace({_MANTISSA}, '[-+.]', ''))) <= {{digits}}"
_UNDERFLOW = "({stored} <> 0 or {text} regexp '^[-+]?[0.]*([eE].*)?$')"
_NUMBER = f"cast({{stored}} as char) = {{text}} or ({{text}} regexp {_EXACT}"
_NUMBER += " and {stored} = cast({text} as decimal(65,30)))"
_SAME_TEXT = "binary convert({stored} using utf8mb4) = binary {text}"
# By type, the condition that a stored value is that of a text; neither is NULL.
_RULES = {
    **dict.fromkeys(_WHOLE, _NUMBER),
    "bit": _NUMBER.replace("{stored}", "({stored} + 0)"),
    **dict.fromkeys(_TEXTS, _SAME_TEXT),
    "char": "binary rtrim(convert({stored} using utf8mb4)) = binary rtrim({text})",
    **dict.fromkeys(_BYTES, "{stored} = {text}"),
    "binary": "trim(trailing 0x00 from {stored}) = trim(trailing 0x00 from {text})",
    "double": f"cast({{stored}} as char) = {{text}} or ({{stored}} = {{text}} + 0e0 and {_DIGITS} and {_UNDERFLOW})",
    "float": f"({{stored}} = {{text}} + 0e0 or cast({{stored}} as char) + 0e0 = {{text}} + 0e0) and {_UNDERFLOW}",
    "date": "{short} in (cast({stored} as char), concat(cast({stored} as char), ' 00:00:00'))",
    **dict.fromkeys(("datetime", "timestamp"), "{shown} in ({short}, concat({short}, ' 00:00:00'))"),
    "time": "{shown} = {short}",
    **dict.fromkeys(("uuid", "inet4", "inet6"), "lower(cast({stored} as char)) = lower({text})"),
}
_SHORT = "if({0} like '%.%', trim(trailing '.' from trim(trailing '0' from {0})), {0})"
_NUMBERS = ("tinyint", "smallint", "mediumint", "int", "bigint", "decimal")
_PARKED = {
    **dict.fromkeys(_NUMBERS, "cast({0} as decimal(65,0)) + 1 + {1}"),
    **dict.fromkeys(_TEXTS[:6], "concat(_utf8mb4 0x01, hex({1}))"),
    **dict.fromkeys(_BYTES, "unhex(md5(concat('ggfmt ', {1})))"),
    "uuid": "concat('67676d74-7061-8726-b69e-', lpad(hex({1}), 12, '0'))",
    "date": "timestampadd(day, 1 + {1}, cast({0} as date))",
    **dict.fromkeys(("datetime", "timestamp"), "timestampadd(second, 1 + {1}, cast({0} as datetime))"),
}  # fmt: skip


def name_of(type: pa.DataType, is_key: bool, was_found: bool) -> Sql:
    """Return the SQL name of the type of a new column. `was_found`: in data, which may have more digits later."""
    if was_found and (pa.types.is_integer(type) or pa.types.is_decimal(type)):
        return sql("bigint" if pa.types.is_integer(type) else "decimal(65,30)")
    if pa.types.is_decimal(type) and type.precision <= 65 and 0 <= type.scale <= 30:
        return sql("decimal({},{})", type.precision, type.scale)
    if pa.types.is_binary(type):
        return sql("varbinary({})", _KEY_LENGTH) if is_key else sql("longblob")
    if type in _NAMES:
        return sql(_NAMES[type])
    text = sql("varchar({})", _KEY_LENGTH) if is_key else sql("longtext")
    return sql("{} character set utf8mb4 collate utf8mb4_nopad_bin", text)


@dataclass(frozen=True)
class MariaDBColumn(TargetColumn):
    """A column of MariaDB."""

    @property
    def name(self) -> Sql:
        return MYSQL.identifier(self.there.name or "")

    @property
    def has_rule(self) -> bool:
        return self.there.type in _RULES

    @property
    def is_bytes(self) -> bool:
        return pa.types.is_binary(self.type)

    @property
    def fits(self) -> bool:
        types, type, there = pa.types, self.type, self.there.type
        if types.is_binary(type):
            return there in _BYTES
        if types.is_string(type) or types.is_null(type) or there in _TEXTS:
            return True
        if types.is_time(type):
            return there == "time"
        if types.is_temporal(type):
            return there in ("date", "datetime", "timestamp")
        return there in _WHOLE or (there in ("float", "double") and not types.is_boolean(type))

    @property
    def parks(self) -> bool:
        return self.there.type in _PARKED and not self.there.is_computed

    def parked(self, start: Sql, number: Sql) -> Sql:
        return sql(_PARKED[self.there.type or ""], start, number)

    def value(self, text: Sql) -> Sql:
        """Return the expression of a text that the server reads."""
        if pa.types.is_binary(self.type):
            return sql("unhex(substr({}, 3))", text)
        if pa.types.is_boolean(self.type) and self.there.type in _WHOLE:
            text = sql("case {0} when 'true' then '1' when 'false' then '0' else {0} end", text)
        if self.there.type in _BYTES:
            return sql("binary {}", text)
        if self.there.type == "float" and pa.types.is_float32(self.type):
            return sql("greatest(least({0} + 0e0, {1}), -{1})", text, sql("3.4028234663852886e38"))  # its limit
        if self.there.type == "bit":
            return sql("cast({} as unsigned)", text)  # it takes a text for its bytes
        if self.there.type in _INSTANTS:
            return sql("regexp_replace(replace({}, 'T', ' '), ' ?(Z|[+]00(:?00)?)$', '')", text)
        return text

    def is_changed(self, stored: Sql, text: Sql) -> Sql:
        """Return the condition that a stored value is another one than its text says."""
        rule, of_float = _RULES[self.there.type or ""], pa.types.is_floating(self.type)
        if self.there.cast == "float" and pa.types.is_float32(self.type):
            rule = _UNDERFLOW  # the server takes the nearest one
        given = text if self.there.type == "bit" else self.value(text)
        same = sql(
            rule,
            stored=stored,
            text=given,
            short=sql(_SHORT, given),
            shown=sql(_SHORT, sql("cast({} as char)", stored)),
            digits=17 if of_float else 15,
        )
        return sql("coalesce({0} is null <> ({1} is null) or not ({2}), {0} is not null)", stored, text, same)

    def differs(self, one: Sql, other: Sql) -> Sql:
        """Return the condition that two values of the column are not the same, whatever its collation says."""
        return sql("not (binary {} <=> binary {})" if self.there.type in _TEXTS else "not ({} <=> {})", one, other)

    @property
    def text(self) -> Sql:
        """The expression of the text of a value stored in the table `t`, as rows have it."""
        value, type, there = sql("t.{}", self.name), self.type, self.there.type
        if pa.types.is_binary(type):
            return sql("{} as bytes", value)
        if there in _TEXTS or there in _BYTES:
            return value
        if pa.types.is_boolean(type):
            return sql("case {0} when 1 then 'true' when 0 then 'false' else {0} + 0 end", value)
        if pa.types.is_date(type) and there != "date":
            return sql("trim(trailing ' 00:00:00' from {})", sql(_SHORT, sql("cast({} as char)", value)))
        if there == "bit":
            value = sql("{} + 0", value)
        elif there == "float":
            value = sql("{} + 0e0", value)  # as a text it has six digits
        elif there == "date" and pa.types.is_timestamp(type):
            value = sql("cast({} as datetime)", value)
        zone = sql("Z" if pa.types.is_timestamp(type) and type.tz is not None else "")
        return sql("concat(cast({} as char), '{}')", value, zone)

    def loss(self, values: str) -> tuple[str, str]:
        help = f"nothing was changed; give the column `{self.source}` a type that has the values, such as `longtext`; "
        help += "or look at the triggers that change it"
        return f"the column `{self.source}`, `{self.there.cast}` in the database, does not hold {values} exactly", help
