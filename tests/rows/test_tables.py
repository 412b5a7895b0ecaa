"""The tables of an input, and the names of tables and columns in options."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from runs import operation, write_lines

import ggfmt

LINES = [operation(1, "S.A"), operation(2, "S.B")]
UNKNOWN = "which is not in the data"


@pytest.mark.parametrize(
    ("options", "warnings"),
    [
        ({"key": "S.A=ID;B=ID"}, []),
        ({"key": "ID"}, []),
        ({"key": "S.AA=ID;B=ID"}, [f"`--key` names the table `S.AA`, {UNKNOWN}; did you mean `S.A`?"]),
        ({"key": "QQQ=ID"}, [f"`--key` names the table `QQQ`, {UNKNOWN}"]),
        ({"key": "S.A=ID;S.OTHER=ID", "table": "S.A"}, []),  # which nobody selected
        ({"key": "ID", "to": "delta", "partition_by": "NAME"}, []),
        (
            {"key": "ID", "to": "delta", "partition_by": "LACKS"},
            ["no table has all columns of `--partition-by`: `LACKS`"],
        ),
        (
            {"key": "ID", "to": "delta", "partition_by": "QQQ=NAME"},
            [f"`--partition-by` names the table `QQQ`, {UNKNOWN}"],
        ),
        ({"key": "ID", "sort_by": "NAME,LACKS"}, ["`--sort-by` names `LACKS`, which no table has as a column"]),
    ],
)
def test_names_in_options_that_match_nothing_are_warnings(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, options: dict[str, Any], warnings: list[str]
) -> None:
    path = write_lines(tmp_path / "in.json", LINES)
    ggfmt.consolidate(path, output=tmp_path / "rows", master="none", **options)
    assert [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING] == warnings


def test_tables_of_earlier_runs_are_known(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A list of keys names the tables of all days, and the files of a day have some of them."""
    changes = tmp_path / "changes"
    changes.mkdir()
    for name, line in zip("12", LINES, strict=True):
        write_lines(changes / f"{name}.json", [line])
        key = "S.A=ID" if name == "1" else "S.A=ID;S.B=ID"
        ggfmt.consolidate(changes, output=tmp_path / "rows", key=key, checkpoint=tmp_path / "seen", master="none")
    assert [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING] == []
