"""CloudEvents of Debezium's `CloudEventsConverter`, in structured mode with JSON: an event becomes an envelope.

The `data` of an event has the images, with or without a Connect schema. Attributes with a prefix have the rest: the
operation, the members of the source block and those of the transaction. They are texts, and their names have no
underscores.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw

from ggfmt.formats.debezium import SOURCE_NUMBERS, SOURCE_TEXTS, TRANSACTION
from ggfmt.formats.debezium.envelope import FIXED
from ggfmt.formats.debezium.source import SourceBlock
from ggfmt.formats.json.files import CLOUD_EVENT
from ggfmt.formats.json.values import raw_members
from ggfmt.formats.records.dialect import ABSENT, none_if_null
from ggfmt.formats.records.problems import RecordError, decoded, missing_member_error

VERSION = "specversion"
_PREFIX, _TYPE = "iodebezium", "io.debezium."
_MEMBERS = (*SOURCE_NUMBERS, *SOURCE_TEXTS, *SourceBlock.__struct_fields__, *(name for name, *_ in FIXED))
_ATTRIBUTES = {name.replace("_", ""): name for name in _MEMBERS}
_OF_TRANSACTION = {f"tx{name.replace('_', '')}": name for name in TRANSACTION}
_NO_ATTRIBUTES = "configure the converter with `extension.attributes.enable=true`"


def is_event(members: Mapping[str, Any]) -> bool:
    kind = members.get("type")
    return VERSION in members and isinstance(kind, str) and kind.startswith(_TYPE)


def message_of(members: Mapping[str, Raw]) -> bytes:
    """Return the envelope of an event as JSON, with the schema around it if there is one.

    Raises: RecordError if the event is not one of Debezium with JSON in it.
    """
    if not bytes(members.get("type", ABSENT)).startswith(f'"{_TYPE}'.encode()):
        raise RecordError("GG305", f"the record is {CLOUD_EVENT.what}, which ggfmt does not read", CLOUD_EVENT.help)
    data = none_if_null(members.get("data", ABSENT))
    if data is None or not bytes(data).startswith(b"{"):
        help = "configure the converter with `serializer.type=json` and `data.serializer.type=json`"
        raise RecordError("GG305", "the `data` of the event is not JSON, but Avro or other bytes", help)
    images = decoded(raw_members, data, "`data` is not an object")
    schema = None
    if images.keys() == {"schema", "payload"}:
        schema = images["schema"]
        images = decoded(raw_members, images["payload"], "`payload` is not an object")
    own = {name.removeprefix(_PREFIX): value for name, value in members.items() if name.startswith(_PREFIX)}
    op = images.get("op", own.pop("op", None))
    if op is None:
        raise missing_member_error(f"{_PREFIX}op", _NO_ATTRIBUTES, what="the event")
    there = [name for name in _OF_TRANSACTION if none_if_null(own.get(name, ABSENT))]
    transaction = {_OF_TRANSACTION[name]: own.pop(name) for name in there}
    source = {_ATTRIBUTES.get(name, name): value for name, value in own.items()}
    envelope = {"source": source, "op": op, "transaction": transaction or None, **images}
    return msgspec.json.encode(envelope if schema is None else {"schema": schema, "payload": envelope})
