"""The commands that show messages before a run, or their schemas."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from ggfmt.cli.output import emit_warnings
from ggfmt.commands.declaration import INPUTS, Argument, Option
from ggfmt.commands.inspection import PreviewRequest, SchemaRequest, make_schemas, run_preview
from ggfmt.diagnostics.diagnostic import ConfigurationError, UsageError

if TYPE_CHECKING:
    from ggfmt.render.demonstration import Demonstration
    from ggfmt.sinks.preview import Preview


def inspect(
    inputs: Annotated[list[str], INPUTS],
    max_files: Annotated[int, Option(metavar="N", min=1, panel="Display", help="Inspect so many files.")] = 20,
) -> None:
    """Show what files are, and the commands that read them.

    `ggfmt inspect changes.json`

    `ggfmt inspect changes/`

    Shows the format, charset, compression, columns and tables by the first bytes of each file. Reads no more, and
    writes nothing.
    """
    from ggfmt.java.text import visible
    from ggfmt.reading.inspection import inspect_file
    from ggfmt.reading.listing import list_inputs

    files = list_inputs(inputs)
    for file in files[:max_files]:
        found = inspect_file(file)
        typer.echo(visible(found.file))
        for name, text in (*found.facts, *(("run", command) for command in found.commands)):
            typer.echo(f"  {name:<12}{text}")
    if len(files) > max_files:
        typer.echo(f"{len(files) - max_files:,} more files; see `--max-files`")


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


_DEMO_FORMATS = ("json", "delimitedtext", "xml", "avro_op")
_DEMO_PROPERTY = "gg.handler.json.format.includePrimaryKeys"


def demo(
    inputs: Annotated[
        list[Path] | None, Argument(metavar="INPUT", help="Your change files; default: a sample.")
    ] = None,
    config: Annotated[
        Path | None, Option("-c", "--config", metavar="FILE", help="Show the messages of your handlers instead.")
    ] = None,
) -> None:
    """Show one change as a message in four formats, and what a property adds to it.

    `ggfmt demo`

    `ggfmt demo changes.json -c json.properties`

    It writes nothing, and reads only the beginning of the inputs.
    """
    from tempfile import TemporaryDirectory

    from ggfmt.docs import sample_files
    from ggfmt.render.demonstration import DEMO_STYLES, demonstration_pieces
    from ggfmt.render.diagnostics import print_styled

    with TemporaryDirectory() as directory:
        places = inputs
        if not places:
            (place := Path(directory, "changes.json")).write_bytes(sample_files()["shop/changes/2026-01-02.json"])
            places = [place]
        shown = demonstrate(places, config, is_sample=not inputs)
    print_styled(lambda columns: demonstration_pieces(shown), DEMO_STYLES, sys.stdout, is_data=True)


def demonstrate(places: Sequence[Path], config: Path | None, is_sample: bool) -> Demonstration:
    """Raises: UsageError GG501 if the beginning of the inputs has no change with a message; as `ggfmt.preview`."""
    from ggfmt.render.demonstration import Demonstration
    from ggfmt.sinks.preview import Message

    request = PreviewRequest(list(places), warn=emit_warnings, current_timestamp="2026-01-02 09:00:00")
    first = run_preview(replace(request, config=config) if config else replace(request, to=_DEMO_FORMATS[0]))
    found = [(handler, table) for handler in first.handlers for table in handler.tables]
    every = [(table.table, item) for _, table in found for item in table.items if isinstance(item, Message)]
    table, chosen = next((one for one in every if one[1].kind == "update"), every[0] if every else ("", None))
    if chosen is None:
        raise UsageError("GG501", "the beginning of the inputs has no change", help="run `ggfmt preview` on them")

    def same(preview: Preview) -> Iterator[tuple[str, Message]]:
        for handler in preview.handlers:
            for each in handler.tables:
                for item in each.items if each.table == table else ():
                    if isinstance(item, Message) and (item.kind, item.position) == (chosen.kind, chosen.position):
                        yield (
                            f"Handler {handler.handler}, format {handler.format}"
                            if config
                            else f"Format {handler.format}",
                            item,
                        )
                        break

    messages, setting = list(same(first)), None
    if config is None:
        others = (same(run_preview(replace(request, to=format))) for format in _DEMO_FORMATS[1:])
        messages += chain.from_iterable(others)
        with_key = list(same(run_preview(replace(request, to="json", settings={_DEMO_PROPERTY: "true"}))))
        setting = f"{_DEMO_PROPERTY}=true", chosen.data.decode().rstrip("\n"), with_key[0][1].data.decode().rstrip("\n")
    given = "changes.json" if is_sample else quote(str(places[0]))
    handler = "json.properties" if config is None else quote(str(config))
    calls = [f"ggfmt demo {given}"] if is_sample else []
    calls += [f"ggfmt init json -o {handler}"] if config is None else []
    calls += [f"ggfmt preview {given} -c {handler}", f"ggfmt run {given} -c {handler} -o out"]
    position = f" at position {chosen.position}" if chosen.position else ""
    shown = [(heading, item.shown) for heading, item in messages]
    return Demonstration(f"One change: {chosen.kind} of {table}{position}", shown, setting, calls)


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
