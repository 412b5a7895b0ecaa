"""Runs that go on where an interrupted one has stopped, as the same run."""

from __future__ import annotations

import logging
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ggfmt.commit.interrupted import KEPT_DAYS, Interrupted, interrupted_runs
from ggfmt.commit.journal import staging_of
from ggfmt.commit.locking import machine_since_start
from ggfmt.commit.names import counted
from ggfmt.location import Location
from ggfmt.reading.resume import Results, digest_of
from ggfmt.version import VERSION

if TYPE_CHECKING:
    from ggfmt.engine import Run, RunRequest, Sink

log = logging.getLogger("ggfmt")


def _digest(request: RunRequest) -> str:
    """Return a digest of a request; an empty text if it has none."""
    try:
        return digest_of(replace(request, resume=None))
    except TypeError as error:
        log.debug("the run cannot be resumed: %s", error)
        return ""


def _machine(root: Location) -> str:
    """Return what changes if files may have lost what was written to them."""
    return machine_since_start() or "" if root.is_local else root.store.prefix


def take_up(run: Run, sink: Sink[Any, Any, Any]) -> None:
    """Make a run the one that an interrupted process has left in the outputs, if the request is the same."""
    first, request = sink.outputs[0], run.request
    committed = sink.latest_moment()
    for id, left in interrupted_runs(first.store):
        moment = datetime.fromisoformat(left.moment)
        same = left.request == _digest(request) and left.ggfmt == VERSION
        if request.resume is not False and not (same and (committed is None or committed < moment)):
            log.info("run %s was interrupted, with another request; `--fresh` removes what it has left", id)
            continue
        if request.resume is False or run.taken_up is not None:
            for output in sink.outputs:
                output.store.delete_tree(staging_of(id))
            continue
        log.info("going on with run %s, which was interrupted", id)
        run.id, run.moment, run.taken_up = id, moment, left
        for participant in (*sink.outputs, *filter(None, [run.checkpoint])):
            participant.run, participant.keeps = id, participant in sink.outputs
        sink.go_on()


def keep_results(run: Run, sink: Sink[Any, Any, Any], held: ExitStack) -> None:
    """Let the tasks of a run keep their results, and take those that it has."""
    digest, left = _digest(run.request), run.taken_up
    if not digest:
        return
    machine = _machine(sink.outputs[0].root)
    parallelism = run.runner.parallelism if left is None else left.parallelism
    processes = 0 if left is None else left.processes
    note = Interrupted(VERSION, digest, run.moment.isoformat(), parallelism, machine, processes + 1)
    note.write(run.id, sink.outputs)
    roots = [output.staging(run.id) for output in sink.outputs]
    trusted = left is None or left.machine == machine != ""
    results = Results(roots, parallelism, processes, trusted)
    for output in sink.outputs:
        output.keeps = True

    def end() -> None:
        count = results.count()
        for output in sink.outputs:
            output.keeps = count > 0
        if count:
            there = f"{counted(count, 'result')} of tasks stay for {KEPT_DAYS} days"
            log.warning("%s: the same command goes on with them; `--fresh` starts again", there)

    held.callback(end)
    run.runner = results.over(run.runner)
