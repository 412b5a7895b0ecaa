"""The data source `ggfmt` of Spark: `spark.read.format("ggfmt")` and `frame.write.format("ggfmt")`.

Spark makes a data source in a process of its own, without a session: that process discovers tables by itself. Its plan
is stored in the frame, so that every use of the frame reads the same files. `ggfmt.frames.read` discovers tables in
tasks, and passes its plan as an option. The plan is pickled, so only a plan signed by this process is accepted: options
may come from a user who may run SQL, and nothing else.
"""

from __future__ import annotations

import base64
import hmac
import pickle
import secrets
import zlib
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceWriter,
    InputPartition,
)

from ggfmt.dataclasses import dataclass, replace
from ggfmt.frames.batches import record_batches
from ggfmt.frames.plan import ReadPlan, frame_error, make_plan, narrow_projection, parse_request, schema_from_spark
from ggfmt.frames.shapes import to_spark
from ggfmt.frames.stream import FrameStream
from ggfmt.reading.runner import InProcess
from ggfmt.reading.splits import Split

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType


_PLAN = "ggfmtPlan"  # the option
_SIGNATURE = "sha256"
_KEY = secrets.token_bytes(32)


def sign_plan(plan: ReadPlan) -> dict[str, str]:
    data = zlib.compress(pickle.dumps(plan))
    return {_PLAN: base64.b64encode(hmac.digest(_KEY, data, _SIGNATURE) + data).decode()}


def _verify_plan(option: str, key: bytes) -> ReadPlan:
    signature_and_data = base64.b64decode(option)
    size = len(hmac.digest(key, b"", _SIGNATURE))
    data = signature_and_data[size:]
    if not key or not hmac.compare_digest(signature_and_data[:size], hmac.digest(key, data, _SIGNATURE)):
        raise frame_error(f"the option `{_PLAN}` is internal to ggfmt", "read with `ggfmt.read`, or remove the option")
    plan = pickle.loads(zlib.decompress(data))
    assert isinstance(plan, ReadPlan)
    return plan


class GgfmtSource(DataSource):
    """Reads and writes operations; `parse_request` and `WriteOptions` have its options. `key` signs plans."""

    key: ClassVar[bytes] = b""

    @classmethod
    def name(cls) -> str:
        return "ggfmt"

    @cached_property
    def _plan(self) -> ReadPlan:
        signed = self.options.get(_PLAN)
        return make_plan(parse_request(self.options), _Planning()) if signed is None else _verify_plan(signed, self.key)

    def schema(self) -> StructType:
        from pyspark.sql.types import StructType

        return StructType.fromJson(to_spark(self._plan.wanted.schema))

    def reader(self, schema: StructType) -> DataSourceReader:
        return FrameReader(self._narrowed(schema))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return FrameStream(parse_request(self.options), self._narrowed(schema))

    def _narrowed(self, schema: StructType) -> ReadPlan:
        return replace(self._plan, wanted=narrow_projection(self._plan.wanted, schema_from_spark(schema.jsonValue())))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        from ggfmt.frames.write import frame_writer  # it loads handlers, which workers that read do not need

        return frame_writer(self.options, schema, overwrite)


class _Planning(InProcess):
    """This process, for a Spark whose number of parallel tasks is unknown here."""

    parallelism = 32


@dataclass
class ReadPartition(InputPartition):
    split: Split | None


class FrameReader(DataSourceReader):
    """Reads a plan. It accepts no filters from Spark (`pushFilters`): Spark 4.3 keeps the filters of one query of a
    frame for all later ones, so that they lose rows."""

    def __init__(self, plan: ReadPlan) -> None:
        self._job = plan.job
        self._splits = plan.splits
        self._wanted = plan.wanted

    def __getstate__(self) -> dict[str, Any]:
        """Return the state that tasks get, without the splits: each task gets its own split."""
        return {**self.__dict__, "_splits": ()}

    def partitions(self) -> Sequence[InputPartition]:
        return [ReadPartition(split) for split in self._splits] or [ReadPartition(None)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, ReadPartition)
        return iter(()) if partition.split is None else record_batches(self._job, partition.split, self._wanted)


def source_for() -> type[DataSource]:
    """Return the source with the key of this process. Spark pickles the whole class, because no module has it."""
    return type("KeyedSource", (GgfmtSource,), {"key": _KEY})
