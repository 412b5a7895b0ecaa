"""The SQL of net changes for data warehouses, which DuckDB runs where it has the same words."""

from __future__ import annotations

from pathlib import Path

import pytest
from lake_tables import change
from runs import write_lines

import ggfmt
from ggfmt.commands.application import Dialect

CHANGES = [
    change("I", 1, "S.A", after={"ID": 1, "N": "a", "V": 1.25}),
    change("U", 2, "S.A", before={"ID": 2, "N": "b", "V": 2}, after={"ID": 2, "N": None, "V": 2}),
    change("D", 3, "S.A", before={"ID": 3, "N": "c", "V": 3}),
    change("D", 4, "S.A", before={"ID": 4, "N": "c", "V": 3}),
    change("I", 5, "S.`B", after={"ID": 1}),
]


@pytest.fixture
def net(tmp_path: Path) -> Path:
    changes = write_lines(tmp_path / "changes.json", CHANGES)
    ggfmt.consolidate(changes, tmp_path / "net", changes=True, key="ID", master="none")
    return tmp_path / "net"


def test_the_statements_merge_net_changes(net: Path) -> None:
    duckdb = pytest.importorskip("duckdb", "1.4")
    connection = duckdb.connect()
    connection.sql("create schema S")
    _, make, merge, *_ = ggfmt.apply(net, print_sql="databricks")
    for _ in range(2):  # the second time, nothing changes
        for statement in (make, "insert into S.A select 2, 'b', 2 where not exists (from S.A)", merge):
            text = statement.replace("parquet.`STAGE/S.A`", f"read_parquet('{net}/S.A/*.parquet')")
            connection.sql(text.replace("`", '"').replace(" string", " varchar"))
        assert sorted(connection.sql("select ID, N, V::varchar from S.A").fetchall()) == [
            (1, "a", "1.25"),
            (2, None, "2.00"),
        ]


@pytest.mark.parametrize(
    ("dialect", "texts"),
    [
        ("snowflake", ('$1:"V"::number(18,2) as "V"', '"S"."`B" ("ID" number(19,0))', "@STAGE/S.A/")),
        ("bigquery", ("`V` bignumeric(18,2)", "`S`.```B`", "'gs://STAGE/S.A/*.parquet'")),
        ("databricks", ("`V` decimal(18,2)", "`S`.```B`", "parquet.`STAGE/S.A`")),
    ],
)
def test_statements_have_names_types_and_places(net: Path, dialect: Dialect, texts: tuple[str, ...]) -> None:
    first, *others = ggfmt.apply(net, print_sql=dialect)
    assert "Not tested" in first and dialect in first
    assert all(text in "".join(others) for text in texts), others


def test_another_output_is_refused(net: Path, tmp_path: Path) -> None:
    ggfmt.consolidate(tmp_path / "changes.json", tmp_path / "rows", key="ID", master="none")
    for place in (tmp_path / "rows", tmp_path):
        with pytest.raises(ggfmt.UsageError, match=r"GG551.*net changes"):
            ggfmt.apply(place, print_sql="snowflake")
