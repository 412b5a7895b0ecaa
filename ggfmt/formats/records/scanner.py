"""Native scanners, and the operations that they take.

The scanner of JSON gets a grammar (`records.roles`). The identity of a record consists of the bytes of some members. It
determines the table and the encoding of the values. A reader binds each new identity to a definition.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, NamedTuple

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import StringMapArray, non_null_values
from ggfmt.columnar import columns
from ggfmt.columnar.images import unless_all
from ggfmt.dataclasses import dataclass
from ggfmt.formats.api.reading import Chunk, Spans
from ggfmt.formats.json.cut import is_value
from ggfmt.formats.records.problems import IMAGE_RULES
from ggfmt.formats.records.roles import ANY, ENTER, LIST, NOTE, SKIP, SLOT, TOKENS, Grammar, Member, OpToken, type_of
from ggfmt.kernels import REFUSALS
from ggfmt.model.change import ChangeBatch, Image, ImageColumn
from ggfmt.model.table import TableDef

# The states of a column for one identity: which images have a value, or that no image has the column. LEFT_OUT occurs
# with 0 alone, which leaves a column to the images: after images have no value of it, before images no NULL.
IN_AFTER, IN_BEFORE, NOT_NAMED, LEFT_OUT = 1, 2, 4, 8

# The purpose of a scanner: to take operations; or only to check that images show no new columns or kinds of values, and
# to note the order of columns.
ROWS, DEFINITIONS = range(2)

_TABLE_SHIFT = 40  # of the number of a table, in a note of a scanner that routes, above the start of the record

_NONE = columns.int64s(array("q"))
_LONG_BYTES = 8
MAX_GRAMMARS = 16  # if records of so many kinds alternate in a file, whole chunks are as fast
_ODD_IN_NAME = frozenset({'"', "\\", *map(chr, range(0x20))})  # a JSON string must escape these characters


@dataclass(frozen=True, eq=False)
class SourceBatch:
    """n operations of a table as the source has them, in input order: from a scanner, or from the exact reader.

    before, after  columns in table order, missing in an operation without the image. If only rows are read, `after` has
                   the row, and `before` of a scanner has the key columns of updates if it looks for key updates.
    slots          columns in the order of the grammar's slots and notes
    tokens         None without tokens
    places         the places of slots in `slots`, by name
    """

    op: pa.StringArray
    before: tuple[ImageColumn, ...]
    after: tuple[ImageColumn, ...]
    has_before: pa.BooleanArray
    has_after: pa.BooleanArray
    slots: tuple[ImageColumn, ...]
    tokens: StringMapArray | None
    ordinal: pa.Int64Array
    places: Mapping[str, int]

    @classmethod
    def of(cls, taken: tuple[Any, ...], with_tokens: bool, places: Mapping[str, int] | None = None) -> SourceBatch:
        """Wrap the result of a kernel's `take` (see `_native.pyi`)."""
        rows, before, after, slots, names, values, offsets, ops, images, ordinals = taken
        bits = columns.uint8s(images, rows)
        return cls(
            columns.letters(ops, rows),
            tuple(columns.scanned_column(column, rows) for column in before),
            tuple(columns.scanned_column(column, rows) for column in after),
            pc.equal(pc.bit_wise_and(bits, 1), 1),
            pc.equal(pc.bit_wise_and(bits, 2), 2),
            tuple(columns.scanned_column(column, rows) for column in slots),
            columns.scanned_token_maps(names, values, offsets, rows) if with_tokens else None,
            columns.scanned_int64s(ordinals, rows),
            places or {},
        )

    def __len__(self) -> int:
        return len(self.op)

    def values(self, slot: str) -> pa.StringArray:
        return self.slots[self.places[slot]].values

    def without(self, rows: Collection[int]) -> SourceBatch:
        kept = pa.array([row for row in range(len(self)) if row not in rows], pa.int64())
        return SourceBatch(
            self.op.take(kept),
            tuple(column.take(kept) for column in self.before),
            tuple(column.take(kept) for column in self.after),
            self.has_before.take(kept),
            self.has_after.take(kept),
            tuple(column.take(kept) for column in self.slots),
            None if self.tokens is None else self.tokens.take(kept),
            self.ordinal.take(kept),
            self.places,
        )

    def batch(
        self,
        definition: TableDef,
        op_ts: pa.StringArray,
        position: pa.StringArray,
        row_only: bool,
        key_update: pa.BooleanArray | None,
        transaction: pa.StringArray | None = None,
        origin: pa.StringArray | None = None,
    ) -> ChangeBatch:
        """Make the reader's batch, of whole images or, if `row_only`, of rows."""
        columns = self.after if row_only else self.before
        before = Image(columns, self.has_before if row_only else unless_all(self.has_before))
        after = Image(self.after, unless_all(self.has_after))
        tokens, ordinal = self.tokens, self.ordinal
        return ChangeBatch(
            definition, self.op, op_ts, position, before, after, ordinal, tokens, key_update, transaction, origin
        )

    def note(self, place: int) -> int:
        column = self.slots[place]
        return len(self) if column.present is None else int(column.present.true_count)


def is_plain(name: str) -> bool:
    """Return whether JSON shows a name as it is: the scanner compares names as they are written."""
    return _ODD_IN_NAME.isdisjoint(name)


MAX_IDENTITIES = 16 << 20  # bytes; a scanner keeps all identities that it binds


class ScanResult(NamedTuple):
    """The end of a scan.

    taken       the number of records that the scanner took
    start, end  the place of the odd record that ended the scan; the end of the data if there is no odd record
    identity    the identity of the odd record, if no table is bound to it
    starts      the places of the records taken; empty for a scan of spans
    tables      for a scanner that routes, the numbers of their tables
    """

    taken: int
    start: int
    end: int
    identity: bytes | None
    starts: pa.Int64Array
    tables: pa.Int64Array


class Scanner:
    """A native scanner of a format, and the tables whose records it takes, by full name.

    places  the places of the slots in `SourceBatch.slots`, by name
    notes   the places of notes there, and the names of the members that they count
    routes  scans make no rows, and only find the table of each record
    """

    notes: Sequence[tuple[int, str]] = ()
    routes = False

    def __init__(self, native_scanner: Any, with_tokens: bool, places: Mapping[str, int] | None = None) -> None:
        self.native = native_scanner
        self._with_tokens = with_tokens
        self._places = places or {}
        self._numbers: dict[str, int] = {}

    def route(self) -> None:
        """Only find the table of each record from now on."""
        self.native.route()
        self.routes = True

    def tables_in(self, notes: Any, taken: int) -> pa.Int64Array:
        """Return for records in the notes of a scan one more than the number of the table, 0 for a record without one.
        There are none unless the scanner routes."""
        return pc.shift_right(columns.scanned_int64s(notes, taken), _TABLE_SHIFT) if self.routes else _NONE

    def starts_in(self, notes: Any, taken: int) -> pa.Int64Array:
        """Return the starts of records that are in the notes of a scan."""
        noted = columns.scanned_int64s(notes, taken)
        return pc.bit_wise_and(noted, (1 << _TABLE_SHIFT) - 1) if self.routes else noted

    def bind_table(self, table: str, *description: Any) -> bool:
        """Take the records that `description` says, by the arguments of the kernel's `bind`, as operations of a table.

        This replaces what was bound to the table. Return False if the kernel refuses: the records are odd then. It must
        not hold operations of the table.
        """
        self.forget(table)
        with suppress(*REFUSALS):
            self._numbers[table] = self.native.bind(*description)
        return table in self._numbers

    def binds(self, table: str) -> bool:
        return table in self._numbers

    def take_counts(self) -> dict[str, int]:
        """Return the numbers of records that are no operations, by word, since the last call."""
        return {}

    @property
    def tables(self) -> Sequence[str]:
        return [*self._numbers]

    def forget(self, table: str) -> None:
        number = self._numbers.pop(table, None)
        if number is not None:
            self.native.unbind(number)

    def rows(self, table: str) -> int:
        number = self._numbers.get(table)
        return 0 if number is None else int(self.native.rows(number))

    def largest(self) -> int:
        """Count the operations that the scanner holds of the table with the most."""
        return int(self.native.largest())

    def take(self, table: str) -> SourceBatch | None:
        """Return the operations of a table and release them; None if the scanner holds no operations of the table."""
        if not self.rows(table):
            return None
        return SourceBatch.of(self.native.take(self._numbers[table]), self._with_tokens, self._places)


class JsonScanner(Scanner):
    """The scanner of JSON records."""

    def __init__(
        self,
        native: Any,
        grammar: Grammar,
        row_only: bool,
        key_updates: bool,
        with_tokens: bool,
        purpose: int = ROWS,
        routes: bool = False,
    ) -> None:
        """`native`: the module of kernels; `routes`: only find the table of each record, for the purpose `DEFINITIONS`.
        If `row_only`, an update is odd if its after image lacks a column that changed.
        """
        members = grammar.members if with_tokens else _without_tokens(grammar.members)
        ops = {text.encode(): _op(meaning, with_tokens) for text, meaning in grammar.ops.items() if is_plain(text)}
        row_token = grammar.row_token.encode() if grammar.row_token is not None and with_tokens else None
        slots = list(_slots(grammar.members))
        super().__init__(
            native.JsonScanner(
                members,
                ops,
                image_rules(),
                row_only,
                key_updates,
                row_token,
                purpose,
                grammar.columns,
                grammar.shows_rows,
            ),
            with_tokens,
            {name: place for place, (name, full_name) in enumerate(slots) if full_name is None},
        )
        if routes:
            self.route()
        self.notes = [(place, full_name) for place, (_, full_name) in enumerate(slots) if full_name is not None]
        self._words = ["" if type_of(op) else op[1] for text, op in grammar.ops.items() if is_plain(text)]
        self._columns: dict[str, tuple[str, ...]] = {}
        self._room = MAX_IDENTITIES

    def bind(
        self, identity: bytes, definition: TableDef, takes: Sequence[int] | None = None, states: bytes | None = None
    ) -> bool:
        """Take records of an identity as operations of a table; this replaces earlier identities of the table.

        Return False if the scanner cannot take records of the table. It must not hold operations of the table.

        takes   the kinds of values of each column; an image with other kinds, or another order of columns, is odd.
                Unless the purpose is `ROWS`, None: no image is odd
        states  one byte per column, of `IN_AFTER`, `IN_BEFORE` and `NOT_NAMED`: only these images have a value; or of
                `LEFT_OUT` and 0
        """
        if len(identity) > self._room or not all(map(is_plain, definition.column_names)):
            return False
        self._room -= len(identity)
        self._columns[definition.full_name] = definition.column_names
        names = tuple(name.encode("utf-8", "surrogatepass") for name in definition.column_names)
        keys, kinds = definition.key_indices, None if takes is None else bytes(takes)
        return self.bind_table(definition.full_name, identity, names, keys, kinds, states)

    def bind_alias(self, identity: bytes, table: str, states: bytes | None = None) -> bool:
        """Take records of one more identity as operations of a table; return False if that is not bound."""
        if table not in self._numbers or len(identity) > self._room:
            return False
        self._room -= len(identity)
        with suppress(*REFUSALS):
            self.native.bind_alias(identity, self._numbers[table], states)
            return True
        return False

    def take_pairs(self, table: str) -> Iterator[tuple[str, str]]:
        """Yield the columns that came next to each other in images of a table, in the order of their first appearance,
        since the last call. Only for DEFINITIONS.
        """
        if table in self._numbers:
            places = array("i", bytes(self.native.take_pairs(self._numbers[table])))
            names = self._columns[table]
            for first, second in zip(places[::2], places[1::2], strict=True):
                yield names[first], names[second]

    def take_counts(self) -> dict[str, int]:
        if not any(self._words):
            return {}
        return {word: count for word, count in zip(self._words, self.native.take_counts(), strict=True) if count}

    def scan(self, data: bytes, place: int, ordinal: int) -> ScanResult:
        """Take consecutive records from a place on, up to an odd one; `ordinal` belongs to the first record."""
        taken, start, _, notes, identity = self.native.scan(data, place, -1, ordinal)
        ends = int.from_bytes(memoryview(notes)[taken * _LONG_BYTES :], "little") or len(data)
        return ScanResult(taken, start, ends, identity, self.starts_in(notes, taken), self.tables_in(notes, taken))

    def scan_spans(self, data: bytes, spans: array[int], first: int, ordinal: int) -> ScanResult:
        """Take records from the record `first` on, up to an odd one; in `spans`, starts and ends alternate."""
        taken, start, _, notes, identity = self.native.scan_spans(data, spans, first, ordinal)
        place = 2 * (first + taken)
        end = spans[place + 1] if place < len(spans) else len(data)
        return ScanResult(taken, start, end, identity, _NONE, self.tables_in(notes, taken))


class OddRecord(NamedTuple):
    """A record that a scanner did not take, decoded and classified.

    chunk     the chunk with the record, cut into records if that was necessary
    number    of records before it in the chunk
    start     of the record in the data of the chunk; None if only `spans` finds it
    identity  if no table is bound to it
    """

    chunk: Chunk
    number: int
    start: int | None
    record: Any
    meaning: Any
    identity: bytes | None


class Scanning(ABC):
    """A reader or a discovery of records, most of which a scanner takes.

    ordinal  of the next record
    """

    scanner: Any = None  # a Scanner, or None
    ordinal: int
    _pause = 0  # for so many chunks, it is faster to decode whole chunks

    @abstractmethod
    def examined_at(self, chunk: Chunk, start: int, end: int) -> tuple[Any, Any]:
        """Decode and classify the next record, at this place of the chunk that the scanner reads."""

    @abstractmethod
    def spans(self, chunk: Chunk) -> Sequence[tuple[int, int]]:
        """Return start and end of each record in the data of a chunk, in bytes."""

    def hold_instead(self, chunk: Chunk, cut: Chunk) -> None:  # noqa: B027 - a reader and a router keep it
        """Keep a chunk cut into records in place of the chunk itself."""

    def settled(self, chunk: Chunk) -> Chunk:
        """Return the latest chunk, cut into records, and keep it in this form from now on."""
        cut = chunk.settled()
        self.hold_instead(chunk, cut)
        return cut

    def know(self, identity: bytes) -> bool:
        """Bind a table to an identity without one of its records; return False if that is impossible."""
        return False

    def know_tables(self, tables: pa.Int64Array) -> None:  # noqa: B027 - only a router needs them
        """Store the numbers of the tables of records that the scanner took."""

    def know_starts(self, starts: pa.Int64Array) -> None:  # noqa: B027 - only a reader needs them
        """Store the starts of the records of a chunk."""

    def pauses(self) -> bool:
        """Return whether to decode the next chunk as a whole."""
        paused, self._pause = self._pause, max(0, self._pause - 1)
        return self.scanner is None or bool(paused)

    def odd_records(self, chunk: Chunk) -> Iterator[OddRecord]:
        """Have the scanner take the records of a chunk of JSON, and yield those that it does not take.

        Before asking for the next record, the caller counts this one in `ordinal`, and may bind tables or replace the
        scanner. Without a scanner, all records left are odd.
        """
        first, place, odd = self.ordinal, 0, 0
        starts: list[pa.Int64Array] = []
        places = None if chunk.spans is None else places_of(chunk.spans)
        while self.scanner is not None:
            if places is None:
                found = self.scanner.scan(chunk.data, place, self.ordinal)
            else:
                found = self.scanner.scan_spans(chunk.data, places, self.ordinal - first, self.ordinal)
            self.ordinal += found.taken
            starts.append(found.starts)
            self.know_tables(found.tables)
            if found.start == len(chunk.data):
                if places is None:
                    self.know_starts(pa.concat_arrays(starts))
                break
            if found.identity is not None and self.know(found.identity):
                place = found.start
                continue
            if places is None and not is_value(chunk.data, found.start, found.end):
                chunk = self.settled(chunk)
                places = places_of(self.spans(chunk))
                continue
            odd += found.identity is None  # the first record of a table is always odd
            starts.append(columns.int64s(array("q", [found.start])))
            yield self._odd(chunk, first, found.start, found.end, found.identity)
            place = found.end
        else:
            if places is None:
                chunk = self.settled(chunk)
                places = places_of(self.spans(chunk))
            for index in range(2 * (self.ordinal - first), len(places), 2):
                yield self._odd(chunk, first, places[index], places[index + 1], None)
        is_costly = odd > _FEW and odd * _MANY > self.ordinal - first
        self._pause = self._pause or _PAUSE * is_costly

    def _odd(self, chunk: Chunk, first: int, start: int, end: int, identity: bytes | None) -> OddRecord:
        record, meaning = self.examined_at(chunk, start, end)
        return OddRecord(chunk, self.ordinal - first, start, record, meaning, identity)


def _op(meaning: str | OpToken, with_tokens: bool) -> tuple[bytes, bytes | None, bytes | None, int]:
    if isinstance(meaning, OpToken):
        if not meaning.op:
            return b"\0", None, None, 0
        if with_tokens:
            return meaning.op.encode(), meaning.name.encode(), meaning.text.encode(), meaning.rank
        meaning = meaning.op
    return meaning.encode(), None, None, 0


def _slots(members: Sequence[Member]) -> Iterator[tuple[str, str | None]]:
    """List slots and notes in their order: the names of the members, and the full names of notes."""
    for name, action, _, argument, _ in members:
        if action == ENTER:
            yield from _slots(argument[0])
        elif action == LIST:
            yield argument.decode(), None
        elif action in (SLOT, NOTE):
            yield name.decode(), argument if action == NOTE else None


def _without_tokens(members: Sequence[Member]) -> tuple[Member, ...]:
    done: list[Member] = []
    for name, action, required, argument, _ in members:
        if action == ENTER:
            argument = (_without_tokens(argument[0]), *argument[1:])
        elif action == TOKENS:
            action, argument = SKIP, ANY
        done.append(Member(name, action, required, argument, None))
    return tuple(done)


_FEW = 16  # up to so many odd records of a chunk do not pause the scanner
_MANY = 4  # if more than one of so many records is odd, it is faster to decode whole chunks
_PAUSE = 16  # length of a pause of the scanner, in chunks


def places_of(spans: Sequence[tuple[int, int]]) -> array[int]:
    """Return the starts and ends of spans as one array in which they alternate."""
    if isinstance(spans, Spans):
        return spans.places()
    return array("q", chain.from_iterable(spans))


def image_rules() -> dict[bytes, tuple[int, ...]]:
    """Map operation types to rules for the before and the after image: -1 if it must be absent, 1 if present."""
    return {
        letter.encode(): tuple(
            -1 if image in surplus else 1 if image in lacking else 0 for image in ("before", "after")
        )
        for letter, (surplus, lacking) in IMAGE_RULES.items()
    }


def absent_columns(
    scanned: SourceBatch, names: Sequence[str], row_only: bool, whole: pa.BooleanArray | None
) -> dict[int, set[str]]:
    """Return the columns that an image lacks, by row. `whole`: the rows whose before image may lack none; None: all."""
    has_before = scanned.has_before if whole is None else pc.and_(scanned.has_before, whole)
    images = [(has_before, scanned.before), (scanned.has_after, scanned.after)]
    if row_only:
        images = [(pc.or_(scanned.has_before, scanned.has_after), scanned.after)]
    found: dict[int, set[str]] = {}
    for exists, image in images:
        for name, column in zip(names, image, strict=True):
            if column.present is not None:
                for row in non_null_values(pc.indices_nonzero(pc.and_not(exists, column.present))):
                    found.setdefault(row, set()).add(name)
    return found


def key_updates(
    keys: Sequence[ImageColumn], after: Sequence[ImageColumn], definition: TableDef
) -> pa.BooleanArray | None:
    """Return which operations have a key column in both images with different values; None if there is none.

    `keys`: the key columns of the before images. All columns are missing where there is no image.
    """
    changed: pa.BooleanArray | None = None
    for old, place in zip(keys, definition.key_indices, strict=True):
        new = after[place]
        same = pc.equal(old.values, new.values).fill_null(False)
        both_null = pc.and_(old.values.is_null(), new.values.is_null())
        differs = pc.invert(pc.or_(same, both_null))
        for column in (old, new):
            if column.present is not None:
                differs = pc.and_(differs, column.present)
        changed = differs if changed is None else pc.or_(changed, differs)
    return None if changed is None or not changed.true_count else changed
