"""The keys that change names and values: search and replacement, and the transforms of release 21.

`gg.schemareplaceregex[N]`, `gg.contentreplaceregex[N]` and their strings: the pair without a number comes first, then
those from 1 on; the first number without a regular expression ends the list. Both texts may be wrapped in `CDATA[...]`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ggfmt.config.comments import before_comment, has_comment, lost_blanks, misread_wrapper
from ggfmt.config.lint.chains import illegal_value, report_duplicate
from ggfmt.config.properties import Entry
from ggfmt.config.property_names import rename_finding
from ggfmt.config.property_table import KEYS
from ggfmt.diagnostics.diagnostic import Diagnostic, suggestion
from ggfmt.java.text import InvalidValueError, trim
from ggfmt.lazy import lazy_regex
from ggfmt.options.spec import Need
from ggfmt.options.value_types import Replacements, Text, Transform

if TYPE_CHECKING:
    from ggfmt.java.regex import JavaRegex
    from ggfmt.java.replacement import Replacement

_KEY = lazy_regex(r"gg\.(?:schema|content)replace(?:regex|string)[0-9]*")


def is_replacement(key: str) -> bool:
    return _KEY.fullmatch(key.lower()) is not None


def read_replacements(entries: Sequence[Entry], findings: list[Diagnostic]) -> Replacements:
    """Return the replacements of the entries, in order; problems are added to `findings`."""
    given: dict[str, Entry] = {}
    for entry in filter(lambda entry: is_replacement(entry.key), entries):
        name = entry.key.lower()
        if entry.key != name:
            findings.append(rename_finding(entry, name, name))
        if name in given:
            report_duplicate(findings, given[name], entry)
        given[name] = entry
    findings += _text_problems(given.values())
    schema, content = (tuple(_pairs(f"gg.{what}replace", given, findings)) for what in ("schema", "content"))
    reached = {prefix: set(_numbers(prefix, given)) for prefix in ("gg.schemareplace", "gg.contentreplace")}
    findings += [
        Diagnostic("GG120", f"`{entry.key}` is not applied, because `{missing}` is missing", entry.key_span, help)
        for name, entry in given.items()
        for missing, help in _lacking(name, given, reached)
    ]
    return Replacements(schema, content)


def _numbers(prefix: str, given: Mapping[str, Entry]) -> Iterator[str]:
    if f"{prefix}regex" in given:
        yield ""
    number = 1
    while f"{prefix}regex{number}" in given:
        yield str(number)
        number += 1


def _text_problems(entries: Iterable[Entry]) -> Iterator[Diagnostic]:
    for entry in entries:
        problem = None if has_comment(entry) else misread_wrapper(entry, Text()) or lost_blanks(entry, Text())
        if problem is not None:
            yield problem


def _pairs(prefix: str, given: Mapping[str, Entry], findings: list[Diagnostic]) -> Iterator[Replacement]:
    for number in _numbers(prefix, given):
        pattern, string = given[f"{prefix}regex{number}"], given.get(f"{prefix}string{number}")
        replacement = _replacement(pattern, string, findings)
        if replacement is not None:
            yield replacement


def _replacement(pattern: Entry, string: Entry | None, findings: list[Diagnostic]) -> Replacement | None:
    # Most files have no replacement, and regular expressions take a while to load.
    from ggfmt.java.regex import translate
    from ggfmt.java.replacement import Replacement

    entry = pattern
    try:
        regex = translate(Text().parse(trim(pattern.value)))
        entry = string or pattern
        text = "" if string is None else Text().parse(trim(string.value))
        return Replacement(regex, text, pattern.key)
    except InvalidValueError as error:
        findings.append(illegal_value(entry, error))
        return None


def _lacking(name: str, given: Mapping[str, Entry], reached: Mapping[str, set[str]]) -> Iterator[tuple[str, str]]:
    """Yield the key that this one needs to be applied, and the help. `reached`: the numbers of pairs, by prefix."""
    prefix, kind, number = re.fullmatch(r"(.*)(regex|string)([0-9]*)", name).groups()  # type: ignore[union-attr]
    if number in reached[prefix]:
        return
    regex = f"{prefix}regex{number}"
    if kind == "string" and regex not in given:
        yield regex, f"add `{regex}`, or remove the string"
    else:
        yield f"{prefix}regex{len(reached[prefix] - {''}) + 1}", "number the pairs from 1 without a gap"


# The keys of transforms, which release 21 has beside search and replacement: `gg.transforms`, `gg.transform.<name>.`. A
# transform has a matcher, which selects columns by name, and a converter, which replaces text in their values. Both
# have one type, `regex`. `*`, the manual's default of some patterns, is not a Java pattern: it matches all names.

_LIST = "gg.transforms"
_TRANSFORM_KEY = lazy_regex(r"gg\.transform\.([^.]+)\.(.+)", re.DOTALL | re.IGNORECASE)
_TYPE = "regex"
_ALL_NAMES = "*"
_PREFIX = "gg.transform.<name>."
_NAMES = {spec.name.removeprefix(_PREFIX): spec for spec in KEYS.own if spec.name.startswith(_PREFIX)}
_REQUIRED = [name for name, spec in _NAMES.items() if spec.need is Need.REQUIRED]


def is_transform(key: str) -> bool:
    return key.lower() == _LIST or _TRANSFORM_KEY.fullmatch(key) is not None


def read_transforms(entries: Sequence[Entry], findings: list[Diagnostic]) -> tuple[Transform, ...]:
    """Return the transforms of the entries, in order."""
    return tuple(_TransformParser(entries, findings).transforms())


class _TransformParser:
    def __init__(self, entries: Sequence[Entry], findings: list[Diagnostic]) -> None:
        self.findings = findings
        self.list: Entry | None = None
        self.given: dict[str, dict[str, Entry]] = {}
        self.first: dict[str, Entry] = {}
        for entry in entries:
            self._take(entry)

    def transforms(self) -> Iterator[Transform]:
        listed = self._listed()
        for name, entry in self.first.items():
            if name not in listed:
                message = f"the transform `{name}` is not applied: `{_LIST}` does not name it"
                self._report("GG134", message, entry, suggestion(name, listed) or f"add it to `{_LIST}`, or remove it")
        for name in listed:
            transform = self._transform(name, self.given.get(name, {}))
            if transform is not None:
                yield transform

    def _take(self, entry: Entry) -> None:
        match = _TRANSFORM_KEY.fullmatch(entry.key)
        if match is None:
            if entry.key.lower() == _LIST:
                self._give(entry, _LIST, self.list)
                self.list = entry
            return
        name, rest = match.groups()
        of_name = self.given.setdefault(name, {})
        self.first.setdefault(name, entry)
        found = next((known for known in _NAMES if known.lower() == rest.lower()), None)
        if found is None:
            message = f"`{entry.key}` is not a property of a transform"
            self.findings.append(Diagnostic("GG101", message, entry.key_span, suggestion(rest, _NAMES)))
            return
        self._give(entry, f"gg.transform.{name}.{found}", of_name.get(found))
        of_name[found] = entry

    def _give(self, entry: Entry, key: str, earlier: Entry | None) -> None:
        if entry.key != key:
            self.findings.append(rename_finding(entry, key, key))
        if earlier is not None:
            report_duplicate(self.findings, earlier, entry)

    def _listed(self) -> list[str]:
        names: list[str] = []
        for name in filter(None, map(trim, before_comment(self.list).split(","))) if self.list else ():
            if name in names:
                self._report("GG107", f"`{name}` is listed twice", self.list, "remove one of them")
            else:
                names.append(name)
        return names

    def _transform(self, name: str, given: Mapping[str, Entry]) -> Transform | None:
        lacking = [f"`gg.transform.{name}.{key}`" for key in _REQUIRED if key not in given]
        if lacking:
            entry = next(iter(given.values()), self.list)
            self._report("GG109", f"the transform `{name}` lacks {', '.join(lacking)}", entry, "add what is missing")
        known = len(self.findings)
        for kind in filter(None, map(given.get, ("matcher", "converter"))):
            if trim(kind.value).lower() != _TYPE:
                value = "***" if kind.secret else trim(kind.value)
                self._report("GG103", f"`{kind.key}` cannot be `{value}`", kind, f"the legal value is `{_TYPE}`")
        self.findings += _text_problems(given.values())
        names = {part: self._pattern(given.get(f"matcher.{part}Regex")) for part in Transform.PARTS}
        pattern, string = given.get("converter.replaceRegex"), given.get("converter.replaceString")
        replacement = None if pattern is None else _replacement(pattern, string, self.findings)
        failed = any(finding.code == "GG103" for finding in self.findings[known:])
        return None if lacking or failed or replacement is None else Transform(name, replacement, **names)

    def _pattern(self, entry: Entry | None) -> JavaRegex | None:
        """Return the pattern of names; None for all names, and for an illegal pattern."""
        if entry is None or trim(entry.value) == _ALL_NAMES:
            return None
        from ggfmt.java.regex import translate

        try:
            return translate(Text().parse(trim(entry.value)))
        except InvalidValueError as error:
            self.findings.append(illegal_value(entry, error))
            return None

    def _report(self, code: str, message: str, entry: Entry | None, help: str | None) -> None:
        """Report a finding at the value of an entry, or at its key if the value does not matter."""
        assert entry is not None
        span = entry.key_span if code in ("GG109", "GG134") else entry.value_span
        self.findings.append(Diagnostic(code, message, span, help))
