"""What a commit asks of a file system, on disks and on object stores.

A disk has directories, a rename that is atomic, and keeps what was synced. An object store has no directories and no
rename: an object is there, whole, once its stream is closed, and to move it is to copy it, to look at the copy and to
delete the original.
"""

from __future__ import annotations

import ctypes
import hashlib
import io
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import cast

import pyarrow as pa
import pyarrow.fs as pafs

from ggfmt.commit.names_below import entries_below
from ggfmt.location import Location

BLOCK_BYTES = 4 << 20
LINE_BUFFER_BYTES = 1 << 20
COPIED_BY_THE_STORE = 5 << 30  # S3 copies no larger object in one request
FAILURES = (OSError, pa.ArrowException)
DELETE_ATTEMPTS, DELETE_PAUSE_SECONDS = 4, 0.05
FEW_FILES = 32  # and directories, that are synced one by one

durable = True  # what is committed survives a failure of power; most tests do without


class Store:
    """A directory and what is below it; names are relative to it, their parts divided by `/`.

    All methods raise one of `FAILURES` if the file system does.
    """

    def __init__(self, root: Location) -> None:
        self.root = root
        self.fs, inner = root.file_system()
        self.path = inner.rstrip("/")
        self.local = root.is_local
        self.renames = self.local or self.fs.type_name == "hdfs"

    def inner(self, *names: str) -> str:
        """The path of a name within the file system."""
        return "/".join((self.path, *names)) if any(names) else self.path or "/"

    def location(self, *names: str) -> Location:
        """The location of a name, as any process may use it."""
        return self.root.child(*names) if any(names) else self.root

    def shown(self, *names: str) -> str:
        """The location of a name, for people."""
        return self.location(*names).shown

    def size(self, name: str) -> int | None:
        """The bytes of a file; None if there is none."""
        info = self.fs.get_file_info(self.inner(name))
        return info.size if info.type == pafs.FileType.File else None

    def sizes(self, names: Sequence[str]) -> dict[str, int]:
        """The bytes of those of some files that are there."""
        infos = self.fs.get_file_info([self.inner(name) for name in names])
        return {n: i.size for n, i in zip(names, infos, strict=True) if i.type == pafs.FileType.File}

    def modified(self, name: str) -> datetime | None:
        """When a file was last written, by the clock of the store; None if there is none."""
        modified: datetime | None = self.fs.get_file_info(self.inner(name)).mtime
        return modified

    def exists(self, name: str) -> bool:
        return bool(self.fs.get_file_info(self.inner(name)).type != pafs.FileType.NotFound)

    def below(self, directory: str) -> dict[str, int]:
        """All files below a directory, at any depth, and their bytes."""
        files, _ = entries_below(self.fs, self.inner(directory))
        start = f"{directory}/" if directory else ""
        return {start + path: info.size for path, info in files.items()}

    def names(self, directory: str) -> list[str]:
        """The last names of what lies in a directory, in order."""
        selector = pafs.FileSelector(self.inner(directory), allow_not_found=True)
        return sorted(info.base_name for info in self.fs.get_file_info(selector))

    def name_of(self, info: pafs.FileInfo) -> str:
        return str(info.path[len(self.path) :]).lstrip("/")

    def read(self, name: str) -> bytes | None:
        """The content of a small file; None if there is none."""
        if self.size(name) is None:
            return None
        with self.fs.open_input_stream(self.inner(name), compression=None) as stream:
            return bytes(stream.read())

    @contextmanager
    def lines(self, name: str) -> Iterator[Iterator[bytes]]:
        """The lines of a file, one at a time."""
        with self.fs.open_input_stream(self.inner(name), compression=None) as raw:
            yield iter(io.BufferedReader(cast(io.RawIOBase, raw), LINE_BUFFER_BYTES))

    def digest(self, name: str) -> str:
        """The SHA-256 of a file."""
        digest = hashlib.sha256()
        with self.fs.open_input_stream(self.inner(name), compression=None) as stream:
            while block := stream.read(BLOCK_BYTES):
                digest.update(block)
        return digest.hexdigest()

    def make_directory(self, name: str) -> None:
        """Makes a directory where there are such things."""
        if self.renames:
            self.fs.create_dir(self.inner(name))

    def write(self, name: str, content: bytes) -> None:
        """Writes a small file. On a disk it may be there in part if that is interrupted."""
        self.make_directory(parent(name))
        try:
            with self.fs.open_output_stream(self.inner(name), compression=None) as stream:
                stream.write(content)
        except FAILURES:
            with suppress(*FAILURES):  # what was closed after an error may be a part of it
                self.delete(name)
            raise

    def put(self, name: str, content: bytes, draft: str, ready: Callable[[], None] | None = None) -> None:
        """Writes a small file, which is there whole or not at all; on disks through `draft`. With `ready`, which is
        called before it is there and has to sync all that it relies on (with the draft), it survives the machine."""
        if self.renames:
            self.write(draft, content)
        if ready is not None:
            ready()
        if not self.renames:
            self.write(name, content)
            return
        self.make_directory(parent(name))
        self._rename(draft, name)
        if ready is not None:
            self._sync(parent(name))

    def renew(self, name: str, content: bytes) -> None:
        """Makes a file of this content, which is there, one that was just written."""
        if self.local:  # where to write it would leave it empty for a moment
            os.utime(self.inner(name))
        else:
            self.write(name, content)

    def move(self, source: str, target: str, size: int) -> None:
        """Gives a file of `size` bytes another name; what has that name is replaced. If it is interrupted, the file is
        still there by its first name."""
        if self.renames:
            self._rename(source, target)
            return
        self.copy(source, self, target, size)
        self.delete(source)

    def copy(self, source: str, into: Store, target: str, size: int) -> None:
        """Copies a file of `size` bytes, into another store too. OSError if the copy has another size."""
        if into is self and size <= COPIED_BY_THE_STORE:
            self.fs.copy_file(self.inner(source), self.inner(target))
        else:
            draft = _draft(source, target) if into.renames else target
            into.make_directory(parent(target))
            with (
                self.fs.open_input_stream(self.inner(source), compression=None) as old,
                into.fs.open_output_stream(into.inner(draft), compression=None) as new,
            ):
                while block := old.read(BLOCK_BYTES):
                    new.write(block)
            if into.renames:
                into._sync(draft)
                into._rename(draft, target)
        copied = into.size(target)
        if copied != size:
            raise OSError(f"the copy of `{source}` has {copied} bytes, not {size}")

    def _rename(self, source: str, target: str) -> None:
        if not self.local and self.size(target) is not None:
            self.fs.delete_file(self.inner(target))  # HDFS does not rename onto a file
        self.fs.move(self.inner(source), self.inner(target))

    def delete(self, name: str) -> None:
        """Removes a file, if there is one."""
        if self.size(name) is not None:
            self.fs.delete_file(self.inner(name))

    def delete_tree(self, name: str) -> None:
        """Removes a directory with all that is in it, if there is one. A worker that outlives its task or its driver
        may write there for a moment still."""
        for _ in range(DELETE_ATTEMPTS - 1):
            with suppress(OSError):
                self._delete_tree(name)
                return
            time.sleep(DELETE_PAUSE_SECONDS)
        self._delete_tree(name)

    def _delete_tree(self, name: str) -> None:
        if self.fs.get_file_info(self.inner(name)).type == pafs.FileType.Directory:
            self.fs.delete_dir(self.inner(name))

    def remove_if_empty(self, name: str = "") -> None:
        if self.local:
            with suppress(OSError):
                os.rmdir(self.inner(name))

    def _sync(self, name: str) -> None:
        """What was written of a file, or what a directory lists, survives the machine from now on."""
        if self.local:
            sync(self.inner(name))

    def sync_all(self, names: Iterable[str]) -> None:
        """The same of files and directories, and of the directories above them: of many at once, where the system can
        do that, since it takes a few milliseconds for each otherwise. Of few one by one, since the system would wait
        for what other programs have written."""
        every = {above for name in names for above in (name, *_directories(name))} if self.local else set()
        if len(every) <= FEW_FILES or not sync_file_system(self.inner()):
            for name in sorted(every, key=lambda name: (-name.count("/"), not name, name)):
                self._sync(name)

    def link_above(self, name: str) -> str | None:
        """The first directory on the way to a name that is a symbolic link; None if there is none. The root may be one:
        it is what the user named."""
        parts = list(filter(None, name.split("/")[:-1])) if self.local else []
        for count in range(1, len(parts) + 1):
            directory = "/".join(parts[:count])
            if os.path.islink(self.inner(directory)):
                return directory
        return None


def _draft(source: str, target: str) -> str:
    """Beside the target a name for a copy in the making, the same one when it is made again."""
    return "/".join(filter(None, (parent(target), f".ggfmt-{hashlib.sha256(source.encode()).hexdigest()[:16]}")))


def _directories(name: str) -> Iterator[str]:
    """Those above a name, from the nearest to that which all names are relative to."""
    while name:
        name = parent(name)
        yield name


def parent(name: str) -> str:
    """The directory of a name; empty for that which all names are relative to."""
    return name.rpartition("/")[0]


def sync(path: str) -> None:
    """`fsync` of a file or of a directory, which only POSIX can open."""
    if not durable or (os.name == "nt" and os.path.isdir(path)):  # pragma: no cover - no Windows here
        return
    descriptor = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_file_system(path: str) -> bool:
    """`syncfs` of Linux: one call for thousands of files. False where there is none."""
    if not durable:
        return True
    if sys.platform != "linux":  # pragma: no cover - Linux only
        return False
    descriptor = os.open(path, os.O_RDONLY)
    try:
        if ctypes.CDLL(None, use_errno=True).syncfs(descriptor):
            error = ctypes.get_errno()
            raise OSError(error, os.strerror(error))
    except AttributeError:  # pragma: no cover - a C library without it
        return False
    finally:
        os.close(descriptor)
    return True
