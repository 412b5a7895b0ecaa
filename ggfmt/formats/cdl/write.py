"""Huawei's CDL JSON, written, in version 1.0.

A message has its schema. What is missing is written as null: all columns may be null by the schema of a message that
lacks the value of a column that cannot be NULL. `unique` has the key columns as they are after the change; where that
is unknown, as they were before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.columnar.images import and_present, with_nulls
from ggfmt.columnar.json_text import ImageObjects, json_strings, quote_json
from ggfmt.columnar.metadata import Clock, token, token_texts
from ggfmt.columnar.pieces import Conditional, Piece, escape_json_text, join
from ggfmt.columnar.timestamps import floor_millis, has_zone
from ggfmt.formats.api.format import Context
from ggfmt.formats.api.losses import DIGITS, INTEGER, TIME_CUT, TOKENS_ADDED, ZONE_CUT
from ggfmt.formats.cdl import TEXT, CdlOptions
from ggfmt.formats.cdl.types import field_of, values_of
from ggfmt.formats.connect import schemas as connect
from ggfmt.formats.connect.values import too_fine
from ggfmt.formats.json.values import compact_json
from ggfmt.formats.records.formatter import COMPACT, DialectFormatter, json_object, json_words, text_output
from ggfmt.model.change import ChangeBatch, Image, ImageColumn, OpType
from ggfmt.model.table import Column, Kind, TableDef, join_name

_OPERATIONS = json_words([op.name for op in OpType])
_OWN_TOKENS = ("DATA_STORE", "LOB_COLUMNS", "HEARTBEAT_IDENTIFIER", "message_type", "lsn")


class CdlFormatter(DialectFormatter):
    def __init__(self, table: TableDef, options: CdlOptions, context: Context, clock: Clock) -> None:
        as_text = options.timestamps == TEXT
        values = [values_of(column.type, as_text) for column in table.columns]
        super().__init__(table, context, clock, values)
        self.options = options
        self._keys = _key_places(table)
        self._unique = ImageObjects(table.primary_keys, [values[place] for place in self._keys], COMPACT)
        self._required = [place for place, column in enumerate(table.columns) if not column.nullable]
        self._schema = _schema(table, as_text)
        self._schema_of_gaps = _schema(
            table.with_columns([replace(column, nullable=True) for column in table.columns]), as_text
        )
        self._stamps = [] if as_text else [i for i, c in enumerate(table.columns) if c.type.kind is Kind.TIMESTAMP]
        self.fields = ("schema", "payload")

    def format(self, batch: ChangeBatch) -> pa.StringArray:
        rows = len(batch)
        self.refuse(batch, [OpType.TRUNCATE], "CDL")
        stamps = floor_millis(self.micros(batch))
        unique: Piece = "null"
        if self._keys:
            unique, _ = self._unique.of(Image(self._key_columns(batch)), rows)
        self.count_missing(batch.before, batch.after)
        self._count_cut(batch)

        def text(name: str) -> pa.StringArray:
            return token(batch.tokens, name, rows)

        stores = text("DATA_STORE")
        if self.options.data_store:
            self.count(TOKENS_ADDED, "", stores.null_count)
        head, tail = self._schema
        end: Piece = tail
        if self._required:
            end = pc.if_else(self._gaps(batch), self._schema_of_gaps[1], tail)
        payload = {
            "DATA_STORE": quote_json(pc.fill_null(stores, self.options.data_store)),
            "SEG_OWNER": escape_json_text(self.table.schema or ""),
            "TABLE_NAME": escape_json_text(self.table.name),
            "TIMESTAMP": stamps.cast(pa.string()).fill_null("null"),
            "OPERATION": _OPERATIONS.of(batch.op),
            "LOB_COLUMNS": quote_json(text("LOB_COLUMNS")),
            "transaction": ['{"properties":[', _properties(batch), "]}"],
            "unique": unique,
            "data": self._object(batch.after, rows),
            "before": self._object(batch.before, rows),
            "message_version": '"1.0"',
            "message_type": quote_json(pc.fill_null(text("message_type"), "0")),
            "HEARTBEAT_IDENTIFIER": quote_json(text("HEARTBEAT_IDENTIFIER")),
        }
        schema = [head, pc.if_else(stamps.is_null(), "true", "false"), end]
        return join([*json_object({"schema": schema, "payload": json_object(payload)}), "\n"])

    def _object(self, image: Image, rows: int) -> pa.StringArray:
        columns = tuple(ImageColumn(with_nulls(column)) for column in image.columns)
        return self.objects(Image(columns, image.exists), rows, "null")

    def _gaps(self, batch: ChangeBatch) -> pa.BooleanArray:
        """Return which messages lack a value that cannot be NULL, so that their schema must allow it."""
        rows = len(batch)
        exist = [image.exists_mask(rows) for image in (batch.before, batch.after)]
        gaps = pc.invert(pc.or_(*exist))
        for image, exists in zip((batch.before, batch.after), exist, strict=True):
            for place in self._required:
                gaps = pc.or_(gaps, pc.and_(exists, with_nulls(image.columns[place]).is_null()))
        return gaps

    def _key_columns(self, batch: ChangeBatch) -> tuple[ImageColumn, ...]:
        rows = len(batch)
        columns = []
        for index in self._keys:
            new, old = batch.after.columns[index], batch.before.columns[index]
            in_new = and_present(batch.after.exists_mask(rows), new)
            in_old = batch.before.exists_mask(rows)
            kept = pc.if_else(in_old, with_nulls(old), pa.scalar(None, pa.string()))
            columns.append(ImageColumn(pc.if_else(in_new, new.values, kept)))
        return tuple(columns)

    def _count_cut(self, batch: ChangeBatch) -> None:
        for image in (batch.before, batch.after):
            for index in self._stamps:
                values = with_nulls(image.columns[index])
                if image.exists is not None:
                    values = pc.if_else(image.exists, values, pa.scalar(None, pa.string()))
                name = self.table.columns[index].name
                self.count(TIME_CUT, name, too_fine(values), than="CDL supports")
                self.count(ZONE_CUT, name, has_zone(values).true_count)


def _key_places(table: TableDef) -> list[int]:
    return sorted(table.key_indices, key=lambda place: table.columns[place].key)


def _properties(batch: ChangeBatch) -> pa.StringArray:
    """What is in the transaction: the position, and tokens, where they are whole numbers."""
    position = pc.replace_substring_regex(batch.position, "^0+([0-9])", r"\1")
    fits = pc.match_substring_regex(position, DIGITS).fill_null(False)
    lsn = pc.if_else(fits, join([',{"name":"lsn","value":', position.fill_null(""), "}"]), "")
    others = token_texts(batch.tokens, _property, "")
    return pc.replace_substring_regex(join([lsn, others]), "^,", "")


def _property(keys: pa.StringArray, items: pa.StringArray) -> list[Piece]:
    wanted = pc.and_not(pc.match_substring_regex(items, INTEGER), pc.is_in(keys, _OWN))
    return [Conditional(wanted, [',{"name":', json_strings(keys), ',"value":', items, "}"])]


def _schema(table: TableDef, as_text: bool) -> tuple[str, str]:
    """The schema before and after the word that says whether the time of the operation may be null."""

    def image(name: str, columns: Sequence[Column]) -> dict[str, Any]:
        fields = [field_of(column, as_text) for column in columns]
        return {"type": "struct", "fields": fields, "optional": True, "name": name, "field": name}

    text = partial(connect.field, type="string")
    entry = [text("name"), connect.field("value", "int64")]
    items = {"type": "struct", "fields": entry, "optional": False}
    properties = {"type": "array", "items": items, "optional": False, "field": "properties"}
    transaction = {"type": "struct", "fields": [properties], "optional": False, "name": "transaction"}
    keys = [table.columns[place] for place in _key_places(table)]
    before = [text("DATA_STORE"), text("SEG_OWNER"), text("TABLE_NAME")]
    after = [
        text("OPERATION"),
        text("LOB_COLUMNS", optional=True),
        {**transaction, "field": "transaction"},
        *([image("unique", keys)] if keys else []),
        image("data", table.columns),
        image("before", table.columns),
        text("message_version"),
        text("message_type"),
        text("HEARTBEAT_IDENTIFIER", optional=True),
    ]
    name = join_name(table.schema, table.name)
    head = f'{{"type":"struct","fields":[{_listed(before)},{{"type":"int64","optional":'
    stamp = f',"name":"{connect.TIMESTAMP}","version":1,"field":"TIMESTAMP"}}'
    return head, f'{stamp},{_listed(after)}],"optional":false,"name":{escape_json_text(name)}}}'


def _listed(fields: Sequence[dict[str, Any]]) -> str:
    return ",".join(map(compact_json, fields))


_OWN = pa.array(_OWN_TOKENS, pa.string())

WRITE_SIDES = {"cdl_json": text_output(CdlFormatter)}
