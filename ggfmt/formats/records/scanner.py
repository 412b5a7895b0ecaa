"""The native scanner of JSON records: what it is told of a dialect, and what it hands over.

The members of a record are a tree of names. `identity` members decide, by their bytes, which table a record is of and
how its values are encoded; a reader binds identities to definitions as it meets them. `slot` members become columns of
their own, beside the images. What is in no tree is odd, as is all that is not regular: see `kernels/json_scan.c`.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ggfmt.columnar import from_kernel
from ggfmt.formats.records.problems import IMAGE_RULES
from ggfmt.kernels import native
from ggfmt.model.change import ImageColumn
from ggfmt.model.table import TableDef

# Which JSON values a slot takes.
STRING, NULL, INTEGER, NUMBER, BOOLEAN, NESTED = 1, 2, 4, 8, 16, 32

_SKIP, _ENTER, _IDENTITY, _SLOT, _NOTE, _OP, _TOKENS, _BEFORE, _AFTER, _SAME = range(10)
_ODD_IN_NAME = frozenset({'"', "\\", *map(chr, range(0x20))})  # a JSON string has other characters for these

# As the kernel takes them: name, what to do, whether the member must be there, and an argument.
Member = tuple[bytes, int, bool, Any]


def _member(name: str, action: int, required: bool, argument: Any = None) -> Member:
    return name.encode(), action, required, argument


def skip(name: str, required: bool = False) -> Member:
    """A member of any value, which means nothing."""
    return _member(name, _SKIP, required)


def enter(name: str, *members: Member, required: bool = True) -> Member:
    """An object with members of its own."""
    return _member(name, _ENTER, required, members)


def identity(name: str, required: bool = False) -> Member:
    """A member of any value that is a part of the record's identity."""
    return _member(name, _IDENTITY, required)


def slot(name: str, takes: int, required: bool = False) -> Member:
    """A member whose values, of some kinds, are a column."""
    return _member(name, _SLOT, required, takes)


def note(name: str) -> Member:
    """A member of any value, of which a column tells that it is there."""
    return _member(name, _NOTE, False)


def op(name: str) -> Member:
    """The string that tells the operation's type."""
    return _member(name, _OP, True)


def tokens(name: str) -> Member:
    """An object of tokens, or null."""
    return _member(name, _TOKENS, False)


def before(name: str) -> Member:
    """The before image, null, or a list of images."""
    return _member(name, _BEFORE, False)


def after(name: str) -> Member:
    return _member(name, _AFTER, False)


def same(name: str, value: bytes, required: bool = False) -> Member:
    """A member that must have these very characters for its value."""
    return _member(name, _SAME, required, value)


class Grammar(NamedTuple):
    """The records of a dialect: their members, and the types of operations by the texts that stand for them."""

    members: tuple[Member, ...]
    ops: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class Scanned:
    """n operations of a table as the kernel took them, in input order.

    before, after  columns in table order, missing where there is no such image; where rows alone are asked for, `after`
                   has the row, and `before` the key columns of updates alone, if key updates are asked for
    slots          columns in the order of the grammar's slots and notes
    tokens         None if none were asked for
    """

    op: pa.StringArray
    before: tuple[ImageColumn, ...]
    after: tuple[ImageColumn, ...]
    has_before: pa.BooleanArray
    has_after: pa.BooleanArray
    slots: tuple[ImageColumn, ...]
    tokens: pa.MapArray | None
    ordinal: pa.Int64Array

    @classmethod
    def of(cls, taken: tuple[Any, ...], with_tokens: bool) -> Scanned:
        """What a kernel's `take` hands over (see `_native.pyi`)."""
        rows, before, after, slots, names, values, offsets, ops, images, ordinals = taken
        bits = from_kernel.uint8s(images, rows)
        return cls(
            from_kernel.letters(ops, rows),
            tuple(from_kernel.text_column(column, rows) for column in before),
            tuple(from_kernel.text_column(column, rows) for column in after),
            pc.equal(pc.bit_wise_and(bits, 1), 1),
            pc.equal(pc.bit_wise_and(bits, 2), 2),
            tuple(from_kernel.text_column(column, rows) for column in slots),
            from_kernel.token_maps(names, values, offsets, rows) if with_tokens else None,
            from_kernel.int64s(ordinals, rows),
        )

    def __len__(self) -> int:
        return len(self.op)

    def without(self, rows: Collection[int]) -> Scanned:
        """All operations but those of some rows."""
        kept = pa.array([row for row in range(len(self)) if row not in rows], pa.int64())
        return Scanned(
            self.op.take(kept),
            tuple(column.take(kept) for column in self.before),
            tuple(column.take(kept) for column in self.after),
            self.has_before.take(kept),
            self.has_after.take(kept),
            tuple(column.take(kept) for column in self.slots),
            None if self.tokens is None else self.tokens.take(kept),
            self.ordinal.take(kept),
        )

    def note(self, place: int) -> int:
        """How many operations have the member of a note."""
        column = self.slots[place]
        return len(self) if column.present is None else int(column.present.true_count)


class Found(NamedTuple):
    """How far a scan came: how many records it took, and where the odd one is that ended it, at the end of the data if
    there is none; the identity of that one if no table is bound to it."""

    taken: int
    start: int
    end: int
    identity: bytes | None


class Scanner:
    """A native scanner, and the definitions that its tables have by their full names."""

    def __init__(self, grammar: Grammar, row_only: bool, key_updates: bool, with_tokens: bool) -> None:
        members = grammar.members if with_tokens else _without_tokens(grammar.members)
        ops = {text.encode(): letter.encode() for text, letter in grammar.ops.items()}
        self._native = native.JsonScanner(members, ops, image_rules(), row_only, key_updates)
        self._with_tokens = with_tokens
        self._numbers: dict[str, int] = {}

    def bind(self, identity: bytes, definition: TableDef, takes: Sequence[int] | None = None) -> bool:
        """Has records of an identity taken as operations of a table, instead of any other identity that was bound to
        it; false if no record of the table can be taken. Nothing may be held of the table.

        With `takes`, the kinds of values of each column, images with others are odd, and those with columns in another
        order.
        """
        if any(not _ODD_IN_NAME.isdisjoint(name) for name in definition.column_names):
            return False
        self.forget(definition.full_name)
        names = tuple(name.encode("utf-8", "surrogatepass") for name in definition.column_names)
        self._numbers[definition.full_name] = self._native.bind(
            identity, names, definition.key_indices, None if takes is None else bytes(takes)
        )
        return True

    def forget(self, table: str) -> None:
        """Leaves the records of a table to others, until it is bound again."""
        number = self._numbers.pop(table, None)
        if number is not None:
            self._native.unbind(number)

    def scan(self, data: bytes, place: int, ordinal: int) -> Found:
        """Takes the records of lines from a place on, up to an odd one. `ordinal` is that of the first."""
        return Found(*self._native.scan(data, place, ordinal))

    def scan_spans(self, data: bytes, spans: array[int], first: int, ordinal: int) -> Found:
        """As `scan`, of records whose starts and ends are `spans` in turns, from the `first` on."""
        return Found(*self._native.scan_spans(data, spans, first, ordinal))

    def rows(self, table: str) -> int:
        """How many operations are held of a table."""
        number = self._numbers.get(table)
        return 0 if number is None else int(self._native.rows(number))

    def largest(self) -> int:
        """How many operations are held of the table with the most."""
        return int(self._native.largest())

    def take(self, table: str) -> Scanned | None:
        """The operations held of a table, which are not held any more; None if there are none."""
        if not self.rows(table):
            return None
        return Scanned.of(self._native.take(self._numbers[table]), self._with_tokens)


def _without_tokens(members: Sequence[Member]) -> tuple[Member, ...]:
    """The members with those of tokens passed over."""
    done = []
    for name, action, required, argument in members:
        if action == _ENTER:
            argument = _without_tokens(argument)
        done.append((name, _SKIP if action == _TOKENS else action, required, argument))
    return tuple(done)


def places_of(spans: Sequence[tuple[int, int]]) -> array[int]:
    """Starts and ends in turns."""
    return array("q", chain.from_iterable(spans))


def image_rules() -> dict[bytes, tuple[int, ...]]:
    """By operation type of its before and its after image: -1 if it must not have one, 1 if it must."""
    return {
        letter.encode(): tuple(
            -1 if image in surplus else 1 if image in lacking else 0 for image in ("before", "after")
        )
        for letter, (surplus, lacking) in IMAGE_RULES.items()
    }


def key_updates(scanned: Scanned, definition: TableDef) -> pa.BooleanArray | None:
    """Where a key column is in both images of an update and differs; None if it does so nowhere."""
    changed = pa.repeat(pa.scalar(False), len(scanned))
    for old, place in zip(scanned.before, definition.key_indices, strict=True):
        new = scanned.after[place]
        same = pc.equal(old.values, new.values).fill_null(False)
        both_null = pc.and_(old.values.is_null(), new.values.is_null())
        differs = pc.invert(pc.or_(same, both_null))
        for column in (old, new):
            if column.present is not None:
                differs = pc.and_(differs, column.present)
        changed = pc.or_(changed, differs)
    changed = pc.and_(changed, pc.and_(scanned.has_before, scanned.has_after))
    return changed if changed.true_count else None
