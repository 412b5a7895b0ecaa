"""Parquet files, read in batches. Arrow 18 cannot read a file without row groups, as one of no rows may be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyarrow import parquet


def read_batches(
    file: parquet.ParquetFile, batch_bytes: int, max_rows: int, columns: Sequence[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file in batches of about so many bytes, and at most so many rows."""
    about = file.metadata
    if not about.num_row_groups:
        return
    size = sum(about.row_group(group).total_byte_size for group in range(about.num_row_groups))
    rows = min(max(batch_bytes * about.num_rows // max(size, 1), 1), max_rows)
    yield from file.iter_batches(rows, columns=None if columns is None else list(columns))


def read_whole(file: parquet.ParquetFile) -> pa.Table:
    return file.read() if file.metadata.num_row_groups else file.schema_arrow.empty_table()
