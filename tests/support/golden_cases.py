"""The cases of `golden/<format>/`: a directory for each."""

from __future__ import annotations

from places import GOLDEN

CASES = sorted(path for format in GOLDEN.iterdir() for path in format.iterdir())
MANUAL = ("manual_insert", "manual_update", "manual_delete", "manual_truncate")
