"""The types of columns in messages of the Kafka Connect handler: their schemas, and how values are written."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from ggfmt.columnar.by_value import by_value, json_texts, json_values
from ggfmt.columnar.json_image import JsonValues, Values
from ggfmt.columnar.pieces import Encoding
from ggfmt.columnar.strings import json_booleans, json_strings
from ggfmt.formats.api.writing import NOT_FINITE
from ggfmt.formats.connect import schemas as connect
from ggfmt.formats.connect.decimals import encoded
from ggfmt.formats.connect.values import millis, whole
from ggfmt.formats.goldengate.kafkaconnect import KafkaConnectOptions
from ggfmt.java.numbers import double_text, float_text, single
from ggfmt.model.table import Kind, SqlType

_INT64_DIGITS, _DOUBLE_DIGITS = 18, 15  # that any whole number, and any decimal one, may have
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)


@dataclass(frozen=True)
class ColumnType:
    """How a column is written: its Connect schema, less `optional` and the name of the field, and what makes JSON
    values of its texts. `wanted` says in words what the values have to be; `cut`: times may have more than is
    written."""

    schema: dict[str, Any]
    values: Values
    wanted: str = "a text"
    cut: bool = False


def column_type(type: SqlType, options: KafkaConnectOptions) -> ColumnType:
    """The type of a column; by manual and messages of 21.1, release 12.3 and later ones do not differ."""
    kind = type.kind
    if options.treat_all_columns_as_strings:
        return _STRING
    if kind is Kind.BOOLEAN:
        return ColumnType({"type": "boolean"}, json_booleans, "`true` or `false`")
    if kind is Kind.FLOAT:
        return ColumnType({"type": "float"}, by_number(_float), "a number that a float can be")
    if kind is Kind.DOUBLE:
        return _DOUBLE
    if kind in (Kind.DECIMAL, Kind.NUMBER) and options.enable_decimal_logical_type:
        return _decimal(type, options)
    if kind is Kind.INTEGER or (kind is Kind.DECIMAL and type.scale == 0 and _fits(type, _INT64_DIGITS)):
        return ColumnType({"type": "int64"}, whole, "a whole number of 64 bits")
    if kind in (Kind.DECIMAL, Kind.NUMBER):
        known = kind is Kind.DECIMAL and type.precision is not None and _fits(type, _DOUBLE_DIGITS)
        return _STRING if options.map_large_numbers_as_strings and not known else _DOUBLE
    if kind in (Kind.DATE, Kind.TIMESTAMP) and options.enable_timestamp_logical_type:
        schema = {"type": "int64", "name": connect.TIMESTAMP, "version": 1}
        return ColumnType(schema, millis, "a time stamp", cut=True)
    return _STRING


def _fits(type: SqlType, digits: int) -> bool:
    return type.precision is None or type.precision <= digits


def _decimal(type: SqlType, options: KafkaConnectOptions) -> ColumnType:
    scale = options.oracle_number_scale if type.kind is Kind.NUMBER or type.scale is None else type.scale
    schema = {"type": "bytes", "name": connect.DECIMAL, "version": 1, "parameters": {"scale": str(scale)}}
    values = json_texts(by_value(partial(encoded, scale=scale)))
    return ColumnType(schema, values, f"a number of at most {scale} digits behind its point")


def by_number(text_of: Callable[[float], str]) -> Values:
    """JSON values of numbers, as Java prints them; strings of what JSON has no numbers for, as Jackson writes them."""

    def text(value: str) -> str | None:
        if value in NOT_FINITE:
            return f'"{text_of(float(value))}"'
        number = float(value) if _NUMBER.fullmatch(value) else math.inf
        return text_of(number) if math.isfinite(number) else None

    return json_values(by_value(text))


def _float(number: float) -> str:
    try:
        return float_text(single(number)) if math.isfinite(number) else float_text(number)
    except OverflowError:
        raise ValueError from None


def _texts(values: pa.StringArray) -> JsonValues:
    return json_strings(values, Encoding.JACKSON), []


_STRING = ColumnType({"type": "string"}, _texts)
_DOUBLE = ColumnType({"type": "double"}, by_number(double_text), "a number that a double can be")
