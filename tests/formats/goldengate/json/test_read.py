"""The reader of GoldenGate JSON: nothing is lost, wherever a file is cut and however it is laid out."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import oracle
import pytest
from contract.json import as_written, line
from hypothesis import example, given
from hypothesis import strategies as st
from oracle import PlainOperation, PlainTable
from reading import JsonReader, chunk_size, layout_of, read, read_in_splits
from runs import JSON_LINES, content, metadata, operation, run_ggfmt, snapshot, write_lines
from strategies import Changes, changes, examples, json_numbers, make_batch, names, table_def, texts

from ggfmt.arrow.arrays import non_null_values
from ggfmt.columnar.metadata import Clock
from ggfmt.formats.api.format import Context, Projection
from ggfmt.formats.api.reading import Layout
from ggfmt.formats.goldengate.json import JsonOptions
from ggfmt.formats.goldengate.json.write import JsonFormatter
from ggfmt.model.table import Column, Kind, SqlType, TableDef

NOW = datetime(2024, 5, 1, 10, 0)
DELIMITERS = ["|", "#EOR#", ";\n", "\t~~\r\n"]
LAYOUTS = [
    "lines",
    "crlf",
    "concatenated",
    "pretty",
    "pretty, touching",
    "array",
    "pretty array",
    "braces alone",
    *DELIMITERS,
]

readable = changes(number=json_numbers)


def formatted(made: Changes, pretty: bool = False) -> list[bytes]:
    options = JsonOptions(pretty_print=pretty, include_primary_keys=True)
    formatter = JsonFormatter(table_def(made.table), options, Context(True), Clock(NOW))
    return [text.encode() for text in non_null_values(formatter.format(make_batch(made)))]


def braces_alone(record: bytes) -> bytes:
    """Every opening brace in a line of its own, at its start, as some printers have it."""
    return json.dumps(json.loads(record, parse_float=Digits, parse_int=Digits), cls=BracesAlone).encode()


class Digits(float):
    def __new__(cls, digits: str) -> Digits:
        made = super().__new__(cls, 0.0)
        made.digits = digits
        return made

    digits: str


class BracesAlone(json.JSONEncoder):
    def iterencode(self, o: Any, _one_shot: bool = False) -> Any:
        yield self.text(o)

    def text(self, value: Any) -> str:
        if isinstance(value, Digits):
            return value.digits
        if isinstance(value, dict):
            members = ",\n".join(f"{json.dumps(name)}:\n{self.text(item)}" for name, item in value.items())
            return f"{{\n{members}\n}}"
        if isinstance(value, list):
            return "[" + ", ".join(map(self.text, value)) + "]"
        return json.dumps(value)


def lay_out(made: Changes, layout: str) -> bytes:
    records = formatted(made, pretty=layout.startswith("pretty"))
    if layout in ("lines", "pretty"):
        return b"".join(record + b"\n" for record in records)
    if layout == "crlf":
        return b"".join(record + b"\r\n" for record in records)
    if layout in ("concatenated", "pretty, touching"):
        return b"".join(records)
    if layout in ("array", "pretty array"):
        return b"[\n" + b",\n".join(records) + b"\n]\n"
    if layout == "braces alone":
        return b"\n".join(map(braces_alone, records)) + b"\n"
    return b"".join(record + layout.encode() for record in records)


def tables(made: Changes) -> dict[str, TableDef]:
    return {made.table.name: table_def(made.table)}


# Round trips


@examples(100)
@given(readable, st.sampled_from(LAYOUTS), st.sampled_from([3, 7, 64, 300, 1 << 20]), st.booleans())
def test_what_was_written_is_read_back_in_every_layout_and_with_every_size_of_chunk(
    made: Changes, layout: str, size: int, mark: bool
) -> None:
    data = b"\xef\xbb\xbf" * mark + lay_out(made, layout)
    with chunk_size(max(size, len(data) // 40)):
        result = read(data, tables(made))
    assert result.plain == [as_written(item) for item in made.operations]
    assert sorted(result.operations) == list(range(len(made.operations)))
    assert not result.rejects
    assert not result.others
    assert not result.members


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_layout_is_recognised_from_one_record_and_from_many(layout: str) -> None:
    operation = PlainOperation("I", "t", "1", None, {"A": "x}{", "B": "1"}, {})
    table = PlainTable("S.T", (oracle.PlainColumn("A", "string"), oracle.PlainColumn("B", "integer")))
    for count in (1, 2, 5):
        made = Changes(table, [operation] * count, False)
        data = lay_out(made, layout)
        if layout in ("lines", "crlf"):
            assert layout_of(data) == Layout(splittable=True)
        elif layout != "concatenated":  # a single record is a line too
            delimiter = layout.strip().encode() if layout in DELIMITERS else b"," * ("array" in layout)
            assert layout_of(data) == Layout(False, delimiter, "array" in layout)
        assert read(data, tables(made)).plain == [as_written(operation)] * count


@examples(60)
@given(st.lists(readable, min_size=1, max_size=3), st.data())
def test_operations_of_many_tables_come_in_input_order_for_every_size_of_split(
    many: list[Changes], data: st.DataObject
) -> None:
    many = [replace(made, table=replace(made.table, name=f"S.T{i}")) for i, made in enumerate(many)]
    lines = [
        (record, as_written(op)) for made in many for record, op in zip(formatted(made), made.operations, strict=True)
    ]
    draw = random.Random(data.draw(st.integers(0, 1000)))
    draw.shuffle(lines)
    end = draw.choice([b"\n", b"\r\n", b"\n\n"])
    content = end.join(record for record, _ in lines) + end * draw.randint(0, 1)
    known = {name: table for made in many for name, table in tables(made).items()}
    size = data.draw(st.one_of(st.integers(20, 90), st.integers(90, 2000)))
    with chunk_size(data.draw(st.sampled_from([16, 200, 1 << 20]))):
        parts = [part.plain for part in read_in_splits(content, known, size)] if lines else []
        assert [op for part in parts for op in part] == [op for _, op in lines]
        assert read(content, known, replace(Projection(tokens=True), in_order=True)).plain == [op for _, op in lines]


def test_every_place_to_split_a_file_of_lines_gives_each_record_to_one_split() -> None:
    lines = [line(ID=number) for number in range(4)] + [b"broken", b"", b"null", line(ID=4), b"\xff"]
    content = b"\n".join(lines)
    for cut in range(len(content) + 1):
        parts = [read(content, KNOWN, ranges=[(0, cut)]), read(content, KNOWN, ranges=[(cut, len(content) - cut)])]
        assert [op.after for part in parts for op in part.plain] == [{"ID": str(number)} for number in range(5)]
        assert [reject.record for part in parts for reject in part.rejects.values()] == [b"broken", b"\xff"]
        assert sum(part.others.get("tombstone", 0) for part in parts) == 1


def shuffled(value: Any, draw: random.Random, images_too: bool = True) -> Any:
    """Members in another order. Those of images too: order means nothing to the reader, only to discovery."""
    if not isinstance(value, dict):
        return value
    items = [(name, shuffled(item, draw)) for name, item in value.items()]
    draw.shuffle(items)
    return dict(items)


@examples(50)
@given(readable, st.integers(0, 1000), st.sampled_from([(",", ":"), (" ,\t", " : ")]))
def test_members_may_come_in_any_order_with_any_blanks_and_escapes(
    made: Changes, seed: int, separators: tuple[str, str]
) -> None:
    draw = random.Random(seed)
    records = []
    for record in formatted(made):
        value = shuffled(json.loads(record, parse_float=Digits, parse_int=Digits), draw)
        text = rewritten(value, separators, draw.random() < 0.5)
        records.append(text.encode() + b"\n")
    assert read(b"".join(records), tables(made)).plain == [as_written(item) for item in made.operations]


def rewritten(value: Any, separators: tuple[str, str], ascii: bool) -> str:
    if isinstance(value, Digits):
        return value.digits
    if isinstance(value, dict):
        pairs = (
            json.dumps(name, ensure_ascii=ascii) + separators[1] + rewritten(item, separators, ascii)
            for name, item in value.items()
        )
        return "{" + separators[0].join(pairs) + "}"
    return json.dumps(value, ensure_ascii=ascii)


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["plain", "marked"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_goldengate_json_is_recognised_in_every_layout(layout: str, mark: bytes) -> None:
    made = Changes(PlainTable("S.T", ()), [PlainOperation("T", "t", "1", None, None, {})] * 3, False)
    for count in (1, 3):
        data = mark + lay_out(replace(made, operations=made.operations[:count]), layout)
        assert JsonReader.sniff(data) == "a record has `table` and `op_type`"
    large = b'{"table":"T","op_type":"I","after":{"N":0.2e309}}'
    assert JsonReader.sniff(large) == "a record has `table` and `op_type`"
    assert JsonReader.sniff(data.replace(b'"op_type"', b'"kind"')) is None


# What records may be


T = TableDef("S.T", (Column("ID", SqlType(Kind.DECIMAL), key=1), Column("NAME"), Column("FLAG", SqlType(Kind.BOOLEAN))))
KNOWN = {"S.T": T, "S.U": TableDef("S.U", (Column("A"),))}


@examples(60)
@given(st.lists(st.tuples(names, st.sampled_from(["1", '"x"', "null", "[1,\n2]", '{"a":{}}'])), max_size=5))
@example([('a"b', "1"), ("back\\slash", "2"), ("\n", "3")])
@example([("qual_table", '"S.U"')])
def test_members_that_the_format_does_not_know_are_counted_and_do_no_harm(members: list[tuple[str, str]]) -> None:
    members = [(name, value) for name, value in members if name not in ("table", "op_type", "op_ts", "pos", "after")]
    records = [line(ID=1)]
    for name, value in members:
        records.append(line(ID=2, more=f",{json.dumps(name)}:{value}"))
    records.append(line(ID=3))
    result = read(b"".join(records), KNOWN, layout=Layout(splittable=False))
    expected: dict[str, int] = {}
    for name, _ in members:
        if name not in ("current_ts", "primary_keys", "tokens", "before"):
            expected[name] = expected.get(name, 0) + 1
    assert result.members == expected
    assert [op.after for op in result.plain] == [{"ID": "1"}, *[{"ID": "2"}] * len(members), {"ID": "3"}]


@examples(80)
@given(st.lists(st.tuples(json_numbers, texts), max_size=6), st.booleans())
def test_numbers_in_text_columns_and_texts_in_numeric_columns_are_kept(
    rows: list[tuple[str, str]], numbers_first: bool
) -> None:
    records = []
    for number, text in rows:
        records.append(f'{{"table":"S.T","op_type":"I","after":{{"NAME":{number},"ID":{json.dumps(text)}}}}}\n')
    for number, text in rows:
        records.append(f'{{"table":"S.T","op_type":"I","after":{{"ID":{number},"NAME":{json.dumps(text)}}}}}\n')
    half = len(rows)
    expected = [{"NAME": n, "ID": t} for n, t in rows] + [{"ID": n, "NAME": t} for n, t in rows]
    if numbers_first:
        records, expected = records[half:] + records[:half], expected[half:] + expected[:half]
    assert [op.after for op in read("".join(records).encode(), KNOWN).plain] == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("17520.00", "17520.00"),
        ("-0", "-0"),
        ("1E+400", "1E+400"),
        ("9" * 400, "9" * 400),
        ("true", "true"),
        ("null", None),
        ('"null"', "null"),
        ('""', ""),
        ('"\\u0041\\n"', "A\n"),
        ('{"a":[1, 2]}', '{"a":[1, 2]}'),
        ('[1.50,"x"]', '[1.50,"x"]'),
    ],
)
@pytest.mark.parametrize("column", ["ID", "NAME", "FLAG"])
def test_a_value_of_any_json_type_is_kept_in_a_column_of_any_type(
    value: str, expected: str | None, column: str
) -> None:
    record = f'{{"table":"S.T","op_type":"I","after":{{"{column}":{value}}}}}\n'.encode()
    assert [op.after for op in read(record * 2, KNOWN).plain] == [{column: expected}] * 2
    unknown = record.replace(b'"op_type"', b'"extra":1,"op_type"')
    assert [op.after for op in read(unknown * 2, KNOWN).plain] == [{column: expected}] * 2


@pytest.mark.parametrize("op", ["I", "U", "D", "T"])
def test_operation_types_may_be_spelled_out_and_tables_called_qual_table(op: str) -> None:
    names = {"I": "INSERT", "U": "UPDATE", "D": "DELETE", "T": "TRUNCATE"}
    image = {"I": ',"after":{"A":"1"}', "U": ',"after":{"A":"1"}', "D": ',"before":{"A":"1"}', "T": ""}[op]
    short = f'{{"table":"S.U","op_type":"{op}"{image}}}\n'
    long = f'{{"qual_table":"S.U","op_type":"{names[op]}"{image}}}\n'
    result = read((short + long + short).encode(), KNOWN)
    assert len(result.plain) == 3
    assert result.plain[0] == result.plain[1] == result.plain[2]
    assert result.plain[0].op == op


@pytest.mark.parametrize(
    ("op", "images", "before", "after"),
    [
        ("U", '"before":{},"after":{"ID":1}', None, {"ID": "1"}),
        ("U", '"after":{"ID":1}', None, {"ID": "1"}),
        ("U", '"before":null,"after":{"ID":1}', None, {"ID": "1"}),
        ("I", '"before":{},"after":{"ID":1}', None, {"ID": "1"}),
        ("I", '"before":null,"after":{}', None, {}),
        ("D", '"before":{"ID":1},"after":{}', {"ID": "1"}, None),
        ("D", '"before":{},"after":null', {}, None),
        ("T", '"before":{},"after":{}', None, None),
        ("T", '"before":null,"after":null', None, None),
    ],
)
def test_images_may_be_absent_null_or_empty(op: str, images: str, before: Any, after: Any) -> None:
    record = f'{{"table":"S.T","op_type":"{op}",{images}}}\n'.encode()
    result = read(line(ID=9) + b"\n" + record + line(ID=9), KNOWN)
    assert [(item.before, item.after) for item in result.plain] == [
        (None, {"ID": "9"}),
        (before, after),
        (None, {"ID": "9"}),
    ]
    assert not result.rejects


def test_other_records_are_counted_and_metadata_records_change_the_table() -> None:
    metadata = (
        b'{"qual_table":"S.T","op_type":"OBJECT_METADATA",'
        b'"columns":{"NEW":{"type":"string"},"ID":{"type":"number","key":true}}}'
    )
    data = b"\n".join(
        [
            b"null",
            line(ID=1, NAME="x"),
            b'{"op_type":"STREAM_METADATA"}',
            metadata,
            metadata,
            line(ID=2, NEW="y"),
            b'{"op_type":"DDL","ddl":"drop table"}',
            line("S.U", A="z"),
            b'{"$schema":"http://json-schema.org/draft-04/schema#","title":"S.T"}',
        ]
    )
    result = read(data, {"S.U": KNOWN["S.U"]}, layout=Layout(True))
    changed = TableDef("S.T", (Column("NEW"), Column("ID", SqlType(Kind.DECIMAL), key=1)))
    assert [(event.table, event.offset) for event in result.definitions] == [(changed, data.index(metadata))]
    assert result.others == {"tombstone": 1, "stream metadata": 1, "object metadata": 2, "ddl": 1, "json schema": 1}
    assert [table for _, (table, _) in sorted(result.operations.items())] == [changed, KNOWN["S.U"]]
    assert list(result.rejects) == [1]
    assert result.records == 9


def test_the_stream_decides_which_columns_there_are_and_the_file_what_they_are() -> None:
    metadata = b'{"table":"S.T","op_type":"OBJECT_METADATA","columns":{"MORE":{},"ID":{"type":"string"}}}\n'
    result = read(line(ID=1, NAME="a") + b"\n" + metadata + line(ID=2, MORE="b"), KNOWN)
    assert [table for _, (table, _) in sorted(result.operations.items())] == [
        T,
        TableDef("S.T", (Column("MORE"), T.columns[0])),
    ]


def test_a_reader_may_hold_operations_of_rare_tables_back_but_gives_all_in_order() -> None:
    records = [
        line("S.U" if number % 50 == 0 else "S.T", **{"A" if number % 50 == 0 else "ID": str(number)})
        for number in range(6000)
    ]
    with chunk_size(10_000):
        result = read(b"\n".join(records), KNOWN)
        in_order = read(b"\n".join(records), KNOWN, Projection(in_order=True))
    assert sorted(result.operations) == list(range(6000))
    assert [next(iter((op.after or {}).values())) for op in result.plain] == [str(number) for number in range(6000)]
    assert len(result.batches) < 10 < len(in_order.batches)
    assert in_order.plain == result.plain
    for batch in in_order.batches:  # no operation is held back over the end of its chunk
        assert batch.ordinal[-1].as_py() - batch.ordinal[0].as_py() < 10_000 / len(records[0])


def test_many_tables_are_known_as_they_are_met(tmp_path: Path) -> None:
    """Also those with escapes in their names, those that come late, and values that look like metadata records."""
    names = [f"GG.T{number}" for number in range(306)] + ['GG."Q"', "GG.É", "GG.ÉÉ"]
    records = [operation(number, name) for number, name in enumerate(names * 2)]
    records[300]["after"]["NAME"] = "OBJECT_METADATA"
    records[9]["after"]["NAME"] = '"OBJECT_METADATA" "table":"GG.NONE"'
    changes = [metadata(name, ID="string", NAME="string", AMOUNT="number", MORE="string") for name in names[::3]]
    items = [*records[:400], *changes, *records[400:], operation(999, names[0], MORE="x")]
    lines = [json.dumps(item, ensure_ascii=number % 2 == 0).encode() for number, item in enumerate(items)]
    source = write_lines(tmp_path / "in.json", lines)
    result = run_ggfmt([source], tmp_path / "out", *JSON_LINES)
    assert (result.totals.read, result.totals.rejects) == (len(records) + 1, 0)
    assert result.totals.others == {"object metadata": len(changes)}
    found = map(json.loads, content(tmp_path / "out", "j").splitlines())
    assert sorted(int(item["pos"]) for item in found) == [*range(len(records)), 999]
    for split_size in (2_000, 20_000):
        run_ggfmt([source], tmp_path / f"{split_size}", *JSON_LINES, split_size=split_size)
        assert snapshot(tmp_path / f"{split_size}" / "j") == snapshot(tmp_path / "out" / "j")
