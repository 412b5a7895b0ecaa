"""The rows that a table has after its operations: `make` writes these, and each side makes rows of them.

usage: python last_rows.py make|ggfmt|cluster|run|duckdb JSON

Operations are GoldenGate's JSON in `{data}`. A side prints the number of rows and sums of them after its work, so that
all can be compared. Work begins before a side imports anything.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from order_changes import ORDER_SHAPES, make_orders
from told import work

TEXTS, NUMBERS, AMOUNTS = ("T1", "T2", "T3", "T4"), ("N1", "N2", "N3"), ("D1", "D2")
VALUES = (*TEXTS, *NUMBERS, *AMOUNTS)
ORDER_KEY, ORDER_TEXTS = "ORDER_ID", ("CUST_CODE", "ORDER_DATE", "PRODUCT_CODE")
ORDER_NUMBERS, ORDER_AMOUNTS = ("ORDER_ID", "PRODUCT_AMOUNT", "TRANSACTION_ID"), ("PRODUCT_PRICE",)


@dataclass(frozen=True)
class Layout:
    """A table of a shape: its name and key, and the columns that are summed."""

    table: str
    key: str
    texts: tuple[str, ...]
    numbers: tuple[str, ...]
    amounts: tuple[str, ...]


SMALL_SHAPES = ("tables", "changes")
ORDERS = Layout("GG.TCUSTORD", ORDER_KEY, ORDER_TEXTS, ORDER_NUMBERS, ORDER_AMOUNTS)
VALUED = Layout("S.T", "ID", TEXTS, ("ID", *NUMBERS), AMOUNTS)


def layout_of(given: dict[str, Any]) -> Layout:
    return ORDERS if given["shape"] in ORDER_SHAPES else VALUED


def make(given: dict[str, Any]) -> None:
    """Every key is inserted; then come updates, and now and then a delete with an insert right after it."""
    if given["shape"] in ORDER_SHAPES:
        make_orders(given)
        return
    if given["shape"] in SMALL_SHAPES:
        make_small(given)
        return
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as F

    spark = (
        SparkSession.builder.master(f"local[{given['cores']}]")
        .config("spark.driver.memory", given["memory"])
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", str(max(8, given["operations"] // 500_000)))
        .config("spark.local.dir", str(Path(given["target"]).parent))
        .getOrCreate()
    )
    keys, shape = given["keys"], given["shape"]
    rows = spark.range(given["operations"]).withColumnRenamed("id", "seq")
    drawn = F.pmod(F.hash("seq", F.lit(1)), F.lit(keys)).cast("bigint")
    pair = F.floor(F.col("seq") / 2) % 25 == 0  # a delete and an insert of the same key
    paired = F.pmod(F.hash(F.floor(F.col("seq") / 2), F.lit(2)), F.lit(keys)).cast("bigint")
    first = F.col("seq") < keys
    rows = rows.withColumn("key", F.when(first, F.col("seq")).when(pair, paired).otherwise(drawn))
    op = F.when(first, "I").when(pair & (F.col("seq") % 2 == 0), "D").when(pair, "I").otherwise("U")
    rows = rows.withColumn("op_type", op)
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
    lacking = F.array_compact(F.array(*(F.when(absent[name], F.lit(name)) for name in absent))).cast("array<string>")
    is_delete = F.col("op_type") == "D"
    absent_names = F.coalesce(lacking, F.array().cast("array<string>"))
    names, texts = zip(
        ("ID", F.col("key")), *((name, F.when(~null[name], value)) for name, value in values.items()), strict=True
    )
    image = F.map_from_arrays(F.array(*map(F.lit, names)), F.array(*(text.cast("string") for text in texts)))
    image = F.map_filter(image, lambda name, _: ~F.array_contains(absent_names, name))
    record = rows.select(
        F.lit("S.T").alias("table"),
        "op_type",
        F.date_format(F.timestamp_micros(F.col("seq")), "yyyy-MM-dd HH:mm:ss.SSSSSS").alias("op_ts"),
        F.format_string("%020d", "seq").alias("pos"),
        F.to_json(F.when(is_delete, F.create_map(F.lit("ID"), F.col("key").cast("string")))).alias("before"),
        F.to_json(F.when(~is_delete, image)).alias("after"),
    )
    members = [F.format_string(f'"{name}": "%s"', name) for name in ("table", "op_type", "op_ts", "pos")]
    members += [F.when(F.col(name).isNotNull(), F.format_string(f'"{name}": %s', name)) for name in ("before", "after")]
    record.select(F.concat(F.lit("{"), F.concat_ws(", ", *members), F.lit("}"))).write.text(given["data"])
    spark.stop()


def make_small(given: dict[str, Any]) -> None:
    """Write two inserts for each table, or for each definition of a table, of which every second has a column more."""
    changes = given["shape"] == "changes"
    Path(given["data"]).mkdir()
    with (Path(given["data"]) / "a.json").open("w") as file:
        for number in range(given["operations"]):
            part, row = divmod(number, 2)
            table, more = ("S.T", part % 2) if changes else (f"S.T{part:05}", 0)
            image = {"ID": f"{number}", "NAME": f"name {number}"} | ({"MORE": f"{row}"} if more else {})
            if changes and not row:
                columns = {name: {"type": "string", "null": True, "key": name == "ID"} for name in image}
                definition = {"op_type": "OBJECT_METADATA", "qual_table": table, "columns": columns}
                file.write(json.dumps(definition) + "\n")
            record = {"table": table, "op_type": "I", "op_ts": "2026-01-01 00:00:00", "pos": f"{number:020}"}
            file.write(json.dumps({**record, "after": image}) + "\n")


# The sides


def in_ggfmt(given: dict[str, Any], master: str = "none") -> None:
    layout, options = layout_of(given), dict[str, Any]()
    if layout is VALUED and given["shape"] not in SMALL_SHAPES:
        types = dict.fromkeys((f"S.T.{name}" for name in layout.numbers), "bigint")
        options["types"] = types | dict.fromkeys((f"S.T.{name}" for name in layout.amounts), "decimal(12,2)")
    if master != "none":
        options["spark_conf"] = {"spark.driver.memory": given["memory"]}
    if given["shape"].startswith("merge"):
        # The rows and the checkpoint of an earlier run.
        for name in ("target", "seen"):
            shutil.copytree(f"{given['data']}-{name}", given[name])
        options["checkpoint"] = given["seen"]
    with work():
        import ggfmt

        ggfmt.consolidate(given["data"], given["target"], key=layout.key, master=master, **options)
    if given["shape"] not in SMALL_SHAPES:
        print_sums(f"{given['target']}/{layout.table}", layout)


def print_sums(directory: str, layout: Layout) -> None:
    import pyarrow as pa
    import pyarrow.compute
    import pyarrow.dataset as ds

    rows = ds.dataset(directory, format="parquet").to_table()
    types = dict.fromkeys(layout.numbers, pa.int64()) | dict.fromkeys(layout.amounts, pa.decimal128(12, 2))
    columns: list[Any] = [rows[name].cast(type) for name, type in types.items()]
    sums = [pyarrow.compute.sum(column).as_py() for column in columns]
    lengths = [pyarrow.compute.sum(pyarrow.compute.utf8_length(rows[name])).as_py() for name in layout.texts]
    print(len(rows), *sums, *lengths, flush=True)


def in_cluster(given: dict[str, Any]) -> None:
    in_ggfmt(given, f"local[{given['cores']}]")


def in_run(given: dict[str, Any]) -> None:
    """The messages of `ggfmt run`, of the same files."""
    handlers = f"{given['target']}.properties"
    Path(handlers).write_text("gg.handlerlist=d\ngg.handler.d.format=json\n")
    command = ["ggfmt", "run", given["data"], "-c", handlers, "-o", given["target"], "--master", "none"]
    with work():
        import ggfmt.cli

        sys.argv = command
        try:
            ggfmt.cli.main()
        except SystemExit as ended:
            if ended.code:
                raise


def in_duckdb(given: dict[str, Any]) -> None:
    """Read the JSON into columns, and take the last image of a key, or the last value that a column was set to since
    the row was inserted."""
    with work():
        import duckdb

        database = duckdb.connect()
        database.execute(f"SET threads = {given['cores']}")
        layout, target = layout_of(given), Path(given["target"])
        target.mkdir()
        names = (*layout.texts, *layout.numbers, *layout.amounts)
        partial = given["shape"] == "partial"
        after = "JSON" if partial else f"STRUCT({', '.join(f'{name} VARCHAR' for name in names)})"
        columns = {"op_type": "VARCHAR", "pos": "VARCHAR", "before": f"STRUCT({layout.key} VARCHAR)", "after": after}
        described = ", ".join(f"'{name}': '{type}'" for name, type in columns.items())
        source = f"read_json('{given['data']}/[a-z]*', format = 'newline_delimited', columns = {{{described}}})"
        if not partial:
            key = f"coalesce(after.{layout.key}, before.{layout.key})"
            query = f"""SELECT unnest(r.after) FROM (
                SELECT arg_max({{'op': op_type, 'after': after}}, pos) r
                FROM {source} GROUP BY {key}) WHERE r.op <> 'D'"""
        else:
            key = f"coalesce(after->>'{layout.key}', before.{layout.key})"
            last = ", ".join(
                f"arg_max({{'v': after->>'{name}'}}, pos) FILTER (WHERE pos >= since AND json_exists(after, '$.{name}')"
                f").v AS {name}"
                for name in names
                if name != layout.key
            )
            query = f"""SELECT key AS {layout.key}, {last} FROM (
                SELECT op_type, pos, after, {key} AS key,
                       max(CASE op_type WHEN 'I' THEN pos END) OVER (PARTITION BY {key}) since
                FROM {source}) GROUP BY key HAVING arg_max(op_type, pos) <> 'D'"""
        database.execute(f"COPY ({query}) TO '{target}/part.parquet' (FORMAT parquet)")
    sums = ", ".join(
        [f"sum({name}::BIGINT)" for name in layout.numbers]
        + [f"sum({name}::DECIMAL(12,2))" for name in layout.amounts]
        + [f"sum(length({name}))" for name in layout.texts]
    )
    print(*database.execute(f"SELECT count(*), {sums} FROM read_parquet('{target}/part.parquet')").fetchall()[0])


SIDES = {
    "make": make,
    "ggfmt": in_ggfmt,
    "cluster": in_cluster,
    "run": in_run,
    "duckdb": in_duckdb,
}

if __name__ == "__main__":
    side, given = sys.argv[1:]
    SIDES[side](json.loads(given))
