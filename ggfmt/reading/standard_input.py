"""Standard input as an input like any other: kept in a file for as long as the command runs, since a run reads its
input in parts, and more than once.

The file is in a directory of this user alone, which goes with the command, or with the next one if this is killed.
"""

from __future__ import annotations

import io
import logging
import select
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, cast

from ggfmt import signals
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic, Span, UsageError
from ggfmt.location import Location
from ggfmt.reading.files import BUFFER_BYTES, Compression, InputFile, stat_file, unreadable
from ggfmt.scratch import Scratch, remove_abandoned

ARGUMENT = "-"  # a file of this name is `./-`
SHOWN = "<stdin>"

_PACKED: dict[bytes, Compression] = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\xfd7zXZ\0": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}
_BLOCK_BYTES = 1 << 20

log = logging.getLogger("ggfmt")


def check_standard_input(inputs: Sequence[str], checkpoint: str | None = None) -> None:
    if inputs.count(ARGUMENT) > 1:
        message, help = "`-` is given twice, but standard input can be read only once", "remove one of them"
    elif ARGUMENT in inputs and checkpoint is not None:
        message = "`--checkpoint` remembers files, but standard input is not a file"
        help = "leave out `--checkpoint`, or write the input to a file"
    else:
        return
    raise UsageError(Diagnostic("GG518", message, Span(file=SHOWN), help))


def spooled_standard_input(held: ExitStack) -> Callable[[], InputFile]:
    """Return a function that reads standard input to its end into a file; `held` deletes the file."""

    def read() -> InputFile:
        kept = _kept(held)
        kept.grow()
        return replace(stat_file(Location.of(str(kept.path)), SHOWN), packing=kept.packing)

    return read


def lazy_standard_input(held: ExitStack) -> Callable[[], InputFile]:
    """Return the same for a command that may need only the start of the input; the size of the file is unknown."""

    def read() -> InputFile:
        kept = _kept(held)
        return InputFile(Location.of(str(kept.path)), 0, SHOWN, watched=False, packing=kept.packing, opened=kept.open)

    return read


def _kept(held: ExitStack) -> _SpooledInput:
    source: Any = None if sys.stdin is None else sys.stdin.buffer
    if source is None:
        help = "give a file, or pipe the output of a program: `... | ggfmt run -`"
        raise UsageError(Diagnostic("GG518", "standard input is not available", Span(file=SHOWN), help))
    if sys.stdin.isatty():
        log.info("reading standard input; press Ctrl-D to end it")
    remove_abandoned()
    try:
        with signals.deferred():  # until `held` deletes it
            directory = held.enter_context(Scratch())
        path = directory / "stdin"
        file = held.enter_context(path.open("w+b", buffering=0))
        return _SpooledInput(path, file, getattr(source, "raw", source))
    except OSError as error:
        raise _cannot_keep(None, error) from None


def _cannot_keep(path: Path | None, error: OSError) -> Abend:
    help = "set TMPDIR to a directory with enough space for the whole input"
    place = "a temporary file" if path is None else f"`{path.parent}`"
    message = f"standard input cannot be stored in {place}: {error.strerror or error}"
    return Abend(Diagnostic("GG518", message, Span(file=SHOWN), help))


@dataclass
class _SpooledInput:
    """A file with the part of standard input that was read so far. Abend if ggfmt cannot read or keep it."""

    path: Path
    _file: io.FileIO
    _source: Any
    _size: int = 0
    _ended: bool = False

    @property
    def packing(self) -> Compression | None:
        self.grow(max(map(len, _PACKED)))
        head = self.read_at(0, 8)
        return next((packing for mark, packing in _PACKED.items() if head.startswith(mark)), None)

    def grow(self, size: int | None = None) -> None:
        while not self._ended and (size is None or self._size < size):
            data = self._read()
            self._ended = not data
            try:
                self._file.seek(self._size)
                left = memoryview(data)
                while left:
                    left = left[self._file.write(left) or 0 :]
            except OSError as error:
                raise _cannot_keep(self.path, error) from None
            self._size += len(data)

    def _read(self) -> bytes:
        try:
            while (data := self._source.read(_BLOCK_BYTES)) is None:  # a pipe that does not block
                select.select([self._source], [], [])
            return bytes(data)
        except OSError as error:
            raise Abend(unreadable(SHOWN, error)) from None

    def read_at(self, place: int, size: int) -> bytes:
        self.grow(place + 1)
        self._file.seek(place)
        return self._file.read(size) or b""

    def open(self) -> BinaryIO:
        """Return the input from its start; a read waits for bytes that are not there yet."""
        return cast(BinaryIO, io.BufferedReader(_Growing(self), BUFFER_BYTES))


class _Growing(io.RawIOBase):
    def __init__(self, kept: _SpooledInput) -> None:
        self._kept = kept
        self._place = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._kept.read_at(self._place, len(buffer))
        buffer[: len(data)] = data
        self._place += len(data)
        return len(data)
