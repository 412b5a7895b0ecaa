"""The names and expressions of a parameter file, as trees: what they mean is for those who evaluate them.

No page of Oracle's manual gives a precedence of operators. The trees have the precedence of other languages,
and say which operations have parentheses.
"""

from __future__ import annotations

from ggfmt.dataclasses import replace
from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.java.text import visible
from ggfmt.replicat.statements import (
    Call,
    ColumnReference,
    Expression,
    NumberLiteral,
    ObjectName,
    Operation,
    TextLiteral,
    Word,
    WrittenName,
)
from ggfmt.replicat.table import Section, TableEntry, entries
from ggfmt.replicat.tokens import Cursor, Lexeme, LexemeKind

_LEVELS = (("OR",), ("AND",), ("=", "<>", "<", "<=", ">", ">="), ("+", "-"), ("*", "/", "\\"))
_MAX_DEPTH = 60  # parentheses
_MAX_OPERATORS = 150  # each makes the tree deeper
_STATES = ("NULL", "PRESENT", "ABSENT")

# The words of functions that are not columns.
_WORDS = {
    "COLSTAT": ("NULL", "MISSING", "INVALID"),
    "COLTEST": ("PRESENT", "NULL", "MISSING", "INVALID", "NAN", "SNAN", "INF"),
    "STRNUM": ("LEFT", "LEFTSPACE", "RIGHT", "RIGHTZERO"),
}
_OF_TEXT = ("GETENV", "TOKEN")  # they have no columns: text in `"…"` is text, as on pages of the manual


class ParameterError(Exception):
    """A statement that cannot be read."""

    def __init__(self, code: str, message: str, span: Span, help: str | None = None) -> None:
        super().__init__(message)
        self.finding = Diagnostic(code, message, span, help)


class ExpressionParser:
    _operators = 0  # of the expression so far

    def report_function(self, token: Lexeme, known: TableEntry | None) -> None:
        """Report a function that is unknown, or that cannot be applied."""

    def object_name(self, start: Lexeme, cursor: Cursor) -> ObjectName:
        """Take the name of a table. `start`: the word before it."""
        parts: list[WrittenName] = []
        first = cursor.peek()
        text, quoted, empty = "", False, True
        while (token := cursor.peek()) is not None and (token is first or token.glued):
            if token.is_symbol(",", ";", "(", ")", "="):
                break
            cursor.take()
            if token.is_symbol("."):
                parts.append(WrittenName(text, quoted))
                text, quoted, empty = "", False, True
            else:
                text, quoted, empty = text + token.text, quoted or token.kind is LexemeKind.QUOTED, False
        span = start.span if first is None else first.span_to(cursor.last or first)
        if not empty or parts:
            parts.append(WrittenName(text, quoted))
        if not parts or not all(part.text for part in parts) or len(parts) > 3:
            problem = "has a name of more than three parts" if parts else "has no name"
            problem = problem if all(part.text for part in parts) else "has a name with an empty part"
            raise ParameterError("GG151", f"{start.upper} {problem}", span, "write `schema.table`")
        return ObjectName(tuple(parts), span)

    def column(self, cursor: Cursor) -> WrittenName:
        token = cursor.take()
        if token is None or token.kind not in (LexemeKind.WORD, LexemeKind.QUOTED) or token.text.startswith("@"):
            last = token or cursor.last
            span = Span() if last is None else last.span
            raise ParameterError("GG151", "the name of a column is missing", span, "name a column")
        text, quoted = token.text, token.kind is LexemeKind.QUOTED
        while cursor.at(".") and (dot := cursor.take()) is not None and dot.glued:
            following = cursor.take()
            text += f".{following.text if following else ''}"
        return WrittenName(text, quoted)

    def open_group(self, start: Lexeme, cursor: Cursor) -> None:
        if not cursor.take_symbol("("):
            raise ParameterError("GG151", f"{start.text.upper()} has no `(`", start.span, "add it")

    def close_group(self, start: Lexeme, cursor: Cursor) -> None:
        token = cursor.take()
        if token is None:
            raise ParameterError("GG151", f"the `(` of {start.text.upper()} is not closed", start.span, "add `)`")
        if not token.is_symbol(")"):
            raise _unexpected(token)

    def expression(self, cursor: Cursor, level: int = 0, depth: int = 0, words: tuple[str, ...] = ()) -> Expression:
        if level == len(_LEVELS):
            return self._operand(cursor, depth, words)
        if not level and not depth:
            self._operators = 0
        left = self.expression(cursor, level + 1, depth, words)
        while (token := cursor.peek()) is not None and (token.upper or token.text) in _LEVELS[level]:
            if token.kind not in (LexemeKind.SYMBOL, LexemeKind.WORD):
                break
            cursor.take()
            self._operators += 1
            if self._operators > _MAX_OPERATORS:
                message = f"an expression has more than {_MAX_OPERATORS} operators"
                raise ParameterError("GG151", message, token.span, "divide the expression")
            right = self.expression(cursor, level + 1, depth, words)
            left = Operation(token.upper or token.text, left, right, token.span)
        return left

    def _operand(self, cursor: Cursor, depth: int, words: tuple[str, ...]) -> Expression:
        token = cursor.peek()
        if token is None:
            span = Span() if cursor.last is None else cursor.last.span
            raise ParameterError("GG151", "the expression does not end", span, "complete it")
        if depth > _MAX_DEPTH:
            help = "divide the expression"
            raise ParameterError("GG151", f"more than {_MAX_DEPTH} parentheses are open", token.span, help)
        cursor.take()
        if token.is_symbol("("):
            inner = self.expression(cursor, 0, depth + 1)
            self.close_group(token, cursor)
            return replace(inner, enclosed=True) if isinstance(inner, Operation) else inner
        if token.is_symbol("-", "+"):
            value = self._operand(cursor, depth + 1, words)
            return value if token.text == "+" else Operation("-", None, value, token.span)
        if token.kind is LexemeKind.TEXT:
            return TextLiteral(token.text, token.span)
        if token.kind is LexemeKind.QUOTED:
            return ColumnReference(WrittenName(token.text, True), token.span)
        if token.kind is not LexemeKind.WORD and not (token.is_symbol(".") and _is_number(cursor.peek())):
            raise _unexpected(token)
        if token.text.startswith("@"):
            return self._call(token, cursor, depth)
        if _is_number(token) or token.is_symbol("."):
            return _number(token, cursor)
        if token.upper in words:
            return Word(token.upper, token.span)
        return self._column_value(token, cursor)

    def _column_value(self, token: Lexeme, cursor: Cursor) -> ColumnReference:
        following = cursor.peek()
        if token.upper in ("BEFORE", "AFTER") and following is not None:
            dot = following.is_symbol(".") and following.glued
            if dot or (following.kind in (LexemeKind.WORD, LexemeKind.QUOTED) and following.upper not in ("AND", "OR")):
                if dot:
                    cursor.take()
                name = self.column(cursor)
                return ColumnReference(name, token.span_to(cursor.last or token), token.upper)
        text = token.text
        while cursor.at(".") and (dot_token := cursor.take()) is not None:
            part = cursor.take()
            if part is None or part.kind not in (LexemeKind.WORD, LexemeKind.QUOTED):
                raise _unexpected(dot_token)
            text += f".{part.text}"
        return ColumnReference(WrittenName(text), token.span_to(cursor.last or token))

    def _call(self, token: Lexeme, cursor: Cursor, depth: int) -> Expression:
        name = token.text[1:].upper()
        known = entries(Section.FUNCTION).get(name)
        if not cursor.at("("):
            if name in _STATES:
                return Word(name, token.span)
            if known is not None:
                raise ParameterError("GG151", f"`@{name}` has no `(`", token.span, f"write `@{name} (…)`")
        self.report_function(token, known)
        self.open_group(token, cursor)
        arguments: list[Expression] = []
        words = _WORDS.get(name, ())
        while not cursor.at(")"):
            argument = self.expression(cursor, 0, depth + 1, words)
            if name in _OF_TEXT and isinstance(argument, ColumnReference) and argument.name.quoted:
                argument = TextLiteral(argument.name.text, argument.span)
            arguments.append(argument)
            if not cursor.take_symbol(","):
                break
        self.close_group(token, cursor)
        return Call(name, tuple(arguments), token.span_to(cursor.last or token))


def _is_number(token: Lexeme | None) -> bool:
    return token is not None and token.kind is LexemeKind.WORD and token.text.isdecimal()


def _number(token: Lexeme, cursor: Cursor) -> NumberLiteral:
    """Take what is glued to a number: its point and its decimals."""
    text = token.text
    following = cursor.peek()
    if not token.is_symbol(".") and following is not None and following.is_symbol(".") and following.glued:
        cursor.take()
        text, following = f"{text}.", cursor.peek()
    if text.endswith(".") and following is not None and following.glued and _is_number(following):
        cursor.take()
        text += following.text
    return NumberLiteral(text, token.span_to(cursor.last or token))


def _unexpected(token: Lexeme) -> ParameterError:
    if token.is_symbol("'", '"'):
        return ParameterError("GG151", "the text does not end in its line", token.span, "close the quotes")
    return ParameterError("GG151", f"`{visible(token.text)[:80]}` is not expected here", token.span)
