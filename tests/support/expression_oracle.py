"""What expressions of parameter files are, one operation at a time: the slow, obvious version of the engine."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Context, Decimal, InvalidOperation
from typing import Any

from expressions import MISSING

from ggfmt.replicat.statements import Call, ColumnReference, Expression, NumberLiteral, Operation, TextLiteral, Word

EXACT = Context(prec=10_000)
Row = Mapping[str, Any]


class Undecided(Exception):
    """No page says what the value is."""


def is_number_kind(expression: Expression) -> bool:
    if isinstance(expression, ColumnReference):
        return expression.name.text in "AB"
    if isinstance(expression, Call):
        return expression.name in ("COMPUTE", "STRLEN", "STRFIND", "STRCMP", "STREQ", "VALONEOF", "NUMSTR")
    return isinstance(expression, (NumberLiteral, Operation))


def numeric(value: Any) -> Any:
    """The number of a value, which may be a condition; NULL and missing stay."""
    if value is None or value == MISSING:
        return value
    try:
        number = Decimal(textual(value))
    except InvalidOperation:
        raise Undecided from None
    if not number.is_finite() or textual(value) != textual(value).strip() or "_" in textual(value):
        raise Undecided
    return number


def textual(value: Any) -> Any:
    if isinstance(value, bool):
        if value:
            raise Undecided
        return "0"
    if isinstance(value, Decimal):
        shown = f"{value:f}"
        shown = shown.rstrip("0").rstrip(".") if "." in shown else shown
        return "0" if shown == "-0" else shown
    return value


def truth(value: Any) -> Any:
    if isinstance(value, bool) or value is None or value == MISSING:
        return value
    return numeric(value) != 0


def strict(values: list[Any]) -> Any:
    """NULL or missing if a value is."""
    if MISSING in values and None in values:
        raise Undecided
    return MISSING if MISSING in values else None


def evaluate(expression: Expression, row: Row) -> Any:
    """A text, number or condition, None for NULL, or MISSING. Raises: Undecided."""
    if isinstance(expression, ColumnReference):
        return row.get(expression.name.text)
    if isinstance(expression, NumberLiteral):
        return expression.text
    if isinstance(expression, TextLiteral):
        return expression.text
    if isinstance(expression, Call):
        return function(expression, row)
    assert isinstance(expression, Operation)
    return operator(expression, row)


def operator(expression: Operation, row: Row) -> Any:
    symbol, right = expression.symbol, expression.right
    assert expression.left is not None
    if symbol in ("AND", "OR"):
        one = truth(evaluate(expression.left, row))
        if symbol == "AND":
            return truth(evaluate(right, row)) if one is True else one
        if one is None and truth(evaluate(right, row)) is True:
            raise Undecided
        return truth(evaluate(right, row)) if one is False else one
    if isinstance(right, Word):
        value = evaluate(expression.left, row)
        if right.text == "PRESENT":
            if value is None:
                raise Undecided
            holds = value != MISSING
        elif right.text == "ABSENT":
            holds = value == MISSING
        elif value == MISSING:
            return MISSING
        else:
            holds = value is None
        return holds == (symbol == "=")
    values = [evaluate(side, row) for side in (expression.left, right)]
    values = [numeric(value) for value in values]
    if None in values or MISSING in values:
        return strict(values)
    return calculated(symbol, *values)


def calculated(symbol: str, one: Decimal, other: Decimal) -> Any:
    comparisons = {
        "=": one == other,
        "<>": one != other,
        "<": one < other,
        ">": one > other,
        "<=": one <= other,
        ">=": one >= other,
    }
    if symbol in comparisons:
        return comparisons[symbol]
    if symbol in "+-*":
        return {"+": EXACT.add, "-": EXACT.subtract, "*": EXACT.multiply}[symbol](one, other)
    if not other:
        raise Undecided
    if symbol == "/":
        quotient = EXACT.divide_int(one, other)
        if EXACT.multiply(quotient, other) != one:
            raise Undecided
        return quotient
    if one < 0 or other < 0 or one != int(one) or other != int(other):
        raise Undecided
    return Decimal(int(one) % int(other))


def function(expression: Call, row: Row) -> Any:
    name, arguments = expression.name, expression.arguments
    if name == "IF":
        where = truth(evaluate(arguments[0], row))
        if where is None or where == MISSING:
            return where
        return textual(evaluate(arguments[1 if where else 2], row))
    if name == "EVAL":
        for place in range(0, len(arguments) - 1, 2):
            where = truth(evaluate(arguments[place], row))
            if where is None or where == MISSING:
                return where
            if where:
                return textual(evaluate(arguments[place + 1], row))
        return textual(evaluate(arguments[-1], row)) if len(arguments) % 2 else MISSING
    if name == "COMPUTE":
        value = evaluate(arguments[0], row)
        return value if isinstance(value, bool) else numeric(value)
    if name == "COLTEST":
        value = evaluate(arguments[0], row)
        state = "MISSING" if value == MISSING else "NULL" if value is None else "PRESENT"
        return state in [getattr(word, "text", "") for word in arguments[1:]]
    values = [textual(evaluate(argument, row)) for argument in arguments]
    if name == "NUMSTR":
        return numeric(values[0])
    if None in values or MISSING in values:
        if None in values and name not in ("STREQ", "STRCMP"):
            raise Undecided
        return strict(values)
    return of_texts(name, values)


def of_texts(name: str, values: list[str]) -> Any:
    first = values[0]
    if name == "STRCAT":
        return "".join(values)
    if name == "STRNCAT":
        return "".join(text[: int(count)] for text, count in zip(values[::2], values[1::2], strict=True))
    if name == "STRLEN":
        return Decimal(len(first))
    if name in ("STRLTRIM", "STRRTRIM", "STRTRIM"):
        return {"L": first.lstrip(" "), "R": first.rstrip(" "), "T": first.strip(" ")}[name[3]]
    if name in ("STREQ", "VALONEOF"):
        return Decimal(first.rstrip(" ") in [text.rstrip(" ") for text in values[1:]])
    if name == "STRSUB":
        for old, new in zip(values[1::2], values[2::2], strict=True):
            first = re.sub(re.escape(old), lambda _, new=new: new, first)  # type: ignore[misc]
        return first
    ascii_alone = all(text.isascii() for text in values[: 2 if name == "STRCMP" else 1])
    if name == "STRCMP":
        one, other = first.rstrip(" "), values[1].rstrip(" ")
        if one != other and not (one.isascii() and other.isascii()):
            raise Undecided
        return Decimal((one > other) - (one < other))
    if not ascii_alone:
        raise Undecided
    if name == "STRUP":
        return first.upper()
    if name == "STREXT":
        start, stop = int(values[1]), int(values[2])
        if len(first) < start:
            raise Undecided
        return first[start - 1 : stop]
    assert name == "STRFIND"
    return Decimal(first.find(values[1], int(values[2]) - 1) + 1)
