"""The files of a table: their columns, and their rows as batches of stored columns."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, BinaryIO, cast

import fastavro
import pyarrow as pa

from ggfmt.columnar.json_rows import JsonLineError
from ggfmt.comparison.kinds import STRING, UNTYPED
from ggfmt.comparison.values import as_json, stored, stored_type
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic, Span
from ggfmt.location import Location, reason
from ggfmt.reading.files import COMPRESSIONS, InputFile, open_input
from ggfmt.rowfiles.files import BATCH_BYTES, BATCH_ROWS, Arrays, ColumnError, Open, RowFile

Columns = dict[str, pa.DataType]  # by name, with stored types


class TableFile:
    """A file of a table, with its columns in stored types. All methods raise Abend GG582, `batches` ColumnError."""

    def __init__(self, file: InputFile, kind: Callable[[Open], RowFile]) -> None:
        self.file = file
        with reading(file):
            self._source = kind(lambda: open_input(file))
        self.named, self.sparse = self._source.named, self._source.sparse
        typed = self._source.has_types
        self.columns = {field.name: stored_type(field.type) if typed else UNTYPED for field in self._source.schema}

    def batches(self, names: Sequence[str]) -> Iterator[Arrays]:
        batches = self._source.batches(names)
        while True:
            with reading(self.file):
                batch = next(batches, None)
                if batch is None:
                    return
                columns = [stored(values, name) for values, name in zip(batch, names, strict=True)]
            yield columns


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
    except JsonLineError as error:
        raise Abend.of(unreadable(file, str(error), error.help, error.offset)) from None
    except Exception as error:
        raise Abend.of(unreadable(file, reason(error))) from None


def unreadable(file: InputFile, why: str, help: str | None = None, offset: int | None = None) -> Diagnostic:
    first = why.split("\n", 1)[0].strip() or "its bytes are not data of that format"
    first = first if len(first) <= 200 else first[:197] + "..."
    return Diagnostic("GG582", f"the file cannot be read: {first}", Span(file=file.shown, offset=offset), help)


class AvroFile(RowFile):
    def batches(self, names: Sequence[str]) -> Iterator[Arrays]:
        with self._open() as stream:
            reader: Any = fastavro.block_reader(cast(BinaryIO, stream))
            types = dict(self._types(reader))
            rows: list[Any] = []
            size = 0
            for block in reader:
                rows += block
                size += block.bytes_.getbuffer().nbytes
                if size > BATCH_BYTES or len(rows) >= BATCH_ROWS:
                    yield [_avro_column([row[name] for row in rows], types[name]) for name in names]
                    rows, size = [], 0
            yield [_avro_column([row[name] for row in rows], types[name]) for name in names]

    def _schema(self) -> pa.Schema:
        with self._open() as stream:
            return pa.schema(list(self._types(fastavro.reader(cast(BinaryIO, stream)))))

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
    """Return the Arrow type of an Avro type; text for those that have none, such as records and unions of several."""
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


def _avro_column(values: list[Any], type: pa.DataType) -> pa.Array[Any]:
    if type == STRING:
        values = [value if value is None or isinstance(value, str) else as_json(value) for value in values]
    elif pa.types.is_timestamp(type) and type.tz is None:
        values = [value.replace(tzinfo=None) if isinstance(value, datetime) else value for value in values]
    return pa.array(values, type)
