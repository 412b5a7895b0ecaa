"""How many cores this process may use."""

from __future__ import annotations

import math
import os
from pathlib import Path

_GROUPS = Path("/sys/fs/cgroup")


def available_cores() -> int:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = _quota(_GROUPS)
    return cores if quota is None else max(1, min(cores, math.ceil(quota)))


def _quota(groups: Path) -> float | None:
    """Return the number of cores that a control group of Linux grants. A container sees its own at the root."""
    try:
        limit, period = (groups / "cpu.max").read_text("ascii").split()
    except (OSError, ValueError):
        try:
            limit = (groups / "cpu" / "cpu.cfs_quota_us").read_text("ascii").strip()
            period = (groups / "cpu" / "cpu.cfs_period_us").read_text("ascii").strip()
        except (OSError, ValueError):
            return None
    if not (limit.isdigit() and period.isdigit()) or not int(period):
        return None  # `max`, or -1
    return int(limit) / int(period)
