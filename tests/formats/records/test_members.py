"""Unknown members of other systems' records: passed over and counted, wherever they are."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from contract.canal import ROW, message
from dialects import Read, lines, read, told, written
from oracle import PlainColumn, PlainOperation, PlainTable
from strategies import Changes

from ggfmt.formats.records.members import MAX_LEARNED

TABLE = PlainTable("S.T", (PlainColumn("ID", "integer", 1), PlainColumn("NAME", "string", 0)))
AT = "2020-09-15 09:24:54.000000"
OPERATIONS = [
    PlainOperation("I", AT, "1", None, {"ID": "1", "NAME": "a"}, {}),
    PlainOperation("U", AT, "2", {"ID": "1", "NAME": "a"}, {"ID": "1", "NAME": "b"}, {}),
    PlainOperation("D", AT, "3", {"ID": "1", "NAME": "b"}, None, {}),
]
# By format and its options: the objects of a message whose members are known.
PLACES: list[tuple[str, dict[str, str], tuple[str, ...]]] = [
    ("canal_json", {}, ("",)),
    ("maxwell_json", {}, ("",)),
    ("debezium_json", {}, ("",)),
    ("debezium_json", {"schemasEnable": "true"}, ("", "payload")),
    ("cdl_json", {}, ("", "payload")),
    ("arcion_json", {}, ("", "tableName", "tableName.namespace")),
    ("qlik_json", {}, ("", "message", "message.headers")),
    ("shareplex_json", {}, ("", "meta")),
]


def changed(data: bytes, change: Callable[[dict[str, Any], int], None]) -> bytes:
    records = [json.loads(line) for line in data.splitlines()]
    for number, record in enumerate(records):
        change(record, number)
    return lines(*records)


def inside(record: dict[str, Any], place: str) -> dict[str, Any] | None:
    for name in filter(None, place.split(".")):
        record = record.get(name, {})
    return record or None


def meant(found: Read) -> list[Any]:
    return [found.operations, found.others, found.reasons]


@pytest.mark.parametrize(("name", "options", "places"), PLACES, ids=lambda value: str(value))
def test_unknown_members_are_counted_and_change_nothing(
    name: str, options: dict[str, str], places: tuple[str, ...]
) -> None:
    data = written(name, Changes(TABLE, OPERATIONS, False), **options)
    expected = read(name, data)
    assert len(expected.plain) == len(OPERATIONS)
    assert not expected.members
    for place in places:
        full = f"{place}.odd one" if place else "odd one"
        for odd, counted in (({0, 1, 2, 3}, 3), ({len(data.splitlines()) - 1}, 1)):

            def add(record: dict[str, Any], number: int, place: str = place, odd: set[int] = odd) -> None:
                target = inside(record, place)
                if number in odd and target is not None:
                    target["odd one"] = {"x": [1, {"y": None}]}

            other = changed(data, add)
            for size in (None, 200):
                found = read(name, other, size=size)
                assert meant(found) == meant(expected)
                assert found.members == {_shown(name, full): counted}


def _shown(name: str, full: str) -> str:
    """What is in a payload of Debezium's is named as if it stood alone."""
    return full.removeprefix("payload.") if name == "debezium_json" else full


def test_they_are_counted_beside_damaged_records_and_others() -> None:
    odd = message("INSERT", [ROW, ROW], odd=1)
    data = lines(odd) + b"{\n" + lines(message("CREATE", isDdl=True, odd=1), odd, message("INSERT", [ROW], other=2))
    found = read("canal_json", data)
    assert (len(found.plain), len(found.rejects), found.others) == (5, 1, {"ddl create": 1})
    assert found.members == {"odd": 4, "other": 1}


@pytest.mark.parametrize("name", ["a\nb", 'say "so"', "back\\slash"])
def test_a_name_may_hold_anything(name: str) -> None:
    found = read("canal_json", lines(*[message("INSERT", [ROW], **{name: 1, "plain": 2})] * 3))
    assert found.members == {name: 3, "plain": 3}
    assert len(found.plain) == 3


def test_there_may_be_more_names_than_a_class_is_made_for() -> None:
    count = 2 * MAX_LEARNED
    records = [message("INSERT", [ROW], **{f"m{i}": i, "every": None}) for i in range(count)]
    found = read("canal_json", lines(*records))
    assert len(found.plain) == count
    assert found.members == {"every": count, **{f"m{i}": 1 for i in range(count)}}


def test_columns_of_flattened_rows_are_no_unknown_members() -> None:
    found = read("debezium_json", lines({"__op": "c", "__table": "t", "id": 1, "odd": 2}), told("debezium_json"))
    assert [operation.after for operation in found.plain] == [{"id": "1", "odd": "2"}]
    assert not found.members
