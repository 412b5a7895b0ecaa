"""Real consumers of converted container files: parquet-mr, in Spark's JVM, Spark itself, and Polars."""

from __future__ import annotations

import io
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars
import pytest
from container_files import FORMS, TABLE, container, operations, records
from parquet_schema import print_schema

from ggfmt.formats.goldengate.container_files import OrcOptions, ParquetOptions
from ggfmt.formats.goldengate.container_files.orc import write_orc
from ggfmt.formats.goldengate.container_files.parquet import write_parquet

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CHANGES = operations(300)
VECTORIZED = "spark.sql.parquet.enableVectorizedReader"
IMAGES = ("before", "after")
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def write(path: Path, form: str, **options: Any) -> list[dict[str, Any]]:
    """Write a Parquet file and an ORC file, and return the records of the container file."""
    source = container(form, CHANGES)
    with path.with_suffix(".parquet").open("wb") as target:
        write_parquet(io.BytesIO(source), target, ParquetOptions(**options))
    with path.with_suffix(".orc").open("wb") as target:
        write_orc(io.BytesIO(source), target, OrcOptions(**options))
    return records(source)


def with_micros(record: Any) -> Any:
    """The record with its times as microseconds since 1970."""
    if not isinstance(record, dict):
        return record
    times = {"AM": micros(record["AM"])} if "AM" in record else {}
    return {name: with_micros(value) for name, value in {**record, **times}.items()}


def micros(time: datetime | None) -> int | None:
    if time is None:
        return None
    since = time.replace(tzinfo=timezone.utc) - EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


@pytest.mark.parametrize("form", FORMS)
def test_polars_reads_parquet(form: str, tmp_path: Path) -> None:
    expected = write(tmp_path / "f", form)
    found = polars.read_parquet(tmp_path / "f.parquet").to_dicts()
    assert [with_micros(row) for row in found] == [with_micros(record) for record in expected]


def in_spark(spark: SparkSession, path: Path, form: str) -> list[dict[str, Any]]:
    """The rows that Spark reads, with times as microseconds: Python has no time zone for the first of all."""
    frame = spark.read.format(path.suffix[1:]).load(str(path))
    if form == "avro_row_ocf":
        frame = frame.withColumn("AM", frame["AM"].cast("timestamp"))
        frame = frame.selectExpr("* except (AM)", "unix_micros(AM) AM")
    else:
        for image in IMAGES:
            frame = frame.withColumn(image, frame[image].withField("AM", _unix_micros(frame[image]["AM"])))
    return [row.asDict(recursive=True) for row in frame.collect()]


def _unix_micros(column: Any) -> Any:
    from pyspark.sql import functions

    return functions.unix_micros(column)


@pytest.mark.spark
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_spark_reads_both(spark: SparkSession, kind: str, form: str, tmp_path: Path) -> None:
    """Its vectorized reader has no decimals of up to 18 digits in bytes, as parquet-avro writes them."""
    expected = write(tmp_path / "f", form, compression_codec="SNAPPY")
    before = spark.conf.get(VECTORIZED)
    spark.conf.set(VECTORIZED, "false")
    try:
        found = in_spark(spark, tmp_path / f"f.{kind}", form)
    finally:
        spark.conf.set(VECTORIZED, str(before))
    assert found == [with_micros(record) for record in expected]


@pytest.mark.spark
def test_sparks_vectorized_reader_reads_all_other_columns(spark: SparkSession, tmp_path: Path) -> None:
    expected = write(tmp_path / "f", "avro_row_ocf")
    names = [column.name for column in TABLE.columns if column.name not in ("PREIS", "AM")]
    frame = spark.read.parquet(str(tmp_path / "f.parquet")).select("primary_keys", "tokens", *names)
    assert [row.asDict() for row in frame.collect()] == [
        {name: record[name] for name in ("primary_keys", "tokens", *names)} for record in expected
    ]


@pytest.mark.spark
@pytest.mark.parametrize("form", FORMS)
def test_parquet_mr_reads_the_schema_and_the_footer(spark: SparkSession, form: str, tmp_path: Path) -> None:
    """Later versions print logical types in place of the converted ones of the file."""
    write(tmp_path / "f", form)
    jvm: Any = spark._jvm
    path = jvm.org.apache.hadoop.fs.Path(str(tmp_path / "f.parquet"))
    session: Any = spark
    footer = jvm.org.apache.parquet.hadoop.ParquetFileReader.readFooter(session._jsc.hadoopConfiguration(), path)
    metadata = footer.getFileMetaData()
    names = {"(UTF8)": "(STRING)", "(TIMESTAMP_MICROS)": "(TIMESTAMP(MICROS,true))"}
    printed = print_schema((tmp_path / "f.parquet").read_bytes())
    for name, later in names.items():
        printed = printed.replace(name, later)
    assert metadata.getSchema().toString() == printed
    keys = dict(metadata.getKeyValueMetaData())
    assert keys["writer.model.name"] == "avro"
    parsed = jvm.org.apache.avro.Schema.Parser().parse(keys["parquet.avro.schema"])
    assert parsed.getFullName() == metadata.getSchema().getName() == TABLE.full_name
    statistics = {
        column.getPath().toDotString(): column.getStatistics() for column in footer.getBlocks()[0].getColumns()
    }
    empty = {name for name, found in statistics.items() if found is None or found.isEmpty()}
    assert {name.rpartition(".")[2] for name in empty} == {"PREIS", "N"}
