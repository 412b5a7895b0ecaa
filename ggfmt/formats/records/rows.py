"""Images of one table definition, as a dialect hands them over, made into columns.

An image is the bytes of a JSON object, or a dict from column name to text. Rows are what decoding makes of images: a
struct, or a tuple of texts; both have the columns in table order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Raw

from ggfmt.columnar.from_python import MISSING, MISSING_RAW, text_column
from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.formats.json.rows import TableOperations
from ggfmt.formats.json.values import json_name, plain_name
from ggfmt.formats.records.dialect import Convert
from ggfmt.model.change import Image, ImageColumn, OpType
from ggfmt.model.table import TableDef

_members = msgspec.json.Decoder(dict[str, Raw]).decode

Wrong = dict[int, Diagnostic]  # by the row of a batch


class Rows(ABC):
    """Decodes images of one definition."""

    def __init__(self, definition: TableDef) -> None:
        self.definition = definition

    @abstractmethod
    def decode(self, images: Sequence[Any]) -> tuple[list[Any], Wrong]:
        """A row for each image, None where there is none; and what is wrong with those that do not fit.

        Rows of one call go together: later ones may be of another class.
        """

    @abstractmethod
    def columns(self, rows: Sequence[Any]) -> tuple[ImageColumn, ...]:
        """The columns of n rows, all of them missing where a row is None."""

    @abstractmethod
    def keys(self, row: Any) -> tuple[Any, ...]:
        """The values of the key columns, `MISSING` for one that is not there."""

    def _unknown(self, column: str) -> Diagnostic:
        return Diagnostic(
            "GG204",
            "an image has a column that the definition of the table lacks",
            Span(table=self.definition.full_name, field=column),
            "correct the definition, or leave it out of `--definitions` to have it discovered",
        )


class JsonRows(Rows):
    """Rows from JSON objects. Which columns have values that are no JSON strings is learned from the data."""

    def __init__(self, definition: TableDef) -> None:
        super().__init__(definition)
        self._table = TableOperations(definition, set())

    def decode(self, images: Sequence[Any]) -> tuple[list[Any], Wrong]:
        there = [image for image in images if image is not None]
        try:
            found = iter(msgspec.json.Decoder(self._table.row_class()).decode_lines(b"\n".join(there)))
        except (ValueError, RecursionError):
            return self._singly(images)
        return [None if image is None else next(found) for image in images], {}

    def _singly(self, images: Sequence[Any]) -> tuple[list[Any], Wrong]:
        wrong: Wrong = {}
        for row, image in enumerate(images):
            if image is not None:
                problem = self._learn(bytes(image))
                if problem is not None:
                    wrong[row] = problem
        decode = msgspec.json.Decoder(self._table.row_class()).decode
        rows: list[Any] = []
        for row, image in enumerate(images):
            rows.append(None if image is None or row in wrong else decode(_with_plain_names(bytes(image))))
        return rows, wrong

    def _learn(self, image: bytes) -> Diagnostic | None:
        """Takes note of columns whose values are no texts; what is wrong if the image does not fit the definition."""
        try:
            members = _members(image)
        except (ValueError, RecursionError):
            value = msgspec.json.decode(image) if len(image) < 64 else {}
            reason = f"an image is {json_name(value)} and not an object"
            return Diagnostic("GG308", reason, Span(table=self.definition.full_name))
        names = self.definition.column_names
        for name in members:
            if name not in names:
                return self._unknown(name)
        not_text = {name for name, value in members.items() if bytes(value)[:1] not in (b'"', b"n")}
        if not not_text <= self._table.raw:
            self._table.raw |= not_text
            self._table.row = None
        return None

    def columns(self, rows: Sequence[Any]) -> tuple[ImageColumn, ...]:
        make = self._table.row_class()
        return self._table.columns([make() if row is None else row for row in rows])

    def keys(self, row: Any) -> tuple[Any, ...]:
        values = (getattr(row, f"c{index}") for index in self.definition.key_indices)
        return tuple(MISSING if value in (MISSING, MISSING_RAW) else value for value in values)


class TextRows(Rows):
    """Rows from dicts of texts."""

    def decode(self, images: Sequence[Any]) -> tuple[list[Any], Wrong]:
        names = self.definition.column_names
        known = frozenset(names)
        wrong: Wrong = {}
        rows: list[Any] = []
        for index, image in enumerate(images):
            if image is None:
                rows.append(None)
                continue
            if not known.issuperset(image):
                wrong[index] = self._unknown(next(name for name in image if name not in known))
            rows.append(tuple(image.get(name, MISSING) for name in names))
        return rows, wrong

    def columns(self, rows: Sequence[Any]) -> tuple[ImageColumn, ...]:
        empty = (MISSING,) * len(self.definition.columns)
        return tuple(map(text_column, zip(*(empty if row is None else row for row in rows), strict=True)))

    def keys(self, row: Any) -> tuple[Any, ...]:
        return tuple(row[index] for index in self.definition.key_indices)


def _with_plain_names(image: bytes) -> bytes:
    if b"\\" not in image:
        return image
    return msgspec.json.encode({plain_name(name): value for name, value in _members(image).items()})


def key_updates(rows: Rows, ops: Sequence[str], befores: Sequence[Any], afters: Sequence[Any]) -> pa.BooleanArray:
    """Where an update has a key column in both images and it differs."""
    changed = [False] * len(ops)
    if rows.definition.key_indices:
        for index, (op, before, after) in enumerate(zip(ops, befores, afters, strict=True)):
            if op == "U" and before is not None and after is not None:
                pairs = zip(rows.keys(before), rows.keys(after), strict=True)
                changed[index] = any(old != new for old, new in pairs if MISSING not in (old, new))
    return pa.array(changed, pa.bool_())


def overlaid(before: Image, after: Image, op: pa.StringArray) -> Image:
    """The before image, where that of an update has changed columns only: all others are as in the after image."""
    update = pc.equal(op, OpType.UPDATE.value)
    if before.exists is not None:
        update = pc.and_(update, before.exists)
    if not update.true_count:
        return before
    columns = []
    for old, new in zip(before.columns, after.columns, strict=True):
        if old.present is None:
            columns.append(old)
            continue
        unchanged = pc.and_(update, pc.invert(old.present))
        values = pc.if_else(unchanged, new.values, old.values)
        present = old.present if new.present is None else pc.and_(new.present, unchanged)
        present = pc.or_(old.present, unchanged if new.present is None else present)
        columns.append(ImageColumn(values, None if present.true_count == len(present) else present))
    return Image(tuple(columns), before.exists)


def filled(image: Image, rows: pa.BooleanArray | None = None) -> Image:
    """The image with NULL where a column is missing, in some `rows` or in all."""
    columns = []
    for column in image.columns:
        present = None if rows is None or column.present is None else pc.or_(column.present, rows)
        columns.append(ImageColumn(column.values, present))
    return Image(tuple(columns), image.exists)


def keys_alone(
    table: TableDef, columns: tuple[ImageColumn, ...], rows: pa.BooleanArray
) -> tuple[tuple[ImageColumn, ...], Wrong]:
    """The columns with all but those of the key missing in some `rows`, which are wrong if the table has no key."""
    if not table.key_indices:
        message = f"the table `{table.full_name}` has no primary key, and before images have key columns alone"
        problem = Diagnostic("GG205", message, help="give its key by `primaryKeys` or `--definitions`")
        return columns, dict.fromkeys(pc.indices_nonzero(rows).to_pylist(), problem)
    kept = pc.invert(rows)
    done = []
    for definition, column in zip(table.columns, columns, strict=True):
        if not definition.key:
            values = pc.if_else(kept, column.values, pa.scalar(None, pa.string()))
            present = kept if column.present is None else pc.and_(column.present, kept)
            column = replace(column, values=values, present=present)
        done.append(column)
    return tuple(done), {}


def converted(
    table: TableDef, converts: Sequence[Convert | None], columns: tuple[ImageColumn, ...]
) -> tuple[tuple[ImageColumn, ...], Wrong]:
    """The columns as the model has them, and what is wrong with values that cannot be converted."""
    if not any(converts):
        return columns, {}
    done, wrong = [], {}
    for column, convert, values in zip(table.columns, converts, columns, strict=True):
        bad: Sequence[int] = ()
        if convert is not None:
            values, bad = convert(values)
        done.append(values)
        for row in bad:
            place = Span(table=table.full_name, field=column.name)
            help = getattr(convert, "help", None)
            wrong[row] = Diagnostic("GG314", "a value is not as its column is described", place, help)
    return tuple(done), wrong
