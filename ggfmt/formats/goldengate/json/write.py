"""Writer of GoldenGate JSON: the formatters, and JSON schemas."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.columnar.images import without_nulls
from ggfmt.columnar.json_text import ImageObjects, Pieces, Style, Values, json_booleans, json_numbers, json_strings
from ggfmt.columnar.metadata import Clock, OpKeys, token_texts
from ggfmt.columnar.pieces import COMMA, CommaJoined, Conditional, Equals, Piece, escape_json_text, join
from ggfmt.formats.api import writing
from ggfmt.formats.api.format import Context, Projection
from ggfmt.formats.api.losses import NULL_AS_MISSING
from ggfmt.formats.goldengate import metacolumns
from ggfmt.formats.goldengate.json import JsonOptions, JsonRecordOptions, JsonRowOptions
from ggfmt.formats.goldengate.options import op_keys
from ggfmt.formats.goldengate.schemas import PREFIXES_PROPERTY, MessageType, metadata_property, target_type
from ggfmt.formats.goldengate.writing import MetaValues, handle_key_updates, misfits, template_projection
from ggfmt.java.charsets import byte_order_mark, codec_of
from ggfmt.model.change import ChangeBatch, Image, OpType
from ggfmt.model.table import Column, Kind, TableDef
from ggfmt.options.releases import FIRST_RELEASE, is_later

_VALUES: dict[str, Values] = {
    "string": lambda values: (json_strings(values), []),
    "boolean": json_booleans,
    "integer": json_numbers,
    "number": json_numbers,
}

_Make = Callable[[ChangeBatch], list[Piece]]

_JSON_TYPES = {
    MessageType.STRING: "string",
    MessageType.BOOLEAN: "boolean",
    MessageType.INTEGER: "integer",
    MessageType.FLOAT: "number",
    MessageType.DOUBLE: "number",
}

# As the manual prints them (6.3.3); the schemas of other keywords are unknown.
_DESCRIPTIONS = {
    metacolumns.OBJECT_NAME: "The fully qualified table name",
    metacolumns.OP_TYPE: "The operation type",
    metacolumns.TIMESTAMP: "The operation timestamp",
    metacolumns.NOW: "The current processing timestamp",
    metacolumns.NOW_ISO8601: "The current processing timestamp",
    metacolumns.POSITION: "The position of the operation in the data source",
}

Json = Mapping[str, "Json"] | Sequence["Json"] | str | int | bool | None


_EMPTY = ("{}", "{},")  # how lines with an empty object end


def pretty(value: Json) -> str:
    """Return a document in the layout of javax.json 1.0, which GoldenGate uses: four spaces, no space after the colon,
    and a line end within an empty object."""
    text = json.dumps(value, ensure_ascii=False, indent=4, separators=(",", ":"))
    return "\n".join(_open(line) if line.endswith(_EMPTY) else line for line in text.split("\n"))


def _open(line: str) -> str:
    indent = " " * (len(line) - len(line.lstrip(" ")))
    before, _, behind = line.rpartition("{}")
    return f"{before}{{\n{indent}}}{behind}"


_KEYS: Json = {
    "description": "Array of the primary key column names.",
    "type": "array",
    "items": {"type": "string"},
    "minItems": 0,
    "uniqueItems": True,
}
_TOKENS: Json = {
    "type": "object",
    "description": "Token keys and values are free form key value pairs.",
    "properties": {},
    "additionalProperties": True,
}


def json_type(column: Column, options: JsonRecordOptions, release: str) -> str:
    """Return the JSON type of a column."""
    return "string" if options.treat_all_columns_as_strings else _JSON_TYPES[target_type(column.type, release)]


def json_schema(table: TableDef, options: JsonRecordOptions, context: Context) -> tuple[writing.SchemaFile, ...]:
    """Return `<table>.schema.json` as the manual prints it (6.3.3). With fixed metadata, the schema always contains
    `tokens`. From 12.3 on, and in the row model, it also contains `primary_keys`, even if messages do not. With a
    template, the schema contains the metadata of the messages, and a property lists them."""
    if not options.generate_schema:
        return ()
    text = pretty(_schema(table, options, context))
    content = byte_order_mark(options.encoding) + text.encode(codec_of(options.encoding), "replace")
    return (writing.SchemaFile(f"{table.full_name}.schema.json", content),)


def _schema(table: TableDef, options: JsonRecordOptions, context: Context) -> Json:
    metadata = _metadata(options, context)
    columns: dict[str, Json] = {
        column.name: {"type": [json_type(column, options, context.release), "null"]} for column in table.columns
    }
    definitions: dict[str, Json] = {}
    flattened: dict[str, Json] = {}
    if isinstance(options, JsonOptions):
        names = (options.before_object_name, options.after_object_name)
        if options.flatten:
            delimiter = options.flatten_delimiter
            prefixes = [name + delimiter for name in names]
            values = {prefix + column: kind for prefix in prefixes for column, kind in columns.items()}
            flattened = {PREFIXES_PROPERTY: prefixes}
        else:
            definitions["row"] = {"type": "object", "properties": columns, "additionalProperties": False}
            values = {name: {"$ref": "#/definitions/row"} for name in names}
    else:
        values = columns
    properties = {column.name: _property(column) for column in metadata if column.name not in values}
    if any(column.keyword == metacolumns.ALL_TOKENS for column in metadata):
        definitions["tokens"] = _TOKENS
    required = [
        column.name for column in metadata if column.keyword not in (metacolumns.KEY_COLUMNS, metacolumns.ALL_TOKENS)
    ]
    return {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "title": table.full_name,
        "description": f"JSON schema for table {table.full_name}",
        "definitions": definitions,
        "type": "object",
        "properties": {**properties, **values},
        **({"required": required} if required else {}),  # an empty list is not allowed in draft 4
        "additionalProperties": False,
        **metadata_property(options, context),
        **flattened,
    }


def _metadata(options: JsonRecordOptions, context: Context) -> tuple[metacolumns.MetaColumn, ...]:
    shown = options.metadata(context)
    if options.meta_columns_template is not None or not shown:
        return shown
    keys = options.include_primary_keys or not isinstance(options, JsonOptions)
    keys = keys or is_later(context.release, FIRST_RELEASE)
    return metacolumns.fixed_columns(
        options.iso8601_format, *metacolumns.ALWAYS_FIXED, *["primary_keys"] * keys, "tokens"
    )


def _property(column: metacolumns.MetaColumn) -> Json:
    if column.keyword == metacolumns.KEY_COLUMNS:
        return _KEYS
    if column.keyword == metacolumns.ALL_TOKENS:
        return {"$ref": "#/definitions/tokens"}
    return {
        "description": _DESCRIPTIONS.get(column.keyword, metacolumns.KEYWORDS[column.keyword].title),
        "type": "string",
    }


class JsonMetadata:
    """Writer of the metadata members of one table's messages; it makes the constant parts only once."""

    def __init__(
        self, table: TableDef, options: JsonRecordOptions, context: Context, clock: Clock, style: Style
    ) -> None:
        self.columns = options.metadata(context)
        self._style = style
        self._values = MetaValues(table, op_keys(options), context, clock)
        self._op_keys = OpKeys([escape_json_text(key) for key in op_keys(options)])
        self._keys = _array(table.key_names, style)
        gap = style.member(1)
        self._members = [(f"{gap}{escape_json_text(column.name)}:", self._make(column)) for column in self.columns]

    def pieces(self, batch: ChangeBatch) -> list[Piece]:
        """Return the members for each operation of a batch, each after a comma."""
        pieces: list[Piece] = []
        for label, make in self._members:
            pieces += [COMMA, label, *make(batch)]
        return pieces

    def _make(self, column: metacolumns.MetaColumn) -> _Make:
        if column.keyword == metacolumns.ALL_TOKENS:
            return self._tokens
        if column.keyword == metacolumns.KEY_COLUMNS:
            return lambda batch: [self._keys]
        if column.keyword == metacolumns.OP_TYPE:
            return lambda batch: [self._op_keys.piece(batch.op)]
        constant = self._values.constant(column)
        if constant is not None:
            text = escape_json_text(constant)
            return lambda batch: [text]
        if self._values.is_plain(column):
            return lambda batch: ['"', self._values.of(column, batch), '"']
        return lambda batch: [_string(self._values.of(column, batch))]

    def _tokens(self, batch: ChangeBatch) -> list[Piece]:
        gap = self._style.member(2)

        def pair(names: pa.StringArray, values: pa.StringArray) -> list[Piece]:
            return [gap, json_strings(names), ":", json_strings(values)]

        return ["{", token_texts(batch.tokens, pair, ","), self._style.close(2) + "}"]


def _string(piece: Piece) -> Piece:
    return escape_json_text(piece) if isinstance(piece, str) else json_strings(piece)


def _array(values: tuple[str, ...], style: Style) -> str:
    gap = style.member(2)
    end = style.member(1)
    return f"[{','.join(gap + escape_json_text(value) for value in values)}{end}]"


def _shown(delimiter: str, text: str) -> writing.ShownMessage:
    end = len(text) - len(delimiter)
    *lines, last = text[:end].split("\n")
    return writing.ShownMessage([*lines, last + text[end:]])


class JsonRecordFormatter(writing.Formatter):
    of_images = ""  # what precedes the name of a column in the summary of fields

    def __init__(self, table: TableDef, options: JsonRecordOptions, context: Context, clock: Clock) -> None:
        super().__init__(table, context, clock)
        self._nulls_left_out = options.omit_null_values
        self._keeps_new_nulls = options.omit_null_values_special_update_handling
        self._style = Style(options.pretty_print)
        self._metadata = JsonMetadata(table, options, context, clock, self._style)
        self._types = [json_type(column, options, context.release) for column in table.columns]
        self._end = self._style.close(1) + "}" + options.json_delimiter
        columns = [
            f"{self.of_images}{name} ({kind})" for name, kind in zip(table.column_names, self._types, strict=True)
        ]
        self.fields = (*(column.name for column in self._metadata.columns), *columns)

    def format(self, batch: ChangeBatch) -> pa.StringArray:
        members, bad = self._members(batch)
        if bad:
            raise writing.RowErrors(misfits(batch, bad, self._wanted))
        return join(["{", CommaJoined([*self._metadata.pieces(batch), *members]), self._end], len(batch))

    def _members(self, batch: ChangeBatch) -> Pieces:
        """Return the members after the metadata, each after a comma, and (row, column) of illegal values."""
        raise NotImplementedError

    def _objects(self, depth: int, prefix: str = "") -> ImageObjects:
        names = [prefix + name for name in self.table.column_names]
        return ImageObjects(names, [_VALUES[kind] for kind in self._types], self._style, depth=depth)

    def _shown(self, image: Image, batch: ChangeBatch, counterpart: Image | None = None) -> Image:
        """Return the image as messages contain it. `counterpart`: the before image of an after image."""
        if not self._nulls_left_out:
            return image
        kept = counterpart if self._keeps_new_nulls else None
        shown, left_out = without_nulls(image, kept, pc.equal(batch.op, OpType.UPDATE.value))
        for name, count in zip(self.table.column_names, left_out, strict=True):
            self.count(NULL_AS_MISSING, name, count)
        return shown

    def _wanted(self, column: int) -> str:
        return "`true` or `false`" if self.table.columns[column].type.kind is Kind.BOOLEAN else "a number"


class JsonFormatter(JsonRecordFormatter):
    of_images = "before and after: "

    def __init__(self, table: TableDef, options: JsonOptions, context: Context, clock: Clock) -> None:
        super().__init__(table, options, context, clock)
        names = (options.before_object_name, options.after_object_name)
        self._flatten = options.flatten
        if self._flatten:
            self._images = [self._objects(1, name + options.flatten_delimiter) for name in names]
        else:
            self._images = [self._objects(2)] * 2
        self._labels = [f"{self._style.member(1)}{escape_json_text(name)}:" for name in names]

    def _members(self, batch: ChangeBatch) -> Pieces:
        pieces: list[Piece] = []
        bad: list[tuple[int, int]] = []
        images = (self._shown(batch.before, batch), self._shown(batch.after, batch, batch.before))
        for label, objects, image in zip(self._labels, self._images, images, strict=True):
            if self._flatten:
                members, wrong = objects.members_of(image, len(batch))
                pieces += members
            else:
                own, wrong = objects.of(image, len(batch))
                pieces += self._object_member(batch, image, [COMMA, label, *own])
            bad += wrong
        return pieces, bad

    def _object_member(self, batch: ChangeBatch, image: Image, member: list[Piece]) -> list[Piece]:
        """Return the member of an image, if the operation has the image. An update without it has an empty object."""
        if image.exists is None or image.exists.true_count == len(batch):
            return member
        bare = Conditional(Equals(batch.op, OpType.UPDATE.value), [*member[:2], "{" + self._style.close(2) + "}"])
        return [Conditional(image.exists, member, [bare])]


class JsonRowFormatter(JsonRecordFormatter):
    def __init__(self, table: TableDef, options: JsonRowOptions, context: Context, clock: Clock) -> None:
        super().__init__(table, options, context, clock)
        self._pk_update_handling = options.pk_update_handling
        self._columns = self._objects(1)

    def arrange(self, batch: ChangeBatch) -> tuple[ChangeBatch, Sequence[int]]:
        return handle_key_updates(batch, self._pk_update_handling)

    def _members(self, batch: ChangeBatch) -> Pieces:
        return self._columns.members_of(self._shown(batch.row_image(), batch, batch.before), len(batch))


def _row_projection(options: JsonRowOptions) -> Projection:
    own = template_projection(options, by_image=False)
    both = options.omit_null_values and options.omit_null_values_special_update_handling
    return replace(own, row_only=own.row_only and not both)


def _writer(formatter: type[JsonRecordFormatter], projection: Callable[[Any], Projection]) -> writing.WriteSupport:
    return writing.WriteSupport(
        formatter=formatter,
        framing=lambda table, options, context: writing.TextFraming(options.encoding),
        projection=projection,
        schema=json_schema,
        show=lambda formatter, options, context: writing.show_text(
            options.encoding, partial(_shown, options.json_delimiter)
        ),
    )


WRITE_SIDES = {
    "json": _writer(JsonFormatter, partial(template_projection, by_image=True)),
    "json_row": _writer(JsonRowFormatter, _row_projection),
}
