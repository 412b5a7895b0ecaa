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
from places import GGFMT, ROOT
from runs import MOMENT, content, manifest, operation, run_ggfmt, tables, write_lines

from ggfmt.diagnostics.diagnostic import Abend
from ggfmt.reading.runner import InProcess
from ggfmt.reading.scan import Scan
from ggfmt.sinks.messages import sink


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "in.json", [operation(number) for number in range(40)])


def test_a_run_in_one_process_splits_joins_and_commits(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    told = ("--current-timestamp", MOMENT.isoformat(), "--split-size", "1k", "--progress")
    ended = call("run", source, *JSON, "-o", out, "--master", "none[1]", *told)
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
        (MemoryError(), "GG505", "out of memory"),
    ],
)
def test_what_a_task_lacks_is_told_in_a_line(
    error: Exception, code: str, words: str, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> None:
        raise error

    monkeypatch.setattr(sink.StagedSeries, "_write_to", fails)
    with pytest.raises(Abend, match=words) as caught:
        run_ggfmt([source], tmp_path / "out")
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == [code]
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_leaves_no_output_and_no_traceback(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", [operation(number) for number in range(60_000)])
    command = [*GGFMT, "run", str(source), "-o", str(tmp_path / "out"), *JSON]
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
    command = [*GGFMT, "run", str(source), "--to", "json", "-o", str(tmp_path / "o"), "--master", "none"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout == ""
    code = "import pyarrow; pyarrow.array(['x'])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)
    assert loaded.stdout == "pandas\n", "otherwise there is nothing to see to"


# Several processes


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_lines(tmp_path_factory.mktemp("large") / "in.json", [operation(number) for number in range(60_000)])


def _running(out: Path, *words: str, source: Path) -> subprocess.Popen[str]:
    """A run in three processes that has begun to write."""
    command = [*GGFMT, "run", str(source), "-o", str(out), *JSON, *words]
    process = subprocess.Popen(
        [*command, "--master", "none[3]", "--split-size", "20k"], stderr=subprocess.PIPE, text=True, cwd=ROOT
    )
    started = out / "_ggfmt" / "staging"
    while not (started.exists() and any(started.rglob("*-j"))):
        assert process.poll() is None
        time.sleep(0.01)
    return process


def _children(process: int) -> list[int]:
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process)], capture_output=True, text=True, check=False)
    return [int(line) for line in found.stdout.split()]


def _exists(process: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except FileNotFoundError:
        return False


def _wait_for_end(processes: list[int]) -> None:
    deadline = time.monotonic() + 10
    while any(map(_exists, processes)):
        assert time.monotonic() < deadline
        time.sleep(0.02)


linux = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")


@pytest.mark.process
def test_the_bytes_are_the_same_in_one_process_and_in_several(source: Path, tmp_path: Path) -> None:
    with source.open("ab") as stream:
        stream.write(b"{]\n")
    told = (*JSON, "--split-size", "1k", "--on-reject", "quarantine", "--current-timestamp", MOMENT.isoformat())
    for master in ("none[1]", "none[3]"):
        ended = call("run", source, *told, "-o", tmp_path / master, "--master", master)
        assert ended.exit_code == 4, ended.output
    assert content(tmp_path / "none[1]", "j") == content(tmp_path / "none[3]", "j")
    assert manifest(tmp_path / "none[3]")["totals"]["operations_read"] == 40
    assert call("verify", tmp_path / "none[3]").exit_code == 0


@linux
def test_a_process_that_is_killed_costs_nothing_but_time(large: Path, tmp_path: Path) -> None:
    process = _running(tmp_path / "out", source=large)
    os.kill(_children(process.pid)[0], signal.SIGKILL)
    _, told = process.communicate(timeout=120)
    assert process.returncode == 0, told
    assert "was killed by SIGKILL; its task runs again" in told
    assert manifest(tmp_path / "out")["totals"]["operations_read"] == 60_000
    assert call("verify", tmp_path / "out").exit_code == 0


@linux
@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_no_output_and_no_process(number: int, large: Path, tmp_path: Path) -> None:
    process = _running(tmp_path / "out", source=large)
    children = _children(process.pid)
    assert len(children) == 2
    process.send_signal(number)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert "Traceback" not in told
    assert not (tmp_path / "out").exists()
    _wait_for_end(children)


@linux
def test_processes_end_with_the_one_that_started_them(large: Path, tmp_path: Path) -> None:
    process = _running(tmp_path / "out", source=large)
    children = _children(process.pid)
    process.kill()
    process.communicate(timeout=60)
    _wait_for_end(children)
    again = call("run", large, *JSON, "-o", tmp_path / "out", "--master", "none", "--mode", "append")
    assert again.exit_code == 0, again.output
    assert manifest(tmp_path / "out")["totals"]["operations_read"] == 60_000


def test_a_program_runs_once_in_several_processes(source: Path, tmp_path: Path) -> None:
    """It has no `if __name__ == "__main__"`, which processes of Python's own kind need."""
    program = tmp_path / "program.py"
    program.write_text(
        "import ggfmt\n"
        f"result = ggfmt.convert({str(source)!r}, to='json', output={str(tmp_path / 'out')!r}, master='none[2]',"
        " split_size='1k')\n"
        "print(result.totals['operations_read'])\n",
        encoding="utf-8",
    )
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("40\n", "")


def test_a_wrong_number_of_processes_is_refused(source: Path, tmp_path: Path) -> None:
    for master in ("none[0]", "none[x]", "none[2", "none[]"):
        assert codes(call("run", source, *JSON, "-o", tmp_path / "out", "--master", master)) == ["GG504"]
