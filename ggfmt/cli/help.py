"""The help of commands: how to call them comes first, then what they do, then the options.

It is made from the docstring of a command's function: its first paragraph is a sentence, and each paragraph that is one
`ggfmt ...` in backticks is a call.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence

import typer

from ggfmt.cli.command import with_common_options
from ggfmt.cli.narrow_help import Command

HELP = {"help_option_names": ["-h", "--help"]}
_CALL = re.compile(r"`(ggfmt [^`]+)`")


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
