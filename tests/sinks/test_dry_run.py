"""A dry run finds what a run would find, shows what it would do, and leaves everything as it is."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from places import ROOT
from runs import JSON_LINES, operation, output_files, run_ggfmt, snapshot, write_lines

from ggfmt import cli

Planned = Callable[..., tuple[int, str, str]]


@pytest.fixture
def planned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Planned:
    """Plans a run in a directory, in which nothing changes; the exit code, the plan, and all other output."""
    monkeypatch.chdir(tmp_path)

    def started(*_: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr("ggfmt.spark.session.SparkRunner", started)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"not to be read")))
    write_lines(tmp_path / "in.json", [operation(n, f"GG.T{n % 2}") for n in range(40)])

    def call(*arguments: str) -> tuple[int, str, str]:
        before = snapshot(tmp_path), sorted(tmp_path.rglob("*"))
        code = cli.main(["run", *arguments, "--dry-run"])
        assert (snapshot(tmp_path), sorted(tmp_path.rglob("*"))) == before
        return code, *capsys.readouterr()

    return call


PIPES = ("--set", "gg.handler.d.format=delimitedtext", "--set", "gg.handler.d.includeTokens=false")
DEFINITIONS = ("--definitions", str(ROOT / "samples" / "TCUSTORD.def"))


def test_a_plan(planned: Planned, tmp_path: Path) -> None:
    told = ("--set", "gg.handler.j.format=json", *PIPES, "--split-size", "2k", "--master", "local[3]")
    code, plan, _ = planned("in.json", *told, *DEFINITIONS, "-o", "out")
    size = (tmp_path / "in.json").stat().st_size
    head, _, rest = plan.partition("Handler ")
    assert code == 0
    assert head.splitlines() == [
        f"Inputs: 1 file, {size:,} bytes as stored",
        f"  in.json  {size:,} bytes",
        "  Format: json, in in.json, a record has `table` and `op_type`",
        f"Splits: {-(-size // 2048)}, the largest of 2,048 bytes",
        "Tables: 3 from definitions",
    ]
    assert f"  Below {tmp_path}/out/d, which has no output yet\n" in rest
    assert rest.count("  GG.TCUSTORD: GG.TCUSTORD/GG.TCUSTORD_2") == 2
    assert f"  Schemas in {tmp_path}/out/dirdef\n" in rest
    assert plan.endswith("This was a dry run: nothing was written.\n")


def test_the_files_are_those_of_the_run(planned: Planned, tmp_path: Path) -> None:
    told: tuple[str, ...] = (str(ROOT / "samples" / "tcustord.json"), "--to", "json", *DEFINITIONS, "-o", "out")
    told += ("--current-timestamp", "2015-09-18T13:39:35.447")
    _, plan, _ = planned(*told)
    assert cli.main(["run", *told, "--master", "none"]) == 0
    shown = {line.partition(": ")[2] for line in plan.splitlines() if line.startswith("  GG.")}
    out = tmp_path / "out" / "json"
    written = {str(path.relative_to(out)) for path in output_files(tmp_path / "out", "json")}
    assert shown <= written
    assert {name.partition("/")[0] for name in shown} == {name.partition("/")[0] for name in written}


def test_what_is_replaced_is_counted_and_stays(planned: Planned, tmp_path: Path) -> None:
    run_ggfmt([tmp_path / "in.json"], tmp_path / "out", *JSON_LINES)
    told = ("in.json", "--set", "gg.handler.j.format=json", "-o", "out")
    code, plan, _ = planned(*told, "--mode", "overwrite")
    assert (code, "/out/j, in place of 2 files\n" in plan) == (0, True)
    code, plan, _ = planned(*told, "--mode", "append")
    assert (code, "/out/j, beside the existing output\n" in plan) == (0, True)
    code, plan, errors = planned(*told)
    assert (code, plan) == (2, "")
    assert "error[GG501] the output directory already holds output" in errors


def test_standard_input_is_not_read_and_a_stream_is_not_begun(planned: Planned) -> None:
    code, plan, _ = planned("-", "--to", "json", "-o", "-")
    assert code == 0
    assert "Inputs: standard input, which was not read\n" in plan
    assert "  To standard output\n" in plan


def test_a_cluster_decides_how_many_splits_there_are(planned: Planned) -> None:
    code, plan, _ = planned("in.json", "--to", "json", "-o", "out", "--master", "spark://nowhere:7077")
    assert code == 0
    assert "\nSplits: their number depends on the cores of the cluster, and is known once Spark runs\n" in plan


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("gone.json", "--to", "json", "-o", "out"), 2, "GG310"),
        (("in.json", "-c", "gone.properties", "-o", "out"), 2, "GG100"),
        (("in.json", "--to", "json", "--definitions", "gone.def", "-o", "out"), 2, "GG201"),
        (("in.json", "--to", "json"), 1, "GG109"),
        (("in.json", "--to", "json", "-o", "in.json/out"), 3, "GG506"),
        (("in.json", "--to", "json", "-o", "out", "--checkpoint", "out"), 2, "GG513"),
        (
            ("in.json", *PIPES, *DEFINITIONS, "-o", "out", "--set", "gg.handler.d.fileNameMappingTemplate=all",
             "--set", "gg.handler.d.pathMappingTemplate=all"),
            3,
            "GG514",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)  # fmt: skip
def test_a_dry_run_finds_what_a_run_would_find(
    arguments: tuple[str, ...], code: int, told: str, planned: Planned
) -> None:
    found, plan, errors = planned(*arguments)
    assert (found, plan) == (code, "")
    assert f"error[{told}]" in errors


def test_an_output_without_permission_is_found(planned: Planned, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ggfmt.reading.files.os.access", lambda *_: False)
    code, _, errors = planned("in.json", *PIPES, "-o", "out")
    assert (code, "GG506] the output directory cannot be written" in errors) == (3, True)


def test_a_long_plan_ends_after_20(planned: Planned, tmp_path: Path) -> None:
    (tmp_path / "many").mkdir()
    for number in range(30):
        write_lines(tmp_path / "many" / f"{number:02d}.json", [operation(number)])
    _, plan, _ = planned("many", "--to", "json", "-o", "out")
    assert plan.count("many/") == 21  # the reason for the format names one
    assert "  and 10 more; see `--log-level debug`\n" in plan
