"""`ggfmt preview`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ggfmt.api import inspection
from ggfmt.cli.gc_control import gc_disabled
from ggfmt.cli.messages import emit_findings
from ggfmt.cli.parameters import (
    Configuration,
    CurrentTimestamp,
    Definitions,
    Handlers,
    InputConfig,
    InputFormat,
    InputOptions,
    Inputs,
    Settings,
    To,
)


def preview(
    inputs: Inputs,
    config: Configuration = None,
    count: Annotated[
        int, typer.Option("-n", "--messages", metavar="N", min=1, help="How many messages of each table.")
    ] = 5,
    table: Annotated[
        str | None,
        typer.Option("--table", metavar="NAME", help="Only this table, in full or by the last part of its name."),
    ] = None,
    to: To = None,
    handlers: Handlers = None,
    input_format: InputFormat = "auto",
    input_config: InputConfig = None,
    input_options: InputOptions = None,
    definitions: Definitions = None,
    settings: Settings = None,
    current_timestamp: CurrentTimestamp = None,
) -> None:
    """Show the first messages of each table as a run would write them, and write nothing.

    `ggfmt preview changes.json --to delimitedtext`

    `ggfmt init avro_row -o avro.properties`

    `ggfmt preview changes.json -c avro.properties --table orders -n 1`

    Only the beginning of the inputs is read, but with `--table` as much as it takes. Ends with 4 if a record cannot be
    read or written.
    """
    with gc_disabled():
        from ggfmt.render.preview import print_preview

        result = inspection.preview(
            inputs,
            config=config,
            count=count,
            table=table,
            to=to,
            handlers=handlers,
            input_format=input_format,
            input_config=input_config,
            input_options=input_options,
            definitions=definitions,
            settings=settings,
            current_timestamp=current_timestamp,
            warn=emit_findings,
        )
        print_preview(result, sys.stdout)
    if result.rejected:
        raise typer.Exit(4)
