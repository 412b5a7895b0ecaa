"""Keep pandas from being imported in processes of ggfmt.

If pandas is installed, Arrow imports it with the first array that it makes of Python objects: 0.3 seconds, and no run
uses it. A process that does not belong to ggfmt may import it, because Arrow asks only once.
"""

from __future__ import annotations

import sys


class _PandasBlocker:
    """A finder of modules that does not find pandas."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("ggfmt does without pandas", name=name)


def do_without_pandas() -> None:
    """Hide pandas from imports from now on."""
    if _PandasBlocker not in sys.meta_path:
        sys.meta_path.insert(0, _PandasBlocker)


def allow_pandas() -> None:
    """Allow imports of pandas again, for the client of Spark Connect, which needs it."""
    if _PandasBlocker in sys.meta_path:
        sys.meta_path.remove(_PandasBlocker)
