"""The rows that a table has after its operations: `make` writes these, and each side makes rows of them.

usage: python last_rows.py make|ggfmt|cluster|spark|duckdb JSON

Operations are GoldenGate's JSON for ggfmt, and for the others Parquet in the typed shape of frames, which is less to
read.
A side prints the number of rows and sums of them after its work, so that all can be compared.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from told import work

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TEXTS, NUMBERS, AMOUNTS = ("T1", "T2", "T3", "T4"), ("N1", "N2", "N3"), ("D1", "D2")
VALUES = (*TEXTS, *NUMBERS, *AMOUNTS)
COLUMNS = ("ID", *VALUES)


def session(told: dict[str, Any]) -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    return (
        SparkSession.builder.master(f"local[{told['cores']}]")
        .config("spark.driver.memory", told["memory"])
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", str(max(8, told["operations"] // 500_000)))
        .config("spark.local.dir", str(Path(told["target"]).parent))
        .getOrCreate()
    )


# The data


def make(told: dict[str, Any]) -> None:
    """Every key is inserted; then come updates, and now and then a delete with an insert right after it. In `moves` one
    update in fifty changes the key to one that there was not."""
    from pyspark.sql import functions as F

    spark = session(told)
    keys, shape = told["keys"], told["shape"]
    rows = spark.range(told["operations"]).withColumnRenamed("id", "seq")
    drawn = F.pmod(F.hash("seq", F.lit(1)), F.lit(keys)).cast("bigint")
    pair = F.floor(F.col("seq") / 2) % 25 == 0  # a delete and an insert of the same key
    paired = F.pmod(F.hash(F.floor(F.col("seq") / 2), F.lit(2)), F.lit(keys)).cast("bigint")
    first = F.col("seq") < keys
    rows = rows.withColumn("key", F.when(first, F.col("seq")).when(pair, paired).otherwise(drawn))
    op = F.when(first, "I").when(pair & (F.col("seq") % 2 == 0), "D").when(pair, "I").otherwise("U")
    rows = rows.withColumn("op_type", op)
    if shape == "moves":  # away and back, so that updates of a key find its row
        rows = rows.withColumn("there", F.col("key") + keys)
        gone = (F.col("op_type") == "U") & (F.col("seq") % 50 == 7)
        away, back = (
            F.struct(F.col(a).alias("key"), F.col(b).alias("to")) for a, b in (("key", "there"), ("there", "key"))
        )
        both = F.array(away, back)
        steps = F.when(gone, both).otherwise(F.array(F.struct("key", F.col("key").alias("to"))))
        rows = rows.select("seq", "op_type", F.posexplode(steps).alias("n", "step"))
        rows = rows.select((F.col("seq") * 2 + F.col("n")).alias("seq"), "op_type", "step.*")
    else:
        rows = rows.withColumn("to", F.col("key"))
    values = {
        **{name: F.concat(F.lit(f"{name} "), F.hash("seq", F.lit(name)).cast("string")) for name in TEXTS},
        **{name: F.hash("seq", F.lit(name)).cast("bigint") for name in NUMBERS},
        **{name: (F.hash("seq", F.lit(name)) / 100).cast("decimal(12,2)") for name in AMOUNTS},
    }
    absent = {
        name: (F.col("op_type") == "U") & (F.pmod(F.hash("seq", F.lit(name), F.lit(3)), F.lit(4)) != 0)
        for name in (VALUES if shape != "whole" else ())
    }
    null = {name: F.pmod(F.hash("seq", F.lit(name), F.lit(4)), F.lit(10)) == 0 for name in VALUES}
    after = F.struct(
        F.col("to").alias("ID"),
        *(F.when(~absent.get(name, F.lit(False)) & ~null[name], values[name]).alias(name) for name in VALUES),
    )
    kind = (
        "struct<"
        + ", ".join(
            f"{name}: {'string' if name in TEXTS else 'bigint' if name not in AMOUNTS else 'decimal(12,2)'}"
            for name in COLUMNS
        )
        + ">"
    )
    key_alone = F.struct(F.col("key").alias("ID"), *(F.lit(None).alias(name) for name in VALUES)).cast(kind)
    lacking = F.array_compact(F.array(*(F.when(absent[name], F.lit(name)) for name in absent))).cast("array<string>")
    others = F.array(*(F.lit(name) for name in VALUES))
    has_before = (F.col("op_type") == "D") | (F.col("key") != F.col("to"))
    frame = rows.select(
        "op_type",
        F.timestamp_micros(F.col("seq")).alias("op_ts"),
        F.format_string("%020d", "seq").alias("position"),
        "seq",
        F.when(has_before, key_alone).alias("before"),
        F.when(has_before, others).alias("before_missing"),
        F.when(F.col("op_type") != "D", after).cast(kind).alias("after"),
        F.when((F.col("op_type") != "D") & (F.size(lacking) > 0), lacking).alias("after_missing"),
    )
    frame.write.parquet(told["data"])
    absent_names = F.coalesce(lacking, F.array().cast("array<string>"))
    names, texts = zip(
        ("ID", F.col("to")), *((name, F.when(~null[name], value)) for name, value in values.items()), strict=True
    )
    image = F.map_from_arrays(F.array(*map(F.lit, names)), F.array(*(text.cast("string") for text in texts)))
    image = F.map_filter(image, lambda name, _: ~F.array_contains(absent_names, name))
    record = rows.select(
        F.lit("S.T").alias("table"),
        "op_type",
        F.date_format(F.timestamp_micros(F.col("seq")), "yyyy-MM-dd HH:mm:ss.SSSSSS").alias("op_ts"),
        F.format_string("%020d", "seq").alias("pos"),
        F.to_json(F.when(has_before, F.create_map(F.lit("ID"), F.col("key").cast("string")))).alias("before"),
        F.to_json(F.when(F.col("op_type") != "D", image)).alias("after"),
    )
    members = [F.format_string(f'"{name}": "%s"', name) for name in ("table", "op_type", "op_ts", "pos")]
    members += [F.when(F.col(name).isNotNull(), F.format_string(f'"{name}": %s', name)) for name in ("before", "after")]
    record.select(F.concat(F.lit("{"), F.concat_ws(", ", *members), F.lit("}"))).write.text(f"{told['data']}-json")
    spark.stop()


# The sides


def in_ggfmt(told: dict[str, Any], master: str = "none") -> None:
    import pyarrow.compute
    import pyarrow.dataset as ds

    import ggfmt

    types = {f"S.T.{name}": "bigint" for name in ("ID", *NUMBERS)} | dict.fromkeys(
        (f"S.T.{name}" for name in AMOUNTS), "decimal(12,2)"
    )
    spark: dict[str, Any] = {} if master == "none" else {"spark_conf": {"spark.driver.memory": told["memory"]}}
    with work():
        ggfmt.consolidate(
            f"{told['data']}-json", told["target"], primary_keys="ID", types=types, master=master, **spark
        )
    rows = ds.dataset(f"{told['target']}/S.T", format="parquet").to_table()
    sums = [pyarrow.compute.sum(rows[name]).as_py() for name in ("ID", *NUMBERS, *AMOUNTS)]
    print(
        len(rows),
        *sums,
        *(pyarrow.compute.sum(pyarrow.compute.utf8_length(rows[name])).as_py() for name in TEXTS),
        flush=True,
    )


def in_cluster(told: dict[str, Any]) -> None:
    in_ggfmt(told, f"local[{told['cores']}]")


def in_spark(told: dict[str, Any]) -> None:
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    spark = session(told)
    with work():
        rows = spark.read.parquet(told["data"])
        rows = rows.withColumn("ID", F.coalesce("after.ID", "before.ID"))
        by_key = Window.partitionBy("ID").orderBy("seq")
        if told["shape"] == "whole":
            rows = rows.withColumn("n", F.row_number().over(Window.partitionBy("ID").orderBy(F.desc("seq"))))
            rows = rows.where("n = 1 and op_type <> 'D'").select("after.*")
        else:
            inserted = F.last(F.when(F.col("op_type") == "I", F.col("seq")), ignorenulls=True).over(by_key)
            rows = rows.withColumn("since", inserted)
            of_row = Window.partitionBy("ID", "since").orderBy("seq")
            for name in VALUES:
                missing = F.coalesce(F.array_contains("after_missing", name), F.lit(False))
                told_value = F.when(~missing, F.struct(F.col(f"after.{name}").alias("v")))
                rows = rows.withColumn(f"l{name}", F.last(told_value, ignorenulls=True).over(of_row))
            rows = rows.withColumn("next", F.lead("seq").over(by_key)).where("next is null and op_type <> 'D'")
            rows = rows.select("ID", *(F.col(f"l{name}.v").alias(name) for name in VALUES))
        rows.write.parquet(told["target"])
    summed(spark, told)


def summed(spark: SparkSession, told: dict[str, Any]) -> None:
    from pyspark.sql import functions as F

    rows: DataFrame = spark.read.parquet(told["target"])
    sums = [F.sum(name) for name in ("ID", *NUMBERS, *AMOUNTS)] + [F.sum(F.length(name)) for name in TEXTS]
    print(*(f"{value}" for value in rows.agg(F.count("*"), *sums).collect()[0]), flush=True)
    spark.stop()


def in_duckdb(told: dict[str, Any]) -> None:
    import duckdb  # type: ignore[import-not-found]

    database = duckdb.connect()
    database.execute(f"SET threads = {told['cores']}")
    source = f"read_parquet('{told['data']}/*.parquet')"
    target = Path(told["target"])
    target.mkdir()
    with work():
        if told["shape"] == "whole":
            query = f"""SELECT unnest(r.after) FROM (
                SELECT arg_max({{'op': op_type, 'after': after}}, seq) r
                FROM {source} GROUP BY coalesce(after.ID, before.ID)) WHERE r.op <> 'D'"""
        else:
            last = ", ".join(
                f"arg_max({{'v': after.{name}}}, seq) FILTER (WHERE seq >= since AND "
                f"NOT coalesce(list_contains(after_missing, '{name}'), false)).v AS {name}"
                for name in VALUES
            )
            query = f"""SELECT ID, {last} FROM (
                SELECT seq, op_type, after, after_missing, coalesce(after.ID, before.ID) ID,
                       max(CASE op_type WHEN 'I' THEN seq END) OVER (PARTITION BY coalesce(after.ID, before.ID)) since
                FROM {source}) GROUP BY ID HAVING arg_max(op_type, seq) <> 'D'"""
        database.execute(f"COPY ({query}) TO '{target}/part.parquet' (FORMAT parquet)")
    sums = ", ".join(
        [f"sum({name})" for name in ("ID", *NUMBERS, *AMOUNTS)] + [f"sum(length({name}))" for name in TEXTS]
    )
    print(*database.execute(f"SELECT count(*), {sums} FROM read_parquet('{target}/part.parquet')").fetchone())


if __name__ == "__main__":
    side, given = sys.argv[1:]
    {"make": make, "ggfmt": in_ggfmt, "cluster": in_cluster, "spark": in_spark, "duckdb": in_duckdb}[side](
        json.loads(given)
    )
