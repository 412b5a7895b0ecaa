"""What messages are put together from: constants, arrays, and what says how values of an array stand in a message.

A piece is a text (or bytes) that all rows have, a scalar, an array of n texts (or binaries) without nulls, or one of
the classes here. `ggfmt.columnar.join` makes n messages of a list of them, by a native kernel in one pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa

from ggfmt.arrow.arrays import StringMapArray

Piece: TypeAlias = Any


class Encoding(IntEnum):
    """How a value stands in a message, as `escape.h` has them.

    Up to `DOUBLED` they are of texts, up to `NANOS` of int64 values: their digits, and those of microseconds as milli-
    and nanoseconds. Those from `SIZED` on are for the native kernel: strings and longs of Avro; and what Avro has
    for texts that are known to be short integers, numbers that a float or a double is made of without rounding twice,
    or booleans."""

    AS_IS = 0
    JSON = 1
    JACKSON = 2
    CDATA = 3
    ATTRIBUTE = 4
    DOUBLED = 5
    DIGITS = 6
    MILLIS = 7
    NANOS = 8
    SIZED = 9
    VARINT = 10
    LONG = 11
    FLOAT = 12
    DOUBLE = 13
    BOOLEAN = 14


class Text(NamedTuple):
    """n values, each between `lead` and `tail`; `null` alone stands for a NULL, None where there is none."""

    values: pa.Array[Any]
    encoding: Encoding = Encoding.AS_IS
    null: str | bytes | None = None
    lead: str | bytes = ""
    tail: str | bytes = ""


class Equals(NamedTuple):
    """A condition: the values that are a text. A NULL is none."""

    values: pa.StringArray
    text: str


class Conditional(NamedTuple):
    """Some pieces where a condition or a mask without nulls is true, and others elsewhere."""

    where: pa.BooleanArray | Equals
    then: Sequence[Piece]
    otherwise: Sequence[Piece] = ()


class CommaJoined(NamedTuple):
    """Pieces among which each `COMMA` stands for a comma, but for one that nothing stands before. The pieces of each
    member start with one."""

    pieces: Sequence[Piece]


class Comma(NamedTuple):
    """The class of `COMMA`."""


COMMA = Comma()


class Repeated(NamedTuple):
    """The items of n lists or maps, one after the other with `between` in between. The pieces are of the items of all
    lists, from the first that the arrays beneath have. `counted`, for the native kernel: how many there are
    stands before them as a long of Avro, unless there are none."""

    lists: pa.ListArray[Any] | StringMapArray
    pieces: Sequence[Piece]
    between: str = ""
    counted: bool = False


KINDS = (Text, Conditional, CommaJoined, Repeated, Comma, Equals)
