"""XML and delimited text are read the same with kernels and without."""

from __future__ import annotations

from contextlib import nullcontext
from random import Random

import dialects
import pytest
from dialects import EVERYTHING, told
from hostile_text import (
    PROJECTIONS,
    SIZES,
    assert_delimited_text_is_read_the_same,
    assert_xml_is_read_the_same,
    xml_read,
)
from hypothesis import given
from hypothesis import strategies as st
from oracle import PlainColumn, PlainOperation, PlainTable
from scanners import without_kernels
from strategies import Changes, examples

from ggfmt.formats.api.format import Context, Projection
from ggfmt.formats.api.reading import Chunk
from ggfmt.formats.goldengate.delimited.read import DelimitedTextReader
from ggfmt.formats.goldengate.xml import read, records
from ggfmt.formats.goldengate.xml.records import XmlRecord
from ggfmt.kernels import native, state
from ggfmt.model.table import Column, TableDef

FIELDS = "op_type, table, op_ts, current_ts, pos, columns of the table"

CHANGES = Changes(
    PlainTable("GG.T", (PlainColumn("A", "string", 0), PlainColumn("B", "string", 0))),
    [
        PlainOperation("I", "t", "1", None, {"A": "a"}, {"R": "x"}),
        PlainOperation("U", "t", "2", {"A": "a", "B": None}, {"A": "é", "B": "2"}, {}),
        PlainOperation("U", "t", "3", None, {"A": None, "B": "]"}, {}),
        PlainOperation("D", "t", "4", {"A": "a", "B": "\r"}, None, {}),
        PlainOperation("T", "t", "5", None, None, {"R": ""}),
    ],
    False,
)

seeds = st.integers(0, 2**32)
sizes = st.sampled_from(SIZES)


@examples(100)
@given(seeds, sizes, st.sampled_from(PROJECTIONS))
def test_xml_is_read_the_same(seed: int, size: int, projection: Projection) -> None:
    assert_xml_is_read_the_same(Random(seed), size, projection)


@examples(100)
@given(seeds, sizes, st.sampled_from(PROJECTIONS))
def test_delimited_text_is_read_the_same(seed: int, size: int, projection: Projection) -> None:
    assert_delimited_text_is_read_the_same(Random(seed), size, projection)


needs_kernels = pytest.mark.skipif(native is None, reason=f"no native kernels: {state}")


@needs_kernels
def test_operations_as_goldengate_writes_them_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """That nothing is ever odd would be as wrong as that everything is: the tests above would pass."""
    odd = []
    exactly = records.record_at

    def noted(chunk: Chunk, start: int) -> XmlRecord | None:
        odd.append(exactly(chunk, start))
        return odd[-1]

    monkeypatch.setattr(read, "record_at", noted)
    made = dialects.written("xml", CHANGES, includeProlog="true")
    found = xml_read(made * 10, 1 << 20, EVERYTHING)
    assert found.plain == [*CHANGES.operations] * 10
    assert len(odd) == 2  # the first operation of the table, in the discovery and in the reader
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(read, "_MAX_COLUMNS", 1)  # and so the table is left to the exact reader
        assert xml_read(made * 10, 1 << 20, EVERYTHING) == found
    assert len(odd) > 6
    odd.clear()
    assert len(xml_read(made + b"<operation/>" + made, 1 << 20, EVERYTHING).rejects) == 1
    assert len(odd) == 4


@needs_kernels
@pytest.mark.parametrize("name", ["delimitedtext", "delimitedtext_op"])
def test_lines_as_goldengate_writes_them_are_taken(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = []

    def noted(reader: DelimitedTextReader, ordinal: int, line: str) -> None:
        odd.append(line)

    monkeypatch.setattr(DelimitedTextReader, "_hold", noted)
    options = {"encoding": "ISO-8859-1", "fieldDelimiter": "|", "metaColumnsTemplate": "${optype},${schema},${table}"}
    data = dialects.written(name, CHANGES, **options)
    table = TableDef("GG.T", (Column("A"), Column("B")))
    found = dialects.read(name, data * 10 + b"U|GG.T\n", told(name, **options), trusted={"GG.T": table})
    assert len(found.plain) == 10 * len(CHANGES.operations)
    assert odd == ["U|GG.T"]


def test_a_byte_order_mark_is_none_of_a_line_where_another_is_not_of_the_encoding() -> None:
    table = TableDef("GG.T", (Column("A"),))
    source = told("delimitedtext", Context(), fieldDelimiter="|", lineDelimiter="||", encoding="UTF-8")
    data = b"\xef\xbb\xbfI|GG.T|t|c|7|a||\xff||I|GG.T|t|c|7|b|||"
    for kernels in (nullcontext, without_kernels):
        with kernels():
            found = dialects.read("delimitedtext", data, source, trusted={"GG.T": table})
        assert [operation.after for operation in found.plain] == [{"A": "a"}, {"A": "b"}]
        assert found.reasons == [
            "GG303 the line is not UTF-8: byte 0xff at byte 0 of the line",
            f"GG311 the line has 2 fields, but should have at least 5: {FIELDS}",
        ]
