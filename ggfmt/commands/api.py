"""The functions that programs call: their errors name arguments, and show the line of the program that is wrong."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from typing import ParamSpec, TypeVar

from ggfmt.commands.declaration import Option, Parameter, parameters
from ggfmt.diagnostics.argument_names import ArgumentKind, ArgumentName, ArgumentNames, arguments_named
from ggfmt.diagnostics.diagnostic import GgfmtError
from ggfmt.options.spec import refuse_empty

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


def names_in(function: Callable[..., object], requests: Sequence[type]) -> ArgumentNames:
    names: dict[str, ArgumentName] = {}
    for each, taken in _arguments(function, requests):
        if isinstance(each.argument, Option):
            keywords = taken.kind is inspect.Parameter.VAR_KEYWORD
            name = ArgumentName(each.name, "keywords" if keywords else _kind(each))
            names |= dict.fromkeys(each.argument.names or (each.option,), name)
    return names


def _arguments(
    function: Callable[..., object], requests: Sequence[type]
) -> Iterator[tuple[Parameter, inspect.Parameter]]:
    given = inspect.signature(function).parameters
    for each in (each for request in requests for each in parameters(request) if each.name in given):
        yield each, given[each.name]


def _kind(parameter: Parameter) -> ArgumentKind:
    if parameter.type is bool:
        return "flag"
    shown = str(parameter.shown_type)
    if "Properties" in shown or shown.startswith("Mapping[str, str]"):
        return "pairs"
    return "number" if shown.startswith(("int", "float")) and "str" not in shown else "value"


def api_function(function: Callable[P, T], *requests: type) -> Callable[P, T]:
    """Return a function whose errors name its arguments, and have no inner frames of ggfmt.

    `requests` declare its arguments; it takes their old names too, with a DeprecationWarning.
    """

    @cache
    def names() -> ArgumentNames:
        return names_in(function, requests)

    @cache
    def old_names() -> dict[str, str]:
        return {each.old.name: each.name for each, _ in _arguments(function, requests) if each.old}

    signature = inspect.signature(function)

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        __tracebackhide__ = True  # for IPython and pytest
        for old in kwargs.keys() & old_names().keys():
            new = old_names()[old]
            if new in kwargs:
                raise TypeError(f"{function.__name__}() got both `{new}` and `{old}`, its old name")
            message = f"the argument `{old}` of {function.__name__}() is now called `{new}`; the old name still works"
            warnings.warn(message, DeprecationWarning, stacklevel=2)
            kwargs[new] = kwargs.pop(old)
        try:
            with arguments_named(names):
                with suppress(TypeError):  # the function itself reports wrong arguments
                    given = signature.bind(*args, **kwargs).arguments
                    for each, _ in _arguments(function, requests):
                        if each.argument is not None:
                            refuse_empty(f"`{each.name}`", given.get(each.name))
                return function(*args, **kwargs)
        except GgfmtError as error:
            raise error.with_traceback(None) from None

    called.__module__ = "ggfmt"  # where programs, `help()` and pickle find it
    called.__annotations__ = function.__annotations__  # from Python 3.14 on, `wraps` leaves out what is set
    called.__signature__ = signature  # type: ignore[attr-defined]
    return called


def request_function(request: Callable[P, R], body: Callable[[R], T], name: str) -> Callable[P, T]:
    """Make the function that takes the fields of a request, with types that `help()` can show."""
    assert isinstance(request, type)
    given = parameters(request)
    types = {p.name: p.shown_type for p in given}
    kinds = {False: inspect.Parameter.POSITIONAL_OR_KEYWORD, True: inspect.Parameter.KEYWORD_ONLY}
    returned = body.__annotations__["return"]
    signature = inspect.Signature(
        [inspect.Parameter(p.name, kinds[p.keyword_only], default=p.default, annotation=types[p.name]) for p in given],
        return_annotation=returned,
    )

    def function(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{name}() {error}") from None
        return body(request(*args, **kwargs))

    function.__signature__ = signature  # type: ignore[attr-defined]
    function.__wrapped__ = body  # type: ignore[attr-defined]
    function.__annotations__ = {**types, "return": returned}
    function.__doc__ = request.__doc__
    function.__name__ = function.__qualname__ = name
    return api_function(function, request)
