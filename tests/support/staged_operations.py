"""Helps for tests of consolidation: operations in staging, read in this process."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ggfmt.consolidation.staging import Read, RowSink, stage_operations
from ggfmt.formats.api.format import DEFAULT_SETTINGS, WriterSettings
from ggfmt.location import Location
from ggfmt.model.table import TableDef
from ggfmt.scan.runner import InProcess
from ggfmt.scan.scan import Scan, ScanRequest


def stage(
    inputs: Path | Sequence[Path],
    directory: Path,
    input_format: str = "auto",
    told: WriterSettings = DEFAULT_SETTINGS,
    definitions: dict[str, TableDef] | None = None,
    split_size: int | None = None,
    **settings: Any,
) -> Read:
    paths = [str(path) for path in ([inputs] if isinstance(inputs, Path) else inputs)]
    request = ScanRequest(paths, input_format, told, definitions or {}, split_size)
    return stage_operations(
        Scan(request, request.list()), RowSink(Location.of(str(directory)), **settings), InProcess()
    )
