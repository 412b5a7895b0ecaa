"""The help of commands: how to call them comes first, then what they do, then the options.

It is made from the docstring of a command's function: its first paragraph is a sentence, and each paragraph that is one
`ggfmt ...` in backticks is a call.
"""

from __future__ import annotations

import inspect
import re
import shutil
import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import typer
from typer.core import TyperCommand

from ggfmt.cli.command import with_common_options

HELP = {"help_option_names": ["-h", "--help"]}
_CALL = re.compile(r"`(ggfmt [^`]+)`")

# Help on a terminal that has no room for typer's tables: each option in a line, and what it is below it.

LEAST_COLUMNS = 80  # of typer's tables: below that they cut the names of options


class Command(TyperCommand):
    """A command whose help fits a narrow terminal."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        columns = shutil.get_terminal_size().columns
        if columns >= LEAST_COLUMNS:
            super().format_help(ctx, formatter)
        else:
            formatter.write("\n".join(self._lines(ctx, columns)) + "\n")

    def _lines(self, ctx: Any, columns: int) -> Iterator[str]:
        usage = " ".join(self.collect_usage_pieces(ctx))
        yield from _wrapped(f"Usage: {ctx.command_path} {usage}", columns, "", "  ")
        yield ""
        calls, _, sentences = (self.help or "").removeprefix("```\n").partition("\n```\n")
        for call in calls.split("\n"):
            yield from _wrapped(call, columns, "  ", "      ")
        for sentence in sentences.split("\n\u00a0\n"):
            yield ""
            yield from _wrapped(sentence.replace("`", ""), columns, "", "")
        panels: dict[str, list[Any]] = {}
        for param in self.get_params(ctx):
            default = "Arguments" if param.param_type_name == "argument" else "Options"
            panels.setdefault(getattr(param, "rich_help_panel", None) or default, []).append(param)
        for title, params in panels.items():
            yield ""
            yield f"{title}:"
            for param in params:
                yield from _wrapped(_called(param), columns, "  ", "      ")
                yield from _wrapped(_told_of(param), columns, "      ", "      ")


def _called(param: Any) -> str:
    """An option or an argument as one writes it."""
    if param.param_type_name == "argument":
        return str(param.metavar or param.name)
    names = sorted((*param.opts, *param.secondary_opts), key=lambda name: name.startswith("--"))
    value = param.metavar or "|".join(getattr(param.type, "choices", ()))
    return f"{', '.join(names)} {value}".rstrip()


def _told_of(param: Any) -> str:
    text = (getattr(param, "help", None) or "").replace("`", "")
    return f"{text} Default: {param.default}." if isinstance(param.default, str) else text


def _wrapped(text: str, columns: int, first: str, rest: str) -> list[str]:
    return textwrap.wrap(text, columns, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)


def usage_first(calls: Sequence[str], paragraphs: Sequence[str]) -> str:
    """A help text in Markdown. It is one paragraph to typer, which would print others dim."""
    # A line of no-break spaces ends a paragraph of the reader, but none of typer.
    return "\n".join(("```", *calls, "```", "\n\u00a0\n".join(paragraphs)))


def command_name(command: Callable[..., None]) -> str:
    """Return what the command of a function is called."""
    return command.__name__.replace("_", "-")


def register(app: typer.Typer, command: Callable[..., None], *, bare: bool = False) -> None:
    """Make a function a command; `bare`: it can be called without anything, otherwise that shows its help."""
    paragraphs = [" ".join(part.split()) for part in inspect.cleandoc(command.__doc__ or "").split("\n\n")]
    calls = [match[1] for paragraph in paragraphs if (match := _CALL.fullmatch(paragraph))]
    sentences = [paragraph for paragraph in paragraphs if not _CALL.fullmatch(paragraph)]
    help = usage_first(calls, sentences)
    name = command_name(command)
    make = app.command(
        name, cls=Command, no_args_is_help=not bare, help=help, short_help=sentences[0], context_settings=HELP
    )
    make(with_common_options(command))
