"""Tables of a lakehouse as queries of Polars and DuckDB read them.

The extensions of DuckDB for Delta and Iceberg are downloads. DuckDB reads the Arrow data of `deltalake` and `pyiceberg`
in their place: the versions and files are those that the libraries find.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import polars
import pyarrow as pa
from round_trips import Row

from ggfmt.commit.names import lake_directory
from ggfmt.model.table import split_name

Query = Callable[[Path, str, str], pa.Table]


def iceberg_table(lake: Path, table: str) -> Any:
    """Return a table of the embedded catalog."""
    from pyiceberg.catalog.sql import SqlCatalog

    return SqlCatalog("default", uri=f"sqlite:///{lake}/_catalog.db").load_table(tuple(split_name(table)))


def in_polars(lake: Path, to: str, table: str) -> pa.Table:
    """Return all rows of a table. `lake`: an output of `ggfmt consolidate`; `to`: `delta` or `iceberg`."""
    if to == "delta":
        frame = polars.scan_delta(str(lake / lake_directory(table)))
    else:
        frame = polars.scan_iceberg(iceberg_table(lake, table))
    found: pa.Table = frame.collect().to_arrow()
    return found


def in_duckdb(lake: Path, to: str, table: str) -> pa.Table:
    """Return all rows of a table. Raises: ImportError if DuckDB is not installed."""
    duckdb: Any = import_module("duckdb")
    rows: Any
    if to == "delta":
        from deltalake import DeltaTable

        rows = DeltaTable(str(lake / lake_directory(table))).to_pyarrow_dataset()
    else:
        rows = iceberg_table(lake, table).scan().to_arrow()
    with duckdb.connect() as connection:
        found: pa.Table = connection.from_arrow(rows).query("present", "select * from present").to_arrow_table()
    return found


QUERIES: Mapping[str, Query] = {"Polars": in_polars, "DuckDB": in_duckdb}


def queries() -> dict[str, Query]:
    """Return the queries whose programs are installed."""
    return {name: query for name, query in QUERIES.items() if find_spec(name.lower()) is not None}


def as_texts(rows: pa.Table) -> Iterator[Row]:
    """Yield rows as texts by column."""
    for row in rows.to_pylist():
        yield {name: None if value is None else str(value) for name, value in row.items()}
