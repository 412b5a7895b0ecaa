"""What metadata members are to the native scanner, for messages whose metadata depend on options."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from ggfmt.formats.goldengate.metacolumns import Roles
from ggfmt.formats.records import roles
from ggfmt.formats.records.scanner import ScannedBatch, is_plain

_TEXT = roles.STRING | roles.NULL
_SCALAR = roles.ANY & ~roles.NESTED
_TOKENS_RANK = 1000  # tokens of a map come after single ones


def metadata_members(
    names: Sequence[str], places: Roles, with_key: bool, both_tokens: bool = False
) -> list[roles.Member] | None:
    """Return the metadata members of messages; None if the scanner cannot take such messages.

    names        the names of the members, in their order
    places       what they are
    with_key     whether messages have the list of key columns, if it is a member
    both_tokens  whether single tokens count beside a map of tokens
    """
    if len(set(names)) < len(names) or not all(map(is_plain, names)) or places.op is None:
        return None
    if places.micros is not None and places.op_ts is None:
        return None
    single = dict(places.single) if both_tokens or places.tokens is None else {}
    return [_member(place, name, places, with_key, single.get(place)) for place, name in enumerate(names)]


def _member(place: int, name: str, places: Roles, with_key: bool, token: str | None) -> roles.Member:
    if place in places.name:
        return roles.identity(required=place == places.name[-1]).named(name)
    if place == places.op:
        return roles.op().named(name)
    if place == places.op_ts:
        return roles.slot(_TEXT).named(name)
    if place == places.position:
        return roles.slot(_TEXT | roles.INTEGER).named(name)
    if place == places.key_columns:  # without keys, a message that has them is odd
        return (roles.identity(required=True) if with_key else roles.skip(0)).named(name)
    if place == places.tokens:
        return roles.tokens(rank=_TOKENS_RANK).named(name)
    if token is not None:
        return roles.skip(_SCALAR).named(name, token=roles.Token(place, token, unless=""))
    return roles.skip(roles.ANY).named(name)


def metadata_column(scanned: ScannedBatch, names: Sequence[str], place: int | None) -> pa.StringArray:
    """Return the texts of a metadata member of scanned operations; null if messages do not have it."""
    return pa.nulls(len(scanned), pa.string()) if place is None else scanned.values(names[place])
