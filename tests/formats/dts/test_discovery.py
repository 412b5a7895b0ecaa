"""Definitions are the same whether the kernel passes over records or not."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pytest
from contract.dts import file, integer, record, text, value
from dialects import discover, read
from hypothesis import example, given
from hypothesis import strategies as st
from scanners import without_kernels
from strategies import examples

from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import DEFAULT_SETTINGS
from ggfmt.formats.dts import decode
from ggfmt.model.table import Catalog

NUMBERS = st.sampled_from([253, 252, 8, 4000])  # a text, bytes, an integer, and an unknown one
VALUES = st.sampled_from(
    [
        None,
        text(b"a"),
        text("é".encode()),
        text(b"\xff", ""),
        integer("1"),
        value("BinaryObject", type="x", value=b"\xff"),
    ]
)


@st.composite
def records(draw: st.DrawFn) -> list[dict[str, Any]]:
    tables = [draw(st.fixed_dictionaries({"x": NUMBERS, "y": NUMBERS})) for _ in range(draw(st.integers(1, 2)))]
    return [
        record("INSERT", None, [draw(VALUES), draw(VALUES)], draw(st.sampled_from(tables)), "MySQL")
        for _ in range(draw(st.integers(1, 10)))
    ]


def insert(fields: dict[str, int], *values: Any) -> dict[str, Any]:
    return record("INSERT", None, list(values), fields, "MySQL")


@given(records())
@example([insert({"y": 253, "x": 253}, None, None)] * 3 + [insert({"x": 253, "y": 253}, None, None)])
@example([insert({"x": 8}, integer("1"))] * 3 + [insert({"x": 8, "y": 253}, integer("1"), text(b"a"))] * 3)
@example([insert({"x": 253}, None), insert({"x": 252}, value("BinaryObject", type="x", value=b"\xff"))])
@examples(200)
def test_definitions_and_operations_are_those_of_the_exact_reader(items: list[dict[str, Any]]) -> None:
    data = file(*items)
    found, operations = discover("dts_avro", data), read("dts_avro", data)
    with without_kernels():
        expected, exact = discover("dts_avro", data), read("dts_avro", data)
    assert (found.tables, found.events) == (expected.tables, expected.events)
    assert (operations.plain, operations.reasons) == (exact.plain, exact.reasons)


def test_few_records_are_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[int] = []
    own = decode.record_at

    def counted(data: bytes, place: int, born: bool) -> Any:
        decoded.append(place)
        return own(data, place, born)

    monkeypatch.setattr(decode, "record_at", counted)
    items = [record("INSERT", None, [integer(str(n)), text(b"a")], {"x": 8, "y": 253}, "MySQL") for n in range(100)]
    discover("dts_avro", file(*items))
    assert 0 < len(decoded) < 10
    assert len(read("dts_avro", file(*items)).plain) == 100


def test_a_file_beside_a_file_of_keys_has_definitions_too() -> None:
    data = file(record("INSERT", None, [integer("1"), text(b"a")], {"x": 8, "y": 253}, "MySQL"))
    side = FORMATS["dts_avro"].read_support
    assert side.discovery is not None
    layout = replace(side.reader.layout(data, True, DEFAULT_SETTINGS), keys=("x",))
    discovery = side.discovery(Catalog(), True)
    for chunk in side.reader.chunks(io.BytesIO(data), "a.dts", 0, None, layout):
        discovery.read(chunk)
    found = side.discovery.settle([discovery.findings()], Catalog(), True)
    assert [event.table.column_names for event in found.events] == [("x", "y")]
