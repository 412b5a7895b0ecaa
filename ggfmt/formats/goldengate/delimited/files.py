"""Lines of delimited text in files: found, and cut into chunks of whole lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import BinaryIO

from ggfmt.formats.api.reading import Chunk, Layout, Source

CHUNK_BYTES = 1 << 20


@dataclass(frozen=True)
class DelimitedLayout(Layout):
    """`by_bytes`: lines can be told without decoding what stands before them."""

    by_bytes: bool = field(default=True, kw_only=True)


def chunks(stream: BinaryIO, file: str, start: int, length: int | None, layout: Layout) -> Iterator[Chunk]:
    """The lines that start in a range, about `CHUNK_BYTES` at a time."""
    assert isinstance(layout, DelimitedLayout)
    source = Source(stream, file, layout, CHUNK_BYTES)
    return (_lines if layout.by_bytes else _at_once)(source, start, length)


def _lines(source: Source, start: int, length: int | None) -> Iterator[Chunk]:
    """The lines that start in a range."""
    delimiter = source.layout.delimiter
    if start:
        # The line that holds the byte before `start` belongs to another range.
        source.offset = max(0, start - len(delimiter))
        source.stream.seek(source.offset)
        source.pass_until(delimiter, 0)
        source.drop(len(delimiter))
    else:
        source.offset = len(source.stream.read(source.layout.skipped))
    end = None if length is None else start + length
    while end is None or source.offset < end:
        wanted = source.step if end is None else min(source.step, end - source.offset)
        cut = _through(source, wanted)
        if not source.buffer:
            return
        if not cut:
            yield source.pass_record(delimiter)
            source.drop(len(delimiter))
            continue
        yield Chunk(source.file, source.offset, source.buffer[:cut], source.layout, last=source.ended)
        source.drop(cut)


def _through(source: Source, wanted: int) -> int:
    """The end of the first line that ends behind so many bytes, or the start of that line if it is too long."""
    while True:
        line, end = _line_behind(source, wanted)
        if end is None and not source.ended and len(source.buffer) - line <= source.limit:
            source.grow()
            continue
        last = len(source.buffer) if end is None else end
        if last - line > source.limit:
            return line
        return last if end is None else last + len(source.layout.delimiter)


def _line_behind(source: Source, wanted: int) -> tuple[int, int | None]:
    """Start and end of the first line whose delimiter ends behind so many bytes."""
    data, delimiter = source.buffer, source.layout.delimiter
    if source.layout.splittable:
        end = data.find(delimiter, max(0, wanted - len(delimiter)))
        line = data.rfind(delimiter, 0, end if end >= 0 else len(data))
        return (0 if line < 0 else line + len(delimiter)), (None if end < 0 else end)
    line, end = 0, data.find(delimiter)
    while end >= 0 and end + len(delimiter) < wanted:
        line = end + len(delimiter)
        end = data.find(delimiter, line)
    return line, None if end < 0 else end


def _at_once(source: Source, start: int, length: int | None) -> Iterator[Chunk]:
    """The whole file, in which lines cannot be told without decoding what stands before them."""
    data = source.stream.read(source.limit + 1)
    if len(data) <= source.limit:
        if data:
            yield Chunk(source.file, 0, data, source.layout)
        return
    source.buffer = data
    head = source.head()
    while source.buffer:
        source.drop(len(source.buffer))
        source.grow()
    help = "convert it to UTF-8, or give a larger `--max-record`: text of its encoding is read at once"
    long = source.long(0, head)
    assert long.problem is not None
    yield replace(long, problem=replace(long.problem, message=f"the file has {source.offset:,} bytes", help=help))
