"""`ggfmt consolidate`."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from ggfmt.cli.messages import interrupt_before_commit
from ggfmt.commands import options
from ggfmt.commands.consolidation import ConsolidateRequest, run_consolidation
from ggfmt.spark.target import detect_spark


def consolidate(request: ConsolidateRequest, progress: Annotated[bool | None, options.PROGRESS] = None) -> None:
    """Write the rows of tables as they are after all changes.

    `ggfmt consolidate changes/ -o out`

    `ggfmt consolidate changes/ -o out --as-of 2026-01-31T12:00:00 --to csv`

    `ggfmt consolidate changes/ -o out --history --primary-keys 'S.ORDERS=ID'`

    What cannot be decided is in `out/_unresolved`.
    """
    from ggfmt.render.progress import progress_bar

    there = detect_spark()
    shown = False if progress is None and there is not None and there.shows_progress else progress
    with progress_bar(shown) as tell, interrupt_before_commit():
        run_consolidation(replace(request, progress=tell))
