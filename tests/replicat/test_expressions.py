"""Expressions of COLMAP, FILTER and WHERE: the examples of the manual's pages, states of values, and refusals."""

from __future__ import annotations

from typing import Any

import pytest
from expressions import MISSING, UNDECIDED, call, column, compute, decide, enclosed, number, operation, span, text

from ggfmt.diagnostics.diagnostic import ConfigurationError
from ggfmt.replicat.functions import FUNCTIONS
from ggfmt.replicat.statements import Call, Expression, Operation, Word

A, B, C = column("A"), column("B"), column("C")


def word(name: str) -> Word:
    return Word(name, span())


def gt(left: Expression, right: Expression) -> Expression:
    return operation(">", left, right)


# Of the pages of the functions: an expression, the values of the columns, and the result.
EXAMPLES: list[tuple[Expression, dict[str, Any], object]] = [
    (call("COLSTAT", word("NULL")), {}, None),
    (call("COLSTAT", word("MISSING")), {}, MISSING),
    (call("IF", call("COLTEST", A, word("MISSING"), word("INVALID")), number("0"), A), {"A": "7"}, "7"),
    (call("IF", call("COLTEST", A, word("MISSING"), word("INVALID")), number("0"), A), {"A": MISSING}, "0"),
    (call("IF", call("COLTEST", A, word("MISSING"), word("INVALID")), number("0"), A), {"A": None}, None),
    (call("IF", gt(A, number("0")), A, number("0")), {"A": "1.50"}, "1.50"),
    (call("IF", gt(A, number("0")), A, number("0")), {"A": "-1.5"}, "0"),
    (call("IF", gt(A, number("0")), A, number("0")), {"A": None}, None),
    (call("IF", gt(A, number("0")), A, number("0")), {"A": MISSING}, MISSING),
    (call("CASE", C, text("CAR"), text("A car"), text("TRUCK"), text("A truck")), {"C": "TRUCK"}, "A truck"),
    (call("CASE", C, text("CAR"), text("A car"), text("TRUCK"), text("A truck")), {"C": "BOAT"}, MISSING),
    (call("CASE", C, text("CAR"), text("A car"), text("Other")), {"C": "BOAT"}, "Other"),
    (call("CASE", C, text("CAR"), text("A car")), {"C": "CAR "}, UNDECIDED),
    (call("CASE", C, text("CAR"), text("A car")), {"C": None}, UNDECIDED),
    (call("CASE", C, text("CAR"), text("A car")), {"C": MISSING}, MISSING),
    (call("EVAL", gt(A, number("10000")), text("high"), gt(A, number("5000")), text("mid")), {"A": "5001"}, "mid"),
    (call("EVAL", gt(A, number("10000")), text("high"), gt(A, number("5000")), text("mid")), {"A": "2"}, MISSING),
    (call("EVAL", gt(A, number("10000")), text("high"), text("low")), {"A": "2"}, "low"),
    (call("EVAL", gt(A, number("10000")), text("high"), text("low")), {"A": None}, None),
    (call("VALONEOF", C, text("CA"), text("NY")), {"C": "NY "}, "1"),
    (call("VALONEOF", C, text("CA"), text("NY")), {"C": "TX"}, "0"),
    (call("VALONEOF", C, text("CA"), text("NY")), {"C": None}, UNDECIDED),
    (call("COMPUTE", operation("/", enclosed("+", A, B), number("5"))), {"A": "25", "B": "10"}, "7"),
    (call("COMPUTE", operation("+", A, B)), {"A": "1000", "B": None}, None),
    (call("COMPUTE", operation("+", A, B)), {"A": "1000", "B": MISSING}, MISSING),
    (call("COMPUTE", operation("+", A, B)), {"A": None, "B": MISSING}, UNDECIDED),
    (
        call("COMPUTE", operation("AND", gt(A, number("0")), operation("<", B, number("3")))),
        {"A": "25", "B": "10"},
        "0",
    ),
    (
        call("COMPUTE", operation("AND", operation("<", A, number("0")), operation("<", B, number("3")))),
        {"A": "25", "B": MISSING},
        "0",
    ),
    (call("COMPUTE", gt(A, number("0"))), {"A": "25"}, UNDECIDED),
    (call("COMPUTE", operation("/", A, B)), {"A": "7", "B": "2"}, UNDECIDED),
    (call("COMPUTE", operation("/", A, B)), {"A": "7", "B": "0"}, UNDECIDED),
    (call("COMPUTE", operation("/", A, B)), {"A": "-7.5", "B": "2.5"}, "-3"),
    (call("COMPUTE", operation("\\", A, B)), {"A": "7", "B": "2"}, "1"),
    (call("COMPUTE", operation("\\", A, B)), {"A": "-7", "B": "2"}, UNDECIDED),
    (call("COMPUTE", operation("*", A, B)), {"A": "1.50", "B": "2"}, "3"),
    (call("COMPUTE", operation("*", A, B)), {"A": "9" * 60, "B": "9" * 60}, str(int("9" * 60) ** 2)),
    (call("COMPUTE", operation("+", A, B)), {"A": "1", "B": "x"}, UNDECIDED),
    (call("STRCAT", C, text("-"), A), {"C": "650", "A": "01"}, "650-01"),
    (call("STRCAT", C, text("-"), A), {"C": None, "A": "1"}, UNDECIDED),
    (call("STRCAT", C, text("-"), A), {"C": MISSING, "A": "1"}, MISSING),
    (call("STRNCAT", text("ABCDEF"), number("3"), text("123456"), number("3")), {}, "ABC123"),
    (call("STREXT", C, number("4"), number("6")), {"C": "4155551234"}, "555"),
    (call("STREXT", C, number("4"), number("6")), {"C": "415"}, UNDECIDED),
    (call("STREXT", C, number("1"), number("2")), {"C": "é1"}, UNDECIDED),
    (call("STRFIND", text("ABC123ABC"), text("23")), {}, "5"),
    (call("STRFIND", text("ABC123ABC"), text("ZZ")), {}, "0"),
    (call("STRFIND", text("ABC123ABC"), text("ABC"), number("2")), {}, "7"),
    (call("STRSUB", text("123ABC123"), text("A"), text("z"), text("1"), text("0")), {}, "023zBC023"),
    (call("STRSUB", C, text(r"\x0A"), text(r"\040")), {"C": "a\nb"}, "a b"),
    (call("STRCMP", text("JOHNSON"), text("JONES")), {}, "-1"),
    (call("STRCMP", C, text("JONES")), {"C": "JONES  "}, "0"),
    (call("STRCMP", C, text("JONES")), {"C": None}, None),
    (call("STRCMP", C, text("z")), {"C": "é"}, UNDECIDED),
    (call("STRCMPNULL", C, C), {"C": None}, "0"),
    (call("STRCMPNULL", C, text("a")), {"C": None}, UNDECIDED),
    (call("STRCMPNULL", C, text("a")), {"C": "b"}, "1"),
    (call("STREQ", C, text("EAST")), {"C": "EAST "}, "1"),
    (call("STREQ", C, text("EAST")), {"C": "east"}, "0"),
    (call("STREQNULL", C, C), {"C": None}, "1"),
    (call("STREQNULL", C, text("a")), {"C": None}, UNDECIDED),
    (call("STREQNULL", C, text("a")), {"C": MISSING}, MISSING),
    (call("STRNCMP", text("JOHNSON"), text("JONES"), number("2")), {}, "0"),
    (call("STRNCMP", text("JOHNSON"), text("JONES"), number("3")), {}, "-1"),
    (call("STRLEN", text("abcd")), {}, "4"),
    (call("STRLEN", C), {"C": "é€"}, "2"),
    (call("STRLEN", C), {"C": None}, UNDECIDED),
    (call("STRUP", text("salesperson")), {}, "SALESPERSON"),
    (call("STRUP", C), {"C": "ß"}, UNDECIDED),
    (call("STRLTRIM", text("  a ")), {}, "a "),
    (call("STRRTRIM", text("  a ")), {}, "  a"),
    (call("STRTRIM", text("  a ")), {}, "a"),
    (call("STRNUM", A, word("RIGHT"), number("6")), {"A": "-1.27"}, "  -1.27"),
    (call("STRNUM", A, word("RIGHTZERO"), number("6")), {"A": "-1.27"}, "-001.27"),
    (call("STRNUM", A, word("LEFT")), {"A": "15"}, "15"),
    (call("STRNUM", A, word("LEFTSPACE"), number("5")), {"A": "15"}, "15   "),
    (call("STRNUM", A, word("RIGHTZERO"), number("5")), {"A": "15"}, "00015"),
    (call("STRNUM", A, word("RIGHT"), number("5")), {"A": "15"}, "   15"),
    (call("STRNUM", A, word("LEFTSPACE"), number("4")), {"A": "15"}, "15  "),
    (call("STRNUM", A, word("RIGHTZERO"), number("4")), {"A": "15"}, "0015"),
    (call("STRNUM", A, column("right"), number("4")), {"A": "15"}, "  15"),
    (call("STRNUM", A, word("RIGHT"), number("1")), {"A": "15"}, UNDECIDED),
    (call("STRNUM", operation("+", A, B), word("LEFT")), {"A": "15", "B": "1"}, "16"),
    (call("STRNUM", A, word("LEFT")), {"A": None}, None),
    (call("NUMSTR", C), {"C": "0012"}, "12"),
    (call("NUMSTR", C), {"C": "p. 12"}, UNDECIDED),
    (call("NUMSTR", C), {"C": None}, None),
    (
        call(
            "DATE",
            text("YYYY-MM-DD"),
            text("CC"),
            call("IF", operation("<", A, number("50")), number("20"), number("19")),
            text("YY"),
            A,
            text("MM"),
            B,
            text("DD"),
            C,
        ),
        {"A": "49", "B": "7", "C": "04"},
        "2049-07-04",
    ),
    (call("DATE", text("DD-MMM-YY"), text("YYYYMMDD"), C), {"C": "20240229"}, "29-FEB-24"),
    (call("DATE", text("YYYY-MM-DD"), text("DD/MMM/YYYY"), C), {"C": "01/APR/2011"}, "2011-04-01"),
    (call("DATE", text("YYYY-MM-DD"), text("YYYYMMDD"), C), {"C": "20230229"}, UNDECIDED),
    (call("DATE", text("YYYY-MM-DD"), text("YYYYMMDD"), C), {"C": "2023-02-28"}, UNDECIDED),
    (call("DATE", text("HH:MI"), text("YYYY-MM-DD HH:MI:SS.FFFFFF"), C), {"C": "2023-02-28 23:59:58.123456"}, "23:59"),
    (call("DATE", text("YYYY"), text("YYYYMMDD"), C), {"C": None}, None),
    (call("DATEDIFF", text("DD"), C, text("2011-01-05")), {"C": "2011-01-05"}, "0"),
    (call("DATEDIFF", text("DD"), C, text("2011-01-05:00:00:00")), {"C": "2010-12-31 00:00:00"}, "5"),
    (call("DATEDIFF", text("DD"), C, text("2011-01-05 01:00:00")), {"C": "2011-01-04 23:00:00"}, UNDECIDED),
    (call("DATEDIFF", text("SS"), C, text("2011-01-05 01:00:00")), {"C": "2011-01-04 23:00:00"}, "7200"),
    (call("DATEDIFF", text("SS"), C, text("2011-01-05 01:00:00")), {"C": "yesterday"}, UNDECIDED),
    (call("DATEDIFF", text("SS"), C, text("2011-01-05 01:00:00")), {"C": None}, None),
    (call("BEFORE", A), {"A": "1"}, MISSING),
    (call("AFTER", A), {"A": "1"}, "1"),
    (call("BEFOREAFTER", A), {"A": "1"}, "1"),
    (call("TOKEN", text("TK_HOST")), {"tokens": {"tk_host": "h"}}, "h"),
    (call("TOKEN", text("TK_HOST")), {"tokens": {"host": "h"}}, UNDECIDED),
    (call("TOKEN", text("TK_HOST")), {}, UNDECIDED),
    (call("GETENV", text("TRANSACTION"), text("CSN")), {"tokens": {"csn": "123"}}, "123"),
    (call("GETENV", text("GGHEADER"), text("COMMITTIMESTAMP")), {}, "2024-01-01 00:00:00.000000"),
    (call("GETENV", text("GGHEADER"), text("OPTYPE")), {}, "INSERT"),
    (call("GETENV", text("GGHEADER"), text("OPTYPE")), {"op": "D"}, "DELETE"),
    (call("GETENV", text("GGHEADER"), text("OPTYPE")), {"op": "U"}, UNDECIDED),
    (call("STREQ", call("GETENV", text("GGHEADER"), text("OPTYPE")), text("DELETE")), {"op": "U"}, "0"),
    (call("GETENV", text("GGHEADER"), text("BEFOREAFTERINDICATOR")), {"op": "D"}, "BEFORE"),
    (call("GETENV", text("GGHEADER"), text("BEFOREAFTERINDICATOR")), {"op": "U"}, "AFTER"),
]


@pytest.mark.parametrize(("expression", "row", "result"), EXAMPLES)
def test_an_example_of_the_manual(expression: Expression, row: dict[str, Any], result: object) -> None:
    assert compute(expression, [row]) == [result]


def test_a_batch_without_operations_has_no_values() -> None:
    assert [compute(expression, []) for expression, *_ in EXAMPLES] == [[]] * len(EXAMPLES)


def test_each_function_has_an_example_or_a_refusal() -> None:
    shown = {name for expression, *_ in EXAMPLES for name in names_in(expression)}
    assert {name for name, function in FUNCTIONS.items() if function.compile} - shown == set()


def names_in(expression: Expression) -> set[str]:
    """The names of the functions in an expression."""
    if isinstance(expression, Call):
        return {expression.name}.union(*map(names_in, expression.arguments))
    if isinstance(expression, Operation):
        return names_in(expression.right) | (names_in(expression.left) if expression.left else set())
    return set()


def holds(expression: Expression, row: dict[str, Any], is_where: bool = True) -> object:
    return decide(expression, [row], is_where)[0]


@pytest.mark.parametrize(
    ("symbol", "right", "values"),
    [
        ("=", number("5"), {"5.0": True, "05": True, "6": False, None: None, MISSING: MISSING, "x": UNDECIDED}),
        ("<>", number("5"), {"5.0": False, "6": True, None: None, MISSING: MISSING}),
        (">=", number("-5"), {"-5": True, "-6": False, "1e3": True, "9" * 100: True}),
        ("=", Word("NULL", span()), {"5": False, None: True, MISSING: MISSING}),
        ("<>", Word("NULL", span()), {"5": True, None: False, MISSING: MISSING}),
        ("=", Word("PRESENT", span()), {"5": True, None: UNDECIDED, MISSING: False}),
        ("=", Word("ABSENT", span()), {"5": False, None: False, MISSING: True}),
        ("<>", Word("ABSENT", span()), {"5": True, None: True, MISSING: False}),
    ],
)
def test_a_comparison_has_four_states(symbol: str, right: Expression, values: dict[str | None, object]) -> None:
    for value, result in values.items():
        assert holds(operation(symbol, column("a"), right), {"A": value}) == result, value


def test_a_where_compares_texts() -> None:
    rows = ["CA", "CA ", "ca", None, MISSING]
    where = operation("=", C, text("CA"))
    assert decide(where, [{"C": row} for row in rows], True) == [True, UNDECIDED, False, None, MISSING]


def test_and_and_or_stop_early() -> None:
    present = operation("=", A, Word("PRESENT", span()))
    both = operation("AND", present, gt(A, number("1")))
    assert [holds(both, {"A": value}) for value in ("2", "1", None, MISSING)] == [True, False, None, False]
    either = operation("OR", gt(A, number("1")), gt(B, number("1")))
    rows = [("2", MISSING), ("1", MISSING), (MISSING, "2"), (None, "1"), (None, "2"), ("1", "2")]
    found = [holds(either, {"A": a, "B": b}) for a, b in rows]
    assert found == [True, MISSING, MISSING, None, UNDECIDED, True]


@pytest.mark.parametrize(
    ("expression", "is_where", "message"),
    [
        (operation("*", operation("+", A, B), B), False, "no page says in which order GoldenGate applies `+`, `*`"),
        (operation("-", A, operation("-", A, B)), False, "in which order GoldenGate applies `-`"),
        (operation(">", operation("+", A, B), B), False, "in which order"),
        (operation("AND", operation("OR", gt(A, B), gt(A, B)), gt(A, B)), False, "`OR`, `AND`"),
        (gt(gt(A, B), B), False, "in which order"),
        (operation("-", None, operation("+", A, B)), False, "sign before an operation"),
        (operation("=", C, text("x")), False, "compare texts with @STREQ"),
        (operation("<", C, text("x")), True, "how GoldenGate orders texts"),
        (operation("=", A, text("1")), True, "'1' is a text"),
        (operation("=", column("F"), number("1")), True, "floating-point column in a WHERE"),
        (gt(operation("+", column("F"), A, True), A), False, "calculates with floating-point numbers"),
        (gt(enclosed("+", A, B), A), True, "WHERE, which has no arithmetic"),
        (call("STREQ", C, C), True, "WHERE, which has no functions"),
        (operation("=", A, Word("NULL", span())), False, "only a column of a WHERE"),
        (gt(A, Word("NULL", span())), True, "`>` with @NULL"),
        (gt(column("E"), A), False, "table GG.T has no column `E`"),
        (gt(column("a", quoted=True), A), False, "has no column `a`"),
        (gt(column("GGS_OP_TYPE"), A), False, "use @GETENV"),
        (text("x"), False, "is not a condition"),
        (call("STRAT", C), False, "unknown function @STRAT; did you mean @STRCAT?"),
        (call("STREQ", C), False, "@STREQ has 1 arguments; give at least 2"),
        (call("STREQ", C, C, C), False, "give at most 2"),
        (call("RANGE", number("1"), number("2")), False, "its hash is not published"),
        (call("DATENOW"), False, "each run would have another time"),
        (call("GETENV", text("LAG"), text("SEC")), False, "does not evaluate @GETENV ('LAG', 'SEC')"),
        (call("COLSTAT", word("INVALID")), False, "invalid value"),
        (call("COLSTAT", word("OTHER")), False, "unknown word; use `NULL`, `MISSING`, `INVALID`"),
        (call("COLTEST", text("x"), word("NULL")), False, "something else than a column"),
        (call("IF", gt(A, B), A), False, "without a third argument"),
        (call("STRNCAT", C), False, "at least 2"),
        (call("STRNCAT", C, number("1"), C), False, "number after each text"),
        (call("STREXT", C, number("3"), number("2")), False, "from 3 to 2"),
        (call("STREXT", C, number("0"), number("2")), False, "0 is less than 1"),
        (call("STREXT", C, A, number("2")), False, "only a whole number here"),
        (call("STRFIND", C, C), False, "only a text in quotes here"),
        (call("STRFIND", C, text("")), False, "of an empty text"),
        (call("STRSUB", C, text(r"\x00"), text("")), False, r"escape sequence `\x00`"),
        (call("STRSUB", C, text(r"\q"), text("")), False, r"escape sequence `\q`"),
        (call("STRSUB", C, text("a"), text("b"), text("c")), False, "pairs of texts"),
        (call("STRNUM", A, word("RIGHT")), False, "length of the target's column is not known"),
        (call("DATE", text("YYYY-MM-DD"), text("YYMMDD"), C), False, "lack `YYYY`"),
        (call("DATE", text("JTS"), text("YYMMDD"), C), False, "`JTS` in a mask"),
        (call("DATE", text("DDD"), text("YYMMDD"), C), False, "`DDD` in a mask"),
        (call("DATE", text("DD"), text("DD-DD"), C), False, "`DD` twice"),
        (call("DATE", text("DD"), text("DD"), C, text("MM")), False, "a mask for each column"),
        (call("DATEDIFF", text("HH"), C, C), False, "use 'DD' or 'SS'"),
        (call("AFTER", number("1")), False, "something else than a column"),
    ],
)
def test_what_is_refused_has_its_line(expression: Expression, is_where: bool, message: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        decide(expression, [], is_where)
    assert str(error.value).startswith("r.prm:3:5: error[GG16")
    assert message in str(error.value)


def test_a_deep_expression_is_compiled_once_or_refused() -> None:
    deep: Expression = A
    for _ in range(40):
        deep = call("COMPUTE", gt(call("IF", gt(deep, A), A, A), A))
    assert decide(deep, [{"A": "1", "B": "2"}]) == [False]
    for _ in range(2000):
        deep = call("COMPUTE", deep)
    with pytest.raises(ConfigurationError, match=r"r.prm:3:5: .*nested too deeply"):
        decide(deep, [])


def test_comparisons_below_and_need_no_parentheses_however_they_are_parsed() -> None:
    parts = (A, B, B, number("3"))
    trees = [
        operation("AND", gt(parts[0], parts[1]), gt(parts[2], parts[3])),
        gt(operation("AND", gt(parts[0], parts[1]), parts[2]), parts[3]),
        gt(parts[0], operation("AND", parts[1], gt(parts[2], parts[3]))),
    ]
    for tree in trees:
        rows = [{"A": "5", "B": "4"}, {"A": "5", "B": "3"}, {"A": "4", "B": "4"}]
        assert decide(tree, rows) == [True, False, False]
