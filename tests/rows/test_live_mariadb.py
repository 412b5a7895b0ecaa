"""Rows that follow a MariaDB equal it: its binary log in the records of Maxwell, Canal and Debezium."""

from __future__ import annotations

from pathlib import Path
from random import Random

import mariadb
import pytest
from live_mariadb import RECORDERS, prove

NO_SERVER = not mariadb.programs()


@pytest.mark.skipif(NO_SERVER, reason="no MariaDB that can be started")
@pytest.mark.parametrize("name", RECORDERS)
def test_rows_equal_the_database_after_each_round(name: str, tmp_path: Path) -> None:
    assert prove(RECORDERS[name], tmp_path, Random(name), rounds=2) == []


@pytest.mark.long
@pytest.mark.skipif(NO_SERVER, reason="no MariaDB that can be started")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", RECORDERS)
def test_many_rounds_with_killed_runs(name: str, seed: int, tmp_path: Path) -> None:
    image = "noblob" if seed % 2 and "debezium" not in name else "full"
    assert prove(RECORDERS[name], tmp_path, Random(seed), rounds=10, image=image, kills=0.3) == []
