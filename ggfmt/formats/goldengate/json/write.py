"""JSON, written: the formatter, and the JSON schema of a table."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from ggfmt.columnar.clock import Clock
from ggfmt.columnar.join import Piece, join
from ggfmt.columnar.json_image import ImageObjects, Style, Values
from ggfmt.columnar.metadata import OpKeys, or_empty, token_texts
from ggfmt.columnar.strings import escape_json, escape_json_text, json_booleans, json_numbers, quote_json
from ggfmt.formats.api.context import Context
from ggfmt.formats.api.framing import TextFraming
from ggfmt.formats.api.writing import Formatter, RowErrors, SchemaFile, WriteSide
from ggfmt.formats.goldengate.json import JsonOptions
from ggfmt.formats.goldengate.json.javax import Json, pretty
from ggfmt.formats.goldengate.json.show import JsonShow
from ggfmt.formats.goldengate.misfits import misfits
from ggfmt.formats.goldengate.options import op_keys
from ggfmt.formats.goldengate.types import MessageType, target_type
from ggfmt.java.charsets import byte_order_mark, codec_of
from ggfmt.model.change import ChangeBatch, OpType
from ggfmt.model.table import Column, Kind, TableDef

_JSON_TYPES = {
    MessageType.STRING: "string",
    MessageType.BOOLEAN: "boolean",
    MessageType.INTEGER: "integer",
    MessageType.FLOAT: "number",
    MessageType.DOUBLE: "number",
}


def json_type(column: Column, options: JsonOptions, release: str) -> str:
    """The JSON type of a column."""
    return "string" if options.treat_all_columns_as_strings else _JSON_TYPES[target_type(column.type, release)]


_VALUES: dict[str, Values] = {
    "string": lambda values: (quote_json(values), []),
    "boolean": json_booleans,
    "integer": json_numbers,
    "number": json_numbers,
}


class JsonFormatter(Formatter):
    def __init__(self, table: TableDef, options: JsonOptions, context: Context, clock: Clock) -> None:
        super().__init__(table, context, clock)
        self.options = options
        self._op_keys = OpKeys([escape_json_text(key) for key in op_keys(options)])
        self._style = Style(options.pretty_print)
        types = [json_type(column, options, context.release) for column in table.columns]
        self._images = ImageObjects(table.column_names, [_VALUES[name] for name in types], self._style)
        gap = self._style.member(1)
        self._labels = {
            name: f'{gap}"{name}":'
            for name in ("table", "op_type", "op_ts", "current_ts", "pos", "primary_keys", "tokens", "before", "after")
        }
        self._primary_keys = _array(table.primary_keys, self._style) if options.include_primary_keys else None
        self._end = self._style.close(1) + "}" + options.json_delimiter
        members = ["table", "op_type", "op_ts", "current_ts", "pos"]
        members += ["primary_keys"] * options.include_primary_keys + ["tokens"] * context.include_tokens
        columns = [f"{name} ({kind})" for name, kind in zip(table.column_names, types, strict=True)]
        self.fields = (*members, *(f"before and after: {column}" for column in columns))

    def format(self, batch: ChangeBatch) -> pa.StringArray:
        label, count = self._labels, len(batch)
        pieces: list[Piece] = [
            "{" + label["table"] + escape_json_text(self.table.full_name),
            "," + label["op_type"],
            self._op_keys.of(batch.op),
            "," + label["op_ts"] + '"',
            escape_json(or_empty(batch.op_ts)),
            '",' + label["current_ts"] + '"',
            self.clock.stamps(count, self.options.iso8601_format),
            '",' + label["pos"] + '"',
            escape_json(or_empty(batch.position)),
            '"',
        ]
        if self._primary_keys is not None:
            pieces.append("," + label["primary_keys"] + self._primary_keys)
        if self.include_tokens:
            pieces += ["," + label["tokens"], self._tokens(batch)]
        bad: list[tuple[int, int]] = []
        update = pc.equal(batch.op, OpType.UPDATE.value)
        for name, image in (("before", batch.before), ("after", batch.after)):
            objects, wrong = self._images.of(image, count)
            bad += wrong
            if not (image.exists is None or image.exists.true_count == count):
                absent = pc.equal(pc.binary_length(objects), 0)
                bare = pc.if_else(update, "{" + self._style.close(2) + "}", "")
                objects = pc.if_else(absent, bare, objects)
                there = pc.not_equal(pc.binary_length(objects), 0)
                pieces.append(pc.if_else(there, join(["," + label[name], objects]), ""))
            else:
                pieces += ["," + label[name], objects]
        if bad:
            raise RowErrors(misfits(batch, bad, self._wanted))
        return join([*pieces, self._end], count)

    def _tokens(self, batch: ChangeBatch) -> pa.StringArray:
        gap = self._style.member(2)

        def pair(names: pa.StringArray, values: pa.StringArray) -> pa.StringArray:
            return join([gap, quote_json(names), ":", quote_json(values)])

        return join(["{", token_texts(batch.tokens, len(batch), pair, ","), self._style.close(2) + "}"])

    def _wanted(self, column: int) -> str:
        return "`true` or `false`" if self.table.columns[column].type.kind is Kind.BOOLEAN else "a number"


def _array(values: tuple[str, ...], style: Style) -> str:
    gap = style.member(2)
    end = style.member(1)
    return f"[{','.join(gap + escape_json_text(value) for value in values)}{end}]"


def json_schema(table: TableDef, options: JsonOptions, context: Context) -> tuple[SchemaFile, ...]:
    """`<table>.schema.json` as the manual prints it (6.3.3); `primary_keys` only where messages have it."""
    if not options.generate_schema:
        return ()
    text = pretty(_schema(table, options, context.release))
    content = byte_order_mark(options.encoding) + text.encode(codec_of(options.encoding), "replace")
    return (SchemaFile(f"{table.full_name}.schema.json", content),)


def _schema(table: TableDef, options: JsonOptions, release: str) -> Json:
    def described(text: str) -> Json:
        return {"description": text, "type": "string"}

    keys: Json = {
        "description": "Array of the primary key column names.",
        "type": "array",
        "items": {"type": "string"},
        "minItems": 0,
        "uniqueItems": True,
    }
    return {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "title": table.full_name,
        "description": f"JSON schema for table {table.full_name}",
        "definitions": {
            "row": {
                "type": "object",
                "properties": {
                    column.name: {"type": [json_type(column, options, release), "null"]} for column in table.columns
                },
                "additionalProperties": False,
            },
            "tokens": {
                "type": "object",
                "description": "Token keys and values are free form key value pairs.",
                "properties": {},
                "additionalProperties": True,
            },
        },
        "type": "object",
        "properties": {
            "table": described("The fully qualified table name"),
            "op_type": described("The operation type"),
            "op_ts": described("The operation timestamp"),
            "current_ts": described("The current processing timestamp"),
            "pos": described("The position of the operation in the data source"),
            **({"primary_keys": keys} if options.include_primary_keys else {}),
            "tokens": {"$ref": "#/definitions/tokens"},
            "before": {"$ref": "#/definitions/row"},
            "after": {"$ref": "#/definitions/row"},
        },
        "required": ["table", "op_type", "op_ts", "current_ts", "pos"],
        "additionalProperties": False,
    }


WRITE_SIDES = {
    "json": WriteSide(
        formatter=JsonFormatter,
        framing=lambda table, options, context: TextFraming(options.encoding),
        schema=json_schema,
        show=lambda formatter, options, context: JsonShow(options.encoding),
    )
}
