"""Rows of a frame of operations, of either shape, as batches of operations."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeVar

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import StringMapArray, as_string_maps, as_strings, list_array, narrow, non_null_values
from ggfmt.columnar.typed import as_text
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic, Span, list_names
from ggfmt.formats.api.reading import Reject
from ggfmt.formats.records.problems import contradictions, name_problem, unknown_column
from ggfmt.frames.column_types import TEXT
from ggfmt.frames.images import DecodedImage, MapImages, first_seen, rows_by_value, struct_image
from ggfmt.frames.shapes import IMAGES, MISSING, NAMES, TEXTS, FrameShape, plain_type
from ggfmt.model.change import OP_TYPES, ChangeBatch
from ggfmt.model.table import TableDef
from ggfmt.options.value_types import Keys, key_of


@dataclass
class SequenceRange:
    first: int
    last: int


_A = TypeVar("_A", bound="pa.Array[Any]")


class RowReader:
    """Makes batches of operations from the rows of one partition, which come as Arrow batches.

    `definitions` applies to its tables. The shape defines any other one with the names in the maps of its first rows;
    `found` has these tables, and `keys` their keys. `order`: the range of `seq` of each table,
    and of all under the empty name.
    """

    def __init__(self, shape: FrameShape, definitions: Mapping[str, TableDef], keys: Keys, in_order: bool) -> None:
        self.found: dict[str, TableDef] = {}
        self.order: dict[str, SequenceRange] = {}
        self._shape = shape
        self._definitions = definitions
        self._keys = keys
        self._in_order = in_order
        self._rows = 0
        self._first = 0
        self._batch: pa.RecordBatch | None = None

    def read(self, batch: pa.RecordBatch) -> Iterator[ChangeBatch | Reject]:
        """Return rejects of rows that are not operations, and the other rows by table. Raises: Abend GG542 for a table
        whose rows have different columns, GG543 for rows that are not in order, GG541 for a key of unknown columns."""
        damaged = _undecodable(batch)
        if damaged:
            self._hold(batch)
            reason = Diagnostic("GG303", "the row holds bytes that are not UTF-8")
            yield from (self._reject(row, reason) for row in damaged)
            batch = batch.take(pa.array(sorted(set(range(len(batch))).difference(damaged)), pa.int64()))
        self._hold(batch)
        if not len(batch):
            return
        columns = {name: batch.column(index) for index, name in enumerate(batch.schema.names)}
        heads = _heads(columns, len(batch))
        wrong = _wrong(heads, columns)
        tables = as_strings(heads["table"])
        if wrong:
            right = pa.array([row not in wrong for row in range(len(batch))], pa.bool_())
            tables = pc.if_else(right, tables, pa.scalar(None, TEXT))
        by_table = rows_by_value(tables.dictionary_encode())
        if "seq" in self._shape.heads:
            self._check_order(pc.cast(columns["seq"], pa.int64()), tables, by_table)
        yield from (self._reject(row, wrong[row]) for row in sorted(wrong))
        for name, rows in by_table.items():
            yield from self._table(name, rows, heads, columns)

    def _hold(self, batch: pa.RecordBatch) -> None:
        self._first, self._rows, self._batch = self._rows, self._rows + len(batch), batch

    def locate(self, ordinal: int) -> tuple[bytes, dict[str, object]]:
        """Return the row of an operation of the latest batch as a JSON object, and its place."""
        assert self._batch is not None
        one = self._batch.slice(ordinal - self._first, 1)
        try:
            (row,) = one.to_pylist()
        except UnicodeDecodeError:
            (row,) = one.cast(pa.schema([(field.name, _of_bytes(field.type)) for field in one.schema])).to_pylist()
        given = {name: row[name] for name in ("file", "offset", "table", "position") if row.get(name) is not None}
        place = {name: _text(value) if isinstance(value, bytes) else value for name, value in given.items()}
        maps = {field.name for field in self._batch.schema if pa.types.is_map(field.type)}
        members = (
            f"{_shown(name)}: {_shown_map(value) if name in maps else _shown(value)}" for name, value in row.items()
        )
        return f"{{{', '.join(members)}}}".encode("utf-8", "surrogatepass"), place

    def _reject(self, row: int, diagnostic: Diagnostic) -> Reject:
        ordinal = self._first + row
        record, place = self.locate(ordinal)
        return Reject(ordinal, record, diagnostic.at(**place))

    def _check_order(self, seq: pa.Int64Array, tables: pa.StringArray, by_table: Mapping[str, pa.Int64Array]) -> None:
        series: dict[str, pa.Int64Array | pa.UInt64Array] = {**by_table}
        if self._in_order and by_table:
            series[""] = pc.indices_nonzero(tables.is_valid())
        for table, rows in series.items():
            own = seq.take(rows)
            order = SequenceRange(own[0].as_py(), own[-1].as_py())
            before = self.order.get(table)
            steps = pc.less(own.slice(1), own.slice(0, len(own) - 1))
            if steps.true_count:
                step = pc.index(steps, True).as_py()
                raise Abend.of(out_of_order(table, own[step].as_py(), own[step + 1].as_py()))
            if before is not None and order.first < before.last:
                raise Abend.of(out_of_order(table, before.last, order.first))
            self.order[table] = order if before is None else SequenceRange(before.first, order.last)

    def _table(
        self, name: str, rows: pa.Int64Array, heads: Mapping[str, pa.Array[Any]], columns: Mapping[str, pa.Array[Any]]
    ) -> Iterator[ChangeBatch | Reject]:
        def own(values: _A) -> _A:
            return values if len(rows) == len(values) else values.take(rows)

        if self._shape.columns is None:
            maps = [MapImages(_texts_of(own(columns[image]))) for image in IMAGES]
            table = self._definition(name, first_seen(maps))
            images = [image.of(table) for image in maps]
        else:
            table = self._definition(name, [])
            images = [
                struct_image(
                    narrow(own(columns[image]), pa.StructArray),
                    narrow(pc.cast(own(columns[MISSING[image]]), NAMES), pa.ListArray),
                    table,
                )
                for image in IMAGES
            ]
        wrong = _of_images(images, table)
        yield from (self._reject(rows[row].as_py(), wrong[row]) for row in sorted(wrong))
        batch = ChangeBatch(
            table,
            own(as_strings(heads["op_type"])),
            own(as_strings(heads["op_ts"])),
            own(as_strings(heads["position"])),
            images[0].image,
            images[1].image,
            pc.add(rows, self._first),
            own(as_string_maps(heads["tokens"])) if "tokens" in heads else None,
        )
        if wrong:
            batch = batch.take(pa.array([row for row in range(len(rows)) if row not in wrong], pa.int64()))
        if len(batch):
            yield batch

    def _definition(self, name: str, names: list[str]) -> TableDef:
        given = self._definitions.get(name)
        if given is not None:
            return given
        found = self.found.get(name)
        if found is None:
            found = self.found[name] = with_key(self._shape.table(name, names), self._keys)
        new = [column for column in names if column not in found.column_names]
        if new:
            raise Abend.of(other_columns(found, new[0]))
        return found


def _undecodable(batch: pa.RecordBatch) -> list[int]:
    """Return the rows with texts that are not UTF-8: Spark makes a text of any bytes."""

    def is_valid(some: pa.RecordBatch) -> bool:
        try:
            some.validate(full=True)
        except pa.ArrowInvalid:
            return False
        return True

    if is_valid(batch):
        return []
    # In a slice, Arrow would check the whole content of maps.
    return [row for row in range(len(batch)) if not is_valid(batch.take(pa.array([row])))]


def _of_bytes(type: pa.DataType) -> pa.DataType:
    if plain_type(type) == TEXT:
        return pa.binary()
    if pa.types.is_map(type):
        return pa.map_(_of_bytes(type.key_type), _of_bytes(type.item_type))
    if pa.types.is_list(type):
        return pa.list_(_of_bytes(type.value_type))
    if pa.types.is_struct(type):
        return pa.struct([(field.name, _of_bytes(field.type)) for field in type])
    return type


def _heads(columns: Mapping[str, pa.Array[Any]], rows: int) -> dict[str, pa.Array[Any]]:
    heads: dict[str, pa.Array[Any]] = {name: as_text(columns[name]) for name in ("table", "op_type", "op_ts")}
    heads["position"] = as_text(columns["position"]) if "position" in columns else pa.nulls(rows, TEXT)
    if "tokens" in columns and columns["tokens"].null_count < rows:
        heads["tokens"] = pc.fill_null(_texts_of(columns["tokens"]), pa.scalar([], TEXTS))
    return heads


def _texts_of(maps: pa.Array[Any]) -> StringMapArray:
    return as_string_maps(maps if maps.type == TEXTS else pc.cast(maps, TEXTS))


def _wrong(heads: Mapping[str, pa.Array[Any]], columns: Mapping[str, pa.Array[Any]]) -> dict[int, Diagnostic]:
    op, table = as_strings(heads["op_type"]), as_strings(heads["table"])
    has_before, has_after = (columns[name].is_valid() for name in IMAGES)
    known = pc.is_in(op, value_set=pa.array(OP_TYPES))
    wrong = contradictions(pc.if_else(known, op, pa.scalar(None, TEXT)), has_before, has_after)
    for row in non_null_values(pc.indices_nonzero(pc.invert(known))):
        word = op[row].as_py()
        wrong[row] = _lacks("op_type") if word is None else _unknown_type(word)
    for name in pc.unique(table).to_pylist():
        problem = _lacks("table") if name is None else name_problem(name)
        if problem is not None:
            same = table.is_null() if name is None else pc.equal(table, name).fill_null(False)
            wrong |= dict.fromkeys(non_null_values(pc.indices_nonzero(same)), problem)
    tokens = as_string_maps(heads["tokens"]) if "tokens" in heads else None
    if tokens is not None and tokens.items.null_count:
        rows = pc.list_parent_indices(list_array(tokens.offsets, tokens.items))
        valueless = Diagnostic("GG308", "a token in `tokens` has no value")
        wrong |= dict.fromkeys(non_null_values(rows.filter(tokens.items.is_null())), valueless)
    if "seq" in columns:
        wrong |= dict.fromkeys(non_null_values(pc.indices_nonzero(columns["seq"].is_null())), _lacks("seq"))
    return wrong


def _unknown_type(word: str) -> Diagnostic:
    shown = word if len(word) <= 20 else f"{word[:17]}..."
    legal = list_names(OP_TYPES)
    return Diagnostic("GG304", f"`op_type` cannot be `{shown}`", help=f"legal values are {legal}")


def _lacks(name: str) -> Diagnostic:
    return Diagnostic("GG305", f"the row has no `{name}`")


def _of_images(images: list[DecodedImage], table: TableDef) -> dict[int, Diagnostic]:
    wrong: dict[int, Diagnostic] = {}
    for name, image in zip(IMAGES, images, strict=True):
        for column, rows in image.unknown.items():
            wrong |= dict.fromkeys(rows, unknown_column(f"`{name}`", table.full_name, column))
        place = Span(table=table.full_name)
        for column, rows in image.twice.items():
            diagnostic = Diagnostic("GG308", f"`{name}` has the column twice", replace(place, field=column))
            wrong |= dict.fromkeys(rows, diagnostic)
        for column, rows in image.contradicting.items():
            message = f"`{name}` has a value for the column, but `{MISSING[name]}` lists the column as missing"
            wrong |= dict.fromkeys(rows, Diagnostic("GG308", message, replace(place, field=column)))
    return wrong


def out_of_order(table: str, first: int, then: int, where: str = "") -> Diagnostic:
    message = f"the rows are not in the order of `seq`: {then} comes after {first}{where}"
    help = "sort with `frame.orderBy('seq')`, or drop `seq` if the rows are already in the right order"
    return Diagnostic("GG543", message, Span(table=table or None), help)


def other_columns(table: TableDef, column: str) -> Diagnostic:
    message = "the rows of the table have different columns, and no definition lists the columns"
    help = "set the option `definitions`, or set `columns` to the result of `ggfmt.frames.write.columns_of(frame)`"
    return Diagnostic("GG542", message, Span(table=table.full_name, field=column), help)


def with_key(table: TableDef, keys: Keys) -> TableDef:
    """Return the table with its key, if one is given. Raises: Abend GG541 for columns that it lacks."""
    names = key_of(table.full_name, keys)
    found = table.with_keys(names) if names else table
    for lacking in found.not_in_key(names):
        message = f"the option `keyColumns` names `{lacking}`, which is not a column of the table"
        raise Abend("GG541", message, Span(table=table.full_name), "name one of its columns")
    return found


def _shown(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=_text)


def _shown_map(pairs: list[tuple[object, object]] | None) -> str:
    if pairs is None:
        return "null"
    return f"{{{', '.join(f'{_shown(name)}: {_shown(value)}' for name, value in pairs)}}}"


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return value.isoformat(" ", "microseconds") if isinstance(value, datetime) else str(value)
