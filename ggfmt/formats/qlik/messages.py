"""The known members of Qlik Replicate's messages.

Masks are parts of a record's identity: the exact reader checks each mask once, and binds it to the columns it leaves
out.
"""

from __future__ import annotations

from dataclasses import replace
from operator import getitem
from typing import TYPE_CHECKING, Annotated, Any, get_args

import msgspec
from msgspec import Raw

from ggfmt.formats.qlik import CHANGE_SEQUENCE, STREAM_POSITION
from ggfmt.formats.records import roles
from ggfmt.formats.records.dialect import ABSENT

MAGIC = "atMSG"

# Conditions: the message has an envelope; headers are members of the message, with a prefix; the message was in Avro.
# Of CHANGE_SEQUENCE and STREAM_POSITION, the header that is a token and not the position is a condition too.
# DESCRIBED: metadata describe the change, of which no more is wanted.
ENVELOPED, FLATTENED, AVRO, DESCRIBED = "enveloped", "flattened", "avro", "described"
PREFIX = "headers_"

_OF_SNAPSHOT = roles.OpToken("I", "snapshot", "true", rank=5)
OPS: roles.Ops = {"INSERT": "I", "UPDATE": "U", "DELETE": "D", "REFRESH": _OF_SNAPSHOT, "READ": _OF_SNAPSHOT}
_FORMS = {form: op for name, op in OPS.items() for form in (name, name.lower())}
_TEXT = roles.STRING | roles.NULL


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

    operation: Annotated[str | None, roles.op(_FORMS)] = None
    timestamp: Annotated[str | None, roles.time(roles.STAMP_TEXT)] = None
    changeSequence: Annotated[
        str | int | None, roles.position(when=STREAM_POSITION), roles.Token(4, unless="", when=CHANGE_SEQUENCE)
    ] = None
    streamPosition: Annotated[
        str | int | None, roles.position(when=CHANGE_SEQUENCE), roles.Token(4, unless="", when=STREAM_POSITION)
    ] = None
    transactionId: Annotated[
        str | int | None, roles.transaction(_TEXT), roles.skip(_TEXT), roles.Token(0, unless="")
    ] = None
    changeMask: Annotated[str | None, roles.skip(_TEXT, when=DESCRIBED), roles.identity()] = None
    columnMask: Annotated[str | None, roles.skip(_TEXT, when=DESCRIBED), roles.identity()] = None
    transactionEventCounter: Annotated[str | int | None, roles.Token(1, unless="")] = None
    transactionLastEvent: Annotated[
        str | bool | None, roles.skip(roles.BOOLEAN | roles.NULL), roles.Token(2, unless="")
    ] = None
    externalSchemaId: Annotated[str | int | None, roles.skip(_TEXT), roles.Token(3, unless="")] = None


def _flattened_field(field: msgspec.structs.FieldInfo) -> tuple[str, Any, Any]:
    kind, *meanings = get_args(field.type)
    made = []
    for meaning in meanings:
        when = FLATTENED if meaning.when is None else PREFIX + meaning.when
        if isinstance(meaning, roles.Token):
            made.append(meaning._replace(name=field.name, when=when))
        else:
            made.append(replace(meaning, when=when))
    return PREFIX + field.name, getitem(Annotated, (kind, *made)), None


if TYPE_CHECKING:
    _FlattenedHeaders = msgspec.Struct
else:
    _FlattenedHeaders = msgspec.defstruct(
        "_FlattenedHeaders", map(_flattened_field, msgspec.structs.fields(QlikHeaders)), gc=False
    )


class QlikBody(_FlattenedHeaders, gc=False):
    """The members of `message`, or of a message without an envelope.

    `data` and `beforeData` are JSON, or from other encodings dicts of texts. Headers may be members of the message,
    with names that start with `headers_`.
    """

    data: Annotated[Raw, roles.row()] = ABSENT
    beforeData: Annotated[Raw, roles.before()] = ABSENT
    schema: Annotated[str | None, roles.identity()] = None
    table: Annotated[str | None, roles.identity()] = None
    operation: Annotated[str | None, roles.skip(roles.ANY, when=AVRO), roles.skip()] = None
    headers: Annotated[
        QlikHeaders | None, roles.skip(roles.NULL, when=FLATTENED), roles.enter(others=True, when=AVRO), roles.enter()
    ] = None
    schemaId: str | None = None
    lineage: QlikLineage | None = None
    tableStructure: QlikStructure | None = None
    dataSchema: str | None = None

    def flattened(self) -> QlikHeaders:
        """Collect the headers that are members of the message."""
        return QlikHeaders(**{name: getattr(self, PREFIX + name) for name in QlikHeaders.__struct_fields__})


class QlikRecord(QlikBody, gc=False):
    """A message with its envelope, or without one."""

    magic: Annotated[str | None, roles.same(f'"{MAGIC}"'.encode(), when=ENVELOPED)] = None
    type: Annotated[str | None, roles.same(b'"DT"', when=ENVELOPED)] = None
    headers: Annotated[
        QlikHeaders | None,
        roles.skip(roles.NULL, when=ENVELOPED),
        roles.skip(roles.NULL, when=FLATTENED),
        roles.enter(),
    ] = None
    messageSchemaId: Annotated[str | None, roles.identity()] = None
    messageSchema: Annotated[str | None, roles.skip(when=ENVELOPED)] = None
    message: Annotated[QlikBody | None, roles.enter(when=ENVELOPED)] = None


class QlikAvroChange(msgspec.Struct, gc=False):
    """A change in Avro as the scanner takes it: JSON by `JsonOfChanges`. `schema` is the number of the schema."""

    schema: Annotated[int, roles.identity()]
    messageSchemaId: Annotated[str | None, roles.identity()]
    message: Annotated[QlikBody, roles.enter(others=True)]
