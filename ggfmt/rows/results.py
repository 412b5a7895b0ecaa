"""What a query to one table is, and what its result consists of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import as_strings
from ggfmt.columnar.typed import typed_values
from ggfmt.dataclasses import dataclass, field, replace
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic, Span, UsageError
from ggfmt.frames.batches import FILE_BITS, shown_value
from ggfmt.frames.column_types import INSTANT, TEXT
from ggfmt.frames.shapes import ddl_type
from ggfmt.model.change import PASSING
from ggfmt.rows.fold import Fold, RowStates
from ggfmt.rows.operations import BASE_SEQ, Truncate
from ggfmt.rows.ordering import Ordering
from ggfmt.rows.positions import OFFSETS, PositionKind
from ggfmt.rows.query import MOVED_FROM, OP, STATE, VALIDITY, RowQuery, query_error
from ggfmt.rows.table_stats import Place, TableStats, choose_ordering, places_of_logs
from ggfmt.rows.tables import RowTable, epoch_at

REASON = "reason"  # of unresolved operations

_METADATA_TYPES: dict[str, pa.DataType] = {
    **{name: INSTANT if name.endswith("_ts") else TEXT for name in (*VALIDITY, OP, STATE)},
    MOVED_FROM: pa.list_(TEXT),
}


@dataclass(frozen=True)
class End:
    position: str | None
    seq: int
    transaction: str | None
    micros: int | None

    @property
    def moment(self) -> tuple[str | None, int | None]:
        return self.transaction, None if self.transaction is not None else self.micros

    def place(self, ordering: Ordering) -> tuple[Any, ...]:
        """Return what orders ends; operations that earlier runs have kept come first."""
        if self.seq < 0 or ordering.total is None or self.position is None:
            return self.seq >= 0, (), self.seq
        return True, ordering.total.value(self.position) or (), self.seq


@dataclass(frozen=True)
class Selection:
    """What to keep of some operations for later runs: `doubted` in any case, `open` if the table ends with the moment
    of `end`. Both have the columns of staging, and a number for those of connected keys."""

    doubted: pa.RecordBatch
    open: pa.RecordBatch
    end: End


@dataclass(frozen=True)
class TableQuery:
    """A query to one table."""

    query: RowQuery
    table: RowTable
    ordering: Ordering
    epoch: int  # the number of the epoch in force at the end: the columns of current rows and of net changes
    truncates: tuple[Truncate, ...] = ()  # of all operations of the table
    files: Sequence[str] = ()  # the names of the input files, by number
    complete: bool = False  # all rows from before are known
    keeps: bool = False  # later runs merge into the result, so that the answer has what they need
    # the names of the files of operations that earlier runs have kept, by the place of the operation
    kept_files: Sequence[str | None] = ()
    kept_columns: frozenset[str] = frozenset()  # those that the table had then
    bounds: tuple[Place, ...] = ()  # the last place of each log that earlier runs have merged
    free: pa.UInt64Array | None = None  # hashes of keys that earlier runs have seen, and at which no row is
    unset: frozenset[str] = frozenset()  # columns whose NULL in a base may be a value that no operation has set

    @classmethod
    def of(
        cls, query: RowQuery, table: RowTable, stats: TableStats, files: Sequence[str], complete: bool
    ) -> TableQuery:
        """Return a query to operations with these statistics, for a result that no later run merges into. Raises:
        UsageError GG551 for a query that the operations cannot answer, GG552 as `_check_keyless`, GG557."""
        _check_sources(query, table, stats.sources)
        _check_keyless(query, table, stats, files)
        ordering = choose_ordering(query, stats)
        epoch = epoch_at(table, query.as_of, stats.epoch_starts, ordering.total)
        return cls(query, table, ordering, epoch, tuple(stats.truncates), files, complete)

    @property
    def finds_free_keys(self) -> bool:
        """Whether later runs need to know at which keys no row is any more: files may begin in the middle."""
        return self.keeps and not self.complete and not self.truncates and bool(self.table.key)

    def free_keys(self, now: pa.UInt64Array, shown: Sequence[pa.Array[Any]]) -> FreeKeys:
        if self.free is None or not len(self.free):
            return FreeKeys(now, now.slice(0, 0))
        used = pc.is_in(self.free, value_set=pa.concat_arrays(list(shown)).drop_null())
        return FreeKeys(now, self.free.filter(used))

    def file_of(self, seq: int) -> str | None:
        """Return the name of the file with an operation; None for a row of a base snapshot."""
        if seq == BASE_SEQ:
            return None
        return self.files[seq >> FILE_BITS] if seq >= 0 else self.kept_files[seq]

    @property
    def columns(self) -> tuple[str, ...]:
        if self.query.kind == "history":
            return self.table.columns
        return self.table.epochs[self.epoch].columns

    @property
    def schema(self) -> pa.Schema:
        marks = zip(self.marks, self.query.metadata_columns, strict=True)
        types = [pa.field(shown, _METADATA_TYPES[name]) for shown, name in marks]
        return pa.schema([*self.table.schema_of(self.columns), *types])

    @property
    def marks(self) -> list[str]:
        """The names of the metadata columns in the result."""
        return [self.query.metadata_prefix + name for name in self.query.metadata_columns]


def check_names(table: str, columns: Sequence[str], marks: Sequence[str] = (), folds: str = "") -> None:
    """Raises: UsageError GG558 if rows had a name twice. `folds`: what does not distinguish names by case."""
    seen: dict[str, str] = {}
    for place, name in enumerate((*columns, *marks)):
        first = seen.setdefault(name.casefold() if folds else name, name)
        if len(seen) > place:
            continue
        help = "rename one of them in the source or the definitions, or leave one out with `--columns`"
        if place >= len(columns):
            message = f"the metadata column `{name}` of the result has the name of a column of the table"
            help = "give the metadata columns other names: `--metadata-prefix gg`"
        else:
            message = f"the table has the columns `{first}` and `{name}`, which {folds} does not distinguish"
        raise UsageError("GG558", message, Span(table=table, field=first), help)


@dataclass
class RowCounts:
    """Counts of rows by state, and by column the values of current rows that no operation set."""

    states: Counter[str] = field(default_factory=Counter)
    # the insert does not have the column: the database may have put a default there
    defaults: Counter[str] = field(default_factory=Counter)
    # the column was added later, and no operation has set it since
    added: Counter[str] = field(default_factory=Counter)
    # NULL stands for a value that the type of the column does not have
    unfit: Counter[str] = field(default_factory=Counter)
    # counts of operations that contradict their rows, by what is wrong; `contradicting` has some places
    contradictions: Counter[str] = field(default_factory=Counter)
    contradicting: list[tuple[str, Span]] = field(default_factory=list)
    present: int = 0  # current rows that a file of the base has, and rows that are deleted there
    timed: int = 0  # number of operations whose transaction is known by their time alone, where this matters
    last_places: list[Place] = field(default_factory=list)  # of some of the operations each, if positions order them

    def add(self, other: RowCounts) -> None:
        for name, value in vars(other).items():
            own = getattr(self, name)
            own += value
            setattr(self, name, own)


@dataclass(frozen=True)
class FreeKeys:
    """Hashes of keys at which no row is `now`, after the operations; `used`: those before that the operations show."""

    now: pa.UInt64Array
    used: pa.UInt64Array


@dataclass
class UnitAnswer:
    """The result for some rows. `unresolved`: operations in the columns of staging, with a column `reason`; `kept`:
    what later runs need; `free`: the keys at which no row is, if later runs need them."""

    rows: pa.RecordBatch
    counts: RowCounts
    unresolved: pa.RecordBatch
    kept: Selection | None = None
    free: FreeKeys | None = None


def _check_sources(query: RowQuery, table: RowTable, sources: Mapping[str, str]) -> None:
    """Raises: UsageError GG557 for records of several sources, unless the user knows their order."""
    if query.order == "auto" and len(sources) > 1:
        (one, member), (other, _), *_ = sources.items()
        message = f"the table has records of two sources: `{member}` is `{shown_value(one)}` and `{shown_value(other)}`"
        help = "consolidate the files of each source into another output, or leave out the table with `--table`; "
        help += "give `--order input` if it is one source with a new name"
        raise UsageError("GG557", message, Span(table=table.name), help)


def _check_keyless(query: RowQuery, table: RowTable, stats: TableStats, files: Sequence[str]) -> None:
    """Raises: UsageError GG552 for a table without a key whose operations do not show their whole rows, GG551 for its
    history. `files`: the names of the input files, by number."""
    if table.key:
        return
    name = table.name
    first = next(iter(table.columns), "ID")
    help = f"name the columns that identify a row, such as `--key '{name}={first}'`, or give `--definitions`"
    if query.kind == "history":
        raise query_error(f"`{name}` has no key, so a history of its rows is not possible", help)
    if stats.incomplete is not None:
        message = "the table has no key, and an operation does not contain the whole row before and after"
        seq, place = stats.incomplete
        raise UsageError("GG552", message, replace(place, file=files[seq >> FILE_BITS]), help)


def last_places(query: TableQuery, batch: pa.RecordBatch) -> list[Place]:
    """Return the last place of each log in some operations, in order. Raises: UsageError GG551 for operations before
    those that earlier runs have merged: the result does not keep what is needed to find their place. In a table without
    a key, also for one at the same position: it may be one that comes again."""
    ordering, kind = query.ordering, query.ordering.by
    if kind is None or not len(batch):
        return []
    bounds = [bound for bound in query.bounds if kind.value(bound.position) is not None]
    new = pc.and_(pc.greater_equal(batch["seq"], 0), batch["position"].is_valid())
    for first in places_of_logs(kind, batch.filter(new)) if bounds else ():
        where = _before_merged(query, kind, first, bounds)
        if where is not None:
            own = pc.and_(new, pc.equal(batch["position"], first.position))
            file = query.file_of(batch["seq"][pc.index(own, True).as_py()].as_py())
            message = f"the file has operations {where}, up to which an earlier run has merged the table"
            help = "consolidate all files into another output; or give `--order input` if later files are newer"
            raise UsageError("GG551", message, Span(file=file, table=query.table.name, position=first.position), help)
    last = batch if ordering.apart else batch.slice(len(batch) - 1)
    return places_of_logs(kind, last.filter(last["position"].is_valid()), last=True)


def _before_merged(query: TableQuery, kind: PositionKind, first: Place, bounds: Sequence[Place]) -> str | None:
    """Return what puts the first operation of a log before those of earlier runs: its position or, in another log than
    theirs, its time."""
    family = [bound for bound in bounds if bound.family == first.family]
    named = query.ordering.checked and any(bound.origin is not None for bound in family)
    own = [one for one in family if first.origin != PASSING and (not named or one.origin == first.origin)]
    if family:  # positions that go on, go on in time
        place = kind.value(first.position) or ()
        last, text = max((kind.value(bound.position) or (), bound.position) for bound in own or family)
        if place > last or (place == last and query.table.key):
            return None
        if own:
            return f"{'at' if place == last else f'at position {first.position}, before'} position {text}"
    bound = max(bounds, key=lambda bound: bound.micros or 0)
    if kind is OFFSETS or first.micros is None or first.micros >= (bound.micros or 0):
        return None
    return f"of another log at {_time(first.micros)}, before {_time(bound.micros)} at position {bound.position}"


def check_order(query: TableQuery, batch: pa.RecordBatch) -> None:
    """Raises: Abend GG556 if times and the order of the input contradict the order of operations, or times alone that
    of two logs."""
    found = query.ordering.contradiction(batch)
    if found is None:
        return
    message = f"times contradict the order of {query.ordering}"
    help = "give the files in the order of their times; or `--order input` if they are, as after a log was made again"
    reasons = [Diagnostic("GG556", message, Span(table=query.table.name), f"{help}; or `--order position`")]
    for place in sorted(found, key=lambda place: batch["seq"][place].as_py()):
        seq, offset, position, origin = (batch[name][place].as_py() for name in ("seq", "offset", "position", "origin"))
        of = "" if origin in (None, PASSING) else f", of `{shown_value(origin)}`"
        span = Span(query.file_of(seq), offset=offset, table=query.table.name, position=position)
        reasons.append(Diagnostic("GG556", f"{_time(batch['ts'].cast(pa.int64())[place].as_py())}{of}", span))
    raise Abend.of(*reasons)


def _time(micros: int | None) -> str:
    return (datetime(1970, 1, 1) + timedelta(microseconds=micros or 0)).isoformat(" ")


@dataclass(frozen=True)
class TypedColumns:
    """Values in the types of the result. `unfit`: by column the rows whose value its type lacks, which is NULL."""

    columns: list[pa.Array[Any]]
    unfit: dict[str, list[int]]

    @property
    def counts(self) -> Counter[str]:
        return Counter({name: len(rows) for name, rows in self.unfit.items()})

    @property
    def rows(self) -> list[int]:
        return sorted({row for rows in self.unfit.values() for row in rows})


def typed_columns(query: TableQuery, fold: Fold, states: RowStates, names: Sequence[str]) -> TypedColumns:
    """Return values in the types of the result. Raises: Abend GG530 for a misfit, unless the query says otherwise."""
    key = query.table.key
    found = TypedColumns([], {})
    for name, texts, source in zip(names, fold.values(states, names), states.sources, strict=True):
        if name in key:
            found.columns.append(shown_key(query, name, fold.batch[f"k{key.index(name)}"].take(states.places)))
            continue
        values, wrong = fitting_values(query, name, texts, partial(fold.source_operation, source))
        if wrong:
            found.unfit[name] = wrong
        found.columns.append(values)
    return found


def fitting_values(
    query: TableQuery, name: str, texts: pa.StringArray, operation_of: Callable[[int], pa.RecordBatch]
) -> tuple[pa.Array[Any], list[int]]:
    """Return values, and the rows whose value does not fit. Raises: Abend GG530 if the query asks for an error."""
    values, wrong = typed_values(texts, query.table.types[name])
    if wrong and query.query.on_unfit == "error":
        operation, text = operation_of(wrong[0]), texts[wrong[0]].as_py()
        seq = operation["seq"][0].as_py()
        offset, position = operation["offset"][0].as_py(), operation["position"][0].as_py()
        place = Span(query.file_of(seq), offset=offset, table=query.table.name, field=name, position=position)
        raise Abend.of(_misfit(query, name, text, place))
    return values, wrong


def shown_key(query: TableQuery, name: str, values: pa.Array[Any]) -> pa.Array[Any]:
    """Return values that identify rows in the type of the result. Raises: Abend GG530 for one that does not fit."""
    type = query.table.types[name]
    if values.type == type:
        return values
    typed, wrong = typed_values(as_strings(values), type)
    if wrong:
        raise Abend.of(_misfit(query, name, values[wrong[0]].as_py(), Span(table=query.table.name, field=name)))
    return typed


def _misfit(query: TableQuery, name: str, text: str, place: Span) -> Diagnostic:
    message = f"`{shown_value(text)}` is not a value of the type `{ddl_type(query.table.types[name])}`"
    return Diagnostic("GG530", message, place, unfit_help(query.table.name, name))


def unfit_help(table: str | None, column: str | None) -> str:
    return f"give `--type '{table}.{column}=string'`, or `--on-unfit null` or `unresolved`"


def places_of(mask: pa.BooleanArray) -> pa.Int64Array:
    return pc.cast(pc.indices_nonzero(mask), pa.int64())


def last_of(epochs: pa.Int64Array) -> int:
    return int(epochs[-1].as_py()) if len(epochs) else 0
