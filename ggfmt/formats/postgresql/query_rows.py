"""Rows of a query on a replication slot in files: `lsn`, `xid` and `data` of `pg_logical_slot_get_changes`.

Files have them as `psql` prints them (unaligned, aligned, expanded, or with tabs), as CSV, or as `COPY` writes them.
A frame says where rows start, and what `data` is without the escapes of the frame.

* `psql` breaks a value with line feeds over lines that end with ` +`. It pads lines, so that blanks before a line feed
  are lost; it also writes tabs as blanks. JSON does not contain such characters in strings.
* `COPY` doubles each backslash, and `psql` does not. Lines with tabs look the same. If only one of the two readings is
  a valid value, it counts; the first bytes of a file may decide for the whole file. Otherwise the row is refused.

The chunks have each record at the place of its row, and only the rows themselves without records (`KafkaEnvelopes`).
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import BinaryIO, NamedTuple

from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.reading import Chunk, Layout, Source
from ggfmt.formats.json.cut import BOM
from ggfmt.formats.records.framed_dumps import chunk_of_records
from ggfmt.lazy import lazy_regex

# Frames; a layout has one as its envelope. LINES: each line is `data`.
ALIGNED, EXPANDED, CSV, PIPES, TABS, COPIED_TABS, PRINTED_TABS, LINES, COPIED_LINES = (
    f"query rows: {word}"
    for word in (
        "aligned", "expanded", "csv", "pipes", "tabs", "tabs of copy", "tabs of psql", "lines", "lines of copy"
    )
)  # fmt: skip
AUTO, COPY, PSQL = "auto", "copy", "psql"  # who escaped the values of lines

CHUNK_BYTES = 1 << 20

_LSN = rb"[0-9A-Fa-f]{1,8}/[0-9A-Fa-f]{1,8}"
_DIVIDED = rb"(?:(" + _LSN + rb")%b([0-9]{0,10})%b)"
_STARTS = {
    ALIGNED: lazy_regex(rb"(?<![+\r])\n|(?<=[^+])\r\n"),
    EXPANDED: lazy_regex(rb"^(?=-\[ RECORD )", re.MULTILINE),
    CSV: lazy_regex(rb"^(?=" + _LSN + rb',[0-9]*,|"(?!"))', re.MULTILINE),
    PIPES: lazy_regex(rb"^(?=" + _LSN + rb"\|[0-9]*\|)", re.MULTILINE),
    TABS: lazy_regex(rb"^(?=" + _LSN + rb"\t[0-9]*\t)", re.MULTILINE),
    LINES: lazy_regex(rb"\n"),
}
_STARTS |= {COPIED_TABS: _STARTS[TABS], PRINTED_TABS: _STARTS[TABS], COPIED_LINES: _STARTS[LINES]}
FRAMES = frozenset(_STARTS)
_ROWS = {
    ALIGNED: lazy_regex(rb" *(?:(" + _LSN + rb") *\| *([0-9]{0,10}) *\| )?(.*)", re.DOTALL),
    EXPANDED: lazy_regex(
        rb"-\[ RECORD [0-9]+ \][-+]*\r?\n(?:lsn +\| (" + _LSN + rb") *\r?\n)?(?:xid +\| ([0-9]*) *\r?\n)?data +\| (.*)",
        re.DOTALL,
    ),
    CSV: lazy_regex(rb'(?:"?(' + _LSN + rb')"?,"?([0-9]{0,10})"?,)?(.*)', re.DOTALL),
    PIPES: lazy_regex(_DIVIDED % (rb"\|", rb"\|") + rb"(.*)", re.DOTALL),
    TABS: lazy_regex(_DIVIDED % (b"\t", b"\t") + rb"(.*)", re.DOTALL),
    LINES: lazy_regex(rb"()()(.*)", re.DOTALL),
}
_ROWS |= {COPIED_TABS: _ROWS[TABS], PRINTED_TABS: _ROWS[TABS], COPIED_LINES: _ROWS[LINES]}
_TAG = rb"(?:SET|RESET|BEGIN|COMMIT|ROLLBACK)"  # as psql says that it ran another statement
# What is no row: names of columns, the line below them, the number of rows, the end of a `COPY`. It may follow a row.
_NO_ROW = (
    rb'[ \t]*(?:"?lsn"?[ \t]*[|,\t][ \t]*"?xid"?[ \t]*[|,\t][ \t]*)?"?data"?[ \t]*|-+(?:\+-+)*|\([0-9]+ rows?\)|\\\.|'
    + _TAG
)
_SKIPPED = lazy_regex(rb"(?:(?:" + _NO_ROW + rb"|[ \t]*)\r?(?:\n|\Z))*")
_TAIL = lazy_regex(rb"(?:" + _NO_ROW + rb"|[ \t]*)\Z")
_MORE = {ALIGNED: lazy_regex(rb"\A *(?:\| *\| )? ?"), EXPANDED: lazy_regex(rb"\A *\| ?")}  # before the rest of a value
_HEADS = (
    (EXPANDED, lazy_regex(rb"-\[ RECORD [0-9]+ \]")),
    (
        ALIGNED,
        lazy_regex(rb" *(?:lsn +\| +xid +\| +)?data *\r?\n-+(?:\+-+)*\r?(?:\n|\Z)| " + _LSN + rb" *\| *[0-9]+ \| "),
    ),
    (PIPES, lazy_regex(rb"lsn\|xid\|data\r?\n|" + _LSN + rb"\|[0-9]*\|")),
    (TABS, lazy_regex(rb"lsn\txid\tdata\r?\n|" + _LSN + rb"\t[0-9]*\t")),
    (LINES, lazy_regex(rb"data\r?\n[^\"]")),
    (CSV, lazy_regex(rb'(?:"?lsn"?,"?xid"?,)?"?data"?\r?\n|' + _LSN + rb',[0-9]*,|"[^"]')),
)
_BEFORE = lazy_regex(rb"(?:(?:" + _TAG + rb"|[ \t]*)\r?\n)*")
# Frames in which values have line feeds as they are: what is before a value, and where one of CSV stops
_RAW = frozenset({CSV, PIPES, TABS, PRINTED_TABS, LINES})
_BEFORE_VALUE = lazy_regex(rb"(?:" + _LSN + rb"([|,\t])[0-9]*\1)?")
_STOP_OF_CSV = lazy_regex(rb'(?:"[^"]*"(?=[\r\n"]|\Z))+|[^\r\n"]*')
_QUOTES = (b"'", b'"')
_ESCAPE = lazy_regex(rb"\\(.?)", re.DOTALL)
_ESCAPED = {b"\\": b"\\", b"n": b"\n", b"t": b"\t", b"r": b"\r", b"b": b"\b", b"f": b"\f", b"v": b"\v"}
_UNCLEAR = Diagnostic(
    "GG301",
    "a value has backslashes of which `COPY` writes two, and `psql` one",
    help="set `escapes=copy` or `escapes=psql` with `--input-option`",
)
_BROKEN = Diagnostic("GG301", "the row has no end, or `psql` wrapped it", help="write rows with `psql -At`")

_NO_LINE_END = Diagnostic("GG302", "the last row has no line end, and may be cut", help="write the file again")
_UNLIKE = Diagnostic(
    "GG301",
    "`psql` writes a tab as blanks, and cuts blanks before a line feed",
    help="write rows with `psql -At`: a value has two blanks, or a line feed",
)


class QueryRow(NamedTuple):
    """A row in the data of a chunk.

    start, end  its place
    data        the value; as it is in the file if there is a problem
    lsn, xid    None if the row does not have them
    problem     why the value is unknown
    """

    start: int
    end: int
    data: bytes
    lsn: bytes | None = None
    xid: bytes | None = None
    problem: Diagnostic | None = None


class Records(ABC):
    """Makes a record of each row of a file, in order."""

    @abstractmethod
    def is_valid(self, data: bytes) -> bool:
        """Return whether a text can be a value of `data`."""

    @abstractmethod
    def record(self, row: QueryRow) -> bytes | Diagnostic:
        """Return the record of a row, or what is wrong with it."""

    @abstractmethod
    def end(self) -> Diagnostic | None:
        """Return what is wrong with the end of the file."""

    def stop(self, data: bytes, start: int) -> int | None:
        """Return where a value stops that has line feeds as they are; None if the start of a row is at its line feeds.

        It stops at a line feed, or at the end of `data`, or where the value cannot go on.
        """
        return None


def find_frame(head: bytes, escapes: str, records: Records) -> str | None:
    """Return the frame of a file of rows by its first bytes; None if its lines are not known to be rows.

    escapes  `AUTO`, `COPY` or `PSQL`
    """
    mark = len(BOM) * head.startswith(BOM)
    before = _BEFORE.match(head, mark)
    place = before.end() if before else mark
    frame = next((frame for frame, pattern in _HEADS if pattern.match(head, place)), None)
    if frame is None:
        lines = LINES if head[mark:place].strip() else None
        return COPIED_LINES if escapes == COPY else lines
    if frame != TABS or escapes != AUTO:
        return frame if frame != TABS else COPIED_TABS if escapes == COPY else PRINTED_TABS
    for row in rows_of(head[: head.rfind(b"\n") + 1], PRINTED_TABS, records):
        copied, printed = _unescaped(row.data), records.is_valid(row.data)
        if printed != (copied is not None and records.is_valid(copied)):
            return PRINTED_TABS if printed else COPIED_TABS
    return TABS


def rows_of(data: bytes, frame: str, records: Records) -> Iterator[QueryRow]:
    """Yield the rows in whole lines of a file."""
    places = [0, *_starts(data, frame, records, True), len(data)]
    for start, end in pairwise(places):
        text = data[start:end]
        skipped = _SKIPPED.match(text)
        place = skipped.end() if skipped else 0
        if place < len(text):
            row = _row(_without_tail(text[place:]), start + place, frame)
            if frame in _MORE and (b"\n" in row.data or b"  " in row.data) and records.stop(b"", 0) is not None:
                row = row._replace(problem=row.problem or _UNLIKE)
            yield _printed_or_copied(row, records) if frame == TABS else row


def _starts(data: bytes, frame: str, records: Records, ended: bool) -> Iterator[int]:
    """Yield where rows start after the first one.

    A row over several lines counts only if its value is valid. Otherwise it ends with its first line, so that a damaged
    row does not take the rows after it. If the data has not `ended`, such a row may go on after it.
    """
    if frame not in _RAW or records.stop(b"", 0) is None:
        yield from (found.end() for found in _STARTS[frame].finditer(data))
        return
    place = 0
    while (line := data.find(b"\n", place)) >= 0:
        value = place + len(_BEFORE_VALUE.match(data, place)[0])  # type: ignore[index]
        stop = records.stop(data, value) if frame != CSV else _STOP_OF_CSV.match(data, value).end()  # type: ignore
        assert stop is not None
        mark = data[stop : stop + 1]
        if not ended and (not mark or (mark in _QUOTES and data.find(mark, stop + 1) < 0)):
            return
        if stop > line and mark in (b"", b"\r", b"\n"):
            row = _row(data[place:stop], place, frame)
            if row.problem is None and records.is_valid(row.data):
                line = data.find(b"\n", stop)
                if line < 0:
                    return
        place = line + 1
        yield place


def _row(text: bytes, start: int, frame: str) -> QueryRow:
    end = start + len(text)
    found = _ROWS[frame].fullmatch(text)
    if found is None:
        return QueryRow(start, end, text)
    value: bytes | None = found[3]
    if frame == CSV:
        value = _unquoted(found[3])
    elif frame in _MORE:
        value = _unfolded(found[3], _MORE[frame])
    elif frame in (COPIED_TABS, COPIED_LINES):
        value = _unescaped(found[3])
    return QueryRow(start, end, value or found[3], found[1] or None, found[2] or None, None if value else _BROKEN)


def _unquoted(value: bytes) -> bytes | None:
    """Return a value of CSV without its quotes; None if it has no end, or something behind it."""
    if not value.startswith(b'"'):
        return None if b'"' in value or b"\n" in value else value
    inner = value[1:-1]
    is_whole = len(value) > 1 and value.endswith(b'"') and b'"' not in inner.replace(b'""', b"")
    return inner.replace(b'""', b'"') if is_whole else None


def _without_tail(text: bytes) -> bytes:
    """Return a row without the lines behind it that are no rows."""
    while True:
        text = text.rstrip(b"\r\n")
        line = text.rfind(b"\n") + 1
        if not line or _TAIL.match(text, line) is None:
            return text
        text = text[:line]


def _printed_or_copied(row: QueryRow, records: Records) -> QueryRow:
    """Return a row of lines with tabs, as `psql` or `COPY` wrote it; with a problem if both are possible."""
    copied = _unescaped(row.data)
    if copied is None or copied == row.data or not records.is_valid(copied):
        return row
    return row._replace(problem=_UNCLEAR) if records.is_valid(row.data) else row._replace(data=copied)


def _unfolded(value: bytes, more: re.Pattern[bytes]) -> bytes | None:
    """Return a value that `psql` broke at its line feeds; None if a line before the last one has no sign of that."""
    first, *rest = (line.rstrip(b"\r ") for line in value.split(b"\n"))
    lines = [first, *(more.sub(b"", line) for line in rest)]
    if not all(line.endswith(b"+") for line in lines[:-1]):
        return None
    return b"\n".join([*(line[:-1].rstrip(b" ") for line in lines[:-1]), lines[-1]])


def _unescaped(value: bytes) -> bytes | None:
    """Return a value without the escapes of `COPY`; None if it has others."""
    if any(found[1] not in _ESCAPED for found in _ESCAPE.finditer(value)):
        return None
    return _ESCAPE.sub(lambda found: _ESCAPED[found[1]], value)


def _last_start(data: bytes, frame: str, records: Records) -> int:
    """Return where the last row starts that does not start the data; 0 if there is none."""
    if frame in _RAW and records.stop(b"", 0) is not None:
        return max(_starts(data, frame, records, False), default=0)
    line = len(data)
    while (line := data.rfind(b"\n", 0, line)) >= 0:
        for place in (line - 1, line, line + 1):
            found = _STARTS[frame].match(data, max(0, place))
            if found is not None and found.end() > line:
                return found.end()
    return 0


def chunks(stream: BinaryIO, file: str, layout: Layout, records: Records) -> Iterator[Chunk]:
    """Yield the chunks of a file of rows, with a record for each row."""
    frame, end = layout.envelope, 0
    assert frame is not None
    source = Source(stream, file, layout, CHUNK_BYTES)
    source.offset = len(stream.read(layout.skipped))

    def cut(data: bytes, more: bool) -> tuple[Iterable[Chunk], int]:
        stop = _last_start(data, frame, records) if more else len(data)
        return ([Chunk(file, source.offset, data[:stop], layout, last=not more)] if stop else ()), stop

    for chunk in source.chunks_by(cut, b"\n"):
        end = chunk.offset + len(chunk.data)
        rows = [] if chunk.problem is not None else list(rows_of(chunk.data, frame, records))
        if rows and chunk.last and not chunk.data.endswith(b"\n") and records.stop(b"", 0) is not None:
            rows[-1] = rows[-1]._replace(problem=rows[-1].problem or _NO_LINE_END)
        if rows:
            made = ((row.start, row.end, row.problem or records.record(row)) for row in rows)
            yield chunk_of_records(chunk, made)
        elif chunk.problem is not None:
            yield chunk
    problem = records.end()
    if problem is not None:
        yield Chunk(file, end, b"", layout, ((0, 0),), problem=problem)
