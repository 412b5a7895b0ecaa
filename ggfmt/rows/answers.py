"""The answer to a query, for the operations of some rows of a table: the rows, and what is unresolved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import counts_by_value, narrow, nulls
from ggfmt.columnar.typed import typed_values
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic, Span, UsageError
from ggfmt.frames.batches import FILE_BITS
from ggfmt.frames.shapes import INSTANT, TEXT, ddl_type
from ggfmt.java.text import visible
from ggfmt.rows.fold import COLLISION, NEVER_SEEN, NO_KEY, OVERTAKEN, Fold, RowStates, key_codes
from ggfmt.rows.identities import Identities, assign_identities
from ggfmt.rows.key_updates import LinkFinder
from ggfmt.rows.operations import (
    BASE_SEQ,
    DELETE,
    INSERT,
    TRUNCATE,
    Truncate,
    concatenated,
    staged_schema,
    truncate_operations,
)
from ggfmt.rows.ordering import Ordering, without_repeated
from ggfmt.rows.query import (
    CURRENT,
    DELETED,
    OP,
    STATE,
    UNRESOLVED,
    VALID_FROM_POSITION,
    VALID_FROM_TS,
    VALID_TO_POSITION,
    VALID_TO_TS,
    RowQuery,
    query_error,
)
from ggfmt.rows.table_stats import TableStats
from ggfmt.rows.tables import RowTable

REASON = "reason"

_LONG = pa.int64()
_NO_LONG = pa.scalar(None, _LONG)
_SHOWN = 40  # maximum characters of a value in an error
_METADATA_TYPES = {
    VALID_FROM_POSITION: TEXT,
    VALID_TO_POSITION: TEXT,
    VALID_FROM_TS: INSTANT,
    VALID_TO_TS: INSTANT,
    OP: TEXT,
    STATE: TEXT,
}
_OPS = pa.array(["I", "U", "D", "T"], TEXT)


@dataclass(frozen=True)
class TableQuery:
    """A query to one table.

    epoch      the number of the epoch in force at the end: the columns of current rows and of net changes
    truncates  of all operations of the table
    files      the names of the input files, by number
    complete   a base snapshot is known
    in_pairs   the format writes an update of a key as a delete and an insert
    """

    query: RowQuery
    table: RowTable
    ordering: Ordering
    epoch: int
    truncates: tuple[Truncate, ...] = ()
    files: Sequence[str] = ()
    complete: bool = False
    in_pairs: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table in the result. A history has all that there ever were."""
        if self.query.kind == "history":
            return self.table.columns
        return self.table.epochs[self.epoch].columns

    @property
    def schema(self) -> pa.Schema:
        """The columns of the result."""
        marks = [pa.field(name, _METADATA_TYPES[name]) for name in self.query.metadata_columns]
        return pa.schema([*self.table.schema_of(self.columns), *marks])


@dataclass
class RowCounts:
    """Counts of rows by state, and by column the values of current rows that no operation set.

    defaults  the insert does not have the column: the database may have put a default there
    added     the column was added later, and no operation has set it since
    """

    states: Counter[str] = field(default_factory=Counter)
    defaults: Counter[str] = field(default_factory=Counter)
    added: Counter[str] = field(default_factory=Counter)

    def add(self, other: RowCounts) -> None:
        self.states.update(other.states)
        self.defaults.update(other.defaults)
        self.added.update(other.added)


@dataclass
class UnitAnswer:
    """The result for some rows. `unresolved`: operations in the columns of staging, with a column `reason`."""

    rows: pa.RecordBatch
    counts: RowCounts
    unresolved: pa.RecordBatch


def answer(query: TableQuery, batches: Sequence[pa.RecordBatch], linked: bool = False) -> UnitAnswer:
    """Return the answer for the rows of some operations.

    batches  all operations of these rows, with rows of the base as inserts, in any order
    linked   operations change keys, and all operations of the keys that they connect are there

    Raises: Abend GG530 for a value of a result that does not fit its type.
    """
    return _Unit(query, batches, linked).answer()


class _Unit:
    def __init__(self, query: TableQuery, batches: Sequence[pa.RecordBatch], linked: bool) -> None:
        self._query, self._table, self._linked = query, query.table, linked
        self._schema = staged_schema(self._table)
        operations = concatenated(batches, self._schema)
        truncates = truncate_operations(query.truncates, self._schema)
        every = query.ordering.sort(concatenated([operations, truncates], self._schema))
        self._every = without_repeated(every, query.ordering, None if self._table.key else FILE_BITS)
        self._unresolved: list[tuple[str, pa.RecordBatch]] = []
        self._collisions = 0

    def answer(self) -> UnitAnswer:
        query = self._query.query
        batch = self._every
        if query.as_of is not None:
            batch = batch.filter(self._query.ordering.up_to(batch, query.as_of))
        if not self._table.key:
            return self._keyless(batch)
        state = self._state(batch)
        if query.kind == "current":
            rows, counts = self._current(state)
        elif query.kind == "history":
            rows, counts = self._history(state)
        else:
            rows, counts = self._changes(state, batch)
        if query.kind != "current":
            self._current_states(state)
        return UnitAnswer(rows, counts, self._listed())

    # Rows with a key

    def _state(self, batch: pa.RecordBatch) -> _State:
        """Return the rows that operations, in order, are of."""
        ops = batch["op"]
        truncates = pc.equal(ops, TRUNCATE)
        keyed = pc.or_(truncates, narrow(batch["keyed"], pa.BooleanArray))
        epochs: pa.Int64Array = pc.cumulative_sum(pc.cast(truncates, _LONG))
        unkeyed = None
        if keyed.true_count < len(keyed):
            unkeyed = batch.filter(pc.and_(pc.invert(keyed), pc.equal(epochs, _last(epochs))))
            batch, truncates, epochs = batch.filter(keyed), truncates.filter(keyed), epochs.filter(keyed)
        cuts = batch.filter(truncates)
        identities: Identities | None = None
        if not self._linked:
            batch, epochs = _without(batch, truncates), epochs.filter(pc.invert(truncates))
            groups = key_codes([batch[f"k{j}"] for j in range(len(self._table.key))])
        else:
            new, old = self._codes(batch)
            finder = LinkFinder(self._table, self._schema, self._query.in_pairs)
            halves = {place + 1: place for place in finder.pairs_in(batch).to_pylist()}
            keys = old.to_pylist(), new.to_pylist()
            identities = assign_identities(batch, self._table, *keys, halves, self._query.complete)
            identities, rows = _without_truncates(identities, truncates)
            batch, epochs = _without(batch, truncates), epochs.filter(pc.invert(truncates))
            groups = rows
        last = len(cuts)
        fold = Fold(batch, self._table, epochs, groups, identities)
        return _State(fold, identities, last, cuts, unkeyed)

    def _codes(self, batch: pa.RecordBatch) -> tuple[pa.Int64Array, pa.Int64Array]:
        """Return the codes of the keys after operations and before them."""
        count = len(batch)
        columns = [pa.concat_arrays([batch[f"k{j}"], batch[f"o{j}"]]) for j in range(len(self._table.key))]
        codes = key_codes(columns)
        return codes.slice(0, count), codes.slice(count)

    def _current_states(self, state: _State) -> RowStates:
        """Return the rows at the end, and note the operations of those that are unresolved."""
        fold, query = state.fold, self._query
        wanted = pc.and_(fold.lasts, pc.equal(fold.epochs_in_order, state.last_epoch))
        places = self._with_key(state, _places(pc.and_not(wanted, fold.is_delete)))
        columns = query.table.epochs[query.epoch].columns
        states = fold.states(places, columns, query.epoch)
        self._list_unresolved(state, places, states)
        self._list_collided(state, places.filter(states.reasons.is_valid()))
        return states

    def _current(self, state: _State) -> tuple[pa.RecordBatch, RowCounts]:
        fold, query = state.fold, self._query
        states = self._current_states(state)
        counts = self._counts(fold, states, query.columns)
        parts = [self._rows(fold, states, self._state_of(states))]
        if DELETED in query.query.keep:
            wanted = pc.and_(fold.lasts, pc.equal(fold.epochs_in_order, state.last_epoch))
            gone = self._deleted_places(state, _places(pc.and_(wanted, fold.is_delete)))
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

    def _with_key(self, state: _State, places: pa.Int64Array) -> pa.Int64Array:
        """Return the places of rows that still have their key, and note the operations of those that another row
        overtook."""
        found = state.identities
        if found is None or not found.ended:
            return places
        rows = state.fold.groups_at(places)
        ended = pc.is_in(rows, value_set=pa.array(sorted(found.ended), _LONG))
        overtaken = pc.is_in(rows, value_set=pa.array(sorted(found.overtaken), _LONG))
        if overtaken.true_count:
            state.overtaken_places = places.filter(overtaken)
            self._list(OVERTAKEN, state, state.overtaken_places)
        return places.filter(pc.invert(ended))

    def _deleted_places(self, state: _State, places: pa.Int64Array) -> pa.Int64Array:
        """Return where rows were deleted at keys that no row has now, the last of each key."""
        if state.identities is None:
            return places
        fold = state.fold
        new, old = self._codes(fold.batch)
        in_order = new.take(fold.order)
        last: dict[int, int] = {}
        operations = fold.order.take(places).to_pylist()
        for place, code, operation in zip(
            places.to_pylist(), in_order.take(places).to_pylist(), operations, strict=True
        ):
            if code not in last or operation > last[code][1]:
                last[code] = place, operation
        latest: dict[int, int] = {}
        for operation, codes in enumerate(zip(old.to_pylist(), new.to_pylist(), strict=True)):
            latest.update(dict.fromkeys(codes, operation))
        return pa.array(sorted(place for code, (place, operation) in last.items() if latest[code] == operation), _LONG)

    def _list_unresolved(self, state: _State, places: pa.Int64Array, states: RowStates) -> None:
        for reason in counts_by_value(states.reasons.drop_null()):
            self._list(str(reason), state, places.filter(pc.fill_null(pc.equal(states.reasons, reason), False)))
        if state.unkeyed is not None and len(state.unkeyed):
            self._unresolved.append((NO_KEY, state.unkeyed))
            state.unkeyed = None

    def _list_collided(self, state: _State, unresolved: pa.Int64Array) -> None:
        """Note the operations of rows that may have met another one, unless the row is unresolved itself."""
        found, fold = state.identities, state.fold
        if found is None or not found.collided:
            return
        known = set(fold.groups_at(unresolved).to_pylist())
        for row, operation in found.collided:
            if row not in known:
                self._collisions += 1
                own = pc.equal(fold.groups.slice(0, operation + 1), row)
                self._unresolved.append((COLLISION, fold.batch.slice(0, operation + 1).filter(own)))

    def _list(self, reason: str, state: _State, places: pa.Int64Array) -> None:
        """Note the operations of the rows at some places, since the row began."""
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

    def _history(self, state: _State) -> tuple[pa.RecordBatch, RowCounts]:
        fold, query = state.fold, self._query
        places = _places(pc.invert(fold.is_deleting))
        ends, holding = self._ends(state, places)
        states = fold.states(places, query.columns, None, holding=holding)
        at = fold.order.take(places)
        batch = fold.batch
        base = pc.equal(batch["seq"].take(at), BASE_SEQ)
        marks = {
            VALID_FROM_POSITION: batch["position"].take(at),
            VALID_FROM_TS: batch["ts"].take(at),
            VALID_TO_POSITION: ends["position"],
            VALID_TO_TS: ends["ts"],
            OP: pc.if_else(base, "I", _OPS.take(batch["op"].take(at))),
        }
        counts = self._counts(fold, states, query.columns)
        return self._rows(fold, states, self._state_of(states), marks), counts

    def _ends(self, state: _State, places: pa.Int64Array) -> tuple[dict[str, pa.Array[Any]], pa.BooleanArray]:
        """Return the position and the time of the operation that ends each version, and which versions still hold."""
        fold = state.fold
        following = pc.add(places, 1)
        has_next = pc.invert(fold.lasts.take(places))
        operation = pc.if_else(has_next, following, _NO_LONG)
        operation = fold.order.take(operation)
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

    def _changes(self, state: _State, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, RowCounts]:
        query = self._query
        since = query.query.since
        base = pc.equal(batch["seq"], BASE_SEQ)
        early = base if since is None else query.ordering.up_to(batch, since)
        earlier = self._state(batch.filter(early))
        keyed = pc.and_(pc.not_equal(batch["op"], TRUNCATE), narrow(batch["keyed"], pa.BooleanArray))
        return NetChanges(self, query, earlier, state, batch, early, keyed).answer()

    def row_set(self, state: _State) -> RowStates:
        """Return the rows at a point in time."""
        fold, query = state.fold, self._query
        wanted = pc.and_(fold.lasts, pc.equal(fold.epochs_in_order, state.last_epoch))
        places = _places(pc.and_not(wanted, fold.is_delete))
        found = state.identities
        if found is not None and found.ended:
            ended = pc.is_in(fold.groups_at(places), value_set=pa.array(sorted(found.ended), _LONG))
            places = places.filter(pc.invert(ended))
        return fold.states(places, query.columns, query.epoch)

    # Results

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
                late = pc.less(seqs, arrival) if arrival not in (None, first) else None
                added = 0 if late is None else pc.and_(lacking, late).true_count
                counts.added[name] += added
                counts.defaults[name] += lacking.true_count - added
        return RowCounts(counts.states, +counts.defaults, +counts.added)

    def _rows(
        self,
        fold: Fold,
        states: RowStates,
        state: pa.StringArray,
        marks: Mapping[str, pa.Array[Any]] | None = None,
    ) -> pa.RecordBatch:
        """Return rows as typed columns, of the states that the query wants."""
        query = self._query
        kept = pc.is_in(state, value_set=pa.array(sorted(query.query.states), TEXT))
        if kept.true_count < len(kept):
            rows = _places(kept)
            states = states.take(rows)
            state = state.take(rows)
            marks = {name: column.take(rows) for name, column in (marks or {}).items()}
        columns = self.typed(fold, states, query.columns)
        extra = {**(marks or {}), STATE: state}
        arrays = [*columns, *(extra[name] for name in query.query.metadata_columns)]
        return pa.RecordBatch.from_arrays(arrays, schema=query.schema)

    def typed(self, fold: Fold, states: RowStates, names: Sequence[str]) -> list[pa.Array[Any]]:
        """Return the values of rows in the types of the result."""
        key = self._table.key
        columns = []
        for name, texts, source in zip(names, fold.values(states, names), states.sources, strict=True):
            if name in key:
                columns.append(fold.batch[f"k{key.index(name)}"].take(states.places))
                continue
            values, wrong = typed_values(texts, self._table.types[name])
            if wrong:
                raise self._misfit(fold, name, source[wrong[0]].as_py(), texts[wrong[0]].as_py())
            columns.append(values)
        return columns

    def _misfit(self, fold: Fold, name: str, source: int, text: str) -> Abend:
        """Return the error for a value that does not fit the type of its column."""
        row = fold.batch.slice(source % fold.count, 1)
        seq, type = row["seq"][0].as_py(), self._table.types[name]
        file = None if seq == BASE_SEQ else self._query.files[seq >> FILE_BITS]
        place = Span(
            file=file,
            offset=row["offset"][0].as_py(),
            table=self._table.name,
            field=name,
            position=row["position"][0].as_py(),
        )
        shown = visible(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")
        help = f"give `--type '{self._table.name}.{name}=string'`"
        return Abend(Diagnostic("GG530", f"`{shown}` is no value of the type `{ddl_type(type)}`", place, help))

    # Tables without a key

    def _keyless(self, batch: pa.RecordBatch) -> UnitAnswer:
        """Count equal rows: inserts add one, deletes take one away."""
        query = self._query
        columns = query.columns
        lasting = self._lasting(batch)
        weights = self._weights(lasting, columns)
        op = "I"
        if query.query.kind == "changes":
            since = query.query.since
            base = pc.equal(batch["seq"], BASE_SEQ)
            early = batch.filter(base if since is None else query.ordering.up_to(batch, since))
            cut = pc.equal(batch["op"], TRUNCATE).true_count > pc.equal(early["op"], TRUNCATE).true_count
            before = self._weights(self._lasting(early), columns)
            if cut:  # rows that went before the truncate without having come are over
                before = before.filter(pc.greater(before["weight"], 0))
            taken = before.set_column(len(columns), "weight", pc.negate(before["weight"]))
            weights = _summed(pa.concat_tables([weights, taken]), columns)
        weight = weights["weight"].combine_chunks()
        weight = weight if isinstance(weight, pa.Array) else weight.chunk(0)
        counts = RowCounts()
        repeats = pc.abs(weight)
        places = _repeated_places(repeats)
        there = pc.greater(weight, 0).take(places)
        if query.query.kind == "changes":
            marks = {OP: pc.if_else(there, op, "D"), STATE: pa.repeat(pa.scalar(CURRENT, TEXT), len(places))}
            counts.states[CURRENT] = len(places)
        else:
            marks = {STATE: pc.if_else(there, CURRENT, UNRESOLVED)}
            counts.states[CURRENT] = there.true_count
            counts.states[UNRESOLVED] = len(there) - there.true_count
            if UNRESOLVED not in query.query.keep:
                places = places.filter(there)
                marks = {STATE: marks[STATE].filter(there)}
            self._list_keyless(lasting, weights, columns)
        rows = [weights[name].combine_chunks().take(places) for name in columns]
        arrays = [*rows, *(marks[name] for name in query.query.metadata_columns)]
        flat = [a.chunk(0) if isinstance(a, pa.ChunkedArray) else a for a in arrays]
        return UnitAnswer(pa.RecordBatch.from_arrays(flat, schema=query.schema), counts, self._listed())

    def _lasting(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the operations after the last truncate."""
        truncates = pc.equal(batch["op"], TRUNCATE)
        epochs = pc.cumulative_sum(pc.cast(truncates, _LONG))
        return batch.filter(pc.and_not(pc.equal(epochs, _last(epochs)), truncates))

    def _keyless_columns(self, batch: pa.RecordBatch, columns: Sequence[str]) -> dict[str, pa.Array[Any]]:
        found = {}
        for name in columns:
            values = batch[f"k{self._table.columns.index(name)}"]
            arrival = self._table.arrivals(name)[self._query.epoch]
            if arrival not in (None, self._table.epochs[0].start):
                values = pc.if_else(pc.greater_equal(batch["seq"], arrival), values, pa.scalar(None, values.type))
            found[name] = values
        return found

    def _weights(self, batch: pa.RecordBatch, columns: Sequence[str]) -> pa.Table:
        weight = pc.if_else(pc.equal(batch["op"], INSERT), 1, -1)
        return _summed(pa.table({**self._keyless_columns(batch, columns), "weight": weight}), columns)

    def _list_keyless(self, batch: pa.RecordBatch, weights: pa.Table, columns: Sequence[str]) -> None:
        """Note the operations that took rows away which never came."""
        missing = weights.filter(pc.less(weights["weight"], 0))
        if not len(missing):
            return
        codes = key_codes(
            [
                pa.concat_arrays([values, *missing[name].chunks])
                for name, values in self._keyless_columns(batch, columns).items()
            ]
        )
        wanted = pc.is_in(codes.slice(0, len(batch)), value_set=codes.slice(len(batch)))
        self._unresolved.append((NEVER_SEEN, batch.filter(pc.and_(wanted, pc.equal(batch["op"], DELETE)))))


@dataclass
class _State:
    """Operations up to a point in time, and the rows that they are of.

    last_epoch  the number of truncates
    cuts        the truncates, in order
    unkeyed     operations after the last truncate that do not show their key
    overtaken_places  the rows that lost their key to another one
    """

    fold: Fold
    identities: Identities | None
    last_epoch: int
    cuts: pa.RecordBatch
    unkeyed: pa.RecordBatch | None
    overtaken_places: pa.Int64Array | None = None


class NetChanges:
    """The changes from earlier rows to later ones, one for each key.

    batch  all operations, of which those that count for the earlier rows are `early`, and those with a key are `keyed`
    """

    def __init__(
        self,
        unit: _Unit,
        query: TableQuery,
        earlier: _State,
        later: _State,
        batch: pa.RecordBatch,
        early: pa.BooleanArray,
        keyed: pa.BooleanArray,
    ) -> None:
        self._unit, self._query = unit, query
        self._earlier, self._later = earlier, later
        self._batch, self._early, self._keyed = batch, early, keyed

    def answer(self) -> tuple[pa.RecordBatch, RowCounts]:
        key = self._query.table.key
        batch, rows = self._batch, len(self._batch)
        before = self._unit.row_set(self._earlier)
        after = self._unit.row_set(self._later)
        of_before = self._earlier.fold.batch.take(before.places)
        of_after = self._later.fold.batch.take(after.places)
        columns = [
            pa.concat_arrays([batch[f"k{j}"], batch[f"o{j}"], of_before[f"k{j}"], of_after[f"k{j}"]])
            for j in range(len(key))
        ]
        codes = key_codes(columns)
        keys = (pc.max(codes).as_py() + 1) if len(codes) else 0
        every = pa.array(range(keys), _LONG)
        at_before = pc.cast(pc.index_in(every, value_set=codes.slice(2 * rows, len(before.places))), _LONG)
        at_after = pc.cast(pc.index_in(every, value_set=codes.slice(2 * rows + len(before.places))), _LONG)
        was_there, touched = self._first_words(codes.slice(0, rows), codes.slice(rows, rows), keys)
        was = pc.or_(at_before.is_valid(), was_there)
        now = at_after.is_valid()
        differs = self._differ(before, after, at_before, at_after)
        certain = pc.fill_null(before.reasons.is_null().take(at_before), False)
        doubtful = pc.fill_null(after.reasons.is_valid().take(at_after), False)
        changed = pc.or_(differs, pc.or_(pc.invert(certain), doubtful))
        op = pc.if_else(
            pc.and_not(now, was),
            pa.scalar("I", TEXT),
            pc.if_else(
                pc.and_not(was, now),
                pa.scalar("D", TEXT),
                pc.if_else(pc.and_(pc.and_(was, now), changed), pa.scalar("U", TEXT), pa.scalar(None, TEXT)),
            ),
        )
        op = pc.if_else(pc.or_(touched, at_before.is_valid()), op, pa.scalar(None, TEXT))
        wanted = _places(op.is_valid())
        op = op.take(wanted)
        gone = pc.equal(op, "D")
        state = pc.if_else(pc.and_not(doubtful.take(wanted), gone), UNRESOLVED, CURRENT)
        names = self._query.columns
        earlier = self._unit.typed(self._earlier.fold, before, names)
        later = self._unit.typed(self._later.fold, after, names)
        arrays: list[pa.Array[Any]] = []
        first = pc.cast(pc.index_in(every, value_set=codes), _LONG).take(wanted)  # a place where each key is shown
        for name, old, new in zip(names, earlier, later, strict=True):
            if name in key:
                arrays.append(columns[key.index(name)].take(first))
                continue
            values = pc.if_else(gone, old.take(at_before.take(wanted)), new.take(at_after.take(wanted)))
            arrays.append(values)
        marks = {OP: op, STATE: state}
        kept = pc.is_in(state, value_set=pa.array(sorted(self._query.query.states), TEXT))
        arrays += [marks[name] for name in self._query.query.metadata_columns]
        result = pa.RecordBatch.from_arrays(arrays, schema=self._query.schema).filter(kept)
        counts = RowCounts()
        for name, number in counts_by_value(state).items():
            counts.states[str(name)] += number
        return result, counts

    def _first_words(
        self, new: pa.Int64Array, old: pa.Int64Array, keys: int
    ) -> tuple[pa.BooleanArray, pa.BooleanArray]:
        """Return by key whether its first later operation says that a row was there, where no earlier one has shown it;
        and whether a later operation is of the key."""
        batch = self._batch
        moves = narrow(batch["moves"], pa.BooleanArray)
        truncates: pa.Int64Array = pc.cumulative_sum(pc.cast(pc.equal(batch["op"], TRUNCATE), _LONG))
        unseen = pc.equal(truncates, 0)
        was = pc.and_(pc.and_not(pc.not_equal(batch["op"], INSERT), moves), unseen)
        number = pa.array(range(len(batch)), _LONG)
        at_new = {"key": new, "number": number, "was": was, "early": self._early}
        rows = pa.table(at_new).filter(self._keyed)
        moving = pc.and_(self._keyed, moves)
        at_old = {"key": old, "number": number, "was": unseen, "early": self._early}
        rows = pa.concat_tables([rows, pa.table(at_old).filter(moving)])
        rows = rows.set_column(2, "was", pc.cast(rows["was"], pa.int8())).set_column(
            3, "early", pc.cast(rows["early"], pa.int8())
        )
        order = pc.sort_indices(rows, sort_keys=[("key", "ascending"), ("number", "ascending")])
        rows = rows.take(order)
        found = rows.group_by("key", use_threads=False).aggregate(
            [("was", "first"), ("early", "max"), ("early", "min")]
        )
        every = pa.array(range(keys), _LONG)
        at = pc.index_in(every, value_set=found["key"])
        flags = {name: found[name].combine_chunks() for name in ("was_first", "early_max", "early_min")}
        taken = {name: pc.fill_null(pc.equal(_one(column), 1).take(at), False) for name, column in flags.items()}
        known = pc.and_not(taken["was_first"], taken["early_max"])
        seen = pc.and_not(at.is_valid(), taken["early_min"])
        return pc.and_(known, seen), seen

    def _differ(
        self, before: RowStates, after: RowStates, at_before: pa.Int64Array, at_after: pa.Int64Array
    ) -> pa.BooleanArray:
        names = self._query.columns
        old = self._earlier.fold.values(before, names)
        new = self._later.fold.values(after, names)
        found: pa.BooleanArray = pa.repeat(pa.scalar(False), len(at_before))
        for one, other in zip(old, new, strict=True):
            left, right = one.take(at_before), other.take(at_after)
            unlike = pc.if_else(
                pc.and_(left.is_valid(), right.is_valid()),
                pc.fill_null(pc.not_equal(left, right), False),
                pc.xor(left.is_valid(), right.is_valid()),
            )
            found = pc.or_(found, unlike)
        return found


def _one(array: Any) -> pa.Array[Any]:
    return pa.concat_arrays(array.chunks) if isinstance(array, pa.ChunkedArray) else array


def _places(mask: pa.BooleanArray) -> pa.Int64Array:
    return pc.cast(pc.indices_nonzero(mask), _LONG)


def _last(epochs: pa.Int64Array) -> int:
    """The last of ascending numbers; 0 if there is none."""
    return int(epochs[-1].as_py()) if len(epochs) else 0


def _without(batch: pa.RecordBatch, mask: pa.BooleanArray) -> pa.RecordBatch:
    return batch.filter(pc.invert(mask)) if mask.true_count else batch


def _without_truncates(identities: Identities, truncates: pa.BooleanArray) -> tuple[Identities, pa.Int64Array]:
    """Return identities with the numbers that operations have without the truncates among them."""
    groups: pa.Int64Array = pa.array(identities.groups, _LONG)
    if not truncates.true_count:
        return identities, groups
    kept = pc.invert(truncates)
    numbers = pc.subtract(pc.cumulative_sum(pc.cast(kept, _LONG)), 1).to_pylist()
    renumbered = Identities(
        [],
        {numbers[insert]: numbers[delete] for insert, delete in identities.halves.items()},
        {numbers[operation] for operation in identities.doubtful},
        {row: numbers[operation] for row, operation in identities.ended.items()},
        identities.overtaken,
        [(row, numbers[operation]) for row, operation in identities.collided],
    )
    return renumbered, groups.filter(kept)


def _summed(rows: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Return equal rows once, with the sum of their weights if that is not 0."""
    names = [f"c{place}" for place in range(len(columns))]
    found = rows.rename_columns([*names, "weight"]).group_by(names, use_threads=False).aggregate([("weight", "sum")])
    found = found.select([*names, "weight_sum"]).rename_columns([*columns, "weight"])
    return found.filter(pc.not_equal(found["weight"], 0)).combine_chunks()


def _repeated_places(counts: pa.Array[Any]) -> pa.Int64Array:
    """Return each place as often as its count says."""
    lists = pa.ListArray.from_arrays(
        pa.concat_arrays([pa.array([0], pa.int32()), pc.cast(pc.cumulative_sum(counts), pa.int32())]),
        nulls(pc.sum(counts).as_py() or 0, pa.int8()),
    )
    return narrow(pc.list_parent_indices(lists), pa.Int64Array)


def check_keyless(query: RowQuery, table: RowTable, stats: TableStats) -> None:
    """Raises: UsageError GG552 for a table without a key whose operations do not show their whole rows, GG551 for its
    history."""
    if table.key:
        return
    name = table.name
    help = f"name the columns that identify a row: `primaryKeys` (`--primary-keys '{name}=ID'`)"
    if query.kind == "history":
        raise query_error(f"`{name}` has no key, so that a history of its rows is not possible", help)
    if stats.incomplete is not None:
        message = "the table has no key, and an operation does not show its whole row before and after it"
        raise UsageError(Diagnostic("GG552", message, stats.incomplete, help))
