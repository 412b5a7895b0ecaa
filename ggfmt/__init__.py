"""ggfmt: convert change files to the messages of a GoldenGate handler.

Programs can rely on the names below; see `ggfmt docs python`. Each is loaded when it is first used: `import ggfmt`
loads neither Arrow nor Spark.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ggfmt.version import VERSION as __version__

if TYPE_CHECKING:
    from ggfmt.cli import main
    from ggfmt.commands.conversion import Result
    from ggfmt.commands.functions import (
        apply,
        changes,
        compare,
        consolidate,
        convert,
        current,
        history,
        lint,
        preview,
        read,
        register,
        run,
        scan,
        schema,
        validate_config,
    )
    from ggfmt.comparison.comparison import Comparison
    from ggfmt.diagnostics.codes import Severity
    from ggfmt.diagnostics.diagnostic import (
        Abend,
        CommittedWithErrors,
        ConfigurationError,
        Diagnostic,
        GgfmtError,
        Span,
        UsageError,
    )
    from ggfmt.frames.batch_reader import Operations
    from ggfmt.sinks.preview import Preview

__all__ = [
    "Abend",
    "CommittedWithErrors",
    "Comparison",
    "ConfigurationError",
    "Diagnostic",
    "GgfmtError",
    "Operations",
    "Preview",
    "Result",
    "Severity",
    "Span",
    "UsageError",
    "__version__",
    "apply",
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
    "run",
    "scan",
    "schema",
    "validate_config",
]

_ERRORS = ("Abend", "CommittedWithErrors", "ConfigurationError", "Diagnostic", "GgfmtError", "Span", "UsageError")
_COMMANDS = ("apply", "compare", "consolidate", "preview", "run", "schema", "validate_config")
_FUNCTIONS = (*_COMMANDS, "convert", "lint", "changes", "current", "history", "read", "register", "scan")
_MODULES = {
    **dict.fromkeys(_FUNCTIONS, "ggfmt.commands.functions"),
    "Result": "ggfmt.commands.conversion",
    "Comparison": "ggfmt.comparison.comparison",
    "Operations": "ggfmt.frames.batch_reader",
    "Preview": "ggfmt.sinks.preview",
    **dict.fromkeys(_ERRORS, "ggfmt.diagnostics.diagnostic"),
    "Severity": "ggfmt.diagnostics.codes",
    "main": "ggfmt.cli",
}


# What people look for, who know other packages
_MEANT = {
    "to_pandas": "scan(...).read_pandas()",
    "read_csv": "scan(..., input_format='csv')",
    "to_parquet": "consolidate(...)",
    "diff": "compare(...)",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        hint = f"; use `ggfmt.{_MEANT[name]}`" if name in _MEANT else ""
        raise AttributeError(f"module `ggfmt` has no attribute `{name}`{hint}")
    found = getattr(import_module(_MODULES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
