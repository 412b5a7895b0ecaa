"""Keys that operations connect, and the operations that one key update was written as.

A row keeps its identity when its key changes. So operations of a key cannot be applied without those of the keys that
its rows came from or went to. An update shows both keys. Some sources write an update of a key as a delete and an
insert: two neighbors with different keys, of one transaction or at one position. Neighbors that are of two rows give
the same rows, joined or not: an insert has all values. Only a hidden value needs more (`may_be_one_record`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from typing import Any, TypeAlias

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import begins, concatenated, narrow, non_null_values, numbered
from ggfmt.columnar.hashes import row_codes, row_hashes
from ggfmt.dataclasses import dataclass
from ggfmt.frames.batches import FILE_BITS
from ggfmt.rowfiles.spill import filtered
from ggfmt.rows.operations import DELETE, INSERT, staged_schema
from ggfmt.rows.ordering import Ordering
from ggfmt.rows.positions import OFFSETS
from ggfmt.rows.tables import RowTable

MAX_GROUP_KEYS = 200_000  # that a task works on, unless more of them are connected
_MAX_STEPS = 30  # from key to key by pairs, before all of them count as connected

_LONG, _WORD = pa.int64(), pa.uint64()
_HEADS = ["seq", "position", "origin", "op", "tx", "ts", "hash"]
_ENDS = [*_HEADS, "keyed"]
Mask: TypeAlias = "Callable[[pa.Array[Any]], pa.BooleanArray]"
NO_KEYS: pa.UInt64Array = pa.array([], _WORD)
_NO_PLACES: pa.Int64Array = pa.array([], _LONG)


@dataclass(frozen=True)
class KeyLinks:
    old: pa.Array[pa.UInt64Scalar]
    new: pa.Array[pa.UInt64Scalar]


def links_within(batch: pa.RecordBatch) -> Iterator[KeyLinks]:
    """Yield the links in a batch in input order: of operations that change a key, and of pairs in one file. The batch
    has no truncates."""
    moves = narrow(batch["moves"], pa.BooleanArray)
    if moves.true_count:
        yield KeyLinks(batch["old_hash"].filter(moves), batch["hash"].filter(moves))
    first = pairs_in(batch)
    if len(first):
        yield _pair_links(batch, first.filter(pc.invert(_begin_files(batch).take(pc.add(first, 1)))))


def file_ends(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the heads of the first and the last operation that a batch in input order has of each file."""
    begin = _begin_files(batch)
    if begin.true_count == 1:
        return batch.select(_ENDS).take(pa.array([0, len(batch) - 1]))
    end = pa.concat_arrays([begin.slice(1), pa.array([True])])
    places = pa.concat_arrays([pc.indices_nonzero(begin), pc.indices_nonzero(end)])
    return batch.select(_ENDS).take(places.take(pc.array_sort_indices(places)))


def links_between(
    ends: Sequence[pa.RecordBatch], ordering: Ordering, before: pa.RecordBatch | None = None
) -> Iterator[KeyLinks]:
    """Yield the links between batches. Those of one file stay in input order, and files are in their own order, so that
    it does not matter how files are cut.

    ends    `file_ends` of batches in input order
    before  the last operation of earlier runs
    """
    if not ends:
        return
    every = concatenated(ends, ends[0].schema)
    if before is None and len(every) == 2:  # of a single file
        return
    begin = _begin_files(every)
    if ordering.total is not None and begin.true_count > 1:
        firsts = every.filter(begin)
        order = ordering.sort(firsts.append_column("file", numbered(len(firsts))))["file"]
        files = pc.subtract(pc.cumulative_sum(pc.cast(begin, _LONG)), 1)
        every = every.take(pc.array_sort_indices(pc.index_in(files, value_set=order)))  # a stable sort
    if before is not None:
        every = concatenated([*2 * [before.select(_ENDS)], every], every.schema)
    first = pairs_in(every)
    yield _pair_links(every, first.filter(pc.equal(pc.bit_wise_and(first, 1), 1)))


def _begin_files(batch: pa.RecordBatch) -> pa.BooleanArray:
    """Return which operations in input order are not of the file of the one before."""
    return begins(pc.shift_right(batch["seq"], pa.scalar(FILE_BITS, _LONG)))


def _pair_links(batch: pa.RecordBatch, first: pa.Int64Array) -> KeyLinks:
    return KeyLinks(batch["hash"].take(first), batch["hash"].take(pc.add(first, 1)))


def pairs_in(batch: pa.RecordBatch) -> pa.Int64Array:
    """Return the places of deletes that may be one key update with the insert behind them."""
    count = len(batch) - 1
    if count < 1:
        return _NO_PLACES
    ops = batch["op"]
    are_deletes = pc.equal(ops.slice(0, count), DELETE)
    if not are_deletes.true_count:
        return _NO_PLACES
    first = pc.cast(pc.indices_nonzero(pc.and_(are_deletes, pc.equal(ops.slice(1), INSERT))), _LONG)
    if not len(first):
        return first
    heads = batch.select(["hash", "keyed", "tx", "ts", "position"])
    deletes, inserts = heads.take(first), heads.take(pc.add(first, 1))
    hits = pc.and_(narrow(deletes["keyed"], pa.BooleanArray), narrow(inserts["keyed"], pa.BooleanArray))
    hits = pc.and_not(hits, pc.fill_null(pc.equal(deletes["hash"], inserts["hash"]), True))
    at_one = pc.fill_null(pc.equal(deletes["position"], inserts["position"]), False)
    at_one = pc.and_(at_one, pc.and_(deletes["tx"].is_null(), inserts["tx"].is_null()))
    return first.filter(pc.and_(hits, pc.or_(at_one, same_moment(deletes, inserts))))


def same_moment(one: pa.RecordBatch, other: pa.RecordBatch) -> pa.BooleanArray:
    """Return where two operations may be of one transaction: by its id, or by the time if neither has an id."""
    ids = [each["tx"] for each in (one, other)]
    times = [each["ts"] for each in (one, other)]
    same_id = pc.fill_null(pc.equal(*ids), False)
    same_time = pc.or_(pc.fill_null(pc.equal(*times), False), pc.and_(times[0].is_null(), times[1].is_null()))
    return pc.or_(same_id, pc.and_(pc.and_(ids[0].is_null(), ids[1].is_null()), same_time))


def in_moment_of(row: pa.RecordBatch, batch: pa.RecordBatch) -> pa.BooleanArray:
    """Return which operations may be of one transaction with an operation."""
    return same_moment(batch, row.take(pa.repeat(pa.scalar(0, _LONG), len(batch))))


@dataclass(frozen=True)
class KeyOrder:
    """How operations of the same key follow each other.

    heads   n operations, in order
    order   their places, by key and in order
    begins  by place in `order`, whether the operation is the first one of its key
    """

    heads: pa.RecordBatch
    order: pa.Int64Array
    begins: pa.BooleanArray

    @staticmethod
    def of(heads: pa.RecordBatch, keys: Sequence[str]) -> KeyOrder:
        codes = row_codes([heads[name] for name in keys])
        order = pc.cast(pc.array_sort_indices(codes), _LONG)  # a stable sort
        return KeyOrder(heads, order, begins(codes.take(order)))

    @staticmethod
    def of_batches(
        batches: Sequence[pa.RecordBatch], table: RowTable, ordering: Ordering, own: Mask | None = None
    ) -> KeyOrder:
        """Return the order of some operations of several batches. `place` in the heads is that among all. `own`: which
        operations, by the hashes of keys; None: all."""
        staged, keys = staged_schema(table), [f"k{j}" for j in range(len(table.key))]
        schema = pa.schema([staged.field(name) for name in (*_HEADS, "offset", *keys)])
        parts, start = [], 0
        for batch in batches:
            part = batch.select(schema.names).append_column("place", pc.add(numbered(len(batch)), start))
            parts.append(part if own is None else filtered(part, own(part["hash"])))
            start += len(batch)
        heads = concatenated(parts, schema.append(pa.field("place", _LONG)))
        return KeyOrder.of(ordering.sort(heads), keys)

    def without(self, hashes: pa.UInt64Array) -> KeyOrder:
        """Return the order without some keys, whose heads stay."""
        if not len(hashes):
            return self
        kept = pc.invert(pc.is_in(self.heads["hash"].take(self.order), value_set=hashes))
        return KeyOrder(self.heads, self.order.filter(kept), self.begins.filter(kept))

    @property
    def ends(self) -> pa.BooleanArray:
        return pa.concat_arrays([self.begins.slice(1), pa.array([True] * min(len(self.begins), 1), pa.bool_())])


def keys_of_two_rows(every: KeyOrder) -> pa.UInt64Array:
    """Return the hashes of keys at which two rows may be for a while: under a deferred constraint, a transaction may
    insert a row at the key of another one. There an insert follows an operation that is not a delete, and another
    operation of the same moment follows the insert."""
    follows = pc.invert(every.begins)
    first, middle, last = (slice(start, start + max(len(follows) - 2, 0)) for start in range(3))
    thrice = pc.and_(follows[middle], follows[last])
    if not thrice.true_count:
        return NO_KEYS
    ops = every.heads["op"].take(every.order)
    hits = pc.and_(pc.equal(ops[middle], INSERT), pc.not_equal(ops[first], DELETE))
    places = pc.indices_nonzero(pc.and_(hits, thrice))
    inserts, others = (every.heads.take(every.order.take(pc.add(places, behind))) for behind in (1, 2))
    return narrow(pc.unique(inserts["hash"].filter(same_moment(inserts, others))), pa.UInt64Array)


@dataclass(frozen=True)
class FollowedKeys:
    """Keys whose rows have to be followed by their images."""

    hashes: pa.UInt64Array  # of the keys
    # the `seq` of inserts that are one key update with the delete before them; None: all that may be
    halves: pa.Int64Array | None = None


def followed_keys(batches: Sequence[pa.RecordBatch], table: RowTable, ordering: Ordering) -> FollowedKeys:
    """Return which of the connected keys of some operations have to be followed.

    These are keys that updates change, keys of two rows, and both keys of a delete and an insert if the key of the
    insert may have another row, or if the insert lacks values; and keys that pairs connect with these. Other pairs give
    the same rows if nothing joins them.
    """
    names = [*_ENDS, "moves", "old_hash"]
    schema = pa.schema([*(batches[0].schema.field(name) for name in names), pa.field("whole", pa.bool_())])
    parts = (
        pa.RecordBatch.from_arrays([*batch.select(names).columns, _are_whole(batch, table, "a")], schema=schema)
        for batch in batches
    )
    every = ordering.sort(concatenated(parts, schema))
    moves = narrow(every["moves"], pa.BooleanArray)
    two_rows = keys_of_two_rows(KeyOrder.of(every, ["hash"]))
    sure = [every["hash"].filter(moves), every["old_hash"].filter(moves), two_rows]
    hashes = pa.concat_arrays(sure)
    first = pairs_in(every)
    second = pc.add(first, 1)
    old, new = every["hash"].take(first), every["hash"].take(second)
    doubt = _keys_in_doubt(every, new)
    if len(doubt):  # images are looked at only where they matter
        some = [batch.filter(pc.is_in(batch["hash"], value_set=doubt)) for batch in batches]
        with_images = [_with_images(batch, table) for batch in some if len(batch)]
        doubt = _keys_in_doubt(ordering.sort(concatenated(with_images, with_images[0].schema)), doubt)
    lacking = pc.invert(narrow(every["whole"], pa.BooleanArray).take(second))
    joined = pc.or_(lacking, pc.is_in(new, value_set=doubt))
    for _ in range(_MAX_STEPS):
        count = joined.true_count
        found = pc.unique(pa.concat_arrays([hashes, old.filter(joined), new.filter(joined)]))
        joined = pc.or_(pc.is_in(old, value_set=found), pc.is_in(new, value_set=found))
        if joined.true_count == count:
            halves = narrow(every["seq"].take(second.filter(joined)), pa.Int64Array)
            return FollowedKeys(narrow(found, pa.UInt64Array), halves)
    return FollowedKeys(narrow(pc.unique(pa.concat_arrays([hashes, old, new])), pa.UInt64Array))


def _are_whole(batch: pa.RecordBatch, table: RowTable, image: str) -> pa.BooleanArray:
    return reduce(pc.and_, (narrow(batch[f"h{image}{i}"], pa.BooleanArray) for i in range(len(table.columns))))


def _with_images(batch: pa.RecordBatch, table: RowTable) -> pa.RecordBatch:
    """Return the heads of operations with a hash of each image; null where it lacks a column."""
    found = batch.select(_HEADS)
    for image in "ba":
        hashes = row_hashes([batch[f"{image}{i}"] for i in range(len(table.columns))])
        hashes = pc.if_else(_are_whole(batch, table, image), hashes, pa.scalar(None, _WORD))
        found = found.append_column(image, hashes)
    return found


def _keys_in_doubt(every: pa.RecordBatch, hashes: pa.Array[Any]) -> pa.Array[Any]:
    """Return those of some keys where an operation may find another row than the operation before left: an insert at a
    row, or in the same moment an operation whose before image, if it is there, is not the whole row."""
    order = pc.indices_nonzero(pc.is_in(every["hash"], value_set=hashes))
    order = order.take(pc.array_sort_indices(every["hash"].take(order)))  # a stable sort
    heads = every.take(order)
    before, after = heads.slice(0, max(len(heads) - 1, 0)), heads.slice(min(len(heads), 1))
    was_deleted, inserts = pc.equal(before["op"], DELETE), pc.equal(after["op"], INSERT)
    others = pc.and_(pc.invert(inserts), same_moment(before, after))
    if "a" in every.schema.names:
        fits = pc.fill_null(pc.and_not(pc.equal(before["a"], after["b"]), was_deleted), False)
        others = pc.and_not(others, fits)
    hits = pc.or_(pc.and_not(inserts, was_deleted), others)
    return after["hash"].filter(pc.and_(hits, pc.equal(before["hash"], after["hash"])))


def may_meet_an_insert(batch: pa.RecordBatch) -> pa.BooleanArray:
    """Return which operations of a batch, in input order, may be of a key at which a transaction inserts another row:
    an insert of their key is of the same moment, or their moment may go on in the next batch."""
    count = len(batch)
    found: pa.BooleanArray = pa.repeat(pa.scalar(False), count)
    for end in (0, count - 1):
        found = pc.or_(found, in_moment_of(batch.slice(end, 1), batch))
    inserts = pc.equal(batch["op"], INSERT)
    moments = _moments_of_keys(batch)
    others = pc.and_not(pc.is_in(moments, value_set=moments.filter(inserts)), inserts)
    return pc.or_(found, others)


def _moments_of_keys(batch: pa.RecordBatch) -> pa.UInt64Array:
    """Return a hash for each operation, equal for those of one key at the same moment."""
    ids, times = batch["tx"], batch["ts"]
    if ids.null_count == len(ids):
        return row_hashes([batch["hash"], times])
    times = pc.if_else(ids.is_valid(), pa.scalar(None, times.type), times)
    return row_hashes([batch["hash"], ids, times])


def may_be_one_record(one: pa.Array[Any], other: pa.Array[Any]) -> pa.BooleanArray:
    """Return where the positions of a delete and an insert may be those of one update. Debezium makes both of one
    record of the database's log, and they have its position. The partitions of a topic have the two in different files,
    where the insert may follow the delete of another row. Offsets of Kafka are positions of messages, and differ."""
    ours = pc.or_(pc.match_substring_regex(one, OFFSETS.whole), one.is_null())
    return pc.fill_null(pc.or_(pc.equal(one, other), ours), True)


@dataclass(frozen=True)
class LinkedKeys:
    """Keys that some operation connects, at least two, in groups that have to be worked on together."""

    hashes: pa.Array[pa.UInt64Scalar]  # of the keys, without duplicates
    groups: pa.Int32Array  # for each hash the number of its group

    def group_of(self, hashes: pa.Array[pa.UInt64Scalar]) -> pa.Int32Array:
        return self.groups.take(pc.index_in(hashes, value_set=self.hashes))


def linked_keys(links: Iterable[KeyLinks]) -> LinkedKeys | None:
    """Return the groups of connected keys, if there are any. Small groups share a number."""
    every = list(links)
    if not every:
        return None
    old = pa.concat_arrays([pa.array([], _WORD), *(each.old for each in every)])
    new = pa.concat_arrays([pa.array([], _WORD), *(each.new for each in every)])
    codes = pa.concat_arrays([old, new]).dictionary_encode()
    count = len(codes.dictionary)
    if not count:
        return None
    if count <= MAX_GROUP_KEYS:
        numbers = [0] * count
    else:
        places = non_null_values(pc.cast(codes.indices, _LONG))
        roots = connected(count, zip(places[: len(old)], places[len(old) :], strict=True))
        numbers = _packed(roots)
    return LinkedKeys(narrow(codes.dictionary, pa.UInt64Array), pa.array(numbers, pa.int32()))


def connected(count: int, pairs: Iterable[tuple[int, int]]) -> list[int]:
    """Return the representative of the group of each of n numbers, where pairs of them are connected."""
    parents = list(range(count))

    def root(number: int) -> int:
        while parents[number] != number:
            parents[number] = parents[parents[number]]
            number = parents[number]
        return number

    for one, other in pairs:
        first, second = root(one), root(other)
        if first != second:
            parents[max(first, second)] = min(first, second)
    return [root(number) for number in range(count)]


def _packed(roots: Sequence[int]) -> list[int]:
    """Number groups from 0; a number has as many groups as fit into `MAX_GROUP_KEYS` keys, at least one."""
    sizes: dict[int, int] = {}
    for root in roots:
        sizes[root] = sizes.get(root, 0) + 1
    numbers: dict[int, int] = {}
    number = filled = 0
    for root, size in sizes.items():
        if filled and filled + size > MAX_GROUP_KEYS:
            number, filled = number + 1, 0
        numbers[root] = number
        filled += size
    return [numbers[root] for root in roots]
