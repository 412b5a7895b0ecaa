"""Where and how tasks write the files with the rows of a table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa

from ggfmt.arrow.arrays import nulls
from ggfmt.location import Location
from ggfmt.rows.writers import WrittenFile, write_rows


@dataclass(frozen=True)
class FileLayout:
    """The files of the rows of a table, one for each bucket of keys.

    directory  for the files of this run alone; tasks reach it
    suffix     the format, a key of `ggfmt.rows.writers.WRITERS`
    stored     the columns of files where they differ from those of rows: a column that rows lack is NULL
    """

    directory: Location
    suffix: str
    stored: pa.Schema | None = None

    def write(
        self, bucket: int, buckets: int, attempt: int, table: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch]
    ) -> WrittenFile:
        """Write the rows of a bucket. Raises: as `write_rows`."""
        target = self.directory.child(f"{bucket:05d}-of-{buckets:05d}-{attempt}.{self.suffix}")
        stored = schema if self.stored is None else self.stored
        return write_rows(target, self.suffix, table, stored, (self._as_stored(batch) for batch in batches))

    def _as_stored(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if self.stored is None:
            return batch
        names = batch.schema.names
        columns = [
            batch[field.name].cast(field.type) if field.name in names else nulls(len(batch), field.type)
            for field in self.stored
        ]
        return pa.RecordBatch.from_arrays(columns, schema=self.stored)
