"""Small staged files become few: the order stays, no file grows too large, and none is left that need not be."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

from ggfmt.engine.output.join import JOIN_BYTES, MOST_JOINED_BYTES, Group, plan_groups
from ggfmt.engine.output.staging import StagedFile


def staged(table: str, split: int, sequence: int, size: int, definition: str = "") -> StagedFile:
    return StagedFile(
        "h", table, definition, split, sequence, f"{split}/{table}/{sequence}", size, 0, 1, "", None, None
    )


def sizes(groups: Sequence[Group], table: str) -> list[int]:
    return [sum(part.size for part in group.parts) for group in groups if group.parts[0].table == table]


SIZES = st.one_of(st.integers(1, 4 << 20), st.integers(1, JOIN_BYTES), st.integers(1, MOST_JOINED_BYTES * 2))


@examples(5)
@given(st.lists(SIZES, min_size=1, max_size=60))
def test_a_table_has_at_most_one_file_more_than_its_bytes_need(parts: list[int]) -> None:
    groups = plan_groups([staged("T", split, 0, size) for split, size in enumerate(parts)], lambda _: 1 << 30)
    assert [part.size for group in groups for part in group.parts] == parts
    assert len(groups) <= sum(parts) // JOIN_BYTES + 1
    assert all(len(group.parts) == 1 or sum(p.size for p in group.parts) <= MOST_JOINED_BYTES for group in groups)


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
