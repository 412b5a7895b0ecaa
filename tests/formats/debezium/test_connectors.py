"""What single connectors of Debezium do in a way of their own: cells, names, positions, deletes without an image."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from contract.debezium import MYSQL, ROW, SOURCE, event, field, wrapped
from dialects import lines, read, told

from ggfmt.model.table import Kind

NAME = "debezium_json"
CASSANDRA = {
    "connector": "cassandra", "ts_ms": 1600161894123, "db": "NULL", "cluster": "c1", "file": "CommitLog-6-1.log",
    "pos": 100, "keyspace": "ks", "table": "t",
}  # fmt: skip
SCYLLA = {"connector": "scylla", "ts_ms": 1600161894123, "keyspace_name": "ks", "table_name": "t"}
YUGABYTE = {"connector": "yugabytedb", "ts_ms": 1600161894123, "db": "yb", "schema": "s", "table": "t", "lsn": "1:2::"}
COCKROACH = {
    "origin": "cockroachdb", "changefeed_sink": "kafka", "cluster_name": "", "database_name": "shop",
    "schema_name": "public", "table_name": "products", "primary_keys": ["id"],
    "ts_hlc": "1745527444910044000.0000000000", "ts_ns": 1745527444910044000,
}  # fmt: skip
TICDC = {
    "connector": "TiCDC", "ts_ms": 1600161894123, "db": "d", "table": "t", "file": "", "pos": 0, "row": 0, "gtid": None,
    "commit_ts": 450000000000000001,
}  # fmt: skip
RANGE = {"_range_start": None, "_range_end": None}


def cell(value: Any, **others: Any) -> dict[str, Any]:
    return {"value": value, "set": True, **others}


def images(found: Any) -> list[tuple[str, Any, Any]]:
    return [(item.op, item.before, item.after) for item in found.plain]


def in_schema(**types: dict[str, Any]) -> Callable[[Any], Any]:
    """Make messages with a schema in which columns of these types are cells."""
    fields = [
        {
            "type": "struct", "optional": True, "name": "cell_value", "field": name,
            "fields": [{**type, "field": "value"}, field("deletion_ts", "int64"), field("set", "boolean")],
        }
        for name, type in types.items()
    ]  # fmt: skip
    return lambda payload: wrapped(payload, *fields, field("_range_start", "string"), field("_range_end", "string"))


@pytest.mark.parametrize("schema", [False, True])
def test_cells_of_cassandra(schema: bool) -> None:
    key, price = cell("a", deletion_ts=None), cell(123.456, deletion_ts=None)
    events = [
        event("i", None, {"k": key, "v": price, "w": cell(None, deletion_ts=7), **RANGE}),
        event("u", None, {"k": key, "v": None, "w": cell("x"), **RANGE}),
        event("d", None, {"k": key, "v": None, "w": None, **RANGE}),
        event("r", None, {"k": key, "w": cell(None, set=False), **RANGE}),
    ]
    make = in_schema(k=field("", "string"), v=field("", "double"), w=field("", "string"))
    data = lines(*(make(each) if schema else each for each in ({**event, "source": CASSANDRA} for event in events)))
    found = read(NAME, data)
    assert (found.reasons, images(found)) == (
        [],
        [
            ("I", None, {"k": "a", "v": "123.456", "w": None}),
            ("U", None, {"k": "a", "w": "x"}),
            ("D", {"k": "a"}, None),
            ("I", None, {"k": "a"}),
        ],
    )
    (table,) = {table for table, _ in found.operations}
    assert table.full_name == "ks.t"
    assert [column.name for column in table.columns] == ["k", "v", "w"]
    assert table.columns[1].type.kind is (Kind.DOUBLE if schema else Kind.DECIMAL)


@pytest.mark.parametrize(("start", "end"), [(cell(1), None), (None, {"method": "exclusive"})])
def test_a_delete_of_a_range_of_rows_is_a_reject(start: Any, end: Any) -> None:
    image = {"k": cell("a"), "_range_start": start, "_range_end": end}
    found = read(NAME, lines(event("d", None, image, source=CASSANDRA)))
    name = "_range_end" if start is None else "_range_start"
    assert found.reasons == [
        f"GG304 the record deletes a range of rows: `{name}` has a value, and ggfmt reads deletes of single rows"
    ]


def test_cells_of_scylla_are_those_beside_the_key() -> None:
    found = read(
        NAME,
        lines(
            event("c", None, {"id": 1, "v": {"value": "a"}, "w": None}, source=SCYLLA),
            event("u", None, {"id": 1, "v": {"value": None}, "w": None}, source=SCYLLA),
            event("d", {"id": 1, "v": None, "w": None}, source=SCYLLA),
        ),
    )
    assert (found.reasons, images(found)) == (
        [],
        [("I", None, {"id": "1", "v": "a"}), ("U", None, {"id": "1", "v": None}), ("D", {"id": "1"}, None)],
    )
    assert found.operations[0][0].full_name == "ks.t"


def test_cells_of_yugabytedb_are_in_all_columns_or_in_none() -> None:
    found = read(
        NAME,
        lines(
            event("c", None, {"id": cell(1), "a": cell("x"), "b": cell(True)}, source=YUGABYTE),
            event("u", None, {"id": cell(1), "a": cell(None), "b": None}, source=YUGABYTE),
            event("d", {"id": cell(1), "a": None, "b": None}, source=YUGABYTE),
            event("u", None, {"id": 1, "a": None, "b": False}, source=YUGABYTE),
        ),
    )
    assert (found.reasons, images(found)) == (
        [],
        [
            ("I", None, {"id": "1", "a": "x", "b": "true"}),
            ("U", None, {"id": "1", "a": None}),
            ("D", {"id": "1"}, None),
            ("U", None, {"id": "1", "a": None, "b": "false"}),
        ],
    )
    assert found.operations[0][1].pos == "1:2::"


@pytest.mark.parametrize("value", [{"text": 1}, {"set": True}, {"value": 1, "set": False}, {"value": 1, "more": 2}])
def test_an_object_that_is_no_cell_is_a_reject(value: Any) -> None:
    found = read(NAME, lines(event("c", None, {"id": cell(1), "v": value}, source=CASSANDRA)))
    assert found.reasons == ["GG308 a column is an object, but not a cell with a `value`"]
    assert found.rejects[0].diagnostic.span.field == "v"


def test_flattened_rows_have_cells_too() -> None:
    row = {"id": cell(1), "v": None, "__op": "i", "__source_connector": "cassandra", "__table": "t"}
    assert images(read(NAME, lines(row))) == [("I", None, {"id": "1"})]


def test_cockroachdb_has_names_times_and_keys_of_its_own() -> None:
    found = read(NAME, lines(event("c", None, ROW, source=COCKROACH)))
    table, item = found.operations[0]
    assert (table.full_name, item.op_ts, item.pos) == (
        "public.products", "2025-04-24 20:44:04.910044", "1745527444910044000.0000000000",
    )  # fmt: skip
    assert item.tokens["database_name"] == "shop"
    assert "primary_keys" not in item.tokens
    assert table.primary_keys == ("id",)
    full = read(NAME, lines(event("c", None, ROW, source=COCKROACH)), told(NAME, tableName="full"))
    assert full.operations[0][0].full_name == "shop.public.products"


@pytest.mark.parametrize("first", [TICDC, MYSQL])
def test_empty_members_make_no_position(first: dict[str, Any]) -> None:
    """`first` decides how the scanner takes the others."""
    sources = [
        first, TICDC, {**TICDC, "commit_ts": 450000000000000002}, {**MYSQL, "file": ""},
        {"connector": "oracle", "db": "d", "table": "t", "scn": "", "commit_scn": ""},
    ]  # fmt: skip
    found = read(NAME, lines(*(event("c", None, ROW, source=source) for source in sources)))
    assert [item.pos for item in found.plain][1:] == ["450000000000000001", "450000000000000002", None, None]


@pytest.mark.parametrize(
    ("source", "help"),
    [
        (SOURCE, "PostgreSQL sends the row of a delete according to the replica identity"),
        (COCKROACH, "the key of the message has the key of the deleted row"),
        (MYSQL, "configure the source system to write the row before the change"),
    ],
)
def test_help_for_a_delete_without_an_image_is_that_of_the_connector(source: dict[str, Any], help: str) -> None:
    found = read(NAME, lines(event("d", source=source)))
    assert found.reasons == ["GG307 a delete has no before image"]
    assert (found.rejects[0].diagnostic.help or "").startswith(help)
