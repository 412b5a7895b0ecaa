"""Messages in JSON that ggfmt knows and does not read, so that an error can name them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ggfmt.formats.json.files import head_objects

_OF_OPERATIONS = frozenset(
    {"table", "op_type", "op_ts", "pos", "current_ts", "primary_keys", "tokens", "before", "after"}
)


class UnsupportedMessages(NamedTuple):
    """What messages are, and what to do to have ggfmt read them."""

    what: str
    help: str


JSON_ROW = UnsupportedMessages(
    "`json_row` of GoldenGate, whose columns stand beside `op_type`", "read it as `--input-format json_row`"
)
MONGODB = UnsupportedMessages(
    "a change of MongoDB by Debezium, whose images are documents in texts",
    "have `ExtractNewDocumentState` make rows of the documents",
)


def is_json_row(members: Mapping[str, Any]) -> bool:
    """Whether the members of a record are those of an operation in `json_row`, which are the columns too."""
    if "table" not in members or members.get("op_type") not in ("I", "U", "D"):
        return False
    return "before" not in members and "after" not in members and not _OF_OPERATIONS.issuperset(members)


def is_mongodb(members: Mapping[str, Any]) -> bool:
    """Whether the members of an envelope of Debezium are those of a change of a document."""
    source = members.get("source")
    texts = any(isinstance(members.get(image), str) for image in ("before", "after"))
    return texts and isinstance(source, dict) and "collection" in source


def unread(head: bytes) -> UnsupportedMessages | None:
    """Recognize the first record of a file that ggfmt does not read; None if it is another record."""
    first = next(head_objects(head), None)
    return None if first is None else unread_record(first)


def unread_record(record: Mapping[str, Any]) -> UnsupportedMessages | None:
    """What a record is by its members, of what ggfmt does not read."""
    payload = record.get("payload")
    if isinstance(payload, dict) and is_mongodb(payload):
        return MONGODB
    if is_json_row(record):
        return JSON_ROW
    if is_mongodb(record):
        return MONGODB
    return None
