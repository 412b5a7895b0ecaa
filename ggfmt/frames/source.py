"""The data source `ggfmt` of Spark: `spark.read.format("ggfmt")` and `frame.write.format("ggfmt")`.

Spark makes one in a process of its own, in which there is no session: tables are looked for in that process. What was
planned there goes with the frame, so that every use of it reads the same files. `ggfmt.frames.read` has tasks look for
tables, and gives its plan as an option. That is pickled, so that only what this process has signed is taken: options
may come from somebody who may write SQL, and nothing else.
"""

from __future__ import annotations

import base64
import hmac
import pickle
import secrets
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceWriter,
    InputPartition,
)

from ggfmt.frames.batches import record_batches
from ggfmt.frames.plan import Plan, frame_error, make_plan, narrowed, parse_request
from ggfmt.frames.shapes import ddl
from ggfmt.frames.stream import FrameStream
from ggfmt.scan.runner import InProcess
from ggfmt.scan.splits import Split

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType


_PLAN = "ggfmtPlan"  # the option
_SIGNATURE = "sha256"
_KEY = secrets.token_bytes(32)


def signed(plan: Plan) -> dict[str, str]:
    """The option that has a frame read what was planned here."""
    data = zlib.compress(pickle.dumps(plan))
    return {_PLAN: base64.b64encode(hmac.digest(_KEY, data, _SIGNATURE) + data).decode()}


def _opened(option: str, key: bytes) -> Plan:
    signature_and_data = base64.b64decode(option)
    size = len(hmac.digest(key, b"", _SIGNATURE))
    data = signature_and_data[size:]
    if not key or not hmac.compare_digest(signature_and_data[:size], hmac.digest(key, data, _SIGNATURE)):
        raise frame_error(f"`{_PLAN}` is not for options of your own", "read with `ggfmt.read`, or leave it away")
    plan = pickle.loads(zlib.decompress(data))
    assert isinstance(plan, Plan)
    return plan


class GgfmtSource(DataSource):
    """Reads and writes operations; `parse_request` and `WriteOptions` have its options. `key` signs plans."""

    key: ClassVar[bytes] = b""

    @classmethod
    def name(cls) -> str:
        return "ggfmt"

    @cached_property
    def _plan(self) -> Plan:
        signed = self.options.get(_PLAN)
        return make_plan(parse_request(self.options), _Planning()) if signed is None else _opened(signed, self.key)

    def schema(self) -> str:
        return ddl(self._plan.wanted.schema)

    def reader(self, schema: StructType) -> DataSourceReader:
        return FrameReader(self._narrowed(schema))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return FrameStream(parse_request(self.options), self._narrowed(schema))

    def _narrowed(self, schema: StructType) -> Plan:
        return replace(self._plan, wanted=narrowed(self._plan.wanted, schema.jsonValue()))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        from ggfmt.frames.write import frame_writer  # which loads handlers, and workers that read need none

        return frame_writer(self.options, schema, overwrite)


class _Planning(InProcess):
    """This process, for a Spark that may run many tasks at once: how many is not known here."""

    parallelism = 32


@dataclass
class ReadPartition(InputPartition):
    """What one task reads; None where there is nothing."""

    split: Split | None


class FrameReader(DataSourceReader):
    """Reads a plan. It takes no filters from Spark (`pushFilters`): Spark 4.3 keeps what one query of a frame has
    pushed for all that follow, so that they lose rows."""

    def __init__(self, plan: Plan) -> None:
        self._job = plan.job
        self._splits = plan.splits
        self._wanted = plan.wanted

    def __getstate__(self) -> dict[str, Any]:
        """What tasks are sent: each gets its split by itself."""
        return {**self.__dict__, "_splits": ()}

    def partitions(self) -> Sequence[InputPartition]:
        return [ReadPartition(split) for split in self._splits] or [ReadPartition(None)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, ReadPartition)
        return iter(()) if partition.split is None else record_batches(self._job, partition.split, self._wanted)


def source_for() -> type[DataSource]:
    """The source with the key of this process. Spark pickles it whole, as no module has it."""
    return type("KeyedSource", (GgfmtSource,), {"key": _KEY})
