"""A run from end to end: plan, discovery, tasks, joins, commit, report."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

from ggfmt.columnar.replacement import two_tables
from ggfmt.config.handlers import HandlerConfig
from ggfmt.diagnostics.diagnostic import Abend, ConfigurationError, Diagnostic, Span, UsageError
from ggfmt.engine import report
from ggfmt.engine.discovery import discover
from ggfmt.engine.files import absolute, not_writable
from ggfmt.engine.output.commit import OutputDirectory
from ggfmt.engine.output.join import join_group, plan_groups
from ggfmt.engine.output.names import stamp
from ggfmt.engine.output.publish import Naming, describe, publish, schema_directories, schema_files
from ggfmt.engine.output.staging import StagedFile
from ggfmt.engine.plan import (
    HandlerOutput,
    Job,
    PlannedInput,
    Split,
    plan_inputs,
    plan_splits,
    settled_options,
    with_defaults,
)
from ggfmt.engine.runner import Progress, Runner
from ggfmt.engine.task import Outcome, run_split
from ggfmt.formats import FORMATS
from ggfmt.formats.api.context import DEFAULT_SETTINGS, Context, WriterSettings
from ggfmt.model.table import Catalog, TableDef
from ggfmt.options.replacements import Replacements

TRACE = 5  # below DEBUG; `ggfmt.logs` gives it its name

log = logging.getLogger("ggfmt")

JOIN_IN_TASKS_BYTES = 64 << 20  # less than that the driver joins sooner than a Spark job starts


@dataclass(frozen=True)
class RunSettings:
    """What `ggfmt run` was asked for. `output` None means each handler's `rootFilePath`."""

    inputs: Sequence[str]
    handlers: Sequence[HandlerConfig]
    output: str | None = None
    input_format: str = "auto"
    definitions: dict[str, TableDef] | None = None
    mode: str = "error"
    quarantine: bool = False
    strict: bool = False
    current_timestamp: datetime | None = None
    split_size: int | None = None
    release: str = "12.2"
    source: WriterSettings = DEFAULT_SETTINGS
    replacements: Replacements = field(default_factory=Replacements)


@dataclass(frozen=True)
class RunResult:
    totals: report.Totals
    manifest: dict[str, Any]


def make_targets(settings: RunSettings) -> list[HandlerOutput]:
    """One target for each handler; ConfigurationError GG109 where there is nowhere to write to."""
    problems = []
    targets = []
    for config in settings.handlers:
        handler = config.handler
        root = settings.output or handler.root_file_path
        if root is None:
            problems.append(
                Diagnostic(
                    "GG109",
                    f"handler `{config.name}` has no output directory",
                    help=f"give `-o DIR` or set `gg.handler.{config.name}.rootFilePath`",
                )
            )
            continue
        options = settled_options(config.options)
        if options is not config.options:
            log.info("handler %s: the native encoding of this machine is %s", config.name, options.encoding)  # type: ignore[attr-defined]
        roll = handler.roll_on_metadata_change or FORMATS[config.format].by_table
        mixed = not (handler.partition_by_table and roll)
        targets.append(
            HandlerOutput(
                config.name,
                config.format,
                options,
                Context(handler.include_tokens, settings.release, handler.compression_codec, mixed),
                handler.partition_by_table,
                handler.max_file_size,
                roll,
                absolute(root),
                handler.file_suffix,
                handler.schema_file_path,
            )
        )
    if problems:
        raise ConfigurationError(*problems)
    return targets


def execute(
    settings: RunSettings,
    start: Callable[[], AbstractContextManager[Runner]],
    progress: Progress | None = None,
) -> RunResult:
    """Carries a run out. `start` starts the runner, which is not done before everything else has been checked.

    Abend if nothing was committed because of the data, UsageError or ConfigurationError if the run makes no sense.
    """
    clock = time.perf_counter()
    moment = settings.current_timestamp or datetime.now()
    targets = make_targets(settings)
    _check_schema_directories(targets)
    for target in targets:
        log.info("%s", report.configuration_summary(target))
    for line in settings.replacements.summary():
        log.info("%s", line)
    input_format, reason, inputs = plan_inputs(settings.inputs, settings.input_format, settings.source)
    log.info("input format %s: %s", input_format, reason)
    run = f"{stamp(moment)}-{uuid.uuid4().hex[:8]}"
    roots = list(dict.fromkeys(target.root for target in targets))
    with ExitStack() as stack:
        outputs = []
        for root in roots:
            output = OutputDirectory(root)
            output.acquire()
            stack.callback(output.release)  # only of what was acquired: another run may be at work in there
            outputs.append(output)
        replaced = [
            path
            for output in outputs
            for path in output.check([t.handler for t in targets if t.root == output.root], settings.mode)
        ]
        _check_inputs(inputs, replaced)
        job = Job(
            run,
            input_format,
            tuple(targets),
            Catalog(settings.definitions or {}),
            quarantine=settings.quarantine,
            strict=settings.strict,
            current_timestamp=settings.current_timestamp,
            source=with_defaults(settings.source, input_format),
            trace=log.isEnabledFor(TRACE),
            replacements=settings.replacements,
            staging={output.root: output.staging(run) for output in outputs},
        )
        runner = stack.enter_context(start())
        tasks_clock = time.perf_counter()
        splits = plan_splits(inputs, runner.parallelism, settings.split_size)
        job, outcomes = _run_tasks(job, splits, runner, progress)
        totals = report.add_up(outcomes, targets)
        imbalance = totals.imbalance()
        if imbalance is not None:
            raise Abend(Diagnostic("GG507", f"the operations do not add up: {imbalance}"))
        files = _join([file for o in outcomes for w in o.written.values() for file in w.files], targets, runner)
        # Not joined: what is told of a reject has its place in the file of the same number.
        rejects = [file for outcome in outcomes for written in outcome.written.values() for file in written.rejects]
        totals.input_files, totals.input_bytes = len(inputs), sum(item.file.size for item in inputs)
        for file in files:
            totals.handlers[file.handler].files += 1
            totals.handlers[file.handler].size += file.size
        totals.seconds = time.perf_counter() - clock
        totals.seconds_in_tasks = time.perf_counter() - tasks_clock
        tables = report.definitions_met(outcomes)
        manifest = publish(
            job,
            Naming(outputs, moment, settings.mode == "append"),
            outputs,
            replaced,
            files,
            rejects,
            schema_files(targets, tables, moment),
            describe(job, settings.mode, inputs, totals),
        )
    for outcome in outcomes:
        for name, written in outcome.written.items():
            for text in written.traces:
                log.log(TRACE, "handler %s: %s", name, text)
    for table in tables:
        for target in targets:
            log.info("%s", report.field_summary(target, table))
    log.info("%s", report.totals_summary(totals))
    for warning in report.warnings(totals):
        log.warning("%s", warning)
    return RunResult(totals, manifest)


def _check_inputs(inputs: Sequence[PlannedInput], replaced: Sequence[str]) -> None:
    """UsageError if the run would delete what it reads."""
    for item in inputs:
        if item.file.path in replaced:
            message = "the input is among the output that `--mode overwrite` replaces"
            raise UsageError(Diagnostic("GG501", message, Span(file=item.file.shown), "give another output directory"))


def _check_schema_directories(targets: Sequence[HandlerOutput]) -> None:
    """Abend if schemas could not be written once the run is decided: they lie outside of the output directory."""
    for target in targets:
        for directory in schema_directories(target):
            problem = not_writable(directory)
            if problem is not None:
                help = "set another `schemaDirectory` or `schemaFilePath`"
                message = f"the schema directory of handler `{target.handler}` cannot be written: {problem}"
                raise Abend(Diagnostic("GG506", message, Span(file=directory), help))


def _run_tasks(
    job: Job, splits: Sequence[Split], runner: Runner, progress: Progress | None
) -> tuple[Job, list[Outcome]]:
    """The outcomes of all splits, after a discovery pass where definitions are lacking; Abend for the first mistake."""
    if not job.catalog.trusted:
        job = discover(job, splits, runner, progress)
    while True:
        _check_names(job, job.catalog.current)
        outcomes = runner.run(partial(run_split, job), splits, progress)
        if any(outcome.undefined for outcome in outcomes) and not job.settled:
            log.info(
                "the data has tables or metadata records that no definition file describes: looking for all of them"
            )
            _remove_staging(job)
            job = discover(job, splits, runner, progress)
            continue
        for outcome in outcomes:
            if outcome.abend is not None:
                raise Abend(outcome.abend)
        if any(outcome.stopped or outcome.undefined for outcome in outcomes):
            raise Abend(Diagnostic("GG507", "a task was stopped without a reason"))
        met = [seen for outcome in outcomes for seen in outcome.seen]
        _check_names(job, [seen.source for seen in sorted(met, key=lambda seen: (seen.split, seen.ordinal))])
        return job, outcomes


def _check_names(job: Job, tables: Iterable[str]) -> None:
    """Abend if two tables of the input have one name after the replacement: their order could not be kept."""
    diagnostic = two_tables(tables, job.replacements.schema)
    if diagnostic is not None:
        raise Abend(diagnostic)


def _remove_staging(job: Job) -> None:
    for root in job.staging:
        OutputDirectory(root).drop_staging()


def _join(files: list[StagedFile], targets: Sequence[HandlerOutput], runner: Runner) -> list[StagedFile]:
    limits = {target.handler: target.max_file_size for target in targets}
    groups = plan_groups(files, limits.__getitem__)
    shared = [group for group in groups if len(group.parts) > 1]
    if sum(part.size for group in shared for part in group.parts) > JOIN_IN_TASKS_BYTES:
        joined = iter(runner.run(join_group, shared))
        return [group.parts[0] if len(group.parts) == 1 else next(joined) for group in groups]
    return [join_group(group, 0) for group in groups]
