"""One topic of a table, how a run sends to it, and what a consumer finds there."""

from __future__ import annotations

import time
import uuid
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from kafka_broker import KafkaBroker
from runs import operation, write_lines

import ggfmt
from ggfmt.diagnostics.diagnostic import Diagnostic, GgfmtError

RECENT = datetime.now(timezone.utc).replace(microsecond=0) - timedelta(hours=5)


def changes(path: Path, *records: dict[str, Any]) -> Path:
    """Operations of the table T with the primary key ID."""
    return write_lines(path, [{**record, "table": "S.T", "primary_keys": ["ID"]} for record in records])


def change(number: int, op: str = "I", at: datetime = RECENT, key: int = 1) -> dict[str, Any]:
    record = {**operation(number, ID=str(key)), "op_ts": at.strftime("%Y-%m-%d %H:%M:%S.%f")}
    if op == "D":
        record |= {"op_type": op, "before": record.pop("after")}
    return record


class Target:
    """A topic, and how a run sends to it."""

    def __init__(self, broker: KafkaBroker, directory: Path, config: dict[str, str] | None = None) -> None:
        self.broker, self.directory = broker, directory
        self.topic = broker.topic(1, config=config)
        self.job = f"j{uuid.uuid4().hex[:8]}"

    def send(self, *records: dict[str, Any], **options: Any) -> ggfmt.Result:
        settings = {
            "gg.handlerlist": "k",
            "gg.handler.k.type": "kafka",
            "gg.handler.k.mode": "op",
            "gg.handler.k.format": "json",
            "gg.handler.k.topicMappingTemplate": self.topic,
            "gg.handler.k.keyMappingTemplate": "${primaryKeys}",
            **options.pop("settings", {}),
        }
        given = changes(self.directory / "in.json", *records)
        return ggfmt.convert(
            given, settings=settings, output=self.broker.address, job=self.job, **{"master": "none[1]", **options}
        )

    def refused(self, *records: dict[str, Any], **options: Any) -> Diagnostic:
        with pytest.raises(GgfmtError) as caught:
            self.send(*records, **options)
        assert self.messages() == []
        return caught.value.diagnostics[0]

    def messages(self) -> list[Any]:
        """All messages, by a consumer that knows nothing of ggfmt."""
        from confluent_kafka import Consumer, TopicPartition

        consumer = Consumer({
            "bootstrap.servers": self.broker.brokers,
            "group.id": uuid.uuid4().hex,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
        })  # fmt: skip
        consumer.assign([TopicPartition(self.topic, 0, 0)])
        found = []
        limit = time.monotonic() + 20
        while time.monotonic() < limit:
            message = consumer.poll(1)
            if message is not None and message.error() is not None:
                break
            found += [] if message is None else [message]
        consumer.close()
        return found


@pytest.fixture
def target(kafka_broker: KafkaBroker, tmp_path: Path) -> Target:
    return Target(kafka_broker, tmp_path)
