"""Messages of n rows put together from pieces, by a native kernel in one pass, or by Arrow.

Arrow's element-wise join has a trap: `binary_join_element_wise` with `null_handling="skip"` leaves out a row whose
inputs are all null, so that an operation would vanish. Here a null is an error of the caller, and the length is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import pyarrow as pa

from ggfmt import kernels
from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import list_array, repeated
from ggfmt.columnar.avro_values import counts, encoded_singly
from ggfmt.columnar.escapes import ESCAPES
from ggfmt.columnar.pieces import COMMA, KINDS, CommaJoined, Conditional, Equals, Piece, Repeated, Text

_OPTIONS = pc.JoinOptions(null_handling="emit_null")
_STRING = pa.string()
_NO_TEXT = pa.scalar("", _STRING)
_NO_BYTES = pa.scalar(b"", pa.binary())


def join(pieces: Sequence[Piece], rows: int | None = None) -> pa.StringArray:
    """The pieces of each row put together, as texts. `rows` is n, needed where there may be no array among them."""
    return _join(pieces, rows, _NO_TEXT)


def join_binary(pieces: Sequence[Piece], rows: int | None = None) -> pa.BinaryArray:
    """As `join`, of binaries and constants of bytes."""
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
        count, offsets, data = kernels.native.join(_whole(pieces), -1 if rows is None else rows, KINDS)
    except OverflowError as error:
        raise pa.ArrowCapacityError(str(error)) from None
    except NotImplementedError:  # alone: pieces that do not belong together are a mistake, which Arrow may not see
        return _array_of(pieces, rows, empty)
    return pa.Array.from_buffers(empty.type, count, [None, pa.py_buffer(offsets), pa.py_buffer(data)], 0)


def _whole(pieces: Sequence[Piece]) -> Sequence[Piece]:
    """The pieces with arrays of one chunk: Arrow's functions divide a result that is very large."""
    if not any(isinstance(piece, pa.ChunkedArray) for piece in pieces):
        return pieces
    return [piece.combine_chunks() if isinstance(piece, pa.ChunkedArray) else piece for piece in pieces]


# By Arrow: what each kind of piece is, as an array or a constant.


def _array_of(pieces: Sequence[Piece], rows: int | None, empty: pa.Scalar[Any]) -> pa.Array[Any]:
    joined = _joined(pieces, rows, empty)
    if isinstance(joined, pa.Scalar):
        assert rows is not None, "a join of constants needs a number of rows"
        return repeated(joined, rows)
    return joined


def _joined(pieces: Sequence[Piece], rows: int | None, empty: pa.Scalar[Any]) -> pa.Array[Any] | pa.Scalar[Any]:
    """The pieces as one array, or as one constant if they are constants."""
    merged: list[Piece] = []
    arrays: list[pa.Array[Any]] = []
    for piece in pieces:
        piece = _plain(piece, rows, empty)
        if not _is_constant(piece):
            arrays.append(piece)
            merged.append(piece)
        elif merged and _is_constant(merged[-1]):
            merged[-1] += piece  # one constant where two meet
        elif piece:
            merged.append(piece)
    if not arrays:
        return pa.scalar(merged[0], empty.type) if merged else empty
    if len(merged) == 1:
        return arrays[0]
    arguments = [pa.scalar(piece, empty.type) if _is_constant(piece) else piece for piece in merged]
    joined = pc.binary_join_element_wise(*arguments, empty, options=_OPTIONS)
    if len(joined) != len(arrays[0]) or joined.null_count:
        raise AssertionError("a join lost rows")
    return joined


def _is_constant(piece: Piece) -> bool:
    return isinstance(piece, (str, bytes))


def _plain(piece: Piece, rows: int | None, empty: pa.Scalar[Any]) -> Any:
    """A piece as a constant or an array."""
    if isinstance(piece, Text):
        return _text(piece, empty)
    if isinstance(piece, Conditional):
        then, otherwise = (_joined(branch, rows, empty) for branch in (piece.then, piece.otherwise))
        return pc.if_else(_mask(piece.where), then, otherwise)
    if isinstance(piece, CommaJoined):
        return _members(piece.pieces, rows, empty)
    if isinstance(piece, Repeated):
        return _each(piece, empty)
    if isinstance(piece, pa.Scalar):
        return piece.as_py()
    return "," if piece is COMMA else piece


def _mask(where: pa.BooleanArray | Equals) -> pa.BooleanArray:
    return pc.fill_null(pc.equal(where.values, where.text), False) if isinstance(where, Equals) else where


def _text(piece: Text, empty: pa.Scalar[Any]) -> pa.Array[Any]:
    escape = ESCAPES.get(piece.encoding)
    values: pa.Array[Any] = encoded_singly(piece.values, piece.encoding) if escape is None else escape(piece.values)
    if values.type != empty.type:
        values = values.cast(empty.type)
    if not piece.lead and not piece.tail:
        return values if piece.null is None or not values.null_count else values.fill_null(piece.null)
    if not values.null_count:
        return _array_of([piece.lead, values, piece.tail], None, empty)
    filled = _array_of([piece.lead, values.fill_null(empty), piece.tail], None, empty)
    null: pa.Scalar[Any] = pa.scalar(piece.null, empty.type)
    return pc.if_else(values.is_valid(), filled, null)


def _members(pieces: Sequence[Piece], rows: int | None, empty: pa.Scalar[Any]) -> Any:
    if pieces and pieces[0] is COMMA:  # the first is always there
        return _constant(_joined(pieces[1:], rows, empty))
    joined = _joined(pieces, rows, empty)
    if isinstance(joined, pa.Scalar):
        return _constant(joined)
    return pc.replace_substring_regex(joined, "^,", "")


def _constant(joined: pa.Array[Any] | pa.Scalar[Any]) -> Any:
    return joined.as_py() if isinstance(joined, pa.Scalar) else joined


def _each(piece: Repeated, empty: pa.Scalar[Any]) -> pa.Array[Any]:
    offsets, first = piece.lists.offsets, piece.lists.offsets[0].as_py()
    size = piece.lists.offsets[-1].as_py() - first
    items = _array_of(piece.pieces, first + size, empty).slice(first, size)
    between = piece.between.encode() if pa.types.is_binary(empty.type) else piece.between
    joined = pc.binary_join(list_array(pc.subtract(offsets, first), items), between)
    return _array_of([counts(piece.lists), joined], None, empty) if piece.counted else joined


def repeat(text: str, count: int) -> pa.StringArray:
    return pa.repeat(pa.scalar(text, _STRING), count)
