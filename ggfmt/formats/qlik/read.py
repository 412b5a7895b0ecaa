"""Qlik Replicate's messages, read: the parts that JSON and Avro share, and JSON.

An id may turn out to belong to several tables. So a change can be understood only when every metadata message of the
input is known: until a discovery has read the whole input, changes are refused as those of an unknown table.
"""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from ggfmt.dataclasses import dataclass
from ggfmt.formats.api.format import DEFAULT_SETTINGS, WriterSettings
from ggfmt.formats.api.reading import Chunk
from ggfmt.formats.json.values import raw_members
from ggfmt.formats.qlik import CHANGE_SEQUENCE, STREAM_POSITION
from ggfmt.formats.qlik.masks import Ordinals, mask_of
from ggfmt.formats.qlik.messages import (
    DESCRIBED,
    ENVELOPED,
    FLATTENED,
    MAGIC,
    OPS,
    PREFIX,
    QlikBody,
    QlikHeaders,
    QlikRecord,
)
from ggfmt.formats.qlik.types import CONVERTS, sql_type
from ggfmt.formats.records import roles
from ggfmt.formats.records.declared import DeclaredDialect, Members, members_of
from ggfmt.formats.records.dialect import Change, Meaning, RecordSchema, classify_records, none_if_null
from ggfmt.formats.records.discovery import DialectDiscovery
from ggfmt.formats.records.problems import RecordError, UndiscoveredTableError, missing_member_error, no_op
from ggfmt.formats.records.reader import dialect_input
from ggfmt.formats.records.scanner import LEFT_OUT
from ggfmt.model.table import Catalog, Column, TableDef, join_name, split_name

_MAX_COLUMNS = 1 << 16
_LAST_EVENT = "transactionLastEvent"
_SEARCHED = "searched"  # a fact: a discovery has seen all metadata messages
_TABLE_HELP = (
    "also read the file with the metadata message, or set `tableName` with `--input-option` and define the table with "
    "`--definitions`"
)


@dataclass(frozen=True)
class QlikDefinition:
    """The content of a metadata message: the definition, the ordinals of columns, and the Avro schema of changes."""

    table: TableDef
    ordinals: tuple[int, ...]
    schema: str | None


@dataclass(eq=False)
class KnownDefinition:
    metadata: QlikDefinition
    record_schema: RecordSchema
    ordinals: Ordinals
    tokens: dict[str, str]


class Qlik(DeclaredDialect):
    """The parts that both encodings share; their images differ."""

    scalars_only = True

    def __init__(self, source: WriterSettings, with_tokens: bool = True) -> None:
        super().__init__(source, with_tokens)
        # The header that is a token; the other one is the position.
        self.other = STREAM_POSITION if self.options.position == CHANGE_SEQUENCE else CHANGE_SEQUENCE
        self.searched = _SEARCHED in self.learned  # all metadata messages are known
        self.only_definitions = False
        self._ordinals: dict[str, Ordinals] = {}
        self._by_id: dict[str, list[KnownDefinition]] = {}
        self._by_name: dict[str, list[KnownDefinition]] = {}
        self._told: dict[str, dict[str, str]] = {}  # tokens of the metadata, by table
        for key, tokens in self.learned.items():
            if key != _SEARCHED:
                schema_id, metadata = key
                self._know(schema_id, metadata, tokens)
        self.learned[_SEARCHED] = {}

    @staticmethod
    def sniff(members: dict[str, Any]) -> str | None:
        if members.get("magic") == MAGIC:
            return f"the `magic` {MAGIC}"
        headers = members.get("headers")
        if "data" in members and isinstance(headers, dict) and "operation" in headers and "changeSequence" in headers:
            return "`data`, and an operation and a change sequence in `headers`"
        if "headers_operation" in members:
            return "`headers_operation`"
        return None

    # What the scanner takes

    def tells_the_same(self, table: str, known: KnownDefinition | None) -> bool:
        """Whether the metadata of a change give its table the tokens that others gave it."""
        tokens = {} if known is None else known.tokens
        return self._told.setdefault(table, tokens) == tokens

    def common_tokens(self, table: TableDef) -> dict[str, str]:
        return self._told.get(table.full_name, {})

    def conditions(self, record: QlikRecord) -> tuple[str, ...]:
        wanted: tuple[str, ...] = (self.other, roles.TRANSACTIONS) if self.with_transactions else (self.other,)
        if (record.message or record).headers is None:
            wanted = (FLATTENED, *(PREFIX + condition for condition in wanted))
        return wanted if record.message is None else (ENVELOPED, *wanted)

    def declared_members(self, record: QlikRecord) -> Members:
        return members_of(QlikRecord, self.conditions(record), self.with_transactions, record.message is None)

    # What an image is

    def image(self, value: Any) -> Any:
        raise NotImplementedError

    def width(self, image: Any) -> int:
        raise NotImplementedError

    def without(self, image: Any, names: frozenset[str], null: bool) -> Any:
        """The image less some columns, with `null` only where their value is null."""
        raise NotImplementedError

    def changes(self, record: QlikRecord) -> Meaning:
        if record.magic is not None and record.magic != MAGIC:
            raise RecordError("GG308", f"`magic` is not `{MAGIC}`")
        if record.type not in (None, "MD", "DT"):
            raise RecordError(
                "GG308", f"`type` cannot be `{in_message(record.type)}`", "legal values are `MD` and `DT`"
            )
        body = record.message if record.message is not None else record
        if body.tableStructure is not None:
            return [self._learn(record, body)]
        if record.type == "MD":
            raise missing_member_error("tableStructure", what="a metadata message")
        if record.type == "DT" and record.message is None:
            raise missing_member_error("message")
        self.wait()
        return [self._change(record, body)]

    def wait(self) -> None:
        """Refused unless a discovery has seen the whole input."""
        if not self.searched:
            self.lacking = True
            help = "search the whole input for metadata messages first"
            raise UndiscoveredTableError("the metadata messages of the input are not yet known", help)

    # Metadata

    def _learn(self, record: QlikRecord, body: QlikBody) -> RecordSchema:
        assert body.tableStructure is not None
        if body.lineage is None:
            raise RecordError("GG305", "a metadata message has no `lineage`, which names its table")
        name = _full_name(body.lineage.schema, body.lineage.table)
        columns = sorted(body.tableStructure.tableColumns.items(), key=lambda item: item[1].ordinal)
        ordinals = tuple(column.ordinal for _, column in columns)
        if len(set(ordinals)) < len(ordinals) or (ordinals and not 1 <= ordinals[0] <= ordinals[-1] <= _MAX_COLUMNS):
            raise RecordError("GG308", "the ordinals of columns are not unique, or out of range", None, name)
        definition = TableDef(
            name,
            tuple(
                Column(
                    column_name,
                    sql_type(column.type, column.length or 0, column.precision or 0, column.scale or 0),
                    column.nullable is not False,
                    max(column.primaryKeyPosition or 0, 0),
                )
                for column_name, column in columns
            ),
        )
        metadata = QlikDefinition(definition, ordinals, body.dataSchema)
        tokens = {"server": body.lineage.server, "task": body.lineage.task}
        key = (body.schemaId or record.messageSchemaId or "", metadata)
        self.learned.setdefault(key, {name: text for name, text in tokens.items() if text})
        return self.described(metadata, lambda: metadata.table)

    def _know(self, schema_id: str, metadata: QlikDefinition, tokens: dict[str, str]) -> None:
        names = metadata.table.column_names
        ordinals = Ordinals(zip(names, metadata.ordinals, strict=True))
        record_schema = self.described(metadata, lambda: metadata.table)
        known = KnownDefinition(metadata, record_schema, ordinals, tokens)
        self._by_id.setdefault(schema_id, []).append(known)
        named = self._by_name.setdefault(metadata.table.full_name, [])
        if all(other.metadata != metadata for other in named):
            named.append(known)

    def known(self, record: QlikRecord, body: QlikBody) -> tuple[str, KnownDefinition | None]:
        own = _full_name(body.schema, body.table) if body.table else self.options.table_name or None
        schema_id = record.messageSchemaId
        candidates = self._by_id.get(schema_id, []) if schema_id else self._by_name.get(own or "", [])
        if len(candidates) > 1 and own is not None:
            candidates = [known for known in candidates if known.metadata.table.full_name == own]
        if len(candidates) == 1:
            return candidates[0].metadata.table.full_name, candidates[0]
        if candidates:
            tables = sorted({known.metadata.table.full_name for known in candidates})
            reason = f"the table `{in_message(tables[0])}` has {len(candidates)} different metadata messages"
            if len(tables) > 1:
                reason = f"{len(tables)} tables have the schema id `{in_message(schema_id)}`"
            raise RecordError("GG205", f"{reason}, and the change does not identify one", _TABLE_HELP)
        if own is None:
            reason = "the change names neither its table nor a schema id"
            if schema_id:
                reason = f"no metadata message has the schema id `{in_message(schema_id)}`"
            raise RecordError("GG205", reason, _TABLE_HELP)
        return own, None

    # Changes

    def _change(self, record: QlikRecord, body: QlikBody) -> Change:
        headers = body.headers if body.headers is not None else body.flattened()
        operation = (headers.operation or body.operation or "").upper()
        if operation not in OPS:
            if not operation:
                raise missing_member_error("operation", "every change must have an operation in `headers`")
            raise no_op("operation", in_message(operation), OPS)
        table, known = self.known(record, body)
        data, old = self._masked(headers, body, table, known)
        before, after = old, data
        if operation == "DELETE":
            before, after = (data if old is None else old), None
        record_schema = None if known is None else known.record_schema
        change = self.change(record, OPS[operation], table, (before, after), record_schema)
        if known is not None and self.with_tokens:
            change.tokens.update(known.tokens)
        return change

    def tokens(self, record: QlikRecord, op: str | roles.OpToken) -> dict[str, str]:
        tokens = super().tokens(record, op)
        if _LAST_EVENT in tokens:
            tokens[_LAST_EVENT] = tokens[_LAST_EVENT].lower()
        return tokens

    def _masked(
        self, headers: QlikHeaders, body: QlikBody, table: str, known: KnownDefinition | None
    ) -> tuple[Any, Any]:
        """The row in `data` and the one in `beforeData`, less what the message lacks."""
        data, old = self.image(body.data), self.image(body.beforeData)
        if not headers.columnMask and not headers.changeMask:
            return data, old
        ordinals = self._ordinals_of(table, known)
        if ordinals is not None:
            if headers.changeMask:
                ordinals.unset(headers.changeMask, "changeMask", table)
            names = ordinals.unset(headers.columnMask, "columnMask", table) if headers.columnMask else None
            return (self.without(data, names, False), self.without(old, names, True)) if names else (data, old)
        if headers.columnMask:
            image = old if data is None else data
            if image is not None and mask_of(headers.columnMask, "columnMask", table) != (1 << self.width(image)) - 1:
                reason = "`columnMask` leaves out columns, and no metadata message has their ordinals"
                raise RecordError("GG305", reason, "define the table with `--definitions`", table)
        return data, old

    def takes_mask(self, body: QlikBody, table: str, known: KnownDefinition | None) -> bool:
        """Whether the scanner can take changes of a table with the `columnMask` of this one, which was read."""
        if not self.tells_the_same(table, known):
            return False
        left_out = self._left_out(body, table, known)
        return left_out is not None and not (left_out and self.only_definitions)

    def mask_states(self, record: QlikRecord, body: QlikBody, table: TableDef) -> bytes | None:
        """The columns that the `columnMask` of a change leaves out, for the scanner; None if it leaves out none."""
        left_out = self._left_out(body, *self.known(record, body))
        return bytes(LEFT_OUT * (name in left_out) for name in table.column_names) if left_out else None

    def _left_out(self, body: QlikBody, table: str, known: KnownDefinition | None) -> frozenset[str] | None:
        """The columns that the `columnMask` of a change leaves out; None if that is not known."""
        mask = body.flattened().columnMask if body.headers is None else body.headers.columnMask
        if not mask:
            return frozenset()
        ordinals = self._ordinals_of(table, known)
        return None if ordinals is None else ordinals.unset(mask, "columnMask", table)

    def _ordinals_of(self, table: str, known: KnownDefinition | None) -> Ordinals | None:
        if known is not None:
            return known.ordinals
        if table not in self._ordinals:
            definition = self.trusted.get(table)
            if definition is None:
                return None
            self._ordinals[table] = Ordinals((name, place) for place, name in enumerate(definition.column_names, 1))
        return self._ordinals[table]


def in_message(text: str | None) -> str:
    return (text or "") if len(text or "") <= 40 else f"{(text or '')[:37]}..."


def _full_name(schema: str | None, table: str) -> str:
    if not table:
        raise RecordError("GG305", "`lineage` does not name the table")
    name = join_name(schema, table)
    try:
        split_name(name)
    except ValueError as error:
        raise RecordError("GG306", f"the table name `{in_message(name)}` {error}") from None
    return name


class QlikJson(Qlik):
    """Images are JSON objects."""

    record = QlikRecord
    by_kind = CONVERTS

    def grammar(self, record: QlikRecord) -> roles.Grammar | None:
        enveloped = record.message is not None
        body = record.message or record
        table, known = self.known(record, body)
        described = self.only_definitions and known is not None
        conditions = self.conditions(record)
        if described:
            conditions = (*conditions, PREFIX + DESCRIBED if body.headers is None else DESCRIBED)
        notes = self.notes(roles.places(QlikRecord, conditions, inherited=not enveloped))
        if notes is None or not (described or self.takes_mask(body, table, known)):
            return None
        return self.make_grammar(QlikRecord, conditions, notes, inherited=not enveloped)

    def states(self, record: QlikRecord, table: TableDef) -> bytes | None:
        return self.mask_states(record, record.message or record, table)

    def image(self, value: Any) -> Any:
        return none_if_null(value)

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


class QlikDiscovery(DialectDiscovery):
    """Reads the metadata messages of all data first, and changes when these are known."""

    dialect: ClassVar[type[Qlik]]
    _dialect: Qlik

    def __init__(self, catalog: Catalog, every_shape: bool = False, source: WriterSettings = DEFAULT_SETTINGS) -> None:
        super().__init__(catalog, every_shape, source)
        self._dialect.only_definitions = True

    def read(self, chunk: Chunk) -> None:
        if self._dialect.searched:
            super().read(chunk)
        else:
            self._read_metadata(chunk)

    def _read_metadata(self, chunk: Chunk) -> None:
        chunk, records = self._dialect.decoded_records(chunk)
        for index, record in enumerate(records):
            if isinstance(record, QlikRecord) and (record.message or record).tableStructure is None:
                self._dialect.lacking = True
                continue
            for meaning in classify_records(self._dialect, [record]):
                for item in meaning if isinstance(meaning, list) else ():
                    self._take_in(chunk, index, item, {})


READ_SIDES = {"qlik_json": dialect_input(QlikJson, discovery=QlikDiscovery, router=None)}
