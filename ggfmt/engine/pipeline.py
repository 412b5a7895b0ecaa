"""Formatting a batch, less the operations that cannot be formatted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.writing import Formatter, RowErrors
from ggfmt.model.change import ChangeBatch


@dataclass(frozen=True)
class Formatted:
    """The operations that could be formatted, those that were written for them, the row of `operations` that each of
    these comes from, and their messages."""

    operations: ChangeBatch
    arranged: ChangeBatch
    sources: Sequence[int]
    messages: pa.Array


def format_batch(
    formatter: Formatter, batch: ChangeBatch, wanted: range
) -> tuple[list[tuple[int, Diagnostic]], Formatted | None]:
    """The rows of a batch that cannot be formatted, of those `wanted`, with the reason; and all others."""
    refused: list[tuple[int, Diagnostic]] = []
    rows = list(wanted)
    while rows:
        part = batch if len(rows) == len(batch) else batch.take(pa.array(rows, pa.int64()))
        sources: Sequence[int] = range(len(part))
        try:
            arranged, sources = formatter.arrange(part)
            return refused, Formatted(part, arranged, sources, formatter.format(arranged))
        except RowErrors as errors:
            bad = {rows[sources[row]]: diagnostic for row, diagnostic in reversed(errors.rows)}
            refused += sorted(bad.items(), key=lambda item: item[0])
            rows = [row for row in rows if row not in bad]
    return refused, None
