"""Spark writes frames of operations through the sink of a run: in tasks that are tried again, and committed at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from frame_rows import AT, generic_rows, typed_rows
from round_trips import STORY, TABLES, Operation, handler, write_as, write_story
from runs import JSON_LINES, run_ggfmt, snapshot

from ggfmt import frames
from ggfmt.definitions import load_definitions
from ggfmt.reading.scan import ScanRequest
from ggfmt.sinks.schema import schemas, write

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

JSON = ("gg.handlerlist=j", *JSON_LINES)


@pytest.fixture(scope="module", autouse=True)
def registered(spark: SparkSession) -> None:
    frames.register(spark)


def save(frame: DataFrame, out: Path, lines: Sequence[str] = JSON, save_mode: str = "append", **options: str) -> None:
    writer = frame.write.format("ggfmt").mode(save_mode).option("settings", "\n".join(lines))
    writer = writer.option("currentTimestamp", AT)
    for name, value in options.items():
        writer = writer.option(name, value)
    writer.save(str(out))


def refused(frame: DataFrame, out: Path, **options: str) -> str:
    """What Spark says."""
    with pytest.raises(Exception, match=r"GG\d+") as raised:
        save(frame, out, **options)
    return str(raised.value)


def data(out: Path) -> dict[str, str]:
    return {name: digest for name, digest in snapshot(out).items() if not name.startswith("_ggfmt")}


def inserts(count: int) -> list[Operation]:
    return [
        Operation("I", None, {"ID": f"{n}", "NAME": f"n{n}"}, pos=f"{n:08d}", table=f"GG.T{n % 3}")
        for n in range(count)
    ]


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(generic_rows(inserts(3000))).repartition(4)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What a run makes of the same operations in a file."""
    folder = tmp_path_factory.mktemp("run")
    run_ggfmt([write_story(folder / "in.json", inserts(3000))], folder / "out", *JSON)
    return data(folder / "out")


def test_tasks_write_what_a_run_writes(frame: DataFrame, expected: dict[str, str], tmp_path: Path) -> None:
    """A task that fails is tried again, and what it wrote before is not part of the output."""
    from pyspark.sql.functions import col, udf

    @udf("string", useArrow=False)
    def torn(position: str) -> str:
        from pyspark import TaskContext

        context = TaskContext.get()
        if position == "00002500" and context is not None and context.attemptNumber() == 0:
            raise ValueError("told to fail once")
        return position

    save(frame.orderBy("seq").withColumn("position", torn(col("position"))), tmp_path / "out")
    assert data(tmp_path / "out") == expected
    assert sorted(path.name for path in (tmp_path / "out/_ggfmt").iterdir()) == ["manifest.json", "runs"]


def test_structs_are_written_with_the_types_of_their_columns(spark: SparkSession, tmp_path: Path) -> None:
    story = [item for item in STORY if item.after is None or not {"+1.50", "12.5", "0.10"} & set(item.after.values())]
    lines = handler("json", tmp_path / "dirdef", "generateSchema=false")
    run_ggfmt([write_story(tmp_path / "in.json", story)], tmp_path / "run", *lines, definitions=TABLES)
    rows = spark.createDataFrame(typed_rows(story, TABLES["GG.ORDERS"]))
    save(rows.coalesce(1), tmp_path / "frame", lines, keyColumns="ID")
    assert data(tmp_path / "frame") == data(tmp_path / "run")


@pytest.mark.parametrize("name", ["json", "debezium_json", "avro_op_ocf"])
def test_what_was_read_is_written_as_a_run_writes_it(name: str, spark: SparkSession, tmp_path: Path) -> None:
    """In the order of `seq`, whatever Spark does in between."""
    changes, _ = write_as(write_story(tmp_path / "in.json", STORY), name, tmp_path / "in")
    known = [
        str(path) for path in write(schemas(ScanRequest([], definitions=TABLES), None, "avro"), tmp_path / "known")
    ]
    lines = handler("json", tmp_path / "dirdef")
    definitions = load_definitions(known)
    run_ggfmt([changes], tmp_path / "run", *lines, input_format=name, definitions=definitions)
    rows = frames.read(spark, changes, name, definitions=known)
    save(rows.repartition(3).orderBy("seq"), tmp_path / "frame", lines, definitions=",".join(known))
    assert data(tmp_path / "frame") == data(tmp_path / "run")


def test_what_fails_leaves_the_output_byte_for_byte(frame: DataFrame, tmp_path: Path) -> None:
    from pyspark.sql.functions import col, lit, raise_error, when

    out, ordered = tmp_path / "out", frame.orderBy("seq")
    save(ordered.limit(10), out)
    before = snapshot(out)
    bad = ordered.withColumn("op_type", when(col("seq") == 2500, lit("Q")).otherwise(col("op_type")))
    error = refused(bad, out, save_mode="overwrite")
    assert "in.json, byte 250000, table GG.T1, position 00002500: error[GG304] `op_type` cannot be `Q`" in error
    failing = when(col("seq") == 2999, raise_error(lit("told to fail"))).otherwise(col("position"))
    with pytest.raises(Exception, match="told to fail"):
        save(ordered.withColumn("position", failing), out, save_mode="overwrite")
    assert snapshot(out) == before


def test_what_cannot_be_is_refused_before_tasks_start(spark: SparkSession, tmp_path: Path) -> None:
    out, few = tmp_path / "out", spark.createDataFrame(generic_rows(inserts(3))).coalesce(1)
    save(few, out)
    before = snapshot(out)
    assert "error[GG501]" in refused(few, out, mode="error")
    error = refused(few.withColumnRenamed("seq", "number"), out)
    assert "error[GG540] the frame has a column `number`" in error
    assert error.count("File ") <= 2  # places in code, which are none of a user's
    assert snapshot(out) == before


def test_the_columns_of_a_frame_of_maps_can_be_found(spark: SparkSession, tmp_path: Path) -> None:
    from ggfmt.frames.write import columns_of

    story = [
        Operation("U", {"NAME": "b"}, {"NAME": "n"}, table="GG.A"),
        Operation("D", {"ID": "1", "NAME": "n", "NOTE": None}, table="GG.A"),
        Operation("I", None, {"É": "1"}, table="GG.B"),
        Operation("T", table="GG.C"),
    ]
    frame = spark.createDataFrame(generic_rows(story)).coalesce(1)
    assert columns_of(frame) == '{"GG.A": ["ID", "NAME", "NOTE"], "GG.B": ["É"]}'
    structs = frame.where("table = 'GG.A'").selectExpr("table", "struct(after['NAME'] NAME, after['ID'] ID) after")
    assert columns_of(structs) == '{"GG.A": ["NAME", "ID"]}'
    save(frame, tmp_path / "out", columns=columns_of(frame))
    assert (tmp_path / "out/_SUCCESS").exists()
