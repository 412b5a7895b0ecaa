"""Container files as Parquet files in the layout of parquet-avro 1.9.0, which GoldenGate 12.3.2.1 has.

* The message has the full name of the Avro record. A union with null is optional, everything else required.
* Lists have the old structure of two levels, and the groups of maps their old names. Texts are `binary (UTF8)`, and
  decimals `binary (DECIMAL(p,s))`. There are no logical types of later versions of Parquet, and Arrow's schema is not
  in the file.
* The footer has the Avro schema as `parquet.avro.schema`, and `writer.model.name=avro`.

Arrow writes the pages. It cannot write such a schema, so the footer is replaced: the levels of a required list of
required items are the same in both structures. Decimals have no statistics, since those of bytes are not in the order
of numbers. Arrow counts the size of a row group in memory; parquet-avro counts it after encoding.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, Literal, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from ggfmt.formats.goldengate.container_files import LZO, ParquetOptions, thrift
from ggfmt.formats.goldengate.container_files.fields import Field, FieldType, Record, conversion_error
from ggfmt.formats.goldengate.container_files.source import ContainerSource, row_groups
from ggfmt.formats.goldengate.container_files.target import HeldTarget

MAGIC = b"PAR1"
_LENGTH_BYTES = 4

# Fields of the structs of parquet.thrift.
_SCHEMA, _ROW_GROUPS, _KEY_VALUES, _CREATED_BY = 2, 4, 5, 6
_COLUMNS = 1
_META_DATA = 3
_PATH_IN_SCHEMA = 3
_TYPE, _REPETITION, _NAME, _CHILDREN, _CONVERTED, _SCALE, _PRECISION = 1, 3, 4, 5, 6, 7, 8


_BOOLEAN, _INT64, _FLOAT, _DOUBLE, _BYTE_ARRAY = 0, 2, 4, 5, 6  # physical types
_REQUIRED, _OPTIONAL, _REPEATED = range(3)
_UTF8, _MAP, _MAP_KEY_VALUE, _LIST, _DECIMAL, _TIMESTAMP_MICROS = 0, 1, 2, 3, 5, 10  # converted types

_LEAVES: dict[FieldType, tuple[int, int | None]] = {
    FieldType.STRING: (_BYTE_ARRAY, _UTF8),
    FieldType.LONG: (_INT64, None),
    FieldType.FLOAT: (_FLOAT, None),
    FieldType.DOUBLE: (_DOUBLE, None),
    FieldType.BOOLEAN: (_BOOLEAN, None),
    FieldType.BYTES: (_BYTE_ARRAY, None),
    FieldType.DECIMAL: (_BYTE_ARRAY, _DECIMAL),
    FieldType.TIMESTAMP: (_INT64, _TIMESTAMP_MICROS),
}
_CODECS: dict[str, Literal["none", "gzip", "snappy"]] = {"UNCOMPRESSED": "none", "GZIP": "gzip", "SNAPPY": "snappy"}


def write_parquet(source: BinaryIO, target: BinaryIO, options: ParquetOptions) -> int:
    """Write a container file, from its first byte to its last, as a Parquet file. Return the number of its records.
    After an error, `target` has no end, so that it is not read as a Parquet file. A row group is in memory at a time.
    Raises: Abend with GG313 for a damaged container file, and with GG217 for LZO or another schema than those of
    ggfmt."""
    if options.compression_codec == LZO:
        raise conversion_error(
            "ggfmt cannot compress Parquet files with LZO",
            help="set `compressionCodec` to GZIP, SNAPPY or UNCOMPRESSED",
        )
    container = ContainerSource(source)
    columns = container.columns(typed=False)
    held = HeldTarget(target)
    writer = pq.ParquetWriter(
        pa.PythonFile(held, "w"),
        columns.schema,
        version="1.0",
        data_page_version="1.0",
        compression=_CODECS[options.compression_codec],
        use_dictionary=options.dictionary_encoding,
        dictionary_pagesize_limit=options.dictionary_page_size,
        data_page_size=options.page_size,
        write_statistics=[".".join(leaf.arrow) for leaf in _leaves(container.record) if leaf.has_order],
        store_schema=False,
    )
    rows = 0
    try:
        for table in row_groups(container.batches(columns), options.row_group_size, columns.schema):
            writer.write_table(table, row_group_size=table.num_rows)
            rows += table.num_rows
            del table  # before the next row group is read
        held.hold()
        writer.close()
        target.write(_with_own_footer(held.held(), container.record, container.schema_text))
    finally:
        held.abandon()
    return rows


class _Leaf(NamedTuple):
    """A column of a Parquet file: its path there and in Arrow, and whether its bytes are in the order of its values."""

    path: tuple[str, ...]
    arrow: tuple[str, ...]
    has_order: bool


def _leaves(record: Record) -> Iterator[_Leaf]:
    for field in record.fields:
        yield from _leaves_of(field, ())


def _leaves_of(field: Field, parents: tuple[str, ...]) -> Iterator[_Leaf]:
    path = (*parents, field.name)
    if field.type is FieldType.RECORD:
        for inner in field.fields:
            yield from _leaves_of(inner, path)
    elif field.type is FieldType.STRINGS:
        yield _Leaf((*path, "array"), (*path, "list", "element"), True)
    elif field.type is FieldType.STRING_MAP:
        for name in ("key", "value"):
            yield _Leaf((*path, "map", name), (*path, "key_value", name), True)
    else:
        yield _Leaf(path, path, field.type is not FieldType.DECIMAL)


def _with_own_footer(end: bytes, record: Record, schema_text: str) -> bytes:
    size = int.from_bytes(end[-len(MAGIC) - _LENGTH_BYTES : -len(MAGIC)], "little")
    start = len(end) - len(MAGIC) - _LENGTH_BYTES - size
    footer = thrift.read_struct(end[start:])
    footer[_SCHEMA] = thrift.structs(schema_elements(record))
    texts = ([name.encode() for name in leaf.path] for leaf in _leaves(record))
    paths = [thrift.Value(thrift.Type.LIST, thrift.Items(thrift.Type.BINARY, names)) for names in texts]
    for group in footer[_ROW_GROUPS].content.contents:
        for column, path in zip(group[_COLUMNS].content.contents, paths, strict=True):
            column[_META_DATA].content[_PATH_IN_SCHEMA] = path
    footer[_KEY_VALUES] = thrift.structs(
        {1: thrift.text(key), 2: thrift.text(value)}
        for key, value in (("parquet.avro.schema", schema_text), ("writer.model.name", "avro"))
    )
    footer[_CREATED_BY] = thrift.text(f"ggfmt, by {footer[_CREATED_BY].content.decode()}")
    data = thrift.struct_bytes(footer)
    return end[:start] + data + len(data).to_bytes(_LENGTH_BYTES, "little") + MAGIC


def schema_elements(record: Record) -> list[thrift.Struct]:
    """Return the schema of a Parquet file: the root, and each element in front of its children."""
    root: thrift.Struct = {_NAME: thrift.text(record.name), _CHILDREN: thrift.i32(len(record.fields))}
    return [root, *(element for field in record.fields for element in _elements(field))]


def _elements(field: Field) -> list[thrift.Struct]:
    repetition = _OPTIONAL if field.optional else _REQUIRED
    if field.type is FieldType.RECORD:
        inner = [element for child in field.fields for element in _elements(child)]
        return [_group(field.name, repetition, len(field.fields)), *inner]
    if field.type is FieldType.STRINGS:
        item = _leaf("array", _REPEATED, FieldType.STRING)
        return [_group(field.name, repetition, 1, _LIST), item]
    if field.type is FieldType.STRING_MAP:
        return [
            _group(field.name, repetition, 1, _MAP),
            _group("map", _REPEATED, 2, _MAP_KEY_VALUE),
            *(_leaf(name, _REQUIRED, FieldType.STRING) for name in ("key", "value")),
        ]
    leaf = _leaf(field.name, repetition, field.type)
    if field.type is FieldType.DECIMAL:
        leaf |= {_SCALE: thrift.i32(field.scale), _PRECISION: thrift.i32(field.precision)}
    return [leaf]


def _group(name: str, repetition: int, children: int, converted: int | None = None) -> thrift.Struct:
    element = {_REPETITION: thrift.i32(repetition), _NAME: thrift.text(name), _CHILDREN: thrift.i32(children)}
    return element if converted is None else {**element, _CONVERTED: thrift.i32(converted)}


def _leaf(name: str, repetition: int, kind: FieldType) -> thrift.Struct:
    physical, converted = _LEAVES[kind]
    element = {_TYPE: thrift.i32(physical), _REPETITION: thrift.i32(repetition), _NAME: thrift.text(name)}
    return element if converted is None else {**element, _CONVERTED: thrift.i32(converted)}
