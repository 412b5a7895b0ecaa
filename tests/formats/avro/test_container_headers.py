"""Headers of Avro containers of any size: all of a header is read, wherever the file is, and one that is too long is
refused before it takes the memory of a task."""

from __future__ import annotations

import gzip
import io
import json
import shutil
import tracemalloc
from pathlib import Path
from typing import Any

import fastavro
import pytest
from command_line import piped
from contract.dts import ROW as DTS_ROW
from contract.dts import SCHEMAS, record
from frame_session import frame_session, of_row, planned, rows
from limited_runs import ROW, codes, run
from round_trips import STORY, write_as, write_story
from runs import JSON_LINES, content, run_ggfmt, write_lines
from s3_server import Store
from typer.testing import CliRunner

from ggfmt import frames
from ggfmt.cli import app
from ggfmt.columnar.avro import END, text_bytes
from ggfmt.columnar.pieces import zigzag_varint
from ggfmt.formats.api.format import DEFAULT_SETTINGS, WriterSettings
from ggfmt.formats.avro import containers as avro_containers
from ggfmt.formats.avro.containers import MIN_HEADER_LIMIT, LongHeader, read_header

OWN = ("avro_row_ocf", "avro_op_ocf", "debezium_avro")
MOMENT = "2013-06-02 22:14:36.000000"
COUNT = 3000
COLUMNS = {f"{'C' * 400}{number}": f"v{number}" for number in range(COUNT)}


def header_of(schema: bytes, codec: str = "null") -> bytes:
    entries = text_bytes("avro.schema") + zigzag_varint(len(schema)) + schema + text_bytes("avro.codec")
    return b"Obj\x01" + zigzag_varint(2) + entries + text_bytes(codec) + END


def widened(data: bytes, size: int) -> bytes:
    """The container with a header that has so many more bytes, which mean nothing."""
    header = read_header(data)
    schema = json.dumps({**header.schema, "padding": "x" * size}).encode()
    return header_of(schema, header.codec) + header.sync + data[len(header.data) :]


def wide(count: int = 4) -> list[dict[str, Any]]:
    """Operations of a table whose schema has more than a MiB."""
    return [
        {"table": "GG.WIDE", "op_type": "I", "op_ts": MOMENT, "pos": f"{n}", "after": COLUMNS} for n in range(count)
    ]


def as_json(source: Path, out: Path, input_format: str = "auto") -> list[Any]:
    run_ggfmt([source], out, *JSON_LINES, input_format=input_format)
    return [json.loads(line) for line in content(out, "j").splitlines()]


@pytest.fixture
def containers(tmp_path: Path) -> dict[str, tuple[Path, WriterSettings]]:
    """The story in containers of all systems that have such, each file with a long header, and what a reader knows."""
    story = write_story(tmp_path / "in.json", STORY)
    found = {}
    for name in OWN:
        folder, told = write_as(story, name, tmp_path / name)
        # In a directory that no manifest describes: the files are about to be changed.
        found[name] = Path(shutil.copytree(folder, tmp_path / "files" / name)), told
    dts = tmp_path / "dts_avro"
    dts.mkdir()
    out = io.BytesIO()
    fastavro.writer(out, SCHEMAS[True], [record("INSERT", None, DTS_ROW)] * 3)
    (dts / "a.avro").write_bytes(out.getvalue())
    found["dts_avro"] = dts, DEFAULT_SETTINGS
    return found


@pytest.mark.parametrize("name", [*OWN, "dts_avro"])
@pytest.mark.parametrize("size", [MIN_HEADER_LIMIT - 3000, 3 << 20])
def test_a_long_header_changes_nothing(
    name: str, size: int, containers: dict[str, tuple[Path, WriterSettings]], tmp_path: Path
) -> None:
    folder, told = containers[name]
    results = []
    for number in range(2):
        out = tmp_path / f"out{number}"
        run_ggfmt([folder], out, *JSON_LINES, source=told)
        results.append(content(out, "j"))
        for path in folder.rglob("*"):
            if path.is_file() and not number:
                path.write_bytes(widened(path.read_bytes(), size))
    assert results[0] == results[1]
    assert results[0]


@pytest.mark.parametrize("name", OWN)
def test_a_table_of_many_columns_comes_back(name: str, tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", wide())
    run_ggfmt([source], tmp_path / "one", f"gg.handler.h.format={name}", "gg.handler.h.format.generateSchema=false")
    (file,) = [path for path in (tmp_path / "one" / "h").rglob("*") if path.is_file()]
    assert len(read_header(file.read_bytes()).data) > MIN_HEADER_LIMIT
    found = as_json(file, tmp_path / "two")
    assert [message["after"] for message in found] == [COLUMNS] * 4


@pytest.fixture(scope="module")
def wide_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wide")
    source = write_lines(folder / "in.json", wide())
    settings = ("gg.handler.h.format=avro_op_ocf", "gg.handler.h.format.generateSchema=false")
    run_ggfmt([source], folder / "one", *settings)
    (file,) = [path for path in (folder / "one" / "h").rglob("*") if path.is_file()]
    return file


def test_a_long_header_in_a_packed_file(wide_file: Path, tmp_path: Path) -> None:
    packed = tmp_path / "a.avro.gz"
    packed.write_bytes(gzip.compress(wide_file.read_bytes(), 1))
    assert len(as_json(packed, tmp_path / "out")) == 4


def test_a_long_header_in_standard_input(wide_file: Path, tmp_path: Path) -> None:
    arguments = ("run", "-", "--to", "json", "-o", tmp_path / "out", "--master", "none")
    ended = piped(wide_file.read_bytes(), *arguments)
    assert ended.exit_code == 0, ended.output
    assert "4 insert" in ended.output


def test_a_long_header_in_a_store(wide_file: Path, store: Store, tmp_path: Path) -> None:
    store.put("in/a.avro", wide_file.read_bytes())
    run_ggfmt([f"s3://{store.bucket}/in/"], tmp_path / "out", *JSON_LINES)  # type: ignore[list-item]
    assert len(content(tmp_path / "out", "j").splitlines()) == 4


def test_commands_that_look_at_a_file_with_a_long_header(wide_file: Path, tmp_path: Path) -> None:
    to_json = ("--set", "gg.handler.j.format=json")
    commands = {
        "preview": ("preview", str(wide_file), *to_json),
        "schema": ("schema", str(wide_file), "--kind", "json", "-o", str(tmp_path / "schemas")),
    }
    for name, arguments in commands.items():
        ended = CliRunner().invoke(app, arguments)
        assert ended.exit_code == 0, (name, ended.output[-2000:])
    assert f"v{COUNT - 1}" in CliRunner().invoke(app, commands["preview"]).output
    (schema,) = (tmp_path / "schemas").iterdir()
    row = json.loads(schema.read_text())["definitions"]["row"]["properties"]
    assert list(row) == list(COLUMNS)


def test_frames_of_files_with_long_headers(containers: dict[str, tuple[Path, WriterSettings]]) -> None:
    for name, (folder, told) in containers.items():
        before = [of_row(row) for row in rows(planned(folder, name, told))]
        for path in folder.rglob("*"):
            if path.is_file():
                path.write_bytes(widened(path.read_bytes(), 2 << 20))
        assert [of_row(row) for row in rows(planned(folder, name, told))] == before
        assert before


@pytest.mark.long
@pytest.mark.spark
def test_a_stream_of_frames_reads_long_headers(wide_file: Path, tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.mkdir()
    (source / "a.avro").write_bytes(wide_file.read_bytes())
    with frame_session() as spark:
        frames.register(spark)
        stream = spark.readStream.format("ggfmt").option("settle", "0").load(str(source))
        query = stream.select("op_type").writeStream.format("memory").queryName("wide").trigger(availableNow=True)
        query = query.option("checkpointLocation", str(tmp_path / "seen"))
        query.start().awaitTermination()
        assert spark.table("wide").count() == 4


# Hostile headers


HOSTILE: dict[str, tuple[bytes, str]] = {
    "a header over the limit": (header_of(json.dumps({**ROW, "x": "x" * (2 << 20)}).encode()) + b"s" * 16, "GG316"),
    "a size beyond the limit": (header_of(b"")[:5] + text_bytes("avro.schema") + zigzag_varint(1 << 40), "GG316"),
    "a size beyond all numbers": (header_of(b"")[:5] + text_bytes("avro.schema") + b"\xfe" + b"\xff" * 20, "GG313"),
    "a negative size": (header_of(b"")[:5] + text_bytes("avro.schema") + zigzag_varint(-5), "GG313"),
    "a size beyond the file": (header_of(b"")[:5] + text_bytes("avro.schema") + zigzag_varint(1000), "GG313"),
    "entries without number": (b"Obj\x01" + zigzag_varint(1 << 30) + b"\0" * (1 << 19), "GG313"),
    "blocks of no entries": (b"Obj\x01" + (zigzag_varint(-1) + b"\0" * 3) * (1 << 18), "GG313"),
    "a schema of too many parts": (header_of(b"[" + b"{}," * 300_000 + b"{}]") + b"s" * 16, "GG313"),
}


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("name", [*OWN, "dts_avro"])
def test_a_hostile_header_is_a_reject(name: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(avro_containers, "MAX_SCHEMA_PARTS", 300_000)
    monkeypatch.setattr(avro_containers, "MAX_HEADER_ENTRIES", 1 << 12)
    data, code = HOSTILE[kind]
    _, reasons = run(data, name, tmp_path)
    assert codes(reasons) == {code: 1}
    if code == "GG316":
        assert "header" in reasons[0]["reason"]
        assert "--max-record" in reasons[0]["help"]


def test_a_header_over_the_limit_is_read_with_a_larger_limit(tmp_path: Path) -> None:
    file = tmp_path / "a.avro"
    message = fastavro_container(ROW)
    file.write_bytes(widened(message, 3 << 20))
    arguments = ("run", str(file), "--to", "json", "--master", "none", "-o")
    refused = CliRunner().invoke(app, [*arguments, str(tmp_path / "no"), "--max-record", "2m"])
    assert "GG316" in str(refused.exception) or "GG316" in refused.output
    taken = CliRunner().invoke(app, [*arguments, str(tmp_path / "yes"), "--max-record", "4m"])
    assert taken.exit_code == 0, taken.output


def fastavro_container(schema: Any) -> bytes:
    out = io.BytesIO()
    message = {"table": "GG.T", "op_type": "I", "op_ts": "", "current_ts": "", "pos": "", "primary_keys": []}
    fastavro.writer(out, fastavro.parse_schema(schema), [{**message, "tokens": {}, "A": "x"}])
    return out.getvalue()


def test_what_a_header_says_of_its_size_takes_no_memory() -> None:
    """Neither a size that no file has, nor a file without end, is read beyond the limit."""

    class Endless(io.RawIOBase):
        def __init__(self, start: bytes) -> None:
            self.start = start
            self.given = 0

        def read(self, size: int = -1) -> bytes:
            start, self.start = self.start, b""
            self.given += size
            return start + b"x" * (size - len(start))

    for start in (
        header_of(b"")[:5] + text_bytes("avro.schema") + zigzag_varint(1 << 40),
        b"Obj\x01\x02\x02x\xfe\xff\x7f",
    ):
        stream = Endless(start)
        tracemalloc.start()
        with pytest.raises(LongHeader):
            avro_containers.read_head(stream, MIN_HEADER_LIMIT)  # type: ignore[arg-type]
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert stream.given <= 2 * MIN_HEADER_LIMIT
        assert peak < 4 * MIN_HEADER_LIMIT
