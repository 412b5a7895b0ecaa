"""Directories on disks and in object stores, with the operations that a commit needs.

A disk has directories and an atomic rename, and keeps what was synced. An object store has neither: an object exists,
in full, once its stream is closed. To move an object, ggfmt lets the store copy it, in full or not at all, and deletes
the original.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import io
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from hashlib import sha256
from typing import Any, cast

import pyarrow as pa
import pyarrow.fs as pafs

from ggfmt.commit.names import METADATA_DIRECTORY, SUCCESS_FILE, counted
from ggfmt.java.text import visible
from ggfmt.location import Location, StoreError, is_link, retried

BLOCK_BYTES = 4 << 20
LINE_BUFFER_BYTES = 1 << 20
COPIED_BY_THE_STORE = 5 << 30  # S3 copies no larger object in one request
FAILURES = (OSError, pa.ArrowException)
DELETE_ATTEMPTS, DELETE_PAUSE_SECONDS = 4, 0.05
FEW_FILES = 32  # and directories, which are synced one by one

durable = True  # a commit survives a power failure; most tests do without


class Store:
    """A directory and what is below it, by relative names with `/`. All methods raise one of `FAILURES`."""

    def __init__(self, root: Location) -> None:
        self.root = root
        self.fs, inner = root.file_system()
        self.path = inner.rstrip("/")
        self.local = root.is_local
        self.renames = self.local or self.fs.type_name == "hdfs"
        self._lists_directories = _lists_directories(self.fs)

    def inner(self, *names: str) -> str:
        return "/".join((self.path, *names)) if any(names) else self.path or "/"

    def location(self, *names: str) -> Location:
        """Return the location of a name, as any process may use it."""
        return self.root.entry("/".join(names)) if any(names) else self.root

    def shown(self, *names: str) -> str:
        return self.location(*names).shown

    def size(self, name: str) -> int | None:
        info = self.fs.get_file_info(self.inner(name))
        return info.size if info.type == pafs.FileType.File else None

    def sizes(self, names: Sequence[str]) -> dict[str, int]:
        infos = self.fs.get_file_info([self.inner(name) for name in names])
        return {n: i.size for n, i in zip(names, infos, strict=True) if i.type == pafs.FileType.File}

    def modified(self, name: str) -> datetime | None:
        """Return the time at which a file was last written, by the clock of the store; None if there is none."""
        modified: datetime | None = self.fs.get_file_info(self.inner(name)).mtime
        return modified

    def exists(self, name: str) -> bool:
        return bool(self.fs.get_file_info(self.inner(name)).type != pafs.FileType.NotFound)

    def below(self, directory: str) -> dict[str, int]:
        files, _ = entries_below(self.fs, self.inner(directory))
        start = f"{directory}/" if directory else ""
        return {start + path: info.size for path, info in files.items()}

    def names(self, directory: str) -> list[str]:
        if not self._lists_directories:
            return sorted({path.partition("/")[0] for path in entries_below(self.fs, self.inner(directory))[0]})
        selector = pafs.FileSelector(self.inner(directory), allow_not_found=True)
        return sorted(info.base_name for info in self.fs.get_file_info(selector))

    def name_of(self, info: pafs.FileInfo) -> str:
        return str(info.path[len(self.path) :]).lstrip("/")

    def open(self, name: str) -> pa.NativeFile:
        """Open a file to read its bytes as they are, whatever the ending of the name is."""
        return self.fs.open_input_stream(self.inner(name), compression=None)

    def read(self, name: str) -> bytes | None:
        def whole() -> bytes:
            with self.open(name) as stream:
                return bytes(stream.read())

        with suppress(FileNotFoundError, NotADirectoryError):
            return retried(whole)
        return None

    @contextmanager
    def lines(self, name: str) -> Iterator[Iterator[bytes]]:
        with self.open(name) as raw:
            yield iter(io.BufferedReader(cast(io.RawIOBase, raw), LINE_BUFFER_BYTES))

    def digest(self, name: str) -> str:
        digest = hashlib.sha256()
        with self.open(name) as stream:
            while block := stream.read(BLOCK_BYTES):
                digest.update(block)
        return digest.hexdigest()

    def make_directory(self, name: str) -> None:
        if self.renames:
            self.fs.create_dir(self.inner(name))

    def write(self, name: str, content: bytes) -> None:
        """Write a small file. If that is interrupted on a disk, a part of the file may exist."""
        self.make_directory(parent(name))
        try:
            with self.fs.open_output_stream(self.inner(name), compression=None) as stream:
                stream.write(content)
        except FAILURES:
            with suppress(*FAILURES):  # the file may be incomplete
                self.delete(name)
            raise

    def put(self, name: str, content: bytes, draft: str, ready: Callable[[], None] | None = None) -> None:
        """Write a small file, in full or not at all; on disks through the name `draft`. If the file has to survive a
        power failure, `ready` syncs all that it relies on, with the draft; it is called before the file exists."""
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
        if self.local:  # to write it would leave it empty for a moment
            self.touch(name)
        else:
            self.write(name, content)

    def move(self, source: str, target: str, size: int) -> None:
        """Rename a staged file of `size` bytes, replacing another. If interrupted, the file still has its old name.

        A store without renames copies the file. The old one is deleted together with its staging directory, which
        takes one request for 1,000 files, and not four for each.
        """
        if self.renames:
            self._rename(source, target)
        else:
            self.copy(source, self, target, size)

    def copy(self, source: str, into: Store, target: str, size: int) -> None:
        """Copy a file of `size` bytes, within a store or into another. Raises: OSError if the copy is not whole."""
        if into is self and size <= COPIED_BY_THE_STORE:
            self.fs.copy_file(self.inner(source), self.inner(target))
            return
        draft = _draft(source, target) if into.renames else target
        into.make_directory(parent(target))
        copied = 0
        with self.open(source) as old, into.fs.open_output_stream(into.inner(draft), compression=None) as new:
            while block := old.read(BLOCK_BYTES):
                new.write(block)
                copied += len(block)
        if copied != size:
            raise OSError(f"the copy of `{source}` has {copied} bytes, not {size}")
        if into.renames:
            into._sync(draft)
            into._rename(draft, target)

    def _rename(self, source: str, target: str) -> None:
        if not self.local and self.size(target) is not None:
            self.fs.delete_file(self.inner(target))  # HDFS does not rename onto a file
        self.fs.move(self.inner(source), self.inner(target))

    def delete(self, name: str) -> None:
        if self.size(name) is not None:  # libhdfs has no error of its own for a file that is not there
            self.fs.delete_file(self.inner(name))

    def delete_tree(self, name: str) -> None:
        """Delete a directory, if there is one. A worker that outlives its driver may still write there for a moment."""
        for _ in range(DELETE_ATTEMPTS - 1):
            with suppress(OSError):
                self._delete_tree(name)
                return
            time.sleep(DELETE_PAUSE_SECONDS)
        self._delete_tree(name)

    def _delete_tree(self, name: str) -> None:
        if self.fs.get_file_info(self.inner(name)).type != pafs.FileType.Directory:
            return
        if self._lists_directories:
            self.fs.delete_dir(self.inner(name))
        else:  # Arrow would end with an error, because the directory is no object
            self.fs.delete_dir_contents(self.inner(name), missing_dir_ok=True)

    def remove_if_empty(self, name: str = "") -> None:
        if self.local:
            with suppress(OSError):
                os.rmdir(self.inner(name))

    def _sync(self, name: str) -> None:
        """Sync a file or a directory: from now on it survives a power failure."""
        if self.local:
            sync(self.inner(name))

    def sync_all(self, names: Iterable[str]) -> None:
        """Sync names and the directories above them: many at once, if the system can, since each takes milliseconds;
        few one by one, since the system would wait for the data of other programs."""
        every = {above for name in names for above in (name, *directories_above(name))} if self.local else set()
        if len(every) <= FEW_FILES or not sync_file_system(self.inner()):
            for name in sorted(every, key=lambda name: (-name.count("/"), not name, name)):
                self._sync(name)

    def is_link(self, name: str) -> bool:
        return self.local and is_link(self.inner(name))

    def link_target(self, name: str) -> str | None:
        return os.readlink(self.inner(name)) if self.is_link(name) else None

    def make_link(self, name: str, target: str) -> None:
        """Make a symbolic link with the text `target`, in place of a link of that name."""
        self.delete_link(name)
        os.symlink(target, self.inner(name), target_is_directory=True)

    def delete_link(self, name: str) -> None:
        if self.link_target(name) is not None:
            os.unlink(self.inner(name))

    def rename(self, source: str, target: str) -> None:
        """Rename a directory to a free name, or a symbolic link to one that is free or has a link."""
        os.replace(self.inner(source), self.inner(target))

    def exchange(self, one: str, other: str) -> bool:
        return exchange(self.inner(one), self.inner(other))

    def touch(self, name: str) -> None:
        os.utime(self.inner(name))

    def share(self, source: str, target: str) -> bool:
        """Give a file of a disk a second name. Return False if the disk refused that, and the file was copied."""
        try:
            os.link(self.inner(source), self.inner(target))
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            shutil.copyfile(self.inner(source), self.inner(target))
            return False
        return True

    def link_above(self, name: str) -> str | None:
        """Return the first symbolic link among the directories above a name. The root may be one: the user named it."""
        parts = list(filter(None, name.split("/")[:-1])) if self.local else []
        for count in range(1, len(parts) + 1):
            directory = "/".join(parts[:count])
            if self.is_link(directory):
                return directory
        return None


def _draft(source: str, target: str) -> str:
    """Return a name beside the target for an incomplete copy; another attempt gets the same name."""
    return "/".join(filter(None, (parent(target), f".ggfmt-{hashlib.sha256(source.encode()).hexdigest()[:16]}")))


def directories_above(name: str) -> Iterator[str]:
    """Yield the directories above a name, from the nearest up to the root, which is empty."""
    while name:
        name = parent(name)
        yield name


def parent(name: str) -> str:
    return name.rpartition("/")[0]


def sync(path: str) -> None:
    """`fsync` a file or a directory; only POSIX opens directories."""
    if not durable or (os.name == "nt" and os.path.isdir(path)):  # pragma: no cover - no Windows here
        return
    descriptor = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_file_system(path: str) -> bool:
    """Call `syncfs` of Linux, once for thousands of files. Return False if the system has no `syncfs`."""
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


# Errors of a disk that has no links, or no more of them.
_NO_LINKS = {errno.EPERM, errno.EACCES, errno.EMLINK, errno.EXDEV, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL}
_HERE, _EXCHANGE = -100, 2  # AT_FDCWD, RENAME_EXCHANGE


def exchange(one: str, other: str) -> bool:
    """Exchange what two paths have, by `renameat2` of Linux. Return False if the system or the disk cannot do that."""
    if sys.platform != "linux":  # pragma: no cover - Linux only
        return False
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except AttributeError:  # pragma: no cover - a C library without it
        return False
    if not rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE):
        return True
    error = ctypes.get_errno()
    if error in _NO_LINKS:
        return False
    raise OSError(error, os.strerror(error), one)


# Names that Spark, Hadoop and ggfmt write beside data. They are never data, so the log need not name them.
_KNOWN = (METADATA_DIRECTORY, SUCCESS_FILE, "_temporary")


def is_hidden(name: str) -> bool:
    """Return whether ggfmt leaves a name out by rule: it starts with `_` or `.`. The parts `.` and `..` of a key do not
    count, nor does an empty part: to a store they are names like others."""
    return name.startswith(("_", ".")) and name not in (".", "..")


def hidden_part(path: str) -> str | None:
    """Return a path up to its first hidden name; None if it has none."""
    parts = path.split("/")
    return next(("/".join(parts[: number + 1]) for number, part in enumerate(parts) if is_hidden(part)), None)


def is_worth_logging(hidden: str) -> bool:
    """Return whether the log should name a hidden file or directory: it may be data."""
    name = hidden.rpartition("/")[2]
    return name not in _KNOWN and not name.endswith(".crc")  # Hadoop's checksums


def entries_below(fs: pafs.FileSystem, top: str) -> tuple[dict[str, pafs.FileInfo], set[str]]:
    """Return all files and directories below a directory by their paths from there; none if there is no such directory.
    Raises: StoreError if two keys of a store have one path (`a` and `a/`): Arrow's file systems open only one."""
    infos = fs.get_file_info(pafs.FileSelector(top, recursive=True, allow_not_found=True))
    prefix = top.rstrip("/") + "/"
    files: dict[str, pafs.FileInfo] = {}
    directories: set[str] = set()
    for info in infos:
        path = info.path.removeprefix(prefix)
        # In a store one path may name a file and a directory at once: `a` and `a/b`.
        if info.type == pafs.FileType.Directory:
            directories.add(path)
        elif info.type == pafs.FileType.File:
            if path in files:
                message = f"two objects have the name `{visible(path)}`, one with a slash at the end"
                raise StoreError(message, "rename one of the objects")
            files[path] = info
    if not _lists_directories(fs):
        directories |= {above for path in files for above in directories_above(path) if above}
    return files, directories


def _lists_directories(fs: pafs.FileSystem) -> bool:
    """Return whether Arrow lists directories that are no objects: in Google Cloud Storage, it lists objects alone."""
    return str(fs.type_name) != "gcs"


def check_parts(paths: Iterable[str], shown: Callable[[str], str] = str) -> None:
    """Raise StoreError if there are keys with a part that is empty, `.` or `..`: Arrow's file systems open none of
    them. `shown` makes a path for people. ggfmt does not skip such keys: it would lose their data."""
    refused: Sequence[str] = [path for path in paths if any(part in ("", ".", "..") for part in path.split("/"))]
    if not refused:
        return
    message = f"the key `{visible(shown(refused[0]))}` has a part that is empty, `.` or `..`"
    if len(refused) > 1:
        message += f", and so {'has' if len(refused) == 2 else 'have'} {counted(len(refused) - 1, 'other key')}"
    raise StoreError(message, "rename such objects, or choose inputs without them: ggfmt cannot open these keys")


class HashingStream(io.RawIOBase):
    """Passes bytes on to a stream, and computes their number and their digest. `discards`: drops the bytes instead.
    Arrow's writers write the end of a file when they are deleted, also after an error."""

    def __init__(self, stream: pa.NativeFile) -> None:
        super().__init__()
        self._stream = stream
        self.digest = sha256()
        self.size = 0
        self.discards = False

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        view = memoryview(data)
        self.digest.update(view)
        self.size += view.nbytes
        if not self.discards:
            self._stream.write(data)
        return view.nbytes

    def tell(self) -> int:
        return self.size
