"""Decimals and times of MySQL's rows as texts, by the layouts of `decimal2bin` and of `my_time.cc` in MySQL 5.6."""

from __future__ import annotations

from datetime import datetime, timedelta

from ggfmt.formats.binlog.events import EventBytes, EventError

_DIGITS = 9  # of a number of four bytes
_BYTES = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)  # of so many digits
_EPOCH = datetime(1970, 1, 1)


def decimal_text(cursor: EventBytes, precision: int, scale: int) -> str:
    """Return a decimal with all digits after its point. Raises: EventError"""
    if scale > precision or not precision:
        raise EventError("the digits of a decimal are invalid")
    whole, part = divmod(precision - scale, _DIGITS)
    whole_after, after = divmod(scale, _DIGITS)
    sizes = [_BYTES[part]] * bool(part) + [4] * (whole + whole_after) + [_BYTES[after]] * bool(after)
    widths = [part] * bool(part) + [_DIGITS] * (whole + whole_after) + [after] * bool(after)
    data = cursor.take(sum(sizes))
    negative = not data[0] & 0x80
    data = bytes([data[0] ^ 0x80]) + data[1:]
    if negative:
        data = bytes(byte ^ 0xFF for byte in data)
    digits, place = "", 0
    for size, width in zip(sizes, widths, strict=True):
        group = f"{int.from_bytes(data[place : place + size], 'big'):0{width}}"
        if len(group) > width:
            raise EventError("the digits of a decimal are invalid")
        digits += group
        place += size
    before = digits[: len(digits) - scale].lstrip("0") or "0"
    return "-" * negative + before + ("." + digits[len(digits) - scale :] if scale else "")


def fraction(cursor: EventBytes, digits: int) -> int:
    """Return a fraction of a second with so many digits."""
    part = int.from_bytes(cursor.take((digits + 1) // 2), "big")
    return part // 10 if digits & 1 else part


def with_fraction(text: str, part: int, digits: int) -> str:
    if part >= 10**digits:
        raise EventError("a fraction of a second is invalid")
    return f"{text}.{part:0{digits}}" if digits else text


def datetime_text(packed: int, part: int, digits: int) -> str:
    """Return a date with a time of day, by its bits: 17 for months and 5 each for days and hours, 6 for the rest."""
    months = packed >> 22 & 0x1FFFF
    year, month = divmod(months, 13)
    hour, minute, second = packed >> 12 & 31, packed >> 6 & 63, packed & 63
    if hour > 23 or minute > 59 or second > 59 or year > 9999:
        raise EventError("a time is invalid")
    date = f"{year:04}-{month:02}-{packed >> 17 & 31:02}"
    return with_fraction(f"{date} {hour:02}:{minute:02}:{second:02}", part, digits)


def datetime_of(cursor: EventBytes, digits: int) -> str:
    packed = int.from_bytes(cursor.take(5), "big") - (1 << 39)
    if packed < 0:
        raise EventError("a time is invalid")
    return datetime_text(packed, fraction(cursor, digits), digits)


def time_of(cursor: EventBytes, digits: int) -> str:
    """Return a time, which may be negative: then its bits are those of the complement."""
    width = 3 + (digits + 1) // 2
    scale = 8 * (width - 3)
    packed = int.from_bytes(cursor.take(width), "big") - (1 << (8 * width - 1))
    sign, packed = "-" if packed < 0 else "", abs(packed)
    part = packed & ((1 << scale) - 1)
    whole = packed >> scale
    minute, second = whole >> 6 & 63, whole & 63
    if minute > 59 or second > 59 or whole >> 12 > 838:
        raise EventError("a time is invalid")
    part = part // 10 if digits & 1 else part
    return with_fraction(f"{sign}{whole >> 12:02}:{minute:02}:{second:02}", part, digits)


def timestamp_of(cursor: EventBytes, digits: int) -> str:
    """Return a time in UTC. The time 0 is `0000-00-00 00:00:00`."""
    seconds = int.from_bytes(cursor.take(4), "big")
    part = fraction(cursor, digits)
    return with_fraction(_instant(seconds, part), part, digits)


def _instant(seconds: int, part: int = 0) -> str:
    return f"{_EPOCH + timedelta(seconds=seconds)}" if seconds or part else "0000-00-00 00:00:00"


def date_of(cursor: EventBytes) -> str:
    packed = cursor.number(3)
    if packed >> 9 > 9999:
        raise EventError("a date is invalid")
    return f"{packed >> 9:04}-{packed >> 5 & 15:02}-{packed & 31:02}"


def old_timestamp_of(cursor: EventBytes) -> str:
    return _instant(cursor.number(4))


def old_time_of(cursor: EventBytes) -> str:
    number = int.from_bytes(cursor.take(3), "little", signed=True)
    sign, number = "-" if number < 0 else "", abs(number)
    return f"{sign}{number // 10000:02}:{number // 100 % 100:02}:{number % 100:02}"


def old_datetime_of(cursor: EventBytes) -> str:
    text = f"{cursor.number(8):014}"
    if len(text) > 14:
        raise EventError("a time is invalid")
    return f"{text[:4]}-{text[4:6]}-{text[6:8]} {text[8:10]}:{text[10:12]}:{text[12:]}"
