"""Qlik Replicate's messages in JSON, read."""

from __future__ import annotations

from typing import Any

import msgspec

from ggfmt.formats.json.values import raw_members
from ggfmt.formats.qlik.dialect import Qlik
from ggfmt.formats.qlik.messages import ENVELOPED, FLATTENED, PREFIX, QlikRecord
from ggfmt.formats.qlik.values import CONVERTS
from ggfmt.formats.records import roles
from ggfmt.formats.records.dialect import non_null
from ggfmt.formats.records.reader import dialect_input
from ggfmt.formats.records.roles import Grammar


class QlikJson(Qlik):
    """Images are JSON objects."""

    record = QlikRecord
    scanned = True
    by_kind = CONVERTS

    def grammar(self, record: QlikRecord) -> Grammar | None:
        enveloped = record.message is not None
        body = record.message or record
        flattened = body.headers is None
        conditions = (FLATTENED, PREFIX + self.other) if flattened else (self.other,)
        if enveloped:
            conditions = (ENVELOPED, *conditions)
        notes = self.notes(roles.places(QlikRecord, conditions, inherited=not enveloped))
        table, known = self.known(record, body)
        if notes is None or not self.shown_whole(body, table, known) or not self.tells_the_same(table, known):
            return None
        return self.make_grammar(QlikRecord, conditions, notes, inherited=not enveloped)

    def image(self, value: Any) -> Any:
        return non_null(value)

    def width(self, image: Any) -> int:
        try:
            return len(raw_members(image))
        except (ValueError, RecursionError):
            return 0

    def without(self, image: Any, names: frozenset[str], null: bool) -> Any:
        if image is None:
            return None
        try:
            members = raw_members(image)
        except (ValueError, RecursionError):  # that it is no object is found when it is decoded
            return image
        if names.isdisjoint(members):
            return image
        kept = {k: v for k, v in members.items() if k not in names or (null and bytes(v) != b"null")}
        return msgspec.json.encode(kept)


READ_SIDES = {"qlik_json": dialect_input(QlikJson)}
