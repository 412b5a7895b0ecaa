"""No result depends on where a file is cut: neither by the ranges that tasks read, nor by the chunks within them."""

from __future__ import annotations

import base64
import io
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from dialects import chunk_bytes, layout_of, read, told
from fuzz import seen
from hypothesis import given
from hypothesis import strategies as st
from runs import metadata, run_ggfmt, snapshot
from strategies import examples
from typer.testing import CliRunner

from ggfmt.cli import app
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import DEFAULT_SETTINGS, Context
from ggfmt.formats.api.reading import Layout, SplitBoundaryError
from ggfmt.formats.json import files as json_files
from ggfmt.formats.json.files import find_layout, record_spans
from ggfmt.location import Location
from ggfmt.model.table import Column, TableDef
from ggfmt.reading.files import InputFile
from ggfmt.reading.recognition import PlannedInput
from ggfmt.reading.runner import InProcess, Runner
from ggfmt.reading.scan import inputs_to_reread
from ggfmt.reading.splits import FIRST_WINDOW_BYTES, MIN_SPLIT_BYTES, Splits, Window
from ggfmt.reading.tasks import TaskOutcome

CHUNKS = (1, 7, 64, 1 << 20)


def one(number: int, table: str = "GG.T") -> bytes:
    return json.dumps({"table": table, "op_type": "I", "after": {"ID": str(number)}}, separators=(",", ":")).encode()


def pretty(number: int, indent: int = 2) -> bytes:
    return json.dumps({"table": "GG.T", "op_type": "I", "after": {"ID": str(number)}}, indent=indent).encode()


# A record whose image is alone in a line, where it looks like an operation of another table.
NESTED = b'{"table":"GG.T","op_type":"I","pos":"9","after":\n' + one(8, "GG.GHOST") + b"\n}"

HOSTILE: dict[str, bytes] = {
    "a pretty record behind lines": one(1) + b"\n" + one(2) + b"\n" + pretty(3) + b"\n" + one(4) + b"\n",
    "pretty records without indentation": one(1) + b"\n" + pretty(2, 0) + b"\n" + pretty(3, 0) + b"\n" + one(4) + b"\n",
    "a nested object on a line of its own": one(1) + b"\n" + NESTED + b"\n" + one(2) + b"\n",
    "two records on a line": one(1) + b"\n" + one(2) + one(3) + b" " + one(4) + b"\n" + one(5) + b"\n",
    "a second record that ends in another line": one(1) + b"\n" + one(2) + pretty(3) + one(4) + b"\n" + one(5),
    "records cut off": one(1) + b"\n" + one(2)[:40] + b"\n" + one(3) + b"\n" + one(4)[:51] + b"\n" + one(5) + b"\n",
    "cut off where a value may follow": one(1) + b'\n{"table":"GG.T","after":\n' + one(2) + b"\n" + one(3) + b"\n",
    "cut off in a list": one(1) + b'\n{"a":[\n' + one(2) + b"\n" + one(3) + b"\n" + one(4) + b"\n",
    "a damaged pretty record": one(1) + b"\n" + pretty(2).replace(b'"ID":', b"ID:") + b"\n" + one(3) + b"\n",
    "the end of a pretty record missing": one(1) + b"\n" + pretty(2)[:-20] + b"\n" + one(3) + b"\n" + one(4) + b"\n",
    "words between records": one(1) + b"\nWARN: x {\n" + one(2) + b"\n\n  \n]\n}\n" + one(3) + b"\ntail",
    "blank lines and line ends of Windows": b"\r\n".join([one(1), b"", one(2), pretty(3), b" ", one(4), b""]),
    "line ends of the old Macintosh": b"\r".join([one(1), one(2)]) + b"\n" + b"\r".join([one(3), one(4)]),
    "separators that are no white space": one(1) + b"\n" + "\u2028".encode() + one(2) + b"\n\x0c\n" + one(3) + b"\n",
    "byte order marks": b"\xef\xbb\xbf" + one(1) + b"\n\xef\xbb\xbf" + one(2) + b"\n" + pretty(3),
    "other values": one(1) + b'\nnull\n12 13\n"x"\ntru\n[1,\n2]\n[' + one(2) + b",\n" + one(3) + b"]\n" + one(4),
    "halves of pairs and NaN": one(1) + b'\n{"a":"\\ud800"}{"b":NaN}' + one(2) + b'\n{"a":\n"\\udc00"\n}\n' + one(3),
    "a file that ends in the middle": one(1) + b"\n" + pretty(2)[:60],
    "nothing but white space": b"\n\n  \r\n\t\n",
}
# Of these, layouts that, by the first bytes, must be read from the start.
WHOLE: dict[str, bytes] = {
    "pretty from the start": pretty(1) + b"\n" + pretty(2) + b"\n" + one(3) + b"\n" + pretty(4)[:50] + b"\n" + one(5),
    "concatenated": b"".join(map(one, range(5))) + one(5)[:30] + b"\n" + one(6) + one(7),
    "an array": b"[\n" + b",\n".join([one(1), pretty(2), one(3)[:30], one(4)]) + b"\n]\n",
    "divided": b"||".join([one(1), one(2), one(3)[:30], b"\n" + one(4), one(5)]) + b"||",
    "a comment": b"/* made by hand */\n" + one(1) + b"\n" + pretty(2) + b"\n",
    "line ends in strings": one(1) + b'{"a":"x\ny"}' + one(2) + b'\n{"a":"' + b"\n" * 40 + b'"}' + one(3),
    "quotes that nothing closes": one(1) + one(2) + b'{"a":"' + one(3) + b"\n" + one(4),
}

DEEP = one(1) + b"\n" + b"[" * 1100 + b"]" * 1100 + one(2) + b"\n" + b'{"a":' * 1100 + b"\n" + one(3)
Record = tuple[int, bytes, Diagnostic | None, bool]


def records_of(data: bytes, layout: Layout, start: int = 0, length: int | None = None) -> Iterator[Record]:
    """Place and bytes of every record, what is wrong with it, and whether the file ends in it, as a reader has them."""
    for chunk in json_files.chunks(io.BytesIO(data), "f", start, length, layout):
        try:
            json_files._RAW.decode_lines(chunk.data)
        except (ValueError, RecursionError):
            chunk = chunk.settled()
        for first, last in record_spans(chunk):
            assert data[chunk.offset + first : chunk.offset + first + 1] == chunk.data[first : first + 1]
            record = chunk.data[first:last]
            line = chunk.origin(first).line if layout.splittable else -1
            assert line < 0 or line == data.rfind(b"\n", 0, chunk.offset + first) + 1
            cut_off = chunk.last and last == len(chunk.data) and not decodes(record)
            yield chunk.offset + first, record, chunk.problem, cut_off


def decodes(record: bytes) -> bool:
    try:
        json_files._RAW.decode(record)
    except (ValueError, RecursionError):
        return False
    return True


def cut_up(data: bytes, layout: Layout, size: int) -> list[Record]:
    """The records of all ranges, or of the whole file where one is not on its own."""
    try:
        return [r for start in range(0, len(data), size) for r in records_of(data, layout, start, size)]
    except SplitBoundaryError:
        return list(records_of(data, layout))


@pytest.mark.parametrize("name", HOSTILE)
def test_ranges_of_every_size_have_the_records_of_the_file(name: str) -> None:
    data = HOSTILE[name]
    layout = replace(find_layout(data, True), splittable=True, delimiter=b"", array=False)
    expected = list(records_of(data, layout))
    for chunk in CHUNKS:
        with chunk_bytes(chunk):
            assert list(records_of(data, layout)) == expected
            for size in range(1, len(data) + 1):
                assert cut_up(data, layout, size) == expected, (chunk, size)


@pytest.mark.parametrize("name", WHOLE)
def test_chunks_of_every_size_have_the_records_of_the_file(name: str) -> None:
    data = WHOLE[name]
    layout = find_layout(data, True)
    assert not layout.splittable
    expected = list(records_of(data, layout))
    for chunk in range(1, len(data) + 1):
        with chunk_bytes(chunk):
            assert list(records_of(data, layout)) == expected, chunk


PIECES = [
    one(1),
    one(2),
    pretty(3),
    pretty(4, 0),
    NESTED,
    one(5) + one(6),
    one(7)[:35],
    pretty(8)[:70],
    b'{"a":[',
    b'{"a":\n',
    b'{"a":"x',
    b'"',
    b"}",
    b"WARN: {",
    b'{"a":{"b":[1,2]},"c":"\\ud800"}',
    b'{"a":oops, "b":\n{"c":1}}',
    b"12",
    b"nul",
    b"",
    b"  ",
    b"\t",
    b"\xff",
    b"[" + one(9) + b",\n" + one(10) + b"]",
]


@examples(150)
@given(
    st.lists(
        st.tuples(st.sampled_from(PIECES), st.sampled_from([b"\n", b"\n", b"\n", b"\r\n", b"", b" ", b"\n\n"])),
        max_size=8,
    ),
    st.integers(1, 400),
    st.sampled_from([1, 5, 50, 300, 1 << 20]),
    st.sampled_from([b"", b"||"]),
    st.booleans(),
)
def test_no_cut_of_any_file_changes_its_records(
    pieces: list[tuple[bytes, bytes]], size: int, chunk: int, delimiter: bytes, lines: bool
) -> None:
    data = b"".join(piece + end + (b"" if lines else delimiter) for piece, end in pieces)
    layout = Layout(lines, b"" if lines else delimiter)
    expected = list(records_of(data, layout))
    covered = 0
    for place, record, _, _ in expected:  # all but white space is in a record
        assert not data[covered:place].replace(delimiter if not lines else b"", b"").strip()
        covered = place + len(record)
    with chunk_bytes(chunk):
        assert list(records_of(data, layout)) == expected
        assert not lines or cut_up(data, layout, size) == expected


@pytest.mark.parametrize("limit", [1, 20, 40, 52, 80])
@pytest.mark.parametrize("name", [*HOSTILE, *WHOLE])
def test_neither_do_limits(name: str, limit: int) -> None:
    """Records that are too long are reported with place and length, and all others are there, however it is cut."""
    data = (HOSTILE | WHOLE)[name]
    layout = replace(find_layout(data, True), max_record=limit)
    expected = list(records_of(data, layout))
    assert all(len(record) <= limit or problem for _, record, problem, _ in expected)
    for chunk in (1, 7, 50, 1 << 20):
        with chunk_bytes(chunk):
            assert list(records_of(data, layout)) == expected
            for size in (1, 13, 100) if layout.splittable else ():
                assert cut_up(data, layout, size) == expected, (chunk, size)


@pytest.mark.parametrize("limit", [100, 3000, 1 << 20])
def test_neither_does_nesting(limit: int) -> None:
    layout = replace(find_layout(DEEP, True), max_record=limit)
    expected = list(records_of(DEEP, layout))
    assert len(expected) == 4 if limit == 100 else 5
    for chunk in (100, 5000, 1 << 20):
        with chunk_bytes(chunk):
            for size in (500, 2000, 1 << 20):
                assert cut_up(DEEP, layout, size) == expected


RUNS: dict[str, list[bytes]] = {
    name: [HOSTILE[name]]
    for name in (
        "a pretty record behind lines",
        "a nested object on a line of its own",
        "cut off in a list",
        "words between records",
        "a file that ends in the middle",
    )
} | {
    "a metadata record that stands second on a line": [
        json.dumps(metadata("GG.T", ID="string")).encode() + b"\n",
        one(1) + json.dumps(metadata("GG.T", NAME="string", ID="string")).encode() + b"\n",
        one(2) + b"\n" + one(3) + json.dumps(metadata("GG.T", ID="string")).encode() + one(4) + b"\n",
        one(5) + b"\n",
    ]
}


@pytest.mark.parametrize("name", RUNS)
def test_a_run_has_the_same_files_rejects_and_manifest_with_every_size_of_split(name: str, tmp_path: Path) -> None:
    source = tmp_path / "in.json"
    source.write_bytes(b"".join(RUNS[name]))

    def run(folder: str, size: int | None) -> list[Any]:
        out = tmp_path / folder
        [told] = run_ggfmt([source], out, input_format="json", quarantine=True, split_size=size).manifests.values()
        kept = {name: value for name, value in snapshot(out).items() if "_ggfmt" not in name and "_rejects" not in name}
        files = [file for file in told["files"] if "_rejects" not in file["path"]]
        totals = {key: value for key, value in told["totals"].items() if not key.startswith("seconds")}
        # Rejects are not joined: each split has files of its own.
        records = b"".join(path.read_bytes() for path in sorted(out.rglob("_rejects/*.records")))
        lines = [line for path in sorted(out.rglob("_rejects/*.jsonl")) for line in path.read_text().splitlines()]
        reasons = [{**json.loads(line), "record_offset": None} for line in lines]
        return [files, totals, kept, records, reasons]

    whole = run("whole", None)
    for size in (1, 61, 130):
        assert run(f"cut{size}", size) == whole, size


def test_a_mistake_in_a_range_that_starts_in_a_record_is_none(tmp_path: Path) -> None:
    source = tmp_path / "in.json"
    source.write_bytes(one(1) + b"\n" + pretty(2) + b"\n" + one(3) + b"\n")
    for size in (20, 60, 100):
        assert run_ggfmt([source], tmp_path / f"out{size}", input_format="json", split_size=size).totals.read == 3


def test_a_reader_that_does_not_settle_in_time_is_told(tmp_path: Path) -> None:
    with chunk_bytes(1):
        first, *_ = list(json_files.chunks(io.BytesIO(one(1) + b"\n" + one(2)), "f", 0, None, Layout(True)))
        with pytest.raises(AssertionError, match="another chunk was asked for"):
            first.settled()


def row(number: int, end: str = "\n") -> bytes:
    return f"I|GG.T|t|t|p|{number}|x{end}".encode()


DELIMITED = {"fieldDelimiter": "|", "encoding": "UTF-8"}
TAGS = b'<operation table="GG.T" type="I" numCols="1"><col name="A"><after>%s</after></col></operation>'
BASE64 = base64.b64encode(b"\x00" * 9)
# By name: the format, options of the input, and a file.
TEXTS: dict[str, tuple[str, dict[str, str], bytes]] = {
    "delimited text": ("delimitedtext", DELIMITED, b"\xef\xbb\xbf" + row(1) + b"\n" + row(2) + b"a|b\n" + row(3)[:-1]),
    "bytes that are no text": ("delimitedtext", DELIMITED, row(1) + b"I|GG.T|t|t|p|\xff|x\n" + row(2) + b"\xe2\x82\n"),
    "line ends of two characters": (
        "delimitedtext",
        {**DELIMITED, "lineDelimiter": "CDATA[\\r\\n]"},
        row(1, "\r\n") + b"I|GG.T|t|t|p|\r|\n\r\n" + row(2, "\r\n") + b"\r\r\n\n" + row(3, "\r"),
    ),
    "line ends that overlap": (
        "delimitedtext",
        {**DELIMITED, "fieldDelimiter": ",", "lineDelimiter": "||"},
        b"I,GG.T,t,t,p,1,|x||I,GG.T,t,t,p,2,x|||I,GG.T,t,t,p,3,x||||||I,GG.T,t,t,p,\xff,x||I,GG.T,t,t,p,4,x",
    ),
    "XML": (
        "xml",
        {},
        b"<?xml version='1.0'?>\n<!-- </operation> -->"
        + TAGS % b"<![CDATA[</operation>]]>"
        + TAGS % b"1"
        + b"\n<operation>"
        + TAGS % b"&x;"
        + b"\n"
        + TAGS % b"2",
    ),
    "XML with an open section": ("xml", {}, TAGS % b"1" + b"\n" + TAGS % b"<![CDATA[" + b"\n" + TAGS % b"2"),
    "XML that ends in the middle": ("xml", {}, TAGS % b"1" + b"\n" + (TAGS % b"2")[:60]),
    "tombstones": (
        "debezium_json",
        {},
        b'{"before":null,"after":{"a":1},"op":"c","source":{"db":"d","table":"t"}}\nnull\n\nnull\n'
        b'{"before":null,"after":\n{"a":2},"op":"c","source":{"db":"d","table":"t"}}null\n',
    ),
    "Base64": ("dts_avro", {}, BASE64 + b"\n\r\n" + BASE64 + b"\r" + BASE64 + b"\n?\n" + BASE64[:5]),
    "CSV": (
        "arcion_csv",
        {"tableName": "GG.T", "columns": "GG.T=A,B", "mode": "snapshot"},
        b'1,"a\n""b"\r\n2,c"d\n"3\n",""\n\n4,"never closed\n6,7\n8,9',
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_so_it_is_with_text_of_every_kind(name: str) -> None:
    kind, options, data = TEXTS[name]
    source = told(kind, Context(), **options)
    trusted = {"GG.T": TableDef("GG.T", (Column("A"), Column("B")))} if kind == "delimitedtext" else {}
    whole = seen(read(kind, data, source, trusted=trusted))
    splittable = layout_of(kind, data, source).splittable
    step = max(1, len(data) // 40)
    for chunk in CHUNKS if splittable else range(1, len(data) + 1, step):
        with chunk_bytes(chunk):
            assert seen(read(kind, data, source, trusted=trusted)) == whole, chunk
            for size in range(1 if chunk > 64 else 11, len(data), step + 5) if splittable else ():
                try:
                    cut = seen(read(kind, data, source, size, trusted=trusted))
                except SplitBoundaryError:
                    assert name == "tombstones"
                else:
                    assert cut == whole, (chunk, size)


def test_a_mistake_is_none_as_long_as_the_ranges_before_it_are_not_read(tmp_path: Path) -> None:
    """A range that starts in a record finds mistakes where there are none; the range before it would show it."""
    source = tmp_path / "in.json"
    source.write_bytes(one(1) + b"\n" + pretty(2) + b"\n")
    planned = [
        PlannedInput(InputFile(Location.of(str(source)), source.stat().st_size, "in.json"), 0, Layout(splittable=True))
    ]
    splits = Splits(planned, 1, 20).all
    outcomes = [TaskOutcome(split.ordinal) for split in splits]
    outcomes[3].abend = Diagnostic("GG301", "no record")
    assert inputs_to_reread(splits, outcomes) == set()
    outcomes[1].stopped = True
    assert inputs_to_reread(splits, outcomes) == {0}
    outcomes[0].abend = Diagnostic("GG301", "no record")
    assert inputs_to_reread(splits, outcomes) == set()


class Backwards(Runner):
    """Runs the tasks in this process, the last first, so that a mistake in a later range stops those before it."""

    parallelism = 1

    def __init__(self) -> None:
        self.runs = 0

    def run(self, task: Any, items: Any, progress: Any = None) -> list[Any]:
        results = [task(item, number) for number, item in reversed(list(enumerate(items)))][::-1]
        if len(items) > 1 and isinstance(results[0], TaskOutcome):
            self.runs += 1
        return results


def test_so_a_run_in_any_order_of_tasks_ends_well(tmp_path: Path) -> None:
    source = tmp_path / "in.json"
    source.write_bytes(one(1) + b"\n" + pretty(2) + b"\n" + one(3) + b"\n")
    runner = Backwards()
    definitions = {"GG.T": TableDef("GG.T", (Column("ID"),), ())}
    result = run_ggfmt(
        [source],
        tmp_path / "out",
        input_format="json",
        split_size=20,
        definitions=definitions,
        start=lambda: nullcontext(runner),
    )
    assert result.totals.read == 3
    assert runner.runs == 1


class Counting(InProcess):
    """Notes the files of the splits that tasks read to their end, and how often they read each split."""

    def __init__(self) -> None:
        super().__init__()
        self.read: list[tuple[int, frozenset[int]]] = []

    def run(self, task: Any, items: Any, *rest: Any) -> list[Any]:
        results = super().run(task, items, *rest)
        for split, outcome in zip(items, results, strict=True):
            if isinstance(outcome, TaskOutcome) and outcome.is_whole:
                self.read.append((split.ordinal, frozenset(part.input.index for part in split.ranges)))
        return results


@pytest.mark.parametrize("position", range(3))
def test_a_border_in_a_file_redoes_its_splits_alone(position: int, tmp_path: Path) -> None:
    files = [tmp_path / f"{number}.json" for number in range(3)]
    for number, file in enumerate(files):
        lines = [one(10 * number + each) + b"\n" for each in range(6)]
        if number == position:
            lines[3] = pretty(10 * number + 7) + b"\n"
        file.write_bytes(b"".join(lines))
    given: dict[str, Any] = {"input_format": "json", "definitions": {"GG.T": TableDef("GG.T", (Column("ID"),), ())}}
    runner = Counting()
    run_ggfmt(files, tmp_path / "cut", split_size=50, start=lambda: nullcontext(runner), **given)
    run_ggfmt(files, tmp_path / "whole", split_size=10**6, **given)
    ordinals = Counter(ordinal for ordinal, _ in runner.read)
    assert frozenset.union(*(read for _, read in runner.read)) == {0, 1, 2}
    assert len(runner.read) > 10
    assert all(position in read for ordinal, read in runner.read if ordinals[ordinal] > 1)
    cut, whole = (
        {name: value for name, value in snapshot(tmp_path / name).items() if "_ggfmt" not in name}
        for name in ("cut", "whole")
    )
    assert cut == whole


@pytest.mark.parametrize("position", range(4))
def test_so_it_is_where_the_search_for_definitions_cuts_again(position: int, tmp_path: Path) -> None:
    files = [tmp_path / f"{number}.json" for number in range(4)]
    for number, file in enumerate(files):
        lines = [one(each) + b"\n" for each in range(4000)]
        if number == position:
            lines[2000:] = [pretty(each) + b"\n" for each in range(2000, 4000)]
        if number == 3:
            lines.append(one(5000, "GG.NEW") + b"\n")
        file.write_bytes(b"".join(lines))
    given: dict[str, Any] = {"input_format": "json", "start": lambda: nullcontext(Backwards())}
    run_ggfmt(files, tmp_path / "cut", split_size=70_000, **given)
    run_ggfmt(files, tmp_path / "whole", split_size=10**8, **given)
    cut, whole = (
        {name: value for name, value in snapshot(tmp_path / name).items() if "_ggfmt" not in name}
        for name in ("cut", "whole")
    )
    assert cut == whole


def test_a_wrong_guess_from_the_first_records_redoes_the_splits_of_the_table(tmp_path: Path) -> None:
    """Numbers that later records show to be texts, which another table does not have."""
    files = [tmp_path / f"{number}.json" for number in range(4)]
    for number, file in enumerate(files):
        table, line = f"GG.T{number % 2}", '{"table":"%s","op_type":"I","after":{"ID":%s}}\n'
        texts = ['"x"' if (number, each) == (3, 39000) else str(each) for each in range(40000)]
        file.write_text("".join(line % (table, text) for text in texts))
    runner = Counting()
    given: dict[str, Any] = {"input_format": "json"}
    run_ggfmt(files, tmp_path / "cut", split_size=10**6, start=lambda: nullcontext(runner), **given)
    run_ggfmt(files, tmp_path / "whole", split_size=10**8, **given)
    ordinals = Counter(ordinal for ordinal, _ in runner.read)
    assert {times for _, times in ordinals.items()} == {1, 2}
    assert all(ordinals[ordinal] == 1 for ordinal, read in runner.read if read <= {0, 2})
    cut, whole = (
        {name: value for name, value in snapshot(tmp_path / name).items() if "_ggfmt" not in name}
        for name in ("cut", "whole")
    )
    assert cut == whole


@pytest.mark.parametrize("form", ["head", "definitions"])
def test_a_table_that_nothing_defines_redoes_the_splits_it_touches_alone(form: str, tmp_path: Path) -> None:
    """A table of which the first records, or the definitions of the user, say nothing."""
    known = [one(number) + b"\n" for number in range(4000)]
    new = [one(number, "GG.NEW") + b"\n" for number in range(3)]
    files = [tmp_path / f"{number}.json" for number in range(4)]
    for number, file in enumerate(files):
        file.write_bytes(b"".join(known if number < 3 else [*known, *new]))
    given: dict[str, Any] = {"input_format": "json"}
    if form == "definitions":
        given["definitions"] = {"GG.T": TableDef("GG.T", (Column("ID"),), ())}
    runner = Counting()
    run_ggfmt(files, tmp_path / "cut", split_size=100_000, start=lambda: nullcontext(runner), **given)
    run_ggfmt(files, tmp_path / "whole", split_size=10**8, **given)
    ordinals = Counter(ordinal for ordinal, _ in runner.read)
    assert len(ordinals) > 7
    assert set(ordinals.values()) == {1}
    cut, whole = (
        {name: value for name, value in snapshot(tmp_path / name).items() if "_ggfmt" not in name}
        for name in ("cut", "whole")
    )
    assert cut == whole


def test_a_preview_reads_over_the_end_of_its_window(tmp_path: Path) -> None:
    source = tmp_path / "in.json"
    source.write_bytes(one(1) + b"\n" + b" " * (FIRST_WINDOW_BYTES - 80) + b"\n" + pretty(2) + b"\n" + one(3) + b"\n")
    done = CliRunner().invoke(app, ["preview", str(source), "--set", "gg.handler.h.format=json", "-n", "9"])
    assert done.exit_code == 0, done.output
    assert [f'"ID":"{number}"' in done.output for number in range(1, 5)] == [True, True, True, False]


@pytest.mark.parametrize("rest", range(4))
def test_no_task_is_left_with_a_few_bytes(rest: int) -> None:
    file = InputFile(Location.of("in.json"), 4 * MIN_SPLIT_BYTES + rest, "in.json")
    assert len(Splits([PlannedInput(file, 0, Layout(splittable=True))], 4).all) == 4


def planned(index: int, size: int, splittable: bool = True) -> PlannedInput:
    return PlannedInput(InputFile(Location.of("in.json"), size, "in.json"), index, Layout(splittable))


@pytest.mark.parametrize("whole", [True, False])
def test_a_file_that_fills_a_split_leaves_nothing_of_the_next_one_to_it(whole: bool) -> None:
    splits = Splits([planned(0, 10, not whole), planned(1, 15)], 1, 10).all
    found = [[(part.input.index, part.start, part.length) for part in split.ranges] for split in splits]
    assert found == [[(0, 0, None if whole else 10)], [(1, 0, 10)], [(1, 10, 5)]]


def test_a_window_keeps_whole_the_files_that_a_record_crosses() -> None:
    window = Window(2, [planned(0, 100), planned(1, 100)].__getitem__)
    window.read_whole([1])
    assert [(part.input.index, part.length) for part in window.all[0].ranges] == [(0, 100), (1, None)]


def test_an_error_while_a_file_is_closed_stops_only_who_reads_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    class Unclosable(io.BytesIO):
        def close(self) -> None:
            super().close()
            raise OSError("it is not closed")

    monkeypatch.setattr("ggfmt.reading.splits.open_unchanged", lambda file, start, end: Unclosable(one(1)))
    file = InputFile(Location.of("in.json"), len(one(1)), "in.json")
    part = Splits([PlannedInput(file, 0, Layout(splittable=True))], 2).all[0].first
    reader = FORMATS["json"].read_support.by(DEFAULT_SETTINGS).reader
    head: Any = part.chunks(reader)
    assert next(head).data == one(1)
    head.close()
    with pytest.raises(Abend, match="it is not closed"):
        list(part.chunks(reader))
