"""Runs in rounds with a checkpoint, to compare with one run over everything."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.orc as po
import pyarrow.parquet as pq
from sql_histories import File, History, merged, write

import ggfmt

Items = tuple[tuple[str, Any], ...]


@dataclass
class Outcome:
    """What a run shows of a table: its rows, its unresolved operations and their images, its entry in the manifest."""

    rows: Counter[Items] = field(default_factory=Counter)
    unresolved: Counter[Items] = field(default_factory=Counter)
    images: list[dict[str, dict[str, str | None]]] = field(default_factory=list)
    entry: dict[str, Any] = field(default_factory=dict)


def cut_anywhere(histories: Sequence[History], count: int, random: Random) -> list[File]:
    """Return `count` files with the changes of each history in order, cut between any two changes."""
    pieces: list[list[File]] = [[] for _ in range(count)]
    for one in histories:
        every = [(one, item) for item in one.changes]
        marks = sorted(random.randrange(len(every) + 1) for _ in range(count - 1))
        for place, (start, end) in enumerate(zip([0, *marks], [*marks, len(every)], strict=True)):
            pieces[place].append(every[start:end])
    return [merged(piece, random) for piece in pieces]


def compare_rounds(files: Sequence[File], keys: str | None, folder: Path, **options: Any) -> tuple[Any, Any]:
    """Return what one run over all files shows by table, and what a run for each file does."""
    every = folder / "every"
    paths = write(files, every, Random(1))
    ggfmt.consolidate(every, folder / "whole", master="none", key=keys, **options)
    seen, inputs = folder / "seen", folder / "in"
    inputs.mkdir()
    for path in paths:
        shutil.copy(path, inputs / path.name)
        ggfmt.consolidate(inputs, folder / "rounds", master="none", key=keys, checkpoint=seen, **options)
    return read_outcomes(folder / "whole"), read_outcomes(folder / "rounds")


def read_outcomes(output: Path) -> dict[str, Outcome]:
    """Return by table what an output has."""
    document = json.loads((output / "_ggfmt" / "manifest.json").read_text())
    found = {name: Outcome(entry=entry) for name, entry in document["tables"].items()}
    for entry in document["files"]:
        if {"kept", "free"} & {*entry}:
            continue
        path = output / entry["path"]
        read = po.read_table(path) if path.suffix == ".orc" else pq.ParquetFile(path).read()
        for row in read.to_pylist():
            if "unresolved" in entry:
                known = {name: row[name] for name in ("reason", "op_type", "position", "offset")}
                images = {name: dict(row[name]) for name in ("before", "after") if row[name] is not None}
                found[entry["table"]].images.append(images)
                known["file"] = Path(row["file"]).name
                found[entry["table"]].unresolved[tuple(known.items())] += 1
            else:
                found[entry["table"]].rows[tuple(sorted(row.items()))] += 1
    return found


def difference(one: Outcome, other: Outcome, key: Sequence[str]) -> str:
    """Return how rounds (`other`) differ from one run; empty if they do not."""
    false, lacking = other.rows - one.rows, one.rows - other.rows
    if false:
        return "false rows"
    if lacking:
        listed = {tuple(image.get(name) for name in key) for images in other.images for image in images.values()}
        keys = {tuple(None if row[name] is None else str(row[name]) for name in key) for row in map(dict, lacking)}
        return "withheld rows" if keys <= listed else "lost rows"
    if one.unresolved != other.unresolved:
        return "other operations unresolved" if other.unresolved - one.unresolved else "fewer operations unresolved"
    for name in ("rows", "unresolved", "defaults", "unset"):
        if one.entry[name] != other.entry[name]:
            return f"other count: {name}"
    return ""
