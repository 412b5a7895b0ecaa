"""Holding a directory for one run: by a lock where the system has locks, by a lease elsewhere.

A lock ends with its process. A lease is a file `_ggfmt/leases/<run>.json` that its run renews; one that was not renewed
for `LEASE_SECONDS` is dead. Ages are differences of the store's own modification times, so that no clock matters. Who
takes a directory writes its lease first and then looks for others: of two that come at once, one or both are refused.
This needs a store whose listings show what was written before, as those of S3, GCS and HDFS do; a conditional put, of
which there would be no more than one, is not to be had from Arrow.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import threading
from contextlib import suppress
from datetime import datetime, timezone
from typing import IO, Any, Protocol

from ggfmt.commit.names import METADATA_DIRECTORY
from ggfmt.commit.store import FAILURES, Store
from ggfmt.diagnostics.diagnostic import Diagnostic, Span, UsageError

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows has no advisory locks of this kind
    fcntl = None  # type: ignore[assignment]

LEASE_SECONDS = 600.0
RENEWAL_SECONDS = 30.0
LOCK = f"{METADATA_DIRECTORY}/lock"
LEASES = f"{METADATA_DIRECTORY}/leases"

_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL}  # as some network disks answer


class DirectoryLock(Protocol):
    """A directory held by this run; `is_held` tells whether it still is."""

    def is_held(self) -> bool: ...

    def release(self) -> None: ...


def lock_directory(store: Store, run: str, what: str) -> DirectoryLock:
    """Takes a directory for a run; `what` is what the directory is called. UsageError GG501 if another run has it."""
    owner = owner_of(run)
    if store.local and fcntl is not None:
        try:
            return Lock(store, owner, what)
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
    return Lease(store, owner, what)


def owner_of(run: str) -> dict[str, Any]:
    """What a lock or lease says of a run in this process."""
    since = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return {"run": run, "host": socket.gethostname(), "pid": os.getpid(), "since": since}


def lock_owner(store: Store) -> dict[str, Any] | None:
    """What the lock of a directory says of the run that holds it; None if none does, or where there are no locks."""
    if not store.local or fcntl is None:
        return None
    with suppress(FileNotFoundError), open(store.inner(LOCK), encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return parse_owner(lock.read().encode())
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
    return None


def lock_conflict_error(store: Store, what: str, owner: dict[str, Any], seen: str = "") -> UsageError:
    who = f": process {owner['pid']} on {owner['host']}, since {owner['since']}" if "since" in owner else ""
    message = f"another run is writing to {what}{who}{seen}"
    return UsageError(
        Diagnostic("GG501", message, Span(file=store.root.shown), "wait for its end, or give another directory")
    )


class Lock:
    """A lock of the operating system on `_ggfmt/lock`."""

    def __init__(self, store: Store, owner: dict[str, Any], what: str) -> None:
        self._store = store
        self._path = store.inner(LOCK)
        self._lease = lease_of(owner["run"])  # by which tasks of the run may have held the directory until now
        file = None
        while file is None:
            store.make_directory(METADATA_DIRECTORY)  # which its last holder may just have removed
            with suppress(FileNotFoundError):
                file = self._try(store, what)
        file.truncate(0)
        file.write(json.dumps(owner))
        file.flush()
        self._file: IO[str] = file
        try:
            live = live_leases(store, self._lease, LOCK)
            if live:
                raise lease_conflict_error(store, what, live)
            _drop_dead_leases(store, self._lease)
        except (UsageError, *FAILURES):
            self.release()
            raise

    def _try(self, store: Store, what: str) -> IO[str] | None:
        """The file, locked; None if it is not the one at its place, because its last holder has removed that."""
        lock = open(self._path, "a+", encoding="utf-8")  # noqa: SIM115 - held until the run ends
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if self._is_at_its_place(lock):
                return lock
        except BlockingIOError:
            lock.seek(0)
            owner = parse_owner(lock.read().encode())
            lock.close()
            raise lock_conflict_error(store, what, owner) from None
        except OSError:
            lock.close()
            raise
        lock.close()
        return None

    def _is_at_its_place(self, lock: IO[str]) -> bool:
        try:
            return os.path.samestat(os.fstat(lock.fileno()), os.stat(self._path))
        except FileNotFoundError:
            return False

    def is_held(self) -> bool:
        return self._is_at_its_place(self._file)

    def release(self) -> None:
        with suppress(*FAILURES):
            self._store.delete(self._lease)
        with suppress(OSError):
            if self.is_held():
                os.unlink(self._path)
        self._file.close()


class Lease:
    """A file that is renewed by a thread of its own until it is released, or found to be gone."""

    def __init__(self, store: Store, owner: dict[str, Any], what: str) -> None:
        self._store = store
        self._content = json.dumps(owner).encode()
        self._name = lease_of(owner["run"])
        self._ended = threading.Event()
        self._writing = threading.Lock()
        store.write(self._name, self._content)
        live = live_leases(store, self._name)
        if live:
            store.delete(self._name)
            raise lease_conflict_error(store, what, live)
        _drop_dead_leases(store, self._name)
        self._thread = threading.Thread(target=self._renew, name="ggfmt-lease", daemon=True)
        self._thread.start()

    def _renew(self) -> None:
        while not self._ended.wait(RENEWAL_SECONDS):
            with suppress(*FAILURES), self._writing:  # a store that does not answer now may do so the next time
                if not self._is_there():
                    return
                self._store.write(self._name, self._content)

    def _is_there(self) -> bool:
        return self._store.read(self._name) == self._content

    def is_held(self) -> bool:
        """Renews the lease and looks for others once more. A lease that is gone stays gone: another run took it for
        dead and has removed what this one had in staging."""
        with self._writing:
            if not self._is_there():
                return False
            self._store.write(self._name, self._content)
        return not live_leases(self._store, self._name)

    def release(self) -> None:
        self._ended.set()
        self._thread.join(RENEWAL_SECONDS)
        with suppress(*FAILURES):
            self._store.delete(self._name)


def lease_of(run: str) -> str:
    return f"{LEASES}/{run}.json"


def live_leases(store: Store, own: str, written: str | None = None) -> list[tuple[str, float]]:
    """The leases of other runs that are not dead, and their ages in seconds. A file just `written`, by default the
    lease of this run, tells what time it is by the clock of the store; OSError if it is gone."""
    now = store.modified(written or own)
    if now is None:
        raise FileNotFoundError(errno.ENOENT, "the lease is gone that was just written", store.shown(written or own))
    live = []
    for name in store.names(LEASES):
        other = f"{LEASES}/{name}"
        seen = None if other == own else store.modified(other)
        if seen is not None and (now - seen).total_seconds() < LEASE_SECONDS:
            live.append((other, max((now - seen).total_seconds(), 0.0)))
    return live


def _drop_dead_leases(store: Store, own: str) -> None:
    """Removes all other leases, once none of them is found to live: their runs see then that they lost it."""
    for name in store.names(LEASES):
        if f"{LEASES}/{name}" != own:
            store.delete(f"{LEASES}/{name}")


def lease_conflict_error(store: Store, what: str, live: list[tuple[str, float]]) -> UsageError:
    name, age = live[0]
    return lock_conflict_error(store, what, parse_owner(store.read(name)), f", last seen {age:,.0f} s ago")


def parse_owner(content: bytes | None) -> dict[str, Any]:
    """What a lock or lease says of its owner; nothing if it is damaged."""
    with suppress(ValueError):
        document = json.loads(content or b"")
        if isinstance(document, dict) and {"pid", "host", "since"} <= document.keys():
            return document
    return {}
