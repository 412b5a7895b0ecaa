"""Arcion's CSV, read.

A quoted field is a text whatever it holds: `NULL` alone stands for NULL, and `"NULL"` does not. A line without
anything is a row of a table with one column, and counted as a blank line in all others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any, BinaryIO, NamedTuple
from urllib.parse import unquote

from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.context import WriterSettings
from ggfmt.formats.api.reading import Chunk, Layout
from ggfmt.formats.arcion import FILE, LAST_FIELDS, SNAPSHOT, ArcionCsvOptions
from ggfmt.formats.arcion.changes import NEW, OLD, ArcionDialect, check_op, check_states, images_of
from ggfmt.formats.arcion.csv_text import CsvLayout, chunks, fields_of, find_layout
from ggfmt.formats.json.values import invalid_utf8
from ggfmt.formats.records.dialect import Change, Meaning
from ggfmt.formats.records.reader import dialect_input
from ggfmt.formats.records.refused import RecordError
from ggfmt.options.table_keys import keys_of

_SUFFIXES = re.compile(r"(?:\.(?:csv|txt|dat|gz|bz2|zst|zstd|lz4|snappy|br))+$", re.IGNORECASE)


class Row(NamedTuple):
    """A record of a file, not yet taken apart."""

    file: str
    layout: CsvLayout
    text: str


class ArcionCsv(ArcionDialect):
    def __init__(self, source: WriterSettings, with_tokens: bool = True) -> None:
        super().__init__(source, with_tokens)
        self._tables: dict[str, str] = {}

    @staticmethod
    def sniff(members: dict[str, Any]) -> str | None:
        return None

    @staticmethod
    def layout(head: bytes, whole: bool, source: WriterSettings) -> Layout:
        return find_layout(head, whole, source.options or ArcionCsvOptions())

    @staticmethod
    def chunks(stream: BinaryIO, file: str, start: int, length: int | None, layout: Layout) -> Iterator[Chunk]:
        return chunks(stream, file, layout)

    @staticmethod
    def spans(chunk: Chunk) -> Sequence[tuple[int, int]]:
        return chunk.spans or ()

    def decoded(self, chunk: Chunk) -> Iterator[Row | Diagnostic]:
        assert isinstance(chunk.layout, CsvLayout)
        for start, end in self.spans(chunk):
            record = chunk.data[start:end]
            try:
                yield Row(chunk.file, chunk.layout, record.decode())
            except UnicodeDecodeError:
                yield invalid_utf8(record)

    def changes(self, record: Row) -> Meaning:
        problem = record.layout.problem
        if problem is not None:
            raise RecordError(problem.code, problem.message, problem.help)
        table = self._tables.get(record.file)
        if table is None:
            table = self._tables[record.file] = self._table(record.file)
        names = keys_of(table, self.options.columns) or record.layout.names
        if names is None:
            help = "give `columns`, or `includeHeader`, with `--input-option`"
            raise RecordError("GG205", "the columns of the table are not known", help, table)
        if not record.text and len(names) > 1:
            return "blank line"
        values = self._values(record, table)
        width = len(names) if self.options.mode == SNAPSHOT else 3 * len(names) + len(LAST_FIELDS)
        if len(values) != width:
            help = "correct `columns`, `mode`, `delimiter`, `quote` or `escape` with `--input-option`"
            reason = f"the row has {len(values)} fields where there should be {width}"
            raise RecordError("GG311", reason, help, table)
        record_schema = self.describe(table, names)
        if self.options.mode == SNAPSHOT:
            tokens = {"snapshot": "true"} if self.with_tokens else {}
            return (Change(table, "I", None, None, None, dict(zip(names, values, strict=True)), tokens, record_schema),)
        *fields, op, cursor, counts = values
        states = fields[2::3]
        op = check_op(op, table)
        check_states(set(states), table)
        new = {name: value for name, value, state in zip(names, fields[::3], states, strict=True) if state in NEW}
        old = {name: value for name, value, state in zip(names, fields[1::3], states, strict=True) if state in OLD}
        return (self.change(table, op, images_of(op, old, new), cursor, counts, record_schema),)

    def _values(self, record: Row, table: str) -> list[str | None]:
        """The texts of the fields, None for NULL."""
        fields = fields_of(record.text, record.layout, self.options.null_literal)
        if fields is None:
            help = "correct the file, or `quote` and `escape` with `--input-option`"
            raise RecordError("GG311", "a field has a text after its closing quote, or none closes it", help, table)
        return fields

    def _table(self, file: str) -> str:
        """The table of a file; Refused if its path does not name one."""
        if self.options.table_name:
            return str(self.options.table_name)
        path = PurePosixPath(file)
        name = _SUFFIXES.sub("", path.name) if self.options.table_from == FILE else path.parent.name
        if not name:
            raise RecordError(
                "GG305", "the path of the file does not name its table", "give `tableName` with `--input-option`"
            )
        try:
            return unquote(name, errors="strict")  # as ggfmt escapes names of directories
        except UnicodeDecodeError:
            return name


READ_SIDES = {"arcion_csv": dialect_input(ArcionCsv)}
