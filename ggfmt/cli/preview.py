"""`ggfmt preview`."""

from __future__ import annotations

import sys
from dataclasses import replace

import typer

from ggfmt.cli.gc_control import gc_disabled
from ggfmt.cli.messages import emit_findings
from ggfmt.commands.inspection import PreviewRequest, run_preview


def preview(request: PreviewRequest) -> None:
    """Show the first messages of each table as a run would write them, and write nothing.

    `ggfmt preview changes.json --to delimitedtext`

    `ggfmt init avro_row -o avro.properties`

    `ggfmt preview changes.json -c avro.properties --table orders -n 1`

    Only the beginning of the inputs is read, but with `--table` as much as it takes. Ends with 4 if a record cannot be
    read or written.
    """
    with gc_disabled():
        from ggfmt.render.preview import print_preview

        result = run_preview(replace(request, warn=emit_findings))
        print_preview(result, sys.stdout)
    if result.rejected:
        raise typer.Exit(4)
