"""Operations as DataFrames of a Spark that is already there.

`read` and `register` are all that a user needs. Nothing is loaded before one of them is called; pyspark is there then.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike, fspath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    Path = str | PathLike[str]

__all__ = ["read", "register"]


def read(
    spark: SparkSession,
    paths: Path | Sequence[Path],
    input_format: str = "auto",
    table: str | None = None,
    definitions: Path | Sequence[Path] = (),
    *,
    ops: Iterable[str] | None = None,
    schema: str | StructType | None = None,
    split_size: int | None = None,
    discover: bool | None = None,
    **input_options: str,
) -> DataFrame:
    """The operations in files, as a frame of a session, be it a classic one or one of Spark Connect.

    paths          files, directories or globs, as INPUT of `ggfmt run`; the executors read them
    input_format   `auto` tells it by the data; see `ggfmt formats`
    table          the full name of a table: its operations alone, with `before` and `after` as structs of its columns.
                   Without it there are all tables, and the images are maps of texts
    definitions    files or directories of table definitions
    ops            kinds of operations, such as `["I", "U"]`: these alone
    schema         the columns that are wanted, of the frame and in its structs; the type of a column of a table may be
                   another one, such as `string` or `timestamp`
    split_size     bytes that a task reads; the frame is the same for each
    discover       the data are looked through for tables first, in tasks. It is done where there are no definitions
    input_options  properties of the input format (`ggfmt options FORMAT`), such as those by which it was written

    Files are listed and looked at now, and read whenever the frame is used. One that has changed by then is an error,
    and so are a record that cannot be read and a value that its column's type does not have.

    UsageError, ConfigurationError or Abend, with diagnostics, where the frame cannot be made.
    """
    from ggfmt.frames.plan import Request
    from ggfmt.frames.session import read_frame

    request = Request(
        as_paths(paths),
        input_format,
        table,
        None if ops is None else frozenset(ops),
        as_paths(definitions),
        input_options,
        split_size,
        discover=discover,
    )
    return read_frame(spark, request, schema)


def register(spark: SparkSession) -> None:
    """Makes `format("ggfmt")` known to a session, for `read`, `readStream` and `write`."""
    from ggfmt.frames.session import register_source

    register_source(spark)


def as_paths(given: Path | Sequence[Path]) -> tuple[str, ...]:
    """The paths as texts; one alone is a tuple of one."""
    return tuple(fspath(path) for path in ([given] if isinstance(given, (str, PathLike)) else given))
