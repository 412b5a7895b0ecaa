"""Handlers from properties: what `gg.handlerlist` and the keys below `gg.handler.<name>` say.

Every finding of every file is collected, in the order of the files, before anything is raised. Keys of handlers that
are not to run, and GoldenGate's keys that ggfmt has no use for (`ggfmt.config.outside`), are ignored in silence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ggfmt.codes import Severity
from ggfmt.config.assemble import (
    DEFAULT_FORMAT,
    Assembly,
    HandlerConfig,
    HandlerOptions,
    RunOptions,
    report_duplicate,
    report_missing_format,
)
from ggfmt.config.keys import HandlerKey, handler_key, nearest_key
from ggfmt.config.outside import is_outside_scope
from ggfmt.config.properties import SETTINGS, Entry, entries_from_settings, read_properties
from ggfmt.config.replacements import is_replacement, read_replacements
from ggfmt.errors import ConfigurationError, Diagnostic, Span, did_you_mean, suggestion
from ggfmt.formats import FORMATS
from ggfmt.formats.declaration import Format
from ggfmt.options.kinds import IllegalValue, trim
from ggfmt.options.replacements import Replacements

__all__ = ["Configuration", "HandlerConfig", "HandlerOptions", "RunOptions", "read_configuration"]


@dataclass(frozen=True)
class Configuration:
    """The handlers in the order of `gg.handlerlist`, the warnings in the order of the files, and what all handlers have
    in common: ggfmt's own properties, and what is to be replaced in names and values."""

    handlers: tuple[HandlerConfig, ...]
    diagnostics: tuple[Diagnostic, ...]
    run: RunOptions = field(default_factory=RunOptions)
    replacements: Replacements = field(default_factory=Replacements)


def read_configuration(
    paths: Sequence[str], settings: Sequence[str] = (), handlers: Sequence[str] = ()
) -> Configuration:
    """The handlers of properties files and `--set` settings; `handlers` picks some by name.

    Later files and settings override earlier ones. ConfigurationError with every finding, warnings too, if one of them
    is an error.
    """
    return _Reading(paths, settings, FORMATS).configuration(handlers)


class _Reading:
    """One reading of a configuration: the entries, and the findings so far."""

    def __init__(self, paths: Sequence[str], settings: Sequence[str], formats: Mapping[str, Format]) -> None:
        sources = [*map(read_properties, paths), entries_from_settings(settings)]
        self.entries = [entry for source in sources for entry in source.entries]
        self.findings = [finding for source in sources for finding in source.diagnostics]
        self.whole = not self.findings
        self.files = {file: index for index, file in enumerate([*paths, SETTINGS])}
        self.formats = formats
        self.file = paths[0] if paths else None

    def configuration(self, wanted: Sequence[str]) -> Configuration:
        listed = self._listed()
        selected = self._selected(listed, wanted)
        keyed = self._keyed(listed, selected)
        configs = []
        for name in selected:
            if keyed[name]:
                self._check_format(name, keyed[name], listed)
                configs.append(Assembly(name, keyed[name], self.formats, self.findings).config())
            elif self.whole:
                self._report_empty(name, listed[name])
        run = self._run_options()
        replacements = read_replacements(self.entries, self.findings)
        findings = sorted(self.findings, key=self._order)
        if any(finding.severity is Severity.ERROR for finding in findings):
            raise ConfigurationError(*findings)
        return Configuration(tuple(config for config in configs if config), tuple(findings), run, replacements)

    def _run_options(self) -> RunOptions:
        """The values of `ggfmt.<name>`; keys that are none of these are reported."""
        specs = {f"{_OWN}{spec.name}": spec for spec in RunOptions.specs()}
        values = {}
        for entry in self.entries:
            if not entry.key.startswith(_OWN):
                continue
            spec = specs.get(entry.key)
            if spec is None:
                help = suggestion(entry.key, specs)
                self._report("GG101", f"`{entry.key}` is not a property of ggfmt", entry.key_span, help)
                continue
            try:
                values[spec.attr] = spec.value(entry.value)
            except IllegalValue as error:
                self._report("GG103", f"`{entry.key}` {error}", entry.value_span, error.help)
        return RunOptions(**values)

    def _order(self, finding: Diagnostic) -> tuple[int, int, int]:
        span = finding.span
        index = len(self.files) if span.file is None else self.files[span.file]
        return index, span.line or 0, span.column or 0

    def _report(self, code: str, message: str, span: Span, help: str | None = None) -> None:
        self.findings.append(Diagnostic(code, message, span, help))

    # Which handlers

    def _listed(self) -> dict[str, Span]:
        """The names of `gg.handlerlist`, or of the settings alone, and their places."""
        lists = [entry for entry in self.entries if entry.key.lower() == "gg.handlerlist"]
        for earlier, entry in zip([None, *lists], lists, strict=False):
            if entry.key not in ("gg.handlerlist", "gg.Handlerlist"):
                self._report("GG102", f"`{entry.key}` is read as `gg.handlerlist`", entry.key_span)
            if earlier is not None:
                report_duplicate(self.findings, earlier, entry)
        names = self._names_in(lists[-1]) if lists else self._names_in_settings()
        for name in list(names):
            if not _is_directory_name(name):
                self._report("GG103", f"`{name}` cannot be a handler's name", names.pop(name), _NAME_HELP)
        return names

    def _names_in(self, entry: Entry) -> dict[str, Span]:
        names: dict[str, Span] = {}
        for name in filter(None, map(trim, entry.value.split(","))):
            if name in names:
                self._report("GG107", f"`{name}` is listed twice", entry.value_span, "remove one of them")
            names.setdefault(name, _name_span(entry, name))
        if not names:
            self._report("GG105", "`gg.handlerlist` is empty", entry.key_span, "name the handlers to run")
        return names

    def _names_in_settings(self) -> dict[str, Span]:
        in_files: dict[str, Span] = {}
        in_settings: dict[str, Span] = {}
        for entry in self.entries:
            key = handler_key(entry.key)
            if key:
                (in_settings if entry.file == SETTINGS else in_files).setdefault(key.handler, entry.key_span)
        if in_settings and not in_files:
            return in_settings
        if self.whole:
            known = ",".join([*in_files, *(name for name in in_settings if name not in in_files)][:5])
            help = f"add `gg.handlerlist={known}`" if known else "add `gg.handlerlist` and name a handler"
            if self.file is None:
                help = "give a file with `-c`, or `--set gg.handler.out.format=json`"
            self._report("GG105", "there is no `gg.handlerlist`", Span(self.file), help)
        return {}

    def _selected(self, listed: Mapping[str, Span], wanted: Sequence[str]) -> list[str]:
        for name in dict.fromkeys(wanted):
            if name not in listed and listed:
                known = ", ".join(f"`{other}`" for other in listed)
                near = suggestion(name, listed)
                help = f"handlers are {known}" + (f"; {near}" if near else "")
                self._report("GG105", f"`--handler` names `{name}`, which is no handler", Span(), help)
        return [name for name in listed if not wanted or name in wanted]

    def _report_empty(self, name: str, span: Span) -> None:
        help = suggestion(name, dict.fromkeys(key.handler for key in self._handler_keys()))
        help = help or f"add `gg.handler.{name}.format={DEFAULT_FORMAT}`"
        self._report("GG104", f"`gg.handlerlist` names `{name}`, but no property is `gg.handler.{name}`", span, help)

    # Which keys

    def _handler_keys(self) -> Iterable[HandlerKey]:
        return filter(None, (handler_key(entry.key) for entry in self.entries))

    def _keyed(self, listed: Mapping[str, Span], selected: Sequence[str]) -> dict[str, list[tuple[HandlerKey, Entry]]]:
        """The entries of each selected handler; what belongs to none is reported or ignored."""
        keyed: dict[str, list[tuple[HandlerKey, Entry]]] = {name: [] for name in selected}
        complete = {key.handler for key in self._handler_keys() if key.rest.lower() in ("format", "type")}
        for entry in self.entries:
            key = handler_key(entry.key, listed)
            if key is None:
                self._check_other(entry, listed)
            elif key.handler in keyed:
                keyed[key.handler].append((key, entry))
            elif key.handler not in listed and listed and (key.handler not in complete or entry.file == SETTINGS):
                self._check_unlisted(entry, key, listed, selected)
        return keyed

    def _check_format(self, name: str, keyed: Sequence[tuple[HandlerKey, Entry]], listed: Mapping[str, Span]) -> None:
        """Look for the format of a handler without one among the keys that are below no handler."""
        if any(key.is_format for key, _ in keyed):
            return
        for entry in self.entries:
            if handler_key(entry.key, listed) is None and nearest_key(entry.key, listed) == f"gg.handler.{name}.format":
                report_missing_format(self.findings, name, entry)

    def _check_other(self, entry: Entry, listed: Mapping[str, Span]) -> None:
        if entry.key.startswith(_OWN) or entry.key.lower() == "gg.handlerlist" or is_outside_scope(entry.key):
            return
        if is_replacement(entry.key):
            return
        near = nearest_key(entry.key, listed)
        message = f"`{entry.key}` is not a property that ggfmt knows"
        self._report("GG101", message, entry.key_span, f"did you mean `{near}`?" if near else None)

    def _check_unlisted(
        self, entry: Entry, key: HandlerKey, listed: Mapping[str, Span], selected: Sequence[str]
    ) -> None:
        """A misprinted handler name: it is near a listed one, or the manual's placeholder, and has no format."""
        near = did_you_mean(key.handler, listed)
        if near is None and key.handler == "name" and len(listed) == 1:
            near = next(iter(listed))
        if near in selected:
            help = f"did you mean `gg.handler.{near}.{key.rest}`?"
        elif near is None and entry.file == SETTINGS:
            help = f"handlers are {', '.join(f'`{name}`' for name in listed)}"
        else:
            return
        self._report("GG101", f"`{entry.key}` belongs to no listed handler", entry.key_span, help)


_OWN = "ggfmt."
_NAME_HELP = "use letters, digits, `_` and `-`: the name is that of a directory"


def _is_directory_name(name: str) -> bool:
    return name.isprintable() and not re.search(r"[/\\]|^[._]", name)


def _name_span(entry: Entry, name: str) -> Span:
    """The place of one name in a list; of the whole value where it cannot be seen."""
    found = re.search(rf"(?<![^,\s]){re.escape(name)}(?![^,\s\\])", entry.source[entry.value_column - 1 :])
    if found is None:
        return entry.value_span
    return Span(entry.file, entry.line, entry.value_column + found.start(), len(name), entry.source)
