"""ggfmt: change files in, the messages of a GoldenGate handler out.

The names below are what programs can rely on; see `ggfmt docs python`. They are loaded when they are first used:
`import ggfmt` takes neither Arrow nor Spark.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ggfmt.version import VERSION as __version__

if TYPE_CHECKING:
    from ggfmt.api.comparing import compare
    from ggfmt.api.consolidating import consolidate
    from ggfmt.api.converting import Result, convert
    from ggfmt.api.looking import lint, preview, schema
    from ggfmt.cli import main
    from ggfmt.consolidation import changes, current, history
    from ggfmt.diagnostics.codes import Severity
    from ggfmt.diagnostics.diagnostic import (
        Abend,
        Committed,
        ConfigurationError,
        Diagnostic,
        GgfmtError,
        Span,
        UsageError,
    )
    from ggfmt.frames import read, register

__all__ = [
    "Abend",
    "Committed",
    "ConfigurationError",
    "Diagnostic",
    "GgfmtError",
    "Result",
    "Severity",
    "Span",
    "UsageError",
    "__version__",
    "changes",
    "compare",
    "consolidate",
    "convert",
    "current",
    "history",
    "lint",
    "main",
    "preview",
    "read",
    "register",
    "schema",
]

_ERRORS = ("Abend", "Committed", "ConfigurationError", "Diagnostic", "GgfmtError", "Span", "UsageError")
_PLACES = {
    "compare": "ggfmt.api.comparing",
    **dict.fromkeys(("Result", "convert"), "ggfmt.api.converting"),
    "consolidate": "ggfmt.api.consolidating",
    **dict.fromkeys(("lint", "preview", "schema"), "ggfmt.api.looking"),
    **dict.fromkeys(_ERRORS, "ggfmt.diagnostics.diagnostic"),
    "Severity": "ggfmt.diagnostics.codes",
    "main": "ggfmt.cli",
    **dict.fromkeys(("changes", "current", "history"), "ggfmt.consolidation"),
    **dict.fromkeys(("read", "register"), "ggfmt.frames"),
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module `ggfmt` has no attribute `{name}`")
    found = getattr(import_module(_PLACES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
