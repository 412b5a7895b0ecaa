"""The mutation run: what it changes, and that its settings fit the project."""

from __future__ import annotations

import ast
from pathlib import Path

import mutation
import pytest
from coverage import CoverageData
from places import ROOT

SAMPLE = b'''"""A docstring is left alone."""
LIMIT = 3

def f(a: int = 1, *, flag: bool = True) -> int:
    assert a >= 0
    if flag and a < LIMIT:
        g(a, "text", "prose is for people")
        return a + 1
    for item, _ in zip(h(a), a, strict=True):
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
        ("arguments", "h(a), a", "a, h(a)"),
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


def test_an_import_executes_what_is_outside_of_functions() -> None:
    source = b"A = 1\nclass C:\n    b = 2\n    def f(self, c=3):\n        return 4\n"
    found = mutation.Mutator("m", source).found
    assert {mutant.new: mutant.at_import for mutant in found} == {"2": True, "3": True, "4": True, "5": False}


def test_what_is_not_ascii_does_not_move_the_places() -> None:
    (mutant,) = mutation.Mutator("m", "x = 'é ü'; y = a != b".encode()).found
    assert mutant.applied("x = 'é ü'; y = a != b".encode()) == "x = 'é ü'; y = a == b".encode()


def test_the_tests_of_a_mutant_are_those_that_execute_its_line(tmp_path: Path) -> None:
    test = "tests/config/test_properties.py::test_lines_are_counted_over_comments_blanks_and_continuations"
    mutation.record(tmp_path, [test])
    recorded = mutation.Record(tmp_path)
    module = "ggfmt/config/properties.py"
    assert recorded.digests[module] == mutation.digest(ROOT / module)
    assert recorded.seconds.keys() == {test}
    mutants = [mutant for mutant in mutation.mutants_of(module) if mutation.compiles(mutant)]
    guards: dict[str, set[str]] = {}
    for mutant in mutants:
        guards.setdefault(mutant.function, set()).update(recorded.guards(mutant))
    assert guards["_logical_lines"] == {test}
    assert guards["is_utf_16"] == set()
    assert guards[""] == {test}, "an import executes the line, and the test uses the module"
    executed = mutation.chosen(recorded, [module], None, 1)
    assert {mutant.function for mutant in executed} == {function for function, tests in guards.items() if tests}
    assert mutation.chosen(recorded, [module], 5, 1) == executed[:5]


def test_changes_that_change_nothing_are_such_as_are_made() -> None:
    for module in {key[0] for key in mutation.EQUIVALENT}:
        made = {mutant.key for mutant in mutation.Mutator(module, (ROOT / module).read_bytes()).found}
        assert [key for key in mutation.EQUIVALENT if key[0] == module and key not in made] == []
    assert all(reason for reason in mutation.EQUIVALENT.values())


def test_modules_are_named_and_excluded_by_parts_of_their_paths() -> None:
    modules = ["ggfmt/a/x.py", "ggfmt/b/x.py", "ggfmt/b/y.py"]
    assert mutation.matching([], [], modules) == modules
    assert mutation.matching(["b/"], ["x.py"], modules) == ["ggfmt/b/y.py"]
    assert mutation.matching([], ["a/", "y.py"], modules) == ["ggfmt/b/x.py"]
    with pytest.raises(SystemExit, match="no test executes"):
        mutation.matching(["a/"], ["x.py"], modules)


def test_slow_tests_of_a_mutant_come_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    CoverageData(str(tmp_path / "lines")).write()
    (tmp_path / "digests.json").write_text("{}")
    (tmp_path / "commit").write_text("HEAD")
    recorded = mutation.Record(tmp_path)
    recorded.seconds = {"a::slow": 20.0, "b::slow": 11.0, "b::quick": 1.0, "c::quick": 2.0}
    monkeypatch.setattr(recorded, "executing", lambda mutant: recorded.seconds.keys())
    (mutant,) = mutation.Mutator("m", b"x = 1").found
    assert recorded.guards(mutant) == ["b::quick", "c::quick", "a::slow"]
