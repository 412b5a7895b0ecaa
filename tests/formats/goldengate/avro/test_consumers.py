"""Real consumers of what the Avro formats write: the Avro library for Java, in Spark's JVM, and Polars."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import polars
import pyarrow as pa
import pytest
from avro_oracle import decode_stream, record
from oracle import PlainColumn, PlainOperation, PlainTable
from polars.exceptions import ComputeError
from strategies import Changes, make_batch

from ggfmt.arrow.arrays import non_null_values
from ggfmt.columnar.avro import text_bytes
from ggfmt.columnar.metadata import Clock
from ggfmt.columnar.pieces import zigzag_varint
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import Context
from ggfmt.formats.avro.containers import ObjectContainer
from ggfmt.formats.goldengate.avro import AvroOpOptions, AvroOptions
from ggfmt.formats.goldengate.avro.schema import AvroSchema, wrapper_schema
from ggfmt.formats.goldengate.avro.table_schema import avro_schema
from ggfmt.formats.goldengate.options import CODECS
from ggfmt.model.table import Column, Kind, SqlType, TableDef
from ggfmt.spark.session import SparkRunner, SparkSettings


class AvroJava:
    """Reads by the library that GoldenGate itself writes with; `jvm` is py4j's view of a running JVM."""

    def __init__(self, jvm: Any) -> None:
        self._lang = jvm.java
        self._avro = jvm.org.apache.avro

    def parse(self, schema: str) -> Any:
        return self._avro.Schema.Parser().parse(schema)

    def pretty(self, schema: str) -> str:
        return str(self.parse(schema).toString(True))

    def hash(self, text: str) -> int:
        """`String.hashCode()`"""
        return int(self._lang.util.Objects.hashCode(text))

    def fingerprint(self, schema: str) -> int:
        return int(self._avro.SchemaNormalization.parsingFingerprint64(self.parse(schema)))

    def logical_types(self, schema: str, field: str) -> list[Any]:
        """The logical type of a nullable decimal field of a row or an image: its name, precision and scale."""
        record = self.parse(schema)
        if record.getField(field) is None:
            record = record.getField("before").schema().getTypes().get(1)
        kind = record.getField(field).schema().getTypes().get(1).getLogicalType()
        return [kind.getName(), kind.getPrecision(), kind.getScale()]

    def is_name(self, name: str) -> bool:
        try:
            self.parse(json.dumps({"type": "record", "name": name, "namespace": "n", "fields": []}))
        except Exception as error:
            assert "SchemaParseException" in str(error), error
            return False
        return True

    def stream(self, data: bytes, schema: str) -> list[dict[str, Any]]:
        """The messages of an undelimited stream."""
        reader = self._avro.generic.GenericDatumReader(self.parse(schema))
        decoder = self._avro.io.DecoderFactory.get().binaryDecoder(data, None)
        records = []
        while not decoder.isEnd():
            records.append(json.loads(reader.read(None, decoder).toString()))
        return records

    def payloads(self, data: bytes, schema: str) -> list[tuple[str, int, bytes]]:
        """Table, number of the schema and payload of each generic wrapper in a stream."""
        reader = self._avro.generic.GenericDatumReader(self.parse(schema))
        decoder = self._avro.io.DecoderFactory.get().binaryDecoder(data, None)
        found = []
        while not decoder.isEnd():
            record = reader.read(None, decoder)
            found.append((record.get(0).toString(), record.get(1), bytes(record.get(2).array())))
        return found

    def container(self, path: Path) -> Iterator[dict[str, Any]]:
        """The messages of an object container file."""
        reader = self._avro.file.DataFileReader(self._lang.io.File(str(path)), self._avro.generic.GenericDatumReader())
        try:
            while reader.hasNext():
                yield json.loads(reader.next().toString())
        finally:
            reader.close()


WORDS = ["", "plain", "é€", "😀 𝄞", 'a\nb\t"quoted"\\', "x" * 10_000]
TABLE = PlainTable(
    "CAT.GG.BÜCHER",
    (
        PlainColumn("ID", "integer", 1),
        PlainColumn("TITEL", "string"),
        PlainColumn("PREIS", "decimal"),
        PlainColumn("MASZ", "float"),
        PlainColumn("DA", "boolean"),
        PlainColumn("GRÖSSE_名", "double", 2),
    ),
)


def image(n: int) -> dict[str, str | None]:
    whole: dict[str, str | None] = {
        "ID": f"{(-1) ** n * 7**n}",
        "TITEL": WORDS[n % len(WORDS)],
        "PREIS": f"{n}.50",
        "MASZ": f"{n}.25",
        "DA": ("true", "false")[n % 2],
        "GRÖSSE_名": "1E3",
    }
    if n % 3 == 1:
        whole["TITEL"] = None
    if n % 4 == 2:
        del whole["PREIS"]
    return whole


OPERATIONS = [
    PlainOperation(
        "IUDT"[n % 4],
        "2013-06-02 22:14:36.000000",
        f"{n:020d}",
        image(n) if n % 4 in (1, 2) else None,
        image(n + 1) if n % 4 in (0, 1) else None,
        {"R": "AADPkvAAEAAEqL2AAA", "€": "😀"} if n % 2 else {},
    )
    for n in range(20)
]
BATCH = make_batch(Changes(TABLE, OPERATIONS, garbage=False))
STAMP = "2015-09-18T13:39:35.447000"


@pytest.fixture(scope="module")
def java() -> Iterator[AvroJava]:
    with SparkRunner(SparkSettings("local[1]")) as session:
        assert session._context is not None
        yield AvroJava(session._context._jvm)


def messages(format: str, release: str, **options: Any) -> pa.Array[Any]:
    described = FORMATS[format]
    if format.startswith("avro_row"):
        options["pk_update_handling"] = "update"
    context = Context(True, release)
    clock = Clock(datetime.fromisoformat(STAMP))
    return described.write_support.formatter(BATCH.table, described.options(**options), context, clock).format(BATCH)


def schema_text(format: str, release: str, **options: Any) -> str:
    described = FORMATS[format]
    chosen = described.options(**options)
    assert isinstance(chosen, AvroOptions)
    return avro_schema(BATCH.table, chosen, Context(release=release), "_op" in format).text


def expected(format: str, release: str, strings: bool = False) -> list[dict[str, Any]]:
    options = {"insert_op_key": "I", "update_op_key": "U", "delete_op_key": "D", "truncate_op_key": "T"}
    flags: dict[str, Any] = {**options, "treat_all_columns_as_strings": strings}
    return [record(TABLE, item, flags, release, True, STAMP, "_op" in format) for item in OPERATIONS]


@pytest.mark.spark
@pytest.mark.parametrize("strings", [False, True])
@pytest.mark.parametrize("release", ["12.2", "12.3"])
@pytest.mark.parametrize("format", ["avro_row", "avro_op"])
def test_java_reads_an_undelimited_stream(java: AvroJava, format: str, release: str, strings: bool) -> None:
    data = b"".join(non_null_values(messages(format, release, treat_all_columns_as_strings=strings)))
    schema = schema_text(format, release, treat_all_columns_as_strings=strings)
    assert java.stream(data, schema) == expected(format, release, strings)


@pytest.mark.spark
@pytest.mark.parametrize("by_fingerprint", [False, True])
@pytest.mark.parametrize("format", ["avro_row", "avro_op"])
def test_java_unwraps_and_knows_the_schema_by_its_number(java: AvroJava, format: str, by_fingerprint: bool) -> None:
    wrapped = messages(
        format, "12.2", wrap_message_in_generic_avro_message=True, generic_wrapper_use_fingerprint=by_fingerprint
    )
    schema = schema_text(format, "12.2")
    number = java.fingerprint(schema) if by_fingerprint else java.hash(schema)
    payloads = java.payloads(b"".join(non_null_values(wrapped)), wrapper_schema(by_fingerprint).text)
    assert {(table, found) for table, found, _ in payloads} == {(TABLE.name, number)}
    assert java.stream(b"".join(payload for _, _, payload in payloads), schema) == expected(format, "12.2")


@pytest.mark.spark
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("format", ["avro_row_ocf", "avro_op_ocf"])
def test_java_reads_container_files_of_every_codec(java: AvroJava, format: str, codec: str, tmp_path: Path) -> None:
    described = FORMATS[format]
    framing = described.write_support.framing(BATCH.table, described.options(), Context(True, codec=codec))
    whole = messages(format, "12.2")
    blocks = [bytes(framing.frame(part)[0]) for part in (whole.slice(0, 7), whole.slice(7))]
    path = tmp_path / "orders.avro"
    path.write_bytes(framing.header + b"".join(blocks))
    assert list(java.container(path)) == expected(format, "12.2")


@pytest.mark.spark
def test_java_reads_events_of_debezium(java: AvroJava, tmp_path: Path) -> None:
    described = FORMATS["debezium_avro"]
    options, context = described.options(), Context(True)
    framing = described.write_support.framing(BATCH.table, options, context)
    made = described.write_support.formatter(BATCH.table, options, context, Clock(datetime.fromisoformat(STAMP)))
    path = tmp_path / "events.avro"
    path.write_bytes(framing.header + bytes(framing.frame(made.format(BATCH))[0]))
    found = list(java.container(path))
    assert [record["op"] for record in found] == list("cudt" * 5)
    with path.open("rb") as stream:
        assert found == [json.loads(json.dumps(record)) for record in fastavro.reader(stream)]


@pytest.mark.spark
@pytest.mark.parametrize("release", ["12.2", "12.3"])
@pytest.mark.parametrize("format", ["avro_row", "avro_op"])
def test_java_lays_schemas_out_and_numbers_them_in_the_same_way(java: AvroJava, format: str, release: str) -> None:
    schema = avro_schema(BATCH.table, AvroOptions(), Context(release=release), format == "avro_op")
    for made in (schema, wrapper_schema(False), wrapper_schema(True)):
        assert java.pretty(made.text) == made.text
        assert java.hash(made.text) == made.hash
        assert java.fingerprint(made.text) == made.fingerprint
        assert java.fingerprint(made.compact) == made.fingerprint


LOGICAL = TableDef(
    "GG.T",
    (
        Column("ID", key=1),
        Column("N", SqlType(Kind.NUMBER)),
        Column("D", SqlType(Kind.DECIMAL, precision=9, scale=3)),
        Column("AT", SqlType(Kind.TIMESTAMP)),
    ),
)
LOGICAL_OPTIONS = {
    "enableDecimalLogicalType": "true",
    "oracleNumberScale": "10",
    "enableTimestampLogicalType": "true",
    "metaColumnsTemplate": "${optype},${primarykeycolumns[keys]},${position},${alltokens}",
}
LOGICAL_CONTEXT = Context(True, release="21", timestamp_mask="yyyy-MM-dd HH:mm:ss.SSSSSS")


def logical_messages(format: str) -> tuple[AvroSchema, bytes]:
    """Two inserts and a delete with decimals and times, and their schema."""
    described = FORMATS[format]
    options = described.options.parse(LOGICAL_OPTIONS)
    assert isinstance(options, AvroOptions)
    columns = tuple(PlainColumn(column.name, column.type.kind.value, column.key) for column in LOGICAL.columns)
    after = {"ID": "1", "N": "-1234.5", "D": "17520.5", "AT": "1969-12-31 23:59:59.999999"}
    large = {"ID": "2", "N": "9" * 100, "D": "-0.001", "AT": "2013-06-02 22:14:36.123456"}
    story = [
        PlainOperation("I", "t", "1", None, after, {"R": "A"}),
        PlainOperation("I", "t", "2", None, large, {}),
        PlainOperation("D", "t", "3", {"ID": "2", "N": None}, None, {}),
    ]
    batch = make_batch(Changes(PlainTable("GG.T", columns), story, False), LOGICAL)
    clock = Clock(datetime.fromisoformat(STAMP))
    data = described.write_support.formatter(LOGICAL, options, LOGICAL_CONTEXT, clock).format(batch)
    schema = avro_schema(LOGICAL, options, LOGICAL_CONTEXT, "_op" in format)
    return schema, b"".join(non_null_values(data))


def logical_values(record: dict[str, Any]) -> Any:
    image = record.get("after") or record.get("before") or record
    return image["N"], image["D"], image["AT"]


@pytest.mark.spark
@pytest.mark.parametrize("format", ["avro_row", "avro_op"])
def test_java_knows_logical_types_and_templates(java: AvroJava, format: str) -> None:
    schema, data = logical_messages(format)
    assert java.pretty(schema.text) == schema.text
    assert java.hash(schema.text) == schema.hash
    assert java.fingerprint(schema.text) == schema.fingerprint
    assert java.logical_types(schema.text, "N") == ["decimal", 164, 10]
    assert len(java.stream(data, schema.text)) == 3


@pytest.mark.parametrize("format", ["avro_row", "avro_op"])
def test_fastavro_reads_decimals_and_times(format: str) -> None:
    schema, data = logical_messages(format)
    found = [logical_values(record) for record in decode_stream(data, schema.document)]
    assert found == [
        (Decimal("-1234.5"), Decimal("17520.5"), datetime(1969, 12, 31, 23, 59, 59, 999999, timezone.utc)),
        (Decimal("9" * 100), Decimal("-0.001"), datetime(2013, 6, 2, 22, 14, 36, 123456, timezone.utc)),
        (None, None, None),
    ]


def test_polars_reads_decimals_and_times_of_container_files(tmp_path: Path) -> None:
    table = TableDef("GG.T", (LOGICAL.columns[0], *LOGICAL.columns[2:]))
    options = FORMATS["avro_row_ocf"].options.parse({**LOGICAL_OPTIONS, "metaColumnsTemplate": "${optype}"})
    assert isinstance(options, AvroOptions)
    columns = tuple(PlainColumn(column.name, column.type.kind.value, column.key) for column in table.columns)
    after = {"ID": "1", "D": "17520.5", "AT": "2013-06-02 22:14:36.123456"}
    story = [PlainOperation("I", "t", "1", None, after, {})]
    batch = make_batch(Changes(PlainTable("GG.T", columns), story, False), table)
    clock = Clock(datetime.fromisoformat(STAMP))
    write = FORMATS["avro_row_ocf"].write_support
    framing = write.framing(table, options, LOGICAL_CONTEXT)
    data = write.formatter(table, options, LOGICAL_CONTEXT, clock).format(batch)
    (tmp_path / "t.avro").write_bytes(framing.header + bytes(framing.frame(data)[0]))
    (row,) = polars.read_avro(tmp_path / "t.avro").to_dicts()
    assert row["optype"] == "I"
    assert (row["D"], row["AT"]) == (Decimal("17520.500"), datetime(2013, 6, 2, 22, 14, 36, 123456, timezone.utc))


@pytest.mark.spark
def test_java_takes_the_names_that_ggfmt_takes(java: AvroJava) -> None:
    samples = [
        "A", "_", "9", "A9", "A_", "Ä", "名前", "A-B", "A B", "A#", "A$", "٣", "A٣", "A\u0301", "Ⅷ", "AⅧ", "A²", "ª",
        "😀",
        "𐐀",
    ]  # fmt: skip
    for name in samples:
        legal = FORMATS["avro_op"].name_problem(AvroOpOptions(), Context(), TableDef("S.T", (Column(name),))) is None
        assert legal == java.is_name(name), name


# Polars has neither maps nor types named again, which all schemas of GoldenGate have, but it knows container files.


@pytest.mark.parametrize("codec", ["null", "deflate", "snappy"])
def test_polars_reads_the_blocks_of_container_files(codec: str, tmp_path: Path) -> None:
    schema = wrapper_schema(False)
    rows = [(f"GG.T{n}", n - 100, bytes([n]) * n) for n in range(200)]
    wrapped = [
        text_bytes(name) + zigzag_varint(number) + zigzag_varint(len(data)) + data for name, number, data in rows
    ]
    framing = ObjectContainer(TableDef("GG.T"), schema.compact, codec)
    path = tmp_path / "wrapped.avro"
    array = pa.array(wrapped, pa.binary())
    path.write_bytes(
        framing.header + bytes(framing.frame(array.slice(0, 50))[0]) + bytes(framing.frame(array.slice(50))[0])
    )
    assert polars.read_avro(path).rows() == rows


def test_polars_cannot_read_the_map_of_tokens(tmp_path: Path) -> None:
    """Should this fail, it has learnt to: then let it read the messages of both formats above."""
    described = FORMATS["avro_row_ocf"]
    framing = described.write_support.framing(BATCH.table, described.options(), Context(True))
    path = tmp_path / "orders.avro"
    path.write_bytes(framing.header + bytes(framing.frame(messages("avro_row_ocf", "12.2"))[0]))
    with pytest.raises(ComputeError, match="OutOfSpec"):
        polars.read_avro(path)
    assert json.loads(schema_text("avro_row_ocf", "12.2"))["fields"][6]["type"] == {"type": "map", "values": "string"}
