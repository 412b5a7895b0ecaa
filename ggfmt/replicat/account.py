"""What became of operations on their way through the MAPs: by table of the source, and by line of the file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

READ, REACHED = "read", "reached"
IGNORED, TRUNCATES = "ignored for their kind", "ignored as truncates"
FILTERED, INCOMPLETE = "filtered", "dropped for a missing column"
UNNAMED, EXCLUDED = "without a MAP", "excluded"
_OF_TABLES = (READ, UNNAMED, EXCLUDED)


class Fate(NamedTuple):
    """`place`: the line of the MAP, or of the exclusion; empty for `READ` and `UNNAMED`."""

    table: str
    place: str
    what: str


Document = Mapping[str, Mapping[str, Mapping[str, int]]]  # counts by table, place and fate


class Account(Counter[Fate]):
    """The number of operations by fate."""

    @classmethod
    def of_document(cls, document: Document) -> Account:
        found = cls()
        for table, places in document.items():
            for place, counts in places.items():
                found.update({Fate(table, place, what): count for what, count in counts.items()})
        return found

    @property
    def document(self) -> Document:
        document: dict[str, dict[str, dict[str, int]]] = {}
        for fate, count in sorted(self.items()):
            document.setdefault(fate.table, {}).setdefault(fate.place, {})[fate.what] = count
        return document

    @property
    def read(self) -> int:
        """How many operations were read, with those of tables that no MAP takes."""
        return sum(count for fate, count in self.items() if fate.what in _OF_TABLES)

    def imbalance(self, written: int) -> str | None:
        """Return a message if a line does not account for all operations of its table, or if others were written."""
        sums: Counter[tuple[str, str]] = Counter()
        for fate, count in self.items():
            if fate.what not in _OF_TABLES:
                sums[fate.table, fate.place] += count
        for (table, place), count in sums.items():
            if count != (read := self[Fate(table, "", READ)]):
                return f"table {table}: {read} operations read, {count} accounted for at {place}"
        reached = sum(count for fate, count in self.items() if fate.what == REACHED)
        return f"{reached} operations mapped, {written} written" if reached != written else None

    @property
    def lines(self) -> list[str]:
        """A line for each table, reason and place that operations were left out for, and for copies."""
        left = [
            f"left out: {_shown(fate.table, count)}, {' by '.join(filter(None, (fate.what, fate.place)))}"
            for fate, count in sorted(self.items())
            if fate.what not in (READ, REACHED)
        ]
        return [*left, *(f"copied: {_shown(table, count)} more than read" for table, count in self._copies())]

    def _copies(self) -> Iterator[tuple[str, int]]:
        reached: dict[str, list[int]] = {}
        for fate, count in sorted(self.items()):
            if fate.what == REACHED:
                reached.setdefault(fate.table, []).append(count)
        yield from ((table, sum(counts) - max(counts)) for table, counts in reached.items() if len(counts) > 1)


def _shown(table: str, count: int) -> str:
    return f"{table}, {count:,} operation{'s' * (count != 1)}"
