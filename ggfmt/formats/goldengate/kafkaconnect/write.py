"""Messages of the Kafka Connect handler, written as Kafka's JSON converter does: compact, one a line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import non_null_values
from ggfmt.columnar.clock import Clock
from ggfmt.columnar.escapes import JACKSON_ESCAPES, escape_json_text
from ggfmt.columnar.images import and_present, with_nulls
from ggfmt.columnar.join import join
from ggfmt.columnar.json_image import ImageObjects
from ggfmt.columnar.pieces import Piece
from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.formats.api.context import Context, Projection
from ggfmt.formats.api.framing import TextFraming
from ggfmt.formats.api.losses import MISSING_AS_NULL, TIME_CUT
from ggfmt.formats.api.writing import RIGHT_TYPE, Formatter, RowErrors, WriteSupport
from ggfmt.formats.connect.values import too_fine
from ggfmt.formats.goldengate.kafkaconnect import FLAG, OP, KafkaConnectOptions
from ggfmt.formats.goldengate.kafkaconnect.metadata import MetadataFields
from ggfmt.formats.goldengate.kafkaconnect.types import column_type
from ggfmt.formats.goldengate.key_updates import handle_key_updates, row_projection
from ggfmt.formats.goldengate.metacolumns import needs_tokens
from ggfmt.formats.json.values import compact_json
from ggfmt.formats.records.formatter import COMPACT, missing_from
from ggfmt.model.change import ChangeBatch, Image, ImageColumn
from ggfmt.model.table import TableDef

_ROW_NAME = "row"  # of the struct that an image is
_FLAG_SCHEMA = {"type": "boolean", "optional": True}


class KafkaConnectFormatter(Formatter):
    def __init__(self, table: TableDef, options: KafkaConnectOptions, context: Context, clock: Clock) -> None:
        super().__init__(table, context, clock)
        self._options = options
        self._by_image = options.message_formatting == OP
        self._types = [column_type(column.type, options) for column in table.columns]
        self._metadata = MetadataFields(table, options, context, clock)
        self._required = [options.enable_nonnullable and not column.nullable for column in table.columns]
        columns = self._column_fields()
        names = [name for name, _, _ in columns]
        self._objects = ImageObjects(names, [values for _, _, values in columns], COMPACT)
        fields = [{**schema, "field": name} for name, schema, _ in columns]
        beside = [] if self._by_image else names
        self._twice = _first_twice([*self._metadata.names, *beside]) or _first_twice(names)
        self._head, self._tail = ("", "\n")
        if options.schemas_enable:
            self._head = f'{{"schema":{compact_json(self._schema(fields))},"payload":'
            self._tail = "}\n"
        self.fields = (*self._metadata.names, *(("before", "after") if self._by_image else names))

    def arrange(self, batch: ChangeBatch) -> tuple[ChangeBatch, Sequence[int]]:
        if self._by_image:
            return batch, range(len(batch))
        return handle_key_updates(batch, self._options.pk_update_handling)

    def format(self, batch: ChangeBatch) -> pa.StringArray:
        rows = len(batch)
        if self._twice is not None:
            raise RowErrors([(row, self._named_twice(batch, row)) for row in range(rows)])
        members: dict[str, Piece] = dict(zip(self._metadata.names, self._metadata.values(batch), strict=True))
        if self._by_image:
            images = {"before": batch.before, "after": batch.after}
            self._count_missing(*images.values())
            members |= {name: self._object(batch, image) for name, image in images.items()}
            columns: Piece = "}"
        else:
            image = batch.row_image()
            self._count_missing(image)
            exists = image.exists_mask(rows)
            there = Image(tuple(_where(exists, column) for column in image.columns))
            columns = pc.utf8_slice_codeunits(self._object(batch, there), 1)
            if members and self.table.columns:
                columns = join([",", columns])
        pieces: list[Piece] = [self._head, "{"]
        for place, (name, values) in enumerate(members.items()):
            pieces += [f"{',' if place else ''}{escape_json_text(name, JACKSON_ESCAPES)}:", values]
        return join([*pieces, columns, self._tail], rows)

    def _column_fields(self) -> list[tuple[str, dict[str, Any], Any]]:
        """Of all fields of an image the name, the schema and what makes the values."""
        fields: list[tuple[str, dict[str, Any], Any]] = []
        for column, type, required in zip(self.table.columns, self._types, self._required, strict=True):
            head, *rest = type.schema.items()
            fields.append((column.name, dict([head, ("optional", not required), *rest]), type.values))
            if self._options.include_is_missing_fields:
                fields.append((f"{column.name}{FLAG}", _FLAG_SCHEMA, lambda values: (values, [])))
        return fields

    def _schema(self, columns: Sequence[dict[str, Any]]) -> dict[str, Any]:
        fields = self._metadata.schemas
        if self._by_image:
            struct = {"type": "struct", "fields": columns, "optional": True, "name": _ROW_NAME}
            fields += [{**struct, "field": image} for image in ("before", "after")]
        else:
            fields += columns
        namespace = self._options.schema_namespace
        name = f"{namespace}.{self.table.name}" if namespace else self.table.full_name
        return {"type": "struct", "fields": fields, "optional": False, "name": name}

    def _object(self, batch: ChangeBatch, image: Image) -> pa.StringArray:
        """n objects with all columns, `null` where there is no image; RowErrors for values that cannot be written."""
        rows = len(batch)
        exists = image.exists_mask(rows)
        columns = []
        for index, column in enumerate(image.columns):
            values = with_nulls(column)
            self._check(batch, index, pc.and_(exists, values.is_null()))
            if self._types[index].cut:
                shown = values if image.exists is None else values.filter(exists)
                cut = "the message has"
                self.count(TIME_CUT, self.table.columns[index].name, too_fine(shown), than=cut)
            columns.append(ImageColumn(values))
            if self._options.include_is_missing_fields:
                present = and_present(pa.repeat(pa.scalar(True), rows), column)
                columns.append(ImageColumn(pc.if_else(present, "false", "true")))
        objects, wrong = self._objects.of(Image(tuple(columns), image.exists), rows, "null")
        if wrong:
            step = 2 if self._options.include_is_missing_fields else 1
            raise RowErrors([(row, self._misfit(batch, row, place // step)) for row, place in sorted(wrong)])
        return join(objects, rows)

    def _count_missing(self, *images: Image) -> None:
        for image in () if self._options.include_is_missing_fields else images:
            for column, values in zip(self.table.columns, image.columns, strict=True):
                self.count(MISSING_AS_NULL, column.name, missing_from(values, image.exists))

    def _check(self, batch: ChangeBatch, index: int, null: pa.BooleanArray) -> None:
        """RowErrors where a column is NULL or missing that cannot be by its schema."""
        if self._required[index] and null.true_count:
            reason = "the column cannot be NULL by its definition, and the operation has no value for it"
            help = "set `enableNonnullable=false`"
            found = [(row, Diagnostic("GG409", reason, self._place(batch, row, index), help)) for row in _rows(null)]
            raise RowErrors(found)

    def _misfit(self, batch: ChangeBatch, row: int, index: int) -> Diagnostic:
        kind, wanted = self.table.columns[index].type.kind.value, self._types[index].wanted
        reason = f"the column is {kind} by its definition, but the value is not {wanted}"
        help = f"{RIGHT_TYPE}, or set `treatAllColumnsAsStrings`"
        return Diagnostic("GG401", reason, self._place(batch, row, index), help)

    def _named_twice(self, batch: ChangeBatch, row: int) -> Diagnostic:
        reason = f"a message would have two fields named `{self._twice}`"
        help = "write `messageFormatting=op`, or leave the metadata field out"
        return Diagnostic("GG410", reason, Span(table=self.table.full_name, position=batch.position[row].as_py()), help)

    def _place(self, batch: ChangeBatch, row: int, index: int) -> Span:
        name = self.table.columns[index].name
        return Span(table=self.table.full_name, field=name, position=batch.position[row].as_py())


def _rows(mask: pa.BooleanArray) -> list[int]:
    rows: list[int] = non_null_values(pc.indices_nonzero(mask))
    return rows


def _where(exists: pa.BooleanArray, column: ImageColumn) -> ImageColumn:
    """The column, missing where there is no image."""
    return ImageColumn(column.values, and_present(exists, column))


def _first_twice(names: Sequence[str]) -> str | None:
    seen: set[str] = set()
    return next((name for name in names if name in seen or seen.add(name)), None)  # type: ignore[func-returns-value]


def _projection(options: KafkaConnectOptions) -> Projection:
    own = Projection() if options.message_formatting == OP else row_projection(options)
    return replace(own, tokens=needs_tokens(options))


WRITE_SIDES = {
    "kafkaconnect_json": WriteSupport(
        formatter=KafkaConnectFormatter,
        framing=lambda table, options, context: TextFraming("UTF-8"),
        projection=_projection,
    )
}
