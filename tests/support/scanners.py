"""Whether the kernels' scanners are used at all: how many operations they took, and the same without any kernel."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any
from unittest.mock import patch

from ggfmt import kernels
from ggfmt.formats.records.scanner import ScannedBatch

_NOTHING = object()


@dataclass
class Taken:
    operations: int = 0


@contextmanager
def operations_taken() -> Iterator[Taken]:
    """Counts the operations that scanners take."""
    taken, of = Taken(), ScannedBatch.of

    def counted(*given: Any) -> ScannedBatch:
        scanned = of(*given)
        taken.operations += len(scanned)
        return scanned

    with patch.object(ScannedBatch, "of", counted):
        yield taken


def _modules_with(native: Any) -> list[ModuleType]:
    """The modules that have something for the kernels."""
    loaded = [module for name, module in list(sys.modules.items()) if name.startswith("ggfmt.")]
    return [module for module in loaded if module is not native and getattr(module, "native", _NOTHING) is native]


@contextmanager
def modules_with_kernels(native: Any) -> Iterator[None]:
    """All modules that are loaded have something else for the kernels, and those that are loaded meanwhile."""
    own = kernels.native
    before = set(sys.modules)
    replaced = _modules_with(own)
    for module in replaced:
        module.native = native  # type: ignore[attr-defined]
    try:
        yield
    finally:
        new = (sys.modules[name] for name in set(sys.modules) - before)
        for module in (*replaced, *(module for module in new if getattr(module, "native", _NOTHING) is native)):
            module.native = own  # type: ignore[attr-defined]


def without_kernels() -> AbstractContextManager[None]:
    """As where none were built."""
    return modules_with_kernels(None)


def with_kernels(replaced: Mapping[str, Any]) -> AbstractContextManager[None]:
    """The kernels with some of what is in the module replaced."""
    own = kernels.native

    class Kernels:
        def __getattr__(self, name: str) -> Any:
            return replaced[name] if name in replaced else getattr(own, name)

    return modules_with_kernels(Kernels())
