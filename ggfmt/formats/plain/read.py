"""Rows as CSV and as JSON, read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Annotated, Any

import msgspec
import pyarrow as pa
from msgspec import Raw

from ggfmt.columnar.timestamps import LAST_MICROS, instant_micros
from ggfmt.dataclasses import replace
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.format import WriterSettings
from ggfmt.formats.api.reading import Chunk, Layout
from ggfmt.formats.csv.cut import CsvLayout
from ggfmt.formats.csv.rows import CsvDialect, CsvDiscovery, CsvRow, table_of
from ggfmt.formats.json.values import Text, scalar_or_none
from ggfmt.formats.plain import WORDS, PlainCsvOptions, PlainJsonOptions
from ggfmt.formats.plain.layout import find_layout, note
from ggfmt.formats.records import roles
from ggfmt.formats.records.dialect import ABSENT, Change, Dialect, Meaning, RecordSchema
from ggfmt.formats.records.images import JsonImage, TextImage
from ggfmt.formats.records.problems import MAX_SHOWN, RecordError, decoded, missing_member_error, no_op
from ggfmt.formats.records.reader import dialect_input
from ggfmt.formats.records.scanner import SourceBatch
from ggfmt.model.change import without_empty
from ggfmt.model.table import Column, TableDef

_OPS = {way(word): op for op, words in WORDS.items() for word in words for way in (str.upper, str.lower, str.title)}
_LEGAL = [word for words in WORDS.values() for word in words]
_OP, _OP_TS, _POSITION = "op", "op_ts", "position"
# Objects with a table in them, as pandas writes them: by their members.
_TABLES = ({"columns", "index", "data"}, {"schema", "data"})


class PlainRow(msgspec.Struct, gc=False):
    """The members of the JSON that the kernel makes of a row. `form`: the number of the table and its fields."""

    form: Annotated[str, roles.identity()] = ""
    op: Annotated[str | None, roles.op({word: op for word, op in _OPS.items() if op != "T"})] = None
    op_ts: Annotated[str | None, roles.time(roles.TEXT)] = None
    position: Annotated[str | None, roles.position()] = None
    after: Annotated[Raw, roles.row()] = ABSENT


class PlainDialect(Dialect):
    """A dialect whose records are rows; columns that options name are the operation, its time and its position."""

    ordered = False
    wrong_time = Diagnostic(
        "GG308", "the time of the operation is not an ISO 8601 time", help="for example `2026-01-31 18:30:51.5+01:00`"
    )

    def __init__(self, source: WriterSettings, with_tokens: bool = True) -> None:
        super().__init__(source, with_tokens)
        options = self.options
        members = {_OP: options.op_column, _OP_TS: options.op_ts_column, _POSITION: options.position_column}
        self._members = {column: member for member, column in members.items() if column}

    def full_name(self, file: str) -> str:
        """Return the table of a file: its definition may have a longer name. Raises: RecordError if it has no name."""
        name = str(self.options.table_name) or table_of(file)
        same = [full for full in self.trusted if full.rpartition(".")[2].casefold() == name.casefold()]
        return same[0] if len(same) == 1 and name not in self.trusted else name

    def operation(
        self,
        table: str,
        special: Mapping[str, Text | None],
        row: JsonImage | TextImage,
        record_schema: RecordSchema | None = None,
    ) -> Meaning:
        """Return the operation of a row; `special`: the texts of the columns that options name."""
        by_member = {self._members[name]: text for name, text in special.items()}
        op = "I"
        if self.options.op_column:
            word = by_member.get(_OP)
            if word is None:
                raise missing_member_error(self.options.op_column, "every row must have an operation type", table)
            if word not in _OPS:
                raise no_op(self.options.op_column, word[:MAX_SHOWN], _LEGAL, table)
            op = _OPS[word]
        time = by_member.get(_OP_TS)
        before, after = row if op == "D" else None, row if op in ("I", "U") else None
        micros = _micros(time) if time else None
        return (Change(table, op, micros, by_member.get(_POSITION), before, after, {}, record_schema),)

    def times(self, scanned: SourceBatch) -> pa.Int64Array:
        texts = super().times(scanned)
        assert isinstance(texts, pa.StringArray)
        return _all_micros(without_empty(texts))


class PlainCsv(PlainDialect, CsvDialect):
    record = PlainRow
    scanned = True
    quote_help = "correct the file, or `quote` and `preset` with `--input-option`"
    columns_help = "give them with `--definitions`, or set `columns` with `--input-option`"

    @staticmethod
    def layout(head: bytes, whole: bool, source: WriterSettings) -> Layout:
        options = source.options or PlainCsvOptions()
        layout = find_layout(head, whole, options)
        return layout if layout.problem is not None or not head else replace(layout, note=note(layout, options))

    def described_by(self, file: str, layout: CsvLayout) -> tuple[str, tuple[str, ...] | None]:
        table, names = super().described_by(file, layout)
        trusted = self.trusted.get(table)
        return table, names if names or trusted is None else trusted.column_names

    def table_of_file(self, file: str) -> str:
        return self.full_name(file)

    def describe(self, table: str, names: tuple[str, ...]) -> RecordSchema:
        columns = tuple(name for name in names if name not in self._members)
        return self.described_in_any_order(
            table, frozenset(columns), lambda: TableDef(table, tuple(map(Column, columns)))
        )

    def changes(self, record: CsvRow) -> Meaning:
        row = self.fields(record)
        if row is None:
            return "blank line"
        table, names, values = row
        special = {name: value for name, value in zip(names, values, strict=True) if name in self._members}
        image = TextImage({name: value for name, value in zip(names, values, strict=True) if name not in self._members})
        return self.operation(table, special, image, self.describe(table, names))

    def first_grammar(self) -> roles.Grammar:
        return self.make_grammar(self.record, (), ())

    def grammar(self, record: CsvRow) -> roles.Grammar:
        return self.first_grammar()

    def head(self, form: int) -> bytes:
        return b'{"form":"%d"%s' % (form, b"" if self.options.op_column else b',"op":"I"')

    def member(self, name: str) -> bytes:
        own = self._members.get(name)
        return super().member(name) if own is None else b',"%s":' % own.encode()


class PlainJson(PlainDialect):
    record = dict[str, Raw]
    _file = ""  # with the record in hand

    def __init__(self, source: WriterSettings, with_tokens: bool = True) -> None:
        super().__init__(source, with_tokens)
        self._tables: dict[str, str] = {}

    @staticmethod
    def layout(head: bytes, whole: bool, source: WriterSettings) -> Layout:
        options = source.options or PlainJsonOptions()
        rows = f"operations in `{options.op_column}`" if options.op_column else "each row is an insert"
        return replace(Dialect.layout(head, whole, source), note=f"JSON; {rows}")

    @classmethod
    def takes_objects(cls, members: tuple[str, ...]) -> bool:
        return True

    def decoded_records(self, chunk: Chunk) -> tuple[Chunk, Iterable[Any]]:
        self._file = chunk.file
        return super().decoded_records(chunk)

    def record_at(self, chunk: Chunk, start: int, end: int) -> Any:
        self._file = chunk.file
        return super().record_at(chunk, start, end)

    def changes(self, record: dict[str, Raw]) -> Meaning:
        table = self._tables.get(self._file) or self._tables.setdefault(self._file, self.full_name(self._file))
        if record.keys() in _TABLES and bytes(record["data"])[:1] == b"[":
            raise RecordError(
                "GG308", "the record is a whole table", "write rows: `orient='records', lines=True`", table
            )
        if not record:
            raise RecordError("GG305", "the record has no members", None, table)
        special = {name: _scalar(name, record[name], table) for name in self._members if name in record}
        row = {name: value for name, value in record.items() if name not in special}
        return self.operation(table, special, msgspec.json.encode(row))


def _scalar(name: str, value: Raw, table: str) -> Text | None:
    return decoded(lambda raw: scalar_or_none(raw, name), value, f"`{name}` is not a valid string", table)


def _all_micros(texts: pa.StringArray) -> pa.Int64Array:
    """Return times as microseconds since 1970; of other texts, a number that is out of range."""
    micros, bad = instant_micros(texts)
    if not bad:
        return micros
    numbers = micros.to_pylist()
    for row in bad:
        numbers[row] = LAST_MICROS + 1
    return pa.array(numbers, pa.int64())


@lru_cache(maxsize=256)
def _micros(text: str) -> int:
    micros: int = _all_micros(pa.array([text], pa.string()))[0].as_py()
    return micros


READ_SIDES = {
    "csv": dialect_input(PlainCsv, discovery=CsvDiscovery, router=None),
    "jsonl": dialect_input(PlainJson, router=None),
}
