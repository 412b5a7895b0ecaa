"""Canal's messages as the native scanner takes them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from ggfmt.formats.records.scanner import (
    INTEGER,
    NULL,
    STRING,
    Grammar,
    Member,
    OpToken,
    Token,
    enter,
    identity,
    old,
    op,
    row,
    same,
    skip,
    slot,
)

_OPS: Mapping[str, str | OpToken] = {
    "INSERT": "I",
    "UPDATE": "U",
    "DELETE": "D",
    "INIT": OpToken("I", Token("snapshot", 2), "true"),
}


@lru_cache(maxsize=16)
def grammar(others: tuple[Member, ...], others_of_tidb: tuple[Member, ...]) -> Grammar:
    """Messages of rows, with these members that nobody knows."""
    tidb = enter(
        "_tidb",
        skip("commitTs", takes=INTEGER | STRING | NULL, token=Token("commitTs", 3, unless="")),
        skip("watermarkTs", takes=NULL),
        same("onlyHandleKey", b"false"),
        skip("claimCheckLocation", takes=NULL),
        *others_of_tidb,
        required=False,
    )
    members = (
        row("data", listed=True),
        identity("database"),
        slot("es", INTEGER | NULL),
        slot("id", INTEGER | STRING | NULL, token=Token("id", 0, unless="")),
        same("isDdl", b"false"),
        identity("mysqlType"),
        old("old", listed=True),
        identity("pkNames"),
        skip("sql", takes=STRING | NULL),
        skip("sqlType"),
        identity("table"),
        skip("ts", takes=INTEGER | STRING | NULL),
        op("type"),
        slot("gtid", STRING | NULL, token=Token("gtid", 1, unless="")),
        tidb,
        *others,
    )
    return Grammar(members, _OPS, row_token="row")
