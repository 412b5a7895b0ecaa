"""What a run says of itself: totals over all splits, the losses among them, the definitions it met, its options."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from runs import JSON_LINES, PIPES, manifest, metadata, operation, run_ggfmt, tables, write_lines

from ggfmt.commit.names import counted, plain_place, reject_file, safe_name
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic, without_credentials
from ggfmt.formats import FORMATS
from ggfmt.model.table import Column, Kind, SqlType, TableDef
from ggfmt.reading.progress import COMMITTING, DISCOVERY, FORMATTING, JOINING, READING, ROUTING, SENDING, STEPS, WRITING
from ggfmt.reading.runner import InProcess
from ggfmt.sinks.messages.report import HandlerTotals

COLUMNS = (Column("ID", key=1), Column("NAME"), Column("AMOUNT", SqlType(Kind.DECIMAL)))
DEFINITIONS = {name: TableDef(name, COLUMNS) for name in ("GG.A", "GG.B")}
ASCII = (*JSON_LINES, *PIPES[:2], "gg.handler.d.format.encoding=US-ASCII", "gg.handlerlist=j,d")


def story() -> list[dict[str, Any] | bytes]:
    """Of everything that is counted two or more, far apart, so that they are of different splits."""
    key_update = {**operation(3, "GG.A", "U"), "before": {"ID": "old", "NAME": "n", "AMOUNT": 1}}
    half: list[dict[str, Any] | bytes] = [
        operation(0, "GG.A", NAME="a|b"),
        operation(1, "GG.B", "U"),
        b"NOT JSON",
        operation(2, "GG.B", "D", NAME="é"),
        metadata("GG.B", ID="string", NAME="string", AMOUNT="number"),
        key_update,
        operation(4, "GG.A", AMOUNT="no number"),
        operation(5, "GG.A", "D", NAME="é€"),
        {**operation(6, "GG.B"), "more": 1},
    ]
    return [*half, *half, operation(7, "GG.B", NAME="c|d")]


def handler(messages: int, extras: int, rejects: dict[str, int], lost: int) -> dict[str, Any]:
    return {"messages": messages, "extra_messages": extras, "rejects": rejects, "lost_characters": lost}


@pytest.mark.parametrize("split_size", [None, 500, 60])
def test_totals_are_those_of_all_splits(tmp_path: Path, split_size: int | None) -> None:
    source = write_lines(tmp_path / "in.json", story())
    settings = (*ASCII, "gg.handler.d.format.pkUpdateHandling=delete-insert")
    out = tmp_path / "out"
    run_ggfmt([source], out, *settings, definitions=DEFINITIONS, quarantine=True, split_size=split_size)
    totals = manifest(out)["totals"]
    assert totals["operations"] == {"GG.A": {"I": 4, "U": 2, "D": 2}, "GG.B": {"U": 2, "D": 2, "I": 3}}
    assert totals["operations_read"] == 15
    assert totals["records_rejected_by_reader"] == 2
    assert totals["other_records"] == {"object metadata": 2}
    assert totals["unknown_members"] == {"more": 2}
    assert [round(totals[name], 3) for name in ("seconds", "seconds_in_tasks")] == [
        totals["seconds"],
        totals["seconds_in_tasks"],
    ]
    assert totals["input_bytes"] == source.stat().st_size
    assert {
        name: {key: of[key] for key in handler(0, 0, {}, 0)} for name, of in totals["handlers"].items()
    } == {"j": handler(13, 0, {"GG301": 2, "GG401": 2}, 0), "d": handler(17, 2, {"GG301": 2}, 6)}  # fmt: skip
    for name in "jd":
        written = [entry for entry in manifest(out)["files"] if entry["handler"] == name and "table" in entry]
        assert totals["handlers"][name]["files"] == len(written)
        assert totals["handlers"][name]["bytes"] == sum(map(len, tables(out, name).values()))
        assert totals["handlers"][name]["messages"] == sum(entry["operations"] for entry in written)
    losses = [loss for loss in totals["handlers"]["d"]["losses"] if loss["column"]]
    what = "with the field delimiter inside, which will be read back wrong"
    assert losses == [
        {"loss": "delimiter_inside", "code": "GG403", "table": table, "column": "NAME", "values": values, "what": what}
        for table, values in (("GG.A", 2), ("GG.B", 1))
    ]
    assert len(totals["warnings"]) == 3


def test_the_log_tells_totals_rejects_and_what_was_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    source = write_lines(tmp_path / "in.json", story())
    settings = (*ASCII, "gg.handler.d.format.pkUpdateHandling=delete-insert")
    with caplog.at_level("INFO", "ggfmt"):
        run_ggfmt([source], tmp_path / "out", *settings, definitions=DEFINITIONS, quarantine=True, split_size=500)
    (told,) = [record.getMessage() for record in caplog.records if record.getMessage().startswith("Totals")]
    first, second, *lines = told.split("\n")
    assert first == f"Totals: 15 operations read from 1 file ({source.stat().st_size:,} bytes)"
    assert re.fullmatch(r"  in \d+\.\d s", second)
    sizes = {name: sum(map(len, tables(tmp_path / "out", name).values())) for name in "jd"}
    assert lines == [
        "  GG.A: 4 insert, 2 update, 2 delete",
        "  GG.B: 3 insert, 2 update, 2 delete",
        "  not operations: 2 object metadata records",
        "  unknown member `more` left out of 2 operations",
        f"  handler j: 13 messages, {sizes['j']:,} bytes in 2 files",
        "    rejected: 2 [GG301] not JSON",
        "    rejected: 2 [GG401] a value that does not have its column's type",
        f"  handler d: 17 messages, {sizes['d']:,} bytes in 2 files",
        "    including 2 extra from primary key updates",
        "    rejected: 2 [GG301] not JSON",
        "    changed: 3 values of 2 columns",
        "    changed: 2 operations with a before image, which the messages do not show",
        "    lost: 6 characters",
        f"  committed to {tmp_path / 'out'}",
        f"  next: ggfmt report {tmp_path / 'out'}",
    ]


def fields_told(caplog: pytest.LogCaptureFixture) -> list[list[str]]:
    found = (record.getMessage().split("\n") for record in caplog.records)
    return [lines for lines in found if lines[0].startswith("Fields of table")]


@pytest.mark.parametrize("split_size", [None, 200])
def test_the_fields_of_a_definition_are_told_once_in_the_order_of_the_data(
    tmp_path: Path, split_size: int | None, caplog: pytest.LogCaptureFixture
) -> None:
    records = [operation(0, "GG.B"), operation(1, "GG.A"), operation(2, "GG.B"), metadata("GG.B", ID="string")]
    records += [{**operation(3, "GG.B"), "after": {"ID": "3"}}, operation(4, "GG.A")]
    source = write_lines(tmp_path / "in.json", records)
    with caplog.at_level("DEBUG", "ggfmt"):
        run_ggfmt([source], tmp_path / "out", *PIPES, split_size=split_size)
    told = fields_told(caplog)
    assert [lines[0] for lines in told] == [
        f"Fields of table GG.{name} as written by handler d" for name in ("B", "A", "B")
    ]
    assert [lines[1:][5:] for lines in told] == [
        ["  6: Column ID", "  7: Column NAME", "  8: Column AMOUNT"],
        ["  6: Column ID", "  7: Column NAME", "  8: Column AMOUNT"],
        ["  6: Column ID"],
    ]


def configuration_shown(caplog: pytest.LogCaptureFixture, tmp_path: Path, *settings: str) -> list[str]:
    """Run with a handler, and return the lines of the log about its configuration."""
    source = write_lines(tmp_path / "in.json", [operation(0)])
    with caplog.at_level("DEBUG", "ggfmt"):
        run_ggfmt([source], tmp_path / "out", *settings)
    (text,) = [
        record.getMessage() for record in caplog.records if record.getMessage().startswith("Configuration summary")
    ]
    return text.split("\n")


def test_a_verbose_log_shows_all_options_and_marks_defaults(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    lines = configuration_shown(caplog, tmp_path, *PIPES)
    options = {line.split(" = ")[0].strip(): line.split(" = ")[1] for line in lines[4:]}
    assert options["fieldDelimiter"] == "|"
    assert options["encoding"] == "UTF-8"
    assert options["includeOpType"] == "true (default)"
    assert len({line.index(" = ") for line in lines[4:]}) == 1
    assert len(options) == len(FORMATS["delimitedtext"].options.specs())


# Time by step


def test_the_time_of_each_step_is_told(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", [operation(n, f"GG.T{n % 3}") for n in range(4_000)])
    result = run_ggfmt([source], tmp_path / "out", *PIPES, split_size=100_000)
    told = result.report["seconds_by_step"]
    assert list(told) == [step for step in STEPS if step not in (ROUTING, SENDING)]
    in_tasks = [told[step] for step in (DISCOVERY, READING, FORMATTING, WRITING, JOINING)]
    assert all(seconds > 0 for seconds in in_tasks)
    assert sum(in_tasks) <= result.totals.seconds_in_tasks + 0.01
    assert sum(in_tasks) > 0.5 * result.totals.seconds_in_tasks
    kept = manifest(tmp_path / "out")["totals"]["seconds_by_step"]
    assert kept == {step: seconds for step, seconds in told.items() if step != COMMITTING}


@pytest.mark.example("GG507")
def test_a_run_whose_operations_do_not_add_up_is_not_committed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = write_lines(tmp_path / "in.json", [operation(0), operation(1)])
    monkeypatch.setattr(
        HandlerTotals, "messages", property(lambda totals: 1, lambda totals, count: None), raising=False
    )
    with pytest.raises(Abend, match=r"GG507.*handler j: 2 records read, 1 accounted for"):
        run_ggfmt([source], tmp_path / "out", *JSON_LINES)
    assert not (tmp_path / "out" / "j").exists()


def test_a_run_with_definitions_looks_for_none(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", [operation(0, "GG.A")])
    result = run_ggfmt([source], tmp_path / "out", *PIPES, definitions=DEFINITIONS)
    assert DISCOVERY not in result.report["seconds_by_step"]


# Splits


class Counting(InProcess):
    """Knows how many tasks the longest job had."""

    most = 0

    def run(
        self, task: Callable[[Any, int], Any], items: Sequence[Any], progress: Any = None, received: Any = None
    ) -> list[Any]:
        Counting.most = max(Counting.most, len(items))
        return super().run(task, items, progress, received)


@pytest.mark.parametrize(
    ("share", "splits"),
    [
        ((0.3, 0.3, 0.3), 1),
        ((0.3, 0.3, 0.5), 2),  # the third does not fit beside the others
        ((0.4, 0.6), 1),  # fills a split
        ((0.4, 0.6, 0.1), 2),
        ((0.4, 0.4, 0.4, 0.4, 0.4), 3),
        ((2.5, 0.1), 2),  # a file that cannot be cut is one split, however large it is
        ((0.1, 2.5), 2),
        ((2.5, 2.5, 0.4, 0.4), 3),
    ],
)
def test_files_that_cannot_be_cut_share_a_split_as_far_as_they_fit(
    tmp_path: Path, share: tuple[float, ...], splits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for number, part in enumerate(share):
        data = gzip.compress(write_lines(tmp_path / "plain", [operation(number)]).read_bytes(), mtime=0)
        # A gzip header may hold a comment of any length, which brings the file to its size.
        padded = data[:3] + b"\x10" + data[4:10] + b"x" * (int(part * 10_000) - len(data) - 1) + b"\0" + data[10:]
        (folder / f"{number}.json.gz").write_bytes(padded)
        assert len(padded) == int(part * 10_000)
    monkeypatch.setattr(Counting, "most", 0)
    result = run_ggfmt([folder], tmp_path / "out", *JSON_LINES, start=Counting, split_size=10_000)
    assert (result.totals.read, Counting.most) == (len(share), splits)


@pytest.mark.parametrize(("size", "splits"), [(1000, 2), (999, 3), (2000, 1), (1999, 2), (1500, 2)])
def test_files_of_lines_are_cut_where_a_split_is_full(
    tmp_path: Path, size: int, splits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(2):
        path = write_lines(folder / f"{number}.json", [operation(number)])
        path.write_bytes(path.read_bytes().rstrip().ljust(999) + b"\n")
    monkeypatch.setattr(Counting, "most", 0)
    result = run_ggfmt([folder], tmp_path / "out", *JSON_LINES, start=Counting, split_size=size)
    assert (result.totals.read, Counting.most) == (2, splits)


# Names


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("s3://user:secret@bucket/out", "s3://bucket/out"),
        ("hdfs://ogg@namenode:8020/out", "hdfs://namenode:8020/out"),
        ("s3://bucket/a@b/c", "s3://bucket/a@b/c"),
        ("s3://key:sec/ret@bucket/out", "s3://bucket/out"),
        ("s3://host:9000/a@b", "s3://host:9000/a@b"),
        ("/data/a@b/out", "/data/a@b/out"),
        ("s3:/key:sec/ret@bucket/out", "s3:/bucket/out"),
        ("abfss://container@account.dfs.core.windows.net/x", "abfss://container@account.dfs.core.windows.net/x"),
        ("abfs://account:secret@account.dfs.core.windows.net/x", "abfs://account.dfs.core.windows.net/x"),
        ("s3://bucket/out?proxy=http://u:p@proxy/", "s3://bucket/out?proxy=http://proxy/"),
    ],
)
def test_credentials_are_not_shown(path: str, shown: str) -> None:
    assert without_credentials(path) == shown


def test_no_diagnostic_shows_credentials() -> None:
    shown = Diagnostic("GG504", "no master at `spark://u:pw@h:7077`", "s3://u:pw@b/x", "try http://u:pw@h/")
    moved = shown.at(file="hdfs://u:pw@n/y")
    for text in (str(shown), str(moved), repr(shown), repr(moved)):
        assert "pw" not in text
    assert moved.span.file == "hdfs://n/y"


def test_names_of_files() -> None:
    place = plain_place("GG.T", "2015-09-18_13-39-35.447", ".txt")
    assert place.numbered(3, 5) == "GG.T/GG.T_2015-09-18_13-39-35.447_00003.txt"
    assert plain_place("", "S", ".json").numbered(12, 6) == "output_S_000012.json"
    assert reject_file("records", "S", 0, 5) == "_rejects/rejects_S_00000.records"
    assert safe_name("a/é:\x7f") == "a%2Fé%3A%7F"
    assert [counted(number, "file") for number in (0, 1, 2, 1234)] == ["0 files", "1 file", "2 files", "1,234 files"]
