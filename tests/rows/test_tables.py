"""The tables of an input, and the names of tables and columns in options."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from places import SHARED_DATA
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
        ({"key": "S.A=ID;S.OTHER=ID", "table": "S.A"}, []),  # which was not selected
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


# A definition that comes after the first rows

CASE = SHARED_DATA / "cases" / "records" / "definition-after-rows-maxwell.json"


def _row(number: int, **columns: Any) -> dict[str, Any]:
    return {"database": "d", "table": "t", "type": "insert", "ts": number, "data": {"id": number, **columns}}


def _defined(**types: str) -> dict[str, Any]:
    columns = [{"name": name, "type": type} for name, type in {"id": "int", **types}.items()]
    definition = {"database": "d", "table": "t", "columns": columns, "primary-key": ["id"]}
    return {"database": "d", "table": "t", "type": "table-alter", "ts": 1000, "old": definition, "def": definition}


@pytest.mark.parametrize(
    ("declared", "first", "second", "type"),
    [
        ("int", 1, 2, "bigint"),
        ("int", None, 2, "bigint"),
        ("int", 1.5, 2, "decimal(18,1)"),  # which was a decimal before
        ("double", 1, 2.5, "double"),
        ("decimal", 1.5, 2.25, "decimal(18,2)"),  # Maxwell does not say its precision
        ("varchar", 1, "b", "string"),
    ],
)
@pytest.mark.parametrize("rounds", [False, True])
def test_numbers_before_their_definition_have_its_type(
    tmp_path: Path, declared: str, first: Any, second: Any, type: str, rounds: bool
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    days = [[_row(1, n=first)], [_defined(n=declared), _row(2, n=second)]]
    if not rounds:
        days = [[record for day in days for record in day]]
    for number, day in enumerate(days):
        write_lines(folder / f"{number}.json", day)
        settings: dict[str, Any] = {"checkpoint": tmp_path / "seen", "settle": 0} if rounds else {}
        document = ggfmt.consolidate(folder, tmp_path / "out", key="id", master="none", **settings)
    columns = document["tables"]["d.t"]["columns"]
    assert columns == {"id": "bigint", "n": type}
    values = {row["id"]: row["n"] for row in _rows(tmp_path / "out" / "d.t")}
    own = str if type == "string" else float
    assert {key: None if value is None else own(value) for key, value in values.items()} == {
        1: None if first is None else own(first),
        2: own(second),
    }


@pytest.mark.skipif(not CASE.is_file(), reason="the cases are not there")
def test_a_definition_after_rows(tmp_path: Path) -> None:
    document = ggfmt.consolidate(CASE, tmp_path / "out", master="none")
    assert document["tables"]["d.t"]["columns"] == {"id": "bigint", "n": "decimal(18,2)", "x": "bigint"}


def _rows(directory: Path) -> list[dict[str, Any]]:
    return [row for file in directory.glob("*.parquet") for row in pq.read_table(file).to_pylist()]
