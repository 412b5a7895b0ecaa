"""Bytes are exactly these: every directory of `golden/<format>/` is a case, run through the whole engine.

input.json          operations as GoldenGate JSON
handler.properties  a handler named `g`
definitions.def     if it is there, the definitions; otherwise they are discovered
current_timestamp   the fixed time
expected            the bytes of all output files, one after the other in the order of their names
expected.schema.json, expected.avsc    if it is there, the one schema of the table
expected.files      if it is there, the names of all files written
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest
from golden_cases import CASES, MANUAL
from places import GOLDEN
from runs import manifest

from ggfmt.config.handlers import read_configuration
from ggfmt.definitions import load_definitions
from ggfmt.reading.runner import InProcess
from ggfmt.sinks.messages.run import RunResult, RunSettings, execute


def run_case(case: Path, split_size: int | None = None) -> RunResult:
    """Runs a case with the working directory as the place of its output."""
    configuration = read_configuration([str(case / "handler.properties")])
    definitions = case / "definitions.def"
    settings = RunSettings(
        inputs=[str(case / "input.json")],
        handlers=configuration.handlers,
        output="out",
        run_options=configuration.run,
        definitions=load_definitions([str(definitions)] if definitions.exists() else []),
        current_timestamp=datetime.fromisoformat((case / "current_timestamp").read_text().strip()),
        split_size=split_size,
    )
    return execute(settings, InProcess)


def written(directory: Path) -> list[Path]:
    """The files that a run wrote, in name order, less what it wrote about itself."""
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    return [path for path in files if path.name != "_SUCCESS" and "_ggfmt" not in path.parts]


def outputs(directory: Path) -> list[Path]:
    """The files of messages and of rejects, in name order: what is no schema."""
    schemas = {entry["path"] for entry in manifest(directory / "out")["schemas"]}
    return [path for path in written(directory) if path.relative_to(directory / "out").as_posix() not in schemas]


@pytest.mark.parametrize("case", CASES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_bytes_written_are_exactly_those_expected(
    case: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run_case(case)
    assert b"".join(path.read_bytes() for path in outputs(tmp_path)) == (case / "expected").read_bytes()
    for schema in (case / "expected.schema.json", case / "expected.avsc"):
        if not schema.exists():
            continue
        suffix = schema.name.removeprefix("expected")
        found = [path for path in written(tmp_path) if path.name.endswith(suffix)]
        schemas = [path for path in found if path.name != "generic_wrapper.avsc"]
        latest = [schemas[0], schemas[-1]]  # the present one, and the last copy of it where versions are kept
        assert [path.read_bytes() for path in latest] == [schema.read_bytes()] * 2
    names = case / "expected.files"
    if names.exists():
        relative = [path.relative_to(tmp_path).as_posix() for path in written(tmp_path)]
        assert relative == names.read_text().split()
    assert result.totals.rejects == 0


@pytest.mark.parametrize("case", CASES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_split_for_every_record_changes_nothing(case: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_case(case, split_size=100)
    assert b"".join(path.read_bytes() for path in outputs(tmp_path)) == (case / "expected").read_bytes()


def test_every_message_of_the_manual_has_a_case() -> None:
    for format in ("delimitedtext", "json"):
        assert {path.name for path in CASES if path.parent.name == format} >= set(MANUAL)


def test_the_manuals_json_messages_come_out_as_they_went_in() -> None:
    for name in MANUAL:
        case = GOLDEN / "json" / name
        assert (case / "expected").read_bytes() == (case / "input.json").read_bytes().rstrip(b"\n")
