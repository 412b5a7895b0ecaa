"""A column twice in an image: the last one counts, as it did, and the operations are counted."""

from __future__ import annotations

import json
from typing import Any

import pytest
from dialects import read
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

from ggfmt.formats.api.format import Projection

TEXTS = st.sampled_from(["", "x", 'a":1', '": ', "\\", '\\":', "12:30:00", '{"a":1}', "a\nb", ":", 'k" :'])
VALUES: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.integers(-9, 9),
    TEXTS,
    st.lists(TEXTS, max_size=2),
    st.dictionaries(st.sampled_from(["a", "b", 'c"', "d:"]), st.one_of(TEXTS, st.lists(st.none())), max_size=2),
)
ROWS = st.lists(
    st.lists(st.tuples(st.sampled_from(["id", "n", 'q"', "t:"]), VALUES), max_size=5), min_size=1, max_size=9
)
SPACES = st.sampled_from([(",", ":"), (", ", ": "), (" , ", " : ")])


def record(members: list[tuple[str, Any]], spaces: tuple[str, str] = (",", ":")) -> bytes:
    row = spaces[0].join(f"{json.dumps(k)}{spaces[1]}{json.dumps(v, separators=spaces)}" for k, v in members)
    return b'{"database":"s","table":"t","type":"insert","ts":1,"data":{%s}}\n' % row.encode()


@given(ROWS, SPACES, st.sampled_from([None, 150]))
@examples(100)
def test_operations_with_a_column_twice_are_counted_whatever_the_values(
    rows: list[list[tuple[str, Any]]], spaces: tuple[str, str], size: int | None
) -> None:
    found = read("maxwell_json", b"".join(record(row, spaces) for row in rows), size=size)
    assert len(found.plain) == len(rows)
    twice = sum(len(dict(row)) < len(row) for row in rows)
    assert sum(count for remark, count in found.remarks.items() if remark.code == "GG317") == twice
    for operation, row in zip(found.plain, rows, strict=True):
        assert operation.after is not None
        assert operation.after.keys() == dict(row).keys()


@pytest.mark.parametrize("row_only", [False, True])
def test_the_last_one_counts_in_either_image(row_only: bool) -> None:
    data = (
        b'{"database":"s","table":"t","type":"update","data":{"id":1,"n":1,"n":2},"old":{"n":3,"n":4}}\n'
        b'{"database":"s","table":"t","type":"delete","data":{"id":1,"id":4,"n":null}}\n'
        b'{"database":"s","table":"t","type":"insert","data":{"id":5,"n":"12:30"}}\n'
    )
    found = read("maxwell_json", data, projection=Projection(row_only=row_only))
    assert {(remark.code, count) for remark, count in found.remarks.items()} == {("GG317", 2)}
    assert [(item.after or item.before or {})["id"] for item in found.plain] == ["1", "4", "5"]


@pytest.mark.parametrize("row_only", [False, True])
def test_the_records_of_goldengate_are_counted_too(row_only: bool) -> None:
    data = (
        b'{"table":"S.T","op_type":"I","op_ts":null,"pos":"1","after":{"ID":"1","N":"1","N":"2"}}\n'
        b'{"table":"S.T","op_type":"I","op_ts":null,"pos":"2","after":{"ID":"2","N":"3"}}\n'
    )
    found = read("json", data, projection=Projection(row_only=row_only))
    assert {(remark.code, count) for remark, count in found.remarks.items()} == {("GG317", 1)}
    assert [item.after for item in found.plain] == [{"ID": "1", "N": "2"}, {"ID": "2", "N": "3"}]
