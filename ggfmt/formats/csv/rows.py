"""Rows of CSV as records: what the readers of all formats of CSV share.

One kernel makes JSON of rows, for the native scanner. A row that is not regular becomes invalid JSON, so that the exact
reader takes it.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from array import array
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import BinaryIO, ClassVar, NamedTuple
from urllib.parse import unquote

from ggfmt import kernels
from ggfmt.dataclasses import replace
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.format import WriterSettings
from ggfmt.formats.api.reading import STANDARD_INPUT, Chunk, Layout, Spans
from ggfmt.formats.csv.cut import WIDE, CsvLayout, chunks, fields_of
from ggfmt.formats.json.values import Text, invalid_utf8
from ggfmt.formats.records.dialect import Dialect, RecordSchema
from ggfmt.formats.records.discovery import DialectDiscovery
from ggfmt.formats.records.problems import RecordError
from ggfmt.formats.records.scanner import is_plain, places_of
from ggfmt.lazy import lazy_regex
from ggfmt.options.value_types import key_of

_SUFFIXES = lazy_regex(
    r"(?:\.(?:csv|tsv|tab|txt|dat|jsonl|ndjson|json|gz|bz2|xz|zst|zstd|lz4|snappy|br))+$", re.IGNORECASE
)
_ODD = b"?"  # what the kernel writes for a row that the exact reader has to take


class CsvRow(NamedTuple):
    file: str
    layout: CsvLayout
    text: str


def table_of(file: str, of_directory: bool = False) -> str:
    """Return the table that a path names: by the file name without its suffixes, or by the directory of the file.
    Raises: RecordError if the path names none."""
    path = PurePosixPath(file)
    name = path.parent.name if of_directory else _SUFFIXES.sub("", path.name)
    if not name or file == STANDARD_INPUT:
        help = "set `tableName` with `--input-option`"
        raise RecordError("GG305", "the path of the file does not name its table", help)
    try:
        return unquote(name, errors="strict")  # as ggfmt escapes names of directories
    except UnicodeDecodeError:
        return name


class CsvDialect(Dialect):
    """A dialect whose records are rows of CSV. Each option that is named in a help is one of the dialect."""

    reads_text = False
    columns_help: ClassVar[str] = "set `columns` or `includeHeader` with `--input-option`"
    quote_help: ClassVar[str] = "correct the file, or `quote` and `escape` with `--input-option`"
    width_help: ClassVar[str] = "correct the row, or `delimiter`, `quote` or `preset` with `--input-option`"

    def __init__(self, source: WriterSettings, with_tokens: bool = True) -> None:
        super().__init__(source, with_tokens)
        self._tables: dict[str, str] = {}
        self._forms: dict[tuple[str, tuple[str, ...]], int] = {}

    @abstractmethod
    def describe(self, table: str, names: tuple[str, ...]) -> RecordSchema:
        """Return the definition of a table by the names of its fields."""

    @abstractmethod
    def head(self, form: int) -> bytes:
        """Return how the JSON of rows starts. `form`: the number of the table and its fields."""

    def member(self, name: str) -> bytes:
        """Return how the JSON of a field starts, with a comma if the field is no column."""
        return b'"%s":' % name.encode("utf-8", "surrogatepass")

    def changes_of(self) -> bool:
        """Return whether rows have three fields per column, and three more fields, as Arcion's changes."""
        return False

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
                yield CsvRow(chunk.file, chunk.layout, record.decode(chunk.layout.charset))
            except UnicodeDecodeError:
                charset = chunk.layout.charset
                no_text = Diagnostic("GG303", f"the row is not {charset.upper()}", help="set `encoding`")
                yield invalid_utf8(record) if charset == "utf-8" else no_text

    def fields(self, record: CsvRow, more: int = 0) -> tuple[str, tuple[str, ...], list[Text | None]] | None:
        """Return the table of a row, the names of its columns, and its fields; None for a blank line.

        Raises: RecordError if the file names no columns, or if the row has another number of fields than one per name
        (with `more`, three per name and `more`).
        """
        layout = record.layout
        if (problem := layout.problem) is not None:
            raise RecordError(problem.code, problem.message, problem.help)
        table, names = self.described_by(record.file, layout)
        if names is None:
            raise RecordError("GG205", "the columns of the table are unknown", self.columns_help, table)
        if not record.text and len(names) > 1:
            return None
        values = fields_of(record.text, layout, layout.null)
        if values is None:
            reason = "a field has text after its closing quote, or has no closing quote"
            raise RecordError("GG311", reason, self.quote_help, table)
        width = 3 * len(names) + more if more else len(names)
        if len(values) != width:
            reason = f"the row has {len(values)} field{'s' * (len(values) != 1)}, but should have {width}"
            raise RecordError("GG311", reason, self.width_help, table)
        return table, names, values

    def described_by(self, file: str, layout: CsvLayout) -> tuple[str, tuple[str, ...] | None]:
        """The table of a file, and its columns, None if they are not known. Raises: RecordError if the file names no
        table."""
        if (table := self._tables.get(file)) is None:
            table = self._tables[file] = self.table_of_file(file)
        return table, layout.names or key_of(table, self.options.columns) or None

    def table_of_file(self, file: str) -> str:
        return str(self.options.table_name) or table_of(file)

    def as_json(self, chunk: Chunk) -> Chunk:
        layout = chunk.layout
        assert isinstance(layout, CsvLayout)
        data, places = chunk.data, places_of(self.spans(chunk))
        if layout.charset != "utf-8":
            data, places = _in_utf8(data, places, layout.charset)
        spans = Spans()
        named = None if layout.problem is not None else self._form(chunk)
        if named is None:
            rows = len(places) // 2
            spans.follow(0, array("q", range(len(_ODD), (rows + 1) * len(_ODD), len(_ODD))))
            return replace(chunk, data=_ODD * rows, spans=spans)
        number, names = named
        data, ends = kernels.native.csv_to_json(
            data,
            places,
            layout.delimiter.decode(),
            layout.quote,
            layout.escapes,
            layout.null.encode(),
            names,
            self.changes_of(),
            self.head(number),
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
        return number, tuple(map(self.member, names))


def _in_utf8(data: bytes, places: Sequence[int], charset: str) -> tuple[bytes, array[int]]:
    """Return the rows in UTF-8, one after the other, and where they start and end. One that is no text stays so."""
    parts, found, end = [], array("q"), 0
    for start, stop in zip(places[::2], places[1::2], strict=True):
        row = data[start:stop].decode(charset, "surrogateescape" if charset not in WIDE else "surrogatepass")
        parts.append(row.encode("utf-8", "surrogatepass"))
        found.extend((end, end := end + len(parts[-1])))
    return b"".join(parts), found


class CsvDiscovery(DialectDiscovery):
    """All rows of a file have one definition: it is in the first row that can be read."""

    _dialect: CsvDialect

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
