"""The metadata members of JSON messages."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from ggfmt.columnar.clock import Clock
from ggfmt.columnar.escapes import escape_json_text
from ggfmt.columnar.json_image import Style
from ggfmt.columnar.metadata import OpKeys, token_texts
from ggfmt.columnar.pieces import COMMA, Piece
from ggfmt.columnar.strings import json_strings
from ggfmt.formats.api.context import Context
from ggfmt.formats.goldengate.json import JsonRecordOptions
from ggfmt.formats.goldengate.metacolumn_values import MetaValues
from ggfmt.formats.goldengate.metacolumns import ALL_TOKENS, KEY_COLUMNS, OP_TYPE, MetaColumn
from ggfmt.formats.goldengate.options import op_keys
from ggfmt.model.change import ChangeBatch
from ggfmt.model.table import TableDef

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
