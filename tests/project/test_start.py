"""What a start of ggfmt loads: few modules, and none of a system that a command does not use."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT

STARTED = """
import json, sys
from ggfmt.__main__ import run
sys.argv = ["ggfmt", *json.loads(sys.argv[1])]
code = run()
print()
print(json.dumps([name for name in sys.modules if name.partition(".")[0] == "ggfmt"]))
sys.exit(code)
"""
SAMPLE = ["samples/tcustord.json", "--definitions", "samples/TCUSTORD.def", "-c", "conf/json.properties"]
# What JSON of GoldenGate without Kafka, Spark and databases does not need.
UNUSED = (
    *("cli.lsp", "cli.reference", "cli.validate", "columnar.replacement", "comparison", "config.handler_file"),
    *("config.kafka_producer", "config.lint.files", "config.lint.fix", "database", "definitions.schemas"),
    *(
        "definitions.sql",
        "doctor",
        "docs",
        "frames",
        "kafka.",
        "reading.foreign_files",
        "reading.row_files",
        "reading.masks",
        "reading.topics",
        "render.report",
    ),
    *("rowfiles", "rows", "sinks.kafka", "spark"),
)
MOST_OF_RUN, MOST_OF_PREVIEW, MOST_OF_CHECK = 152, 144, 70  # modules, packages among them
FORMATS = {"api", "goldengate", "json", "records"}  # of `formats`
GOLDENGATE = {
    "container_files",
    "json",
    "metacolumns",
    "options",
    "reading",
    "schemas",
    "streams",
    "writing",
}


def loaded(*arguments: str) -> list[str]:
    """The modules of ggfmt that a command has loaded when it ends, without `ggfmt.`."""
    ended = subprocess.run(
        [sys.executable, "-c", STARTED, json.dumps(["-q", *arguments])],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        cwd=ROOT,
    )
    return [name.removeprefix("ggfmt.") for name in json.loads(ended.stdout.splitlines()[-1])]


def check(modules: list[str], most: int) -> None:
    assert len(modules) <= most
    assert "formats.goldengate.json" in modules
    assert [name for name in modules if name.startswith(UNUSED)] == []
    parts = [name.split(".") for name in modules]
    assert {name[1] for name in parts if name[0] == "formats" and len(name) > 1} <= FORMATS
    assert {name[2] for name in parts if name[:2] == ["formats", "goldengate"] and len(name) > 2} <= GOLDENGATE


def test_a_run_loads_what_it_uses(tmp_path: Path) -> None:
    check(loaded("run", *SAMPLE, "-o", str(tmp_path / "out"), "--master", "none"), MOST_OF_RUN)


def test_a_preview_loads_what_it_uses() -> None:
    modules = loaded("preview", *SAMPLE)
    check([name for name in modules if name != "columnar.replacement"], MOST_OF_PREVIEW)


@pytest.mark.parametrize("file", ["conf/json.properties", "conf/canal_json.properties"])
def test_a_check_of_a_handler_file_loads_no_reader(file: str) -> None:
    modules = loaded("validate-config", file)
    assert len(modules) <= MOST_OF_CHECK
    parts = ("arrow", "columnar", "commit", "engine", "reading", "sinks", "kernels", "definitions")
    assert [name for name in modules if name.startswith(parts)] == []
