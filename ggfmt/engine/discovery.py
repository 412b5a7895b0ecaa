"""The discovery pass: definitions of tables that no file describes, from the data itself."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa

from ggfmt import kernels
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic, Span
from ggfmt.engine.files import defect, open_unchanged, unreadable
from ggfmt.engine.inputs import PlannedInput
from ggfmt.engine.output.names import counted
from ggfmt.engine.plan import Job, Split, Splits
from ggfmt.engine.progress import ProgressTracker
from ggfmt.engine.runner import Runner
from ggfmt.engine.steps import DISCOVERY
from ggfmt.formats import FORMATS
from ggfmt.formats.api.context import DEFAULT_SETTINGS, WriterSettings
from ggfmt.formats.api.reading import DiscoveryResult, SplitBoundaryError
from ggfmt.model.table import Catalog

log = logging.getLogger("ggfmt")


_MOST_AHEAD = 32  # inputs whose first records are looked at before all
_BYTES_AHEAD = 256 << 10


@dataclass(frozen=True)
class SplitBoundaryCrossing:
    """Says that the ranges of an input are not on their own; see `SplitBoundaryError`."""

    input: int


def discover(job: Job, splits: Splits, runner: Runner, following: ProgressTracker | None = None) -> Job:
    """The job with all definitions of its input: those that hold from the start, and the metadata change events."""
    catalog = replace(job.catalog, current={}, provisional=False)
    discovered = find_definitions(job.input_format, catalog, splits, runner, following, job.source)
    log.info(
        "in the data: %s, %s",
        counted(len(discovered.tables), "table"),
        counted(len(discovered.events), "metadata change"),
    )
    source = replace(job.source, facts=discovered.facts)
    return replace(
        job, catalog=catalog.with_tables(discovered.tables), events=discovered.events, settled=True, source=source
    )


def discover_from_head(job: Job, inputs: Sequence[PlannedInput]) -> Job | None:
    """The job with the definitions that the first records of its inputs show, where its reader tells of all that the
    rest of them shows besides. None where these are not enough, or cannot be read."""
    side = FORMATS[job.input_format].read_support.by(job.source)
    if kernels.native is None or not side.reader.checks_definitions or side.discovery is None:
        return None
    findings = []
    for item in inputs[:_MOST_AHEAD]:
        discovery = side.discovery(job.catalog, False, job.source)
        try:
            with open_unchanged(item.file) as stream:
                length = _BYTES_AHEAD if item.layout.splittable else None
                chunk = next(iter(side.reader.chunks(stream, item.file.shown, 0, length, item.layout)), None)
                if chunk is not None and chunk.problem is None:
                    discovery.read(replace(chunk, input=item.index))
        except MemoryError:
            raise
        except Exception:  # whatever it is, the tasks will meet and tell it
            return None
        findings.append(discovery.findings())
    discovered = side.discovery.settle(findings, job.catalog, False)
    if not discovered.tables or discovered.events or not discovered.complete or discovered.facts:
        return None
    log.info("in the first records: %s", counted(len(discovered.tables), "table"))
    catalog = replace(job.catalog.with_tables(discovered.tables), provisional=True)
    return replace(job, catalog=catalog)


def find_definitions(
    input_format: str,
    catalog: Catalog,
    splits: Splits,
    runner: Runner,
    following: ProgressTracker | None = None,
    source: WriterSettings = DEFAULT_SETTINGS,
) -> DiscoveryResult:
    """What the data tells of its tables, the same however it was split; Abend GG310 for an unreadable input."""

    def look(every_shape: bool, source: WriterSettings) -> Sequence[object]:
        task = partial(discover_split, input_format, catalog, every_shape, source)
        while True:
            told = None if following is None else following.start_tasks(DISCOVERY, splits.sizes, runner.parallelism)
            outcomes = runner.run(task, splits.all, told)
            for outcome in outcomes:
                if isinstance(outcome, Diagnostic):
                    raise Abend(outcome)
            crossed = {outcome.input for outcome in outcomes if isinstance(outcome, SplitBoundaryCrossing)}
            if not crossed:
                return outcomes
            splits.read_whole(crossed)

    return resolve_findings(input_format, catalog, source, look)


def resolve_findings(
    input_format: str,
    catalog: Catalog,
    source: WriterSettings,
    look: Callable[[bool, WriterSettings], Sequence[object]],
) -> DiscoveryResult:
    """What the findings of a pass amount to, after a second pass if the first leaves something open.

    `look(every_shape, source)` makes a pass; its findings are in input order.
    """
    make = FORMATS[input_format].read_support.by(source).discovery
    if make is None:  # its data do not tell what the tables are
        return DiscoveryResult(())
    discovered = make.settle(look(False, source), catalog, False)
    if not discovered.complete:
        discovered = make.settle(look(True, replace(source, facts=discovered.facts)), catalog, True)
    return discovered


def discover_split(
    input_format: str, catalog: Catalog, every_shape: bool, source: WriterSettings, split: Split, attempt: int
) -> object:
    """The findings of one split, or the diagnostic of an input that cannot be read, or `SplitBoundaryCrossing`."""
    side = FORMATS[input_format].read_support.by(source)
    make, reader = side.discovery, side.reader
    assert make is not None
    discovery = make(catalog, every_shape, source)
    for part in split.ranges:
        file = part.input.file
        place = Span(file=file.shown)
        try:
            with open_unchanged(file) as stream:
                for chunk in reader.chunks(stream, file.shown, part.start, part.length, part.input.layout):
                    place = Span(file=file.shown, offset=chunk.offset)
                    if chunk.problem is None:
                        discovery.read(replace(chunk, input=part.input.index))
        except SplitBoundaryError:
            return SplitBoundaryCrossing(part.input.index)
        except MemoryError:
            raise
        except (OSError, pa.ArrowException) as error:
            return unreadable(file.shown, error)
        except Exception as error:
            return defect(error, place)
    return discovery.findings()
