"""Changes of today merged into the rows of yesterday where they are: files in which no row changes stay as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ggfmt.consolidation.base import BaseTable
from ggfmt.consolidation.images import same_key
from ggfmt.consolidation.operations import KEYED, column_named, new_key, old_key, steps
from ggfmt.consolidation.seen import Seen
from ggfmt.frames.shapes import quoted
from ggfmt.location import Location
from ggfmt.model.table import TableDef

MAX_SMALL_FILES = 16  # of a table, before they are put together
SMALL_BYTES = 4 << 20
RANGE_BYTES = 64 << 20  # of rows in a file, where there are more

_FILE = "__file"


def touched(operations: DataFrame, seen: Seen, base: DataFrame, table: TableDef, rows: BaseTable) -> BaseTable:
    """Of the files with the rows from before (`rows`; `base` is a frame of all of them) those that have to be written
    anew: with a row whose key is that of an operation, or small ones if there are many."""
    key = table.primary_keys
    if not key or seen.truncates or not rows.files:
        return rows
    every = steps(operations, key, F.col("seq")).where(KEYED)
    names = [f"__k{place}" for place in range(len(key))]
    keys = every.select(*(new_key(place) for place in range(len(key)))).unionAll(
        every.select(*(old_key(place) for place in range(len(key))))
    )
    keys = keys.distinct().toDF(*names)
    there = base.select(*(column_named(name) for name in key), F.col("_metadata.file_name").alias(_FILE))
    same = same_key(map(quoted, key), names)
    found = {row[_FILE] for row in there.join(keys, same, "left_semi").select(_FILE).distinct().collect()}
    files = {file.name: file for file in rows.files}
    found |= _small(files)
    return replace(rows, files=tuple(path for name, path in files.items() if name in found))


def _small(files: Mapping[str, Location]) -> set[str]:
    small = set()
    for name, file in files.items():
        if int(file.info().size or 0) < SMALL_BYTES:
            small.add(name)
    return small if len(small) >= MAX_SMALL_FILES else set()


def by_key(rows: DataFrame, key: Sequence[str], size: int) -> DataFrame:
    """Rows in files by ranges of keys, so that later changes, which are often of neighbours, are in few of them."""
    columns = [column_named(name) for name in key]
    return rows.repartitionByRange(max(1, size // RANGE_BYTES), *columns).sortWithinPartitions(*columns)
