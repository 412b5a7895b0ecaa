"""The target that a run is asked for."""

from __future__ import annotations

from ggfmt.rows.output import RowsDirectory
from ggfmt.rows.targets.files import FileTarget
from ggfmt.rows.targets.target import RowTarget


def make_target(to: str, output: RowsDirectory) -> RowTarget:
    """Return the target of the word of `--to`."""
    return FileTarget(output, to)
