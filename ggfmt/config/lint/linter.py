"""The linter: all that is to be said of one handler file.

It makes the checks of `ggfmt run` (`ggfmt.config.lint.reading`). Here errors too may be ignored by a comment, notes are
told, and what is filled in before GoldenGate reads the file is not judged.
"""

from __future__ import annotations

from collections.abc import Sequence

from ggfmt.config.lint.foreign import find_template
from ggfmt.config.lint.reading import ConfigurationParser
from ggfmt.config.lint.rules import Rules
from ggfmt.config.properties import SETTINGS, entries_from_settings, parse_content
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats import FORMATS

ALL_RULES = Rules()


def lint(content: bytes, file: str, rules: Rules = ALL_RULES, settings: Sequence[str] = ()) -> tuple[Diagnostic, ...]:
    """Every finding of a handler file, in the order of its lines and columns, less those that its comments silence.

    `settings` are those of `--set`; what is wrong with them comes last.
    """
    parsed = parse_content(content, file)
    sources = [(file, parsed)]
    if settings:
        sources.append((SETTINGS, entries_from_settings(settings)))
    reading = ConfigurationParser(sources, FORMATS)
    reading.handlers()
    return reading.reported(errors_too=True, template=find_template(parsed.entries), tells=rules.is_enabled)
