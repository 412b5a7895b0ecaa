"""Definitions found with the native scanner and without it: whatever the records are, the same comes out."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hostile_json import TABLES, assert_same_definitions, discover, file, partial_file
from hypothesis import given
from hypothesis import strategies as st
from reading import chunk_size
from strategies import examples

from ggfmt import kernels
from ggfmt.formats.records import routing
from ggfmt.formats.records.routing import examined_one
from ggfmt.formats.records.scanner import JsonScanner
from ggfmt.kernels import native
from ggfmt.model.table import STRING, Kind, SqlType

NUMBER, BOOLEAN = SqlType(Kind.DECIMAL), SqlType(Kind.BOOLEAN)
WHOLE = ((0, None),)


@pytest.fixture(params=["scanner", "plain"])
def scanned(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    if request.param == "plain":
        monkeypatch.setattr(kernels, "native", None)
    elif native is None:
        pytest.skip("no native kernels")
    return bool(request.param == "scanner")


def data_of(*images: dict[str, Any] | None, **members: Any) -> bytes:
    """Updates with these after images, or without one for None."""
    records = ({"table": "A.B", "op_type": "U", **members, **({} if i is None else {"after": i})} for i in images)
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def found(data: bytes, every_shape: bool = False) -> tuple[dict[str, SqlType], tuple[str, ...], bool]:
    """The columns and the key of the only table, and whether all is settled."""
    result = discover(data, every_shape, {}, WHOLE)
    (table,) = result.tables
    return {column.name: column.type for column in table.columns}, table.primary_keys, result.complete


def ranges_of(data: bytes, parts: int) -> list[tuple[int, int | None]]:
    size = len(data) // parts + 1
    return [(start, size) for start in range(0, len(data), size)]


@pytest.mark.skipif(native is None, reason="no native kernels")
@given(
    st.integers(0, 2**32),
    st.sampled_from((0.0, 0.05, 0.3, 1.0)),
    st.sampled_from((100, 1000, 10**6)),
    st.sampled_from((1, 1, 2, 5)),
    st.booleans(),
    st.booleans(),
)
@examples(150)
def test_definitions_are_the_same_with_the_scanner(
    seed: int, hostile: float, size: int, parts: int, every_shape: bool, trusted: bool
) -> None:
    known = {"S.ÜNI": TABLES["S.ÜNI"]} if trusted else {}
    for data in (file(seed, 40, hostile), partial_file(seed, 60, hostile)):
        ranges = WHOLE if hostile else ranges_of(data, parts)  # a damaged record may not end where a range does
        with chunk_size(size):
            assert_same_definitions(data, every_shape, known, ranges)


@pytest.mark.skipif(native is None, reason="no native kernels")
def test_the_scanner_passes_over_images_that_show_nothing_new(monkeypatch: pytest.MonkeyPatch) -> None:
    examined = 0

    def counted(*place: Any) -> Any:
        nonlocal examined
        examined += 1
        return examined_one(*place)

    monkeypatch.setattr(routing, "examined_one", counted)
    data = partial_file(1, 3000, 0.0)
    for every_shape in (False, True):
        examined = 0
        assert discover(data, every_shape, {}, WHOLE).tables
        assert 3 <= examined < 600


@pytest.mark.usefixtures("scanned")
def test_types_of_all_values_count() -> None:
    rows: list[dict[str, Any]] = [{"A": None, "B": "x", "C": 1, "D": True, "E": 1, "F": {}}] * 20
    later: list[dict[str, Any]] = [
        {"A": "x"},
        {"C": 1.5},
        {"C": None},
        {"D": False},
        {"E": "x"},
        {"E": True},
        {"F": [1]},
        {"F": "x"},
    ]
    types = {"A": STRING, "B": STRING, "C": NUMBER, "D": BOOLEAN, "E": STRING, "F": STRING}
    assert found(data_of(*rows, *later, *rows)) == (types, (), True)


@pytest.mark.usefixtures("scanned")
def test_orders_of_columns_count_in_all_images(scanned: bool) -> None:
    images = [{"K": 1, "C": 1}, {"K": 1, "B": 1}, {"K": 1, "A": 1}]
    later = [{"A": 1, "B": 1}, {"B": 1, "C": 1}]
    data = data_of(*images * 20, *later, *images)
    for every_shape in (False, True):
        assert list(found(data, every_shape)[0]) == ["K", "A", "B", "C"]
        assert found(data, every_shape)[2] is True


def test_a_pass_that_has_not_looked_at_all_images_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "native", None)
    first = data_of(*[{"K": 1, "C": 1}, {"K": 1, "B": 1}] * 10)
    data = first + data_of(*[{"B": 1, "C": 1}] * 20)
    with chunk_size(len(first)):
        assert list(found(data)[0]) == ["K", "C", "B"]
        assert found(data)[2] is False
        assert list(found(data, every_shape=True)[0]) == ["K", "B", "C"]
        assert found(data, every_shape=True)[2] is True


@pytest.mark.usefixtures("scanned")
def test_a_key_that_comes_later_counts_and_the_first_one_wins() -> None:
    rows: list[dict[str, Any]] = [{"A": 1, "B": "x"}] * 20
    first, second = data_of(*rows, primary_keys=["A"]), data_of(*rows, primary_keys=["B"])
    assert found(data_of(*rows) + first + second)[1] == ("A",)
    assert found(data_of(*rows) + second + data_of(*rows) + first)[1] == ("B",)


@pytest.mark.usefixtures("scanned")
@pytest.mark.parametrize("image", [None, {}])
def test_a_table_without_columns_is_found(image: dict[str, Any] | None) -> None:
    assert found(data_of(*[image] * 5)) == ({}, (), True)


@pytest.mark.usefixtures("scanned")
def test_a_metadata_record_ends_what_images_show() -> None:
    described = {"op_type": "OBJECT_METADATA", "table": "A.B", "columns": {"X": {}, "Y": {}}}
    rows = data_of(*[{"A": 1}] * 20)
    data = rows + json.dumps(described).encode() + b"\n" + data_of(*[{"A": 1, "NEW": 1}] * 20)
    result = discover(data, False, {}, WHOLE)
    assert [table.column_names for table in result.tables] == [("A",)]
    assert [(event.table.column_names, event.offset) for event in result.events] == [(("X", "Y"), len(rows))]


@pytest.mark.usefixtures("scanned")
def test_unknown_members_that_alternate_change_nothing() -> None:
    records = (data_of({"A": 1, f"C{n}": 1}, **{f"extra{n}": 1}) for n in range(40))
    columns, _, _ = found(b"".join(records) * 3)
    assert list(columns) == ["A", *(f"C{n}" for n in range(40))]


@pytest.mark.skipif(native is None, reason="no native kernels")
def test_many_odd_records_pause_the_scanner(monkeypatch: pytest.MonkeyPatch) -> None:
    scans = 0
    original = JsonScanner.scan

    def counted(*place: Any) -> Any:
        nonlocal scans
        scans += 1
        return original(*place)

    monkeypatch.setattr(JsonScanner, "scan", counted)
    data = data_of(*[{"A": 1}] * 200).replace(b'"A"', b'"\\u0041"')
    with chunk_size(len(data) // 10):
        assert list(found(data)[0]) == ["A"]
    assert 16 < scans < 60
