"""Names of a row are unique, in each target: checked before anything is written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import pytest
from lake_tables import READERS, add_changes, change, consolidate
from places import SHARED_DATA
from runs import metadata, write_lines

import ggfmt
from ggfmt.diagnostics.diagnostic import UsageError

Row = dict[str, Any]

CASE = SHARED_DATA / "cases/names/added-columns.json"
KINDS: list[Row] = [{"keep": "deleted"}, {"keep": "unresolved"}, {"history": True}, {"changes": True}]


@pytest.mark.skipif(not CASE.is_file(), reason="shared data are missing")
@pytest.mark.example("GG558")
@pytest.mark.parametrize("to", ["json", "parquet"])
@pytest.mark.parametrize("settings", KINDS, ids=str)
def test_a_column_and_a_metadata_column_of_one_name(tmp_path: Path, to: Any, settings: Row) -> None:
    out = tmp_path / "out"
    with pytest.raises(UsageError, match=r"GG558.*has the name of a column") as error:
        ggfmt.consolidate(CASE, out, to=to, master="none", **settings)
    assert error.value.diagnostics[0].span.table == "S.T"
    assert not out.exists()
    manifest = ggfmt.consolidate(CASE, out, to=to, master="none", metadata_prefix="gg", **settings)
    marks = manifest["tables"]["S.T"]["marks"]
    assert marks and all(name.startswith("gg_") for name in marks)
    if to == "parquet":
        (file,) = (out / "S.T").iterdir()
        assert parquet.read_schema(file).names == ["ID", "_state", "_op", "_valid_from_ts", *marks]


@pytest.mark.parametrize("to", ["delta", "iceberg"])
def test_the_round_of_net_changes_is_a_metadata_column(tmp_path: Path, to: str) -> None:
    add_changes(tmp_path, "1", [change("I", 1, after={"ID": "1", "_round": "x"})])
    with pytest.raises(UsageError, match=r"GG558.*`_round`"):
        consolidate(tmp_path, to, changes=True)
    assert [path.name for path in tmp_path.iterdir()] == ["changes"]
    consolidate(tmp_path, to, changes=True, metadata_prefix="gg")
    add_changes(tmp_path, "2", [change("D", 2, before={"ID": "1", "_round": "x"})])
    with pytest.raises(UsageError, match=r"GG551.*prefix `gg`"):
        consolidate(tmp_path, to, changes=True, metadata_prefix="zz")
    consolidate(tmp_path, to, changes=True, metadata_prefix="gg")
    assert {(row["gg_op"], row["gg_round"]) for row in READERS[to](tmp_path, "GG.A")} == {("I", 1), ("D", 2)}


def test_metadata_columns_count_in_another_case_too(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "in.json", [change("I", 1, after={"ID": "1", "_OP": "3"})])
    settings: Row = {"to": "delta", "master": "none", "key": "ID", "changes": True}
    with pytest.raises(UsageError, match=r"GG558.*`_op`"):
        ggfmt.consolidate(path, tmp_path / "out", **settings)
    assert not (tmp_path / "out").exists()
    assert ggfmt.consolidate(path, tmp_path / "out", **{**settings, "to": "iceberg"})["tables"]["GG.A"]["rows"] == 1


def test_a_column_that_stays_in_the_table_counts(tmp_path: Path) -> None:
    add_changes(tmp_path, "1", [change("I", 1, after={"ID": "1", "N": "x"})])
    consolidate(tmp_path, "delta")
    renamed = [metadata("GG.A", ID="string", n="string"), change("I", 2, after={"ID": "2", "n": "y"})]
    add_changes(tmp_path, "2", renamed)
    with pytest.raises(UsageError, match=r"GG558.*`N` and `n`"):
        consolidate(tmp_path, "delta")
    assert READERS["delta"](tmp_path, "GG.A") == [{"ID": "1", "N": "x"}]


def test_a_table_with_such_a_column_is_set_aside(tmp_path: Path) -> None:
    add_changes(
        tmp_path, "1", [change("I", 1, after={"ID": "1", "_op": "x"}), change("I", 2, "GG.B", after={"ID": "1"})]
    )
    manifest = consolidate(tmp_path, "delta", changes=True, on_table_error="set-aside")
    assert (list(manifest["tables"]), list(manifest["set_aside"])) == (["GG.B"], ["GG.A"])
    assert "GG558" in manifest["set_aside"]["GG.A"]["reason"]


def test_a_base_and_former_columns_count_where_the_result_has_them(tmp_path: Path) -> None:
    base = tmp_path / "base/GG.A"
    base.mkdir(parents=True)
    write_lines(base / "part.json", [{"ID": "1", "_op": "x"}])
    path = write_lines(tmp_path / "in.json", [change("I", 1, after={"ID": "2"})])
    settings: Row = {"to": "json", "master": "none", "key": "ID"}
    with pytest.raises(UsageError, match="GG558"):
        ggfmt.consolidate(path, tmp_path / "out", **settings, base=tmp_path / "base", changes=True)
    ggfmt.consolidate(path, tmp_path / "out", **settings, base=tmp_path / "base")
    lines = [
        metadata("GG.A", ID="string", _op="string"),
        change("I", 1, after={"ID": "1", "_op": "x"}),
        metadata("GG.A", ID="string", N="string"),
        change("I", 2, after={"ID": "2", "N": "y"}),
    ]
    dropped = write_lines(tmp_path / "dropped.json", lines)
    ggfmt.consolidate(dropped, tmp_path / "changes", **settings, changes=True)
    rows = [json.loads(line) for line in (tmp_path / "changes/GG.A/part-00000.json").read_text().splitlines()]
    assert [sorted(row) for row in rows] == [["ID", "N", "_op"]] * 2
    with pytest.raises(UsageError, match="GG558"):
        ggfmt.consolidate(dropped, tmp_path / "history", **settings, history=True)
