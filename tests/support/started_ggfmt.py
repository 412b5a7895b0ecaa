"""A `ggfmt` that is started once: commands are forks of a process that has imported it, and begin at once.

What a command does is the same, except for what Python does at its start. Tests of that start Pythons of their own.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType

MODULES = (
    "engine",
    "cli.data_commands",
    "cli.inspection_commands",
    "cli.lsp",
    "cli.message_commands",
    "cli.reference",
    "cli.validate",
    "rows.run",
    "sinks.messages.run",
)
CLIENT = """
import os, socket, sys
words = [os.getcwd(), str(len(sys.argv)), *sys.argv, *(f"{name}={value}" for name, value in os.environ.items())]
data = "\\0".join(words).encode("utf-8", "surrogateescape")
with socket.socket(socket.AF_UNIX) as server:
    server.connect(os.path.dirname(__file__) + "/socket")
    socket.send_fds(server, [len(data).to_bytes(8, "big")], [0, 1, 2])
    server.sendall(data)
    code = server.recv(1)
os._exit(code[0] if code else 70)
"""


@contextmanager
def started_ggfmt(directory: Path) -> Iterator[Path]:
    """Start the process. The directory is for PATH, before the one of the `ggfmt` that is installed."""
    (directory / "client.py").write_text(CLIENT, encoding="utf-8")
    program = directory / "ggfmt"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -SE "{directory}/client.py" "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{directory}/socket")
        server.listen()
        process = subprocess.Popen([sys.executable, __file__, str(server.fileno())], pass_fds=[server.fileno()])
    try:
        yield directory
    finally:
        process.kill()
        process.wait()


def serve(server: socket.socket) -> None:
    from ggfmt import __main__ as program
    from ggfmt.unused_modules import hide_unused_modules

    hide_unused_modules()
    for module in MODULES:
        import_module(f"ggfmt.{module}")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system reaps commands
    while True:
        asked, _ = server.accept()
        if os.fork() == 0:
            server.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            answer(asked, program)
            os._exit(0)
        asked.close()


def answer(asked: socket.socket, program: ModuleType) -> None:
    """Run a command with what the client has: standard streams, current directory, arguments and variables."""
    size, descriptors, _, _ = socket.recv_fds(asked, 8, 3)
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    with asked.makefile("rb") as told:
        directory, count, *words = told.read(int.from_bytes(size, "big")).decode("utf-8", "surrogateescape").split("\0")
    os.chdir(directory)
    os.environ.clear()
    for name, _, value in (word.partition("=") for word in words[int(count) :]):
        os.environ[name] = value
    sys.argv = words[: int(count)]
    sys.stdin = os.fdopen(0, encoding="utf-8")
    sys.stdout = os.fdopen(1, "w", encoding="utf-8")
    sys.stderr = os.fdopen(2, "w", buffering=1, encoding="utf-8", errors="backslashreplace")
    try:
        code = program.run()
    except SystemExit as end:
        code = end.code
    sys.stdout.flush()
    sys.stderr.flush()
    asked.sendall(bytes([code]))


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
