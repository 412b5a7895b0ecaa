"""Arcion's JSON, written.

A table name of three parts is catalog, schema and name. Of two parts the first is the schema, or the catalog where the
option `schemaFiller` says what is then the schema. The hashes of a name and of its namespace are Java's
`Objects.hash()` of their members, as in Arcion's own messages.
"""

from __future__ import annotations

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.columnar.json_text import ImageObjects, quote_json
from ggfmt.columnar.metadata import Clock
from ggfmt.columnar.pieces import join
from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.formats.api.format import Context
from ggfmt.formats.api.losses import TEXT_AS_STATE
from ggfmt.formats.api.writing import RowErrors
from ggfmt.formats.arcion import ArcionJsonOptions
from ggfmt.formats.arcion.changes import states, values_of
from ggfmt.formats.arcion.cursor import count_texts, cursor_texts
from ggfmt.formats.json.values import compact_json
from ggfmt.formats.records.formatter import COMPACT, DialectFormatter, json_object, json_words, quoted, text_output
from ggfmt.java.text import objects_hash, string_hash
from ggfmt.model.change import OP_TYPES, ChangeBatch, Image, ImageColumn, OpType
from ggfmt.model.table import TableDef

_OPERATIONS = json_words(OP_TYPES)


class ArcionFormatter(DialectFormatter):
    def __init__(self, table: TableDef, options: ArcionJsonOptions, context: Context, clock: Clock) -> None:
        super().__init__(table, context, clock, [quoted for _ in table.columns])
        self.options = options
        self._states = ImageObjects(table.column_names, [quoted for _ in table.columns], COMPACT)
        catalog, schema, filler = table.catalog, table.schema, options.schema_filler
        if filler and catalog is None:
            catalog, schema = schema, filler
        self._name = _table_name(catalog, schema, table.name)
        self._named_as_filler = bool(filler) and table.catalog is not None and table.schema == filler
        self.fields = ("tableName", "opType", "cursor", "before", "after", "exists", "operationcount")

    def format(self, batch: ChangeBatch) -> pa.StringArray:
        rows = len(batch)
        if self._named_as_filler:
            reason = "the schema has the name in `schemaFiller`, which marks tables without a schema"
            help = "change or remove `schemaFiller`"
            problem = Diagnostic("GG408", reason, Span(table=self.table.full_name), help)
            raise RowErrors([(row, problem) for row in range(rows)])
        self.refuse(batch, [OpType.TRUNCATE], "Arcion")
        micros = self.micros(batch)
        before, after = (self._values(image, rows) for image in (batch.before, batch.after))
        exists = Image(tuple(ImageColumn(column) for column in states(batch)))
        numbers, _ = self._states.of(exists, rows)
        message = json_object(
            {
                "tableName": self._name,
                "opType": _OPERATIONS.of(batch.op),
                "cursor": quote_json(cursor_texts(micros, batch.position, batch.tokens)),
                "before": before,
                "after": after,
                "exists": numbers,
                "operationcount": quote_json(count_texts(batch.tokens, rows)),
            }
        )
        return join([*message, "\n"])

    def _values(self, image: Image, rows: int) -> pa.StringArray:
        """Return the values of all columns, with the word for NULL and for missing values."""
        null = self.options.null_literal
        columns = []
        for column, values in zip(self.table.columns, values_of(image), strict=True):
            equal = pc.equal(values, null).true_count
            self.count(TEXT_AS_STATE, column.name, equal, state="a NULL")
            columns.append(ImageColumn(pc.fill_null(values, null)))
        return self.objects(Image(tuple(columns)), rows)


def _table_name(catalog: str | None, schema: str | None, name: str) -> str:
    of_namespace = objects_hash(*(string_hash(part or "") for part in (catalog, schema)))
    namespace = {"catalog": catalog, "schema": schema, "hash": of_namespace}
    return compact_json({"namespace": namespace, "name": name, "hash": objects_hash(of_namespace, string_hash(name))})


WRITE_SIDES = {"arcion_json": text_output(ArcionFormatter)}
