"""The commands that show messages before a run, or their schemas."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from ggfmt.cli.output import emit_warnings
from ggfmt.commands.declaration import Option
from ggfmt.commands.inspection import PreviewRequest, SchemaRequest, make_schemas, run_preview
from ggfmt.diagnostics.diagnostic import ConfigurationError


def preview(request: PreviewRequest) -> None:
    """Show the first messages of each table as a run would write them, and write nothing.

    `ggfmt preview changes.json --to delimitedtext`

    `ggfmt init avro_row -o avro.properties`

    `ggfmt preview changes.json -c avro.properties --table orders -n 1`

    Only the beginning of the inputs is read, but with `--table` as much as it takes. Ends with 4 if a record cannot be
    read or written.
    """
    from ggfmt.render.pager import paged
    from ggfmt.render.preview import print_preview

    result = run_preview(replace(request, warn=emit_warnings))
    with paged():
        print_preview(result, sys.stdout)
    if result.rejected:
        raise typer.Exit(4)


def schema(
    request: SchemaRequest,
    output: Annotated[
        Path | None,
        Option("-o", "--output", metavar="DIR", panel="Output", help="Write files here; default: print them."),
    ] = None,
    check: Annotated[
        bool, Option(panel="Checks", help="Write nothing; end with 1 if the files in the `-o` directory differ.")
    ] = False,
) -> None:
    """Print or write the schemas of the messages, for the tables of `--definitions` or those found in the inputs.

    `ggfmt schema changes.json --kind json`

    `ggfmt init json -o json.properties`

    `ggfmt schema changes.json -c json.properties -o dirdef`

    `ggfmt schema changes.json -c json.properties -o dirdef --check`

    Ends with 3 if a record cannot be read. With `--on-reject quarantine`, such records are left out, and it ends with
    4.
    """
    from ggfmt.java.text import visible
    from ggfmt.sinks.schema import drift, write

    files_of_schemas = make_schemas(replace(request, warn=emit_warnings))
    if check:
        if output is None:
            raise typer.BadParameter("give the directory to compare with", param_hint="-o")
        drifts = list(drift(files_of_schemas, output))
        for _, difference in drifts:
            typer.echo("\n".join(map(visible, difference.split("\n"))))
        if drifts:
            raise ConfigurationError.of(*(diagnostic for diagnostic, _ in drifts))
    elif output is None:
        for file in files_of_schemas:
            typer.echo(file.content.decode("utf-8", "replace"))
    else:
        try:
            for path in write(files_of_schemas, output):
                typer.echo(str(path))
        except OSError as error:
            raise typer.BadParameter(f"`{output}` cannot be written: {error.strerror}", param_hint="-o") from None
    if files_of_schemas.rejected:
        raise typer.Exit(4)
