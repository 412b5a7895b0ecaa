"""XML as it is written: against the oracle, as parsers and the schema see it, and what it cannot carry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from contract.xml import xml_changes, xml_options
from golden_cases import CASES, MANUAL
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from oracle import PlainColumn, PlainOperation, PlainTable
from runs import operation as json_operation
from runs import output_files, run_ggfmt, write_lines
from strategies import Changes, changes, examples, make_batch, slice_batch, table_def
from xml_oracle import fits, xml_message

from ggfmt.arrow.arrays import non_null_values
from ggfmt.columnar.metadata import Clock
from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.formats.api.format import Context
from ggfmt.formats.api.writing import RowErrors
from ggfmt.formats.goldengate.xml import XmlOptions
from ggfmt.formats.goldengate.xml.write import XmlFormatter, unsupported_characters, xml_schema
from ggfmt.model.change import ChangeBatch
from ggfmt.reading.scan import ScanRequest
from ggfmt.sinks.schema import schemas

NOW = datetime(2015, 9, 18, 13, 39, 35, 447001)
GOLDEN = [path for path in CASES if path.parent.name == "xml"]
DEFAULTS = {spec.attr: spec.default for spec in XmlOptions.specs()}


def stamp(options: Mapping[str, Any]) -> str:
    return "2015-09-18T13:39:35.447001" if options["iso8601_format"] else "2015-09-18 13:39:35.447001"


def formatter(table: PlainTable, tokens: bool = True, **options: Any) -> XmlFormatter:
    return XmlFormatter(table_def(table), XmlOptions(**options), Context(tokens), Clock(NOW))


def messages(writer: XmlFormatter, batch: ChangeBatch) -> list[str]:
    formatted = writer.format(batch)
    assert len(formatted) == len(batch)
    assert formatted.null_count == 0
    return non_null_values(formatted)


# Equal to the oracle


@examples(150)
@given(xml_changes(), xml_options, st.booleans())
def test_xml_is_what_the_oracle_writes(made: Changes, options: dict[str, Any], tokens: bool) -> None:
    expected = [xml_message(made.table, item, options, tokens, stamp(options)) for item in made.operations]
    assert messages(formatter(made.table, tokens, **options), make_batch(made)) == expected


@examples(100)
@given(changes(least=1), xml_options, st.booleans())
def test_exactly_what_xml_cannot_carry_is_refused(made: Changes, options: dict[str, Any], tokens: bool) -> None:
    writer, batch = formatter(made.table, tokens, **options), make_batch(made)
    expected = [row for row, item in enumerate(made.operations) if not fits(made.table, item, options, tokens)]
    if not expected:
        assert len(messages(writer, batch)) == len(batch)
        return
    with pytest.raises(RowErrors) as caught:
        writer.format(batch)
    assert [row for row, _ in caught.value.rows] == expected
    for row, diagnostic in caught.value.rows:
        assert diagnostic.code == "GG405"
        position = made.operations[row].pos or None  # an empty one is none
        assert (diagnostic.span.table, diagnostic.span.position) == (made.table.name, position)


@examples(60)
@given(xml_changes(least=1), st.data())
def test_messages_do_not_depend_on_how_batches_are_cut(made: Changes, data: st.DataObject) -> None:
    writer, batch = formatter(made.table), make_batch(made)
    cut = data.draw(st.integers(0, len(batch)))
    parts = [slice_batch(batch, 0, cut), slice_batch(batch, cut, len(batch))]
    assert [text for part in parts for text in messages(writer, part)] == messages(writer, batch)


# As a parser sees it


@examples(100)
@given(xml_changes(), st.booleans())
def test_a_parser_finds_every_text_and_every_state(made: Changes, prolog: bool) -> None:
    written = messages(formatter(made.table, include_prolog=prolog), make_batch(made))
    for text, item in zip(written, made.operations, strict=True):
        element: Any = etree.fromstring(text.encode())
        assert dict(element.attrib) == {
            "table": made.table.name,
            "type": item.op,
            "ts": item.op_ts or "",
            "current_ts": "2015-09-18T13:39:35.447001",
            "pos": item.pos or "",
            "numCols": str(len(made.table.columns)),
        }
        columns = element.findall("col")
        assert [column.get("name") for column in columns] == [column.name for column in made.table.columns]
        assert [column.get("index") for column in columns] == [str(index) for index in range(len(columns))]
        for column in columns:
            images = {"before": item.before or {}, "after": item.after or {}}
            if not any(column.get("name") in image for image in images.values()):
                assert [child.tag for child in column] == ["missing"]
                continue
            for side, image in images.items():
                (child,) = column.findall(side)
                if column.get("name") not in image:
                    assert (dict(child.attrib), child.text) == ({"missing": "true"}, None)
                elif image[column.get("name")] is None:
                    assert (dict(child.attrib), child.text) == ({"isNull": "true"}, None)
                else:
                    assert (dict(child.attrib), child.text or "") == ({}, image[column.get("name")])
        tokens = [(token.findtext("Name"), token.findtext("Value")) for token in element.findall("tokens/token")]
        assert tokens == list(item.tokens.items())


# The schema


def schema() -> etree.XMLSchema:
    (file,) = xml_schema(table_def(ORDERS), XmlOptions(), Context())
    assert file.name == "operation.xsd"
    return etree.XMLSchema(etree.fromstring(file.content))


ORDERS = PlainTable("GG.ORDERS", (PlainColumn("ID", "string", 1), PlainColumn("NOTE", "string")))
SCHEMA = schema()


@examples(100)
@given(xml_changes(), xml_options, st.booleans())
def test_every_message_validates_against_the_schema(made: Changes, options: dict[str, Any], tokens: bool) -> None:
    for text in messages(formatter(made.table, tokens, **{**options, "include_prolog": False}), make_batch(made)):
        SCHEMA.assertValid(etree.fromstring(text.encode()))


@pytest.mark.parametrize("case", GOLDEN, ids=lambda path: path.name)
def test_every_golden_file_validates_inside_of_a_root(case: Path) -> None:
    data = (case / "expected").read_bytes()
    codec = "utf-16" if data.startswith(b"\xfe\xff") else "latin-1" if b"ISO-8859-1" in data else "utf-8"
    if case.name == "manual_configuration":
        codec = "latin-1"
    text = data.decode(codec)
    for charset in ("UTF-8", "UTF-16", "ISO-8859-1"):
        text = text.replace(f"<?xml version='1.0' encoding='{charset}'?>\n", "")
    root = etree.fromstring(f"<root>{text}</root>".encode())
    assert len(root) == text.count("</operation>\n") > 0
    for element in root:
        SCHEMA.assertValid(element)


GOOD = (
    "<operation table='S.T' type='I' ts='' current_ts='x y' pos='99999999999999999999' numCols='40000'>"
    "<col name='A' index='39999'><before isNull='true'/><after>x</after></col></operation>"
)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (" table='S.T'", ""),
        ("numCols='40000'", "numCols='many'"),
        ("index='39999'", "index='-1'"),
        ("isNull='true'", "isNull='yes'"),
        ("isNull='true'", "nothing='true'"),
        ("<after>x</after>", ""),
        ("<after>x</after>", "<after>x</after><missing/>"),
        ("<after>x</after>", "<after><x/></after>"),
        ("</col>", "</col><other/>"),
    ],
)
def test_the_schema_refuses_what_is_no_message(old: str, new: str) -> None:
    assert SCHEMA.validate(etree.fromstring(GOOD))
    assert not SCHEMA.validate(etree.fromstring(GOOD.replace(old, new)))


def test_the_schema_is_printed_and_not_written_by_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = schemas(ScanRequest([], definitions={"GG.ORDERS": table_def(ORDERS), "S.T": table_def(ORDERS)}), None, "xsd")
    assert [file.name for file in made] == ["operation.xsd"]
    data = write_lines(tmp_path / "in.json", [json_operation(1)])
    run_ggfmt([data], tmp_path / "out", "gg.handler.x.format=xml", "gg.handler.x.schemaFilePath=schemas")
    assert len(output_files(tmp_path / "out", "x")) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.json", "out"]


# What XML cannot carry


def order(op: str, before: Any, after: Any, pos: str = "7", **tokens: str) -> PlainOperation:
    return PlainOperation(op, "2024-01-01 00:00:00.000000", pos, before, after, tokens)


def misfits(table: PlainTable, *made: PlainOperation, **options: Any) -> list[tuple[int, str, Span]]:
    with pytest.raises(RowErrors) as caught:
        formatter(table, **options).format(make_batch(Changes(table, list(made), False)))
    assert {diagnostic.code for _, diagnostic in caught.value.rows} == {"GG405"}
    return [(row, diagnostic.message, diagnostic.span) for row, diagnostic in caught.value.rows]


def test_a_value_that_xml_cannot_carry_is_told_with_row_table_column_and_position() -> None:
    made = [
        order("I", None, {"ID": "1", "NOTE": "\t\n\r\x7f\x85\ufffd😀"}),
        order("U", {"NOTE": "a\x00"}, {"NOTE": "\x01"}, "8"),
        order("D", {"ID": "\uffff", "NOTE": None}, None, "9"),
        order("I", None, {"ID": "1"}, "10", R="\x1f"),
    ]
    with pytest.raises(RowErrors) as caught:
        formatter(ORDERS).format(make_batch(Changes(ORDERS, made, False)))

    def told(what: str, column: str | None, pos: str) -> Diagnostic:
        place = Span(table="GG.ORDERS", field=column, position=pos)
        return Diagnostic("GG405", what, place, "remove the character from the source, or write another format")

    assert list(caught.value.rows) == [
        (1, told("the value in the before image contains U+0000, which XML does not support", "NOTE", "8")),
        (2, told("the value in the before image contains U+FFFF, which XML does not support", "ID", "9")),
        (3, told("a token contains U+001F, which XML does not support", None, "10")),
    ]


def test_names_and_metadata_that_xml_cannot_carry_are_told() -> None:
    insert, delete = order("I", None, {}), order("D", {}, None)
    odd = PlainTable("S.T\ufffe", ORDERS.columns)
    assert [(row, text) for row, text, _ in misfits(odd, insert, delete)] == [
        (row, "the name of the table contains U+FFFE, which XML does not support") for row in (0, 1)
    ]
    odd = PlainTable("S.T", (PlainColumn("A\x02", "string"),))
    assert misfits(odd, insert) == [
        (
            0,
            "the name of the column contains U+0002, which XML does not support",
            Span(table="S.T", field="A\x02", position="7"),
        )
    ]
    ((row, text, _),) = misfits(ORDERS, insert, delete, delete_op_key="D\x03")
    assert (row, text) == (1, "the key of the operation type contains U+0003, which XML does not support")
    ((_, text, _),) = misfits(ORDERS, replace(insert, op_ts="\x04"))
    assert text == "the time stamp of the operation contains U+0004, which XML does not support"
    ((_, text, _),) = misfits(ORDERS, replace(insert, pos="\x05"))
    assert text == "the position contains U+0005, which XML does not support"


def test_what_xml_cannot_carry_does_not_matter_where_it_is_missing() -> None:
    made = [order("I", None, {"ID": "1"}), order("D", {"ID": "1"}, None)]
    batch = make_batch(Changes(ORDERS, made, False))
    odd = make_batch(Changes(ORDERS, [order("I", None, {"NOTE": "\x00"}), order("D", {"NOTE": "\x00"}, None)], False))
    first, second = batch.after.columns
    hidden = replace(second, values=odd.after.columns[1].values)
    assert "\x00" in hidden.values.to_pylist()
    covered = replace(batch, after=replace(batch.after, columns=(first, hidden)))
    assert messages(formatter(ORDERS), covered) == messages(formatter(ORDERS), batch)


# The manual


def test_every_message_of_the_manual_has_a_case() -> None:
    assert {path.name for path in GOLDEN} >= set(MANUAL)


def test_the_summary_names_what_a_message_has() -> None:
    metadata = ("table", "type", "ts", "current_ts", "pos", "numCols")
    images = ("before and after: ID", "before and after: NOTE")
    assert formatter(ORDERS, tokens=False).fields == (*metadata, *images)
    assert formatter(ORDERS).fields == (*metadata, *images, "tokens")


def test_null_has_no_unsupported_characters() -> None:
    mask = unsupported_characters(pa.array([None, "\x01", "a"]))
    assert mask is not None and mask.to_pylist() == [False, True, False]
