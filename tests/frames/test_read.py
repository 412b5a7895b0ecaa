"""Frames of operations have what the plain reader has, in every format and however files are cut."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from frame_session import of_row, planned, rows
from pyspark import cloudpickle
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from round_trips import READ, STORY, TABLES, Operation, view, write_as, write_story
from runs import metadata, operation, write_lines

from ggfmt import frames
from ggfmt.columnar.typed import typed_values
from ggfmt.diagnostics.diagnostic import Abend, UsageError
from ggfmt.formats.api.format import WriterSettings
from ggfmt.frames.batches import FrameProjection
from ggfmt.frames.plan import ReadPlan, narrow_projection, parse_request, schema_from_spark
from ggfmt.frames.shapes import GENERIC, ddl, from_spark, typed
from ggfmt.frames.source import FrameReader, sign_plan
from ggfmt.model.table import Column, Kind, SqlType, TableDef

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Told = dict[str, tuple[Path, WriterSettings]]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """The story in every format that is read, and the options of its reader."""
    folder = tmp_path_factory.mktemp("told")
    story = write_story(folder / "in.json", STORY)
    return {name: write_as(story, name, folder / name) for name in READ}


def in_order(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(found, key=lambda row: row["seq"])


def instant(text: str | None) -> datetime | None:
    if not text:
        return None
    return datetime.fromisoformat(text.replace("Z", "")).replace(tzinfo=timezone.utc)


def as_row(item: Operation) -> tuple[Any, ...]:
    return item.table, item.op, instant(item.op_ts), item.pos, item.tokens, item.before, item.after


@pytest.mark.parametrize("name", READ)
def test_a_frame_has_the_operations_of_the_plain_reader_in_order(name: str, told: Told, tmp_path: Path) -> None:
    folder, source = told[name]
    expected = [as_row(item) for item in view(folder, tmp_path, name, source)]
    whole = rows(planned(folder, name, source))
    assert [of_row(row) for row in in_order(whole)] == expected
    assert len({row["seq"] for row in whole}) == len(whole) > 10
    size = max(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    for cut in (31, size // 3, size - 1):
        assert in_order(rows(planned(folder, name, source, split_size=cut))) == in_order(whole)
    table = whole[0]["table"]
    of_table = in_order(rows(planned(folder, name, source, table=table)))
    for row, typed_row in zip(in_order(whole), of_table, strict=True):
        assert {key: row[key] for key in GENERIC.names[:8]} == {key: typed_row[key] for key in GENERIC.names[:8]}
        for image in ("before", "after"):
            if row[image] is None:
                assert typed_row[image] is None and typed_row[f"{image}_missing"] is None
            else:
                missing = [column for column in typed_row[image] if column not in row[image]]
                assert (typed_row[f"{image}_missing"] or []) == missing
                assert {key for key, value in typed_row[image].items() if value is None} == {
                    key for key in typed_row[image] if row[image].get(key) is None
                }


NAMES = ("table", "op_type", "op_ts", "position", "tokens", "before", "after")


def comparable(frame: DataFrame) -> DataFrame:
    """The frame with maps as sorted entries: Spark's set operations take no maps."""
    return frame.selectExpr("format", *(f"sort_array(map_entries({n})) {n}" if n in NAMES[4:] else n for n in NAMES))


@dataclass
class _Parts(InputPartition):
    parts: list[tuple[int, InputPartition]]


class _Several(DataSourceReader):
    """Several readers as one: Spark takes seconds to plan twenty frames, and for as many tasks."""

    def __init__(self, readers: list[FrameReader]) -> None:
        self._readers = readers

    def partitions(self) -> list[InputPartition]:
        parts = [(n, part) for n, reader in enumerate(self._readers) for part in reader.partitions()]
        return [_Parts(parts[first::2]) for first in range(2)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, _Parts)
        for number, part in partition.parts:
            yield from self._readers[number].read(part)


def source_of(plans: list[ReadPlan]) -> type[DataSource]:
    class Several(DataSource):
        @classmethod
        def name(cls) -> str:
            return "several"

        def schema(self) -> str:
            return ddl(GENERIC)

        def reader(self, schema: object) -> DataSourceReader:
            return _Several([FrameReader(plan) for plan in plans])

    return Several


@pytest.mark.spark
def test_frames_of_all_formats_are_those_of_the_plain_reader_both_ways(
    spark: SparkSession, told: Told, tmp_path: Path
) -> None:
    plans, plain = [], []
    for name, (folder, source) in told.items():
        plans.append(planned(folder, name, source, split_size=4000))
        plain += [(name, *as_row(item)) for item in view(folder, tmp_path / name, name, source)]
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]  # workers lack it
    spark.dataSource.register(source_of(plans))
    of_file = "regexp_extract(file, '/told[0-9]+/([^/]+)/h/', 1) format"
    read = comparable(spark.read.format("several").load().selectExpr(of_file, *NAMES)).cache()
    schema = "format string, " + ddl(pa.schema([GENERIC.field(name) for name in NAMES]))
    expected = comparable(spark.createDataFrame(plain, schema))
    assert read.exceptAll(expected).collect() == []
    assert expected.exceptAll(read).collect() == []
    assert read.count() == len(plain)
    assert {row["format"] for row in read.select("format").distinct().collect()} == set(READ)
    read.unpersist()


WIDE = TableDef(
    "GG.WIDE",
    (
        Column("ID", SqlType(Kind.INTEGER), key=1),
        Column("D", SqlType(Kind.DECIMAL, precision=38, scale=10)),
        Column("F", SqlType(Kind.DOUBLE)),
        Column("B", SqlType(Kind.BOOLEAN)),
        Column("`odd", SqlType(Kind.STRING)),
    ),
)


def wide(path: Path, **values: Any) -> Path:
    record = {"table": "GG.WIDE", "op_type": "I", "op_ts": "2013-06-02 22:14:36.000001", "pos": "1", "after": values}
    return write_lines(path, [record])


@pytest.mark.spark
def test_values_are_exact_and_null_is_not_missing(spark: SparkSession, tmp_path: Path) -> None:
    digits = "-1234567890123456789012345678.0123456789"
    path = tmp_path / "wide.json"
    write_lines(
        path,
        [
            {"table": "GG.WIDE", "op_type": "I", "after": {"ID": "1", "D": digits, "F": "0.1", "B": True, "`odd": "x"}},
            {"table": "GG.WIDE", "op_type": "I", "after": {"ID": "2", "D": None, "`odd": ""}},
        ],
    )
    plan = planned(path, "json", definitions={"GG.WIDE": WIDE}, table="GG.WIDE")
    frames.register(spark)
    first, second = spark.read.format("ggfmt").options(**sign_plan(plan)).load().orderBy("seq").collect()
    assert first["after"].asDict() == {"ID": 1, "D": Decimal(digits), "F": 0.1, "B": True, "`odd": "x"}
    assert (first["after_missing"], first["before"], first["before_missing"]) == (None, None, None)
    assert second["after"].asDict() == {"ID": 2, "D": None, "F": None, "B": None, "`odd": ""}
    assert second["after_missing"] == ["F", "B"]
    generic = frames.read(spark, path).orderBy("seq").collect()[1]
    assert generic["after"] == {"ID": "2", "D": None, "`odd": ""}
    assert (generic["table"], generic["op_ts"], generic["tokens"]) == ("GG.WIDE", None, {})


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (pa.decimal128(38, 0), "9" * 39),
        (pa.decimal128(10, 2), "1.005"),
        (pa.decimal128(10, 2), "1e9"),
        (pa.int64(), "9223372036854775808"),
        (pa.int64(), "0x10"),
        (pa.int64(), "1.5"),
        (pa.float64(), "1e400"),
        (pa.float32(), "1e39"),
        (pa.bool_(), "yes"),
        (pa.date32(), "2013-06-02 00:00:01"),
        (pa.date32(), "0000-00-00"),
        (pa.timestamp("us"), "2013-06-02 22:14:36.1234567"),
        (pa.timestamp("us"), "2013-06-02T22:14:36Z"),
        (pa.timestamp("us", tz="UTC"), "infinity"),
    ],
    ids=str,
)
def test_a_value_that_a_type_does_not_have_is_never_another_or_none(kind: pa.DataType, text: str) -> None:
    values, wrong = typed_values(pa.array([None, text]), kind)
    assert (wrong, values.type, len(values)) == ([1], kind, 2)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (pa.decimal128(38, 2), "9" * 36 + ".99", Decimal("9" * 36 + ".99")),
        (pa.decimal128(38, 0), "+" + "9" * 38 + ".000", Decimal("9" * 38)),
        (pa.decimal128(10, 2), "1.5e3", Decimal("1500.00")),
        (pa.int64(), "+3.00", 3),
        (pa.float64(), "-Infinity", float("-inf")),
        (pa.date32(), "1960-02-29 00:00:00.000", datetime(1960, 2, 29).date()),
        (pa.timestamp("us"), "2013-06-02:22:14:36.500000000", datetime(2013, 6, 2, 22, 14, 36, 500000)),
        (
            pa.timestamp("us", tz="UTC"),
            "2013-06-02T22:14:36.5+02:00",
            datetime(2013, 6, 2, 20, 14, 36, 500000, timezone.utc),
        ),
    ],
    ids=str,
)
def test_a_value_of_a_type_is_exact(kind: pa.DataType, text: str, value: object) -> None:
    values, wrong = typed_values(pa.array([text, None]), kind)
    assert (values.to_pylist(), wrong) == ([value, None], [])


@pytest.mark.parametrize(
    ("type", "shown"),
    [
        (SqlType(Kind.INTEGER), "bigint"),
        (SqlType(Kind.INTEGER, precision=18), "bigint"),
        (SqlType(Kind.INTEGER, precision=19), "decimal(19,0)"),
        (SqlType(Kind.DECIMAL, precision=38, scale=38), "decimal(38,38)"),
        (SqlType(Kind.DECIMAL, precision=39, scale=2), "string"),
        (SqlType(Kind.DECIMAL, precision=5, scale=-2), "decimal(7,0)"),
        (SqlType(Kind.DECIMAL, precision=2, scale=5), "decimal(5,5)"),
        (SqlType(Kind.DECIMAL, scale=2), "string"),
        (SqlType(Kind.NUMBER), "string"),
        (SqlType(Kind.DATE), "string"),
    ],
    ids=str,
)
def test_a_type_in_a_frame_has_all_values_of_the_column(type: SqlType, shown: str) -> None:
    table = TableDef("T", (Column("C", type),))
    assert ddl(typed(table)).endswith(f"`after` struct<`C`: {shown}>, `after_missing` array<string>")


@pytest.mark.spark
def test_a_given_schema_prunes_and_retypes_columns(spark: SparkSession, told: Told) -> None:
    folder, _ = told["json"]
    schema = "seq bigint, after struct<AT: timestamp, ID: bigint>, after_missing array<string>"
    frame = frames.read(spark, folder, table="GG.ORDERS", schema=schema).where("after.AT is not null").orderBy("seq")
    assert frame.columns == ["seq", "after", "after_missing"]
    assert [field.name for field in frame.schema["after"].dataType.fields] == ["AT", "ID"]  # type: ignore[attr-defined]
    utc = frame.selectExpr("unix_micros(after.AT) at", "after.ID", "after_missing").collect()
    assert [row["at"] % 1_000_000 for row in utc] == [123456, 500000]
    assert [(row["ID"], row["after_missing"]) for row in utc] == [(6, None), (7, None)]
    source = spark.read.format("ggfmt").schema("op_type string, seq bigint").load(str(folder))
    assert source.columns == ["op_type", "seq"]
    assert source.where("op_type = 'T'").count() == 1
    assert source.count() == len(STORY)


def test_kinds_of_operations_are_left_out_and_the_others_keep_their_places(told: Told) -> None:
    folder, source = told["json"]
    all_of_them = rows(planned(folder, "json", source))
    some = rows(planned(folder, "json", source, ops=frozenset("DT")))
    assert some == [row for row in all_of_them if row["op_type"] in "DT"]


def test_columns_of_a_table_are_all_that_it_has_in_the_input(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "in.json",
        [
            metadata(ID="integer", AMOUNT="integer"),
            {**operation(1), "after": {"ID": 1, "AMOUNT": 5}},
            metadata(ID="integer", AMOUNT="string", MORE="string"),
            {**operation(2), "after": {"ID": 2, "AMOUNT": "a text now", "MORE": None}},
        ],
    )
    for size in (None, 150):
        found = rows(planned(path, "json", definitions={}, table="GG.TCUSTORD", split_size=size))
        assert [row["after"] for row in found] == [
            {"ID": 1, "AMOUNT": "5", "MORE": None},
            {"ID": 2, "AMOUNT": "a text now", "MORE": None},
        ]
        assert [row["after_missing"] for row in found] == [["MORE"], None]


@pytest.mark.spark
@pytest.mark.example("GG530")
def test_what_cannot_be_read_is_an_error_with_its_place(spark: SparkSession, tmp_path: Path) -> None:
    path = wide(tmp_path / "wide.json", ID="1", D="12345678901234567890123456789")
    plan = planned(path, "json", definitions={"GG.WIDE": WIDE}, table="GG.WIDE")
    with pytest.raises(Abend, match=r"wide.json, byte 0, table GG.WIDE, column D, position 1: error\[GG530\]"):
        rows(plan)
    damaged = tmp_path / "damaged.json"
    damaged.write_bytes(path.read_bytes() + b'{"table": "GG.WIDE", "op_type": "X"}\n')
    frame = frames.read(spark, damaged)
    with pytest.raises(Exception, match=rf"damaged.json, byte {path.stat().st_size}, .*GG304"):
        frame.collect()
    other = write_lines(tmp_path / "other.json", [operation(1, "GG.UNKNOWN")])
    unsettled = planned(path, "json", definitions={"GG.WIDE": WIDE})
    inputs = planned(other, "json").splits
    with pytest.raises(Abend, match=r"error\[GG532\].*discover"):
        rows(replace(unsettled, job=replace(unsettled.job, settled=False), splits=inputs))


@pytest.mark.spark
@pytest.mark.example("GG531", "GG532")
def test_what_a_frame_is_asked_for_has_to_be_there(spark: SparkSession, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "in.json", [operation(1)])
    empty = tmp_path / "empty"
    empty.mkdir()
    for asked, code in (
        ({"inputs": empty}, "GG310"),
        ({"inputs": tmp_path / "nowhere"}, "GG310"),
        ({"inputs": path, "table": "GG.TCUSTOR"}, "GG531.*did you mean `GG.TCUSTORD`"),
        ({"inputs": path, "ops": ["X"]}, "GG531"),
        ({"inputs": path, "schema": "tabel string"}, "GG531.*did you mean `table`"),
        ({"inputs": path, "schema": "seq string"}, "GG531"),
        ({"inputs": path, "table": "GG.TCUSTORD", "schema": "after struct<ID: struct<A: string>>"}, "GG531"),
        ({"inputs": path, "schema": "after struct<ID: string>"}, "GG531.*set `table`"),
        ({"inputs": path, "primarykey": "x"}, "GG531"),
        ({"inputs": path, "input_format": "jsn"}, "GG309"),
    ):
        with pytest.raises(UsageError, match=code):
            frames.read(spark, **asked)
    (tmp_path / "nothing.json").touch()
    assert frames.read(spark, tmp_path / "nothing.json", "json").collect() == []


@pytest.mark.spark
def test_a_directory_that_changes_after_it_was_looked_at(spark: SparkSession, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.json", [operation(1)])
    frame = frames.read(spark, tmp_path)
    write_lines(tmp_path / "b.json", [operation(2)])
    assert frame.count() == 1
    assert frames.read(spark, tmp_path).count() == 2
    with path.open("ab") as more:
        more.write(path.read_bytes())
    with pytest.raises(Exception, match=r"a.json.*GG310.*changed while it was read"):
        frame.count()


@pytest.mark.spark
def test_only_a_plan_of_this_process_is_taken(spark: SparkSession, told: Told) -> None:
    folder, source = told["json"]
    frames.register(spark)
    ((name, option),) = sign_plan(planned(folder, "json", source)).items()
    forged = ("A" if option[0] != "A" else "B") + option[1:]
    with pytest.raises(Exception, match="GG531"):
        spark.read.format("ggfmt").option(name, forged).load()


def test_options_of_the_source_are_those_of_the_function(tmp_path: Path) -> None:
    options = {
        "PATH": "a",
        "splitsize": "1m",
        "DISCOVER": "True",
        "ops": "I, U",
        "definitions": "x,y",
        "primarykeys": "k",
    }
    request = parse_request(options)
    assert (request.paths, request.split_size, request.discover) == (("a",), 1 << 20, True)
    assert (request.ops, request.definitions, request.options) == (frozenset("IU"), ("x", "y"), {"primarykeys": "k"})
    for wrong in ({}, {"path": "a", "discover": "maybe"}, {"path": "a", "splitSize": "big"}):
        with pytest.raises(UsageError, match="GG531"):
            parse_request(wrong)


@pytest.mark.spark
def test_a_schema_comes_back_from_spark_as_it_was() -> None:
    from pyspark.sql.types import StructType

    for schema in (GENERIC, typed(WIDE), typed(TABLES["GG.ORDERS"])):
        told: Any = StructType.fromDDL(ddl(schema)).jsonValue()
        assert from_spark(told) == schema
        assert narrow_projection(FrameProjection(schema), schema_from_spark(told)).schema == schema


def test_the_package_is_light() -> None:
    program = "import sys, ggfmt.frames; print(*{name.partition('.')[0] for name in sys.modules})"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert set(ended.stdout.split()) & {"pyspark", "py4j", "pyarrow"} == set()
