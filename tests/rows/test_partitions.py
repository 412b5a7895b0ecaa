"""Debezium's records in dumps of the partitions of a topic: both halves of a key update are in different files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from kafka_dumps import kcat
from postgres_events import GONE, debezium, row
from round_cuts import read_outcomes
from runs import write_lines

import ggfmt

ONE = debezium(1, "c", None, row(1, "one", "large"), 2)
FIVE = debezium(2, "c", None, row(5, "five", "other"), 3)
LATER = [debezium(90 + number, "c", None, row(90 + number, "later"), 30) for number in range(2)]


@pytest.mark.parametrize(
    ("partitions", "rows", "reasons"),
    [
        pytest.param(
            [[ONE, debezium(20, "d", {"ID": "1"})], [debezium(20, "c", None, row(2, "one", GONE))]],
            {"2": "large"},
            set(),
            id="at the ends of files",
        ),
        pytest.param(
            [
                [ONE, debezium(20, "d", {"ID": "1"}), LATER[0]],
                [FIVE, debezium(20, "c", None, row(2, "one", GONE)), LATER[1]],
            ],
            {"5": "other", "90": "v", "91": "v"},
            {"unavailable"},
            id="in the middle of files",
        ),
        pytest.param(
            [
                [ONE, debezium(20, "d", {"ID": "1"}), debezium(22, "c", None, row(9, "five", GONE))],
                [FIVE, debezium(22, "d", {"ID": "5"}), LATER[1]],
            ],
            {"91": "v"},
            {"unavailable"},
            id="after the delete of another row",
        ),
        pytest.param(
            [
                [ONE, debezium(20, "d", {"ID": "1"}), LATER[0]],
                [FIVE, debezium(20, "c", None, row(2, "one", "whole")), LATER[1]],
            ],
            {"2": "whole", "5": "other", "90": "v", "91": "v"},
            set(),
            id="with all values",
        ),
    ],
)
def test_a_key_update_in_two_partitions(
    tmp_path: Path, partitions: list[list[dict[str, Any]]], rows: dict[str, str], reasons: set[str]
) -> None:
    """A value that the create does not show is never that of another row."""
    for number, records in enumerate(partitions):
        values = (json.dumps(record) for record in records)
        lines = [kcat(offset, None, value, partition=number) for offset, value in enumerate(values)]
        write_lines(tmp_path / f"in-{number}.json", lines)
    ggfmt.consolidate(sorted(tmp_path.glob("in-*.json")), tmp_path / "out", master="none", key="ID")
    found = read_outcomes(tmp_path / "out")["S.T"]
    assert {values["ID"]: values["V"] for values in map(dict, found.rows)} == rows
    assert {dict(item)["reason"] for item in found.unresolved} == reasons
