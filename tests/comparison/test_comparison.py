"""`ggfmt compare` finds what a slow comparison of dictionaries finds, whatever the files are and however many."""

from __future__ import annotations

import gzip
import io
import json
import logging
import math
import struct
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from places import SHARED_DATA
from runs import operation, write_lines
from strategies import examples
from typer.testing import CliRunner

import ggfmt
from ggfmt.cli import app, main
from ggfmt.comparison import partitions
from ggfmt.comparison.comparison import TableComparison
from ggfmt.comparison.values import stored_type
from ggfmt.location import Location
from ggfmt.reading.files import InputFile, open_input
from ggfmt.rowfiles import spill
from ggfmt.rowfiles.csv_files import CsvFile, CsvOptions

Row = dict[str, Any]


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few hundred bytes are more than memory should hold."""
    monkeypatch.setattr(partitions, "LIMIT", 300)
    monkeypatch.setattr(partitions, "DEEPEST", 2)
    monkeypatch.setattr(spill, "CHUNK_ROWS", 3)


# Tables, and the files that they are written to


@dataclass(frozen=True)
class Kind:
    """A kind of column: its values, the Arrow types that hold them, its Avro type, and its texts."""

    values: st.SearchStrategy[Any]
    types: tuple[pa.DataType, ...]
    avro: Any
    texts: Callable[[Any], Sequence[str]]


def _decimal_texts(value: Decimal) -> list[str]:
    return [str(value), f"{value.normalize():f}", f"{value:.6f}"]


def _time_texts(value: datetime) -> list[str]:
    return [str(value), value.isoformat("T", "microseconds"), f"{value.isoformat(' ', 'microseconds')}000"]


_HOSTILE = [
    "", "NULL", "\\N", '"', 'a"b', ",", "a,b", "\n", "x\r\ny", "\t", "\\", "\\t", "ä", "\U0001f600", "\0", " a ", "1",
]  # fmt: skip
KINDS = {
    "long": Kind(
        st.sampled_from([0, 1, -1, 17, 2**31 - 1, -(2**31)]),
        (pa.int64(), pa.int32(), pa.decimal128(12, 1)),
        "long",
        lambda value: [str(value), f"{value}.0"],
    ),
    "decimal": Kind(
        st.sampled_from([Decimal("0.00"), Decimal("1.50"), Decimal("-17520.25"), Decimal("99999999999999999999.99")]),
        (pa.decimal128(22, 2), pa.decimal128(38, 6), pa.decimal256(60, 3)),
        {"type": "bytes", "logicalType": "decimal", "precision": 24, "scale": 2},
        _decimal_texts,
    ),
    "double": Kind(
        st.sampled_from([0.0, -0.0, 0.1, 1e300, math.nan, math.inf, -math.inf, 3.0]),
        (pa.float64(),),
        "double",
        lambda value: ["NaN" if math.isnan(value) else repr(value).replace("inf", "Infinity")],
    ),
    "boolean": Kind(
        st.booleans(), (pa.bool_(),), "boolean", lambda value: ["true", "t", "1"] if value else ["false", "F", "0"]
    ),
    "text": Kind(
        st.one_of(st.sampled_from(_HOSTILE), st.text("ab\U0001f600é", max_size=70)),
        (pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())),
        "string",
        lambda value: [value],
    ),
    "time": Kind(
        st.sampled_from(
            [datetime(2013, 6, 2, 22, 14, 36), datetime(1969, 12, 31, 23, 59, 59, 1), datetime(9999, 12, 31)]
        ),
        (pa.timestamp("us"),),
        {"type": "long", "logicalType": "local-timestamp-micros"},
        _time_texts,
    ),
    "date": Kind(
        st.sampled_from([date(2013, 6, 2), date(1, 1, 1), date(9999, 12, 31)]),
        (pa.date32(), pa.date64()),
        {"type": "int", "logicalType": "date"},
        lambda value: [str(value), f"{value} 00:00:00"],
    ),
}
NAMES = ["ID", "a b", 'q"', "ä,", "x.y", "new\nline", "0"]


@dataclass(frozen=True)
class Side:
    """Rows of values and of their texts, and how they are written."""

    kinds: Sequence[str]
    rows: Sequence[Sequence[Any]]
    texts: Sequence[Sequence[str | None]]
    types: Sequence[pa.DataType]
    order: Sequence[int]
    format: str

    @property
    def is_text(self) -> bool:
        return self.format in ("csv", "json")

    def write(self, path: Path) -> Path:
        path = path.with_suffix(f".{self.format}")
        WRITERS[self.format](self, path)
        return path

    def table(self) -> pa.Table:
        arrays: list[pa.Array[Any]] = []
        for place in self.order:
            values, type = [row[place] for row in self.rows], self.types[place]
            if pa.types.is_date64(type) or pa.types.is_dictionary(type):
                arrays.append(pa.array(values, pa.date32() if pa.types.is_date64(type) else pa.string()).cast(type))
            else:
                arrays.append(pa.array(values, type))
        return pa.table(arrays, [NAMES[place] for place in self.order])


def quoted(text: str | None) -> str:
    return "" if text is None else '"' + text.replace('"', '""') + '"'


def _write_csv(side: Side, path: Path) -> None:
    lines = [",".join(quoted(row[place]) for place in side.order) + "\n" for row in (NAMES, *side.texts)]
    path.write_text("".join(lines), encoding="utf-8", newline="")


def _write_json(side: Side, path: Path) -> None:
    lines = []
    for number, row in enumerate(side.texts):
        members = []
        for place in side.order:
            text, kind = row[place], side.kinds[place]
            if text is None and number % 2 and place > 1:
                continue  # as Spark writes NULL
            bare = kind in ("long", "decimal") or (kind == "boolean" and text in ("true", "false"))
            value = "null" if text is None else text if bare else json.dumps(text)
            members.append(f"{json.dumps(NAMES[place])}: {value}")
        lines.append(f"{{{', '.join(members)}}}\n")
    path.write_text("".join(lines), encoding="utf-8")


WRITERS: dict[str, Callable[[Side, Path], None]] = {
    "csv": _write_csv,
    "json": _write_json,
    "parquet": lambda side, path: parquet.write_table(side.table(), path, row_group_size=2),
    "orc": lambda side, path: orc.write_table(_without_dictionaries(side.table()), path),
}


def _without_dictionaries(table: pa.Table) -> pa.Table:
    plain = [
        stored_type(field.type) if str(field.type)[:3] in ("dic", "lar", "dat", "dec") else field.type
        for field in table.schema
    ]
    return table.cast(pa.schema(list(zip(table.column_names, plain, strict=True))))


@st.composite
def sides(draw: st.DrawFn) -> tuple[Side, Side, int]:
    """Two sides with many rows alike, and of how many columns the key is: the first ones, or none."""
    formats = [draw(st.sampled_from(["csv", "parquet", "json", "orc"])) for _ in range(2)]
    names = [name for name in KINDS if "orc" not in formats or name not in ("time", "date", "decimal")]
    kinds = draw(st.lists(st.sampled_from(names), min_size=1, max_size=4))
    values = [st.one_of(st.none(), KINDS[kind].values) for kind in kinds]
    pool = draw(st.lists(st.tuples(*values), max_size=10))
    picks = st.lists(st.sampled_from(pool), max_size=14) if pool else st.just([])
    base = draw(picks)
    found = []
    for format in formats:
        rows = [list(row) for row in base] + [list(row) for row in draw(picks)][: draw(st.integers(0, 4))]
        for row in rows:
            if draw(st.integers(0, 4)) == 0:
                place = draw(st.integers(0, len(kinds) - 1))
                row[place] = draw(values[place])
        rows = draw(st.permutations(rows))
        texts = [
            [
                None if value is None else draw(st.sampled_from(KINDS[kind].texts(value)))
                for kind, value in zip(kinds, row, strict=True)
            ]
            for row in rows
        ]
        types = [draw(st.sampled_from(KINDS[kind].types)) for kind in kinds]
        order = draw(st.permutations(range(len(kinds))))
        found.append(Side(kinds, rows, texts, types, order, format))
    return found[0], found[1], draw(st.integers(0, min(2, len(kinds))))


# The slow comparison


def _canonical(value: Any) -> Any:
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return value


def slow(a: Side, b: Side, keys: int) -> dict[str, Any]:
    both_text = a.is_text and b.is_text
    tables = []
    for side in (a, b):
        rows = side.texts if both_text else [[_canonical(value) for value in row] for row in side.rows]
        groups: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
        for row in rows:
            groups.setdefault(tuple(row[:keys]) if keys else tuple(row), []).append(tuple(row))
        tables.append(groups)
    of_a, of_b = tables
    found: dict[str, Any] = dict.fromkeys(("equal", "missing", "extra", "different", "repeated_a", "repeated_b"), 0)
    by_column: Counter[str] = Counter()
    for key in {**of_a, **of_b}:
        left, right = of_a.get(key, []), of_b.get(key, [])
        if keys:
            found["repeated_a"] += len(left) > 1
            found["repeated_b"] += len(right) > 1
        if keys and len(left) == len(right) == 1:
            differing = [NAMES[place] for place in range(len(a.kinds)) if left[0][place] != right[0][place]]
            found["different" if differing else "equal"] += 1
            by_column.update(differing)
        else:
            found["equal"] += (Counter(left) & Counter(right)).total()
            found["missing"] += (Counter(left) - Counter(right)).total()
            found["extra"] += (Counter(right) - Counter(left)).total()
    return {**found, "by_column": by_column}


def told(table: TableComparison) -> dict[str, Any]:
    names = ("equal", "missing", "extra", "different", "repeated_a", "repeated_b", "by_column")
    return {name: getattr(table, name) for name in names}


def compared(a: Path, b: Path, **others: Any) -> TableComparison:
    (table,) = ggfmt.compare(a, b, **others).tables
    return table


def check(drawn: tuple[Side, Side, int], directory: Path) -> None:
    a, b, keys = drawn
    places = a.write(directory / "a"), b.write(directory / "b")
    as_ = "text" if a.is_text and b.is_text else "values"
    found = compared(*places, key=NAMES[:keys] or None, examples=3, as_=as_)
    expected = slow(a, b, keys)
    assert told(found) == expected
    assert (found.rows_a, found.rows_b) == (len(a.rows), len(b.rows))
    assert found.same == (expected["missing"] == expected["extra"] == expected["different"] == 0)
    for kind in ("missing", "extra", "different"):
        shown = [example for example in found.examples if example.kind == kind]
        assert bool(shown) == bool(expected[kind])
        assert len(shown) <= min(3, expected[kind])


@examples(100)
@given(sides())
def test_any_two_tables(tmp_path_factory: pytest.TempPathFactory, drawn: tuple[Side, Side, int]) -> None:
    check(drawn, tmp_path_factory.mktemp("t"))


@examples(50)
@given(sides())
def test_any_two_tables_in_small_parts(
    tmp_path_factory: pytest.TempPathFactory, small_parts: None, drawn: tuple[Side, Side, int]
) -> None:
    check(drawn, tmp_path_factory.mktemp("t"))


def test_a_key_that_all_rows_have_and_rows_that_are_all_alike(
    tmp_path: Path, small_parts: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partitions, "LIMIT", 1500)
    monkeypatch.setattr(partitions, "DEEPEST", 1)
    header, line = "K,V\n", "7,abc\n"
    a = text_file(tmp_path / "a.csv", header + line * 300 + "".join(f"7,{n}\n" for n in range(20)))
    b = text_file(tmp_path / "b.csv", header + line * 200 + "".join(f"7,{n}\n" for n in range(10, 25)))
    for key, repeated in (("K", 1), (None, 0)):
        found = compared(a, b, key=key)
        expected = {"equal": 210, "missing": 110, "extra": 5, "different": 0, "by_column": {}}
        assert told(found) == {**expected, "repeated_a": repeated, "repeated_b": repeated}
    (example,) = [example for example in compared(a, b, examples=1000).examples if example.rows > 1]
    assert (example.kind, example.rows, example.a) == ("missing", 100, {"K": "7", "V": "abc"})


# Values


def text_file(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode(encoding))
    return path


def parquet_file(path: Path, **columns: pa.Array[Any] | pa.ChunkedArray[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.table(columns), path)
    return path


def differing(a: Path, b: Path, **others: Any) -> list[Any]:
    """The keys of the rows that are not the same, with what kind they are of."""
    return sorted((example.kind, *example.key.values()) for example in compared(a, b, key="ID", **others).examples)


@pytest.mark.parametrize(
    ("array", "right", "wrong"),
    [
        (pa.array([5, -5]), ["5", "+5", "5.0", "05"], ["5.5", "five", "", "5 ", "0x5", "6", "99999999999999999999"]),
        (pa.array([2**64 - 1], pa.uint64()), ["18446744073709551615"], ["18446744073709551616", "-1"]),
        (pa.array([Decimal("17520.00")]), ["17520.0", "17520", "1.752E4", "0017520.000"], ["17520.001", "17,520.00"]),
        (
            pa.array([Decimal(f"{'9' * 70}.123456")], pa.decimal256(76, 6)),
            [f"{'9' * 70}.1234560"],
            [f"{'9' * 70}.123457"],
        ),
        (pa.array([0.1]), ["0.1", "1e-1", "0.1000000000000000055"], ["0.10000000000000002", "0,1"]),
        (pa.array([0.1], pa.float32()), ["0.1", "0.10000000149"], ["0.1000001"]),
        (pa.array([math.nan]), ["NaN"], ["nan(1)", "0"]),
        (pa.array([0.0]), ["-0.0", "0"], ["1e-320"]),
        (pa.array([True]), ["true", "t", "T", "1"], ["false", "yes", "2", ""]),
        (pa.array([date(2013, 6, 2)]), ["2013-06-02", "2013-06-02 00:00:00"], ["2013-06-02 00:00:01", "02.06.2013"]),
        (
            pa.array([datetime(2013, 6, 2, 22, 14, 36)]),
            ["2013-06-02 22:14:36", "2013-06-02T22:14:36.000", "2013-06-02:22:14:36.000000", "2013-06-02 22:14:36Z"],
            ["2013-06-02 22:14:36.000001", "2013-06-02 22:14:36+01", "infinity"],
        ),
        (
            pa.array([datetime(2013, 6, 2, 22, 14, 36)], pa.timestamp("us", "Europe/Berlin")),
            ["2013-06-02 22:14:36+00", "2013-06-03 00:14:36+02:00", "2013-06-02T22:14:36Z", "2013-06-02 22:14:36"],
            ["2013-06-02 22:14:36+01"],
        ),
        (
            pa.array([1_370_211_276_000_000_001], pa.timestamp("ns")),
            ["2013-06-02 22:14:36.000000001"],
            ["2013-06-02 22:14:36", "x"],
        ),
        (pa.array([3_600_000_000], pa.time64("us")), ["01:00:00", "01:00:00.000"], ["01:00:01", "1 hour"]),
        (pa.array([b"hi\0"]), ["\\x686900", "hi\0", "aGkA"], ["\\x6869", "\\xzz", "HI\0", "aGkB"]),
        (pa.array([[1, None]]), ["[1,null]", "[1.0, null]"], ["[1]", "[null,1]"]),
    ],
    ids=lambda item: str(item.type) if isinstance(item, pa.Array) else "",
)  # fmt: skip
def test_a_text_is_a_value_of_the_other_type_or_differs(
    tmp_path: Path, array: pa.Array[Any], right: list[str], wrong: list[str]
) -> None:
    texts = [*right, *wrong]
    rows = pa.array(range(len(texts)))
    typed = parquet_file(tmp_path / "a.parquet", ID=rows, V=pa.concat_arrays([array[:1]] * len(texts)))
    lines = (f"{number},{quoted(text)}\n" for number, text in enumerate(texts))
    text = text_file(tmp_path / "b.csv", "ID,V\n" + "".join(lines))
    expected = [("different", number) for number in range(len(right), len(texts))]
    assert differing(typed, text, examples=100) == expected
    assert {key for _, key in differing(text, typed, examples=100)} == {str(number) for _, number in expected}
    for number, one in enumerate(texts):  # and as a key
        side = text_file(tmp_path / "c.csv", f"ID,V\n{number},{quoted(one)}\n")
        found = compared(parquet_file(tmp_path / "d.parquet", V=array[:1], ID=pa.array([number])), side, key=["V"])
        assert (found.equal, found.missing, found.extra) == ((1, 0, 0) if one in right else (0, 1, 1)), one


@pytest.mark.parametrize("key", [None, "V", "W", "V,W"])
def test_a_text_that_is_no_value_is_not_null(tmp_path: Path, key: str | None) -> None:
    typed = parquet_file(tmp_path / "a.parquet", V=pa.array([None, None], pa.int64()), W=pa.array([1, 1]))
    text = text_file(tmp_path / "b.csv", "V,W\nfive,1\n,1\n")
    found = compared(typed, text, key=key)
    assert (found.equal, found.missing, found.extra, found.different) == (1, 1, 1, 0)


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (pa.array([5], pa.int8()), pa.array([5], pa.uint64()), True),
        (pa.array([5]), pa.array([Decimal("5.000")]), True),
        (pa.array([2**63 - 1]), pa.array([Decimal("9223372036854775807.5")], pa.decimal256(40, 20)), False),
        (pa.array([Decimal("1.10")]), pa.array([Decimal("1.1")]), True),
        (pa.array([Decimal(10**75)], pa.decimal256(76, 0)), pa.array([Decimal("0.1")], pa.decimal256(76, 76)), False),
        (pa.array([Decimal(1)], pa.decimal256(76, 0)), pa.array([Decimal("1.0")], pa.decimal256(76, 75)), True),
        (pa.array([0.1]), pa.array([Decimal("0.1")]), True),
        (pa.array([0.1]), pa.array([0.1], pa.float32()), True),
        (pa.array([1e300]), pa.array([math.inf], pa.float32()), False),
        (pa.array([math.nan]), pa.array([math.nan], pa.float32()), True),
        (pa.array([-0.0]), pa.array([0.0]), True),
        (pa.array([struct.unpack("<d", b"\1\0\0\0\0\0\xf8\x7f")[0]]), pa.array([math.nan]), True),
        (pa.array([1]), pa.array([True]), True),
        (pa.array([date(2013, 6, 2)]), pa.array([datetime(2013, 6, 2)]), True),
        (pa.array([date(2013, 6, 2)]), pa.array([datetime(2013, 6, 2)], pa.timestamp("ns")), True),
        (pa.array([datetime(1970, 1, 1)]), pa.array([1], pa.timestamp("ns")), False),
        (pa.array([datetime(2013, 6, 2)]), pa.array([datetime(2013, 6, 2)], pa.timestamp("s", "UTC")), True),
        (pa.array([datetime(9999, 1, 1)]), pa.array([datetime(2013, 6, 2)], pa.timestamp("ns")), False),
        (pa.array(["a"]), pa.array(["a"], pa.large_string()), True),
        (pa.array(["a"]), pa.array(["a"]).dictionary_encode(), True),
        (pa.array(["a"]), pa.array([b"a"]), True),
        (pa.array(["é"]), pa.array(["e\u0301"]), False),
        (pa.array([None], pa.null()), pa.array([None], pa.int64()), True),
        (pa.array([None], pa.string()), pa.array([""]), False),
        (pa.array([1]), pa.array([date(1970, 1, 2)]), False),
        (pa.array([[1, 2]]), pa.array([[1, 2]], pa.large_list(pa.int8())), True),
        (pa.array([{"a": 1, "b": None}]), pa.array([{"b": None, "a": 1}]), True),
    ],
)  # fmt: skip
def test_values_of_two_types(tmp_path: Path, a: pa.Array[Any], b: pa.Array[Any], same: bool) -> None:
    key = pa.array([1])
    left = parquet_file(tmp_path / "a.parquet", V=a, ID=key)
    right = parquet_file(tmp_path / "b.parquet", V=b, ID=key)
    for one, other in ((left, right), (right, left)):
        assert (differing(one, other) == []) == same
        assert compared(one, other, key="V,ID").equal == same
        assert compared(one, other).same == same


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("1", "1.0", True),
        ("-.500", "-0.5", True),
        ("1e0", "+1", True),
        ("0", "-0.00", True),
        ("12345678901234567890123456789012345678901", "12345678901234567890123456789012345678901.0", True),
        ("12345678901234567890123456789012345678901", "12345678901234567890123456789012345678902", False),
        ("1e400", "1e401", False),
        ("1e99999", "1e99998", False),
        ("007", "7", False),
        ("1", " 1", False),
        ("1.2.3", "1.2.30", False),
        ("", "0", False),
        ("NULL", "null", False),
        ("t", "TRUE", True),
        ("true", "1", False),
        ("f", "t", False),
        ("2013-06-02 22:14:36.500", "2013-06-02T22:14:36.5Z", True),
        ("2013-06-02T22:14:36Z", "2013-06-03 00:14:36+02", True),
        ("2013-06-02", "2013-06-02 00:00:00", True),
        ("2013-06-02 22:14:36.0000001", "2013-06-02 22:14:36.0000002", False),
        ("2013-06-02 22:14:36.1234567", "2013-06-02 22:14:36.1234568", False),
        ("2013-06-31", "2013-07-01", False),
        ("2013-06-31 00:00:00", "2013-06-31", False),
        ("2013-06-02T00:00Z", "2013-06-02", True),
        ("2013-06-02 22:14:36", "2013-06-02T22:14:36.000", True),
        ("9999-12-31 23:00:00-05", "10000-01-01T04:00:00", False),
        ("1e2", "100", True),
        ("\\xAB", "\\xab", True),
        ("{1,NULL,2.0}", "[1, null, 2]", True),
        ("{1,NULL}", '{1,"NULL"}', False),
        ("{{1},{2}}", "{1,2}", False),
        ("{1,NULL}", "{1,NULL},", False),
        ('[{"a":1.0}]', '[{"a": 1}]', True),
        ('[{"a":"1"}]', '[{"a":1}]', False),
        ('{"a": 1, "b": [1.0]}', '{"b":[1],"a":1}', True),
        ('{"a": "1"}', '{"a": 1}', False),
        ("{a", "{b", False),
        ("\uffffnumber 1", "1", False),
        ("abc", "ABC", False),
    ],
)
def test_two_texts_without_types(tmp_path: Path, one: str, other: str, same: bool) -> None:
    a = text_file(tmp_path / "a.csv", f"ID,V\n7,{quoted(one)}\n")
    b = text_file(tmp_path / "b.csv", f"ID,V\n7,{quoted(other)}\n")
    typed = parquet_file(tmp_path / "a.parquet", ID=pa.array([7]), V=pa.array([one]))
    for side in (a, typed):  # a text of Parquet may be what has no other type in the messages
        found = compared(side, b, key="ID")
        assert (found.same, found.respelled) == (same, {"V": 1} if same else {})
        assert same or [(example.a, example.b) for example in found.column_examples.values()] == [
            ({"V": one}, {"V": other})
        ]
        assert compared(side, b, key="V").same == same, "as a key"
        whole = compared(side, b)
        assert (whole.same, whole.respelled_rows) == (same, int(same)), "in whole rows"
        assert not compared(side, b, key="ID", as_="text").same
    declared = parquet_file(tmp_path / "b.parquet", ID=pa.array([7]), V=pa.array([other]))
    assert not compared(typed, declared, key="ID").same, "both are declared as text"
    assert compared(typed, typed, key="ID").respelled == {}


def test_rows_are_compared_as_text_or_as_values(tmp_path: Path) -> None:
    a = parquet_file(tmp_path / "a.parquet", ID=pa.array([1, 2]), V=pa.array([Decimal("1.50"), None]))
    b = text_file(tmp_path / "b.csv", "ID,V\n1,1.5\n2,\n")
    assert compared(a, b, key="ID").same
    assert compared(a, b, key="ID", as_="text").same, "a decimal has no zeros at its end"
    b = text_file(tmp_path / "b.csv", "ID,V\n1,1.50\n2,\n")
    assert compared(a, b, key="ID", as_="text").by_column == {"V": 1}
    with pytest.raises(ggfmt.UsageError, match=r"GG580.*`bytes`"):
        compared(a, b, as_="bytes")


# Formats


def test_nothing_between_delimiters_is_null_and_quotes_are_an_empty_text(tmp_path: Path) -> None:
    typed = parquet_file(tmp_path / "a.parquet", ID=pa.array([1, 2, 3]), V=pa.array(["", None, "NULL"]))
    assert differing(typed, text_file(tmp_path / "b.csv", 'ID,V\n1,""\n2,\n3,NULL\n')) == []
    assert differing(typed, text_file(tmp_path / "b.csv", 'ID,V\n1,\n2,""\n3,"NULL"\n')) == [
        ("different", 1),
        ("different", 2),
    ]
    nulls = text_file(tmp_path / "c.csv", "ID,V\n1,\n2,NULL\n3,'NULL'\n")
    assert differing(typed, nulls, csv_options=["null=NULL", "b.quote='"]) == []
    oracle = text_file(tmp_path / "d.csv", 'ID,V\n1,x\n2,""\n3,"NULL"\n')
    assert differing(typed, oracle, csv_options={"dialect": "oracle"}) == [("different", 1)]


def test_texts_with_escapes_of_mysql_and_postgresql(tmp_path: Path) -> None:
    texts = ["a\tb", "a\nb", "\\", "\\N", "\\\n", None, "", "N", "x\0y", "\\t", "a\rb", "\ue000", '"q"', "end\\"]
    ids = range(len(texts))
    typed = parquet_file(tmp_path / "a.parquet", V=pa.array(texts), ID=pa.array(ids))
    mysql = {"\t": "\\\t", "\n": "\\\n", "\\": "\\\\", "\0": "\\0"}
    postgresql = {"\t": "\\t", "\n": "\\n", "\\": "\\\\", "\r": "\\r"}
    for dialect, escapes in (("mysql", mysql), ("postgresql-text", postgresql)):
        lines = [
            f"{chr(92) + 'N' if text is None else ''.join(escapes.get(c, c) for c in text)}\t{number}\n"
            for number, text in zip(ids, texts, strict=True)
        ]
        dump = text_file(tmp_path / "b.txt", "".join(lines))
        assert differing(typed, dump, csv_options={"b.dialect": dialect}) == []
        named = {"b.dialect": dialect, "b.columns": "v, id"}
        assert differing(typed, dump, csv_options=named) == []
        with pytest.raises(ggfmt.UsageError, match=r"GG580.*1 columns, the other 2"):
            compared(parquet_file(tmp_path / "c.parquet", ID=pa.array([1])), dump, csv_options={"b.dialect": dialect})
    piped = text_file(tmp_path / "b.txt", "a\\|b|0\n")
    one = parquet_file(tmp_path / "c.parquet", V=pa.array(["a|b"]), ID=pa.array([0]))
    assert differing(one, piped, csv_options={"b.dialect": "mysql", "b.delimiter": "|"}) == []


def test_escapes_do_not_depend_on_how_a_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pair of an escape and what is behind it may be on both sides of a border."""
    monkeypatch.setattr("ggfmt.rowfiles.csv_files.BLOCK_BYTES", 3)
    texts = ["\\" * n + "\t" * (n % 3) + "\r\n"[: n % 3] + "x" for n in range(30)]
    typed = parquet_file(tmp_path / "a.parquet", V=pa.array(texts), ID=pa.array(range(30)))
    escapes = {"\t": "\\\t", "\n": "\\\n", "\\": "\\\\"}
    lines = [f"{''.join(escapes.get(c, c) for c in text)}\t{number}\n" for number, text in enumerate(texts)]
    assert differing(typed, text_file(tmp_path / "b.txt", "".join(lines)), csv_options={"dialect": "mysql"}) == []


def test_csv_as_others_write_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    typed = parquet_file(tmp_path / "a.parquet", ID=pa.array([1, 2]), V=pa.array(['say "hi", é', "x" * 500]))
    lines = 'ID{0}V\r\n1{0}"say ""hi"", é"\r\n2{0}' + "x" * 500 + "\r\n"
    monkeypatch.setattr("ggfmt.rowfiles.csv_files._BLOCK_BYTES", 64)  # the second row is longer
    assert differing(typed, text_file(tmp_path / "b.csv", "\ufeff" + lines.format(","))) == []
    assert differing(typed, text_file(tmp_path / "b.tsv", lines.format("\t"))) == []
    options = {"delimiter": ";", "encoding": "latin-1"}
    assert differing(typed, text_file(tmp_path / "b.csv", lines.format(";"), "latin-1"), csv_options=options) == []
    packed = tmp_path / "b.csv.gz"
    packed.write_bytes(gzip.compress(lines.format(",").encode()))
    assert differing(typed, packed) == []
    assert differing(typed, text_file(tmp_path / "e.csv", "\n\n"), examples=1) == [("missing", 1)]
    long = text_file(tmp_path / "f.csv", "x" * 500 + ',2\n"say ""hi"", é",1\n')
    assert differing(typed, long, csv_options={"b.columns": "V,ID"}) == []
    only = text_file(tmp_path / "d.csv", "V\n\nx\n\n")  # a NULL of the only column is an empty line
    assert compared(parquet_file(tmp_path / "d.parquet", V=pa.array(["x", None, None])), only).same


@pytest.mark.parametrize("block", [1, 2, 7, 1 << 20])
def test_escapes_within_quotes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    """As Spark writes them, which leaves texts without quotes as they are; and MySQL with `FIELDS ENCLOSED BY '"'`."""
    monkeypatch.setattr("ggfmt.rowfiles.csv_files.BLOCK_BYTES", block)
    texts = ['a,b"c', "", None, "x \\ \\N \\n\n", "NULL", '\\"', "\\", "a\\", '"', '"q"\\', '\\\\"x,\\', "\0", "plain"]
    typed = parquet_file(tmp_path / "a.parquet", ID=pa.array(range(len(texts))), V=pa.array(texts))
    spark = [
        '"a,b\\"c"', '""', "", '"x \\\\ \\\\N \\\\n\n"', "NULL", '"\\\\\\""', "\\", "a\\", '"\\""', '"\\"q\\"\\\\"',
    ]  # fmt: skip
    spark += ['"\\\\\\\\\\"x,\\\\"', "\0", "plain"]
    lines = "".join(f"{number},{text}\n" for number, text in enumerate(spark))
    assert differing(typed, text_file(tmp_path / "b.csv", f"ID,V\n{lines}"), csv_options={"dialect": "spark"}) == []
    escapes = {"\\": "\\\\", '"': '\\"', "\0": "\\0", "\n": "\\\n"}
    mysql = ("\\N" if text is None else f'"{"".join(escapes.get(c, c) for c in text)}"' for text in texts)
    lines = "".join(f'"{number}"\t{text}\n' for number, text in enumerate(mysql))
    options = {"b.dialect": "mysql", "b.quote": '"', "b.columns": "ID,V"}
    assert differing(typed, text_file(tmp_path / "b.txt", lines), csv_options=options) == []


def test_json_lines_have_their_numbers_in_their_own_characters(tmp_path: Path) -> None:
    numbers = pa.array([Decimal("12345678901234567890.10"), Decimal("0.00"), None], pa.decimal128(30, 2))
    typed = parquet_file(tmp_path / "a.parquet", ID=pa.array([1, 2, 3]), V=numbers, W=pa.array([None] * 3, pa.int64()))
    lines = '{"ID":1,"V":12345678901234567890.1}\n{"ID":2,"V":0}\n\n{"ID":3}'
    assert differing(typed, text_file(tmp_path / "b.json", lines)) == []
    assert differing(typed, text_file(tmp_path / "b.jsonl", lines.replace("90.1", "90.2"))) == [("different", 1)]
    one, other = (text_file(tmp_path / f"{n}.json", f'{{"ID": 1, "V": {{"x": {n}}}}}\n') for n in (1, 2))
    assert differing(one, other) == [("different", "1")]


def test_avro_containers(tmp_path: Path) -> None:
    def optional(type: object, logical: str | None = None, **more: object) -> list[object]:
        return ["null", {"type": type, "logicalType": logical, **more} if logical else type]

    moment = datetime(2013, 6, 2, 22, 14, 36, 5)
    columns: dict[str, tuple[Any, Any, pa.DataType]] = {
        "ID": (optional("int"), 1, pa.int64()),
        "D": (optional("bytes", "decimal", precision=40, scale=2), Decimal("-1.50"), pa.decimal256(50, 5)),
        "F": (optional({"type": "fixed", "name": "F", "size": 2}), b"ab", pa.binary(2)),
        "T": (optional("long", "timestamp-micros"), moment.replace(tzinfo=timezone.utc), pa.timestamp("us", "UTC")),
        "L": (optional("long", "local-timestamp-micros"), moment, pa.timestamp("us")),
        "A": (optional("int", "date"), moment.date(), pa.date32()),
        "X": (optional({"type": "array", "items": "int"}), [1, 2], pa.list_(pa.int32())),
        "U": (["null", "int", "string"], "x", pa.string()),
        "B": ("boolean", True, pa.bool_()),
    }
    schema = {"type": "record", "name": "R", "fields": [{"name": n, "type": c[0]} for n, c in columns.items()]}
    with (tmp_path / "b.avro").open("wb") as stream:
        rows = [{name: column[1] for name, column in columns.items()}, dict.fromkeys(columns) | {"ID": 2, "B": False}]
        fastavro.writer(stream, schema, rows)
    typed = {name: pa.array([row[name] for row in rows], column[2]) for name, column in columns.items()}
    assert differing(parquet_file(tmp_path / "a.parquet", **typed), tmp_path / "b.avro") == []
    typed["L"] = pa.array([moment, moment])
    assert differing(parquet_file(tmp_path / "a.parquet", **typed), tmp_path / "b.avro") == [("different", 2)]


def test_parquet_of_spark_has_times_in_96_bits(tmp_path: Path) -> None:
    times = pa.array([datetime(1, 1, 1), datetime(9999, 12, 31), None])
    table = pa.table({"ID": pa.array([1, 2, 3]), "T": times})
    parquet.write_table(table, tmp_path / "a.parquet", use_deprecated_int96_timestamps=True)
    assert differing(tmp_path / "a.parquet", parquet_file(tmp_path / "b.parquet", ID=table["ID"], T=times)) == []


def test_orc_of_spark_has_times_without_a_zone_as_numbers(tmp_path: Path) -> None:
    schema = pa.schema([pa.field("T", pa.int64(), metadata={"spark.sql.catalyst.type": "timestamp_ntz"})])
    orc.write_table(pa.table([pa.array([5, None])], schema=schema), tmp_path / "a.orc")
    typed = parquet_file(tmp_path / "b.parquet", T=pa.array([None, 5], pa.timestamp("us")))
    assert compared(tmp_path / "a.orc", typed).same
    assert compared(tmp_path / "a.orc", parquet_file(tmp_path / "c.parquet", T=pa.array([5, None]))).equal == 1


# Tables, columns and keys


def manifest(out: Path, **keys: list[str]) -> None:
    tables = {name.replace("__", "."): {"key": key, "rows": 1} for name, key in keys.items()}
    text_file(out / "_ggfmt" / "manifest.json", json.dumps({"layout": 1, "tables": tables}))


def test_tables_of_a_consolidated_output(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    out, dump = tmp_path / "out", tmp_path / "dump"
    tables = {"GG.T": pa.array([1, 2]), "GG.a%2Fb": pa.array([3]), "GG.OLD": pa.array([1])}
    for table, ids in tables.items():
        parquet_file(out / table / "part-00000.parquet", ID=ids, V=ids)
    parquet_file(out / "GG.T" / "part-00001.parquet", V=pa.array([5]), ID=pa.array([9]))
    parquet_file(out / "_unresolved" / "part-00000.parquet", reason=pa.array(["never seen"]))
    text_file(out / "_SUCCESS", "")
    text_file(out / "GG.T" / ".part-00000.parquet.crc", "x")
    text_file(out / "GG.T" / "notes.md", "x")
    manifest(out, GG__T=["ID"], GG__OLD=["ID"], **{"GG.a/b": []})
    text_file(dump / "t.csv", "id,v\n9,5\n2,2\n1,7\n")
    text_file(dump / "A_B.csv", "id,v\n3,3\n")
    text_file(dump / "t.sql", "CREATE TABLE t")
    found = {table.table: table for table in ggfmt.compare(out, dump).tables}
    assert {name: (table.only, table.key, table.same) for name, table in found.items()} == {
        "GG.T": (None, ("ID",), False),
        "GG.a/b": ("a", (), False),
        "GG.OLD": ("a", (), False),
        "A_B": ("b", (), False),
    }
    assert found["GG.T"].by_column == {"V": 1}
    warnings = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert ["notes.md" in message or "t.sql" in message for message in warnings] == [True, True]
    assert compared(out, dump / "A_B.csv", table="GG.a/b").same
    assert compared(out, dump / "A_B.csv", table="a/b", key={"GG.a/b": ["v"]}).key == ("V",)
    assert compared(out, dump, table="t", ignore_columns="v").same
    assert compared(out, dump, table="T", ignore_columns=["id"]).key == (), (
        "the key of the manifest is not there any more"
    )
    assert ggfmt.compare(out, out).same


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("T/part-1.feather", True),
        ("T/deep/part-1.xlsx", True),
        ("T/noend", True),
        ("alone.csv", True),
        ("alone.avro.tmp", True),
        ("day=1/part-0.csv", True),
        ("T/table.sql", False),
        ("README.md", False),
        ("_SUCCESS", False),
        ("T/_committed_1", False),
        (".DS_Store", False),
        ("T/.part-0.csv.crc", False),
        ("_rejects/0.records", False),
    ],
)
def test_sides_with_skipped_files_are_not_the_same(
    tmp_path: Path, name: str, counts: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    for side in (a, b):
        text_file(side / "T" / "part-0.csv", "ID\n1\n")
        text_file(side / "U" / "part-0.csv", "ID\n1\n")
    text_file(b / name, "hello\n")
    found = ggfmt.compare(a, b)
    assert (found.skipped_a, found.skipped_b, found.same) == ((), (name,) * counts, not counts)
    assert all(table.same for table in found.tables)
    assert ("are not the same" in repr(found)) == counts
    assert main(["compare", str(b), str(a), "--quiet"]) == int(counts)
    told = capsys.readouterr().out
    assert (told.endswith(": the same\n"), "GG567" in told) == (not counts, counts)
    assert main(["compare", str(a), str(b), "--output-format", "json"]) == int(counts)
    document = json.loads(capsys.readouterr().out)
    assert (document["same"], document["skipped_files"]) == (not counts, {"a": 0, "b": int(counts)})
    assert ggfmt.compare(a, b, table="U").same


def test_files_that_the_manifest_lists_and_that_are_lost_are_not_the_same(tmp_path: Path) -> None:
    write_lines(tmp_path / "in.json", [operation(number, f"GG.{'AB'[number % 2]}") for number in range(1, 4)])
    ggfmt.consolidate(tmp_path / "in.json", tmp_path / "out", key="ID", master="none", to="json")
    assert ggfmt.compare(tmp_path / "out", tmp_path / "out").same
    (lost,) = (tmp_path / "out" / "GG.A").iterdir()
    lost.unlink()
    found = ggfmt.compare(tmp_path / "out", tmp_path / "out")
    assert (found.same, found.equal > 0, found.skipped_a) == (False, True, ("GG.A/part-00000.json",))
    assert ggfmt.compare(tmp_path / "out", tmp_path / "out", table="GG.B").same


@pytest.mark.parametrize("content", ["", "ID,V\n"])
def test_nothing_is_not_the_same_as_nothing(tmp_path: Path, content: str, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = text_file(tmp_path / "a.csv", content), text_file(tmp_path / "b.csv", content)
    assert not ggfmt.compare(a, b).same
    assert main(["compare", str(a), str(b)]) == 2
    assert capsys.readouterr().out.splitlines()[-1] == "1 table, 0 rows equal: nothing to compare"
    assert main(["compare", str(a), str(b), "--output-format", "json"]) == 2
    document = json.loads(capsys.readouterr().out)
    assert (document["same"], [finding["code"] for finding in document["findings"]]) == (False, ["GG581"])
    same = text_file(tmp_path / "c.csv", "ID,V\n1,2\n")
    assert main(["compare", str(same), str(same), "--ignore-column", "ID", "--ignore-column", "V"]) == 2


def test_a_table_of_the_manifest_without_files_is_empty(tmp_path: Path) -> None:
    manifest(tmp_path / "out", GG__T=["ID"])
    empty = text_file(tmp_path / "b.csv", "ID,V\n")
    assert compared(tmp_path / "out", empty).same
    assert compared(tmp_path / "out", text_file(tmp_path / "c.csv", "ID,V\n1,2\n")).extra == 1
    assert compared(text_file(tmp_path / "d.csv", ""), text_file(tmp_path / "e.csv", "")).same


def test_columns_of_one_side_are_a_difference(tmp_path: Path) -> None:
    a = text_file(tmp_path / "a.csv", "ID,V,Only,x\n1,2,3,4\n")
    b = text_file(tmp_path / "b.csv", "X,id,V,v\n4,1,2,9\n")
    found = compared(a, b, key="ID")
    assert (found.columns_a, found.columns_b, found.equal, found.same) == (("Only",), ("v",), 1, False)
    assert compared(a, b, key="ID", ignore_columns=["only", "v"]).same
    assert compared(a, text_file(tmp_path / "c.csv", "X,ID,V\n4,1,9\n"), key="ID", ignore_columns=["v", "Only"]).same
    assert compared(a, text_file(tmp_path / "c.csv", "X,ID,V\n4,1,2\n"), key="ID", ignore_columns="ONLY").same
    nothing = compared(a, text_file(tmp_path / "d.csv", "n\n1\n"))
    assert (nothing.same, nothing.columns_b) == (False, ("n",))


def test_values_of_directories(tmp_path: Path) -> None:
    for value in ("1", "a%3Db", "__HIVE_DEFAULT_PARTITION__"):
        text_file(tmp_path / "out" / f"day={value}" / "part-0.csv", f"ID\n{value[:1]}\n")
    b = text_file(tmp_path / "b.csv", "ID,day\n1,1\na,a=b\n_,\n")
    assert differing(tmp_path / "out", b) == []


def test_files_of_one_table_and_of_several(tmp_path: Path) -> None:
    for name in ("data_0", "data_1"):
        text_file(tmp_path / "one" / f"{name}.csv", f"ID\n{name[-1]}\n")
        text_file(tmp_path / "two" / f"{name}x.csv", f"ID\n{name[-1]}\n")
    assert compared(tmp_path / "one", text_file(tmp_path / "b.csv", "ID\n1\n0\n")).same
    assert [table.table for table in ggfmt.compare(tmp_path / "two", tmp_path / "two").tables] == ["data_0x", "data_1x"]
    parquet_file(tmp_path / "one" / "data_2.parquet", ID=pa.array([2]))
    with pytest.raises(ggfmt.Abend, match=r"GG582.*`ID` has the type int64, but the type string"):
        compared(tmp_path / "one", tmp_path / "b.csv")


def test_an_example_has_the_key_and_what_differs(tmp_path: Path) -> None:
    a = text_file(tmp_path / "a.csv", "ID,V,W\n1,a,b\n2,c,d\n5,e,f\n5,e,f\n")
    b = text_file(tmp_path / "b.csv", "w,v,id\nb,x,1\nz,z,3\nf,e,5\n")
    found = compared(a, b, key="id")
    assert {(example.kind, example.rows): (example.key, example.a, example.b) for example in found.examples} == {
        ("different", 1): ({"ID": "1"}, {"V": "a"}, {"V": "x"}),
        ("missing", 1): ({"ID": "5"}, {"ID": "5", "V": "e", "W": "f"}, None),
        ("extra", 1): ({"id": "3"}, None, {"id": "3", "v": "z", "w": "z"}),
    } or len(found.examples) == 4
    assert (found.repeated_a, found.repeated_b, found.missing, found.equal) == (1, 0, 2, 1)
    assert compared(a, b, key="id", examples=0).examples == ()


# What cannot be


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"key": "NO"}, "GG580.*key has the column `NO`"),
        ({"key": "id,ID"}, "GG580.*column twice"),
        ({"key": {"T": ["ID"]}}, "GG580.*a key names the table `T`"),
        ({"key": "="}, "GG565"),
        ({"key": "ID", "ignore": "ID"}, "GG580.*key has the column `ID`"),
        ({"ignore": "NO"}, "GG580.*no table has the column `NO` to ignore"),
        ({"examples": -1}, "GG580"),
        ({"csv_options": ["nul=x"]}, "GG580.*did you mean `null`"),
        ({"csv_options": ["c.null=x"]}, "GG580"),
        ({"csv_options": ["null"]}, "GG565"),
        ({"csv_options": {"dialect": "excel"}}, "GG580.*legal values"),
        ({"csv_options": {"delimiter": "||"}}, "GG580"),
        ({"csv_options": {"header": "no"}}, "GG580"),
        ({"csv_options": {"encoding": "klingon"}}, "GG580"),
        ({"csv_options": {"columns": "a,a"}}, "GG580"),
        ({"csv_options": {"quote": "none", "escape": "/"}}, "GG580"),
    ],
)
def test_what_cannot_be_asked_for(tmp_path: Path, wanted: dict[str, Any], expected: str) -> None:
    a = text_file(tmp_path / "a.csv", "ID,V\n1,2\n")
    with pytest.raises(ggfmt.UsageError, match=expected):
        ggfmt.compare(a, a, **wanted)


def test_what_is_no_place_of_tables(tmp_path: Path) -> None:
    a = text_file(tmp_path / "a.csv", "ID,V\n1,2\n")
    (tmp_path / "empty").mkdir()
    for place, code in (("gone", "GG310"), ("empty", "GG581")):
        with pytest.raises(ggfmt.UsageError, match=code):
            ggfmt.compare(a, tmp_path / place)
    text_file(tmp_path / "run" / "_ggfmt" / "manifest.json", '{"layout": 1, "files": [], "handlers": {}}')
    text_file(tmp_path / "run" / "json" / "GG.T" / "part.json", "{}")
    with pytest.raises(ggfmt.UsageError, match=r"GG581.*messages of a run"):
        ggfmt.compare(a, tmp_path / "run")
    text_file(tmp_path / "dump" / "T" / "part-0.csv", "ID\n")
    with pytest.raises(ggfmt.UsageError, match=r"GG580.*table `x` not found"):
        ggfmt.compare(a, tmp_path / "dump", table="x")


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("b.parquet", b"PAR1 and no more", "GG582"),
        ("b.orc", b"ORC", "GG582"),
        ("b.avro", b"Obj\1\0", "GG582"),
        ("b.json", b'{"ID": 1}\n\n{"ID": \n', "byte 11.*GG582.*not a JSON object"),
        ("b.json", b'[{"ID": 1}]\n', "GG582.*not a JSON object"),
        ("b.csv", b"ID,V\n1,2\n1,secret,3\n", r"GG582.*Expected 2 columns, got 3$"),
        ("b.csv", b"ID,V\n1,\xff\n", "GG582.*UTF8"),
        ("b.csv", b"ID,ID\n1,2\n", "GG582.*two columns `ID`"),
        ("b.csv.gz", gzip.compress(b"ID,V\n" + bytes(range(256)) * 99)[:-30], "GG582"),
        ("b.csv.gz", b"ID,V\n1,2\n", "GG582"),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, name: str, content: bytes, expected: str) -> None:
    a = text_file(tmp_path / "a.csv", "ID,V\n1,2\n")
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ggfmt.Abend, match=expected) as caught:
        ggfmt.compare(a, tmp_path / name, key="ID")
    assert "secret" not in str(caught.value)
    assert name in str(caught.value)


# The command


def called(*arguments: object) -> tuple[int, str]:
    ended = CliRunner().invoke(app, ["compare", *map(str, arguments)])
    if isinstance(ended.exception, ggfmt.GgfmtError):
        return ended.exception.exit_code, str(ended.exception)
    return ended.exit_code, ended.output


def test_the_command(tmp_path: Path) -> None:
    a = text_file(tmp_path / "a.csv", 'ID,V\n1,a\n2,"\x1b[2Jä\n::error::"\n3,c\n')
    b = text_file(tmp_path / "b.csv", "ID,V\n1,a\n2,\n4,d\n")
    code, text = called(a, a, "--key", "ID")
    assert (code, text.splitlines()[1]) == (0, "a      ID       3        0      0          0")
    assert text.endswith("\n1 table, 3 rows equal: the same\n")
    code, text = called(a, b, "--key", "ID")
    assert code == 1
    assert text.splitlines()[3:] == [
        "table a: error[GG583] rows are not the same: 1 missing, 1 extra, 1 different in V (1); 1 equal",
        "  *  V  1 row, such as ID='2'  '\\u001b[2Jä\\n::error::' | NULL",
        "  +  ID='4'  V='d'",
        "  -  ID='3'  V='c'",
        "  ~  ID='2'  V: '\\u001b[2Jä\\n::error::' | NULL",
        "",
        "page: ggfmt docs comparing",
        "1 table, 1 row equal: 1 of them not the same",
    ]
    code, text = called(a, b, "--key", "ID", "--output-format", "json", "--examples", 1)
    document = json.loads(text)
    (table,) = document["tables"]
    assert (code, document["same"], table["by_column"], table["key"]) == (1, False, {"V": 1}, ["ID"])
    assert [example["kind"] for example in table["examples"]] == ["extra", "missing", "different"]
    assert [finding["code"] for finding in document["findings"]] == ["GG583"]
    code, text = called(a, b, "--key", "ID", "--output-format", "github")
    assert code == 1
    assert text.startswith("::error title=GG583::table a: rows are not the same")
    assert text.count("\n") == 1
    assert called(a, a, "--key", "NO")[0] == 2
    assert called(a, tmp_path / "gone")[0] == 2
    (tmp_path / "c.parquet").write_bytes(b"x")
    assert called(a, tmp_path / "c.parquet")[0] == 3


def test_the_command_in_a_pipe_leaves_nothing_behind(tmp_path: Path) -> None:
    a = text_file(tmp_path / "a.csv", "ID,V\n" + "".join(f"{n},{n}\n" for n in range(100)))
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    program = f"{sys.executable} -m ggfmt compare {a} {a} --key ID --output-format json | head -c 20"
    ended = subprocess.run(
        ["sh", "-c", program], capture_output=True, text=True, env={"TMPDIR": str(scratch)}, check=True
    )
    assert (ended.stdout, ended.stderr, list(scratch.iterdir())) == ('{\n  "same": true,\n  ', "", [])


class _SlowFile(io.BytesIO):
    """A file whose blocks are late, and how many threads read files of this kind."""

    readers = 0

    def read(self, size: int | None = -1) -> bytes:
        _SlowFile.readers += 1
        time.sleep(0.05)
        data = super().read(size)
        _SlowFile.readers -= 1
        return data


def test_the_reader_of_a_header_leaves_no_thread_that_reads(tmp_path: Path) -> None:
    data = b"ID,V\n" + b"1,2\n" * 3_000_000
    location = Location.of(str(text_file(tmp_path / "a.csv", "ID,V\n")))
    file = InputFile(location, len(data), "a.csv", opened=lambda: _SlowFile(data))
    assert CsvFile(lambda: open_input(file), CsvOptions()).schema.names == ["ID", "V"]
    assert _SlowFile.readers == 0


# Columns of any type


def _nested(value: Any) -> dict[str, Any]:
    """By type the same value in columns of types that Parquet has."""
    binary = pa.binary()
    return {
        "list": pa.array([[value, None]], pa.list_(binary)),
        "large_list": pa.array([[value]], pa.large_list(binary)),
        "fixed_size_list": pa.array([[value, value]], pa.list_(binary, 2)),
        "list of list": pa.array([[[value]]], pa.list_(pa.list_(binary))),
        "struct": pa.array([{"a": value, "binary": 1}], pa.struct([("a", binary), ("binary", pa.int64())])),
        "map": pa.array([[("a", value)]], pa.map_(pa.string(), binary)),
        "dictionary": pa.array([value]).dictionary_encode(),
        "fixed": pa.array([value], pa.binary(2)),
        "decimal256": pa.array([Decimal(int(value.hex(), 16))], pa.decimal256(70, 2)),
        "duration": pa.array([int(value.hex(), 16)], pa.duration("us")),
        "uuid": pa.ExtensionArray.from_storage(pa.uuid(), pa.array([8 * value], pa.binary(16))),
        "list of time": pa.array([[int(value.hex(), 16)]], pa.list_(pa.time64("us"))),
    }


NAMES_OF_TYPES = tuple(_nested(b"\0\1"))


@pytest.mark.parametrize("name", NAMES_OF_TYPES)
def test_columns_of_any_type(tmp_path: Path, name: str) -> None:
    paths = []
    for number, value in enumerate((b"\0\xff", b"\0\xff", b"\0\xfe")):
        paths.append(tmp_path / f"{number}.parquet")
        parquet.write_table(pa.table({"id": [1], "v": _nested(value)[name]}), paths[-1])
    assert compared(paths[0], paths[1], key="id").same
    assert compared(paths[0], paths[2], key="id").by_column == {"v": 1}


def test_bytes_in_arrays_and_their_texts(tmp_path: Path) -> None:
    parquet.write_table(
        pa.table({"id": [1], "v": pa.array([[b"\0\xff", None]], pa.list_(pa.binary()))}), tmp_path / "a.parquet"
    )
    for text, same in (('["AP8=", null]', True), ('["AP4=", null]', False), ('["AP8="]', False)):
        (tmp_path / "b.json").write_text(f'{{"id": 1, "v": {text}}}', encoding="utf-8")
        assert compared(tmp_path / "a.parquet", tmp_path / "b.json", key="id").same is same


def test_a_duration_is_an_interval(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"id": [1], "v": pa.array([1_500], pa.duration("ms"))}), tmp_path / "a.parquet")
    for text, same in (("PT1.5S", True), ("00:00:01.5", True), ("PT1.501S", False)):
        (tmp_path / "b.csv").write_text(f"id,v\n1,{text}\n", encoding="utf-8")
        assert compared(tmp_path / "a.parquet", tmp_path / "b.csv", key="id").same is same


@pytest.mark.parametrize("bad", ["v", "id"])
def test_a_column_that_cannot_be_read_is_reported_and_the_others_are_compared(tmp_path: Path, bad: str) -> None:
    far = pa.array([2**62, 1], pa.timestamp("ms"))
    rows: dict[str, Any] = {"id": pa.array([1, 2]), "v": pa.array([3, 4]), "w": pa.array(["a", "b"]), bad: far}
    parquet.write_table(pa.table(rows), tmp_path / "a.parquet")
    parquet.write_table(pa.table({**rows, "w": pa.array(["a", "c"])}), tmp_path / "b.parquet")
    found = compared(tmp_path / "a.parquet", tmp_path / "b.parquet", key="id")
    counts = (found.equal, found.different, found.missing, found.extra)
    assert ([*found.unread], found.key, counts) == (
        [bad],
        *((("id",), (1, 1, 0, 0)) if bad == "v" else ((), (1, 0, 1, 1))),
    )
    assert "timestamp[ms]" in found.unread[bad]
    same = CliRunner().invoke(app, ["compare", *2 * [str(tmp_path / "a.parquet")], "--key", "id"])
    assert (same.exit_code, "error[GG590]" in same.output, f"column {bad}" in same.output) == (1, True, True)


def test_arrays_of_bytes_that_consolidate_has_written(tmp_path: Path) -> None:
    changes = SHARED_DATA / "cases" / "rows" / "list-of-binary.json"
    if not changes.exists():
        pytest.skip("no folder of cases")
    for name in ("a", "b"):
        ggfmt.consolidate(changes, tmp_path / name, input_format="debezium_json", master="none")
    assert compared(tmp_path / "a", tmp_path / "b").same
