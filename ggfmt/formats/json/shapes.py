"""Inference of table definitions from images: columns, their JSON types and their order, for all dialects.

The order of a table's columns is the order that agrees with all images: each image lists a subset of the columns in
table order. If images with new columns leave the order open, all images count. A split that has not looked at the
columns of all images reports it, and then discovery runs again with `every_shape`, which looks at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from heapq import heappop, heappush
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import msgspec
from msgspec import Raw

from ggfmt.dataclasses import dataclass, field, replace
from ggfmt.formats.api.reading import DiscoveryResult, SchemaChange
from ggfmt.formats.json.values import plain_name
from ggfmt.model.table import STRING, Catalog, Column, Kind, SqlType, TableDef

# What the values of a column have shown, from nothing to everything: one type of scalars, several types of scalars,
# objects that all have the same members (beside scalars), and other objects or arrays.
UNKNOWN, MIXED, NESTED = "null", "mixed", "nested"
ColumnShape: TypeAlias = str | tuple[str, ...]  # a tuple: the names of the members, sorted

JSON_TYPES = {str: "string", bool: "boolean", int: "number", float: "number", type(None): UNKNOWN}
FIELD_TYPES: dict[str, Any] = {
    "string": str | None,
    "boolean": bool | None,
    "number": float | None,
    UNKNOWN: None,
    MIXED: str | bool | float | None,
    NESTED: Raw,
}
SQL_TYPES: dict[ColumnShape, SqlType] = {
    "number": SqlType(Kind.DECIMAL),
    "boolean": SqlType(Kind.BOOLEAN),
    UNKNOWN: SqlType(Kind.STRING, unseen=True),
}


@dataclass(frozen=True)
class Shape:
    """The columns of one image, in order, with the shapes of their values; `keys` are the names in the record."""

    table: str
    columns: tuple[tuple[str, ColumnShape], ...]
    keys: tuple[str, ...] | None


@dataclass(frozen=True)
class SelfDescribed(SchemaChange):
    """The description of a table in a change; other changes of the table may come without a description."""


@dataclass(frozen=True)
class ColumnPairs:
    """The columns that came next to each other in images of a table, in the order of their first appearance."""

    table: str
    pairs: tuple[tuple[str, str], ...]


Finding = Shape | ColumnPairs | SchemaChange


class EncodingKey(NamedTuple):
    """The key of a fact: how descriptions say that the values of a column are encoded. It is stored for tables with
    some changes that lack a description."""

    table: str
    column: str


class Undescribed(NamedTuple):
    """The key of a fact: the columns in those changes of a table that come without a description."""

    table: str


@dataclass(frozen=True)
class Unexplained:
    """The key of a fact: the sorted names of the members that all objects in a column have. No record describes the
    table, so the objects may stand for a value in a way that only their source knows."""

    table: str
    column: str


@dataclass
class KnownTable:
    """The facts of a split about a table.

    declared  a metadata record or a file defines it, so ggfmt ignores its images
    pairs     the columns that came next to each other, in the order of their first appearance
    """

    types: dict[str, ColumnShape] = field(default_factory=dict)
    keys: tuple[str, ...] | None = None
    declared: bool = False
    is_met: bool = False
    pairs: dict[tuple[str, str], None] = field(default_factory=dict)

    def row_class(self) -> type[Any]:
        """Return the class of images that show nothing new."""
        return _row_class(tuple(self.types.items()))


@lru_cache(maxsize=128)
def _row_class(types: tuple[tuple[str, ColumnShape], ...]) -> type[Any]:
    """Return one class for equal columns: one for each of thousands of tables would need more memory than their
    data."""
    names = {f"c{i}": plain_name(column) for i, (column, _) in enumerate(types)}
    members = [(f"c{i}", _field_type(kind), None) for i, (_, kind) in enumerate(types)]
    return msgspec.defstruct("Row", members, rename=names, forbid_unknown_fields=True, gc=False)


def _field_type(shape: ColumnShape) -> Any:
    if isinstance(shape, str):
        return FIELD_TYPES[shape]
    names = {f"m{i}": plain_name(name) for i, name in enumerate(shape)}
    members = [(member, Raw) for member in names]
    return msgspec.defstruct("Object", members, rename=names, forbid_unknown_fields=True) | FIELD_TYPES[MIXED]


def shape_of(value: Any) -> ColumnShape:
    """Return the shape of a decoded value."""
    return tuple(sorted(value)) if isinstance(value, dict) and value else JSON_TYPES.get(type(value), NESTED)


def merge_types(old: ColumnShape | None, new: ColumnShape) -> ColumnShape:
    if old is None or old in (UNKNOWN, new):
        return new
    if new == UNKNOWN:
        return old
    objects = [shape for shape in (old, new) if isinstance(shape, tuple)]
    if NESTED in (old, new) or len(objects) == 2:
        return NESTED
    return objects[0] if objects else MIXED


def new_shapes(
    name: str,
    known: KnownTable,
    images: Sequence[Mapping[str, Any]],
    keys: tuple[str, ...] | None,
    shape_of: Callable[[Any], ColumnShape],
) -> Iterator[Shape]:
    """Yield the images of an operation that show a new column, shape or key; without images, yield the table."""
    for image in images or [{}]:
        columns = tuple((column, shape_of(value)) for column, value in image.items())
        merged = {column: merge_types(known.types.get(column), kind) for column, kind in columns}
        known.pairs.update(dict.fromkeys(pairwise(image)))
        new = any(known.types.get(column) != kind for column, kind in merged.items())
        new |= keys is not None and known.keys is None
        new |= not known.is_met and not known.types
        if new:
            known.types.update(merged)
            known.is_met = True
            known.keys = known.keys or keys
            yield Shape(name, columns, keys)


def follow(table: TableDef, previous: TableDef | None, ordered: bool = True) -> TableDef:
    """Return a definition from the stream, with the keys of the previous definition if it has none. Unless `ordered`,
    another order alone is not a change: common columns keep the order of the previous definition, and so do those of
    the key."""
    if previous is None:
        return table
    if not ordered:
        table = _in_order_of(table, previous)
    if table.key_names or (table.columns and not set(previous.key_names) <= set(table.column_names)):
        return table
    return table.with_keys(previous.stated_key)


def _in_order_of(table: TableDef, previous: TableDef) -> TableDef:
    """Return the definition with the columns of `previous` in their order there. New columns keep their place if the
    definition already has this order; otherwise they come last."""
    places = {name: place for place, name in enumerate(previous.column_names)}
    columns = table.columns
    common = [places[column.name] for column in columns if column.name in places]
    if common != sorted(common):
        columns = tuple(sorted(columns, key=lambda column: places.get(column.name, len(places))))
    keys = table.stated_key
    if set(keys or ()) == set(previous.key_names):
        keys = previous.stated_key
    return TableDef(table.full_name, columns).with_keys(keys)


def settle(
    findings: Sequence[list[Finding]],
    catalog: Catalog,
    all_images: bool,
    follow: Callable[[TableDef, TableDef | None], TableDef],
) -> DiscoveryResult:
    """Return the definitions of the whole input from the findings of its splits, in input order. `all_images`: the
    splits have looked at the columns of all images. `follow`: what a definition is after the previous one."""
    merged: dict[str, Merge] = {}
    changes: list[SchemaChange] = []
    described: set[str] = set()
    for finding in (finding for split in findings for finding in split):
        if isinstance(finding, SchemaChange):
            changes.append(finding)
            if not isinstance(finding, SelfDescribed):
                described.add(finding.table.full_name)
        elif finding.table not in described:
            merged.setdefault(finding.table, Merge(finding.table)).add(finding)
    given = {name: merged.pop(name).keys for name in [*merged] if name in catalog.trusted}
    keyed = [
        catalog.trusted[name].with_keys(keys)
        for name, keys in given.items()
        if catalog.trusted[name].stated_key is None
    ]
    settled = [merge.settle(all_images) for merge in merged.values()]
    by_images = {table.full_name: table for table, _ in settled}
    sure = all(sure for _, sure in settled)
    more = _more_columns(changes, by_images)
    declared: dict[str, TableDef] = {}
    events = []
    for change in changes:
        table = catalog.settle(change.table)
        name = table.full_name
        table = follow(table, declared.get(name) or by_images.get(name) or catalog.trusted.get(name))
        table = wider(table, more.get(name, ()))
        if name in more and name not in declared:
            declared[name] = by_images[name] = table
        if declared.get(name) != table:
            declared[name] = table
            events.append(SchemaChange(table, change.input, change.offset, change.line))
    facts: dict[Any, Any] = {Undescribed(name): columns for name, columns in more.items()}
    for name in merged.keys() - declared.keys():
        facts |= {Unexplained(name, column): members for column, members in merged[name].objects()}
    return DiscoveryResult((*by_images.values(), *keyed), tuple(events), sure or all_images, facts, sure)


def wider(table: TableDef, columns: Sequence[Column]) -> TableDef:
    """Return the definition with the columns that it lacks at its end."""
    names = set(table.column_names)
    lacking = tuple(column for column in columns if column.name not in names)
    return table.with_columns(table.columns + lacking) if lacking else table


def _more_columns(changes: Sequence[SchemaChange], by_images: Mapping[str, TableDef]) -> dict[str, tuple[Column, ...]]:
    """Return the columns of changes without a description, for tables whose first change has one, as described."""
    described: dict[str, list[SchemaChange]] = {}
    for change in changes:
        described.setdefault(change.table.full_name, []).append(change)
    more = {}
    for name in by_images.keys() & described.keys():
        if isinstance(described[name][0], SelfDescribed):
            known = {column.name: column for change in reversed(described[name]) for column in change.table.columns}
            columns = (known.get(column.name, column) for column in by_images[name].columns)
            more[name] = tuple(replace(column, nullable=True, key=0) for column in columns)
    return more


class Merge:
    def __init__(self, table: str) -> None:
        self._table = table
        self._types: dict[str, ColumnShape] = {}
        self.keys: tuple[str, ...] | None = None
        self._first = ColumnOrder()  # by images with a column that is new in the input
        self._pairs: dict[tuple[str, str], None] = {}

    def add(self, finding: Shape | ColumnPairs) -> None:
        """Add a finding. A column that is new in its split may not be new in the input."""
        if isinstance(finding, ColumnPairs):
            self._pairs.update(dict.fromkeys(finding.pairs))
            return
        names = [name for name, _ in finding.columns]
        if any(name not in self._types for name in names):
            self._first.add(pairwise(names))
        for name, kind in finding.columns:
            self._types[name] = merge_types(self._types.get(name), kind)
        self.keys = self.keys or finding.keys

    def objects(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield the columns whose objects all have the same members, and the names of these members."""
        for column, shape in self._types.items():
            if isinstance(shape, tuple):
                yield column, shape

    def settle(self, all_images: bool) -> tuple[TableDef, bool]:
        """Return the definition, and whether images left no choice in the order of its columns."""
        order, sure = self._first.settle(self._types)
        if all_images and not sure:
            every = ColumnOrder()
            every.add(self._pairs)
            order, sure = every.settle(self._types)
        columns = tuple(Column(name, SQL_TYPES.get(self._types[name], STRING)) for name in order)
        return TableDef(self._table, columns).with_keys(self.keys), sure


class ColumnOrder:
    """The order of columns by which of them came next to each other. What contradicts earlier pairs is ignored. Columns
    have places in which each precedes those that follow it, so that most pairs need no search (Pearce and Kelly, A
    dynamic topological sort algorithm for directed acyclic graphs, 2007)."""

    def __init__(self) -> None:
        self._after: dict[str, set[str]] = {}
        self._before: dict[str, set[str]] = {}
        self._places: dict[str, int] = {}

    def add(self, pairs: Iterable[tuple[str, str]]) -> None:
        for pair in pairs:
            for name in pair:
                if name not in self._places:
                    self._places[name] = len(self._places)
                    self._after[name], self._before[name] = set(), set()
            first, second = pair
            if second not in self._after[first] and self._make_room(first, second):
                self._after[first].add(second)
                self._before[second].add(first)

    def _make_room(self, first: str, second: str) -> bool:
        """Change places so that `first` precedes `second`; return False if it follows it already."""
        places = self._places
        low, high = places[second], places[first]
        if high < low:
            return True
        ahead = self._reached(second, self._after, lambda place: place <= high)
        if first in ahead:
            return False
        behind = self._reached(first, self._before, lambda place: place >= low)
        moved = [*sorted(behind, key=places.__getitem__), *sorted(ahead, key=places.__getitem__)]
        for name, place in zip(moved, sorted(places[name] for name in moved), strict=True):
            places[name] = place
        return True

    def _reached(self, start: str, following: Mapping[str, set[str]], within: Callable[[int], bool]) -> set[str]:
        seen: set[str] = set()
        ahead = [start]
        while ahead:
            name = ahead.pop()
            if name not in seen:
                seen.add(name)
                ahead += (other for other in following[name] if within(self._places[other]))
        return seen

    def settle(self, names: Iterable[str]) -> tuple[list[str], bool]:
        """Return the columns in an order that agrees with the pairs, and whether that left no choice. Of columns
        without a remaining predecessor, the first of `names` comes first."""
        met = {name: place for place, name in enumerate(names)}
        before = {name: len(self._before.get(name, ())) for name in met}
        free = [(place, name) for name, place in met.items() if not before[name]]
        order: list[str] = []
        while free:
            _, name = heappop(free)
            order.append(name)
            for following in self._after.get(name, ()):
                before[following] -= 1
                if not before[following]:
                    heappush(free, (met[following], following))
        return order, all(second in self._after.get(first, ()) for first, second in pairwise(order))
