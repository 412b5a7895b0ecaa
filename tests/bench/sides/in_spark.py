"""Spark's own reader and writers, and for Avro `fastavro` in `mapPartitions`. Numbers of the former are doubles."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from told import METADATA, Told, told, work

os.environ["PYSPARK_PYTHON"] = sys.executable

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

job = told()


def structure(job: Told) -> str:
    members = (f"`{name}`: {'double' if name in job.numbers else 'string'}" for name in job.columns)
    image = f"struct<{', '.join(members)}>"
    return ", ".join([*(f"`{name}` string" for name in METADATA), f"before {image}", f"after {image}"])


def records(session: SparkSession, job: Told) -> DataFrame:
    """What is read, with its columns as GoldenGate has them."""
    reader = session.read.schema(structure(job)) if job.known else session.read
    return reader.option("mode", "DROPMALFORMED" if job.tolerant else "PERMISSIVE").json(job.source)


def fields(job: Told) -> list[Column]:
    now = F.current_timestamp().cast("string").alias("current_ts")
    return [*map(F.col, METADATA[:3]), now, F.col(METADATA[3])]


def write_text(data: DataFrame, job: Told) -> None:
    deleted = F.col("op_type") == "D"
    images = [F.when(deleted, F.col(f"before.{name}")).otherwise(F.col(f"after.{name}")) for name in job.columns]
    values = [F.coalesce(image.cast("string"), F.lit("NULL")) for image in images]
    line = F.concat_ws("|", *fields(job), *values).alias("value")
    if job.by_table:
        data.select("table", line).write.partitionBy("table").text(job.target)
    else:
        data.select(line).write.text(job.target)


def write_json(data: DataFrame, job: Told) -> None:
    data.select(*fields(job), "before", "after").write.json(job.target)


def avro_schema(job: Told) -> dict[str, Any]:
    members: list[dict[str, Any]] = [{"name": name, "type": "string"} for name in (*METADATA, "current_ts")]
    members += [
        {"name": "primary_keys", "type": {"type": "array", "items": "string"}},
        {"name": "tokens", "type": {"type": "map", "values": "string"}},
    ]
    kinds = {name: "double" if name in job.numbers else "string" for name in job.columns}
    members += [{"name": name, "type": ["null", kind]} for name, kind in kinds.items()]
    return {"type": "record", "name": "R", "fields": members}


def write_avro(session: SparkSession, job: Told) -> None:
    schema, columns, target = avro_schema(job), job.columns, job.target

    def rows(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
        for line in lines:
            operation = json.loads(line)
            image = operation["before" if operation["op_type"] == "D" else "after"]
            row = {name: operation[name] for name in METADATA}
            row["current_ts"] = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
            row |= {"primary_keys": columns, "tokens": {}}
            yield row | {name: image.get(name) for name in columns}

    def write(number: int, lines: Iterable[str]) -> Iterator[int]:
        import fastavro

        with open(f"{target}/part-{number}.avro", "wb") as out:
            fastavro.writer(out, fastavro.parse_schema(schema), rows(lines))
        yield number

    Path(target).mkdir()
    session.sparkContext.textFile(job.source).mapPartitionsWithIndex(write).collect()


session = (
    SparkSession.builder.master(f"local[{job.cores}]")
    .config("spark.ui.enabled", "false")
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.ui.showConsoleProgress", "false")
    .getOrCreate()
)
with work():
    if job.work == "avro":
        write_avro(session, job)
    else:
        (write_text if job.work == "delimited" else write_json)(records(session, job), job)
session.stop()
