"""Writers of row files: Parquet, ORC, CSV, JSON lines and Avro.

Every writer writes its file from start to end, so that size and digest are known when the file is complete.
"""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from pkgutil import resolve_name
from typing import Any, BinaryIO, cast

import fastavro
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as parquet

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import as_string_maps, as_strings, non_null_values
from ggfmt.columnar.json_text import json_strings
from ggfmt.columnar.orc_files import TAIL_BYTES, unwritable_times, with_calendar
from ggfmt.columnar.pieces import (
    JACKSON_ESCAPES,
    Conditional,
    Encoding,
    Piece,
    Repeated,
    TextPiece,
    escape_json_text,
    join,
    text_buffer,
)
from ggfmt.columnar.typed import as_text, iso_texts, json_pieces
from ggfmt.commit.store import HashingStream
from ggfmt.dataclasses import dataclass
from ggfmt.diagnostics.diagnostic import Abend, Span, UsageError
from ggfmt.location import Location
from ggfmt.rowfiles.files import SPARK_TYPE, TEXT
from ggfmt.rowfiles.formats import ROW_FORMATS

_SLICE_ROWS, _SLICE_BYTES = 1 << 16, 32 << 20  # of a batch, to write at once: texts of 32 MiB can be escaped to 192 MiB
_GROUP_ROWS, _GROUP_BYTES = 1 << 20, 64 << 20  # of a row group of Parquet, in memory


Partition = tuple[tuple[str, str | None], ...]  # columns with their values as text


@dataclass(frozen=True)
class WrittenFile:
    """A complete file: rows, bytes, the SHA-256 of its bytes in hexadecimal, and its values of partition columns."""

    location: Location
    rows: int
    size: int
    sha256: str
    partition: Partition = ()


class RowWriter(ABC):
    """Writes rows of a table to a stream, which the caller closes. `schema` has nullable columns."""

    def __init__(self, out: BinaryIO, schema: pa.Schema, table: str) -> None:
        self.out = out
        self.schema = schema
        self.table = table

    @abstractmethod
    def write(self, batch: pa.RecordBatch) -> None:
        """Write rows. A batch has at least one row, and at most 65,536."""

    def close(self) -> None:
        self.out.flush()


def write_rows(
    target: Location, to: str, table: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch]
) -> WrittenFile:
    """Write the rows of a table to a new file. Without rows, the file has the columns only. An error leaves an
    incomplete file. Raises: Abend GG206 for the name of a column that Avro does not allow. Raises: UsageError GG551 for
    a value that the format cannot hold; OSError. Raises: ValueError for a batch with other columns than the schema."""
    schema = pa.schema([pa.field(field.name, field.type, metadata=field.metadata) for field in schema])
    if target.is_local and (parent := target.parent) is not None:
        fs, inner = parent.file_system()
        fs.create_dir(inner)
    rows = 0
    with target.create() as stream:
        out = HashingStream(stream)
        try:
            writer: RowWriter = resolve_name(ROW_FORMATS[to].writer)(cast(BinaryIO, out), schema, table)
            for batch in batches:
                rows += len(batch)
                for part in _slices(_checked(batch, schema)):
                    writer.write(part)
            writer.close()
        except BaseException:
            out.discards = True
            raise
    return WrittenFile(target, rows, out.size, out.digest.hexdigest())


def _checked(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return the batch with the fields of the schema, which differ in metadata and in what may be NULL only."""
    if batch.schema.names != schema.names or batch.schema.types != schema.types:
        raise ValueError(f"the batch has the columns {batch.schema}, but the file has {schema}")
    return pa.RecordBatch.from_arrays(batch.columns, schema=schema)


def _slices(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    count = len(batch)
    step = max(1, min(_SLICE_ROWS, count * _SLICE_BYTES // max(batch.nbytes, 1)))
    for start in range(0, count, step):
        yield batch.slice(start, step)


class ParquetWriter(RowWriter):
    """Parquet. Compared with snappy, zstd makes files of orders 30 % smaller, and writing them takes 10 % longer. Each
    row group has about 64 MiB of values: a row group for each batch would be too small for readers."""

    def __init__(self, out: BinaryIO, schema: pa.Schema, table: str) -> None:
        super().__init__(out, schema, table)
        self._writer = parquet.ParquetWriter(out, schema, compression="zstd", compression_level=1, store_schema=False)
        self._pending: list[pa.RecordBatch] = []
        self._pending_rows = self._pending_bytes = 0

    def write(self, batch: pa.RecordBatch) -> None:
        self._pending.append(batch)
        self._pending_rows += len(batch)
        self._pending_bytes += batch.nbytes
        if self._pending_rows >= _GROUP_ROWS or self._pending_bytes >= _GROUP_BYTES:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        if self._pending:
            self._writer.write_table(pa.Table.from_batches(self._pending, self.schema), self._pending_rows)
        self._pending = []
        self._pending_rows = self._pending_bytes = 0


class OrcWriter(RowWriter):
    """ORC, as Spark writes it: times without a zone are microseconds in a column of integers with an attribute. Times
    with a zone are instants, which do not depend on the time zones of writer and reader."""

    def __init__(self, out: BinaryIO, schema: pa.Schema, table: str) -> None:
        super().__init__(out, schema, table)
        self._stored = pa.schema([_orc_field(field) for field in schema])
        # If a stream fails while the writer is closed, the ORC library ends the process. A buffer in memory does not
        # fail, and no signal interrupts it, as it could a stream in Python.
        self._buffer = io.BytesIO()
        self._tail = b""
        self._writer = orc.ORCWriter(pa.PythonFile(self._buffer, "w"), compression="ZSTD")
        self._writer.write(self._stored.empty_table())

    def write(self, batch: pa.RecordBatch) -> None:
        columns = []
        for values, field, stored in zip(batch.columns, self.schema, self._stored, strict=True):
            if pa.types.is_timestamp(field.type) and field.type.tz is not None:
                self._check_fractions(values, field.name)
            columns.append(values.cast(stored.type))
        self._writer.write(pa.Table.from_arrays(columns, schema=self._stored))
        self._pass_on()

    def close(self) -> None:
        self._writer.close()
        self._pass_on()
        self.out.write(with_calendar(self._tail))

    def _pass_on(self) -> None:
        """Write what is in the buffer, except the tail of the file, which gets the calendar."""
        data = self._tail + self._buffer.getvalue()
        self._buffer.seek(0)
        self._buffer.truncate()
        self._tail = data[-TAIL_BYTES:]
        if len(data) > TAIL_BYTES:
            self.out.write(data[:-TAIL_BYTES])

    def _check_fractions(self, values: pa.Array[Any], name: str) -> None:
        """Raise UsageError GG551 for a time before 1970 with a fraction of a second: Arrow would write a negative
        number of nanoseconds, which other readers take for another time or refuse."""
        wrong = unwritable_times(values)
        if pc.any(wrong, min_count=0).as_py():
            text = as_text(values.filter(wrong))[0].as_py()
            message = f"`{text}` is before 1970 and has a fraction of a second, which Arrow cannot write to ORC"
            raise UsageError("GG551", message, Span(table=self.table, field=name), "write the rows with `--to parquet`")


def _orc_field(field: pa.Field[Any]) -> pa.Field[Any]:
    if pa.types.is_timestamp(field.type) and field.type.tz is None:
        return pa.field(field.name, pa.int64(), metadata={SPARK_TYPE: b"timestamp_ntz"})
    return field


_TO_BE_QUOTED = r'[",\r\n]|^$|^\s|\s$'


class CsvWriter(RowWriter):
    """CSV as RFC 4180 has it, with line feeds: NULL is an empty field, an empty text is `""`. Dates and times are as
    ISO 8601 has them, bytes in Base64, and lists are JSON arrays."""

    def __init__(self, out: BinaryIO, schema: pa.Schema, table: str) -> None:
        super().__init__(out, schema, table)
        self._write([pa.array([name], TEXT) for name in schema.names], 1)

    def write(self, batch: pa.RecordBatch) -> None:
        self._write(list(map(iso_texts, batch.columns)), len(batch))

    def _write(self, columns: list[pa.StringArray], rows: int) -> None:
        pieces: list[Piece] = []
        for texts in columns:
            pieces += ["," if pieces else "", _quoted(texts)]
        self.out.write(text_buffer(join([*pieces, "\n"], rows)))


def _quoted(texts: pa.StringArray) -> Piece:
    plain = TextPiece(texts, null="")
    quoted = pc.fill_null(pc.match_substring_regex(texts, _TO_BE_QUOTED), False)
    if not quoted.true_count:
        return plain
    return Conditional(quoted, [TextPiece(texts, Encoding.DOUBLED, "", '"', '"')], [plain])


class JsonWriter(RowWriter):
    """JSON lines, with members for NULL. Decimals are numbers with all their digits. Texts are escaped as by Spark."""

    def __init__(self, out: BinaryIO, schema: pa.Schema, table: str) -> None:
        super().__init__(out, schema, table)
        labels = [f"{escape_json_text(name, JACKSON_ESCAPES)}:" for name in schema.names]
        self._labels = [f"{',' if index else '{'}{label}" for index, label in enumerate(labels)]

    def write(self, batch: pa.RecordBatch) -> None:
        pieces: list[Piece] = []
        for label, values in zip(self._labels, batch.columns, strict=True):
            pieces += [label, *(_json_maps if pa.types.is_map(values.type) else json_pieces)(values)]
        self.out.write(text_buffer(join([*pieces, "}\n"], len(batch))))


def _json_maps(values: pa.Array[Any]) -> list[Piece]:
    maps = as_string_maps(values)
    names = json_strings(as_strings(maps.keys), Encoding.JACKSON)
    items = json_strings(as_strings(maps.items), Encoding.JACKSON)
    objects: list[Piece] = ["{", Repeated(maps, [names, ":", items], ","), "}"]
    return [Conditional(maps.is_valid(), objects, ["null"])] if maps.null_count else objects


_AVRO_NAME = r"^[A-Za-z_][A-Za-z0-9_]*$"
_AVRO_TYPES: dict[pa.DataType, Any] = {
    TEXT: "string",
    pa.bool_(): "boolean",
    pa.int8(): "int",
    pa.int16(): "int",
    pa.int32(): "int",
    pa.int64(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.date32(): {"type": "int", "logicalType": "date"},
    pa.timestamp("us", "UTC"): {"type": "long", "logicalType": "timestamp-micros"},
    pa.timestamp("us"): {"type": "long", "logicalType": "local-timestamp-micros"},
    pa.time64("us"): {"type": "long", "logicalType": "time-micros"},
    pa.binary(): "bytes",
}


class AvroWriter(RowWriter):
    def __init__(self, out: BinaryIO, schema: pa.Schema, table: str) -> None:
        super().__init__(out, schema, table)
        self._writer = fastavro.write.Writer(out, avro_schema(schema, table), codec="deflate")

    def write(self, batch: pa.RecordBatch) -> None:
        for row in _rows(batch):
            self._writer.write(row)

    def close(self) -> None:
        self._writer.flush()


def _rows(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    """Return rows with maps as dictionaries: Arrow does so itself from 19 on."""
    rows: list[dict[str, Any]] = batch.to_pylist()
    for name in (field.name for field in batch.schema if pa.types.is_map(field.type)):
        for row in rows:
            row[name] = None if row[name] is None else dict(row[name])
    return rows


def avro_schema(schema: pa.Schema, table: str) -> dict[str, Any]:
    """Return the Avro schema of rows: each field a union with null. Raises: Abend GG206 for a name of a column."""
    allowed = non_null_values(pc.match_substring_regex(pa.array(schema.names, TEXT), _AVRO_NAME))
    wrong = [name for name, fits in zip(schema.names, allowed, strict=True) if not fits]
    if wrong:
        help = "write the rows with `--to parquet`, or rename the column in the definitions"
        raise Abend("GG206", "Avro does not allow this name", Span(table=table, field=wrong[0]), help)
    fields = [{"name": field.name, "type": ["null", _avro_type(field.type)], "default": None} for field in schema]
    return {"type": "record", "name": "row", "namespace": "ggfmt", "doc": table, "fields": fields}


def _avro_type(type: pa.DataType) -> Any:
    if pa.types.is_decimal(type):
        return {"type": "bytes", "logicalType": "decimal", "precision": type.precision, "scale": type.scale}
    if pa.types.is_map(type):
        return {"type": "map", "values": ["null", "string"]}
    if pa.types.is_list(type):
        return {"type": "array", "items": ["null", _avro_type(type.value_type)]}
    return _AVRO_TYPES[type]


def stores(to: str, type: pa.DataType) -> bool:
    """Return whether a format has a type for values."""
    types, lacks = pa.types, ROW_FORMATS[to].lacks
    if types.is_list(type):
        holds = "lists" not in lacks and not ("lists of times" in lacks and types.is_timestamp(type.value_type))
        return holds and stores(to, type.value_type)
    return "times of day" not in lacks or not types.is_time(type)
