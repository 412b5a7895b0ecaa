"""The tokens of a parameter file: without comments, with continued lines joined, and with macros and variables applied.

The work is bounded: a file has at most `MAX_BYTES`, and all files and macros make at most `MAX_TOKENS`.
"""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

from ggfmt.dataclasses import replace
from ggfmt.diagnostics.diagnostic import Diagnostic, Rewrite, Span, names_secret, suggestion
from ggfmt.java.text import visible
from ggfmt.lazy import lazy_regex
from ggfmt.replicat.table import Section, entries

MAX_BYTES = 1 << 20
MAX_TOKENS = 250_000
MAX_FINDINGS = 200  # in a file, which is read no further
_MAX_SHOWN = 500  # characters of a line
_MAX_DEPTH = 30  # macros that call macros, and parentheses in their arguments

_PAGE = "see the page `replicat`"
_CHARSET = lazy_regex(rb"\s*CHARSET[ \t]+([\w.:-]+)", re.IGNORECASE)
_MARKS = {codecs.BOM_UTF8: "UTF-8", codecs.BOM_UTF16_LE: "UTF-16-LE", codecs.BOM_UTF16_BE: "UTF-16-BE"}
_LINE_END = lazy_regex("\r\n|[\r\n]")
_BINARY = lazy_regex("[\0-\b\x0e-\x19\x1b-\x1f\x7f]")
_HASHES = lazy_regex(r"[#!/;%*]+(?!\w)|//|rem\b", re.IGNORECASE)


class ParameterText(NamedTuple):
    """The text of a parameter file, whose bytes are those of `mark` and of the text in `encoding`.

    charset      that of the first line, or of the byte order mark; UTF-8 without them. If bytes have no meaning in it,
                 `encoding` is ISO-8859-1, because comments may have any bytes
    has_charset  Python has the charset
    """

    text: str
    encoding: str
    mark: bytes
    charset: str
    has_charset: bool = True


def decode(content: bytes) -> ParameterText:
    mark = next(filter(content.startswith, _MARKS), b"")
    content, named, has_charset = content[len(mark) :], _CHARSET.match(content), True
    charset = named[1].decode() if named else _MARKS.get(mark, "UTF-8")
    try:
        if named is None or named[0].decode(charset) == named[0].decode():  # else not a charset of this line
            return ParameterText(content.decode(charset), charset, mark, charset)
    except LookupError:
        has_charset = False
    except UnicodeError:
        pass
    return ParameterText(content.decode("iso-8859-1"), "iso-8859-1", mark, charset.upper(), has_charset)


class LexemeKind(Enum):
    WORD = "word"
    TEXT = "text"  # '…'
    QUOTED = "quoted"  # "…"
    MACRO = "macro"
    SYMBOL = "symbol"
    LINE_END = ""  # before a line that begins with a macro, which the INCLUDE before it may define


class SourceLine(NamedTuple):
    """`source`: the text for people; None if it is too long, or may contain a password."""

    file: str
    number: int
    text: str
    source: str | None


class Lexeme(NamedTuple):
    """`first`: it begins a line that continues no other one. `glued`: no blank is before it."""

    kind: LexemeKind
    text: str
    line: SourceLine
    start: int
    end: int
    first: bool
    glued: bool

    @property
    def upper(self) -> str:
        """Return a symbol, or a word in upper case; empty for another token."""
        return self.text.upper() if self.kind in (LexemeKind.WORD, LexemeKind.SYMBOL) else ""

    @property
    def span(self) -> Span:
        return self.span_to(self)

    def span_to(self, last: Lexeme) -> Span:
        """Return the place from this token to another one, in the line of this one."""
        end = last.end if last.line is self.line and last.end > self.start else self.end
        return Span(self.line.file, self.line.number, self.start + 1, max(1, end - self.start), self.line.source)


class Cursor:
    """Tokens, one after the other, and the next one before it is taken."""

    def __init__(self, tokens: Iterable[Lexeme], last: Lexeme | None = None) -> None:
        self._tokens, self.last = iter(tokens), last
        self._ahead: list[Lexeme] = []

    @property
    def span(self) -> Span:
        """The place of the next token, or else of the last one."""
        token = self.peek() or self.last
        return Span() if token is None else token.span

    def peek(self) -> Lexeme | None:
        self._ahead = self._ahead or [*islice(self._tokens, 1)]
        return self._ahead[0] if self._ahead else None

    def take(self) -> Lexeme | None:
        if (token := self.peek()) is not None:
            self.last = self._ahead.pop()
        return token

    def at(self, *texts: str) -> bool:
        """Return whether the next token is one of these symbols, or of these words in upper case."""
        token = self.peek()
        return token is not None and token.upper in texts

    def take_while(self, goes_on: Callable[[Lexeme, int], bool]) -> Iterator[tuple[Lexeme, int]]:
        """Take tokens while a condition holds for the next one and the number of open parentheses. Yield each with the
        number after it."""
        depth = 0
        while (token := self.peek()) is not None and goes_on(token, depth):
            depth += (token.upper == "(") - (token.upper == ")")
            self.take()
            yield token, depth

    def skip_line(self) -> None:
        while (token := self.peek()) is not None and not token.first:
            self.take()

    def take_one(self, *texts: str) -> bool:
        return self.at(*texts) and self.take() is not None


class Macro(NamedTuple):
    parameters: Sequence[str]
    body: Sequence[Lexeme]


class ParameterError(Exception):
    """A statement or a macro that cannot be read."""

    def __init__(self, message: str, span: Span, help: str | None = None, code: str = "GG151") -> None:
        super().__init__(message)
        self.finding = Diagnostic(code, message, span, help)


@lru_cache(maxsize=8)
def _pattern(macro_char: str) -> re.Pattern[str]:
    return re.compile(
        rf"(?P<blank>\s+)|(?P<comment>(?<![\w.-])--.*)|(?P<macro>(?<![\w.]){re.escape(macro_char)}\w[\w-]*)"
        r"|'(?P<text>(?:[^']|'')*)'|\"(?P<quoted>[^\"]*)\"|(?P<variable>(?<![\w.*?\"])\?\w+)"
        r"|(?P<word>@?[\w$#]+)|(?P<symbol><>|<=|>=|.)",
        re.DOTALL,
    )


class Tokenizer:
    """Reads the tokens of files, which share macros and variables. Findings are added to `findings`."""

    def __init__(self, findings: list[Diagnostic]) -> None:
        self.findings = findings
        self.macros: dict[str, Macro] = {}
        self.variables: dict[str, str] = {}
        self.macro_char = "#"
        self._count = 0

    def tokens(self, content: bytes, file: str) -> Cursor:
        """Return the tokens of a file, with macros applied; none if it is no text."""
        decoded, start, known = decode(content), Span(file, 1, 1), len(self.findings)
        if len(content) > MAX_BYTES:
            self.report(f"the file has more than {MAX_BYTES:,} bytes", start, "give a parameter file")
        elif not decoded.has_charset:
            self.report(f"`{decoded.charset}` is not a charset that ggfmt has", start, "write the file in UTF-8")
        elif _BINARY.search(decoded.text):
            self.report("the file is not text", start, "give the parameter file of a Replicat")
        lines = self._lines(decoded, file) if len(self.findings) == known else ()
        return Cursor(self._applied(Cursor(lines)))

    def report(self, message: str, span: Span, help: str | None = None, code: str = "GG151", **more: Any) -> None:
        self.findings.append(Diagnostic(code, message, span, help, **more))

    def _lines(self, decoded: ParameterText, file: str) -> Iterator[Lexeme]:
        continued, wrong_bytes = False, decoded.encoding != decoded.charset
        for number, content in enumerate(_LINE_END.split(decoded.text.replace("\x1a", " ")), 1):
            shown = len(content) <= _MAX_SHOWN and not names_secret(content)
            line = SourceLine(file, number, content, content if shown else None)
            tokens = list(self._tokens_of(line, not continued))
            if self._count > MAX_TOKENS:
                return
            unknown = next((token for token in tokens if wrong_bytes and not token.text.isascii()), None)
            if tokens and tokens[0].first:
                if tokens[0].upper == "COMMENT":
                    if len(tokens) > 1 and tokens[1].upper in ("=", ",", ")"):
                        message = "a line that begins with COMMENT is a comment, not a column"
                        self.report(message, tokens[0].span, "put the column after the one before it")
                    continue
                self._set(tokens)
            if unknown is not None:
                help = "name the charset in the first line, such as `CHARSET ISO-8859-1`, or write the file in it"
                self.report(f"the text has bytes that are not {decoded.charset}", unknown.span, help)
            if not tokens:
                continue  # a comment between continued lines
            continued = tokens[-1].upper == "&"
            yield from tokens[:-1] if continued else tokens

    def _tokens_of(self, line: SourceLine, first: bool) -> Iterator[Lexeme]:
        """Yield the tokens of a line. `first`: it continues no other one."""
        glued = False
        for found in _pattern(self.macro_char).finditer(line.text):
            group = found.lastgroup or ""
            if group in ("blank", "comment"):
                glued = False
                continue
            text = found[group].replace("''", "'") if group == "text" else found[group]
            of_variable = group == "variable"
            parts = self._variable(line, text, *found.span()) if of_variable else [(group, text, *found.span())]
            for kind, part, start, end in parts:
                yield Lexeme(LexemeKind(kind), part, line, start, end, first, glued)
                glued, first = True, False
            glued, first = True, False
            self._count += 1
            if self._count > MAX_TOKENS:
                self.report(f"the file makes more than {MAX_TOKENS:,} words", Span(line.file, line.number), "divide it")
                return

    def _variable(self, line: SourceLine, text: str, start: int, end: int) -> list[tuple[str, str, int, int]]:
        """Return the tokens of a variable's value. A name that is not set stays, as a wildcard."""
        value = self.variables.get(text[1:], os.environ.get(text[1:]))
        if value is None:
            message = f"`{text}` is set neither by SETENV nor in the environment"
            span = Span(line.file, line.number, start + 1, end - start, line.source)
            self.report(message, span, "set the variable; as a wildcard, write `*`", "GG155")
            return [("symbol", "?", start, start + 1), ("word", text[1:], start + 1, end)]
        found = ((match, match.lastgroup or "") for match in _pattern(self.macro_char).finditer(value))
        others = ("blank", "comment", "variable")
        return [(group, match[group], start, end) for match, group in found if group not in others]

    def _set(self, tokens: list[Lexeme]) -> None:
        """Apply a parameter that changes how the next lines are read."""
        name = tokens[0].upper
        if name == "MACROCHAR" and len(tokens) > 1:
            self.macro_char = tokens[1].text[:1]
        elif name == "SETENV":
            parts = [token for token in tokens[1:] if token.upper not in ("(", ")")]
            if len(parts) > 2 and parts[1].upper == "=":
                self.variables[parts[0].text] = "".join(token.text for token in parts[2:])

    # Macros

    def _applied(self, cursor: Cursor) -> Iterator[Lexeme]:
        """Yield the tokens with calls of macros replaced; definitions are kept in `macros`."""
        while len(self.findings) < MAX_FINDINGS and (token := cursor.take()) is not None:
            if token.first and token.upper == "MACRO":
                self._define(token, cursor)
            elif token.kind is LexemeKind.MACRO:
                if token.first:
                    yield token._replace(kind=LexemeKind.LINE_END)
                yield from self._call(token, cursor)
            elif token.first and token.text.startswith(self.macro_char):
                self._report_mark(token)
                cursor.skip_line()
            else:
                yield token

    def _report_mark(self, token: Lexeme) -> None:
        """Report a text that was meant to be a comment."""
        marks = _HASHES.match(token.line.text, token.start)
        end = marks.end() if marks else token.end
        span = token._replace(end=end).span
        mark = token.line.text[token.start : min(end, token.start + 10)]
        self.report(f"`{visible(mark)}` does not begin a comment", span, "begin comments with `--`", fix="--")

    def _define(self, start: Lexeme, cursor: Cursor) -> None:
        name = cursor.take()
        if name is None or name.kind is not LexemeKind.MACRO:
            return self.report("MACRO has no name", (name or start).span, f"write `MACRO {self.macro_char}name`")
        parameters, body = list[str](), list[Lexeme]()
        if cursor.take_one("PARAMS", "PARAM"):
            cursor.take_one("(")
            while (token := cursor.peek()) is not None and token.kind is LexemeKind.MACRO:
                parameters.append(token.text.upper())
                cursor.take()
                cursor.take_one(",")
            cursor.take_one(")")
        if not cursor.take_one("BEGIN"):
            return self.report(f"`{name.text}` has no BEGIN", name.span, "write BEGIN before the macro's text")
        while (token := cursor.take()) is not None:
            if token.upper == "END" and cursor.take_one(";"):
                self.macros[name.text.upper()] = Macro(parameters, body)
                return None
            body.append(token)
        return self.report(f"`{name.text}` does not end", name.span, "write `END;` after the macro's text")

    def _call(self, token: Lexeme, cursor: Cursor) -> Iterator[Lexeme]:
        macro, called = self.macros.get(token.text.upper()), cursor.at("(")
        if macro is None:
            if called:
                self._arguments(cursor)
            help = "begin comments with `--`" if token.first else "put a name that begins so in double quotes"
            rewrite = Rewrite(token.line.number, (token.line.text,), (f"-- {token.line.text.lstrip('# ')}",))
            is_comment, near = token.first and not called, suggestion(token.text.upper(), self.macros)
            finding = Diagnostic("GG151", f"`{token.text}` is not a macro", token.span, near or help)
            self.findings.append(replace(finding, rewrite=rewrite) if is_comment else finding)
            if is_comment:
                cursor.skip_line()
            return
        if not called:
            fix = None if macro.parameters else f"{token.text} ()"
            self.report(
                f"`{token.text}` is called without parentheses", token.span, f"write `{token.text} ()`", fix=fix
            )
        try:
            yield from self._expand(token, cursor, ())
        except ParameterError as error:
            self.findings.append(replace(error.finding, span=token.span))  # the call in the file, not in a macro

    def _arguments(self, cursor: Cursor) -> list[list[Lexeme]] | None:
        """Take `(…)`, and return the tokens of each argument; None if it is not closed."""
        arguments: list[list[Lexeme]] = [[]]
        cursor.take()
        for token, depth in cursor.take_while(lambda *_: True):
            if depth < 0:
                return [] if arguments == [[]] else arguments
            if not depth and token.upper == ",":
                arguments.append([])
            else:
                arguments[-1].append(token._replace(first=False))
        return None

    def _expand(self, call: Lexeme, cursor: Cursor, active: tuple[str, ...]) -> list[Lexeme]:
        """Take the arguments of a call, and return its text. `active`: the macros in whose texts the call is."""
        name, macro = call.text.upper(), self.macros.get(call.text.upper())
        arguments = self._arguments(cursor) if cursor.at("(") else []
        if macro is None:
            raise ParameterError(f"`{call.text}` is not a macro", call.span, _PAGE)
        if arguments is None:
            raise ParameterError(f"`{call.text} (` is not closed", call.span, "add `)`")
        if name in active or len(active) > _MAX_DEPTH:
            problem = f"`{call.text}` calls itself" if name in active else "macros call each other too deeply"
            raise ParameterError(problem, call.span, _PAGE)
        if len(arguments) != (needed := len(macro.parameters)):
            problem = f"`{call.text}` has {len(arguments)} values, and {needed} parameters"
            raise ParameterError(problem, call.span, _PAGE)
        expanded = [self._expand_all(argument, (*active, "")) for argument in arguments]
        values = dict(zip(macro.parameters, expanded, strict=True))
        text: list[Lexeme] = []
        for token in macro.body:
            value = values.get(token.text.upper()) if token.kind is LexemeKind.MACRO else None
            text += [token] if value is None else [part._replace(first=False) for part in value]
        result = self._expand_all(text, (*active, name))
        self._count += len(result) + 10  # a call without a text is work, too
        if self._count > MAX_TOKENS:
            raise ParameterError(f"macros make more than {MAX_TOKENS:,} words of the file", call.span, _PAGE)
        if result:
            result[0] = result[0]._replace(first=call.first, glued=call.glued)
        return result

    def _expand_all(self, tokens: Iterable[Lexeme], active: tuple[str, ...]) -> list[Lexeme]:
        cursor, result = Cursor(tokens), list[Lexeme]()
        while (token := cursor.take()) is not None:
            result += self._expand(token, cursor, active) if token.kind is LexemeKind.MACRO else [token]
        return result


def begins_parameter(token: Lexeme) -> bool:
    """Return whether a line that begins with this token is one of a parameter, and not of an option of MAP."""
    return token.first and token.upper in entries(Section.PARAMETER) and token.upper not in entries(Section.OPTION)
