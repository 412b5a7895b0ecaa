"""What a file contains, in a few bytes: enough to recognize it, a longer or shorter version of it, and a packed one.

A file is equal to another if its size and a checksum of both ends are equal. Digests of its first lines show whether it
begins like another: each covers everything from the start of the file to the end of a line. The same lines of every
file have a digest, so that digests of two files are comparable one by one. All of this is of the decompressed content.
Size and checksum of a compressed file are kept as stored, too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from typing import BinaryIO

from ggfmt.commit.store import FAILURES
from ggfmt.dataclasses import dataclass, field, replace
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.format import AVRO_MAGIC
from ggfmt.lazy import lazy_regex
from ggfmt.reading.files import InputFile, open_input, read_ends, unreadable

END_BYTES = 64 << 10  # at each end of a file, for its checksum
MAX_HEAD_BYTES = 4 << 20  # in which the first line end is looked for
DIGEST_DIGITS = 10  # of one line
_DENSE_LINES = 32  # each has a digest
_BLOCK_BYTES = 1 << 20
_WORD = lazy_regex(rb"[0-9A-Za-z\x80-\xff]")
# GoldenGate begins each JSON file with such records: equal ones do not show that operations are equal.
_METADATA = b'"OBJECT_METADATA"'

Ends = tuple[int, str]  # a size, and the checksum of both ends of so many bytes


def _marked_lines() -> frozenset[int]:
    numbers, number = set(range(_DENSE_LINES)), float(_DENSE_LINES)
    while number < END_BYTES:
        numbers.add(int(number))
        number *= 1.5
    return frozenset(numbers)


_MARKED = _marked_lines()


@dataclass(frozen=True, slots=True)
class Line:
    """A line with a digest of the file up to its end. `operation`: it may be one, as it is no blank and no metadata."""

    end: int
    digest: str
    operation: bool


@dataclass(frozen=True)
class Content:
    """What one look at a file shows.

    `stored`: size and checksum as stored. `whole`: the same of the decompressed content; None for a compressed file
    until `measure`. `lines`: digests of the first lines. `open_end`: the last of them has no line end. `header`: where
    the first block of an Avro container begins. `blank`: there is no word in the file. `damaged`: why its first bytes
    cannot be decompressed.
    """

    stored: Ends
    whole: Ends | None
    lines: tuple[Line, ...] = ()
    open_end: bool = False
    header: int = 0
    blank: bool = False
    only_metadata: bool = False
    damaged: Exception | None = field(default=None, compare=False)

    @property
    def digests(self) -> str:
        return "".join(line.digest for line in self.lines)

    def shared(self, digests: str) -> tuple[Line, ...]:
        count = 0
        for line in self.lines:
            if digests[count * DIGEST_DIGITS : (count + 1) * DIGEST_DIGITS] != line.digest:
                break
            count += 1
        return self.lines[:count]

    def first_operation(self, start: int) -> int:
        """Return the number of the first line behind `start` that may be an operation, or of the last line."""
        for number, line in enumerate(self.lines):
            if line.operation and line.end > start:
                return number
        return max(0, len(self.lines) - 1)


def examine(file: InputFile) -> Content | Diagnostic:
    """Look at both ends of a file; the diagnostic if it cannot be read."""
    try:
        ends = read_ends(file, END_BYTES)
        stored = file.size, checksum(ends)
        if file.compression is None:
            head, complete = ends[: min(END_BYTES, file.size)], file.size <= END_BYTES
            if not complete and (b"\n" not in head or head.startswith(AVRO_MAGIC)):
                with open_input(file) as stream:
                    head, complete = _head(stream)
            return _content(stored, stored, head, complete)
    except FAILURES as error:
        return unreadable(file.shown, error)
    try:
        with open_input(file) as stream:
            head, complete = _head(stream)
    except FAILURES as error:
        return Content(stored, None, damaged=error)
    whole = (len(head), _checksum_of(head[:END_BYTES], head, len(head), END_BYTES)) if complete else None
    return _content(stored, whole, head, complete)


def measure(file: InputFile, content: Content) -> Content:
    """Return the content with `whole`, for which a compressed file is decompressed. One of `FAILURES`."""
    if content.whole is not None:
        return content
    size, digest = digests_at(file, ())[1]
    return replace(content, whole=(size, digest))


def digests_at(file: InputFile, sizes: Collection[int], end_bytes: int = END_BYTES) -> tuple[dict[int, str], Ends]:
    """Return the checksums of the first `sizes` bytes of a decompressed file, where it has so many, over `end_bytes` at
    both ends; and size and checksum of all of a compressed file. One of `FAILURES` if it cannot be read."""
    if file.compression is None:
        found = {}
        with open_input(file) as stream:
            for size in sizes:
                if size <= file.size:
                    stream.seek(0)
                    ends = stream.read(min(end_bytes, size))
                    if size > end_bytes:  # stores refuse to seek behind the end
                        stream.seek(max(end_bytes, size - end_bytes))
                        ends += stream.read(size - stream.tell())
                    found[size] = checksum(ends)
        return found, (file.size, "")
    found, left, place, head, last = {}, sorted(sizes), 0, b"", b""
    with open_input(file) as stream:
        while True:
            block = stream.read(_BLOCK_BYTES)
            head += block[: end_bytes - len(head)]
            while left and left[0] <= place + len(block):
                size = left.pop(0)
                found[size] = _checksum_of(head, (last + block)[: len(last) + size - place], size, end_bytes)
            if not block:
                return found, (place, _checksum_of(head, last, place, end_bytes))
            place += len(block)
            last = (last + block)[-end_bytes:]


def _checksum_of(head: bytes, last: bytes, size: int, end_bytes: int) -> str:
    behind = min(max(0, size - end_bytes), end_bytes)
    return checksum(head[:size] + (last[-behind:] if behind else b""))


def checksum(ends: bytes) -> str:
    return hashlib.sha256(ends).hexdigest()[:32]


def _head(stream: BinaryIO) -> tuple[bytes, bool]:
    """Return the first bytes of a file, at least a line and an Avro header, and whether they are all."""
    head = b""
    while len(head) <= (limit := _limit(head)):
        more = stream.read(END_BYTES + 1 - len(head) if len(head) <= END_BYTES else _BLOCK_BYTES)
        if not more:
            return head, True
        head += more
    return head[:limit], False


def _limit(head: bytes) -> int:
    from ggfmt.formats.avro.containers import find_first_block

    header = find_first_block(head)
    if header is not None:
        return min(header + END_BYTES, MAX_HEAD_BYTES)
    line_end = head.find(b"\n")
    if line_end < 0:
        return END_BYTES if len(head) <= END_BYTES else MAX_HEAD_BYTES
    return max(END_BYTES, min(line_end + 1, MAX_HEAD_BYTES))


def _content(stored: Ends, whole: Ends | None, head: bytes, complete: bool) -> Content:
    from ggfmt.formats.avro.containers import find_first_block

    lines, every = _lines(head, complete)
    header = find_first_block(head) or 0
    return Content(
        stored,
        whole,
        lines,
        complete and not head.endswith(b"\n") and bool(head),
        min(header, len(head)),
        complete and _WORD.search(head, header) is None,
        complete and every and not any(line.operation for line in lines),
    )


def _lines(head: bytes, complete: bool) -> tuple[tuple[Line, ...], bool]:
    """Return the lines of the first bytes that get a digest, and whether these are all lines."""
    found: list[Line] = []
    running, hashed, start, number, every = hashlib.blake2b(digest_size=DIGEST_DIGITS // 2), 0, 0, 0, True
    while start < len(head):
        end = head.find(b"\n", start)
        if end < 0:
            if not complete:
                break
            end = len(head)
        if number in _MARKED:
            line = head[start:end]
            text = end - 1 if line.endswith(b"\r") else end
            running.update(head[hashed:text])
            hashed = text
            operation = _WORD.search(line) is not None and _METADATA not in line
            found.append(Line(end, running.hexdigest(), operation))
        else:
            every = False
        start, number = end + 1, number + 1
    return tuple(found), every
