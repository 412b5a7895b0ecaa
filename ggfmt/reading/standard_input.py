"""Standard input and topics as inputs like any other: kept in files for as long as the command runs, since a run reads
its input in parts, and more than once.

The files are in a directory of this user alone, which goes with the command, or with the next one if this is killed.
"""

from __future__ import annotations

import io
import logging
import select
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, cast

from ggfmt import signals
from ggfmt.dataclasses import dataclass, field, replace
from ggfmt.diagnostics.diagnostic import Abend, UsageError
from ggfmt.formats.api.reading import STANDARD_INPUT
from ggfmt.kafka import is_kafka
from ggfmt.location import Location
from ggfmt.reading.files import BUFFER_BYTES, Compression, InputFile, stat_file, unreadable

ARGUMENT = "-"  # a file of this name is `./-`

_PACKED: dict[bytes, Compression] = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\xfd7zXZ\0": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}
_BLOCK_BYTES = 1 << 20
DRY_RUN_MESSAGES = 1000  # of each partition

log = logging.getLogger("ggfmt")


def check_standard_input(inputs: Sequence[str], checkpoint: str | None = None) -> None:
    if inputs.count(ARGUMENT) > 1:
        message, help = "`-` is given twice, but standard input can be read only once", "remove one of them"
    elif ARGUMENT in inputs and checkpoint is not None:
        message = "`--checkpoint` remembers files, but standard input is not a file"
        help = "leave out `--checkpoint`, or write the input to a file"
    else:
        return
    raise UsageError("GG518", message, STANDARD_INPUT, help)


@dataclass
class Spool:
    """Inputs that can be read only once or only here, in files for as long as `held` is open.

    lazy     only the start of an input may be needed: its file grows as it is read, and its size is unknown
    staging  the directory to keep files below; None for one of temporary files
    """

    held: ExitStack
    lazy: bool = False
    staging: str | None = None
    _directory: Path | None = None

    def path(self, shown: str, name: str) -> Path:
        """Return the path of a new file."""
        if self._directory is None:
            from ggfmt.scratch import Scratch, remove_abandoned

            remove_abandoned(self.staging)
            try:
                with signals.deferred():  # until `held` deletes it
                    self._directory = self.held.enter_context(Scratch(parent=self.staging))
            except OSError as error:
                raise _cannot_keep(shown, self.staging, error) from None
        return self._directory / name

    def keep(self, source: Any, shown: str, path: Path, packed: bool = False) -> InputFile:
        """Return what `source` has as a file; `packed`: its first bytes may say that it is compressed."""
        try:
            file = self.held.enter_context(path.open("w+b", buffering=0))
        except OSError as error:
            raise _cannot_keep(shown, path.parent, error) from None
        kept = _SpooledInput(path, shown, file, source)
        packing = kept.packing if packed else None
        location = Location.of(str(path))
        if self.lazy:
            return InputFile(location, 0, shown, watched=False, packing=packing, opened=kept.open)
        kept.grow()
        file.close()
        return replace(stat_file(location, shown), packing=packing)

    def standard_input(self) -> InputFile:
        source: Any = None if sys.stdin is None else sys.stdin.buffer
        if source is None:
            help = "give a file, or pipe the output of a program: `... | ggfmt run -`"
            raise UsageError("GG518", "standard input is not available", STANDARD_INPUT, help)
        if sys.stdin.isatty():
            log.info("reading standard input; press Ctrl-D to end it")
        return self.keep(
            getattr(source, "raw", source), STANDARD_INPUT, self.path(STANDARD_INPUT, "stdin"), packed=True
        )


def append_bytes(path: Path, shown: str, data: bytes) -> None:
    """Append to a file for the input of a name. Raises: Abend GG518."""
    try:
        with path.open("ab") as file:
            file.write(data)
    except OSError as error:
        raise _cannot_keep(shown, path.parent, error) from None


def _cannot_keep(shown: str, directory: Path | str | None, error: OSError) -> Abend:
    help = "set TMPDIR to a directory with enough space for the whole input"
    place = "a temporary file" if directory is None else f"`{directory}`"
    what = "standard input" if shown == STANDARD_INPUT else "the topic"
    if shown != STANDARD_INPUT:
        help += ", or give one with `--staging`"
    return Abend("GG518", f"{what} cannot be stored in {place}: {error.strerror or error}", shown, help)


@dataclass
class _SpooledInput:
    """A file with the part of an input that was read so far. Raises: Abend if ggfmt cannot read or keep it."""

    path: Path
    shown: str
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
                raise _cannot_keep(self.shown, self.path.parent, error) from None
            self._size += len(data)

    def _read(self) -> bytes:
        try:
            while (data := self._source.read(_BLOCK_BYTES)) is None:  # a pipe that does not block
                select.select([self._source], [], [])
            return bytes(data)
        except OSError as error:
            raise Abend.of(unreadable(self.shown, error)) from None

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


@dataclass(frozen=True)
class TopicSettings:
    """How to read topics. `properties`: a file with properties of a client; `staging`: the directory for messages."""

    properties: str | None = None
    staging: str | None = None


NO_TOPIC_SETTINGS = TopicSettings()


def check_workers_reach(
    inputs: Sequence[str], cluster: str | None, topics: TopicSettings, output: str | None = None
) -> None:
    """Raises: UsageError GG518 or GG519 if other machines, of a cluster by this name, would need the messages that this
    one keeps, or would keep those that it sends."""
    if cluster is None or topics.staging is not None:
        return
    help = "give `--staging DIR`, a directory that this machine and all workers reach"
    if any(map(is_kafka, inputs)):
        message = f"the workers of `{cluster}` cannot read the messages that this machine takes from Kafka"
        raise UsageError("GG518", message, help=help)
    if output is not None and is_kafka(output):
        message = f"the workers of `{cluster}` have no common place for messages that wait to be sent to Kafka"
        raise UsageError("GG519", message, help=help)


Offsets = tuple[int, int]  # of one partition: the first, and the one after the last


@dataclass
class SpooledInputs:
    """Inputs that are not files, as files: topics, and `-` unless `standard_input` is False.

    lazy   files grow as they are read
    limit  number of messages of each partition to read
    ends   where earlier runs have ended, by the name of a partition
    begun  the ranges of an interrupted run, which are read again, and no others
    marks  by what their partitions are known again; None without a checkpoint
    taken  partitions that are inputs already
    """

    held: ExitStack
    topics: TopicSettings = NO_TOPIC_SETTINGS
    lazy: bool = False
    standard_input: bool = True
    limit: int | None = None
    ends: Mapping[str, int] = field(default_factory=dict)
    begun: Mapping[str, Offsets] | None = None
    marks: Mapping[str, str] | None = None
    taken: set[tuple[str, str]] = field(default_factory=set)

    def takes(self, given: str) -> bool:
        return is_kafka(given) or (self.standard_input and given == ARGUMENT)
