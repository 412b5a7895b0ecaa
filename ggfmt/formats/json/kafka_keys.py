"""What the key of a message in Kafka may be where only a TAB says so, as `kafka-console-consumer` prints it.

A key is one JSON value that is no change record (a number, a text, the columns of a primary key, with or without a
schema of Connect around them), or a text in which no change record stands. Anything else may be records that another
tool wrote before a TAB. They must not vanish as a key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from ggfmt.formats.json.values import decode

# Members of change records that hold an object or array: an image, or what describes the change.
_PARTS = {"before", "after", "data", "old", "message", "meta", "metadata", "headers", "source", "columns", "def"}
# Members that together identify a change record, whatever their values are.
_SIGNS = (
    {"table", "op_type"},
    {"qual_table", "op_type"},
    {"ddl", "op_type"},
    {"tableName", "opType"},
    {"before", "after", "op"},
    {"database", "table", "type"},
    {"status", "event_count"},
    {"isDdl"},
    {"headers_operation"},
    {"message_version"},
    {"__op"},
    {"__deleted"},
)
_SCALED = {"scale", "value"}  # Debezium's VariableScaleDecimal: a number of any scale, which may be a key

_START = re.compile(r'\{\s*"')
_MOST_FAILURES = 64  # each takes time in proportion to the text
_lenient = json.JSONDecoder(parse_int=str, strict=False).raw_decode  # Python makes no int of thousands of digits


def is_key(text: bytes) -> bool:
    """Whether the text before a TAB can be a key: no change record stands in it."""
    if b"{" not in text:
        return True
    try:
        value = decode(text)
    except (ValueError, RecursionError):
        return _is_text_key(text.decode("latin-1"))
    return is_key(value.encode(errors="replace")) if isinstance(value, str) else not _holds_record(value)


def _is_text_key(text: str) -> bool:
    """As `is_key`, of a text that is not one JSON value: several values in a row are no key either."""
    try:
        return not any(text.startswith("{") or _holds_record(value) for value in _objects(text))
    except _Unclear:
        return False


class _Unclear(Exception):
    """A text has too many starts of objects that do not end."""


def _objects(text: str) -> Iterator[Any]:
    """The JSON objects in a text, one after the other."""
    place = failures = 0
    while (found := _START.search(text, place)) is not None:
        try:
            value, place = _lenient(text, found.start())
        except (ValueError, RecursionError):
            place = found.start() + 1
            failures += 1
            if failures > _MOST_FAILURES:
                raise _Unclear from None
        else:
            yield value


def _holds_record(value: Any) -> bool:
    """Whether a value is a change record, or an array with one."""
    if isinstance(value, list):
        return any(map(_holds_record, value))
    if not isinstance(value, dict):
        return False
    payload = value.get("payload")
    if isinstance(payload, dict) and value.keys() <= {"schema", "payload"}:
        value = payload
    if any(value.keys() >= sign for sign in _SIGNS):
        return True
    return any(_is_part(value[name]) for name in _PARTS & value.keys())


def _is_part(value: Any) -> bool:
    return isinstance(value, list) or (isinstance(value, dict) and value.keys() != _SCALED)
