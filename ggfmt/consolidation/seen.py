"""What the operations of a table are like, as it is seen while they are staged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import as_strings, counts_by_value, narrow, non_null_values
from ggfmt.consolidation.positions import PositionKind, common_kind, kind_of
from ggfmt.frames.shapes import AFTER, BEFORE, MISSING


@dataclass
class Positions:
    """The kind that positions are of which came so far; `orders` is False once they do not order operations."""

    kind: PositionKind | None = None
    family: str = ""
    orders: bool = True

    def add(self, positions: pa.StringArray) -> None:
        if not self.orders or not len(positions):
            return
        if positions.null_count:
            self.orders = False
            return
        own = self.kind
        kind = own if own is not None and own.fits_all(positions) else kind_of(lambda kind: kind.fits_all(positions))
        families = () if kind is None else kind.families(positions)
        self.then(Positions(kind, families[0] if families else "", len(families) == 1))

    def then(self, other: Positions) -> None:
        """Takes positions into account that come later in the input."""
        if other.orders and other.kind is None:
            return
        if self.orders and self.kind is None:
            self.kind, self.family, self.orders = other.kind, other.family, other.orders
            return
        kind = common_kind([self.kind, other.kind])
        self.orders &= other.orders and kind is not None and self.family == other.family
        self.kind = kind


@dataclass
class Seen:
    """What the operations of a table are like.

    operations        by type
    partial           an update does not have all columns in its after image
    before            and its before image has others
    moves             an update changes the key
    truncates         the `seq` of each truncate
    without_position  how many operations have none; `without_time` alike
    without_key       how many do not tell a column of their key
    first_time, last_time          the earliest and the latest
    first_position, last_position  as they come in the input
    ordering          which kind of positions orders them
    """

    operations: Counter[str] = field(default_factory=Counter)
    partial: bool = False
    before: bool = False
    moves: bool = False
    truncates: list[int] = field(default_factory=list)
    without_position: int = 0
    without_time: int = 0
    without_key: int = 0
    first_time: datetime | None = None
    last_time: datetime | None = None
    first_position: str | None = None
    last_position: str | None = None
    ordering: Positions = field(default_factory=Positions)

    def add(self, batch: pa.RecordBatch, key: Sequence[str]) -> None:
        """Takes the operations of a batch of the staged shape into account, which come after those so far."""
        ops, times, positions = batch["op_type"], batch["op_ts"], as_strings(batch["position"])
        found = Seen(
            Counter(counts_by_value(ops)),
            without_position=positions.null_count,
            without_time=times.null_count,
        )
        found.without_key = _without_key(batch, key)
        updates = pc.equal(ops, "U")
        if found.operations["U"]:
            partial = pc.and_(updates, pc.or_(batch[AFTER].is_null(), batch[MISSING[AFTER]].is_valid()))
            found.partial = partial.true_count > 0
            found.before = not self.before and found.partial and _before_tells_more(batch, partial)
            found.moves = not self.moves and any(_moves(batch, updates, name) for name in key)
        if found.operations["T"]:
            found.truncates = non_null_values(batch["seq"].filter(pc.equal(ops, "T")))
        if times.null_count < len(times):
            ends = pc.min_max(times)
            found.first_time, found.last_time = ends["min"].as_py(), ends["max"].as_py()
        if positions.null_count < len(positions):
            there = positions.drop_null()
            found.first_position, found.last_position = there[0].as_py(), there[-1].as_py()
        self.ordering.add(positions)
        self._counts(found)

    def then(self, other: Seen) -> None:
        """Takes operations into account that come later in the input."""
        self.ordering.then(other.ordering)
        self._counts(other)

    def _counts(self, other: Seen) -> None:
        self.operations.update(other.operations)
        self.partial |= other.partial
        self.before |= other.before
        self.moves |= other.moves
        self.truncates += other.truncates
        self.without_position += other.without_position
        self.without_time += other.without_time
        self.without_key += other.without_key
        firsts = [time for time in (self.first_time, other.first_time) if time is not None]
        lasts = [time for time in (self.last_time, other.last_time) if time is not None]
        self.first_time, self.last_time = min(firsts, default=None), max(lasts, default=None)
        if self.first_position is None:
            self.first_position = other.first_position
        if other.last_position is not None:
            self.last_position = other.last_position


def _before_tells_more(batch: pa.RecordBatch, partial: pa.BooleanArray) -> bool:
    """Whether a before image has columns that the after image of its update lacks."""
    rows = pc.indices_nonzero(pc.and_(partial, batch[BEFORE].is_valid()))
    lacking = (batch[MISSING[image]].take(rows).to_pylist() for image in (BEFORE, AFTER))
    return any(not set(after or ()) <= set(before or ()) for before, after in zip(*lacking, strict=True))


def _moves(batch: pa.RecordBatch, updates: pa.BooleanArray, name: str) -> bool:
    """Whether both images of an update have a column, and not the same in it."""
    before, after = (narrow(batch[image], pa.StructArray) for image in (BEFORE, AFTER))
    old, new = (pc.struct_field(image, [name]) for image in (before, after))
    differs = pc.if_else(
        pc.and_(old.is_valid(), new.is_valid()), pc.not_equal(old, new), pc.xor(old.is_valid(), new.is_valid())
    )
    there = pc.and_(before.is_valid(), after.is_valid())
    rows = pc.indices_nonzero(pc.and_(pc.and_(updates, there), differs))
    if not len(rows):
        return False
    lacking = zip(*(batch[MISSING[image]].take(rows).to_pylist() for image in (BEFORE, AFTER)), strict=True)
    return any(name not in (one or ()) and name not in (other or ()) for one, other in lacking)


def _without_key(batch: pa.RecordBatch, key: Sequence[str]) -> int:
    """How many operations, truncates aside, lack a column of the key: an insert in its after image, a delete in that
    before, an update in both."""
    told = {image: _tell(batch, image, key) for image in (BEFORE, AFTER)}
    ops = batch["op_type"]
    lacking = None
    for name in key:
        before, after = told[BEFORE][name], told[AFTER][name]
        tells = pc.case_when(
            pc.make_struct(pc.equal(ops, "I"), pc.equal(ops, "D"), pc.equal(ops, "U")),
            after,
            before,
            pc.or_(before, after),
            pa.scalar(True),
        )
        lacks = pc.invert(tells)
        lacking = lacks if lacking is None else pc.or_(lacking, lacks)
    return 0 if lacking is None else int(lacking.true_count)


def _tell(batch: pa.RecordBatch, image: str, names: Sequence[str]) -> dict[str, pa.BooleanArray]:
    """For each of some columns, which operations have it in an image."""
    exists, missing = batch[image].is_valid(), narrow(batch[MISSING[image]], pa.ListArray)
    told = dict.fromkeys(names, exists)
    if missing.null_count < len(missing):
        rows, lacking = pc.list_parent_indices(missing), pc.list_flatten(missing)
        every = pa.array(range(len(batch)), rows.type)
        for name in names:
            without = rows.filter(pc.equal(lacking, name))
            if len(without):
                told[name] = pc.and_not(exists, pc.is_in(every, value_set=without))
    return told
