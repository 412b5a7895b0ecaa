"""What the metadata columns of a message tell a reader of its operation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ggfmt.formats.goldengate.metacolumns import (
    ALL_TOKENS,
    KEY_COLUMNS,
    KEYWORDS,
    OBJECT_NAME,
    OP_TYPE,
    POSITION,
    TIMESTAMP,
    MetaColumn,
)

_NAME_PARTS = ("catalog", "schema", "table")


@dataclass(frozen=True)
class Roles:
    """The places, counted from 0, of the columns with what a reader wants; None where there is none.

    name     of the parts of the table's name, in order; empty: messages do not name their table
    micros   of the operation time stamp in microseconds, where it does not stand there as text
    single   of columns that each are one token, with its name
    """

    op: int | None
    name: tuple[int, ...]
    op_ts: int | None
    micros: int | None
    position: int | None
    key_columns: int | None
    tokens: int | None
    single: tuple[tuple[int, str], ...]

    @classmethod
    def of(cls, columns: Sequence[MetaColumn]) -> Roles:
        places = {column.keyword: place for place, column in reversed(list(enumerate(columns)))}
        if OBJECT_NAME in places:
            name: tuple[int, ...] = (places[OBJECT_NAME],)
        elif "table" in places:
            name = tuple(places[part] for part in _NAME_PARTS if part in places)
        else:
            name = ()
        single = (
            (place, column.argument if column.keyword == "token" else column.keyword)
            for place, column in enumerate(columns)
            if column.keyword == "token" or KEYWORDS[column.keyword].tokens
        )
        return cls(
            places.get(OP_TYPE),
            name,
            places.get(TIMESTAMP),
            places.get("timestampmicro"),
            places.get(POSITION),
            places.get(KEY_COLUMNS),
            places.get(ALL_TOKENS),
            tuple((place, token) for place, token in single if token),
        )
