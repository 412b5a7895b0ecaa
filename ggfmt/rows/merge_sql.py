"""The SQL that merges net changes from staged Parquet files into tables of a data warehouse, as text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from ggfmt.commit.names import safe_name
from ggfmt.commit.records import CONSOLIDATION_MEMBER, output_to_read, rows_manifest
from ggfmt.model.table import quoted_name, split_name
from ggfmt.rows.query import query_error


@dataclass(frozen=True)
class _Writing:
    """How a warehouse writes SQL.

    quote    the quote of names
    types    by name of a type in the manifest, without digits: that of a column; others keep their name
    numbers  the name of the type of decimals
    arrays   the type of columns of arrays; None: as in the manifest
    source   the rows of the files of a table, by `columns` of `typed` names and the `directory`; `before`: statements
    """

    quote: str
    types: Mapping[str, str]
    numbers: str
    arrays: str | None
    source: str
    column: str = "{name}"
    before: str = ""


_DIALECTS: dict[str, _Writing] = {
    "snowflake": _Writing(
        '"',
        {"bigint": "number(19,0)", "string": "text", "timestamp": "timestamp_ltz", "float": "double"},
        "number",
        "array",
        "select {columns} from @STAGE/{directory}/ (file_format => 'ggfmt_parquet')",
        "$1:{name}::{type} as {name}",
        "create file format if not exists ggfmt_parquet type = parquet use_logical_type = true;\n",
    ),
    "bigquery": _Writing(
        "`",
        {"bigint": "int64", "double": "float64", "float": "float64", "boolean": "bool", "timestamp_ntz": "datetime",
         "binary": "bytes", "int": "int64", "smallint": "int64", "tinyint": "int64"},
        "bignumeric",
        "json",
        "select {columns} from ggfmt_net",
        before="load data overwrite temp table ggfmt_net\n"
        "from files (format = 'PARQUET', uris = ['gs://STAGE/{directory}/*.parquet']);\n",
    ),
    "databricks": _Writing(
        "`", {"time": "string"}, "decimal", None, "select {columns} from parquet.`STAGE/{directory}`"
    ),
}  # fmt: skip


def merge_statements(given: str, dialect: str) -> Iterator[str]:
    """Yield statements for the tables of an output with net changes. Raises: UsageError GG551 for another output."""
    with output_to_read(given) as store:
        document = rows_manifest(store) or {}
    query = document.get(CONSOLIDATION_MEMBER, {})
    if query.get("kind") != "changes" or query["to"] != "parquet" or query["keep"]:
        help = "write one with `ggfmt consolidate changes/ -o net --changes --strict`"
        raise query_error(f"`{given}` does not hold net changes as Parquet", help)
    yield f"-- For {dialect}. Not tested. Replace STAGE by the place of the files in `{given}`."
    for name, table in document["tables"].items():
        if not table["key"]:
            raise query_error(f"`{name}` has no primary key, so that a merge has no row to change", "give `--key`")
        yield from _statements(name, table, _DIALECTS[dialect])


def _statements(table: str, entry: Mapping[str, Any], writing: _Writing) -> Iterator[str]:
    quoted = partial(quoted_name, quote=writing.quote)
    name = ".".join(map(quoted, split_name(table)))
    types = {quoted(column): _type(type, writing) for column, type in entry["columns"].items()}
    operation = quoted(*entry["marks"])
    directory = safe_name(table)
    columns = ", ".join(
        writing.column.format(name=column, type=type)
        for column, type in {**types, operation: _type("string", writing)}.items()
    )
    source = writing.source.format(columns=columns, directory=directory)
    same = " and ".join(f"t.{quoted(column)} = s.{quoted(column)}" for column in entry["key"])
    others = [column for column in types if column not in map(quoted, entry["key"])]
    changes = ", ".join(f"{column} = s.{column}" for column in others)
    update = f"\nwhen matched then update set {changes}" if others else ""
    values = ", ".join(f"s.{column}" for column in types)
    yield f"create table if not exists {name} ({', '.join(f'{column} {type}' for column, type in types.items())});"
    yield (
        f"{writing.before.format(directory=directory)}merge into {name} as t\nusing ({source}) as s\non {same}\n"
        f"when matched and s.{operation} = 'D' then delete{update}\n"
        f"when not matched and s.{operation} <> 'D' then insert ({', '.join(types)}) values ({values});"
    )


def _type(name: str, writing: _Writing) -> str:
    if name.startswith("array"):
        return writing.arrays or name
    return re.sub("^decimal", writing.numbers, writing.types.get(name, name))
