"""`ggfmt consolidate`."""

from __future__ import annotations

from typing import Annotated

import typer

from ggfmt.api import consolidation
from ggfmt.api.consolidation import RowFormat, RowMode, RowOrder
from ggfmt.cli.messages import interrupt_before_commit
from ggfmt.cli.parameters import (
    AllowEmpty,
    CheckpointOption,
    Definitions,
    InputConfig,
    InputFormat,
    InputOptions,
    Inputs,
    JavaHome,
    MaxRecord,
    Progress,
    Remote,
    SettleOption,
    SparkConf,
    SplitSize,
)
from ggfmt.spark.existing import detect_spark


def consolidate(
    inputs: Inputs,
    output: Annotated[str, typer.Option("-o", "--output", metavar="DIR", help="Where to write: a directory by table.")],
    to: Annotated[RowFormat, typer.Option("--to", help="The format of rows.")] = "parquet",
    as_of: Annotated[
        str | None,
        typer.Option("--as-of", metavar="MOMENT", help="A time or a position: what came after it does not count."),
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="MOMENT", help="With `--changes`: those after this moment.")
    ] = None,
    history: Annotated[bool, typer.Option("--history", help="Every version of each row.")] = False,
    changes: Annotated[
        bool, typer.Option("--changes", help="Net changes: one insert, update or delete for each key.")
    ] = False,
    base: Annotated[
        str | None,
        typer.Option("--base", metavar="DIR", help="The rows from before: an earlier result, or a directory by table."),
    ] = None,
    allow_empty: AllowEmpty = False,
    checkpoint: CheckpointOption = None,
    settle: SettleOption = None,
    keep: Annotated[
        str | None,
        typer.Option("--keep", metavar="STATES", help="Other rows, too: `deleted`, `unresolved`, with a mark."),
    ] = None,
    primary_keys: Annotated[
        str | None,
        typer.Option("--primary-keys", metavar="KEYS", help="`ID` for all tables, or `S.ORDERS=ID;S.LINES=ID,LINE`."),
    ] = None,
    order: Annotated[RowOrder, typer.Option("--order", help="What orders operations.")] = "auto",
    types: Annotated[
        list[str] | None,
        typer.Option("--type", metavar="TABLE.COLUMN=TYPE", help="The type of columns, such as `*.PRICE=string`."),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Stop if an operation cannot be decided.")] = False,
    mode: Annotated[RowMode, typer.Option("--mode", help="What to do with output that exists.")] = "error",
    input_format: InputFormat = "auto",
    input_config: InputConfig = None,
    input_options: InputOptions = None,
    definitions: Definitions = None,
    master: Annotated[
        str | None, typer.Option("--master", metavar="URL", help="The Spark master; default local.")
    ] = None,
    spark_conf: SparkConf = None,
    java_home: JavaHome = None,
    split_size: SplitSize = None,
    max_record: MaxRecord = None,
    remote: Remote = None,
    progress: Progress = None,
) -> None:
    """Write the rows of tables as they are after all changes.

    `ggfmt consolidate changes/ -o out`

    `ggfmt consolidate changes/ -o out --as-of 2026-01-31T12:00:00 --to csv`

    `ggfmt consolidate changes/ -o out --history --primary-keys 'S.ORDERS=ID'`

    What cannot be decided is in `out/_unresolved`.
    """
    from ggfmt.render.progress import progress_bar

    there = detect_spark()
    shown = False if progress is None and there is not None and there.shows_progress else progress
    with progress_bar(shown) as tell, interrupt_before_commit():
        consolidation.consolidate(
            inputs,
            output,
            to=to,
            as_of=as_of,
            since=since,
            history=history,
            changes=changes,
            base=base,
            allow_empty=allow_empty,
            checkpoint=checkpoint,
            settle=settle,
            keep=keep,
            primary_keys=primary_keys,
            order=order,
            types=types,
            strict=strict,
            mode=mode,
            input_format=input_format,
            input_config=input_config,
            input_options=input_options,
            definitions=definitions,
            master=master,
            spark_conf=spark_conf,
            java_home=java_home,
            split_size=split_size,
            max_record=max_record,
            remote=remote,
            progress=tell,
        )
