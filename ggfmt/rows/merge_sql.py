"""The SQL that merges net changes from staged Parquet files into tables of a data warehouse, as text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ggfmt.commit.names import safe_name
from ggfmt.commit.records import CONSOLIDATION_MEMBER, output_to_read, rows_manifest
from ggfmt.dataclasses import dataclass
from ggfmt.java.text import visible
from ggfmt.model.sql import BIGQUERY, HIVE, SNOWFLAKE, Sql, SqlDialect, UnquotableError, joined, sql, type_of_manifest
from ggfmt.model.table import split_name
from ggfmt.rows.query import query_error


@dataclass(frozen=True)
class _Warehouse:
    """How a warehouse writes SQL.

    types    by name of a type in the manifest, without digits: that of a column; others keep their name
    numbers  the name of the type of decimals
    arrays   the type of columns of arrays; None: as in the manifest
    files    the files of a table, by the name of their directory; `place`: how SQL has it
    source   the rows of the files, by `columns` and `files`; `before`: statements before it
    column   a column of the rows, by `name`, by the name as a `text`, and by `type`
    """

    dialect: SqlDialect
    types: Mapping[str, str]
    numbers: str
    arrays: str | None
    files: str
    source: str
    column: str = "{name}"
    before: str = ""

    def place(self, directory: str) -> Sql:
        if self.dialect is HIVE:  # which takes a path for a pattern
            directory = re.sub(r"([{}\[\]])", r"\\\1", directory)
        place = self.files.replace("DIRECTORY", directory)
        return self.dialect.identifier(place) if self.dialect is HIVE else self.dialect.literal(place)


_WAREHOUSES: dict[str, _Warehouse] = {
    "snowflake": _Warehouse(
        SNOWFLAKE,
        {"bigint": "number(19,0)", "string": "text", "timestamp": "timestamp_ltz", "float": "double"},
        "number",
        "array",
        "@STAGE/DIRECTORY/",
        "select {columns} from {files} (file_format => 'ggfmt_parquet')",
        "$1[{text}]::{type} as {name}",
        "create file format if not exists ggfmt_parquet type = parquet use_logical_type = true;\n",
    ),
    "bigquery": _Warehouse(
        BIGQUERY,
        {"bigint": "int64", "double": "float64", "float": "float64", "boolean": "bool", "timestamp_ntz": "datetime",
         "binary": "bytes", "int": "int64", "smallint": "int64", "tinyint": "int64"},
        "bignumeric",
        "json",
        "gs://STAGE/DIRECTORY/*.parquet",
        "select {columns} from ggfmt_net",
        before="load data overwrite temp table ggfmt_net\nfrom files (format = 'PARQUET', uris = [{files}]);\n",
    ),
    "databricks": _Warehouse(
        HIVE, {"time": "string"}, "decimal", None, "STAGE/DIRECTORY", "select {columns} from parquet.{files}"
    ),
}  # fmt: skip


def merge_statements(given: str, dialect: str) -> Iterator[str]:
    """Yield statements for the tables of an output with net changes. Raises: UsageError GG551 for another output, or
    for names that the warehouse cannot have."""
    with output_to_read(given) as store:
        document = rows_manifest(store) or {}
    query = document.get(CONSOLIDATION_MEMBER, {})
    if query.get("kind") != "changes" or query["to"] != "parquet" or query["keep"]:
        help = "write one with `ggfmt consolidate changes/ -o net --changes --strict`"
        raise query_error(f"`{given}` does not hold net changes as Parquet", help)
    yield f"-- For {dialect}. Not tested. Replace STAGE by the place of the files in `{visible(given)}`."
    for name, table in document["tables"].items():
        if not table["key"]:
            raise query_error(f"`{name}` has no primary key, so that a merge has no row to change", "give `--key`")
        try:
            statements = _statements(name, table, _WAREHOUSES[dialect])
            if dialect == "databricks" and any("${" in statement for statement in statements):
                raise UnquotableError("Databricks replaces `${` in a name")
        except UnquotableError as error:
            help = "leave the table out with `--exclude`, or rename it"
            raise query_error(f"{dialect} cannot have the names of `{name}`: {error}", help) from None
        yield from statements


def _statements(table: str, entry: Mapping[str, Any], warehouse: _Warehouse) -> tuple[Sql, Sql]:
    quoted = warehouse.dialect.identifier
    name = quoted(*split_name(table))
    types = {column: _type(type, warehouse) for column, type in entry["columns"].items()}
    (operation,) = entry["marks"]
    files = warehouse.place(safe_name(table))
    columns = joined(
        ", ",
        [
            sql(warehouse.column, name=quoted(column), text=warehouse.dialect.literal(column), type=type)
            for column, type in {**types, operation: _type("string", warehouse)}.items()
        ],
    )
    source = sql(warehouse.source, columns=columns, files=files)
    same = joined(" and ", [sql("t.{0} = s.{0}", quoted(column)) for column in entry["key"]])
    changes = joined(", ", [sql("{0} = s.{0}", quoted(column)) for column in types if column not in entry["key"]])
    update = sql("\nwhen matched then update set {}", changes) if changes else sql("")
    made = joined(", ", [sql("{} {}", quoted(column), type) for column, type in types.items()])
    return (
        sql("create table if not exists {} ({});", name, made),
        sql(
            "{before}merge into {name} as t\nusing ({source}) as s\non {same}\n"
            "when matched and s.{op} = 'D' then delete{update}\n"
            "when not matched and s.{op} <> 'D' then insert ({names}) values ({values});",
            before=sql(warehouse.before, files=files),
            name=name,
            source=source,
            same=same,
            op=quoted(operation),
            update=update,
            names=joined(", ", map(quoted, types)),
            values=joined(", ", [sql("s.{}", quoted(column)) for column in types]),
        ),
    )


def _type(name: str, warehouse: _Warehouse) -> Sql:
    known = warehouse.types.get(name, name)
    if name.startswith("array"):
        known = warehouse.arrays or name
    return type_of_manifest(re.sub("^decimal", warehouse.numbers, known))
