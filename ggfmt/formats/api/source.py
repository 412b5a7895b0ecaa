"""A stream that is read and handed out piece by piece, without ever holding more than a record may have."""

from __future__ import annotations

from typing import BinaryIO

from ggfmt.formats.api.reading import HEAD_OF_LONG, Chunk, Layout, too_long

PIECE_BYTES = 1 << 20


class Source:
    """`buffer` is what was read and not yet handed out, and lies at `offset` of the file; `ended` tells that nothing
    follows it. `step` is how many bytes a chunk has, about."""

    def __init__(self, stream: BinaryIO, file: str, layout: Layout, step: int, offset: int = 0) -> None:
        self.stream = stream
        self.file = file
        self.layout = layout
        self.limit = layout.max_record
        self.step = min(step, self.limit)
        self.buffer = b""
        self.offset = offset
        self.ended = False

    def grow(self) -> None:
        """Reads as much again as there is, so that looking at a long record anew takes no more than linear time."""
        size = len(self.buffer)
        block = self.stream.read(max(self.step, min(size, self.limit + 1 - size)))
        self.ended = not block
        self.buffer += block

    def drop(self, count: int) -> None:
        self.buffer = self.buffer[count:]
        self.offset += count

    def pass_until(self, mark: bytes, start: int) -> None:
        """Drops what comes before the next mark that does not start before `start`, or everything."""
        found = self.buffer.find(mark, start)
        while found < 0:
            kept = max(0, len(self.buffer) - len(mark) + 1)
            self.drop(kept)
            start = max(0, start - kept)
            block = self.stream.read(PIECE_BYTES)
            self.ended = not block
            self.buffer += block
            if not block:
                self.drop(len(self.buffer))
                return
            found = self.buffer.find(mark, start)
        self.drop(found)

    def pass_record(self, mark: bytes) -> Chunk:
        """The chunk of a record that is too long, which ends before the first mark behind as many bytes as are allowed;
        it is dropped."""
        start, head = self.offset, self.head()
        self.pass_until(mark, self.limit)
        return self.long(start, head)

    def head(self) -> bytes:
        """What is kept of a record that is too long."""
        return self.buffer[: min(HEAD_OF_LONG, self.limit)]

    def long(self, start: int, head: bytes) -> Chunk:
        """The chunk of a record that is too long, of `head` and what was dropped since `start`."""
        problem = too_long(self.offset - start, self.limit)
        return Chunk(self.file, start, head, self.layout, ((0, len(head)),), last=False, problem=problem)
