"""Messages and keys as the converters of Kafka and of Confluent make them.

`converters.txt` has the messages of `CASES` from `tests/tools/ConnectConverters.java`, five lines for each.
"""

from __future__ import annotations

import io
import json
import pickle
import re
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from confluent_kafka.schema_registry import (
    SchemaRegistryClient,
    record_subject_name_strategy,
    topic_record_subject_name_strategy,
    topic_subject_name_strategy,
)
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from dialects import read, told, written
from oracle import PlainColumn, PlainImage, PlainOperation, PlainTable
from schema_registry import RegistryStub, schema_registry
from strategies import Changes

from ggfmt.columnar.metadata import Clock
from ggfmt.diagnostics.diagnostic import Abend, ConfigurationError
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import Context
from ggfmt.formats.avro.confluent import HEAD_BYTES, head
from ggfmt.formats.connect.json_schema import json_schema
from ggfmt.formats.goldengate.kafkaconnect import KafkaConnectAvroOptions, KafkaConnectOptions
from ggfmt.formats.goldengate.kafkaconnect.converters import Converters, converted_keys
from ggfmt.formats.goldengate.kafkaconnect.write import KafkaConnectFormatter
from ggfmt.formats.json.values import compact_json
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
SMALL = (SqlType(Kind.DECIMAL, precision=12, scale=10), SqlType(Kind.DECIMAL, precision=5, scale=-2))
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
    (
        TableDef("GG.SMALL", columns(*SMALL)),
        [insert("0.0000000001", "-1200"), insert("-0", "0"), insert("-0.000001", "1e3"), insert("12.5", None)],
        ROW | LOGICAL,
    ),
]
TEXT_SCHEMA = '"string"'  # in Avro
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


def golden(case: int) -> list[tuple[bytes, bytes, str, str, bytes]]:
    """With a schema, without, Avro, its schema, and numeric decimals without a schema, for each operation of a case."""
    lines = GOLDEN.read_bytes().split(b"\n")
    first = sum(len(operations) for _, operations, _ in CASES[:case])
    rows = (lines[place * 5 : place * 5 + 5] for place in range(first, first + len(CASES[case][1])))
    return [(line, plain, avro.decode(), schema.decode(), own or plain) for line, plain, avro, schema, own in rows]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_json_is_that_of_the_converter(case: int) -> None:
    assert messages("kafkaconnect_json", case) == [line + b"\n" for line, *_ in golden(case)]
    plain = messages("kafkaconnect_json", case, schemasEnable="false")
    assert plain == [line + b"\n" for _, line, *_ in golden(case)]
    numeric = messages("kafkaconnect_json", case, schemasEnable="false", decimalFormat="NUMERIC")
    assert numeric == [line + b"\n" for *_, line in golden(case)]


def test_keys_are_those_of_the_converters() -> None:
    rows = GOLDEN.read_bytes().split(b"\n")[-5 * len(KEYS) - 1 : -1]
    assert {row.decode() for row in rows[3::5]} == {TEXT_SCHEMA} == {made(key=AVRO).key.key_schema}
    assert converted(made(key=JSON)) == [*rows[::5], None]
    assert converted(made(key=JSON, **{"key.converter.schemas.enable": "false"})) == [*rows[1::5], None]
    assert converted(made(key=AVRO)) == [*(bytes.fromhex(row.decode())[HEAD_BYTES:] for row in rows[2::5]), None]
    assert converted(made(key="org.apache.kafka.connect.storage.StringConverter")) == [*map(str.encode, KEYS), None]
    assert converted(made(key=SCHEMA)) == [*rows[1::5], None]
    assert converted_keys(pa.array([], pa.string()), made(key=AVRO).key).to_pylist() == []


JSON = "org.apache.kafka.connect.json.JsonConverter"
AVRO = "io.confluent.connect.avro.AvroConverter"
SCHEMA = "io.confluent.connect.json.JsonSchemaConverter"
SUBJECTS = "io.confluent.kafka.serializers.subject."
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
    numeric = made(value=SCHEMA, **{"value.converter.decimal.format": "numeric"})
    assert numeric.format_of(options) == ("kafkaconnect_json", replace(options, decimal_format="NUMERIC"))


def test_ids_are_those_of_the_registry() -> None:
    converters = pickle.loads(pickle.dumps(made(key=AVRO, value=AVRO, **SECRET)))
    assert "secret" not in repr(converters)
    assert made().value.schema_id("t", TEXT_SCHEMA) is None
    number = converters.key.schema_id("t", TEXT_SCHEMA)
    assert number == converters.key.schema_id("t", TEXT_SCHEMA) == converters.key.schema_id("t", TEXT_SCHEMA, dry=True)
    for kind, help in ((AVRO, "ggfmt schema --kind avro"), (SCHEMA, "Confluent's converter")):
        fixed = made(
            key=kind, **{"key.converter.auto.register.schemas": "false", "schema.registry.url": "mock://fixed"}
        )
        with pytest.raises(Abend, match=rf"GG578.*`t-key`.*auto\.register\.schemas.*{help}"):
            fixed.key.schema_id("t", fixed.key.key_schema)


@pytest.mark.process
def test_a_dry_run_asks_the_registry_and_registers_nothing() -> None:
    with schema_registry(user="ada:secret") as stub:
        own = {"value.converter.schema.registry.url": stub.url, **SECRET}
        value = made(value=AVRO, **own).value
        assert value.schema_id("t", TEXT_SCHEMA, dry=True) is None
        assert stub.schemas == {}
        stub.add("int", "t-value")
        stub.fixed.add("t-value")
        for dry in (True, False):
            with pytest.raises(Abend, match="GG578"):
                value.schema_id("t", TEXT_SCHEMA, dry)


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ({"key.converter": ""}, "`key.converter` is missing"),
        ({"value.converter": "com.example.Own"}, "`com.example.Own`"),
        ({"value.converter": "io.confluent.connect.protobuf.ProtobufConverter"}, "ProtobufConverter"),
        ({"value.converter": "org.apache.kafka.connect.storage.StringConverter"}, "StringConverter"),
        ({"value.converter": AVRO, "schema.registry.url": ""}, "no schema registry"),
        ({"value.converter.decimal.format": "TEXT"}, "`value.converter.decimal.format`"),
        ({"value.converter": SCHEMA, "value.converter.object.additional.properties": "false"}, "additional"),
        ({"value.converter": SCHEMA, "value.converter.use.latest.version": "true"}, "latest"),
        (
            {
                "value.converter": AVRO,
                "value.converter.value.subject.name.strategy": f"{SUBJECTS}AssociatedNameStrategy",
            },
            "strategy",
        ),
        ({"value.converter": AVRO, "value.converter.enhanced.avro.schema.support": "true"}, "enhanced"),
        ({"key.converter": AVRO, "key.converter.key.subject.name.strategy": "com.example.S"}, "strategy"),
    ],
)
def test_converters_without_support_are_refused_by_name(named: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigurationError, match=r"producer\.properties.*GG577") as error:
        made(**named)
    assert words in str(error.value)
    assert not re.search("remove|leave out|take it away|delete", str(error.value))


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
    for item, (line, _, avro, schema, _) in enumerate(golden(case)):
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


# The serializers of Confluent's client for Python name the subjects, and make the bytes, that ggfmt does too.


def serialized(case: int, kind: str, strategy: str, stub: RegistryStub) -> tuple[list[bytes], KafkaConnectFormatter]:
    """The messages of a case as Confluent's serializer makes them of what ggfmt writes, and the formatter of ggfmt."""
    client = SchemaRegistryClient({"url": stub.url})
    table, _, options = CASES[case]
    name = "kafkaconnect_avro" if kind == AVRO else "kafkaconnect_json"
    format = FORMATS[name]
    formatter: Any = format.write_support.formatter(table, format.options.parse(options), Context(), Clock())
    conf = {"subject.name.strategy": STRATEGIES[strategy], "normalize.schemas": False}
    values = [json.loads(line) for _, line, *_ in golden(case)]
    at = SerializationContext("t", MessageField.VALUE)
    if kind == AVRO:
        data = [
            fastavro.schemaless_reader(io.BytesIO(bytes.fromhex(row[2])[HEAD_BYTES:]), json.loads(row[3]), None)
            for row in golden(case)
        ]
        serializer: Any = AvroSerializer(client, json.dumps(formatter.schema), conf=conf)
        return [serializer(item, at) for item in data], formatter
    schema = json_schema(formatter.connect_schema)
    serializer = JSONSerializer(json.dumps(schema), client, conf=conf, json_encode=compact_json)
    return [serializer(item, at) for item in values], formatter


NAMED = {
    f"{SUBJECTS}TopicNameStrategy": "t-value",
    f"{SUBJECTS}RecordNameStrategy": "{}",
    f"{SUBJECTS}TopicRecordNameStrategy": "t-{}",
}
STRATEGIES: dict[str, Any] = {
    f"{SUBJECTS}TopicNameStrategy": topic_subject_name_strategy,
    f"{SUBJECTS}RecordNameStrategy": record_subject_name_strategy,
    f"{SUBJECTS}TopicRecordNameStrategy": topic_record_subject_name_strategy,
}


@pytest.mark.process
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("kind", [AVRO, SCHEMA])
@pytest.mark.parametrize("case", [2, 8])
def test_subjects_and_ids_are_those_of_the_strategy(case: int, kind: str, strategy: str) -> None:
    with schema_registry() as stub:
        bytes_of_client, formatter = serialized(case, kind, strategy, stub)
        ((subject, numbers),) = stub.subjects.items()
        named = {"value.converter": kind, "value.converter.schema.registry.url": stub.url}
        value = made(**named, **{"value.converter.value.subject.name.strategy": strategy}).value
        assert (
            subject == {"T": "t-value", "R": CASES[case][0].full_name}.get(strategy[len(SUBJECTS)], "")
            or "Record" in strategy
        )
        assert [value.schema_id("t", value.schema_of(formatter), dry) for dry in (True, False)] == numbers * 2
        assert (list(stub.subjects), len(stub.schemas)) == ([subject], 1)
        assert {message[:HEAD_BYTES] for message in bytes_of_client} == {head(*numbers)}


def test_texts_have_no_record_to_name_a_subject() -> None:
    keys = made(key=AVRO, **{"key.converter.key.subject.name.strategy": f"{SUBJECTS}RecordNameStrategy"}).key
    with pytest.raises(Abend, match=r"GG578.*each key is a text"):
        keys.schema_id("t", keys.key_schema)


@pytest.mark.process
@pytest.mark.parametrize("numeric", ["BASE64", "NUMERIC"])
@pytest.mark.parametrize("case", range(len(CASES)))
def test_json_with_a_schema_in_the_registry_is_read_by_both(case: int, numeric: str) -> None:
    """Confluent's deserializer validates each message; ggfmt reads what it reads of JSON with a schema."""
    table, _, options = CASES[case]
    format = FORMATS["kafkaconnect_json"]
    chosen = format.options.parse(options | {"decimalFormat": numeric})
    formatter: Any = format.write_support.formatter(table, chosen, Context(include_tokens=True), Clock())
    with schema_registry() as stub:
        value = made(
            value=SCHEMA,
            **{"value.converter.schema.registry.url": stub.url, "value.converter.decimal.format": numeric},
        ).value
        number = value.schema_id("t", value.schema_of(formatter))
        deserializer = JSONDeserializer(
            None, schema_registry_client=SchemaRegistryClient({"url": stub.url}), json_decode=json.loads
        )
        source = told("kafkaconnect_avro", schemaRegistry=stub.url)
        plain = messages("kafkaconnect_json", case, schemasEnable="false", decimalFormat=numeric)
        with_schema = messages("kafkaconnect_json", case, decimalFormat=numeric)
        for line, other in zip(plain, with_schema, strict=True):
            message = head(number or 0) + line.removesuffix(b"\n")
            if not re.search(rb"[:,]\"-?(NaN|Infinity)\"", line):
                assert deserializer(message, SerializationContext("t", MessageField.VALUE)) == json.loads(line)
            found = read("kafkaconnect_avro", message, source)
            assert found.reasons == []
            assert found.operations == read("kafkaconnect_json", other).operations


@pytest.mark.parametrize("case", [4, 10])
def test_numeric_decimals_keep_their_digits(case: int) -> None:
    in_base64 = [read("kafkaconnect_json", line).operations for line, *_ in golden(case)]
    made_numeric = messages("kafkaconnect_json", case, decimalFormat="NUMERIC")
    for line, expected in zip(made_numeric, in_base64, strict=True):
        ((table, item),) = read("kafkaconnect_json", line).operations
        ((known, other),) = expected
        assert table == known
        decimals = [column.name for column in table.columns if column.type.kind is Kind.DECIMAL]
        numbers = [
            [Decimal(row[name] or "NaN").as_tuple() for name in decimals]
            for row in (item.after, other.after)
            if row is not None
        ]
        assert numbers[0] == numbers[1]
