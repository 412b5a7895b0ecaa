"""Canal's JSON, read."""

from __future__ import annotations

import base64
import re
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Raw

from ggfmt.formats.api.context import WriterSettings
from ggfmt.formats.canal import DELETE_IN_OLD
from ggfmt.formats.records.dialect import ABSENT, Change, Convert, Dialect, Found, RecordSchema, Refused, given
from ggfmt.formats.records.mysql_types import sql_type
from ggfmt.formats.records.reader import dialect_input
from ggfmt.model.change import ImageColumn
from ggfmt.model.table import Column, Kind, TableDef

_OPS = {"INSERT": "I", "UPDATE": "U", "DELETE": "D", "INIT": "I"}
_TRUNCATE = re.compile(r"\s*truncate\b", re.IGNORECASE)
_types = msgspec.json.Decoder(dict[str, str]).decode


class CanalRecord(msgspec.Struct, gc=False):
    """The members of a message that mean something here."""

    type: str | None = None
    database: str | None = None
    table: str | None = None
    isDdl: bool | None = None
    data: list[Raw] | None = None
    old: list[Raw] | None = None
    mysqlType: Raw = ABSENT
    pkNames: tuple[str, ...] | None = None
    es: int | str | None = None
    ts: int | str | None = None
    id: int | str | None = None
    gtid: str | None = None
    sql: str | None = None


class Canal(Dialect):
    record = CanalRecord
    overlay = True

    def __init__(self, source: WriterSettings, with_tokens: bool = True) -> None:
        super().__init__(source, with_tokens)
        self._record_schemas: dict[tuple[str, bytes, tuple[str, ...] | None], RecordSchema] = {}

    @staticmethod
    def sniff(members: dict[str, Any]) -> str | None:
        kind = members.get("type")
        if "isDdl" in members and "type" in members:
            return "`isDdl` and `type`"
        if isinstance(members.get("data"), list) and isinstance(kind, str) and kind.isupper() and "table" in members:
            return "`table`, rows in `data` and a `type` in capitals"
        return None

    def changes(self, record: CanalRecord) -> Found:
        kind = record.type
        if kind is None:
            raise Refused("GG305", "the record has no `type`", "every message of Canal has one")
        if record.isDdl or kind not in _OPS:
            return self._others(record, kind)
        table = self._table(record)
        op = _OPS[kind]
        data, old = record.data, record.old
        if op == "D" and self.options.delete_rows == DELETE_IN_OLD and data is None:
            data = [row for row in old or () if given(row) is not None]
        if not data:
            if op == "D" and old:
                help = "if DTS wrote it before 2022-03-20, say `deleteRows=old` with `--input-option`"
                raise Refused("GG305", "a DELETE has no `data`", help, table)
            raise Refused("GG305", f"a message of type {kind} has no rows in `data`", None, table)
        record_schema = self._describe(record, table)
        head = self._head(record)
        if op == "U" and (old is None or len(old) != len(data)):
            if old is not None:
                raise Refused("GG308", f"`data` has {len(data)} rows and `old` has {len(old)}", None, table)
            old = [ABSENT] * len(data)
        found = []
        for index, row in enumerate(data):
            before = after = None
            if op == "D":
                before = row
            else:
                after = row
                if op == "U" and old is not None:
                    before = given(old[index])
            found.append(self._change(table, op, head, before, after, record_schema, index if len(data) > 1 else None))
        return found

    def _others(self, record: CanalRecord, kind: str) -> Found:
        """A record that is not of rows: a truncate, or a statement or mark that is counted by its kind."""
        if kind == "TRUNCATE" or (record.isDdl and record.sql and _TRUNCATE.match(record.sql)):
            table = self._table(record)
            return [self._change(table, "T", self._head(record), None, None, self._describe(record, table))]
        if record.isDdl or kind in ("DDL", "INIT_DDL", "QUERY"):
            return f"ddl {kind.lower()}" if kind not in ("DDL", "INIT_DDL") else "ddl"
        if kind == "TIDB_WATERMARK":
            return "watermark"
        shown = kind if len(kind) <= 40 else "that"
        help = f"legal values are {', '.join(f'`{name}`' for name in _OPS)} and those of statements"
        raise Refused("GG304", f"`type` cannot be `{shown}`", help)

    def _head(self, record: CanalRecord) -> tuple[int | None, str | None, dict[str, str]]:
        """Time, position and tokens of all rows of a message."""
        op_ts = None if record.es is None else _millis(record.es) * 1000
        identity = None if record.id is None else str(record.id)
        tokens: dict[str, str] = {}
        if self.with_tokens:
            named = (("id", identity), ("gtid", record.gtid), ("snapshot", "true" if record.type == "INIT" else None))
            tokens = {name: text for name, text in named if text}
        return op_ts, record.gtid or identity, tokens

    @staticmethod
    def _change(
        table: str,
        op: str,
        head: tuple[int | None, str | None, dict[str, str]],
        before: Raw | None,
        after: Raw | None,
        record_schema: RecordSchema | None,
        row: int | None = None,
    ) -> Change:
        op_ts, position, tokens = head
        own = tokens if row is None else {**tokens, "row": str(row)}
        return Change(table, op, op_ts, position, before, after, own, record_schema)

    def _table(self, record: CanalRecord) -> str:
        if not record.table:
            raise Refused("GG305", "the record has no `table`", "every change must name its table")
        return f"{record.database}.{record.table}" if record.database else record.table

    def _describe(self, record: CanalRecord, table: str) -> RecordSchema | None:
        types_text = given(record.mysqlType)
        if types_text is None:
            if record.pkNames:
                self.keys[table] = record.pkNames
            return None
        identity = (table, bytes(types_text), record.pkNames)
        record_schema = self._record_schemas.get(identity)
        if record_schema is None:
            try:
                types = _types(types_text)
            except ValueError:
                raise Refused("GG308", "`mysqlType` does not give a text for each column", None, table) from None
            keys = record.pkNames or ()
            columns = tuple(
                Column(name, sql_type(text), key=keys.index(name) + 1 if name in keys else 0)
                for name, text in types.items()
            )
            definition = self.keyed(TableDef(table, columns))
            record_schema = self._record_schemas[identity] = RecordSchema(definition, self.converts(definition))
        return record_schema

    def converts(self, table: TableDef) -> tuple[Convert | None, ...]:
        return tuple(_CONVERTS.get(column.type.kind) for column in table.columns)


def _millis(value: int | str) -> int:
    try:
        return int(value)
    except ValueError:
        raise Refused("GG308", "`es` is no number") from None


def _to_base64(column: ImageColumn) -> tuple[ImageColumn, list[int]]:
    """Bytes, each written as the character with its number, as Base64."""
    made: list[str | None] = []
    bad = []
    for row, text in enumerate(column.values.to_pylist()):
        try:
            made.append(None if text is None else base64.b64encode(text.encode("latin-1")).decode())
        except UnicodeEncodeError:
            made.append(None)
            bad.append(row)
    return ImageColumn(pa.array(made, pa.string()), column.present), bad


_BOOLEANS = pa.array(["0", "1", "false", "true"], pa.string())
_BOOLEAN_TEXTS = pa.array(["false", "true", "false", "true"], pa.string())


def _to_boolean(column: ImageColumn) -> tuple[ImageColumn, list[int]]:
    places = pc.index_in(column.values, _BOOLEANS)
    bad = pc.indices_nonzero(pc.and_(places.is_null(), column.values.is_valid())).to_pylist()
    return ImageColumn(_BOOLEAN_TEXTS.take(places), column.present), bad


_CONVERTS = {Kind.BINARY: _to_base64, Kind.BOOLEAN: _to_boolean}

READ_SIDES = {"canal_json": dialect_input(Canal)}
