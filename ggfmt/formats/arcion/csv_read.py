"""Arcion's CSV, read.

A quoted field is a text whatever it holds: `NULL` without quotes is NULL, and so is nothing; `"NULL"` and `""` are
texts. A line without anything is a row of a table with one column, and counted as a blank line in all others.

One kernel makes JSON of rows, for the native scanner. A row that is not regular becomes invalid JSON, so that the exact
reader takes it.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import PurePosixPath
from typing import Annotated, BinaryIO, NamedTuple, cast
from urllib.parse import unquote

from ggfmt import kernels
from ggfmt.dataclasses import dataclass, replace
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.format import WriterSettings
from ggfmt.formats.api.reading import Chunk, Layout, Source, Spans
from ggfmt.formats.arcion import (
    BACKSLASH,
    DELIMITERS,
    FILE,
    LAST_FIELDS,
    REALTIME,
    SNAPSHOT,
    VALUE,
    VALUE_SUFFIXES,
    ArcionCsvOptions,
)
from ggfmt.formats.arcion.changes import (
    COUNTS_IN_TEXT,
    CURSOR_IN_TEXT,
    NEW,
    OLD,
    ArcionChange,
    ArcionDialect,
    check_op,
    check_states,
    images_of,
)
from ggfmt.formats.json.cut import BOM
from ggfmt.formats.json.values import Text, invalid_utf8
from ggfmt.formats.records import roles
from ggfmt.formats.records.dialect import Change, Meaning
from ggfmt.formats.records.discovery import DialectDiscovery
from ggfmt.formats.records.images import TextImage
from ggfmt.formats.records.problems import RecordError
from ggfmt.formats.records.reader import dialect_input
from ggfmt.formats.records.scanner import NOT_NAMED, is_plain, places_of
from ggfmt.java.text import visible
from ggfmt.kernels import primitives
from ggfmt.lazy import lazy_regex
from ggfmt.model.table import TableDef
from ggfmt.options.value_types import keys_of

_SUFFIXES = lazy_regex(r"(?:\.(?:csv|txt|dat|gz|bz2|zst|zstd|lz4|snappy|br))+$", re.IGNORECASE)

_SHOWN = {"\t": r"CDATA[\t]", "\x01": r"CDATA[\u0001]"}
_VALUE = lazy_regex(rf"\s*(?:{VALUE})\s*", re.ASCII)

# CSV as Arcion writes it: where its records are, and their fields. A field that starts with a quote ends with the
# next quote that is not escaped, and may hold line ends and delimiters in between; in all other fields quotes and
# escapes stand for themselves. Blanks are part of a field. Since a line end may be in a field, a file is read from
# its start. A field whose closing quote never comes ends with its line.

CHUNK_BYTES = 1 << 20


@dataclass(frozen=True)
class CsvLayout(Layout):
    """The layout of a file of CSV; `delimiter` is between fields.

    names    the columns that the header names, None without a header
    problem  what is wrong with the header
    """

    quote: str = '"'
    backslash: bool = False
    names: tuple[str, ...] | None = None
    problem: Diagnostic | None = None


@lru_cache(maxsize=64)
def _field(delimiter: str, quote: str, backslash: bool) -> re.Pattern[str]:
    """Return the expression of a field. It can match in one way only, so that trying others takes no time."""
    d, q = re.escape(delimiter), re.escape(quote)
    body = rf"[^{q}\\]*(?:\\.[^{q}\\]*)*" if backslash else rf"[^{q}]*(?:{q}{q}[^{q}]*)*"
    return re.compile(rf"(?:({q})({body}){q}|((?!{q})[^{d}]*))({d}|\Z)", re.DOTALL)


def find_layout(head: bytes, whole: bool, options: ArcionCsvOptions) -> CsvLayout:
    mark = len(BOM) if head.startswith(BOM) else 0
    backslash = options.escape == BACKSLASH
    plain = CsvLayout(False, options.delimiter.encode(), quote=options.quote, backslash=backslash, record_end=b"\n")
    if len(head) == mark:
        return replace(plain, skipped=mark)
    rows, cut = _spans(head, plain, not whole, mark)
    start, end = rows[0] if rows else (mark, mark)
    following = rows[1][0] if len(rows) > 1 else cut
    header = head[start:end]
    names = _columns(header, plain, options.mode)
    known = {tuple(map(str.casefold, columns)) for _, columns in options.columns}
    is_known = tuple(map(str.casefold, names or ())) in known
    if not options.include_header:
        problem = Diagnostic("GG311", "the first row has the names of the columns", help="set `includeHeader=true`")
        return replace(plain, skipped=mark, problem=problem if is_known else None)
    if is_known:
        return replace(plain, names=names, skipped=following)
    help = "correct the header, or `mode`, `delimiter`, `quote` and `escape` with `--input-option`"
    problem = Diagnostic("GG311", "the header of the file does not name the columns", help=help)
    mark_of_others = _other_delimiter(header, plain)
    if mark_of_others is not None:
        shown = _SHOWN.get(mark_of_others, mark_of_others)
        message = f"the header of the file has `{visible(mark_of_others)}` more often than the delimiter"
        help = f"set `delimiter={shown}` with `--input-option`; if it is in names, put these in quotes"
        problem = Diagnostic("GG311", message, help=help)
    elif names is not None and _has_values(header, head[slice(*rows[1])] if len(rows) > 1 else b"", plain, options):
        message = "the header of the file has a number, a time or a NULL in place of a name"
        help = "without a header, set `columns` and not `includeHeader`; if it is in names, put these in quotes"
        problem = Diagnostic("GG311", message, help=help)
    elif names is not None:
        return replace(plain, names=names, skipped=following)
    return replace(plain, skipped=following, problem=problem)


def _other_delimiter(header: bytes, layout: CsvLayout) -> str | None:
    """Return what other files have between fields, if a header without quotes has more of it than of the delimiter."""
    counts = {mark: header.count(mark.encode()) for mark in DELIMITERS}
    most = max(counts, key=counts.__getitem__)
    is_quoted = layout.quote.encode() in header
    return None if is_quoted or counts[most] <= header.count(layout.delimiter) else most


def _has_values(header: bytes, row: bytes, layout: CsvLayout, options: ArcionCsvOptions) -> bool:
    """Return whether a first row has values and not names. Quotes make a name of a number, unless the next row has
    quotes around all fields, too."""
    quotes, texts = _with_quotes(header, layout)
    is_style = len(quotes) > 1 and all(quotes) and all(_with_quotes(row, layout)[0])
    return any(
        (is_style or not quoted) and (_VALUE.fullmatch(text) or (text == options.null_literal and not quoted))
        for quoted, text in zip(quotes, texts, strict=True)
    )


def _with_quotes(row: bytes, layout: CsvLayout) -> tuple[list[bool], list[str]]:
    """Return which fields of a row are in quotes, and their texts."""
    fields = _field(layout.delimiter.decode(), layout.quote, layout.backslash).findall(row.decode("utf-8", "replace"))
    if len(fields) > 1 and not fields[-2][-1]:
        fields.pop()  # nothing, found once more behind the last field
    return [bool(quote) for quote, _, _, _ in fields], [body or plain for _, body, plain, _ in fields]


def _columns(header: bytes, layout: CsvLayout, mode: str) -> tuple[str, ...] | None:
    """The columns that a header names; None if it names none, or one twice."""
    try:
        names = tuple(text or "" for text in fields_of(header.decode(), layout, None) or ())
    except UnicodeDecodeError:
        return None
    if mode == REALTIME:
        names = tuple(_column(names[at : at + 3]) for at in range(0, len(names) - len(LAST_FIELDS), 3))
    return names if names and all(names) and len(set(names)) == len(names) else None


def _column(triple: tuple[str, ...]) -> str:
    """The column that three fields are of, by its name alone or with suffixes for each; an empty text for none."""
    if len(triple) < len(VALUE_SUFFIXES):
        return ""
    if len(set(triple)) == 1:
        return triple[0]
    pairs = list(zip(triple, VALUE_SUFFIXES, strict=True))
    names = {name[: -len(suffix)] for name, suffix in pairs if name.upper().endswith(suffix)}
    return names.pop() if len(names) == 1 and all(name.upper().endswith(suffix) for name, suffix in pairs) else ""


def chunks(stream: BinaryIO, file: str, layout: Layout) -> Iterator[Chunk]:
    assert isinstance(layout, CsvLayout)
    source = Source(stream, file, layout, CHUNK_BYTES)
    source.offset = len(stream.read(layout.skipped))
    while not source.ended:
        source.grow()
        while True:
            data, more = source.buffer, not source.ended
            spans, cut = _spans(data, layout, more)
            if cut:
                yield Chunk(file, source.offset, data[:cut], layout, spans, last=not more)
            source.drop(cut)
            if len(source.buffer) <= layout.max_record:
                break
            yield source.pass_record(b"\n")
            source.drop(1)


def _spans(data: bytes, layout: CsvLayout, more: bool, place: int = 0) -> tuple[Spans, int]:
    """Return start and end of every record from a place on, and where the one after them starts."""
    spans, delimiter = Spans(), layout.delimiter.decode()
    places, cut = primitives.csv_rows(data, place, more, layout.max_record, delimiter, layout.quote, layout.backslash)
    spans.add_all(places)
    return spans, cut


def fields_of(record: str, layout: CsvLayout, null: str | None) -> list[Text | None] | None:
    """The fields of a record, None for one that is nothing or `null` without quotes, and NULL can be there; None if one
    does not end with its closing quote."""
    fields = _field(layout.delimiter.decode(), layout.quote, layout.backslash).findall(record)
    if len(fields) > 1 and not fields[-2][-1]:
        fields.pop()  # nothing, found once more behind the last field
    quoted = sum(1 for quote, _, _, _ in fields if quote)
    if len("".join(chain.from_iterable(fields))) + quoted != len(record):
        return None
    nulls = () if null is None else ("", null)
    texts = [(_plain(body, layout) if quote else None if plain in nulls else plain) for quote, body, plain, _ in fields]
    return cast("list[Text | None]", texts)


def _plain(body: str, layout: CsvLayout) -> str:
    if layout.backslash:
        return re.sub(rf"\\([\\{re.escape(layout.quote)}])", r"\1", body)
    return body.replace(layout.quote * 2, layout.quote)


class CsvRow(NamedTuple):
    file: str
    layout: CsvLayout
    text: str


class ScannedRow(ArcionChange, gc=False):
    """The members of the JSON that the kernel makes of a row.

    form    the number of the table, its columns and their order
    states  the states of all columns; absent in a snapshot
    """

    form: Annotated[str, roles.identity()] = ""
    states: Annotated[str | None, roles.identity()] = None


_ODD = b"?"  # what the kernel writes for a row that the exact reader has to take


class ArcionCsv(ArcionDialect):
    record = ScannedRow
    reads_text = False

    def __init__(self, source: WriterSettings, with_tokens: bool = True) -> None:
        super().__init__(source, with_tokens)
        self._tables: dict[str, str] = {}
        self._forms: dict[tuple[str, tuple[str, ...]], int] = {}
        self._states: dict[str, int] = {}  # of the columns of the last change

    @staticmethod
    def layout(head: bytes, whole: bool, source: WriterSettings) -> Layout:
        return find_layout(head, whole, source.options or ArcionCsvOptions())

    @staticmethod
    def chunks(stream: BinaryIO, file: str, start: int, length: int | None, layout: Layout) -> Iterator[Chunk]:
        return chunks(stream, file, layout)

    @staticmethod
    def spans(chunk: Chunk) -> Sequence[tuple[int, int]]:
        return chunk.spans or ()

    def decoded(self, chunk: Chunk) -> Iterator[CsvRow | Diagnostic]:
        assert isinstance(chunk.layout, CsvLayout)
        for start, end in self.spans(chunk):
            record = chunk.data[start:end]
            try:
                yield CsvRow(chunk.file, chunk.layout, record.decode())
            except UnicodeDecodeError:
                yield invalid_utf8(record)

    def changes(self, record: CsvRow) -> Meaning:
        if (problem := record.layout.problem) is not None:
            raise RecordError(problem.code, problem.message, problem.help)
        table, names = self.described_by(record.file, record.layout)
        if names is None:
            help = "set `columns` or `includeHeader` with `--input-option`"
            raise RecordError("GG205", "the columns of the table are unknown", help, table)
        if not record.text and len(names) > 1:
            return "blank line"
        values = self._values(record, table)
        width = len(names) if self.options.mode == SNAPSHOT else 3 * len(names) + len(LAST_FIELDS)
        if len(values) != width:
            help = "correct `columns`, `mode`, `delimiter`, `quote` or `escape` with `--input-option`"
            reason = f"the row has {len(values)} field{'s' * (len(values) != 1)}, but should have {width}"
            raise RecordError("GG311", reason, help, table)
        record_schema = self.describe(table, names)
        if self.options.mode == SNAPSHOT:
            tokens = {"snapshot": "true"} if self.with_tokens else {}
            row = TextImage(zip(names, values, strict=True))
            return (Change(table, "I", None, None, None, row, tokens, record_schema),)
        *fields, word, cursor, counts = values
        states = fields[2::3]
        op = check_op(word, table)
        check_states(set(states), table)
        self._states = {name: int(state or 0) for name, state in zip(names, states, strict=True)}
        new = {name: value for name, value, state in zip(names, fields[::3], states, strict=True) if state in NEW}
        old = {name: value for name, value, state in zip(names, fields[1::3], states, strict=True) if state in OLD}
        return (self.change(table, op, images_of(op, old, new), cursor, counts, record_schema),)

    def first_grammar(self) -> roles.Grammar:
        return self.make_grammar(self.record, (CURSOR_IN_TEXT, COUNTS_IN_TEXT), ())

    def grammar(self, record: CsvRow) -> roles.Grammar:
        return self.first_grammar()

    def states(self, record: CsvRow, table: TableDef) -> bytes | None:
        if self.options.mode == SNAPSHOT:
            return None
        return bytes(self._states.get(name, NOT_NAMED) for name in table.column_names)

    def common_tokens(self, table: TableDef) -> Mapping[str, str]:
        return {"snapshot": "true"} if self.options.mode == SNAPSHOT else {}

    def as_json(self, chunk: Chunk) -> Chunk:
        layout, places = chunk.layout, places_of(self.spans(chunk))
        assert isinstance(layout, CsvLayout)
        spans = Spans()
        named = None if layout.problem is not None else self._form(chunk)
        if named is None:
            rows = len(places) // 2
            spans.follow(0, array("q", range(len(_ODD), (rows + 1) * len(_ODD), len(_ODD))))
            return replace(chunk, data=_ODD * rows, spans=spans)
        number, names = named
        data, ends = kernels.native.csv_to_json(
            chunk.data,
            places,
            layout.delimiter.decode(),
            layout.quote,
            layout.backslash,
            self.options.null_literal.encode(),
            names,
            self.options.mode != SNAPSHOT,
            b'{"form":"%d"' % number,
        )
        spans.follow(0, array("q", memoryview(ends).cast("q")))
        return replace(chunk, data=data, spans=spans)

    def _form(self, chunk: Chunk) -> tuple[int, tuple[bytes, ...]] | None:
        """Return the number of the table and columns of a chunk, and the columns as members of JSON; None if they are
        not known, or not as the scanner takes them."""
        assert isinstance(chunk.layout, CsvLayout)
        try:
            table, names = self.described_by(chunk.file, chunk.layout)
        except RecordError:
            return None
        if names is None or len(set(names)) < len(names) or not all(map(is_plain, names)):
            return None
        number = self._forms.setdefault((table, names), len(self._forms))
        return number, tuple(b'"%s":' % name.encode("utf-8", "surrogatepass") for name in names)

    def described_by(self, file: str, layout: CsvLayout) -> tuple[str, tuple[str, ...] | None]:
        """The table of a file, and its columns, None if they are not known. Raises: RecordError if the file names no
        table."""
        if (table := self._tables.get(file)) is None:
            table = self._tables[file] = self._table(file)
        return table, layout.names or keys_of(table, self.options.columns) or None

    def _values(self, record: CsvRow, table: str) -> list[Text | None]:
        fields = fields_of(record.text, record.layout, self.options.null_literal)
        if fields is None:
            help = "correct the file, or `quote` and `escape` with `--input-option`"
            raise RecordError("GG311", "a field has text after its closing quote, or has no closing quote", help, table)
        return fields

    def _table(self, file: str) -> str:
        """The table of a file. Raises: RecordError if its path does not name one."""
        if self.options.table_name:
            return str(self.options.table_name)
        path = PurePosixPath(file)
        name = _SUFFIXES.sub("", path.name) if self.options.table_from == FILE else path.parent.name
        if not name:
            help = "set `tableName` with `--input-option`"
            raise RecordError("GG305", "the path of the file does not name its table", help)
        try:
            return unquote(name, errors="strict")  # as ggfmt escapes names of directories
        except UnicodeDecodeError:
            return name


class ArcionCsvDiscovery(DialectDiscovery):
    """All rows of a file have one definition: it is in the first row that can be read."""

    _dialect: ArcionCsv

    def read(self, chunk: Chunk) -> None:
        if not self._is_known(chunk):
            super().read(chunk)

    def _is_known(self, chunk: Chunk) -> bool:
        assert isinstance(chunk.layout, CsvLayout)
        try:
            table, names = self._dialect.described_by(chunk.file, chunk.layout)
        except RecordError:
            return False
        if names is None or table not in self._declared:
            return False
        return not self._is_new(self._dialect.describe(table, names).table)


READ_SIDES = {"arcion_csv": dialect_input(ArcionCsv, discovery=ArcionCsvDiscovery, router=None)}
