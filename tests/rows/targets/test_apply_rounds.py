"""`ggfmt apply` moves rows as the source did: a short form of `tests/tools/prove_live.py --schemas`."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import mariadb
import pytest
from apply_rounds import Rounds, differences
from apply_schemas import Reference, Table
from mariadb_rounds import MariaDBRounds
from postgres import Server, server_or_skip


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with server_or_skip() as started, pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("PG")]:
            patch.delenv(name)
        yield started


@pytest.fixture(scope="module")
def running_mariadb() -> Iterator[mariadb.Server]:
    with mariadb.server_or_skip() as started:
        yield started


@pytest.mark.parametrize("seed", range(6))
def test_the_target_equals_the_source_after_each_round(running: Server, tmp_path: Path, seed: int) -> None:
    rounds = Rounds(running, tmp_path, Random(seed), Counter())
    for _ in range(2):
        assert list(rounds.check_round()) == []


@pytest.mark.parametrize("seed", range(3))
def test_a_mariadb_equals_the_source_after_each_round(
    running: Server, running_mariadb: mariadb.Server, tmp_path: Path, seed: int
) -> None:
    rounds = MariaDBRounds(running, tmp_path, Random(seed), Counter(), running_mariadb)
    for _ in range(2):
        assert list(rounds.check_round()) == []


MOVE = "update {}.t0 set id = 9 where id = 1"
AGAIN = "delete from {0}.t0 where id = 2; insert into {0}.t0 values (3, 2)"
# What happens in the source and in the target, and how the differences begin.
CHANGES = [
    (MOVE, MOVE.replace("update", "update only"), []),
    (MOVE, "insert into {0}.t0 values (9, 'x'); update {0}.t1 set t0_id = 9; delete from only {0}.t0 where id = 1",
     ["t0: moved row, own column (9,), own: 'x'", "t0: triggers of too many rows"]),
    (AGAIN, "", []),
    (AGAIN, "update only {}.t0 set own = 'dflt' where id = 2", ["t0: again own column (2,), own: 'dflt'"]),
    ("insert into {}.t0 values (3, 5)", "insert into {}.t0 values (5, 'x')", ["t0: new row, own column (5,)"]),
    ("", "delete from {}.t1", ["t1: lost row (1,)"]),
    ("", "update {}.t1 set t0_id = null", ["t1: wrong values (1,), ['t0_id']"]),
    ("", "insert into {}.t0 values (8)", ["t0: extra row (8,)", "t0: triggers of too many rows"]),
    ("", "update {}.t1 set own = 'x'", ["t1: untouched row, own column (1,), own: 'x'"]),
    ("", "update only {}.t0 set own = own where id = 1", ["t0: untouched row, own column (1,), stamp"]),
    ("", "delete from {}.t0_heir", ["t0: changed inheritance child"]),
]  # fmt: skip


@pytest.mark.parametrize(("source", "target", "expected"), CHANGES)
def test_the_comparison_finds_what_is_wrong(
    running: Server, tmp_path: Path, source: str, target: str, expected: list[str]
) -> None:
    parent = Table(
        "t0", {"id": "int"}, {"id": "int"}, own={"own": "dflt", "stamp": ...}, has_triggers=True, has_heir=True
    )
    child = Table("t1", {"id": "int"}, {"id": "int", "t0_id": "int"}, own={"own": "dflt"})
    child.references.append(Reference(parent, ("t0_id",), "cascade", "cascade", ""))
    rounds = Rounds(running, tmp_path, Random(0), Counter(), [parent, child])
    running.run("truncate source.t0, source.t1; insert into source.t0 values (1, 1), (2, 2)")
    running.run("insert into source.t1 values (1, 1, 1)")
    rounds.restart()
    before = rounds.dump_anew()
    running.run(f"{source.format('source')}; {target.format('target')}")
    found = list(differences(rounds.tables, before, rounds.dump()))
    assert [text[: len(start)] for text, start in zip(found, expected, strict=True)] == expected
