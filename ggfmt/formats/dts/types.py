"""Types of columns by DTS's numbers, which are those of the source: MySQL's numbers of types on the wire, Oracle's,
and PostgreSQL's OIDs. Other sources have undocumented numbers.

A number for texts or bytes does not decide between the two: MySQL's TEXT and BLOB have the same number. An unknown
number decides nothing. In these cases the values determine the kind (`TypeHint.learns`).
"""

from __future__ import annotations

from collections.abc import Set

from ggfmt.dataclasses import dataclass
from ggfmt.model.table import Kind

MYSQL, ORACLE, POSTGRESQL = "MySQL", "Oracle", "PostgreSQL"
_LIKE = {"DRDS": MYSQL, "PPAS": POSTGRESQL}

NOTHING: frozenset[Kind] = frozenset()
TEXT_OR_BYTES = frozenset({Kind.STRING, Kind.BINARY})
ANYTHING = frozenset(Kind)


@dataclass(frozen=True)
class TypeHint:
    """The meaning of a type number: a kind, and the kinds that values may show instead."""

    kind: Kind
    learns: frozenset[Kind]

    def settled(self, seen: Set[Kind]) -> Kind:
        """Return the kind of a column from the kinds of its values. Bytes can hold all texts, and a decimal all
        integers. Other kinds share only their texts."""
        if Kind.BINARY in seen:
            return Kind.BINARY
        if len(seen) == 1:
            return next(iter(seen))
        if not seen:
            return self.kind
        return Kind.DECIMAL if seen <= {Kind.INTEGER, Kind.DECIMAL} else Kind.STRING


# By source and kind, the type numbers that ggfmt reads. It writes the first one.
_KINDS: dict[str, dict[Kind, tuple[int, ...]]] = {
    MYSQL: {
        Kind.DECIMAL: (246, 0),
        Kind.INTEGER: (8, 1, 2, 3, 9, 13, 16),
        Kind.FLOAT: (4,),
        Kind.DOUBLE: (5,),
        Kind.TIMESTAMP: (12, 7, 14),
        Kind.DATE: (10,),
        Kind.TIME: (11,),
        Kind.STRING: (253, 6, 15, 245, 247, 248, 254),
        Kind.BINARY: (252, 249, 250, 251, 255),
    },
    ORACLE: {
        Kind.DECIMAL: (2,),
        Kind.FLOAT: (100,),
        Kind.DOUBLE: (101,),
        Kind.TIMESTAMP: (180, 12, 181, 231),
        Kind.INTERVAL: (182, 183),
        Kind.STRING: (1, 8, 58, 69, 96, 112, 114, 208),
        Kind.BINARY: (113, 23, 24),
    },
    POSTGRESQL: {
        Kind.BOOLEAN: (16,),
        Kind.INTEGER: (20, 21, 23, 26),
        Kind.DECIMAL: (1700,),
        Kind.FLOAT: (700,),
        Kind.DOUBLE: (701,),
        Kind.DATE: (1082,),
        Kind.TIME: (1083, 1266),
        Kind.TIMESTAMP: (1114, 1184),
        Kind.INTERVAL: (1186,),
        Kind.STRING: (1043, 18, 19, 25, 114, 142, 1042, 2950, 3802),
        Kind.BINARY: (17,),
    },
}
# The type numbers that ggfmt writes for other kinds, and for intervals in Oracle.
_NEAREST = {
    MYSQL: {Kind.BOOLEAN: 1, Kind.NUMBER: 246, Kind.INTERVAL: 253},
    ORACLE: {
        **dict.fromkeys((Kind.BOOLEAN, Kind.INTEGER, Kind.NUMBER), 2),
        **dict.fromkeys((Kind.TIME, Kind.INTERVAL), 1),
        Kind.DATE: 12,
    },
    POSTGRESQL: {Kind.NUMBER: 1700},
}
NUMBERS = {
    source: {kind: numbers[0] for kind, numbers in kinds.items()} | _NEAREST[source] for source, kinds in _KINDS.items()
}
_TOLD = {
    source: {
        number: TypeHint(kind, TEXT_OR_BYTES if kind in TEXT_OR_BYTES else NOTHING)
        for kind, numbers in kinds.items()
        for number in numbers
    }
    for source, kinds in _KINDS.items()
}
_UNTOLD = TypeHint(Kind.STRING, ANYTHING)
_ZONED = {MYSQL: (7,), ORACLE: (181, 231), POSTGRESQL: (1184, 1266)}  # times with a zone, or in UTC


def like(source_type: str) -> str:
    """Return the source whose numbers and statements a source of this type uses; its own name if ggfmt knows it."""
    return _LIKE.get(source_type, source_type)


def hint_of(source_type: str, number: int) -> TypeHint:
    return _TOLD.get(like(source_type), {}).get(number, _UNTOLD)


def is_zoned(source_type: str, number: int) -> bool:
    return number in _ZONED.get(like(source_type), ())
