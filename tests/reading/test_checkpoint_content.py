"""Files that a checkpoint knows by their content, whatever became of their names, times and inodes."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from checkpoint_place import HOUR, Place, no_runner
from runs import JSON_LINES, content, metadata, operation, run_ggfmt, write_lines

from ggfmt.config.handlers import read_configuration
from ggfmt.diagnostics.diagnostic import GgfmtError
from ggfmt.model.table import Column, TableDef
from ggfmt.reading import checkpoint
from ggfmt.reading.checkpoint import Checkpoint
from ggfmt.reading.recognition import source_of_handler

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda data: pa.compress(data, codec="zstd", asbytes=True),
}
TEN = tuple(range(10))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def append(path: Path, *numbers: int, ago: float = HOUR) -> None:
    with path.open("ab") as file:
        file.write(b"".join(json.dumps(operation(number)).encode() + b"\n" for number in numbers))
    os.utime(path, (time.time() - ago,) * 2)


def touch(path: Path, ago: float = HOUR / 2) -> None:
    os.utime(path, (time.time() - ago,) * 2)


def rename(place: Place) -> None:
    (place.input / "a.log").rename(place.input / "a.log.1")


def restore(place: Place) -> None:
    """As from a backup: other inodes, the same times."""
    shutil.copytree(place.input, place.input.parent / "x")
    shutil.rmtree(place.input)
    (place.input.parent / "x").rename(place.input)


STEPS: dict[str, tuple[Callable[[Place], None] | None, ...]] = {
    "rename and touch": (rename, lambda place: touch(place.input / "a.log.1")),
    "touch, run, rename": (lambda place: touch(place.input / "a.log"), None, rename),
    "rename, run, touch": (rename, None, lambda place: touch(place.input / "a.log.1")),
    "restore, run, rename": (restore, None, rename),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_file_is_read_once_whatever_its_name_inode_and_time(place: Place, name: str) -> None:
    place.write("a.log", *TEN)
    place.run()
    for step in STEPS[name]:
        if step is None:
            place.run(start=no_runner)
        else:
            step(place)
    place.run(start=no_runner)
    place.write("b.log", 20)
    place.run(current_timestamp=None)
    assert sorted(place.numbers) == [*TEN, 20]


def test_a_file_that_grew_is_an_error_under_another_name_and_time_too(place: Place) -> None:
    path = place.write("a.log", *TEN)
    status = path.stat()
    place.run()
    append(path, 10, 11, 12, 13, 14)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    rename(place)
    assert "has grown" in place.refused("GG310")
    shutil.copy(place.input / "a.log.1", place.input / "c.log")
    (place.input / "a.log.1").unlink()
    message = place.refused("GG310")
    assert "c.log" in message and "a.log" in message and "has grown" in message


def test_a_new_file_may_have_the_name_of_one_that_was_read(place: Place) -> None:
    place.write("a.log", *TEN)
    place.run()
    (place.input / "a.log").unlink()
    place.run(allow_empty=True, start=no_runner)
    place.write("a.log", 11)  # shorter
    place.run(current_timestamp=None)
    (place.input / "a.log").unlink()
    place.write("a.log", *range(20, 60))  # longer
    place.run(current_timestamp=None)
    place.run(start=no_runner)
    assert place.numbers == [*TEN, 11, *range(20, 60)]
    place.write("old.log", *TEN)  # which comes back from a backup
    place.run(start=no_runner)


def test_a_shorter_file_and_one_that_was_edited_are_errors(place: Place) -> None:
    path = place.write("a.log", *TEN)
    place.run()
    for numbers in ((0, 1, 2), (0,), (0, 1, 2, 30), (0, *range(30, 60))):
        place.write("a.log", *numbers)
        assert "GG310" in place.refused("GG310")
        path.rename(place.input / "b.log")
        place.refused("GG310")
        (place.input / "b.log").unlink()
    half = b"".join(json.dumps(operation(number)).encode() + b"\n" for number in (0, 1, 2))[:-20]
    path.write_bytes(half)
    place.refused("GG310")


@pytest.mark.parametrize(("shared", "is_changed"), [(4, False), (5, False), (6, True), (8, True)])
def test_a_whole_file_has_changed_if_more_than_half_is_the_same(place: Place, shared: int, is_changed: bool) -> None:
    def write(*numbers: int) -> None:
        records = [json.dumps(operation(number)) for number in numbers]
        lines = ["[", *(f"{record}," for record in records[:-1]), records[-1], "]"]
        path.write_text("".join(line.ljust(300) + "\n" for line in lines)[:-2])  # the middle is the end of a line
        touch(path)

    path = place.input / "a.log"
    write(*range(8))  # with the brackets, ten lines of one length
    place.run()
    write(*range(shared - 1), *range(10 + shared, 19))
    if is_changed:
        assert "has changed" in place.refused("GG310")
    else:
        place.run(current_timestamp=None)
        assert place.numbers == [*range(8), *range(shared - 1), *range(10 + shared, 19)]


def test_a_copy_beside_its_original_is_an_error_that_names_both(place: Place) -> None:
    place.write("a.log", *TEN)
    place.run()
    place.write("b.log", *TEN)
    message = place.refused("GG310")
    assert "a.log" in message and "b.log" in message
    # The help says how to read it all the same.
    run_ggfmt([place.input / "b.log"], place.out, *JSON_LINES, mode="append", current_timestamp=None)
    (place.input / "b.log").unlink()
    place.run(start=no_runner)
    assert place.numbers == [*TEN, *TEN]


def test_new_files_of_one_content_are_several_and_told(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    for name in "abc":
        place.write(f"{name}.log", 1)
    place.run()
    assert place.numbers == [1, 1, 1]
    assert "with the same content as another file" in caplog.text
    for name in "abc":
        (place.input / f"{name}.log").rename(place.input / f"{name}.1")
        touch(place.input / f"{name}.1")
    place.run(start=no_runner)
    place.write("d.log", 1)
    place.refused("GG310")


@pytest.mark.parametrize("ending", PACKERS)
@pytest.mark.parametrize("size", [3, 2000])
def test_a_file_that_is_compressed_after_it_was_read_is_known(place: Place, ending: str, size: int) -> None:
    path = place.write("a.log", *range(size))
    place.run()
    packed = place.input / f"a.log{ending}"
    whole = PACKERS[ending](path.read_bytes())
    for cut in (len(whole) // 2, len(whole) - 1):  # as it is being written
        packed.write_bytes(whole[:cut])
        place.refused("GG310")
    packed.write_bytes(whole)
    assert "a.log" in place.refused("GG310")  # beside its original
    path.unlink()
    place.run(start=no_runner)
    packed.rename(place.input / f"b.log{ending}")
    touch(place.input / f"b.log{ending}")
    place.run(start=no_runner)
    place.write("a.log", 5000)
    place.run(current_timestamp=None)
    assert place.numbers == [*range(size), 5000]
    (place.input / f"c.log{ending}").write_bytes(PACKERS[ending](path.read_bytes() + path.read_bytes()[:-1]))
    place.refused("GG310")


@pytest.mark.parametrize("size", [3, 2000])
def test_a_file_that_is_unpacked_after_it_was_read_is_never_read_twice(place: Place, size: int) -> None:
    plain = place.write("a.log", *range(size))
    packed = place.input / "a.log.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    touch(packed)
    data = plain.read_bytes()
    plain.unlink()
    place.run()
    packed.unlink()
    plain.write_bytes(data)
    if size == 3:
        place.run(start=no_runner)
    else:
        message = place.refused("GG310")
        assert "a.log.gz" in message and "may be a copy" in message
    (place.input / "a.log.xz").write_bytes(lzma.compress(data + data[:-1]))
    plain.unlink()
    place.refused("GG310")


def test_headers_and_metadata_do_not_make_files_the_same(place: Place) -> None:
    """What files of a kind have in common at their start is not taken for operations that were read."""
    table = metadata(ID="string", NAME="string", AMOUNT="number")
    for day in range(3):
        write_lines(place.input / "a.log", [table, operation(2 * day), operation(2 * day + 1)])
        touch(place.input / "a.log")
        place.run(current_timestamp=None)
    write_lines(place.input / "b.log", [table, operation(10)])
    place.run(current_timestamp=None)
    assert place.numbers == [0, 1, 2, 3, 4, 5, 10]


@pytest.mark.parametrize("kind", ["delimitedtext", "avro_row_ocf", "avro_op_ocf", "xml", "debezium_json"])
def test_a_new_file_of_the_same_name_is_read_in_every_format(place: Place, tmp_path: Path, kind: str) -> None:
    """Their headers and schemas are equal from day to day."""
    properties = ["gg.handler.h.format=" + kind, "ggfmt.compatibility=12.2"]
    if kind == "delimitedtext":
        properties.append("gg.handler.h.format.enableFieldDescriptorHeaders=true")
    definitions = {"GG.TCUSTORD": TableDef("GG.TCUSTORD", (Column("ID"), Column("NAME"), Column("AMOUNT")))}
    counts = []
    for day in range(3):
        lines = write_lines(tmp_path / "made.json", [operation(10 * day + number) for number in range(4)])
        made = tmp_path / f"made{day}"
        run_ggfmt([lines], made, *properties, definitions=definitions)
        (file,) = [path for path in (made / "h").rglob("*") if path.is_file()]
        shutil.copyfile(file, place.input / "a.data")
        touch(place.input / "a.data", ago=HOUR - day)
        input_format, source = source_of_handler(read_configuration([], properties))
        run_ggfmt(
            [place.input],
            place.out,
            *JSON_LINES,
            current_timestamp=None,
            checkpoint=str(place.seen),
            input_format=input_format,
            source=source,
            definitions=definitions,
        )
        counts.append(content(place.out, "j").count(b"\n"))
    assert counts == [4, 8, 12]


def test_half_a_compressed_file_is_refused_with_quarantine_too(place: Place) -> None:
    path = place.write("a.log", *range(3000))
    place.run()
    whole = gzip.compress(path.read_bytes())
    path.unlink()
    (place.input / "a.log.gz").write_bytes(whole[: len(whole) // 2])
    place.refused("GG310", quarantine=True)
    (place.input / "b.log.gz").write_bytes(whole[:40])
    (place.input / "a.log.gz").unlink()
    place.refused("GG310", quarantine=True)


def test_empty_files_may_grow(place: Place) -> None:
    for name in ("a.log", "b.log"):
        (place.input / name).touch()
        touch(place.input / name)
    place.write("c.log", 1)
    place.run()
    place.run(start=no_runner)
    place.write("a.log", 2)
    place.run(current_timestamp=None)
    assert place.numbers == [1, 2]


def test_copytruncate_is_known(place: Place) -> None:
    path = place.write("x.log", 1, 2)
    place.run()
    shutil.copy2(path, place.input / "x.log.1")
    os.truncate(path, 0)
    place.run(current_timestamp=None)
    place.run(start=no_runner)
    append(path, 3)
    place.run(current_timestamp=None)
    assert place.numbers == [1, 2, 3]


def test_what_was_recognised_is_recorded(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run with nothing to read commits new identities alone; so the next one opens no file."""
    place.write("a.log", *TEN)
    place.run()
    rename(place)
    touch(place.input / "a.log.1")
    place.run(start=no_runner)
    monkeypatch.setattr(checkpoint, "examine", lambda *_: pytest.fail("a file was opened"))
    before = {path: path.read_bytes() for path in place.seen.rglob("*") if path.is_file()}
    place.run(start=no_runner)
    assert {path: path.read_bytes() for path in place.seen.rglob("*") if path.is_file()} == before


def test_a_record_that_cannot_be_written_is_a_warning(
    place: Place, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    place.write("a.log", *TEN)
    place.run()
    rename(place)
    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "stage", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        place.run(start=no_runner)
    assert "No space left on device" in caplog.text
    touch(place.input / "a.log.1")
    place.run(start=no_runner)
    assert place.numbers == [*TEN]


def test_checkpoints_of_version_1_are_read(place: Place) -> None:
    place.write("a.log", *TEN)
    place.write("b.log", 20, 21)
    place.write("c.log", 30, 31)
    place.run()
    (segment,) = (place.seen / "_ggfmt" / "inputs").iterdir()
    head, *lines = segment.read_bytes().splitlines()
    segment.write_bytes(b"\n".join([head, *(json.dumps(json.loads(line)[:6]).encode() for line in lines), b""]))
    document = place.seen / "_ggfmt" / "checkpoint.json"
    document.write_text(json.dumps({**json.loads(document.read_bytes()), "version": 1}))
    place.run(start=no_runner)
    rename(place)
    touch(place.input / "a.log.1")
    (place.input / "d.log.gz").write_bytes(gzip.compress((place.input / "b.log").read_bytes()))
    (place.input / "b.log").unlink()
    place.run(start=no_runner)
    append(place.input / "c.log", 32)
    place.refused("GG310")
    (place.input / "c.log").unlink()
    place.write("e.log", 40)
    place.run(current_timestamp=None)
    assert sorted(place.numbers) == [*TEN, 20, 21, 30, 31, 40]
    assert json.loads(document.read_bytes())["version"] == 2
    document.write_text(json.dumps({**json.loads(document.read_bytes()), "version": 4}))
    place.refused("GG509")


def test_records_are_small(place: Place) -> None:
    place.write("long.log", *range(20_000))
    place.run()
    (segment,) = (place.seen / "_ggfmt" / "inputs").iterdir()
    assert len(segment.read_bytes().splitlines()[1]) < 1000


@pytest.mark.parametrize("kept", [True, False])
def test_a_copy_in_another_directory_is_known(place: Place, tmp_path: Path, kept: bool) -> None:
    other = tmp_path / "other"
    other.mkdir()
    place.write("a.log", *TEN)
    place.run(place.input, other, allow_empty=True)
    (shutil.copy2 if kept else shutil.copy)(place.input / "a.log", other / "a.log")
    with pytest.raises(GgfmtError, match="GG310"):
        place.run(place.input, other, allow_empty=True)
    (place.input / "a.log").unlink()
    place.run(place.input, other, allow_empty=True, start=no_runner)
    assert content(place.out, "j").count(b"\n") == 10
