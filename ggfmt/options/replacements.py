"""The replacements of a run as data, without the code that applies them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ggfmt.java.text import visible

if TYPE_CHECKING:
    from ggfmt.java.regex import JavaRegex
    from ggfmt.java.replacement import Replacement


@dataclass(frozen=True)
class Transform:
    """A replacement in the values of the columns that its patterns select. Each pattern must match a whole name; None
    matches all."""

    PARTS: ClassVar[tuple[str, ...]] = ("catalog", "schema", "table", "column")

    name: str
    replacement: Replacement
    catalog: JavaRegex | None = None
    schema: JavaRegex | None = None
    table: JavaRegex | None = None
    column: JavaRegex | None = None

    def pattern(self, part: str) -> JavaRegex | None:
        """Return the pattern for a part of names."""
        return {"catalog": self.catalog, "schema": self.schema, "table": self.table, "column": self.column}[part]

    def key(self, part: str) -> str:
        """Return the property that contains the pattern for a part of names."""
        return f"gg.transform.{self.name}.matcher.{part}Regex"


@dataclass(frozen=True)
class Replacements:
    """The replacements of a run for names and values, in the order of their application; transforms come last."""

    schema: tuple[Replacement, ...] = ()
    content: tuple[Replacement, ...] = ()
    transforms: tuple[Transform, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.schema or self.content or self.transforms)

    def summary(self) -> Iterator[str]:
        """Describe each replacement in a line."""
        for what, pairs in (("names", self.schema), ("values", self.content)):
            for pair in pairs:
                yield f"in {what}, {_in_words(pair)}"
        for transform in self.transforms:
            patterns = ((part, transform.pattern(part)) for part in transform.PARTS)
            where = ", ".join(f"{part} `{visible(regex.java)}`" for part, regex in patterns if regex) or "all columns"
            yield f"in values by `{transform.name}` ({where}), {_in_words(transform.replacement)}"


def _in_words(pair: Replacement) -> str:
    return f"`{visible(pair.regex.java)}` is replaced by `{visible(pair.text)}`"
