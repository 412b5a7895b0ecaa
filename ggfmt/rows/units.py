"""Tasks that make rows of staged operations, a bucket of keys at a time.

1. `stage_base` reads a file of a base snapshot whose rows are not in the buckets of this run.
2. Where operations connect keys, `extract_linked` collects the operations of connected keys from a bucket, and
   `answer_group` finds the rows of connected keys.
3. `answer_bucket` finds the other rows of a bucket, and writes all of them to a file. A bucket that is too large for
   the memory of a task is cut by further bits of the hashes of its keys; the pieces follow each other in the file.
   If files of the base have the rows of the bucket, they stay unless a row differs at the keys of operations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, TypeVar

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import concatenated, narrow, non_null_values, nulls, numbered
from ggfmt.columnar.hashes import row_codes, row_hashes
from ggfmt.columnar.typed import as_text, typed_values
from ggfmt.dataclasses import dataclass, field
from ggfmt.diagnostics.diagnostic import Abend, Span, UsageError
from ggfmt.frames.batches import shown_value
from ggfmt.frames.column_types import TEXT
from ggfmt.frames.images import image_maps
from ggfmt.frames.shapes import GENERIC, ddl_type
from ggfmt.location import Location
from ggfmt.model.change import Image, ImageColumn
from ggfmt.rowfiles.deleted_rows import decode_places, encode_places
from ggfmt.rowfiles.formats import ROW_FORMATS
from ggfmt.rowfiles.spill import filtered
from ggfmt.rowfiles.writers import WrittenFile, write_rows
from ggfmt.rows.answers import answers
from ggfmt.rows.base import BaseFile
from ggfmt.rows.kept import as_kept, kept_schema, without_keys
from ggfmt.rows.key_updates import LinkedKeys
from ggfmt.rows.layout import FileLayout, files_to_join
from ggfmt.rows.numbers import is_number
from ggfmt.rows.operations import DELETE, INSERT, OPS, UPDATE, base_operations, key_values, staged_schema
from ggfmt.rows.ordering import Ordering
from ggfmt.rows.query import CURRENT, MOVED_FROM
from ggfmt.rows.readers import read_rows
from ggfmt.rows.results import REASON, End, FreeKeys, RowCounts, Selection, TableQuery, UnitAnswer
from ggfmt.rows.staging import (
    EVERY,
    MAX_UNIT_BYTES,
    BucketFiles,
    MemoryBudget,
    StagedPart,
    bucket_numbers,
    buckets_of,
    in_units,
    load,
    piece_count,
)
from ggfmt.rows.tables import RowTable, can_hold

UNRESOLVED_SCHEMA = pa.schema([pa.field(REASON, TEXT), *(field for field in GENERIC if field.name != "tokens")])
MAX_PLACES = 3  # of unresolved operations, in an error
MAX_HELD_BYTES = 64 << 20  # of rows of a bucket, which otherwise are read again where they have to be written
MIN_MARKED = 4  # rows in a file for each that is marked as deleted
MIN_SLICE_ROWS = 1000  # on average, to take parts of a batch as they are: a copy of so many rows costs as much


@dataclass(frozen=True)
class ShortenedFile:
    """A base file that stays with more deleted rows, as `encode_places` has them. `rows`: those that are left."""

    file: BaseFile
    deleted: str
    rows: int


@dataclass(frozen=True)
class TablePlan:
    """How the rows of a table are found and written."""

    query: TableQuery
    number: int  # of the table among all
    linked: LinkedKeys | None  # keys that operations connect
    layout: FileLayout  # of the files of rows
    directory: Location  # for files, which tasks reach
    base_types: Mapping[str, pa.DataType]  # of columns of the base snapshot
    memory: MemoryBudget | None  # while it lasts, results that other tasks need stay in memory
    # the keys of operations that earlier runs have kept: rows of the base there are left out
    kept: pa.Array[pa.UInt64Scalar]

    @property
    def table(self) -> RowTable:
        return self.query.table

    @property
    def others(self) -> list[pa.Array[pa.UInt64Scalar]]:
        """The keys that lose their row to another one, and those of kept operations."""
        return [self.kept] if self.linked is None else [self.kept, self.linked.hashes]

    def files(self, what: str, stem: str) -> BucketFiles:
        return BucketFiles(self.directory.child(what), stem, {self.table.name: self.number}, self.memory)


@dataclass
class KeptFiles:
    """Files of operations for later runs: `doubted` in any case, `open` of units that end as the table does."""

    doubted: list[WrittenFile] = field(default_factory=list)
    open: list[tuple[End, WrittenFile]] = field(default_factory=list)
    ends: list[End] = field(default_factory=list)

    def add(self, other: KeptFiles) -> None:
        self.doubted += other.doubted
        self.open += other.open
        self.ends += other.ends

    def files(self, ordering: Ordering) -> list[WrittenFile]:
        if not self.ends:
            return []
        last = max(self.ends, key=lambda end: end.place(ordering)).moment
        return [*self.doubted, *(file for end, file in self.open if end.moment == last)]


@dataclass
class UnitResult:
    """What a task has found."""

    rows: list[StagedPart] = field(default_factory=list)  # parts with rows for the buckets they belong to
    rest: list[StagedPart] = field(default_factory=list)  # operations in memory that nothing connects
    files: list[WrittenFile] | None = None
    replaced: Sequence[BaseFile] = ()  # by `files`
    shortened: list[ShortenedFile] = field(default_factory=list)
    unresolved: list[WrittenFile] = field(default_factory=list)
    counts: RowCounts = field(default_factory=RowCounts)
    places: list[tuple[str, Span]] = field(default_factory=list)  # of the first unresolved operations
    kept: KeptFiles = field(default_factory=KeptFiles)  # operations for later runs
    free: list[FreeKeys] = field(default_factory=list)  # keys without a row
    error: Abend | UsageError | None = None  # what is wrong with the base or the operations


def base_rows(file: BaseFile, table: RowTable, types: Mapping[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a base file with the columns and types of a table, and with the hash of their keys. Raises:
    UsageError GG551 for rows without the key, and for a column whose type cannot hold all of its values."""
    typed = ROW_FORMATS[file.suffix].is_typed
    wanted = {} if typed else {**types, **{name: table.types[name] for name in table.columns}}
    for batch in read_rows(file.location, file.suffix, wanted, table.name, file.deleted):
        names = [name for name in table.columns if name in batch.schema.names]
        lacking = [name for name in table.identity if name not in names]
        if lacking and table.key:
            message = f"the base has no column `{lacking[0]}`, which is in the key of `{table.name}`"
            raise UsageError("GG551", message, Span(file=file.location.shown, table=table.name))
        columns = [_as_type(batch[name], table.types[name], name, table, file) for name in names]
        nameless = next((name for name in table.key if batch[name].null_count), None)
        if nameless is not None:
            place = Span(file=file.location.shown, table=table.name, field=nameless)
            help = "NULL identifies no row: correct the rows of the base, or name other columns with `--key`"
            raise UsageError("GG551", "the base has a row with NULL in a column of the key", place, help)
        rows = pa.RecordBatch.from_arrays(columns, schema=table.schema_of(names))
        identity = [
            key_values(rows[name], table, name) if name in names else nulls(len(rows), table.key_type(name))
            for name in table.identity
        ]
        yield _with_hashes(table, rows, row_hashes(identity))


def _with_hashes(table: RowTable, rows: pa.RecordBatch, hashes: pa.UInt64Array) -> pa.RecordBatch:
    schema = rows.schema.append(pa.field(table.key_hash, pa.uint64()))
    return pa.RecordBatch.from_arrays([*rows.columns, hashes], schema=schema)


def _as_type(column: pa.Array[Any], type: pa.DataType, name: str, table: RowTable, file: BaseFile) -> pa.Array[Any]:
    if column.type == type:
        return column
    place = Span(file=file.location.shown, table=table.name, field=name)
    if pa.types.is_integer(type) and pa.types.is_integer(column.type):
        with suppress(pa.ArrowInvalid):  # a format without small integers has wider ones
            return column.cast(type)
    # Texts may be of an earlier ggfmt, which wrote dates, times and bytes so. Numbers found in data may now be larger.
    converts = column.type == TEXT or (is_number(column.type) and (is_number(type) or name in table.found))
    if not can_hold(type, column.type) and not converts:
        message = f"`{name}` is `{ddl_type(column.type)}` in the base and `{ddl_type(type)}` in the operations"
        help = "cast it to the type of the operations, or give the operations another type with `types`"
        raise UsageError("GG551", message, place, help)
    texts = as_text(column)
    values, wrong = typed_values(texts, type)
    if wrong:
        shown = shown_value(texts[wrong[0]].as_py())
        help = f"give `--type '{table.name}.{name}=string'`"
        raise UsageError("GG551", f"`{shown}` is not a value of the type `{ddl_type(type)}`", place, help)
    return values


@dataclass(frozen=True)
class BaseTask:
    file: BaseFile
    buckets: int
    size = MAX_UNIT_BYTES


def stage_base(plan: TablePlan, task: BaseTask, attempt: int) -> UnitResult:
    files = plan.files("base", f"{attempt}")
    try:
        for rows in _rows_of(plan, task.file):
            files.write(plan.table.name, rows, bucket_numbers(rows[plan.table.key_hash], task.buckets))
    finally:
        parts = files.close_one()
    return UnitResult(rows=parts)


@dataclass(frozen=True)
class Bucket:
    """A bucket of a table.

    number, of  its keys are those whose hash modulo `of` is `number`
    base        rows of the base snapshot, in files of this bucket or staged
    """

    number: int
    of: int
    parts: Sequence[StagedPart]  # its operations
    base_files: Sequence[BaseFile] = ()
    base_parts: Sequence[StagedPart] = ()
    results: Sequence[StagedPart] = ()  # rows of connected keys, which `answer_group` found

    def has(self, hashes: pa.Array[Any]) -> pa.BooleanArray:
        """Return which keys are of the bucket: batches in memory may have others."""
        return pc.equal(bucket_numbers(hashes, self.of), self.number)

    def operations(self, parts: Iterable[StagedPart]) -> Iterator[pa.RecordBatch]:
        return (filtered(batch, self.has(batch["hash"])) for batch in load(parts))

    @property
    def pieces(self) -> int:
        """Into how many pieces one task cuts the bucket."""
        return piece_count(sum(part.size for part in (*self.parts, *self.base_parts)))

    @property
    def size(self) -> int:
        """The bytes that the task has in memory, at most."""
        parts = (*self.parts, *self.base_parts, *self.results)
        return MAX_UNIT_BYTES if self.base_files else sum(part.size for part in parts)


def _rows_of(plan: TablePlan, file: BaseFile) -> Iterator[pa.RecordBatch]:
    for rows in base_rows(file, plan.table, plan.base_types):
        yield without_keys(plan.table, rows, plan.kept)


def _base_of(plan: TablePlan, bucket: Bucket) -> Iterator[pa.RecordBatch]:
    for file in bucket.base_files:
        yield from _rows_of(plan, file)
    yield from load(bucket.base_parts)


def extract_linked(plan: TablePlan, bucket: Bucket, attempt: int) -> UnitResult:
    """Leave the operations of connected keys by group, rows of the base as inserts; and the rest if in memory."""
    linked, table = plan.linked, plan.table
    assert linked is not None
    schema = staged_schema(table)
    files = plan.files("linked", f"{bucket.number}-{attempt}")
    rest: list[StagedPart] = []
    base = (base_operations(rows, table, schema) for rows in _base_of(plan, bucket) if len(rows))
    in_files = load(part for part in bucket.parts if part.batch is None)
    in_memory = bucket.operations(part for part in bucket.parts if part.batch is not None)
    try:
        for batches, is_in_memory in ((chain(base, in_files), False), (in_memory, True)):
            for some in in_units(batches):
                for batch, groups in zip(some, _looked_up(some, linked.group_of), strict=True):
                    wanted = groups.is_valid()
                    if wanted.true_count:
                        files.write(table.name, filtered(batch, wanted), groups.filter(wanted))
                    if is_in_memory and wanted.true_count < len(batch):
                        others = filtered(batch, pc.invert(wanted))
                        rest.append(StagedPart(bucket.number, others.nbytes, others))
    finally:
        parts = files.close_one()
    return UnitResult(rows=parts, rest=rest)


@dataclass(frozen=True)
class KeyGroup:
    """Operations of connected keys. `parts`: the task takes those in memory away; `buckets`: of the results."""

    number: int
    parts: list[StagedPart]
    buckets: int

    @property
    def size(self) -> int:
        return sum(part.size for part in self.parts)


def answer_group(plan: TablePlan, group: KeyGroup, attempt: int) -> UnitResult:
    assert plan.linked is not None
    files = plan.files("results", f"{group.number}-{attempt}")
    result = UnitResult()
    for number, found in enumerate(answers(plan.query, load(_taken_from(group.parts)), linked=True)):
        rows = found.rows
        hashes = row_hashes([key_values(rows[name], plan.table, name) for name in plan.table.key])
        tagged = _with_hashes(plan.table, rows, hashes)
        files.write(plan.table.name, tagged, bucket_numbers(hashes, group.buckets))
        _add(plan, found, result, f"g{group.number}-{number}-{attempt}")
    result.rows = files.close_one()
    return result


def _taken_from(parts: list[StagedPart]) -> Iterator[StagedPart]:
    while parts:
        yield parts.pop()


def answer_bucket(plan: TablePlan, bucket: Bucket, attempt: int) -> UnitResult:
    """Find the rows of a bucket but those of connected keys, and write those that files of the base do not have."""
    result = UnitResult(files=[], replaced=bucket.base_files)
    schema, stem = plan.query.schema, f"b{bucket.number}-{attempt}"
    results = (batch.select(schema.names) for batch in load(bucket.results))
    every: Iterator[pa.RecordBatch] | None
    if bucket.base_files and bucket.pieces == 1:
        every = _merged(plan, bucket, results, result, stem)
        if every is None:
            return result
    else:
        pieces = (
            _rows_of_piece(plan, bucket, piece, result, f"{stem}-{number}")
            for number, piece in enumerate(_pieces(plan, bucket, attempt))
        )
        every = chain(chain.from_iterable(pieces), results)
    filled = (batch for batch in every if len(batch))
    result.files = plan.layout.write(bucket.number, bucket.of, attempt, plan.table.name, schema, filled)
    return result


def _merged(
    plan: TablePlan, bucket: Bucket, results: Iterable[pa.RecordBatch], result: UnitResult, stem: str
) -> Iterator[pa.RecordBatch] | None:
    """Return the rows to write for a bucket whose base is in files; None if there are none."""
    query, table = plan.query, plan.table
    operations = list(bucket.operations(bucket.parts))
    touched = pc.unique(pa.concat_arrays([*plan.others, *(batch["hash"] for batch in operations)]))

    def read(files: Iterable[BaseFile]) -> Iterator[tuple[BaseFile, pa.RecordBatch, pa.BooleanArray]]:
        for file in files:
            for rows in base_rows(file, table, plan.base_types):
                yield file, rows, pc.is_in(rows[table.key_hash], value_set=touched)

    def unchanged(every: Iterable[tuple[BaseFile, pa.RecordBatch, pa.BooleanArray]]) -> Iterator[pa.RecordBatch]:
        return chain.from_iterable(_unchanged(rows, mask, query, result) for _, rows, mask in every)

    before = {file: _BaseRows() for file in bucket.base_files}
    # Rows at the keys of kept operations alone are rarely written.
    writes = bucket.results or any(pc.any(pc.greater_equal(batch["seq"], 0)).as_py() for batch in operations)
    held, memory = [], MemoryBudget(MAX_HELD_BYTES if writes and not plan.layout.deletes else 0)
    for file, rows, mask in read(bucket.base_files):
        before[file].add(rows, mask)
        if memory.take(rows.nbytes):
            held.append((file, rows, mask))
        else:
            held.clear()
    touched_rows = [rows for one in before.values() for rows in one.touched]
    others = (without_keys(table, rows, plan.kept) for rows in touched_rows)
    found = [*_rows_of_piece(plan, bucket, (iter(operations), others), result, stem), *results]
    after = concatenated(found, query.schema)
    gone, is_new = _different(touched_rows, after, query)
    left = len(gone) - gone.true_count
    if left == len(gone) == len(after) and not is_new.true_count:
        result.replaced = ()
        result.counts.present += len(after)
        return None
    if not plan.layout.deletes or left != len(after) - is_new.true_count:  # another program wrote a row twice
        return chain(unchanged(held if memory.left >= 0 else read(bucket.base_files)), [after])
    stay = _mark_deleted(before, gone, result)
    new = after.filter(_different(stay, after, query)[1])
    result.counts.present += sum(map(len, stay))
    has_others = any(before[file].count > sum(map(len, before[file].touched)) for file in result.replaced)
    return chain(unchanged(read(result.replaced)), [new]) if has_others or len(new) else None


def _mark_deleted(
    before: Mapping[BaseFile, _BaseRows], gone: pa.BooleanArray, result: UnitResult
) -> list[pa.RecordBatch]:
    """Choose the files that a new one replaces, and mark rows of others as deleted. Return the touched rows that stay
    where they are. `gone`: by touched row."""
    marks, worn = {}, set()
    for file, rows in before.items():
        deleted, places = decode_places(file.deleted), rows.places
        size, own, gone = rows.count + len(deleted), gone.slice(0, len(places)), gone.slice(len(places))
        if MIN_MARKED * (len(deleted) + own.true_count) > size:
            worn.add(file)
        elif own.true_count:
            every = numbered(size)
            present = every.filter(pc.invert(pc.is_in(every, value_set=deleted)))
            marked = pa.concat_arrays([deleted, present.take(places.filter(own))])
            marks[file] = ShortenedFile(file, encode_places(marked), size - len(marked))
    result.replaced = files_to_join({file: file.size for file in before}, worn)
    result.shortened += [mark for file, mark in marks.items() if file not in result.replaced]
    return [rows for file, one in before.items() if file not in result.replaced for rows in one.touched]


@dataclass
class _BaseRows:
    """The rows of a base file at some keys."""

    count: int = 0  # of all rows
    touched: list[pa.RecordBatch] = field(default_factory=list)
    parts: list[pa.Int64Array] = field(default_factory=list)  # the places of `touched` among all rows

    def add(self, rows: pa.RecordBatch, mask: pa.BooleanArray) -> None:
        self.touched.append(rows.filter(mask))
        self.parts.append(pc.add(pc.cast(pc.indices_nonzero(mask), pa.int64()), self.count))
        self.count += len(rows)

    @property
    def places(self) -> pa.Int64Array:
        return narrow(pa.concat_arrays(self.parts), pa.Int64Array)


def _different(
    base: Iterable[pa.RecordBatch], other: pa.RecordBatch, query: TableQuery
) -> tuple[pa.BooleanArray, pa.BooleanArray]:
    """Return which rows of the base are not among other rows of the result, and which of those are not in the base."""
    one = concatenated((_as_result(rows, query) for rows in base), query.schema)
    codes = row_codes([_bits(pa.concat_arrays(columns)) for columns in zip(one.columns, other.columns, strict=True)])
    own, others = codes.slice(0, len(one)), codes.slice(len(one))
    return pc.invert(pc.is_in(own, value_set=others)), pc.invert(pc.is_in(others, value_set=own))


def _bits(column: pa.Array[Any]) -> pa.Array[Any]:
    """Return values that are equal where those of a column are the same: 0.0 and -0.0 are not."""
    if pa.types.is_floating(column.type):
        return column.view(pa.int32() if column.type == pa.float32() else pa.int64())
    return as_text(column) if pa.types.is_list(column.type) else column


Piece = tuple[Iterator[pa.RecordBatch], Iterator[pa.RecordBatch]]  # operations, and rows of the base


def _pieces(plan: TablePlan, bucket: Bucket, attempt: int) -> Iterator[Piece]:
    table = plan.table
    pieces = buckets_of(table, bucket.pieces)
    if pieces == 1:
        yield load(bucket.parts), _base_of(plan, bucket)
        return
    stem = f"{bucket.number}-{attempt}"
    cut = []
    rows = "base-pieces", _base_of(plan, bucket), table.key_hash
    for what, batches, hashes in (("pieces", bucket.operations(bucket.parts), "hash"), rows):
        files = plan.files(what, stem)
        try:
            for batch in batches:
                files.write(table.name, batch, bucket_numbers(batch[hashes], pieces, bucket.of))
        finally:
            parts = files.close_one()
        by_piece: dict[int, list[StagedPart]] = {}
        for part in parts:
            by_piece.setdefault(part.bucket, []).append(part)
        cut.append(by_piece)
    for number in range(pieces):
        operations, base = (by_piece.pop(number, []) for by_piece in cut)
        yield load(operations), load(base)


def _rows_of_piece(
    plan: TablePlan, bucket: Bucket, piece: Piece, result: UnitResult, stem: str
) -> Iterator[pa.RecordBatch]:
    query, table = plan.query, plan.table
    schema = staged_schema(table)
    parts, base = piece
    operations = list(parts)
    linked = None if plan.linked is None else plan.linked.hashes
    if linked is not None:
        masks = _looked_up(operations, lambda hashes: pc.is_in(hashes, value_set=linked))
        operations = [batch.filter(pc.invert(mask)) for batch, mask in zip(operations, masks, strict=True)]
    changed = pa.concat_arrays([pa.array([], pa.uint64()), *(batch["hash"] for batch in operations)])
    own = bucket.has if bucket.of > 1 and any(part.bucket == EVERY for part in bucket.parts) else None
    for batch in base:
        rows = without_keys(table, batch, linked)
        if query.query.kind == "current" and not query.truncates and table.key:
            is_changed = pc.is_in(rows[table.key_hash], value_set=changed)
            yield from _unchanged(rows, is_changed, query, result)
            rows = rows.filter(is_changed)
        if len(rows):
            operations.append(base_operations(rows, table, schema))
    for number, found in enumerate(answers(query, operations, own=own)):
        yield found.rows
        _add(plan, found, result, f"{stem}-{number}")


def _unchanged(
    rows: pa.RecordBatch, is_changed: pa.BooleanArray, query: TableQuery, result: UnitResult
) -> Iterator[pa.RecordBatch]:
    for some in _without(rows, is_changed):
        yield _as_result(some, query)
        result.counts.add(_counts_of(some, query))


_Found = TypeVar("_Found", bound="pa.Array[Any]")


def _looked_up(batches: Sequence[pa.RecordBatch], look_up: Callable[[pa.UInt64Array], _Found]) -> Iterator[_Found]:
    """Yield what is found for the key hashes of each batch: all at once, as Arrow makes a table for each call."""
    hashes = pa.concat_arrays([pa.array([], pa.uint64()), *(batch["hash"] for batch in batches)])
    found = look_up(narrow(hashes, pa.UInt64Array))
    start = 0
    for batch in batches:
        yield found.slice(start, len(batch))
        start += len(batch)


def _without(rows: pa.RecordBatch, mask: pa.BooleanArray) -> Iterator[pa.RecordBatch]:
    """Yield the rows where a mask is false: without a copy if it is true at few places."""
    if mask.true_count * MIN_SLICE_ROWS > len(rows):
        rest = rows.filter(pc.invert(mask))
        if len(rest):
            yield rest
        return
    start = 0
    for stop in [*non_null_values(pc.indices_nonzero(mask)), len(rows)]:
        if stop > start:
            yield rows.slice(start, stop - start)
        start = stop + 1


def _as_result(rows: pa.RecordBatch, query: TableQuery) -> pa.RecordBatch:
    arrays = []
    for column in query.schema:
        if _has_column(rows, query, column.name):
            arrays.append(rows[column.name])
        elif column.name in (*query.columns, MOVED_FROM):
            arrays.append(nulls(len(rows), column.type))
        else:
            arrays.append(pa.repeat(pa.scalar(CURRENT, TEXT), len(rows)))
    return pa.RecordBatch.from_arrays(arrays, schema=query.schema)


def _counts_of(rows: pa.RecordBatch, query: TableQuery) -> RowCounts:
    counts = RowCounts()
    counts.states[CURRENT] = len(rows)
    for name in query.columns:
        if not _has_column(rows, query, name):
            counts.added[name] += len(rows)
    return counts


def _has_column(rows: pa.RecordBatch, query: TableQuery, name: str) -> bool:
    return name in rows.schema.names and name in query.columns and query.table.is_old(name, query.epoch)


def _add(plan: TablePlan, found: UnitAnswer, result: UnitResult, stem: str) -> None:
    """Add what an answer has besides rows to a result, and write its operations."""
    result.counts.add(found.counts)
    result.free += [] if found.free is None else [found.free]
    if len(found.unresolved):
        _add_unresolved(plan, found.unresolved, result, stem)
    if found.kept is not None:
        _add_kept(plan, found.kept, result, stem)


def _add_unresolved(plan: TablePlan, operations: pa.RecordBatch, result: UnitResult, stem: str) -> None:
    rows = generic_operations(operations, plan.query)
    for row in rows.slice(0, MAX_PLACES).to_pylist():
        place = Span(file=row["file"], offset=row["offset"], table=plan.table.name, position=row["position"])
        result.places.append((row[REASON], place))
    to = ROW_FORMATS[plan.layout.suffix].of_operations
    target = plan.directory.child("unresolved", f"{plan.number:05d}-{stem}")
    result.unresolved.append(write_rows(target, to, plan.table.name, UNRESOLVED_SCHEMA, [rows]))


def _add_kept(plan: TablePlan, kept: Selection, result: UnitResult, stem: str) -> None:
    def written(what: str, batch: pa.RecordBatch) -> WrittenFile | None:
        target = plan.directory.child("kept", f"{plan.number:05d}-{stem}-{what}")
        schema, rows = kept_schema(plan.table), [as_kept(batch, plan.query)]
        return write_rows(target, "parquet", plan.table.name, schema, rows) if len(batch) else None

    doubted, open = written("doubted", kept.doubted), written("open", kept.open)
    result.kept.ends.append(kept.end)
    result.kept.doubted += [] if doubted is None else [doubted]
    result.kept.open += [] if open is None else [(kept.end, open)]


def generic_operations(operations: pa.RecordBatch, query: TableQuery) -> pa.RecordBatch:
    """Return unresolved operations as those of all tables: with images as maps from column to text."""
    table, count = query.table, len(operations)
    op = operations["op"]
    images = {}
    for image, prefix, of_op in (("before", "b", DELETE), ("after", "a", INSERT)):
        columns = []
        shown = pc.or_(pc.equal(op, of_op), pc.and_(pc.equal(op, UPDATE), pa.repeat(pa.scalar(prefix == "a"), count)))
        for i in range(len(table.columns)):
            present = narrow(operations[f"h{prefix}{i}"], pa.BooleanArray)
            columns.append(ImageColumn(narrow(operations[f"{prefix}{i}"], pa.StringArray), present))
            shown = pc.or_(shown, present)
        images[image] = image_maps(Image(tuple(columns), shown), table.columns, count)
    if not table.key:  # an update there is a delete and an insert with both images
        both = pc.and_(images["before"].is_valid(), images["after"].is_valid())
        op = pc.if_else(both, pa.scalar(UPDATE, op.type), op)
    known = {
        REASON: operations[REASON],
        "table": pa.repeat(pa.scalar(table.name, TEXT), count),
        "op_type": OPS.take(op),
        "op_ts": operations["ts"],
        "position": operations["position"],
        "file": pa.array([query.file_of(seq) for seq in non_null_values(operations["seq"])], TEXT),
        "offset": operations["offset"],
        "seq": operations["seq"],
        **images,
    }
    return pa.RecordBatch.from_arrays([known[column.name] for column in UNRESOLVED_SCHEMA], schema=UNRESOLVED_SCHEMA)
