"""The base of the formatters of dialects: images as JSON objects, times, and operations that a dialect cannot write."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import non_null_values
from ggfmt.columnar.json_text import (
    ImageObjects,
    JsonValues,
    Style,
    Values,
    json_booleans,
    json_numbers,
    json_strings,
    quote_json,
)
from ggfmt.columnar.metadata import Clock, OpKeys
from ggfmt.columnar.pieces import JSON_ESCAPES, Piece, escape_json_text, join
from ggfmt.columnar.timestamps import text_micros
from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.formats.api.format import Context, Projection
from ggfmt.formats.api.losses import LONG_WHOLE_NUMBER, MISSING_AS_NULL, NULL_AS_MISSING
from ggfmt.formats.api.writing import NOT_FINITE, RIGHT_TYPE, Formatter, RowErrors, TextFraming, WriteSupport
from ggfmt.model.change import ChangeBatch, Image, ImageColumn, OpType
from ggfmt.model.table import Kind, TableDef

COMPACT = Style(pretty=False)


def quoted(values: pa.StringArray) -> JsonValues:
    """Return texts as JSON strings, and NULL as `null`; no row is illegal."""
    return json_strings(values), []


_JSON_VALUES: dict[Kind, Values] = {
    **dict.fromkeys((Kind.INTEGER, Kind.DECIMAL, Kind.NUMBER, Kind.FLOAT, Kind.DOUBLE), json_numbers),
    Kind.BOOLEAN: json_booleans,
}


def native_values(table: TableDef) -> list[Values]:
    """Return one function per column that makes JSON numbers, booleans or strings, by the type of the column."""
    return [_JSON_VALUES.get(column.type.kind, quoted) for column in table.columns]


def json_object(members: Mapping[str, Piece | list[Piece]]) -> list[Piece]:
    """Return the pieces of n JSON objects from the JSON values of their members.

    The value of a member is one text for all objects, n texts, or the pieces of n texts. An object omits a member that
    is NULL. All objects omit a member that is None. The first member must be neither.
    """
    pieces: list[Piece] = []
    for name, value in members.items():
        if isinstance(value, pa.StringArray) and value.null_count:
            pieces.append(member(name, value))
        elif value is not None:
            pieces.append(f"{',' if pieces else '{'}{escape_json_text(name)}:")
            pieces += value if isinstance(value, list) else [value]
    return [*pieces, "}"]


def json_words(words: Sequence[str]) -> OpKeys:
    return OpKeys([escape_json_text(word) for word in words])


def quoted_if_valid(texts: pa.StringArray) -> pa.StringArray:
    """Return texts as JSON strings, NULL for NULL."""
    return pc.if_else(texts.is_valid(), quote_json(texts), texts) if texts.null_count else quote_json(texts)


def member(name: str, values: pa.StringArray) -> pa.StringArray:
    """Return one member of n JSON objects, each with a comma before it; an empty text if the JSON value is NULL."""
    if values.null_count == len(values):
        return pc.fill_null(values, "")
    members = join([f",{escape_json_text(name)}:", values.fill_null("")])
    return pc.if_else(values.is_valid(), members, "") if values.null_count else members


def whole_numbers(values: pa.StringArray) -> pa.StringArray:
    """Return the texts that are whole numbers of at most 19 digits, and NULL for all others."""
    return pc.if_else(pc.match_substring_regex(values, LONG_WHOLE_NUMBER), values, pa.scalar(None, pa.string()))


class DialectFormatter(Formatter):
    """A formatter of a dialect in JSON.

    values  one function per column that makes its JSON values, in table order
    keeps   whether JSON values of the source that are not strings stay as they are, per column
    escapes  the escapes in the names of columns
    """

    def __init__(
        self,
        table: TableDef,
        context: Context,
        clock: Clock,
        values: Sequence[Values],
        keeps: Sequence[bool] | None = None,
        escapes: dict[int, str] = JSON_ESCAPES,
    ) -> None:
        super().__init__(table, context, clock)
        self._objects = ImageObjects(table.column_names, values, COMPACT, keeps, escapes=escapes)

    def objects(self, image: Image, rows: int, otherwise: str = "") -> pa.StringArray:
        """Return n JSON objects, `otherwise` in a row without an image. Raises: RowErrors for a wrong value."""
        return join(self.object_pieces(image, rows, otherwise), rows)

    def object_pieces(self, image: Image, rows: int, otherwise: str = "") -> list[Piece]:
        """Return the result of `objects` as pieces of messages."""
        objects, wrong = self._objects.of(image, rows, otherwise)
        if wrong:
            raise RowErrors([(row, self._misfit_of(image, row, column)) for row, column in sorted(wrong)])
        return objects

    def misfit(self, field: str, message: str = "the value does not match the type of its column") -> Diagnostic:
        return Diagnostic("GG401", message, Span(table=self.table.full_name, field=field), RIGHT_TYPE)

    def _misfit_of(self, image: Image, row: int, index: int) -> Diagnostic:
        diagnostic = self.misfit(self.table.columns[index].name)
        kind = self.table.columns[index].type.kind
        if kind not in (Kind.FLOAT, Kind.DOUBLE) or image.columns[index].values[row].as_py() not in NOT_FINITE:
            return diagnostic
        help = (
            "JSON has no such number: write `debezium_json`, which uses strings, or define the column as text with "
            "`--definitions`"
        )
        return Diagnostic(diagnostic.code, diagnostic.message, diagnostic.span, help)

    def micros(self, batch: ChangeBatch) -> pa.Int64Array:
        """Return the times in microseconds since 1970, NULL for none. Raises: RowErrors (GG408) for other texts."""
        numbers, bad = text_micros(batch.op_ts)
        if bad:
            reason = "the time of the operation is not a GoldenGate time stamp"
            raise RowErrors([(row, Diagnostic("GG408", reason, Span(table=self.table.full_name))) for row in bad])
        return numbers

    def refuse(self, batch: ChangeBatch, ops: Sequence[OpType], system: str) -> None:
        """Raise RowErrors (GG408) if the batch has operations of the types `ops`, which the system cannot represent."""
        rows = non_null_values(pc.indices_nonzero(pc.is_in(batch.op, pa.array([op.value for op in ops], pa.string()))))
        if rows:
            raise RowErrors([(row, self._no_form(batch, row, system)) for row in rows])

    def _no_form(self, batch: ChangeBatch, row: int, system: str) -> Diagnostic:
        name = OpType(batch.op[row].as_py()).name.lower()
        place = Span(table=self.table.full_name, position=batch.position[row].as_py())
        help = "set it aside: `--on-reject quarantine`"
        if name == "truncate":
            help += ", or leave it out: `ggfmt.truncates=leave-out`"
        return Diagnostic("GG408", f"{system} cannot represent {'an' if name[0] in 'iu' else 'a'} {name}", place, help)

    def without_nulls(self, image: Image, rows: int, absent_is_null: bool) -> Image:
        """Return the image without columns that are NULL: a loss, except if `absent_is_null` for readers."""
        columns = []
        for column, values in zip(self.table.columns, image.columns, strict=True):
            valid = values.values.is_valid()
            shown = valid if values.present is None else pc.and_(values.present, valid)
            columns.append(replace(values, present=shown))
            if not absent_is_null:
                null = pc.and_not(image.exists_mask(rows), valid)
                null = null if values.present is None else pc.and_(null, values.present)
                self.count(NULL_AS_MISSING, column.name, null.true_count)
        return Image(tuple(columns), image.exists)

    def count_missing(self, *images: Image) -> None:
        """Count the columns that are missing from existing images, if the dialect shows them as NULL."""
        for image in images:
            for column, values in zip(self.table.columns, image.columns, strict=True):
                self.count(MISSING_AS_NULL, column.name, missing_from(values, image.exists))


def missing_from(column: ImageColumn, exists: pa.BooleanArray | None) -> int:
    """Count the existing images from which a column is missing."""
    if column.present is None:
        return 0
    absent = pc.invert(column.present)
    return int((absent if exists is None else pc.and_(absent, exists)).true_count)


def text_output(
    formatter: Callable[[TableDef, Any, Context, Clock], Formatter],
    preamble: Callable[[TableDef, Any], bytes] | None = None,
) -> WriteSupport:
    return WriteSupport(
        formatter=formatter,
        framing=lambda table, options, context: TextFraming("UTF-8"),
        preamble=preamble,
        projection=lambda options: Projection(tokens=True),
    )
