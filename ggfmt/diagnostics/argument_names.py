"""Diagnostics name options of the command line. Errors of Python functions name their arguments instead.

Where an error is made, the caller may be either. So texts have options, such as `--mode append`, and the functions for
programs translate them at the edge: `mode="append"`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal

from ggfmt.dataclasses import dataclass, replace
from ggfmt.diagnostics.diagnostic import Diagnostic, GgfmtError
from ggfmt.lazy import lazy_regex

# A flag is true or false, pairs are a mapping, and keywords are arguments of their own: `**input_options`.
ArgumentKind = Literal["value", "number", "flag", "pairs", "keywords"]
_OPTION = lazy_regex(r"`(--?[a-z][a-z-]*)(?:[ =]([^`]+))?`")


@dataclass(frozen=True)
class ArgumentName:
    name: str
    kind: ArgumentKind = "value"

    def with_value(self, value: str | None) -> str:
        """Return the argument as a program gives it. `value`: as on the command line, None if the text has none."""
        if self.kind == "flag":
            return f"{self.name}=True"
        if value is None:
            return self.name
        value = value.strip("'")
        if self.kind == "number":
            return f"{self.name}={value}"
        if self.kind == "value":
            return f'{self.name}="{value}"'
        key, equals, given = value.rpartition("=")
        key, given = (key, f'"{given}"') if equals else (value, "...")
        return f"{key}={given}" if self.kind == "keywords" else f'{self.name}={{"{key}": {given}}}'


ArgumentNames = Mapping[str, ArgumentName]  # by the name of the option
NamesSource = Callable[[], ArgumentNames]  # it is called if there is an error
_source: ContextVar[NamesSource | None] = ContextVar("ggfmt_argument_names", default=None)


def current_names() -> NamesSource | None:
    """Return the names of arguments that hold here, for work that goes on when the function has returned."""
    return _source.get()


@contextmanager
def arguments_named(names: NamesSource | None) -> Iterator[None]:
    """Let the errors of a block name arguments; None: leave them as they are."""
    token = _source.set(names)
    try:
        yield
    except GgfmtError as error:
        if names is not None:
            known = names()
            error.diagnostics = tuple(with_arguments(each, known) for each in error.diagnostics)
            error.args = error.diagnostics
        raise
    finally:
        _source.reset(token)


def with_arguments(diagnostic: Diagnostic, names: ArgumentNames) -> Diagnostic:
    help = None if diagnostic.help is None else _translated(diagnostic.help, names)
    return replace(diagnostic, message=_translated(diagnostic.message, names), help=help)


def _translated(text: str, names: ArgumentNames) -> str:
    def argument(found: re.Match[str]) -> str:
        name = names.get(found[1])
        return found[0] if name is None else f"`{name.with_value(found[2])}`"

    return _OPTION.sub(argument, text)
