"""Any format becomes any other: one story through every pair of formats, less what each does not show; and metadata
changes in every format, wherever the input is cut."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fidelity import FidelityLevel, surviving_aspects
from round_trips import (
    READ,
    STORY,
    STORY_FORMAT,
    WRITTEN,
    handler,
    levels,
    losses_of,
    of_story,
    survives,
    view,
    write_as,
    write_story,
    written_by,
)
from runs import content, metadata, operation, output_files, run_ggfmt, snapshot, write_lines

from ggfmt.formats import ENTRIES, FORMATS
from ggfmt.formats.api.format import WriterSettings
from ggfmt.formats.api.losses import Aspect, Loss
from ggfmt.reading.listing import list_inputs
from ggfmt.reading.recognition import detect_format


def declared(name: str) -> tuple[Loss, ...]:
    """The losses of the handler that writes a format here."""
    return losses_of(name, handler(name, Path("dirdef")))


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_story(tmp_path_factory.mktemp("story") / "in.json", STORY)


@pytest.fixture(scope="module")
def told(story: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, WriterSettings]]:
    """The story in every format, and the options of its reader."""
    folder = tmp_path_factory.mktemp("told")
    return {name: write_as(story, name, folder / name) for name in WRITTEN}


def test_the_story_is_seen_whole(story: Path, tmp_path: Path) -> None:
    assert view(story, tmp_path, STORY_FORMAT) == STORY


@pytest.mark.parametrize("second", WRITTEN)
@pytest.mark.parametrize("first", READ)
def test_any_format_becomes_any_other_less_the_losses_that_they_declare(
    first: str, second: str, told: dict[str, tuple[Path, WriterSettings]], tmp_path: Path
) -> None:
    source, written = told[first]
    folder, again = write_as(source, second, tmp_path / "two", input_format=first, told=written)
    found = of_story(view(folder, tmp_path / "three", second, again))
    assert found == of_story(survives(survives(STORY, declared(first)), declared(second)))
    claimed = surviving_aspects(declared(first), declared(second))
    for aspect, left in levels(STORY, found, claimed[Aspect.BEFORE] is not FidelityLevel.LOST).items():
        assert claimed[aspect] in (left, FidelityLevel.PART), aspect


@pytest.mark.parametrize("name", [name for name in WRITTEN if ENTRIES[name].marks])
def test_a_file_of_a_format_is_taken_for_it_and_for_no_other(
    name: str, told: dict[str, tuple[Path, WriterSettings]]
) -> None:
    found, reason = detect_format(list_inputs([str(told[name][0])]))
    assert found == name
    assert ", " in reason


def changing() -> list[dict[str, Any]]:
    """A column is added, one retyped, one dropped, one renamed; another table goes on as it was."""
    kinds = {"ID": "string", "NAME": "string", "AMOUNT": "number"}
    return [
        operation(0),
        operation(1, "GG.OTHER"),
        metadata(**kinds, ADDED="string"),
        operation(2, ADDED="x"),
        operation(3, "GG.OTHER"),
        metadata(ID="string", NAME="string", AMOUNT="string", ADDED="string"),
        operation(4, AMOUNT="a text now", ADDED="y"),
        metadata(ID="string", TITLE="string"),
        {**operation(5), "after": {"ID": "5", "TITLE": "renamed"}},
        operation(6, "GG.OTHER"),
    ]


def as_json(source: Path, name: str, lines: list[str], out: Path) -> bytes:
    told = written_by(lines)
    run_ggfmt([source], out, *handler("json", out / "dirdef"), input_format=name, source=told)
    return content(out, "h")


@pytest.mark.parametrize("count", [3, pytest.param(8, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", WRITTEN)
def test_metadata_changes_take_effect_at_their_place_in_every_format(name: str, count: int, tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", changing())
    lines = handler(name, tmp_path / "whole" / "dirdef")

    def written_in(folder: Path, size: int | None = None) -> Path:
        run_ggfmt([source], folder, *lines, input_format="json", split_size=size)
        return folder / "h"

    whole = written_in(tmp_path / "whole")
    names = [path.name.removesuffix(".txt").rsplit("_", 1)[1] for path in output_files(whole.parent, "h")]
    assert names == ["00000", "00000", "00001", "00002", "00003"]  # GG.OTHER, and a file for each definition
    length = source.stat().st_size
    edges = [source.read_bytes().index(line) for line in source.read_bytes().splitlines()]
    sizes = sorted({*range(40, length, 97), *(edge + near for edge in edges[1:] for near in (-1, 0, 1))})
    for size in sizes[:: max(1, len(sizes) // count)]:
        cut = written_in(tmp_path / f"cut{size}", size)
        if FORMATS[name].by_table:  # blocks end where tasks ended; what they hold is the same
            again, first = (
                as_json(each, name, lines, tmp_path / f"{size}-{each.parent.name}") for each in (cut, whole)
            )
            assert again == first
        else:
            assert snapshot(cut) == snapshot(whole)
    schemas = sorted(path.name for path in (tmp_path / "whole" / "dirdef").glob("*"))
    assert bool(schemas) == (FORMATS[name].schema_kind is not None and FORMATS[name].schema_in_run)
