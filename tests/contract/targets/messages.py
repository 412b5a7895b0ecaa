"""Messages in files, on a disk and in stores, and in topics of Kafka. A reader folds them into rows."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

from kafka_broker import KafkaBroker

import ggfmt
from contract.targets import KEPT, LOST, Row, Target
from contract.targets.files import Files, in_stores
from ggfmt.commit.names import safe_name

HANDLER = {
    "gg.handlerlist": "m",
    "gg.handler.m.format": "json",
    "gg.handler.m.format.includePrimaryKeys": "true",
    "gg.handler.m.format.jsonDelimiter": "CDATA[\n]",
}


def folded_rows(messages: Iterable[bytes]) -> list[Row]:
    """Return the rows that operations in order leave. Numbers stay as they are written."""
    rows: dict[Any, Row] = {}
    for line in messages:
        message = json.loads(line, parse_int=str, parse_float=str)
        before, after = message.get("before"), message.get("after")
        old = rows.pop(_key(before or after), {})
        if after is not None:
            rows[_key(after)] = {**old, **after}
    return list(rows.values())


def _key(image: Row) -> Any:
    """Numbers are one key if they are equal."""
    key = image.get("ID")
    return key if key is None or not key.replace(".", "").isdigit() else float(key)


class Messages(Target):
    has_rows = False

    def unresolved(self, said: Any) -> int:
        return 0  # each message is there, whatever its key is


class MessageFiles(Messages, Files):
    name = "messages"
    foreign = KEPT
    dropped = made_again = LOST  # consumers may take files away
    kills = True

    def run(self, **settings: Any) -> Any:
        given = {"checkpoint": str(self.directory / "seen"), "master": "none", **settings}
        return ggfmt.convert(self.changes, output=self.place.address, settings=HANDLER, **given)

    def command(self) -> list[str]:
        settings = [word for name, value in HANDLER.items() for word in ("--set", f"{name}={value}")]
        place = ["-o", self.place.address, "--checkpoint", str(self.directory / "seen")]
        return ["-q", "run", str(self.changes), *place, "--master", "none", *settings]

    def directory_of(self, table: str) -> str:
        return f"m/{safe_name(table)}"

    def rows(self, table: str) -> list[Row]:
        files = self.place.files(self.directory_of(table))
        lines = (line for name, data in files.items() if name != "foreign.txt" for line in data.split(b"\n"))
        return folded_rows(line for line in lines if line)


class Kafka(Messages):
    name, server = "kafka", "kafka_broker"
    foreign, kills = KEPT, True
    dropped = made_again = LOST
    loses: ClassVar = {"quotes": "GG577", "blanks": "GG577"}
    point = "ggfmt.sinks.kafka.send:_Sender._commit"

    def __init__(self, directory: Path, server: KafkaBroker) -> None:
        super().__init__(directory)
        self._broker, self._job = server, f"j{uuid.uuid4().hex[:8]}"
        own = {"type": "kafka", "mode": "op", "keyMappingTemplate": "${primaryKeys}", "format.jsonDelimiter": ""}
        own["topicMappingTemplate"] = f"{self._job}.${{tableName}}"
        self._handler = HANDLER | {f"gg.handler.m.{name}": value for name, value in own.items()}

    def run(self, **settings: Any) -> Any:
        given = {"checkpoint": str(self.directory / "seen"), "master": "none", "create_topics": 1, **settings}
        return ggfmt.convert(self.changes, output=self._broker.address, settings=self._handler, job=self._job, **given)

    def command(self) -> list[str]:
        settings = [word for name, value in self._handler.items() for word in ("--set", f"{name}={value}")]
        place = ["-o", self._broker.address, "--checkpoint", str(self.directory / "seen"), "--job", self._job]
        return ["-q", "run", str(self.changes), *place, "--master", "none", "--create-topics", "1", *settings]

    def _topic(self, table: str) -> str:
        return f"{self._job}.{table.rpartition('.')[2]}"

    def rows(self, table: str) -> list[Row]:
        (messages,) = self._broker.messages(self._topic(table))
        return folded_rows(value for _, value in messages if value is not None and value.startswith(b"{"))

    def add_foreign(self, table: str) -> None:
        self._broker.send(self._topic(table), [(b"77", b"of another program")])

    def drop(self, table: str) -> None:
        from confluent_kafka.admin import AdminClient

        topic, admin = self._topic(table), AdminClient({"bootstrap.servers": self._broker.brokers})
        admin.delete_topics([topic])[topic].result(15)

    def make(self, table: str) -> None:
        self._broker.topic(1, self._topic(table))


TARGETS: list[type[Target]] = [MessageFiles, Kafka, *in_stores(MessageFiles)]
