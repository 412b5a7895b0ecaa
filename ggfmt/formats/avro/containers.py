"""Avro object container files (Avro specification 1.8, "Object Container Files"), read and written.

A file starts with the schema, the codec and a sync marker of 16 bytes. Blocks follow: the number of messages, the size
of their data, the data as compressed by the codec, and the marker. ggfmt derives the marker from the schema and the
table definition, so that blocks of one table and definition may be in any of its files.
"""

from __future__ import annotations

import bz2
import hashlib
import io
import json
import lzma
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, BinaryIO, NamedTuple, overload

import pyarrow as pa

from ggfmt.columnar.avro import END, text_bytes
from ggfmt.columnar.pieces import text_buffer, zigzag_varint
from ggfmt.dataclasses import dataclass
from ggfmt.diagnostics.diagnostic import Diagnostic, list_names
from ggfmt.formats.api.format import AVRO_MAGIC
from ggfmt.formats.api.reading import HEAD_OF_LONG, Chunk, Layout, record_size_error
from ggfmt.formats.api.writing import Framing
from ggfmt.model.table import TableDef

SYNC_BYTES = 16
MAX_VARINT_BYTES = 10
MIN_HEADER_LIMIT = 1 << 20  # bytes that a header may have even if `--max-record` is smaller
MAX_HEADER_ENTRIES = 1 << 16  # Avro itself uses two
MAX_SCHEMA_PARTS = 1 << 22  # JSON values; one of three bytes takes about sixty in memory
_READ_BYTES = 1 << 20
_XZ_BYTES = 128 << 20  # memory limit; the largest dictionary of the `xz` program needs half of it


class CorruptContainerError(ValueError):
    """Bytes that are not a container file, or end too early; the message says which."""


class Truncated(CorruptContainerError):
    """Bytes that end too early; the rest may follow in the file. At least `needed` bytes are necessary."""

    def __init__(self, message: str, needed: int = 0) -> None:
        super().__init__(message)
        self.needed = needed


@dataclass(frozen=True)
class Header:
    """The header of a container file: its schema as parsed JSON, codec and marker, and its bytes."""

    schema: Any
    codec: str
    sync: bytes
    data: bytes

    @property
    def schema_text(self) -> str:
        return _header_entries(self.data)[0].get("avro.schema", b"").decode()


class LongHeader(Exception):
    """A header is too long. `head` has the first bytes of the file, `problem` the diagnostic."""

    def __init__(self, head: bytes, limit: int) -> None:
        message = f"the header of the container file has more than {limit:,} bytes"
        super().__init__(message)
        self.head = head[:HEAD_OF_LONG]
        help = "if the file is valid, increase `--max-record`; its schema may take ten times as much memory"
        self.problem = Diagnostic("GG316", message, help=help)


def _decompressed(stream: Any, data: bytes, limit: int) -> bytes:
    unpacked: bytes = stream.decompress(data, limit + 1)
    if not stream.eof and len(unpacked) <= limit:
        raise CorruptContainerError("a block cannot be decompressed: its data is incomplete")
    return unpacked


def _unsnap(data: bytes, limit: int) -> bytes:
    # The snappy format starts with the decompressed size as a varint.
    size, _ = read_varint(data, 0)
    if size > limit:
        raise CorruptContainerError(
            f"a block declares {size:,} decompressed bytes, and `--max-record` allows {limit:,}"
        )
    unpacked: bytes = pa.Codec("snappy").decompress(data[:-4], decompressed_size=size, asbytes=True)
    if zlib.crc32(unpacked).to_bytes(4, "big") != data[-4:]:
        raise CorruptContainerError("the checksum of a block is wrong")
    return unpacked


def _unbzip(data: bytes, limit: int) -> bytes:
    with bz2.open(io.BytesIO(data)) as stream:
        return stream.read(limit + 1)


UNPACK: dict[str, Callable[[bytes, int], bytes]] = {
    "null": lambda data, limit: data,
    "deflate": lambda data, limit: _decompressed(zlib.decompressobj(wbits=-zlib.MAX_WBITS), data, limit),
    "snappy": _unsnap,
    "bzip2": _unbzip,
    "xz": lambda data, limit: _decompressed(lzma.LZMADecompressor(memlimit=_XZ_BYTES), data, limit),
    "zstandard": lambda data, limit: pa.input_stream(pa.py_buffer(data), compression="zstd").read(limit + 1),
}


def read_varint(data: bytes, start: int) -> tuple[int, int]:
    """Return the unsigned varint at a place, and the place after it. Raises: CorruptContainerError if there is none."""
    if start < len(data) and data[start] < 0x80:
        return data[start], start + 1
    value = shift = 0
    for place in range(start, min(len(data), start + MAX_VARINT_BYTES)):
        value |= (data[place] & 0x7F) << shift
        if data[place] < 0x80:
            return value, place + 1
        shift += 7
    if len(data) - start < MAX_VARINT_BYTES:
        raise Truncated("the file ends in the middle of a number")
    raise CorruptContainerError("a number has too many bytes")


def unzigzag(value: int) -> int:
    return (value >> 1) ^ -(value & 1)


def read_header(data: bytes) -> Header:
    """Return the header of `data`. Raises: CorruptContainerError for none that ggfmt reads; Truncated for a
    part of one."""
    metadata, place, end = _header_entries(data)
    codec = metadata.get("avro.codec", b"null").decode("utf-8", "replace")
    if codec not in UNPACK:
        raise CorruptContainerError(f"the codec `{codec}` is not one of {list_names(UNPACK)}")
    text = metadata.get("avro.schema", b"")
    if sum(map(text.count, (b",", b"[", b"{"))) > MAX_SCHEMA_PARTS:
        raise CorruptContainerError(f"the schema in the header has more than {MAX_SCHEMA_PARTS:,} parts")
    return Header(_parse_schema(text), codec, data[place:end], data[:end])


@lru_cache(maxsize=2)  # each chunk of a file repeats the header
def _parse_schema(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise CorruptContainerError("the header has no readable schema") from None


def find_first_block(head: bytes) -> int | None:
    """Return where the first block of a container begins, which may be after `head`; None for any other file."""
    if not head.startswith(AVRO_MAGIC):
        return None
    try:
        return _header_entries(head)[2]
    except CorruptContainerError as error:
        return max(error.needed if isinstance(error, Truncated) else 0, len(head))


def _header_entries(data: bytes) -> tuple[dict[str, bytes], int, int]:
    """Return the metadata of a header, the place of the marker, and the end of the header."""
    if not data.startswith(AVRO_MAGIC):
        raise CorruptContainerError("the file does not start with an Avro object container header")
    metadata: dict[str, bytes] = {}
    place, entries = len(AVRO_MAGIC), 0
    while True:
        count, place = read_long(data, place)
        if count == 0:
            break
        if count < 0:  # the size of the entries in bytes follows
            count = -count
            _, place = read_long(data, place)
        entries += count
        if entries > MAX_HEADER_ENTRIES:
            raise CorruptContainerError(f"the header has more than {MAX_HEADER_ENTRIES:,} entries")
        for _ in range(count):
            name, place = read_bytes(data, place)
            metadata[name.decode("utf-8", "replace")], place = read_bytes(data, place)
    end = place + SYNC_BYTES
    if len(data) < end:
        raise Truncated("the file ends in its header", end)
    return metadata, place, end


def read_head(stream: BinaryIO, limit: int) -> bytes:
    """Return the first bytes of a file, with the whole header of a container; `read_header` finds its errors. Raises:
    LongHeader if the header exceeds both `limit` and `MIN_HEADER_LIMIT`."""
    limit = max(limit, MIN_HEADER_LIMIT)
    head = stream.read(_READ_BYTES)
    while head.startswith(AVRO_MAGIC):
        try:
            _, _, end = _header_entries(head)
        except Truncated as error:
            if max(error.needed, len(head) + 1) > limit:
                raise LongHeader(head, limit) from None
            more = stream.read(min(len(head), limit - len(head)))  # double the bytes, so that rescanning stays cheap
            if not more:
                break
            head += more
        except CorruptContainerError:
            break
        else:
            if end > limit:
                raise LongHeader(head, limit)
            break
    return head


class Block(NamedTuple):
    """A block of a container file with its marker, at `offset` of the file; or invalid bytes up to the next marker. If
    a block is too long, `data` has only its first bytes and `size` its full size."""

    offset: int
    data: bytes
    size: int

    @property
    def long(self) -> bool:
        return self.size != len(self.data)


class Blocks:
    """The blocks of a container file after its header. `limit` is the maximum size of a block in bytes."""

    def __init__(self, read: bytes, stream: BinaryIO, header: Header, limit: int) -> None:
        self._buffer = read[len(header.data) :]
        self._offset = len(header.data)
        self._stream = stream
        self._sync = header.sync
        self._limit = limit
        self._ended = False

    def __iter__(self) -> Iterator[Block]:
        """Yield all blocks. After a corrupt block, the next one starts after the next marker."""
        while self._fill(1):
            size = self._framed()
            yield self._corrupt_block() if size is None else self._take(size, size)

    def _fill(self, size: int) -> bool:
        """Read until the buffer has `size` bytes; return whether it does."""
        while len(self._buffer) < size and not self._ended:
            more = self._stream.read(max(_READ_BYTES, size - len(self._buffer)))
            self._ended = not more
            self._buffer += more
        return len(self._buffer) >= size

    def _take(self, shown: int, size: int) -> Block:
        block = Block(self._offset, self._buffer[:shown], size)
        self._offset += size
        self._buffer = self._buffer[shown:]
        return block

    def _framed(self) -> int | None:
        """Return the size of the block that starts here, as stated in the block; None unless the marker follows it."""
        self._fill(2 * MAX_VARINT_BYTES)
        try:
            _, place = read_varint(self._buffer, 0)
            size, place = read_long(self._buffer, place)
        except CorruptContainerError:
            return None
        end = place + size + SYNC_BYTES
        if size < 0 or end > self._limit or not self._fill(end):
            return None
        return end if self._buffer.startswith(self._sync, end - SYNC_BYTES) else None

    def _corrupt_block(self) -> Block:
        """Return everything up to and including the next marker, or up to the end."""
        seen = 0
        while (place := self._buffer.find(self._sync, seen)) < 0 and len(self._buffer) <= self._limit:
            seen = max(0, len(self._buffer) - SYNC_BYTES + 1)
            if not self._fill(len(self._buffer) + 1):
                return self._take(len(self._buffer), len(self._buffer))
        if 0 <= place <= self._limit - SYNC_BYTES:
            return self._take(place + SYNC_BYTES, place + SYNC_BYTES)
        offset, head = self._offset, self._buffer[: min(HEAD_OF_LONG, self._limit)]
        while place < 0:
            kept = self._buffer[len(self._buffer) - SYNC_BYTES + 1 :]
            self._offset += len(self._buffer) - len(kept)
            self._buffer = kept
            if not self._fill(len(kept) + 1):
                place = len(kept) - SYNC_BYTES
                break
            place = self._buffer.find(self._sync)
        self._take(place + SYNC_BYTES, place + SYNC_BYTES)
        return Block(offset, head, self._offset - offset)


def split_blocks(
    data: bytes, header: Header, limit: int
) -> Iterator[tuple[int, int, int, bytes | CorruptContainerError]]:
    """Yield start and end of each block in `data`, the number of its records, and their decompressed bytes. If a block
    is corrupt, or decompresses to more than `limit` bytes, the last item is the error, and the block ends with the next
    marker."""
    place = len(header.data)
    unpacked: bytes | CorruptContainerError
    while place < len(data):
        start = place
        count, unpacked = 0, CorruptContainerError("a block is truncated, or does not end with the sync marker")
        try:
            number, place = read_long(data, place)
            packed, place = read_bytes(data, place)
        except CorruptContainerError:
            number = -1
        if number >= 0 and data.startswith(header.sync, place):
            try:
                count, unpacked = number, _unpacked(packed, header.codec, limit)
            except CorruptContainerError as error:
                count, unpacked = 0, error
        else:
            marker = data.find(header.sync, start)
            place = len(data) - SYNC_BYTES if marker < 0 else marker
        place += SYNC_BYTES
        yield start, place, count, unpacked


def _unpacked(packed: bytes, codec: str, limit: int) -> bytes:
    try:
        unpacked = UNPACK[codec](packed, limit)
    except CorruptContainerError:
        raise
    except (OSError, ValueError, EOFError, MemoryError, zlib.error, lzma.LZMAError, pa.ArrowException) as error:
        raise CorruptContainerError(
            f"a block cannot be decompressed: {(str(error).splitlines() or ['the data is damaged'])[0]}"
        ) from None
    if len(unpacked) > limit:
        raise CorruptContainerError(f"a block decompresses to more than {limit:,} bytes, the limit of `--max-record`")
    return unpacked


def read_long(data: bytes, start: int) -> tuple[int, int]:
    value, place = read_varint(data, start)
    return unzigzag(value), place


def read_bytes(data: bytes, start: int) -> tuple[bytes, int]:
    size, place = read_long(data, start)
    if size < 0 or place + size > len(data):
        message = "the file ends in the middle of a block"
        raise CorruptContainerError(message) if size < 0 else Truncated(message, place + size)
    return data[place : place + size], place + size


def unsafe_reason(schema: Any) -> str | None:
    """Return why decoding data of a schema might not end; None if it always does. Dangerous are arrays of items without
    bytes, of which a few bytes make any number, and types that contain themselves."""
    try:
        _min_bytes(schema, {}, set())
    except CorruptContainerError as error:
        return str(error)
    except RecursionError:
        return "the schema is nested too deeply"
    return None


def _min_bytes(schema: Any, known: dict[str, int], within: set[str]) -> int:
    """Return the minimum size of a datum. Raises: CorruptContainerError for an unsafe schema."""
    if isinstance(schema, list):
        return 1 + min((_min_bytes(branch, known, within) for branch in schema), default=0)
    if isinstance(schema, str):
        if schema in within:
            raise CorruptContainerError(f"the type `{schema}` of the schema contains itself")
        return known.get(schema, _MIN_BYTES.get(schema, 1))
    if not isinstance(schema, dict):
        return 1
    kind = schema.get("type")
    if kind == "array":
        if not _min_bytes(schema.get("items"), known, within):
            raise CorruptContainerError("the schema has an array whose items take no bytes")
        return 1
    if kind == "map":
        _min_bytes(schema.get("values"), known, within)
        return 1
    if kind not in ("record", "error"):
        size = schema.get("size") if kind == "fixed" else None
        least = size if isinstance(size, int) else _min_bytes(kind, known, within)
        known.update(dict.fromkeys(_names(schema), least))
        return least
    names = _names(schema)
    inside = within.union(names)
    fields = schema.get("fields")
    least = sum(_min_bytes(field.get("type"), known, inside) for field in (fields if isinstance(fields, list) else ()))
    known.update(dict.fromkeys(names, least))
    return least


def _names(schema: dict[str, Any]) -> list[str]:
    """Return the names by which later parts of a schema may refer to a type."""
    name, space = schema.get("name"), schema.get("namespace")
    if not isinstance(name, str):
        return []
    return [name, name.rpartition(".")[2], f"{space}.{name}"]


_MIN_BYTES = {"null": 0, "float": 4, "double": 8}


_MAX_RECORDS = 1 << 27  # per block


def read_file_head(stream: BinaryIO, file: str, layout: Layout) -> bytes | Chunk:
    """Return the first bytes of a file, with the whole header; a chunk with the problem if the header is too long."""
    try:
        return read_head(stream, layout.max_record)
    except LongHeader as error:
        return Chunk(file, 0, error.head, layout, ((0, len(error.head)),), problem=error.problem)


def container_chunks(
    head: bytes, stream: BinaryIO, file: str, layout: Layout, step: int = 1, empty: bool = False
) -> Iterator[Chunk]:
    """Yield a container file that starts with `head`, at least a block and `step` bytes of blocks at a time. A chunk is
    the header and the blocks, without `spans`. `empty`: a chunk has the header of a file without blocks."""
    try:
        header = read_header(head)
    except CorruptContainerError as error:
        problem = Diagnostic("GG313", str(error))
        yield Chunk(file, 0, head, layout, ((0, len(head)),), problem=problem)
        return
    size = start = len(header.data)
    data = b""
    for block in Blocks(head, stream, header, layout.max_record):
        data += b"" if block.long else block.data
        if len(data) >= step or (block.long and (data or (empty and start == size))):
            yield Chunk(file, start - size, header.data + data, layout)
            start, data = block.offset + block.size, b""
        if block.long:
            problem = record_size_error(block.size, layout.max_record)
            yield Chunk(file, block.offset, block.data, layout, ((0, len(block.data)),), problem=problem)
            start, data = block.offset + block.size, b""
    if data or (empty and start == size):
        yield Chunk(file, start - size, header.data + data, layout)


class RecordsOfBlock(Sequence[tuple[int, int]]):
    """The spans of the records in a container's block, which all equal the span of the block."""

    def __init__(self, data: bytes) -> None:
        self._count = 1
        start = 0
        try:
            start = len(read_header(data).data)
            count, _ = read_varint(data, start)
            self._count = max(1, min(unzigzag(count), _MAX_RECORDS))
        except CorruptContainerError:
            pass
        self._span = (start, len(data))

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> tuple[int, int]: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[tuple[int, int]]: ...

    def __getitem__(self, index: int | slice) -> tuple[int, int] | Sequence[tuple[int, int]]:
        return self._span if isinstance(index, int) else [self._span] * len(range(*index.indices(self._count)))


BLOCK_BYTES = 1 << 18  # of messages in a block, before compression; readers hold a block in memory


def _deflate(data: pa.Buffer) -> bytes:
    compressor = zlib.compressobj(wbits=-zlib.MAX_WBITS)  # without the header and checksum of zlib
    return compressor.compress(data) + compressor.flush()


def _snappy(data: pa.Buffer) -> bytes:
    compressed: bytes = pa.Codec("snappy").compress(data, asbytes=True)
    return compressed + zlib.crc32(data).to_bytes(4, "big")


_COMPRESS: dict[str, Callable[[pa.Buffer], pa.Buffer | bytes]] = {
    "null": lambda data: data,
    "deflate": _deflate,
    "snappy": _snappy,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstandard": lambda data: pa.Codec("zstd").compress(data, asbytes=True),
}


class MessageStream(Framing):
    """Concatenates binary messages; delimiters are part of the messages."""

    def frame(self, messages: pa.Array[Any]) -> tuple[pa.Buffer | bytes, int]:
        return text_buffer(messages), 0


class ObjectContainer(Framing):
    """Writes messages of one schema in blocks. `schema` is compact JSON, `codec` the name of a codec."""

    def __init__(self, table: TableDef, schema: str, codec: str) -> None:
        self._compress = _COMPRESS[codec]
        self.container = f"object container files, codec {codec}, schema {table.full_name}"
        identity = (table.full_name, table.columns, schema, codec)
        self.sync = hashlib.sha256(repr(identity).encode("utf-8", "surrogatepass")).digest()[:16]
        metadata = {"avro.schema": schema, "avro.codec": codec}
        entries = b"".join(text_bytes(name) + text_bytes(value) for name, value in metadata.items())
        self.header = AVRO_MAGIC + zigzag_varint(len(metadata)) + entries + END + self.sync

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
