"""`-o -` and `--to`: messages to standard output as files would have them, once the run is decided."""

from __future__ import annotations

import errno
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from command_line import JSON, call, codes
from places import GGFMT, ROOT
from round_trips import WRITTEN
from runs import MOMENT, content, metadata, operation, output_files, run_ggfmt, write_lines
from temporary_files import temporary as temporary
from terminal import ESCAPE, on_terminal

from ggfmt.config.handler_file import handler_file, handler_lines, handler_name
from ggfmt.config.handlers import read_configuration
from ggfmt.formats import FORMATS
from ggfmt.sinks.messages import stream

HERE = ("--master", "none[1]", "--current-timestamp", MOMENT.isoformat())


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "in.json", [operation(n, f"GG.T{n % 3}", NAME=f"é{n}") for n in range(40)])


@pytest.mark.parametrize("name", WRITTEN)
def test_a_stream_has_what_one_file_would_have(name: str, tmp_path: Path) -> None:
    """However the tasks were cut, and also where a definition changes, unless a file can have one alone."""
    format = FORMATS[name]
    records = [operation(n, "GG.A" if format.by_table else f"GG.T{n % 3}", NAME=f"é{n}") for n in range(40)]
    source = write_lines(tmp_path / "in.json", records)
    more = ("--split-size", "2k")
    ended = call("run", source, "--to", name, "-o", "-", *HERE, *more)
    assert ended.exit_code == 0, ended.output
    lines = handler_lines(format, *(() if format.by_table else ("partitionByTable=false",)))
    run_ggfmt([source], tmp_path / "out", *lines, split_size=2048)
    (file,) = output_files(tmp_path / "out", handler_name(format))
    assert ended.stdout_bytes == file.read_bytes()


def test_files_of_several_tables_follow_each_other(source: Path, tmp_path: Path) -> None:
    settings = (
        "gg.handler.d.format=delimitedtext",
        "gg.handler.d.format.encoding=UTF-16",
        "gg.handler.d.maxFileSize=300",
    )
    told = [argument for line in settings for argument in ("--set", line)]
    ended = call("run", source, *told, "-o", "-", *HERE, "--split-size", "1k")
    run_ggfmt([source], tmp_path / "out", *settings, split_size=1024)
    files = [path.read_bytes() for path in output_files(tmp_path / "out", "d")]
    assert len(files) > 6
    mark = b"\xfe\xff"
    assert {data[:2] for data in files} == {mark}
    assert ended.stdout_bytes == mark + b"".join(data[2:] for data in files)
    by_table = [message.split("\x01")[1] for message in ended.stdout_bytes.decode("utf-16").splitlines()]
    assert by_table == sorted(by_table)


@pytest.mark.parametrize(
    "records",
    [
        [operation(1, "GG.A"), operation(2, "GG.B")],
        [operation(1), metadata(ID="string", OTHER="string"), {**operation(2), "after": {"ID": "2", "OTHER": "x"}}],
    ],
    ids=["tables", "definitions"],
)
@pytest.mark.parametrize("name", [name for name in WRITTEN if FORMATS[name].by_table])
def test_what_one_file_cannot_have_is_no_stream(name: str, records: list[dict[str, Any]], tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", records)
    ended = call("run", source, "--to", name, "--set", "gg.handler.csv.format.includeHeader=false", "-o", "-", *HERE)
    assert codes(ended) == ["GG519"]
    assert ended.stdout_bytes == b""


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (("--set", "gg.handler.d.format=delimitedtext"), "one handler"),
        (("--on-reject", "quarantine"), "rejects"),
        (("--checkpoint", "seen"), "--checkpoint"),
        (("--mode", "append"), "--mode append"),
        (("--master", "spark://127.0.0.1:7077"), "workers of `spark://127.0.0.1:7077`"),
    ],
)
def test_a_run_that_needs_more_than_a_stream(told: tuple[str, str], words: str, source: Path) -> None:
    ended = call("run", source, *JSON, "-o", "-", *HERE, *told)
    assert codes(ended) == ["GG519"]
    assert words in str(ended.exception)


def test_nothing_is_written_before_the_run_is_decided(source: Path, tmp_path: Path) -> None:
    with source.open("ab") as file:
        file.write(b"{]\n")
    ended = call("run", source, *JSON, "-o", "-", *HERE, "--split-size", "1k")
    assert codes(ended) == ["GG301"]
    assert ended.stdout_bytes == b""


def test_the_report_tells_what_was_written(source: Path, tmp_path: Path) -> None:
    ended = call("run", source, *JSON, "-o", "-", *HERE, "--report", tmp_path / "report.json")
    assert ended.exit_code == 0
    told = (tmp_path / "report.json").read_text()
    assert '"operations_read": 40' in told
    assert f'"bytes": {len(ended.stdout_bytes)}' in told
    assert "on standard output" in ended.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.json", "report.json", "tmp"]


def test_to_is_the_handler_that_init_proposes(source: Path, tmp_path: Path) -> None:
    for name in WRITTEN:
        (tmp_path / "file.properties").write_text(handler_file(FORMATS[name]), encoding="utf-8")
        (proposed,) = read_configuration([str(tmp_path / "file.properties")]).handlers
        (short,) = read_configuration([], handler_lines(FORMATS[name])).handlers
        assert (short.name, short.options, short.handler.include_tokens) == (
            proposed.name,
            proposed.options,
            proposed.handler.include_tokens,
        )
    assert call("run", source, "--to", "json", "-o", tmp_path / "out", *HERE).exit_code == 0
    assert content(tmp_path / "out", "json").count(b"\n") == 40
    assert '"op_type":"I"' in call("preview", source, "--to", "json").output


def test_to_and_a_handler_file_or_no_format(source: Path) -> None:
    ended = call("run", source, "--to", "json", "-c", ROOT / "conf" / "xml.properties", "-o", "-", *HERE)
    assert codes(ended) == ["GG565"]
    for format in ("jsn", "dms_csv"):
        assert codes(call("run", source, "--to", format, "-o", "-", *HERE)) == ["GG106"]


def test_a_full_disk_behind_standard_output(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(stream, "joined", full)
    ended = call("run", source, *JSON, "-o", "-", *HERE)
    assert codes(ended) == ["GG519"]
    assert "No space left on device" in str(ended.exception)


def test_messages_on_a_terminal_have_no_bar_among_them(source: Path, tmp_path: Path) -> None:
    command = [*GGFMT, "--log-level", "error", "run", str(source), "--to", "json", "-o", "-", *HERE]
    status, shown = on_terminal(command, tmp_path)
    assert status == 0
    assert shown.count("\n") == 40
    assert ESCAPE not in shown


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_all_of_it_arrives_by_a_pipe_that_does_not_wait(unbuffered: str, source: Path, tmp_path: Path) -> None:
    many = write_lines(tmp_path / "many.json", [operation(number) for number in range(2_000)])
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    command = [*GGFMT, "run", str(many), "--to", "json", "-o", "-", *HERE]
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    process = subprocess.Popen(command, stdout=writing, stderr=subprocess.PIPE, cwd=ROOT, env=environment)
    os.close(writing)
    with open(reading, "rb") as pipe:
        assert pipe.read().count(b"\n") == 2_000
    assert process.communicate(timeout=60)[1]
    assert process.returncode == 0


def test_a_reader_that_goes_ends_it_without_a_word(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", [operation(number) for number in range(3_000)])
    command = [*GGFMT, "--log-level", "error", "run", str(source), "--to", "json", "-o", "-", *HERE]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT)
    assert process.stdout is not None and process.stderr is not None
    assert process.stdout.readline().startswith(b'{"table":"GG.TCUSTORD"')
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(60) == 141
