"""Discovery of definitions in GoldenGate JSON: what the data shows, however it is cut."""

from __future__ import annotations

import io
import json
import random
import time
from collections.abc import Mapping, Sequence
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from reading import JsonDiscovery, JsonReader
from strategies import examples, names

from ggfmt.formats.api.reading import Chunk, DiscoveryResult, Layout, SchemaChange
from ggfmt.formats.json.shapes import ColumnOrder
from ggfmt.model.table import STRING, Catalog, Column, Kind, SqlType, TableDef

NUMBER, BOOLEAN = SqlType(Kind.DECIMAL), SqlType(Kind.BOOLEAN)
NOTHING = Catalog()


def record(
    table: str, image: Mapping[str, object] | None, op: str = "I", more: Mapping[str, object] | None = None
) -> bytes:
    members = {"table": table, "op_type": op, **(more or {}), **({} if image is None else {"after": image})}
    return json.dumps(members).encode() + b"\n"


def metadata(table: str, **columns: str) -> bytes:
    about = {name: {"type": kind} for name, kind in columns.items()}
    return json.dumps({"qual_table": table, "op_type": "OBJECT_METADATA", "columns": about}).encode() + b"\n"


def split_up(data: bytes, cuts: Sequence[int], chunk: int) -> list[list[Chunk]]:
    """The file's chunks for each split that starts at one of the cuts."""
    layout = Layout(splittable=True)
    edges = [0, *sorted(cuts), len(data)]
    splits = []
    for start, end in pairwise(edges):
        whole = list(JsonReader.chunks(io.BytesIO(data), "f", start, end - start, layout))
        pieces = []
        for part in whole:
            lines = part.data.splitlines(keepends=True)
            offset = part.offset
            for at in range(0, len(lines), chunk):
                piece = b"".join(lines[at : at + chunk])
                pieces.append(Chunk("f", offset, piece, layout))
                offset += len(piece)
        splits.append(pieces)
    return splits


def one_pass(splits: Sequence[Sequence[Chunk]], catalog: Catalog, every_shape: bool) -> DiscoveryResult:
    findings = []
    for chunks in splits:
        discovery = JsonDiscovery(catalog, every_shape)
        for chunk in chunks:
            discovery.read(chunk)
        findings.append(discovery.findings())
    return JsonDiscovery.settle(findings, catalog, every_shape)


def discovered(data: bytes, catalog: Catalog = NOTHING, cuts: Sequence[int] = (), chunk: int = 1000) -> DiscoveryResult:
    """As the engine does it: one pass, and another over every list of columns if that leaves the order open."""
    splits = split_up(data, cuts, chunk)
    found = one_pass(splits, catalog, False)
    return found if found.complete else one_pass(splits, catalog, True)


def tables(found: DiscoveryResult) -> dict[str, TableDef]:
    assert len({table.full_name for table in found.tables}) == len(found.tables)
    return {table.full_name: table for table in found.tables}


VALUES: dict[str, list[object]] = {
    "number": [1, 2.5, -3e30, 10**40, None],
    "string": ["a", "", "1", None],
    "boolean": [True, False, None],
    "null": [None],
    "mixed": [1, "a", True, [1], {"a": 1}],
}
TYPES = {"number": NUMBER, "boolean": BOOLEAN, "string": STRING, "null": STRING}


@st.composite
def files(
    draw: st.DrawFn, agreeing: bool = True
) -> tuple[bytes, dict[str, list[str]], list[tuple[str, dict[str, object]]]]:
    """A file, the columns of its tables in table order, and its images, which may not be `agreeing` on that order."""
    order = {
        name: draw(st.lists(names, min_size=1, max_size=6, unique=True))
        for name in draw(st.sampled_from([["S.A"], ["S.A", "S.B"]]))
    }
    kinds = {column: draw(st.sampled_from(list(VALUES))) for columns in order.values() for column in columns}
    images = []
    data = b""
    for _ in range(draw(st.integers(1, 12))):
        table = draw(st.sampled_from(sorted(order)))
        subset = [column for column in order[table] if draw(st.integers(0, 3))]
        subset = subset if agreeing else draw(st.permutations(subset))
        image = {column: draw(st.sampled_from(VALUES[kinds[column]])) for column in subset}
        images.append((table, image))
        more: dict[str, object] = {"extra": 1} if draw(st.integers(0, 9)) == 0 else {}
        data += record(table, image, more=more)
        if draw(st.integers(0, 9)) == 0:
            data += draw(st.sampled_from([b"broken\n", b"null\n", b'{"op_type":"I"}\n', b"\n"]))
    return data, order, images


@examples(150)
@given(files(), st.data())
def test_columns_come_in_the_order_of_all_images_with_the_types_of_their_values(
    file: tuple[bytes, dict[str, list[str]], list[tuple[str, dict[str, object]]]], data: st.DataObject
) -> None:
    content, _, images = file
    cuts = data.draw(st.lists(st.integers(0, len(content)), max_size=3))
    found = tables(discovered(content, NOTHING, cuts, data.draw(st.integers(1, 5))))
    assert set(found) == {table for table, _ in images}
    for name, table in found.items():
        seen = [image for other, image in images if other == name]
        assert set(table.column_names) == {column for image in seen for column in image}
        for image in seen:
            assert list(image) == [column for column in table.column_names if column in image]
        for column in table.columns:
            values = {type_of(image[column.name]) for image in seen if column.name in image} - {"null"}
            assert column.type == (TYPES[values.pop()] if len(values) == 1 and values <= set(TYPES) else STRING)
            assert column.key == 0


def type_of(value: object) -> str:
    if value is None:
        return "null"
    names = {bool: "boolean", int: "number", float: "number", str: "string"}
    return names.get(type(value), "mixed")


@examples(200)
@given(st.one_of(files(), files(agreeing=False)), st.data())
def test_the_outcome_is_the_same_however_the_file_is_split(
    file: tuple[bytes, dict[str, list[str]], list[tuple[str, dict[str, object]]]], data: st.DataObject
) -> None:
    content, _, _ = file
    cuts = data.draw(st.lists(st.integers(0, len(content)), max_size=4))
    chunk = data.draw(st.integers(1, 6))
    assert discovered(content, NOTHING, cuts, chunk) == discovered(content)


def test_an_order_left_open_by_the_first_images_is_decided_by_every_shape() -> None:
    content = record("S.T", {"A": 1, "C": 1}) + record("S.T", {"B": 1, "C": 1}) + record("S.T", {"A": 1, "B": 1})
    for every_shape in (False, True):
        found = one_pass(split_up(content, [], 10), NOTHING, every_shape)
        assert tables(found)["S.T"].column_names == ("A", "B", "C")
        assert found.complete and found.sure


def test_the_order_of_columns_is_that_of_an_oracle() -> None:
    """Each pair counts unless it contradicts those before it."""
    for seed in range(300):
        draw = random.Random(seed)
        names = [f"C{number}" for number in range(draw.randint(2, 9))]
        pairs = [tuple(draw.sample(names, 2)) for _ in range(draw.randint(1, 40))]
        order = ColumnOrder()
        order.add((first, second) for first, second in pairs)
        after: dict[str, set[str]] = {name: set() for name in names}

        def follows(name: str, other: str, after: dict[str, set[str]] = after) -> bool:
            return any(step == other or follows(step, other) for step in after[name])

        for first, second in pairs:
            if not follows(second, first):
                after[first].add(second)
        found, sure = order.settle(names)
        expected: list[str] = []
        while len(expected) < len(names):
            left = [name for name in names if name not in expected]
            expected.append(next(name for name in left if not any(name in after[other] for other in left)))
        assert found == expected
        assert sure == all(second in after[first] for first, second in pairwise(expected))


def test_an_order_that_nothing_decides_is_that_of_first_appearance() -> None:
    content = record("S.T", {"C": 1}) + record("S.T", {"A": 1}) + record("S.T", {"B": 1})
    found = discovered(content)
    assert tables(found)["S.T"].column_names == ("C", "A", "B")
    assert not found.sure


def test_keys_are_those_that_the_records_name_in_the_order_of_the_key() -> None:
    content = record("S.T", {"A": 1, "B": 2, "C": 3}) + record("S.T", {"A": 1}, more={"primary_keys": ["C", "A"]})
    expected = TableDef("S.T", (Column("A", NUMBER, key=2), Column("B", NUMBER), Column("C", NUMBER, key=1)))
    for cut in range(len(content)):
        assert discovered(content, NOTHING, [cut]).tables == (expected,)


def test_both_images_tell_and_a_table_without_images_is_still_a_table() -> None:
    update = b'{"table":"S.T","op_type":"UPDATE","before":{"A":1,"B":"x"},"after":{"B":"y","C":true}}\n'
    found = tables(discovered(update + record("S.U", None, "T") + record("S.V", {}, "I")))
    assert found == {
        "S.T": TableDef("S.T", (Column("A", NUMBER), Column("B"), Column("C", BOOLEAN))),
        "S.U": TableDef("S.U"),
        "S.V": TableDef("S.V"),
    }


@pytest.mark.parametrize(
    "bad",
    [
        b"broken\n",
        b"[1]\n",
        b'{"table":"../../x","op_type":"I","after":{"A":1}}\n',
        b'{"table":7,"op_type":"I","after":{"A":1}}\n',
        b'{"table":"S.U","op_type":"UPSERT","after":{"A":1}}\n',
        b'{"table":"S.U","op_type":"I","after":{"A":"\xff"}}\n',
        b'{"op_type":"OBJECT_METADATA","qual_table":"S.U","columns":7}\n',
    ],
)
def test_records_that_will_be_rejected_define_nothing(bad: bytes) -> None:
    good = record("S.T", {"A": 1})
    for content in (bad + good, good + bad, good + bad + good):
        found = discovered(content)
        assert (found.tables, found.events) == ((TableDef("S.T", (Column("A", NUMBER),)),), ())


@example(['a"b', "back\\slash", "new\nline"])
@examples(30)
@given(st.lists(names, min_size=1, max_size=5, unique=True))
def test_any_name_can_be_that_of_a_column_or_of_an_unknown_member(columns: list[str]) -> None:
    image = dict.fromkeys(columns, "x")
    content = (
        record("S.T", image) + record("S.T", image, more={f"?{name}": 1 for name in columns}) + record("S.T", image)
    )
    assert discovered(content, chunk=1).tables == (TableDef("S.T", tuple(map(Column, columns))),)


# Metadata records


def changes_of(found: DiscoveryResult) -> list[tuple[int, TableDef]]:
    return [(event.offset, event.table) for event in found.events]


def test_metadata_records_are_events_at_their_places_and_repeated_ones_are_none() -> None:
    first, second = metadata("S.T", A="number"), metadata("S.T", A="number", B="boolean")
    before = record("S.T", {"OLD": "x"})
    content = before + first + record("S.T", {"A": 1}) + first + second + record("S.T", {"A": 1, "B": True}) + first
    one = TableDef("S.T", (Column("A", NUMBER),))
    two = TableDef("S.T", (Column("A", NUMBER), Column("B", BOOLEAN)))
    expected = [(len(before), one), (content.index(second), two), (content.rindex(first), one)]
    for cut in range(len(content)):
        found = discovered(content, NOTHING, [cut])
        assert changes_of(found) == expected
        assert found.tables == (TableDef("S.T", (Column("OLD"),)),)
        assert all(event == SchemaChange(event.table, event.input, event.offset) for event in found.events)


def test_what_images_hold_after_a_metadata_record_tells_nothing() -> None:
    content = metadata("S.T", A="string") + record("S.T", {"A": 1, "Z": 2}) + record("S.U", {"B": 1})
    found = discovered(content)
    assert found.tables == (TableDef("S.U", (Column("B", NUMBER),)),)
    assert changes_of(found) == [(0, TableDef("S.T", (Column("A"),)))]


def test_definitions_given_by_the_user_are_not_looked_for_and_keep_their_types() -> None:
    trusted = TableDef("S.T", (Column("A", SqlType(Kind.DATE), key=1),))
    content = record("S.T", {"A": 1, "Z": 2}) + metadata("S.T", B="number", A="number") + record("S.U", {"B": 1})
    found = discovered(content, Catalog({"S.T": trusted}))
    assert found.tables == (TableDef("S.U", (Column("B", NUMBER),)),)
    assert [table for _, table in changes_of(found)] == [TableDef("S.T", (Column("B", NUMBER), trusted.columns[0]))]


@examples(80)
@given(
    st.lists(
        st.one_of(
            st.sampled_from(["S.T", "S.U"]).map(
                lambda table: record(table, {"A": 1, "B": "x"}, more={"primary_keys": ["A"]})
            ),
            st.builds(
                lambda table, kind: metadata(table, A=kind),
                st.sampled_from(["S.T", "S.U"]),
                st.sampled_from(["string", "number"]),
            ),
        ),
        min_size=1,
        max_size=8,
    ),
    st.data(),
)
def test_metadata_events_are_the_same_however_the_file_is_split(lines: list[bytes], data: st.DataObject) -> None:
    content = b"".join(lines)
    cuts = data.draw(st.lists(st.integers(0, len(content)), max_size=3))
    assert discovered(content, NOTHING, cuts, data.draw(st.integers(1, 4))) == discovered(content)


def test_the_order_of_many_columns_takes_linear_time() -> None:
    columns = [f"C{number}" for number in range(20_000)]
    started = time.process_time()
    found = discovered(record("S.A", dict.fromkeys(columns, 1)) + record("S.A", dict.fromkeys(columns[::2], 1)))
    assert found.tables[0].column_names == tuple(columns)
    assert time.process_time() - started < 20  # half a second; what is quadratic takes minutes
