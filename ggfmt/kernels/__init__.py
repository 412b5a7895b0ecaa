"""Native kernels, where there are any: one extension module that pip builds where there is a C compiler.

`native` is the module, or None; `state` says in words which it is, and why. What a kernel does the plain code does too,
with the same results: callers ask `native is not None` and have both ways. `GGFMT_KERNELS=off` chooses the plain one.

A cluster's executors may have this package in a zip file, which no extension module can be loaded from: there it is
written to a temporary file first.
"""

from __future__ import annotations

import importlib.util
import os
import tempfile
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader
from types import ModuleType
from typing import Any

SWITCH = "GGFMT_KERNELS"
REVISION = 18  # as revision.h has it

# What a kernel raises for what it does not take: too many columns, or an array of another type. Then the code without
# kernels does the work, as for a kernel that is not there.
REFUSALS = (ValueError, TypeError, OverflowError)

_NAME = "ggfmt.kernels._native"


def _load() -> tuple[ModuleType | None, str]:
    if os.environ.get(SWITCH, "").lower() == "off":
        return None, f"off, by {SWITCH}"
    try:
        module = _imported()
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError):
            return None, "none was built, for want of a C compiler or for another platform or Python"
        return None, f"it cannot be loaded: {error}"
    if getattr(module, "REVISION", None) != REVISION:
        return None, "it was built from other sources: install ggfmt again"
    return module, "native"


def _imported() -> ModuleType:
    loader = __spec__.loader
    if hasattr(loader, "archive"):
        return _from_archive(loader)
    from ggfmt.kernels import _native

    return _native


def _from_archive(loader: Any) -> ModuleType:
    """The extension module that is in a zip file beside this one."""
    directory = os.path.dirname(__file__)
    for suffix in EXTENSION_SUFFIXES:
        try:
            data = loader.get_data(os.path.join(directory, f"_native{suffix}"))
        except OSError:
            continue
        with tempfile.TemporaryDirectory(prefix="ggfmt-kernels-", ignore_cleanup_errors=True) as private:
            path = os.path.join(private, f"_native{suffix}")
            with open(path, "wb") as file:
                file.write(data)
            spec = importlib.util.spec_from_file_location(_NAME, path, loader=ExtensionFileLoader(_NAME, path))
            assert spec is not None and spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
    raise ModuleNotFoundError(_NAME)


_loaded: tuple[Any, str] = _load()
native: Any = _loaded[0]
state: str = _loaded[1]
