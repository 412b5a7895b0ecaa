"""Messages made by the native kernel and in plain Python are the same, whatever the pieces; mistakes are reported."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import both_ways, examples, java_numbers, json_numbers, texts

from ggfmt import kernels
from ggfmt.arrow.arrays import as_string_maps, as_strings, narrow, non_null_values
from ggfmt.columnar import avro
from ggfmt.columnar.columns import token_maps
from ggfmt.columnar.images import differ
from ggfmt.columnar.pieces import (
    COMMA,
    CommaJoined,
    Conditional,
    Encoding,
    Equals,
    Piece,
    Repeated,
    TextPiece,
    join,
    join_binary,
)
from ggfmt.columnar.strings import TextPattern, all_match, count_texts
from ggfmt.formats.goldengate.xml.write import unsupported_characters
from ggfmt.model.change import Image, ImageColumn

needs_kernels = pytest.mark.skipif(kernels.native is None, reason=f"no native kernels: {kernels.state}")

OF_TEXTS = [Encoding(code) for code in range(Encoding.DOUBLED + 1)]
OF_NUMBERS = [Encoding.DIGITS, Encoding.MILLIS, Encoding.NANOS]
ESCAPED = st.text(st.sampled_from("ab\"\\\r\n\t\0\x1f\x7f&<>']é€😀"), max_size=40)
VALUES = st.one_of(texts, ESCAPED, st.sampled_from(["]]>", "]]]>>", "I", "U", "x" * 15 + '"', "]" * 17 + "\r"]))
INT64 = st.one_of(st.integers(-(1 << 63) + 1000, (1 << 63) - 1), st.integers(-2000, 2000))


def sliced(values: Sequence[object], kind: pa.DataType, before: Sequence[object]) -> pa.Array[Any]:
    """The values as a slice of a larger array."""
    return pa.array([*before, *values, *before], kind).slice(len(before), len(values))


@st.composite
def arrays(draw: st.DrawFn, rows: int, of: st.SearchStrategy[object], kind: pa.DataType) -> pa.Array[Any]:
    values = draw(st.lists(of, min_size=rows, max_size=rows))
    return sliced(values, kind, draw(st.lists(of, max_size=9)))


@st.composite
def pieces(draw: st.DrawFn, rows: int, depth: int = 3, in_members: bool = False) -> Piece:
    leaves = ["constant", "texts", "numbers", "array", *["comma"] * in_members]
    kind = draw(st.sampled_from(leaves + ["either", "members", "each"] * bool(depth)))
    if kind == "constant":
        return draw(texts)
    if kind == "comma":
        return COMMA
    if kind == "array":
        return draw(arrays(rows, VALUES, pa.string()))
    around = [draw(st.sampled_from(["", '"', "<é>"])) for _ in range(2)]
    if kind == "texts":
        values = draw(arrays(rows, st.one_of(st.none(), VALUES), pa.string()))
        return TextPiece(values, draw(st.sampled_from(OF_TEXTS)), draw(texts), *around)
    if kind == "numbers":
        values = draw(arrays(rows, st.one_of(st.none(), INT64), pa.int64()))
        return TextPiece(values, draw(st.sampled_from(OF_NUMBERS)), draw(texts), *around)
    if kind == "either":
        where: pa.BooleanArray | Equals = narrow(draw(arrays(rows, st.booleans(), pa.bool_())), pa.BooleanArray)
        if draw(st.booleans()):
            where = Equals(as_strings(draw(arrays(rows, st.one_of(st.none(), VALUES), pa.string()))), draw(VALUES))
        branches = st.lists(pieces(rows, depth - 1, in_members), max_size=3)
        return Conditional(where, draw(branches), draw(branches))
    if kind == "members":
        members = draw(st.lists(pieces(rows, depth - 1, True), max_size=4))
        # The content of members without a comma before it is never empty: it is the value of one.
        return CommaJoined(
            [COMMA, "x", *members] if draw(st.booleans()) else [Conditional(_first(rows), [COMMA, "x", *members])]
        )
    own, others = draw(st.lists(_maps, min_size=rows, max_size=rows)), draw(st.lists(_maps, max_size=2))
    maps = as_string_maps(sliced(own, _MAP, others))
    length = len(maps.keys)
    items = [
        TextPiece(maps.keys, Encoding.JSON, lead='"', tail='"'),
        "=",
        TextPiece(maps.items, draw(st.sampled_from(OF_TEXTS))),
    ]
    return Repeated(maps, [*items, draw(pieces(length, 0))], draw(texts))


_MAP = pa.map_(pa.string(), pa.string())
_maps = st.lists(st.tuples(texts, texts), max_size=3)


def _first(rows: int) -> pa.BooleanArray:
    return pa.array([row % 2 == 0 for row in range(rows)], pa.bool_())


@examples(150)
@given(st.data(), st.integers(0, 9))
def test_the_kernel_makes_what_plain_python_makes(data: st.DataObject, rows: int) -> None:
    parts = data.draw(st.lists(pieces(rows), max_size=5))
    one, other = both_ways(join, parts, rows)
    one.validate(full=True)
    assert one.equals(other)
    assert len(one) == rows


@examples(60)
@given(st.data(), st.integers(0, 6), st.booleans(), st.booleans())
def test_columns_of_avro_are_the_same(data: st.DataObject, rows: int, flagged: bool, required: bool) -> None:
    kinds = data.draw(st.lists(st.sampled_from(sorted(avro.ENCODERS)), max_size=4))
    columns = []
    for kind in kinds:
        cells = st.sampled_from([None, "true", "false"]) if kind == "boolean" else st.one_of(st.none(), _NUMBERS)
        values = data.draw(arrays(rows, st.one_of(cells, texts) if kind == "string" else cells, pa.string()))
        present = data.draw(st.one_of(st.none(), arrays(rows, st.booleans(), pa.bool_())))
        columns.append(ImageColumn(as_strings(values), present))
    image = Image(tuple(columns), data.draw(st.one_of(st.none(), arrays(rows, st.booleans(), pa.bool_()))))

    def encoded() -> tuple[list[bytes], list[tuple[int, int]]]:
        encoder = avro.ImageEncoder(kinds, flagged)
        parts, bad = encoder.required(image, rows) if required else encoder.optional(image, rows)
        return [] if bad else non_null_values(join_binary(parts, rows)), sorted(bad)

    one, other = both_ways(encoded)
    assert one == other


_NUMBERS = st.one_of(
    json_numbers,
    java_numbers,
    st.integers(-(10**18), 10**18).map(str),
    st.sampled_from(["-0", "0.1", "-1.50", "1.0E2"]),
)


@examples(60)
@given(st.lists(st.dictionaries(texts, texts, max_size=3), max_size=4))
def test_maps_of_avro_are_the_same(maps: list[dict[str, str]]) -> None:
    assert len({tuple(made.to_pylist()) for made in both_ways(avro.string_maps, token_maps(maps))}) == 1


@examples(60)
@given(st.lists(st.one_of(st.none(), VALUES, st.sampled_from(["\ufffe", "\uffff", "\ufeff", "\uff00"])), max_size=5))
def test_what_xml_cannot_carry_is_found(values: list[str | None]) -> None:
    def found(array: pa.StringArray) -> list[bool]:
        mask = unsupported_characters(array)
        return [False] * len(array) if mask is None else non_null_values(mask)

    one, other = both_ways(found, sliced(values, pa.string(), ["\0", None]))
    assert one == other


@examples(60)
@given(st.data(), st.integers(0, 12))
def test_where_columns_differ_is_the_same(data: st.DataObject, rows: int) -> None:
    few = st.sampled_from([None, "", "a", "b", "ab"])
    values, others = (data.draw(arrays(rows, few, pa.string())) for _ in range(2))
    expected = [one != other for one, other in zip(values.to_pylist(), others.to_pylist(), strict=True)]
    assert [mask.to_pylist() for mask in both_ways(differ, values, others)] == [expected] * 2
    places = st.lists(st.integers(0, rows - 1), min_size=4, max_size=4) if rows else st.just([])
    own, other = (pa.array(data.draw(places), pa.int64()) for _ in range(2))
    chosen = zip(values.take(own).to_pylist(), others.take(other).to_pylist(), strict=True)
    expected = [one != another for one, another in chosen]
    assert [mask.to_pylist() for mask in both_ways(differ, values, others, (own, other))] == [expected] * 2


def test_texts_of_any_length_are_escaped_to_the_end() -> None:
    for special in ('"', "\\", "\x01", "]]>", "\r", "&", "é"):
        values = ["a" * before + special + "b" * behind for before in range(34) for behind in (0, 1, 15, 16, 17)]
        for encoding in OF_TEXTS:
            one, other = both_ways(join, [TextPiece(pa.array(values), encoding)])
            assert one.equals(other), encoding


def test_a_value_of_many_bytes_is_escaped_whole() -> None:
    values = pa.array(['"' * 100_000, "]]>" * 40_000, "\r" * 50_000 + "]]"])
    for encoding in OF_TEXTS:
        one, other = both_ways(join, [TextPiece(values, encoding)])
        assert one.equals(other), encoding


@needs_kernels
@pytest.mark.parametrize(
    ("wrong", "error", "reason"),
    [
        ([pa.array(["a"]), pa.array(["a", "b"])], ValueError, "2 rows among others of 1"),
        ([pa.array([1])], TypeError, "kind that the kernel does not take"),
        ([pa.array(["a"], pa.large_string())], TypeError, "kind that the kernel does not take"),
        ([COMMA, pa.array(["a"])], ValueError, "a comma without members"),
        ([1.5], AttributeError, "__arrow_c_array__"),
        ([Conditional(pa.array([None], pa.bool_()), ["a"])], AssertionError, "a piece is null"),
        ([TextPiece(pa.array(["a"]), 99)], ValueError, "an unknown encoding"),  # type: ignore[arg-type]
        ([Repeated(token_maps([{"a": "b"}]), [pa.array([], pa.string())])], ValueError, "other items"),
    ],
)
def test_pieces_that_do_not_belong_together_are_told(wrong: list[Piece], error: type[Exception], reason: str) -> None:
    with pytest.raises(error, match=reason):
        join(wrong)


@pytest.mark.parametrize(
    ("wrong", "rows", "error", "reason"),
    [
        ([pa.array(["a"]), pa.array(["a", "b"])], None, ValueError, "1 rows among others of 2"),
        (
            [Conditional(pa.array([True]), ["a"]), TextPiece(pa.array(["a", "b"]))],
            None,
            ValueError,
            "1 rows among others",
        ),
        ([pa.array(["a"]), "b"], 2, ValueError, "1 rows among others of 2"),
        (["a"], None, AssertionError, "needs a number of rows"),
        ([pa.array([1]), "a"], None, TypeError, "int"),
        ([pa.array(["a", None]), "b"], None, AssertionError, "a piece is null"),
        ([TextPiece(pa.array([None], pa.string())), "b"], None, AssertionError, "a piece is null"),
        ([Conditional(pa.array([None], pa.bool_()), ["a"])], None, AssertionError, "a piece is null"),
        ([Repeated(token_maps([{"a": "b"}]), [pa.array([], pa.string())])], None, ValueError, "other items"),
    ],
)
def test_mistakes_in_pieces_are_told_without_kernels(
    wrong: list[Piece], rows: int | None, error: type[Exception], reason: str
) -> None:
    """A join that went on would lose a row or a value."""
    with patch.object(kernels, "native", None), pytest.raises(error, match=reason):
        join(wrong, rows)


def test_messages_too_large_for_an_array_are_told_before_they_are_made() -> None:
    with patch.object(kernels, "native", None), pytest.raises(pa.ArrowCapacityError):
        join([b"x" * (1 << 20)], 1 << 12)


def test_a_null_that_no_row_shows_does_no_harm() -> None:
    nulls = TextPiece(pa.array(["a", None]))
    lists: Any = pa.array([[("k", "a")], None], pa.map_(pa.string(), pa.string()))
    for piece in (nulls, Repeated(lists, [TextPiece(lists.items)])):
        made = both_ways(join, [Conditional(pa.array([True, False]), [piece, "."], ["-"])])
        assert [one.to_pylist() for one in made] == [["a.", "-"]] * 2
        with patch.object(kernels, "native", None), pytest.raises(AssertionError, match="a piece is null"):
            join([piece, "."])


@needs_kernels
def test_pieces_that_are_nested_too_deeply_are_left_to_plain_python() -> None:
    piece: Piece = "a"
    for _ in range(50):
        piece = CommaJoined([piece])
    one, other = both_ways(join, [piece], 1)
    assert one.to_pylist() == other.to_pylist() == ["a"]


@pytest.mark.parametrize(
    ("form", "fit", "unfit"),
    [
        (TextPattern.JSON_NUMBER, "0 -0 1.5 1e5 -10.25E+3", "00 01 1. .5 +1 1e NaN"),
        (TextPattern.JSON_BOOLEAN, "true false", "True 1 t falsee"),
        (TextPattern.SHORT_INTEGER, "0 -1 999999999999999999", "1234567890123456789 01 1.0 - +1 -01"),
        (TextPattern.SHORT_FLOAT, "1234567 0.5 -123.4567", "12345678 .5 1. 1e5 123.45678"),
        (TextPattern.SHORT_DOUBLE, "123456789012345 -0 0.1", "1234567890123456 1e1 NaN"),
    ],
)
def test_forms_of_texts_are_known(form: TextPattern, fit: str, unfit: str) -> None:
    assert both_ways(all_match, pa.array([None, *fit.split()]), form) == [True, True]
    assert both_ways(all_match, pa.array([], pa.string()), form) == [True, True]
    for text in (*unfit.split(), ""):
        assert both_ways(all_match, pa.array(["x", text, "x"]).slice(1, 1), form) == [False, False], text


@examples(150)
@given(st.lists(st.one_of(_NUMBERS, VALUES, st.sampled_from(["true", "false", "\ufffe", "1\n", "٣"])), max_size=2))
def test_forms_of_texts_are_the_same(values: list[str]) -> None:
    for form in TextPattern:
        assert len(set(both_ways(all_match, pa.array(values, pa.string()), form))) == 1, form


@examples(100)
@given(st.lists(st.one_of(st.none(), VALUES), max_size=5), st.lists(VALUES, max_size=3))
def test_counts_of_texts_are_the_same(values: list[str | None], texts: list[str]) -> None:
    one, other = both_ways(count_texts, pa.array(values, pa.string()), tuple(texts), tuple(texts))
    assert one == other
