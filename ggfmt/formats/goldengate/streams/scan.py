"""Operations of Data Streams as the native scanner takes them."""

from __future__ import annotations

from functools import lru_cache

from ggfmt.formats.goldengate.streams import TOKENS
from ggfmt.formats.records.scanner import (
    INTEGER,
    NULL,
    STRING,
    Grammar,
    Member,
    OpToken,
    Token,
    after,
    before,
    identity,
    op,
    skip,
    slot,
    tokens,
)


@lru_cache(maxsize=16)
def grammar(
    before_name: str, after_name: str, ops: tuple[tuple[str, str | OpToken], ...], others: tuple[Member, ...]
) -> Grammar | None:
    """Operations whose images have these names, with these members that nobody knows."""
    members = (
        identity("qual_table"),
        identity("table"),
        op("op_type"),
        slot("op_ts", STRING | NULL),
        slot("pos", STRING | INTEGER | NULL),
        before(before_name),
        after(after_name),
        *(skip(name, token=Token(name, rank)) for rank, name in enumerate(TOKENS, 1)),
        tokens("tokens"),
        identity("primary_keys"),
        *map(skip, ("columns", "ddl", "$schema", "data")),
        skip("specversion", takes=NULL),
        *others,
    )
    names = [member[0] for member in members]
    return Grammar(members, dict(ops)) if len(set(names)) == len(names) else None
