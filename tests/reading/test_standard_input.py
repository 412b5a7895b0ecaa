"""`-` as an input: a pipe is read once, kept for as long as the command runs, and read like any other file."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from command_line import JSON, call, codes, piped
from places import ROOT
from runs import MOMENT, manifest, operation, run_ggfmt, snapshot, write_lines
from temporary_files import temporary as temporary

from ggfmt.diagnostics.diagnostic import UsageError
from ggfmt.reading import standard_input

HERE = ("--master", "none[1]", "--current-timestamp", MOMENT.isoformat())


@pytest.fixture
def source(tmp_path: Path) -> bytes:
    return write_lines(tmp_path / "in.json", [operation(number) for number in range(40)]).read_bytes()


def timeless(output: str) -> str:
    """The output without the times of its log lines."""
    return re.sub(r"(?m)^\d\d:\d\d:\d\d ", "", output)


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": lambda data: bytes(pa.Codec("zstd").compress(data, asbytes=True)),
}


@pytest.mark.parametrize("packing", PACKED)
def test_a_pipe_is_read_as_a_file_is(packing: str, source: bytes, tmp_path: Path) -> None:
    out = tmp_path / "out"
    ended = piped(PACKED[packing](source), "run", "-", *JSON, "-o", out, *HERE, "--split-size", "1k")
    assert ended.exit_code == 0, ended.output
    run_ggfmt([tmp_path / "in.json"], tmp_path / "file", "gg.handler.j.format=json")
    assert snapshot(out / "j") == snapshot(tmp_path / "file" / "j")
    (told,) = manifest(out)["inputs"]
    assert told == {"path": "<stdin>", "bytes": len(PACKED[packing](source))}
    shown = piped(PACKED[packing](source), "preview", "-", *JSON, *HERE[2:])
    assert timeless(shown.output) == timeless(call("preview", tmp_path / "in.json", *JSON, *HERE[2:]).output)
    schema = piped(PACKED[packing](source), "schema", "-", "--kind", "json")
    assert timeless(schema.output) == timeless(call("schema", tmp_path / "in.json", "--kind", "json").output)
    assert "GG.T" in schema.output


def test_it_stands_in_its_place_among_files(source: bytes, tmp_path: Path) -> None:
    first = write_lines(tmp_path / "first.json", [operation(100)])
    last = write_lines(tmp_path / "last.json", [operation(200)])
    assert piped(source, "run", last, "-", first, *JSON, "-o", tmp_path / "out", *HERE).exit_code == 0
    assert [entry["path"] for entry in manifest(tmp_path / "out")["inputs"]] == [str(last), "<stdin>", str(first)]


@pytest.mark.parametrize(
    ("data", "code", "place"),
    [
        (b'{"table":"GG.T","op_type":"I","op_ts":"","pos":"","after":{"ID":"1"}}\n{"table":', "GG302", ("<stdin>", 70)),
        (Random(1).randbytes(1 << 20), "GG309", ("<stdin>", None)),
        (gzip.compress(os.urandom(1000))[:-9], "GG310", ("<stdin>", None)),
        (b'{"table":"GG.T","op_type":"I","op_ts":"","pos":"","after":{"ID":"1"}}\n{]\n', "GG301", ("<stdin>", 70)),
    ],
    ids=["cut off", "binary", "damaged", "a bad record"],
)
def test_what_cannot_be_read_is_told_of_standard_input(
    data: bytes, code: str, place: tuple[str, int | None], tmp_path: Path
) -> None:
    ended = piped(data, "run", "-", *JSON, "-o", tmp_path / "out", *HERE)
    assert codes(ended)[0] == code
    span = ended.exception.diagnostics[0].span  # type: ignore[union-attr]
    assert span.file == place[0]
    assert place[1] is None or span.offset == place[1]
    assert not (tmp_path / "out").exists()


def test_an_empty_pipe_is_an_input_of_no_bytes(tmp_path: Path) -> None:
    assert piped(b"", "run", "-", *JSON, "-o", tmp_path / "out", *HERE).exit_code == 0
    assert manifest(tmp_path / "out")["totals"]["operations_read"] == 0
    assert piped(b"", "preview", "-", *JSON).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("-", "-", "--master", "none"), "twice"),
        (("-", "--checkpoint", "seen", "--master", "none"), "`--checkpoint` remembers files"),
        (("-", "--master", "spark://127.0.0.1:7077"), "workers of `spark://127.0.0.1:7077`"),
        (("-", "--spark-conf", "spark.master=yarn"), "workers of `yarn`"),
    ],
)
def test_where_it_cannot_be_an_input(arguments: tuple[str, ...], words: str, tmp_path: Path) -> None:
    ended = piped(b"", "run", *arguments, *JSON, "-o", tmp_path / "out")
    assert codes(ended) == ["GG518"]
    assert words in str(ended.exception)
    assert not (tmp_path / "out").exists()


def test_other_mistakes_are_told_before_it_is_read(
    source: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(_: object) -> None:
        raise AssertionError("standard input was read")

    out = tmp_path / "out"
    assert piped(source, "run", "-", *JSON, "-o", out, *HERE).exit_code == 0
    monkeypatch.setattr(standard_input._SpooledInput, "_read", read)
    assert codes(piped(source, "run", "-", *JSON, "-o", out, *HERE)) == ["GG501"]
    assert codes(piped(source, "run", "-", tmp_path / "none", *JSON, "-o", out, *HERE, "--mode", "append")) == ["GG310"]
    assert piped(source, "run", "-", "--set", "gg.handler.j.format=jsn", "-o", out, *HERE).exit_code != 0


def test_a_full_disk_and_a_closed_input(source: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch, ExitStack() as held:
        patch.setattr(sys, "stdin", None)
        with pytest.raises(UsageError, match="GG518"):
            standard_input.Spool(held).standard_input()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "not there"))
    ended = piped(source, "run", "-", *JSON, "-o", tmp_path / "out", *HERE)
    assert codes(ended) == ["GG518"]
    assert "set TMPDIR" in str(ended.exception)


def start(
    *arguments: str | Path, environment: dict[str, str] | None = None, standard_input: int = subprocess.PIPE
) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "ggfmt", *map(str, arguments)]
    pipe, told = subprocess.PIPE, {**os.environ, **(environment or {})}
    return subprocess.Popen(command, stdin=standard_input, stdout=pipe, stderr=pipe, cwd=ROOT, env=told)


def test_a_pipe_that_does_not_wait_and_ends_late(source: bytes, tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    process = start("run", "-", *JSON, "-o", tmp_path / "out", *HERE, standard_input=reading)
    os.close(reading)
    middle = len(source) // 2 + 7
    os.write(writing, source[:middle])
    time.sleep(0.5)
    os.write(writing, source[middle:])
    os.close(writing)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 0, told
    assert manifest(tmp_path / "out")["totals"]["operations_read"] == 40


def test_a_preview_reads_no_more_of_a_pipe_than_it_needs(source: bytes) -> None:
    process = start("preview", "-", *JSON, "-n", "1")
    assert process.stdin is not None
    written = 0
    try:
        while written < 200 << 20:
            written += process.stdin.write(source * 100)
    except BrokenPipeError:
        pass
    finally:
        process.stdin = None
    shown, told = process.communicate(timeout=60)
    assert process.returncode == 0, told
    assert b"Message 1" in shown
    assert written < 100 << 20


@pytest.mark.usefixtures("interruptible")
def test_what_was_kept_goes_with_a_killed_run_or_after_it(source: bytes, tmp_path: Path, temporary: Path) -> None:
    for number in (signal.SIGINT, signal.SIGKILL):
        process = start("run", "-", *JSON, "-o", tmp_path / "out", *HERE, environment={"TMPDIR": str(temporary)})
        assert process.stdin is not None
        process.stdin.write(source)
        process.stdin.flush()
        while not any(path.stat().st_size for path in temporary.glob("*/stdin")):
            assert process.poll() is None
            time.sleep(0.01)
        (kept,) = temporary.iterdir()
        assert kept.stat().st_mode & 0o777 == 0o700
        process.send_signal(number)
        process.communicate(timeout=60)
        assert kept.exists() == (number == signal.SIGKILL)
    assert piped(source, "run", "-", *JSON, "-o", tmp_path / "next", *HERE).exit_code == 0
