"""Where the records of a chunk are."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import Any, overload


class Spans(Sequence[tuple[int, int]]):
    """Starts and ends of records, sixteen bytes each."""

    def __init__(self) -> None:
        self._places = array("q")

    def add(self, start: int, end: int) -> None:
        self._places.append(start)
        self._places.append(end)

    def add_all(self, places: Any) -> None:
        """Adds those of a buffer of int64, starts and ends in turns."""
        self._places.frombytes(places)

    def follow(self, start: int, ends: array[int]) -> None:
        """Adds those that follow each other from a start on, by their ends as counted from it."""
        places = array("q", bytes(2 * ends.itemsize * len(ends)))
        places[1::2] = array("q", [start + end for end in ends]) if start else ends
        places[::2] = array("q", [start]) + places[1:-1:2]
        self._places += places

    def places(self) -> array[int]:
        """Starts and ends in turns, which are not to be changed."""
        return self._places

    def drop_last(self) -> None:
        del self._places[-2:]

    def starts(self, count: int) -> array[int]:
        """Of the first so many."""
        return self._places[: 2 * count : 2]

    def before(self, place: int) -> Spans:
        """Those that start before a place."""
        kept = Spans()
        for start, end in self:
            if start >= place:
                break
            kept.add(start, end)
        return kept

    def __len__(self) -> int:
        return len(self._places) // 2

    def __iter__(self) -> Iterator[tuple[int, int]]:
        places = iter(self._places)
        return zip(places, places, strict=True)

    @overload
    def __getitem__(self, index: int) -> tuple[int, int]: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[tuple[int, int]]: ...

    def __getitem__(self, index: int | slice) -> tuple[int, int] | Sequence[tuple[int, int]]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        place = 2 * (index if index >= 0 else len(self) + index)
        return self._places[place], self._places[place + 1]


def starts_of(spans: Sequence[tuple[int, int]], count: int) -> array[int]:
    """Where the first so many records start."""
    if isinstance(spans, Spans):
        return spans.starts(count)
    return array("q", (spans[index][0] for index in range(count)))
