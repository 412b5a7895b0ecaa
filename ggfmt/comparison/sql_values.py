"""Values of databases that SQLAlchemy reads: objects of Python as arrays of stored types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

from ggfmt.comparison.kinds import CALENDAR, FLAG, INTERVAL, JSON, NUMBER, SET, TEXT, UUID, bits, is_kind
from ggfmt.comparison.values import storage_type, stored_type
from ggfmt.rowfiles.files import ColumnError

_INSTANT = pa.timestamp("us", "UTC")
_NONE = type(None)


class Reading:
    """How values of a column are read: their type, and what makes its values of objects of Python. `is_rounded`: the
    server writes the numbers with fewer digits than they have, if they are no sum. `as_text`: the server writes texts,
    because drivers have no objects for some values."""

    def __init__(
        self, type: pa.DataType, make: Callable[[Any], Any], is_rounded: bool = False, as_text: bool = False
    ) -> None:
        self.type, self.is_rounded, self.as_text = stored_type(type), is_rounded, as_text
        self._make = make
        self._direct = _direct(self.type)

    def array(self, values: Sequence[Any], name: str) -> pa.Array[Any]:
        make, storage = self._make, storage_type(self.type)
        try:
            if self._direct is not None and {*map(type, values)} <= {self._direct, _NONE}:
                return _converted(values, self._direct, storage)
            return pa.array([None if value is None else make(value) for value in values], storage)
        except (ValueError, TypeError, OverflowError):
            raise ColumnError(name, "it has a value that is not valid for its type") from None


def _direct(stored: pa.DataType) -> type | None:
    """Return the class of objects that Arrow converts to a stored type as `Reading` would, but faster."""
    if stored in (NUMBER, FLAG):
        return int
    if is_kind(stored):
        return str
    found = {pa.binary(): bytes, pa.date32(): date, pa.timestamp("us"): datetime, _INSTANT: datetime}
    return found.get(stored)


def _converted(values: Sequence[Any], of: type, storage: pa.DataType) -> pa.Array[Any]:
    if of is not int:
        return pa.array(values, storage)
    try:
        return pa.array(values, pa.int64()).cast(storage)
    except OverflowError:
        return pa.array([None if value is None else str(value) for value in values], storage)


def mysql_reading(type: Any) -> Reading | None:
    """Return how values of a type of MariaDB and MySQL are read, if it differs from the type's name elsewhere."""
    name = type.__visit_name__
    if name == "TINYINT" and type.display_width == 1:
        return Reading(FLAG, _text)
    if name == "FLOAT":
        return Reading(pa.float32(), float, is_rounded=True)
    if name == "BIT":
        length = type.length or 1
        return Reading(pa.bool_(), _bit) if length == 1 else Reading(bits(length), lambda value: _bits(value, length))
    return _MYSQL_READINGS.get(name)


def reading(type: Any, types: Any) -> Reading:
    """Return how values of a type are read; `types` is the module of SQLAlchemy's types."""
    name = type.__visit_name__.upper()
    if isinstance(type, types.Float) or name in ("DOUBLE", "DOUBLE_PRECISION", "BINARY_DOUBLE"):
        return Reading(pa.float64(), float)
    for sql_type, read_as, make in _READINGS:
        if isinstance(type, getattr(types, sql_type)):
            return Reading(_INSTANT if make is _datetime and type.timezone else read_as, make)
    if "BINARY" in name or "BLOB" in name:
        return Reading(pa.binary(), _bytes)
    return Reading(TEXT, _text)


def _text(value: Any) -> str:
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    return f"\\x{bytes(value).hex()}" if isinstance(value, (bytes, bytearray, memoryview)) else str(value)


def _datetime(value: Any) -> datetime:
    return value if isinstance(value, datetime) else datetime.fromisoformat(value)


def _date(value: Any) -> date:
    found = value if isinstance(value, date) else date.fromisoformat(value)
    return found.date() if isinstance(found, datetime) else found


def _time(value: Any) -> time:
    if isinstance(value, time):
        return value
    if value[:2] == "24":  # which Python 3.14 reads as the start of a day
        raise ValueError(f"`{value}` is not a time of day")
    return time.fromisoformat(value)


def _duration(value: Any) -> str:
    return f"PT{Decimal(value // timedelta(microseconds=1)) / 1_000_000:f}S" if isinstance(value, timedelta) else value


def _boolean(value: Any) -> bool:
    if value not in (0, 1):
        raise ValueError
    return bool(value)


def _bit(value: Any) -> bool:
    return _boolean(value if isinstance(value, int) else int.from_bytes(value, "big"))


def _bits(value: Any, length: int) -> str:
    number = value if isinstance(value, int) else int.from_bytes(value, "big")
    return f"{number:0{length}b}"


def _bytes(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


_READINGS: Sequence[tuple[str, pa.DataType, Callable[[Any], Any]]] = (
    ("Boolean", pa.bool_(), _boolean),
    ("Integer", NUMBER, _text),
    ("Numeric", NUMBER, _text),
    ("DateTime", pa.timestamp("us"), _datetime),
    ("Date", pa.date32(), _date),
    ("Time", pa.time64("us"), _time),
    ("Interval", INTERVAL, _duration),
    ("JSON", JSON, _text),
    ("Uuid", UUID, _text),
    ("LargeBinary", pa.binary(), _bytes),
)

_MYSQL_READINGS = {
    "SET": Reading(SET, _text),
    "TIME": Reading(INTERVAL, _text, as_text=True),
    **dict.fromkeys(("DATE", "DATETIME", "TIMESTAMP"), Reading(CALENDAR, _text, as_text=True)),
}
JSON_TEXTS = Reading(JSON, _text)
