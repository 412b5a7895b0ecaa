"""Outputs for tests of `ggfmt report`: one with all that a page shows, and one with names that attack it."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from runs import JSON_LINES, PIPES, operation, run_ggfmt, write_lines

from ggfmt.render.report.manifests import run_report
from ggfmt.render.report.page import page
from ggfmt.sinks.messages.run_history import read_run

# A delimiter in a value, a character that the encoding lacks, schemas.
LOSING = (*JSON_LINES[:2], *PIPES[:2], "gg.handler.d.format.encoding=US-ASCII")
NAMES = (
    "<script>alert(1)</script>",
    "</title></script><img src=x onerror=alert(1)>",
    "\" onmouseover=\"alert(1)' x='",
    "GG.T\u202egnp.exe\u2066",
    "GG.\u05d0\u05d1\u05d2 \u0645\u0631\u062d\u0628\u0627",
    "a\u2028b\u0085c",
    "&lt;b&gt;&amp;",
    "]]><!--",
    "{{7*7}} ${7*7} javascript:alert(1)",
    "x" * 200,
)
START = datetime(2026, 1, 31, 18, 30)


def story(tables: tuple[str, ...], count: int, seconds: float = 20) -> list[dict[str, Any] | bytes]:
    """Operations of all types and tables in turn, so many seconds apart; some are no JSON, some have no time."""
    records: list[dict[str, Any] | bytes] = []
    for number in range(count):
        value = ("a", "é", "x|y")[number % 3]
        record = operation(number, tables[number % len(tables)], "IIIUUD"[number % 6], NAME=value)
        record["op_ts"] = f"{START + timedelta(seconds=number * seconds)}.000000"
        if number % 50 == 49:
            record["op_ts"] = ""
        records.append(record)
        if number % 40 == 39:
            records.append(b"NOT JSON")
    records.append({"table": tables[0], "op_type": "T", "op_ts": f"{START}", "pos": "1"})
    return records


def output(folder: Path, tables: tuple[str, ...] = ("GG.A", "GG.B", "GG.C"), count: int = 120) -> Path:
    """`out` in the folder, made from `in.json` there."""
    shutil.copytree(_made(tables, count).name, folder, dirs_exist_ok=True)
    return folder / "out"


@cache
def _made(tables: tuple[str, ...], count: int) -> tempfile.TemporaryDirectory[str]:
    directory = tempfile.TemporaryDirectory()
    source = write_lines(Path(directory.name, "in.json"), story(tables, count))
    run_ggfmt([source], Path(directory.name, "out"), *LOSING, quarantine=True)
    return directory


def hostile_output(folder: Path) -> Path:
    """An output whose manifest says hostile things also where a run would not let it."""
    out = output(folder, NAMES, 60)

    def attack(document: dict[str, Any]) -> None:
        word = NAMES[0]
        document |= {"run": f"r{word}", "time": word, "mode": word, "input_format": word, "replaced": [word]}
        document["versions"] = {word: word}
        document["inputs"] = [{"path": f"s3://user:secret@bucket/{word}", "bytes": 1}]
        document["handlers"]["j"]["options"] = {word: "\x1b[2J\x00\ud800", "uri": "hdfs://user:secret@host/x"}
        totals = document["totals"]
        totals["handlers"][word] = {**totals["handlers"]["j"], "rejects": {word: 3}}
        totals["other_records"], totals["unknown_members"] = {word: 1}, {NAMES[1]: 1}
        totals["seconds_by_step"][word] = 1.5
        totals["warnings"].append(NAMES[1])
        totals["operations"][NAMES[2]]["<i>"] = 2

    changed(out, attack)
    return out


def page_of(out: Path) -> str:
    """The page of the latest run of an output."""
    return page(run_report(read_run(str(out))))


def changed(out: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Changes the manifest of the latest run."""
    file = out / "_ggfmt" / "manifest.json"
    document = json.loads(file.read_text(encoding="utf-8"))
    change(document)
    file.write_text(json.dumps(document), encoding="utf-8")
