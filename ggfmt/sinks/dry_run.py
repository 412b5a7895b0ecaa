"""The dry run: plans a run, writes nothing and starts no Spark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

from ggfmt.columnar.replacement import Replacer, UnusableName, check_table_names
from ggfmt.commit.names import FileLocation
from ggfmt.dataclasses import dataclass
from ggfmt.diagnostics.diagnostic import Abend
from ggfmt.engine import Run, prepare
from ggfmt.model.table import TableDef
from ggfmt.reading.splits import Split, view_of
from ggfmt.reading.standard_input import ARGUMENT as STANDARD_INPUT
from ggfmt.sinks.messages.layout import Partition, file_name_conflict_error
from ggfmt.sinks.messages.pipeline import HandlerOutput, Job
from ggfmt.sinks.messages.run import MessageSink, RunSettings, sink_of


@dataclass(frozen=True)
class FilePlan:
    table: str | None
    place: FileLocation | None
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class DryRun:
    """A planned run. `tables` are named as in the output; None if only the data shows them.

    `found`: they come from the first records. `splits` is None if the number of parallel tasks is unknown. `routes`:
    what MAPs do with tables.
    """

    run: Run
    sink: MessageSink
    splits: tuple[Split, ...] | None
    tables: tuple[TableDef, ...] | None
    found: bool
    standard_input: bool
    routes: tuple[str, ...] = ()

    def files(self, target: HandlerOutput) -> Iterator[FilePlan]:
        if not target.settings.partition_by_table:
            yield FilePlan(None, target.layout.place(None, self.run.moment))
            return
        owners: dict[FileLocation, tuple[str, Partition]] = {}
        for table in self.tables or ():
            columns = target.layout.columns(table.full_name)
            if columns:
                yield FilePlan(table.full_name, None, columns)
                continue
            place = target.layout.place(table, self.run.moment)
            first = owners.setdefault(place, (table.full_name, ()))
            if first[0] != table.full_name:
                raise file_name_conflict_error(first, (table.full_name, ()), (), place.path)
            yield FilePlan(table.full_name, place)


def as_planned(settings: RunSettings, parallelism: int | None) -> DryRun:
    """Check and plan a run with `parallelism` tasks at once. Errors as of `prepare`, and of the names of tables."""
    run, sink = Run.of(settings), sink_of(settings)
    with ExitStack() as held:
        job = prepare(run, sink, held, dry=True)
    found = not job.catalog.trusted
    scan = run.scan
    assert scan is not None
    shown = scan.discover_from_head(job) if found and scan.files else job
    view, routes = view_of(job.selection), tuple[str, ...]()
    if shown is not None and view is not None:  # other names may be in the rest of the data
        view.check(shown.definitions, settings.keys, may_lack=True)
        routes = tuple(view.routes(shown.definitions))
    tables = None if shown is None or not shown.catalog.tables() else tuple(_renamed(shown))
    splits = None if parallelism is None else tuple(scan.splits(parallelism).all)
    planned = DryRun(run, sink, splits, tables, found, STANDARD_INPUT in settings.inputs, routes)
    for target in job.targets:
        for _ in planned.files(target):
            pass
    return planned


def _renamed(job: Job) -> Iterator[TableDef]:
    tables = job.catalog.tables() if job.selection.maps is None else job.shown.catalog.tables()
    check_table_names([table.full_name for table in tables], job.replacements)
    replacer = Replacer(job.replacements) if job.replacements else None
    try:
        for table in tables:
            yield table if replacer is None else replacer.table(table)
    except UnusableName as error:
        raise Abend.of(error.diagnostic) from None
