"""Input to exhaust memory, time or the stack: every limit is reported with its place, and what is right is read."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import resource
import signal
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pytest
from limited_runs import FIELDS, LIMIT, ROW, codes, record_of, run
from reading import JsonDiscovery, JsonReader
from runs import JSON_LINES, content, run_ggfmt

from ggfmt.columnar import replacement
from ggfmt.columnar.avro import END, text_bytes
from ggfmt.columnar.pieces import zigzag_varint
from ggfmt.diagnostics.diagnostic import Abend
from ggfmt.formats.avro.containers import unsafe_reason

LONG = b"x" * (2 * LIMIT)
GOOD = b'{"table":"GG.T","op_type":"I","after":{"A":"1"}}'
XML = b'<operation table="GG.T" type="I" numCols="1"><col name="A"><after>%s</after></col></operation>\n'
RECORDS: dict[str, tuple[str, bytes, bytes, dict[str, str]]] = {
    "a line of JSON": ("json", GOOD + b"\n", GOOD.replace(b"1", LONG) + b"\n", {}),
    "a line without an end": ("json", GOOD + b"\n", GOOD[:-3].replace(b"1", LONG) + b"\n", {}),
    "a record over lines": ("json", GOOD + b"\n", b'{"table":\n' + GOOD.replace(b"1", LONG)[9:] + b"\n", {}),
    "in a row": ("json", GOOD + GOOD, GOOD.replace(b"1", LONG), {}),
    "delimited text": ("delimitedtext", b"I|GG.T|t|t|p|1|2\n", b"I|GG.T|t|t|p|%s|2\n" % LONG, {"fieldDelimiter": "|"}),
    "lines that overlap": (
        "delimitedtext",
        b"I,GG.T,t,t,p,1,2||",
        b"I,GG.T,t,t,p,%s,2||" % LONG,
        {"fieldDelimiter": ",", "lineDelimiter": "||"},
    ),
    "XML": ("xml", XML % b"1", XML % LONG, {}),
    "CSV": (
        "arcion_csv",
        b"1,2\n",
        b'1,"%s"\n' % LONG,
        {"tableName": "GG.T", "columns": "GG.T=A,B", "mode": "snapshot"},
    ),
}


@pytest.mark.parametrize("ending", ["", ".gz"])
@pytest.mark.parametrize("kind", RECORDS)
def test_a_record_that_is_too_long_is_told_and_passed_over(kind: str, ending: str, tmp_path: Path) -> None:
    name, good, long, options = RECORDS[kind]
    data = good + long + good
    result, reasons = run(gzip.compress(data) if ending else data, name, tmp_path, ending, **options)
    assert result.totals.read == 2 * max(1, good.count(GOOD))
    assert codes(reasons) == {"GG316": 1}
    reason = reasons[0]
    assert reason["offset"] == len(good)
    assert "--max-record" in reason["help"]
    assert f"{len(long.rstrip(b'|').rstrip()):,} bytes" in reason["reason"]
    assert reason["record_length"] == 1024


IMAGE = {"type": "record", "name": "columns", "fields": [{"name": "A", "type": ["null", "string"]}]}
BEFORE, AFTER = {"name": "before", "type": ["null", IMAGE]}, {"name": "after", "type": ["null", "columns"]}
SYNC = b"ggfmt's own mark"


MESSAGE = b"".join(text_bytes(text) for text in ("GG.T", "I", "t", "t", "p")) + END + END + b"\x02" + text_bytes("x")


def test_a_bomb_of_xz_is_told_with_its_place(tmp_path: Path) -> None:
    data = GOOD + b"\n" + b"x" * (200 * LIMIT) + b"\n" + GOOD + b"\n"
    result, reasons = run(lzma.compress(data, preset=0), "json", tmp_path, ".xz")
    assert result.totals.read == 2
    assert [(reason["code"], reason["offset"]) for reason in reasons] == [("GG316", len(GOOD) + 1)]


def container(schema: Any, codec: str, *blocks: tuple[int, bytes]) -> bytes:
    metadata = {"avro.schema": json.dumps(schema), "avro.codec": codec}
    header = b"".join(text_bytes(name) + text_bytes(value) for name, value in metadata.items())
    data = b"Obj\x01" + zigzag_varint(2) + header + END + SYNC
    return data + b"".join(zigzag_varint(count) + zigzag_varint(len(block)) + block + SYNC for count, block in blocks)


def _packed(codec: Literal["zstd", "snappy"], data: bytes) -> bytes:
    return pa.Codec(codec).compress(data, asbytes=True)


def _with_checksum(data: bytes) -> bytes:
    """A block of Snappy with the checksum that Avro has behind it."""
    return _packed("snappy", data) + zlib.crc32(data).to_bytes(4, "big")


ZEROS = b"\0" * (200 * LIMIT)
PACKED: dict[str, tuple[bytes, bytes]] = {
    "deflate": (zlib.compress(ZEROS)[2:-4], zlib.compress(MESSAGE)[2:-4]),
    "bzip2": (bz2.compress(ZEROS), bz2.compress(MESSAGE)),
    "xz": (lzma.compress(ZEROS, preset=0), lzma.compress(MESSAGE)),
    "zstandard": (_packed("zstd", ZEROS), _packed("zstd", MESSAGE)),
    "snappy": (_with_checksum(ZEROS[:10_000_000]), _with_checksum(MESSAGE)),
    "null": (MESSAGE + b"\0" * LIMIT, MESSAGE),
}


@pytest.mark.parametrize("codec", PACKED)
def test_a_block_that_unpacks_to_too_much_is_told_and_those_behind_it_are_read(codec: str, tmp_path: Path) -> None:
    bomb, good = PACKED[codec]
    data = container(ROW, codec, (1, good), (1, bomb), (1, good))
    result, reasons = run(data, "avro_row_ocf", tmp_path)
    assert result.totals.read == 2
    (reason,) = reasons
    assert "--max-record" in reason["reason"] + reason.get("help", "")
    assert data[reason["offset"] :].startswith(zigzag_varint(1) + zigzag_varint(len(bomb)))


DAMAGED = {
    "a size of snappy of 2^63": ("snappy", (1, b"\x80" * 9 + b"\x01abcd")),
    "a size beyond the file": ("null", (1, MESSAGE[:-1])),
    "a count beyond the data": ("null", (2**62, MESSAGE)),
    "a negative count": ("null", (-1, MESSAGE)),
    "data without an end": ("deflate", (1, zlib.compress(MESSAGE)[2:-6])),
}


@pytest.mark.parametrize("kind", DAMAGED)
def test_a_damaged_block_costs_no_other(kind: str, tmp_path: Path) -> None:
    codec, block = DAMAGED[kind]
    good = (1, PACKED[codec][1])
    result, reasons = run(container(ROW, codec, good, block, good), "avro_row_ocf", tmp_path)
    assert result.totals.read - result.totals.rejects in (1, 2)
    assert codes(reasons) == {"GG313": 1}


def test_bytes_that_are_no_block_end_with_the_next_marker(tmp_path: Path) -> None:
    data = container(ROW, "null", (1, MESSAGE), (1, MESSAGE), (1, MESSAGE))
    start = data.index(SYNC + zigzag_varint(1)) + len(SYNC)
    for junk in (b"junk" + SYNC, b"\xff" * 40 + SYNC, SYNC, b"\x02\xff\xff\xff\xff\x0f" + SYNC):
        folder = tmp_path / junk[:4].hex()
        folder.mkdir()
        result, reasons = run(data[:start] + junk + data[start:], "avro_row_ocf", folder)
        assert result.totals.read == 3
        assert codes(reasons) == {"GG313": 1}


ILL: dict[str, tuple[str, Any]] = {
    "items without bytes": (
        "avro_row_ocf",
        record_of(*FIELDS[:5], {"name": "primary_keys", "type": {"type": "array", "items": "null"}}, FIELDS[6]),
    ),
    "a type within itself": ("avro_row_ocf", record_of(*FIELDS, {"name": "A", "type": ["null", "GG.T"]})),
    "no after": ("avro_op_ocf", record_of(*FIELDS, BEFORE)),
    "an after of another type": ("avro_op_ocf", record_of(*FIELDS, BEFORE, {"name": "after", "type": "string"})),
    "a number for a name": ("avro_row_ocf", record_of({"name": "table", "type": "int"}, *FIELDS[1:])),
    "tokens that are no map": ("avro_row_ocf", record_of(*FIELDS[:6], {"name": "tokens", "type": "string"})),
    "keys of numbers": (
        "avro_row_ocf",
        record_of(*FIELDS[:5], {"name": "primary_keys", "type": {"type": "array", "items": "int"}}, FIELDS[6]),
    ),
}


@pytest.mark.parametrize("kind", ILL)
def test_a_schema_that_no_reader_is_safe_with_is_told(kind: str, tmp_path: Path) -> None:
    name, schema = ILL[kind]
    _, reasons = run(container(schema, "null", (1, b"\0" * 5 + zigzag_varint(2**33) + b"\0")), name, tmp_path)
    assert codes(reasons) == {"GG313": 1}


def test_schemas_that_are_safe() -> None:
    assert unsafe_reason(ROW) is None
    assert unsafe_reason(record_of(*FIELDS, BEFORE, AFTER)) is None
    assert unsafe_reason({"type": "array", "items": {"type": "fixed", "name": "F", "size": 0}}) is not None
    assert unsafe_reason({"type": "array", "items": {"type": "fixed", "name": "F", "size": 1}}) is None
    assert unsafe_reason({"type": "array", "items": record_of({"name": "x", "type": "null"})}) is not None


DEEP: dict[str, tuple[str, bytes, str]] = {
    "JSON": ("json", GOOD + b"\n" + b'{"a":' * 10_000 + b"\n" + GOOD + b"\n", "GG301"),
    "JSON that ends": ("json", GOOD + b"\n" + b'{"a":' * 5_000 + b"1" + b"}" * 5_000 + b"\n" + GOOD + b"\n", "GG301"),
    "XML": ("xml", XML % b"1" + XML % (b"<a>" * 5_000 + b"</a>" * 5_000) + XML % b"1", "GG312"),
    "entities": ("xml", XML % b"1" + b'<!DOCTYPE a [<!ENTITY b "c">]>\n' + XML % b"&b;" + XML % b"1", "GG312"),
}


@pytest.mark.parametrize("kind", DEEP)
def test_nesting_and_entities_are_rejects(kind: str, tmp_path: Path) -> None:
    name, data, code = DEEP[kind]
    result, reasons = run(data, name, tmp_path)
    assert result.totals.read == 2
    assert set(codes(reasons)) == {code}
    assert (
        b"c" not in content(tmp_path / "out", "j").replace(b"current", b"").replace(b"op_", b"") or kind != "entities"
    )


def test_lines_of_illegal_operations_alone_are_rejects(tmp_path: Path) -> None:
    data = b"X|GG.T|t|t|p|1|2\nY|GG.T|t|t|p|1|2\n"
    _, reasons = run(data, "delimitedtext", tmp_path, fieldDelimiter="|")
    assert codes(reasons) == {"GG304": 2}


DUPLICATES = {
    "goldengate_streams_json": b'{"qual_table":"GG.T","op_type":"INSERT","after":{"A":%s,"A":%s}}\n',
    "canal_json": b'{"id":1,"database":"d","table":"T","type":"INSERT","data":[{"A":%s,"A":%s}],"old":null}\n',
    "maxwell_json": b'{"database":"d","table":"T","type":"insert","ts":1,"data":{"A":%s,"A":%s}}\n',
    "debezium_json": b'{"before":null,"after":{"A":%s,"A":%s},"source":{"db":"d","table":"T"},"op":"c"}\n',
    "shareplex_json": b'{"meta":{"op":"ins","table":"d.T"},"data":{"A":%s,"A":%s}}\n',
}


@pytest.mark.parametrize("name", DUPLICATES)
def test_a_name_that_stands_twice_with_values_of_two_types_is_no_defect(name: str, tmp_path: Path) -> None:
    result, reasons = run(DUPLICATES[name] % (b'{"b":1}', b'"x"'), name, tmp_path)
    assert result.totals.read == 1
    assert not reasons or codes(reasons).keys() <= {"GG308"}


def test_a_pattern_that_runs_away_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replacement, "MAX_SECONDS", 0.2)
    source = tmp_path / "in.json"
    source.write_bytes(GOOD.replace(b"1", b"a" * 40 + b"!") + b"\n")
    before = signal.getsignal(signal.SIGVTALRM)
    for number, (kind, place) in enumerate({"content": "A", "schema": None}.items()):
        data = source.read_bytes() if kind == "content" else GOOD.replace(b"GG.T", b"GG." + b"a" * 40 + b"!")
        source.write_bytes(data)
        settings = (*JSON_LINES, f"gg.{kind}replaceregex=^(a+)+$")
        with pytest.raises(Abend) as abend:
            run_ggfmt([source], tmp_path / f"out{number}", *settings, input_format="json")
        (found,) = abend.value.diagnostics
        assert found.code == "GG212"
        assert f"`gg.{kind}replaceregex`: the pattern `^(a+)+$`" in found.message
        assert found.span.field == place
    assert signal.getsignal(signal.SIGVTALRM) == before


@pytest.mark.example("GG512")
@pytest.mark.parametrize("discovers", [False, True])
def test_what_no_reader_should_raise_is_told_with_its_place(
    discovers: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr(*((JsonDiscovery, "read", fail) if discovers else (JsonReader, "decode_chunk", fail)))
    source = tmp_path / "in.json"
    source.write_bytes(GOOD + b"\n")
    with pytest.raises(Abend) as abend:
        run_ggfmt([source], tmp_path / "out", *JSON_LINES, input_format="json")
    (found,) = abend.value.diagnostics
    assert found.code == "GG512"
    assert "ZeroDivisionError in test_resource_limits.py:" in found.message
    assert (found.span.file, found.span.offset) == (str(source), 0)


@pytest.mark.parametrize("command", ["run", "consolidate"])
@pytest.mark.parametrize(
    "megabytes", [100, 150, *(pytest.param(size, marks=pytest.mark.long) for size in range(160, 560, 30))]
)
def test_little_memory_is_no_traceback(command: str, megabytes: int, tmp_path: Path) -> None:
    source = tmp_path / "in.json"
    record = '{"table":"S.T","op_type":"I","pos":"%020d","primary_keys":["ID"],"after":{"ID":%d,"A":"%s"}}\n'
    source.write_text("".join(record % (number, number, "x" * 200) for number in range(10_000)))
    arguments = [command, str(source), "--to", "json", "-o", str(tmp_path / "out"), "--master", "none[2]"]

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))

    ended = subprocess.run(
        [sys.executable, "-m", "ggfmt", *arguments], preexec_fn=limit, capture_output=True, text=True, check=False
    )
    assert "Traceback" not in ended.stderr, ended.stderr
    if ended.returncode not in (0, 127, -signal.SIGABRT):  # the last two: of libraries, as the page of exit codes says
        assert ended.returncode == 3
        assert "error[GG505]" in ended.stderr
        assert "out of memory" in ended.stderr
