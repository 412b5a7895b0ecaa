"""The newer types of Avro columns: decimals, numbers as strings, times; as bytes, as schemas, and read back."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from dialects import ALL_SHOWN, Read, read, told, written
from hypothesis import given
from hypothesis import strategies as st
from oracle import PlainColumn, PlainOperation, PlainTable
from runs import operation, run_ggfmt, write_lines
from strategies import Changes, examples

from ggfmt.columnar.avro import optional_decimals, optional_micros
from ggfmt.columnar.pieces import join_binary, zigzag_varint
from ggfmt.diagnostics.diagnostic import ConfigurationError
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import Context
from ggfmt.formats.api.writing import RowErrors
from ggfmt.formats.goldengate.avro import AvroOptions
from ggfmt.formats.goldengate.avro.schema import AvroSchema
from ggfmt.formats.goldengate.avro.table_schema import avro_schema
from ggfmt.java.date_format import date_mask
from ggfmt.java.text import InvalidValueError
from ggfmt.model.table import Column, Kind, SqlType, TableDef

AVRO = ("avro_row", "avro_op", "avro_row_ocf", "avro_op_ocf")
DECIMALS = {"enableDecimalLogicalType": "true"}


def plain_decimal(text: str, precision: int, scale: int) -> bytes | None:
    """The bytes by the book: Java's `new BigDecimal(text).setScale(scale).unscaledValue().toByteArray()`."""
    number = Decimal(text)
    exact = number.scaleb(scale) if number.adjusted() < 60 else None
    if exact is None or exact != int(exact) or abs(int(exact)) >= 10**precision:
        return None
    whole = int(exact)
    size = 1
    while not -(1 << (8 * size - 1)) <= whole < 1 << (8 * size - 1):
        size += 1
    return whole.to_bytes(size, "big", signed=True)


_sizes = st.integers(1, 28).flatmap(lambda p: st.tuples(st.just(p), st.integers(0, p)))
_numbers = st.one_of(
    st.builds(lambda n, e: f"{n}E{e}", st.integers(-(10**6), 10**6), st.integers(-8, 12)),
    st.builds(lambda n, e: f"{Decimal(n).scaleb(-e):f}", st.integers(-(10**20), 10**20), st.integers(0, 8)),
    st.builds(lambda n, k, d: str(n * (1 << k) + d), st.sampled_from([-1, 1]), st.integers(0, 70), st.integers(-1, 1)),
    st.sampled_from(["0", "-0", "0.00", "+7", "007", "1.", ".5", "-128", "-129", "127", "128", "0E9"]),
)


@examples(400)
@given(_sizes, st.lists(st.one_of(st.none(), _numbers), min_size=1, max_size=6))
def test_decimals_are_those_of_java_or_no_value(sizes: tuple[int, int], values: list[str | None]) -> None:
    pieces, bad = optional_decimals(*sizes)(pa.array(["x", *values], pa.string()).slice(1))
    expected = [None if text is None else plain_decimal(text, *sizes) for text in values]
    wrong = [row for row, data in enumerate(expected) if data is None and values[row] is not None]
    assert bad == wrong
    if not wrong:
        assert join_binary(pieces, len(values)).to_pylist() == [
            b"\0" if data is None else b"\2" + bytes([2 * len(data)]) + data for data in expected
        ]


@pytest.mark.parametrize(
    "text", ["", "x", " 1", "1 ", "0x1", "NaN", "Infinity", "1e", "٣", "1E9999999999", "1,5", "--1"]
)
def test_what_is_no_decimal(text: str) -> None:
    for sizes in ((8, 2), (164, 38)):
        assert optional_decimals(*sizes)(pa.array(["1", text], pa.string()))[1] == [1]


def table_of(**types: SqlType) -> TableDef:
    return TableDef("S.T", tuple(Column(name, kind) for name, kind in types.items()))


def types_in(table: TableDef, release: str = "21", **given: str) -> list[Any]:
    options = FORMATS["avro_row"].options.parse({"metaColumnsTemplate": "${optype}", **given})
    assert isinstance(options, AvroOptions)
    document = avro_schema(table, options, Context(release=release), by_image=False).document
    return [field["type"][1] for field in document["fields"][1:]]


def decimal(precision: int, scale: int) -> dict[str, Any]:
    return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}


NUMBERS = {
    "N": SqlType(Kind.NUMBER),
    "N_10_2": SqlType(Kind.DECIMAL, precision=10, scale=2),
    "N_S2": SqlType(Kind.DECIMAL, scale=2),
    "N_3_5": SqlType(Kind.DECIMAL, precision=3, scale=5),
    "N_5_M2": SqlType(Kind.DECIMAL, precision=5, scale=-2),
    "N_S0": SqlType(Kind.DECIMAL, scale=0),
    "INT": SqlType(Kind.INTEGER),
    "INT_20": SqlType(Kind.INTEGER, precision=20),
    "DOUBLE": SqlType(Kind.DOUBLE),
    "TEXT": SqlType(Kind.STRING),
}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, ["double", "double", "double", "double", "double", "long", "long", "long", "double", "string"]),
        (
            DECIMALS,
            [
                decimal(164, 38),
                decimal(10, 2),
                decimal(38, 2),
                decimal(5, 5),
                decimal(7, 0),
                decimal(38, 0),
                "long",
                decimal(20, 0),
                "double",
                "string",
            ],
        ),
        (
            {**DECIMALS, "oracleNumberScale": "10", "maxPrecision": "20"},
            [
                decimal(20, 10),
                decimal(10, 2),
                decimal(20, 2),
                decimal(5, 5),
                decimal(7, 0),
                decimal(20, 0),
                "long",
                decimal(20, 0),
                "double",
                "string",
            ],
        ),
        (
            {**DECIMALS, "mapOracleNumbersAsStrings": "true", "maxPrecision": "4"},
            [
                "string",
                decimal(4, 2),
                decimal(4, 2),
                decimal(4, 4),
                decimal(4, 0),
                decimal(4, 0),
                "long",
                decimal(4, 0),
                "double",
                "string",
            ],
        ),
        (
            {"mapLargeNumbersAsStrings": "true"},
            ["string", "double", "string", "double", "double", "string", "long", "string", "double", "string"],
        ),
        ({"mapOracleNumbersAsStrings": "true"}, ["double"] * 5 + ["long"] * 3 + ["double", "string"]),
        ({**DECIMALS, "treatAllColumnsAsStrings": "true"}, ["string"] * 10),
    ],
    ids=str,
)
def test_the_types_of_numbers(given: dict[str, str], expected: list[Any]) -> None:
    assert types_in(table_of(**NUMBERS), **given) == expected


def test_a_decimal_in_the_text_of_a_schema() -> None:
    options = FORMATS["avro_row"].options.parse({"metaColumnsTemplate": "${optype}", **DECIMALS})
    assert isinstance(options, AvroOptions)
    made = avro_schema(table_of(N=NUMBERS["N_10_2"]), options, Context(), by_image=False)
    assert isinstance(made, AvroSchema)
    assert made.text.endswith(
        """  }, {
    "name" : "N",
    "type" : [ "null", {
      "type" : "bytes",
      "logicalType" : "decimal",
      "precision" : 10,
      "scale" : 2
    } ],
    "default" : null
  } ],
  "ggfmt.metaColumnsTemplate" : "${optype}"
}"""
    )
    assert fastavro.schema.to_parsing_canonical_form(dict(made.document)).endswith('"type":["null","bytes"]}]}')


TABLE = PlainTable("S.T", (PlainColumn("ID", "string", 1), PlainColumn("N", "number"), PlainColumn("D", "decimal")))
DEFINITION = TableDef(
    "S.T",
    (Column("ID", key=1), Column("N", NUMBERS["N"]), Column("D", SqlType(Kind.DECIMAL, precision=9, scale=3))),
)


def story(*cells: tuple[str | None, str | None]) -> Changes:
    operations = [
        PlainOperation("I", "t", f"{n}", None, {"ID": "1", "N": a, "D": b}, {}) for n, (a, b) in enumerate(cells)
    ]
    return Changes(TABLE, operations, False)


def back(name: str, data: bytes, **options: str) -> Read:
    defined = {} if name.endswith("_ocf") else {"S.T": DEFINITION}
    return read(name, data, told(name, **options), trusted=defined)


@pytest.mark.parametrize("name", AVRO)
def test_decimals_come_back_with_the_digits_of_their_scale(name: str) -> None:
    options = {**DECIMALS, "oracleNumberScale": "10"}
    cells = [("144", "17520.000"), ("-0.0000000001", "-5.5"), (None, "0"), ("9" * 100, "-999999.999"), ("1E3", None)]
    found = back(name, written(name, story(*cells), DEFINITION, ALL_SHOWN, **options), **options)
    assert found.rejects == []
    images = [item.after for item in found.plain]
    assert [image and (image["N"], image["D"]) for image in images] == [
        ("144.0000000000", "17520.000"),
        ("-0.0000000001", "-5.500"),
        (None, "0.000"),
        ("9" * 100 + ".0000000000", "-999999.999"),
        ("1000.0000000000", None),
    ]
    kinds = {(column.name, column.type) for column in found.operations[0][0].columns[1:]}
    if name.endswith("_ocf"):
        number = SqlType(Kind.DECIMAL, precision=164, scale=10)
        assert kinds == {("N", number), ("D", SqlType(Kind.DECIMAL, precision=9, scale=3))}


@pytest.mark.parametrize(
    ("value", "more", "wanted"),
    [
        ("1000000", {}, "a number of at most 9 digits, 3 of them after the decimal point"),
        ("0.0001", {}, "a number of at most 9 digits, 3 of them after the decimal point"),
        ("12.5", {"maxPrecision": "4"}, "a number of at most 4 digits, 3 of them after the decimal point"),
        ("x", {}, "a number of at most 9 digits, 3 of them after the decimal point"),
    ],
)
def test_a_value_that_does_not_fit_is_a_reject(value: str, more: dict[str, str], wanted: str) -> None:
    with pytest.raises(RowErrors) as errors:
        written(
            "avro_row",
            story(("1", "1"), ("1", value)),
            DEFINITION,
            ALL_SHOWN,
            **DECIMALS | {"oracleNumberScale": "0"} | more,
        )
    ((row, problem),) = errors.value.rows
    assert (row, problem.code, problem.span.field) == (1, "GG401", "D")
    assert problem.message.endswith(f"but the value is not {wanted}")


# Times

MASK = "yyyy-MM-dd HH:mm:ss.SSSSSS"
TIMES = {"enableTimestampLogicalType": "true"}
_MOMENTS = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999))


@examples(200)
@given(st.lists(st.one_of(st.none(), _MOMENTS), max_size=5))
def test_times_are_microseconds_in_utc(moments: list[datetime | None]) -> None:
    texts = [moment and moment.isoformat(" ", "microseconds") for moment in moments]
    pieces, bad = optional_micros(date_mask(MASK))(pa.array(texts, pa.string()))
    assert bad == []
    ticks = timedelta(microseconds=1)
    numbers = [None if moment is None else (moment - datetime(1970, 1, 1)) // ticks for moment in moments]
    assert join_binary(pieces, len(texts)).to_pylist() == [
        b"\0" if number is None else b"\2" + zigzag_varint(number) for number in numbers
    ]


@pytest.mark.parametrize(
    ("mask", "text", "micros"),
    [
        ("yyyy-MM-dd HH-mm:ss.SSS", "1970-01-01 00-00:01.250", 1_250_000),  # the sample of the manual
        ("yyyy-MM-dd:HH:mm:ss", "1994-09-30:15:33:00", 780_939_180_000_000),
        ("dd.MM.yyyy", "02.01.1970", 86_400_000_000),
        ("yyyy-MM-dd'T'HH:mm:ss.SSSSSSSSS", "1970-01-01T00:00:00.000001000", 1),
        ("yyyyMMdd''HHmmss", "19691231'235959", -1_000_000),
        ("yyyy-MM-dd HH:mm:ss.SSS", "1970-01-01 00:00:01", None),
        ("yyyy-MM-dd HH:mm:ss", "1970-01-01 00:00:01.5", None),
        ("yyyy-MM-dd HH:mm:ss", "1970-13-01 00:00:01", None),
        ("yyyy-MM-dd HH:mm:ss", "1970-02-30 00:00:01", None),
        ("yyyy-MM-dd HH:mm:ss", "1970-01-01 00:00:01Z", None),
        ("yyyy.MM.dd", "1970-01-01", None),
        ("yyyy-MM-dd HH:mm:ss.SSSSSSSSS", "1970-01-01 00:00:00.000000001", None),
        ("yyyy-MM-dd", "", None),
    ],
)
def test_masks(mask: str, text: str, micros: int | None) -> None:
    pieces, bad = optional_micros(date_mask(mask))(pa.array([text], pa.string()))
    if micros is None:
        assert bad == [0]
    else:
        assert (join_binary(pieces, 1).to_pylist(), bad) == ([b"\2" + zigzag_varint(micros)], [])


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        ("yyyy-MM-dd hh:mm", "has `hh`, by which ggfmt reads no times"),
        ("yyyy-MMM-dd", "has `MMM`, by which ggfmt reads no times"),
        ("yyyy-MM-dd'T", "has a quote without its end"),
        ("HH:mm", "has no `yyyy`"),
        ("yyyy-MM-dd dd", "has `dd` twice"),
        ("yyyy-MM-dd SSSSSSSSSS", "has `SSSSSSSSSS`, by which ggfmt reads no times"),
        ("", "has no `yyyy`"),
    ],
)
def test_masks_that_are_none(mask: str, message: str) -> None:
    with pytest.raises(InvalidValueError) as error:
        date_mask(mask)
    assert str(error.value) == message


AT = TableDef("S.T", (Column("ID", key=1), Column("AT", SqlType(Kind.TIMESTAMP)), Column("DAY", SqlType(Kind.DATE))))


def times(at: str | None, day: str | None) -> Changes:
    columns = PlainColumn("ID", "string", 1), PlainColumn("AT", "timestamp"), PlainColumn("DAY", "date")
    table = PlainTable("S.T", columns)
    return Changes(table, [PlainOperation("I", "t", "1", None, {"ID": "1", "AT": at, "DAY": day}, {})], False)


@pytest.mark.parametrize("name", AVRO)
def test_times_come_back_with_six_digits(name: str) -> None:
    context = replace(ALL_SHOWN, timestamp_mask="yyyy-MM-dd:HH:mm:ss")
    data = written(name, times("1994-09-30:15:33:00", None), AT, context, **TIMES)
    found = read(name, data, told(name, **TIMES), trusted={} if name.endswith("_ocf") else {"S.T": AT})
    assert found.reasons == []
    (item,) = found.plain
    assert item.after == {"ID": "1", "AT": "1994-09-30 15:33:00.000000", "DAY": None}
    with pytest.raises(RowErrors) as errors:
        written(name, times("1994-09-30:15:33:00", "1994-09-30"), AT, context, **TIMES)
    ((_, problem),) = errors.value.rows
    assert (problem.code, problem.span.field) == ("GG401", "DAY")
    assert problem.message.endswith("but the value is not a time that matches the mask `yyyy-MM-dd:HH:mm:ss`")


def test_the_schema_of_a_time() -> None:
    assert types_in(AT, **TIMES) == ["string", *[{"type": "long", "logicalType": "timestamp-micros"}] * 2]
    assert types_in(AT, **TIMES, treatAllColumnsAsStrings="true") == ["string"] * 3


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        ("", "`enableTimestampLogicalType` needs the mask of times in columns, `gg.format.timestamp`"),
        ("gg.format.timestamp=yyyy", "`gg.format.timestamp` has no `MM`"),
    ],
)
def test_a_handler_without_a_mask_is_an_error(mask: str, message: str, tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", [operation(1)])
    settings = ["gg.handler.a.format=avro_row", "gg.handler.a.format.enableTimestampLogicalType=true"]
    settings.append("ggfmt.compatibility=21")
    with pytest.raises(ConfigurationError) as error:
        run_ggfmt([source], tmp_path / "out", *settings, *([mask] if mask else []))
    (found,) = error.value.diagnostics
    assert (found.code, found.message) == ("GG216", message)
    run_ggfmt([source], tmp_path / "good", *settings, "gg.format.timestamp=yyyy-MM-dd HH:mm:ss")
