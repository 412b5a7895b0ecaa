"""The discovery pass: definitions of tables that no file describes, from the data itself."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TypeVar

from ggfmt import kernels
from ggfmt.commit.names import counted
from ggfmt.dataclasses import dataclass, replace
from ggfmt.definitions.source import warn_of_unknown_types
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic, Span
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import DEFAULT_SETTINGS, WriterSettings
from ggfmt.formats.api.reading import DiscoveryResult, SplitBoundaryError
from ggfmt.java.text import visible
from ggfmt.location import Location
from ggfmt.model.table import Catalog
from ggfmt.reading.files import defect
from ggfmt.reading.progress import DISCOVERY, ProgressTracker
from ggfmt.reading.recognition import PlannedInput
from ggfmt.reading.runner import Runner
from ggfmt.reading.splits import Cut, Range, ReadJob, Split

log = logging.getLogger("ggfmt")

J = TypeVar("J", bound=ReadJob)

_MAX_HEADS = 32  # inputs whose first records are looked at before all
_HEAD_BYTES = 256 << 10


@dataclass(frozen=True)
class SplitBoundaryCrossing:
    """Outcome of a task: a record of this input crosses the end of a range; see `SplitBoundaryError`."""

    input: int


@dataclass(frozen=True)
class SplitFindings:
    """Outcome of a task: what the discovery of the format has found in a split."""

    found: object
    is_whole = True

    def staged(self) -> Iterator[tuple[Location, int, str | None]]:
        """Yield no files."""
        yield from ()


def discover(job: J, cut: Cut, runner: Runner, tracker: ProgressTracker | None = None) -> J:
    """Return the job with the definitions in all of `cut` that hold from the start, and with the metadata changes."""
    catalog = replace(job.catalog, current={}, provisional=False)
    discovered = find_definitions(job.input_format, catalog, cut, runner, tracker, job.source)
    log.debug(
        "found %s and %s in the data",
        counted(len(discovered.tables), "table"),
        counted(len(discovered.events), "metadata change"),
    )
    _warn_of_encoded_values(job, discovered)
    _warn_of_near_names(catalog, discovered)
    tables = (*discovered.tables, *(event.table for event in discovered.events))
    warn_of_unknown_types(table for table in tables if job.selection.selects(table.full_name))
    source = replace(job.source, facts=discovered.facts)
    events = tuple(sorted(discovered.events, key=lambda event: (event.input, event.offset)))
    return replace(job, catalog=catalog.with_tables(discovered.tables), events=events, settled=True, source=source)


def find_keys(job: J, cut: Cut, runner: Runner, tracker: ProgressTracker | None = None) -> J:
    """Return the job with the keys that records state of tables whose definition by the user states none."""
    if not job.catalog.lacks_keys or job.settled or not _finds_keys(job):
        return job
    found = find_definitions(job.input_format, Catalog(job.catalog.trusted), cut, runner, tracker, job.source)
    keyed = {table.full_name: table for table in found.tables if table.full_name in job.catalog.trusted}
    return replace(job, catalog=replace(job.catalog, trusted={**job.catalog.trusted, **keyed}))


def has_keys_in_changes(job: ReadJob) -> bool:
    """Return whether tables of the user may get keys by changes of their definitions, which only a discovery finds."""
    return job.catalog.lacks_keys and _finds_keys(job) is False


def _finds_keys(job: ReadJob) -> bool | None:
    side = FORMATS[job.input_format].read_support.by(job.source)
    return None if side.discovery is None else side.discovery.finds_keys


def _warn_of_encoded_values(job: ReadJob, discovered: DiscoveryResult) -> None:
    """Log a warning if only values describe tables, and the source may encode values by their types (GG218)."""
    discovery = FORMATS[job.input_format].read_support.by(job.source).discovery
    caution = "" if discovery is None else discovery.caution(job.source)
    described = {event.table.full_name for event in discovered.events}
    found = (table.full_name for table in discovered.tables)
    names = [name for name in found if name not in described and name not in job.catalog.trusted]
    names = [name for name in names if job.selection.selects(name)]
    if caution and names:
        shown = f"table {visible(names[0])}" if len(names) == 1 else f"{len(names)} tables, such as {visible(names[0])}"
        log.warning("[GG218] %s: no schema and no definition: %s", shown, caution)


def _warn_of_near_names(catalog: Catalog, discovered: DiscoveryResult) -> None:
    """Log a warning if definitions count for no table of the data, as they lack its schema, for example."""
    found = {table.full_name for table in discovered.tables}
    unknown = sorted(found - catalog.trusted.keys())
    pairs = [(near, name) for name in unknown if (near := catalog.near(name)) is not None and near not in found]
    if pairs:
        near, name = map(visible, pairs[0])
        more = f" (one of {len(pairs)} such tables)" if len(pairs) > 1 else ""
        log.warning("the data have `%s`, and `--definitions` only `%s`: write its whole name there%s", name, near, more)


def discover_from_head(job: J, inputs: Sequence[PlannedInput]) -> J | None:
    """Return the job with the definitions that the first records of its inputs show, if the reader finds every record
    that contradicts them. None if these are not enough, or cannot be read."""
    side = FORMATS[job.input_format].read_support.by(job.source)
    if kernels.native is None or not side.reader.checks_definitions or side.discovery is None:
        return None
    findings = []
    for item in inputs[:_MAX_HEADS]:
        discovery = side.discovery(job.catalog, False, job.source)
        head = Range(item, 0, _HEAD_BYTES if item.layout.splittable else None)
        try:
            chunk = next(head.chunks(side.reader), None)
            if chunk is not None and chunk.problem is None:
                discovery.read(chunk)
        except MemoryError:
            raise
        except Exception:  # whatever it is, a task meets it and reports it
            return None
        findings.append(discovery.findings())
    discovered = side.discovery.settle(findings, job.catalog, False)
    if not discovered.tables or discovered.events or not (discovered.complete and discovered.sure) or discovered.facts:
        return None
    log.debug("found %s in the first records", counted(len(discovered.tables), "table"))
    catalog = replace(job.catalog.with_tables(discovered.tables), provisional=True)
    return replace(job, catalog=catalog)


def find_definitions(
    input_format: str,
    catalog: Catalog,
    cut: Cut,
    runner: Runner,
    tracker: ProgressTracker | None = None,
    source: WriterSettings = DEFAULT_SETTINGS,
) -> DiscoveryResult:
    """Return the definitions in the data, the same however it is cut: by one pass, and by a second one if the first
    leaves something open. Raises: Abend GG310 for an unreadable input."""

    def findings(every_shape: bool, source: WriterSettings) -> Sequence[object]:
        task = partial(discover_split, input_format, catalog, every_shape, source)
        while True:
            progress = None if tracker is None else tracker.start_tasks(DISCOVERY, cut.sizes, runner.parallelism)
            outcomes = runner.run(task, cut.all, progress)
            for outcome in outcomes:
                if isinstance(outcome, Diagnostic):
                    raise Abend.of(outcome)
            crossed = {outcome.input for outcome in outcomes if isinstance(outcome, SplitBoundaryCrossing)}
            if not crossed:
                return [outcome.found for outcome in outcomes if isinstance(outcome, SplitFindings)]
            cut.read_whole(crossed)

    discovery = FORMATS[input_format].read_support.by(source).discovery
    if discovery is None:  # data of this format have no definitions
        return DiscoveryResult(())
    discovered = discovery.settle(findings(False, source), catalog, False)
    if not discovered.complete:
        discovered = discovery.settle(findings(True, replace(source, facts=discovered.facts)), catalog, True)
    return discovered


def discover_split(
    input_format: str, catalog: Catalog, every_shape: bool, source: WriterSettings, split: Split, attempt: int
) -> object:
    """Return `SplitFindings`, the diagnostic of an input that cannot be read, or `SplitBoundaryCrossing`."""
    side = FORMATS[input_format].read_support.by(source)
    assert side.discovery is not None
    discovery = side.discovery(catalog, every_shape, source)
    for part in split.ranges:
        place = Span(file=part.input.file.shown)
        try:
            for chunk in part.chunks(side.reader):
                place = chunk.span(0)
                if chunk.problem is None:
                    discovery.read(chunk)
        except SplitBoundaryError:
            return SplitBoundaryCrossing(part.input.index)
        except MemoryError:
            raise
        except Abend as error:
            return error.diagnostics[0]
        except Exception as error:
            return defect(error, place)
    return SplitFindings(discovery.findings())
