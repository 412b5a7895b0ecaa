"""The keys for search and replacement: `gg.schemareplaceregex[N]`, `gg.contentreplaceregex[N]` and their strings.

The pair without a number comes first, then those from 1 on; the first number without a regular expression ends the
search. Both texts may be wrapped in `CDATA[...]`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ggfmt.config.comments import has_comment
from ggfmt.config.lint.assembly import report_duplicate
from ggfmt.config.properties import Entry
from ggfmt.config.property_names import renamed
from ggfmt.config.texts import lost_blanks, misread_wrapper
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.java.text import InvalidValueError, trim
from ggfmt.options.replacements import Replacements
from ggfmt.options.value_types import Text

if TYPE_CHECKING:
    from ggfmt.java.replacement import Replacement

_KEY = re.compile(r"gg\.(?:schema|content)replace(?:regex|string)[0-9]*")


def is_replacement(key: str) -> bool:
    return _KEY.fullmatch(key.lower()) is not None


def read_replacements(entries: Sequence[Entry], findings: list[Diagnostic]) -> Replacements:
    """The replacements that the entries ask for, in order; what is wrong with them is added to `findings`."""
    given: dict[str, Entry] = {}
    for entry in filter(lambda entry: is_replacement(entry.key), entries):
        name = entry.key.lower()
        if entry.key != name:
            findings.append(renamed(entry, name, name))
        if name in given:
            report_duplicate(findings, given[name], entry)
        given[name] = entry
    for entry in given.values():
        if not has_comment(entry):
            problem = misread_wrapper(entry, Text()) or lost_blanks(entry, Text())
            findings += [problem] if problem else []
    schema, content = (tuple(_pairs(f"gg.{what}replace", given, findings)) for what in ("schema", "content"))
    findings += [
        Diagnostic("GG120", f"`{entry.key}` is not applied: there is no `{missing}`", entry.key_span, help)
        for name, entry in given.items()
        for missing, help in _lacking(name, given)
    ]
    return Replacements(schema, content)


def _numbers(prefix: str, given: Mapping[str, Entry]) -> Iterator[str]:
    """The numbers of the pairs that are carried out, as texts."""
    if f"{prefix}regex" in given:
        yield ""
    number = 1
    while f"{prefix}regex{number}" in given:
        yield str(number)
        number += 1


def _pairs(prefix: str, given: Mapping[str, Entry], findings: list[Diagnostic]) -> Iterator[Replacement]:
    numbers = list(_numbers(prefix, given))
    if not numbers:
        return
    # Most files have no replacement, and what carries one out takes a while to load.
    from ggfmt.java.regex import translate
    from ggfmt.java.replacement import Replacement

    for number in numbers:
        pattern = given[f"{prefix}regex{number}"]
        string = given.get(f"{prefix}string{number}")
        entry = pattern
        try:
            regex = translate(Text().parse(trim(pattern.value)))
            if string is not None:
                entry = string
            text = "" if string is None else Text().parse(trim(string.value))
            yield Replacement(regex, text, pattern.key)
        except InvalidValueError as error:
            findings.append(Diagnostic("GG103", f"`{entry.key}` {error}", entry.value_span, error.help))


def _lacking(name: str, given: Mapping[str, Entry]) -> Iterator[tuple[str, str]]:
    """The key that would have to be there for this one to be carried out, and what to do; none if it is."""
    prefix, kind, number = re.fullmatch(r"(.*)(regex|string)([0-9]*)", name).groups()  # type: ignore[union-attr]
    reached = list(_numbers(prefix, given))
    if number in reached:
        return
    regex = f"{prefix}regex{number}"
    if kind == "string" and regex not in given:
        yield regex, f"add `{regex}`, or remove the string"
    else:
        yield f"{prefix}regex{len([n for n in reached if n]) + 1}", "number the pairs from 1 without a gap"
