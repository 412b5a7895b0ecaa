"""Processes that are ggfmt's alone do without pandas.

Arrow loads it, where it is installed, with the first array that it makes of Python's objects: a third of a second for
what no run uses. A process that is somebody else's keeps it, since Arrow asks once only.
"""

from __future__ import annotations

import sys


class _PandasBlocker:
    """A finder of modules that finds no pandas."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("ggfmt does without pandas", name=name)


def do_without_pandas() -> None:
    """Nothing that is loaded from now on finds pandas."""
    if _PandasBlocker not in sys.meta_path:
        sys.meta_path.insert(0, _PandasBlocker)


def allow_pandas() -> None:
    """For what cannot do without it: the client of Spark Connect."""
    if _PandasBlocker in sys.meta_path:
        sys.meta_path.remove(_PandasBlocker)
