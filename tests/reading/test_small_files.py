"""Many small files: what a run does for each does not grow with their number, and places and order stay exact."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
from runs import JSON_LINES, content, count_calls, operation, run_ggfmt, write_lines

from ggfmt.formats.records import batching
from ggfmt.location import Location
from ggfmt.model.change import ChangeBatch
from ggfmt.reading import files
from ggfmt.reading.files import InputFile, small_objects
from ggfmt.sinks.messages.sink import Locate, SplitSink

FORMATS = ("json", "debezium_json", "maxwell_json", "canal_json")
ONE_FILE = (*JSON_LINES, "gg.handler.j.partitionByTable=false")


def small_files(directory: Path, count: int, format: str = "json") -> Path:
    """A directory of so many files with one operation each, of three tables in turns."""
    lines = write_lines(directory.parent / "lines.json", [operation(n, f"GG.T{n % 3}") for n in range(count)])
    if format != "json":
        settings = (f"gg.handler.k.format={format}", "gg.handler.k.partitionByTable=false")
        run_ggfmt([lines], directory.parent / f"as-{count}", *settings)
        lines.write_bytes(content(directory.parent / f"as-{count}", "k"))
    directory.mkdir()
    for number, line in enumerate(lines.read_bytes().splitlines(keepends=True)):
        (directory / f"{number:05}.json").write_bytes(line)
    return directory


@pytest.mark.parametrize("format", FORMATS)
def test_the_work_for_a_file_does_not_grow_with_their_number(tmp_path: Path, format: str) -> None:
    sources = [small_files(tmp_path / f"in-{count}", count, format) for count in (10, 800, 1600)]
    runs = (partial(run_ggfmt, [source], tmp_path / f"out-{source.name}", *JSON_LINES) for source in sources)
    _, some, twice = map(count_calls, runs)
    assert twice < 2.2 * some


def test_order_and_places_are_exact(tmp_path: Path) -> None:
    source = small_files(tmp_path / "in", 300)
    for number in (7, 150, 299):
        (source / f"{number:05}.json").write_bytes(b'\n {"table": broken}\n')
    run_ggfmt([source], tmp_path / "out", *ONE_FILE, quarantine=True)
    positions = [int(json.loads(line)["pos"]) for line in content(tmp_path / "out", "j").splitlines()]
    assert positions == [number for number in range(300) if number not in (7, 150, 299)]
    (reasons,) = (tmp_path / "out" / "j" / "_rejects").glob("*.reasons.jsonl")
    found = [json.loads(line) for line in reasons.read_text().splitlines()]
    assert [(Path(reason["file"]).name, reason["offset"]) for reason in found] == [
        ("00007.json", 2),
        ("00150.json", 2),
        ("00299.json", 2),
    ]


@pytest.mark.parametrize("held", [1, 3000, 1 << 30])
def test_operations_are_held_over_so_much_input_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: int
) -> None:
    source = small_files(tmp_path / "in", 200)
    size = sum(path.stat().st_size for path in source.iterdir())
    batches: list[int] = []
    write = SplitSink.write

    def counting(sink: SplitSink, batch: ChangeBatch, locate: Locate) -> None:
        batches.append(len(batch))
        write(sink, batch, locate)

    monkeypatch.setattr(batching, "HELD_BYTES", held)
    monkeypatch.setattr(SplitSink, "write", counting)
    run_ggfmt([source], tmp_path / "out", *JSON_LINES)
    assert sum(batches) == 200
    if held == 1:
        assert len(batches) == 200
    elif held > size:
        assert len(batches) == 3
    else:
        assert abs(len(batches) - 3 * (size / held)) < 8


def test_small_objects_are_kept_as_far_as_memory_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "KEPT_BYTES", 25)
    monkeypatch.setattr(files, "BUFFER_BYTES", 12)
    place = Location.of("s3://bucket/in")
    found = [InputFile(place.child(f"{size}-{n}"), size, "") for n, size in enumerate((10, 0, 13, 10, 9, 5))]
    found.append(InputFile(Location.of("/tmp/1"), 1, ""))
    assert sorted(kept.name for kept in small_objects(found)) == ["10-0", "10-3", "5-5"]
