"""The first record of an input: as long as `--max-record` allows, in a compressed file, with zeros behind it."""

from __future__ import annotations

import gzip
import io
import lzma
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from dialects import lines
from kafka_dumps import in_kcat
from runs import JSON_LINES, run_ggfmt

from ggfmt.diagnostics.diagnostic import Abend
from ggfmt.formats.json import files
from ggfmt.formats.json.values import decode
from ggfmt.reading import recognition
from ggfmt.reading.files import InputFile, MultiMemberStream
from ggfmt.reading.listing import list_inputs
from ggfmt.reading.recognition import detect_format, read_head

KIB = 1 << 10


def operation(size: int) -> bytes:
    return lines({"table": "S.T", "op_type": "I", "op_ts": "t", "pos": "1", "after": {"N": "x" * size}})


@pytest.fixture
def short_heads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Heads as in a file whose records are a thousand times as long."""
    monkeypatch.setattr(recognition, "HEAD_BYTES", KIB)
    monkeypatch.setattr(recognition, "LONGEST_HEAD_BYTES", 64 * KIB)


def found(path: Path, data: bytes, limit: int) -> str:
    path.write_bytes(data)
    return detect_format(list_inputs([str(path)]), limit)[0]


@pytest.mark.usefixtures("short_heads")
@pytest.mark.parametrize("in_message", [False, True])
@pytest.mark.parametrize("packed", [False, True])
def test_a_long_first_record_is_recognized_up_to_the_limit(tmp_path: Path, packed: bool, in_message: bool) -> None:
    long = operation(200 * KIB)
    if in_message:
        long = in_kcat(1, None, long.decode().strip()) + b"\n"
    path = tmp_path / ("in.json.gz" if packed else "in.json")
    data = gzip.compress(long) if packed else long
    assert found(path, data, 300 * KIB) == "json"
    for limit in (100 * KIB, 64 * KIB):
        with pytest.raises(Abend) as caught:
            found(path, data, limit)
        (diagnostic,) = caught.value.diagnostics
        assert diagnostic.code == "GG316"
        assert diagnostic.message == f"the record has more than {limit:,} bytes, and the limit is {limit:,}"
        assert diagnostic.span.file == str(path)
        assert "--max-record" in (diagnostic.help or "")


@pytest.mark.usefixtures("short_heads")
@pytest.mark.parametrize("line", [b"x", b"x y\n", b'{"a":1,}\n', b"[1]\n"])
def test_other_long_inputs_fit_no_format(tmp_path: Path, line: bytes) -> None:
    with pytest.raises(Abend, match="GG309"):
        found(tmp_path / "in.json", line * 200 * KIB, 100 * KIB)


@pytest.mark.parametrize("line", [b'{"id": 1, "table": "T", "op_ts": 1}\n', b'2026-01-01 INFO "op_type": {1}\n'])
def test_whole_records_of_no_format_end_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: bytes
) -> None:
    sizes: list[int] = []
    decoded: list[bytes] = []

    def read(file: InputFile, size: int) -> bytes:
        sizes.append(size)
        return read_head(file, size)

    def decoded_once(record: bytes) -> object:
        decoded.append(record)
        return decode(record)

    monkeypatch.setattr(recognition, "read_head", read)
    monkeypatch.setattr(files, "decode", decoded_once)
    with pytest.raises(Abend, match="GG309"):
        found(tmp_path / "in.json", line * ((8 << 20) // len(line)), 64 << 20)
    assert sizes == [recognition.HEAD_BYTES, recognition.ENOUGH_HEAD_BYTES]
    assert len(decoded) <= sum(sizes) // len(line) + 2  # once for all formats
    others = b'{"heartbeat": 1}\n' * (recognition.HEAD_BYTES // 10)
    assert found(tmp_path / "late.json", others + operation(1), 64 << 20) == "json"


def test_a_long_record_is_read_as_the_command_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recognition, "LONGEST_HEAD_BYTES", 256 * KIB)
    path = tmp_path / "in.json"
    path.write_bytes(operation(600 * KIB) + operation(1))
    with pytest.raises(Abend, match="GG316"):
        run_ggfmt([path], tmp_path / "out", *JSON_LINES, max_record=500 * KIB)
    result = run_ggfmt([path], tmp_path / "out", *JSON_LINES, max_record=1000 * KIB)
    assert result.totals.operations == {("S.T", "I"): 2}


@pytest.mark.parametrize(
    "behind", [b"\0", b"\0" * 100_000, b"\0" * 512 + gzip.compress(operation(2)), b""], ids=range(4)
)
def test_zeros_after_gzip_are_padding(tmp_path: Path, behind: bytes) -> None:
    path = tmp_path / "in.json.gz"
    path.write_bytes(gzip.compress(operation(1)) + behind)
    result = run_ggfmt([path], tmp_path / "out", *JSON_LINES)
    assert result.totals.operations == {("S.T", "I"): 1 + (len(behind.strip(b"\0")) > 0)}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (gzip.compress(operation(1)) + b"\0garbage", "the gzip data is damaged, or followed by other data"),
        (gzip.compress(operation(1))[:-9], "the compressed data is truncated"),
        (gzip.compress(operation(1))[:-3], "the compressed data is truncated"),
        (b"\0" * 100, "the gzip data is damaged"),
    ],
    ids=range(4),
)
def test_other_data_after_gzip_are_an_error(tmp_path: Path, data: bytes, reason: str) -> None:
    path = tmp_path / "in.json.gz"
    path.write_bytes(data)
    with pytest.raises(Abend, match=f"GG310.*{reason}"):
        run_ggfmt([path], tmp_path / "out", *JSON_LINES)


@pytest.mark.parametrize("size", [0, 1, 100, 1 << 18, 3 << 20])
@pytest.mark.parametrize("step", [1 << 10, 1 << 20])
def test_gzip_is_decompressed_in_pieces(size: int, step: int) -> None:
    parts = [b"ab" * (size // 2), b"", bytes(range(256)) * (size // 256)]
    stored = b"".join(gzip.compress(part) for part in parts)
    with MultiMemberStream(pa.PythonFile(io.BytesIO(stored), "r"), "gzip") as stream:
        read = []
        while data := stream.read(step):
            assert len(data) <= step
            read.append(data)
    assert b"".join(read) == b"".join(parts)


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("in.json.gz.gz", gzip.compress(gzip.compress(operation(1))), "a gzip file"),
        ("in.json.gz", gzip.compress(gzip.compress(operation(1))), "a gzip file"),
        ("in.json.xz.gz", gzip.compress(lzma.compress(operation(1))), "an xz file"),
        ("in.json.gz.xz", lzma.compress(gzip.compress(operation(1))), "a gzip file"),
    ],
    ids=range(4),
)
@pytest.mark.parametrize("named", [False, True])
def test_a_file_that_is_compressed_twice_is_named(
    tmp_path: Path, name: str, data: bytes, kind: str, named: bool
) -> None:
    (tmp_path / name).write_bytes(data)
    settings: dict[str, Any] = {"input_format": "json"} if named else {}
    with pytest.raises(Abend, match=rf"GG309\] the input is compressed twice: decompressed once, it is {kind}"):
        run_ggfmt([tmp_path / name], tmp_path / "out", *JSON_LINES, **settings)
    (tmp_path / "plain.json").write_bytes(gzip.compress(operation(1)))
    with pytest.raises(Abend, match=r"GG309\] the input is a gzip file without the extension `.gz`"):
        run_ggfmt([tmp_path / "plain.json"], tmp_path / "out", *JSON_LINES)
