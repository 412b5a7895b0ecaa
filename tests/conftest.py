"""What every test gets: no class archive made in the background, hypothesis without deadlines on a shared machine."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

os.environ["GGFMT_CDS"] = "off"

settings.register_profile("ggfmt", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ggfmt")
