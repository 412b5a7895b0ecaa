"""Temporary files of a run: a scratch directory, and beside it the log of Spark, if Spark runs.

A driver that is killed leaves both. A later run removes them, and nothing that is another's: the directory has a file
that its owner holds locked for as long as it lives, which holds over the bounds of containers, unlike a number.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import tempfile
from pathlib import Path
from typing import IO

from ggfmt import signals

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows: abandoned directories stay
    fcntl = None  # type: ignore[assignment]

_DIRECTORY = re.compile(r"ggfmt-[a-z0-9_]{8}")
_LOG = re.compile(r"ggfmt-spark-[a-z0-9_]{8}\.log")
_OWNER, _NAMED = "owner", "log"


class Scratch:
    """A scratch directory, and with `logs` a log, both for this user alone. Raises: OSError if ggfmt cannot make them.

    parent  the directory to make it in; None: that of temporary files
    """

    def __init__(self, logs: bool = False, parent: str | None = None) -> None:
        self._parent = parent
        self.log: Path | None = None
        self._lock: IO[bytes] | None = None
        try:
            with signals.deferred():
                self._make(logs)
        except KeyboardInterrupt:
            if "directory" in vars(self):
                self.remove()
            if self.log is not None:
                self.log.unlink(missing_ok=True)
            raise

    def _make(self, logs: bool) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="ggfmt-", dir=self._parent))
        try:
            if logs:
                descriptor, log = tempfile.mkstemp(prefix="ggfmt-spark-", suffix=".log")
                os.close(descriptor)
                self.log = Path(log)
                (self.directory / _NAMED).write_bytes(os.fsencode(self.log.name))
            draft = self.directory / "draft"
            self._lock = draft.open("wb")
            if fcntl is not None:
                with contextlib.suppress(OSError):  # a file system without locks: abandoned directories stay
                    fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    draft.rename(self.directory / _OWNER)  # locked before another run can find it
        except OSError:
            self.remove()
            raise

    def __enter__(self) -> Path:
        return self.directory

    def __exit__(self, *exception: object) -> None:
        self.remove()

    def remove(self) -> None:
        with signals.deferred():
            shutil.rmtree(self.directory, ignore_errors=True)
            if self._lock is not None:
                self._lock.close()


def remove_abandoned(parent: str | None = None) -> None:
    if fcntl is None:
        return
    with contextlib.suppress(OSError), os.scandir(parent or tempfile.gettempdir()) as entries:
        for entry in entries:
            if _DIRECTORY.fullmatch(entry.name):
                with contextlib.suppress(OSError):
                    _remove_if_abandoned(Path(entry.path))


def _remove_if_abandoned(directory: Path) -> None:
    """Delete a directory. Raises: OSError if a process has locked the owner's file, or there is none."""
    status = directory.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) != 0o700:
        return  # a link of another user, or no directory of a run
    descriptor = os.open(directory / _OWNER, os.O_RDWR | os.O_NOFOLLOW)
    with open(descriptor, "wb") as owner:
        fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _remove_log(directory)
        shutil.rmtree(directory, ignore_errors=True)


def _remove_log(directory: Path) -> None:
    if not (directory / _NAMED).exists():
        return
    name = os.fsdecode((directory / _NAMED).read_bytes())
    if _LOG.fullmatch(name) and (log := directory.parent / name).exists():
        found = log.lstat()
        if stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid():
            log.unlink()
