"""One test for many cases: it checks all of them, and shows all that fail."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import pytest

T = TypeVar("T")


def check_each(cases: Iterable[T], check: Callable[[T], None]) -> None:
    """Check every case, and fail with all cases that do not hold; or if there are none."""
    every, failed = list(cases), []
    for case in every:
        try:
            check(case)
        except (Exception, pytest.fail.Exception) as error:
            failed.append(f"{case}: {error!r}")
    assert every, "there are no cases"
    assert not failed, "\n".join(failed)
