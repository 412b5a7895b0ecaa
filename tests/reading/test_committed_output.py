"""An output of ggfmt as the input of another run: its manifests say which files are messages, and in which order."""

from __future__ import annotations

import json
import logging
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from interrupted_commits import dies_in_commit
from runs import JSON_LINES, MOMENT, PIPES, operation, output_files, run_ggfmt, snapshot, write_lines
from s3_server import S3Server

from ggfmt.commit.journal import JOURNAL, POINTER, STAGING
from ggfmt.commit.locking import lock_directory
from ggfmt.commit.store import Store
from ggfmt.diagnostics.diagnostic import Abend, UsageError
from ggfmt.location import Location
from ggfmt.reading import listing
from ggfmt.reading.listing import CommittedOutput, list_inputs, output_at

WITH_SCHEMAS = ("gg.handler.j.format=json", "gg.handler.j.format.jsonDelimiter=CDATA[\\n]")
MIXED = ("gg.handlerlist=j", *WITH_SCHEMAS, "gg.handler.j.partitionByTable=false", "gg.handler.j.maxFileSize=400")


def operations(*numbers: int, kind: str = "I") -> list[dict[str, Any]]:
    return [operation(number, f"GG.T{number % 3}", kind) for number in numbers]


def written(output: Path, *numbers: int, settings: tuple[str, ...] = WITH_SCHEMAS, **others: Any) -> Path:
    """An output with these operations."""
    source = write_lines(output.parent / f"{output.name}.in", operations(*numbers))
    run_ggfmt([source], output, *settings, **others)
    source.unlink()
    return output


def numbers(inputs: list[Path | str], output: Path) -> list[int]:
    """The operations that a run reads from inputs, in the order in which it reads them."""
    shutil.rmtree(output, ignore_errors=True)
    run_ggfmt(inputs, output, *JSON_LINES, "gg.handler.j.partitionByTable=false")  # type: ignore[arg-type]
    lines = b"".join(path.read_bytes() for path in output_files(output, "j")).splitlines()
    return [int(json.loads(line)["pos"]) for line in lines]


def refused(*inputs: Path | str) -> str:
    with pytest.raises(UsageError) as error:
        list_inputs([str(each) for each in inputs])
    return str(error.value)


def test_an_output_holds_its_messages_and_nothing_else(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "ggfmt")
    first = written(tmp_path / "y1", *range(9))
    assert any((first / "dirdef").iterdir())
    before = snapshot(first)
    link = tmp_path / "link"
    link.symlink_to(first)
    for given in (first, f"{first}/", first.as_uri(), link, first / "j", link / "j", first / "j" / ".." / "j"):
        caplog.clear()
        assert sorted(numbers([given], tmp_path / "y2")) == list(range(9)), given
        assert f"`{first}` is an output of ggfmt: 3 files of handler `j`, in the order of its manifests" in caplog.text
    for given in (first / "j" / "GG.T1", first / "j" / "*1", first / "j" / "*1" / "*"):
        if given.name == "*1":
            assert "GG310" in refused(given)
        else:
            assert numbers([given], tmp_path / "y2") == [1, 4, 7], given
    for given in (first / "*" / "*" / "*", first / "*" / "*" / "GG*", f"{first}/[jd]*/**/*"):
        assert sorted(numbers([given], tmp_path / "y2")) == list(range(9)), given
    caplog.clear()
    assert "no file to read" in refused(first / "*" / "*")
    assert f"skipped in the output `{first}`: 3 schemas" in caplog.text
    assert snapshot(first) == before


def test_files_are_in_the_order_of_the_manifests(tmp_path: Path) -> None:
    """Templates may give names whose order is another one."""
    template = "gg.handler.j.fileNameMappingTemplate=${currentTimestamp[ss]}.json"
    handler = ("gg.handler.j.type=filewriter", *JSON_LINES, "gg.handler.j.partitionByTable=false", template)
    for number, second in enumerate((30, 20, 10)):
        moment = MOMENT + timedelta(minutes=number) - timedelta(seconds=35) + timedelta(seconds=second)
        mode = "append" if number else "error"
        written(
            tmp_path / "y1",
            *range(4 * number, 4 * number + 4),
            settings=(*handler, "gg.handler.j.maxFileSize=400"),
            current_timestamp=moment,
            mode=mode,
        )
    names = [path.name for path in output_files(tmp_path / "y1", "j")]
    assert names[0].startswith("10") and len(names) > 3
    for given in (tmp_path / "y1", tmp_path / "y1" / "j", tmp_path / "y1" / "j" / "*"):
        assert numbers([given], tmp_path / "y2") == list(range(12))


def test_runs_of_one_time_are_in_the_order_of_their_files(tmp_path: Path) -> None:
    for number in range(4):
        mode = "append" if number else "error"
        written(tmp_path / "y1", 2 * number, 2 * number + 1, settings=MIXED, current_timestamp=MOMENT, mode=mode)
    assert numbers([tmp_path / "y1"], tmp_path / "y2") == list(range(8))


def test_rejected_records_are_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    source = write_lines(tmp_path / "in.json", [*operations(1, 2), b"{broken", b"{broken"])
    run_ggfmt([source], tmp_path / "y1", *WITH_SCHEMAS, quarantine=True)
    assert sorted(numbers([tmp_path / "y1"], tmp_path / "y2")) == [1, 2]
    (record,) = [record for record in caplog.records if "skipped in the output" in record.message]
    assert record.message == f"skipped in the output `{tmp_path / 'y1'}`: 2 schemas and 2 rejected records"
    assert record.levelno == logging.WARNING


def test_messages_of_several_handlers_are_not_read_twice(tmp_path: Path) -> None:
    first = written(tmp_path / "y1", *range(4), settings=(*JSON_LINES, *PIPES))
    for given in (first, first / "*" / "*" / "*"):
        message = refused(given)
        assert "the messages of 2 handlers, each with all operations: `d`, `j`" in message
        assert f"name the directory of one handler, such as `{first}/d`" in message
    assert sorted(numbers([first / "j"], tmp_path / "y2")) == list(range(4))
    assert sorted(numbers([first / "j" / "*" / "*"], tmp_path / "y2")) == list(range(4))


def test_two_formats_of_one_handler_are_refused(tmp_path: Path) -> None:
    first = written(tmp_path / "y1", 0, settings=JSON_LINES)
    later = ("gg.handler.j.format=xml",)
    written(first, 1, settings=later, mode="append", current_timestamp=MOMENT + timedelta(hours=1))
    for given in (first, first / "j", first / "j" / "*" / "*"):
        assert "handler `j` has written files of several formats" in refused(given)
    assert numbers([first / "j" / "GG.T0" / "*"], tmp_path / "y2") == [0]


def test_rows_are_no_changes(tmp_path: Path) -> None:
    rows = tmp_path / "y1" / "GG.T" / "part-00000.json"
    rows.parent.mkdir(parents=True)
    rows.write_bytes(b'{"ID":1}\n')
    entry = {"path": "GG.T/part-00000.json", "table": "GG.T", "bytes": 9}
    document = {"layout": 1, "consolidated": {}, "tables": {"GG.T": {}}, "files": [entry], "schemas": [], "run": "r"}
    (tmp_path / "y1" / "_ggfmt").mkdir()
    (tmp_path / "y1" / "_ggfmt" / "manifest.json").write_text(json.dumps(document))
    for given in (tmp_path / "y1", rows.parent, tmp_path / "y1" / "*" / "*"):
        assert "holds rows of `ggfmt consolidate`, not changes" in refused(given)


@pytest.mark.parametrize("moves", [0, 1, 2])
def test_a_commit_that_was_cut_off_is_not_read_in_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moves: int
) -> None:
    first = written(tmp_path / "y1", *range(6), settings=JSON_LINES)
    with dies_in_commit(monkeypatch, moves):
        written(first, *range(6, 12), settings=JSON_LINES, mode="append", current_timestamp=None)
    assert (first / JOURNAL).exists()
    for given in (first, first / "j", first / "j" / "*" / "*", first / "j" / "GG.T1"):
        assert "the commit of a run to" in refused(given)
    assert len(list_inputs([str(output_files(first, "j")[0])])) == 1
    written(first, 12, settings=JSON_LINES, mode="append", current_timestamp=None)
    assert sorted(numbers([first], tmp_path / "y2")) == list(range(13))


@pytest.mark.parametrize("name", [JOURNAL, POINTER])
def test_a_stream_waits_for_the_end_of_a_commit(tmp_path: Path, name: str) -> None:
    first = written(tmp_path / "y1", *range(3), settings=JSON_LINES)
    shutil.copy(output_files(first, "j")[0], first / "j" / "GG.T0" / "of_another_run.json")
    (first / name).write_text("{}")
    assert len(list_inputs([str(first)], growing=True)) == 3
    assert len(list_inputs([str(first / "j")], growing=True)) == 4


def test_a_run_that_is_at_work_does_not_matter(tmp_path: Path) -> None:
    first = written(tmp_path / "y1", *range(3))
    store = Store(Location.of(str(first)))
    holding = lock_directory(store, "2030-01-01_00-00-00.000-0a0b0c0d", "the output directory")
    try:
        store.write(f"{STAGING}/2030-01-01_00-00-00.000-0a0b0c0d/data.json", b"half of")
        assert sorted(numbers([first], tmp_path / "y2")) == [0, 1, 2]
    finally:
        holding.release()


def test_a_commit_in_the_middle_of_a_look_leads_to_another_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = written(tmp_path / "y1", *range(3))
    real, looks = output_at, 0

    def look(top: Location) -> CommittedOutput | None:  # which is called before the files are listed
        nonlocal looks
        looks += 1
        return real(top)

    below = listing._LocalListing._below

    def then_committed(self: Any, status: Any) -> Any:
        found = below(self, status)
        if looks == 1:
            written(first, 3, 4, 5, mode="append", current_timestamp=None)
        return found

    monkeypatch.setattr(listing, "output_at", look)
    monkeypatch.setattr(listing._LocalListing, "_below", then_committed)
    assert len(list_inputs([str(first)])) == 6
    assert looks == 2


def test_a_file_that_no_manifest_lists_is_not_passed_over(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Where a directory is input and output at once, its messages are the operations of the other files again."""
    data = tmp_path / "data"
    data.mkdir()
    source = write_lines(data / "a.json", operations(1, 2))
    run_ggfmt([data], data, *JSON_LINES, mode="append")
    message = refused(data)
    assert f"no manifest of the output lists `{source}`" in message
    assert f"name the input: `{data}/j`, or the other files" in message
    assert sorted(numbers([source], tmp_path / "y2")) == sorted(numbers([data / "j"], tmp_path / "y2")) == [1, 2]
    (data / "more").mkdir()
    write_lines(data / "more" / "b.json", operations(3))
    assert numbers([data / "more"], tmp_path / "y2") == [3]
    assert "1 other file" in refused(data)


def test_files_that_are_gone_or_other_ones_are_told(tmp_path: Path) -> None:
    first = written(tmp_path / "y1", *range(9))
    gone, changed, _ = output_files(first, "j")
    gone.unlink()
    message = refused(first)
    assert f"the output lacks `{gone}`, which its manifests list" in message
    assert f"to read only the existing files, name `{first}/j`" in message
    assert sorted(numbers([first / "j"], tmp_path / "y2")) == [1, 2, 4, 5, 7, 8]
    lines = changed.read_bytes().splitlines(keepends=True)
    changed.write_bytes(b"".join(lines[:-1]))
    for given in (first / "j", changed.parent, changed.parent / "*"):
        assert f"`{changed}` has {changed.stat().st_size} bytes, but its manifest lists " in refused(given)


def test_manifests_that_cannot_be_understood_end_the_run(tmp_path: Path) -> None:
    first = written(tmp_path / "y1", *range(3))
    (record,) = (first / "_ggfmt" / "runs").iterdir()
    document = json.loads(record.read_text())
    for content, code in ((json.dumps({**document, "layout": 99}), "GG561"), ("{", "GG509")):
        record.write_text(content)
        with pytest.raises(Abend, match=code):
            list_inputs([str(first)])


def test_an_output_without_messages_has_nothing_to_read(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    run_ggfmt([tmp_path / "in"], tmp_path / "y1", *JSON_LINES, allow_empty=True)
    assert "no file to read" in refused(tmp_path / "y1")
    assert list_inputs([str(tmp_path / "y1")], allow_empty=True) == []


def test_only_what_is_new_in_an_output_is_read_with_a_checkpoint(tmp_path: Path) -> None:
    first, second = tmp_path / "y1", tmp_path / "y2"
    for day in range(3):
        written(first, 2 * day, 2 * day + 1, mode="append" if day else "error", current_timestamp=None)
        run_ggfmt([first], second, *JSON_LINES, checkpoint=str(tmp_path / "seen"), current_timestamp=None)
    lines = b"".join(path.read_bytes() for path in output_files(second, "j")).splitlines()
    assert sorted(int(json.loads(line)["pos"]) for line in lines) == list(range(6))


def test_outputs_in_a_store(
    s3_server: S3Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "ggfmt")
    for name, value in s3_server.environment.items():
        monkeypatch.setenv(name, value)
    fs = s3_server.client()
    fs.create_dir("chained")
    source = write_lines(tmp_path / "in.json", operations(*range(6)))
    top = "s3://chained/a b/y1"
    settings = (*WITH_SCHEMAS, "gg.handler.j.pathMappingTemplate=p q/${tableName}", "gg.handler.j.type=filewriter")
    for number in range(2):
        mode = "append" if number else "error"
        run_ggfmt([source], top, *settings, mode=mode, current_timestamp=None)  # type: ignore[arg-type]
    caplog.clear()
    for given in (top, f"{top}/", f"{top}/j", "s3a://chained/a%20b/y1/j/p%20q", f"{top}/*/*/*/*", f"{top}?region=x"):
        assert sorted(numbers([given], tmp_path / "y2")) == sorted([*range(6)] * 2), given
        assert "is an output of ggfmt: 6 files of handler `j`" in caplog.text
        caplog.clear()
    assert len(list_inputs([f"{top}/j/p q/T1"])) == 2
    with fs.open_output_stream("chained/a b/y1/_ggfmt/journal.json") as stream:
        stream.write(b"{}")
    for given in (top, f"{top}/j", f"{top}/j/*/*/*"):
        assert "the commit of a run to `s3://chained/a b/y1` is not finished" in refused(given)


def test_what_may_not_be_read_above_an_input_does_not_matter(
    s3_server: S3Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, value in s3_server.environment.items():
        monkeypatch.setenv(name, value)
    fs = s3_server.client()
    fs.create_dir("guarded")
    with fs.open_output_stream("guarded/in/more/a.json") as stream:
        stream.write(json.dumps(operation(1)).encode())
    top = Location.of("s3://guarded/in/more")
    _, inner = top.file_system()

    class Guarded:
        """Answers for what is below the input."""

        def get_file_info(self, path: str) -> Any:
            if not path.startswith(inner):
                raise OSError("AWS Error ACCESS_DENIED during HeadObject operation")
            return fs.get_file_info(path)

    monkeypatch.setattr(Location, "file_system", lambda location: (Guarded(), location.key))
    assert output_at(top) is None


def test_an_output_below_a_directory_is_left_out_as_before(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    data = tmp_path / "in"
    data.mkdir()
    write_lines(data / "a.json", operations(1))
    (data / "more").mkdir()
    written(data / "more" / "y1", 2)
    assert numbers([data], tmp_path / "y2") == [1]
    assert f"skipped an output of ggfmt: `{data / 'more' / 'y1'}`" in caplog.text
    assert numbers([data, data / "more" / "y1"], tmp_path / "y2") == [1, 2]
