"""`dataclass` as that of Python, but cheap to declare: ggfmt declares hundreds of classes at its start.

Python compiles up to six methods of each class. Here only `__init__` is compiled, when the first object is made.
Fields, `replace` and `asdict` are those of Python.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import (
    KW_ONLY,
    MISSING,
    Field,
    FrozenInstanceError,
    asdict,
    astuple,
    dataclass,
    field,
    fields,
    is_dataclass,
    replace,
)
from operator import attrgetter
from reprlib import recursive_repr
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

__all__ = ["KW_ONLY", "MISSING", "asdict", "astuple", "dataclass", "field", "fields", "is_dataclass", "replace"]

_of_python: Any = dataclass


@dataclass
class _Sample:
    field: int


_REGULAR: Any = vars(_Sample)["__dataclass_fields__"]["field"]._field_type  # how Python marks a field of objects

if not TYPE_CHECKING:

    def dataclass(cls=None, /, **options):
        """Make a class a dataclass. Options are those of Python, except that `__init__` has no signature."""
        make = _of_python if options.keys() & {"slots", "order"} else _make
        return (lambda cls: make(cls, **options)) if cls is None else make(cls, **options)


def _make(
    cls: Any, *, frozen: bool = False, init: bool = True, eq: bool = True, repr: bool = True, kw_only: bool = False
) -> Any:
    own = frozenset(vars(cls))
    if cls.__doc__ is None:
        cls.__doc__ = cls.__name__  # Python would make one of the signature
    _set_fields(cls, kw_only)
    cls.__dataclass_params__ = SimpleNamespace(frozen=frozen)  # a class that Python makes of this one looks there
    if init and "__init__" not in own:
        _set_init(cls, frozen)
    if repr and "__repr__" not in own:
        _set_repr(cls)
    if eq and "__eq__" not in own:
        _set_eq(cls)
    if eq and ("__hash__" not in own or cls.__hash__ is None):
        cls.__hash__ = _make_hash(cls) if frozen else None
    if frozen:
        cls.__setattr__, cls.__delattr__ = _refuse_assignment, _refuse_deletion
    return cls


def _set_fields(cls: Any, kw_only: bool) -> None:
    found: dict[str, Field[Any]] = {}
    for base in reversed(cls.__mro__[1:]):
        found |= vars(base).get("__dataclass_fields__", {})
    for name, type in cls.__annotations__.items():
        if type == "KW_ONLY" or type.endswith(".KW_ONLY"):
            kw_only = True
            continue
        if type.startswith(("ClassVar", "typing.ClassVar")):
            continue
        default = vars(cls).get(name, MISSING)
        made: Any = default if isinstance(default, Field) else field(default=default)
        made.name, made.type, made._field_type = name, type, _REGULAR
        made.kw_only = kw_only if made.kw_only is MISSING else made.kw_only
        if made.default is not MISSING:
            setattr(cls, name, made.default)
        elif made is default:
            delattr(cls, name)
        found[name] = made
    cls.__dataclass_fields__ = found
    cls.__match_args__ = tuple(each.name for each in found.values() if each.init and not each.kw_only)  # type: ignore[misc]


def _set_init(cls: Any, frozen: bool) -> None:
    def __init__(self: Any, *args: Any, **options: Any) -> None:
        cls.__init__ = compiled = _compile_init(cls, frozen)
        compiled(self, *args, **options)

    cls.__init__ = __init__


def _compile_init(cls: Any, frozen: bool) -> Callable[..., None]:
    names: dict[str, Any] = {"_missing": MISSING, "_set": object.__setattr__}
    arguments: dict[bool, list[str]] = {False: ["self"], True: []}
    lines = []
    for each in fields(cls):
        name = value = each.name
        default = ""
        if each.default_factory is not MISSING:
            names[f"_make_{name}"] = each.default_factory
            value = f"_make_{name}() if {name} is _missing else {name}" if each.init else f"_make_{name}()"
            default = "=_missing"
        elif each.default is not MISSING:
            names[f"_default_{name}"] = each.default
            default = f"=_default_{name}"
        if each.init:
            arguments[each.kw_only is True].append(name + default)
        if each.init or each.default_factory is not MISSING:
            lines.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    listed = ", ".join([*arguments[False], *(["*", *arguments[True]] if arguments[True] else [])])
    exec("\n ".join([f"def __init__({listed}):", *lines, "pass"]), names)
    made: Callable[..., None] = names["__init__"]
    made.__qualname__, made.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    return made


def _set_repr(cls: Any) -> None:
    shown = [each.name for each in fields(cls) if each.repr]

    @recursive_repr()
    def __repr__(self: Any) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"

    cls.__repr__ = __repr__


def _set_eq(cls: Any) -> None:
    values = _getter([each.name for each in fields(cls) if each.compare])

    def __eq__(self: Any, other: object) -> bool:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    cls.__eq__ = __eq__


def _make_hash(cls: Any) -> Callable[[Any], int]:
    values = _getter([each.name for each in fields(cls) if (each.compare if each.hash is None else each.hash)])
    return lambda self: hash(values(self))


def _getter(names: list[str]) -> Callable[[Any], object]:
    """Return a function that gets the values of these fields as a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda self: tuple(getattr(self, name) for name in names)


def _refuse_assignment(self: object, name: str, value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deletion(self: object, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")
