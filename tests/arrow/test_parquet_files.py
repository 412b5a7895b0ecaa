"""Parquet files without row groups, which the oldest Arrow cannot read, and batches of a size."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from ggfmt.arrow.parquet_files import read_batches, read_whole


def file_of(*tables: pa.Table) -> parquet.ParquetFile:
    """A file with a row group for each table."""
    stream = io.BytesIO()
    fields: list[pa.Field[Any]] = [pa.field("a", pa.int64()), pa.field("b", pa.string())]
    with parquet.ParquetWriter(stream, pa.schema(fields)) as writer:
        for table in tables:
            writer.write_table(table)
    return parquet.ParquetFile(io.BytesIO(stream.getvalue()))


def test_a_file_without_row_groups() -> None:
    file = file_of()
    assert file.metadata.num_row_groups == 0
    assert list(read_batches(file, 100, 100)) == []
    assert read_whole(file).schema == file.schema_arrow
    assert read_whole(file).num_rows == 0


def test_batches_have_a_size_and_the_columns_that_are_asked_for() -> None:
    table = pa.table({"a": range(1000), "b": ["x" * 50] * 1000})
    batches = list(read_batches(file_of(table, table), 1 << 20, 300, ["a"]))
    assert [batch.schema.names for batch in batches] == [["a"]] * len(batches)
    assert max(map(len, batches)) <= 300
    assert pa.Table.from_batches(batches)["a"].to_pylist() == [*range(1000)] * 2
    few = list(read_batches(file_of(table), 200, 300))
    assert len(few) > len(batches)
    assert read_whole(file_of(table, table)).num_rows == 2000
