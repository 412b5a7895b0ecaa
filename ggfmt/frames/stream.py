"""The data source `ggfmt` as a stream over files that grow and directories that get more of them.

The offset of a stream has, of each file, how far it was read and the number that `seq` has of it, and the definitions
of tables that the data have shown so far. So what lies between two offsets is the same whenever it is read, and a batch
that is done again after a crash has the same rows.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import msgspec
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from ggfmt.frames.batches import record_batches
from ggfmt.frames.file_follower import FileFollower, FileProgress, check, found
from ggfmt.frames.plan import Plan, Request, frame_error, merged
from ggfmt.model.table import Catalog, TableDef
from ggfmt.scan.discovery import find_definitions
from ggfmt.scan.files import InputFile
from ggfmt.scan.job import ReadJob
from ggfmt.scan.listing import list_inputs
from ggfmt.scan.recognition import reader_of
from ggfmt.scan.runner import InProcess
from ggfmt.scan.splits import Range, Split

if TYPE_CHECKING:
    import pyarrow as pa

SPLIT_BYTES = 32 << 20

Offset = dict[str, Any]


@dataclass
class StreamPart(InputPartition):
    """What one task reads, by the definitions that hold there, and how its files have to be, by their numbers."""

    job: ReadJob
    split: Split
    files: Mapping[int, FileProgress]


class FrameStream(DataSourceStreamReader):
    """Reads what a request asks for, as it comes; `plan` is of what was there when the stream was made."""

    def __init__(self, request: Request, plan: Plan) -> None:
        self._request = request
        self._job = plan.job
        self._wanted = plan.wanted
        source = plan.job.source
        reader = reader_of(plan.job.input_format, source)
        self._growth = FileFollower(reader, source, request.max_record, request.settle)

    def initialOffset(self) -> Offset:
        tables = [*self._job.catalog.current.values(), *(event.table for event in self._job.events)]
        return _offset({}, {table.full_name: table for table in tables} if not self._request.definitions else {})

    def latestOffset(self, start: Offset | None = None, limit: object = None) -> Offset:
        """All that can be read now."""
        if start is None:
            raise frame_error("this Spark cannot read a stream of ggfmt", "streams need Spark 4.2 or later")
        end = self._growth.poll(self._listed(), _files(start))
        ranges = self._ranges(start, end)
        tables = _tables(start)
        if ranges and self._request.runs_discovery:
            tables = self._discovered(ranges, tables)[1]
        return _offset(end, tables)

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        files = _files(end)
        ranges = self._ranges(start, files)
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
        for part in partition.split.ranges:  # Spark takes nothing of a task that fails at its end
            check(found(part.input.file.path), partition.files[part.input.index])

    def _size(self) -> int:
        return self._request.split_size or SPLIT_BYTES

    def _ranges(self, start: Offset, end: Mapping[str, FileProgress]) -> list[Range]:
        return self._growth.ranges(_files(start), end, self._size(), self._listed)

    def _listed(self) -> list[InputFile]:
        return list_inputs(self._request.paths, allow_empty=True, growing=True)

    def _groups(self, ranges: Sequence[Range]) -> Iterator[list[Range]]:
        """Ranges that one task reads: small ones together."""
        group: list[Range] = []
        for part in ranges:
            if group and sum(each.size for each in group) + part.size > self._size():
                yield group
                group = []
            group.append(part)
        if group:
            yield group

    def _discovered(
        self, ranges: Sequence[Range], before: Mapping[str, TableDef]
    ) -> tuple[ReadJob, dict[str, TableDef]]:
        """The job with what ranges show of tables besides what is known, and what is known behind them."""
        job = self._job
        trusted = Catalog(job.catalog.trusted)
        shown = find_definitions(
            job.input_format, trusted, _Ranges(ranges), InProcess(), source=replace(job.source, facts={})
        )
        tables = dict(before)
        for table in shown.tables:
            known = tables.get(table.full_name)
            tables[table.full_name] = table if known is None else merged([known, table])
        source = replace(job.source, facts=shown.facts)
        catalog = trusted.with_tables(tables.values())
        job = replace(job, catalog=catalog, events=shown.events, settled=True, source=source)
        return job, {**tables, **{event.table.full_name: event.table for event in shown.events}}


class _Ranges:
    """The ranges of a batch as splits. They cannot be cut in another way: what a batch reads is settled."""

    log_level = logging.DEBUG

    def __init__(self, ranges: Sequence[Range]) -> None:
        self.all: Sequence[Split] = [Split(number, (part,)) for number, part in enumerate(ranges)]

    @property
    def sizes(self) -> list[int]:
        return [split.size for split in self.all]

    def read_whole(self, crossed: Collection[int]) -> None:
        raise frame_error("a stream reads records of one line", "read a file of other records when it is complete")


def _offset(files: Mapping[str, FileProgress], tables: Mapping[str, TableDef]) -> Offset:
    told = {path: asdict(known) for path, known in files.items()}
    return {"files": told, "tables": msgspec.json.encode(list(tables.values())).decode()}


def _files(offset: Offset) -> dict[str, FileProgress]:
    return {path: FileProgress(**told) for path, told in offset["files"].items()}


def _tables(offset: Offset) -> dict[str, TableDef]:
    tables = msgspec.json.decode(offset["tables"].encode(), type=list[TableDef])
    return {table.full_name: table for table in tables}
