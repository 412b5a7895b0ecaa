"""The parameters of commands for typer, made from what `ggfmt.commands` and the functions of commands declare."""

from __future__ import annotations

import inspect
import pathlib
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typer

from ggfmt.cli import completion
from ggfmt.commands.declaration import After, Argument, Option, Parameter, parameters, type_and_metadata

_REQUIRED = inspect.Parameter.empty
_NUMBERS_AND_FLAGS = (bool, int, float)


class CommandParameters:
    """The parameters of a command. `requests` are the classes of the requests that its function takes, by parameter."""

    def __init__(self, parameters: Sequence[inspect.Parameter], requests: Mapping[str, type]) -> None:
        self.parameters, self.requests = parameters, requests

    def arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Make the arguments of the function from the values of the command line."""
        left = dict(given)
        made = {}
        for name, request in self.requests.items():
            made[name] = request(**{each.name: left.pop(each.name) for each in parameters(request) if _declared(each)})
        return {**made, **left}


def command_parameters(command: Callable[..., None]) -> CommandParameters:
    """Spread the requests that a function takes into options and arguments, among those that it declares itself."""
    module = sys.modules[command.__module__]
    requests: dict[str, type] = {}
    declared: list[Parameter] = []
    for item in inspect.signature(command).parameters.values():
        type_, metadata = type_and_metadata(item.annotation, module)
        if is_dataclass(type_):
            assert isinstance(type_, type)
            requests[item.name] = type_
            declared += parameters(type_)
        else:
            declared.append(Parameter(item.name, type_, item.default, metadata))
    return CommandParameters(list(filter(None, map(_typer_parameter, _ordered(declared)))), requests)


def _ordered(declared: Sequence[Parameter]) -> list[Parameter]:
    """Put parameters where their `After` says."""
    ordered = list(declared)
    for item in declared:
        for about in item.metadata:
            if isinstance(about, After):
                ordered.remove(item)
                ordered.insert([each.name for each in ordered].index(about.name) + 1, item)
    return ordered


def _declared(parameter: Parameter) -> Argument | None:
    """Return what the command line has of a parameter."""
    return next((each for each in parameter.metadata if isinstance(each, Argument)), None)


def _typer_parameter(declared: Parameter) -> inspect.Parameter | None:
    """Make typer's parameter of one that is declared; None if the command line does not have it."""
    about = _declared(declared)
    if about is None:
        return None
    default = _REQUIRED if about.required else declared.default
    hint = _hint(declared.name, declared.type, default is None, about)
    return inspect.Parameter(declared.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


@cache  # several commands have the same options, and `Annotated` is slow to make
def _hint(name: str, type_: Any, optional: bool, about: Argument) -> Any:
    parsed = _command_line_type(type_, about)
    return Annotated[parsed | None if optional else parsed, _info(name, about)]


def _info(name: str, about: Argument) -> Any:
    """Make typer's description of an option or an argument."""
    shared: dict[str, Any] = {
        "metavar": about.metavar,
        "help": about.help,
        "autocompletion": None if about.complete is None else getattr(completion, about.complete),
    }
    if not isinstance(about, Option):
        return typer.Argument(**shared)
    names = about.names or (f"--{name.replace('_', '-')}",)
    return typer.Option(*names, min=about.min, rich_help_panel=about.panel, **shared)


def _command_line_type(type_: Any, about: Argument) -> Any:
    """Choose the type that the command line parses: a number, a flag, one of a few words, and else a text or a list of
    texts; the Python function parses these."""
    kinds = [kind for kind in _alternatives(type_) if kind is not NoneType]
    if len(kinds) == 1 and (kinds[0] in _NUMBERS_AND_FLAGS or get_origin(kinds[0]) is Literal):
        return kinds[0]
    text = pathlib.Path if about.file or pathlib.Path in kinds else str
    repeated = about.multiple
    if repeated is None:
        repeated = any(get_origin(kind) in (list, Sequence) for kind in kinds)
    return list[text] if repeated else text  # type: ignore[valid-type]


def _alternatives(type_: Any) -> tuple[Any, ...]:
    return get_args(type_) if get_origin(type_) in (Union, UnionType) else (type_,)
