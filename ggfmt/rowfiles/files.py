"""Files of rows as columns of Arrow: Parquet, ORC and JSON lines. Those of CSV are in `csv_files`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, BinaryIO, ClassVar, TypeAlias

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as parquet

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import numbered
from ggfmt.arrow.parquet_files import read_batches
from ggfmt.columnar.json_rows import JsonRow, json_column, read_json_rows
from ggfmt.rowfiles.deleted_rows import decode_places

BATCH_ROWS, BATCH_BYTES = 1 << 16, 16 << 20
TEXT = pa.string()
SPARK_TYPE = b"spark.sql.catalyst.type"  # an attribute of ORC columns

Arrays: TypeAlias = "list[pa.Array[Any]]"
Open: TypeAlias = "Callable[[], AbstractContextManager[BinaryIO | pa.NativeFile]]"


class ColumnError(ValueError):
    """A column that cannot be read, and why, as a sentence without a value of a database. `help`: what to do."""

    def __init__(self, column: str, reason: str, help: str | None = None) -> None:
        super().__init__(reason)
        self.column = column
        self.help = help


class RepeatedColumnError(ValueError):
    def __init__(self, column: str) -> None:
        super().__init__(f"it has two columns `{column}`")
        self.column = column


class RowFile(ABC):
    """A file with the rows of a table; `schema` has the types of the file. Methods may raise any exception for bytes
    that are not of the format. Not `named`: columns have their places as names, from `1`. `sparse`: a column may be
    absent from the file if it is NULL in all rows. Not `has_types`: all values are texts."""

    named = True
    sparse: ClassVar[bool] = False
    has_types: ClassVar[bool] = True

    def __init__(self, open: Open) -> None:
        self._open = open
        self.schema = self._schema()
        names = self.schema.names
        repeated = next((name for place, name in enumerate(names) if name in names[:place]), None)
        if repeated is not None:
            raise RepeatedColumnError(repeated)

    @abstractmethod
    def batches(self, names: Sequence[str]) -> Iterator[Arrays]:
        """Yield batches of the columns with these names."""

    @abstractmethod
    def _schema(self) -> pa.Schema: ...

    def _part(self, names: Sequence[str]) -> list[str] | None:
        """Return the columns for a library to read; None for all, as a dot in a name may mean a nested column."""
        return None if list(names) == self.schema.names else list(names)


def schema_of_texts(names: Iterable[str]) -> pa.Schema:
    return pa.schema([pa.field(name, TEXT) for name in names])


class ParquetFile(RowFile):
    """Times of 96 bits, as old releases of Spark and Hive wrote them, lose what is below a microsecond. `deleted`: rows
    to leave out, as `encode_places` gives them."""

    def __init__(self, open: Open, deleted: str = "") -> None:
        self._deleted = decode_places(deleted)
        super().__init__(open)

    def batches(self, names: Sequence[str]) -> Iterator[Arrays]:
        start = 0
        with self._open() as stream:
            for batch in read_batches(self._opened(stream), BATCH_BYTES, BATCH_ROWS, self._part(names)):
                columns = [batch.column(name) for name in names]
                if len(self._deleted):
                    places = pc.add(numbered(len(batch)), start)
                    present = pc.invert(pc.is_in(places, value_set=self._deleted))
                    columns = [column.filter(present) for column in columns]
                yield columns
                start += len(batch)

    def _schema(self) -> pa.Schema:
        with self._open() as stream:
            return self._opened(stream).schema_arrow

    def _opened(self, stream: Any) -> parquet.ParquetFile:
        return parquet.ParquetFile(stream, coerce_int96_timestamp_unit="us")


class OrcFile(RowFile):
    """Spark writes times without a zone as integers, and marks the column."""

    def batches(self, names: Sequence[str]) -> Iterator[Arrays]:
        with self._open() as stream:
            file = orc.ORCFile(stream)
            for stripe in range(file.nstripes):
                rows = self._stripe(file, stripe, names)
                columns = [rows.column(name).cast(self.schema.field(name).type) for name in names]
                for start in range(0, len(rows), BATCH_ROWS):
                    yield [column.slice(start, BATCH_ROWS) for column in columns]

    def _schema(self) -> pa.Schema:
        with self._open() as stream:
            return pa.schema([pa.field(field.name, self._type(field)) for field in orc.ORCFile(stream).schema])

    def _type(self, field: pa.Field[Any]) -> pa.DataType:
        spark_type = (field.metadata or {}).get(SPARK_TYPE)
        return pa.timestamp("us") if spark_type == b"timestamp_ntz" and field.type == pa.int64() else field.type

    def _stripe(self, file: orc.ORCFile, stripe: int, names: Sequence[str]) -> pa.RecordBatch:
        return file.read_stripe(stripe, columns=self._part(names))


class JsonFile(RowFile):
    """JSON lines: strings are texts, and so are numbers and booleans, in their own characters."""

    sparse = True
    has_types = False

    def batches(self, names: Sequence[str]) -> Iterator[Arrays]:
        for rows in self._rows():
            if rows:
                yield [self._values(rows, name) for name in names]

    def _schema(self) -> pa.Schema:
        return schema_of_texts(dict.fromkeys(name for rows in self._rows() for row in rows for name in row))

    def _values(self, rows: list[JsonRow], name: str) -> pa.StringArray:
        return json_column(rows, name).values

    def _rows(self) -> Iterator[list[JsonRow]]:
        with self._open() as stream:
            yield from read_json_rows(stream)
