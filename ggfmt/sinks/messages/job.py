"""The job of a run: the settings that all of its tasks share."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from ggfmt.formats import FORMATS
from ggfmt.location import Location
from ggfmt.model.table import TableDef
from ggfmt.options.replacements import Replacements
from ggfmt.scan.splits import ReadJob
from ggfmt.sinks.messages.layout import Layout
from ggfmt.sinks.messages.pipeline import HandlerSettings


@dataclass(frozen=True)
class HandlerOutput:
    """The output of one handler: messages in `<root>/<handler>`, schemas in the directory of the format and in
    `schema_path`."""

    settings: HandlerSettings
    root: Location
    max_file_size: int
    layout: Layout
    schema_path: str | None = None

    @property
    def handler(self) -> str:
        return self.settings.handler

    @property
    def schema_directories(self) -> list[Location]:
        """Where a run writes the schemas of the format; a relative directory is below the root. Empty if the format has
        no schemas, or the handler switches them off."""
        settings = self.settings
        if not FORMATS[settings.format].schema_in_run or not settings.schema_files(TableDef("T")):
            return []
        directories = [getattr(settings.options, "schema_directory", None), self.schema_path]
        return [self.root.resolve(directory) for directory in directories if directory]


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
    staging: dict[Location, Location] = field(default_factory=dict)
    trace: bool = False
    replacements: Replacements = field(default_factory=Replacements)
