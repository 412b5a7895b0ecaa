"""Plans to read Avro messages of GoldenGate: what their schema describes, and how decoded messages become
operations."""

from __future__ import annotations

import base64
from array import array
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import takewhile
from typing import Any

import fastavro
import pyarrow as pa
from fastavro.types import Schema as FastSchema

from ggfmt.arrow.arrays import StringMapArray
from ggfmt.columnar.columns import MISSING, int64s, text_column, texts, token_maps
from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.formats.avro.schemas import is_decimal, is_string_map, is_strings, is_timestamp, without_logical_types
from ggfmt.formats.connect.values import decimal_text
from ggfmt.formats.goldengate import metacolumns
from ggfmt.formats.goldengate.reading import row_images, times
from ggfmt.formats.goldengate.schemas import AVRO_KINDS, METADATA_PROPERTY, MISSING_SUFFIX, declared_metadata, is_flag
from ggfmt.java.text import InvalidValueError
from ggfmt.model.change import ChangeBatch, Image, ImageColumn
from ggfmt.model.table import Column, Kind, SqlType, TableDef

Schema = Any  # a parsed JSON document
Metadata = tuple[metacolumns.MetaColumn, ...]
Template = Sequence[metacolumns.MetaColumn] | None  # metadata according to the settings; None: the schema decides


def _metadata_of(schema: Schema, template: Template) -> Metadata | Diagnostic:
    """Return the metadata columns of a schema. They are those of the template, else those that the schema declares,
    else the fields before the first nullable one, by their names. A field with an unknown name counts as a token."""
    fields = _fields(schema)
    lacking_in = "the template"
    if template is None:
        lacking_in = f"its property `{METADATA_PROPERTY}`"
        try:
            template = declared_metadata(schema)
        except InvalidValueError as error:
            return Diagnostic("GG313", f"the property `{METADATA_PROPERTY}` of the schema {error}", help=error.help)
    if template is None:
        found = tuple(_meta_column(name, fields[name]) for name in _leading(fields))
    else:
        found = tuple(template)
        lacking = next((column.name for column in found if column.name not in fields), None)
        if lacking is not None:
            return Diagnostic("GG313", f"the schema has no field `{lacking}`, which is in {lacking_in}", help=_HELP)
    refused = next((column.name for column in found if not _is_typed(column, fields[column.name])), None)
    if refused is not None:
        return Diagnostic("GG313", f"the field `{refused}` does not have the type that GoldenGate writes")
    if not any(column.keyword == metacolumns.OP_TYPE for column in found):
        message = "the schema has no field for the operation type, so it is not a GoldenGate schema"
        return Diagnostic("GG313", message, help=_HELP)
    return found


def starts_with_texts(schema: Schema) -> bool:
    """Return whether the fields before the first nullable one have types of metadata."""
    fields = _fields(schema)
    kinds = (fields[name] for name in _leading(fields))
    return all(_is_text(kind) or is_strings(kind) or is_string_map(kind) for kind in kinds)


_HELP = "pass the `metaColumnsTemplate` of the writer's handler with `--input-config`"


def is_by_image(schema: Schema) -> bool:
    """Return whether messages of a schema have before and after images."""
    kind = non_null_type(_fields(schema).get("before"))
    return isinstance(kind, dict) and kind.get("type") == "record"


def image_fields(schema: Schema, metadata: Sequence[metacolumns.MetaColumn]) -> dict[str, Schema]:
    """Return the columns and their flags with their types, without the metadata."""
    fields = _fields(schema)
    if is_by_image(schema):
        return _fields(non_null_type(fields["before"]))
    names = {column.name for column in metadata}
    return {name: kind for name, kind in fields.items() if name not in names}


def column_types(fields: Mapping[str, Schema]) -> dict[str, Schema]:
    """Return the columns among some fields with the types of their values."""
    return {name: non_null_type(kind) for name, kind in fields.items() if not is_flag(name, fields)}


def describe(schema: Schema, template: Template) -> tuple[Metadata, TableDef] | Diagnostic:
    """Return the metadata columns and the definition in a schema; a Diagnostic if the schema is not GoldenGate's."""
    metadata = _metadata_of(schema, template)
    if isinstance(metadata, Diagnostic):
        return metadata
    fields = _fields(schema)
    if is_by_image(schema) and not _same_record(non_null_type(fields["before"]), non_null_type(fields.get("after"))):
        return Diagnostic("GG313", "the schema has `before`, but no `after` of the same type")
    namespace = schema.get("namespace")
    if not isinstance(schema.get("name"), str) or not isinstance(namespace, str | None):
        return Diagnostic("GG313", "the schema does not name its table")
    name = ".".join(filter(None, (namespace, schema["name"])))
    columns = []
    for column, kind in column_types(image_fields(schema, metadata)).items():
        source = _sql_type(kind)
        if source is None:
            return Diagnostic("GG313", "the type of a column is not understood", Span(table=name, field=column))
        columns.append(Column(column, source))
    return metadata, TableDef(name, tuple(columns))


def _sql_type(kind: Schema) -> SqlType | None:
    if isinstance(kind, str):
        return SqlType(AVRO_KINDS[kind], base64=kind == "bytes") if kind in AVRO_KINDS else None
    if is_decimal(kind):
        return SqlType(Kind.DECIMAL, precision=kind["precision"], scale=kind["scale"])
    return SqlType(Kind.TIMESTAMP) if is_timestamp(kind) else None


def non_null_type(kind: Schema) -> Schema:
    values = [branch for branch in kind if branch != "null"] if isinstance(kind, list) else [kind]
    return values[0] if len(values) == 1 else kind


def _fields(schema: Schema) -> dict[str, Schema]:
    fields = schema.get("fields") if isinstance(schema, dict) else None
    return {field["name"]: field["type"] for field in fields or ()}


def _leading(fields: Mapping[str, Schema]) -> list[str]:
    return [*takewhile(lambda name: not isinstance(fields[name], list), fields)]


def _meta_column(name: str, kind: Schema) -> metacolumns.MetaColumn:
    word = name.lower()
    keyword = metacolumns.FIXED_NAMES.get(word, word)  # other fields have the name of their keyword
    if (
        keyword not in metacolumns.KEYWORDS
        or keyword == "token"
        or (keyword in (metacolumns.KEY_COLUMNS, metacolumns.ALL_TOKENS) and kind == "string")
    ):
        return metacolumns.MetaColumn("token", name, name)
    return metacolumns.MetaColumn(keyword, name)


def _is_typed(column: metacolumns.MetaColumn, kind: Schema) -> bool:
    if column.keyword == metacolumns.KEY_COLUMNS:
        return is_strings(kind)
    return is_string_map(kind) if column.keyword == metacolumns.ALL_TOKENS else _is_text(kind)


def _is_text(kind: Schema) -> bool:
    return bool(non_null_type(kind) == "string")


def _same_record(record: Schema, other: Schema) -> bool:
    if isinstance(other, str):
        return other.rpartition(".")[2] == str(record.get("name")).rpartition(".")[2]
    return isinstance(other, dict) and [(f["name"], f["type"]) for f in other.get("fields", ())] == [
        (f["name"], f["type"]) for f in record["fields"]
    ]


_EPOCH = datetime(1970, 1, 1)


class AvroPlan:
    """How messages of a schema become operations of a definition; `kinds`: the operation types by their words."""

    def __init__(
        self, schema: Schema, table: TableDef, kinds: Mapping[str, str], metadata: Sequence[metacolumns.MetaColumn]
    ) -> None:
        self.table = table
        self.decode: FastSchema = fastavro.parse_schema(without_logical_types(schema))
        fields = image_fields(schema, metadata)
        types = column_types(fields)
        self._texts = {name: _text_of(kind) for name, kind in types.items()}
        self.types = types
        self.by_image = is_by_image(schema)
        self.unknown = [name for name in types if name not in table.column_names]
        self.flags = {name.removesuffix(MISSING_SUFFIX): name for name in fields if is_flag(name, fields)}
        self.names = [column.name for column in metadata]
        self.roles = roles = metacolumns.Roles.of(metadata)
        assert roles.op is not None
        self.op_field = self.names[roles.op]
        self.kinds = kinds

    def kind(self, message: dict[str, Any]) -> str | None:
        return self.kinds.get(message[self.op_field])

    def position(self, message: dict[str, Any]) -> str | None:
        position = self.roles.position
        return None if position is None else message[self.names[position]]

    def batch(self, messages: Sequence[dict[str, Any]], ordinals: array[int], tokens: bool) -> ChangeBatch:
        kinds = [self.kind(message) or "" for message in messages]
        op, key_update = texts(kinds), None
        if self.by_image:
            before, after = (self._image([message[name] for message in messages]) for name in ("before", "after"))
        else:
            rows = [None if kind == "T" else message for message, kind in zip(messages, kinds, strict=True)]
            before, after, key_update = row_images(self._image(rows).columns, op)

        def at(place: int | None) -> pa.StringArray:
            return texts([None if place is None else message[self.names[place]] for message in messages])

        time, position = times(self.roles, at), at(self.roles.position)
        own = self._tokens(messages) if tokens else None
        return ChangeBatch(self.table, op, time, position, before, after, int64s(ordinals), own, key_update)

    def _tokens(self, messages: Sequence[dict[str, Any]]) -> StringMapArray | None:
        """Return the tokens: those of the field with all tokens, else those with a field of their own."""
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


def _text_of(kind: Schema) -> Callable[[Any], str | None]:
    if is_decimal(kind):
        return partial(_decimal_text, scale=kind["scale"])
    return _time_text if is_timestamp(kind) else _text


def _time_text(value: int | None) -> str | None:
    """Return a time as in trails, with six fraction digits; the number outside of the years 1 to 9999."""
    if value is None:
        return None
    try:
        return (_EPOCH + timedelta(microseconds=value)).isoformat(" ", "microseconds")
    except OverflowError:
        return str(value)


def _decimal_text(value: bytes | None, scale: int) -> str | None:
    """Return a decimal as Java's `BigDecimal.toPlainString()` does: with all digits of its scale."""
    return None if value is None else decimal_text(int.from_bytes(value, "big", signed=True), scale)


def _text(value: str | bool | float | bytes | None) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    return base64.b64encode(value).decode() if isinstance(value, bytes) else repr(value)
