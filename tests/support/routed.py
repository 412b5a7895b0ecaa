"""Runs that divide records by table before they read them, and runs that do not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from ggfmt.formats.api.reading import Unroutable
from ggfmt.reading import routing, tasks


@contextmanager
def always_routed(**limits: int) -> Iterator[list[int]]:
    """Divide all records of inputs with several splits; yield the number of buckets of each run that could do so."""
    found: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"MIN_TABLES": 0, "MIN_OPERATIONS": 1 << 60, "BUCKET_BYTES": 2000, **limits}.items():
            patch.setattr(tasks if name == "SCATTERED_TABLES" else routing, name, value)

        def route(*given: Any, **named: Any) -> routing.RoutedSplits:
            made = routing.route(*given, **named)
            found.append(len(made.all))
            return made

        def check(splits: routing.RoutedSplits, tables: Any) -> None:
            try:
                whole(splits, tables)
            except Unroutable:
                found.clear()
                raise

        whole = routing.RoutedSplits.check
        patch.setattr(routing.RoutedSplits, "check", check)
        patch.setattr("ggfmt.reading.scan.route", route)
        yield found


def never_routed() -> Any:
    return always_routed(MIN_TABLES=1 << 30, SCATTERED_TABLES=1 << 30)
