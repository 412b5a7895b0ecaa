"""Arcion's CSV, read.

A quoted field is a text whatever it holds: `NULL` without quotes is NULL, and so is nothing; `"NULL"` and `""` are
texts. A line without anything is a row of a table with one column, and counted as a blank line in all others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from ggfmt.dataclasses import replace
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.format import WriterSettings
from ggfmt.formats.api.reading import Layout
from ggfmt.formats.arcion import (
    BACKSLASH,
    FILE,
    LAST_FIELDS,
    REALTIME,
    SNAPSHOT,
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
from ggfmt.formats.csv import DELIMITERS
from ggfmt.formats.csv.cut import CsvLayout, fields_of, find_rows, has_values
from ggfmt.formats.csv.rows import CsvDialect, CsvDiscovery, CsvRow, table_of
from ggfmt.formats.json.cut import BOM
from ggfmt.formats.records import roles
from ggfmt.formats.records.dialect import Change, Meaning
from ggfmt.formats.records.images import TextImage
from ggfmt.formats.records.reader import dialect_input
from ggfmt.formats.records.scanner import NOT_NAMED
from ggfmt.java.text import visible
from ggfmt.kernels.plain import DOUBLED, IN_QUOTES
from ggfmt.model.table import TableDef

_SHOWN = {"\t": r"CDATA[\t]", "\x01": r"CDATA[\u0001]"}


def find_layout(head: bytes, whole: bool, options: ArcionCsvOptions) -> CsvLayout:
    mark = len(BOM) if head.startswith(BOM) else 0
    escapes = IN_QUOTES if options.escape == BACKSLASH else DOUBLED
    plain = CsvLayout(
        False,
        options.delimiter.encode(),
        quote=options.quote,
        escapes=escapes,
        null=options.null_literal,
        record_end=b"\n",
    )
    if len(head) == mark:
        return replace(plain, skipped=mark)
    rows, cut = find_rows(head, plain, not whole, mark)
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
    elif names is not None and has_values(header, head[slice(*rows[1])] if len(rows) > 1 else b"", plain, plain.null):
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


class ScannedRow(ArcionChange, gc=False):
    """The members of the JSON that the kernel makes of a row.

    form    the number of the table, its columns and their order
    states  the states of all columns; absent in a snapshot
    """

    form: Annotated[str, roles.identity()] = ""
    states: Annotated[str | None, roles.identity()] = None


class ArcionCsv(ArcionDialect, CsvDialect):
    record = ScannedRow
    width_help = "correct `columns`, `mode`, `delimiter`, `quote` or `escape` with `--input-option`"

    def __init__(self, source: WriterSettings, with_tokens: bool = True) -> None:
        super().__init__(source, with_tokens)
        self._states: dict[str, int] = {}  # of the columns of the last change

    @staticmethod
    def layout(head: bytes, whole: bool, source: WriterSettings) -> Layout:
        return find_layout(head, whole, source.options or ArcionCsvOptions())

    def changes(self, record: CsvRow) -> Meaning:
        row = self.fields(record, 0 if self.options.mode == SNAPSHOT else len(LAST_FIELDS))
        if row is None:
            return "blank line"
        table, names, values = row
        record_schema = self.describe(table, names)
        if self.options.mode == SNAPSHOT:
            tokens = {"snapshot": "true"} if self.with_tokens else {}
            image = TextImage(zip(names, values, strict=True))
            return (Change(table, "I", None, None, None, image, tokens, record_schema),)
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

    def changes_of(self) -> bool:
        return bool(self.options.mode != SNAPSHOT)

    def head(self, form: int) -> bytes:
        return b'{"form":"%d"%s' % (form, b',"opType":"I"' if self.options.mode == SNAPSHOT else b"")

    def table_of_file(self, file: str) -> str:
        return str(self.options.table_name) or table_of(file, self.options.table_from != FILE)


READ_SIDES = {"arcion_csv": dialect_input(ArcionCsv, discovery=CsvDiscovery, router=None)}
