"""Messages of GoldenGate's Kafka Connect handler, in both directions.

Golden messages are laid out as two captured ones of June 2021 (with schemas) and one of September 2021 (without), with
other names and values, and as the row message that notes on release 21.1 show.
"""

from __future__ import annotations

import json
import math
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from contract import Case
from contract.kafkaconnect import GOOD, A, cases, operation, row, shown
from contract.shown import as_held
from dialects import ALL_SHOWN, lines, read, told, written
from hypothesis import given
from hypothesis import strategies as st
from oracle import PlainColumn, PlainOperation, PlainTable
from runs import content, run_ggfmt, write_lines
from scanners import without_kernels
from strategies import Changes, examples

from ggfmt.config.handlers import read_configuration
from ggfmt.diagnostics.diagnostic import ConfigurationError
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import Context
from ggfmt.formats.api.writing import RowErrors
from ggfmt.formats.goldengate.kafkaconnect import KafkaConnectOptions
from ggfmt.java.numbers import double_text, float_text, single
from ggfmt.model.table import Column, Kind, SqlType, TableDef

NAME = "kafkaconnect_json"
TABLE = TableDef(
    "SHOP.CANAL",
    (
        Column("CD", SqlType(Kind.DECIMAL, precision=4, scale=0), nullable=False, key=1),
        Column("DS", SqlType(Kind.STRING), key=2),
        Column("N", SqlType(Kind.NUMBER)),
        Column("AT", SqlType(Kind.TIMESTAMP)),
    ),
)
UPDATE = PlainOperation(
    "U",
    "2021-06-17 17:31:31.689976",
    "00000000050224513175",
    {"CD": "3", "DS": "Internet", "N": "1", "AT": None},
    {"CD": "3", "DS": "Web", "N": "0.3", "AT": "2023-04-03 17:22:27.000000000"},
    {"txid": "0.442.2.1856248"},
)
INSERT = replace(UPDATE, op="I", before=None)
COLUMNS = (
    '{"type":"int64","optional":true,"field":"CD"},{"type":"string","optional":true,"field":"DS"},'
    '{"type":"double","optional":true,"field":"N"},{"type":"string","optional":true,"field":"AT"}'
)
OP_SCHEMA = (
    '{"type":"struct","fields":[{"type":"string","optional":true,"field":"table"},'
    '{"type":"string","optional":true,"field":"op_type"},{"type":"string","optional":true,"field":"op_ts"},'
    '{"type":"string","optional":true,"field":"current_ts"},{"type":"string","optional":true,"field":"pos"},'
    '{"type":"array","items":{"type":"string","optional":false},"optional":true,"field":"primary_keys"},'
    '{"type":"map","keys":{"type":"string","optional":false},"values":{"type":"string","optional":false},'
    '"optional":true,"field":"tokens"},'
    f'{{"type":"struct","fields":[{COLUMNS}],"optional":true,"name":"row","field":"before"}},'
    f'{{"type":"struct","fields":[{COLUMNS}],"optional":true,"name":"row","field":"after"}}],'
    '"optional":false,"name":"SHOP.CANAL"}'
)
HEAD = '"op_ts":"2021-06-17 17:31:31.689976","current_ts":"2015-09-18 13:39:35.447000","pos":"00000000050224513175"'
AFTER = '{"CD":3,"DS":"Web","N":0.3,"AT":"2023-04-03 17:22:27.000000000"}'


def as_written(
    operations: list[PlainOperation], context: Context = ALL_SHOWN, table: TableDef = TABLE, **options: str
) -> list[str]:
    kinds = {column.name: column.type.kind.value for column in table.columns}
    plain = PlainTable(table.full_name, tuple(PlainColumn(name, kind) for name, kind in kinds.items()))
    data = written(NAME, Changes(plain, operations, False), table, context, **options)
    return data.decode().split("\n")[:-1]


def payload(operations: list[PlainOperation], context: Context = ALL_SHOWN, **options: Any) -> list[Any]:
    return [json.loads(line) for line in as_written(operations, context, schemasEnable="false", **options)]


def test_an_operation_with_its_schema_as_captured() -> None:
    (line,) = as_written([UPDATE], messageFormatting="op", includePrimaryKeys="true")
    assert line == (
        f'{{"schema":{OP_SCHEMA},"payload":{{"table":"SHOP.CANAL","op_type":"U",{HEAD},"primary_keys":["CD","DS"],'
        '"tokens":{"txid":"0.442.2.1856248"},"before":{"CD":3,"DS":"Internet","N":1.0,"AT":null},'
        f'"after":{AFTER}}}}}'
    )


def test_an_insert_without_schemas_has_a_before_that_is_null() -> None:
    (line,) = as_written([INSERT], Context(), messageFormatting="op", schemasEnable="false")
    assert line == f'{{"table":"SHOP.CANAL","op_type":"I",{HEAD},"before":null,"after":{AFTER}}}'


def test_a_row_has_its_columns_beside_the_metadata() -> None:
    (line,) = as_written([UPDATE], Context(), schemasEnable="false", pkUpdateHandling="update")
    assert line == f'{{"table":"SHOP.CANAL","op_type":"U",{HEAD},{AFTER[1:]}'


@pytest.mark.parametrize("release", ["21", "23", "26"])
def test_from_21_on_a_row_has_its_columns_alone(release: str) -> None:
    (line,) = as_written([INSERT], Context(release=release))
    schema = f'{{"type":"struct","fields":[{COLUMNS}],"optional":false,"name":"SHOP.CANAL"}}'
    assert line == f'{{"schema":{schema},"payload":{AFTER}}}'


FIVE = "${objectname[table]},${optype[op_type]},${timestamp[op_ts]},${currenttimestamp[current_ts]},${position[pos]}"
SEVEN = f"{FIVE},${{primarykeycolumns[primary_keys]}},${{alltokens[tokens]}}"


@pytest.mark.parametrize("release", ["21", "26"])
@pytest.mark.parametrize("formatting", ["row", "op"])
def test_templates_of_the_manual_make_the_messages_of_earlier_releases(release: str, formatting: str) -> None:
    items = [INSERT, replace(UPDATE, before={**(UPDATE.before or {})})]
    rest: dict[str, Any] = {"messageFormatting": formatting, "pkUpdateHandling": "update"}
    later = as_written(items, Context(release=release), metaColumnsTemplate=SEVEN, **rest)
    assert later == as_written(items, ALL_SHOWN, includePrimaryKeys="true", **rest)
    later = as_written(items, Context(release=release), metaColumnsTemplate=FIVE, **rest)
    assert later == as_written(items, Context(), **rest)


def test_a_template_names_its_fields_and_is_read_by_them() -> None:
    template = "${optype},${primarykeys},${token[t].txid},${timestampmicro[us]},${schema},${table[name]}"
    context = Context(release="23")
    (made,) = payload([INSERT], context, messageFormatting="op", metaColumnsTemplate=template)
    assert made == {
        "optype": "I", "primarykeys": "3_Web", "t": "0.442.2.1856248", "us": "1623951091689976", "schema": "SHOP",
        "name": "CANAL", "before": None, "after": json.loads(AFTER),
    }  # fmt: skip
    found = read(NAME, lines(made), told(NAME, context, metaColumnsTemplate=template))
    assert [(table.full_name, item.op, item.op_ts, item.tokens) for table, item in found.operations] == [
        ("SHOP.CANAL", "I", "2021-06-17 17:31:31.689976", {"txid": "0.442.2.1856248"})
    ]


@pytest.mark.parametrize("release", ["12.2", "12.3", "12.3.2", "19.1"])
def test_up_to_19_the_metadata_are_fixed_and_can_be_left_out(release: str) -> None:
    context = Context(release=release)
    assert list(payload([INSERT], context, messageFormatting="op")[0])[:5] == [
        "table", "op_type", "op_ts", "current_ts", "pos",
    ]  # fmt: skip
    off = dict.fromkeys(
        ("includeTableName", "includeOpType", "includeOpTimestamp", "includeCurrentTimestamp", "includePosition"),
        "false",
    )
    assert payload([INSERT], context, messageFormatting="op", **off) == [{"before": None, "after": json.loads(AFTER)}]


def test_a_truncate_has_no_values() -> None:
    truncate = PlainOperation("T", None, None, None, None, {})
    (made,) = payload([truncate], Context(), messageFormatting="op")
    assert (made["op_type"], made["before"], made["after"], made["op_ts"]) == ("T", None, None, None)
    (made,) = payload([truncate], Context(release="21"))
    assert made == dict.fromkeys(TABLE.column_names)


def test_flags_tell_what_is_missing() -> None:
    partial = replace(INSERT, after={"CD": "3", "N": None})
    (made,) = payload([partial], Context(release="21"), includeIsMissingFields="true")
    assert made == {
        "CD": 3, "CD_isMissing": False, "DS": None, "DS_isMissing": True, "N": None, "N_isMissing": False,
        "AT": None, "AT_isMissing": True,
    }  # fmt: skip


NUMBERS = TableDef(
    "N",
    (
        Column("SMALL", SqlType(Kind.DECIMAL, precision=18, scale=0)),
        Column("LARGE", SqlType(Kind.DECIMAL, precision=19, scale=0)),
        Column("MONEY", SqlType(Kind.DECIMAL, precision=15, scale=2)),
        Column("LONG", SqlType(Kind.DECIMAL, precision=20, scale=2)),
        Column("BARE", SqlType(Kind.NUMBER)),
        Column("REAL", SqlType(Kind.FLOAT)),
        Column("BIG", SqlType(Kind.INTEGER)),
        Column("YES", SqlType(Kind.BOOLEAN)),
        Column("DAY", SqlType(Kind.DATE)),
    ),
)
VALUES: dict[str, str | None] = {
    "SMALL": "3", "LARGE": "1234567890123456789", "MONEY": "17520.00", "LONG": "1.50", "BARE": "1E2", "REAL": "0.1",
    "BIG": "-9223372036854775808", "YES": "true", "DAY": "1969-12-31 23:59:59.9999",
}  # fmt: skip
TYPED = [
    (
        {},
        'int64 double double double double float int64 boolean string',
        '3,1.2345678901234568E18,17520.0,1.5,100.0,0.1,-9223372036854775808,true,"1969-12-31 23:59:59.9999"',
    ),
    (
        {"mapLargeNumbersAsStrings": "true"},
        "int64 string double string string float int64 boolean string",
        '3,"1234567890123456789",17520.0,"1.50","1E2",0.1,-9223372036854775808,true,"1969-12-31 23:59:59.9999"',
    ),
    (
        {"enableDecimalLogicalType": "true", "oracleNumberScale": "2"},
        "Decimal:0 Decimal:0 Decimal:2 Decimal:2 Decimal:2 float int64 boolean string",
        '"Aw==","ESIQ9H3pgRU=","GrvA","AJY=","JxA=",0.1,-9223372036854775808,true,"1969-12-31 23:59:59.9999"',
    ),
    (
        {"enableTimestampLogicalType": "true"},
        "int64 double double double double float int64 boolean Timestamp",
        "3,1.2345678901234568E18,17520.0,1.5,100.0,0.1,-9223372036854775808,true,-1",
    ),
    (
        {"treatAllColumnsAsStrings": "true", "enableDecimalLogicalType": "true"},
        " ".join(["string"] * 9),
        '"3","1234567890123456789","17520.00","1.50","1E2","0.1","-9223372036854775808","true",'
        '"1969-12-31 23:59:59.9999"',
    ),
]  # fmt: skip


@pytest.mark.parametrize(("options", "types", "values"), TYPED, ids=range(len(TYPED)))
def test_the_types_of_columns(options: dict[str, str], types: str, values: str) -> None:
    item = PlainOperation("I", None, None, None, VALUES, {})
    (line,) = as_written([item], Context(release="21"), NUMBERS, **options)
    fields = json.loads(line)["schema"]["fields"]

    def word(field: dict[str, Any]) -> str:
        scale = f":{field['parameters']['scale']}" if "parameters" in field else ""
        return str(field.get("name", field["type"])).rpartition(".")[2] + scale

    assert " ".join(map(word, fields)) == types
    named = ",".join(f'"{name}":{value}' for name, value in zip(VALUES, _values(values), strict=True))
    assert line.endswith(f'"payload":{{{named}}}}}')
    found = read(NAME, line.encode(), told(NAME, table="N", rowOp="insert"))
    assert found.reasons == []


def _values(text: str) -> list[str]:
    """The values of a list of JSON texts, as they are there."""
    return text.split(",")


def test_what_of_a_schema_is_in_which_order() -> None:
    (line,) = as_written(
        [INSERT], Context(release="21"), enableDecimalLogicalType="true", enableTimestampLogicalType="true",
        enableNonnullable="true", schemaNamespace="com.example.company",
    )  # fmt: skip
    decimal = '"name":"org.apache.kafka.connect.data.Decimal","version":1,"parameters"'
    assert line.startswith(
        f'{{"schema":{{"type":"struct","fields":[{{"type":"bytes","optional":false,{decimal}:{{"scale":"0"}},'
        f'"field":"CD"}},{{"type":"string","optional":true,"field":"DS"}},{{"type":"bytes","optional":true,{decimal}:'
        '{"scale":"38"},"field":"N"},{"type":"int64","optional":true,"name":"org.apache.kafka.connect.data.Timestamp",'
        '"version":1,"field":"AT"}],"optional":false,"name":"com.example.company.CANAL"}'
    )


@pytest.mark.example("GG409")
def test_what_cannot_be_null_and_has_no_value_is_a_reject() -> None:
    lacking = replace(INSERT, after={"DS": "x"})
    with pytest.raises(RowErrors) as error:
        as_written([INSERT, lacking, replace(INSERT, op="T", after=None)], enableNonnullable="true")
    assert [(row, found.code, found.span.field) for row, found in error.value.rows] == [
        (1, "GG409", "CD"),
        (2, "GG409", "CD"),
    ]
    by_image = as_written([replace(INSERT, op="T", after=None)], enableNonnullable="true", messageFormatting="op")
    assert len(by_image) == 1  # it has no images


def test_characters_beyond_the_bmp_are_two_escapes_in_names_and_values() -> None:
    table = TableDef("S.T\U0001f600", (Column("K\U00010000\x1f"),))
    value = "Zo\xeb \U0001f600\uffff" + "x" * 40 + "\U0010ffff\U0001f600\x1f"
    item = PlainOperation("I", None, None, None, {"K\U00010000\x1f": value}, {"t\U0001f600": "\U0001f600"})
    modes: list[dict[str, str]] = [{}, {"messageFormatting": "op"}]
    for options in modes:
        with_kernels = as_written([item], ALL_SHOWN, table, **options)
        with without_kernels():
            assert as_written([item], ALL_SHOWN, table, **options) == with_kernels
        (text,) = with_kernels
        assert not any(character > "\uffff" for character in text)
        assert "\\uD83D\\uDE00\uffff" in text and "\\uDBFF\\uDFFF\\uD83D\\uDE00\\u001F" in text
        assert text.count('"K\\uD800\\uDC00\\u001F"') >= 2
        assert '"S.T\\uD83D\\uDE00"' in text and '"t\\uD83D\\uDE00":"\\uD83D\\uDE00"' in text
        row = json.loads(text)["payload"]
        assert (row.get("after") or row)["K\U00010000\x1f"] == value


def test_a_number_without_precision_can_be_without_a_point() -> None:
    columns = Column("N", SqlType(Kind.NUMBER)), Column("D", SqlType(Kind.DECIMAL)), Column("F", SqlType(Kind.DOUBLE))
    table = TableDef("S.T", columns)
    items = [
        PlainOperation("I", None, None, None, {"N": text, "D": text, "F": text}, {})
        for text in ("21", "-12000000", "0.5", "NaN")
    ]
    numbers = [line[line.index('"N":') : -2] for line in as_written(items, table=table, wholeNumbersAsIntegers="true")]
    assert numbers == [
        '"N":21,"D":21,"F":21.0',
        '"N":-12000000,"D":-12000000,"F":-1.2E7',
        '"N":0.5,"D":0.5,"F":0.5',
        '"N":"NaN","D":"NaN","F":"NaN"',
    ]
    by_default = as_written(items, table=table)
    assert '"N":21.0,"D":21.0' in by_default[0]
    schema = [json.loads(line)["schema"] for line in as_written(items, table=table, wholeNumbersAsIntegers="true")]
    assert schema == [json.loads(line)["schema"] for line in by_default]


@pytest.mark.example("GG410")
def test_two_fields_cannot_have_one_name() -> None:
    table = TableDef("T", (Column("pos"), Column("A"), Column("A_isMissing")))
    item = PlainOperation("I", None, None, None, {"pos": "1", "A": "2", "A_isMissing": "3"}, {})
    clashes: list[tuple[dict[str, str], str]] = [
        ({}, "pos"),
        ({"includePosition": "false", "includeIsMissingFields": "true"}, "A_isMissing"),
    ]
    for texts, name in clashes:
        found = FORMATS[NAME].name_problem(KafkaConnectOptions.parse(texts), Context(), table)
        assert found is not None
        assert (found.diagnostic.code, found.diagnostic.span.field) == ("GG410", name)
    assert payload([item], table=table, messageFormatting="op")[0]["after"]["pos"] == "1"


@pytest.mark.parametrize("text", ["many", "1_0", " 1", "१", "1e400", "0x1", "", "nan", "inf"])
def test_what_is_no_double_is_a_reject(text: str) -> None:
    with pytest.raises(RowErrors) as error:
        as_written([replace(INSERT, after={"CD": "1", "N": text})])
    assert [(found.code, found.span.field) for _, found in error.value.rows] == [("GG401", "N")]


@pytest.mark.parametrize("text", ["1e39", "-3.4028236e38"])
def test_a_number_beyond_the_range_of_a_float_is_a_reject(text: str) -> None:
    table = TableDef("T", (Column("F", SqlType(Kind.FLOAT)),))
    with pytest.raises(RowErrors) as error:
        as_written([PlainOperation("I", None, None, None, {"F": text}, {})], table=table)
    assert [(found.code, found.span.field) for _, found in error.value.rows] == [("GG401", "F")]


def test_what_json_has_no_number_for_is_a_text_as_jackson_writes_it() -> None:
    items = [replace(INSERT, after={"CD": "1", "N": text}) for text in ("NaN", "Infinity", "-Infinity")]
    assert [item["N"] for item in payload(items)] == ["NaN", "Infinity", "-Infinity"]


def test_control_characters_are_escaped_as_by_jackson() -> None:
    texts = "".join(map(chr, range(0x20))) + '"\\/\x7f\u2028😀\\u000b'
    (line,) = as_written([replace(INSERT, after={"CD": "1", "DS": texts})], schemasEnable="false")
    shorts = {8: "b", 9: "t", 10: "n", 12: "f", 13: "r"}
    controls = "".join(f"\\{shorts[n]}" if n in shorts else f"\\u{n:04X}" for n in range(0x20))
    assert f'"DS":"{controls}\\"\\\\/\x7f\u2028\\uD83D\\uDE00\\\\u000b"' in line
    assert json.loads(line)["DS"] == texts


# Numbers as Java prints them

JAVA = [
    (0.0, "0.0"), (-0.0, "-0.0"), (1.0, "1.0"), (0.001, "0.001"), (0.00099, "9.9E-4"), (9999999.0, "9999999.0"),
    (1e7, "1.0E7"), (123456789.125, "1.23456789125E8"), (1.7976931348623157e308, "1.7976931348623157E308"),
    (5e-324, "4.9E-324"), (-1.5e-10, "-1.5E-10"), (100.0, "100.0"), (math.inf, "Infinity"), (math.nan, "NaN"),
]  # fmt: skip


@pytest.mark.parametrize(("number", "text"), JAVA, ids=[text for _, text in JAVA])
def test_doubles_as_java_prints_them(number: float, text: str) -> None:
    assert double_text(number) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
@examples(300)
def test_a_double_is_read_back_as_what_it_was(number: float) -> None:
    text = double_text(number)
    assert struct.pack("d", float(text)) == struct.pack("d", number)
    assert "." in text
    assert ("E" in text) == (number != 0 and not 1e-3 <= abs(number) < 1e7)


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
@examples(300)
def test_a_float_is_read_back_as_what_it_was(number: float) -> None:
    text = float_text(number)
    assert single(float(text)) == number
    assert len(text) <= len(double_text(number)) or number == 0


# Reading


def test_messages_are_read_with_and_without_schemas() -> None:
    bare = [record["payload"] for record in GOOD]
    found, plain = read(NAME, lines(*GOOD)), read(NAME, lines(*bare))
    assert found.reasons == plain.reasons == []
    assert found.plain == plain.plain
    assert [item.op for item in found.plain] == list("IUDIT")
    assert found.plain[0] == PlainOperation(
        "I", "2021-06-17 17:31:31.689976", "7", None, {"ID": "1", "NAME": "a"}, {"txid": "0.6.23.552"}
    )
    table = found.operations[0][0]
    assert [(c.name, c.type.kind, c.key) for c in table.columns] == [
        ("ID", Kind.INTEGER, 1),
        ("NAME", Kind.STRING, 0),
    ]


def test_a_row_that_tells_no_operation_is_what_an_option_says() -> None:
    record = {"schema": {**GOOD[3]["schema"], "fields": GOOD[3]["schema"]["fields"][5:]}, "payload": A}
    found = read(NAME, lines(record))
    assert found.reasons == ["GG305 the row does not have an operation"]
    assert [item.op for item in read(NAME, lines(record), told(NAME, rowOp="update")).plain] == ["U"]
    (item,) = read(NAME, lines(record), told(NAME, rowOp="insert")).operations
    assert (item[0].full_name, item[1].op, item[1].after) == ("S.T", "I", {"ID": "1", "NAME": "a"})
    found = read(NAME, lines(A), told(NAME, rowOp="insert"))
    assert found.reasons == ["GG305 the record has no `table`"]
    found = read(NAME, lines(A), told(NAME, rowOp="insert", table="S.T"))
    assert [(table.full_name, item.after) for table, item in found.operations] == [("S.T", {"ID": "1", "NAME": "a"})]


def test_words_for_operations_are_those_of_the_handler() -> None:
    record = operation("INS", None, A)
    assert read(NAME, lines(record)).reasons == ["GG304 `op_type` cannot be `INS`"]
    assert [item.op for item in read(NAME, lines(record), told(NAME, insertOpKey="INS")).plain] == ["I"]


def test_a_row_with_columns_named_as_images_is_a_row() -> None:
    assert read(NAME, lines(row("I", before="x", after="y"))).plain[0].after == {"before": "x", "after": "y"}


@given(cases())
@examples(40)
def test_nothing_is_lost_without_schemas_either(case: Case) -> None:
    options = {**case.options, "schemasEnable": "false"}
    data = written(NAME, case.changes, None, case.context, **options)
    found = read(NAME, data, told(NAME, case.context, **options), trusted={case.definition.full_name: case.definition})
    assert found.reasons == []
    assert found.plain == as_held(shown(case))


# Handler files

FILE = [
    "gg.handlerlist=kc",
    "gg.handler.kc.type=kafkaconnect",
    "gg.handler.kc.kafkaProducerConfigFile=kafkaconnect.properties",
    "gg.handler.kc.topicMappingTemplate=goldengate.${schemaName}.${tableName}",
    "gg.handler.kc.keyMappingTemplate=${primaryKeys}",
    "gg.handler.kc.messageFormatting=op",
    "gg.handler.kc.includePrimaryKeys=true",
    "gg.handler.kc.includeTokens=true",
]


def test_a_handler_of_the_type_needs_no_format(tmp_path: Path) -> None:
    (handler,) = read_configuration([], FILE).handlers
    assert (handler.format, handler.options.message_formatting) == (NAME, "op")  # type: ignore[attr-defined]
    record = {"table": "S.T", "op_type": "I", "op_ts": "t", "pos": "1", "after": {"ID": 1}}
    run_ggfmt([write_lines(tmp_path / "in.json", [record])], tmp_path / "out", *FILE, input_format="json")
    made = json.loads(content(tmp_path / "out", "kc"))
    assert made["payload"]["after"] == {"ID": 1.0}
    assert made["payload"]["before"] is None


def test_a_stray_format_has_no_effect_and_is_told() -> None:
    read_ = read_configuration([], [*FILE, "gg.handler.kc.format=json"])
    assert [handler.format for handler in read_.handlers] == [NAME]
    assert [finding.code for finding in read_.diagnostics] == ["GG110"]
    assert "has no formatter" in read_.diagnostics[0].message


def test_a_property_of_the_handler_is_checked_as_that_of_a_format() -> None:
    with pytest.raises(ConfigurationError) as error:
        read_configuration([], [*FILE, "gg.handler.kc.messageFormatting=rows"])
    assert [finding.code for finding in error.value.diagnostics if finding.code != "GG107"] == ["GG103"]


def test_the_format_can_be_named_too() -> None:
    lines = ["gg.handlerlist=h", f"gg.handler.h.format={NAME}", "gg.handler.h.format.messageFormatting=op"]
    (handler,) = read_configuration([], lines).handlers
    assert handler.options.message_formatting == "op"  # type: ignore[attr-defined]
