"""Files of every format with every layout, and a run cut into splits: the bytes are those of the run that is not cut.

What a format says before operations (`WriteSupport.preamble`) is there once for each definition in each file.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fastavro
import pytest
from runs import metadata, operation, output_files, run_ggfmt, snapshot, write_lines

from ggfmt.formats import FORMATS
from ggfmt.model.table import Column, Kind, SqlType, TableDef

WRITTEN = [name for name, format in FORMATS.items() if format.writes is not None]
SHARED = [name for name in WRITTEN if not FORMATS[name].by_table]
LAYOUTS = {
    "by table": [],
    "by table, definitions share files": ["rollOnMetadataChange=false"],
    "tables share files": ["partitionByTable=false"],
    "tables and definitions share files": ["partitionByTable=false", "rollOnMetadataChange=false"],
}
SIZES = (500, 1300)
NUMBER = SqlType(Kind.DECIMAL)
DEFINITIONS = {
    name: TableDef(name, (Column("ID", key=1), Column("NAME"), Column("AMOUNT", NUMBER)))
    for name in ("GG.TCUSTORD", "GG.OTHER")
}


def settings(name: str, layout: str, folder: Path) -> list[str]:
    more = [f"gg.handler.h.{item}" for item in LAYOUTS[layout]]
    known = {spec.name for spec in FORMATS[name].options.specs()}
    common = {"schemaDirectory": str(folder / "dirdef"), "encoding": "UTF-8"}
    more += [f"gg.handler.h.format.{key}={value}" for key, value in common.items() if key in known]
    return [f"gg.handler.h.format={name}", "ggfmt.compatibility=12.2", "gg.handler.h.includeTokens=true", *more]


def two_tables() -> list[dict[str, Any]]:
    return [operation(number, "GG.OTHER" if number % 3 == 1 else "GG.TCUSTORD") for number in range(20)]


def changing() -> list[dict[str, Any]]:
    """Two tables in turns; one gets a column, loses it again, and so has its first definition once more."""
    kinds = {"ID": "string", "NAME": "string", "AMOUNT": "number"}
    records: list[dict[str, Any]] = [metadata("GG.OTHER", **kinds)]
    for number in range(24):
        if number % 8 == 0:
            more = {"MORE": "string"} if number == 8 else {}
            records.append(metadata(**kinds, **more))
        records.append(operation(number, **({"MORE": "x"} if 8 <= number < 16 else {})))
        records.append(operation(number, "GG.OTHER"))
    return records


def run(source: Path, out: Path, name: str, layout: str, **others: Any) -> dict[str, Any]:
    done = run_ggfmt([source], out, *settings(name, layout, out.parent), input_format="json", **others)
    return next(iter(done.manifests.values()))


def told(manifest: dict[str, Any]) -> Any:
    """What a manifest says of files: all but what changes with every run."""
    return manifest["files"], {key: manifest["totals"][key] for key in ("operations", "handlers", "warnings")}


def compare(name: str, layout: str, source: Path, folder: Path, **others: Any) -> Path:
    """Runs the input whole and in splits; the output of the whole."""
    whole = told(run(source, folder / "whole", name, layout, **others))
    for size in SIZES if FORMATS[name].write_support.preamble is not None else SIZES[:1]:
        cut = told(run(source, folder / f"cut{size}", name, layout, split_size=size, **others))
        if not FORMATS[name].by_table or name.startswith("arcion"):  # blocks of containers end where tasks ended
            assert cut == whole
            assert snapshot(folder / f"cut{size}" / "h") == snapshot(folder / "whole" / "h")
        else:
            assert [file["operations"] for file in cut[0]] == [file["operations"] for file in whole[0]]
    return folder / "whole"


@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_bytes_and_counts_do_not_depend_on_splits(name: str, layout: str, tmp_path: Path) -> None:
    if name not in SHARED and "partitionByTable=false" in LAYOUTS[layout]:
        return  # the linter refuses it (GG112)
    if FORMATS[name].options.of_goldengate and name not in SHARED and LAYOUTS[layout]:
        return  # as GoldenGate does
    compare(name, layout, write_lines(tmp_path / "in.json", two_tables()), tmp_path, definitions=DEFINITIONS)


@pytest.mark.parametrize("name", SHARED)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_neither_do_they_where_definitions_change(name: str, layout: str, tmp_path: Path) -> None:
    compare(name, layout, write_lines(tmp_path / "in.json", changing()), tmp_path)


def streams_records(file: Path) -> Iterator[tuple[str, bool]]:
    for line in file.read_bytes().splitlines():
        record = json.loads(line)
        yield record["qual_table"], record["op_type"] == "OBJECT_METADATA"


def qlik_records(file: Path) -> Iterator[tuple[str, bool]]:
    ids = {}
    for line in file.read_bytes().splitlines():
        record = json.loads(line)
        if record["type"] == "MD":
            lineage = record["message"]["lineage"]
            ids[record["message"]["schemaId"]] = f"{lineage['schema']}.{lineage['table']}"
        yield ids[record["messageSchemaId"] or record["message"]["schemaId"]], record["type"] == "MD"


ENVELOPE = {
    "type": "record",
    "name": "Envelope",
    "fields": [
        {"name": "magic", "type": {"type": "fixed", "name": "magic", "size": 5}},
        {"name": "type", "type": "string"},
        {"name": "headers", "type": ["null", {"type": "map", "values": "string"}]},
        {"name": "messageSchemaId", "type": ["null", "string"]},
        {"name": "messageSchema", "type": ["null", "string"]},
        {"name": "message", "type": "bytes"},
    ],
}


def qlik_avro_records(file: Path) -> Iterator[tuple[str, bool]]:
    data, ids = io.BytesIO(file.read_bytes()), {}
    while data.tell() < file.stat().st_size:
        record: Any = fastavro.schemaless_reader(data, ENVELOPE, None)
        if record["type"] == "MD":
            schema = json.loads(record["messageSchema"])
            message: Any = fastavro.schemaless_reader(io.BytesIO(record["message"]), schema, None)
            ids[message["schemaId"]] = f"{message['lineage']['schema']}.{message['lineage']['table']}"
        yield ids[record["messageSchemaId"]], record["type"] == "MD"


RECORDS = {"goldengate_streams_json": streams_records, "qlik_json": qlik_records, "qlik_avro": qlik_avro_records}


def test_the_formats_with_preambles_are_those_looked_into_here() -> None:
    assert {name for name in WRITTEN if FORMATS[name].write_support.preamble is not None} == set(RECORDS)


@pytest.mark.parametrize("name", RECORDS)
@pytest.mark.parametrize(
    ("layout", "expected"),
    [
        # Of each file how often each table is described.
        ("by table", [{"GG.OTHER": 1}, {"GG.TCUSTORD": 1}, {"GG.TCUSTORD": 1}, {"GG.TCUSTORD": 1}]),
        ("by table, definitions share files", [{"GG.OTHER": 1}, {"GG.TCUSTORD": 3}]),
        ("tables share files", [{"GG.OTHER": 1, "GG.TCUSTORD": 1}] * 3),
        ("tables and definitions share files", [{"GG.OTHER": 1, "GG.TCUSTORD": 3}]),
    ],
)
def test_a_definition_is_told_once_in_a_file_before_its_first_operation(
    name: str, layout: str, expected: list[dict[str, int]], tmp_path: Path
) -> None:
    source = write_lines(tmp_path / "in.json", changing())
    out = compare(name, layout, source, tmp_path)
    counts: list[dict[str, int]] = []
    for file in output_files(out, "h"):
        counts.append({})
        for table, describes in RECORDS[name](file):
            assert describes or table in counts[-1], "an operation stands before what describes it"
            if describes:
                counts[-1][table] = counts[-1].get(table, 0) + 1
    assert counts == expected


@pytest.mark.parametrize("name", RECORDS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_file_of_a_limited_size_can_be_read_on_its_own(name: str, layout: str, tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", changing())
    run(source, tmp_path / "unlimited", name, layout)
    few = output_files(tmp_path / "unlimited", "h")
    limit = f"gg.handler.h.maxFileSize={sum(file.stat().st_size for file in few) // (3 * len(few))}"
    out = tmp_path / "out"
    run_ggfmt([source], out, *settings(name, layout, tmp_path), limit, input_format="json", split_size=900)
    files = output_files(out, "h")
    assert len(files) > len(few)
    for number, file in enumerate(files):
        result = run_ggfmt([file], tmp_path / f"back{number}", input_format=name)
        assert result.totals.read == sum(not describes for _, describes in RECORDS[name](file))
        assert not result.totals.rejects
