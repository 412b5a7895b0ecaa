"""Columns in the keys of Kafka messages that the values lack: they belong to the rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from contract.debezium import ROW_FIELDS, SOURCE, event, field, wrapped
from contract.maxwell import message
from dialects import read
from scanners import without_kernels

from ggfmt.formats.api.format import Projection
from ggfmt.formats.records.routing import examined_one
from ggfmt.kernels import native
from ggfmt.model.table import Column, Kind, SqlType, TableDef

NAME = "debezium_json"
COCKROACH = {"origin": "cockroachdb", "schema_name": "s", "table_name": "t", "primary_keys": ["id"]}


def in_line(key: Any, value: Any) -> str:
    return f"{json.dumps(key)}\t{json.dumps(value)}"


def in_pair(key: Any, value: Any) -> str:
    return json.dumps({"key": key, "value": value})


def key_schema(**types: str) -> dict[str, Any]:
    return {"type": "struct", "name": "srv.Key", "fields": [field(name, type) for name, type in types.items()]}


Make = Callable[[Any, Any], str]
STORY = [
    (1, event("c", None, {"v": "a"})),
    (2, event("c", None, {"v": None})),
    (1, event("u", {"v": "a"}, {"v": "b"})),
    (2, event("d", {"v": None})),
    (1, event("d")),
]
IMAGES = [
    ("I", None, {"id": "1", "v": "a"}), ("I", None, {"id": "2", "v": None}),
    ("U", {"id": "1", "v": "a"}, {"id": "1", "v": "b"}), ("D", {"id": "2", "v": None}, None), ("D", {"id": "1"}, None),
]  # fmt: skip


def file(make: Make, messages: list[tuple[Any, Any]]) -> bytes:
    return "".join(f"{make(key, value)}\n" for key, value in messages).encode()


def images(found: Any) -> list[tuple[str, Any, Any]]:
    assert found.reasons == []
    return [(item.op, item.before, item.after) for item in found.plain]


@pytest.mark.parametrize("make", [in_line, in_pair])
@pytest.mark.parametrize("key_has_schema", [False, True])
@pytest.mark.parametrize("schema", [False, True])
def test_columns_of_the_key_are_in_the_rows(make: Make, key_has_schema: bool, schema: bool) -> None:
    def key(number: int) -> Any:
        return {"schema": key_schema(id="int32"), "payload": {"id": number}} if key_has_schema else {"id": number}

    data = file(
        make, [(key(id), wrapped(each, ROW_FIELDS[1] | {"field": "v"}) if schema else each) for id, each in STORY]
    )
    found = read(NAME, data)
    assert images(found) == IMAGES
    (table,) = {table for table, _ in found.operations}
    assert table.primary_keys == ("id",)
    assert table.column_names == ("id", "v")
    assert table.columns[0].type.kind is (Kind.INTEGER if schema else Kind.DECIMAL)
    for size in (200, 1000):
        assert read(NAME, data, size=size).operations == found.operations
    with without_kernels():
        assert read(NAME, data) == found


def test_flattened_rows_and_other_formats_have_them_too() -> None:
    rows = [({"id": 7}, {"v": "a", "__op": "c", "__table": "t"})]
    assert images(read(NAME, file(in_line, rows))) == [("I", None, {"id": "7", "v": "a"})]
    key = {"database": "shop", "table": "t", "pk.id": 7}
    data = file(in_line, [(key, message("insert", {"v": "a"})), (key, message("update", {"v": "b"}, old={"v": "a"}))])
    assert images(read("maxwell_json", data)) == [
        ("I", None, {"id": "7", "v": "a"}), ("U", {"id": "7", "v": "a"}, {"id": "7", "v": "b"}),
    ]  # fmt: skip


BARE = [
    (1, event("c", None, {"v": "a"})), (1, event("u", {"v": "a"}, {"v": "b"})),
    (2, event("u", None, {"v": None})), (1, event("d", {"v": "b"})),
]  # fmt: skip


@pytest.mark.parametrize("key_first", [True, False])
@pytest.mark.parametrize("row_only", [False, True])
def test_values_with_and_without_the_key_alternate(key_first: bool, row_only: bool) -> None:
    def row(id: int, image: Any) -> Any:
        return image and {"id": id, **image}

    full = [(id, {**each, "before": row(id, each["before"]), "after": row(id, each["after"])}) for id, each in BARE]
    pairs = [*full, *BARE, *full[:1], *BARE[:1]] if key_first else [*BARE, *full, *BARE]
    data = file(in_line, [({"id": id}, each) for id, each in pairs])
    known = file(in_line, [({"id": id}, {**each, "before": row(id, each["before"]), "after": row(id, each["after"])})
                           for id, each in pairs])  # fmt: skip
    projection = Projection(tokens=True, row_only=row_only, key_updates=row_only)
    expected = images(read(NAME, known, projection=projection))
    found = read(NAME, data, projection=projection)
    assert images(found) == expected and {table.column_names for table, _ in found.operations} == {("id", "v")}
    for size in (200, 700):
        assert images(read(NAME, data, size=size, projection=projection)) == expected
    with without_kernels():
        assert read(NAME, data, projection=projection) == found


def test_rows_of_one_message_stay_together() -> None:
    def canal(*rows: dict[str, Any]) -> dict[str, Any]:
        return {"type": "INSERT", "isDdl": False, "database": "shop", "table": "t", "es": 1, "id": 1, "data": [*rows]}

    a, b = {"id": "1", "v": "a"}, {"v": "b"}
    one = [({"id": "1"}, canal(a))] * 2
    data = file(in_line, [*one, ({"id": "1"}, canal(a, b)), ({"id": "2"}, canal({"v": "c"}))])
    found = read("canal_json", data)
    after = [a, a, a, {"id": "1", "v": "b"}, {"id": "2", "v": "c"}]
    assert images(found) == [("I", None, image) for image in after]
    with without_kernels():
        assert read("canal_json", data) == found


def test_values_with_their_key_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    full = [({"id": id}, event("c", None, {"id": id, "v": "a"})) for id in range(20)]
    examined = []

    def examine(*args: Any) -> Any:
        examined.append(args)
        return examined_one(*args)

    monkeypatch.setattr("ggfmt.formats.records.routing.examined_one", examine)
    assert len(images(read(NAME, file(in_line, full)))) == 20
    assert native is None or len(examined) <= 2


def test_a_decimal_key_is_read_as_its_schema_says() -> None:
    decimal = {**field("id", "bytes", "org.apache.kafka.connect.data.Decimal", scale="2")}
    key = {"schema": {**key_schema(), "fields": [decimal]}, "payload": {"id": "AMg="}}
    data = file(in_line, [(key, wrapped(event("c", None, {"name": "a"}), ROW_FIELDS[1]))])
    assert images(read(NAME, data)) == [("I", None, {"id": "2.00", "name": "a"})]


def test_a_router_adds_members_to_keys_that_are_no_columns() -> None:
    key = {"id": 1, "__dbz__physicalTableIdentifier": "srv.s.t"}
    assert images(read(NAME, file(in_line, [(key, event("c", None, {"id": 1}))]))) == [("I", None, {"id": "1"})]


def test_a_definition_from_the_user_decides_on_the_columns() -> None:
    trusted = {"public.t": TableDef("public.t", (Column("v", SqlType(Kind.STRING)),))}
    data = file(in_line, [({"id": 1}, event("c", None, {"v": "a"}))])
    assert images(read(NAME, data, trusted=trusted)) == [("I", None, {"v": "a"})]


@pytest.mark.parametrize("key", [{"id": 1}, [1]])
def test_a_delete_of_cockroachdb_has_the_key_of_its_message(key: Any) -> None:
    messages = [(key, event("c", None, {"id": 1, "v": "a"}, source=COCKROACH)), (key, event("d", source=COCKROACH))]
    found = read(NAME, file(in_line, messages))
    assert images(found) == [("I", None, {"id": "1", "v": "a"}), ("D", {"id": "1"}, None)]
    assert found.operations[0][0].primary_keys == ("id",)


@pytest.mark.parametrize("key", [None, "text", 7, [1, 2]])
def test_a_delete_without_an_image_needs_a_key_with_names(key: Any) -> None:
    found = read(NAME, file(in_line, [(key, event("d", source=COCKROACH)), (key, event("d", source=SOURCE))]))
    assert found.reasons == ["GG307 a delete has no before image"] * 2
