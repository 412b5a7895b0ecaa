"""Values of Kafka Connect's types as texts, and as its JSON converter writes them.

A decimal is Base64 of a big-endian number in two's complement, without the decimal point; the schema has the scale.
"""

from __future__ import annotations

import re
from binascii import b2a_base64
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import Any, TypeAlias

import msgspec
import pyarrow as pa
from msgspec import Raw

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import as_strings, non_null_values
from ggfmt.columnar.columns import JsonColumn, raw_column, texts
from ggfmt.columnar.json_text import JsonValues, Values, json_numbers
from ggfmt.columnar.pieces import join
from ggfmt.columnar.strings import Converted, Kernel, TextPattern, all_match, by_value, bytes_of, reject_all, rows_where
from ggfmt.columnar.timestamps import floor_millis, instant_micros, micros_text
from ggfmt.formats.connect import schemas as connect
from ggfmt.formats.json.values import raw_members
from ggfmt.lazy import lazy_regex
from ggfmt.model.change import ImageColumn
from ggfmt.model.table import STRING, Kind, SqlType

ReadValues: TypeAlias = Callable[[ImageColumn], tuple[ImageColumn, Sequence[int]]]  # also returns the wrong rows

_FARTHEST = 1 << 62
_DAY = 86400_000000
_MAX_DIGITS = 1000
_items = msgspec.json.Decoder(list[Raw]).decode

# Decimals

_PLAIN = lazy_regex(r"[+-]?[0-9]{1,1500}(?:\.[0-9]{1,1500})?", re.ASCII)
_EXPONENT = lazy_regex(r"[+-]?(?:[0-9]{1,1500}(?:\.[0-9]{0,1500})?|\.[0-9]{1,1500})(?:[eE][+-]?[0-9]{1,3})?", re.ASCII)
_NUMBER = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$|^(?:NaN|[+-]?Infinity)$"
_MAX_BYTES = 1600  # Python prints no more digits


def decimals(scale: int) -> Kernel:
    return by_value(lambda text: decoded(text, scale))


def decoded(text: str, scale: int) -> str | None:
    """Decode a decimal of a scale from Base64; None if the text is not Base64."""
    data = bytes_of(text)
    return decimal_text(int.from_bytes(data, "big", signed=True), scale) if data and len(data) <= _MAX_BYTES else None


def decimal_text(number: int, scale: int) -> str:
    """Return `number` times ten to the power of `-scale`."""
    if scale <= 0:
        return f"{number}{'0' * -scale if number else ''}"
    digits = str(number if number >= 0 else -number)
    if len(digits) <= scale:
        digits = digits.zfill(scale + 1)
    return f"{'-' if number < 0 else ''}{digits[:-scale]}.{digits[-scale:]}"


def encoded(text: str, scale: int) -> str | None:
    """Encode a decimal in Base64; None if the text is no decimal, or has more fraction digits than the scale."""
    number = _scaled(text, scale)
    return None if number is None else base64_of(number)


def numeric(text: str, scale: int) -> str | None:
    """Return a decimal with the digits of a scale, as Java's BigDecimal prints it; None as for `encoded`."""
    number = _scaled(text, scale)
    return None if number is None else str(Decimal(f"{number}E{-scale}"))


def _scaled(text: str, scale: int) -> int | None:
    parts = unscaled(text)
    if parts is None:
        return None
    number, own = parts
    if own > scale:
        number, rest = divmod(number, 10 ** (own - scale))
        if rest:
            return None
    elif own < scale:
        number *= 10 ** (scale - own)
    return number


def unscaled(text: str) -> tuple[int, int] | None:
    """Return a whole number and the scale by which a text gives it; None for no number."""
    if _PLAIN.fullmatch(text):
        whole, _, fraction = text.partition(".")
        return int(whole + fraction), len(fraction)
    if not _EXPONENT.fullmatch(text):
        return None
    sign, digits, exponent = Decimal(text).as_tuple()
    assert isinstance(exponent, int)
    number = int("".join(map(str, digits)))
    return -number if sign else number, -exponent


def base64_of(number: int) -> str:
    bits = (number if number >= 0 else ~number).bit_length()
    return b2a_base64(number.to_bytes(bits // 8 + 1, "big", signed=True), newline=False).decode()


# Reading


def numbers(values: pa.StringArray) -> Converted:
    """Read JSON numbers without a change; other values are wrong."""
    if all_match(values, TextPattern.JSON_NUMBER):
        return values, []
    return values, rows_where(pc.invert(pc.match_substring_regex(values, _NUMBER).fill_null(True)))


def by_quotes(values: pa.StringArray, column: ImageColumn, quoted: Kernel | None, plain: Kernel | None) -> Converted:
    """Read the values of a column: those that were JSON strings by one kernel, and all others by the other one. None
    keeps them as they are. Values that were no JSON are texts, too."""
    given = column.quoted if isinstance(column, JsonColumn) else None
    if quoted is plain or given is None:
        only = plain if isinstance(column, JsonColumn) else quoted
        return (values, []) if only is None else only(values)
    null = pa.scalar(None, pa.string())
    bad: list[int] = []
    for kernel, where in ((quoted, given), (plain, pc.invert(given))):
        if kernel is not None:
            own, wrong = kernel(pc.if_else(where, values, null))
            values = pc.if_else(where, own, values)
            bad += wrong
    return values, bad


def _reading(quoted: Kernel | None, plain: Kernel | None) -> ReadValues | None:
    def read(column: ImageColumn) -> tuple[ImageColumn, Sequence[int]]:
        values, bad = by_quotes(column.values, column, quoted, plain)
        return ImageColumn(values, column.present), bad

    return None if quoted is plain is None else read


def read_as(field: Any) -> tuple[SqlType, ReadValues | None]:
    """Return the SQL type of a `SchemaField`, and how to read its values; None if they are texts already. A decimal is
    Base64 in a string, or a number (`decimal.format=NUMERIC`)."""
    name = field.name or ""
    if name == connect.DECIMAL:
        scale, precision = (_int((field.parameters or {}).get(size)) for size in ("scale", connect.PRECISION))
        kernel = reject_all if scale is None or abs(scale) > _MAX_DIGITS else decimals(scale)
        return SqlType(Kind.DECIMAL, precision=precision, scale=scale), _reading(kernel, numbers)
    type, same = connect.TYPES.get(field.type, STRING), None
    if field.type in connect.NESTED:
        type, same = STRING, nested(field, read_as)
    elif name in _TIMES:
        type, same = _TIMES[name]
    return type, _reading(same, same)


def nested(field: Any, read_as: Callable[[Any], tuple[SqlType, ReadValues | None]]) -> Kernel | None:
    """Return a kernel that reads the values in JSON arrays, maps and structs as those of columns with their schemas.

    `read_as` returns the type of a schema, and how to read its values; None if they stay as they are. Return None if
    all values do.
    """
    inside: dict[str | None, Any] = {member.field: member for member in field.fields or ()}  # None: all items or values
    if field.type == "array":
        inside = {None: field.items}
    elif field.type == "map":  # with other keys than strings, Connect writes an array of pairs
        inside = {None: field.values} if field.keys is None or field.keys.type == "string" else {}
    parts = {}
    for name, schema in inside.items():
        type, read = (STRING, None) if schema is None else read_as(schema)
        if read is not None:
            is_json = type.kind is Kind.INTEGER or (type.kind is Kind.STRING and schema.type in connect.NESTED)
            parts[name] = read, is_json
    return partial(_read_nested, parts=parts) if parts else None


def _read_nested(values: pa.StringArray, parts: Mapping[str | None, tuple[ReadValues, bool]]) -> Converted:
    """Read values whose `parts` are read as columns: how, and whether the texts are JSON and not those of strings."""
    encoded = values.dictionary_encode()
    distinct = non_null_values(as_strings(encoded.dictionary))
    found = [_members(text) for text in distinct]
    made: list[dict[Any, Any] | None] = [None if members is None else dict(members) for members in found]
    for name, (read, is_json) in parts.items():
        raws = [
            (row, key, raw)
            for row, members in enumerate(found)
            for key, raw in (members or {}).items()
            if name in (None, key)
        ]
        if not raws:
            continue
        column, bad = read(raw_column([raw for _, _, raw in raws]))
        for (row, key, _), text in zip(raws, column.values.to_pylist(), strict=True):
            own = made[row]
            if own is not None and text is not None:  # null and unavailable values stay as they are
                own[key] = Raw(text.encode()) if is_json else text
        for place in bad:
            made[raws[place][0]] = None
    written = [
        None if own is None else msgspec.json.encode([*own.values()] if text.startswith("[") else own).decode()
        for text, own in zip(distinct, made, strict=True)
    ]
    converted = texts(written).take(encoded.indices)
    return converted, rows_where(pc.and_(values.is_valid(), converted.is_null()))


def _members(text: str) -> dict[Any, Raw] | None:
    """Return the members of a JSON object by name, or the items of an array by index; None for other values."""
    try:
        return dict(enumerate(_items(text))) if text.startswith("[") else raw_members(text)
    except (ValueError, RecursionError):
        return None


def _int(value: Any) -> int | None:
    try:
        return int(value)
    except (TypeError, ValueError):
        return None


def _numbers(values: pa.StringArray) -> tuple[pa.Int64Array, list[int]]:
    """Parse whole numbers; also return the rows whose text is no whole number."""
    fits = pc.match_substring_regex(values, r"^-?[0-9]{1,18}$")
    numbers = pc.cast(pc.if_else(fits, values, pa.scalar(None, pa.string())), pa.int64())
    return numbers, rows_where(pc.invert(fits.fill_null(True)))


def _times(scale: int, first: int, last: int | None, most: int = _FARTHEST) -> Kernel:
    """Return a kernel from numbers that count `scale` microseconds each to some characters of the text of a time stamp.
    `most`: how many microseconds there can be; with any other number than the default, the number cannot be
    negative."""
    high = most // scale
    low = -high if most == _FARTHEST else 0

    def kernel(values: pa.StringArray) -> Converted:
        numbers, bad = _numbers(values)
        inside = pc.and_(pc.greater_equal(numbers, low), pc.less_equal(numbers, high))
        bad += rows_where(pc.invert(inside.fill_null(True)))
        texts, far = micros_text(pc.multiply(pc.if_else(inside, numbers, pa.scalar(None, pa.int64())), scale))
        return pc.utf8_slice_codeunits(texts, first, last), [*bad, *far]

    return kernel


_TIMES: dict[str, tuple[SqlType, Kernel | None]] = {
    connect.TIMESTAMP: (SqlType(Kind.TIMESTAMP), _times(1000, 0, None)),
    connect.DATE: (SqlType(Kind.DATE), _times(_DAY, 0, 10)),
    connect.TIME: (SqlType(Kind.TIME), _times(1000, 11, None, _DAY - 1)),
}

# Writing

_FINER_THAN_MICROS = r"(\.[0-9]{6})[0-9]{1,3}([^0-9]|$)"
_FINER_THAN_MILLIS = r"\.[0-9]{3}[0-9]*[1-9]"


def millis(values: pa.StringArray) -> Converted:
    """Return time stamps as milliseconds since 1970 in UTC, cut off."""
    numbers, bad = instant_micros(pc.replace_substring_regex(values, _FINER_THAN_MICROS, r"\1\2"))
    return pc.fill_null(pc.cast(floor_millis(numbers), pa.string()), "null"), bad


def too_fine(values: pa.StringArray) -> int:
    """Count the time stamps with more digits than milliseconds."""
    return int(pc.match_substring_regex(values, _FINER_THAN_MILLIS).true_count)


def whole(values: pa.StringArray) -> Converted:
    """Return whole numbers of 64 bits as JSON, and the rows with other values."""
    if all_match(values, TextPattern.SHORT_INTEGER):
        return pc.fill_null(values, "null"), []
    numbered, bad = json_numbers(values)
    texts = join([numbered])
    odd = pc.indices_nonzero(pc.invert(pc.match_substring_regex(texts, r"^(?:null|-?(?:0|[1-9][0-9]{0,17}))$")))
    if not len(odd):
        return texts, bad
    numbers = non_null_values(texts)
    for row in non_null_values(odd):
        number = Decimal(numbers[row])
        if abs(number.adjusted()) > 20 or number != number.to_integral_value() or not -(1 << 63) <= number < 1 << 63:
            bad.append(row)
            numbers[row] = "null"
        else:
            numbers[row] = str(int(number))
    return pa.array(numbers, pa.string()), bad


def within(values: Values, bits: int | None) -> Values:
    """Return the kernel for numbers of fewer bits, from the one for numbers of 64 bits."""
    if bits is None:
        return values
    end = 1 << (bits - 1)

    def checked(texts: pa.StringArray) -> JsonValues:
        json, bad = values(texts)
        if not all_match(texts, TextPattern.SHORT_INTEGER):
            texts = join([json])
            texts = pc.if_else(pc.equal(texts, "null"), pa.scalar(None, pa.string()), texts)
        numbers = pc.cast(texts, pa.float64())  # which has all numbers of fewer bits
        beyond = pc.or_(pc.less(numbers, float(-end)), pc.greater_equal(numbers, float(end)))
        return json, sorted({*bad, *rows_where(beyond)}) if beyond.true_count else bad

    return checked
