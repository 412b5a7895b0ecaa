"""Helps for tests of consolidation: operations in staging, read in this process."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ggfmt.consolidation.staged import Read, Reading
from ggfmt.engine.inputs import plan_inputs, with_defaults
from ggfmt.engine.listing import list_inputs
from ggfmt.engine.runner import InProcess
from ggfmt.formats.api.context import DEFAULT_SETTINGS, WriterSettings
from ggfmt.frames.plan import job_of
from ggfmt.model.table import TableDef


def stage(
    inputs: Path | Sequence[Path],
    directory: Path,
    input_format: str = "auto",
    told: WriterSettings = DEFAULT_SETTINGS,
    definitions: dict[str, TableDef] | None = None,
    **settings: Any,
) -> Read:
    files = list_inputs([str(path) for path in ([inputs] if isinstance(inputs, Path) else inputs)])
    input_format, _, planned = plan_inputs(files, input_format, told)
    job = job_of(input_format, definitions or {}, with_defaults(told, input_format))
    return Reading(planned, str(directory), **settings).read(job, InProcess())
