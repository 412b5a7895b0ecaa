"""Debezium in Avro: schemas of Connect in Avro and back, object container files, and Confluent's framing."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import fastavro
import pytest
from dialects import ALL_SHOWN, DATA, read, told, written
from hypothesis import given
from hypothesis import strategies as st
from oracle import PlainColumn, PlainOperation, PlainTable
from schema_registry import schema_registry
from strategies import Changes, examples, table_def

from ggfmt.config.handlers import read_configuration
from ggfmt.diagnostics.diagnostic import ConfigurationError
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import Context
from ggfmt.formats.api.writing import RowErrors
from ggfmt.formats.avro import confluent
from ggfmt.formats.connect.avro import adjusted, avro_schema, connect_schema
from ggfmt.formats.debezium import DebeziumAvroOptions
from ggfmt.model.table import Column, Kind, SqlType, TableDef

NAME = "debezium_avro"
CONNECT = "org.apache.kafka.connect.data."
TABLE = PlainTable("S.T", (PlainColumn("ID", "integer", True), PlainColumn("N", "string"), PlainColumn("D", "double")))
STORY = [
    PlainOperation(
        "I", "2013-06-02 22:14:36.123456", "7", None, {"ID": "1", "N": "ä", "D": "0.5"},
        {"connector": "mysql", "name": "srv", "gtid": "g", "transaction.id": "5", "snapshot": "last"},
    ),
    PlainOperation("U", None, None, {"ID": "1", "N": None, "D": "NaN"}, {"ID": "2", "N": "", "D": None}, {}),
    PlainOperation("D", None, None, {"ID": "2", "N": "x", "D": "-Infinity"}, None, {}),
    PlainOperation("T", None, None, None, None, {}),
]  # fmt: skip


def made(operations: list[PlainOperation] = STORY, **options: str) -> bytes:
    return written(NAME, Changes(TABLE, operations, False), None, ALL_SHOWN, **options)


def own_schema(**options: str) -> Any:
    format = FORMATS[NAME]
    assert format.write_support.schema is not None
    (file,) = format.write_support.schema(table_def(TABLE), format.options.parse(options), ALL_SHOWN)
    assert file.name == "S.T.avsc"
    return json.loads(file.content)


@pytest.mark.parametrize("bits", [8, 16, 32, None])
def test_integers_keep_their_sizes(bits: int | None) -> None:
    table = TableDef("S.T", (Column("ID", SqlType(Kind.INTEGER, bits=bits)),))
    number = str(-1 << (bits or 64) - 1)
    insert = PlainOperation("I", None, None, None, {"ID": number}, {})
    data = written(NAME, Changes(PlainTable("S.T", (PlainColumn("ID", "integer"),)), [insert], False), table)
    ((read_as, item),) = read(NAME, data).operations
    assert (read_as.columns[0].type, item.after) == (table.columns[0].type, {"ID": number})


def registry(folder: Path, **schemas: Any) -> str:
    for number, schema in schemas.items():
        (folder / f"{number.removeprefix('n')}.avsc").write_text(json.dumps(schema), "utf-8")
    return str(folder)


# Schemas

PAIRS: list[tuple[dict[str, Any], Any]] = [
    ({"type": "int32", "optional": False}, "int"),
    ({"type": "string", "optional": True}, ["null", "string"]),
    ({"type": "int16", "optional": False}, {"type": "int", "connect.type": "int16"}),
    (
        {"type": "int64", "optional": True, "name": "io.debezium.time.MicroTimestamp"},
        ["null", {"type": "long", "connect.name": "io.debezium.time.MicroTimestamp"}],
    ),
    (
        {"type": "int32", "optional": False, "name": f"{CONNECT}Date"},
        {"type": "int", "logicalType": "date", "connect.name": f"{CONNECT}Date"},
    ),
    (
        {"type": "bytes", "optional": False, "name": f"{CONNECT}Decimal", "parameters": {"scale": "2"}},
        {
            "type": "bytes", "scale": 2, "precision": 64, "logicalType": "decimal",
            "connect.parameters": {"scale": "2"}, "connect.name": f"{CONNECT}Decimal",
        },
    ),
    (
        {"type": "array", "items": {"type": "float", "optional": True}, "optional": False},
        {"type": "array", "items": ["null", "float"]},
    ),
    (
        {
            "type": "map", "keys": {"type": "string", "optional": False},
            "values": {"type": "string", "optional": False}, "optional": True,
        },
        ["null", {"type": "map", "values": "string"}],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("connect", "avro"), PAIRS, ids=range(len(PAIRS)))
def test_schemas_of_connect_in_avro_and_back(connect: dict[str, Any], avro: Any) -> None:
    assert avro_schema(connect) == avro
    assert connect_schema(avro) == connect


def test_a_struct_that_stands_twice_is_named_the_second_time() -> None:
    row = {
        "type": "struct", "fields": [{"type": "int32", "optional": False, "field": "a"}], "optional": True,
        "name": "s.t-1.Value",
    }  # fmt: skip
    fields = [{**row, "field": image} for image in ("before", "after")]
    connect = {"type": "struct", "fields": fields, "optional": False, "name": "s.t-1.Envelope"}
    record = {
        "type": "record", "name": "Value", "namespace": "s.t_1", "fields": [{"name": "a", "type": "int"}],
        "connect.name": "s.t-1.Value",
    }  # fmt: skip
    avro = avro_schema(connect)
    assert avro == {
        "type": "record",
        "name": "Envelope",
        "namespace": "s.t_1",
        "fields": [
            {"name": "before", "type": ["null", record], "default": None},
            {"name": "after", "type": ["null", "s.t_1.Value"], "default": None},
        ],
        "connect.name": "s.t-1.Envelope",
    }
    assert connect_schema(avro) == connect
    by_short_name = json.loads(json.dumps(avro).replace('"s.t_1.Value"', '"Value"'))
    assert connect_schema(by_short_name) == connect
    fastavro.parse_schema(avro)


@pytest.mark.parametrize(
    "schema", [["int", "string"], ["null"], "nobody", {"type": "nobody"}, {"type": "record"}, 7, {"type": "array"}]
)
def test_what_is_no_schema_of_connect(schema: Any) -> None:
    with pytest.raises(ValueError, match=r"[a-z]"):
        connect_schema(schema)


@given(st.text("aZ09_-.é", max_size=12))
@examples(60)
def test_names_are_adjusted_to_what_avro_takes(name: str) -> None:
    made_of = adjusted(f"x.{name}")
    fastavro.parse_schema({"type": "record", "name": made_of, "fields": []})
    assert adjusted(made_of) == made_of


# Container files


def test_another_reader_reads_what_is_written() -> None:
    records: list[Any] = list(fastavro.reader(io.BytesIO(made())))
    assert [record["op"] for record in records] == ["r", "u", "d", "t"]
    assert records[0]["after"] == {"ID": 1, "N": "ä", "D": 0.5}
    assert records[0]["before"] is None
    assert records[0]["source"] == {
        "version": "ggfmt", "connector": "mysql", "name": "srv", "ts_ms": 1370211276123, "snapshot": "last",
        "db": "S", "schema": None, "table": "T", "ts_us": 1370211276123456, "ts_ns": 1370211276123456000,
        "position": "7", "tokens": {"gtid": "g"},
    }  # fmt: skip
    assert records[0]["transaction"] == {"id": "5", "total_order": None, "data_collection_order": None}
    assert records[1]["transaction"] is None
    assert records[1]["source"]["tokens"] is None
    assert records[3]["after"] is None


def test_decimals_and_times_are_encoded_as_by_connect() -> None:
    table = TableDef(
        "S.T",
        (
            Column("P", SqlType(Kind.DECIMAL, precision=9, scale=2)),
            Column("V", SqlType(Kind.NUMBER)),
            Column("B", SqlType(Kind.BINARY)),
            Column("AT", SqlType(Kind.TIMESTAMP, scale=3)),
        ),
    )
    values: dict[str, str | None] = {"P": "-1.5", "V": "1.250", "B": "AP8=", "AT": "1970-01-01 00:00:01.000"}
    plain = PlainTable("S.T", tuple(PlainColumn(c.name, c.type.kind.value) for c in table.columns))
    item = PlainOperation("I", None, None, None, values, {})
    options = {"decimalHandlingMode": "precise", "timePrecisionMode": "connect"}
    data = written(NAME, Changes(plain, [item], False), table, ALL_SHOWN, **options)
    (record,) = fastavro.reader(io.BytesIO(data))
    row: Any = record["after"]  # type: ignore[index, call-overload]
    assert (str(row["P"]), row["B"], row["AT"].timestamp()) == ("-1.50", b"\0\xff", 1.0)
    assert row["V"] == {"scale": 3, "value": (1250).to_bytes(2, "big")}
    found = read(NAME, data)
    assert [back.after for back in found.plain] == [{**values, "P": "-1.50"}]
    assert [str(column.type) for column in found.operations[0][0].columns] == [
        "decimal(9,2)", "number", "binary", "timestamp(3)",
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["1.505", "many", ""])
def test_a_value_that_is_not_of_its_type_is_a_reject(text: str) -> None:
    table = TableDef("S.T", (Column("P", SqlType(Kind.DECIMAL, precision=9, scale=2)),))
    item = PlainOperation("I", None, None, None, {"P": text}, {})
    changes = Changes(PlainTable("S.T", (PlainColumn("P", "decimal"),)), [item], False)
    with pytest.raises(RowErrors) as error:
        written(NAME, changes, table, ALL_SHOWN, decimalHandlingMode="precise")
    assert [(row, found.code, found.span.field) for row, found in error.value.rows] == [(0, "GG401", "P")]


def test_a_name_that_avro_does_not_take_cannot_be_written() -> None:
    found = FORMATS[NAME].name_problem(DebeziumAvroOptions(), Context(), TableDef("S.T", (Column("A#"),)))
    assert found is not None
    assert (found.diagnostic.code, found.diagnostic.span.field) == ("GG206", "A#")


def test_recorded_messages_are_the_same_in_avro() -> None:
    """What Connect's JSON converter wrote of Debezium's events, with its schema, and the same in Avro."""
    if not DATA.is_dir():
        pytest.skip("the recorded messages are not there")
    records = (DATA / "debezium-live" / "postgresql-with-schema.jsonl").read_bytes().splitlines()
    seen = 0
    for line in records:
        message = json.loads(line)
        if not isinstance(message, dict) or not message.get("payload"):
            continue
        schema = avro_schema(message["schema"])
        data = io.BytesIO()
        fastavro.writer(data, fastavro.parse_schema(_plain(schema)), [_datum(message["schema"], message["payload"])])
        in_avro, in_json = read(NAME, data.getvalue()), read("debezium_json", line)
        assert (in_avro.operations, in_avro.reasons, in_avro.others) == (
            in_json.operations,
            in_json.reasons,
            in_json.others,
        )
        seen += len(in_json.operations)
    assert seen > 5


def _plain(schema: Any) -> Any:
    """The schema less its logical types, so that data are what they annotate."""
    if isinstance(schema, list):
        return [_plain(item) for item in schema]
    if isinstance(schema, dict):
        return {key: _plain(value) for key, value in schema.items() if key != "logicalType"}
    return schema


def _datum(schema: Any, value: Any) -> Any:
    """A value of JSON as a datum of Avro, plainly: bytes are Base64 in JSON."""
    from base64 import b64decode

    if value is None:
        return None
    kind = schema["type"]
    if kind == "bytes":
        return b64decode(value)
    if kind == "struct":
        return {field["field"]: _datum(field, value.get(field["field"])) for field in schema["fields"]}
    if kind == "array":
        return [_datum(schema["items"], item) for item in value]
    if kind == "map":
        return {name: _datum(schema["values"], item) for name, item in value.items()}
    return value


def test_cells_and_unavailable_values_are_as_in_json() -> None:
    def record(name: str, **fields: Any) -> dict[str, Any]:
        return {"type": "record", "name": name, "fields": [{"name": key, "type": type} for key, type in fields.items()]}

    text = ["null", "string"]
    cell = record("Cell", value=text, deletion_ts=["null", "long"], set=["null", "boolean"])
    of_cells = record("V", k=["null", cell], v=["null", "Cell"], _range_start=text, _range_end=text)
    arrays = [{"type": "array", "items": type} for type in ("int", "string")]
    of_plain = record("V", k="string", nums=["null", arrays[0]], ids=["null", arrays[1]], data=["null", "bytes"])
    placeholder = b"__debezium_unavailable_value"
    unavailable = {"nums": list(placeholder), "ids": ["b68a35a7-17ad-35b3-af2a-ae46edb4545a"], "data": placeholder}

    def images(row: Any, connector: str, *events: Any) -> Any:
        source = record("Source", connector="string", keyspace=text, table="string")
        schema = record("Envelope", op="string", before=["null", row], after=["null", "V"], source=source)
        block = {"connector": connector, "keyspace": "ks", "table": "t"}
        data = io.BytesIO()
        fastavro.writer(data, fastavro.parse_schema(schema), [{**event, "source": block} for event in events])
        found = read(NAME, data.getvalue())
        assert found.reasons == []
        return [(item.op, item.before, item.after) for item in found.plain]

    key = {"value": "a", "set": True}
    assert images(
        of_cells,
        "cassandra",
        {"op": "i", "after": {"k": key, "v": {"value": None, "set": True}}},
        {"op": "u", "after": {"k": key, "v": None}},
        {"op": "d", "after": {"k": key}},
    ) == [("I", None, {"k": "a", "v": None}), ("U", None, {"k": "a"}), ("D", {"k": "a"}, None)]
    whole = {"op": "c", "after": {"k": "a", "nums": [1], "ids": ["x"], "data": b"\0"}}
    assert images(of_plain, "postgresql", whole, {"op": "u", "after": {"k": "a", **unavailable}}) == [
        ("I", None, {"k": "a", "nums": "[1]", "ids": '["x"]', "data": "AA=="}),
        ("U", None, {"k": "a"}),
    ]


# Confluent's framing


def test_messages_in_the_framing_are_written_and_read(tmp_path: Path) -> None:
    directory = registry(tmp_path, n7=own_schema(), n12="string")
    options = {"fileFraming": "confluent", "schemaRegistry": directory}
    data = made(STORY, **options)
    assert data[:5] == b"\0\0\0\0\7"
    assert data == made(STORY, fileFraming="confluent", schemaIds="S.T=7")
    stream = io.BytesIO(data)
    parsed = fastavro.parse_schema(own_schema())
    for item in STORY:
        assert stream.read(5) == b"\0\0\0\0\7"
        record: Any = fastavro.schemaless_reader(stream, parsed, None)
        assert record["source"]["position"] == item.pos
    assert stream.read() == b""
    found = read(NAME, data, told(NAME, **options))
    assert found.reasons == []
    assert found.plain == read(NAME, made()).plain
    alone = made(STORY[:1], **options)
    assert read(NAME, alone, told(NAME, **options)).plain == found.plain[:1]
    assert found.places[0][1] == len(alone)


def test_a_registry_with_a_url_has_the_schemas() -> None:
    with schema_registry() as stub:
        options = {"fileFraming": "confluent", "schemaRegistry": stub.url}
        with pytest.raises(RowErrors) as error:
            made(STORY, **options)
        assert {found.code for _, found in error.value.rows} == {"GG215"}
        assert stub.subjects == {}
        confluent.registry.cache_clear()
        stub.add("string")
        stub.add(own_schema(), "S.T-value")
        data = made(STORY, **options)
        assert data[:5] == b"\0\0\0\0\2"
        stub.paths.clear()
        assert read(NAME, data, told(NAME, **options)).plain == read(NAME, made()).plain
        assert len(stub.paths) == 1
        unknown = data + b"\0\0\0\0\x09"
        assert [reject.diagnostic.code for reject in read(NAME, unknown, told(NAME, **options)).rejects] == ["GG318"]


@pytest.mark.example("GG318", "GG319")
def test_what_is_broken_is_one_reject_up_to_the_end(tmp_path: Path) -> None:
    directory = registry(tmp_path, n7=own_schema(), n8=["int", "string"])
    source = told(NAME, schemaRegistry=directory)
    good = made(STORY[:2], fileFraming="confluent", schemaIds="S.T=7")
    rest = made(STORY[2:], fileFraming="confluent", schemaIds="S.T=7")
    for middle, code, words in (
        (b"\0\0\0\1\0" + b"\2", "GG318", "has no schema 256"),
        (b"\1", "GG319", "the first byte is 0x01"),
        (b"\0\0\0\0\7\xff\xff\xff", "GG319", "not a message of schema 7"),
        (b"\0\0\0\0\x08\2", "GG313", "a union of several types"),
    ):
        found = read(NAME, good + middle + rest, source)
        assert found.plain == read(NAME, made(STORY[:2])).plain
        (reject,) = found.rejects
        assert (reject.diagnostic.code, reject.diagnostic.span.offset) == (code, len(good))
        assert words in reject.diagnostic.message
        assert reject.record == middle + rest
    cut = read(NAME, good[:-3], source)
    assert [reject.diagnostic.code for reject in cut.rejects] == ["GG319"]
    assert [reject.diagnostic.code for reject in read(NAME, good + b"\0\0", source).rejects] == ["GG302"]


@pytest.mark.example("GG214")
def test_a_directory_of_schemas_is_asked_for() -> None:
    data = made(fileFraming="confluent", schemaIds="T=2147483647")
    assert data[:5] == b"\0\x7f\xff\xff\xff"
    (reject,) = read(NAME, data).rejects
    assert (reject.diagnostic.code, reject.record) == ("GG214", data)
    assert "schema 2147483647" in reject.diagnostic.message


@pytest.mark.example("GG215")
def test_a_schema_without_a_number_is_a_reject(tmp_path: Path) -> None:
    directory = registry(tmp_path, n7="string")
    with pytest.raises(RowErrors) as error:
        made(fileFraming="confluent", schemaRegistry=directory)
    assert {found.code for _, found in error.value.rows} == {"GG215"}


def test_the_url_of_a_registry_has_no_password() -> None:
    lines = [f"gg.handler.h.format={NAME}", "gg.handler.h.format.schemaRegistry=http://ada:secret@registry"]
    with pytest.raises(ConfigurationError, match=r"GG103.*GGFMT_SCHEMA_REGISTRY_BASIC_AUTH_USER_INFO") as error:
        read_configuration([], lines)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("text", ["S.T=x", "S.T=-1", "S.T=2147483648", "7", "=7"])
def test_numbers_of_schemas_are_whole_and_of_31_bits(text: str) -> None:
    lines = [f"gg.handler.h.format={NAME}", f"gg.handler.h.format.schemaIds={text}"]
    with pytest.raises(ConfigurationError) as error:
        read_configuration([], lines)
    assert "GG103" in {finding.code for finding in error.value.diagnostics}


@given(data=st.data())
@examples(150)
def test_whatever_bytes_a_file_of_messages_has(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Operations come first, and the rest, if there is any, is one reject with its place."""
    source = told(NAME, schemaRegistry=_directory(tmp_path_factory))
    damaged = bytearray(made(STORY, fileFraming="confluent", schemaIds="S.T=7"))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(damaged)))
        damaged[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    found = read(NAME, bytes(damaged), source)
    whole = [reject for reject in found.rejects if reject.diagnostic.code in ("GG302", "GG318", "GG319")]
    assert len(whole) <= 1
    for reject in whole:
        offset = reject.diagnostic.span.offset or 0
        assert offset + len(reject.record) == len(damaged)
        assert all(end <= offset for _, end in found.places)
    assert whole or len(found.operations) + len(found.rejects) + sum(found.others.values()) >= 1 or not damaged


_directories: list[str] = []


def _directory(factory: pytest.TempPathFactory) -> str:
    if not _directories:
        _directories.append(registry(factory.mktemp("registry"), n7=own_schema()))
    return _directories[0]
