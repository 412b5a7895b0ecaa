"""Rows that Spark has left as Parquet, as CSV or Avro; and operations that are unresolved in the shape of frames.

Spark's own CSV has no way to keep every text as it is, and its Avro is a package that pip does not bring.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import narrow, non_null_values
from ggfmt.columnar.typed import as_text
from ggfmt.commit.store import BLOCK_BYTES
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic, Span
from ggfmt.frames.images import image_maps, struct_image
from ggfmt.frames.shapes import GENERIC, IMAGES, MISSING, TEXT
from ggfmt.location import Location
from ggfmt.model.table import Column, TableDef

REASON = "reason"
UNRESOLVED = pa.schema([pa.field(REASON, TEXT), *(field for field in GENERIC if field.name != "tokens")])

_ROWS = 1 << 16  # at a time
_TO_BE_QUOTED = r'[",\r\n]|^$|^\s|\s$'
_AVRO_NAME = r"^[A-Za-z_][A-Za-z0-9_]*$"
_AVRO_TYPES: dict[pa.DataType, Any] = {
    TEXT: "string",
    pa.bool_(): "boolean",
    pa.int32(): "int",
    pa.int64(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.date32(): {"type": "int", "logicalType": "date"},
    pa.timestamp("us", "UTC"): {"type": "long", "logicalType": "timestamp-micros"},
    pa.timestamp("us"): {"type": "long", "logicalType": "local-timestamp-micros"},
}


@dataclass(frozen=True)
class Written:
    """A file that is ready. Nobody has counted the `rows` of what Spark alone has written."""

    location: Location
    size: int
    sha256: str
    rows: int | None = None


@dataclass(frozen=True)
class Conversion:
    """What becomes of a file: `to` is a format, or None where it stays as it is and is only measured; `unresolved`:
    it has typed operations with a reason, of which the generic shape is wanted. The result lies in `directory`, under
    a name that begins with `stem`."""

    table: TableDef
    source: Location
    to: str | None
    directory: Location
    stem: str = ""
    unresolved: bool = False


def convert(task: Conversion, attempt: int) -> Written:
    """Carries a conversion out. `attempt` is unique, so that attempts of one do not meet."""
    if task.to is None:
        return _measured(task.source)
    target = task.directory.child(f"{task.stem}-{attempt}")
    fs, inner = target.file_system()
    if target.is_local:
        fs.create_dir(inner.rpartition("/")[0])
    with task.source.open_file() as stream:
        file = pq.ParquetFile(stream)
        batches: Iterator[pa.RecordBatch] = file.iter_batches(_ROWS)
        schema = file.schema_arrow
        if task.unresolved:
            schema, batches = UNRESOLVED, (_unresolved(batch, task.table) for batch in batches)
        with fs.open_output_stream(inner) as out:
            _WRITERS[task.to](schema, batches, out, task.table)
        rows = file.metadata.num_rows
    written = _measured(target)
    return Written(target, written.size, written.sha256, rows)


def _measured(location: Location) -> Written:
    fs, inner = location.file_system()
    digest, size = sha256(), 0
    with fs.open_input_stream(inner) as stream:
        while block := stream.read(BLOCK_BYTES):
            digest.update(block)
            size += len(block)
    return Written(location, size, digest.hexdigest())


def image_columns(batch: pa.RecordBatch, image: str) -> tuple[pa.StructArray, pa.ListArray[Any]]:
    """The images of typed operations, and the names of the columns that are missing in them."""
    return narrow(batch[image], pa.StructArray), narrow(batch[MISSING[image]], pa.ListArray)


def _unresolved(batch: pa.RecordBatch, table: TableDef) -> pa.RecordBatch:
    """Typed operations as those of all tables, with texts in maps."""
    rows = len(batch)
    names = [field.name for field in batch.schema.field(IMAGES[0]).type]
    of_frame = TableDef(table.full_name, tuple(map(Column, names)))
    images = {
        name: image_maps(struct_image(*image_columns(batch, name), of_frame).image, names, rows) for name in IMAGES
    }
    known = {"table": pa.repeat(pa.scalar(table.full_name, TEXT), rows), **images}
    columns = [known[field.name] if field.name in known else batch[field.name] for field in UNRESOLVED]
    return pa.RecordBatch.from_arrays(columns, schema=UNRESOLVED)


def _parquet(schema: pa.Schema, batches: Iterator[pa.RecordBatch], out: pa.NativeFile, table: TableDef) -> None:
    with pq.ParquetWriter(out, schema, store_schema=False) as writer:
        for batch in batches:
            writer.write_batch(batch)


def _csv(schema: pa.Schema, batches: Iterator[pa.RecordBatch], out: pa.NativeFile, table: TableDef) -> None:
    """As RFC 4180 has it, with line feeds: NULL is an empty field, an empty text is `""`."""
    out.write(_line([_quoted(pa.array([name])) for name in schema.names]))
    for batch in batches:
        if len(batch):
            out.write(_line([_quoted(as_text(column)) for column in batch.columns]))


def _quoted(texts: pa.StringArray) -> pa.StringArray:
    inside = pc.replace_substring(texts, '"', '""')
    quoted = pc.binary_join_element_wise('"', inside, '"', "")
    return pc.fill_null(pc.if_else(pc.match_substring_regex(texts, _TO_BE_QUOTED), quoted, texts), "")


def _line(fields: list[pa.StringArray]) -> bytes:
    lines = pc.binary_join_element_wise(*fields, ",") if len(fields) > 1 else fields[0]
    text: str = "\n".join(non_null_values(lines))
    return text.encode() + b"\n"


def _json(schema: pa.Schema, batches: Iterator[pa.RecordBatch], out: pa.NativeFile, table: TableDef) -> None:
    """Lines of JSON, with members for NULL."""
    for batch in batches:
        for row in batch.to_pylist(maps_as_pydicts="strict"):
            out.write(json.dumps(row, ensure_ascii=False, default=str).encode() + b"\n")


def _avro(schema: pa.Schema, batches: Iterator[pa.RecordBatch], out: pa.NativeFile, table: TableDef) -> None:
    rows = (row for batch in batches for row in batch.to_pylist(maps_as_pydicts="strict"))
    fastavro.writer(out, avro_schema(schema, table), rows, codec="deflate")  # type: ignore[arg-type]


def avro_schema(schema: pa.Schema, table: TableDef) -> dict[str, Any]:
    """The Avro schema of rows: each field a union with null. Abend GG206 for a column whose name Avro cannot have."""
    wrong = [name for name, fits in zip(schema.names, _fit(schema.names), strict=True) if not fits]
    if wrong:
        place = Span(table=table.full_name, field=wrong[0])
        help = "write the rows with `--to parquet`, or rename the column in the definitions"
        raise Abend(Diagnostic("GG206", "Avro has no such names", place, help))
    fields = [{"name": field.name, "type": ["null", _avro_type(field.type)], "default": None} for field in schema]
    return {"type": "record", "name": "row", "namespace": "ggfmt", "doc": table.full_name, "fields": fields}


def _fit(names: list[str]) -> list[bool]:
    return non_null_values(pc.match_substring_regex(pa.array(names, TEXT), _AVRO_NAME))


def _avro_type(type: pa.DataType) -> Any:
    if pa.types.is_decimal(type):
        return {"type": "bytes", "logicalType": "decimal", "precision": type.precision, "scale": type.scale}
    if pa.types.is_map(type):
        return {"type": "map", "values": ["null", "string"]}
    return _AVRO_TYPES[type]


_WRITERS: Mapping[str, Callable[[pa.Schema, Iterator[pa.RecordBatch], pa.NativeFile, TableDef], None]] = {
    "parquet": _parquet,
    "csv": _csv,
    "json": _json,
    "avro": _avro,
}
