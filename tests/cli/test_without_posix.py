"""Commands for administrators start where Python has no modules and functions of POSIX, as on Windows.

It was not tried on a real Windows.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT

pytestmark = pytest.mark.process

PROGRAM = """
import concurrent.futures.process, importlib.abc, os, signal, subprocess, sys, pyarrow.fs, pyarrow.parquet

class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name in MODULES:
            raise ModuleNotFoundError(name)

MODULES = {"fcntl", "pwd", "grp", "resource", "termios", "tty", "pty"}
SIGNALS = ("SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGPIPE", "SIGCHLD", "SIGTSTP", "pthread_sigmask")
FUNCTIONS = ("link", "getuid", "geteuid", "fork", "sched_getaffinity", "mkfifo", "killpg", "setsid", "fdatasync")
for name in MODULES & set(sys.modules):
    del sys.modules[name]
sys.meta_path.insert(0, Missing())
for module, names in ((signal, SIGNALS), (os, FUNCTIONS)):
    for name in names:
        delattr(module, name)

from ggfmt.cli import main

for line in sys.stdin.read().splitlines():
    code = main(line.split("\\t"))
    assert code == 0, (line, code)
"""
COMMANDS = [
    ["validate-config", "crlf.properties"],
    ["explain", "gg.handlerlist"],
    ["options", "json"],
    ["init", "json"],
    ["docs", "GG205"],
    ["preview", "{root}/samples/tcustord.json", "--to", "json", "-n", "1"],
    ["run", "{root}/samples/shop/changes", "--to", "json", "-o", "out", "--master", "none", "--checkpoint", "seen"],
    ["verify", "out"],
    ["consolidate", "{root}/samples/shop/changes", "-o", "rows", "--master", "none"],
]


def test_commands_start(tmp_path: Path) -> None:
    (tmp_path / "crlf.properties").write_bytes(
        b"gg.handlerlist=h\r\ngg.handler.h.type=hdfs\r\ngg.handler.h.format=json\r\n"
    )
    calls = "\n".join("\t".join(command) for command in COMMANDS).replace("{root}", str(ROOT))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], input=calls, capture_output=True, text=True, timeout=120, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert (tmp_path / "out" / "_ggfmt" / "manifest.json").exists()
