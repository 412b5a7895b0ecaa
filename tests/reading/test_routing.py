"""Records that are divided by table before they are read give the output of records that are read in order."""

from __future__ import annotations

import gzip
import json
import random
import re
import shutil
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from round_trips import Operation, write_as, write_story
from routed import always_routed, never_routed
from runs import JSON_LINES, PIPES, manifest, metadata, operation, run_ggfmt, snapshot, write_lines
from scanners import without_kernels

from ggfmt.arrow.arrays import non_null_values
from ggfmt.diagnostics.diagnostic import Abend
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import DEFAULT_SETTINGS
from ggfmt.formats.api.reading import Chunk, Layout, Unroutable
from ggfmt.model.selection import TableSelection
from ggfmt.model.table import Catalog, Column, Kind, SqlType, TableDef
from ggfmt.reading import routing
from ggfmt.reading.runner import InThreads
from ggfmt.replicat.mapping import Replicat
from ggfmt.replicat.parse import read_parameters

ROUTED = [name for name, format in FORMATS.items() if format.reads and format.read_support.router and format.writes]
TIMES = ("seconds", "seconds_in_tasks", "seconds_by_step")


def rejects(out: Path) -> list[tuple[str, str, bytes]]:
    """The file and the reason of each rejected record, and its bytes, in the order of the files of rejects."""
    found = []
    for reasons in sorted(out.rglob("*.reasons.jsonl")):
        data = reasons.with_name(reasons.name.replace(".reasons.jsonl", ".records")).read_bytes()
        for entry in map(json.loads, reasons.read_text().splitlines()):
            start, length = entry.pop("record_offset"), entry.pop("record_length")
            found.append((entry["file"], json.dumps(entry), data[start : start + length]))
    return found


def outcome(out: Path) -> tuple[list[tuple[str, str, bytes]], dict[str, str], dict[str, Any]]:
    """The rejects and the files of a run, and its manifest without times."""
    document = manifest(out)
    document["files"] = [file for file in document["files"] if "_rejects" not in file["path"]]
    document["totals"] = {name: value for name, value in document["totals"].items() if name not in TIMES}
    document["totals"]["operations"] = list(document["totals"]["operations"].items())  # their order counts
    document.pop("run")
    files = {name: digest for name, digest in snapshot(out).items() if "_rejects" not in name and name[:6] != "_ggfmt"}
    return rejects(out), files, document


def assert_same_output(inputs: list[Path], top: Path, *settings: str, routed: bool = True, **given: Any) -> Path:
    with never_routed():
        run_ggfmt(inputs, top / "in-order", *settings, split_size=1500, **given)
    with always_routed() as found:
        run_ggfmt(inputs, top / "by-table", *settings, split_size=1500, **given)
    assert bool(found) == routed
    assert outcome(top / "by-table") == outcome(top / "in-order")
    return top / "by-table"


def defined(name: str) -> dict[str, TableDef]:
    """The definitions of the tables of a story, where the format needs them."""
    if FORMATS[name].read_support.discovery is not None:
        return {}
    return {f"GG.T{number}": TableDef(f"GG.T{number}", (Column("ID", key=1), Column("NAME"))) for number in range(7)}


def story(tables: int = 7, rounds: int = 12) -> Iterator[Operation]:
    for number in range(rounds * tables):
        table = f"GG.T{number % tables}"
        row: dict[str, str | None] = {"ID": str(number), "NAME": f"näme {number}"}
        old: dict[str, str | None] = {"ID": str(number - tables), "NAME": f"näme {number - tables}"}
        kind = "IUIDI"[number // tables % 5] if number >= tables else "I"
        after = {"I": row, "U": {**old, "NAME": None}, "D": None}[kind]
        yield Operation(kind, None if kind == "I" else old, after, pos=f"{number:020d}", table=table)


@pytest.mark.parametrize("name", ROUTED)
def test_all_formats_with_a_router_give_the_same_output(name: str, tmp_path: Path) -> None:
    source = write_story(tmp_path / "story.json", story())
    written, options = write_as(source, name, tmp_path / "written", "partitionByTable=false")
    (whole,) = (path for path in written.rglob("*") if path.is_file())
    inputs = [whole, Path(shutil.copy(whole, tmp_path / "again"))]  # more than one split, of any layout
    assert_same_output(
        inputs, tmp_path, *JSON_LINES, *PIPES, input_format=name, source=options, definitions=defined(name)
    )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("cores", "divides"), [(1, False), (2, True)])
def test_records_are_divided_only_if_a_split_a_core_has_many_tables(
    cores: int, divides: bool, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ggfmt.reading.splits.MIN_SPLIT_BYTES", 100)
    operations = list(story())
    random.Random(seed).shuffle(operations)  # tables take turns without a pattern
    source = write_story(tmp_path / "story.json", operations)
    with never_routed():
        run_ggfmt([source], tmp_path / "in-order", *JSON_LINES, *PIPES, split_size=1 << 20)
    with always_routed() as found:
        run_ggfmt([source], tmp_path / "own", *JSON_LINES, *PIPES, start=lambda: InThreads(cores))
    assert bool(found) == divides
    assert outcome(tmp_path / "own") == outcome(tmp_path / "in-order")


@pytest.mark.parametrize("name", ["avro_op", "json"])
def test_large_chunks_are_written_in_runs(name: str, tmp_path: Path) -> None:
    source = write_story(tmp_path / "story.json", story())
    written, options = write_as(source, name, tmp_path / "written", "partitionByTable=false")
    (whole,) = (path for path in written.rglob("*") if path.is_file())
    inputs = [whole, Path(shutil.copy(whole, tmp_path / "again"))]
    given: dict[str, Any] = {"input_format": name, "source": options, "definitions": defined(name)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(routing, "RUN_BYTES", 200)
        patch.setattr(routing, "SEGMENT_BYTES", 5000)
        assert_same_output(inputs, tmp_path, *JSON_LINES, **given)


def test_records_of_dms_give_the_same_output(tmp_path: Path) -> None:
    records: list[dict[str, Any] | bytes] = []
    for number in range(84):
        place = {"schema-name": "S", "table-name": f"T{number % 7}", "timestamp": "2021-02-18T23:09:09.509179Z"}
        kind = {"record-type": "data", "operation": ("insert", "update", "delete")[number % 3]}
        records.append({"data": {"ID": number, "NAME": f"n{number}"}, "metadata": {**place, **kind}})
    inputs = [write_lines(tmp_path / "in.json", records)]
    assert_same_output(inputs, tmp_path, *JSON_LINES, *PIPES, input_format="dms_json")


def test_records_of_wal2json_give_the_same_output(tmp_path: Path) -> None:
    records: list[dict[str, Any] | bytes] = []
    for number in range(84):
        cells = [{"name": "id", "type": "integer", "value": number}, {"name": "v", "type": "text", "value": "x"}]
        images: dict[str, Any] = {"columns": cells} if number % 3 < 2 else {}
        images |= {"identity": cells[:1]} if number % 3 else {}
        records.append({"action": "IUD"[number % 3], "schema": "s", "table": f"t{number % 7}", **images})
        records += [{"action": "C"}, {"action": "B"}]
    inputs = [write_lines(tmp_path / "in.json", records)]
    assert_same_output(inputs, tmp_path, *JSON_LINES, *PIPES, input_format="wal2json")


def lines(tables: int = 7) -> list[dict[str, Any] | bytes]:
    return [operation(number, f"GG.T{number % tables}", "IUD"[number % 3]) for number in range(120)]


@pytest.mark.parametrize(("target", "routed"), [("X.N_*", True), ("X.ALL", False)])
def test_tables_with_one_target_are_not_divided(target: str, routed: bool, tmp_path: Path) -> None:
    (tmp_path / "r.prm").write_text(f"REPLICAT r\nMAP gg.*, TARGET {target};\n")
    selection = TableSelection(maps=Replicat(read_parameters(tmp_path / "r.prm")[0]))
    inputs = [write_lines(tmp_path / "in.json", lines())]
    out = assert_same_output(inputs, tmp_path, *JSON_LINES, selection=selection, routed=routed)
    texts = [path.read_text() for path in sorted(out.rglob("*.txt"))]
    positions = [re.findall('"pos":"0*([0-9]+)"', text) for text in texts]
    assert sum(map(len, positions)) == 120 and all(found == sorted(found, key=int) for found in positions)


def test_rejects_have_the_order_of_the_inputs(tmp_path: Path) -> None:
    records = lines()
    records[5:5] = [b'{"table":"GG.T1","op_type":"X"}', b"no JSON", b'{"op_type":"I"}']
    records[70] = {**records[70], "op_type": None}  # type: ignore[dict-item]
    records[100] = operation(100, "GG.T3", NAME=[1, 2])
    inputs = [write_lines(tmp_path / f"{part}.json", records[part::2]) for part in range(2)]
    out = tmp_path / "out"
    with always_routed() as found:
        run_ggfmt(inputs, out, *JSON_LINES, quarantine=True, split_size=1500)
    assert found == [found[0]] and found[0] > 1
    (reasons,) = out.rglob("*.reasons.jsonl")
    entries = [json.loads(line) for line in reasons.read_text().splitlines()]
    places = [(entry["file"], entry["offset"]) for entry in entries]
    assert len(places) == 4 and places == sorted(places)
    (data,) = out.rglob("*.records")
    for entry in entries:
        source = Path(entry["file"]).read_bytes()
        start = entry["record_offset"]
        record = data.read_bytes()[start : start + entry["record_length"]]
        assert record and source[entry["offset"] :].startswith(record + b"\n")


def test_schema_changes_hold_from_their_record_on(tmp_path: Path) -> None:
    records = lines(3)
    for place in (90, 50, 10):
        records.insert(place, metadata(f"GG.T{place % 3}", ID="integer", NAME="string", AMOUNT="number"))
    records[60:60] = [metadata("GG.T2", ID="integer", NAME="string", AMOUNT="number", MORE="string")]
    records[80:80] = [operation(1000, "GG.T2", MORE="x")]
    inputs = [write_lines(tmp_path / "in.json", records)]
    settings = ("gg.handler.a.format=avro_op", "gg.handler.a.format.schemaDirectory=./schemas")
    for size in (2000, 1 << 30):  # a bucket in several parts, and in one
        with always_routed(BUCKET_BYTES=size):
            run_ggfmt(inputs, tmp_path / f"by-table-{size}", *settings, split_size=1500, start=lambda: InThreads(2))
    with never_routed():
        run_ggfmt(inputs, tmp_path / "in-order", *settings, split_size=1500)
    expected = outcome(tmp_path / "in-order")
    assert outcome(tmp_path / "by-table-2000") == expected
    assert outcome(tmp_path / f"by-table-{1 << 30}") == expected


@pytest.mark.parametrize("layout", ["array", "gzip", "mixed", "one-line", "pretty", "small"])
def test_layouts_of_files(layout: str, tmp_path: Path) -> None:
    records = lines()
    paths = [tmp_path / f"{number}.json" for number in range(3)]
    for number, path in enumerate(paths):
        own = records[number * 40 : number * 40 + 40]
        if layout == "array" or (layout == "mixed" and number == 1):
            path.write_text(json.dumps(own))
        elif layout == "one-line" or (layout == "mixed" and number == 2):
            path.write_text("".join(map(json.dumps, own)))
        elif layout == "pretty":
            path.write_text("\n".join(json.dumps(record, indent=2) for record in own))
        else:
            write_lines(path, own)
    if layout == "gzip":
        for path in paths:
            path.with_suffix(".json.gz").write_bytes(gzip.compress(path.read_bytes()))
        paths = [path.with_suffix(".json.gz") for path in paths]
    if layout == "small":
        paths = [write_lines(tmp_path / f"s{number:03}.json", [record]) for number, record in enumerate(records)]
    assert_same_output(paths, tmp_path, *JSON_LINES)


def console(number: int, record: dict[str, Any] | bytes | None) -> bytes:
    value = b"null" if record is None else record if isinstance(record, bytes) else json.dumps(record).encode()
    return b'Partition:%d\tOffset:%d\t{"ID":"%d"}\t%s' % (number % 3, number, number, value)


def kcat(number: int, record: dict[str, Any] | bytes | None) -> bytes:
    value = None if record is None else record.decode() if isinstance(record, bytes) else json.dumps(record)
    place = {"topic": "t", "partition": number % 3, "offset": number}
    return json.dumps({**place, "key": f'{{"ID":"{number}"}}', "payload": value}).encode()


@pytest.mark.parametrize("message", [console, kcat])
@pytest.mark.parametrize("layout", ["lines", "array", "no-end"])
def test_messages_of_kafka(message: Any, layout: str, tmp_path: Path) -> None:
    records: list[Any] = lines()
    for place, other in ((110, b"no JSON"), (77, None), (30, b'{"table":"GG.T1","op_type":"X"}'), (10, None)):
        records.insert(place, other)
    messages = [message(number, record) for number, record in enumerate(records)]
    between = b",\n" if layout == "array" else b"\n"
    inputs = []
    for part in range(3):
        data = between.join(messages[part::3])
        if layout == "array" and message is kcat:
            data = b"[" + data + b"]"
        elif layout == "lines" or (message is console and layout == "array"):
            data = data.replace(b",\n", b"\n") + b"\n"
        inputs.append(tmp_path / f"{part}.txt")
        inputs[-1].write_bytes(data)
    out = assert_same_output(inputs, tmp_path, *JSON_LINES, *PIPES, quarantine=True)
    assert manifest(out)["totals"]["other_records"] == {"tombstone": 2} and len(rejects(out)) == 4  # of two handlers


def test_deletes_that_only_the_key_of_a_message_describes(tmp_path: Path) -> None:
    messages = []
    for number in range(120):
        source = {"connector": "postgresql", "db": "d", "schema": "s", "table": f"t{number % 7}"}
        row = {"ID": number % 20, "NAME": f"n{number}"}
        change = {"op": "d" if number < 60 else "c", "before": None, "after": None if number < 60 else row}
        key = json.dumps({"ID": number % 20})
        value = json.dumps({**change, "source": source, "ts_ms": 1})
        place = {"topic": "t", "partition": 0, "offset": number}
        messages.append({**place, "key": key, "payload": value})
    inputs = [write_lines(tmp_path / f"{part}.json", messages[part * 60 : part * 60 + 60]) for part in range(2)]
    assert_same_output(inputs, tmp_path, *JSON_LINES)


@pytest.mark.parametrize("tail", [b'{"table":"GG.T1","op_ty', b"garbage", b"garbage\n", b'{"op_type":"I"}'])
def test_the_last_records_of_files_are_damaged(tail: bytes, tmp_path: Path) -> None:
    inputs = [write_lines(tmp_path / f"{part}.json", lines()[part::3]) for part in range(3)]
    for path in inputs:
        path.write_bytes(path.read_bytes() + tail)
    assert_same_output(inputs, tmp_path, *JSON_LINES, quarantine=True)


CUT = b"<operation table='GG.T1' type='I' ts='2013-06-02 22:14:36.000000'><col"
DAMAGED = b"<operation table='GG.T1'>\n<?xml version='1.0'?>\n</operation>\n"
XML_TAILS = [
    (CUT, True),
    (b"garbage", True),
    (DAMAGED, False),
    (b"<operation table='GG.T1'><col name='ID'><after><![CDATA[</operation>]]></after></col></operation>\n", True),
    (b"<operation table='GG.T&amp;1' type='I'><!-- <operation> --><col name='ID'></col></operation>", True),
    (b"<operation type='I'></operation><other table='GG.T1' type='I'/>", True),
]


@pytest.mark.parametrize(("tail", "routed"), XML_TAILS)
def test_odd_records_of_xml(tail: bytes, routed: bool, tmp_path: Path) -> None:
    source = write_story(tmp_path / "story.json", story())
    written, options = write_as(source, "xml", tmp_path / "written", "partitionByTable=false")
    (whole,) = (path for path in written.rglob("*") if path.is_file())
    data, inputs = whole.read_bytes(), [tmp_path / "0.xml", tmp_path / "1.xml"]
    for number, path in enumerate(inputs):
        path.write_bytes(data + tail * (1 + number * (not routed)))
    given: dict[str, Any] = {"input_format": "xml", "source": options, "quarantine": True}
    assert_same_output(inputs, tmp_path, *JSON_LINES, **given, routed=routed)


LINE_TAILS = [
    b"I|GG.T1",
    b"\n\n",
    b"\xef\xbb\xbfI|GG.T1|2013-06-02 22:14:36.000000|t|p|1|n",
    b"I|GG.\xff|a",
    b"garbage",
]


@pytest.mark.parametrize("tail", LINE_TAILS)
def test_odd_lines_of_delimited_text(tail: bytes, tmp_path: Path) -> None:
    source = write_story(tmp_path / "story.json", story())
    written, options = write_as(source, "delimitedtext", tmp_path / "written", "partitionByTable=false")
    (whole,) = (path for path in written.rglob("*") if path.is_file())
    inputs = [tmp_path / "0.txt", tmp_path / "1.txt"]
    for path in inputs:
        path.write_bytes(b"\xef\xbb\xbf" + whole.read_bytes() + tail)
    given: dict[str, Any] = {"input_format": "delimitedtext", "source": options, "quarantine": True}
    assert_same_output(inputs, tmp_path, *JSON_LINES, **given, definitions=defined("delimitedtext"))


def test_definitions_of_some_tables(tmp_path: Path) -> None:
    inputs = [write_lines(tmp_path / "in.json", lines())]
    columns = (Column("ID", key=1), Column("NAME"), Column("AMOUNT", SqlType(Kind.DECIMAL)))
    assert_same_output(inputs, tmp_path, *JSON_LINES, definitions={"GG.T1": TableDef("GG.T1", columns)})


def test_one_of_the_inputs_has_a_record_that_is_too_long(tmp_path: Path) -> None:
    records = lines()
    records[60] = operation(60, "GG.T4", NAME="x" * 2000)
    inputs = [write_lines(tmp_path / "in.json", records)]
    with always_routed(), pytest.raises(Abend, match="GG316"):
        run_ggfmt(inputs, tmp_path / "out", *JSON_LINES, split_size=1500, max_record=1000)


def test_tables_that_get_one_name(tmp_path: Path) -> None:
    inputs = [write_lines(tmp_path / "in.json", lines())]
    rule = "gg.schemareplaceregex=T[56]", "gg.schemareplacestring=X"
    messages = []
    for way in (never_routed, always_routed):
        with way(), pytest.raises(Abend) as caught:
            run_ggfmt(inputs, tmp_path / way.__name__, *JSON_LINES, *rule, split_size=1500)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_selected_tables(tmp_path: Path) -> None:
    inputs = [write_lines(tmp_path / "in.json", lines())]
    assert_same_output(inputs, tmp_path, *JSON_LINES, selection=TableSelection(("GG.T[12]",), ("GG.T2",)))


def test_without_kernels(tmp_path: Path) -> None:
    inputs = [write_lines(tmp_path / "in.json", lines())]
    with without_kernels():
        assert_same_output(inputs, tmp_path, *JSON_LINES)


def test_the_scanner_finds_the_tables_of_most_records() -> None:
    side = FORMATS["json"].read_support
    assert side.router is not None
    router = side.router(Catalog({}), DEFAULT_SETTINGS)
    data = b"".join(json.dumps(record).encode() + b"\n" for record in lines())
    chunk = Chunk("in.json", 0, data, Layout(splittable=True))
    decoded = []
    with pytest.MonkeyPatch.context() as patch:
        examined = type(router).examined_at  # type: ignore[attr-defined]

        def note(*given: Any) -> Any:
            decoded.append(given)
            return examined(*given)

        patch.setattr(type(router), "examined_at", note)
        routed = router.route(chunk)
    assert len(decoded) <= 8, "one for the grammar, and one for each table"
    names = [router.tables[number] for number in non_null_values(routed.tables)]
    assert names == [f"GG.T{number % 7}" for number in range(120)]


def test_other_records_are_counted_once(tmp_path: Path) -> None:
    records = lines()
    records[3:3] = [b"null", b"null"]
    records[90:90] = [b"null"]
    inputs = [write_lines(tmp_path / "in.json", records)]
    out = assert_same_output(inputs, tmp_path, *JSON_LINES)
    assert manifest(out)["totals"]["other_records"] == {"tombstone": 3}


def test_the_first_mistake_is_that_of_a_run_in_order(tmp_path: Path) -> None:
    records = lines()
    records[40] = operation(40, "GG.T5", NAME=[1])
    records[41] = operation(41, "GG.T0", NAME=[1])
    records[110] = b"broken"
    inputs = [write_lines(tmp_path / "in.json", records)]
    messages = []
    for way in (never_routed, always_routed):
        with way(), pytest.raises(Abend) as caught:
            run_ggfmt(inputs, tmp_path / way.__name__, *JSON_LINES, split_size=1500)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_messages_of_all_tables_in_one_file_are_read_in_order(tmp_path: Path) -> None:
    inputs = [write_lines(tmp_path / "in.json", lines())]
    assert_same_output(inputs, tmp_path, *JSON_LINES, "gg.handler.j.partitionByTable=false", routed=False)


def test_few_tables_are_read_in_order(tmp_path: Path) -> None:
    inputs = [write_lines(tmp_path / "in.json", lines(2))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ggfmt.reading.scan.route", None)
        run_ggfmt(inputs, tmp_path / "out", *JSON_LINES, split_size=1500)


def test_many_tables_are_divided(tmp_path: Path) -> None:
    inputs = [write_lines(tmp_path / "in.json", lines(40))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ggfmt.reading.scan.route", None)
        with pytest.raises(TypeError):
            run_ggfmt(inputs, tmp_path / "out", *JSON_LINES, split_size=1500)


@pytest.mark.parametrize(
    ("few", "routed"), [(90, True), (3000, False)], ids=["in the first half", "in the second half"]
)
def test_a_split_has_more_tables_than_the_first_records_show(few: int, routed: bool, tmp_path: Path) -> None:
    records = [operation(number, "GG.T0") for number in range(few)]
    records += [operation(number, f"GG.T{number % 90}") for number in range(900)]
    inputs = [write_lines(tmp_path / "in.json", records)]
    with never_routed():
        run_ggfmt(inputs, tmp_path / "in-order", *JSON_LINES, split_size=20_000)
    with always_routed(MIN_TABLES=1 << 30) as found:
        run_ggfmt(inputs, tmp_path / "out", *JSON_LINES, split_size=20_000)
    assert bool(found) == routed
    assert outcome(tmp_path / "out") == outcome(tmp_path / "in-order")


def test_what_cannot_be_divided_is_read_once(tmp_path: Path) -> None:
    """A task does not ask for another start where the first records show that it would be in vain."""
    inputs = [write_lines(tmp_path / "in.json", [operation(number, f"GG.T{number % 90}") for number in range(900)])]
    discard = Mock()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FORMATS["json"].read_support.router, "route", Mock(side_effect=Unroutable))
        patch.setattr("ggfmt.sinks.messages.run.MessageSink.discard", discard)
        run_ggfmt(inputs, tmp_path / "out", *JSON_LINES, split_size=20_000)
    discard.assert_not_called()


def test_the_tables_of_one_large_split_are_divided(tmp_path: Path) -> None:
    path = tmp_path / "in.json.gz"
    path.write_bytes(gzip.compress(write_lines(tmp_path / "in.json", lines(40)).read_bytes()))
    for size, divides in ((1 << 30, False), (1000, True)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("ggfmt.reading.scan.route", None)
            patch.setattr(routing, "HELD_BYTES", size)
            with pytest.raises(TypeError) if divides else nullcontext():
                run_ggfmt([path], tmp_path / f"out-{size}", *JSON_LINES)
    with always_routed(HELD_BYTES=1000):
        run_ggfmt([path], tmp_path / "by-table", *JSON_LINES)
    assert outcome(tmp_path / "by-table") == outcome(tmp_path / f"out-{1 << 30}")


def test_the_log_says_how_much_room_staging_takes(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    inputs = [write_lines(tmp_path / "in.json", lines())]
    caplog.set_level("INFO")
    with always_routed(MUCH_BYTES=1):
        run_ggfmt(inputs, tmp_path / "out", *JSON_LINES, split_size=1500)
    assert f"dividing the records by table takes about 0 MB in {tmp_path / 'out'}" in caplog.text


def test_nothing_of_the_first_pass_is_left(tmp_path: Path) -> None:
    inputs = [write_lines(tmp_path / "in.json", lines())]
    with always_routed() as found:
        run_ggfmt(inputs, tmp_path / "out", *JSON_LINES, split_size=1500)
    assert found
    assert not [path for path in (tmp_path / "out").rglob("*") if "routed" in path.name or "staging" in path.name]
