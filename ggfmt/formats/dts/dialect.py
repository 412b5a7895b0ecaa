"""What DTS's records are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import msgspec

from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.context import WriterSettings
from ggfmt.formats.api.reading import Chunk, Layout
from ggfmt.formats.avro.blocks import CorruptContainerError, Header, parts, read_header
from ggfmt.formats.dts import KEYS_TAG
from ggfmt.formats.dts import files as dts_files
from ggfmt.formats.dts.ddl import NoTable, is_truncate, truncated
from ggfmt.formats.dts.decode import ZONED, Cell, Decoder, DtsRecord, MalformedRecordError, RowFields
from ggfmt.formats.dts.schema import version_of
from ggfmt.formats.dts.tokens import tokens_of
from ggfmt.formats.dts.types import ORACLE, TypeHint, hint_of
from ggfmt.formats.dts.values import MICROS, NANOS, Maker, UnreadableValueError, kind_of, makers
from ggfmt.formats.records.dialect import Change, Dialect, Meaning, RecordSchema
from ggfmt.formats.records.refused import NAME_TABLE, RecordError, decoded, missing_member_error
from ggfmt.model.table import Column, Kind, SqlType, TableDef

_OPS = {"INSERT": "I", "INIT": "I", "UPDATE": "U", "DELETE": "D"}
_OTHERS = {"BEGIN": "transaction begin", "COMMIT": "transaction commit", "ROLLBACK": "transaction rollback"}
_PRIMARY = "PRIMARY"
_keys = msgspec.json.Decoder(dict[str, tuple[str, ...]]).decode


@dataclass(frozen=True)
class _Table:
    """What the columns of records mean: the definition and, for each column, what makes texts of its values.

    `learns`: the columns whose values tell their kind, by place, with the kinds that they may tell, and the tags of the
    cells that did. `kinds` and `digits` are what the makers were made for.
    """

    record_schema: RecordSchema
    names: tuple[str, ...]
    makers: tuple[tuple[Maker, ...], ...]
    learns: tuple[tuple[int, frozenset[Kind], set[int]], ...]
    kinds: tuple[Kind, ...]
    digits: int


class Dts(Dialect):
    """Images are dicts of texts. What is learned are the kinds of columns that their values show: keys are a table, a
    column and a kind."""

    def __init__(self, source: WriterSettings, with_tokens: bool = True) -> None:
        super().__init__(source, with_tokens)
        self.records = Decoder()
        self._tables: dict[tuple[str, str, bytes, str | None], _Table] = {}
        self._told_by: dict[int, _Table] = {}  # by the identity of what records tell of their tables
        self._schemas: dict[bytes, bool | None] = {}

    @staticmethod
    def sniff(members: dict[str, Any]) -> str | None:
        return None

    # Records of a file

    @staticmethod
    def layout(head: bytes, whole: bool, source: WriterSettings) -> Layout:
        return dts_files.layout(head)

    @staticmethod
    def chunks(stream: BinaryIO, file: str, start: int, length: int | None, layout: Layout) -> Iterator[Chunk]:
        return dts_files.chunks(stream, file, start, length, layout)

    @staticmethod
    def spans(chunk: Chunk) -> Sequence[tuple[int, int]]:
        return dts_files.spans(chunk)

    def decoded(self, chunk: Chunk) -> Iterator[Any]:
        if chunk.layout.splittable:
            for start, end in self.spans(chunk):
                yield self.line(chunk.data[start:end])
        elif chunk.spans is None:
            yield from self._block(chunk.data, chunk.layout.max_record)
        else:
            for start, end in chunk.spans:
                yield self.prefixed(chunk.data[start:end])

    def line(self, line: bytes) -> DtsRecord | Diagnostic:
        try:
            return self.records.datum(dts_files.line_datum(line))
        except MalformedRecordError as error:
            return Diagnostic("GG313", str(error), help=_HELP)
        except ValueError:
            return Diagnostic("GG313", "the line is no Base64", help=_HELP)

    def prefixed(self, data: bytes) -> DtsRecord | Diagnostic:
        size = int.from_bytes(data[: dts_files.PREFIX_BYTES], "big") + dts_files.PREFIX_BYTES
        if size >= dts_files.MOST_BYTES:
            return Diagnostic("GG313", "the length of a record is out of range", help=_HELP)
        if size > len(data) or len(data) < dts_files.PREFIX_BYTES:
            help = "read the file again when it is whole"
            return Diagnostic("GG302", "the file ends in the middle of a record", help=help)
        try:
            return self.records.datum(data[dts_files.PREFIX_BYTES :])
        except MalformedRecordError as error:
            return Diagnostic("GG313", str(error), help=_HELP)

    def _block(self, data: bytes, limit: int) -> Iterator[DtsRecord | Diagnostic]:
        try:
            header = read_header(data)
            born = self.born(header)
            for _, _, count, block in parts(data, header, limit):
                if isinstance(block, CorruptContainerError):
                    raise block
                place = 0
                for _ in range(count):
                    record, place = self.records.record(block, place, born)
                    yield record
                if place != len(block):
                    raise CorruptContainerError(TOO_LONG)
        except (CorruptContainerError, MalformedRecordError) as error:
            yield Diagnostic("GG313", str(error))

    def born(self, header: Header) -> bool:
        """Whether the records of a container file have a `bornTimestamp`; Damaged if they are none of DTS's."""
        if header.data not in self._schemas:
            self._schemas[header.data] = born_in(header.schema)
        born = self._schemas[header.data]
        if born is None:
            raise CorruptContainerError("the schema of the file is not the one of DTS's records")
        return born

    # What a record is

    def changes(self, record: DtsRecord) -> Meaning:
        op = _OPS.get(record.operation)
        if op is None:
            return self._others(record)
        if not record.object_name:
            raise missing_member_error("objectName", NAME_TABLE)
        name = record.object_name
        fields = record.fields
        if not isinstance(fields, RowFields):
            raise RecordError("GG305", "the record has no list of `fields`", None, name)
        table = self._table(name, record, fields)
        # Before any value is refused: what is learned must not depend on what else is wrong.
        for image in (record.before, record.after):
            if isinstance(image, list) and len(image) == len(table.names):
                self._learn(name, table, image)
        before = self._image(table, record.before, "beforeImages", name)
        after = self._image(table, record.after, "afterImages", name)
        return [self._change(record, name, op, before, after, table.record_schema)]

    def _others(self, record: DtsRecord) -> Meaning:
        if record.operation != "DDL":
            return other(record.operation)
        statement = record.after
        if not isinstance(statement, str) or not is_truncate(statement):
            return "ddl"
        try:
            names = truncated(statement, record.object_name, record.source_type)
        except NoTable as error:
            raise RecordError("GG305", str(error)) from None
        changes = []
        for row, name in enumerate(names):
            change = self._change(record, name, "T", None, None, None)
            if self.with_tokens and len(names) > 1:
                change.tokens["row"] = str(row)
            changes.append(change)
        return changes

    def _change(
        self, record: DtsRecord, name: str, op: str, before: Any, after: Any, record_schema: RecordSchema | None
    ) -> Change:
        op_ts = record.timestamp * 1_000_000 if record.timestamp else None
        tokens = tokens_of(record) if self.with_tokens else {}
        return Change(name, op, op_ts, record.position or None, before, after, tokens, record_schema)

    # Tables

    def _table(self, name: str, record: DtsRecord, fields: RowFields) -> _Table:
        keys = record.tags.get(KEYS_TAG)
        identity = name, record.source_type, fields.data, keys
        table = self._tables.get(identity)
        if table is None:
            table = self._tables[identity] = self._describe(name, record.source_type, fields, keys)
            self._told_by[id(table.record_schema)] = table
        return table

    def told_by(self, record_schema: RecordSchema) -> _Table:
        """What the columns mean of records that tell this of their table."""
        return self._told_by[id(record_schema)]

    def _describe(self, name: str, source_type: str, fields: RowFields, keys_text: str | None) -> _Table:
        if len(set(fields.names)) < len(fields.names):
            raise RecordError("GG308", "`fields` names a column twice", None, name)
        keys: tuple[str, ...] = ()
        if keys_text:
            reason = f"the tag `{KEYS_TAG}` is not an object of lists of columns"
            keys = decoded(_keys, keys_text, reason, name).get(_PRIMARY, ())
        trusted = (
            {column.name: column.type.kind for column in self.trusted[name].columns} if name in self.trusted else {}
        )
        columns: list[Column] = []
        kinds: list[Kind] = []
        digits = NANOS if source_type == ORACLE else MICROS
        learns: list[tuple[int, frozenset[Kind], set[int]]] = []
        for place, (column, number) in enumerate(zip(fields.names, fields.numbers, strict=True)):
            known = hint_of(source_type, number)
            seen = {kind for kind in known.learns if (name, column, kind.value) in self.source.facts}
            kind = known.settled(seen)
            columns.append(Column(column, SqlType(kind)))
            if column in trusted:
                kind = trusted[column]
            elif known.learns - seen:
                learns.append((place, known.learns, set()))
            kinds.append(kind)
        definition = self.keyed(TableDef(name, tuple(columns)).with_keys(keys))
        record_schema = RecordSchema(definition, (None,) * len(columns))
        makers_of = tuple(makers(kind, digits) for kind in kinds)
        return _Table(record_schema, fields.names, makers_of, tuple(learns), tuple(kinds), digits)

    def _image(
        self, table: _Table, cells: list[Cell] | str | None, member: str, name: str
    ) -> dict[str, str | None] | None:
        if not cells:
            return None
        if isinstance(cells, str):
            raise RecordError("GG308", f"`{member}` of a change is a text", None, name)
        if len(cells) != len(table.names):
            reason = f"`fields` has {len(table.names)} columns and `{member}` has {len(cells)} values"
            raise RecordError("GG308", reason, None, name)
        image: dict[str, str | None] = {}
        for column, make, cell in zip(table.names, table.makers, cells, strict=True):
            if cell is None:
                image[column] = None
            elif cell:
                try:
                    image[column] = make[cell[0]](cell)
                except UnreadableValueError as error:
                    raise RecordError("GG314", str(error), None, name, column) from None
        return image

    def _learn(self, name: str, table: _Table, cells: list[Cell]) -> None:
        """Takes note of the kinds that values show, and that all records are to be seen once more if a column is
        thereby of another kind."""
        for place, kinds, tags in table.learns:
            cell = cells[place]
            if not cell or cell[0] in tags:
                continue
            if cell[0] != ZONED:
                tags.add(cell[0])
            kind = kind_of(cell)
            column = table.record_schema.table.columns[place]
            if kind in kinds and (name, column.name, kind.value) not in self.learned:
                self.learned[name, column.name, kind.value] = True
                seen = {kind for kind in kinds if (name, column.name, kind.value) in self.learned}
                self.lacking |= TypeHint(column.type.kind, kinds).settled(seen) is not column.type.kind


def other(operation: str) -> str:
    """What a record is that is no change."""
    return _OTHERS.get(operation) or operation.lower()


TOO_LONG = "bytes follow the records of a block"
_HELP = (
    "a file has records of DTS, each behind its length in four bytes, or as Base64 in a line, or in Avro's containers"
)


def born_in(schema: Any) -> bool | None:
    """Whether records of a schema have a `bornTimestamp`; None if it is none of DTS's."""
    try:
        return version_of(schema)
    except Exception:  # a schema can be wrong in more ways than there are exceptions for
        return None
