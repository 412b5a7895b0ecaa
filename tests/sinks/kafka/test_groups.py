"""Which operations become one message with `mode=tx`: a transaction, or a group as of GROUPTRANSOPS."""

from __future__ import annotations

import random
from itertools import groupby

import pyarrow as pa
import pytest

from ggfmt.arrow.arrays import non_null_values
from ggfmt.replicat.mapping import Replicat
from ggfmt.replicat.statements import ReplicatFile
from ggfmt.sinks.kafka.send import join_messages
from ggfmt.sinks.kafka.staging import SCHEMA, Grouping


def messages(transactions: list[str], grouping: Grouping, size: int) -> list[bytes]:
    """The messages of operations `0`, `1` and so on of these transactions, staged in batches of a size."""
    rows = [
        {"topic": "t", "value": b"%d," % number, "transaction": transaction}
        for number, transaction in enumerate(transactions)
    ]
    whole = pa.RecordBatch.from_pylist(rows, schema=SCHEMA)
    batches = [whole.slice(start, size) for start in range(0, len(rows), size)]
    return [value for batch in join_messages(batches, grouping) for value in non_null_values(batch["value"])]


def plain(transactions: list[str], least: int, most: int | None) -> list[bytes]:
    """The same, one whole transaction after the other."""
    found: list[list[int]] = []
    number = 0
    for _, same in groupby(transactions):
        count = len([*same])
        if not found or len(found[-1]) >= least:
            found.append([])
        for _ in range(count):
            if most is not None and len(found[-1]) >= most:
                found.append([])
            found[-1].append(number)
            number += 1
    return [b"".join(b"%d," % number for number in group) for group in found]


@pytest.mark.parametrize("seed", range(40))
def test_groups_have_whole_transactions(seed: int) -> None:
    choose = random.Random(seed)
    transactions = [f"x{number}" for number in range(12) for _ in range(choose.choice([1, 1, 2, 5, 30]))]
    least, most = choose.choice([(1, None), (1, 3), (4, None), (10, 10), (10, 25), (1000, None)])
    found = messages(transactions, Grouping(least, most), choose.choice([1, 3, 7, 1000]))
    assert found == plain(transactions, least, most)


def test_the_manual_s_example() -> None:
    transactions = ["a"] * 200 + ["b"] * 400 + ["c"] * 500 + ["d"]
    found = messages(transactions, Grouping(1000), 64)
    assert [each.count(b",") for each in found] == [1100, 1]


def test_a_parameter_file_groups_by_default() -> None:
    assert Replicat(ReplicatFile("r.prm")).group == (1000, None)
    assert Replicat(ReplicatFile("r.prm", group_operations=1, max_operations=9)).group == (1, 9)
