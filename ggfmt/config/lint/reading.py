"""The linter: parse a configuration and collect every finding of its files before anything is done about them.

Keys of handlers that are not to run, and keys of GoldenGate that ggfmt does not use, are ignored. If no handlers are
listed, those that were probably meant are checked.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from ggfmt.config.comments import Ignores, before_comment, check_comments, is_prose
from ggfmt.config.handler_options import DEFAULT_FORMAT, REFUSE, HandlerConfig, RunOptions
from ggfmt.config.lint import releases
from ggfmt.config.lint.assembly import HandlerBuilder, report_missing_format
from ggfmt.config.lint.chains import (
    EVENT_HANDLER_KEY,
    UNSUPPORTED,
    WITHOUT_EFFECT,
    EventHandlers,
    illegal_value,
    report_duplicate,
)
from ggfmt.config.lint.checks import UNCOVERED, check_handler, check_masks, check_process, check_releases, check_type
from ggfmt.config.lint.java_text import check_backslashes, check_characters, check_mark
from ggfmt.config.lint.names import LEFT_IN
from ggfmt.config.lint.targets import TargetHandlers
from ggfmt.config.properties import (
    ARGUMENTS,
    CHOSEN,
    SETTINGS,
    DecodedText,
    Entry,
    ParsedProperties,
    decode,
    entries_from_settings,
    is_utf_16,
    parse_content,
    renamed_key,
)
from ggfmt.config.property_names import (
    HandlerKey,
    handler_key,
    is_placeholder,
    nearest_handler,
    nearest_key,
    rename_finding,
)
from ggfmt.config.property_table import HANDLER_TYPES, KEYS, PROCESS, Formats
from ggfmt.config.refusals import REFUSAL_CODES, refusals
from ggfmt.config.replacements import is_replacement, is_transform, read_replacements, read_transforms
from ggfmt.dataclasses import dataclass, replace
from ggfmt.diagnostics.codes import CODES, Severity
from ggfmt.diagnostics.diagnostic import Diagnostic, Span, did_you_mean, list_names, listing, suggestion
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import Format
from ggfmt.java.text import InvalidValueError, trim, visible
from ggfmt.lazy import lazy_regex
from ggfmt.options.releases import is_later, manual_name
from ggfmt.options.templates import KEYWORDS, UNKNOWN_VALUES
from ggfmt.options.value_types import Replacements

ALL = "ALL"
PARAMETER_ENDING = ".prm"

# Codes that depend on the machine on which a file is checked.
_OF_MACHINE = ("GG119",)

# A file that cannot be read has no findings to choose from.
_ALWAYS = ("GG100",)

_SELECTABLE = tuple(code for code in CODES if code.startswith("GG1") or code in REFUSAL_CODES)


@dataclass(frozen=True)
class FileIgnores:
    """Codes not reported for files that fit `pattern` (after `!`: do not), a glob below `directory` or for a name."""

    directory: str
    pattern: str
    codes: tuple[str, ...]

    def hold_for(self, path: str) -> bool:
        glob = self.pattern.removeprefix("!")
        below = os.path.join(self.directory, glob)
        fits = fnmatch.fnmatchcase(path, below) or fnmatch.fnmatchcase(os.path.basename(path), glob)
        return fits != self.pattern.startswith("!")


@dataclass(frozen=True)
class Rules:
    """The codes to report for a file: those that `select` names more closely than `ignore`.

    `GG11` stands for all codes that start with it, `ALL` for all; `ignore` wins over an equal prefix, and `never` over
    both. `machine`: report what depends on the machine too. `for_run`: report what ggfmt does not do with the severity
    that it has in a run, not as notes.
    """

    select: tuple[str, ...] = (ALL,)
    ignore: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    machine: bool = True
    for_run: bool = False

    def judged(self, finding: Diagnostic) -> Diagnostic:
        if self.for_run and finding.code == _FILLED_IN:
            return replace(finding, level=Severity.WARNING)  # a run refuses most of these files
        if self.for_run or not CODES[finding.code].of_run:
            return finding
        return replace(finding, level=Severity.NOTE)

    def is_enabled(self, code: str) -> bool:
        if code in _ALWAYS or code not in _SELECTABLE:
            return True
        if (code in _OF_MACHINE and not self.machine) or _closest(code, self.never) >= 0:
            return False
        return _closest(code, self.select) > _closest(code, self.ignore)


def unknown(selector: str) -> str | None:
    if selector == ALL or (selector and any(code.startswith(selector) for code in _SELECTABLE)):
        return None
    near = did_you_mean(selector, (ALL, *_SELECTABLE))
    return f"did you mean `{near}`?" if near else "codes of handler files are `GG100` and so on, `GG1`, `GG11`, `ALL`"


def _closest(code: str, selectors: Iterable[str]) -> int:
    return max((0 if one == ALL else len(one) for one in selectors if one == ALL or code.startswith(one)), default=-1)


# Content besides properties of GoldenGate: prose, keys of other programs, and templates.

# In files of other kinds, `GG.` alone is often the schema of a table.
_OURS = lazy_regex(r"(?:\A|[\r\n])[ \t\f]*(?:(?:gg|goldengate|ggfmt)\.|(?i:gg\.handler))")

_FAMILY = lazy_regex(r"(?:gg|goldengate|javawriter|jvm|ggfmt|javax?)\.", re.IGNORECASE)
_KEY = lazy_regex(r"[\w$-]+(?:\.[\w$-]+)*")
_MAX_BLOCKS = 10  # blocks of prose in a file; the last finding is for all further ones

_FILLED_IN = "GG131"  # the code of lines that another program fills in

# Jinja and Terraform. Any text may be between the marks of a value, but not of a statement. The limits are for lines
# that start many and end none.
_STATEMENT = lazy_regex(r"\{%-?\s{0,9}\w[^\n]{0,200}?%\}|%\{~?\s{0,9}(?:if|else|endif|for|endfor)\b[^}\n]{0,200}\}")
_VALUE = lazy_regex(r"\{\{[^{}\n]+\}\}|(?<![\w@])@[A-Za-z_][\w.-]*@(?![\w@])")
_ESCAPED = lazy_regex(r"\$\$\{[^{}\s]+\}")  # Terraform makes one `$` of it
_LINE = lazy_regex(r"\$\{[^{}\s]+\}")  # at its start: filled in, or the rest of a value that lacks a `\` at its end
_OF_JVM = ("-D", "-X")  # at the start of an option of the JVM

# No program fills in a keyword of GoldenGate, but perhaps `env` and the like.
_KEYWORD = lazy_regex(rf"\$\{{(?i:{'|'.join(name for name in KEYWORDS if name not in UNKNOWN_VALUES)})[\[}}]")
_VARIABLE = lazy_regex(f"(?!{_KEYWORD.pattern}){_LINE.pattern}")

# Keys whose values contain `${...}` of GoldenGate itself, or of a Java replacement.
_OWN_TEMPLATE = lazy_regex(r"template|partitioner|replacestring", re.IGNORECASE)


def is_parameter_file(name: str) -> bool:
    return name.lower().endswith(PARAMETER_ENDING)


def is_checked(content: bytes, file: str) -> bool:
    """Return whether a file is one to check: a handler file, or the parameter file of a Replicat."""
    if not is_parameter_file(file):
        return has_properties(content)
    from ggfmt.config.lint.parameter_files import is_of_replicat

    return is_of_replicat(content)


def decode_file(content: bytes, file: str) -> DecodedText:
    """Return the text of a file, and how it has its bytes."""
    if not is_parameter_file(file):
        return decode(content)
    from ggfmt.replicat.tokens import decode as decode_parameters

    return DecodedText(*decode_parameters(content)[:3])


def has_properties(content: bytes) -> bool:
    """Return whether a line of the file starts with a key of GoldenGate or ggfmt; true if this is unknown."""
    return is_utf_16(content) or _OURS.search(decode(content).text) is not None


def _is_rest(key: str) -> bool:
    return _LINE.match(key) is not None or key[:2] in _OF_JVM


def is_foreign(entry: Entry) -> bool:
    return entry.file not in ARGUMENTS and not _FAMILY.match(entry.key)


def is_sentence(entry: Entry) -> bool:
    """Return whether the line is prose: its key is not one word, or its value the rest of a sentence."""
    if not is_foreign(entry) or is_prose(entry) or not entry.key or _is_rest(entry.key):
        return False
    words = len(entry.value.split())
    if not _KEY.fullmatch(entry.key):
        return True
    if "." in entry.key or "=" in entry.separator:
        return False
    return words > 2 if ":" in entry.separator else words != 1


def check_prose(entries: Iterable[Entry]) -> Iterator[Diagnostic]:
    """Yield GG130 for each block of lines of prose, and one for all after the first blocks of a file."""
    for _, of_file in groupby(entries, key=lambda entry: entry.file):
        blocks = [list(block) for prose, block in groupby(of_file, key=is_sentence) if prose]
        if len(blocks) > _MAX_BLOCKS:
            rest = [entry for block in blocks[_MAX_BLOCKS - 1 :] for entry in block]
            blocks = [*blocks[: _MAX_BLOCKS - 1], rest]
        for number, block in enumerate(blocks, 1):
            lines = "a line is not a property" if len(block) == 1 else f"{len(block)} lines are not properties"
            where = " in this and later places" if number == _MAX_BLOCKS else ""
            yield Diagnostic("GG130", f"{lines}{where}", block[0].key_span, "a comment without `#`?")


@dataclass(frozen=True)
class FileTemplate:
    """A file that another program fills in: its finding, and the lines that cannot be checked.

    `whole`: no line can be checked, because handlers or formats are filled in too, or statements choose lines.
    """

    finding: Diagnostic
    lines: frozenset[int]
    whole: bool

    def judged(self, findings: Iterable[Diagnostic]) -> list[Diagnostic]:
        """Return the findings that do not depend on what is filled in, and the finding of the template."""
        file = self.finding.span.file
        kept = [found for found in findings if not (found.span.file == file and found.span.line in self.lines)]
        return [self.finding] if self.whole else [*kept, self.finding]


def check_broken_values(entries: Sequence[Entry]) -> Iterator[Diagnostic]:
    """Yield GG101 for lines that start with a keyword of templates or an option of the JVM, as values do."""
    for entry in entries:
        if _KEYWORD.match(entry.key):
            message = "the line starts with a keyword of templates, which is not a key"
            yield Diagnostic("GG101", message, entry.key_span, "put a `\\` at the end of the line above")
        elif entry.key[:2] in _OF_JVM:
            help = "if it belongs to the value above, end that line with a backslash"
            yield Diagnostic("GG101", f"`{entry.key}` is an option of the JVM, not a key", entry.key_span, help)


def find_template(entries: Sequence[Entry]) -> FileTemplate | None:
    """Return what is filled in before GoldenGate reads the file; None if nothing is."""
    places = [(entry, place) for entry in entries if (place := _place(entry)) is not None]
    if not places:
        return None
    entry, (text, _) = next((item for item in places if _LINE.match(item[0].key) is None), places[0])
    lines = len(places)
    message = f"{text} is filled in before GoldenGate reads the file"
    message += f", as {lines - 1} other line{'s are' if lines > 2 else ' is'}" if lines > 1 else ""
    numbers = (range(entry.line, entry.line + 1 + len(entry.continued)) for entry, _ in places)
    whole = any(decides for _, (_, decides) in places)
    left = "ggfmt checks no line" if whole else "ggfmt does not check such lines"
    if _LINE.match(entry.key):
        left += "; if it belongs to the line above, put a `\\` at the end of that"
    span = entry.span_of(text.strip("`"), entry.key_span)
    return FileTemplate(Diagnostic(_FILLED_IN, message, span, left), frozenset(n for r in numbers for n in r), whole)


def _place(entry: Entry) -> tuple[str, bool] | None:
    """Return the first placeholder of an entry, and whether it decides on handlers, formats or lines."""
    line = f"{entry.key}{entry.separator}{entry.value}"
    statement = _STATEMENT.search(line) or _VALUE.match(line)
    if statement is None and (started := _LINE.match(line)):
        return None if _KEYWORD.match(line) else (f"`{started[0]}`", False)
    if statement is None and is_sentence(entry):
        return None
    place = statement or _VALUE.search(line) or _VARIABLE.search(entry.key)
    if place is None and "replacestring" not in entry.key.lower():
        place = _ESCAPED.search(entry.value)
    if place is None and not _OWN_TEMPLATE.search(entry.key) and PROCESS.find(entry.key) is None:
        place = _VARIABLE.search(entry.value)
    if place is None:
        return None
    # A key ends at a blank, which a placeholder may contain.
    in_key = place.string is not entry.value and place.start() < len(entry.key)
    shown = "a part of a secret" if entry.secret else f"`{place[0]}`"
    key = handler_key(entry.key)
    decides = entry.key.lower() == "gg.handlerlist" if key is None else _is_complete(key)
    return shown, statement is not None or in_key or decides


# The parser of a configuration.

_OWN = "ggfmt."
_TIMESTAMP_MASK = "gg.format.timestamp"
_NAME_HELP = "use letters, digits, `_` and `-`: the name becomes the name of a directory"

# Values that may be any text: `<null>` may well be meant.
_ANY_TEXT = lazy_regex(
    r"gg\.handler\..+\.(?:format\..+|filter)|gg\.(?:schema|content)replace.+", re.IGNORECASE | re.DOTALL
)
_PROCESS = lazy_regex(r"(?:gg\.classpath|goldengate\.|javawriter\.|jvm\.)", re.IGNORECASE)
_GOLDENGATE = lazy_regex(r"(?:gg|goldengate|javawriter|jvm)\.", re.IGNORECASE)

_CHAINED = lazy_regex(r"gg\.(?:event)?handler\.[^.]+\.eventhandler|gg\.eventhandlerlist", re.IGNORECASE)


def placeholders(entries: Sequence[Entry]) -> Iterator[Diagnostic]:
    """Yield GG129 for each value with a placeholder in it, GG101 for properties of an event handler called `name`."""
    for entry in entries:
        found = None
        if _GOLDENGATE.match(entry.key) and not _ANY_TEXT.fullmatch(entry.key):
            found = LEFT_IN.search(entry.value)
        if found is None:
            continue
        span = entry.span_of(found[0], entry.value_span, entry.value_column - 1)
        what = "a placeholder" if entry.secret else f"the placeholder `{visible(found[0])}`"
        message = f"the value of `{entry.key}` contains {what} instead of a real value"
        yield Diagnostic("GG129", message, span, "replace the placeholder with the real value")
    yield from _event_handlers(entries)


def _event_handlers(entries: Iterable[Entry]) -> Iterator[Diagnostic]:
    below = [(entry, match) for entry in entries if (match := EVENT_HANDLER_KEY.fullmatch(entry.key))]
    called = {trim(name) for entry in entries if _CHAINED.fullmatch(entry.key) for name in entry.value.split(",")}
    others = list(dict.fromkeys(match[1] for _, match in below if not is_placeholder(match[1])))
    for entry, match in below:
        if not is_placeholder(match[1]) or match[1] in called or not others:
            continue
        help = f"`{match[1]}` is a placeholder for the name of an event handler: write "
        help += f"`gg.eventhandler.{others[0]}.{match[2]}`" if len(others) == 1 else "the name of one in this file"
        yield Diagnostic(
            "GG101", f"`{entry.key}` is never applied: it belongs to no event handler", entry.key_span, help
        )


class ConfigurationParser:
    """Makes handlers from the entries of sources, and collects findings. Later sources override earlier ones."""

    def __init__(self, sources: Sequence[tuple[str, ParsedProperties]], formats: Mapping[str, Format]) -> None:
        self.run = RunOptions()
        self.replacements = Replacements()
        self.release: releases.ReleaseFinding | None = None
        self._compatibility: Entry | None = None
        self._entries = [entry for _, source in sources for entry in source.entries]
        self._target = TargetHandlers(self._entries)
        self._entries += self._target.entries
        self._marked = [entry for _, source in sources if source.marked for entry in source.entries]
        self._findings = [finding for _, source in sources for finding in source.diagnostics]
        self._whole = not self._findings
        self._files = {file: index for index, file in enumerate(name for name, _ in sources)}
        self._formats = formats
        self._file = next((file for file, _ in sources if file not in ARGUMENTS), None)
        self._ignores = Ignores((file, comment) for file, source in sources for comment in source.comments)
        self._all_known = len(sources) == 1
        # GoldenGate then makes handlers by itself, and keys below `gg.handler.` only change them.
        self.makes_handlers = self._target.entry is not None
        self._unlisted: set[str] = set()

    def handlers(self, wanted: Sequence[str] = ()) -> tuple[HandlerConfig, ...]:
        """Return the handlers to run, `wanted` or all, without those that have errors. Call it once."""
        self._all_known = self._all_known and not wanted
        listed = self._listed()
        selected = self._selected(listed, wanted)
        is_listed = bool(listed) and not self.makes_handlers
        if not listed and not self.makes_handlers:
            listed = self._assumed()
            selected = list(listed)
        keyed, judged = self._keyed(listed, selected)
        release, is_given = self._run_options()
        assemblies = []
        event_handlers = EventHandlers(self._entries, self._findings, self.makes_handlers)
        of_goldengate = any(_PROCESS.match(entry.key) for entry in self._entries)
        of_goldengate |= any(_is_type(key) for name in selected for key, _ in keyed[name])
        for name in selected:
            if keyed[name]:
                self._check_format(name, keyed[name], listed)
                assembly = HandlerBuilder(name, keyed[name], self._formats, self._findings, event_handlers)
                self._findings += check_handler(assembly)
                if is_listed:
                    self._findings += check_type(assembly, of_goldengate)
                assemblies.append(assembly)
            elif self._whole:
                self._report_empty(name, listed[name], listed)
        event_handlers.report_unused(self._naming_event_handlers())
        if release is not None and not is_given:
            found = releases.found_release(releases.signs(assemblies, event_handlers, self._entries, listed))
            self._findings += releases.contradiction(found)
            release = found.release
            self.run = replace(self.run, compatibility=release)
            self.release = found
        elif release is not None and self._compatibility is not None:
            self.release = releases.given_release(release, self._compatibility, assemblies)
            named = before_comment(self._compatibility) or release
            self._findings += releases.misfits(assemblies, event_handlers, self._entries, named)
        if not any(assembly.format and assembly.format.options.of_goldengate for assembly in assemblies):
            self.release = None
        unfit = check_releases(assemblies, release, is_given)
        if self.run.uncovered != REFUSE:
            unfit = (replace(item, level=Severity.WARNING) if item.code == UNCOVERED else item for item in unfit)
        self._findings += unfit
        if release is not None and is_later(release, releases.LAST_OF_SEVERAL_HANDLERS) and len(listed) > 1:
            message = f"GoldenGate {manual_name(release)} runs one handler, and {len(listed)} are listed"
            help = "give each handler a separate handler file and Replicat; ggfmt runs all handlers of this file"
            self._findings.append(Diagnostic("GG141", message, list(listed.values())[1], help, level=Severity.WARNING))
        self._findings += check_process(self._entries)
        self._findings += check_mark(self._marked)
        self._findings += check_characters(self._entries)
        self._findings += self._target.findings(self.run)
        replacements = read_replacements(self._entries, self._findings)
        transforms = read_transforms(self._entries, self._findings)
        self.replacements = replace(replacements, transforms=transforms)
        self._findings += placeholders(judged)
        self._findings += check_masks(judged)
        self._findings += list(check_backslashes(self._entries, self._findings))
        self._findings = check_comments(judged, self._findings)
        mask = next((entry.value for entry in reversed(self._entries) if entry.key.lower() == _TIMESTAMP_MASK), "")
        configs = (config for assembly in assemblies if (config := assembly.config()) is not None)
        return tuple(replace(config, timestamp_mask=trim(mask)) for config in configs)

    def report_refusals(self, configs: Sequence[HandlerConfig]) -> None:
        for config in configs:
            self._findings += refusals(config, self.run)
        self.report_nothing_to_run(configs)

    def report_nothing_to_run(self, configs: Sequence[HandlerConfig]) -> None:
        """Add GG148 for a configuration whose handlers all have no messages, unless an error says why."""
        if configs or any(item.severity is Severity.ERROR for item in self._findings):
            return
        types = [known.name for known in HANDLER_TYPES.values() if known.formats is not Formats.NONE]
        help = f"handlers of the types {listing(types)} have formats that ggfmt writes"
        place = next((entry.key_span for entry in self._entries if entry.key.lower() == "gg.handlerlist"), Span())
        self._findings.append(Diagnostic("GG148", "ggfmt writes messages of none of the handlers", place, help))

    def reported(
        self,
        errors_too: bool = False,
        template: FileTemplate | None = None,
        is_enabled: Callable[[str], bool] = lambda code: True,
    ) -> tuple[Diagnostic, ...]:
        """Return the findings in order, without those that comments ignore; errors only with `errors_too`.

        For a `template`, only findings that do not depend on what is filled in are reported.
        """
        kept = []
        for finding in self._findings if template is None else template.judged(self._findings):
            silenced = self._ignores.silences(finding)
            if not silenced or (finding.severity is Severity.ERROR and not errors_too):
                kept.append(finding)
        all_known = self._all_known and template is None
        kept += self._ignores.findings(lambda code: all_known and is_enabled(code))
        return tuple(sorted((finding for finding in kept if is_enabled(finding.code)), key=self._order))

    def _order(self, finding: Diagnostic) -> tuple[int, int, int]:
        span = finding.span
        index = len(self._files) if span.file is None else self._files[span.file]
        return index, span.line or 0, span.column or 0

    def _report(self, code: str, message: str, span: Span, help: str | None = None) -> None:
        self._findings.append(Diagnostic(code, message, span, help))

    def _run_options(self) -> tuple[str | None, bool]:
        """Read `ggfmt.<name>`. Return the target release (None if it is illegal), and whether it is given."""
        specs = {f"{_OWN}{spec.name}": spec for spec in RunOptions.specs()}
        given: dict[str, Entry] = {}
        values = {}
        release: str | None = self.run.compatibility
        for entry in self._entries:
            if not entry.key.startswith(_OWN):
                continue
            if entry.key in specs:
                if entry.key in given:
                    report_duplicate(self._findings, given[entry.key], entry)
                given[entry.key] = entry
            else:
                help = suggestion(entry.key, specs)
                self._report("GG101", f"`{entry.key}` is not a property of ggfmt", entry.key_span, help)
        for key, entry in given.items():
            try:
                values[specs[key].attr] = specs[key].value(entry.value)
            except InvalidValueError as error:
                release = None if key == f"{_OWN}compatibility" else release
                self._findings.append(illegal_value(entry, error))
        self.run = RunOptions(**values)
        self._compatibility = given.get(f"{_OWN}compatibility")
        return release and self.run.compatibility, f"{_OWN}compatibility" in given

    def _naming_event_handlers(self) -> dict[str, list[Entry]]:
        """Return the entries that name event handlers, also of handlers that do not run, by that name."""
        found: dict[str, list[Entry]] = {}
        for entry in self._entries:
            key = handler_key(entry.key)
            if key is not None and key.rest.lower() == "eventhandler":
                found.setdefault(before_comment(entry), []).append(entry)
        return found

    # Which handlers

    def _listed(self) -> dict[str, Span]:
        """Return the names of `gg.handlerlist`, or those in settings alone, and their places."""
        lists = [entry for entry in self._entries if entry.key.lower() == "gg.handlerlist"]
        for earlier, entry in zip([None, *lists], lists, strict=False):
            if entry.key not in ("gg.handlerlist", "gg.Handlerlist"):
                self._findings.append(rename_finding(entry, "gg.handlerlist", "gg.handlerlist"))
            if earlier is not None:
                report_duplicate(self._findings, earlier, entry)
        if lists:
            self._check_overridden(lists)
        names = self._names_in(lists[-1]) if lists else self._names_in_settings()
        for name in list(names):
            if not _is_directory_name(name):
                self._report(UNSUPPORTED, f"`{name}` cannot be a handler's name", names.pop(name), _NAME_HELP)
        return names

    def _check_overridden(self, lists: Sequence[Entry]) -> None:
        """Report handlers of other files that do not run; `--set` overrides on purpose."""
        last = lists[-1]
        there = _handler_names(last)
        for entry in {entry.file: entry for entry in lists if last.file != SETTINGS}.values():
            lost = [f"`{name}`" for name in _handler_names(entry) if name not in there]
            if lost:
                do = "does" if len(lost) == 1 else "do"
                message = f"`{entry.key}` is overridden in {last.file}: {', '.join(lost)} {do} not run"
                help = "list the handlers of both files in the last, or with `--set gg.handlerlist=...`"
                self._report("GG132", message, entry.key_span, help)

    def _names_in(self, entry: Entry) -> dict[str, Span]:
        names: dict[str, Span] = {}
        for name in _handler_names(entry):
            if name in names:
                self._report("GG107", f"`{name}` is listed twice", entry.value_span, "remove one of them")
            names.setdefault(name, _name_span(entry, name))
        if not names:
            self._report("GG105", "`gg.handlerlist` is empty", entry.key_span, "name the handlers to run")
        elif before_comment(entry) != trim(entry.value):
            # The handler without the comment was meant: check it.
            self._report_empty(trim(entry.value.rpartition(",")[2]), entry.value_span, names)
        return names

    def _names_in_settings(self) -> dict[str, Span]:
        found: dict[str, dict[str, Span]] = {}
        for entry in self._entries:
            key = handler_key(entry.key)
            if key:
                place = entry.file if entry.file in ARGUMENTS else ""
                found.setdefault(place, {}).setdefault(key.handler, entry.key_span)
        if "" not in found and found:
            return found.get(CHOSEN) or found[SETTINGS]
        if self._whole and not self.makes_handlers:
            known = ",".join(list(self._assumed())[:5])
            help = f"add `gg.handlerlist={known}`" if known else "add `gg.handlerlist` and name a handler"
            if self._file is None:
                help = "give a file with `-c`, or `--set gg.handler.out.format=json`"
            self._report("GG105", "`gg.handlerlist` is missing", Span(self._file), help)
        return {}

    def _assumed(self) -> dict[str, Span]:
        """Return the handlers that a list would name: with a format or a type, else the one with the most keys."""
        keys: dict[str, list[HandlerKey]] = {}
        spans: dict[str, Span] = {}
        for entry in self._entries:
            key = handler_key(entry.key)
            if key is not None and _is_directory_name(key.handler):
                keys.setdefault(key.handler, []).append(key)
                spans.setdefault(key.handler, entry.key_span)
        named = {name: known for name, known in keys.items() if not is_placeholder(name)} or keys
        complete = [name for name, known in named.items() if any(map(_is_complete, known))]
        most = sorted(named, key=lambda name: -len(named[name]))[:1]
        return {name: spans[name] for name in complete or most}

    def _selected(self, listed: Mapping[str, Span], wanted: Sequence[str]) -> list[str]:
        for name in dict.fromkeys(wanted):
            if name not in listed and listed:
                known = list_names(listed)
                near = suggestion(name, listed)
                help = f"handlers are {known}" + (f"; {near}" if near else "")
                self._report("GG105", f"`--handler` names `{name}`, which is not a handler", Span(), help)
        return [name for name in listed if not wanted or name in wanted]

    def _report_empty(self, name: str, span: Span, listed: Iterable[str]) -> None:
        listed = set(listed)
        others = dict.fromkeys(key.handler for key in self._handler_keys() if key.handler not in listed)
        near = nearest_handler(name, others)
        help = f"did you mean `{near}`?" if near else f"add `gg.handler.{name}.format={DEFAULT_FORMAT}`"
        help = "put commas between names" if re.search(r"[;\s]", name) else help
        self._report("GG104", f"`gg.handlerlist` names `{name}`, but no property is `gg.handler.{name}`", span, help)

    # Which keys

    def _handler_keys(self) -> Iterable[HandlerKey]:
        return filter(None, (handler_key(entry.key) for entry in self._entries))

    def _keyed(
        self, listed: Mapping[str, Span], selected: Sequence[str]
    ) -> tuple[dict[str, list[tuple[HandlerKey, Entry]]], list[Entry]]:
        keyed: dict[str, list[tuple[HandlerKey, Entry]]] = {name: [] for name in selected}
        keys = list(self._handler_keys())
        number, typed = Counter(key.handler for key in keys), {key.handler for key in keys if _is_type(key)}
        complete = {key.handler for key in keys if _is_complete(key)}
        if any(name in number and name not in typed for name in listed):
            # A type alone does not make a handler that is off: it belongs to one without a type.
            complete -= {name for name in typed if number[name] == 1}
        folded = {name.lower() for name in listed if name in number}
        judged = []
        of_process: dict[str, Entry] = {}
        self._findings += check_prose(self._entries)
        self._findings += check_broken_values(self._entries)
        for entry in self._entries:
            key = handler_key(entry.key, listed)
            if key is None:
                judged.append(entry)
                if PROCESS.find(entry.key) is None:
                    self._check_other(entry, listed)
                elif entry.key in of_process:
                    report_duplicate(self._findings, of_process[entry.key], entry)
                of_process[entry.key] = entry
            elif key.handler in keyed:
                judged.append(entry)
                keyed[key.handler].append((key, entry))
            elif key.handler not in listed and listed:
                off = key.handler in complete and entry.file != SETTINGS and key.handler.lower() not in folded
                self._check_unlisted(entry, key, listed, selected, off)
        return keyed, judged

    def _check_format(self, name: str, keyed: Sequence[tuple[HandlerKey, Entry]], listed: Mapping[str, Span]) -> None:
        """Report a misspelled format among the keys that are below no handler."""
        if any(key.is_format for key, _ in keyed):
            return
        ends = ("format", name.lower())
        for entry in self._entries:
            if not entry.key.lower().endswith(ends) or handler_key(entry.key, listed) is not None:
                continue
            if nearest_key(entry.key, listed, "") == f"gg.handler.{name}.format":
                report_missing_format(self._findings, name, entry)

    def _check_other(self, entry: Entry, listed: Mapping[str, Span]) -> None:
        key = entry.key
        if key.startswith(_OWN) or KEYS.find(key) or EVENT_HANDLER_KEY.fullmatch(key):
            return
        if is_replacement(key) or is_transform(key) or is_prose(entry) or is_sentence(entry) or _is_rest(key):
            return
        near = nearest_key(key, listed, before_comment(entry))
        if near is None and key and is_foreign(entry):
            self._report("GG130", f"`{key}` is not a property of GoldenGate", entry.key_span)
        elif near is None and key and entry.file not in ARGUMENTS:
            self._report("GG125", f"`{key}` is not a property that ggfmt knows", entry.key_span)
        else:
            message = f"`{key}` is not a property that ggfmt knows" if key else "the value has no key"
            self._report("GG101", message, entry.key_span, f"did you mean `{near}`?" if near else None)

    def _check_unlisted(
        self, entry: Entry, key: HandlerKey, listed: Mapping[str, Span], selected: Sequence[str], off: bool
    ) -> None:
        """Report a misspelled handler name: one near a listed name, or the manual's placeholder.

        `off`: the handler has a format or a type, so that only the placeholder is reported.
        """
        near = None if off else nearest_handler(key.handler, listed)
        rewrite = None
        if is_placeholder(key.handler):
            help = f"`{key.handler}` is a placeholder for the name of a handler: "
            if len(listed) > 1:
                help += "write the name of a listed one"
            else:
                meant = f"gg.handler.{next(iter(listed))}.{key.rest}"
                help += f"write `{meant}`"
                rewrite = renamed_key(entry, meant)
        elif near in selected:
            help = f"did you mean `gg.handler.{near}.{key.rest}`?"
        elif near is None and entry.file == SETTINGS:
            help = f"handlers are {list_names(listed)}"
        elif not off and key.handler not in self._unlisted:
            self._unlisted.add(key.handler)
            lacks = "no `format`" if key.rest.lower() == "type" else "no `type` and no `format`"
            help = f"handlers are {list_names(listed)}; this one has {lacks}"
        else:
            return
        never = "is never applied: it " if is_placeholder(key.handler) else ""
        message = f"`{entry.key}` {never}belongs to no listed handler"
        self._findings.append(Diagnostic("GG101", message, entry.key_span, help, rewrite=rewrite))


def _is_complete(key: HandlerKey) -> bool:
    return key.is_format or _is_type(key)


def _is_type(key: HandlerKey) -> bool:
    return key.rest.lower() == "type"


def _handler_names(entry: Entry) -> list[str]:
    return list(filter(None, map(trim, before_comment(entry).split(","))))


def _is_directory_name(name: str) -> bool:
    return name.isprintable() and not re.search(r"[/\\]|^[._]", name)


def _name_span(entry: Entry, name: str) -> Span:
    match = re.search(rf"(?<![^,\s]){re.escape(name)}(?![^,\s\\])", entry.source[entry.value_column - 1 :])
    if match is None:
        return entry.value_span
    return Span(entry.file, entry.line, entry.value_column + match.start(), len(name), entry.source)


# The linter of one handler file. It makes the checks of `ggfmt run`. Comments can ignore errors too, notes are
# reported, and template lines are not checked.

ALL_RULES = Rules()


class CheckedFile(NamedTuple):
    """The findings of a handler file, by line and column, and its release, if it has a format of GoldenGate."""

    findings: tuple[Diagnostic, ...]
    release: releases.ReleaseFinding | None


def lint(content: bytes, file: str, rules: Rules = ALL_RULES, settings: Sequence[str] = ()) -> tuple[Diagnostic, ...]:
    """Return every finding of a handler file and of `--set` settings, without those that its comments ignore."""
    return check_file(content, file, rules, settings).findings


def placed(finding: Diagnostic, file: str) -> Diagnostic:
    """Return the finding with a line: editors and CI systems refuse one without."""
    span = finding.span
    return finding if span.line is not None else finding.at(file=span.file or file, line=1, column=1)


def check_file(content: bytes, file: str, rules: Rules = ALL_RULES, settings: Sequence[str] = ()) -> CheckedFile:
    """Return what `lint` returns, and the release of the file."""
    if is_parameter_file(file):
        from ggfmt.config.lint.parameter_files import check_parameter_file

        return CheckedFile(check_parameter_file(content, file, rules), None)
    parsed = parse_content(content, file)
    sources = [(file, parsed)]
    if settings:
        sources.append((SETTINGS, entries_from_settings(settings)))
    reading = ConfigurationParser(sources, FORMATS)
    reading.report_refusals(reading.handlers())
    template = find_template(parsed.entries)
    found = tuple(
        rules.judged(placed(finding, file))
        for finding in reading.reported(errors_too=True, template=template, is_enabled=rules.is_enabled)
        if rules.for_run or finding.code != WITHOUT_EFFECT
    )
    return CheckedFile(found, None if template is not None and template.whole else reading.release)
