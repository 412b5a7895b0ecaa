"""The discovery pass: definitions of tables that no file describes, from the data itself."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import pyarrow as pa

from ggfmt.engine.files import open_input, unreadable
from ggfmt.engine.names import counted
from ggfmt.engine.plan import Job, Split, reader_of
from ggfmt.engine.runner import Progress, Runner
from ggfmt.errors import Abend, Diagnostic
from ggfmt.formats import FORMATS
from ggfmt.formats.base import UNTOLD, Discovered, Source
from ggfmt.model.table import Catalog

log = logging.getLogger("ggfmt")


def discover(job: Job, splits: Sequence[Split], runner: Runner, progress: Progress | None = None) -> Job:
    """The job with all definitions of its input: those that hold from the start, and the metadata change events."""
    found = find_definitions(job.input_format, job.catalog, splits, runner, progress, job.source)
    log.info("in the data: %s, %s", counted(len(found.tables), "table"), counted(len(found.events), "metadata change"))
    source = replace(job.source, facts=found.facts)
    return replace(job, catalog=job.catalog.with_tables(found.tables), events=found.events, settled=True, source=source)


def find_definitions(
    input_format: str,
    catalog: Catalog,
    splits: Sequence[Split],
    runner: Runner,
    progress: Progress | None = None,
    source: Source = UNTOLD,
) -> Discovered:
    """What the data tells of its tables, the same however it was split; Abend GG310 for an unreadable input."""
    make = FORMATS[input_format].input.discovery
    if make is None:  # its data do not tell what the tables are
        return Discovered(())
    for every_shape in (False, True):
        task = partial(discover_split, input_format, catalog, every_shape, source)
        outcomes = runner.run(task, splits, progress)
        for outcome in outcomes:
            if isinstance(outcome, Diagnostic):
                raise Abend(outcome)
        found = make.settle(outcomes, catalog, every_shape)
        if found.complete:
            break
        source = replace(source, facts=found.facts)
    return found


def discover_split(
    input_format: str, catalog: Catalog, every_shape: bool, source: Source, split: Split, attempt: int
) -> object:
    """The findings of one split, or the diagnostic of an input that cannot be read."""
    make = FORMATS[input_format].input.discovery
    assert make is not None
    discovery = make(catalog, every_shape, source)
    reader = reader_of(input_format)
    for part in split.ranges:
        file = part.input.file
        try:
            with open_input(file) as stream:
                for chunk in reader.chunks(stream, file.shown, part.start, part.length, part.input.layout):
                    discovery.read(replace(chunk, input=part.input.index))
        except (OSError, pa.ArrowException) as error:
            return unreadable(file.shown, error)
    return discovery.findings()
