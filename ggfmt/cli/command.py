"""What all commands have in common: how much they tell and how, which may stand before or behind the name of a command,
and what becomes of Ctrl-C and other signals."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any, Literal

import typer

from ggfmt import logs, signals
from ggfmt.cli.messages import emit
from ggfmt.cli.parameters import command_parameters
from ggfmt.commands.declaration import Panel

PANEL: Panel = "What is told"

LogLevel = Annotated[
    Literal["error", "warn", "info", "debug", "trace"] | None,
    typer.Option("--log-level", help="How much to tell on standard error. Default: `info`.", rich_help_panel=PANEL),
]
LogFormat = Annotated[
    Literal["text", "json"] | None,
    typer.Option("--log-format", help="How to tell it. Default: `text`.", rich_help_panel=PANEL),
]
Verbose = Annotated[
    int,
    typer.Option(
        "-v",
        "--verbose",
        count=True,
        metavar="",
        show_default=False,
        help="Tell more; `-vv`: all.",
        rich_help_panel=PANEL,
    ),
]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Tell errors only.", rich_help_panel=PANEL)]

COMMON: dict[str, tuple[Any, object]] = {  # by name: the type, and the default
    "log_level": (LogLevel, None),
    "log_format": (LogFormat, None),
    "verbose": (Verbose, 0),
    "quiet": (Quiet, False),
}


def set_up_log(log_level: str | None, log_format: str | None, verbose: int, quiet: bool) -> None:
    """Let the log be as these options say; what none of them says stays."""
    if sum((log_level is not None, verbose > 0, quiet)) > 1:
        raise typer.BadParameter("give one of `--log-level`, `-v` and `-q`", param_hint="--log-level")
    level = "error" if quiet else ("debug", "trace")[min(verbose, 2) - 1] if verbose else log_level
    logs.configure(level, log_format)


def with_common_options(command: Callable[..., None]) -> Callable[..., None]:
    """The function of a command with the options that all have, and with a line for a signal that ends it."""

    own = command_parameters(command)
    kind = inspect.Parameter.KEYWORD_ONLY
    common = (
        inspect.Parameter(name, kind, default=default, annotation=type_) for name, (type_, default) in COMMON.items()
    )
    parameters = [*own.parameters, *common]

    @functools.wraps(command)
    def called(**arguments: Any) -> None:
        set_up_log(**{name: arguments.pop(name) for name in COMMON})
        try:
            signals.resume()
            command(**own.arguments(arguments))
        except KeyboardInterrupt as error:
            signals.suspend()
            emit("error", str(error) or signals.interruption())
            raise typer.Exit(signals.exit_code()) from None
        finally:
            signals.suspend()

    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {item.name: item.annotation for item in parameters}
    del called.__wrapped__
    return called
