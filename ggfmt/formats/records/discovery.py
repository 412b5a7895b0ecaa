"""Discovery of definitions for all dialects: from what records tell of their tables, or else from their images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import msgspec

from ggfmt.formats.api.format import DEFAULT_SETTINGS, WriterSettings
from ggfmt.formats.api.reading import Chunk, Discovery, DiscoveryResult, SchemaChange
from ggfmt.formats.json.shapes import Encoding, Finding, KnownTable, SelfDescribed, follow, new_shapes, settle
from ggfmt.formats.json.values import decode
from ggfmt.formats.records.classification import examined
from ggfmt.formats.records.dialect import Change, Dialect, MessageKey, RecordSchema
from ggfmt.formats.records.problems import name_problem
from ggfmt.model.table import Catalog, TableDef


@dataclass(frozen=True)
class DialectFindings:
    """What a dialect learned from the records of a split besides tables, for all readers to know from the start, and
    whether it met records that it could not understand without more."""

    facts: dict[Any, Any]
    lacking: bool


class DialectDiscovery(Discovery):
    dialect: ClassVar[type[Dialect]]

    def __init__(self, catalog: Catalog, every_shape: bool = False, source: WriterSettings = DEFAULT_SETTINGS) -> None:
        self._dialect = self.dialect(source, with_tokens=False)
        self._dialect.trusted = catalog.trusted
        self._every_shape = every_shape
        self._known = {name: KnownTable(declared=True) for name in catalog.trusted}
        self._declared: dict[str, TableDef] = {}
        self._decoders: dict[str, Any] = {}
        self._findings: list[Finding] = []

    def read(self, chunk: Chunk) -> None:
        undescribed: dict[str, list[Any]] = {}
        spans: Sequence[tuple[int, int]] = ()
        chunk, meanings = examined(self._dialect, chunk)
        has_keys = chunk.wrapped is not None or bool(chunk.layout.keys)
        for index, meaning in enumerate(meanings):
            for item in meaning if isinstance(meaning, list) else ():
                if has_keys and isinstance(item, Change):
                    self._dialect.learn_key(item.table, chunk, index)
                record_schema = item if isinstance(item, RecordSchema) else item.record_schema
                if record_schema is None:
                    assert isinstance(item, Change)
                    images = undescribed.setdefault(item.table, [])
                    images += (image for image in (item.before, item.after) if image is not None)
                    continue
                table = record_schema.table
                name = table.full_name
                if self._is_new(table) and name_problem(name) is None:
                    self._declared[name] = table
                    spans = spans or self.dialect.spans(chunk)
                    if isinstance(item, Change):
                        self._findings.append(SelfDescribed.met(table, chunk, spans[index][0]))
                        continue
                    if name in undescribed:  # what stood before the statement is known by its images alone
                        self._look_at(name, undescribed.pop(name))
                    self._findings.append(SchemaChange.met(table, chunk, spans[index][0]))
                    self._known[name] = KnownTable(declared=True)
        for name, images in undescribed.items():
            self._look_at(name, images)

    def findings(self) -> list[Finding | DialectFindings]:
        return [*self._findings, DialectFindings(self._dialect.learned, self._dialect.lacking)]

    def _is_new(self, table: TableDef) -> bool:
        declared = self._declared.get(table.full_name)
        if declared is table:
            return False
        return declared is None or follow(table, declared, self.dialect.ordered) != declared

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
        discovered = settle(of_tables, catalog, every_shape, keys_stay=True, ordered=cls.dialect.ordered)
        # Definitions that were made before the key of a message was known, be it in another split.
        lacking |= not every_shape and any(
            not event.table.primary_keys and MessageKey(event.table.full_name) in facts for event in discovered.events
        )
        mixed = {key.table for key in discovered.facts}
        facts = {key: fact for key, fact in facts.items() if not isinstance(key, Encoding) or key.table in mixed}
        facts |= discovered.facts
        return replace(discovered, complete=discovered.complete and not lacking, facts=facts)

    def _look_at(self, name: str, images: list[Any]) -> None:
        """Makes findings of the images of a table that show something new."""
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
        """Whether the images, as JSON, show nothing that is not known."""
        if images and isinstance(images[0], dict):
            return False
        decoder = self._decoders.get(name)
        if decoder is None:
            decoder = self._decoders[name] = msgspec.json.Decoder(known.row_class())
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
