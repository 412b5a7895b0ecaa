"""`ggfmt schema`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from ggfmt.cli.parameters import (
    Configuration,
    Definitions,
    Handlers,
    InputFormat,
    OptionalInputs,
    Settings,
    texts,
)
from ggfmt.cli.telling import tell_findings
from ggfmt.diagnostics.diagnostic import ConfigurationError

SchemaKind = Literal["avro", "json", "xsd", "ddl"]


def schema(
    inputs: OptionalInputs = None,
    config: Configuration = None,
    definitions: Definitions = None,
    settings: Settings = None,
    handlers: Handlers = None,
    input_format: InputFormat = "auto",
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="DIR", help="Write files here; default: print them.")
    ] = None,
    kind: Annotated[SchemaKind | None, typer.Option("--kind", help="Default: what each handler's format has.")] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing, and end with 1 if the files in the `-o` directory differ.")
    ] = False,
) -> None:
    """Print or write the schemas of the messages, for the tables of `--definitions` or those found in the inputs.

    `ggfmt schema --definitions samples/TCUSTORD.def -c conf/json.properties -o dirdef`

    `ggfmt schema samples/tcustord.json --kind json`

    `ggfmt schema --definitions samples/TCUSTORD.def -c conf/json.properties -o dirdef --check`
    """
    from ggfmt.config.handlers import read_configuration
    from ggfmt.definitions import load_definitions
    from ggfmt.engine.schema import drift, schemas, write
    from ggfmt.java.text import visible

    configuration = None
    if config or settings:
        configuration = read_configuration(texts(config), settings or [], handlers or [])
        tell_findings(configuration.diagnostics)
    files_of_schemas = schemas(inputs or [], configuration, load_definitions(texts(definitions)), input_format, kind)
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
