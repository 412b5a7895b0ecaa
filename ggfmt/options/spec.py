"""The declaration of an option, and option sets made of declarations.

    @dataclass(frozen=True)
    class MyOptions(Options):
        pretty_print: bool = option(Bool(), False, "Lay the message out over many lines.")

declares the property `prettyPrint`: the attribute is the snake_case of the property's name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, ClassVar, TypeVar, cast

from ggfmt.java.text import trim
from ggfmt.options.releases import FIRST_RELEASE
from ggfmt.options.value_types import (
    Bool,
    Charset,
    Choice,
    Delimiter,
    Int,
    NamePart,
    Path,
    Representation,
    SchemaDirectory,
    Size,
    ValueType,
    escaped,
)

T = TypeVar("T")


@dataclass(frozen=True)
class OptionSpec:
    """One option: `name` as in a properties file, `attr` as in Python.

    `since` is the release of GoldenGate that it came with, empty if none has it, and `until` the last that has it, None
    if it has not ended: keys of `RELEASES`.

    `aliases` are other names that real files and the manual's own misprints use. `example` is a value to show, as a
    properties file writes it; None leaves it to the kind.
    """

    name: str
    attr: str
    kind: ValueType[Any]
    default: Any
    doc: str
    since: str
    aliases: tuple[str, ...]
    example: str | None = None
    until: str | None = None

    @property
    def example_text(self) -> str:
        """A legal value other than the default, as a properties file would give it."""
        return _example(self.kind, self.default) if self.example is None else self.example

    @property
    def default_text(self) -> str:
        """The default as a properties file would give it; empty for none."""
        return escaped(self.text(self.default))

    def text(self, value: Any) -> str:
        """The value as a properties file would give it; empty for an option that was not given and has no default."""
        return "" if value is None else self.kind.render(value)

    def value(self, text: str) -> Any:
        """The value of a property's text, or InvalidValueError; no text means the default, where it is no value
        itself."""
        trimmed = trim(text)
        return self.kind.parse(trimmed) if trimmed or self.kind.keeps_empty else self.default


def option(
    kind: ValueType[T],
    default: T | None,
    doc: str,
    *,
    since: str = FIRST_RELEASE,
    until: str | None = None,
    aliases: tuple[str, ...] = (),
    example: str | None = None,
) -> T:
    """A dataclass field that declares an option; for a default of None the attribute is to be typed `X | None`."""
    metadata = {"kind": kind, "doc": doc, "since": since, "until": until, "aliases": aliases, "example": example}
    return cast(T, field(default=default, metadata=metadata))


def _example(kind: ValueType[Any], default: Any) -> str:
    if isinstance(kind, Bool):
        return kind.render(not default)
    if isinstance(kind, Choice):
        return next(word for word in kind.words if word != default)
    return escaped(kind.render(next(value for value in _candidates(kind, default) if value != default)))


def _candidates(kind: ValueType[Any], default: Any) -> tuple[Any, ...]:
    """Values to show, the first of which that is not the default is taken."""
    if isinstance(kind, Charset):
        return "UTF-16BE", "UTF-8"
    if isinstance(kind, Size):
        return 64 << 20, 1 << 20
    if isinstance(kind, Int):
        return kind.low, kind.low + 1
    if isinstance(kind, SchemaDirectory):
        return ("./schemas", "./out/schemas")
    if isinstance(kind, Path):
        return "./out", "./out2"
    if isinstance(kind, NamePart):
        return ".json", ".txt"
    if isinstance(kind, Delimiter):
        if kind.tokens:
            return ":" if default == "=" else ";", "|"
        return ("\r\n",) if kind.line else ("\n",) if default == "" else ("|", ";")
    if isinstance(kind, Representation):
        return ("-",) if default == "" else ("\\N", "-")
    return "X", "Y"


def property_name(attr: str) -> str:
    """`include_op_type` -> `includeOpType`."""
    return re.sub(r"_(.)", lambda match: match[1].upper(), attr)


@dataclass(frozen=True)
class Options:
    """Base of every option set: frozen, comparable, hashable, and safe to send to a Spark worker.

    `of_goldengate` is false for options that no release of GoldenGate has.
    """

    of_goldengate: ClassVar[bool] = True

    @classmethod
    def specs(cls) -> tuple[OptionSpec, ...]:
        return _specs(cls)  # type: ignore[arg-type]  # mypy takes the __hash__ of instances for that of the class

    @classmethod
    def parse(cls, texts: Mapping[str, str]) -> Options:
        """Options from property texts by property name; InvalidValueError for the first illegal one."""
        specs = {spec.name: spec for spec in cls.specs()}
        return cls(**{specs[name].attr: specs[name].value(text) for name, text in texts.items()})

    def non_defaults(self) -> Iterator[tuple[OptionSpec, Any]]:
        """The options whose value is not their default."""
        for spec in self.specs():
            value = getattr(self, spec.attr)
            if value != spec.default:
                yield spec, value


@cache
def _specs(cls: type[Options]) -> tuple[OptionSpec, ...]:
    return tuple(
        OptionSpec(
            name=property_name(item.name),
            attr=item.name,
            kind=item.metadata["kind"],
            default=item.default,
            doc=item.metadata["doc"],
            since=item.metadata["since"] if cls.of_goldengate else "",
            until=item.metadata["until"],
            aliases=item.metadata["aliases"],
            example=item.metadata["example"],
        )
        for item in fields(cls)
        if "kind" in item.metadata
    )
