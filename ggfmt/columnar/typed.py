"""Texts and values of Arrow types, converted without loss in both directions.

A number that a type cannot hold exactly is not a value of the type. A text is a value of a binary floating point type
if it is a number of the type, rounded to the digits of the text: all writers of such numbers print them so, with the
fewest digits, with a fixed count, or with the digits of a wider type.
"""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from itertools import accumulate, chain
from typing import Any, TypeAlias

import msgspec
import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import DecimalType, as_strings, list_array, narrow, non_null_values, nulls
from ggfmt.columnar.avro import FLOATING, NOT_FINITE, exact_longs, unscaled
from ggfmt.columnar.columns import raw_column
from ggfmt.columnar.json_text import json_strings
from ggfmt.columnar.pieces import Conditional, Encoding, Piece, Repeated, TextPiece, join, text_buffer
from ggfmt.columnar.strings import TextPattern, all_match, bytes_of, rows_where
from ggfmt.columnar.timestamps import FIRST_MICROS, LAST_MICROS, has_zone, instant_micros, text_micros
from ggfmt.java.numbers import NOT_FINITE_TEXTS

_STRING = pa.string()


def is_scalar(type: pa.DataType) -> bool:
    """Return whether `as_text` can convert values of a type."""
    types = pa.types
    tests = (types.is_string, types.is_large_string, types.is_string_view, types.is_boolean, types.is_integer)
    more = (types.is_floating, types.is_decimal, types.is_date, types.is_timestamp, types.is_null)
    others = (types.is_binary, types.is_time)
    if types.is_list(type):
        return is_scalar(type.value_type)
    return any(test(type) for test in (*tests, *more, *others))


def as_text(values: pa.Array[Any]) -> pa.StringArray:
    """Return n values as texts, and NULL as NULL. Decimals have all digits of their scale. Times are written as
    `2013-06-02 22:14:36.000000`, those with a zone in UTC. Bytes are in Base64, and lists are JSON arrays."""
    type = values.type
    if isinstance(values, pa.StringArray):
        return values
    if pa.types.is_binary(type):
        data = [None if value is None else b2a_base64(value, newline=False) for value in values.to_pylist()]
        return pa.array(data, _STRING)
    if pa.types.is_list(type):
        texts = join(json_pieces(values), len(values))
        return pc.if_else(values.is_valid(), texts, _NO_TEXT) if values.null_count else texts
    if pa.types.is_timestamp(type):
        return pc.cast(pc.cast(values, pa.timestamp("us", type.tz)).view(pa.timestamp("us")), _STRING)
    texts = pc.cast(values, _STRING)
    if pa.types.is_decimal(type):
        return _without_exponents(values, texts)
    if pa.types.is_floating(type):
        for arrow, word in NOT_FINITE_TEXTS.items():
            texts = pc.if_else(pc.equal(texts, arrow), word, texts)
    return texts


def iso_texts(values: pa.Array[Any]) -> pa.StringArray:
    """Return n values as texts, with times as ISO 8601 has them: `2013-06-02T22:14:36.000000`, or with `Z`."""
    texts, type = as_text(values), values.type
    if not pa.types.is_timestamp(type):
        return texts
    texts = pc.replace_substring(texts, " ", "T")
    return texts if type.tz is None else pc.binary_join_element_wise(texts, "Z", "")


def json_pieces(values: pa.Array[Any]) -> list[Piece]:
    """Return the pieces of n JSON values, null for NULL."""
    types, type = pa.types, values.type
    if isinstance(values, pa.ListArray):
        lists: list[Piece] = ["[", Repeated(values, json_pieces(values.values), ","), "]"]
        return [Conditional(values.is_valid(), lists, ["null"])] if values.null_count else lists
    texts = iso_texts(values)
    if types.is_floating(type):
        return [_json_floats(values, texts)]
    if types.is_boolean(type) or types.is_integer(type) or types.is_decimal(type):
        return [TextPiece(texts, null="null")]
    if types.is_string(type):
        return [json_strings(texts, Encoding.JACKSON)]
    return [TextPiece(texts, null="null", lead='"', tail='"')]


def _json_floats(values: pa.Array[Any], texts: pa.StringArray) -> Piece:
    """Return floats as numbers that have a point or an exponent, so that no reader takes them for integers. NaN and
    the infinities are strings."""
    whole = pc.fill_null(pc.match_substring_regex(texts, "^-?[0-9]+$"), False)
    number = Conditional(whole, [TextPiece(texts, null="null", tail=".0")], [TextPiece(texts, null="null")])
    odd = pc.invert(pc.fill_null(pc.is_finite(values), True))
    return Conditional(odd, [TextPiece(texts, null="null", lead='"', tail='"')], [number]) if odd.true_count else number


def _without_exponents(values: pa.Array[Any], texts: pa.StringArray) -> pa.StringArray:
    """Replace exponents by digits: Arrow writes small decimals as `1.00E-8`."""
    small = pc.match_substring(texts, "E")
    if not small.true_count:
        return texts
    plain = [f"{value:f}" for value in values.filter(small).to_pylist()]
    return pc.replace_with_mask(texts, small.fill_null(False), pa.array(plain, _STRING))


_NO_TEXT = pa.scalar(None, _STRING)
_ZEROS = r"(\.[0-9]{6})0+($|Z|[+-])"  # zeros after the six digits of a second
_DAY = 86_400_000_000
_FIRST_DAY = FIRST_MICROS // _DAY
_SPACED_ZONE = " (Z|[+-][0-9]{2}:?[0-9]{2})$"  # as GoldenGate and DTS write it
_CLOCK = "^[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.][0-9]+)?)?$"
_SAFE_DIGITS = 38  # Arrow reads longer decimals as other numbers, without an error

Typed: TypeAlias = "tuple[pa.Array[Any], list[int]]"  # values, and the rows whose text is not a value of the type


def typed_values(texts: pa.StringArray, type: pa.DataType) -> Typed:
    """Return n texts as values of a type, and NULL as NULL. Raises: KeyError for a type without conversion."""
    if type == _STRING:
        return texts, []
    if texts.null_count == len(texts):
        return nulls(len(texts), type), []
    if pa.types.is_decimal(type):
        return _decimals(texts, type)
    if pa.types.is_list(type):
        return _lists(texts, type)
    return _KERNELS[type](texts, type)


def _booleans(texts: pa.StringArray, type: pa.DataType) -> Typed:
    values = pc.index_in(texts, pa.array(["false", "true"])).cast(type)
    return values, _lost(texts, values)


def _decimals(texts: pa.StringArray, type: DecimalType) -> Typed:
    try:
        data = text_buffer(texts).to_pybytes()
        if b"e" in data or b"E" in data or pc.max(pc.binary_length(texts)).as_py() > _SAFE_DIGITS:
            raise pa.ArrowInvalid
        return texts.cast(type), []
    except pa.ArrowInvalid:
        return _one_by_one(texts, type, lambda text: _decimal(text, type))


def _decimal(text: str, type: DecimalType) -> Decimal | None:
    number = unscaled(text, type.precision, type.scale)
    if number is None:
        return None
    sign, digits, _ = Decimal(number).as_tuple()
    return Decimal((sign, digits, -type.scale))


# By type, texts that are all exact
_SHORT: dict[Any, TextPattern] = {pa.float32(): TextPattern.SHORT_FLOAT, pa.float64(): TextPattern.SHORT_DOUBLE}
_EXACT = Context(prec=1200)  # no float has more digits


def _floats(texts: pa.StringArray, type: pa.DataType) -> Typed:
    if all_match(texts, _SHORT[type]):
        return texts.cast(type), []
    values = nearest_floats(texts, type)
    values = pc.if_else(_is_cut(texts, values), pa.scalar(None, type), values)
    return values, _lost(texts, values)


def nearest_floats(texts: pa.StringArray, type: pa.DataType) -> pa.Array[Any]:
    """Return the nearest floats; NULL for texts that are no numbers, and for numbers outside the type."""
    fits = pc.match_substring_regex(texts, FLOATING)
    fitting = texts if pc.all(fits, min_count=0).as_py() else pc.if_else(fits, texts, _NO_TEXT)
    values = fitting.cast(type)
    overflown = pc.and_not(pc.is_inf(values), pc.match_substring_regex(fitting, NOT_FINITE))
    return pc.if_else(overflown, pa.scalar(None, type), values) if pc.any(overflown).as_py() else values


def _is_cut(texts: pa.StringArray, values: pa.Array[Any]) -> pa.BooleanArray:
    """Return where a text is not its nearest float, rounded to the digits of the text. Numbers with the same digits and
    one nearest float are equal."""
    cut = narrow(pc.fill_null(pc.is_finite(values), False), pa.BooleanArray)
    for alike in (as_strings, _digits):
        for type in dict.fromkeys((values.type, pa.float64())):
            if cut.true_count:
                shown = as_strings(values.filter(cut).cast(type).cast(_STRING))
                unlike = pc.not_equal(alike(texts.filter(cut)), alike(shown))
                cut = pc.replace_with_mask(cut, cut, unlike)
    if cut.true_count:
        pairs = (non_null_values(column.filter(cut)) for column in (texts, values))
        cut = pc.replace_with_mask(cut, cut, pa.array(map(_is_cut_number, *pairs), pa.bool_()))
    return cut


def _digits(numbers: pa.StringArray) -> pa.StringArray:
    """Return the digits of numbers, from the first to the last that is not zero."""
    return as_strings(pc.utf8_trim(pc.replace_substring_regex(numbers, "[eE].*|[-+.]", ""), "0"))


def _is_cut_number(text: str, value: float) -> bool:
    number = Decimal(text)
    if not value or not number:
        return bool(number)
    digits = bytes(number.as_tuple().digits).rstrip(b"\0")
    unit = Decimal(1).scaleb(number.adjusted() - len(digits) + 1)
    # Up to 18, Java rounds the last digit of some large numbers to the wrong side.
    most = unit if "E" in text and abs(value) > 1e22 else unit / 2
    return abs(_EXACT.subtract(number, Decimal(value))) > most


def _dates(texts: pa.StringArray, type: pa.DataType) -> Typed:
    """Convert dates, also dates with a time of midnight."""
    try:
        found = texts.cast(type)
        if (pc.min_max(found.cast(pa.int32()))["min"].as_py() or 0) < _FIRST_DAY:
            raise pa.ArrowInvalid
        return found, []
    except pa.ArrowInvalid:
        micros, _ = text_micros(_with_six_digits(texts))
        days = pc.divide(pc.subtract(micros, pc.if_else(pc.less(micros, 0), _DAY - 1, 0)), _DAY)
        whole = pc.equal(pc.multiply(days, _DAY), micros)
        whole = pc.and_(whole, pc.greater_equal(micros, FIRST_MICROS))
        values = pc.if_else(whole, days, pa.scalar(None, pa.int64())).cast(pa.int32()).cast(type)
        return values, _lost(texts, values)


def _times(texts: pa.StringArray, type: pa.DataType) -> Typed:
    """Convert times: local ones, which have no zone, or, for a type with a zone, instants."""
    try:
        micros = pc.cast(texts.cast(type), pa.int64())
    except pa.ArrowInvalid:
        if getattr(type, "tz", None) is None:
            micros, _ = text_micros(_with_six_digits(pc.if_else(has_zone(texts), _NO_TEXT, texts)))
        else:
            joined = pc.replace_substring_regex(texts, _SPACED_ZONE, r"\1")
            micros, _ = instant_micros(_with_six_digits(joined))
    ends = pc.min_max(micros)
    if micros.null_count < len(micros) and (ends["min"].as_py() < FIRST_MICROS or ends["max"].as_py() > LAST_MICROS):
        fits = pc.and_(pc.greater_equal(micros, FIRST_MICROS), pc.less_equal(micros, LAST_MICROS))
        micros = pc.if_else(fits, micros, pa.scalar(None, pa.int64()))
    values = micros.cast(type)
    return values, _lost(texts, values)


def _clocks(texts: pa.StringArray, type: pa.DataType) -> Typed:
    known = pc.if_else(pc.match_substring_regex(texts, _CLOCK), texts, _NO_TEXT)
    moments = pc.binary_join_element_wise("1970-01-01", known, " ")
    values = text_micros(_with_six_digits(moments))[0].cast(type)
    return values, _lost(texts, values)


_items = msgspec.json.Decoder(list[list[msgspec.Raw] | None]).decode


def _lists(texts: pa.StringArray, type: pa.DataType) -> Typed:
    """Convert JSON arrays. An array is no value of the type if one of its items is none."""
    try:
        lists = _items("[" + ",".join(text if text is not None else "null" for text in texts.to_pylist()) + "]")
        if len(lists) != len(texts) or sum(1 for each in lists if each is None) != texts.null_count:
            raise ValueError
    except (ValueError, RecursionError):
        return _one_list_each(texts, type)
    values, wrong = _items_of(lists, type)
    if wrong:
        return _one_list_each(texts, type)
    return values, []


def _one_list_each(texts: pa.StringArray, type: pa.DataType) -> Typed:
    lists: list[list[msgspec.Raw] | None] = []
    for text in texts.to_pylist():
        try:
            own = [None] if text is None else _items(f"[{text}]")
        except (ValueError, RecursionError):
            own = [None]
        lists.append(own[0] if len(own) == 1 and (own[0] is None or not _items_of(own, type)[1]) else None)
    values = _items_of(lists, type)[0]
    return values, _lost(texts, values)


def _items_of(lists: Sequence[list[msgspec.Raw] | None], type: Any) -> Typed:
    """Return lists of JSON values as lists of a type, and the places of items that are no values of it."""
    items = list(chain.from_iterable(each or () for each in lists))
    values, wrong = typed_values(raw_column(items).values if items else pa.array([], _STRING), type.value_type)
    offsets = pa.array([0, *accumulate(len(each or ()) for each in lists)], pa.int32())
    found = list_array(offsets, values).cast(type)
    absent = pa.array([each is None for each in lists], pa.bool_())
    return pc.if_else(absent, pa.scalar(None, type), found) if absent.true_count else found, wrong


def _with_six_digits(texts: pa.StringArray) -> pa.StringArray:
    return pc.replace_substring_regex(texts, _ZEROS, r"\1\2")


def _one_by_one(texts: pa.StringArray, type: pa.DataType, value: Callable[[str], object]) -> Typed:
    values = pa.array([None if text is None else value(text) for text in texts.to_pylist()], type)
    return values, _lost(texts, values)


def _lost(texts: pa.StringArray, values: pa.Array[Any]) -> list[int]:
    if values.null_count == texts.null_count:
        return []
    return rows_where(pc.and_(texts.is_valid(), values.is_null()))


_KERNELS: dict[pa.DataType, Callable[[pa.StringArray, pa.DataType], Typed]] = {
    pa.bool_(): _booleans,
    pa.int64(): lambda texts, type: exact_longs(texts),
    pa.float32(): _floats,
    pa.float64(): _floats,
    pa.date32(): _dates,
    pa.timestamp("us"): _times,
    pa.timestamp("us", tz="UTC"): _times,
    pa.time64("us"): _clocks,
    pa.binary(): lambda texts, type: _one_by_one(texts, type, bytes_of),
}


def differ_typed(one: pa.Array[Any], other: pa.Array[Any]) -> pa.BooleanArray:
    """Return where two columns of one type have different values. NULL equals only NULL."""
    return pc.if_else(
        pc.and_(one.is_valid(), other.is_valid()),
        pc.fill_null(pc.not_equal(one, other), False),
        pc.xor(one.is_valid(), other.is_valid()),
    )
