"""A run from end to end: prepare it, run its tasks, publish the output."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from typing import Any

from ggfmt import signals
from ggfmt.commit.commit import reason
from ggfmt.commit.store import FAILURES
from ggfmt.diagnostics.diagnostic import Abend, CommittedWithErrors, Diagnostic, Span
from ggfmt.java.text import visible
from ggfmt.scan.progress import COMMITTING, LISTING, STARTING, ProgressCallback, ProgressTracker, Stopwatch, added
from ggfmt.scan.runner import InProcess, Runner, warn_without_kernels
from ggfmt.sinks.messages import report
from ggfmt.sinks.messages.execution import execute_tasks
from ggfmt.sinks.messages.preparation import TRACE, PreparedRun, RunSettings, check_inputs_unchanged, prepare
from ggfmt.sinks.messages.publish import is_committed, publish
from ggfmt.sinks.messages.stream import write_stream
from ggfmt.sinks.messages.summary import log_summary

__all__ = ["RunResult", "RunSettings", "execute"]

log = logging.getLogger("ggfmt")


@dataclass(frozen=True)
class RunResult:
    """`manifests` are by output directory; empty if nothing was committed."""

    totals: report.Totals
    manifests: dict[str, dict[str, Any]]

    @property
    def report(self) -> dict[str, Any]:
        """The totals as `--report` writes them: with the seconds of the commit, which no manifest can contain."""
        return report.as_document(self.totals)


def execute(
    settings: RunSettings,
    start: Callable[[], AbstractContextManager[Runner]],
    progress: ProgressCallback | None = None,
) -> RunResult:
    """Run a conversion. `start` starts the runner; it is called only after all other checks.
    `progress` is called with each change of the progress, on this thread or one of the runner's.

    Abend if nothing was committed because of the data, UsageError or ConfigurationError for a wrong request. If a
    signal interrupts the run: KeyboardInterrupt if nothing was committed, else CommittedWithErrors GG550.
    """
    running = _RunExecution(settings, start, ProgressTracker(progress))
    try:
        result = running.run()
        signals.suspend()  # the run is committed: a later signal must not say otherwise
        return result
    except KeyboardInterrupt:
        raise running.interrupted() from None


class _RunExecution:
    """One run, and its state for the case that it is interrupted."""

    def __init__(
        self, settings: RunSettings, start: Callable[[], AbstractContextManager[Runner]], following: ProgressTracker
    ) -> None:
        self._settings, self._start, self._following = settings, start, following
        self._committing: PreparedRun | None = None
        self._manifests: dict[str, dict[str, Any]] | None = None

    def run(self) -> RunResult:
        settings, start, following = self._settings, self._start, self._following
        started, watch = time.perf_counter(), Stopwatch()
        with ExitStack() as stack:
            following.start_phase(LISTING)
            prepared = prepare(settings, stack)
            watch.lap(LISTING)
            if prepared.idle is not None:
                log.info("nothing to do: %s", prepared.idle)
                if prepared.checkpoint is not None:
                    prepared.checkpoint.record_renewed(prepared.job.run)
                return RunResult(report.Totals(), {})
            warn_without_kernels()
            if start is not InProcess:
                following.start_phase(STARTING)
            runner = stack.enter_context(start())
            watch.lap(STARTING)
            try:
                results = execute_tasks(prepared, runner, watch, following)
            except Abend:
                check_inputs_unchanged(
                    prepared.files
                )  # if a file was cut meanwhile, half a record is no mistake in the data
                raise
            results.totals.seconds = time.perf_counter() - started
            results.totals.steps = added(results.totals.steps, watch.seconds)
            watch.lap(None)
            checkpoint, job = prepared.checkpoint, results.job
            others = []
            if checkpoint is not None:
                others.append(checkpoint.part(job.run, job.targets, prepared.inputs))
            check_inputs_unchanged(prepared.files)  # last, so that the checkpoint records what the run has read
            following.start_phase(COMMITTING)
            self._committing = prepared
            if prepared.stream:
                (target,) = results.job.targets
                write_stream(results.files, target, results.totals.handlers[target.handler])
                self._manifests = {}
            else:
                self._manifests = publish(prepared, results, others)
            watch.lap(COMMITTING)
            results.totals.steps[COMMITTING] = watch.seconds[COMMITTING]
        for handler, text in results.traces:
            log.log(TRACE, "handler %s: %s", handler, visible(text))
        log_summary(results)
        return RunResult(results.totals, self._manifests)

    def interrupted(self) -> KeyboardInterrupt | CommittedWithErrors:
        """The exception for an interrupted run; exit code 130 if nothing was committed."""
        prepared, what_happened = self._committing, signals.interruption()
        nothing = KeyboardInterrupt(f"{what_happened}; nothing was committed")
        if prepared is None:
            return nothing
        if prepared.stream:
            what = "all messages are" if self._manifests is not None else "not all messages may be"
            return KeyboardInterrupt(f"{what_happened}; {what} on standard output")
        place = Span(file=prepared.outputs[0].root.shown)
        try:
            if self._manifests is None and not is_committed(prepared):
                return nothing
        except (Abend, *FAILURES) as error:
            message = f"{what_happened}, and it is not known whether the run is committed"
            return CommittedWithErrors(
                Diagnostic("GG550", f"{message}: {reason(error)}", place, "run `ggfmt verify` on it")
            )
        help = "do not run it again: the output is complete"
        return CommittedWithErrors(Diagnostic("GG550", f"{what_happened}, but the run is committed", place, help))
