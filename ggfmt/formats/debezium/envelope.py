"""What Debezium's messages have around the images, written: source blocks, transactions, and the schema of it all.

Tokens that are members of source blocks are written where they were, integers as numbers if those of their connector
are; all others are the strings of the member `tokens`. Which members there are depends on the operation, and the schema
with them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ggfmt.columnar.escapes import escape_json_text
from ggfmt.columnar.join import join, repeat
from ggfmt.columnar.pieces import Piece
from ggfmt.columnar.strings import quote_json
from ggfmt.columnar.timestamps import floor_millis
from ggfmt.columnar.tokens import token
from ggfmt.formats.connect import schemas as connect
from ggfmt.formats.debezium import OWN, DebeziumOptions
from ggfmt.formats.json.values import compact_json
from ggfmt.model.table import TableDef

_MYSQL = pa.array(["mysql", "mariadb"], pa.string())
_INTEGER = "^(?:0|-?[1-9][0-9]{0,17})$"

# The members of source blocks, and of which connectors they are numbers.
_NUMBERS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("server_id", "pos", "row", "thread"), ("mysql", "mariadb")),
    "txId": ("postgresql", "yashandb"),
    **dict.fromkeys(("lsn", "xmin", "origin_lsn"), ("postgresql",)),
    **dict.fromkeys(("ssn", "redo_thread", "commit_ts_ms", "start_ts_ms"), ("oracle",)),
    "event_serial_no": ("sqlserver",),
    **dict.fromkeys(("ord", "h", "tord", "txnNumber", "wallTime"), ("mongodb",)),
}
_TEXTS = (
    "gtid", "file", "query", "sequence", "origin", "scn", "commit_scn", "lcr_position", "rs_id", "user_name",
    "redo_sql", "row_id", "start_scn", "change_lsn", "commit_lsn", "begin_lsn", "rs", "stxnid", "lsid", "shard",
    "vgtid", "cluster", "ts_hlc", "resolved_ts", "position_scn",
)  # fmt: skip
_MEMBERS = tuple(sorted((*_NUMBERS, *_TEXTS)))
TRANSACTION = {"id": False, "total_order": True, "data_collection_order": True}

FIXED = (
    ("version", "string", False), ("connector", "string", False), ("name", "string", False), ("ts_ms", "int64", True),
    ("snapshot", "string", True), ("db", "string", True), ("schema", "string", True), ("table", "string", False),
    ("ts_us", "int64", True), ("ts_ns", "int64", True),
)  # fmt: skip


class TokenColumns:
    """The tokens of n operations by name, and which of them have found their place."""

    def __init__(self, tokens: pa.MapArray | None, rows: int) -> None:
        self.rows = rows
        self._tokens = tokens
        self.names: frozenset[str] = frozenset(() if tokens is None else pc.unique(tokens.keys).to_pylist())
        self._placed: dict[str, pa.BooleanArray] = {}
        self._columns: dict[str, pa.StringArray] = {}

    def column(self, name: str) -> pa.StringArray:
        if name not in self._columns:
            tokens = self._tokens if name in self.names else None
            self._columns[name] = token(tokens, name, self.rows)
        return self._columns[name]

    def place(self, name: str, where: pa.BooleanArray) -> pa.StringArray:
        """The token where it has its place, which is where it is there and `where` is true; elsewhere NULL."""
        column = self.column(name)
        placed = pc.and_(column.is_valid(), where.fill_null(False))
        self._placed[name] = placed
        return pc.if_else(placed, column, pa.scalar(None, pa.string()))

    def others(self) -> pa.StringArray:
        """JSON objects of the tokens without a place, `null` where there are none."""
        tokens = self._tokens
        left = [name for name in self.names if name not in self._placed or self._placed[name].true_count < self.rows]
        if tokens is None or not left:
            return repeat("null", self.rows)
        objects: list[Piece] = []
        for name in sorted(left):
            there = self.column(name).is_valid()
            if name in self._placed:
                there = pc.and_not(there, self._placed[name])
            value = quote_json(self.column(name).fill_null(""))
            objects.append(pc.if_else(there, join([f",{escape_json_text(name)}:", value]), ""))
        joined = join(objects, self.rows)
        whole = join(["{", pc.utf8_slice_codeunits(joined, 1), "}"])
        return pc.if_else(pc.equal(joined, ""), "null", whole)


@dataclass(frozen=True, eq=False)
class EventColumns:
    """What surrounds the images of n operations, as far as it depends on tokens: texts, NULL where there is none.

    `connector` and `snapshot` are NULL where the event is one of ggfmt's own, and of no snapshot; `transaction` has the
    members of the block by name.
    """

    connector: pa.StringArray
    name: pa.StringArray
    snapshot: pa.StringArray
    database: pa.StringArray
    schema: pa.StringArray
    transaction: dict[str, pa.StringArray]

    @property
    def in_transaction(self) -> pa.BooleanArray:
        """Whether an operation has a transaction."""
        return reduce(pc.or_, (values.is_valid() for values in self.transaction.values()))


class EventEnvelope:
    """Makes what surrounds the images of one table."""

    def __init__(self, table: TableDef, options: DebeziumOptions, row: Sequence[Mapping[str, Any]], all_tokens: bool):
        self._options = options
        self._all_tokens = all_tokens
        self._name = escape_json_text(table.name)
        self._catalog, self._schema = table.catalog, table.schema
        named = re.sub(r"[^A-Za-z0-9_.]", "_", ".".join(filter(None, (options.topic_prefix, table.full_name))))
        self._schema_head, self._schema_tail = _schema_parts(named, row, all_tokens)

    def columns(self, tokens: TokenColumns) -> EventColumns:
        """What the tokens of n operations say in places of their own."""
        everywhere = pa.repeat(pa.scalar(True), tokens.rows)
        of_other = pc.not_equal(tokens.column("connector"), OWN)
        connector = tokens.place("connector", of_other)
        name = tokens.place("name", pc.and_(of_other, pc.not_equal(tokens.column("name"), OWN)))
        snapshot = tokens.place("snapshot", pc.not_equal(tokens.column("snapshot"), "false"))
        database, schema = self._names(tokens, connector, everywhere)
        transaction = {}
        for part, number in TRANSACTION.items():
            column = tokens.column(f"transaction.{part}")
            where = pc.match_substring_regex(column, _INTEGER) if number else column.is_valid()
            transaction[part] = tokens.place(f"transaction.{part}", where)
        return EventColumns(
            connector,
            name.fill_null(self._options.topic_prefix),
            snapshot,
            database,
            schema,
            transaction,
        )

    def parts(
        self, tokens: TokenColumns, micros: pa.Int64Array, position: pa.StringArray
    ) -> tuple[pa.StringArray, pa.StringArray, pa.BooleanArray, pa.StringArray | None]:
        """Of n operations the source blocks, the transactions, whether they are rows of a snapshot, and the schemas."""
        rows = tokens.rows
        event = self.columns(tokens)
        head: list[Piece] = [
            '{"version":"', OWN, '","connector":', quote_json(event.connector.fill_null(OWN)),
            ',"name":', quote_json(event.name),
            ',"ts_ms":', _text(floor_millis(micros)), ',"snapshot":', quote_json(event.snapshot.fill_null("false")),
            ',"db":', quote_json(event.database), ',"schema":', quote_json(event.schema), f',"table":{self._name}',
            ',"ts_us":', _text(micros), ',"ts_ns":', _nanos(micros),
        ]  # fmt: skip
        members, fields = self._members(tokens, event.connector)
        head += [*members, ',"position":', quote_json(position)]
        if self._all_tokens:
            head += [',"tokens":', tokens.others()]
        schemas = None
        if self._options.schemas_enable:
            schemas = join([self._schema_head, *fields, self._schema_tail], rows)
        return join([*head, "}"], rows), _transaction(event, rows), event.snapshot.is_valid(), schemas

    @property
    def schema_text(self) -> str:
        """The schema of an event without tokens that are members of its source block."""
        return self._schema_head + self._schema_tail

    def _names(
        self, tokens: TokenColumns, connector: pa.StringArray, everywhere: pa.BooleanArray
    ) -> tuple[pa.StringArray, pa.StringArray]:
        """The database and the schema: of MySQL what a name of two parts starts with is the database."""
        rows = tokens.rows
        if self._schema is None or self._catalog is not None:
            return repeat(self._catalog or "", rows), _constant(self._schema, rows)
        mysql = pc.is_in(connector, _MYSQL)
        own = pc.and_(pc.invert(mysql), pc.not_equal(tokens.column("db"), "").fill_null(False))
        database = tokens.place("db", own).fill_null("")
        null = pa.scalar(None, pa.string())
        return pc.if_else(mysql, self._schema, database), pc.if_else(mysql, null, self._schema)

    @staticmethod
    def _members(tokens: TokenColumns, connector: pa.StringArray) -> tuple[list[Piece], list[Piece]]:
        """The other members of the source block, and their fields in the schema."""
        members: list[Piece] = []
        fields: list[Piece] = []
        for name in _MEMBERS:
            if name not in tokens.names:
                continue
            column = tokens.column(name)
            values = tokens.place(name, column.is_valid())
            there, value = values.is_valid(), quote_json(values)
            field: Any = "," + _field(name, "string", True)
            if name in _NUMBERS:
                of_connector = pc.is_in(connector, pa.array(_NUMBERS[name], pa.string()))
                number = pc.and_(of_connector, pc.match_substring_regex(values, _INTEGER).fill_null(False))
                value = pc.if_else(number, values, value)
                field = pc.if_else(number, "," + _field(name, "int64", True), field)
            members.append(pc.if_else(there, join([f',"{name}":', value]), ""))
            fields.append(pc.if_else(there, field, ""))
        return members, fields


def _transaction(event: EventColumns, rows: int) -> pa.StringArray:
    pieces: list[Piece] = []
    for (name, number), values in zip(TRANSACTION.items(), event.transaction.values(), strict=True):
        label = f'{"," if pieces else ""}"{name}":'
        pieces += [label, values.fill_null("null") if number else quote_json(values)]
    return pc.if_else(event.in_transaction, join(["{", *pieces, "}"], rows), "null")


def _constant(text: str | None, rows: int) -> pa.StringArray:
    return pa.nulls(rows, pa.string()) if text is None else repeat(text, rows)


def _text(numbers: pa.Int64Array) -> pa.StringArray:
    return numbers.cast(pa.string()).fill_null("null")


def _nanos(micros: pa.Int64Array) -> pa.StringArray:
    """Nanoseconds as text, for 64 bits of them end in the year 2262."""
    digits = micros.cast(pa.string()).fill_null("null")
    return pc.if_else(pc.is_in(digits, pa.array(["null", "0"], pa.string())), digits, join([digits, "000"]))


# Schemas


def _field(name: str, type: str, optional: bool) -> str:
    return compact_json(connect.field(name, type, optional))


def _schema_parts(name: str, row: Sequence[Mapping[str, Any]], all_tokens: bool) -> tuple[str, str]:
    """The schema of an envelope up to the fields of the source block that depend on operations, and from there on."""
    images = [
        compact_json({"type": "struct", "fields": row, "optional": True, "name": f"{name}.Value", "field": image})
        for image in ("before", "after")
    ]
    fixed = ",".join(_field(*item) for item in FIXED)
    strings = {"type": "string", "optional": False}
    tokens = {"type": "map", "keys": strings, "values": strings, "optional": True, "field": "tokens"}
    rest = f",{_field('position', 'string', True)}" + (f",{compact_json(tokens)}" if all_tokens else "")
    transaction = [_field(part, "int64" if number else "string", True) for part, number in TRANSACTION.items()]
    envelope = (
        f'{{"type":"struct","fields":[{",".join(transaction)}],"optional":true,"name":"event.block","version":1,'
        '"field":"transaction"}',
        _field("op", "string", False),
        *(_field(f"ts_{unit}", "int64", True) for unit in ("ms", "us", "ns")),
    )
    head = f'{{"type":"struct","fields":[{",".join(images)},{{"type":"struct","fields":[{fixed}'
    tail = f'{rest}],"optional":false,"name":"{OWN}.Source","field":"source"}},{",".join(envelope)}]'
    return head, f'{tail},"optional":false,"name":"{name}.Envelope","version":2}}'
