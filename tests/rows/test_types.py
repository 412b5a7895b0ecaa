"""Columns of rows have the types of their source; a value that the type does not have is never another value."""

from __future__ import annotations

import base64
import json
import re
from datetime import date, datetime, time, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import write_lines

import ggfmt
from ggfmt.diagnostics.diagnostic import Abend, UsageError
from ggfmt.frames.column_types import RULES, column_type, type_name
from ggfmt.kernels import plain
from ggfmt.kernels.primitives import digits
from ggfmt.model.table import Kind, SqlType
from ggfmt.rows.numbers import NumberRange

Row = dict[str, Any]


def field(name: str, type: str, semantic: str | None = None, **members: Any) -> Row:
    return {"field": name, "type": type, "optional": True, **({"name": semantic} if semantic else {}), **members}


FIELDS = [
    field("id", "int32"),
    field("day", "int32", "io.debezium.time.Date"),
    field("clock", "int64", "io.debezium.time.MicroTime"),
    field("local", "int64", "io.debezium.time.MicroTimestamp"),
    field("moment", "string", "io.debezium.time.ZonedTimestamp"),
    field("data", "bytes"),
    field("price", "bytes", "org.apache.kafka.connect.data.Decimal", parameters={"scale": "2"}),
    field("flag", "boolean"),
    field("numbers", "array", items={"type": "int32", "optional": True}),
    field("words", "array", items={"type": "string", "optional": True}),
    field("days", "array", items={"type": "int32", "optional": True, "name": "io.debezium.time.Date"}),
    field("single", "float"),
]
PRICE = base64.b64encode((-12345).to_bytes(2, "big", signed=True)).decode()
WRITTEN = {
    "id": 1, "day": 19358, "clock": 45296123456, "local": 1672628645123456, "moment": "2023-01-02T03:04:05.1+02:00",
    "data": "AP8=", "price": PRICE, "flag": True, "numbers": [1, None, -3], "words": ['q"', None], "days": [19358],
    "single": 0.5,
}  # fmt: skip
READ = {
    "id": 1,
    "day": date(2023, 1, 1),
    "clock": time(12, 34, 56, 123456),
    "local": datetime(2023, 1, 2, 3, 4, 5, 123456),
    "moment": datetime(2023, 1, 2, 1, 4, 5, 100000, tzinfo=timezone.utc),
    "data": b"\0\xff",
    "price": Decimal("-123.45"),
    "flag": True,
    "numbers": [1, None, -3],
    "words": ['q"', None],
    "days": [date(2023, 1, 1)],
    "single": 0.5,
}
NULLS = {"id": 2, **dict.fromkeys(list(READ)[1:])}


def envelope(op: str, after: Row | None, before: Row | None = None) -> Row:
    images = [{"field": image, "type": "struct", "optional": True, "fields": FIELDS} for image in ("before", "after")]
    source = [{"field": name, "type": "string"} for name in ("schema", "table", "connector")]
    fields = [*images, {"field": "source", "type": "struct", "fields": source}, {"field": "op", "type": "string"}]
    payload = {"op": op, "before": before, "after": after}
    payload["source"] = {"schema": "s", "table": "t", "connector": "postgresql"}
    return {"schema": {"type": "struct", "name": "e.Envelope", "fields": fields}, "payload": payload}


@pytest.fixture
def typed(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "in.json", [envelope("c", WRITTEN), envelope("c", NULLS)])


def consolidated(path: Path, out: Path, **settings: Any) -> Row:
    found: Row = ggfmt.consolidate(path, out, **{"master": "none", "key": "id", **settings})
    return found


def first(rows: list[Row], **settings: Any) -> Row:
    assert len(rows) == 2
    assert next(row for row in rows if row["id"] == 2) == {**NULLS, **settings}
    return next(row for row in rows if row["id"] == 1)


def test_rows_have_the_types_of_the_source(typed: Path, tmp_path: Path) -> None:
    consolidated(typed, tmp_path / "out")
    assert first(parquet.read_table(tmp_path / "out" / "s.t").to_pylist()) == READ
    assert first(pl.scan_parquet(tmp_path / "out" / "s.t" / "*.parquet").collect().to_dicts()) == READ


@pytest.mark.parametrize("to", ["delta", "iceberg"])
def test_tables_of_a_lakehouse_have_the_types_of_the_source(typed: Path, tmp_path: Path, to: str) -> None:
    document = consolidated(typed, tmp_path / "out", to=to)
    files = [tmp_path / "out" / entry["path"] for entry in document["files"]]
    found = first(pl.concat(pl.read_parquet(path) for path in files).to_dicts())
    assert {name for name in READ if found[name] != READ[name]} == {"numbers", "words", "days"} | (
        {"clock"} if to == "delta" else set()
    )
    assert json.loads(found["days"]) == ["2023-01-01"]
    assert found["clock"] == (READ["clock"] if to == "iceberg" else "12:34:56.123456")


def test_orc_has_the_types_of_the_source_but_times_of_day(typed: Path, tmp_path: Path) -> None:
    consolidated(typed, tmp_path / "out", to="orc")
    (path,) = (tmp_path / "out" / "s.t").glob("*.orc")
    found = first(orc.read_table(path).to_pylist())
    assert {name for name in READ if found[name] != READ[name]} <= {"clock", "local"}
    assert found["clock"] == "12:34:56.123456"


def test_text_files_have_iso_times_and_lists(typed: Path, tmp_path: Path) -> None:
    for to in ("csv", "json"):
        consolidated(typed, tmp_path / to, to=to)
    lines = "".join(path.read_text() for path in (tmp_path / "csv" / "s.t").iterdir()).splitlines()
    assert (
        "1,2023-01-01,12:34:56.123456,2023-01-02T03:04:05.123456,2023-01-02T01:04:05.100000Z,AP8=,-123.45,true,"
        '"[1,null,-3]","[""q\\"""",null]","[""2023-01-01""]",0.5'
    ) in lines
    records = [json.loads(line) for path in (tmp_path / "json" / "s.t").iterdir() for line in path.open()]
    assert first(records) == {
        **WRITTEN, "day": "2023-01-01", "clock": "12:34:56.123456", "local": "2023-01-02T03:04:05.123456",
        "moment": "2023-01-02T01:04:05.100000Z", "price": -123.45, "days": ["2023-01-01"],
    }  # fmt: skip


@pytest.mark.parametrize("to", ["parquet", "orc", "csv", "json"])
def test_a_base_keeps_its_types(typed: Path, tmp_path: Path, to: str) -> None:
    consolidated(typed, tmp_path / "base", to=to)
    change = {**WRITTEN, "id": 2, "words": ["new"]}
    path = write_lines(tmp_path / "more.json", [envelope("u", change, NULLS)])
    consolidated(path, tmp_path / "out", base=tmp_path / "base")
    rows = parquet.read_table(tmp_path / "out" / "s.t").to_pylist()
    assert {row["id"]: row for row in rows} == {1: READ, 2: {**READ, "id": 2, "words": ["new"]}}


@pytest.mark.parametrize("kind", list(Kind))
def test_every_kind_has_a_type(kind: Kind) -> None:
    assert RULES[kind].cases
    assert type_name(column_type(SqlType(kind)))


# Values that a type does not have

MISFITS = [
    {**WRITTEN, "moment": "infinity"},
    {**WRITTEN, "id": 2},
    {**WRITTEN, "id": 3, "moment": "0000-01-01T00:00:00Z"},
]


@pytest.fixture
def misfits(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "in.json", [envelope("c", row) for row in MISFITS])


def test_a_value_that_the_type_does_not_have_is_an_error_at_its_place(misfits: Path, tmp_path: Path) -> None:
    with pytest.raises(Abend) as raised:
        consolidated(misfits, tmp_path / "out")
    (found,) = raised.value.diagnostics
    assert (found.code, found.span.table, found.span.field) == ("GG530", "s.t", "moment")
    assert found.span.file == str(misfits)
    assert "`infinity`" in found.message
    assert 'types={"s.t.moment": "string"}' in str(found.help)
    assert "on_unfit" in str(found.help)
    assert not (tmp_path / "out").exists()


def test_such_a_value_can_be_a_text(misfits: Path, tmp_path: Path) -> None:
    consolidated(misfits, tmp_path / "out", types={"s.t.moment": "string"})
    rows = parquet.read_table(tmp_path / "out" / "s.t").to_pylist()
    assert {row["id"]: row["moment"] for row in rows} == {row["id"]: row["moment"] for row in MISFITS}


@pytest.mark.parametrize("history", [False, True])
def test_such_a_value_can_be_null_and_is_counted(misfits: Path, tmp_path: Path, history: bool) -> None:
    document = consolidated(misfits, tmp_path / "out", on_unfit="null", history=history)
    assert document["tables"]["s.t"]["unfit"] == {"moment": 2}
    rows = parquet.read_table(tmp_path / "out" / "s.t").to_pylist()
    assert {row["id"]: row["moment"] for row in rows} == {1: None, 2: READ["moment"], 3: None}


def test_such_values_may_come_in_later_runs(typed: Path, tmp_path: Path) -> None:
    settings: Row = {"checkpoint": tmp_path / "seen", "on_unfit": "null"}
    consolidated(typed, tmp_path / "out", **settings)
    later = write_lines(tmp_path / "more.json", [envelope("c", MISFITS[2])])
    document = consolidated(later, tmp_path / "out", **settings)
    assert document["tables"]["s.t"]["unfit"] == {"moment": 1}
    moments = {row["id"]: row["moment"] for row in parquet.read_table(tmp_path / "out" / "s.t").to_pylist()}
    assert moments == {1: READ["moment"], 2: None, 3: None}


def test_such_a_row_can_be_unresolved(misfits: Path, tmp_path: Path) -> None:
    document = consolidated(misfits, tmp_path / "out", on_unfit="unresolved")
    assert (document["tables"]["s.t"]["rows"], document["tables"]["s.t"]["unresolved"]) == (1, 2)
    assert [row["id"] for row in parquet.read_table(tmp_path / "out" / "s.t").to_pylist()] == [2]
    lost = parquet.read_table(tmp_path / "out" / "_unresolved").to_pylist()
    assert [(row["reason"], dict(row["after"])["moment"]) for row in lost] == [
        ("unfit", "infinity"),
        ("unfit", "0000-01-01T00:00:00Z"),
    ]


def test_a_key_that_does_not_fit(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "in.json", [envelope("c", row) for row in MISFITS])
    with pytest.raises(Abend, match=r"s\.t.*moment.*GG530"):
        consolidated(path, tmp_path / "out", key="moment")
    document = consolidated(path, tmp_path / "unresolved", key="moment", on_unfit="unresolved")
    assert document["tables"]["s.t"]["rows"] == 1
    lost = parquet.read_table(tmp_path / "unresolved" / "_unresolved").to_pylist()
    assert [(row["reason"], dict(row["after"])["id"]) for row in lost] == [("no key", "1"), ("no key", "3")]


FLOATS = {"v": "float", "w": "double"}


def floats(tmp_path: Path, v: str, w: str) -> Path:
    after = f'{{"ID":1,"v":{v},"w":{w},"big":{v}}}'
    return write_lines(tmp_path / "in.json", [f'{{"table":"S.T","op_type":"I","pos":"1","after":{after}}}'.encode()])


@pytest.mark.parametrize(
    ("v", "w"),
    [("3.14", "0.1"), ("3.140000104904175", "0.10000000000000001"), ("1.10", "-0.0"), ("16777216", "1E22")],
)
def test_floats_as_writers_print_them_are_rows(tmp_path: Path, v: str, w: str) -> None:
    types = {f"S.T.{name}": type for name, type in FLOATS.items()}
    consolidated(floats(tmp_path, v, w), tmp_path / "out", key="ID", types=types)
    (row,) = parquet.read_table(tmp_path / "out" / "S.T").to_pylist()
    assert pa.array([row["v"]], pa.float32()) == pa.array([float(v)], pa.float32())
    assert repr(row["w"]) == repr(float(w))


@pytest.mark.parametrize(
    ("v", "w", "column"),
    [("123456789.123", "1.5", "v"), ("1.5", "9007199254740993", "w"), ("1.5", "1e-400", "w"), ("1e39", "1", "v")],
)
def test_floats_that_lose_digits_are_no_rows(tmp_path: Path, v: str, w: str, column: str) -> None:
    types = {f"S.T.{name}": type for name, type in FLOATS.items()}
    path = floats(tmp_path, v, w)
    with pytest.raises(Abend, match=f"column {column}.*GG530.*is not a value of the type `{FLOATS[column]}`"):
        consolidated(path, tmp_path / "out", key="ID", types=types)
    document = consolidated(path, tmp_path / "null", key="ID", types=types, on_unfit="null")
    assert document["tables"]["S.T"]["unfit"] == {column: 1}
    with pytest.raises(Abend, match="GG530"):
        list(ggfmt.scan(path, table="S.T", schema=f"after struct<{column}: {FLOATS[column]}>"))


@pytest.mark.parametrize("name", ["v", "w"])
def test_a_key_of_floats_that_loses_digits_is_no_row(tmp_path: Path, name: str) -> None:
    path = floats(tmp_path, "123456789.12345678901", "123456789.12345678901")
    with pytest.raises(Abend, match="GG530"):
        consolidated(path, tmp_path / "out", key=name, types={f"S.T.{name}": FLOATS[name]})


# Numbers of JSON without definitions


def numbers(place: int, **after: Any) -> bytes:
    """An insert whose values are as given: texts of JSON."""
    images = ",".join(f'"{name}":{value}' for name, value in after.items())
    return f'{{"table":"S.T","op_type":"I","pos":"{place:020d}","after":{{{images}}}}}'.encode()


def rounds(tmp_path: Path, *days: list[bytes], **settings: Any) -> pa.Table:
    """The rows after a run with a checkpoint for each day."""
    (tmp_path / "in").mkdir()
    for number, lines in enumerate(days):
        write_lines(tmp_path / "in" / f"{number}.json", lines)
        settings = {"checkpoint": tmp_path / "seen", **settings}
        consolidated(tmp_path / "in", tmp_path / "out", key="ID", **settings)
    return parquet.read_table(tmp_path / "out" / "S.T").sort_by("ID")


def test_numbers_are_numbers_and_texts_stay_texts(tmp_path: Path) -> None:
    found = rounds(tmp_path, [numbers(1, ID=1, N=5, P="12.50", CODE='"007"'), numbers(2, ID=2, N=-7, P=3, CODE='"x"')])
    assert found.schema.types == [pa.int64(), pa.int64(), pa.decimal128(18, 2), pa.string()]
    assert found.to_pylist() == [
        {"ID": 1, "N": 5, "P": Decimal("12.50"), "CODE": "007"},
        {"ID": 2, "N": -7, "P": Decimal("3.00"), "CODE": "x"},
    ]


BIG = 2**63
LONG_FRACTION = "0.1234567890123456789"


@pytest.mark.parametrize(
    ("later", "type", "value"),
    [
        ("6", pa.int64(), 6),
        ("0.5", pa.decimal128(38, 1), Decimal("0.5")),
        (f"{BIG}", pa.decimal128(38, 0), Decimal(BIG)),
        (LONG_FRACTION, pa.decimal128(38, 19), Decimal(LONG_FRACTION)),
        ("1e400", pa.string(), "1e400"),
        ('"text"', pa.string(), "text"),
        ("1" * 39, pa.string(), "1" * 39),
    ],
)
def test_later_numbers_widen_a_column_without_losing_a_digit(
    tmp_path: Path, later: str, type: pa.DataType, value: Any
) -> None:
    found = rounds(tmp_path, [numbers(1, ID=1, N=BIG - 1), numbers(2, ID=2, N="null")], [numbers(11, ID=3, N=later)])
    assert found.schema.field("N").type == type
    assert found["N"].to_pylist() == [type_of(type, BIG - 1), None, value]


def type_of(type: pa.DataType, number: int) -> Any:
    if type == pa.string():
        return str(number)
    return number if type == pa.int64() else Decimal(number)


@pytest.mark.parametrize("after", [{"N": "null"}, {}], ids=["null", "missing"])
def test_a_run_that_shows_no_value_of_a_column_keeps_its_type(tmp_path: Path, after: dict[str, str]) -> None:
    days = [
        [numbers(1, ID=1, N="2.5", C='"007"')],
        [numbers(11, ID=2, C="null", **after)],
        [numbers(21, ID=3, N="0.25")],
    ]
    found = rounds(tmp_path, *days)
    assert found.schema.types == [pa.int64(), pa.decimal128(18, 2), pa.string()]
    assert found["N"].to_pylist() == [Decimal("2.50"), None, Decimal("0.25")]


def test_equal_numbers_are_one_key(tmp_path: Path) -> None:
    update = b'{"table":"S.T","op_type":"U","pos":"00000000000000000012","before":{"ID":1.0},"after":{"ID":1e0,"N":6}}'
    found = rounds(tmp_path, [numbers(1, ID=1, N=5), numbers(2, ID=2, N=5)], [update])
    assert [(int(row["ID"]), row["N"]) for row in found.to_pylist()] == [(1, 6), (2, 5)]


@pytest.mark.parametrize("to", ["delta", "iceberg"])
def test_a_lakehouse_widens_or_says_that_it_cannot(tmp_path: Path, to: str) -> None:
    (tmp_path / "in").mkdir()
    settings: Row = {"checkpoint": tmp_path / "seen", "key": "ID", "to": to}
    write_lines(tmp_path / "in" / "0.json", [numbers(1, ID=1, N=5)])
    before = consolidated(tmp_path / "in", tmp_path / "out", **settings)
    write_lines(tmp_path / "in" / "1.json", [numbers(11, ID=2, N="0.5")])
    with pytest.raises(UsageError, match=r"GG554.*`?N`?"):
        consolidated(tmp_path / "in", tmp_path / "out", **settings)
    after = consolidated(tmp_path / "in", tmp_path / "again", **{**settings, "checkpoint": tmp_path / "other"})
    assert before["tables"]["S.T"]["columns"]["N"] == "bigint"
    assert after["tables"]["S.T"]["columns"]["N"] == "decimal(18,1)"


def test_rows_of_an_earlier_ggfmt_get_types(typed: Path, tmp_path: Path) -> None:
    """It wrote dates, times and bytes as texts."""
    texts = {
        f"s.t.{name}": "string" for name in ("day", "clock", "local", "moment", "data", "price", "numbers", "words")
    }
    consolidated(typed, tmp_path / "out", types=texts, checkpoint=tmp_path / "seen")
    again = write_lines(tmp_path / "in2.json", [envelope("u", {**WRITTEN, "id": 2}, NULLS)])
    document = consolidated(again, tmp_path / "out", checkpoint=tmp_path / "seen")
    assert document["tables"]["s.t"]["columns"]["day"] == "date"
    rows = {row["id"]: row for row in parquet.read_table(tmp_path / "out" / "s.t").to_pylist()}
    assert rows == {1: READ, 2: {**READ, "id": 2}}


def test_a_type_may_be_for_a_column_that_only_earlier_files_have(tmp_path: Path) -> None:
    days = [numbers(1, ID=1, DAY='"2020-01-02"')], [numbers(11, ID=2)]
    found = rounds(tmp_path, *days, types={"*.DAY": "date"})
    assert found["DAY"].to_pylist() == [date(2020, 1, 2), None]
    write_lines(tmp_path / "in" / "2.json", [numbers(21, ID=3)])
    settings: Row = {"checkpoint": tmp_path / "seen", "key": "ID", "master": "none"}
    with pytest.raises(UsageError, match=r"GG551.*`S.T.DAY` is `date` in the existing rows"):
        ggfmt.consolidate(tmp_path / "in", tmp_path / "out", types={"*.DAY": "string"}, **settings)


def test_bytes_below_a_null_do_not_change_the_type_of_whole_numbers() -> None:
    texts = pa.array(["7", "1.5", "12"])
    buffers = texts.buffers()
    offsets, data = buffers[1], buffers[2]
    assert offsets is not None and data is not None
    hidden = pa.StringArray.from_buffers(3, offsets, data, pa.py_buffer(b"\x05"))  # the second one is NULL
    assert hidden.to_pylist() == ["7", None, "12"]
    assert NumberRange.of(hidden).type == pa.int64()
    assert NumberRange.of(texts).type == pa.decimal128(18, 1)


def test_types_of_a_definition_stay_where_later_files_have_none(tmp_path: Path) -> None:
    """A source describes its tables once. Texts of later files do not make the columns texts."""
    types = {"id": "int", "at": "datetime", "day": "date", "price": "decimal(9,2)", "raw": "varbinary", "name": "text"}
    columns = [{"name": name, "type": type, "signed": True} for name, type in types.items()]
    table = {"database": "s", "table": "t"}
    first = [{**table, "type": "table-create", "ts": 1, "sql": "", "def": {"columns": columns, "primary-key": ["id"]}}]
    row: Row = {"at": "2026-01-31 10:00:00", "day": "2026-01-31", "price": 1.5, "raw": "aGk=", "name": "1"}
    first.append({**table, "type": "insert", "ts": 2, "data": {"id": 1, **row}})
    later = [{**table, "type": "insert", "ts": 3, "data": {"id": 2, **row}}]
    read = {"at": datetime(2026, 1, 31, 10), "day": date(2026, 1, 31), "price": Decimal("1.50"), "raw": b"hi"}
    settings: Row = {"checkpoint": tmp_path / "seen", "key": "id", "input_format": "maxwell_json"}
    (tmp_path / "in").mkdir()
    for number, records in enumerate((first, later)):
        write_lines(tmp_path / "in" / f"{number}.json", records)
        consolidated(tmp_path / "in", tmp_path / "out", **settings)
    found = parquet.read_table(tmp_path / "out" / "s.t").sort_by("id").to_pylist()
    assert found == [{"id": number, **read, "name": "1"} for number in (1, 2)]
    write_lines(tmp_path / "in" / "2.json", [{**table, "type": "insert", "ts": 4, "data": {"id": 3, "at": "soon"}}])
    with pytest.raises(Abend, match=r"GG530.*`soon` is not a value of the type `timestamp_ntz`"):
        consolidated(tmp_path / "in", tmp_path / "out", **settings)


@given(st.lists(st.none() | st.from_regex(r"\A-?[0-9]{0,20}([.][0-9]{0,4})?(e[0-9])?\Z"), max_size=4))
def test_the_digits_of_numbers_are_counted_as_decimals_have_them(values: list[str | None]) -> None:
    texts = pa.array(["7.77", *values], pa.string()).slice(1)
    known = [value for value in values if value is not None and re.fullmatch(r"-?[0-9]+([.][0-9]+)?", value)]
    whole = max((len(str(abs(int(value.partition(".")[0])))) for value in known), default=0)
    fraction = max((len(value.partition(".")[2]) for value in known), default=0)
    expected = whole, fraction, len(values) - values.count(None) - len(known)
    assert digits(texts) == plain.digits(texts) == expected
