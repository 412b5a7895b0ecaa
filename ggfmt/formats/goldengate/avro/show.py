"""Avro, shown: the bytes of a message and what they say; of container files the records alone, which are in blocks."""

from __future__ import annotations

import io
from datetime import datetime
from decimal import Decimal
from typing import Any

import fastavro

from ggfmt.formats.api.context import Context
from ggfmt.formats.api.show import Line, Show, ShownMessage, ShownPiece, hex_lines, json_lines, laid_out
from ggfmt.formats.api.writing import Formatter
from ggfmt.formats.goldengate.avro import AvroOpOptions, AvroOptions
from ggfmt.formats.goldengate.avro.table_schema import avro_schema, wrapper


class AvroShow(Show):
    """`container`: the messages are those of object container files, without delimiters and wrappers."""

    def __init__(
        self, formatter: Formatter, options: AvroOptions, context: Context, by_image: bool, container: bool
    ) -> None:
        self.framed = not container
        document = avro_schema(formatter.table, options, context, by_image).document
        self._schema = fastavro.parse_schema(dict(document))
        self._wrapper: Any = None
        self._delimiter = b""
        if isinstance(options, AvroOpOptions):
            self._delimiter = options.line_delimiter.encode()
        outer = wrapper(options, context)
        if outer is not None:
            self._wrapper = fastavro.parse_schema(dict(outer.document))
        if container:
            self.about = (f"object container files, codec {context.codec}, schema {formatter.table.full_name}",)

    def message(self, data: bytes) -> ShownMessage:
        lines = [*hex_lines(data)] if self.framed else []
        record = data
        if self._wrapper is not None:
            wrapped = decoded(data, self._wrapper)
            record = wrapped["payload"]
            lines += json_lines(laid_out({**wrapped, "payload": f"{len(record)} bytes, which are:"}))[0]
        lines += json_lines(laid_out(decoded(record, self._schema)))[0]
        if self._delimiter:
            ending: Line = (ShownPiece("remark", "line delimiter "), ShownPiece("delimiter", self._delimiter.decode()))
            lines.append(ending)
        return ShownMessage(tuple(lines))


def decoded(data: bytes, schema: Any) -> Any:
    """A record as a reader sees it, with decimals and times as texts."""
    return _shown(fastavro.schemaless_reader(io.BytesIO(data), schema, None))


def _shown(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _shown(item) for name, item in value.items()}
    return str(value) if isinstance(value, Decimal | datetime) else value
