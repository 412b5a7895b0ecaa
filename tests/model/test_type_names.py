"""Names of types mean what the manuals of the databases say, and values at the ends of their ranges stay."""

from __future__ import annotations

import json
import logging
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from places import SHARED_DATA
from runs import content, write_lines

import ggfmt
from ggfmt.columnar.typed import as_text
from ggfmt.diagnostics.diagnostic import Abend
from ggfmt.frames.column_types import column_type, type_name
from ggfmt.model.table import Kind
from ggfmt.model.type_names import rules, type_of

LONG, WIDE = "9223372036854775807", "18446744073709551615"
DOUBLES, SINGLES = ("123456789.123", "1.7976931348623157E308", "5E-324"), ("3.4028235E38", "1E-45", "0.1")
NINES = "9" * 38
# By dialect and type: the type of rows, and values at the ends of its range
EDGES: dict[str, dict[str, tuple[str, tuple[str, ...]]]] = {
    "mysql": {
        **dict.fromkeys(("float8", "REAL", "float(53)", "FLOAT(25)", "double precision", "real (10,7) signed",
                         "Double(10, 7) unsigned zerofill"), ("double", DOUBLES)),
        **dict.fromkeys(("float", "FLOAT4", "float(24)", "float(7,4)", "float(0) unsigned"), ("float", SINGLES)),
        **dict.fromkeys(("int8", "bigint(20)", "bigint signed"), ("bigint", (f"-{LONG[:-1]}8", LONG))),
        **dict.fromkeys(("int8 unsigned", "bigint(20) unsigned zerofill", "bigint zerofill", "serial"),
                        ("decimal(20,0)", ("0", WIDE))),
        **dict.fromkeys(("int unsigned", "integer(10) zerofill", "int4 unsigned"), ("bigint", ("0", "4294967295"))),
        **dict.fromkeys(("middleint", "int3", "mediumint(9)"), ("bigint", ("-8388608", "8388607"))),
        **dict.fromkeys(("tinyint(1)", "int1"), ("bigint", ("-128", "127"))), "year(4)": ("bigint", ("1901", "2155")),
        **dict.fromkeys(("fixed(38,3)", "DEC(38, 3) unsigned"), ("decimal(38,3)", (f"{NINES[:35]}.999",))),
        "decimal(65,30)": ("string", (f"{NINES[:35]}.{NINES[:30]}",)),
        **dict.fromkeys(("numeric", "dec", "fixed", "decimal(0)"), ("decimal(10,0)", ("-9999999999", "9999999999"))),
        **dict.fromkeys(("national varchar(5)", "nchar varchar(5)", "national char varying(5)", "nchar(5)",
                         "long varchar", "character varying(5)", "varchar(5) character set utf8mb4 collate utf8mb4_bin",
                         "char(5) binary", "enum('a''b','c,)')", "set('x')", "bit(64)", "json"),
                        ("string", ("ä ", ""))),
        "bool": ("boolean", ("true", "false")), "datetime(6)": ("timestamp_ntz", ("9999-12-31 23:59:59.999999",)),
        "time(6)": ("time", ("23:59:59.999999",)), "date": ("date", ("1000-01-01", "9999-12-31")),
    },
    "oracle": {
        **dict.fromkeys(("real", "float", "FLOAT(63)", "float(126)", "double precision", "number", "number(*)"),
                        ("string", (f"{NINES[:37]}E88", "1E-130", "123456789.123"))),
        "binary_float": ("float", SINGLES), "BINARY_DOUBLE": ("double", DOUBLES),
        "number(*,2)": ("decimal(38,2)", (f"-{NINES[:36]}.99",)), "number(5,-2)": ("decimal(7,0)", ("9999900",)),
        "number(2,5)": ("decimal(5,5)", ("0.00099",)), "number(38)": ("decimal(38,0)", (NINES, f"-{NINES}")),
        **dict.fromkeys(("numeric", "dec", "decimal(38)"), ("decimal(38,0)", (NINES,))),
        **dict.fromkeys(("integer", "int", "smallint"), ("bigint", (LONG,))),
        **dict.fromkeys(("varchar2(9 char)", "NVARCHAR2(9)", "national character varying(9)", "nchar varying(9)",
                         "long varchar", '"SYS"."XMLTYPE"', "interval day (9) to second (9)"), ("string", ("a ",))),
        "timestamp(9)": ("string", ("2026-01-01 00:00:00.123456789",)),
        "date": ("timestamp_ntz", ("0001-01-01 23:59:59",)),
        "timestamp(6) with local time zone": ("timestamp_ntz", ("2026-01-01 00:00:00.123456",)),
    },
    "postgres": {
        **dict.fromkeys(("float", "float8", "float(25)", "double precision"), ("double", DOUBLES)),
        **dict.fromkeys(("real", "float4", "float(24)", "float(1)"), ("float", SINGLES)),
        **dict.fromkeys(("int8", "bigserial", "serial8"), ("bigint", (LONG,))),
        **dict.fromkeys(("serial", "int4", "pg_catalog.int4"), ("bigint", ("2147483647",))),
        **dict.fromkeys(("numeric", "dec"), ("string", (f"{NINES}{NINES}.5",))),
        "numeric(3,-2)": ("decimal(5,0)", ("99900",)),
        "numeric(2,5)": ("decimal(5,5)", ("-0.00099",)),
        **dict.fromkeys(("timestamptz", "timestamp(6) with time zone"),
                        ("timestamp", ("2026-01-01 00:00:00.123456Z",))),
        **dict.fromkeys(("timetz", "time(3) with time zone"), ("string", ("24:00:00+14",))),
        **dict.fromkeys(("character varying(5)", "national character(5)", "nchar varying(5)", "bit varying(5)",
                         "public.geometry(Point,4326)", '"char"', "interval day to second(3)", "jsonb"),
                        ("string", ("a ",))),
        **dict.fromkeys(("int8[]", "bigint array", "int8[3]"), ("array<bigint>", (f"[{LONG}]",))),
    },
    "sqlserver": {
        **dict.fromkeys(("float", "float(25)", "float(53)", "double precision"), ("double", DOUBLES)),
        **dict.fromkeys(("real", "float(24)"), ("float", SINGLES)), "tinyint": ("bigint", ("0", "255")),
        "money": ("decimal(19,4)", ("-922337203685477.5808",)), "smallmoney": ("decimal(10,4)", ("214748.3647",)),
        **dict.fromkeys(("decimal", "dec", "numeric"), ("decimal(18,0)", (NINES[:18],))),
        **dict.fromkeys(("datetime2", "datetime2(7)"), ("string", ("9999-12-31 23:59:59.9999999",))),
        "datetime2(3)": ("timestamp_ntz", ("9999-12-31 23:59:59.999",)),
        "smalldatetime": ("timestamp_ntz", ("2079-06-06 23:59:00",)),
        **dict.fromkeys(("datetimeoffset", "datetimeoffset(7)"), ("string", ("2026-01-01 00:00:00.1234567 +14:00",))),
        "datetimeoffset(3)": ("timestamp", ("2026-01-01 00:00:00.123Z",)), "time": ("string", ("23:59:59.9999999",)),
        **dict.fromkeys(("nvarchar(max)", "national char varying(5)", "[nvarchar](5)", "sysname", "uniqueidentifier"),
                        ("string", ("a ",))),
    },
    "db2": {
        **dict.fromkeys(("float", "float(22)", "double", "double precision"), ("double", DOUBLES)),
        **dict.fromkeys(("real", "float(21)"), ("float", SINGLES)),
        **dict.fromkeys(("decfloat", "decfloat(34)"), ("string", (f"{NINES[:34]}E6111", "NaN"))),
        **dict.fromkeys(("decimal", "dec", "num"), ("decimal(5,0)", ("-99999",))),
        "decimal(31,2)": ("decimal(31,2)", ("0.01",)),
        "timestamp(12)": ("string", ("2026-01-01 00:00:00.123456789012",)), "smallint": ("bigint", ("-32768",)),
        **dict.fromkeys(("char(5) for bit data", "varchar(5) for sbcs data", "vargraphic(5)", "long varchar",
                         "clob(1M)", "varchar(5 octets)"), ("string", ("YQ==",))),
    },
}  # fmt: skip


@pytest.mark.parametrize(
    ("dialect", "text", "row"), [(dialect, text, row) for dialect, of in EDGES.items() for text, (row, _) in of.items()]
)
def test_a_name_is_the_type_of_the_manual(dialect: str, text: str, row: str) -> None:
    type = type_of(text.replace("[nvarchar]", "nvarchar"), dialect)
    assert (type_name(column_type(type)), type.unknown) == (row, "")


@pytest.mark.parametrize("dialect", EDGES)
def test_values_at_the_ends_stay_in_messages_and_rows(tmp_path: Path, dialect: str) -> None:
    types = EDGES[dialect]
    names = [f"c{place}" if dialect == "postgres" else f"C{place}" for place in range(len(types))]
    table, key = ("s.t", "id") if dialect == "postgres" else ("S.T", "ID")
    columns = ", ".join(f"{name} {text}" for name, text in zip(names, types, strict=True))
    (tmp_path / "t.sql").write_text(
        f"-- ggfmt: dialect={dialect}\ncreate table {table} ({key} int primary key, {columns});"
    )
    longest = max(len(values) for _, values in types.values())
    written = [
        {
            key: str(row),
            **{name: of[min(row, len(of) - 1)] for name, (_, of) in zip(names, types.values(), strict=True)},
        }
        for row in range(longest)
    ]
    records = [
        {"table": table, "op_type": "I", "op_ts": "2026-01-01 00:00:00.000000", "pos": f"{row:020d}", "after": after}
        for row, after in enumerate(written)
    ]
    given: dict[str, Any] = {"definitions": tmp_path / "t.sql", "master": "none", "strict": True}
    path = write_lines(tmp_path / "in.json", records)
    document = ggfmt.consolidate(path, tmp_path / "rows", **given)
    shown = document["tables"][table]["columns"]
    assert [shown[name] for name in names] == [row for row, _ in types.values()]
    rows = parquet.read_table(tmp_path / "rows" / table).sort_by(key)
    for name in names:
        column = rows[name].combine_chunks()
        for own, back in zip(written, as_text(column).to_pylist(), strict=True):
            assert plain(back) == plain(own[name]), (types, name)
    ggfmt.convert(path, to="json", output=tmp_path / "messages", input_format="json", **given)
    messages = [json.loads(line, parse_float=str) for line in content(tmp_path / "messages", "json").splitlines()]
    for own, message in zip(written, messages, strict=True):
        for name in names:
            assert plain(str(message["after"][name])) == plain(own[name]), name


def plain(text: str | None) -> object:
    """Return one form of the texts of equal values."""
    text = {"True": "true", "False": "false"}.get(text or "", text or "")
    try:
        return Decimal(text) if not text.startswith("NaN") else "NaN"
    except InvalidOperation:
        return text.replace("T", " ").removesuffix("Z").removesuffix(".000000").removesuffix("000").strip("[]")


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        ("mysql", "floating"),
        ("mysql", "intt(10)"),
        ("oracle", "int8"),
        ("oracle", "numberx"),
        ("postgres", "float9"),
        ("postgres", "timestampz"),
        ("postgres", "datetime"),
        ("sqlserver", "datetime3"),
        ("db2", "decfloats(34)"),
    ],
)
def test_a_part_of_a_name_is_no_name(dialect: str, text: str) -> None:
    type = type_of(text, dialect)
    assert (type_name(column_type(type)), type.unknown) == ("string", text)


def test_no_name_is_there_twice() -> None:
    listed = (Path(ggfmt.__file__).parent / "model" / "type_names.txt").read_text(encoding="utf-8").splitlines()
    names = [line.partition(": ")[2].split(", ") for line in listed if line and line[0] not in "#["]
    assert sum(map(len, names)) == sum(map(len, rules().values()))
    assert all(name == " ".join(name.lower().split()) for of in names for name in of)


# Records

CANAL = {
    "database": "d",
    "table": "t",
    "type": "INSERT",
    "isDdl": False,
    "es": 1700000000000,
    "id": 1,
    "pkNames": ["id"],
    "old": None,
}


def canal(path: Path, *rows: tuple[dict[str, str], dict[str, str]]) -> Path:
    """Write messages of Canal: types and values by column."""
    return write_lines(
        path, [{**CANAL, "id": place, "mysqlType": types, "data": [row]} for place, (types, row) in enumerate(rows)]
    )


def test_types_of_canal_are_those_of_mysql(tmp_path: Path) -> None:
    of = {text: (row, values) for text, (row, values) in EDGES["mysql"].items() if row not in ("boolean", "date")}
    unsized = {"numeric", "dec", "fixed", "decimal(0)"}  # records leave sizes out
    types = {"id": "int", **{f"c{place}": text for place, text in enumerate(of)}}
    row = {"id": "1", **{f"c{place}": values[0] for place, (_, values) in enumerate(of.values())}}
    document = ggfmt.consolidate(
        canal(tmp_path / "in.json", (types, row)), tmp_path / "out", master="none", strict=True
    )
    shown = document["tables"]["d.t"]["columns"]
    for place, (text, (expected, values)) in enumerate(of.items()):
        assert shown[f"c{place}"] == ("string" if text in unsized else expected), text
        back = parquet.read_table(tmp_path / "out" / "d.t")[f"c{place}"].combine_chunks()
        assert plain(as_text(back)[0].as_py()) == plain(values[0]), text


def test_an_unknown_type_is_a_warning_for_its_table(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    types = {"id": "int", "a": "floating", "b": "float", "c": "intt(3)"}
    rows = [(types, {"id": str(number), "a": "1.234567890123", "b": "0.5", "c": "7"}) for number in range(5)]
    path = canal(tmp_path / "in.json", *rows)
    with caplog.at_level(logging.WARNING, "ggfmt"):
        document = ggfmt.consolidate(path, tmp_path / "rows", master="none", strict=True)
        ggfmt.convert(path, to="json", output=tmp_path / "messages", master="none")
    shown = document["tables"]["d.t"]["columns"]
    assert [shown[name] for name in "abc"] == ["string", "float", "string"]
    found = [line for line in caplog.messages if "GG219" in line]
    assert len(found) == 2  # one for each command
    assert "table d.t: " in found[0] and "`a floating`, `c intt(3)`" in found[0]


def test_a_definition_with_the_type_ends_the_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "t.sql").write_text("create table `d`.`t` (`id` int, `a` double)")
    path = canal(tmp_path / "in.json", ({"id": "int", "a": "floating"}, {"id": "1", "a": "0.5"}))
    document = ggfmt.consolidate(path, tmp_path / "rows", master="none", definitions=tmp_path / "t.sql")
    assert document["tables"]["d.t"]["columns"]["a"] == "double"
    assert "GG219" not in caplog.text


@pytest.mark.skipif(not SHARED_DATA.is_dir(), reason="the cases are not there")
def test_recorded_cases(tmp_path: Path) -> None:
    cases = SHARED_DATA / "cases" / "types"
    given: dict[str, Any] = {"master": "none", "strict": True}
    document = ggfmt.consolidate(cases / "float8-canal.json", tmp_path / "canal", **given)
    assert list(document["tables"]["d.t"]["columns"].values()) == ["bigint", "double", "double", "double", "bigint"]
    ggfmt.consolidate(cases / "real-oracle.json", tmp_path / "oracle", definitions=cases / "real-oracle.sql", **given)
    (row,) = parquet.read_table(tmp_path / "oracle" / "S.T").to_pylist()
    assert (row["R"], row["F"]) == ("123456789.123", "123456789.123")
    with pytest.raises(Abend, match="GG530"):
        ggfmt.consolidate(cases / "real-oracle.json", tmp_path / "float", key="ID", types={"S.T.R": "float"}, **given)


@given(st.text(" ()[]',.\"`*-0123456789abcdeflnoprtuw\n\\", max_size=60), st.sampled_from(sorted(rules())))
def test_any_text_is_a_type_or_unknown(text: str, dialect: str) -> None:
    found = type_of(text, dialect)
    column_type(found)
    assert (found.length or 0) >= 0 and (found.precision or 0) >= 0
    assert not found.unknown or found.kind is Kind.STRING


@pytest.mark.parametrize(
    "text", ["enum(" + "''" * 5000, "int" + " " * 100_000 + ")", "int" + "[]" * 5000, "x" + "(" * 5000]
)
def test_a_long_text_is_read_at_once(text: str) -> None:
    assert all(type_of(text, dialect).unknown for dialect in rules())
