"""Repeated runs: each input once, however often the command is called, whatever is renamed, killed or late."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from checkpoint_place import HOUR, Place, no_runner
from interrupted_commits import Died
from runs import JSON_LINES, PIPES, run_ggfmt, snapshot

from ggfmt.commit import journal
from ggfmt.commit.commit import CommitPart
from ggfmt.diagnostics.diagnostic import GgfmtError, UsageError
from ggfmt.location import Location
from ggfmt.reading import checkpoint
from ggfmt.reading.checkpoint import Checkpoint
from ggfmt.reading.listing import list_inputs


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_the_same_command_reads_what_is_new_and_nothing_twice(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    place.write("a.json", 1, 2)
    place.run()
    with caplog.at_level("INFO", "ggfmt"):
        place.run(start=no_runner)
    assert "nothing to do: 1 input file has been read by earlier runs" in caplog.text
    place.write("b.json", 3)
    place.write("c/d.json", 4)
    place.run(current_timestamp=None)
    place.run(start=no_runner)
    assert place.numbers == [1, 2, 3, 4]
    (place.input / "a.json").unlink()  # it was read, and may go
    place.write("e.json", 5)
    place.run(place.input, place.input / "e.json", current_timestamp=None)
    assert place.numbers == [1, 2, 3, 4, 5]


def test_a_changed_input_that_was_read_is_an_error_and_its_time_alone_is_none(place: Place) -> None:
    path = place.write("a.json", 1, 2)
    place.run()
    os.utime(path, (time.time() - HOUR / 2,) * 2)
    place.run(start=no_runner)
    place.write("a.json", 1, 2)  # another inode or time, the same bytes
    place.run(start=no_runner)
    place.write("b.json", 4)
    for numbers in ((1, 3), (1, 2, 3), (1,)):
        place.write("a.json", *numbers)
        message = place.refused("GG310")
        assert f"{path}" in message and "since a committed run read it" in message
    path.unlink()
    place.run(current_timestamp=None)
    assert place.numbers == [1, 2, 4]


def test_a_change_that_a_coarse_clock_does_not_show_is_found(place: Place) -> None:
    path = place.write("a.json", 1, ago=0)
    status = path.stat()
    place.run()
    place.write("a.json", 2)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    place.run(current_timestamp=None)
    place.run(start=no_runner)
    assert place.numbers == [1, 2]


def test_rotated_logs_are_known_by_whatever_name(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    """As logrotate does it: the last one is renamed first, and a new one begins."""
    log = place.input / "x.log"
    for number in range(5):
        for old in range(number, 0, -1):
            (place.input / f"x.log{f'.{old - 1}' if old > 1 else ''}").rename(place.input / f"x.log.{old}")
        place.write("x.log", number, number, ago=HOUR - number)
        place.run(current_timestamp=None)
        assert place.numbers == [made for made in range(number + 1) for _ in range(2)]
        place.run(start=no_runner)
    assert "sorted before files of earlier runs" not in caplog.text
    (place.input / "x.log.1").unlink()
    log.rename(place.input / "x.log.1")
    place.run(start=no_runner)
    place.write("x.log", 9)
    (place.input / "x.log.1").unlink()
    place.run(current_timestamp=None)
    assert place.numbers[-1] == 9


def test_files_that_grow_wait_and_so_do_those_behind_them(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    other = place.input.parent / "other"
    other.mkdir()
    (other / "z.json").write_bytes(place.write("z", 7).read_bytes())
    (place.input / "z").unlink()
    os.utime(other / "z.json", (time.time() - HOUR,) * 2)
    place.write("a.json", 1)
    growing = place.write("b.json", 2, ago=5)
    place.write("c.json", 3)
    with caplog.at_level("INFO", "ggfmt"):
        place.run(place.input, other, settle=60)
    assert place.numbers == [1, 7]
    assert f"left for a later run: 2 input files, starting with `{growing}`," in caplog.text
    place.run(place.input, other, settle=60, start=no_runner)
    place.write("b.json", 2, 20)
    place.run(place.input, other, settle=60, current_timestamp=None)
    assert place.numbers == [1, 7, 2, 20, 3]
    with pytest.raises(UsageError, match=r"GG513.*`--settle` needs `--checkpoint`"):
        run_ggfmt([place.input], place.out, *JSON_LINES, settle=60)


def test_a_file_that_comes_late_is_read_and_told(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    place.write("b.json", 2)
    place.run()
    place.write("a.json", 1)
    place.run(current_timestamp=None)
    assert place.numbers == [2, 1]
    assert "1 new input file sorted before files of earlier runs" in caplog.text


def test_a_checkpoint_belongs_to_its_output_and_handlers(place: Place, tmp_path: Path) -> None:
    place.write("a.json", 1)
    place.refused("GG513.*overwrite", mode="overwrite")
    place.run()
    place.write("b.json", 2)
    before = snapshot(tmp_path)
    for out, handlers in ((tmp_path / "other", JSON_LINES), (place.out, PIPES), (place.out, (*JSON_LINES, *PIPES))):
        with pytest.raises(UsageError, match=r"GG513.*the checkpoint belongs to other output: `.*/out` by `j`"):
            run_ggfmt([place.input], out, *handlers, checkpoint=str(place.seen))
    with pytest.raises(UsageError, match=r"GG513.*cannot be the output directory"):
        run_ggfmt([place.input], place.out, *JSON_LINES, checkpoint=str(place.out))
    assert snapshot(tmp_path) == before
    place.out.rename(tmp_path / "away")
    message = place.refused("GG513")
    assert "is older than the checkpoint, or another: it has no run" in message
    (tmp_path / "away").rename(place.out)
    place.run(current_timestamp=None)
    assert place.numbers == [1, 2]


def test_the_first_run_does_not_add_to_output_of_others(place: Place) -> None:
    place.write("a.json", 1)
    run_ggfmt([place.input], place.out, *JSON_LINES)
    place.refused("GG501")
    place.run(mode="append", current_timestamp=None)
    place.write("b.json", 2)
    place.run(current_timestamp=None)
    assert place.numbers == [1, 1, 2]


@pytest.mark.parametrize("removed", [False, True])
def test_a_checksum_is_of_what_was_read(place: Place, monkeypatch: pytest.MonkeyPatch, removed: bool) -> None:
    """An input changes when its operations are staged: whatever comes first, nothing is committed."""
    path = place.write("a.json", 1)
    real = Checkpoint.part

    def part(*arguments: Any) -> CommitPart:
        if removed:
            path.unlink()
        else:
            place.write("a.json", 1, 2)
        return real(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "part", part)
        place.refused("GG310")
    place.write("a.json", 1, 2)
    place.run()
    assert place.numbers == [1, 2]


def test_a_checkpoint_that_cannot_be_written_is_named(place: Place) -> None:
    place.write("a.json", 1)
    place.seen.write_text("a file")
    with pytest.raises(GgfmtError, match=r"/seen: error\[GG506\] the checkpoint cannot be written"):
        place.run()
    assert not place.out.exists()


def test_a_failed_run_remembers_nothing(place: Place) -> None:
    place.write("a.json", 1)
    bad = place.input / "b.json"
    bad.write_bytes(b"{]\n")
    place.refused("GG301")
    bad.unlink()
    place.run()
    assert place.numbers == [1]


@pytest.mark.parametrize("steps", range(8))
def test_output_and_checkpoint_are_committed_together_or_not_at_all(
    place: Place, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    place.write("a.json", 1)
    place.run()
    place.write("b.json", 2)
    real, done = journal._move, 0

    def move(*arguments: Any) -> None:
        nonlocal done
        if done == steps:
            raise Died
        done += 1
        real(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(journal, "_move", move)
        try:
            place.run(current_timestamp=None)
        except Died:
            place.write("c.json", 3)
    place.run(current_timestamp=None)
    place.run(start=no_runner)
    assert place.numbers == ([1, 2, 3] if (place.input / "c.json").exists() else [1, 2])


def test_segments_are_put_together_and_forget_nothing(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "MAX_SEGMENTS", 3)
    for number in range(9):
        place.write(f"{number}.json", number)
        place.run(current_timestamp=None)
    assert place.numbers == list(range(9))
    assert len(list((place.seen / "_ggfmt" / "inputs").iterdir())) <= 4
    place.run(start=no_runner)
    (segment, *_) = sorted((place.seen / "_ggfmt" / "inputs").iterdir())
    segment.write_bytes(segment.read_bytes()[:-30])
    place.refused("GG509")


def test_a_hundred_thousand_inputs_are_no_burden(place: Place) -> None:
    """What they take is in proportion to their number: a few calls of functions for each."""
    place.write("a.json", 1)
    place.run()
    (segment,) = (place.seen / "_ggfmt" / "inputs").iterdir()
    path, size, modified, _, digest, fresh, marks, *others = json.loads(segment.read_bytes().splitlines()[1])
    lines: list[object] = [{"number": 1, "run": "x", "inputs": 100_000}]
    for n in range(100_000):
        made = hashlib.sha512(f"{n}".encode()).hexdigest() * 4  # digests of 51 lines
        known = (digest, marks) if n == 17 else (made[:32], made[:510])
        lines.append([path.replace("a.j", f"{n:06d}.j"), size, modified, -n, known[0], fresh, known[1], *others])
    place.write("a.json", 9)
    segment.write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    seen = Checkpoint(Location.of(str(place.seen)))
    place.write("000017.json", 1, 2)
    calls = itertools.count()
    sys.setprofile(lambda *event: next(calls))
    try:
        with pytest.raises(UsageError, match="GG310"):
            seen.choose(list_inputs([str(place.input)]))
        place.write("000017.json", 1)
        chosen = seen.choose(list_inputs([str(place.input)]))
    finally:
        sys.setprofile(None)
    assert (len(chosen.files), chosen.done) == (1, 1)
    assert next(calls) < 150 * 100_000  # starts and ends of functions, of two choices


def test_no_credentials_and_strange_names_in_the_checkpoint(place: Place) -> None:
    strange = os.fsdecode(os.fsencode(place.input) + b"/\xff\xfe\n.json")
    place.write("a.json", 1).rename(strange)
    place.run()
    place.run(start=no_runner)
    assert all(b"\xff" not in path.read_bytes() for path in (place.seen / "_ggfmt").rglob("*") if path.is_file())
