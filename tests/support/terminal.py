"""A command on a pseudo terminal."""

from __future__ import annotations

import os
import pty
import select
import subprocess
from pathlib import Path

ESCAPE = "\x1b["


def on_terminal(arguments: list[str], cwd: Path) -> tuple[int, str]:
    """Runs a command on a pseudo terminal; its exit status and all it showed."""
    leader, follower = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color"}
    for name in ("NO_COLOR", "CI"):
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
