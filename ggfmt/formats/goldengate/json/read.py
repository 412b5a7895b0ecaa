"""Reader of GoldenGate JSON: the operation-modelled messages of the JSON formatter, and in-stream metadata records.

* Members may come in any order. `before` and `after` may be absent, null or an object.
* Numbers keep their own characters; a column that is text by its definition may hold numbers, and the other way round.
* Records of GoldenGate Data Streams are understood where they stand between operations: `OBJECT_METADATA` is a
  metadata change event, others are counted. There the table is called `qual_table` and operation
  types are spelled out.
* Members that the format does not know are kept out of the way and counted.

A chunk is decoded at once into one struct class per table, which a msgspec union tells apart by the table's name.
Whatever does not fit (a new member, a number in a text column, a damaged record) takes the slow path: record by
record, and a class that has learned from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, BinaryIO, Literal, Union

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Raw

from ggfmt.columnar.from_python import MISSING, int64s, texts, token_maps
from ggfmt.columnar.images import unless_all
from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.formats.api.context import DEFAULT_SETTINGS, Projection, WriterSettings
from ggfmt.formats.api.reading import Chunk, Event, Layout, ReadSide
from ggfmt.formats.goldengate.json import records as records
from ggfmt.formats.goldengate.json.discovery import JsonDiscovery
from ggfmt.formats.goldengate.json.laid_out import READ_SIDE, by_options
from ggfmt.formats.json import dumps
from ggfmt.formats.json import files as json_files
from ggfmt.formats.json.values import plain_name, scalar_text
from ggfmt.formats.records.batching import BatchingReader, HeldTable, Spans, Wrong
from ggfmt.formats.records.problems import contradictions
from ggfmt.formats.records.rows import JsonRows, key_updates
from ggfmt.model.change import OP_TYPES, ChangeBatch, Image, OpType
from ggfmt.model.table import Catalog, Kind

_OP_NAMES = Literal["I", "U", "D", "T", "INSERT", "UPDATE", "DELETE", "TRUNCATE"]
_RAW_KINDS = frozenset({Kind.INTEGER, Kind.DECIMAL, Kind.FLOAT, Kind.DOUBLE, Kind.BOOLEAN})
_NO_RAW = Raw(b"")
_METADATA = b'"OBJECT_METADATA"'
_TABLE_NAME = re.compile(rb'table"\s*:\s*"([^"\\]*)"')
_META = attrgetter("op_type", "op_ts", "pos", "before", "after")
_OP_TYPES = frozenset(OP_TYPES)

MANY_TABLES = 256


class _Never(msgspec.Struct, tag=MISSING, tag_field="table"):
    """A second member for the union of a single table: only a union insists on its tag. Nothing is ever one of these,
    not even where there is no table and so no union."""

    never: Raw = msgspec.field(name=MISSING.lstrip("\0"))


class _NeverQualified(msgspec.Struct, tag=MISSING, tag_field="qual_table"):
    never: Raw = msgspec.field(name=MISSING.lstrip("\0"))


@dataclass
class _Table(HeldTable):
    """`operation` is the class of the table's operations, and what it was made of."""

    rows: JsonRows
    operation: tuple[object, type[Any]] | None = None


class JsonReader(BatchingReader[_Table]):
    """Reads GoldenGate JSON; see the module's docstring."""

    sniff = staticmethod(records.sniff)

    def __init__(self, catalog: Catalog, projection: Projection, source: WriterSettings = DEFAULT_SETTINGS) -> None:
        super().__init__(catalog, projection, source)
        self._extra: list[str] = []
        self._typed_tokens = False
        self._tag = "table"
        self._decoder: msgspec.json.Decoder[Any] | None = None
        self._by_class: dict[type[Any], _Table] = {}
        # Of many tables a split has few: classes of all of them would take longer than its data.
        self._met: set[str] | None = set() if len(catalog.tables()) > MANY_TABLES else None

    @staticmethod
    def layout(head: bytes, whole: bool, source: WriterSettings = DEFAULT_SETTINGS) -> Layout:
        return dumps.find_layout(head, whole)

    @staticmethod
    def chunks(stream: BinaryIO, file: str, start: int, length: int | None, layout: Layout) -> Iterator[Chunk]:
        return dumps.chunks(stream, file, start, length, layout)

    def spans(self, chunk: Chunk) -> Spans:
        return json_files.record_spans(chunk)

    def take_in(self, chunk: Chunk) -> Iterator[Event]:
        try:
            operations = self._decode(chunk)
        except (ValueError, RecursionError):  # msgspec's errors and UnicodeDecodeError are ValueErrors
            yield from self._read_singly(self.settled(chunk))
        else:
            self._hold(operations)

    # Decoding

    def _decode(self, chunk: Chunk) -> list[Any]:
        if not chunk.data.isascii():
            str(chunk.data, "utf-8")  # members that are skipped or kept raw are not checked otherwise
        self._meet(found[1].decode("utf-8", "replace") for found in _TABLE_NAME.finditer(chunk.data))
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
        never = _Never if self._tag == "table" else _NeverQualified
        self._by_class = {}
        for definition in self.catalog.tables():
            name = definition.full_name
            if self._met is not None and name not in self._met:
                continue
            table = self.tables.get(name)
            if table is None:
                raw = (column.name for column in definition.columns if column.type.kind in _RAW_KINDS)
                table = self.tables[name] = _Table(definition, JsonRows(definition, raw))
            self._by_class[self._class_of(table)] = table
        classes = (*self._by_class, never)
        self._decoder = msgspec.json.Decoder(Union[classes])  # noqa: UP007 - made at run time
        return self._decoder

    def _class_of(self, table: _Table) -> type[Any]:
        """The class of a table's operations, the same as before where nothing new was learned of it."""
        row = table.rows.row_class()
        learned = (row, self._tag, self._typed_tokens, len(self._extra))
        if table.operation is None or table.operation[0] != learned:
            tokens: Any = (dict[str, Raw] if self._typed_tokens else dict[str, str]) | None
            extra = {f"x{i}": plain_name(name) for i, name in enumerate(self._extra) if name != self._tag}
            members: list[Any] = [
                ("op_type", _OP_NAMES),
                ("op_ts", str | None, None),
                ("pos", str | int | None, None),
                ("current_ts", Raw, _NO_RAW),
                ("primary_keys", Raw, _NO_RAW),
                ("tokens", tokens if self.projection.tokens else Raw, None),
                ("before", row | None, None),
                ("after", row | None, None),
            ]
            members += [(member, Raw, _NO_RAW) for member in extra]
            operation = msgspec.defstruct(
                "Operation",
                members,
                rename=extra,
                tag=table.definition.full_name,
                tag_field=self._tag,
                forbid_unknown_fields=True,
                gc=False,
            )
            table.operation = learned, operation
        return table.operation[1]

    def _hold(self, operations: Sequence[Any]) -> None:
        """Keeps decoded operations, in order, with the tables they belong to."""
        first = self.ordinal
        self.ordinal += len(operations)
        classes = set(map(type, operations))
        if len(classes) == 1:
            table = self._by_class[classes.pop()]
            table.operations += operations
            table.ordinals.extend(range(first, self.ordinal))
            return
        for ordinal, operation in enumerate(operations, first):
            table = self._by_class[type(operation)]
            table.operations.append(operation)
            table.ordinals.append(ordinal)

    # The slow path

    def _read_singly(self, chunk: Chunk) -> Iterator[Event]:
        for start, end in self.spans(chunk):
            record = chunk.data[start:end]
            # There may be thousands of metadata records in a row: each would have a decoder made that it then ends.
            soon_outdated = self._decoder is None and _METADATA in record
            operation = None if soon_outdated else self._decode_one(record)
            if operation is None:
                verdict = records.examine(record, chunk.last and end == len(chunk.data), self.catalog)
                if isinstance(verdict, records.JsonOperation):
                    yield from self.hand_out(True)
                    self._learn_from(verdict)
                    operation = self._decode_one(record)
                if operation is None:
                    yield from self._exceptional(verdict)
                    continue
            self._hold([operation])

    def _decode_one(self, record: bytes) -> Any | None:
        try:
            if not record.isascii():
                str(record, "utf-8")
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
        self._tag = seen.tag
        known = {*records.MEMBERS, *self._extra} - {"qual_table"} | {seen.tag}
        self._extra += [name for name in seen.members if name not in known]
        self._typed_tokens |= seen.typed_tokens
        table = self.tables.get(seen.table)
        if table is not None:
            table.rows.keep_raw(seen.not_text)
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
                self._decoder = None

    # Batches

    @staticmethod
    def position(operation: Any) -> str | None:
        return None if operation.pos is None else str(operation.pos)

    def columns(self, table: _Table) -> ChangeBatch | Wrong:
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
        for index, name in enumerate(self._extra):
            count = sum(getattr(operation, f"x{index}", _NO_RAW) is not _NO_RAW for operation in operations)
            if count:
                self.members[name] += count
        key_update = None
        if self.projection.row_only:
            columns = table.rows.columns([b if k == "D" else a for k, b, a in zip(kinds, befores, afters, strict=True)])
            before, after = Image(columns, pc.equal(op, OpType.DELETE.value)), Image(columns, has_after)
            if self.projection.key_updates:
                key_update = key_updates(table.rows, befores, afters)
        else:
            before = Image(table.rows.columns(befores), unless_all(has_before))
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
        if not self._typed_tokens:
            return tokens
        return {name: scalar_text(value) for name, value in tokens.items()}


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


READ_SIDES = {"json": ReadSide(JsonReader, JsonDiscovery, by_options), "json_row": READ_SIDE}
