"""Row files: each format has all values of all types, and each file the digest that is reported."""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Callable, Iterator
from datetime import date, datetime, timezone
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fastavro
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as parquet
import pytest
from row_files import FAR_INSTANTS, HOSTILE, ROWS, SCHEMA, TYPES, Row, batch, same, texts, utc, write

from ggfmt import kernels
from ggfmt.columnar.orc_files import with_calendar
from ggfmt.diagnostics.diagnostic import Abend, UsageError
from ggfmt.location import Location
from ggfmt.rowfiles import writers
from ggfmt.rowfiles.formats import ROW_FORMATS
from ggfmt.rowfiles.writers import write_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WRITTEN = [name for name, format in ROW_FORMATS.items() if format.writer]


def read_orc(path: Path) -> list[Row]:
    """Times without a zone are numbers."""
    table = orc.ORCFile(path).read()
    return table.cast(pa.schema([pa.field(f.name, TYPES.get(f.name, f.type)) for f in table.schema])).to_pylist()


def read_avro(path: Path) -> list[Row]:
    with path.open("rb") as stream:
        rows: Any = list(fastavro.reader(stream))
    return list(rows)


def read_json(path: Path) -> list[Row]:
    lines = [json.loads(line, parse_float=str, parse_int=str) for line in path.read_bytes().split(b"\n")[:-1]]
    return [{name: of_json(value, name) for name, value in line.items()} for line in lines]


def of_json(value: Any, name: str) -> Any:
    """The value of a text or of the digits of a number."""
    type = TYPES.get(name, pa.string())
    if value is None or isinstance(value, bool):
        return value
    assert isinstance(value, str)
    if pa.types.is_decimal(type):
        return Decimal(value)
    if pa.types.is_floating(type):
        return pa.scalar(float(value), type).as_py()
    if pa.types.is_integer(type):
        return int(value)
    if pa.types.is_date(type):
        return date.fromisoformat(value)
    if pa.types.is_timestamp(type):
        assert value.endswith("Z") == (type.tz is not None)
        time = datetime.fromisoformat(value.removesuffix("Z"))
        return time if type.tz is None else time.replace(tzinfo=timezone.utc)
    return value


READERS: dict[str, Callable[[Path], list[Row]]] = {
    "parquet": lambda path: parquet.read_table(path).to_pylist(),
    "orc": read_orc,
    "json": read_json,
    "avro": read_avro,
}


@pytest.mark.parametrize("to", READERS)
def test_values_of_all_types_are_what_they_were(tmp_path: Path, to: str) -> None:
    written = write(tmp_path / "new" / "rows", to, batch(ROWS[:2]), batch([]), batch(ROWS[2:]))
    assert same(READERS[to](tmp_path / "new" / "rows")) == same(ROWS)
    data = (tmp_path / "new" / "rows").read_bytes()
    assert (written.rows, written.size, written.sha256) == (len(ROWS), len(data), sha256(data).hexdigest())
    assert written.location.path == str(tmp_path / "new" / "rows")


@pytest.mark.parametrize("to", sorted(READERS.keys() - {"orc"}))
def test_instants_of_all_years_are_what_they_were(tmp_path: Path, to: str) -> None:
    schema = pa.schema([("INSTANT", TYPES["INSTANT"])])
    rows = [{"INSTANT": time} for time in FAR_INSTANTS]
    write(tmp_path / "rows", to, batch(rows, schema))
    assert same(READERS[to](tmp_path / "rows")) == same(rows)


@pytest.mark.parametrize("to", READERS)
def test_hostile_texts_are_what_they_were(tmp_path: Path, to: str) -> None:
    write(tmp_path / "rows", to, texts(*HOSTILE))
    assert [row["TEXT"] for row in READERS[to](tmp_path / "rows")] == HOSTILE


@pytest.mark.parametrize("to", WRITTEN)
def test_a_file_without_rows_has_its_columns(tmp_path: Path, to: str) -> None:
    path = tmp_path / "rows"
    written = write(path, to, batch([]))
    assert (written.rows, written.size) == (0, path.stat().st_size)
    names: dict[str, Callable[[], list[str]]] = {
        "parquet": lambda: parquet.read_schema(path).names,
        "orc": lambda: orc.ORCFile(path).schema.names,
        "csv": lambda: path.read_text().strip().split(","),
        "avro": lambda: avro_names(path),
        "json": lambda: list(TYPES) if path.read_bytes() == b"" else [],
    }
    assert names[to]() == list(TYPES)


def avro_names(path: Path) -> list[str]:
    with path.open("rb") as stream:
        schema: Any = fastavro.reader(stream).writer_schema
    return [field["name"] for field in schema["fields"]]


def test_csv_is_as_rfc_4180_has_it(tmp_path: Path) -> None:
    write(tmp_path / "rows", "csv", texts(*HOSTILE[:7], None, "plain"), texts("ä"))
    assert (tmp_path / "rows").read_bytes().decode() == (
        'N,TEXT\n0,""\n1," "\n2,"a,b"\n3,"q""u""""o"\n4,"line\nfeed"\n5,"return\rhere"\n6,"\r\n"\n7,\n8,plain\n0,ä\n'
    )
    write(tmp_path / "rows", "csv", batch(ROWS[:2]))
    assert (tmp_path / "rows").read_text().split("\n")[1:] == [
        f"a,true,-32768,-2147483648,{-(2**63)},-0,NaN,0001-01-01,1700-01-01T00:00:00.000000Z,0001-01-01T00:00:00.000001,"
        f"-9999999999999999999999999999.9999999999,0.{'9' * 38},99999999999999999999,",
        "," * 13,
        "",
    ]


def test_csv_of_a_table_without_columns_has_an_empty_header(tmp_path: Path) -> None:
    write(tmp_path / "rows", "csv", batch([], pa.schema([])))
    assert (tmp_path / "rows").read_bytes() == b"\n"


def test_json_has_members_for_null_and_all_digits(tmp_path: Path) -> None:
    write(tmp_path / "rows", "json", batch(ROWS[1:3]))
    nulls, values, end = (tmp_path / "rows").read_text().split("\n")
    assert nulls == "{" + ",".join(f'"{name}":null' for name in TYPES) + "}"
    assert values == (
        '{"TEXT":"","FLAG":false,"SMALL":32767,"INT":2147483647,"LONG":9223372036854775807,"FLOAT":0.5,"DOUBLE":-0.0,'
        '"DAY":"9999-12-31","INSTANT":"2020-01-01T10:00:00.000001Z","LOCAL":"9999-12-31T23:59:59.999999",'
        f'"WIDE":0.0000000001,"FRACTION":0.{"0" * 37}1,"NUMBER":0,"NOTHING":null}}'
    )
    assert end == ""


def test_json_has_numbers_that_are_no_numbers_as_strings(tmp_path: Path) -> None:
    values = [1.0, -1.5, 1e20, 1e-7, float("nan"), float("inf"), float("-inf"), None]
    write(tmp_path / "rows", "json", pa.RecordBatch.from_arrays([pa.array(values)], ["A"]))
    found = (tmp_path / "rows").read_text()
    assert [line[5:-1] for line in found.splitlines()] == [
        "1.0", "-1.5", "1e+20", "1e-7", '"NaN"', '"Infinity"', '"-Infinity"', "null",
    ]  # fmt: skip


def test_json_escapes_as_spark_does(tmp_path: Path) -> None:
    columns = [pa.array(['a"\\\n\x01\x1f\x7fä/<\u2028'])]
    write(tmp_path / "rows", "json", pa.RecordBatch.from_arrays(columns, ['q"\n\x1f']))
    expected = '{"q\\"\\n\\u001F":"a\\"\\\\\\n\\u0001\\u001F\x7fä/<\u2028"}\n'
    assert (tmp_path / "rows").read_bytes().decode() == expected


IMAGES = [{"ID": "9", "N": None, 'q"': "\n"}, None, {}, {"ID": ""}]


@pytest.mark.parametrize("to", ["parquet", "json", "avro"])
def test_maps_of_texts_are_what_they_were(tmp_path: Path, to: str) -> None:
    maps = pa.array(
        [None if image is None else list(image.items()) for image in IMAGES], pa.map_(pa.string(), pa.string())
    )
    whole = pa.RecordBatch.from_arrays([maps], ["before"])
    write(tmp_path / "rows", to, whole, whole.slice(3), whole.slice(0, 2))
    readers: dict[str, Callable[[Path], list[Row]]] = {
        **READERS,
        "parquet": lambda path: parquet.read_table(path).to_pylist(maps_as_pydicts="strict"),
        "json": lambda path: [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]],
    }
    rows = readers[to](tmp_path / "rows")
    assert [row["before"] for row in rows] == [*IMAGES, IMAGES[3], *IMAGES[:2]]


@pytest.mark.parametrize("to", ["csv", "json"])
def test_files_are_the_same_without_kernels(tmp_path: Path, to: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [batch(ROWS), batch(ROWS).slice(2)]
    written = write(tmp_path / "with", to, *rows)
    hostile = write(tmp_path / "with2", to, texts(*HOSTILE))
    monkeypatch.setattr(kernels, "native", None)
    assert write(tmp_path / "without", to, *rows).sha256 == written.sha256
    assert write(tmp_path / "without2", to, texts(*HOSTILE)).sha256 == hostile.sha256


@pytest.mark.parametrize("to", WRITTEN)
def test_a_large_batch_is_written_in_slices(tmp_path: Path, to: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writers, "_SLICE_BYTES", 300)
    monkeypatch.setattr(writers, "_GROUP_BYTES", 1000)
    rows = texts(*map(str, range(200)))
    assert write(tmp_path / "rows", to, rows).rows == 200
    if to == "csv":
        assert (tmp_path / "rows").read_text() == "N,TEXT\n" + "".join(f"{n},{n}\n" for n in range(200))
    else:
        assert [row["TEXT"] for row in READERS[to](tmp_path / "rows")] == list(map(str, range(200)))
    if to == "parquet":
        assert parquet.ParquetFile(tmp_path / "rows").num_row_groups > 1


def test_parquet_is_for_all_readers(tmp_path: Path) -> None:
    required = pa.schema([pa.field(field.name, field.type, nullable=False) for field in SCHEMA], {b"of": b"Arrow"})
    write(tmp_path / "rows", "parquet", batch(ROWS), batch(ROWS), schema=required)
    file = parquet.ParquetFile(tmp_path / "rows")
    assert file.metadata.metadata is None
    assert file.schema_arrow == SCHEMA
    assert all(file.schema.column(index).max_definition_level == 1 for index in range(len(TYPES)))
    assert file.num_row_groups == 1  # of two batches
    assert file.metadata.row_group(0).column(0).compression == "ZSTD"
    times = {
        name: json.loads(file.schema.column(SCHEMA.names.index(name)).logical_type.to_json())
        for name in ("INSTANT", "LOCAL")
    }
    assert {(time["timeUnit"], time["isAdjustedToUTC"]) for time in times.values()} == {
        ("microseconds", True),
        ("microseconds", False),
    }


def test_orc_says_which_type_and_which_calendar_it_has(tmp_path: Path) -> None:
    write(tmp_path / "rows", "orc", batch(ROWS))
    schema = orc.ORCFile(tmp_path / "rows").schema
    assert (schema.field("LOCAL").type, schema.field("LOCAL").metadata) == (
        pa.int64(),
        {b"spark.sql.catalyst.type": b"timestamp_ntz"},
    )
    assert schema.field("INSTANT").type.tz == "UTC"
    with pytest.raises(ValueError, match="does not begin with the length of the footer"):
        with_calendar(b"no ORC file\x03")


def test_orc_has_no_fractions_before_1970(tmp_path: Path) -> None:
    schema = pa.schema([("INSTANT", TYPES["INSTANT"])])
    rows: list[Row] = [{"INSTANT": None}, {"INSTANT": utc(1969, 12, 31, 23, 59, 59)}, {"INSTANT": FAR_INSTANTS[1]}]
    write(tmp_path / "rows", "orc", batch(rows[:2], schema))
    with pytest.raises(UsageError, match=r"GG551.*`1969-12-31 23:59:59.999999` is before 1970") as raised:
        write(tmp_path / "rows", "orc", batch(rows, schema))
    assert raised.value.diagnostics[0].span.field == "INSTANT"


@pytest.mark.parametrize("to", WRITTEN)
def test_an_error_of_the_rows_is_the_only_error(tmp_path: Path, to: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Writers of Arrow are deleted after the file is closed."""

    def rows() -> Iterator[pa.RecordBatch]:
        yield texts("a")
        raise RuntimeError("no more rows")

    ignored: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)
    with pytest.raises(RuntimeError, match="no more rows"):
        write_rows(Location.of(str(tmp_path / "rows")), to, "S.T", texts("a").schema, rows())
    gc.collect()
    assert ignored == []


@pytest.mark.parametrize("to", WRITTEN)
def test_a_disk_that_is_full_is_an_error(to: str) -> None:
    with pytest.raises(OSError, match="No space left on device"):
        write(Path("/dev/full"), to, texts(*map(str, range(1000))))


def test_avro_has_no_other_names(tmp_path: Path) -> None:
    with pytest.raises(Abend, match="GG206") as raised:
        write(tmp_path / "rows", "avro", pa.RecordBatch.from_arrays([pa.array(["x"])], ["a b"]))
    place = raised.value.diagnostics[0].span
    assert (place.table, place.field) == ("S.T", "a b")


def test_batches_have_the_columns_of_the_schema(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="the batch has the columns N: int64"):
        write(tmp_path / "rows", "json", texts("a"), schema=pa.schema([("N", pa.string()), ("TEXT", pa.string())]))


@pytest.mark.spark
def test_spark_reads_the_same_values(spark: SparkSession, tmp_path: Path) -> None:
    """The time zone of the session is not UTC. Rows are compared as texts of Python, in the zone UTC."""
    far = [{**dict.fromkeys(TYPES), "INSTANT": time} for time in FAR_INSTANTS]
    ddl = (
        "TEXT string, FLAG boolean, SMALL smallint, INT int, LONG bigint, FLOAT float, DOUBLE double, DAY date, "
        "INSTANT timestamp, LOCAL timestamp_ntz, WIDE decimal(38,10), FRACTION decimal(38,38), NUMBER decimal(20,0), "
        "NOTHING string"
    )
    for to, rows in (("parquet", [*ROWS, *far]), ("json", [*ROWS, *far]), ("orc", [*ROWS, far[2]])):
        path = tmp_path / f"rows.{to}"
        write(path, to, batch(rows))
        frame = (
            spark.read.schema(ddl).format(to).load(str(path)) if to == "json" else spark.read.format(to).load(str(path))
        )
        assert frame.schema.simpleString() == spark.createDataFrame([], ddl).schema.simpleString()
        whole = frame.selectExpr(*(f"unix_micros({n}) {n}" if n == "INSTANT" else n for n in TYPES))
        found = [row.asDict() for row in whole.collect()]
        expected = [{**row, "INSTANT": micros(row["INSTANT"])} for row in rows]
        assert same(found) == same(expected), to


def micros(time: datetime | None) -> int | None:
    if time is None:
        return None
    past = time - utc(1970, 1, 1)
    return (past.days * 86_400 + past.seconds) * 1_000_000 + past.microseconds
