"""Where and how tasks write the files with the rows of a table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa

from ggfmt.location import Location
from ggfmt.rows.writers import WrittenFile, write_rows


@dataclass(frozen=True)
class FileLayout:
    """The files of the rows of a table, one for each bucket of keys.

    directory  for the files of this run alone; tasks reach it
    suffix     the format, a key of `ggfmt.rows.writers.WRITERS`
    """

    directory: Location
    suffix: str

    def write(
        self, bucket: int, buckets: int, attempt: int, table: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch]
    ) -> WrittenFile:
        """Write the rows of a bucket. Raises: as `write_rows`."""
        target = self.directory.child(f"{bucket:05d}-of-{buckets:05d}-{attempt}.{self.suffix}")
        return write_rows(target, self.suffix, table, schema, batches)
