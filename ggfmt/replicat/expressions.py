"""Expressions of COLMAP, FILTER and WHERE, compiled to columnar evaluations.

What no page of the manual decides is refused with its line, where it shows in the expression, or stops the run at the
first operation that needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NoReturn

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.dataclasses import dataclass, field, replace
from ggfmt.diagnostics.diagnostic import ConfigurationError, Span, did_you_mean, list_names
from ggfmt.model.table import Kind, TableDef
from ggfmt.replicat.statements import (
    Call,
    ColumnReference,
    Expression,
    NumberLiteral,
    Operation,
    TextLiteral,
    Word,
    WrittenName,
)
from ggfmt.replicat.values import (
    COMPARISONS,
    DECIDED,
    NOT_MISSING,
    Array,
    Evaluation,
    Made,
    Node,
    RowImages,
    ValueColumn,
    ValueKind,
    any_true,
    as_number,
    as_text,
    as_truth,
    calculate,
    chosen,
    first_reason,
    strict,
)

_CONJUNCTIONS = frozenset({"AND", "OR"})
_KINDS: dict[Kind, ValueKind] = dict.fromkeys((Kind.INTEGER, Kind.DECIMAL, Kind.NUMBER), "number")
_KINDS |= dict.fromkeys((Kind.FLOAT, Kind.DOUBLE), "float")
_PARENTHESES = "add parentheses that say which operator comes first"
BLANKS = "no page says whether blanks at the end of a text count"


@dataclass(frozen=True)
class Function:
    """A function of expressions, with the least and the most number of arguments; None: any number.

    refusal  why ggfmt does not evaluate it, if that does not depend on its arguments
    """

    least: int
    most: int | None
    compile: Callable[[Compiler, Call], Node] | None = None
    refusal: str = ""


def refuse(message: str, span: Span, help: str | None = None, code: str = "GG161") -> NoReturn:
    raise ConfigurationError(code, message, span, help)


@dataclass(eq=False)
class Compiler:
    """Compile the expressions of a statement for one table. `needs`: what the input has to have, such as tokens."""

    table: TableDef
    functions: Mapping[str, Function]
    is_where: bool = False
    target_length: int | None = None
    target_kind: Kind | None = None
    needs: set[str] = field(default_factory=set)
    uses_update_kind: bool = False
    nodes: dict[int, tuple[Expression, Node]] = field(default_factory=dict)

    def compile(self, expression: Expression) -> Node:
        """Compile an expression, once: what asks for its kind asks for its values, too."""
        if id(expression) not in self.nodes:
            self.nodes[id(expression)] = expression, self._compile(expression)
        return self.nodes[id(expression)][1]

    def _compile(self, expression: Expression) -> Node:
        span = expression.span
        if isinstance(expression, Operation):
            return self._operation(regroup(expression))
        if isinstance(expression, ColumnReference):
            return self.column(expression)
        if isinstance(expression, Call):
            return self._call(expression)
        if isinstance(expression, Word):
            refuse(f"`{expression.text}` is not a value", span, "compare a column of a WHERE with it", "GG160")
        text = expression.text
        kind: ValueKind = "number" if isinstance(expression, NumberLiteral) else "text"
        return Node(kind, lambda rows: ValueColumn(pa.repeat(pa.scalar(text), len(rows.batch))), span, text)

    def place(self, name: WrittenName, span: Span) -> int:
        """Return the place of a column of the source."""
        found = column_named(self.table, name)
        if found is not None:
            return self.table.column_names.index(found)
        if not name.quoted and name.text.upper().startswith("GGS_"):
            refuse(f"the form of `{name.text}` is not known", span, "use @GETENV")
        near = did_you_mean(name.text, self.table.column_names)
        help = f"did you mean `{near}`?" if near else f"columns: {list_names(self.table.column_names)}"
        refuse(f"table {self.table.full_name} has no column `{name.text}`", span, help, "GG160")

    def column(self, value: ColumnReference, image: str | None = None) -> Node:
        place, of = self.place(value.name, value.span), image or value.image
        kind = _KINDS.get(self.table.columns[place].type.kind, "text")
        plain = None if of == "BEFORE" else place
        return Node(kind, lambda rows: rows.column(place, of), value.span, place=plain, is_column=True)

    def _call(self, call: Call) -> Node:
        function = self.functions.get(call.name)
        if function is None:
            near = did_you_mean(call.name, self.functions)
            help = f"did you mean @{near}?" if near else None
            refuse(f"unknown function @{call.name}", call.span, help, "GG160")
        if self.is_where:
            refuse(f"@{call.name} in a WHERE, which has no functions", call.span, "use FILTER", "GG160")
        count = len(call.arguments)
        if count < function.least or (function.most is not None and count > function.most):
            few = f"at least {function.least}" if count < function.least else f"at most {function.most}"
            refuse(f"@{call.name} has {count} arguments", call.span, f"give {few}", "GG160")
        if function.compile is None:
            refuse(f"ggfmt does not evaluate @{call.name}: {function.refusal}", call.span)
        return function.compile(self, call)

    # What functions ask of their arguments.

    def text(self, expression: Expression) -> Evaluation:
        node = self._operand(expression)
        if node.kind == "float":
            refuse("no page says which digits the text of a floating-point number has", node.span)
        return partial(as_text, node)

    def number(self, expression: Expression, comparison: bool = False) -> Evaluation:
        node = self._operand(expression)
        if node.kind == "float" and not comparison:
            refuse("no page says how GoldenGate calculates with floating-point numbers", node.span)
        if node.kind == "text" and node.literal is not None:
            refuse(f"'{node.literal}' is a text", node.span, "compare texts with @STREQ", "GG160")
        return partial(as_number, node)

    def truth(self, expression: Expression) -> Evaluation:
        node = self._operand(expression)
        if node.kind == "text" and node.literal is not None:
            refuse(f"'{node.literal}' is not a condition", node.span, None, "GG160")
        return partial(as_truth, node)

    def _operand(self, expression: Expression) -> Node:
        node = self.compile(expression)
        if node.is_column and isinstance(expression, ColumnReference):
            column = self.table.columns[self.place(expression.name, node.span)]
            if column.type.kind is Kind.BINARY:
                refuse(f"column `{column.name}` has bytes, which expressions do not read", node.span)
        return node

    def literal(self, expression: Expression) -> str:
        if not isinstance(expression, TextLiteral):
            refuse("ggfmt evaluates only a text in quotes here", expression.span)
        return expression.text

    def count(self, expression: Expression, least: int = 1) -> int:
        if not isinstance(expression, NumberLiteral) or not expression.text.isdecimal():
            refuse("ggfmt evaluates only a whole number here", expression.span)
        if int(expression.text) < least:
            refuse(f"{expression.text} is less than {least}", expression.span, None, "GG160")
        return int(expression.text)

    def word(self, expression: Expression, words: Sequence[str]) -> str:
        """Return a word such as LEFT, which the parser may take for a column."""
        name = expression.name.text if isinstance(expression, ColumnReference) else getattr(expression, "text", "")
        if name.upper() not in words:
            refuse("an unknown word", expression.span, f"use {list_names(words)}", "GG160")
        return str(name.upper())

    def function(
        self, kind: ValueKind, call: Call, compute: Callable[..., Made], texts: Sequence[Expression], null: str | None
    ) -> Node:
        """Return a function of texts, which is missing where one is. `null`: why that of NULL is undecided."""
        return Node(kind, strict(call.span, compute, [*map(self.text, texts)], null), call.span)

    # Operators.

    def _operation(self, operation: Operation) -> Node:
        symbol, left, right = operation.symbol, operation.left, operation.right
        if symbol in _CONJUNCTIONS:
            assert left is not None
            return self._conjunction(symbol, left, right, operation.span)
        if symbol in COMPARISONS:
            assert left is not None
            return self.comparison(symbol, left, right, operation.span)
        if left is None and isinstance(right, NumberLiteral):
            return self.compile(replace(right, text=f"-{right.text}"))
        if self.is_where:
            refuse(f"`{symbol}` in a WHERE, which has no arithmetic", operation.span, "use FILTER", "GG160")
        if left is None:
            left = NumberLiteral("0", operation.span)
        kind = "quotient that is not whole" if symbol == "/" else "remainder of a negative number or by zero"

        def compute(one: Array, other: Array) -> Made:
            values, undecided = calculate(symbol, one, other)
            return values, [(undecided, f"no page says what GoldenGate makes of a {kind}")]

        arguments = (self.number(left), self.number(right))
        return Node("number", strict(operation.span, compute, arguments), operation.span)

    def comparison(self, symbol: str, left: Expression, right: Expression, span: Span) -> Node:
        if isinstance(left, Word) or isinstance(right, Word):
            return self._state(symbol, left, right, span)
        nodes = [self.compile(left), self.compile(right)]
        if all(node.kind == "text" for node in nodes):
            if not self.is_where:
                refuse(f"`{symbol}` between texts in a numeric comparison", span, "compare texts with @STREQ", "GG160")
            if symbol not in ("=", "<>"):
                refuse("no page says how GoldenGate orders texts", span)
            return self.equality(left, right, span, trims=False, negated=symbol == "<>")
        if self.is_where and any(node.kind == "float" for node in nodes):
            refuse("a floating-point column in a WHERE", span, "use FILTER", "GG160")
        sides = (self.number(left, True), self.number(right, True))
        return Node("condition", strict(span, lambda one, other: calculate(symbol, one, other)[0], sides), span)

    def equality(
        self,
        left: Expression,
        right: Expression,
        span: Span,
        *,
        trims: bool,
        negated: bool = False,
        null: str | None = None,
    ) -> Node:
        """Compare texts. `trims`: blanks at their ends do not count; else it is undecided whether they do."""
        literal = right.text if isinstance(right, TextLiteral) else None
        sides = (left, right) if literal is None else (left,)

        def compute(one: pa.StringArray, *given: pa.StringArray) -> Made:
            other: Any = pa.scalar(literal) if literal is not None else given[0]
            trimmed = pc.equal(pc.utf8_rtrim(one, " "), pc.utf8_rtrim(other, " "))
            unclear = None if trims else pc.xor(trimmed, pc.equal(one, other))
            return pc.invert(trimmed) if negated else trimmed, [(unclear, BLANKS)]

        return Node("condition", strict(span, compute, [*map(self.text, sides)], null), span)

    def _state(self, symbol: str, left: Expression, right: Expression, span: Span) -> Node:
        """Compile a test of a column for @NULL, @PRESENT or @ABSENT."""
        column, word = (right, left) if isinstance(left, Word) else (left, right)
        if not self.is_where or not isinstance(column, ColumnReference) or not isinstance(word, Word):
            refuse("only a column of a WHERE is compared with @NULL, @PRESENT or @ABSENT", span, None, "GG160")
        if symbol not in ("=", "<>"):
            refuse(f"`{symbol}` with @{word.text}", span, "use = or <>", "GG160")
        node, state = self.column(column), self.word(word, ("NULL", "PRESENT", "ABSENT"))

        def evaluate(rows: RowImages) -> ValueColumn:
            found = node.evaluate(rows)
            missing = pa.repeat(NOT_MISSING, len(rows.batch)) if found.missing is None else found.missing
            null = pc.and_not(found.values.is_null(), missing)
            values = {"NULL": null, "ABSENT": missing}.get(state, pc.invert(missing))
            values = values if symbol == "=" else pc.invert(values)
            if state == "NULL":
                return ValueColumn(pc.if_else(missing, pa.scalar(None, pa.bool_()), values), found.missing)
            where = null if state == "PRESENT" else None
            return ValueColumn(values, None, rows.mark(where, "no page says whether NULL is present in a WHERE", span))

        return Node("condition", evaluate, span)

    def _conjunction(self, symbol: str, left: Expression, right: Expression, span: Span) -> Node:
        """Compile AND and OR, whose right side counts only where the left side does not decide."""
        one, other, is_and = self.truth(left), self.truth(right), symbol == "AND"
        sides = (left.left, left.right) if is_and and isinstance(left, Operation) else ()
        tests_presence = any(isinstance(side, Word) and side.text == "PRESENT" for side in sides)

        def evaluate(rows: RowImages) -> ValueColumn:
            first, second = one(rows), other(rows)
            both = (first.values, second.values)
            values = pc.if_else(first.values, *(both[::-1] if is_and else both))
            goes_on = first.values if is_and else pc.invert(first.values)
            missing = any_true(first.missing, chosen(goes_on, second.missing, None, NOT_MISSING))
            later, own = chosen(goes_on, second.undecided, None, DECIDED), first.undecided
            if own is not None and tests_presence:  # of NULL: the condition does not hold, present or not
                fails = pc.and_(own.is_valid(), pc.invert(second.values).fill_null(True))
                own, values = pc.if_else(fails, DECIDED, own), pc.if_else(fails, second.values, values)
                missing = any_true(missing, None if second.missing is None else pc.and_(fails, second.missing))
                later = first_reason(later, chosen(fails, second.undecided, None, DECIDED))
            if not is_and and first.values.null_count:
                null = first.values.is_null()
                null = null if first.missing is None else pc.and_not(null, first.missing)
                true = rows.mark(pc.and_(null, second.values), "no page says what NULL OR a true condition is", span)
                later = first_reason(later, true, chosen(null, second.undecided, None, DECIDED))
            return ValueColumn(values, missing, first_reason(own, later))

        return Node("condition", evaluate, span)

    def conditional(self, condition: Evaluation, yes: Node, no: Node) -> Node:
        """Return a choice, which is NULL, missing or undecided where its condition is."""
        kind: ValueKind = "number" if yes.kind == no.kind == "number" else "text"

        def evaluate(rows: RowImages) -> ValueColumn:
            where = condition(rows)
            one, other = (
                as_text(side, rows) if side.literal is None else ValueColumn(side.literal) for side in (yes, no)
            )
            values = pc.if_else(where.values, one.values, other.values)
            missing = any_true(where.missing, chosen(where.values, one.missing, other.missing, NOT_MISSING))
            undecided = chosen(where.values, one.undecided, other.undecided, DECIDED)
            return ValueColumn(values, missing, first_reason(where.undecided, undecided))

        return Node(kind, evaluate, yes.span)


def column_named(table: TableDef, name: WrittenName) -> str | None:
    """Return the column that a name of the file means. Case counts in quotes alone."""
    found = name.text if name.quoted else table.column_of(name.text)
    return found if found in table.column_names else None


def missing_everywhere(rows: RowImages) -> ValueColumn:
    return ValueColumn(pa.nulls(len(rows.batch), pa.string()), pa.repeat(pa.scalar(True), len(rows.batch)))


def regroup(operation: Operation) -> Operation:
    """Return an operation whose sides are operands, or enclosed, or comparisons below AND or OR.

    Pages show comparisons below AND without parentheses, and no other operators together. Raises: ConfigurationError.
    """
    operands: list[Expression] = []
    symbols: list[str] = []
    if operation.left is None:
        if isinstance(operation.right, Operation) and not operation.right.enclosed:
            refuse("no page says what a sign before an operation belongs to", operation.span, _PARENTHESES)
        return operation

    def flatten(each: Expression) -> None:
        if not isinstance(each, Operation) or each.left is None or (each.enclosed and each is not operation):
            operands.append(each)
            return
        flatten(each.left)
        symbols.append(each.symbol)
        flatten(each.right)

    flatten(operation)
    used = frozenset(symbols)
    joined = used & _CONJUNCTIONS
    if len(joined) == 1 and used - joined <= COMPARISONS.keys():
        parts: list[Expression] = [operands[0]]
        for symbol, operand in zip(symbols, operands[1:], strict=True):
            last = parts[-1]
            if symbol in joined:
                parts.append(operand)
            elif isinstance(last, Operation) and not last.enclosed and last.left is not None:
                break  # two comparisons
            else:
                parts[-1] = Operation(symbol, last, operand, operation.span)
        else:
            return _folded(next(iter(joined)), parts, operation.span)
    elif len(symbols) == 1 or used in ({"+"}, {"*"}):
        return _folded(symbols[0], operands, operation.span)
    shown = list_names(dict.fromkeys(symbols))
    refuse(f"no page says in which order GoldenGate applies {shown}", operation.span, _PARENTHESES)


def _folded(symbol: str, operands: Sequence[Expression], span: Span) -> Operation:
    whole = operands[0]
    for operand in operands[1:]:
        whole = Operation(symbol, whole, operand, span, enclosed=True)
    assert isinstance(whole, Operation)
    return whole
