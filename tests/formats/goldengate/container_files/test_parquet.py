"""Container files as Parquet: the layout of parquet-avro, and the values that fastavro reads from the source."""

from __future__ import annotations

import gc
import io
import json
import re
from decimal import Context
from pathlib import Path
from typing import Any

import fastavro
import pyarrow.parquet as pq
import pytest
from container_files import FORMS, Full, container, operations, records
from oracle import PlainOperation
from parquet_schema import print_schema, without_types

from ggfmt.diagnostics.diagnostic import Abend
from ggfmt.formats.avro.containers import read_header
from ggfmt.formats.goldengate.container_files import LZO, ParquetOptions
from ggfmt.formats.goldengate.container_files.parquet import write_parquet
from ggfmt.formats.goldengate.options import CODECS
from ggfmt.model.table import Column, Kind, SqlType, TableDef

LAYOUT = """\
message CAT.GG.BÜCHER {
  required binary table (UTF8);
  required binary op_type (UTF8);
  required binary pos (UTF8);
  required group primary_keys (LIST) {
    repeated binary array (UTF8);
  }
  required group tokens (MAP) {
    repeated group map (MAP_KEY_VALUE) {
      required binary key (UTF8);
      required binary value (UTF8);
    }
  }
"""
COLUMNS = """\
optional int64 ID;
required boolean ID_isMissing;
optional binary TITEL (UTF8);
required boolean TITEL_isMissing;
optional binary PREIS (DECIMAL(9,2));
required boolean PREIS_isMissing;
optional binary N (DECIMAL(38,10));
required boolean N_isMissing;
optional float MASZ;
required boolean MASZ_isMissing;
optional double GRÖSSE_名;
required boolean GRÖSSE_名_isMissing;
optional boolean DA;
required boolean DA_isMissing;
optional int64 AM (TIMESTAMP_MICROS);
required boolean AM_isMissing;
""".splitlines()


def converted(data: bytes, **options: Any) -> bytes:
    target = io.BytesIO()
    write_parquet(io.BytesIO(data), target, ParquetOptions(**options))
    return target.getvalue()


def rows(data: bytes) -> list[dict[str, Any]]:
    """The records of a Parquet file as fastavro reads those of the source."""
    read = pq.read_table(io.BytesIO(data)).to_pylist()
    return [{**row, "tokens": dict(row["tokens"])} if "tokens" in row else row for row in read]


def test_operations_have_the_layout_of_parquet_avro() -> None:
    data = converted(container("avro_op_ocf", operations(10)))
    images = "".join(
        f"  optional group {name} {{\n" + "".join(f"    {line}\n" for line in COLUMNS) + "  }\n"
        for name in ("before", "after")
    )
    assert print_schema(data) == LAYOUT + images + "}\n"


@pytest.mark.parametrize("flagged", [False, True])
def test_rows_have_the_layout_of_parquet_avro(flagged: bool) -> None:
    data = converted(container("avro_row_ocf", operations(10), includeIsMissingFields=json.dumps(flagged)))
    lines = [line for line in COLUMNS if flagged or not line.endswith("_isMissing;")]
    assert print_schema(data) == LAYOUT + "".join(f"  {line}\n" for line in lines) + "}\n"


def test_the_footer_says_what_parquet_avro_says_and_who_wrote_it() -> None:
    source = container("avro_op_ocf", operations(10))
    metadata = pq.read_metadata(io.BytesIO(converted(source)))
    assert metadata.metadata == {
        b"parquet.avro.schema": read_header(source).schema_text.encode(),
        b"writer.model.name": b"avro",
    }
    assert json.loads(metadata.metadata[b"parquet.avro.schema"]) == read_header(source).schema
    assert metadata.format_version == "1.0"
    assert metadata.created_by.startswith("ggfmt, by parquet-cpp-arrow version ")
    paths = [metadata.row_group(0).column(place).path_in_schema for place in range(metadata.num_columns)]
    assert paths[3:6] == ["primary_keys.array", "tokens.map.key", "tokens.map.value"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("codec", CODECS)
def test_values_are_those_of_the_source(form: str, codec: str) -> None:
    source, plain = (container(form, operations(500), codec=name) for name in (codec, "null"))
    assert rows(converted(source)) == records(plain)


@pytest.mark.parametrize("codec", ["UNCOMPRESSED", "GZIP", "SNAPPY"])
def test_pages_are_compressed_as_the_property_says(codec: str) -> None:
    source = container("avro_op_ocf", operations(200))
    data = converted(source, compression_codec=codec)
    metadata = pq.read_metadata(io.BytesIO(data))
    assert {metadata.row_group(0).column(place).compression for place in range(metadata.num_columns)} == {codec}
    assert rows(data) == records(source)


@pytest.mark.parametrize("dictionary", [False, True])
def test_dictionaries_are_as_the_property_says(dictionary: bool) -> None:
    source = container("avro_row_ocf", operations(200))
    data = converted(source, dictionary_encoding=dictionary)
    column = pq.read_metadata(io.BytesIO(data)).row_group(0).column(0)
    assert column.has_dictionary_page is dictionary
    assert rows(data) == records(source)


def test_a_row_group_is_full_at_its_size() -> None:
    source = container("avro_op_ocf", operations(5000), step=1000)
    one, many, least = (converted(source, row_group_size=size) for size in (128 << 20, 1 << 20, 1))
    counts = []
    for data in (one, many, least):
        metadata = pq.read_metadata(io.BytesIO(data))
        counts.append([metadata.row_group(place).num_rows for place in range(metadata.num_row_groups)])
        assert rows(data) == records(source)
    assert counts[0] == [5000]
    assert len(counts[1]) > 3
    assert 100 <= min(counts[2][:-1]) < 200


def test_pages_are_full_at_their_size() -> None:
    source = container("avro_row_ocf", operations(5000), step=1000)
    large, small = (converted(source, page_size=size, dictionary_encoding=False) for size in (1 << 20, 1000))
    assert rows(large) == rows(small) == records(source)
    assert len(small) > len(large)


def test_decimals_have_no_statistics_and_other_columns_have() -> None:
    metadata = pq.read_metadata(io.BytesIO(converted(container("avro_row_ocf", operations(50)))))
    columns = [metadata.row_group(0).column(place) for place in range(metadata.num_columns)]
    assert [column.path_in_schema for column in columns if column.statistics is None] == ["PREIS", "N"]


@pytest.mark.parametrize("form", FORMS)
def test_a_container_without_records_becomes_a_file_without_rows(form: str) -> None:
    data = converted(container(form, []))
    assert (rows(data), pq.read_metadata(io.BytesIO(data)).num_row_groups) == ([], 0)
    assert print_schema(data).startswith(LAYOUT)


def test_a_table_without_a_key_and_images_that_are_all_missing() -> None:
    table = TableDef("T", (Column("ID", SqlType(Kind.STRING)),))
    changes = [operation for operation in operations(60) if operation.op == "T"]
    source = container("avro_op_ocf", changes, table=table)
    data = converted(source)
    assert rows(data) == records(source)
    assert {(row["before"], row["after"], *row["primary_keys"]) for row in rows(data)} == {(None, None)}


def test_a_decimal_of_any_length_keeps_its_digits() -> None:
    table = TableDef("S.T", (Column("N", SqlType(Kind.NUMBER)),))
    numbers = ("9" * 126 + ".5", "-" + "9" * 126, "0", None)
    changes = [PlainOperation("I", None, None, None, {"N": number}, {}) for number in numbers]
    source = container("avro_row_ocf", changes, table=table, oracleNumberScale="10")
    data = converted(source)
    assert "optional binary N (DECIMAL(164,10));" in print_schema(data)
    assert raw_bytes(data, "N") == [unscaled(record["N"]) for record in records(source)]


def raw_bytes(data: bytes, column: str) -> list[bytes | None]:
    """The bytes of a column, whose decimals are too long for Arrow: from the file with a schema without them."""
    return pq.read_table(io.BytesIO(without_types(data)), columns=[column]).column(0).to_pylist()


def unscaled(number: Any) -> bytes | None:
    if number is None:
        return None
    whole = int(number.scaleb(10, Context(prec=200)))
    return whole.to_bytes(((whole if whole >= 0 else ~whole).bit_length() + 8) // 8, "big", signed=True)


def test_bytes_are_bytes() -> None:
    schema = {"type": "record", "name": "T", "fields": [{"name": "B", "type": ["null", "bytes"]}]}
    source = io.BytesIO()
    values = [b"", b"\0\xff", None, b"x" * 100]
    fastavro.writer(source, schema, [{"B": value} for value in values])
    data = converted(source.getvalue())
    assert print_schema(data) == "message T {\n  optional binary B;\n}\n"
    assert [row["B"] for row in rows(data)] == values


# What is refused


def test_lzo_is_refused_by_its_name() -> None:
    with pytest.raises(Abend, match=r"GG217.*cannot compress Parquet files with LZO.*GZIP, SNAPPY or UNCOMPRESSED"):
        converted(container("avro_row_ocf", []), compression_codec=LZO)


FOREIGN: list[Any] = [
    "string",
    {"type": "record", "name": "T", "fields": []},
    *(
        {"type": "record", "name": "T", "fields": [{"name": "A", "type": kind}]}
        for kind in (
            "int",
            "null",
            ["string", "null"],
            ["null", "string", "long"],
            {"type": "array", "items": ["null", "string"]},
            {"type": "array", "items": "long"},
            {"type": "map", "values": ["null", "string"]},
            ["null", {"type": "array", "items": "string"}],
            {"type": "record", "name": "R", "fields": [{"name": "A", "type": "string"}]},
            ["null", {"type": "record", "name": "R", "fields": []}],
            {"type": "int", "logicalType": "date"},
            {"type": "fixed", "name": "F", "size": 3},
            {"type": "enum", "name": "E", "symbols": ["A"]},
        )
    ),
]


@pytest.mark.parametrize("schema", FOREIGN, ids=json.dumps)
def test_a_schema_of_others_is_refused(schema: Any) -> None:
    source = io.BytesIO()
    fastavro.writer(source, schema, [])
    with pytest.raises(Abend, match="GG217"):
        converted(source.getvalue())


@pytest.mark.example("GG217")
def test_the_message_names_table_and_column() -> None:
    source = io.BytesIO()
    fields = [{"name": "A", "type": "int"}]
    fastavro.writer(source, {"type": "record", "name": "T", "namespace": "S", "fields": fields}, [])
    with pytest.raises(Abend, match=r"table S\.T, column A: .*GG217.*ggfmt cannot write a field of this type"):
        converted(source.getvalue())


@pytest.mark.parametrize("data", [b"", b"PAR1", b"Obj\x01", b"{}"])
def test_what_is_no_container_file_is_refused(data: bytes) -> None:
    with pytest.raises(Abend, match="GG313"):
        converted(data)


def test_a_container_that_is_cut_off_becomes_no_parquet_file() -> None:
    source = container("avro_op_ocf", operations(300), step=50)
    markers = list(re.finditer(re.escape(read_header(source).sync), source))
    ends = {marker.end() for marker in markers}  # a file that ends here is whole: it has fewer blocks
    for size in {*range(1, len(source), 9973), *(marker.end() - 1 for marker in markers)} - ends:
        target = io.BytesIO()
        with pytest.raises(Abend, match="GG313"):
            write_parquet(io.BytesIO(source[:size]), target, ParquetOptions(row_group_size=1000))
        gc.collect()
        assert not target.getvalue().endswith(b"PAR1") or target.getvalue() == b"PAR1"


@pytest.mark.parametrize("codec", ["null", "deflate"])
def test_damaged_blocks_are_an_error(codec: str) -> None:
    source = bytearray(container("avro_row_ocf", operations(300), step=50, codec=codec))
    size = len(read_header(bytes(source)).data)
    source[size + 3] ^= 0x80
    with pytest.raises(Abend, match=f"byte {size}: .*GG313"):
        converted(bytes(source))


def test_errors_of_source_and_target_pass(tmp_path: Path) -> None:
    source = container("avro_op_ocf", operations(300))
    size = len(converted(source))
    for room in (0, 3, 1000, size // 2, size - 1):
        target = Full(room)
        with pytest.raises(OSError, match="No space left"):
            write_parquet(io.BytesIO(source), target, ParquetOptions(row_group_size=1000))
        gc.collect()
        assert not target.getvalue().endswith(b"PAR1") or target.getvalue() == b"PAR1"
    with pytest.raises(OSError, match="read"), (tmp_path / "x").open("wb") as unreadable:
        write_parquet(unreadable, io.BytesIO(), ParquetOptions())
