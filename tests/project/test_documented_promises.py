"""Each sentence of the promises has tests that are there; and what a local run says to the network."""

from __future__ import annotations

import ast
import json
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from places import TESTS
from processes import descendants
from runs import operation, write_lines

from ggfmt import docs

REFERENCE = re.compile(r"`([\w/]+\.py)::(test_\w+)`")

CONNECTIONS = """
import json, sys
where = []
def hook(event, arguments):
    if event in ("socket.connect", "socket.bind") and isinstance(arguments[1], tuple):
        where.append(arguments[1][0])
sys.addaudithook(hook)
from ggfmt.cli import main
try:
    main()
finally:
    print(json.dumps(where))
"""


def rows() -> Iterator[tuple[str, str]]:
    """What each row of the tables of both pages promises, and what it names for it."""
    for page in ("promises", "security"):
        for line in docs.pages()[page].text.splitlines():
            if line.startswith("| ") and not line.startswith(("| ---", "| Promise |", "| What holds |")):
                promise, tests = line.strip("| ").split(" | ")
                yield promise, tests


@cache
def functions_of(file: str) -> set[str]:
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_every_promise_has_tests_that_are_there() -> None:
    assert len(list(rows())) >= 25
    for promise, tests in rows():
        named = REFERENCE.findall(tests)
        assert named, promise
        assert REFERENCE.sub("", tests).strip(", ") == ""
        for file, test in named:
            assert test in functions_of(file), f"{file} has no {test}"


def listeners(process: int) -> set[str]:
    """The addresses that a process and what it has started listen on, as Linux lists them: IPv4 and IPv6 in hex."""
    sockets = set()
    for member in (process, *descendants(process)):
        try:
            for link in Path(f"/proc/{member}/fd").iterdir():
                target = str(link.readlink())
                if target.startswith("socket:["):
                    sockets.add(target[8:-1])
        except OSError:
            continue
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in sockets:
                found.add(fields[1].partition(":")[0])
    return found


def is_loopback(address: str) -> bool:
    if len(address) == 8:
        return address.endswith("7F")
    return address in ("0" * 24 + "01000000", "0000000000000000FFFF00000100007F")


@pytest.mark.spark
@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="Linux tells of sockets there")
def test_a_local_run_speaks_to_this_machine_alone(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", [operation(number) for number in range(20_000)])
    arguments = ["run", str(source), "-o", str(tmp_path / "out"), "--split-size", "200k", "--master", "local[2]"]
    arguments += ["--set", "gg.handler.j.format=json"]
    run = subprocess.Popen(
        [sys.executable, "-c", CONNECTIONS, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    heard: set[str] = set()
    while run.poll() is None:
        heard |= listeners(run.pid)
        time.sleep(0.1)
    told, log = run.communicate()
    assert run.returncode == 0, log
    connected = json.loads(told.splitlines()[-1])
    assert connected, "a run talks to its JVM"
    assert set(connected) <= {"127.0.0.1", "::1", "localhost"}
    assert heard, "Spark listens"
    assert all(map(is_loopback, heard)), [socket.inet_ntoa(bytes.fromhex(a)[::-1]) for a in heard if len(a) == 8]
