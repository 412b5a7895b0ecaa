"""Decoders of GoldenGate JSON operations: one struct class per table, which a msgspec union tells apart by the table's
name. What the records have besides what every operation has is learned from them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, Union

import msgspec
from msgspec import Raw

from ggfmt.columnar.columns import MISSING
from ggfmt.formats.goldengate.json import records as records
from ggfmt.formats.json.values import plain_name
from ggfmt.formats.records.batching import HeldTable
from ggfmt.formats.records.rows import JsonRows
from ggfmt.model.table import Kind, TableDef

_OP_NAMES = Literal["I", "U", "D", "T", "INSERT", "UPDATE", "DELETE", "TRUNCATE"]
_RAW_KINDS = frozenset({Kind.INTEGER, Kind.DECIMAL, Kind.FLOAT, Kind.DOUBLE, Kind.BOOLEAN})

NO_RAW = Raw(b"")


class _Never(msgspec.Struct, tag=MISSING, tag_field="table"):
    """A second member for the union of a single table: only a union insists on its tag. Nothing is ever one of these,
    not even where there is no table and so no union."""

    never: Raw = msgspec.field(name=MISSING.lstrip("\0"))


class _NeverQualified(msgspec.Struct, tag=MISSING, tag_field="qual_table"):
    never: Raw = msgspec.field(name=MISSING.lstrip("\0"))


@dataclass
class JsonTable(HeldTable):
    """`operation` is the class of the table's operations, and what it was made of."""

    rows: JsonRows
    operation: tuple[object, type[Any]] | None = None

    @classmethod
    def of(cls, definition: TableDef) -> JsonTable:
        raw = (column.name for column in definition.columns if column.type.kind in _RAW_KINDS)
        return cls(definition, JsonRows(definition, raw))


class Decoders:
    """What is known of operations: `tag` is the member that names the table, `extra` are members that nobody knows, and
    `typed_tokens` tells that tokens have values that are no strings."""

    def __init__(self, with_tokens: bool) -> None:
        self.tag = "table"
        self.extra: list[str] = []
        self.typed_tokens = False
        self._with_tokens = with_tokens
        self._by_class: dict[type[Any], JsonTable] = {}

    def learn_from(self, seen: records.JsonOperation) -> bool:
        """Has later decoders fit for the members that an operation has; false if they were known."""
        tag, self.tag = self.tag, seen.tag
        known = {*records.MEMBERS, *self.extra} - {"qual_table"} | {seen.tag}
        new = [name for name in seen.members if name not in known]
        self.extra += new
        self.typed_tokens |= seen.typed_tokens
        return bool(new) or tag != seen.tag

    def decoder(self, tables: Iterable[JsonTable]) -> msgspec.json.Decoder[Any]:
        """A decoder for the operations of some tables."""
        never = _Never if self.tag == "table" else _NeverQualified
        self._by_class = {self._class_of(table): table for table in tables}
        classes = (*self._by_class, never)
        return msgspec.json.Decoder(Union[classes])  # noqa: UP007 - made at run time

    def table_of(self, kind: type[Any]) -> JsonTable:
        """The table whose operations are of a class."""
        return self._by_class[kind]

    def _class_of(self, table: JsonTable) -> type[Any]:
        """The class of a table's operations, the same as before where nothing new was learned of it."""
        row = table.rows.row_class()
        learned = (row, self.tag, self.typed_tokens, len(self.extra))
        if table.operation is None or table.operation[0] != learned:
            tokens: Any = (dict[str, Raw] if self.typed_tokens else dict[str, str]) | None
            extra = {f"x{i}": plain_name(name) for i, name in enumerate(self.extra) if name != self.tag}
            members: list[Any] = [
                ("op_type", _OP_NAMES),
                ("op_ts", str | None, None),
                ("pos", str | int | None, None),
                ("current_ts", Raw, NO_RAW),
                ("primary_keys", Raw, NO_RAW),
                ("tokens", tokens if self._with_tokens else Raw, None),
                ("before", row | None, None),
                ("after", row | None, None),
            ]
            members += [(member, Raw, NO_RAW) for member in extra]
            operation = msgspec.defstruct(
                "Operation",
                members,
                rename=extra,
                tag=table.definition.full_name,
                tag_field=self.tag,
                forbid_unknown_fields=True,
                gc=False,
            )
            table.operation = learned, operation
        return table.operation[1]
