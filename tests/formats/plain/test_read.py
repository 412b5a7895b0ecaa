"""Rows of CSV and JSON that no system of changes wrote: what the first rows show, and what rows become."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from dialects import EVERYTHING, read, told
from hypothesis import given
from hypothesis import strategies as st
from runs import run_ggfmt
from scanners import operations_taken, without_kernels
from strategies import examples

from ggfmt.diagnostics.diagnostic import Abend
from ggfmt.formats.api.format import Projection
from ggfmt.formats.csv import cut
from ggfmt.formats.csv.rows import table_of
from ggfmt.formats.plain import PlainCsvOptions
from ggfmt.formats.plain.layout import find_layout
from ggfmt.formats.records.problems import RecordError
from ggfmt.model.table import Column, Kind, SqlType, TableDef


def layout(data: bytes, **options: str) -> cut.CsvLayout:
    return find_layout(data, True, PlainCsvOptions.parse(options))  # type: ignore[arg-type]


def rows(data: bytes, **options: str) -> list[Any]:
    found = read("csv", data, told("csv", tableName="T", **options))
    assert found.reasons == []
    return [item.after for item in found.plain]


def problem(data: bytes, **options: str) -> str:
    """The problem of the file, which every row reports."""
    found = read("csv", data, told("csv", tableName="T", **options))
    assert found.plain == []
    assert len(set(found.reasons)) == 1
    return found.reasons[0]


@pytest.mark.parametrize(
    ("data", "delimiter", "names"),
    [
        (b"id,name\n1,Ann\n", b",", ("id", "name")),
        (b"id;name;price\n1;Ann;1,5\n2;Bob;2,5\n", b";", ("id", "name", "price")),
        (b"id\tname\n1\tAnn, Jr.\n", b"\t", ("id", "name")),
        (b"id|name\n1|Ann\n", b"|", ("id", "name")),
        (b"\xef\xbb\xbfid,name\r\n1,Ann\r\n", b",", ("id", "name")),
        (b'"id","na,me"\n"1","a"\n', b",", ("id", "na,me")),
        (b'"a","b""c"\n1,2\n', b",", ("a", 'b"c')),
        (b"sep=;\r\nid;name\r\n1;a,b,c\r\n", b";", ("id", "name")),
        (b"1,Ann\n2,Bob\n", b",", None),
        (b"'id','name'\n1,'a,b'\n", b",", ("id", "name")),
    ],
)
def test_the_first_rows_show_delimiter_and_header(data: bytes, delimiter: bytes, names: Any) -> None:
    found = layout(data)
    assert (found.problem, found.delimiter, found.names) == (None, delimiter, names)


@pytest.mark.parametrize(
    ("data", "message", "options"),
    [
        (b"id\n1\n2\n", "GG311 the first rows do not show the delimiter: the rows have one field", {}),
        (b"name,city\nAnn,Oslo\n", "GG311 the first row may have names, or values", {}),
        (b"id,name,id\n1,a,2\n", "GG311 the header names `id` twice", {}),
        (b",id,name\n0,1,a\n", "GG311 the header has a field without a name", {}),
        (b"a,b;c\n1,2;3\n", "GG311 the first rows do not show the delimiter: it may be a comma or a semicolon", {}),
        (b"id,v\n1,NULL\n2,x\n", "GG311 a field is `NULL` without quotes: it may be NULL or a text", {}),
        (b"id\tv\n1\ta\\tb\n", "GG311 a field has a backslash, which may be an escape", {}),
        (b"id,name\n1,J\xfcrgen\n", "GG303 the file is not in UTF-8", {}),
        (b"id,name\n1,a\n", "GG311 the header does not name `op`", {"opColumn": "op"}),
        (b"1,a\n2,b\n", "GG311 no header names `op`", {"opColumn": "op"}),
        (b"op,id\nI,1\n", "GG311 two options name one column", {"opColumn": "op", "opTsColumn": "op"}),
        (b"N/A,Ann\n1,Bob\n", "GG311 the first row may have names, or values", {}),
        (b"1,a\n2,b\n", "GG205 the columns of the table are unknown", {}),
        (b"id,a\n1,b\n", "GG311 `encoding` cannot be `no-such`", {"encoding": "no-such"}),
        (b"id,a\n1,b\n", "GG311 `encoding` cannot be `gbk`", {"encoding": "gbk"}),
        (b"id,a\n1,b\n", "GG311 `encoding` cannot be `cp500`", {"encoding": "cp500"}),
    ],
)
def test_what_the_first_rows_leave_open_is_refused(data: bytes, message: str, options: dict[str, str]) -> None:
    assert problem(data, **options) == message


def test_options_decide() -> None:
    assert rows(b"id\n1\n", delimiter=",", header="true") == [{"id": "1"}]
    assert rows(b"name,city\nAnn,Oslo\n", header="true") == [{"name": "Ann", "city": "Oslo"}]
    assert rows(b"name,city\n", header="false", columns="*=a,b") == [{"a": "name", "b": "city"}]
    assert rows(b",id\n0,1\n", columns="T=i,id", header="true") == [{"i": "0", "id": "1"}]
    assert rows(b"a,b\nx,y\n", columns="T=a,b") == [{"a": "x", "b": "y"}]
    assert rows(b"id,v\n1,NULL\n", nullLiteral="NULL") == [{"id": "1", "v": None}]
    assert rows(b"id,v\n1,NULL\n", nullLiteral="CDATA[]") == [{"id": "1", "v": "NULL"}]
    assert rows(b"id;n\r\n1;J\xfcrgen\r\n", preset="excel") == [{"id": "1", "n": "Jürgen"}]
    assert rows(b"id,n\n1,J\xe9\n", encoding="latin-1") == [{"id": "1", "n": "Jé"}]


@pytest.mark.parametrize("charset", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
def test_charsets_are_found(charset: str) -> None:
    text = 'id\tname\n1\t"é\t😀"\n' * 1 + "".join(f"{n}\tx\n" for n in range(2, 5000))
    found = rows(text.encode(charset))
    assert found[0] == {"id": "1", "name": "é\t😀"} and len(found) == 4999


def test_null_and_empty_are_two_things() -> None:
    assert rows(b'id,v\n1,\n2,""\n3,"a""b,\nc"\n') == [
        {"id": "1", "v": None}, {"id": "2", "v": ""}, {"id": "3", "v": 'a"b,\nc'}
    ]  # fmt: skip
    assert rows(b"1\t\\N\t\n2\ta\\tb\\\\\tx\\\ny\n", columns="*=i,v,w") == [
        {"i": "1", "v": None, "w": ""}, {"i": "2", "v": "a\tb\\", "w": "x\ny"}
    ]  # fmt: skip
    mysql = b'1,"a \\"b\\"\\\nc",\\N\n2,"",x\n'
    assert rows(mysql, columns="*=i,v,w") == [
        {"i": "1", "v": 'a "b"\nc', "w": None}, {"i": "2", "v": "", "w": "x"}
    ]  # fmt: skip
    assert rows(b'1\t"say ""hi"""\t\\N\n', columns="*=i,v,w") == [{"i": "1", "v": 'say "hi"', "w": None}]
    assert rows(b'1\t"x\t\\N\n', columns="*=i,v,w", preset="psql") == [{"i": "1", "v": '"x', "w": None}]


def test_rows_that_are_not_regular_are_rejected_with_their_place() -> None:
    data = b'id,v\n1,a\n2\n3,"b"c\n4,a,b\n5,\xff\n6,"open\n7,z\n'
    found = read("csv", data, told("csv", tableName="T", encoding="utf-8"))
    assert [item.after for item in found.plain] == [{"id": "1", "v": "a"}, {"id": "7", "v": "z"}]
    assert [reject.diagnostic.span.offset for reject in found.rejects] == [9, 11, 18, 24, 28]
    assert [reason[:5] for reason in found.reasons] == ["GG311", "GG311", "GG311", "GG303", "GG311"]


def test_operations_and_their_times() -> None:
    data = (
        b"op,ts,id\nI,2026-01-01T00:00:00+02:00,1\nupdate,2026-01-01 00:00:00,1\nDelete,,1\nTRUNCATE,,\n"
        b"x,,1\n,,1\nI,yesterday,1\n"
    )
    found = read("csv", data, told("csv", tableName="T", opColumn="op", opTsColumn="ts", primaryKeys="*=id"))
    assert [(item.op, item.op_ts, item.before, item.after) for item in found.plain] == [
        ("I", "2025-12-31 22:00:00.000000", None, {"id": "1"}),
        ("U", "2026-01-01 00:00:00.000000", None, {"id": "1"}),
        ("D", None, {"id": "1"}, None),
        ("T", None, None, None),
    ]
    assert found.reasons == [
        "GG304 `op` cannot be `x`",
        "GG305 the record has no `op`",
        "GG308 the time of the operation is not an ISO 8601 time",
    ]
    assert found.operations[0][0].key_names == ("id",)


def test_a_definition_names_columns_and_types() -> None:
    table = TableDef("S.T", (Column("id", SqlType(Kind.INTEGER), key=1), Column("v")))
    found = read("csv", b"1,a\n2,\n", told("csv", tableName="t"), trusted={"S.T": table})
    assert found.reasons == []
    assert [(item[0].full_name, item[1].after) for item in found.operations] == [
        ("S.T", {"id": "1", "v": "a"}), ("S.T", {"id": "2", "v": None})
    ]  # fmt: skip


@given(
    st.lists(st.lists(st.text('aé1",\\\n\r\tN;ntZ0\0', max_size=5), min_size=2, max_size=3), min_size=1, max_size=8),
    st.sampled_from([("auto", '"'), ("psql", "none"), ("mysql", '"'), ("auto", "'")]),
    st.sampled_from([None, 7, 100]),
    st.booleans(),
)
@examples(500)
def test_the_scanner_takes_what_the_exact_reader_takes(
    lines: list[list[str]], way: tuple[str, str], most: int | None, row_only: bool
) -> None:
    data = b"op,b\n" + "\n".join(",".join(fields) for fields in lines).encode()
    source = told(
        "csv",
        tableName="T",
        preset=way[0],
        quote=way[1],
        delimiter=",",
        header="true",
        nullLiteral="N",
        encoding="utf-8",
    )
    wanted = Projection(row_only=True, key_updates=True) if row_only else EVERYTHING
    with pytest.MonkeyPatch.context() as patch:
        if most is not None:
            patch.setattr(cut, "CHUNK_BYTES", most)
        found = read("csv", data, source, projection=wanted)
        with without_kernels():
            expected = read("csv", data, source, projection=wanted)
    assert (found.plain, found.reasons) == (expected.plain, expected.reasons)


def test_regular_rows_are_taken() -> None:
    data = b"op,ts,id,v\n" + b'U,2026-01-01 00:00:00,1,"a""b"\n' * 500
    with operations_taken() as taken:
        found = read("csv", data, told("csv", tableName="T", opColumn="op", opTsColumn="ts"))
    assert taken.operations >= 498
    assert found.plain[-1].after == {"id": "1", "v": 'a"b'}
    assert found.plain[-1].op_ts == "2026-01-01 00:00:00.000000"


@given(st.text("ab1,;|\t\"'\\\n\r\ufeffé", max_size=60), st.booleans())
@examples(1000)
def test_any_text_has_a_layout(text: str, whole: bool) -> None:
    """Whatever a file starts with: its rows are read, or refused; one column is never assumed."""
    found = find_layout(text.encode(), whole, PlainCsvOptions())
    assert found.problem is not None or found.names is None or len(found.names) > 1
    kept = read("csv", text.encode(), told("csv", tableName="T"))
    lines = [line for line in io.StringIO(text.lstrip("\ufeff"), newline="") if line.strip("\r\n")]
    assert kept.plain or kept.rejects or len(lines) < 2 or found.names is not None


# JSON


def test_rows_of_json() -> None:
    data = b'{"id":1,"v":null,"n":1.50}\n{"id":2,"v":{"a":[1]}}\n{}\n"x"\n{"id":3\n'
    found = read("jsonl", data, told("jsonl", tableName="T"))
    assert [item.after for item in found.plain] == [{"id": "1", "v": None, "n": "1.50"}, {"id": "2", "v": '{"a":[1]}'}]
    assert [reason[:5] for reason in found.reasons] == ["GG305", "GG301", "GG301"]
    found = read(
        "jsonl", b'[{"op":"D","id":1},{"op":"q","id":1},{"id":1}]', told("jsonl", tableName="T", opColumn="op")
    )
    assert [(item.op, item.before) for item in found.plain] == [("D", {"id": "1"})]
    assert [reason[:5] for reason in found.reasons] == ["GG304", "GG305"]
    found = read("jsonl", b'{"id":1,"v":2}', told("jsonl", tableName="T", primaryKeys="*=id"))
    assert [table.key_names for table, _ in found.operations] == [("id",)]
    found = read("jsonl", b'{"columns":["a"],"index":[0],"data":[[1]]}\n', told("jsonl", tableName="T"))
    assert found.reasons == ["GG308 the record is a whole table"]


@pytest.mark.parametrize("name", ["csv", "jsonl", "inserts"])
def test_changes_of_another_format_are_no_rows(name: str, tmp_path: Path) -> None:
    file = tmp_path / "in.json"
    file.write_bytes(b'{"table":"S.T","op_type":"I","op_ts":"2026-01-01 00:00:00.000000","pos":"1","after":{"ID":1}}\n')
    with pytest.raises(Abend, match="the input has changes in the format `json`, and no rows"):
        run_ggfmt([file], tmp_path / "out", input_format=name)


def test_standard_input_names_no_table() -> None:
    with pytest.raises(RecordError, match="the path of the file does not name its table"):
        table_of("<stdin>")
    assert [table_of(name) for name in ("a/orders.csv.gz", "s3://b/S.T.jsonl")] == ["orders", "S.T"]


def test_files_of_several_tables(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_bytes(b"id,v\n1,x\n")
    (tmp_path / "in" / "b.csv").write_bytes(b"id;w\n1;x\n2;y\n")
    (tmp_path / "in" / "empty.csv").write_bytes(b"")
    result = run_ggfmt([tmp_path / "in"], tmp_path / "out", input_format="inserts")
    assert result.totals.operations == {("a", "I"): 1, ("b", "I"): 2}
