"""What is a key: numbers are one key if they are equal, whatever type the rows have, and NULL is no key."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from places import SHARED_DATA
from runs import write_lines

import ggfmt
from ggfmt.diagnostics.diagnostic import Abend, UsageError

Row = dict[str, Any]

CASES = SHARED_DATA / "cases/keys"
needs_cases = pytest.mark.skipif(not CASES.is_dir(), reason="shared data are missing")
SPELLINGS = ["1", "1.0", "1.00", "1E0", "+1", "01"]
TYPES = ["number", "number(10)", "number(30, 3)", "float(126)", "binary_double", "integer"]
CHOSEN = [{"*.ID": "string"}, {"*.ID": "decimal(38,2)"}, {"*.ID": "double"}]


def change(number: int, kind: str, **images: Row) -> Row:
    moment = f"2020-01-01 00:00:{number:02d}"
    return {"table": "S.T", "op_type": kind, "op_ts": moment, "pos": f"{number:020d}", "primary_keys": ["ID"], **images}


def spelled(spellings: list[str]) -> list[Row]:
    """An insert, updates and no delete of one row, each with another spelling of its key; and of another row."""
    lines = [change(0, "I", after={"ID": spellings[0], "V": "0"}), change(1, "I", after={"ID": "2", "V": "other"})]
    for number, (old, new) in enumerate(pairwise(spellings), 2):
        before, after = {"ID": old, "V": str(number - 1 if number > 2 else 0)}, {"ID": new, "V": str(number)}
        lines.append(change(number, "U", before=before, after=after))
    return lines


def consolidated(directory: Path, lines: list[Row], **settings: Any) -> tuple[Row, list[Row]]:
    """Return what the manifest has of the table, and its rows."""
    path = write_lines(directory / "in.json", lines)
    out = directory / "out"
    manifest = ggfmt.consolidate(path, out, **{"to": "parquet", "master": "none", "mode": "overwrite", **settings})
    files = sorted((out / "S.T").glob("*.parquet"))
    rows = [row for file in files for row in parquet.ParquetFile(file).read().to_pylist()]
    return manifest["tables"]["S.T"], sorted(rows, key=str)


def definitions(directory: Path, type: str) -> Path:
    (directory / "t.sql").write_text(f"create table S.T (ID {type} primary key, V varchar2(10));")
    return directory / "t.sql"


@pytest.mark.parametrize(
    ("type", "chosen"), [*((type, {}) for type in TYPES), *(("number(10)", chosen) for chosen in CHOSEN)]
)
def test_numbers_are_one_key_if_they_are_equal(tmp_path: Path, type: str, chosen: dict[str, str]) -> None:
    lines = spelled(SPELLINGS)
    settings = {"definitions": definitions(tmp_path, type), "types": chosen, "strict": True}
    table, rows = consolidated(tmp_path, lines, **settings)
    assert [float(row["ID"]) for row in rows] == [1, 2]
    assert [row["V"] for row in rows] == ["6", "other"]
    lines.append(change(30, "D", before={"ID": "1.000", "V": "6"}))
    table, rows = consolidated(tmp_path, lines, **settings)
    assert [row["V"] for row in rows] == ["other"]
    assert table["unresolved"] == 0


def test_texts_with_digits_are_texts(tmp_path: Path) -> None:
    lines = [change(n, "I", after={"ID": text, "V": "x"}) for n, text in enumerate(["1", "01", "1.0", ""])]
    _, rows = consolidated(tmp_path, lines, definitions=definitions(tmp_path, "varchar2(10)"), strict=True)
    assert [row["ID"] for row in rows] == ["", "01", "1", "1.0"]


def test_rows_without_a_key_keep_the_spelling_of_their_numbers(tmp_path: Path) -> None:
    lines = [{**change(n, "I", after={"ID": text}), "primary_keys": []} for n, text in enumerate(["1.50", "1.5"])]
    (tmp_path / "t.sql").write_text("create table S.T (ID number);")
    _, rows = consolidated(tmp_path, lines, definitions=tmp_path / "t.sql", strict=True)
    assert [row["ID"] for row in rows] == ["1.5", "1.50"]


@needs_cases
def test_numbers_of_json_are_one_key(tmp_path: Path) -> None:
    out, sql = tmp_path / "out", CASES / "number-spellings.sql"
    ggfmt.consolidate(CASES / "number-spellings.json", out, to="json", master="none", definitions=sql, strict=True)
    assert [json.loads(line) for line in (out / "S.T/part-00000.json").read_text().splitlines()] == [
        {"ID": "1", "V": "d"}
    ]


@pytest.mark.parametrize("size", [None, "1k"])
def test_later_runs_and_base_snapshots_find_a_number_in_another_spelling(tmp_path: Path, size: str | None) -> None:
    """Many rows, so that they are in several buckets: equal numbers are in the same one."""
    settings: Row = {"definitions": definitions(tmp_path, "number"), "strict": True, "file_size": size}
    first = [change(n % 59, "I", after={"ID": f"{n}.0", "V": "a"}) for n in range(500)]
    second = [change(59, "U", after={"ID": f"{n}E0", "V": "b"}) for n in range(0, 500, 2)]
    second += [change(59, "D", before={"ID": f"0{n}"}) for n in range(1, 500, 2)]
    for lines in (first, second):
        table, rows = merged(tmp_path, lines, **settings)
    assert (len(rows), {row["V"] for row in rows}) == (250, {"b"})
    consolidated(tmp_path, first, **settings)
    (tmp_path / "out").rename(tmp_path / "base")
    table, rows = consolidated(tmp_path, second, base=tmp_path / "base", **settings)
    assert (len(rows), {row["V"] for row in rows}, table["unresolved"]) == (250, {"b"}, 0)
    texts = pa.table({"ID": [f"{n}.00" for n in range(500)], "V": ["a"] * 500})
    (tmp_path / "dump/S.T").mkdir(parents=True)
    parquet.write_table(texts, tmp_path / "dump/S.T/part.parquet")
    table, rows = consolidated(tmp_path, second, base=tmp_path / "dump", **settings)
    assert (len(rows), {row["V"] for row in rows}, table["unresolved"]) == (250, {"b"}, 0)


def merged(directory: Path, lines: list[Row], **settings: Any) -> tuple[Row, list[Row]]:
    """Merge into the output `merged`."""
    inputs = directory / "changes"
    inputs.mkdir(exist_ok=True)
    write_lines(inputs / f"{len([*inputs.iterdir()])}.json", lines)
    out = directory / "merged"
    manifest = ggfmt.consolidate(inputs, out, to="parquet", checkpoint=directory / "seen", master="none", **settings)
    files = [out / entry["path"] for entry in manifest["files"] if "rows" in entry]
    return manifest["tables"]["S.T"], [row for file in files for row in parquet.ParquetFile(file).read().to_pylist()]


def test_rows_of_an_earlier_ggfmt_are_found_in_their_buckets(tmp_path: Path) -> None:
    """It put equal numbers in different spellings into different buckets."""
    settings: Row = {"definitions": definitions(tmp_path, "number"), "strict": True, "file_size": "1k"}
    merged(tmp_path, [change(n % 59, "I", after={"ID": f"{n}", "V": "a"}) for n in range(500)], **settings)
    path = tmp_path / "merged/_ggfmt/manifest.json"
    manifest = json.loads(path.read_text())
    assert manifest["tables"]["S.T"].pop("number_texts") == ["ID"]
    files = [entry for entry in manifest["files"] if "rows" in entry]
    assert len(files) > 2
    for one, other in zip(files[::2], files[1::2], strict=True):  # as if other hashes decided
        one["bucket"], other["bucket"] = other["bucket"], one["bucket"]
    path.write_text(json.dumps(manifest))
    _, rows = merged(tmp_path, [change(59, "D", before={"ID": f"{n}.0"}) for n in range(500)], **settings)
    assert rows == []


# NULL


NULLS = [("null-in-key", "S.T", 3, 0), ("null-in-message-key", "s.t", 1, 1)]


@needs_cases
@pytest.mark.parametrize(("name", "table", "lost", "left"), NULLS)
@pytest.mark.parametrize("settings", [{}, {"history": True}, {"changes": True}, {"keep": "unresolved"}], ids=str)
def test_null_is_no_key(tmp_path: Path, name: str, table: str, lost: int, left: int, settings: Row) -> None:
    path = CASES / f"{name}.json"
    manifest = ggfmt.consolidate(path, tmp_path / "out", to="json", master="none", **settings)
    assert (manifest["tables"][table]["unresolved"], manifest["tables"][table]["rows"]) == (lost, left)
    (unresolved,) = [entry for entry in manifest["files"] if "unresolved" in entry]
    assert unresolved["unresolved"] == lost
    with pytest.raises(Abend, match="GG570") as error:
        ggfmt.consolidate(path, tmp_path / "strict", to="json", master="none", strict=True, **settings)
    assert "no key" in str(error.value)
    assert not (tmp_path / "strict" / table).exists()


@pytest.mark.parametrize("key", ["A", "A,B"])
def test_null_and_missing_keys_of_each_operation(tmp_path: Path, key: str) -> None:
    """Each of these operations has no key, and changes no row."""
    whole: Row = {"A": "1", "B": "2", "V": "x"}
    broken: list[Row] = [{**whole, "A": None}, {name: value for name, value in whole.items() if name != "A"}]
    lines = [change(0, "I", after=whole)]
    for number, row in enumerate(broken):
        lines += [
            change(10 * number + 1, "I", after=row),
            change(10 * number + 2, "U", after=row),
            change(10 * number + 3, "D", before=row),
        ]
    lines.append(change(40, "U", before=whole, after={**whole, "A": None}))
    table, rows = consolidated(tmp_path, lines, key=key)
    assert (rows, table["unresolved"]) == ([whole], 7)


def test_a_before_image_with_nothing_but_null_in_the_key_does_not_show_it(tmp_path: Path) -> None:
    """Debezium writes NULL for columns that it does not know: also for a key that is not the one of the table."""
    lines = [
        change(0, "I", after={"A": "1", "B": "2", "V": "x"}),
        change(1, "U", before={"A": None, "B": None, "V": None}, after={"A": "1", "B": "2", "V": "y"}),
    ]
    table, rows = consolidated(tmp_path, lines, key="A,B", strict=True)
    assert rows == [{"A": "1", "B": "2", "V": "y"}]
    lines[1]["before"] = {"A": "1", "B": None, "V": None}  # another row, without a key
    table, rows = consolidated(tmp_path, lines, key="A,B")
    assert (rows, table["unresolved"]) == ([{"A": "1", "B": "2", "V": "x"}], 1)


@pytest.mark.parametrize("settings", [{}, {"changes": True}], ids=str)
def test_a_base_with_null_in_a_key_is_refused(tmp_path: Path, settings: Row) -> None:
    (tmp_path / "dump/S.T").mkdir(parents=True)
    parquet.write_table(pa.table({"ID": ["1", None], "V": ["a", "b"]}), tmp_path / "dump/S.T/part.parquet")
    with pytest.raises(UsageError, match="GG551") as error:
        consolidated(tmp_path, [change(1, "D", before={"ID": "1"})], base=tmp_path / "dump", **settings)
    assert "NULL" in str(error.value)
    assert not (tmp_path / "out/S.T").exists()
