"""The parts of Debezium's messages around the images, for writing: source blocks, transactions, and the whole schema.

Tokens that come from members of source blocks become these members again; integers become numbers if the members of
their connector are numbers. All other tokens are strings in the member `tokens`. So the members depend on the
operation, and the schema depends on the members.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import StringMapArray, non_null_values
from ggfmt.columnar.json_text import json_number
from ggfmt.columnar.metadata import token
from ggfmt.columnar.pieces import COMMA, CommaJoined, Conditional, Encoding, Piece, TextPiece
from ggfmt.dataclasses import dataclass
from ggfmt.formats.api.losses import INTEGER
from ggfmt.formats.connect import schemas as connect
from ggfmt.formats.connect.text import connect_json, connect_strings, quote
from ggfmt.formats.debezium import OWN, SOURCE_NUMBERS, SOURCE_TEXTS, TRANSACTION, DebeziumOptions
from ggfmt.model.table import TableDef

_MYSQL = pa.array(["mysql", "mariadb"], pa.string())

FIXED = (
    ("version", "string", False), ("connector", "string", False), ("name", "string", False), ("ts_ms", "int64", True),
    ("snapshot", "string", True), ("db", "string", True), ("schema", "string", True), ("table", "string", False),
    ("ts_us", "int64", True), ("ts_ns", "int64", True),
)  # fmt: skip


class TokenColumns:
    """The tokens of n operations by name, and which of them already have a place."""

    def __init__(self, tokens: StringMapArray | None, rows: int) -> None:
        self.rows = rows
        self._tokens = tokens
        self.names: frozenset[str] = frozenset(() if tokens is None else non_null_values(pc.unique(tokens.keys)))
        self._none = pa.nulls(rows, pa.string())
        self._placed: dict[str, pa.BooleanArray] = {}
        self._columns: dict[str, pa.StringArray] = {}

    def column(self, name: str) -> pa.StringArray:
        if name not in self.names:
            return self._none
        if name not in self._columns:
            self._columns[name] = token(self._tokens, name, self.rows)
        return self._columns[name]

    def place(self, name: str, where: Callable[[pa.StringArray], pa.BooleanArray]) -> pa.StringArray:
        """Return the texts of a token where the mask is true, its place, and NULL elsewhere."""
        if name not in self.names:
            return self._none
        column = self.column(name)
        placed = pc.and_(column.is_valid(), where(column).fill_null(False))
        self._placed[name] = placed
        return pc.if_else(placed, column, pa.scalar(None, pa.string()))

    def others(self) -> Piece:
        """Return JSON objects of the tokens without a place; `null` for an operation without such tokens."""
        tokens = self._tokens
        left = [name for name in self.names if name not in self._placed or self._placed[name].true_count < self.rows]
        if tokens is None or not left:
            return "null"
        members: list[Piece] = []
        anywhere = []
        for name in sorted(left):
            there = self.column(name).is_valid()
            if name in self._placed:
                there = pc.and_not(there, self._placed[name])
            anywhere.append(there)
            members.append(Conditional(there, [COMMA, f"{quote(name)}:", connect_strings(self.column(name))]))
        return Conditional(reduce(pc.or_, anywhere), ["{", CommaJoined(members), "}"], ["null"])


@dataclass(frozen=True, eq=False)
class EventColumns:
    """The parts of n operations around the images that depend on tokens: texts, or NULL.

    `connector`, `name` and `snapshot` are NULL for an event that ggfmt itself creates outside of a snapshot. `database`
    and `schema` may be one text, or None, for all. `transaction` has the members of the block by name.
    """

    connector: pa.StringArray
    name: pa.StringArray
    snapshot: pa.StringArray
    database: pa.StringArray | str
    schema: pa.StringArray | str | None
    transaction: dict[str, pa.StringArray]

    @property
    def in_transaction(self) -> pa.BooleanArray:
        return reduce(pc.or_, (values.is_valid() for values in self.transaction.values()))


class EventEnvelope:
    def __init__(self, table: TableDef, options: DebeziumOptions, row: Sequence[Mapping[str, Any]], all_tokens: bool):
        self._options = options
        self._all_tokens = all_tokens
        self._name = quote(table.name)
        self._catalog, self._schema = table.catalog, table.schema
        named = re.sub(r"[^A-Za-z0-9_.]", "_", ".".join(filter(None, (options.topic_prefix, table.full_name))))
        self._schema_head, self._schema_tail = _schema_parts(named, row, all_tokens)

    def columns(self, tokens: TokenColumns) -> EventColumns:
        def of_other(column: pa.StringArray) -> pa.BooleanArray:
            return pc.and_(pc.not_equal(tokens.column("connector"), OWN), pc.not_equal(column, OWN))

        connector = tokens.place("connector", of_other)
        name = tokens.place("name", of_other)
        snapshot = tokens.place("snapshot", lambda column: pc.not_equal(column, "false"))
        database, schema = self._names(tokens, connector)
        transaction = {
            part: tokens.place(f"transaction.{part}", _whole if number else pc.is_valid)
            for part, number in TRANSACTION.items()
        }
        return EventColumns(connector, name, snapshot, database, schema, transaction)

    def parts(
        self, tokens: TokenColumns, micros: pa.Int64Array, position: pa.StringArray
    ) -> tuple[list[Piece], Piece, pa.BooleanArray | None, list[Piece] | None]:
        """Return the source blocks, the transactions, which rows are of a snapshot (None: no row) and the schemas."""
        event = self.columns(tokens)
        head: list[Piece] = [
            '{"version":"', OWN, '","connector":', _json(event.connector, OWN),
            ',"name":', _json(event.name, self._options.topic_prefix),
            ',"ts_ms":', json_number(micros, Encoding.MILLIS), ',"snapshot":', _json(event.snapshot, "false"),
            ',"db":', _json(event.database), ',"schema":', _json(event.schema), f',"table":{self._name}',
            ',"ts_us":', json_number(micros, Encoding.DIGITS), ',"ts_ns":', json_number(micros, Encoding.NANOS),
        ]  # fmt: skip
        members, fields = self._members(tokens, event.connector)
        head += [*members, ',"position":', connect_strings(position)]
        if self._all_tokens:
            head += [',"tokens":', tokens.others()]
        schemas = None
        if self._options.schemas_enable:
            schemas = [self._schema_head, *fields, self._schema_tail]
        snapshots = event.snapshot.is_valid() if event.snapshot.null_count < tokens.rows else None
        return [*head, "}"], _transaction(event), snapshots, schemas

    @property
    def schema_text(self) -> str:
        return self._schema_head + self._schema_tail

    def _names(
        self, tokens: TokenColumns, connector: pa.StringArray
    ) -> tuple[pa.StringArray | str, pa.StringArray | str | None]:
        """Return database and schema. In MySQL, the first part of a name of two parts is the database."""
        if self._schema is None or self._catalog is not None:
            return self._catalog or "", self._schema
        if not tokens.names & {"connector", "db"}:
            return "", self._schema
        mysql = pc.is_in(connector, _MYSQL)
        database = tokens.place("db", lambda column: pc.and_(pc.invert(mysql), pc.not_equal(column, "")))
        null = pa.scalar(None, pa.string())
        return pc.if_else(mysql, self._schema, pc.fill_null(database, "")), pc.if_else(mysql, null, self._schema)

    @staticmethod
    def _members(tokens: TokenColumns, connector: pa.StringArray) -> tuple[list[Piece], list[Piece]]:
        members: list[Piece] = []
        fields: list[Piece] = []
        for name in sorted((*SOURCE_NUMBERS, *SOURCE_TEXTS)):
            if name not in tokens.names:
                continue
            values = tokens.place(name, pc.is_valid)
            there = values.is_valid()
            value: Piece = connect_strings(values)
            field: Piece = "," + _field(name, "string", True)
            if name in SOURCE_NUMBERS:
                of_connector = pc.is_in(connector, pa.array(SOURCE_NUMBERS[name], pa.string()))
                numeric = pc.and_(of_connector, _whole(values).fill_null(False))
                value = Conditional(numeric, [TextPiece(values, null="")], [value])
                field = Conditional(numeric, ["," + _field(name, "int64", True)], [field])
            members.append(Conditional(there, [f',"{name}":', value]))
            fields.append(Conditional(there, [field]))
        return members, fields


def _transaction(event: EventColumns) -> Piece:
    if all(values.null_count == len(values) for values in event.transaction.values()):
        return "null"
    pieces: list[Piece] = []
    for (name, is_number), values in zip(TRANSACTION.items(), event.transaction.values(), strict=True):
        label = f'{"," if pieces else ""}"{name}":'
        pieces += [label, TextPiece(values, null="null") if is_number else connect_strings(values)]
    return Conditional(event.in_transaction, ["{", *pieces, "}"], ["null"])


def _whole(column: pa.StringArray) -> pa.BooleanArray:
    return pc.match_substring_regex(column, INTEGER)


def _json(texts: pa.StringArray | str | None, otherwise: str | None = None) -> Piece:
    """Return JSON strings; for NULL another text, or `null`."""
    null = "null" if otherwise is None else quote(otherwise)
    if texts is None or isinstance(texts, str):
        return null if texts is None else quote(texts)
    return connect_strings(texts)._replace(null=null)


# Schemas


def _field(name: str, type: str, optional: bool) -> str:
    return connect_json(connect.field(name, type, optional))


def _schema_parts(name: str, row: Sequence[Mapping[str, Any]], all_tokens: bool) -> tuple[str, str]:
    """Return the schema of an envelope before and after the fields that depend on operations."""
    images = [
        connect_json({"type": "struct", "fields": row, "optional": True, "name": f"{name}.Value", "field": image})
        for image in ("before", "after")
    ]
    fixed = ",".join(_field(*item) for item in FIXED)
    strings = {"type": "string", "optional": False}
    tokens = {"type": "map", "keys": strings, "values": strings, "optional": True, "field": "tokens"}
    rest = f",{_field('position', 'string', True)}" + (f",{connect_json(tokens)}" if all_tokens else "")
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
