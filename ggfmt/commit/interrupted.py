"""Staging directories that interrupted runs have left to the next run of their request."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress

import msgspec

from ggfmt.commit.journal import STAGING, staging_of
from ggfmt.commit.store import FAILURES, Store

KEPT_DAYS = 3
_DOCUMENT = "resume.json"


class Interrupted(msgspec.Struct, frozen=True):
    """What a run says in its staging directory, so that another process can go on with it.

    ggfmt        the version
    request      a digest of the request
    moment       the time in names, in UTC
    parallelism  of the runner for which the inputs were cut
    machine      identifies the machine since it was started; empty if that is unknown
    processes    how many processes have worked on the run
    written      seconds since 1970: when the last one began
    """

    ggfmt: str
    request: str
    moment: str
    parallelism: int
    machine: str
    processes: int
    written: float = msgspec.field(default_factory=time.time)

    def write(self, store: Store, run: str) -> None:
        name = f"{staging_of(run)}/{_DOCUMENT}"
        store.put(name, msgspec.json.encode(self), f"{name}.draft")


def read_interrupted(store: Store, run: str) -> Interrupted | None:
    """Return what a run has left to go on with, if it has, and is not too old."""
    with suppress(msgspec.MsgspecError, *FAILURES):
        content = store.read(f"{staging_of(run)}/{_DOCUMENT}")
        found = None if content is None else msgspec.json.decode(content, type=Interrupted)
        if found is not None and time.time() - found.written < KEPT_DAYS * 86400:
            return found
    return None


def interrupted_runs(store: Store) -> Iterator[tuple[str, Interrupted]]:
    """Yield the runs that can go on, the last one first."""
    for run in sorted(store.names(STAGING), reverse=True):
        found = read_interrupted(store, run)
        if found is not None:
            yield run, found
