"""What is asked of every target: `RULES` by name. A rule gets a new target in a directory of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import pytest
from kafka_runs import Point, ended
from places import ROOT, SUPPORT

from contract.targets import (
    EDGES,
    FAR_INSTANTS,
    KEPT,
    LOST,
    TEXT,
    TYPES,
    WHOLE,
    Row,
    Target,
    canonical_rows,
    change,
    table_of,
)
from ggfmt.diagnostics.diagnostic import GgfmtError
from ggfmt.model.table import Kind, SqlType


@dataclass(frozen=True)
class Rule:
    ask: Callable[[Target], None]
    process: bool  # it starts processes
    of_place: bool  # the answer depends on where files are
    applies: Callable[[type[Target]], bool]


RULES: dict[str, Rule] = {}


def rule(
    process: bool = False, of_place: bool = True, applies: Callable[[type[Target]], bool] = lambda target: True
) -> Callable[..., None]:
    def add(ask: Callable[[Target], None]) -> None:
        RULES[ask.__name__] = Rule(ask, process, of_place, applies)

    return add


@contextmanager
def kept_or_refused(target: Target, aspect: str) -> Iterator[None]:
    """Run the block, which brings what some targets do not keep; there, the declared code is an error of the block, and
    nothing is left."""
    declared = target.loses.get(aspect)
    if declared is None:
        yield
        return
    with pytest.raises(GgfmtError, match=declared):
        yield
    assert target.is_empty(), "a run that was refused has left something"


def expect(target: Target, table: str, rows: list[Row], types: Mapping[str, SqlType] | None = None) -> None:
    expected = [
        {target.column(name): value for name, value in row.items()} for row in canonical_rows(rows, types or {})
    ]
    shown = {target.column(name): type for name, type in (types or {}).items()}
    assert canonical_rows(target.rows(table), shown, target.column("ID")) == expected


T = "S.T"


def inserted(*rows: Row, table: str = T, start: int = 1) -> list[Row]:
    return [change("I", number, table, after=row) for number, row in enumerate(rows, start)]


# Values


@rule()
def values_of_all_types(target: Target) -> None:
    """At the edges of their types, with NULL; and the values of a row stay if others change."""
    count = max(map(len, EDGES.values()))
    columns = {name: [*values, *[None] * count][:count] for name, values in EDGES.items()}
    rows: list[Row] = [
        {"ID": str(number + 1), **dict(zip(columns, values, strict=True))}
        for number, values in enumerate(zip(*columns.values(), strict=True))
    ]
    rows.append({"ID": str(count + 1), **dict.fromkeys(columns)})
    target.add(inserted(*rows))
    definitions = table_of(T, TYPES)
    target.run(definitions=definitions)
    expect(target, T, rows, TYPES)
    target.add([change("U", 50 + n, T, before=row, after={**row, "LONG": "7"}) for n, row in enumerate(rows)])
    target.run(definitions=definitions)
    expect(target, T, [{**row, "LONG": "7"} for row in rows], TYPES)


@rule(of_place=False)
def far_instants(target: Target) -> None:
    types = {"ID": TEXT, "INSTANT": TYPES["INSTANT"]}
    rows = [{"ID": str(number), "INSTANT": text} for number, text in enumerate(FAR_INSTANTS)]
    target.add(inserted(*rows))
    with kept_or_refused(target, "far instants"):
        target.run(definitions=table_of(T, types))
        expect(target, T, rows, types)


@rule(of_place=False)
def missing_null_and_empty(target: Target) -> None:
    rows: list[Row] = [{"ID": "1", "V": "", "W": "x"}, {"ID": "2", "V": None, "W": "x"}, {"ID": "3", "W": "x"}]
    target.add(inserted(*rows))
    target.run()
    lost = target.loses.get("missing") == LOST
    expect(target, T, [{"V": None, **row} for row in rows] if lost else rows)


# Names


@rule()
def quotes_in_names(target: Target) -> None:
    """In names of columns and tables, with a second run."""
    names = ['d"q', "s'q", "b`q", "p%41", "ä", "do.t", "back\\slash", "$dollar"]
    _named(target, "quotes", names, "S.Q'\"%41`T")


@rule()
def blanks_in_names(target: Target) -> None:
    _named(target, "blanks", ["a b", "co,mma", "semi;colon", "(x)", "e=q"], "S.A B")


@rule(of_place=False)
def columns_in_two_cases(target: Target) -> None:
    _named(target, "case", ["Name", "NAME", "name"], T)


def _named(target: Target, aspect: str, names: list[str], table: str) -> None:
    row = {"ID": "1", **{name: name for name in names}}
    target.add(inserted(row, table=table))
    with kept_or_refused(target, aspect):
        target.run()
        expect(target, table, [row])
    if aspect not in target.loses:
        new = {**row, names[0]: "new"}
        target.add([change("U", 5, table, before=row, after=new), change("I", 6, table, after={**row, "ID": "2"})])
        target.run()
        expect(target, table, [new, {**row, "ID": "2"}])


@rule()
def tables_in_two_cases(target: Target) -> None:
    row = {"ID": "1", "V": "a"}
    target.add([*inserted(row, table="S.T1"), *inserted({**row, "V": "b"}, table="S.t1", start=2)])
    with kept_or_refused(target, "table case"):
        target.run()
        expect(target, "S.T1", [row])
        expect(target, "S.t1", [{**row, "V": "b"}])


def _adds_columns(target: type[Target]) -> bool:
    return target.has_rows and not target.server


@rule(of_place=False, applies=_adds_columns)
def a_column_with_the_name_of_an_added_one(target: Target) -> None:
    """In each kind of rows; with a prefix, both are there."""
    row: Row = {"ID": "1", "_op": "add", "_state": "CA", "_valid_to_ts": "x"}
    target.add(inserted(row))
    kinds: list[Row] = [{"keep": "deleted"}, {"history": True}, {"changes": True}]
    for kind in kinds:
        with pytest.raises(GgfmtError, match="GG558"):
            target.run(checkpoint=None, **kind)
    assert target.is_empty()
    target.run(checkpoint=None, metadata_prefix="gg", **kinds[1])
    (found,) = target.rows(T)
    assert {name: found[name] for name in row} == row
    assert (found["gg_op"], found["gg_valid_to_ts"]) == ("I", None)


# Keys


@rule()
def keys_move_and_numbers_are_keys_by_value(target: Target) -> None:
    types = {"ID": SqlType(Kind.NUMBER), "V": TEXT}
    rows = [{"ID": str(number), "V": f"v{number}"} for number in range(1, 6)]
    target.add(inserted(*rows))
    target.run(definitions=table_of(T, types))
    target.add(
        [
            change("U", 11, T, before={"ID": "1.0", "V": "v1"}, after={"ID": "9", "V": "moved"}),
            change("D", 12, T, before={"ID": "2.00", "V": "v2"}),
            change("U", 13, T, before={"ID": "03", "V": "v3"}, after={"ID": "3.0", "V": "spelled"}),
            change("I", 14, T, after={"ID": "1", "V": "again"}),
        ]
    )
    target.run(definitions=table_of(T, types))
    left = [("1", "again"), ("3", "spelled"), ("4", "v4"), ("5", "v5"), ("9", "moved")]
    expect(target, T, [{"ID": key, "V": value} for key, value in left], types)


@rule(of_place=False)
def null_is_no_key(target: Target) -> None:
    """Not in a row; reported, or refused. An empty text is a key."""
    target.add(inserted({"ID": "1", "V": "a"}, {"ID": "", "V": "empty"}))
    target.run()
    target.add([change("I", 5, T, after={"ID": None, "V": "x"}), change("D", 6, T, before={"ID": None, "V": "x"})])
    declared = target.loses.get("null key")
    if declared is not None:
        with pytest.raises(GgfmtError, match=declared):
            target.run()
    else:
        said = target.run()
        assert target.unresolved(said) == (2 if target.has_rows else 0)
    expect(target, T, [{"ID": "1", "V": "a"}, {"ID": "", "V": "empty"}])


# Other programs, and kills


FIRST = [{"ID": str(number), "V": f"v{number}"} for number in range(1, 4)]
SECOND = [change("U", 10, T, before=FIRST[0], after={"ID": "1", "V": "new"}), change("D", 11, T, before=FIRST[1])]
LEFT = [{"ID": "1", "V": "new"}, FIRST[2]]


def _begun(target: Target) -> None:
    target.add(inserted(*FIRST))
    target.run()
    expect(target, T, FIRST)
    target.add(SECOND)


@rule()
def something_foreign_in_a_table(target: Target) -> None:
    _begun(target)
    target.add_foreign(T)
    before = target.rows(T)
    if target.foreign != KEPT:
        with pytest.raises(GgfmtError, match=target.foreign):
            target.run()
        assert target.rows(T) == before
        return
    target.run()
    key = target.column("ID")
    foreign, found = ([row for row in rows if str(row[key]) == "77"] for rows in (before, target.rows(T)))
    assert found == foreign
    expect(target, T, [*LEFT, *({"ID": "77", "V": None} for _ in foreign)])


@rule(applies=lambda target: target.compacts)
def a_compaction_by_another_program(target: Target) -> None:
    """The rows are those that the last run has left."""
    _begun(target)
    target.compact(T)
    target.run()
    expect(target, T, LEFT)
    target.add([change("D", 20, T, before=LEFT[0])])
    target.compact(T)
    target.run()
    expect(target, T, LEFT[1:])


@rule()
def a_table_that_was_dropped(target: Target) -> None:
    _begun(target)
    target.drop(T)
    _expect_outcome(target, target.dropped)


@rule(applies=lambda target: target.has_rows)
def a_file_of_a_table_that_was_removed(target: Target) -> None:
    """Rows of other keys were in it: no run goes on as if nothing had happened."""
    rows = [{"ID": str(number), "V": "v" * 50} for number in range(300)]
    target.add(inserted(*rows))
    size = {"file_size": "1k"} if not target.server else {}
    target.run(**size)
    if not target.remove_file(T):
        return
    target.add([change("U", 400, T, after={"ID": "1", "V": "new"})])
    expected = [{**row, "V": "new"} if row["ID"] == "1" else row for row in rows]
    with suppress(GgfmtError):
        target.run(**size)
        expect(target, T, expected)


@rule()
def a_table_that_was_made_again(target: Target) -> None:
    _begun(target)
    target.drop(T)
    target.make(T)
    _expect_outcome(target, target.made_again)


def _expect_outcome(target: Target, outcome: str) -> None:
    if outcome == WHOLE:
        target.run()
        expect(target, T, LEFT)
    elif outcome == LOST:
        target.run()
        assert canonical_rows(target.rows(T), {}) != LEFT, "the declared loss does not happen"
    else:
        for _ in range(2):  # also in the second run
            with pytest.raises(GgfmtError, match=outcome):
                target.run()


@rule(process=True, of_place=True)
def a_process_that_is_killed(target: Target) -> None:
    """At a point of its commit, in the first run and in a later one; the next run ends its work."""
    for lines, left in ((inserted(*FIRST), FIRST), (SECOND, LEFT)):
        target.add(lines)
        assert _killed(target) == -9
        target.run()
        expect(target, T, left)


def _killed(target: Target) -> int:
    at = json.dumps(vars(Point(target.point)))
    (target.directory / "tmp").mkdir(exist_ok=True)
    environment = {**os.environ, "TMPDIR": str(target.directory / "tmp"), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(SUPPORT / "kafka_runs.py"), at, *target.command()]
    process = subprocess.Popen(command, cwd=target.directory, env=environment, text=True, stderr=subprocess.PIPE)
    return ended(process)[0]
