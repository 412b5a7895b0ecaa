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
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, TypeAlias

import msgspec
import pyarrow as pa
from msgspec import UNSET, Raw, UnsetType

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import narrow
from ggfmt.formats.debezium import IN_CATALOG, OWN, DebeziumOptions
from ggfmt.formats.debezium.connectors import connector_of
from ggfmt.formats.json.values import json_text, json_texts, raw_members, raw_text
from ggfmt.formats.records import roles
from ggfmt.formats.records.declared import Members, text_of
from ggfmt.formats.records.dialect import ABSENT, NO_ORIGINS, non_null
from ggfmt.formats.records.problems import RecordError, decoded
from ggfmt.formats.records.scanner import SourceBatch
from ggfmt.model.table import join_name

DATABASE_IS_TOKEN = "database is token"  # the condition that the table's name does not include the database

_Time: TypeAlias = int | str | None
_NUMBER = roles.INTEGER | roles.NULL
_Scalar: TypeAlias = str | int | bool | None
_TOKEN = roles.Token()
_SCALAR = roles.STRING | roles.INTEGER | roles.BOOLEAN | roles.NULL
_part = partial(roles.position, takes=_SCALAR)
_transaction = partial(roles.transaction, _SCALAR)


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
    ts_us: Annotated[_Time, roles.time("us", _NUMBER)] = None
    ts_ms: Annotated[_Time, roles.time("ms", _NUMBER, rank=1)] = None
    ts_usec: Annotated[_Time, roles.time("us", _NUMBER, rank=2)] = None
    ts_sec: Annotated[_Time, roles.time("s", _NUMBER, rank=3, zero=False)] = None
    ts_ns: Annotated[Any, roles.skip(roles.ANY)] = None
    position: Annotated[_Scalar | UnsetType, _part(0)] = UNSET
    file: Annotated[_Scalar, _part(1), _TOKEN] = None
    pos: Annotated[_Scalar, _part(1, follows=True), _TOKEN] = None
    row: Annotated[_Scalar, _part(1, follows=True), _TOKEN] = None
    commit_scn: Annotated[_Scalar, _part(2), _transaction(4), _TOKEN] = None
    scn: Annotated[_Scalar, _part(2), _TOKEN] = None
    rs_id: Annotated[_Scalar, _part(2, follows=True), _TOKEN] = None
    ssn: Annotated[_Scalar, _part(2, follows=True), _TOKEN] = None
    commit_lsn: Annotated[_Scalar, _part(3), _transaction(5), _TOKEN] = None
    change_lsn: Annotated[_Scalar, _part(3), _TOKEN] = None
    event_serial_no: Annotated[_Scalar, _part(3, follows=True), _TOKEN] = None
    sequence: Annotated[_Scalar, _part(4), _TOKEN] = None
    lsn: Annotated[_Scalar, _part(5), _TOKEN] = None
    vgtid: Annotated[_Scalar, _part(6), _TOKEN] = None
    ts_hlc: Annotated[_Scalar, _part(7), _TOKEN] = None
    position_scn: Annotated[_Scalar, _part(8), _TOKEN] = None
    server_transaction_id: Annotated[_Scalar, _part(9), _transaction(3), _TOKEN] = None
    mod_number: Annotated[_Scalar, _part(9, follows=True), _TOKEN] = None
    commit_ts: Annotated[_Scalar, _part(10), _transaction(6), _TOKEN] = None


class ScannedSource(SourceBlock, gc=False):
    """A source block in the scanner, with members for which the exact reader uses only the name."""

    name: Annotated[Raw, roles.source(), roles.Token(unless=OWN)] = ABSENT
    snapshot: Annotated[Raw, roles.Token(unless="false")] = ABSENT
    version: Annotated[Raw, roles.skip()] = ABSENT
    tokens: Annotated[dict[str, str] | None, roles.tokens(roles.STRING, rank=1)] = None
    txId: Annotated[_Scalar, _transaction(0), roles.Token(when=roles.TRANSACTIONS)] = None
    gtid: Annotated[_Scalar, _transaction(2), roles.Token(when=roles.TRANSACTIONS)] = None
    server_id: Annotated[_Scalar, roles.origin(_SCALAR), roles.Token(when=roles.TRANSACTIONS)] = None


class ScannedTransaction(msgspec.Struct, gc=False):
    """The member `transaction` as the scanner takes it if the caller requested ids of transactions."""

    id: Annotated[_Scalar, _transaction(1), roles.Token(2, "transaction.id")] = None


# The PostgreSQL connector writes `transaction.id` with the position of each change in it, so that changes of a
# transaction have different ids: `txId` comes first. A source without ids has the commit in its positions, which stands
# for one.
_COMMIT = r'^\["(?P<commit>[^"]+)"'  # in `sequence`: the last commit before the transaction
_IN_TRANSACTION = "id"
_NO_ID = "the id of the transaction is not a valid string"

NO_SOURCE = SourceBlock()
# The members with the name of the table, and their parts of it.
NAMES = (
    "db", "schema", "table", "keyspace", "collection", "database_name", "schema_name", "keyspace_name", "table_name"
)  # fmt: skip
# The members that are not tokens: the version of the connector, the name of the table, the position, and times.
_STRUCTURE = frozenset(ScannedSource.__struct_fields__).difference(
    roles.token_names(ScannedSource, DATABASE_IS_TOKEN, roles.TRANSACTIONS)
)
_MEMBERS = Members(SourceBlock)

decode = msgspec.json.Decoder(SourceBlock).decode
_texts = msgspec.json.Decoder(dict[str, str]).decode


def table_name(source: SourceBlock, options: DebeziumOptions) -> str:
    """Return the full name of the table. Raises: RecordError if it is absent."""
    name = source.table or source.collection or source.table_name
    if not name:
        if options.table:
            return options.table
        help = "set `table` with `--input-option`"
        raise RecordError("GG305", "the record does not name its table", help)
    return qualified_name(source.db or source.database_name, _schema(source), name, options)


def database_in_name(source: SourceBlock, options: DebeziumOptions) -> bool:
    return options.table_name == IN_CATALOG or not _schema(source)


def _schema(source: SourceBlock) -> str | None:
    return source.schema or source.keyspace or source.schema_name or source.keyspace_name


def qualified_name(database: str | None, schema: str | None, name: str, options: DebeziumOptions) -> str:
    parts = [schema or database, name]
    if schema and options.table_name == IN_CATALOG:
        parts.insert(0, database)
    return join_name(*parts)


def position(source: SourceBlock) -> str | None:
    """Return the position of a change; None if its source block has none. A null `position` is none."""
    return _MEMBERS.position(source) if source.position is UNSET else text_of(source.position, "position")


def op_micros(source: SourceBlock) -> str | int | None:
    """Return the time of the change in microseconds since 1970. Raises: RecordError if it is not a number."""
    micros = _MEMBERS.time(source, "")
    if micros is None and source.ts_ns is not None and connector_of(source.connector, source.origin).nanos_alone:
        nanos = text_of(source.ts_ns, "ts_ns") or ""
        if not re.fullmatch("-?[0-9]{1,20}", nanos):
            raise RecordError("GG308", "`ts_ns` is not a number")
        return int(nanos) // 1000
    return micros


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


def transaction_id(source: Mapping[str, Raw], own: Raw, names: Sequence[str]) -> str | None:
    """Return the transaction id of a change. `own`: the `id` in its `transaction`, `ABSENT` if there is none; `names`:
    the members with ids, by precedence.
    """
    members = {name: source.get(name, ABSENT) for name in (*names, "sequence")} | {_IN_TRANSACTION: own}
    texts = {
        name: decoded(partial(raw_text, name=name), value, _NO_ID)
        for name, value in members.items()
        if value is not ABSENT
    }
    commit = re.match(_COMMIT, texts.pop("sequence", None) or "")
    return next(filter(None, texts.values()), commit and commit["commit"])


def origin_of(source: Mapping[str, Raw]) -> str | None:
    """Return the server that wrote the log with the position of a change; None if the source does not name it."""
    return _named(source, "server_id", NO_ORIGINS)


def name_of(source: Mapping[str, Raw]) -> str | None:
    """Return the name that the connector gives its source: `topic.prefix`, which a failover does not change."""
    return _named(source, "name", ("", OWN))


def _named(source: Mapping[str, Raw], name: str, nothing: Collection[str | None]) -> str | None:
    value = non_null(source.get(name, ABSENT))
    text = None if value is None else decoded(json_text, value, f"`{name}` is not a valid string")
    return None if text in nothing else text


def id_in(transaction: Raw) -> Raw:
    return decoded(raw_members, transaction, "`transaction` is not an object").get(_IN_TRANSACTION, ABSENT)


# Source blocks from the scanner, one column at a time


def is_scannable(source: Raw) -> bool:
    """Return whether the scanner makes the same tokens of a source block as the exact reader."""
    members = json_texts(source)
    return members.get("connector") != OWN or members.get("name") in (OWN, None)


def commits(scanned: SourceBatch) -> pa.StringArray:
    """Return what stands for the transactions of scanned changes that have no id."""
    return narrow(pc.extract_regex(scanned.values("sequence"), _COMMIT).flatten()[0], pa.StringArray)
