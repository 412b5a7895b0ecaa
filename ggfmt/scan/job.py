"""How the tasks of a scan read."""

from __future__ import annotations

from dataclasses import dataclass

from ggfmt.formats.api.format import DEFAULT_SETTINGS, WriterSettings
from ggfmt.formats.api.reading import SchemaChange
from ggfmt.model.table import Catalog
from ggfmt.scan.splits import Split


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
