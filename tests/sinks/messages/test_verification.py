"""`ggfmt verify` finds what is not as the manifests say, and nothing where all is well."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from runs import JSON_LINES, PIPES, operation, output_files, run_ggfmt, snapshot, write_lines
from typer.testing import CliRunner

from ggfmt.cli import app
from ggfmt.diagnostics.diagnostic import UsageError
from ggfmt.sinks.messages.verification import verify


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Two runs, the second with rejects and schemas."""
    source = write_lines(tmp_path / "in.json", [operation(n, f"GG.T{n % 3}") for n in range(30)])
    bad = write_lines(tmp_path / "bad.json", [operation(1, "GG.T1"), b"no operation", operation(2, "GG.T2")])
    run_ggfmt([source], tmp_path / "out", *JSON_LINES[:2], *PIPES, current_timestamp=datetime(2015, 1, 1))
    run_ggfmt([bad], tmp_path / "out", *JSON_LINES[:2], *PIPES, mode="append", quarantine=True)
    return tmp_path / "out"


def found(out: Path) -> list[str]:
    """What is found: the code, the place below the output, and the first words."""
    return [
        f"{finding.code} {Path(finding.span.file or '').relative_to(out)} {finding.message}"
        for finding in verify(str(out)).findings
    ]


def test_an_output_that_is_as_its_runs_left_it(out: Path, tmp_path: Path) -> None:
    before = snapshot(tmp_path)
    verification = verify(str(out))
    assert verification.findings == []
    assert verification.runs == 2
    assert verification.messages == {(handler, f"GG.T{n}"): 10 + (n > 0) for handler in "jd" for n in range(3)}
    assert verification.rejects == {"j": 1, "d": 1}
    assert verification.files == len(
        [path for handler in "jd" for path in (out / handler).rglob("*") if path.is_file()]
    )
    assert snapshot(tmp_path) == before
    out.rename(tmp_path / "elsewhere")
    assert verify(str(tmp_path / "elsewhere")).findings == []


def first_file(out: Path) -> Path:
    return output_files(out, "j")[0]


FIRST = "j/GG.T0/GG.T0_2015-01-01_00-00-00.000_00000.txt"


def cut(out: Path) -> None:
    first_file(out).write_bytes(first_file(out).read_bytes()[:-1])


def change(out: Path) -> None:
    first_file(out).write_bytes(first_file(out).read_bytes().replace(b"name 0", b"name 1"))


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (lambda out: first_file(out).unlink(), f"GG510 {FIRST} a file in the manifest is missing"),
    "cut": (cut, f"GG510 {FIRST} a file has "),
    "changed": (change, f"GG510 {FIRST} the content of a file differs"),
    "schema": (lambda out: (out / "dirdef" / "GG.T1.schema.json").write_text("{}"), "GG510 dirdef/GG.T1.schema.json"),
    "more": (lambda out: (out / "j" / "GG.T0" / "more").touch(), "GG511 j/GG.T0/more no manifest lists this file"),
    "beside": (lambda out: (out / "more").touch(), "GG511 more no manifest lists this file"),
    "link": (lambda out: (out / "j" / "link").symlink_to("/etc"), "GG511 j/link the output directory holds a symbolic"),
    "staging": (lambda out: (out / "_ggfmt" / "staging" / "r").mkdir(parents=True), "GG511 _ggfmt/staging/r a run is"),
    "own": (lambda out: (out / "_ggfmt" / "journal.json.1f").touch(), "GG511 _ggfmt/journal.json.1f the file does not"),
    "journal": (lambda out: (out / "_ggfmt" / "journal.json").touch(), "GG511 _ggfmt/journal.json the commit of a run"),
    "pointer": (lambda out: (out / "_ggfmt" / "pointer.json").touch(), "GG511 _ggfmt/pointer.json the commit of a run"),
    "success": (lambda out: (out / "_SUCCESS").unlink(), "GG510 _SUCCESS the file that marks"),
    "manifest": (lambda out: (out / "_ggfmt" / "manifest.json").write_text("{"), "GG509 _ggfmt/manifest.json "),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_what_is_not_as_it_was_left_is_named(out: Path, name: str) -> None:
    damage, expected = DAMAGES[name]
    damage(out)
    findings = found(out)
    assert findings[0].startswith(expected)
    assert len(findings) == 1 or name == "manifest"


def test_counts_are_conserved(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", [operation(n, f"GG.T{n % 4}") for n in range(40)])
    out = tmp_path / "out"
    run_ggfmt([source], out, *JSON_LINES)
    (record,) = (out / "_ggfmt" / "runs").iterdir()
    whole = record.read_text()
    for text, wrong, said in (
        ('"operations": 10', '"operations": 9', "handler j: its files hold 36 messages of 40 written"),
        ('"operations": 10', '"operations": 9', "handler j, table GG.T3: 9 messages for 10 operations"),
        ('"messages": 40', '"messages": 41', "handler j: its files hold 40 messages of 41 written"),
        ('"extra_messages": 0', '"extra_messages": 1', "handler j: 40 records were read, but 39 are accounted for"),
        ('"operations_read": 40', '"operations_read": 41', "all tables together have 40 operations, but 41 were read"),
    ):
        record.write_text(whole.replace(text, wrong))
        assert said in " ".join(found(out))


def test_an_output_within_is_an_output_of_its_own(out: Path, tmp_path: Path) -> None:
    run_ggfmt([tmp_path / "in.json"], out / "j" / "within")
    assert verify(str(out)).findings == verify(str(out / "j" / "within")).findings == []


def test_an_output_after_an_overwrite_of_one_handler(out: Path, tmp_path: Path) -> None:
    run_ggfmt([tmp_path / "in.json"], out, *JSON_LINES, mode="overwrite")
    verification = verify(str(out))
    assert verification.findings == []
    assert {key: count for key, count in verification.messages.items() if key[0] == "j"} == {
        ("j", f"GG.T{n}"): 10 for n in range(3)
    }


def test_an_output_of_an_earlier_ggfmt_is_read_by_its_manifest(tmp_path: Path, out: Path) -> None:
    alone = tmp_path / "alone"
    run_ggfmt([tmp_path / "in.json"], alone)
    shutil.rmtree(alone / "_ggfmt" / "runs")
    assert verify(str(alone)).findings == []
    first_file(alone).unlink()
    assert len(found(alone)) == 1


def test_outputs_of_one_run_in_two_directories(tmp_path: Path, out: Path) -> None:
    roots = (f"gg.handler.j.rootFilePath={tmp_path / 'json'}", f"gg.handler.d.rootFilePath={tmp_path / 'text'}")
    run_ggfmt([tmp_path / "in.json"], None, *JSON_LINES, *PIPES, *roots, "gg.handlerlist=j,d")
    for name, handler in (("json", "j"), ("text", "d")):
        (tmp_path / name).rename(tmp_path / f"{name}-moved")
        verification = verify(str(tmp_path / f"{name}-moved"))
        assert verification.findings == []
        assert set(verification.messages) == {(handler, f"GG.T{n}") for n in range(3)}


def test_what_is_no_output_is_a_wrong_usage(tmp_path: Path) -> None:
    for directory in (tmp_path, tmp_path / "none"):
        with pytest.raises(UsageError, match=r"GG310.*not an output of ggfmt"):
            verify(str(directory))


def test_the_command(out: Path) -> None:
    ended = CliRunner().invoke(app, ["verify", str(out)])
    assert ended.exit_code == 0
    assert "handler j, table GG.T1: 11 messages\n" in ended.output
    assert "handler j: 1 reject\n" in ended.output
    assert ended.output.splitlines()[-1].startswith("2 runs, 14 files, ")
    assert ended.output.endswith(" bytes: no findings\n")
    (out / "more").touch()
    ended = CliRunner().invoke(app, ["verify", str(out), "--output-format", "json"])
    assert ended.exit_code == 1
    document = json.loads(ended.output)
    assert document["messages"]["d"] == {"GG.T0": 10, "GG.T1": 11, "GG.T2": 11}
    assert [finding["code"] for finding in document["findings"]] == ["GG511"]
    assert CliRunner().invoke(app, ["verify", str(out.parent)]).exception is not None
