"""The reader of delimited text.

The text does not describe its columns: give definitions, and the options of the handler that wrote it unless they are
the defaults. A value that contains a delimiter makes a line with too many fields, which is rejected.
"""

from __future__ import annotations

import re
from array import array
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import dropwhile
from operator import not_
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import StringMapArray, as_strings, non_null_values, string_maps
from ggfmt.columnar.columns import int64s, texts, token_maps
from ggfmt.dataclasses import dataclass, field, replace
from ggfmt.diagnostics.diagnostic import Diagnostic, Span, UsageError
from ggfmt.formats.api.format import DEFAULT_SETTINGS, Context, Projection, WriterSettings
from ggfmt.formats.api.reading import Chunk, Event, Layout, ReadSupport, Routed, Router, Source, Unroutable
from ggfmt.formats.goldengate.delimited import Cell, DelimitedOptions, FieldShown
from ggfmt.formats.goldengate.delimited.guess import guessed_options
from ggfmt.formats.goldengate.metacolumns import TRANSACTION_TOKENS, Roles
from ggfmt.formats.goldengate.options import op_keys, op_kinds
from ggfmt.formats.goldengate.reading import check_operation_type, defined_table, row_images, times, with_after
from ggfmt.formats.records.batching import BatchingReader, HeldTable, Spans
from ggfmt.formats.records.problems import legal_values
from ggfmt.formats.records.scanner import Scanner, SourceBatch
from ggfmt.java.charsets import can_decode, codec_of, native_charset
from ggfmt.java.text import visible
from ggfmt.kernels import kernel
from ggfmt.lazy import lazy_regex
from ggfmt.model.change import ChangeBatch, Image, ImageColumn, OpType
from ggfmt.model.table import Catalog, TableDef
from ggfmt.options.value_types import NATIVE

_STRING = pa.string()


def image_column(fields: pa.StringArray, null: str, missing: str, exists: pa.BooleanArray) -> ImageColumn:
    """Return a column of an image; missing where there is no image. A text for both NULL and missing is missing."""
    absent = pc.or_(pc.equal(fields, missing), pc.invert(exists))
    empty = pc.or_(absent, pc.equal(fields, null))
    values = pc.if_else(empty, pa.scalar(None, _STRING), fields) if empty.true_count else fields
    return ImageColumn(values, pc.invert(absent) if absent.true_count else None)


def strip_quotes(column: ImageColumn) -> ImageColumn:
    """Return the column without the quotes around values, and with doubled quotes in them made single."""
    values = column.values
    quoted = pc.fill_null(pc.match_substring_regex(values, '(?s)^".*"$'), False)
    if not quoted.true_count:
        return column
    inner = pc.replace_substring(pc.utf8_slice_codeunits(values, 1, -1), '""', '"')
    return ImageColumn(pc.if_else(quoted, inner, values), column.present)


def parse_tokens(fields: pa.StringArray, between: str, within: str) -> StringMapArray:
    """Return tokens from texts such as `L=1,R=x`; a token without `within` has an empty value."""
    some = pc.not_equal(fields, "")
    pairs = pc.split_pattern(fields.filter(some), between)
    none = pa.repeat(pa.scalar(0, pa.int32()), len(fields))
    lengths = pc.replace_with_mask(none, some, pc.list_value_length(pairs))
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths)])
    flat = as_strings(pairs.flatten())
    marked = pc.match_substring(flat, within)
    halves = pc.split_pattern(flat.filter(marked), within, max_splits=1)
    names = pc.replace_with_mask(flat, marked, pc.list_element(halves, 0))
    values = pc.replace_with_mask(pa.repeat(pa.scalar("", _STRING), len(flat)), marked, pc.list_element(halves, 1))
    return string_maps(offsets, names, values)


CHUNK_BYTES = 1 << 20


@dataclass(frozen=True)
class DelimitedLayout(Layout):
    """`by_bytes`: the ends of lines are found without decoding. `names`: those of a header line behind the metadata."""

    by_bytes: bool = field(default=True, kw_only=True)
    names: tuple[str, ...] | None = field(default=None, kw_only=True)

    @property
    def header(self) -> bool:
        """Whether the first line is a header that is not in `skipped`."""
        return self.names is not None and not self.by_bytes


def file_chunks(stream: BinaryIO, file: str, start: int, length: int | None, layout: Layout) -> Iterator[Chunk]:
    """Yield the lines that start in a range, about `CHUNK_BYTES` at a time."""
    assert isinstance(layout, DelimitedLayout)
    source = Source(stream, file, layout, CHUNK_BYTES)
    return (_lines if layout.by_bytes else _at_once)(source, start, length)


def _lines(source: Source, start: int, length: int | None) -> Iterator[Chunk]:
    delimiter = source.layout.delimiter
    if start:
        # The line with the byte before `start` belongs to another range.
        source.offset = max(0, start - len(delimiter))
        source.stream.seek(source.offset)
        source.pass_until(delimiter, 0)
        source.drop(len(delimiter))
    else:
        source.offset = len(source.stream.read(source.layout.skipped))
    end = None if length is None else start + length
    while end is None or source.offset < end:
        wanted = source.step if end is None else min(source.step, end - source.offset)
        cut = _through(source, wanted)
        if not source.buffer:
            return
        if not cut:
            yield source.pass_record(delimiter)
            source.drop(len(delimiter))
            continue
        yield Chunk(source.file, source.offset, source.buffer[:cut], source.layout, last=source.ended)
        source.drop(cut)


def _through(source: Source, wanted: int) -> int:
    """Return the end of the first line that ends after so many bytes, or the start of that line if it is too long."""
    while True:
        line, end = _line_behind(source, wanted)
        if end is None and not source.ended and len(source.buffer) - line <= source.limit:
            source.grow()
            continue
        last = len(source.buffer) if end is None else end
        if last - line > source.limit:
            return line
        return last if end is None else last + len(source.layout.delimiter)


def _line_behind(source: Source, wanted: int) -> tuple[int, int | None]:
    """Return start and end of the first line whose delimiter ends after so many bytes."""
    data, delimiter = source.buffer, source.layout.delimiter
    if source.layout.splittable:
        end = data.find(delimiter, max(0, wanted - len(delimiter)))
        line = data.rfind(delimiter, 0, end if end >= 0 else len(data))
        return (0 if line < 0 else line + len(delimiter)), (None if end < 0 else end)
    line, end = 0, data.find(delimiter)
    while end >= 0 and end + len(delimiter) < wanted:
        line = end + len(delimiter)
        end = data.find(delimiter, line)
    return line, None if end < 0 else end


def _at_once(source: Source, start: int, length: int | None) -> Iterator[Chunk]:
    """Yield the whole file, whose lines can only be found by decoding all text before them."""
    data = source.stream.read(source.limit + 1)
    if len(data) <= source.limit:
        if data:
            yield Chunk(source.file, 0, data, source.layout)
        return
    source.buffer = data
    head = source.head()
    while source.buffer:
        source.drop(len(source.buffer))
        source.grow()
    help = "convert the file to UTF-8, or increase `--max-record`: ggfmt reads a file with this encoding as a whole"
    long = source.long(0, head)
    assert long.problem is not None
    message = f"the file has {source.offset:,} bytes, and the limit is {source.limit:,}"
    yield replace(long, problem=replace(long.problem, message=message, help=help))


_MAX_SCANNED_BYTES = 1 << 30  # bytes: a column has less than twice as many
_ENCODING_HELP = "set `encoding` in `--input-config`"
_WITH_BEFORE = pa.array([OpType.UPDATE.value, OpType.DELETE.value], pa.string())
_SHOWN = {
    "I": (FieldShown.AFTER, FieldShown.VALUE),
    "U": tuple(FieldShown)[1:],
    "D": (FieldShown.BEFORE, FieldShown.VALUE),
    "T": (),
}  # values
_TORN = lazy_regex('(?s)"|".*[^"]|[^"].*"')  # what is left of a value in quotes that contains the delimiter
_TORN_VALUE = "a value begins or ends with a quote, but not both: it may contain the delimiter"
_PARTS = (
    FieldShown.NAME,
    FieldShown.BEFORE,
    FieldShown.AFTER,
    FieldShown.VALUE,
)  # by the number that the kernel has for each
_MAX_METADATA = 256
_MAX_SHOWN = 20  # columns in an error
_MAX_COLUMNS = 1 << 17  # of all tables together: each takes some memory


class OddLine(NamedTuple):
    ordinal: int
    start: int
    end: int


def metadata_places(roles: Roles, tokens: bool) -> list[int]:
    """Return the places of the metadata columns that a reader needs as text."""
    wanted = [roles.micros if roles.op_ts is None else roles.op_ts, roles.position]
    if tokens:
        wanted += [place for place, _ in roles.single] if roles.tokens is None else [roles.tokens]
    return sorted({place for place in wanted if place is not None})


def line_scanner(
    options: DelimitedOptions, context: Context, tokens: bool, define: Callable[[str], TableDef | None]
) -> LineScanner | None:
    """Return the scanner of lines; None if no kernel can read them. `define` returns a definition by its name."""
    metadata = options.metadata(context)
    step = 1 + options.include_meta_column_names
    roles = Roles.of(metadata)
    delimiters = options.field_delimiter and options.line_delimiter
    if not delimiters or roles.op is None or len(metadata) * step > _MAX_METADATA:
        return None
    op = roles.op * step + step - 1

    def fields(places: Iterable[int]) -> tuple[int, ...]:
        return tuple(place * step + step - 1 for place in places)

    def make(native: Any) -> LineScanner:
        scanner = native.DelimitedScanner(
            between=options.field_delimiter.encode(),
            behind=options.line_delimiter.encode(),
            null=options.null_value_representation.encode(),
            missing=options.missing_value_representation.encode(),
            quoted=options.wrap_strings_in_quotes,
            head=len(metadata) * step,
            op=op,
            name=fields(roles.name),
            slots=fields(metadata_places(roles, tokens)),
            kinds={word.encode(): kind.encode() for word, kind in op_kinds(options).items()},
            labels=tuple(
                column.name.encode("utf-8", "surrogatepass") for column in metadata if options.include_meta_column_names
            ),
        )
        return LineScanner(scanner, options.cells, define)

    return kernel(make)


class LineScanner(Scanner):
    """The scanner of regular lines. `cells` returns the cells of a table with so many columns."""

    def __init__(
        self, scanner: Any, cells: Callable[[int], tuple[Cell, ...]], define: Callable[[str], TableDef | None]
    ) -> None:
        super().__init__(scanner, False)
        self._cells = cells
        self._define = define
        self._columns = 0

    def scan(self, data: bytes, place: int, first: int) -> tuple[int, Sequence[OddLine]]:
        """Scan lines of UTF-8 from a place on. Return the ordinal after the last line, and the lines not taken."""
        odd = array("q")
        ordinal = first
        while True:
            lines, place, _, noted, unknown = self.native.scan(data, place, -1, ordinal)
            ordinal += lines
            odd.frombytes(noted)
            if unknown is None:
                return ordinal, [OddLine(*odd[at : at + 3]) for at in range(0, len(odd), 3)]
            self._bind(unknown)

    def _bind(self, name: bytes) -> None:
        table = self._define(name.decode())
        cells = () if table is None else self._cells(len(table.columns))
        self._columns += len(cells)
        texts = [(column.encode("utf-8", "surrogatepass"),) for column in table.column_names] if table else []
        fields = tuple(
            (_PARTS.index(part), place, *(texts[place] if part is FieldShown.NAME else ())) for part, place in cells
        )
        both = any(cell.part is FieldShown.BEFORE for cell in cells)
        fits = bool(cells) and self._columns <= _MAX_COLUMNS
        if table is None or not fits or not self.bind_table(table.full_name, name, fields, len(table.columns), both):
            self.native.refuse(name)


@dataclass
class _LinesTable(HeldTable):
    """The lines of a table that the kernel does not take, as operation types and fields. `cells`: what fields show."""

    cells: tuple[Cell, ...]


class DelimitedTextReader(BatchingReader[_LinesTable]):
    """Reads delimited text. `source.options` is a `DelimitedTextOptions`."""

    transaction_tokens = TRANSACTION_TOKENS
    scanner: LineScanner | None = None

    def __init__(self, catalog: Catalog, projection: Projection, source: WriterSettings = DEFAULT_SETTINGS) -> None:
        super().__init__(catalog, projection, source)
        options = source.options
        self._codec = _codec(source)
        self._kinds = op_kinds(options)
        self._metadata = options.metadata(source.context)
        self._roles = Roles.of(self._metadata)
        self._step: int = 1 + options.include_meta_column_names
        self._head = len(self._metadata) * self._step
        self._name = [self._field(place) for place in self._roles.name]
        self._header: tuple[str, ...] | None = None  # of the current file
        self.scanner = self._line_scanner()

    def _line_scanner(self) -> LineScanner | None:
        return line_scanner(self.source.options, self.source.context, self.reads_tokens, self._defined)

    @staticmethod
    def sniff(head: bytes) -> str | None:
        return None  # any text is delimited text

    @staticmethod
    def layout(head: bytes, whole: bool, source: WriterSettings) -> Layout:
        codec = _codec(source)
        if source.options.encoding != NATIVE and not can_decode(source.options.encoding):
            help = "convert the file to UTF-8, and set `encoding=UTF-8` in `--input-config`"
            message = f"ggfmt writes the encoding `{source.options.encoding}`, but does not read it"
            raise UsageError("GG303", message, help=help)
        columns = source.options.metadata(source.context)
        check_operation_type(columns, "delimited text", "write it with `includeOpType=true`, or with")
        try:
            delimiter = source.options.line_delimiter.encode(codec)
        except UnicodeEncodeError:
            message = f"`lineDelimiter` has a character that `{source.options.encoding}` does not support"
            help = "set `lineDelimiter` and `encoding` as the writer of the file did"
            raise UsageError("GG103", message, help=help) from None
        if not delimiter:
            message = "delimited text with an empty `lineDelimiter` cannot be read: lines have no end"
            raise UsageError("GG103", message, help="write it with a `lineDelimiter`")
        by_bytes, names = _is_plain(codec), _header_names(head, codec, source)
        skipped = sum(map(len, head.partition(delimiter)[:2])) if names is not None and by_bytes else 0
        # A search may start anywhere if no end of the delimiter looks like its beginning.
        found = by_bytes and not any(delimiter[:n] == delimiter[-n:] for n in range(1, len(delimiter)))
        return DelimitedLayout(found, delimiter, by_bytes=by_bytes, names=names, skipped=skipped, record_end=delimiter)

    chunks = staticmethod(file_chunks)

    def spans(self, chunk: Chunk) -> Spans:
        # Search characters, not bytes: bytes of other characters may look like a delimiter.
        try:
            text = chunk.data.decode(self._codec, "surrogateescape" if _layout(chunk).by_bytes else "strict")
        except UnicodeDecodeError:
            return [(0, len(chunk.data))]
        delimiter = self.source.options.line_delimiter
        spans = []
        start = 0
        for line in text.split(delimiter):
            end = start + len(line.encode(self._codec, "surrogateescape"))
            spans.append((start, end))
            start = end + len(delimiter.encode(self._codec))
        return spans[_layout(chunk).header :]

    def decode_chunk(self, chunk: Chunk) -> Iterator[Event]:
        if self._header != _layout(chunk).names:
            self._header = _layout(chunk).names
            self.set_aside()
            self.scanner = self._line_scanner()  # which looks at the definition of each table again
        data = None if self.scanner is None else self._as_utf8(chunk)
        lines = self._lines(chunk) if data is None else self._odd_lines(data, chunk)
        for ordinal, line in lines:
            problem = line if isinstance(line, Diagnostic) else self._hold(ordinal, line)
            if problem is not None:
                yield self.reject(ordinal, problem)

    def _as_utf8(self, chunk: Chunk) -> bytes | None:
        if len(chunk.data) > _MAX_SCANNED_BYTES or not _layout(chunk).by_bytes:
            return None
        if self._codec == "utf-8":
            return chunk.data
        try:
            return chunk.data.decode(self._codec).encode()
        except UnicodeError:
            return None

    def _odd_lines(self, data: bytes, chunk: Chunk) -> Iterator[tuple[int, str | Diagnostic]]:
        assert self.scanner is not None
        start = len(BOM_UTF8) if data.startswith(BOM_UTF8) else 0
        if (start and chunk.offset) or self.source.options.line_delimiter.encode() + BOM_UTF8 in data:
            yield from self._lines(chunk)
            return
        self.ordinal, odd = self.scanner.scan(data, start, self.ordinal)
        for line in odd:
            yield line.ordinal, self._decoded(data[line.start : line.end], "utf-8")

    def _lines(self, chunk: Chunk) -> Iterator[tuple[int, str | Diagnostic]]:
        first = self.ordinal
        if _layout(chunk).by_bytes:
            data = chunk.data.removeprefix(BOM_UTF8) if self._codec == "utf-8" and not chunk.offset else chunk.data
            encoded = data.split(chunk.layout.delimiter)
            self.ordinal += len(encoded) - (not encoded[-1])
            for ordinal in range(first, self.ordinal):
                yield ordinal, self._decoded(encoded[ordinal - first], self._codec)
            return
        try:
            text = chunk.data.decode(self._codec)
        except UnicodeDecodeError:
            self.ordinal += 1
            yield first, Diagnostic("GG303", f"the file is not {self.source.options.encoding}", help=_ENCODING_HELP)
            return
        lines = text.removeprefix("\ufeff").split(self.source.options.line_delimiter)
        lines = lines[_layout(chunk).header : len(lines) - (not lines[-1])]
        self.ordinal += len(lines)
        yield from enumerate(lines, first)

    def _decoded(self, line: bytes, codec: str) -> str | Diagnostic:
        try:
            return line.decode(codec)
        except UnicodeDecodeError as error:
            place = f"byte {line[error.start]:#04x} at byte {error.start} of the line"
            return Diagnostic("GG303", f"the line is not {self.source.options.encoding}: {place}", help=_ENCODING_HELP)

    def _hold(self, ordinal: int, line: str) -> Diagnostic | None:
        """Buffer the operation in a line, or return what is wrong with it."""
        options, delimiter = self.source.options, self.source.options.field_delimiter
        line = line.removeprefix("\ufeff")  # joined files: the first field is metadata, which has no byte order mark
        fields = line.split(delimiter) if delimiter else [line]
        if len(fields) < self._head:
            return self._wrong_count(fields, None)
        if options.include_meta_column_names and fields[: self._head : 2] != [column.name for column in self._metadata]:
            return Diagnostic("GG311", "the metadata have other names", help="correct `metaColumnsTemplate`")
        # The name has no dots for absent parts at its start.
        parts = dropwhile(not_, (fields[place] for place in self._name))
        definition = self._definition(".".join(parts) if self._name else None)
        if isinstance(definition, Diagnostic):
            return definition
        table = self._hold_table(definition)
        width = self._head + len(table.cells)
        if len(fields) != width:
            return self._wrong_count(fields, definition, width)
        assert self._roles.op is not None  # the layout guarantees it
        word = fields[self._field(self._roles.op)]
        if (kind := self._kinds.get(word)) is None:
            message = f"the operation type cannot be `{word if len(word) <= 40 and word.isprintable() else '...'}`"
            return Diagnostic("GG304", message, Span(table=definition.full_name), legal_values(op_keys(options)))
        states = (options.null_value_representation, options.missing_value_representation)
        quoted = options.wrap_strings_in_quotes
        checked = fields[self._head :] if quoted or options.include_column_names else ()
        for (part, place), text in zip(table.cells, checked, strict=False):
            name = definition.column_names[place]
            torn = quoted and part in _SHOWN[kind] and text not in states and _TORN.fullmatch(text)
            if torn or (part is FieldShown.NAME and text.casefold() != name.casefold()):
                message = _TORN_VALUE if torn else "the line names another column here than the definition"
                help = "correct the line, the definition or `--input-config`"
                return Diagnostic("GG311", message, Span(table=definition.full_name, field=name), help)
        table.operations.append((kind, fields))
        table.ordinals.append(ordinal)
        return None

    def _hold_table(self, definition: TableDef) -> _LinesTable:
        table = self.tables.get(definition.full_name)
        if table is None:
            cells = self.source.options.cells(len(definition.columns))
            table = self.tables[definition.full_name] = _LinesTable(definition, cells)
        return table

    def scanned_columns(self, table: _LinesTable, scanned: SourceBatch) -> ChangeBatch:
        wanted = metadata_places(self._roles, self.reads_tokens)
        metadata = {place: column.values for place, column in zip(wanted, scanned.slots, strict=True)}
        both = {FieldShown.BEFORE: scanned.before, FieldShown.AFTER: scanned.after}
        images = both if scanned.before else {FieldShown.VALUE: scanned.after}
        return self._batch(table.definition, scanned.op, metadata, images, scanned.ordinal)

    def columns(self, table: _LinesTable) -> ChangeBatch:
        kinds, rows = zip(*table.operations, strict=True)
        op = texts(kinds)
        fields = [texts(column) for column in zip(*rows, strict=True)]
        metadata = {place: fields[self._field(place)] for place in range(len(self._metadata))}
        images = self._images(op, dict(zip(table.cells, fields[self._head :], strict=True)))
        return self._batch(table.definition, op, metadata, images, int64s(table.ordinals))

    def _field(self, place: int) -> int:
        return place * self._step + self._step - 1

    def _images(
        self, op: pa.StringArray, values: Mapping[Cell, pa.StringArray]
    ) -> dict[FieldShown, tuple[ImageColumn, ...]]:
        exists = {
            FieldShown.BEFORE: pc.is_in(op, _WITH_BEFORE),
            FieldShown.AFTER: with_after(op),
            FieldShown.VALUE: pc.not_equal(op, OpType.TRUNCATE.value),
        }
        options = self.source.options
        null, missing = options.null_value_representation, options.missing_value_representation
        columns: dict[FieldShown, tuple[ImageColumn, ...]] = {}
        for cell, fields in sorted(values.items(), key=lambda item: item[0].column):
            if cell.part is not FieldShown.NAME:
                column = image_column(fields, null, missing, exists[cell.part])
                column = strip_quotes(column) if options.wrap_strings_in_quotes else column
                columns[cell.part] = (*columns.get(cell.part, ()), column)
        return columns

    def _batch(
        self,
        table: TableDef,
        op: pa.StringArray,
        metadata: Mapping[int, pa.StringArray],
        images: Mapping[FieldShown, tuple[ImageColumn, ...]],
        ordinals: pa.Int64Array,
    ) -> ChangeBatch:
        key_update = None
        if FieldShown.VALUE in images:
            before, after, key_update = row_images(images[FieldShown.VALUE], op)
        else:
            before = Image(images.get(FieldShown.BEFORE, ()), pc.is_in(op, _WITH_BEFORE))
            after = Image(images.get(FieldShown.AFTER, ()), with_after(op))

        def at(place: int | None) -> pa.StringArray:
            return pa.nulls(len(op), _STRING) if place is None else metadata[place]

        time, position = times(self._roles, at), at(self._roles.position)
        tokens = self._tokens(metadata) if self.reads_tokens else None
        return ChangeBatch(table, op, time, position, before, after, ordinals, tokens, key_update)

    def _tokens(self, metadata: Mapping[int, pa.StringArray]) -> StringMapArray | None:
        """Return the tokens: those of the column with all tokens, else those with a column of their own."""
        options, roles = self.source.options, self._roles
        if roles.tokens is not None:
            return parse_tokens(metadata[roles.tokens], options.key_value_pair_delimiter, options.key_value_delimiter)
        if not roles.single:
            return None
        return token_maps(
            {name: text for (_, name), text in zip(roles.single, texts, strict=True) if text}
            for texts in zip(*(metadata[place].to_pylist() for place, _ in roles.single), strict=True)
        )

    def _defined(self, name: str) -> TableDef | None:
        """Return the definition of a table by its name in lines, if they name it, and prepare its buffer."""
        definition = self._definition(name if self._roles.name else None)
        return None if isinstance(definition, Diagnostic) else self._hold_table(definition).definition

    def _definition(self, name: str | None) -> TableDef | Diagnostic:
        found = defined_table(self.catalog, name, "lines", "definition", "delimited text does")
        if isinstance(found, TableDef) and self._header is not None:
            header, names = ([word.casefold() for word in words] for words in (self._header, found.column_names))
            if header != names and sorted(header) == sorted(names):
                message = "the header line has the columns in another order than the definition"
                return Diagnostic("GG311", message, Span(table=found.full_name), "define them in the order of the file")
        return found

    def _wrong_count(self, fields: Sequence[str], table: TableDef | None, wanted: int | None = None) -> Diagnostic:
        columns = ("columns of the table",) if table is None else table.column_names
        more = [f"{len(columns) - _MAX_SHOWN} more columns"] * (len(columns) > _MAX_SHOWN)
        names = map(visible, (*(column.name for column in self._metadata), *columns[:_MAX_SHOWN], *more))
        has = f"{len(fields)} fields"
        help = "correct the definition or `--input-config`; a value may contain the delimiter"
        if len(fields) == 1:
            guessed = " ".join(f"`{option}`" for option in guessed_options(fields[0].encode()) or ())
            first = f"try {guessed}" if guessed else "set `fieldDelimiter` with `--input-option`"
            has, help = "1 field", f"{first}, or give the handler file with `--input-config`"
        message = f"the line has {has}, but should have {wanted or f'at least {self._head}'}: {', '.join(names)}"
        return Diagnostic("GG311", message, Span(table=None if table is None else table.full_name), help)


def _codec(source: WriterSettings) -> str:
    encoding: Any = source.options.encoding
    return codec_of(native_charset() if encoding == NATIVE else encoding)


def _header_names(head: bytes, codec: str, source: WriterSettings) -> tuple[str, ...] | None:
    """Return the names behind the metadata in the first line of a file; None if it is an operation, as in other parts
    of a file that was split."""
    options, columns = source.options, source.options.metadata(source.context)
    if not getattr(options, "enable_field_descriptor_headers", False):
        return None
    line = head.decode(codec, "replace").removeprefix("\ufeff").partition(options.line_delimiter)[0]
    if re.search("[\r\n](?s:.)", line) is not None:
        return None  # another delimiter ends the line
    step = 1 + options.include_meta_column_names
    words = line.split(options.field_delimiter or options.line_delimiter)
    metadata, names = words[step - 1 : len(columns) * step : step], tuple(words[len(columns) * step :])
    others = bool(names) and metadata[Roles.of(columns).op or 0] not in op_kinds(options)
    return names if others or metadata == [column.name for column in columns] else None


def _is_plain(codec: str) -> bool:
    """Return whether no byte of another character looks like a byte of the delimiter."""
    return codec == "utf-8" or len(bytes(range(256)).decode(codec, "replace")) == 256


def _layout(chunk: Chunk) -> DelimitedLayout:
    assert isinstance(chunk.layout, DelimitedLayout)
    return chunk.layout


class DelimitedTextRouter(Router):
    """Finds the table of each line by the fields with its name, without a look at the others."""

    def __init__(self, catalog: Catalog, source: WriterSettings) -> None:
        super().__init__(catalog, source)
        options = source.options
        self._codec = _codec(source)
        self._between = options.field_delimiter
        step = 1 + options.include_meta_column_names
        self._name = [place * step + step - 1 for place in Roles.of(options.metadata(source.context)).name]

    def route(self, chunk: Chunk) -> Routed:
        behind = chunk.layout.delimiter
        exact = self._codec == "utf-8" or (behind.isascii() and self._between.isascii())
        if chunk.problem is not None or not _layout(chunk).by_bytes or not exact or not self._between or not self._name:
            raise Unroutable
        data = chunk.data if chunk.data.endswith(behind) else chunk.data + behind
        lines = pc.split_pattern(pa.array([data], pa.binary()), behind.decode()).flatten()[:-1]
        sizes = pc.add(pc.binary_length(lines).cast(pa.int64()), len(behind))
        starts = pc.subtract(pc.cumulative_sum(sizes), sizes)
        fields = pc.split_pattern(lines, self._between, max_splits=max(self._name) + 1)
        named = pc.greater(pc.list_value_length(fields), max(self._name))
        parts = [pc.list_element(fields.filter(named), place) for place in self._name]
        names = pc.binary_join_element_wise(*parts, b".").dictionary_encode()
        numbers = int64s(array("q", map(self._number_of, non_null_values(names.dictionary)))).take(names.indices)
        tables = pc.replace_with_mask(int64s(array("q", bytes(8 * len(lines)))), named, numbers)
        return Routed(replace(chunk, data=data), starts, (), tables)

    def _number_of(self, name: bytes) -> int:
        return self.number(name.removeprefix(BOM_UTF8).decode(self._codec, "surrogateescape"))


_SUPPORT = ReadSupport(DelimitedTextReader, router=DelimitedTextRouter)
READ_SIDES = {"delimitedtext": _SUPPORT, "delimitedtext_op": _SUPPORT}
