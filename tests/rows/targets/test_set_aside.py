"""A table that cannot go on is set aside: the other tables are committed, and a later run takes it up again."""

from __future__ import annotations

import gc
import json
import shutil
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import pytest
from command_line import call
from lake_tables import READERS, Died, Row, add_changes, change, consolidate, dies_at

from ggfmt.commit.records import is_of_rows
from ggfmt.diagnostics.diagnostic import GgfmtError, UsageError
from ggfmt.model.table import Column, Kind, SqlType, TableDef
from ggfmt.rows.targets.lake import LakeTarget
from ggfmt.sinks.messages.verification import verify

B = "GG.B"
ROUNDS = (
    [
        change("I", 1, after={"ID": "1", "N": "a"}),
        change("I", 2, B, after={"ID": "1", "N": "x", "A B": "old"}),
        change("I", 3, B, after={"ID": "2", "N": "y"}),
    ],
    [
        change("U", 4, B, before={"ID": "1"}, after={"ID": "1", "N": "x2"}),
        change("D", 5, B, before={"ID": "2"}),
        change("U", 6, B, before={"ID": "9"}, after={"ID": "10", "N": "moved"}),
        change("I", 7, after={"ID": "2", "N": "b"}),
    ],
    [
        change("I", 8, B, after={"ID": "2", "N": "again"}),
        change("U", 9, B, before={"ID": "1"}, after={"ID": "7"}),
        change("I", 10, after={"ID": "3", "N": "c"}),
    ],
)
TRUNCATED = (ROUNDS[0], [*ROUNDS[1], change("T", 8, B)], ROUNDS[2][1:])


def definitions(*names: str) -> dict[str, TableDef]:
    """Return a definition of `GG.B` with columns of texts."""
    columns = tuple(Column(name, SqlType(Kind.STRING), key=int(name == "ID")) for name in names)
    return {B: TableDef(B, columns)}


def read(directory: Path, to: str, table: str) -> list[Row]:
    """Return the rows of a table; of plain files, those that the manifest lists, sorted by their texts."""
    if to in READERS:
        return READERS[to](directory, table)
    files = json.loads((directory / "lake/_ggfmt/manifest.json").read_text(encoding="utf-8"))["files"]
    found = [
        parquet.read_table(directory / "lake" / each["path"]).to_pylist()
        for each in files
        if each["table"] == table and is_of_rows(each)
    ]
    return sorted(chain.from_iterable(found), key=str)


def outcome(directory: Path, to: str, manifest: dict[str, Any]) -> Any:
    """Return the rows of all tables, and what the manifest says of them."""
    said = {
        name: {what: table[what] for what in ("rows", "unresolved", "last_position", "key", "columns")}
        for name, table in manifest["tables"].items()
    }
    return {name: read(directory, to, name) for name in manifest["tables"]}, said


@pytest.mark.parametrize("rounds", [ROUNDS, TRUNCATED], ids=["changes", "truncate"])
def test_a_renamed_column_lets_the_table_go_on(tmp_path: Path, rounds: tuple[list[Row], ...]) -> None:
    good, bad = (definitions("ID", "N", name) for name in ("A_B", "A B"))
    wanted, directory = tmp_path / "wanted", tmp_path / "run"
    for each in (wanted, directory):
        each.mkdir()
    for number, lines in enumerate(rounds):
        for each in (wanted, directory):
            add_changes(each, str(number), lines)
        last = number == len(rounds) - 1
        given = {"definitions": good if last else bad, "drop_columns": True}
        expected = consolidate(wanted, "iceberg", **given)  # which allows blanks in names
        manifest = consolidate(directory, "delta", **given, on_table_error="set-aside")
        if not last:
            assert list(manifest["tables"]) == ["GG.A"]
            assert list(manifest["set_aside"]) == [B]
            assert "GG554" in manifest["set_aside"][B]["reason"]
            assert READERS["delta"](directory, "GG.A") == READERS["iceberg"](wanted, "GG.A")
            assert verify(str(directory / "lake")).findings == []
            assert manifest["set_aside"][B]["kept"] == sum(
                line["table"] == B for each in rounds[: number + 1] for line in each
            )
    assert manifest["set_aside"] == {}
    assert outcome(directory, "delta", manifest) == outcome(wanted, "iceberg", expected)
    assert not [entry for entry in manifest["files"] if "set_aside" in entry]


def test_columns_that_later_files_do_not_show_stay(tmp_path: Path) -> None:
    given: dict[str, Any] = {"on_table_error": "set-aside", "types": ["GG.B.*=string"]}
    add_changes(tmp_path, "1", [change("I", 1, B, after={"ID": "1", "N": "x", "M": "m"})])
    assert consolidate(tmp_path, "delta", partition_by="GG.B=NONE", **given)["set_aside"][B]["kept"] == 1
    add_changes(tmp_path, "2", [change("U", 2, B, before={"ID": "1"}, after={"ID": "1", "N": "y"})])
    consolidate(tmp_path, "delta", **given)
    assert READERS["delta"](tmp_path, B) == [{"ID": "1", "N": "y", "M": "m"}]


def damage(directory: Path, to: str) -> None:
    """Change `GG.B` as another program does."""
    if to == "delta":
        from deltalake import DeltaTable

        DeltaTable(str(directory / "lake" / B)).delete("N = 'y'")
        return
    from pyiceberg.catalog.sql import SqlCatalog

    SqlCatalog("default", uri=f"sqlite:///{directory}/lake/_catalog.db").load_table(B).delete("N == 'y'")


@pytest.mark.parametrize("to", READERS)
def test_a_foreign_commit_waits_until_it_is_accepted(tmp_path: Path, to: str) -> None:
    wanted, directory = tmp_path / "wanted", tmp_path / "run"
    rounds = [[line for line in lines if line["table"] != B or "A B" not in line.get("after", {})] for lines in ROUNDS]
    for number, lines in enumerate(rounds):
        for each in (wanted, directory):
            each.mkdir(exist_ok=True)
            add_changes(each, str(number), lines)
        expected = consolidate(wanted, to, on_foreign_commit="accept")
        choice = {"on_foreign_commit": "accept"} if number == 2 else {"on_table_error": "set-aside"}
        manifest = consolidate(directory, to, **choice)
        if number == 0:
            damage(wanted, to)
            damage(directory, to)
        if number == 1:
            assert "GG553" in manifest["set_aside"][B]["reason"]
            assert manifest["set_aside"][B]["kept"] == 3
            assert manifest["tables"][B]["round"] == 1
            assert read(directory, to, "GG.A") == READERS[to](wanted, "GG.A")
    assert outcome(directory, to, manifest) == outcome(wanted, to, expected)


@pytest.mark.parametrize("to", READERS)
def test_a_foreign_commit_during_a_run_is_set_aside_by_the_next(
    tmp_path: Path, to: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [change("I", 1, B, after={"ID": "2", "N": "y"}), change("I", 2, B, after={"ID": "1", "N": "x"})]
    add_changes(tmp_path, "1", [ROUNDS[0][0], *rows])
    consolidate(tmp_path, to, on_table_error="set-aside")
    add_changes(tmp_path, "2", [ROUNDS[1][-1], change("D", 3, B, before={"ID": "1"})])
    commit_table = LakeTarget._commit_table

    def committed(target: LakeTarget, result: Any, round: Any) -> int:
        if result.table.name == B:
            damage(tmp_path, to)
        return commit_table(target, result, round)

    with monkeypatch.context() as patch:
        patch.setattr(LakeTarget, "_commit_table", committed)
        with pytest.raises(GgfmtError, match="GG553"):
            consolidate(tmp_path, to, on_table_error="set-aside")
    manifest = consolidate(tmp_path, to, on_table_error="set-aside")
    assert manifest["set_aside"][B]["kept"] == 1
    assert READERS[to](tmp_path, "GG.A") == [{"ID": "1", "N": "a"}, {"ID": "2", "N": "b"}]
    add_changes(tmp_path, "3", [change("I", 4, B, after={"ID": "3", "N": "z"})])
    assert consolidate(tmp_path, to, on_foreign_commit="accept")["set_aside"] == {}
    assert READERS[to](tmp_path, B) == [{"ID": "3", "N": "z"}]


NO_NUMBER = [
    [change("I", 1, B, after={"ID": "1", "N": "5"}), change("I", 2, B, after={"ID": "3", "N": "7"})],
    [
        change("U", 3, B, before={"ID": "1"}, after={"ID": "2"}),  # so that operations connect keys
        change("I", 4, B, after={"ID": "1", "N": "no number"}),
        change("D", 5, B, before={"ID": "3"}),
        change("I", 6, after={"ID": "2", "N": "b"}),
    ],
    [change("U", 7, B, before={"ID": "1"}, after={"ID": "1", "N": "6"}), change("I", 8, after={"ID": "3", "N": "c"})],
]


@pytest.mark.parametrize("to", [*READERS, "parquet"])
@pytest.mark.parametrize("first", [0, 1])
def test_a_value_that_does_not_fit_sets_its_table_aside(tmp_path: Path, to: str, first: int) -> None:
    wanted, directory = tmp_path / "wanted", tmp_path / "run"
    given: dict[str, Any] = {"types": ["GG.B.N=bigint"], "on_table_error": "set-aside"}
    for number, lines in enumerate(NO_NUMBER[first:]):
        for each in (wanted, directory):
            each.mkdir(exist_ok=True)
            add_changes(each, str(number), lines)
        expected = consolidate(wanted, to, **given, on_unfit="null")
        manifest = consolidate(directory, to, **given, on_unfit="null" if lines is NO_NUMBER[2] else "error")
        if lines is NO_NUMBER[1]:
            assert "GG530" in manifest["set_aside"][B]["reason"]
            assert manifest["set_aside"][B]["kept"] == 3
            assert read(directory, to, "GG.A") == [{"ID": "2", "N": "b"}]
            assert verify(str(directory / "lake")).findings == []
            rows = [path for path in (directory / "lake" / B).rglob("*.parquet") if "_delta_log" not in path.parts]
            assert len(rows) == (1 - first)
    assert outcome(directory, to, manifest) == outcome(wanted, to, expected)
    assert manifest["set_aside"] == {}


def test_a_wrong_type_in_the_options_does_not_stay(tmp_path: Path) -> None:
    """Records that define no types, of a table that has rows, and of one that has none."""
    new = "GG.C"
    rounds = [
        [change("I", 1, B, after={"ID": "1", "N": "x"})],
        [change("I", 2, B, after={"ID": "2", "N": "7"}), change("I", 2, new, after={"ID": "1", "N": 1.5, "M": "m"})],
        [change("I", 3, B, after={"ID": "3", "N": "08"}), change("I", 3, new, after={"ID": "2", "N": 2, "M": "1"})],
        [change("I", 4, B, after={"ID": "4", "N": "y"}), change("I", 4, new, after={"ID": "3", "N": 3, "M": "n"})],
    ]
    wanted, directory = tmp_path / "wanted", tmp_path / "run"
    for number, lines in enumerate(rounds):
        for each in (wanted, directory):
            each.mkdir(exist_ok=True)
            add_changes(each, str(number), lines)
        wrong = ["GG.B.N=bigint", "GG.C.M=bigint"] if 0 < number < 3 else []
        expected = consolidate(wanted, "delta")
        manifest = consolidate(directory, "delta", types=wrong, on_table_error="set-aside")
        assert list(manifest["set_aside"]) == ([B, new] if wrong else [])
    assert outcome(directory, "delta", manifest) == outcome(wanted, "delta", expected)


def test_a_value_of_no_partition_sets_its_table_aside(tmp_path: Path) -> None:
    given: dict[str, Any] = {"partition_by": "GG.B=N", "on_table_error": "set-aside"}
    add_changes(tmp_path, "1", [ROUNDS[0][0], change("I", 2, B, after={"ID": "1", "N": ""})])
    manifest = consolidate(tmp_path, "delta", **given)
    assert "GG554" in manifest["set_aside"][B]["reason"] and list(manifest["tables"]) == ["GG.A"]
    add_changes(tmp_path, "2", [change("U", 3, B, before={"ID": "1"}, after={"ID": "1", "N": "x"})])
    assert consolidate(tmp_path, "delta", **given)["set_aside"] == {}
    assert READERS["delta"](tmp_path, B) == [{"ID": "1", "N": "x"}]


def test_a_run_that_dies_is_ended_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good, bad = (definitions("ID", "N", name) for name in ("A_B", "A B"))
    start, directory, wanted = (tmp_path / name for name in ("start", "run", "wanted"))
    for each in (directory, wanted):
        each.mkdir()
        for number, lines in enumerate(ROUNDS[:2]):
            add_changes(each, str(number), lines)
            if number == 0:
                consolidate(each, "delta", definitions=bad, on_table_error="set-aside")
    shutil.move(directory, start)
    with dies_at(monkeypatch, 1000) as steps:
        consolidate(wanted, "delta", definitions=bad, on_table_error="set-aside")
    add_changes(wanted, "2", ROUNDS[2])
    rows = outcome(wanted, "delta", consolidate(wanted, "delta", definitions=good))
    decisive = ("put", "table", "committed", "move", "delete _ggfmt/round.json", "rename", "exchange")
    chosen = [number for number, name in enumerate(steps) if name.startswith(decisive)]
    assert len(chosen) > 4
    for step in chosen:
        for then in ("again", "mended"):
            shutil.rmtree(directory, ignore_errors=True)
            shutil.copytree(start, directory)
            with dies_at(monkeypatch, step), suppress(Died):
                consolidate(directory, "delta", definitions=bad, on_table_error="set-aside")
            gc.collect()
            if then == "again":
                consolidate(directory, "delta", definitions=bad, on_table_error="set-aside")
                assert verify(str(directory / "lake")).findings == []
            add_changes(directory, "2", ROUNDS[2])
            manifest = consolidate(directory, "delta", definitions=good)
            assert outcome(directory, "delta", manifest) == rows, (steps[step], then)
            assert manifest["set_aside"] == {}


def test_the_next_run_with_files_takes_the_table_up(tmp_path: Path) -> None:
    bad = definitions("ID", "N", "A B")
    add_changes(tmp_path, "0", ROUNDS[0])
    first = consolidate(tmp_path, "delta", definitions=bad, on_table_error="set-aside")
    assert "GG.B set aside" in repr(first)
    assert consolidate(tmp_path, "delta", definitions=bad)["set_aside"] == first["set_aside"]  # no new files
    add_changes(tmp_path, "1", [ROUNDS[1][-1]])  # without operations of the table
    assert consolidate(tmp_path, "delta", on_table_error="set-aside")["set_aside"][B]["kept"] == 2
    add_changes(tmp_path, "2", [ROUNDS[2][-1]])
    assert consolidate(tmp_path, "delta", definitions=definitions("ID", "N"))["set_aside"] == {}
    assert READERS["delta"](tmp_path, B) == [{"ID": "1", "N": "x"}, {"ID": "2", "N": "y"}]


def test_net_changes_are_those_of_all_rounds_set_aside(tmp_path: Path) -> None:
    bad = definitions("ID", "N", "A B")
    for number, lines in enumerate(ROUNDS[:2]):
        add_changes(tmp_path, str(number), lines)
        consolidate(tmp_path, "delta", definitions=bad, on_table_error="set-aside", changes=True)
    add_changes(tmp_path, "2", [change("I", 8, B, after={"ID": "3", "N": "z"})])
    consolidate(tmp_path, "delta", definitions=definitions("ID", "N"), changes=True)
    found = {(row["_op"], row["ID"], row["N"], row["_round"]) for row in READERS["delta"](tmp_path, B)}
    assert {("I", "1", "x2", 3), ("I", "3", "z", 3)} <= found
    assert not any(key == "2" and op != "D" for op, key, _, _ in found)


def test_a_late_file_is_refused_as_after_a_merge(tmp_path: Path) -> None:
    given: dict[str, Any] = {"on_table_error": "set-aside", "definitions": definitions("ID", "N", "A B")}
    add_changes(tmp_path, "1", ROUNDS[1])
    consolidate(tmp_path, "delta", **given)
    add_changes(tmp_path, "2", ROUNDS[0][1:])
    with pytest.raises(UsageError, match=r"GG551.*before position"):
        consolidate(tmp_path, "delta", **given)


def of_one_row(position: int, name: str) -> Row:
    return change("U", position, B, before={"ID": "1"}, after={"ID": "1", "N": name})


@pytest.mark.parametrize("late", [[of_one_row(17, "late"), ROUNDS[1][2]], [ROUNDS[2][1], of_one_row(7, "late")]])
def test_an_operation_is_late_wherever_it_is_in_its_file(tmp_path: Path, late: list[Row]) -> None:
    """A table that is set aside refuses it, too: the next run would take it for a newer one."""
    add_changes(tmp_path, "0", [change("I", 1, B, after={"ID": "1", "N": "a"}), of_one_row(8, "b")])
    consolidate(tmp_path, "delta", definitions=definitions("ID", "N"))
    add_changes(tmp_path, "1", late)
    with pytest.raises(UsageError, match=r"GG551.*before position 0*8,"):
        consolidate(tmp_path, "delta", definitions=definitions("ID", "N", "A B"), on_table_error="set-aside")


@pytest.mark.parametrize(
    "highest", [change("I", 9, B, after={"ID": "2"}), change("T", 9, B)], ids=["insert", "truncate"]
)
def test_a_file_is_late_after_the_highest_position_set_aside(tmp_path: Path, highest: Row) -> None:
    add_changes(tmp_path, "0", [change("I", 1, B, after={"ID": "1", "N": "a"}), highest, of_one_row(7, "b")])
    aside = consolidate(tmp_path, "delta", definitions=definitions("ID", "N", "A B"), on_table_error="set-aside")
    assert aside["set_aside"][B]["last_position"] == f"{9:020d}"
    add_changes(tmp_path, "1", [of_one_row(8, "late")])
    with pytest.raises(UsageError, match=r"GG551.*before position 0*9,"):
        consolidate(tmp_path, "delta", definitions=definitions("ID", "N"))


def test_a_table_without_a_key_stops_the_run(tmp_path: Path) -> None:
    add_changes(tmp_path, "1", [change("I", 1, B, after={"A B": "1"}), ROUNDS[0][0]])
    with pytest.raises(UsageError, match="GG554"):
        consolidate(tmp_path, "delta", key="GG.A=ID", on_table_error="set-aside")


def test_the_exit_code_and_the_summary_say_so(tmp_path: Path) -> None:
    add_changes(tmp_path, "1", ROUNDS[0])
    given: list[str | Path] = [
        "consolidate",
        tmp_path / "changes",
        "-o",
        tmp_path / "lake",
        "--to",
        "delta",
        "--key",
        "ID",
    ]
    given += ["--master", "none", "--checkpoint", tmp_path / "seen", "--on-table-error"]
    assert call(*given, "stop").exit_code == 1
    ended = call(*given, "set-aside", "--log-level", "info")
    assert ended.exit_code == 4
    assert "GG.B: 2 operations set aside for the next run; the rows lack them" in ended.stderr
    assert "GG554" in ended.stderr


def test_tables_are_set_aside_only_for_a_next_run(tmp_path: Path) -> None:
    add_changes(tmp_path, "1", ROUNDS[0])
    with pytest.raises(UsageError, match=r"GG551.*only a run with `checkpoint`"):
        consolidate(tmp_path, "delta", checkpoint=None, on_table_error="set-aside")
    with pytest.raises(UsageError, match=r"GG551.*only a run with `checkpoint`"):
        consolidate(tmp_path, "parquet", checkpoint=None, on_table_error="set-aside")
