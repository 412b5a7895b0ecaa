"""Helps for tests of rows: operations in staging, read in this process."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ggfmt.formats.api.format import DEFAULT_SETTINGS, WriterSettings
from ggfmt.location import Location
from ggfmt.model.table import TableDef
from ggfmt.reading.runner import InProcess
from ggfmt.reading.scan import Scan, ScanRequest
from ggfmt.rows.staging import RowSink, StagedInput


def stage(
    inputs: Path | Sequence[Path],
    directory: Path,
    input_format: str = "auto",
    source: WriterSettings = DEFAULT_SETTINGS,
    definitions: dict[str, TableDef] | None = None,
    split_size: int | None = None,
    **settings: Any,
) -> StagedInput:
    """Read files. `settings`: of `RowSink`."""
    paths = [str(path) for path in ([inputs] if isinstance(inputs, Path) else inputs)]
    request = ScanRequest(paths, input_format, source, definitions or {}, split_size)
    scan, sink = Scan(request, request.list()), RowSink(Location.of(str(directory)), **settings)
    job, outcomes = scan.run(scan.job, sink, InProcess())
    return sink.staged(job, outcomes, scan.files)
