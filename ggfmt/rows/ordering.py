"""The order of the operations of a table: by positions, or as in the input."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import as_strings, narrow, numbered
from ggfmt.columnar.hashes import row_codes
from ggfmt.frames.batches import FILE_BITS
from ggfmt.rows.operations import BASE_SEQ, INSERT
from ggfmt.rows.positions import PositionKind, kind_named
from ggfmt.rows.query import parse_time, query_error

_LONG = pa.int64()


@dataclass(frozen=True)
class Ordering:
    """`by`: the kind of positions that orders operations; None: their order in the input."""

    by: PositionKind | None

    def __str__(self) -> str:
        return "the input" if self.by is None else f"positions ({self.by.name})"

    @staticmethod
    def named(text: str) -> Ordering:
        return Ordering(kind_named(text.removeprefix("positions (").removesuffix(")")))

    def sort(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return operations in order; rows of a base snapshot come first."""
        if not len(batch):
            return batch
        keys = self._sort_columns(batch)
        if len(keys) < 3:
            before, after = keys[0].slice(0, len(batch) - 1), keys[0].slice(1)
            ascends = pc.less_equal(before, after) if len(keys) == 1 else pc.less(before, after)
            if pc.all(ascends, min_count=0).as_py():
                return batch
        names = [f"s{place}" for place in range(len(keys))]
        order = pc.sort_indices(pa.table(keys, names), sort_keys=[(name, "ascending") for name in names])
        return batch.take(order)

    def _sort_columns(self, batch: pa.RecordBatch) -> list[pa.Array[Any]]:
        seq = batch["seq"]
        if self.by is None:
            return [seq]
        columns = self.position_columns(batch)
        early = pc.less(seq, 0)
        if not early.true_count:
            return [*columns, seq]
        # Rows of a base, operations that earlier runs have kept in their order, and the others.
        phase = pc.add(pc.cast(pc.not_equal(seq, BASE_SEQ), pa.int8()), pc.cast(pc.invert(early), pa.int8()))
        return [phase, *(pc.if_else(early, pa.scalar(None, each.type), each) for each in columns), seq]

    def position_columns(self, batch: pa.RecordBatch) -> list[pa.Array[Any]]:
        assert self.by is not None
        return self.by.sort_columns(as_strings(batch["position"]))

    def repeats(self, batch: pa.RecordBatch) -> pa.BooleanArray:
        """Return which operations, in order, have the position of the one before them: they may come again."""
        count = len(batch)
        if self.by is None or count < 2:
            return pa.repeat(pa.scalar(False), count)
        columns = self.position_columns(batch)
        same = reduce(pc.and_, (pc.equal(column.slice(0, count - 1), column.slice(1)) for column in columns))
        return pa.concat_arrays([pa.array([False]), pc.fill_null(same, False)])

    def up_to(self, batch: pa.RecordBatch, moment: str) -> pa.BooleanArray:
        """Return which operations are not after a point in time. One without a time, and a row of a base, is not.
        Raises: UsageError GG551 for a position where positions do not order the operations."""
        time = parse_time(moment)
        base = pc.equal(batch["seq"], BASE_SEQ)
        if time is not None:
            return pc.or_(base, pc.fill_null(pc.less_equal(batch["ts"], pa.scalar(time, batch["ts"].type)), True))
        check_moment(moment, self.by)
        assert self.by is not None
        bounds = self.by.sort_columns(pa.array([moment], pa.string()))
        columns = self.position_columns(batch)
        within: pa.BooleanArray | None = None
        for column, bound in reversed(list(zip(columns, bounds, strict=True))):
            less, equal = pc.less(column, bound[0]), pc.equal(column, bound[0])
            within = pc.or_(less, equal if within is None else pc.and_(equal, within))
        assert within is not None
        return pc.or_(base, pc.fill_null(within, False))


def check_moment(moment: str, kind: PositionKind | None) -> None:
    """Raises: UsageError GG551 for a position that cannot be compared with those of a table."""
    if parse_time(moment) is not None:
        return
    if kind is None:
        message = f"`{moment}` is not a time, and positions of the table do not order its operations"
        raise query_error(message, "give a time such as `2026-01-31T12:00:00`")
    if kind.value(moment) is None:
        message = f"`{moment}` is neither a time nor a position of the kind in the table ({kind.name})"
        raise query_error(message, f"{kind.help}, or a time such as `2026-01-31T12:00:00`")


def without_repeated(batch: pa.RecordBatch, ordering: Ordering, has_key: bool) -> pa.RecordBatch:
    """Return operations, in order, without those that come again: at the same position, with the same images.

    Some sources give all operations of a transaction one position, so that equal ones may be different operations: a
    value may change there and back and there again. So an operation comes again only if the one before it, among those
    of its key at that position, is equal. A row that came back in between moves again. In a table without a
    key, rows may be equal: as many operations stay as the file has that has most of them.
    """
    same = ordering.repeats(batch)
    if not same.true_count:
        return batch
    shared = pc.or_(same, pa.concat_arrays([same.slice(1), pa.array([False])]))
    places = pc.cast(pc.indices_nonzero(shared), _LONG)
    some, columns = batch.take(places), ordering.position_columns(batch)
    names = [name for name in some.schema.names if name == "op" or (name[-1:].isdigit() and name[0] in "bahuko")]
    position = row_codes([column.take(places) for column in columns])
    operation = row_codes([some[name] for name in names])
    if has_key:
        again = _after_an_equal_one(some, position, operation)
    else:
        again = _more_than_in_a_file({"position": position, "operation": operation}, some["seq"])
    gone = pc.is_in(numbered(len(batch)), value_set=places.filter(again))
    return batch.filter(pc.invert(gone)) if again.true_count else batch


def _after_an_equal_one(batch: pa.RecordBatch, position: pa.Int64Array, operation: pa.Int64Array) -> pa.BooleanArray:
    count = len(batch)
    every = numbered(count)
    parts = [name[1:] for name in batch.schema.names if name[0] == "k" and name[1:].isdigit()]
    both = [pa.concat_arrays([batch[f"o{part}"], batch[f"k{part}"]]) for part in parts]
    keys = row_codes([pa.concat_arrays([position, position]), *both])  # at a position, before and after
    left, reached = keys.slice(0, count), keys.slice(count)
    order = _sorted(left, every)
    ordered = [codes.take(order) for codes in (left, operation)]
    equal = reduce(pc.and_, (pc.equal(codes.slice(0, count - 1), codes.slice(1)) for codes in ordered))
    places, previous = order.slice(1).filter(equal), order.slice(0, count - 1).filter(equal)
    has_moved = narrow(batch["moves"], pa.BooleanArray)
    moving = has_moved.take(places)
    if moving.true_count:
        # A row that came back: another has reached the key since, and one has left the key that this one reaches.
        arrival = _latest(reached, has_moved, left.take(places), places)
        departure = _latest(left, pc.not_equal(batch["op"], INSERT), reached.take(places), places)
        came_back = pc.and_(pc.greater(arrival, previous), pc.greater(departure, previous))
        places = places.filter(pc.invert(pc.and_(moving, came_back)))
    return pc.is_in(every, value_set=places)


def _latest(keys: pa.Int64Array, among: pa.BooleanArray, of: pa.Int64Array, places: pa.Int64Array) -> pa.Int64Array:
    """Return the last place with a key, `among` some, before each of `places`; -1 if there is none."""
    own = pc.cast(pc.indices_nonzero(among), _LONG)
    codes, every = pa.concat_arrays([keys.take(own), of]), pa.concat_arrays([own, places])
    order = _sorted(codes, every)
    seen = pc.less(order, len(own))
    nothing = pa.scalar(None, _LONG)
    last, code = (pc.fill_null_forward(pc.if_else(seen, each.take(order), nothing)) for each in (every, codes))
    found = pc.fill_null(pc.if_else(pc.equal(code, codes.take(order)), last, nothing), -1)
    return found.take(pc.sort_indices(order)).slice(len(own))


def _sorted(codes: pa.Int64Array, places: pa.Int64Array) -> pa.Int64Array:
    order = pc.sort_indices(pa.table([codes, places], ["0", "1"]), sort_keys=[("0", "ascending"), ("1", "ascending")])
    return pc.cast(order, _LONG)


def _more_than_in_a_file(codes: Mapping[str, pa.Int64Array], seqs: pa.Array[Any]) -> pa.BooleanArray:
    files = pc.shift_right(seqs, pa.scalar(FILE_BITS, _LONG))
    by = ["position", "operation"]
    rows = pa.table({**{name: codes[name] for name in by}, "file": files, "place": numbered(len(files))})
    best: dict[tuple[int, int], list[int]] = {}
    for row in rows.group_by([*by, "file"], use_threads=False).aggregate([("place", "list")]).to_pylist():
        key = row["position"], row["operation"]
        if key not in best or len(row["place_list"]) > len(best[key]):
            best[key] = row["place_list"]
    kept = pa.array([place for places in best.values() for place in places], _LONG)
    return pc.invert(pc.is_in(numbered(len(files)), value_set=kept))
