"""Input files: Python opens those on local disks, Arrow's file systems those in stores."""

from __future__ import annotations

import bz2
import io
import lzma
import os
import platform
import traceback
import zlib
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from functools import lru_cache, partial
from typing import Any, BinaryIO, Literal, TypeAlias, TypeVar, cast

import pyarrow as pa
import pyarrow.fs as pafs

from ggfmt.dataclasses import dataclass, field, replace
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic, Span, without_credentials
from ggfmt.location import Location, reason, retried, store_remedy

Compression: TypeAlias = Literal["gzip", "bz2", "xz", "zstd"]

COMPRESSIONS: dict[str, Compression] = {".gz": "gzip", ".bz2": "bz2", ".xz": "xz", ".zst": "zstd"}
BUFFER_BYTES = 1 << 20
KEPT_BYTES = 64 << 20  # of all objects that are kept once they were read; each has at most `BUFFER_BYTES`
_LISTED_AT_ONCE = 1000  # objects, in one request
_LOOKS_AT_ONCE, _LOOKS_IN_ONE_GO = 16, 10_000

T = TypeVar("T")

# Compressed files with any number of members: bzip2, because Arrow's reader stops at an empty member; gzip, because it
# refuses the zeros that some programs write after the last member; and xz, which Arrow does not read.

MAX_MEMORY_BYTES = 256 << 20  # `xz -9` takes 65 MiB; a file may ask for 4 GiB
_READ_BYTES = 1 << 18
BLOCK_BYTES, BLOCKS_AHEAD = 8 << 20, 2  # of objects in stores


class _GzipDecompressor:
    """A member of gzip, with the methods of the decompressors of other kinds."""

    def __init__(self) -> None:
        self._zlib = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._zlib, name)

    @property
    def needs_input(self) -> bool:
        return not self._zlib.unconsumed_tail

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._zlib.decompress(self._zlib.unconsumed_tail + data, max_length)


_DECOMPRESSORS: dict[str, Callable[[], Any]] = {
    "gzip": _GzipDecompressor,
    "bz2": bz2.BZ2Decompressor,
    "xz": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, MAX_MEMORY_BYTES),
}


class MultiMemberStream(io.RawIOBase):
    """The decompressed bytes of the compressed file `stored`; each read decompresses only what it returns. Raises:
    OSError for damaged data, a member that is cut off or needs more than `MAX_MEMORY_BYTES`, and anything but a member
    or, except in bzip2, zeros after the end of one."""

    def __init__(self, stored: pa.NativeFile, compression: Literal["gzip", "bz2", "xz"]) -> None:
        self._stored = stored
        self._compression = compression
        self._member: Any = None
        self._input = b""
        self._begun = False

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._stored.close()
        super().close()

    def readinto(self, buffer: Any) -> int:
        while True:
            if self._member is not None and self._member.eof:
                self._input, self._member = self._member.unused_data, None
            if self._member is None:
                if not self._next():
                    return 0
                self._begun = True
                self._member = _DECOMPRESSORS[self._compression]()
            elif self._member.needs_input:
                self._input = self._stored.read(_READ_BYTES)
                if not self._input:
                    raise DamagedDataError("the compressed data is truncated")
            try:
                data = self._member.decompress(self._input, len(buffer))
            except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
                kind = "bzip2" if self._compression == "bz2" else self._compression
                raise DamagedDataError(damage(error, kind)) from None
            self._input = b""
            if data:
                buffer[: len(data)] = data
                return len(data)

    def _next(self) -> bool:
        """Return whether another member begins, after any padding."""
        while True:
            self._input = self._input or self._stored.read(_READ_BYTES)
            if not self._input:
                return False
            if self._begun:
                self._input = self._input if self._compression == "bz2" else self._input.lstrip(b"\0")
            if self._input:
                return True


def damage(error: Exception, kind: str) -> str:
    if "memory" in str(error).lower():
        limit = f"{MAX_MEMORY_BYTES / 1e6:.0f} MB"
        return f"the {kind} data needs more than {limit} of memory: compress it with `{kind} -9` or less"
    return (
        f"the {kind} data is damaged, or followed by other data, or the file only has the name of such a file: {error}"
    )


@dataclass(frozen=True)
class Listing:
    """A listing of a store: its directory, and the number of the objects in it and below."""

    top: Location
    objects: int


@dataclass(frozen=True, slots=True)
class InputFile:
    """An input file."""

    location: Location
    size: int  # bytes, as stored
    shown: str  # the path as the user would give it, for people
    modified: int | None = None  # when it was last written to, in nanoseconds since 1970
    # the machine and its device, and `inode`: what identifies a local file; None in stores
    device: tuple[str, int] | None = None
    inode: int | None = None
    argument: int = 0  # the number of the INPUT that named it
    packed: bool = True  # False to read the bytes as stored
    watched: bool = True  # False if it may change while ggfmt reads it
    keys: tuple[str, ...] = ()  # the names of the columns in the keys of its messages, if a file beside it has the keys
    key_schema: int | None = None  # the id of the schema of all keys of its messages, if they are in the wire format
    packing: Compression | None = None  # how it is compressed, if its name does not show it
    opened: Callable[[], BinaryIO] | None = None  # opens a file that is still being written, whose size is unknown
    listing: Listing | None = None  # which has shown it
    offsets: tuple[int, int] | None = None  # the range of its messages, if they come from a partition of a topic
    messages: str | None = None  # the file with their places, if they are the values alone
    mark: str = ""  # by what the partition is known again
    kept: bytes | None = field(default=None, compare=False, repr=False)  # all of it as stored, so that none opens it

    @property
    def compression(self) -> Compression | None:
        if not self.packed:
            return None
        return self.packing or COMPRESSIONS.get(os.path.splitext(self.location.path)[1])


def unreadable(path: str, error: Exception) -> Diagnostic:
    if isinstance(error, InputChangedError):
        return Diagnostic("GG310", str(error), path, _CHANGED_HELP)
    message = f"the input cannot be read: {without_credentials(reason(error))}"
    return Diagnostic("GG310", message, path, store_remedy(error))


def not_found(given: str, what: str = "input") -> Diagnostic:
    help = "check the path; relative paths start at the current directory"
    return Diagnostic("GG310", f"{what} not found", given, help)


@contextmanager
def unreadable_stops(shown: str) -> Iterator[None]:
    """Raise Abend GG310 for an input that cannot be read."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        raise Abend.of(unreadable(shown, error)) from None


class TransientReadError(OSError):
    """An object of a store could not be read, which may succeed when the task runs again. `diagnostic`: GG310."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(f"{diagnostic.span.file}: {diagnostic.message}")
        self.diagnostic = diagnostic

    def __reduce__(self) -> tuple[object, ...]:
        return TransientReadError, (self.diagnostic,)


def read_error(file: InputFile, error: Exception) -> Abend | TransientReadError:
    """Return the exception for an input: TransientReadError for a store, so that the runner lets the task run again."""
    problem = unreadable(file.shown, error)
    lasts = isinstance(error, (InputChangedError, DamagedDataError, FileNotFoundError, PermissionError))
    if file.location.is_local or lasts or not isinstance(error, OSError):
        return Abend.of(problem)
    return TransientReadError(problem)


@contextmanager
def read_errors_stop() -> Iterator[None]:
    """Raise Abend GG310 for a TransientReadError: no task runs again here."""
    try:
        yield
    except TransientReadError as error:
        raise Abend.of(error.diagnostic) from None


def defect(error: Exception, place: Span) -> Diagnostic:
    """Return the diagnostic of an exception that no data should raise, with its place in program and input."""
    frames = traceback.extract_tb(error.__traceback__)[-3:]
    where = " < ".join(f"{os.path.basename(frame.filename)}:{frame.lineno}" for frame in reversed(frames))
    message = f"the records from here on cannot be read: {type(error).__name__} in {where}"
    return Diagnostic("GG512", message, place, "report this defect of ggfmt, with the record")


class DamagedDataError(OSError):
    """Compressed data is damaged; another attempt reads the same."""


class InputChangedError(OSError):
    """An input has changed since the run was planned; the message says how."""


_CHANGED_HELP = (
    "run again when no program writes to the file any more, or use a copy; with `--checkpoint`, `--settle` leaves "
    "growing files for a later run"
)


def map_files(files: Sequence[InputFile], look: Callable[[InputFile], T]) -> Iterator[T]:
    """Call `look` with each file; results in order. With many at once in stores, where each call takes long."""
    with ThreadPoolExecutor(_LOOKS_AT_ONCE) as threads:
        for start in range(0, len(files), _LOOKS_IN_ONE_GO):
            some = files[start : start + _LOOKS_IN_ONE_GO]
            yield from map(look, some) if all(file.location.is_local for file in some) else threads.map(look, some)


def small_objects(files: Sequence[InputFile]) -> set[Location]:
    """Return which files are small objects, the first ones where not all of them fit into memory."""
    small, room = set(), KEPT_BYTES
    for file in files:
        if not file.location.is_local and 0 < file.size <= min(BUFFER_BYTES, room):
            room -= file.size
            small.add(file.location)
    return small


def keep(file: InputFile) -> InputFile:
    """Return a small object with all of its bytes, which takes no more requests than to look at its head. Raises:
    OSError, InputChangedError."""

    def whole() -> bytes:
        with open_unchanged(replace(file, packed=False)) as stream:
            return stream.read(file.size)

    return replace(file, kept=retried(whole))


def read_at(stored: pa.NativeFile, size: int, place: int) -> bytes:
    return stored.read_at(size, place)  # type: ignore[call-arg]


class ReadAhead(io.RawIOBase):
    """An object of a store, of which the next blocks up to `end` are fetched while the present one is read: a store
    takes as long to answer as to send some megabytes.

    Without an `end`, the first block comes alone, as many objects are opened for their head. The others are larger
    each, up to `BLOCK_BYTES`. Raises: OSError as the store gives.
    """

    def __init__(self, stored: pa.NativeFile, end: int | None = None) -> None:
        self._stored, self._size = stored, stored.size()
        self._end = self._size if end is None else min(end, self._size)
        self._is_bound = end is not None
        self._place = self._start = self._asked = 0  # of the reader, of the present block, of the block to ask for next
        self._data = b""
        self._step = BUFFER_BYTES
        self._ahead: deque[tuple[int, Future[bytes]]] = deque()
        self._threads = ThreadPoolExecutor(BLOCKS_AHEAD)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._place = offset + (0, self._place, self._size)[whence]
        return self._place

    def readinto(self, buffer: Any) -> int:
        offset = self._place - self._start
        if not 0 <= offset < len(self._data) and self._place < self._size:
            self._take_block()
            offset = 0
        part = memoryview(self._data)[offset : offset + len(buffer)]
        buffer[: len(part)] = part
        self._place += len(part)
        return len(part)

    def _take_block(self) -> None:
        """Take the block from the present place on. If it follows the one before it, ask for others."""
        follows = bool(self._data) and self._place == self._start + len(self._data)
        if self._ahead and self._ahead[0][0] != self._place:
            self._ahead.clear()
        if not self._ahead:
            self._asked, self._step = self._place, self._step if follows else BUFFER_BYTES
            self._ask(self._size)
            follows |= self._is_bound
        _, block = self._ahead.popleft()
        while follows and self._asked < self._end and len(self._ahead) < BLOCKS_AHEAD:
            self._ask(self._end)
        self._start, self._data = self._place, block.result()

    def _ask(self, end: int) -> None:
        size = min(self._step, end - self._asked)
        self._ahead.append((self._asked, self._threads.submit(partial(read_at, self._stored, size, self._asked))))
        self._asked += size
        self._step = min(2 * self._step, BLOCK_BYTES)

    def close(self) -> None:
        self._threads.shutdown(cancel_futures=True)
        self._stored.close()
        super().close()


def open_input(file: InputFile) -> BinaryIO:
    """Return the bytes of a file, decompressed; it can seek if the file is not compressed."""
    stored = _stored(file)
    return _decompressed(file, _buffered(stored) if isinstance(stored, pa.NativeFile) else stored)


def _stored(file: InputFile) -> BinaryIO | pa.NativeFile:
    if file.kept is not None:
        return io.BytesIO(file.kept)
    if file.location.is_local:
        return file.opened() if file.opened is not None else open(file.location.path, "rb", buffering=BUFFER_BYTES)
    return file.location.open_file()


def _decompressed(file: InputFile, stored: BinaryIO) -> BinaryIO:
    if file.compression is None:
        return stored
    source = pa.PythonFile(stored, "r")  # type: ignore[arg-type]
    if file.compression == "zstd":
        return _buffered(pa.CompressedInputStream(source, file.compression))
    return _buffered(MultiMemberStream(source, file.compression))


def _buffered(raw: object) -> BinaryIO:
    return cast(BinaryIO, io.BufferedReader(cast(io.RawIOBase, raw), BUFFER_BYTES))


_being_read: dict[int, tuple[BinaryIO, int]] = {}  # files as stored, each with the place where its reader starts


def bytes_being_read() -> int:
    """Return how many bytes have been read, as stored, of the files that this process has open."""
    size = 0
    for source, start in list(_being_read.values()):
        with suppress(OSError, ValueError):  # another thread closes it
            size += max(source.tell() - start, 0)
    return size


@contextmanager
def open_unchanged(file: InputFile, start: int = 0, end: int | None = None) -> Iterator[BinaryIO]:
    """Yield the bytes of a file that must not change from the plan of the run until it has been read. `start`, `end`:
    the places between which most of them are read, as stored. Raises: InputChangedError where it is another one when it
    is opened, or at the end; OSError or ArrowException as reading gives.

    An object of a store is not looked at again at the end: the run ends with `check_inputs_unchanged`.
    """
    stored = _stored(file)
    source = _buffered(ReadAhead(stored, end)) if isinstance(stored, pa.NativeFile) else stored
    with _decompressed(file, source) as stream:
        if file.location.is_local:
            check_unchanged(file)  # after it is open: only then some network file systems look at it
        elif file.watched and isinstance(stored, pa.NativeFile):
            _check_opened(file, stored)
        _being_read[id(source)] = source, start
        try:
            yield stream
        finally:
            del _being_read[id(source)]
    if file.location.is_local:
        check_unchanged(file)


def _check_opened(file: InputFile, stored: pa.NativeFile) -> None:
    """Check an object by what its store said when it was opened; ask again if it said too little."""
    about = stored.metadata()
    try:
        moment = datetime.strptime(about["Last-Modified"].decode(), "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)
        now = replace(file, size=int(about["Content-Length"]), modified=int(moment.timestamp()) * 1_000_000_000)
    except (KeyError, ValueError):
        check_unchanged(file)
    else:
        _compare(file, now)


def check_unchanged(file: InputFile) -> None:
    """Raise InputChangedError if a file has changed since the run was planned. Raises: OSError if ggfmt cannot find
    out."""
    if file.watched:
        try:
            now = stat_file(file.location, file.shown)
        except FileNotFoundError:
            now = None
        _compare(file, now)


def check_inputs_unchanged(files: Sequence[InputFile]) -> None:
    """Raises: Abend GG310 if a file has changed since the run was planned. Objects that one listing has shown are
    listed again, if that takes fewer requests than to ask for each."""

    def check(file: InputFile) -> None:
        with unreadable_stops(file.shown):
            check_unchanged(file)

    beside: dict[Listing | None, list[InputFile]] = defaultdict(list)
    for file in files:
        if file.watched:
            beside[file.listing].append(file)
    for listing, some in beside.items():
        if listing is None or listing.objects >= _LISTED_AT_ONCE * len(some):
            for _ in map_files(some, check):
                pass
            continue
        with unreadable_stops(listing.top.shown):
            fs, inner = listing.top.file_system()
            every = fs.get_file_info(pafs.FileSelector(inner, allow_not_found=True, recursive=True))
        found = {info.path: info for info in every if info.type == pafs.FileType.File}
        for file in some:
            info = found.get(file.location.inner)
            now = None if info is None else replace(file, size=info.size, modified=info.mtime_ns)
            with unreadable_stops(file.shown):
                _compare(file, now)


def _compare(file: InputFile, now: InputFile | None) -> None:
    """Raise InputChangedError if a file is now another one; None: it is gone."""
    if now is None:
        raise InputChangedError("the input was removed while it was read")
    if now.size != file.size:
        raise InputChangedError(
            f"the input changed while it was read: it had {file.size} bytes, and has {now.size} now"
        )
    same_view = now.device is not None and now.device == file.device
    if not has_same_mtime(now, file.modified, same_view):
        then, later = (_time(moment or 0) for moment in (file.modified, now.modified))
        raise InputChangedError(f"the input changed while it was read: it was modified at {then}, and again at {later}")
    if same_view and now.inode != file.inode and not is_renumbered(now.device):
        message = f"another file replaced the input while it was read: inode {file.inode}, now {now.inode}"
        raise InputChangedError(message)


def has_same_mtime(file: InputFile, modified: int | None, same_view: bool = True) -> bool:
    """Return whether a file was last written then, or one is unknown. `same_view`: one machine reports both."""
    if file.modified is None or modified is None:
        return True
    # Stores report milliseconds in a listing and seconds for one object; another machine may do so too.
    unit = 1 if same_view and file.inode is not None else 1_000_000_000
    return file.modified // unit == modified // unit


def read_ends(file: InputFile, size: int) -> bytes:
    """Return the first and the last `size` bytes of a file, as stored; all bytes of a smaller file."""
    with open_input(replace(file, packed=False)) as stream:
        head = stream.read(size)
        if file.size > len(head):
            stream.seek(max(len(head), file.size - size))
            head += stream.read(size)
        return head


def _time(nanoseconds: int) -> str:
    whole = datetime.fromtimestamp(nanoseconds // 1_000_000_000)
    return f"{whole:%Y-%m-%d %H:%M:%S}.{nanoseconds % 1_000_000_000:09d}"


def stat_file(location: Location, shown: str) -> InputFile:
    """Return a file as it is now. Raises: FileNotFoundError if there is none."""
    if location.is_local:
        return local_state(location.path, shown, os.stat(location.path))
    info = location.info()
    if info.type != pafs.FileType.File:
        raise FileNotFoundError(2, "No such file", location.shown)
    return InputFile(location, info.size, shown, info.mtime_ns)


def local_state(path: str, shown: str, status: os.stat_result) -> InputFile:
    device = (platform.node(), status.st_dev)
    return InputFile(Location.local(path), status.st_size, shown, status.st_mtime_ns, device, status.st_ino)


@lru_cache(maxsize=64)
def is_renumbered(device: tuple[str, int] | None) -> bool:
    """Return whether a local file system may change the inode number of a file, as those in user space (FUSE) do."""
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as mounts:
            numbers = f" {os.major(device[1])}:{os.minor(device[1])} " if device is not None else "none"
            return any(numbers in line and " - fuse" in line for line in mounts)
    except (OSError, AttributeError):  # not Linux
        return False
