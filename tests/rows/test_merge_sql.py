"""The SQL of net changes for data warehouses: sqlglot parses it as a warehouse does, and DuckDB runs it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args

import duckdb
import pytest
import sqlglot
from lake_tables import change
from runs import write_lines
from sqlglot import expressions as exp

import ggfmt
from ggfmt.commands.application import Dialect

DIALECTS: tuple[Dialect, ...] = get_args(Dialect)
CHANGES = [
    change("I", 1, "S.A", after={"ID": 1, "N": "a", "V": 1.25}),
    change("U", 2, "S.A", before={"ID": 2, "N": "b", "V": 2}, after={"ID": 2, "N": None, "V": 2}),
    change("D", 3, "S.A", before={"ID": 3, "N": "c", "V": 3}),
    change("D", 4, "S.A", before={"ID": 4, "N": "c", "V": 3}),
    change("I", 5, "S.B", after={"ID": 1}),
]
HOSTILE = [
    "X'];DROP TABLE y;--",
    "X`;DROP TABLE y;--",
    'X";DROP TABLE y;--',
    "a\\`b",
    "a\\",
    "\\'",
    "a\nb",
    "a\r\n--",
    "$$;$$",
    "/*",
    "%s %(a)s",
    "{0}{text}{}",
    "[a]",
    "select",
    "a b",
    "ü😀\u2028\x85",
    "x" * 190,
]


def net_of(tmp_path: Path, changes: list[dict[str, Any]], name: str = "net") -> Path:
    source = write_lines(tmp_path / "changes.json", changes)
    ggfmt.consolidate(source, tmp_path / name, changes=True, key="ID", master="none")
    return tmp_path / name


@pytest.fixture
def net(tmp_path: Path) -> Path:
    return net_of(tmp_path, CHANGES)


def parsed(statements: list[str], dialect: Dialect) -> list[exp.Expr]:
    """The statements in the texts. sqlglot does not know LOAD DATA of BigQuery, but its strings and their ends."""
    found: list[exp.Expr] = []
    for text in statements:
        ends = [token.end for token in sqlglot.tokenize(text, read=dialect) if token.token_type.name == "SEMICOLON"]
        for start, end in zip([0, *(end + 1 for end in ends)], [*ends, len(text)], strict=True):
            statement = text[start:end].strip()
            known = not statement.startswith("load data overwrite temp table ggfmt_net\nfrom files (")
            one = sqlglot.parse_one(statement, read=dialect) if statement and known else exp.Command(this=statement)
            found += [one] if statement and not statement.startswith("--") else []
    return found


def merges(net: Path, dialect: Dialect) -> list[tuple[exp.Create, exp.Merge]]:
    _, *texts = ggfmt.apply(net, print_sql=dialect)
    found = []
    for made, merged in zip(texts[::2], texts[1::2], strict=True):
        (create,), (*before, merge) = parsed([made], dialect), parsed([merged], dialect)
        assert isinstance(create, exp.Create) and isinstance(merge, exp.Merge)
        assert len(before) == {"snowflake": 1, "bigquery": 1, "databricks": 0}[dialect]
        found.append((create, merge))
    return found


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_statements_merge_net_changes(net: Path, dialect: Dialect) -> None:
    connection = duckdb.connect()
    connection.sql("create schema S")
    create, merge = merges(net, dialect)[0]
    source = sqlglot.parse_one(f"select * from read_parquet('{net}/S.A/*.parquet')", read="duckdb")
    using = merge.args["using"]
    assert {column.alias_or_name for column in using.this.expressions} == {"ID", "N", "V", "_op"}
    using.set("this", source)
    for _ in range(2):  # the second time, nothing changes
        connection.sql(create.sql("duckdb", identify=True))
        connection.sql("insert into S.A select 2, 'b', 2 where not exists (from S.A)")
        connection.sql("insert into S.A select 3, 'c', 3 where not exists (from S.A where ID = 3)")
        connection.sql(merge.sql("duckdb", identify=True))
        rows = connection.sql("select ID, N, V::decimal(18,2)::varchar from S.A order by ID").fetchall()
        assert rows == [(1, "a", "1.25"), (2, None, "2.00")]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_names_from_data_stay_names(tmp_path: Path, dialect: Dialect) -> None:
    # Names of tables with control characters are refused when they are read.
    tables = [f"T{n}" if re.search(r"[\x00-\x1f\x7f-\x9f]", name) else name for n, name in enumerate(HOSTILE)]
    changes = [
        change("I", number, f"S.{table}", after={"ID": number, name: "a"})
        for number, (table, name) in enumerate(zip(tables, HOSTILE, strict=True))
    ]
    net = net_of(tmp_path, changes, "net'`\";\n-- x")
    first, *_ = ggfmt.apply(net, print_sql=dialect)
    assert "\n" not in first and first.startswith("-- ")
    found = {}
    for create, merge in merges(net, dialect):
        schema, table = [part.name for part in create.this.this.parts]
        assert [part.name for part in merge.this.parts] == [schema, table]
        columns = [column.this.name for column in create.this.expressions]
        assert {column.alias_or_name for column in merge.args["using"].this.expressions} == {*columns, "_op"}
        found[table] = columns
        assert schema == "S"
    assert found == {table: ["ID", name] for table, name in zip(tables, HOSTILE, strict=True)}


@pytest.mark.parametrize(
    ("dialect", "name", "texts"),
    [
        ("snowflake", 'a\\"b', ('$1[\'a\\\\"b\']::text as "a\\""b"', "from '@STAGE/S.a%5C%22b/'")),
        ("snowflake", "a'b", ("$1['a\\'b']::text as \"a'b\"", "from '@STAGE/S.a\\'b/'")),
        ("bigquery", "a\\`b", ("create table if not exists `S`.`a\\\\\\`b` (", "['gs://STAGE/S.a%5C\\`b/*.parquet']")),
        ("bigquery", "a'b", ("`S`.`a'b`", "['gs://STAGE/S.a\\'b/*.parquet']")),
        ("databricks", "a`b", ("`S`.`a``b`", "parquet.`STAGE/S.a``b`")),
        ("databricks", "{a,b}", ("`S`.`{a,b}`", "parquet.`STAGE/S.\\{a,b\\}`")),
    ],
)
def test_quotes_are_those_of_the_dialect(tmp_path: Path, dialect: Dialect, name: str, texts: tuple[str, ...]) -> None:
    net = net_of(tmp_path, [change("I", 1, f"S.{name}", after={"ID": 1, name: "x"})])
    text = "".join(ggfmt.apply(net, print_sql=dialect)).replace("%5C\\`b", "%5C`b")
    assert all(one.replace("%5C\\`b", "%5C`b") in text for one in texts), text


@pytest.mark.parametrize(
    ("dialect", "table", "column"),
    [
        *[(dialect, "S.A", "a\0b") for dialect in DIALECTS],
        ("bigquery", 'S."a.b"', "V"),
        ("bigquery", "S.A", "a.b"),
        ("databricks", "S.A", "${env:HOME}"),
    ],
)
def test_names_that_a_warehouse_cannot_have_are_refused(
    tmp_path: Path, dialect: Dialect, table: str, column: str
) -> None:
    net = net_of(tmp_path, [change("I", 1, table, after={"ID": 1, column: "x"})])
    with pytest.raises(ggfmt.UsageError, match=r"GG551.*cannot have the names of"):
        ggfmt.apply(net, print_sql=dialect)


@pytest.mark.parametrize(
    ("dialect", "texts"),
    [
        ("snowflake", ("$1['V']::number(18,2) as \"V\"", '"S"."B" ("ID" number(19,0))', "from '@STAGE/S.A/' (")),
        ("bigquery", ("`V` bignumeric(18,2)", "`S`.`B`", "uris = ['gs://STAGE/S.A/*.parquet']")),
        ("databricks", ("`V` decimal(18,2)", "`S`.`B`", "parquet.`STAGE/S.A`")),
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
