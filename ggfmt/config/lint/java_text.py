"""Characters that Java reads as others, or that only look like ASCII; and a byte order mark that hides a key."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ggfmt.config.comments import GOLDENGATE_KEY, before_comment, comment_at
from ggfmt.config.properties import SETTINGS, Entry
from ggfmt.config.property_table import EVENT_HANDLER_TYPES, FORMAT_OWNERS, HANDLER_TYPES, HANDLERS, OWN
from ggfmt.config.replacements import is_replacement
from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.java.text import visible
from ggfmt.lazy import lazy_regex
from ggfmt.options.value_types import Pairs, Path, TableKeys, Text, Unknown, ValueType

MARK = "GG143"  # the code of a byte order mark, which a fix removes

_MATTERS = lazy_regex(r"gg\.(?:handler|eventhandler|schemareplace|contentreplace|transform)|ggfmt\.", re.IGNORECASE)
_WIDE = lazy_regex(r"[^\x00-\x7f](?:.*[^\x00-\x7f])?")
_MAX_SHOWN = 20


def _range(first: int, last: int) -> str:
    return "".join(map(chr, range(first, last + 1)))


# What word processors, web pages and keyboards for Chinese and Japanese write in place of a character of ASCII. U+0091
# to U+0097 are those of windows-1252, in a file that is not UTF-8.
_ALIKE: dict[int, str] = {
    ord(character): ascii
    for characters, ascii in (
        ("\u00a0\u1680" + _range(0x2000, 0x200A) + "\u2028\u2029\u202f\u205f\u3000", " "),
        ("\u00ad\u180e" + _range(0x200B, 0x200F) + _range(0x202A, 0x202E) + _range(0x2060, 0x2069) + "\ufeff", ""),
        ("\x96\x97" + _range(0x2010, 0x2015) + "\u2212\ufe58\ufe63", "-"),
        ("\x91\x92" + _range(0x2018, 0x201B) + "\u2032\u2035", "'"),
        ("\x93\x94" + _range(0x201C, 0x201F) + "\u2033\u2036\u301d\u301e", '"'),
        *zip("\u3001\u3002\u3010\u3011\u2215\u2044\u2236\x85\u2026", (*",.[]//:", "...", "..."), strict=True),
        *zip(_range(0xFB00, 0xFB04), ("ff", "fi", "fl", "ffi", "ffl"), strict=True),
        *((chr(code + 0xFEE0), chr(code)) for code in range(0x21, 0x7F)),  # full width
    )
    for character in characters
}


def _class(*ascii: str) -> str:
    return f"[{re.escape(''.join(chr(code) for code, plain in _ALIKE.items() if plain in ascii or not ascii))}]"


_LOOK_ALIKES = lazy_regex(f"{_class()}(?:.*{_class()})?")
# A key up to the look-alike of a separator, behind which the value starts.
_KEY = lazy_regex(f"{_class(' ')}*(?:(?!{_class(' ', '=', ':')}).)+{_class(' ', '=', ':')}*")


def check_mark(entries: Iterable[Entry]) -> Iterator[Diagnostic]:
    """Yield GG143 if the first line of a file is a property. `entries`: those of files with a byte order mark."""
    for entry in entries:
        if entry.line == 1 and entry.column == 1 and entry.file != SETTINGS:
            message = f"the byte order mark of the file hides `{visible(entry.key)}` from GoldenGate"
            yield Diagnostic(MARK, message, entry.key_span, "save the file without it, or start it with a comment")


class TextPart(NamedTuple):
    """The key or a part of the value in a natural line, which is `source`."""

    is_key: bool
    line: int
    source: str
    start: int
    end: int

    def span(self, entry: Entry, start: int, end: int) -> Span:
        """Return the place of the characters of the line from `start` to `end`, from 0."""
        return Span(entry.file, self.line, start + 1, end - start, self.source)


def value_parts(entry: Entry, key: str) -> Iterator[TextPart]:
    """Yield the lines of the value without a comment; nothing of a secret."""
    if entry.secret:
        return
    start, end = entry.value_column - 1, len(entry.source)
    comment = None if entry.continued else comment_at(entry, entry.source[start:], key)
    yield TextPart(False, entry.line, entry.source, start, end if comment is None else start + comment)
    for number, line in enumerate(entry.continued, entry.line + 1):
        if not line.lstrip().startswith("#"):
            yield TextPart(False, number, line, 0, len(line))


def check_characters(entries: Iterable[Entry]) -> Iterator[Diagnostic]:
    """Yield GG147 for look-alikes of ASCII where GoldenGate knows ASCII alone; else GG144 for what Java misreads.

    In a file in UTF-8, Java reads each byte beyond ASCII as a character. Comments after values are not checked.
    """
    for entry in entries:
        if not entry.misread and entry.source.isascii() and all(map(str.isascii, entry.continued)):
            continue
        start, end = entry.column - 1, entry.column - 1 + entry.key_length
        match = _KEY.match(entry.source, start, end)
        part = TextPart(True, entry.line, entry.source, start, match.end() if match else end)
        key = part.source[part.start : part.end].translate(_ALIKE).strip(" =:")
        if not GOLDENGATE_KEY.match(key):
            continue
        parts = (part, *value_parts(entry, key))
        is_text = _is_text(key)
        alike = [
            _look_alike(entry, key, part, match)
            for part in parts
            if (part.is_key or is_text is False) and (match := _LOOK_ALIKES.search(*part[2:]))
        ]
        yield from alike
        if entry.misread and not alike and _MATTERS.match(key):
            for part in parts:
                match = _WIDE.search(*part[2:])
                if match is not None:
                    yield _misread(entry, part, match, bool(is_text) and not part.is_key)
            if entry.secret and not before_comment(entry).isascii():
                message = f"`{visible(entry.key)}` has characters that Java reads as others"
                yield Diagnostic("GG144", message, entry.value_span, "write them as `\\uXXXX`")


_WORDS = ("type", "mode", "format", "formatter", "eventhandler", "target.format")
_WORD_KEYS = ("gg.handlerlist", "gg.eventhandlerlist", "gg.target", "jvm.bootoptions", "javawriter.bootoptions")
_NAME = lazy_regex(r"(?:gg\.(?:event)?handler\.[^.]+\.(?:format(?:ter)?\.)?|ggfmt\.)(.+)", re.DOTALL | re.IGNORECASE)


def _is_text(key: str) -> bool | None:
    """Return whether the value of a key is any text or a path, not words or a template; None if that is not known."""
    match = _NAME.fullmatch(key)
    if match is None:
        return True if is_replacement(key) else False if key.lower() in _WORD_KEYS else None
    name = match[1]
    if name.lower() in _WORDS or name.lower().endswith("template"):
        return False
    kind = _kind(name)
    return None if kind is None or isinstance(kind, (Pairs, TableKeys)) else isinstance(kind, (Text, Path))


def _kind(name: str) -> ValueType[Any] | None:
    """Return the kind of values that a property has in any of its owners, if it is known."""
    owners = (OWN, *FORMAT_OWNERS.values(), HANDLERS, *HANDLER_TYPES.values(), *EVENT_HANDLER_TYPES.values())
    kinds = (spec.kind for owner in owners if (spec := owner.find(name)) is not None)
    return next((kind for kind in kinds if not isinstance(kind, Unknown)), None)


def _look_alike(entry: Entry, key: str, part: TextPart, match: re.Match[str]) -> Diagnostic:
    import unicodedata  # few files have such characters

    character, fix = match[0][0], match[0].translate(_ALIKE)
    plain = {" ": "a blank", "": "nothing"}.get(_ALIKE[ord(character)], f"`{_ALIKE[ord(character)]}`")
    name = unicodedata.name(character, "of windows-1252").lower()
    owner = f"the key `{visible(key)}`" if part.is_key else f"the value of `{visible(key)}`"
    message = f"{owner} has U+{ord(character):04X} ({name}) in place of {plain}"
    help = f"write `{visible(fix)}`" if fix.strip() else "write a blank" if fix else "remove it"
    return Diagnostic("GG147", message, part.span(entry, *match.span()), help, fix)


def _misread(entry: Entry, part: TextPart, match: re.Match[str], is_text: bool) -> Diagnostic:
    wide = match[0]
    read = wide.encode().decode("iso-8859-1")
    shown = f"`{wide[:_MAX_SHOWN]}` as the {len(read)} characters `{visible(read[:_MAX_SHOWN])}`"
    escaped = "".join(character if character.isascii() else _escape(character) for character in wide)
    where = "the key" if part.is_key else "the value of"
    message = f"Java reads {shown} in {where} `{visible(entry.key)}`"
    help = f"write `{escaped}`"
    if _LOOK_ALIKES.search(wide):
        is_text = False  # a quotation mark or a dash may be meant, or that of ASCII
        help = f"write `{visible(wide.translate(_ALIKE))}`, or {help.removeprefix('write ')} if it is meant"
    return Diagnostic("GG144", message, part.span(entry, *match.span()), help, escaped if is_text else None)


def _escape(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"\\u{int.from_bytes(units[at : at + 2], 'big'):04x}" for at in range(0, len(units), 2))


# Backslashes that Java drops: of `\N` it reads `N`, because only some characters make an escape with a backslash.
#
# Letters and digits after a backslash are mistakes everywhere. Other characters are mistakes only where the backslash
# has a meaning of its own: in regular expressions, and in paths of Windows, where even `\t` and `\n` are meant as
# text.

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
        parts = [TextPart(True, entry.line, entry.source, start, start + entry.key_length)]
        parts += value_parts(entry, entry.key)
        yield from (finding for part in parts if (finding := _lost(entry, part)) is not None)
        if entry.secret and any(_is_lost(match[1]) for match in _ESCAPE.finditer(entry.raw)):
            message = f"`{entry.key}` has a backslash that Java drops"
            yield Diagnostic("GG150", message, entry.value_span, "write `\\\\` for a backslash")


def _is_lost(character: str) -> bool:
    return character.isalnum() and character not in _ESCAPED


def _lost(entry: Entry, part: TextPart) -> Diagnostic | None:
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
