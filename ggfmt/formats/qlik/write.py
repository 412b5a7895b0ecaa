"""Qlik Replicate's messages, written: what both encodings share, and JSON.

A DELETE has its row in `data`. A column that is missing is null, and its bit in `columnMask` is not set. In
`changeMask` an INSERT has the bits of the columns that are there, a DELETE those of the key, an UPDATE those of the
columns that the before image lacks or has otherwise. A REFRESH has no `changeMask`, and a `columnMask` only where a
column is missing.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.columnar.images import and_present, differs_or_missing, updates_from, with_nulls
from ggfmt.columnar.json_text import Values, quote_json
from ggfmt.columnar.metadata import Clock, or_empty, token
from ggfmt.columnar.pieces import join
from ggfmt.columnar.timestamps import micros_text
from ggfmt.formats.api.format import Context
from ggfmt.formats.api.losses import BEFORE_MISSING_AS_NULL, BEFORE_NULL_AS_MISSING, WHOLE_NUMBER
from ggfmt.formats.qlik import STREAM_POSITION, QlikOptions
from ggfmt.formats.qlik.masks import HEX_DIGITS, mask_pieces
from ggfmt.formats.qlik.messages import MAGIC
from ggfmt.formats.qlik.metadata import HEADERS, OPERATIONS, table_messages
from ggfmt.formats.qlik.types import VALUES
from ggfmt.formats.records.formatter import DialectFormatter, json_object, quoted, text_output
from ggfmt.model.change import ChangeBatch, Image, ImageColumn, OpType
from ggfmt.model.table import TableDef

_STRING = pa.string()
_NO_TEXT = pa.scalar(None, _STRING)
_OPS = pa.array(["I", "U", "D"], _STRING)
_REFRESH = OPERATIONS.index("REFRESH")
_BOOLEANS = pa.array(["true", "false"], _STRING)
_TIME_CHARACTERS = len("2013-06-02T22:14:36.000")
Bits = list[pa.BooleanArray | bool]


@dataclass(frozen=True)
class Parts:
    """The parts of n messages. Texts of headers that have to be there are empty where they are not known, those of the
    last three headers NULL; `operation` is a place in `OPERATIONS`; masks are bits by column."""

    data: Image
    before: Image
    operation: pa.Array[Any]
    sequence: pa.StringArray
    timestamp: pa.StringArray
    place: pa.StringArray
    transaction: pa.StringArray
    has_changed: pa.BooleanArray
    changed: Bits
    has_present: pa.BooleanArray
    present: Bits
    counter: pa.StringArray
    last: pa.StringArray
    external: pa.StringArray


class QlikFormatter(DialectFormatter):
    def __init__(
        self, table: TableDef, options: QlikOptions, context: Context, clock: Clock, values: Sequence[Values]
    ) -> None:
        super().__init__(table, context, clock, values)
        self.options = options
        self.common = table_messages(table, options)
        self.fields = ("data", "beforeData", *(f"headers.{name}" for name in HEADERS))

    @abstractmethod
    def messages(self, parts: Parts, rows: int) -> pa.Array[Any]:
        """n changes. Raises: RowErrors for values that are not of their type."""

    def format(self, batch: ChangeBatch) -> pa.Array[Any]:
        self.refuse(batch, (OpType.TRUNCATE,), "Qlik Replicate")
        parts = self._parts(batch)
        messages = self.messages(parts, len(batch))
        self._count(batch)
        return messages

    def _parts(self, batch: ChangeBatch) -> Parts:
        rows = len(batch)
        row = batch.row_image()
        updates = updates_from(batch)
        no_change = pc.not_equal(token(batch.tokens, "snapshot", rows), "false").fill_null(False)
        snapshot = pc.and_(no_change, pc.equal(batch.op, "I"))
        present: Bits = [True if column.present is None else column.present for column in row.columns]
        incomplete = pc.invert(_all(present, rows))
        stamps, _ = micros_text(self.micros(batch))
        stamps = pc.replace_substring(pc.utf8_slice_codeunits(stamps, 0, _TIME_CHARACTERS), " ", "T")
        own, other = batch.position, token(batch.tokens, self._other, rows)
        place, sequence = (own, other) if self._other == "changeSequence" else (other, own)
        counter = token(batch.tokens, "transactionEventCounter", rows)
        last = token(batch.tokens, "transactionLastEvent", rows)
        return Parts(
            _filled(row.columns),
            _filled(batch.before.columns, updates),
            pc.if_else(snapshot, _REFRESH, pc.index_in(batch.op, _OPS)),
            or_empty(sequence),
            or_empty(stamps),
            or_empty(place),
            or_empty(token(batch.tokens, "transactionId", rows)),
            pc.invert(snapshot),
            self._changed(batch, updates),
            pc.or_(pc.invert(snapshot), incomplete),
            present,
            pc.if_else(pc.match_substring_regex(counter, WHOLE_NUMBER), counter, _NO_TEXT),
            pc.if_else(pc.is_in(last, _BOOLEANS), last, _NO_TEXT),
            token(batch.tokens, "externalSchemaId", rows),
        )

    @property
    def _other(self) -> str:
        """The token that is the header of a place or sequence besides the position."""
        return "changeSequence" if self.options.position == STREAM_POSITION else "streamPosition"

    def _changed(self, batch: ChangeBatch, updates: pa.BooleanArray) -> Bits:
        delete = pc.equal(batch.op, OpType.DELETE.value)
        bits: Bits = []
        for column, old, new in zip(self.table.columns, batch.before.columns, batch.after.columns, strict=True):
            kept = pc.and_not(updates, differs_or_missing(new, old))
            changed = and_present(pc.invert(pc.or_(delete, kept)), new)
            bits.append(pc.or_(changed, delete) if column.key else changed)
        return bits

    def _count(self, batch: ChangeBatch) -> None:
        """Count the states in before images of updates that a reader takes for other states."""
        exists = updates_from(batch)
        for column, old, new in zip(self.table.columns, batch.before.columns, batch.after.columns, strict=True):
            if old.present is not None:
                lost = pc.and_not(exists, old.present)
                lost = lost if new.present is None else pc.and_(lost, new.present)
                self.count(BEFORE_MISSING_AS_NULL, column.name, lost.true_count)
            if new.present is not None:
                lost = pc.and_(pc.and_not(exists, new.present), old.values.is_null())
                lost = lost if old.present is None else pc.and_(lost, old.present)
                self.count(BEFORE_NULL_AS_MISSING, column.name, lost.true_count)


def _filled(columns: Sequence[ImageColumn], exists: pa.BooleanArray | None = None) -> Image:
    return Image(tuple(ImageColumn(with_nulls(column)) for column in columns), exists)


def _all(bits: Bits, rows: int) -> pa.BooleanArray:
    every = pa.repeat(pa.scalar(True), rows)
    for bit in bits:
        every = every if isinstance(bit, bool) else pc.and_(every, bit)
    return every


class QlikJsonFormatter(QlikFormatter):
    def __init__(self, table: TableDef, options: QlikOptions, context: Context, clock: Clock) -> None:
        values = [VALUES.get(column.type.kind, quoted) for column in table.columns]
        super().__init__(table, options, context, clock, values)

    def messages(self, parts: Parts, rows: int) -> pa.StringArray:
        headers = {
            "operation": _OPERATIONS.take(parts.operation),
            "changeSequence": quote_json(parts.sequence),
            "timestamp": quote_json(parts.timestamp),
            "streamPosition": quote_json(parts.place),
            "transactionId": quote_json(parts.transaction),
            "changeMask": _hex(parts.changed, parts.has_changed, rows),
            "columnMask": _hex(parts.present, parts.has_present, rows),
            "transactionEventCounter": parts.counter.fill_null("null"),
            "transactionLastEvent": parts.last.fill_null("null"),
            "externalSchemaId": quote_json(parts.external),
        }
        message = {
            "data": self.objects(parts.data, rows),
            "beforeData": self.objects(parts.before, rows, "null"),
            "headers": json_object(headers),
        }
        envelope = {
            "magic": f'"{MAGIC}"',
            "type": '"DT"',
            "headers": "null",
            "messageSchemaId": f'"{self.common.schema_id}"',
            "messageSchema": "null",
            "message": json_object(message),
        }
        return join([*json_object(envelope), "\n"], rows)


_OPERATIONS = pa.array([f'"{name}"' for name in OPERATIONS], _STRING)


def _hex(bits: Bits, there: pa.BooleanArray, rows: int) -> pa.StringArray:
    return pc.if_else(there, join(['"', *mask_pieces(bits, HEX_DIGITS), '"'], rows), "null")


WRITE_SIDES = {
    "qlik_json": text_output(QlikJsonFormatter, lambda table, options: table_messages(table, options).text.encode())
}
