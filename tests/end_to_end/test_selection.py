"""`--table` and `--exclude`: the records of other tables are counted, and do nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from runs import operation, write_lines

import ggfmt
from ggfmt.diagnostics.diagnostic import UsageError

NO_MESSAGE = b'{"table":"GG.BAD","op_type":"X"}'


@pytest.fixture
def changes(tmp_path: Path) -> Path:
    records: list[Any] = [operation(0), operation(1, "GG.OTHER"), operation(2, "S.TCUSTORD"), NO_MESSAGE]
    return write_lines(tmp_path / "in.json", records)


def tables_of(manifest: object) -> list[str]:
    assert isinstance(manifest, dict)
    return sorted({file["table"] for file in manifest["files"]})


def test_a_run_reads_the_selected_tables(changes: Path, tmp_path: Path) -> None:
    result = ggfmt.convert(changes, output=tmp_path / "out", to="json", master="none", table="tcustord")
    assert tables_of(result.manifest) == ["GG.TCUSTORD", "S.TCUSTORD"]
    assert result.totals["skipped_records"] == {"GG.BAD": 1, "GG.OTHER": 1}
    assert result.totals["operations_read"] == 2
    result = ggfmt.convert(
        changes, output=tmp_path / "other", to="json", master="none", table="GG.*", exclude=["BAD", "*ORD"]
    )
    assert tables_of(result.manifest) == ["GG.OTHER"]
    assert result.totals["skipped_records"] == {"GG.BAD": 1, "GG.TCUSTORD": 1, "S.TCUSTORD": 1}


@pytest.mark.parametrize("maps", [False, True])
def test_a_record_unlike_the_first_ones_is_not_left_out(maps: bool, tmp_path: Path) -> None:
    records = [operation(number) for number in range(10_000)]
    records[9_000]["after"] = {"NEW": "x", **records[9_000]["after"]}
    inputs = write_lines(tmp_path / "in.json", [*records, operation(10_000, "GG.OTHER")])
    (tmp_path / "r.prm").write_text("REPLICAT r\nMAP GG.TC*, TARGET GG.*;\n")
    given: Any = {"replicat": tmp_path / "r.prm"} if maps else {"table": "GG.TC*"}
    result = ggfmt.convert(inputs, output=tmp_path / "out", to="json", master="none", **given)
    (handler,) = result.totals["handlers"].values()
    assert handler["messages"] == len(records)


def test_rows_of_the_selected_tables(changes: Path, tmp_path: Path) -> None:
    manifest = ggfmt.consolidate(changes, tmp_path / "out", master="none", exclude=["GG.BAD", "S.*"])
    assert tables_of(manifest) == ["GG.OTHER", "GG.TCUSTORD"]
    assert manifest["skipped_records"] == {"GG.BAD": 1, "S.TCUSTORD": 1}
    again = ggfmt.consolidate(
        write_lines(tmp_path / "more.json", [operation(9)]),
        tmp_path / "later",
        master="none",
        base=tmp_path / "out",
        exclude="GG.O*",
        allow_empty=True,
    )
    assert tables_of(again) == ["GG.TCUSTORD"]


def test_schemas_and_previews_of_the_selected_tables(changes: Path) -> None:
    assert [file.name for file in ggfmt.schema(changes, table="GG.T*")] == ["GG.TCUSTORD.schema.json"]
    shown = ggfmt.preview(changes, to="json", exclude=["GG.*"])
    assert [table.table for handler in shown.handlers for table in handler.tables] == ["S.TCUSTORD"]


def test_a_pattern_without_a_table(changes: Path, tmp_path: Path) -> None:
    for run in (
        lambda: ggfmt.convert(changes, output=tmp_path / "o", to="json", master="none", table=["TCUSTORD", "NONE"]),
        lambda: ggfmt.consolidate(changes, tmp_path / "o", master="none", table=["TCUSTORD", "NONE"]),
        lambda: ggfmt.schema(changes, table=["TCUSTORD", "NONE"]),
    ):
        with pytest.raises(UsageError, match=r"GG315.*`table` names `NONE`"):
            run()
    with pytest.raises(UsageError, match=r"GG315.*`exclude` names `NONE`"):
        ggfmt.consolidate(changes, tmp_path / "o", master="none", table="TCUSTORD", exclude="NONE")
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize("rows", [False, True])
def test_a_checkpoint_keeps_its_selection(changes: Path, tmp_path: Path, rows: bool) -> None:
    out, seen = tmp_path / "out", tmp_path / "seen"

    def run(source: Path, table: str | None = None, exclude: str | None = None) -> None:
        if rows:
            ggfmt.consolidate(source, out, checkpoint=seen, master="none", table=table, exclude=exclude)
        else:
            ggfmt.convert(source, output=out, to="json", checkpoint=seen, master="none", table=table, exclude=exclude)

    run(changes, table="GG.TCUSTORD", exclude="LATER")
    more = write_lines(tmp_path / "more.json", [operation(5), operation(6, "GG.LATER")])
    for selection in ({}, {"table": "GG.TCUSTORD"}, {"table": "S.TCUSTORD", "exclude": "LATER"}):
        with pytest.raises(UsageError, match=r"GG513.*another selection of tables: --table 'GG.TCUSTORD' --exclude 'L"):
            run(more, **selection)
    run(more, exclude="LATER", table="GG.TCUSTORD")
    manifests = sorted((tmp_path / "out" / "_ggfmt").rglob("*.json"))
    documents = [json.loads(path.read_bytes()) for path in manifests]
    skipped = [document.get("totals", document).get("skipped_records", {}) for document in documents]
    assert {"GG.LATER": 1} in skipped
