"""Writer of DTS's Avro."""

from __future__ import annotations

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.columnar.avro import END, NULL, VALUE, longs, strings, text_bytes
from ggfmt.columnar.images import and_present
from ggfmt.columnar.metadata import Clock, OpKeys
from ggfmt.columnar.pieces import Piece, join_binary, zigzag_varint
from ggfmt.columnar.strings import rows_where
from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.formats.api.format import Context, Projection
from ggfmt.formats.api.losses import TIME_CUT, TOKENS_ADDED
from ggfmt.formats.api.writing import Framing, RowErrors, WriteSupport, floating
from ggfmt.formats.avro.containers import ObjectContainer
from ggfmt.formats.dts import BASE64, CONTAINER, KEYS_TAG, DtsOptions
from ggfmt.formats.dts.cells import FLOATS, cells_of
from ggfmt.formats.dts.ddl import statement
from ggfmt.formats.dts.files import Base64Lines, LengthPrefixed
from ggfmt.formats.dts.schema import OPERATIONS, SOURCE_TYPES, record_schema
from ggfmt.formats.dts.tokens import BORN, ID, SAFE_POSITION, SOURCE_VERSION, TRANSACTION, VERSION, TokenMembers
from ggfmt.formats.dts.types import NUMBERS
from ggfmt.formats.json.values import compact_json
from ggfmt.formats.records.formatter import DialectFormatter
from ggfmt.model.change import ChangeBatch, Image, ImageColumn, OpType
from ggfmt.model.table import TableDef

_BINARY = pa.binary()
_TEXT, _LIST = zigzag_varint(1), zigzag_varint(2)  # branches of the unions of fields and images
_NO_IMAGE = pa.scalar(NULL, _BINARY)
_OPERATION = {name: zigzag_varint(place) for place, name in enumerate(OPERATIONS)}
_WORDS = OpKeys([_OPERATION[name] for name in ("INSERT", "UPDATE", "DELETE", "DDL")], _BINARY)
_INIT = pa.scalar(_OPERATION["INIT"], _BINARY)


class DtsFormatter(DialectFormatter):
    def __init__(self, table: TableDef, options: DtsOptions, context: Context, clock: Clock) -> None:
        super().__init__(table, context, clock, [])
        self.options = options
        source = options.source_type
        self._cells = [cells_of(column.type, source) for column in table.columns]
        self.floats = floating("double" if column.type.kind in FLOATS else "" for column in table.columns)
        self._source = zigzag_varint(SOURCE_TYPES.index(source))
        self._name = VALUE + text_bytes(table.full_name)
        fields = (
            text_bytes(column.name) + zigzag_varint(NUMBERS[source][column.type.kind]) for column in table.columns
        )
        self._count = zigzag_varint(len(table.columns)) if table.columns else b""
        self._fields = pa.scalar(_LIST + self._count + b"".join(fields) + END, _BINARY)
        text = compact_json({"PRIMARY": list(table.key_names)})
        self._tags = [text_bytes(KEYS_TAG) + text_bytes(text)] if table.key_names else []
        self._statement = pa.scalar(_TEXT + text_bytes(statement(table.parts, source)), _BINARY)
        members = [field["name"] for field in record_schema(options.born_timestamp)["fields"]]
        self.fields = tuple(members)

    def format(self, batch: ChangeBatch) -> pa.BinaryArray:
        rows = len(batch)
        truncate = pc.equal(batch.op, OpType.TRUNCATE.value)
        if truncate.true_count and len(self.table.parts) < 2:
            rows_of = rows_where(truncate)
            raise RowErrors([(row, self._nameless(batch, row)) for row in rows_of])
        micros = self.micros(batch)
        rest = pc.subtract(micros, pc.if_else(pc.less(micros, 0), 999_999, 0))
        seconds = pc.fill_null(pc.divide(rest, 1_000_000), 0)
        before, wrong_before = self._image(batch.before, rows)
        after, wrong_after = self._image(batch.after, rows)
        if wrong_before or wrong_after:
            wrong = sorted({**wrong_before, **wrong_after}.items())
            raise RowErrors([(row, self.misfit(self.table.columns[column].name)) for row, column in wrong])
        fields: Piece = self._fields
        if truncate.true_count:
            fields = pc.if_else(truncate, _NO_IMAGE, fields)
            after = [pc.if_else(truncate, self._statement, join_binary(after, rows))]
        tokens = TokenMembers(batch, self.options.born_timestamp)
        added = tokens.from_options(self.options.source_type, self.options.source_version)
        self.count(TOKENS_ADDED, "", added.true_count)
        operation = pc.if_else(tokens.snapshots(), _INIT, _WORDS.of(batch.op))
        return join_binary(
            [
                *tokens.number(VERSION),
                *tokens.number(ID),
                *longs(seconds),
                *strings(batch.position.fill_null("")),
                *tokens.text(SAFE_POSITION),
                *tokens.text(TRANSACTION),
                self._source,
                *tokens.text(SOURCE_VERSION, self.options.source_version),
                operation,
                self._name,
                *tokens.process_timestamps(),
                *tokens.tags(self._tags),
                fields,
                *before,
                *after,
                *(tokens.number(BORN) if self.options.born_timestamp else ()),
            ],
            rows,
        )

    def _image(self, image: Image, rows: int) -> tuple[list[Piece], dict[int, int]]:
        """Return the bytes of n images, and by row the column of a value that cannot be written."""
        exists = image.exists
        if exists is not None and not exists.true_count:
            return [NULL], {}
        pieces: list[Piece] = [_LIST + self._count]
        wrong: dict[int, int] = {}
        for index, (cells, column) in enumerate(zip(self._cells, image.columns, strict=True)):
            if exists is not None:
                column = ImageColumn(column.values, and_present(exists, column))
            encoded = cells.pieces(column, rows)
            pieces += encoded.pieces
            wrong |= {row: index for row in encoded.bad if row not in wrong}
            self.count(TIME_CUT, self.table.columns[index].name, encoded.cut, than="DTS supports")
        if wrong:
            return [], wrong
        pieces.append(END)
        if exists is not None:
            pieces = [pc.if_else(exists, join_binary(pieces, rows), _NO_IMAGE)]
        return pieces, {}

    def _nameless(self, batch: ChangeBatch, row: int) -> Diagnostic:
        place = Span(table=self.table.full_name, position=batch.position[row].as_py())
        reason = "DTS cannot represent a truncate of a table without a schema or a database"
        return Diagnostic("GG408", reason, place, "set it aside: `--on-reject quarantine`")


# All tables have the same schema, so one file may contain blocks of several tables.
_ANY_TABLE = TableDef("dts")


def _framing(table: TableDef | None, options: DtsOptions, context: Context) -> Framing:
    if options.file_framing == CONTAINER:
        schema = compact_json(record_schema(options.born_timestamp))
        return ObjectContainer(_ANY_TABLE, schema, context.codec)
    return Base64Lines() if options.file_framing == BASE64 else LengthPrefixed()


WRITE_SIDES = {
    "dts_avro": WriteSupport(
        formatter=DtsFormatter, framing=_framing, projection=lambda options: Projection(tokens=True)
    )
}
