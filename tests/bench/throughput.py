"""JSON to delimited text by ggfmt against Spark's own `read.json` to `write.text`, in turns, in fresh processes.

Twice each: with the columns known beforehand (`--definitions`, a schema given to Spark) and without (discovery pass,
schema inference). Prints medians of whole processes, of the time after the session was up, and the ratios. Both sides
write the same fields; Spark's side neither keeps a number's digits nor tells a missing column from a NULL.

usage: python tests/bench/throughput.py [-n RUNS] [--megabytes N] [--tables N]
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from make_data import COLUMNS
from make_data import main as make_data

HERE = Path(__file__).resolve().parent
NUMBERS = ("PRODUCT_PRICE", "PRODUCT_AMOUNT")

SPARK_JOB = """
import os, sys, time
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
from pyspark.sql import SparkSession, functions as F
spark = (SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
         .config("spark.driver.host", "127.0.0.1").config("spark.ui.showConsoleProgress", "false").getOrCreate())
started = time.perf_counter()
source, target, schema = sys.argv[1:4]
columns = sys.argv[4:]
reader = spark.read.schema(schema) if schema else spark.read
data = reader.json(source)
fields = [F.col("op_type"), F.col("table"), F.col("op_ts"), F.current_timestamp().cast("string"), F.col("pos")]
deleted = F.col("op_type") == "D"
images = [F.when(deleted, F.col("before." + c)).otherwise(F.col("after." + c)) for c in columns]
fields += [F.coalesce(image.cast("string"), F.lit("NULL")) for image in images]
data.select(F.concat_ws("|", *fields).alias("value")).write.text(target)
print("SECONDS", time.perf_counter() - started)
spark.stop()
"""


def definition_file(path: Path, tables: int) -> Path:
    """A JSON schema for each table, as ggfmt itself writes them."""
    from ggfmt.formats.api.context import Context
    from ggfmt.formats.goldengate.json import JsonOptions
    from ggfmt.formats.goldengate.json.schema import json_schema
    from ggfmt.model.table import STRING, Column, Kind, SqlType, TableDef

    path.mkdir()
    columns = tuple(Column(name, SqlType(Kind.DECIMAL) if name in NUMBERS else STRING) for name in COLUMNS)
    for number in range(tables):
        table = TableDef("GG.TCUSTORD" if tables == 1 else f"GG.TCUSTORD{number}", columns)
        (schema,) = json_schema(table, JsonOptions(), Context())
        (path / schema.name).write_bytes(schema.content)
    return path


def spark_schema() -> str:
    image = ",".join(f"{name}:{'double' if name in NUMBERS else 'string'}" for name in COLUMNS)
    return f"table string, op_type string, op_ts string, pos string, before struct<{image}>, after struct<{image}>"


def ggfmt_side(source: Path, target: Path, definitions: Path | None) -> tuple[float, float]:
    command = [sys.executable, "-m", "ggfmt", "--log-format", "json", "run", str(source), "-o", str(target)]
    command += ["--master", "local[2]", "--report", f"{target}.json"]
    command += ["--set", "gg.handler.b.format.fieldDelimiter=|", "--set", "gg.handler.b.format.encoding=UTF-8"]
    if definitions is not None:
        command += ["--definitions", str(definitions)]
    started = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    whole = time.perf_counter() - started
    return whole, json.loads(Path(f"{target}.json").read_text())["seconds_in_tasks"]


def spark_side(source: Path, target: Path, schema: str) -> tuple[float, float]:
    started = time.perf_counter()
    command = [sys.executable, "-c", SPARK_JOB, str(source), str(target), schema, *COLUMNS]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    whole = time.perf_counter() - started
    found = re.search(r"SECONDS (\S+)", done.stdout)
    assert found is not None
    return whole, float(found[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("-n", type=int, default=3, help="runs of each side")
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--tables", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        source = folder / "data.json"
        make_data(str(source), str(arguments.megabytes), str(arguments.tables))
        with source.open("rb") as stream:
            operations = sum(1 for _ in stream)
        definitions = definition_file(folder / "definitions", arguments.tables)
        print(f"{operations:,} operations, {source.stat().st_size / 1e6:,.0f} MB, {arguments.tables} tables, local[2]")
        for title, known, schema in (("columns known", definitions, spark_schema()), ("columns found", None, "")):
            times: dict[str, list[tuple[float, float]]] = {"ggfmt": [], "Spark": []}
            for _ in range(arguments.n):
                target = folder / "out"
                times["ggfmt"].append(ggfmt_side(source, target, known))
                shutil.rmtree(target)
                times["Spark"].append(spark_side(source, target, schema))
                shutil.rmtree(target)
            medians = {}
            for side, pairs in times.items():
                whole, inner = (statistics.median(values) for values in zip(*pairs, strict=True))
                medians[side] = whole, inner
                print(
                    f"{title}, {side}: whole process {whole:.1f} s, after the session was up {inner:.1f} s, "
                    f"{operations / inner / 1e3:,.0f} thousand operations/s"
                )
            ratio_whole, ratio_inner = (b / a for a, b in zip(medians["ggfmt"], medians["Spark"], strict=True))
            print(f"{title}: ggfmt is {ratio_whole:.2f} times as fast as Spark (process), {ratio_inner:.2f} (job)")


if __name__ == "__main__":
    main()
