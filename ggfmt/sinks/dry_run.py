"""What a run would do, found out without doing it: nothing is written, and no Spark starts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from ggfmt.columnar.replacement import Replacer, UnusableName
from ggfmt.commit.names import FileLocation
from ggfmt.diagnostics.diagnostic import Abend
from ggfmt.model.table import TableDef
from ggfmt.scan.scan import Scan
from ggfmt.scan.splits import Split
from ggfmt.scan.standard_input import ARGUMENT as STANDARD_INPUT
from ggfmt.sinks.messages import report
from ggfmt.sinks.messages.execution import check_names
from ggfmt.sinks.messages.job import HandlerOutput, Job
from ggfmt.sinks.messages.layout import Partition, file_name_conflict_error
from ggfmt.sinks.messages.preparation import PreparedRun, RunSettings, prepare


@dataclass(frozen=True)
class FilePlan:
    """The place of the files of a table, or of all tables (None), of one handler; None where values of columns are part
    of it. `columns` are those columns."""

    table: str | None
    place: FileLocation | None
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class DryRun:
    """A run that was checked. `tables` are named as the output has them, None if the data have to tell which there are;
    `found`: by their first records. `splits` is None where nobody knows how many tasks run at once."""

    prepared: PreparedRun
    splits: tuple[Split, ...] | None
    tables: tuple[TableDef, ...] | None
    found: bool
    standard_input: bool

    @property
    def scan(self) -> Scan:
        """What the run would read."""
        assert self.prepared.scan is not None
        return self.prepared.scan

    @property
    def totals(self) -> dict[str, Any]:
        """Those of a run that has read nothing."""
        return report.as_document(report.Totals())

    def files(self, target: HandlerOutput) -> Iterator[FilePlan]:
        """Where the files of a handler would lie, by table. Abend GG514 or GG515 as of the run."""
        if not target.settings.partition_by_table:
            yield FilePlan(None, target.layout.place(None, self.prepared.moment))
            return
        owners: dict[FileLocation, tuple[str, Partition]] = {}
        for table in self.tables or ():
            columns = target.layout.columns(table.full_name)
            if columns:
                yield FilePlan(table.full_name, None, columns)
                continue
            place = target.layout.place(table, self.prepared.moment)
            first = owners.setdefault(place, (table.full_name, ()))
            if first[0] != table.full_name:
                raise file_name_conflict_error(first, (table.full_name, ()), (), place.path)
            yield FilePlan(table.full_name, place)


def as_planned(settings: RunSettings, parallelism: int | None) -> DryRun:
    """Checks a run and plans it, for so many tasks at once. Errors are those of `prepare`, and those that names of
    tables lead to."""
    with ExitStack() as held:
        prepared = prepare(settings, held, dry=True)
    job = prepared.job
    found = not job.catalog.trusted
    scan = prepared.scan
    assert scan is not None
    shown = scan.discover_from_head(job) if found and scan.files else job
    tables = None if shown is None or not shown.catalog.tables() else tuple(_renamed(shown))
    splits = None
    if parallelism is not None:
        splits = tuple(scan.splits(parallelism).all)
    planned = DryRun(prepared, splits, tables, found, STANDARD_INPUT in settings.inputs)
    for target in job.targets:
        for _ in planned.files(target):
            pass
    return planned


def _renamed(job: Job) -> Iterator[TableDef]:
    """The tables of a job, as replacements name them."""
    tables = job.catalog.tables()
    check_names(job, [table.full_name for table in tables])
    replacer = Replacer(job.replacements) if job.replacements else None
    try:
        for table in tables:
            yield table if replacer is None else replacer.table(table)
    except UnusableName as error:
        raise Abend(error.diagnostic) from None
