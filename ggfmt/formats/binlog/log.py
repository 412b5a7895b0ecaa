"""Binary logs as files: the events of committed transactions in chunks, and what is wrong with others.

A transaction is held until its end, because a log also has transactions that are rolled back, or prepared for a later
`XA COMMIT`. Events of long transactions are in a temporary file until then.
"""

from __future__ import annotations

import pickle
import sys
import tempfile
from array import array
from collections.abc import Iterable, Iterator, Sequence
from struct import Struct
from typing import BinaryIO, NamedTuple

from ggfmt.dataclasses import replace
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.reading import HEAD_OF_LONG, Chunk, KafkaEnvelopes, Layout, Source, record_size_error
from ggfmt.formats.binlog import MAGIC, events
from ggfmt.formats.binlog.events import CHECKSUM_BYTES, HEADER_BYTES, EventError, Step
from ggfmt.formats.binlog.events import EventKind as K
from ggfmt.kernels import kernel

CHECKED, UNCHECKED = "events with checksums", "events"  # envelopes of layouts
CHUNK_BYTES = 1 << 20
_HELD_BYTES = 32 << 20  # of a transaction in memory
_OF_ROWS = frozenset({*events.ROWS, K.TABLE_MAP, K.ANNOTATE_ROWS, K.ROWS_QUERY, K.PARTIAL_UPDATE_ROWS})
_size_at = Struct("<I").unpack_from
_AGAIN = "copy the log again, for example with `mysqlbinlog --raw`"


class LogEvent(NamedTuple):
    """An event, and its offset in the file. `outer`: the compressed transaction at this offset that has the event."""

    data: bytes
    offset: int
    is_checked: bool
    outer: bytes | None = None

    @property
    def end(self) -> int:
        """The end of what the event has itself, without a checksum."""
        return len(self.data) - CHECKSUM_BYTES * self.is_checked


class _Held:
    """The events of a transaction."""

    def __init__(self) -> None:
        self._recent: list[LogEvent] = []
        self._bytes = 0
        self._spilled = array("q")  # the place of each event in the file
        self._file: BinaryIO | None = None
        self._savepoints: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._spilled) + len(self._recent)

    def add(self, event: LogEvent) -> None:
        self._recent.append(event)
        self._bytes += len(event.data)
        if self._bytes > _HELD_BYTES:
            self._spill()

    def _spill(self) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115
        for event in self._recent:
            self._spilled.append(self._file.tell())
            pickle.dump(tuple(event), self._file)
        self._recent, self._bytes = [], 0

    def set_savepoint(self, name: str) -> None:
        self._savepoints[name] = len(self)

    def roll_back_to(self, name: str) -> bool:
        """Drop the events since a savepoint; False if it is unknown."""
        count = self._savepoints.get(name)
        if count is None:
            return False
        if self._file is not None and count < len(self._spilled):
            self._file.seek(self._spilled[count])
            self._file.truncate()
            del self._spilled[count:]
        del self._recent[count - len(self._spilled) :]
        return True

    def take(self) -> Iterator[LogEvent]:
        """Yield all events, once."""
        if self._file is not None:
            with self._file:
                self._file.seek(0)
                for _ in self._spilled:
                    yield LogEvent(*pickle.load(self._file))
        yield from self._recent


class _Log(Source):
    """The events of a file."""

    is_checked = True
    is_between = True  # no transaction is open where the next event is

    def events(self) -> Iterator[LogEvent | list[LogEvent] | Chunk]:
        """Yield the events, and chunks with problems. A list has committed transactions, with their bytes as one event.
        Nothing follows where it is unknown how long an event is."""
        while not self.ended and len(self.buffer) < len(MAGIC):
            self.grow()
        if not self.buffer.startswith(MAGIC):
            if self.buffer:
                yield self._rest("the file does not start like a binary log", None)
            return
        place = 0
        while True:
            if self.is_between and (end := self._end_of_commits(place)) > place:
                yield [LogEvent(self.buffer[place:end], self.offset + place, self.is_checked)]
                place = end
            if self.buffer.startswith(MAGIC, place) and self._is_start(place):
                place += len(MAGIC)
            if len(self.buffer) - place < HEADER_BYTES:
                size = HEADER_BYTES
            else:
                size = _size_at(self.buffer, place + 9)[0]
                if size < HEADER_BYTES + CHECKSUM_BYTES * self.is_checked:
                    self.drop(place)
                    yield self._rest(f"an event cannot have {size} bytes")
                    return
            if place + size <= len(self.buffer) and size <= self.limit and len(self.buffer) - place >= HEADER_BYTES:
                made = self._event(self.buffer[place : place + size], self.offset + place)
                yield made
                place += size
                if isinstance(made, Chunk) and events.unpack_header(made.data)[4] != (self.offset + place) & 0xFFFFFFFF:
                    self.drop(place)  # the size is not sure, because the event has another place as its end
                    if not self.buffer:  # the event ends where the buffer does
                        self.grow()
                    yield from [self._rest("it is unknown where the next event starts")] if self.buffer else []
                    return
                continue
            self.drop(place)
            place = 0
            if size > self.limit:
                yield self._pass(size, record_size_error(size, self.limit))
                continue
            if not self.ended:
                self.grow()
                continue
            if self.buffer:
                yield self._problem(self.buffer, self.offset, "the last event has no end", "GG302")
            return

    def _end_of_commits(self, place: int) -> int:
        """Return the end of the plain transactions at a place of the buffer, which a kernel finds."""
        given = self.buffer, place, place + CHUNK_BYTES, self.limit, self.is_checked
        return kernel(lambda native: int(native.binlog_commits(*given))) or place

    def _is_start(self, place: int) -> bool:
        """Return whether another log starts here: its first event describes the format."""
        return place == self.offset == 0 or self.buffer[place + 8 : place + 9] == bytes([K.FORMAT_DESCRIPTION])

    def _event(self, data: bytes, offset: int) -> LogEvent | Chunk:
        try:
            if data[4] == K.FORMAT_DESCRIPTION:
                self.is_checked = events.checksum_of_format(data) == 1
                if not events.is_checked(data) and self.is_checked:
                    raise EventError("the checksum of the event is wrong")
                return LogEvent(data, offset, True)
            if self.is_checked and not events.is_checked(data):
                raise EventError("the checksum of the event is wrong")
        except EventError as error:
            return self._problem(data, offset, str(error))
        return LogEvent(data, offset, self.is_checked)

    def _problem(self, data: bytes, offset: int, reason: str, code: str = "GG313", help: str | None = _AGAIN) -> Chunk:
        return Chunk(
            self.file, offset, data, self.layout, ((0, len(data)),), problem=Diagnostic(code, reason, help=help)
        )

    def _rest(self, reason: str, help: str | None = _AGAIN) -> Chunk:
        """Drop everything that follows, and return the chunk of it."""
        return self._pass(sys.maxsize, Diagnostic("GG313", reason, help=help))

    def _pass(self, size: int, problem: Diagnostic) -> Chunk:
        """Drop so many bytes, or all that follow if they are less, and return the chunk of them."""
        while not self.ended and len(self.buffer) < HEAD_OF_LONG:  # the same head, however the file is read
            self._read(CHUNK_BYTES)
        start, head = self.offset, self.head()
        while self.buffer and self.offset - start < size:
            self.drop(min(size - (self.offset - start), len(self.buffer)))
            if not self.buffer:
                self._read(CHUNK_BYTES)
        return Chunk(self.file, start, head, self.layout, ((0, len(head)),), problem=problem)


class _Transactions:
    """Divides the events of a log into transactions."""

    def __init__(self, log: _Log) -> None:
        self._log = log
        self._open: _Held | None = None
        self._prepared: dict[str, _Held] = {}
        self._gtid: list[LogEvent] = []  # the start of the transaction that follows

    def run(self) -> Iterator[Iterable[LogEvent] | Chunk]:
        """Yield the events of each transaction that is committed, all others as they are, and problems."""
        for event in self._log.events():
            if not isinstance(event, LogEvent):
                yield event
                continue
            kind = event.data[4]
            if self._open is not None and kind in _OF_ROWS:
                self._open.add(event)
            elif kind == K.TRANSACTION_PAYLOAD:
                yield from self._packed(event)
            else:
                yield from self._take(event, kind)
            self._log.is_between = self._open is None and not self._gtid
        if self._open is not None:
            yield self._cut(self._open, "the last transaction has no end, and ggfmt leaves it out")
        for name, held in self._prepared.items():
            yield self._cut(held, f"the XA transaction {name[:100]} is prepared, and the file does not have its end")

    def _packed(self, event: LogEvent) -> Iterator[Iterable[LogEvent] | Chunk]:
        try:
            inner = events.events_of_payload(event.data, event.end, self._log.limit)
        except EventError as error:
            yield self._log._problem(event.data, event.offset, str(error), help=None)
            return
        for data in inner:
            yield from self._take(LogEvent(data, event.offset, False, event.data), data[4])

    def _cut(self, held: _Held, reason: str) -> Chunk:
        event = next(held.take())
        help = "read the log again when it is complete; an XA transaction that another log ends cannot be read"
        return self._log._problem(event.data, event.offset, reason, "GG302", help)

    def _take(self, event: LogEvent, kind: int) -> Sequence[Iterable[LogEvent] | Chunk]:
        """Take the next event, and return what is known to count with it."""
        try:
            if kind in events.GTIDS:
                cut = self._without_end(0)
                self._gtid = [event]
                if not events.is_alone(event.data, event.end):
                    self._open = self._begin()
                return cut
            step = events.step_of(event.data, event.end)
        except EventError as error:
            return (self._log._problem(event.data, event.offset, str(error), help=None),)
        if step is not None:
            return self._end(step, event)
        if kind == K.FORMAT_DESCRIPTION:
            return (*self._without_end(0), (event,))
        if kind in _OF_ROWS:
            self._open = self._begin()
        if self._open is not None:
            self._open.add(event)
            return ()
        before, self._gtid = self._gtid, []
        return ((*before, event),)

    def _without_end(self, most: int) -> Sequence[Chunk]:
        """Return the problem that the open transaction has no end if it has more than `most` events."""
        if self._open is None or len(self._open) <= most:
            return ()
        held, self._open = self._open, None
        return (self._cut(held, "a transaction has no end, and ggfmt leaves it out"),)

    def _begin(self) -> _Held:
        held = _Held() if self._open is None else self._open
        for event in self._gtid:
            held.add(event)
        self._gtid = []
        return held

    def _end(self, step: Step, event: LogEvent) -> Sequence[Iterable[LogEvent] | Chunk]:
        word, name = step
        if word in ("BEGIN", "SAVEPOINT"):
            cut = self._without_end(1) if word == "BEGIN" else ()  # MariaDB's identifier has started it
            self._open = self._begin()
            self._open.add(event)
            self._open.set_savepoint(name)
            return cut
        if word == "ROLLBACK TO":
            if self._open is not None and self._open.roll_back_to(name):
                return ()
            return (self._log._problem(event.data, event.offset, "the savepoint is unknown", "GG305", None),)
        held, self._open = self._open, None
        before, self._gtid = self._gtid, []
        if word == "PREPARE":
            self._prepared[name] = _Held() if held is None else held
            return ()
        if word in ("XA COMMIT", "XA ROLLBACK"):  # what is open has the identifier of this statement, and no rows
            held = self._prepared.pop(name, None)
            if held is None:
                reason = f"the XA transaction {name[:100]} was prepared in another log"
                help = "join both logs in a single file, and read that"
                return (self._log._problem(event.data, event.offset, reason, "GG305", help),)
        end = (*before, event)
        return (end,) if held is None or word.endswith("ROLLBACK") else (held.take(), end)


def chunks(stream: BinaryIO, file: str, layout: Layout) -> Iterator[Chunk]:
    """Yield the events of a log, about `CHUNK_BYTES` at a time, and each problem as a chunk of its own."""
    run: list[LogEvent] = []
    size = end = 0
    for found in _Transactions(_Log(stream, file, layout, CHUNK_BYTES)).run():
        for event in () if isinstance(found, Chunk) else found:
            if run and (size >= CHUNK_BYTES or not _follows(run[-1], event, end)):
                yield _chunk(file, layout, run)
                run, size = [], 0
            run.append(event)
            size += len(event.data)
            end = event.offset + len(event.data)
        if isinstance(found, Chunk):
            if run:
                yield _chunk(file, layout, run)
            run, size = [], 0
            yield found
    if run:
        yield _chunk(file, layout, run)


def _follows(last: LogEvent, event: LogEvent, end: int) -> bool:
    if event.outer is None and event.offset == end:
        return last.outer is None and event.is_checked == last.is_checked
    return event.outer is not None and event.offset == last.offset and event.is_checked == last.is_checked


def _chunk(file: str, layout: Layout, run: Sequence[LogEvent]) -> Chunk:
    first = run[0]
    layout = replace(layout, envelope=CHECKED if first.is_checked else UNCHECKED)
    chunk = Chunk(file, first.offset, b"".join(event.data for event in run), layout)
    if first.outer is None:
        return chunk
    return replace(chunk, wrapped=KafkaEnvelopes(replace(chunk, data=first.outer), None, {}))
