"""Typer commands made from functions: their parameters, the options that all commands have, and their help."""

from __future__ import annotations

import copy
import functools
import inspect
import logging
import pathlib
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typer
from typer.core import TyperCommand, TyperGroup

from ggfmt import logs, signals
from ggfmt.cli import completion
from ggfmt.cli.output import emit
from ggfmt.commands.declaration import After, Argument, OldName, Option, Panel, Parameter, parameters, type_and_metadata
from ggfmt.dataclasses import is_dataclass
from ggfmt.lazy import lazy_regex
from ggfmt.options.spec import refuse_empty
from ggfmt.render.terminal import is_plain

_log = logging.getLogger(__name__)

_REQUIRED = inspect.Parameter.empty
_NUMBERS_AND_FLAGS = (bool, int, float)
_MAX_CHOICES = 24  # characters of choices in a line of the help


class CommandParameters:
    """The parameters of a command's function, with the fields of each request that it takes in place of the request."""

    def __init__(self, command: Callable[..., None]) -> None:
        self._requests: dict[str, type] = {}
        self._declared: list[Parameter] = []
        for item in inspect.signature(command).parameters.values():
            type_, metadata = type_and_metadata(item.annotation, sys.modules[command.__module__])
            if isinstance(type_, type) and is_dataclass(type_):
                self._requests[item.name] = type_
                self._declared += parameters(type_)
            else:
                self._declared.append(Parameter(item.name, type_, item.default, metadata))
        for parameter in list(self._declared):
            for about in parameter.metadata:
                if isinstance(about, After):
                    self._declared.remove(parameter)
                    place = [each.name for each in self._declared].index(about.name) + 1
                    self._declared.insert(place, parameter)

    @property
    def parameters(self) -> list[inspect.Parameter]:
        """Return typer's parameters. Options by their old names are at the end, and not in the help."""
        made = []
        for each in self._declared:
            if each.argument is not None:
                default = _REQUIRED if each.argument.required else each.default
                hint = _hint(each.name, each.type, default is None, each.argument)
                made.append(_keyword_only(each.name, default, hint))
        for each, old in self._renamed():
            assert each.argument is not None
            parsed = bool if old.value is not None else _command_line_type(each.type, each.argument)
            made.append(_keyword_only(old.name, None, Annotated[parsed | None, typer.Option(old.option, hidden=True)]))
        return made

    def _renamed(self) -> Iterator[tuple[Parameter, OldName]]:
        for each in self._declared:
            if isinstance(each.argument, Option) and each.old is not None:
                yield each, each.old

    def arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        left = dict(given)
        for each, old in self._renamed():
            value = left.pop(old.name)
            if value is None or value == []:
                continue
            if left[each.name] not in (each.default, []):
                raise typer.BadParameter(f"`{each.option}` is its new name: give that alone", param_hint=old.option)
            left[each.name] = value if old.value is None else old.value
            new = each.option if old.value is None else f"{each.option} {old.value}"
            _log.warning("`%s` is now called `%s`; the old name still works", old.option, new)
        made = {}
        for name, request in self._requests.items():
            made[name] = request(**{each.name: left.pop(each.name) for each in parameters(request) if each.argument})
        return {**made, **left}


def _keyword_only(name: str, default: Any, hint: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


@cache  # several commands share options, and `Annotated` is slow to make
def _hint(name: str, type_: Any, optional: bool, about: Argument) -> Any:
    offers = None if about.complete is None else getattr(completion, about.complete)
    parsed = _command_line_type(type_, about)
    metavar = about.metavar or ""
    choices = "|".join(get_args(parsed)) if get_origin(parsed) is Literal else ""
    if len(metavar or choices) > _MAX_CHOICES:
        metavar = (metavar or choices).replace("|", " | ")  # typer breaks it between words
    if not isinstance(about, Option) and get_origin(parsed) is list and "..." not in metavar:
        metavar += "..."
    shared: dict[str, Any] = {"metavar": metavar or None, "help": about.help, "autocompletion": offers}
    if isinstance(about, Option):
        names = about.names or (f"--{name.replace('_', '-')}",)
        info = typer.Option(*names, min=about.min, rich_help_panel=about.panel, **shared)
    else:
        info = typer.Argument(**shared)
    return Annotated[parsed | None if optional else parsed, info]


def _command_line_type(type_: Any, about: Argument) -> Any:
    """Return the type that the command line parses; texts are left to the Python function."""
    members = get_args(type_) if get_origin(type_) in (Union, UnionType) else (type_,)
    kinds = [kind for kind in members if kind is not NoneType]
    if len(kinds) == 1 and (kinds[0] in _NUMBERS_AND_FLAGS or get_origin(kinds[0]) is Literal):
        return kinds[0]
    text = pathlib.Path if about.file or pathlib.Path in kinds else str
    repeated = about.multiple
    if repeated is None:
        repeated = any(get_origin(kind) in (list, Sequence) for kind in kinds)
    return list[text] if repeated else text  # type: ignore[valid-type]


# The options that all commands have, before or after the name of the command, and signals during a command.

PANEL: Panel = "Logging"

_Level = Literal["error", "warn", "info", "debug", "trace"]


def _print_version(wanted: bool) -> None:
    if wanted:
        from ggfmt.cli.reference import version_text

        typer.echo(version_text())
        raise typer.Exit


def common(
    log_level: Annotated[
        _Level | None,
        typer.Option(
            "--log-level",
            metavar=" | ".join(get_args(_Level)),
            help="Level of the log on standard error. Default: `info`.",
            rich_help_panel=PANEL,
        ),
    ] = None,
    log_format: Annotated[
        Literal["text", "json"] | None,
        typer.Option("--log-format", help="Format of the log. Default: `text`.", rich_help_panel=PANEL),
    ] = None,
    verbose: Annotated[
        int,
        typer.Option(
            "-v",
            "--verbose",
            count=True,
            metavar="",
            show_default=False,
            help="Log more; `-vv`: everything.",
            rich_help_panel=PANEL,
        ),
    ] = 0,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Log errors only.", rich_help_panel=PANEL)] = False,
    version: Annotated[
        bool, typer.Option("-V", "--version", callback=_print_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    logs.set_up("info", "text")
    _set_up_log(log_level, log_format, verbose, quiet)


COMMON = dict(inspect.signature(common, eval_str=True).parameters)
del COMMON["version"]


def _set_up_log(log_level: str | None, log_format: str | None, verbose: int, quiet: bool) -> None:
    if sum((log_level is not None, verbose > 0, quiet)) > 1:
        raise typer.BadParameter("give one of `--log-level`, `-v` and `-q`", param_hint="--log-level")
    level = "error" if quiet else ("debug", "trace")[min(verbose, 2) - 1] if verbose else log_level
    logs.configure(level, log_format, _fitted)


def _fitted(line: str) -> str:
    """Break a line of the log between words, if a person reads it on a terminal."""
    from ggfmt.render.terminal import columns_of, is_interactive
    from ggfmt.render.wrapping import wrap_lines

    return wrap_lines(line, columns_of(sys.stderr)).rstrip("\n") if is_interactive(sys.stderr) else line


def with_common_options(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command's function with the options of all commands, which a signal ends with a message."""

    own = CommandParameters(command)
    parameters = [*own.parameters, *(each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in COMMON.values())]

    @functools.wraps(command)
    def called(**arguments: Any) -> None:
        _set_up_log(**{name: arguments.pop(name) for name in COMMON})
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


# The help of commands: first how to call them, then what they do, then the options. It is made from the docstring of a
# command's function: its first paragraph is one sentence, and a paragraph that is one `ggfmt ...` in backticks is a
# call.

HELP = {"help_option_names": ["-h", "--help"]}
_CALL = lazy_regex(r"`(ggfmt [^`]+)`")

MIN_COLUMNS = 80  # typer's tables cut the names of options if they are narrower


class HelpFormat:
    """How commands, and the whole program, show their help: on a narrow or plain terminal without tables."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        if is_plain() or shutil.get_terminal_size().columns < MIN_COLUMNS:
            shown: Any = copy.copy(self)
            shown.rich_markup_mode = None
            shown.help = shown.help.replace("\n", "\n\n").translate({ord(mark): None for mark in "`\u00a0"}).strip()
            formatter = ctx.make_formatter()
            super(HelpFormat, shown).format_help(ctx, formatter)  # type: ignore[misc]
            typer.echo(formatter.getvalue(), nl=False)
            return
        from typer import rich_utils

        from ggfmt.render.pages import TerminalPage

        rich_utils.Markdown = TerminalPage  # type: ignore[attr-defined]
        super().format_help(ctx, formatter)  # type: ignore[misc]


class Command(HelpFormat, TyperCommand):
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not ctx.resilient_parsing:
            given, _, _ = self.make_parser(ctx).parse_args(list(args))  # before typer makes a `.` of an empty path
            for each in self.params:
                name = each.opts[-1] if each.opts[0].startswith("-") else each.metavar or each.name or ""
                refuse_empty(f"`{name.removesuffix('...')}`", given.get(each.name or ""))
        return super().parse_args(ctx, args)


# What people call commands, who know other tools
_MEANT = {
    "convert": "run", "lint": "validate-config", "check": "validate-config", "validate": "validate-config",
    "diff": "compare", "load": "apply", "merge": "consolidate", "head": "preview", "show": "preview",
    "detect": "inspect", "describe": "inspect",
}  # fmt: skip


class CommandGroup(HelpFormat, TyperGroup):
    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] in _MEANT and self.get_command(ctx, args[0]) is None:
            ctx.fail(f"No such command '{args[0]}'. Use 'ggfmt {_MEANT[args[0]]}'.")
        return super().resolve_command(ctx, args)


def usage_first(calls: Sequence[str], paragraphs: Sequence[str]) -> str:
    """Return a help text in Markdown. It is one paragraph to typer, which would print further paragraphs dim."""
    # A line of no-break spaces ends a paragraph for the reader, but not for typer.
    return "\n".join(("```", *calls, "```", "\n\u00a0\n".join(paragraphs)))


def register(app: typer.Typer, command: Callable[..., None], *, bare: bool = False) -> None:
    """Make a function a command. `bare`: a call without arguments does not show its help."""
    paragraphs = [" ".join(part.split()) for part in inspect.cleandoc(command.__doc__ or "").split("\n\n")]
    calls = [match[1] for paragraph in paragraphs if (match := _CALL.fullmatch(paragraph))]
    sentences = [paragraph for paragraph in paragraphs if not _CALL.fullmatch(paragraph)]
    help = usage_first(calls, sentences)
    name = command.__name__.replace("_", "-")
    make = app.command(
        name, cls=Command, no_args_is_help=not bare, help=help, short_help=sentences[0], context_settings=HELP
    )
    make(with_common_options(command))
