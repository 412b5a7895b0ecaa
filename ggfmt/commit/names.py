"""Names of output files and directories. The name of a table in the data never decides which directory gets a file."""

from __future__ import annotations

import hashlib
import unicodedata
from datetime import datetime

from ggfmt.dataclasses import dataclass
from ggfmt.lazy import lazy_regex

METADATA_DIRECTORY = "_ggfmt"
RECORDS = "records"  # the ending of files of rejected records
REJECTS_DIRECTORY = "_rejects"
SUCCESS_FILE = "_SUCCESS"
EMBEDDED_CATALOG = "_catalog.db"  # of an output of Iceberg tables without another catalog: no table has this name
ALL_TABLES = "output"

NAME_BYTES = 200  # of the name of a table within other names
FILE_NAME_BYTES = 255  # most file systems allow no longer names
NUMBER_BYTES = 10

_UNSAFE = lazy_regex(r"[/\\%:*?\"<>|\x00-\x1f\x7f]|^[._ ]|[. ]$")
_UNSAFE_IN_LAKES = lazy_regex(r"[^A-Za-z0-9._-]|^[._]|[.]$")
_LAKE_NAME_BYTES = 160
_ENDING = lazy_regex(r"(?:\.[a-z]{1,10}){1,2}$")
_PART_OF_ESCAPE = lazy_regex(r"%[0-9A-F]?$")
_STAMP = "%Y-%m-%d_%H-%M-%S.%f"


def safe_name(table: str, limit: int = NAME_BYTES) -> str:
    """Return the table's name as one path component: characters that a path cannot carry, or that would hide the file,
    become `%XX`. What is longer than `limit` bytes then is cut, and ends with `%~` and a hash of the whole name, which
    no escape begins with. Different names stay different."""
    name = _escaped(table)
    if len(name.encode()) <= limit:
        return name
    mark = f"%~{hashlib.sha256(table.encode()).hexdigest()[:16]}"
    kept = name.encode()[: limit - len(mark)].decode(errors="ignore")
    return _PART_OF_ESCAPE.sub("", kept) + mark


def lake_directory(table: str) -> str:
    """Return the name of the directory of a table: characters that libraries encode in URIs in different ways become
    `~XX`. A long name is cut, and ends with a hash. Different names stay different."""
    name = _UNSAFE_IN_LAKES.sub(lambda found: "".join(f"~{byte:02X}" for byte in found[0].encode()), table)
    if len(name) <= _LAKE_NAME_BYTES:
        return name
    mark = f"~~{hashlib.sha256(table.encode()).hexdigest()[:16]}"
    return name[: _LAKE_NAME_BYTES - len(mark)].rstrip("~") + mark


def safe_file_name(name: str) -> str:
    """Return the same for a whole file name, which keeps its ending (`.schema.json`, `.avsc`)."""
    escaped = _escaped(name)
    if len(escaped.encode()) <= FILE_NAME_BYTES:
        return escaped
    ending = found[0] if (found := _ENDING.search(name)) else ""
    return safe_name(name.removesuffix(ending), FILE_NAME_BYTES - len(ending)) + ending


def _escaped(name: str) -> str:
    return _UNSAFE.sub(lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode()), name)


def folded(path: str) -> str:
    """Return the path as a file system sees it that ignores case and the composition of characters."""
    return unicodedata.normalize("NFC", path).casefold()


def stamp(moment: datetime) -> str:
    """`yyyy-MM-dd_HH-mm-ss.SSS`, as the HDFS handler names its files."""
    return f"{moment:%Y-%m-%d_%H-%M-%S}.{moment.microsecond // 1000:03d}"


def moment_of(run: str) -> datetime | None:
    """Return the time that the id of a run begins with; None if it does not."""
    try:
        return datetime.strptime(run.rpartition("-")[0], _STAMP)
    except ValueError:
        return None


@dataclass(frozen=True)
class FileLocation:
    """The location of the files of one series: their directory below that of the handler, which may be empty, and their
    name before and after the number of each file."""

    directory: str
    stem: str
    ending: str

    @property
    def path(self) -> str:
        return self.name("")

    def numbered(self, part: int, digits: int) -> str:
        return self.name(f"_{part:0{digits}d}")

    def name(self, number: str) -> str:
        return "/".join(filter(None, (self.directory, f"{self.stem}{number}{self.ending}")))


def plain_place(table: str, run_stamp: str, suffix: str) -> FileLocation:
    """Return the default location of the files of a table; `table` is empty for files of all tables."""
    room = FILE_NAME_BYTES - len(run_stamp) - 2 - NUMBER_BYTES - len(suffix.encode())
    name = safe_name(table, min(NAME_BYTES, room)) if table else ALL_TABLES
    return FileLocation(name if table else "", f"{name}_{run_stamp}", suffix)


def reject_file(kind: str, run_stamp: str, part: int, digits: int) -> str:
    return f"{REJECTS_DIRECTORY}/rejects_{run_stamp}_{part:0{digits}d}.{kind}"


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
