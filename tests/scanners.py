"""Whether the kernels' scanners are used at all: how many operations they took, and the same without any kernel."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from ggfmt import kernels
from ggfmt.formats.records.scanner import Scanned

# Formats that are read without a scanner.
UNSCANNED = frozenset({"arcion_csv", "dms_json", "json_row", "kafkaconnect_json"})


@dataclass
class Taken:
    operations: int = 0


@contextmanager
def operations_taken() -> Iterator[Taken]:
    """Counts the operations that scanners take."""
    taken, of = Taken(), Scanned.of

    def counted(*given: Any) -> Scanned:
        scanned = of(*given)
        taken.operations += len(scanned)
        return scanned

    with patch.object(Scanned, "of", counted):
        yield taken


@contextmanager
def without_kernels() -> Iterator[None]:
    """As where none were built, in all modules that are loaded."""
    native = kernels.native
    with ExitStack() as stack:
        for name, module in list(sys.modules.items()):
            if (
                name.startswith("ggfmt.")
                and name != "ggfmt.kernels._native"
                and getattr(module, "native", None) is native
            ):
                stack.enter_context(patch.object(module, "native", None))
        yield
