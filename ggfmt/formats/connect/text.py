"""JSON texts as Kafka's JSON converter writes them: compact, with Jackson's escapes in UTF-8."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from ggfmt.columnar.json_text import JsonValues, json_strings
from ggfmt.columnar.pieces import CONNECT_ESCAPES, Encoding, TextPiece, escape_json_text
from ggfmt.formats.json.values import compact_json


def connect_strings(values: pa.StringArray) -> TextPiece:
    return json_strings(values, Encoding.CONNECT)


def quoted(values: pa.StringArray) -> JsonValues:
    return connect_strings(values), []


def quote(text: str) -> str:
    return escape_json_text(text, CONNECT_ESCAPES)


def connect_json(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{{','.join(f'{quote(name)}:{connect_json(item)}' for name, item in value.items())}}}"
    if isinstance(value, list):
        return f"[{','.join(map(connect_json, value))}]"
    return quote(value) if isinstance(value, str) else compact_json(value)
