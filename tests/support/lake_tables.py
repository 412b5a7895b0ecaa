"""Consolidations into tables of a lakehouse, and what other programs read there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from interrupted_commits import Died
from runs import write_lines

import ggfmt
from ggfmt.commit.store import Store
from ggfmt.rows.targets.lake import LakeTarget

Row = dict[str, Any]

# What a store changes, each call at once.
STEPS: tuple[str, ...] = ("write", "put", "move", "delete", "delete_tree", "sync_all", "share", "touch")
STEPS += ("make_link", "delete_link", "rename", "exchange")


def change(kind: str, number: int, table: str = "GG.A", **images: Row) -> Row:
    """Return an operation in GoldenGate JSON, at second and position `number`."""
    moment = f"2020-01-01 {number // 3600:02d}:{number // 60 % 60:02d}:{number % 60:02d}"
    return {"table": table, "op_type": kind, "op_ts": moment, "pos": f"{number:020d}", **images}


def consolidate(directory: Path, to: str, **settings: Any) -> dict[str, Any]:
    """Consolidate `directory/changes` into `directory/lake`, with a checkpoint unless `settings` say otherwise."""
    runner = {} if "spark" in settings else {"master": "none"}
    given = {"to": to, "key": "ID", "checkpoint": directory / "seen", **runner, **settings}
    return ggfmt.consolidate(directory / "changes", **{"output": directory / "lake", **given})


def add_changes(directory: Path, name: str, lines: Sequence[Row]) -> None:
    """Add a file of changes."""
    (directory / "changes").mkdir(exist_ok=True)
    write_lines(directory / "changes" / f"{name}.json", list(lines))


def read_delta(directory: Path, table: str) -> list[Row]:
    """Return the rows of a Delta table, sorted by their texts."""
    from deltalake import DeltaTable

    return _sorted(DeltaTable(str(directory / "lake" / table)).to_pyarrow_table().to_pylist())


def read_iceberg(directory: Path, table: str) -> list[Row]:
    """Return the rows of an Iceberg table in the embedded catalog, sorted by their texts."""
    from pyiceberg.catalog.sql import SqlCatalog

    catalog = SqlCatalog("default", uri=f"sqlite:///{directory}/lake/_catalog.db")
    return _sorted(catalog.load_table(table).scan().to_arrow().to_pylist())


READERS: Mapping[str, Callable[[Path, str], list[Row]]] = {"delta": read_delta, "iceberg": read_iceberg}


def _sorted(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: sorted((name, str(value)) for name, value in row.items()))


@contextmanager
def dies_at(
    monkeypatch: pytest.MonkeyPatch, step: int, die: Callable[[], object] = lambda: None
) -> Iterator[list[str]]:
    """Let a run die before its step of this number: a commit of a table, the end of one, or a change of a file by a
    store. A dead process changes nothing more. Yield the names of the steps so far."""
    steps: list[str] = []

    def count(name: str) -> None:
        if len(steps) == step:  # for good
            die()
            raise Died
        steps.append(name)

    with monkeypatch.context() as patch:
        for name in STEPS:
            real = getattr(Store, name)

            def changed(store: Store, *given: Any, real: Any = real, name: str = name) -> Any:
                count(f"{name} {given[0]}")
                return real(store, *given)

            patch.setattr(Store, name, changed)
        commit_table = LakeTarget._commit_table

        def committed(target: LakeTarget, *given: Any) -> int:
            count("table")
            version = commit_table(target, *given)
            count("committed")
            return version

        patch.setattr(LakeTarget, "_commit_table", committed)
        yield steps


def row_files(manifest: Mapping[str, Any]) -> list[str]:
    """Return the names of the files of rows in a manifest."""
    return [entry["path"] for entry in manifest["files"] if "rows" in entry]


__all__ = ["READERS", "Died", "add_changes", "change", "consolidate", "dies_at", "row_files"]
