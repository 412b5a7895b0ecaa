"""Files by path or URI, through Arrow's file systems: local disks, S3, GCS, and HDFS where libhdfs is installed."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import BinaryIO, cast

import pyarrow as pa
import pyarrow.fs as pafs

from ggfmt.diagnostics.diagnostic import Diagnostic, Span, UsageError

COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
BUFFER_BYTES = 1 << 20

_URI = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+://")
_GLOB = re.compile(r"[*?\[]")


@dataclass(frozen=True)
class InputFile:
    """One input file and its size in bytes, as stored; `shown` is its path as the user would give it."""

    path: str
    size: int
    shown: str

    @property
    def compression(self) -> str | None:
        return COMPRESSIONS.get(os.path.splitext(self.path.partition("?")[0])[1])


def file_system(path: str) -> tuple[pafs.FileSystem, str]:
    """The file system of a path or URI, and the path within it."""
    if not _URI.match(path):
        return pafs.LocalFileSystem(), os.path.abspath(path)
    fs, inner = pafs.FileSystem.from_uri(path)
    return fs, inner


def not_writable(directory: str) -> str | None:
    """Why a local directory cannot be written to, or made; None if it can, or if it is not local."""
    if _URI.match(directory):
        return None
    path = os.path.abspath(directory)
    while not os.path.lexists(path):
        path = os.path.dirname(path)
    if not os.path.isdir(path):
        return f"`{path}` is not a directory"
    return None if os.access(path, os.W_OK | os.X_OK) else f"`{path}` may not be written to"


def is_local(fs: pafs.FileSystem) -> bool:
    return isinstance(fs, pafs.LocalFileSystem)


def absolute(path: str) -> str:
    """The path as any process on any directory may use it; URIs as they are."""
    return path if _URI.match(path) else os.path.abspath(path)


def child(path: str, *names: str) -> str:
    """What is called by `names` below a path; the options at the end of a URI stay at its end."""
    base, options = _parted(path)
    return "/".join((base.rstrip("/"), *names)) + options


def extended(path: str, ending: str) -> str:
    """The path with something added to its last name."""
    base, options = _parted(path)
    return base + ending + options


def _parted(path: str) -> tuple[str, str]:
    base, mark, options = path.partition("?") if _URI.match(path) else (path, "", "")
    return base, mark + options


def list_inputs(inputs: Sequence[str]) -> list[InputFile]:
    """The files that the inputs name, in order: of a directory its files in name order, of a glob its matches.

    In directories, names that start with `_` or `.` are left out. UsageError names every input that does not exist.
    """
    files: list[InputFile] = []
    problems = []
    for given in inputs:
        try:
            found = list(_expand(given))
        except (OSError, pa.ArrowException, ValueError) as error:
            problems.append(unreadable(given, error))
            continue
        if not found and not _is_directory(given):
            problems.append(Diagnostic("GG310", "there is no such input", Span(file=given), "check the path"))
        files += found
    if problems:
        raise UsageError(*problems)
    return files


def unreadable(path: str, error: Exception) -> Diagnostic:
    """The diagnostic of an input that cannot be read, with the system's reason."""
    reason = getattr(error, "strerror", None) or str(error).split("\n", 1)[0]
    return Diagnostic("GG310", f"the input cannot be read: {reason}", Span(file=path))


def _is_directory(path: str) -> bool:
    fs, inner = file_system(path)
    return bool(fs.get_file_info(inner).type == pafs.FileType.Directory)


def _expand(given: str) -> Iterator[InputFile]:
    fs, inner = file_system(given)
    info = fs.get_file_info(inner)

    def shown(path: str) -> str:
        """A path within the file system, as the user would have given it."""
        if not _URI.match(given):
            return path if os.path.isabs(given) else os.path.relpath(path)
        base, options = _parted(given)
        return base.rstrip("/").removesuffix(inner.rstrip("/")) + path + options

    if info.type == pafs.FileType.File:
        yield InputFile(absolute(given), info.size, given)
    elif info.type == pafs.FileType.Directory:
        for item in _files_below(fs, inner):
            yield InputFile(absolute(shown(item.path)), item.size, shown(item.path))
    elif match := _GLOB.search(inner):
        base = inner[: match.start()].rsplit("/", 1)[0]
        for item in _files_below(fs, base or "/"):
            if _glob_matches(inner, item.path):
                yield InputFile(absolute(shown(item.path)), item.size, shown(item.path))


def _glob_matches(pattern: str, path: str) -> bool:
    parts, patterns = path.split("/"), pattern.split("/")
    return len(parts) == len(patterns) and all(
        fnmatchcase(part, glob) for part, glob in zip(parts, patterns, strict=True)
    )


def _files_below(fs: pafs.FileSystem, base: str) -> list[pafs.FileInfo]:
    infos = fs.get_file_info(pafs.FileSelector(base, recursive=True, allow_not_found=True))
    prefix = base.rstrip("/") + "/"
    files = []
    for item in infos:
        below = item.path[len(prefix) :] if item.path.startswith(prefix) else item.path
        if item.type == pafs.FileType.File and not any(name[:1] in "_." for name in below.split("/")):
            files.append(item)
    return sorted(files, key=lambda item: item.path)


def open_input(file: InputFile) -> BinaryIO:
    """The bytes of a file, decompressed; it can seek if the file is not compressed."""
    fs, inner = file_system(file.path)
    if file.compression is None:
        raw = fs.open_input_file(inner)
    else:
        raw = fs.open_input_stream(inner, compression=file.compression)
    return cast(BinaryIO, io.BufferedReader(raw, BUFFER_BYTES))
