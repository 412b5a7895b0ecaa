"""Help on a terminal that has no room for typer's tables: each option in a line, and what it is below it."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator
from typing import Any

from typer.core import TyperCommand

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
