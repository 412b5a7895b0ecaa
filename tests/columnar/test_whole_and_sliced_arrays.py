"""Kernels over Arrow arrays, on whole arrays and on views into larger ones."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from itertools import pairwise
from typing import Any

import msgspec
import oracle
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import both_ways, examples, java_numbers, numbers, texts

from ggfmt.arrow.arrays import as_string_maps, non_null_values
from ggfmt.columnar.columns import MISSING, MISSING_RAW, int64s, raw_column, text_column, token_maps
from ggfmt.columnar.json_text import json_booleans, json_numbers, quote_json
from ggfmt.columnar.metadata import Clock, OpKeys, or_empty, token_texts
from ggfmt.columnar.pieces import Piece, escape_json_text, join, repeat, text_buffer
from ggfmt.columnar.strings import count_texts, represent
from ggfmt.model.change import ImageColumn

optional = st.one_of(st.none(), texts)


def view(values: Sequence[str | None], before: int = 2) -> pa.StringArray:
    """The values as a slice of a larger array, with text on either side."""
    return pa.array(['x"\\\n9'] * before + list(values) + ["y|", None], pa.string()).slice(before, len(values))


def both(values: Sequence[str | None]) -> list[pa.StringArray]:
    return [pa.array(values, pa.string()), view(values)]


def joined_texts(piece: Piece, rows: int) -> list[str]:
    return non_null_values(join([piece], rows))


def quoted_texts(array: pa.StringArray) -> list[str]:
    return non_null_values(quote_json(array))


# Clock

NOW = datetime(2024, 5, 1, 10, 20, 30, 123456)


def _constant(stamps: pa.StringArray | pa.StringScalar) -> str:
    assert isinstance(stamps, pa.StringScalar)
    return stamps.as_py()


def _running(stamps: pa.StringArray | pa.StringScalar) -> list[str]:
    assert isinstance(stamps, pa.StringArray)
    return non_null_values(stamps)


def test_a_fixed_clock_always_gives_the_same_stamp() -> None:
    clock = Clock(NOW)
    for count in (0, 1, 5000):
        assert _constant(clock.stamps(count, True)) == "2024-05-01T10:20:30.123456"
        assert _constant(clock.stamps(count, False)) == "2024-05-01 10:20:30.123456"


def test_a_fixed_clock_shows_six_digits_where_the_moment_has_none() -> None:
    assert _constant(Clock(NOW.replace(microsecond=0)).stamps(1, True)) == "2024-05-01T10:20:30.000000"


@examples(30)
@given(st.lists(st.integers(0, 4000), min_size=1, max_size=8))
def test_stamps_are_distinct_and_increasing_over_all_calls(counts: list[int]) -> None:
    clock = Clock()
    given: list[str] = []
    for count in counts:
        stamps = _running(clock.stamps(count, True))
        assert len(stamps) == count
        given += stamps
    assert all(earlier < later for earlier, later in pairwise(given))
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}", stamp) for stamp in given)


def test_a_running_clock_tells_the_local_time_and_starts_to_count_at_000() -> None:
    early = datetime.now()
    (stamp,) = _running(Clock().stamps(1, False))
    late = datetime.now()
    told = datetime.strptime(stamp, "%Y-%m-%d %H:%M:%S.%f")
    assert early.replace(microsecond=early.microsecond // 1000 * 1000) <= told <= late
    assert stamp.endswith("000")


def test_the_counter_starts_again_in_the_next_millisecond() -> None:
    clock = Clock()
    first = _running(clock.stamps(3, True))
    assert [stamp[-3:] for stamp in first] == ["000", "001", "002"]
    time.sleep(0.005)
    assert _running(clock.stamps(1, True))[0][-3:] == "000"


# Join


@examples(100)
@given(st.data(), st.integers(0, 6))
def test_a_join_puts_rows_together_and_loses_none(data: st.DataObject, rows: int) -> None:
    kinds = data.draw(st.lists(st.sampled_from(["constant", "scalar", "array", "view"]), max_size=6))
    pieces: list[str | pa.Scalar[Any] | pa.Array[Any]] = []
    columns: list[list[str]] = []
    for kind in kinds:
        if kind in ("constant", "scalar"):
            text = data.draw(texts)
            pieces.append(text if kind == "constant" else pa.scalar(text, pa.string()))
            columns.append([text] * rows)
        else:
            values = data.draw(st.lists(texts, min_size=rows, max_size=rows))
            pieces.append(pa.array(values, pa.string()) if kind == "array" else view(values))
            columns.append(values)
    for joined in both_ways(join, pieces, rows):
        assert joined.type == pa.string()
        assert joined.to_pylist() == ["".join(column[row] for column in columns) for row in range(rows)]


@pytest.mark.parametrize(
    "pieces", [["a", pa.array(["x", None])], [pa.array([None, None], pa.string()), pa.array(["", None])]]
)
def test_a_null_among_the_pieces_is_an_error_and_never_a_lost_row(pieces: list[str | pa.Array[Any]]) -> None:
    with pytest.raises(AssertionError, match="a join lost rows"):
        join(pieces)


def test_a_join_of_constants_must_be_told_how_many_rows_there_are() -> None:
    assert join(["a", pa.scalar("b")], 3).to_pylist() == ["ab"] * 3
    assert join([], 2).to_pylist() == ["", ""]
    with pytest.raises(AssertionError, match="number of rows"):
        join(["a"])


def test_repeat_gives_as_many_texts_as_asked_for() -> None:
    assert repeat("é", 3).to_pylist() == ["é"] * 3
    assert repeat("é", 0).to_pylist() == []


# Texts


@examples(150)
@given(st.lists(optional, max_size=5))
def test_json_strings_are_escaped_as_the_oracle_does_and_mean_the_same(values: list[str | None]) -> None:
    for array in both(values):
        for quoted in both_ways(quoted_texts, array):
            assert quoted == ["null" if v is None else oracle.json_string(v) for v in values]
            assert [json.loads(text) for text in quoted] == values


@examples(100)
@given(texts.filter(lambda text: "\x7f" not in text))
def test_escaping_agrees_with_python_apart_from_the_letters_of_escapes(text: str) -> None:
    expected = json.dumps(text, ensure_ascii=False)
    assert escape_json_text(text) == expected
    assert both_ways(quoted_texts, pa.array([text])) == [[expected]] * 2


def test_every_control_character_is_escaped_and_delete_is_not() -> None:
    text = "".join(map(chr, range(0x80)))
    expected = [oracle.json_string(text), "null"]
    assert both_ways(quoted_texts, view([text, None])) == [expected] * 2
    assert "\x7f" in escape_json_text(text)


@examples(150)
@given(
    st.lists(
        st.one_of(
            st.none(),
            numbers,
            texts,
            st.sampled_from(["1 ", "1\n", "٣", "1_0", "NaN", "Infinity", "0x1", "1e", ".", "-", "--1"]),
        ),
        max_size=6,
    )
)
def test_numbers_are_those_that_java_reads_and_all_others_are_told(values: list[str | None]) -> None:
    expected, bad = [], []
    for row, value in enumerate(values):
        try:
            expected.append("null" if value is None else oracle.json_number(value))
        except oracle.NotANumber:
            expected.append("null")
            bad.append(row)
    for array in both(values):
        for shown, wrong in both_ways(json_numbers, array):
            assert (join([shown]).to_pylist(), wrong) == (expected, bad)


@examples(100)
@given(st.lists(java_numbers, min_size=1, max_size=5))
def test_no_number_changes_its_value(values: list[str]) -> None:
    shown, _ = json_numbers(view(values))
    for text, value in zip(non_null_values(join([shown])), values, strict=True):
        assert Decimal(text).compare(Decimal(value)) == 0
        assert Decimal(text).as_tuple().digits == Decimal(value).as_tuple().digits
        assert oracle.is_json_number(text)


@examples(60)
@given(st.lists(st.one_of(st.none(), st.sampled_from(["true", "false", "True", "", "1"]), texts), max_size=5))
def test_booleans_are_the_two_words_and_no_other_text(values: list[str | None]) -> None:
    for array in both(values):
        for piece, bad in both_ways(json_booleans, array):
            assert bad == [row for row, value in enumerate(values) if value not in ("true", "false", None)]
            words = join([piece])
            good = [row for row in range(len(values)) if row not in bad]
            assert [words[row].as_py() for row in good] == [oracle.json_value(values[row], "boolean") for row in good]


@examples(100)
@given(st.lists(optional, max_size=6), texts)
def test_the_values_that_hold_a_text_are_counted(values: list[str | None], substring: str) -> None:
    holding = sum(value is not None and substring in value for value in values) if substring else 0
    expected = (holding, 0, values.count(substring), values.count(""))
    for array in both(values):
        assert both_ways(count_texts, array, (substring, ""), (substring, "")) == [expected] * 2


@examples(60)
@given(st.lists(st.lists(texts, max_size=4), min_size=1, max_size=3))
def test_the_buffer_of_an_array_holds_its_values_and_nothing_else(parts: list[list[str]]) -> None:
    for part in parts:
        for array in both(part):
            assert text_buffer(array).to_pybytes() == "".join(part).encode()
    chunked = pa.chunked_array([view(part) for part in parts], pa.string())
    assert text_buffer(chunked).to_pybytes() == "".join(map("".join, parts)).encode()


@examples(60)
@given(st.lists(st.tuples(optional, st.booleans()), max_size=6), texts, texts)
def test_null_and_missing_are_represented_apart(cells: list[tuple[str | None, bool]], null: str, missing: str) -> None:
    present = pa.array([True, *(there for _, there in cells), False], pa.bool_()).slice(1, len(cells))
    for values in both([value for value, _ in cells]):
        for quoted in (False, True):
            texts = [
                null if value is None else '"' + value.replace('"', '""') + '"' if quoted else value
                for value, _ in cells
            ]
            shown = [text if there else missing for text, (_, there) in zip(texts, cells, strict=True)]
            for column, expected in ((ImageColumn(values, present), shown), (ImageColumn(values), texts)):
                piece = represent(column, null, missing, quoted)
                assert both_ways(joined_texts, piece, len(values)) == [expected] * 2


# Metadata


@examples(100)
@given(st.lists(st.dictionaries(texts, texts, max_size=3), max_size=5), texts, texts)
def test_tokens_are_joined_row_by_row_in_their_order(maps: list[dict[str, str]], equals: str, comma: str) -> None:
    expected = [comma.join(name + equals + value for name, value in tokens.items()) for tokens in maps]
    kind = pa.map_(pa.string(), pa.string())
    padded = pa.array([[("before", "1")], *(list(tokens.items()) for tokens in maps), [("after", "2")]], kind)
    for array in (token_maps(maps), padded.slice(1, len(maps))):
        piece = token_texts(as_string_maps(array), lambda names, values: [names, equals, values], comma)
        assert both_ways(joined_texts, piece, len(maps)) == [expected] * 2


def test_operations_without_tokens_have_the_empty_text() -> None:
    assert token_texts(None, lambda names, values: [names, values], ",") == ""
    piece = token_texts(token_maps([{}, {}]), lambda names, values: [names, values], ",")
    assert both_ways(joined_texts, piece, 2) == [["", ""]] * 2


@examples(40)
@given(st.lists(st.sampled_from("IUDT"), max_size=6), st.lists(texts, min_size=4, max_size=4))
def test_op_keys_stand_for_the_operation_types(ops: list[str], words: list[str]) -> None:
    for array in both(ops):
        assert OpKeys(words).of(array).to_pylist() == [words["IUDT".index(op)] for op in ops]
        assert OpKeys("IUDT").of(array).to_pylist() == ops
        piece = OpKeys(words).piece(array)
        assert join([piece]).to_pylist() == OpKeys(words).of(array).to_pylist()


def test_absent_metadata_is_the_empty_text() -> None:
    assert or_empty(view(["a", None, ""])).to_pylist() == ["a", "", ""]


# Columns from decoded values

json_values = st.one_of(
    st.just(("null", None)),
    texts.map(lambda text: (json.dumps(text), text)),
    texts.map(lambda text: (json.dumps(text, ensure_ascii=False), text)),
    numbers.filter(oracle.is_json_number).map(lambda number: (number, number)),
    st.sampled_from(["true", "false", "[1, 2]", '{"a":"b"}', '[\n1,\n"x"\n]', '["\\u0041"]', "{}"]).map(
        lambda raw: (raw, raw)
    ),
)


@examples(150)
@given(st.lists(st.one_of(st.just(None), json_values), max_size=6))
def test_raw_values_are_unquoted_or_keep_their_characters(cells: list[tuple[str, str | None] | None]) -> None:
    column = raw_column([MISSING_RAW if cell is None else msgspec.Raw(cell[0].encode()) for cell in cells])
    assert column.values.type == pa.string()
    assert column.values.to_pylist() == [None if cell is None else cell[1] for cell in cells]
    present = [True] * len(cells) if column.present is None else column.present.to_pylist()
    assert present == [cell is not None for cell in cells]


@examples(60)
@given(st.lists(st.one_of(st.none(), texts, st.just(MISSING)), max_size=6))
def test_texts_tell_null_from_missing(values: list[str | None]) -> None:
    column = text_column(values)
    assert column.values.to_pylist() == [None if value == MISSING else value for value in values]
    present = [True] * len(values) if column.present is None else column.present.to_pylist()
    assert present == [value != MISSING for value in values]


def test_ordinals_are_taken_over_as_they_are() -> None:
    from array import array

    assert int64s(array("q", [0, 5, 1 << 40])).to_pylist() == [0, 5, 1 << 40]
    assert int64s(array("q")).to_pylist() == []
