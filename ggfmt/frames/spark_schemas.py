"""Spark's schemas as Arrow's, for the types of frames of operations.

PySpark's own function has had other parameters in every version. Only modules that need a running Spark import this
one: to load pyspark takes longer than to read a small file.
"""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql.types import ArrayType, DataType, DecimalType, MapType, StructType

from ggfmt.diagnostics.diagnostic import Diagnostic, UsageError
from ggfmt.frames.column_types import INSTANT

_ARROW: dict[str, pa.DataType] = {
    "string": pa.string(),
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "date": pa.date32(),
    "timestamp": INSTANT,
    "timestamp_ntz": pa.timestamp("us"),
    "binary": pa.binary(),
    "void": pa.null(),
}


def arrow_schema(schema: StructType) -> pa.Schema:
    return pa.schema([(field.name, _arrow(field.dataType, field.name)) for field in schema.fields])


def _arrow(type: DataType, column: str) -> pa.DataType:
    if isinstance(type, StructType):
        return pa.struct([(field.name, _arrow(field.dataType, f"{column}.{field.name}")) for field in type.fields])
    if isinstance(type, MapType):
        return pa.map_(_arrow(type.keyType, column), _arrow(type.valueType, column))
    if isinstance(type, ArrayType):
        return pa.list_(_arrow(type.elementType, column))
    if isinstance(type, DecimalType):
        return pa.decimal128(type.precision, type.scale)
    name = type.simpleString()
    name = "string" if name.startswith(("string", "varchar", "char")) else name  # with a collation or a length
    if name not in _ARROW:
        message = f"the column `{column}` has the type {name}, which operations cannot have"
        raise UsageError(Diagnostic("GG540", message, help="cast it to a text"))
    return _ARROW[name]
