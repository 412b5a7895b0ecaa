"""The mapping of batches: random expressions as an oracle evaluates them, columns, keys, images and filters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from expression_oracle import Undecided, evaluate, textual, truth
from expressions import (
    MISSING,
    TABLE,
    UNDECIDED,
    batch_of,
    call,
    column,
    compute,
    condition,
    decide,
    number,
    operation,
    span,
    statement,
    text,
)

from ggfmt.diagnostics.diagnostic import Abend, ConfigurationError
from ggfmt.model.change import ChangeBatch, ImageColumn
from ggfmt.model.table import Column, Kind, SqlType, TableDef
from ggfmt.replicat.engine import compile_mapping
from ggfmt.replicat.statements import (
    Call,
    ColumnMatches,
    ColumnReference,
    Expression,
    Filter,
    MapStatement,
    Word,
    WrittenName,
)

ROWS = 10_000
_NUMBERS = ["0", "1", "-1", "2", "10", "7.50", "-0.25", "007", "1e2", "12345678901234567890", "9" * 45, "x", ""]
_TEXTS = ["", "a", "A", "ab ", " ab", "abc", "ABCabc", "é", "€ 5", "12", "0", "1.0", "b" * 40]


def rows_of(random: Random, count: int = ROWS) -> list[dict[str, Any]]:
    numbers, texts = [*_NUMBERS, None, MISSING], [*_TEXTS, None, MISSING]
    # Most operations have usual values, so that few results are undecided.
    weights = [6] * 10 + [1, 1, 1, 2, 2]
    return [
        {
            "op": random.choice("IUD"),
            **dict(zip("AB", random.choices(numbers, weights, k=2), strict=True)),
            **dict(zip("CD", random.choices(texts, k=2), strict=True)),
        }
        for _ in range(count)
    ]


class Expressions:
    """Draw expressions of a depth."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def _pick(self, *makers: Any) -> Any:
        return self._random.choice(makers)()

    def number(self, depth: int) -> Any:
        if depth <= 0:
            return self._pick(
                lambda: column("A"), lambda: column("B"), lambda: number(self._random.choice(_NUMBERS[:6]))
            )
        symbol = self._random.choice("+-*/\\")
        texts = self._random.sample(_TEXTS[1:], 2)
        return self._pick(
            lambda: operation(symbol, self.number(depth - 1), self.number(depth - 1), True),
            lambda: call("COMPUTE", self.number(depth - 1)),
            lambda: call("STRLEN", self.text(depth - 1)),
            lambda: call("STRFIND", self.text(depth - 1), text(texts[0]), number(self._random.choice("123"))),
            lambda: call("STRCMP", self.text(depth - 1), self.text(depth - 1)),
            lambda: call("STREQ", self.text(depth - 1), self.text(depth - 1)),
            lambda: call("VALONEOF", call("STRTRIM", self.text(depth - 1)), *map(text, texts)),
            lambda: call("NUMSTR", self.text(0)),
        )

    def text(self, depth: int) -> Any:
        if depth <= 0:
            return self._pick(lambda: column("C"), lambda: column("D"), lambda: text(self._random.choice(_TEXTS)))
        one = self._random.choice("123")
        old = self._random.choice(_TEXTS[1:])
        return self._pick(
            lambda: call("STRCAT", self.text(depth - 1), self.value(depth - 1)),
            lambda: call("STRNCAT", self.text(depth - 1), number(one), self.text(0), number("2")),
            lambda: call("STREXT", self.text(depth - 1), number(one), number("3")),
            lambda: call("STRSUB", self.text(depth - 1), text(old), text("-"), text("a"), text("")),
            lambda: call("STRUP", self.text(depth - 1)),
            lambda: call(self._random.choice(["STRLTRIM", "STRRTRIM", "STRTRIM"]), self.text(depth - 1)),
            lambda: self.choice(depth - 1),
        )

    def choice(self, depth: int) -> Call:
        if self._random.random() < 0.5:
            return call("IF", self.condition(depth), self.value(depth), self.value(depth))
        default = [self.value(depth)] if self._random.random() < 0.5 else []
        pairs = [part for _ in range(2) for part in (self.condition(depth), self.value(depth))]
        return call("EVAL", *pairs, *default)

    def value(self, depth: int) -> Any:
        return self._pick(lambda: self.number(depth), lambda: self.text(depth))

    def condition(self, depth: int) -> Any:
        words = self._random.sample(["PRESENT", "NULL", "MISSING"], self._random.randint(1, 2))
        if depth <= 0:
            return call("COLTEST", column(self._random.choice("ABCD")), *(Word(each, span()) for each in words))
        symbol = self._random.choice(["=", "<>", "<", "<=", ">", ">="])
        joint = self._random.choice(["AND", "OR"])
        return self._pick(
            lambda: operation(symbol, self.number(depth - 1), self.number(depth - 1), True),
            lambda: operation(joint, self.condition(depth - 1), self.condition(depth - 1), True),
            lambda: self.number(depth - 1),
        )

    def where(self, depth: int) -> Any:
        """A condition without functions, of numbers alone."""
        joint, symbol = self._random.choice(["AND", "OR"]), self._random.choice(["=", "<>", "<", ">="])
        state = Word(self._random.choice(["NULL", "ABSENT"]), span())
        if depth > 0:
            return operation(joint, self.where(depth - 1), self.where(depth - 1), True)
        return self._pick(
            lambda: operation(symbol, self.number(0), self.number(0), True),
            lambda: operation(self._random.choice(["=", "<>"]), column(self._random.choice("ABCD")), state, True),
        )


def by_oracle(expression: Expression, row: dict[str, Any], is_condition: bool) -> Any:
    try:
        value = evaluate(expression, row)
        return truth(value) if is_condition else textual(value)
    except Undecided:
        return UNDECIDED


@pytest.mark.parametrize("seed", range(6))
def test_random_expressions_are_what_the_oracle_makes_of_them(seed: int) -> None:
    random = Random(seed)
    rows = rows_of(random, ROWS // 3)
    draw = Expressions(random)
    for depth in range(4):
        value, test, where = draw.choice(depth), draw.condition(depth), draw.where(depth % 3)
        for expression, made in (
            (value, compute(value, rows)),
            (test, decide(test, rows)),
            (where, decide(where, rows, True)),
        ):
            wanted = [by_oracle(expression, row, expression is not value) for row in rows]
            unlike = [(row, one, other) for row, one, other in zip(rows, made, wanted, strict=True) if one != other]
            assert not unlike[:2], expression


def mapped_row(row: dict[str, Any], columns: dict[str, Expression], filters: list[Filter]) -> Any:
    """The images of a mapped operation, `filtered`, or MISSING; UNDECIDED if a value that is needed is that."""
    for each in filters:
        if row["op"] in each.tested:
            holds = by_oracle(each.condition, row, True)
            if holds is not True:
                return holds if holds in (MISSING, UNDECIDED) else "filtered"
    values = {name: by_oracle(value, row, False) for name, value in columns.items()}
    if UNDECIDED in values.values():
        return UNDECIDED
    new = [values.get(name, row.get(name)) for name in (*TABLE.column_names, "NEW")]
    if row["op"] == "D":
        return new, None
    old = row.get("before")
    plain = {name: value.name.text for name, value in columns.items() if isinstance(value, ColumnReference)}
    lacking = dict.fromkeys(columns, MISSING) | {name: (old or {}).get(source) for name, source in plain.items()}
    return old and [lacking.get(name, old.get(name)) for name in (*TABLE.column_names, "NEW")], new


@pytest.mark.parametrize("seed", [0, 1, 4])
def test_random_mappings_are_what_the_oracle_makes_of_them(seed: int) -> None:
    random = Random(f"mapping {seed}")
    draw = Expressions(random)
    rows = rows_of(random, ROWS)
    for row, old in zip(rows, rows_of(random, ROWS), strict=True):
        if row["op"] == "U" and random.random() < 0.5:
            row["before"] = old
    columns: dict[str, Expression] = {"B": column("A"), "C": draw.choice(1), "D": draw.choice(2), "NEW": draw.choice(0)}
    filters = [condition(draw.condition(1), random.choice(["IUD", "U", "ID"])), condition(draw.where(1), "IUD", True)]
    made = [(row, mapped_row(row, columns, filters)) for row in rows]
    decided = [(row, result) for row, result in made if result != UNDECIDED]
    wanted = [result for _, result in decided]
    mapping = compile_mapping(statement(columns, filters), TABLE)
    found, dropped, missing = mapping.apply(batch_of([row for row, _ in decided]), before_images=False)
    assert (dropped, missing) == (wanted.count("filtered"), wanted.count(MISSING))
    assert images(found) == [result for result in wanted if result not in ("filtered", MISSING)]
    assert len(decided) > ROWS // 4
    assert len(found) > ROWS // 50
    with pytest.raises(Abend, match="GG412"):
        mapping.apply(batch_of(rows), before_images=False)


def images(batch: ChangeBatch) -> list[Any]:
    """The before and after images of all operations."""
    sides = [
        [
            image(side.columns, row) if side.exists is None or side.exists[row].as_py() else None
            for row in range(len(batch))
        ]
        for side in (batch.before, batch.after)
    ]
    return [*zip(*sides, strict=True)]


TARGET = TableDef("GG.X", (Column("A", SqlType(Kind.STRING, 9), key=1), Column("NEW"), Column("Z", SqlType(Kind.DATE))))


def image(columns: Sequence[ImageColumn], row: int) -> list[Any]:
    return [
        MISSING if column.present is not None and not column.present[row].as_py() else column.values[row].as_py()
        for column in columns
    ]


def mapped(
    batch: ChangeBatch, *given: Any, target: TableDef | None = None, **more: Any
) -> tuple[Any, list[Any], list[Any]]:
    """The names of the mapped columns, and the before and after images of all operations."""
    result, _, _ = compile_mapping(statement(*given, **more), TABLE, target).apply(batch, before_images=False)
    before, after = map(list, zip(*images(result), strict=True))
    return result.table.column_names, before, after


def test_a_mapping_without_defaults_has_its_columns_alone() -> None:
    batch = batch_of([{"A": "1", "C": "x"}, {"op": "D", "A": "2", "C": None}, {"A": MISSING}])
    made = mapped(batch, {"ID": column("a"), "UP": call("STRTRIM", text(" k "))}, defaults=False)
    assert made == (("ID", "UP"), [None, ["2", "k"], None], [["1", "k"], None, [MISSING, "k"]])


def test_the_before_image_of_an_update_has_plain_columns() -> None:
    batch = batch_of(
        [{"op": "U", "A": "1", "C": "new", "before": {"A": "1", "C": "old"}}, {"op": "D", "A": "2", "C": "d"}]
    )
    columns: dict[str, Expression] = {"c": call("STRUP", column("C")), "D": column("C")}
    names, before, after = mapped(batch, columns)
    assert names == TABLE.column_names
    assert before == [["1", None, MISSING, "old", None], ["2", None, "D", "d", None]]
    assert after == [["1", None, "NEW", "new", None], None]
    with pytest.raises(Abend, match=r"r.prm:3:5, table GG.T, column C, position 0: .*before image of an update"):
        compile_mapping(statement(columns), TABLE).apply(batch)
    with pytest.raises(Abend, match="before image of an update"):  # it may be a change of the key
        compile_mapping(statement({"A": call("COMPUTE", column("A"))}), TABLE).apply(batch, before_images=False)


def test_defaults_find_columns_of_a_target() -> None:
    batch = batch_of([{"A": "1", "C": "x"}])
    assert mapped(batch, None, target=TARGET) == (("A", "NEW", "Z"), [None], [["1", MISSING, MISSING]])
    assert mapped(batch, {"new": column("C")}, target=TARGET, defaults=False)[2] == [[MISSING, "x", MISSING]]
    matches = ColumnMatches(names=(("Z", "C"),), prefixes=("NE",), suffixes=("W",))
    assert mapped(batch, None, target=TARGET, matches=matches)[2] == [["1", MISSING, "x"]]
    found = compile_mapping(
        statement(None, matches=ColumnMatches(prefixes=("T_",))), TABLE, TableDef("X", (Column("T_C"),))
    )
    assert [each.place for each in found.columns or ()] == [2]
    padded = {"A": call("STRNUM", column("A"), Word("RIGHTZERO", span()))}
    assert mapped(batch, padded, target=TARGET)[2] == [["000000001", MISSING, MISSING]]


def test_types_and_keys_of_a_target() -> None:
    columns: dict[str, Expression] = {
        "ID": column("A"),
        "SUM": operation("+", column("A"), column("B")),
        "C": number("1"),
        "T": column("D"),
    }
    found = compile_mapping(statement(columns, defaults=False), TABLE)
    assert [str(each.type) for each in found.table.columns] == ["number", "number", "string", "string"]
    assert found.table.key_names == ("ID",)
    assert found.assumptions == (
        "column `SUM` has the type number, from its expression (r.prm:3:5)",
        "column `C` has the type string, from the column of the source with its name (r.prm:3:5)",
    )
    assert compile_mapping(statement(columns, key=(WrittenName("sum"), WrittenName("T"))), TABLE).table.key_names == (
        "SUM",
        "T",
    )
    assert compile_mapping(statement(columns), TABLE, None).table.key_names == ("A",)
    assert compile_mapping(statement(None), TABLE, TARGET).table == TARGET
    lost = compile_mapping(statement({"T": column("D")}, defaults=False), TABLE)
    assert (lost.table.stated_key, len(lost.assumptions)) == ((), 1)


@pytest.mark.parametrize(
    ("made", "target", "message"),
    [
        (
            statement({"Q": column("A")}),
            TARGET,
            r"r.prm:3:5: error\[GG160\] target GG.X has no column `Q` \(OGG-00919\)",
        ),
        (statement({"c": column("A"), "C": column("B")}), None, "COLMAP names column `C` twice"),
        (statement({"new": column("A"), "NEW": column("B")}), None, "COLMAP names column `new` twice"),
        (statement(None, matches=ColumnMatches(prefixes=("T_",))), None, "COLMATCH needs the columns of the target"),
        (statement(None, key=(WrittenName("Q"),)), None, "the target has no column `Q` of KEYCOLS"),
        (statement({"Z": call("DATE", text("DD"), text("DD"), column("C"))}), TARGET, "GoldenGate corrects this mask"),
    ],
)
def test_a_mapping_is_refused(made: MapStatement, target: TableDef | None, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        compile_mapping(made, TABLE, target)


def test_filters_count_what_they_drop() -> None:
    rows = [{"op": op, "A": value} for op in "IUD" for value in ("1", "9", None, MISSING)] + [{"op": "T"}]
    above = operation(">", column("A"), number("5"))
    for tested, dropped, missing in (("IUD", 6, 3), ("U", 2, 1), ("ID", 4, 2)):
        kept, *counts = compile_mapping(statement(None, [condition(above, tested)]), TABLE).apply(batch_of(rows))
        assert counts == [dropped, missing]
        assert len(kept) == len(rows) - dropped - missing
    both = [condition(above), condition(operation("<", column("B"), number("1")))]
    result, *counts = compile_mapping(statement(None, both), TABLE).apply(
        batch_of([{"A": "9", "B": MISSING}, *rows[:4]])
    )
    assert (len(result), counts) == (0, [3, 2])


def test_an_undecided_value_stops_where_it_is_needed() -> None:
    rows: list[dict[str, Any]] = [{"A": "1", "C": "x"}, {"A": "9", "C": None}]
    columns = {"NEW": call("STRUP", column("C"))}
    with pytest.raises(Abend) as error:
        compile_mapping(statement(columns), TABLE).apply(batch_of(rows))
    place = "r.prm:3:5, table GG.T, column NEW, position 1"
    assert str(error.value).startswith(f"{place}: error[GG412] no page says what a function of texts makes of NULL")
    filters = [condition(operation("<", column("A"), number("5")))]
    assert compile_mapping(statement(columns, filters), TABLE).apply(batch_of(rows))[1:] == (1, 0)
    with pytest.raises(Abend, match=r"r.prm:3:5, table GG.T, position 1: error\[GG412\] the value is not a number"):
        compile_mapping(statement(None, filters), TABLE).apply(batch_of([rows[0], {"A": "x"}]))


def test_plain_columns_keep_what_their_values_are() -> None:
    batch = batch_of([{"A": "1", "C": "{}"}])
    flags = pa.array([True], pa.bool_())
    marked = ImageColumn(batch.after.columns[2].values, json=flags, unavailable=flags)
    given = replace(
        batch, after=replace(batch.after, columns=(*batch.after.columns[:2], marked, *batch.after.columns[3:]))
    )
    result, _, _ = compile_mapping(statement({"NEW": column("C")}, defaults=False), TABLE).apply(given)
    assert result.after.columns == (marked,)


def test_images_of_a_batch_with_one_image_each_stay_shared() -> None:
    batch = batch_of([{"A": "1"}, {"op": "D", "A": "2"}])
    shared = replace(batch, after=replace(batch.after, columns=batch.before.columns))
    result, _, _ = compile_mapping(statement({"NEW": column("A"), "B": number("1")}), TABLE).apply(shared)
    assert result.before.columns is result.after.columns
    unchanged, _, _ = compile_mapping(statement(), TABLE).apply(shared)
    assert unchanged is shared


def test_key_updates_stay_those_of_the_reader_with_the_same_key() -> None:
    batch = replace(batch_of([{"op": "U", "A": "1", "B": "2"}]), key_update=pa.array([True]))
    assert compile_mapping(statement({"ID": column("A")}, defaults=False), TABLE).apply(batch)[0].key_update is not None
    keyed = statement({"ID": column("A")}, key=(WrittenName("B"),))
    assert compile_mapping(keyed, TABLE).apply(batch)[0].key_update is None


def test_tokens_are_a_need() -> None:
    batch = batch_of([{"A": "1", "tokens": {"X": "t"}}, {"A": "2", "tokens": {"X": "u"}}])
    filters = [condition(operation(">", column("A"), number("1")))]
    result, _, _ = compile_mapping(statement({"T": call("TOKEN", text("x"))}, filters), TABLE).apply(batch)
    assert image(result.after.columns, 0)[-1] == "u"
    assert compile_mapping(statement({"T": call("TOKEN", text("x"))}), TABLE).needs == {"tokens"}
    assert compile_mapping(statement({"T": column("A")}), TABLE).needs == set()


@pytest.mark.example("GG160", "GG161", "GG412")
def test_the_examples_on_the_pages_of_the_codes() -> None:
    table = TableDef("GG.TCUSTORD", (Column("CUST_CODE"), *(Column(f"PRODUCT_{name}") for name in ("PRICE", "AMOUNT"))))
    code, price, amount = (column(name) for name in table.column_names)
    product = [operation("*", price, amount, enclosed) for enclosed in (False, True)]
    upper = call("STRUP", code)
    examples = {
        "GG160": [statement({"TOTAL": call("STRCAT", *given)}) for given in ((), (code, text("-")))],
        "GG161": [statement(None, [condition(operation(">", each, number("10000")))]) for each in product],
        "GG412": [
            statement({"NAME": value})
            for value in (upper, call("IF", call("COLTEST", code, Word("PRESENT", span())), upper, code))
        ],
    }
    for name, (before, after) in examples.items():
        batch = batch_of([{"CUST_CODE": None if name == "GG412" else "WILL"}], table)
        with pytest.raises((Abend, ConfigurationError), match=name):
            compile_mapping(before, table).apply(batch)
        compile_mapping(after, table).apply(batch)
