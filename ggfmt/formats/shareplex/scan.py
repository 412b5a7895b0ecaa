"""SharePlex's messages as the native scanner takes them."""

from __future__ import annotations

from functools import lru_cache

from ggfmt.formats.records.scanner import (
    INTEGER,
    NULL,
    STAMP,
    STRING,
    Grammar,
    Member,
    Token,
    enter,
    identity,
    old,
    op,
    row,
    skip,
    slot,
)
from ggfmt.formats.shareplex import NUMBER_TOKENS, TEXT_TOKENS

_RANKS = {name: rank for rank, name in enumerate((*NUMBER_TOKENS, *TEXT_TOKENS))}
_TEXT_ALONE = "posttime"


@lru_cache(maxsize=16)
def grammar(ops: tuple[tuple[str, str], ...], others: tuple[Member, ...], of_meta: tuple[Member, ...]) -> Grammar:
    """Messages of rows, with these members that nobody knows in them and in `meta`."""
    meta = enter(
        "meta",
        op("op"),
        identity("table"),
        slot("time", STAMP | NULL),
        slot("scn", INTEGER | STRING | NULL),
        *(
            skip(name, takes=STRING | NULL | (0 if name == _TEXT_ALONE else INTEGER), token=Token(name, rank))
            for name, rank in _RANKS.items()
        ),
        *of_meta,
    )
    both_cases = {form: op for name, op in ops for form in (name, name.lower())}
    return Grammar((meta, row("data"), old("key"), *others), both_cases)
