"""Pieces of messages, and the join that makes n messages from a list of pieces.

A piece is a text (or bytes) that all rows share, a scalar, an array of n texts (or binaries) without nulls, or one of
the classes here. The native kernel joins all pieces in one pass; without it, Arrow does.

Arrow's element-wise join has a trap: with `null_handling="skip"`, `binary_join_element_wise` omits a row if all its
inputs are null, so that an operation would be lost. Here a null is an error of the caller, and the length of the result
is checked.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from functools import partial
from struct import unpack_from
from typing import Any, NamedTuple, TypeAlias, overload

import pyarrow as pa

from ggfmt import kernels
from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import StringMapArray, list_array, memory, repeated

Piece: TypeAlias = Any


class Encoding(IntEnum):
    """How a value is written to a message; the numbers are those in `escape.h`.

    Encodings up to `DOUBLED` take texts. Encodings up to `NANOS` take int64 values: the digits of a number, or
    microseconds as milliseconds or nanoseconds. Encodings from `SIZED` on are Avro's: strings, longs, and the values of
    texts that are known to be short integers, booleans, or numbers that become a float or a double without rounding
    twice.
    """

    AS_IS = 0
    JSON = 1
    JACKSON = 2
    CONNECT = 3
    CDATA = 4
    ATTRIBUTE = 5
    DOUBLED = 6
    DIGITS = 7
    MILLIS = 8
    NANOS = 9
    SIZED = 10
    VARINT = 11
    LONG = 12
    FLOAT = 13
    DOUBLE = 14
    BOOLEAN = 15


class Text(NamedTuple):
    """n values, each between `lead` and `tail`. `null` replaces a NULL together with both; None if there is no NULL."""

    values: pa.Array[Any]
    encoding: Encoding = Encoding.AS_IS
    null: str | bytes | None = None
    lead: str | bytes = ""
    tail: str | bytes = ""


class Equals(NamedTuple):
    """The condition that a value equals a text. NULL does not."""

    values: pa.StringArray
    text: str


class Conditional(NamedTuple):
    """Pieces for the rows where a condition, or a mask without nulls, is true, and pieces for the other rows."""

    where: pa.BooleanArray | Equals
    then: Sequence[Piece]
    otherwise: Sequence[Piece] = ()


class CommaJoined(NamedTuple):
    """Pieces in which each `COMMA` becomes a comma, except one at the start. The pieces of each member start with a
    `COMMA`."""

    pieces: Sequence[Piece]


class Comma(NamedTuple):
    """The class of `COMMA`."""


COMMA = Comma()


class Repeated(NamedTuple):
    """The items of n lists or maps, separated by `between`.

    The pieces cover the items of all lists, from the first item of the underlying arrays. `counted` writes the number
    of items before them, as a long of Avro, unless there are none.
    """

    lists: pa.ListArray[Any] | StringMapArray
    pieces: Sequence[Piece]
    between: str = ""
    counted: bool = False


KINDS = (Text, Conditional, CommaJoined, Repeated, Comma, Equals)


_BINARY = pa.binary()


def zigzag_varint(number: int) -> bytes:
    """Encode an int or a long of Avro."""
    rest = (number << 1) ^ (number >> 63)
    encoded = bytearray()
    while rest > 0x7F:
        encoded.append(rest & 0x7F | 0x80)
        rest >>= 7
    encoded.append(rest)
    return bytes(encoded)


def _sized(value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return zigzag_varint(len(data)) + data


# A float comes from the nearest double. With so few digits, rounding twice does no harm.
_AVRO_ENCODERS: dict[Encoding, Callable[[Any], bytes]] = {
    Encoding.SIZED: _sized,
    Encoding.VARINT: zigzag_varint,
    Encoding.LONG: lambda text: zigzag_varint(int(text)),
    Encoding.FLOAT: lambda text: struct.pack("<f", float(text)),
    Encoding.DOUBLE: lambda text: struct.pack("<d", float(text)),
    Encoding.BOOLEAN: lambda text: b"\1" if text == "true" else b"\0",
}


def _encode_singly(values: pa.Array[Any], encoding: Encoding) -> pa.BinaryArray:
    """Encode values one by one in an encoding of Avro. NULL stays NULL. Used if there is no native kernel."""
    encode = _AVRO_ENCODERS[encoding]
    return pa.array([None if value is None else encode(value) for value in values.to_pylist()], _BINARY)


def _block_counts(lists: pa.Array[Any]) -> pa.BinaryArray:
    """Return the number of items of each list as the count of an Avro block; no bytes for an empty list."""
    return pa.array([zigzag_varint(len(items)) if items else b"" for items in lists.to_pylist()], _BINARY)


_STRING = pa.string()

# javax.json escapes all other characters below U+0020 as \u00xx and none above.
_SHORT = {"\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_CONTROLS = {chr(code): _SHORT.get(chr(code), f"\\u{code:04x}") for code in range(0x20)}
_IN_JSON = {"\\": "\\\\", '"': '\\"', **_CONTROLS}
# Jackson writes the digits of \u00xx in capitals.
_IN_JACKSON = {
    character: f"\\u{ord(character):04X}" if escape[1] == "u" else escape for character, escape in _IN_JSON.items()
}


class _ConnectEscapes(dict[int, str]):
    """Jackson's escapes in UTF-8, as Kafka's converter writes them: also those of characters beyond the BMP."""

    def __missing__(self, code: int) -> str:
        if code <= 0xFFFF:
            raise LookupError
        units = chr(code).encode("utf-16-be").hex().upper()
        return f"\\u{units[:4]}\\u{units[4:]}"


# An XML parser turns a bare tab or line end in an attribute into a blank, and a bare carriage return into a line feed.
_IN_ATTRIBUTE = {"&": "&amp;", "<": "&lt;", "'": "&apos;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}
_IN_CDATA = {"]]>": "]]]]><![CDATA[>", "\r": "]]>&#13;<![CDATA["}

# Translation tables for single texts.
JSON_ESCAPES = str.maketrans(_IN_JSON)
JACKSON_ESCAPES = str.maketrans(_IN_JACKSON)
CONNECT_ESCAPES = _ConnectEscapes(JACKSON_ESCAPES)
ATTRIBUTE_ESCAPES = str.maketrans(_IN_ATTRIBUTE)


def text_buffer(array: pa.Array[Any] | pa.ChunkedArray[Any]) -> pa.Buffer:
    """Return the values of a text or binary array as one buffer, without copying them."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    _, offsets, data = array.buffers()
    if not len(array) or data is None:
        return pa.py_buffer(b"")
    places = memory(offsets)
    first, last = (unpack_from("i", places, 4 * place)[0] for place in (array.offset, array.offset + len(array)))
    return data.slice(first, last - first)


def escape(array: pa.StringArray, replacements: Mapping[str, str]) -> pa.StringArray:
    """Replace some texts in the values, one after the other. NULL stays NULL."""
    data = text_buffer(array).to_pybytes()
    if not data:
        return array
    low = pc.min(pa.Array.from_buffers(pa.uint8(), len(data), [None, pa.py_buffer(data)])).as_py() < 0x20
    for text, replacement in replacements.items():
        if (low or text >= " ") and text.encode() in data:
            array = pc.replace_substring(array, text, replacement)
    return array


def _escape_for_connect(array: pa.StringArray) -> pa.StringArray:
    beyond = {character for character in str(text_buffer(array), "utf-8") if character > "\uffff"}
    return escape(array, _IN_JACKSON | {character: CONNECT_ESCAPES[ord(character)] for character in beyond})


def escape_json_text(text: str, escapes: dict[int, str] = JSON_ESCAPES) -> str:
    """Return a text as a JSON string, quotes included."""
    return f'"{text.translate(escapes)}"'


def _millis(micros: pa.Int64Array) -> pa.StringArray:
    """Return microseconds as milliseconds, rounded down, also before 1970."""
    return pc.cast(pc.divide(pc.subtract(micros, pc.if_else(pc.less(micros, 0), 999, 0)), 1000), _STRING)


def _nanos(micros: pa.Int64Array) -> pa.StringArray:
    """Return microseconds as nanoseconds, as text: 64 bits of nanoseconds end in the year 2262."""
    return pc.replace_substring_regex(pc.cast(micros, _STRING), "^(.*[1-9].*)$", r"\1" "000")


# The function for each encoding. The array holds texts or numbers, as the encoding requires.
ESCAPES: dict[Encoding, Callable[[Any], pa.Array[Any]]] = {
    Encoding.AS_IS: lambda array: array,
    Encoding.JSON: partial(escape, replacements=_IN_JSON),
    Encoding.JACKSON: partial(escape, replacements=_IN_JACKSON),
    Encoding.CONNECT: _escape_for_connect,
    Encoding.CDATA: partial(escape, replacements=_IN_CDATA),
    Encoding.ATTRIBUTE: partial(escape, replacements=_IN_ATTRIBUTE),
    Encoding.DOUBLED: partial(escape, replacements={'"': '""'}),
    Encoding.DIGITS: lambda array: array.cast(_STRING),
    Encoding.MILLIS: _millis,
    Encoding.NANOS: _nanos,
}


_JOIN_OPTIONS = pc.JoinOptions(null_handling="emit_null")
_NO_TEXT = pa.scalar("", _STRING)
_NO_BYTES = pa.scalar(b"", pa.binary())


def join(pieces: Sequence[Piece], rows: int | None = None) -> pa.StringArray:
    """Join the pieces of each row to a text. `rows` is needed if no piece is an array."""
    return _join(pieces, rows, _NO_TEXT)


def join_binary(pieces: Sequence[Piece], rows: int | None = None) -> pa.BinaryArray:
    """Join the pieces of each row to bytes, as `join` does."""
    return _join(pieces, rows, _NO_BYTES)


@overload
def _join(pieces: Sequence[Piece], rows: int | None, empty: pa.StringScalar) -> pa.StringArray: ...
@overload
def _join(pieces: Sequence[Piece], rows: int | None, empty: pa.BinaryScalar) -> pa.BinaryArray: ...
def _join(pieces: Sequence[Piece], rows: int | None, empty: pa.Scalar[Any]) -> pa.Array[Any]:
    if len(pieces) == 1 and isinstance(pieces[0], pa.Array) and pieces[0].type == empty.type:
        return pieces[0]
    if kernels.native is None:
        return _array_of(pieces, rows, empty)
    try:
        count, offsets, data = kernels.native.join(_single_chunks(pieces), -1 if rows is None else rows, KINDS)
    except OverflowError as error:
        raise pa.ArrowCapacityError(str(error)) from None
    except NotImplementedError:  # no other error: Arrow might not notice pieces of different lengths
        return _array_of(pieces, rows, empty)
    return pa.Array.from_buffers(empty.type, count, [None, pa.py_buffer(offsets), pa.py_buffer(data)], 0)


def _single_chunks(pieces: Sequence[Piece]) -> Sequence[Piece]:
    """Return the pieces with arrays of a single chunk: Arrow splits a very large result into chunks."""
    if not any(isinstance(piece, pa.ChunkedArray) for piece in pieces):
        return pieces
    return [piece.combine_chunks() if isinstance(piece, pa.ChunkedArray) else piece for piece in pieces]


# The join by Arrow: each piece becomes an array or a constant.


def _array_of(pieces: Sequence[Piece], rows: int | None, empty: pa.Scalar[Any]) -> pa.Array[Any]:
    joined = _merge(pieces, rows, empty)
    if isinstance(joined, pa.Scalar):
        assert rows is not None, "a join of constants needs a number of rows"
        return repeated(joined, rows)
    return joined


def _merge(pieces: Sequence[Piece], rows: int | None, empty: pa.Scalar[Any]) -> pa.Array[Any] | pa.Scalar[Any]:
    """Return the pieces as one array, or as one constant if all of them are constants."""
    merged: list[Piece] = []
    arrays: list[pa.Array[Any]] = []
    for piece in pieces:
        piece = _plain_piece(piece, rows, empty)
        if not _is_constant(piece):
            arrays.append(piece)
            merged.append(piece)
        elif merged and _is_constant(merged[-1]):
            merged[-1] += piece  # join adjacent constants
        elif piece:
            merged.append(piece)
    if not arrays:
        return pa.scalar(merged[0], empty.type) if merged else empty
    if len(merged) == 1:
        return arrays[0]
    arguments = [pa.scalar(piece, empty.type) if _is_constant(piece) else piece for piece in merged]
    joined = pc.binary_join_element_wise(*arguments, empty, options=_JOIN_OPTIONS)
    if len(joined) != len(arrays[0]) or joined.null_count:
        raise AssertionError("a join lost rows")
    return joined


def _is_constant(piece: Piece) -> bool:
    return isinstance(piece, (str, bytes))


def _plain_piece(piece: Piece, rows: int | None, empty: pa.Scalar[Any]) -> Any:
    """Return a piece as a constant or an array."""
    if isinstance(piece, Text):
        return _text_array(piece, empty)
    if isinstance(piece, Conditional):
        then, otherwise = (_merge(branch, rows, empty) for branch in (piece.then, piece.otherwise))
        return pc.if_else(_mask_of(piece.where), then, otherwise)
    if isinstance(piece, CommaJoined):
        return _comma_joined(piece.pieces, rows, empty)
    if isinstance(piece, Repeated):
        return _repeated(piece, empty)
    if isinstance(piece, pa.Scalar):
        return piece.as_py()
    return "," if piece is COMMA else piece


def _mask_of(where: pa.BooleanArray | Equals) -> pa.BooleanArray:
    return pc.fill_null(pc.equal(where.values, where.text), False) if isinstance(where, Equals) else where


def _text_array(piece: Text, empty: pa.Scalar[Any]) -> pa.Array[Any]:
    escape = ESCAPES.get(piece.encoding)
    values: pa.Array[Any] = _encode_singly(piece.values, piece.encoding) if escape is None else escape(piece.values)
    if values.type != empty.type:
        values = values.cast(empty.type)
    if not piece.lead and not piece.tail:
        return values if piece.null is None or not values.null_count else values.fill_null(piece.null)
    if not values.null_count:
        return _array_of([piece.lead, values, piece.tail], None, empty)
    filled = _array_of([piece.lead, values.fill_null(empty), piece.tail], None, empty)
    null: pa.Scalar[Any] = pa.scalar(piece.null, empty.type)
    return pc.if_else(values.is_valid(), filled, null)


def _comma_joined(pieces: Sequence[Piece], rows: int | None, empty: pa.Scalar[Any]) -> Any:
    if pieces and pieces[0] is COMMA:  # every row has the first member
        return _constant(_merge(pieces[1:], rows, empty))
    joined = _merge(pieces, rows, empty)
    if isinstance(joined, pa.Scalar):
        return _constant(joined)
    return pc.replace_substring_regex(joined, "^,", "")


def _constant(joined: pa.Array[Any] | pa.Scalar[Any]) -> Any:
    return joined.as_py() if isinstance(joined, pa.Scalar) else joined


def _repeated(piece: Repeated, empty: pa.Scalar[Any]) -> pa.Array[Any]:
    offsets, first = piece.lists.offsets, piece.lists.offsets[0].as_py()
    size = piece.lists.offsets[-1].as_py() - first
    items = _array_of(piece.pieces, first + size, empty).slice(first, size)
    between = piece.between.encode() if pa.types.is_binary(empty.type) else piece.between
    joined = pc.binary_join(list_array(pc.subtract(offsets, first), items), between)
    return _array_of([_block_counts(piece.lists), joined], None, empty) if piece.counted else joined


def repeat(text: str, count: int) -> pa.StringArray:
    return pa.repeat(pa.scalar(text, _STRING), count)
