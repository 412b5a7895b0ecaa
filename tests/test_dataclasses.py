"""ggfmt's `dataclass` makes what Python's makes, of the options that ggfmt uses."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar

import pytest

import ggfmt.dataclasses

Decorate = Callable[..., Any]
MAKERS: tuple[Decorate, ...] = (dataclasses.dataclass, ggfmt.dataclasses.dataclass)


def classes(make: Decorate) -> dict[str, Any]:
    """Classes of one maker, by what is special about them."""

    @make(frozen=True)
    class Plain:
        a: int
        b: str = "x"
        c: list[int] = dataclasses.field(default_factory=list)
        shared: ClassVar[int] = 3

        @cached_property
        def twice(self) -> int:
            return 2 * self.a

    @make(frozen=True)
    class Child(Plain):
        d: int = 4
        b: str = "y"

    @make
    class Changed:
        a: int
        hidden: int = dataclasses.field(default=1, repr=False, compare=False)
        made: int = dataclasses.field(init=False)
        listed: list[int] = dataclasses.field(init=False, default_factory=list)

        def __post_init__(self) -> None:
            self.made = self.a + 1

    @make(frozen=True, kw_only=True)
    class ByName:
        a: int
        b: int = 2

    @make(frozen=True)
    class Mixed:
        a: int
        _: dataclasses.KW_ONLY
        b: int = 2

    @make(frozen=True, eq=False, repr=False)
    class Same:
        a: int
        b: int = 0

    @make(frozen=True)
    class Own:
        """It has its own methods."""

        a: int
        b: int = 0

        def __repr__(self) -> str:
            return "own"

        def __hash__(self) -> int:
            return 7

    @make(frozen=True)
    class OwnEquality:
        a: int
        b: int = 0

        def __eq__(self, other: object) -> bool:
            return True

    @make(frozen=True, order=True)
    class Ordered:
        a: int
        b: int = 0

    @make(frozen=True, slots=True)
    class Slots:
        a: int
        b: int = 0

    @make(frozen=True)
    class One:
        a: int

    @make
    class Nothing:
        pass

    every = Plain, Child, Changed, ByName, Mixed, Same, Own, OwnEquality, Ordered, Slots, One, Nothing
    return {each.__name__: each for each in every}


def result(call: Callable[[], object]) -> object:
    """What a call returns, or the class of its error."""
    try:
        return call()
    except Exception as error:
        return type(error)


def assigned(item: Any, name: str) -> object:
    setattr(item, name, 9)
    return getattr(item, name)


CALLS: dict[str, Callable[[Any], object]] = {
    "none": lambda cls: repr(cls()),
    "one": lambda cls: repr(cls(1)),
    "two": lambda cls: vars(cls(1, 2)),
    "names": lambda cls: vars(cls(a=1, b=2)),
    "unknown": lambda cls: cls(1, z=2),
    "too many": lambda cls: cls(*range(9)),
    "equal": lambda cls: (cls(1) == cls(1), cls(1) == cls(2), cls(1) != cls(1), cls(1) == 1),
    "hash": lambda cls: (hash(cls(1)) == hash(cls(1)), hash(cls(1)) == hash(cls(2))),
    "is hashable": lambda cls: cls.__hash__ is None,
    "less": lambda cls: cls(1) < cls(2),
    "assign": lambda cls: assigned(cls(1), "a"),
    "delete": lambda cls: delattr(cls(1), "a"),
    "fields": lambda cls: [(each.name, each.type, each.init, each.kw_only) for each in dataclasses.fields(cls)],
    "is one": dataclasses.is_dataclass,
    "replace": lambda cls: vars(dataclasses.replace(cls(1), a=5)),
    "as dict": lambda cls: dataclasses.asdict(cls(1)),
    "as tuple": lambda cls: dataclasses.astuple(cls(1)),
    "copy": lambda cls: copy.deepcopy(cls(1)) == cls(1),
    "cached": lambda cls: cls(4).twice,
    "match": lambda cls: cls.__match_args__,
    "error": lambda cls: cls.__init__.__name__,
}


@pytest.mark.parametrize("name", classes(MAKERS[0]))
def test_classes_are_those_of_python(name: str) -> None:
    of_python, own = (classes(make)[name] for make in MAKERS)
    for what, call in CALLS.items():
        if what == "one" and name == "Same":
            continue  # `object` shows the address
        expected, got = result(lambda: call(of_python)), result(lambda: call(own))  # noqa: B023
        assert got == expected, what


def test_a_missing_argument_is_named() -> None:
    own = classes(ggfmt.dataclasses.dataclass)["Plain"]
    with pytest.raises(TypeError, match=r"Plain\.__init__\(\) missing 1 required positional argument: 'a'"):
        own()
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'a'"):
        own(1).a = 2


@ggfmt.dataclasses.dataclass(frozen=True)
class Sent:
    """What another process gets."""

    a: int
    inner: tuple[Sent, ...] = ()


def test_objects_are_sent_before_any_is_made_there() -> None:
    sent = Sent(1, (Sent(2),))
    assert pickle.loads(pickle.dumps(sent)) == sent
    assert repr(sent) == "Sent(a=1, inner=(Sent(a=2, inner=()),))"


def test_python_makes_a_class_of_one_of_ours() -> None:
    @dataclasses.dataclass(frozen=True)
    class Child(Sent):
        b: int = 3

    assert Child(1, (), 2) == Child(1, b=2) != Child(1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        Child(1).b = 2  # type: ignore[misc]


def test_an_object_that_contains_itself_is_shown() -> None:
    changed = classes(ggfmt.dataclasses.dataclass)["Changed"](1)
    changed.listed.append(changed)
    assert repr(changed).endswith("listed=[...])")
