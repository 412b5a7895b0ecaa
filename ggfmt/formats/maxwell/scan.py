"""Maxwell's messages as the native scanner takes them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from ggfmt.formats.maxwell import COMMIT, NUMBER_TOKENS, SNAPSHOT, TEXT_TOKENS
from ggfmt.formats.records.scanner import (
    BOOLEAN,
    INTEGER,
    NULL,
    STRING,
    Grammar,
    Member,
    OpToken,
    Token,
    identity,
    old,
    op,
    row,
    skip,
    slot,
)

_RANKS = {name: rank for rank, name in enumerate((*NUMBER_TOKENS, *TEXT_TOKENS, COMMIT, SNAPSHOT))}
_OPS: Mapping[str, str | OpToken] = {
    "insert": "I",
    "update": "U",
    "delete": "D",
    "bootstrap-insert": OpToken("I", Token(SNAPSHOT, _RANKS[SNAPSHOT]), "true"),
}


def _token(name: str, unless: str | None = None) -> Token:
    return Token(name, _RANKS[name], unless)


@lru_cache(maxsize=16)
def grammar(others: tuple[Member, ...]) -> Grammar:
    """Messages of rows, with these members that nobody knows."""
    members = (
        identity("database"),
        identity("table"),
        op("type"),
        slot("ts", INTEGER | NULL),
        *(skip(name, takes=INTEGER | NULL, token=_token(name)) for name in NUMBER_TOKENS),
        skip("commit", takes=BOOLEAN | NULL, token=_token(COMMIT, unless="false")),
        slot("position", STRING | NULL),
        slot("gtid", STRING | NULL, token=_token("gtid")),
        skip("query", takes=STRING | NULL, token=_token("query")),
        skip("primary_key"),
        identity("primary_key_columns"),
        row("data"),
        old("old"),
        skip("encrypted", takes=NULL),
        skip("def"),
        skip("sql"),
        *others,
    )
    return Grammar(members, _OPS)
