"""Runs without Spark: what `--master none` does is what a session would do, Ctrl-C and a full disk included."""

from __future__ import annotations

import errno
import logging
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from command_line import JSON, call, codes
from places import ROOT
from runs import MOMENT, content, manifest, operation, run_ggfmt, tables, write_lines

from ggfmt.diagnostics.diagnostic import Abend
from ggfmt.scan.runner import InProcess
from ggfmt.scan.scan import Scan
from ggfmt.sinks.messages import staging


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "in.json", [operation(number) for number in range(40)])


def test_a_run_in_one_process_splits_joins_and_commits(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    told = ("--current-timestamp", MOMENT.isoformat(), "--split-size", "1k", "--progress")
    ended = call("run", source, *JSON, "-o", out, "--master", "none", *told)
    assert ended.exit_code == 0, ended.output
    run_ggfmt([source], tmp_path / "api", "gg.handler.j.format=json")
    assert content(out, "j") == content(tmp_path / "api", "j")
    assert manifest(out)["totals"]["operations_read"] == 40
    assert call("verify", out).exit_code == 0


def test_rejects_and_checkpoints_are_as_with_spark(source: Path, tmp_path: Path) -> None:
    with source.open("ab") as stream:
        stream.write(b"{]\n")
    out, report = tmp_path / "out", tmp_path / "report.json"
    told = (*JSON, "-o", out, "--master", "none", "--checkpoint", tmp_path / "seen")
    assert codes(call("run", source, *told)) == ["GG301"]
    assert not out.exists()
    assert call("run", source, *told, "--on-reject", "quarantine", "--report", report).exit_code == 4
    assert b'"GG301"' in next((out / "j" / "_rejects").glob("*.jsonl")).read_bytes()
    assert '"operations_read": 40' in report.read_text()
    before = content(out, "j")
    assert call("run", source, *told).exit_code == 0
    assert content(out, "j") == before


@pytest.mark.parametrize("told", [("--spark-conf", "spark.ui.enabled=true"), ("--java-home", "/usr")])
def test_what_is_for_spark_is_refused_without_it(told: tuple[str, str], source: Path, tmp_path: Path) -> None:
    ended = call("run", source, *JSON, "-o", tmp_path / "out", "--master", "none", *told)
    assert codes(ended) == ["GG517"]
    assert told[0] in str(ended.exception)


def test_a_run_in_one_process_makes_no_claim_on_speed(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(logging.getLogger("ggfmt"), "propagate", True)
    monkeypatch.setattr(Scan, "size", property(lambda _: 10**12))
    with caplog.at_level(logging.INFO, "ggfmt"):
        run_ggfmt([source], tmp_path / "out")
    assert "operations read" in caplog.text
    assert "less time" not in caplog.text


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), "GG506", "No space left on device"),
        (MemoryError(), "GG505", "no memory left"),
    ],
)
def test_what_a_task_lacks_is_told_in_a_line(
    error: Exception, code: str, words: str, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> None:
        raise error

    monkeypatch.setattr(staging.StagedSeries, "_write_to", fails)
    with pytest.raises(Abend, match=words) as caught:
        run_ggfmt([source], tmp_path / "out")
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == [code]
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_leaves_no_output_and_no_traceback(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", [operation(number) for number in range(60_000)])
    command = [sys.executable, "-m", "ggfmt", "run", str(source), "-o", str(tmp_path / "out"), *JSON]
    process = subprocess.Popen(
        [*command, "--master", "none", "--split-size", "20k"], stderr=subprocess.PIPE, text=True, cwd=ROOT
    )
    started = tmp_path / "out" / "_ggfmt" / "staging"
    while not (started.exists() and any(started.rglob("*-j"))):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in told
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_that_a_library_loses_counts_after_the_task() -> None:
    done = []

    def task(item: int, attempt: int) -> None:
        with suppress(KeyboardInterrupt):  # as Arrow does where it looks for pandas
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)
        done.append(item)

    with pytest.raises(KeyboardInterrupt):
        InProcess().run(task, [1, 2])
    assert done == [1]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_tables_are_found_in_the_data_without_spark(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", [operation(n, ("GG.A", "GG.B")[n % 2]) for n in range(10)])
    out = tmp_path / "out"
    ended = call("run", source, "--set", "gg.handler.d.format=delimitedtext", "-o", out, "--master", "none")
    assert ended.exit_code == 0, ended.output
    assert {name: data.count(b"\n") for name, data in tables(out, "d").items()} == {"GG.A": 5, "GG.B": 5}


def test_the_command_line_does_not_load_pandas(source: Path, tmp_path: Path) -> None:
    """Arrow does, where it is installed."""
    (tmp_path / "pandas.py").write_text("print('pandas')\n", encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "ggfmt",
        "run",
        str(source),
        "--to",
        "json",
        "-o",
        str(tmp_path / "o"),
        "--master",
        "none",
    ]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout == ""
    code = "import pyarrow; pyarrow.array(['x'])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)
    assert loaded.stdout == "pandas\n", "otherwise there is nothing to see to"
