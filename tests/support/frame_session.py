"""A Spark session for tests of frames, and frames of what another reader has read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from round_trips import TABLES

from ggfmt.formats.api.format import DEFAULT_SETTINGS, WriterSettings
from ggfmt.frames.batches import record_batches
from ggfmt.frames.plan import ReadPlan, Request, projection_for
from ggfmt.model.table import TableDef
from ggfmt.reading.runner import InProcess
from ggfmt.reading.scan import Scan, ScanRequest
from ggfmt.spark.session import SparkRunner, SparkSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CONF = (("spark.sql.shuffle.partitions", "2"), ("spark.sql.session.timeZone", "Asia/Kolkata"))


@contextmanager
def frame_session() -> Iterator[SparkSession]:
    """A session of another program, with a time zone that code is not likely to assume. Each task is tried twice."""
    with SparkRunner(SparkSettings("local[2,2]", _CONF)):
        from py4j import java_gateway
        from pyspark.sql import SparkSession

        plain = java_gateway.get_return_value
        try:
            yield SparkSession.builder.getOrCreate()
        finally:  # a session has errors of all Javas of this process made errors of Spark's
            java_gateway.get_return_value = plain


def planned(
    inputs: Path,
    input_format: str,
    told: WriterSettings = DEFAULT_SETTINGS,
    definitions: dict[str, TableDef] = TABLES,
    split_size: int | None = None,
    **asked: object,
) -> ReadPlan:
    """The plan of a frame whose reader has arguments that options cannot express."""
    scan_request = ScanRequest([str(inputs)], input_format, told, definitions, split_size)
    scan = Scan(scan_request, scan_request.list())
    job, splits = scan.discover(InProcess())
    return ReadPlan(job, tuple(splits.all), projection_for(Request((str(inputs),), **asked), job))  # type: ignore[arg-type]


def rows(plan: ReadPlan) -> list[dict[str, Any]]:
    """The rows of a frame, read in this process, in the order of `seq`."""
    batches = [batch for split in plan.splits for batch in record_batches(plan.job, split, plan.wanted)]
    found: list[dict[str, Any]] = pa.Table.from_batches(batches, plan.wanted.schema).to_pylist(maps_as_pydicts="strict")
    return found


def of_row(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("table", "op_type", "op_ts", "position", "tokens", "before", "after"))
