"""Both GoldenGate formatters against the oracle, and what they promise besides."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import oracle
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from jsonschema import Draft4Validator
from oracle import PlainColumn, PlainOperation, PlainTable
from strategies import (
    Changes,
    changes,
    delimited_options,
    examples,
    java_numbers,
    json_options,
    make_batch,
    slice_batch,
    table_def,
    texts,
)

from ggfmt.arrow.arrays import non_null_values
from ggfmt.columnar.metadata import Clock
from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.formats.api.format import Context
from ggfmt.formats.api.writing import Formatter, LossNote, RowErrors, TextFraming
from ggfmt.formats.goldengate.delimited import DelimitedTextOptions
from ggfmt.formats.goldengate.delimited.write import DelimitedTextFormatter
from ggfmt.formats.goldengate.json import JsonOptions
from ggfmt.formats.goldengate.json.write import JsonFormatter, json_schema
from ggfmt.java.charsets import byte_order_mark, codec_of
from ggfmt.model.change import ChangeBatch, Image

NOW = datetime(2015, 9, 18, 13, 39, 35, 447001)


def stamp(options: Mapping[str, Any]) -> str:
    return "2015-09-18T13:39:35.447001" if options["iso8601_format"] else "2015-09-18 13:39:35.447001"


def text_formatter(table: PlainTable, options: Mapping[str, Any], tokens: bool = False) -> DelimitedTextFormatter:
    return DelimitedTextFormatter(table_def(table), DelimitedTextOptions(**options), Context(tokens), Clock(NOW))


def json_formatter(table: PlainTable, options: Mapping[str, Any], tokens: bool = False) -> JsonFormatter:
    return JsonFormatter(table_def(table), JsonOptions(**options), Context(tokens), Clock(NOW))


def messages(formatter: Formatter, batch: ChangeBatch) -> list[str]:
    arranged, _ = formatter.arrange(batch)
    formatted = formatter.format(arranged)
    assert len(formatted) == len(arranged)
    assert formatted.null_count == 0
    return non_null_values(formatted)


# Equal to the oracle


@examples(100)
@given(changes(), delimited_options, st.booleans(), st.sampled_from(["update", "delete-insert"]))
def test_delimited_text_is_what_the_oracle_writes(
    made: Changes, options: dict[str, Any], tokens: bool, handling: str
) -> None:
    formatter = text_formatter(made.table, {**options, "pk_update_handling": handling}, tokens)
    operations = made.operations
    if handling == "delete-insert":
        operations = oracle.split_key_updates(made.table, operations)
    expected = [oracle.delimited(made.table, item, options, tokens, stamp(options)) for item in operations]
    assert messages(formatter, make_batch(made)) == expected


@examples(120)
@given(changes(), json_options, st.booleans())
def test_json_is_what_the_oracle_writes(made: Changes, options: dict[str, Any], tokens: bool) -> None:
    formatter = json_formatter(made.table, options, tokens)
    expected = [oracle.json_message(made.table, item, options, tokens, stamp(options)) for item in made.operations]
    assert messages(formatter, make_batch(made)) == expected


@examples(60)
@given(changes(), delimited_options)
def test_a_single_image_shared_by_both_sides_gives_the_same_text(made: Changes, options: dict[str, Any]) -> None:
    """What a reader hands over that was asked for one image only."""
    formatter = text_formatter(made.table, {**options, "pk_update_handling": "update"})
    batch = make_batch(made)
    row = batch.row_image()
    shared = replace(
        batch, before=Image(row.columns, batch.before.exists), after=Image(row.columns, batch.after.exists)
    )
    assert messages(formatter, shared) == messages(formatter, batch)


@examples(100)
@given(changes(least=1), st.data(), st.booleans())
def test_messages_do_not_depend_on_how_batches_are_cut(made: Changes, data: st.DataObject, as_json: bool) -> None:
    batch = make_batch(made)
    if as_json:
        formatter: Formatter = json_formatter(made.table, data.draw(json_options), tokens=True)
    else:
        options = data.draw(delimited_options)
        formatter = text_formatter(made.table, {**options, "pk_update_handling": "delete-insert"}, tokens=True)
    cut = data.draw(st.integers(0, len(batch)))
    parts = [slice_batch(batch, 0, cut), slice_batch(batch, cut, len(batch))]
    assert [text for part in parts for text in messages(formatter, part)] == messages(formatter, batch)


@examples(60)
@given(changes(least=1), st.data())
def test_operations_taken_from_a_batch_give_the_messages_that_they_gave_in_it(
    made: Changes, data: st.DataObject
) -> None:
    formatter = json_formatter(made.table, data.draw(json_options), tokens=True)
    batch = make_batch(made)
    rows = data.draw(st.lists(st.integers(0, len(batch) - 1), max_size=6))
    whole = messages(formatter, batch)
    assert messages(formatter, batch.take(pa.array(rows, pa.int64()))) == [whole[row] for row in rows]


# JSON means what it says


def plain_options(**given: Any) -> dict[str, Any]:
    defaults = {spec.attr: spec.default for spec in JsonOptions.specs()}
    return {**defaults, **given}


@examples(100)
@given(changes(), st.booleans(), st.booleans())
def test_a_json_message_parses_to_the_three_states_of_each_column(made: Changes, pretty: bool, strings: bool) -> None:
    options = plain_options(pretty_print=pretty, treat_all_columns_as_strings=strings)
    formatter = json_formatter(made.table, options, tokens=True)
    types = {column.name: oracle.json_type(column, options) for column in made.table.columns}
    for text, operation in zip(messages(formatter, make_batch(made)), made.operations, strict=True):
        parsed = json.loads(text, parse_int=lambda digits: ("number", digits), parse_float=lambda d: ("number", d))
        assert parsed["tokens"] == operation.tokens
        for name, image in (("before", operation.before), ("after", operation.after)):
            if image is None:
                assert parsed.get(name, {}) == {}
                continue
            assert list(parsed[name]) == [column for column in types if column in image]
            for column, value in image.items():
                shown = parsed[name][column]
                if value is not None and types[column] == "number":
                    assert shown == ("number", oracle.json_number(value))
                elif value is not None and types[column] == "boolean":
                    assert shown is (value == "true")
                else:
                    assert shown == value


@examples(100)
@given(changes(), json_options)
def test_every_json_message_validates_against_the_schema_of_its_table(made: Changes, options: dict[str, Any]) -> None:
    formatter = json_formatter(made.table, {**options, "json_delimiter": ""}, tokens=True)
    (schema,) = json_schema(table_def(made.table), JsonOptions(**options), Context())
    document = json.loads(schema.content)
    Draft4Validator.check_schema(document)
    validator = Draft4Validator(document)
    for text in messages(formatter, make_batch(made)):
        validator.validate(json.loads(text))


def test_a_schema_refuses_what_is_no_message_of_its_table() -> None:
    table = PlainTable("S.T", (PlainColumn("A", "decimal"), PlainColumn("B", "string")))
    (schema,) = json_schema(table_def(table), JsonOptions(), Context())
    validator = Draft4Validator(json.loads(schema.content))
    good = {"table": "S.T", "op_type": "I", "op_ts": "", "current_ts": "", "pos": "", "after": {"A": 1, "B": None}}
    assert validator.is_valid(good)
    mistakes: list[dict[str, Any]] = [
        {"after": {"A": "1"}},
        {"after": {"B": 1}},
        {"after": {"C": 1}},
        {"primary_keys": []},
        {"pos": 1},
    ]
    for bad in mistakes:
        assert not validator.is_valid({**good, **bad})


# Operations that cannot be formatted

ORDERS = PlainTable(
    "GG.ORDERS", (PlainColumn("ID", "string", 1), PlainColumn("PRICE", "decimal"), PlainColumn("N", "integer"))
)


def operation(op: str, before: Any, after: Any, pos: str = "7") -> PlainOperation:
    return PlainOperation(op, "2024-01-01 00:00:00.000000", pos, before, after, {})


def orders(*operations: PlainOperation, garbage: bool = False) -> ChangeBatch:
    return make_batch(Changes(ORDERS, list(operations), garbage))


def row_errors(call: Callable[[], object]) -> list[tuple[int, Diagnostic]]:
    with pytest.raises(RowErrors) as caught:
        call()
    return list(caught.value.rows)


def test_a_text_that_is_no_number_is_told_with_its_row_table_column_and_position() -> None:
    formatter = json_formatter(ORDERS, {})
    batch = orders(
        operation("I", None, {"ID": "a", "PRICE": "1.50"}),
        operation("U", {"PRICE": "x"}, {"PRICE": "1", "N": "2 "}, "8"),
        operation("D", {"PRICE": None, "N": "3"}, None, "9"),
        operation("I", None, {"ID": "b", "PRICE": "1,5", "N": ""}, "10"),
    )

    def expected(column: str, kind: str, pos: str) -> Diagnostic:
        return Diagnostic(
            "GG401",
            f"the column is defined as {kind}, but the value is not a number",
            Span(table="GG.ORDERS", field=column, position=pos),
            "correct the type of the column with `--definitions`, or set `treatAllColumnsAsStrings`",
        )

    assert row_errors(lambda: formatter.format(batch)) == [
        (1, expected("PRICE", "decimal", "8")),
        (3, expected("PRICE", "decimal", "10")),
    ]
    as_strings = json_formatter(ORDERS, {"treat_all_columns_as_strings": True})
    assert len(messages(as_strings, batch)) == 4


def test_a_text_that_is_no_number_does_not_matter_where_it_is_missing() -> None:
    batch = orders(operation("I", None, {"ID": "a", "N": "1"}), operation("D", {"ID": "a"}, None), garbage=True)
    assert [json.loads(text).get("after") for text in messages(json_formatter(ORDERS, {}), batch)] == [
        {"ID": "a", "N": 1},
        None,
    ]


def test_a_primary_key_update_abends_by_default_with_table_key_and_position() -> None:
    formatter = text_formatter(ORDERS, {})
    batch = orders(
        operation("U", {"ID": "a"}, {"ID": "a"}),
        operation("U", {"ID": "a"}, {"ID": "b"}, "8"),
        operation("U", {"PRICE": "1"}, {"ID": "b", "PRICE": "2"}),
        operation("I", None, {"ID": "c"}),
    )
    assert row_errors(lambda: formatter.arrange(batch)) == [
        (
            1,
            Diagnostic(
                "GG402",
                "an update changes the primary key",
                Span(table="GG.ORDERS", field="ID", position="8"),
                "set `pkUpdateHandling` to `update` or `delete-insert`",
            ),
        )
    ]


@examples(80)
@given(changes(least=1))
def test_exactly_the_updates_that_change_the_key_abend(made: Changes) -> None:
    expected = [row for row, item in enumerate(made.operations) if oracle.changes_key(made.table, item)]
    formatter = text_formatter(made.table, {})
    batch = make_batch(made)
    if not expected:
        arranged, rows = formatter.arrange(batch)
        assert arranged is batch
        assert list(rows) == list(range(len(batch)))
        return
    assert [row for row, _ in row_errors(lambda: formatter.arrange(batch))] == expected


@examples(80)
@given(changes(least=1))
def test_each_half_of_a_divided_key_update_comes_from_the_row_of_the_update(made: Changes) -> None:
    formatter = text_formatter(made.table, {"pk_update_handling": "delete-insert"})
    arranged, rows = formatter.arrange(make_batch(made))
    counts = Counter(rows)
    assert list(rows) == sorted(rows)
    for row, item in enumerate(made.operations):
        assert counts[row] == (2 if oracle.changes_key(made.table, item) else 1)
    assert arranged.ordinal.to_pylist() == list(rows)


# Side matters


@examples(80)
@given(changes(least=1), texts.filter(bool), texts.filter(bool))
def test_values_that_hold_a_delimiter_are_counted_by_column(made: Changes, field: str, line: str) -> None:
    made = replace(made, garbage=False)
    formatter = text_formatter(
        made.table, {"field_delimiter": field, "line_delimiter": line, "pk_update_handling": "update"}
    )
    messages(formatter, make_batch(made))
    expected: Counter[LossNote] = Counter()
    for item in made.operations:
        for column, value in oracle.row_image(item).items():
            for name, delimiter in (("field", field), ("line", line)):
                if value is not None and delimiter in value:
                    what = f"with the {name} delimiter inside, which will be read back wrong"
                    expected[LossNote("GG403", made.table.name, column, what, "delimiter_inside")] += 1
            for state, text in (("NULL", "NULL"), ("missing column", "")):
                if value == text:
                    what = f"equal to the text for a {state}, which will be read back as a {state}"
                    expected[LossNote("GG406", made.table.name, column, what, "text_as_state")] += 1
    assert formatter.notes == expected


@examples(40)
@given(changes(least=1), delimited_options, st.booleans())
def test_the_summary_has_one_entry_for_each_delimited_field(
    made: Changes, options: dict[str, Any], tokens: bool
) -> None:
    delimiter = "\uabcd\uabcd"
    options = {**options, "field_delimiter": delimiter, "line_delimiter": "", "pk_update_handling": "update"}
    formatter = text_formatter(made.table, options, tokens)
    batch = make_batch(made)
    for text in messages(formatter, batch):
        assume("\uabcd" not in text.replace(delimiter, ""))
        assert len(text.split(delimiter)) == max(len(formatter.fields), 1)


# Those whose replacement is `?` and that a codec of Python writes; `java/test_charsets.py` has all, against Java.
CHARSETS = ["UTF-8", "ISO-8859-1", "US-ASCII", "UTF-16", "UTF-16BE", "UTF-16LE", "windows-1252", "KOI8-R", "GB2312"]


@examples(100)
@given(st.lists(texts, max_size=6), st.sampled_from(CHARSETS))
def test_a_framing_writes_each_character_or_a_question_mark_and_counts_those(
    written: Sequence[str], charset: str
) -> None:
    framing = TextFraming(charset)
    expected, lost = oracle.encoded("".join(written), codec_of(charset))
    array = pa.array(["x", *written, "y"], pa.string()).slice(1, len(written))
    data, count = framing.frame(array)
    assert (bytes(data), count) == (expected, lost)
    assert framing.header == (b"\xfe\xff" if charset == "UTF-16" else b"")
    assert byte_order_mark(charset) == framing.header


def test_running_clocks_give_each_message_a_later_stamp() -> None:
    batch = orders(*[operation("I", None, {"ID": str(number)}) for number in range(2500)])
    clock = Clock()
    formatters = [
        JsonFormatter(batch.table, JsonOptions(), Context(), clock),
        JsonFormatter(batch.table, JsonOptions(), Context(), clock),
    ]
    stamps = [json.loads(text)["current_ts"] for formatter in formatters for text in messages(formatter, batch)]
    assert stamps == sorted(set(stamps))
    assert len(stamps) == 5000


@examples(40)
@given(java_numbers)
def test_a_number_as_java_reads_it_is_written_as_a_json_number_of_the_same_value(number: str) -> None:
    batch = orders(operation("I", None, {"PRICE": number}))
    (text,) = messages(json_formatter(ORDERS, {}), batch)
    shown = text.partition('"PRICE":')[2].partition("}")[0]
    assert oracle.is_json_number(shown)
    assert shown == oracle.json_number(number)
