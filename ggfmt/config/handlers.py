"""The handlers of a configuration, for a command that runs them.

An error stops the command, warnings are returned, and notes are left to the linter, except that a handler is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ggfmt.config.handler_options import HandlerConfig, HandlerOptions, RunOptions
from ggfmt.config.lint.assembly import LEFT_OUT
from ggfmt.config.lint.reading import ConfigurationParser
from ggfmt.config.lint.releases import ReleaseFinding
from ggfmt.config.properties import CHOSEN, SETTINGS, ParsedProperties, entries_from_settings, read_properties
from ggfmt.diagnostics.codes import Severity
from ggfmt.diagnostics.diagnostic import ConfigurationError, Diagnostic, MissingFileError
from ggfmt.formats import FORMATS
from ggfmt.options.value_types import Replacements

__all__ = ["Configuration", "HandlerConfig", "HandlerOptions", "RunOptions", "read_configuration"]


@dataclass(frozen=True)
class Configuration:
    """The handlers in the order of `gg.handlerlist`, and the warnings in the order of the files.

    `run`: ggfmt's own properties, for all handlers. `release`: the release that messages follow, and why; None without
    a format of GoldenGate.
    """

    handlers: tuple[HandlerConfig, ...]
    diagnostics: tuple[Diagnostic, ...]
    run: RunOptions = field(default_factory=RunOptions)
    replacements: Replacements = field(default_factory=Replacements)
    release: ReleaseFinding | None = None


def read_configuration(
    paths: Sequence[str],
    settings: Sequence[str] = (),
    handlers: Sequence[str] = (),
    made: ParsedProperties | None = None,
) -> Configuration:
    """Return the handlers of properties files and `--set` settings; `handlers` selects some by name.

    `made`: the entries that `--to` makes. Later files and settings override earlier ones. Raises: ConfigurationError
    with every finding if one is an error, which no comment ignores; MissingFileError if a file cannot be read.
    Errors too: a property that changes messages in GoldenGate alone, unless `ggfmt.uncovered` allows it, and no handler
    with messages.
    """
    sources = [(path, read_properties(path)) for path in reversed(dict.fromkeys(reversed(paths)))]
    if made is not None:
        sources.insert(0, (CHOSEN, made))
    if settings:
        sources.append((SETTINGS, entries_from_settings(settings)))
    reading = ConfigurationParser(sources, FORMATS)
    configs = reading.handlers(handlers)
    reading.report_nothing_to_run(configs)
    findings = tuple(
        finding for finding in reading.reported() if finding.severity is not Severity.NOTE or finding.code == LEFT_OUT
    )
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    if any(parsed.missing for _, parsed in sources):
        raise MissingFileError.of(*findings)
    if errors:
        raise ConfigurationError.of(*findings)
    return Configuration(configs, findings, reading.run, reading.replacements, reading.release)
