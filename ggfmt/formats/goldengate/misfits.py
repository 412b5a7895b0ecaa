"""Values that are not of the type of their column, as the formatters of GoldenGate refuse them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.formats.api.writing import NOT_FINITE, RIGHT_TYPE
from ggfmt.model.change import ChangeBatch
from ggfmt.model.table import Kind


def misfits(
    batch: ChangeBatch, bad: Iterable[tuple[int, int]], wanted: Callable[[int], str]
) -> list[tuple[int, Diagnostic]]:
    """GG401 for the first wrong value of each row, from (row, column) of all of them; `wanted` says by the place of a
    column what its values have to be."""
    by_row: dict[int, Diagnostic] = {}
    for row, index in sorted(bad):
        column = batch.table.columns[index]
        place = Span(table=batch.table.full_name, field=column.name, position=batch.position[row].as_py())
        reason = f"the column is {column.type.kind.value} by its definition, but the value is not {wanted(index)}"
        values = (image.columns[index].values[row].as_py() for image in (batch.before, batch.after))
        special = column.type.kind in (Kind.FLOAT, Kind.DOUBLE) and not NOT_FINITE.isdisjoint(values)
        help = f"{RIGHT_TYPE}, or set `treatAllColumnsAsStrings`"
        if special:
            help = "set `treatAllColumnsAsStrings=true`: JSON has no number for it, and a text shows it"
        by_row.setdefault(row, Diagnostic("GG401", reason, place, help))
    return sorted(by_row.items())
