"""Decoded images of one table definition: the class they are decoded into, and their columns. For dialects in JSON."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Raw

from ggfmt.columnar.from_python import MISSING, MISSING_RAW, raw_column, text_column, texts
from ggfmt.formats.json.values import plain_name
from ggfmt.model.change import Image, ImageColumn, OpType
from ggfmt.model.table import TableDef


@dataclass
class TableOperations:
    """How operations of one table definition are decoded, and those decoded but not yet handed out.

    `raw` names the columns whose values are kept as the characters of the file, because they are not JSON strings.
    """

    definition: TableDef
    raw: set[str]
    row: type[Any] | None = None
    operations: list[Any] = field(default_factory=list)
    ordinals: array[int] = field(default_factory=lambda: array("q"))

    def row_class(self) -> type[Any]:
        """The class of images: its members are the columns in table order, each a text or its own characters."""
        if self.row is None:
            names = {f"c{i}": plain_name(column.name) for i, column in enumerate(self.definition.columns)}
            members: list[Any] = [
                (member, Raw, MISSING_RAW) if column.name in self.raw else (member, str | None, MISSING)
                for member, column in zip(names, self.definition.columns, strict=True)
            ]
            self.row = msgspec.defstruct("Row", members, rename=names, forbid_unknown_fields=True, gc=False)
        return self.row

    def columns(self, rows: Sequence[Any]) -> tuple[ImageColumn, ...]:
        values = zip(*map(msgspec.structs.astuple, rows), strict=True)
        return tuple(
            raw_column(column) if name in self.raw else text_column(column)
            for name, column in zip(self.definition.column_names, values, strict=True)
        )

    def images(
        self,
        befores: Sequence[Any],
        afters: Sequence[Any],
        has_before: pa.BooleanArray,
        has_after: pa.BooleanArray,
    ) -> tuple[Image, Image]:
        """The before and after images of decoded operations."""
        empty = self.row_class()()
        before = self.columns([image or empty for image in befores])
        after = self.columns([image or empty for image in afters])
        return Image(before, unless_all(has_before)), Image(after, unless_all(has_after))

    def row_images(
        self, kinds: Sequence[str], befores: Sequence[Any], afters: Sequence[Any], has_after: pa.BooleanArray
    ) -> tuple[Image, Image]:
        """Before images of deletes alone and after images of all others, in columns that both share."""
        empty = self.row_class()()
        columns = self.columns(
            [(old if kind == "D" else new) or empty for kind, old, new in zip(kinds, befores, afters, strict=True)]
        )
        return Image(columns, pc.equal(texts(kinds), OpType.DELETE.value)), Image(columns, has_after)

    def key_updates(self, befores: Sequence[Any], afters: Sequence[Any]) -> pa.BooleanArray | None:
        """Where a key column is present in both images and differs; None if it does so nowhere."""
        members = [f"c{i}" for i in self.definition.key_indices]
        if not members:
            return None
        keys = attrgetter(*members)
        rows = [
            row
            for row, (old, new) in enumerate(zip(befores, afters, strict=True))
            if old is not None and new is not None and keys(old) != keys(new)
        ]
        if not rows:
            return None
        changed = [False] * len(befores)
        for row in rows:
            pairs = ((getattr(befores[row], member), getattr(afters[row], member)) for member in members)
            texts_of = ((_text(old), _text(new)) for old, new in pairs)
            changed[row] = any(old != new for old, new in texts_of if MISSING not in (old, new))
        return pa.array(changed, pa.bool_())


def unless_all(mask: pa.BooleanArray) -> pa.BooleanArray | None:
    """The mask, or None where it is true throughout."""
    return None if mask.true_count == len(mask) else mask


def _text(value: str | Raw | None) -> str | None:
    """A decoded value as a text, None for NULL; a JSON string and another value with its characters are the same."""
    if not isinstance(value, Raw):
        return value
    if value == MISSING_RAW:
        return MISSING
    data = bytes(value)
    if data.startswith(b'"'):
        return str(msgspec.json.decode(data))
    return None if data == b"null" else str(data, "utf-8")
