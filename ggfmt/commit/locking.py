"""Locks of directories: of the operating system where it has locks, leases elsewhere.

A lock ends with its process. A lease is a file `_ggfmt/leases/<run>.json` that its run renews. A lease is dead if it
was not renewed for `LEASE_SECONDS`, or if its process ran on this machine and has ended. The age of a lease is a
difference of two modification times of the store, so that no other clock matters. A run first writes its lease and then
looks for others: if two runs start at once, ggfmt refuses one or both. This needs a store whose listings show what was
written before, as S3, GCS and HDFS do. A conditional put would allow exactly one, but Arrow has none.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import threading
import uuid
from contextlib import suppress
from datetime import datetime, timezone
from typing import IO, Any, Protocol

from ggfmt.commit.journal import staging_of
from ggfmt.commit.names import METADATA_DIRECTORY
from ggfmt.commit.store import FAILURES, Store
from ggfmt.diagnostics.diagnostic import UsageError
from ggfmt.location import Location

LEASE_SECONDS = 600.0
RENEWAL_SECONDS = 30.0
LOCK = f"{METADATA_DIRECTORY}/lock"
LEASES = f"{METADATA_DIRECTORY}/leases"

_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL}  # as some network disks answer


class DirectoryLock(Protocol):
    """The lock of a directory that this run has; `is_held` returns whether the run still has it."""

    def is_held(self) -> bool: ...

    def release(self) -> None: ...


def lock_directory(store: Store, run: str, what: str) -> DirectoryLock:
    """Lock a directory for a run; messages call the directory `what`. Raises: UsageError GG501 if another run has the
    lock."""
    owner = owner_of(run)
    if store.local and fcntl is not None:
        try:
            return Lock(store, owner, what)
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
    return Lease(store, owner, what)


def owner_of(run: str) -> dict[str, Any]:
    since = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return {"run": run, "host": socket.gethostname(), "pid": os.getpid(), "since": since}


def machine_since_start() -> str | None:
    """Return what identifies the PID namespace of this process on all machines, until its machine starts again; None if
    that is unknown."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as boot:
            return f"{boot.read().strip()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return None


def _start_of(pid: int) -> str | None:
    """When a process started, in ticks; None if the system does not provide it."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
            return stat.read().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return None


def _has_ended(owner: dict[str, Any]) -> bool:
    """Return whether the process of a lease has certainly ended: it ran in this PID namespace, and is there no more."""
    if owner.get("kernel") is None or owner["kernel"] != machine_since_start():
        return False
    try:
        os.kill(owner["pid"], 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError, TypeError):  # the process of another user
        return False
    now = _start_of(owner["pid"])
    return now is not None and owner.get("started") not in (None, now)


def lock_owner(store: Store) -> dict[str, Any] | None:
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
    help = "wait until that run ends, or choose another directory"
    return UsageError("GG501", f"another run is writing to {what}{who}{seen}", store.root.shown, help)


class Lock:
    def __init__(self, store: Store, owner: dict[str, Any], what: str) -> None:
        self._store = store
        self._path = store.inner(LOCK)
        self._lease = lease_of(owner["run"])  # tasks of the run may have shared it until now
        file = None
        while file is None:
            store.make_directory(METADATA_DIRECTORY)  # the last run may just have deleted it
            with suppress(FileNotFoundError):
                file = self._try(store, what)
        file.truncate(0)
        file.write(json.dumps(owner))
        file.flush()
        self._file: IO[str] = file
        try:
            _refuse_live_leases(store, self._lease, what, LOCK)
            _drop_dead_leases(store, self._lease)
        except (UsageError, *FAILURES):
            self.release()
            raise

    def _try(self, store: Store, what: str) -> IO[str] | None:
        """Return the locked file; None if the last run has deleted the file of that name in the meantime."""
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
        with suppress(OSError):
            self._file.close()


class _RenewedLease:
    """A lease that a thread renews until it ends, or something deletes the lease."""

    def __init__(self, store: Store, owner: dict[str, Any]) -> None:
        self._store = store
        self._name = lease_of(owner["run"])
        self._content = json.dumps(owner).encode()
        self._ended = threading.Event()
        self._writing = threading.Lock()
        self._thread = threading.Thread(target=self._keep, name="ggfmt-lease", daemon=True)

    def _keep(self) -> None:
        while not self._ended.wait(RENEWAL_SECONDS):
            with suppress(*FAILURES):  # a store that does not respond now may respond the next time
                if not self._renew():
                    return

    def _renew(self) -> bool:
        """Renew the lease; return whether it was there. A run does not write a deleted lease again: another run took
        the lease for dead and has deleted the staging directory."""
        with self._writing:
            if self._store.read(self._name) != self._content:
                return False
            self._write()
            return True

    def _write(self) -> None:
        self._store.write(self._name, self._content)


class Lease(_RenewedLease):
    """The lease of one process, until the run releases it."""

    def __init__(self, store: Store, owner: dict[str, Any], what: str) -> None:
        # With these, the next run on this machine sees that this process has ended, if it could not delete its lease.
        super().__init__(store, {**owner, "kernel": machine_since_start(), "started": _start_of(owner["pid"])})
        self._write()
        try:
            _refuse_live_leases(store, self._name, what)
        except UsageError:
            store.delete(self._name)
            raise
        _drop_dead_leases(store, self._name)
        self._thread.start()

    def is_held(self) -> bool:
        """Renew the lease and look for others once more."""
        return self._renew() and not live_leases(self._store, self._name)

    def release(self) -> None:
        self._ended.set()
        self._thread.join(RENEWAL_SECONDS)
        with suppress(*FAILURES):
            self._store.delete(self._name)


def lease_of(run: str) -> str:
    return f"{LEASES}/{run}.json"


def live_leases(store: Store, own: str, written: str | None = None) -> list[tuple[str, float]]:
    """Return the live leases of other runs, and their ages in seconds. The modification time of a file just `written`,
    by default the lease of this run, is the present time of the store. Raises: OSError if that file is gone."""
    now = store.modified(written or own)
    if now is None:
        raise FileNotFoundError(errno.ENOENT, "the lease that was just written is missing", store.shown(written or own))
    live = []
    for name in store.names(LEASES):
        other = f"{LEASES}/{name}"
        seen = None if other == own else store.modified(other)
        is_recent = seen is not None and (now - seen).total_seconds() < LEASE_SECONDS
        if seen is not None and is_recent and not _has_ended(parse_owner(store.read(other))):
            live.append((other, max((now - seen).total_seconds(), 0.0)))
    return live


def _drop_dead_leases(store: Store, own: str) -> None:
    """Delete all other leases, which are dead: their runs notice that they have lost the directory."""
    for name in store.names(LEASES):
        if f"{LEASES}/{name}" != own:
            store.delete(f"{LEASES}/{name}")


def _refuse_live_leases(store: Store, own: str, what: str, written: str | None = None) -> None:
    """Raise UsageError GG501 if another run has a live lease. `written`: as of `live_leases`."""
    for name, age in live_leases(store, own, written):
        raise lock_conflict_error(store, what, parse_owner(store.read(name)), f", last seen {age:,.0f} s ago")


def parse_owner(content: bytes | None) -> dict[str, Any]:
    """Return the owner that a lock or lease names; empty if it is damaged."""
    with suppress(ValueError):
        document = json.loads(content or b"")
        if isinstance(document, dict) and {"pid", "host", "since"} <= document.keys():
            return document
    return {}


class SharedLease(_RenewedLease):
    """The lease that all tasks of a run share if no process lives from the first task to the commit.

    The first task writes it, and all renew it; an object is the part of one task, and `owner` is the same for all. The
    commit locks the directory as a process of the same run. Without a commit, the lease is dead after `LEASE_SECONDS`,
    and the next run deletes the staging directory. Tasks and locks exclude each other as leases do: each side writes
    first and then looks.

    Raises: UsageError GG501 if another run has locked the directory, one of `FAILURES` if ggfmt cannot find out.
    """

    def __init__(self, root: Location, owner: dict[str, Any], what: str) -> None:
        super().__init__(Store(root), owner)
        is_new = self._store.read(self._name) is None
        if is_new:
            draft = f"{staging_of(owner['run'])}/lease-{uuid.uuid4().hex}"
            self._store.put(self._name, self._content, draft)
        else:
            self._write()
        try:
            self._check_alone(owner["run"], what)
        except Exception:
            if is_new:
                with suppress(*FAILURES):
                    self._store.delete(self._name)
            raise
        self._thread.start()

    def _write(self) -> None:
        self._store.renew(self._name, self._content)

    def _check_alone(self, run: str, what: str) -> None:
        _refuse_live_leases(self._store, self._name, what)
        other = lock_owner(self._store)
        if other is not None and other.get("run") != run:
            raise lock_conflict_error(self._store, what, other)

    def __enter__(self) -> SharedLease:
        return self

    def __exit__(self, *exception: object) -> None:
        self._ended.set()
        self._thread.join()


try:
    import fcntl
except ImportError:  # pragma: no cover - Windows has no advisory locks of this kind
    fcntl = None  # type: ignore[assignment]
