"""Messages in JSON that ggfmt knows and does not read, so that an error can name them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ggfmt.formats.api.reading import Chunk
from ggfmt.formats.json.files import find_layout, preamble, record_spans
from ggfmt.formats.json.values import decode

_OF_OPERATIONS = frozenset(
    {"table", "op_type", "op_ts", "pos", "current_ts", "primary_keys", "tokens", "before", "after"}
)


class Unread(NamedTuple):
    """What messages are, and what to do to have ggfmt read them."""

    what: str
    help: str


JSON_ROW = Unread(
    "`json_row` of GoldenGate, whose columns stand beside `op_type`", "read it as `--input-format json_row`"
)
MONGODB = Unread(
    "a change of MongoDB by Debezium, whose images are documents in texts",
    "have `ExtractNewDocumentState` make rows of the documents",
)
DMS = Unread(
    "a record of AWS DMS, with `record-type` in `metadata`", "have the changes written in a format that is read"
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


def unread(head: bytes) -> Unread | None:
    """What the first record of a file is, of what ggfmt does not read; None if it is none of that."""
    layout = find_layout(head, False)
    head = head[preamble(head) :]
    for start, end in record_spans(Chunk("", 0, head, layout)):
        try:
            record = decode(head[start:end])
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            return unread_record(record)
    return None


def unread_record(record: Mapping[str, Any]) -> Unread | None:
    """What a record is by its members, of what ggfmt does not read."""
    payload, metadata = record.get("payload"), record.get("metadata")
    if isinstance(payload, dict) and is_mongodb(payload):
        return MONGODB
    if is_json_row(record):
        return JSON_ROW
    if is_mongodb(record):
        return MONGODB
    if isinstance(metadata, dict) and "record-type" in metadata and "data" in record:
        return DMS
    return None
