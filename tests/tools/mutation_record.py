"""A plugin of pytest that records which test executes which line of ggfmt; `mutation.py --record` loads it.

Every process of the tests writes a data file of coverage.py into the directory that `GGFMT_RECORD` names. Its contexts
are the ids of the tests. A second file has the seconds of processor time of each test.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import coverage
import pytest

DIRECTORY = "GGFMT_RECORD"


class Recorder:
    def __init__(self, directory: Path) -> None:
        self._seconds: dict[str, float] = {}
        self._file = directory / f"seconds.{os.getpid()}.json"
        self._coverage = coverage.Coverage(
            data_file=str(directory / "lines"), data_suffix=str(os.getpid()), config_file=False, source=["ggfmt"]
        )
        self._coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """What fixtures of several tests execute counts for the first of them."""
        self._coverage.switch_context(item.nodeid)
        before = sum(os.times()[:4])
        try:
            return (yield)
        finally:
            self._seconds[item.nodeid] = round(sum(os.times()[:4]) - before, 3)
            self._coverage.switch_context("")

    def pytest_sessionfinish(self) -> None:
        self._coverage.stop()
        self._coverage.save()
        self._file.write_text(json.dumps(self._seconds), encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Recorder(Path(os.environ[DIRECTORY])))
