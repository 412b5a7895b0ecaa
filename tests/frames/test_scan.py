"""`ggfmt.scan` gives the operations of a frame without Spark, as record batches."""

from __future__ import annotations

import gc
import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars
import pyarrow as pa
import pytest
from frame_session import planned, rows
from places import ROOT
from round_trips import STORY, TABLES, write_as, write_story
from runs import operation, write_lines

import ggfmt
from ggfmt.diagnostics.diagnostic import Abend, UsageError
from ggfmt.frames.shapes import GENERIC, DdlError, ddl, from_ddl, typed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FORMATS = ("json", "goldengate_streams_json", "xml", "avro_op_ocf", "canal_json", "debezium_json", "maxwell_json")
SCHEMA = "seq bigint, op_ts timestamp, after struct<ID: bigint, `NAME` string>"


@pytest.fixture
def story(tmp_path: Path) -> Path:
    return write_story(tmp_path / "in.json", STORY)


@pytest.mark.parametrize("name", FORMATS)
def test_the_batches_are_those_of_a_frame(name: str, story: Path, tmp_path: Path) -> None:
    folder, source = write_as(story, name, tmp_path / name)
    given: dict[str, Any] = {**source.given}
    found = ggfmt.scan(folder, None, name, **given).read_all()
    assert found.schema == GENERIC
    assert found.to_pylist(maps_as_pydicts="strict") == rows(planned(folder, name, source))
    assert len(found) > 10


@pytest.mark.spark
def test_a_frame_of_spark_has_the_same_columns_and_rows(spark: SparkSession, tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", [operation(n, "GG.A", "IUD"[n % 3]) for n in range(30)])
    for table, schema in ((None, None), ("GG.A", None), ("GG.A", "seq bigint, after struct<ID: string>")):
        frame = ggfmt.read(spark, source, table=table, ops=["I", "U"], schema=schema)
        batches = ggfmt.scan(source, table, ops=["I", "U"], schema=schema)
        assert frame.columns == batches.schema.names
        of_spark = frame.orderBy("seq").toArrow()
        assert of_spark.to_pylist() == batches.read_all().cast(of_spark.schema).to_pylist()


def test_records_are_read_as_a_whole_however_they_lie(tmp_path: Path) -> None:
    """Also without a pass over the data before, which would find records that cross a boundary of splits."""
    items = [operation(n, NOTE="n" * 90) for n in range(300)]
    source = tmp_path / "in.json"
    source.write_text("\n".join(json.dumps(item, indent=1) for item in items), encoding="utf-8")
    (definition,) = ggfmt.schema(source, kind="json")
    (tmp_path / definition.name).write_bytes(definition.content)
    batches = ggfmt.scan(source, definitions=tmp_path / definition.name, split_size=1000)
    assert batches.read_all().column("seq").to_pylist() == ggfmt.scan(source).read_all().column("seq").to_pylist()


def test_each_file_is_opened_in_its_turn(tmp_path: Path) -> None:
    for number in range(3):
        write_lines(tmp_path / f"{number}.json", [operation(number)])
    batches = ggfmt.scan(tmp_path).reader()
    assert batches.read_next_batch().num_rows == 1
    (tmp_path / "2.json").unlink()
    assert batches.read_next_batch().num_rows == 1
    with pytest.raises(Abend, match="GG310"):
        batches.read_next_batch()


def test_a_schema_chooses_columns_and_types(story: Path) -> None:
    by_text = ggfmt.scan(story, "GG.ORDERS", definitions=(), schema=SCHEMA)
    assert by_text.schema.field("after").type == pa.struct([("ID", pa.int64()), ("NAME", pa.string())])
    by_arrow = ggfmt.scan(story, "GG.ORDERS", schema=by_text.schema)
    assert by_arrow.read_all() == by_text.read_all()


def test_integers_of_different_sizes_are_numbers_of_64_bits(tmp_path: Path) -> None:
    """The definitions of one table need not agree on the size."""
    events = []
    for size, number in (("int32", 1), ("int64", 1 << 40)):
        fields = [{"type": "struct", "field": "after", "fields": [{"type": size, "field": "ID"}]}]
        payload = {"before": None, "after": {"ID": number}, "source": {"table": "T"}, "op": "c"}
        events.append({"schema": {"type": "struct", "fields": fields}, "payload": payload})
    batches = ggfmt.scan(write_lines(tmp_path / "in.json", events), "T")
    assert batches.schema.field("after").type == pa.struct([("ID", pa.int64())])
    assert batches.read_all().column("after").to_pylist() == [{"ID": 1}, {"ID": 1 << 40}]


def test_ddl_is_read_as_it_is_written() -> None:
    amounts = pa.struct([("a ` b", pa.list_(pa.decimal128(12, 2))), ("c", pa.decimal128(3, 1)), ("d", pa.string())])
    nested = pa.schema(
        [("x", amounts), ("y", pa.decimal128(9, 3)), ("z", pa.map_(pa.string(), amounts)), ("n", pa.int64())]
    )
    for schema in (GENERIC, typed(TABLES["GG.ORDERS"]), nested):
        assert from_ddl(ddl(schema)) == schema


@pytest.mark.parametrize(
    "text",
    [
        "",
        "seq",
        "seq int",
        "seq bigint seq",
        "seq bigint,",
        "a struct<ID string",
        "a map<string>",
        "a;",
        "a decimal(99,1)",
    ],
)
def test_a_text_that_is_no_schema_is_refused(text: str, story: Path) -> None:
    with pytest.raises(DdlError):
        from_ddl(text)
    with pytest.raises(UsageError, match=r"GG531.*`schema`"):
        ggfmt.scan(story, schema=text)


@pytest.mark.parametrize("schema", ["nothing string", "seq string", pa.schema([("seq", pa.int32())])])
def test_a_schema_of_other_columns_is_refused(schema: str | pa.Schema, story: Path) -> None:
    with pytest.raises(UsageError, match="GG531"):
        ggfmt.scan(story, schema=schema)


def test_pandas_and_polars_take_it(story: Path) -> None:
    assert polars.DataFrame(ggfmt.scan(story)).shape == (len(STORY), len(GENERIC))
    frame = ggfmt.scan(story, "GG.ORDERS").read_pandas()
    assert list(frame.columns) == typed(TABLES["GG.ORDERS"]).names


def test_errors_come_from_the_call_or_from_the_reader(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="GG310"):
        ggfmt.scan(tmp_path / "nothing")
    source = write_lines(tmp_path / "in.json", [operation(1), b"{broken", operation(2)])
    batches = ggfmt.scan(source)
    with pytest.raises(Abend, match="GG301") as caught:
        batches.read_all()
    assert caught.value.diagnostics[0].span.offset is not None
    batches = ggfmt.scan(write_lines(tmp_path / "in.json", [operation(1)]))
    write_lines(tmp_path / "in.json", [operation(1), operation(2)])
    with pytest.raises(Abend, match="GG310"):
        batches.read_all()


def test_operations_are_read_again_and_again(story: Path) -> None:
    operations = ggfmt.scan(story)
    first = operations.read_all()
    assert operations.read_all() == first
    assert len(polars.DataFrame(operations)) == len(pa.table(operations)) == len(first)
    assert repr(operations).startswith(f"<ggfmt.Operations of {story}: 1 file, `table` string")
    images = operations.read_pandas()["after"].dropna()
    assert all(isinstance(image, dict) for image in images) and len(images) > 5


def test_garbage_is_collected_between_batches(story: Path) -> None:
    batches = ggfmt.scan(story).reader()
    batches.read_next_batch()
    assert gc.isenabled()


def test_an_interrupt_ends_the_reading(story: Path) -> None:
    program = (
        "import os, signal, sys, threading, ggfmt\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "try:\n"
        "    while True: ggfmt.scan(sys.argv[1]).read_all()\n"
        "except KeyboardInterrupt: print('interrupted')\n"
    )
    command = [sys.executable, "-c", program, str(story)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert (done.stdout, done.stderr) == ("interrupted\n", "")


def test_no_module_has_the_name_of_a_function() -> None:
    """An import of one would put it in the place of the function."""
    assert set(ggfmt.__all__) & {path.stem for path in (ROOT / "ggfmt").iterdir()} == set()
    assert pickle.loads(pickle.dumps(ggfmt.scan)) is ggfmt.scan


@pytest.mark.parametrize("size", [-1, 0, "abc"])
def test_a_size_that_is_none_is_refused(size: Any) -> None:
    """A negative one read without an end."""
    with pytest.raises(ggfmt.UsageError, match=r"GG531.*`split_size` cannot be"):
        ggfmt.scan(ROOT / "samples" / "tcustord.json", split_size=size)


@pytest.mark.process
def test_a_size_may_be_a_text() -> None:
    assert ggfmt.scan(ROOT / "samples" / "tcustord.json", split_size="1k").read_all().num_rows == 14
