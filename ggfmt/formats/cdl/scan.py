"""Messages of CDL as the native scanner takes them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from ggfmt.formats.records.scanner import (
    ANY,
    INTEGER,
    NULL,
    STRING,
    Grammar,
    Member,
    OpToken,
    Token,
    after,
    before,
    enter,
    identity,
    names,
    op,
    skip,
    slot,
    token_list,
)

# In the order of tokens.
_LIST, _STORE, _OF_SOURCE, _LOB, _HEARTBEAT, _TYPE, _SNAPSHOT = range(0, 70, 10)
_SOURCE_TOKENS = ("txId", "version", "connector", "name")
SNAPSHOTS = ("true", "first", "last")  # what is a token
NO_SNAPSHOTS = (None, "false")

_OPS: Mapping[str, str | OpToken] = {
    "c": "I",
    "r": OpToken("I", Token("snapshot", _SNAPSHOT), "true"),
    "u": "U",
    "d": "D",
}
_OPS_1: Mapping[str, str | OpToken] = {"INSERT": "I", "UPDATE": "U", "DELETE": "D"}


@lru_cache(maxsize=16)
def grammar(version: str, *others: tuple[Member, ...]) -> Grammar:
    """Changes of a version, with these members that nobody knows in a message, its payload, the source and the
    transaction."""
    of_message, of_payload, of_source, of_transaction = others
    text = STRING | NULL
    common = (
        identity("message_version"),
        skip("message_type", takes=text, token=Token("message_type", _TYPE, unless="0")),
        before("before"),
        names("unique"),
        skip("LOB_COLUMNS", token=Token("LOB_COLUMNS", _LOB)),
        skip("HEARTBEAT_IDENTIFIER", token=Token("HEARTBEAT_IDENTIFIER", _HEARTBEAT)),
        skip("ts_ms"),
        *of_payload,
    )
    own: tuple[Member, ...]
    if version == "1.0":
        own = (
            skip("DATA_STORE", token=Token("DATA_STORE", _STORE, unless="")),
            *map(identity, ("SEG_OWNER", "TABLE_NAME")),
            slot("TIMESTAMP", INTEGER | NULL),
            op("OPERATION"),
            enter("transaction", token_list("properties", "lsn", _LIST), *of_transaction, required=False),
            after("data"),
            skip("after"),
            skip("op", takes=text),
            skip("source", takes=NULL),
        )
    else:
        source = enter(
            "source",
            *map(identity, ("db", "schema", "table")),
            identity("snapshot", token=Token("snapshot", _SNAPSHOT, unless="false")),
            slot("ts_ms", INTEGER | NULL),
            slot("lsn", ANY),
            *(skip(name, token=Token(name, rank)) for rank, name in enumerate(_SOURCE_TOKENS, _OF_SOURCE)),
            *of_source,
        )
        own = (
            source,
            op("op"),
            after("after"),
            *map(skip, ("data", "DATA_STORE")),
            *(skip(name, takes=text) for name in ("SEG_OWNER", "TABLE_NAME", "OPERATION")),
            skip("TIMESTAMP", takes=INTEGER | NULL),
            skip("transaction", takes=NULL),
        )
    members = (identity("schema"), enter("payload", *common, *own), *of_message)
    return Grammar(members, _OPS_1 if version == "1.0" else _OPS)
