"""Definitions travel with a frame: what is read and written again is what a run writes, in every format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from contract import contract_of
from contract.rules import known_tables
from dialects import told
from frame_rows import write_frame, writer
from frame_session import planned
from round_trips import READ, STORY, TABLES, write_as, write_story
from runs import JSON_LINES, operation, run_ggfmt, snapshot, write_lines

import ggfmt
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import WriterSettings
from ggfmt.frames.batches import record_batches
from ggfmt.frames.plan import ReadPlan
from ggfmt.frames.shapes import GENERIC, definitions_in, schema_of_user, to_spark
from ggfmt.model.table import TableDef

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OUTPUT = ("gg.handlerlist=j", *JSON_LINES, "gg.handler.j.format.includePrimaryKeys=true")
WITH_SCHEMAS = (*OUTPUT[:2], *OUTPUT[-1:])
DEFINED = ("mysqlbinlog_text",)  # of those that are only read
UNDESCRIBED = ("delimitedtext", "delimitedtext_op", "avro_row", "avro_op")  # whose data do not define their tables


def data(out: Path) -> dict[str, str]:
    return {name: digest for name, digest in snapshot(out).items() if not name.startswith("_ggfmt")}


def as_table(plan: ReadPlan) -> pa.Table:
    batches = [batch for split in plan.splits for batch in record_batches(plan.job, split, plan.wanted)]
    return pa.Table.from_batches(batches, plan.wanted.schema)


def sample(name: str, folder: Path) -> tuple[Path, WriterSettings, dict[str, TableDef]]:
    """A file of a format, the options of its reader, and the definitions that it needs."""
    if name in READ:
        files, options = write_as(write_story(folder / "in.json", STORY), name, folder / "in")
        return files, options, TABLES if name in UNDESCRIBED else {}
    contract = contract_of(name)  # of a format that ggfmt does not write
    file = folder / "in.data"
    # Messages of JSON have no NaN.
    file.write_bytes(contract.file(*(record for record in contract.records if b"NaN" not in record)))
    return file, told(name, **contract.told_of_records), known_tables(contract) if name in DEFINED else {}


@pytest.mark.parametrize("name", [name for name in FORMATS if FORMATS[name].reads])
def test_what_is_read_and_written_is_what_a_run_writes(name: str, tmp_path: Path) -> None:
    source, options, definitions = sample(name, tmp_path)
    run_ggfmt([source], tmp_path / "run", *WITH_SCHEMAS, input_format=name, source=options, definitions=definitions)
    frame = as_table(planned(source, name, options, definitions))
    write_frame(writer(frame.schema, tmp_path / "frame", WITH_SCHEMAS), [frame])
    assert data(tmp_path / "frame") == data(tmp_path / "run")
    assert len(data(tmp_path / "run")) > 1


def inserts(folder: Path, *names: str) -> Path:
    keys = {"primary_keys": ["ID"]}
    records = [{**operation(number, "GG.A"), **keys} for number in range(6)]
    for record in records:
        record["after"] = {"ID": 100, **dict.fromkeys(names, 1)}
        record.pop("before", None)
    return write_lines(folder / "in.json", records)


def written(frame: pa.Table, out: Path, keys: str = "") -> list[dict[str, Any]]:
    write_frame(writer(frame.schema, out, OUTPUT, keyColumns=keys), [frame])
    files = sorted(file for file in (out / "j").rglob("*") if file.is_file())
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def test_an_image_that_was_computed_has_texts_without_a_key(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    frame = ggfmt.scan(inserts(tmp_path)).read_all()
    kept = written(frame, tmp_path / "kept")
    assert "carries no definition" not in caplog.text
    assert {(row["after"]["ID"], *row["primary_keys"]) for row in kept} == {(100, "ID")}
    for name in ("before", "after"):
        place = frame.schema.get_field_index(name)
        plain = frame.cast(frame.schema.set(place, frame.schema.field(place).remove_metadata()))
        rows = written(plain, tmp_path / name)
        assert {(row["after"]["ID"], *row["primary_keys"]) for row in rows} == {("100",)}
        assert "the frame carries no definition of `GG.A`" in caplog.text


def test_a_frame_may_have_other_columns_than_it_carries(tmp_path: Path) -> None:
    carried = ggfmt.scan(inserts(tmp_path)).schema
    frame = ggfmt.scan(inserts(tmp_path, "MORE")).read_all().cast(carried)
    assert {(row["after"]["ID"], row["after"]["MORE"]) for row in written(frame, tmp_path / "out")} == {(100, "1")}


def test_a_key_of_the_user_wins(tmp_path: Path) -> None:
    frame = ggfmt.scan(inserts(tmp_path, "N")).read_all()
    assert written(frame, tmp_path / "out", keys="N")[0]["primary_keys"] == ["N"]


def test_structs_have_the_key_of_the_frame(tmp_path: Path) -> None:
    frame = ggfmt.scan(inserts(tmp_path), table="GG.A").read_all()
    assert written(frame, tmp_path / "out")[0]["primary_keys"] == ["ID"]


def test_the_schema_of_spark_has_the_definitions(tmp_path: Path) -> None:
    for table in (None, "GG.A"):
        schema = ggfmt.scan(inserts(tmp_path), table=table).schema
        assert [*definitions_in(schema)] == ["GG.A"]
        assert definitions_in(schema_of_user(to_spark(schema))) == definitions_in(schema)
        assert schema_of_user(to_spark(schema)) == schema
    narrowed = ggfmt.scan(inserts(tmp_path), schema="before map<string, string>, after map<string, string>").schema
    assert [*definitions_in(narrowed)] == ["GG.A"]
    assert definitions_in(GENERIC) == {}


@pytest.mark.spark
def test_frames_of_spark_keep_definitions_while_images_are_the_same(spark: SparkSession, tmp_path: Path) -> None:
    from pyspark.sql import functions

    frame = ggfmt.read(spark, inserts(tmp_path))

    def carried(of: Any) -> list[str]:
        return [*definitions_in(schema_of_user(of.schema.jsonValue()))]

    chosen = frame.filter("op_type = 'I'").select(*frame.columns).orderBy("seq")
    for of in (frame, chosen, frame.limit(2), frame.union(frame), frame.withColumn("table", functions.lit("S.T"))):
        assert carried(of) == ["GG.A"]
    assert carried(frame.withColumn("after", functions.map_filter("after", lambda name, value: name != "X"))) == []
    options = {"settings": "\n".join(OUTPUT)}
    chosen.write.format("ggfmt").mode("append").options(**options).save(str(tmp_path / "out"))
    run_ggfmt([tmp_path / "in.json"], tmp_path / "run", *OUTPUT)
    found = [json.loads(line) for line in _messages(tmp_path / "out")]
    assert [row["after"] for row in found] == [json.loads(line)["after"] for line in _messages(tmp_path / "run")]
    assert found[0]["primary_keys"] == ["ID"]


def _messages(out: Path) -> list[str]:
    files = sorted(file for file in (out / "j").rglob("*") if file.is_file())
    return [line for file in files for line in file.read_text().splitlines()]
