"""Reader of GoldenGate JSON: the operation-modelled messages of the JSON formatter, and in-stream metadata records.

* Members may come in any order. `before` and `after` may be absent, null or an object. An empty `before` of an
  update is no before image: GoldenGate writes it so where there is none.
* Numbers keep their own characters; a column that is text by its definition may hold numbers, and the other way round.
* Records of GoldenGate Data Streams are understood where they stand between operations: `OBJECT_METADATA` is a
  metadata change event, others are counted. There the table is called `qual_table` and operation
  types are spelled out.
* Members that the format does not know are kept out of the way and counted.

A native scanner takes what is regular. Without it, and for what it leaves, a chunk is decoded at once (`decoders`).
Whatever does not fit (a new member, a number in a text column, a damaged record) takes the slow path: record by record,
and a decoder that has learned from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any, BinaryIO

import msgspec
import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.columnar.columns import int64s, texts, token_maps
from ggfmt.columnar.images import nonempty_before_images, unless_all
from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.formats.api.format import DEFAULT_SETTINGS, Projection, WriterSettings
from ggfmt.formats.api.reading import Chunk, Event, Layout, ReadSupport, UnknownTable
from ggfmt.formats.goldengate.json import records as records
from ggfmt.formats.goldengate.json.decoders import NO_RAW, Decoders, JsonTable
from ggfmt.formats.goldengate.json.discovery import JsonDiscovery, contradicts
from ggfmt.formats.goldengate.json.option_dialects import READ_SIDE, by_options
from ggfmt.formats.json import dumps
from ggfmt.formats.json import files as json_files
from ggfmt.formats.json.values import scalar_text
from ggfmt.formats.records import roles, scanner
from ggfmt.formats.records.batching import Spans, Wrong
from ggfmt.formats.records.problems import contradictions
from ggfmt.formats.records.rows import key_updates
from ggfmt.formats.records.scanner import ScannedBatch
from ggfmt.formats.records.scanning import ScanningReader
from ggfmt.model.change import OP_TYPES, ChangeBatch, Image, OpType
from ggfmt.model.table import Catalog, Kind, TableDef

_METADATA = b'"OBJECT_METADATA"'
_TABLE_NAME = re.compile(rb'table"\s*:\s*"([^"\\]*)"')
_META = attrgetter("op_type", "op_ts", "pos", "before", "after")
_OP_TYPES = frozenset(OP_TYPES)

MANY_TABLES = 256
# The JSON values of columns of the types that a discovery pass finds.
_TAKES = {
    Kind.STRING: roles.NULL | roles.STRING,
    Kind.DECIMAL: roles.NULL | roles.INTEGER | roles.NUMBER,
    Kind.BOOLEAN: roles.NULL | roles.BOOLEAN,
}
_MOST_EXTRA = 24  # members that nobody knows: with more the scanner has no room


class JsonReader(ScanningReader[JsonTable]):
    """Reads GoldenGate JSON; see the module's docstring."""

    sniff = staticmethod(records.sniff)
    checks_definitions = True

    def __init__(self, catalog: Catalog, projection: Projection, source: WriterSettings = DEFAULT_SETTINGS) -> None:
        super().__init__(catalog, projection, source)
        self._decoders = Decoders(projection.tokens)
        self._known: dict[str, JsonTable] = {}  # `tables` has those that operations were met of, in that order
        self._decoder: msgspec.json.Decoder[Any] | None = None
        self.use_scanner(self._grammar())
        # Of many tables a split has few: classes of all of them would take longer than its data. And what the scanner
        # leaves is of fewer still.
        few = self.scanner is None and len(catalog.tables()) <= MANY_TABLES
        self._met: set[str] | None = None if few else set()

    @staticmethod
    def layout(head: bytes, whole: bool, source: WriterSettings = DEFAULT_SETTINGS) -> Layout:
        return dumps.find_layout(head, whole)

    @staticmethod
    def chunks(stream: BinaryIO, file: str, start: int, length: int | None, layout: Layout) -> Iterator[Chunk]:
        return dumps.chunks(stream, file, start, length, layout)

    def spans(self, chunk: Chunk) -> Spans:
        return json_files.record_spans(chunk)

    def starts_of_lines(self, chunk: Chunk, count: int) -> pa.Int64Array | None:
        return json_files.starts_of_lines(chunk, count)

    def take_in_exactly(self, chunk: Chunk) -> Iterator[Event]:
        try:
            operations = self._decode(chunk)
        except (ValueError, RecursionError):  # msgspec's errors and UnicodeDecodeError are ValueErrors
            yield from self._read_singly(self.settled(chunk))
        else:
            self._hold(operations)

    # The scanner

    def _grammar(self) -> roles.Grammar | None:
        """What the scanner is to know of records; None if there are too many members that nobody knows."""
        if len(self._decoders.extra) > _MOST_EXTRA:
            return None
        members = (
            roles.identity(required=True).named(self._decoders.tag),
            roles.op().named("op_type"),
            roles.slot(roles.STRING | roles.NULL).named("op_ts"),
            roles.skip().named("current_ts"),
            roles.slot(roles.STRING | roles.INTEGER | roles.NULL).named("pos"),
            (roles.identity() if self.catalog.provisional else roles.skip()).named("primary_keys"),
            roles.tokens().named("tokens"),
            roles.before().named("before"),
            roles.after().named("after"),
            *map(roles.note, self._unknown_members),
        )
        return roles.Grammar(members, {name: name[0] for name in records.OP_NAMES})

    @property
    def _unknown_members(self) -> list[str]:
        return [name for name in self._decoders.extra if name != self._decoders.tag]

    def know(self, identity: bytes) -> bool:
        named, keys, *_ = (*identity.split(b"\0"), b"")
        try:
            name = msgspec.json.decode(named, type=str)
            told = msgspec.json.decode(keys or b"null", type=tuple[str, ...] | None)
        except ValueError:
            return False
        definition = self.catalog.get(name)
        if definition is None or (told and told != definition.primary_keys):
            return False
        self.tables[name] = self._table(definition)
        assert self.scanner is not None
        takes = None
        if self.catalog.provisional:
            takes = [_TAKES[column.type.kind] for column in definition.columns]
        return not self.scanner.rows(name) and self.scanner.bind(identity, definition, takes)

    def take_odd(self, chunk: Chunk, start: int, end: int, identity: bytes | None) -> Iterator[Event]:
        record = chunk.data[start:end]
        if self.catalog.provisional and contradicts(record, self.catalog):
            self.ordinal += 1
            yield self.reject(self.ordinal - 1, UnknownTable.named("?"))
            return
        self._meet(_table_named(record))
        yield from self._take_one(record, chunk.last and end == len(chunk.data))

    def scanned_columns(self, table: JsonTable, scanned: ScannedBatch) -> ChangeBatch:
        op_ts, position, *_ = (column.values for column in scanned.slots)
        for place, name in enumerate(self._unknown_members, 2):
            count = scanned.note(place)
            if count:
                self.members[name] += count
        asked, definition, key_update = self.projection, table.definition, None
        if not asked.row_only:
            scanned = replace(
                scanned, has_before=nonempty_before_images(scanned.op, scanned.has_before, scanned.before)
            )
        if asked.row_only and asked.key_updates:
            key_update = scanner.key_updates(scanned, definition)
        return scanned.batch(definition, op_ts, position, asked.row_only, key_update)

    def scanned_position(self, scanned: ScannedBatch, row: int) -> str | None:
        position: str | None = scanned.slots[1].values[row].as_py()
        return position

    # Decoding

    def _decode(self, chunk: Chunk) -> list[Any]:
        if not chunk.data.isascii():
            str(chunk.data, "utf-8")  # members that are skipped or kept raw are not checked otherwise
        self._meet(_tables_named(chunk.data))
        decoder = self._decoder or self._learn()
        if chunk.spans is None:
            return decoder.decode_lines(chunk.data)
        view = memoryview(chunk.data)
        return [decoder.decode(view[start:end]) for start, end in chunk.spans]

    def _meet(self, names: Iterable[str]) -> None:
        """Has the next decoder know the tables of these names too, where it does not know all."""
        if self._met is not None:
            new = {name for name in names if name not in self._met and self.catalog.get(name) is not None}
            if new:
                self._met |= new
                self._decoder = None

    def _learn(self) -> msgspec.json.Decoder[Any]:
        """A decoder for the tables of the catalog, with what was learned so far."""
        definitions = (table for table in self.catalog.tables() if self._met is None or table.full_name in self._met)
        self._decoder = self._decoders.decoder([self._table(definition) for definition in definitions])
        return self._decoder

    def _table(self, definition: TableDef) -> JsonTable:
        table = self._known.get(definition.full_name)
        if table is None:
            table = self._known[definition.full_name] = JsonTable.of(definition)
        return table

    def _hold(self, operations: Sequence[Any]) -> None:
        """Keeps decoded operations, in order, with the tables they belong to."""
        first = self.ordinal
        self.ordinal += len(operations)
        classes = set(map(type, operations))
        if len(classes) == 1:
            table = self._met_table(classes.pop())
            table.operations += operations
            table.ordinals.extend(range(first, self.ordinal))
            return
        for ordinal, operation in enumerate(operations, first):
            table = self._met_table(type(operation))
            table.operations.append(operation)
            table.ordinals.append(ordinal)

    def _met_table(self, kind: type[Any]) -> JsonTable:
        """The table that operations of a class were met of."""
        table = self._decoders.table_of(kind)
        return self.tables.setdefault(table.definition.full_name, table)

    # The slow path

    def _read_singly(self, chunk: Chunk) -> Iterator[Event]:
        for start, end in self.spans(chunk):
            yield from self._take_one(chunk.data[start:end], chunk.last and end == len(chunk.data))

    def _take_one(self, record: bytes, last: bool) -> Iterator[Event]:
        """The events of a record; `last` tells that the file ends with it."""
        # There may be thousands of metadata records in a row: each would have a decoder made that it then ends.
        soon_outdated = self._decoder is None and _METADATA in record
        operation = None if soon_outdated else self._decode_one(record)
        if operation is None:
            verdict = records.examine(record, last, self.catalog)
            if isinstance(verdict, records.JsonOperation):
                self.set_aside()
                self._learn_from(verdict)
                operation = self._decode_one(record)
            if operation is None:
                yield from self._exceptional(verdict)
                return
        self._hold([operation])

    def _decode_one(self, record: bytes) -> Any | None:
        try:
            if not record.isascii():
                str(record, "utf-8")
        except UnicodeDecodeError:
            return None
        try:
            return (self._decoder or self._learn()).decode(record)
        except (ValueError, RecursionError):
            pass
        if b"\\" not in record:
            return None
        try:  # a name may be one that a decoder class cannot have
            return (self._decoder or self._learn()).decode(records.with_plain_names(record))
        except (ValueError, RecursionError):
            return None

    def _learn_from(self, seen: records.JsonOperation) -> None:
        """Makes the next decoder fit for what an operation has that the present one does not know."""
        self._meet([seen.table])
        if self._decoders.learn_from(seen) and self.scanner is not None:
            self.use_scanner(self._grammar())
        definition = self.catalog.get(seen.table)
        assert definition is not None, "an operation of a table without one is no JsonOperation"
        self._table(definition).rows.keep_raw(seen.not_text)
        self._decoder = None

    def _exceptional(self, verdict: records.Verdict) -> Iterator[Event]:
        """The event of a record that is no operation."""
        ordinal = self.ordinal
        self.ordinal += 1
        if isinstance(verdict, records.JsonOperation):
            verdict = Diagnostic("GG301", "the record cannot be decoded", Span(table=verdict.table))
        if isinstance(verdict, Diagnostic):
            yield self.reject(ordinal, verdict)
        elif isinstance(verdict, str):
            self.others[verdict] += 1
        else:
            self.others["object metadata"] += 1
            settled = self.catalog.settle(verdict)
            if settled != self.catalog.get(settled.full_name):
                yield from self.change_schema(settled, ordinal)
                self.tables.pop(settled.full_name, None)
                self._known.pop(settled.full_name, None)
                self._decoder = None
                if self.scanner is not None:
                    self.scanner.forget(settled.full_name)

    # Batches

    @staticmethod
    def position(operation: Any) -> str | None:
        return None if operation.pos is None else str(operation.pos)

    def columns(self, table: JsonTable) -> ChangeBatch | Wrong:
        operations = table.operations
        kinds, op_ts, positions, befores, afters = zip(*map(_META, operations), strict=True)
        if not _OP_TYPES.issuperset(kinds):
            kinds = tuple(kind[0] for kind in kinds)
        op = texts(kinds)
        has_before = pa.array([image is not None for image in befores], pa.bool_())
        has_after = pa.array([image is not None for image in afters], pa.bool_())
        wrong = contradictions(op, has_before, has_after)
        if wrong:
            empty = table.rows.row_class()()
            mended = [_without_empty_image(operations[row], kinds[row], empty) for row in wrong]
            return self.columns(table) if any(mended) else wrong
        for index, name in enumerate(self._decoders.extra):
            count = sum(getattr(operation, f"x{index}", NO_RAW) is not NO_RAW for operation in operations)
            if count:
                self.members[name] += count
        key_update = None
        if self.projection.row_only:
            columns = table.rows.columns([b if k == "D" else a for k, b, a in zip(kinds, befores, afters, strict=True)])
            before, after = Image(columns, pc.equal(op, OpType.DELETE.value)), Image(columns, has_after)
            if self.projection.key_updates:
                key_update = key_updates(table.rows, befores, afters)
        else:
            old = table.rows.columns(befores)
            before = Image(old, unless_all(nonempty_before_images(op, has_before, old)))
            after = Image(table.rows.columns(afters), unless_all(has_after))
        return ChangeBatch(
            table.definition,
            op,
            _optional_texts(op_ts),
            _optional_texts(positions),
            before,
            after,
            int64s(table.ordinals),
            token_maps(map(self._token_texts, operations)) if self.projection.tokens else None,
            key_update,
        )

    def _token_texts(self, operation: Any) -> dict[str, str]:
        tokens = operation.tokens or {}
        if not self._decoders.typed_tokens:
            return tokens
        return {name: scalar_text(value) for name, value in tokens.items()}


class _Named(msgspec.Struct):
    """The names of tables in a record, which may have escapes."""

    table: str = ""
    qual_table: str = ""


_decode_names = msgspec.json.Decoder(_Named).decode


def _table_named(record: bytes) -> tuple[str, ...]:
    """The name of the table of a record, if it is one."""
    try:
        named = _decode_names(record)
    except (ValueError, RecursionError):
        return ()
    return named.table, named.qual_table


def _tables_named(data: bytes) -> Iterator[str]:
    """The names of tables in records, as far as they can be seen at once."""
    return (found[1].decode("utf-8", "replace") for found in _TABLE_NAME.finditer(data))


def _without_empty_image(operation: Any, kind: str, empty: Any) -> bool:
    """Whether an operation had an empty object for an image that its type does not have, which is then gone."""
    no_before = kind in "IT" and operation.before == empty
    no_after = kind in "DT" and operation.after == empty
    if no_before:
        operation.before = None
    if no_after:
        operation.after = None
    return no_before or no_after


def _optional_texts(values: Sequence[str | int | None]) -> pa.StringArray:
    try:
        return texts(values)  # type: ignore[arg-type]
    except pa.ArrowTypeError:
        return texts([None if value is None else str(value) for value in values])


READ_SIDES = {"json": ReadSupport(JsonReader, JsonDiscovery, by_options), "json_row": READ_SIDE}
