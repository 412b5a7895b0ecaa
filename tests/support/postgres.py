"""A PostgreSQL of the tests' own, and its logical decoding (`test_decoding`) as operations.

Followed: PostgreSQL 15, contrib/test_decoding/test_decoding.c.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from round_trips import Operation, Row

from ggfmt.model.table import join_name

_PLACES = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin")
_SETTINGS = {
    "wal_level": "logical",
    "listen_addresses": "",
    "fsync": "off",
    "autovacuum": "off",
    "timezone": "UTC",
    "shared_buffers": "16MB",
}


def programs() -> Path | None:
    """Where the programs of a PostgreSQL are; None if there is none here that can be started."""
    found = [path for place in _PLACES for path in Path("/").glob(place[1:]) if (path / "initdb").exists()]
    if os.geteuid() == 0 and (shutil.which("runuser") is None or "postgres" not in _users()):
        return None  # the server refuses to run as root
    return max(found, default=None, key=lambda path: [int(part) for part in re.findall("[0-9]+", str(path))])


def _users() -> list[str]:
    return [line.partition(":")[0] for line in Path("/etc/passwd").read_text(encoding="utf-8").splitlines()]


@dataclass(frozen=True)
class Server:
    """A running server with one database; `home` has its socket."""

    programs: Path
    home: Path
    port: str = "5432"

    @property
    def user(self) -> str:
        return _user()

    @property
    def url(self) -> str:
        """The URL of the database, of a server that listens on 127.0.0.1."""
        return f"postgresql://{self.user}@127.0.0.1:{self.port}/postgres"

    def run(self, sql: str, *, strict: bool = True) -> str:
        """What statements print. A statement that fails is left out, also within a transaction, unless `strict`."""
        words = [
            "psql",
            "-XqAt",
            "-h",
            str(self.home),
            "-p",
            self.port,
            "-d",
            "postgres",
            "-v",
            f"ON_ERROR_STOP={int(strict)}",
        ]
        words += [] if strict else ["-v", "ON_ERROR_ROLLBACK=on"]
        ended = _run(self.programs, words, sql)
        return ended.stdout

    def copied(self, query: str) -> list[Row]:
        """The rows of a query, by `COPY`, as texts by column."""
        lines = self.run(f"copy ({query}) to stdout with (format text, header)").split("\n")[:-1]
        names, *rows = [[_unescaped(field) for field in line.split("\t")] for line in lines]
        return [dict(zip(map(str, names), row, strict=True)) for row in rows]


@contextmanager
def server_or_skip(locked: str = "") -> Iterator[Server]:
    """A server on a free port of 127.0.0.1, as `server`. Without PostgreSQL, the test is skipped."""
    found = programs()
    if found is None:
        pytest.skip("there is no PostgreSQL")
    with reachable_server(found, locked) as running:
        yield running


@contextmanager
def reachable_server(found: Path, locked: str = "") -> Iterator[Server]:
    """A server on a free port of 127.0.0.1, as `server`."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    with server(found, {"listen_addresses": "127.0.0.1", "port": port}, locked) as running:
        yield running


@contextmanager
def server(found: Path, more: Mapping[str, str] | None = None, locked: str = "") -> Iterator[Server]:
    """A server that is started here, and gone in the end; `more` settings win over its own. The user `locked` needs a
    password.
    """
    home = Path(tempfile.mkdtemp(prefix="ggfmt-pg-"))
    try:
        if os.geteuid() == 0:
            shutil.chown(home, "postgres")
        data = str(home / "data")
        _run(found, ["initdb", "-D", data, "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync", "-U", _user()])
        access = home / "data" / "pg_hba.conf"
        first = f"host all {locked} all scram-sha-256\n" if locked else ""
        access.write_text(first + access.read_text(encoding="utf-8"), encoding="utf-8")
        settings = " ".join(f"-c {name}='{value}'" for name, value in {**_SETTINGS, **(more or {})}.items())
        options = f"-k {home} {settings}"
        _run(found, ["pg_ctl", "-D", data, "-w", "-l", str(home / "log"), "-o", options, "start"])
        try:
            yield Server(found, home, (more or {}).get("port", "5432"))
        finally:
            _run(found, ["pg_ctl", "-D", data, "-w", "-m", "immediate", "stop"])
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _user() -> str:
    return "postgres" if os.geteuid() == 0 else os.environ.get("USER", "postgres")


def _run(programs: Path, words: Sequence[str], given: str = "") -> subprocess.CompletedProcess[str]:
    command = [str(programs / words[0]), *words[1:]]
    if os.geteuid() == 0:
        command = ["runuser", "-u", "postgres", "--", *command]
    environment = {**os.environ, "PGUSER": _user(), "PGCLIENTENCODING": "UTF8"}
    with tempfile.TemporaryFile("w+", encoding="utf-8") as out, tempfile.TemporaryFile("w+", encoding="utf-8") as told:
        # To files: the server that `pg_ctl` leaves behind would keep pipes open.
        ended = subprocess.run(
            command, input=given, text=True, encoding="utf-8", stdout=out, stderr=told, cwd="/", env=environment
        )
        out.seek(0), told.seek(0)
        assert ended.returncode == 0, f"{words[0]}: {told.read()}"
        return subprocess.CompletedProcess(command, 0, out.read(), told.read())


# What COPY escapes

_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def _unescaped(field: str) -> str | None:
    if field == "\\N":
        return None
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), field)


# What test_decoding writes

_NAME = r'"(?:[^"]|"")*"|[a-z_][a-z0-9_$]*'
_TABLES = re.compile(rf"table ((?:{_NAME})\.(?:{_NAME})(?:, (?:{_NAME})\.(?:{_NAME}))*): ([A-Z]+):", re.DOTALL)
_COLUMN = re.compile(
    rf" ({_NAME})\[(?:[^\[\]]|\[\])*\]:(?:(unchanged-toast-datum|null)(?= |$)|B?'((?:[^']|'')*)'|([^\s']+))",
    re.DOTALL,
)
_OPS = {"INSERT": "I", "UPDATE": "U", "DELETE": "D", "TRUNCATE": "T"}
_OLD, _NEW = " old-key:", " new-tuple:"
SLOT = "ggfmt"


def decoded(of: Server, whole: Mapping[str, Sequence[str]]) -> list[Operation]:
    """The operations since the last time, or since the slot was made, in the order of commits.

    The log lacks a value that is stored apart and has not changed: the column is missing. The log has an old row
    without the columns that are NULL; `whole` has the columns of tables with `replica identity full`, by name.
    """
    return [item for _, item in located_operations(of, whole)]


def located_operations(of: Server, whole: Mapping[str, Sequence[str]]) -> list[tuple[int, Operation]]:
    """The same, each with its position in the log."""
    changes = f"pg_logical_slot_get_changes('{SLOT}', null, null, 'include-xids', '0')"
    rows = of.copied(f"select lsn - '0/0' as position, data from {changes}")
    return [(int(row["position"] or 0), item) for row in rows for item in _operations(row["data"] or "", whole)]


def _operations(line: str, whole: Mapping[str, Sequence[str]]) -> Iterator[Operation]:
    found = _TABLES.match(line)
    if found is None:
        assert line in ("BEGIN", "COMMIT"), line
        return
    op = _OPS[found[2]]
    for table in re.findall(rf"(?:{_NAME})\.(?:{_NAME})", found[1]):
        name = join_name(*(part.strip('"') for part in re.findall(_NAME, table)))
        old, new, place = None, None, found.end()
        if op == "D" or line.startswith(_OLD, place):
            old, place = _row(line, place + (len(_OLD) if op == "U" else 0))
            old = {**dict.fromkeys(whole.get(name, ())), **old}
        if op in "IU":
            new, place = _row(line, place + (len(_NEW) if old is not None else 0))
        assert op == "T" or place == len(line), line[place:]
        yield Operation(op, old, new, table=name)


def _row(line: str, place: int) -> tuple[Row, int]:
    """The columns that follow a place of a line, and where they end."""
    row: Row = {}
    while found := _COLUMN.match(line, place):
        name, word, quoted, plain = found.groups()
        name = name[1:-1].replace('""', '"') if name.startswith('"') else name
        if word != "unchanged-toast-datum":
            row[name] = None if word == "null" else plain if quoted is None else quoted.replace("''", "'")
        place = found.end()
    return row, place
