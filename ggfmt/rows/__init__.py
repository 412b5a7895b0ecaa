"""The rows as the database has them: operations of a table made into what they lead to, as DataFrames.

`current`, `history` and `changes` are all that a program needs. Nothing is loaded before one of them is called.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from os import PathLike
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from ggfmt.rows.query import ExtraRows, Kind, Order, RowQuery

    Path = str | PathLike[str]
    Moment = str | datetime

__all__ = ["changes", "current", "history"]


def current(
    spark: SparkSession,
    paths: Path | Sequence[Path],
    table: str,
    input_format: str = "auto",
    definitions: Path | Sequence[Path] = (),
    *,
    primary_keys: str | Sequence[str] | None = None,
    types: Mapping[str, str] | None = None,
    base: DataFrame | None = None,
    as_of: Moment | None = None,
    order: Order = "auto",
    keep: Collection[ExtraRows] = (),
    strict: bool = False,
    **input_options: str,
) -> DataFrame:
    """The rows of a table after the last of the operations in files.

    paths          files, directories or globs, as INPUT of `ggfmt run`; the executors read them
    table          its full name
    input_format, definitions, input_options  as in `ggfmt.read`
    primary_keys   the columns that tell rows apart, where definitions do not say it: names, or one text with commas
    types          of columns, where they are to be others than `ggfmt.read` gives: `{"PLACED": "timestamp_ntz"}`
    base           the rows that were there before, with columns of the table's names
    as_of          a time (of UTC, if it has no zone) or a position: operations after it do not count
    order          `auto`: by positions where those of all operations order them, else as files and the records in
                   them follow each other. Which it is, is told in the log; `position` and `input` leave no choice
    keep           rows that are not current, too: `deleted`, `unresolved`. What they are is in a column `_state`
    strict         using the frame is an error where a row is unresolved

    The columns are those of the table's last definition, with the types that `ggfmt.read` gives them. A row is
    unresolved if it is not certain what it is: it was updated and its insert never seen, or it met another one under
    its key.

    Files are looked at now, once or twice, and read again when the frame is used. UsageError, ConfigurationError or
    Abend, with diagnostics.
    """
    query = _query("current", as_of, None, order, keep)
    return _rows(
        spark, paths, table, input_format, definitions, primary_keys, types, base, query, strict, input_options
    )


def history(
    spark: SparkSession,
    paths: Path | Sequence[Path],
    table: str,
    input_format: str = "auto",
    definitions: Path | Sequence[Path] = (),
    *,
    primary_keys: str | Sequence[str] | None = None,
    types: Mapping[str, str] | None = None,
    base: DataFrame | None = None,
    as_of: Moment | None = None,
    order: Order = "auto",
    keep: Collection[ExtraRows] = (),
    strict: bool = False,
    **input_options: str,
) -> DataFrame:
    """Every version that rows of a table had, as a slowly changing dimension; the arguments are those of `current`.

    Behind the columns of the table there are `_valid_from_position`, `_valid_from_ts`, `_valid_to_position` and
    `_valid_to_ts` (null for versions that still hold; the operation that ends one does not belong to it), and `_op`,
    the kind of operation that made the version. Versions that still hold are the rows of `current`.
    """
    query = _query("history", as_of, None, order, keep)
    return _rows(
        spark, paths, table, input_format, definitions, primary_keys, types, base, query, strict, input_options
    )


def changes(
    spark: SparkSession,
    paths: Path | Sequence[Path],
    table: str,
    input_format: str = "auto",
    definitions: Path | Sequence[Path] = (),
    *,
    since: Moment | None = None,
    primary_keys: str | Sequence[str] | None = None,
    types: Mapping[str, str] | None = None,
    base: DataFrame | None = None,
    as_of: Moment | None = None,
    order: Order = "auto",
    keep: Collection[ExtraRows] = (),
    strict: bool = False,
    **input_options: str,
) -> DataFrame:
    """Net changes of a table between two moments, one for each key whose row came (`_op` is `I`), changed (`U`) or went
    (`D`); the arguments are those of `current`.

    since   a time or a position: operations up to it made the rows that are changed; without it, all are changes of
            what `base` has

    A row that changed is there as it is afterwards, one that went as it was. An update of a key is a delete of the one
    and an insert of the other.
    """
    query = _query("changes", as_of, since, order, keep)
    return _rows(
        spark, paths, table, input_format, definitions, primary_keys, types, base, query, strict, input_options
    )


def _query(
    kind: Kind, as_of: Moment | None, since: Moment | None, order: Order, keep: Collection[ExtraRows]
) -> RowQuery:
    from ggfmt.rows.query import RowQuery

    states = frozenset([keep] if isinstance(keep, str) else keep)
    return RowQuery(kind, _text(as_of), _text(since), order, states)


def _text(moment: Moment | None) -> str | None:
    return moment.isoformat() if isinstance(moment, datetime) else moment


def _rows(
    spark: SparkSession,
    paths: Path | Sequence[Path],
    table: str,
    input_format: str,
    definitions: Path | Sequence[Path],
    primary_keys: str | Sequence[str] | None,
    types: Mapping[str, str] | None,
    base: DataFrame | None,
    query: RowQuery,
    strict: bool,
    input_options: Mapping[str, str],
) -> DataFrame:
    from ggfmt.commit.names import counted
    from ggfmt.frames import as_paths
    from ggfmt.frames.plan import Request
    from ggfmt.rows.frames import rows_frame

    request = Request(as_paths(paths), input_format, table, None, as_paths(definitions), input_options)
    keys = [name.strip() for name in primary_keys.split(",")] if isinstance(primary_keys, str) else primary_keys
    frame, staged, wanted = rows_frame(spark, request, query, keys, types, base, strict)
    operations = staged.staged[table].stats.operations.total() if table in staged.staged else 0
    message = "%s: %s, in the order of %s"
    logging.getLogger("ggfmt").info(message, table, counted(operations, "operation"), wanted.ordering)
    return frame
