"""`ggfmt compare`."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

import typer

from ggfmt.commands.comparison import CompareRequest, run_comparison
from ggfmt.commands.declaration import Option

ComparisonFormat = Literal["text", "json", "github"]


def compare(
    request: CompareRequest,
    output_format: Annotated[
        ComparisonFormat, Option(panel="What is shown", help="How to print what is found.")
    ] = "text",
) -> None:
    """Compare two sets of rows, such as a consolidated result and a dump of the database.

    `ggfmt compare out dump --key ID`

    `ggfmt compare out/GG.ORDERS orders.csv --key ID --ignore UPDATED_AT`

    `ggfmt compare out dump --csv-option b.dialect=mysql --output-format github`

    Ends with 0 if both have the same rows, with 1 if not, with 2 if there is nothing to compare, with 3 if a file
    cannot be read.
    """
    from ggfmt.render.comparison import comparison_github, comparison_json, print_comparison
    from ggfmt.render.diagnostics import write_text

    found = run_comparison(request)
    if output_format == "json":
        write_text(comparison_json(found), sys.stdout)
    elif output_format == "github":
        write_text(comparison_github(found), sys.stdout)
    else:
        print_comparison(found, sys.stdout)
    if not found.same:
        raise typer.Exit(1)
