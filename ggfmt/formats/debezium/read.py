"""Reader of Debezium's JSON.

It keeps the members of an envelope as they are, and identifies other records by their members.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Annotated, Any, cast

import msgspec
import pyarrow as pa
from msgspec import Raw

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import non_null_values
from ggfmt.dataclasses import dataclass, replace
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.format import WriterSettings
from ggfmt.formats.connect.schemas import SchemaField, decode_schema, name_of
from ggfmt.formats.debezium import INSERT, KEYS, REFUSE, TEXT, DebeziumOptions, cloud_events
from ggfmt.formats.debezium import source as sources
from ggfmt.formats.debezium.connectors import Connector, connector_of, fields_without_cells, key_of_list, without_cells
from ggfmt.formats.debezium.source import qualified_name
from ggfmt.formats.debezium.types import HistoryColumn, Types, of_table_column
from ggfmt.formats.json.files import MONGODB, unread_record
from ggfmt.formats.json.repeated import EVERY, Once
from ggfmt.formats.json.shapes import EncodingKey
from ggfmt.formats.json.values import json_kind, raw_members
from ggfmt.formats.records import roles
from ggfmt.formats.records.dialect import (
    ABSENT,
    Change,
    Dialect,
    Meaning,
    RecordSchema,
    Statement,
    none_if_null,
    without_empty_images,
)
from ggfmt.formats.records.images import Columns, Convert
from ggfmt.formats.records.members import KeepingDecoder
from ggfmt.formats.records.problems import RecordError, decoded
from ggfmt.formats.records.reader import dialect_input
from ggfmt.formats.records.scanner import SourceBatch
from ggfmt.formats.records.statements import Effect, Name, What, effects_of, statement, unquoted
from ggfmt.lazy import lazy_regex
from ggfmt.model.table import Column, Kind, TableDef

_OPS: roles.Ops = {"c": "I", "r": roles.OpToken("I", "snapshot", "true", rank=3), "u": "U", "d": "D", "t": "T"}
_TYPES_OF_OPS = {f'"{code}"'.encode(): roles.type_of(op) for code, op in _OPS.items()}
_OF_ENVELOPE = frozenset({"op", "ts_ms", "ts_us", "ts_ns"})
_READ, _MESSAGE, _TRUE = b'"r"', b'"m"', (b'"true"', b"true")


class Envelope(msgspec.Struct, gc=False):
    before: Annotated[Raw, roles.before()] = ABSENT
    after: Annotated[Raw, roles.after()] = ABSENT
    source: Annotated[Raw, roles.enter(sources.ScannedSource, others=roles.Token())] = ABSENT
    op: Annotated[Raw, roles.op(_OPS)] = ABSENT
    ts_ms: Annotated[Raw, roles.skip()] = ABSENT
    ts_us: Annotated[Raw, roles.skip()] = ABSENT
    ts_ns: Annotated[Raw, roles.skip()] = ABSENT
    transaction: Annotated[
        Raw,
        roles.enter(
            sources.ScannedTransaction, required=False, others=roles.Token(2, "transaction."), when=roles.TRANSACTIONS
        ),
        roles.enter(required=False, others=roles.Token(2, "transaction.")),
    ] = ABSENT


class DebeziumRecord(Envelope, gc=False, rename={"raw": "\x7fraw"}):
    """The known members of an envelope, or of the message around an envelope.

    raw  the whole record, if it is neither of them
    """

    schema: Annotated[Raw, roles.identity(required=True)] = ABSENT
    payload: Annotated[Raw, roles.enter(Envelope)] = ABSENT
    raw: Raw = ABSENT

    @property
    def is_envelope(self) -> bool:
        there = self.source is not ABSENT or self.after is not ABSENT or self.before is not ABSENT
        return there and self.op is not ABSENT

    @property
    def is_payload(self) -> bool:
        """Whether the record is a `schema` and a `payload`."""
        return self.payload is not ABSENT and self.schema is not ABSENT and self.op is ABSENT


# VariableScaleDecimal, geometries and points
_STRUCTS = frozenset({("scale", "value"), ("srid", "wkb"), ("srid", "wkb", "x", "y")})
_TYPES = {"a number": "int64", "a boolean": "boolean"}  # of the columns in keys without a schema

Images = tuple[Raw | None, Raw | None]

_TRANSACTION = {b'"BEGIN"': "transaction begin", b'"END"': "transaction end"}
_NOTIFICATION = {"id", "aggregate_type", "type"}
_SIGNALS = frozenset(
    f'"{kind}"'.encode()
    for kind in (
        "log", "schema-changes", "execute-snapshot", "execute-incremental-snapshot", "stop-snapshot", "pause-snapshot",
        "resume-snapshot", "snapshot-window-open", "snapshot-window-close",
    )
)  # fmt: skip
_KEYS = ({"databaseName"}, {"serverName"})


def kind_of(members: Mapping[str, Raw], schema_name: str | None) -> str | None:
    """Return the kind of a record that is neither a change nor a schema change; None if it is unknown."""
    names = set(members)
    if "status" in names and "id" in names and names & {"ts_ms", "data_collections", "event_count"}:
        kind = _TRANSACTION.get(bytes(members["status"]))
        if kind is not None:
            return kind
    if "ts_ms" in names and names <= {"ts_ms", "ts_us", "ts_ns"}:
        return "heartbeat"
    if names >= _NOTIFICATION and names <= _NOTIFICATION | {"additional_data", "timestamp"}:
        return "notification"
    if names in ({"type", "data"}, {"id", "type", "data"}) and bytes(members["type"]) in _SIGNALS:
        return "signal"
    if names in _KEYS or (schema_name or "").endswith("Key"):
        return "key"
    return None


# Debezium's schema changes: the definitions in `tableChanges`.

_NO_SNAPSHOT = (b"", b"null", b"false", b'"false"')
_PART = lazy_regex(r'"((?:[^"]|"")*)"(?:\.|$)')


class ChangedTable(msgspec.Struct, gc=False):
    columns: tuple[HistoryColumn, ...] = ()
    primaryKeyColumnNames: tuple[str, ...] | None = None


class TableHistory(msgspec.Struct, gc=False):
    type: str
    id: str
    table: ChangedTable | None = None


class SchemaChangeRecord(msgspec.Struct, gc=False):
    """A record of the schema change topic or of the schema history, which has a position besides its source block."""

    tableChanges: tuple[TableHistory, ...] | None = None
    ddl: str | None = None
    databaseName: str | None = None
    schemaName: str | None = None
    source: dict[str, Raw] | None = None
    position: dict[str, Raw] | None = None


def described_tables(change: SchemaChangeRecord, options: DebeziumOptions) -> Iterator[TableDef]:
    """Yield the tables that a schema change creates or alters. Raises: RecordError for an invalid `id`."""
    connector = bytes((change.source or {}).get("connector", ABSENT))
    for item in change.tableChanges or ():
        if item.type != "DROP" and item.table is not None and item.table.columns:
            columns = sorted(item.table.columns, key=lambda column: column.position or 0)
            yield TableDef(
                _name(item.id, options),
                tuple(Column(column.name, of_table_column(column, connector), column.optional) for column in columns),
            ).with_keys(item.table.primaryKeyColumnNames or ())


def _name(identity: str, options: DebeziumOptions) -> str:
    """Return the name of a table from its quoted parts, `"db"."schema"."table"`."""
    parts = [part.replace('""', '"') for part in _PART.findall(identity)]
    if not 1 <= len(parts) <= 3 or not parts[-1]:
        raise RecordError("GG308", "`tableChanges` has an `id` that is not a table name")
    database = parts[0] if len(parts) > 1 else None
    schema = parts[1] if len(parts) > 2 else None
    return qualified_name(database, schema, parts[-1], options)


_schema_change = msgspec.json.Decoder(SchemaChangeRecord).decode


@dataclass(frozen=True)
class Schema:
    """The known parts of a schema: the fields of a row, None if the schema has no row."""

    name: str | None
    row: tuple[SchemaField, ...] | None


_NO_SCHEMA = Schema(None, None)


class Debezium(Dialect):
    record = DebeziumRecord
    scanned = True
    keeps_json = frozenset({Kind.STRING, Kind.DECIMAL})

    def __init__(self, source: WriterSettings, with_tokens: bool = True) -> None:
        super().__init__(source, with_tokens)
        self.options = cast(DebeziumOptions, source.options or DebeziumOptions())
        self.decoder, self._payloads = (
            KeepingDecoder(DebeziumRecord, lambda record: bool(record.is_envelope or record.is_payload))
            for _ in range(2)
        )
        self._payload: DebeziumRecord | None = None
        self._types = Types(self.options)
        self._schemas: dict[bytes, Schema] = {}
        self._latest: tuple[Raw, Schema] = (ABSENT, _NO_SCHEMA)
        self._names: dict[tuple[str | None, ...], str] = {}
        self._flat_tables: set[str] = set()  # those with a definition from the user whose records are their rows

    @classmethod
    def caution(cls, options: DebeziumOptions | None) -> str:
        options = options or DebeziumOptions()
        given = {"decimalFormat": options.decimal_format, "timePrecision": options.time_precision}
        idle = [f"`{name}`" for name, value in given.items() if value != TEXT]
        if idle:
            return f"{' and '.join(idle)} cannot be applied, so values stay as they are. Pass `--definitions`"
        return (
            "decimals in Base64, and dates and times in numbers, stay as they are. Pass `--definitions`, and set "
            "`decimalFormat` and `timePrecision`"
        )

    @staticmethod
    def sniff(members: dict[str, Any]) -> str | None:
        if cloud_events.is_event(members):
            return "`specversion` and a `type` of Debezium"
        schema, payload = members.get("schema"), members.get("payload")
        if unread_record(members) is not None:
            return None
        own_schema = schema is None or (isinstance(schema, dict) and "dataColumn" not in schema)
        own_payload = payload is None or (
            isinstance(payload, dict)
            and "message_version" not in payload
            and not ("table" in payload and "op_type" in payload)
        )
        if "payload" in members and "schema" in members and own_schema and own_payload:
            return "`schema` and `payload`"
        if members.keys() == {"payload"} and own_payload and payload is not None:
            members = payload
        op = members.get("op")
        if isinstance(op, str) and len(op) == 1 and any(name in members for name in ("source", "before", "after")):
            return "`op` and an image or `source`"
        if any(name in members for name in ("__op", "__deleted", "__table")):
            return "members of a flattened row"
        if "tableChanges" in members and "databaseName" in members:
            return "`tableChanges`"
        if members.get("status") in ("BEGIN", "END") and "data_collections" in members:
            return "`status` and `data_collections`"
        return None

    @cached_property
    def once(self) -> Once:
        own = super().once
        rows = Once({**own.members, "data": own}, EVERY.prefixes)  # columns may be members of the record
        return rows._replace(members={**rows.members, "payload": rows})

    def changes(self, record: DebeziumRecord) -> Meaning:
        schema = _NO_SCHEMA
        self._payload = None
        if record.is_payload:
            payload = none_if_null(record.payload)
            if payload is None:
                return "tombstone"
            schema = self._schema(record.schema)
            inner = self._payload = decoded(self._payloads.decode, payload, "`payload` is not an object")
            assert inner is not None  # it is not null
            record = inner
        if record.is_envelope:
            return self._change(record, schema)
        return self._other(record.raw, schema)

    def passed_over(self, record: DebeziumRecord) -> Sequence[str]:
        names = self.decoder.passed_over(record)
        return names if self._payload is None else (*names, *self._payloads.passed_over(self._payload))

    # Images

    def meaningful_columns(
        self, table: TableDef, before: Columns, rows: pa.BooleanArray
    ) -> tuple[Columns, Mapping[int, Diagnostic]]:
        return keys_alone(table, before, rows) if self.options.before_image == KEYS else (before, {})

    @classmethod
    def takes_objects(cls, members: tuple[str, ...]) -> bool:
        return members in _STRUCTS

    def refuses_objects(self, table: str, described: bool) -> bool:
        return not described and table in self._flat_tables

    # The scanner

    def grammar(self, record: DebeziumRecord) -> roles.Grammar | None:
        inner = record if self._payload is None else self._payload
        of_message = self.decoder.learned()
        of_envelope = self._payloads.learned() if record.is_payload else of_message
        block = none_if_null(inner.source)
        if block is None or not inner.is_envelope or not sources.is_scannable(block):
            return None
        source = sources.decode(block)
        rules = connector_of(source.connector, source.origin)
        if rules.cells is not None or rules.nanos_alone:
            return None  # the scanner has no cells, and reads numbers of at most 18 digits
        if of_message is None or of_envelope is None or len(of_message) + len(of_envelope) > roles.MAX_NOTES:
            return None
        conditions = () if sources.database_in_name(source, self.options) else (sources.DATABASE_IS_TOKEN,)
        notes = ((), tuple(map(roles.note, of_message))), (("payload",), tuple(map(roles.note, of_envelope)))
        if record.is_payload:
            return self.make_grammar(DebeziumRecord, conditions, notes, inherited=False)
        return self.make_grammar(Envelope, conditions, notes[:1])

    def positions(self, scanned: SourceBatch) -> pa.StringArray:
        own = scanned.slots[scanned.places["position"]]
        if own.present is None:
            return own.values
        positions = super().positions(scanned)  # a null `position` is none
        return pc.if_else(own.present, own.values, positions) if own.present.true_count else positions

    def transactions(self, scanned: SourceBatch) -> pa.StringArray | None:
        ids = super().transactions(scanned)
        return ids if ids is None or not ids.null_count else pc.coalesce(ids, sources.commits(scanned))

    # Changes

    def _change(self, record: DebeziumRecord, schema: Schema) -> Meaning:
        block, code = none_if_null(record.source), bytes(record.op)
        source = sources.NO_SOURCE if block is None else _source(block)
        rules = connector_of(source.connector, source.origin)
        op = _TYPES_OF_OPS.get(code) or rules.ops.get(code)
        if op is None:
            if code == _MESSAGE:
                return "message"
            word = code.decode() if len(code) <= 40 else "a long value"
            raise RecordError("GG304", f"`op` cannot be {word}", "legal values are `c`, `r`, `u`, `d`, `t` and `m`")
        # Arcion's JSON has an empty object for a missing image.
        images = without_empty_images(op, none_if_null(record.before), none_if_null(record.after))
        if source.collection and any(image is not None and bytes(image)[:1] == b'"' for image in images):
            raise RecordError("GG308", f"the record is {MONGODB.what}, which ggfmt does not read", MONGODB.help)
        table = self._table(source)
        images = self._known_images(images, op, source, rules, table)
        if source.primary_keys:
            self.add_key(table, source.primary_keys)
        transaction = none_if_null(record.transaction)
        tokens = self._tokens(source, block, transaction, code) if self.with_tokens else {}
        of_rows: tuple[str | None, str | None] = None, None
        if self.with_transactions:
            members = {} if block is None else raw_members(block)
            of_rows = self._of_rows(table, members, ABSENT if transaction is None else sources.id_in(transaction))
        record_schema = self._describe(table, schema, rules)
        op_ts, position = sources.op_micros(source), sources.position(source)
        return [Change(table, op, op_ts, position, *images, tokens, record_schema, *of_rows)]

    def _table(self, source: sources.SourceBlock) -> str:
        named = tuple(getattr(source, name) for name in sources.NAMES)
        table = self._names.get(named)
        if table is None:
            table = self._names[named] = sources.table_name(source, self.options)
        return table

    def _known_images(
        self, images: Images, op: str, source: sources.SourceBlock, rules: Connector, table: str
    ) -> Images:
        """Return the images without cells; that before a delete may be in the key of the message.

        Raises: RecordError if a delete has no image before it.
        """
        before, after = images
        if rules.cells is not None:
            before, after = (image and without_cells(image, rules, table) for image in images)
            if op == "D" and before is None and rules.key_in_after:
                before, after = after, None
        if op != "D" or before is not None:
            return before, after
        if self.message_key is not None:
            key = self.key_columns() or key_of_list(self.message_key, source.primary_keys or ())
            before = Raw(msgspec.json.encode(key)) if key else None
        if before is None:
            raise RecordError("GG307", "a delete has no before image", rules.lacking, table)
        return before, after

    def _tokens(
        self, source: sources.SourceBlock, block: Raw | None, transaction: Raw | None, code: bytes
    ) -> dict[str, str]:
        in_name = sources.database_in_name(source, self.options)
        tokens = {} if block is None else sources.tokens_of(block, in_name)
        if transaction is not None:
            tokens |= sources.transaction_tokens(transaction)
        if code == _READ:
            tokens.setdefault("snapshot", "true")
        return tokens

    def _of_rows(self, table: str, source: Mapping[str, Raw], own: Raw) -> tuple[str | None, str | None]:
        """Return the transaction of a change, and the origin of its position; note the name of its source."""
        name = sources.name_of(source)
        if name is not None:
            self.sources.setdefault(table, {})[name] = "source.name"
        ids = roles.names_of(self.record, roles.TRANSACTION)
        return sources.transaction_id(source, own, ids), sources.origin_of(source)

    # Other records

    def _other(self, raw: Raw, schema: Schema) -> Meaning:
        members = decoded(raw_members, raw, "the record is not an object")
        if cloud_events.VERSION in members:
            return self.changes(self.decoder.decode(cloud_events.message_of(members)))
        if members.keys() == {"payload"}:
            payload = {"schema": None, "payload": members["payload"]}
            return self.changes(self.decoder.decode(msgspec.json.encode(payload)))
        prefix = self.options.flattened_prefix
        if "__deleted" in members or (prefix and any(name.startswith(prefix) for name in members)):
            return self._flattened(members, schema)
        if "tableChanges" in members or ("ddl" in members and "databaseName" in members):
            return self._schema_change(raw)
        if "table" in members and "op_type" in members:
            reason = "the record is an operation of GoldenGate's Kafka Connect handler"
            raise RecordError("GG305", reason, "read it with `--input-format kafkaconnect_json`")
        kind = kind_of(members, schema.name)
        if kind is not None:
            return kind
        if not members:
            raise RecordError("GG305", "the record is empty")
        if self.options.table:
            return self._flattened(members, schema)
        help = "if the record is a flattened row, set `table` with `--input-option`"
        raise RecordError("GG305", "the record is neither a change nor another known record of Debezium", help)

    def _flattened(self, members: Mapping[str, Raw], schema: Schema) -> Meaning:
        prefix = self.options.flattened_prefix
        row, added, block = {}, {}, {}
        for name, value in members.items():
            if name == "__deleted":
                added["deleted"] = value
            elif not prefix or not name.startswith(prefix):
                row[name] = value
            elif name[len(prefix) :] in _OF_ENVELOPE:
                added[name[len(prefix) :]] = value
            else:
                block[name[len(prefix) :].removeprefix("source_")] = value
        reason = "a member that was added to the row has the wrong type"
        source = decoded(sources.decode, msgspec.json.encode(block), reason)
        table = sources.table_name(source, self.options)
        if table in self.trusted:
            self._flat_tables.add(table)
        deleted = bytes(added.get("deleted", ABSENT)) in _TRUE
        code = bytes(added.get("op", ABSENT))
        rules = connector_of(source.connector, source.origin)
        op = "D" if deleted else _TYPES_OF_OPS.get(code) or rules.ops.get(code)
        if op is None:
            if code or self.options.flattened_op == REFUSE:
                help = "configure the connector to add `op` to the rows, or set `flattenedOp` with `--input-option`"
                raise RecordError("GG305", "the row does not have an operation", help, table)
            op = "I" if self.options.flattened_op == INSERT else "U"
        image = None if op == "T" else Raw(msgspec.json.encode(row))
        if image is not None and rules.cells is not None:
            image = without_cells(image, rules, table)
        before, after = (image, None) if op == "D" else (None, image)
        tokens: dict[str, str] = {}
        if self.with_tokens:
            tokens = sources.flattened_tokens(block, sources.database_in_name(source, self.options))
            if code == _READ:
                tokens.setdefault("snapshot", "true")
        of_rows: tuple[str | None, str | None] = None, None
        if self.with_transactions:
            of_rows = self._of_rows(table, block, block.get("transaction_id", ABSENT))
        record_schema = self._describe(table, schema, rules, ("__deleted", prefix) if prefix else ("__deleted",))
        op_ts, position = sources.op_micros(source), sources.position(source)
        return [Change(table, op, op_ts, position, before, after, tokens, record_schema, *of_rows)]

    def _schema_change(self, raw: Raw) -> Meaning:
        change = decoded(_schema_change, raw, "`tableChanges` does not have the structure of Debezium")
        tables = [self.keyed(table) for table in described_tables(change, self.options)]
        word = None if tables else "schema change"
        return [*(RecordSchema(table, self.converts(table)) for table in tables), self._statement(change, word)]

    def _statement(self, change: SchemaChangeRecord, word: str | None) -> Statement:
        """The statement of a schema change. Statements of a snapshot describe tables and do not change them."""
        block = {**(change.position or {}), **(change.source or {})}
        if bytes(block.get("snapshot", ABSENT)) not in _NO_SNAPSHOT:
            return Statement(word)
        source = decoded(sources.decode, msgspec.json.encode(block), "`source` is invalid")
        changed: dict[str, list[str]] = {}
        for item in change.tableChanges or ():
            changed.setdefault(item.type, []).append(_name(item.id, self.options))
        names = {What.DROP: changed.get("DROP", []), What.CREATE: changed.get("CREATE", [])}
        effects = effects_of(change.ddl or "")
        head = Change("", "T", sources.op_micros(source), sources.position(source), None, None, {})
        # The names in `tableChanges` need no database, and have the case of the table.
        named = [What.DROP, *(effect.what for effect in effects if names.get(effect.what))]
        rest = [effect for effect in effects if not names.get(effect.what)]
        found = statement(word, rest, partial(self._resolve, change), head)
        emptied = (head._replace(table=name) for what in dict.fromkeys(named) for name in names[what])
        return replace(found, emptied=(*emptied, *found.emptied))

    def _resolve(self, change: SchemaChangeRecord, effect: Effect, name: Name) -> str:
        *before, table = map(unquoted, name)
        if change.schemaName is None:
            return qualified_name(before[-1] if before else change.databaseName, None, table, self.options)
        schema = before[-1] if before else change.schemaName
        return qualified_name(change.databaseName, schema, table, self.options)

    # Types

    def _schema(self, data: Raw) -> Schema:
        latest, schema = self._latest
        if data == latest:
            return schema
        key = bytes(data)
        known = self._schemas.get(key)
        if known is None:
            known = self._schemas[key] = _parsed(data)
        self._latest = Raw(key), known
        return known

    def _describe(
        self, table: str, schema: Schema, rules: Connector, added: tuple[str, ...] = ()
    ) -> RecordSchema | None:
        if schema.row is None:
            return None
        added_keys = self._keys_beside(schema.row)
        identity = (table, id(schema), added_keys)  # all schemas are kept
        if (record_schema := self._record_schemas.get(identity)) is not None:
            return record_schema
        row = schema.row if rules.cells is None else fields_without_cells(schema.row, rules)
        row = (*self._key_fields(added_keys), *row)
        fields = {field.field: field for field in row if field.field and not (added and field.field.startswith(added))}
        columns, converts = [], []
        for name, field in fields.items():
            self.learned.setdefault(EncodingKey(table, name), field)
            column, convert = self._types.of_field(field)
            columns.append(column)
            converts.append(convert)
        return self.described(identity, lambda: TableDef(table, tuple(columns)), tuple(converts))

    def _keys_beside(self, row: tuple[SchemaField, ...]) -> tuple[str, ...]:
        names = () if self.message_key is None else self.key_columns()
        return tuple(sorted(set(names).difference(field.field or "" for field in row))) if names else ()

    def _key_fields(self, names: tuple[str, ...]) -> Iterator[SchemaField]:
        """Yield the fields of columns in the key of the message: those of its schema, or else by their values."""
        if not names:
            return
        assert self.message_key is not None
        schema = raw_members(self.message_key).get("schema", ABSENT)
        known = {field.field: field for field in _parsed(schema).row or ()} if none_if_null(schema) is not None else {}
        for name, value in self.key_columns().items():
            if name in names:
                type = _TYPES.get(json_kind(bytes(value)), "string")
                yield known.get(name) or SchemaField(type, name)

    def converts(self, table: TableDef) -> tuple[Convert | None, ...]:
        """Choose the conversions for changes without a schema: those of another change's schema, or else of the
        definition.
        """
        fields = (self.source.facts.get(EncodingKey(table.full_name, name)) for name in table.column_names)
        return tuple(
            self._types.of_column(column.type) if field is None else self._types.of_field(field)[1]
            for column, field in zip(table.columns, fields, strict=True)
        )


def _source(block: Raw) -> sources.SourceBlock:
    try:
        return sources.decode(block)
    except ValueError as error:
        what, _, place = str(error).partition(" - at ")
        member = place.strip("`").replace("$", "source") or "source"
        raise RecordError("GG308", f"`{member}` is invalid: {what[:1].lower()}{what[1:]}") from None


def keys_alone(table: TableDef, columns: Columns, rows: pa.BooleanArray) -> tuple[Columns, dict[int, Diagnostic]]:
    """Return the columns with all columns outside the key missing in `rows`, and problems by row.

    If the table has no key, return the columns unchanged, and GG205 for each of the `rows`.
    """
    if not table.key_indices:
        message = f"the table `{table.full_name}` has no primary key, but before images have only key columns"
        problem = Diagnostic("GG205", message, help="define its key with `primaryKeys` or `--definitions`")
        return columns, dict.fromkeys(non_null_values(pc.indices_nonzero(rows)), problem)
    kept = pc.invert(rows)
    done = []
    for definition, column in zip(table.columns, columns, strict=True):
        if not definition.key:
            values = pc.if_else(kept, column.values, pa.scalar(None, pa.string()))
            present = kept if column.present is None else pc.and_(column.present, kept)
            column = replace(column, values=values, present=present)
        done.append(column)
    return tuple(done), {}


def _parsed(data: Raw) -> Schema:
    if none_if_null(data) is None or bytes(data) == b"{}":
        return _NO_SCHEMA
    try:
        schema = decode_schema(data)
    except (ValueError, RecursionError):
        name = name_of(data)
        if name is not None and name.endswith("Key"):
            return Schema(name, None)
        raise RecordError("GG308", "`schema` is not a Kafka Connect schema") from None
    row = schema.members("after") or schema.members("before")
    if row is None and not schema.members("source"):
        row = schema.fields or None  # a struct without fields does not define a table
    return Schema(schema.name, row)


READ_SIDES = {"debezium_json": dialect_input(Debezium)}
