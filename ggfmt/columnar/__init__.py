"""Kernels over Arrow arrays: work done once per column and batch, never once per value."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from types import ModuleType
from typing import cast

# Arrow imports `dateutil` for every scalar and array that it makes of Python values. If the library is not installed,
# the search for it takes ten times as long as making the scalar. Let the import fail at once.
if "dateutil" not in sys.modules and find_spec("dateutil") is None:
    cast("dict[str, ModuleType | None]", sys.modules)["dateutil"] = None
