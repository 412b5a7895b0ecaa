"""Readers of row files: Parquet, ORC, CSV and JSON lines, as batches of typed columns.

All files have the same types of columns in the end: texts, booleans, integers with a sign, floats, decimals of up to 38
digits, dates, times of day in microseconds, times in microseconds with the zone UTC or none, bytes, and lists of these.
In CSV and JSON, bytes are in Base64; in CSV, lists are JSON arrays.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.csv as pc_csv
import pyarrow.orc as orc
import pyarrow.parquet as parquet

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import as_strings
from ggfmt.arrow.parquet_files import read_batches
from ggfmt.columnar.json_rows import JsonLineError, JsonRow, json_column, read_json_rows
from ggfmt.columnar.typed import typed_values
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic, Span, UsageError
from ggfmt.frames.column_types import BYTES, CLOCK, MAX_DIGITS, type_name
from ggfmt.java.text import visible
from ggfmt.location import Location

_TEXT = pa.string()
_BATCH_ROWS, _BATCH_BYTES = 1 << 16, 16 << 20
_CSV_BLOCK_BYTES = 8 << 20
_SHOWN = 40  # characters of a value in an error


class RowReader(ABC):
    """Reads one file of the rows of a table. `types` are those of columns whose type the file does not have itself."""

    def __init__(self, file: Location, types: Mapping[str, pa.DataType], table: str) -> None:
        self.file = file
        self.types = types
        self.table = table

    @abstractmethod
    def batches(self, stream: pa.NativeFile) -> Iterator[pa.RecordBatch]:
        """Yield the rows, at least one batch, all of one schema.

        Raises:
            UsageError: GG551, as `error` makes it.
            ValueError, OSError: The bytes are not of the format.
        """

    def error(self, message: str, column: str | None = None, help: str | None = None) -> UsageError:
        place = Span(file=self.file.shown, table=self.table, field=column)
        return UsageError(Diagnostic("GG551", message, place, help))

    def check_names(self, names: Sequence[str]) -> None:
        """UsageError GG551 for a file with two columns of one name."""
        twice = next((name for index, name in enumerate(names) if name in names[:index]), None)
        if twice is not None:
            raise self.error("the file has two columns with this name", twice)

    def typed(self, texts: pa.StringArray, name: str) -> pa.Array[Any]:
        """Return texts as values of the type of their column. UsageError GG551 for a text that is none."""
        type = self.types.get(name, _TEXT)
        values, wrong = typed_values(texts, type)
        if wrong:
            text = texts[wrong[0]].as_py()
            shown = visible(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")
            help = f"give `--type '{self.table}.{name}=string'`"
            raise self.error(f"`{shown}` is not a value of the type `{type_name(type)}`", name, help)
        return values


def read_rows(file: Location, suffix: str, types: Mapping[str, pa.DataType], table: str) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file in batches of one schema: at least one batch, which has the columns.

    Args:
        suffix: the format, a key of `READERS`.
        types: the types of columns in CSV and JSON. Columns without a type are texts. Parquet and ORC have types.
    Raises:
        UsageError: GG551 for a file that is not of its format, or has a value or type that rows cannot have.
        Abend: GG506 for a file that cannot be read.
    """
    reader = READERS[suffix](file, types, table)
    with _reading(reader), file.open_file() as stream:
        yield from reader.batches(stream)


@contextmanager
def _reading(reader: RowReader) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if _is_of_decoder(error) and reader.file.is_local:
            raise reader.error(_not_of_format(reader, error)) from None
        reason = getattr(error, "strerror", None) or _first_line(error)
        place = Span(file=reader.file.shown, table=reader.table)
        message = f"the file cannot be read: {reason}"
        raise Abend(Diagnostic("GG506", message, place, getattr(error, "help", None))) from None
    except ValueError as error:  # ArrowInvalid is one
        raise reader.error(_not_of_format(reader, error)) from None


def _is_of_decoder(error: OSError) -> bool:
    """Return whether a format raised the error, and not the file system. Arrow's ORC does so, and Parquet for a file
    that is damaged. Errors of stores may look the same."""
    return type(error) is OSError and error.errno is None


def _not_of_format(reader: RowReader, error: Exception) -> str:
    return f"the file is not {FORMAT_NAMES[type(reader)]}: {_first_line(error)}"


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


# Files with types.


class _ParquetReader(RowReader):
    """Times of 96 bits, as old releases of Spark and Hive wrote them, are instants, and lose what is below a
    microsecond."""

    def batches(self, stream: pa.NativeFile) -> Iterator[pa.RecordBatch]:
        file = parquet.ParquetFile(stream, coerce_int96_timestamp_unit="us")
        normalizer = _Normalizer(self, file.schema_arrow)
        yield normalizer.empty()
        for batch in read_batches(file, _BATCH_BYTES, _BATCH_ROWS):
            yield normalizer.batch(batch)


_SPARK_TYPE = b"spark.sql.catalyst.type"  # an attribute of ORC columns


class _OrcReader(RowReader):
    """Spark writes times without a zone as integers, and times with a zone as ORC's local times: the attribute of the
    column shows it. Local times of a column with a zone are taken as times of UTC."""

    def batches(self, stream: pa.NativeFile) -> Iterator[pa.RecordBatch]:
        file = orc.ORCFile(stream)
        schema = file.schema
        normalizer = _Normalizer(self, pa.schema([self._field(field) for field in schema]))
        yield normalizer.empty()
        for stripe in range(file.nstripes):
            try:
                rows = file.read_stripe(stripe)
            except pa.ArrowInvalid as error:
                raise self._unreadable(file, stripe, error) from None
            for start in range(0, len(rows), _BATCH_ROWS):
                yield normalizer.batch(rows.slice(start, _BATCH_ROWS))

    def _field(self, field: pa.Field[Any]) -> pa.Field[Any]:
        spark_type = (field.metadata or {}).get(_SPARK_TYPE)
        if field.type == pa.int64() and spark_type == b"timestamp_ntz":
            return pa.field(field.name, pa.timestamp("us"))
        if pa.types.is_timestamp(field.type):
            of_table = self.types.get(field.name)
            has_zone = spark_type == b"timestamp" or (of_table is not None and of_table == pa.timestamp("us", "UTC"))
            return pa.field(field.name, pa.timestamp("ns", "UTC" if has_zone else field.type.tz))
        return field

    def _unreadable(self, file: orc.ORCFile, stripe: int, error: pa.ArrowInvalid) -> Exception:
        """Return the error for the column that Arrow cannot read: it has times in nanoseconds only."""
        for field in file.schema:
            if pa.types.is_timestamp(field.type):
                try:
                    file.read_stripe(stripe, columns=[field.name])
                except pa.ArrowInvalid:
                    message = "the column has a time outside of the years 1678 to 2261, which Arrow cannot read"
                    return self.error(f"{message} from ORC", field.name, "write the rows of the base as Parquet")
        return error


class _Normalizer:
    """Converts the columns of batches to the types that rows have. UsageError GG551 for a type that no row has."""

    def __init__(self, reader: RowReader, schema: pa.Schema) -> None:
        self._reader = reader
        reader.check_names(schema.names)
        self._stored = schema  # what the numbers of a file mean
        fields = []
        for field in schema:
            type = row_type(field.type)
            if type is None:
                help = "cast the column to a string in the base"
                raise reader.error(f"rows cannot have columns of the type {field.type}", field.name, help)
            fields.append(pa.field(field.name, type))
        self._schema = pa.schema(fields)

    def empty(self) -> pa.RecordBatch:
        return pa.RecordBatch.from_pylist([], self._schema)

    def batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        columns = zip(batch.columns, self._stored, self._schema, strict=True)
        return pa.RecordBatch.from_arrays([self._converted(*column) for column in columns], schema=self._schema)

    def _converted(self, values: pa.Array[Any], stored: pa.Field[Any], field: pa.Field[Any]) -> pa.Array[Any]:
        try:
            if values.type != stored.type:
                values = values.cast(stored.type)
            if values.type != field.type:
                values = values.cast(field.type)
            if field.type == _TEXT:
                values.validate(full=True)  # Arrow reads any bytes as a text
        except pa.ArrowInvalid as error:
            message = f"a value of the type {stored.type} does not fit into `{type_name(field.type)}`"
            raise self._reader.error(f"{message}: {_first_line(error)}", field.name) from None
        return values


def row_type(type: pa.DataType) -> pa.DataType | None:
    """Return the type in which rows have the values of a type in a file; None if they have none."""
    types = pa.types
    if types.is_dictionary(type):
        return row_type(type.value_type)
    if types.is_timestamp(type):
        return pa.timestamp("us", None if type.tz is None else "UTC")
    if types.is_decimal(type):
        fits = type.precision <= MAX_DIGITS and 0 <= type.scale <= type.precision
        return pa.decimal128(type.precision, type.scale) if fits else None
    if types.is_list(type) or types.is_large_list(type):
        item = row_type(type.value_type)
        return None if item is None else pa.list_(item)
    return next((row for is_of, row in _ROW_TYPES if is_of(type)), None) or (type if type in _KEPT else None)


_KEPT = {
    _TEXT,
    pa.bool_(),
    pa.int8(),
    pa.int16(),
    pa.int32(),
    pa.int64(),
    pa.float32(),
    pa.float64(),
    pa.date32(),
    pa.binary(),
}
_ROW_TYPES: tuple[tuple[Callable[[pa.DataType], bool], pa.DataType], ...] = (
    (pa.types.is_null, _TEXT),
    (pa.types.is_large_string, _TEXT),
    (pa.types.is_string_view, _TEXT),
    (pa.types.is_uint8, pa.int16()),
    (pa.types.is_uint16, pa.int32()),
    (pa.types.is_uint32, pa.int64()),
    (pa.types.is_uint64, pa.decimal128(20, 0)),
    (pa.types.is_float16, pa.float32()),
    (pa.types.is_date64, pa.date32()),
    (pa.types.is_time, CLOCK),
    (pa.types.is_large_binary, BYTES),
    (pa.types.is_binary_view, BYTES),
    (pa.types.is_fixed_size_binary, BYTES),
)


# Files of texts.


class _CsvReader(RowReader):
    """An empty field is NULL, `""` an empty text."""

    def batches(self, stream: pa.NativeFile) -> Iterator[pa.RecordBatch]:
        names = self._header(stream)
        self.check_names(names)
        stream.seek(0)
        schema = pa.schema([pa.field(name, self.types.get(name, _TEXT)) for name in names])
        yield pa.RecordBatch.from_pylist([], schema)
        convert = pc_csv.ConvertOptions(
            column_types=dict.fromkeys(names, _TEXT),
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            null_values=[""],
        )
        for batch in self._open(stream, convert):
            texts = map(as_strings, batch.columns)
            columns = [self.typed(column, name) for column, name in zip(texts, names, strict=True)]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    def _header(self, stream: pa.NativeFile) -> list[str]:
        reader = self._open(stream)  # which is not closed: that would close the stream
        names: list[str] = reader.schema.names
        return names

    def _open(self, stream: pa.NativeFile, convert: pc_csv.ConvertOptions | None = None) -> pc_csv.CSVStreamingReader:
        return pc_csv.open_csv(
            stream,  # type: ignore[arg-type]
            read_options=pc_csv.ReadOptions(block_size=_CSV_BLOCK_BYTES),
            parse_options=pc_csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
            convert_options=convert,
        )


class _JsonReader(RowReader):
    """JSON lines. A column that a line lacks is NULL in its row. Numbers keep their digits.

    The columns are those of the types, in their order, and then those that the file has besides them.
    """

    def batches(self, stream: pa.NativeFile) -> Iterator[pa.RecordBatch]:
        names = dict.fromkeys(self.types)
        for rows in self._rows(stream):
            for row in rows:
                names.update(dict.fromkeys(row))
        stream.seek(0)
        schema = pa.schema([pa.field(name, self.types.get(name, _TEXT)) for name in names])
        yield pa.RecordBatch.from_pylist([], schema)
        for rows in self._rows(stream):
            if rows:
                columns = [self._column(rows, name) for name in names]
                yield pa.RecordBatch.from_arrays(columns, schema=schema)

    def _column(self, rows: list[JsonRow], name: str) -> pa.Array[Any]:
        try:
            column = json_column(rows, name)
            column.values.validate(full=True)
        except (ValueError, msgspec.MsgspecError):  # a value was decoded from valid JSON
            raise self.error("the column has a text that is not UTF-8", name) from None
        nested = pc.match_substring_regex(
            column.values, "^{" if pa.types.is_list(self.types.get(name, _TEXT)) else r"^[\[{]"
        )
        if column.quoted is not None:
            nested = pc.and_not(nested, column.quoted)
        if pc.any(nested, min_count=0).as_py():
            help = "write the value as a string: rows can only have texts, numbers and booleans"
            raise self.error("the column has an object or a list", name, help)
        return self.typed(column.values, name)

    def _rows(self, stream: pa.NativeFile) -> Iterator[list[JsonRow]]:
        try:
            yield from read_json_rows(stream)
        except JsonLineError as error:
            where = Span(file=self.file.shown, table=self.table, offset=error.offset)
            raise UsageError(Diagnostic("GG551", str(error), where, error.help)) from None


READERS: Mapping[str, type[RowReader]] = {
    "parquet": _ParquetReader,
    "orc": _OrcReader,
    "json": _JsonReader,
    "csv": _CsvReader,
}
FORMAT_NAMES: Mapping[type[RowReader], str] = {
    _ParquetReader: "a Parquet file",
    _OrcReader: "an ORC file",
    _JsonReader: "a file of JSON lines",
    _CsvReader: "CSV",
}
