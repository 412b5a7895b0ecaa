"""The functions that programs call: their errors name arguments, and show the line of the program that is wrong."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from functools import cache
from typing import ParamSpec, TypeVar

from ggfmt.commands.declaration import Option, Parameter, parameters
from ggfmt.diagnostics.argument_names import ArgumentKind, ArgumentName, ArgumentNames, arguments_named
from ggfmt.diagnostics.diagnostic import GgfmtError

P = ParamSpec("P")
T = TypeVar("T")


def names_in(function: Callable[..., object], requests: Sequence[type]) -> ArgumentNames:
    """Return the arguments of a function by the names of the options that requests declare for them."""
    given = inspect.signature(function).parameters
    names: dict[str, ArgumentName] = {}
    for each in (each for request in requests for each in parameters(request) if each.name in given):
        about = next((item for item in each.metadata if isinstance(item, Option)), None)
        if about is not None:
            keywords = given[each.name].kind is inspect.Parameter.VAR_KEYWORD
            name = ArgumentName(each.name, "keywords" if keywords else _kind(each))
            names |= dict.fromkeys(about.names or (f"--{each.name.replace('_', '-')}",), name)
    return names


def _kind(parameter: Parameter) -> ArgumentKind:
    if parameter.type is bool:
        return "flag"
    shown = str(parameter.shown_type)
    if "Properties" in shown or shown.startswith("Mapping[str, str]"):
        return "pairs"
    return "number" if shown.startswith(("int", "float")) and "str" not in shown else "value"


def api_function(function: Callable[P, T], *requests: type) -> Callable[P, T]:
    """Return a function whose errors name its arguments, and have no inner frames of ggfmt in their traceback.
    `requests` declare its arguments.
    """

    @cache
    def names() -> ArgumentNames:
        return names_in(function, requests)

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        __tracebackhide__ = True  # for IPython and pytest
        try:
            with arguments_named(names):
                return function(*args, **kwargs)
        except GgfmtError as error:
            raise error.with_traceback(None) from None

    called.__module__ = "ggfmt"  # where programs, `help()` and pickle find it
    called.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    return called
