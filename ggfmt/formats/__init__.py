'''All formats by id, and how to add one.

A new system is a package below this one, its name in `SYSTEMS`, and what it owes in `tests/contract`. This is a whole
one: lines such as `I|GG.T|ID=1|NAME=x`, which show one image. A test writes these files as they are here.

`toy_lines/__init__.py` declares the format and its options, and says what of operations its messages do not show. It is
light: it loads neither Arrow nor decoders.

    """Toy lines: `I|GG.T|ID=1|NAME=x`. NULL has no `=`; what divides fields and lines is escaped as in URIs."""

    from __future__ import annotations

    from dataclasses import dataclass

    from ggfmt.formats.api import losses
    from ggfmt.formats.api.format import Format
    from ggfmt.formats.records.options import DialectOptions
    from ggfmt.options.spec import choice

    ESCAPES = {"%": "%25", "|": "%7C", ";": "%3B", "=": "%3D", "\\n": "%0A", "\\r": "%0D"}


    @dataclass(frozen=True)
    class ToyOptions(DialectOptions):
        separator: str = choice("Divides fields.", ("|", "a bar"), (";", "a semicolon"))


    FORMATS = (
        Format(
            name="toy_lines",
            doc="Toy lines: one line per operation, with the columns of one image by name.",
            options=ToyOptions,
            writes="ggfmt.formats.toy_lines.write",
            reads="ggfmt.formats.toy_lines.read",
            marks=(b"|", b";"),
            losses=(
                losses.BEFORE_NOT_SHOWN,
                losses.TIME_NOT_SHOWN,
                losses.POSITION_NOT_SHOWN,
                losses.TOKENS_NOT_SHOWN,
                losses.KEYS_NOT_SHOWN,
                losses.TYPES_NOT_SHOWN,
            ),
        ),
    )

`toy_lines/write.py` makes messages of columns: each piece is an array with a text for every operation of a batch.

    """Toy lines, written."""

    from __future__ import annotations

    import pyarrow as pa

    from ggfmt.arrow import compute as pc
    from ggfmt.arrow.arrays import as_strings
    from ggfmt.columnar.metadata import Clock
    from ggfmt.columnar.pieces import join
    from ggfmt.formats.api.format import Context, Projection
    from ggfmt.formats.api.writing import Formatter, TextFraming, WriteSupport
    from ggfmt.formats.toy_lines import ESCAPES, ToyOptions
    from ggfmt.model.change import ChangeBatch, ImageColumn
    from ggfmt.model.table import TableDef

    _ESCAPED = str.maketrans(ESCAPES)


    class ToyFormatter(Formatter):
        fields = ("operation", "table", "columns")

        def __init__(self, table: TableDef, options: ToyOptions, context: Context, clock: Clock) -> None:
            super().__init__(table, context, clock)
            self._table = options.separator + table.full_name.translate(_ESCAPED)
            self._names = [options.separator + name.translate(_ESCAPED) for name in table.column_names]

        def format(self, batch: ChangeBatch) -> pa.StringArray:
            image = batch.row_image()
            exists = image.exists_mask(len(batch))
            fields = [_field(name, column, exists) for name, column in zip(self._names, image.columns, strict=True)]
            return join([batch.op, self._table, *fields, "\\n"])


    def _field(name: str, column: ImageColumn, exists: pa.BooleanArray) -> pa.StringArray:
        """A field for each operation: nothing where the column is missing."""
        values = as_strings(column.values.fill_null(""))
        for character, escape in ESCAPES.items():
            values = pc.replace_substring(values, character, escape)
        field = pc.if_else(column.values.is_valid(), join([f"{name}=", values]), name)
        return pc.if_else(exists if column.present is None else pc.and_(exists, column.present), field, "")


    WRITE_SIDES = {
        "toy_lines": WriteSupport(
            formatter=ToyFormatter,
            framing=lambda table, options, context: TextFraming("UTF-8"),
            projection=lambda options: Projection(row_only=True),
        )
    }

`toy_lines/read.py` says of a record what it is; batches, rejects and the discovery of tables are those of all dialects.

    """Toy lines, read."""

    from __future__ import annotations

    import re
    from collections.abc import Iterator, Sequence
    from typing import Any

    from ggfmt.diagnostics.diagnostic import Diagnostic
    from ggfmt.formats.api.format import WriterSettings
    from ggfmt.formats.api.reading import Chunk, Layout, ReadSupport
    from ggfmt.formats.json.values import invalid_utf8
    from ggfmt.formats.records.dialect import Change, Dialect, Meaning
    from ggfmt.formats.records.discovery import DialectDiscovery
    from ggfmt.formats.records.problems import RecordError
    from ggfmt.formats.records.reader import DialectReader
    from ggfmt.model.change import OP_TYPES


    class Toy(Dialect):
        record = dict  # unused: records are no JSON

        @staticmethod
        def sniff(members: dict[str, Any]) -> str | None:
            return None

        @staticmethod
        def layout(head: bytes, whole: bool, source: WriterSettings) -> Layout:
            return Layout(splittable=True)

        @staticmethod
        def spans(chunk: Chunk) -> Sequence[tuple[int, int]]:
            return [match.span() for match in re.finditer(rb"[^\\n]+", chunk.data)]

        def decoded(self, chunk: Chunk) -> Iterator[str | Diagnostic]:
            for start, end in self.spans(chunk):
                record = chunk.data[start:end]
                try:
                    yield record.decode()
                except UnicodeDecodeError:
                    yield invalid_utf8(record)

        def changes(self, record: str) -> Meaning:
            op, *fields = record.split(self.options.separator)
            if op not in OP_TYPES:
                raise RecordError("GG304", f"an operation cannot be `{op[:40]}`", "legal are `I`, `U`, `D` and `T`")
            if not fields:
                raise RecordError("GG305", "the line does not name its table")
            table, *cells = fields
            pairs = [cell.partition("=") for cell in cells]
            image = {_plain(name): _plain(value) if equals else None for name, equals, value in pairs}
            if len(image) < len(cells):
                raise RecordError("GG308", "the line has a column twice", table=_plain(table))
            before, after = (image, None) if op == "D" else (None, None if op == "T" and not image else image)
            return (Change(_plain(table), op, None, None, before, after, {}),)


    def _plain(text: str) -> str:
        return re.sub("%([0-9A-F]{2})", lambda escape: chr(int(escape[1], 16)), text)


    class ToyReader(DialectReader):
        dialect = Toy

        @classmethod
        def sniff(cls, head: bytes) -> str | None:
            return "it starts with an operation and a table" if re.match(rb"[IUDT][|;][^|;\\n]", head) else None


    class ToyDiscovery(DialectDiscovery):
        dialect = Toy


    READ_SIDES = {"toy_lines": ReadSupport(ToyReader, ToyDiscovery)}
'''

from __future__ import annotations

from importlib import import_module

from ggfmt.formats.api.format import Format

SYSTEMS = ("goldengate", "canal", "arcion", "cdl", "debezium", "dts", "qlik", "maxwell", "shareplex", "dms")

FORMATS: dict[str, Format] = {
    format.name: format for system in SYSTEMS for format in import_module(f"{__name__}.{system}").FORMATS
}
