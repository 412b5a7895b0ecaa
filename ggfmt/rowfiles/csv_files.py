"""Tables as CSV and as text with escapes, and how they are read."""

from __future__ import annotations

import io
import re
import threading
import weakref
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.csv as csv

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import as_strings
from ggfmt.dataclasses import dataclass
from ggfmt.rowfiles.files import TEXT, Arrays, Open, RowFile, schema_of_texts


@dataclass(frozen=True)
class CsvOptions:
    """Letters after an `escape` mean what they do to PostgreSQL and MySQL: `\\n` is a line feed.

    With a `quote`, there are escapes only within quotes. `delimiter` None: a comma. `blank_lines`: a
    blank line is a row without values, and not passed over.
    """

    delimiter: str | None = None
    quote: str | None = '"'
    escape: str | None = None
    null: str = ""
    quoted_null: bool = False
    header: bool = True
    columns: tuple[str, ...] = ()
    encoding: str = "utf-8"
    blank_lines: bool = False


# Files of a table as CSV, and as text with escapes: all columns are texts. Arrow's reader distinguishes an empty text
# in quotes from nothing between two delimiters. It knows only doubled quotes as escapes: files with other escapes are
# rewritten first.

_HEAD_BYTES, _BLOCK_BYTES, _MAX_BLOCK_BYTES = 64 << 10, 4 << 20, 64 << 20
_RELEASE_SECONDS = 10
# Arrow's messages for an empty file, and for a row that is longer than a block: the first row, or another one.
_EMPTY, _TOO_LONG = "Empty CSV file", ("Empty CSV file or block", "straddling")

# Files with escapes that Arrow's CSV reader does not know are rewritten while it reads them. Without quotes (MySQL,
# PostgreSQL's text format), a letter after an escape stands for a character, and `\N` for NULL: escapes become escapes
# of letters, which do not disturb the reader, stay in the texts that Arrow returns, and are replaced there a column at
# once. Within quotes (Spark, and MySQL with `FIELDS ENCLOSED BY`), they become the characters.

BLOCK_BYTES, _MAX_BYTES = 4 << 20, 64 << 20
_LETTERS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0", "Z": "\x1a"}
_DELIMITER = "\2"  # follows an escape in place of a delimiter that is not a letter
_PRIVATE = range(0xE000, 0xF900)  # characters for private use


class _RewritingStream(io.RawIOBase):
    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._ready = self._rest = b""
        self._ended = False

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """Return the requested number of bytes, unless the file ends: for Arrow, a short block is the last one."""
        parts, count = [self._ready], len(self._ready)
        while not self._ended and (size < 0 or count < size):
            block = self._stream.read(BLOCK_BYTES)
            self._ended = not block
            new, self._rest = self._rewritten(self._rest + block, self._ended)
            parts.append(new)
            count += len(new)
        ready = b"".join(parts)
        size = count if size < 0 else size
        self._ready = ready[size:]
        return ready[:size]

    @abstractmethod
    def _rewritten(self, data: bytes, last: bool) -> tuple[bytes, bytes]:
        """Return the rewritten data, and the rest that has to wait for the next block."""


class _UnclosedStream(io.RawIOBase):
    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        stream = self._stream
        del self  # the traceback of an error keeps the variables of this frame, and the file is waited for
        block: bytes = stream.read(size)
        return block


class Lines(_RewritingStream):
    """A file without quotes. A line feed or a delimiter after an escape, and a carriage return that ends no line,
    become escapes of letters, so that a reader finds the lines and fields."""

    def __init__(self, stream: BinaryIO, delimiter: str) -> None:
        super().__init__(stream)
        letter = b"\\t" if delimiter == "\t" else f"\\{_DELIMITER}".encode()
        self._pairs = {b"\\\n": b"\\n", b"\\\r": b"\\r", f"\\{delimiter}".encode(): letter}
        self._pattern = re.compile(rb"\\.|\r(?!\n)", re.DOTALL)

    def _rewritten(self, data: bytes, last: bool) -> tuple[bytes, bytes]:
        # An incomplete pair, or a carriage return at the end, waits for the next block.
        end = len(data) if last else len(data.rstrip(b"\\\r"))
        whole, rest = data[:end], data[end:]
        if b"\r" in whole or any(pair in whole for pair in self._pairs):
            whole = self._pattern.sub(self._replaced, whole)
        return whole, rest

    def _replaced(self, match: re.Match[bytes]) -> bytes:
        return self._pairs.get(match[0], b"\\r" if match[0] == b"\r" else match[0])


class Quotes(_RewritingStream):
    """A file with quotes. An escape within quotes becomes its character, and an escaped quote becomes two quotes."""

    def __init__(self, stream: BinaryIO, quote: str, escape: str) -> None:
        super().__init__(stream)
        self._quote, self._escape = quote.encode(), escape.encode()
        mark, back = re.escape(self._quote), re.escape(self._escape)
        plain = b"[^" + mark + back + b"]*"
        self._field = re.compile(mark + plain + b"(?:" + back + b"." + plain + b")*" + mark, re.DOTALL)
        self._pair = re.compile(back + b"(.)", re.DOTALL)
        self._meant = {letter.encode(): character.encode() for letter, character in _LETTERS.items()}
        self._meant[self._quote] = 2 * self._quote

    def _rewritten(self, data: bytes, last: bool) -> tuple[bytes, bytes]:
        parts: list[bytes] = []
        end = 0
        for match in self._field.finditer(data):
            parts += (data[end : match.start()], self._pair.sub(self._replaced, match[0]))
            end = match.end()
        opening = data.find(self._quote, end)
        if opening < 0 or last:
            return b"".join((*parts, data[end:])), b""
        if len(data) - opening > _MAX_BYTES:
            raise ValueError("a quoted value has no end")
        return b"".join((*parts, data[end:opening])), data[opening:]

    def _replaced(self, match: re.Match[bytes]) -> bytes:
        return self._meant.get(match[1], match[1])


def unescaped(texts: pa.StringArray, delimiter: str) -> pa.StringArray:
    def holds(part: str) -> bool:
        return bool(pc.any(pc.match_substring(texts, part), min_count=0).as_py())

    if not holds("\\"):
        return texts
    mark = next(character for character in map(chr, _PRIVATE) if not holds(character))
    texts = pc.replace_substring(texts, "\\\\", mark)
    for letter, character in {**_LETTERS, _DELIMITER: delimiter}.items():
        texts = pc.replace_substring(texts, f"\\{letter}", character)
    texts = pc.replace_substring_regex(texts, r"(?s)\\(.)", r"\1")
    return pc.replace_substring(texts, mark, "\\")


class CsvFile(RowFile):
    """An empty file has only the columns that the options name."""

    has_types = False

    def __init__(self, open: Open, options: CsvOptions) -> None:
        self._options = options
        self._delimiter = options.delimiter or ","
        self._by_letters = options.escape is not None and options.quote is None
        self._width = 0
        super().__init__(open)

    def _schema(self) -> pa.Schema:
        names = list(self._options.columns)
        try:
            first = next(self._parsed(None, _HEAD_BYTES))
        except StopIteration:
            return schema_of_texts(names)
        self._width = len(first)
        if self._options.header:
            names = [column[0].as_py() or "" for column in next(self._parsed(self._width, _HEAD_BYTES))]
        elif not names:
            names = [f"{place}" for place in range(1, self._width + 1)]
            self.named = False
        if len(names) != self._width:
            raise ValueError(f"it has {self._width} columns, but {len(names)} names are given")
        return schema_of_texts(names)

    def batches(self, names: Sequence[str]) -> Iterator[Arrays]:
        if not self._width:
            return
        places = [self.schema.names.index(name) for name in names]
        header = int(self._options.header)
        for columns in self._parsed(self._width, _BLOCK_BYTES):
            own = [columns[place].slice(header) for place in places]
            yield [unescaped(as_strings(texts), self._delimiter) for texts in own] if self._by_letters else own
            header = 0

    def _parsed(self, width: int | None, size: int) -> Iterator[Arrays]:
        """Yield batches of all columns, with the header if there is one: as texts, or without a width with inferred
        types. A row that is longer than a block of `size` bytes is read with larger blocks."""
        given = 0
        while True:
            rows = 0
            with self._open() as opened:
                try:
                    for batch in self._read(opened, width, size):
                        start, rows = max(given - rows, 0), rows + len(batch)
                        if rows > given:
                            given = rows
                            yield batch.slice(start).columns
                    return
                except pa.ArrowInvalid as error:
                    reason = str(error)
                    if not any(text in reason for text in _TOO_LONG):
                        if _EMPTY in reason:
                            return
                        without_row = re.sub(r"(got [0-9]+): .*", r"\1", reason, flags=re.DOTALL)
                        raise ValueError(without_row) from None
                    if size == _MAX_BLOCK_BYTES:
                        if self._is_blank():
                            return
                        limit = f"{_MAX_BLOCK_BYTES / 1e6:.0f} MB"
                        raise ValueError(f"a row is longer than {limit}, or a quoted value has no end") from None
            size = min(4 * size, _MAX_BLOCK_BYTES)

    def _is_blank(self) -> bool:
        """Return whether the first block of the file has only line ends."""
        with self._open() as stream:
            return not stream.read(_MAX_BLOCK_BYTES).strip()

    def _read(self, stream: Any, width: int | None, size: int) -> Iterator[pa.RecordBatch]:
        """Yield the batches of a file. Arrow's thread must not have the file at the end of Python: it would abort."""
        options = self._options
        types = None if width is None else {f"f{place}": TEXT for place in range(width)}
        if options.escape is not None and options.quote is None:
            stream = Lines(stream, self._delimiter)
        elif options.escape is not None and options.quote is not None:
            stream = Quotes(stream, options.quote, options.escape)
        released = threading.Event()
        lent: Any = _UnclosedStream(stream)
        reader = None
        weakref.finalize(lent, released.set)
        try:
            reader = csv.open_csv(
                lent,
                csv.ReadOptions(block_size=size, autogenerate_column_names=True, encoding=options.encoding),
                csv.ParseOptions(
                    delimiter=self._delimiter,
                    quote_char=options.quote or False,
                    newlines_in_values=not self._by_letters,
                    # A blank line is a NULL of the only column.
                    ignore_empty_lines=not options.blank_lines and width != 1,
                ),
                csv.ConvertOptions(
                    column_types=types,
                    null_values=[options.null],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=options.quoted_null,
                    check_utf8=True,
                ),
            )
            yield from reader
        finally:
            del lent, reader
            released.wait(_RELEASE_SECONDS)
