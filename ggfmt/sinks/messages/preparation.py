"""Preparation of a run: checks of inputs, handlers and output directories before it reads or starts anything."""

from __future__ import annotations

import logging
import os
import uuid
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone

from ggfmt.commit.commit import check_directories, lock_all, reason, write_error
from ggfmt.commit.directory import OutputDirectory
from ggfmt.commit.journal import is_below
from ggfmt.commit.names import METADATA_DIRECTORY, counted, stamp
from ggfmt.config.handler_options import HandlerConfig, RunOptions, absolute_paths
from ggfmt.config.lint.releases import ReleaseFinding
from ggfmt.config.refusals import layout_refusals
from ggfmt.diagnostics.diagnostic import Abend, ConfigurationError, Diagnostic, Span, UsageError
from ggfmt.java.text import visible
from ggfmt.location import Location, remedy, write_problem
from ggfmt.model.table import Catalog
from ggfmt.options.value_types import Replacements
from ggfmt.reading.checkpoint import Checkpoint, open_checkpoint
from ggfmt.reading.files import InputFile
from ggfmt.reading.files import check_inputs_unchanged as check_inputs_unchanged
from ggfmt.reading.recognition import PlannedInput
from ggfmt.reading.scan import Scan, ScanRequest
from ggfmt.reading.standard_input import ARGUMENT as STANDARD_INPUT
from ggfmt.reading.standard_input import check_standard_input, spooled_standard_input
from ggfmt.sinks.messages import report
from ggfmt.sinks.messages.events import BELOW, describe, with_stages
from ggfmt.sinks.messages.layout import Layout
from ggfmt.sinks.messages.pipeline import HandlerOutput, HandlerSettings, Job
from ggfmt.sinks.messages.stream import ARGUMENT as STREAM
from ggfmt.sinks.messages.stream import check_stream, directory_for_stream, placeholder_directory

TRACE = 5  # below DEBUG; `ggfmt.logs` gives it its name

log = logging.getLogger("ggfmt")


def chosen_layout(config: HandlerConfig, run_options: RunOptions) -> Layout:
    handler = config.handler
    problems = list(layout_refusals(config, run_options))
    if problems:
        raise ConfigurationError(*problems)
    for problem in absolute_paths(handler):
        log.info("handler %s: `%s` %s", config.name, problem.property, problem.message)
    return Layout(
        handler.file_suffix,
        handler.path_mapping_template,
        handler.file_name_mapping_template,
        handler.partitioner,
        run_options.group_name or "",
    )


@dataclass(frozen=True, kw_only=True)
class RunSettings(ScanRequest):
    handlers: Sequence[HandlerConfig]
    output: str | None = None
    mode: str = "error"
    quarantine: bool = False
    strict: bool = False
    current_timestamp: datetime | None = None
    run_options: RunOptions = field(default_factory=RunOptions)
    replacements: Replacements = field(default_factory=Replacements)
    release: ReleaseFinding | None = None
    checkpoint: str | None = None
    settle: float | None = None
    event_handlers: str = BELOW


@dataclass(frozen=True)
class PreparedRun:
    """A run that can start.

    scan        what is read; None for operations that are not read from inputs
    outputs     output directories, which are locked for the run
    replaced    for each output directory the files that the run replaces, relative to the directory
    idle        why a run with a checkpoint has nothing to do
    stream      the run writes to standard output: its directory is temporary, and nothing is committed
    """

    job: Job
    scan: Scan | None
    outputs: tuple[OutputDirectory, ...]
    replaced: tuple[tuple[str, ...], ...]
    mode: str
    checkpoint: Checkpoint | None = None
    idle: str | None = None
    stream: bool = False

    @property
    def moment(self) -> datetime:
        return self.job.moment

    @property
    def files(self) -> Sequence[InputFile]:
        return () if self.scan is None else self.scan.files

    @property
    def inputs(self) -> Sequence[PlannedInput]:
        return () if self.scan is None else self.scan.inputs


def prepare(settings: RunSettings, held: ExitStack, dry: bool = False) -> PreparedRun:
    """Check everything that can be checked before the run; `held` unlocks the output directories.

    `dry`: write and lock nothing, and leave standard input. UsageError or ConfigurationError for a wrong request, Abend
    if an input cannot be read or an output written.
    """
    check_standard_input(settings.inputs, settings.checkpoint)
    stream = settings.output == STREAM
    if stream:
        handlers = [handler.name for handler in settings.handlers]
        chained = any(handler.executed_handlers for handler in settings.handlers)
        check_stream(handlers, settings.mode, settings.quarantine, settings.checkpoint, chained)
        settings = replace(settings, output=placeholder_directory() if dry else directory_for_stream(held))
    targets = make_targets(settings)
    if not stream:
        _check_schema_directories(targets)
    outputs = _directories(targets)
    checkpoint = open_checkpoint(settings.checkpoint, settings.settle, settings.mode, outputs, settings.selection)
    moment = settings.current_timestamp or now()
    run = run_id(moment)
    # Before the listing: the inputs may contain files that an earlier run has begun to commit.
    participants = [*outputs, *filter(None, [checkpoint])]
    if not dry:
        lock_all(participants, run, held)
    elif not stream:
        check_directories(participants)
    mode = settings.mode if checkpoint is None else checkpoint.bind(targets, outputs, settings.mode)
    replaced = _replaced(targets, outputs, mode)
    if dry:
        settings = replace(settings, inputs=[given for given in settings.inputs if given != STANDARD_INPUT])
        files = settings.list()
    else:
        files = settings.list(spooled_standard_input(held))
    idle = None
    if checkpoint is not None:
        chosen = checkpoint.choose(files, settings.settle)
        files, idle = chosen.files, None if chosen.files else str(chosen)
    scan = Scan(settings, files)
    scan.open_all()
    _log_configuration(settings, targets, stream)
    if idle is None and not dry:
        log.info("input format %s: %s", scan.input_format, visible(scan.reason))
    if files and not scan.size:
        log.warning("the input is empty: %s of 0 bytes", counted(len(files), "file"))
    for output, names in zip(outputs, replaced, strict=True):
        _check_inputs(files, output.root, set(names))
    moment = _moment(settings.current_timestamp, mode, moment, outputs)
    job = _job(settings, run, moment, targets, outputs)
    job = replace(
        job, input_format=scan.input_format, reason=scan.reason, source=scan.source, selection=scan.request.selection
    )
    return PreparedRun(job, scan, outputs, replaced, mode, checkpoint, idle, stream)


def prepare_output(settings: RunSettings, held: ExitStack) -> PreparedRun:
    targets = make_targets(settings)
    _check_schema_directories(targets)
    outputs = _directories(targets)
    moment = settings.current_timestamp or now()
    run = run_id(moment)
    lock_all(outputs, run, held)
    replaced = _replaced(targets, outputs, settings.mode)
    job = _job(settings, run, _moment(settings.current_timestamp, settings.mode, moment, outputs), targets, outputs)
    return PreparedRun(job, None, outputs, replaced, settings.mode)


def prepare_commit(job: Job, mode: str, held: ExitStack) -> PreparedRun:
    """Prepare a run again that another process has prepared, once its tasks have ended: repeat all checks.

    Abend GG506 if another run has added to the output in the meantime: by the times in names, this one came first.
    """
    outputs = _directories(job.targets)
    lock_all(outputs, job.run, held)
    replaced = _replaced(job.targets, outputs, mode)
    if _moment(job.current_timestamp, mode, job.moment, outputs) != job.moment:
        message = "another run has added files to the output since this run started"
        raise Abend(
            Diagnostic(
                "GG506", message, Span(file=outputs[0].root.shown), "nothing was committed; write the frame again"
            )
        )
    return PreparedRun(job, None, outputs, replaced, mode)


def now() -> datetime:
    return datetime.now(timezone.utc).replace(tzinfo=None)


def run_id(moment: datetime) -> str:
    return f"{stamp(moment)}-{uuid.uuid4().hex[:8]}"


def _directories(targets: Sequence[HandlerOutput]) -> tuple[OutputDirectory, ...]:
    return tuple(OutputDirectory(root) for root in dict.fromkeys(root for target in targets for root in target.roots))


def _replaced(
    targets: Sequence[HandlerOutput], outputs: Sequence[OutputDirectory], mode: str
) -> tuple[tuple[str, ...], ...]:
    """Return for each output directory the files that the run replaces; errors as of `OutputDirectory.check`."""
    return tuple(
        tuple(output.check([target.handler for target in targets if output.root in target.roots], mode))
        for output in outputs
    )


def _moment(given: datetime | None, mode: str, moment: datetime, outputs: Sequence[OutputDirectory]) -> datetime:
    """Return the time in names; to append, a later one than all runs: a clock may be set back, names keep the order."""
    if given is not None or mode != "append":
        return moment
    latest = [found for output in outputs if (found := output.latest_moment()) is not None]
    return max([moment, *(found + timedelta(milliseconds=1) for found in latest)])


def _job(
    settings: RunSettings,
    run: str,
    moment: datetime,
    targets: Sequence[HandlerOutput],
    outputs: Sequence[OutputDirectory],
) -> Job:
    return Job(
        settings.input_format,
        Catalog(dict(settings.definitions)),
        run=run,
        moment=moment,
        targets=tuple(targets),
        quarantine=settings.quarantine,
        strict=settings.strict,
        current_timestamp=settings.current_timestamp,
        trace=log.isEnabledFor(TRACE),
        replacements=settings.replacements,
        release=settings.release,
        staging={output.root: output.staging(run) for output in outputs},
    )


def _log_configuration(settings: RunSettings, targets: Sequence[HandlerOutput], stream: bool) -> None:
    if settings.release is not None:
        log.info("%s", visible(settings.release.reason))
    for config, target in zip(settings.handlers, targets, strict=True):
        options = target.settings.options
        if options is not config.options:
            encoding = options.encoding  # type: ignore[attr-defined]
            log.info("handler %s: the native encoding of this machine is %s", config.name, encoding)
        log.info("%s", report.configuration_summary(target, stream, log.isEnabledFor(logging.DEBUG)))
        for line in describe(target, config):
            log.info("handler %s: %s", config.name, visible(line))
    for line in settings.replacements.summary():
        log.info("%s", line)


def make_targets(settings: RunSettings) -> list[HandlerOutput]:
    """Return a target for each handler. ConfigurationError GG109 without an output directory, GG515 for a layout."""
    problems = []
    targets = []
    for config in settings.handlers:
        handler = config.handler
        given = settings.output or handler.root_file_path
        if given is None:
            message = f"handler `{config.name}` has no output directory"
            help = f"give `-o DIR` or set `gg.handler.{config.name}.rootFilePath`"
            problems.append(Diagnostic("GG109", message, help=help))
            continue
        try:
            root = Location.of(given)
            root.file_system()
        except OSError as error:
            message = f"the output cannot be opened: {error}"
            raise UsageError(Diagnostic("GG506", message, Span(file=given), getattr(error, "help", None))) from None
        own = HandlerSettings.of(config, settings.run_options)
        layout = chosen_layout(config, settings.run_options)
        output = HandlerOutput(own, root, handler.max_file_size, layout, handler.schema_file_path)
        targets.append(with_stages(output, config, settings.run_options.group_name or "", settings.event_handlers))
    if problems:
        raise ConfigurationError(*problems)
    return targets


def _check_inputs(files: Sequence[InputFile], root: Location, replaced: Collection[str]) -> None:
    """UsageError if the run would delete a file that it reads, under any of its paths."""
    start = _identity(root).rstrip("/") + "/"
    for file in files if replaced else ():
        path = _identity(file.location)
        if path.startswith(start) and path.removeprefix(start) in replaced:
            message = "the input is part of the output that `--mode overwrite` replaces"
            raise UsageError(Diagnostic("GG501", message, Span(file=file.shown), "choose another output directory"))


def _identity(location: Location) -> str:
    """Return the same text for all paths and URIs of a file."""
    return os.path.realpath(location.path) if location.is_local else location.canonical


def _check_schema_directories(targets: Sequence[HandlerOutput]) -> None:
    """Abend if ggfmt could not write schemas once the run is decided; errors for directories that leave the output."""
    help = "set another `schemaDirectory` or `schemaFilePath`"
    for target in targets:
        problem = write_problem(target.root)
        if problem is not None:  # schemas within it cannot work either
            raise Abend(write_error(target.root, problem))
        what = f"the schema directory of handler `{target.handler}`"
        try:
            for directory in target.schema_directories:
                directory.file_system()
                place = Span(file=directory.shown)
                inside = directory.child("x").name_below(target.root)
                if inside is not None and (not is_below(inside) or inside.startswith(f"{METADATA_DIRECTORY}/")):
                    message = f"{what} is relative, but not within the output directory"
                    raise ConfigurationError(Diagnostic("GG103", message, place, f"{help}, or an absolute path"))
                problem = write_problem(directory)
                if problem is not None:
                    message = f"{what} cannot be written: {reason(problem)}"
                    raise Abend(Diagnostic("GG506", message, place, remedy(problem, help) or help))
        except OSError as error:
            advice = "; ".join(filter(None, (getattr(error, "help", None), help)))
            raise UsageError(Diagnostic("GG506", f"{what} cannot be opened: {error}", help=advice)) from None
