"""Table definitions from a PostgreSQL database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from postgres import Server, server_or_skip
from runs import write_lines

import ggfmt
from ggfmt.cli import main
from ggfmt.commands.arguments import tables
from ggfmt.render.preview import preview_text

pytestmark = pytest.mark.process

STATEMENTS = """
create schema "Sales";
create table "Sales"."Orders" (
  id bigint, "Line" integer, price numeric(18,2), at timestamp(3) with time zone, tags text[], raw bytea,
  primary key ("Line", id)
);
create table public.small (v varchar(20) not null, gone int);
alter table public.small drop column gone;
"""


@pytest.fixture(scope="module")
def database() -> Iterator[Server]:
    with server_or_skip() as started:
        started.run(STATEMENTS)
        yield started


def test_tables_of_all_schemas(database: Server) -> None:
    found = tables(database.url)
    assert list(found) == ["Sales.Orders", "public.small"]
    orders = found["Sales.Orders"]
    assert orders.primary_keys == ("Line", "id")
    assert {column.name: str(column.type) for column in orders.columns} == {
        "id": "integer",
        "Line": "integer",
        "price": "decimal(18,2)",
        "at": "timestamp(3)",
        "tags": "string",
        "raw": "binary",
    }
    assert [column.nullable for column in found["public.small"].columns] == [False]


def test_delimited_text_is_read_by_them(database: Server, tmp_path: Path) -> None:
    line = b"I,public.small,2026-01-31 10:00:00.000000,2026-01-31 10:00:00.000000,00000000000000000001,one"
    source = write_lines(tmp_path / "in.csv", [line])
    written: dict[str, Any] = {"input_format": "delimitedtext", "input_options": {"fieldDelimiter": ","}}
    assert '{"v":"one"}' in preview_text(ggfmt.preview(source, to="json", definitions=database.url, **written))


def test_the_command_line_takes_the_url(database: Server, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    line = b"I,public.small,2026-01-31 10:00:00.000000,2026-01-31 10:00:00.000000,00000000000000000001,one"
    source = write_lines(tmp_path / "in.csv", [line])
    words = ["run", str(source), "--input-format", "delimitedtext", "--input-option", "fieldDelimiter=,"]
    words += ["--to", "json", "-o", str(tmp_path / "out"), "--master", "none", "--definitions"]
    assert main([*words, "postgresql://me:s3cret@127.0.0.1:1/x"]) == 3
    text = capfd.readouterr().err
    assert "GG588" in text and "cannot connect to host 127.0.0.1, port 1" in text and "s3cret" not in text
    assert main([*words, database.url]) == 0


def test_a_file_counts_first(database: Server, tmp_path: Path) -> None:
    (tmp_path / "own.sql").write_text("create table public.small (other int)")
    found = tables([database.url, str(tmp_path / "own.sql")])
    assert found["public.small"].column_names == ("other",)
    assert len(found) == 2
