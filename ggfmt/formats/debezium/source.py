"""Source blocks of Debezium: the table, the position, the time and the tokens of a change, for every connector.

A position is what orders the changes of a connector, its parts divided by colons: of MySQL `file:pos:row`, of Oracle
`commit_scn:scn:rs_id:ssn`, of SQL Server, Db2 and Informix `commit_lsn:change_lsn:event_serial_no`, of PostgreSQL its
`sequence` (the last commit and the change itself), or else its `lsn`. Parts that are null are empty, or left out at
the end. Every member that is neither part of the name nor a time is a token.

The time is `ts_us` or `ts_ms`. Before 0.10, MySQL had seconds in `ts_sec`, 0 in snapshots (`SourceInfo` of the
connector sets it by events of the binlog alone), and PostgreSQL microseconds in `ts_usec`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import UNSET, Raw

from ggfmt.formats.debezium import IN_CATALOG, OWN, DebeziumOptions
from ggfmt.formats.json.values import raw_members, raw_text, raw_texts, scalar_text
from ggfmt.formats.records.dialect import ABSENT, non_null
from ggfmt.formats.records.refused import RecordError, decoded
from ggfmt.model.table import join_name


class SourceBlock(msgspec.Struct, gc=False):
    """The members of a source block that mean something here, of all connectors."""

    db: str | None = None
    schema: str | None = None
    table: str | None = None
    keyspace: str | None = None
    collection: str | None = None
    ts_ms: int | str | None = None
    ts_us: int | str | None = None
    ts_sec: int | str | None = None
    ts_usec: int | str | None = None
    position: Any = UNSET
    file: Any = None
    pos: Any = None
    row: Any = None
    commit_scn: Any = None
    scn: Any = None
    rs_id: Any = None
    ssn: Any = None
    commit_lsn: Any = None
    change_lsn: Any = None
    event_serial_no: Any = None
    sequence: Any = None
    lsn: Any = None
    vgtid: Any = None
    ts_hlc: Any = None
    position_scn: Any = None
    server_transaction_id: Any = None
    mod_number: Any = None
    commit_ts: Any = None


NO_SOURCE = SourceBlock()
TIMES = ("ts_ms", "ts_us", "ts_sec", "ts_usec")
# What positions are made of, besides `position`; they are tokens too.
PARTS = (
    *("file", "pos", "row", "commit_scn", "scn", "rs_id", "ssn", "commit_lsn", "change_lsn", "event_serial_no"),
    *("sequence", "lsn", "vgtid", "ts_hlc", "position_scn", "server_transaction_id", "mod_number", "commit_ts"),
)
# What is no token: the version of the connector, the name of the table, the position, and times.
STRUCTURE = frozenset(
    {
        "version",
        "schema",
        "table",
        "keyspace",
        "collection",
        "position",
        "tokens",
        "ts_ms",
        "ts_us",
        "ts_ns",
        "ts_sec",
        "ts_usec",
    }
)

decode = msgspec.json.Decoder(SourceBlock).decode
_texts = msgspec.json.Decoder(dict[str, str]).decode


def table_name(source: SourceBlock, options: DebeziumOptions) -> str:
    """The full name of the table; RecordError if there is none, or a part of it has a dot."""
    name = source.table or source.collection
    if not name:
        if options.table:
            return options.table
        help = "say by `table` with `--input-option` of which table they are"
        raise RecordError("GG305", "the record does not name its table", help)
    return qualified_name(source.db, source.schema or source.keyspace, name, options)


def database_in_name(source: SourceBlock, options: DebeziumOptions) -> bool:
    """Whether the database is a part of the name of the table."""
    return options.table_name == IN_CATALOG or not (source.schema or source.keyspace)


def qualified_name(database: str | None, schema: str | None, name: str, options: DebeziumOptions) -> str:
    parts = [schema or database, name]
    if schema and options.table_name == IN_CATALOG:
        parts.insert(0, database)
    kept = [part for part in parts if part]
    dotted = next((part for part in kept if "." in part), None)
    if dotted is not None:
        word = dotted if len(dotted) <= 40 else dotted[:37] + "..."
        help = "a dot divides the parts of a name: rename the table where the records are made"
        raise RecordError("GG306", f"a part of the name of the table has a dot: `{word}`", help)
    return join_name(*kept)


def position(source: SourceBlock) -> str | None:
    """The position of a change; None if its source block has none."""
    if source.position is not UNSET:
        return _text(source.position)
    if source.file is not None:
        return _joined(source.file, source.pos, source.row)
    if source.commit_scn is not None or source.scn is not None:
        return _joined(source.commit_scn, source.scn, source.rs_id, source.ssn)
    if source.commit_lsn is not None or source.change_lsn is not None:
        return _joined(source.commit_lsn, source.change_lsn, source.event_serial_no)
    for value in (source.sequence, source.lsn, source.vgtid, source.ts_hlc, source.position_scn):
        if value is not None:
            return _text(value)
    if source.server_transaction_id is not None:
        return _joined(source.server_transaction_id, source.mod_number)
    return _text(source.commit_ts)


def _joined(*parts: Any) -> str | None:
    texts = [_text(part) or "" for part in parts]
    return ":".join(texts).rstrip(":") or None


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return str(value).lower() if isinstance(value, bool) else str(value)


def op_micros(source: SourceBlock) -> int | None:
    """The time of the change in microseconds since 1970; RecordError if it is no number."""
    if source.ts_us is not None:
        return _number(source.ts_us)
    if source.ts_ms is not None:
        return _number(source.ts_ms) * 1000
    if source.ts_usec is not None:
        return _number(source.ts_usec)
    return None if source.ts_sec is None else _number(source.ts_sec) * 1_000_000 or None


def _number(value: int | str) -> int:
    if isinstance(value, int):
        return value
    if not re.fullmatch("-?[0-9]{1,20}", value):
        raise RecordError("GG308", "the time in `source` is no number")
    return int(value)


def tokens_of(source: Raw, in_name: bool) -> dict[str, str]:
    """The tokens of a source block; `in_name`: its database is a part of the name of the table."""
    members = raw_members(source)
    tokens = member_tokens(members, in_name)
    own = non_null(members.get("tokens", ABSENT))
    if own is not None:
        try:
            tokens |= _texts(own)
        except ValueError:
            tokens["tokens"] = scalar_text(own)
    return tokens


def member_tokens(members: Mapping[str, Raw], in_name: bool) -> dict[str, str]:
    tokens = {}
    for name, value in members.items():
        if name not in STRUCTURE:
            text = raw_text(value)
            if text is not None:
                tokens[name] = text
    if tokens.get("snapshot") == "false":
        del tokens["snapshot"]
    if in_name or not tokens.get("db"):
        tokens.pop("db", None)
    if tokens.get("connector") == OWN:
        del tokens["connector"]
        tokens.pop("name", None)
    elif tokens.get("name") == OWN:
        del tokens["name"]
    return tokens


def flattened_tokens(members: Mapping[str, Raw], in_name: bool) -> dict[str, str]:
    """The tokens among the members that were added to a flattened row, named without their prefix."""
    tokens = member_tokens(members, in_name)
    moved = {name: f"transaction.{name.removeprefix('transaction_')}" for name in tokens if "transaction_" in name}
    return {moved.get(name, name): text for name, text in tokens.items()}


def transaction_tokens(transaction: Raw) -> dict[str, str]:
    """The tokens of the member `transaction`."""
    texts = decoded(raw_texts, transaction, "`transaction` is no object")
    return {f"transaction.{name}": text for name, text in texts.items() if text is not None}
