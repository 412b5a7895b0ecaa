"""Some of the fault matrix (`tests/tools/kills.py`): one kill of each kind of process, before and in the commit."""

from __future__ import annotations

import pytest
from kills import Case, Matrix, cases

pytestmark = pytest.mark.spark

# On a busy machine a signal may come later than at its point.
TRIED = (
    (Case("driver", "half", "KILL", "append"), {"nothing committed", "committed by the next run"}),
    (Case("worker", "first-split", "KILL", "overwrite"), {"done"}),
    (Case("all", "journal", "KILL", "overwrite"), {"nothing committed", "committed by the next run", "done"}),
)


@pytest.fixture(scope="module")
def matrix(tmp_path_factory: pytest.TempPathFactory) -> Matrix:
    return Matrix(tmp_path_factory.mktemp("kills"))


FIRST, *OTHERS = TRIED


@pytest.mark.parametrize(
    ("case", "endings"),
    [FIRST, *(pytest.param(*tried, marks=pytest.mark.long) for tried in OTHERS)],
    ids=map(str, range(len(TRIED))),
)
def test_a_killed_run_leaves_all_or_nothing(matrix: Matrix, case: Case, endings: set[str]) -> None:
    assert case in cases()
    how, _, came_of_it = matrix.try_case(case, "local[2]", None).partition(", ")
    assert how == "missed" or came_of_it in endings
