"""Helps for tests that run the engine: data in the style of the manual, a run in this process, its output."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import Any

from ggfmt.config.handlers import read_configuration
from ggfmt.model.table import TableDef
from ggfmt.reading.runner import InProcess, Runner
from ggfmt.sinks.messages.run import RunResult, RunSettings, execute

MOMENT = datetime(2015, 9, 18, 13, 39, 35, 447000)
JSON_LINES = (
    "gg.handler.j.format=json",
    "gg.handler.j.format.jsonDelimiter=CDATA[\\n]",
    "gg.handler.j.format.generateSchema=false",
)
PIPES = (
    "gg.handler.d.format=delimitedtext",
    "gg.handler.d.format.fieldDelimiter=|",
    "gg.handler.d.format.encoding=UTF-8",
)


def operation(number: int, table: str = "GG.TCUSTORD", kind: str = "I", **columns: Any) -> dict[str, Any]:
    """One operation; `columns` are those of its only image, or of both images of an update."""
    image = {"ID": f"{number}", "NAME": f"name {number}", "AMOUNT": number, **columns}
    message: dict[str, Any] = {
        "table": table,
        "op_type": kind,
        "op_ts": "2013-06-02 22:14:36.000000",
        "pos": f"{number:020d}",
    }
    if kind in "UD":
        message["before"] = image
    if kind in "IU":
        message["after"] = image
    return message


def count_calls(run: Callable[[], object]) -> int:
    """How many functions of Python and of libraries a run calls, or goes on with, in this thread."""
    number = 0

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal number
        number += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        run()
    finally:
        sys.setprofile(None)
    return number


def metadata(table: str = "GG.TCUSTORD", **types: str) -> dict[str, Any]:
    columns = {name: {"type": kind, "null": True, "key": name == "ID"} for name, kind in types.items()}
    return {"op_type": "OBJECT_METADATA", "qual_table": table, "columns": columns}


def write_lines(path: Path, records: Iterable[dict[str, Any] | bytes]) -> Path:
    lines = (item if isinstance(item, bytes) else json.dumps(item, ensure_ascii=False).encode() for item in records)
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path


def run_ggfmt(
    inputs: Sequence[Path],
    output: Path | None,
    *settings: str,
    start: Callable[[], AbstractContextManager[Runner]] = InProcess,
    definitions: dict[str, TableDef] | None = None,
    current_timestamp: datetime | None = MOMENT,
    **others: Any,
) -> RunResult:
    """A run of `settings` (all handlers that they configure)."""
    configuration = read_configuration([], settings or (*JSON_LINES, *PIPES))
    wanted = RunSettings(
        inputs=[str(path) for path in inputs],
        handlers=configuration.handlers,
        run_options=configuration.run,
        replacements=configuration.replacements,
        output=None if output is None else str(output),
        definitions=definitions or {},
        current_timestamp=current_timestamp,
        **others,
    )
    return execute(wanted, start)


def output_files(output: Path, handler: str) -> list[Path]:
    """The data files of a handler in name order."""
    return sorted(path for path in (output / handler).rglob("*") if path.is_file() and "_rejects" not in path.parts)


def content(output: Path, handler: str) -> bytes:
    return b"".join(path.read_bytes() for path in output_files(output, handler))


def tables(output: Path, handler: str) -> dict[str, bytes]:
    """For each table the bytes of its files in name order."""
    found: dict[str, bytes] = {}
    for path in output_files(output, handler):
        found[path.parent.name] = found.get(path.parent.name, b"") + path.read_bytes()
    return found


def snapshot(directory: Path) -> dict[str, str]:
    """All files below a directory with their digests."""
    return {
        str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


def manifest(output: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((output / "_ggfmt" / "manifest.json").read_text(encoding="utf-8"))
    return document
