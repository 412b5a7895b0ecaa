"""What a `ggfmt.toml` may have: settings of the linter, and of commands that run. Each ignores those of the other."""

from __future__ import annotations

import sys
from typing import Any

from ggfmt.diagnostics.diagnostic import Span, UsageError
from ggfmt.lazy import lazy_regex

FILE_NAME = "ggfmt.toml"
OF_LINTER = ("select", "ignore", "extend-ignore", "per-file-ignores", "machine", "exclude", "extend")
OF_RUNS = ("master",)

_PLACE = lazy_regex(r" \(at line ([0-9]+), column ([0-9]+)\)$")


def parse_toml(text: str, file: str, code: str) -> dict[str, Any]:
    """Return the content of a TOML file. Raises: UsageError with `code` if it is not TOML, or if no parser is there."""
    try:
        if sys.version_info >= (3, 11):
            import tomllib
        else:
            import tomli as tomllib
    except ImportError:
        help = "install `tomli`, use Python 3.11 or newer, or give the settings as options"
        message = "settings in TOML need Python 3.11 or newer, or the package `tomli`"
        raise UsageError(code, message, file, help) from None
    try:
        parsed: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        match = _PLACE.search(str(error))
        span = Span(file, *(map(int, match.groups()) if match else ()))
        raise UsageError(code, f"the file is not TOML: {_PLACE.sub('', str(error))}", span) from None
    return parsed
