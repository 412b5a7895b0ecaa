"""The changes between two points in time: one insert, update or delete for each key."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import combined, counts_by_value, narrow, numbered
from ggfmt.columnar.hashes import row_codes
from ggfmt.columnar.images import differ
from ggfmt.dataclasses import dataclass
from ggfmt.frames.column_types import TEXT
from ggfmt.rows.fold import Fold, RowStates
from ggfmt.rows.operations import INSERT, TRUNCATE
from ggfmt.rows.query import CURRENT, OP, STATE, UNRESOLVED
from ggfmt.rows.results import RowCounts, TableQuery, places_of, shown_key, typed_columns

_LONG, _BYTE = pa.int64(), pa.int8()


@dataclass(frozen=True)
class RowSet:
    fold: Fold
    states: RowStates


@dataclass(frozen=True)
class NetChanges:
    """The changes from earlier rows to later ones, one for each key."""

    query: TableQuery
    earlier: RowSet
    later: RowSet
    # all operations, of which those that count for the earlier rows are `early`, and those with a key are `keyed`
    batch: pa.RecordBatch
    early: pa.BooleanArray
    keyed: pa.BooleanArray

    def answer(self) -> tuple[pa.RecordBatch, RowCounts]:
        key = self.query.table.key
        batch, rows = self.batch, len(self.batch)
        before, after = self.earlier.states, self.later.states
        of_before = self.earlier.fold.batch.take(before.places)
        of_after = self.later.fold.batch.take(after.places)
        columns = [
            pa.concat_arrays([batch[f"k{j}"], batch[f"o{j}"], of_before[f"k{j}"], of_after[f"k{j}"]])
            for j in range(len(key))
        ]
        codes = row_codes(columns)
        keys = (pc.max(codes).as_py() + 1) if len(codes) else 0
        every = numbered(keys)
        at_before = pc.cast(pc.index_in(every, value_set=codes.slice(2 * rows, len(before.places))), _LONG)
        at_after = pc.cast(pc.index_in(every, value_set=codes.slice(2 * rows + len(before.places))), _LONG)
        was_there, touched = self._first_words(codes.slice(0, rows), codes.slice(rows, rows), keys)
        was = pc.or_(at_before.is_valid(), was_there)
        now = at_after.is_valid()
        differs = self._differ(before, after, at_before, at_after)
        certain = pc.fill_null(before.reasons.is_null().take(at_before), False)
        doubtful = pc.fill_null(after.reasons.is_valid().take(at_after), False)
        changed = pc.or_(differs, pc.or_(pc.invert(certain), doubtful))
        op = pc.if_else(pc.and_(pc.and_(was, now), changed), pa.scalar("U", TEXT), pa.scalar(None, TEXT))
        op = pc.if_else(pc.and_not(was, now), pa.scalar("D", TEXT), op)
        op = pc.if_else(pc.and_not(now, was), pa.scalar("I", TEXT), op)
        op = pc.if_else(pc.or_(touched, at_before.is_valid()), op, pa.scalar(None, TEXT))
        wanted = places_of(op.is_valid())
        op = op.take(wanted)
        gone = pc.equal(op, "D")
        state = pc.if_else(pc.and_not(doubtful.take(wanted), gone), UNRESOLVED, CURRENT)
        names = self.query.columns
        earlier = typed_columns(self.query, self.earlier.fold, before, names)
        later = typed_columns(self.query, self.later.fold, after, names)
        arrays: list[pa.Array[Any]] = []
        counts = RowCounts()
        first = pc.cast(pc.index_in(every, value_set=codes), _LONG).take(wanted)  # a place where each key is shown
        of_old, of_new = at_before.take(wanted), at_after.take(wanted)
        for name, old, new in zip(names, earlier.columns, later.columns, strict=True):
            if name in key:
                arrays.append(shown_key(self.query, name, columns[key.index(name)].take(first)))
                continue
            arrays.append(pc.if_else(gone, old.take(of_old), new.take(of_new)))
            was_unfit, is_unfit = (
                pc.is_in(places, value_set=pa.array(typed.unfit.get(name, []), _LONG))
                for places, typed in ((of_old, earlier), (of_new, later))
            )
            counts.unfit[name] += pc.if_else(gone, was_unfit, is_unfit).true_count
        marks = {OP: op, STATE: state}
        kept = pc.is_in(state, value_set=pa.array(sorted(self.query.query.states), TEXT))
        arrays += [marks[name] for name in self.query.query.metadata_columns]
        result = pa.RecordBatch.from_arrays(arrays, schema=self.query.schema).filter(kept)
        counts.unfit = +counts.unfit
        for name, number in counts_by_value(state).items():
            counts.states[str(name)] += number
        return result, counts

    def _first_words(
        self, new: pa.Int64Array, old: pa.Int64Array, keys: int
    ) -> tuple[pa.BooleanArray, pa.BooleanArray]:
        """Return by key whether its first later operation shows a row that no earlier one has, and if there is one."""
        batch = self.batch
        moves = narrow(batch["moves"], pa.BooleanArray)
        truncates: pa.Int64Array = pc.cumulative_sum(pc.cast(pc.equal(batch["op"], TRUNCATE), _LONG))
        unseen = pc.equal(truncates, 0)
        was = pc.and_(pc.and_not(pc.not_equal(batch["op"], INSERT), moves), unseen)
        number = numbered(len(batch))
        early = pc.cast(self.early, _BYTE)  # Arrow aggregates numbers
        at_new = {"key": new, "number": number, "was": pc.cast(was, _BYTE), "early": early}
        at_old = {"key": old, "number": number, "was": pc.cast(unseen, _BYTE), "early": early}
        moving = pc.and_(self.keyed, moves)
        rows = pa.concat_tables([pa.table(at_new).filter(self.keyed), pa.table(at_old).filter(moving)])
        rows = rows.take(pc.sort_indices(rows, sort_keys=[("key", "ascending"), ("number", "ascending")]))
        groups = rows.group_by("key", use_threads=False)
        found = groups.aggregate([("was", "first"), ("early", "max"), ("early", "min")])
        at = pc.index_in(numbered(keys), value_set=found["key"])
        taken = {
            name: pc.fill_null(pc.equal(combined(found[name]), 1).take(at), False)
            for name in ("was_first", "early_max", "early_min")
        }
        known = pc.and_not(taken["was_first"], taken["early_max"])
        seen = pc.and_not(at.is_valid(), taken["early_min"])
        return pc.and_(known, seen), seen

    def _differ(
        self, before: RowStates, after: RowStates, at_before: pa.Int64Array, at_after: pa.Int64Array
    ) -> pa.BooleanArray:
        names = self.query.columns
        old = self.earlier.fold.values(before, names)
        new = self.later.fold.values(after, names)
        found: pa.BooleanArray = pa.repeat(pa.scalar(False), len(at_before))
        for one, other in zip(old, new, strict=True):
            found = pc.or_(found, differ(one.take(at_before), other.take(at_after)))
        return found
