"""What every test gets: no class archive made in the background, hypothesis without deadlines on a shared machine."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

os.environ["GGFMT_CDS"] = "off"

# CI draws the same examples every time, so that a change is judged by itself; elsewhere each run draws others.
settings.register_profile(
    "ggfmt",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=bool(os.environ.get("CI")),
)
settings.load_profile("ggfmt")
