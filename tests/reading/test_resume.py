"""Runs that go on where an interrupted one has stopped."""

from __future__ import annotations

import json
import pickle
import re
import time
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from mortal import Mortal
from runs import JSON_LINES, PIPES, metadata, operation, run_ggfmt, snapshot

import ggfmt
from ggfmt.commit.commit import check_directories
from ggfmt.commit.directory import OutputDirectory
from ggfmt.commit.interrupted import KEPT_DAYS
from ggfmt.diagnostics.diagnostic import Abend, UsageError
from ggfmt.location import Location
from ggfmt.model.table import Column, TableDef
from ggfmt.reading import resume
from ggfmt.reading.listing import CommitLimits
from ggfmt.reading.processes import InProcesses
from ggfmt.reading.resume import digest_of
from ggfmt.reading.runner import InProcess

MOMENT = datetime(2026, 1, 2, 3, 4, 5)
SIZE = 400  # of a split
COLUMNS = {"ID": "string", "NAME": "string", "AMOUNT": "number"}


class Place:
    def __init__(self, root: Path, files: list[list[Any]], many: int = 0, **given: Any) -> None:
        self.root, self.given = root, given
        self.inputs = []
        for number, records in enumerate(files):
            path = root / f"{number}.json"
            path.write_text("".join(json.dumps(record, separators=(",", ":")) + "\n" for record in records))
            self.inputs.append(path)

    def run(self, out: str, runner: InProcess | None = None, *settings: str, **given: Any) -> Any:
        given = {"split_size": SIZE, "resume": True, "current_timestamp": MOMENT, **self.given, **given}
        return run_ggfmt(
            given.pop("inputs", self.inputs),
            self.root / out,
            *settings,
            start=lambda: nullcontext(runner or InProcess()),
            **given,
        )

    def interrupted(self, out: str, lives: int, *settings: str, **given: Any) -> bool:
        """Run until a task dies; return whether one did."""
        try:
            self.run(out, Mortal(lives), *settings, **given)
        except KeyboardInterrupt:
            return True
        return False

    def written(self, out: str) -> tuple[Any, Any]:
        """Return the files of a run, and what its manifest says of them."""
        found = {name: text for name, text in snapshot(self.root / out).items() if not name.startswith("_ggfmt")}
        manifest = json.loads((self.root / out / "_ggfmt" / "manifest.json").read_text())
        totals = {key: value for key, value in manifest["totals"].items() if not key.startswith("seconds")}
        return found, [totals, manifest["files"], manifest["time"]]


def records(count: int, tables: int = 2, first: int = 0) -> list[Any]:
    return [operation(first + number, f"GG.T{number % tables}") for number in range(count)]


KINDS: dict[str, tuple[list[list[Any]], dict[str, Any]]] = {
    "definitions in the data": ([records(12), records(9, first=12)], {}),
    "metadata changes": (
        [[metadata("GG.A", **COLUMNS), operation(0, "GG.A"), *records(9)],
         [metadata("GG.A", **COLUMNS, X="string"), operation(9, "GG.A", X="y"), *records(9, first=10)]],
        {},
    ),
    "a table at the end": ([records(12), [*records(9, first=12), operation(30, "GG.NEW")]], {}),
    "rejects": ([[*records(5), {"table": "GG.T0", "op_type": "Q"}, *records(5, first=5)]] * 2, {"quarantine": True}),
    "divided by table": ([records(120, 100)] * 2, {"split_size": 4000}),
}  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
def test_a_resumed_run_has_the_same_output(name: str, tmp_path: Path) -> None:
    files, given = KINDS[name]
    place = Place(tmp_path, files, **given)
    whole = Mortal()
    place.run("whole", whole)
    lives = 0
    while place.interrupted(f"out{lives}", lives):
        rest = Mortal(parallelism=3 if lives else 1)
        place.run(f"out{lives}", rest)
        assert place.written(f"out{lives}") == place.written("whole"), lives
        assert rest.ran.total() <= whole.ran.total() - lives
        assert not (tmp_path / f"out{lives}" / "_ggfmt" / "staging").exists()
        lives += 1
    assert lives == whole.ran.total() > 5


def test_a_run_may_die_again_and_again(tmp_path: Path) -> None:
    place = Place(tmp_path, KINDS["metadata changes"][0])
    place.run("whole")
    deaths = 0
    while place.interrupted("out", 1):
        deaths += 1
    assert place.written("out") == place.written("whole")
    assert deaths > 4


def test_other_requests_leave_it_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    place = Place(tmp_path, KINDS["definitions in the data"][0])
    assert place.interrupted("out", 4)
    caplog.set_level("INFO")
    staging = tmp_path / "out" / "_ggfmt" / "staging"
    (run,) = staging.iterdir()
    other = Mortal()
    place.run("out", other, *JSON_LINES)
    assert f"run {run.name} was interrupted, with another request" in caplog.text
    assert [each.name for each in staging.iterdir()] == [run.name]
    with pytest.raises(UsageError, match="GG501"):
        place.run("out")  # which may not add to what is there now
    place.run("out", None, *PIPES, mode="overwrite", resume=False)
    assert not staging.exists()


def test_what_a_later_run_has_committed_is_not_overtaken(tmp_path: Path) -> None:
    place = Place(tmp_path, KINDS["definitions in the data"][0], mode="append", current_timestamp=None)
    assert place.interrupted("out", 4)
    place.run("out", None, inputs=place.inputs[:1], resume=None)
    runner = Mortal()
    place.run("out", runner)
    assert runner.ran["run_split"] > 4
    files = sorted((tmp_path / "out").glob("j/GG.T0/*"))
    assert [len(file.read_text().splitlines()) for file in files] == [6, 11]


def test_a_dry_run_says_that_the_command_goes_on(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    place = Place(tmp_path, KINDS["definitions in the data"][0])
    assert place.interrupted("out", 4)
    caplog.set_level("INFO")
    check_directories([OutputDirectory(Location.of(str(tmp_path / "out")))])
    assert "out has an interrupted run; the same command goes on with it" in caplog.text
    place.run("out")
    caplog.clear()
    check_directories([OutputDirectory(Location.of(str(tmp_path / "out")))])
    assert caplog.text == ""


def test_old_results_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(tmp_path, KINDS["definitions in the data"][0])
    assert place.interrupted("out", 4)
    now = time.time()
    monkeypatch.setattr("ggfmt.commit.interrupted.time.time", lambda: now + KEPT_DAYS * 86400 + 1)
    runner = Mortal()
    place.run("out", runner)
    assert place.written("out")
    assert not (tmp_path / "out" / "_ggfmt" / "staging").exists()


def test_a_run_of_little_input_keeps_nothing(tmp_path: Path) -> None:
    place = Place(tmp_path, KINDS["definitions in the data"][0], resume=None)
    assert place.interrupted("out", 4)
    assert not (tmp_path / "out").exists() or not list((tmp_path / "out").rglob("*"))


def test_a_file_that_was_corrected_is_read_again_alone(tmp_path: Path) -> None:
    files = [records(5, first=5 * number) for number in range(4)]
    files[3][2]["op_type"] = "Q"
    place = Place(tmp_path, files, split_size=1000)
    with pytest.raises(Abend, match="GG3"):
        place.run("out")
    files[3][2]["op_type"] = "I"
    place.inputs[3].write_text("".join(json.dumps(record, separators=(",", ":")) + "\n" for record in files[3]))
    runner = Mortal()
    place.run("out", runner)
    place.run("whole")
    assert place.written("out") == place.written("whole")
    assert runner.ran["run_split"] == 1


@pytest.mark.parametrize("harm", ["cut", "changed", "removed", "other code"])
def test_damaged_results_are_not_taken(harm: str, tmp_path: Path) -> None:
    place, whole = Place(tmp_path, KINDS["definitions in the data"][0]), Mortal()
    place.run("whole", whole)
    assert place.interrupted("out", 6)
    (staging,) = (tmp_path / "out" / "_ggfmt" / "staging").iterdir()
    for path in filter(Path.is_file, (staging / "results").iterdir()):
        content = path.read_bytes()
        if harm == "other code":
            path.write_bytes(pickle.dumps(Evil(str(tmp_path / "evil"))))
        elif harm == "cut":
            path.write_bytes(content[:-9])
        elif harm == "changed":
            path.write_bytes(content[:50] + b"x" + content[51:])
    if harm == "removed":
        for path in staging.glob("0*/*"):
            path.unlink()
    runner = Mortal()
    place.run("out", runner)
    assert place.written("out") == place.written("whole")
    assert runner.ran["run_split"] == whole.ran["run_split"]
    assert not (tmp_path / "evil").exists()


class Evil:
    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return open, (self.path, "w")


@pytest.mark.parametrize("value", [Evil("x"), partial(print), BytesIO(), Path()])
def test_only_plain_classes_are_made_of_results(value: Any) -> None:
    with pytest.raises(pickle.UnpicklingError):
        resume._Unpacker(pickle.dumps(value), []).load()


@pytest.mark.parametrize("name", ["../x", "/x", "", "a//b", "a/../b"])
def test_a_result_names_no_file_outside_of_staging(name: str) -> None:
    stream = BytesIO()

    class Packer(pickle.Pickler):
        def persistent_id(self, value: Any) -> Any:
            return (0, name) if isinstance(value, Location) else None

    Packer(stream).dump(Location.of("/tmp/x"))
    with pytest.raises(pickle.UnpicklingError):
        resume._Unpacker(stream.getvalue(), [Location.of("/tmp")]).load()


@dataclass
class Settings:
    name: str
    table: TableDef
    words: frozenset[str]
    by_name: dict[str, Any]


def test_digests_are_those_of_values() -> None:
    def made(name: str = "a", column: str = "ID", words: str = "xyz", **more: Any) -> Settings:
        return Settings(name, TableDef("T", (Column(column, key=1),)), frozenset(words), {"p": re.compile("x"), **more})

    assert digest_of(made()) == digest_of(made())
    others = [made("b"), made(column="N"), made(words="xy"), made(q=1), made(p=re.compile("y"))]
    assert len({digest_of(each) for each in [made(), *others]}) == 6
    assert len({digest_of(each) for each in ["1", 1, b"1", ("1",), ["1"], None, 1.0, True]}) == 8
    for unknown in (object(), BytesIO(), lambda: 1, made(p=object())):
        with pytest.raises(TypeError):
            digest_of(unknown)


def test_a_checkpoint_has_each_file_once(tmp_path: Path) -> None:
    files = [records(5, first=5 * number) for number in range(4)]
    place = Place(tmp_path, files, checkpoint=str(tmp_path / "seen"), limits=CommitLimits(2), split_size=1000)
    place.run("whole", checkpoint=None, limits=CommitLimits())
    deaths = 0
    while place.interrupted("out", 1):
        deaths += 1
    assert deaths > 1
    assert place.run("out").totals.read == 0
    lines = {
        out: sorted(line for file in (tmp_path / out).glob("j/*/*") for line in file.read_text().splitlines())
        for out in ("whole", "out")
    }
    assert lines["out"] == lines["whole"]


def test_every_output_directory_goes_on(tmp_path: Path) -> None:
    roots = [f"gg.handler.{name}.rootFilePath={tmp_path / name}" for name in ("d", "j")]
    settings = (*PIPES, *JSON_LINES, *roots)
    place = Place(tmp_path, KINDS["definitions in the data"][0])

    def run(runner: InProcess) -> None:
        given: dict[str, Any] = {"split_size": SIZE, "resume": True, "current_timestamp": MOMENT}
        run_ggfmt(place.inputs, None, *settings, start=lambda: nullcontext(runner), **given)

    with pytest.raises(KeyboardInterrupt):
        run(Mortal(5))
    assert all(list((tmp_path / name / "_ggfmt" / "staging").glob("*/resume.json")) for name in ("d", "j"))
    rest = Mortal()
    run(rest)
    assert rest.ran["run_split"] < 8
    place.run("whole")
    for name in ("d", "j"):
        whole, own = tmp_path / "whole" / name, tmp_path / name / name
        assert snapshot(own) == snapshot(whole)
        assert not (tmp_path / name / "_ggfmt" / "staging").exists()


def test_a_replicat_and_masks_are_part_of_the_work(tmp_path: Path) -> None:
    place = Place(tmp_path, KINDS["definitions in the data"][0])
    given: dict[str, Any] = {"mode": "overwrite", "master": "none[1]", "split_size": SIZE, "resume": True}
    given |= {"mask": "GG.T0.NAME=hash", "mask_key": tmp_path / "key", "config": tmp_path / "r.properties"}
    given["config"].write_text("\n".join(["gg.handlerlist=j", *JSON_LINES]))
    (tmp_path / "key").write_text("secret of the masks")
    parameters = tmp_path / "r.prm"
    parameters.write_text("REPLICAT r\nMAP GG.*, TARGET SHOP.*, COLMAP (USEDEFAULTS, MORE = @STRCAT (ID, 'x'));\n")
    given["replicat"] = parameters
    before = Mortal.run

    def dies(self: InProcess, task: Any, items: Any, *rest: Any) -> Any:
        return before(Mortal(6), task, items, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(InProcesses, "run", dies)
        with pytest.raises(KeyboardInterrupt):
            ggfmt.convert(place.inputs, output=tmp_path / "out", **given)
    kept = [path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert len(kept) > 6
    assert not any(b"secret of" in content for content in kept)
    ggfmt.convert(place.inputs, output=tmp_path / "out", **given)
    ggfmt.convert(place.inputs, output=tmp_path / "whole", **given)
    texts = [
        sorted(
            re.sub('"current_ts":"[^"]*"', "", line) for file in (tmp_path / out).glob("j/*/*") for line in file.open()
        )
        for out in ("out", "whole")
    ]
    assert texts[0] == texts[1] != []
