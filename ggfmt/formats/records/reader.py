"""The reader of all dialects: records to operations, operations to batches of columns.

A chunk is decoded at once; where that fails, record by record. Operations are held, table by table, until there are
enough for a batch, or a definition changes.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from ggfmt.columnar.from_python import MISSING, int64s, texts, token_maps
from ggfmt.columnar.images import filled, overlaid, unless_all
from ggfmt.columnar.timestamps import micros_text
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.context import DEFAULT_SETTINGS, Projection, WriterSettings
from ggfmt.formats.api.reading import Chunk, Event, Layout, ReadSide, Remark, UnknownTable
from ggfmt.formats.json.shapes import Undescribed, follow, wider
from ggfmt.formats.records.batching import BatchingReader, HeldTable, Spans, Wrong
from ggfmt.formats.records.dialect import Change, Convert, Dialect, RecordSchema
from ggfmt.formats.records.discovery import DialectDiscovery
from ggfmt.formats.records.examined import examined, sniff
from ggfmt.formats.records.problems import contradictions, name_problem
from ggfmt.formats.records.rows import JsonRows, Rows, TextRows, converted, json_values, key_updates, keys_alone
from ggfmt.formats.records.twice import rows_with_columns_twice
from ggfmt.java.text import visible
from ggfmt.model.change import ChangeBatch, Image, ImageColumn, OpType
from ggfmt.model.table import Catalog, Kind, TableDef

_TWICE = "with a column twice in an image, of which the last one counts"


@dataclass
class DialectTable(HeldTable):
    """The changes held for a table, and what its records told of it last."""

    record_schema: RecordSchema | None
    converts: tuple[Convert | None, ...]
    rows: Rows | None = None


class DialectReader(BatchingReader[DialectTable]):
    """Reads the records of `dialect`."""

    dialect: ClassVar[type[Dialect]]

    def __init__(self, catalog: Catalog, projection: Projection, source: WriterSettings = DEFAULT_SETTINGS) -> None:
        super().__init__(catalog, projection, source)
        self._dialect = self.dialect(source, projection.tokens)
        self._dialect.trusted = catalog.trusted
        self.members = self._dialect.members
        self._twice: set[int] = set()  # rows of the batch in the making that have a column twice in an image

    @classmethod
    def sniff(cls, head: bytes) -> str | None:
        return sniff(cls.dialect, head)

    @classmethod
    def layout(cls, head: bytes, whole: bool, source: WriterSettings) -> Layout:
        return cls.dialect.layout(head, whole, source)

    @classmethod
    def chunks(cls, stream: BinaryIO, file: str, start: int, length: int | None, layout: Layout) -> Iterator[Chunk]:
        return cls.dialect.chunks(stream, file, start, length, layout)

    def spans(self, chunk: Chunk) -> Spans:
        return self.dialect.spans(chunk)

    def take_in(self, chunk: Chunk) -> Iterator[Event]:
        cut, meanings = examined(self._dialect, chunk)
        self.hold_instead(chunk, cut)
        for meaning in meanings:
            yield from self.take_in_one(meaning)

    def take_in_one(self, meaning: list[Change | RecordSchema] | str | Diagnostic) -> Iterator[Event]:
        """The events of the next record, of which is known what it is."""
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
                elif (yield from self._prepare(item, ordinal)):
                    break
        elif isinstance(meaning, str):
            self.others[meaning] += 1
        else:
            yield self.reject(ordinal, meaning)

    def flush(self) -> Iterator[Event]:
        yield from super().flush()
        for name in {name for name, _ in self._dialect.told}:
            self._remark_told(name)

    def _prepare(self, item: Change | RecordSchema, ordinal: int) -> Generator[Event, None, bool]:
        """Makes the table of an operation ready to take it in; true, after a reject, if it has no usable definition."""
        record_schema = item if isinstance(item, RecordSchema) else item.record_schema
        name = item.table if isinstance(item, Change) else item.table.full_name
        problem = name_problem(name)
        current = self.catalog.get(name)
        if problem is None and record_schema is None and current is None:
            problem = UnknownTable.named(name)
        if problem is not None:
            yield self.reject(ordinal, problem)
            return True
        if record_schema is not None:
            settled = follow(self.catalog.settle(record_schema.table), current, self.dialect.ordered)
            settled = wider(settled, self.source.facts.get(Undescribed(name), ()))
            if settled != current:
                self._remark_told(name)
                yield from self.change_schema(settled, ordinal)
                current = settled
        held = self.tables.get(name)
        if held is not None:
            yield from self.batch(held)
        assert current is not None
        converts = self._dialect.converts(current) if record_schema is None else record_schema.converts_of(current)
        self.tables[name] = DialectTable(current, record_schema, converts)
        return False

    def columns(self, table: DialectTable) -> ChangeBatch | Wrong:
        _, ops, op_ts, positions, befores, afters, tokens, _ = zip(*table.operations, strict=True)
        op = texts(ops)
        has_before = pa.array([image is not None for image in befores], pa.bool_())
        has_after = pa.array([image is not None for image in afters], pa.bool_())
        wrong = contradictions(op, has_before, has_after)
        if wrong:
            return wrong
        self._twice.clear()
        stamps, wrong = _stamps(op_ts)
        if wrong:
            return wrong
        if table.rows is None:
            images: Any = next((image for image in (*befores, *afters) if image is not None), {})
            kind = TextRows if isinstance(images, dict) else JsonRows
            table.rows = kind(table.definition, given=table.definition.full_name in self.catalog.trusted)
        asked = self.projection
        if asked.row_only:
            of_updates = asked.key_updates
            befores = tuple(
                b if o == "D" or (of_updates and o == "U") else None for o, b in zip(ops, befores, strict=True)
            )
        decoded, wrong = table.rows.decode((*befores, *afters))
        if wrong:
            return {row % len(ops): diagnostic for row, diagnostic in wrong.items()}
        old, new = decoded[: len(ops)], decoded[len(ops) :]
        delete = pc.equal(op, OpType.DELETE.value)
        key_update = None
        partial = self.dialect.overlay or self.dialect.partial_before
        if asked.row_only:
            if asked.key_updates:
                absent = None if self._dialect.absent_is_null else MISSING
                key_update = key_updates(table.rows, old, new, MISSING if partial else absent, absent)
            images = [b if o == "D" else a for o, b, a in zip(ops, befores, afters, strict=True)]
            chosen = [b if o == "D" else a for o, b, a in zip(ops, old, new, strict=True)]
            columns = self._image(table, images, chosen, delete, None, wrong)
            before, after = Image(columns, delete), Image(columns, unless_all(has_after))
        else:
            whole = delete if partial else None
            before = Image(self._image(table, befores, old, has_before, whole, wrong), unless_all(has_before))
            after = Image(self._image(table, afters, new, None, None, wrong), unless_all(has_after))
            if self.dialect.overlay:
                before = overlaid(before, after, op)
        if wrong:
            return wrong
        self._remark(table)
        ordinals, maps = int64s(table.ordinals), token_maps(tokens) if asked.tokens else None
        return ChangeBatch(table.definition, op, stamps, texts(positions), before, after, ordinals, maps, key_update)

    def _remark(self, table: DialectTable) -> None:
        """Takes note of columns that images have twice, and of key columns that descriptions tell and no column has."""
        name = table.definition.full_name
        if self._twice:
            self.remarks[Remark("GG317", name, _TWICE)] += len(self._twice)
        if table.record_schema is not None:
            self._remark_key(table.definition, table.record_schema.keys, len(table.operations))

    def _remark_told(self, table: str) -> None:
        """Takes note of keys told of a table up to here, whose definition is about to change or will not any more."""
        definition = self.catalog.get(table)
        for name, keys in [told for told in self._dialect.told if told[0] == table]:
            operations = self._dialect.told.pop((name, keys))
            if definition is not None:
                self._remark_key(definition, keys, operations)

    def _remark_key(self, definition: TableDef, keys: Sequence[str], operations: int) -> None:
        name = definition.full_name
        unknown = definition.not_in_key(keys)
        if unknown and name not in self.catalog.trusted:
            shown = ", ".join(f"`{visible(column)}`" for column in unknown)
            self.remarks[Remark("GG211", name, f"whose key has {shown}, which no column is named")] += operations

    def _image(
        self,
        table: DialectTable,
        images: Sequence[Any],
        rows: Sequence[Any],
        before: pa.BooleanArray | None,
        whole: pa.BooleanArray | None,
        wrong: Wrong,
    ) -> tuple[ImageColumn, ...]:
        """The columns of the rows that images were decoded into, some of them `before` images, some `whole` rows (None:
        all); adds what is wrong to `wrong`."""
        assert table.rows is not None
        columns = table.rows.columns(rows)
        if isinstance(table.rows, JsonRows):
            self._twice.update(rows_with_columns_twice(images, columns))
        if self._dialect.keys_only and before is not None:
            columns, keyless = keys_alone(table.definition, columns, before)
            wrong |= keyless
        scalars = self.dialect.keeps_json if table.record_schema is None else frozenset()
        masks = [
            json_values(column, kind in scalars, kind is Kind.STRING)
            for kind, column in zip((column.type.kind for column in table.definition.columns), columns, strict=True)
        ]
        columns, misfits = converted(table.definition, table.converts, columns)
        wrong |= misfits
        columns = tuple(
            column if mask is None else replace(column, json=mask) for column, mask in zip(columns, masks, strict=True)
        )
        return filled(columns, whole) if self._dialect.absent_is_null else columns


def _stamps(values: Sequence[str | int | None]) -> tuple[pa.StringArray, Wrong]:
    """The time stamps as texts; numbers are microseconds since 1970."""
    if all(value is None or isinstance(value, str) for value in values):
        return texts(values), {}  # type: ignore[arg-type]
    stamps, bad = micros_text([value if isinstance(value, int) else None for value in values])
    if any(isinstance(value, str) for value in values):
        stamps = texts([v if isinstance(v, str) else s for v, s in zip(values, stamps.to_pylist(), strict=True)])
    return stamps, {row: Diagnostic("GG308", "the time of the operation is out of range") for row in bad}


def dialect_input(dialect: type[Dialect]) -> ReadSide:
    """What reads a dialect."""
    reader = type(f"{dialect.__name__}Reader", (DialectReader,), {"dialect": dialect})
    discovery = type(f"{dialect.__name__}Discovery", (DialectDiscovery,), {"dialect": dialect})
    return ReadSide(reader, discovery)
