"""Source blocks of Debezium: the table, the position, the time and the tokens of a change, for every connector.

A position orders the changes of a connector. Its parts are separated by colons: in MySQL `file:pos:row`, in Oracle
`commit_scn:scn:rs_id:ssn`, in SQL Server, Db2 and Informix `commit_lsn:change_lsn:event_serial_no`, in PostgreSQL its
`sequence` (the last commit and the change itself) or else its `lsn`. A null part is empty, or is omitted at the end.
Members that are empty do not make a position: TiCDC writes `"file":"","pos":0`, and its position is `commit_ts`. Every
member that is neither a part of the name nor a time is a token.

The time is `ts_us`, `ts_ms` or, in CockroachDB, `ts_ns`. Before 0.10, MySQL had seconds in `ts_sec`, 0 in snapshots
(`SourceInfo` of the connector sets it only for events of the binlog), and PostgreSQL had microseconds in `ts_usec`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial, reduce
from itertools import chain
from typing import Annotated, Any, TypeAlias

import msgspec
import pyarrow as pa
from msgspec import UNSET, Raw, UnsetType

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import narrow
from ggfmt.columnar.timestamps import scale_numbers
from ggfmt.formats.debezium import IN_CATALOG, OWN, DebeziumOptions
from ggfmt.formats.debezium.connectors import connector_of
from ggfmt.formats.json.values import json_text, json_texts, raw_members, raw_text
from ggfmt.formats.records import roles
from ggfmt.formats.records.dialect import ABSENT, non_null
from ggfmt.formats.records.problems import RecordError, decoded
from ggfmt.formats.records.scanner import ScannedBatch
from ggfmt.model.table import join_name

DATABASE_IS_TOKEN = "database is token"  # the condition that the table's name does not include the database

_SCALAR = roles.STRING | roles.INTEGER | roles.BOOLEAN | roles.NULL
_Time: TypeAlias = Annotated[int | str | None, roles.slot(roles.INTEGER | roles.NULL)]
_Scalar: TypeAlias = str | int | bool | None
_Part: TypeAlias = Annotated[_Scalar, roles.slot(_SCALAR), roles.Token()]  # a part of a position


class SourceBlock(msgspec.Struct, gc=False):
    """The known members of a source block, of all connectors."""

    db: Annotated[str | None, roles.identity(), roles.Token(unless="", when=DATABASE_IS_TOKEN)] = None
    schema: Annotated[str | None, roles.identity()] = None
    table: Annotated[str | None, roles.identity()] = None
    keyspace: Annotated[str | None, roles.identity()] = None
    collection: Annotated[str | None, roles.identity()] = None
    database_name: Annotated[str | None, roles.identity(), roles.Token(unless="", when=DATABASE_IS_TOKEN)] = None
    schema_name: Annotated[str | None, roles.identity()] = None
    keyspace_name: Annotated[str | None, roles.identity()] = None
    table_name: Annotated[str | None, roles.identity()] = None
    primary_keys: Annotated[tuple[str, ...] | None, roles.identity()] = None
    connector: Annotated[Any, roles.identity(), roles.Token(unless=OWN)] = None
    origin: Annotated[Any, roles.identity(), roles.Token()] = None
    ts_ms: _Time = None
    ts_us: _Time = None
    ts_sec: _Time = None
    ts_usec: _Time = None
    ts_ns: Annotated[Any, roles.skip(roles.ANY)] = None
    position: Annotated[_Scalar | UnsetType, roles.slot(_SCALAR)] = UNSET
    file: _Part = None
    pos: _Part = None
    row: _Part = None
    commit_scn: _Part = None
    scn: _Part = None
    rs_id: _Part = None
    ssn: _Part = None
    commit_lsn: _Part = None
    change_lsn: _Part = None
    event_serial_no: _Part = None
    sequence: _Part = None
    lsn: _Part = None
    vgtid: _Part = None
    ts_hlc: _Part = None
    position_scn: _Part = None
    server_transaction_id: _Part = None
    mod_number: _Part = None
    commit_ts: _Part = None


class ScannedSource(SourceBlock, gc=False):
    """A source block in the scanner, with members for which the exact reader uses only the name."""

    name: Annotated[Raw, roles.identity(), roles.Token(unless=OWN)] = ABSENT
    snapshot: Annotated[Raw, roles.Token(unless="false")] = ABSENT
    version: Annotated[Raw, roles.skip()] = ABSENT
    tokens: Annotated[dict[str, str] | None, roles.tokens(roles.STRING, rank=1)] = None
    txId: Annotated[_Scalar, roles.transaction(_SCALAR), roles.Token(when=roles.TRANSACTIONS)] = None
    gtid: Annotated[_Scalar, roles.transaction(_SCALAR), roles.Token(when=roles.TRANSACTIONS)] = None


class ScannedTransaction(msgspec.Struct, gc=False):
    """The member `transaction` as the scanner takes it if the caller requested ids of transactions."""

    id: Annotated[_Scalar, roles.transaction(_SCALAR), roles.Token(2, "transaction.id")] = None


# The members of a source block, and of `transaction`, with the id of the transaction, in their order of precedence. The
# PostgreSQL connector writes `transaction.id` with the position of each change in it, so that changes of a transaction
# have different ids: `txId` comes first. A source without ids has the commit in its positions, which stands for one.
TRANSACTION_MEMBERS = ("txId", "id", "gtid", "server_transaction_id", "commit_scn", "commit_lsn", "commit_ts")
_COMMIT = r'^\["(?P<commit>[^"]+)"'  # in `sequence`: the last commit before the transaction
_IN_TRANSACTION = "id"
_NO_ID = "the id of the transaction is not a valid string"

NO_SOURCE = SourceBlock()
# The members with the name of the table, and their parts of it.
NAMES = (
    "db", "schema", "table", "keyspace", "collection", "database_name", "schema_name", "keyspace_name", "table_name"
)  # fmt: skip
# The parts of positions, in addition to `position`; they are tokens too. The first of these positions counts of whose
# first parts, as many as the number says, one is there and not empty.
_POSITIONS = (
    (1, ("file", "pos", "row")),
    (2, ("commit_scn", "scn", "rs_id", "ssn")),
    (2, ("commit_lsn", "change_lsn", "event_serial_no")),
    *((1, (name,)) for name in ("sequence", "lsn", "vgtid", "ts_hlc", "position_scn")),
    (1, ("server_transaction_id", "mod_number")),
    (1, ("commit_ts",)),
)
_PARTS = tuple(chain.from_iterable(parts for _, parts in _POSITIONS))
# The members that are not tokens: the version of the connector, the name of the table, the position, and times.
_STRUCTURE = frozenset(ScannedSource.__struct_fields__) - {
    *roles.token_names(ScannedSource),
    "db",
    "database_name",
    *TRANSACTION_MEMBERS,
}

decode = msgspec.json.Decoder(SourceBlock).decode
_texts = msgspec.json.Decoder(dict[str, str]).decode


def table_name(source: SourceBlock, options: DebeziumOptions) -> str:
    """Return the full name of the table; RecordError if it is absent."""
    name = source.table or source.collection or source.table_name
    if not name:
        if options.table:
            return options.table
        help = "set `table` with `--input-option`"
        raise RecordError("GG305", "the record does not name its table", help)
    return qualified_name(source.db or source.database_name, _schema(source), name, options)


def database_in_name(source: SourceBlock, options: DebeziumOptions) -> bool:
    """Return whether the name of the table includes the database."""
    return options.table_name == IN_CATALOG or not _schema(source)


def _schema(source: SourceBlock) -> str | None:
    return source.schema or source.keyspace or source.schema_name or source.keyspace_name


def qualified_name(database: str | None, schema: str | None, name: str, options: DebeziumOptions) -> str:
    parts = [schema or database, name]
    if schema and options.table_name == IN_CATALOG:
        parts.insert(0, database)
    return join_name(*parts)


def position(source: SourceBlock) -> str | None:
    """Return the position of a change; None if its source block has none."""
    if source.position is not UNSET:
        return _text(source.position)
    for leading, names in _POSITIONS:
        parts = [getattr(source, name) for name in names]
        if any(_text(part) for part in parts[:leading]):
            return _text(parts[0]) if len(parts) == 1 else _joined(*parts)
    return None


def _joined(*parts: _Scalar) -> str | None:
    texts = [_text(part) or "" for part in parts]
    return ":".join(texts).rstrip(":") or None


def _text(value: _Scalar) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return str(value).lower() if isinstance(value, bool) else str(value)


def op_micros(source: SourceBlock) -> int | None:
    """Return the time of the change in microseconds since 1970. Raises: RecordError if it is not a number."""
    if source.ts_us is not None:
        return _number(source.ts_us)
    if source.ts_ms is not None:
        return _number(source.ts_ms) * 1000
    if source.ts_usec is not None:
        return _number(source.ts_usec)
    if source.ts_sec is not None:
        return _number(source.ts_sec) * 1_000_000 or None
    alone = source.ts_ns is not None and connector_of(source.connector, source.origin).nanos_alone
    return _number(source.ts_ns) // 1000 if alone else None


def _number(value: int | str) -> int:
    if isinstance(value, int):
        return value
    if not re.fullmatch("-?[0-9]{1,20}", value):
        raise RecordError("GG308", "the time in `source` is not a number")
    return int(value)


def tokens_of(source: Raw, in_name: bool) -> dict[str, str]:
    """Return the tokens of a source block; `in_name`: the name of the table includes the database."""
    members = raw_members(source)
    tokens = member_tokens(members, in_name)
    own = non_null(members.get("tokens", ABSENT))
    if own is not None:
        try:
            tokens |= _texts(own)
        except ValueError:
            tokens["tokens"] = json_text(own)
    return tokens


def member_tokens(members: Mapping[str, Raw], in_name: bool) -> dict[str, str]:
    tokens = {}
    for name, value in members.items():
        if name not in _STRUCTURE and bytes(value) != b"null":
            tokens[name] = json_text(value)
    if tokens.get("snapshot") == "false":
        del tokens["snapshot"]
    for name in ("db", "database_name"):
        if in_name or not tokens.get(name):
            tokens.pop(name, None)
    if tokens.get("connector") == OWN:
        del tokens["connector"]
        tokens.pop("name", None)
    elif tokens.get("name") == OWN:
        del tokens["name"]
    return tokens


def flattened_tokens(members: Mapping[str, Raw], in_name: bool) -> dict[str, str]:
    """Return the tokens among the members that were added to a flattened row, without their prefix."""
    tokens = member_tokens(members, in_name)
    moved = {name: f"transaction.{name.removeprefix('transaction_')}" for name in tokens if "transaction_" in name}
    return {moved.get(name, name): text for name, text in tokens.items()}


def transaction_tokens(transaction: Raw) -> dict[str, str]:
    """Return the tokens in the member `transaction`."""
    texts = decoded(json_texts, transaction, "`transaction` is not an object")
    return {f"transaction.{name}": text for name, text in texts.items() if text is not None}


def transaction_id(source: Mapping[str, Raw], own: Raw) -> str | None:
    """Return the transaction id of a change. `own`: the `id` in its `transaction`, `ABSENT` if there is none."""
    members = {name: source.get(name, ABSENT) for name in TRANSACTION_MEMBERS} | {_IN_TRANSACTION: own}
    members["sequence"] = source.get("sequence", ABSENT)
    texts = {
        name: decoded(partial(raw_text, name=name), value, _NO_ID)
        for name, value in members.items()
        if value is not ABSENT
    }
    commit = re.match(_COMMIT, texts.pop("sequence", None) or "")
    return next(filter(None, texts.values()), commit and commit["commit"])


def id_in(transaction: Raw) -> Raw:
    """Return the `id` in a member `transaction`; `ABSENT` if there is none."""
    return decoded(raw_members, transaction, "`transaction` is not an object").get(_IN_TRANSACTION, ABSENT)


# Source blocks from the scanner, one column at a time


def is_scannable(source: Raw) -> bool:
    """Return whether the scanner makes the same tokens of a source block as the exact reader."""
    members = json_texts(source)
    return members.get("connector") != OWN or members.get("name") in (OWN, None)


def micros(scanned: ScannedBatch) -> pa.Int64Array:
    """Return the times of scanned changes, as `op_micros`."""
    seconds = scale_numbers(scanned.values("ts_sec"), 1_000_000)
    return pc.coalesce(
        scale_numbers(scanned.values("ts_us"), 1),
        scale_numbers(scanned.values("ts_ms"), 1000),
        scale_numbers(scanned.values("ts_usec"), 1),
        pc.if_else(pc.equal(seconds, 0), pa.scalar(None, pa.int64()), seconds),
    )


def positions(scanned: ScannedBatch) -> pa.StringArray:
    """Return the positions of scanned changes, as `position`."""
    rows = len(scanned)
    parts = {name: scanned.values(name) for name in _PARTS}
    there = {name for name, values in parts.items() if values.null_count < rows}

    def joined(*names: str) -> pa.StringArray:
        text = pc.binary_join_element_wise(*(parts[name].fill_null("") for name in names), ":")
        text = pc.ascii_rtrim(text, ":")
        return pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)

    cases: list[tuple[pa.BooleanArray, pa.StringArray]] = []
    own = scanned.slots[scanned.places["position"]]
    if own.present is None:
        return own.values
    if own.present.true_count:
        cases.append((own.present, own.values))
    for leading, names in _POSITIONS:
        if there.intersection(names[:leading]):
            filled = reduce(pc.or_, (pc.not_equal(parts[name].fill_null(""), "") for name in names[:leading]))
            cases.append((filled, parts[names[0]] if len(names) == 1 else joined(*names)))
            if filled.true_count == rows:
                break
    return _first_of(cases, pa.nulls(rows, pa.string()))


def commits(scanned: ScannedBatch) -> pa.StringArray:
    """Return what stands for the transactions of scanned changes that have no id."""
    return narrow(pc.extract_regex(scanned.values("sequence"), _COMMIT).flatten()[0], pa.StringArray)


def _first_of(cases: Sequence[tuple[pa.BooleanArray, pa.StringArray]], otherwise: pa.StringArray) -> pa.StringArray:
    """Return for each row the text of the first case that applies."""
    for where, values in reversed(cases):
        otherwise = values if where.true_count == len(where) else pc.if_else(where, values, otherwise)
    return otherwise
