"""Where and how tasks write the files with the rows of a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal, TypeVar

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import begins, combined, non_null_values, nulls
from ggfmt.columnar.hashes import row_codes
from ggfmt.columnar.typed import as_text
from ggfmt.dataclasses import dataclass, field, replace
from ggfmt.diagnostics.diagnostic import Span, UsageError
from ggfmt.location import Location
from ggfmt.rowfiles.writers import Partition, WrittenFile, write_rows

MAX_SMALL_FILES = 8  # of about one size: within a factor of 8
MAX_PARTITIONS = 1_000  # of a bucket: each is a file
MAX_PARTITION_CHARACTERS = 200  # readers take an empty text for NULL, and statistics have no long one

_File = TypeVar("_File")


def files_to_join(sizes: Mapping[_File, int], worn: Collection[_File] = ()) -> list[_File]:
    """Return which files become one. Those of about one size are joined once they are many, with all smaller ones: a
    row is written a few times, however many runs there are. `worn`: in any case, with all that are much smaller."""
    classes = {file: size.bit_length() // 3 for file, size in sizes.items()}
    many = [size for size, count in Counter(classes.values()).items() if count > MAX_SMALL_FILES]
    most = max([-1, *many, *(classes[file] - 1 for file in worn)])
    return [file for file, size in classes.items() if size <= most or file in worn]


@dataclass(frozen=True)
class FileLayout:
    """The files of the rows of a table, one for each bucket of keys and each partition."""

    directory: Location  # for files of this run alone; tasks reach it
    suffix: str  # the format, a key of `ROW_FORMATS`
    stored: pa.Schema | None = None  # the columns of files where they differ from those of rows
    constants: Mapping[str, Any] = field(default_factory=dict)  # the values of columns that rows lack; others are NULL
    sort_by: Sequence[str] = ()  # the columns that order the rows of a file; those that a table lacks do not count
    partition_by: Sequence[str] = ()  # columns that have one value in each file
    deletes: bool = False  # rows of present files can be marked as deleted
    start: str = ""  # of the names of files, if tables share the directory

    def write(
        self, bucket: int, buckets: int, attempt: int, table: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch]
    ) -> list[WrittenFile]:
        """Write the rows of a bucket. Raises: as `write_rows`. Raises: UsageError GG554 for a value of no partition."""
        stored = schema if self.stored is None else self.stored
        stem = f"{self.start}{bucket:05d}-of-{buckets:05d}-{attempt}"
        names = (*self.partition_by, *self.sort_by)
        keys: list[tuple[str, Literal["ascending", "descending"]]] = [
            (name, "ascending") for name in names if name in schema.names
        ]
        if not keys:
            target = self.directory.child(f"{stem}.{self.suffix}")
            return [write_rows(target, self.suffix, table, stored, map(self.as_stored, batches))]
        written = []
        rows = pa.Table.from_batches(batches, schema).sort_by(keys).combine_chunks()
        for number, (values, part) in enumerate(self._partitions(rows, table)):
            target = self.directory.child(f"{stem}{f'-{number}' if self.partition_by else ''}.{self.suffix}")
            file = write_rows(target, self.suffix, table, stored, map(self.as_stored, part.to_batches()))
            written.append(replace(file, partition=values))
        return written

    def _partitions(self, rows: pa.Table, table: str) -> Iterator[tuple[Partition, pa.Table]]:
        if not self.partition_by:
            yield (), rows
            return
        texts = [as_text(combined(rows[name])) for name in self.partition_by]
        for name, values in zip(self.partition_by, texts, strict=True):
            sizes = pc.min_max(pc.utf8_length(values))
            if sizes["min"].as_py() == 0 or (sizes["max"].as_py() or 0) > MAX_PARTITION_CHARACTERS:
                message = f"the value of a partition must be NULL or have 1 to {MAX_PARTITION_CHARACTERS} characters"
                help = "choose another column with `--partition-by`"
                raise UsageError("GG554", message, Span(table=table, field=name), help)
        starts = non_null_values(pc.indices_nonzero(begins(row_codes(texts))))
        if len(starts) > MAX_PARTITIONS:
            message = f"the rows of a bucket have more than {MAX_PARTITIONS:,} partitions"
            raise UsageError("GG554", message, Span(table=table), "choose columns with fewer values")
        for start, stop in pairwise([*starts, len(rows)]):
            shown = [column[start].as_py() for column in texts]
            yield tuple(zip(self.partition_by, shown, strict=True)), rows.slice(start, stop - start)

    def as_stored(self, batch: pa.RecordBatch) -> pa.RecordBatch:
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
