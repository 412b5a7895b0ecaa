"""Readers of row files: Parquet, ORC, CSV and JSON lines, as batches of typed columns.

All files have the same types of columns in the end: texts, booleans, integers with a sign, floats, decimals of up to 38
digits, dates, times of day in microseconds, times in microseconds with the zone UTC or none, bytes, and lists of these.
In CSV and JSON, bytes are in Base64; in CSV, lists are JSON arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as parquet

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import as_strings
from ggfmt.columnar.json_rows import JsonLineError, JsonRow, json_column
from ggfmt.columnar.typed import typed_values
from ggfmt.diagnostics.diagnostic import Abend, Span, UsageError
from ggfmt.frames.batches import shown_value
from ggfmt.frames.column_types import BYTES, CLOCK, MAX_DIGITS, type_name
from ggfmt.location import Location
from ggfmt.rowfiles.csv_files import CsvFile, CsvOptions
from ggfmt.rowfiles.files import (
    SPARK_TYPE,
    TEXT,
    ColumnError,
    JsonFile,
    Open,
    OrcFile,
    ParquetFile,
    RepeatedColumnError,
    RowFile,
    schema_of_texts,
)


class _ParquetFile(ParquetFile):
    """Reads the footer once, as the stream stays open."""

    _file: parquet.ParquetFile | None = None

    def _opened(self, stream: Any) -> parquet.ParquetFile:
        self._file = self._file or super()._opened(stream)
        return self._file


class _OrcFile(OrcFile):
    """Spark writes times with a zone as ORC's local times, and marks the column: they are taken as times of UTC."""

    def _type(self, field: pa.Field[Any]) -> pa.DataType:
        if not pa.types.is_timestamp(field.type):
            return super()._type(field)
        has_zone = (field.metadata or {}).get(SPARK_TYPE) == b"timestamp"
        return pa.timestamp("ns", "UTC" if has_zone else field.type.tz)

    def _stripe(self, file: orc.ORCFile, stripe: int, names: Sequence[str]) -> pa.RecordBatch:
        try:
            return super()._stripe(file, stripe, names)
        except pa.ArrowInvalid:  # it has times in nanoseconds only
            for field in file.schema:
                if pa.types.is_timestamp(field.type):
                    try:
                        file.read_stripe(stripe, columns=[field.name])
                    except pa.ArrowInvalid:
                        reason = "the column has a time outside of the years 1678 to 2261, which Arrow cannot read"
                        help = "write the rows of the base as Parquet"
                        raise ColumnError(field.name, f"{reason} from ORC", help) from None
            raise


class _JsonFile(JsonFile):
    """A column that a line lacks is NULL. The columns are those of the types, and then those that the file has."""

    def __init__(self, open: Open, types: Mapping[str, pa.DataType]) -> None:
        self._types = types
        super().__init__(open)

    def _schema(self) -> pa.Schema:
        return schema_of_texts(dict.fromkeys((*self._types, *super()._schema().names)))

    def _values(self, rows: list[JsonRow], name: str) -> pa.StringArray:
        try:
            column = json_column(rows, name)
            column.values.validate(full=True)
        except (ValueError, msgspec.MsgspecError):  # a value was decoded from valid JSON
            raise ColumnError(name, "the column has a text that is not UTF-8") from None
        nested = pc.match_substring_regex(
            column.values, "^{" if pa.types.is_list(self._types.get(name, TEXT)) else r"^[\[{]"
        )
        if column.quoted is not None:
            nested = pc.and_not(nested, column.quoted)
        if pc.any(nested, min_count=0).as_py():
            help = "write the value as a string: rows can only have texts, numbers and booleans"
            raise ColumnError(name, "the column has an object or a list", help)
        return column.values


FORMATS: Mapping[str, tuple[str, Callable[[Open, Mapping[str, pa.DataType]], RowFile]]] = {
    "parquet": ("a Parquet file", lambda open, _: _ParquetFile(open)),
    "orc": ("an ORC file", lambda open, _: _OrcFile(open)),
    "json": ("a file of JSON lines", _JsonFile),
    "csv": ("CSV", lambda open, _: CsvFile(open, CsvOptions(blank_lines=True))),
}


def read_rows(
    file: Location, suffix: str, types: Mapping[str, pa.DataType], table: str, deleted: str = ""
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file in batches of one schema: at least one batch, which has the columns.

    suffix  the format, a key of `FORMATS`
    types   of columns in CSV and JSON, where columns without a type are texts
    deleted  rows of a Parquet file to leave out, as `ParquetFile` has them

    Raises: UsageError GG551 for a file that is not of its format, or has a value or type that rows cannot have;
    Abend GG506 for a file that cannot be read.
    """
    name, source_of = FORMATS[suffix]
    with _errors(file, name, table), file.open_file() as stream:

        @contextmanager
        def opened() -> Iterator[pa.NativeFile]:
            stream.seek(0)
            yield stream

        source = _ParquetFile(opened, deleted) if deleted else source_of(opened, types)
        if not source.schema.names and suffix == "csv":
            raise ValueError("Empty CSV file")
        convert = _stored if source.has_types else _typed(table)
        schema = pa.schema([_field(field, types, source.has_types) for field in source.schema])
        yield pa.RecordBatch.from_pylist([], schema)
        for values in source.batches(schema.names):
            columns = map(convert, values, source.schema, schema)
            yield pa.RecordBatch.from_arrays(list(columns), schema=schema)


def _field(field: pa.Field[Any], types: Mapping[str, pa.DataType], typed: bool) -> pa.Field[Any]:
    type = row_type(field.type) if typed else types.get(field.name, TEXT)
    if type is None:
        help = "cast the column to a string in the base"
        raise ColumnError(field.name, f"rows cannot have columns of the type {field.type}", help)
    return pa.field(field.name, type)


def _stored(values: pa.Array[Any], stored: pa.Field[Any], field: pa.Field[Any]) -> pa.Array[Any]:
    try:
        if values.type != stored.type:
            values = values.cast(stored.type)
        if values.type != field.type:
            values = values.cast(field.type)
        if field.type == TEXT:
            values.validate(full=True)  # Arrow reads any bytes as a text
    except pa.ArrowInvalid as error:
        reason = f"a value of the type {stored.type} does not fit into `{type_name(field.type)}`: {_first_line(error)}"
        raise ColumnError(field.name, reason) from None
    return values


def _typed(table: str) -> Callable[[pa.Array[Any], object, pa.Field[Any]], pa.Array[Any]]:
    def convert(texts: pa.Array[Any], _: object, field: pa.Field[Any]) -> pa.Array[Any]:
        values, wrong = typed_values(as_strings(texts), field.type)
        if wrong:
            help = f"give `--type '{table}.{field.name}=string'`"
            reason = f"`{shown_value(texts[wrong[0]].as_py())}` is not a value of the type `{type_name(field.type)}`"
            raise ColumnError(field.name, reason, help)
        return values

    return convert


@contextmanager
def _errors(file: Location, name: str, table: str) -> Iterator[None]:
    def wrong(reason: str, column: str | None = None, help: str | None = None, offset: int | None = None) -> UsageError:
        return UsageError("GG551", reason, Span(file.shown, table=table, field=column, offset=offset), help)

    try:
        yield
    except OSError as error:
        if _is_of_decoder(error) and file.is_local:
            raise wrong(f"the file is not {name}: {_first_line(error)}") from None
        reason = getattr(error, "strerror", None) or _first_line(error)
        place = Span(file=file.shown, table=table)
        raise Abend("GG506", f"the file cannot be read: {reason}", place, getattr(error, "help", None)) from None
    except ColumnError as error:
        raise wrong(str(error), error.column, error.help) from None
    except RepeatedColumnError as error:
        raise wrong("the file has two columns with this name", error.column) from None
    except JsonLineError as error:
        raise wrong(str(error), None, error.help, error.offset) from None
    except ValueError as error:  # ArrowInvalid is one
        raise wrong(f"the file is not {name}: {_first_line(error)}") from None


def _is_of_decoder(error: OSError) -> bool:
    """Return whether a format raised the error, and not the file system. Arrow's ORC does so, and Parquet for a file
    that is damaged. Errors of stores may look the same."""
    return type(error) is OSError and error.errno is None


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def row_type(type: pa.DataType) -> pa.DataType | None:
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
    TEXT,
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
    (pa.types.is_null, TEXT),
    (pa.types.is_large_string, TEXT),
    (pa.types.is_string_view, TEXT),
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
