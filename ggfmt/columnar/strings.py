"""Kernels over texts: escaping for JSON, numbers, substitutes for NULL and missing, and looking for a substring."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from ggfmt.columnar.join import join
from ggfmt.model.change import ImageColumn

_STRING = pa.string()

# As javax.json escapes, all else below U+0020 as \u00xx and everything above as it is.
_SHORT_ESCAPES = {"\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_CONTROLS = {chr(code): _SHORT_ESCAPES.get(chr(code), f"\\u{code:04x}") for code in range(0x20)}
_JSON_ESCAPES = {"\\": "\\\\", '"': '\\"', **_CONTROLS}
# As Jackson does, which differs in the digits of \u00xx.
JACKSON_ESCAPES = {
    character: f"\\u{ord(character):04X}" if escape[1] == "u" else escape for character, escape in _JSON_ESCAPES.items()
}

_JSON_NUMBER = r"^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$"
_JAVA_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,9})?", re.ASCII)


def text_buffer(array: pa.Array) -> pa.Buffer:
    """The values of a text or binary array one after the other, without copying."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    data = array.buffers()[2]
    if not len(array) or data is None:
        return pa.py_buffer(b"")
    offsets = pa.Array.from_buffers(pa.int32(), array.offset + len(array) + 1, [None, array.buffers()[1]])
    first, last = offsets[array.offset].as_py(), offsets[array.offset + len(array)].as_py()
    return data.slice(first, last - first)


def count_holding(array: pa.StringArray, substring: str) -> int:
    """How many values hold the substring. One scan over all of them usually says that none does."""
    if not substring or text_buffer(array).to_pybytes().find(substring.encode()) < 0:
        return 0
    return pc.sum(pc.match_substring(array, substring)).as_py() or 0


def escape_json(array: pa.StringArray, escapes: Mapping[str, str] = _JSON_ESCAPES) -> pa.StringArray:
    """The texts as they stand between the quotes of a JSON string; NULL stays NULL."""
    data = text_buffer(array).to_pybytes()
    if not data:
        return array
    low = pc.min(pa.Array.from_buffers(pa.uint8(), len(data), [None, pa.py_buffer(data)])).as_py() < 0x20
    for character in escapes if low else '\\"':
        if character.encode() in data:
            array = pc.replace_substring(array, character, escapes[character])
    return array


def escape_json_text(text: str, escapes: Mapping[str, str] = _JSON_ESCAPES) -> str:
    """One text as a JSON string, quotes included."""
    return '"' + "".join(escapes.get(character, character) for character in text) + '"'


def quote_json(array: pa.StringArray, escapes: Mapping[str, str] = _JSON_ESCAPES) -> pa.StringArray:
    """The texts as JSON strings, NULL as `null`."""
    escaped = escape_json(array, escapes)
    if not escaped.null_count:
        return join(['"', escaped, '"'])
    return pc.if_else(escaped.is_valid(), join(['"', escaped.fill_null(""), '"']), "null")


def json_numbers(array: pa.StringArray) -> tuple[pa.StringArray, list[int]]:
    """The texts as JSON numbers, NULL as `null`, and the rows whose text is no number.

    A text that is a JSON number keeps its digits; others that Java's BigDecimal reads are printed as it prints them.
    """
    fits = pc.match_substring_regex(array, _JSON_NUMBER)
    texts = array.fill_null("null") if array.null_count else array
    if pc.all(fits, min_count=0).as_py():
        return texts, []
    odd = pc.indices_nonzero(pc.invert(fits.fill_null(True))).to_pylist()
    numbers: list[str] = []
    bad = []
    for row in odd:
        text = array[row].as_py()
        if _JAVA_NUMBER.fullmatch(text):
            number = Decimal(text)
            numbers.append(str(number or abs(number)))  # BigDecimal has no negative zero
        else:
            bad.append(row)
            numbers.append("null")
    mask = pc.invert(fits.fill_null(True))
    return pc.replace_with_mask(texts, mask, pa.array(numbers, _STRING)), bad


def json_booleans(array: pa.StringArray) -> tuple[pa.StringArray, list[int]]:
    """`true` and `false` as JSON booleans, NULL as `null`, and the rows with any other text."""
    fits = pc.or_(array.is_null(), pc.is_in(array, pa.array(["true", "false"], _STRING)))
    return array.fill_null("null"), pc.indices_nonzero(pc.invert(fits)).to_pylist()


def represent(column: ImageColumn, null: str, missing: str) -> pa.StringArray:
    """The values of a column with a text for NULL and one for missing."""
    values = column.values.fill_null(null) if column.values.null_count else column.values
    if column.present is not None:
        values = pc.if_else(column.present, values, missing)
    return values
