"""How far a run is: phases, bytes of finished splits, the time that is left, and a line that nothing is glued to."""

from __future__ import annotations

import codecs
import fcntl
import gzip
import io
import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from places import ROOT
from runs import JSON_LINES, operation, write_lines
from strategies import examples

from ggfmt import cli
from ggfmt.cli.output import progress_bar
from ggfmt.config.handlers import read_configuration
from ggfmt.reading.files import bytes_being_read, open_unchanged
from ggfmt.reading.listing import list_inputs
from ggfmt.reading.progress import (
    PHASES,
    READING,
    ROUTING,
    SENDING,
    STARTING,
    STEPS,
    ProgressSnapshot,
    ProgressTracker,
    ends_of_tasks,
)
from ggfmt.reading.runner import InProcess
from ggfmt.render.progress import _Watcher, facts, status_line
from ggfmt.sinks.messages.run import RunSettings, execute

_TOKEN = re.compile(r"\x1b\[([0-9?]*)([A-Za-z])|(.)", re.DOTALL)


class Screen:
    """The rows of a terminal.

    `reflows`: a narrower window breaks rows into several, as tmux does; otherwise it cuts them off, as xterm does.
    """

    def __init__(self, columns: int, *, reflows: bool) -> None:
        self.columns, self.reflows = columns, reflows
        self._rows = [""]
        self._broken = [False]  # whether a row goes on in the next one
        self._row = self._column = 0
        self._wraps = True

    def feed(self, shown: str) -> None:
        for token in _TOKEN.finditer(shown):
            number, command, character = token.groups()
            if command is None:
                self._put(character)
            elif command in "JK":
                self._rows[self._row] = self._rows[self._row][: self._column]
                self._broken[self._row] = False
                if command == "J":
                    del self._rows[self._row + 1 :], self._broken[self._row + 1 :]
            elif command == "C":
                self._column = min(self._column + 1, self.columns - 1)
            elif (number, command) in (("?7", "l"), ("?7", "h")):
                self._wraps = command == "h"
            else:
                assert command == "m", f"a sequence that the screen does not know: {token[0]!r}"

    def resize(self, columns: int) -> None:
        self.columns = columns
        if not self.reflows:
            self._rows = [row[:columns] for row in self._rows]
            self._column = min(self._column, columns - 1)
            return
        rows, broken, place = list[str](), list[bool](), (0, 0)
        line, offset = "", None
        for number, (row, goes_on) in enumerate(zip(self._rows, self._broken, strict=True)):
            if number == self._row:
                offset = len(line) + self._column
            line += row
            if goes_on:
                continue
            if offset is not None:
                place = (len(rows) + offset // columns, offset % columns)
            parts = [line[start : start + columns] for start in range(0, len(line), columns)] or [""]
            rows += parts
            broken += [True] * (len(parts) - 1) + [False]
            line, offset = "", None
        self._rows, self._broken, (self._row, self._column) = rows, broken, place
        while len(self._rows) <= self._row:
            self._new_row()

    def rows(self) -> list[str]:
        """Return the rows, without empty ones at the end."""
        return "\n".join(row.rstrip() for row in self._rows).rstrip("\n").split("\n")

    def _put(self, character: str) -> None:
        if character == "\r":
            self._column = 0
        elif character == "\n":
            self._row += 1
            if self._row == len(self._rows):
                self._new_row()
        else:
            if self._column >= self.columns:
                if self._wraps:
                    self._broken[self._row] = True
                    self._row, self._column = self._row + 1, 0
                    if self._row == len(self._rows):
                        self._new_row()
                else:
                    self._column = self.columns - 1
            row = self._rows[self._row].ljust(self._column)
            self._rows[self._row] = row[: self._column] + character + row[self._column + 1 :]
            self._column += 1

    def _new_row(self) -> None:
        self._rows.append("")
        self._broken.append(False)


# What the engine reports


def test_every_step_is_of_a_phase() -> None:
    assert list(PHASES) == list(STEPS)


@pytest.mark.parametrize(
    ("sizes", "cores", "ends"),
    [
        ([], 2, [(0, 0)]),
        ([5, 5, 5], 1, [(0, 0), (5, 5), (10, 10), (15, 15)]),
        ([5, 5, 5, 5], 2, [(0, 0), (5, 5), (5, 10), (10, 15), (10, 20)]),
        # One large file and small ones: the small ones end first, whatever their place.
        ([100, 1, 2, 3], 2, [(0, 0), (1, 1), (3, 3), (6, 6), (100, 106)]),
        ([1, 2, 100], 8, [(0, 0), (1, 1), (2, 3), (100, 103)]),
        ([0, 0, 7], 1, [(0, 0), (0, 0), (0, 0), (7, 7)]),
    ],
)
def test_tasks_end_as_long_after_each_other_as_they_have_bytes(
    sizes: list[int], cores: int, ends: list[tuple[int, int]]
) -> None:
    assert ends_of_tasks(sizes, cores) == ends


@examples(50)
@given(st.lists(st.integers(0, 1000), max_size=40), st.integers(1, 9))
def test_ends_of_tasks_rise_to_all_bytes(sizes: list[int], cores: int) -> None:
    ends = ends_of_tasks(sizes, cores)
    assert len(ends) == len(sizes) + 1
    assert ends == sorted(ends)
    assert ends[-1][1] == sum(sizes)
    assert max([*sizes, -(-sum(sizes) // cores)]) <= ends[-1][0] <= sum(sizes)


def test_the_time_that_is_left_is_by_bytes_and_not_by_tasks() -> None:
    seconds, told = [0.0], list[ProgressSnapshot]()
    following = ProgressTracker(told.append, lambda: seconds[0])
    ended = following.start_tasks(READING, [100, 1, 1, 98], 1)
    assert ended is not None
    assert told[-1].remaining(0.0) is None
    seconds[0] = 10.0
    ended(1, 4)
    assert told[-1].bytes_done == 100
    assert told[-1].rate == 10.0
    assert told[-1].remaining(10.0) == 10.0  # and not three quarters
    assert told[-1].remaining(10.05) == pytest.approx(9.95)
    assert told[-1].remaining(12.0) == pytest.approx(9.9)  # the one at work has not ended
    count = len(told)
    ended(1, 4)  # as a runner reports again and again
    assert len(told) == count
    seconds[0] = 20.0
    ended(4, 4)
    assert (told[-1].bytes_done, told[-1].remaining(20.0)) == (200, 0.0)


def test_a_large_file_at_the_end_takes_one_core() -> None:
    seconds, told = [0.0], list[ProgressSnapshot]()
    ended = ProgressTracker(told.append, lambda: seconds[0]).start_tasks(READING, [10, 10, 10, 10, 80], 4)
    assert ended is not None
    seconds[0] = 1.0
    ended(4, 5)
    assert told[-1].remaining(1.0) == pytest.approx(8.0)  # and not 2 s, as the share of bytes would have it


def test_nothing_is_computed_where_nobody_listens() -> None:
    assert ProgressTracker(None).start_tasks(READING, [1], 1) is None


def test_a_run_tells_its_phases_and_operations(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", [operation(number) for number in range(400)])
    configuration = read_configuration([], JSON_LINES)
    told: list[ProgressSnapshot] = []
    settings = RunSettings(
        inputs=[str(source)], handlers=configuration.handlers, output=str(tmp_path / "out"), split_size=10_000
    )
    execute(settings, InProcess, told.append)
    phases = list(dict.fromkeys(standing.phase for standing in told))
    assert phases == [
        phase
        for phase in dict.fromkeys(PHASES.values())
        if phase not in (PHASES[STARTING], PHASES[ROUTING], PHASES[SENDING])
    ]
    converting = [standing for standing in told if standing.phase == "converting"]
    assert converting[-1].bytes_done == converting[-1].bytes_total == source.stat().st_size
    counts = [standing.operations for standing in converting if standing.operations]
    assert counts == sorted(counts)
    assert counts[-1] == 400
    assert len(set(counts)) > 3


# What people see


STANDING = ProgressSnapshot("converting", 0.0, 10.0, 24_100_000, 60_200_000, 1_234_567, 15.0, 1.0)


def test_a_line_has_what_counts_and_fits() -> None:
    whole = status_line(STANDING, 10.0, 120)
    bar = "━" * 9 + "╌" * 15
    assert whole == f"converting  {bar}  24.1 MB of 60.2 MB  0:15 left  2.4 MB/s  1,234,567 operations"
    assert status_line(STANDING, 13.0, 48) == f"converting  {'━' * 6}{'╌' * 10}  24.1 MB of 60.2 MB"
    assert status_line(STANDING, 13.0, 55, unicode=False) == "converting  ####--------  24.1 MB of 60.2 MB  0:12 left"
    assert status_line(STANDING, 13.0, 40) == f"converting  {'━' * 3}{'╌' * 5}  24.1 MB of 60.2 MB"
    assert status_line(STANDING, 13.0, 30) == f"converting  {'━' * 7}{'╌' * 11}"
    assert status_line(STANDING, 13.0, 8) == "converti"
    assert status_line(ProgressSnapshot("starting Spark", 5.0, 5.0), 8.2, 80) == "starting Spark  0:03"


def test_a_pause_shows_its_end() -> None:
    shown: list[ProgressSnapshot] = []
    tracker = ProgressTracker(shown.append, lambda: 100.0)
    tracker.start_tasks(SENDING, [500], 1)
    tracker.set_waiting(30, 7_200)
    until = datetime.now() + timedelta(seconds=20)
    first, second = facts(shown[-1], 110.0)[:2]
    assert first == "1:59:50 left"
    assert abs(datetime.strptime(second, "waits until %Y-%m-%d %H:%M:%S") - until) < timedelta(seconds=2)
    assert facts(shown[-1], 131.0) == ["1:59:29 left"]
    tracker.set_waiting(0.5, 60)
    assert facts(shown[-1], 100.0) == ["1:00 left"]


@examples(100)
@given(st.integers(1, 130), st.integers(0, 10**15), st.floats(0, 10**6), st.integers(0, 10**12))
def test_a_line_is_never_wider_than_the_terminal(columns: int, done: int, now: float, operations: int) -> None:
    standing = ProgressSnapshot("finding tables", 0.0, now, done, 10**15, operations, now, 0.0)
    assert len(status_line(standing, now, columns)) <= columns


def test_splits_that_are_not_finished_count_with_what_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[ProgressSnapshot] = []
    seconds, read = [0.0], [0]

    class Shown(_Watcher):
        def draw(self, standing: ProgressSnapshot, now: float) -> None:
            drawn.append(standing)

    monkeypatch.setattr("ggfmt.render.progress.bytes_being_read", lambda: read[0])
    watcher = Shown(lambda: seconds[0])
    tracker = ProgressTracker(watcher.show, lambda: seconds[0])
    ended = tracker.start_tasks(READING, [60, 60], 2)
    assert ended is not None
    for moment, size, done in ((10.0, 40, 0), (20.0, 80, 0), (25.0, 0, 0), (30.0, 0, 1), (40.0, 90, 1), (50.0, 0, 2)):
        seconds[0], read[0] = moment, size
        ended(done, 2)
        watcher._draw_now()
    assert [standing.bytes_done for standing in drawn if standing.bytes_done] == [40, 80, 80, 80, 80, 120, 120, 120]
    assert drawn[3].remaining(10.0) == 20.0  # 80 bytes at 4 bytes per second
    tracker.start_phase(SENDING)
    assert drawn[-1].bytes_done == 0


@pytest.mark.parametrize("name", ["in.json", "in.json.gz"])
def test_what_is_read_counts_as_it_is_stored(name: str, tmp_path: Path) -> None:
    plain = write_lines(tmp_path / "plain", [operation(number) for number in range(9000)]).read_bytes()
    path = tmp_path / name
    path.write_bytes(gzip.compress(plain) if name.endswith("gz") else plain)
    (file,) = list_inputs([str(path)])
    start = 0 if name.endswith("gz") else 1000
    with open_unchanged(file, start) as stream:
        if start:
            stream.seek(start)
        seen = [bytes_being_read()]
        while stream.read(100_000):
            seen.append(bytes_being_read())
    assert seen == sorted(seen) and seen[0] < seen[-1]
    assert seen[-1] == file.size - start
    assert bytes_being_read() == 0


def test_times_and_sizes() -> None:
    shown = [facts(ProgressSnapshot("x", 0.0, 0.0, size, size, None, left), 0.0)
             for size, left in [(999, 59.6), (1000, 3599.4), (123_456, 3600), (10**12, 360_000)]]  # fmt: skip
    assert shown == [
        ["999 bytes of 999 bytes", "1:00 left"],
        ["1.0 kB of 1.0 kB", "59:59 left"],
        ["123.5 kB of 123.5 kB", "1:00:00 left"],
        ["1.0 TB of 1.0 TB", "100:00:00 left"],
    ]


def on_terminal(program: str, columns: str = "80") -> str:
    """What a Python program shows on a pseudo terminal."""
    leader, follower = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": columns}
    environment.pop("CI", None)
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdin=follower, stdout=follower, stderr=follower, env=environment, cwd=ROOT
    )
    os.close(follower)
    shown = b""
    while select.select([leader], [], [], 60)[0]:
        try:
            data = os.read(leader, 65536)
        except OSError:
            break
        shown += data
    os.close(leader)
    assert process.wait() == 0, shown
    return shown.decode()


def screen(shown: str) -> list[str]:
    """The rows of a wide terminal at the end."""
    final = Screen(200, reflows=False)
    final.feed(shown)
    return final.rows()


def test_lines_and_the_bar_are_not_glued_together() -> None:
    program = """
import logging, sys, threading, time
from ggfmt import logs
from ggfmt.reading.progress import ProgressSnapshot
from ggfmt.cli.output import progress_bar
logs.set_up("info", "text")
log = logging.getLogger("ggfmt")
with progress_bar(None) as tell:
    for number in range(30):
        now = time.monotonic()
        tell(ProgressSnapshot("converting", now, now, number, 30))
        log.info("line %d", number)
        print("other", number, file=sys.stderr)
        sys.stderr.write("by ")
        tell(ProgressSnapshot("converting", now, now, number + 1, 30))
        sys.stderr.write(f"halves {number}\\n")
    sys.stderr.write("without an end")
log.info("after it")
"""
    shown = on_terminal(program)
    assert "converting" in shown
    lines = [re.sub(r"^\d\d:\d\d:\d\d ", "", text) for text in screen(shown)]
    wanted = [text for n in range(30) for text in (f"INFO  line {n}", f"other {n}", f"by halves {n}")]
    assert lines == [*wanted, "without an end", "INFO  after it"]


RESIZED = """
import logging, os, sys, time
from ggfmt import logs
from ggfmt.reading.progress import ProgressSnapshot
from ggfmt.cli.output import progress_bar
logs.set_up("info", "text")
with progress_bar(None) as show:
    for columns in map(int, sys.argv[1:]):
        while os.get_terminal_size(2).columns != columns:
            time.sleep(0.01)
        now = time.monotonic()
        show(ProgressSnapshot("converting", now, now, 24_100_000, 60_200_000, 1_234_567, 15.0, now))
        logging.getLogger("ggfmt").info("at %d", columns)
"""


def test_a_resized_terminal_keeps_no_stale_line() -> None:
    """A bar that is drawn before and after the terminal changes its width."""
    widths = [80, 50, 25, 100, 40]
    leader, follower = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name not in ("CI", "COLUMNS")}
    process = subprocess.Popen(
        [sys.executable, "-c", RESIZED, *map(str, widths)],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env={**environment, "TERM": "xterm-256color"},
        cwd=ROOT,
    )
    screens = [Screen(widths[0], reflows=reflows) for reflows in (True, False)]
    decoder = codecs.getincrementaldecoder("utf-8")()
    shown = ""
    for columns in widths:
        fcntl.ioctl(leader, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        for terminal in screens:
            terminal.resize(columns)
        while "converting" not in shown.partition(f"at {columns}\r\n")[2]:
            assert select.select([leader], [], [], 60)[0], shown
            read = decoder.decode(os.read(leader, 65536))
            shown += read
            for terminal in screens:
                terminal.feed(read)
        if columns != widths[-1]:
            assert all(terminal.rows()[-1].startswith("converting") for terminal in screens)
    os.close(follower)
    with suppress(OSError):  # the other end is closed
        while read := decoder.decode(os.read(leader, 65536)):
            for terminal in screens:
                terminal.feed(read)
    os.close(leader)
    assert process.wait() == 0, shown
    for terminal in screens:
        assert [re.sub(r"^\d\d:\d\d:\d\d ", "", row) for row in terminal.rows()] == [
            f"INFO  at {columns}" for columns in widths
        ]


def test_a_ci_server_shows_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    for value, is_shown in (("true", False), ("1", False), ("", True), ("false", True)):
        monkeypatch.setenv("CI", value)
        with progress_bar(None) as callback:
            assert (callback is not None) is is_shown
    monkeypatch.setenv("JPY_PARENT_PID", "1")  # in a cell of a notebook
    with progress_bar(None) as callback:
        assert callback is None


JSON = ("--set", "gg.handler.j.format=json", "--master", "none")


def test_a_run_on_a_narrow_terminal(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", [operation(number) for number in range(3_000)])
    arguments = ["run", str(source), "-o", str(tmp_path / "out"), "--split-size", "150k", *JSON]
    program = f"import sys; from ggfmt.cli import main; sys.argv = ['ggfmt', *{arguments!r}]; main()"
    shown = on_terminal(program, "60")
    drawn = [
        part
        for part in re.split(r"\r\n|\x1b\[J\r|\x1b\[\?7[lh]", shown)
        if part.startswith(("listing", "converting", "comm"))
    ]
    assert any("━" in part and "left" in part for part in drawn)
    assert all(len(part) < 60 for part in drawn)
    assert not any(text.startswith(("listing", "converting", "committing")) for text in screen(shown))
    assert "3,000 operations" in shown


def test_in_a_pipe_progress_is_lines_of_the_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = write_lines(tmp_path / "in.json", [operation(number) for number in range(10)])
    told = ("run", str(source), *JSON, "--progress", "-o", str(tmp_path / "out"))
    assert cli.main(["--log-format", "json", *told]) == 0
    messages = [json.loads(text)["message"] for text in capsys.readouterr().err.splitlines()]
    phases = [text.partition(",")[0] for text in messages if text.partition(",")[0] in PHASES.values()]
    assert phases == ["listing", "finding tables", "converting", "committing"]
