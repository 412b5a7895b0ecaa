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
_STYLE = re.compile(r"\x1b\[[0-9;]*m|\x1b\]8;.*?\x1b\\")


class Terminal(io.StringIO):
    """A stream that is a terminal to what writes to it; its size is that of `COLUMNS` and `LINES`."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def unstyled(shown: str) -> str:
    """Return what a terminal shows, without colors and links."""
    return _STYLE.sub("", shown)


def on_terminal(arguments: list[str], cwd: Path, size: tuple[int, int] = (0, 0)) -> tuple[int, str]:
    """Run a command on a pseudo terminal of some rows and columns; return its exit status and all it showed."""
    leader, follower = pty.openpty()
    fcntl.ioctl(leader, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color"}
    for name in ("NO_COLOR", "CI", "COLUMNS", "LINES", "PAGER", "GGFMT_PAGER", "LESS"):
        environment.pop(name, None)
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
