"""The linter: all that is to be said of one handler file.

It makes the checks of `ggfmt run` (`ggfmt.config.lint.reading`). Here errors too may be ignored by a comment, and notes
are told.
"""

from __future__ import annotations

from ggfmt.config.lint.reading import ConfigurationReading
from ggfmt.config.properties import parse_content
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats import FORMATS


def lint(content: bytes, file: str) -> tuple[Diagnostic, ...]:
    """Every finding of a handler file, in the order of its lines and columns, less those that its comments silence."""
    reading = ConfigurationReading([(file, parse_content(content, file))], FORMATS)
    reading.handlers()
    return reading.reported(errors_too=True)
