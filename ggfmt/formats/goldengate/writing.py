"""What GoldenGate's formatters share: values of metadata columns, primary key updates, and values of a wrong type."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.columnar.images import delete_insert, key_updates
from ggfmt.columnar.metadata import Clock, OpKeys, or_empty, token
from ggfmt.columnar.pieces import Piece, join
from ggfmt.columnar.strings import rows_where
from ggfmt.columnar.timestamps import text_micros
from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.formats.api.format import Context, Projection
from ggfmt.formats.api.writing import NOT_FINITE, RIGHT_TYPE, RowErrors
from ggfmt.formats.goldengate import metacolumns
from ggfmt.formats.goldengate.options import DELETE_INSERT, UPDATE
from ggfmt.model.change import ChangeBatch
from ggfmt.model.table import Kind, TableDef

_STRING = pa.string()
_NAME_PARTS = ("table", "schema", "catalog")
_DIGITS = "^[0-9]{20,}$"
_PLAIN = frozenset(
    {metacolumns.NOW, metacolumns.NOW_ISO8601, "currenttimestampmicro", "timestampmicro", "seqno", "rba"}
)


class MetaValues:
    """The values of a table's metadata columns that are texts. Absent metadata is an empty text."""

    def __init__(self, table: TableDef, op_keys: Sequence[str], context: Context, clock: Clock) -> None:
        names = dict.fromkeys(("schema", "catalog"), "") | dict(zip(_NAME_PARTS, reversed(table.parts), strict=False))
        self._names = names | {metacolumns.OBJECT_NAME: table.full_name}
        self._clock = clock
        self._variables = context.variables
        self._op_keys = OpKeys(op_keys)
        places = {name: place for place, name in enumerate(table.column_names)}
        self._keys = [places[name] for name in table.primary_keys]

    def constant(self, column: metacolumns.MetaColumn) -> str | None:
        """Return the value if all operations of the table share it, else None."""
        keyword = column.keyword
        if keyword in self._names:
            return self._names[keyword]
        if keyword == "static":
            return column.argument
        if keyword in metacolumns.VARIABLES or keyword == "groupname":
            return self._variables[str(column)]
        return None

    @staticmethod
    def is_plain(column: metacolumns.MetaColumn) -> bool:
        """Return whether the value has only digits and punctuation that no format escapes."""
        return column.keyword in _PLAIN

    def of(self, column: metacolumns.MetaColumn, batch: ChangeBatch) -> Piece:
        """Return the values for the operations of a batch: a text or scalar for all, or an array without nulls."""
        constant = self.constant(column)
        if constant is not None:
            return constant
        if column.keyword == "token":
            return or_empty(token(batch.tokens, column.argument or "", len(batch)))
        names = metacolumns.KEYWORDS[column.keyword].tokens
        if names:
            return or_empty(pc.coalesce(*(token(batch.tokens, name, len(batch)) for name in names)))
        if column.keyword == metacolumns.OP_TYPE:
            return self._op_keys.of(batch.op)
        if column.keyword == metacolumns.NOW or column.keyword == metacolumns.NOW_ISO8601:
            return self._clock.stamps(len(batch), column.keyword == metacolumns.NOW_ISO8601)
        if column.keyword == "currenttimestampmicro":
            return self._clock.micros(len(batch))
        if column.keyword == "primarykeys":
            return self._key_values(batch)
        return _OF_BATCH[column.keyword](batch)

    def _key_values(self, batch: ChangeBatch) -> Piece:
        pieces: list[Piece] = []
        for place in self._keys:
            column = batch.row_column(place)
            values = or_empty(column.values)
            if column.present is not None:
                values = pc.if_else(column.present, values, "")
            pieces += ["_", values]
        return join(pieces[1:]) if pieces else ""


def _number(positions: pa.StringArray, start: int, stop: int | None) -> pa.StringArray:
    """Return a part of the digits of positions as numbers; empty if a position is not one of a trail."""
    part = pc.utf8_slice_codeunits(positions, start, stop)
    number = pc.replace_substring_regex(part, "^0+(.)", r"\1")
    return or_empty(pc.if_else(pc.match_substring_regex(positions, _DIGITS), number, pa.scalar(None, _STRING)))


_OF_BATCH: dict[str, Callable[[ChangeBatch], pa.StringArray]] = {
    "position": lambda batch: or_empty(batch.position),
    "timestamp": lambda batch: or_empty(batch.op_ts),
    "timestampmicro": lambda batch: or_empty(pc.cast(text_micros(batch.op_ts)[0], _STRING)),
    "seqno": lambda batch: _number(batch.position, 0, 10),
    "rba": lambda batch: _number(batch.position, 10, None),
}


def template_projection(options: Any, by_image: bool) -> Projection:
    """Return what a format with a template needs, which shows both images or one."""
    tokens = metacolumns.needs_tokens(options.meta_columns_template)
    if by_image:
        return Projection(tokens=tokens)
    handling = options.pk_update_handling
    return Projection(row_only=handling != DELETE_INSERT, key_updates=handling != UPDATE, tokens=tokens)


def handle_key_updates(batch: ChangeBatch, handling: str) -> tuple[ChangeBatch, Sequence[int]]:
    """Return the batch as a row format shows it, and the row of each operation. Raises: RowErrors if it must abend."""
    updates = None if handling == UPDATE else key_updates(batch)
    if updates is None:
        return batch, range(len(batch))
    if handling == DELETE_INSERT:
        return delete_insert(batch, updates)
    keys = ", ".join(batch.table.primary_keys)
    rejects = []
    for row in rows_where(updates):
        place = Span(table=batch.table.full_name, field=keys, position=batch.position[row].as_py())
        help = f"set `pkUpdateHandling` to `{UPDATE}` or `{DELETE_INSERT}`"
        rejects.append((row, Diagnostic("GG402", "an update changes the primary key", place, help)))
    raise RowErrors(rejects)


def misfits(
    batch: ChangeBatch, bad: Iterable[tuple[int, int]], expected: Callable[[int], str]
) -> list[tuple[int, Diagnostic]]:
    """Return a GG401 for the first wrong value of each row, given (row, column); `expected` describes legal values."""
    by_row: dict[int, Diagnostic] = {}
    for row, index in sorted(bad):
        column = batch.table.columns[index]
        place = Span(table=batch.table.full_name, field=column.name, position=batch.position[row].as_py())
        reason = f"the column is defined as {column.type.kind.value}, but the value is not {expected(index)}"
        values = (image.columns[index].values[row].as_py() for image in (batch.before, batch.after))
        special = column.type.kind in (Kind.FLOAT, Kind.DOUBLE) and not NOT_FINITE.isdisjoint(values)
        help = f"{RIGHT_TYPE}, or set `treatAllColumnsAsStrings`"
        if special:
            help = "set `treatAllColumnsAsStrings=true`: JSON has no such number, but a string can contain it"
        by_row.setdefault(row, Diagnostic("GG401", reason, place, help))
    return sorted(by_row.items())
