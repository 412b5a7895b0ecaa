"""Java properties files, and `--set` settings, as entries with their places.

Lines and columns are kept, and reading goes on after a malformed line. Java reads ISO-8859-1: keys and values of a file
in UTF-8 are what Java makes of its bytes, lines and columns what an editor shows.
"""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ggfmt.config.foreign_files import find_nearby
from ggfmt.diagnostics.diagnostic import (
    MASK,
    Diagnostic,
    Rewrite,
    Span,
    names_secret,
    secret_start,
    without_credentials,
)
from ggfmt.java.text import JAVA_BLANKS

# Sources of entries that are not files.
SETTINGS = "--set"
CHOSEN = "--to"
ARGUMENTS = (SETTINGS, CHOSEN)

_BLANKS = " \t\f"
_KEY = re.compile(r"(?:\\.|[^\\=: \t\f])*", re.DOTALL)
_SEPARATOR = re.compile(r"[ \t\f]*[=:]?[ \t\f]*")
_ESCAPE = re.compile(r"\\(?:u[0-9A-Fa-f]{4}|(u[0-9A-Fa-f]{0,3})|.)", re.DOTALL)

_LETTERS = {"t": "\t", "n": "\n", "f": "\f", "r": "\r"}
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")

_COMMENT = re.compile(r"[ \t\f]*[#!]")
_CONTINUED = re.compile(r"(?<!\\)(?:\\\\)*\\$")

_HANDLER_PREFIX = re.compile(r"gg\.handler\.[^.]*\.")


@dataclass(frozen=True)
class Entry:
    """One property: its key and value without escapes, and its place.

    Line and columns count from 1, in the natural line in which the entry starts, which is `source`. If the value starts
    in a later line, `value_column` is the column of the backslash. The value of a `secret` (a password and the like) is
    masked in `source` and left out of the representation. `separator` and `raw`: the text after the key in the file;
    `raw` is the value with its escapes. `continued`: the natural lines after the first. `misread`: Java reads UTF-8 in
    it as others.
    """

    key: str
    value: str = field(repr=False)
    file: str
    line: int
    column: int
    value_column: int
    source: str
    key_length: int
    value_length: int
    separator: str
    raw: str = field(repr=False)
    continued: tuple[str, ...] = field(repr=False)
    secret: bool
    misread: bool = False

    @property
    def is_plain(self) -> bool:
        start = self.column - 1
        return self.source[start : start + self.key_length] == self.key

    @property
    def key_span(self) -> Span:
        return Span(self.file, self.line, self.column, max(self.key_length, 1), self.source)

    @property
    def value_span(self) -> Span:
        return Span(self.file, self.line, self.value_column, max(self.value_length, 1), self.source)

    def span_of(self, part: str, otherwise: Span, start: int = 0) -> Span:
        """Return the place of a text in the first line, from an index on; `otherwise` if it is not there."""
        at = self.source.find(part, start)
        return otherwise if at < 0 else Span(self.file, self.line, at + 1, len(part), self.source)


class Comment(NamedTuple):
    """A comment. `below`: the natural lines of the property below it, if there are only comments between."""

    line: int
    column: int
    text: str
    below: range


class ParsedProperties(NamedTuple):
    """The entries, an error for each place that could not be read, and the comments.

    `missing`: the file cannot be read. `marked`: it starts with a byte order mark, which Java takes for text.
    """

    entries: tuple[Entry, ...]
    diagnostics: tuple[Diagnostic, ...]
    comments: tuple[Comment, ...] = ()
    missing: bool = False
    marked: bool = False


class DecodedText(NamedTuple):
    text: str
    encoding: str
    mark: bytes


def read_properties(path: str) -> ParsedProperties:
    """Return the entries of a file; GG100 if it cannot be read, GG108 for every malformed escape."""
    try:
        with open(path, "rb") as stream:
            content = stream.read()
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        finding = Diagnostic("GG100", f"the file cannot be read: {reason}", path, find_nearby(path))
        return ParsedProperties((), (finding,), missing=True)
    return parse_content(content, path)


def parse_content(content: bytes, file: str) -> ParsedProperties:
    """Return the entries of the bytes of a file; GG100 for UTF-16, GG108 for every malformed escape."""
    if is_utf_16(content):
        return ParsedProperties((), (Diagnostic("GG100", "the file is UTF-16", file, "save it as UTF-8"),))
    decoded = decode(content)
    parsed = parse_properties(decoded.text, file, as_java=decoded.encoding == "utf-8")
    return parsed._replace(marked=bool(decoded.mark))


def is_utf_16(content: bytes) -> bool:
    return content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))


def decode(content: bytes) -> DecodedText:
    """Return the text of a file without its byte order mark: UTF-8, or else ISO-8859-1, which decodes any bytes."""
    mark = codecs.BOM_UTF8 if content.startswith(codecs.BOM_UTF8) else b""
    content = content[len(mark) :]
    try:
        return DecodedText(content.decode("utf-8"), "utf-8", mark)
    except UnicodeDecodeError:
        return DecodedText(content.decode("iso-8859-1"), "iso-8859-1", mark)


def entries_from_settings(settings: Sequence[str], source: str = SETTINGS) -> ParsedProperties:
    """Return the entries of `--set KEY=VALUE` settings, the n-th as line n of `source`; GG108 for others.

    A line break in a setting is part of its value.
    """
    entries: list[Entry] = []
    diagnostics: list[Diagnostic] = []
    for number, setting in enumerate(settings, 1):
        line = setting.replace("\r", "\\r").replace("\n", "\\n")
        found, malformed, *_ = parse_properties(line, source, number)
        diagnostics.extend(malformed)
        key = found[0] if found else None
        if key is not None and key.key and key.value_column > key.column + key.key_length:
            entries.extend(found)
        elif not malformed:
            span = Span(source, number, 1, max(len(line), 1), _masked(line, None))
            diagnostics.append(Diagnostic("GG108", "a setting is not `KEY=VALUE`", span, "give a key, `=` and a value"))
    return ParsedProperties(tuple(entries), tuple(diagnostics))


def line_of(key: str, value: str) -> str:
    import javaproperties

    return javaproperties.join_key_value(key, value)


def parse_properties(text: str, file: str, first_line: int = 1, as_java: bool = False) -> ParsedProperties:
    """Return the entries of a text; GG108 for malformed escapes. `as_java`: a file in UTF-8, read as ISO-8859-1."""
    entries: list[Entry] = []
    diagnostics: list[Diagnostic] = []
    comments: list[Comment] = []
    waiting: list[_LogicalLine] = []  # comments, up to the next line that is none
    for logical in _logical_lines(text, first_line):
        if logical.is_comment:
            waiting.append(logical)
            continue
        comments += [line.comment(logical.numbers if logical.text else range(0)) for line in waiting]
        waiting = []
        try:
            if logical.text:
                entries.append(_entry(logical, file, as_java))
        except ValueError:
            malformed = list(_bad_escapes(logical, file))
            if not malformed:
                raise
            diagnostics += malformed
    comments += [line.comment(range(0)) for line in waiting]
    return ParsedProperties(tuple(entries), tuple(diagnostics), tuple(comments))


def _logical_lines(text: str, number: int) -> Iterator[_LogicalLine]:
    """Yield the lines of a text, each with those that continue it. `number`: that of the first one."""
    natural: list[str] = []
    for line in io.StringIO(text, newline=""):
        natural.append(line.rstrip("\r\n"))
        if _COMMENT.match(natural[0]) or not _CONTINUED.search(natural[-1]):
            yield _LogicalLine(number, natural)
            number, natural = number + len(natural), []
    if natural:
        yield _LogicalLine(number, natural)


class _LogicalLine:
    def __init__(self, number: int, natural: Sequence[str]) -> None:
        self.number, self.natural = number, natural
        self.is_comment = _COMMENT.match(natural[0]) is not None
        self._starts: list[tuple[int, int, int]] = []
        text = ""
        for index, line in enumerate(self.natural):
            content = line.lstrip(_BLANKS)
            self._starts.append((len(text), index, len(line) - len(content)))
            text += content
            if _CONTINUED.search(line):
                text = text[:-1]
        self.text = text

    def comment(self, below: range) -> Comment:
        text = self.natural[0].lstrip(_BLANKS)
        return Comment(self.number, len(self.natural[0]) - len(text) + 1, text, below)

    @property
    def numbers(self) -> range:
        return range(self.number, self.number + len(self.natural))

    def place(self, offset: int) -> tuple[int, int]:
        """Return the index of the natural line, and the column from 0, of a character of `text` (or of its end)."""
        start, index, column = max(item for item in self._starts if item[0] <= offset)
        return index, column + offset - start

    def separator(self) -> tuple[int, int]:
        key_end = _end(_KEY, self.text, 0)
        return key_end, _end(_SEPARATOR, self.text, key_end)

    def first_line_column(self, offset: int) -> int:
        """Return the column from 0 of a character in the first natural line, or of its continuation mark."""
        index, column = self.place(offset)
        return column if index == 0 else max(len(self.natural[0]) - 1, 0)


def _end(pattern: re.Pattern[str], text: str, start: int) -> int:
    match = pattern.match(text, start)
    return start if match is None else match.end()


def _entry(logical: _LogicalLine, file: str, as_java: bool) -> Entry:
    """Return the property of a line. Raises: ValueError for a malformed escape."""
    unescape = _unescape if "\\" in logical.text else str
    key_end, value_start = logical.separator()
    first = logical.natural[0]
    column = logical.first_line_column(0)
    value_column = logical.first_line_column(value_start)
    key, given = raw = logical.text[:key_end], logical.text[value_start:]
    secret = _is_secret(unescape(key), unescape(given))
    value = first[value_column : len(first) - (len(logical.natural) > 1)].rstrip(JAVA_BLANKS)
    misread = as_java and not logical.text.isascii()
    if misread:
        key, given = (text.encode("utf-8").decode("iso-8859-1") for text in raw)
    return Entry(
        key=unescape(key),
        value=unescape(given),
        file=file,
        line=logical.number,
        column=column + 1,
        value_column=value_column + 1,
        source=_masked(first, value_column) if secret else first,
        key_length=logical.first_line_column(key_end) - column,
        value_length=len(MASK if secret else value),
        separator=logical.text[key_end:value_start],
        raw=raw[1],
        continued=tuple(logical.natural[1:]),
        secret=secret,
        misread=misread,
    )


def _unescape(text: str) -> str:
    """Return the text that Java reads. Raises: ValueError for a malformed escape.

    `javaproperties.unescape` returns the same, but importing that package takes a tenth of the time of a check.
    """

    def character(match: re.Match[str]) -> str:
        if match[1] is not None:
            raise ValueError
        escape = match[0][1:]
        return chr(int(escape[1:], 16)) if len(escape) > 1 else _LETTERS.get(escape, escape)

    text = _ESCAPE.sub(character, text)
    return _PAIR.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)


def _bad_escapes(logical: _LogicalLine, file: str) -> Iterator[Diagnostic]:
    key_end, value_start = logical.separator()
    secret = _is_secret(logical.text[:key_end], logical.text[value_start:])
    for match in _ESCAPE.finditer(logical.text):
        if match[1] is None:
            continue
        index, column = logical.place(match.start())
        source, length = logical.natural[index], len(match[0])
        if secret:
            index, column = 0, logical.first_line_column(min(match.start(), value_start))
            source = _masked(logical.natural[0], logical.first_line_column(value_start))
            length = len(MASK) if match.start() >= value_start else length
        yield Diagnostic(
            "GG108",
            "`\\u` is not followed by four hexadecimal digits",
            Span(file, logical.number + index, column + 1, length, source),
            "write `\\\\` for a backslash",
            f"\\{match[0]}" if match[1] == "u" and not secret else None,
        )


def _is_secret(key: str, value: str) -> bool:
    name = _HANDLER_PREFIX.sub("", key, count=1)
    return names_secret(name) or without_credentials(value) != value


def _masked(line: str, value_column: int | None) -> str:
    """Return the line with its value masked; without a column, all after the word that names a secret."""
    if value_column is None:
        start = secret_start(line)
        return line if start is None else line[:start] + MASK
    return line[:value_column] + MASK


# Rewrites of lines of a handler file, for `--unsafe-fixes`. A line that continues in the next, or that shows a masked
# secret, has none.

_LINE_BLANKS = " \t\f"
_PLAIN_KEY = re.compile(r"[\w.-]+")


def removal(entry: Entry) -> Rewrite | None:
    return None if entry.secret else Rewrite(entry.line, (entry.source, *entry.continued), ())


def renamed_key(entry: Entry, key: str) -> Rewrite | None:
    if not entry.is_plain or not _PLAIN_KEY.fullmatch(key):
        return None
    start = entry.column - 1
    return _line(entry, entry.source[:start] + key + entry.source[start + entry.key_length :])


def revalued(entry: Entry, value: str) -> Rewrite | None:
    return _line(entry, entry.source[: entry.value_column - 1] + value)


def comment_above(entry: Entry, at: int) -> Rewrite | None:
    """Move the comment, from an index of the line on, to a line above."""
    comment = entry.source[at:].lstrip("#/-;" + _LINE_BLANKS).rstrip(_BLANKS)
    rest = entry.source[:at].rstrip(_LINE_BLANKS)
    if rest.endswith("\\"):  # it escapes a blank, and would join the next line
        return None
    return _line(entry, f"{rest[: entry.column - 1]}# {comment}", rest)


def comment_only(entry: Entry, mark: str) -> Rewrite | None:
    """Make the line a comment, without the mark that does not start one."""
    start = entry.column - 1
    return _line(entry, f"{entry.source[:start]}# {entry.source[start + len(mark) :].lstrip(_LINE_BLANKS)}")


def _line(entry: Entry, *lines: str) -> Rewrite | None:
    if entry.secret or entry.continued:
        return None
    return Rewrite(entry.line, (entry.source,), lines)
