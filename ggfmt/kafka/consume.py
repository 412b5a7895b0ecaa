"""Messages of topics: what a cluster has, and its messages from one offset to another, committed ones alone."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ggfmt.diagnostics.diagnostic import Abend, Diagnostic
from ggfmt.kafka.client import SECONDS, ClientSettings, kafka_errors_stop
from ggfmt.kafka.cluster import topic_settings

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message

_EARLIEST, _LATEST = -2, -1  # as times, in the protocol

_FIRST_BATCH, _LARGEST_BATCH = 100, 1000  # messages
_BATCH_BYTES = 8 << 20
_WAIT_SECONDS = 0.1  # for a message
_FETCH_MILLISECONDS = 50  # that a broker waits before it says that a partition has ended


def ends(
    settings: ClientSettings, partitions: Sequence[tuple[str, int]], committed: bool = False
) -> dict[tuple[str, int], int]:
    """Return the ends of partitions: the next offset, or with `committed` where the first open transaction begins."""
    consumer = settings.consumer(isolation_level="read_committed" if committed else "read_uncommitted")
    try:
        return _offsets(consumer, partitions, _LATEST, settings.shown)
    finally:
        consumer.close()


def _offsets(
    consumer: Consumer, partitions: Sequence[tuple[str, int]], point: int, shown: str
) -> dict[tuple[str, int], int]:
    """Return the first offsets of partitions that are not older than a `point` of time, by one request to each broker:
    milliseconds since 1970, `_EARLIEST` or `_LATEST`. The function of the admin client for
    that, `list_offsets`, crashes now and then (confluent-kafka 2.16.1)."""
    from confluent_kafka import KafkaException, TopicPartition

    asked = [TopicPartition(*pair, point) for pair in partitions]
    with kafka_errors_stop(shown):
        found = consumer.offsets_for_times(asked, timeout=SECONDS) if asked else []
        for place in found:
            if place.error is not None:
                raise KafkaException(place.error)
    return {(place.topic, place.partition): place.offset for place in found}


@dataclass(frozen=True)
class Mark:
    """By what a partition is known again: the id of its topic, and the last message that was read there or sent.

    id         empty where the broker has none
    offset     of the message; -1 for none
    timestamp  that the message's producer has given; -1 for none
    digest     of key and value
    """

    id: str = ""
    offset: int = -1
    timestamp: int = -1
    digest: str = ""

    @classmethod
    def of(cls, message: Message, id: str = "") -> Mark:
        from confluent_kafka import TIMESTAMP_CREATE_TIME

        key, value = message.key() or b"", message.value() or b""
        kind, time = message.timestamp()
        digest = hashlib.blake2b(b"%d %b%b" % (len(key), key, value), digest_size=16).hexdigest()
        return cls(id, message.offset() or 0, time if kind == TIMESTAMP_CREATE_TIME else -1, digest)


class Cluster:
    """A connection to read from; `close` ends it. `name`: the same by whichever broker, once `topics` were read."""

    name = ""

    def __init__(self, settings: ClientSettings, isolation: str = "read_committed") -> None:
        self.settings = settings
        self._consumer = settings.consumer(fetch_wait_max_ms=_FETCH_MILLISECONDS, isolation_level=isolation)
        self._assigned: object = None

    def close(self) -> None:
        self._consumer.close()

    def topics(self) -> Mapping[str, Sequence[int]]:
        """Return the numbers of the partitions of every topic. Raises: Abend GG571."""
        with kafka_errors_stop(self.settings.shown):
            metadata = self._consumer.list_topics(timeout=SECONDS)
        self.name = f"{metadata.cluster_id} {sorted(map(str, metadata.brokers.values()))}"
        found = metadata.topics
        return {name: sorted(topic.partitions) for name, topic in found.items() if topic.error is None}

    def bounds(self, topic: str, partitions: Sequence[int]) -> dict[int, tuple[int, int]]:
        """Return the first offset of each partition, and its last stable offset: an open transaction hides the rest."""
        pairs = [(topic, number) for number in partitions]
        first, last = (_offsets(self._consumer, pairs, point, self.settings.shown) for point in (_EARLIEST, _LATEST))
        return {number: (first[topic, number], last[topic, number]) for number in partitions}

    def at_time(self, topic: str, bounds: Mapping[int, tuple[int, int]], milliseconds: int) -> dict[int, int]:
        """Return the offset of the first message of each partition that is not older; the end if there is none."""
        pairs = [(topic, number) for number in bounds]
        found = _offsets(self._consumer, pairs, milliseconds, self.settings.shown)
        places = {number: found[topic, number] for number in bounds}
        return {number: min(places[number], end) if places[number] >= 0 else end for number, (_, end) in bounds.items()}

    def difference(self, topic: str, number: int, mark: Mark, id: str, bounds: tuple[int, int]) -> str | None:
        """Return why a partition is not the one of a mark, in words; None if it is, or if nothing shows that.

        The message of the mark is read where the broker has no ids. Retention or compaction may have removed it.
        """
        if mark.id and id:
            return None if mark.id == id else f"its id was `{mark.id}`, and is `{id}`"
        first, end = bounds
        if mark.offset < first:
            return None
        if mark.offset >= end:
            return f"partition {number} had a message at offset {mark.offset}, and ends at {end}"
        shown = f"{self.settings.shown}/{topic}/{number}"
        found = self.take(Partition(topic, number, mark.offset, mark.offset + 1, shown, mark.offset, batch=1))
        times = {mark.timestamp, *(Mark.of(message).timestamp for message in found)} - {-1}
        if found and Mark.of(found[0]).digest == mark.digest and len(times) < 2:
            return None
        if not found and "compact" in topic_settings(self.settings, [topic])[topic].get("cleanup.policy", ""):
            return None
        return f"partition {number} has not the message at offset {mark.offset} that it had"

    def take(self, part: Partition) -> list[Message]:
        """Return the next messages of a partition; none at the end of the range."""
        from confluent_kafka import KafkaError, KafkaException, TopicPartition

        limit = time.monotonic() + SECONDS
        with kafka_errors_stop(part.shown):
            if self._assigned is not part and part.place < part.end:
                self._consumer.assign([TopicPartition(part.topic, part.number, part.place)])
                self._assigned = part
            while part.place < part.end:
                # A full batch may never come: control records and aborted ones use offsets.
                first = self._consumer.poll(_WAIT_SECONDS)
                batch = [] if first is None else [first, *self._consumer.consume(part.batch - 1, 0)]
                for event in batch:
                    error: Any = event.error()
                    if error is None or event.topic() is None:  # others are of the group, which reads nothing here
                        continue
                    if error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
                        raise Abend.of(lost_messages(part.shown, part.place, None))
                    if error.code() != KafkaError._PARTITION_EOF:
                        raise KafkaException(error)
                    part.place = max(part.place, event.offset() or 0)
                found = [message for message in batch if message.error() is None]
                if found:
                    part.place = max(part.place, (found[-1].offset() or 0) + 1)
                    if part.place > part.end:
                        found = [message for message in found if (message.offset() or 0) < part.end]
                    size = sum(map(len, found)) // len(found) if found else 0
                    part.batch = max(1, min(_LARGEST_BATCH, _BATCH_BYTES // max(1, size)))
                if found:
                    return found
                if time.monotonic() > limit:
                    message = f"Kafka: no message in {SECONDS:g} seconds, although the range ends at {part.end}"
                    help = "check that the brokers run, and that the topic is still there; then run again"
                    raise Abend("GG571", message, part.shown, help)
        return []


@dataclass(eq=False)
class Partition:
    """Offsets of a partition to read: from `start`, before `end`. `place`: the offset to read next."""

    topic: str
    number: int
    start: int
    end: int
    shown: str
    place: int
    batch: int = _FIRST_BATCH


def lost_messages(shown: str, start: int, first: int | None) -> Diagnostic:
    """Return the error for offsets that the topic does not have any more, from `start` up to `first`."""
    to = "" if first is None else f" to {first - 1}"
    message = f"the messages from offset {start}{to} are gone: the topic does not keep them any more"
    help = "read what is left with `?from=beginning`, without `--checkpoint` or with a new one"
    return Diagnostic("GG579", message, shown, help)
