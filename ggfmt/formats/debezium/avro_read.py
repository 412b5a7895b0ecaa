"""Reader of Debezium in Avro."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from msgspec import Raw

from ggfmt.formats.debezium import DebeziumAvroOptions
from ggfmt.formats.debezium.read import Debezium, DebeziumRecord, Schema
from ggfmt.formats.records.connect_avro import ConnectAvro, ConnectAvroReader
from ggfmt.formats.records.reader import dialect_input

_EVENT_FIELDS = frozenset({"before", "after", "source"})
_ROW_FIELDS = frozenset({"__op", "__deleted", "__table"})


class DebeziumAvro(ConnectAvro, Debezium):
    options_type = DebeziumAvroOptions

    @staticmethod
    def sniff_fields(names: Set[Any], named: bool) -> str | None:
        if ("op" in names and names & _EVENT_FIELDS) or names & _ROW_FIELDS:
            return "it starts like an Avro object container of Debezium events"
        return None

    @staticmethod
    def record_of(schema: Raw, payload: Raw) -> DebeziumRecord:
        return DebeziumRecord(schema=schema, payload=payload)

    def _schema(self, data: Raw) -> Schema:
        return super()._schema(self.words(data))


READ_SIDES = {"debezium_avro": dialect_input(DebeziumAvro, ConnectAvroReader, router=None)}
