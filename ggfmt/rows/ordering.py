"""The order of the operations of a table: by positions, or as in the input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, Literal

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import as_strings, narrow, numbered
from ggfmt.columnar.hashes import row_codes
from ggfmt.dataclasses import dataclass
from ggfmt.frames.batches import FILE_BITS
from ggfmt.model.change import PASSING
from ggfmt.rows.operations import BASE_SEQ, INSERT, TRUNCATE
from ggfmt.rows.positions import PositionKind, kind_named
from ggfmt.rows.query import parse_time, query_error

_LONG = pa.int64()


@dataclass(frozen=True)
class Ordering:
    """What orders operations.

    by       the kind of their positions; None: their order in the input
    apart    positions are of several logs, which have other origins or other families of positions: the order of the
             input counts, and positions among those of one log
    checked  times and the order of the input may not contradict the order
    """

    by: PositionKind | None
    apart: Literal["origins", "families", ""] = ""
    checked: bool = True

    def __str__(self) -> str:
        if self.by is None:
            return "the input"
        return f"the input, and positions in each log ({self.by.name})" if self.apart else f"positions ({self.by.name})"

    @staticmethod
    def named(text: str) -> Ordering:
        kind = kind_named(text.partition("(")[2].removesuffix(")"))
        return Ordering(kind, "" if kind is None or text.startswith("positions") else "origins")

    @property
    def total(self) -> PositionKind | None:
        """The kind of positions that alone order operations."""
        return None if self.apart else self.by

    def sort(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return operations in order; rows of a base snapshot come first."""
        if not len(batch):
            return batch
        keys = self._sort_columns(batch)
        if len(keys) < 3:
            before, after = keys[0].slice(0, len(batch) - 1), keys[0].slice(1)
            ascends = pc.less_equal(before, after) if len(keys) == 1 else pc.less(before, after)
            if pc.all(ascends, min_count=0).as_py():
                return self._sorted_in_logs(batch)
        return self._sorted_in_logs(batch.take(_sort_order(*keys)))

    def _sort_columns(self, batch: pa.RecordBatch) -> list[pa.Array[Any]]:
        seq = batch["seq"]
        if self.total is None:
            return [seq]
        columns = self.position_columns(batch)
        early = pc.less(seq, 0)
        if not early.true_count:
            return [*columns, seq]
        # Rows of a base, operations that earlier runs have kept in their order, and the others.
        phase = pc.add(pc.cast(pc.not_equal(seq, BASE_SEQ), pa.int8()), pc.cast(pc.invert(early), pa.int8()))
        return [phase, *(pc.if_else(early, pa.scalar(None, each.type), each) for each in columns), seq]

    def _sorted_in_logs(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return operations in input order, but those of each log, at their places among others, by position."""
        if not self.apart:
            return batch
        logs, known = self.logs(batch)
        moves = pc.and_(pc.and_(known, batch["ts"].is_valid()), pc.greater_equal(batch["seq"], 0))
        places = pc.cast(pc.indices_nonzero(moves), _LONG)
        some = batch.select(["position", "seq"]).take(places)
        sources = places.take(_sort_order(logs.take(places), *self.position_columns(some), some["seq"]))
        slots = places.take(pc.array_sort_indices(logs.take(places)))  # a stable sort
        if slots.equals(sources):
            return batch
        rest = pc.cast(pc.indices_nonzero(pc.invert(moves)), _LONG)
        order = pc.array_sort_indices(pa.concat_arrays([slots, rest]))
        return batch.take(pa.concat_arrays([sources, rest]).take(order))

    def position_columns(self, batch: pa.RecordBatch) -> list[pa.Array[Any]]:
        assert self.by is not None
        return self.by.sort_columns(as_strings(batch["position"]))

    def logs(self, batch: pa.RecordBatch) -> tuple[pa.Int64Array, pa.BooleanArray]:
        """Return a number for the log of each position, and which logs are known."""
        assert self.by is not None
        positions, origins = as_strings(batch["position"]), as_strings(batch["origin"])
        logs = row_codes([origins, self.by.families(positions)] if self.by.has_families else [origins])
        by_origin = pc.fill_null(pc.not_equal(origins, PASSING), False)
        return logs, by_origin if self.apart == "origins" else positions.is_valid()

    def repeats(self, batch: pa.RecordBatch) -> pa.BooleanArray:
        """Return which operations, in order, have the position of another one of the same log: they may come again."""
        count = len(batch)
        if self.by is None or count < 2:
            return pa.repeat(pa.scalar(False), count)
        columns = self.position_columns(batch)
        order: pa.UInt64Array | None = None
        if self.apart:
            logs, known = self.logs(batch)
            order = pc.array_sort_indices(logs)
            columns = [each.take(order) for each in (*columns, pc.if_else(known, logs, pa.scalar(None, _LONG)))]
        same = reduce(pc.and_, (pc.equal(column.slice(0, count - 1), column.slice(1)) for column in columns))
        same, no = pc.fill_null(same, False), pa.array([False])
        same = pc.or_(pa.concat_arrays([no, same]), pa.concat_arrays([same, no]))
        return same if order is None else same.take(pc.array_sort_indices(order))

    def contradiction(self, batch: pa.RecordBatch) -> tuple[int, int] | None:
        """Return the places of two ordered operations that follow each other in a row, or of one and a truncate, where
        the second has the earlier time, and is earlier in the input or by its position; or their positions are of two
        logs. None: there are none."""
        seq, ts = batch["seq"], batch["ts"]
        ascends = pc.less_equal(seq.slice(0, max(len(batch) - 1, 0)), seq.slice(1))
        if self.by is None or not self.checked or (not self.apart and ascends.true_count == len(ascends)):
            return None
        first, second = _in_turn(batch, pc.and_(ts.is_valid(), batch["position"].is_valid()))
        back = pc.indices_nonzero(pc.less(ts.take(second), ts.take(first)))
        first, second = first.take(back), second.take(back)
        wrong: pa.BooleanArray = pc.less(seq.take(second), seq.take(first))
        if self.apart:
            logs, known = self.logs(batch)
            known = pc.and_(known.take(first), known.take(second))
            wrong = pc.or_(wrong, pc.and_(known, pc.not_equal(logs.take(first), logs.take(second))))
            one, other = (self.position_columns(batch.take(places)) for places in (second, first))
            wrong = pc.or_(wrong, pc.fill_null(_precede(one, other), False))
        found = pc.index(wrong, True).as_py()
        return None if found < 0 else (first[found].as_py(), second[found].as_py())

    def up_to(self, batch: pa.RecordBatch, moment: str) -> pa.BooleanArray:
        """Return which operations are not after a point in time. One without a time, and a row of a base, is not.
        Raises: UsageError GG551 for a position where positions do not order the operations."""
        time = parse_time(moment)
        base = pc.equal(batch["seq"], BASE_SEQ)
        if time is not None:
            return pc.or_(base, pc.fill_null(pc.less_equal(batch["ts"], pa.scalar(time, batch["ts"].type)), True))
        check_moment(moment, self.by)
        assert self.by is not None
        bounds = (column[0] for column in self.by.sort_columns(pa.array([moment], pa.string())))
        return pc.or_(base, pc.fill_null(_precede(self.position_columns(batch), [*bounds], True), False))


def _precede(columns: Sequence[pa.Array[Any]], others: Sequence[Any], or_equal: bool = False) -> pa.BooleanArray:
    """Return where the values of some columns are less than those of others, of which earlier columns count first."""
    found: pa.BooleanArray = pa.repeat(pa.scalar(or_equal), len(columns[0]))
    for column, other in reversed(list(zip(columns, others, strict=True))):
        found = pc.or_(pc.less(column, other), pc.and_(pc.equal(column, other), found))
    return found


def _in_turn(batch: pa.RecordBatch, counts: pa.BooleanArray) -> tuple[pa.Int64Array, pa.Int64Array]:
    """Return the places of pairs of ordered operations, of those that count, that follow each other in a row; and those
    of operations with the truncates beside them."""
    every = numbered(len(batch))
    rows: pa.Array[Any] = every.filter(counts)
    keys: pa.Array[Any] = batch["hash"].take(rows)
    if "moves" in batch.schema.names:
        moved = rows.filter(narrow(batch["moves"], pa.BooleanArray).take(rows))
        keys, rows = pa.concat_arrays([keys, batch["old_hash"].take(moved)]), pa.concat_arrays([rows, moved])
    order = _sort_order(keys, rows)
    keys, rows = keys.take(order), rows.take(order)
    same = pc.indices_nonzero(pc.fill_null(pc.equal(keys.slice(0, max(len(keys) - 1, 0)), keys.slice(1)), False))
    first, second = [rows.take(same)], [rows.take(pc.add(pc.cast(same, _LONG), 1))]
    own = pc.if_else(pc.and_(counts, pc.equal(batch["op"], TRUNCATE)), every, pa.scalar(None, _LONG))
    for one, other in ((pc.fill_null_forward(own), every), (every, pc.fill_null_backward(own))):
        pairs = pc.fill_null(pc.and_(counts, pc.less(one, other)), False)
        first.append(one.filter(pairs))
        second.append(other.filter(pairs))
    return narrow(pa.concat_arrays(first), pa.Int64Array), narrow(pa.concat_arrays(second), pa.Int64Array)


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
    shared = ordering.repeats(batch)
    if not shared.true_count:
        return batch
    places = pc.cast(pc.indices_nonzero(shared), _LONG)
    some = batch.take(places)
    names = [name for name in some.schema.names if name == "op" or (name[-1:].isdigit() and name[0] in "bahuko")]
    position = row_codes([*ordering.position_columns(some), *([ordering.logs(some)[0]] if ordering.apart else [])])
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
    order = _sort_order(left, every)
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
    order = _sort_order(codes, every)
    seen = pc.less(order, len(own))
    nothing = pa.scalar(None, _LONG)
    last, code = (pc.fill_null_forward(pc.if_else(seen, each.take(order), nothing)) for each in (every, codes))
    found = pc.fill_null(pc.if_else(pc.equal(code, codes.take(order)), last, nothing), -1)
    return found.take(pc.sort_indices(order)).slice(len(own))


def _sort_order(*keys: pa.Array[Any]) -> pa.Int64Array:
    names = [f"s{place}" for place in range(len(keys))]
    return pc.cast(pc.sort_indices(pa.table([*keys], names), sort_keys=[(name, "ascending") for name in names]), _LONG)


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
