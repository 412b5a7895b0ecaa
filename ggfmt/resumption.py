"""Runs that go on where an interrupted one has stopped, as the same run."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from datetime import datetime
from typing import Any

from ggfmt.commit.commit import Participant
from ggfmt.commit.interrupted import KEPT_DAYS, Interrupted, interrupted_runs
from ggfmt.commit.journal import staging_of
from ggfmt.commit.locking import machine_since_start
from ggfmt.commit.names import counted
from ggfmt.commit.store import FAILURES
from ggfmt.location import Location
from ggfmt.reading.resume import Results, digest_of
from ggfmt.reading.runner import Runner
from ggfmt.version import VERSION

log = logging.getLogger("ggfmt")


def take_up(request: Any, outputs: Sequence[Participant], committed: datetime | None) -> tuple[str, Interrupted] | None:
    """Return the run that an interrupted process has left in the outputs, if it had the same request.

    `request`: one of `engine.RunRequest`. `committed`: the moment of the last run that is committed there.
    """
    found, digest = None, _digest(request)
    for run, left in interrupted_runs(outputs[0].store):
        # Names have the moment, and keep the order of commits. A moment that was given may be that of several runs.
        passed = committed is not None and committed >= datetime.fromisoformat(left.moment)
        useless = request.resume is False or found is not None or (passed and request.current_timestamp is None)
        if not useless and (left.request != digest or left.ggfmt != VERSION):
            log.info("run %s was interrupted, with another request; `--fresh` removes its files", run)
        elif useless:
            for output in outputs:
                output.store.delete_tree(staging_of(run))
        else:
            log.info("going on with run %s, which was interrupted", run)
            found = run, left
    return found


def keep_results(
    request: Any, run: str, moment: datetime, runner: Runner, outputs: Sequence[Participant], left: Interrupted | None
) -> tuple[Runner, ExitStack]:
    """Return a runner that keeps the results of tasks, and takes those that an interrupted process has `left`; and what
    has to be closed at the end of the run, before the outputs are unlocked."""
    held, digest = ExitStack(), _digest(request)
    if not digest:
        return runner, held
    machine = _machine(outputs[0].root)
    parallelism, processes = (runner.parallelism, 0) if left is None else (left.parallelism, left.processes)
    note = Interrupted(VERSION, digest, moment.isoformat(), parallelism, machine, processes + 1)
    for output in outputs:
        note.write(output.store, run)
        output.keeps = True
    trusted = left is None or left.machine == machine != ""
    staging, roots = [output.staging(run) for output in outputs], [output.root for output in outputs]
    results = Results(staging, roots, parallelism, processes, trusted)

    def end() -> None:
        with suppress(*FAILURES):  # a store may not answer, which is why the run ends
            count = results.count()
            for output in outputs:
                output.keeps = count > 0
            if count:
                there = f"{counted(count, 'result')} of tasks stay for {KEPT_DAYS} days"
                log.warning("%s: the same command goes on with them; `--fresh` starts again", there)

    held.callback(end)
    return results.over(runner), held


def _digest(request: Any) -> str:
    """Return a digest of a request; an empty text if it has none."""
    try:
        return digest_of(replace(request, resume=None))
    except TypeError as error:
        log.debug("the run cannot be resumed: %s", error)
        return ""


def _machine(root: Location) -> str:
    """Return a text that is another one if files may have lost what was written to them."""
    return machine_since_start() or "" if root.is_local else "a store"
