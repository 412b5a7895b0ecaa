"""The operations of a split as record batches of a shape: the one generator behind all frames.

`seq` of an operation is the number of its file times 2 to the power of 40, plus the byte at which its record starts,
plus its number among the operations of its table in that record. A record of several operations has more bytes than
operations, so numbers do not collide. In a container file, all records of a block start where the block does, and it
may have fewer bytes than records; there the number of the record in the file replaces the byte. Neither depends on how
files are split.
"""

from __future__ import annotations

import gc
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from ggfmt.arrow import arrays
from ggfmt.arrow import compute as pc
from ggfmt.columnar.timestamps import instant_micros
from ggfmt.dataclasses import dataclass, replace
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic, Span
from ggfmt.formats.api import reading
from ggfmt.formats.api.format import AVRO_MAGIC, Projection
from ggfmt.frames.column_types import INSTANT, TEXT
from ggfmt.frames.images import image_maps, image_structs, missing_names
from ggfmt.frames.shapes import IMAGES, MISSING, TEXTS, ddl_type
from ggfmt.java.text import visible
from ggfmt.model.change import ChangeBatch, no_tokens
from ggfmt.model.table import TableDef
from ggfmt.reading.recognition import explained
from ggfmt.reading.splits import Range, ReadJob, Split, SplitReader
from ggfmt.reading.tasks import RecordCounts, log_account, take_counts

if TYPE_CHECKING:
    from ggfmt.replicat.account import Fate

FILE_BITS = 40  # bits of `seq` for the place in a file
_GROWTH = 4  # of batches, whose columns are many: each call of Arrow costs as much as the work for a thousand values
_SHOWN = 40  # maximum characters of a value in an error

_UNDEFINED_HELP = "omit `definitions`, or set `discover` to true: ggfmt then searches the data for definitions first"


@dataclass(frozen=True)
class FrameProjection:
    """The requested columns of a shape, tables and operation types; None means all. `table`: that of the structs."""

    schema: pa.Schema
    tables: frozenset[str] | None = None
    ops: frozenset[str] | None = None
    table: TableDef | None = None

    def columns_of(self, image: str) -> Sequence[str]:
        index = self.schema.get_field_index(image)
        if index >= 0 and pa.types.is_struct(self.schema.field(index).type):
            return [field.name for field in self.schema.field(index).type]
        return () if self.table is None else self.table.column_names


@dataclass(frozen=True)
class _OpenRange:
    range: Range
    first: int
    in_blocks: bool
    routed: bool

    @property
    def file(self) -> str:
        return self.range.input.file.shown


class DiscoveryRequiredError(Abend):
    """The data contain a table or a definition that discovery has not found."""


class FrameBoundaryError(DiscoveryRequiredError):
    """A record crosses the end of the range in which it starts: the file number `input` has to be read as a whole."""

    def __init__(self, input: int, diagnostic: Diagnostic) -> None:
        self.diagnostics = (diagnostic,)
        self.input = input


def record_batches(
    job: ReadJob, split: Split, wanted: FrameProjection, counts: RecordCounts | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield the operations of a split, in order by table. Raises: Abend for what cannot be read or shown.

    counts  takes the account of the records; None: log it in the end
    """
    account = RecordCounts() if counts is None else counts
    projection = Projection(tokens="tokens" in wanted.schema.names)
    frames = _Frames(job, split, projection, mapped=account.mapped)
    for batch in frames.batches():
        if wanted.tables is None or batch.table.full_name in wanted.tables:
            rows = _rows(batch, wanted)
            if rows is None or len(rows):
                yield _record_batch(frames.locate(batch, rows), wanted)
        else:
            account.skipped[batch.table.full_name] += len(batch)
    take_counts(account, frames.reader)
    if counts is None:
        log_account(account)


def located_batches(
    job: ReadJob,
    split: Split,
    tables: Collection[str],
    skipped: Counter[str] | None = None,
    on_reject: Callable[[reading.Reject], None] | None = None,
    others: Counter[str] | None = None,
    on_warning: Callable[[Diagnostic], None] = lambda warning: None,
    unknown: Counter[str] | None = None,
    sources: dict[str, dict[str, str]] | None = None,
    mapped: Counter[Fate] | None = None,
    remarks: Counter[reading.Remark] | None = None,
) -> Iterator[LocatedBatch]:
    """Yield the operations of several tables, those of each table in order of their records, with their places.

    skipped    takes the number of records of tables that are not selected, by table
    on_reject  takes records that cannot be read; by default, they are errors
    others     takes the number of records that are not operations, by kind
    on_warning  takes warnings about statements on tables. Statements that drop or create tables are truncates of them.
    unknown    takes the number of operations of other tables, truncates aside, by table
    sources    takes by table the names of its sources, with the member that has them
    mapped     takes what became of operations by the MAPs of a Replicat
    remarks    takes the number of operations of the tables by oddity

    Raises: Abend as `record_batches`; DiscoveryRequiredError or FrameBoundaryError if the split has to be read
    in another way.
    """
    projection = Projection(transactions=True, statements=True, batch_growth=_GROWTH)
    frames = _Frames(job, split, projection, skipped, on_reject, tables, on_warning, mapped)
    for batch in frames.batches():
        if not len(batch):
            continue
        if batch.table.full_name in tables:
            yield frames.locate(batch, None)
        elif unknown is not None:
            unknown[batch.table.full_name] += len(batch) - batch.op.to_pylist().count("T")
    if others is not None:
        others.update(frames.reader.others)
    if sources is not None:
        sources.update(frames.reader.sources)
    if remarks is not None:
        remarks.update({remark: n for remark, n in frames.reader.remarks.items() if remark.table in tables})


@dataclass
class _Frames:
    job: ReadJob
    split: Split
    projection: Projection
    skipped: Counter[str] | None = None
    on_reject: Callable[[reading.Reject], None] | None = None
    tables: Collection[str] = ()
    on_warning: Callable[[Diagnostic], None] = lambda warning: None
    mapped: Counter[Fate] | None = None

    def __post_init__(self) -> None:
        self.reader = self.job.reader(self.job.catalog_at(self.split), self.projection)
        self._parts: list[_OpenRange] = []

    def batches(self) -> Iterator[ChangeBatch]:
        batches = self._batches()
        while True:
            collecting = gc.isenabled()
            gc.disable()  # as in the tasks of a run; not between two batches, when it is the caller's turn
            try:
                batch = next(batches, None)
            finally:
                if collecting:
                    gc.enable()
            if batch is None:
                return
            yield batch

    def locate(self, batch: ChangeBatch, rows: pa.Int64Array | None) -> LocatedBatch:
        return LocatedBatch(batch, rows, self.reader, self._parts)

    def _batches(self) -> Iterator[ChangeBatch]:
        for event in self._events():
            if isinstance(event, reading.Reject):
                error = self._why(event)
                if self.on_reject is None or isinstance(error, DiscoveryRequiredError):
                    raise error
                self.on_reject(event)
                continue
            if isinstance(event, reading.SchemaChange):
                if not self.job.settled:
                    raise DiscoveryRequiredError.of(
                        _undefined(f"the definition of `{event.table.full_name}` changes in the data")
                    )
                continue
            if isinstance(event, Diagnostic):
                self.on_warning(event)
            elif isinstance(event, reading.Drop):
                yield from self._truncates(event)
            else:
                yield event

    def _truncates(self, drop: reading.Drop) -> Iterator[ChangeBatch]:
        name = drop.truncate.table.full_name
        emptied = _named(name, self.tables)
        for table in emptied:
            yield replace(drop.truncate, table=TableDef(table, ()))
        other = _named(name.lower(), self._folded)
        if other and not emptied:
            reason = f"a statement drops or creates `{name}`, and the data has `{self._folded[other[0]]}`"
            chunk, start, _ = self.reader.locate(drop.truncate.ordinal[0].as_py())
            help = "if the source ignores case, remove the rows from before the statement"
            self.on_warning(Diagnostic("GG328", reason, chunk.span(start), help))

    @cached_property
    def _folded(self) -> dict[str, str]:
        return {table.lower(): table for table in self.tables}

    def _events(self) -> Iterator[reading.Event]:
        source = SplitReader(self.reader, self.split, self.job.selection, self._start, self.skipped, self.mapped)
        try:
            for events in source:
                yield from events
        except reading.SplitBoundaryError:
            assert source.input is not None
            reason = "a record of the file crosses a split boundary"
            found = _undefined(reason, Span(file=source.input.file.shown))
            raise FrameBoundaryError(source.input.index, found) from None

    def _start(self, part: Range, chunk: reading.Chunk) -> None:
        in_blocks = chunk.data.startswith(AVRO_MAGIC) and not part.input.layout.splittable
        self._parts.append(_OpenRange(part, self.reader.next_ordinal, in_blocks, chunk.origins is not None))

    def _why(self, reject: reading.Reject) -> Abend:
        if reject.of_unknown_table and not self.job.settled:
            return DiscoveryRequiredError.of(_undefined(reject.diagnostic.message, reject.diagnostic.span))
        if self.on_reject is not None:
            return Abend.of(reject.diagnostic)
        return Abend.of(explained(reject, self.job.input_format, self.job.reason))


def _named(name: str, tables: Collection[str]) -> list[str]:
    if not name.endswith(reading.EVERY_TABLE_OF):
        return [name] if name in tables else []
    return [table for table in tables if table.startswith(name[:-1])]


def _rows(batch: ChangeBatch, wanted: FrameProjection) -> pa.Int64Array | None:
    if wanted.ops is None:
        return None
    kept = pc.is_in(batch.op, pa.array(sorted(wanted.ops), TEXT))
    return None if kept.true_count == len(batch) else pc.cast(pc.indices_nonzero(kept), pa.int64())


def _record_batch(placed: LocatedBatch, wanted: FrameProjection) -> pa.RecordBatch:
    table = placed.batch.table
    if wanted.table is not None and not set(table.column_names) <= set(wanted.table.column_names):
        new = next(name for name in table.column_names if name not in wanted.table.column_names)
        reason = "the column appeared after the frame was created"
        raise Abend("GG532", reason, Span(table=table.full_name, field=new), "create the frame again")
    columns = [_column(field, placed, wanted) for field in wanted.schema]
    return pa.RecordBatch.from_arrays(columns, schema=wanted.schema)


def _column(field: pa.Field[Any], placed: LocatedBatch, wanted: FrameProjection) -> pa.Array[Any]:
    if field.name not in IMAGES and field.name not in MISSING.values():
        column: pa.Array[Any] = getattr(placed, field.name)
        return column
    which = next(name for name in IMAGES if field.name in (name, MISSING[name]))
    batch = placed.batch
    image, rows = batch.before if which == IMAGES[0] else batch.after, len(batch)
    if field.name != which:
        return missing_names(image, batch.table, wanted.columns_of(which), rows)
    if pa.types.is_map(field.type):
        return image_maps(image, batch.table.column_names, rows)
    return image_structs(image, batch.table, field.type, rows, placed.unshown)


def _undefined(reason: str, place: Span | None = None) -> Diagnostic:
    return Diagnostic("GG532", reason, place or Span(), _UNDEFINED_HELP)


_A = TypeVar("_A", bound="pa.Array[Any]")


class LocatedBatch:
    """The operations of a batch at some rows (None: all), with the `HEAD` columns that do not depend on them."""

    def __init__(
        self, batch: ChangeBatch, rows: pa.Int64Array | None, reader: reading.Reader, parts: Sequence[_OpenRange]
    ) -> None:
        self.batch = batch if rows is None else batch.take(rows)
        self._reader = reader
        self._rows = rows
        self._all = batch.ordinal
        ordinals = arrays.non_null_values(batch.ordinal)
        starts = [bisect_left(ordinals, part.first) for part in parts[1:]]
        borders = zip(parts, [0, *starts], [*starts, len(batch)], strict=True)
        self._stretches = [(part, stop - start) for part, start, stop in borders if stop > start]

    def _taken(self, column: _A) -> _A:
        return column if self._rows is None else column.take(self._rows)

    @cached_property
    def _offsets(self) -> pa.Int64Array:
        return self._reader.offsets(self._all)

    def _by_part(self, values: Sequence[object], type: pa.DataType) -> pa.Array[Any]:
        counts = (count for _, count in self._stretches)
        return pa.concat_arrays(
            [arrays.repeated(pa.scalar(value, type), count) for value, count in zip(values, counts, strict=True)]
        )

    def _numbers(self, values: Sequence[int]) -> pa.Int64Array:
        return arrays.narrow(self._by_part(values, pa.int64()), pa.Int64Array)

    @property
    def table(self) -> pa.StringArray:
        return pa.repeat(pa.scalar(self.batch.table.full_name, TEXT), len(self.batch))

    @property
    def op_type(self) -> pa.StringArray:
        return self.batch.op

    @property
    def op_ts(self) -> pa.TimestampArray[Any, Any]:
        texts = self.batch.op_ts
        # some handlers write an absent position as an empty text
        texts = pc.if_else(pc.equal(texts, ""), pa.scalar(None, TEXT), texts)
        micros, wrong = instant_micros(texts)
        if wrong:
            raise self.unshown(wrong[0], "op_ts", INSTANT, texts[wrong[0]].as_py())
        return pc.cast(micros, INSTANT)

    @property
    def position(self) -> pa.StringArray:
        return self.batch.position

    @property
    def tokens(self) -> arrays.StringMapArray:
        tokens = self.batch.tokens
        return arrays.as_string_maps(pc.cast(no_tokens(len(self.batch)) if tokens is None else tokens, TEXTS))

    @property
    def file(self) -> pa.StringArray:
        return self._taken(arrays.as_strings(self._by_part([part.file for part, _ in self._stretches], TEXT)))

    @property
    def offset(self) -> pa.Int64Array:
        return self._taken(self._offsets)

    @property
    def seq(self) -> pa.Int64Array:
        parts = [part for part, _ in self._stretches]
        if any(part.routed for part in parts):
            files = pc.shift_left(self._reader.inputs(self._all), FILE_BITS)
        else:
            files = self._numbers([part.range.input.index << FILE_BITS for part in parts])
        if any(part.in_blocks for part in parts):
            in_blocks = self._by_part([part.in_blocks for part in parts], pa.bool_())
            numbers = pc.subtract(self._all, self._numbers([part.first for part in parts]))
            places = pc.if_else(in_blocks, numbers, self._offsets)
        else:
            places = self._offsets
        return self._taken(pc.add(pc.add(files, places), _among_equals(self._all)))

    def unshown(self, row: int, column: str, type: pa.DataType, text: str) -> Abend:
        chunk, start, _ = self._reader.locate(self.batch.ordinal[row].as_py())
        place = replace(
            chunk.span(start), table=self.batch.table.full_name, field=column, position=self.batch.position[row].as_py()
        )
        wanted = "without this column" if column == "op_ts" else "in which the column is a `string`"
        message = f"`{shown_value(text)}` is not a value of the type `{ddl_type(type)}`"
        return Abend("GG530", message, place, f"give a schema {wanted}")


def shown_value(text: str) -> str:
    return visible(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")


def _among_equals(numbers: pa.Int64Array) -> pa.Int64Array:
    """Return for each of n ascending numbers its place among equal ones."""
    count = len(numbers)
    is_first = arrays.begins(numbers)
    if is_first.true_count == count:
        return pa.repeat(pa.scalar(0, pa.int64()), count)
    every = arrays.numbered(count)
    starts = pc.fill_null_forward(pc.if_else(is_first, every, pa.scalar(None, pa.int64())))
    return pc.subtract(every, starts)
