"""Tables as CSV and as text with escapes: the options of programs that write them, and how they are read."""

from __future__ import annotations

import codecs
import io
import re
import threading
import weakref
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.csv as csv

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import as_strings
from ggfmt.comparison.files import Arrays, Columns, TableFile, distinct, ending_of
from ggfmt.comparison.kinds import STRING, UNTYPED
from ggfmt.diagnostics.diagnostic import Diagnostic, UsageError, suggestion
from ggfmt.java.text import visible
from ggfmt.reading.files import InputFile, open_input

HELP = {
    "dialect": "the program that wrote the file: `csv`, `oracle`, `spark`, `postgresql-text`, `mysql`; other options "
    "override it",
    "delimiter": "one character, `tab` or `\\t`",
    "quote": "one character, or `none`",
    "escape": "one character, or `none` if quotes within quotes are doubled",
    "null": "the text that means NULL outside quotes",
    "quoted-null": "`true`: the text of `null` also means NULL in quotes",
    "header": "`true`: the first line has the column names",
    "columns": "column names, separated by commas, for a file without a header",
    "encoding": "the character set",
}


@dataclass(frozen=True)
class CsvOptions:
    """Letters after an `escape` mean what they do to PostgreSQL and MySQL: `\\n` is a line feed.

    With a `quote`, there are escapes only within quotes. `delimiter` None: a tab in `.tsv` files, and a comma in
    others.
    """

    delimiter: str | None = None
    quote: str | None = '"'
    escape: str | None = None
    null: str = ""
    quoted_null: bool = False
    header: bool = True
    columns: tuple[str, ...] = ()
    encoding: str = "utf-8"


_PLAIN = CsvOptions()
_ESCAPED = CsvOptions(delimiter="\t", quote=None, escape="\\", null="\\N", header=False)
DIALECTS = {
    "csv": _PLAIN,
    "oracle": replace(_PLAIN, quoted_null=True),
    "spark": replace(_PLAIN, escape="\\"),
    "postgresql-text": _ESCAPED,
    "mysql": _ESCAPED,
}


def csv_options(given: Iterable[tuple[str, str]], side: str) -> CsvOptions:
    """Return the options of one side, `a` or `b`, from those given for it (`b.null`) or for both (`null`).

    Raises: UsageError GG580 for an unknown option or an illegal value.
    """
    chosen: dict[str, str] = {}
    for name, value in given:
        of, dot, rest = name.partition(".")
        own = rest if dot and of in ("a", "b") else name
        if own not in HELP:
            help = suggestion(own, HELP) or f"options are {', '.join(f'`{known}`' for known in HELP)}"
            raise UsageError(Diagnostic("GG580", f"`{name}` is not an option of CSV files", help=help))
        if own is name or of == side:
            chosen[own] = value
    dialect = chosen.pop("dialect", "csv")
    options = DIALECTS.get(dialect)
    if options is None:
        raise _illegal("dialect", dialect, f"legal values are {', '.join(f'`{name}`' for name in DIALECTS)}")
    for name, value in chosen.items():
        options = _with(options, name, value)
    if options.columns and "header" not in chosen:
        options = replace(options, header=False)
    if not options.quote and options.escape not in (None, "\\"):
        raise _illegal("escape", options.escape, "without quotes, use a backslash")
    return options


def _with(options: CsvOptions, name: str, value: str) -> CsvOptions:
    if name in ("header", "quoted-null"):
        if value not in ("true", "false"):
            raise _illegal(name, value, "legal values are `true`, `false`")
        return _replaced(options, name.replace("-", "_"), value == "true")
    if name == "columns":
        names = tuple(column.strip() for column in value.split(","))
        if len(set(names)) < len(names):
            raise _illegal(name, value, "give each name once")
        return replace(options, columns=names)
    if name == "encoding":
        try:
            return replace(options, encoding=codecs.lookup(value).name)
        except LookupError:
            raise _illegal(name, value, "give a character set, for example `utf-8` or `latin-1`") from None
    if name == "null":
        return replace(options, null=value)
    character = {"tab": "\t", "\\t": "\t"}.get(value, value)
    if name != "delimiter" and value == "none":
        return _replaced(options, name, None)
    if len(character) != 1 or not character.isascii() or character in "\r\n":
        raise _illegal(name, value, f"give {HELP[name]}; the character must be ASCII")
    return _replaced(options, name, character)


def _replaced(options: CsvOptions, name: str, value: Any) -> CsvOptions:
    return replace(options, **{name: value})


def _illegal(name: str, value: str, help: str) -> UsageError:
    return UsageError(Diagnostic("GG580", f"the option `{name}` of CSV files cannot be `{visible(value)}`", help=help))


# Files of a table as CSV, and as text with escapes: all columns are texts. Arrow's reader distinguishes an empty text
# in quotes from nothing between two delimiters. It knows only doubled quotes as escapes: files with other escapes are
# rewritten first.

_BLOCK_BYTES, _MAX_BLOCK_BYTES = 4 << 20, 64 << 20
_RELEASE_SECONDS = 10
# Arrow's messages for an empty file, and for a row that is longer than a block: the first row, or another one.
_EMPTY, _TOO_LONG = "Empty CSV file", ("Empty CSV file or block", "straddling")
_TABS = ("tsv", "tab")

# Files with escapes that Arrow's CSV reader does not know are rewritten while it reads them. Without quotes (MySQL,
# PostgreSQL's text format), a letter after an escape stands for a character, and `\N` for NULL: escapes become escapes
# of letters, which do not disturb the reader, stay in the texts that Arrow returns, and are replaced there a column at
# once. Within quotes (Spark, and MySQL with `FIELDS ENCLOSED BY`), they become the characters.

BLOCK_BYTES, _MAX_BYTES = 4 << 20, 64 << 20
_LETTERS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0", "Z": "\x1a"}
_DELIMITER = "\2"  # follows an escape in place of a delimiter that is not a letter
_PRIVATE = range(0xE000, 0xF900)  # characters for private use


class _RewritingStream(io.RawIOBase):
    """A file that is read in blocks, each of which is rewritten."""

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


class _Lent(io.RawIOBase):
    """A file that Arrow may read and not close."""

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
    become escapes of letters, so that a reader finds the lines and fields.
    """

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
    """Return texts of a file without quotes, with the characters of their escapes."""

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


class CsvFile(TableFile):
    """An empty file has only the columns that the options name."""

    def __init__(self, file: InputFile, options: CsvOptions) -> None:
        self._options = options
        self._delimiter = options.delimiter or ("\t" if ending_of(file.location) in _TABS else ",")
        self._by_letters = options.escape is not None and options.quote is None
        self._width = 0
        super().__init__(file)

    def _columns(self) -> Columns:
        names = list(self._options.columns)
        try:
            first = next(self._parsed(None))
        except StopIteration:
            return dict.fromkeys(names, UNTYPED)
        self._width = len(first)
        if self._options.header:
            names = [column[0].as_py() or "" for column in next(self._parsed(self._width))]
        elif not names:
            names = [f"{place}" for place in range(1, self._width + 1)]
            self.named = False
        if len(names) != self._width:
            raise ValueError(f"it has {self._width} columns, but {len(names)} names are given")
        return distinct((name, UNTYPED) for name in names)

    def _batches(self, stream: BinaryIO, names: Sequence[str]) -> Iterator[Arrays]:
        if not self._width:
            return
        places = [[*self.columns].index(name) for name in names]
        header = int(self._options.header)
        for columns in self._parsed(self._width, stream):
            own = [columns[place].slice(header) for place in places]
            yield [unescaped(as_strings(texts), self._delimiter) for texts in own] if self._by_letters else own
            header = 0

    def _parsed(self, width: int | None, stream: BinaryIO | None = None) -> Iterator[Arrays]:
        """Yield batches of all columns, with the header if there is one: as texts, or without a width with inferred
        types.

        A row that is longer than a block is read with larger blocks.
        """
        given, size = 0, _BLOCK_BYTES
        while True:
            rows = 0
            with stream or open_input(self.file) as opened:
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
                        raise ValueError(_without_row(reason)) from None
                    if size == _MAX_BLOCK_BYTES:
                        if self._is_blank():
                            return
                        raise ValueError(
                            f"a row is longer than {_MAX_BLOCK_BYTES / 1e6:.0f} MB, or a quoted value has no end"
                        ) from None
            stream, size = None, min(4 * size, _MAX_BLOCK_BYTES)

    def _is_blank(self) -> bool:
        """Return whether the first block of the file has only line ends."""
        with open_input(self.file) as stream:
            return not stream.read(_MAX_BLOCK_BYTES).strip()

    def _read(self, stream: Any, width: int | None, size: int) -> Iterator[pa.RecordBatch]:
        """Yield the batches of a file.

        A thread of Arrow reads ahead. At the end of Python it must not have the file any more, or the process aborts.
        """
        options = self._options
        types = None if width is None else {f"f{place}": STRING for place in range(width)}
        if options.escape is not None and options.quote is None:
            stream = Lines(stream, self._delimiter)
        elif options.escape is not None and options.quote is not None:
            stream = Quotes(stream, options.quote, options.escape)
        released = threading.Event()
        lent: Any = _Lent(stream)
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
                    ignore_empty_lines=width != 1,  # a blank line is a NULL of the only column
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


def _without_row(message: str) -> str:
    """Return a message of Arrow about a row, without the row."""
    return re.sub(r"(got [0-9]+): .*", r"\1", message, flags=re.DOTALL)
