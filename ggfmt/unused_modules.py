"""Keep numpy and pandas from being imported in processes of ggfmt, which do not use them.

Arrow imports numpy when it is loaded (0.1 seconds), and pandas with the first array of Python objects (0.3 seconds). A
process that does not belong to ggfmt may import them: Arrow asks only once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

_UNUSED = ("numpy", "pandas")


class _Finder(PathFinder):
    """Finds all but the unused modules, as if they were not installed."""

    @classmethod
    def find_spec(
        cls, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return None if fullname in _UNUSED else super().find_spec(fullname, path, target)


def hide_unused_modules() -> None:
    """Hide numpy and pandas from imports from now on."""
    sys.meta_path[:] = [_Finder if finder is PathFinder else finder for finder in sys.meta_path]


def show_unused_modules() -> None:
    """Let numpy and pandas be imported again, for the client of Spark Connect, which needs both."""
    sys.meta_path[:] = [PathFinder if finder is _Finder else finder for finder in sys.meta_path]


def uses_spark_connect(arguments: Sequence[str]) -> bool:
    """Return whether a command may use Spark Connect. Arrow has to find numpy when it is loaded, or never."""
    return "SPARK_REMOTE" in os.environ or any(word.startswith("--remote") for word in arguments)
