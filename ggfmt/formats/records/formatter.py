"""What formatters of dialects have in common: images as JSON objects, times, and what a dialect has no form for."""

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
from ggfmt.columnar.pieces import Piece, escape_json_text, join
from ggfmt.columnar.timestamps import text_micros
from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.formats.api.format import Context, Projection
from ggfmt.formats.api.losses import MISSING_AS_NULL, NULL_AS_MISSING
from ggfmt.formats.api.writing import NOT_FINITE, RIGHT_TYPE, Formatter, RowErrors, TextFraming, WriteSupport
from ggfmt.model.change import ChangeBatch, Image, ImageColumn, OpType
from ggfmt.model.table import Kind, TableDef

COMPACT = Style(pretty=False)


def quoted(values: pa.StringArray) -> JsonValues:
    """Texts as JSON strings, NULL as `null`; no row is illegal."""
    return json_strings(values), []


_JSON_VALUES: dict[Kind, Values] = {
    **dict.fromkeys((Kind.INTEGER, Kind.DECIMAL, Kind.NUMBER, Kind.FLOAT, Kind.DOUBLE), json_numbers),
    Kind.BOOLEAN: json_booleans,
}


def native_values(table: TableDef) -> list[Values]:
    """For each column what makes its values JSON numbers, booleans or strings, by the type of the column."""
    return [_JSON_VALUES.get(column.type.kind, quoted) for column in table.columns]


def json_object(members: Mapping[str, Piece | list[Piece]]) -> list[Piece]:
    """The pieces of n JSON objects by the JSON values of their members: a text that all have, n texts, or the pieces of
    n texts. A member is left out where it is NULL, or None for all, which the first never is."""
    pieces: list[Piece] = []
    for name, value in members.items():
        if isinstance(value, pa.StringArray) and value.null_count:
            pieces.append(member(name, value))
        elif value is not None:
            pieces.append(f"{',' if pieces else '{'}{escape_json_text(name)}:")
            pieces += value if isinstance(value, list) else [value]
    return [*pieces, "}"]


def json_words(words: Sequence[str]) -> OpKeys:
    """The words for types of operations as JSON strings."""
    return OpKeys([escape_json_text(word) for word in words])


def quoted_if_valid(texts: pa.StringArray) -> pa.StringArray:
    """JSON strings, NULL for NULL."""
    return pc.if_else(texts.is_valid(), quote_json(texts), texts) if texts.null_count else quote_json(texts)


def member(name: str, values: pa.StringArray) -> pa.StringArray:
    """A member of n JSON objects, with a comma before it: nothing where the JSON value is NULL."""
    if values.null_count == len(values):
        return pc.fill_null(values, "")
    members = join([f",{escape_json_text(name)}:", values.fill_null("")])
    return pc.if_else(values.is_valid(), members, "") if values.null_count else members


_WHOLE_NUMBER = "^(?:0|[1-9][0-9]{0,18})$"


def whole_numbers(values: pa.StringArray) -> pa.StringArray:
    """Texts that are whole numbers of at most 19 digits, NULL for all others."""
    return pc.if_else(pc.match_substring_regex(values, _WHOLE_NUMBER), values, pa.scalar(None, pa.string()))


class DialectFormatter(Formatter):
    """A formatter of a dialect in JSON; `values` makes the JSON values of each column, in table order. `keeps` tells of
    which of them objects and the like stay what they were in the source."""

    def __init__(
        self,
        table: TableDef,
        context: Context,
        clock: Clock,
        values: Sequence[Values],
        keeps: Sequence[bool] | None = None,
    ) -> None:
        super().__init__(table, context, clock)
        self._objects = ImageObjects(table.column_names, values, COMPACT, keeps)

    def objects(self, image: Image, rows: int, otherwise: str = "") -> pa.StringArray:
        """n JSON objects, `otherwise` where there is no image; RowErrors for values that are not of their type."""
        return join(self.object_pieces(image, rows, otherwise), rows)

    def object_pieces(self, image: Image, rows: int, otherwise: str = "") -> list[Piece]:
        """As `objects`, as pieces of messages."""
        objects, wrong = self._objects.of(image, rows, otherwise)
        if wrong:
            raise RowErrors([(row, self._misfit_of(image, row, column)) for row, column in sorted(wrong)])
        return objects

    def misfit(self, field: str, message: str = "the value is not of the type of its column") -> Diagnostic:
        return Diagnostic("GG401", message, Span(table=self.table.full_name, field=field), RIGHT_TYPE)

    def _misfit_of(self, image: Image, row: int, index: int) -> Diagnostic:
        diagnostic = self.misfit(self.table.columns[index].name)
        kind = self.table.columns[index].type.kind
        if kind not in (Kind.FLOAT, Kind.DOUBLE) or image.columns[index].values[row].as_py() not in NOT_FINITE:
            return diagnostic
        help = f"JSON has no such number: write `debezium_json`, which has a text in its place, or {RIGHT_TYPE}, a text"
        return Diagnostic(diagnostic.code, diagnostic.message, diagnostic.span, help)

    def micros(self, batch: ChangeBatch) -> pa.Int64Array:
        """The times of operations as microseconds since 1970, NULL where there is none; RowErrors if one is no time."""
        numbers, bad = text_micros(batch.op_ts)
        if bad:
            reason = "the time of the operation is not a time stamp as GoldenGate writes it"
            place = Span(table=self.table.full_name)
            raise RowErrors([(row, Diagnostic("GG408", reason, place)) for row in bad])
        return numbers

    def refuse(self, batch: ChangeBatch, ops: Sequence[OpType], system: str) -> None:
        """RowErrors for operations that the system has no form for."""
        rows = non_null_values(pc.indices_nonzero(pc.is_in(batch.op, pa.array([op.value for op in ops], pa.string()))))
        if rows:
            raise RowErrors([(row, self._no_form(batch, row, system)) for row in rows])

    def _no_form(self, batch: ChangeBatch, row: int, system: str) -> Diagnostic:
        name = OpType(batch.op[row].as_py()).name.lower()
        place = Span(table=self.table.full_name, position=batch.position[row].as_py())
        help = "set it aside: `--on-reject quarantine`"
        if name == "truncate":
            help += ", or leave it out: `ggfmt.truncates=leave-out`"
        return Diagnostic("GG408", f"{system} has no form for a {name}", place, help)

    def without_nulls(self, image: Image, rows: int, absent_is_null: bool) -> Image:
        """The image of n operations less the columns that are NULL, which are counted unless a reader takes columns
        for NULL that are not there."""
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
        """Takes note of columns that are missing from images that exist, where the dialect shows them as NULL."""
        for image in images:
            for column, values in zip(self.table.columns, image.columns, strict=True):
                self.count(MISSING_AS_NULL, column.name, missing_from(values, image.exists))


def missing_from(column: ImageColumn, exists: pa.BooleanArray | None) -> int:
    """From how many images that exist a column is missing."""
    if column.present is None:
        return 0
    absent = pc.invert(column.present)
    return int((absent if exists is None else pc.and_(absent, exists)).true_count)


def text_output(
    formatter: Callable[[TableDef, Any, Context, Clock], Formatter],
    preamble: Callable[[TableDef, Any], bytes] | None = None,
) -> WriteSupport:
    """What writes messages in UTF-8, tokens among them."""
    return WriteSupport(
        formatter=formatter,
        framing=lambda table, options, context: TextFraming("UTF-8"),
        preamble=preamble,
        projection=lambda options: Projection(tokens=True),
    )
