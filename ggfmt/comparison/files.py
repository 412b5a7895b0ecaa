"""The files of a table: their columns, and their rows as batches of stored columns."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, BinaryIO, ClassVar, TypeAlias

import fastavro
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as parquet

from ggfmt.arrow.parquet_files import read_batches
from ggfmt.columnar.json_rows import JsonLineError, JsonRow, json_column, read_json_rows
from ggfmt.comparison.kinds import STRING, UNTYPED
from ggfmt.comparison.values import ColumnError, as_json, stored, stored_type
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic, Span
from ggfmt.location import Location
from ggfmt.reading.files import COMPRESSIONS, InputFile, open_input

BATCH_ROWS, _BATCH_BYTES = 1 << 16, 16 << 20
_BLOCK_BYTES = 4 << 20

Columns = dict[str, pa.DataType]  # by name, with stored types
Arrays: TypeAlias = "list[pa.Array[Any]]"


class TableFile(ABC):
    """A file of a table. Not `named`: columns have their places as names, from `1`. `sparse`: a column may be absent
    from the file if it is NULL in all rows. Every method raises Abend GG582 for a file that cannot be read, and
    `batches` ColumnError.
    """

    named = True
    sparse: ClassVar[bool] = False

    def __init__(self, file: InputFile) -> None:
        self.file = file
        with reading(file):
            self.columns = self._columns()

    def batches(self, names: Sequence[str]) -> Iterator[Arrays]:
        """Yield batches of columns with these names, all of them in the file."""
        with reading(self.file):
            stream = open_input(self.file)
        with stream:
            batches = self._batches(stream, names)
            while True:
                with reading(self.file):
                    batch = next(batches, None)
                if batch is None:
                    return
                yield batch

    @abstractmethod
    def _columns(self) -> Columns: ...

    @abstractmethod
    def _batches(self, stream: BinaryIO, names: Sequence[str]) -> Iterator[Arrays]: ...


def distinct(columns: Iterable[tuple[str, pa.DataType]]) -> Columns:
    """Return columns by name. Raises: ValueError for a repeated name."""
    found: Columns = {}
    for name, type in columns:
        if name in found:
            raise ValueError(f"it has two columns `{name}`")
        found[name] = type
    return found


def ending_of(location: Location) -> str:
    """Return the extension of a file name without that of its compression: `csv` for `T.csv.gz`."""
    root, ending = os.path.splitext(location.path)
    return (os.path.splitext(root)[1] if ending in COMPRESSIONS else ending).lstrip(".").lower()


@contextmanager
def reading(file: InputFile) -> Iterator[None]:
    """Convert errors to Abend GG582 for the file. Readers of formats may raise any exception."""
    try:
        yield
    except (Abend, ColumnError, KeyboardInterrupt, MemoryError):
        raise
    except Exception as error:
        raise Abend(unreadable(file, getattr(error, "strerror", None) or str(error))) from None


def unreadable(file: InputFile, reason: str, help: str | None = None, offset: int | None = None) -> Diagnostic:
    first = reason.split("\n", 1)[0].strip() or "its bytes are not data of that format"
    first = first if len(first) <= 200 else first[:197] + "..."
    return Diagnostic("GG582", f"the file cannot be read: {first}", Span(file=file.shown, offset=offset), help)


class ParquetFile(TableFile):
    def _columns(self) -> Columns:
        with open_input(self.file) as stream:
            return distinct((field.name, stored_type(field.type)) for field in self._parquet(stream).schema_arrow)

    def _batches(self, stream: BinaryIO, names: Sequence[str]) -> Iterator[Arrays]:
        for batch in read_batches(self._parquet(stream), _BATCH_BYTES, BATCH_ROWS, names):
            yield [stored(batch.column(name), name) for name in names]

    def _parquet(self, stream: BinaryIO) -> parquet.ParquetFile:
        return parquet.ParquetFile(stream, coerce_int96_timestamp_unit="us")


class OrcFile(TableFile):
    """Spark writes time stamps without a zone as numbers, and marks the column."""

    def _columns(self) -> Columns:
        with open_input(self.file) as stream:
            return distinct((field.name, stored_type(_orc_type(field))) for field in orc.ORCFile(stream).schema)

    def _batches(self, stream: BinaryIO, names: Sequence[str]) -> Iterator[Arrays]:
        opened = orc.ORCFile(stream)
        types = [_orc_type(opened.schema.field(name)) for name in names]
        for stripe in range(opened.nstripes):
            batch = opened.read_stripe(stripe, columns=list(names))
            yield [stored(batch.column(name).cast(type), name) for name, type in zip(names, types, strict=True)]


def _orc_type(field: pa.Field[Any]) -> pa.DataType:
    spark_type = (field.metadata or {}).get(b"spark.sql.catalyst.type")
    return pa.timestamp("us") if spark_type == b"timestamp_ntz" and field.type == pa.int64() else field.type


class JsonFile(TableFile):
    """JSON lines: strings are texts, and so are numbers and booleans, in their own characters."""

    sparse = True

    def _columns(self) -> Columns:
        with open_input(self.file) as stream:
            names = dict.fromkeys(name for rows in self._rows(stream) for row in rows for name in row)
        return dict.fromkeys(names, UNTYPED)

    def _batches(self, stream: BinaryIO, names: Sequence[str]) -> Iterator[Arrays]:
        for rows in self._rows(stream):
            yield [json_column(rows, name).values for name in names]

    def _rows(self, stream: BinaryIO) -> Iterator[list[JsonRow]]:
        try:
            yield from read_json_rows(stream)
        except JsonLineError as error:
            raise Abend(unreadable(self.file, str(error), error.help, error.offset)) from None


class AvroFile(TableFile):
    """An Avro container of records."""

    def _columns(self) -> Columns:
        with open_input(self.file) as stream:
            return distinct((name, stored_type(type)) for name, type in self._types(fastavro.reader(stream)))

    def _batches(self, stream: BinaryIO, names: Sequence[str]) -> Iterator[Arrays]:
        reader: Any = fastavro.block_reader(stream)
        types = dict(self._types(reader))
        rows: list[Any] = []
        size = 0
        for block in reader:
            rows += block
            size += block.bytes_.getbuffer().nbytes
            if size > _BATCH_BYTES or len(rows) >= BATCH_ROWS:
                yield [_avro_column([row[name] for row in rows], types[name], name) for name in names]
                rows, size = [], 0
        yield [_avro_column([row[name] for row in rows], types[name], name) for name in names]

    def _types(self, reader: Any) -> Iterator[tuple[str, pa.DataType]]:
        schema = reader.writer_schema
        if not isinstance(schema, dict) or schema.get("type") != "record":
            raise ValueError("its values are not records")
        for field in schema["fields"]:
            yield field["name"], _avro_type(field["type"])


_AVRO_TYPES: dict[str, pa.DataType] = {
    "null": pa.null(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "fixed": pa.binary(),
}
_AVRO_LOGICAL_TYPES: dict[str, pa.DataType] = {
    "date": pa.date32(),
    "time-millis": pa.time64("us"),
    "time-micros": pa.time64("us"),
    "timestamp-millis": pa.timestamp("us", "UTC"),
    "timestamp-micros": pa.timestamp("us", "UTC"),
    "local-timestamp-millis": pa.timestamp("us"),
    "local-timestamp-micros": pa.timestamp("us"),
}
_MAX_DIGITS = 76


def _avro_type(schema: Any) -> pa.DataType:
    """Return the Arrow type of an Avro type; text for types that have none, such as records and unions of several
    types.
    """
    if isinstance(schema, list):
        others = [branch for branch in schema if branch != "null"]
        return _avro_type(others[0]) if len(others) == 1 else STRING
    if not isinstance(schema, dict):
        return _AVRO_TYPES.get(schema, STRING)
    logical = schema.get("logicalType")
    if logical == "decimal" and schema["precision"] <= _MAX_DIGITS:
        return pa.decimal256(schema["precision"], schema.get("scale", 0))
    if logical == "decimal":
        return STRING
    return _AVRO_LOGICAL_TYPES.get(str(logical)) or _avro_type(schema["type"])


def _avro_column(values: list[Any], type: pa.DataType, name: str) -> pa.Array[Any]:
    if type == STRING:
        values = [value if value is None or isinstance(value, str) else as_json(value) for value in values]
    elif pa.types.is_timestamp(type) and type.tz is None:
        values = [value.replace(tzinfo=None) if isinstance(value, datetime) else value for value in values]
    return stored(pa.array(values, type), name)
