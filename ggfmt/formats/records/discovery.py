"""Schema inference for all dialects: from the definitions in records, or else from images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import msgspec

from ggfmt.formats.api.format import DEFAULT_SETTINGS, WriterSettings
from ggfmt.formats.api.reading import Chunk, Discovery, DiscoveryResult, SchemaChange
from ggfmt.formats.json.shapes import Encoding, Finding, KnownTable, SelfDescribed, follow, new_shapes, settle
from ggfmt.formats.json.values import decode
from ggfmt.formats.records.dialect import (
    Change,
    Dialect,
    MessageKey,
    RecordSchema,
    classify_records,
    decode_records,
    runs,
)
from ggfmt.formats.records.problems import name_problem
from ggfmt.model.table import Catalog, TableDef


@dataclass(frozen=True)
class DialectFindings:
    """The findings of a dialect in one split, besides tables.

    facts    facts that all readers need from the start
    lacking  the dialect found records that it cannot understand without facts from other records
    """

    facts: dict[Any, Any]
    lacking: bool


class DialectDiscovery(Discovery):
    dialect: ClassVar[type[Dialect]]

    def __init__(self, catalog: Catalog, every_shape: bool = False, source: WriterSettings = DEFAULT_SETTINGS) -> None:
        self._dialect = self.dialect(source, with_tokens=False)
        self._dialect.trusted = catalog.trusted
        self._has_keys = False
        self._every_shape = every_shape
        self._known = {name: KnownTable(declared=True) for name in catalog.trusted}
        self._declared: dict[str, TableDef] = {}
        self._decoders: dict[str, Any] = {}
        self._findings: list[Finding] = []

    def read(self, chunk: Chunk) -> None:
        undescribed: dict[str, list[Any]] = {}
        chunk, records = decode_records(self._dialect, chunk)
        self._has_keys = self.dialect.takes_message_keys and (chunk.wrapped is not None or bool(chunk.layout.keys))
        index = 0
        for together, singly in runs(self._dialect, records):
            groups = self._dialect.by_table(together) if together and not self._has_keys else None
            if groups is not None:
                for name, places in groups.items():
                    images = self._dialect.images_of_table(name, [together[place] for place in places])
                    undescribed.setdefault(name, []).extend(images)
                index += len(together)
                continue
            for meaning in classify_records(self._dialect, together or singly):
                for item in meaning if isinstance(meaning, list) else ():
                    self._take_in(chunk, index, item, undescribed)
                index += 1
        self._look_at_all(undescribed)

    def _take_in(
        self, chunk: Chunk, index: int, item: Change | RecordSchema, undescribed: dict[str, list[Any]]
    ) -> None:
        """Process one item of the record at `index` of a chunk.

        Collect the images of tables that records do not describe in `undescribed`, by full name.
        """
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
            start = self.dialect.spans(chunk)[index][0]
            if isinstance(item, Change):
                self._findings.append(SelfDescribed.met(table, chunk, start))
                return
            # Only images describe the records before this definition. Process them first, so that tables have the order
            # of the input.
            self._look_at_all(undescribed)
            self._findings.append(SchemaChange.met(table, chunk, start))
            self._known[name] = KnownTable(declared=True)

    def findings(self) -> list[Finding | DialectFindings]:
        return [*self._findings, DialectFindings(self._dialect.learned, self._dialect.lacking)]

    def _is_new(self, table: TableDef) -> bool:
        declared = self._declared.get(table.full_name)
        if declared is table:
            return False
        if declared is None or not self.dialect.keys_stay:
            return declared != table
        return follow(table, declared, self.dialect.ordered) != declared

    @classmethod
    def settle(
        cls, findings: Sequence[list[Finding | DialectFindings]], catalog: Catalog, every_shape: bool
    ) -> DiscoveryResult:
        of_tables = [[finding for finding in split if not isinstance(finding, DialectFindings)] for split in findings]
        facts: dict[Any, Any] = {}
        lacking = False
        for finding in (finding for split in findings for finding in split):
            if isinstance(finding, DialectFindings):
                facts = {**finding.facts, **facts}
                lacking |= finding.lacking
        discovered = settle(of_tables, catalog, every_shape, cls.dialect.keys_stay, cls.dialect.ordered)
        # A split may have made a definition before it, or another split, found the message key. Run discovery again.
        lacking |= not every_shape and any(
            not event.table.primary_keys and MessageKey(event.table.full_name) in facts for event in discovered.events
        )
        mixed = {key.table for key in discovered.facts}
        facts = {key: fact for key, fact in facts.items() if not isinstance(key, Encoding) or key.table in mixed}
        facts |= discovered.facts
        return replace(discovered, complete=discovered.complete and not lacking, facts=facts)

    def _look_at_all(self, undescribed: dict[str, list[Any]]) -> None:
        """Infer shapes from the collected images of each table, and clear the collection."""
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
        elif not self._every_shape and known.keys == keys and self._fit(name, known, images):
            return
        decoded = [image if isinstance(image, dict) else _members(image) for image in images]
        for image in decoded or [{}]:
            shapes = list(new_shapes(name, known, [image] if image else [], keys, self._every_shape))
            if shapes:
                self._findings += shapes
                self._decoders.pop(name, None)

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


def _members(image: Any) -> dict[str, Any]:
    try:
        members = decode(image)
    except (ValueError, RecursionError):
        return {}
    return members if isinstance(members, dict) else {}
