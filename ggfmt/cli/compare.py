"""`ggfmt compare`."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

import typer

ComparisonFormat = Literal["text", "json", "github"]


def compare(
    a: Annotated[str, typer.Argument(metavar="A", help="A directory of tables or of files of one, or a file.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The same, for example a dump of the database.")],
    key: Annotated[
        str | None,
        typer.Option("--key", metavar="KEYS", help="`ID`, or by table `S.ORDERS=ID;S.LINES=ID,LINE`."),
    ] = None,
    table: Annotated[
        str | None,
        typer.Option("--table", metavar="NAME", help="Only this table, in full or by the last part of its name."),
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option("--ignore", metavar="COLUMN", help="A column that is not compared.")
    ] = None,
    csv_options: Annotated[
        list[str] | None,
        typer.Option("--csv-option", metavar="NAME=VALUE", help="How CSV is written; `b.null=\\\\N` of one side."),
    ] = None,
    examples: Annotated[
        int, typer.Option("--examples", metavar="N", min=0, help="How many rows of each kind to show for a table.")
    ] = 5,
    output_format: Annotated[
        ComparisonFormat, typer.Option("--output-format", help="How to print what is found.")
    ] = "text",
) -> None:
    """Compare two sets of rows, such as a consolidated result and a dump of the database.

    `ggfmt compare out dump --key ID`

    `ggfmt compare out/GG.ORDERS orders.csv --key ID --ignore UPDATED_AT`

    `ggfmt compare out dump --csv-option b.dialect=mysql --output-format github`

    Ends with 0 if both have the same rows, with 1 if not, with 2 if there is nothing to compare, with 3 if a file
    cannot be read.
    """
    from ggfmt.api import comparison
    from ggfmt.render.comparison import comparison_github, comparison_json, print_comparison
    from ggfmt.render.diagnostics.text import write_text

    found = comparison.compare(a, b, key, table, ignore, csv_options, examples)
    if output_format == "json":
        write_text(comparison_json(found), sys.stdout)
    elif output_format == "github":
        write_text(comparison_github(found), sys.stdout)
    else:
        print_comparison(found, sys.stdout)
    if not found.same:
        raise typer.Exit(1)
