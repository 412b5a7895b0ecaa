"""Reader of messages of the Kafka Connect handler in Avro."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from msgspec import Raw

from ggfmt.formats.goldengate.kafkaconnect import KafkaConnectAvroOptions
from ggfmt.formats.goldengate.kafkaconnect.read import ConnectSchema, KafkaConnect
from ggfmt.formats.records.connect_avro import ConnectAvro, ConnectAvroReader
from ggfmt.formats.records.reader import dialect_input


class KafkaConnectAvro(ConnectAvro, KafkaConnect):
    options_type = KafkaConnectAvroOptions

    @staticmethod
    def sniff_fields(names: Set[Any], named: bool) -> str | None:
        if named and names >= {"op_type", "table"}:
            return "it starts like an Avro object container of Kafka Connect with operations of GoldenGate"
        return None

    @staticmethod
    def record_of(schema: Raw, payload: Raw) -> dict[str, Raw]:
        return {"schema": schema, "payload": payload}

    def _schema(self, data: Raw) -> ConnectSchema:
        return super()._schema(self.words(data))


READ_SIDES = {"kafkaconnect_avro": dialect_input(KafkaConnectAvro, ConnectAvroReader, router=None)}
