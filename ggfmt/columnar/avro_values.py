"""Values in Avro's binary encoding one by one: what the native kernel makes of arrays, where it refuses them."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from ggfmt.columnar.pieces import Encoding

_BINARY = pa.binary()


def zigzag_varint(number: int) -> bytes:
    """One int or long."""
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


# A float is the nearest to the double that is nearest: of as few digits as are known to be there that is exact.
_ENCODERS: dict[Encoding, Callable[[Any], bytes]] = {
    Encoding.SIZED: _sized,
    Encoding.VARINT: zigzag_varint,
    Encoding.LONG: lambda text: zigzag_varint(int(text)),
    Encoding.FLOAT: lambda text: struct.pack("<f", float(text)),
    Encoding.DOUBLE: lambda text: struct.pack("<d", float(text)),
    Encoding.BOOLEAN: lambda text: b"\1" if text == "true" else b"\0",
}


def encoded_singly(values: pa.Array[Any], encoding: Encoding) -> pa.BinaryArray:
    """The values in an encoding of Avro, NULL where they are."""
    encode = _ENCODERS[encoding]
    return pa.array([None if value is None else encode(value) for value in values.to_pylist()], _BINARY)


def counts(lists: pa.Array[Any]) -> pa.BinaryArray:
    """How many items each list has, as the count of a block in front of them; no bytes where there are none."""
    return pa.array([zigzag_varint(len(items)) if items else b"" for items in lists.to_pylist()], _BINARY)
