"""Tables of a lakehouse: what is written, what another program reads, and what is refused."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from lake_tables import READERS, Row, add_changes, change, consolidate, row_files
from runs import snapshot

import ggfmt
from ggfmt.diagnostics.diagnostic import GgfmtError, UsageError
from ggfmt.model.table import Column, Kind, SqlType, TableDef, split_name
from ggfmt.rows.targets import target
from ggfmt.sinks.messages.verification import verify

ROWS = [
    change("I", 1, after={"ID": "1", "N": "a"}),
    change("I", 2, after={"ID": "2", "N": "b"}),
    change("I", 3, "GG.B", after={"ID": "1", "N": "x"}),
]
FORMATS = tuple(READERS)
PRICE = "12345678901234567890.25"


def columns(*types: tuple[str, SqlType]) -> dict[str, TableDef]:
    """Return the definition of `GG.A` with the key `ID`."""
    return {"GG.A": TableDef("GG.A", tuple(Column(name, type, key=int(name == "ID")) for name, type in types))}


def foreign_append(directory: Path, to: str, row: Row) -> None:
    """Append a row to `GG.A` as another program does."""
    table = pa.Table.from_pylist([row], pa.schema([(name, pa.string()) for name in row]))
    if to == "delta":
        from deltalake import write_deltalake

        write_deltalake(str(directory / "lake" / "GG.A"), table, mode="append")
        return
    from pyiceberg.catalog.sql import SqlCatalog

    SqlCatalog("default", uri=f"sqlite:///{directory}/lake/_catalog.db").load_table("GG.A").append(table)


@pytest.mark.parametrize("to", FORMATS)
def test_polars_reads_the_rows(tmp_path: Path, to: str) -> None:
    types = (
        ("ID", SqlType(Kind.INTEGER)),
        ("PRICE", SqlType(Kind.DECIMAL, precision=30, scale=2)),
        ("RATE", SqlType(Kind.DOUBLE)),
        ("FLAG", SqlType(Kind.BOOLEAN)),
        ("NOTE", SqlType(Kind.STRING)),
    )
    lines = [
        change(
            "I", 1, after={"ID": "1", "PRICE": "12345678901234567890.25", "RATE": "0.5", "FLAG": "true", "NOTE": ""}
        ),
        change("I", 2, after={"ID": "-2", "PRICE": None, "RATE": "NaN", "FLAG": "false", "NOTE": "ä😀\n"}),
    ]
    add_changes(tmp_path, "1", lines)
    manifest = consolidate(tmp_path, to, definitions=columns(*types))
    add_changes(tmp_path, "2", [change("U", 3, before={"ID": "1"}, after={"ID": "1", "NOTE": "new"})])
    consolidate(tmp_path, to, definitions=columns(*types))
    assert manifest["tables"]["GG.A"]["rows"] == 2
    if to == "delta":
        path = str(tmp_path / "lake" / "GG.A")
        frame: Any = polars.read_delta(path).sort("ID")
        described = polars.scan_delta(path).collect_schema()
        assert described["PRICE"] == polars.Decimal(30, 2)
    else:
        from pyiceberg.catalog.sql import SqlCatalog

        table = SqlCatalog("default", uri=f"sqlite:///{tmp_path}/lake/_catalog.db").load_table("GG.A")
        frame = polars.DataFrame(table.scan().to_arrow()).sort("ID")
    assert frame["NOTE"].to_list() == ["ä😀\n", "new"]
    assert frame["PRICE"].to_list() == [None, Decimal(PRICE)]
    assert frame["FLAG"].to_list() == [False, True]


@pytest.mark.parametrize("to", FORMATS)
def test_the_manifest_says_to_which_point_in_time_a_version_belongs(tmp_path: Path, to: str) -> None:
    add_changes(tmp_path, "1", ROWS)
    first = consolidate(tmp_path, to)
    add_changes(tmp_path, "2", [change("D", 4, before={"ID": "1", "N": "a"})])
    second = consolidate(tmp_path, to)
    assert second["tables"]["GG.A"]["last_position"].endswith("4")
    assert second["tables"]["GG.B"] == first["tables"]["GG.B"]
    assert second["tables"]["GG.A"]["version"] != first["tables"]["GG.A"]["version"]
    assert second["lake"] == {"stream": first["lake"]["stream"], "round": 2}
    if to == "delta":
        from deltalake import DeltaTable

        table = DeltaTable(str(tmp_path / "lake" / "GG.A"), version=first["tables"]["GG.A"]["version"])
        assert table.to_pyarrow_table().num_rows == 2


@pytest.mark.example("GG553")
@pytest.mark.parametrize("to", FORMATS)
def test_a_foreign_commit_is_noticed(tmp_path: Path, to: str) -> None:
    add_changes(tmp_path, "1", ROWS)
    consolidate(tmp_path, to)
    foreign_append(tmp_path, to, {"ID": "7", "N": "foreign"})
    add_changes(
        tmp_path,
        "2",
        [change("U", 4, after={"ID": "1", "N": "c"}), change("I", 5, "GG.B", after={"ID": "5", "N": "y"})],
    )
    before = snapshot(tmp_path / "lake")
    with pytest.raises(UsageError, match=r"GG553.*was changed by another program"):
        consolidate(tmp_path, to)
    assert snapshot(tmp_path / "lake") == before
    manifest = consolidate(tmp_path, to, on_foreign_commit="accept")
    assert [row["N"] for row in READERS[to](tmp_path, "GG.A")] == ["c", "b", "foreign"]
    assert manifest["tables"]["GG.A"]["rows"] == 3
    add_changes(tmp_path, "3", [change("D", 6, before={"ID": "7", "N": "foreign"})])
    assert consolidate(tmp_path, to)["tables"]["GG.A"]["rows"] == 2


def roll_back(directory: Path, to: str, version: int, how: str) -> None:
    """Give `GG.A` the rows of the first run again. `version`: its version then; `how`: by copies of files, or by the
    format."""
    if how == "copy":
        shutil.rmtree(directory / "lake" / "GG.A")
        shutil.copytree(directory / "backup" / "GG.A", directory / "lake" / "GG.A")
        return
    if to == "delta":
        from deltalake import DeltaTable

        DeltaTable(str(directory / "lake" / "GG.A")).restore(version)
        return
    from pyiceberg.catalog.sql import SqlCatalog

    table = SqlCatalog("default", uri=f"sqlite:///{directory}/lake/_catalog.db").load_table("GG.A")
    table.manage_snapshots().rollback_to_snapshot(version).commit()


@pytest.mark.parametrize("foreign", [False, True])
@pytest.mark.parametrize(("to", "how"), [("delta", "copy"), ("delta", "format"), ("iceberg", "format")])
def test_a_table_without_the_rows_of_a_run_is_refused(tmp_path: Path, to: str, how: str, foreign: bool) -> None:
    add_changes(tmp_path, "1", ROWS)
    version = consolidate(tmp_path, to)["tables"]["GG.A"]["version"]
    shutil.copytree(tmp_path / "lake", tmp_path / "backup")
    add_changes(tmp_path, "2", [change("I", 4, after={"ID": "4", "N": "between"})])
    consolidate(tmp_path, to)
    shutil.copytree(tmp_path / "lake", tmp_path / "later")
    roll_back(tmp_path, to, version, how)
    if foreign:
        foreign_append(tmp_path, to, {"ID": "7", "N": "foreign"})
    add_changes(tmp_path, "3", [change("I", 5, after={"ID": "5", "N": "last"})])
    with pytest.raises(
        UsageError, match=r"GG553.*the rows of run 1 of this output, and the output has the rows of run 2"
    ):
        consolidate(tmp_path, to, on_foreign_commit="accept")
    shutil.rmtree(tmp_path / "lake")  # what the help says
    shutil.copytree(tmp_path / "later", tmp_path / "lake")
    consolidate(tmp_path, to)
    assert [row["ID"] for row in READERS[to](tmp_path, "GG.A")] == ["1", "2", "4", "5"]


@pytest.mark.parametrize("to", FORMATS)
@pytest.mark.parametrize("what", ["is missing", "was changed by another program, and its columns differ"])
def test_a_table_that_accept_cannot_continue(tmp_path: Path, to: str, what: str) -> None:
    add_changes(tmp_path, "1", ROWS)
    consolidate(tmp_path, to)
    if "missing" not in what:
        add_column(tmp_path, to)
    elif to == "delta":
        shutil.rmtree(tmp_path / "lake" / "GG.A")
    else:
        from pyiceberg.catalog.sql import SqlCatalog

        SqlCatalog("default", uri=f"sqlite:///{tmp_path}/lake/_catalog.db").drop_table("GG.A")
    add_changes(tmp_path, "2", [change("I", 4, after={"ID": "4", "N": "d"})])
    with pytest.raises(UsageError, match=f"GG553.*the table {what}"):
        consolidate(tmp_path, to, on_foreign_commit="accept")


def add_column(directory: Path, to: str) -> None:
    """Add a column to `GG.A` as another program does."""
    if to == "delta":
        from deltalake import DeltaTable, Field
        from deltalake.schema import PrimitiveType

        DeltaTable(str(directory / "lake" / "GG.A")).alter.add_columns([Field("X", PrimitiveType("string"))])
        return
    from pyiceberg.catalog.sql import SqlCatalog
    from pyiceberg.types import StringType

    table = SqlCatalog("default", uri=f"sqlite:///{directory}/lake/_catalog.db").load_table("GG.A")
    with table.update_schema() as update:
        update.add_column("X", StringType())


@pytest.mark.parametrize("to", ["parquet", *FORMATS])
@pytest.mark.parametrize("older", ["lake", "seen"])
def test_an_output_and_a_checkpoint_of_two_times(tmp_path: Path, to: str, older: str) -> None:
    """Both ways out that the message names work."""
    add_changes(tmp_path, "1", ROWS)
    consolidate(tmp_path, to)
    shutil.copytree(tmp_path / older, tmp_path / "backup")
    time.sleep(1.1)  # runs are named by their seconds
    add_changes(tmp_path, "2", [change("I", 4, after={"ID": "4", "N": "d"})])
    rows = consolidate(tmp_path, to)["tables"]["GG.A"]["rows"]
    (tmp_path / older).rename(tmp_path / "later")
    (tmp_path / "backup").rename(tmp_path / older)
    what = "the checkpoint is older than `.*lake`" if older == "seen" else "lake` is older than the checkpoint"
    with pytest.raises(UsageError, match=f"GG513.*{what}"):
        consolidate(tmp_path, to)
    again = consolidate(tmp_path, to, output=tmp_path / "other", checkpoint=tmp_path / "seen again")
    assert again["tables"]["GG.A"]["rows"] == rows
    shutil.rmtree(tmp_path / older)
    (tmp_path / "later").rename(tmp_path / older)
    add_changes(tmp_path, "3", [change("I", 5, after={"ID": "5", "N": "e"})])
    assert consolidate(tmp_path, to)["tables"]["GG.A"]["rows"] == rows + 1


def test_delta_refuses_other_names_of_columns_in_files(tmp_path: Path) -> None:
    """The library makes such tables, and reads their columns as NULL."""
    add_changes(tmp_path, "1", ROWS)
    with pytest.raises(UsageError, match=r"GG554.*delta\.columnMapping\.mode"):
        consolidate(tmp_path, "delta", table_options={"delta.columnMapping.mode": "name"})
    assert not (tmp_path / "lake" / "GG.A").exists()


@pytest.mark.parametrize("to", FORMATS)
def test_tables_that_are_there_are_refused_or_replaced(tmp_path: Path, to: str) -> None:
    add_changes(tmp_path, "1", ROWS)
    consolidate(tmp_path, to, checkpoint=None)
    with pytest.raises(UsageError, match=r"GG501.*the output already has tables"):
        consolidate(tmp_path, to, checkpoint=None)
    add_changes(tmp_path, "1", [change("I", 1, after={"ID": "5", "M": "1"})])
    manifest = consolidate(tmp_path, to, checkpoint=None, mode="overwrite", types={"*.M": "bigint"})
    assert READERS[to](tmp_path, "GG.A") == [{"ID": "5", "M": 1}]
    assert READERS[to](tmp_path, "GG.B") == [{"ID": "1", "N": "x"}]  # the input has no operations of it
    assert {name: table["rows"] for name, table in manifest["tables"].items()} == {"GG.A": 1, "GG.B": 1}
    with pytest.raises(UsageError, match=r"GG501.*rows of another format"):
        consolidate(tmp_path, FORMATS[to == FORMATS[0]], checkpoint=None, mode="overwrite")


@pytest.mark.parametrize("to", FORMATS)
def test_a_history_has_all_versions_and_net_changes_grow(tmp_path: Path, to: str) -> None:
    add_changes(tmp_path, "1", [*ROWS, change("U", 4, before={"ID": "1"}, after={"ID": "1", "N": "c"})])
    consolidate(tmp_path, to, checkpoint=None, history=True)
    rows = READERS[to](tmp_path, "GG.A")
    assert sorted((row["ID"], row["N"], row["_valid_to_position"] is None) for row in rows) == [
        ("1", "a", False),
        ("1", "c", True),
        ("2", "b", True),
    ]
    with pytest.raises(UsageError, match=r"GG551.*not a history"):
        consolidate(tmp_path, to, history=True)
    other = tmp_path / "changes of it"
    other.mkdir()
    add_changes(other, "1", ROWS)
    consolidate(other, to, changes=True)
    add_changes(other, "2", [change("D", 4, before={"ID": "1", "N": "a"})])
    manifest = consolidate(other, to, changes=True)
    found = [(row["ID"], row["_op"], row["_round"]) for row in READERS[to](other, "GG.A")]
    assert found == [("1", "D", 2), ("1", "I", 1), ("2", "I", 1)]
    assert manifest["tables"]["GG.A"]["rows"] == 3
    add_changes(other, "3", [change("I", 5, after={"ID": "5", "N": "a"})])
    with pytest.raises(UsageError, match=r"GG551.*of the kind `changes`"):
        consolidate(other, to)


@pytest.mark.parametrize("to", FORMATS)
def test_names_of_tables_and_columns_are_hostile(tmp_path: Path, to: str) -> None:
    column = "%41'~" if to == "delta" else "a b%41'\"~"
    names = ['"x.y"."a b%c/d"', "ÄÖ.ß'q", "_under", "NONE", "x" * 190]
    add_changes(tmp_path, "1", [change("I", 1, name, after={"ID": "1", column: name}) for name in names])
    consolidate(tmp_path, to)
    add_changes(tmp_path, "2", [change("U", 2, name, after={"ID": "1", column: "new"}) for name in names])
    consolidate(tmp_path, to)
    tables = sorted(path.name for path in (tmp_path / "lake").iterdir() if not path.name.startswith("_"))
    assert len(tables) == len(names)
    if to == "delta":
        assert all(READERS[to](tmp_path, table) == [{"ID": "1", column: "new"}] for table in tables)
        return
    from pyiceberg.catalog.sql import SqlCatalog

    catalog = SqlCatalog("default", uri=f"sqlite:///{tmp_path}/lake/_catalog.db")
    parts = [split_name(name) for name in names]
    found = [catalog.load_table(part if len(part) > 1 else ("default", *part)) for part in parts]
    assert [table.scan().to_arrow().to_pylist() for table in found] == [[{"ID": "1", column: "new"}]] * len(names)


@pytest.mark.parametrize("to", FORMATS)
def test_verify_reads_back_what_the_manifest_lists(tmp_path: Path, to: str) -> None:
    add_changes(tmp_path, "1", ROWS)
    consolidate(tmp_path, to)
    add_changes(tmp_path, "2", [change("D", 4, before={"ID": "1", "N": "a"})])
    manifest = consolidate(tmp_path, to)
    verified = verify(str(tmp_path / "lake"))
    assert (verified.runs, verified.files, verified.findings) == (1, len(manifest["files"]), [])
    foreign_append(tmp_path, to, {"ID": "7", "N": "foreign"})
    add_changes(tmp_path, "3", [change("I", 5, "GG.B", after={"ID": "5", "N": "y"})])
    consolidate(tmp_path, to)
    assert verify(str(tmp_path / "lake")).findings == []
    (tmp_path / "lake" / row_files(manifest)[-1]).unlink()
    (tmp_path / "lake" / "_ggfmt" / "round.json").touch()
    assert [finding.code for finding in verify(str(tmp_path / "lake")).findings] == ["GG511", "GG510"]


@pytest.mark.parametrize("to", FORMATS)
def test_compare_reads_the_present_version(tmp_path: Path, to: str) -> None:
    add_changes(tmp_path, "1", ROWS)
    consolidate(tmp_path, to)
    add_changes(tmp_path, "2", [change("D", 4, before={"ID": "1", "N": "a"})])
    consolidate(tmp_path, to)
    consolidate(tmp_path, "parquet", output=tmp_path / "plain", checkpoint=None)
    compared = ggfmt.compare(tmp_path / "lake", tmp_path / "plain")
    assert [(table.equal, table.missing, table.extra, table.different) for table in compared.tables] == [
        (1, 0, 0, 0)
    ] * 2


@pytest.mark.parametrize("to", FORMATS)
def test_compare_reads_the_present_version_of_one_table(tmp_path: Path, to: str) -> None:
    """Given by its directory, where the files of earlier versions are beside the present ones."""
    name = 'GG."A B"'
    lines = [change("I", number, name, after={"ID": str(number), "N": "a"}) for number in (1, 2)]
    add_changes(tmp_path, "1", lines)
    consolidate(tmp_path, to)
    add_changes(tmp_path, "2", [change("U", 3, name, after={"ID": "1", "N": "b"})])
    consolidate(tmp_path, to)
    (tmp_path / "rows.csv").write_text("ID,N\n1,b\n2,a\n")
    (table,) = (path for path in (tmp_path / "lake").iterdir() if path.name.startswith("GG"))
    for given in (f"{table}", f"{table}/"):
        compared = ggfmt.compare(given, tmp_path / "rows.csv")
        assert [(table.table, table.key, table.equal) for table in compared.tables] == [(name, ("ID",), 2)]
        assert compared.same
    add_changes(tmp_path, "3", [change("D", number + 3, name, before={"ID": str(number)}) for number in (1, 2)])
    consolidate(tmp_path, to)
    assert ggfmt.compare(table, tmp_path / "rows.csv").extra == 2
    (tmp_path / "lake" / "_ggfmt" / "manifest.json").unlink()
    with pytest.raises(UsageError, match=r"GG581.*Delta or Iceberg table"):
        ggfmt.compare(table, tmp_path / "rows.csv")


@pytest.mark.parametrize("to", FORMATS)
def test_a_path_that_libraries_do_not_find_again_is_refused(tmp_path: Path, to: str) -> None:
    add_changes(tmp_path, "1", ROWS)
    with pytest.raises(UsageError, match=r"GG554.*the path of a table cannot contain `%`"):
        consolidate(tmp_path, to, output=tmp_path / "a%20b")


INTEGER, LONG, TEXT = SqlType(Kind.INTEGER), SqlType(Kind.DECIMAL, precision=18, scale=0), SqlType(Kind.STRING)


@pytest.mark.parametrize("to", FORMATS)
def test_columns_come_go_and_get_wider(tmp_path: Path, to: str) -> None:
    lines = [change("I", number, after={"ID": str(number), "A": str(6 + number), "B": "b"}) for number in (1, 2)]
    add_changes(tmp_path, "1", lines)
    given: dict[str, Any] = {"types": {"*.A": "decimal(5,0)"}}
    consolidate(tmp_path, to, definitions=columns(("ID", TEXT), ("A", INTEGER), ("B", TEXT)), **given)
    add_changes(tmp_path, "2", [change("U", 3, before={"ID": "1"}, after={"ID": "1", "A": "5000000000", "C": "c"})])
    given = {"types": {"*.A": "decimal(20,0)"}}
    later = columns(("ID", TEXT), ("A", INTEGER), ("C", TEXT))
    consolidate(tmp_path, to, definitions=later, **given)
    rows = [{"ID": "2", "A": 8, "B": None, "C": None}, {"ID": "1", "A": 5000000000, "B": None, "C": "c"}]
    assert sorted(READERS[to](tmp_path, "GG.A"), key=str) == sorted(rows, key=str)
    add_changes(tmp_path, "3", [change("I", 4, after={"ID": "3", "A": "1", "C": "d"})])
    consolidate(tmp_path, to, definitions=later, **given)
    assert len(READERS[to](tmp_path, "GG.A")) == 3
    add_changes(tmp_path, "4", [change("I", 5, after={"ID": "4", "A": "1", "C": "d"})])
    consolidate(tmp_path, to, definitions=later, drop_columns=True, **given)
    assert [sorted(row) for row in READERS[to](tmp_path, "GG.A")] == [["A", "C", "ID"]] * 4
    add_changes(tmp_path, "5", [change("I", 6, after={"ID": "5", "A": "1", "C": "d"})])
    before = snapshot(tmp_path / "lake")
    with pytest.raises(GgfmtError, match=r"GG55[14].*A"):
        consolidate(tmp_path, to, definitions=later, types={"*.A": "decimal(5,0)"})
    assert snapshot(tmp_path / "lake") == before


@pytest.mark.example("GG554")
@pytest.mark.parametrize("name", ["a b", "a,b"])
def test_delta_refuses_names_before_it_writes(tmp_path: Path, name: str) -> None:
    add_changes(tmp_path, "1", [change("I", 1, after={"ID": "1", "n": "x", name: "a"})])
    with pytest.raises(UsageError, match="GG554"):
        consolidate(tmp_path, "delta")
    assert not (tmp_path / "lake").exists()
    consolidate(tmp_path, "iceberg")
    assert READERS["iceberg"](tmp_path, "GG.A") == [{"ID": "1", "n": "x", name: "a"}]


@pytest.mark.parametrize("to", [*FORMATS, "parquet"])
def test_files_have_a_size_and_an_order(tmp_path: Path, to: str) -> None:
    lines = [change("I", n, after={"ID": str(n), "N": str(n * 7919 % 1000)}) for n in range(1, 1000)]
    add_changes(tmp_path, "1", lines)
    given: dict[str, Any] = {"sort_by": "N, LACKS", "file_size": "2k"}
    manifest = consolidate(tmp_path, to, **given)
    assert 8 <= manifest["tables"]["GG.A"]["buckets"] == len(row_files(manifest))
    add_changes(tmp_path, "2", [change("U", 2000, before={"ID": "7"}, after={"ID": "7", "N": "0"})])
    later = consolidate(tmp_path, to, **given)
    before, after = ({file["sha256"] for file in one["files"] if "rows" in file} for one in (manifest, later))
    again = before & after
    assert len(again) == len(row_files(manifest)) - 1  # the bucket of the last operation before has the same rows again
    for path in row_files(later):
        rows = parquet.read_table(tmp_path / "lake" / path).to_pylist()
        assert rows == sorted(rows, key=lambda row: row["N"])


@pytest.mark.parametrize("to", FORMATS)
def test_partitions(tmp_path: Path, to: str) -> None:
    regions, days = ["é=/ x", None, "north"], ["2020-01-01", "2020-01-02"]
    images = [{"ID": str(n), "N": regions[n % 3], "DAY": days[n % 2]} for n in range(1, 31)]
    add_changes(tmp_path, "1", [change("I", n, after=image) for n, image in enumerate(images, 1)])
    given: dict[str, Any] = {"partition_by": "N,DAY", "types": {"*.DAY": "date"}}
    assert len(row_files(consolidate(tmp_path, to, **given))) == 6
    add_changes(tmp_path, "2", [change("U", 40, before={"ID": "7"}, after={"ID": "7", "N": "south", "DAY": days[0]})])
    manifest = consolidate(tmp_path, to, types=given["types"])
    rows = READERS[to](tmp_path, "GG.A")
    assert manifest["tables"]["GG.A"]["rows"] == len(rows) == 30
    assert {row["ID"]: row["N"] for row in rows} == {str(n): regions[n % 3] for n in range(1, 31)} | {"7": "south"}
    if to == "delta":
        frame = polars.scan_delta(str(tmp_path / "lake" / "GG.A"))
        assert frame.filter(polars.col("N") == "south").collect()["ID"].to_list() == ["7"]
        assert frame.filter(polars.col("N").is_null()).collect().height == 9
    add_changes(tmp_path, "3", [change("U", 41, before={"ID": "7"}, after={"ID": "7", "N": "", "DAY": days[0]})])
    for other, what in (
        (given, "NULL or have 1 to 200"),
        ({**given, "partition_by": "N"}, "is partitioned by `N`, `DAY`"),
    ):
        with pytest.raises(UsageError, match=f"GG554.*{what}"):
            consolidate(tmp_path, to, **other)
    with pytest.raises(UsageError, match=r"GG551.*plain files have no partitions"):
        consolidate(tmp_path, "parquet", partition_by="N", output=tmp_path / "plain")
    assert READERS[to](tmp_path, "GG.A") == rows


@pytest.mark.parametrize("to", FORMATS)
def test_table_options_are_properties_of_tables(tmp_path: Path, to: str) -> None:
    add_changes(tmp_path, "1", ROWS)
    name = {"delta": "delta.logRetentionDuration", "iceberg": "history.expire.min-snapshots-to-keep"}[to]
    value = {"delta": "interval 7 days", "iceberg": "7"}[to]
    consolidate(tmp_path, to, table_options={name: value})
    metadata = "".join(path.read_text() for path in (tmp_path / "lake" / "GG.A").rglob("*.json"))
    assert name in metadata and value in metadata


def test_a_catalog_of_the_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    warehouse = tmp_path / "warehouse"
    warehouse.mkdir()
    monkeypatch.setenv("PYICEBERG_CATALOG__OURS__TYPE", "sql")
    add_changes(tmp_path, "1", ROWS)
    options = {"uri": f"sqlite:///{tmp_path}/ours.db", "warehouse": f"file://{warehouse}"}
    consolidate(tmp_path, "iceberg", catalog="ours", catalog_options=options)
    add_changes(tmp_path, "2", [change("D", 4, before={"ID": "1", "N": "a"})])
    manifest = consolidate(tmp_path, "iceberg", catalog="ours", catalog_options=options)
    (tmp_path / "other").mkdir()
    add_changes(tmp_path / "other", "1", ROWS)
    assert manifest["tables"]["GG.A"]["rows"] == 1
    assert list(warehouse.rglob("*.parquet"))
    assert {path.parent.name for path in (tmp_path / "lake").rglob("*.parquet")} == {"_kept"}
    with pytest.raises(UsageError, match=r"GG551.*the Iceberg catalog cannot be opened"):
        consolidate(tmp_path / "other", "iceberg", catalog="unknown")


@pytest.mark.example("GG555")
@pytest.mark.parametrize("to", FORMATS)
def test_a_library_that_is_missing_is_named_with_its_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, to: str
) -> None:
    monkeypatch.setattr(target, "find_spec", lambda name: None)
    add_changes(tmp_path, "1", ROWS)
    with pytest.raises(UsageError, match=rf"GG555.*pip install 'ggfmt\[{to}\]'"):
        consolidate(tmp_path, to)


def test_plain_files_load_no_library_of_lakehouses(tmp_path: Path) -> None:
    add_changes(tmp_path, "1", ROWS)
    program = (
        "import sys, ggfmt\n"
        "ggfmt.consolidate('changes', 'out', master='none', key='ID')\n"
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60, cwd=tmp_path
    )
    assert {"deltalake", "pyiceberg", "sqlalchemy"}.isdisjoint(ended.stdout.split())
    assert (tmp_path / "out" / "GG.A" / "part-00000.parquet").exists()


@pytest.mark.parametrize("to", READERS)
def test_a_column_that_comes_with_net_changes_is_in_the_table(tmp_path: Path, to: str) -> None:
    rounds: list[Row] = [
        {"ID": "1", "N": 1},
        {"ID": "2", "N": 2, "V": "x"},
        {"ID": "3", "N": 3, "V": "y", "W": 5},
        {"ID": "4"},
    ]
    for number, row in enumerate(rounds, 1):
        add_changes(tmp_path, str(number), [change("I", number, after=row)])
        consolidate(tmp_path, to, changes=True)
    found = [{name: row[name] for name in ("ID", "N", "V", "W")} for row in READERS[to](tmp_path, "GG.A")]
    assert sorted(found, key=lambda row: row["ID"]) == [{"N": None, "V": None, "W": None, **row} for row in rounds]
