"""`ggfmt validate-config` in this process, and the files that it checks."""

from __future__ import annotations

import contextlib
import io
import os
import re
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from ggfmt.cli.validate import validate_config
from ggfmt.commands.inspection import LintRequest

# The line on standard error that says which release a file is for.
RELEASES = re.compile(r"^.*: (?:release [0-9]|no property shows a release).*\n", re.MULTILINE)


def checked(*files: str | Path, given: bytes = b"", **options: Any) -> tuple[int, bytes, str]:
    """Exit code, standard output and standard error of the command in this process, without the releases of files."""
    streams = [io.TextIOWrapper(io.BytesIO(content), encoding="utf-8", newline="\n") for content in (b"", b"", given)]
    out, err, standard_input = streams
    code = 0
    before, sys.stdin = sys.stdin, standard_input
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            python = {name: options.pop(name) for name in ("settings", "for_run") if name in options}
            request = LintRequest([str(file) for file in files], **python)
            validate_config(request, **options)
    except typer.Exit as end:
        code = end.exit_code
    finally:
        sys.stdin = before
    contents = []
    for stream in (out, err):
        stream.flush()
        assert isinstance(stream.buffer, io.BytesIO)
        contents.append(stream.buffer.getvalue())
    return code, contents[0], RELEASES.sub("", contents[1].decode())


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@contextlib.contextmanager
def as_nobody(directory: Path) -> Iterator[None]:
    """Without the rights of root, who may do anything; the directory is made reachable."""
    if os.geteuid() != 0:
        yield
        return
    for parent in (directory, *directory.parents):
        if not parent.stat().st_mode & stat.S_IXOTH:
            parent.chmod(parent.stat().st_mode | stat.S_IXOTH)
    directory.chmod(directory.stat().st_mode | 0o005)
    groups, group = os.getgroups(), os.getegid()
    os.setgroups([])
    os.setegid(65534)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(group)
        os.setgroups(groups)
