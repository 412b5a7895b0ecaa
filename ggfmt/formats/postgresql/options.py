"""The options of the formats of plugins for logical decoding."""

from __future__ import annotations

from ggfmt.dataclasses import dataclass
from ggfmt.formats.api.format import DialectOptions, primary_keys_option
from ggfmt.options.spec import choice, option
from ggfmt.options.value_types import Text


@dataclass(frozen=True)
class SlotOptions(DialectOptions):
    escapes: str = choice(
        "For reading: how backslashes are written in lines with tabs, and in lines with `data` alone.",
        ("auto", "as the values show; `psql` wrote lines without tabs"),
        ("copy", "`COPY` writes two"),
        ("psql", "`psql` and `pg_recvlogical` write one"),
    )
    full_identity: str = option(
        Text(),
        "",
        "For reading wal2json's format 1 and test_decoding: tables with `REPLICA IDENTITY FULL`, such as "
        "`public.orders;public.lines`. Columns that the old row lacks are NULL.",
    )
    primary_keys: tuple[tuple[str, tuple[str, ...]], ...] = primary_keys_option()
