"""The places of messages in the file with the values of one partition of a topic, as an Arrow stream beside it.

A record of a value has a row, in the order of the file. The stream has no end mark, because it can grow.
"""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from functools import lru_cache

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import concatenated, int64_view, narrow

_PLACE: dict[str, pa.DataType] = dict.fromkeys(("start", "end", "offset"), pa.int64())
_KEYED = {**_PLACE, "key": pa.binary()}
_TOPIC, _PARTITION = b"topic", b"partition"


def index_schema(topic: str, partition: int, has_keys: bool) -> pa.Schema:
    """Return the schema of an index. `start` and `end` are places in the file, in bytes; `offset` is of the message.

    has_keys  there is the column `key`: the values are JSON, and one byte follows each of them
    """
    schema = pa.schema(_KEYED if has_keys else _PLACE)
    return schema.with_metadata({_TOPIC: topic.encode(), _PARTITION: b"%d" % partition})


class TopicIndex:
    """An index, mapped into memory. Rows have the columns of `index_schema`."""

    def __init__(self, path: str) -> None:
        with pa.memory_map(path) as file, pa.ipc.open_stream(file) as stream:
            self._schema = stream.schema
            self._batches = [batch for batch in stream if len(batch)]
        self._firsts: list[int] = [batch["start"][0].as_py() for batch in self._batches]

    @staticmethod
    def of(path: str | None) -> TopicIndex | None:
        """Return the index in a file, with what the file has now; None if there is no file."""
        if path is None or not os.path.isfile(path):
            return None
        return _opened(path, os.path.getsize(path))

    @property
    def has_keys(self) -> bool:
        return len(self._schema) == len(_KEYED)

    @property
    def pair(self) -> tuple[str, int]:
        """The topic, and the number of the partition."""
        metadata = self._schema.metadata
        return metadata[_TOPIC].decode(), int(metadata[_PARTITION])

    def offset_at(self, place: int) -> int | None:
        """Return the offset of the message at a place of the file; None before the first one."""
        number = bisect_right(self._firsts, place) - 1
        if number < 0:
            return None
        batch = self._batches[number]
        offset: int = batch["offset"][bisect_right(_starts(batch), place) - 1].as_py()
        return offset

    def first_from(self, place: int) -> int | None:
        """Return the start of the first record that does not start before a place; None if there is none."""
        rows = self.between(place, place + 1)
        if len(rows):
            return place
        number = max(0, bisect_right(self._firsts, place) - 1)
        for batch in self._batches[number:]:
            starts = _starts(batch)
            row = bisect_left(starts, place)
            if row < len(starts):
                return starts[row]
        return None

    def between(self, start: int, stop: int) -> pa.RecordBatch:
        """Return the rows of the records that start at `start` or after it, and before `stop`."""
        parts = []
        number = max(0, bisect_right(self._firsts, start) - 1)
        for batch in self._batches[number : bisect_left(self._firsts, stop)]:
            starts = _starts(batch)
            first = bisect_left(starts, start)
            parts.append(batch.slice(first, bisect_left(starts, stop) - first))
        return concatenated(parts, self._schema)

    def at(self, places: pa.Int64Array) -> pa.RecordBatch:
        """Return the rows of the records that start at places, which rise."""
        rows = self.between(places[0].as_py(), places[len(places) - 1].as_py() + 1)
        return rows.take(pc.index_in(places, rows["start"]))


def _starts(batch: pa.RecordBatch) -> memoryview:
    return int64_view(narrow(batch["start"], pa.Int64Array))


@lru_cache(maxsize=8)
def _opened(path: str, size: int) -> TopicIndex:
    return TopicIndex(path)
