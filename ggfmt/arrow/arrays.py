"""Arrays of a known class, made or checked in one place.

pyarrow-stubs types a column of a batch or the keys of a map as `pa.Array[Any]`, because only the schema says what it
contains. `narrow` states the class and checks it once per column.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

import pyarrow as pa

from ggfmt.arrow import compute as pc

if TYPE_CHECKING:
    from typing import TypeAlias

    from pyarrow import lib
    from pyarrow.lib import MapType, StringType, _BasicDataType

    DecimalType: TypeAlias = (
        lib.Decimal32Type[Any, Any]
        | lib.Decimal64Type[Any, Any]
        | lib.Decimal128Type[Any, Any]
        | lib.Decimal256Type[Any, Any]
    )
    StringMapArray: TypeAlias = pa.MapArray[StringType, StringType]
    StringMapType: TypeAlias = MapType[StringType, StringType, Any]
else:
    DecimalType = pa.DataType
    StringMapArray = pa.MapArray

_A = TypeVar("_A", bound="pa.Array[Any]")
_NUMBERS: pa.Int64Array = pa.array(range(1024), pa.int64())
_T = TypeVar("_T")


def narrow(array: pa.Array[Any], kind: type[_A]) -> _A:
    """Return the array as one of the class that its schema promises. Raises: TypeError if it is of another class."""
    if not isinstance(array, kind):
        raise TypeError(f"an array of {array.type} is not a {kind.__name__}")
    return array


def as_strings(array: pa.Array[Any]) -> pa.StringArray:
    return narrow(array, pa.StringArray)


def as_string_maps(array: pa.Array[Any]) -> StringMapArray:
    maps: StringMapArray = narrow(array, pa.MapArray)
    return maps


def non_null_values(
    array: pa.Array[pa.Scalar[_BasicDataType[_T]]] | pa.ChunkedArray[pa.Scalar[_BasicDataType[_T]]],
) -> list[_T]:
    """Return the values of an array as Python values. Raises: ValueError if it has a NULL."""
    if array.null_count:
        raise ValueError(f"{array.null_count} of {len(array)} values are NULL, but NULL is not allowed")
    return cast("list[_T]", array.to_pylist())


def counts_by_value(array: pa.Array[pa.Scalar[_BasicDataType[_T]]]) -> dict[_T, int]:
    """Return how often each value occurs in an array, in the order of first occurrence."""
    counted = pc.value_counts(array)
    values, counts = counted.field("values"), counted.field("counts")
    return cast("dict[_T, int]", dict(zip(values.to_pylist(), counts.to_pylist(), strict=True)))


def string_maps(
    offsets: pa.Int32Array,
    keys: pa.StringArray,
    items: pa.StringArray,
    type: StringMapType | None = None,
    mask: pa.BooleanArray | None = None,
) -> StringMapArray:
    """Return maps of strings. Row `n` has the entries from `offsets[n]` to `offsets[n + 1]`, or is masked NULL."""
    # Offsets are of 32 bits; the stubs have 64. Arrow has `mask` from 17 on, and NULL offsets in all releases.
    if mask is not None and mask.true_count:
        masked = pc.if_else(mask, pa.scalar(None, pa.int32()), offsets[:-1])
        offsets = pa.concat_arrays([masked, offsets[-1:]])
    maps: StringMapArray = pa.MapArray.from_arrays(offsets, keys, items)  # type: ignore[call-overload]
    return maps if type is None or maps.type == type else cast("StringMapArray", maps.cast(type))


def map_items(maps: StringMapArray) -> list[list[tuple[str, str]]]:
    return cast("list[list[tuple[str, str]]]", maps.to_pylist())  # type: ignore[misc]  # the stubs leave out maps


def list_array(offsets: pa.Int32Array | pa.Int64Array, values: pa.Array[Any]) -> pa.ListArray[Any]:
    """Return lists. Row `n` has the values from `offsets[n]` to `offsets[n + 1]`."""
    # Arrow makes 32 bits of 64; the stubs refuse them.
    return pa.ListArray.from_arrays(offsets, values)  # type: ignore[arg-type]


def memory(buffer: pa.Buffer | None) -> memoryview:
    """Return the bytes of a buffer, which must not be None, without copying them."""
    return memoryview(buffer)  # type: ignore[arg-type]  # the stubs lack `__buffer__`


def int64_view(array: pa.Int64Array) -> memoryview:
    """Return an array as Python integers without copying it. Raises: ValueError if it has a NULL."""
    if array.null_count:
        raise ValueError(f"{array.null_count} of {len(array)} values are NULL, but NULL is not allowed")
    if not len(array):  # which may have no buffer
        return memoryview(b"").cast("q")
    return memory(array.buffers()[1]).cast("q")[array.offset : array.offset + len(array)]


def combined(column: pa.ChunkedArray[Any]) -> pa.Array[Any]:
    return pa.concat_arrays([nulls(0, column.type), *column.chunks])


def nulls(count: int, type: pa.DataType) -> pa.Array[Any]:
    """Return NULLs of a type that is known only at run time."""
    array: pa.Array[Any] = pa.nulls(count, type)  # type: ignore[call-overload]
    return array


def repeated(value: pa.Scalar[Any], count: int) -> pa.Array[Any]:
    """Return a repeated value of a type that is known only at run time."""
    array: pa.Array[Any] = pa.repeat(value, count)  # type: ignore[call-overload]
    return array


def numbered(count: int) -> pa.Int64Array:
    """Return the numbers from 0 on."""
    if count <= len(_NUMBERS):
        return _NUMBERS.slice(0, count)
    return pc.cast(pc.indices_nonzero(pa.repeat(pa.scalar(True), count)), pa.int64())


def last_where(mask: pa.BooleanArray) -> pa.Int64Array:
    """Return for each place the last one up to it where a mask is true; null for none."""
    return pc.fill_null_forward(pc.if_else(mask, numbered(len(mask)), pa.scalar(None, pa.int64())))


def begins(numbers: pa.Array[Any]) -> pa.BooleanArray:
    """Return where a number is not that of the place before it, as the first one is not. NULL is not allowed."""
    edge = pa.array([True] * min(len(numbers), 1), pa.bool_())
    return pa.concat_arrays([edge, pc.not_equal(numbers.slice(len(edge)), numbers.slice(0, max(len(numbers) - 1, 0)))])


def ends(numbers: pa.Array[Any]) -> pa.BooleanArray:
    """Return where a number is not that of the place after it, as the last one is not. NULL is not allowed."""
    edge = pa.array([True] * min(len(numbers), 1), pa.bool_())
    return pa.concat_arrays([begins(numbers).slice(len(edge)), edge])


@lru_cache(64)
def empty_batch(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([nulls(0, field.type) for field in schema], schema=schema)


def array_identity(column: pa.Array[Any]) -> object:
    return column.type, column.offset, tuple(None if each is None else each.address for each in column.buffers())


def concatenated(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> pa.RecordBatch:
    """Return the rows of all batches. Columns that are the same array in each of them stay so."""
    parts = [batch for batch in batches if len(batch)]
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return empty_batch(schema)
    found: dict[object, pa.Array[Any]] = {}
    columns = []
    for place in range(len(schema)):
        arrays = [part.column(place) for part in parts]
        identity = tuple(map(array_identity, arrays))
        if identity not in found:
            found[identity] = pa.concat_arrays(arrays)
        columns.append(found[identity])
    return pa.RecordBatch.from_arrays(columns, schema=schema)


_Buffers = Sequence["pa.Buffer | None"]


@overload
def from_buffers(type: lib.BoolType, length: int, buffers: _Buffers, null_count: int = ...) -> pa.BooleanArray: ...
@overload
def from_buffers(type: lib.StringType, length: int, buffers: _Buffers, null_count: int = ...) -> pa.StringArray: ...
@overload
def from_buffers(type: lib.Int32Type, length: int, buffers: _Buffers, null_count: int = ...) -> pa.Int32Array: ...
@overload
def from_buffers(type: lib.Int64Type, length: int, buffers: _Buffers, null_count: int = ...) -> pa.Int64Array: ...
@overload
def from_buffers(type: lib.UInt8Type, length: int, buffers: _Buffers, null_count: int = ...) -> pa.UInt8Array: ...
@overload
def from_buffers(type: pa.DataType, length: int, buffers: _Buffers, null_count: int = ...) -> pa.Array[Any]: ...
def from_buffers(type: Any, length: int, buffers: Any, null_count: int = -1) -> Any:
    """Return an array over buffers, as `pa.Array.from_buffers` does, in the class of its type."""
    return pa.Array.from_buffers(type, length, buffers, null_count)


# How operations and rows are staged in the IPC format of Arrow: with lz4 where Arrow has it, and without its threads.
# Tasks run side by side, and a thread that cannot start for lack of memory is no MemoryError.
STAGED = pa.ipc.IpcWriteOptions(compression="lz4" if pa.Codec.is_available("lz4") else None, use_threads=False)
READ = pa.ipc.IpcReadOptions(use_threads=False)
