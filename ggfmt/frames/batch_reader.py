"""Operations as record batches of Arrow, in this process: `ggfmt.scan`."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ggfmt.commit.names import counted
from ggfmt.diagnostics.argument_names import NamesSource, arguments_named, current_names
from ggfmt.diagnostics.diagnostic import GgfmtError
from ggfmt.frames.batches import record_batches
from ggfmt.frames.plan import ReadPlan, Request, frame_error, make_plan, narrow_projection, schema_from_spark
from ggfmt.frames.shapes import DdlError, ddl, from_ddl
from ggfmt.java.text import visible
from ggfmt.reading.files import read_errors_stop
from ggfmt.reading.processes import InProcesses
from ggfmt.reading.runner import interrupts
from ggfmt.reading.splits import Split, Splits
from ggfmt.reading.tasks import RecordCounts, log_account

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


class Operations:
    """Operations of files, which are read again whenever they are asked for.

    Libraries take it as a stream of Arrow: `polars.DataFrame(it)`, `pyarrow.table(it)`, or a name in a query of DuckDB.
    """

    def __init__(self, plan: ReadPlan, shown: str) -> None:
        self._plan, self._shown, self._names = plan, shown, current_names()

    @property
    def schema(self) -> pa.Schema:
        return self._plan.wanted.schema

    def reader(self) -> pa.RecordBatchReader:
        """Return a reader of the batches, which keeps no more than some of them in memory."""
        return pa.RecordBatchReader.from_batches(self.schema, _batches(self._plan, self._names))

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return iter(self.reader())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        reader: Any = self.reader()
        return reader.__arrow_c_stream__(requested_schema)

    def read_all(self) -> pa.Table:
        try:
            return self.reader().read_all()
        except GgfmtError as error:
            raise error.with_traceback(None) from None  # as errors of the function itself

    def read_pandas(self, **options: Any) -> Any:
        """Return a frame of pandas, in which images are dictionaries. `options`: those of `pyarrow.Table.to_pandas`."""
        return self.read_all().to_pandas(**{"maps_as_pydicts": "strict", **options})

    def __repr__(self) -> str:
        files = len({part.input.index for split in self._plan.splits for part in split.ranges})
        return f"<ggfmt.Operations of {self._shown}: {counted(files, 'file')}, {visible(ddl(self.schema))}>"


def scan(request: Request, schema: str | pa.Schema | StructType | None = None) -> Operations:
    """Return the operations of a request. The inputs are listed now."""
    with ExitStack() as held:
        with InProcesses() as runner:
            plan = make_plan(request, runner, held)
        if schema is not None:
            plan = replace(plan, wanted=narrow_projection(plan.wanted, _arrow_schema(schema)))
        weakref.finalize(plan, held.pop_all().close)  # messages of topics are there for as long as the operations
    return Operations(plan, ", ".join(map(visible, request.paths)))


def _arrow_schema(schema: str | pa.Schema | StructType) -> pa.Schema:
    if isinstance(schema, pa.Schema):
        return schema
    if not isinstance(schema, str):
        return schema_from_spark(schema.jsonValue())
    try:
        return from_ddl(schema)
    except DdlError as error:
        raise frame_error(
            f"`schema` is not a list of columns: {error}", "write a list such as `seq bigint, after struct<ID: string>`"
        ) from None


def _batches(plan: ReadPlan, names: NamesSource | None) -> Iterator[pa.RecordBatch]:
    """Yield the operations file by file. An interrupt ends the batches, also if Arrow has ignored it."""
    counts = RecordCounts()
    for split in _whole_files(plan):
        batches = record_batches(plan.job, split, plan.wanted, counts)
        while True:
            try:
                with arguments_named(names), read_errors_stop(), interrupts() as came:
                    batch = next(batches, None)
                    if came:
                        raise KeyboardInterrupt
            except GgfmtError as error:
                raise error.with_traceback(None) from None  # as errors of the function itself
            if batch is None:
                break
            yield batch
    log_account(counts)


def _whole_files(plan: ReadPlan) -> tuple[Split, ...]:
    """Return a split for each file. It is read in pieces all the same, and no record of it crosses a boundary."""
    inputs = {part.input.index: part.input for split in plan.splits for part in split.ranges}
    return tuple(Splits([replace(item, whole=True) for item in inputs.values()], 1, 1).all)
