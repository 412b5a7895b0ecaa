"""The functions of expressions, each declared once: its number of arguments, and its evaluation or refusal."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import as_strings, string_maps
from ggfmt.columnar.metadata import token
from ggfmt.kernels.primitives import digits
from ggfmt.lazy import lazy_regex
from ggfmt.replicat.dates import date, date_difference
from ggfmt.replicat.expressions import BLANKS, Compiler, Function, missing_everywhere, refuse
from ggfmt.replicat.statements import Call, ColumnReference, Expression
from ggfmt.replicat.values import (
    Evaluation,
    Made,
    Node,
    RowImages,
    ValueColumn,
    ValueKind,
    any_true,
    as_number,
    first_reason,
    parse_numbers,
)

_TEXT = pa.string()
_NULL_TEXT = "no page says what a function of texts makes of NULL"
_NO_ASCII = "the value is not of ASCII alone, and no page says whether bytes or characters count"
_NO_ORDER = "no page says how GoldenGate orders characters outside of ASCII"
_ESCAPE = lazy_regex(r"\\(?:x([0-9a-fA-F]{2})|([0-7]{3})|.?)", re.DOTALL)


def _wide(values: pa.StringArray) -> pa.BooleanArray:
    """Return which values have characters outside of ASCII."""
    return pc.not_equal(pc.binary_length(values), pc.utf8_length(values))


def _simple(make: Callable[[pa.StringArray], Made], kind: ValueKind = "text") -> Function:
    """Return a function of one text."""
    return Function(1, 1, lambda compiler, call: compiler.function(kind, call, make, call.arguments, _NULL_TEXT))


def _strcat(compiler: Compiler, call: Call) -> Node:
    def compute(*values: pa.StringArray) -> Made:
        return pc.binary_join_element_wise(*values, "")

    return compiler.function("text", call, compute, call.arguments, _NULL_TEXT)


def _strncat(compiler: Compiler, call: Call) -> Node:
    if len(call.arguments) % 2:
        refuse("@STRNCAT needs a number after each text", call.span, None, "GG160")
    most = [compiler.count(argument, 0) for argument in call.arguments[1::2]]

    def compute(*values: pa.StringArray) -> Made:
        starts = (pc.utf8_slice_codeunits(each, 0, count) for each, count in zip(values, most, strict=True))
        return pc.binary_join_element_wise(*starts, "")

    return compiler.function("text", call, compute, call.arguments[::2], _NULL_TEXT)


def _strext(compiler: Compiler, call: Call) -> Node:
    first, last = compiler.count(call.arguments[1]), compiler.count(call.arguments[2])
    if last < first:
        refuse(f"@STREXT from {first} to {last}", call.span, None, "GG160")
    short = f"the text ends before place {first}, and no page says what @STREXT returns"

    def compute(values: pa.StringArray) -> Made:
        marks = (_wide(values), _NO_ASCII), (pc.less(pc.binary_length(values), first), short)
        return pc.utf8_slice_codeunits(values, first - 1, last), marks

    return compiler.function("text", call, compute, call.arguments[:1], _NULL_TEXT)


def _strfind(compiler: Compiler, call: Call) -> Node:
    sought = compiler.literal(call.arguments[1])
    start = compiler.count(call.arguments[2]) - 1 if len(call.arguments) > 2 else 0
    if not sought:
        refuse("@STRFIND of an empty text", call.span, None, "GG160")

    def compute(values: pa.StringArray) -> Made:
        found = pc.find_substring(pc.utf8_slice_codeunits(values, start), sought)
        places = pc.if_else(pc.less(found, 0), 0, pc.add(pc.cast(found, pa.int64()), start + 1))
        return pc.cast(places, _TEXT), [(_wide(values), _NO_ASCII)]

    return compiler.function("number", call, compute, call.arguments[:1], _NULL_TEXT)


def unescaped(text: str, expression: Expression) -> str:
    r"""Return a text with the characters of its escape sequences, such as `\x1A` and `\012`."""

    def character(found: re.Match[str]) -> str:
        code = int(found[1], 16) if found[1] else int(found[2], 8) if found[2] else 0
        if not 0 < code < 128:
            refuse(f"the escape sequence `{found[0]}`", expression.span, r"use `\x01` to `\x7F`, or octal digits")
        return chr(code)

    return _ESCAPE.sub(character, text)


def _strsub(compiler: Compiler, call: Call) -> Node:
    texts = [unescaped(compiler.literal(argument), argument) for argument in call.arguments[1:]]
    if len(texts) % 2 or not all(texts[::2]):
        refuse("@STRSUB needs pairs of texts, the first of them not empty", call.span, None, "GG160")

    def compute(values: pa.StringArray) -> Made:
        for old, new in zip(texts[::2], texts[1::2], strict=True):
            values = pc.replace_substring(values, old, new)
        return values

    return compiler.function("text", call, compute, call.arguments[:1], _NULL_TEXT)


def _comparing(compiler: Compiler, call: Call, *, null: bool, is_equality: bool) -> Node:
    """Compare texts without the blanks at their ends. `null`: two NULLs are equal; otherwise NULL makes NULL, as the
    page of STRCMPNULL says."""

    def compute(one: pa.StringArray, other: pa.StringArray) -> Made:
        one, other = pc.utf8_rtrim(one, " "), pc.utf8_rtrim(other, " ")
        equal: Any = pc.equal(one, other)
        nulls = one.is_null(), other.is_null()
        marks: list[tuple[Any, str]] = []
        if null:
            equal = pc.if_else(pc.and_(*nulls), pa.scalar(True), equal)
            marks.append((pc.xor(*nulls), f"no page says what @{call.name} makes of a single NULL"))
        if is_equality:
            return equal, marks
        marks.append((pc.and_not(pc.or_(_wide(one), _wide(other)), equal), _NO_ORDER))
        sign = pc.if_else(pc.less(one, other), "-1", "1")
        return pc.if_else(equal, "0", sign), marks

    return compiler.function("flag" if is_equality else "number", call, compute, call.arguments, None)


def _strncmp(compiler: Compiler, call: Call) -> Node:
    most = compiler.count(call.arguments[2])

    def compute(one: pa.StringArray, other: pa.StringArray) -> Made:
        wide = pc.or_(_wide(one), _wide(other))
        one, other = (pc.utf8_slice_codeunits(each, 0, most) for each in (one, other))
        equal = pc.equal(one, other)
        unclear = pc.xor(pc.equal(pc.utf8_rtrim(one, " "), pc.utf8_rtrim(other, " ")), equal)
        sign = pc.if_else(pc.less(one, other), "-1", "1")
        return pc.if_else(equal, "0", sign), [(wide, _NO_ASCII), (unclear, BLANKS)]

    return compiler.function("number", call, compute, call.arguments[:2], _NULL_TEXT)


def _strnum(compiler: Compiler, call: Call) -> Node:
    word = compiler.word(call.arguments[1], ("LEFT", "LEFTSPACE", "RIGHT", "RIGHTZERO"))
    width = compiler.count(call.arguments[2]) if len(call.arguments) > 2 else compiler.target_length
    if width is None and word != "LEFT":
        refuse("the length of the target's column is not known", call.span, "give @STRNUM a length, or use TARGETDEFS")
    size = width or 0

    def compute(values: pa.StringArray) -> Made:
        wrong = parse_numbers(values)[1] if digits(values)[2] else None
        if word == "LEFT":
            return values, [(wrong, "the value is not a number")]
        negative = pc.starts_with(values, "-")
        plain = pc.if_else(negative, pc.utf8_slice_codeunits(values, 1), values)
        marks = (
            (wrong, "the value is not a number"),
            (pc.greater(pc.binary_length(plain), size), "the number is too long"),
        )
        if word == "RIGHT":
            return pc.if_else(negative, pc.ascii_lpad(values, size + 1), pc.ascii_lpad(values, size)), marks
        padded = pc.ascii_lpad(plain, size, "0") if word == "RIGHTZERO" else pc.ascii_rpad(plain, size)
        return pc.binary_join_element_wise(pc.if_else(negative, "-", ""), padded, ""), marks

    return compiler.function("text", call, compute, call.arguments[:1], None)


def _numstr(compiler: Compiler, call: Call) -> Node:
    return Node("number", partial(as_number, Node("text", compiler.text(call.arguments[0]), call.span)), call.span)


def _state(compiler: Compiler, call: Call) -> Node:
    state = compiler.word(call.arguments[0], ("NULL", "MISSING", "INVALID"))
    if state == "INVALID":
        refuse("no page says what a message has for an invalid value", call.span)
    null: Evaluation = lambda rows: ValueColumn(pa.nulls(len(rows.batch), _TEXT))  # noqa: E731
    return Node("text", null if state == "NULL" else missing_everywhere, call.span)


def _test(compiler: Compiler, call: Call) -> Node:
    words = ("PRESENT", "NULL", "MISSING", "INVALID")  # no value of a message is invalid
    node = compiler.compile(call.arguments[0])
    tests = {compiler.word(argument, words) for argument in call.arguments[1:]}
    if not node.is_column:
        refuse("@COLTEST of something else than a column", call.arguments[0].span, None, "GG160")

    def evaluate(rows: RowImages) -> ValueColumn:
        found, no = node.evaluate(rows), pa.repeat(pa.scalar(False), len(rows.batch))
        missing = no if found.missing is None else found.missing
        null = pc.and_not(found.values.is_null(), missing)
        masks = {"PRESENT": found.values.is_valid(), "NULL": null, "MISSING": missing}
        return ValueColumn(reduce(pc.or_, (masks[test] for test in tests if test in masks), no))

    return Node("condition", evaluate, call.span)


def _choices(compiler: Compiler, call: Call, conditions: list[Evaluation], results: Sequence[Expression]) -> Node:
    nodes = [compiler.compile(result) for result in results]
    chosen = nodes.pop() if len(nodes) > len(conditions) else Node("text", missing_everywhere, call.span)
    for condition, node in zip(conditions[::-1], nodes[::-1], strict=True):
        chosen = compiler.conditional(condition, node, chosen)
    return chosen


def _if(compiler: Compiler, call: Call) -> Node:
    if len(call.arguments) < 3:
        refuse("no page says what @IF without a third argument is, if its condition fails", call.span)
    return _choices(compiler, call, [compiler.truth(call.arguments[0])], call.arguments[1:])


def _eval(compiler: Compiler, call: Call) -> Node:
    given = call.arguments
    last = len(given) // 2 * 2
    return _choices(compiler, call, [*map(compiler.truth, given[:last:2])], (*given[1::2], *given[last:]))


def _equal(compiler: Compiler, call: Call, test: Expression, trims: bool) -> Evaluation:
    """Compare the first argument with a test, as texts if both are texts."""
    value = call.arguments[0]
    if {compiler.compile(each).kind for each in (value, test)} == {"text"}:
        return compiler.equality(value, test, call.span, trims=trims, null=_NULL_TEXT).evaluate
    return compiler.comparison("=", value, test, call.span).evaluate


def _case(compiler: Compiler, call: Call) -> Node:
    rest = call.arguments[1:]
    last = len(rest) // 2 * 2
    tests = [_equal(compiler, call, test, False) for test in rest[:last:2]]
    return _choices(compiler, call, tests, (*rest[1::2], *rest[last:]))


def _valoneof(compiler: Compiler, call: Call) -> Node:
    tests = [_equal(compiler, call, test, True) for test in call.arguments[1:]]

    def evaluate(rows: RowImages) -> ValueColumn:
        found = [test(rows) for test in tests]
        values = reduce(pc.or_, (each.values for each in found))
        missing = any_true(*(each.missing for each in found))
        return ValueColumn(values, missing, first_reason(*(each.undecided for each in found)))

    return Node("flag", evaluate, call.span)


def _compute(compiler: Compiler, call: Call) -> Node:
    node = compiler.compile(call.arguments[0])
    return node if node.kind == "condition" else Node("number", compiler.number(call.arguments[0]), call.span)


def _image(compiler: Compiler, call: Call) -> Node:
    """Compile a column of an image; of BEFOREAFTER the before image, if it has the column."""
    (value,) = call.arguments
    if not isinstance(value, ColumnReference):
        refuse(f"@{call.name} of something else than a column", value.span, None, "GG160")
    before, row = compiler.column(value, "BEFORE"), compiler.column(value, "AFTER")

    def evaluate(rows: RowImages) -> ValueColumn:
        after, first = row.evaluate(rows), before.evaluate(rows)
        if call.name == "AFTER":
            own = rows.mark(pc.equal(rows.batch.op, "D"), "no page says what @AFTER of a deleted row is", call.span)
            return ValueColumn(after.values, after.missing, own)
        if call.name == "BEFORE" or first.missing is None:
            return first
        missing = None if after.missing is None else pc.and_(first.missing, after.missing)
        return ValueColumn(pc.if_else(first.missing, after.values, first.values), missing)

    return Node(row.kind, evaluate, call.span, is_column=True)


def _token(compiler: Compiler, call: Call, name: str | None = None) -> Node:
    sought = name or compiler.literal(call.arguments[0]).lower()  # names are without regard to case
    compiler.needs.add("tokens")

    def evaluate(rows: RowImages) -> ValueColumn:
        tokens = rows.batch.tokens
        if tokens is not None:
            tokens = string_maps(tokens.offsets, pc.utf8_lower(as_strings(tokens.keys)), as_strings(tokens.items))
        values = token(tokens, sought, len(rows.batch))
        return ValueColumn(
            values, None, rows.mark(values.is_null(), f"the operation has no token `{sought}`", call.span)
        )

    return Node("text", evaluate, call.span)


KEY_UPDATE = "PK UPDATE"
UPDATE_KINDS = ("UPDATE", "SQL COMPUPDATE", KEY_UPDATE)


def _getenv(compiler: Compiler, call: Call) -> Node:
    names = tuple(compiler.literal(argument).upper() for argument in call.arguments)
    if names == ("TRANSACTION", "CSN"):
        return _token(compiler, call, "csn")

    def evaluate(rows: RowImages) -> ValueColumn:
        op, op_ts = rows.batch.op, rows.batch.op_ts
        is_delete = pc.equal(op, "D")
        if names[1] == "OPTYPE":
            others = pc.if_else(pc.equal(op, "I"), "INSERT", rows.update_kind)
            return ValueColumn(pc.if_else(is_delete, "DELETE", others))
        if names[1] == "BEFOREAFTERINDICATOR":
            return ValueColumn(pc.if_else(is_delete, "BEFORE", "AFTER"))
        return ValueColumn(
            op_ts, None, rows.mark(op_ts.is_null(), "the operation has no time of its commit", call.span)
        )

    if names[0] != "GGHEADER" or names[1:] not in (("OPTYPE",), ("BEFOREAFTERINDICATOR",), ("COMMITTIMESTAMP",)):
        shown = ", ".join(f"'{name}'" for name in names)
        refuse(f"ggfmt does not evaluate @GETENV ({shown}): no input has it, or its form is not known", call.span)
    compiler.uses_update_kind |= names[1] == "OPTYPE"
    return Node("text", evaluate, call.span)


def _refused(refusal: str, least: int = 1, most: int | None = 1) -> Function:
    return Function(least, most, refusal=refusal)


_DATABASE = _refused("it needs a database", 0, None)
_BYTES = _refused("no page says how a message shows its bytes", 0)

FUNCTIONS: dict[str, Function] = {
    "AFTER": Function(1, 1, _image),
    "BEFORE": Function(1, 1, _image),
    "BEFOREAFTER": Function(1, 1, _image),
    "BINARY": _BYTES,
    "BINTOHEX": _refused("no page says in which case it writes digits"),
    "CASE": Function(3, None, _case),
    "COLSTAT": Function(1, 1, _state),
    "COLTEST": Function(2, None, _test),
    "COMPUTE": Function(1, 1, _compute),
    "DATE": Function(3, None, date),
    "DATEDIFF": Function(3, 3, date_difference),
    "DATENOW": _refused("each run would have another time", 0, 0),
    "DBFUNCTION": _DATABASE,
    "DDL": _refused("the input has no DDL records", 0, None),
    "EVAL": Function(2, None, _eval),
    "GETENV": Function(1, None, _getenv),
    "GETVAL": _DATABASE,
    "HEXTOBIN": _BYTES,
    "HIGHVAL": _BYTES,
    "IF": Function(2, 3, _if),
    "LOWVAL": _BYTES,
    "NUMBIN": _refused("no page says in which order it reads bytes"),
    "NUMSTR": Function(1, 1, _numstr),
    "OGG_SHA1": _refused("no page says how it writes the hash"),
    "RANGE": _refused("its hash is not published", 2, None),
    "STRCAT": Function(1, None, _strcat),
    "STRCMP": Function(2, 2, partial(_comparing, null=False, is_equality=False)),
    "STRCMPNULL": Function(2, 2, partial(_comparing, null=True, is_equality=False)),
    "STREQ": Function(2, 2, partial(_comparing, null=False, is_equality=True)),
    "STREQNULL": Function(2, 2, partial(_comparing, null=True, is_equality=True)),
    "STREXT": Function(3, 3, _strext),
    "STRFIND": Function(2, 3, _strfind),
    "STRLEN": _simple(lambda values: pc.cast(pc.utf8_length(values), _TEXT), "number"),
    "STRLTRIM": _simple(lambda values: pc.utf8_ltrim(values, " ")),
    "STRNCAT": Function(2, None, _strncat),
    "STRNCMP": Function(3, 3, _strncmp),
    "STRNUM": Function(2, 3, _strnum),
    "STRRTRIM": _simple(lambda values: pc.utf8_rtrim(values, " ")),
    "STRSUB": Function(3, None, _strsub),
    "STRTRIM": _simple(lambda values: pc.utf8_trim(values, " ")),
    "STRUP": _simple(lambda values: (pc.utf8_upper(values), [(_wide(values), _NO_ASCII)])),
    "TOKEN": Function(1, 1, _token),
    "VALONEOF": Function(2, None, _valoneof),
}
