"""What a consolidation is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ggfmt.dataclasses import dataclass, field
from ggfmt.engine import RunRequest
from ggfmt.options.value_types import ForeignCommits, Keys, TableErrors
from ggfmt.rows.query import RowQuery
from ggfmt.rows.tables import Types

if TYPE_CHECKING:
    from ggfmt.rows.targets.database_state import ApplyDatabase


@dataclass(frozen=True)
class TargetOptions:
    """What users may choose for files of rows, and for the tables of a lakehouse.

    catalog, catalog_options  of Iceberg: its name in the configuration of pyiceberg, and properties that win over it
    drop_columns       whether a column that the source has dropped is dropped from the table, too; otherwise it is NULL
    on_table_error     what to do if a table cannot go on: stop, or leave its operations to the next run
    table_options      properties of new tables, and new values of those of existing tables
    """

    sort_by: tuple[str, ...] = ()  # the columns that order the rows of each file
    partition_by: Keys = ()  # columns that divide the rows of tables, by table or for every table that has them
    file_size: int | None = None  # about how many bytes a file of rows has; None: as many as suit the machine
    catalog: str | None = None
    catalog_options: tuple[tuple[str, str], ...] = ()
    on_foreign_commit: ForeignCommits = "refuse"  # what to do with a table that another program has written to
    drop_columns: bool = False
    table_options: tuple[tuple[str, str], ...] = ()
    on_table_error: TableErrors = "stop"
    database: ApplyDatabase | None = None  # the connection of a target that is a database


@dataclass(frozen=True, kw_only=True)
class ConsolidationSettings(RunRequest):
    output: str
    query: RowQuery = field(default_factory=RowQuery)
    to: str = "parquet"
    base: str | None = None
    types: Types = ()
    target: TargetOptions = field(default_factory=TargetOptions)
