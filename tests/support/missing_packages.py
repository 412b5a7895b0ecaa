"""Packages as if they were not installed."""

from __future__ import annotations

import sys

import pytest


class _Missing:
    """A finder of modules that has no package of a name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == self._name:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def hide_package(patch: pytest.MonkeyPatch, name: str) -> None:
    for module in [each for each in sys.modules if each.partition(".")[0] == name]:
        patch.delitem(sys.modules, module)
    patch.setattr(sys, "meta_path", [_Missing(name), *sys.meta_path])
