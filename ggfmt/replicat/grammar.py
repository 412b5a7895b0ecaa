"""The names and expressions of a parameter file, as trees: what they mean is for those who evaluate them.

No page of Oracle's manual gives a precedence of operators. The trees have the precedence of other languages,
and say which operations have parentheses.
"""

from __future__ import annotations

from ggfmt.dataclasses import replace
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
from ggfmt.replicat.tokens import Cursor, Lexeme, LexemeKind, ParameterError

_LEVELS = (("OR",), ("AND",), ("=", "<>", "<", "<=", ">", ">="), ("+", "-"), ("*", "/", "\\"))
_MAX_DEPTH = 60  # parentheses
_MAX_OPERATORS = 150  # each makes the tree deeper
_NAMES = (LexemeKind.WORD, LexemeKind.QUOTED)
_STATES = ("NULL", "PRESENT", "ABSENT")

# The words of functions that are not columns.
_WORDS = {
    "COLSTAT": ("NULL", "MISSING", "INVALID"),
    "COLTEST": ("PRESENT", "NULL", "MISSING", "INVALID", "NAN", "SNAN", "INF"),
    "STRNUM": ("LEFT", "LEFTSPACE", "RIGHT", "RIGHTZERO"),
}
_OF_TEXT = ("GETENV", "TOKEN")  # they have no columns: text in `"…"` is text, as on pages of the manual


class ExpressionParser:
    _operators = 0  # of the expression so far

    def report_function(self, token: Lexeme, known: TableEntry | None) -> None:
        """Report a function that is unknown, or that cannot be applied."""

    def object_name(self, start: Lexeme, cursor: Cursor) -> ObjectName:
        """Take the name of a table. `start`: the word before it."""
        first, parts = cursor.peek(), [WrittenName("")]
        while (token := cursor.peek()) is not None and (token is first or token.glued):
            if token.upper in (",", ";", "(", ")", "="):
                break
            cursor.take()
            if token.upper == ".":
                parts.append(WrittenName(""))
            else:
                quoted = parts[-1].quoted or token.kind is LexemeKind.QUOTED
                parts[-1] = WrittenName(parts[-1].text + token.text, quoted)
        span = start.span if first is None else first.span_to(cursor.last or first)
        is_empty = not all(part.text for part in parts)
        if is_empty or len(parts) > 3:
            problem = "no name" if len(parts) == 1 else "a name with an empty part"
            problem = problem if is_empty else "a name of more than three parts"
            raise ParameterError(f"{start.upper} has {problem}", span, "write `schema.table`")
        return ObjectName(tuple(parts), span)

    def column(self, cursor: Cursor) -> WrittenName:
        token = cursor.peek()
        if token is None or token.kind not in _NAMES or token.text.startswith("@"):
            raise ParameterError("the name of a column is missing", cursor.span, "name a column")
        cursor.take()
        return WrittenName(self._whole_name(token, cursor), token.kind is LexemeKind.QUOTED)

    def _whole_name(self, start: Lexeme, cursor: Cursor) -> str:
        """Take what follows the first part of a name after points."""
        text = start.text
        while cursor.at(".") and (dot := cursor.take()) is not None:
            part = cursor.take()
            if part is None or part.kind not in _NAMES:
                raise _unexpected(dot)
            text += f".{part.text}"
        return text

    def open_group(self, start: Lexeme, cursor: Cursor) -> None:
        if not cursor.take_one("("):
            raise ParameterError(f"{start.text.upper()} has no `(`", start.span, "add it")

    def close_group(self, start: Lexeme, cursor: Cursor) -> None:
        token = cursor.take()
        if token is None:
            raise ParameterError(f"the `(` of {start.text.upper()} is not closed", start.span, "add `)`")
        if token.upper != ")":
            raise _unexpected(token)

    def expression(self, cursor: Cursor, level: int = 0, depth: int = 0, words: tuple[str, ...] = ()) -> Expression:
        if level == len(_LEVELS):
            return self._operand(cursor, depth, words)
        if not level and not depth:
            self._operators = 0
        left = self.expression(cursor, level + 1, depth, words)
        while (token := cursor.peek()) is not None and token.upper in _LEVELS[level]:
            cursor.take()
            self._operators += 1
            if self._operators > _MAX_OPERATORS:
                message = f"an expression has more than {_MAX_OPERATORS} operators"
                raise ParameterError(message, token.span, "divide the expression")
            right = self.expression(cursor, level + 1, depth, words)
            left = Operation(token.upper, left, right, token.span)
        return left

    def _operand(self, cursor: Cursor, depth: int, words: tuple[str, ...]) -> Expression:
        token = cursor.peek()
        if token is None:
            raise ParameterError("the expression does not end", cursor.span, "complete it")
        if depth > _MAX_DEPTH:
            raise ParameterError(f"more than {_MAX_DEPTH} parentheses are open", token.span, "divide the expression")
        cursor.take()
        if token.upper == "(":
            inner = self.expression(cursor, 0, depth + 1)
            self.close_group(token, cursor)
            return replace(inner, enclosed=True) if isinstance(inner, Operation) else inner
        if token.upper in ("-", "+"):
            value = self._operand(cursor, depth + 1, words)
            return value if token.text == "+" else Operation("-", None, value, token.span)
        if token.kind is LexemeKind.TEXT:
            return TextLiteral(token.text, token.span)
        if token.kind is LexemeKind.QUOTED:
            return ColumnReference(WrittenName(token.text, True), token.span)
        if token.kind is not LexemeKind.WORD and not (token.upper == "." and _is_number(cursor.peek())):
            raise _unexpected(token)
        if token.text.startswith("@"):
            return self._call(token, cursor, depth)
        if _is_number(token) or token.upper == ".":
            return _number(token, cursor)
        if token.upper in words:
            return Word(token.upper, token.span)
        return self._column_value(token, cursor)

    def _column_value(self, token: Lexeme, cursor: Cursor) -> ColumnReference:
        following = cursor.peek()
        if token.upper in ("BEFORE", "AFTER") and following is not None:
            dot = following.upper == "." and following.glued
            if dot or (following.kind in _NAMES and following.upper not in ("AND", "OR")):
                if dot:
                    cursor.take()
                name = self.column(cursor)
                return ColumnReference(name, token.span_to(cursor.last or token), token.upper)
        name = WrittenName(self._whole_name(token, cursor))
        return ColumnReference(name, token.span_to(cursor.last or token))

    def _call(self, token: Lexeme, cursor: Cursor, depth: int) -> Expression:
        name = token.text[1:].upper()
        known = entries(Section.FUNCTION).get(name)
        if not cursor.at("("):
            if name in _STATES:
                return Word(name, token.span)
            if known is not None:
                raise ParameterError(f"`@{name}` has no `(`", token.span, f"write `@{name} (…)`")
        self.report_function(token, known)
        self.open_group(token, cursor)
        arguments: list[Expression] = []
        words = _WORDS.get(name, ())
        while not cursor.at(")"):
            argument = self.expression(cursor, 0, depth + 1, words)
            if name in _OF_TEXT and isinstance(argument, ColumnReference) and argument.name.quoted:
                argument = TextLiteral(argument.name.text, argument.span)
            arguments.append(argument)
            if not cursor.take_one(","):
                break
        self.close_group(token, cursor)
        return Call(name, tuple(arguments), token.span_to(cursor.last or token))


def _is_number(token: Lexeme | None) -> bool:
    return token is not None and token.kind is LexemeKind.WORD and token.text.isdecimal()


def _number(token: Lexeme, cursor: Cursor) -> NumberLiteral:
    """Take what is glued to a number: its point and its decimals."""
    text = token.text
    while (part := cursor.peek()) is not None and part.glued:
        if not (_is_number(part) if text.endswith(".") else part.upper == "." and "." not in text):
            break
        cursor.take()
        text += part.text
    return NumberLiteral(text, token.span_to(cursor.last or token))


def _unexpected(token: Lexeme) -> ParameterError:
    if token.upper in ("'", '"'):
        return ParameterError("the text does not end in its line", token.span, "close the quotes")
    return ParameterError(f"`{visible(token.text)[:80]}` is not expected here", token.span)
