"""A bounded part of the fault matrix (`tests/kills.py`): one kill of each kind of process, before and in the commit."""

from __future__ import annotations

import pytest
from kills import Case, Matrix, cases

pytestmark = pytest.mark.spark

TRIED = (
    (Case("driver", "half", "KILL", "append"), "nothing committed"),
    (Case("worker", "first-split", "KILL", "overwrite"), "done"),
    (Case("all", "journal", "KILL", "overwrite"), "committed"),
)


@pytest.fixture(scope="module")
def matrix(tmp_path_factory: pytest.TempPathFactory) -> Matrix:
    return Matrix(tmp_path_factory.mktemp("kills"))


@pytest.mark.parametrize(("case", "ending"), TRIED, ids=map(str, range(len(TRIED))))
def test_a_killed_run_leaves_all_or_nothing(matrix: Matrix, case: Case, ending: str) -> None:
    assert case in cases()
    how, _, came_of_it = matrix.try_case(case, "local[2]", None).partition(", ")
    # Where the machine is too busy to look often enough, a run may be over before the signal is sent.
    assert came_of_it.startswith(ending) or how == "missed" or case.point == "journal"
