"""Records of Debezium decoded: members of an envelope stay as they are; other records are told apart by theirs."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec import Raw

from ggfmt.formats.records.dialect import ABSENT
from ggfmt.formats.records.members import KeepingDecoder


class DebeziumRecord(msgspec.Struct, gc=False, rename={"raw": "\x7fraw"}):
    """The known members of an envelope, or of what surrounds it; `raw` is the whole record if it is neither."""

    schema: Raw = ABSENT
    payload: Raw = ABSENT
    before: Raw = ABSENT
    after: Raw = ABSENT
    source: Raw = ABSENT
    op: Raw = ABSENT
    transaction: Raw = ABSENT
    ts_ms: Raw = ABSENT
    ts_us: Raw = ABSENT
    ts_ns: Raw = ABSENT
    raw: Raw = ABSENT

    @property
    def is_envelope(self) -> bool:
        there = self.source is not ABSENT or self.after is not ABSENT or self.before is not ABSENT
        return there and self.op is not ABSENT

    @property
    def is_payload(self) -> bool:
        """Whether the record is a `schema` and a `payload`."""
        return self.payload is not ABSENT and self.schema is not ABSENT and self.op is ABSENT


class RecordDecoder(KeepingDecoder):
    """Decodes records, or what is in their `payload`."""

    def __init__(self) -> None:
        super().__init__(DebeziumRecord, lambda record: bool(record.is_envelope or record.is_payload))


_TRANSACTION = {b'"BEGIN"': "transaction begin", b'"END"': "transaction end"}
_NOTIFICATION = {"id", "aggregate_type", "type"}
_SIGNALS = frozenset(
    f'"{kind}"'.encode()
    for kind in (
        "log", "schema-changes", "execute-snapshot", "execute-incremental-snapshot", "stop-snapshot", "pause-snapshot",
        "resume-snapshot", "snapshot-window-open", "snapshot-window-close",
    )
)  # fmt: skip
_KEYS = ({"databaseName"}, {"serverName"})


def kind_of(members: Mapping[str, Raw], schema_name: str | None) -> str | None:
    """The kind of a record that is neither a change nor a schema change; None if it is none that is known."""
    names = set(members)
    if "status" in names and "id" in names and names & {"ts_ms", "data_collections", "event_count"}:
        kind = _TRANSACTION.get(bytes(members["status"]))
        if kind is not None:
            return kind
    if "ts_ms" in names and names <= {"ts_ms", "ts_us", "ts_ns"}:
        return "heartbeat"
    if names >= _NOTIFICATION and names <= _NOTIFICATION | {"additional_data", "timestamp"}:
        return "notification"
    if names in ({"type", "data"}, {"id", "type", "data"}) and bytes(members["type"]) in _SIGNALS:
        return "signal"
    if names in _KEYS or (schema_name or "").endswith("Key"):
        return "key"
    return None
