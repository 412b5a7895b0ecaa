"""Records that are divided by table before they are read give the output of records that are read in order."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from round_trips import Operation, write_as, write_story
from runs import JSON_LINES, PIPES, manifest, metadata, operation, run_ggfmt, snapshot, write_lines
from scanners import without_kernels

from ggfmt.arrow.arrays import non_null_values
from ggfmt.diagnostics.diagnostic import Abend
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import DEFAULT_SETTINGS
from ggfmt.formats.api.reading import Chunk, Layout
from ggfmt.model.selection import TableSelection
from ggfmt.model.table import Catalog, Column, Kind, SqlType, TableDef
from ggfmt.reading import routing
from ggfmt.reading.runner import InThreads

ROUTED = [name for name, format in FORMATS.items() if format.reads and format.read_support.router and format.writes]
TIMES = ("seconds", "seconds_in_tasks", "seconds_by_step")


@contextmanager
def always_routed(**limits: int) -> Iterator[list[int]]:
    """Divide all records of inputs with several splits; yield the number of buckets of each run."""
    found: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"MIN_TABLES": 0, "MIN_OPERATIONS": 1 << 60, "BUCKET_BYTES": 2000, **limits}.items():
            patch.setattr(routing, name, value)

        def route(*given: Any, **named: Any) -> routing.RoutedSplits:
            made = routing.route(*given, **named)
            found.append(len(made.all))
            return made

        patch.setattr("ggfmt.reading.scan.route", route)
        yield found


def never_routed() -> Any:
    return always_routed(MIN_TABLES=1 << 30)


def outcome(out: Path) -> tuple[dict[str, str], dict[str, Any]]:
    """The files of a run, and its manifest without times."""
    document = manifest(out)
    document["totals"] = {name: value for name, value in document["totals"].items() if name not in TIMES}
    document["totals"]["operations"] = list(document["totals"]["operations"].items())  # their order counts
    document.pop("run")
    return {name: digest for name, digest in snapshot(out).items() if not name.startswith("_ggfmt")}, document


def assert_same_output(inputs: list[Path], top: Path, *settings: str, routed: bool = True, **given: Any) -> Path:
    with never_routed():
        run_ggfmt(inputs, top / "in-order", *settings, split_size=1500, **given)
    with always_routed() as found:
        run_ggfmt(inputs, top / "by-table", *settings, split_size=1500, **given)
    assert bool(found) == routed
    assert outcome(top / "by-table") == outcome(top / "in-order")
    return top / "by-table"


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
    written, told = write_as(source, name, tmp_path / "written", "gg.handler.h.partitionByTable=false")
    inputs = sorted(path for path in written.rglob("*") if path.is_file())
    assert_same_output(inputs, tmp_path, *JSON_LINES, *PIPES, input_format=name, source=told)


def test_records_of_dms_give_the_same_output(tmp_path: Path) -> None:
    records: list[dict[str, Any] | bytes] = []
    for number in range(84):
        place = {"schema-name": "S", "table-name": f"T{number % 7}", "timestamp": "2021-02-18T23:09:09.509179Z"}
        kind = {"record-type": "data", "operation": ("insert", "update", "delete")[number % 3]}
        records.append({"data": {"ID": number, "NAME": f"n{number}"}, "metadata": {**place, **kind}})
    inputs = [write_lines(tmp_path / "in.json", records)]
    assert_same_output(inputs, tmp_path, *JSON_LINES, *PIPES, input_format="dms_json")


def lines(tables: int = 7) -> list[dict[str, Any] | bytes]:
    return [operation(number, f"GG.T{number % tables}", "IUD"[number % 3]) for number in range(120)]


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


def test_nothing_of_the_first_pass_is_left(tmp_path: Path) -> None:
    inputs = [write_lines(tmp_path / "in.json", lines())]
    with always_routed() as found:
        run_ggfmt(inputs, tmp_path / "out", *JSON_LINES, split_size=1500)
    assert found
    assert not [path for path in (tmp_path / "out").rglob("*") if "routed" in path.name or "staging" in path.name]
