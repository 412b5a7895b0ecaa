"""The metadata of messages of the Kafka Connect handler: fields of a struct before the images or columns."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from ggfmt.columnar.clock import Clock
from ggfmt.columnar.escapes import JACKSON_ESCAPES, escape_json_text
from ggfmt.columnar.join import join
from ggfmt.columnar.metadata import token_texts
from ggfmt.columnar.pieces import Encoding, Piece
from ggfmt.columnar.strings import json_strings, quote_json
from ggfmt.formats.api.context import Context
from ggfmt.formats.connect import schemas as connect
from ggfmt.formats.goldengate.kafkaconnect import KafkaConnectOptions
from ggfmt.formats.goldengate.metacolumn_values import MetaValues
from ggfmt.formats.goldengate.metacolumns import ALL_TOKENS, KEY_COLUMNS, POSITION, TIMESTAMP, MetaColumn
from ggfmt.formats.goldengate.options import op_keys
from ggfmt.model.change import ChangeBatch
from ggfmt.model.table import TableDef

_CONTAINERS = {ALL_TOKENS: connect.STRING_MAP, KEY_COLUMNS: connect.STRINGS}


class MetadataFields:
    """The metadata fields of one table: their names, their schemas as the converter writes them, and their values."""

    def __init__(self, table: TableDef, options: KafkaConnectOptions, context: Context, clock: Clock) -> None:
        self._columns = options.metadata(context)
        self._values = MetaValues(table, op_keys(options), context, clock)
        self._key_columns = f"[{','.join(map(_quoted, table.primary_keys))}]"
        self.names = tuple(column.name for column in self._columns)

    @property
    def schemas(self) -> list[dict[str, Any]]:
        text = {"type": "string", "optional": True}
        return [{**_CONTAINERS.get(column.keyword, text), "field": column.name} for column in self._columns]

    def values(self, batch: ChangeBatch) -> list[Piece]:
        """The JSON values of each field, one for all operations of a batch or one for each."""
        return [self._json(column, batch) for column in self._columns]

    def _json(self, column: MetaColumn, batch: ChangeBatch) -> Piece:
        keyword = column.keyword
        if keyword == ALL_TOKENS:
            return join(["{", token_texts(batch.tokens, _pair, ","), "}"], len(batch))
        if keyword == KEY_COLUMNS:
            return self._key_columns
        if keyword in (TIMESTAMP, POSITION):  # null, where an operation has none
            return quote_json(batch.op_ts if keyword == TIMESTAMP else batch.position, Encoding.JACKSON)
        values = self._values.of(column, batch)
        if isinstance(values, pa.Scalar):
            values = str(values.as_py())
        return _quoted(values) if isinstance(values, str) else quote_json(values, Encoding.JACKSON)


def _quoted(text: str) -> str:
    return escape_json_text(text, JACKSON_ESCAPES)


def _pair(names: pa.StringArray, values: pa.StringArray) -> list[Piece]:
    return [json_strings(names, Encoding.JACKSON), ":", json_strings(values, Encoding.JACKSON)]
