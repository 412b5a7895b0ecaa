"""Long output goes to a pager on a terminal, as git's does; quitting one early and Ctrl-C are quiet."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
from contextlib import redirect_stdout, suppress
from pathlib import Path

import pytest
from terminal import Terminal, on_terminal, terminal_environment, unstyled

from ggfmt import cli, signals
from ggfmt.render.pager import find_pager, paged

DOCS = [sys.executable, "-m", "ggfmt", "docs"]
SIZE = (24, 80)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal of four rows of ten columns."""
    for name, value in {"TERM": "xterm", "LINES": "4", "COLUMNS": "10"}.items():
        monkeypatch.setenv(name, value)
    for name in ("CI", "GGFMT_PAGER", "PAGER", "LESS", "LV"):
        monkeypatch.delenv(name, raising=False)
    return Terminal()


@pytest.fixture
def in_file(terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that has what a pager got."""
    file = tmp_path / "shown"
    monkeypatch.setenv("PAGER", f"cat > '{file}'")
    return file


@pytest.mark.parametrize(
    ("environment", "command"),
    [
        ({}, "less"),
        ({"PAGER": "most"}, "most"),
        ({"PAGER": "most", "GGFMT_PAGER": "less -S"}, "less -S"),
        ({"PAGER": "most", "GGFMT_PAGER": ""}, None),
        ({"PAGER": "cat"}, None),
        ({"PAGER": " "}, None),
        ({"CI": "true"}, None),
        ({"JPY_PARENT_PID": "1"}, None),
        ({"CI": "false"}, "less"),
        ({"TERM": "dumb"}, None),
    ],
    ids=str,
)
def test_the_pager_is_that_of_the_environment(
    environment: dict[str, str],
    command: str | None,
    terminal: Terminal,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "less").touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert find_pager(terminal) == command


def test_there_is_no_pager_without_less_a_terminal_or_its_size(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_pager(None) is None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_pager(terminal) is None
    monkeypatch.setenv("PAGER", "more")
    assert find_pager(terminal) == "more"
    monkeypatch.setenv("LINES", "")
    assert find_pager(terminal) is None
    assert find_pager(sys.__stderr__) is None


@pytest.mark.process
@pytest.mark.parametrize(
    ("text", "is_paged"),
    [
        ("1\n2\n3\n", False),
        ("1\n2\n3\n4\n", True),
        ("1\n\n\n\n", True),
        ("1234567890\n2\n3", False),
        ("1234567890A\n2\n3", True),
        ("\x1b[1m1234567890\x1b[0m\n2\n3\n", False),
        ("宽宽宽宽宽宽\n2\n3\n", True),
        ("1" * 31, True),
    ],
)
def test_output_that_is_longer_than_the_terminal_is_paged(
    text: str, is_paged: bool, terminal: Terminal, in_file: Path
) -> None:
    with redirect_stdout(terminal):
        with paged():
            assert sys.stdout.isatty()
            sys.stdout.write(text)
            assert terminal.getvalue() == ""
        assert sys.stdout is terminal
    assert in_file.exists() is is_paged
    assert (in_file.read_text(encoding="utf-8") if is_paged else terminal.getvalue()) == text
    assert is_paged is (terminal.getvalue() == "")


@pytest.mark.process
@pytest.mark.parametrize("pager", ["no-such-pager", "no-such-pager -R", "no-such-pager | cat >&2; exit 127"])
def test_a_pager_that_cannot_be_started_loses_nothing(
    pager: str, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAGER", pager)
    with redirect_stdout(terminal), paged():
        print("line\n" * 9)
    assert terminal.getvalue() == "line\n" * 9 + "\n"


def test_an_error_leaves_the_pager_out(terminal: Terminal, in_file: Path) -> None:
    with redirect_stdout(terminal), suppress(ZeroDivisionError), paged():
        print("line\n" * 9)
        raise ZeroDivisionError
    assert terminal.getvalue() == "line\n" * 9 + "\n"
    assert not in_file.exists()


@pytest.mark.process
def test_a_character_that_the_terminal_lacks_is_an_escape(
    terminal: Terminal, in_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Terminal, "encoding", "ascii")
    with redirect_stdout(terminal), paged():
        print("\xc9\n" * 9)
    assert in_file.read_bytes() == b"\\xc9\n" * 9 + b"\n"


@pytest.mark.process
@pytest.mark.parametrize(
    "arguments",
    [
        ["docs"],
        ["docs", "GG205"],
        ["options", "json"],
        ["options", "json", "--output-format", "json"],
        ["explain", "pkUpdateHandling"],
        ["explain", "pkUpdateHandling", "--output-format", "markdown"],
        ["formats"],
        ["validate-config", "many.properties", "--isolated"],
    ],
    ids=" ".join,
)
def test_commands_with_long_output_page_it(
    arguments: list[str], terminal: Terminal, in_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    lines = ("gg.handlerlist=j", "gg.handler.j.format=json", "gg.handler.j.format.nothing=1", "gg.handler.j.mode=2")
    Path("many.properties").write_text("\n".join(lines), encoding="utf-8")
    with redirect_stdout(terminal):
        code = cli.main(arguments)
    assert code == (arguments[0] == "validate-config")
    assert terminal.getvalue() == ""
    assert len(in_file.read_text(encoding="utf-8").splitlines()) > 3


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_is_for_the_child_and_not_ignored_by_it() -> None:
    before = signal.getsignal(signal.SIGINT)
    program = "import signal; raise SystemExit(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    with signals.interrupts_left_to_child():
        os.kill(os.getpid(), signal.SIGINT)
        assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 1
    assert signal.getsignal(signal.SIGINT) is before


# On a pseudo terminal


def test_a_terminal_pages_a_long_page_and_not_a_short_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a program named `less`, which shows how it is called."""
    (tmp_path / "less").write_text('#!/bin/sh\necho "less $# $LESS"\ncat\n', encoding="utf-8")
    (tmp_path / "less").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    status, shown = on_terminal([*DOCS, "fidelity"], tmp_path, SIZE)
    assert status == 0
    lines = unstyled(shown).splitlines()
    assert lines[0] == "less 0 FRX"
    assert len(lines) > SIZE[0]
    status, all_at_once = on_terminal([*DOCS, "fidelity"], tmp_path, (5_000, SIZE[1]))
    assert status == 0
    assert unstyled(all_at_once).splitlines() == lines[1:]


def test_a_pager_that_is_quit_early_is_quiet(tmp_path: Path) -> None:
    status, shown = on_terminal([*DOCS, "codes"], tmp_path, SIZE, GGFMT_PAGER="head -n 1")
    assert (status, len(shown.splitlines())) == (0, 1)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 0), (signal.SIGTERM, 143)])
def test_a_signal_while_the_pager_runs(number: signal.Signals, status: int, tmp_path: Path) -> None:
    """Ctrl-C goes to both: a pager such as less goes on, and ggfmt waits for it. SIGTERM ends both."""
    leader, follower = pty.openpty()
    fcntl.ioctl(leader, termios.TIOCSWINSZ, struct.pack("HHHH", *SIZE, 0, 0))
    pager = "trap '' INT; echo ready; read line < /dev/stderr; head -n 1"
    process = subprocess.Popen(
        [*DOCS, "codes"],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        cwd=tmp_path,
        env=terminal_environment(GGFMT_PAGER=pager),
        start_new_session=True,
    )
    os.close(follower)
    shown = read_until(leader, b"ready")
    if number == signal.SIGINT:
        os.killpg(process.pid, number)
        os.write(leader, b"go on\n")
    else:
        process.send_signal(number)
    shown += read_until(leader, None)
    os.close(leader)
    assert process.wait(60) == status, shown
    assert b"Traceback" not in shown
    assert (b"codes" in shown.lower()) is (number == signal.SIGINT)
    assert (b"interrupted" in shown) is (number == signal.SIGTERM)


def read_until(leader: int, wanted: bytes | None) -> bytes:
    """Read from a pseudo terminal until a text comes, or to its end."""
    shown = b""
    with suppress(OSError):  # the other end is closed
        while wanted is None or wanted not in shown:
            assert select.select([leader], [], [], 60)[0], shown
            shown += os.read(leader, 65536)
    return shown


PROMPT, BELL = b":\x1b[K", b"\x07"


@pytest.mark.skipif(shutil.which("less") is None, reason="there is no less")
def test_less_shows_the_first_screen_and_is_quit_by_a_key(tmp_path: Path) -> None:
    leader, follower = pty.openpty()
    fcntl.ioctl(leader, termios.TIOCSWINSZ, struct.pack("HHHH", *SIZE, 0, 0))
    program = (
        "import fcntl, os, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(os.sys.argv[1], os.sys.argv[1:])"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, *DOCS, "codes"],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        cwd=tmp_path,
        env=terminal_environment(),
        start_new_session=True,
    )
    os.close(follower)
    shown = read_until(leader, PROMPT)
    os.write(leader, b"\x03")
    shown += read_until(leader, BELL)
    assert process.poll() is None
    with suppress(OSError):  # the other end is closed
        while process.poll() is None:
            os.write(leader, b"q")  # again if Ctrl-C has taken it away
            if select.select([leader], [], [], 1)[0]:
                shown += os.read(leader, 65536)
    os.close(leader)
    assert process.wait(60) == 0
    assert len(shown.splitlines()) < 3 * SIZE[0]
    assert b"Traceback" not in shown
    assert b"interrupted" not in shown
