"""`ggfmt formats` and `ggfmt options`."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Literal

import typer

from ggfmt.errors import Diagnostic, UsageError, suggestion

OptionsFormat = Literal["text", "json", "markdown"]


def formats() -> None:
    """List the formats: what can be read, written and described by a schema."""
    from ggfmt.render.tables import formats_table, print_rich

    print_rich(formats_table(), sys.stdout)


def options(
    format: Annotated[str, typer.Argument(metavar="FORMAT", help="The id of a format, or `handler`, or `ggfmt`.")],
    output_format: Annotated[OptionsFormat, typer.Option("--output-format", help="How to print them.")] = "text",
) -> None:
    """List the properties of a format, or those that every handler has.

    `ggfmt options json`
    """
    from ggfmt.config.handler import HandlerOptions, RunOptions
    from ggfmt.formats import FORMATS
    from ggfmt.options.reference import as_dicts, markdown_table, rich_table
    from ggfmt.options.spec import Options
    from ggfmt.render.tables import print_rich

    known: dict[str, type[Options]] = {
        "ggfmt": RunOptions,
        "handler": HandlerOptions,
        **{name: entry.options for name, entry in FORMATS.items()},
    }
    if format not in known:
        near = suggestion(format, known)
        legal = f"legal values are {', '.join(f'`{name}`' for name in known)}"
        help = f"{legal}; {near}" if near else legal
        raise UsageError(Diagnostic("GG106", f"there is no format `{format}`", help=help))
    if output_format == "json":
        typer.echo(json.dumps(as_dicts(known[format]), indent=2, ensure_ascii=False))
    elif output_format == "markdown":
        typer.echo(markdown_table(known[format]))
    else:
        prefixes = {"ggfmt": "ggfmt.", "handler": "gg.handler.<name>."}
        print_rich(rich_table(known[format], title=prefixes.get(format, "gg.handler.<name>.format.")), sys.stdout)
