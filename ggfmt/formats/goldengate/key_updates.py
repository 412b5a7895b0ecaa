"""Primary key updates, as row formats are told to handle them by `pkUpdateHandling`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ggfmt.columnar.images import delete_insert, key_updates
from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.formats.api.format import Projection
from ggfmt.formats.api.writing import RowErrors
from ggfmt.formats.goldengate.options import DELETE_INSERT, UPDATE
from ggfmt.model.change import ChangeBatch


def row_projection(options: Any) -> Projection:
    """What a row format needs, by its `pk_update_handling`."""
    handling = options.pk_update_handling
    return Projection(row_only=handling != DELETE_INSERT, key_updates=handling != UPDATE)


def handle_key_updates(batch: ChangeBatch, handling: str) -> tuple[ChangeBatch, Sequence[int]]:
    """The batch as a row format is to show it, with the row that each operation comes from; RowErrors for key updates
    under `abend`."""
    updates = None if handling == UPDATE else key_updates(batch)
    if updates is None:
        return batch, range(len(batch))
    if handling == DELETE_INSERT:
        return delete_insert(batch, updates)
    keys = ", ".join(batch.table.primary_keys)
    raise RowErrors(
        [
            (
                row,
                Diagnostic(
                    "GG402",
                    "an update changes the primary key",
                    Span(table=batch.table.full_name, field=keys, position=batch.position[row].as_py()),
                    f"set `pkUpdateHandling` to `{UPDATE}` or `{DELETE_INSERT}`",
                ),
            )
            for row in range(len(batch))
            if updates[row].as_py()
        ]
    )
