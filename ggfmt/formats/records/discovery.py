"""Schema inference for all dialects: from the definitions in records, or else from images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from ggfmt.dataclasses import dataclass, replace
from ggfmt.formats.api.format import DEFAULT_SETTINGS, WriterSettings
from ggfmt.formats.api.reading import Chunk, Discovery, DiscoveryResult, SchemaChange
from ggfmt.formats.json.shapes import (
    MIXED,
    NESTED,
    UNKNOWN,
    ColumnPairs,
    EncodingKey,
    Finding,
    KnownTable,
    SelfDescribed,
    Undescribed,
    new_shapes,
    settle,
)
from ggfmt.formats.json.values import json_members
from ggfmt.formats.records.dialect import Change, Item, MessageKey, RecordSchema, Statement
from ggfmt.formats.records.problems import name_problem
from ggfmt.formats.records.roles import ANY, BOOLEAN, INTEGER, NULL, NUMBER, STRING
from ggfmt.formats.records.routing import DialectScanning
from ggfmt.formats.records.scanner import JsonScanner, OddRecord
from ggfmt.model.table import STRING as TEXT
from ggfmt.model.table import Catalog, Column, TableDef

# The kinds of JSON values that show nothing new of a column, by what its values have shown so far.
_TAKES = {
    "string": NULL | STRING,
    "boolean": NULL | BOOLEAN,
    "number": NULL | INTEGER | NUMBER,
    UNKNOWN: NULL,
    MIXED: NULL | STRING | BOOLEAN | INTEGER | NUMBER,
    NESTED: ANY,
}


_MAX_SINGLE = 4  # up to so many images of a table, the order of the columns of each counts in the first pass too


@dataclass(frozen=True)
class DialectFindings:
    """The findings of a dialect in one split, besides tables.

    facts       facts that all readers need from the start
    lacking     the dialect found records that it cannot understand without facts from other records
    all_images  the split has looked at the columns of all images
    """

    facts: dict[Any, Any]
    lacking: bool
    all_images: bool


class DialectDiscovery(DialectScanning, Discovery):
    finds_keys = True

    def __init__(self, catalog: Catalog, every_shape: bool = False, source: WriterSettings = DEFAULT_SETTINGS) -> None:
        self.make_dialect(source, catalog.trusted)
        self._has_keys = False
        self._every_shape = every_shape
        self._all_images = True
        described = (name for name, table in catalog.trusted.items() if table.stated_key is not None)
        self._known = {name: KnownTable(declared=True) for name in described}
        self._declared: dict[str, TableDef] = {}
        self._decoders: dict[str, Any] = {}
        self._findings: list[Finding] = []
        if self.dialect.reads_text:
            self.start_scanner()

    @classmethod
    def caution(cls, source: WriterSettings) -> str:
        return cls.dialect.caution(source.options)

    def read(self, chunk: Chunk) -> None:
        self._has_keys = self.dialect.has_message_keys(chunk)
        self.ordinal = 0
        undescribed: dict[str, list[Any]] = {}
        for cut, number, start, meaning in self.examined(chunk):
            self.ordinal += 1
            for item in meaning if isinstance(meaning, list) else ():
                self._take_in(cut, number, item, undescribed, start)
            if start is not None:
                self._look_at_all(undescribed)
        self._look_at_all(undescribed)

    def reads_whole(self, chunk: Chunk) -> bool:
        return self.pauses() or self._has_keys

    # The scanner passes over all records that are known to show nothing new.

    def set_aside(self) -> None:
        self._take_pairs()

    def _take_pairs(self, *tables: str) -> None:
        """Take the pairs of columns of tables, by default of all, from the scanner."""
        if isinstance(self.scanner, JsonScanner):
            for name in tables or self.scanner.tables:
                if name in self._known:
                    self._known[name].pairs.update(dict.fromkeys(self.scanner.take_pairs(name)))

    def bind(self, identity: bytes, odd: OddRecord) -> None:
        """Pass over later records of an identity, if their images show nothing new of the table. Images of records that
        describe the table show nothing.
        """
        change = odd.meaning[0]
        name = change.table
        known = self._known.get(name)
        if change.record_schema is not None or (known is not None and known.declared):
            if not self.scanner.bind_alias(identity, _described(name)):
                self.scanner.bind(identity, TableDef(_described(name), ()))
        elif known is None or self.scanner.bind_alias(identity, name):
            return
        else:
            definition = TableDef(name, tuple(Column(column, TEXT) for column in known.types))
            if self._dialect.scannable(definition):
                self.scanner.bind(
                    identity,
                    definition,
                    [_TAKES[shape if isinstance(shape, str) else MIXED] for shape in known.types.values()],
                )

    def _forget(self, name: str) -> None:
        self._decoders.pop(name, None)
        if self.scanner is not None:
            self._take_pairs(name)
            self.scanner.forget(name)
            self.scanner.forget(_described(name))

    def _take_in(
        self, chunk: Chunk, index: int, item: Item, undescribed: dict[str, list[Any]], start: int | None = None
    ) -> None:
        """Process an item of the record at `index` of a chunk; collect images of undescribed tables by name."""
        if isinstance(item, Statement):
            return
        if self._has_keys and isinstance(item, Change):
            self._dialect.learn_key(item.table, chunk, index)
        record_schema = item if isinstance(item, RecordSchema) else item.record_schema
        if record_schema is None:
            assert isinstance(item, Change)
            images = undescribed.setdefault(item.table, [])
            images += (image for image in (item.before, item.after) if image is not None)
            return
        table = record_schema.table
        name = table.full_name
        if self._is_new(table) and name_problem(name) is None:
            self._declared[name] = table
            if chunk.wrapped is not None:
                chunk = replace(chunk.wrapped.chunk, input=chunk.input)
                start = (chunk.spans or ())[index][0]
            elif start is None:
                start = self.dialect.spans(chunk)[index][0]
            if isinstance(item, Change):
                self._findings.append(SelfDescribed.met(table, chunk, start))
                self._forget(name)  # an earlier definition of it is news when it comes again
                return
            # Only images describe the records before this definition. Process them first, so that tables have the order
            # of the input.
            self._look_at_all(undescribed)
            self._tell_pairs(name)
            self._findings.append(SchemaChange.met(table, chunk, start))
            self._known[name] = KnownTable(declared=True)
            self._forget(name)

    def findings(self) -> list[Finding | DialectFindings]:
        for name in self._known:
            self._tell_pairs(name)
        return [*self._findings, DialectFindings(self._dialect.learned, self._dialect.lacking, self._all_images)]

    def _tell_pairs(self, name: str) -> None:
        self._take_pairs(name)
        known = self._known.get(name)
        if known is not None and known.pairs:
            self._findings.append(ColumnPairs(name, tuple(known.pairs)))
            known.pairs.clear()

    def _is_new(self, table: TableDef) -> bool:
        declared = self._declared.get(table.full_name)
        if declared is table:
            return False
        return self.dialect.follow(table, declared) != declared

    @classmethod
    def settle(
        cls, findings: Sequence[list[Finding | DialectFindings]], catalog: Catalog, every_shape: bool
    ) -> DiscoveryResult:
        of_tables = [[finding for finding in split if not isinstance(finding, DialectFindings)] for split in findings]
        facts: dict[Any, Any] = {}
        lacking, all_images = False, True
        for finding in (finding for split in findings for finding in split):
            if isinstance(finding, DialectFindings):
                facts = {**finding.facts, **facts}
                lacking |= finding.lacking
                all_images &= finding.all_images
        discovered = settle(of_tables, catalog, all_images, cls.dialect.follow)
        # A split may have made a definition before it, or another split, found the message key. Run discovery again.
        lacking |= not every_shape and any(
            not event.table.key_names and MessageKey(event.table.full_name) in facts for event in discovered.events
        )
        mixed = {key.table for key in discovered.facts if isinstance(key, Undescribed)}
        facts = {key: fact for key, fact in facts.items() if not isinstance(key, EncodingKey) or key.table in mixed}
        facts |= {key: fact for key, fact in discovered.facts.items() if not cls.dialect.takes_objects(fact)}
        return replace(discovered, complete=discovered.complete and not lacking, facts=facts)

    def _look_at_all(self, undescribed: dict[str, list[Any]]) -> None:
        for name, images in undescribed.items():
            self._look_at(name, images)
        undescribed.clear()

    def _look_at(self, name: str, images: list[Any]) -> None:
        """Add findings for the images of a table that show something new."""
        known = self._known.get(name)
        if known is not None and known.declared:
            return
        keys = self._dialect.keys.get(name) or self._dialect.keys_elsewhere(name) or None
        if known is None:
            if name_problem(name) is not None:
                return
            known = self._known[name] = KnownTable()
        elif (
            not self._every_shape
            and len(images) > _MAX_SINGLE
            and known.keys == keys
            and self._fit(name, known, images)
        ):
            self._all_images = False
            return
        types = dict(known.types)
        self._take_pairs(name)  # of records before these
        decoded = [image if isinstance(image, dict) else json_members(image) for image in images]
        for image in decoded or [{}]:
            self._findings += new_shapes(name, known, [image] if image else [], keys, self._dialect.shape_of)
        if known.types != types:
            self._forget(name)

    def _fit(self, name: str, known: KnownTable, images: list[Any]) -> bool:
        """Return whether the images are JSON that shows nothing new."""
        if images and isinstance(images[0], dict):
            return False
        decoder = self._decoders.get(name)
        if decoder is None:
            decoder = self._decoders[name] = msgspec.json.Decoder(known.row_class() | None)
        try:
            decoder.decode_lines(b"\n".join(images))
        except (ValueError, RecursionError):
            return False
        return True


def _described(table: str) -> str:
    """Return the name for the scanner of records that describe a table; no table has it."""
    return f"{table}\0"
