"""Counts what messages do not show of operations, where that depends on the values.

Values are compared, not their texts: `1.50` equals `1.5`. Losses that only a formatter knows are counted there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import as_strings, list_array
from ggfmt.columnar.images import and_present
from ggfmt.columnar.metadata import token
from ggfmt.columnar.typed import typed_values
from ggfmt.formats.api import losses
from ggfmt.formats.api.losses import Loss
from ggfmt.formats.api.writing import Formatter
from ggfmt.model.change import ChangeBatch, Image, ImageColumn, OpType
from ggfmt.options.spec import Options

_TIME_ZERO = r"^1970-01-01[ T]00:00:00(?:\.|Z|$)"


class LossCounter:
    def __init__(self, found: Sequence[Loss], options: Options) -> None:
        self._options = options
        ids = {loss.id for loss in found}
        found = [loss for loss in found if _WHOLE_LOSSES.get(loss.id) not in ids]
        self._of_operations = [loss for loss in found if loss.id in _OPERATIONS]
        self._of_tokens = [loss for loss in found if loss.id in _TOKENS]
        self._counts_nested = losses.NESTED_AS_TEXT.id in ids
        self._shows_rows = losses.BEFORE_NOT_SHOWN.id in ids

    @property
    def needs_tokens(self) -> bool:
        return bool(self._of_tokens)

    def count(self, formatter: Formatter, batch: ChangeBatch) -> None:
        for loss in self._of_operations:
            formatter.count(loss, "", _OPERATIONS[loss.id](loss, batch).true_count)
        if batch.tokens is not None:
            for loss in self._of_tokens:
                formatter.count(loss, "", self._with_lost_token(loss, batch))
        for image, shown in self._images(batch):
            for index, type in formatter.floats.items():
                column = image.columns[index]
                lost = changed_digits(_shown_values(column, shown), type)
                formatter.count(losses.DIGITS_OF_DOUBLE, formatter.table.columns[index].name, lost)
            for definition, column in zip(formatter.table.columns, image.columns, strict=True):
                if self._counts_nested and column.json is not None:
                    where = column.json if shown is None else pc.and_(column.json, shown)
                    nested = pc.or_(pc.starts_with(column.values, "{"), pc.starts_with(column.values, "["))
                    lost = pc.and_(where, nested.fill_null(False)).true_count
                    formatter.count(losses.NESTED_AS_TEXT, definition.name, lost)

    def _images(self, batch: ChangeBatch) -> Iterator[tuple[Image, pa.BooleanArray | None]]:
        before, after, rows = batch.before, batch.after, len(batch)
        if before.columns is after.columns:
            image = batch.row_image()
            yield image, image.exists
            return
        yield after, after.exists
        shown = before.exists
        if self._shows_rows:
            shown = pc.and_(before.exists_mask(rows), pc.equal(batch.op, OpType.DELETE.value))
        if shown is None or shown.true_count:
            yield before, shown

    def _with_lost_token(self, loss: Loss, batch: ChangeBatch) -> int:
        tokens = batch.tokens
        assert tokens is not None
        first, last = tokens.offsets[0].as_py(), tokens.offsets[-1].as_py()
        if first == last:
            return 0
        if loss.id == losses.TOKENS_NOT_SHOWN.id and not loss.names:
            return int(pc.not_equal(tokens.offsets[1:], tokens.offsets[:-1]).true_count)
        names, texts = (as_strings(part).slice(first, last - first) for part in (tokens.keys, tokens.items))
        lost = _TOKENS[loss.id](loss, names, texts, self._options)
        if not lost.true_count:
            return 0
        rows = pc.list_parent_indices(list_array(pc.subtract(tokens.offsets, first), names))
        return len(pc.unique(rows.filter(lost)))


def _shown_values(column: ImageColumn, shown: pa.BooleanArray | None) -> pa.StringArray:
    shown = column.present if shown is None else and_present(shown, column)
    return column.values if shown is None else pc.if_else(shown, column.values, pa.scalar(None, pa.string()))


def changed_digits(values: pa.StringArray, type: pa.DataType) -> int:
    """Count the texts that are no values of a floating-point type: rows cannot have them either."""
    return len(typed_values(values, type)[1])


# Losses of a part, by id, with the loss of the whole that includes them.
_WHOLE_LOSSES = {
    losses.TIME_DIGITS.id: losses.TIME_NOT_SHOWN.id,
    losses.TOKENS_RESERVED.id: losses.TOKENS_NOT_SHOWN.id,
    losses.TOKEN_DELIMITERS.id: losses.TOKENS_NOT_SHOWN.id,
}

# Where operations lose something, by the id of the loss


def _positions(loss: Loss, batch: ChangeBatch) -> pa.BooleanArray:
    """Find positions that are not the token that readers take for one."""
    there = batch.position.is_valid()
    for name in loss.names:
        same = pc.equal(batch.position, token(batch.tokens, name, len(batch)))
        there = pc.and_not(there, same.fill_null(False))
    return there


def _positions_as_gtid(loss: Loss, batch: ChangeBatch) -> pa.BooleanArray:
    """Find operations whose tokens readers take for the position."""
    gtid, identity = (token(batch.tokens, name, len(batch)) for name in ("gtid", "id"))
    named = pc.coalesce(gtid, pc.if_else(batch.position.is_valid(), batch.position, identity))
    return pc.and_(named.is_valid(), pc.not_equal(named, batch.position).fill_null(True))


def _positions_as_tokens(loss: Loss, batch: ChangeBatch) -> pa.BooleanArray:
    """Find operations whose position readers also take for a token."""
    gtid, identity = (token(batch.tokens, name, len(batch)) for name in ("gtid", "id"))
    shown = pc.not_equal(batch.position, pc.if_else(pc.match_substring_regex(identity, losses.DIGITS), identity, None))
    return pc.and_(pc.and_(gtid.is_null(), pc.not_equal(batch.position, "")), shown.fill_null(True))


_OPERATIONS: dict[str, Callable[[Loss, ChangeBatch], pa.BooleanArray]] = {
    losses.BEFORE_NOT_SHOWN.id: lambda loss, batch: pc.and_(
        pc.equal(batch.op, OpType.UPDATE.value), batch.before.exists_mask(len(batch))
    ),
    losses.TIME_DIGITS.id: lambda loss, batch: pc.match_substring_regex(
        batch.op_ts, rf"\.[0-9]{{{loss.digits}}}[0-9]*[1-9]"
    ),
    losses.TIME_NOT_SHOWN.id: lambda loss, batch: batch.op_ts.is_valid(),
    losses.NOTHING_FOR_ZERO.id: lambda loss, batch: pc.match_substring_regex(batch.op_ts, _TIME_ZERO),
    losses.POSITION_NOT_SHOWN.id: _positions,
    losses.POSITION_WHOLE_NUMBER.id: lambda loss, batch: pc.invert(
        pc.match_substring_regex(batch.position, losses.WHOLE_NUMBER)
    ),
    losses.POSITION_BY_GTID.id: _positions_as_gtid,
    losses.TOKEN_FROM_POSITION.id: _positions_as_tokens,
    losses.CATALOG_NOT_SHOWN.id: lambda loss, batch: pa.repeat(batch.table.catalog is not None, len(batch)),
}


# Which tokens are lost, by the id of the loss

TokenRule = Callable[[Loss, pa.StringArray, pa.StringArray, Any], pa.BooleanArray]


def _unnamed(loss: Loss, names: pa.StringArray, texts: pa.StringArray, options: Any) -> pa.BooleanArray:
    """Find tokens with other names, or with texts that the members for them cannot contain."""
    lost = pc.invert(pc.is_in(names, pa.array(loss.names, pa.string())))
    for name, pattern in loss.patterns:
        named = pc.equal(names, name)
        if named.true_count:
            lost = pc.or_(lost, pc.and_not(named, pc.match_substring_regex(texts, pattern)))
    return lost


def _divided(loss: Loss, names: pa.StringArray, texts: pa.StringArray, options: Any) -> pa.BooleanArray:
    between, inside = options.key_value_pair_delimiter, options.key_value_delimiter
    parts = (pc.match_substring(names, between), pc.match_substring(names, inside), pc.match_substring(texts, between))
    return pc.or_(pc.or_(parts[0], parts[1]), parts[2])


_TOKENS: dict[str, TokenRule] = {
    losses.TOKENS_NOT_SHOWN.id: _unnamed,
    losses.TOKENS_BY_NAME.id: _unnamed,
    losses.TOKENS_WHOLE_NUMBERS.id: lambda loss, names, texts, options: pc.and_not(
        _unnamed(loss, names, texts, options), pc.match_substring_regex(texts, losses.INTEGER)
    ),
    losses.TOKENS_RESERVED.id: lambda loss, names, *_: pc.is_in(names, pa.array(loss.names, pa.string())),
    losses.TOKEN_DELIMITERS.id: _divided,
}
