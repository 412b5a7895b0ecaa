"""Holding a directory by the tasks of a run together, where no process lives from the first of them to the commit.

The tasks have one lease, which the first of them writes and all renew. The commit takes the directory over from it, as
a process of the same run. If nobody commits, the lease is dead after `LEASE_SECONDS`, and what is in staging belongs to
no one. A task finds out about a lock as others do about leases: each side writes first and then looks.
"""

from __future__ import annotations

import json
import threading
import uuid
from contextlib import suppress
from typing import Any

from ggfmt.commit.journal import staging_of
from ggfmt.commit.locking import (
    RENEWAL_SECONDS,
    lease_conflict_error,
    lease_of,
    live_leases,
    lock_conflict_error,
    lock_owner,
)
from ggfmt.commit.store import FAILURES, Store
from ggfmt.location import Location


class SharedLease:
    """The part of one task, which ends with it; `owner` is the same for all. UsageError GG501 if another run holds the
    directory, one of `FAILURES` if that cannot be known."""

    def __init__(self, root: Location, owner: dict[str, Any], what: str) -> None:
        self._store = Store(root)
        self._name = lease_of(owner["run"])
        self._content = json.dumps(owner).encode()
        self._ended = threading.Event()
        is_new = self._store.read(self._name) is None
        if is_new:
            draft = f"{staging_of(owner['run'])}/lease-{uuid.uuid4().hex}"
            self._store.put(self._name, self._content, draft)
        else:
            self._store.renew(self._name, self._content)
        try:
            self._check_alone(owner["run"], what)
        except Exception:
            if is_new:
                with suppress(*FAILURES):
                    self._store.delete(self._name)
            raise
        self._thread = threading.Thread(target=self._renew, name="ggfmt-lease", daemon=True)
        self._thread.start()

    def _check_alone(self, run: str, what: str) -> None:
        live = live_leases(self._store, self._name)
        if live:
            raise lease_conflict_error(self._store, what, live)
        other = lock_owner(self._store)
        if other is not None and other.get("run") != run:
            raise lock_conflict_error(self._store, what, other)

    def _renew(self) -> None:
        while not self._ended.wait(RENEWAL_SECONDS):
            with suppress(*FAILURES):  # a store that does not answer now may do so the next time
                if self._store.read(self._name) != self._content:
                    return
                self._store.renew(self._name, self._content)

    def __enter__(self) -> SharedLease:
        return self

    def __exit__(self, *exception: object) -> None:
        self._ended.set()
        self._thread.join()
