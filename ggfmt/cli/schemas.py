"""`ggfmt schema`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from ggfmt.cli.messages import emit_findings
from ggfmt.commands.declaration import Option
from ggfmt.commands.inspection import SchemaRequest, make_schemas
from ggfmt.diagnostics.diagnostic import ConfigurationError


def schema(
    request: SchemaRequest,
    output: Annotated[
        Path | None,
        Option("-o", "--output", metavar="DIR", panel="Output", help="Write files here; default: print them."),
    ] = None,
    check: Annotated[
        bool,
        Option(
            panel="What is checked", help="Write nothing, and end with 1 if the files in the `-o` directory differ."
        ),
    ] = False,
) -> None:
    """Print or write the schemas of the messages, for the tables of `--definitions` or those found in the inputs.

    `ggfmt schema changes.json --kind json`

    `ggfmt init json -o json.properties`

    `ggfmt schema changes.json -c json.properties -o dirdef`

    `ggfmt schema changes.json -c json.properties -o dirdef --check`
    """
    from ggfmt.java.text import visible
    from ggfmt.sinks.schema import drift, write

    files_of_schemas = make_schemas(replace(request, warn=emit_findings))
    if check:
        if output is None:
            raise typer.BadParameter("give the directory to compare with", param_hint="-o")
        drifts = list(drift(files_of_schemas, output))
        for _, difference in drifts:
            typer.echo("\n".join(map(visible, difference.split("\n"))))
        if drifts:
            raise ConfigurationError(*(diagnostic for diagnostic, _ in drifts))
    elif output is None:
        for file in files_of_schemas:
            typer.echo(file.content.decode("utf-8", "replace"))
    else:
        try:
            for path in write(files_of_schemas, output):
                typer.echo(str(path))
        except OSError as error:
            raise typer.BadParameter(f"`{output}` cannot be written: {error.strerror}", param_hint="-o") from None
