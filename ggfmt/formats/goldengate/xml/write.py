"""The writer of XML: texts in attributes and CDATA sections, `<col>` elements, the formatter, and the schema.

XML 1.0 cannot represent some characters (section 2.2: control characters except tab, line feed and carriage return;
U+FFFE; U+FFFF). One scan over all texts of a column finds them; the result is a mask of rows.
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import as_strings, map_items
from ggfmt.columnar.metadata import Clock, OpKeys, token_texts
from ggfmt.columnar.pieces import ATTRIBUTE_ESCAPES, Encoding, Piece, TextPiece, choose, join
from ggfmt.columnar.strings import TextPattern, all_match, rows_where
from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.formats.api import writing
from ggfmt.formats.api.format import Context
from ggfmt.formats.goldengate.options import op_keys
from ggfmt.formats.goldengate.xml import XmlOptions
from ggfmt.lazy import lazy_regex
from ggfmt.model.change import OP_TYPES, ChangeBatch, Image
from ggfmt.model.table import TableDef

_FOREIGN = lazy_regex("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_FOREIGN_RE2 = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x{FFFE}\x{FFFF}]"


def unsupported_character(text: str) -> str | None:
    """Return the first character of a text that XML cannot represent, as `U+0000`; None if there is none."""
    match = _FOREIGN.search(text)
    return None if match is None else f"U+{ord(match[0]):04X}"


def unsupported_characters(array: pa.StringArray) -> pa.BooleanArray | None:
    """Return where XML cannot represent a text; None if it can represent all."""
    if all_match(array, TextPattern.XML):
        return None
    return pc.fill_null(pc.match_substring_regex(array, _FOREIGN_RE2), False)


def attribute(array: pa.StringArray) -> TextPiece:
    return TextPiece(array, Encoding.ATTRIBUTE, "")


def cdata(array: pa.StringArray) -> TextPiece:
    """Return the texts as between `<![CDATA[` and `]]>`, some in several sections; empty for NULL."""
    return TextPiece(array, Encoding.CDATA, "")


def attribute_text(text: str) -> str:
    return text.translate(ATTRIBUTE_ESCAPES)


class ColumnElement:
    """Makes the `<col>` elements of a column. What depends on the column alone is computed once."""

    def __init__(self, name: str, index: int) -> None:
        self._index = index
        self._open = f" <col name='{attribute_text(name)}' index='{index}'>\n"

    def of(self, before: Image, after: Image) -> tuple[list[Piece], pa.BooleanArray | None]:
        """Return the pieces of n elements, and where XML cannot represent a value (None: nowhere)."""
        old, new = (_Side(name, image, self._index) for name, image in (("before", before), ("after", after)))
        values = old.either(
            [old.value, *new.either([new.value], [new.missing])],
            new.either([old.missing, new.value], ["  <missing/>\n"]),
        )
        masks = [mask for mask in (old.foreign(), new.foreign()) if mask is not None]
        return [self._open, *values, " </col>\n"], pc.or_(*masks) if len(masks) == 2 else masks[0] if masks else None


class _Side:
    """A column of an image. `value` is the element of a value or NULL, `missing` that of a missing value."""

    def __init__(self, name: str, image: Image, index: int) -> None:
        column = image.columns[index]
        there = column.present
        if image.exists is not None:
            there = image.exists if there is None else pc.and_(there, image.exists)
        self._there = there
        self._values = column.values
        null = f"   <{name} isNull='true'/>\n"
        self.value = TextPiece(column.values, Encoding.CDATA, null, f"   <{name}><![CDATA[", f"]]></{name}>\n")
        self.missing = f"   <{name} missing='true'/>\n"

    def either(self, present: Sequence[Piece], missing: Sequence[Piece]) -> Sequence[Piece]:
        """Return the `present` pieces where the image has the column, and the `missing` ones elsewhere."""
        return choose(self._there, len(self._values), present, missing)

    def foreign(self) -> pa.BooleanArray | None:
        mask = unsupported_characters(self._values)
        return mask if mask is None or self._there is None else pc.and_(mask, self._there)


NAME = "operation.xsd"


def xml_schema(table: TableDef, options: Any, context: Context) -> tuple[writing.SchemaFile, ...]:
    """Return the XML schema of operations, the same for all tables, which GoldenGate does not write to files.

    The manual's own (GoldenGate for Big Data 12.2, 6.7.3) refuses much of what the formatter writes: `current_ts`
    without a `T`, positions beyond a long integer, NULL. Here free texts are strings, and `isNull` is allowed.
    """
    content = pkgutil.get_data(__package__, NAME)
    assert content is not None
    return (writing.SchemaFile(NAME, content),)


# A line of the file, for a preview: line ends inside of CDATA sections are part of a value, and end no line.
_SHOWN_LINE = lazy_regex(r"(?:<!\[CDATA\[.*?\]\]>|'[^']*'|[^\n])+", re.DOTALL)


def _shown(text: str) -> writing.ShownMessage:
    return writing.ShownMessage(_SHOWN_LINE.findall(text))


class XmlFormatter(writing.Formatter):
    def __init__(self, table: TableDef, options: XmlOptions, context: Context, clock: Clock) -> None:
        super().__init__(table, context, clock)
        self.options = options
        self._words = dict(zip(OP_TYPES, op_keys(options), strict=True))
        self._op_keys = OpKeys([attribute_text(word) for word in self._words.values()])
        foreign = [op for op, word in self._words.items() if unsupported_character(word)]
        if any(map(unsupported_character, (table.full_name, *table.column_names))):
            foreign = list(OP_TYPES)
        self._foreign_ops = pa.array(foreign, pa.string())
        prolog = f"<?xml version='1.0' encoding='{options.encoding}'?>\n" if options.include_prolog else ""
        self._start = f"{prolog}<operation table='{attribute_text(table.full_name)}' type='"
        self._columns = [ColumnElement(name, index) for index, name in enumerate(table.column_names)]
        tokens = ["tokens"] if context.include_tokens else []
        images = [f"before and after: {name}" for name in table.column_names]
        self.fields = ("table", "type", "ts", "current_ts", "pos", "numCols", *images, *tokens)

    def format(self, batch: ChangeBatch) -> pa.StringArray:
        count = len(batch)
        masks = [unsupported_characters(batch.op_ts), unsupported_characters(batch.position)]
        if len(self._foreign_ops):
            masks.append(pc.is_in(batch.op, self._foreign_ops))
        pieces: list[Piece] = [
            self._start,
            self._op_keys.piece(batch.op),
            "' ts='",
            attribute(batch.op_ts),
            "' current_ts='",
            self.clock.stamps(count, self.options.iso8601_format),
            "' pos='",
            attribute(batch.position),
            f"' numCols='{len(self._columns)}'>\n",
        ]
        for column in self._columns:
            element, mask = column.of(batch.before, batch.after)
            pieces += element
            masks.append(mask)
        if self.include_tokens:
            tokens, mask = self._tokens(batch)
            pieces += [" <tokens>\n", tokens, " </tokens>\n"]
            masks.append(mask)
        rows = {row for mask in masks if mask is not None for row in rows_where(mask)}
        if rows:
            raise writing.RowErrors([(row, self._misfit(batch, row)) for row in sorted(rows)])
        return join([*pieces, "</operation>\n"], count)

    @staticmethod
    def _tokens(batch: ChangeBatch) -> tuple[Piece, pa.BooleanArray | None]:
        texts = token_texts(batch.tokens, _token_element, "")
        if batch.tokens is None:
            return texts, None
        if (
            unsupported_characters(as_strings(batch.tokens.keys)) is None
            and unsupported_characters(as_strings(batch.tokens.items)) is None
        ):
            return texts, None
        held = ["".join(text or "" for item in tokens for text in item) for tokens in map_items(batch.tokens)]
        return texts, pa.array([unsupported_character(text) is not None for text in held], pa.bool_())

    def _misfit(self, batch: ChangeBatch, row: int) -> Diagnostic:
        for field, what, text in self._texts(batch, row):
            character = None if text is None else unsupported_character(text)
            if character is not None:
                return Diagnostic(
                    "GG405",
                    f"{what} contains {character}, which XML does not support",
                    Span(table=self.table.full_name, field=field, position=batch.position[row].as_py()),
                    "remove the character from the source, or write another format",
                )
        raise AssertionError("a kernel and the pattern disagree on what XML cannot carry")

    def _texts(self, batch: ChangeBatch, row: int) -> Iterator[tuple[str | None, str, str | None]]:
        """Yield the column, the role and the content of each text of an operation."""
        yield None, "the name of the table", self.table.full_name
        yield None, "the key of the operation type", self._words[batch.op[row].as_py()]
        yield None, "the time stamp of the operation", batch.op_ts[row].as_py()
        yield None, "the position", batch.position[row].as_py()
        for index, name in enumerate(self.table.column_names):
            yield name, "the name of the column", name
            for side, image in (("before", batch.before), ("after", batch.after)):
                column = image.columns[index]
                masks = (image.exists, column.present)
                if all(mask is None or mask[row].as_py() for mask in masks):
                    yield name, f"the value in the {side} image", column.values[row].as_py()
        for token in batch.tokens[row].as_py() if self.include_tokens and batch.tokens is not None else ():
            for text in token:
                yield None, "a token", text


def _token_element(names: pa.StringArray, values: pa.StringArray) -> list[Piece]:
    return [
        "   <token>\n     <Name><![CDATA[",
        cdata(names),
        "]]></Name>\n     <Value><![CDATA[",
        cdata(values),
        "]]></Value>\n   </token>\n",
    ]


WRITE_SIDES = {
    "xml": writing.WriteSupport(
        formatter=XmlFormatter,
        framing=lambda table, options, context: writing.TextFraming(options.encoding),
        schema=xml_schema,
        show=lambda formatter, options, context: writing.show_text(options.encoding, _shown),
    )
}
