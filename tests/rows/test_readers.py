"""Row files are read with their types and values. What rows cannot have is an error with its place."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as parquet
import pytest
from row_files import FAR_INSTANTS, HOSTILE, ROWS, SCHEMA, TYPES, Row, batch, same, texts, utc, write

from ggfmt.columnar import json_rows
from ggfmt.diagnostics.diagnostic import Abend, UsageError
from ggfmt.location import Location
from ggfmt.rowfiles import files
from ggfmt.rowfiles.formats import ROW_FORMATS
from ggfmt.rows.readers import read_rows

BASES = [name for name, format in ROW_FORMATS.items() if format.base]
OF_TEXTS = ("csv", "json")
NO_TYPES: Mapping[str, pa.DataType] = {}


def read(path: Path, suffix: str, types: Mapping[str, pa.DataType] = NO_TYPES) -> pa.Table:
    return pa.Table.from_batches(read_rows(Location.of(str(path)), suffix, types, "S.T"))


def place_of(error: UsageError | Abend) -> tuple[str | None, ...]:
    span = error.diagnostics[0].span
    return span.file, span.table, span.field


# Of these types texts are converted to numbers by ggfmt; smaller integers occur in files that have types.
DEFINED: dict[str, pa.DataType] = {name: type for name, type in TYPES.items() if name not in ("SMALL", "INT")}


@pytest.mark.parametrize("suffix", BASES)
def test_what_is_written_is_read(tmp_path: Path, suffix: str) -> None:
    schema = pa.schema(list(DEFINED.items())) if suffix in OF_TEXTS else SCHEMA
    rows = [{name: row[name] for name in schema.names} for row in ROWS]
    write(tmp_path / "rows", suffix, batch(rows[:2], schema), batch(rows[2:], schema))
    found = read(tmp_path / "rows", suffix, DEFINED)
    assert found.schema == schema
    assert same(found.to_pylist()) == same(rows)


@pytest.mark.parametrize("suffix", sorted({*BASES} - {"orc"}))
def test_instants_of_all_years_are_read(tmp_path: Path, suffix: str) -> None:
    schema = pa.schema([("INSTANT", TYPES["INSTANT"])])
    rows = [{"INSTANT": time} for time in FAR_INSTANTS]
    write(tmp_path / "rows", suffix, batch(rows, schema))
    assert same(read(tmp_path / "rows", suffix, TYPES).select(["INSTANT"]).to_pylist()) == same(rows)


@pytest.mark.parametrize("suffix", BASES)
def test_hostile_texts_are_read(tmp_path: Path, suffix: str) -> None:
    write(tmp_path / "rows", suffix, texts(*HOSTILE), texts("more"))
    found = read(tmp_path / "rows", suffix, {"N": pa.int64()})
    assert found["TEXT"].to_pylist() == [*HOSTILE, "more"]
    assert found["N"].to_pylist() == [*range(len(HOSTILE)), 0]


@pytest.mark.parametrize("suffix", BASES)
def test_a_file_without_rows_gives_its_columns(tmp_path: Path, suffix: str) -> None:
    write(tmp_path / "rows", suffix, batch([]))
    found = read(tmp_path / "rows", suffix, TYPES)
    assert (found.schema, len(found)) == (SCHEMA, 0)


@pytest.mark.parametrize("suffix", OF_TEXTS)
def test_columns_without_a_type_are_texts(tmp_path: Path, suffix: str) -> None:
    data = {"csv": 'N,A,B\n1,1.50,""\n2,,x\n', "json": '{"N":1,"A":1.50}\n\n{"B":"","N":"2","A":null}\n{"B":true}'}
    (tmp_path / "rows").write_text(data[suffix])
    found = read(tmp_path / "rows", suffix, {"N": pa.int64()})
    expected: dict[str, pa.DataType] = {"N": pa.int64(), "A": pa.string(), "B": pa.string()}
    assert found.schema == pa.schema(list(expected.items()))
    of_csv = [{"N": 1, "A": "1.50", "B": ""}, {"N": 2, "A": None, "B": "x"}]
    of_json = [
        {"N": 1, "A": "1.50", "B": None},
        {"N": 2, "A": None, "B": ""},
        {"N": None, "A": None, "B": "true"},
    ]
    assert found.to_pylist() == (of_csv if suffix == "csv" else of_json)


def test_json_has_the_columns_of_types_first(tmp_path: Path) -> None:
    (tmp_path / "rows").write_text('{"Z":1}\n{"A":12345678901234567890123456.70}\n')
    found = read(tmp_path / "rows", "json", {"NONE": pa.date32(), "A": pa.decimal128(30, 2)})
    assert found.schema.names == ["NONE", "A", "Z"]
    assert found["A"].to_pylist() == [None, Decimal("12345678901234567890123456.70")]


def test_json_is_read_in_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_rows, "_BLOCK_BYTES", 7)
    write(tmp_path / "rows", "json", texts(*HOSTILE))
    assert read(tmp_path / "rows", "json")["TEXT"].to_pylist() == HOSTILE


TIME = datetime(2020, 1, 1, 10, 0, 0, 5)
NORMALIZED: list[tuple[pa.Array[Any], pa.DataType, Any]] = [
    (pa.array(["a"], pa.large_string()), pa.string(), "a"),
    (pa.array(["a"], pa.string_view()), pa.string(), "a"),
    (pa.array(["a"]).dictionary_encode(), pa.string(), "a"),
    (pa.array([None], pa.null()), pa.string(), None),
    (pa.array([255], pa.uint8()), pa.int16(), 255),
    (pa.array([65535], pa.uint16()), pa.int32(), 65535),
    (pa.array([2**32 - 1], pa.uint32()), pa.int64(), 2**32 - 1),
    (pa.array([2**64 - 1], pa.uint64()), pa.decimal128(20, 0), Decimal(2**64 - 1)),
    (pa.array([-5], pa.int8()), pa.int8(), -5),
    (pa.array([1.5], pa.float32()).cast(pa.float16()), pa.float32(), 1.5),
    (pa.array([date(1969, 1, 1)], pa.date64()), pa.date32(), date(1969, 1, 1)),
    (pa.array([TIME], pa.timestamp("ns")), pa.timestamp("us"), TIME),
    (
        pa.array([TIME.replace(microsecond=7000)], pa.timestamp("ms")),
        pa.timestamp("us"),
        TIME.replace(microsecond=7000),
    ),
    (pa.array([TIME], pa.timestamp("us", "Asia/Kolkata")), pa.timestamp("us", "UTC"), utc(2020, 1, 1, 10, 0, 0, 5)),
    (pa.array([Decimal("1.5")], pa.decimal256(38, 2)), pa.decimal128(38, 2), Decimal("1.50")),
    (pa.array([Decimal("1.5")], pa.decimal32(5, 2)), pa.decimal128(5, 2), Decimal("1.50")),
]


@pytest.mark.parametrize(("values", "type", "value"), NORMALIZED, ids=[str(case[0].type) for case in NORMALIZED])
def test_types_of_parquet_become_those_of_rows(
    tmp_path: Path, values: pa.Array[Any], type: pa.DataType, value: object
) -> None:
    parquet.write_table(pa.table({"A": values}), tmp_path / "rows")
    found = read(tmp_path / "rows", "parquet")
    assert found.schema == pa.schema([("A", type)])
    assert same(found.to_pylist()) == same([{"A": value}])


def test_times_of_96_bits_are_read(tmp_path: Path) -> None:
    times = [TIME, datetime(9999, 12, 31), datetime(1, 1, 1)]
    parquet.write_table(pa.table({"A": times}), tmp_path / "rows", use_deprecated_int96_timestamps=True)
    assert read(tmp_path / "rows", "parquet")["A"].to_pylist() == times


WRONG: list[tuple[pa.Array[Any], str]] = [
    (pa.array([{"a": 1}]), "rows cannot have columns of the type struct"),
    (pa.array([[{"a": 1}]]), "rows cannot have columns of the type list"),
    (pa.array([Decimal(1)], pa.decimal256(39, 0)), "rows cannot have columns of the type decimal256"),
    (pa.array([1_000_000_001], pa.timestamp("ns")), "does not fit into `timestamp_ntz`"),
    (pa.array([1], pa.timestamp("ns", "UTC")), "does not fit into `timestamp`"),
]  # fmt: skip


@pytest.mark.parametrize(("values", "message"), WRONG, ids=[message for _, message in WRONG])
def test_what_rows_cannot_have_is_an_error_of_its_column(tmp_path: Path, values: pa.Array[Any], message: str) -> None:
    path = tmp_path / "rows"
    parquet.write_table(pa.table({"N": pa.nulls(1, pa.int64()), "A": values}), path)
    with pytest.raises(UsageError, match=f"GG551.*{message}") as raised:
        read(path, "parquet")
    assert place_of(raised.value) == (str(path), "S.T", "A")


def test_texts_are_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "rows"
    wrong = pa.array([b"\xff"]).view(pa.string())
    parquet.write_table(pa.table({"A": wrong}), path)
    with pytest.raises(UsageError, match=r"GG551.*Invalid UTF8") as raised:
        read(path, "parquet")
    assert place_of(raised.value) == (str(path), "S.T", "A")


@pytest.mark.parametrize(
    ("suffix", "data", "message", "field"),
    [
        ("csv", "N,A\none,x\n", "`one` is not a value of the type `bigint`", "N"),
        ("json", '{"N":1}\n{"N":1.5}\n', "`1.5` is not a value of the type `bigint`", "N"),
        ("json", '{"N":"' + "x" * 60 + '"}\n', f"`{'x' * 40}...` is not a value", "N"),
        ("json", '{"A":"{}"}\n{"A":{"B":1}}\n', "has an object or a list", "A"),
        ("json", '{"A":[1]}\n', "has an object or a list", "A"),
        ("csv", "A,B,A\n1,2,3\n", "the file has two columns with this name", "A"),
    ],
)
def test_a_wrong_value_is_an_error_of_its_column(
    tmp_path: Path, suffix: str, data: str, message: str, field: str
) -> None:
    path = tmp_path / "rows"
    path.write_text(data)
    with pytest.raises(UsageError) as raised:
        read(path, suffix, {"N": pa.int64()})
    assert message in str(raised.value)
    assert raised.value.diagnostics[0].code == "GG551"
    assert place_of(raised.value) == (str(path), "S.T", field)


def test_a_column_of_parquet_that_occurs_twice_is_an_error(tmp_path: Path) -> None:
    column = pa.array(["a"])
    parquet.write_table(pa.Table.from_arrays([column, column], ["A", "A"]), tmp_path / "rows")
    with pytest.raises(UsageError, match="the file has two columns with this name"):
        read(tmp_path / "rows", "parquet")


@pytest.mark.parametrize(
    ("suffix", "data", "message"),
    [
        ("parquet", b"", "the file is not a Parquet file"),
        ("parquet", b"PAR1" + bytes(40) + b"PAR1", "the file is not a Parquet file"),
        ("orc", b"", "the file is not an ORC file"),
        ("orc", b"no ORC" * 9, "the file is not an ORC file"),
        ("csv", b"", "the file is not CSV: Empty CSV file"),
        ("csv", b"A,B\n1\n", "the file is not CSV: CSV parse error: Expected 2 columns"),
        ("csv", b"A\n\xff\n", "the file is not CSV: In CSV column #0: CSV conversion error to string: invalid UTF8"),
        ("json", b'{"A":1}\n{"A":', "byte 8, table S.T: error[GG551] a line is not a JSON object"),
        ("json", b"[1]\n", "byte 0, table S.T: error[GG551] a line is not a JSON object"),
        ("json", b'{"A":"\xff"}\n', "column A: error[GG551] the column has a text that is not UTF-8"),
    ],
)
def test_a_file_that_is_not_of_its_format_is_an_error(tmp_path: Path, suffix: str, data: bytes, message: str) -> None:
    path = tmp_path / "rows"
    path.write_bytes(data)
    with pytest.raises(UsageError) as raised:
        read(path, suffix)
    assert message in str(raised.value)
    assert raised.value.diagnostics[0].code == "GG551"
    assert place_of(raised.value)[:2] == (str(path), "S.T")


def test_a_damaged_parquet_file_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "rows"
    write(path, "parquet", texts(*map(str, range(1000))))
    data = bytearray(path.read_bytes())
    data[10:60] = bytes(byte ^ 0x5A for byte in data[10:60])
    path.write_bytes(data)
    with pytest.raises(UsageError, match=r"GG551.*the file is not a Parquet file"):
        read(path, "parquet")


@pytest.mark.parametrize("suffix", BASES)
def test_a_file_that_cannot_be_read_stops_the_run(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(Abend, match=r"GG506.*the file cannot be read") as raised:
        read(tmp_path / "none", suffix)
    assert place_of(raised.value)[:2] == (str(tmp_path / "none"), "S.T")


def write_orc(path: Path, field: pa.Field[Any], values: list[Any]) -> None:
    writer = orc.ORCWriter(str(path))
    writer.write(pa.Table.from_arrays([pa.array(values, field.type)], schema=pa.schema([field])))
    writer.close()


@pytest.mark.parametrize(
    ("attribute", "zone"),
    [(None, None), ("timestamp", "UTC")],
)
def test_local_times_of_orc_are_those_of_utc_if_the_column_has_a_zone(
    tmp_path: Path, attribute: str | None, zone: str | None
) -> None:
    metadata = {"spark.sql.catalyst.type": attribute} if attribute else None
    write_orc(tmp_path / "rows", pa.field("A", pa.timestamp("us"), metadata=metadata), [TIME])
    found = read(tmp_path / "rows", "orc")
    assert found.schema == pa.schema([("A", pa.timestamp("us", zone))])
    assert same(found.to_pylist()) == same([{"A": TIME if zone is None else utc(2020, 1, 1, 10, 0, 0, 5)}])


def test_far_times_of_orc_are_an_error_of_their_column(tmp_path: Path) -> None:
    path = tmp_path / "rows"
    schema = pa.schema([("T", TYPES["TEXT"]), ("A", TYPES["INSTANT"]), ("B", TYPES["INSTANT"])])
    write(path, "orc", batch([{"T": "x", "A": utc(2020, 1, 1), "B": FAR_INSTANTS[2]}], schema))
    with pytest.raises(UsageError, match="a time outside of the years 1678 to 2261") as raised:
        read(path, "orc")
    assert place_of(raised.value) == (str(path), "S.T", "B")


def test_batches_are_small_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "BATCH_ROWS", 4)
    rows: list[Row] = [{"N": n} for n in range(10)]
    for suffix in ("parquet", "orc"):
        write(tmp_path / suffix, suffix, batch(rows, pa.schema([("N", pa.int64())])))
        batches = list(read_rows(Location.of(str(tmp_path / suffix)), suffix, {}, "S.T"))
        assert [len(one) for one in batches] == [0, 4, 4, 2]
        assert pa.Table.from_batches(batches).to_pylist() == rows
