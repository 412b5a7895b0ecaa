"""The plan of a run: inputs cut into splits, and what every task is told.

Splits are made here and not by Spark, whose file sources pack files by size and promise no order.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from ggfmt.engine.files import resolved
from ggfmt.engine.inputs import PlannedInput
from ggfmt.engine.output.layout import Layout
from ggfmt.engine.pipeline import HandlerSettings
from ggfmt.formats import FORMATS
from ggfmt.formats.api.context import DEFAULT_SETTINGS, WriterSettings
from ggfmt.formats.api.reading import SchemaChange
from ggfmt.java.text import visible
from ggfmt.model.table import Catalog, TableDef
from ggfmt.options.replacements import Replacements

SPLIT_BYTES = 256 << 20
MIN_SPLIT_BYTES = 8 << 20

log = logging.getLogger("ggfmt")


@dataclass(frozen=True)
class Range:
    """The records of an input that start in `length` bytes from `start`; None means to the end."""

    input: PlannedInput
    start: int
    length: int | None

    @property
    def size(self) -> int:
        return self.input.file.size if self.length is None else self.length


@dataclass(frozen=True)
class Split:
    """What one task reads: ranges that follow each other in the order of the input."""

    ordinal: int
    ranges: tuple[Range, ...]

    @property
    def size(self) -> int:
        return sum(part.size for part in self.ranges)


@dataclass(frozen=True)
class HandlerOutput:
    """Where the messages of one handler go: `<root>/<handler>`, and `schema_path` for schemas besides the format's own
    directory."""

    settings: HandlerSettings
    root: str
    max_file_size: int
    layout: Layout
    schema_path: str | None = None

    @property
    def handler(self) -> str:
        return self.settings.handler

    @property
    def schema_directories(self) -> list[str]:
        """Where a run writes the schemas of the format, as paths or URIs: a relative one is below the root. None if the
        format has no schemas, or they are switched off."""
        settings = self.settings
        if not FORMATS[settings.format].schema_in_run or not settings.schema_files(TableDef("T")):
            return []
        directories = [getattr(settings.options, "schema_directory", None), self.schema_path]
        return [resolved(directory, self.root) for directory in directories if directory]


@dataclass(frozen=True)
class Job:
    """All that the tasks of a run have in common. `moment` is the time in the names of files, in UTC; `events` are
    metadata changes in input order; `settled` tells that every definition in the input is known, so that no task need
    look for more. `reason` says why the input format was taken, with the place that shows it."""

    run: str
    moment: datetime
    input_format: str
    targets: tuple[HandlerOutput, ...]
    catalog: Catalog
    events: tuple[SchemaChange, ...] = ()
    settled: bool = False
    quarantine: bool = False
    strict: bool = False
    current_timestamp: datetime | None = None
    staging: dict[str, str] = field(default_factory=dict)
    source: WriterSettings = DEFAULT_SETTINGS
    trace: bool = False
    reason: str = ""
    replacements: Replacements = field(default_factory=Replacements)

    def catalog_at(self, split: Split) -> Catalog:
        """The definitions that hold at the start of a split."""
        return self.catalog.with_tables(event.table for event in self.events[: self.epoch_at(split)])

    def epoch_at(self, split: Split) -> int:
        """How many metadata change events lie before a split."""
        first = split.ranges[0]
        place = (first.input.index, first.start)
        return sum((event.input, event.line) < place for event in self.events)

    def epoch_after(self, event: SchemaChange) -> int:
        """How many metadata change events there are up to and with `event`."""
        return self.events.index(event) + 1


class Splits:
    """How the inputs are cut: splits of about equal size, in input order. A compressed file, or one whose layout cannot
    be split, is not cut; small files share a split."""

    def __init__(self, inputs: Sequence[PlannedInput], parallelism: int, split_size: int | None = None) -> None:
        total = sum(item.file.size for item in inputs)
        share = -(-total // (2 * parallelism))  # rounded up: the rest would be a task of a few bytes
        self._size = split_size or min(max(share, MIN_SPLIT_BYTES), SPLIT_BYTES)
        self._inputs = inputs
        self.all = _cut(inputs, self._size)

    @property
    def sizes(self) -> list[int]:
        """The bytes of each split."""
        return [split.size for split in self.all]

    def read_whole(self, crossed: Collection[int]) -> None:
        """Cuts anew, but for inputs in which records lie over the ends of ranges; `crossed` are their places."""
        for item in self._inputs:
            if item.index in crossed:
                log.info("%s is read in one: a record of it lies where it was to be cut", visible(item.file.shown))
        self._inputs = [replace(item, whole=item.whole or item.index in crossed) for item in self._inputs]
        self.all = _cut(self._inputs, self._size)


def _cut(inputs: Sequence[PlannedInput], size: int) -> list[Split]:
    groups: list[list[Range]] = [[]]
    room = size
    for item in inputs:
        if item.file.compression is not None or item.whole or not item.layout.splittable:
            if room < size and item.file.size > room:
                groups.append([])
                room = size
            groups[-1].append(Range(item, 0, None))
            room -= item.file.size
        else:
            start = 0
            while start < item.file.size:
                length = min(room, item.file.size - start)
                groups[-1].append(Range(item, start, length))
                start += length
                room -= length
                if room <= 0:
                    groups.append([])
                    room = size
        if room <= 0:
            groups.append([])
            room = size
    return [Split(ordinal, tuple(ranges)) for ordinal, ranges in enumerate(group for group in groups if group)]
