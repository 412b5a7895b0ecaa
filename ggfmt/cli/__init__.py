"""The command line: the app, its commands, and the exit code of a call. No logic of a conversion is here.

Each command is a function of a module of this package. The function imports the modules of ggfmt that it needs, so that
a command loads no more than that.
"""

from __future__ import annotations

import errno
import sys
import traceback
from collections.abc import Sequence
from functools import cache
from importlib import import_module

import typer

from ggfmt import logs, signals
from ggfmt.cli import completion, typer_commands
from ggfmt.cli.completion import PROGRAM
from ggfmt.cli.output import Failure, emit, emit_findings, emit_json, guarded_output, run_with_json_errors, wants_json
from ggfmt.diagnostics.diagnostic import (
    AFTER_COMMIT,
    DONE,
    READER_GONE,
    STOPPED,
    Diagnostic,
    GgfmtError,
    package_error,
    unimported_package,
)
from ggfmt.out_of_memory import is_out_of_memory

# The commands in the order of the help, each with its module: a call imports that of its command alone.
_MODULES = {
    "run": "message_commands",
    **dict.fromkeys(("consolidate", "apply"), "data_commands"),
    **dict.fromkeys(("inspect", "preview", "demo", "schema"), "inspection_commands"),
    **dict.fromkeys(("verify", "compare", "report"), "data_commands"),
    "validate-config": "validate",
    **dict.fromkeys(("options", "explain", "init", "formats"), "reference"),
    "lsp": "validate",
    "doctor": "data_commands",
    **dict.fromkeys(("docs", "samples"), "reference"),
}
_FLAGS = ("-q", "--quiet", "-v", "-vv", "--verbose")
_BARE = ("demo", "formats", "lsp", "doctor", "docs", "samples")  # without arguments, they do not show their help
_CALLS = (
    "ggfmt demo",
    "ggfmt init json -o json.properties",
    "ggfmt run changes/ -c json.properties -o out",
    "ggfmt explain pkUpdateHandling",
    "ggfmt docs",
)
_ABOUT = "Change files in, the messages of a GoldenGate for Big Data handler out."


@cache
def make_app(*names: str) -> typer.Typer:
    """Return the app with these commands: typer builds every command of an app."""
    made = typer.Typer(
        cls=typer_commands.CommandGroup,
        no_args_is_help=True,
        rich_markup_mode="markdown",
        pretty_exceptions_enable=False,
        context_settings=typer_commands.HELP,
        help=typer_commands.usage_first(_CALLS, (_ABOUT,)),
    )
    made.callback()(typer_commands.common)
    for name in names:
        command = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name.replace("-", "_"))
        typer_commands.register(made, command, bare=name in _BARE)
    return made


def app_for(arguments: Sequence[str]) -> typer.Typer:
    """Return the app with the command that the first argument names, flags before it aside, or with all."""
    if list(arguments) in (["-V"], ["--version"]):
        return make_app()
    first = next((word for word in arguments if word not in _FLAGS), "")
    return make_app(first) if first in _MODULES else make_app(*_MODULES)


def __getattr__(name: str) -> typer.Typer:
    if name == "app":
        return make_app(*_MODULES)
    raise AttributeError(name)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code, one of `EXIT_CODES`."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    as_json = wants_json(given)
    with guarded_output() as failure:
        code = _run_guarded(given, as_json, failure)
    if failure.error is None or failure.is_reported or code == AFTER_COMMIT:
        return code
    return _report_unwritten(failure.error)


def _run_guarded(given: Sequence[str], as_json: bool, failure: Failure) -> int:
    """Run a call. `failure` has the error if standard output cannot be written."""
    try:
        return _run_call(given, as_json)
    except GgfmtError as error:
        if as_json:
            logs.configure(None, "json")  # an error in the arguments comes before the log is set up
        emit_findings(error.diagnostics)
        failure.is_reported = True
        return error.exit_code
    except Exception as error:
        if failure.error is not None:
            return STOPPED
        if is_out_of_memory(error):
            try:
                emit_findings([Diagnostic("GG505", "ggfmt has run out of memory", help=_MEMORY_HELP)])
            except Exception:
                raise MemoryError from None
            return STOPPED
        if signals.count():  # the signal was taken for another error
            emit("error", signals.interruption())
            return signals.exit_code()
        package = unimported_package(error)
        if package is not None and not package.startswith(PROGRAM):
            message = f"the package `{package}` is not installed"
            emit_findings([package_error("GG522", message, package, error, _PACKAGES_HELP)])
            return STOPPED
        if as_json:
            emit_json("error", "this is a defect of ggfmt", traceback=traceback.format_exc())
        else:
            emit("error", "This is a defect of ggfmt. What follows helps to find it.")
            emit("error", traceback.format_exc().rstrip())
        return STOPPED


_MEMORY_HELP = "give it more memory (see `ulimit -v`), or run with fewer processes: `--master 'none[1]'`"
_PACKAGES_HELP = "install ggfmt with its dependencies, not with `--no-deps`; `ggfmt doctor` lists what is missing"


def _report_unwritten(error: OSError) -> int:
    if error.errno == errno.EPIPE:
        return READER_GONE
    reason = "it is closed" if error.errno == errno.EBADF else (error.strerror or str(error)).lower()
    emit_findings([Diagnostic("GG506", f"standard output cannot be written: {reason}")])
    return STOPPED


def _run_call(given: Sequence[str], as_json: bool) -> int:
    try:
        completion.show_or_install(given)
        if as_json:
            return run_with_json_errors(app_for(given), given)
        app_for(given)(given, prog_name=PROGRAM)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return DONE
