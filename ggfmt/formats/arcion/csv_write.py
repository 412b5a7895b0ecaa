"""Arcion's CSV, written.

A field has quotes if it is empty, holds a delimiter, quote or line end, or would be taken for NULL. A name has quotes
also if it holds a delimiter of other files, or would be taken for a number or a time. A header has the name of each
column three times, with `_NEW_VAL`, `_OLD_VAL` and `_EXISTS_VAL` after it; in a snapshot once.
"""

from __future__ import annotations

import re

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import non_null_values
from ggfmt.columnar.metadata import Clock
from ggfmt.columnar.pieces import Piece, join
from ggfmt.formats.api.format import Context, Projection
from ggfmt.formats.api.writing import TextFraming, WriteSupport
from ggfmt.formats.arcion import BACKSLASH, LAST_FIELDS, SNAPSHOT, VALUE_SUFFIXES, ArcionCsvOptions
from ggfmt.formats.arcion.changes import states, values_of
from ggfmt.formats.arcion.cursor import count_texts, cursor_texts
from ggfmt.formats.csv import DELIMITERS, VALUE
from ggfmt.formats.records.formatter import DialectFormatter
from ggfmt.model.change import ChangeBatch, OpType
from ggfmt.model.table import TableDef


class _Fields:
    def __init__(self, options: ArcionCsvOptions, more: str = "^$") -> None:
        """`more`: an expression of texts that need quotes, too."""
        self._null = options.null_literal
        self._quote = options.quote
        self._escapes = [("\\", "\\\\")] if options.escape == BACKSLASH else []
        self._escapes.append((self._quote, f"\\{self._quote}" if self._escapes else self._quote * 2))
        special = "".join(f"\\x{{{ord(character):x}}}" for character in f"{options.delimiter}{self._quote}\r\n\ufeff")
        # A byte order mark would be lost at the start of a file.
        self._needs = rf"[{special}]|^{re.escape(self._null)}$|^$|{more}"

    def of(self, texts: pa.StringArray) -> pa.StringArray:
        """Texts as fields, NULL as the word for it."""
        wanted = pc.match_substring_regex(texts, self._needs)
        if wanted.true_count:
            quoted = texts
            for character, escaped in self._escapes:
                quoted = pc.replace_substring(quoted, character, escaped)
            quoted = join([self._quote, quoted.fill_null(""), self._quote])
            texts = pc.if_else(wanted.fill_null(False), quoted, texts)
        return pc.fill_null(texts, self._null)


class ArcionCsvFormatter(DialectFormatter):
    def __init__(self, table: TableDef, options: ArcionCsvOptions, context: Context, clock: Clock) -> None:
        super().__init__(table, context, clock, [])
        self.options = options
        self._fields = _Fields(options)
        self.fields = _names(table, options)

    def format(self, batch: ChangeBatch) -> pa.StringArray:
        if self.options.mode == SNAPSHOT:
            self.refuse(batch, [OpType.UPDATE, OpType.DELETE, OpType.TRUNCATE], "a snapshot of Arcion")
            self.count_missing(batch.after)
            return self._line([self._fields.of(column) for column in values_of(batch.after)])
        self.refuse(batch, [OpType.TRUNCATE], "Arcion")
        micros = self.micros(batch)
        fields: list[Piece] = []
        for new, old, state in zip(values_of(batch.after), values_of(batch.before), states(batch), strict=True):
            fields += [self._fields.of(new), self._fields.of(old), state]
        cursor = cursor_texts(micros, batch.position, batch.tokens)
        counts = count_texts(batch.tokens, len(batch))
        return self._line([*fields, batch.op, self._fields.of(cursor), self._fields.of(counts)])

    def _line(self, fields: list[Piece]) -> pa.StringArray:
        pieces: list[Piece] = []
        for field in fields:
            pieces += [self.options.delimiter if pieces else "", field]
        return join([*pieces, "\n"])


def _names(table: TableDef, options: ArcionCsvOptions) -> tuple[str, ...]:
    if options.mode == SNAPSHOT:
        return table.column_names
    return (*(f"{name}{suffix}" for name in table.column_names for suffix in VALUE_SUFFIXES), *LAST_FIELDS)


class _CsvFraming(TextFraming):
    def __init__(self, table: TableDef | None, options: ArcionCsvOptions) -> None:
        super().__init__("UTF-8")
        assert table is not None, "a file has the rows of one table"
        if options.include_header:
            odd = rf"[{DELIMITERS}]|^\s*(?:{VALUE})\s*$"  # a reader would doubt that they are names
            names = non_null_values(_Fields(options, odd).of(pa.array(_names(table, options), pa.string())))
            self.header = (options.delimiter.join(names) + "\n").encode()


WRITE_SIDES = {
    "arcion_csv": WriteSupport(
        formatter=ArcionCsvFormatter,
        framing=lambda table, options, context: _CsvFraming(table, options),
        projection=lambda options: Projection(tokens=True),
    )
}
