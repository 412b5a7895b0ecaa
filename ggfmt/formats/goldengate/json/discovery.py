"""Discovery of table definitions in GoldenGate JSON.

What is known so far of a split's tables is made into decoder classes; as long as chunks decode with them there is
nothing new in them. Only a chunk that does not decode is looked at record by record, and each image that shows
something new becomes a finding. The driver goes through the findings of all splits in input order, so that the outcome
does not depend on how the input was split.
"""

from __future__ import annotations

from typing import Any, Union

import msgspec
from msgspec import Raw

from ggfmt.formats.api.format import DEFAULT_SETTINGS, WriterSettings
from ggfmt.formats.api.reading import Chunk, Discovery, SchemaChange
from ggfmt.formats.goldengate.json import records as records
from ggfmt.formats.goldengate.records import OBJECT_METADATA
from ggfmt.formats.json.files import record_spans
from ggfmt.formats.json.shapes import JSON_TYPES, MIXED, SQL_TYPES, UNKNOWN, Finding, KnownTable, new_shapes, settle
from ggfmt.formats.json.values import parse, plain_name
from ggfmt.formats.records.problems import name_problem
from ggfmt.model.table import STRING, Catalog, SqlType, TableDef


class JsonDiscovery(Discovery):
    def __init__(self, catalog: Catalog, every_shape: bool = False, source: WriterSettings = DEFAULT_SETTINGS) -> None:
        self._known = {name: KnownTable(declared=True) for name in catalog.trusted}
        self._every_shape = every_shape
        self._extra: list[str] = []
        self._findings: list[Finding] = []
        self._classes: dict[str, tuple[object, type[Any]]] = {}
        self._decoder: Any = None

    def read(self, chunk: Chunk) -> None:
        if self._every_shape or not self._knows(chunk):
            chunk = chunk.settled()
            for start, end in record_spans(chunk):
                self._look_at(chunk, start, end)

    def findings(self) -> list[Finding]:
        return self._findings

    settle = staticmethod(settle)

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
        tag = "qual_table" if "qual_table" in self._extra else "table"
        classes = tuple(self._class_of(name, known, tag) for name, known in self._known.items())
        return msgspec.json.Decoder(Union[classes])  # noqa: UP007 - made at run time

    def _class_of(self, name: str, known: KnownTable, tag: str) -> type[Any]:
        """The class of a table's operations, the same as before where nothing new was learned of it."""
        image: Any = Raw if known.declared else known.row_class() | None
        learned = (image, tag, len(self._extra))
        before, operation = self._classes.get(name, (None, None))
        if operation is None or before != learned:
            fields: list[Any] = [(member, Raw, None) for member in ("op_type", "op_ts", "pos", "current_ts", "tokens")]
            fields += [("primary_keys", tuple[str, ...] | None, None), ("before", image, None), ("after", image, None)]
            fields += [(f"x{i}", Raw, None) for i in range(len(self._extra))]
            renamed = {f"x{i}": plain_name(extra) for i, extra in enumerate(self._extra)}
            operation = msgspec.defstruct(
                "Operation", fields, rename=renamed, tag=name, tag_field=tag, forbid_unknown_fields=True, gc=False
            )
            self._classes[name] = learned, operation
        return operation

    def _look_at(self, chunk: Chunk, start: int, end: int) -> None:
        record = chunk.data[start:end]
        members = parse(record, last=False)
        if not isinstance(members, dict):
            return
        if members.get("op_type") == OBJECT_METADATA:
            table = records.examine(record, False, Catalog())
            if isinstance(table, TableDef):
                self._findings.append(SchemaChange.met(table, chunk, start))
                self._known[table.full_name] = KnownTable(declared=True)
                self._decoder = None
            return
        name = members.get("table", members.get("qual_table"))
        if not isinstance(name, str) or members.get("op_type") not in records.OP_NAMES:
            return
        if name_problem(name) is not None:
            return
        new = [member for member in members if member not in records.MEMBERS and member not in self._extra]
        if new or name not in self._known:
            self._extra += new
            self._decoder = None
        known = self._known.setdefault(name, KnownTable())
        if not known.declared:
            named = members.get("primary_keys")
            keys = tuple(map(str, named)) if isinstance(named, list) and named else None
            images = [image for image in (members.get("before"), members.get("after")) if isinstance(image, dict)]
            for finding in new_shapes(name, known, images, keys, self._every_shape):
                self._findings.append(finding)
                self._decoder = None


def contradicts(record: bytes, catalog: Catalog) -> bool:
    """Whether the discovery pass may find something in a record that definitions found elsewhere do not have. That they
    name columns in the same order is asked too: then the order does not depend on which records were looked at."""
    members = parse(record, last=False)
    if not isinstance(members, dict):
        return False
    if members.get("op_type") == OBJECT_METADATA:
        return True
    name = members.get("table", members.get("qual_table"))
    if not isinstance(name, str) or members.get("op_type") not in records.OP_NAMES or name_problem(name) is not None:
        return False
    definition = catalog.get(name)
    if definition is None:
        return True
    keys = members.get("primary_keys")
    if isinstance(keys, list) and keys and tuple(map(str, keys)) != definition.primary_keys:
        return True
    places = {column.name: place for place, column in enumerate(definition.columns)}
    for image in (members.get("before"), members.get("after")):
        if isinstance(image, dict):
            order = [places.get(column, -1) for column in image]
            if -1 in order or order != sorted(order):
                return True
            types = (definition.columns[place].type for place in order)
            if any(not _fits(value, type) for value, type in zip(image.values(), types, strict=True)):
                return True
    return False


def _fits(value: Any, type: SqlType) -> bool:
    """Whether a column with such a value may have been found to be of a type."""
    shown = JSON_TYPES.get(value.__class__, MIXED)
    return shown == UNKNOWN or (shown != MIXED and SQL_TYPES.get(shown, STRING) == type)
