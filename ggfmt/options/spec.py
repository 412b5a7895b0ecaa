"""The declaration of an option, and option sets made of declarations.

    @dataclass(frozen=True)
    class MyOptions(Options):
        pretty_print: bool = switch("Lay the message out over many lines.")

declares the property `prettyPrint`: the attribute is the snake_case of the property's name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict, TypeVar, cast

from ggfmt.dataclasses import dataclass, field, fields
from ggfmt.diagnostics.diagnostic import UsageError
from ggfmt.java.text import trim
from ggfmt.lazy import lazy_regex
from ggfmt.options import value_types
from ggfmt.options.releases import FIRST_RELEASE

if TYPE_CHECKING:
    from typing_extensions import Unpack

T = TypeVar("T")


class Need(str, Enum):
    """Whether a handler file has to have a property. `USUAL`: most files have it."""

    NONE = "optional"
    USUAL = "usual"
    REQUIRED = "required"


@dataclass(frozen=True)
class OptionSpec:
    """A property. `name` is the name in a properties file, `attr` the name in Python; empty if ggfmt does not apply it.

    A name may have a free part, as `partitioner.<TABLE>` has.

    since    first release of GoldenGate that has the option, a release as manuals name it; empty if none has it;
             `UNKNOWN` without a source
    until    last release that has it; None if it has not ended
    replaced_by  the property that later releases have in its place; empty if none is known
    aliases  other names, from real files and misprints in the manual
    example  a value to show, as in a properties file; None: the value type chooses one
    disputed  the releases whose manuals contradict themselves about what its values mean
    need     whether a handler file has to have it
    substitutes  other properties, one of which a handler file may have instead
    source   where it is known from; empty for what ggfmt itself declares
    doubtful  known from memory alone: nothing may depend on it
    changes  it changes messages, and ggfmt does not apply it
    custom   it names Java code of the user, which may change messages
    online   it has an effect on a process that goes on, and none on a batch
    """

    name: str
    attr: str
    kind: value_types.ValueType[Any]
    default: Any
    doc: str
    since: str = FIRST_RELEASE
    aliases: tuple[str, ...] = ()
    example: str | None = None
    until: str | None = None
    disputed: tuple[str, ...] = ()
    need: Need = Need.NONE
    source: str = ""
    doubtful: bool = False
    changes: bool = False
    replaced_by: str = ""
    substitutes: tuple[str, ...] = ()
    custom: bool = False
    online: bool = False

    @property
    def is_open(self) -> bool:
        return "<" in self.name

    def is_other_name(self, name: str) -> bool:
        """Return whether a name by which this property was found is not its own, in any case."""
        return not self.is_open and name.lower() != self.name.lower()

    @property
    def example_text(self) -> str:
        """Return a legal value as in a properties file, other than the default if ggfmt applies the property."""
        if self.example is not None:
            return self.example
        if not self.attr and not isinstance(self.kind, value_types.Bool | value_types.Choice):
            return self.default_text or "..."
        return _example(self.kind, self.default)

    @property
    def default_text(self) -> str:
        """Return the default as in a properties file; empty for none."""
        return value_types.escape_value(self.text(self.default))

    def text(self, value: Any) -> str:
        """Return a value as in a properties file; empty for None."""
        return "" if value is None else self.kind.render(value)

    def value(self, text: str) -> Any:
        """Return the value of a text; an empty one is the default, unless it is a value. Raises: InvalidValueError."""
        trimmed = trim(text)
        return self.kind.parse(trimmed) if trimmed or self.kind.keeps_empty else self.default


_DOUBLED = lazy_regex(r"(.+)format\.\1", re.DOTALL)


class PropertySet(tuple[OptionSpec, ...]):
    """Properties, which are found by name without regard to case: files that work with GoldenGate use any case."""

    @cached_property
    def _by_name(self) -> dict[str, OptionSpec]:
        found = {name.lower(): spec for spec in reversed(self) for name in spec.aliases}
        return found | {spec.name.lower(): spec for spec in reversed(self) if not spec.is_open}

    @cached_property
    def _open(self) -> tuple[tuple[str, str, OptionSpec], ...]:
        """The properties with a free part, each with the text before and after it."""
        parts = ((re.split("<.*>", spec.name.lower()), spec) for spec in self if spec.is_open)
        return tuple((start, end, spec) for (start, end), spec in parts)

    def find(self, name: str) -> OptionSpec | None:
        """Return the property that a name means: by its own name, an alias, or a doubled name."""
        folded = name.lower()
        found = self._by_name.get(folded)
        if found is None and "format." in folded and (doubled := _DOUBLED.fullmatch(folded)):
            found = self._by_name.get(doubled[1])
        if found is None and self._open:
            found = next((spec for start, end, spec in self._open if _is_between(folded, start, end)), None)
        return found

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(spec.name for spec in self if not spec.is_open)


NO_PROPERTIES = PropertySet()


def _is_between(name: str, start: str, end: str) -> bool:
    return len(name) > len(start) + len(end) and name.startswith(start) and name.endswith(end)


class Facts(TypedDict, total=False):
    """What a declaration may say besides, as in `OptionSpec`; `name`: if it is not made from the attribute."""

    since: str
    until: str | None
    aliases: tuple[str, ...]
    example: str
    name: str
    disputed: tuple[str, ...]
    replaced_by: str


def option(kind: value_types.ValueType[T], default: T | None, doc: str, **facts: Unpack[Facts]) -> T:
    """Declare an option as a dataclass field. If the default is None, annotate the attribute as `X | None`."""
    return cast(T, field(default=default, metadata={"kind": kind, "doc": doc, **facts}))


def switch(doc: str, default: bool = False, **facts: Unpack[Facts]) -> bool:
    """Declare an option that is `true` or `false`."""
    return option(value_types.Bool(), default, doc, **facts)


def choice(doc: str, *words: tuple[str, str], **facts: Unpack[Facts]) -> str:
    """Declare an option whose values are words, each with what it does; the first is the default."""
    return option(value_types.Choice(dict(words)), words[0][0], doc, **facts)


def _example(kind: value_types.ValueType[Any], default: Any) -> str:
    if isinstance(kind, value_types.Bool):
        return kind.render(not default)
    if isinstance(kind, value_types.Choice):
        return next(word for word in kind.words if word != default)
    if not isinstance(kind, (*_CANDIDATES, value_types.Text, value_types.Int)):
        return "..."
    return value_types.escape_value(
        kind.render(next(value for value in _candidates(kind, default) if value != default))
    )


_CANDIDATES: dict[type, tuple[Any, ...]] = {
    value_types.Charset: ("UTF-16BE", "UTF-8"),
    value_types.Size: (64 << 20, 1 << 20),
    value_types.SchemaDirectory: ("./schemas", "./out/schemas"),
    value_types.Path: ("./out", "./out2"),
    value_types.NamePart: (".json", ".txt"),
}


def _candidates(kind: value_types.ValueType[Any], default: Any) -> tuple[Any, ...]:
    """Return values to show; the first that is not the default is used."""
    known = next((values for type, values in _CANDIDATES.items() if isinstance(kind, type)), None)
    if known is not None:
        return known
    if isinstance(kind, value_types.Int):
        return kind.low, kind.low + 1
    if isinstance(kind, value_types.Delimiter):
        if kind.tokens:
            return ":" if default == "=" else ";", "|"
        return ("\r\n",) if kind.line else ("\n",) if default == "" else ("|", ";")
    if isinstance(kind, value_types.Representation):
        return ("-",) if default == "" else ("\\N", "-")
    return "X", "Y"


def property_name(attr: str) -> str:
    return re.sub(r"_(.)", lambda match: match[1].upper(), attr)


@dataclass(frozen=True)
class Options:
    """Base class of option sets, safe to send to a Spark worker. `of_goldengate`: releases of GoldenGate have them."""

    of_goldengate: ClassVar[bool] = True

    @classmethod
    def specs(cls) -> PropertySet:
        return _specs(cls)  # type: ignore[arg-type]  # mypy takes the __hash__ of instances for that of the class

    @classmethod
    def parse(cls, texts: Mapping[str, str]) -> Options:
        """Return options from texts by property name. Raises: InvalidValueError for the first illegal one."""
        specs = {spec.name: spec for spec in cls.specs()}
        return cls(**{specs[name].attr: specs[name].value(text) for name, text in texts.items()})

    def to(self, other: type[T], **own: object) -> T:
        """Return options of another class, with the values that both have, and others."""
        shared = {item.name for item in fields(self)} & {item.name for item in fields(other)}  # type: ignore[arg-type]
        return other(**{name: getattr(self, name) for name in shared} | own)

    def non_defaults(self) -> Iterator[tuple[OptionSpec, Any]]:
        for spec in self.specs():
            value = getattr(self, spec.attr)
            if value != spec.default:
                yield spec, value


@cache
def _specs(cls: type[Options]) -> PropertySet:
    specs = []
    for item in fields(cls):
        if "kind" in item.metadata:
            about = {"name": property_name(item.name), "attr": item.name, "default": item.default, **item.metadata}
            if not cls.of_goldengate:
                about["since"] = ""
            specs.append(OptionSpec(**about))
    return PropertySet(specs)


PropertyValue = str | bool | int | float


def property_text(key: object, value: object) -> str:
    """Return the value of a property as a handler file has it. Raises: UsageError GG565 for other types."""
    if not isinstance(key, str):
        raise argument_error(f"the name of a property is of the type {type(key).__name__}", "give a text")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float)):
        return str(value)
    message = f"the value of the property `{key}` is of the type {type(value).__name__}"
    raise argument_error(message, "give a text, a number or a boolean; leave out a property that has no value")


def argument_error(message: str, help: str | None) -> UsageError:
    return UsageError("GG565", message, help=help)


def refuse_empty(what: str, given: object) -> None:
    """Raises: UsageError GG565 for a text without a word, or a path that is the root: a variable of a shell may be
    empty.

    `given`: an argument, or several; those of other types have other checks. Paths are texts here: `Path("")` is `.`.
    """
    each = [given] if isinstance(given, (str, os.PathLike)) else given if isinstance(given, (list, tuple)) else ()
    for text in (os.fspath(one) for one in each if isinstance(one, (str, os.PathLike))):
        if not text.strip().strip("/"):
            found = "the root of the file system" if text.strip() else "empty"
            help = "look for an empty variable in the call; leave out an argument that has no value"
            raise argument_error(f"{what} is {found}", help)
