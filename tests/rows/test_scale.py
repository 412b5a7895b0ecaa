"""What a consolidation does for each table, and for each change of the columns of a table, does not grow with their
number."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from runs import count_calls, metadata, operation, write_lines

import ggfmt


def tables(count: int) -> Iterator[dict[str, Any]]:
    yield from (operation(number, f"S.T{number // 2}") for number in range(2 * count))


def changes(count: int) -> Iterator[dict[str, Any]]:
    """Every second definition has one column more."""
    for number in range(count):
        more = {"MORE": "string"} if number % 2 else {}
        yield metadata("S.T", ID="string", NAME="string", AMOUNT="string", **more)
        yield operation(2 * number, "S.T", "I", **more)
        yield operation(2 * number, "S.T", "U", NAME="another", **more)


@pytest.mark.parametrize("key", ["ID", None])
@pytest.mark.parametrize("lines", [tables, changes])
def test_the_work_grows_in_proportion(tmp_path: Path, lines: Any, key: str | None) -> None:
    def calls(count: int) -> int:
        def consolidate() -> None:
            ggfmt.consolidate(source, tmp_path / f"out-{count}", master="none", key=key)

        source = write_lines(tmp_path / f"{count}.json", lines(count))
        return count_calls(consolidate)

    _, few, more, most = map(calls, (2, 20, 60, 140))
    assert most - more < 2.1 * (more - few)
