"""Operations of one table in columns, as they are staged: texts as read, and typed keys.

A batch has these columns. `i` counts the columns of the table, `j` those that identify a row: its key,
or all columns of a table without a key. In a table without a key, an update is a delete and an insert.

    seq        int64   the place in the input (see `frames.batches`); `BASE_SEQ` for rows of a base snapshot
    op         int8    `INSERT`, `UPDATE`, `DELETE`, `TRUNCATE`
    ts         the time of the operation, null if the source has none
    position   text, null if the source has none
    origin     text, which log the position is of, as in `ChangeBatch`
    tx         text, the source transaction, null if unknown
    offset     int64   the byte at which the record starts in its file
    keyed      bool    the images contain the whole key, and no NULL in it
    hash       uint64  of the key after the operation
    moves      bool    an update that changes the key
    old_hash   uint64  of the key before the operation
    k<j>       the key after the operation (of a delete, before it), typed (see `RowTable.key_type`)
    o<j>       the key before it, typed
    b<i>, a<i> text    the value in the before and in the after image
    hb<i>, ha<i> bool  the image exists and contains the column
    u<i>       bool    the source has a value for the column that the after image does not show
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, reduce
from typing import Any, Final

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import as_strings, concatenated, narrow, nulls
from ggfmt.columnar.hashes import row_hashes
from ggfmt.columnar.images import differ
from ggfmt.columnar.strings import canonical_numbers
from ggfmt.columnar.typed import as_text, differ_typed, typed_values
from ggfmt.dataclasses import dataclass
from ggfmt.frames.batches import LocatedBatch
from ggfmt.frames.column_types import INSTANT, TEXT
from ggfmt.model.change import OP_TYPES, Image
from ggfmt.rows.tables import RowTable

INSERT: Final = 0
UPDATE: Final = 1
DELETE: Final = 2
TRUNCATE: Final = 3
BASE_SEQ: Final = -(1 << 61)

OPS = pa.array(OP_TYPES, TEXT)  # by the numbers of operations
_BYTE, _LONG, _WORD, _BOOL = pa.int8(), pa.int64(), pa.uint64(), pa.bool_()
_TRUE, _FALSE = pa.scalar(True), pa.scalar(False)
_NO_TEXT = pa.scalar(None, TEXT)
_NO_VALUE = r"^(?:-?[0.]+|false|AA==|\{\}|\[\]|1970-01-01T00:00:00[.0]*Z)?$"


def staged_schema(table: RowTable) -> pa.Schema:
    return _staged_schema(tuple(map(table.key_type, table.identity)), len(table.columns))


@lru_cache(64)
def _staged_schema(key: Sequence[pa.DataType], columns: int) -> pa.Schema:
    fields: list[tuple[str, pa.DataType]] = [
        ("seq", _LONG),
        ("op", _BYTE),
        ("ts", INSTANT),
        ("position", TEXT),
        ("origin", TEXT),
        ("tx", TEXT),
        ("offset", _LONG),
        ("keyed", _BOOL),
        ("hash", _WORD),
        ("moves", _BOOL),
        ("old_hash", _WORD),
    ]
    for j, type in enumerate(key):
        fields += [(f"k{j}", type), (f"o{j}", type)]
    for i in range(columns):
        fields += [(f"b{i}", TEXT), (f"hb{i}", _BOOL), (f"a{i}", TEXT), (f"ha{i}", _BOOL), (f"u{i}", _BOOL)]
    return pa.schema(fields)


@dataclass
class _ImageParts:
    """A column of one of the images of n operations: `values` where `present`."""

    values: pa.StringArray
    present: pa.BooleanArray


def staged_operations(
    located: LocatedBatch, table: RowTable, schema: pa.Schema, unfit: Counter[str] | None = None
) -> pa.RecordBatch:
    """Return the operations of a batch. `unfit` counts by column the values of keys that the type does not have.
    Raises: Abend GG530, with its place, for a key or a time that is no value of its type."""
    batch = located.batch
    count = len(batch)
    op = pc.cast(pc.index_in(batch.op, OPS), _BYTE)
    columns: dict[str, pa.Array[Any]] = {
        "seq": located.seq,
        "op": op,
        "ts": located.op_ts,
        "position": batch.position,
        "origin": nulls(count, TEXT) if batch.origin is None else batch.origin,
        "tx": nulls(count, TEXT) if batch.transaction is None else batch.transaction,
        "offset": located.offset,
    }
    places = {name: place for place, name in enumerate(batch.table.column_names)}
    images: dict[str, tuple[_ImageParts, _ImageParts]] = {}
    none = pa.repeat(_FALSE, count)
    before = _ImageParts(pa.nulls(count, TEXT), batch.before.exists_mask(count))
    after = _ImageParts(before.values, batch.after.exists_mask(count))
    absent = _ImageParts(before.values, none)
    for i, name in enumerate(table.columns):
        place = places.get(name)
        before = absent if place is None else _parts(batch.before, place, before)
        after = absent if place is None else _parts(batch.after, place, after)
        images[name] = before, after
        unavailable = None if place is None else batch.after.columns[place].unavailable
        columns |= {
            f"b{i}": before.values,
            f"hb{i}": before.present,
            f"a{i}": after.values,
            f"ha{i}": after.present,
            f"u{i}": none if unavailable is None else unavailable,
        }
    if table.key or not pc.equal(op, UPDATE).true_count:
        columns |= _keys(located, table, images, op, unfit)
        return pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)
    halves = []
    for half in (DELETE, INSERT):
        ops = pc.if_else(pc.equal(op, UPDATE), pa.scalar(half, _BYTE), op)
        own = {**columns, "op": ops, **_keys(located, table, images, ops, unfit)}
        rows = pc.or_(pc.equal(op, UPDATE), pa.repeat(pa.scalar(half == DELETE), count))
        part = pa.RecordBatch.from_arrays([own[name] for name in schema.names], schema=schema)
        halves.append(part.filter(rows))
    return concatenated(halves, schema)


def _parts(image: Image, place: int, beside: _ImageParts) -> _ImageParts:
    """Return a column. `beside`: another one, whose array of `present` it gets if that has the same values."""
    column = image.columns[place]
    masks = [mask for mask in (column.present, image.exists) if mask is not None]
    present = reduce(pc.and_, masks) if masks else image.exists_mask(len(column.values))
    return _ImageParts(column.values, beside.present if present.equals(beside.present) else present)


def _keys(
    located: LocatedBatch,
    table: RowTable,
    images: dict[str, tuple[_ImageParts, _ImageParts]],
    op: pa.Array[Any],
    counts: Counter[str] | None,
) -> dict[str, pa.Array[Any]]:
    """Return the key columns. An update that shows the key in one image has it before and after."""
    count = len(op)
    inserts, deletes = pc.equal(op, INSERT), pc.equal(op, DELETE)
    keyed, moves = pa.repeat(_TRUE, count), pa.repeat(_FALSE, count)
    columns: dict[str, pa.Array[Any]] = {}
    known_before = pa.repeat(_TRUE, count)
    if table.key:  # a source may write NULL for all of a key that it does not know
        known = [pc.and_(images[name][0].present, images[name][0].values.is_valid()) for name in table.key]
        known_before = any_of(known, count)
    for j, name in enumerate(table.identity):
        before, after = images[name]
        has_after = pc.and_not(after.present, deletes)
        has_before = pc.and_(pc.and_not(before.present, inserts), known_before)
        new = pc.if_else(has_after, after.values, pc.if_else(has_before, before.values, _NO_TEXT))
        keyed = pc.and_(keyed, pc.or_(has_after, has_before))
        typed, unfit = _typed(located, table, name, new)
        old_typed = typed
        both = pc.and_(has_after, has_before)
        if both.true_count:
            old = pc.if_else(both, before.values, new)
            if pc.any(differ(narrow(old, pa.StringArray), narrow(new, pa.StringArray))).as_py():
                old_typed, wrong = _typed(located, table, name, old)
                unfit = [*unfit, *wrong]
                moves = pc.or_(moves, differ_typed(old_typed, typed))
        if unfit and counts is not None:
            counts[name] += len(set(unfit))
        if table.key:  # NULL is no key, and neither is a value that the type does not have
            keyed = pc.and_(keyed, pc.and_(typed.is_valid(), old_typed.is_valid()))
        columns |= {f"k{j}": typed, f"o{j}": old_typed}
    new_keys = [columns[f"k{j}"] for j in range(len(table.identity))]
    moves = pc.and_(moves, keyed)
    hashes: pa.Array[Any] = row_hashes(new_keys) if new_keys else nulls(count, _WORD)
    old_hashes = hashes
    if moves.true_count:
        old_hashes = row_hashes([columns[f"o{j}"] for j in range(len(table.identity))])
    return {"keyed": keyed, "hash": hashes, "moves": moves, "old_hash": old_hashes, **columns}


def _typed(located: LocatedBatch, table: RowTable, name: str, texts: pa.StringArray) -> tuple[pa.Array[Any], list[int]]:
    if name in table.found:
        return key_values(texts, table, name), []
    values, wrong = typed_values(texts, table.types[name])
    if wrong and (table.on_unfit == "error" or (not table.key and table.on_unfit == "unresolved")):
        raise located.unshown(wrong[0], name, table.types[name], texts[wrong[0]].as_py())
    return key_values(values, table, name), wrong


def key_values(values: pa.Array[Any], table: RowTable, name: str) -> pa.Array[Any]:
    """Return typed values of a column as keys have them: equal values are the same."""
    if values.type != table.key_type(name):
        values = as_text(values)
    if name in table.found or name in table.number_texts:
        return canonical_numbers(as_strings(values))
    # Minus zero is zero. Rows without a key show what they were.
    return pc.add(values, pa.scalar(0, values.type)) if table.key and pa.types.is_floating(values.type) else values


def base_operations(rows: pa.RecordBatch, table: RowTable, schema: pa.Schema) -> pa.RecordBatch:
    """Return rows of a base snapshot as inserts before all operations. Columns that the rows lack are missing."""
    count = len(rows)
    columns: dict[str, pa.Array[Any]] = {
        "seq": pa.repeat(pa.scalar(BASE_SEQ, _LONG), count),
        "op": pa.repeat(pa.scalar(INSERT, _BYTE), count),
        "keyed": pa.repeat(_TRUE, count),
    }
    for j, name in enumerate(table.identity):
        # Without a key, all columns identify a row; the base may be older than a column.
        known = name in rows.schema.names
        values = key_values(rows[name], table, name) if known else nulls(count, table.key_type(name))
        columns |= dict.fromkeys((f"k{j}", f"o{j}"), values)
    keys = [columns[f"k{j}"] for j in range(len(table.identity))]
    hashes: pa.Array[Any] = row_hashes(keys) if keys else nulls(count, _WORD)
    columns |= {"hash": hashes, "old_hash": hashes}
    for i, name in enumerate(table.columns):
        if name in rows.schema.names:
            columns |= {f"a{i}": as_text(rows.column(name)), f"ha{i}": pa.repeat(_TRUE, count)}
    return _completed(columns, schema, count)


def truncate_operations(truncates: Sequence[Truncate], schema: pa.Schema) -> pa.RecordBatch:
    count = len(truncates)
    columns: dict[str, pa.Array[Any]] = {
        "seq": pa.array([each.seq for each in truncates], _LONG),
        "op": pa.repeat(pa.scalar(TRUNCATE, _BYTE), count),
        "ts": pa.array([each.micros for each in truncates], _LONG).cast(INSTANT),
        "position": pa.array([each.position for each in truncates], TEXT),
        "origin": pa.array([each.origin for each in truncates], TEXT),
        "tx": pa.array([each.tx for each in truncates], TEXT),
    }
    return _completed(columns, schema, count)


def _completed(columns: Mapping[str, pa.Array[Any]], schema: pa.Schema, count: int) -> pa.RecordBatch:
    """Return n operations with some columns; others are false or null."""
    types = {field.type for field in schema if field.name not in columns}
    absent = {type: pa.repeat(_FALSE, count) if type == _BOOL else nulls(count, type) for type in types}
    arrays = [columns[field.name] if field.name in columns else absent[field.type] for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


@dataclass(frozen=True, order=True)
class Truncate:
    seq: int
    position: str | None = None
    micros: int | None = None
    tx: str | None = None
    origin: str | None = None


def shows_values(column: Callable[[str], pa.Array[Any]], table: RowTable) -> pa.BooleanArray:
    """Return which before images have a value besides the key. `column` returns a column of n operations. Debezium
    writes NULL for columns that it does not know, and an empty text or a zero where the table allows no NULL."""
    found = pa.repeat(_FALSE, len(column("op")))
    for i, name in enumerate(table.columns):
        if name not in table.key and found.true_count < len(found):
            is_value = pc.fill_null(pc.invert(pc.match_substring_regex(column(f"b{i}"), _NO_VALUE)), False)
            found = pc.or_(found, pc.and_(narrow(column(f"hb{i}"), pa.BooleanArray), is_value))
    return found


def without_before_images(batch: pa.RecordBatch, table: RowTable) -> pa.RecordBatch:
    """Return operations without before images if all have whole after images: current rows do not need them."""
    if not is_whole(batch, table):
        return batch
    kept = {name: batch[name] for name in batch.schema.names if not name.startswith(("b", "hb"))}
    return _completed(kept, batch.schema, len(batch))


def is_whole(batch: pa.RecordBatch, table: RowTable) -> bool:
    """Return whether all operations have a key, and all columns in their after images unless they are deletes."""
    if narrow(batch["keyed"], pa.BooleanArray).true_count < len(batch):
        return False
    deletes = pc.equal(batch["op"], DELETE)
    whole = (pc.or_(deletes, narrow(batch[f"ha{i}"], pa.BooleanArray)) for i in range(len(table.columns)))
    return all(mask.true_count == len(batch) for mask in whole)


def any_of(masks: Sequence[pa.BooleanArray], count: int) -> pa.BooleanArray:
    return reduce(pc.or_, masks, pa.repeat(_FALSE, count))
