"""What all commands have in common."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand

from ggfmt.cli.telling import tell

INTERRUPTED = 130  # as shells have it: 128, and the number of the signal


class Command(TyperCommand):
    """A command that tells of Ctrl-C in a line."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            tell("error", str(error) or "interrupted")
            raise typer.Exit(INTERRUPTED) from None
