"""What is made at its first use: a start of ggfmt declares hundreds of things and uses few."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

_T = TypeVar("_T")

if TYPE_CHECKING:
    lazy_regex = re.compile
else:

    class lazy_regex:
        """A pattern with the methods of `re.Pattern`, compiled when the first of them is called."""

        def __init__(self, pattern: str | bytes, flags: int = 0) -> None:
            self.pattern, self._flags = pattern, flags

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(name)
            value = getattr(re.compile(self.pattern, self._flags), name)
            setattr(self, name, value)  # the next time, Python finds it without a call of this method
            return value


class LazyMapping(Mapping[str, _T]):
    """Values by name. Each is made when it is asked for."""

    def __init__(self, names: Iterable[str], make: Callable[[str], _T]) -> None:
        self._made: dict[str, _T | None] = dict.fromkeys(names)
        self._make = make

    def __getitem__(self, name: str) -> _T:
        value = self._made[name]
        if value is None:
            value = self._made[name] = self._make(name)
        return value

    def __contains__(self, name: object) -> bool:
        return name in self._made

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)
