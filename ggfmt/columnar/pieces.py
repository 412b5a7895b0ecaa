"""Pieces of messages, and the join that makes n messages from a list of pieces.

A piece is a text (or bytes) that all rows share, a scalar, an array of n texts (or binaries) without nulls, or one of
the classes here. A null without a text for it, or an array of another length, is an error of the caller.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from struct import unpack_from
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa

from ggfmt.arrow.arrays import StringMapArray, memory, narrow
from ggfmt.kernels import primitives
from ggfmt.kernels.plain import ATTRIBUTE_ESCAPES as ATTRIBUTE_ESCAPES
from ggfmt.kernels.plain import CONNECT_ESCAPES as CONNECT_ESCAPES
from ggfmt.kernels.plain import JACKSON_ESCAPES as JACKSON_ESCAPES
from ggfmt.kernels.plain import JSON_ESCAPES as JSON_ESCAPES
from ggfmt.kernels.plain import varint as varint
from ggfmt.kernels.plain import zigzag_varint as zigzag_varint

Piece: TypeAlias = Any


class Encoding(IntEnum):
    """How a value is written to a message; the numbers are those in `escape.h`. Encodings up to `DOUBLED` take texts.
    Encodings up to `NANOS` take int64 values: the digits of a number, or microseconds as milliseconds or nanoseconds.
    Encodings from `SIZED` on are Avro's: strings, longs, and the values of texts that are known to be short integers,
    booleans, or numbers that become a float or a double without rounding twice."""

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


class TextPiece(NamedTuple):
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
    """Pieces in which each `COMMA`, the start of a member, becomes a comma, except one at the start."""

    pieces: Sequence[Piece]


class Comma(NamedTuple):
    """The class of `COMMA`."""


COMMA = Comma()


class Repeated(NamedTuple):
    """The items of n lists or maps, separated by `between`. The pieces cover the items of all lists, from the first
    item of the underlying arrays. `counted` writes the number of items before them, as a long of Avro, unless there are
    none."""

    lists: pa.ListArray[Any] | StringMapArray
    pieces: Sequence[Piece]
    between: str = ""
    counted: bool = False


KINDS = (TextPiece, Conditional, CommaJoined, Repeated, Comma, Equals)


def choose(
    mask: pa.BooleanArray | None, rows: int, pieces: Sequence[Piece], otherwise: Sequence[Piece]
) -> Sequence[Piece]:
    """Return the pieces of n rows where a mask is true, and other ones elsewhere. Without a mask, it is true."""
    there = rows if mask is None else mask.true_count
    if mask is None or there == rows:
        return pieces
    return [Conditional(mask, pieces, otherwise)] if there else otherwise


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


def escape_json_text(text: str, escapes: dict[int, str] = JSON_ESCAPES) -> str:
    return f'"{text.translate(escapes)}"'


def join(pieces: Sequence[Piece], rows: int | None = None) -> pa.StringArray:
    """Join the pieces of each row to a text. `rows` is needed if no piece is an array."""
    return narrow(_join(pieces, rows, pa.string()), pa.StringArray)


def join_binary(pieces: Sequence[Piece], rows: int | None = None) -> pa.BinaryArray:
    """Join the pieces of each row to bytes, as `join` does."""
    return narrow(_join(pieces, rows, pa.binary()), pa.BinaryArray)


def _join(pieces: Sequence[Piece], rows: int | None, type: pa.DataType) -> pa.Array[Any]:
    if len(pieces) == 1 and isinstance(pieces[0], pa.Array) and pieces[0].type == type:
        return pieces[0]
    if any(isinstance(piece, pa.ChunkedArray) for piece in pieces):  # Arrow splits a very large result into chunks
        pieces = [piece.combine_chunks() if isinstance(piece, pa.ChunkedArray) else piece for piece in pieces]
    try:
        count, offsets, data = primitives.join(pieces, -1 if rows is None else rows, KINDS)
    except OverflowError as error:
        raise pa.ArrowCapacityError(str(error)) from None
    return pa.Array.from_buffers(type, count, [None, pa.py_buffer(offsets), pa.py_buffer(data)], 0)


def repeat(text: str, count: int) -> pa.StringArray:
    return pa.repeat(pa.scalar(text, pa.string()), count)
