"""The replacements of a run, without the machinery that carries them out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ggfmt.java.text import visible

if TYPE_CHECKING:
    from ggfmt.java.replacement import Replacement


@dataclass(frozen=True)
class Replacements:
    """The replacements of a run, for names and for values, in the order in which they are carried out."""

    schema: tuple[Replacement, ...] = ()
    content: tuple[Replacement, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.schema or self.content)

    def summary(self) -> Iterator[str]:
        """What is replaced, in words, one line for each pair."""
        for what, pairs in (("names", self.schema), ("values", self.content)):
            for pair in pairs:
                yield f"in {what}, `{visible(pair.regex.java)}` is replaced by `{visible(pair.text)}`"
