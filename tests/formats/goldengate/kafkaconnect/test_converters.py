"""Messages and keys as the converters of Kafka and of Confluent make them.

`converters.txt` has the messages of `CASES` from `tests/tools/ConnectConverters.java`, four lines for each.
"""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from dialects import read, told, written
from oracle import PlainColumn, PlainImage, PlainOperation, PlainTable
from schema_registry import schema_registry
from strategies import Changes

from ggfmt.diagnostics.diagnostic import Abend, ConfigurationError
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import Context
from ggfmt.formats.avro.confluent import HEAD_BYTES
from ggfmt.formats.goldengate.kafkaconnect import KafkaConnectAvroOptions, KafkaConnectOptions
from ggfmt.formats.goldengate.kafkaconnect.converters import KEY_SCHEMA, Converters, converted_keys
from ggfmt.model.table import Column, Kind, SqlType, TableDef

OP = {"messageFormatting": "op", "includePrimaryKeys": "true"}
ROW = {"messageFormatting": "row"}
TEXT = SqlType(Kind.STRING)
DOUBLES = [
    *("0.1", "100", "1e7", "12345678.9", "1e-3", "9.9e-4", "1.0E21", "2e-3"),
    *("123456789012345680.0", "2.2250738585072014E-308"),
]


def columns(*types: SqlType, nullable: bool = True) -> tuple[Column, ...]:
    return tuple(Column(f"C{place}", type, nullable, place) for place, type in enumerate(types))


def insert(*values: str | None, names: tuple[str, ...] = ()) -> PlainOperation:
    row = dict(zip(names or [f"C{place}" for place in range(len(values))], values, strict=True))
    return PlainOperation("I", "2013-06-02 22:14:36.000000", "0000", None, row, {"R": "AADPkv"})


def delete(row: PlainImage) -> PlainOperation:
    return PlainOperation("D", None, None, row, None, {})


WORDS = 'Zo\u00eb "q" / \\ \x01 \u2028 \U0001f600 \x7f \x1f \t \b \n'
DECIMALS = (
    SqlType(Kind.DECIMAL, precision=9, scale=2),
    SqlType(Kind.DECIMAL, precision=30, scale=0),
    SqlType(Kind.NUMBER),
)
LOGICAL = {"enableDecimalLogicalType": "true", "enableTimestampLogicalType": "true", "oracleNumberScale": "3"}
TIMES = (SqlType(Kind.TIMESTAMP), SqlType(Kind.DATE), SqlType(Kind.TIME))
EMOJI = ("K\U0001f600", 'a"b', "N$")
FLAGGED = {"includeIsMissingFields": "true", "enableNonnullable": "true"}

# A table, its operations, and the options of the handler.
CASES: list[tuple[TableDef, list[PlainOperation], dict[str, str]]] = [
    (
        TableDef("GG.INTEGERS", columns(*(SqlType(Kind.INTEGER, bits=bits) for bits in (8, 32, None)))),
        [insert("-128", "2147483647", "-9223372036854775808"), insert(None, None, "9223372036854775807")],
        OP,
    ),
    (
        TableDef("GG.DOUBLES", columns(*[SqlType(Kind.DOUBLE)] * len(DOUBLES))),
        [insert(*DOUBLES), delete({"C0": "5e-324", "C1": None})],
        OP,
    ),
    (TableDef("GG.FLOATS", columns(*[SqlType(Kind.FLOAT)] * 4)), [insert("0.1", "1e7", "-1e-10", "3.4028235E38")], ROW),
    (TableDef("GG.DECIMALS", columns(*DECIMALS)), [insert("12.34", "-1", "0.125"), insert("-0.01", "128", None)], OP),
    (
        TableDef("GG.LOGICAL", columns(*DECIMALS, *TIMES)),
        [
            insert("12.34", "-1", "0.125", "2013-06-02 22:14:36.123000", "2013-06-02", "22:14:36"),
            insert("-1.28", "123456789012345678901234567890", "0", "1969-12-31 23:59:59.999", "0001-01-01", None),
        ],
        OP | LOGICAL,
    ),
    (TableDef("GG.TIMES", columns(*TIMES)), [insert("2013-06-02 22:14:36.123456", "2013-06-02", "22:14:36")], ROW),
    (TableDef("GG.WORDS", columns(TEXT, TEXT, TEXT)), [insert(WORDS, "", None)], OP),
    (
        TableDef("GG.EMOJI\U0001f600", tuple(Column(name, TEXT) for name in EMOJI)),
        [insert("a", "b", "c", names=EMOJI)],
        OP,
    ),
    (TableDef("C.S.BOOLEANS", columns(SqlType(Kind.BOOLEAN), TEXT)), [insert("true", "x"), insert("false", None)], ROW),
    (
        TableDef("GG.FLAGS", columns(TEXT, SqlType(Kind.INTEGER), SqlType(Kind.DOUBLE), nullable=False)),
        [insert("a", "1", "0.5"), delete({"C0": "\u00e9", "C1": "-5", "C2": "2.5"})],
        OP | FLAGGED,
    ),
    (
        TableDef("GG.REQUIRED", columns(*TIMES, *DECIMALS, nullable=False)),
        [insert("2013-06-02 22:14:36.123000", "2013-06-02", "22:14:36", "12.34", "-1", "0.125")],
        ROW | FLAGGED | LOGICAL,
    ),
    (
        TableDef("ALONE", columns(SqlType(Kind.DOUBLE), TEXT)),
        [insert("0.10", "x")],
        OP | {"treatAllColumnsAsStrings": "true"},
    ),
    (TableDef("GG.SPACE", columns(TEXT)), [insert("x")], ROW | {"schemaNamespace": "com.example"}),
    (TableDef("GG.T$1", columns(TEXT)), [insert("x")], ROW),
]
KEYS = ["1_test ", "", WORDS, "7"]
GOLDEN = Path(__file__).with_name("converters.txt")


def messages(name: str, case: int, **options: str) -> list[bytes]:
    """The messages of a case, each as a file of its own."""
    table, operations, own = CASES[case]
    plain = PlainTable(table.full_name, tuple(PlainColumn(name, "string") for name in table.column_names))
    made = []
    for item in operations:
        changes = Changes(plain, [item], False)
        made.append(written(name, changes, table, Context(include_tokens=True), **own, **options))
    return made


def golden(case: int) -> list[tuple[bytes, bytes, str, str]]:
    lines = GOLDEN.read_bytes().split(b"\n")
    first = sum(len(operations) for _, operations, _ in CASES[:case])
    rows = (lines[place * 4 : place * 4 + 4] for place in range(first, first + len(CASES[case][1])))
    return [(with_schema, without, avro.decode(), schema.decode()) for with_schema, without, avro, schema in rows]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_json_is_that_of_the_converter(case: int) -> None:
    assert messages("kafkaconnect_json", case) == [line + b"\n" for line, _, _, _ in golden(case)]
    plain = messages("kafkaconnect_json", case, schemasEnable="false")
    assert plain == [line + b"\n" for _, line, _, _ in golden(case)]


def test_keys_are_those_of_the_converters() -> None:
    rows = GOLDEN.read_bytes().split(b"\n")[-4 * len(KEYS) - 1 : -1]
    assert {row.decode() for row in rows[3::4]} == {KEY_SCHEMA}
    assert converted(made(key=JSON)) == [*rows[::4], None]
    assert converted(made(key=JSON, **{"key.converter.schemas.enable": "false"})) == [*rows[1::4], None]
    assert converted(made(key=AVRO)) == [*(bytes.fromhex(row.decode())[HEAD_BYTES:] for row in rows[2::4]), None]
    assert converted(made(key="org.apache.kafka.connect.storage.StringConverter")) == [*map(str.encode, KEYS), None]
    assert converted_keys(pa.array([], pa.string()), made(key=AVRO).key).to_pylist() == []


JSON = "org.apache.kafka.connect.json.JsonConverter"
AVRO = "io.confluent.connect.avro.AvroConverter"
SECRET = {"value.converter.basic.auth.user.info": "ada:secret"}


def made(key: str = JSON, value: str = JSON, **others: str) -> Converters:
    named = {"key.converter": key, "value.converter": value, "schema.registry.url": "mock://keys", "acks": "1"}
    return Converters.of({name: text for name, text in (named | others).items() if text}, "producer.properties")


def converted(converters: Converters) -> list[bytes | None]:
    return converted_keys(pa.array([*KEYS, None], pa.string()), converters.key).to_pylist()


def test_the_converter_of_values_chooses_the_format() -> None:
    options = KafkaConnectOptions(treat_all_columns_as_strings=True, schemas_enable=False)
    assert made().format_of(options) == ("kafkaconnect_json", replace(options, schemas_enable=True))
    plain = made(**{"value.converter.schemas.enable": "false"})
    assert plain.format_of(options) == ("kafkaconnect_json", options)
    in_avro = KafkaConnectAvroOptions(treat_all_columns_as_strings=True)
    assert made(value=AVRO).format_of(options) == ("kafkaconnect_avro", in_avro)
    assert made().format_of(in_avro)[0] == "kafkaconnect_json"


def test_ids_are_those_of_the_registry() -> None:
    converters = pickle.loads(pickle.dumps(made(key=AVRO, value=AVRO, **SECRET)))
    assert "secret" not in repr(converters)
    assert made().value.schema_id("t", KEY_SCHEMA) is None
    number = converters.key.schema_id("t", KEY_SCHEMA)
    assert number == converters.key.schema_id("t", KEY_SCHEMA) == converters.key.schema_id("t", KEY_SCHEMA, dry=True)
    fixed = made(key=AVRO, **{"key.converter.auto.register.schemas": "false"})
    with pytest.raises(Abend, match=r"GG578.*`t-key`.*auto\.register\.schemas"):
        fixed.key.schema_id("t", KEY_SCHEMA)


@pytest.mark.process
def test_a_dry_run_asks_the_registry_and_registers_nothing() -> None:
    with schema_registry(user="ada:secret") as stub:
        own = {"value.converter.schema.registry.url": stub.url, **SECRET}
        value = made(value=AVRO, **own).value
        assert value.schema_id("t", KEY_SCHEMA, dry=True) is None
        assert stub.schemas == {}
        stub.add("int", "t-value")
        stub.fixed.add("t-value")
        for dry in (True, False):
            with pytest.raises(Abend, match="GG578"):
                value.schema_id("t", KEY_SCHEMA, dry)


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ({"key.converter": ""}, "`key.converter` is missing"),
        ({"value.converter": "com.example.Own"}, "`com.example.Own`"),
        ({"value.converter": "io.confluent.connect.protobuf.ProtobufConverter"}, "ProtobufConverter"),
        ({"value.converter": "org.apache.kafka.connect.storage.StringConverter"}, "StringConverter"),
        ({"value.converter": AVRO, "schema.registry.url": ""}, "no schema registry"),
        ({"value.converter.decimal.format": "NUMERIC"}, "`value.converter.decimal.format`"),
        ({"value.converter": AVRO, "value.converter.enhanced.avro.schema.support": "true"}, "enhanced"),
        ({"key.converter": AVRO, "key.converter.key.subject.name.strategy": "com.example.S"}, "strategy"),
    ],
)
def test_converters_without_support_are_refused_by_name(named: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigurationError, match=r"producer\.properties.*GG577") as error:
        made(**named)
    assert words in str(error.value)
    assert "remove" not in str(error.value)


@pytest.mark.parametrize("case", range(len(CASES)))
def test_avro_is_that_of_the_converter(case: int, tmp_path: Path) -> None:
    table, _, options = CASES[case]
    format = FORMATS["kafkaconnect_avro"]
    chosen = format.options.parse(options)
    problem = format.name_problem(chosen, Context(), table)
    if not golden(case)[0][2].startswith("00"):
        assert golden(case)[0][2] == "SchemaParseException"
        assert problem is not None and problem.diagnostic.code == "GG206"
        return
    assert problem is None
    assert format.write_support.schema is not None
    (file,) = format.write_support.schema(table, chosen, Context(include_tokens=True))
    for item, (line, _, avro, schema) in enumerate(golden(case)):
        assert json.loads(file.content) == json.loads(schema)
        number = int(avro[2:10], 16)
        ids = {"fileFraming": "confluent", "schemaIds": f"{table.full_name}={number}"}
        assert messages("kafkaconnect_avro", case, **ids)[item].hex() == avro
        (tmp_path / f"{number}.avsc").write_text(schema, "utf-8")
        source = told("kafkaconnect_avro", schemaRegistry=str(tmp_path))
        found = read("kafkaconnect_avro", bytes.fromhex(avro), source)
        assert found.reasons == []
        assert valued(found.operations) == valued(read("kafkaconnect_json", line).operations)


def valued(operations: list[tuple[TableDef, PlainOperation]]) -> list[tuple[TableDef, PlainOperation]]:
    """The operations with doubles in one notation."""
    found = []
    for table, item in operations:
        doubles = {column.name for column in table.columns if column.type.kind is Kind.DOUBLE}
        before, after = (
            row and {name: repr(float(text)) if text and name in doubles else text for name, text in row.items()}
            for row in (item.before, item.after)
        )
        found.append((table, replace(item, before=before, after=after)))
    return found
