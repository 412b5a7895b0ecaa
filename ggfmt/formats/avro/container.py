"""Avro object container files (Avro specification 1.8, "Object Container Files"): header and blocks.

A file starts with the schema, the codec and a sync marker of 16 bytes; then come blocks: a number of messages, the size
of their bytes, these bytes as the codec compresses them, and the marker again. The marker is made from the schema and
the definition of the table and not by chance, so that blocks of one table and definition may stand in any of its files.
"""

from __future__ import annotations

import bz2
import hashlib
import lzma
import zlib
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from ggfmt.columnar.avro import END, text_bytes
from ggfmt.columnar.pieces import text_buffer, zigzag_varint
from ggfmt.formats.api.writing import Framing
from ggfmt.model.table import TableDef

MAGIC = b"Obj\x01"
BLOCK_BYTES = 1 << 18  # of messages in a block, before compression: readers hold a block in memory


def _deflate(data: pa.Buffer) -> bytes:
    compressor = zlib.compressobj(wbits=-zlib.MAX_WBITS)  # without the header and checksum of zlib
    return compressor.compress(data) + compressor.flush()


def _snappy(data: pa.Buffer) -> bytes:
    compressed: bytes = pa.Codec("snappy").compress(data, asbytes=True)
    return compressed + zlib.crc32(data).to_bytes(4, "big")


def _zstandard(data: pa.Buffer) -> bytes:
    compressed: bytes = pa.Codec("zstd").compress(data, asbytes=True)
    return compressed


_COMPRESS: dict[str, Callable[[pa.Buffer], pa.Buffer | bytes]] = {
    "null": lambda data: data,
    "deflate": _deflate,
    "snappy": _snappy,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstandard": _zstandard,
}


class MessageStream(Framing):
    """Binary messages, one after the other; delimiters are part of the messages."""

    def frame(self, messages: pa.Array[Any]) -> tuple[pa.Buffer | bytes, int]:
        return text_buffer(messages), 0


class ObjectContainer(Framing):
    """Messages of one schema in blocks. `schema` is the schema as compact JSON, `codec` a key of `CODECS`."""

    def __init__(self, table: TableDef, schema: str, codec: str) -> None:
        self._compress = _COMPRESS[codec]
        identity = (table.full_name, table.columns, schema, codec)
        self.sync = hashlib.sha256(repr(identity).encode("utf-8", "surrogatepass")).digest()[:16]
        metadata = {"avro.schema": schema, "avro.codec": codec}
        entries = b"".join(text_bytes(name) + text_bytes(value) for name, value in metadata.items())
        self.header = MAGIC + zigzag_varint(len(metadata)) + entries + END + self.sync

    def frame(self, messages: pa.Array[Any]) -> tuple[pa.Buffer | bytes, int]:
        size = text_buffer(messages).size
        count = len(messages)
        step = max(1, count * BLOCK_BYTES // max(size, BLOCK_BYTES))
        parts: list[pa.Buffer | bytes] = []
        for start in range(0, count, step):
            block = messages.slice(start, step)
            data = self._compress(text_buffer(block))
            parts += [zigzag_varint(len(block)) + zigzag_varint(len(data)), data, self.sync]
        return b"".join(parts), 0
