"""Binary logs, read. Events with rows become JSON records with all rows of the event, and the scanner takes these."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, BinaryIO, NamedTuple

import msgspec
import pyarrow as pa
from msgspec import Raw

from ggfmt.arrow import compute as pc
from ggfmt.dataclasses import replace
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.format import WriterSettings
from ggfmt.formats.api.reading import Chunk, Event, Layout, Remark, Spans
from ggfmt.formats.binlog import MAGIC, BinlogOptions, events, log
from ggfmt.formats.binlog.events import CHECKSUM_BYTES, HEADER_BYTES, EventBytes, EventError
from ggfmt.formats.binlog.events import EventKind as K
from ggfmt.formats.binlog.rows import RowJsonWriter, is_utf8
from ggfmt.formats.binlog.table_map import LoggedTable, completed, table_map, type_of_column
from ggfmt.formats.records import roles
from ggfmt.formats.records.declared import DeclaredDialect
from ggfmt.formats.records.dialect import Change, Meaning, RecordSchema, classify_records
from ggfmt.formats.records.discovery import DialectDiscovery
from ggfmt.formats.records.images import Columns, Images, completed_after_images
from ggfmt.formats.records.problems import RecordError
from ggfmt.formats.records.reader import DialectReader, dialect_input
from ggfmt.formats.records.statements import Effect, What, effects_of, in_database, statement
from ggfmt.kernels import kernel
from ggfmt.lazy import lazy_regex
from ggfmt.model.table import Column, TableDef, join_name

_COMMIT, _ROLLBACK = "C", "R"
_OPS: roles.Ops = {
    "I": "I", "U": "U", "D": "D",
    _COMMIT: roles.counted("transaction commit"), _ROLLBACK: roles.counted("transaction rollback"),
}  # fmt: skip
_ENDS = {
    f"{kind}{word}": b'{"op":"%c"}' % ord(op)
    for word, op in (("COMMIT", _COMMIT), ("ROLLBACK", _ROLLBACK)) for kind in ("", "XA ")
}  # fmt: skip
_ROW = "row"  # the token with the number of an operation in its event
_RUN_BYTES = 4 << 20  # of JSON at a time
_NO_TABLE = 0xFFFFFF  # the number in an event that only ends a statement
_ROW_DEFAULTS = "of an insert that lacks columns, which have their defaults in the source; set `binlog_row_image=FULL`"
_AS_STATEMENT = "in the log as a statement, which does not show the rows; set `binlog_format=ROW`"
_REFUSED = {
    K.PARTIAL_UPDATE_ROWS: ("partial updates of JSON", "set `binlog_row_value_options` to an empty text in the server"),
    K.START_ENCRYPTION: ("encrypted events", "copy the log with `mysqlbinlog --read-from-remote-server --raw`"),
    K.INCIDENT: ("an incident: the server lost changes", "compare the rows with the source"),
}
_WORD = lazy_regex(r"(?:\s+|/\*(?!M?!).*?\*/|/\*M?!\d*|\(|--\s[^\n]*|#[^\n]*)*(\w*)", re.DOTALL)
_QUOTED = lazy_regex(r"`[^`]*`|'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|/\*(?!M?!).*?\*/", re.DOTALL)
_SELECTS = lazy_regex(
    r"CREATE\s+(?:OR\s+REPLACE\s+)?(?:TEMPORARY\s+)?TABLE\b.*\b(?:SELECT|AS\s+TABLE|AS\s+VALUES)\b",
    re.DOTALL | re.IGNORECASE,
)
_CHANGED = lazy_regex(
    r"\b(?:INTO|FROM|UPDATE|TABLE)\s+((?:`(?:``|[^`])+`|\w+)(?:\.(?:`(?:``|[^`])+`|\w+))?)", re.IGNORECASE
)
_WITHOUT_ROWS = frozenset({
    "ALTER", "ANALYZE", "CACHE", "CHANGE", "CHECK", "CREATE", "DROP", "FLUSH", "GRANT", "INSTALL", "LOCK", "OPTIMIZE",
    "PURGE", "RENAME", "REPAIR", "RESET", "REVOKE", "SET", "START", "STOP", "TRUNCATE", "UNINSTALL", "UNLOCK",
})  # fmt: skip
_LOG_NAME = lazy_regex(r"(.+?\.[0-9]{6,})(?:\..*)?")


class BinlogRecord(msgspec.Struct, gc=False):
    """An event with rows, or the end of a transaction. `schema` is the number of the table's definition in the file."""

    op: Annotated[str | None, roles.op(_OPS)] = None
    schema: Annotated[int | None, roles.identity()] = None
    database: Annotated[str | None, roles.name()] = None
    table: Annotated[str | None, roles.name()] = None
    ts: Annotated[int | None, roles.time("s")] = None
    position: Annotated[str | None, roles.position()] = None
    gtid: Annotated[str | None, roles.transaction(), roles.Token(0)] = None
    transaction: Annotated[str | None, roles.transaction(rank=1), roles.Token(2)] = None
    log_server: Annotated[int | None, roles.origin(), roles.skip()] = None
    server_id: Annotated[int | None, roles.Token(1)] = None
    old: Annotated[list[Raw] | None, roles.old(listed=True)] = None
    data: Annotated[list[Raw] | None, roles.row(listed=True)] = None


class _Statement(NamedTuple):
    """A statement, and a record with its place."""

    sql: str
    record: BinlogRecord


class _Table(NamedTuple):
    """A table map, the name of the table, a bit for each column, the writer of rows, and the map without its number."""

    table: LoggedTable
    name: str
    every: int
    writer: RowJsonWriter
    key: bytes


class RecordRun(NamedTuple):
    """Consecutive events as JSON records, one per line."""

    text: bytes
    spans: Spans


class Binlog(DeclaredDialect):
    """`writes_rows`: records have all rows. If not, each new table map has one record, without rows."""

    record = BinlogRecord
    scalars_only = True
    reads_text = False
    writes_rows = True

    def __init__(self, source: WriterSettings, with_tokens: bool = True) -> None:
        super().__init__(source, with_tokens)
        self.options = source.options or BinlogOptions()
        self.lost: Counter[Remark] = Counter()
        self._maps: dict[int, bytes] = {}  # the table maps of the statement, by the number of the table
        self._tables: dict[bytes, _Table] = {}
        self._shown: dict[str, _Table] = {}  # by name, the latest that had rows
        self._native: dict[bytes, Any] = {}  # the kernels' writers of these, by their keys
        self._schemas: list[RecordSchema] = []
        self._latest: dict[str, RecordSchema] = {}
        self._server, self._of_mariadb = 0, False
        self._gtid = self._transaction = ""
        self._is_open = False  # the transaction goes on after a statement, which otherwise is all of it

    # Files

    @classmethod
    def sniff_file(cls, head: bytes) -> str | None:
        return "it starts like a binary log" if head.startswith(MAGIC) else None

    @staticmethod
    def layout(head: bytes, whole: bool, source: WriterSettings) -> Layout:
        return Layout(splittable=False)

    @staticmethod
    def chunks(stream: BinaryIO, file: str, start: int, length: int | None, layout: Layout) -> Iterator[Chunk]:
        return log.chunks(stream, file, layout)

    @staticmethod
    def spans(chunk: Chunk) -> Sequence[tuple[int, int]]:
        assert chunk.spans is not None
        return chunk.spans

    def opened(self, chunk: Chunk) -> Chunk:
        """Return the chunk without spans: `runs` finds which events are records."""
        wrapped = chunk.wrapped and replace(chunk.wrapped, chunk=replace(chunk.wrapped.chunk, spans=Spans()))
        return replace(chunk, spans=Spans(), wrapped=wrapped)

    def decoded(self, chunk: Chunk) -> Iterator[Any]:
        for run in self.runs(chunk):
            if isinstance(run, RecordRun):
                yield from self.decoder.decode_lines(run.text)
            else:
                yield run

    def runs(self, chunk: Chunk) -> Iterator[RecordRun | _Statement | Diagnostic]:
        """Yield what the events of a chunk are, and add the spans of records to the chunk before that."""
        name = posixpath.basename(chunk.file.replace("\\", "/"))
        found = _LOG_NAME.fullmatch(name)
        file = found[1] if found else name
        lines: list[bytes] = []
        spans = Spans()
        size = place = next_plain = 0
        behind = CHECKSUM_BYTES * (chunk.layout.envelope == log.CHECKED)
        while place < len(chunk.data):
            if size > _RUN_BYTES:
                yield RecordRun(b"".join(lines), spans)
                lines, spans, size = [], Spans(), 0
            if place >= next_plain and (plain := self._plain_records(chunk, place, behind, file, size)):
                next_plain, text, places, own_places = plain
                if is_utf8(text):
                    assert isinstance(chunk.spans, Spans)
                    chunk.spans.add_all(places)
                    spans.add_all(own_places)
                    lines.append(text)
                    size += len(text)
                    place = next_plain
                    self._gtid = self._transaction = ""
                    continue
            start, kind = place, chunk.data[place + 4]
            place += int.from_bytes(chunk.data[place + 9 : place + 13], "little")
            if kind in events.PASSED_OVER:
                continue
            event = chunk.data[start:place]
            position = f"{file}:{chunk.offset if chunk.wrapped is not None else chunk.offset + start}"
            try:
                item = self._item(event, len(event) - behind, position, chunk.layout.max_record)
            except EventError as error:
                item = Diagnostic("GG313", str(error))
            except RecordError as error:
                item = error.diagnostic
            if item is None:
                continue
            if lines and not isinstance(item, bytes):
                yield RecordRun(b"".join(lines), spans)
                lines, spans, size = [], Spans(), 0
            _add_span(chunk, start, place)
            if isinstance(item, bytes):
                lines += (item, b"\n")
                spans.add(size, size + len(item))
                size += len(item) + 1
            else:
                yield item
        if lines:
            yield RecordRun(b"".join(lines), spans)

    def _plain_records(
        self, chunk: Chunk, place: int, behind: int, file: str, base: int
    ) -> tuple[int, bytes, Any, Any] | None:
        """Return the end of the plain transactions at a place, their records as lines, and the spans of events and of
        lines, by a kernel. None if it takes no transaction."""
        is_between = not self._maps and (not self._transaction or chunk.data[place + 4] in events.GTIDS)
        if chunk.wrapped is not None or not is_between:
            return None
        facts = _json(f"{file}:")[1:-1].encode(), chunk.offset, self._server, self.writes_rows
        given = chunk.data, place, behind, self._native, *facts, base, _RUN_BYTES
        found: tuple[int, bytes, Any, Any] | None = kernel(lambda native: native.binlog_records(*given))
        return None if found is None or found[0] == place else found

    # Events

    def _item(self, event: bytes, end: int, position: str, limit: int) -> bytes | _Statement | Diagnostic | None:
        """Return an event as a JSON record, a statement or a problem; None for an event that is no record."""
        kind = event[4]
        if kind in events.ROWS:
            return self._rows(event, end, position, limit)
        if kind == K.TABLE_MAP:
            self._maps[int.from_bytes(event[HEADER_BYTES : HEADER_BYTES + 6], "little")] = event[:end]
        elif kind in events.GTIDS:
            self._gtid = events.gtid_of(event, end)
            self._transaction = self._gtid or position
            self._is_open = not events.is_alone(event, end)
        elif (step := events.step_of(event, end)) is not None:
            if step.word == "BEGIN":
                self._transaction, self._is_open = self._transaction or position, True
            elif step.word in _ENDS:
                self._gtid, self._transaction, self._is_open = "", "", False
                self._maps.clear()
                return _ENDS[step.word] if self.writes_rows else None
        elif kind in events.QUERIES:
            return self._query(event, end, position, limit)
        elif kind == K.FORMAT_DESCRIPTION:
            self._server = events.unpack_header(event)[2]
            self._of_mariadb = b"MariaDB" in event[HEADER_BYTES + 2 : HEADER_BYTES + 52]  # the version of the server
        elif kind in _REFUSED:
            what, help = _REFUSED[K(kind)]
            return Diagnostic("GG305", f"ggfmt cannot read {what}", help=help)
        elif not events.unpack_header(event)[5] & events.IGNORABLE:
            name = f"`{K(kind).name}`" if kind in set(K) else f"number {kind}"
            return Diagnostic("GG305", f"ggfmt cannot read events of the kind {name}")
        return None

    def _query(self, event: bytes, end: int, position: str, limit: int) -> _Statement:
        database, sql = events.query_of(event, end, limit)
        time, _, server, *_ = events.unpack_header(event)
        start = None if self._gtid else self._transaction or position
        place = BinlogRecord(
            None, None, database, None, time, position, self._gtid or None, start, self._server, server
        )
        if not self._is_open:
            self._gtid = self._transaction = ""
        return _Statement(sql, place)

    def _rows(self, event: bytes, end: int, position: str, limit: int) -> bytes | None:
        op, is_v2, is_compressed = events.ROWS[event[4]]
        cursor = EventBytes(event, HEADER_BYTES, end)
        number, flags = cursor.number(6), cursor.number(2)
        if is_v2:
            cursor.take(cursor.number(2) - 2)
        count = cursor.packed()
        images = [cursor.take((count + 7) // 8) for _ in range(2 if op == "U" else 1)]
        body = self._maps.get(number)
        if flags & events.STATEMENT_END:
            self._maps.clear()
        if body is None:
            if number == _NO_TABLE and flags & events.STATEMENT_END:
                return None
            raise EventError("the event has rows of a table without a table map before it")
        table = self._table(body)
        shown = self._shown.get(table.name)
        if not self.writes_rows and shown is table:
            return None
        if count != len(table.table.columns):
            raise EventError("the event has other columns than the table map before it")
        rows_data, place = event, cursor.place
        if is_compressed:
            rows_data, place = events.inflated(cursor, limit), 0
            end = len(rows_data)
        rows = 0
        texts: Sequence[bytes] = [b"{}"] * len(images)
        if self.writes_rows:
            rows, texts = table.writer.write(rows_data, place, end, images)
            if not rows:
                raise EventError("the event has no rows")
        if shown is not table:
            if shown is not None:
                del self._native[shown.key]
            self._shown[table.name], self._native[table.key] = table, table.writer.native
        if op == "I" and rows and table.every & ~int.from_bytes(images[0], "little"):
            self.lost[Remark("GG330", table.name, _ROW_DEFAULTS)] += rows
        time, _, server, *_ = events.unpack_header(event)
        self._transaction = self._transaction or position
        head = f'"op":"{op}","ts":{time},"position":{_json(position)},'
        id = f'"gtid":"{self._gtid}",' if self._gtid else f'"transaction":{_json(self._transaction)},'
        text = f'{head}{id}"log_server":{self._server},"server_id":{server},'.encode()
        old = b'"old":[%b],' % texts[0] if op == "U" else b""
        return b'%b%b%b"data":[%b]}' % (table.writer.head, text, old, texts[-1])

    def _table(self, body: bytes) -> _Table:
        """Return the table of a `TABLE_MAP` event. Raises: EventError, RecordError"""
        key = body[HEADER_BYTES + 6 :]
        table = self._tables.get(key)
        if table is None:
            found = table_map(body, self._of_mariadb)
            name = join_name(found.database, found.table)
            given = self.trusted.get(name)
            found = completed(found, name, given)
            assert found.names is not None
            columns = tuple(map(Column, found.names, map(type_of_column, found.columns)))
            keys = None if found.keys is None else [found.names[number] for number in found.keys]
            definition = self.keyed(TableDef(name, columns).with_keys(keys))
            head = msgspec.json.encode({"schema": len(self._schemas), "database": found.database, "table": found.table})
            self._schemas.append(RecordSchema(definition, self.converts(definition), definition.key_names))
            writer = RowJsonWriter(found, name, head[:-1] + b",")
            table = self._tables[key] = _Table(found, name, (1 << len(columns)) - 1, writer, key)
        return table

    # Records

    def changes(self, record: Any) -> Meaning:
        return self._statement(record) if isinstance(record, _Statement) else super().changes(record)

    def describe(self, record: BinlogRecord, table: str) -> RecordSchema | None:
        if record.schema is not None:
            self._latest[table] = self._schemas[record.schema]
        return self._latest.get(table)

    def operations(self, record: BinlogRecord, op: str | roles.OpToken) -> list[Change]:
        changes = super().operations(record, op)
        if len(changes) > 1 and self.with_tokens:
            changes = [one._replace(tokens={**one.tokens, _ROW: str(row)}) for row, one in enumerate(changes)]
        return changes

    def images(self, record: BinlogRecord, op: str, table: str) -> Sequence[Images]:
        data, old = record.data or (), record.old or ()
        if op == "U":
            return list(zip(old, data, strict=True))
        return [(row, None) if op == "D" else (None, row) for row in data]

    def _statement(self, given: _Statement) -> Meaning:
        sql, record = given
        found = _WORD.match(sql)
        assert found is not None, "each part of the pattern may be empty"
        word = found[1].upper()
        if word in ("", "XA"):
            return []
        resolve = in_database(record.database)
        if word not in _WITHOUT_ROWS or (word == "CREATE" and _SELECTS.match(_QUOTED.sub("x", sql[found.start(1) :]))):
            changed = _CHANGED.search(sql)
            name = changed and resolve(Effect(What.UNCLEAR), tuple(_PART.findall(changed[1])))
            self.lost[Remark("GG330", name or f"{record.database}.*", _AS_STATEMENT)] += 1
            return "statement with rows"
        effects = effects_of(sql)
        head = self.change(record, "T", join_name(record.database))
        truncated = [effect for effect in effects if effect.what is What.TRUNCATE and effect.names]
        names = [resolve(effect, name) or "" for effect in truncated for name in effect.names]
        if names:
            return [head._replace(table=name, record_schema=self._latest.get(name)) for name in names]
        return [statement(f"ddl {word.lower()}", effects, resolve, head)]

    # Images

    def grammar(self, record: Any) -> roles.Grammar | None:
        grammar = super().grammar(record) if isinstance(record, BinlogRecord) else None
        return grammar and grammar._replace(shows_rows=True, row_token=_ROW)

    def is_partial(self, op: str) -> bool:
        return op in ("U", "D")

    def needs_before_image(self, op: str, key_updates: bool) -> bool:
        return op in ("U", "D")

    def shown_columns(
        self, before: Columns, after: Columns, op: pa.StringArray, has_before: pa.BooleanArray
    ) -> Columns:
        return completed_after_images(before, after, pc.and_(pc.equal(op, "U"), has_before))


_PART = lazy_regex(r"`(?:``|[^`])+`|\w+")


def _json(text: str) -> str:
    return msgspec.json.encode(text).decode()


def _add_span(chunk: Chunk, start: int, end: int) -> None:
    assert isinstance(chunk.spans, Spans)
    chunk.spans.add(start, end)
    if chunk.wrapped is not None:
        outer = chunk.wrapped.chunk
        assert isinstance(outer.spans, Spans)
        outer.spans.add(0, len(outer.data))


class BinlogReader(DialectReader):
    """Reader whose records are JSON that the dialect writes from events."""

    _dialect: Binlog

    def decode_chunk(self, chunk: Chunk) -> Iterator[Event]:
        cut = self._dialect.opened(chunk)
        self.hold_instead(chunk, cut)
        for run in self._dialect.runs(cut):
            if isinstance(run, RecordRun) and self.scanner is not None and not self._pause:
                yield from super().decode_chunk(Chunk(cut.file, cut.offset, run.text, cut.layout, run.spans))
                continue
            records = self._dialect.decoder.decode_lines(run.text) if isinstance(run, RecordRun) else [run]
            for meaning in classify_records(self._dialect, records):
                yield from self.take_in_one(meaning)
        self._pause = max(0, self._pause - 1)
        self.remarks += self._dialect.lost
        self._dialect.lost.clear()


class BinlogDiscovery(DialectDiscovery):
    """Discovery, which needs the tables of events, and not their rows."""

    def make_dialect(self, *args: Any) -> None:
        super().make_dialect(*args)
        self._dialect.writes_rows = False


READ_SIDES = {"mysql_binlog": dialect_input(Binlog, BinlogReader, BinlogDiscovery, router=None)}
