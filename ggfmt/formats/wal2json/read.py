"""wal2json's JSON, read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.columnar.images import and_present
from ggfmt.dataclasses import replace
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.format import WriterSettings
from ggfmt.formats.api.reading import Chunk, Layout, Remark
from ggfmt.formats.json import dumps
from ggfmt.formats.json.cut import BOM
from ggfmt.formats.postgresql import query_rows
from ggfmt.formats.postgresql.changes import OPS, SlotDialect, SlotRecord, SlotRouter
from ggfmt.formats.postgresql.options import SlotOptions
from ggfmt.formats.records.images import Columns, json_strings
from ggfmt.formats.records.reader import dialect_input
from ggfmt.formats.wal2json.transactions import PARTS, TransactionAssembler
from ggfmt.lazy import lazy_regex
from ggfmt.model.table import Kind

_NUMBERS = (Kind.INTEGER, Kind.DECIMAL, Kind.NUMBER, Kind.FLOAT, Kind.DOUBLE)
_NO_NUMBER = "with NULL in a numeric column, which wal2json also writes for `NaN` and infinity"
_MEMBERS = frozenset({"action", "xid", "timestamp", "lsn", "nextlsn", "origin", "transactional", "prefix", "content"})
# wal2json 2.5 writes a message outside of a transaction in this way; it is no JSON.
_LONE_MESSAGE = lazy_regex(rb'(\s*\{(?:\s*"\w+"\s*:\s*(?:"[^"]*"|\w+)\s*,)*\s*"change"\s*:\s*\[\s*),')


class Wal2json(SlotDialect):
    rows = TransactionAssembler

    # Files

    @classmethod
    def sniff_file(cls, head: bytes) -> str | None:
        layout = cls.layout(head, False, WriterSettings())
        if layout.envelope not in query_rows.FRAMES:
            return super().sniff_file(head)
        records = cls.rows()
        rows = query_rows.rows_of(head[: head.rfind(b"\n") + 1] or head, layout.envelope, records)
        made = map(records.record, rows)
        return super().sniff_file(b"\n".join(record for record in made if isinstance(record, bytes)))

    @staticmethod
    def sniff(members: dict[str, Any]) -> str | None:
        if isinstance(members.get("change"), list) and members.keys() <= {"change", *_MEMBERS}:
            kinds = all(isinstance(change, dict) and "kind" in change for change in members["change"])
            return "`change`, a list of changes with a `kind`" if kinds else None
        action = members.get("action")
        if not isinstance(action, str):
            return None
        if action in ("I", "U", "D", "T") and "table" in members and members.keys() & {"columns", "identity"}:
            return "`action`, and `columns` or `identity`"
        return "`action`" if action in OPS and members.keys() <= {"schema", "table", *_MEMBERS} else None

    @staticmethod
    def layout(head: bytes, whole: bool, source: WriterSettings) -> Layout:
        options = source.options or SlotOptions()
        frame = query_rows.find_frame(head, options.escapes, TransactionAssembler())
        skipped = len(BOM) * head.startswith(BOM)
        if frame is None and PARTS.match(head, skipped):
            frame = query_rows.LINES
        if frame is None:
            return dumps.find_layout(head, whole)
        return Layout(splittable=False, skipped=skipped, envelope=frame)

    def record_at(self, chunk: Chunk, start: int, end: int) -> Any:
        record = super().record_at(chunk, start, end)
        found = _LONE_MESSAGE.match(chunk.data, start, end) if isinstance(record, Diagnostic) else None
        if found is None:
            return record
        text = found[1] + chunk.data[found.end() : end]
        repaired = super().record_at(replace(chunk, data=text, spans=None), 0, len(text))
        is_message = isinstance(repaired, SlotRecord) and all(c.kind == "message" for c in repaired.change or ())
        return repaired if is_message else record

    def remarks(self, table: str, after: Columns, rows: pa.BooleanArray) -> Mapping[Remark, int]:
        """Count rows with NULL in a numeric column, unless another number of the row shows that numbers are strings."""
        definition = None if self.catalog is None else self.catalog.get(table)
        unclear = quoted = pa.repeat(pa.scalar(False), len(rows))
        for column, values in zip(() if definition is None else definition.columns, after, strict=False):
            if column.type.kind in _NUMBERS:
                quoted = pc.or_(quoted, json_strings(values))
                if column.type.kind is not Kind.INTEGER:
                    unclear = pc.or_(unclear, and_present(values.values.is_null(), values))
        count = pc.and_(rows, pc.and_not(unclear, quoted)).true_count
        return {Remark("GG330", table, _NO_NUMBER): count} if count else {}


READ_SIDES = {"wal2json": dialect_input(Wal2json, router=SlotRouter)}
