"""Operations as DataFrames of a Spark that is running already, or without Spark as record batches of Arrow.

Users need only `read`, `register` and `scan`. Nothing is loaded before one of them is called.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from ggfmt.frames.batch_reader import Operations
    from ggfmt.frames.plan import Request
    from ggfmt.options.spec import PropertyValue

    Path = str | PathLike[str]

__all__ = ["read", "register", "scan"]


def read(
    spark: SparkSession,
    inputs: Path | Sequence[Path],
    input_format: str = "auto",
    table: str | None = None,
    definitions: Path | Sequence[Path] = (),
    *,
    ops: Iterable[str] | None = None,
    schema: str | StructType | None = None,
    split_size: int | str | None = None,
    discover: bool | None = None,
    producer_config: Path | None = None,
    staging: Path | None = None,
    replicat: Path | None = None,
    **input_options: PropertyValue,
) -> DataFrame:
    """Return the operations in files as a frame of a session, classic or of Spark Connect.

    - `inputs`: files, directories or globs, like INPUT of `ggfmt run`; the executors read them.
    - `input_format`: `auto` detects it from the data; see `ggfmt formats`.
    - `table`: the full name of a table. The frame has only its operations, with `before` and `after` as structs of its
      columns. Without it, the frame has all tables, and the images are maps of texts.
    - `definitions`: files or directories of table definitions.
    - `ops`: only these operation types, such as `["I", "U"]`.
    - `schema`: only these columns, of the frame and in its structs. A column of a table may have another type, such as
      `string` or `timestamp`.
    - `split_size`: bytes that a task reads, or a text such as `64m`; the frame is the same for every size.
    - `discover`: infer the tables from the data first, in tasks. Default: if there are no definitions.
    - `producer_config`: for a topic of Kafka as input, a file with properties of a client, such as its security.
    - `staging`: a directory for the messages of topics, which all executors reach. They are deleted with the session.
    - `replicat`: the parameter file of a Replicat. The frame has the tables, columns and operations of its MAPs, and
      `table` is the name of a target.
    - `input_options`: properties of the input format (`ggfmt options FORMAT`), such as those with which it was written.

    ggfmt lists and inspects the files now, and Spark reads them whenever the frame is used. If a file has changed by
    then, a record cannot be read, or a value does not fit its column's type, the query fails.

    Raises: UsageError, ConfigurationError or Abend, with diagnostics, if the frame cannot be made.
    """
    from ggfmt.spark.features import FRAMES, require

    require(FRAMES, spark)
    from ggfmt.frames.session import read_frame
    from ggfmt.reading.standard_input import TopicSettings

    request = make_request(inputs, input_format, table, definitions, ops, split_size, discover, input_options)
    request = replace(request, topics=TopicSettings(*map(_path, (producer_config, staging))), replicat=_path(replicat))
    return read_frame(spark, request, schema)


def scan(
    inputs: Path | Sequence[Path],
    table: str | None = None,
    input_format: str = "auto",
    definitions: Path | Sequence[Path] = (),
    *,
    ops: Iterable[str] | None = None,
    schema: str | pa.Schema | StructType | None = None,
    split_size: int | str | None = None,
    discover: bool | None = None,
    producer_config: Path | None = None,
    staging: Path | None = None,
    replicat: Path | None = None,
    **input_options: PropertyValue,
) -> Operations:
    """Return the operations in files as record batches of Arrow, without Spark.

    The arguments and the columns are those of `read`, with two differences:

    - `schema`: texts as for `read`, such as `seq bigint, after struct<ID: string>`, or a schema of Arrow.
    - `split_size`: bytes that a process reads while it infers tables, or a text such as `64m`.

    ggfmt lists and inspects the files now, and infers tables on all cores if it has to. It reads them, one after the
    other, whenever batches are asked for: by iteration, `read_all()`, `read_pandas()`, or by any library that takes
    streams of Arrow. `reader()` keeps no more than some batches in memory. Operations of a table are in the order of
    `seq`.

    Raises: UsageError, ConfigurationError or Abend, with diagnostics, if the operations cannot be read. Reading
    raises Abend if a file has changed, a record cannot be read, or a value does not fit its column's type.
    """
    from ggfmt.frames import batch_reader
    from ggfmt.reading.standard_input import TopicSettings

    request = make_request(inputs, input_format, table, definitions, ops, split_size, discover, input_options)
    request = replace(request, topics=TopicSettings(*map(_path, (producer_config, staging))), replicat=_path(replicat))
    return batch_reader.scan(request, schema)


def register(spark: SparkSession) -> None:
    """Make `format("ggfmt")` known to a session, for `read`, `readStream` and `write`."""
    from ggfmt.spark.features import FRAMES, require

    require(FRAMES, spark)
    from ggfmt.frames.session import register_source

    register_source(spark)


def as_paths(given: Path | Sequence[Path]) -> tuple[str, ...]:
    """Return the paths as texts; a single path is a tuple of one."""
    return tuple(fspath(path) for path in ([given] if isinstance(given, (str, PathLike)) else given))


def _path(given: Path | None) -> str | None:
    return None if given is None else fspath(given)


def make_request(
    inputs: Path | Sequence[Path],
    input_format: str,
    table: str | None,
    definitions: Path | Sequence[Path],
    ops: Iterable[str] | None,
    split_size: int | str | None,
    discover: bool | None,
    input_options: Mapping[str, PropertyValue],
) -> Request:
    """Return the request of a function's arguments. Raises: UsageError for values of wrong types."""
    from ggfmt.frames.plan import Request, parse_size
    from ggfmt.options.spec import property_text

    return Request(
        as_paths(inputs),
        input_format,
        table,
        None if ops is None else frozenset(ops),
        as_paths(definitions),
        {name: property_text(name, value) for name, value in input_options.items()},
        None if split_size is None else parse_size("split_size", str(split_size)),
        discover=discover,
    )
