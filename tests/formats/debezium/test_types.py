"""The types of Debezium: Connect schemas and how values are encoded, checked by another way of working them out."""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from contract.debezium import ROW_FIELDS, event, field, wrapped
from debezium_rows import NAME
from dialects import lines, read, told
from hypothesis import given
from hypothesis import strategies as st
from scanners import without_kernels
from strategies import examples

from ggfmt.arrow.arrays import non_null_values
from ggfmt.columnar.columns import texts
from ggfmt.formats.api.format import Projection
from ggfmt.formats.connect.schemas import MAX_SCALE
from ggfmt.formats.connect.values import decimals
from ggfmt.formats.debezium import values as values
from ggfmt.formats.debezium.types import HistoryColumn, of_table_column
from ggfmt.model.table import Column, Kind, SqlType, TableDef

DECIMAL = "org.apache.kafka.connect.data.Decimal"


def described(type: str, semantic: str | None, shown: Sequence[Any], **parameters: str) -> tuple[str, list[Any]]:
    """The type of a column and its values (or the reason of a reject) as a file with schemas has them."""
    column = field("v", type, semantic, True, **parameters)
    found = read(NAME, lines(*(wrapped(event("c", None, {"v": value}), column) for value in shown)))
    made: list[Any] = [(item.after or {}).get("v", "missing") for item in found.plain]
    tables = {table for table, _ in found.operations} or {event.table for event in found.definitions}
    return str(next(iter(tables)).columns[0].type), made + found.reasons


def encoded(number: int) -> str:
    return base64.b64encode(number.to_bytes((number.bit_length() + 8) // 8, "big", signed=True)).decode()


WRONG = "GG314 a value does not match the description of its column"
TIME = "io.debezium.time."
CASES: list[tuple[str, str | None, dict[str, str], str, list[tuple[Any, str | None]]]] = [
    ("int8", None, {}, "integer", [(-128, "-128"), (None, None)]),
    ("int64", None, {}, "integer", [(9223372036854775807, "9223372036854775807"), (-1, "-1")]),
    (
        "int64",
        None,
        {"__debezium.source.column.type": "BIGINT UNSIGNED"},
        "integer(20)",
        [(-1, "18446744073709551615"), (5, "5"), (-(1 << 63), "9223372036854775808"), (None, None)],
    ),
    ("float32", None, {}, "float", [(0.33333334, "0.33333334"), ("NaN", "NaN"), (-0.0, "-0.0")]),
    ("float64", None, {}, "double", [(1e300, "1e+300"), ("-Infinity", "-Infinity")]),
    ("boolean", None, {}, "boolean", [(True, "true"), (False, "false"), (None, None)]),
    (
        "string",
        None,
        {"__debezium.source.column.length": "40"},
        "string(40)",
        [("", ""), ("null", "null"), (None, None)],
    ),
    ("bytes", None, {}, "binary", [("AP8=", "AP8="), ("", "")]),
    (
        "bytes",
        DECIMAL,
        {"scale": "2", "connect.decimal.precision": "10"},
        "decimal(10,2)",
        [
            ("AIk=", "1.37"),
            ("AA==", "0.00"),
            ("/w==", "-0.01"),
            ("gA==", "-1.28"),
            (None, None),
            (1.5, "1.5"),
            (1234, "1234"),
        ],
    ),
    ("bytes", DECIMAL, {"scale": "0"}, "decimal(0)", [("AP//////////", "18446744073709551615")]),
    ("bytes", DECIMAL, {"scale": "-2"}, "decimal(-2)", [("Dw==", "1500"), ("8Q==", "-1500")]),
    ("bytes", DECIMAL, {"scale": "5"}, "decimal(5)", [("AQ==", "0.00001")]),
    (
        "struct",
        "io.debezium.data.VariableScaleDecimal",
        {},
        "number",
        [({"scale": 2, "value": "AVI="}, "3.38"), ({"scale": -3, "value": "Aw=="}, "3000"), (None, None)],
    ),
    (
        "string",
        None,
        {
            "__debezium.source.column.type": "NUMERIC",
            "__debezium.source.column.length": "5",
            "__debezium.source.column.scale": "2",
        },
        "decimal(5,2)",
        [("7E+3", "7E+3"), ("1.50", "1.50")],
    ),
    ("string", None, {"__debezium.source.column.type": "NUMBER"}, "number", [("1.5", "1.5")]),
    ("float64", None, {"__debezium.source.column.type": "DECIMAL(5,2)"}, "decimal", [(1.25, "1.25")]),
    (
        "int32",
        TIME + "Date",
        {},
        "date",
        [
            (18460, "2020-07-17"),
            (-1, "1969-12-31"),
            (-719162, "0001-01-01"),
            (2932896, "9999-12-31"),
            (2932897, "10000-01-01"),
            (-719163, "0000-12-31"),
            (-719529, "-0001-12-31"),
            (None, None),
        ],
    ),
    ("int32", "org.apache.kafka.connect.data.Date", {}, "date", [(0, "1970-01-01")]),
    ("int32", TIME + "Time", {}, "time(3)", [(1, "00:00:00.001"), (86399999, "23:59:59.999")]),
    ("int32", "org.apache.kafka.connect.data.Time", {}, "time(3)", [(1000, "00:00:01.000")]),
    (
        "int64",
        TIME + "MicroTime",
        {},
        "time(6)",
        [
            (64822000000, "18:00:22.000000"),
            (-3020399000000, "-838:59:59.000000"),
            (86400000000, "24:00:00.000000"),
            (-1, "-00:00:00.000001"),
            (None, None),
        ],
    ),
    ("int64", TIME + "NanoTime", {}, "time(9)", [(1, "00:00:00.000000001")]),
    (
        "int64",
        TIME + "Timestamp",
        {},
        "timestamp(3)",
        [(1595008822123, "2020-07-17 18:00:22.123"), (-1, "1969-12-31 23:59:59.999")],
    ),
    ("int64", "org.apache.kafka.connect.data.Timestamp", {}, "timestamp(3)", [(0, "1970-01-01 00:00:00.000")]),
    (
        "int64",
        TIME + "MicroTimestamp",
        {},
        "timestamp(6)",
        [
            (1595008822123456, "2020-07-17 18:00:22.123456"),
            ("1595008822123456", "2020-07-17 18:00:22.123456"),
            (9223372036825200000, "infinity"),
            (-9223372036832400000, "-infinity"),
            (253402300800000000, "10000-01-01 00:00:00.000000"),
            (-62135596800000001, "0000-12-31 23:59:59.999999"),
            (None, None),
        ],
    ),
    (
        "int64",
        TIME + "NanoTimestamp",
        {},
        "timestamp(9)",
        [(1595008822123456789, "2020-07-17 18:00:22.123456789"), (-1, "1969-12-31 23:59:59.999999999")],
    ),
    ("string", TIME + "ZonedTimestamp", {}, "timestamp", [("2020-07-17T18:00:22.1Z", "2020-07-17T18:00:22.1Z")]),
    ("string", TIME + "ZonedTime", {}, "time", [("10:15:30Z", "10:15:30Z")]),
    ("int32", TIME + "Year", {}, "integer", [(2021, "2021")]),
    (
        "int64",
        TIME + "MicroDuration",
        {},
        "interval",
        [(3600000000, "01:00:00.000000"), (-90061000001, "-25:01:01.000001")],
    ),
    ("int64", TIME + "NanoDuration", {}, "interval", [(1, "00:00:00.000000001")]),
    ("string", TIME + "Interval", {}, "interval", [("P1Y2M3DT4H5M6.78S", "P1Y2M3DT4H5M6.78S")]),
    ("string", TIME + "IsoDate", {}, "date", [("2026-01-31Z", "2026-01-31"), ("odd", "odd")]),
    ("string", TIME + "IsoTime", {}, "time", [("10:15:30.5Z", "10:15:30.5")]),
    ("string", TIME + "IsoTimestamp", {}, "timestamp", [("2026-01-31T10:15:30Z", "2026-01-31 10:15:30"), (None, None)]),
    (
        "bytes",
        "io.debezium.data.Bits",
        {"length": "10"},
        "string(10)",
        [("LAE=", "0100101100"), ("AQ==", "0000000001"), ("", "0000000000")],
    ),
    ("bytes", "io.debezium.data.Bits", {}, "string", [("BA==", "00000100")]),
    ("string", "io.debezium.data.Enum", {"allowed": "a,b"}, "string", [("a", "a")]),
    ("string", "io.debezium.data.EnumSet", {"allowed": "a,b"}, "string", [("a,b", "a,b")]),
    ("string", "io.debezium.data.Json", {}, "string", [('{"a": 1}', '{"a": 1}')]),
    ("string", "io.debezium.data.Xml", {}, "string", [("<a/>", "<a/>")]),
    (
        "string",
        "io.debezium.data.Uuid",
        {},
        "string",
        [("c4ca4238-a0b9-2382-0dcc-509a6f75849b", "c4ca4238-a0b9-2382-0dcc-509a6f75849b")],
    ),
    (
        "struct",
        "io.debezium.data.geometry.Point",
        {},
        "string",
        [({"x": 1.0, "srid": None}, '{"x": 1.0, "srid": null}')],
    ),
    ("array", None, {}, "string", [(["a", None], '["a", null]'), ([], "[]")]),
    ("map", None, {}, "string", [({"a": "1"}, '{"a": "1"}')]),
]


@pytest.mark.parametrize(("type", "semantic", "parameters", "sql", "shown"), CASES)
def test_values_by_their_schema(
    type: str, semantic: str | None, parameters: dict[str, str], sql: str, shown: list[tuple[Any, str | None]]
) -> None:
    assert described(type, semantic, [value for value, _ in shown], **parameters) == (sql, [text for _, text in shown])
    for value, text in shown:  # alone, so that a batch is of one kind of JSON value
        assert described(type, semantic, [value], **parameters)[1] == [text]


@pytest.mark.parametrize(
    ("names", "number", "shown"),
    [
        (["Date"], (19358, "2023-01-01"), [("2023-01-01", "2023-01-01")]),
        (
            ["Time", "MicroTime", "NanoTime"],
            (0, "00:00:00."),
            [("00:00:00", "00:00:00"), ("23:59:59.123456789", "23:59:59.123456789")],
        ),
        (
            ["Timestamp", "MicroTimestamp", "NanoTimestamp"],
            (0, "1970-01-01 00:00:00."),
            [
                ("2023-01-01 00:00:00", "2023-01-01 00:00:00"),
                ("2023-01-01T00:00:00.5", "2023-01-01 00:00:00.5"),
                ("2024-02-29 12:00:00.123456", "2024-02-29 12:00:00.123456"),
            ],
        ),
        (["ZonedTimestamp"], ("2023-01-01 00:00:00Z",) * 2, [("2023-01-01T00:00:00.5Z", "2023-01-01T00:00:00.5Z")]),
    ],
)
def test_times_that_are_texts_under_names_of_numbers_are_read_as_they_come(
    names: list[str], number: tuple[Any, str], shown: list[tuple[str, str]]
) -> None:
    """Flink CDC's sink for Kafka names the types of Debezium and writes texts."""
    for name in names:
        texts_alone = [text for text, _ in shown]
        assert described("int64", TIME + name, texts_alone)[1] == [text for _, text in shown]
        mixed = described("int64", TIME + name, [number[0], *texts_alone, None])[1]
        assert mixed[0] is not None
        assert mixed[0].startswith(number[1])
        assert mixed[1:] == [*(text for _, text in shown), None]


@pytest.mark.parametrize(
    ("type", "semantic", "parameters", "value"),
    [
        *(("int32", TIME + "Date", {}, text) for text in ("2023-02-29", "2023-01-01 00:00:00", "2023-1-1", "")),
        *(("int64", TIME + "MicroTime", {}, text) for text in ("24:00:01", "00:00", "00:00:00.", "2023-01-01")),
        *(
            ("int64", TIME + "Timestamp", {}, text)
            for text in (
                "2023-01-01",
                "2023-02-30 00:00:00",
                "2023-01-01 24:00:00",
                "2023-01-01 00:00:00Z",
                "2023-01-01  00:00:00",
                "0000-01-01 00:00:00",
                "2023-01-01 00:00:00.1234567891",
            )
        ),
        ("bytes", DECIMAL, {"scale": "2"}, "1.5"),
        ("bytes", DECIMAL, {"scale": "2"}, ""),
        ("bytes", DECIMAL, {}, "AIk="),
        ("bytes", DECIMAL, {"scale": "x"}, "AIk="),
        ("bytes", DECIMAL, {"scale": "2"}, [1]),
        ("bytes", DECIMAL, {"scale": "2"}, "A" * 4000),
        ("bytes", DECIMAL, {"scale": "-20001"}, "AIk="),
        ("struct", "io.debezium.data.VariableScaleDecimal", {}, {"value": "AVI="}),
        ("struct", "io.debezium.data.VariableScaleDecimal", {}, {"scale": 10**9, "value": "AVI="}),
        ("int32", TIME + "Date", {}, "soon"),
        ("int32", TIME + "Date", {}, 1.5),
        ("int64", TIME + "MicroTimestamp", {}, 10**30),
        ("int64", TIME + "MicroTimestamp", {}, "0x10"),
        ("int64", TIME + "MicroTime", {}, {}),
        ("bytes", "io.debezium.data.Bits", {"length": "2"}, "BA=="),
        ("bytes", "io.debezium.data.Bits", {"length": "2"}, "?"),
    ],
)
def test_a_value_that_is_not_as_its_schema_says_is_a_reject(
    type: str, semantic: str, parameters: dict[str, str], value: Any
) -> None:
    assert described(type, semantic, [value], **parameters)[1] == [WRONG]
    assert described(type, semantic, [value, None], **parameters)[1] == [None, WRONG]


@examples(100)
@given(st.lists(st.integers(-(10**40), 10**40), min_size=1), st.integers(0, 45))
def test_decimals_are_what_python_makes_of_them(numbers: list[int], scale: int) -> None:
    made, bad = decimals(scale)(texts([encoded(number) for number in numbers]))
    assert bad == []
    assert made.to_pylist() == [
        format(Decimal((int(n < 0), tuple(map(int, str(abs(n)))), -scale)), "f") for n in numbers
    ]


@examples(100)
@given(st.lists(st.one_of(st.none(), st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31, 23)))))
def test_times_are_what_python_makes_of_them(times: list[datetime | None]) -> None:
    epoch = datetime(1970, 1, 1)
    micros = [None if at is None else str((at - epoch) // timedelta(microseconds=1)) for at in times]
    made, bad = values.timestamps("us")(texts(micros))
    assert bad == []
    assert made.to_pylist() == [None if at is None else f"{at.isoformat(' ', 'microseconds')}" for at in times]
    days = [None if at is None else str((at.date() - date(1970, 1, 1)).days) for at in times]
    assert values.dates(texts(days))[0].to_pylist() == [None if at is None else at.date().isoformat() for at in times]
    clock = [
        None if at is None else str((at - datetime.combine(at, datetime.min.time())) // timedelta(microseconds=1))
        for at in times
    ]
    shown = [None if at is None else at.time().isoformat("microseconds") for at in times]
    assert values.clocks("us")(texts(clock))[0].to_pylist() == shown


@examples(60)
@given(st.integers(-(1 << 62), 1 << 62), st.sampled_from(["ms", "us", "ns"]))
def test_every_number_is_a_time(number: int, unit: values.TimeUnit) -> None:
    per_second = 10 ** values.DIGITS[unit]
    made, bad = values.clocks(unit)(texts([str(number)]))
    assert bad == []
    sign, text = (-1, made[0].as_py()[1:]) if number < 0 else (1, made[0].as_py())
    hours, minutes, seconds = text.split(":")
    assert sign * ((int(hours) * 60 + int(minutes)) * 60 + Decimal(seconds)) * per_second == number
    assert values.timestamps(unit)(texts([str(number)]))[1] == []


def test_numbers_of_thousands_of_digits() -> None:
    most = encoded(0x7F << 8 * 1598)
    made, bad = decimals(-MAX_SCALE)(texts([most, "AA==", "/w=="]))
    assert bad == []
    assert [len(text) for text in non_null_values(made)] == [len(str(0x7F << 8 * 1598)) + 20000, 1, 20002]


# Unavailable values

PLACEHOLDER = "__debezium_unavailable_value"


def point(order: str, *srid: int) -> str:
    """Base64 of the WKB of POINT(-99999999 -99999999), with its SRID if there is one."""
    type = 0x20000001 if srid else 1
    layout = f"{order}B{'II' if srid else 'I'}dd"
    return base64.b64encode(struct.pack(layout, order == "<", type, *srid, -99999999, -99999999)).decode()


# A row for each type and handling mode: the placeholder, and what is of the placeholder `TOASTED?~ÿ`.
UNAVAILABLE: dict[str, tuple[str, str | None, Any, Any]] = {
    "text, citext, ranges, CLOB, NCLOB": ("string", None, PLACEHOLDER, "TOASTED?~ÿ"),
    "json": ("string", "io.debezium.data.Json", PLACEHOLDER, "TOASTED?~ÿ"),
    "xml, XMLTYPE": ("string", "io.debezium.data.Xml", PLACEHOLDER, "TOASTED?~ÿ"),
    "bytes": ("bytes", None, "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==", "VE9BU1RFRD9+w78="),
    "base64": ("string", None, "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==", "VE9BU1RFRD9+w78="),
    "base64-url-safe": ("string", None, "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==", "VE9BU1RFRD9-w78="),
    "hex": ("string", None, PLACEHOLDER.encode().hex(), "544f41535445443f7ec3bf"),
    "hstore, map": ("map", None, {PLACEHOLDER: PLACEHOLDER}, {"TOASTED?~ÿ": "TOASTED?~ÿ"}),
    "hstore, json": (
        "string", "io.debezium.data.Json", f'{{"{PLACEHOLDER}":"{PLACEHOLDER}"}}', '{"TOASTED?~ÿ":"TOASTED?~ÿ"}',
    ),
    "text[]": ("array", None, [PLACEHOLDER], ["TOASTED?~ÿ"]),
    "int[], bigint[]": ("array", None, list(PLACEHOLDER.encode()), [84, 79, 65, 83, 84, 69, 68, 63, 126, 195, 191]),
    "uuid[]": (
        "array", None, ["b68a35a7-17ad-35b3-af2a-ae46edb4545a"], ["83849cf4-7796-3c8c-966f-c7f775df7c83"],
    ),
    **{
        f"geometry, {order}, {srid}": ("struct", "io.debezium.data.geometry.Geometry", value, value)
        for order in "<>"
        for srid in ((), (4326,))
        for value in ({"wkb": point(order, *srid), "srid": 4326},)
    },
    "point": (
        "struct", "io.debezium.data.geometry.Point",
        *({"x": -99999999.0, "y": -99999999.0, "wkb": point("<"), "srid": 4326},) * 2,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("type", "semantic", "value", "other"), UNAVAILABLE.values(), ids=UNAVAILABLE)
def test_unavailable_values_are_missing(type: str, semantic: str | None, value: Any, other: Any) -> None:
    point = {"wkb": base64.b64encode(struct.pack("<BIdd", 1, 1, 0, 0)).decode(), "srid": 4326}
    ordinary = {"string": "x", "bytes": "AA==", "map": {}, "array": [], "struct": point}[type]
    shown = described(type, semantic, [value, ordinary, None])[1]
    assert shown[0] == "missing"
    assert shown[1] != "missing"
    assert shown[2] is None
    plain = [event("u", {"v": value}, {"v": value}), event("c", None, {"v": ordinary})]
    found = read(NAME, lines(*plain)).plain
    assert (found[0].before, found[0].after) == ({}, {})
    assert found[1].after != {}
    own = told(NAME, unavailableValuePlaceholder="TOASTED?~ÿ")
    assert read(NAME, lines(event("c", None, {"v": other}), *plain[1:]), own).plain[0].after == {}
    assert type == "struct" or read(NAME, lines(*plain), own).plain[0].after != {}


def test_arrays_in_schemas_of_connect_may_be_unavailable() -> None:
    items = {"uuid": field("", "string", "io.debezium.data.Uuid"), "date": field("", "int32", "io.debezium.time.Date")}
    values = {"uuid": ["b68a35a7-17ad-35b3-af2a-ae46edb4545a"], "date": list(PLACEHOLDER.encode())}
    fields = [{**field(name, "array"), "items": item} for name, item in items.items()]
    found = read(NAME, lines(wrapped(event("u", None, {"id": 1, **values}), ROW_FIELDS[0], *fields)))
    assert (found.reasons, found.plain[0].after) == ([], {"id": "1"})
    assert found.unavailable == [(set(), {"uuid", "date"})]


@pytest.mark.parametrize("make", [list, lambda events: list(map(wrapped, events))], ids=["plain", "with a schema"])
def test_unavailable_values_are_marked(make: Callable[[list[Any]], list[Any]]) -> None:
    whole, cut = {"id": 1, "name": "a"}, {"id": 1, "name": PLACEHOLDER}
    events = [
        event("c", None, whole),
        event("u", cut, cut),
        event("u", None, cut),
        event("d", cut),
        event("u", cut, whole),
    ]
    data = lines(*make(events))
    expected: list[tuple[set[str], set[str]]] = [
        (set(), set()), ({"name"}, {"name"}), (set(), {"name"}), ({"name"}, set()), ({"name"}, set()),
    ]  # fmt: skip
    found = read(NAME, data)
    assert found.unavailable == expected
    rows = read(NAME, data, projection=Projection(row_only=True))
    assert [after or before for before, after in rows.unavailable] == [set(), {"name"}, {"name"}, {"name"}, set()]
    with without_kernels():
        assert read(NAME, data) == found


@pytest.mark.parametrize("option", ["TOASTED", "hex:544f4153544544"])
def test_another_placeholder(option: str) -> None:
    source = told(NAME, unavailableValuePlaceholder=option)
    data = lines(event("c", None, {"a": "TOASTED", "b": PLACEHOLDER, "c": "VE9BU1RFRA=="}))
    assert read(NAME, data, source).plain[0].after == {"b": PLACEHOLDER}


def test_unavailable_points_may_be_shorter_than_the_placeholder() -> None:
    source = told(NAME, unavailableValuePlaceholder="TOASTED" * 100)
    data = lines(event("c", None, {"a": "TOASTED", "b": {"wkb": point("<"), "srid": 4326}, "c": "TOASTED" * 100}))
    assert read(NAME, data, source).plain[0].after == {"a": "TOASTED"}


# Without a schema

KINDS = {
    "d": SqlType(Kind.DECIMAL, scale=2), "n": SqlType(Kind.NUMBER), "i": SqlType(Kind.INTEGER),
    "f": SqlType(Kind.DOUBLE),
    "day": SqlType(Kind.DATE), "t3": SqlType(Kind.TIME, scale=3), "s0": SqlType(Kind.TIMESTAMP, scale=0),
    "s6": SqlType(Kind.TIMESTAMP, scale=6), "s9": SqlType(Kind.TIMESTAMP, scale=9), "s": SqlType(Kind.TIMESTAMP),
    "b": SqlType(Kind.BOOLEAN), "raw": SqlType(Kind.BINARY), "span": SqlType(Kind.INTERVAL),
}  # fmt: skip
TRUSTED = {"public.t": TableDef("public.t", tuple(Column(name, type) for name, type in KINDS.items()))}


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ({}, {"d": (1.50, "1.5"), "n": ("1E5", "1E5"), "i": ("7", "7"), "f": ("NaN", "NaN"), "raw": ("AA==", "AA==")}),
        (
            {},
            {
                "day": ("2020-01-01", "2020-01-01"),
                "s": ("2020-01-01T00:00:00Z", "2020-01-01T00:00:00Z"),
                "b": (1, "true"),
            },
        ),
        ({}, {"d": ({"scale": 1, "value": "AQ=="}, "0.1"), "f": ({"scale": 1, "value": "AQ=="}, "0.1")}),
        ({"decimalFormat": "base64"}, {"d": ("AIk=", "1.37"), "i": ("AIk=", "137"), "n": (5, "5")}),
        (
            {"timePrecision": "adaptive"},
            {"day": (1, "1970-01-02"), "t3": (1, "00:00:00.001"), "s0": (1, "1970-01-01 00:00:00.001")},
        ),
        (
            {"timePrecision": "adaptive"},
            {"s6": (1, "1970-01-01 00:00:00.000001"), "s9": (1, "1970-01-01 00:00:00.000000001")},
        ),
        (
            {"timePrecision": "adaptive_time_microseconds"},
            {"t3": (1, "00:00:00.000001"), "span": (1, "00:00:00.000001")},
        ),
        ({"timePrecision": "connect"}, {"s9": (1, "1970-01-01 00:00:00.001"), "s": ("text", "text")}),
        ({"timePrecision": "microseconds"}, {"s": (1, "1970-01-01 00:00:00.000001")}),
        (
            {"timePrecision": "nanoseconds"},
            {"s": (1, "1970-01-01 00:00:00.000000001"), "span": (1, "00:00:00.000000001")},
        ),
    ],
)
def test_options_tell_what_schemas_would(options: dict[str, str], shown: dict[str, tuple[Any, str]]) -> None:
    data = lines(event("c", None, {name: value for name, (value, _) in shown.items()}))
    found = read(NAME, data, told(NAME, **options), trusted=TRUSTED)
    assert found.reasons == []
    assert found.plain[0].after == {name: text for name, (_, text) in shown.items()}


@pytest.mark.parametrize(
    ("options", "row", "help"),
    [
        ({}, {"d": "AIk="}, "if the value is a decimal in Base64, set `decimalFormat=base64` with `--input-option`"),
        ({}, {"day": 1}, "set the unit of the number: `timePrecision` with `--input-option`"),
        ({"decimalFormat": "base64"}, {"d": "1.5"}, "with `decimalFormat=base64`, the value must be Base64"),
        (
            {"decimalFormat": "base64"},
            {"n": "AIk="},
            "define the scale of the column with `--definitions`: a decimal in Base64 does not contain it",
        ),
        (
            {"timePrecision": "adaptive"},
            {"s": 1},
            "define the scale of the column with `--definitions`, or set the unit with `timePrecision`",
        ),
        ({}, {"b": "yes"}, None),
    ],
)
def test_what_nobody_tells_is_a_reject_that_names_who_could(
    options: dict[str, str], row: dict[str, Any], help: str
) -> None:
    found = read(NAME, lines(event("c", None, row)), told(NAME, **options), trusted=TRUSTED)
    assert found.reasons == [WRONG]
    assert found.rejects[0].diagnostic.help == help


@pytest.mark.parametrize(
    ("column", "type"),
    [
        (HistoryColumn("a", -7, "BIT", "BIT", 1), SqlType(Kind.BOOLEAN)),
        (HistoryColumn("a", -7, "BIT", "BIT", 5), SqlType(Kind.STRING, length=5)),
        (HistoryColumn("a", 2, "NUMBER", "NUMBER", 38), SqlType(Kind.NUMBER)),
        (HistoryColumn("a", 2, "NUMBER", "NUMBER", 10, 2), SqlType(Kind.DECIMAL, precision=10, scale=2)),
        (HistoryColumn("a", 93, "DATE", "DATE", 7), SqlType(Kind.TIMESTAMP, scale=0)),
        (HistoryColumn("a", 93, "TIMESTAMP(6)", "TIMESTAMP(6)", 26), SqlType(Kind.TIMESTAMP, scale=6)),
        (HistoryColumn("a", 93, "datetime2", "datetime2", 27, 7), SqlType(Kind.TIMESTAMP, scale=7)),
        (HistoryColumn("a", 2014, "TIMESTAMP", "TIMESTAMP", None), SqlType(Kind.TIMESTAMP, zoned=True)),
        (HistoryColumn("a", 92, "TIME", "TIME", 3), SqlType(Kind.TIME, scale=3)),
        (HistoryColumn("a", 7, "REAL"), SqlType(Kind.FLOAT)),
        (HistoryColumn("a", 8, "DOUBLE"), SqlType(Kind.DOUBLE)),
        (HistoryColumn("a", -3, "VARBINARY", "VARBINARY", 16), SqlType(Kind.BINARY, length=16)),
        (HistoryColumn("a", 1111, "JSON"), SqlType(Kind.STRING)),
        (HistoryColumn("a", 91, "DATE"), SqlType(Kind.DATE)),
        (HistoryColumn("a", 16, "BOOLEAN"), SqlType(Kind.BOOLEAN)),
    ],
)
def test_types_of_schema_changes(column: HistoryColumn, type: SqlType) -> None:
    assert of_table_column(column) == type


@pytest.mark.parametrize(
    ("connector", "jdbc", "text", "kind"),
    [
        ("mysql", 7, "REAL", Kind.DOUBLE), ("mariadb", 7, "REAL UNSIGNED", Kind.DOUBLE),
        ("mysql", 6, "FLOAT", Kind.DOUBLE), ("oracle", 6, "FLOAT", Kind.NUMBER),
        ("oracle", 100, "BINARY_FLOAT", Kind.STRING), ("oracle", 7, "REAL", Kind.NUMBER),
        ("postgresql", 7, "float4", Kind.FLOAT), ("sqlserver", 7, "real", Kind.FLOAT), ("mysql", 7, "X", Kind.FLOAT),
        ("mysql", 4, "REAL", Kind.INTEGER),
    ],
)  # fmt: skip
def test_floats_of_schema_changes_are_as_wide_as_their_database_has_them(
    connector: str, jdbc: int, text: str, kind: Kind
) -> None:
    table = {"columns": [{"name": "x", "jdbcType": jdbc, "typeName": text, "typeExpression": text}]}
    change = {"type": "CREATE", "id": '"d"."t"', "table": table}
    record = {"source": {"connector": connector, "ts_ms": 1}, "databaseName": "d", "ddl": "", "tableChanges": [change]}
    (event,) = read(NAME, lines(record)).definitions
    assert event.table.columns[0].type.kind is kind


@pytest.mark.parametrize(
    ("jdbc", "text", "bits"),
    [(-6, "TINYINT", 16), (5, "smallint", 16), (4, "INT", 32), (4, "INT UNSIGNED", None), (-5, "BIGINT", None)],
)
def test_integers_of_schema_changes_have_the_sizes_of_messages(jdbc: int, text: str, bits: int | None) -> None:
    assert of_table_column(HistoryColumn("x", jdbc, text)) == SqlType(Kind.INTEGER, bits=bits)
