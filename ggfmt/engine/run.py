"""A run from end to end: prepared, carried out, published."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from typing import Any

from ggfmt.diagnostics.diagnostic import Abend
from ggfmt.engine import report
from ggfmt.engine.execution import RunResults, carry_out
from ggfmt.engine.output.publish import publish
from ggfmt.engine.output.stream import write_stream
from ggfmt.engine.preparation import TRACE, RunSettings, check_inputs_unchanged, prepare
from ggfmt.engine.progress import Following, Tell
from ggfmt.engine.runner import InProcess, Runner
from ggfmt.engine.steps import COMMITTING, LISTING, STARTING, Stopwatch, added
from ggfmt.java.text import visible

__all__ = ["RunResult", "RunSettings", "execute"]

SPARK_IS_FASTER_BYTES = 256 << 20  # of input: its session takes as long to start as one process for so much

log = logging.getLogger("ggfmt")


@dataclass(frozen=True)
class RunResult:
    totals: report.Totals
    manifest: dict[str, Any]

    @property
    def report(self) -> dict[str, Any]:
        """The totals as `--report` writes them: with the time of the commit, which no manifest can have."""
        return report.as_document(self.totals)


def execute(
    settings: RunSettings,
    start: Callable[[], AbstractContextManager[Runner]],
    progress: Tell | None = None,
) -> RunResult:
    """Carries a run out. `start` starts the runner, which is not done before everything else has been checked.
    `progress` is called with where the run stands when that changes, on this thread or one of the runner's.

    Abend if nothing was committed because of the data, UsageError or ConfigurationError if the run makes no sense.
    """
    started, watch, following = time.perf_counter(), Stopwatch(), Following(progress)
    with ExitStack() as stack:
        following.enter(LISTING)
        prepared = prepare(settings, stack)
        watch.lap(LISTING)
        if prepared.idle is not None:
            log.info("nothing to do: %s", prepared.idle)
            totals = report.Totals()
            return RunResult(totals, {"totals": report.as_document(totals)})
        if start is not InProcess:
            following.enter(STARTING)
        runner = stack.enter_context(start())
        watch.lap(STARTING)
        if isinstance(runner, InProcess) and prepared.input_bytes > SPARK_IS_FASTER_BYTES:
            log.info(
                "%s MB of input for one process: without `--master none`, Spark would take less time",
                f"{prepared.input_bytes >> 20:,}",
            )
        try:
            results = carry_out(prepared, runner, watch, settings.split_size, following)
        except Abend:
            check_inputs_unchanged(prepared.inputs)  # half a record is no mistake in the data where a file was cut
            raise
        results.totals.seconds = time.perf_counter() - started
        results.totals.steps = added(results.totals.steps, watch.seconds)
        watch.lap(None)
        checkpoint, job = prepared.checkpoint, results.job
        others = []
        if checkpoint is not None:
            others.append(checkpoint.part(job.run, job.targets, [item.file for item in prepared.inputs]))
        check_inputs_unchanged(prepared.inputs)  # last, so that what is remembered of them is of what was read
        following.enter(COMMITTING)
        if prepared.stream:
            (target,) = results.job.targets
            write_stream(results.files, target, results.totals.handlers[target.handler])
            manifest = {"totals": report.as_document(results.totals)}
        else:
            manifest = publish(prepared, results, others)
        watch.lap(COMMITTING)
        results.totals.steps[COMMITTING] = watch.seconds[COMMITTING]
    _tell(results)
    return RunResult(results.totals, manifest)


def _tell(results: RunResults) -> None:
    for handler, text in results.traces:
        log.log(TRACE, "handler %s: %s", handler, visible(text))
    for table in results.definitions:
        for target in results.job.targets:
            log.info("%s", report.field_summary(target, table))
    log.info("%s", report.totals_summary(results.totals))
    for warning in report.warnings(results.totals):
        log.warning("%s", warning)
