"""The reference of consolidation on small stories, with what they come to spelled out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from consolidation_reference import Definition, Lost, Table, Version, consolidated, counted, net_changes, until
from round_trips import Operation, Row

COLUMNS = ("K", "A", "B")


def insert(**image: str | None) -> Operation:
    return Operation("I", None, image)


def update(before: Row | None, **image: str | None) -> Operation:
    return Operation("U", before, image)


def delete(**image: str | None) -> Operation:
    return Operation("D", image, None)


TRUNCATE = Operation("T")


def table_of(*story: Operation | Definition, base: Sequence[Row] = ()) -> Table:
    return consolidated(story, COLUMNS, ("K",), base)


def rows(table: Table) -> list[tuple[str | None, ...]]:
    """The current rows in the order of their keys."""
    found = [table.in_order(row) for row in table.rows.values() if table.is_known(row)]
    return sorted((tuple(row.values()) for row in found), key=str)


def reasons(table: Table) -> list[tuple[str, int]]:
    return [(lost.reason, len(lost.operations)) for lost in table.lost]


WHOLE: Row = {"K": "1", "A": "a", "B": "b"}
FULL = insert(**WHOLE)


@pytest.mark.parametrize(
    ("story", "expected"),
    [
        pytest.param([FULL], [("1", "a", "b")], id="an insert is a row"),
        pytest.param([insert(K="1", B=None)], [("1", None, None)], id="what an insert leaves out is NULL"),
        pytest.param([FULL, insert(K="1", A="c")], [("1", "c", None)], id="nothing is carried over an insert"),
        pytest.param([FULL, update(None, K="1", B="c")], [("1", "a", "c")], id="what an update leaves out stays"),
        pytest.param([FULL, update(None, K="1", B=None)], [("1", "a", None)], id="NULL is a value"),
        pytest.param(
            [update({"K": "1", "A": "a", "B": "x"}, B="c")],
            [("1", "a", "c")],
            id="what is in the before image alone is unchanged",
        ),
        pytest.param([update(None, K="1", A="a", B="b")], [("1", "a", "b")], id="a full update makes a row"),
        pytest.param([FULL, delete(K="1")], [], id="a delete"),
        pytest.param([FULL, delete(K="1"), insert(K="1")], [("1", None, None)], id="nothing is carried over a delete"),
        pytest.param([delete(K="1"), delete(K="1")], [], id="a delete of nothing"),
        pytest.param([FULL, TRUNCATE, insert(K="2")], [("2", None, None)], id="a truncate"),
        pytest.param([FULL, update({"K": "1"}, K="2", B="c")], [("2", "a", "c")], id="a row moves to another key"),
        pytest.param([FULL, update({"K": "1"}, B="c")], [("1", "a", "c")], id="the key of the before image alone"),
        pytest.param(
            [FULL, update({"K": "1"}, K="2"), insert(K="1"), update({"K": "2"}, K="3"), update({"K": "1"}, K="2")],
            [("2", None, None), ("3", "a", "b")],
            id="a chain over a key that is used again",
        ),
        pytest.param([FULL, update({"K": "1"}, K="2"), update({"K": "2"}, K="1")], [("1", "a", "b")], id="and back"),
        pytest.param([insert(K=None, A="x")], [(None, "x", None)], id="NULL is a key"),
    ],
)
def test_what_is_in_the_table(story: list[Operation], expected: list[tuple[str | None, ...]]) -> None:
    table = table_of(*story)
    assert rows(table) == expected
    assert table.lost == []


def test_a_partial_update_of_a_row_that_was_never_seen() -> None:
    partial, deleted = update(None, K="1", B="c"), delete(K="2")
    table = table_of(partial, deleted, update(None, K="2", A="x"))
    assert (rows(table), reasons(table)) == ([], [("never seen", 1), ("never seen", 1)])
    assert table.lost[0] == Lost("never seen", (partial,))
    assert table_of(partial, delete(K="1")).lost == table_of(partial, TRUNCATE).lost == []
    assert rows(table_of(partial, update(None, K="1", A="a"))) == [("1", "a", "c")]


def test_an_operation_without_a_key_changes_no_row() -> None:
    for item in (insert(A="x"), update({"A": "x"}, B="y"), delete(A="x"), Operation("U"), Operation("I", {"K": "1"})):
        table = table_of(FULL, item)
        assert (rows(table), table.lost) == ([("1", "a", "b")], [Lost("no key", (item,))])
    assert table_of(insert(A="x"), TRUNCATE).lost == []


def test_a_row_that_is_overtaken_is_gone_and_the_other_one_is_unknown() -> None:
    other, moves = insert(K="2", A="x", B="y"), update({"K": "1"}, K="2", B="c")
    table = table_of(FULL, other, moves)
    assert rows(table) == []
    assert table.lost == [Lost("overtaken", (other,)), Lost("collision", (FULL, moves))]
    full = update({"K": "1"}, K="2", A="a", B="c")
    assert rows(table_of(FULL, other, full)) == [("2", "a", "c")]
    swapped = table_of(FULL, other, full, update({"K": "2"}, K="1", A="x", B="y"))
    assert (rows(swapped), reasons(swapped)) == ([("1", "x", "y")], [("overtaken", 1)])
    assert table_of(FULL, other, moves, TRUNCATE).lost == []
    goes_on = update({"K": "2"}, K="3")  # it may be the one or the other that goes on
    assert (rows(table_of(FULL, other, full, goes_on)), reasons(table_of(FULL, other, full, goes_on))) == (
        [],
        [("overtaken", 1), ("collision", 3)],
    )
    assert rows(table_of(FULL, other, full, insert(K="2"), goes_on)) == [("3", None, None)]
    unseen = table_of(other, update({"K": "1"}, K="2", A="a", B="c"))
    assert (rows(unseen), reasons(unseen)) == ([("2", "a", "c")], [("overtaken", 1)])


def test_a_base_is_there_before_all_operations() -> None:
    base: list[Row] = [{"K": "1", "A": "a", "B": "b"}, {"K": "2", "A": None, "B": "x"}]
    assert rows(table_of(update(None, K="1", B="c"), base=base)) == [("1", "a", "c"), ("2", None, "x")]
    assert rows(table_of(update({"K": "1"}, K="3"), delete(K="2"), base=base)) == [("3", "a", "b")]
    assert rows(table_of(TRUNCATE, base=base)) == []
    assert reasons(table_of(update({"K": "1"}, K="2"), base=base)) == [("overtaken", 0), ("collision", 1)]


def test_columns_that_come_and_go() -> None:
    shorter, longer = Definition(("K", "A")), Definition(("K", "A", "C"))
    table = table_of(FULL, longer, insert(K="2", A="x", C="y"), insert(K="3"))
    assert rows(table) == [("1", "a", None), ("2", "x", "y"), ("3", None, None)]
    assert [sorted(row.defaults) for row in table.rows.values()] == [["C"], [], ["A", "C"]]
    assert rows(table_of(longer, update(None, K="1", A="a"))) == [("1", "a", None)]
    again = table_of(FULL, shorter, update(None, K="1", A="c"), Definition(COLUMNS))
    assert rows(again) == [("1", "c", None)]
    assert rows(table_of(FULL, Definition(COLUMNS))) == [("1", "a", "b")]
    told = table_of(FULL, shorter, Definition(COLUMNS), update(None, K="1", B="new"), update(None, K="2", A="x"))
    assert rows(told) == [("1", "a", "new"), ("2", "x", None)]
    moves = update({"K": "1"}, K="2", A="a")
    assert reasons(table_of(longer, FULL, insert(K="2", C="y"), moves))[1:] == [("collision", 2)]
    assert rows(table_of(FULL, insert(K="2"), moves, longer)) == [("2", "a", None)]


def test_versions_of_rows() -> None:
    changed, moved, gone = update(None, K="1", B="c"), update({"K": "1"}, K="2", A="x"), delete(K="2")
    partial, whole = update(None, K="3", B="p"), update(None, K="3", A="q")
    table = table_of(FULL, changed, partial, moved, gone, whole, base=[{"K": "4", "A": "o", "B": "o"}])
    found = [(tuple(version.values.values()), version.start, version.end) for version in table.versions]
    assert found == [
        (("1", "a", "b"), FULL, changed),
        (("1", "a", "c"), changed, moved),
        (("2", "x", "c"), moved, gone),
        (("4", "o", "o"), None, None),
        (("3", "q", "p"), whole, None),
    ]
    other = insert(K="2", A="x", B="y")
    full = update({"K": "1"}, K="2", A="a", B="b")
    values: Row = {"K": "2", "A": "x", "B": "y"}
    assert Version(values, other, full) in table_of(FULL, other, full).versions
    assert table_of(other, TRUNCATE).versions == [Version(values, other, TRUNCATE)]


def test_net_changes() -> None:
    def changes(before: Sequence[Operation], after: Sequence[Operation]) -> dict[str | None, tuple[str, Row]]:
        found = net_changes(before, [*before, *after], COLUMNS, ("K",))
        return {key: change for (key,), change in found.items()}

    two = insert(K="2")
    assert changes([FULL], [two]) == {"2": ("I", {"K": "2", "A": None, "B": None})}
    assert changes([FULL], [two, delete(K="2")]) == {}
    assert changes([FULL], [update(None, K="1", A="x")]) == {"1": ("U", {"K": "1", "A": "x", "B": "b"})}
    assert changes([FULL], [update(None, K="1", A="x"), update(None, K="1", A="a")]) == {}
    assert changes([FULL], [delete(K="1")]) == {"1": ("D", WHOLE)}
    assert changes([FULL], [delete(K="1"), insert(K="1")]) == {"1": ("U", {"K": "1", "A": None, "B": None})}
    assert changes([FULL], [TRUNCATE]) == {"1": ("D", WHOLE)}
    arrived = {"3": ("I", {"K": "3", "A": "a", "B": "b"})}
    assert changes([FULL], [update({"K": "1"}, K="3")]) == {"1": ("D", WHOLE), **arrived}
    unseen = {"K": "1", "A": None, "B": None}
    assert changes([], [update({"K": "1"}, K="3", A="a", B="b")]) == {"1": ("D", unseen), **arrived}
    assert changes([], [delete(K="1")]) == {"1": ("D", unseen)}
    assert changes([delete(K="5")], [delete(K="5")]) == changes([TRUNCATE], [delete(K="5")]) == {}
    assert changes([], [TRUNCATE, update(None, K="5", A="x", B="y")])["5"][0] == "I"
    assert changes([], [update(None, K="5", A="x")]) == {}
    assert changes([], [update(None, K="5", A="x", B="y")]) == {"5": ("U", {"K": "5", "A": "x", "B": "y"})}


def test_what_was_later_is_left_out() -> None:
    story = [
        Operation("I", None, {"K": number}, op_ts=None if number == "3" else f"2020-01-01 00:00:0{number}", pos=number)
        for number in "12345"
    ]
    columns = Definition(("K",))
    assert until(story, position="2") == story[:2]
    assert until(story, time="2020-01-01 00:00:04") == story[:4]
    assert until([*story, columns], position="0") == [columns]


def test_a_table_without_a_key_is_a_multiset() -> None:
    row: Row = {"K": "1", "A": None, "B": "b"}
    other: Row = {"K": "1", "A": "a", "B": "b"}
    twice = [insert(**row), insert(**row)]
    assert counted([*twice, update(row, **other)], COLUMNS) == Counter({("1", None, "b"): 1, ("1", "a", "b"): 1})
    assert counted([*twice, delete(**row), delete(**row)], COLUMNS) == {}
    assert counted([TRUNCATE, delete(**row)], COLUMNS, [row]) == {("1", None, "b"): -1}
    assert counted([insert(**row)], COLUMNS, [row]) == {("1", None, "b"): 2}
