"""What is compared: for each workload the sides that take turns, the first being the one that all are compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from round_trips import READ

Work = Literal["delimited", "json", "avro"]
PEERS = ("spark", "duckdb", "polars", "fastavro")
IN_TURNS = ", 200 tables in turns"  # at the end of the names of sides that read these
OWN = ("ggfmt", "reading", "command", "session")  # programs that are run whatever peers are asked for


@dataclass(frozen=True)
class Side:
    """Who does the work, and how: one of PEERS or OWN.

    `data` is that of the workload if None, and `cores` as many as asked for. `known` is whether the columns are given
    and not discovered, `kernels` that they may be used. `words` are arguments of a `command` of ggfmt's, `spark` is
    whether `ggfmt` works on Spark.
    """

    name: str
    program: str
    data: str | None = None
    cores: int | None = None
    known: bool = True
    words: tuple[str, ...] = ()
    kernels: bool = True
    spark: bool = True


@dataclass(frozen=True)
class Workload:
    """`data` is one of data.SHAPES, a format that these are written in, or a name that `store.py` knows.

    `part` is how much of the megabytes asked for is made, before it is written in another format; at most `megabytes`.
    """

    name: str
    title: str
    data: str
    work: Work
    sides: tuple[Side, ...]
    part: float = 1.0
    megabytes: int | None = None


GGFMT = Side("ggfmt", "ggfmt")
PLAIN = Side("ggfmt, no kernels", "ggfmt", kernels=False)
ONE_CORE = Side("ggfmt, one core", "ggfmt", cores=1)
BARE = Side("ggfmt, without Spark", "ggfmt", spark=False)
BARE_ONE_CORE = Side("ggfmt, without Spark, one core", "ggfmt", cores=1, spark=False)
FOUND = Side("ggfmt, columns found", "ggfmt", known=False)
ONE_TABLE = Side("ggfmt, one table", "ggfmt", data="orders")
SPARK = Side("Spark", "spark")
DUCKDB = Side("DuckDB", "duckdb")
POLARS = Side("Polars", "polars")
FASTAVRO = Side("fastavro in mapPartitions", "fastavro")
_SAMPLE = ("samples/tcustord.json", "--definitions", "samples/TCUSTORD.def", "-c", "conf/json.properties")
SAMPLE = Side("ggfmt", "command", words=_SAMPLE)
NO_SPARK = Side("ggfmt, without Spark", "command", words=(*_SAMPLE, "--master", "none"))
_TO_JSON = ("--to", "json", "--set", "gg.handler.json.format.generateSchema=false")
FILES = Side("ggfmt", "command", words=_TO_JSON)
FILES_NO_SPARK = Side("ggfmt, without Spark", "command", words=(*_TO_JSON, "--master", "none"))
SESSION = Side("PySpark, an empty job", "session")

WORKLOADS = {
    workload.name: workload
    for workload in (
        Workload(
            "delimited",
            "JSON to delimited text",
            "orders",
            "delimited",
            (
                GGFMT,
                BARE,
                BARE_ONE_CORE,
                PLAIN,
                ONE_CORE,
                FOUND,
                SPARK,
                Side("Spark, columns found", "spark", known=False),
                DUCKDB,
                POLARS,
            ),
        ),
        Workload(
            "json",
            "JSON to JSON",
            "orders",
            "json",
            (GGFMT, BARE, BARE_ONE_CORE, PLAIN, SPARK, DUCKDB, POLARS),
        ),
        Workload("avro", "JSON to Avro row OCF", "orders", "avro", (GGFMT, BARE, FASTAVRO)),
        Workload("wide", "120 columns, JSON to JSON", "wide", "json", (GGFMT, BARE, SPARK, DUCKDB, POLARS)),
        Workload("tables", "200 tables to delimited text", "tables", "delimited", (GGFMT, ONE_TABLE, SPARK, DUCKDB)),
        Workload("hostile", "Hostile JSON to JSON", "hostile", "json", (GGFMT, SPARK, DUCKDB)),
        Workload(
            "formats",
            "Each format to JSON",
            "json",
            "json",
            tuple(Side(f"from {name}", "ggfmt", data=name) for name in sorted(READ, key=lambda name: name != "json")),
            part=0.1,
        ),
        Workload(
            "reading",
            "Reading alone, one process",
            "json",
            "json",
            tuple(
                Side(title, "reading", data=name, cores=1)
                for title, name in (
                    *((name, name) for name in sorted(READ, key=lambda name: name != "json")),
                    ("dms_json", "dms_json"),
                    ("debezium_json with schemas", "envelope"),
                    (f"json{IN_TURNS}", "tables"),
                    (f"qlik_avro{IN_TURNS}", "qlik_avro of tables"),
                )
            ),
            part=0.1,
        ),
        Workload("small", "54 MB, JSON to JSON", "orders", "json", (GGFMT, SPARK, DUCKDB, POLARS), megabytes=54),
        Workload(
            "files",
            "100,000 small files, whole processes",
            "files",
            "json",
            (FILES_NO_SPARK, FILES),
            megabytes=100,
        ),
        Workload("sample", "The sample, whole processes", "", "json", (SAMPLE, NO_SPARK, SESSION)),
    )
}
