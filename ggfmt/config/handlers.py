"""The handlers of a configuration, for a command that runs them.

`ggfmt.config.lint.reading` finds the problems of the files. An error stops the command, warnings are returned, and
notes are left to the linter, except for a note that a handler is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ggfmt.config.goldengate_keys import HANDLER_TYPES, Formats, listing
from ggfmt.config.handler_options import REFUSE, HandlerConfig, HandlerOptions, RunOptions
from ggfmt.config.lint.assembly import LEFT_OUT
from ggfmt.config.lint.reading import ConfigurationParser
from ggfmt.config.properties import SETTINGS, entries_from_settings, read_properties
from ggfmt.diagnostics.codes import Severity
from ggfmt.diagnostics.diagnostic import ConfigurationError, Diagnostic, MissingFileError, Span
from ggfmt.formats import FORMATS
from ggfmt.options.value_types import Replacements

__all__ = ["Configuration", "HandlerConfig", "HandlerOptions", "RunOptions", "read_configuration"]


@dataclass(frozen=True)
class Configuration:
    """The handlers in the order of `gg.handlerlist`, and the warnings in the order of the files.

    `run` and `replacements` apply to all handlers: ggfmt's own properties, and replacements in names and values.
    """

    handlers: tuple[HandlerConfig, ...]
    diagnostics: tuple[Diagnostic, ...]
    run: RunOptions = field(default_factory=RunOptions)
    replacements: Replacements = field(default_factory=Replacements)


def read_configuration(
    paths: Sequence[str], settings: Sequence[str] = (), handlers: Sequence[str] = ()
) -> Configuration:
    """Return the handlers of properties files and `--set` settings; `handlers` selects some by name.

    Later files and settings override earlier ones.

    Raises: ConfigurationError with every finding, warnings too, if one of them is an error; MissingFileError if a file
    cannot be read. An ignore comment does not silence errors. Two more cases are errors: a property that changes
    messages in GoldenGate but not in ggfmt, unless `ggfmt.uncovered` allows it; and a configuration without a handler
    that has messages.
    """
    sources = [(path, read_properties(path)) for path in reversed(dict.fromkeys(reversed(paths)))]
    if settings:
        sources.append((SETTINGS, entries_from_settings(settings)))
    reading = ConfigurationParser(sources, FORMATS)
    configs = reading.handlers(handlers)
    if reading.run.uncovered == REFUSE:
        reading.refuse_uncovered()
    findings = tuple(finding for finding in reading.reported() if _is_reported(finding))
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    if not errors and not configs:
        errors = [_nothing_to_run(reading)]
        findings += tuple(errors)
    if any(parsed.missing for _, parsed in sources):
        raise MissingFileError(*findings)
    if errors:
        raise ConfigurationError(*findings)
    return Configuration(configs, findings, reading.run, reading.replacements)


def _is_reported(finding: Diagnostic) -> bool:
    return finding.severity is not Severity.NOTE or finding.code == LEFT_OUT


def _nothing_to_run(reading: ConfigurationParser) -> Diagnostic:
    if reading.makes_handlers and not reading.lists_handlers:
        message = "`gg.target` lets GoldenGate make the handlers, which ggfmt does not do"
        return Diagnostic("GG105", message, Span(), "add `gg.handlerlist` and a handler with a format")
    types = [known.name for known in HANDLER_TYPES.values() if known.formats is not Formats.NONE]
    help = f"handlers of the types {listing(types)} have formats that ggfmt writes"
    return Diagnostic("GG105", "there is no handler whose messages ggfmt writes", Span(), help)
