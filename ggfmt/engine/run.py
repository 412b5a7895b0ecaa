"""A run from end to end: plan, discovery, tasks, joins, commit, report."""

from __future__ import annotations

import json
import logging
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Protocol, TypeVar

import pyarrow as pa

from ggfmt import __version__
from ggfmt.config.handler import HandlerConfig
from ggfmt.engine import commit, report
from ggfmt.engine.commit import Journal, Output
from ggfmt.engine.discover import discover
from ggfmt.engine.files import absolute, child
from ggfmt.engine.join import join_group, plan_groups
from ggfmt.engine.names import data_file, reject_file, safe_name, stamp, without_credentials
from ggfmt.engine.plan import Input, Job, Split, Target, plan_inputs, plan_splits
from ggfmt.engine.sink import StagedFile
from ggfmt.engine.worker import Outcome, run_split
from ggfmt.errors import Abend, ConfigurationError, Diagnostic, Span
from ggfmt.formats import FORMATS
from ggfmt.model.table import Catalog, TableDef
from ggfmt.options.kinds import NATIVE, native_charset

log = logging.getLogger("ggfmt")

T = TypeVar("T")
R = TypeVar("R")
Progress = Callable[[int, int], None]

JOIN_IN_TASKS_BYTES = 64 << 20  # less than that the driver joins sooner than a Spark job starts


class Runner(Protocol):
    """Runs one task for each item, on Spark or in this process; results come in the order of the items."""

    @property
    def parallelism(self) -> int: ...

    def run(self, task: Callable[[T, int], R], items: Sequence[T], progress: Progress | None = None) -> list[R]: ...


class InProcess:
    """A runner without Spark, for small work and for tests."""

    parallelism = 1

    def __enter__(self) -> InProcess:
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def run(self, task: Callable[[T, int], R], items: Sequence[T], progress: Progress | None = None) -> list[R]:
        results = []
        for number, item in enumerate(items):
            results.append(task(item, number))
            if progress is not None:
                progress(number + 1, len(items))
        return results


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
    current_timestamp: datetime | None = None
    split_size: int | None = None


@dataclass(frozen=True)
class RunResult:
    totals: report.Totals
    manifest: dict[str, Any]


def make_targets(settings: RunSettings) -> list[Target]:
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
        options = config.options
        if getattr(options, "encoding", None) == NATIVE:
            options = replace(options, encoding=native_charset())  # type: ignore[call-arg]
            log.info("handler %s: the native encoding of this machine is %s", config.name, options.encoding)  # type: ignore[attr-defined]
        targets.append(
            Target(
                config.name,
                config.format,
                options,
                handler.include_tokens,
                handler.partition_by_table,
                handler.max_file_size,
                handler.roll_on_metadata_change,
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
    for target in targets:
        log.info("%s", report.configuration_summary(target))
    input_format, reason, inputs = plan_inputs(settings.inputs, settings.input_format)
    log.info("input format %s: %s", input_format, reason)
    run = f"{stamp(moment)}-{uuid.uuid4().hex[:8]}"
    roots = list(dict.fromkeys(target.root for target in targets))
    with ExitStack() as stack:
        outputs = []
        for root in roots:
            output = Output(root)
            stack.callback(output.release)
            output.acquire()
            outputs.append(output)
        replaced = [
            path
            for output in outputs
            for path in output.check([t.handler for t in targets if t.root == output.root], settings.mode)
        ]
        job = Job(
            run,
            input_format,
            tuple(targets),
            Catalog(settings.definitions or {}),
            quarantine=settings.quarantine,
            current_timestamp=settings.current_timestamp,
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
        rejects = _join([file for o in outcomes for w in o.written.values() for file in w.rejects], targets, runner)
        totals.input_files, totals.input_bytes = len(inputs), sum(item.file.size for item in inputs)
        for file in files:
            totals.handlers[file.handler].files += 1
            totals.handlers[file.handler].size += file.size
        totals.seconds = time.perf_counter() - clock
        totals.seconds_in_tasks = time.perf_counter() - tasks_clock
        tables = report.definitions_met(outcomes)
        manifest = _publish(settings, job, moment, inputs, outputs, replaced, files, rejects, tables, totals)
    for table in tables:
        for target in targets:
            log.info("%s", report.field_summary(target, table))
    log.info("%s", report.totals_summary(totals))
    for warning in report.warnings(totals):
        log.warning("%s", warning)
    return RunResult(totals, manifest)


def _run_tasks(
    job: Job, splits: Sequence[Split], runner: Runner, progress: Progress | None
) -> tuple[Job, list[Outcome]]:
    """The outcomes of all splits, after a discovery pass where definitions are lacking; Abend for the first mistake."""
    if not job.catalog.trusted:
        job = discover(job, splits, runner, progress)
    while True:
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
        return job, outcomes


def _remove_staging(job: Job) -> None:
    for root in job.staging:
        Output(root).drop_staging()


def _join(files: list[StagedFile], targets: Sequence[Target], runner: Runner) -> list[StagedFile]:
    limits = {target.handler: target.max_file_size for target in targets}
    groups = plan_groups(files, limits.__getitem__)
    shared = [group for group in groups if len(group.parts) > 1]
    if sum(part.size for group in shared for part in group.parts) > JOIN_IN_TASKS_BYTES:
        joined = iter(runner.run(join_group, shared))
        return [group.parts[0] if len(group.parts) == 1 else next(joined) for group in groups]
    return [join_group(group, 0) for group in groups]


def _publish(
    settings: RunSettings,
    job: Job,
    moment: datetime,
    inputs: Sequence[Input],
    outputs: Sequence[Output],
    replaced: Sequence[str],
    files: Sequence[StagedFile],
    rejects: Sequence[StagedFile],
    tables: Sequence[TableDef],
    totals: report.Totals,
) -> dict[str, Any]:
    """Commits the run; the manifest."""
    targets = {target.handler: target for target in job.targets}
    moves: list[tuple[str, str]] = []
    listed: list[dict[str, Any]] = []
    taken: dict[tuple[str, str], set[str]] = {}
    run_stamp = stamp(moment)
    by_root = {output.root: output for output in outputs}
    parts: dict[tuple[str, str], int] = {}
    for file, is_reject in [*((file, False) for file in files), *((file, True) for file in rejects)]:
        target = targets[file.handler]
        key = (file.handler, file.table)
        while True:
            part = parts[key] = parts.get(key, -1) + 1
            if is_reject:
                name = reject_file(file.table, run_stamp, part)
            else:
                name = data_file(file.table, run_stamp, part, target.suffix)
            path = child(target.handler, name)
            directory = path.rsplit("/", 1)[0]
            if settings.mode == "append" and (target.root, directory) not in taken:
                taken[target.root, directory] = by_root[target.root].existing(directory)
            if path.rsplit("/", 1)[1] not in taken.get((target.root, directory), ()):
                break
        moves.append((file.path, child(target.root, path)))
        listed.append(
            {
                "handler": file.handler,
                "path": path if len(outputs) == 1 else child(without_credentials(target.root), path),
                **({"rejects": file.operations} if is_reject else {"table": file.table, "operations": file.operations}),
                "bytes": file.size,
                "sha256": file.sha256,
                **({} if is_reject else {"first_position": file.first_position, "last_position": file.last_position}),
            }
        )
    manifest = {
        "ggfmt": __version__,
        "run": job.run,
        "mode": settings.mode,
        "input_format": job.input_format,
        "inputs": [{"path": without_credentials(item.file.path), "bytes": item.file.size} for item in inputs],
        "handlers": {name: _configuration(target) for name, target in targets.items()},
        "files": listed,
        "totals": report.as_document(totals),
    }
    writes = [commit.small_write(path, content) for path, content in _schema_files(job.targets, tables, moment).items()]
    text = json.dumps(manifest, indent=2, ensure_ascii=False).encode()
    writes += [commit.small_write(commit.manifest_path(output.root), text) for output in outputs]
    journal = Journal(job.run, tuple(o.root for o in outputs), tuple(moves), tuple(replaced), tuple(writes))
    try:
        commit.publish(outputs, journal)
    except (OSError, pa.ArrowException) as error:
        reason = getattr(error, "strerror", None) or str(error).split("\n", 1)[0]
        help = "remove the cause; the next run to this directory ends the commit before it starts"
        raise Abend(
            Diagnostic("GG506", f"the commit was interrupted: {reason}", Span(file=outputs[0].root), help)
        ) from None
    return manifest


def _configuration(target: Target) -> dict[str, Any]:
    """A handler's configuration as properties, those at their default left out."""
    options = {spec.name: spec.kind.render(value) for spec, value in target.options.non_defaults()}
    return {"format": target.format, "includeTokens": target.include_tokens, "options": options}


def _schema_files(targets: Sequence[Target], tables: Sequence[TableDef], moment: datetime) -> dict[str, bytes]:
    """Paths and contents of the schemas of all definitions met; of several of one table the last, and all of them as
    copies with a time stamp under `versionSchemas`."""
    files: dict[str, bytes] = {}
    for target in targets:
        make = FORMATS[target.format].schema
        if make is None:
            continue
        directories = [getattr(target.options, "schema_directory", None), target.schema_path]
        for number, table in enumerate(tables):
            schema = make(table, target.options)
            if schema is None:
                continue
            for directory in filter(None, directories):
                files[child(absolute(directory), safe_name(schema.name))] = schema.content
                if getattr(target.options, "version_schemas", False):
                    version = stamp(moment + timedelta(milliseconds=number))
                    name = schema.name.replace(table.full_name, f"{table.full_name}_{version}", 1)
                    files[child(absolute(directory), safe_name(name))] = schema.content
    return files
