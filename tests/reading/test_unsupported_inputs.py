"""What ggfmt does not read is named, where it is identified and where it is read in spite of that."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from dialects import lines, read, written
from oracle import PlainColumn, PlainOperation, PlainTable
from pyarrow import orc, parquet
from runs import operation, run_ggfmt, write_lines
from strategies import Changes

import ggfmt
from ggfmt.diagnostics.diagnostic import Abend, GgfmtError, UsageError
from ggfmt.formats.api.writing import RowErrors
from ggfmt.reading.kinds import identify_unsupported

SOURCE = {"connector": "mongodb", "db": "shop", "collection": "t", "ts_ms": 1}
DOCUMENT = {"op": "c", "after": '{"_id": {"$oid": "5f"}, "n": 1}', "source": SOURCE, "ts_ms": 1}
ROW: dict[str, Any] = {"table": "GG.T", "op_type": "I", "op_ts": "2013-06-02 22:14:36.000000", "pos": "1", "ID": "1"}
OPERATION = {"table": "GG.T", "op_type": "I", "op_ts": "2013-06-02 22:14:36.000000", "after": {"ID": "1"}}
UNREAD = [
    (DOCUMENT, "debezium_json", "GG308", "a MongoDB change of Debezium", "ExtractNewDocumentState"),
    ({"schema": {}, "payload": DOCUMENT}, "debezium_json", "GG308", "a MongoDB change", "ExtractNewDocumentState"),
    ({**DOCUMENT, "op": "d", "before": "{}"}, "debezium_json", "GG308", "a MongoDB change", "ExtractNewDocument"),
]


@pytest.mark.parametrize(("record", "name", "code", "what", "help"), UNREAD, ids=range(len(UNREAD)))
def test_an_input_that_is_not_read_is_named(
    record: Any, name: str, code: str, what: str, help: str, tmp_path: Path
) -> None:
    file = tmp_path / "in.json"
    file.write_bytes(lines(record))
    with pytest.raises(GgfmtError) as caught:
        run_ggfmt([file], tmp_path / "out")
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "GG309"
    assert what in diagnostic.message
    assert help in (diagnostic.help or "")
    found = read(name, lines(record, record))
    assert [reject.diagnostic.code for reject in found.rejects] == [code] * 2
    assert all(what in reject.diagnostic.message for reject in found.rejects)


def test_rows_among_operations_are_named_and_rows_alone_are_read(tmp_path: Path) -> None:
    found = read("json", lines(OPERATION, ROW))
    assert found.reasons == ["GG305 the record is a GoldenGate `json_row` message, with columns next to `op_type`"]
    truncate = {name: ROW[name] for name in ("table", "op_ts", "pos")} | {"op_type": "T"}
    (tmp_path / "in.json").write_bytes(lines(truncate, ROW))
    result = run_ggfmt([tmp_path / "in.json"], tmp_path / "out")
    assert result.totals.operations == {("GG.T", "T"): 1, ("GG.T", "I"): 1}


def test_a_delete_of_postgresql_without_its_row_names_the_replica_identity() -> None:
    source = {"connector": "postgresql", "schema": "public", "table": "t"}
    found = read("debezium_json", lines({"op": "d", "before": None, "after": None, "source": source}))
    assert found.reasons == ["GG307 a delete has no before image"]
    assert "REPLICA IDENTITY FULL" in (found.rejects[0].diagnostic.help or "")


@pytest.mark.parametrize(
    ("value", "kind"), [("[1]", "an array"), ('"x"', "a string"), ("[" + "1," * 99 + "1]", "an array")]
)
def test_an_image_that_is_no_object_is_named_as_what_it_is(value: str, kind: str) -> None:
    record = b'{"database":"s","table":"t","type":"insert","data":%s}\n' % value.encode()
    found = read("maxwell_json", lines({"database": "s", "table": "t", "type": "insert", "data": {"a": 1}}) + record)
    assert found.reasons == [f"GG308 an image is {kind} and not an object"]


@pytest.mark.parametrize(
    ("name", "help"), [("maxwell_json", "write `debezium_json`"), ("json", "set `treatAllColumnsAsStrings=true`")]
)
def test_a_double_that_json_has_no_number_for_names_what_helps(name: str, help: str) -> None:
    table = PlainTable("S.T", (PlainColumn("ID", "integer", 1), PlainColumn("D", "double", 0)))
    for value, named in (("NaN", True), ("Infinity", True), ("many", False)):
        bad = PlainOperation("I", None, None, None, {"ID": "1", "D": value}, {})
        with pytest.raises(RowErrors) as caught:
            written(name, Changes(table, [bad], False))
        ((_, diagnostic),) = caught.value.rows
        assert diagnostic.code == "GG401"
        assert (help in (diagnostic.help or "")) is named
        assert "--definitions" in (diagnostic.help or "") or named


# Files that are no messages at all


def archive(build: str) -> bytes:
    """A file as the library of its format writes it."""
    out = io.BytesIO()
    if build in ("zip", "workbook"):
        with zipfile.ZipFile(out, "w") as file:
            if build == "workbook":
                file.writestr("[Content_Types].xml", "<Types/>")
                file.writestr("xl/workbook.xml", "<workbook/>")
            else:
                file.writestr("changes.json", "{}")
    elif build == "tar":
        with tarfile.open(fileobj=out, mode="w") as tar:
            tar.addfile(tarfile.TarInfo("changes.json"))
    elif build == "parquet":
        parquet.write_table(pa.table({"ID": [1]}), out)
    elif build == "orc":
        orc.write_table(pa.table({"ID": [1]}), out)
    return out.getvalue()


# The first bytes of a trail, as a dump by Logdump shows them behind the header of the record.
TRAIL = bytes.fromhex("46000337 30000337 30000008 47470d0a544c0a0d 3100000200063200000420000000")
FOREIGN: dict[str, tuple[bytes, str, str]] = {
    "x.zip": (archive("zip"), "a ZIP archive", "unpack it"),
    "empty.zip": (b"PK\x05\x06" + bytes(18), "a ZIP archive", "unpack it"),
    "x.xlsx": (archive("workbook"), "an Excel workbook", "save the sheet"),
    "x.xls": (bytes.fromhex("d0cf11e0a1b11ae1") + bytes(500), "such as an Excel workbook", "with `--csv`"),
    "x.7z": (bytes.fromhex("377abcaf271c0004"), "a 7-Zip archive", "unpack it"),
    "x.tar": (archive("tar"), "a tar archive", "unpack it"),
    "x.parquet": (archive("parquet"), "a Parquet file", "with `--csv`"),
    "x.orc": (archive("orc"), "an ORC file", "with `--csv`"),
    "x.sqlite": (b"SQLite format 3\0" + bytes(84), "a SQLite database", "export changes"),
    "gzip": (gzip.compress(b"{}"), "a gzip file without the extension `.gz`", "add `.gz`"),
    "bzip2": (bz2.compress(b"{}"), "a bzip2 file without", "add `.bz2`"),
    "no bzip2": (bz2.compress(b""), "a bzip2 file without", "add `.bz2`"),
    "xz": (lzma.compress(b"{}"), "an xz file without", "add `.xz`"),
    "zstd": (bytes(pa.compress(b"{}", codec="zstd", asbytes=True)), "a zstd file without", "add `.zst`"),
    "tc000000002": (TRAIL, "a GoldenGate trail file", "Replicat"),
}


@pytest.mark.parametrize("name", FOREIGN)
@pytest.mark.parametrize("input_format", ["auto", "json"])
@pytest.mark.parametrize("packed", [False, True])
def test_a_file_that_is_no_messages_is_named(name: str, input_format: str, packed: bool, tmp_path: Path) -> None:
    data, what, help = FOREIGN[name]
    file = tmp_path / (f"{name}.gz" if packed else name)
    file.write_bytes(gzip.compress(data) if packed else data)
    with pytest.raises(Abend) as caught:
        run_ggfmt([file], tmp_path / "out", input_format=input_format, quarantine=True)
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.span.file) == ("GG309", str(file))
    if packed and " without" in what:
        what, help = f"compressed twice: decompressed once, it is {what.partition(' without')[0]}", "decompress it"
    assert what in diagnostic.message
    assert help in (diagnostic.help or "")
    assert not (tmp_path / "out").exists()


def test_one_such_file_among_others_is_found_before_the_run(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.json").write_bytes(lines(OPERATION))
    (tmp_path / "in" / "b.zip").write_bytes(archive("zip"))
    with pytest.raises(Abend, match=r"b\.zip: error\[GG309\] the input is a ZIP archive"):
        run_ggfmt([tmp_path / "in"], tmp_path / "out")


@pytest.mark.parametrize(
    "start", [b"ORC|GG.T|1\n", b"PAR1|GG.T|1\n", b"BZh91|GG.T|1\n", b"PK,1\n", b"7z|1\n", b"F GG TL\n", b""]
)
def test_a_text_that_starts_like_one_is_a_text(start: bytes) -> None:
    assert identify_unsupported(start) is None


def test_a_schema_registry_is_not_for_json(tmp_path: Path) -> None:
    """`--schema-registry` is an option of its own, and so the error names no input option."""
    source = write_lines(tmp_path / "in.json", [operation(1)])
    with pytest.raises(UsageError, match="whose messages name no schemas of a registry") as raised:
        ggfmt.convert(source, to="json", output=tmp_path / "out", schema_registry=tmp_path)
    assert "input_option" not in str(raised.value) and "schemaRegistry" not in str(raised.value)
