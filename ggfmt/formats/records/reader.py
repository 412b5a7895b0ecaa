"""The reader of all dialects: records to operations, operations to batches of columns.

A chunk is decoded at once; where that fails, record by record. Operations are kept, table by table, until there are
enough for a batch, or a definition changes.
"""

from __future__ import annotations

from array import array
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO, ClassVar

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from ggfmt.columnar.from_python import int64s, texts, token_maps
from ggfmt.columnar.timestamps import micros_text
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.context import DEFAULT_SETTINGS, Projection, WriterSettings
from ggfmt.formats.api.reading import (
    Chunk,
    Event,
    Layout,
    Reader,
    ReadSide,
    Reject,
    SchemaChange,
    UnknownTable,
)
from ggfmt.formats.json.rows import unless_all
from ggfmt.formats.json.shapes import follow
from ggfmt.formats.records.dialect import Change, Convert, Dialect, RecordSchema
from ggfmt.formats.records.discovery import DialectDiscovery
from ggfmt.formats.records.examined import examined, sniff
from ggfmt.formats.records.held import BATCH_ROWS, HeldChunks
from ggfmt.formats.records.problems import contradiction, contradictions, name_problem
from ggfmt.formats.records.rows import (
    JsonRows,
    Rows,
    TextRows,
    Wrong,
    converted,
    filled,
    key_updates,
    keys_alone,
    overlaid,
)
from ggfmt.model.change import ChangeBatch, Image, OpType
from ggfmt.model.table import Catalog, TableDef


@dataclass
class _Held:
    """The operations of a table that were read and not yet handed out."""

    definition: TableDef
    record_schema: RecordSchema | None
    converts: tuple[Convert | None, ...]
    changes: list[Change] = field(default_factory=list)
    ordinals: array[int] = field(default_factory=lambda: array("q"))
    rows: Rows | None = None


class DialectReader(Reader):
    """Reads the records of `dialect`."""

    dialect: ClassVar[type[Dialect]]

    def __init__(self, catalog: Catalog, projection: Projection, source: WriterSettings = DEFAULT_SETTINGS) -> None:
        super().__init__(catalog, projection, source)
        self._dialect = self.dialect(source, projection.tokens)
        self._dialect.trusted = catalog.trusted
        self._decoder = msgspec.json.Decoder(self._dialect.record | None)
        self._ordinal = 0
        self._held = HeldChunks(self.dialect.spans)
        self._tables: dict[str, _Held] = {}

    @classmethod
    def sniff(cls, head: bytes) -> str | None:
        return sniff(cls.dialect, head)

    @classmethod
    def layout(cls, head: bytes, whole: bool, source: WriterSettings) -> Layout:
        return cls.dialect.layout(head, whole, source)

    @classmethod
    def chunks(cls, stream: BinaryIO, file: str, start: int, length: int | None, layout: Layout) -> Iterator[Chunk]:
        return cls.dialect.chunks(stream, file, start, length, layout)

    def read(self, chunk: Chunk) -> Iterator[Event]:
        self._held.add(self._ordinal, chunk)
        for found in examined(self._dialect, self._decoder, chunk):
            ordinal = self._ordinal
            self._ordinal += 1
            if isinstance(found, list):
                for item in found:
                    if isinstance(item, Change):
                        held = self._tables.get(item.table)
                        if held is None or item.record_schema is not held.record_schema:
                            if (yield from self._prepare(item, ordinal)):
                                break
                            held = self._tables[item.table]
                        held.changes.append(item)
                        held.ordinals.append(ordinal)
                    elif (yield from self._prepare(item, ordinal)):
                        break
            elif isinstance(found, str):
                self.others[found] += 1
            else:
                yield self._reject(ordinal, found)
        full = self._held.full
        for held in self._tables.values():
            if held.changes and (full or self.projection.in_order or len(held.changes) >= BATCH_ROWS):
                yield from self._batch(held)
        if not any(held.changes for held in self._tables.values()):
            self._held.clear()

    def flush(self) -> Iterator[Event]:
        yield from self._hand_out()
        self._held.clear()

    def locate(self, ordinal: int) -> tuple[Chunk, int, int]:
        return self._held.locate(ordinal)

    def _reject(self, ordinal: int, diagnostic: Diagnostic) -> Reject:
        chunk, start, end = self.locate(ordinal)
        return Reject(ordinal, chunk.data[start:end], diagnostic.at(file=chunk.file, offset=chunk.offset + start))

    # Definitions

    def _prepare(self, item: Change | RecordSchema, ordinal: int) -> Generator[Event, None, bool]:
        """Makes the table of an operation ready to take it in; true, after a reject, if it has no usable definition."""
        record_schema = item if isinstance(item, RecordSchema) else item.record_schema
        name = item.table if isinstance(item, Change) else item.table.full_name
        held = self._tables.get(name)
        problem = name_problem(name)
        current = self.catalog.get(name)
        if problem is None and record_schema is None and current is None:
            problem = UnknownTable.named(name)
        if problem is not None:
            yield self._reject(ordinal, problem)
            return True
        if record_schema is not None:
            settled = follow(self.catalog.settle(record_schema.table), current)
            if settled != current:
                yield from self._hand_out() if self.projection.in_order else self._batch(held) if held else iter(())
                self.catalog = self.catalog.with_tables([settled])
                current = settled
                chunk, start, _ = self.locate(ordinal)
                yield SchemaChange(settled, chunk.input, chunk.offset + start)
        if held is not None:
            yield from self._batch(held)
        assert current is not None
        converts = record_schema.converts if record_schema is not None else self._dialect.converts(current)
        self._tables[name] = _Held(current, record_schema, converts)
        return False

    # Batches

    def _hand_out(self) -> Iterator[Event]:
        for held in self._tables.values():
            yield from self._batch(held)

    def _batch(self, held: _Held) -> Iterator[Event]:
        """The operations held for a table as one batch, less those that turn out to be none."""
        while held.changes:
            made = self._columns(held)
            if isinstance(made, ChangeBatch):
                held.changes, held.ordinals = [], array("q")
                yield made
                return
            for row in sorted(made):
                diagnostic = made[row].at(table=held.definition.full_name, position=held.changes[row].position)
                yield self._reject(held.ordinals[row], diagnostic)
            held.ordinals = array("q", (item for row, item in enumerate(held.ordinals) if row not in made))
            held.changes = [item for row, item in enumerate(held.changes) if row not in made]

    def _columns(self, held: _Held) -> ChangeBatch | Wrong:
        """The batch, or what is wrong with some of its operations."""
        _, ops, op_ts, positions, befores, afters, tokens, _ = zip(*held.changes, strict=True)
        op = texts(ops)
        has_before = pa.array([image is not None for image in befores], pa.bool_())
        has_after = pa.array([image is not None for image in afters], pa.bool_())
        wrong = _contradicting(op, has_before, has_after)
        if wrong:
            return wrong
        stamps, wrong = _stamps(op_ts)
        if wrong:
            return wrong
        if held.rows is None:
            images: Any = next((image for image in (*befores, *afters) if image is not None), {})
            held.rows = TextRows(held.definition) if isinstance(images, dict) else JsonRows(held.definition)
        rows = held.rows
        key_update = None
        if self.projection.row_only:
            asked = self.projection.key_updates
            befores = tuple(b if o == "D" or (asked and o == "U") else None for o, b in zip(ops, befores, strict=True))
        count = len(ops)
        decoded, wrong = rows.decode((*befores, *afters))
        if wrong:
            return {row % count: diagnostic for row, diagnostic in wrong.items()}
        old, new = decoded[:count], decoded[count:]
        if self.projection.row_only:
            if self.projection.key_updates:
                key_update = key_updates(rows, ops, old, new)
            chosen = [b if o == "D" else a for o, b, a in zip(ops, old, new, strict=True)]
            columns, wrong = rows.columns(chosen), {}
            if self._dialect.keys_only:
                columns, wrong = keys_alone(held.definition, columns, pc.equal(op, OpType.DELETE.value))
            columns, wrong_values = converted(held.definition, held.converts, columns)
            wrong |= wrong_values
            if self._dialect.absent_is_null:
                columns = filled(Image(columns)).columns
            before = Image(columns, pc.equal(op, OpType.DELETE.value))
            after = Image(columns, unless_all(has_after))
        else:
            columns, wrong = rows.columns(old), {}
            if self._dialect.keys_only:
                columns, wrong = keys_alone(held.definition, columns, has_before)
            columns, wrong_old = converted(held.definition, held.converts, columns)
            before = Image(columns, unless_all(has_before))
            columns, wrong_new = converted(held.definition, held.converts, rows.columns(new))
            after = Image(columns, unless_all(has_after))
            wrong |= wrong_old | wrong_new
            if self._dialect.absent_is_null:
                after = filled(after)
                before = filled(before, pc.equal(op, OpType.DELETE.value) if self.dialect.overlay else None)
            if self.dialect.overlay:
                before = overlaid(before, after, op)
        if wrong:
            return wrong
        return ChangeBatch(
            held.definition,
            op,
            stamps,
            texts(positions),
            before,
            after,
            int64s(held.ordinals),
            token_maps(tokens) if self.projection.tokens else None,
            key_update,
        )


def _contradicting(op: pa.StringArray, has_before: pa.BooleanArray, has_after: pa.BooleanArray) -> Wrong:
    wrong: Wrong = {}
    for row in pc.indices_nonzero(contradictions(op, has_before, has_after)).to_pylist():
        problem = contradiction(op[row].as_py(), has_before[row].as_py(), has_after[row].as_py())
        assert problem is not None, "the kernel and the rule of one operation disagree"
        wrong[row] = problem
    return wrong


def _stamps(values: Sequence[str | int | None]) -> tuple[pa.StringArray, Wrong]:
    """The time stamps as texts; numbers are microseconds since 1970."""
    if all(value is None or isinstance(value, str) for value in values):
        return texts(values), {}  # type: ignore[arg-type]
    made, bad = micros_text([value if isinstance(value, int) else None for value in values])
    if any(isinstance(value, str) for value in values):
        made = texts([v if isinstance(v, str) else m for v, m in zip(values, made.to_pylist(), strict=True)])
    return made, {row: Diagnostic("GG308", "the time of the operation is out of range") for row in bad}


def dialect_input(dialect: type[Dialect]) -> ReadSide:
    """What reads a dialect."""
    reader = type(f"{dialect.__name__}Reader", (DialectReader,), {"dialect": dialect})
    discovery = type(f"{dialect.__name__}Discovery", (DialectDiscovery,), {"dialect": dialect})
    return ReadSide(reader, discovery)
