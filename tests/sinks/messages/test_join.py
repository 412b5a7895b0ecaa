"""Small staged files become few: the order stays, no file grows too large, and none is left that need not be."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import operation, output_files, run_ggfmt, write_lines
from strategies import examples

from ggfmt.location import Location
from ggfmt.reading.tasks import StagedFile
from ggfmt.sinks.messages.join import JOIN_BYTES, MAX_JOINED_BYTES, Group, plan_groups, shares


def staged(table: str, split: int, sequence: int, size: int, definition: str = "") -> StagedFile:
    return StagedFile(
        "h",
        table,
        definition,
        split,
        sequence,
        Location.local(f"/{split}/{table}/{sequence}"),
        size,
        0,
        1,
        "",
        None,
        None,
    )


def sizes(groups: Sequence[Group], table: str) -> list[int]:
    return [sum(part.size for part in group.parts) for group in groups if group.parts[0].table == table]


SIZES = st.one_of(st.integers(1, 4 << 20), st.integers(1, JOIN_BYTES), st.integers(1, MAX_JOINED_BYTES * 2))


@examples(5)
@given(st.lists(SIZES, min_size=1, max_size=60))
def test_a_table_has_at_most_one_file_more_than_its_bytes_need(parts: list[int]) -> None:
    groups = plan_groups([staged("T", split, 0, size) for split, size in enumerate(parts)], lambda _: 1 << 30)
    assert [part.size for group in groups for part in group.parts] == parts
    assert len(groups) <= sum(parts) // JOIN_BYTES + 1
    assert all(len(group.parts) == 1 or sum(p.size for p in group.parts) <= MAX_JOINED_BYTES for group in groups)


@examples(5)
@given(st.lists(st.integers(1, 1 << 20), min_size=1, max_size=60), st.integers(1 << 20, 8 << 20))
def test_no_joined_file_is_larger_than_the_handler_allows(parts: list[int], most: int) -> None:
    groups = plan_groups([staged("T", split, 0, size) for split, size in enumerate(parts)], lambda _: most)
    of_table = sizes(groups, "T")
    assert sum(of_table) == sum(parts)
    assert max(of_table) <= most
    assert all(one + other > most for one, other in pairwise(of_table))


def test_two_hundred_tables_of_a_thousand_splits_are_two_hundred_files() -> None:
    files = [staged(f"T{table}", split, 0, 1000) for split in range(1000) for table in range(200)]
    groups = plan_groups(files, lambda _: 1 << 30)
    assert len(groups) == 200
    assert all([part.split for part in group.parts] == list(range(1000)) for group in groups)


def test_a_table_whose_splits_are_just_too_large_for_two_still_shares_files() -> None:
    groups = plan_groups([staged("T", split, 0, 9 << 20) for split in range(100)], lambda _: 1 << 30)
    assert len(groups) == 50


def test_files_of_two_definitions_are_not_joined() -> None:
    groups = plan_groups([staged("T", split, 0, 10, f"{split // 2}") for split in range(4)], lambda _: 1 << 30)
    assert [len(group.parts) for group in groups] == [2, 2]


@examples(5)
@given(st.lists(SIZES, min_size=1, max_size=60), st.integers(1, 12))
def test_shares_have_all_groups_in_order_and_none_is_far_larger_than_others(parts: list[int], count: int) -> None:
    groups = [Group((staged(f"T{number:02}", 0, 0, size),)) for number, size in enumerate(parts)]
    shared = shares(groups, count)
    assert [group for share in shared for group in share] == groups
    assert len(shared) <= count
    assert all(sum(group.size for group in share) <= sum(parts) / count + max(parts) for share in shared)


def test_tasks_join_to_the_files_that_this_side_joins_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = [operation(number, f"A.T{number % 7}") for number in range(200)]
    source = write_lines(tmp_path / "in.json", records)
    run_ggfmt([source], tmp_path / "here", split_size=1000)
    monkeypatch.setattr("ggfmt.sinks.messages.execution.JOIN_IN_TASKS_BYTES", 0)
    run_ggfmt([source], tmp_path / "tasks", split_size=1000)
    names = [
        path.relative_to(tmp_path / "here")
        for handler in ("j", "d")
        for path in output_files(tmp_path / "here", handler)
    ]
    assert len(names) == 14
    for name in names:
        assert (tmp_path / "tasks" / name).read_bytes() == (tmp_path / "here" / name).read_bytes()
