"""Where and how tasks write the files with the rows of a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from ggfmt.arrow.arrays import nulls
from ggfmt.location import Location
from ggfmt.rows.writers import WrittenFile, write_rows


@dataclass(frozen=True)
class FileLayout:
    """The files of the rows of a table, one for each bucket of keys.

    directory  for the files of this run alone; tasks reach it
    suffix     the format, a key of `ggfmt.rows.writers.WRITERS`
    stored     the columns of files where they differ from those of rows
    constants  the values of columns that rows lack; others are NULL
    sort_by    the columns that order the rows of a file; those that a table lacks do not count
    """

    directory: Location
    suffix: str
    stored: pa.Schema | None = None
    constants: Mapping[str, Any] = field(default_factory=dict)
    sort_by: Sequence[str] = ()

    def write(
        self, bucket: int, buckets: int, attempt: int, table: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch]
    ) -> WrittenFile:
        """Write the rows of a bucket. Raises: as `write_rows`."""
        target = self.directory.child(f"{bucket:05d}-of-{buckets:05d}-{attempt}.{self.suffix}")
        stored = schema if self.stored is None else self.stored
        keys = [name for name in self.sort_by if name in schema.names]
        if keys:
            whole = pa.Table.from_batches(batches, schema)
            batches = whole.sort_by([(name, "ascending") for name in keys]).combine_chunks().to_batches()
        return write_rows(target, self.suffix, table, stored, (self._as_stored(batch) for batch in batches))

    def _as_stored(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if self.stored is None:
            return batch
        columns = [self._column(batch, column) for column in self.stored]
        return pa.RecordBatch.from_arrays(columns, schema=self.stored)

    def _column(self, batch: pa.RecordBatch, column: pa.Field[Any]) -> pa.Array[Any]:
        if column.name in batch.schema.names:
            found: pa.Array[Any] = batch[column.name].cast(column.type)
        elif column.name in self.constants:
            found = pa.repeat(pa.scalar(self.constants[column.name], column.type), len(batch))
        else:
            found = nulls(len(batch), column.type)
        return found
