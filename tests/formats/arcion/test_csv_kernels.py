"""Rows of CSV as kernels take them, beside the exact reader."""

from __future__ import annotations

import json
from array import array
from dataclasses import replace

import pytest
from contract.arcion import CURSOR as MEMBERS
from dialects import EVERYTHING, read, told
from hypothesis import given
from hypothesis import strategies as st
from scanners import operations_taken, without_kernels
from strategies import examples

from ggfmt.formats.api.format import Projection, WriterSettings
from ggfmt.formats.csv import cut
from ggfmt.kernels import native, plain

pytestmark = pytest.mark.skipif(native is None, reason="there are no kernels")
CURSOR = json.dumps(MEMBERS, separators=(",", ":"))
QUOTES = st.sampled_from(['"', "'"])
WAYS = st.tuples(st.sampled_from([",", "|"]), QUOTES, st.booleans())


@given(
    st.text("a,|\"'\\\r\n", max_size=60).map(str.encode),
    st.tuples(st.sampled_from([",", "|"]), st.sampled_from(['"', "'", ""]), st.sampled_from([0, 1, 2])),
    st.booleans(),
    st.sampled_from([3, 10, 1000]),
)
@examples(2000)
def test_rows_start_and_end_where_the_expression_finds_them(
    data: bytes, way: tuple[str, str, int], more: bool, most: int
) -> None:
    given = (data, 0, more, most, *way)
    (places, cut), (found, end) = native.csv_rows(*given), plain.csv_rows(*given)
    assert (bytes(places), cut) == (found, end)


WORDS = st.sampled_from(
    ["", "a", "é", "NULL", "null", '"', '""', '"NULL"', '"a,b"', '"a\nb"', '"a""b"', '"a\\"b"', "a\\", "\t"]
)
STATES = st.sampled_from([*"0123123123", "4", "", "NULL", '"1"', "11"])
CURSORS = st.sampled_from(
    [
        CURSOR,
        "{}",
        "",
        " ",
        '{"timestamp":1657516903000,"position":1}',
        '{"timestamp":null,"position":""}',
        '{"position":null,"log":"x"}',
        '{"timestamp":"x","position":"1"}',
        '{"time stamp":1657516903000,"position":1}',
        '{"posi tion":5,"a b":1}',
        '{"position":1,"position":2}',
        '{"position":{"a":[1]},"v":"é\\u00e9"}',
        '{"a":1},"opType":"D"',
        "[1]",
        "x",
    ]
)


@st.composite
def fields_of_change(draw: st.DrawFn, quote: str, backslash: bool) -> list[str]:
    """The fields of a change of two columns, most of them as Arcion writes them."""

    def quoted(text: str) -> str:
        escaped = (
            text.replace("\\", "\\\\").replace(quote, f"\\{quote}") if backslash else text.replace(quote, quote * 2)
        )
        return f"{quote}{escaped}{quote}"

    op = draw(st.sampled_from([*"IUDIUD", "T", '"I"', "NULL", ""]))
    columns = [field for _ in range(2) for field in (draw(WORDS), draw(WORDS), draw(STATES))]
    texts = [draw(CURSORS), draw(st.sampled_from(['{"insertCount":30}', "{}", "NULL", '{"update Count":"x"}', "1"]))]
    fields = [*columns, op, *(text if text == "NULL" else quoted(text) for text in texts)]
    return fields[: draw(st.sampled_from([9, 9, 9, 9, 9, 9, 8]))]


@st.composite
def files(draw: st.DrawFn) -> tuple[bytes, WriterSettings]:
    delimiter, quote, backslash = draw(WAYS)
    rows = draw(st.lists(fields_of_change(quote, backslash), min_size=1, max_size=8))
    shown = [delimiter.join(row) for row in rows]
    shown.insert(draw(st.integers(0, len(shown))), draw(st.sampled_from(["", "\r", '"', f"{quote}a", "a"])))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    data = (end.join(shown) + draw(st.sampled_from(["", end]))).encode()
    data = draw(st.sampled_from([data, data, data.replace(b"\xc3", b"\xff")]))
    options = {"columns": "T=b,a", "tableName": "T", "delimiter": delimiter, "quote": quote}
    options |= {"escape": "backslash" if backslash else "doubled"}
    return data, told("arcion_csv", **options)


@given(files(), st.booleans(), st.sampled_from([None, 7, 100]))
@examples(600)
def test_the_scanner_takes_what_the_exact_reader_takes(
    file: tuple[bytes, WriterSettings], row_only: bool, most: int | None
) -> None:
    data, source = file
    wanted = Projection(row_only=True, key_updates=True) if row_only else EVERYTHING
    with pytest.MonkeyPatch.context() as patch:
        if most is not None:
            patch.setattr(cut, "CHUNK_BYTES", most)
        found = read("arcion_csv", data, source, projection=wanted)
        with without_kernels():
            expected = read("arcion_csv", data, source, projection=wanted)
    assert (found.plain, found.reasons) == (expected.plain, expected.reasons)


@given(st.lists(st.tuples(WORDS, WORDS), max_size=6), st.booleans())
@examples(300)
def test_rows_of_snapshots(rows: list[tuple[str, str]], has_header: bool) -> None:
    data = "".join(f"{a},{b}\n" for a, b in ([("a", "b")] if has_header else []) + rows).encode()
    source = told("arcion_csv", mode="snapshot", tableName="T", includeHeader=str(has_header).lower(), columns="T=a,b")
    found = read("arcion_csv", data, source)
    with without_kernels():
        expected = read("arcion_csv", data, source)
    assert (found.plain, found.reasons) == (expected.plain, expected.reasons)


def test_regular_rows_are_taken() -> None:
    cursor = '"' + CURSOR.replace('"', '""') + '"'
    rows = [f"{n},NULL,1,b {n},NULL,1,I,{cursor},NULL\n" for n in range(300)]
    rows += [f'{n},{n},3,"x ""{n}""",b,3,U,{cursor},"{{""updateCount"":1}}"\n' for n in range(300)]
    data = "".join(rows).encode()
    with operations_taken() as taken:
        found = read("arcion_csv", data, told("arcion_csv", tableName="T", columns="T=a,b"))
    assert taken.operations >= 598
    assert found.reasons == []
    assert found.plain[-1].before == {"a": "299", "b": "b"}
    assert found.plain[-1].after == {"a": "299", "b": 'x "299"'}
    assert found.plain[-1].tokens["updateCount"] == "1"


def test_files_of_other_columns_are_not_mixed_up() -> None:
    """A change of columns in the same table, file by file, as one reader gets them."""
    columns = replace(told("arcion_csv", tableName="T", includeHeader="true", mode="snapshot"))
    one = b"a,b\n" + b"1,2\n" * 40
    other = b"b,a\n" + b"2,1\n" * 40
    assert [item.after for item in read("arcion_csv", one, columns).plain] == [{"a": "1", "b": "2"}] * 40
    assert [item.after for item in read("arcion_csv", other, columns).plain] == [{"b": "2", "a": "1"}] * 40


def test_a_kernel_refuses_what_is_no_dialect() -> None:
    for wrong in (("", '"'), ("é", '"'), ('"', '"')):
        with pytest.raises((ValueError, TypeError)):
            native.csv_rows(b"a", 0, False, 10, *wrong, False)
    with pytest.raises(ValueError, match="not in the data"):
        native.csv_rows(b"a", 2, False, 10, ",", '"', False)
    with pytest.raises(ValueError, match="not in the data"):
        native.csv_to_json(b"a", array("q", [0, 2]), ",", '"', False, b"NULL", (b'"a":',), False, b"{")
    with pytest.raises(ValueError, match="no columns"):
        native.csv_to_json(b"a", array("q", [0, 1]), ",", '"', False, b"NULL", (), False, b"{")
