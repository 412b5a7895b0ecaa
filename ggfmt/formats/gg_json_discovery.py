"""Discovery of table definitions in GoldenGate JSON.

What is known so far of a split's tables is made into decoder classes; as long as chunks decode with them there is
nothing new in them. Only a chunk that does not decode is looked at record by record, and each image that shows
something new becomes a finding. The driver goes through the findings of all splits in input order, so that the outcome
does not depend on how the input was split.

The order of a table's columns is the order that the images agree with: each lists a subset of the columns in table
order. If the findings leave it open, the pass is to be run again with `every_shape`, which reports every such list.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Union

import msgspec
from msgspec import Raw

from ggfmt.formats import gg_json_records as records
from ggfmt.formats.base import Chunk, Definition, Discovered, Discovery
from ggfmt.formats.json_records import record_spans
from ggfmt.model.table import STRING, Catalog, Column, Kind, SqlType, TableDef, split_name

_UNKNOWN, _MIXED = "null", "mixed"
_JSON_TYPES = {str: "string", bool: "boolean", int: "number", float: "number", type(None): _UNKNOWN}
_FIELD_TYPES: dict[str, Any] = {
    "string": str | None,
    "boolean": bool | None,
    "number": float | None,
    _UNKNOWN: None,
    _MIXED: Raw,
}
_SQL_TYPES = {"number": SqlType(Kind.DECIMAL), "boolean": SqlType(Kind.BOOLEAN)}


@dataclass(frozen=True)
class Shape:
    """The columns of one image, in order, with the JSON types of their values; `keys` as the record names them."""

    table: str
    columns: tuple[tuple[str, str], ...]
    keys: tuple[str, ...] | None


@dataclass(frozen=True)
class Metadata:
    """A metadata record."""

    table: TableDef
    input: int
    offset: int


Finding = Shape | Metadata


@dataclass
class _Known:
    """What a split has shown of a table; `declared`: by a metadata record or a file, so that images tell nothing."""

    types: dict[str, str] = field(default_factory=dict)
    keys: tuple[str, ...] | None = None
    declared: bool = False
    orders: set[tuple[str, ...]] = field(default_factory=set)


def _merge_types(old: str | None, new: str) -> str:
    if old in (None, _UNKNOWN, new):
        return new
    return old if new == _UNKNOWN else _MIXED


class JsonDiscovery(Discovery):
    def __init__(self, catalog: Catalog, every_shape: bool = False) -> None:
        self._known = {name: _Known(declared=True) for name in catalog.trusted}
        self._every_shape = every_shape
        self._extra: list[str] = []
        self._findings: list[Finding] = []
        self._decoder: Any = None

    def read(self, chunk: Chunk) -> None:
        if self._every_shape or not self._knows(chunk):
            for start, end in record_spans(chunk):
                self._look_at(chunk.data[start:end], chunk.input, chunk.offset + start)

    def findings(self) -> list[Finding]:
        return self._findings

    @staticmethod
    def settle(findings: Sequence[list[Finding]], catalog: Catalog, every_shape: bool) -> Discovered:
        merged: dict[str, _Merge] = {}
        declared: dict[str, TableDef] = {}
        events = []
        for finding in (finding for split in findings for finding in split):
            if isinstance(finding, Metadata):
                table = catalog.settle(finding.table)
                if declared.get(table.full_name) != table:
                    declared[table.full_name] = table
                    events.append(Definition(table, finding.input, finding.offset))
            elif finding.table not in declared and finding.table not in catalog.trusted:
                merged.setdefault(finding.table, _Merge(finding.table)).add(finding, every_shape)
        tables = [merge.settle() for merge in merged.values()]
        return Discovered(tuple(table for table, _ in tables), tuple(events), all(sure for _, sure in tables))

    def _knows(self, chunk: Chunk) -> bool:
        """Whether all records of the chunk are as the known ones."""
        if not self._known:
            return False
        if self._decoder is None:
            self._decoder = self._make_decoder()
        try:
            if chunk.spans is None:
                operations = self._decoder.decode_lines(chunk.data)
            else:
                operations = [self._decoder.decode(chunk.data[start:end]) for start, end in chunk.spans]
        except (ValueError, RecursionError):
            return False
        keys = {(type(operation), operation.primary_keys) for operation in operations if operation.primary_keys}
        return all(kind.__struct_config__.tag in self._known and named == self._keys_of(kind) for kind, named in keys)

    def _keys_of(self, kind: type[Any]) -> tuple[str, ...] | None:
        return self._known[kind.__struct_config__.tag].keys

    def _make_decoder(self) -> Any:
        classes: list[Any] = []
        for name, known in self._known.items():
            image: Any = Raw
            if not known.declared:
                names = {f"c{i}": records.plain_name(column) for i, column in enumerate(known.types)}
                members = [(f"c{i}", _FIELD_TYPES[kind], None) for i, kind in enumerate(known.types.values())]
                row = msgspec.defstruct("Row", members, rename=names, forbid_unknown_fields=True, gc=False)
                image = row | None
            fields: list[Any] = [(member, Raw, None) for member in ("op_type", "op_ts", "pos", "current_ts", "tokens")]
            fields += [("primary_keys", tuple[str, ...] | None, None), ("before", image, None), ("after", image, None)]
            fields += [(f"x{i}", Raw, None) for i in range(len(self._extra))]
            renamed = {f"x{i}": records.plain_name(extra) for i, extra in enumerate(self._extra)}
            for tag in ("table", "qual_table")[: 1 if "qual_table" not in self._extra else 2][-1:]:
                classes.append(
                    msgspec.defstruct(
                        "Operation",
                        fields,
                        rename=renamed,
                        tag=name,
                        tag_field=tag,
                        forbid_unknown_fields=True,
                        gc=False,
                    )
                )
        return msgspec.json.Decoder(Union[tuple(classes)])  # noqa: UP007 - made at run time

    def _look_at(self, record: bytes, input: int, offset: int) -> None:
        members = records.parse(record, last=False)
        if not isinstance(members, dict):
            return
        if members.get("op_type") == "OBJECT_METADATA":
            table = records.examine(record, False, Catalog())
            if isinstance(table, TableDef):
                self._findings.append(Metadata(table, input, offset))
                self._known[table.full_name] = _Known(declared=True)
                self._decoder = None
            return
        name = members.get("table", members.get("qual_table"))
        if not isinstance(name, str) or members.get("op_type") not in records.OP_NAMES:
            return
        try:
            split_name(name)
        except ValueError:
            return
        new = [member for member in members if member not in records.MEMBERS and member not in self._extra]
        if new or name not in self._known:
            self._extra += new
            self._decoder = None
        known = self._known.setdefault(name, _Known())
        if not known.declared:
            for finding in self._new_shapes(name, known, members):
                self._findings.append(finding)
                self._decoder = None

    def _new_shapes(self, name: str, known: _Known, members: dict[str, Any]) -> Iterator[Shape]:
        """The images of a record that show a new column, type or key; a record without images shows the table."""
        named = members.get("primary_keys")
        keys = tuple(map(str, named)) if isinstance(named, list) and named else None
        images = [image for image in (members.get("before"), members.get("after")) if isinstance(image, dict)]
        for image in images or [{}]:
            columns = tuple((column, _JSON_TYPES.get(type(value), _MIXED)) for column, value in image.items())
            merged = {column: _merge_types(known.types.get(column), kind) for column, kind in columns}
            order = tuple(image)
            new = any(known.types.get(column) != kind for column, kind in merged.items())
            new |= keys is not None and known.keys is None
            new |= not known.orders if not known.types else self._every_shape and order not in known.orders
            if new:
                known.types.update(merged)
                known.orders.add(order)
                known.keys = known.keys or keys
                yield Shape(name, columns, keys)


class _Merge:
    """Puts the shapes of one table together, in input order."""

    def __init__(self, table: str) -> None:
        self._table = table
        self._types: dict[str, str] = {}
        self._keys: tuple[str, ...] | None = None
        self._after: dict[str, set[str]] = {}

    def add(self, shape: Shape, whatever_it_shows: bool) -> None:
        """Takes a shape in. The order of its columns counts if one of them is new, or `whatever_it_shows`: that a split
        found something new does not mean that it is new in the input."""
        names = [name for name, _ in shape.columns]
        ordered = whatever_it_shows or any(name not in self._types for name in names)
        for name, kind in shape.columns:
            self._types[name] = _merge_types(self._types.get(name), kind)
            self._after.setdefault(name, set())
        for first, second in pairwise(names) if ordered else ():
            if first not in self._reachable(second):  # a record that contradicts an earlier one is not followed
                self._after[first].add(second)
        self._keys = self._keys or shape.keys

    def settle(self) -> tuple[TableDef, bool]:
        """The definition, and whether the shapes left no choice in the order of its columns."""
        order: list[str] = []
        waiting = list(self._types)
        while waiting:
            behind = {name for other in waiting for name in self._after[other]}
            name = next(name for name in waiting if name not in behind)
            order.append(name)
            waiting.remove(name)
        sure = all(second in self._after[first] for first, second in pairwise(order))
        keys = self._keys or ()
        columns = tuple(
            Column(name, _SQL_TYPES.get(self._types[name], STRING), key=keys.index(name) + 1 if name in keys else 0)
            for name in order
        )
        return TableDef(self._table, columns), sure

    def _reachable(self, start: str) -> set[str]:
        seen: set[str] = set()
        ahead = [start]
        while ahead:
            name = ahead.pop()
            if name not in seen:
                seen.add(name)
                ahead += self._after.get(name, ())
        return seen
