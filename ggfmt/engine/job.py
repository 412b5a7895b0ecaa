"""What the tasks of a run have in common."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from ggfmt.engine.files import resolved
from ggfmt.engine.output.layout import Layout
from ggfmt.engine.pipeline import HandlerSettings
from ggfmt.engine.splits import Split
from ggfmt.formats import FORMATS
from ggfmt.formats.api.context import DEFAULT_SETTINGS, WriterSettings
from ggfmt.formats.api.reading import SchemaChange
from ggfmt.model.table import Catalog, TableDef
from ggfmt.options.replacements import Replacements


@dataclass(frozen=True)
class ReadJob:
    """How tasks read: the format of the inputs, and the definitions of tables.

    events   metadata changes in the data, in input order
    settled  all definitions in the data are known, so that no task need look for more
    reason   why the input format was taken, with the place that shows it
    """

    input_format: str
    catalog: Catalog
    events: tuple[SchemaChange, ...] = ()
    settled: bool = False
    source: WriterSettings = DEFAULT_SETTINGS
    reason: str = ""

    def catalog_at(self, split: Split) -> Catalog:
        """The definitions that hold at the start of a split."""
        return self.catalog.with_tables(event.table for event in self.events[: self.epoch_at(split)])

    def epoch_at(self, split: Split) -> int:
        """How many metadata changes come before a split."""
        if not self.events:
            return 0
        first = split.first
        place = (first.input.index, first.start)
        return sum((event.input, event.line) < place for event in self.events)

    def epoch_after(self, event: SchemaChange) -> int:
        """How many metadata changes there are up to and with `event`."""
        return self.events.index(event) + 1


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


@dataclass(frozen=True, kw_only=True)
class Job(ReadJob):
    """How the tasks of a run read and write.

    run      the id of the run
    moment   the time in the names of files, in UTC
    staging  by output directory, where tasks write
    """

    run: str
    moment: datetime
    targets: tuple[HandlerOutput, ...]
    quarantine: bool = False
    strict: bool = False
    current_timestamp: datetime | None = None
    staging: dict[str, str] = field(default_factory=dict)
    trace: bool = False
    replacements: Replacements = field(default_factory=Replacements)
