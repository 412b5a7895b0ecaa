"""Kernels over Arrow arrays: work done once per column and batch, never once per value."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from types import ModuleType
from typing import cast


def _remember_what_is_not_installed(module: str) -> None:
    """Has an import of a module that is not there fail at once, instead of looking for it anew each time."""
    if module not in sys.modules and find_spec(module) is None:
        cast("dict[str, ModuleType | None]", sys.modules)[module] = None


# Arrow imports it for every scalar and array that is made of Python's values; to look for it takes ten times as long as
# to make the scalar.
_remember_what_is_not_installed("dateutil")
