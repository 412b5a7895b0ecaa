"""What `ggfmt run --dry-run` prints."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ggfmt.sinks.dry_run import DryRun


def show_plan(planned: DryRun) -> None:
    """Print what the run would do."""
    from ggfmt.render.diagnostics.text import write_text
    from ggfmt.render.dry_run import dry_run_text

    whole = logging.getLogger("ggfmt").isEnabledFor(logging.DEBUG)
    write_text(dry_run_text(planned, whole), sys.stdout)
