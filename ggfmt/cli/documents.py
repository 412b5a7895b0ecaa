"""`ggfmt docs` and `ggfmt init`: pages to read, and a handler file to start with."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ggfmt.commands.declaration import Argument, Option
from ggfmt.diagnostics.diagnostic import Diagnostic, Span, UsageError, did_you_mean, suggestion


def docs(
    topic: Annotated[
        str | None,
        Argument(metavar="TOPIC", help="A page, a code, or the id of a format.", complete="topics"),
    ] = None,
) -> None:
    """Show a page of the documents, or list them.

    `ggfmt docs`

    `ggfmt docs output`

    `ggfmt docs GG205`

    `ggfmt docs canal_json`
    """
    from ggfmt import docs
    from ggfmt.render.reference import print_page, print_topics

    if topic is None:
        print_topics([(name, page.summary) for name, page in docs.pages().items()], sys.stdout)
        return
    text = docs.find(topic)
    if text is None:
        raise UsageError(Diagnostic("GG508", f"there is no page `{topic}`", help=_next_step(topic)))
    print_page(text, sys.stdout)


def _next_step(topic: str) -> str:
    """Where to go on from a topic that is none."""
    from ggfmt import docs
    from ggfmt.config.symbols import find_symbol

    near = did_you_mean(topic, (*docs.pages(), *docs.aliases()))
    if near is None and find_symbol(topic) is not None:
        return f"`ggfmt explain {topic}` tells of it"
    return f"did you mean `{near}`?" if near else "`ggfmt docs` lists the pages"


def init(
    format: Annotated[str, Argument(metavar="FORMAT", help="The id of a format.", complete="written_formats")],
    output: Annotated[
        Path | None, Option("-o", "--output", metavar="FILE", panel="Output", help="Write the file; default: print it.")
    ] = None,
    force: Annotated[bool, Option(help="Replace a file that is there.")] = False,
) -> None:
    """Make a handler file for a format, with a comment on every property.

    `ggfmt init json`

    `ggfmt init debezium_json -o debezium.properties`
    """
    from ggfmt.config.handler_file import handler_file
    from ggfmt.formats import FORMATS

    written = [name for name, format in FORMATS.items() if format.writes is not None]
    if format not in written:
        help = suggestion(format, written) or f"legal values are {', '.join(f'`{name}`' for name in written)}"
        message = f"there is no format `{format}`"
        if format in FORMATS:
            message = f"`{format}` is a format that ggfmt reads, but does not write"
            help = "no handler file is needed to read it: properties are given by `--input-option`"
        raise UsageError(Diagnostic("GG106", message, help=help))
    text = handler_file(FORMATS[format])
    if output is None:
        typer.echo(text, nl=False)
        return
    try:
        with output.open("w" if force else "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        message, help = "the file exists", "name another file, or give `--force` to replace it"
        raise UsageError(Diagnostic("GG501", message, Span(str(output)), help)) from None
    except OSError as error:
        message = f"the file cannot be written: {error.strerror}"
        raise UsageError(Diagnostic("GG506", message, Span(str(output)))) from None
