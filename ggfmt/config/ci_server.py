"""Whether a CI server runs ggfmt, by the variable that all of them set."""

from __future__ import annotations

import os


def in_ci() -> bool:
    return os.environ.get("CI", "").lower() not in ("", "0", "false")
