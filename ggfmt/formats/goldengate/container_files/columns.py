"""Records of container files in columns: Avro data as Arrow's record batches.

The native kernel decodes what is regular, and fastavro the rest. A required field has no nulls, also where the image
that it belongs to is null: Parquet writers of Arrow demand that.
"""

from __future__ import annotations

import io
from decimal import Decimal
from functools import cached_property
from typing import Any, cast

import fastavro
import pyarrow as pa

from ggfmt.formats.avro import programs
from ggfmt.formats.avro.containers import CorruptContainerError
from ggfmt.formats.avro.programs import Program
from ggfmt.formats.avro.schemas import DECODE_ERRORS, Schema, without_logical_types
from ggfmt.formats.goldengate.container_files.fields import Field, FieldType, Record
from ggfmt.kernels import kernel

_NAME, _VALUE = (pa.field(name, pa.string(), nullable=False) for name in ("key", "value"))
# The type of fields in Arrow, their type in programs, and the value of a required field without one.
_PLAIN: dict[FieldType, tuple[pa.DataType, int, Any]] = {
    FieldType.STRING: (pa.string(), programs.STRING, ""),
    FieldType.LONG: (pa.int64(), programs.LONG, 0),
    FieldType.FLOAT: (pa.float32(), programs.FLOAT, 0.0),
    FieldType.DOUBLE: (pa.float64(), programs.DOUBLE, 0.0),
    FieldType.BOOLEAN: (pa.bool_(), programs.BOOLEAN, False),
    FieldType.BYTES: (pa.binary(), programs.BYTES, b""),
    FieldType.DECIMAL: (pa.binary(), programs.BYTES, b"\0"),
    FieldType.TIMESTAMP: (pa.int64(), programs.LONG, 0),
}
_COLLECTIONS: dict[FieldType, pa.DataType] = {
    FieldType.STRINGS: pa.list_(pa.field("array", pa.string(), nullable=False)),
    FieldType.STRING_MAP: pa.map_(_NAME.type, cast("pa.DataType", _VALUE)),
}


class RecordColumns:
    """Decodes records of one schema into record batches. `typed`: decimals and times are such; else decimals are the
    bytes of their unscaled numbers, and times are longs."""

    def __init__(self, schema: Schema, record: Record, typed: bool) -> None:
        self._schema = schema
        self._record = record
        self._typed = typed
        self.kernel = kernel(lambda native: _decoder(native, record, typed))

    @cached_property
    def schema(self) -> pa.Schema:
        return pa.schema([self._arrow_field(field) for field in self._record.fields])

    def decode(self, data: bytes, count: int) -> pa.RecordBatch:
        """Decode `count` records, which are all of `data`. Raises: CorruptContainerError if they are not."""
        if count > len(data):  # a record has at least one byte
            raise CorruptContainerError("a block has fewer records than it declares")
        buffers = None if self.kernel is None else self.kernel.decode(data, count)
        try:
            if buffers is None:
                arrays = self._decode_singly(data, count)
            else:
                columns = iter(buffers)
                arrays = [self._array(field, columns, count) for field in self._record.fields]
            batch = pa.RecordBatch.from_arrays(arrays, schema=self.schema)
            if self._typed:
                batch.validate(full=True)  # that decimals have no more digits than their type
        except DECODE_ERRORS:
            raise CorruptContainerError("the data of a block does not match the schema") from None
        return batch

    def _arrow_field(self, field: Field) -> pa.Field[Any]:
        return pa.field(field.name, self._arrow_type(field), nullable=field.optional)

    def _arrow_type(self, field: Field) -> pa.DataType:
        if field.type is FieldType.RECORD:
            return pa.struct([self._arrow_field(inner) for inner in field.fields])
        if field.type in _COLLECTIONS:
            return _COLLECTIONS[field.type]
        if self._typed and field.type is FieldType.DECIMAL:
            return pa.decimal128(field.precision, field.scale)
        if self._typed and field.type is FieldType.TIMESTAMP:
            return pa.timestamp("us")
        return _PLAIN[field.type][0]

    def _array(self, field: Field, columns: Any, count: int) -> pa.Array[Any]:
        rows, validity, nulls, ends, data = next(columns)
        head = [pa.py_buffer(validity) if nulls and field.optional else None]
        nulls = nulls if field.optional else 0
        kind = self._arrow_type(field)
        if field.type is FieldType.RECORD:
            children = [self._array(inner, columns, count) for inner in field.fields]
            return pa.Array.from_buffers(kind, count, head, nulls, children=children)
        if field.type is FieldType.STRINGS:
            items = _texts(next(columns))
            return pa.Array.from_buffers(kind, count, [*head, pa.py_buffer(ends)], nulls, children=[items])
        if field.type is FieldType.STRING_MAP:
            names, values = _texts(next(columns)), _texts(next(columns))
            entries = pa.Array.from_buffers(pa.struct([_NAME, _VALUE]), len(names), [None], 0, children=[names, values])
            return pa.Array.from_buffers(kind, count, [*head, pa.py_buffer(ends)], nulls, children=[entries])
        if ends is not None:
            head.append(pa.py_buffer(ends))
        return pa.Array.from_buffers(kind, rows, [*head, pa.py_buffer(data)], nulls)

    @cached_property
    def _parsed(self) -> Any:
        return fastavro.parse_schema(without_logical_types(self._schema))

    def _decode_singly(self, data: bytes, count: int) -> list[pa.Array[Any]]:
        stream = io.BytesIO(data)
        records: list[Any] = [fastavro.schemaless_reader(stream, self._parsed, None) for _ in range(count)]
        if stream.tell() != len(data):
            raise ValueError("data follows the last record")
        return [self._from_values(field, [record[field.name] for record in records]) for field in self._record.fields]

    def _from_values(self, field: Field, values: list[Any]) -> pa.Array[Any]:
        if field.type is FieldType.RECORD:
            children = [
                self._from_values(inner, [None if value is None else value[inner.name] for value in values])
                for inner in field.fields
            ]
            absent = pa.array([value is None for value in values], pa.bool_())
            return pa.StructArray.from_arrays(children, fields=[*map(self._arrow_field, field.fields)], mask=absent)
        if not field.optional and field.type in _PLAIN:
            *_, blank = _PLAIN[field.type]
            values = [blank if value is None else value for value in values]
        if field.type is FieldType.STRING_MAP:
            values = [list(value.items()) for value in values]
        if field.type is FieldType.DECIMAL and self._typed:
            values = [None if value is None else _decimal(value, field.scale) for value in values]
        return pa.array(values, self._arrow_type(field))


def _decimal(data: bytes, scale: int) -> Decimal:
    number = int.from_bytes(data, "big", signed=True)
    return Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -scale))


def _texts(column: Any) -> pa.Array[Any]:
    rows, _, _, ends, data = column
    return pa.Array.from_buffers(pa.string(), rows, [None, pa.py_buffer(ends), pa.py_buffer(data)], 0)


def _decoder(native: Any, record: Record, typed: bool) -> Any:
    places = _Places(typed)
    fields = tuple(places.program(field) for field in record.fields)
    return native.AvroColumns(programs.record(fields), places.count)


class _Places:
    """Makes the programs of fields and counts the columns, in the order in which `RecordColumns` takes them."""

    def __init__(self, typed: bool) -> None:
        self._typed = typed
        self.count = 0

    def program(self, field: Field) -> Program:
        place = self._next()
        if field.type is FieldType.RECORD:
            fields = tuple(map(self.program, field.fields))
            node: Program = (*programs.record(fields), programs.GROUP, place)
        elif field.type is FieldType.STRINGS:
            node = (programs.ARRAY, programs.PLAIN, None, (), (self._item(),), programs.LIST, place)
        elif field.type is FieldType.STRING_MAP:
            self._next()  # of the names
            node = (programs.MAP, programs.PLAIN, None, (), (self._item(),), programs.LIST, place)
        elif field.type is FieldType.DECIMAL and self._typed:
            node = (programs.BYTES, programs.DECIMAL, field.scale, (), (), programs.PUT, place)
        else:
            node = (_PLAIN[field.type][1], programs.PLAIN, None, (), (), programs.PUT, place)
        if not field.optional:
            return node
        null: Program = (programs.NULL, programs.PLAIN, None, (), ())
        return (programs.UNION, programs.PLAIN, None, (), (null, node))

    def _item(self) -> Program:
        return (programs.STRING, programs.PLAIN, None, (), (), programs.ITEM, self._next())

    def _next(self) -> int:
        self.count += 1
        return self.count - 1
