"""Records divided by table before they are read.

Each pair of a table and a split costs a reader, a formatter and a staged file. If splits have many tables, and few
operations of each, a first pass writes the records of each split, sorted by bucket of tables, to a file in staging. The
second pass has one task for each bucket. It reads the records of the bucket in the order of the inputs, so that a table
comes together.
"""

from __future__ import annotations

import logging
import math
import threading
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from itertools import islice
from operator import add
from struct import Struct
from typing import Any
from zlib import crc32

import pyarrow as pa

from ggfmt.arrow import arrays
from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import from_buffers, int64_view, memory, non_null_values
from ggfmt.columnar.columns import int64s
from ggfmt.commit.names import counted
from ggfmt.commit.store import Store
from ggfmt.dataclasses import dataclass, replace
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic
from ggfmt.formats import FORMATS
from ggfmt.formats.api.reading import (
    Chunk,
    Layout,
    Origins,
    Reader,
    ReadSupport,
    Routed,
    Router,
    Spans,
    SplitBoundaryError,
    Unroutable,
)
from ggfmt.formats.records.batching import HELD_BYTES
from ggfmt.java.text import visible
from ggfmt.location import Location
from ggfmt.reading.progress import ROUTING, ProgressTracker
from ggfmt.reading.recognition import PlannedInput
from ggfmt.reading.runner import Runner
from ggfmt.reading.splits import Cut, Range, ReadJob, Split

log = logging.getLogger("ggfmt")

MIN_OPERATIONS = 1000  # of a table in a split, or in HELD_BYTES: for more, it is faster to read without this pass
MIN_TABLES = 8
MAX_PAIRS = 100_000  # of a table and a split: each takes some 3 kB of the driver's memory
BUCKET_BYTES = 48 << 20  # a reader keeps 64 MB before it makes small batches of all tables
MAX_BUCKETS = 500  # so that the result of a task with 256 MB has at most 4 kB
RUN_BYTES = 32 << 20  # records that a task keeps until it sorts and packs them
SEGMENT_BYTES = 32 << 20  # packed records that a task keeps until it writes them
CHUNK_BYTES = 1 << 20
MUCH_BYTES = 1 << 30  # of records: the log says how much room they take in staging
_MAX_SPLITS, _MAX_RANGES, _HEAD_BYTES = 16, 8, 256 << 10  # that the driver reads, to find how many tables there are
_SAMPLE_BYTES = 16 << 20  # of all heads; some files are a single chunk
_COMPRESSION = 8  # typical ratio of compressed change files
_PACKED = 5  # typical ratio of staged records; lz4 packs change records of JSON at 4:1 to 7:1

INDEX = "index"  # a file with an entry for the blocks of each bucket in each segment
_ENTRY = Struct("<QQQQ")  # ordinal of the split, attempt, first byte, number of bytes

# The metadata of blocks: nothing is between records; the block has one record without an end, of this input.
_SPANS, _CUT = b"spans", b"cut"


@dataclass(frozen=True, kw_only=True)
class RoutedRange(Range):
    """The records of a bucket, or of a part of one, in the order of the inputs. They start in a range of the inputs.

    scratch  the directory of the files of the first pass
    index    where the file `INDEX` has the entries of the range: the first byte, and the number of bytes
    layouts  of the inputs: the index of the first input of each layout, and the layout
    held     approximate bytes of records
    """

    scratch: Location
    index: tuple[int, int]
    layouts: Sequence[tuple[int, Layout]]
    held: int

    @property
    def size(self) -> int:
        return self.held

    def chunks(self, reader: type[Reader]) -> Iterator[Chunk]:
        """Yield chunks of about `CHUNK_BYTES`; each has records of one layout."""
        held: list[pa.Table] = []
        size = 0
        for part in self._pieces():
            if held and (size >= CHUNK_BYTES or self._kind(part) != self._kind(held[0])):
                yield reader.unwrapped(self._chunk(held))
                held, size = [], 0
            held.append(part)
            size += part.nbytes
        if held:
            yield reader.unwrapped(self._chunk(held))

    def _pieces(self) -> Iterator[pa.Table]:
        for ordinal, attempt, place, size in _ENTRY.iter_unpack(_read(self.scratch.child(INDEX), *self.index)):
            for records in _streams(_read(_staged_file(self.scratch, ordinal, attempt), place, size)):
                step = max(1, len(records) * CHUNK_BYTES // max(records.nbytes, 1))
                yield from (records.slice(start, step) for start in range(0, len(records), step))

    def _kind(self, records: pa.Table) -> tuple[dict[bytes, bytes], Layout]:
        """Return the metadata and the layout of records, which are those of all records of a chunk."""
        place = bisect_right(self.layouts, records["input"][0].as_py(), key=lambda layout: layout[0]) - 1
        return records.schema.metadata or {}, self.layouts[place][1]

    def _chunk(self, held: Sequence[pa.Table]) -> Chunk:
        metadata, layout = self._kind(held[0])
        records = pa.concat_tables(held).combine_chunks()
        column = records["record"].combine_chunks()
        _, offsets, values = column.buffers()
        ends = from_buffers(pa.int32(), column.offset + len(column) + 1, [None, offsets]).slice(column.offset)
        first, last = ends[0].as_py(), ends[len(ends) - 1].as_py()
        starts = array("q")
        starts.frombytes(int64_view(pc.subtract(ends.cast(pa.int64()), first)).cast("B"))
        data = memory(values)[first:last].tobytes()
        spans = None
        if _SPANS in metadata:
            spans = Spans()
            spans.follow(0, starts[1:])
        origins = Origins(starts[:-1], records.select(["file", "input", "offset", "line"]))
        file, number, offset, _ = origins[0]
        return Chunk(file, offset, data, layout, spans, number, last=_CUT in metadata, origins=origins)


def _staged_file(scratch: Location, ordinal: int, attempt: int) -> Location:
    return scratch.child(f"{ordinal:06d}-{attempt}")


def _read(location: Location, place: int, size: int) -> pa.Buffer:
    with location.open_file() as stream:
        stream.seek(place)
        return stream.read_buffer(size)


def _streams(data: pa.Buffer) -> Iterator[pa.Table]:
    """Yield the tables of Arrow streams that follow each other."""
    source = pa.BufferReader(data)
    while source.tell() < data.size:
        yield pa.ipc.open_stream(source, options=arrays.READ).read_all()


class RoutedSplits:
    """The buckets as splits; a large bucket is several splits in the order of the inputs."""

    def __init__(self, buckets: Sequence[Sequence[RoutedRange]]) -> None:
        parts = [(number, part) for number, bucket in enumerate(buckets) for part in bucket]
        self.all: Sequence[Split] = [Split(ordinal, (part,)) for ordinal, (_, part) in enumerate(parts)]
        self._buckets = [number for number, _ in parts]

    @property
    def sizes(self) -> list[int]:
        return [split.size for split in self.all]

    def read_whole(self, crossed: Collection[int]) -> None:
        """Raises: Unroutable, as only the inputs show why a mistake in one of them may be none."""
        raise Unroutable

    def check(self, tables: Sequence[Collection[str]]) -> None:
        """Raises: Unroutable if two buckets have operations of one table. `tables` are those of each split."""
        owners: dict[str, int] = {}
        for bucket, names in zip(self._buckets, tables, strict=True):
            if any(owners.setdefault(name, bucket) != bucket for name in names):
                raise Unroutable


# The first pass


@dataclass
class RoutedSplit:
    """The outcome of a task of the first pass. It has some 2 kB for each 200 MB of records.

    attempt     in the name of its file
    file        where this is; None for a split without records
    segments    of the file, in which buckets follow each other: for each bucket, the bytes of its blocks (uint32)
    held        bytes of records, before compression
    crossed     the index of an input in which a record crosses the end of a range
    unroutable  the records cannot be divided by table
    abend       the reason why an input cannot be read
    """

    attempt: int = 0
    segments: bytes = b""
    held: int = 0
    crossed: int | None = None
    unroutable: bool = False
    abend: Diagnostic | None = None
    file: Location | None = None

    @property
    def is_whole(self) -> bool:
        return self.crossed is None and not self.unroutable and self.abend is None

    def staged(self) -> Iterator[tuple[Location, int, str | None]]:
        """Yield the file and its size."""
        if self.file is not None:
            yield self.file, sum(memoryview(self.segments).cast("I")), None


_of_thread = threading.local()  # the router of the last task, which knows tables that later tasks meet again


def route_split(job: ReadJob, buckets: int, scratch: Location, split: Split, attempt: int) -> RoutedSplit:
    """Write the records of a split by bucket. An odd error is left to the pass that reads."""
    if getattr(_of_thread, "scratch", None) != scratch:
        _of_thread.router, _of_thread.scratch = _router(job), scratch
    router: Router = _of_thread.router
    file = _staged_file(scratch, split.ordinal, attempt)
    writer = _BlockWriter(buckets, file)
    try:
        for part in split.ranges:
            for chunk in part.chunks(_support(job).reader):
                for routed in _runs(router.route(chunk)):
                    writer.add(routed, router.tables, part)
        segments, held = writer.close()
        return RoutedSplit(attempt, segments, held, file=file if held else None)
    except SplitBoundaryError:
        return RoutedSplit(crossed=part.input.index)
    except Unroutable:
        return RoutedSplit(unroutable=True)
    except Abend as error:
        return RoutedSplit(abend=error.diagnostics[0])


def _runs(routed: Routed) -> Iterator[Routed]:
    """Yield the records of a chunk in runs of about `RUN_BYTES`, as the chunk may be a whole file of any size. A record
    that is cut is alone."""
    chunk, count = routed.chunk, len(routed.tables)
    last = count - 1 if routed.is_cut else count
    if routed.starts is None:
        yield Routed(chunk, None, routed.spans[:last], routed.tables[:last])
        if routed.is_cut:
            yield Routed(chunk, None, routed.spans[last:], routed.tables[last:], True)
        return
    starts, first = int64_view(routed.starts), 0
    while first < count:
        start = starts[first]
        stop = count if first == last else min(bisect_left(starts, start + RUN_BYTES, first + 1), last)
        end = starts[stop] if stop < count else len(chunk.data)
        run = replace(chunk, data=chunk.data[start:end], offset=chunk.offset + start)
        places = pc.subtract(routed.starts[first:stop], start)
        yield Routed(run, places, (), routed.tables[first:stop], first == last)
        first = stop


def _support(job: ReadJob) -> ReadSupport:
    return FORMATS[job.input_format].read_support.by(job.source)


def _router(job: ReadJob) -> Router:
    make = _support(job).router
    if make is None:
        raise Unroutable
    router = make(job.catalog, job.source)
    router.statements = job.statements
    return router


def _metadata(routed: Routed) -> dict[bytes, bytes]:
    found = {_SPANS: b"1"} if routed.starts is None else {}
    return {**found, _CUT: str(routed.chunk.input).encode()} if routed.is_cut else found


class _BlockWriter:
    def __init__(self, buckets: int, location: Location) -> None:
        self._buckets = buckets
        self._location = location
        self._stream: pa.NativeFile | None = None
        self._bucket_of = array("q", [0])  # by number of table
        self._blocks: list[list[pa.Buffer]] = [[] for _ in range(buckets)]  # of the next segment
        self._packed = self._total = 0  # bytes of these blocks, and of all records
        self._segments = array("I")
        self._kind: tuple[dict[bytes, bytes], Layout] | None = None  # of the records that it keeps
        self._clear()

    def _clear(self) -> None:
        self._records: list[pa.Array[Any]] = []
        self._columns: list[tuple[pa.Array[Any], ...]] = []
        self._files: dict[tuple[str, int], int] = {}
        self._held = 0

    def add(self, routed: Routed, tables: Sequence[str], part: Range) -> None:
        for table in tables[len(self._bucket_of) :]:
            self._bucket_of.append(1 + crc32(table.encode("utf-8", "surrogatepass")) % (self._buckets - 1))
        chunk, count = routed.chunk, len(routed.tables)
        if not count:
            return
        kind = _metadata(routed), chunk.layout
        if kind != self._kind:
            self._flush()
            self._kind = kind
        if routed.starts is None:
            starts = int64s(array("q", (start for start, _ in routed.spans)))
            self._records.append(pa.array([chunk.data[start:end] for start, end in routed.spans], pa.binary()))
        else:
            starts = routed.starts
            ends = pa.concat_arrays([starts, pa.array([len(chunk.data)], pa.int64())]).cast(pa.int32())
            buffers = [None, ends.buffers()[1], pa.py_buffer(chunk.data)]
            self._records.append(pa.Array.from_buffers(pa.binary(), count, buffers))
        file = self._files.setdefault((chunk.file, chunk.input), len(self._files))
        offsets = pc.add(starts, chunk.offset)
        lines = pc.min_element_wise(offsets, part.start + part.size - 1)  # no line starts behind its range
        buckets = int64s(self._bucket_of).take(routed.tables)
        self._columns.append((buckets, pa.repeat(pa.scalar(file, pa.int32()), count), offsets, lines))
        self._held += len(chunk.data)
        if self._held >= RUN_BYTES:
            self._flush()

    def _flush(self) -> None:
        if not self._records:
            return
        buckets, files, offsets, lines = (pa.concat_arrays(parts) for parts in zip(*self._columns, strict=True))
        records = pa.concat_arrays(self._records)
        names = pa.array([file for file, _ in self._files], pa.string())
        inputs = pa.array([number for _, number in self._files], pa.int32())
        self._clear()
        order = pc.sort_indices(buckets)
        buckets, files = buckets.take(order), files.take(order)
        columns = [
            records.take(order),
            pa.DictionaryArray.from_arrays(files, names),
            inputs.take(files),
            offsets.take(order),
            lines.take(order),
        ]
        del records
        sorted_run = pa.table(columns, ["record", "file", "input", "offset", "line"])
        sorted_run = sorted_run.replace_schema_metadata(None if self._kind is None else self._kind[0])
        ends = array("q", bytes(8 * self._buckets))
        for found in pc.value_counts(buckets):
            ends[found["values"].as_py()] = found["counts"].as_py()
        start = 0
        for bucket, count in enumerate(ends):
            if count:
                self._pack(bucket, sorted_run.slice(start, count))
                start += count
        if self._packed >= SEGMENT_BYTES:
            self._write()

    def _pack(self, bucket: int, records: pa.Table) -> None:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, records.schema, options=arrays.STAGED) as stream:
            stream.write_table(records)
        block = sink.getvalue()
        self._blocks[bucket].append(block)
        self._packed += block.size
        self._total += records["record"].nbytes

    def _write(self) -> None:
        if not self._packed:
            return
        if self._stream is None:
            self._stream = self._location.create()
        for blocks in self._blocks:
            self._segments.append(sum(block.size for block in blocks))
            for block in blocks:
                self._stream.write(block)
            blocks.clear()
        self._packed = 0

    def close(self) -> tuple[bytes, int]:
        """Return the segments of the file, and the bytes of records."""
        self._flush()
        self._write()
        if self._stream is not None:
            self._stream.close()
        return self._segments.tobytes(), self._total


# The driver


def has_many_tables(job: ReadJob, inputs: Sequence[PlannedInput], cut: Cut) -> bool:
    """Return whether splits have so many tables that it is faster to divide their records first, by the first records
    of some splits. Raises: Unroutable if the first ones cannot be divided."""
    splits, total = len(cut.all), sum(map(_expanded, inputs))
    stretches = max(splits, total // HELD_BYTES)  # after which a reader makes batches of all tables
    if stretches < 2:
        return False
    router = _router(job)
    size = records = pairs = seen = 0
    for split in cut.all[:: -(-splits // _MAX_SPLITS)]:
        if size >= _SAMPLE_BYTES:
            break
        tables: set[int] = set()
        try:
            for chunk in _head(split, _support(job).reader):
                found = router.route(chunk).tables
                size += len(chunk.data)
                records += len(found)
                tables.update(non_null_values(pc.unique(found)))
        except SplitBoundaryError:  # the end of a range looks like the middle of a record
            pass
        except (MemoryError, Unroutable):
            raise
        except Exception:  # whatever it is, a task meets it and reports it
            return False
        pairs += len(tables)
        seen += 1
    if pairs > seen and pairs * splits > MAX_PAIRS * seen:
        return True
    if not records or pairs < MIN_TABLES * seen:
        return False
    operations = total * records / size / stretches
    return operations * seen / pairs < MIN_OPERATIONS


def _head(split: Split, reader: type[Reader]) -> Iterator[Chunk]:
    """Yield the first chunks of a split, from a few ranges."""
    left = _HEAD_BYTES
    for part in islice(split.ranges, _MAX_RANGES):
        if part.length is not None:
            part = replace(part, length=min(part.length, left))
        chunks = part.chunks(reader)  # whose file is open as long as this name is there
        chunk = next(chunks, None)
        if chunk is not None:
            yield chunk
            left -= len(chunk.data)
        if left <= 0:
            return


def _expanded(item: PlannedInput) -> int:
    return item.file.size * (1 if item.file.compression is None else _COMPRESSION)


def route(
    job: ReadJob, inputs: Sequence[PlannedInput], cut: Cut, runner: Runner, tracker: ProgressTracker, scratch: Location
) -> RoutedSplits:
    """Divide the records of `cut` by table into files below `scratch`. Raises: Unroutable; Abend GG310."""
    Store(scratch).make_directory("")
    total = sum(map(_expanded, inputs))
    if total >= MUCH_BYTES:
        room = f"{total // _PACKED // 1_000_000:,} MB"
        log.info("dividing the records by table takes about %s in %s", room, visible(scratch.shown))
    least = 3 * runner.parallelism if runner.parallelism > 1 else 1
    buckets = 1 + min(MAX_BUCKETS, max(least, -(-total // BUCKET_BYTES)))
    while True:
        progress = tracker.start_tasks(ROUTING, cut.sizes, runner.parallelism)
        outcomes = runner.run(partial(route_split, job, buckets, scratch), cut.all, progress)
        for outcome in outcomes:
            if outcome.abend is not None:
                raise Abend.of(outcome.abend)
        if any(outcome.unroutable for outcome in outcomes):
            raise Unroutable
        crossed = {outcome.crossed for outcome in outcomes if outcome.crossed is not None}
        if not crossed:
            break
        cut.read_whole(crossed)
    limit = max(BUCKET_BYTES, total // least) if runner.parallelism > 1 else None
    routed = RoutedSplits(_with_index(scratch, cut.all, outcomes, buckets, _layouts(inputs), limit))
    log.info("divided %s by table into %s", counted(len(cut.all), "split"), counted(len(routed.all), "split"))
    return routed


def _layouts(inputs: Sequence[PlannedInput]) -> list[tuple[int, Layout]]:
    layouts: list[tuple[int, Layout]] = []
    for item in inputs:
        layout = replace(item.layout, skipped=0)
        if not layouts or layouts[-1][1] != layout:
            layouts.append((item.index, layout))
    return layouts


def _with_index(
    scratch: Location,
    splits: Sequence[Split],
    outcomes: Sequence[RoutedSplit],
    buckets: int,
    layouts: Sequence[tuple[int, Layout]],
    limit: int | None,
) -> list[list[RoutedRange]]:
    """Write `INDEX`, with the blocks of each bucket. Return the ranges of the buckets, of about `limit` bytes each."""
    sizes, places = array("I"), array("q")  # of all segments; and where the blocks of the next bucket start in them
    files: list[tuple[int, int]] = []
    for split, outcome in zip(splits, outcomes, strict=True):
        sizes.frombytes(outcome.segments)
        place = 0
        for start in range(len(files) * buckets, len(sizes), buckets):
            files.append((split.ordinal, outcome.attempt))
            places.append(place)
            place += sum(sizes[start : start + buckets])
    growth = sum(outcome.held for outcome in outcomes) / max(sum(sizes), 1)
    firsts = {split.ordinal: split.first for split in splits}
    found: list[list[RoutedRange]] = []
    with scratch.child(INDEX).create() as stream:
        for bucket in range(buckets):
            column = sizes[bucket::buckets]
            found.append([])
            for part in _parts(column, math.inf if limit is None else limit / growth):
                entries = b"".join(_ENTRY.pack(*files[number], places[number], column[number]) for number in part)
                index = stream.tell(), len(entries)
                stream.write(entries)
                first = firsts[files[part[0]][0]]
                held = int(growth * sum(column[number] for number in part))
                made = RoutedRange(
                    first.input, first.start, None, scratch=scratch, index=index, layouts=layouts, held=held
                )
                found[-1].append(made)
            places = array("q", map(add, places, column))
    return found


def _parts(sizes: Sequence[int], limit: float) -> Iterator[list[int]]:
    """Yield the numbers of segments with blocks of some sizes, about `limit` bytes at a time."""
    part: list[int] = []
    held = 0
    for number, size in enumerate(sizes):
        if part and held + size > limit:
            yield part
            part, held = [], 0
        if size:
            part.append(number)
            held += size
    if part:
        yield part
