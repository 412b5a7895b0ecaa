"""`ggfmt verify`."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

import typer

from ggfmt.commands.declaration import Argument, Option

OutputFormat = Literal["text", "json"]


def verify(
    output: Annotated[str, Argument(metavar="DIR", help="An output directory, as a path or a URI.")],
    output_format: Annotated[OutputFormat, Option(panel="What is shown", help="How to print what is found.")] = "text",
) -> None:
    """Read an output back, and tell what is not as its manifests say.

    `ggfmt verify out`

    `ggfmt verify out --output-format json`

    Nothing is changed. Ends with 0 if all is well, with 1 if not, with 2 if the directory is no output of ggfmt.
    """
    from ggfmt.render.diagnostics import write_text
    from ggfmt.render.runs import print_verification, verification_json
    from ggfmt.sinks.messages.verification import verify as verify_output

    found = verify_output(output)
    if output_format == "json":
        write_text(verification_json(found), sys.stdout)
    else:
        print_verification(found, sys.stdout)
    if found.findings:
        raise typer.Exit(1)
