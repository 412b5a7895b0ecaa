"""Promises of a run that do not depend on Spark: order, splits, layout, manifest, encodings of input, two handlers."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from places import SHARED_DATA
from runs import (
    JSON_LINES,
    MOMENT,
    PIPES,
    content,
    manifest,
    metadata,
    operation,
    output_files,
    run_ggfmt,
    tables,
    write_lines,
)

from ggfmt.commit.names import safe_name
from ggfmt.diagnostics.diagnostic import Abend
from ggfmt.formats.api.format import WriterSettings
from ggfmt.model.table import Column, TableDef

OGG = SHARED_DATA / "ogg" / "apache_flink__ogg-data.txt"


def story(count: int = 500, names: tuple[str, ...] = ("GG.A", "GG.B", "GG.C")) -> list[dict[str, Any]]:
    draw = random.Random(count)
    return [operation(number, draw.choice(names), draw.choice("IUD")) for number in range(count)]


def positions(data: bytes) -> list[str]:
    return [json.loads(line)["pos"] for line in data.splitlines()]


@pytest.fixture
def many_files(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    records = story()
    for number in range(5):
        write_lines(folder / f"part{number}.json", records[number * 100 : number * 100 + 100])
    (folder / "_ignored").write_text("junk")
    (folder / ".hidden").write_text("junk")
    (folder / "empty.json").write_text("")
    return folder


def test_operations_come_in_input_order_for_each_table(many_files: Path, tmp_path: Path) -> None:
    run_ggfmt([many_files], tmp_path / "out")
    expected: dict[str, list[str]] = {}
    for item in story():
        expected.setdefault(item["table"], []).append(item["pos"])
    found = {name: positions(data) for name, data in tables(tmp_path / "out", "j").items()}
    assert found == expected


@pytest.mark.parametrize("split_size", [50, 333, 1000, 5000])
def test_any_split_size_writes_the_same_files(many_files: Path, tmp_path: Path, split_size: int) -> None:
    splits_change_nothing(many_files, tmp_path, split_size)


def test_splits_of_a_byte_write_the_same_files(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    records = story(16)
    for number in range(2):
        write_lines(folder / f"part{number}.json", records[number * 8 : number * 8 + 8])
    splits_change_nothing(folder, tmp_path, 1)


def splits_change_nothing(source: Path, tmp_path: Path, split_size: int) -> None:
    run_ggfmt([source], tmp_path / "one")
    run_ggfmt([source], tmp_path / "many", split_size=split_size)
    for handler in ("j", "d"):
        one, many = output_files(tmp_path / "one", handler), output_files(tmp_path / "many", handler)
        assert len(one) == 3
        assert [path.name for path in one] == [path.name for path in many]
        assert [path.read_bytes() for path in one] == [path.read_bytes() for path in many]
    assert manifest(tmp_path / "one")["files"] == manifest(tmp_path / "many")["files"]


@pytest.mark.parametrize("split_size", [None, 300, 777])
def test_without_partitions_all_tables_share_files_in_input_order(
    many_files: Path, tmp_path: Path, split_size: int | None
) -> None:
    run_ggfmt([many_files], tmp_path / "out", *JSON_LINES, "gg.handler.j.partitionByTable=false", split_size=split_size)
    assert positions(content(tmp_path / "out", "j")) == [item["pos"] for item in story()]
    assert [path.name for path in output_files(tmp_path / "out", "j")] == ["output_2015-09-18_13-39-35.447_00000.txt"]


def test_a_run_can_be_repeated_to_the_byte(many_files: Path, tmp_path: Path) -> None:
    for name in ("first", "second"):
        run_ggfmt([many_files], tmp_path / name)
    first, second = manifest(tmp_path / "first"), manifest(tmp_path / "second")
    assert first["files"] == second["files"]


def test_manifest_tells_the_truth_about_every_file(many_files: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run_ggfmt([many_files], out)
    document = manifest(out)
    listed = {entry["path"]: entry for entry in document["files"]}
    assert set(listed) == {str(path.relative_to(out)) for handler in "jd" for path in output_files(out, handler)}
    for name, entry in listed.items():
        data = (out / name).read_bytes()
        assert entry["bytes"] == len(data)
        assert entry["sha256"] == hashlib.sha256(data).hexdigest()
        assert entry["operations"] == data.count(b"\n")
        if entry["handler"] == "j":
            assert (entry["first_position"], entry["last_position"]) == (positions(data)[0], positions(data)[-1])
    assert sum(entry["bytes"] for entry in document["inputs"]) == sum(
        p.stat().st_size for p in many_files.glob("*.json")
    )
    assert document["totals"]["operations_read"] == 500
    assert (out / "_SUCCESS").read_bytes() == b""
    kept = out / "_ggfmt" / "runs" / f"{document['run']}.json"
    assert sorted((out / "_ggfmt").rglob("*")) == [out / "_ggfmt" / "manifest.json", kept.parent, kept]
    assert kept.read_bytes() == (out / "_ggfmt" / "manifest.json").read_bytes()


@pytest.mark.parametrize("limit", [1, 200, 1000, 4096])
def test_no_file_is_larger_than_max_file_size_and_no_message_is_cut(
    many_files: Path, tmp_path: Path, limit: int
) -> None:
    run_ggfmt([many_files], tmp_path / "out", *JSON_LINES, f"gg.handler.j.maxFileSize={limit}")
    run_ggfmt([many_files], tmp_path / "whole", *JSON_LINES)
    assert tables(tmp_path / "out", "j") == tables(tmp_path / "whole", "j")
    for path in output_files(tmp_path / "out", "j"):
        data = path.read_bytes()
        assert data.endswith(b"}\n")
        assert len(data) <= limit or data.count(b"\n") == 1


def test_compressed_files_are_read(many_files: Path, tmp_path: Path) -> None:
    packed = tmp_path / "packed"
    packed.mkdir()
    plain = [path.read_bytes() for path in sorted(many_files.glob("part*"))]
    # Files with several members are what log rotation and parallel compressors leave.
    (packed / "part0.json.gz").write_bytes(gzip.compress(plain[0][:1000]) + gzip.compress(plain[0][1000:]))
    (packed / "part1.json.bz2").write_bytes(bz2.compress(plain[1][:1000]) + bz2.compress(plain[1][1000:]))
    with pa.CompressedOutputStream(str(packed / "part2.json.zst"), "zstd") as stream:
        stream.write(plain[2])
    (packed / "part3.json").write_bytes(plain[3])
    (packed / "part4.json.gz").write_bytes(gzip.compress(plain[4]))
    run_ggfmt([many_files], tmp_path / "one")
    run_ggfmt([packed], tmp_path / "two", split_size=500)
    assert tables(tmp_path / "one", "j") == tables(tmp_path / "two", "j")


def test_a_glob_names_files_in_name_order(many_files: Path, tmp_path: Path) -> None:
    run_ggfmt([many_files / "part[13].json"], tmp_path / "out", *JSON_LINES, "gg.handler.j.partitionByTable=false")
    expected = [item["pos"] for item in (*story()[100:200], *story()[300:400])]
    assert positions(content(tmp_path / "out", "j")) == expected


@pytest.mark.parametrize("split_size", [None, *range(150, 1500, 130)])
def test_a_metadata_change_takes_effect_at_its_place(tmp_path: Path, split_size: int | None) -> None:
    records = [
        operation(0),
        operation(1, "GG.OTHER"),
        operation(2),
        metadata(ID="string", NAME="string", AMOUNT="number", ADDED="string"),
        operation(3, ADDED="x"),
        operation(4, "GG.OTHER"),
        metadata(ID="string", NAME="string", AMOUNT="number", ADDED="string"),  # says nothing new
        operation(5, ADDED="y"),
        metadata(NAME="string", ID="number"),
        {**operation(6), "after": {"ID": 6, "NAME": "z"}},
    ]
    source = write_lines(tmp_path / "in.json", records)
    out = tmp_path / "out"
    run_ggfmt([source], out, *PIPES, split_size=split_size)
    files = output_files(out, "d")
    assert [path.name.split("_")[-1] for path in files] == ["00000.txt", *(f"{n:05d}.txt" for n in range(3))]
    prefix = "I|GG.TCUSTORD|2013-06-02 22:14:36.000000|2015-09-18T13:39:35.447000"
    lines = [path.read_text().splitlines() for path in files[1:]]
    assert lines == [
        [f"{prefix}|{0:020d}|0|name 0|0", f"{prefix}|{2:020d}|2|name 2|2"],
        [f"{prefix}|{3:020d}|3|name 3|3|x", f"{prefix}|{5:020d}|5|name 5|5|y"],
        [f"{prefix}|{6:020d}|z|6"],
    ]


@pytest.mark.parametrize("roll", ["true", "false"])
def test_roll_on_metadata_change_decides_whether_a_new_file_begins(tmp_path: Path, roll: str) -> None:
    records = [operation(0), metadata(ID="string"), {**operation(1), "after": {"ID": "1"}}]
    source = write_lines(tmp_path / "in.json", records)
    for split_size in (None, 10):
        out = tmp_path / f"out{split_size}"
        settings = (*JSON_LINES, f"gg.handler.j.rollOnMetadataChange={roll}")
        run_ggfmt([source], out, *settings, split_size=split_size)
        assert len(output_files(out, "j")) == (2 if roll == "true" else 1)
        assert positions(content(out, "j")) == [f"{0:020d}", f"{1:020d}"]


def test_schemas_follow_metadata_changes_and_keep_their_versions(tmp_path: Path) -> None:
    records = [operation(0), metadata(ID="string"), {**operation(1), "after": {"ID": "1"}}]
    source = write_lines(tmp_path / "in.json", records)
    folders = (
        "gg.handler.j.format.schemaDirectory=" + str(tmp_path / "dirdef"),
        "gg.handler.j.schemaFilePath=" + str(tmp_path / "hdfs"),
    )
    run_ggfmt(
        [source], tmp_path / "out", "gg.handler.j.format=json", "gg.handler.j.format.versionSchemas=true", *folders
    )
    for folder in ("dirdef", "hdfs"):
        found = {path.name: json.loads(path.read_text()) for path in (tmp_path / folder).iterdir()}
        columns = {name: list(schema["definitions"]["row"]["properties"]) for name, schema in found.items()}
        assert columns == {
            "GG.TCUSTORD.schema.json": ["ID"],
            "GG.TCUSTORD_2015-09-18_13-39-35.447.schema.json": ["ID", "NAME", "AMOUNT"],
            "GG.TCUSTORD_2015-09-18_13-39-35.448.schema.json": ["ID"],
        }


def test_definitions_for_some_tables_leave_the_others_to_discovery(many_files: Path, tmp_path: Path) -> None:
    from ggfmt.model.table import STRING, Column, TableDef

    known = TableDef("GG.A", tuple(Column(name, STRING) for name in ("AMOUNT", "NAME", "ID")))
    run_ggfmt([many_files], tmp_path / "out", *PIPES, definitions={"GG.A": known}, split_size=2000)
    found = tables(tmp_path / "out", "d")
    assert sorted(found) == ["GG.A", "GG.B", "GG.C"]
    last = {name: data.decode().splitlines()[0].split("|")[5:] for name, data in found.items()}
    assert last["GG.A"][1].startswith("name")
    assert last["GG.A"][0] == last["GG.A"][2]
    assert last["GG.B"][1].startswith("name")


def test_an_input_without_operations_commits_an_empty_run(tmp_path: Path) -> None:
    empty = write_lines(tmp_path / "empty.json", [])
    result = run_ggfmt([empty], tmp_path / "out")
    assert result.totals.read == 0
    assert (tmp_path / "out" / "_SUCCESS").exists()
    assert manifest(tmp_path / "out")["files"] == []


@pytest.mark.skipif(not OGG.exists(), reason="the shared data is not here")
def test_real_messages_are_read_whole(tmp_path: Path) -> None:
    result = run_ggfmt([OGG], tmp_path / "out")
    assert result.totals.read == 16
    written = [json.loads(line) for line in content(tmp_path / "out", "j").splitlines()]
    given = [json.loads(line) for line in OGG.read_text().splitlines()]
    for new, old in zip(written, given, strict=True):
        assert {key: new.get(key) for key in ("table", "op_type", "op_ts", "pos", "before", "after")} == {
            key: old.get(key) for key in ("table", "op_type", "op_ts", "pos", "before", "after")
        }
    # Digits are kept: what Flink made of the numbers in its expectation is rounded to floats.
    assert b"3.140000104904175" in content(tmp_path / "out", "d")
    for split_size in (100, 1000):
        run_ggfmt([OGG], tmp_path / f"split{split_size}", split_size=split_size)
        assert tables(tmp_path / f"split{split_size}", "d") == tables(tmp_path / "out", "d")


def test_table_names_become_safe_and_distinct_file_names() -> None:
    assert safe_name("GG.TCUSTORD") == "GG.TCUSTORD"
    names = ["SAP./BIC/AZ", "SAP.%2FBIC%2FAZ", "_hidden", ".hidden", "a\\b", "trailing.", "ÄÖ.表"]
    safe = [safe_name(name) for name in names]
    assert len(set(safe)) == len(names)
    assert all("/" not in name and "\\" not in name and name[0] not in "._" for name in safe)
    assert safe[-1] == "ÄÖ.表"


def test_a_table_name_with_slashes_stays_inside_the_output(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", [operation(0, "SAPSR3./BIC/AZORDERS")])
    out = tmp_path / "out"
    run_ggfmt([source], out, *JSON_LINES)
    assert [path.parent.name for path in output_files(out, "j")] == ["SAPSR3.%2FBIC%2FAZORDERS"]
    assert json.loads(content(out, "j"))["table"] == "SAPSR3./BIC/AZORDERS"


def test_the_stamp_of_the_run_is_in_the_file_names(many_files: Path, tmp_path: Path) -> None:
    run_ggfmt([many_files], tmp_path / "out", *JSON_LINES, "gg.handler.j.fileSuffix=.json")
    assert MOMENT.microsecond == 447000
    assert output_files(tmp_path / "out", "j")[0].name == "GG.A_2015-09-18_13-39-35.447_00000.json"


def test_metadata_changes_hold_from_their_place_also_in_files_that_are_alike(tmp_path: Path) -> None:
    added = metadata(ID="string", NAME="string", AMOUNT="number", ADDED="string")
    sources = [
        write_lines(tmp_path / name, [operation(0), added, operation(1, ADDED="x")]) for name in ("a.json", "b.json")
    ]
    for split_size in (None, 150):
        out = tmp_path / f"out{split_size}"
        run_ggfmt(sources, out, *JSON_LINES, split_size=split_size)
        assert positions(content(out, "j")) == [f"{n:020d}" for n in (0, 1, 0, 1)]


def test_a_json_array_is_recognised(tmp_path: Path) -> None:
    source = tmp_path / "in.json"
    for text in (json.dumps(story(20)), json.dumps(story(20), indent=2), "\ufeff" + json.dumps(story(20))):
        source.write_text(text, encoding="utf-8")
        run_ggfmt([source], tmp_path / "out", *JSON_LINES, "gg.handler.j.partitionByTable=false", mode="overwrite")
        assert positions(content(tmp_path / "out", "j")) == [item["pos"] for item in story(20)]


def test_a_table_without_a_key_does_not_make_a_run_look_for_definitions(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It has a definition; that its before images are of no use without a key is another matter, of the same code."""
    change = {"before": {"id": "1"}, "after": {"id": "1", "n": "x"}, "op": "u", "source": {"db": "d", "table": "t"}}
    data = write_lines(tmp_path / "in.json", [change])
    source = WriterSettings(given={"beforeImage": "keys"})
    definitions = {"d.t": TableDef("d.t", (Column("id"), Column("n")))}
    others: Any = {"input_format": "debezium_json", "source": source, "definitions": definitions}
    with caplog.at_level("DEBUG", "ggfmt"), pytest.raises(Abend) as caught:
        run_ggfmt([data], tmp_path / "out", *JSON_LINES, **others)
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, "no primary key" in diagnostic.message) == ("GG205", True)
    assert "searching all data" not in caplog.text
    other = write_lines(
        tmp_path / "other.json", [{**change, "op": "c", "before": None, "source": {"db": "d", "table": "o"}}]
    )
    with caplog.at_level("DEBUG", "ggfmt"):
        run_ggfmt([other], tmp_path / "out", *JSON_LINES, **others)
    assert "searching all data" in caplog.text
