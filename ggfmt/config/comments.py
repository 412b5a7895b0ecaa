"""Values that are not what they look like: comments in values, lost blanks, wrappers and names of characters.

In Java properties a comment is a line of its own that starts with `#` or `!`. `# ggfmt: ignore GG107, GG101` ignores
findings of these codes in the property below it; other words may follow the codes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from ggfmt.config.properties import Comment, Entry, comment_above, comment_only, revalued
from ggfmt.dataclasses import dataclass, field, replace
from ggfmt.diagnostics.codes import CODES, Severity
from ggfmt.diagnostics.diagnostic import Diagnostic, Span, suggestion
from ggfmt.java.text import JAVA_BLANKS, trim, visible
from ggfmt.lazy import lazy_regex
from ggfmt.options.value_types import Delimiter, Path, Representation, Text, ValueType, escape_value, unwrap_cdata

# What starts a comment elsewhere: in SQL and parameter files of GoldenGate, in Java, in files of Windows.
_NO_COMMENT = ("--", "//", ";")

GOLDENGATE_KEY = lazy_regex(r"(?:gg|goldengate|javawriter|jvm|ggfmt)\.", re.IGNORECASE)

# A comment mark after a blank and before words; `//host/share` is a path.
_MARK = lazy_regex(r"(?:^|(?<=\s))(?:(?:#+|//+|--+)(?=\s)|(?<=\s)(?:#|//(?!\w[\w.-]*/))(?=\w))")
_LOG_PATTERN = lazy_regex(r"%[-.0-9]*[a-zA-Z]")
_SWALLOWED_KEY = lazy_regex(r"gg\.[A-Za-z]+[\w.]*(?=\s*=)")

_OWN_LINE = "put it on a separate line that starts with `#`"

_IGNORE = lazy_regex(r"(?:[#!]+|--+)\s*ggfmt\s*:\s*ignore\b", re.IGNORECASE)
_IGNORED = lazy_regex(r"[\s,:]*(GG[0-9]+)\b", re.IGNORECASE)


def is_prose(entry: Entry) -> bool:
    return entry.key.startswith(_NO_COMMENT) and entry.source.startswith(_NO_COMMENT, entry.column - 1)


def before_comment(entry: Entry) -> str:
    value = trim(entry.value)
    at = comment_at(entry, value)
    return value if at is None else trim(value[:at])


def has_comment(entry: Entry) -> bool:
    """Return whether the value contains text that was meant to be a comment, or another line."""
    return comment_at(entry, trim(entry.value)) is not None or any(_continued(entry))


def check_comments(entries: Iterable[Entry], findings: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Return the findings, and one for each text meant as a comment, unless it explains an error of GoldenGate."""
    kept = list(findings)
    errors: dict[tuple[str | None, int | None], list[int]] = {}
    for at, finding in enumerate(kept):
        if finding.severity is Severity.ERROR and not CODES[finding.code].of_run:
            errors.setdefault((finding.span.file, finding.span.line), []).append(at)
    for entry in entries:
        if is_prose(entry):
            mark = next(mark for mark in _NO_COMMENT if entry.key.startswith(mark))
            help = "start the line with `#`"
            span = replace(entry.key_span, length=len(mark))
            rewrite = comment_only(entry, mark)
            kept.append(Diagnostic("GG113", f"`{mark}` does not start a comment", span, help, rewrite=rewrite))
            continue
        for comment in _comments_in(entry):
            explained = [
                at for at in errors.get((entry.file, entry.line), ()) if _is_why(comment, entry, kept[at].span)
            ]
            for at in explained:
                help = f"the comment is part of the value: {comment.help}"
                kept[at] = replace(kept[at], help=help, rewrite=comment.rewrite)
            if not explained:
                kept.append(comment)
    return kept


def _comments_in(entry: Entry) -> Iterator[Diagnostic]:
    continued = list(_continued(entry))
    yield from continued
    at = comment_at(entry, trim(entry.value))
    if at is None or continued:
        return
    comment = trim(entry.value)[at:]
    if entry.misread:
        with suppress(UnicodeError):  # an escape may stand for any character
            comment = comment.encode("iso-8859-1").decode()
    span, rewrite = entry.value_span, None
    where = entry.source.find(comment, entry.value_column - 1)
    if where >= 0:
        span = replace(span, column=where + 1, length=len(comment))
        rewrite = comment_above(entry, where)
    message = f"`{entry.key}` ends with a comment, which is part of the value"
    yield Diagnostic("GG113", message, span, _OWN_LINE, rewrite=rewrite)


def _is_why(comment: Diagnostic, entry: Entry, span: Span) -> bool:
    column, place = span.column or 0, comment.span
    if comment.code != "GG113" or column < entry.value_column:
        return False
    return place.line != span.line or column + span.length > (place.column or 0)


def comment_at(entry: Entry, value: str, key: str = "") -> int | None:
    """Return where in a value a text starts that was meant to be a comment. `key`: what the key is meant to be."""
    if not GOLDENGATE_KEY.match(key or entry.key) or unwrap_cdata(value) != value or _LOG_PATTERN.search(value):
        return None
    for match in _MARK.finditer(value):
        if value[: match.start()].count('"') % 2 == 0 and (match.start() or entry.separator[-1:].isspace()):
            return match.start()
    return None


def _continued(entry: Entry) -> Iterator[Diagnostic]:
    """Yield a finding for each line that the backslash before it adds to the value by mistake."""
    if not GOLDENGATE_KEY.match(entry.key):
        return
    for number, line in enumerate(entry.continued, entry.line + 1):
        text = line.lstrip(" \t\f")
        span = Span(entry.file, number, len(line) - len(text) + 1, 1, None if entry.secret else line)
        help = "remove the backslash at the end of the line above, or double it"
        if text.startswith("#"):
            yield Diagnostic("GG113", f"a comment is part of the value of `{entry.key}`", span, help)
        elif key := _SWALLOWED_KEY.match(text):
            message = f"`{key[0]}` is part of the value of `{entry.key}`"
            yield Diagnostic("GG101", message, replace(span, length=len(key[0])), help)


@dataclass
class _Ignore:
    code: str
    span: Span
    below: range
    used: bool = field(default=False)


class Ignores:
    def __init__(self, comments: Iterable[tuple[str, Comment]]) -> None:
        self._ignores: list[_Ignore] = []
        self._by_line: dict[tuple[str, str | None, int | None], list[_Ignore]] = {}
        self._malformed: list[Diagnostic] = []
        for file, comment in comments:
            self._read(file, comment)

    def silences(self, finding: Diagnostic) -> bool:
        """Return whether a comment ignores the finding; the comment then counts as needed."""
        ignores = self._by_line.get((finding.code, finding.span.file, finding.span.line), ())
        for ignore in ignores:
            ignore.used = True
        return bool(ignores)

    def findings(self, all_known: Callable[[str], bool]) -> Iterator[Diagnostic]:
        """Yield GG122 for comments without effect. `all_known`: whether all findings of a code are known."""
        yield from self._malformed
        for ignore in self._ignores:
            if not len(ignore.below):
                message = "no property is below the comment"
                yield Diagnostic("GG122", message, ignore.span, "put it directly above the property")
            elif not ignore.used and all_known(ignore.code):
                message = f"the property below has no finding `{ignore.code}`"
                yield Diagnostic("GG122", message, ignore.span, "remove it")

    def _read(self, file: str, comment: Comment) -> None:
        head = _IGNORE.match(comment.text)
        if head is None:
            return
        at, source = head.end(), " " * (comment.column - 1) + comment.text
        while match := _IGNORED.match(comment.text, at):
            at = match.end()
            code = match[1].upper()
            span = Span(file, comment.line, comment.column + match.start(1), len(code), source)
            if code in CODES:
                self._ignores.append(_Ignore(code, span, comment.below))
                for line in comment.below:
                    self._by_line.setdefault((code, file, line), []).append(self._ignores[-1])
            else:
                self._malformed.append(Diagnostic("GG122", f"`{code}` is not a code", span, suggestion(code, CODES)))
        if at == head.end():
            span = Span(file, comment.line, comment.column, len(visible(comment.text)), source)
            self._malformed.append(Diagnostic("GG122", "the comment names no code", span, "name the codes to ignore"))


# Texts that are not what they look like: lost blanks, misread wrappers, names of characters.

_CHARACTER = lazy_regex(r"\\u[0-9A-Fa-f]{4}|\\.|.", re.DOTALL)
_WRAPPER = lazy_regex(r"(<?!?\[?)CDATA\s*([\[({])(.*)", re.DOTALL | re.IGNORECASE)

# How other places name a character; in a properties file, `\x01` is `x01` and `\001` is `001`.
_NAMED = lazy_regex(
    r"\\?U\+?(?P<java>[0-9A-F]{4})|[\\0]?X(?P<hex>[0-9A-F]{2,4})|\\?(?P<octal>[0-3][0-7]{2})"
    r"|\^(?P<control>[A-Z\[\\\]^_])|(?P<letters>(?:\\[TRNF])+)",
    re.IGNORECASE,
)
_LETTERS = {"t": "\t", "r": "\r", "n": "\n", "f": "\f"}


def misread_wrapper(entry: Entry, kind: ValueType[Any]) -> Diagnostic | None:
    """Return GG115 if the value was meant to be wrapped in `CDATA[...]`, and is not."""
    text = trim(entry.value)
    match = _WRAPPER.fullmatch(entry.value.lstrip(JAVA_BLANKS))
    if match is None or not isinstance(kind, (Text, Path)) or (text.startswith("CDATA[") and text.endswith("]")):
        return None
    head, _, inner = match.groups()
    if head or not text.startswith("CDATA["):
        closed = re.fullmatch(r"(.*)(?:\]\]>|[\])}])", inner.rstrip(JAVA_BLANKS), re.DOTALL)
        message = f"`{entry.key}` has a wrapper that is not `CDATA[...]`"
        return _misread(entry, message, closed[1] if closed else inner)
    if "]" in inner:
        message = f"`{entry.key}` has text after the `]` of its `CDATA[...]`"
        return Diagnostic("GG115", message, entry.value_span, "end the value with the `]`")
    return _misread(entry, f"`{entry.key}` does not close its `CDATA[`", inner)


def _misread(entry: Entry, message: str, text: str) -> Diagnostic:
    rewrite = None if entry.secret else revalued(entry, escape_value(f"CDATA[{text}]"))
    return Diagnostic("GG115", message, entry.value_span, _wrap(entry, text), rewrite=rewrite)


def check_quotes(entry: Entry) -> Iterator[Diagnostic]:
    """Yield GG142 for a value in quotes, which a properties file does not need."""
    text = trim(entry.value)
    if len(text) > 1 and text[0] in "\"'" and text[-1] == text[0] and text.count(text[0]) == 2:
        message = f"the quotes are a part of the value of `{entry.key}`"
        yield Diagnostic("GG142", message, entry.value_span, "remove them, unless they are meant")


def lost_blanks(entry: Entry, kind: ValueType[Any], default: Any = "") -> Diagnostic | None:
    """Return GG114 if blanks at the ends of the value were meant to be part of the text."""
    value, text = entry.value, trim(entry.value)
    if not isinstance(kind, Text) or unwrap_cdata(text) != text:
        return None
    if not value and default and isinstance(kind, Delimiter) and entry.separator[:1] in ("=", ":"):
        # The blanks after `=` are never part of the value.
        value = entry.separator[1:]
    if value == text:
        return None
    if not isinstance(kind, (Delimiter, Representation)):
        characters = _CHARACTER.findall(entry.raw)
        lead, trail = len(value) - len(value.lstrip(JAVA_BLANKS)), len(value) - len(value.rstrip(JAVA_BLANKS))
        if not any(character[0] == "\\" for character in characters[:lead] + characters[len(characters) - trail :]):
            return None
    help = f"{_wrap(entry, value)} to keep them, or remove them"
    return Diagnostic("GG114", f"the blanks at the ends of `{entry.key}` are trimmed away", entry.value_span, help)


def odd_delimiter(entry: Entry, kind: ValueType[Any], text: str, escapes: bool = True) -> Diagnostic | None:
    """Return GG117 if a delimiter is the name of a character, or has more characters than readers know.

    `escapes`: the format escapes delimiters in values, so that only single characters are legal.
    """
    if not isinstance(kind, Delimiter) or len(text) < 2 or (kind.line and text == "\r\n"):
        return None
    meant = _named(text)
    if meant is not None:
        message = f"`{entry.key}` is the {len(text)} characters `{visible(text)}`"
        help = f"write `{escape_value(Text().render(meant))}` for the character that is meant"
    elif kind.single and escapes:
        message, help = f"`{entry.key}` has {len(text)} characters", "give one character"
    else:
        return None
    return Diagnostic("GG117", message, entry.value_span, help)


def _named(text: str) -> str | None:
    match = _NAMED.fullmatch(text)
    if match is None:
        return None
    if match["letters"]:
        return "".join(_LETTERS[letter] for letter in match["letters"].lower()[1::2])
    if match["control"]:
        return chr(ord(match["control"].upper()) - 64)
    digits = match["java"] or match["hex"]
    code = int(digits, 16) if digits else int(match["octal"], 8)
    return None if 0xD800 <= code < 0xE000 else chr(code)


def _wrap(entry: Entry, text: str) -> str:
    if entry.secret or len(text) > 40:
        return "wrap it in `CDATA[...]`"
    return f"write `{escape_value(f'CDATA[{text}]')}`"
