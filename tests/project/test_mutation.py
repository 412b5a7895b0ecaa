"""The mutation run: what it changes, and that what it is told of the project is so."""

from __future__ import annotations

import ast

import mutation
from mutation_data import EQUIVALENT, GUARDED
from places import ROOT

SAMPLE = b'''"""A docstring is left alone."""
LIMIT = 3

def f(a: int = 1, *, flag: bool = True) -> int:
    assert a >= 0
    if flag and a < LIMIT:
        g(a, "text", "prose is for people")
        return a + 1
    for item in h(a):
        if not item:
            continue
        a += item
    raise ValueError(f"{a + 1}")
'''


def changes(source: bytes) -> set[tuple[str, str, str]]:
    found = mutation.Mutator("m", source).found
    return {(mutant.kind, source[mutant.start : mutant.end].decode(), mutant.new) for mutant in found}


def test_one_thing_is_changed_at_a_time() -> None:
    assert changes(SAMPLE) == {
        ("constant", "3", "4"),
        ("constant", "1", "2"),
        ("constant", "True", "False"),
        ("boolean", "and", "or"),
        ("comparison", "<", "<="),
        ("left out", 'g(a, "text", "prose is for people")', "None"),
        ("arguments", 'a, "text"', '"text", a'),
        ("constant", '"text"', "'textX'"),
        ("return", "a + 1", "None"),
        ("operator", "+", "-"),
        ("boolean", "not item", "(item)"),
        ("left out", "continue", "pass"),
        ("operator", "+=", "-="),
        ("operator", "+=", "="),
        ("left out", 'raise ValueError(f"{a + 1}")', "pass"),
    }


def test_a_mutant_is_its_module_but_for_one_place() -> None:
    for mutant in mutation.Mutator("m", SAMPLE).found:
        mutated = mutant.applied(SAMPLE)
        assert mutated != SAMPLE
        assert mutated[: mutant.start] == SAMPLE[: mutant.start]
        assert mutant.before == SAMPLE.splitlines()[mutant.line - 1].decode()
        assert mutant.after == mutated.splitlines()[mutant.line - 1].decode()
        ast.parse(mutated)


def test_what_is_not_ascii_does_not_move_the_places() -> None:
    (mutant,) = mutation.Mutator("m", "x = 'é ü'; y = a != b".encode()).found
    assert mutant.applied("x = 'é ü'; y = a != b".encode()) == "x = 'é ü'; y = a == b".encode()


def test_guarded_modules_and_their_tests_are_there() -> None:
    assert len(GUARDED) >= 25
    for module, tests in GUARDED.items():
        assert mutation.Mutator(module, (ROOT / module).read_bytes()).found, module
        assert [test for test in tests if not (ROOT / test).exists()] == [], module


def test_changes_that_change_nothing_are_such_as_are_made() -> None:
    for module in {key[0] for key in EQUIVALENT}:
        made = {mutant.key for mutant in mutation.Mutator(module, (ROOT / module).read_bytes()).found}
        assert [key for key in EQUIVALENT if key[0] == module and key not in made] == []
    assert all(reason for reason in EQUIVALENT.values())
