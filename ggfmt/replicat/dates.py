"""DATE and DATEDIFF: dates by the descriptors of GoldenGate's masks, such as `YYYY-MM-DD`."""

from __future__ import annotations

import re
from functools import reduce
from typing import Any

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.columnar.timestamps import text_micros
from ggfmt.lazy import lazy_regex
from ggfmt.model.table import Kind
from ggfmt.replicat.expressions import Compiler, refuse
from ggfmt.replicat.statements import Call, Expression
from ggfmt.replicat.values import Made, Node

_TOKEN = lazy_regex("YYYY|CC|YY|MMM|MM|DDD|DOW[01A]|DD|HH|MI|SS|FFFFFF|[A-Za-z]+|[^A-Za-z]+")
_MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
# What each descriptor matches. Days of the year and of the week, and numbers of other systems, are refused.
_PATTERNS = {
    "CC": "[0-9]{2}",
    "YY": "[0-9]{2}",
    "YYYY": "[0-9]{4}",
    "MM": "(?:0[1-9]|1[0-2])",
    "MMM": f"(?:{'|'.join(_MONTHS)})",
    "DD": "(?:0[1-9]|[12][0-9]|3[01])",
    "HH": "(?:[01][0-9]|2[0-3])",
    "MI": "[0-5][0-9]",
    "SS": "[0-5][0-9]",
    "FFFFFF": "[0-9]{6}",
}
_OF_TARGETS = frozenset(
    f"YYYY-MM-DD{time}{fraction}" for time in ("", " HH:MI:SS", ":HH:MI:SS") for fraction in ("", ".FFFFFF")
)
_DAY_SECONDS = 86_400
_NOTHING = pa.scalar(None, pa.string())


# Where a descriptor comes from, if no mask of the input has it itself: parts of years, and months by name or number.
_FROM = {"YYYY": ("CC", "YY"), "CC": ("YYYY",), "YY": ("YYYY",), "MM": ("MMM",), "MMM": ("MM",)}


def pieces_of(mask: str, expression: Expression) -> list[str]:
    """Return the descriptors of a mask and the texts between them. Raises: ConfigurationError for an unknown one."""
    pieces: list[str] = _TOKEN.findall(mask)
    for piece in pieces:
        if piece[0].isalpha() and piece not in _PATTERNS:
            refuse(f"ggfmt does not evaluate `{piece}` in a mask", expression.span, f"use {', '.join(_PATTERNS)}")
    return pieces


def date(compiler: Compiler, call: Call) -> Node:
    if not len(call.arguments) % 2:
        refuse("@DATE needs a mask for each column", call.span, None, "GG160")
    shape = pieces_of(compiler.literal(call.arguments[0]), call.arguments[0])
    if compiler.target_kind in (Kind.DATE, Kind.TIME, Kind.TIMESTAMP) and "".join(shape) not in _OF_TARGETS:
        help = f"use a mask such as {min(_OF_TARGETS)}"
        refuse("GoldenGate corrects this mask for the target's column, and no page says how", call.span, help)
    places: dict[str, tuple[int, int, int]] = {}  # the argument of each descriptor, and between which characters it is
    patterns, widths = [], []
    for number, argument in enumerate(call.arguments[1::2]):
        pieces, start = pieces_of(compiler.literal(argument), argument), 0
        patterns.append("^" + "".join(_PATTERNS.get(piece) or re.escape(piece) for piece in pieces) + "$")
        widths.append(len(pieces[0]) if len(pieces) == 1 and pieces[0] != "MMM" else 0)
        for piece in pieces:
            if piece in places and piece in _PATTERNS:
                refuse(f"the masks of the input have `{piece}` twice", call.span, None, "GG160")
            places[piece] = number, start, start + len(piece)
            start += len(piece)
    for piece in filter(_PATTERNS.get, shape):
        if piece not in places and not all(each in places for each in _FROM.get(piece, ("",))):
            refuse(f"the masks of the input lack `{piece}`, and no page names a default", call.span)
    has_day = "DD" in places and ("MM" in places or "MMM" in places) and ("YYYY" in places or {"CC", "YY"} <= {*places})

    def compute(*values: pa.StringArray) -> Made:
        padded = [pc.ascii_lpad(each, n, "0") if n else each for each, n in zip(values, widths, strict=True)]

        def shown(piece: str) -> Any:
            if piece not in _PATTERNS:
                return piece
            if piece in places:
                number, start, stop = places[piece]
                return pc.utf8_slice_codeunits(padded[number], start, stop)
            parts = [shown(each) for each in _FROM[piece]]
            if piece in ("MM", "MMM"):
                names, numbers = pa.array(_MONTHS), pa.array([f"{number:02}" for number in range(1, 13)])
                given, wanted = (names, numbers) if piece == "MM" else (numbers, names)
                return wanted.take(pc.index_in(parts[0], given))
            if piece == "YYYY":
                return pc.binary_join_element_wise(*parts, "")
            return pc.utf8_slice_codeunits(parts[0], *((0, 2) if piece == "CC" else (2, 4)))

        matching = reduce(pc.and_, map(pc.match_substring_regex, padded, patterns))
        if has_day:
            days = pc.binary_join_element_wise(shown("YYYY"), shown("MM"), shown("DD"), "-")
            matching = pc.and_(matching, text_micros(pc.if_else(matching, days, _NOTHING))[0].is_valid())
        unlike = (pc.invert(matching), "the value does not match the mask of @DATE")
        return pc.binary_join_element_wise(*map(shown, shape), ""), [unlike]

    return compiler.function("text", call, compute, call.arguments[2::2], None)


_DATE = "^[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[ :][0-9]{2}:[0-9]{2}:[0-9]{2})?$"


def date_difference(compiler: Compiler, call: Call) -> Node:
    unit = compiler.literal(call.arguments[0]).upper()
    if unit not in ("DD", "SS"):
        refuse(f"@DATEDIFF in `{unit}`", call.arguments[0].span, "use 'DD' or 'SS'", "GG160")

    def compute(first: pa.StringArray, second: pa.StringArray) -> Made:
        marks, seconds = [], []
        for values in (first, second):
            dated = pc.match_substring_regex(values, _DATE)
            times = pc.divide(text_micros(pc.if_else(dated, values, _NOTHING))[0], 1_000_000)
            marks.append((pc.and_(values.is_valid(), times.is_null()), "not a date such as 2011-01-31:23:59:59"))
            seconds.append(times)
        difference = pc.subtract(seconds[1], seconds[0])
        if unit == "DD":
            days = [pc.divide(pc.subtract(each, _behind_midnight(each)), _DAY_SECONDS) for each in seconds]
            whole, difference = pc.divide(difference, _DAY_SECONDS), pc.subtract(days[1], days[0])
            marks.append((pc.not_equal(whole, difference), "no page says whether a day counts that is not whole"))
        return pc.cast(difference, pa.string()), marks

    return compiler.function("number", call, compute, call.arguments[1:], None)


def _behind_midnight(seconds: pa.Int64Array) -> pa.Int64Array:
    """Return the seconds of each day, also before 1970."""
    rest = pc.subtract(seconds, pc.multiply(pc.divide(seconds, _DAY_SECONDS), pa.scalar(_DAY_SECONDS)))
    return pc.if_else(pc.less(rest, 0), pc.add(rest, _DAY_SECONDS), rest)
