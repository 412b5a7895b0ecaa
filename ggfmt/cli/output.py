"""What a command writes besides its result: findings and errors on standard error; and standard output that may fail.

With `--log-format json`, each finding and error is a line of JSON, as the lines of the log are.
"""

from __future__ import annotations

import codecs
import errno
import io
import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ggfmt import logs, signals
from ggfmt.cli.completion import PROGRAM
from ggfmt.diagnostics.codes import Severity
from ggfmt.diagnostics.diagnostic import Abend, CommittedWithErrors, Diagnostic, GgfmtError, UsageError
from ggfmt.render.terminal import AsciiOutput, is_interactive

if TYPE_CHECKING:
    from ggfmt.reading.progress import ProgressCallback
    from ggfmt.render.report.page import Report

# typer has no public name for the class of all errors in a call.
_Mistake: Any = [base for base in typer.BadParameter.__mro__ if hasattr(base, "format_message")][-1]
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warn", Severity.NOTE: "info"}  # names of log levels


def emit_findings(diagnostics: Iterable[Diagnostic]) -> None:
    diagnostics = list(diagnostics)
    if not diagnostics or sys.stderr is None:
        return
    if logs.is_json():
        from ggfmt.render.diagnostics import as_dict

        for diagnostic in diagnostics:
            members = as_dict(diagnostic)
            level = _LEVELS[diagnostic.severity]
            del members["severity"]
            emit_json(level, str(members.pop("message")), **members)
        return
    from ggfmt.render.diagnostics import print_diagnostics

    with suppress(OSError):
        print_diagnostics(diagnostics, sys.stderr)


def emit_warnings(diagnostics: Iterable[Diagnostic]) -> None:
    """Print warnings of handler files as findings, unless the log has only errors."""
    if logging.getLogger("ggfmt").isEnabledFor(logging.WARNING):
        emit_findings(diagnostics)


def wants_json(arguments: Sequence[str]) -> bool:
    """Return whether a call asks for JSON. The call may be invalid: its error must be JSON too."""
    called = " ".join(arguments).replace("--log-format=", "--log-format ")
    return " --log-format json " in f" {called} "


def run_with_json_errors(app: typer.Typer, arguments: Sequence[str]) -> int:
    """Run a call that reports errors in its arguments as JSON, and return its exit code."""
    try:
        code = app(arguments, prog_name=PROGRAM, standalone_mode=False)
    except _Mistake as error:
        emit_json("error", error.format_message(), code="usage")
        return int(error.exit_code)
    return code if isinstance(code, int) else 0


def emit(level: str, message: str) -> None:
    if logs.is_json():
        emit_json(level, message)
    elif sys.stderr is not None:
        with suppress(OSError):  # standard error may be full or closed by its reader
            sys.stderr.write(f"{message}\n")


def emit_json(level: str, message: str, **more: object) -> None:
    if sys.stderr is not None:  # it may be closed
        with suppress(OSError):
            sys.stderr.write(f"{logs.json_line(level, message, None, **more)}\n")


@contextmanager
def interrupt_before_commit() -> Iterator[None]:
    """Add "nothing was committed" to an interrupt that has no message of its own."""
    try:
        yield
    except KeyboardInterrupt as error:
        raise KeyboardInterrupt(str(error) or f"{signals.interruption()}; nothing was committed") from None


@contextmanager
def progress_bar(shown: bool | None, messages_on_terminal: bool = False) -> Iterator[ProgressCallback | None]:
    """Yield the callback that shows the progress of a run; None if nothing is shown.

    On a terminal it is a line on standard error, elsewhere and on a CI server lines in the log, on request. `shown`
    None: only on a terminal that gets no messages.
    """
    on_terminal = is_interactive(sys.stderr) and not logs.is_json()
    if shown is None:
        shown = on_terminal and not messages_on_terminal and logging.getLogger("ggfmt").isEnabledFor(logging.WARNING)
    if not shown:
        yield None
        return
    from ggfmt.render.progress import LogProgress, StatusLine

    watcher = StatusLine(sys.stderr) if on_terminal else LogProgress()
    with watcher:
        yield watcher.show


# The report of `--report` and `--open`, also of a command that an error ends.


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
            raise typer.BadParameter(
                f"`{file}` cannot be written; give a file in a directory that exists here", param_hint="--report"
            )
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
        emit("warning", f"{file} was not opened: this is not a terminal with a display")
        return
    import webbrowser

    if not webbrowser.open(Path(os.path.abspath(file)).as_uri()):
        emit("warning", f"{file} was not opened: no browser was found")


# Standard output that fails in one way, whether it is closed, full, or without a reader.


class Failure:
    """The error that kept standard output from being written; `is_reported`: an error was reported already."""

    error: OSError | None = None
    is_reported = False


class _StandardOutput(io.FileIO):
    """The bytes of standard output. After an error, drop further output, so that the error is reported once."""

    def __init__(self, number: int, failure: Failure) -> None:
        super().__init__(number, "w", closefd=False)
        self._failure = failure

    def write(self, data: object, /) -> int:
        view = memoryview(data)  # type: ignore[arg-type]
        if self._failure.error is not None:
            return view.nbytes
        try:
            return super().write(view)
        except OSError as error:
            self._failure.error = error
            raise


class _Closed(io.TextIOBase):
    encoding = "utf-8"

    def __init__(self, failure: Failure) -> None:
        self._failure = failure

    def write(self, text: str, /) -> int:
        self._failure.error = OSError(errno.EBADF, os.strerror(errno.EBADF))
        raise self._failure.error


def occupy_closed() -> None:
    """Open /dev/null for closed standard streams, whose numbers other files would get; output then fails."""
    for number, flags in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            with suppress(OSError):
                os.open(os.devnull, flags)


@contextmanager
def guarded_output() -> Iterator[Failure]:
    """Let `sys.stdout` record why it cannot be written, at the latest at the end of the context."""
    before, failure = sys.stdout, Failure()
    try:
        number = before.fileno()
        os.fstat(number)
        before.flush()
    except (AttributeError, OSError, ValueError):  # standard output does not exist, or is not a file
        if before is None:
            sys.stdout = _Closed(failure)
        try:
            yield failure
        finally:
            sys.stdout = before
        return
    raw = _StandardOutput(number, failure)
    # In a POSIX locale, Python passes on the bytes that ASCII lacks; `PYTHONIOENCODING=ascii` asks for escapes.
    is_posix = codecs.lookup(before.encoding).name == "ascii" and before.errors == "surrogateescape"
    guarded = (AsciiOutput if is_posix else io.TextIOWrapper)(
        io.BufferedWriter(raw),
        "utf-8" if is_posix else before.encoding,
        before.errors,
        newline=None,
        line_buffering=bool(before.line_buffering),
    )
    sys.stdout = guarded
    try:
        yield failure
    finally:
        sys.stdout = before
        for _ in range(2):  # the second flush drops what an error left in the buffer
            with suppress(OSError):
                guarded.flush()
        guarded.detach()
