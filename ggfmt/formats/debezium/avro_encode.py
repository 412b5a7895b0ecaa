"""Values of Debezium in Avro: the same that JSON has, with the same Connect schemas, in Avro's binary encoding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import as_strings, non_null_values
from ggfmt.columnar.avro import (
    NULL,
    VALUE,
    AvroEncoder,
    Encoded,
    optional_booleans,
    optional_doubles,
    optional_floats,
    optional_longs,
    optional_strings,
    zigzag_varint,
)
from ggfmt.columnar.by_value import rows_where
from ggfmt.columnar.join import join
from ggfmt.columnar.json_image import Values
from ggfmt.formats.connect.decimals import bytes_of
from ggfmt.formats.debezium.encode import Encoding
from ggfmt.model.table import Kind

_BINARY = pa.binary()


def encoder(kind: Kind, encoding: Encoding) -> AvroEncoder:
    """What makes unions of null and a value of texts of a column."""
    type = encoding.schema["type"]
    if type == "boolean":
        return optional_booleans
    if type == "float32":
        return optional_floats
    if type == "float64":
        return optional_doubles
    if type in ("int32", "int64"):
        return _of_json(encoding.values, optional_longs, lambda text: text)
    if type == "bytes" and kind is Kind.BINARY:
        return _by_value(_decoded)
    if type == "bytes":
        return _of_json(encoding.values, _by_value(_decoded), _unquoted)
    if type == "struct":
        return _of_json(encoding.values, _by_value(_variable), lambda text: text)
    return optional_strings if encoding.as_it_is else _of_json(encoding.values, optional_strings, _unquoted)


def _of_json(values: Values, encode: AvroEncoder, text_of: Callable[[pa.StringArray], pa.StringArray]) -> AvroEncoder:
    """What encodes the JSON values that stand for texts; rows whose text is no value of the type are told."""

    def encoder(column: pa.StringArray) -> Encoded:
        made, wrong = values(column)
        if wrong:
            return [NULL], wrong
        json = join([made])
        there = pc.and_(column.is_valid(), pc.not_equal(json, "null"))
        return encode(pc.if_else(there, text_of(json), pa.scalar(None, pa.string())))

    return encoder


def _unquoted(json: pa.StringArray) -> pa.StringArray:
    """The texts of JSON strings that have nothing to escape."""
    return pc.utf8_slice_codeunits(json, 1, -1)


def _by_value(make: Callable[[str], bytes]) -> AvroEncoder:
    """What encodes each distinct text by a function that raises a ValueError for a wrong one."""

    def encoder(column: pa.StringArray) -> Encoded:
        distinct = column.dictionary_encode()
        made: list[bytes | None] = []
        for text in non_null_values(as_strings(distinct.dictionary)):
            try:
                made.append(VALUE + make(text))
            except ValueError:
                made.append(None)
        values = pa.array(made, _BINARY).take(distinct.indices)
        wrong = rows_where(pc.and_(column.is_valid(), values.is_null()))
        return [pc.fill_null(values, pa.scalar(NULL, _BINARY))], wrong

    return encoder


def _decoded(text: str) -> bytes:
    data = bytes_of(text)
    if data is None:
        raise ValueError
    return zigzag_varint(len(data)) + data


def _variable(text: str) -> bytes:
    """A VariableScaleDecimal."""
    value: dict[str, Any] = msgspec.json.decode(text)
    return zigzag_varint(value["scale"]) + _decoded(value["value"])
