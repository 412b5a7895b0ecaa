"""Facts about the operations of a table, gathered while they are staged."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import as_strings, combined, counts_by_value, narrow, non_null_values, numbered
from ggfmt.columnar.hashes import row_codes
from ggfmt.dataclasses import dataclass, field
from ggfmt.diagnostics.diagnostic import Span
from ggfmt.model.change import OP_TYPES, PASSING
from ggfmt.rows.key_updates import KeyLinks
from ggfmt.rows.numbers import NumberRange
from ggfmt.rows.operations import DELETE, INSERT, TRUNCATE, UPDATE, Truncate, any_of
from ggfmt.rows.ordering import Ordering, check_moment
from ggfmt.rows.positions import PositionKind, common_kind, kind_of
from ggfmt.rows.query import RowQuery, parse_time, query_error
from ggfmt.rows.tables import RowTable


@dataclass(frozen=True)
class Place:
    """The position of an operation, the log that it is of, and the time in microseconds."""

    position: str
    family: str = ""
    origin: str | None = None
    micros: int | None = None

    @property
    def log(self) -> tuple[str, str | None]:
        return self.family, self.origin


@dataclass
class PositionStats:
    """The kind of the positions so far, and their logs. `orders` is False once they cannot be compared."""

    kind: PositionKind | None = None
    logs: set[tuple[str, str | None]] = field(default_factory=set)
    orders: bool = True

    def add(self, batch: pa.RecordBatch) -> None:
        positions = as_strings(batch["position"])
        if not self.orders or not len(positions):
            return
        own = self.kind
        kind = own if own is not None and own.fits_all(positions) else kind_of(lambda kind: kind.fits_all(positions))
        if positions.null_count or kind is None:
            self.orders = False
        else:
            self.merge(PositionStats(kind, {place.log for place in places_of_logs(kind, batch)}))

    def merge(self, later: PositionStats) -> None:
        if later.orders and later.kind is None:
            return
        self.kind = later.kind if self.orders and self.kind is None else common_kind(self.kind, later.kind)
        self.logs |= later.logs
        self.orders &= later.orders and self.kind is not None
        self.orders &= self.kind is None or not self.kind.same_shape or len(self.logs) == 1

    @property
    def ordering(self) -> Ordering:
        if self.kind is None or not self.orders:
            return Ordering(None)
        origins = {origin for _, origin in self.logs} - {None}
        if len(origins) > 1 or PASSING in origins:
            return Ordering(self.kind, "origins")
        return Ordering(self.kind, "families" if len({family for family, _ in self.logs}) > 1 else "")


def places_of_logs(kind: PositionKind, batch: pa.RecordBatch, last: bool = False) -> list[Place]:
    """Return the first place of each log in a batch, or the last one. Each operation has a position."""
    found, origins = batch.select(["position", "origin", "ts"]), as_strings(batch["origin"])
    if origins.null_count == len(origins) and not kind.has_families:  # a single log
        found = found.slice(max(len(found) - 1, 0) if last else 0, 1)
    else:
        logs = row_codes([origins, kind.families(as_strings(batch["position"]))] if kind.has_families else [origins])
        rows = pa.table([logs, numbered(len(batch))], ["log", "place"])
        of_logs = rows.group_by("log", use_threads=False).aggregate([("place", "max" if last else "min")])
        found = found.take(combined(of_logs.column(1)))
    positions = as_strings(found["position"])
    columns = positions, kind.families(positions), found["origin"], found["ts"].cast(pa.int64())
    return [Place(*values) for values in zip(*(column.to_pylist() for column in columns), strict=True)]


@dataclass
class TableStats:
    """What the operations of a table are like.

    first_time, last_time          the earliest and the latest, in UTC
    first_position, last_position  in input order
    epoch_starts       by epoch with operations the position and the time, in microseconds, of the first
    incomplete         the `seq` and the place of an operation without whole images, in a table without a key
    numbers            by column the range of numbers that were found in the data
    unfit              by column of the key, or of rows without one, values that its type does not have
    """

    operations: Counter[str] = field(default_factory=Counter)  # counts by type
    truncates: list[Truncate] = field(default_factory=list)  # in input order
    without_position: int = 0  # number of operations without a position; `without_time`, `without_key` alike
    without_time: int = 0
    without_key: int = 0
    first_time: datetime | None = None
    last_time: datetime | None = None
    first_position: str | None = None
    last_position: str | None = None
    ordering: PositionStats = field(default_factory=PositionStats)  # the kind of positions
    epoch_starts: dict[int, tuple[str | None, int | None]] = field(default_factory=dict)
    links: list[KeyLinks] = field(default_factory=list)  # keys that an operation, or a pair of operations, connects
    incomplete: tuple[int, Span] | None = None
    numbers: dict[str, NumberRange] = field(default_factory=dict)
    unfit: Counter[str] = field(default_factory=Counter)
    sources: dict[str, str] = field(default_factory=dict)  # the names of its sources, with the member that has them

    def add(self, batch: pa.RecordBatch, table: RowTable) -> None:
        ops, times, positions = batch["op"], batch["ts"], as_strings(batch["position"])
        counts = counts_by_value(ops)
        found = TableStats(
            Counter({OP_TYPES[int(op)]: count for op, count in counts.items()}),
            without_position=positions.null_count,
            without_time=times.null_count,
        )
        if table.key:
            unkeyed = pc.and_not(pc.not_equal(ops, TRUNCATE), narrow(batch["keyed"], pa.BooleanArray))
            found.without_key = unkeyed.true_count
        else:
            found.incomplete = _incomplete(batch, table)
        if counts.get(TRUNCATE):
            rows = batch.filter(pc.equal(ops, TRUNCATE))
            micros = rows["ts"].cast(pa.int64())
            columns = (rows["seq"], rows["position"], micros, rows["tx"], rows["origin"])
            found.truncates = [Truncate(*values) for values in zip(*(c.to_pylist() for c in columns), strict=True)]
        if times.null_count < len(times):
            ends = pc.min_max(times)
            found.first_time, found.last_time = ends["min"].as_py(), ends["max"].as_py()
        if positions.null_count < len(positions):
            known = positions.drop_null()
            found.first_position, found.last_position = known[0].as_py(), known[-1].as_py()
        found.numbers = {name: _numbers(batch, table.columns.index(name)) for name in table.found}
        self.ordering.add(batch)
        self._add_epochs(batch, table)
        self._add_counts(found)

    def _add_epochs(self, batch: pa.RecordBatch, table: RowTable) -> None:
        if len(table.epochs) == 1:
            return
        numbers = table.epochs_of(narrow(batch["seq"], pa.Int64Array))
        for number in non_null_values(pc.unique(numbers)):
            if number not in self.epoch_starts:
                place = pc.index(numbers, number).as_py()
                micros = batch["ts"].cast(pa.int64())[place].as_py()
                self.epoch_starts[number] = batch["position"][place].as_py(), micros

    def merge(self, later: TableStats) -> None:
        self.ordering.merge(later.ordering)
        self.epoch_starts = {**later.epoch_starts, **self.epoch_starts}
        self.links += later.links
        self._add_counts(later)

    def _add_counts(self, later: TableStats) -> None:
        self.operations.update(later.operations)
        self.truncates += later.truncates
        self.without_position += later.without_position
        self.without_time += later.without_time
        self.without_key += later.without_key
        firsts = [time for time in (self.first_time, later.first_time) if time is not None]
        lasts = [time for time in (self.last_time, later.last_time) if time is not None]
        self.first_time, self.last_time = min(firsts, default=None), max(lasts, default=None)
        if self.first_position is None:
            self.first_position = later.first_position
        if later.last_position is not None:
            self.last_position = later.last_position
        if self.incomplete is None:
            self.incomplete = later.incomplete
        for name, numbers in later.numbers.items():
            self.numbers.setdefault(name, NumberRange()).merge(numbers)
        self.unfit.update(later.unfit)
        self.sources |= later.sources


def _numbers(batch: pa.RecordBatch, i: int) -> NumberRange:
    found = NumberRange()
    for image in ("b", "a"):
        found.merge(NumberRange.of(narrow(batch[f"{image}{i}"], pa.StringArray)))
    return found


def _incomplete(batch: pa.RecordBatch, table: RowTable) -> tuple[int, Span] | None:
    """Return the `seq` and the place of the first operation that does not show the whole row before and after it."""
    ops, epochs = batch["op"], table.epochs_of(narrow(batch["seq"], pa.Int64Array))
    lacking = []
    for i, name in enumerate(table.columns):
        exists = table.presence[name].take(epochs)
        before, after = (narrow(batch[f"{image}{i}"], pa.BooleanArray) for image in ("hb", "ha"))
        no_before = pc.and_not(pc.is_in(ops, value_set=pa.array([UPDATE, DELETE], pa.int8())), before)
        no_after = pc.and_not(pc.is_in(ops, value_set=pa.array([UPDATE, INSERT], pa.int8())), after)
        lacking.append(pc.and_(exists, pc.or_(no_before, no_after)))
    rows = non_null_values(pc.indices_nonzero(any_of(lacking, len(batch))))
    if not rows:
        return None
    row = batch.slice(rows[0], 1)
    place = Span(table=table.name, offset=row["offset"][0].as_py(), position=row["position"][0].as_py())
    return row["seq"][0].as_py(), place


def choose_ordering(query: RowQuery, stats: TableStats) -> Ordering:
    """Return what orders the operations of a table. Raises: UsageError GG551 if positions should and do not."""
    found = stats.ordering.ordering
    kind = found.total
    bounds = [moment for moment in (query.as_of, query.since) if moment is not None and parse_time(moment) is None]
    operations = stats.operations.total()
    if not operations:
        return Ordering(None)
    if query.order == "position" and len({family for family, _ in stats.ordering.logs}) == 1:
        kind = found.by  # the user knows that positions of several logs compare
    if kind is None and (bounds or query.order == "position"):
        lacking = stats.without_position
        why = f"{lacking} operations have no position" if lacking else "the positions have no known order"
        why = why if found.by is None else "positions of several logs do not compare"
        if bounds:
            raise query_error(f"`{bounds[0]}` is not a time, and {why}", "give a time such as `2026-01-31T12:00:00`")
        raise query_error(f"positions do not order the operations: {why}", "leave out `order`")
    for bound in bounds:
        check_moment(bound, kind)
    if query.order != "auto":
        return Ordering(kind if bounds or query.order == "position" else None, checked=False)
    return found
