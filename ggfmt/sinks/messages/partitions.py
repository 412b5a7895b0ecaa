"""The rows of a table by the values of some of its columns, which go to files of their own (`partitioner`)."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import as_strings, counts_by_value, non_null_values
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic, Span
from ggfmt.model.change import ChangeBatch, Image
from ggfmt.model.table import TableDef
from ggfmt.options.template_pieces import Value
from ggfmt.sinks.messages.layout import Partition

MOST_PARTITIONS = 10_000

_MISSING, _NULL, _TEXT = "-", "0", "="


class Partitioner:
    """Divides operations of one definition by columns; Abend GG515 if the table does not have them."""

    def __init__(self, table: TableDef, columns: Sequence[str]) -> None:
        keyed = table.with_keys(columns)
        unknown = keyed.not_in_key(columns)
        if unknown:
            message = f"`partitioner` names `{unknown[0]}`, which is no column of the table"
            raise Abend(Diagnostic("GG515", message, Span(table=table.full_name), "name one of its columns"))
        self._indices = [table.column_names.index(name) for name in keyed.primary_keys]

    def divide(self, batch: ChangeBatch) -> list[tuple[Partition, pa.Int64Array]]:
        """The partitions of n operations in the order in which they are met, each with its rows in order. A row is of
        the values of its image: the one before of a delete, else the one after."""
        image = batch.row_image()
        of_row = pa.repeat(pa.scalar(0, pa.int64()), len(batch))
        distinct: list[list[str]] = []
        for index in self._indices:
            encoded = _states(image, index, len(batch)).dictionary_encode()
            distinct.append(non_null_values(as_strings(encoded.dictionary)))
            places = pc.multiply(of_row, len(distinct[-1]))
            of_row = pc.add(places, pc.cast(encoded.indices, pa.int64()))
        numbers = non_null_values(pc.unique(of_row))
        if len(numbers) == 1:
            return [(_values(numbers[0], distinct), pa.array(range(len(batch)), pa.int64()))]
        rows = pa.table({"number": of_row, "row": pa.array(range(len(batch)), pa.int64())})
        order = pc.cast(pc.sort_indices(rows, sort_keys=[("number", "ascending"), ("row", "ascending")]), pa.int64())
        counts = counts_by_value(of_row)
        start, slices = 0, {}
        for number in sorted(counts):
            slices[number] = order.slice(start, counts[number])
            start += counts[number]
        return [(_values(number, distinct), slices[number]) for number in numbers]


def _states(image: Image, index: int, length: int) -> pa.StringArray:
    """The values of a column as texts in which a missing one, NULL and a text are different."""
    column = image.columns[index]
    present = image.exists_mask(length)
    if column.present is not None:
        present = pc.and_(present, column.present)
    texts = pc.binary_join_element_wise(pa.scalar(_TEXT), column.values.cast(pa.string()), "")
    return pc.if_else(present, pc.fill_null(texts, _NULL), _MISSING)


def _values(number: int, distinct: list[list[str]]) -> Partition:
    states = []
    for states_of_column in reversed(distinct):
        number, place = divmod(number, len(states_of_column))
        states.append(states_of_column[place])
    return tuple(Value(state != _MISSING, state[1:] if state.startswith(_TEXT) else None) for state in reversed(states))


def too_many_partitions(table: str) -> Diagnostic:
    """GG515 for a table of which nearly each row would have a file."""
    message = f"`partitioner` divides the table into more than {MOST_PARTITIONS:,} parts, each with files of its own"
    return Diagnostic("GG515", message, Span(table=table), "choose columns of fewer values")
