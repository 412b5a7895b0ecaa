"""Decoding of the images of one table definition: images become rows, and rows become columns.

An image is the bytes of a JSON object, or a dict from column name to text. A row is a decoded image: a struct, or a
tuple of texts. Both have the columns in table order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import msgspec
import pyarrow as pa
from msgspec import Raw

from ggfmt.arrow import compute as pc
from ggfmt.columnar.columns import MISSING, MISSING_RAW, JsonColumn, raw_column, text_column
from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.formats.json.values import AVRO_TYPES, json_kind, plain_name, raw_members
from ggfmt.formats.records.batching import Wrong
from ggfmt.formats.records.images import Convert
from ggfmt.formats.records.problems import unknown_column
from ggfmt.model.change import ImageColumn
from ggfmt.model.table import TableDef

# An object whose only member has the name of a type of Avro, or an image of `avro_op`.
_AVRO_UNION = (
    rf'(?s)^\{{\s*"(?:{"|".join(AVRO_TYPES)})"\s*:\s*'
    r'(?:\{.*\}|\[.*\]|"(?:[^"\\]|\\.)*"|[^",{\[]*)\s*\}$'
    r'|^\{.*_isMissing"\s*:\s*(?:true|false)\s*[,}]'
)


class Rows(ABC):
    """A decoder of the images of one definition."""

    def __init__(self, definition: TableDef, given: bool = True) -> None:
        """Create a decoder. `given`: the definition comes from the user, not from the data."""
        self.definition = definition
        self._given = given

    @abstractmethod
    def decode(self, images: Sequence[Any]) -> tuple[list[Any], Wrong]:
        """Return one row per image, None for None, and the problems by row of images that do not fit the definition.

        Do not mix the rows of several calls: later rows may have another class.
        """

    @abstractmethod
    def columns(self, rows: Sequence[Any]) -> tuple[ImageColumn, ...]:
        """Return the columns of n rows; all columns are missing in a row that is None."""

    def _unknown(self, column: str) -> Diagnostic:
        return unknown_column("an image", self.definition.full_name, column, given=self._given)


@lru_cache(maxsize=128)
def _row_class(names: tuple[str, ...], raw: tuple[bool, ...]) -> type[Any]:
    """Return the row class for the columns of a table, with the values of `raw` columns as JSON text.

    Tables with equal columns share a class: thousands of classes would take more memory than their data.
    """
    members: list[Any] = [
        (f"c{index}", Raw, MISSING_RAW) if kept else (f"c{index}", str | None, MISSING)
        for index, kept in enumerate(raw)
    ]
    renamed = {f"c{index}": plain_name(name) for index, name in enumerate(names)}
    return msgspec.defstruct("Row", members, rename=renamed, forbid_unknown_fields=True, gc=False)


class JsonRows(Rows):
    """A decoder for JSON objects. It learns which columns have other values than strings, and keeps their JSON text."""

    def __init__(self, definition: TableDef, given: bool = True) -> None:
        super().__init__(definition, given)
        self._raw: set[str] = set()
        self._decoder: msgspec.json.Decoder[Any] | None = None

    @property
    def decoder(self) -> msgspec.json.Decoder[Any]:
        if self._decoder is None:
            names = self.definition.column_names
            row = _row_class(tuple(names), tuple(name in self._raw for name in names))
            self._decoder = msgspec.json.Decoder(row | None)
        return self._decoder

    def decode(self, images: Sequence[Any]) -> tuple[list[Any], Wrong]:
        there = [image for image in images if image is not None]
        try:
            rows = iter(self.decoder.decode_lines(b"\n".join(there)))
        except (ValueError, RecursionError):
            return self._singly(images)
        return [None if image is None else next(rows) for image in images], {}

    def _singly(self, images: Sequence[Any]) -> tuple[list[Any], Wrong]:
        wrong: Wrong = {}
        for row, image in enumerate(images):
            if image is not None:
                problem = self._learn(bytes(image))
                if problem is not None:
                    wrong[row] = problem
        rows: list[Any] = []
        for row, image in enumerate(images):
            rows.append(None if image is None or row in wrong else self._decode_image(bytes(image)))
        return rows, wrong

    def _decode_image(self, image: bytes) -> Any:
        try:
            return self.decoder.decode(_with_plain_names(image))
        except msgspec.ValidationError:  # the image has a name twice, and `_learn` saw only the last value
            members = raw_members(image).items()
            return self.decoder.decode(msgspec.json.encode({plain_name(name): value for name, value in members}))

    def _learn(self, image: bytes) -> Diagnostic | None:
        """Learn the columns with other values than strings and null; or return what is wrong with the image."""
        try:
            members = raw_members(image)
        except (ValueError, RecursionError):
            reason = f"an image is {json_kind(image)} and not an object"
            return Diagnostic("GG308", reason, Span(table=self.definition.full_name))
        names = frozenset(self.definition.column_names)
        for name in members:
            if name not in names:
                return self._unknown(name)
        raw = {name for name, value in members.items() if bytes(value)[:1] not in (b'"', b"n")}
        if not self._raw.issuperset(raw):
            self._raw |= raw
            self._decoder = None
        return None

    def columns(self, rows: Sequence[Any]) -> tuple[ImageColumn, ...]:
        first = next((row for row in rows if row is not None), None)
        if first is None:
            return (text_column([MISSING] * len(rows)),) * len(self.definition.columns)
        empty = first.__class__()
        values = zip(*map(msgspec.structs.astuple, [empty if row is None else row for row in rows]), strict=True)
        return tuple(
            raw_column(column) if default is MISSING_RAW else text_column(column)
            for default, column in zip(msgspec.structs.astuple(empty), values, strict=True)
        )


class TextRows(Rows):
    """A decoder for dicts of texts."""

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


def _with_plain_names(image: bytes) -> bytes:
    if b"\\" not in image:
        return image
    return msgspec.json.encode({plain_name(name): value for name, value in raw_members(image).items()})


def json_values(column: ImageColumn, scalars: bool, nested: bool) -> pa.BooleanArray | None:
    """Return the rows with a JSON number or boolean (`scalars`), or an object or array (`nested`), if any."""
    if not isinstance(column, JsonColumn) or not (scalars or nested):
        return None
    values = column.values
    where = values.is_valid()
    if not (scalars and nested):
        containers = pc.fill_null(pc.or_(pc.starts_with(values, "{"), pc.starts_with(values, "[")), False)
        where = containers if nested else pc.and_not(where, containers)
    if column.quoted is not None:
        where = pc.and_not(where, column.quoted)
    if column.present is not None:
        where = pc.and_(where, column.present)
    return where if where.true_count else None


def may_have_objects(column: ImageColumn) -> bool:
    """Return whether a column of JSON values may have objects. This takes much less time than to look at each value."""
    data = column.values.buffers()[-1] if isinstance(column, JsonColumn) else None
    return data is not None and b"{" in data.to_pybytes()


def avro_unions(column: ImageColumn, rows: pa.BooleanArray) -> pa.BooleanArray:
    """Return those of the `rows` with objects and arrays that are values of unions in Avro's JSON encoding."""
    return pc.and_(rows, pc.match_substring_regex(column.values, _AVRO_UNION).fill_null(False))


def converted(
    table: TableDef, converts: Sequence[Convert | None], columns: tuple[ImageColumn, ...]
) -> tuple[tuple[ImageColumn, ...], Wrong]:
    """Return the columns in the encoding of the model, and problems (GG314) by row."""
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
            wrong[row] = Diagnostic("GG314", "a value does not match the description of its column", place, help)
    return tuple(done), wrong
