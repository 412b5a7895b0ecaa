"""What a command tells on standard error besides its log: findings, mistakes in its call, interrupts.

With `--log-format json` each is a line of JSON, as those of the log are.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ggfmt import logs
from ggfmt.diagnostics.diagnostic import Diagnostic


def tell_findings(diagnostics: Sequence[Diagnostic]) -> None:
    """Tell of findings, each with its place and its help."""
    if not diagnostics:
        return
    if logs.is_json():
        from ggfmt.render.diagnostics.text import as_dict

        for diagnostic in diagnostics:
            members = as_dict(diagnostic)
            level = str(members.pop("severity"))
            tell_json(level, str(members.pop("message")), **members)
        return
    from ggfmt.render.diagnostics.text import print_diagnostics

    print_diagnostics(diagnostics, sys.stderr)


def tell(level: str, message: str) -> None:
    """Tell one thing in a line."""
    if logs.is_json():
        tell_json(level, message)
    else:
        sys.stderr.write(f"{message}\n")


def tell_json(level: str, message: str, **more: object) -> None:
    sys.stderr.write(f"{logs.json_line(level, message, None, **more)}\n")


@contextmanager
def nothing_committed_yet() -> Iterator[None]:
    """Says so of an interrupt that does not say what is true of it."""
    try:
        yield
    except KeyboardInterrupt as error:
        raise KeyboardInterrupt(str(error) or "interrupted; nothing was committed") from None
