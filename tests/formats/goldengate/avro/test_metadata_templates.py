"""Metadata of Avro messages by `metaColumnsTemplate`: bytes, schemas, what cannot be a field, and how they are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from avro_oracle import decode_stream
from dialects import ALL_SHOWN, Read, read, told, written
from oracle import PlainColumn, PlainOperation, PlainTable
from strategies import Changes, table_def

from ggfmt.definitions import read_definitions
from ggfmt.diagnostics.diagnostic import UsageError
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import Context
from ggfmt.formats.goldengate.avro import AvroOptions
from ggfmt.formats.goldengate.avro.table_schema import avro_schema
from ggfmt.model.table import Column, TableDef

AVRO = ("avro_row", "avro_op", "avro_row_ocf", "avro_op_ocf")
# The two templates that Oracle prints to have the fixed fields of releases before, manuals of 19.1 and 21.1.
FIVE = "${objectname[table]},${optype[op_type]},${timestamp[op_ts]},${currenttimestamp[current_ts]},${position[pos]}"
SEVEN = FIVE + ",${primarykeycolumns[primary_keys]},${alltokens[tokens]}"
TABLE = PlainTable("GG.T", (PlainColumn("ID", "string", 1), PlainColumn("PRICE", "double")))
STORY = [
    PlainOperation("I", "2013-06-02 22:14:36.000000", f"{1:020d}", None, {"ID": "1", "PRICE": "1.5"}, {"R": "AAA"}),
    PlainOperation("U", "2013-06-02 22:14:37.000000", f"{2:020d}", {"ID": "1"}, {"ID": "1", "PRICE": None}, {}),
    PlainOperation("D", "2013-06-02 22:14:38.000000", f"{3:020d}", {"ID": "1", "PRICE": "2"}, None, {"R": "B"}),
    PlainOperation("T", "2013-06-02 22:14:39.000000", f"{4:020d}", None, None, {}),
]
CHANGES = Changes(TABLE, STORY, False)


def options_of(name: str, **given: str) -> AvroOptions:
    options = FORMATS[name].options.parse(given)
    assert isinstance(options, AvroOptions)
    return options


def bytes_of(name: str, context: Context = ALL_SHOWN, **options: str) -> bytes:
    return written(name, CHANGES, None, context, **options)


def decoded(name: str, context: Context = ALL_SHOWN, **options: str) -> list[Any]:
    by_image = name == "avro_op"
    schema = avro_schema(table_def(TABLE), options_of(name, **options), context, by_image)
    return decode_stream(bytes_of(name, context, **options), schema.document)


@pytest.mark.parametrize("name", AVRO)
@pytest.mark.parametrize("release", ["12.2", "12.3"])
def test_the_printed_template_gives_the_fixed_messages_byte_for_byte(name: str, release: str) -> None:
    context = Context(True, release=release)
    fixed = bytes_of(name, context, iso8601Format="false")
    assert bytes_of(name, context, metaColumnsTemplate=SEVEN) == fixed
    assert len(fixed) > 100


@pytest.mark.parametrize("name", ["avro_row", "avro_op"])
def test_a_template_decides_the_fields_their_order_and_their_names(name: str) -> None:
    template = (
        "${optype}, ${PrimaryKeys},${schema},${table[tab]},${static[site].A b},${token.R},${position},${alltokens}"
    )
    messages = decoded(name, Context(release="21"), metaColumnsTemplate=template)
    metadata = [dict(list(message.items())[:8]) for message in messages]
    assert metadata[0] == {
        "optype": "I",
        "primarykeys": "1",
        "schema": "GG",
        "tab": "T",
        "site": "A b",
        "token": "AAA",
        "position": f"{1:020d}",
        "alltokens": {"R": "AAA"},
    }
    assert [m["token"] for m in metadata] == ["AAA", "", "B", ""]
    assert [m["alltokens"] for m in metadata] == [{"R": "AAA"}, {}, {"R": "B"}, {}]
    assert [list(message)[8] for message in messages] == [{"avro_row": "ID", "avro_op": "before"}[name]] * 4


@pytest.mark.parametrize("release", ["21", "26"])
def test_without_a_template_later_releases_have_no_metadata(release: str) -> None:
    context = Context(True, release=release)
    assert [list(message) for message in decoded("avro_row", context)] == [["ID", "PRICE"]] * 4
    assert [list(message) for message in decoded("avro_op", context)] == [["before", "after"]] * 4


def test_the_schema_of_a_template() -> None:
    """Scalars are strings without a default, keys an array, tokens a map with an empty default."""
    template = "${optype},${alltokens[tokens]},${primarykeycolumns[k]},${rba}"
    options = options_of("avro_op", metaColumnsTemplate=template)
    text = avro_schema(table_def(TABLE), options, Context(release="21"), by_image=False).text
    assert text.startswith(
        """{
  "type" : "record",
  "name" : "T",
  "namespace" : "GG",
  "fields" : [ {
    "name" : "optype",
    "type" : "string"
  }, {
    "name" : "tokens",
    "type" : {
      "type" : "map",
      "values" : "string"
    },
    "default" : { }
  }, {
    "name" : "k",
    "type" : {
      "type" : "array",
      "items" : "string"
    }
  }, {
    "name" : "rba",
    "type" : "string"
  }, {
    "name" : "ID","""
    )


TWICE = "messages would have the name `{}` twice: for {} and for a metadata field"


@pytest.mark.parametrize(
    ("by_image", "template", "message"),
    [
        (False, "${optype[a-b]}", "`a-b`, the name of a metadata field, is not a legal Avro name"),
        (True, "${optype},${position[9]}", "`9`, the name of a metadata field, is not a legal Avro name"),
        (
            False,
            "${optype[PRICE]}",
            "messages would have the name `PRICE` twice: for a column and for a metadata field",
        ),
        (True, "${optype[before]}", TWICE.format("before", "the before image")),
        (True, "${optype},${table[after]}", TWICE.format("after", "the after image")),
        (True, "${optype[PRICE]}", None),
        (False, "${optype[before]}", None),
    ],
)
def test_fields_that_a_template_cannot_have(by_image: bool, template: str, message: str | None) -> None:
    name = "avro_op" if by_image else "avro_row"
    found = FORMATS[name].name_problem(options_of(name, metaColumnsTemplate=template), Context(), table_def(TABLE))
    if message is None:
        assert found is None
        return
    assert found is not None and found.diagnostic.help is not None
    problem = found.diagnostic
    assert (problem.code, problem.message) == ("GG206", message)
    assert "`metaColumnsTemplate`" in found.diagnostic.help


def read_back(name: str, data: bytes, **options: str) -> Read:
    defined = {} if name.endswith("_ocf") else {"GG.T": table_def(TABLE)}
    return read(name, data, told(name, **options), trusted=defined)


@pytest.mark.parametrize("name", ["avro_row_ocf", "avro_op_ocf"])
@pytest.mark.parametrize(
    "template",
    [
        SEVEN,
        "${optype},${objectname},${position},${timestamp},${alltokens},${primarykeycolumns}",
        "${alltokens[Tokens]},${timestamp[op_ts]},${position[pos]},${optype[op_type]},${static[site].A}",
    ],
)
def test_container_files_tell_their_template(name: str, template: str) -> None:
    found = read_back(name, bytes_of(name, metaColumnsTemplate=template))
    assert found.rejects == []
    assert [(item.op, item.op_ts, item.pos, item.tokens) for item in found.plain] == [
        (item.op, item.op_ts, item.pos, item.tokens) for item in STORY
    ]
    assert {(table.full_name, table.column_names) for table, _ in found.operations} == {("GG.T", ("ID", "PRICE"))}


@pytest.mark.parametrize("name", ["avro_row_ocf", "avro_op_ocf"])
def test_a_template_that_is_told_goes_before_names(name: str) -> None:
    template = "${static[op_type].X},${optype[what]},${position[where]},${token[R].R}"
    data = bytes_of(name, metaColumnsTemplate=template)
    found = read_back(name, data, metaColumnsTemplate=template)
    assert [(item.op, item.pos) for item in found.plain] == [(item.op, item.pos) for item in STORY]
    assert [item.tokens for item in found.plain] == [{"R": "AAA"}, {}, {"R": "B"}, {}]
    assert [(item.op, item.pos) for item in read_back(name, data).plain] == [(item.op, item.pos) for item in STORY]
    other = read_back(name, data, metaColumnsTemplate="${optype[kind]}")
    assert other.reasons == ["GG313 the schema has no field `kind`, which is in the template"]


@pytest.mark.parametrize("name", ["avro_row_ocf", "avro_op_ocf"])
def test_container_files_without_operation_types_are_told(name: str) -> None:
    message = "GG313 the schema has no field for the operation type, so it is not a GoldenGate schema"
    assert read_back(name, bytes_of(name, Context(release="21"))).reasons == [message]
    assert read_back(name, bytes_of(name, metaColumnsTemplate="${position[pos]},${table}")).reasons == [message]


@pytest.mark.parametrize("name", ["avro_row", "avro_op"])
def test_streams_name_their_table_wherever_the_template_does(name: str) -> None:
    for template in ("${primarykeycolumns},${alltokens},${optype},${schema},${table}", "${optype}", SEVEN):
        found = read_back(name, bytes_of(name, metaColumnsTemplate=template), metaColumnsTemplate=template)
        assert [item.op for item in found.plain] == ["I", "U", "D", "T"]
    with pytest.raises(UsageError, match="GG103"):
        read_back(name, b"x", metaColumnsTemplate="${table}")
    two = {table: TableDef(table, (Column("A"),)) for table in ("S.A", "S.B")}
    told_of = told(name, metaColumnsTemplate="${optype}")
    found = read(name, bytes_of(name, metaColumnsTemplate="${optype}"), told_of, trusted=two)
    assert found.reasons == ["GG205 messages do not name their table, and 2 tables are defined"]


@pytest.mark.parametrize("by_image", [False, True])
@pytest.mark.parametrize("template", [FIVE, SEVEN, "${optype},${position},${static[site].A}", ""])
def test_fields_of_a_template_are_no_columns_of_a_definition(by_image: bool, template: str, tmp_path: Path) -> None:
    options = options_of("avro_op", metaColumnsTemplate=template)
    text = avro_schema(table_def(TABLE), options, Context(release="21"), by_image).text
    (tmp_path / "GG.T.avsc").write_text(text)
    (found,) = read_definitions(str(tmp_path / "GG.T.avsc"))
    assert found.column_names == ("ID", "PRICE")
