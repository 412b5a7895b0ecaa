"""Records of systems that write values in other shapes, from the shared cases."""

from __future__ import annotations

from typing import Any

import pytest
from dialects import DATA, read

CASES: dict[str, tuple[str, list[tuple[str, str | None, Any]]]] = {
    "column-structs-cassandra": ("debezium_json", [("I", "CommitLog-6-1.log:100", {"k": "a", "v": "123.456"})]),
    "column-structs-yugabyte": (
        "debezium_json",
        [
            ("I", '[null,"1:1"]', {"id": "1", "v1": "a", "v2": "x"}),
            ("U", '[null,"1:2"]', {"id": "1", "v1": None}),
        ],
    ),
    "placeholder-uuid-array": (
        "debezium_json",
        [
            ("I", "1", {
                "id": "1", "n": "1", "ids": '["11111111-2222-3333-4444-555555555555"]', "nums": "[1,2]",
                "txts": '["a"]', "bigs": "[9]",
            }),
            ("U", "2", {"id": "1", "n": "2"}),
        ],
    ),
    "ticdc-debezium": (
        "debezium_json",
        [
            (op, f"45000000000000000{number}", {"id": "1", "v": text})
            for number, (op, text) in enumerate([("I", "a"), ("U", "b"), ("U", "a"), ("U", "b")], 1)
        ],
    ),
    "cockroachdb-enriched": (
        "debezium_json",
        [
            ("I", "1745527444910044000.0000000000", {"id": "1", "name": "mouse"}),
            ("U", "1745527444910045000.0000000000", {"id": "1", "name": "rat"}),
        ],
    ),
    "key-not-in-value": (
        "debezium_json",
        [("I", "1", {"id": "1", "v": "a"}), ("I", "2", {"id": "2", "v": "a"}), ("U", "3", {"id": "1", "v": "b"})],
    ),
    "null-left-out-maxwell": (
        "maxwell_json",
        [("I", None, {"id": "1", "a2": "x", "c": "2016"}), ("U", None, {"id": "1", "a2": None, "c": "2017"})],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_records_in_other_shapes(name: str) -> None:
    file = DATA / "cases" / "records" / f"{name}.json"
    if not file.exists():
        pytest.skip("the cases are not there")
    format, expected = CASES[name]
    found = read(format, file.read_bytes())
    assert [(item.op, item.pos, item.after) for item in found.plain] == expected
    without_key = name == "cockroachdb-enriched"
    assert found.reasons == ["GG307 a delete has no before image"] * without_key


@pytest.mark.skipif(not (DATA / "cases").is_dir(), reason="the cases are not there")
def test_an_object_as_a_part_of_the_position_is_refused() -> None:
    found = read("debezium_json", (DATA / "cases" / "records" / "position-is-object.json").read_bytes())
    assert found.plain == []
    assert [reason[:5] for reason in found.reasons] == ["GG308"]
