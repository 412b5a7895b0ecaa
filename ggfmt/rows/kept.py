"""Operations that a result keeps, so that later runs can merge into it as if they had read everything.

Rows alone do not say what later operations mean. A run that others may continue keeps the operations

- of unresolved rows, which a later operation may decide;
- at its end: of keys at which two rows are in the middle of a transaction, of the last key (its delete may be half of a
  key update), and at the last position (where operations may come again).

With them go all operations of the keys that they are connected with, and the rows that these keys had before. The next
run takes the kept operations before its own, and leaves out the rows of the result at their keys.

A table that cannot go on may be set aside. A file then has all its operations of a run, with truncates and without
rows: the next run takes them as if it had read them first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import concatenated, empty_batch, narrow, non_null_values, nulls, numbered
from ggfmt.arrow.parquet_files import read_whole
from ggfmt.columnar.hashes import row_codes, row_hashes
from ggfmt.columnar.strings import canonical_numbers
from ggfmt.columnar.typed import as_text, typed_values
from ggfmt.dataclasses import dataclass, field
from ggfmt.diagnostics.diagnostic import Span, UsageError
from ggfmt.frames.column_types import TEXT
from ggfmt.frames.shapes import ddl_type
from ggfmt.location import Location
from ggfmt.rows.fold import Fold
from ggfmt.rows.identities import Identities
from ggfmt.rows.key_updates import KeyLinks, connected, in_moment_of
from ggfmt.rows.operations import BASE_SEQ, DELETE, INSERT, any_of, staged_schema, truncate_operations
from ggfmt.rows.ordering import Ordering
from ggfmt.rows.results import End, FreeKeys, RowCounts, Selection, TableQuery, last_places
from ggfmt.rows.tables import RowTable

KEPT_DIRECTORY = "_kept"
# Keys without a row after a run, and (`before`) those of its operations without a row before them
FREE_KEYS = pa.schema([pa.field("hash", pa.uint64())]).append(pa.field("before", pa.bool_()))
MAX_FREE_KEYS = 1 << 20

_LONG, _BOOL = pa.int64(), pa.bool_()
_FIXED = ("seq", "op", "ts", "position", "origin", "tx", "offset", "keyed", "hash", "moves", "old_hash")
_KEYS, _IMAGES = ("k", "o"), ("b", "hb", "a", "ha", "u")
_COMPONENT, _FILE = "component", "file"


def select_kept(
    query: TableQuery,
    fold: Fold,
    lasting: pa.BooleanArray,
    rows: Collection[int],
    identities: Identities | None,
    codes: tuple[pa.Int64Array, pa.Int64Array] | None,
) -> Selection | None:
    """Return what to keep of folded operations; None if nothing is left after a truncate.

    lasting  which operations come after the last truncate
    rows     that are unresolved
    codes    of the keys after operations and before them, if they are connected
    """
    batch = fold.batch
    places = non_null_values(pc.indices_nonzero(lasting))
    if not places or batch["seq"][places[-1]].as_py() == BASE_SEQ:
        return None
    last = batch.slice(places[-1], 1)
    components = fold.groups if codes is None else _components(*codes, identities)
    doubted = pc.is_in(fold.groups, value_set=pa.array(sorted(rows), _LONG))
    ends = set(places[-1:])
    if query.ordering.by is not None:
        same = pc.equal(batch["position"], last["position"][0])
        ends.update(non_null_values(pc.indices_nonzero(pc.fill_null(same, False))))
    ends.update(_inserted_over(fold, last) if identities is None else identities.open)
    at_end = pc.is_in(numbered(len(batch)), value_set=pa.array(sorted(ends), _LONG))
    of_doubted, of_open = (
        pc.and_(pc.is_in(components, value_set=components.filter(pc.and_(mask, lasting))), lasting)
        for mask in (doubted, at_end)
    )
    tagged = batch.append_column(_COMPONENT, components)
    return Selection(tagged.filter(of_doubted), tagged.filter(pc.and_not(of_open, of_doubted)), end_of(last))


def select_keyless(batch: pa.RecordBatch, wanted: pa.BooleanArray) -> Selection | None:
    if not wanted.true_count:
        return None
    tagged = tagged_alone(batch)
    return Selection(tagged.filter(wanted), tagged.slice(0, 0), end_of(batch.slice(len(batch) - 1)))


def tagged_alone(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.append_column(_COMPONENT, pa.array(range(-len(batch), 0), _LONG))


def end_of(last: pa.RecordBatch) -> End:
    position, seq, transaction = (last[name][0].as_py() for name in ("position", "seq", "tx"))
    return End(position, seq, transaction, last["ts"].cast(_LONG)[0].as_py())


def select_whole(query: TableQuery, batches: Sequence[pa.RecordBatch], every: pa.RecordBatch) -> Selection | None:
    """Return what to keep of operations with whole images, which nothing connects. They leave nothing unresolved.
    `every`: the heads of those that count, in order."""
    if not len(every) or every["seq"][len(every) - 1].as_py() == BASE_SEQ:
        return None
    last = every.slice(len(every) - 1)
    inserts = every.filter(pc.equal(every["op"], INSERT))
    inserts = inserts.filter(in_moment_of(last, inserts))
    ends = [last["hash"]]
    some = every.filter(pc.is_in(every["hash"], value_set=inserts["hash"]))
    counts = pc.value_counts(some["hash"])
    # Such an insert may be at the key of a row that nothing has deleted.
    ends.append(counts.field("values").filter(pc.greater(counts.field("counts"), 1)))
    if query.ordering.by is not None:
        same = pc.fill_null(pc.equal(every["position"], last["position"][0]), False)
        ends.append(every["hash"].filter(same))
    hashes = pa.concat_arrays(ends)
    parts = [batch.filter(pc.is_in(batch["hash"], value_set=hashes)) for batch in batches]
    found = query.ordering.sort(concatenated(parts, staged_schema(query.table)))
    tagged = found.append_column(_COMPONENT, row_codes([found["hash"]]))
    return Selection(tagged.slice(0, 0), tagged, end_of(last))


def _components(new: pa.Int64Array, old: pa.Int64Array, identities: Identities | None) -> pa.Int64Array:
    """Return for each operation a number of the keys that operations connect with its key."""
    codes, before = non_null_values(new), non_null_values(old)
    halves = () if identities is None else identities.halves.items()
    pairs = chain(
        (pair for pair in zip(before, codes, strict=True) if pair[0] != pair[1]),
        ((before[delete], codes[insert]) for insert, delete in halves),
    )
    roots = connected(max((*codes, *before), default=-1) + 1, pairs)
    return pa.array([roots[code] for code in codes], _LONG)


def _inserted_over(fold: Fold, last: pa.RecordBatch) -> Iterable[int]:
    """Return inserts of the last moment at keys of rows that nothing has deleted: their deletes may follow."""
    count = len(fold.batch) - 1
    if count < 1:
        return ()
    op, groups = fold.batch["op"].take(fold.order), fold.groups.take(fold.order)
    over = pc.and_(pc.equal(op.slice(1), INSERT), pc.not_equal(op.slice(0, count), DELETE))
    over = pc.and_(over, pc.equal(groups.slice(1), groups.slice(0, count)))
    inserts = fold.order.slice(1).filter(over)
    return non_null_values(inserts.filter(in_moment_of(last, fold.batch.take(inserts))))


# Files


def kept_schema(table: RowTable) -> pa.Schema:
    """Return the columns of a file of kept operations: those of staging with the names of the columns that the table
    has in the end. A later column with the name of a dropped one is another column."""
    staged, last = staged_schema(table), table.epochs[-1].columns
    fields = [staged.field(name) for name in _FIXED] + [pa.field(_COMPONENT, _LONG), pa.field(_FILE, TEXT)]
    for names, prefixes in ((table.identity, _KEYS), (table.columns, _IMAGES)):
        fields += [
            staged.field(f"{prefix}{place}").with_name(f"{prefix}.{name}")
            for place, name in enumerate(names)
            if name in last
            for prefix in prefixes
        ]
    return pa.schema(fields)


def as_kept(batch: pa.RecordBatch, query: TableQuery) -> pa.RecordBatch:
    table = query.table
    arrays = {name: batch[name] for name in (*_FIXED, _COMPONENT)}
    arrays[_FILE] = pa.array([query.file_of(seq) for seq in non_null_values(batch["seq"])], TEXT)
    for j, name in enumerate(table.identity):
        arrays |= {f"{p}.{name}": batch[f"{p}{j}"] for p in _KEYS}
    for i, name in enumerate(table.columns):
        own = [batch[f"{p}{i}"] for p in _IMAGES]
        arrays |= {
            f"{p}.{name}": column for p, column in zip(_IMAGES, _since_arrival(batch, table, name, own), strict=True)
        }
    schema = kept_schema(table)
    return pa.RecordBatch.from_arrays([arrays[name] for name in schema.names], schema=schema)


def _since_arrival(
    batch: pa.RecordBatch, table: RowTable, name: str, images: list[pa.Array[Any]]
) -> list[pa.Array[Any]]:
    """Return the images of a column. Before the table got it, in its present life, it is NULL."""
    arrival = table.arrivals(name)[-1]
    if arrival is None or arrival == table.epochs[0].start or name in table.key:
        return images
    early = pc.less(batch["seq"], arrival)
    count = len(batch)
    no, yes = pa.repeat(pa.scalar(False), count), pa.repeat(pa.scalar(True), count)
    there = pc.and_not(yes, pc.equal(batch["op"], DELETE))
    before = any_of([narrow(batch[f"hb{i}"], pa.BooleanArray) for i in range(len(table.columns))], count)
    blank = [nulls(count, TEXT), before, nulls(count, TEXT), there, no]
    return [pc.if_else(early, one, other) for one, other in zip(blank, images, strict=True)]


@dataclass(frozen=True)
class KeptOperations:
    """Kept operations of a table, in order, as staging has them: `files` has the name of the file of each. `links` has
    the keys that they connect; `columns`: those that the table had."""

    batch: pa.RecordBatch
    files: tuple[str | None, ...] = ()
    links: list[KeyLinks] = field(default_factory=list)
    columns: frozenset[str] = frozenset()

    @property
    def last(self) -> pa.RecordBatch | None:
        keyed = self.batch.filter(self.batch["keyed"]) if len(self.batch) else self.batch
        if not len(keyed) or keyed["seq"][len(keyed) - 1].as_py() == BASE_SEQ:
            return None
        return keyed.slice(len(keyed) - 1)

    @property
    def hashes(self) -> pa.Array[pa.UInt64Scalar]:
        both = pa.concat_arrays([self.batch["hash"], self.batch["old_hash"]])
        return pc.unique(both.drop_null())


def set_aside_batches(
    query: TableQuery, batches: Iterable[pa.RecordBatch], counts: RowCounts
) -> Iterator[pa.RecordBatch]:
    """Yield all operations of a table as a file has them, truncates first. Raises: as `last_places`."""
    for batch in chain([truncate_operations(query.truncates, staged_schema(query.table))], batches):
        if len(batch):
            counts.last_places += last_places(query, query.ordering.sort(batch))
            yield as_kept(batch.append_column(_COMPONENT, nulls(len(batch), _LONG)), query)


def load_kept(locations: Sequence[Location], table: RowTable, ordering: Ordering, before: int = 0) -> KeptOperations:
    """Return kept operations with places before all others. `ordering` was that of the run that kept them; `before`:
    how many others with such places come later. Raises: UsageError GG551 if the table has another key now."""
    schema = staged_schema(table)
    if not locations:
        return KeptOperations(empty_batch(schema))
    batches: list[pa.RecordBatch] = []
    files: list[str | None] = []
    links: list[KeyLinks] = []
    columns: set[str] = set()
    for location in locations:
        with location.open_file() as stream:
            read = read_whole(parquet.ParquetFile(stream))
        for batch in read.combine_chunks().to_batches():
            staged = _as_staged(batch, table, schema)
            links += _links(staged, batch[_COMPONENT])
            batches.append(staged)
            files += batch[_FILE].to_pylist()
            columns.update(name.removeprefix("a.") for name in batch.schema.names if name.startswith("a."))
    every = concatenated(batches, schema)
    numbers = numbered(len(every))
    offset = schema.get_field_index("offset")
    order = ordering.sort(every.set_column(offset, "offset", numbers))["offset"]
    every = every.take(order)
    names = [files[number] for number in non_null_values(order)]
    seqs = pc.if_else(pc.equal(every["seq"], BASE_SEQ), every["seq"], pc.subtract(numbers, len(every) + before))
    return KeptOperations(every.set_column(0, "seq", seqs), tuple(names), links, frozenset(columns))


def load_free_keys(locations: Sequence[Location], kept: KeptOperations) -> pa.UInt64Array:
    """Return the keys at which no row is before the operations of a run, of which the kept ones are the first."""
    parts: list[pa.Array[Any]] = [pa.array([], pa.uint64())]
    for location in locations:
        with location.open_file() as stream:
            for batch in read_whole(parquet.ParquetFile(stream)).to_batches():
                is_before = batch["before"] if "before" in batch.schema.names else pa.scalar(False)  # of an older ggfmt
                is_kept = pc.is_in(batch["hash"], value_set=kept.hashes)
                parts.append(batch["hash"].filter(pc.equal(is_kept, is_before)))
    return narrow(pa.concat_arrays(parts), pa.UInt64Array)


def keys_without_rows(before: pa.UInt64Array | None, found: Sequence[FreeKeys]) -> pa.RecordBatch:
    """Return the keys at which no row is, for the next run: after all operations, and before those that may be kept.
    `before`: as `load_free_keys` has returned them."""
    no_keys: pa.Array[Any] = pa.array([], pa.uint64())
    now = pa.concat_arrays([no_keys, *(each.now for each in found)])
    used = pc.unique(pa.concat_arrays([no_keys, *(each.used for each in found)]))
    if before is not None:
        now = pa.concat_arrays([now, before.filter(pc.invert(pc.is_in(before, value_set=used)))])
    now = pc.unique(now).slice(0, MAX_FREE_KEYS)
    is_before = pa.concat_arrays([pa.repeat(pa.scalar(False), len(now)), pa.repeat(pa.scalar(True), len(used))])
    return pa.RecordBatch.from_arrays([pa.concat_arrays([now, used]), is_before], schema=FREE_KEYS)


def _links(batch: pa.RecordBatch, components: pa.Array[Any]) -> list[KeyLinks]:
    if components.null_count:
        return []
    first: dict[int, int] = {}
    old, new = [], []
    columns = (non_null_values(components), *(batch[name].to_pylist() for name in ("hash", "old_hash")))
    for component, *hashes in zip(*columns, strict=True):
        for one in hashes:
            if one is not None and first.setdefault(component, one) != one:
                old.append(first[component])
                new.append(one)
    return [KeyLinks(pa.array(old, pa.uint64()), pa.array(new, pa.uint64()))] if old else []


def other_key_error(table: str) -> UsageError:
    help = "give the key of the earlier runs, or consolidate all files into another output"
    return UsageError("GG551", "the table has another key than in earlier runs", Span(table=table), help)


def _as_staged(batch: pa.RecordBatch, table: RowTable, schema: pa.Schema) -> pa.RecordBatch:
    names = batch.schema.names
    known = {name.removeprefix("k.") for name in names if name.startswith("k.")}
    every = {name.removeprefix("a.") for name in names if name.startswith("a.")}
    if known != (set(table.key) or every):
        raise other_key_error(table.name)
    arrays = {name: batch[name] if name in names else nulls(len(batch), TEXT) for name in _FIXED}  # of an older ggfmt
    retyped = False
    for j, name in enumerate(table.identity):
        for prefix in _KEYS:
            there = f"{prefix}.{name}" in names  # a table without a key may have got a column
            column = batch[f"{prefix}.{name}"] if there else nulls(len(batch), table.key_type(name))
            key = arrays[f"{prefix}{j}"] = _key_values(column, table, name)
            retyped = retyped or not there or key is not column
    if retyped or len(known) > len(table.identity):
        for name, prefix in (("hash", "k"), ("old_hash", "o")):
            hashes = row_hashes([arrays[f"{prefix}{j}"] for j in range(len(table.identity))])
            arrays[name] = pc.if_else(batch["keyed"], hashes, pa.scalar(None, pa.uint64()))
    for i, name in enumerate(table.columns):
        for prefix in _IMAGES:
            there = f"{prefix}.{name}" in names
            type = TEXT if prefix in ("a", "b") else _BOOL
            absent = nulls(len(batch), TEXT) if type == TEXT else pa.repeat(pa.scalar(False), len(batch))
            arrays[f"{prefix}{i}"] = batch[f"{prefix}.{name}"] if there else absent
    return pa.RecordBatch.from_arrays([arrays[name] for name in schema.names], schema=schema)


def _key_values(column: pa.Array[Any], table: RowTable, name: str) -> pa.Array[Any]:
    type = table.key_type(name)
    if column.type == type and name not in table.number_texts:
        return column
    texts = narrow(as_text(column), pa.StringArray)
    if name in table.found or name in table.number_texts:
        return canonical_numbers(texts)
    values, wrong = typed_values(texts, type)
    if wrong:
        message = f"`{name}` was `{ddl_type(column.type)}` in earlier runs, and is `{ddl_type(type)}` now"
        help = f"give `--type '{table.name}.{name}=string'`, or consolidate all files into another output"
        raise UsageError("GG551", message, Span(table=table.name, field=name), help)
    return values


def without_keys(table: RowTable, rows: pa.RecordBatch, hashes: pa.Array[pa.UInt64Scalar] | None) -> pa.RecordBatch:
    """Return rows of the result but those of some keys: kept operations, or those of connected keys, bring them."""
    if hashes is None or not len(hashes):
        return rows
    return rows.filter(pc.invert(pc.is_in(rows[table.key_hash], value_set=hashes)))
