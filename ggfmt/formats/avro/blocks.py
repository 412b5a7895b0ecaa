"""Avro object container files, read: header, blocks, and how a block's bytes are unpacked (Avro specification 1.8)."""

from __future__ import annotations

import bz2
import json
import lzma
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import pyarrow as pa

MAGIC = b"Obj\x01"
SYNC_BYTES = 16
MOST_VARINT_BYTES = 10
MOST_BLOCK_BYTES = 1 << 31  # what claims to be larger is damaged


class Damaged(ValueError):
    """Bytes that are no container file, or end too early; the message says which."""


@dataclass(frozen=True)
class Header:
    """The header of a container file: its schema as parsed JSON, its codec and marker, and its own bytes."""

    schema: Any
    codec: str
    sync: bytes
    data: bytes


def _unsnap(data: bytes) -> bytes:
    # The size of what is packed stands first, as a varint, in the snappy format itself.
    size, _ = read_varint(data, 0)
    unpacked: bytes = pa.Codec("snappy").decompress(data[:-4], decompressed_size=size, asbytes=True)
    if zlib.crc32(unpacked).to_bytes(4, "big") != data[-4:]:
        raise Damaged("the checksum of a block is wrong")
    return unpacked


def _unzstd(data: bytes) -> bytes:
    unpacked: bytes = pa.input_stream(pa.py_buffer(data), compression="zstd").read()
    return unpacked


UNPACK: dict[str, Callable[[bytes], bytes]] = {
    "null": lambda data: data,
    "deflate": lambda data: zlib.decompress(data, wbits=-zlib.MAX_WBITS),
    "snappy": _unsnap,
    "bzip2": bz2.decompress,
    "xz": lzma.decompress,
    "zstandard": _unzstd,
}


def read_varint(data: bytes, start: int) -> tuple[int, int]:
    """The unsigned varint at a place, and the place behind it; Damaged if there is none."""
    value = shift = 0
    for place in range(start, min(len(data), start + MOST_VARINT_BYTES)):
        value |= (data[place] & 0x7F) << shift
        if data[place] < 0x80:
            return value, place + 1
        shift += 7
    raise Damaged("the file ends in the middle of a number")


def unzigzag(value: int) -> int:
    return (value >> 1) ^ -(value & 1)


def read_header(data: bytes) -> Header:
    """The header at the start of `data`; Damaged if there is none, or an unknown codec."""
    if not data.startswith(MAGIC):
        raise Damaged("the file does not start as an Avro object container")
    metadata: dict[str, bytes] = {}
    place = len(MAGIC)
    while True:
        count, place = _long(data, place)
        if count == 0:
            break
        if count < 0:  # then the size of the entries in bytes follows
            count = -count
            _, place = _long(data, place)
        for _ in range(count):
            name, place = _bytes(data, place)
            metadata[name.decode("utf-8", "replace")], place = _bytes(data, place)
    end = place + SYNC_BYTES
    if len(data) < end:
        raise Damaged("the file ends in its header")
    codec = metadata.get("avro.codec", b"null").decode("utf-8", "replace")
    if codec not in UNPACK:
        raise Damaged(f"the codec `{codec}` is none of {', '.join(f'`{known}`' for known in UNPACK)}")
    try:
        schema = json.loads(metadata["avro.schema"])
    except (KeyError, ValueError, RecursionError):
        raise Damaged("the header has no schema that can be read") from None
    return Header(schema, codec, data[place:end], data[:end])


class Rest:
    """A stream with some bytes put back in front."""

    def __init__(self, data: bytes, stream: BinaryIO) -> None:
        self._data = data
        self._place = 0
        self._stream = stream

    def read(self, size: int = -1) -> bytes:
        if size < 0:
            taken, left = self._data[self._place :], -1
        else:
            taken = self._data[self._place : self._place + size]
            left = size - len(taken)
        self._place += len(taken)
        return taken + self._stream.read(left) if left else taken


def read_block(stream: BinaryIO | Rest, header: Header) -> bytes:
    """The bytes of the next block with its marker, none at the end; what there is of it where it is cut off or does not
    start as a block."""
    head = b""
    sizes: list[int] = []
    while len(sizes) < 2:
        more = stream.read(1)
        if not more:
            return head
        head += more
        if len(head) - (sizes[0] if sizes else 0) > MOST_VARINT_BYTES:
            return head
        if more[0] < 0x80:
            value, _ = read_varint(head, sizes[0] if sizes else 0)
            sizes.append(len(head) if not sizes else unzigzag(value))
    if not 0 <= sizes[1] < MOST_BLOCK_BYTES:
        return head
    return head + stream.read(sizes[1] + SYNC_BYTES)


def parts(data: bytes, header: Header) -> Iterator[tuple[int, int, int, bytes]]:
    """Of each block behind the header its start and end in `data`, its number of records and their bytes, unpacked.

    Damaged where one is cut off, cannot be unpacked, or does not end with the marker.
    """
    place = len(header.data)
    while place < len(data):
        start = place
        count, place = _long(data, place)
        packed, place = _bytes(data, place)
        if data[place : place + SYNC_BYTES] != header.sync or count < 0:
            raise Damaged("a block does not end with the marker of the file")
        place += SYNC_BYTES
        try:
            unpacked = UNPACK[header.codec](packed)
        except (OSError, ValueError, EOFError, zlib.error, lzma.LZMAError, pa.ArrowException) as error:
            raise Damaged(f"a block cannot be unpacked: {_reason(error)}") from None
        yield start, place, count, unpacked


def _reason(error: Exception) -> str:
    return (str(error).splitlines() or ["it is damaged"])[0]


def _long(data: bytes, start: int) -> tuple[int, int]:
    value, place = read_varint(data, start)
    return unzigzag(value), place


def _bytes(data: bytes, start: int) -> tuple[bytes, int]:
    size, place = _long(data, start)
    if size < 0 or place + size > len(data):
        raise Damaged("the file ends in the middle of a block")
    return data[place : place + size], place + size
