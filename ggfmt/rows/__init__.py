"""Rows of tables from their change operations, as lazy DataFrames: current rows, row history and net changes.

The functions import what they need when they are called.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from inspect import signature
from os import PathLike
from typing import TYPE_CHECKING, Concatenate, ParamSpec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from ggfmt.options.spec import PropertyValue
    from ggfmt.options.value_types import OnUnfit, RowOrder
    from ggfmt.rows.query import ExtraRows, Kind

    Path = str | PathLike[str]
    Moment = str | datetime

P = ParamSpec("P")

__all__ = ["changes", "current", "history"]


def _rows(
    kind: Kind,
    /,
    spark: SparkSession,
    inputs: Path | Sequence[Path],
    table: str,
    input_format: str = "auto",
    definitions: Path | Sequence[Path] = (),
    *,
    since: Moment | None = None,
    key: str | Sequence[str] | None = None,
    types: Mapping[str, str] | None = None,
    base: DataFrame | None = None,
    as_of: Moment | None = None,
    order: RowOrder = "auto",
    keep: Collection[ExtraRows] = (),
    strict: bool = False,
    on_unfit: OnUnfit = "error",
    starts_empty: bool = False,
    discover: bool | None = None,
    metadata_prefix: str = "",
    **input_options: PropertyValue,
) -> DataFrame:
    from ggfmt.rows.query import RowQuery

    states = frozenset([keep] if isinstance(keep, str) else keep)
    query = RowQuery(kind, _text(as_of), _text(since), order, states, on_unfit, starts_empty, metadata_prefix)
    from ggfmt.spark.features import FRAMES, require

    require(FRAMES, spark)
    from ggfmt.commit.names import counted
    from ggfmt.frames import make_request
    from ggfmt.rows.frames import rows_frame

    request = make_request(inputs, input_format, table, definitions, None, None, discover, input_options)
    keys = [name.strip() for name in key.split(",")] if isinstance(key, str) else key
    frame, staged, wanted = rows_frame(spark, request, query, keys, types, base, strict)
    operations = staged.staged[table].stats.operations.total() if table in staged.staged else 0
    message = "%s: %s, in the order of %s"
    logging.getLogger("ggfmt").info(message, table, counted(operations, "operation"), wanted.ordering)
    return frame


def _text(moment: Moment | None) -> str | None:
    return moment.isoformat() if isinstance(moment, datetime) else moment


def _function(rows: Callable[Concatenate[Kind, P], DataFrame], kind: Kind, doc: str) -> Callable[P, DataFrame]:
    """Return the function for one kind of rows. Only changes show the argument `since`."""
    full = signature(rows)
    hidden = {"kind"} if kind == "changes" else {"kind", "since"}
    shown = full.replace(parameters=[each for name, each in full.parameters.items() if name not in hidden])

    def function(*args: P.args, **kwargs: P.kwargs) -> DataFrame:
        try:
            shown.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{kind}() {error}") from None
        return rows(kind, *args, **kwargs)

    function.__signature__ = shown  # type: ignore[attr-defined]
    function.__name__ = function.__qualname__ = kind
    function.__doc__ = doc
    return function


current = _function(
    _rows,
    "current",
    """Return the rows of a table after the last operation in some files.

    inputs         files, directories or globs, as INPUT of `ggfmt run`; the executors read them
    table          the full name of the table
    input_format, definitions, discover, input_options  as in `ggfmt.read`
    key            the columns that identify a row, if definitions do not have a key: names, or one text with commas
    types          types of columns in place of those of the source: `{"PLACED": "string"}`
    base           a snapshot of all rows before the operations, with the names of the table's columns
    as_of          a time (in UTC, if it has no zone) or a position: later operations do not count
    order          `auto`: by positions if all operations have comparable ones, otherwise in the order of the input;
                   the log names the order. `position` and `input` force one
    keep           further rows: `deleted`, `unresolved`; a column `_state` has the state of each row
    strict         use of the frame is an error if a row is unresolved
    on_unfit       what becomes of a value that the type of its column does not have: an `error` when the frame is used,
                   `null`, or the row is `unresolved`
    starts_empty   the table had no rows before the first operation in the files
    metadata_prefix  text before the names of the columns that the table does not have, such as `_state`

    The columns are those of the table at that point in time, with the types of the source. A row is unresolved if the
    files do not say for certain what it is.

    The files are read now, for definitions and statistics, and again when the frame is used. PySpark needs pandas for
    this.

    Raises: UsageError, ConfigurationError or Abend, with diagnostics.
    """,
)

history = _function(
    _rows,
    "history",
    """Return every version that the rows of a table had (a slowly changing dimension); the arguments are those of
    `current`.

    Behind the columns of the table there are `_valid_from_position`, `_valid_from_ts`, `_valid_to_position`,
    `_valid_to_ts` and `_op`, the operation that made the version. `_valid_to_*` are null in versions that still hold,
    which are the rows of `current`; the operation that ends a version does not belong to it. The columns are all that
    the table ever had.
    """,
)

changes = _function(
    _rows,
    "changes",
    """Return the net changes of a table between two points in time: one row for each key whose row is new (`_op` is
    `I`), changed (`U`) or deleted (`D`). The arguments are those of `current`.

    since   a time or a position: the earlier point in time; without it, that of `base`

    A changed row has its new values, a deleted row its last ones. A key update is a delete of the old key and an insert
    of the new one.
    """,
)
