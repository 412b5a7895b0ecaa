"""The rows of change tables in files, and the records that ggfmt makes of them: one for both rows of an update."""

from __future__ import annotations

import io
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, BinaryIO, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.parquet as parquet
from msgspec import Raw

from ggfmt.columnar.strings import bytes_of
from ggfmt.dataclasses import dataclass, replace
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.reading import Chunk, Layout, Source, Spans
from ggfmt.formats.csv.cut import CsvLayout, fields_of, find_rows
from ggfmt.formats.json.cut import BOM, WHITE
from ggfmt.formats.json.repeated import EVERY, repeated_error, repeated_member
from ggfmt.formats.json.values import raw_members
from ggfmt.formats.records.framed_dumps import chunk_of_records
from ggfmt.formats.sqlserver import SqlserverCdcOptions
from ggfmt.lazy import lazy_regex
from ggfmt.model.table import join_name

CHUNK_BYTES = 1 << 20
CSV, LINES, PARQUET = "rows of change tables: csv", "rows of change tables: json", "rows of change tables: parquet"
START, SEQUENCE, COMMAND, OPERATION, MASK = (
    f"__${name}" for name in ("start_lsn", "seqval", "command_id", "operation", "update_mask")
)
_NAMES = (START, SEQUENCE, COMMAND, OPERATION, MASK)
_OWN = "__$"
_NULL = Raw(b"null")
_HEX = lazy_regex(r"(?:0[xX])?((?:[0-9A-Fa-f]{2})*)", re.ASCII)
_LSN_DIGITS = 20
_NUMBER = lazy_regex(r"[0-9]{1,10}", re.ASCII)
_FILE = lazy_regex(r"(?:cdc\.)?([^_]+)_(.+)_CT(?:\.[A-Za-z0-9]+)*", re.IGNORECASE)

_NO_TABLE = Diagnostic(
    "GG305", "the file name does not show the table", help="set `table` with `--input-option`, or use `dbo_T_CT.csv`"
)
_FIELDS = Diagnostic(
    "GG311", "the row has not the fields of the header", help="export the rows with quotes around texts"
)
_UTF8 = Diagnostic("GG303", "the row is not UTF-8", help="export the rows in UTF-8")
_ORDER = Diagnostic(
    "GG308",
    "the row has a lower `__$start_lsn` or `__$command_id` than the row before",
    help="query with `ORDER BY __$start_lsn, __$command_id, __$seqval, __$operation`",
)
_NO_NEW = Diagnostic(
    "GG302", "the new row (4) of the update does not follow its old row (3)", help="export both rows of each update"
)
_MASKS = Diagnostic("GG308", "both rows of the update have different masks", help="export the rows again")
_HIGH_MASK = Diagnostic(
    "GG308",
    "`__$update_mask` has a bit for a column that the row does not have",
    help="export all captured columns, in their order",
)
_NO_MASK = Diagnostic(
    "GG305", "the update has no `__$update_mask`, so that NULL can be missing", help="export the mask with the rows"
)
_MERGED = Diagnostic(
    "GG304",
    "operation 5 is an insert or an update, and the row does not show which",
    help="query with the row filter option `all update old`",
)


@dataclass(frozen=True)
class RowsLayout(CsvLayout):
    """`table`: the option."""

    table: str = ""


class ChangeRow(NamedTuple):
    """A row at a place of a chunk, with JSON values by column, or the problem with it."""

    start: int
    end: int
    values: Mapping[str, Raw] | Diagnostic


class _RowError(Exception):
    def __init__(self, diagnostic: Diagnostic) -> None:
        self.diagnostic = diagnostic


def find_layout(head: bytes, options: SqlserverCdcOptions) -> RowsLayout:
    mark = len(BOM) * head.startswith(BOM)
    made = RowsLayout(False, b",", skipped=mark, null=options.null_literal, table=options.table)
    if head.startswith(b"PAR1"):
        return replace(made, envelope=PARQUET)
    if head[mark:].lstrip(WHITE)[:1] == b"{":
        return replace(made, envelope=LINES)
    spans, following = find_rows(head, made, False, mark)
    header = head[slice(*spans[0])].decode("utf-8", "replace") if len(spans) else ""
    names = tuple(str(name) for name in fields_of(header, made, None) or ())
    return replace(made, envelope=CSV, skipped=spans[1][0] if len(spans) > 1 else following, names=names)


def is_change_row(head: bytes, layout: RowsLayout) -> bool:
    """Return whether a file has rows of change tables, by its first bytes."""
    if layout.envelope == LINES:
        row = _json_row(head.lstrip(WHITE).partition(b"\n")[0])
        return not isinstance(row, Diagnostic) and {START, OPERATION} <= row.keys()
    return {START, OPERATION} <= set(layout.names or ())


def chunks(stream: BinaryIO, file: str, layout: Layout) -> Iterator[Chunk]:
    """Yield the chunks of a file, with a record for each change. Both rows of an update are in one chunk."""
    assert isinstance(layout, RowsLayout)
    changes = _Changes(table_of(file, layout))
    if layout.envelope == PARQUET:
        data = stream.read()
        yield from changes.chunks(Chunk(file, 0, data, layout), _parquet_rows(data))
        return
    source = Source(stream, file, layout, CHUNK_BYTES)
    source.offset = len(stream.read(layout.skipped))

    def cut(data: bytes, more: bool) -> tuple[Iterable[Chunk], int]:
        spans, end = find_rows(data, layout, more) if layout.envelope == CSV else _lines(data, more)
        rows = [ChangeRow(start, end, _values(data[start:end], layout)) for start, end in spans if end > start]
        last = rows[-1].values if more and rows else None
        if isinstance(last, Mapping) and bytes(last.get(OPERATION, _NULL)).strip(b'"') == b"3":
            end = rows.pop().start
        return changes.chunks(Chunk(file, source.offset, data[:end], layout, last=not more), rows), end

    yield from source.chunks_by(cut, b"\n", 1)


def table_of(file: str, layout: RowsLayout) -> str:
    """Return the full name of the table of a file; empty if it is unknown."""
    found = _FILE.fullmatch(PurePosixPath(file).name)
    return layout.table or ("" if found is None else join_name(found[1], found[2]))


def _lines(data: bytes, more: bool) -> tuple[Spans, int]:
    spans, place = Spans(), 0
    cut = data.rfind(b"\n") + 1 if more else len(data)
    for line in data[:cut].splitlines(keepends=True):
        spans.add(place, place + len(line.rstrip(WHITE)))
        place += len(line)
    return spans, cut


def _values(record: bytes, layout: RowsLayout) -> Mapping[str, Raw] | Diagnostic:
    if layout.envelope == LINES:
        return _json_row(record)
    try:
        fields = fields_of(record.decode(), layout, layout.null)
    except UnicodeDecodeError:
        return _UTF8
    names = layout.names or ()
    if fields is None or len(fields) != len(names):
        return _FIELDS
    return dict(zip(names, map(_json, fields), strict=True))


def _json(text: Any) -> Raw:
    return Raw(msgspec.json.encode(text))


def _json_row(record: bytes) -> Mapping[str, Raw] | Diagnostic:
    if (name := repeated_member(record, EVERY)) is not None:
        return repeated_error(name)
    try:
        return raw_members(record)
    except (ValueError, RecursionError) as error:
        return Diagnostic("GG301", f"the line is not a JSON object: {error}")


def _parquet_rows(data: bytes) -> Iterator[ChangeRow]:
    """Yield the rows of a file, all at its start. Values are texts; bytes of columns are Base64."""
    try:
        file = parquet.ParquetFile(io.BytesIO(data))
        for batch in file.iter_batches():
            columns = [_values_of(column) for column in batch.columns]
            for values in zip(*columns, strict=True):
                row = dict(zip(batch.schema.names, values, strict=True))
                own = {name: v.hex() if isinstance(v, bytes) else v for name, v in row.items() if name.startswith(_OWN)}
                yield ChangeRow(0, 4, {name: _json(value) for name, value in {**row, **own}.items()})
    except (pa.ArrowException, OSError) as error:
        problem = Diagnostic("GG301", f"the Parquet file cannot be read: {str(error)[:200]}")
        yield ChangeRow(0, min(4, len(data)), problem)


def _values_of(column: pa.Array[Any]) -> Sequence[Any]:
    is_binary = pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type)
    return (column if is_binary else column.cast(pa.string())).to_pylist()


class _Place(NamedTuple):
    lsn: str
    command: int
    sequence: str
    operation: int
    mask: int | None


class _Changes:
    """Makes records of the rows of a file, in order."""

    def __init__(self, table: str) -> None:
        self._table = table
        self._last = ("", 0)

    def chunks(self, chunk: Chunk, rows: Iterable[ChangeRow]) -> Iterator[Chunk]:
        """Yield a chunk with the records of its rows; nothing if there are none."""
        records = list(self._records(rows))
        if records:
            yield chunk_of_records(chunk, records)

    def _records(self, rows: Iterable[ChangeRow]) -> Iterator[tuple[int, int, bytes | Diagnostic]]:
        held: tuple[ChangeRow, _Place] | None = None  # the old row of an update
        for row in rows:
            old, held = held, None
            start = row.start
            try:
                place = self._place(row)
                if old is not None and place.operation == 4 and place[:3] == old[1][:3]:
                    start = old[0].start
                elif old is not None:
                    yield old[0].start, old[0].end, _NO_NEW
                    old = None
                if place.operation == 3:
                    held = row, place
                else:
                    yield start, row.end, self._record(row, place, old)
            except _RowError as error:
                if old is not None and start == row.start:
                    yield old[0].start, old[0].end, _NO_NEW
                yield start, row.end, error.diagnostic
        if held is not None:
            yield held[0].start, held[0].end, _NO_NEW

    def _place(self, row: ChangeRow) -> _Place:
        """Raises: _RowError"""
        if isinstance(row.values, Diagnostic):
            raise _RowError(row.values)
        if not self._table:
            raise _RowError(_NO_TABLE)
        texts = {name: _own_text(row.values[name], name) for name in _NAMES if row.values.get(name, _NULL) != _NULL}
        lsn, sequence = (_digits(texts.get(name, ""), name) for name in (START, SEQUENCE))
        command, operation = texts.get(COMMAND, "0"), texts.get(OPERATION, "")
        if not _NUMBER.fullmatch(command):
            raise _RowError(Diagnostic("GG308", f"`{COMMAND}` is not a number"))
        if operation == "5":
            raise _RowError(_MERGED)
        if operation not in ("1", "2", "3", "4"):
            raise _RowError(Diagnostic("GG304", f"`{OPERATION}` is `{operation[:40]}`", help="legal values: 1 to 4"))
        mask = texts.get(MASK)
        place = _Place(lsn, int(command), sequence, int(operation), None if mask is None else _mask(mask))
        if place[:2] < self._last:
            raise _RowError(_ORDER)
        self._last = place[:2]
        return place

    def _record(self, row: ChangeRow, place: _Place, old: tuple[ChangeRow, _Place] | None) -> bytes:
        """Return the record of a change. Raises: _RowError"""
        assert not isinstance(row.values, Diagnostic)
        image = {name: value for name, value in row.values.items() if not name.startswith(_OWN)}
        # As Debezium has it. `__$seqval` is not an order.
        position = f"{place.lsn[:8]}:{place.lsn[8:16]}:{place.lsn[16:]}::{place.command}"
        made: dict[str, Any] = {
            "op": "DIUU"[place.operation - 1],
            "table": self._table,
            START: place.lsn,
            "pos": position,
        }
        if place.operation == 4:
            if place.mask is None:
                raise _RowError(_NO_MASK)
            unset = [name for number, name in enumerate(image) if not place.mask >> number & 1]
            if place.mask >> len(image):
                raise _RowError(_HIGH_MASK)
            if old is None:
                made["changed"] = [name for name in image if name not in unset]
            elif old[1].mask != place.mask:
                raise _RowError(_MASKS)
            else:
                assert not isinstance(old[0].values, Diagnostic)
                made["before"] = _shown(old[0].values, old[0].values)
            made["after"] = _shown(image, unset)
        else:
            made["before" if place.operation == 1 else "after"] = _shown(image, image if place.operation == 1 else ())
        return msgspec.json.encode(made)


def _shown(image: Mapping[str, Raw], nullable: Container[str]) -> dict[str, Raw]:
    """Return the columns of an image, without those that are NULL and can be missing."""
    return {
        name: value
        for name, value in image.items()
        if not name.startswith(_OWN) and (value != _NULL or name not in nullable)
    }


def _own_text(value: Raw, name: str) -> str:
    try:
        found = msgspec.json.decode(value)
    except ValueError:
        raise _RowError(_UTF8) from None
    if isinstance(found, bool) or not isinstance(found, (str, int)):
        raise _RowError(Diagnostic("GG308", f"`{name}` is not a text or a whole number"))
    return str(found)


def _digits(text: str, name: str) -> str:
    """Return the digits of a log sequence number, which is hexadecimal or in Base64."""
    found = _HEX.fullmatch(text)
    digits = found[1] if found is not None else (bytes_of(text) or b"").hex()
    if len(digits) != _LSN_DIGITS:
        help = "export it as hexadecimal digits, such as `CONVERT(varchar(22), __$start_lsn, 1)`"
        raise _RowError(Diagnostic("GG308", f"`{name}` is not a log sequence number of ten bytes", help=help))
    return digits.upper()


def _mask(text: str) -> int:
    found = _HEX.fullmatch(text)
    data = bytes.fromhex(found[1]) if found is not None else bytes_of(text)
    if not data:
        raise _RowError(
            Diagnostic("GG308", f"`{MASK}` does not consist of bytes", help="export it as hexadecimal digits")
        )
    return int.from_bytes(data, "big")
