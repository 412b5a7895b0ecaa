"""From decoded Avro messages to operations."""

from __future__ import annotations

import base64
from array import array
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import fastavro
import pyarrow as pa
from fastavro.types import Schema as FastSchema

from ggfmt.arrow.arrays import StringMapArray
from ggfmt.columnar.columns import MISSING, int64s, text_column, texts, token_maps
from ggfmt.columnar.timestamps import times_of_micros
from ggfmt.formats.avro.schemas import without_logical_types
from ggfmt.formats.goldengate.avro.described import (
    Schema,
    column_types,
    flags_of,
    is_by_image,
    is_decimal,
    is_timestamp,
)
from ggfmt.formats.goldengate.metacolumn_roles import Roles
from ggfmt.formats.goldengate.metacolumns import MetaColumn
from ggfmt.model.change import OP_TYPES, ChangeBatch, Image, ImageColumn
from ggfmt.model.table import TableDef

_EPOCH = datetime(1970, 1, 1)


class Plan:
    """How the messages of one schema become operations of one definition. `metadata` are the metadata columns, one of
    them the operation type; `keys` are the words for operation types."""

    def __init__(self, schema: Schema, table: TableDef, keys: Sequence[str], metadata: Sequence[MetaColumn]) -> None:
        self.table = table
        self.decode: FastSchema = fastavro.parse_schema(without_logical_types(schema))
        types = column_types(schema, metadata)
        self._texts = {name: _text_of(kind) for name, kind in types.items()}
        self.types = types
        self.by_image = is_by_image(schema)
        self.unknown = [name for name in types if name not in table.column_names]
        self.flags = flags_of(schema, metadata)
        self.names = [column.name for column in metadata]
        self.roles = roles = Roles.of(metadata)
        assert roles.op is not None
        self.op_field = self.names[roles.op]
        self.kinds = kinds_of(keys)

    def kind(self, message: dict[str, Any]) -> str | None:
        return self.kinds.get(message[self.op_field])

    def op_key(self, message: dict[str, Any]) -> str:
        return str(message[self.op_field])

    def position(self, message: dict[str, Any]) -> str | None:
        position = self.roles.position
        return None if position is None else message[self.names[position]]

    def images(self, messages: Sequence[dict[str, Any]], kinds: Sequence[str]) -> tuple[Image, Image]:
        """The before and after images of decoded messages."""
        if self.by_image:
            befores, afters = ([message[name] for message in messages] for name in ("before", "after"))
            return self._image(befores), self._image(afters)
        rows = [None if kind == "T" else message for message, kind in zip(messages, kinds, strict=True)]
        columns = self._image(rows).columns
        delete = pa.array([kind == "D" for kind in kinds])
        return Image(columns, delete), Image(columns, pa.array([kind in ("I", "U") for kind in kinds]))

    def batch(self, messages: Sequence[dict[str, Any]], ordinals: array[int], tokens: bool) -> ChangeBatch:
        """The operations of decoded messages, with their tokens if they are asked for."""
        kinds = [self.kind(message) or "" for message in messages]
        before, after = self.images(messages, kinds)
        return ChangeBatch(
            self.table,
            texts(kinds),
            self._times(messages),
            self._at(messages, self.roles.position),
            before,
            after,
            int64s(ordinals),
            self._tokens(messages) if tokens else None,
            None if self.by_image else pa.repeat(pa.scalar(False), len(messages)),
        )

    def _at(self, messages: Sequence[dict[str, Any]], place: int | None) -> pa.StringArray:
        """The texts of a metadata column; nulls if there is none."""
        if place is None:
            return pa.nulls(len(messages), pa.string())
        return texts([message[self.names[place]] for message in messages])

    def _times(self, messages: Sequence[dict[str, Any]]) -> pa.StringArray:
        if self.roles.op_ts is None and self.roles.micros is not None:
            return times_of_micros(self._at(messages, self.roles.micros))
        return self._at(messages, self.roles.op_ts)

    def _tokens(self, messages: Sequence[dict[str, Any]]) -> StringMapArray | None:
        """The tokens: those of the field with all of them, else those that are fields of their own."""
        roles = self.roles
        if roles.tokens is not None:
            return token_maps(message[self.names[roles.tokens]] for message in messages)
        if not roles.single:
            return None
        named = [(self.names[place], token) for place, token in roles.single]
        return token_maps({token: message[name] for name, token in named if message[name]} for message in messages)

    def _image(self, images: Sequence[dict[str, Any] | None]) -> Image:
        columns = tuple(self._column(name, images) for name in self.table.column_names)
        return Image(columns, pa.array([image is not None for image in images], pa.bool_()))

    def _column(self, name: str, images: Sequence[dict[str, Any] | None]) -> ImageColumn:
        show = self._texts.get(name, _text)
        flag = self.flags.get(name, "")
        return text_column(
            [
                MISSING if image is None or image.get(flag) or name not in image else show(image[name])
                for image in images
            ]
        )


def kinds_of(keys: Sequence[str]) -> dict[str, str]:
    """The operation types by the words for them; of two with one word the first."""
    return {key: OP_TYPES[place] for place, key in reversed(list(enumerate(keys)))}


def _text_of(kind: Schema) -> Callable[[Any], str | None]:
    """What makes a text of a value of a type."""
    if is_decimal(kind):
        return partial(_decimal_text, scale=kind["scale"])
    return _time_text if is_timestamp(kind) else _text


def _time_text(value: int | None) -> str | None:
    """A time as trails have it, with six digits of a second; a number beyond the years 1 to 9999 stays one."""
    if value is None:
        return None
    try:
        return (_EPOCH + timedelta(microseconds=value)).isoformat(" ", "microseconds")
    except OverflowError:
        return str(value)


def _decimal_text(value: bytes | None, scale: int) -> str | None:
    """A decimal as Java's `BigDecimal.toPlainString()` shows it: with all digits of its scale."""
    if value is None:
        return None
    number = int.from_bytes(value, "big", signed=True)
    digits = str(abs(number)).zfill(scale + 1)
    sign = "-" if number < 0 else ""
    return f"{sign}{digits[:-scale]}.{digits[-scale:]}" if scale else sign + digits


def _text(value: object) -> str | None:
    """A decoded value as the text of a column."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    return base64.b64encode(value).decode() if isinstance(value, bytes) else repr(value)
