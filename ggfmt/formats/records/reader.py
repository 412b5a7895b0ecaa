"""The reader of all dialects: it turns records into operations, and operations into batches of columns.

The reader decodes a whole chunk at once. If that fails, it decodes record by record. It buffers operations by table
until it has enough for a batch, or until a definition changes.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from types import NoneType
from typing import Any, BinaryIO

import pyarrow as pa
from msgspec import Raw

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import non_null_values
from ggfmt.columnar.columns import int64s, texts, token_maps
from ggfmt.columnar.images import complete_before_images, fill_missing, nonempty_before_images
from ggfmt.columnar.metadata import with_common
from ggfmt.columnar.timestamps import micros_text
from ggfmt.dataclasses import dataclass, replace
from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.formats.api.format import DEFAULT_SETTINGS, Projection, WriterSettings
from ggfmt.formats.api.reading import Chunk, Drop, Event, Layout, ReadSupport, Reject, Remark, UnknownTable
from ggfmt.formats.json import dumps
from ggfmt.formats.json import files as json_files
from ggfmt.formats.json.repeated import EVERY, repeated_member
from ggfmt.formats.json.shapes import Undescribed, Unexplained, wider
from ggfmt.formats.json.values import json_members
from ggfmt.formats.records import routing
from ggfmt.formats.records.batching import BatchingReader, HeldTable, Wrong
from ggfmt.formats.records.dialect import Change, Dialect, Examination, RecordSchema, Statement, classify_records
from ggfmt.formats.records.discovery import DialectDiscovery
from ggfmt.formats.records.images import Columns, Convert, JsonImage, TextImage
from ggfmt.formats.records.problems import avro_json, contradictions, name_problem, unexplained_object
from ggfmt.formats.records.roles import BOOLEAN, INTEGER, NULL, NUMBER, STRING, TRANSACTION, Grammar, names_of
from ggfmt.formats.records.routing import DialectRouter
from ggfmt.formats.records.rows import JsonRows, Rows, TextRows, avro_unions, converted, json_values, may_have_objects
from ggfmt.formats.records.scanner import JsonScanner, OddRecord, SourceBatch, absent_columns, key_updates
from ggfmt.java.text import visible
from ggfmt.model.change import ChangeBatch, ImageColumn, OpType
from ggfmt.model.table import Catalog, Column, Kind, TableDef

# The kinds of JSON values by kind of column, for the kinds that discovery infers from images.
_TAKES = {Kind.STRING: NULL | STRING, Kind.DECIMAL: NULL | INTEGER | NUMBER, Kind.BOOLEAN: NULL | BOOLEAN}
_OF_ODD_SHAPES = ("GG204", "GG304", "GG305", "GG308")  # problems that a record of another encoding may have
_TWICE = "with a column twice in an image; ggfmt uses the last value"


def stamps(values: Sequence[str | int | None], problem: Diagnostic) -> tuple[pa.StringArray, Wrong]:
    """Return timestamps as texts, and problems by row; numbers are microseconds since 1970."""
    alone = [value for value in values if value is None or isinstance(value, str)]
    if len(alone) == len(values):
        return texts(alone), {}
    found, wrong = stamps_of([value if isinstance(value, int) else None for value in values], problem)
    if any(isinstance(value, str) for value in values):
        found = texts([v if isinstance(v, str) else s for v, s in zip(values, found.to_pylist(), strict=True)])
    return found, wrong


def stamps_of(micros: Sequence[int | None] | pa.Int64Array, problem: Diagnostic) -> tuple[pa.StringArray, Wrong]:
    """Convert microseconds since 1970 to timestamps as texts; also return the problem by row, of years out of range."""
    found, bad = micros_text(micros)
    return found, dict.fromkeys(bad, problem)


@dataclass
class DialectTable(HeldTable):
    """The operations of a table that the reader buffers, and how it decodes them.

    record_schema  the latest definition from a record; None if records do not describe the table
    converts       one conversion per column; None for plain texts
    rows           the decoder of images; None before the first image
    """

    record_schema: RecordSchema | None
    converts: tuple[Convert | None, ...]
    rows: Rows | None = None


class DialectReader(BatchingReader[DialectTable], routing.DialectScanning):
    """The reader of the records of `dialect`.

    The scanner takes regular records, and the exact reader takes odd ones. The reader buffers the operations of both,
    and merges them into one batch in the order of the records. While many records are odd, the exact reader takes all.
    """

    scanner: Any = None

    def __init__(self, catalog: Catalog, projection: Projection, source: WriterSettings = DEFAULT_SETTINGS) -> None:
        super().__init__(catalog, projection, source)
        self.make_dialect(source, catalog.trusted, self.reads_tokens)
        self._dialect.with_transactions = projection.transactions
        self._dialect.catalog = catalog
        self.members, self.sources = self._dialect.members, self._dialect.sources
        self._twice: set[int] = set()  # rows of the current batch with a column twice in an image
        self._placed: tuple[SourceBatch | None, Any] = None, None
        self._made_of: tuple[Chunk, int] | None = None  # what JSON was made of, and the ordinal of its first record
        self._keyed = False  # whether a record was in a message whose key may have columns
        self.start_scanner()

    def make_scanner(self, native: Any, grammar: Grammar) -> JsonScanner:
        rows = self.projection.row_only
        return JsonScanner(native, grammar, rows, rows and self.projection.key_updates, self.reads_tokens)

    @classmethod
    def sniff(cls, head: bytes) -> str | None:
        return cls.dialect.sniff_file(head)

    @classmethod
    def layout(cls, head: bytes, whole: bool, source: WriterSettings = DEFAULT_SETTINGS) -> Layout:
        return cls.dialect.layout(head, whole, source)

    @classmethod
    def chunks(cls, stream: BinaryIO, file: str, start: int, length: int | None, layout: Layout) -> Iterator[Chunk]:
        return cls.dialect.chunks(stream, file, start, length, layout)

    unwrapped = staticmethod(dumps.unwrapped)

    spans = routing.DialectScanning.spans

    def starts_of_lines(self, chunk: Chunk, count: int) -> pa.Int64Array | None:
        return json_files.starts_of_lines(chunk, count) if self.dialect.spans is Dialect.spans else None

    def decode_chunk(self, chunk: Chunk) -> Iterator[Event]:
        self._keyed |= self.dialect.has_message_keys(chunk)
        for _, _, _, meaning in self.examined(chunk):
            yield from self.take_in_one(meaning)
        self._count_others()

    def set_aside(self) -> None:
        super().set_aside()
        self._count_others()

    def _count_others(self) -> None:
        if self.scanner is not None:
            self.others.update(self.scanner.take_counts())

    def reads_whole(self, chunk: Chunk) -> bool:
        # If definitions are provisional, never decode whole chunks: that does not find records that contradict the
        # definitions.
        return self.pauses() and not (self.dialect.scanned and self.catalog.provisional)

    def as_json(self, chunk: Chunk) -> Chunk:
        made = chunk if self.scanner is None else self._dialect.as_json(chunk)
        self._made_of = None if made is chunk else (chunk, self.ordinal)
        return made

    def take_in_one(self, meaning: Examination) -> Iterator[Event]:
        """Process the next record by its classification, and yield the events that cannot wait."""
        ordinal = self.ordinal
        self.ordinal += 1
        if isinstance(meaning, list):
            for item in meaning:
                if isinstance(item, Change):
                    table = self.tables.get(item.table)
                    if table is None or item.record_schema is not table.record_schema:
                        if (yield from self._prepare(item, ordinal)):
                            break
                        table = self.tables[item.table]
                    table.operations.append(item)
                    table.ordinals.append(ordinal)
                elif isinstance(item, Statement):
                    yield from self._take_statement(item, ordinal)
                elif (yield from self._prepare(item, ordinal)):
                    break
        elif isinstance(meaning, str):
            self.others[meaning] += 1
        else:
            yield self.reject(ordinal, meaning)

    def _take_statement(self, statement: Statement, ordinal: int) -> Iterator[Event]:
        if statement.word is not None:
            self.others[statement.word] += 1
        if not self.projection.statements:
            return
        for warning in statement.warnings:
            yield self.reject(ordinal, warning).diagnostic
        for change in statement.emptied:
            held = self.tables.get(change.table)
            if held is not None:
                yield from self.batch(held)
            alone = DialectTable(TableDef(change.table, ()), None, (), operations=[change])
            alone.ordinals.append(ordinal)
            for event in self.batch(alone):
                yield Drop(event) if isinstance(event, ChangeBatch) else event

    # The scanner

    def know(self, identity: bytes) -> bool:
        definition = self._dialect.identified(identity)
        if definition is None:
            return False
        if definition.full_name not in self.tables:
            table = DialectTable(definition, None, self._dialect.converts(definition))
            self.tables[definition.full_name] = table
        return self._bind_table(identity, definition, None)

    def examined_at(self, chunk: Chunk, start: int, end: int) -> tuple[Any, Examination]:
        if self._made_of is None:
            return super().examined_at(chunk, start, end)
        chunk, first = self._made_of
        records = self._dialect.decoded(replace(chunk, spans=[self.spans(chunk)[self.ordinal - first]]))
        assert records is not None, "only other records than JSON become JSON"
        record = next(records)
        return record, next(classify_records(self._dialect, [record]))

    def key_of_next(self) -> bytes | None:
        return self._key(self.ordinal)

    def _key(self, ordinal: int) -> bytes | None:
        return self.message_key(ordinal) if self._keyed else None

    def bind(self, identity: bytes, odd: OddRecord) -> None:
        first = odd.meaning[0]
        table = self.tables.get(first.table)
        for item in odd.meaning:
            if table is None or not isinstance(item, Change) or item.table != first.table:
                return
            if item.record_schema is not table.record_schema:
                return
        assert table is not None
        definition = table.definition
        if not self._dialect.scannable(definition) or first.table in self._dialect.completed:
            return
        if any(name == first.table and definition.not_in_key(keys) for name, keys in self._dialect.key_counts):
            return  # the exact reader must count the operations with a key that is not in the columns
        self._bind_table(identity, definition, self._dialect.states(odd.record, definition))

    def _bind_table(self, identity: bytes, definition: TableDef, states: bytes | None) -> bool:
        """Bind an identity to a table in the scanner; return False if the scanner cannot take its records."""
        scanner: JsonScanner = self.scanner
        if scanner.binds(definition.full_name):
            return scanner.bind_alias(identity, definition.full_name, states)
        takes = None
        if self.catalog.provisional:
            takes = [_TAKES[column.type.kind] for column in definition.columns]
        return scanner.bind(identity, definition, takes, states)

    def scanned_columns(self, table: DialectTable, scanned: SourceBatch) -> ChangeBatch | Wrong:
        self._twice.clear()
        op_ts, position, wrong = self._places(scanned)
        if wrong:
            return wrong
        scanned = self._dialect.decode_scanned(scanned)
        has_before, key_update = scanned.has_before, None
        if self.dialect.empty_old_is_none and not self.projection.row_only:
            has_before = nonempty_before_images(scanned.op, has_before, scanned.before)
        asked = self.projection
        if asked.row_only and asked.key_updates:
            both = pc.and_(has_before, scanned.has_after)
            key_update = self._key_updates(table, scanned.before, scanned.after, both)
        tokens = scanned.tokens
        if tokens is not None:
            tokens = with_common(tokens, self._dialect.common_tokens(table.definition))
        transaction = self._dialect.transactions(scanned) if asked.transactions else None
        origin = self._dialect.origins(scanned) if asked.transactions else None
        scanned = replace(scanned, has_before=has_before, tokens=tokens)
        return self._batch(table, scanned, op_ts, position, key_update, transaction, origin)

    def _key_updates(
        self, table: DialectTable, keys: tuple[ImageColumn, ...], after: tuple[ImageColumn, ...], both: pa.BooleanArray
    ) -> pa.BooleanArray | None:
        keys, after = self._dialect.compared_columns(keys, after, both)
        return key_updates(keys, after, table.definition)

    def _places(self, scanned: SourceBatch) -> tuple[pa.StringArray, pa.StringArray, Wrong]:
        if self._placed[0] is not scanned:
            op_ts, position = self._dialect.times(scanned), self._dialect.positions(scanned)
            wrong: Wrong = {}
            if isinstance(op_ts, pa.Int64Array):
                op_ts, wrong = stamps_of(op_ts, self.dialect.wrong_time)
            self._placed = scanned, (op_ts, position, wrong)
        placed: tuple[pa.StringArray, pa.StringArray, Wrong] = self._placed[1]
        return placed

    def scanned_position(self, scanned: SourceBatch, row: int) -> str | None:
        position: str | None = self._places(scanned)[1][row].as_py()
        return position

    def collect(self, table: DialectTable) -> Iterator[ChangeBatch]:
        yield from super().collect(table)
        self._placed = None, None

    def took(self, table: DialectTable, scanned: SourceBatch) -> SourceBatch:
        if self.wrapped and self._keyed:
            scanned = self._with_message_keys(table, scanned)
        for place, name in self.scanner.notes:
            count = scanned.note(place)
            if count:
                self.members[name] += count
        return scanned

    def _with_message_keys(self, table: DialectTable, scanned: SourceBatch) -> SourceBatch:
        """Leave records whose images lack a column of the key of their message to the exact reader, which adds it."""
        whole = self._dialect.whole_before_images(scanned.op)
        absent = absent_columns(scanned, table.definition.column_names, self.projection.row_only, whole)
        lacking = set()
        for row, names in absent.items():
            ordinal = scanned.ordinal[row].as_py()
            self._dialect.message_key = self._key(ordinal)
            if not names.isdisjoint(self._dialect.key_columns()):
                lacking.add(ordinal)
        if not lacking:
            return scanned
        table.done = list(super().collect(table))  # what was exact before stays in its own batches
        for ordinal in sorted(lacking):
            _, meaning = routing.examined_one(self._dialect, *self.locate_value(ordinal), self._key(ordinal))
            assert isinstance(meaning, list), "the exact reader refuses a record that the scanner took"
            table.operations += meaning
            table.ordinals.extend([ordinal] * len(meaning))
        return scanned.without({row for row, number in enumerate(scanned.ordinal.to_pylist()) if number in lacking})

    def reject(self, ordinal: int, diagnostic: Diagnostic) -> Reject:
        reject = super().reject(ordinal, diagnostic)
        if diagnostic.code in _OF_ODD_SHAPES:
            chunk, start, end = self.locate_value(ordinal)
            if json_files.is_avro_json(json_members(chunk.data[start:end])):
                return replace(reject, diagnostic=avro_json(reject.diagnostic.span))
        return reject

    def flush(self) -> Iterator[Event]:
        yield from super().flush()
        for name in {name for name, _ in self._dialect.key_counts}:
            self._remark_told(name)

    def _prepare(self, item: Change | RecordSchema, ordinal: int) -> Generator[Event, None, bool]:
        """Prepare the buffer of a table for an item; if it has no usable definition, yield a reject and return True."""
        record_schema = item if isinstance(item, RecordSchema) else item.record_schema
        name = item.table if isinstance(item, Change) else item.table.full_name
        problem = name_problem(name)
        current = self.catalog.get(name)
        if problem is None and record_schema is None and current is None:
            problem = UnknownTable.named(name)
        if problem is not None:
            yield self.reject(ordinal, problem)
            return True
        held = self.tables.get(name)
        if record_schema is not None:
            settled = self.dialect.follow(self.catalog.settle(record_schema.table), current)
            settled = wider(settled, self.source.facts.get(Undescribed(name), ()))
            if settled != current:
                self._remark_told(name)
                yield from self.change_schema(settled, ordinal)
                self._dialect.catalog = self.catalog
                current = settled
            elif item is record_schema and held is not None:
                return False  # the definition is unchanged
        if held is not None:
            yield from self.batch(held)
        if self.scanner is not None:
            self.scanner.forget(name)
        assert current is not None
        converts = self._dialect.converts(current) if record_schema is None else record_schema.converts_of(current)
        self.tables[name] = DialectTable(current, record_schema, converts)
        return False

    # Batches

    def columns(self, table: DialectTable) -> ChangeBatch | Wrong:
        _, ops, op_ts, positions, befores, afters, tokens, _, transactions, origins = zip(
            *table.operations, strict=True
        )
        op = texts(ops)
        has_before = pa.array([image is not None for image in befores], pa.bool_())
        has_after = pa.array([image is not None for image in afters], pa.bool_())
        wrong = contradictions(op, has_before, has_after)
        if wrong:
            return wrong
        self._twice.clear()
        op_texts, wrong = stamps(op_ts, self.dialect.wrong_time)
        if wrong:
            return wrong
        rows = self._rows(table, (*befores, *afters))
        asked = self.projection
        if asked.row_only:
            needing = {kind for kind in set(ops) if self._dialect.needs_before_image(kind, asked.key_updates)}
            befores = tuple(image if kind in needing else None for kind, image in zip(ops, befores, strict=True))
        decoded, wrong = rows.decode((*befores, *afters))
        if wrong:
            return {row % len(ops): diagnostic for row, diagnostic in wrong.items()}
        old, new = decoded[: len(ops)], decoded[len(ops) :]
        maps = token_maps(tokens) if self.reads_tokens else None
        has_ids = asked.transactions and names_of(self.dialect.record, TRANSACTION)
        ids = texts(transactions) if has_ids else None
        origin = texts(origins) if any(each is not None for each in origins) else None
        key_update = None
        if not asked.row_only:
            before_columns, after_columns = self._decoded(rows, befores, old), self._decoded(rows, afters, new)
            if self.dialect.empty_old_is_none:
                has_before = nonempty_before_images(op, has_before, before_columns)
        else:
            of_updates: Columns = rows.columns(old) if self._dialect.needs_before_image("U", asked.key_updates) else ()
            if asked.key_updates:
                keys = tuple(of_updates[place] for place in table.definition.key_indices)
                key_update = self._key_updates(table, keys, rows.columns(new), pc.and_(has_before, has_after))
            images = [b if o == "D" else a for o, b, a in zip(ops, befores, afters, strict=True)]
            chosen = [b if o == "D" else a for o, b, a in zip(ops, old, new, strict=True)]
            before_columns = after_columns = self._decoded(rows, images, chosen)
            after_columns = self._dialect.shown_columns(of_updates, after_columns, op, has_before)
        read = SourceBatch(
            op, before_columns, after_columns, has_before, has_after, (), maps, int64s(table.ordinals), {}
        )
        return self._batch(table, read, op_texts, texts(positions), key_update, ids, origin)

    def _rows(self, table: DialectTable, images: Iterable[JsonImage | TextImage | None]) -> Rows:
        """Return the decoder of the images of a table, which are all JSON, or all dicts."""
        first = next((image for image in images if image is not None), None)
        if table.rows is None:
            if not isinstance(first, (TextImage, bytes, Raw, NoneType)):
                raise TypeError("an image is neither a JSON object nor made by `text_image`")
            kind = TextRows if first is None or isinstance(first, TextImage) else JsonRows
            rows = kind(table.definition, given=table.definition.full_name in self.catalog.trusted)
            if first is None:  # there are only truncates: the form of images is still unknown
                return rows
            table.rows = rows
        return table.rows

    def _decoded(self, rows: Rows, images: Sequence[Any], decoded: Sequence[Any]) -> tuple[ImageColumn, ...]:
        """Return the columns of decoded images, and note rows that contain a column twice."""
        columns = rows.columns(decoded)
        if isinstance(rows, JsonRows):
            twice = (image is not None and repeated_member(image, EVERY) is not None for image in images)
            self._twice.update(row for row, is_twice in enumerate(twice) if is_twice)
        return columns

    def _batch(
        self,
        table: DialectTable,
        read: SourceBatch,
        op_ts: pa.StringArray,
        position: pa.StringArray,
        key_update: pa.BooleanArray | None,
        transaction: pa.StringArray | None,
        origin: pa.StringArray | None,
    ) -> ChangeBatch | Wrong:
        """Return the reader's batch, with the images in the encoding of the model; or problems by row.

        A row format shows one image of each operation: `read.after`.
        """
        wrong: Wrong = {}
        row_only, new = self.projection.row_only, read.after
        if row_only:
            delete = pc.equal(read.op, OpType.DELETE.value)
            converted_images = replace(read, after=self._converted(table, new, delete, None, wrong))
        else:
            new = self._dialect.shown_columns(read.before, new, read.op, read.has_before)
            whole = self._dialect.whole_before_images(read.op)
            converted_images = replace(
                read,
                before=self._converted(table, read.before, read.has_before, whole, wrong),
                after=self._converted(table, new, None, None, wrong),
            )
        if wrong:
            return wrong
        batch = converted_images.batch(table.definition, op_ts, position, row_only, key_update, transaction, origin)
        if self.dialect.overlay and not row_only:
            batch = replace(batch, before=complete_before_images(batch.before, batch.after, batch.op))
        self._remark(table, len(read))
        self.remarks.update(self._dialect.remarks(table.definition.full_name, new, read.has_after))
        return batch

    def _remark(self, table: DialectTable, operations: int) -> None:
        """Count rows with duplicate columns (GG317), and operations whose described key has unknown columns (GG211)."""
        name = table.definition.full_name
        if self._twice:
            self.remarks[Remark("GG317", name, _TWICE)] += len(self._twice)
        if table.record_schema is not None:
            self._remark_key(table.definition, table.record_schema.keys, operations)

    def _remark_told(self, table: str) -> None:
        """Report unknown key columns (GG211). Call this before the definition changes, and at the end of the input."""
        definition = self.catalog.get(table)
        for name, keys in [key for key in self._dialect.key_counts if key[0] == table]:
            operations = self._dialect.key_counts.pop((name, keys))
            if definition is not None:
                self._remark_key(definition, keys, operations)

    def _remark_key(self, definition: TableDef, keys: Sequence[str], operations: int) -> None:
        name = definition.full_name
        unknown = definition.not_in_key(keys)
        if unknown and name not in self.catalog.trusted:
            shown = ", ".join(f"`{visible(column)}`" for column in unknown)
            self.remarks[Remark("GG211", name, f"whose key has {shown}, but no column has this name")] += operations

    def _converted(
        self,
        table: DialectTable,
        columns: tuple[ImageColumn, ...],
        before: pa.BooleanArray | None,
        whole: pa.BooleanArray | None,
        wrong: Wrong,
    ) -> tuple[ImageColumn, ...]:
        """Return columns in the encoding of the model, and add problems by row to `wrong`.

        before  the rows that are before images; None if no row is
        whole   the rows that are images of whole rows; None if all are
        """
        if before is not None:
            columns, keyless = self._dialect.meaningful_columns(table.definition, columns, before)
            wrong |= keyless
        for column, values in zip(table.definition.columns, columns, strict=True):
            wrong |= self._unexplained(table, column, values)
        scalars = self.dialect.keeps_json if table.record_schema is None else frozenset()
        masks = [
            json_values(column, kind in scalars, kind is Kind.STRING and self.dialect.keeps_nested)
            for kind, column in zip((column.type.kind for column in table.definition.columns), columns, strict=True)
        ]
        columns, misfits = converted(table.definition, table.converts, columns)
        wrong |= misfits
        columns = tuple(
            column if mask is None else replace(column, json=mask) for column, mask in zip(columns, masks, strict=True)
        )
        return fill_missing(columns, whole) if self._dialect.absent_is_null else columns

    def _unexplained(self, table: DialectTable, column: Column, values: ImageColumn) -> Wrong:
        """Return the problems by row of objects in a column that nothing explains."""
        rows = json_values(values, scalars=False, nested=True) if may_have_objects(values) else None
        if rows is None:
            return {}
        name = table.definition.full_name
        members = self.source.facts.get(Unexplained(name, column.name))
        if members is not None and table.record_schema is None:
            problem = unexplained_object(name, column.name, members)
        elif self._dialect.refuses_objects(name, described=table.record_schema is not None):
            rows, problem = avro_unions(values, rows), avro_json(Span(table=name, field=column.name))
        else:
            return {}
        return dict.fromkeys(non_null_values(pc.indices_nonzero(rows)), problem)


def dialect_input(
    dialect: type[Dialect],
    reader: type[DialectReader] = DialectReader,
    discovery: type[DialectDiscovery] = DialectDiscovery,
    router: type[DialectRouter] | None = DialectRouter,
    other: Callable[[WriterSettings], ReadSupport | None] = lambda source: None,
) -> ReadSupport:
    """Return the readers of a dialect, made of the classes that all dialects share, or of classes that extend them."""

    def made(base: type[Any], word: str, **attributes: Any) -> type[Any]:
        return type(f"{dialect.__name__}{word}", (base,), {"dialect": dialect, **attributes})

    reads = made(reader, "Reader", transaction_tokens=dialect.transaction_tokens)
    routes = None if router is None else made(router, "Router")
    return ReadSupport(reads, made(discovery, "Discovery"), routes, other)
