"""A command on a pseudo terminal, and what one shows."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import select
import struct
import subprocess
import termios
from pathlib import Path

ESCAPE = "\x1b["
_STYLE = re.compile(r"\x1b\[[0-9;]*m")


class Terminal(io.StringIO):
    """A stream that is a terminal to what writes to it; its size is that of `COLUMNS` and `LINES`."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def unstyled(shown: str) -> str:
    """Return what a terminal shows, without colors."""
    return _STYLE.sub("", shown)


def terminal_environment(**more: str) -> dict[str, str]:
    """Return an environment in which a terminal, and not a variable, says what it can and how large it is."""
    names = ("NO_COLOR", "CI", "COLUMNS", "LINES", "PAGER", "GGFMT_PAGER", "LESS")
    left = {name: value for name, value in os.environ.items() if name not in names}
    return {**left, "TERM": "xterm-256color", **more}


def on_terminal(arguments: list[str], cwd: Path, size: tuple[int, int] = (0, 0), **more: str) -> tuple[int, str]:
    """Run a command on a pseudo terminal of some rows and columns; return its exit status and all it showed.

    `more`: variables of its environment.
    """
    leader, follower = pty.openpty()
    fcntl.ioctl(leader, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
    environment = terminal_environment(**more)
    process = subprocess.Popen(
        arguments, stdin=follower, stdout=follower, stderr=follower, cwd=cwd, close_fds=True, env=environment
    )
    os.close(follower)
    shown = b""
    while True:
        ready, _, _ = select.select([leader], [], [], 60)
        assert ready, "the terminal fell silent"
        try:
            data = os.read(leader, 65536)
        except OSError:  # the other end is closed
            break
        if not data:
            break
        shown += data
    os.close(leader)
    return process.wait(), shown.decode()
