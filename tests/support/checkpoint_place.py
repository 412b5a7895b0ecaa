"""An input directory, an output and a checkpoint of repeated runs."""

from __future__ import annotations

import json
import os
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from runs import JSON_LINES, content, operation, run_ggfmt, snapshot, write_lines

from ggfmt.diagnostics.diagnostic import GgfmtError
from ggfmt.reading.runner import Runner

HOUR = 3600.0


class Place:
    """An input directory, an output and a checkpoint."""

    def __init__(self, top: Path) -> None:
        self.input, self.out, self.seen = top / "in", top / "out", top / "seen"
        self.input.mkdir()

    def write(self, name: str, *numbers: int, ago: float = HOUR) -> Path:
        path = self.input / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_lines(path, [operation(number) for number in numbers])
        os.utime(path, (time.time() - ago,) * 2)
        return path

    def run(self, *inputs: Path, **others: Any) -> None:
        run_ggfmt(inputs or [self.input], self.out, *JSON_LINES, **{"checkpoint": str(self.seen), **others})

    def refused(self, code: str, **others: Any) -> str:
        before = snapshot(self.out), snapshot(self.seen)
        with pytest.raises(GgfmtError, match=code) as caught:
            self.run(**others)
        assert (snapshot(self.out), snapshot(self.seen)) == before
        return str(caught.value)

    @property
    def numbers(self) -> list[int]:
        """The operations in the output, in the order of its files."""
        return [int(json.loads(line)["pos"]) for line in content(self.out, "j").splitlines()]


def no_runner() -> AbstractContextManager[Runner]:
    raise AssertionError("a runner was started")
