"""`ggfmt formats`, `ggfmt options`, `ggfmt explain` and `ggfmt --version`: what there is, without doing anything."""

from __future__ import annotations

import json
import platform
import sys
from typing import Annotated, Literal

import typer

from ggfmt.commands.declaration import Argument, Option
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic, UsageError, suggestion
from ggfmt.version import VERSION

OptionsFormat = Literal["text", "json", "markdown"]


def formats() -> None:
    """List the formats: what can be read, written and described by a schema.

    `ggfmt formats`
    """
    from ggfmt.render.reference import formats_table, print_rich

    print_rich(formats_table(), sys.stdout)


def options(
    format: Annotated[
        str,
        Argument(
            metavar="FORMAT",
            help="The id of a format, or `handler`, or `ggfmt`.",
            complete="option_sets",
        ),
    ],
    output_format: Annotated[OptionsFormat, Option(panel="What is shown", help="How to print them.")] = "text",
) -> None:
    """List the properties of a format, or those that every handler has.

    `ggfmt options json`

    `ggfmt options handler --output-format json`
    """
    from ggfmt.config.symbols import option_sets
    from ggfmt.options.reference import as_dicts, markdown_table, rich_table
    from ggfmt.render.reference import print_rich

    known = option_sets()
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


def explain(
    word: Annotated[
        str,
        Argument(
            metavar="WORD",
            help="A code, a property, a key of a handler file, or the id of a format.",
            complete="words",
        ),
    ],
    output_format: Annotated[OptionsFormat, Option(panel="What is shown", help="How to print it.")] = "text",
) -> None:
    """Tell what a code or a property means, its legal values, and what it changes in a message.

    `ggfmt explain GG103`

    `ggfmt explain pkUpdateHandling`

    `ggfmt explain gg.handler.json.format.jsonDelimiter`
    """
    from ggfmt.config.symbols import find_symbol, nearest
    from ggfmt.render.reference import explain, explanation_json, explanation_markdown, print_explanation

    symbol = find_symbol(word)
    if symbol is None:
        near = nearest(word)
        help = f"did you mean `{near}`?" if near else "give a code such as `GG103`, a property or a format"
        raise typer.BadParameter(f"`{word}` is no code, property or format; {help}", param_hint="WORD")
    explanation = explain(symbol, word)
    if output_format == "json":
        typer.echo(explanation_json(explanation), nl=False)
    elif output_format == "markdown":
        typer.echo(explanation_markdown(explanation), nl=False)
    else:
        print_explanation(explanation, sys.stdout)


def print_version() -> str:
    """The versions of ggfmt, alone in the first line, and of what it runs on."""
    from ggfmt import kernels
    from ggfmt.spark.installations import find_java

    try:
        java = find_java()
        java_line = f"Java {java.version} in {java.home} ({java.origin})"
    except Abend:
        java_line = "Java: none found"
    return "\n".join(
        (
            f"ggfmt {VERSION}",
            f"Python {platform.python_version()}",
            f"Spark {_installed('pyspark')}",
            java_line,
            f"Arrow {_installed('pyarrow')}",
            f"Kernels: {kernels.state}",
            *([] if kernels.lack is None else [f"  {kernels.COST}", f"  help: {kernels.lack.help}"]),
        )
    )


def _installed(package: str) -> str:
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"
