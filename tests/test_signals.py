"""What ends a command from outside: signals, a standard output that cannot be written, a reader that has gone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

import pytest
from _pytest.mark import ParameterSet
from processes import descendants, processes
from runs import operation, write_lines
from signal_points import start, wait_until_reached

import ggfmt
from ggfmt import signals

CODES = {"INT": 130, "TERM": 143, "HUP": 129}
NAMED = {"INT": "interrupted", "TERM": "interrupted by SIGTERM", "HUP": "interrupted by SIGHUP"}
# SIGHUP is handled as SIGTERM is; in the commit it is tried in each run of the tests.
SIGNALS = ["INT", "TERM", pytest.param("HUP", marks=pytest.mark.long)]
NOTHING = "; nothing was committed"


def in_turns(places: Iterable[str]) -> list[ParameterSet]:
    """Try SIGINT and SIGTERM in turns; the `long` tests try each signal at each place."""
    return [
        pytest.param(place, name, marks=() if name == ("INT", "TERM")[number % 2] else pytest.mark.long)
        for number, place in enumerate(places)
        for name in CODES
    ]


@pytest.fixture(autouse=True)
def default_signals() -> Iterator[None]:
    """Signals as a terminal or a service gives them: what runs the tests may ignore some."""
    before = {name: signal.signal(getattr(signal, f"SIG{name}"), signal.SIG_DFL) for name in ("HUP", "TERM")}
    before["INT"] = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for name, handler in before.items():
        signal.signal(getattr(signal, f"SIG{name}"), handler)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    for part in range(3):
        lines = [operation(number, f"GG.T{number % 3}") for number in range(part * 100, part * 100 + 100)]
        write_lines(tmp_path / "in" / f"{part}.json", lines)
    (tmp_path / "h.properties").write_text("gg.handlerlist=h\ngg.handler.h.format=json\n")
    (tmp_path / "tmp").mkdir()
    return tmp_path


def interrupt(process: subprocess.Popen[str], names: Sequence[str], wait: bool = True) -> tuple[int, str]:
    """Sends signals once the process says where it is; its exit code, and all but what it logged."""
    if wait:
        wait_until_reached(process)
    for name in names:
        process.send_signal(getattr(signal, f"SIG{name}"))
        time.sleep(0.03)  # of those that come at once, Python takes the lowest number first
    _, told = process.communicate(timeout=60)
    lines = [line for line in told.splitlines() if line[9:13] != "INFO" and not line.startswith("  ")]
    lines = [line for line in lines if line != "reached"]  # of other processes of tasks
    return process.returncode, "\n".join(lines)


def left(directory: Path) -> list[str]:
    """What is there besides the inputs."""
    known = {"in", "h.properties", "tmp"}
    found = [str(path.relative_to(directory)) for path in directory.rglob("*")]
    return sorted(name for name in found if name.partition("/")[0] not in known or name.startswith("tmp/"))


RUN = ("run", "in", "-c", "h.properties", "-o", "out", "--master", "none")
BEFORE_COMMIT = {
    "listing": "ggfmt.reading.scan:list_inputs",
    "directories held": "ggfmt.engine:lock_all:after",
    "discovery": "ggfmt.reading.scan:discover_from_head",
    "first task": "ggfmt.sinks.messages.execution:run_split",
    "after a task": "ggfmt.sinks.messages.execution:run_split:after",
    "join": "ggfmt.sinks.messages.execution:join_group:after",
    "staged documents": "ggfmt.commit.commit:Participant.stage:after",
    "before the journal": "ggfmt.commit.commit:_sync",
}


@pytest.mark.parametrize(("phase", "name"), in_turns(BEFORE_COMMIT))
def test_a_signal_before_the_commit_leaves_nothing(phase: str, name: str, source: Path) -> None:
    code, told = interrupt(start(source, BEFORE_COMMIT[phase], RUN), [name])
    assert (code, told) == (CODES[name], NAMED[name] + NOTHING)
    assert left(source) == []


def test_a_signal_is_on_the_page_of_the_report(source: Path) -> None:
    page = source / "r.html"
    page.write_text("an earlier page")
    interrupt(start(source, BEFORE_COMMIT["before the journal"], [*RUN, "--report", "r.html"]), ["TERM"])
    assert f'<span class="badge warn"><bdi>{NAMED["TERM"]}{NOTHING}</bdi></span>' in page.read_text()
    assert left(source) == ["r.html"]


DIVIDING = {
    "first split": "ggfmt.reading.routing:route_split",
    "staged file": "ggfmt.reading.routing:_BlockWriter.close",
    "index": "ggfmt.reading.routing:_with_index",
    "records divided": "ggfmt.reading.scan:route:after",
    "definitions of buckets": "ggfmt.reading.discovery:discover_split",
}


@pytest.mark.parametrize("command", ["run", pytest.param("consolidate", marks=pytest.mark.long)])
@pytest.mark.parametrize(("phase", "name"), in_turns(DIVIDING))
def test_a_signal_while_records_are_divided_leaves_nothing(phase: str, name: str, command: str, source: Path) -> None:
    write_lines(source / "in" / "0.json", [operation(number, f"GG.T{number % 20}") for number in range(200)])
    call = RUN if command == "run" else ("consolidate", "in", "-o", "rows", "--master", "none")
    code, shown = interrupt(start(source, DIVIDING[phase], [*call, "--split-size", "10k"]), [name])
    assert (code, shown) == (CODES[name], NAMED[name] + NOTHING)
    assert left(source) == []


@pytest.mark.parametrize("names", [("TERM", "TERM"), ("TERM", "HUP", "INT"), ("INT", "INT", "INT")], ids="-".join)
@pytest.mark.parametrize("place", ["ggfmt.sinks.messages.execution:run_split", "ggfmt.commit.store:Store.delete_tree"])
def test_more_signals_do_not_disturb_the_first(place: str, names: tuple[str, ...], source: Path) -> None:
    """Also where the first comes while the staging directory is removed after an error."""
    if "delete_tree" in place:
        (source / "in" / "3.json").write_text("no record\n")
    code, told = interrupt(start(source, place, RUN), names)
    assert (code, told.splitlines()[-1]) == (CODES[names[0]], NAMED[names[0]] + NOTHING)
    assert left(source) == []


def test_signals_that_come_without_end_leave_nothing(source: Path) -> None:
    process = start(source, "ggfmt.sinks.messages.execution:run_split:after", RUN)
    ended = threading.Event()

    def shower() -> None:
        while not ended.wait(0.001) and process.poll() is None:
            process.send_signal(signal.SIGTERM)

    wait_until_reached(process)
    thread = threading.Thread(target=shower)
    thread.start()
    code, told = interrupt(process, (), wait=False)
    ended.set()
    thread.join()
    assert (code, told) == (143, NAMED["TERM"] + NOTHING)
    assert left(source) == []


@pytest.mark.parametrize("name", CODES)
def test_a_signal_in_the_commit_is_ended_by_the_next_run(name: str, source: Path) -> None:
    code, told = interrupt(start(source, "ggfmt.commit.journal:_move:after", RUN), [name])
    assert code == 5
    assert told.startswith(f"{source}/out: error[GG506] the commit was interrupted")
    again = start(source, "-", ["verify", "out"])
    again.communicate()
    assert again.returncode != 0
    next_run = start(source, "-", [*RUN, "--mode", "append"])
    _, told = next_run.communicate()
    assert next_run.returncode == 0
    assert "finished the interrupted commit" in told
    last = start(source, "-", ["verify", "out"])
    last.communicate()
    assert last.returncode == 0


@pytest.mark.parametrize("name", SIGNALS)
@pytest.mark.parametrize(
    "place", ["ggfmt.sinks.messages.run:log_summary", "ggfmt.commit.commit:Participant._remove_leftovers"]
)
def test_a_signal_after_the_commit_says_that_it_is_done(place: str, name: str, source: Path) -> None:
    code, told = interrupt(start(source, place, RUN), [name])
    assert code == 5
    assert told.startswith(f"{source}/out: error[GG550] {NAMED[name]}, but the run is committed")
    assert not (source / "out" / "_ggfmt" / "staging").exists()
    assert not (source / "out" / "_ggfmt" / "lock").exists()
    assert [item for item in left(source) if item.startswith("tmp")] == []


def test_a_signal_when_the_command_has_ended_changes_nothing(source: Path) -> None:
    code, told = interrupt(
        start(source, "ggfmt.cli.message_commands:run_conversion:after", [*RUN, "--report", "r.json"]), ["TERM"]
    )
    assert (code, told) == (0, "")
    assert (source / "out" / "_SUCCESS").exists()
    assert (source / "r.json").exists()


COMMANDS = {
    "preview": ("ggfmt.cli.inspection_commands:run_preview", ["preview", "in", "--to", "json"]),
    "schema": ("ggfmt.cli.inspection_commands:make_schemas", ["schema", "in", "-c", "h.properties"]),
    "compare": ("ggfmt.cli.data_commands:run_comparison", ["compare", "in", "in"]),
    "validate-config": ("ggfmt.config.lint.reading:check_file", ["validate-config", "h.properties"]),
    "stream": (
        "ggfmt.sinks.messages.execution:run_split:after",
        ["run", "in", "--to", "json", "-o", "-", "--master", "none"],
    ),
    "dry run": ("ggfmt.reading.scan:list_inputs", [*RUN, "--dry-run"]),
    "verify": ("ggfmt.sinks.messages.verification:verify", ["verify", "in"]),
}


@pytest.mark.parametrize(("command", "name"), in_turns(COMMANDS))
def test_every_command_ends_in_one_line(command: str, name: str, source: Path) -> None:
    place, arguments = COMMANDS[command]
    code, told = interrupt(start(source, place, arguments), [name])
    assert code == CODES[name]
    assert told in (NAMED[name], NAMED[name] + NOTHING)
    assert left(source) == []


@pytest.mark.parametrize("name", ["HUP", "TERM", "INT"])
def test_a_signal_that_is_ignored_at_the_start_stays_ignored(name: str, source: Path) -> None:
    number = getattr(signal, f"SIG{name}")
    process = start(
        source,
        "ggfmt.sinks.messages.execution:run_split",
        RUN,
        preexec_fn=lambda: signal.signal(number, signal.SIG_IGN),
    )
    code, told = interrupt(process, [name, "TERM" if name != "TERM" else "HUP"])
    assert code == CODES["TERM" if name != "TERM" else "HUP"]
    assert len(told.splitlines()) == 1


def test_a_signal_at_any_moment_of_the_start_is_no_traceback(source: Path) -> None:
    """What comes before the first line of ggfmt is Python's."""
    codes = set()
    for delay in range(0, 300, 10):
        process = start(source, "-", ["preview", "in", "--to", "json"])
        while b"signal_points" not in Path(f"/proc/{process.pid}/cmdline").read_bytes():
            time.sleep(0.0005)
        time.sleep(delay / 1000)
        process.send_signal(signal.SIGTERM)
        _, told = process.communicate(timeout=60)
        assert "Traceback" not in told, told
        codes.add(process.returncode)
    assert codes <= {0, 143, -signal.SIGTERM}
    assert 143 in codes


def test_ctrl_c_while_modules_are_loaded_is_told_in_a_line(source: Path) -> None:
    code, told = interrupt(start(source, "ggfmt.__main__:hide_unused_modules:after", ["formats"]), ["INT"])
    assert (code, told) == (130, "interrupted")


def test_a_program_that_calls_ggfmt_keeps_its_handlers(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(source)
    signal.signal(signal.SIGTERM, own := lambda *_: None)
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(number) for number in numbers]
    seen = []

    def progress(_: object) -> None:
        seen.append((signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGHUP)))

    def call(output: str) -> None:
        ggfmt.convert(["in"], to="json", output=output, master="none", progress=progress)

    call("one")
    thread = threading.Thread(target=call, args=("two",))
    thread.start()
    thread.join()
    assert (source / "two").exists()
    assert ggfmt.main(["formats"]) == 0
    assert seen
    assert set(seen) == {(own, signal.SIG_DFL)}
    assert [signal.getsignal(number) for number in numbers] == before


@pytest.mark.spark
@pytest.mark.parametrize("name", SIGNALS[1:])
@pytest.mark.parametrize(
    "place",
    [
        "ggfmt.spark.jvm:_connection",
        "ggfmt.spark.jobs:wait",
        pytest.param("ggfmt.sinks.messages.run:collect_results:after", marks=pytest.mark.long),
    ],
)
def test_spark_and_its_workers_are_gone_after_a_signal(place: str, name: str, source: Path) -> None:
    process = start(source, place, [*RUN[:-1], "local[2]"])
    children: set[int] = set()
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(0.02):
            children.update(descendants(process.pid))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        code, told = interrupt(process, [name, name])
    finally:
        ended.set()
        thread.join()
    assert (code, told) == (CODES[name], NAMED[name] + NOTHING)
    assert left(source) == []
    assert children
    deadline = time.monotonic() + 10
    while children & processes().keys():
        assert time.monotonic() < deadline, "a child goes on running"
        time.sleep(0.05)


@pytest.mark.spark
@pytest.mark.parametrize(
    "place", ["ggfmt.reading.scan:list_inputs", pytest.param("ggfmt.spark.jobs:wait", marks=pytest.mark.long)]
)
def test_a_consolidation_ends_in_one_line(place: str, source: Path) -> None:
    code, told = interrupt(start(source, place, ["consolidate", "in", "-o", "rows", "--master", "local[2]"]), ["TERM"])
    assert (code, told) == (143, NAMED["TERM"] + NOTHING)
    assert left(source) == []


def test_an_interrupt_while_a_job_is_awaited_does_not_stop_the_job() -> None:
    """Python's own `wait` fails here: an interrupt in the middle of it leaves the lock of the future locked."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    interrupts = 0
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with ThreadPoolExecutor(1) as threads:
            for number in range(300):
                going = threading.Event()
                job = threads.submit(going.wait, 60)
                ended = signals.JobEnd(job)
                try:
                    signal.setitimer(signal.ITIMER_REAL, 0.0001 + number * 1e-6)
                    while not ended.wait(0.00001):
                        pass
                except KeyboardInterrupt:
                    interrupts += 1
                going.set()
                assert ended.wait(60)
                assert job.result()
    finally:
        signal.signal(signal.SIGALRM, before)
    assert interrupts == 300


def test_an_interrupt_as_a_job_ends_does_not_hide_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted(SimpleQueue[None]):
        def get(self, block: bool = True, timeout: float | None = None) -> None:
            super().get(block, timeout)
            raise KeyboardInterrupt

    monkeypatch.setattr(signals, "SimpleQueue", Interrupted)
    with ThreadPoolExecutor(1) as threads:
        going = threading.Event()
        ended = signals.JobEnd(threads.submit(going.wait, 60))
        threading.Timer(0.05, going.set).start()
        with pytest.raises(KeyboardInterrupt):
            ended.wait(60)
    assert ended.wait(0)


PRINTING = {
    "formats": ["formats"],
    "version": ["--version"],
    "help": ["run", "--help"],
    "docs": ["docs"],
    "page": ["docs", "output"],
    "options": ["options", "json"],
    "explain": ["explain", "pkUpdateHandling"],
    "init": ["init", "json"],
    "preview": ["preview", "in", "--to", "json"],
    "schema": ["schema", "in", "--kind", "json"],
    "validate-config": ["validate-config", "h.properties", "--output-format", "json"],
    "compare": ["compare", "one.csv", "one.csv", "--key", "a"],
    "verify": ["verify", "done"],
    "report": ["report", "done"],
    "doctor": ["doctor"],
    "dry run": [*RUN, "--dry-run"],
    "stream": ["run", "in", "--to", "json", "-o", "-", "--master", "none"],
}


OFTEN = ("stream", "verify", "page", "dry run")  # of each way in which commands print


@pytest.mark.parametrize(
    "command", [name if name in OFTEN else pytest.param(name, marks=pytest.mark.long) for name in PRINTING]
)
def test_a_standard_output_that_cannot_be_written_is_an_error_of_one_line(command: str, source: Path) -> None:
    (source / "one.csv").write_text("a\n1\n")
    if command in ("verify", "report"):
        start(source, "-", [*RUN, "-o", "done"]).communicate()
    before = left(source)
    call = f"{sys.executable} -m ggfmt {' '.join(map(repr, PRINTING[command]))}"
    environment = {**os.environ, "TMPDIR": str(source / "tmp")}
    for redirection, reason in ((">&-", "it is closed"), (">/dev/full", "no space left on device")):
        shell = ["sh", "-c", f"{call} {redirection}"]
        done = subprocess.run(shell, cwd=source, env=environment, capture_output=True, text=True, timeout=60)
        assert "Traceback" not in done.stderr
        assert "Exception ignored" not in done.stderr
        told = [line for line in done.stderr.splitlines() if "error[" in line]
        if command == "stream":
            assert len(told) == 1
            assert "GG519" in told[0]
        else:
            assert told == [f"error[GG506] standard output cannot be written: {reason}"]
        assert done.returncode in (2, 3)
    gone = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {call} | true"],
        cwd=source, env=environment, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert gone.returncode in (0, 141)
    assert "rror" not in gone.stderr
    assert left(source) == before


def test_a_reader_that_goes_ends_a_stream_quietly(source: Path) -> None:
    lines = [operation(number) for number in range(20_000)]
    write_lines(source / "in" / "0.json", lines)
    call = f"{sys.executable} -m ggfmt -q {' '.join(PRINTING['stream'])} | head -1"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {call}"],
        cwd=source, env={**os.environ, "TMPDIR": str(source / "tmp")}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (141, "")
    assert len(done.stdout.splitlines()) == 1
    assert left(source) == []


def test_a_run_does_not_need_standard_output_nor_standard_error(source: Path) -> None:
    for number, redirection in enumerate((">&-", ">/dev/full", "2>&-", "2>/dev/full", "<&- >&- 2>&-")):
        arguments = f"run in -c h.properties -o out{number} --master none"
        call = f"{sys.executable} -m ggfmt {arguments} {redirection}"
        done = subprocess.run(["sh", "-c", call], cwd=source, timeout=60)
        assert done.returncode == 0
        verified = subprocess.run([sys.executable, "-m", "ggfmt", "verify", f"out{number}"], cwd=source, timeout=60)
        assert verified.returncode == 0


BESIDE_A_THREAD_OF_ARROW = """
import io, sys, time
import pyarrow as pa
from pyarrow import csv
from ggfmt.__main__ import run

class Slow(io.BytesIO):
    def read(self, size=-1):
        time.sleep(0.5)
        return super().read(size)

reader = csv.open_csv(pa.PythonFile(Slow(b"A,B\\n" + b"1,2\\n" * 1_000_000), "r"))
sys.argv = ["ggfmt", *sys.argv[1:]]
sys.exit(run())
"""


def test_a_command_ends_as_it_says_beside_a_thread_of_arrow() -> None:
    """Such a thread aborts a process whose Python is being torn down."""
    call = [sys.executable, "-c", BESIDE_A_THREAD_OF_ARROW, "explain", "GG103"]
    done = subprocess.run(call, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert "GG103" in done.stdout
