"""The rows of SQL Server's change tables: `sqlserver_cdc`. They are read; ggfmt does not write them.

* `__$operation` is 1 for a deleted row, and 2 for an inserted row. It is 3 for a row before an update, and 4 for the
  row after it. Rows 3 and 4 are one update.
* A file has rows of `cdc.<capture instance>_CT` or of `cdc.fn_cdc_get_all_changes_...`. It is CSV with a header, JSON
  lines or Parquet.
* Rows are in the order of `__$start_lsn`, `__$command_id`, `__$seqval` and `__$operation`.
* `__$update_mask` says which columns an update changed. NULL in a column that did not change is missing.
* NULL in a row before is also missing: SQL Server writes NULL for values that it did not log.
* `__$start_lsn` is the transaction. With `__$command_id`, it is also the position.
* The table is the option `table`, or the file name: `dbo_T_CT.csv` is `dbo.T`.
"""

from __future__ import annotations

from ggfmt.dataclasses import dataclass
from ggfmt.formats.api.format import DialectOptions, Format, primary_keys_option
from ggfmt.options.spec import option
from ggfmt.options.value_types import Text


@dataclass(frozen=True)
class SqlserverCdcOptions(DialectOptions):
    table: str = option(Text(), "", "The full name of the table of all files. Default: from the name of each file.")
    null_literal: str = option(Text(), "NULL", "The text without quotes that is NULL in CSV, besides nothing.")
    primary_keys: tuple[tuple[str, tuple[str, ...]], ...] = primary_keys_option()


FORMATS = (
    Format(
        name="sqlserver_cdc",
        doc="SQL Server: rows of change tables (CDC) as CSV, JSON lines or Parquet.",
        options=SqlserverCdcOptions,
    ),
)
