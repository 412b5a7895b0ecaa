"""Declare the arguments of a command once: as the fields of a dataclass, its request.

A field has a name, a Python type, a default, and what the command line needs besides: an `Option` or an `Argument`.
`ggfmt.commands.api` makes the Python function of a request, `ggfmt.cli.typer_commands` the parameters of its command.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import sys
from collections.abc import Callable, Sequence
from functools import cache
from types import ModuleType
from typing import Any, Literal, ParamSpec, TypeVar

from ggfmt.dataclasses import MISSING, dataclass, fields

P = ParamSpec("P")
T = TypeVar("T")

_ANNOTATED = "Annotated["
Panel = Literal["Input", "Handlers", "Output", "Kafka", "Spark", "Display", "Checks", "Fixes", "Logging"]


class Argument:
    """A value without a name on the command line.

    panel     the part of the help that lists it
    complete  the function of `ggfmt.cli.completion` that offers values
    file      a file of this machine; other paths may be URIs
    multiple  whether it may be repeated; None: if the Python type has a sequence
    min       the least number
    required  on the command line, although Python has a default
    """

    def __init__(
        self,
        *names: str,
        metavar: str | None = None,
        help: str = "",
        panel: Panel | None = None,
        complete: str | None = None,
        file: bool = False,
        multiple: bool | None = None,
        min: int | None = None,
        required: bool = False,
    ) -> None:
        self.names, self.metavar, self.help, self.panel = names, metavar, help, panel
        self.complete, self.file, self.multiple, self.min, self.required = complete, file, multiple, min, required


class Option(Argument):
    """A value with a name on the command line: `--NAME` as the parameter is called, or `names`."""


class PythonOnly:
    """An argument that the command line does not have."""


@dataclass(eq=False, repr=False)
class OldName:
    """The name in Python that an argument had in earlier releases. It goes on working, with a warning.

    value  the word that the option of this name stood for, if it was a flag
    """

    name: str
    value: str | None = None

    @property
    def option(self) -> str:
        return f"--{self.name.replace('_', '-')}"


@dataclass(eq=False, repr=False)
class After:
    """The place of an option in the help of the command: after the one of this name."""

    name: str


@dataclass(eq=False, repr=False)
class Parameter:
    """A parameter that a field of a request or a function declares.

    `type` has Any for names that only type checkers import; `default` may be `inspect.Parameter.empty`.
    """

    name: str
    type: Any
    default: Any
    metadata: Sequence[object]
    annotation: Any = None
    keyword_only: bool = False

    @property
    def argument(self) -> Argument | None:
        """Return what the command line needs; None if it does not have the parameter."""
        return next((each for each in self.metadata if isinstance(each, Argument)), None)

    @property
    def old(self) -> OldName | None:
        return next((each for each in self.metadata if isinstance(each, OldName)), None)

    @property
    def option(self) -> str:
        names = self.argument.names if self.argument is not None else ()
        return names[-1] if names else f"--{self.name.replace('_', '-')}"

    @property
    def shown_type(self) -> Any:
        if not isinstance(self.annotation, str):
            return self.type
        if not self.annotation.startswith(_ANNOTATED):
            return self.annotation
        annotated = ast.parse(self.annotation, mode="eval").body
        assert isinstance(annotated, ast.Subscript) and isinstance(annotated.slice, ast.Tuple)
        return ast.unparse(annotated.slice.elts[0])


@cache
def parameters(request: type) -> tuple[Parameter, ...]:
    """List the fields of a request in order, keyword-only fields last."""
    owners = {name: owner for owner in reversed(request.__mro__) for name in inspect.get_annotations(owner)}
    found = []
    for field in fields(request):
        type_, metadata = type_and_metadata(field.type, sys.modules[owners[field.name].__module__])
        default = inspect.Parameter.empty if field.default is MISSING else field.default
        found.append(Parameter(field.name, type_, default, metadata, field.type, bool(field.kw_only)))
    return tuple(sorted(found, key=lambda each: each.keyword_only))


def type_and_metadata(annotation: Any, module: ModuleType) -> tuple[Any, Sequence[object]]:
    """Evaluate an annotation of a module, and split it where it is `Annotated`."""
    if not isinstance(annotation, str):
        metadata = getattr(annotation, "__metadata__", ())
        return annotation.__origin__ if metadata else annotation, metadata
    if not annotation.startswith(_ANNOTATED):
        return _evaluated(annotation, module), ()
    type_, *metadata = _evaluated(annotation[len(_ANNOTATED) : -1], module)  # `Annotated[...]` itself is slow to make
    return type_, metadata


def _evaluated(expression: str, module: ModuleType) -> Any:
    code = compile(expression, module.__name__, "eval")
    names = vars(module)
    unknown = [name for name in code.co_names if name not in names and not hasattr(builtins, name)]
    return eval(code, {**names, **dict.fromkeys(unknown, Any)} if unknown else names)


def settings_from(request: object, settings: Callable[P, T]) -> Callable[P, T]:
    """Return a constructor of settings that takes fields of the same name and type from the request."""
    plain = {name: getattr(request, name) for name in shared_fields(type(request), settings)}

    def make(*args: P.args, **kwargs: P.kwargs) -> T:
        return settings(*args, **{**plain, **kwargs})

    return make


def shared_fields(request: type, settings: Any) -> list[str]:
    types = {field.name: field.type for field in fields(settings)}
    return [each.name for each in parameters(request) if each.name in types and types[each.name] == each.shown_type]
