"""JSON, written: the formatters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.columnar.images import without_nulls
from ggfmt.columnar.json_text import ImageObjects, Pieces, Style, Values, json_booleans, json_numbers, json_strings
from ggfmt.columnar.metadata import Clock, OpKeys, token_texts
from ggfmt.columnar.pieces import COMMA, CommaJoined, Conditional, Equals, Piece, escape_json_text, join
from ggfmt.formats.api.format import Context, Projection
from ggfmt.formats.api.losses import NULL_AS_MISSING
from ggfmt.formats.api.writing import (
    Formatter,
    RowErrors,
    ShownMessage,
    ShownPiece,
    TextFraming,
    TextShow,
    WriteSupport,
    json_lines,
)
from ggfmt.formats.goldengate.json import JsonOptions, JsonRecordOptions, JsonRowOptions
from ggfmt.formats.goldengate.json.schema import json_schema, json_type
from ggfmt.formats.goldengate.metacolumns import ALL_TOKENS, KEY_COLUMNS, OP_TYPE, MetaColumn, needs_tokens
from ggfmt.formats.goldengate.options import op_keys
from ggfmt.formats.goldengate.writing import MetaValues, handle_key_updates, misfits, row_projection
from ggfmt.model.change import ChangeBatch, Image, OpType
from ggfmt.model.table import Kind, TableDef

_VALUES: dict[str, Values] = {
    "string": lambda values: (json_strings(values), []),
    "boolean": json_booleans,
    "integer": json_numbers,
    "number": json_numbers,
}

# The metadata members of JSON messages.

_Make = Callable[[ChangeBatch], list[Piece]]


class JsonMetadata:
    """Makes the metadata members of one table's messages; what is the same in all of them is worked out once."""

    def __init__(
        self, table: TableDef, options: JsonRecordOptions, context: Context, clock: Clock, style: Style
    ) -> None:
        self.columns = options.metadata(context)
        self._style = style
        self._values = MetaValues(table, op_keys(options), context, clock)
        self._op_keys = OpKeys([escape_json_text(key) for key in op_keys(options)])
        self._keys = _array(table.primary_keys, style)
        gap = style.member(1)
        self._members = [(f"{gap}{escape_json_text(column.name)}:", self._make(column)) for column in self.columns]

    def pieces(self, batch: ChangeBatch) -> list[Piece]:
        """The members for each operation of a batch, each with its comma before it."""
        pieces: list[Piece] = []
        for label, make in self._members:
            pieces += [COMMA, label, *make(batch)]
        return pieces

    def _make(self, column: MetaColumn) -> _Make:
        if column.keyword == ALL_TOKENS:
            return self._tokens
        if column.keyword == KEY_COLUMNS:
            return lambda batch: [self._keys]
        if column.keyword == OP_TYPE:
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


# JSON, shown: the message with its names and values, and the delimiter behind it.


class JsonShow(TextShow):
    def text(self, text: str) -> ShownMessage:
        lines, delimiter = json_lines(text)
        return ShownMessage((*lines[:-1], (*lines[-1], ShownPiece("delimiter", delimiter))))


class JsonRecordFormatter(Formatter):
    """Makes objects of the metadata and of members that stand behind them."""

    def __init__(self, table: TableDef, options: JsonRecordOptions, context: Context, clock: Clock) -> None:
        super().__init__(table, context, clock)
        self._nulls_left_out = options.omit_null_values
        self._keeps_new_nulls = options.omit_null_values_special_update_handling
        self._style = Style(options.pretty_print)
        self._metadata = JsonMetadata(table, options, context, clock, self._style)
        self._types = [json_type(column, options, context.release) for column in table.columns]
        self._end = self._style.close(1) + "}" + options.json_delimiter
        columns = [f"{name} ({kind})" for name, kind in zip(table.column_names, self._types, strict=True)]
        self.fields = (*(column.name for column in self._metadata.columns), *map(self._described, columns))

    def format(self, batch: ChangeBatch) -> pa.StringArray:
        members, bad = self._members(batch)
        if bad:
            raise RowErrors(misfits(batch, bad, self._wanted))
        return join(["{", CommaJoined([*self._metadata.pieces(batch), *members]), self._end], len(batch))

    @staticmethod
    def _described(column: str) -> str:
        """A column, as the summary of fields calls it."""
        raise NotImplementedError

    def _members(self, batch: ChangeBatch) -> Pieces:
        """The members behind the metadata, each with a comma before it; and (row, column) of illegal values."""
        raise NotImplementedError

    def _objects(self, depth: int, prefix: str = "") -> ImageObjects:
        """What makes members of the columns; their names start with `prefix`."""
        names = [prefix + name for name in self.table.column_names]
        return ImageObjects(names, [_VALUES[kind] for kind in self._types], self._style, depth=depth)

    def _shown(self, image: Image, batch: ChangeBatch, counterpart: Image | None = None) -> Image:
        """The image as messages show it. `counterpart` is the before image that belongs to an after image."""
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
    def __init__(self, table: TableDef, options: JsonOptions, context: Context, clock: Clock) -> None:
        super().__init__(table, options, context, clock)
        names = (options.before_object_name, options.after_object_name)
        self._flatten = options.flatten
        if self._flatten:
            self._images = [self._objects(1, name + options.flatten_delimiter) for name in names]
        else:
            self._images = [self._objects(2)] * 2
        self._labels = [f"{self._style.member(1)}{escape_json_text(name)}:" for name in names]

    @staticmethod
    def _described(column: str) -> str:
        return f"before and after: {column}"

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
        """The member of an image where there is one; an update without one has an empty object."""
        if image.exists is None or image.exists.true_count == len(batch):
            return member
        bare = Conditional(Equals(batch.op, OpType.UPDATE.value), [*member[:2], "{" + self._style.close(2) + "}"])
        return [Conditional(image.exists, member, [bare])]


class JsonRowFormatter(JsonRecordFormatter):
    def __init__(self, table: TableDef, options: JsonRowOptions, context: Context, clock: Clock) -> None:
        super().__init__(table, options, context, clock)
        self._pk_update_handling = options.pk_update_handling
        self._columns = self._objects(1)

    @staticmethod
    def _described(column: str) -> str:
        return column

    def arrange(self, batch: ChangeBatch) -> tuple[ChangeBatch, Sequence[int]]:
        return handle_key_updates(batch, self._pk_update_handling)

    def _members(self, batch: ChangeBatch) -> Pieces:
        return self._columns.members_of(self._shown(batch.row_image(), batch, batch.before), len(batch))


def _row_projection(options: JsonRowOptions) -> Projection:
    own = row_projection(options)
    both = options.omit_null_values and options.omit_null_values_special_update_handling
    return replace(own, row_only=own.row_only and not both, tokens=needs_tokens(options))


def _framing(table: TableDef | None, options: Any, context: Context) -> TextFraming:
    return TextFraming(options.encoding)


def _show(formatter: Formatter, options: Any, context: Context) -> JsonShow:
    return JsonShow(options.encoding)


WRITE_SIDES = {
    "json": WriteSupport(
        formatter=JsonFormatter,
        framing=_framing,
        projection=lambda options: Projection(tokens=needs_tokens(options)),
        schema=json_schema,
        show=_show,
    ),
    "json_row": WriteSupport(
        formatter=JsonRowFormatter,
        framing=_framing,
        projection=_row_projection,
        schema=json_schema,
        show=_show,
    ),
}
