"""What a consolidation is asked."""

from __future__ import annotations

from ggfmt.dataclasses import dataclass, field
from ggfmt.engine import RunRequest
from ggfmt.rows.query import RowQuery
from ggfmt.rows.tables import Types
from ggfmt.rows.targets.options import TargetOptions


@dataclass(frozen=True, kw_only=True)
class ConsolidationSettings(RunRequest):
    output: str
    query: RowQuery = field(default_factory=RowQuery)
    to: str = "parquet"
    base: str | None = None
    types: Types = ()
    target: TargetOptions = field(default_factory=TargetOptions)
