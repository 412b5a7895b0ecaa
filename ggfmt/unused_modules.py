"""Keep numpy and pandas from being imported in processes of ggfmt.

If they are installed, Arrow imports numpy when it is loaded: 0.1 seconds. It imports pandas with the first array that
it makes of Python objects: 0.3 seconds. No run uses them. A process that does not belong to ggfmt may import them,
because Arrow asks only once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

_UNUSED = ("numpy", "pandas")


class _Blocker:
    """A finder of modules that does not find the unused ones."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name in _UNUSED:
            raise ModuleNotFoundError(f"ggfmt does without {name}", name=name)


def hide_unused_modules() -> None:
    """Hide numpy and pandas from imports from now on."""
    if _Blocker not in sys.meta_path:
        sys.meta_path.insert(0, _Blocker)


def show_unused_modules() -> None:
    """Let numpy and pandas be imported again, for the client of Spark Connect, which needs both."""
    if _Blocker in sys.meta_path:
        sys.meta_path.remove(_Blocker)


def uses_spark_connect(arguments: Sequence[str]) -> bool:
    """Return whether a command may use Spark Connect. Arrow has to find numpy when it is loaded, or never."""
    return "SPARK_REMOTE" in os.environ or any(word.startswith("--remote") for word in arguments)
