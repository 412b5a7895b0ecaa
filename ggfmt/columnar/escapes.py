"""Texts as they stand in messages, a column at once: escaped for JSON and XML."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from struct import unpack_from
from typing import Any

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import memory
from ggfmt.columnar.pieces import Encoding

_STRING = pa.string()

# As javax.json escapes, all else below U+0020 as \u00xx and everything above as it is.
_SHORT = {"\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_CONTROLS = {chr(code): _SHORT.get(chr(code), f"\\u{code:04x}") for code in range(0x20)}
_IN_JSON = {"\\": "\\\\", '"': '\\"', **_CONTROLS}
# As Jackson does, which differs in the digits of \u00xx.
_IN_JACKSON = {
    character: f"\\u{ord(character):04X}" if escape[1] == "u" else escape for character, escape in _IN_JSON.items()
}
# A parser makes a blank of a bare tab or line end in an attribute, and a line feed of a bare carriage return anywhere.
_IN_ATTRIBUTE = {"&": "&amp;", "<": "&lt;", "'": "&apos;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}
_IN_CDATA = {"]]>": "]]]]><![CDATA[>", "\r": "]]>&#13;<![CDATA["}

# For single texts, whose characters are replaced each on its own.
JSON_ESCAPES = str.maketrans(_IN_JSON)
JACKSON_ESCAPES = str.maketrans(_IN_JACKSON)
ATTRIBUTE_ESCAPES = str.maketrans(_IN_ATTRIBUTE)


def text_buffer(array: pa.Array[Any] | pa.ChunkedArray[Any]) -> pa.Buffer:
    """The values of a text or binary array one after the other, without copying."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    _, offsets, data = array.buffers()
    if not len(array) or data is None:
        return pa.py_buffer(b"")
    places = memory(offsets)
    first, last = (unpack_from("i", places, 4 * place)[0] for place in (array.offset, array.offset + len(array)))
    return data.slice(first, last - first)


def escape(array: pa.StringArray, replacements: Mapping[str, str]) -> pa.StringArray:
    """The texts with some texts in them replaced, one kind after the other; NULL stays NULL."""
    data = text_buffer(array).to_pybytes()
    if not data:
        return array
    low = pc.min(pa.Array.from_buffers(pa.uint8(), len(data), [None, pa.py_buffer(data)])).as_py() < 0x20
    for text, replacement in replacements.items():
        if (low or text >= " ") and text.encode() in data:
            array = pc.replace_substring(array, text, replacement)
    return array


def escape_json_text(text: str, escapes: dict[int, str] = JSON_ESCAPES) -> str:
    """One text as a JSON string, quotes included."""
    return f'"{text.translate(escapes)}"'


def _millis(micros: pa.Int64Array) -> pa.StringArray:
    """Those that have passed, before 1970 too."""
    return pc.cast(pc.divide(pc.subtract(micros, pc.if_else(pc.less(micros, 0), 999, 0)), 1000), _STRING)


def _nanos(micros: pa.Int64Array) -> pa.StringArray:
    """As text, for 64 bits of them end in the year 2262."""
    return pc.replace_substring_regex(pc.cast(micros, _STRING), "^(.*[1-9].*)$", r"\1" "000")


# What each encoding makes of an array, which is of texts or of numbers as the encoding wants it.
ESCAPES: dict[Encoding, Callable[[Any], pa.Array[Any]]] = {
    Encoding.AS_IS: lambda array: array,
    Encoding.JSON: partial(escape, replacements=_IN_JSON),
    Encoding.JACKSON: partial(escape, replacements=_IN_JACKSON),
    Encoding.CDATA: partial(escape, replacements=_IN_CDATA),
    Encoding.ATTRIBUTE: partial(escape, replacements=_IN_ATTRIBUTE),
    Encoding.DOUBLED: partial(escape, replacements={'"': '""'}),
    Encoding.DIGITS: lambda array: array.cast(_STRING),
    Encoding.MILLIS: _millis,
    Encoding.NANOS: _nanos,
}
