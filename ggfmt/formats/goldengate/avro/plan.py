"""From decoded Avro messages to operations: what a schema says of its table, and the columns of its messages."""

from __future__ import annotations

import base64
from array import array
from collections.abc import Callable, Sequence
from typing import Any

import fastavro
import pyarrow as pa
from fastavro.types import Schema as FastSchema

from ggfmt.columnar.from_python import MISSING, int64s, text_column, texts, token_maps
from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.formats.goldengate.avro.schema import METADATA, MISSING_SUFFIX
from ggfmt.formats.goldengate.types import AVRO_KINDS
from ggfmt.model.change import OP_TYPES, ChangeBatch, Image, ImageColumn
from ggfmt.model.table import Column, SqlType, TableDef, join_name

Schema = Any  # a parsed JSON document


class Plan:
    """How the messages of one schema become operations of one definition."""

    def __init__(self, schema: Schema, table: TableDef, keys: Sequence[str]) -> None:
        self.table = table
        self.decode: FastSchema = fastavro.parse_schema(schema)
        self.by_image = is_by_image(schema)
        self.unknown = [name for name in column_types(schema) if name not in table.column_names]
        self._kinds = {key: OP_TYPES[place] for place, key in reversed(list(enumerate(keys)))}

    def kind(self, message: dict[str, Any]) -> str | None:
        return self._kinds.get(message["op_type"])

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
            texts([message["op_ts"] for message in messages]),
            texts([message["pos"] for message in messages]),
            before,
            after,
            int64s(ordinals),
            token_maps(message["tokens"] for message in messages) if tokens else None,
            None if self.by_image else pa.repeat(pa.scalar(False), len(messages)),
        )

    def _image(self, images: Sequence[dict[str, Any] | None]) -> Image:
        columns = tuple(self._column(name, images) for name in self.table.column_names)
        return Image(columns, pa.array([image is not None for image in images], pa.bool_()))

    def _column(self, name: str, images: Sequence[dict[str, Any] | None]) -> ImageColumn:
        flag = name + MISSING_SUFFIX if self.by_image else ""
        return text_column(
            [
                MISSING if image is None or image.get(flag) or name not in image else _text(image[name])
                for image in images
            ]
        )


def _fields(schema: Schema) -> dict[str, Schema]:
    fields = schema.get("fields") if isinstance(schema, dict) else None
    return {field["name"]: field["type"] for field in fields or ()}


def is_by_image(schema: Schema) -> bool:
    """Whether messages of a schema have before and after images."""
    fields = _fields(schema)
    return "before" in fields and isinstance(_inner(fields["before"]), dict)


def column_types(schema: Schema) -> dict[str, Schema]:
    """The columns that a schema has, with the types of their values."""
    fields = _fields(schema)
    if is_by_image(schema):
        fields = _fields(_inner(fields["before"]))
    else:
        fields = {name: kind for name, kind in fields.items() if name not in METADATA}
    return {
        name: _inner(kind)
        for name, kind in fields.items()
        if not (name.endswith(MISSING_SUFFIX) and name.removesuffix(MISSING_SUFFIX) in fields)
    }


def table_of(schema: Schema, keys: Sequence[str] = ()) -> TableDef | Diagnostic:
    """The definition in a schema, with the names of its key columns; a Diagnostic if it is none of GoldenGate's."""
    fields = _fields(schema)
    lacking = [name for name in METADATA if name not in fields]
    if lacking:
        return Diagnostic("GG313", f"the schema has no field `{lacking[0]}`, and so is none of GoldenGate's")
    odd = [name for name in METADATA if not _METADATA_TYPES.get(name, _is_text)(_inner(fields[name]))]
    if odd:
        return Diagnostic("GG313", f"the type of the field `{odd[0]}` is not the one that GoldenGate gives it")
    if is_by_image(schema) and not _same_record(_inner(fields["before"]), _inner(fields.get("after"))):
        return Diagnostic("GG313", "the schema has `before` and no `after` of the same type")
    namespace = schema.get("namespace")
    if not isinstance(schema.get("name"), str) or not isinstance(namespace, str | None):
        return Diagnostic("GG313", "the schema does not name its table")
    name = join_name(namespace, schema["name"])
    columns = []
    for column, kind in column_types(schema).items():
        if not isinstance(kind, str) or kind not in AVRO_KINDS:
            return Diagnostic("GG313", "the type of a column is not understood", Span(table=name, field=column))
        columns.append(Column(column, SqlType(AVRO_KINDS[kind])))
    return TableDef(name, tuple(columns)).with_keys(keys)


def _is_text(kind: Schema) -> bool:
    return bool(kind == "string")


_METADATA_TYPES: dict[str, Callable[[Schema], bool]] = {
    "primary_keys": lambda kind: isinstance(kind, dict) and kind.get("type") == "array" and kind["items"] == "string",
    "tokens": lambda kind: isinstance(kind, dict) and kind.get("type") == "map" and kind["values"] == "string",
}


def _same_record(record: Schema, other: Schema) -> bool:
    """Whether a type is the record too, by its name or once more."""
    if isinstance(other, str):
        return other.rpartition(".")[2] == str(record.get("name")).rpartition(".")[2]
    return isinstance(other, dict) and [(f["name"], f["type"]) for f in other.get("fields", ())] == [
        (f["name"], f["type"]) for f in record["fields"]
    ]


def _inner(kind: Schema) -> Schema:
    """The type of a value in a union with null."""
    values = [branch for branch in kind if branch != "null"] if isinstance(kind, list) else [kind]
    return values[0] if len(values) == 1 else kind


def _text(value: object) -> str | None:
    """A decoded value as the text of a column."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    return base64.b64encode(value).decode() if isinstance(value, bytes) else repr(value)
