"""Backslashes that Java drops: of `\\N` it reads `N`, because only some characters make an escape with a backslash.

Letters and digits after a backslash are mistakes everywhere. Other characters are mistakes only where the backslash has
a meaning of its own: in regular expressions, and in paths of Windows, where even `\\t` and `\\n` are meant as text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ggfmt.config.comments import GOLDENGATE_KEY
from ggfmt.config.lint.java_text import Part, value_parts
from ggfmt.config.properties import Entry
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.java.text import visible
from ggfmt.lazy import lazy_regex

_ESCAPE = lazy_regex(r"\\(.)")
_ESCAPED = "tnrfu"
_HARMLESS = " \t:=#!\\"

_REGEX_KEY = lazy_regex(r".*(?:regex[0-9]*|replacestring[0-9]*)", re.IGNORECASE | re.DOTALL)
_REGEX = lazy_regex(r"\$\{\s*regex\s*\[", re.IGNORECASE)
_OF_REGEX = set(".[]{}()*+?^$|")

_HOST = lazy_regex(r"\\\\(?=[\w.-]+\\[^\W\\])")
_WINDOWS = lazy_regex(r"(?:^|(?<=[\s;,=\"]))(?:[A-Za-z]\\?:|\.{1,2})\\(?=[\w$.])")
_REST = lazy_regex(r"[\w$.-]*")  # of a name in a path
_PATH_KEY = lazy_regex(
    r".*(?:directory|dir|path|file|location|(?:path|filename|filerename)mappingtemplate)", re.IGNORECASE | re.DOTALL
)


def check_backslashes(entries: Iterable[Entry], findings: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """Yield GG150 for each line with backslashes that Java drops, unless GG117 says which character is meant."""
    named = {(finding.span.file, finding.span.line) for finding in findings if finding.code == "GG117"}
    for entry in entries:
        if ("\\" not in entry.raw and entry.is_plain) or not GOLDENGATE_KEY.match(entry.key):
            continue
        if (entry.file, entry.line) in named:
            continue
        start = entry.column - 1
        parts = [Part(True, entry.line, entry.source, start, start + entry.key_length)]
        parts += value_parts(entry, entry.key)
        yield from (finding for part in parts if (finding := _lost(entry, part)) is not None)
        if entry.secret and any(_is_lost(match[1]) for match in _ESCAPE.finditer(entry.raw)):
            message = f"`{entry.key}` has a backslash that Java drops"
            yield Diagnostic("GG150", message, entry.value_span, "write `\\\\` for a backslash")


def _is_lost(character: str) -> bool:
    return character.isalnum() and character not in _ESCAPED


def _lost(entry: Entry, part: Part) -> Diagnostic | None:
    text = part.source[part.start : part.end]
    host = None if part.is_key or _REGEX_KEY.fullmatch(entry.key) else _HOST.match(text)
    is_path = not part.is_key and (host or _WINDOWS.search(text) or _PATH_KEY.fullmatch(entry.key))
    is_regex = not part.is_key and (_REGEX_KEY.fullmatch(entry.key) or _REGEX.search(text))

    def is_lost(match: re.Match[str]) -> bool:
        character = match[1]
        if _is_lost(character) or (is_regex and character in _OF_REGEX):
            return True
        return bool(is_path) and character not in _HARMLESS and character != "u"

    lost = [match for match in _ESCAPE.finditer(text) if is_lost(match)]
    if not lost:
        return None
    start, end = 0 if host else lost[0].start(), lost[-1].end()
    end = _REST.match(text, end).end() if is_path else end  # type: ignore[union-attr]
    fix = _ESCAPE.sub(lambda match: f"\\{match[0]}" if is_lost(match) else match[0], text[:end])[start:]
    fix = f"\\\\{fix}" if host else fix
    owner = f"the key `{visible(entry.key)}`" if part.is_key else f"the value of `{visible(entry.key)}`"
    controls = [match[0] for match in lost if match[1] in _ESCAPED]
    if len(controls) < len(lost):
        backslashes = "backslashes" if len(lost) > 1 or host else "backslash"
        message = f"Java drops the {backslashes} of `{visible(text[start:end])}` in {owner}"
    else:
        message = f"Java takes `{controls[0]}` in {owner} for a control character"
    return Diagnostic(
        "GG150", message, part.span(entry, part.start + start, part.start + end), f"write `{visible(fix)}`", fix
    )
