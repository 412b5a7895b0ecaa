"""A MariaDB of the tests' own, from the package `mariadb-server` of Debian."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymysql
import pytest

_SECONDS = 60  # until the server answers


def programs() -> bool:
    """Whether there is a MariaDB that can be started here."""
    found = all(_program(name) for name in ("mariadbd", "mariadb-install-db", "mariadb"))
    return found and (os.geteuid() != 0 or "mysql:" in Path("/etc/passwd").read_text(encoding="utf-8"))


def _program(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin")


@dataclass(frozen=True)
class Server:
    """A running server; `home` has its socket."""

    home: Path
    port: int

    def connected(self, database: str | None = None) -> pymysql.Connection[Any]:
        user = {"user": "root", "unix_socket": f"{self.home}/socket"}
        return pymysql.connect(**user, database=database, charset="utf8mb4", autocommit=True)

    def run(self, sql: str) -> str:
        """Run statements as the administrator, and return what they print."""
        words = [str(_program("mariadb")), "--no-defaults", "--protocol=socket", f"--socket={self.home}/socket"]
        words += ["--default-character-set=utf8mb4", "-uroot", "-N"]
        return subprocess.run(words, input=sql, capture_output=True, text=True, check=True, timeout=60).stdout


@contextmanager
def server(more: Sequence[str] = ("--skip-log-bin",)) -> Iterator[Server]:
    """A server that is started here, and gone in the end. `more`: options of it."""
    home = Path(tempfile.mkdtemp(prefix="ggfmt-mariadb-"))
    user = "mysql" if os.geteuid() == 0 else os.environ.get("USER", "")
    try:
        if os.geteuid() == 0:
            shutil.chown(home, "mysql")
        data = [f"--datadir={home}/data", f"--user={user}"]
        # Each server has a directory of its own for temporary tables: one that starts removes those of others.
        environment = {**os.environ, "TMPDIR": str(home)}
        words = [
            str(_program("mariadb-install-db")),
            "--no-defaults",
            "--auth-root-authentication-method=normal",
            *data,
        ]
        subprocess.run(words, check=True, capture_output=True, timeout=120, env=environment)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port: int = probe.getsockname()[1]
        options = [f"--socket={home}/socket", f"--port={port}", "--bind-address=127.0.0.1", *more]
        with (home / "log").open("wb") as log:
            words = [str(_program("mariadbd")), "--no-defaults", *data, *options]
            process = subprocess.Popen(words, stdout=log, stderr=log, env=environment)
        try:
            running = Server(home, port)
            _wait(running, process)
            yield running
        finally:
            process.terminate()
            process.wait()
    finally:
        shutil.rmtree(home, ignore_errors=True)


@contextmanager
def server_or_skip() -> Iterator[Server]:
    if not programs():
        pytest.skip("there is no MariaDB that can be started")
    with server() as started:
        yield started


def _wait(running: Server, process: subprocess.Popen[bytes]) -> None:
    limit = time.monotonic() + _SECONDS
    while True:
        try:
            running.run("select 1")
            return
        except subprocess.CalledProcessError:
            log = (running.home / "log").read_text(encoding="utf-8", errors="replace")
            assert process.poll() is None and time.monotonic() < limit, log
            time.sleep(0.1)
