"""Values of DTS as the texts of the model.

`millis`, the fraction of a second, has six digits, of Oracle nine. A time with negative parts is a negative time.
Seconds since 1970 are shown as UTC; a time with a zone has the zone behind it, after a blank.
"""

from __future__ import annotations

import base64
import math
import time
from collections.abc import Callable
from functools import cache
from typing import Any

from ggfmt.formats.dts.charsets import decoder
from ggfmt.formats.dts.decode import (
    BINARY_GEOMETRY,
    BINARY_OBJECT,
    CHARACTER,
    CHARACTER_BYTES,
    DATE,
    DATETIME,
    DAY_TIME,
    DECIMAL,
    EPOCH,
    FLOAT,
    INTEGER,
    PARTS,
    TAGS,
    TEXT_GEOMETRY,
    TEXT_OBJECT,
    TIME,
    YEAR,
    YEAR_MONTH,
    ZONED,
)
from ggfmt.model.table import Kind

Maker = Callable[[Any], str]  # of a cell that is not None

MICROS, NANOS = 6, 9
_FIRST_SECOND, _LAST_SECOND = -62135596800, 253402300799  # the years 1 to 9999
_MOST = (999999, 12, 31, 9999, 59, 60, 10**NANOS)  # of each part of a time

# What kind of column a value says it is in.
_KINDS = {
    INTEGER: Kind.INTEGER,
    CHARACTER: Kind.STRING,
    CHARACTER_BYTES: Kind.BINARY,
    DECIMAL: Kind.DECIMAL,
    FLOAT: Kind.DOUBLE,
    EPOCH: Kind.TIMESTAMP,
    DATE: Kind.DATE,
    TIME: Kind.TIME,
    DATETIME: Kind.TIMESTAMP,
    YEAR: Kind.INTEGER,
    YEAR_MONTH: Kind.INTERVAL,
    DAY_TIME: Kind.INTERVAL,
    BINARY_GEOMETRY: Kind.BINARY,
    BINARY_OBJECT: Kind.BINARY,
    TEXT_GEOMETRY: Kind.STRING,
    TEXT_OBJECT: Kind.STRING,
}


class UnreadableValueError(ValueError):
    """A value that has no text in its column; the message says why, in one clause."""


def kind_of(cell: tuple[Any, ...]) -> Kind | None:
    """The kind of column that a value says it is in; None if it says none."""
    return kind_of(cell[1]) if cell[0] == ZONED else _KINDS.get(cell[0])


@cache
def makers(kind: Kind, digits: int) -> tuple[Maker, ...]:
    """What makes texts of the cells of a column, by their tags; `digits` are those of a fraction of a second."""
    if kind is Kind.BINARY:
        return tuple(_BYTES.get(tag, _no_bytes) for tag in range(TAGS))
    texts: dict[int, Maker] = {
        INTEGER: _own,
        CHARACTER: _character,
        DECIMAL: _own,
        FLOAT: _float,
        EPOCH: lambda cell: _epoch(cell, digits),
        **{tag: lambda cell: _time(cell, digits) for tag in (DATE, TIME, DATETIME, YEAR, YEAR_MONTH, DAY_TIME, PARTS)},
        ZONED: lambda cell: f"{_time(cell[1], digits)} {_zone(cell[2])}",
        TEXT_GEOMETRY: _own,
        TEXT_OBJECT: _own,
    }
    if kind is Kind.BOOLEAN:
        texts[TEXT_OBJECT] = _boolean
        texts[CHARACTER] = lambda cell: _boolean((CHARACTER, _character(cell)))
    return tuple(texts.get(tag, _no_text) for tag in range(TAGS))


def _own(cell: Any) -> str:
    text: str = cell[1]
    return text


def _no_text(cell: Any) -> str:
    raise UnreadableValueError("the value is bytes, and its column holds none")


def _no_bytes(cell: Any) -> str:
    raise UnreadableValueError("the value is no bytes, and its column holds bytes")


def _base64(cell: Any) -> str:
    return base64.b64encode(cell[-1]).decode()


_BYTES: dict[int, Maker] = dict.fromkeys((CHARACTER, CHARACTER_BYTES, BINARY_GEOMETRY, BINARY_OBJECT), _base64)


def _character(cell: Any) -> str:
    _, charset, data = cell
    decode = decoder(charset)
    word = charset if len(charset) <= 40 and charset.isprintable() else "of the value"
    if decode is None:
        raise UnreadableValueError(f"the charset `{word}` is not known")
    try:
        return decode(data)
    except ValueError:
        raise UnreadableValueError(f"the bytes are no text in the charset `{word}`") from None


_BOOLEANS = {"t": "true", "true": "true", "1": "true", "f": "false", "false": "false", "0": "false"}


def _boolean(cell: Any) -> str:
    text = _BOOLEANS.get(cell[1].lower())
    if text is None:
        raise UnreadableValueError("the value is neither true nor false")
    return text


def _float(cell: Any) -> str:
    number: float = cell[1]
    if math.isfinite(number):
        return repr(number)
    return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"


def _fraction(value: int | None, digits: int) -> str:
    if value is None:
        return ""
    if not 0 <= value < 10**digits:
        raise UnreadableValueError(f"`millis` has more than {digits} digits")
    return f".{value:0{digits}}"


def _epoch(cell: Any, digits: int) -> str:
    _, seconds, fraction = cell
    if not _FIRST_SECOND <= seconds <= _LAST_SECOND:
        raise UnreadableValueError("the time is out of range")
    year, month, day, hour, minute, second, *_ = time.gmtime(seconds)
    return f"{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}{_fraction(fraction, digits)}"


def _zone(zone: str) -> str:
    if not zone or len(zone) > 60 or not zone.isprintable():
        raise UnreadableValueError("the time has no name of its zone")
    return zone


def _time(cell: Any, digits: int) -> str:
    tag, *parts = cell
    if tag == DATETIME:
        year, month, day, hour, minute, second, fraction = parts
        if year >= 0 <= month <= 12 and 0 <= day <= 31 and 0 <= hour <= 23 and 0 <= minute <= 59 and 0 <= second <= 59:
            moment = f"{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}"
            return moment + _fraction(fraction, digits)
    minus = ""
    if any(part is not None and part < 0 for part in parts):
        minus = "-"
        parts = [None if part is None else abs(part) for part in parts]
    year, month, day, hour, minute, second, fraction = parts
    if any(part is not None and part > most for part, most in zip(parts, _MOST, strict=True)):
        raise UnreadableValueError("a part of the time is out of range")
    if tag == DATETIME:
        moment = f"{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}"
    elif tag == DATE:
        return f"{minus}{year:04}-{month:02}-{day:02}"
    elif tag == TIME:
        moment = f"{hour:02}:{minute:02}:{second:02}"
    elif tag == YEAR:
        return f"{minus}{year}"
    elif tag == YEAR_MONTH:
        return f"{minus}{year}-{month}"
    elif tag == DAY_TIME:
        moment = f"{day} {hour:02}:{minute:02}:{second:02}"
    else:
        raise UnreadableValueError("the time has some of its parts only")
    return f"{minus}{moment}{_fraction(fraction, digits)}"
