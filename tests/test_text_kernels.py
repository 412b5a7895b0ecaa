"""XML and delimited text are read the same with kernels and without."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from random import Random

import dialects
import pyarrow as pa
import pytest
from dialects import EVERYTHING, Read, chunk_bytes, told
from hostile_text import delimited_file, delimited_options, properties, without_kernels, xml_file
from hypothesis import given
from hypothesis import strategies as st
from oracle import PlainColumn, PlainOperation, PlainTable
from strategies import Changes, examples

from ggfmt.formats.api.context import Context, Projection
from ggfmt.formats.api.reading import Chunk, Event
from ggfmt.formats.goldengate.delimited.read import DelimitedTextReader
from ggfmt.formats.goldengate.xml import records, regular
from ggfmt.formats.goldengate.xml.records import XmlRecord
from ggfmt.kernels import native, state
from ggfmt.model.table import Column, TableDef

PROJECTIONS = [EVERYTHING, Projection(), Projection(tokens=True, in_order=True)]
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
sizes = st.sampled_from([1, 7, 100, 500, 1 << 20])


def xml_read(data: bytes, size: int, projection: Projection, *trusted: TableDef) -> Read:
    with chunk_bytes(size):
        tables = {table.full_name: table for table in trusted}
        return dialects.read("xml", data, trusted=tables, projection=projection)


@examples(100)
@given(seeds, sizes, st.sampled_from(PROJECTIONS), st.booleans())
def test_xml_is_read_the_same(seed: int, size: int, projection: Projection, given_one: bool) -> None:
    data = xml_file(Random(seed))
    trusted = [TableDef("GG.T", (Column("NOTE"), Column("B"), Column("A")))] if given_one else []
    found = xml_read(data, size, projection, *trusted)
    with without_kernels():
        assert found == xml_read(data, size, projection, *trusted)


@examples(100)
@given(seeds, sizes, st.sampled_from(PROJECTIONS), st.booleans(), st.integers(1, 3))
def test_delimited_text_is_read_the_same(seed: int, size: int, projection: Projection, op: bool, columns: int) -> None:
    draw = Random(seed)
    options = delimited_options(draw, op)
    data = delimited_file(draw, options, columns, op)
    name = "delimitedtext_op" if op else "delimitedtext"
    source = told(name, Context(include_tokens=options.pop("tokens") == "true"), **properties(options))
    names = ["GG.T", "GG.U"][: draw.randrange(1, 3)]
    trusted = {table: TableDef(table, tuple(map(Column, "ABC"[:columns]))) for table in names}

    def found() -> Read:
        with chunk_bytes(size):
            return dialects.read(name, data, source, draw.choice([None, 50]), trusted, projection)

    state = draw.getstate()
    with_kernels = found()
    draw.setstate(state)
    with without_kernels():
        assert with_kernels == found()


needs_kernels = pytest.mark.skipif(native is None, reason=f"no native kernels: {state}")


@needs_kernels
def test_operations_as_goldengate_writes_them_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """That nothing is ever odd would be as wrong as that everything is: the tests above would pass."""
    odd = []
    exactly = records.record_at

    def noted(chunk: Chunk, start: int) -> XmlRecord:
        odd.append(exactly(chunk, start))
        return odd[-1]

    monkeypatch.setattr(regular, "record_at", noted)
    made = dialects.written("xml", CHANGES, includeProlog="true")
    found = xml_read(made * 10, 1 << 20, EVERYTHING)
    assert found.plain == [*CHANGES.operations] * 10
    assert len(odd) == 2  # the first operation of the table, in the discovery and in the reader
    assert len(xml_read(made + b"<operation/>" + made, 1 << 20, EVERYTHING).rejects) == 1
    assert len(odd) == 6


@needs_kernels
@pytest.mark.parametrize("name", ["delimitedtext", "delimitedtext_op"])
def test_lines_as_goldengate_writes_them_are_taken(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = []

    def noted(reader: DelimitedTextReader, lines: pa.StringArray, ordinals: pa.Int64Array) -> Iterator[Event]:
        odd.extend(lines.to_pylist())
        return iter(())

    monkeypatch.setattr(DelimitedTextReader, "_lines", noted)
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
            "GG303 the line is not UTF-8: byte 0xff at byte 0 of it",
            "GG311 the line has 2 fields where there should be at least 5",
        ]
