"""Values as Qlik Replicate writes them in JSON, and as the model has them, a column at once."""

from __future__ import annotations

import base64
import binascii

from ggfmt.columnar.json_text import Values, json_booleans, json_numbers, json_texts
from ggfmt.columnar.strings import booleans, by_value
from ggfmt.formats.records.dialect import Convert, converting
from ggfmt.model.table import Kind


def _from_hex(text: str) -> str:
    return base64.b64encode(binascii.unhexlify(text)).decode()


def _to_hex(text: str) -> str:
    return base64.b64decode(text, validate=True).hex().upper()


# How the values of JSON become those of the model, and how they are written.
CONVERTS: dict[Kind, Convert] = {
    Kind.BINARY: converting(by_value(_from_hex)),
    Kind.BOOLEAN: converting(booleans),
}
VALUES: dict[Kind, Values] = {
    Kind.BINARY: json_texts(by_value(_to_hex)),
    Kind.BOOLEAN: json_booleans,
    Kind.INTEGER: json_numbers,
    Kind.FLOAT: json_numbers,
    Kind.DOUBLE: json_numbers,
}
