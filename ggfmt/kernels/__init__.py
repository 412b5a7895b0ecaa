"""Native kernels: an optional extension module that pip builds if there is a C compiler.

`native` is the module, or None; `state` describes it, and why it is missing. Without kernels the results are the same:
functions have a version in plain Python (`primitives`), and the exact readers decode all records that a `kernel` would
decode. `GGFMT_KERNELS=off` turns kernels off. If the module cannot be loaded, `lack` has the reason and the help;
nothing is raised.

Executors of a cluster may have this package in a zip file, from which no extension module can be loaded: it is written
to a temporary file first.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import tempfile
from collections.abc import Callable
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader
from types import ModuleType
from typing import Any, TypeVar

from ggfmt.dataclasses import dataclass

SWITCH = "GGFMT_KERNELS"
REVISION = 42  # the same number as in revision.h

# What a kernel raises for input that it does not accept: too many columns, or an array of another type. ggfmt then does
# the work as if there were no kernels.
REFUSALS = (ValueError, TypeError, OverflowError)

# As measured; all messages use this text.
COST = "reading takes 8 to 48 times as long, depending on the format, and a whole run 3 to 6 times as long"

_NAME = "ggfmt.kernels._native"
_FILE = "_native"
_AGAIN = "install ggfmt again with pip's options `--force-reinstall --no-deps --no-cache-dir`"
_BUILD = (
    f"install a C compiler and Python's headers (on Debian `apt-get install gcc python3-dev`), then {_AGAIN}; or"
    " install a wheel of ggfmt for this platform"
)
_TEMPORARY = "set TMPDIR, where tasks run, to a directory with room that programs can be loaded from"


@dataclass(frozen=True)
class Lack:
    """Why there are no kernels, although they are not switched off, as `they ...`, and what to do."""

    reason: str
    help: str

    @property
    def message(self) -> str:
        return f"the native kernels {self.reason}: {COST}"


class _Lacking(Exception):
    """The extension module is not available: the reason and the help."""


def _load() -> tuple[ModuleType | None, str, Lack | None]:
    if os.environ.get(SWITCH, "").lower() == "off":
        return None, f"off, by {SWITCH}", None
    try:
        module = _imported()
        if getattr(module, "REVISION", None) != REVISION:
            raise _Lacking("were built from the sources of another ggfmt", _AGAIN)
    except _Lacking as error:
        lack = Lack(*error.args)
    except Exception as error:  # a damaged module, or one of another platform, may raise anything
        lack = Lack(f"cannot be loaded ({_text(error)})", _AGAIN)
    else:
        return module, "native", None
    return None, f"none, they {lack.reason}", lack


def _text(error: Exception) -> str:
    return str(error).strip().split("\n", 1)[0] or type(error).__name__


def _imported() -> ModuleType:
    loader = __spec__.loader
    if hasattr(loader, "archive"):
        return _from_archive(loader)
    try:
        return importlib.import_module(_NAME)
    except ModuleNotFoundError:
        names = sorted(name for name in os.listdir(os.path.dirname(__file__)) if name.startswith(f"{_FILE}."))
        other = [name for name in names if name.endswith((".so", ".pyd"))]
        if other and not any(name == f"{_FILE}{suffix}" for name in other for suffix in EXTENSION_SUFFIXES):
            raise _Lacking(f"were built for another Python or platform (`{other[0]}`)", _BUILD) from None
        raise _Lacking("were not built", _BUILD) from None


def _from_archive(loader: Any) -> ModuleType:
    """Return the extension module from a zip file that contains this one."""
    directory = os.path.dirname(__file__)
    for suffix in EXTENSION_SUFFIXES:
        try:
            data = loader.get_data(os.path.join(directory, f"{_FILE}{suffix}"))
        except OSError:
            continue
        try:
            return _from_data(data, f"{_FILE}{suffix}")
        except OSError as error:
            where = f"`{tempfile.tempdir}`" if tempfile.tempdir else "a temporary directory"
            reason = error.strerror or _text(error)
            raise _Lacking(f"cannot be written to {where} ({reason})", _TEMPORARY) from None
    raise _Lacking("are not in the package that was sent here, or for another platform or Python", _BUILD)


def _from_data(data: bytes, name: str) -> ModuleType:
    """Return the extension module of these bytes, loaded from a temporary file that is deleted afterwards."""
    with tempfile.TemporaryDirectory(prefix="ggfmt-kernels-", ignore_cleanup_errors=True) as private:
        path = os.path.join(private, name)
        with open(path, "wb") as file:
            file.write(data)
        spec = importlib.util.spec_from_file_location(_NAME, path, loader=ExtensionFileLoader(_NAME, path))
        assert spec is not None and spec.loader is not None
        try:
            module = importlib.util.module_from_spec(spec)
        except ImportError:
            if hasattr(os, "statvfs") and os.statvfs(private).f_flag & getattr(os, "ST_NOEXEC", 0):
                where = f"`{tempfile.tempdir}`"
                raise _Lacking(f"cannot be loaded from {where}, which is mounted noexec", _TEMPORARY) from None
            raise
        spec.loader.exec_module(module)
        return module


_loaded: tuple[Any, str, Lack | None] = _load()
native: Any = _loaded[0]
state: str = _loaded[1]
lack: Lack | None = _loaded[2]


Made = TypeVar("Made")


def kernel(make: Callable[[Any], Made]) -> Made | None:
    """Return what a function makes of the native module; None if there are no kernels, or if they refuse."""
    try:
        return None if native is None else make(native)
    except REFUSALS:
        return None


def keep_memory() -> None:
    """Let this process keep the memory that it frees, for the next chunk. Only for a process that is ggfmt's own."""
    if native is not None:
        native.keep_memory()
