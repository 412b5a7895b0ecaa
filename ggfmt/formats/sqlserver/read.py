"""Rows of SQL Server's change tables, read: `rows` makes a record of each change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, BinaryIO, ClassVar

import msgspec
from msgspec import Raw

from ggfmt.formats.api.format import WriterSettings
from ggfmt.formats.api.reading import Chunk, Layout
from ggfmt.formats.records import roles
from ggfmt.formats.records.declared import DeclaredDialect
from ggfmt.formats.records.dialect import ABSENT, Change
from ggfmt.formats.records.problems import RecordError
from ggfmt.formats.records.reader import DialectReader, dialect_input
from ggfmt.formats.sqlserver import SqlserverCdcOptions, rows
from ggfmt.options.value_types import key_of


class CdcChange(msgspec.Struct, gc=False):
    """A change. `changed`: the columns that an update without its old row changed."""

    op: Annotated[str | None, roles.op({"I": "I", "U": "U", "D": "D"})] = None
    table: Annotated[str | None, roles.name()] = None
    start: Annotated[str | None, roles.transaction(), roles.Token(0)] = msgspec.field(default=None, name=rows.START)
    pos: Annotated[str | None, roles.position()] = None
    changed: list[str] | None = None
    before: Annotated[Raw, roles.before()] = ABSENT
    after: Annotated[Raw, roles.after()] = ABSENT


class SqlserverCdc(DeclaredDialect):
    record = CdcChange
    scalars_only = True
    ordered: ClassVar[bool] = False

    @classmethod
    def sniff_file(cls, head: bytes) -> str | None:
        shows = rows.is_change_row(head, rows.find_layout(head, SqlserverCdcOptions()))
        return "columns `__$start_lsn` and `__$operation`" if shows else None

    @staticmethod
    def layout(head: bytes, whole: bool, source: WriterSettings) -> Layout:
        return rows.find_layout(head, source.options or SqlserverCdcOptions())

    @staticmethod
    def chunks(stream: BinaryIO, file: str, start: int, length: int | None, layout: Layout) -> Iterator[Chunk]:
        return rows.chunks(stream, file, layout)

    def is_partial(self, op: str) -> bool:
        return op in ("U", "D")

    def operations(self, record: CdcChange, op: str | roles.OpToken) -> list[Change]:
        table = self.named_table(record)
        given = self.trusted.get(table)
        keys = key_of(table, self.options.primary_keys) if given is None else given.key_names
        lost = next((name for name in keys if name in (record.changed or ())), None)
        if lost is not None:
            help = "query with the row filter option `all update old`"
            raise RecordError("GG305", f"the update changes the key column `{lost}` without its old row", help, table)
        return super().operations(record, op)

    def __init__(self, source: WriterSettings, with_tokens: bool = True) -> None:
        super().__init__(source, with_tokens)
        self.options: Any = source.options or SqlserverCdcOptions()


class SqlserverCdcReader(DialectReader):
    start = b"PAR1"


READ_SIDES = {"sqlserver_cdc": dialect_input(SqlserverCdc, SqlserverCdcReader, router=None)}
