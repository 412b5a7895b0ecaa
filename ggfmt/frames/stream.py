"""The data source `ggfmt` as a stream over files that grow and directories that get new files.

The offset of a stream has, for each file, how far it was read and its number in `seq`, and the table definitions found
so far. So a range between two offsets is the same whenever it is read, and a batch that is repeated after a crash has
the same rows.
"""

from __future__ import annotations

import logging
import math
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from ggfmt.commit.store import FAILURES
from ggfmt.dataclasses import dataclass, field, replace
from ggfmt.diagnostics.diagnostic import Abend
from ggfmt.formats.api.format import Projection, WriterSettings
from ggfmt.formats.api.reading import Layout, Reader, Reject
from ggfmt.frames.batches import record_batches
from ggfmt.frames.offsets import DIGEST_DIGITS, FileProgress, ProgressCodec
from ggfmt.frames.plan import ReadPlan, Request, frame_error, merge_tables
from ggfmt.java.text import visible
from ggfmt.location import Location
from ggfmt.model.table import Catalog, TableDef
from ggfmt.reading.content import digests_at
from ggfmt.reading.discovery import find_definitions
from ggfmt.reading.files import InputFile, open_input, stat_file, unreadable_stops
from ggfmt.reading.listing import list_inputs
from ggfmt.reading.recognition import HEAD_BYTES, PlannedInput, reader_of
from ggfmt.reading.runner import InProcess
from ggfmt.reading.splits import Range, ReadJob, Split
from ggfmt.spark.features import STREAMS

try:
    from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow as _AvailableNow
except ImportError:  # before Spark 4.2, which has no such streams
    _AvailableNow = object  # type: ignore[assignment, misc]


if TYPE_CHECKING:
    import pyarrow as pa

SPLIT_BYTES = 32 << 20

Offset = dict[str, Any]

# Files that grow while a stream reads them: how far each has been read, and whether it is still the same. A file of
# lines counts up to its last line end: half a line may look like a whole one. A file of another layout or a compressed
# one counts once nothing has been written for `settle` seconds and it has its end; it may not grow afterwards. With
# `complete`, all of a file counts at once. A file is identified by its path, or by its inode if its path is gone,
# because logs are renamed. Its first bytes and those before the reached place must not change.

log = logging.getLogger("ggfmt")

END_BYTES = 4 << 10  # bytes at each end of the read part, for its checksum
_TAIL_BYTES = 1 << 20  # the last line end is searched in these bytes first, and then in more
_CUT = "GG301", "GG302", "GG313"  # the codes of a last record that is cut
_NO_END = "%s: the last line or record has no end yet, and waits for it; if all files are complete, set `complete`"
_CHANGED_HELP = "restore the file, or start the stream again with a new checkpoint; files may only grow, line by line"


@dataclass(frozen=True)
class FileFollower:
    """Inspects files for a stream. `settle`, `complete`: as of the request."""

    reader: type[Reader]
    source: WriterSettings
    catalog: Catalog
    max_record: int
    settle: float
    complete: bool
    seen: dict[str, tuple[object, ...]] = field(default_factory=dict)  # the state of files at their last inspection
    without_end: dict[str, tuple[object, ...]] = field(default_factory=dict)  # settled files that are not whole

    def poll(self, files: Sequence[InputFile], before: Mapping[str, FileProgress]) -> dict[str, FileProgress]:
        """Return how far files can be read now, with all read before. Raises: Abend GG533 for a replaced file."""
        renamed = _renamed(files, before)
        after = {path: known for path, known in before.items() if path not in renamed.values()}
        number = max((known.number for known in before.values()), default=-1)
        for file in files:
            path = file.location.address
            known = before[renamed[path]] if path in renamed else after.get(path)
            if known is not None and path not in renamed and self.seen.get(path) != _state(file):
                check(file, known)
            if known is None:
                end, closed = self._end(file, None)
                if end:
                    number += 1
                    after[path] = FileProgress(number, end, closed, digest(file, end), file.inode)
            elif path in renamed or known.end != file.size:  # nothing can be new in the others, which are many
                end, closed = self._end(file, known)
                moved = end > known.end or closed
                after[path] = replace(known, end=end, closed=closed, digest=digest(file, end)) if moved else known
            self.seen[path] = _state(file)
        return after

    def limited(
        self,
        before: Mapping[str, FileProgress],
        after: Mapping[str, FileProgress],
        max_files: int | None,
        max_bytes: int | None,
    ) -> dict[str, FileProgress]:
        """Return how far a batch reads of what is new between two states: files by their numbers, a part of the last
        one. It reads something if there is anything new."""
        read = {known.number: known for known in before.values()}
        bytes_left = math.inf if max_bytes is None else max_bytes
        files_left = math.inf if max_files is None else max_files
        found = {}
        for path, known in sorted(after.items(), key=lambda item: item[1].number):
            start = read.get(known.number)
            place = 0 if start is None else start.end
            if known.end == place:
                found[path] = known
                continue
            if files_left and bytes_left:
                part = self._part(path, known, place, bytes_left)
                size = part.end - place
                if size <= bytes_left or bytes_left == max_bytes:  # at least something
                    found[path] = part
                    files_left, bytes_left = files_left - 1, max(0, bytes_left - size)
                    continue
                bytes_left = 0
            if start is not None:
                found[path] = start
        return found

    def _part(self, path: str, known: FileProgress, place: int, size: float) -> FileProgress:
        """Return the progress of a file after `size` more bytes at most, or after a line; of one without lines, all."""
        file = _at(path, known)
        if known.end - place <= size or file is None or file.compression is not None:
            return known
        layout = self.layout(file, known.end)
        if not layout.splittable:
            return known
        delimiter = layout.delimiter or b"\n"
        step = int(size)
        end = place
        while end == place and place + step < known.end:  # a longer line comes as a whole
            end = _last_line_end(replace(file, size=place + step), place, delimiter)
            step *= 4
        if end == place:
            return known
        return replace(known, end=end, closed=False, digest=digest(file, end))

    def _end(self, file: InputFile, known: FileProgress | None) -> tuple[int, bool]:
        if known is not None and known.closed:
            return known.end, False
        settled = file.modified is None or time.time_ns() - file.modified >= self.settle * 1_000_000_000
        start = 0 if known is None else known.end
        layout = self.layout(file, file.size) if file.compression is None and file.size else None
        if layout is not None and layout.splittable:
            end = _last_line_end(file, start, layout.delimiter or b"\n")
            if end == file.size or not self.complete:
                if end < file.size and settled:
                    self._wait(file)
                return end, False
        if self.complete:
            return file.size, True
        if settled and self.without_end.get(file.location.address) != _state(file):
            if self._has_end(file, layout):
                return file.size, True
            self._wait(file)
        return start, False

    def _has_end(self, file: InputFile, layout: Layout | None) -> bool:
        """Return whether a file that is not read by lines can be complete: a compressed one has all of its data, and
        the last record its end. `layout` None: it is compressed."""
        try:
            with open_input(file) as stream:
                if layout is None:
                    while stream.read(_TAIL_BYTES):
                        pass
                    return True
                last = deque(self.reader.chunks(stream, file.shown, 0, None, layout), 1)
                stream.seek(max(0, file.size - END_BYTES))
                tail = stream.read(END_BYTES)
        except FAILURES:
            return layout is not None  # a plain file has the error again when it is read
        if layout.record_end or layout.array:
            return tail.endswith(layout.record_end) if layout.record_end else tail.rstrip().endswith(b"]")
        reader = self.reader(self.catalog, Projection(), self.source)
        events = deque((event for chunk in last for event in reader.read(chunk)), 1)
        return not any(isinstance(event, Reject) and event.diagnostic.code in _CUT for event in events)

    def _wait(self, file: InputFile) -> None:
        """Warn of a file that has no end although nothing is written to it, once for each state of the file."""
        if self.without_end.get(file.location.address) != _state(file):
            self.without_end[file.location.address] = _state(file)
            log.warning(_NO_END, visible(file.shown))

    def layout(self, file: InputFile, size: int) -> Layout:
        with unreadable_stops(file.shown), open_input(file) as stream:
            head = stream.read(min(size, HEAD_BYTES) if file.compression is None else HEAD_BYTES)
        layout = self.reader.layout(head, len(head) < HEAD_BYTES, self.source)
        return replace(layout, keys=file.keys, max_record=self.max_record)

    def ranges(
        self,
        start: Mapping[str, FileProgress],
        end: Mapping[str, FileProgress],
        size: int,
        listed: Callable[[], Sequence[InputFile]] = list,
    ) -> list[Range]:
        """Return the ranges between two offsets, by the files' numbers, of at most `size` bytes where a file can be
        split. A file that was moved is searched among `listed`. Raises: Abend GG533 if a file has disappeared."""
        files: Sequence[InputFile] | None = None
        ranges = []
        read = {known.number: known.end for known in start.values()}
        for path, known in sorted(end.items(), key=lambda item: item[1].number):
            place = read.get(known.number, 0)
            if place >= known.end:
                continue
            file = _at(path, known)
            if file is None:
                files = listed() if files is None else files
                file = _elsewhere(path, known, files)
            file = replace(file, watched=False)  # it may grow further
            item = PlannedInput(file, known.number, self.layout(file, known.end))
            if file.compression is not None or not item.layout.splittable:
                ranges.append(Range(item, 0, None))
                continue
            while place < known.end:
                ranges.append(Range(item, place, min(size, known.end - place)))
                place += size
        return ranges


def _state(file: InputFile) -> tuple[object, ...]:
    return file.size, file.modified, file.inode


def _renamed(files: Sequence[InputFile], before: Mapping[str, FileProgress]) -> dict[str, str]:
    by_inode: dict[int | None, str] = {known.inode: path for path, known in before.items() if known.inode is not None}
    return {
        now: path
        for file in files
        if (path := by_inode.get(file.inode, now := file.location.address)) != now
        and is_other(file, before[path]) is None
    }


def _at(path: str, known: FileProgress) -> InputFile | None:
    """Return the file at a path; None if it is not the file that the stream has read, possibly longer."""
    file = _stat(path)
    return file if file is not None and is_other(file, known) is None else None


def _stat(path: str) -> InputFile | None:
    with unreadable_stops(path), suppress(FileNotFoundError):
        return stat_file(Location.of(path), path)
    return None


def _elsewhere(path: str, known: FileProgress, files: Sequence[InputFile]) -> InputFile:
    """Return a moved file, by its inode or its content; its rows keep the old name. Raises: Abend GG533."""
    by_inode = [file for file in files if file.inode is not None and file.inode == known.inode]
    for file in (*by_inode, *files):
        if file.location.address != path and is_other(file, known) is None:
            log.info(
                "`%s` was renamed to `%s`; the stream continues with the new name", visible(path), visible(file.shown)
            )
            return replace(file, shown=path)
    file = stat_input(path)
    check(file, known)
    return file


def check(file: InputFile, known: FileProgress) -> None:
    problem = is_other(file, known)
    if problem is not None:
        raise Abend("GG533", problem, file.shown, _CHANGED_HELP)


def is_other(file: InputFile, known: FileProgress) -> str | None:
    """Return why a file is not the one that the stream has read, possibly longer; None if it is."""
    if file.size < known.end:
        return f"the file had {known.end} bytes when the stream read it, and has {file.size} now"
    if known.closed and file.size != known.end:
        return f"the file was complete with {known.end} bytes when the stream read it, and has {file.size} now"
    if digest(file, known.end) != known.digest:
        return "the file has other bytes than when the stream read it: another file replaced it"
    return None


def digest(file: InputFile, end: int) -> str:
    with unreadable_stops(file.shown):
        return digests_at(replace(file, packed=False), [end], END_BYTES)[0][end][:DIGEST_DIGITS]


def stat_input(path: str) -> InputFile:
    file = _stat(path)
    if file is None:
        raise Abend("GG533", "the file was removed before the stream had read it completely", path, _CHANGED_HELP)
    return file


def _last_line_end(file: InputFile, start: int, delimiter: bytes) -> int:
    """Return the place after the last line of a file; `start` if no line ends after it."""
    back = _TAIL_BYTES
    with unreadable_stops(file.shown), open_input(file) as stream:
        while True:
            begin = max(start, file.size - back)
            stream.seek(begin)
            place = stream.read(file.size - begin).rfind(delimiter)
            if place >= 0:
                return begin + place + len(delimiter)
            if begin == start:
                return start
            back *= 4


@dataclass
class StreamPart(InputPartition):
    """What one task reads, the definitions that apply there, and the expected state of its files, by number."""

    job: ReadJob
    split: Split
    files: Mapping[int, FileProgress]


class FrameStream(DataSourceStreamReader, _AvailableNow):
    """Reads a request as data arrive; `plan` is of the files at the start of the stream."""

    def __init__(self, request: Request, plan: ReadPlan) -> None:
        self._request = request
        self._size = request.split_size or SPLIT_BYTES
        self._job = plan.job
        self._wanted = plan.wanted
        source = plan.job.source
        reader = reader_of(plan.job.input_format, source)
        self._growth = FileFollower(
            reader, source, plan.job.catalog, request.max_record, request.settle, request.complete
        )
        self._codec = ProgressCodec()
        self._is_bounded = False
        self._target: dict[str, FileProgress] | None = None

    def initialOffset(self) -> Offset:
        tables = [*self._job.catalog.current.values(), *(event.table for event in self._job.events)]
        return self._offset({}, {table.full_name: table for table in tables} if not self._request.definitions else {})

    def prepareForTriggerAvailableNow(self) -> None:
        """Let the stream end with the files as they are now, or after the batch that a crash has left."""
        self._is_bounded, self._target = True, None

    def latestOffset(self, start: Offset | None = None, limit: object = None) -> Offset:
        if start is None:
            raise frame_error(
                "this version of Spark cannot read a stream of ggfmt", f"use Spark {STREAMS.need} or later"
            )
        before, request = self._files(start), self._request
        end = self._growth.poll(self._listed(), before) if self._target is None else self._target
        self._target = end if self._is_bounded else None
        if request.max_files is not None or request.max_bytes is not None:
            end = self._growth.limited(before, end, request.max_files, request.max_bytes)
        if end == before:
            return start
        ranges = self._ranges(before, end)
        tables = _tables(start)
        if ranges and self._request.runs_discovery:
            tables = self._discovered(ranges, tables)[1]
        return self._offset(end, tables)

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        files = self._files(end)
        ranges = self._ranges(self._files(start), files)
        job = self._job
        if ranges and self._request.runs_discovery:
            job = self._discovered(ranges, _tables(start))[0]
        known = {file.number: file for file in files.values()}
        return [
            StreamPart(job, Split(number, tuple(group)), {part.input.index: known[part.input.index] for part in group})
            for number, group in enumerate(self._groups(ranges))
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, StreamPart)
        yield from record_batches(partition.job, partition.split, self._wanted)
        for part in partition.split.ranges:  # Spark discards the rows of a task that fails at its end
            check(stat_input(part.input.file.location.address), partition.files[part.input.index])

    def _ranges(self, start: Mapping[str, FileProgress], end: Mapping[str, FileProgress]) -> list[Range]:
        return self._growth.ranges(start, end, self._size, self._listed)

    def _offset(self, files: Mapping[str, FileProgress], tables: Mapping[str, TableDef]) -> Offset:
        return {"files": self._codec.pack(files), "tables": msgspec.json.encode(list(tables.values())).decode()}

    def _files(self, offset: Offset) -> dict[str, FileProgress]:
        return self._codec.unpack(offset["files"])

    def _listed(self) -> list[InputFile]:
        return list_inputs(self._request.paths, allow_empty=True, growing=True)

    def _groups(self, ranges: Sequence[Range]) -> Iterator[list[Range]]:
        group: list[Range] = []
        for part in ranges:
            if group and sum(each.size for each in group) + part.size > self._size:
                yield group
                group = []
            group.append(part)
        if group:
            yield group

    def _discovered(
        self, ranges: Sequence[Range], before: Mapping[str, TableDef]
    ) -> tuple[ReadJob, dict[str, TableDef]]:
        """Return the job with the tables that ranges show in addition, and the definitions known after them."""
        job = self._job
        trusted = Catalog(job.catalog.trusted)
        shown = find_definitions(
            job.input_format, trusted, _Ranges(ranges), InProcess(), source=replace(job.source, facts={})
        )
        tables = dict(before)
        for table in shown.tables:
            known = tables.get(table.full_name)
            tables[table.full_name] = table if known is None else merge_tables([known, table])
        source = replace(job.source, facts=shown.facts)
        catalog = trusted.with_tables(tables.values())
        job = replace(job, catalog=catalog, events=shown.events, settled=True, source=source)
        return job, {**tables, **{event.table.full_name: event.table for event in shown.events}}


class _Ranges:
    """The ranges of a batch as splits. They cannot be split differently: what a batch reads is fixed."""

    def __init__(self, ranges: Sequence[Range]) -> None:
        self.all: Sequence[Split] = [Split(number, (part,)) for number, part in enumerate(ranges)]

    @property
    def sizes(self) -> list[int]:
        return [split.size for split in self.all]

    def read_whole(self, crossed: Collection[int]) -> None:
        raise frame_error(
            "a stream can only read records of one line",
            "read a file with longer records as a batch, when the file is complete",
        )


def _tables(offset: Offset) -> dict[str, TableDef]:
    tables = msgspec.json.decode(offset["tables"].encode(), type=list[TableDef])
    return {table.full_name: table for table in tables}
