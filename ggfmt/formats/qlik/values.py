"""Values as Qlik Replicate writes them in JSON, and as the model has them, a column at once."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from ggfmt.columnar.json_image import Values
from ggfmt.columnar.strings import json_booleans, json_numbers
from ggfmt.formats.records.dialect import Convert
from ggfmt.formats.records.formatter import quoted
from ggfmt.model.change import ImageColumn
from ggfmt.model.table import Kind

_STRING = pa.string()
_BOOLEANS = pa.array(["0", "1", "false", "true"], _STRING)
_BOOLEAN_TEXTS = pa.array(["false", "true", "false", "true"], _STRING)


def _mapped(values: pa.StringArray, make: Callable[[str], str]) -> tuple[pa.StringArray, list[int]]:
    made: list[str | None] = []
    bad = []
    for row, text in enumerate(values.to_pylist()):
        try:
            made.append(None if text is None else make(text))
        except ValueError:  # binascii.Error is one
            made.append(None)
            bad.append(row)
    return pa.array(made, _STRING), bad


def _from_hex(column: ImageColumn) -> tuple[ImageColumn, list[int]]:
    values, bad = _mapped(column.values, lambda text: base64.b64encode(binascii.unhexlify(text)).decode())
    return ImageColumn(values, column.present), bad


def _to_boolean(column: ImageColumn) -> tuple[ImageColumn, list[int]]:
    places = pc.index_in(column.values, _BOOLEANS)
    bad = pc.indices_nonzero(pc.and_(places.is_null(), column.values.is_valid())).to_pylist()
    return ImageColumn(_BOOLEAN_TEXTS.take(places), column.present), bad


def _to_stamp(column: ImageColumn) -> tuple[ImageColumn, list[int]]:
    """A time stamp may have a `T` between date and time."""
    values = pc.replace_substring_regex(column.values, r"^([0-9]{4}-[0-9]{2}-[0-9]{2})T", r"\1 ")
    return ImageColumn(values, column.present), []


def _hex(values: pa.StringArray) -> tuple[pa.StringArray, list[int]]:
    texts, bad = _mapped(values, lambda text: base64.b64decode(text, validate=True).hex().upper())
    return quoted(texts)[0], bad


# How the values of JSON become those of the model, and how they are written.
CONVERTS: dict[Kind, Convert] = {Kind.BINARY: _from_hex, Kind.BOOLEAN: _to_boolean, Kind.TIMESTAMP: _to_stamp}
VALUES: dict[Kind, Values] = {
    Kind.BINARY: _hex,
    Kind.BOOLEAN: json_booleans,
    Kind.INTEGER: json_numbers,
    Kind.FLOAT: json_numbers,
    Kind.DOUBLE: json_numbers,
}
