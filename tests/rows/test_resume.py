"""Consolidations that go on where an interrupted one has stopped."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lake_tables import read_delta, read_iceberg
from mortal import Mortal
from runs import operation, snapshot, write_lines

import ggfmt
from ggfmt.rows import run as consolidation

SIZE = 2_000  # of a split
LAKES = {"delta": read_delta, "iceberg": read_iceberg}
PLAIN: dict[str, Any] = {"op_type": "?"}


def history(count: int, tables: int = 2, first: int = 0, key_updates: float = 0.2) -> Iterator[dict[str, Any]]:
    """Yield operations in their order; rows of the first operations are changed, deleted and moved to other keys."""
    chance, living = random.Random(first), dict[str, list[str]]()
    for number in range(first, first + count):
        table = f"GG.T{chance.randrange(tables)}"
        rows = living.setdefault(table, [str(key) for key in range(first)][:20])
        kind = chance.choice("IUUD") if rows else "I"
        if kind == "I":
            rows.append(str(number))
            yield operation(number, table, ID=str(number))
            continue
        row = chance.choice(rows)
        if kind == "D":
            rows.remove(row)
        change = operation(number, table, kind, ID=row)
        if kind == "U" and chance.random() < key_updates:
            rows[rows.index(row)] = str(number)
            change["after"] = {**change["after"], "ID": str(number)}
        yield change


class Place:
    """A consolidation of two files into a directory. `earlier`: operations that an earlier run has read."""

    def __init__(self, root: Path, patch: pytest.MonkeyPatch, earlier: int = 0, tables: int = 2, **given: Any) -> None:
        self.root, self.patch, self.earlier = root, patch, earlier
        self.rejected = "on_reject" in given
        self.given = {"key": "ID", "split_size": SIZE, "master": "none", "resume": True, **given}
        self.inputs = root / "in"
        self.inputs.mkdir()
        if earlier:
            write_lines(self.inputs / "0.json", history(earlier, tables))
            given = {**self.given, "output": root / "start", "resume": None}
            if "base" in given:
                given["base"] = None
            ggfmt.consolidate(self.inputs, **self.here(given, "start"))
        for number in (1, 2):
            lines = [*history(40, tables, earlier + 40 * number), *([PLAIN] if self.rejected else [])]
            write_lines(self.inputs / f"{number}.json", lines)

    def here(self, given: dict[str, Any], out: str) -> dict[str, Any]:
        return {**given, "checkpoint": self.root / f"{out}-seen"} if "checkpoint" in given else given

    def start(self, out: str) -> None:
        if self.earlier and "checkpoint" in self.given:
            for name in ("", "-seen"):
                shutil.copytree(self.root / f"start{name}", self.root / f"{out}{name}")
                for path in (self.root / f"{out}{name}").rglob("*.json"):
                    text = path.read_text()
                    path.write_text(text.replace(str(self.root / "start"), str(self.root / out)))

    def run(self, out: str, runner: Mortal, **given: Any) -> dict[str, Any]:
        self.patch.setattr(consolidation, "InThreads", lambda threads: runner)
        given = {**self.given, "output": self.root / out, **given}
        if "base" in given:
            given["base"] = self.root / "start"
        return ggfmt.consolidate(self.inputs, **self.here(given, out))

    def interrupted(self, out: str, lives: int, **given: Any) -> bool:
        try:
            self.run(out, Mortal(lives), **given)
        except KeyboardInterrupt:
            return True
        return False

    def written(self, out: str) -> tuple[Any, Any]:
        """Return the files of rows, and what the manifest says of them."""
        found = {name: text for name, text in snapshot(self.root / out).items() if not name.startswith("_ggfmt")}
        document = json.loads((self.root / out / "_ggfmt" / "manifest.json").read_text())
        names = [{**file, "path": file["path"].replace(document["run"], "")} for file in document["files"]]
        found = {name.replace(document["run"], ""): text for name, text in found.items()}
        return found, [document["tables"], document.get("rejects"), names]


KINDS: dict[str, dict[str, Any]] = {
    "rows": {},
    "history": {"history": True},
    "net changes": {"changes": True},
    "no key": {"key": None},
    "files of another format": {"to": "csv", "sort_by": "NAME"},
    "rejects": {"on_reject": "quarantine"},
    "many tables": {"tables": 70},
    "a merge": {"checkpoint": "", "earlier": 60},
    "a base": {"base": "", "earlier": 60},
}


@pytest.mark.parametrize("name", KINDS)
def test_a_resumed_consolidation_has_the_same_rows(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(tmp_path, monkeypatch, **KINDS[name])
    place.start("whole")
    whole = Mortal()
    place.run("whole", whole)
    lives = 0
    while True:
        place.start(f"out{lives}")
        if not place.interrupted(f"out{lives}", lives):
            break
        rest = Mortal(parallelism=1 + lives % 3)
        place.run(f"out{lives}", rest)
        assert place.written(f"out{lives}") == place.written("whole"), lives
        assert rest.ran.total() <= whole.ran.total() - lives
        assert not (tmp_path / f"out{lives}" / "_ggfmt" / "staging").exists()
        lives += 1
    assert lives == whole.ran.total() > 5
    assert whole.ran["_run_calls"]


@pytest.mark.parametrize("to", ["delta", "iceberg"])
def test_tables_of_a_lakehouse_are_not_read_twice(to: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(tmp_path, monkeypatch, to=to, checkpoint="")
    whole, lives = Mortal(), 0
    place.run("whole/lake", whole)
    reads = whole.ran["method"]
    while place.interrupted(f"out{lives}/lake", lives):
        rest = Mortal()
        place.run(f"out{lives}/lake", rest)
        for table in ("GG.T0", "GG.T1"):
            assert LAKES[to](tmp_path / f"out{lives}", table) == LAKES[to](tmp_path / "whole", table) != []
        assert rest.ran["method"] == max(reads - lives, 0)
        lives += 1
    assert lives == whole.ran.total() > reads > 3
