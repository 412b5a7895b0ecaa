"""The answer to a query, for the operations of some rows of a table: the rows, and what is unresolved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import concatenated, counts_by_value, int64_view, narrow, non_null_values, nulls, numbered
from ggfmt.columnar.hashes import row_codes
from ggfmt.columnar.typed import as_text
from ggfmt.dataclasses import dataclass, replace
from ggfmt.frames.column_types import TEXT
from ggfmt.rowfiles.spill import filtered
from ggfmt.rows.evidence import EvidenceFinder, last_operations
from ggfmt.rows.fold import COLLISION, NO_KEY, OVERTAKEN, UNFIT, Fold, RowStates
from ggfmt.rows.identities import Identities, IdentityFinder
from ggfmt.rows.kept import end_of, select_kept, select_whole, tagged_alone
from ggfmt.rows.key_updates import NO_KEYS, FollowedKeys, KeyOrder, Mask, followed_keys, keys_of_two_rows, pairs_in
from ggfmt.rows.keyless import keyless_rows
from ggfmt.rows.last_images import last_images
from ggfmt.rows.net_changes import NetChanges, RowSet
from ggfmt.rows.operations import BASE_SEQ, INSERT, OPS, TRUNCATE, any_of, staged_schema, truncate_operations
from ggfmt.rows.ordering import without_repeated
from ggfmt.rows.query import CURRENT, DELETED, MOVED_FROM, OP, STATE, UNRESOLVED, VALIDITY
from ggfmt.rows.results import (
    REASON,
    FreeKeys,
    RowCounts,
    Selection,
    TableQuery,
    UnitAnswer,
    check_order,
    last_of,
    last_places,
    places_of,
    typed_columns,
)

_LONG = pa.int64()
_NO_LONG = pa.scalar(None, _LONG)
ALL_KEYS = FollowedKeys(NO_KEYS)
MIN_LARGE = 100_000  # operations for which memory is worth the time to give it back


def answers(
    query: TableQuery, batches: Iterable[pa.RecordBatch], linked: bool = False, own: Mask | None = None
) -> Iterator[UnitAnswer]:
    """Yield the answers for the rows of some operations.

    batches  all operations of these rows, with rows of the base as inserts, in any order
    linked   operations change keys, and all operations of the keys that they connect are there. Each row is then
             followed by its images; so are those of a key at which two rows are within a transaction
    own      by the hashes of keys, which operations count; None: all

    Raises: Abend GG530 for a value of a result that does not fit its type.
    """
    every = list(batches)
    if linked and (query.keeps or not every):  # a later run may show that a key had two rows
        yield _Unit(query, every, ALL_KEYS).answer()
        return
    by_key = KeyOrder.of_batches(every, query.table, query.ordering, own) if query.table.key else None
    if linked:
        followed = followed_keys(every, query.table, query.ordering)
    else:
        followed = FollowedKeys(NO_KEYS if by_key is None else keys_of_two_rows(by_key))
    apart = followed.hashes
    if len(apart):
        some = [batch.filter(pc.is_in(batch["hash"], value_set=apart)) for batch in every]
        yield _Unit(query, some, followed).answer()
    rows = None if by_key is None else last_images(query, every, by_key.without(apart))
    if rows is None:
        if own is not None:
            every = [filtered(batch, own(batch["hash"])) for batch in every]
        yield _Unit(query, [_without_keys(batch, apart) for batch in every], None).answer()
    else:
        assert by_key is not None
        kept = select_whole(query, every, _without_keys(by_key.heads, apart)) if query.keeps else None
        yield replace(rows, kept=kept)


def _without_keys(batch: pa.RecordBatch, keys: pa.UInt64Array) -> pa.RecordBatch:
    return batch.filter(pc.invert(pc.is_in(batch["hash"], value_set=keys))) if len(keys) else batch


class _Unit:
    """Operations of some rows. `followed`: how their rows are followed; None: each row has one key."""

    def __init__(self, query: TableQuery, batches: Iterable[pa.RecordBatch], followed: FollowedKeys | None) -> None:
        self._query, self._table, self._followed = query, query.table, followed
        self._schema = staged_schema(self._table)
        truncates = truncate_operations(query.truncates, self._schema)
        every = query.ordering.sort(concatenated([*batches, truncates], self._schema))
        if followed is not None and len(every) >= MIN_LARGE:  # what follows takes much; what was read left some
            pa.default_memory_pool().release_unused()
        self._last_places = last_places(query, every)
        self._every = without_repeated(every, query.ordering, bool(self._table.key))
        check_order(query, self._every)
        self._unresolved: list[tuple[str, pa.RecordBatch]] = []
        self._collisions = 0
        self._doubted: set[int] = set()  # rows that are unresolved
        self._unfit: Counter[str] = Counter()
        self._freed = NO_KEYS

    def answer(self) -> UnitAnswer:
        query = self._query.query
        batch = self._every
        if query.as_of is not None:
            batch = batch.filter(self._query.ordering.up_to(batch, query.as_of))
        if not self._table.key:
            rows, counts, unresolved, kept = keyless_rows(self._query, batch)
            counts.last_places = self._last_places
            self._unresolved += unresolved
            return UnitAnswer(rows, counts, self._listed(), kept if self._query.keeps else None)
        state = self._state(batch)
        if query.kind == "current":
            rows, counts = self._current(state)
        elif query.kind == "history":
            rows, counts = self._history(state)
        else:
            rows, counts = self._changes(state, batch)
        if query.kind != "current":
            self._current_states(state)
        counts.states[UNRESOLVED] += len(state.unkeyed)
        counts.unfit.update(self._unfit)
        counts.last_places = self._last_places
        self._add_evidence(counts, state)
        kept = self._kept(state) if self._query.keeps else None
        return UnitAnswer(rows, counts, self._listed(), kept, self._free_keys(state))

    def _add_evidence(self, counts: RowCounts, state: _PointInTime) -> None:
        fold, found = state.fold, state.identities
        replaced = None
        if found is not None:
            # Each insert that is no half of a key update begins another row.
            inserts = set(non_null_values(places_of(pc.equal(fold.batch["op"], INSERT)))) - found.halves.keys()
            ended = {row: operation for row, operation in found.ended.items() if operation in inserts}
            replaced = last_operations(fold.order, fold.groups.take(fold.order), ended)
            counts.timed += pc.and_not(fold.batch["tx"].is_null(), pc.less(fold.batch["seq"], 0)).true_count
        complete = pc.greater_equal(fold.epochs_in_order, 0 if self._query.complete else 1)
        EvidenceFinder(self._query, [fold.batch], fold.order, fold.starts).add_to(counts, complete, replaced)

    def _free_keys(self, state: _PointInTime) -> FreeKeys | None:
        if not self._query.finds_free_keys:
            return None
        fold, now = state.fold, self._freed
        if self._followed is None:
            gone = places_of(pc.and_(fold.lasts, fold.is_delete))
            now = narrow(fold.batch["hash"].take(fold.order.take(gone)), pa.UInt64Array)
        return self._query.free_keys(now, [fold.batch["hash"], fold.batch["old_hash"]])

    def _kept(self, state: _PointInTime) -> Selection | None:
        fold = state.fold
        lasting = pc.equal(fold.epochs, state.last_epoch)
        codes = self._codes(fold.batch) if self._followed is not None else None
        found = select_kept(self._query, fold, lasting, self._doubted, state.identities, codes)
        if not len(state.unkeyed):
            return found
        lost = tagged_alone(state.unkeyed)
        if found is None:
            return Selection(lost, lost.slice(0, 0), end_of(state.unkeyed.slice(len(lost) - 1)))
        return replace(found, doubted=concatenated([found.doubted, lost], found.doubted.schema))

    # Rows with a key

    def _state(self, batch: pa.RecordBatch) -> _PointInTime:
        ops = batch["op"]
        truncates = pc.equal(ops, TRUNCATE)
        keyed = pc.or_(truncates, narrow(batch["keyed"], pa.BooleanArray))
        epochs: pa.Int64Array = pc.cumulative_sum(pc.cast(truncates, _LONG))
        unkeyed = batch.slice(0, 0)
        if keyed.true_count < len(keyed):
            unkeyed = batch.filter(pc.and_(pc.invert(keyed), pc.equal(epochs, last_of(epochs))))
            batch, truncates, epochs = batch.filter(keyed), truncates.filter(keyed), epochs.filter(keyed)
        cuts = batch.filter(truncates)
        if len(cuts):
            batch, epochs = filtered(batch, pc.invert(truncates)), epochs.filter(pc.invert(truncates))
        identities: Identities | None = None
        if self._followed is None:
            groups = row_codes([batch[f"k{j}"] for j in range(len(self._table.key))])
        else:
            identities = self._identities(batch, epochs, len(cuts), self._followed.halves)
            groups = pa.array(identities.groups, _LONG)
        return _PointInTime(Fold(batch, self._table, epochs, groups, identities), identities, len(cuts), cuts, unkeyed)

    def _identities(
        self, batch: pa.RecordBatch, epochs: pa.Int64Array, last_epoch: int, halves_of: pa.Int64Array | None
    ) -> Identities:
        query, (new, old) = self._query, self._codes(batch)
        pairs = pairs_in(batch)
        pairs = pairs.filter(pc.equal(epochs.take(pairs), epochs.take(pc.add(pairs, 1))))
        if halves_of is not None:
            pairs = pairs.filter(pc.is_in(batch["seq"].take(pc.add(pairs, 1)), value_set=halves_of))
        halves = {place + 1: place for place in non_null_values(pairs)}
        keys = int64_view(old), int64_view(new)
        free = self._free_codes(batch, new, old)
        finder = IdentityFinder(batch, self._table, *keys, halves, query.complete, free, query.kept_columns)
        found = finder.find(int64_view(epochs), last_epoch)
        if query.finds_free_keys:
            self._freed = _hashes_of(found.free, batch, new, old)
        return found

    def _codes(self, batch: pa.RecordBatch) -> tuple[pa.Int64Array, pa.Int64Array]:
        """Return the codes of the keys after operations and before them."""
        count = len(batch)
        codes = row_codes([pa.concat_arrays([batch[f"k{j}"], batch[f"o{j}"]]) for j in range(len(self._table.key))])
        return codes.slice(0, count), codes.slice(count)

    def _free_codes(self, batch: pa.RecordBatch, new: pa.Int64Array, old: pa.Int64Array) -> set[int]:
        found: set[int] = set()
        if self._query.free is not None:
            for hashes, codes in ((batch["hash"], new), (batch["old_hash"], old)):
                found.update(non_null_values(codes.filter(pc.is_in(hashes, value_set=self._query.free))))
        return found

    def _current_states(self, state: _PointInTime) -> RowStates:
        """Return the rows at the end, and note the operations of those that are unresolved."""
        fold, query = state.fold, self._query
        wanted = pc.and_(fold.lasts, pc.equal(fold.epochs_in_order, state.last_epoch))
        places = self._with_key(state, places_of(pc.and_not(wanted, fold.is_delete)))
        columns = query.table.epochs[query.epoch].columns
        states = self._fitting(fold, fold.states(places, columns, query.epoch), columns)
        self._list_unresolved(state, places, states)
        self._list_collided(state, places.filter(states.reasons.is_valid()))
        return states

    def _current(self, state: _PointInTime) -> tuple[pa.RecordBatch, RowCounts]:
        fold, query = state.fold, self._query
        states = self._current_states(state)
        counts = self._counts(fold, states, query.columns)
        marks = {MOVED_FROM: self._moved_from(state, states)} if query.query.traces else {}
        parts = [self._rows(fold, states, self._state_of(states), marks)]
        if DELETED in query.query.keep:
            # The delete of a key update is not the last operation of its row.
            wanted = pc.and_(fold.is_deleting, pc.equal(fold.epochs_in_order, state.last_epoch))
            wanted = pc.and_(wanted, fold.lasts) if state.identities is None else wanted
            gone = self._deleted_places(state, places_of(wanted))
            deleted = fold.states(gone, query.columns, query.epoch, deleted=True)
            deleted = replace(deleted, reasons=pa.nulls(len(gone), TEXT))
            counts.states[DELETED] += len(gone)
            parts.append(self._rows(fold, deleted, pa.repeat(pa.scalar(DELETED, TEXT), len(gone))))
        if UNRESOLVED in query.query.keep and state.overtaken_places is not None:
            overtaken = fold.states(state.overtaken_places, query.columns, query.epoch)
            count = len(state.overtaken_places)
            parts.append(self._rows(fold, overtaken, pa.repeat(pa.scalar(UNRESOLVED, TEXT), count)))
        counts.states[UNRESOLVED] += self._collisions
        counts.states[UNRESOLVED] += 0 if state.overtaken_places is None else len(state.overtaken_places)
        return concatenated(parts, query.schema), counts

    def _moved_from(self, state: _PointInTime, states: RowStates) -> pa.Array[Any]:
        """Return the keys that rows had before this run as lists of texts; null where they have the same or none."""
        type, count = self._query.schema.field(MOVED_FROM).type, len(states.places)
        if state.identities is None:
            return nulls(count, type)
        batch, before = state.fold.batch, state.fold.earlier_operations(states.places)
        keys = [(batch[f"k{j}"].take(before), batch[f"k{j}"].take(states.places)) for j in range(len(self._table.key))]
        moved = pc.fill_null(any_of([pc.not_equal(*both) for both in keys], count), False)
        texts = [as_text(pc.if_else(moved, old, nulls(count, old.type))).to_pylist() for old, _ in keys]
        found: pa.Array[Any] = pa.array([None if key[0] is None else key for key in zip(*texts, strict=True)], type)
        return found

    def _with_key(self, state: _PointInTime, places: pa.Int64Array) -> pa.Int64Array:
        """Return the places of rows that still have their key, and note the operations of the others."""
        found = state.identities
        if found is None or not found.ended:
            return places
        rows = state.fold.groups_at(places)
        overtaken = pc.is_in(rows, value_set=pa.array(sorted(found.overtaken), _LONG))
        if overtaken.true_count:
            state.overtaken_places = places.filter(overtaken)
            self._list(OVERTAKEN, state, state.overtaken_places)
        return _not_ended(state, places)

    def _deleted_places(self, state: _PointInTime, places: pa.Int64Array) -> pa.Int64Array:
        """Return where rows were deleted at keys that no row has now, the last of each key."""
        if state.identities is None:
            return places
        fold = state.fold
        new, old = self._codes(fold.batch)
        codes = non_null_values(new)
        last: dict[int, tuple[int, int]] = {}
        for place, operation in zip(non_null_values(places), non_null_values(fold.order.take(places)), strict=True):
            code = codes[operation]
            if code not in last or operation > last[code][1]:
                last[code] = place, operation
        latest: dict[int, int] = {}
        for operation, both in enumerate(zip(non_null_values(old), codes, strict=True)):
            latest.update(dict.fromkeys(both, operation))
        return pa.array(sorted(place for code, (place, operation) in last.items() if latest[code] == operation), _LONG)

    def _list_unresolved(self, state: _PointInTime, places: pa.Int64Array, states: RowStates) -> None:
        for reason in counts_by_value(states.reasons.drop_null()):
            self._list(str(reason), state, places.filter(pc.fill_null(pc.equal(states.reasons, reason), False)))
        if len(state.unkeyed):
            self._unresolved.append((NO_KEY, state.unkeyed))

    def _list_collided(self, state: _PointInTime, unresolved: pa.Int64Array) -> None:
        found, fold = state.identities, state.fold
        if found is None or not found.collided:
            return
        known = set(non_null_values(fold.groups_at(unresolved)))
        for row, operation in found.collided:
            if row not in known:
                self._collisions += 1
                self._doubted.add(row)
                own = pc.equal(fold.groups.slice(0, operation + 1), row)
                self._unresolved.append((COLLISION, fold.batch.slice(0, operation + 1).filter(own)))

    def _list(self, reason: str, state: _PointInTime, places: pa.Int64Array) -> None:
        self._doubted.update(non_null_values(state.fold.groups_at(places)))
        operations = state.fold.operations_of(places)
        if len(operations):
            self._unresolved.append((reason, operations))

    def _listed(self) -> pa.RecordBatch:
        schema = self._schema.append(pa.field(REASON, TEXT))
        parts = []
        for reason, batch in self._unresolved:
            batch = batch.filter(pc.not_equal(batch["seq"], BASE_SEQ))
            reasons = pa.repeat(pa.scalar(reason, TEXT), len(batch))
            parts.append(pa.RecordBatch.from_arrays([*batch.columns, reasons], schema=schema))
        self._unresolved = []
        return concatenated(parts, schema)

    def _history(self, state: _PointInTime) -> tuple[pa.RecordBatch, RowCounts]:
        fold, query = state.fold, self._query
        places = places_of(pc.invert(fold.is_deleting))
        ends, holding = self._ends(state, places)
        states = self._fitting(fold, fold.states(places, query.columns, None, holding=holding), query.columns)
        at = fold.order.take(places)
        batch = fold.batch
        base = pc.equal(batch["seq"].take(at), BASE_SEQ)
        validity = batch["position"].take(at), batch["ts"].take(at), ends["position"], ends["ts"]
        marks = dict(zip(VALIDITY, validity, strict=True))
        marks[OP] = pc.if_else(base, "I", OPS.take(batch["op"].take(at)))
        counts = self._counts(fold, states, query.columns)
        return self._rows(fold, states, self._state_of(states), marks), counts

    def _ends(self, state: _PointInTime, places: pa.Int64Array) -> tuple[dict[str, pa.Array[Any]], pa.BooleanArray]:
        """Return the position and the time of the operation that ends each version, and which versions still hold."""
        fold = state.fold
        following = pc.if_else(pc.invert(fold.lasts.take(places)), pc.add(places, 1), _NO_LONG)
        operation = fold.order.take(following)
        found = state.identities
        if found is not None and found.ended:
            rows = fold.groups_at(places)
            known = sorted(found.ended)
            by_row = pa.array([found.ended[row] for row in known], _LONG).take(
                pc.index_in(rows, value_set=pa.array(known, _LONG))
            )
            operation = pc.coalesce(operation, by_row)
        batch = fold.batch
        holding = operation.is_null()
        ends: dict[str, pa.Array[Any]] = {name: batch[name].take(operation) for name in ("position", "ts")}
        if len(state.cuts):  # a truncate ends the versions that nothing has ended
            epoch = fold.epochs_in_order.take(places)
            cut = pc.if_else(pc.less(epoch, len(state.cuts)), epoch, _NO_LONG)
            cut = pc.if_else(operation.is_valid(), _NO_LONG, cut)
            holding = pc.and_(holding, cut.is_null())
            for name in ends:
                at_cut = state.cuts[name].take(cut)
                ends[name] = pc.if_else(cut.is_valid(), at_cut, ends[name])
        return ends, holding

    def _changes(self, state: _PointInTime, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, RowCounts]:
        query = self._query
        since = query.query.since
        base = pc.equal(batch["seq"], BASE_SEQ)
        early = base if since is None else query.ordering.up_to(batch, since)
        earlier = self._row_set(self._state(batch.filter(early)))
        keyed = pc.and_(pc.not_equal(batch["op"], TRUNCATE), narrow(batch["keyed"], pa.BooleanArray))
        return NetChanges(query, earlier, self._row_set(state), batch, early, keyed).answer()

    def _row_set(self, state: _PointInTime) -> RowSet:
        fold, query = state.fold, self._query
        wanted = pc.and_(fold.lasts, pc.equal(fold.epochs_in_order, state.last_epoch))
        places = _not_ended(state, places_of(pc.and_not(wanted, fold.is_delete)))
        return RowSet(fold, self._fitting(fold, fold.states(places, query.columns, query.epoch), query.columns))

    # Results

    def _fitting(self, fold: Fold, states: RowStates, columns: Sequence[str]) -> RowStates:
        """Return rows of which those with a value that its type does not have are unresolved, if it is asked for."""
        if self._query.query.on_unfit != "unresolved":
            return states
        rows = typed_columns(self._query, fold, states, columns).rows
        if not rows:
            return states
        unfit = pc.is_in(numbered(len(states.places)), value_set=pa.array(rows, _LONG))
        known = pc.if_else(unfit, pa.scalar(UNFIT, TEXT), pa.scalar(None, TEXT))
        return replace(states, reasons=pc.coalesce(states.reasons, known))

    def _state_of(self, states: RowStates) -> pa.StringArray:
        return pc.if_else(states.reasons.is_null(), pa.scalar(CURRENT, TEXT), pa.scalar(UNRESOLVED, TEXT))

    def _counts(self, fold: Fold, states: RowStates, columns: Sequence[str]) -> RowCounts:
        certain = states.reasons.is_null()
        counts = RowCounts(Counter({CURRENT: certain.true_count, UNRESOLVED: len(certain) - certain.true_count}))
        seqs = fold.batch["seq"].take(states.places)
        for name, unset in zip(columns, states.unset, strict=True):
            lacking = pc.and_(unset, certain)
            if lacking.true_count:
                arrival = self._table.arrivals(name)[self._query.epoch]
                first = self._table.epochs[0].start
                # A base has all columns that the table had then.
                late = pc.less(seqs, arrival) if arrival not in (None, first) else pc.equal(seqs, BASE_SEQ)
                if name not in self._query.kept_columns:
                    late = pc.or_(late, pc.less(seqs, 0))
                added = pc.and_(lacking, late).true_count
                counts.added[name] += added
                counts.defaults[name] += lacking.true_count - added
        counts.defaults, counts.added = +counts.defaults, +counts.added
        return counts

    def _rows(
        self, fold: Fold, states: RowStates, state: pa.StringArray, marks: Mapping[str, pa.Array[Any]] | None = None
    ) -> pa.RecordBatch:
        query = self._query
        kept = pc.is_in(state, value_set=pa.array(sorted(query.query.states), TEXT))
        if kept.true_count < len(kept):
            rows = places_of(kept)
            states, state = states.take(rows), state.take(rows)
            marks = {name: column.take(rows) for name, column in (marks or {}).items()}
        typed = typed_columns(query, fold, states, query.columns)
        self._unfit.update(typed.counts)
        extra = {MOVED_FROM: nulls(len(states.places), pa.list_(TEXT)), **(marks or {}), STATE: state}
        arrays = [*typed.columns, *(extra[name] for name in query.query.metadata_columns)]
        return pa.RecordBatch.from_arrays(arrays, schema=query.schema)


@dataclass
class _PointInTime:
    """Operations up to a point in time, and the rows that they are of."""

    fold: Fold
    identities: Identities | None
    last_epoch: int  # the number of truncates, which `cuts` has in order
    cuts: pa.RecordBatch
    unkeyed: pa.RecordBatch  # operations after the last truncate that do not show their key
    overtaken_places: pa.Int64Array | None = None


def _not_ended(state: _PointInTime, places: pa.Int64Array) -> pa.Int64Array:
    found = state.identities
    if found is None or not found.ended:
        return places
    ended = pc.is_in(state.fold.groups_at(places), value_set=pa.array(sorted(found.ended), _LONG))
    return places.filter(pc.invert(ended))


def _hashes_of(keys: Collection[int], batch: pa.RecordBatch, new: pa.Int64Array, old: pa.Int64Array) -> pa.UInt64Array:
    wanted = pa.array(sorted(keys), _LONG)
    parts = [
        hashes.filter(pc.is_in(codes, value_set=wanted))
        for hashes, codes in ((batch["hash"], new), (batch["old_hash"], old))
    ]
    return narrow(pc.unique(pa.concat_arrays(parts).drop_null()), pa.UInt64Array)
