"""`--report` and `--open`: the report that a command writes, also if an error ends it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ggfmt.cli.output import emit
from ggfmt.diagnostics.diagnostic import Abend, CommittedWithErrors, GgfmtError, UsageError
from ggfmt.render.terminal import is_interactive

if TYPE_CHECKING:
    from ggfmt.render.report.page import Report


class ReportFile:
    """The file of `--report`. A name that ends in `.html` gets a page, any other one JSON. `opens`: `--open`."""

    def __init__(self, command: str, file: Path | None, opens: bool = False, output: str | None = None) -> None:
        self.command, self.file, self.opens, self.output = command, file, opens, output
        self.is_page = file is not None and file.suffix.lower() in (".html", ".htm")
        if opens and not self.is_page:
            raise UsageError("GG565", "`--open` needs a page", help="give `--report FILE.html`")
        if file is None:
            return
        if str(file) == "-" or file.is_dir() or not file.parent.is_dir() or not _is_writable(file):
            raise typer.BadParameter(f"`{file}` cannot be written; give a file of this machine", param_hint="--report")
        if output is not None:
            from ggfmt.render.report.page import check_place

            check_place(file, output)

    @contextmanager
    def failures(self) -> Iterator[None]:
        """Write a page for an error or an interrupt, so that no page of an earlier run stands for this one."""
        try:
            yield
        except (GgfmtError, KeyboardInterrupt) as error:
            if self.file is not None and self.is_page:
                from ggfmt.render.report.page import failure, page, write_report

                ending = "Committed, with errors" if isinstance(error, CommittedWithErrors) else "Stopped by an error"
                found = error.diagnostics if isinstance(error, GgfmtError) else ()
                with suppress(GgfmtError):
                    write_report(page(failure(self.command, ending if found else str(error), found)), self.file)
            raise

    def write(self, report: Callable[[], Report], document: Callable[[], str], *, commits: bool = True) -> None:
        """Write the report of what is done. Raises: CommittedWithErrors GG506 if it cannot be written, Abend GG506 if
        nothing was committed."""
        if self.file is None:
            return
        from ggfmt.render.report.page import page, write_report

        done = "the run is committed" if commits else "the command is done"
        help = "do not run it again" if commits else "run it again with another file"
        if commits and self.output is not None:
            help += ": the manifest in the output directory has the same totals"
        message = f"{done}, but its report cannot be written"
        content = page(report()) if self.is_page else f"{document()}\n"
        write_report(content, self.file, CommittedWithErrors if commits else Abend, message, help)
        if self.opens:
            open_page(self.file)


def _is_writable(file: Path) -> bool:
    return os.access(file if file.exists() else file.parent, os.W_OK)


def open_page(file: Path) -> None:
    """Open a page in the browser of a person who sees this terminal."""
    has_display = sys.platform in ("darwin", "win32") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
    if not (is_interactive(sys.stderr) and is_interactive(sys.stdout) and has_display):
        emit("warning", f"{file} was not opened: there is no terminal with a display")
        return
    import webbrowser

    if not webbrowser.open(Path(os.path.abspath(file)).as_uri()):
        emit("warning", f"{file} was not opened: no browser was found")
