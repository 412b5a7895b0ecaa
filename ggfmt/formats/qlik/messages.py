"""The members of Qlik Replicate's messages that their readers know."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw

from ggfmt.formats.records.dialect import ABSENT

MAGIC = "atMSG"


class QlikColumn(msgspec.Struct, gc=False):
    """A column in a metadata message; 0 is a size that does not apply."""

    ordinal: int
    type: str
    length: int | None = None
    precision: int | None = None
    scale: int | None = None
    primaryKeyPosition: int | None = None
    nullable: bool | None = None


class QlikStructure(msgspec.Struct):
    tableColumns: dict[str, QlikColumn]


class QlikLineage(msgspec.Struct, gc=False):
    table: str
    schema: str | None = None
    server: str | None = None
    task: str | None = None
    tableVersion: Any = None
    timestamp: Any = None


class QlikHeaders(msgspec.Struct, gc=False):
    """The headers of a change; masks are hexadecimal digits."""

    operation: str | None = None
    changeSequence: str | int | None = None
    timestamp: str | None = None
    streamPosition: str | int | None = None
    transactionId: str | int | None = None
    changeMask: str | None = None
    columnMask: str | None = None
    transactionEventCounter: str | int | None = None
    transactionLastEvent: str | bool | None = None
    externalSchemaId: str | int | None = None


class QlikBody(msgspec.Struct, gc=False):
    """The members of `message`, or of a message without an envelope.

    `data` and `beforeData` are JSON, or from other encodings dicts of texts. Headers may be members of the message,
    with names that start with `headers_`.
    """

    data: Raw = ABSENT
    beforeData: Raw = ABSENT
    headers: QlikHeaders | None = None
    operation: str | None = None
    schema: str | None = None
    table: str | None = None
    headers_operation: str | None = None
    headers_changeSequence: str | int | None = None
    headers_timestamp: str | None = None
    headers_streamPosition: str | int | None = None
    headers_transactionId: str | int | None = None
    headers_changeMask: str | None = None
    headers_columnMask: str | None = None
    headers_transactionEventCounter: str | int | None = None
    headers_transactionLastEvent: str | bool | None = None
    headers_externalSchemaId: str | int | None = None
    schemaId: str | None = None
    lineage: QlikLineage | None = None
    tableStructure: QlikStructure | None = None
    dataSchema: str | None = None

    def flattened(self) -> QlikHeaders:
        """The headers that are members of the message."""
        return QlikHeaders(**{name: getattr(self, f"headers_{name}") for name in QlikHeaders.__struct_fields__})


class QlikRecord(QlikBody, gc=False):
    """A message with its envelope, as far as it has one."""

    magic: str | None = None
    type: str | None = None
    messageSchemaId: str | None = None
    messageSchema: str | None = None
    message: QlikBody | None = None
