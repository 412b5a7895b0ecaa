"""The order of the operations of a table: by positions, or as in the input."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import reduce
from typing import Any

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import as_strings, combined, non_null_values
from ggfmt.frames.batches import FILE_BITS
from ggfmt.rows.operations import BASE_SEQ
from ggfmt.rows.positions import PositionKind
from ggfmt.rows.query import RowQuery, parse_time, query_error
from ggfmt.rows.table_stats import TableStats

_LONG = pa.int64()


@dataclass(frozen=True)
class Ordering:
    """`by`: the kind of positions that orders operations; None: their order in the input."""

    by: PositionKind | None

    def __str__(self) -> str:
        return "the input" if self.by is None else f"positions ({self.by.name})"

    def sort(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return operations in order; rows of a base snapshot come first."""
        if not len(batch):
            return batch
        keys = self._sort_columns(batch)
        if len(keys) == 1 and _ascends(keys[0]):
            return batch
        if len(keys) == 2 and _ascends_strictly(keys[0]):
            return batch
        names = [f"s{place}" for place in range(len(keys))]
        order = pc.sort_indices(pa.table(keys, names), sort_keys=[(name, "ascending") for name in names])
        return batch.take(order)

    def _sort_columns(self, batch: pa.RecordBatch) -> list[pa.Array[Any]]:
        seq = batch["seq"]
        if self.by is None:
            return [seq]
        columns = self.position_columns(batch)
        phase = pc.not_equal(seq, BASE_SEQ)
        base_rows = phase.true_count < len(phase)
        return [*([pc.cast(phase, pa.int8())] if base_rows else []), *columns, seq]

    def position_columns(self, batch: pa.RecordBatch) -> list[pa.Array[Any]]:
        """Return columns that are the same for operations at the same position."""
        assert self.by is not None
        return self.by.sort_columns(as_strings(batch["position"]))

    def up_to(self, batch: pa.RecordBatch, moment: str) -> pa.BooleanArray:
        """Return which operations are not after a point in time. One without a time, and a row of a base, is not.

        Raises: UsageError GG551 for a position where positions do not order the operations.
        """
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


def _ascends(column: pa.Array[Any]) -> bool:
    return pc.all(pc.less_equal(column.slice(0, len(column) - 1), column.slice(1)), min_count=0).as_py() is True


def _ascends_strictly(column: pa.Array[Any]) -> bool:
    return pc.all(pc.less(column.slice(0, len(column) - 1), column.slice(1)), min_count=0).as_py() is True


def check_moment(moment: str, kind: PositionKind | None) -> None:
    """Raises: UsageError GG551 for a position that cannot be compared with those of a table."""
    if parse_time(moment) is not None:
        return
    if kind is None:
        message = f"`{moment}` is no time, and positions of the table do not order its operations"
        raise query_error(message, "give a time as `2026-01-31T12:00:00`")
    if kind.value(moment) is None:
        raise query_error(
            f"`{moment}` is neither a time nor a position like those of the table ({kind.name})", kind.help
        )


def choose_ordering(query: RowQuery, stats: TableStats) -> Ordering:
    """Return what orders the operations of a table.

    Raises: UsageError GG551 if positions are asked for and do not order the operations.
    """
    kind = stats.ordering.kind if stats.ordering.orders else None
    bounds = [moment for moment in (query.as_of, query.since) if moment is not None and parse_time(moment) is None]
    operations = stats.operations.total()
    if not operations:
        return Ordering(None)
    if kind is None and (bounds or query.order == "position"):
        lacking = stats.without_position
        why = f"{lacking} operations have no position" if lacking else "the positions are of no kind that orders them"
        if bounds:
            raise query_error(f"`{bounds[0]}` is no time, and {why}", "give a time as `2026-01-31T12:00:00`")
        raise query_error(f"positions do not order the operations: {why}", "leave `order` out")
    for bound in bounds:
        check_moment(bound, kind)
    return Ordering(kind if bounds or query.order != "input" else None)


def without_repeated(batch: pa.RecordBatch, ordering: Ordering, has_key: bool) -> pa.RecordBatch:
    """Return operations, in order, without those that come again: at the same position, with the same images.

    One operation stays of those at a position where all are equal. Where a source gives all operations of a transaction
    one position, equal ones may be different operations: those of one file stay, and what only other files have. In a
    table without a key, rows may be equal: as many operations stay as the file has that has most of them.
    """
    if ordering.by is None or len(batch) < 2:
        return batch
    columns = ordering.position_columns(batch)
    count = len(batch) - 1
    same = reduce(pc.and_, (pc.equal(column.slice(0, count), column.slice(1)) for column in columns))
    same = pc.fill_null(same, False)
    if not same.true_count:
        return batch
    no = pa.array([False])
    again = pc.or_(pa.concat_arrays([no, same]), pa.concat_arrays([same, no]))
    places = pc.cast(pc.indices_nonzero(again), _LONG)
    some = batch.take(places)
    position = {f"p{number}": column.take(places) for number, column in enumerate(columns)}
    images = {
        name: some[name] for name in batch.schema.names if name == "op" or (name[-1:].isdigit() and name[0] in "bahuko")
    }
    files = pc.shift_right(some["seq"], pa.scalar(FILE_BITS, _LONG))
    rows = pa.table({**position, **images, "file": files, "place": places})
    kept = _kept_places(rows, list(position), list(images), has_key)
    gone = pc.and_not(again, pc.is_in(pa.array(range(len(batch)), _LONG), value_set=pa.array(kept, _LONG)))
    return batch.filter(pc.invert(gone)) if gone.true_count else batch


def _kept_places(rows: pa.Table, position: list[str], images: list[str], has_key: bool) -> list[int]:
    """Return the places of the operations that stay."""
    if has_key:
        operations = rows.group_by([*position, *images], use_threads=False).aggregate([("place", "min")])
        positions = operations.group_by(position, use_threads=False).aggregate([("place_min", "count")])
        if pc.max(combined(positions["place_min_count"])).as_py() == 1:
            return non_null_values(combined(operations["place_min"]))
    in_files = rows.group_by([*position, *images, "file"], use_threads=False).aggregate([("place", "list")])
    by_position: dict[tuple[Any, ...], dict[tuple[Any, ...], dict[int, list[int]]]] = {}
    for row in in_files.to_pylist():
        at = by_position.setdefault(tuple(row[name] for name in position), {})
        at.setdefault(tuple(row[name] for name in images), {})[row["file"]] = row["place_list"]
    kept: list[int] = []
    for equal in by_position.values():
        if has_key and len(equal) == 1:
            kept.append(min(place for places in next(iter(equal.values())).values() for place in places))
            continue
        counts: Counter[int] = Counter()
        for by_file in equal.values():
            counts.update({file: len(places) for file, places in by_file.items()})
        best = min(counts, key=lambda file: (-counts[file], file))
        for by_file in equal.values():
            if has_key and best in by_file:
                kept += by_file[best]
            else:
                kept += by_file[min(by_file, key=lambda file: (-len(by_file[file]), file))]
    return kept
