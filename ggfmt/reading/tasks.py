"""What a task of a run leaves: its outcome, and files in staging.

The driver alone gives files their final names. No data of a message becomes part of a path.
"""

from __future__ import annotations

import gc
import logging
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING, TypeVar

from ggfmt import kernels
from ggfmt.commit.names import FileLocation, counted
from ggfmt.commit.records import Timeline
from ggfmt.dataclasses import dataclass, field
from ggfmt.diagnostics.codes import CODES
from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.formats.api.reading import Reader, Remark
from ggfmt.java.text import visible
from ggfmt.location import Location
from ggfmt.model.table import Catalog
from ggfmt.options.templates import TemplateValue
from ggfmt.reading.splits import ReadJob, SplitReader

if TYPE_CHECKING:
    from ggfmt.replicat.account import Account, Fate

_KERNELS = kernels.state if kernels.lack is None else f"{kernels.state}; {kernels.lack.help}"
SCATTERED_TABLES, SCATTERED_OPERATIONS = 64, 250  # in a split: so many tables, and on average fewer operations of each
STOP_FILE = "stop"  # in a run's staging directory: a task found a reason to abend, so that others need not start

O = TypeVar("O", bound="TaskOutcome")  # noqa: E741


@dataclass(kw_only=True)
class RecordCounts:
    operations: Counter[tuple[str, str]] = field(default_factory=Counter)
    timeline: Timeline = field(default_factory=Timeline)
    rejected_records: int = 0
    others: Counter[str] = field(default_factory=Counter)
    members: Counter[str] = field(default_factory=Counter)
    remarks: Counter[Remark] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    mapped: Counter[Fate] = field(default_factory=Counter)


@dataclass
class TaskOutcome(RecordCounts):
    """The outcome of a task. `abend`: the first mistake in the data, if the run does not quarantine.

    `undefined`: the task met a table without a definition, so that the run needs a discovery pass. `crossed`: the place
    of an input that has to be read in one (`SplitBoundaryError`). `kernels`: what the task ran with.
    """

    split: int
    abend: Diagnostic | None = None
    undefined: bool = False
    crossed: int | None = None
    stopped: bool = False
    scattered: bool = False  # the task asks to divide the records by table, as its split has many tables
    seconds: float = 0.0
    steps: dict[str, float] = field(default_factory=dict)
    kernels: str = _KERNELS

    @property
    def names(self) -> Collection[str]:
        """The tables whose operations it read."""
        return {table for table, _ in self.operations}

    @property
    def source_names(self) -> Collection[str]:
        """The tables whose records it met, as the source names them."""
        return {*({fate.table for fate in self.mapped} or self.names), *self.skipped}

    @property
    def count(self) -> int:
        """How many operations it read."""
        return self.operations.total()

    @property
    def is_whole(self) -> bool:
        """Whether the task has read its split to the end."""
        stopped = self.stopped or self.undefined or self.scattered
        return not stopped and self.abend is None and self.crossed is None

    def stays(self, before: Catalog, after: Catalog) -> bool:
        """Return whether the task would do the same with other definitions; False: that is not known."""
        return False


def in_task(job: ReadJob, staging: Collection[Location], outcome: O, work: Callable[[], O]) -> O:
    """Run one task, unless another task has left a stop file in the staging directories of the run: return `outcome`
    then, as that of a task that was stopped."""
    started = time.perf_counter()
    if any(root.child(STOP_FILE).is_there() for root in staging):
        outcome.stopped = True
        return outcome
    collecting = gc.isenabled()
    gc.disable()  # a chunk has tens of thousands of objects, and no cycles: to search them takes a tenth of the time
    try:
        outcome = work()
    finally:
        if collecting:
            gc.enable()
    tables = len(outcome.names) if outcome.split < job.may_divide else 0
    outcome.scattered = tables >= SCATTERED_TABLES and outcome.count < SCATTERED_OPERATIONS * tables
    if outcome.abend is not None or outcome.undefined or outcome.scattered:
        for root in staging:
            with root.child(STOP_FILE).create():
                pass
    outcome.seconds = time.perf_counter() - started
    return outcome


class TaskStopped(Exception):
    """Ends a task early; the outcome says why."""


@dataclass(frozen=True)
class PlacedPreamble:
    table: str
    definition: str
    offset: int
    size: int


@dataclass(frozen=True)
class StagedFile:
    """A file in staging; `table` is empty for many tables. Files of one `definition` may be joined.

    `header`: the bytes that a file has once, at its start. `place`: where messages will be; None for rejects.
    `counts`: the operations by type, where names need them. `event`: the event handler that made the file, empty for
    the File Writer.
    """

    handler: str
    table: str
    definition: str
    split: int
    sequence: int
    location: Location
    size: int
    header: int
    operations: int
    sha256: str
    first_position: str | None
    last_position: str | None
    preambles: tuple[PlacedPreamble, ...] = ()
    place: FileLocation | None = None
    partition: tuple[TemplateValue, ...] = ()
    counts: tuple[tuple[str, int], ...] = ()
    event: str = ""


_counter = 0


def unique_name() -> str:
    global _counter
    _counter += 1
    return f"{_counter:07d}"


log = logging.getLogger("ggfmt")

MAX_LINES = 20  # of a kind, in a log that is not at level `debug`


def take_counts(counts: RecordCounts, reader: Reader, source: SplitReader | None = None) -> None:
    """Add what a reader has counted, with the records that did not reach the sink."""
    counts.others += reader.others
    counts.members += reader.members
    counts.remarks += reader.remarks
    if source is not None:
        counts.skipped += source.skipped
        counts.mapped += source.account


def forbidden_losses(found: Counter[Remark]) -> Iterator[Diagnostic]:
    """Yield the errors of `--strict` for values that the input does not show, by table."""
    for remark, count in sorted(found.items(), key=lambda item: (item[0].table, item[0].detail)):
        if remark.is_loss:
            reason = f"{counted(count, 'operation')} {remark.detail}"
            yield Diagnostic("GG407", reason, Span(table=remark.table), "leave out `--strict`")


def account(mapped: Counter[Fate]) -> Account:
    """Return the account of what MAPs did."""
    from ggfmt.replicat.account import Account  # most runs do without

    return Account(mapped)


def sections(counts: RecordCounts) -> list[tuple[list[str], str]]:
    """Return lines on what is in no operation, by kind, each with the line that stands for all of its kind."""
    others, skipped, members = (sorted(each.items()) for each in (counts.others, counts.skipped, counts.members))
    mapped = account(counts.mapped).lines if counts.mapped else []
    return [
        (mapped, f"left out or copied by MAPs: see {counted(len(mapped), 'line')} of the manifest"),
        (
            [f"not operations: {counted(count, f'{name} record')}" for name, count in others],
            f"not operations: {counted(counts.others.total(), 'record')}",
        ),
        (
            [f"not selected: {name}, {counted(count, 'record')}" for name, count in skipped],
            f"not selected: {counted(len(skipped), 'table')}, {counted(counts.skipped.total(), 'record')}",
        ),
        (
            [f"unknown member `{name}` left out of {counted(count, 'operation')}" for name, count in members],
            f"{counted(len(members), 'unknown member')} left out, {counts.members.total():,} times",
        ),
    ]


def remarks(counts: RecordCounts) -> Iterator[str]:
    for remark, count in sorted(counts.remarks.items(), key=lambda item: (item[0].table, item[0].code, item[0].detail)):
        yield visible(f"[{remark.code}] table {remark.table}: {counted(count, 'operation')} {remark.detail}")


def log_account(counts: RecordCounts, rejected: Counter[str] | None = None, level: int = logging.INFO) -> None:
    """Log the account of a command that has no report. `rejected`: the records that it left out, by code; `level`: of
    what is no mistake."""
    for warning in remarks(counts):
        log.warning("%s", warning)
    for code, count in sorted((rejected or {}).items()):
        log.warning("rejected: %s [%s] %s", f"{count:,}", code, CODES[code].title)
    for lines, short in sections(counts):
        for line in lines if len(lines) <= MAX_LINES or log.isEnabledFor(logging.DEBUG) else [short]:
            log.log(level, "%s", visible(line))
