"""Kinds of values that are kept as texts and compared by what the texts mean.

A kind is a type of Arrow whose storage is text. `canonical` gives the values of a kind one text each, so that equal
values have equal texts.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import as_strings
from ggfmt.columnar.strings import plain_number
from ggfmt.columnar.typed import typed_values
from ggfmt.lazy import lazy_regex

STRING = pa.string()
_VENDOR = "ggfmt"


def _kind(name: str, storage: pa.DataType = STRING) -> pa.DataType:
    return pa.opaque(storage, name, _VENDOR)


def _name(kind: pa.DataType) -> str:
    return kind.type_name if isinstance(kind, pa.OpaqueType) else str(kind)


TEXT = _kind("text")  # declared as text by a database
UNTYPED = _kind("untyped")  # of a file whose values have no types
ANY = _kind("any")  # two texts of which one is untyped: equal if both are spellings of one value
NUMBER = _kind("number")  # of any precision, NaN or infinite
FLAG = _kind("flag")  # a number of which 1 and 0 may be written as booleans: TINYINT(1)
INTERVAL = _kind("interval")  # also times of MySQL, which may be negative or over 24 hours
CALENDAR = _kind("calendar")  # dates and times of MySQL in UTC, also such as `0000-00-00`
TIME_WITH_ZONE = _kind("time with time zone")
UUID = _kind("uuid")
JSON = _kind("json")
HSTORE = _kind("hstore")
SET = _kind("set")  # of MySQL
GEOMETRY = _kind("geometry")  # of numbers and brackets, as PostgreSQL writes points
BYTES = _kind("bytes")  # elements of arrays
BIT_TEXT = pa.large_string()  # how bits are stored: unlike a number, whose digits may be the same
_BITS = "bits"
_ARRAY = "array of "


def array_of(element: pa.DataType) -> pa.DataType:
    return _kind(f"{_ARRAY}{_name(element)}")


def bits(length: int | None) -> pa.DataType:
    return _kind(f"{_BITS}({length or ''})", BIT_TEXT)


def is_bits(type: pa.DataType) -> bool:
    return is_kind(type) and _name(type).startswith(_BITS)


def is_kind(type: pa.DataType) -> bool:
    return isinstance(type, pa.OpaqueType) and type.vendor_name == _VENDOR


def canonical(texts: pa.StringArray, kind: pa.DataType) -> pa.StringArray:
    """Return one text for all spellings of a value; NULL for other texts, which stay as they are for kind ANY."""
    if kind == ANY:
        return _any_values(texts)
    if kind == NUMBER:
        return _numbers(texts)
    if kind == FLAG:
        texts = as_strings(pc.replace_substring_regex(texts, "^(?i:t|true)$", "1"))
        return _numbers(as_strings(pc.replace_substring_regex(texts, "^(?i:f|false)$", "0")))
    if kind == CALENDAR:
        texts = as_strings(pc.if_else(pc.match_substring_regex(texts, _ANY_TIME), texts, _NOTHING))
        times = _any_times(texts)
        return times if times.null_count == texts.null_count else as_strings(pc.coalesce(times, _odd_times(texts)))
    if is_bits(kind):
        length = int(_name(kind)[len(_BITS) + 1 : -1] or 0)
        return _by_value(texts, lambda text: _bits(text, length))
    if _name(kind).startswith(_ARRAY):
        name = _name(kind).removeprefix(_ARRAY)
        element = _kind(name) if name in _READERS or name.startswith(_BITS) else _ELEMENTS.get(name, STRING)
        return _by_value(texts, lambda text: _array_text(text, element))
    return _by_value(texts, _READERS[_name(kind)])


def _by_value(texts: pa.StringArray, read: Callable[[str], str | None]) -> pa.StringArray:
    distinct = texts.dictionary_encode()
    values = [None if text is None else read(text) for text in distinct.dictionary.to_pylist()]
    return as_strings(pa.array(values, STRING).take(distinct.indices))


# Numbers

_PLAIN = r"^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)$"
_EXPONENT = lazy_regex(r"([+-]?)([0-9]+\.?[0-9]*|\.[0-9]+)[eE]([+-]?[0-9]{1,6})")
_MAX_EXPONENT = 20_000  # PostgreSQL has up to 131,072 digits before the point, and 16,383 behind it
_NOT_FINITE = {
    "nan": "NaN",
    **dict.fromkeys(("infinity", "+infinity", "inf", "+inf"), "Infinity"),
    **dict.fromkeys(("-infinity", "-inf"), "-Infinity"),
}


def _numbers(texts: pa.StringArray) -> pa.StringArray:
    """Return numbers without an exponent, a plus, and zeros that mean nothing."""
    plain = pc.match_substring_regex(texts, _PLAIN)
    short = pc.replace_substring_regex(texts, r"^[+]?(-?)0*([0-9]*)(?:\.([0-9]*?)0*)?$", r"\1\2.\3")
    short = pc.replace_substring_regex(short, r"^(-?)\.", r"\10.")
    short = pc.replace_substring_regex(short, r"\.$", "")
    short = as_strings(pc.if_else(pc.equal(short, "-0"), "0", short))
    if pc.all(plain, min_count=0).as_py() is not False:
        return short
    others = _by_value(as_strings(pc.if_else(plain, pa.scalar(None, STRING), texts)), _odd_number)
    return as_strings(pc.if_else(plain, short, others))


def _odd_number(text: str) -> str | None:
    word = _NOT_FINITE.get(text.lower())
    if word is not None:
        return word
    found = _EXPONENT.fullmatch(text)
    if found is None or abs(int(found[3])) > _MAX_EXPONENT:
        return None
    try:
        value = Decimal(text)
    except InvalidOperation:
        return None
    return plain_number(value)


# Intervals: months, days and microseconds, as PostgreSQL stores them.

_ISO_INTERVAL = lazy_regex(
    r"([+-]?)P(?:([+-]?[0-9.]+)Y)?(?:([+-]?[0-9.]+)M)?(?:([+-]?[0-9.]+)W)?(?:([+-]?[0-9.]+)D)?"
    r"(?:T(?:([+-]?[0-9.]+)H)?(?:([+-]?[0-9.]+)M)?(?:([+-]?[0-9.]+)S)?)?"
)
_UNITS = {"year": (12, 0), "mon": (1, 0), "month": (1, 0), "week": (0, 7), "day": (0, 1)}
_PART = lazy_regex(r"([+-]?[0-9]+) (year|mon|month|week|day)s?(?: |$)")
_CLOCK = lazy_regex(r"([+-]?)([0-9]+):([0-9]{2})(?::([0-9]{2}(?:\.[0-9]+)?))?")


def _interval(text: str) -> str | None:
    try:
        found = _ISO_INTERVAL.fullmatch(text)
        parts = _verbose_interval(text) if found is None else _iso_interval(found)
    except InvalidOperation:
        return None
    return None if parts is None else " ".join(map(plain_number, parts))


def _iso_interval(found: re.Match[str]) -> tuple[Decimal, ...] | None:
    sign, *parts = found.groups()
    if not any(part is not None for part in parts):
        return None
    years, months, weeks, days, hours, minutes, seconds = (Decimal(part or 0) for part in parts)
    factor = -1 if sign == "-" else 1
    return factor * (12 * years + months), factor * (7 * weeks + days), factor * (3600 * hours + 60 * minutes + seconds)


def _verbose_interval(text: str) -> tuple[Decimal, ...] | None:
    """Read `1 year 2 mons -3 days 04:05:06.7`, as PostgreSQL writes intervals by default."""
    months = days = 0
    place = 0
    while found := _PART.match(text, place):
        of_months, of_days = _UNITS[found[2]]
        months, days = months + of_months * int(found[1]), days + of_days * int(found[1])
        place = found.end()
    rest = text[place:]
    if not rest:
        return (Decimal(months), Decimal(days), Decimal(0)) if place else None
    clock = _CLOCK.fullmatch(rest)
    if clock is None:
        return None
    seconds = 3600 * Decimal(clock[2]) + 60 * Decimal(clock[3]) + Decimal(clock[4] or 0)
    return Decimal(months), Decimal(days), -seconds if clock[1] == "-" else seconds


# Times of a day with a zone, as seconds of the day in UTC, which may be those of the day before or after.

_ZONED = lazy_regex(
    r"([0-9]{2}):([0-9]{2})(?::([0-9]{2}(?:\.[0-9]+)?))?(?:Z|([+-])([0-9]{2})(?::?([0-9]{2})(?::([0-9]{2}))?)?)"
)


def _zoned_time(text: str) -> str | None:
    found = _ZONED.fullmatch(text)
    if found is None:
        return None
    hours, minutes, seconds, sign, *zone = found.groups()
    behind = sum(int(part or 0) * unit for part, unit in zip(zone, (3600, 60, 1), strict=True))
    if int(hours) == 24 and not behind:
        return "86400"  # another value than midnight at the start of the day
    total = 3600 * int(hours) + 60 * int(minutes) + Decimal(seconds or 0) - (-behind if sign == "-" else behind)
    return plain_number(total % 86400 + (86400 if total < 0 and total % 86400 else 0))


_HEXADECIMAL = lazy_regex("[0-9a-f]{32}")


def _uuid(text: str) -> str | None:
    digits = text.lower().replace("-", "").strip("{}")
    return digits if _HEXADECIMAL.fullmatch(digits) else None


# Bits: texts of `0` and `1`, or the number that they are.

_BIT_TEXT = lazy_regex("(?:[bB]'([01]*)'|([01]*))")
_BIT_WORDS = {"true": "1", "t": "1", "false": "0", "f": "0"}


def _bits(text: str, length: int) -> str | None:
    """Read bits, or a number if the text has another `length`; 0: any length, and no number. A number of two and more
    digits `0` and `1` needs more bits than digits, so that each text has one meaning."""
    found = _BIT_TEXT.fullmatch(text)
    if found is not None and (found[1] is not None or not length or len(text) == length):
        return found[1] or found[2] or ""
    digits = (_BIT_WORDS.get(text.lower()) if length == 1 else None) or _bits_of(text)
    return digits.zfill(length) if length and digits is not None and len(digits) <= length else None


def _bits_of(number: str) -> str | None:
    (digits,) = _numbers(as_strings(pa.array([number], STRING))).to_pylist()
    return f"{int(digits):b}" if digits is not None and digits.isdecimal() else None


def bits_as_numbers(texts: pa.Array[Any]) -> pa.StringArray:
    return _by_value(as_strings(texts.cast(STRING)), lambda text: str(int(text or "0", 2)))


# Sets of MySQL: members with commas, or as a JSON array.


def _set(text: str) -> str | None:
    members = _array(text) if text.startswith("[") else text.split(",")
    if members is None or any(not isinstance(member, str) for member in members):
        return None
    return json.dumps(sorted({member for member in members if member}))


# Pairs of hstore: `"a"=>"1", "b"=>NULL`, a JSON object, or a JSON array of pairs.

_HSTORE_TEXT = r'"(?:[^"\\]|\\.)*"'
_HSTORE_PAIR = lazy_regex(rf"\s*({_HSTORE_TEXT})\s*=>\s*({_HSTORE_TEXT}|NULL)\s*(?:,|$)", re.DOTALL)


def _hstore(text: str) -> str | None:
    pairs: Any
    if text[:1] in ("{", "["):
        try:
            pairs = json.loads(text, parse_int=str, parse_float=str, object_pairs_hook=list)
            found = {_leaves_as_texts(name): _leaves_as_texts(value) for name, value in pairs}
        except (ValueError, TypeError, RecursionError):
            return None
    else:
        pairs, rest = _HSTORE_PAIR.findall(text), _HSTORE_PAIR.sub("", text)
        if rest.strip():
            return None
        found = {_element(name): _element(value) for name, value in pairs}
    is_flat = all(value is None or isinstance(value, str) for value in (*found, *found.values()))
    return json.dumps(found, sort_keys=True) if is_flat else None


# Points and other geometry of PostgreSQL: `(1,2)`; points also as a JSON object with `x` and `y`, and `POINT (1 2)`.

_FLOAT = r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[-+]?Infinity|NaN"
_FLOATS = lazy_regex(_FLOAT)
_GEOMETRY = lazy_regex(rf"[(\[{{<](?:[()\[\]{{}}<>,]|{_FLOAT})*")
_POINT = lazy_regex(rf"\s*POINT\s*\(\s*({_FLOAT})\s+({_FLOAT})\s*\)\s*", re.IGNORECASE)


def _geometry(text: str) -> str | None:
    point = _POINT.fullmatch(text)
    if point is not None:
        text = f"({point[1]},{point[2]})"
    elif text.startswith("{") and '"' in text:
        try:
            value = json.loads(text, parse_int=str, parse_float=str)
            text = f"({value['x']},{value['y']})"
        except (ValueError, KeyError, RecursionError):
            return None
    text = "".join(text.split())
    return _FLOATS.sub(lambda found: repr(float(found[0]) + 0.0), text) if _GEOMETRY.fullmatch(text) else None


# JSON: the order of members and spellings of numbers mean nothing.


def _json(text: str) -> str | None:
    try:
        # `_plain_json` refuses constants, whose exponents are no numbers.
        value = json.loads(text, parse_int=Decimal, parse_float=Decimal, parse_constant=Decimal)
        return json.dumps(_plain_json(value), ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    except (ValueError, RecursionError, InvalidOperation):
        return None


def _plain_json(value: Any) -> Any:
    """Return a value whose numbers are objects of one member, so that no text equals a number."""
    if isinstance(value, Decimal):
        exponent = value.as_tuple().exponent
        if not isinstance(exponent, int) or abs(exponent) > _MAX_EXPONENT:
            raise ValueError("an exponent is too large")
        return [[plain_number(value)]]
    if isinstance(value, dict):
        return {name: _plain_json(member) for name, member in value.items()}
    if isinstance(value, list):
        return [0, *map(_plain_json, value)]
    return value


# Arrays: as PostgreSQL writes them (`{1,NULL,"a b"}`), or as JSON.

_TOKEN = lazy_regex(r'[{},]|"(?:[^"\\]|\\.)*"|[^{},"\s](?:[^{},"\\]|\\.)*', re.DOTALL)
_JSON_MARKS = {"{": "[", "}": "]", ",": ","}
_ESCAPED = lazy_regex(r"\\(.)", re.DOTALL)
_BOUNDS = lazy_regex(r"((?:\[-?[0-9]+:-?[0-9]+\])+)=(?=\{)")  # of arrays whose places do not begin with 1


def _array_text(text: str, element: pa.DataType) -> str | None:
    bounds = _BOUNDS.match(text)
    values = _array(text[bounds.end() :] if bounds else text)
    if values is None:
        return None
    leaves: list[str | None] = []
    try:
        shape = _shape(values, leaves)
    except RecursionError:
        return None
    texts = pa.array(leaves, STRING)
    found = texts if element == STRING else canonical(texts, element)
    if found.null_count > texts.null_count:
        return None
    return json.dumps([shape, found.to_pylist(), *([bounds[1]] if bounds else ())])


def _shape(value: Any, leaves: list[str | None]) -> Any:
    if isinstance(value, list):
        return [_shape(member, leaves) for member in value]
    leaves.append(value)
    return 0


def _array(text: str) -> list[Any] | None:
    try:
        if text.startswith("{"):
            text = _literal_as_json(text)
        elif not text.startswith("["):
            return None
        value = json.loads(text, parse_int=Decimal, parse_float=Decimal, parse_constant=str)
        return _leaves_as_texts(value) if isinstance(value, list) else None
    except (ValueError, RecursionError, InvalidOperation):
        return None


def _literal_as_json(text: str) -> str:
    tokens = _TOKEN.findall(text)
    if "".join(tokens) != text:
        raise ValueError("the text has blanks between values")
    return "".join(_JSON_MARKS.get(token) or json.dumps(_element(token)) for token in tokens)


def _leaves_as_texts(value: Any) -> Any:
    if isinstance(value, list):
        return [_leaves_as_texts(member) for member in value]
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, Decimal) else json.dumps(_plain_json(value), sort_keys=True)


def _element(token: str) -> str | None:
    if token.startswith('"'):
        return _ESCAPED.sub(r"\1", token[1:-1])
    return None if token.upper() == "NULL" else _ESCAPED.sub(r"\1", token)


# Values of no known kind

_ANY_NUMBER = r"^[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)$"  # a leading zero may be of a code
_ANY_EXPONENT = lazy_regex(r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)[eE][+-]?[0-9]{1,6}")
_ANY_TIME = (
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[ T][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6}0*)?)?"
    r"(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)?)?$"
)
_TRUE, _FALSE = ("true", "t"), ("false", "f")
_MARK = "\uffff"  # begins values without a spelling of their own; a text that begins so gets a second one
_OTHERS = r"(?s)^(?:[+-]?[0-9.]+[eE][-+0-9]+|[tTfF]|(?i:true|false)|[\[{].*|\\x[0-9a-fA-F]*)$"
# Texts that may be another spelling than the one that stands for the value, such as `1.50`, `2026-01-31T12:00Z`, `T`.
_RESPELLED = (
    rf"(?s)^(?:{_MARK}.*|\+[0-9.]+|-?\.[0-9]+|-0|-?[0-9]+\.(?:[0-9]*0)?|[+-]?[0-9.]+[eE][-+0-9]+"
    r"|[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9].*| (?:00:00:00|[0-9]{2}:[0-9]{2}|[0-9].*(?:Z|[+-][0-9:]+|\.[0-9]*0)))"
    r"|[tTfF]|(?i:true|false)|[\[{].*|\\x[0-9a-fA-F]*[A-F][0-9a-fA-F]*)$"
)
_INSTANT = pa.timestamp("us", "UTC")
_FIRST_MICROS, _LAST_MICROS = -62_167_219_200_000_000, 253_402_300_799_999_999  # of the years 0 and 9999
_NOTHING = pa.scalar(None, STRING)


def _any_values(texts: pa.StringArray) -> pa.StringArray:
    """Return one spelling for each value, or its kind and text after a mark. Most texts stay, and are seen once."""
    other = pc.fill_null(pc.match_substring_regex(texts, _RESPELLED), False)
    if not other.true_count:
        return texts
    return as_strings(pc.replace_with_mask(texts, other, _one_spelling(texts.filter(other))))


def _one_spelling(texts: pa.StringArray) -> pa.StringArray:
    marked = pc.starts_with(texts, _MARK)
    if pc.any(marked, min_count=0).as_py():
        texts = as_strings(pc.replace_substring_regex(texts, f"^{_MARK}", 2 * _MARK))
    found = texts
    others = partial(_by_value, read=_other_value)
    for pattern, read in ((_ANY_NUMBER, _numbers), (_ANY_TIME, _any_times), (_OTHERS, others)):
        fits = pc.match_substring_regex(texts, pattern)
        if pc.any(fits, min_count=0).as_py():
            found = as_strings(pc.coalesce(read(as_strings(pc.if_else(fits, texts, _NOTHING))), found))
    return found


def _any_times(texts: pa.StringArray) -> pa.StringArray:
    """Return instants as `2026-01-31 12:00:00.5` in UTC, and midnight as a date."""
    micros = typed_values(texts, _INSTANT)[0].cast(pa.int64())
    written = pc.ascii_rtrim(pc.ascii_rtrim(micros.cast(pa.timestamp("us")).cast(STRING), "0"), ".")
    written = pc.if_else(pc.ends_with(written, " 00:00:00"), pc.utf8_slice_codeunits(written, 0, 10), written)
    known = pc.and_(pc.greater_equal(micros, _FIRST_MICROS), pc.less_equal(micros, _LAST_MICROS))
    if pc.all(known, min_count=0).as_py() is not False:
        return as_strings(written)
    marked = pc.binary_join_element_wise(f"{_MARK}instant", micros.cast(STRING), " ")
    return as_strings(pc.if_else(known, written, marked))


_ODD_TIME = lazy_regex(r"(.{10})(?:[T ](..:..)(?::(..)(?:\.([0-9]*?)0*)?)?)?Z?")


def _odd_times(texts: pa.StringArray) -> pa.StringArray:
    """Return times that no calendar has in the form of `_any_times`."""

    def read(text: str) -> str | None:
        found = _ODD_TIME.fullmatch(text)
        if found is None:
            return None
        day, minutes, seconds, fraction = (part or "" for part in found.groups())
        clock = f" {minutes or '00:00'}:{seconds or '00'}{fraction and f'.{fraction}'}"
        return day + clock.removesuffix(" 00:00:00")

    return _by_value(texts, read)


def _other_value(text: str) -> str | None:
    """Return the one text for a value; None for a text that is no value."""
    lowered = text.lower()
    if lowered in _TRUE or lowered in _FALSE:
        return str(lowered in _TRUE).lower()
    if lowered.startswith("\\x"):
        return lowered
    if _ANY_EXPONENT.fullmatch(text):
        return _odd_number(text)
    if text.startswith("{") and (value := _json(text)) is not None:
        return f"{_MARK}json {value}"
    if text[:1] in ("{", "[") and (value := _array_text(text, ANY)) is not None:
        return f"{_MARK}array {value}"
    return None


def bytes_of(text: str) -> bytes | None:
    """Return the bytes of hexadecimal digits after a backslash and x, of padded Base64, or of characters in UTF-8."""
    if text.startswith("\\x"):
        try:
            return bytes.fromhex(text[2:])
        except ValueError:
            return None
    if text and len(text) % 4 == 0:
        try:
            return base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            pass
    return text.encode()


def _bytes(text: str) -> str | None:
    value = bytes_of(text)
    return None if value is None else value.hex()


# How elements are read, by the names of types; elements of other types are compared by their characters.
_ELEMENTS = {
    **dict.fromkeys(("int64", "float", "double", "number"), NUMBER),
    **dict.fromkeys(("bool", "date32[day]", "timestamp[us]", "timestamp[us, tz=UTC]"), ANY),
    "binary": BYTES,
}
_READERS: dict[str, Callable[[str], str | None]] = {
    _name(INTERVAL): _interval,
    _name(TIME_WITH_ZONE): _zoned_time,
    _name(UUID): _uuid,
    _name(JSON): _json,
    _name(HSTORE): _hstore,
    _name(SET): _set,
    _name(GEOMETRY): _geometry,
    _name(BYTES): _bytes,
}
