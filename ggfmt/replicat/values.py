"""The values of expressions for the operations of a batch: texts, exact numbers and conditions.

Each value has one of four states: a value, NULL, missing, or undecided. No page of the manual says what GoldenGate
makes of an undecided value. An undecided value that a message or a filter needs stops the run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from functools import reduce
from operator import eq, ge, gt, le, lt, ne
from typing import Any, Literal, TypeAlias

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import as_strings, repeated
from ggfmt.columnar.images import and_present, unless_all, with_nulls
from ggfmt.columnar.strings import canonical_numbers, plain_number
from ggfmt.dataclasses import dataclass, field, replace
from ggfmt.diagnostics.diagnostic import Span
from ggfmt.kernels.primitives import digits
from ggfmt.model.change import ChangeBatch, ImageColumn

Array: TypeAlias = "pa.Array[Any]"
# What values are. A flag is a condition of which a page says that it is 1 where it is true.
ValueKind = Literal["text", "number", "float", "condition", "flag"]
_TEXT, _BOOL = pa.string(), pa.bool_()
NOT_MISSING: Any = pa.scalar(False)
DECIDED: Any = pa.scalar(None, pa.int16())
_TRUE = "no page says which number a true condition is"
_MIXED = "one argument is missing, another one is NULL"
_PLAIN = r"^[-+]?(?:[0-9]+[.]?[0-9]*|[.][0-9]+)$"
_MAX_DIGITS = 76  # of Arrow's widest decimals
_EXACT, _ONE = Context(prec=1_000_000), Decimal(1)


@dataclass(frozen=True, eq=False)
class ValueColumn:
    """The values of an expression for n operations.

    values     texts, decimals or booleans; null for NULL, and where the value is missing
    missing    where the value is missing; None: nowhere
    undecided  where the value is undecided, the number of the reason; elsewhere null. None: nowhere
    """

    values: Any
    missing: pa.BooleanArray | None = None
    undecided: pa.Int16Array | None = None


@dataclass(frozen=True, eq=False)
class RowImages:
    """The operations that expressions see. `update_kind`: the OPTYPE of updates, of which several are possible.

    reasons  why values are undecided, and where that shows, with the numbers that `ValueColumn.undecided` has
    """

    batch: ChangeBatch
    reasons: dict[tuple[str, Span], int]
    update_kind: str | pa.StringArray = ""
    columns: dict[tuple[int, str], ValueColumn] = field(default_factory=dict)
    numbers: dict[int, tuple[Array, pa.BooleanArray | None]] = field(default_factory=dict)

    def column(self, place: int, image: str) -> ValueColumn:
        """Return a column of the row image, which is the before image of a delete, or of the before image."""
        found = self.columns.get((place, image))
        if found is None:
            before = self.batch.before
            column = before.columns[place] if image == "BEFORE" else self.batch.row_column(place)
            present = column.present
            if image == "BEFORE" and before.exists is not None:
                present = and_present(before.exists, column)
            present = None if present is None else unless_all(present)
            values = with_nulls(ImageColumn(column.values, present))
            found = self.columns[place, image] = ValueColumn(values, None if present is None else pc.invert(present))
        return found

    def take(self, where: pa.BooleanArray) -> RowImages:
        """Return the operations where a mask is true."""

        def taken(part: Any) -> Any:
            return None if part is None else part.filter(where)

        columns = {key: ValueColumn(taken(each.values), taken(each.missing)) for key, each in self.columns.items()}
        numbers = {key: (taken(values), taken(wrong)) for key, (values, wrong) in self.numbers.items()}
        return replace(self, batch=self.batch.take(where), columns=columns, numbers=numbers)

    def mark(self, where: Any, message: str, span: Span) -> pa.Int16Array | None:
        """Return where values are undecided, and why."""
        if where is None or not where.true_count:
            return None
        number: Any = pa.scalar(self.reasons.setdefault((message, span), len(self.reasons)), pa.int16())
        marks: pa.Int16Array = pc.if_else(where, number, DECIDED)
        return marks


Evaluation = Callable[[RowImages], ValueColumn]


@dataclass(frozen=True, eq=False)
class Node:
    """A part of an expression. `literal`: the text of a literal. `place`: that of a column of the row image."""

    kind: ValueKind
    evaluate: Evaluation
    span: Span
    literal: str | None = None
    place: int | None = None
    is_column: bool = False


def any_true(*masks: pa.BooleanArray | None) -> pa.BooleanArray | None:
    given = [mask for mask in masks if mask is not None]
    return reduce(pc.or_, given) if given else None


def first_reason(*reasons: pa.Int16Array | None) -> pa.Int16Array | None:
    given = [each for each in reasons if each is not None]
    return pc.coalesce(*given) if given else None


def chosen(where: Array, one: Any, other: Any, lacking: Any) -> Any:
    """Return one of two masks or reasons by a condition, or `lacking`, which None means, where it is null."""
    if one is None and other is None:
        return None
    mixed = pc.if_else(where, lacking if one is None else one, lacking if other is None else other)
    return mixed.fill_null(lacking) if lacking.is_valid and mixed.null_count else mixed


def as_text(node: Node, rows: RowImages) -> ValueColumn:
    """Return values as texts. No page says what number a true condition is, unless it is a flag."""
    found = node.evaluate(rows)
    if not pa.types.is_boolean(found.values.type):
        return ValueColumn(number_texts(found.values), found.missing, found.undecided)
    own = rows.mark(found.values, _TRUE, node.span) if node.kind == "condition" else None
    return ValueColumn(pc.if_else(found.values, "1", "0"), found.missing, first_reason(found.undecided, own))


def number_texts(values: Array) -> pa.StringArray:
    """Return decimals without zeros at their ends; texts stay."""
    if not pa.types.is_decimal(values.type):
        return as_strings(values)
    scale, shown = values.type.scale, pc.cast(values, _TEXT)
    if scale <= 0:
        return shown
    if scale > 6 and pc.any(pc.match_substring(shown, "E")).as_py():
        return canonical_numbers(shown)
    return pc.utf8_rtrim(pc.utf8_rtrim(shown, "0"), ".")


def as_truth(node: Node, rows: RowImages) -> ValueColumn:
    """Return values as conditions: a number that is not zero is true."""
    found = node.evaluate(rows)
    if pa.types.is_boolean(found.values.type):
        return found
    numbers = as_number(node, rows)
    zero = repeated(pa.scalar(Decimal(0)), len(rows.batch))
    return ValueColumn(calculate("<>", numbers.values, zero)[0], numbers.missing, numbers.undecided)


def as_number(node: Node, rows: RowImages) -> ValueColumn:
    """Return values as decimals, or as texts of numbers that are too long for these."""
    if node.literal is not None and len(node.literal) < _MAX_DIGITS:
        try:
            return ValueColumn(repeated(pa.scalar(Decimal(node.literal)), len(rows.batch)))
        except ArithmeticError:
            pass
    found = as_text(node, rows) if node.kind in ("condition", "flag") else node.evaluate(rows)
    if pa.types.is_decimal(found.values.type):
        return found
    parsed = None if node.place is None else rows.numbers.get(node.place)
    if parsed is None:
        parsed = parse_numbers(as_strings(found.values))
        if node.place is not None:
            rows.numbers[node.place] = parsed
    own = rows.mark(parsed[1], "the value is not a number", node.span)
    return ValueColumn(parsed[0], found.missing, first_reason(found.undecided, own))


def parse_numbers(values: pa.StringArray) -> tuple[Array, pa.BooleanArray | None]:
    """Return texts as decimals, or as texts of numbers that are too long for these; and where they are no numbers."""
    whole, fraction, others = digits(values)
    wrong = None
    if others:
        values = canonical_numbers(values)
        wrong = pc.invert(pc.match_substring_regex(values, _PLAIN))
        values = pc.if_else(wrong, pa.scalar(None, _TEXT), values)
        whole, fraction, _ = digits(values)
    size, longest = max(whole + fraction, 1), pc.max(pc.binary_length(values)).as_py() or 0
    if max(size, longest) > _MAX_DIGITS:
        return values, wrong
    if not fraction and size <= 18:  # which Arrow reads several times faster
        return pc.cast(pc.cast(values, pa.int64()), pa.decimal128(19, 0)), wrong
    wide = max(size, longest) > 38
    return pc.cast(values, pa.decimal256(size, fraction) if wide else pa.decimal128(size, fraction)), wrong


COMPARISONS: dict[str, tuple[Any, Any]] = {
    "=": (pc.equal, eq),
    "<>": (pc.not_equal, ne),
    "<": (pc.less, lt),
    "<=": (pc.less_equal, le),
    ">": (pc.greater, gt),
    ">=": (pc.greater_equal, ge),
}
_ARITHMETIC: dict[str, tuple[Any, Any]] = {
    "+": (pc.add, _EXACT.add),
    "-": (pc.subtract, _EXACT.subtract),
    "*": (pc.multiply, _EXACT.multiply),
}


def calculate(symbol: str, left: Array, right: Array) -> tuple[Array, pa.BooleanArray | None]:
    """Return what an operator makes of numbers, and where that is undecided. NULL makes NULL."""
    columnar, _ = COMPARISONS.get(symbol) or _ARITHMETIC.get(symbol) or (None, None)
    if columnar is None:
        return _divide(symbol, left, right)
    if pa.types.is_decimal(left.type) and pa.types.is_decimal(right.type):
        try:
            return columnar(left, right), None
        except pa.ArrowInvalid:  # the result has too many digits
            pass
        try:
            return columnar(_widened(left), _widened(right)), None
        except pa.ArrowInvalid:
            pass
    return _by_row(symbol, left, right)


def _widened(numbers: Array) -> Array:
    return pc.cast(numbers, pa.decimal256(numbers.type.precision, numbers.type.scale))


def _divide(symbol: str, left: Array, right: Array) -> tuple[Array, pa.BooleanArray | None]:
    """Divide. Only whole quotients of whole numbers are known, and remainders of numbers that are not negative."""
    if any(not pa.types.is_decimal(side.type) or side.type.scale or side.type.precision > 18 for side in (left, right)):
        return _by_row(symbol, left, right)
    one, other = pc.cast(left, pa.int64()), pc.cast(right, pa.int64())
    zero = pc.equal(other, 0)
    quotient = pc.divide(one, pc.if_else(zero, pa.scalar(None, pa.int64()), other))
    rest = pc.subtract(one, pc.multiply(quotient, other))
    unlike = pc.not_equal(rest, 0) if symbol == "/" else pc.or_(pc.less(one, 0), pc.less(other, 0))
    by_zero = pc.and_(zero, one.is_valid())
    values = quotient if symbol == "/" else rest
    return pc.cast(values, pa.decimal128(19, 0)), pc.if_else(by_zero, by_zero, unlike)


def _by_row(symbol: str, left: Array, right: Array) -> tuple[Array, pa.BooleanArray | None]:
    pairs = zip(number_texts(left).to_pylist(), number_texts(right).to_pylist(), strict=True)
    values = [None if a is None or b is None else _calculated(symbol, Decimal(a), Decimal(b)) for a, b in pairs]
    if symbol in COMPARISONS:
        return pa.array(values, _BOOL), None
    undecided = pa.array([value is False for value in values], _BOOL)
    return pa.array([plain_number(v) if isinstance(v, Decimal) else None for v in values], _TEXT), undecided


def _calculated(symbol: str, one: Decimal, other: Decimal) -> Decimal | bool:
    """Return one result; False if an arithmetic one is undecided."""
    if symbol in COMPARISONS:
        return bool(COMPARISONS[symbol][1](one, other))
    if symbol in _ARITHMETIC:
        result: Decimal = _ARITHMETIC[symbol][1](one, other)
        return result
    if not other:
        return False
    quotient = _EXACT.divide_int(one, other)
    rest = _EXACT.subtract(one, _EXACT.multiply(quotient, other))
    if symbol == "/":
        return False if rest else quotient
    return False if one < 0 or other < 0 or any(_EXACT.remainder(each, _ONE) for each in (one, other)) else rest


# What a function makes of the values of its arguments; also where that is undecided, and why.
Made: TypeAlias = "Array | tuple[Array, Sequence[tuple[Any, str]]]"


def strict(
    span: Span, compute: Callable[..., Made], arguments: Sequence[Evaluation], null: str | None = None
) -> Evaluation:
    """Return an evaluation that is missing where an argument is. NULL makes NULL, or is undecided, as `null` says."""

    def evaluate(rows: RowImages) -> ValueColumn:
        found = [argument(rows) for argument in arguments]
        missing = any_true(*(each.missing for each in found))
        made = compute(*(each.values for each in found))
        values, marks = made if isinstance(made, tuple) else (made, ())
        own = [rows.mark(where, message, span) for where, message in marks]
        if missing is not None:
            values = pc.if_else(missing, pa.scalar(None, values.type), values)
            own = [None if each is None else pc.if_else(missing, DECIDED, each) for each in own]
        null_alone = any_true(*map(_null_alone, found))
        if null_alone is not None and (null or missing is not None):
            mixed = null_alone if null or missing is None else pc.and_(missing, null_alone)
            own.append(rows.mark(mixed, null or _MIXED, span))
        return ValueColumn(values, missing, first_reason(*(each.undecided for each in found), *own))

    return evaluate


def _null_alone(result: ValueColumn) -> pa.BooleanArray | None:
    """Return where a value is NULL and not missing."""
    null: Any = result.values.is_null() if result.values.null_count else None
    return null if null is None or result.missing is None else pc.and_not(null, result.missing)
