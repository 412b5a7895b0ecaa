"""What interrupted runs have left in an output directory."""

from __future__ import annotations

from collections.abc import Iterator

from ggfmt.commit.commit import opened, write_errors_stop
from ggfmt.commit.interrupted import interrupted_runs
from ggfmt.commit.journal import staging_of
from ggfmt.commit.names import counted
from ggfmt.commit.store import Store
from ggfmt.doctor.finding import Finding, State, size_text


def check_output(given: str) -> Iterator[Finding]:
    """Yield a finding for each interrupted run, or one that there is none. Raises: UsageError or Abend GG506 for a
    directory that cannot be read."""
    root = opened(given, "the output")
    with write_errors_stop(root):
        store, nothing = Store(root), True
        for run, left in interrupted_runs(store):
            nothing, size = False, sum(store.below(staging_of(run)).values())
            message = f"run {run} was interrupted, and has left {size_text(size)}"
            facts = {"run": run, "bytes": size, "processes": left.processes, "written": round(left.written)}
            yield Finding("interrupted", State.OK, message, None, facts)
        if nothing:
            facts = {"run": None, "bytes": 0, "processes": 0, "written": None}
            yield Finding("interrupted", State.OK, f"{counted(0, 'interrupted run')} that can go on", None, facts)
