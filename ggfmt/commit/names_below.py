"""Names of files below a directory: which of them are left out by rule, and which keys of stores cannot be opened."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import pyarrow.fs as pafs

from ggfmt.commit.names import METADATA_DIRECTORY, SUCCESS_FILE, counted
from ggfmt.java.text import visible
from ggfmt.location import StoreError

# What Spark, Hadoop and ggfmt write beside data: never data, so that the log need not name it.
_KNOWN = (METADATA_DIRECTORY, SUCCESS_FILE, "_temporary")


def is_hidden(name: str) -> bool:
    """Return whether a name is left out by rule: it starts with `_` or `.`. The parts `.` and `..` of a key do not
    count, and neither does an empty part: they are names like others to a store."""
    return name.startswith(("_", ".")) and name not in (".", "..")


def hidden_part(path: str) -> str | None:
    """Return a path up to its first name that is left out by rule; None if it has no such name."""
    parts = path.split("/")
    return next(("/".join(parts[: number + 1]) for number, part in enumerate(parts) if is_hidden(part)), None)


def is_worth_telling(hidden: str) -> bool:
    """Return whether a log should name what was left out by rule: it may be data."""
    name = hidden.rpartition("/")[2]
    return name not in _KNOWN and not name.endswith(".crc")  # Hadoop's checksums


def entries_below(fs: pafs.FileSystem, top: str) -> tuple[dict[str, pafs.FileInfo], set[str]]:
    """Return all files below a directory, at any depth, and all directories, by their paths from there on; both are
    empty if there is no such directory.

    StoreError if two keys of a store have one path, as `a` and `a/` have: Arrow's file systems open only one.
    """
    infos = fs.get_file_info(pafs.FileSelector(top, recursive=True, allow_not_found=True))
    prefix = top.rstrip("/") + "/"
    files: dict[str, pafs.FileInfo] = {}
    directories: set[str] = set()
    for info in infos:
        path = info.path.removeprefix(prefix)
        # In a store a path may be that of a file and of a directory at once: `a` and `a/b`.
        if info.type == pafs.FileType.Directory:
            directories.add(path)
        elif info.type == pafs.FileType.File:
            if path in files:
                message = f"two objects are called `{visible(path)}`, one of them with a slash at its end"
                raise StoreError(message, "rename one of them")
            files[path] = info
    return files, directories


def check_parts(paths: Iterable[str], shown: Callable[[str], str] = str) -> None:
    """StoreProblem if there are keys with a part that is empty, `.` or `..`: Arrow's file systems open none of them.

    `shown` makes a path for people. To leave such keys out would lose what is in them.
    """
    refused: Sequence[str] = [path for path in paths if any(part in ("", ".", "..") for part in path.split("/"))]
    if not refused:
        return
    message = f"the key `{visible(shown(refused[0]))}` has a part that is empty, `.` or `..`"
    if len(refused) > 1:
        message += f", and so {'has' if len(refused) == 2 else 'have'} {counted(len(refused) - 1, 'other key')}"
    raise StoreError(message, "rename such objects, or name inputs without them: ggfmt cannot open these keys")
