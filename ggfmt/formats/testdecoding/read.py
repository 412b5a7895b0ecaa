"""The text of test_decoding, read: `text` makes records as wal2json has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from ggfmt.dataclasses import dataclass
from ggfmt.formats.api.format import WriterSettings
from ggfmt.formats.api.reading import Layout
from ggfmt.formats.json.cut import BOM
from ggfmt.formats.postgresql import query_rows
from ggfmt.formats.postgresql.changes import OPS, IdentityKey, ImageCell, KeyColumn, SlotDialect, SlotRecord, SlotRouter
from ggfmt.formats.postgresql.options import SlotOptions
from ggfmt.formats.records import roles
from ggfmt.formats.records.problems import RecordError
from ggfmt.formats.records.reader import dialect_input
from ggfmt.formats.testdecoding.text import TextRecords
from ggfmt.options.value_types import key_of

_PREPARED = {
    "PREPARE": roles.counted("prepared transaction"), "PREPARED": roles.counted("commit of a prepared transaction")
}  # fmt: skip


class TextRecord(SlotRecord, gc=False):
    action: Annotated[str | None, roles.op({**OPS, **_PREPARED})] = None


@dataclass(frozen=True)
class IdentityIsKey:
    """The key of a fact: updates of a table do not show an unchanged identity, so that it is not the whole row."""

    table: str


class TestDecoding(SlotDialect):
    """Old rows lack columns that are NULL. So an identity may be the whole row, unless an update does not show it."""

    record = TextRecord
    rows = TextRecords

    @classmethod
    def sniff_file(cls, head: bytes) -> str | None:
        layout = cls.layout(head, False, WriterSettings())
        assert layout.envelope is not None
        records = TextRecords()
        rows = query_rows.rows_of(head[layout.skipped : head.rfind(b"\n") + 1] or head, layout.envelope, records)
        shows = any(row.data.startswith(b"table ") and records.is_valid(row.data) for row in rows)
        return "a line such as `table public.t: INSERT:`" if shows else None

    @staticmethod
    def layout(head: bytes, whole: bool, source: WriterSettings) -> Layout:
        options = source.options or SlotOptions()
        frame = query_rows.find_frame(head, options.escapes, TextRecords()) or query_rows.LINES
        return Layout(splittable=False, skipped=len(BOM) * head.startswith(BOM), envelope=frame)

    def learn_identity(self, table: str, record: SlotRecord) -> None:
        if record.identity and table not in self.full_tables:
            self.learn_key_columns(table, record.identity)
        elif record.pk is not None and self.catalog is None and IdentityIsKey(table) not in self.learned:
            self.learned[IdentityIsKey(table)] = self.lacking = True

    def key_by_records(self, table: str, keys: Sequence[KeyColumn | ImageCell] | None) -> tuple[str, ...] | None:
        if IdentityIsKey(table) in self.learned:
            return super().key_by_records(table, None)
        return key_of(table, self.options.primary_keys) or None

    def check_key(self, table: str, identity: Sequence[ImageCell], keys: Sequence[KeyColumn | ImageCell]) -> None:
        super().check_key(table, identity, keys)
        given = self.trusted.get(table)
        names = self.key_by_records(table, keys)
        if given is None and names == self.learned.get(IdentityKey(table)) != tuple(cell.name for cell in identity):
            help = "give the key with `--key`"
            raise RecordError("GG305", "the old row has other columns than the old rows before", help, table)


READ_SIDES = {"test_decoding": dialect_input(TestDecoding, router=SlotRouter)}
