"""The events in the text of a binary log, as records: one for each row and each statement.

A value never spans lines: the tool escapes control characters. A line of a row counts only in an event of rows, after
the line `# at` of the event.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

import msgspec

from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.reading import Chunk, Layout, Source
from ggfmt.formats.records.framed_dumps import chunk_of_records
from ggfmt.lazy import lazy_regex
from ggfmt.model.table import join_name

CHUNK_BYTES = 1 << 20
EVENTS = "events of a binary log"
_NAME = rb"(`(?:[^`]|``)+`)"
HEAD = lazy_regex(
    rb"(?:^|\n)# at [0-9]+\r?\n#[0-9]{6} [ 0-9][0-9]:[0-9]{2}:[0-9]{2} server id [0-9]+  end_log_pos [0-9]+ "
)
_AT = lazy_regex(rb"# at [0-9]+")
_EVENT = lazy_regex(
    rb"#([0-9]{2})([0-9]{2})([0-9]{2}) ([ 0-9][0-9]:[0-9]{2}:[0-9]{2}) server id [0-9]+  end_log_pos ([0-9]+)"
    rb"(?: CRC32 0x[0-9a-f]+)?[ \t]+(.*)"
)
_OF_ROWS = lazy_regex(rb"(?:Write|Update|Delete)_rows(?:_\w+)?: table id ")
_ROW = lazy_regex(rb"### (INSERT INTO|UPDATE|DELETE FROM) " + _NAME + rb"\." + _NAME)
_CELL = lazy_regex(
    rb"###   @([0-9]{1,4})=(.*?)(?: /\* ([A-Z][A-Z0-9_/]*(?:\([0-9, ]*\)| UNSIGNED| UNSIGNED)?[^*/]*?) meta=[0-9]+"
    rb" nullable=[01] is_null=[01] \*/)?"
)
_GTID = lazy_regex(rb"GTID ([0-9]+-[0-9]+-[0-9]+)|SET @@SESSION\.GTID_NEXT ?= ?'([^']+)'/\*!\*/;")
_TABLE = lazy_regex(rb"Table_map: " + _NAME + rb"\." + _NAME + rb" mapped to number ")
_ROTATE = lazy_regex(rb"Rotate to (\S+)  pos: [0-9]+")
_SERVER = lazy_regex(rb"Start: binlog v 4, server v (\S+)")
_USE = lazy_regex(rb"use " + _NAME + rb"/\*!\*/;")
_SETTING = lazy_regex(rb"(?:SET |/\*|use ).*/\*!\*/;")
_COLUMN = lazy_regex(rb"#(?: Columns\(|         )" + _NAME + rb" (.*?)[,)]?")
_CHANGES_ROWS = lazy_regex(rb"(?i)(?:/\*.*?\*/|\s)*(?:insert|update|delete|replace|load|merge|with|call|do|execute)\b")
_ALTERS = lazy_regex(rb"(?i)(?:/\*.*?\*/|\s)*alter\s+(?:\w+\s+)*?table\b")
_XA = lazy_regex(rb"XA (PREPARE|COMMIT|ROLLBACK) (.*?)(?: ONE PHASE)?")
# Lines that say nothing about rows
_OTHER = lazy_regex(
    rb"|# at [0-9]+|#Q> .*|# (?:Number of rows: |Primary Key\(|Annotate_rows:|End of log file|Warning: ).*"
    rb"|(?:SET |/\*|DELIMITER |use |SAVEPOINT ).*|(?:START TRANSACTION|BEGIN|ROLLBACK /\* added by mysqlbinlog \*/;)?"
    rb"(?:/\*!\*/;)?"
)
_OPS = {b"INSERT INTO": "I", b"UPDATE": "U", b"DELETE FROM": "D"}
_PARTS = {"I": ("after",), "U": ("before", "after"), "D": ("before",)}

_AGAIN = "print the log again with `-vv --base64-output=decode-rows`"
_ODD = Diagnostic("GG301", "the lines of a row are not as `mysqlbinlog -v` prints them", help=_AGAIN)
_OUTSIDE = Diagnostic(
    "GG301",
    "the row is not in an event with a position, as in the output of `--flashback` and `--short-form`",
    help=_AGAIN,
)
_BACKWARDS = Diagnostic("GG308", "`end_log_pos` is lower than in the event before", help=_AGAIN)
_NO_EVENTS = Diagnostic("GG301", "the text has no events with positions", help=_AGAIN)
_UNKNOWN = Diagnostic("GG301", "mysqlbinlog does not print such a line", help=_AGAIN)
_NO_END = Diagnostic("GG301", "the statement before has no end", help=_AGAIN)
_STATEMENT = Diagnostic(
    "GG301",
    "a statement changes rows, and the text does not show these",
    help="set `binlog_format=ROW`; to go on without these changes, use `--on-reject quarantine`",
)
_ALTERED = Diagnostic(
    "GG305",
    "the statement alters a table, so that `@1`, `@2`, .. can be other columns before it or after it",
    help="print the log with `--print-table-metadata`, or divide the text here and give each part its definitions",
)
_ROLLED_BACK = Diagnostic(
    "GG302", "a transaction is rolled back, whose changes were read", help="remove its events from the text"
)
_CUT = Diagnostic("GG302", "the last transaction has no end", help="print the log up to its end")
_UNDECIDED = Diagnostic("GG302", "a prepared transaction has no end", help="print the logs that follow, too")


def chunks(stream: BinaryIO, file: str, layout: Layout) -> Iterator[Chunk]:
    """Yield the chunks of a file, with a record for each row and statement. An event is in one chunk."""
    source, events = Source(stream, file, layout, CHUNK_BYTES), _Events()

    def cut(data: bytes, more: bool) -> tuple[Iterable[Chunk], int]:
        stop = data.rfind(b"\n# at ") + 1 if more else len(data)
        if not stop:
            return (), 0
        records = list(events.records(data[:stop]))
        if not more and (problem := events.end()) is not None:
            records.append((stop, stop, problem))
        chunk = Chunk(file, source.offset, data[:stop], layout, last=not more)
        return ([chunk_of_records(chunk, records)] if records else ()), stop

    return source.chunks_by(cut, b"\n# at ")


class _Events:
    """Makes records of the events of a file, in order."""

    def __init__(self) -> None:
        self._at = False  # the line before is `# at`
        self._has_events = False
        self._in_rows = False
        self._problem: Diagnostic | None = None  # with the event
        self._place: dict[str, Any] = {}  # the position, the time, the transaction
        self._log, self._database = "", ""
        self._end = 0
        self._in_base64 = False
        self._statement: list[bytes] | None = None
        self._columns: dict[str, list[list[str]]] = {}  # the names and types of columns, by table
        self._mapped = ""  # the table whose metadata follow
        self._open = False  # rows were read of a transaction that has no end yet
        self._prepared: set[bytes] = set()

    def records(self, data: bytes) -> Iterator[tuple[int, int, bytes | Diagnostic]]:
        """Yield records, with their start and end in whole events."""
        row: list[bytes] = []
        start = end = place = 0
        for line in data.split(b"\n"):
            text = line.removesuffix(b"\r")
            if row and (not text.startswith(b"###") or text.startswith((b"### INS", b"### UPD", b"### DEL"))):
                yield start, end, self._row(row)
                row = []
            if text.startswith(b"###") and self._statement is None:
                start = place if not row else start
                row.append(text)
            elif (made := self._line(text)) is not None:
                yield place, place + len(text), made
            end = place + len(text)
            place += len(line) + 1
        if row:
            yield start, end, self._row(row)

    def end(self) -> Diagnostic | None:
        if not self._has_events:
            return _NO_EVENTS
        return _CUT if self._open or self._statement is not None else _UNDECIDED if self._prepared else None

    def _line(self, text: bytes) -> bytes | Diagnostic | None:
        """Take a line that is not of a row; return the record of a statement."""
        follows, self._at = self._at, _AT.fullmatch(text) is not None
        if self._in_base64:
            self._in_base64 = not text.startswith(b"'/*!*/;")
            return None
        event = _EVENT.fullmatch(text)
        if event is not None and (self._statement is None or follows):
            return self._event(event, follows)
        if self._statement is not None:
            return self._part(text)
        if text.startswith(b"BINLOG '"):
            self._in_base64 = True
        elif (column := _COLUMN.fullmatch(text)) is not None:
            if self._mapped:
                self._columns[self._mapped].append([_unquoted(column[1]), column[2].decode("utf-8", "replace")])
        elif (gtid := _GTID.match(text)) is not None:
            self._place["gtid"] = (gtid[1] or gtid[2]).decode("latin-1")
        elif text.startswith((b"COMMIT", b"ROLLBACK", b"XA ")) and not text.startswith(b"ROLLBACK /*"):
            return self._ended(text)
        elif _OTHER.fullmatch(text) is None:
            return _UNKNOWN
        return None

    def _event(self, event: Any, follows: bool) -> Diagnostic | None:
        year, month, day, clock, end, what = event.groups()
        is_cut = self._statement is not None
        self._statement, self._in_rows, self._problem, self._mapped = None, False, None, ""
        if (table := _TABLE.match(what)) is not None:
            self._mapped = join_name(_unquoted(table[1]), _unquoted(table[2]))
            self._columns[self._mapped] = []
        if not follows:
            return None
        self._has_events = True
        if (rotate := _ROTATE.match(what)) is not None:
            self._log, self._end = rotate[1].decode("utf-8", "replace"), 0
            return None
        if (server := _SERVER.match(what)) is not None:
            self._place["server"], self._end = server[1].decode("latin-1"), 0
        if int(end) < self._end:
            self._problem = _BACKWARDS
        self._end = int(end)
        position = f"{self._log}:{self._end}" if self._log else str(self._end)
        time = f"20{year.decode()}-{month.decode()}-{day.decode()} {clock.decode().replace(' ', '0')}.000000"
        self._place |= {"pos": position, "ts": time}
        if (gtid := _GTID.match(what)) is not None and gtid[1]:
            self._place["gtid"] = gtid[1].decode()
        self._in_rows = self._at = (
            _OF_ROWS.match(what) is not None
        )  # the rows of several events can follow the last one
        self._statement = [] if what.startswith(b"Query") else None
        return _NO_END if is_cut else None

    def _part(self, text: bytes) -> bytes | Diagnostic | None:
        """Take a line of a statement, or of what is set before it."""
        assert self._statement is not None
        if not self._statement and _SETTING.fullmatch(text):
            if (use := _USE.fullmatch(text)) is not None:
                self._database = _unquoted(use[1])
            return None
        if not text.endswith(b"/*!*/;"):
            self._statement.append(text)
            return None
        sql = b"\n".join((*self._statement, text.removesuffix(b"/*!*/;"))).strip()
        has_event = any(map(_AT.fullmatch, self._statement))
        self._statement = None
        if has_event:
            return _NO_END
        if sql.upper().startswith((b"COMMIT", b"ROLLBACK", b"XA ")):
            return self._ended(sql)
        if sql in (b"BEGIN", b"START TRANSACTION") or sql.startswith(b"SAVEPOINT"):
            return None
        if _CHANGES_ROWS.match(sql):
            return _STATEMENT
        if _ALTERS.match(sql) and not any(self._columns.values()):
            return _ALTERED
        return msgspec.json.encode(
            {"op": "statement", "sql": sql.decode("utf-8", "replace"), "database": self._database, **self._place}
        )

    def _ended(self, text: bytes) -> Diagnostic | None:
        was_open, self._open = self._open, False
        found = _XA.match(text.partition(b"/*!*/")[0].strip())
        if found is not None and found[1] == b"PREPARE":
            self._prepared.add(found[2])
        elif found is not None:
            self._prepared.discard(found[2])
            return _ROLLED_BACK if found[1] == b"ROLLBACK" else None
        elif text.startswith(b"XA "):
            self._open = was_open
        return _ROLLED_BACK if text.startswith(b"ROLLBACK") and was_open else None

    def _row(self, lines: list[bytes]) -> bytes | Diagnostic:
        head = _ROW.fullmatch(lines[0])
        if head is None or self._problem is not None:
            return self._problem or _ODD
        if not self._in_rows:
            return _OUTSIDE
        self._open = True
        op = _OPS[head[1]]
        images: dict[str, list[list[Any]]] = {}
        parts = iter(_PARTS[op])
        cells: list[list[Any]] | None = None
        for line in lines[1:]:
            if line in (b"### WHERE", b"### SET"):
                part = next(parts, None)
                if part != ("before" if line == b"### WHERE" else "after"):
                    return _ODD
                cells = images.setdefault(part, [])
                continue
            found = _CELL.fullmatch(line)
            if found is None or cells is None or (cells and int(found[1]) <= cells[-1][0]):
                return _ODD
            comment = found[3] and found[3].decode("latin-1")
            cells.append([int(found[1]), found[2].decode("latin-1"), comment])
        if next(parts, None) is not None:
            return _ODD
        table = join_name(_unquoted(head[2]), _unquoted(head[3]))
        return msgspec.json.encode(
            {"op": op, "table": table, "columns": self._columns.get(table), **images, **self._place}
        )


def _unquoted(name: bytes) -> str:
    return name[1:-1].replace(b"``", b"`").decode("utf-8", "replace")
