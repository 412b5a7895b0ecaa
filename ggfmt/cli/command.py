"""What all commands have in common: how much they tell and how, which may stand before or behind the name of a command,
and what becomes of Ctrl-C and other signals."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any, Literal, get_type_hints

import typer
from typer.models import OptionInfo

from ggfmt import logs, signals
from ggfmt.cli.messages import emit

PANEL = "What is told"

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

GROUPS: dict[str, tuple[str, ...]] = {  # the options of large commands; those of small ones stay together
    "Input": ("input_format", "input_config", "input_options", "definitions", "allow_empty", "checkpoint", "settle"),
    "Handlers": ("config", "to", "handlers", "settings", "current_timestamp"),
    "Output": ("output", "mode", "on_reject", "strict_fidelity", "report", "dry_run"),
    "Spark": ("master", "remote", "spark_conf", "java_home", "split_size", "max_record"),
    "What is shown": ("count", "table", "output_format", "stdin_filename"),
    "What is checked": ("strict", "select", "ignore", "extend_ignore", "machine", "isolated", "check"),
    "Fixes": ("fix", "diff", "unsafe_fixes"),
    PANEL: ("progress",),
}
_GROUP_OF = {name: group for group, names in GROUPS.items() for name in names}


def set_up_log(log_level: str | None, log_format: str | None, verbose: int, quiet: bool) -> None:
    """Let the log be as these options say; what none of them says stays."""
    if sum((log_level is not None, verbose > 0, quiet)) > 1:
        raise typer.BadParameter("give one of `--log-level`, `-v` and `-q`", param_hint="--log-level")
    level = "error" if quiet else ("debug", "trace")[min(verbose, 2) - 1] if verbose else log_level
    logs.configure(level, log_format)


def with_common_options(command: Callable[..., None]) -> Callable[..., None]:
    """The function of a command with the options that all have, and with a line for a signal that ends it."""

    @functools.wraps(command)
    def called(**arguments: Any) -> None:
        set_up_log(**{name: arguments.pop(name) for name in COMMON})
        try:
            signals.resume()
            command(**arguments)
        except KeyboardInterrupt as error:
            signals.suspend()
            emit("error", str(error) or signals.interruption())
            raise typer.Exit(signals.exit_code()) from None
        finally:
            signals.suspend()

    kind = inspect.Parameter.KEYWORD_ONLY
    hints = {**get_type_hints(command, include_extras=True), **{name: hint for name, (hint, _) in COMMON.items()}}
    for name, hint in hints.items():
        for about in getattr(hint, "__metadata__", ()):
            if isinstance(about, OptionInfo) and name in _GROUP_OF:
                about.rich_help_panel = _GROUP_OF[name]
    defaults = {name: item.default for name, item in inspect.signature(command).parameters.items()}
    defaults |= {name: default for name, (_, default) in COMMON.items()}
    called.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, kind, default=default, annotation=hints[name]) for name, default in defaults.items()]
    )
    called.__annotations__ = hints
    del called.__wrapped__
    return called
