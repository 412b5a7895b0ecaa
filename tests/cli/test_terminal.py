"""What a person sees: a progress bar and color on a terminal, neither in a pipe; Ctrl-C ends a run cleanly."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from runs import operation, write_lines
from terminal import ESCAPE, on_terminal

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("interruptible")]


def command(source: Path, out: Path, *more: str, master: str = "local[2]") -> list[str]:
    return [
        *(sys.executable, "-m", "ggfmt", "run", str(source), "-o", str(out), "--master", master),
        *("--set", "gg.handler.d.format.encoding=UTF-8", "--set", "gg.handler.d.format.fieldDelimiter=|", *more),
    ]


def test_a_terminal_shows_progress_and_the_log(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", [operation(number) for number in range(20_000)])
    status, shown = on_terminal(command(source, tmp_path / "out", "--split-size", "200k"), tmp_path)
    assert status == 0
    assert re.search(r"starting Spark  0:0\d", shown)
    assert re.search(r"converting  .*[0-9.]+ MB of 3\.\d MB", shown)
    assert ESCAPE in shown
    assert "20,000 operations read" in shown
    assert "WARN" not in shown


@pytest.mark.parametrize("master", ["none", pytest.param("local[2]", marks=pytest.mark.long)])
def test_a_pipe_shows_neither_progress_nor_colour(master: str, tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", [operation(0)])
    called = command(source, tmp_path / "out", master=master)
    done = subprocess.run(called, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == ""
    assert ESCAPE not in done.stderr
    assert "converting" not in done.stderr
    assert all(re.match(r"[0-9]{2}:[0-9]{2}:[0-9]{2} INFO |  ", line) for line in done.stderr.splitlines())


def test_diagnostics_have_colour_on_a_terminal_only(tmp_path: Path) -> None:
    arguments = command(tmp_path / "in.json", tmp_path / "out", "--set", "gg.handler.d.format.includeOpType=perhaps")
    status, shown = on_terminal(arguments, tmp_path)
    assert status == 1
    assert ESCAPE in shown
    done = subprocess.run(arguments, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr == (
        "--set:3:35: error[GG103] `gg.handler.d.format.includeOpType` cannot be `perhaps`\n"
        "  3 | gg.handler.d.format.includeOpType=perhaps\n"
        "    |                                   ^^^^^^^\n"
        "  help: legal values are `true`, `false`\n"
        "page: ggfmt docs check-handler-files\n"
    )


def test_ctrl_c_leaves_no_output_and_no_traceback(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", [operation(number) for number in range(5_000)] * 40)
    process = subprocess.Popen(
        command(source, tmp_path / "out", "--split-size", "500k"), stderr=subprocess.PIPE, text=True, cwd=tmp_path
    )
    staging = tmp_path / "out" / "_ggfmt" / "staging"
    for _ in range(2400):
        if staging.exists() and any(staging.rglob("*-d")):
            break
        time.sleep(0.05)
    else:
        raise AssertionError("the run did not start")
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in told
    assert not (tmp_path / "out").exists()
