"""`ggfmt report`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from ggfmt.commands.declaration import Argument, Option


def report(
    output: Annotated[str, Argument(metavar="DIR", help="An output directory, as a path or a URI.")],
    html: Annotated[
        Path | None,
        Option(metavar="FILE", help="Write a page for a browser; `-`: to standard output."),
    ] = None,
    run: Annotated[
        str | None,
        Option(metavar="RUN", help="The id of a run, or the start of it; by default the last one."),
    ] = None,
) -> None:
    """Show what a run did, from its manifest.

    `ggfmt report out`

    `ggfmt report out --html report.html`

    `ggfmt report out --run 2026-01-31_18-30`

    The page is one file that needs no network. Ends with 0, or with 2 if the directory is no output of ggfmt.
    """
    from ggfmt.render.report.page import page, write_page
    from ggfmt.render.runs import print_run
    from ggfmt.sinks.messages.run_history import read_run

    found = read_run(output, run)
    if html is None:
        print_run(found, sys.stdout)
    elif str(html) == "-":
        sys.stdout.buffer.write(page(found).encode())
    else:
        write_page(found, html)
