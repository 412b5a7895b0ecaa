"""Files of a table as CSV, and as texts with escapes: all columns are texts.

Arrow's reader tells an empty text in quotes from nothing between two delimiters. Of escapes it knows doubled quotes:
files with others come to it rewritten (`ggfmt.comparison.escapes`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.csv as csv

from ggfmt.arrow.arrays import as_strings
from ggfmt.comparison.csv_options import CsvOptions
from ggfmt.comparison.escapes import Lines, Quotes, unescaped
from ggfmt.comparison.files import Arrays, Columns, TableFile, distinct, ending_of
from ggfmt.comparison.values import STRING
from ggfmt.scan.files import InputFile, open_input

_BLOCK_BYTES, _MOST_BLOCK_BYTES = 4 << 20, 64 << 20
# What Arrow says of a file without a byte, and of a row that is longer than a block: the first one, or another.
_EMPTY, _TOO_LONG = "Empty CSV file", ("Empty CSV file or block", "straddling")
_TABS = ("tsv", "tab")


class CsvFile(TableFile):
    """An empty file has no columns but those that the options name."""

    def __init__(self, file: InputFile, options: CsvOptions) -> None:
        self._options = options
        self._delimiter = options.delimiter or ("\t" if ending_of(file.path) in _TABS else ",")
        self._by_letters = options.escape is not None and options.quote is None
        self._width = 0
        super().__init__(file)

    def _columns(self) -> Columns:
        names = list(self._options.columns)
        try:
            first = next(self._parsed(None))
        except StopIteration:
            return dict.fromkeys(names, STRING)
        self._width = len(first)
        if self._options.header:
            names = [column[0].as_py() or "" for column in next(self._parsed(self._width))]
        elif not names:
            names = [f"{place}" for place in range(1, self._width + 1)]
            self.named = False
        if len(names) != self._width:
            raise ValueError(f"it has {self._width} columns, and {len(names)} names are given")
        return distinct((name, STRING) for name in names)

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
        """Batches of all columns with the header, if there is one: as texts, or without a width as what they look like.
        A row that is longer than a block is read with larger ones."""
        given, size = 0, _BLOCK_BYTES
        while True:
            rows = 0
            with stream or open_input(self.file) as opened:
                try:
                    for batch in self._reader(opened, width, size):
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
                    if size == _MOST_BLOCK_BYTES:
                        if self._is_blank():
                            return
                        raise ValueError(
                            f"a row is longer than {_MOST_BLOCK_BYTES / 1e6:.0f} MB, or a quote has no end"
                        ) from None
            stream, size = None, min(4 * size, _MOST_BLOCK_BYTES)

    def _is_blank(self) -> bool:
        """Whether the file has nothing but line ends, as far as a block goes."""
        with open_input(self.file) as stream:
            return not stream.read(_MOST_BLOCK_BYTES).strip()

    def _reader(self, stream: Any, width: int | None, size: int) -> csv.CSVStreamingReader:
        options = self._options
        types = None if width is None else {f"f{place}": STRING for place in range(width)}
        if options.escape is not None and options.quote is None:
            stream = Lines(stream, self._delimiter)
        elif options.escape is not None and options.quote is not None:
            stream = Quotes(stream, options.quote, options.escape)
        return csv.open_csv(
            stream,
            csv.ReadOptions(block_size=size, autogenerate_column_names=True, encoding=options.encoding),
            csv.ParseOptions(
                delimiter=self._delimiter,
                quote_char=options.quote or False,
                newlines_in_values=not self._by_letters,
                ignore_empty_lines=width != 1,  # one is a NULL of the only column
            ),
            csv.ConvertOptions(
                column_types=types,
                null_values=[options.null],
                strings_can_be_null=True,
                quoted_strings_can_be_null=options.quoted_null,
                check_utf8=True,
            ),
        )


def _without_row(message: str) -> str:
    """What Arrow says of a row, less the row."""
    return re.sub(r"(got [0-9]+): .*", r"\1", message, flags=re.DOTALL)
