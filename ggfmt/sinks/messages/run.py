"""Messages as what a run writes: the targets of its handlers, the files of its tasks, and their publication."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from datetime import timedelta
from typing import Any

from ggfmt import engine, signals
from ggfmt.commit.commit import CommitPart, write_errors_stop
from ggfmt.commit.directory import OutputDirectory, latest_moment
from ggfmt.commit.journal import staging_of
from ggfmt.dataclasses import dataclass, replace
from ggfmt.diagnostics.diagnostic import CommittedWithErrors, UsageError
from ggfmt.engine import Run, Sink
from ggfmt.java.text import visible
from ggfmt.location import Location
from ggfmt.model.table import Catalog
from ggfmt.reading.progress import COMMITTING, JOINING, ProgressCallback, added
from ggfmt.reading.runner import Runner
from ggfmt.reading.splits import Split
from ggfmt.reading.tasks import STOP_FILE
from ggfmt.sinks.messages import report
from ggfmt.sinks.messages.execution import RunResults, collect_results, task_of
from ggfmt.sinks.messages.pipeline import HandlerOutput, Job
from ggfmt.sinks.messages.publish import publish
from ggfmt.sinks.messages.report import log_summary
from ggfmt.sinks.messages.sink import MessageOutcome
from ggfmt.sinks.messages.targets import STREAM, RunSettings, check_schema_directories, make_targets

__all__ = ["MessageSink", "RunResult", "RunSettings", "execute", "sink_of"]

TRACE = 5  # below DEBUG; `ggfmt.logs` gives it its name

log = logging.getLogger("ggfmt")


@dataclass(frozen=True)
class RunResult:
    """`manifests` are by output directory, those of the last commit; empty if nothing was committed. `earlier`: the
    runs of the commits before it. `topics`: what goes to each of Kafka."""

    totals: report.RunTotals
    manifests: dict[str, dict[str, Any]]
    topics: tuple[Any, ...] = ()
    earlier: tuple[str, ...] = ()

    @property
    def report(self) -> dict[str, Any]:
        """Return the totals as `--report` writes them, with the seconds of the commit, which no manifest can have."""
        return report.as_document(self.totals)


def execute(
    settings: RunSettings, start: Callable[[], AbstractContextManager[Runner]], progress: ProgressCallback | None = None
) -> RunResult:
    """Run a conversion; arguments and errors as of `engine.execute`."""
    return engine.execute_in_steps(settings, lambda: sink_of(settings), start, progress)


def sink_of(settings: RunSettings) -> MessageSink:
    return (_StreamSink if settings.output == STREAM else MessageSink)(settings)


class MessageSink(Sink[Job, MessageOutcome, RunResult]):
    """Output directories with the messages of all handlers.

    replaced  by output directory, the files that the run replaces, relative to the directory
    streamed  the messages go to standard output, and nothing is committed
    """

    streamed = False
    keeps = True
    results: RunResults
    _started = 0.0  # when tasks did

    def __init__(self, settings: RunSettings, targets: Sequence[HandlerOutput] = ()) -> None:
        self.settings = settings
        self.replaced: dict[OutputDirectory, tuple[str, ...]] = {}
        self.manifests: dict[str, dict[str, Any]] = {}
        self._use(targets)

    def _use(self, targets: Sequence[HandlerOutput]) -> None:
        self.targets: Sequence[HandlerOutput] = targets
        roots = dict.fromkeys(root for target in targets for root in target.roots)
        self.outputs: Sequence[OutputDirectory] = tuple(map(OutputDirectory, roots))

    def check(self, held: ExitStack, dry: bool = False) -> None:
        self._use(make_targets(self.settings))
        check_schema_directories(self.targets)

    def open(self, run: Run) -> None:
        for output in self.outputs:
            handlers = [target.handler for target in self.targets if output.root in target.roots]
            self.replaced[output] = tuple(output.check(handlers, run.mode))
        if run.request.current_timestamp is None and run.mode == "append":
            # A clock may be set back, and names keep the order: the time in names is later than those of all runs.
            latest = latest_moment(self.outputs)
            run.moment = run.moment if latest is None else max(run.moment, latest + timedelta(milliseconds=1))

    def job(self, run: Run) -> Job:
        settings = self.settings
        return Job(
            settings.input_format,
            Catalog(dict(settings.definitions)),
            run=run.id,
            moment=run.moment,
            targets=tuple(self.targets),
            quarantine=settings.quarantine,
            strict=settings.strict,
            current_timestamp=settings.current_timestamp,
            trace=log.isEnabledFor(TRACE),
            replacements=settings.replacements,
            release=settings.release,
            staging={output.root: output.staging(run.id) for output in self.outputs},
        )

    def plan(self, run: Run) -> Job:
        scan = run.scan
        assert scan is not None
        self._log_configuration()
        self._check_inputs(run)
        source, selection = scan.source, scan.request.selection
        job = self.job(run)
        return replace(job, input_format=scan.input_format, reason=scan.reason, source=source, selection=selection)

    def _log_configuration(self) -> None:
        settings = self.settings
        if settings.release is not None:
            log.info("%s", visible(settings.release.reason))
        for config, target in zip(settings.handlers, self.targets, strict=True):
            options = target.settings.options
            if options is not config.options:
                encoding = options.encoding  # type: ignore[attr-defined]
                log.info("handler %s: the native encoding of this machine is %s", config.name, encoding)
            if log.isEnabledFor(logging.DEBUG):
                log.debug("%s", report.configuration_summary(target, self.streamed))
            if config.events:
                from ggfmt.sinks.messages.events import describe

                for line in describe(target, config):
                    log.info("handler %s: %s", config.name, visible(line))
        for line in settings.replacements.summary():
            log.info("%s", line)

    def _check_inputs(self, run: Run) -> None:
        """Raises: UsageError GG501 if the run would delete a file that it reads, under any of its paths."""
        for output, names in self.replaced.items():
            start, replaced = _identity(output.root).rstrip("/") + "/", set(names)
            for file in run.files if replaced else ():
                path = _identity(file.location)
                if path.startswith(start) and path.removeprefix(start) in replaced:
                    message = "the input is part of the output that `--mode overwrite` replaces"
                    raise UsageError("GG501", message, file.shown, "choose another output directory")

    def tasks(self, run: Run) -> MessageSink:
        in_parts = all(target.settings.partition_by_table for target in self.targets)
        if in_parts and not self.streamed and not log.isEnabledFor(TRACE):
            self.scratch = self.outputs[0].staging(run.id).child("routed")
        self._started = time.perf_counter()
        return self

    def task(self, job: Job) -> Callable[[Split, int], MessageOutcome]:
        return task_of(job)

    def discard(self) -> None:
        if any(output.keeps for output in self.outputs):  # a run that goes on with this one meets the same again
            self.go_on()
            return
        for output in self.outputs:
            with write_errors_stop(output.root):
                output.store.delete_tree(staging_of(output.run))

    def go_on(self) -> None:
        for output in self.outputs:
            with write_errors_stop(output.root):
                output.store.delete(f"{staging_of(output.run)}/{STOP_FILE}")

    def collect(self, run: Run, job: Job, outcomes: list[MessageOutcome]) -> None:
        if job.selection:
            run.check_selection({name for outcome in outcomes for name in outcome.source_names})
        run.tracker.set_operations(sum(outcome.operations.total() for outcome in outcomes))
        # A stream is joined as it is written.
        joiner = None if self.streamed else run.runner
        self.results = collect_results(job, outcomes, joiner, run.tracker, run.files)
        run.watch.lap(JOINING)
        totals = self.results.totals
        totals.input_files, totals.input_bytes = len(run.files), sum(file.size for file in run.files)
        totals.seconds_in_tasks = time.perf_counter() - self._started
        totals.application = run.application
        self.rejected = totals.rejects

    def commit(self, run: Run, others: Sequence[CommitPart]) -> None:
        totals = self.results.totals
        totals.seconds = time.perf_counter() - run.started
        totals.steps = added(totals.steps, run.watch.seconds)
        self.publish(run, others)

    def publish(self, run: Run, others: Sequence[CommitPart]) -> None:
        self.manifests = publish(run, self.replaced, self.results, others)

    def report(self, run: Run) -> RunResult:
        results = self.results
        results.totals.steps[COMMITTING] = run.watch.seconds[COMMITTING]
        for handler, text in results.traces:
            log.log(TRACE, "handler %s: %s", handler, visible(text))
        log_summary(results.totals, results.definitions, self.targets)
        return RunResult(results.totals, self.manifests)

    def unchanged(self) -> RunResult:
        return RunResult(report.RunTotals(), {})

    def added(self, before: RunResult, after: RunResult) -> RunResult:
        report.add_totals(before.totals, after.totals)
        runs = {str(manifest["run"]) for manifest in before.manifests.values()} if after.manifests else ()
        return replace(before, manifests=after.manifests or before.manifests, earlier=(*before.earlier, *runs))


class _StreamSink(MessageSink):
    """Standard output. The output directory is temporary."""

    streamed = True
    keeps = False
    is_written = False

    def check(self, held: ExitStack, dry: bool = False) -> None:
        from ggfmt.sinks.messages.stream import check_stream, directory_for_stream, placeholder_directory

        check_stream(self.settings)
        output = placeholder_directory() if dry else directory_for_stream(held)
        self._use(make_targets(replace(self.settings, output=output)))

    def publish(self, run: Run, others: Sequence[CommitPart]) -> None:
        from ggfmt.sinks.messages.stream import write_stream

        (target,) = self.targets
        write_stream(self.results.files, target, self.results.totals.handlers[target.handler])
        self.is_written = True

    def interrupted(self, run: Run) -> KeyboardInterrupt | CommittedWithErrors:
        if not run.decides:
            return super().interrupted(run)
        what = "all messages are" if self.is_written else "some messages may not be"
        return KeyboardInterrupt(f"{signals.interruption()}; {what} on standard output")


def _identity(location: Location) -> str:
    """Return the same text for all paths and URIs of a file."""
    return os.path.realpath(location.path) if location.is_local else location.canonical
