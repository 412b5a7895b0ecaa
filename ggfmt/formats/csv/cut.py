"""The rows of files of CSV, and their fields.

A field that starts with a quote ends with the next quote that is not escaped, and may hold line ends and delimiters in
between; in all other fields quotes stand for themselves. Blanks are part of a field. Since a line end may be in a
field, a file is read from its start. A field whose closing quote never comes ends with its line.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain
from typing import BinaryIO, cast

from ggfmt.dataclasses import dataclass
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.reading import Chunk, Layout, Source, Spans
from ggfmt.formats.csv import VALUE
from ggfmt.formats.json.values import Text
from ggfmt.kernels import primitives
from ggfmt.kernels.plain import DOUBLED, IN_QUOTES, LETTERS
from ggfmt.lazy import lazy_regex

CHUNK_BYTES = 1 << 20
WIDE = ("utf-16-le", "utf-16-be")  # charsets with two bytes in a unit
_VALUE = lazy_regex(rf"\s*(?:{VALUE})\s*", re.ASCII)
_MEANT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0", "Z": "\x1a"}
_PAIR = lazy_regex(r"\\(.)", re.DOTALL)


@dataclass(frozen=True)
class CsvLayout(Layout):
    """The layout of a file of CSV; `delimiter` is between fields.

    quote    around fields; empty: fields have no quotes
    escapes  `DOUBLED` quotes, a backslash `IN_QUOTES`, or before `LETTERS`: then an empty field is not NULL
    null     the text for NULL without quotes
    names    the columns that the header names, None without a header
    charset  of the file: UTF-8, UTF-16 without a byte order mark, or one with a byte per character, as ASCII has it
    problem  what is wrong with the file, so that no row can be read
    """

    quote: str = '"'
    escapes: int = DOUBLED
    null: str = ""
    names: tuple[str, ...] | None = None
    charset: str = "utf-8"
    problem: Diagnostic | None = None


@lru_cache(maxsize=64)
def _field(delimiter: str, quote: str, escapes: int) -> re.Pattern[str]:
    """Return the expression of a field. It can match in one way only, so that trying others takes no time."""
    d, q = re.escape(delimiter), re.escape(quote)
    bodies = rf"[^{q}]*(?:{q}{q}[^{q}]*)*", rf"[^{q}\\]*(?:\\.[^{q}\\]*)*", rf"[^{q}\\]*(?:(?:\\.|{q}{q})[^{q}\\]*)*"
    plain = rf"[^{d}\\]*(?:\\(?:.|\Z)[^{d}\\]*)*" if escapes == LETTERS else rf"[^{d}]*"
    quoted = rf"({q})({bodies[escapes]}){q}|" if quote else r"((?!))()|"
    unquoted = rf"((?!{q}){plain})" if quote else f"({plain})"
    return re.compile(rf"(?:{quoted}{unquoted})({d}|\Z)", re.DOTALL)


def chunks(stream: BinaryIO, file: str, layout: Layout) -> Iterator[Chunk]:
    assert isinstance(layout, CsvLayout)
    source, line_end = Source(stream, file, layout, CHUNK_BYTES), "\n".encode(layout.charset)
    source.offset = len(source.stream.read(layout.skipped))

    def cut(data: bytes, more: bool) -> tuple[Iterable[Chunk], int]:
        spans, end = find_rows(data, layout, more)
        return [Chunk(file, source.offset, data[:end], layout, spans, last=not more)] if end else (), end

    return source.chunks_by(cut, line_end, len(line_end))


def find_rows(data: bytes, layout: CsvLayout, more: bool, place: int = 0) -> tuple[Spans, int]:
    """Return start and end of every row from a place on, and where the one after them starts."""
    spans, delimiter, limit = Spans(), layout.delimiter.decode(), layout.max_record
    if not is_wide(layout.charset):
        places, cut = primitives.csv_rows(data, place, more, limit, delimiter, layout.quote, layout.escapes)
        spans.add_all(places)
        return spans, cut
    units = data[place : place + (len(data) - place) // 2 * 2]
    text = units.decode(layout.charset, "surrogatepass").encode("utf-8", "surrogatepass")
    places, cut = primitives.csv_rows(text, 0, more, limit, delimiter, layout.quote, layout.escapes)
    found, last, wide = array("q"), 0, place
    for end in (*memoryview(places).cast("q"), cut):
        wide += len(recoded(text[last:end], "utf-8", layout.charset))
        found.append(wide)
        last = end
    end = found.pop()
    spans.add_all(found.tobytes())
    return spans, len(data) if not more and cut == len(text) else end


def is_wide(charset: str) -> bool:
    return charset in WIDE


def recoded(data: bytes, source: str, target: str) -> bytes:
    return data.decode(source, "surrogatepass").encode(target, "surrogatepass")


def _fields(record: str, layout: CsvLayout) -> list[tuple[str, str, str, str]]:
    fields = _field(layout.delimiter.decode(), layout.quote, layout.escapes).findall(record)
    if len(fields) > 1 and not fields[-2][-1]:
        fields.pop()  # nothing, found once more behind the last field
    return fields


def fields_of(record: str, layout: CsvLayout, null: str | None) -> list[Text | None] | None:
    """The fields of a record, None for one that is nothing or `null` without quotes, and NULL can be there; None if one
    does not end with its closing quote."""
    fields = _fields(record, layout)
    quoted = sum(1 for quote, _, _, _ in fields if quote)
    if len("".join(chain.from_iterable(fields))) + quoted != len(record):
        return None
    nulls = () if null is None else (null,) if layout.escapes == LETTERS else ("", null)
    return cast(
        "list[Text | None]",
        [
            _quoted(body, layout) if quote else None if plain in nulls else _plain(plain, layout)
            for quote, body, plain, _ in fields
        ],
    )


def with_quotes(row: bytes, layout: CsvLayout) -> tuple[list[bool], list[str]]:
    """Return which fields of a row are in quotes, and their texts."""
    fields = _fields(row.decode(layout.charset, "replace"), layout)
    texts = [_quoted(body, layout) if quote else _plain(plain, layout) for quote, body, plain, _ in fields]
    return [bool(quote) for quote, _, _, _ in fields], texts


def has_values(header: bytes, row: bytes, layout: CsvLayout, null: str | None) -> bool:
    """Return whether a first row has values and not names. Quotes make a name of a number, unless the next row has
    quotes around all fields, too."""
    quotes, texts = with_quotes(header, layout)
    is_style = len(quotes) > 1 and all(quotes) and all(with_quotes(row, layout)[0])
    return any(
        (is_style or not quoted) and (is_value(text) or (text == null and not quoted))
        for quoted, text in zip(quotes, texts, strict=True)
    )


def is_value(text: str) -> bool:
    """Return whether a text is a number or a time."""
    return _VALUE.fullmatch(text) is not None


def _quoted(body: str, layout: CsvLayout) -> str:
    if layout.escapes == IN_QUOTES:
        return re.sub(rf"\\([\\{re.escape(layout.quote)}])", r"\1", body)
    return _plain(
        body.replace(layout.quote * 2, layout.quote) if layout.escapes == DOUBLED else _undoubled(body, layout), layout
    )


def _undoubled(body: str, layout: CsvLayout) -> str:
    """Return a body with quotes after backslashes in place of doubled ones."""
    q = re.escape(layout.quote)
    return re.sub(rf"(\\.)|{q}{q}", lambda pair: pair[1] or f"\\{layout.quote}", body, flags=re.DOTALL)


def _plain(text: str, layout: CsvLayout) -> str:
    if layout.escapes != LETTERS or "\\" not in text:
        return text
    return _PAIR.sub(lambda pair: _MEANT.get(pair[1], pair[1]), text)
