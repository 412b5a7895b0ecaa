"""Whether the kernels' scanners are used at all: how many operations they took, and the same without any kernel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from ggfmt import kernels
from ggfmt.formats.records.scanner import SourceBatch


@dataclass
class Taken:
    operations: int = 0


@contextmanager
def operations_taken() -> Iterator[Taken]:
    """Counts the operations that scanners take."""
    taken, of = Taken(), SourceBatch.of

    def counted(*given: Any) -> SourceBatch:
        scanned = of(*given)
        taken.operations += len(scanned)
        return scanned

    with patch.object(SourceBatch, "of", counted):
        yield taken


def without_kernels() -> AbstractContextManager[Any]:
    """As where none were built."""
    return patch.object(kernels, "native", None)


def with_kernels(replaced: Mapping[str, Any]) -> AbstractContextManager[Any]:
    """The kernels with some of what is in the module replaced."""
    own = kernels.native

    class Kernels:
        def __getattr__(self, name: str) -> Any:
            return replaced[name] if name in replaced else getattr(own, name)

    return patch.object(kernels, "native", Kernels())
