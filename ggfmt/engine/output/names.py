"""Names of output files and directories. What a record calls its table never decides where a file goes."""

from __future__ import annotations

import re
from datetime import datetime

METADATA_DIRECTORY = "_ggfmt"
REJECTS_DIRECTORY = "_rejects"
SUCCESS_FILE = "_SUCCESS"
ALL_TABLES = "output"

_UNSAFE = re.compile(r"[/\\%:*?\"<>|\x00-\x1f\x7f]|^[._ ]|[. ]$")


def safe_name(table: str) -> str:
    """The table's name as one path component: characters that a path cannot carry, or that would hide the file, become
    `%XX`. Different names stay different."""
    return _UNSAFE.sub(lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode()), table)


def stamp(moment: datetime) -> str:
    """`yyyy-MM-dd_HH-mm-ss.SSS`, as the HDFS handler names its files."""
    return f"{moment:%Y-%m-%d_%H-%M-%S}.{moment.microsecond // 1000:03d}"


def data_file(table: str, run_stamp: str, part: int, suffix: str) -> str:
    """The path of an output file below its handler's directory; `table` is empty for a file of all tables."""
    name = safe_name(table) if table else ALL_TABLES
    file = f"{name}_{run_stamp}_{part:05d}{suffix}"
    return f"{name}/{file}" if table else file


def reject_file(kind: str, run_stamp: str, part: int) -> str:
    return f"{REJECTS_DIRECTORY}/rejects_{run_stamp}_{part:05d}.{kind}"


def counted(number: int, noun: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
