"""`ggfmt consolidate`: the rows of all tables are written in each format, at once or not at all."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fastavro
import pyarrow.orc as po
import pyarrow.parquet as pq
import pytest
import row_files
from runs import manifest, metadata, operation, run_ggfmt, snapshot, write_lines

import ggfmt
from ggfmt.cli import main
from ggfmt.diagnostics.diagnostic import Abend, CommittedWithErrors, UsageError
from ggfmt.model.table import Column, Kind, SqlType, TableDef
from ggfmt.rows import run as run_module
from ggfmt.rows import staging as staging_module
from ggfmt.rows import units as units_module
from ggfmt.rows.targets import target as target_module
from ggfmt.rows.targets.files import FileTarget
from ggfmt.sinks.messages.verification import verify

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FORMATS = ("parquet", "csv", "json", "orc", "avro")
Row = dict[str, Any]

TYPED = TableDef(
    "S.TYPED",
    (
        Column("ID", SqlType(Kind.INTEGER), key=1),
        Column("NAME"),
        Column("AMOUNT", SqlType(Kind.DECIMAL, precision=30, scale=2)),
        Column("RATE", SqlType(Kind.DOUBLE)),
        Column("FLAG", SqlType(Kind.BOOLEAN)),
    ),
)
HOSTILE = [text for text in row_files.HOSTILE if text is not None]


def change(kind: str, number: int, table: str = "S.T", **images: Row) -> Row:
    second = f"{number // 60:02d}:{number % 60:02d}"
    message: Row = {"table": table, "op_type": kind, "op_ts": f"2020-01-01 00:{second}", "pos": f"{number:020d}"}
    return {**message, **images}


STORY = [
    change("I", 1, after={"ID": "1", "N": "a", "V": "x"}),
    change("I", 2, after={"ID": "2", "N": "", "V": None}),
    change("U", 3, before={"ID": "1"}, after={"ID": "1", "N": "b"}),
    change("D", 4, before={"ID": "2"}),
    change("I", 5, after={"ID": "3", "N": None}),
    change("U", 6, after={"ID": "9", "N": "never seen"}),
    change("U", 7, before={"ID": "3"}, after={"ID": "4", "V": ""}),
    change("I", 8, "S.GONE", after={"ID": "1", "N": "b"}),
    change("T", 9, "S.GONE"),
]
NONE = ("--master", "none")
LONG = "12345678901234567890123456.70"
TOP = ["S.GONE", "S.T", "S.TYPED", "_SUCCESS", "_ggfmt", "_unresolved"]
ROWS = [{"ID": "1", "N": "b", "V": "x"}, {"ID": "4", "N": None, "V": ""}]


def consolidate(lines: Sequence[Row], out: Path, **settings: Any) -> dict[str, Any]:
    """Consolidate some lines, in this process if no session is given."""
    path = out.parent / f"{out.name}.json"
    if lines:
        write_lines(path, list(lines))
    runner = {} if "spark" in settings else {"master": "none"}
    return ggfmt.consolidate(path, out, **{"key": "ID", **runner, **settings})


def read(out: Path, table: str, to: str, key: str = "ID") -> list[Row]:
    rows = [row for path in sorted((out / table).iterdir()) for row in READERS[to](path)]
    return sorted(rows, key=lambda row: str(row[key]))


def read_csv(path: Path) -> list[Row]:
    """NULL is an empty field without quotes, which the reader of Python 3.12 distinguishes from an empty text."""
    text = path.read_bytes().decode()
    names, *lines = parsed(text)
    return [dict(zip([name or "" for name in names], line, strict=True)) for line in lines]


def avro_fields(path: Path) -> list[dict[str, Any]]:
    with path.open("rb") as stream:
        schema: Any = fastavro.reader(stream).writer_schema
    fields: list[dict[str, Any]] = schema["fields"]
    return fields


def avro_rows(path: Path) -> list[Row]:
    with path.open("rb") as stream:
        rows: Any = list(fastavro.reader(stream))
    return list(rows)


def parsed(text: str) -> list[list[str | None]]:
    """RFC 4180, read in the plainest way."""
    lines: list[list[str | None]] = []
    line: list[str | None] = []
    place = 0
    while place < len(text):
        if text[place] == '"':
            value, place = "", place + 1
            while text[place] != '"' or text[place + 1 : place + 2] == '"':
                value += text[place]
                place += 2 if text[place] == '"' else 1
            line.append(value)
            place += 1
        else:
            start = place
            while text[place] not in ",\n":
                assert text[place] not in '\r"'
                place += 1
            line.append(text[start:place] or None)
        if text[place] == "\n":
            lines.append(line)
            line = []
        place += 1
        if text[place - 1] == "," and text[place : place + 1] in ("\n", ","):
            continue
    return lines


READERS: dict[str, Callable[[Path], list[Row]]] = {
    "parquet": lambda path: pq.read_table(path).to_pylist(),
    "csv": read_csv,
    "json": lambda path: [json.loads(line) for line in path.read_bytes().split(b"\n") if line],
    "orc": lambda path: po.read_table(path).to_pylist(),
    "avro": lambda path: avro_rows(path),
}


WHOLE_STORY = [
    *STORY,
    *(change("I", 1, "S.TYPED", after={"ID": n, "NAME": t, "AMOUNT": LONG}) for n, t in enumerate(HOSTILE, 10)),
    change("I", 1, "S.TYPED", after={"ID": 99, "NAME": None, "RATE": 0.1, "FLAG": True}),
]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The story, values of all types and a table without rows, by format."""
    folder = tmp_path_factory.mktemp("results")
    for to in FORMATS:
        document = consolidate(WHOLE_STORY, folder / to, to=to, definitions={"S.TYPED": TYPED})
        assert document == manifest(folder / to)
    return {to: folder / to for to in FORMATS}


@pytest.mark.parametrize("to", FORMATS)
def test_rows_are_those_of_the_story_in_each_format(results: dict[str, Path], to: str) -> None:
    out = results[to]
    assert read(out, "S.T", to) == ROWS
    assert read(out, "S.GONE", to) == []
    told = manifest(out)
    table = told["tables"]["S.T"]
    assert (table["rows"], table["deleted"], table["unresolved"], table["defaults"]) == (2, None, 1, 0)
    assert (table["unset"], table["buckets"]) == ({}, 1)
    files = {entry["table"]: entry for entry in told["files"] if "unresolved" not in entry}
    assert {name: (entry["rows"], entry["bucket"]) for name, entry in files.items()} == {
        "S.GONE": (0, 0),
        "S.T": (2, 0),
        "S.TYPED": (len(HOSTILE) + 1, 0),
    }
    (unresolved,) = (entry for entry in told["files"] if "unresolved" in entry)
    assert (unresolved["table"], unresolved["unresolved"], "rows" in unresolved) == ("S.T", 1, False)
    assert (table["key"], table["columns"]) == (["ID"], dict.fromkeys(("ID", "N", "V"), "string"))
    assert table["operations"] == {"D": 1, "I": 3, "U": 3}
    assert (table["first_position"], table["last_position"]) == (f"{1:020d}", f"{7:020d}")
    assert table["order"] == "positions (numbers)"
    source = out.parent / f"{to}.json"
    assert told["inputs"] == [{"path": str(source), "bytes": source.stat().st_size}]
    assert verify(str(out)).findings == []
    assert sorted(path.name for path in out.iterdir()) == TOP
    assert sorted(path.name for path in (out / "_ggfmt").iterdir()) == ["manifest.json", "runs"]


@pytest.mark.parametrize("to", FORMATS)
def test_a_table_without_rows_has_its_columns(results: dict[str, Path], to: str) -> None:
    (path,) = (results[to] / "S.GONE").iterdir()
    names: dict[str, Callable[[], list[str]]] = {
        "parquet": lambda: pq.read_schema(path).names,
        "csv": lambda: path.read_text().strip().split(","),
        "orc": lambda: po.ORCFile(path).schema.names,
        "avro": lambda: [field["name"] for field in avro_fields(path)],
        "json": lambda: list(manifest(results[to])["tables"]["S.GONE"]["columns"]),
    }
    assert names[to]() == ["ID", "N"]


@pytest.mark.parametrize("to", FORMATS)
def test_what_is_unresolved_has_its_operations_in_the_shape_of_frames(results: dict[str, Path], to: str) -> None:
    (path,) = (results[to] / "_unresolved").iterdir()
    as_json = to in ("csv", "json")
    assert path.name == ("part-00000.json" if as_json else "part-00000.parquet")
    rows = READERS["json"](path) if as_json else pq.read_table(path).to_pylist()
    (row,) = rows
    row["after"] = dict(row["after"])
    assert {name: row[name] for name in ("reason", "table", "op_type", "before", "after", "position")} == {
        "reason": "never seen",
        "table": "S.T",
        "op_type": "U",
        "before": None,
        "after": {"ID": "9", "N": "never seen"},
        "position": f"{6:020d}",
    }
    source = results[to].parent / f"{to}.json"
    start = b'{"table": "S.T", "op_type": "U", "op_ts": "2020-01-01 00:00:06"'
    assert (row["file"], row["offset"]) == (str(source), source.read_bytes().index(start))


@pytest.mark.parametrize("to", FORMATS)
def test_values_of_all_types_and_hostile_texts_stay_what_they_are(results: dict[str, Path], to: str) -> None:
    found = read(results[to], "S.TYPED", to)
    assert [row["NAME"] for row in found] == [*HOSTILE, None]
    if to == "json":  # whose numbers Python reads as it likes
        written = "".join(path.read_text() for path in (results[to] / "S.TYPED").iterdir())
        assert written.count(f'"AMOUNT":{LONG}') == len(HOSTILE)
    else:
        amount = LONG if to == "csv" else Decimal(LONG)
        assert [row["AMOUNT"] for row in found] == [amount] * len(HOSTILE) + [None]
    assert (found[-1]["RATE"], found[-1]["FLAG"]) == (("0.1", "true") if to == "csv" else (0.1, True))


def test_the_reader_of_python_reads_the_same_lines(results: dict[str, Path]) -> None:
    (path,) = (results["csv"] / "S.TYPED").iterdir()
    with path.open(newline="") as stream:
        names, *rows = csv.reader(stream, strict=True)
    assert names == list(TYPED.column_names)
    assert [row[1] for row in sorted(rows)] == [*HOSTILE, ""]


def test_names_of_tables_and_columns_are_hostile(tmp_path: Path) -> None:
    tables = ["_unresolved", "a/b", "S.t", "S.T", "x=1", "[a-z]*", "ä 😀", "%41"]
    columns = {"ID": "1", "id": "2", "a.b": "3", "`": "4", "": "5", "x y": "6", "_op": "7", "__v0": "8", "seq": "9"}
    lines = [change("I", number, table, after=columns) for number, table in enumerate(tables)]
    out = tmp_path / "o [u]t"
    told = consolidate(lines, out)
    assert sorted(told["tables"]) == sorted(tables)
    by_table = {entry["table"]: entry["path"] for entry in told["files"]}
    assert len(set(by_table.values())) == len(tables)
    for table in tables:
        assert pq.ParquetFile(out / by_table[table]).read().to_pylist() == [columns]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["o [u]t", "o [u]t.json"]
    assert verify(str(out)).findings == []


def test_avro_refuses_a_name_that_it_does_not_have(tmp_path: Path) -> None:
    with pytest.raises(Abend, match="GG206"):
        consolidate([change("I", 1, after={"ID": "1", "a b": "x"})], tmp_path / "out", to="avro")
    assert not (tmp_path / "out").exists()


def test_history_changes_and_kept_rows_have_their_marks(tmp_path: Path) -> None:
    consolidate(STORY, tmp_path / "history", history=True)
    versions = pq.read_table(tmp_path / "history" / "S.T").to_pylist()
    of_one = [(row["N"], row["_op"], row["_valid_to_position"]) for row in versions if row["ID"] == "1"]
    assert sorted(of_one, key=str) == sorted([("a", "I", f"{3:020d}"), ("b", "U", None)], key=str)
    told = consolidate([], tmp_path / "history", history=True, mode="overwrite", as_of="2020-01-01T00:00:02")
    assert told["consolidated"]["as_of"] == "2020-01-01T00:00:02"
    assert {row["ID"] for row in pq.read_table(tmp_path / "history" / "S.T").to_pylist()} == {"1", "2"}
    changes = consolidate(STORY, tmp_path / "changes", changes=True, since="2020-01-01T00:00:02")
    net = {row["ID"]: row["_op"] for row in pq.read_table(tmp_path / "changes" / "S.T").to_pylist()}
    assert net == {"1": "U", "2": "D", "4": "I"}
    assert changes["tables"]["S.T"]["marks"] == ["_op"]
    told = consolidate(STORY, tmp_path / "kept", keep="deleted,unresolved")
    assert told["tables"]["S.T"]["deleted"] == 1
    kept = {row["ID"]: row["_state"] for row in pq.read_table(tmp_path / "kept" / "S.T").to_pylist()}
    assert kept == {"1": "current", "2": "deleted", "4": "current", "9": "unresolved"}


def test_strict_commits_nothing_and_tells_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_lines(tmp_path / "in.json", STORY)
    out = tmp_path / "out"
    assert main(["consolidate", str(path), "-o", str(out), "--key", "ID", "--strict", *NONE]) == 3
    told = capsys.readouterr().err
    assert "1 row cannot be resolved" in told
    assert f"position {6:020d}" in told
    assert "never seen" in told
    assert not out.exists()
    write_lines(path, STORY[:5])
    assert main(["consolidate", str(path), "-o", str(out), "--key", "ID", "--strict", *NONE]) == 0
    told = capsys.readouterr().err
    assert "S.T: 2 rows, 1 value that no operation set (V 1); in the order of positions (numbers)" in told


def test_a_table_without_a_key_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_lines(tmp_path / "in.json", STORY[:1])
    assert main(["consolidate", str(path), "-o", str(tmp_path / "out"), *NONE]) == 0
    assert "; no primary key: all columns identify a row, see `--key`\n" in capsys.readouterr().err


@pytest.mark.parametrize("output", ["kafka://broker:9092", "ftp://host/rows"])
def test_output_that_cannot_have_rows_is_refused(output: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"GG506.*the output cannot be opened"):
        ggfmt.consolidate(write_lines(tmp_path / "in.json", [operation(1)]), output, master="none[1]")


def test_output_that_is_there_is_refused_or_replaced(tmp_path: Path) -> None:
    out = tmp_path / "out"
    consolidate(STORY, out, to="json")
    before = snapshot(out)
    with pytest.raises(UsageError, match="already holds files"):
        consolidate(STORY, out)
    assert snapshot(out) == before
    consolidate(STORY[:2], out, mode="overwrite")
    assert {path.name for path in out.iterdir() if not path.is_dir() or any(path.iterdir())} == {
        "S.T",
        "_SUCCESS",
        "_ggfmt",
    }
    assert {row["ID"] for row in read(out, "S.T", "parquet")} == {"1", "2"}
    assert verify(str(out)).findings == []
    (out / "S.T" / "mine.txt").write_text("not ggfmt's")
    with pytest.raises(UsageError, match="no manifest of ggfmt lists"):
        consolidate(STORY, out, mode="overwrite")
    messages = tmp_path / "messages"
    run_ggfmt([write_lines(tmp_path / "in.json", [operation(1)])], messages)
    before = snapshot(messages)
    with pytest.raises(UsageError, match="holds messages of `ggfmt run`"):
        consolidate(STORY, messages, mode="overwrite")
    assert snapshot(messages) == before


@pytest.mark.example("GG552")
def test_what_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    broken = [*STORY, {"table": "S.T", "op_type": "X"}]
    with pytest.raises(Abend):
        consolidate(broken, out)
    assert not out.exists()
    with pytest.raises(Abend, match="GG530"):
        consolidate(STORY, out, types={"S.T.N": "bigint"})
    assert not out.exists()
    with pytest.raises(Abend, match="GG530"):  # as a key
        consolidate(STORY, out, types={"S.T.V": "bigint"}, key="S.T=V")
    assert not out.exists()
    with pytest.raises(UsageError, match=r"\.json, byte [0-9]+, table S\.T, position [0-9]+: error\[GG552\]"):
        consolidate(STORY, out, key=None)
    assert not out.exists()

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(target_module, "commit", interrupted)
        with pytest.raises(KeyboardInterrupt, match="interrupted; nothing was committed"):
            consolidate(STORY, out)
    assert not out.exists()
    consolidate(STORY, out)
    assert read(out, "S.T", "parquet") == ROWS


def test_standard_input_is_an_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_lines(tmp_path / "in.json", [operation(1), operation(2)])
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO((tmp_path / "in.json").read_bytes())))
    monkeypatch.chdir(tmp_path)
    options = ("--key", "ID", "--to", "csv", "-o", "out", "--master", "none", "--starts-empty")
    assert main(["consolidate", "-", *options]) == 0
    assert manifest(tmp_path / "out")["inputs"][0]["path"] == "<stdin>"
    assert manifest(tmp_path / "out")["tables"]["GG.TCUSTORD"]["rows"] == 2
    assert main(["consolidate", "-", *options[:-3], "--checkpoint", "seen", "--master", "none"]) == 2


@pytest.mark.parametrize("committed", [False, True])
def test_an_interrupt_says_what_is_committed(committed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish = FileTarget.publish

    def stop(*arguments: Any) -> None:
        if committed:
            publish(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(FileTarget, "publish", stop)
    source, out = write_lines(tmp_path / "in.json", [operation(1)]), tmp_path / "out"
    with pytest.raises(CommittedWithErrors if committed else KeyboardInterrupt) as caught:
        ggfmt.consolidate(source, out, key="ID", starts_empty=True, master="none")
    text = str(caught.value)
    assert ("interrupted, but the run is committed" in text) if committed else text.endswith("; nothing was committed")
    assert out.exists() == committed


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"history": True, "changes": True}, "a history and net changes are two results"),
        ({"since": "2020-01-01"}, "`since` applies only to net changes"),
        ({"keep": "removed"}, "`keep` cannot be `removed`"),
        ({"types": ["N:string"]}, "is not TABLE.COLUMN=TYPE"),
        ({"key": "S.T="}, "`key` cannot be"),
        ({"to": "xml"}, "`to` cannot be `xml`"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path: Path, settings: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        consolidate(STORY, tmp_path / "out", **settings)
    assert not (tmp_path / "out").exists()


def at_work(out: Path, directory: str, seconds: float = 120) -> None:
    """Waits until tasks have written files to a directory of staging."""
    until = time.monotonic() + seconds
    while not any(out.glob(f"_ggfmt/staging/*/{directory}/*")):
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.spark
@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_leaves_nothing_and_a_session_that_works(spark: SparkSession, tmp_path: Path) -> None:
    out = tmp_path / "out"

    def interrupt() -> None:
        at_work(out, "operations")
        os.kill(os.getpid(), signal.SIGINT)

    watching = threading.Thread(target=interrupt)
    watching.start()
    with pytest.raises(KeyboardInterrupt, match="interrupted; nothing was committed"):
        consolidate(STORY, out, spark=spark)
    watching.join()
    assert not out.exists()
    assert spark.range(3).count() == 3
    until = time.monotonic() + 60
    while spark.sparkContext.statusTracker().getActiveJobsIds():  # Spark reports the end of a job later
        assert time.monotonic() < until
        time.sleep(0.1)


@pytest.mark.long
@pytest.mark.spark
def test_a_run_that_is_killed_leaves_no_output(tmp_path: Path) -> None:
    out, path = tmp_path / "out", write_lines(tmp_path / "in.json", STORY)
    call = [sys.executable, "-m", "ggfmt", "consolidate", str(path), "-o", str(out), "--key", "ID"]
    call += ["--master", "local[2]"]
    with subprocess.Popen(call, stderr=subprocess.DEVNULL, start_new_session=True) as process:
        at_work(out, "operations")
        os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert [item.name for item in out.iterdir()] == ["_ggfmt"]
    until = time.monotonic() + 120
    while True:  # until the JVM has found that its user is gone
        ggfmt.consolidate(path, out, key="ID", mode="overwrite", master="none")
        if list((out / "_ggfmt").glob("staging/*")) == []:
            break
        assert time.monotonic() < until
    assert read(out, "S.T", "parquet") == ROWS
    assert verify(str(out)).findings == []


def test_a_value_that_a_later_operation_replaces_need_not_fit_its_type(tmp_path: Path) -> None:
    lines = [
        change("I", 1, after={"ID": "1", "N": "none", "V": "x"}),
        change("U", 2, before={"ID": "1"}, after={"ID": "1", "N": "7"}),
    ]
    consolidate(lines, tmp_path / "out", types={"S.T.N": "bigint"})
    assert read(tmp_path / "out", "S.T", "parquet") == [{"ID": "1", "N": 7, "V": "x"}]
    with pytest.raises(Abend) as raised:
        consolidate(lines, tmp_path / "history", types={"S.T.N": "bigint"}, history=True)
    (found,) = raised.value.diagnostics
    place = found.span
    assert (found.code, place.table, place.field, place.position) == ("GG530", "S.T", "N", f"{1:020d}")
    assert (place.file, place.offset) == (str(tmp_path / "history.json"), 0)
    assert found.help == 'give `types={"S.T.N": "string"}`, or `on_unfit="null"` or `unresolved`'


def test_values_that_no_operation_set_are_counted_by_column(tmp_path: Path) -> None:
    """An insert that leaves columns out, and a column that was added after the insert."""
    out = tmp_path / "out"
    lines = [
        metadata("S.T", ID="string", N="string", V="string"),
        change("I", 1, after={"ID": "1", "N": "a"}),
        change("I", 2, after={"ID": "2", "N": "a", "V": "x"}),
        change("I", 3, after={"ID": "3"}),
        metadata("S.T", ID="string", N="string", V="string", NEW="string"),
        change("U", 4, before={"ID": "2"}, after={"ID": "2", "NEW": "y"}),
        change("I", 5, after={"ID": "4", "N": "a", "V": "x"}),
    ]
    table = consolidate(lines, out)["tables"]["S.T"]
    assert table["unset"] == {
        "N": {"not_in_insert": 1},
        "NEW": {"not_in_insert": 1, "added_later": 2},
        "V": {"not_in_insert": 2},
    }
    assert table["defaults"] == 6


TODAY = [
    change("U", 51, before={"ID": "4"}, after={"ID": "4", "N": "new"}),
    change("D", 52, before={"ID": "1"}),
    change("I", 53, "S.GONE", after={"ID": "1", "N": "b"}),
]


@pytest.mark.parametrize("to", ["parquet", "csv", "json"])
def test_changes_of_today_are_merged_into_an_earlier_result(
    tmp_path: Path, results: dict[str, Path], to: str, caplog: pytest.LogCaptureFixture
) -> None:
    out = tmp_path / "out"
    told = consolidate(TODAY, out, to=to, base=results[to], key=None)
    assert read(out, "S.T", to) == [{"ID": "4", "N": "new", "V": ""}]
    assert read(out, "S.TYPED", to) == read(results[to], "S.TYPED", to)
    assert read(out, "S.GONE", to) == [{"ID": "1", "N": "b"}]
    assert told["consolidated"]["base"] == str(results[to])
    assert told["tables"]["S.TYPED"]["operations"] == {}
    assert told["tables"]["S.TYPED"]["columns"] == manifest(results[to])["tables"]["S.TYPED"]["columns"]
    assert "the base has 1 unresolved row" in caplog.text
    if to == "parquet":  # in place
        consolidate(TODAY[1:], out, base=out, mode="overwrite", key=None)
        assert read(out, "S.T", to) == [{"ID": "4", "N": "new", "V": ""}]
        assert read(out, "S.TYPED", to) == read(results[to], "S.TYPED", to)
        assert verify(str(out)).findings == []


def test_a_dump_is_a_base(tmp_path: Path) -> None:
    base, out = tmp_path / "base", tmp_path / "out"
    (base / "S.TYPED").mkdir(parents=True)
    dump = base / "S.TYPED" / "dump.csv"
    dump.write_text(f'ID,NAME,AMOUNT,RATE,FLAG\n1,"a ""b""\nc",{LONG},0.1,true\n2,"",,,\n3,,,,\n')
    today = [change("U", 1, "S.TYPED", before={"ID": 3}, after={"ID": 3, "RATE": 2.5})]
    settings: dict[str, Any] = {"base": base, "definitions": {"S.TYPED": TYPED}, "key": None}
    consolidate(today, out, **settings)
    rest = dict.fromkeys(("AMOUNT", "RATE", "FLAG"))
    assert read(out, "S.TYPED", "parquet") == [
        {"ID": 1, "NAME": 'a "b"\nc', "AMOUNT": Decimal(LONG), "RATE": 0.1, "FLAG": True},
        {"ID": 2, "NAME": "", **rest},
        {"ID": 3, "NAME": None, **rest, "RATE": 2.5},
    ]
    dump.write_text("ID,NAME\none,a\n")
    with pytest.raises(UsageError, match="`one` is not a value of the type `bigint`") as raised:
        consolidate(today, out, mode="overwrite", **settings)
    assert (raised.value.diagnostics[0].span.file, raised.value.diagnostics[0].span.field) == (str(dump), "ID")


def test_rows_need_neither_spark_nor_java(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "in.json", STORY)
    call = [sys.executable, "-m", "ggfmt", "consolidate", str(path), "-o", str(tmp_path / "out"), *NONE]
    environment = {**os.environ, "PATH": "", "JAVA_HOME": str(tmp_path / "none")}
    subprocess.run([*call, "--key", "ID"], check=True, capture_output=True, env=environment)
    assert read(tmp_path / "out", "S.T", "parquet") == ROWS


def contents(out: Path, to: str) -> dict[str, list[str]]:
    """By table, and for unresolved operations, all rows of an output."""
    found = {path.name: read(out, path.name, to) for path in out.iterdir() if path.name.startswith("S.")}
    found["_unresolved"] = [
        row for path in (out / "_unresolved").glob("*.parquet") for row in pq.read_table(path).to_pylist()
    ] + [row for path in (out / "_unresolved").glob("*.json") for row in READERS["json"](path)]
    for row in found["_unresolved"]:
        del row["file"]
    return {name: sorted(map(str, rows)) for name, rows in found.items()}


QUERIES: dict[str, Row] = {
    **{to: {"to": to} for to in FORMATS},
    "history": {"history": True},
    "changes": {"changes": True, "since": "2020-01-01T00:00:02"},
    "kept": {"keep": "deleted,unresolved"},
}


def settings_of(spark: SparkSession) -> list[tuple[str, str]]:
    return [(row.key, row.value) for row in spark.sql("SET").collect()]


@pytest.mark.spark
def test_rows_are_the_same_on_spark(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In every format, with several buckets, of which each is a task."""
    for name in ("BUCKET_BYTES", "MAX_BUCKET_BYTES"):
        monkeypatch.setattr(staging_module, name, 1000)
    monkeypatch.setattr(staging_module, "UNIT_BYTES", 1500)
    before = settings_of(spark)
    for name, query in QUERIES.items():
        settings = {**query, "definitions": {"S.TYPED": TYPED}}
        one, other = (
            consolidate(WHOLE_STORY, tmp_path / f"{name} {number}", **settings, **runner)
            for number, runner in enumerate(({}, {"spark": spark}))
        )
        assert one["tables"] == other["tables"]
        assert one["tables"]["S.TYPED"]["buckets"] > 1
        to = query.get("to", "parquet")
        assert contents(tmp_path / f"{name} 0", to) == contents(tmp_path / f"{name} 1", to)
        entries = [
            [{**entry, "bytes": None, "sha256": None} for entry in document["files"]] for document in (one, other)
        ]
        assert entries[0] == entries[1]
        assert verify(str(tmp_path / f"{name} 1")).findings == []
    assert settings_of(spark) == before
    assert spark.range(3).count() == 3


def test_a_bucket_that_is_too_large_is_cut_by_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the same rows in the same files, from operations in memory and in files, and where changes are merged."""
    for name, query in QUERIES.items():
        consolidate(WHOLE_STORY, tmp_path / f"{name} whole", **query, definitions={"S.TYPED": TYPED})
    cut = []

    def counted(size: int) -> int:
        cut.append(staging_module.piece_count(size))
        return cut[-1]

    monkeypatch.setattr(units_module, "piece_count", counted)
    for name in ("UNIT_BYTES", "MAX_UNIT_BYTES"):
        monkeypatch.setattr(staging_module, name, 400)
    for memory in (staging_module.MAX_MEMORY_BYTES, 3000):
        for module in (staging_module, run_module):
            monkeypatch.setattr(module, "MAX_MEMORY_BYTES", memory)
        for name, query in QUERIES.items():
            out = tmp_path / f"{name} {memory}"
            consolidate(WHOLE_STORY, out, **query, definitions={"S.TYPED": TYPED})
            to = query.get("to", "parquet")
            assert contents(out, to) == contents(tmp_path / f"{name} whole", to)
            assert verify(str(out)).findings == []
    assert max(cut) > 4
    check_days(tmp_path, master="none")


@pytest.mark.spark
def test_an_error_in_the_data_is_the_same_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    cases: list[tuple[list[Row], dict[str, Any]]] = [
        ([{"table": "S.T", "op_type": "X"}], {}),
        (STORY, {"types": {"S.T.N": "bigint"}}),
        (STORY, {"types": {"S.T.ID": "timestamp"}}),
        ([change("I", 1, after={"ID": "1", "a b": "x"})], {"to": "avro"}),
    ]
    for number, (lines, settings) in enumerate(cases):
        shown = []
        runners: list[dict[str, Any]] = [{}, {"spark": spark}]
        for runner in runners:
            with pytest.raises(Abend) as raised:
                consolidate(lines, tmp_path / f"{number}", **settings, **runner)
            shown.append([str(each) for each in raised.value.diagnostics])
            assert not (tmp_path / f"{number}").exists()
        assert shown[0] == shown[1]


def test_verify_and_report_read_rows_back(results: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(results["orc"])]) == 0
    told = capsys.readouterr().out
    assert "no findings" in told
    assert "handler" not in told
    assert main(["report", str(results["orc"])]) == 0
    assert "0 unresolved" in capsys.readouterr().out


DAYS = [
    [
        *(change("I", n, after={"ID": str(n), "N": "a", "V": "x"}) for n in range(1, 9)),
        change("I", 9, "S.OLD", after={"ID": "1"}),
    ],
    [
        change("I", 11, after={"ID": "20", "N": "b", "V": None}),
        change("U", 12, after={"ID": "77", "N": "never seen"}),
    ],
    [
        change("U", 21, before={"ID": "20"}, after={"ID": "21", "V": "moved"}),
        change("I", 22, after={"ID": "22", "N": "", "V": ""}),
    ],
    [change("D", 31, before={"ID": "3"}), change("U", 32, before={"ID": "21"}, after={"ID": "21", "N": "c"})],
    [change("T", 41), change("I", 42, after={"ID": "3", "N": "again", "V": "y"})],
]


def check_days(tmp_path: Path, **runner: Any) -> None:
    """The same command each day: what it leaves is what one run over all days would."""
    changes, out = tmp_path / "changes", tmp_path / "out"
    changes.mkdir()
    settings: dict[str, Any] = {**runner, "key": "ID", "checkpoint": tmp_path / "seen"}
    for number, day in enumerate(DAYS):
        write_lines(changes / f"{number}.json", day)
        document = ggfmt.consolidate(changes, out, **settings)
        assert ggfmt.consolidate(changes, out, **settings) == document, "there was nothing to do"
        whole = tmp_path / f"whole{number}"
        expected = ggfmt.consolidate(changes, whole, key="ID", master="none")["tables"]["S.T"]
        assert read(out, "S.T", "parquet") == read(whole, "S.T", "parquet")
        assert document["tables"]["S.T"]["rows"] == len(read(out, "S.T", "parquet"))
        assert document["tables"]["S.T"]["unresolved"] == expected["unresolved"]
        assert read(out, "S.OLD", "parquet") == [{"ID": "1"}]
        assert verify(str(out)).findings == []
    with pytest.raises(UsageError, match="merges changes only into current rows"):
        ggfmt.consolidate(changes, out, history=True, **settings)
    write_lines(changes / "9.json", [change("I", 99, after={"ID": "99"})])
    with pytest.raises(UsageError, match="the rows in the output are `parquet`"):
        ggfmt.consolidate(changes, out, to="orc", **settings)


def test_each_run_merges_what_is_new(tmp_path: Path) -> None:
    check_days(tmp_path, master="none")


@pytest.mark.spark
def test_each_run_merges_what_is_new_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    check_days(tmp_path, spark=spark)


def of_rows(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [entry for entry in document["files"] if "bucket" in entry]


@pytest.mark.parametrize("to", ["parquet", "orc"])
def test_a_merge_writes_the_files_of_buckets_whose_keys_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, to: str
) -> None:
    for name in ("BUCKET_BYTES", "MAX_BUCKET_BYTES"):
        monkeypatch.setattr(staging_module, name, 2000)
    monkeypatch.setattr(staging_module, "UNIT_BYTES", 2000)
    changes, out = tmp_path / "changes", tmp_path / "out"
    changes.mkdir()
    settings: dict[str, Any] = {"master": "none", "key": "ID", "checkpoint": tmp_path / "seen", "to": to}
    write_lines(changes / "0.json", [change("I", n, after={"ID": str(n), "N": "a", "V": "x"}) for n in range(200)])
    first = ggfmt.consolidate(changes, out, **settings)
    buckets = first["tables"]["S.T"]["buckets"]
    assert buckets > 4
    bucket_of = {row["ID"]: entry["bucket"] for entry in of_rows(first) for row in READERS[to](out / entry["path"])}
    assert {entry["bucket"] for entry in of_rows(first)} == set(range(buckets))
    today = [
        change("U", 300, before={"ID": "7"}, after={"ID": "7", "N": "b"}),
        change("D", 301, before={"ID": "8"}),
        change("U", 302, before={"ID": "9"}, after={"ID": "1000"}),
    ]
    write_lines(changes / "1.json", today)
    before = {path: (out / path).read_bytes() for path in snapshot(out)}
    second = ggfmt.consolidate(changes, out, **settings)
    assert second["tables"]["S.T"]["buckets"] == buckets
    after = {entry["path"]: entry for entry in of_rows(second)}
    assert sorted(entry["bucket"] for entry in after.values()) == list(range(buckets))
    digests = {entry["sha256"]: entry["path"] for entry in of_rows(first)}
    kept = {path: digests[entry["sha256"]] for path, entry in after.items() if entry["sha256"] in digests}
    # The last operation of the run before is kept for this one.
    changed = {bucket_of[number] for number in ("7", "8", "9", "199")}
    written = {entry["bucket"] for path, entry in after.items() if path not in kept}
    assert changed <= written
    assert len(written - changed) <= 1, "the new key is in another bucket at most"
    assert kept
    assert all((out / path).read_bytes() == before[old] for path, old in kept.items())
    assert not kept.keys() & set(kept.values()), "a program that has listed the names before finds none of them"
    (moved,) = (
        entry["bucket"] for entry in after.values() for row in READERS[to](out / entry["path"]) if row["ID"] == "1000"
    )
    assert written == changed | {moved}
    form: dict[str, Any] = {"to": to}
    ggfmt.consolidate(changes, tmp_path / "whole", key="ID", master="none", **form)
    assert read(out, "S.T", to) == read(tmp_path / "whole", "S.T", to)
    assert verify(str(out)).findings == []


@pytest.mark.example("GG570")
def test_a_base_that_makes_no_sense_is_refused(tmp_path: Path, results: dict[str, Path]) -> None:
    base, path = results["parquet"], write_lines(tmp_path / "today.json", TODAY)
    before = snapshot(base)
    with pytest.raises(Abend, match="1 unresolved row, whose operations are ignored"):
        ggfmt.consolidate(path, base, master="none", base=base, mode="overwrite")
    assert snapshot(base) == before
    with pytest.raises(Abend, match="GG570"):
        consolidate(TODAY, tmp_path / "out", base=base, strict=True)
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="no rows found in"):
        consolidate(TODAY, tmp_path / "out", base=tmp_path / "empty")
    messages = tmp_path / "messages"
    run_ggfmt([write_lines(tmp_path / "in.json", [operation(1)])], messages)
    with pytest.raises(UsageError, match="holds messages of `ggfmt run`"):
        consolidate(TODAY, tmp_path / "out", base=messages)
    assert not (tmp_path / "out").exists()


def test_an_empty_input_is_as_with_run(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Without files, `--allow-empty` makes a run with a checkpoint one that does nothing, and reports it."""
    changes, out, seen = tmp_path / "changes", tmp_path / "out", tmp_path / "seen"
    changes.mkdir()
    told: dict[str, Any] = {"master": "none", "key": "ID", "checkpoint": seen}
    for call in (
        lambda: ggfmt.consolidate(changes, out, **told),
        lambda: ggfmt.convert(
            changes, output=tmp_path / "messages", to="json", master="none", checkpoint=tmp_path / "other"
        ),
    ):
        with pytest.raises(UsageError, match=r"GG310.*no file to read.*`allow_empty=True`"):
            call()
    with caplog.at_level("INFO", "ggfmt"):
        assert ggfmt.consolidate(changes, out, **told, allow_empty=True) == {}
    assert "nothing to do: no input files" in caplog.text
    assert not out.exists() or snapshot(out) == {}
    write_lines(changes / "1.json", [change("I", 1, after={"ID": "1", "N": "a", "V": "x"})])
    document = ggfmt.consolidate(changes, out, **told)
    (changes / "1.json").unlink()
    assert ggfmt.consolidate(changes, out, **told, allow_empty=True) == document
    arguments = ["consolidate", str(changes), "-o", str(out), "--checkpoint", str(seen), "--allow-empty", *NONE]
    done = subprocess.run([sys.executable, "-m", "ggfmt", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "nothing to do: no input files" in done.stderr


def test_no_input_at_all_gives_no_table(tmp_path: Path) -> None:
    (tmp_path / "changes").mkdir()
    document = ggfmt.consolidate(tmp_path / "changes", tmp_path / "out", master="none", allow_empty=True)
    assert document["tables"] == {}
    assert verify(str(tmp_path / "out")).findings == []


def test_operations_that_show_no_column_are_not_lost_in_silence(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    insert = {"table": "BARE", "op_type": "I", "op_ts": "2020-01-01 00:00:00", "after": {}}
    truncate = {"table": "BARE", "op_type": "T", "op_ts": "2020-01-01 00:00:01"}
    path = write_lines(tmp_path / "in.json", [insert, truncate])
    with pytest.raises(Abend, match="no column is known"):
        ggfmt.consolidate(path, tmp_path / "strict", master="none", strict=True)
    with caplog.at_level("WARNING", "ggfmt"):
        ggfmt.consolidate(path, tmp_path / "rows", master="none")
    assert "1 operation in no row" in caplog.text
    path = write_lines(tmp_path / "emptied.json", [truncate])
    ggfmt.consolidate(path, tmp_path / "emptied", master="none", strict=True)  # nothing is lost
