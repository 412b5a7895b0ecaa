"""Reader of delimited text, by the handler that wrote it.

The text does not say what its columns are: definitions have to be given, and the options of the writing handler where
they are not the defaults. What the format cannot show is lost before it is read: the before image of an update is
missing, a value equal to the representation of NULL or of a missing column is taken for that, and a value that holds a
delimiter makes a line with too many fields, which is a reject.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc

from ggfmt.columnar.delimited import count_fields, image_column, split, table_of_fields, tokens_of
from ggfmt.diagnostics.diagnostic import Diagnostic, Span, UsageError
from ggfmt.formats.api.context import DEFAULT_SETTINGS, Projection, WriterSettings
from ggfmt.formats.api.reading import Chunk, Event, Layout, ReadSide
from ggfmt.formats.goldengate.options import op_keys
from ggfmt.formats.records.batching import PlacingReader, Spans
from ggfmt.formats.records.refused import legal_values
from ggfmt.java.charsets import can_decode, codec_of, native_charset
from ggfmt.model.change import OP_TYPES, ChangeBatch, Image, OpType
from ggfmt.model.table import Catalog, TableDef
from ggfmt.options.value_types import NATIVE

CHUNK_BYTES = 1 << 20
_ENCODING_HELP = "set `encoding` in `--input-config`"
_OP_TYPES = pa.array(OP_TYPES, pa.string())


class DelimitedTextReader(PlacingReader):
    """Reads delimited text; `source.options` are `DelimitedTextOptions`."""

    def __init__(self, catalog: Catalog, projection: Projection, source: WriterSettings = DEFAULT_SETTINGS) -> None:
        super().__init__(catalog, projection, source)
        options = source.options
        self._codec = _codec(source)
        self._keys = pa.array(op_keys(options), pa.string())
        included = (
            ("op", options.include_op_type),
            ("table", options.include_table_name),
            ("op_ts", options.include_op_timestamp),
            ("current_ts", options.include_current_timestamp),
            ("position", options.include_position),
            ("tokens", source.context.include_tokens),
        )
        self._metadata = [name for name, is_included in included if is_included]

    @staticmethod
    def sniff(head: bytes) -> str | None:
        return None  # any text is delimited by something

    @staticmethod
    def layout(head: bytes, whole: bool, source: WriterSettings) -> Layout:
        codec = _codec(source)
        if source.options.encoding != NATIVE and not can_decode(source.options.encoding):
            help = "convert the file to UTF-8, and give an `--input-config` that says so"
            name = source.options.encoding
            raise UsageError(Diagnostic("GG303", f"ggfmt writes `{name}`, but does not read it", help=help))
        delimiter = source.options.line_delimiter.encode(codec)
        return Layout(splittable=_found_anywhere(codec, delimiter), delimiter=delimiter)

    @staticmethod
    def chunks(stream: BinaryIO, file: str, start: int, length: int | None, layout: Layout) -> Iterator[Chunk]:
        if not layout.splittable:
            data = stream.read()
            if data:
                yield Chunk(file, 0, data, layout)
            return
        delimiter = layout.delimiter
        offset = start
        if start:
            # The line that holds the byte before `start` belongs to another split.
            stream.seek(max(0, start - len(delimiter)))
            offset = stream.tell() + len(_through(stream, delimiter))
        end = None if length is None else start + length
        while end is None or offset < end:
            data = stream.read(CHUNK_BYTES if end is None else min(CHUNK_BYTES, end - offset))
            if not data:
                return
            if not data.endswith(delimiter):
                half = next((n for n in range(len(delimiter) - 1, 0, -1) if data.endswith(delimiter[:n])), 0)
                data += _through(stream, delimiter, delimiter[:half])
            yield Chunk(file, offset, data, layout)
            offset += len(data)

    def spans(self, chunk: Chunk) -> Spans:
        # By characters and not by bytes, which may look like a delimiter where they are none.
        try:
            text = chunk.data.decode(self._codec, "surrogateescape" if chunk.layout.splittable else "strict")
        except UnicodeDecodeError:
            return [(0, len(chunk.data))]
        delimiter = self.source.options.line_delimiter
        spans = []
        start = 0
        for line in text.split(delimiter):
            end = start + len(line.encode(self._codec, "surrogateescape"))
            spans.append((start, end))
            start = end + len(delimiter.encode(self._codec))
        return spans

    def take_in(self, chunk: Chunk) -> Iterator[Event]:
        try:
            text = chunk.data.decode(self._codec)
        except UnicodeDecodeError:
            yield from self._reject_undecodable(chunk)
            return
        lines = split(text if chunk.offset else text.removeprefix("\ufeff"), self.source.options.line_delimiter)
        if not lines[len(lines) - 1].as_py():
            lines = lines.slice(0, len(lines) - 1)
        yield from self._lines(lines)

    def _lines(self, lines: pa.StringArray) -> Iterator[Event]:
        ordinals = pa.array(range(self.ordinal, self.ordinal + len(lines)), pa.int64())
        self.ordinal += len(lines)
        counts = count_fields(lines, self.source.options.field_delimiter)
        few = pc.less(counts, len(self._metadata))
        for row in pc.indices_nonzero(few).to_pylist():
            yield self.reject(ordinals[row].as_py(), self._wrong_count(counts[row].as_py(), None))
        enough = pc.invert(few)
        lines, ordinals, counts = lines.filter(enough), ordinals.filter(enough), counts.filter(enough)
        if not len(lines):
            return
        for name, rows in self._by_table(lines).items():
            yield from self._table(name, lines.filter(rows), ordinals.filter(rows), counts.filter(rows))

    def _by_table(self, lines: pa.StringArray) -> dict[str | None, pa.BooleanArray]:
        """For each table the lines of it; None for the one table of lines that do not name it."""
        if "table" not in self._metadata:
            return {None: pa.repeat(pa.scalar(True), len(lines))}
        delimiter = self.source.options.field_delimiter
        heads = pc.split_pattern(lines, delimiter, max_splits=len(self._metadata))
        names = pc.list_element(heads, self._metadata.index("table"))
        return {name: pc.equal(names, name) for name in pc.unique(names).to_pylist()}

    def _table(
        self, name: str | None, lines: pa.StringArray, ordinals: pa.Int64Array, counts: pa.Int32Array
    ) -> Iterator[Event]:
        table = self._definition(name)
        if isinstance(table, Diagnostic):
            yield from (self.reject(ordinal, table) for ordinal in ordinals.to_pylist())
            return
        options = self.source.options
        width = len(self._metadata) + len(table.columns) * (2 if options.include_column_names else 1)
        fits = pc.equal(counts, width)
        for row in pc.indices_nonzero(pc.invert(fits)).to_pylist():
            yield self.reject(ordinals[row].as_py(), self._wrong_count(counts[row].as_py(), table, width))
        lines, ordinals = lines.filter(fits), ordinals.filter(fits)
        if not len(lines):
            return
        fields = table_of_fields(lines, options.field_delimiter, width)
        metadata = dict(zip(self._metadata, fields, strict=False))
        kinds = pc.index_in(metadata["op"], self._keys)
        for row in pc.indices_nonzero(kinds.is_null()).to_pylist():
            yield self.reject(ordinals[row].as_py(), self._wrong_key(metadata["op"][row].as_py(), table))
        known = kinds.is_valid()
        values = fields[len(self._metadata) :]
        if options.include_column_names:
            values = values[1::2]
        yield self._batch(
            table,
            _OP_TYPES.take(kinds.filter(known)),
            {label: column.filter(known) for label, column in metadata.items()},
            [column.filter(known) for column in values],
            ordinals.filter(known),
        )

    def _batch(
        self,
        table: TableDef,
        op: pa.StringArray,
        metadata: dict[str, pa.StringArray],
        values: list[pa.StringArray],
        ordinals: pa.Int64Array,
    ) -> ChangeBatch:
        options = self.source.options
        exists = pc.not_equal(op, OpType.TRUNCATE.value)
        delete = pc.equal(op, OpType.DELETE.value)
        null, missing = options.null_value_representation, options.missing_value_representation
        columns = tuple(image_column(column, null, missing, exists) for column in values)
        nothing = pa.nulls(len(op), pa.string())
        tokens = metadata.get("tokens")
        return ChangeBatch(
            table,
            op,
            metadata.get("op_ts", nothing),
            metadata.get("position", nothing),
            Image(columns, delete),
            Image(columns, pc.and_not(exists, delete)),
            ordinals,
            None
            if tokens is None or not self.projection.tokens
            else tokens_of(tokens, options.key_value_pair_delimiter, options.key_value_delimiter),
            pa.repeat(pa.scalar(False), len(op)),
        )

    def _definition(self, name: str | None) -> TableDef | Diagnostic:
        tables = self.catalog.tables()
        if name is None:
            if len(tables) == 1:
                return tables[0]
            help = "give the definition of that table alone to `--definitions`"
            return Diagnostic("GG205", f"lines do not name their table, and {len(tables)} are defined", help=help)
        table = self.catalog.get(name)
        if table is not None:
            return table
        word = name if len(name) <= 80 and name.isprintable() else "of the line"
        help = "add its definition to `--definitions`; delimited text does not tell it"
        return Diagnostic("GG205", f"the table `{word}` has no definition", help=help)

    def _wrong_count(self, count: int, table: TableDef | None, wanted: int | None = None) -> Diagnostic:
        wanted_text = f"{wanted}" if wanted is not None else f"at least {len(self._metadata)}"
        place = Span() if table is None else Span(table=table.full_name)
        help = "correct the definition or `--input-config`; a value may hold the delimiter"
        return Diagnostic("GG311", f"the line has {count} fields where there should be {wanted_text}", place, help)

    def _wrong_key(self, key: str, table: TableDef) -> Diagnostic:
        word = key if len(key) <= 40 and key.isprintable() else "the first field"
        message = f"the operation type cannot be `{word}`"
        return Diagnostic("GG304", message, Span(table=table.full_name), legal_values(self._keys.to_pylist()))

    def _reject_undecodable(self, chunk: Chunk) -> Iterator[Event]:
        """The lines of a chunk one by one: those that are not of the encoding are rejects."""
        delimiter = chunk.layout.delimiter
        if not chunk.layout.splittable:
            message = f"the file is not {self.source.options.encoding}"
            self.ordinal += 1
            yield self.reject(self.ordinal - 1, Diagnostic("GG303", message, help=_ENCODING_HELP))
            return
        for data in chunk.data.removesuffix(delimiter).split(delimiter):
            try:
                text = data.decode(self._codec)
            except UnicodeDecodeError as error:
                place = f"byte {data[error.start]:#04x} at byte {error.start} of it"
                message = f"the line is not {self.source.options.encoding}: {place}"
                self.ordinal += 1
                yield self.reject(self.ordinal - 1, Diagnostic("GG303", message, help=_ENCODING_HELP))
            else:
                yield from self._lines(pa.array([text], pa.string()))


def _codec(source: WriterSettings) -> str:
    encoding: Any = source.options.encoding
    return codec_of(native_charset() if encoding == NATIVE else encoding)


def _found_anywhere(codec: str, delimiter: bytes) -> bool:
    """Whether the delimiter can be found from any place of a file: no byte of another character looks like it, and no
    end of it like its beginning."""
    plain = codec == "utf-8" or len(bytes(range(256)).decode(codec, "replace")) == 256
    return plain and bool(delimiter) and not any(delimiter[:n] == delimiter[-n:] for n in range(1, len(delimiter)))


def _through(stream: BinaryIO, delimiter: bytes, begun: bytes = b"") -> bytes:
    """The bytes up to and with the next delimiter, or to the end; `begun` is the part of it that was read before."""
    data = b""
    while not (begun + data).endswith(delimiter):
        more = stream.readline() if delimiter.endswith(b"\n") else stream.read(1)
        if not more:
            break
        data += more
    return data


READ_SIDES = {"delimitedtext": ReadSide(DelimitedTextReader)}
