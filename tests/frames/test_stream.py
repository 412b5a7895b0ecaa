"""A stream of ggfmt has every operation once, whatever grows, stops, is killed or is started again."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from places import SUPPORT
from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow
from runs import metadata, operation

from ggfmt import frames
from ggfmt.diagnostics.diagnostic import Abend, UsageError
from ggfmt.frames import offsets
from ggfmt.frames import stream as frames_stream
from ggfmt.frames.offsets import ProgressCodec
from ggfmt.frames.plan import make_plan, parse_request
from ggfmt.frames.source import _Planning
from ggfmt.frames.stream import FrameStream
from ggfmt.location import Location
from ggfmt.reading.content import checksum
from ggfmt.reading.files import InputFile, stat_file

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def lines(*records: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


class Driven:
    """A stream as Spark drives one, without Spark. What Spark keeps, it keeps as JSON."""

    def __init__(self, folder: Path, **options: str) -> None:
        self._options = {"path": str(folder), "inputFormat": "json", "allowEmpty": "true", "settle": "0", **options}
        self.rows: list[dict[str, Any]] = []
        self.restart()
        self.at = json.dumps(self.reader.initialOffset())

    def restart(self) -> None:
        request = parse_request(self._options)
        self.reader = FrameStream(request, make_plan(request, _Planning()))

    def between(self, start: str, end: str) -> list[dict[str, Any]]:
        parts = self.reader.partitions(json.loads(start), json.loads(end))
        tables = [pa.Table.from_batches([batch]) for part in parts for batch in self.reader.read(part)]
        return [row for table in tables for row in table.to_pylist(maps_as_pydicts="strict")]

    def step(self) -> list[dict[str, Any]]:
        """The rows of one batch."""
        end = json.dumps(self.reader.latestOffset(json.loads(self.at)))
        found = self.between(self.at, end)
        self.restart()  # a batch that is done again has the same rows, also after a crash
        assert self.between(self.at, end) == found
        self.at = end
        self.rows += found
        return found


def ends(offset: str) -> dict[str, int]:
    return {path: known.end for path, known in ProgressCodec().unpack(json.loads(offset)["files"]).items()}


def ids(rows: Sequence[dict[str, Any]]) -> list[int]:
    return [int((row["after"] or row["before"])["ID"]) for row in rows]


@pytest.mark.parametrize("seed", range(4))
def test_every_operation_comes_once_and_in_order_however_files_grow(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    stream = Driven(tmp_path, splitSize="700", settle="1000")
    whole = {name: lines(*(operation(n, f"GG.{name[0].upper()}") for n in range(60))) for name in ("a.json", "b.json")}
    left = dict(whole)
    while any(left.values()):
        name = chance.choice([name for name, data in left.items() if data])
        cut = chance.randrange(1, 3000)  # most writes end within a line
        append(tmp_path / name, left[name][:cut])
        left[name] = left[name][cut:]
        if chance.random() < 0.5:
            stream.step()
        if chance.random() < 0.2:
            stream.restart()
    stream.step()
    for table in ("GG.A", "GG.B"):
        mine = [row for row in stream.rows if row["table"] == table]
        assert ids(sorted(mine, key=lambda row: row["seq"])) == list(range(60))
    assert len({row["seq"] for row in stream.rows}) == len(stream.rows) == 120
    assert stream.step() == []


@pytest.mark.parametrize("seed", range(6))
def test_a_batch_reads_no_more_than_the_limits_say(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    files, size = chance.choice([(1, None), (2, 900), (None, 250), (None, 1), (3, 10_000)])
    limits = {"maxFilesPerTrigger": files, "maxBytesPerTrigger": size}
    given = {name: str(limit) for name, limit in limits.items() if limit is not None}
    stream = Driven(tmp_path, splitSize="700", settle="1000", **given)
    written: dict[str, int] = {}
    for number in range(chance.randrange(30, 60)):
        name = f"{chance.randrange(5)}.json"
        written[name] = written.get(name, 0) + 1
        append(tmp_path / name, lines(operation(number)))
        if chance.random() < 0.1:
            stream.step()
            stream.restart()
    before, batches = stream.at, 0
    while rows := stream.step():
        now, then = ends(stream.at), ends(before)
        read = {name: end - then.get(name, 0) for name, end in now.items()}
        read = {name: bytes for name, bytes in read.items() if bytes}
        assert files is None or len(read) <= files
        assert size is None or sum(read.values()) <= size or len(rows) == 1
        before, batches = stream.at, batches + 1
    assert sorted(ids(stream.rows)) == list(range(sum(written.values())))
    assert len({row["seq"] for row in stream.rows}) == len(stream.rows)
    assert batches > 1 or size == 10_000


def test_a_file_without_lines_comes_whole_whatever_the_limit(tmp_path: Path) -> None:
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(lines(*map(operation, range(9)))))
    (tmp_path / "b.json").write_bytes(json.dumps([operation(9), operation(10)]).encode())
    stream = Driven(tmp_path, maxBytesPerTrigger="10", complete="true")
    assert [ids(stream.step()) for _ in range(3)] == [list(range(9)), [9, 10], []]


def test_a_bounded_stream_comes_in_batches_up_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(lines(*map(operation, range(10))))
    stream = Driven(tmp_path, maxBytesPerTrigger=str(4 * len(lines(operation(1)))))
    stream.reader.prepareForTriggerAvailableNow()
    sizes, at = [], json.loads(stream.at)
    while (end := stream.reader.latestOffset(at)) != at:
        append(path, lines(operation(99)))  # not there when the stream began
        sizes.append(len(stream.between(json.dumps(at), json.dumps(end))))
        at = end
    assert sizes == [4, 4, 2]


@pytest.mark.parametrize(
    ("name", "value"), [("maxFilesPerTrigger", "0"), ("maxFilesPerTrigger", "x"), ("maxBytesPerTrigger", "-1")]
)
def test_a_limit_is_a_number(name: str, value: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"GG531.*`{name}`"):
        Driven(tmp_path, **{name: value})


def test_definitions_go_on_from_batch_to_batch(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(lines(metadata(ID="string", NAME="string"), {**operation(1), "after": {"ID": "1", "NAME": "x"}}))
    stream = Driven(tmp_path)
    stream.step()
    append(path, lines({**operation(2), "after": {"ID": "2", "NAME": None}}))
    stream.step()
    append(path, lines(metadata(ID="string", MORE="string"), {**operation(3), "after": {"ID": "3", "MORE": "y"}}))
    stream.step()
    append(path, lines({**operation(4), "after": {"ID": "4"}}))
    stream.step()
    assert [row["after"] for row in stream.rows] == [
        {"ID": "1", "NAME": "x"},
        {"ID": "2", "NAME": None},
        {"ID": "3", "MORE": "y"},
        {"ID": "4"},
    ]


def test_a_column_that_a_typed_stream_does_not_have_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(lines(operation(1)))
    stream = Driven(tmp_path, table="GG.TCUSTORD")
    assert [row["after"]["AMOUNT"] for row in stream.step()] == ["1"]
    first = FrameStream(parse_request(stream._options), make_plan(parse_request(stream._options), _Planning()))
    append(path, lines(operation(2, MORE="z")))
    stream.reader = first
    end = json.dumps(first.latestOffset(json.loads(stream.at)))
    with pytest.raises(Abend, match=r"column MORE: error\[GG532\]"):
        stream.between(stream.at, end)


def test_what_cannot_be_cut_counts_when_it_is_complete(tmp_path: Path) -> None:
    packed, pretty, open_line = tmp_path / "a.json.gz", tmp_path / "b.json", tmp_path / "c.json"
    packed.write_bytes(gzip.compress(lines(operation(1), operation(2))))
    pretty.write_text(json.dumps(operation(3), indent=1) + "\n" + json.dumps(operation(4), indent=1))
    open_line.write_bytes(lines(operation(5), operation(6))[:-1])
    stream = Driven(tmp_path, settle="3600")
    assert ids(stream.step()) == [5]  # up to its last line end
    long_ago = time.time() - 7200
    for path in (packed, pretty, open_line):
        os.utime(path, (long_ago, long_ago))
    stream.restart()
    assert ids(stream.step()) == [1, 2, 3, 4]
    assert stream.step() == []
    append(open_line, b"\n" + lines(operation(7)))
    assert ids(stream.step()) == [6, 7]
    append(pretty, b"\n" + lines(operation(8)))
    with pytest.raises(Abend, match=r"b.json: error\[GG533\] the file was complete"):
        stream.step()


LINE = b"I|GG.T|2026-01-01 10:00:00.000000|2026-01-01T10:00:00.000000|%05d|%d|25000\n"
ROWS = [{"ID": "1", "AMT": "25000"}, {"ID": "2", "AMT": "25000"}]
TEXT = {"inputFormat": "delimitedtext", "fieldDelimiter": "|"}


def record(number: int) -> dict[str, Any]:
    return {**operation(number, "GG.T"), "after": {"ID": str(number), "AMT": "25000"}}


@pytest.fixture
def definitions(tmp_path: Path) -> dict[str, str]:
    path = tmp_path / "definitions.sql"
    path.write_text("CREATE TABLE GG.T (ID NUMBER(9), AMT NUMBER(9), PRIMARY KEY (ID));")
    return {"definitions": str(path)}


@pytest.mark.parametrize(
    ("options", "data"),
    [
        (TEXT, LINE % (1, 1) + LINE % (2, 2)),
        ({**TEXT, "encoding": "UTF-16LE"}, (LINE % (1, 1) + LINE % (2, 2)).decode().encode("UTF-16LE")),
        ({}, lines(record(1), record(2))),
        ({}, json.dumps(record(1), indent=1).encode()),
        ({}, b"[\n" + lines(record(1))[:-1] + b",\n" + lines(record(2)) + b"]"),
    ],
    ids=["delimited text", "UTF-16", "JSON lines", "JSON", "array"],
)
def test_nothing_that_is_half_written_counts_however_long_it_waits(
    options: dict[str, str], data: bytes, definitions: dict[str, str], tmp_path: Path
) -> None:
    """Each place where a writer may pause, with a `settle` of 0: no row has a part of a value, and none is lost."""
    source = tmp_path / "in"
    source.mkdir()
    stream = Driven(source, **options, **definitions)
    start, count = stream.at, data.replace(b"\0", b"").count(b"25000")
    for cut in range(1, len(data), 3):
        path = source / "a.txt"
        path.write_bytes(data[:cut])
        end = json.dumps(stream.reader.latestOffset(json.loads(start)))
        rows = stream.between(start, end)
        path.write_bytes(data)
        rows += stream.between(end, json.dumps(stream.reader.latestOffset(json.loads(end))))
        assert [row["after"] for row in rows] == ROWS[:count], cut
        path.unlink()


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress], ids=["gz", "bz2", "xz"])
def test_a_compressed_file_counts_once_all_of_it_is_there(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    name = {gzip.compress: "gz", bz2.compress: "bz2"}.get(pack, "xz")
    data, path = pack(lines(operation(1), operation(2))), tmp_path / f"a.json.{name}"
    stream = Driven(tmp_path)
    for cut in (1, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:cut])
        assert stream.reader.latestOffset(json.loads(stream.at))["files"] == []
    path.write_bytes(data)
    assert ids(stream.step()) == [1, 2]


def test_files_that_are_complete_count_to_their_ends(definitions: dict[str, str], tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.mkdir()
    (source / "a.txt").write_bytes(LINE % (1, 1) + (LINE % (2, 2))[:-1])
    stream = Driven(source, **TEXT, **definitions, complete="true", settle="3600")
    assert [row["after"] for row in stream.step()] == ROWS
    (source / "b.txt.gz").write_bytes(gzip.compress(LINE % (3, 3)))
    assert [row["after"]["ID"] for row in stream.step()] == ["3"]
    append(source / "a.txt", b"0\n")
    with pytest.raises(Abend, match=r"a.txt: error\[GG533\] the file was complete"):
        stream.step()


def test_a_bounded_stream_ends_with_what_is_there_after_the_batch_of_a_crash(tmp_path: Path) -> None:
    """As Spark drives a stream with `availableNow`: until the end of a batch is its start."""
    path = tmp_path / "a.json"
    path.write_bytes(lines(*map(operation, range(10))))
    stream = Driven(tmp_path)
    planned = json.dumps(stream.reader.latestOffset(json.loads(stream.at)))
    append(path, lines(*map(operation, range(10, 30))))  # after the crash
    stream.restart()
    assert isinstance(stream.reader, SupportsTriggerAvailableNow)
    stream.reader.prepareForTriggerAvailableNow()
    assert ids(stream.between(stream.at, planned)) == list(range(10))
    end = json.dumps(stream.reader.latestOffset(json.loads(planned)))
    assert ids(stream.between(planned, end)) == list(range(10, 30))
    append(path, lines(operation(30)))
    assert json.dumps(stream.reader.latestOffset(json.loads(end))) == end
    stream.reader.prepareForTriggerAvailableNow()
    assert json.dumps(stream.reader.latestOffset(json.loads(end))) != end


@pytest.mark.example("GG533")
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:50]), "and has 50 now"),
        (lambda path: path.write_bytes(lines(operation(8), operation(9), operation(10))), "another file replaced it"),
        (lambda path: path.write_bytes(path.read_bytes().replace(b"name 2", b"name 7")), "another file replaced it"),
    ],
    ids=["shorter", "replaced", "changed"],
)
def test_a_file_that_is_another_is_an_error_that_names_it(change: Any, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(lines(operation(1), operation(2)))
    stream = Driven(tmp_path)
    assert ids(stream.step()) == [1, 2]
    change(path)
    with pytest.raises(Abend, match=rf"a.json: error\[GG533\].*{reason}"):
        stream.step()


def test_a_file_that_changes_before_its_batch_is_read_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(lines(operation(1), operation(2)))
    stream = Driven(tmp_path)
    end = json.dumps(stream.reader.latestOffset(json.loads(stream.at)))
    (part,) = stream.reader.partitions(json.loads(stream.at), json.loads(end))
    path.write_bytes(lines(operation(3), operation(4)))
    with pytest.raises(Abend, match="GG533"):
        list(stream.reader.read(part))
    path.unlink()
    with pytest.raises(Abend, match=r"GG533.*removed"):
        stream.between(stream.at, end)


def test_a_log_that_is_renamed_is_read_on_and_not_again(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_bytes(lines(operation(1)))
    stream = Driven(tmp_path)
    stream.step()
    append(path, lines(operation(2)))
    path.rename(tmp_path / "log.1.json")
    path.write_bytes(lines(operation(3)))
    assert sorted(ids(stream.step())) == [2, 3]
    (tmp_path / "log.1.json").unlink()  # all of it has been read
    assert stream.step() == []


@pytest.mark.parametrize("times", [1, 2])
def test_a_batch_that_was_cut_off_finds_a_log_that_was_renamed(times: int, tmp_path: Path) -> None:
    """What Spark has planned before it was killed is done again after the logs have rotated, with the same rows."""
    path = tmp_path / "log.json"
    path.write_bytes(lines(operation(1), operation(2)))
    stream = Driven(tmp_path)
    end = json.dumps(stream.reader.latestOffset(json.loads(stream.at)))
    found = stream.between(stream.at, end)
    for number in range(times):
        if (tmp_path / "log.1.json").exists():
            (tmp_path / "log.1.json").rename(tmp_path / "log.2.json")
        path.rename(tmp_path / "log.1.json")
        path.write_bytes(lines(*(operation(10 * number + each) for each in (3, 4, 5))))
    stream.restart()
    assert stream.between(stream.at, end) == found
    stream.at = end
    assert sorted(ids(stream.step())) == ([3, 4, 5] if times == 1 else [3, 4, 5, 13, 14, 15])
    assert stream.step() == []


def test_a_batch_that_was_cut_off_finds_a_log_with_another_inode_by_its_content(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_bytes(lines(operation(1), operation(2)))
    stream = Driven(tmp_path)
    end = json.dumps(stream.reader.latestOffset(json.loads(stream.at)))
    found = stream.between(stream.at, end)
    (tmp_path / "old.json").write_bytes(path.read_bytes())
    path.write_bytes(lines(operation(3)))
    stream.restart()
    assert stream.between(stream.at, end) == found
    (tmp_path / "old.json").unlink()
    with pytest.raises(Abend, match=r"log.json: error\[GG533\]"):
        stream.between(stream.at, end)


def as_earlier(files: Mapping[str, bytes], closed: bool = False) -> str:
    """The offset of an earlier version: files as objects of JSON, with longer checksums."""
    states = {
        path: {
            "number": number,
            "end": len(data),
            "closed": closed,
            "digest": checksum(data),
            "inode": os.stat(path).st_ino if os.path.exists(path) else number,
        }
        for number, (path, data) in enumerate(files.items())
    }
    return json.dumps({"files": states, "tables": "[]"})


def test_thousands_of_files_that_were_read_cost_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = {f"/data/part-{number:05}.json": lines(operation(number)) for number in range(5000)}
    files = [
        InputFile(Location.local(path), len(text), path, 1, None, number, kept=text)
        for number, (path, text) in enumerate(data.items())
    ]
    new = tmp_path / "new.json"
    stream = Driven(tmp_path)

    def listed(*_: object, **__: object) -> list[InputFile]:
        return [*files, *([stat_file(Location.local(str(new)), str(new))] if new.exists() else [])]

    monkeypatch.setattr(frames_stream, "list_inputs", listed)
    earlier = as_earlier(data)
    assert stream.reader.latestOffset(json.loads(earlier)) == json.loads(earlier)  # no batch without a new row
    new.write_bytes(lines(operation(5000)))
    end = json.dumps(stream.reader.latestOffset(json.loads(earlier)))
    assert len(end) * 10 < len(earlier)
    assert ids(stream.between(earlier, end)) == [5000]
    with monkeypatch.context() as closed:
        closed.setattr(frames_stream, "open_input", None)  # an idle poll opens none of the files
        closed.setattr(frames_stream, "digest", None)
        assert json.dumps(stream.reader.latestOffset(json.loads(end))) == end
    files[4000] = replace(files[4000], size=1, modified=2, kept=b"x")
    with pytest.raises(Abend, match=r"part-04000.json: error\[GG533\] the file had \d+ bytes .* has 1 now"):
        stream.reader.latestOffset(json.loads(end))


@pytest.mark.parametrize("block_files", [1, 2, 3])
def test_a_batch_is_repeated_with_the_same_rows_wherever_blocks_end(
    block_files: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each batch of the past, once more after later ones, and each range of several batches."""
    monkeypatch.setattr(offsets, "BLOCK_FILES", block_files)
    stream = Driven(tmp_path, maxFilesPerTrigger="2")
    at, found = [stream.at], []
    for number in range(0, 40, 4):
        append(tmp_path / f"{number % 12}.json", lines(operation(number), operation(number + 1)))
        (tmp_path / f"{number}.json.gz").write_bytes(gzip.compress(lines(operation(number + 2), operation(number + 3))))
        found.append(stream.step())
        at.append(stream.at)
    while rows := stream.step():
        found.append(rows)
        at.append(stream.at)
    assert sorted(ids(stream.rows)) == list(range(40))
    for number, rows in enumerate(found):
        assert stream.between(at[number], at[number + 1]) == rows
    stream.restart()
    places = [row["seq"] for row in stream.rows]
    for first in range(len(found)):
        for last in range(first, len(found)):
            again = [row["seq"] for row in stream.between(at[first], at[last + 1])]
            assert sorted(again) == sorted(places[sum(map(len, found[:first])) : sum(map(len, found[: last + 1]))])


FINISHED = gzip.compress(lines(operation(1), operation(2)), 0)
REPLACED = gzip.compress(lines(operation(3), operation(4)), 0)  # of the same size
SHORTER = gzip.compress(lines(operation(1)), 0)


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("earlier", [False, True])
@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            lambda path: append(path, SHORTER),
            f"complete with {len(FINISHED)} bytes .* has {len(FINISHED + SHORTER)} now",
        ),
        (lambda path: path.write_bytes(REPLACED), "another file replaced it"),
        (lambda path: path.write_bytes(SHORTER), f"had {len(FINISHED)} bytes .* has {len(SHORTER)} now"),
        (lambda path: path.rename(path.with_name("b.json.gz")), None),
        (lambda path: os.utime(path, (1, 1)), None),
        (lambda path: (path.unlink(), path.with_name("c").write_bytes(b""), path.write_bytes(FINISHED)), None),
        (lambda path: path.unlink(), None),
    ],
    ids=["grown", "replaced", "shorter", "renamed", "touched", "restored", "deleted"],
)
def test_a_finished_file_is_watched_further(
    change: Callable[[Path], object], problem: str | None, earlier: bool, restarts: bool, tmp_path: Path
) -> None:
    path = tmp_path / "a.json.gz"
    path.write_bytes(FINISHED)
    stream = Driven(tmp_path)
    assert ids(stream.step()) == [1, 2]
    if earlier:
        stream.at = as_earlier({str(path): FINISHED}, closed=True)
    assert stream.step() == []
    change(path)
    if restarts:
        stream.restart()
    if problem is not None:
        for _ in range(2):
            with pytest.raises(Abend, match=rf"a.json.gz: error\[GG533\].*{problem}"):
                stream.step()
        return
    assert stream.step() == []
    (tmp_path / "d.json").write_bytes(lines(operation(3)))
    assert ids(stream.step()) == [3]
    if (renamed := tmp_path / "b.json.gz").exists():
        append(renamed, b"x")
        with pytest.raises(Abend, match=r"b.json.gz: error\[GG533\] the file was complete"):
            stream.step()


def test_a_stream_goes_on_from_the_offsets_of_an_earlier_version(tmp_path: Path) -> None:
    """A batch that was cut off before the update has its rows, and the next one what came since."""
    first, second = tmp_path / "a.json", tmp_path / "b.json"
    data = [lines(operation(number)) for number in range(5)]
    first.write_bytes(data[0] + data[1])
    second.write_bytes(data[2])
    stream = Driven(tmp_path)
    start = as_earlier({str(first): data[0]})
    end = as_earlier({str(first): data[0] + data[1], str(second): data[2]})
    assert ids(stream.between(start, end)) == [1, 2]
    stream.at = end
    assert stream.step() == []
    assert stream.at == end
    append(first, data[3])
    second.rename(tmp_path / "c.json")
    append(tmp_path / "c.json", data[4])
    rows = stream.step()
    assert sorted((row["seq"], row["after"]["ID"]) for row in rows) == [(rows[0]["seq"], "3"), (rows[1]["seq"], "4")]
    assert stream.step() == []
    first.write_bytes(b"x" * len(data[0] + data[1] + data[3]))
    with pytest.raises(Abend, match=r"a.json: error\[GG533\].*another file replaced it"):
        stream.step()


def test_a_stream_can_be_made_over_a_file_that_grows(tmp_path: Path) -> None:
    """Whether a file is still the same is for those who read it, not for the look at its tables."""
    path, stop = tmp_path / "log.json", threading.Event()
    path.write_bytes(lines(*map(operation, range(2000))))

    def write() -> None:
        number = 2000
        while not stop.is_set():
            data = lines(operation(number))
            append(path, data[:30])
            append(path, data[30:])
            number += 1
            time.sleep(0.0002)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(10):
            stream = Driven(tmp_path)
        assert ids(stream.step())[:2000] == list(range(2000))
    finally:
        stop.set()
        writer.join()
    stream.step()
    assert ids(stream.rows) == list(range(len(stream.rows)))


def test_a_stream_needs_a_format_before_there_is_a_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"GG531.*set `inputFormat`"):
        Driven(tmp_path, inputFormat="auto")
    with pytest.raises(UsageError, match="GG531"):
        Driven(tmp_path, settle="soon")


def read_all(spark: SparkSession, source: Path, sink: Path, state: Path) -> None:
    follow(spark, source, sink, state, "availableNow")


def test_spark_reads_on_after_a_stop(spark: SparkSession, tmp_path: Path) -> None:
    frames.register(spark)
    source, sink, state = tmp_path / "in", tmp_path / "out", tmp_path / "state"
    source.mkdir()
    (source / "a.json").write_bytes(lines(*map(operation, range(50))) + b'{"table": "GG.TC')
    os.utime(source / "a.json", (time.time() + 1000,) * 2)  # it is being written
    read_all(spark, source, sink, state)
    assert spark.read.parquet(str(sink)).count() == 50
    record = lines(operation(50))
    append(source / "a.json", record[len(b'{"table": "GG.TC') :])
    (source / "b.json").write_bytes(lines(*map(operation, range(51, 80))))
    read_all(spark, source, sink, state)
    read_all(spark, source, sink, state)
    assert_once(spark, source, sink, 80)


STEPS = {
    "planning": ["state/offsets/0", "state/commits/0", "out/_spark_metadata/0", "out/*.parquet"],
    "before the batch": ["state/commits/0", "out/_spark_metadata/0", "out/*.parquet"],
    "in the batch": ["state/commits/0", "out/_spark_metadata/0"],
    "before the commit log": ["state/commits/0"],
    "after it": [],
}


@pytest.mark.parametrize(
    ("step", "trigger"),
    [
        pytest.param(
            step,
            trigger,
            marks=[] if (step, trigger) == ("before the commit log", "availableNow") else pytest.mark.long,
            id=f"{step}, {trigger}",
        )
        for step in STEPS
        for trigger in ("availableNow", "once", "processingTime")
    ],
)
def test_a_stream_that_was_killed_has_every_operation_once(
    step: str, trigger: str, spark: SparkSession, tmp_path: Path
) -> None:
    """A kill leaves what Spark had written before: without the rest, a stream starts as after the kill."""
    frames.register(spark)
    source, sink, state = tmp_path / "in", tmp_path / "out", tmp_path / "state"
    source.mkdir()
    (source / "a.json").write_bytes(lines(*map(operation, range(1000))))
    read_all(spark, source, sink, state)
    for pattern in STEPS[step]:
        found = list(tmp_path.glob(pattern))
        assert found, pattern
        for path in found:
            path.unlink()
            path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    append(source / "a.json", lines(*map(operation, range(1000, 2000))))
    (source / "b.json").write_bytes(lines(*map(operation, range(2000, 3000))))
    for _ in range(2 if trigger == "once" else 1):  # which makes one batch: here the one that was cut off
        follow(spark, source, sink, state, trigger)
    assert_once(spark, source, sink, 3000)


def follow(spark: SparkSession, source: Path, sink: Path, state: Path, trigger: str) -> None:
    stream = spark.readStream.format("ggfmt").load(str(source))
    writer = stream.writeStream.format("parquet").option("checkpointLocation", str(state))
    if trigger == "processingTime":
        query = writer.trigger(processingTime="100 milliseconds").start(str(sink))
        query.processAllAvailable()
        query.stop()
    else:
        writer.trigger(**{trigger: True}).start(str(sink)).awaitTermination()


def assert_once(spark: SparkSession, source: Path, sink: Path, count: int) -> None:
    """The sink has what a frame of the source has: compared both ways, with the places of each operation."""
    names = ("table", "op_type", "op_ts", "position", "file", "offset", "seq")
    entries = [f"sort_array(map_entries({name})) {name}" for name in ("before", "after", "tokens")]
    written = spark.read.parquet(str(sink)).selectExpr(*names, *entries)
    expected = frames.read(spark, source).selectExpr(*names, *entries)
    assert written.exceptAll(expected).collect() == []
    assert expected.exceptAll(written).collect() == []
    assert written.count() == count


PROGRAM = """
import sys
from pathlib import Path
from ggfmt import frames
from frame_session import frame_session
source, sink, state = sys.argv[1:]
with frame_session() as spark:
    frames.register(spark)
    stream = spark.readStream.format("ggfmt").option("splitSize", "2k").option("settle", "0").load(source)
    slow = stream.where("java_method('java.lang.Thread', 'sleep', 20L) is not null")
    writer = slow.writeStream.format("parquet").option("checkpointLocation", state)
    writer.start(sink).awaitTermination()
"""


@pytest.mark.long
def test_a_stream_that_is_killed_in_a_batch_has_every_operation_once(spark: SparkSession, tmp_path: Path) -> None:
    source, sink, state = tmp_path / "in", tmp_path / "out", tmp_path / "state"
    source.mkdir()
    for number in range(3):
        data = lines(*map(operation, range(100 * number, 100 * number + 100)))
        (source / f"{number}.json").write_bytes(data)
    environment = {**os.environ, "PYTHONPATH": str(SUPPORT)}
    command = [sys.executable, "-c", PROGRAM, str(source), str(sink), str(state)]
    killed = subprocess.Popen(command, env=environment, start_new_session=True, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 120
        while not list(sink.glob("*.parquet")):  # of a task that is done, while the batch is not
            assert killed.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
    finally:
        os.killpg(killed.pid, signal.SIGKILL)
        killed.wait()
    assert not list((state / "commits").glob("[0-9]*"))
    assert [path.name for path in (state / "offsets").glob("[0-9]*")] == ["0"]
    (source / "3.json").write_bytes(lines(*map(operation, range(300, 340))))
    frames.register(spark)
    read_all(spark, source, sink, state)  # the batch that was cut off, as it was, and the file that came since
    assert_once(spark, source, sink, 340)
