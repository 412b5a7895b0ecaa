"""Messages of topics: what a cluster has, and its messages from one offset to another, committed ones alone."""

from __future__ import annotations

import hashlib
import sys
import time
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import pyarrow as pa

from ggfmt.arrow.arrays import int64_view, narrow
from ggfmt.dataclasses import dataclass
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic
from ggfmt.kafka.client import SECONDS, ClientSettings, LibraryLog, kafka_error, kafka_errors_stop
from ggfmt.kafka.cluster import topic_settings

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message

Pair = tuple[str, int]  # a topic and one of its partitions

# The columns of messages. `timestamp`: milliseconds since 1970 that the producer has given; NULL for the time of a
# broker, or none.
_COLUMNS: dict[str, pa.DataType] = {
    "key": pa.binary(),
    "value": pa.binary(),
    "partition": pa.int32(),
    "offset": pa.int64(),
    "timestamp": pa.int64(),
    "headers": pa.map_(pa.string(), pa.binary()),
}
MESSAGES = pa.schema(_COLUMNS)

_EARLIEST, _LATEST = -2, -1  # as times, in the protocol

_FIRST_BATCH, _LARGEST_BATCH = 100, 1000  # messages
_BATCH_BYTES = 8 << 20
_WAIT_SECONDS = 0.1  # for a message
_FETCH_MILLISECONDS = 50  # that a broker waits before it says that a partition has ended


def ends(settings: ClientSettings, partitions: Collection[Pair], committed: bool = False) -> dict[Pair, int]:
    """Return the ends of partitions: the next offset, or with `committed` where the first open transaction begins."""
    consumer = settings.consumer(isolation_level="read_committed" if committed else "read_uncommitted")
    try:
        return _offsets(consumer, partitions, _LATEST, settings.shown)
    finally:
        consumer.close()


def _offsets(consumer: Consumer, partitions: Collection[Pair], point: int, shown: str) -> dict[Pair, int]:
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
    def of(cls, messages: pa.RecordBatch, id: str = "") -> Mark:
        """Return the mark of the last one of messages."""
        (last,) = messages.slice(len(messages) - 1).to_pylist()
        key, value = last["key"] or b"", last["value"] or b""
        digest = hashlib.blake2b(b"%d %b%b" % (len(key), key, value), digest_size=16).hexdigest()
        return cls(id, last["offset"], -1 if last["timestamp"] is None else last["timestamp"], digest)


def columns_of(messages: Sequence[Message]) -> pa.RecordBatch:
    """Return messages as the columns `MESSAGES`."""
    from confluent_kafka import TIMESTAMP_CREATE_TIME, Message

    times = [time if kind == TIMESTAMP_CREATE_TIME else None for kind, time in map(Message.timestamp, messages)]
    methods = Message.key, Message.value, Message.partition, Message.offset, None, Message.headers
    columns = [times if method is None else list(map(method, messages)) for method in methods]
    return pa.RecordBatch.from_pydict(dict(zip(_COLUMNS, columns, strict=True)), schema=MESSAGES)


def _by_partition(messages: Sequence[Message]) -> dict[tuple[str | None, int | None], list[Message]]:
    """Return the messages of each partition in their order, as `map` calls methods faster than a loop."""
    from confluent_kafka import Message

    found: dict[tuple[str | None, int | None], list[Message]] = {}
    start = 0
    for pair, run in groupby(zip(map(Message.topic, messages), map(Message.partition, messages), strict=True)):
        end = start + len(list(run))
        found.setdefault(pair, []).extend(messages[start:end])
        start = end
    return found


class Cluster:
    """A connection to read from; `close` ends it. `name`: the same by whichever broker, once `topics` were read."""

    name = ""

    def __init__(self, settings: ClientSettings, isolation: str = "read_committed") -> None:
        self.settings = settings
        self._lines = LibraryLog()
        own = {"fetch_wait_max_ms": _FETCH_MILLISECONDS, "isolation_level": isolation, "logger": self._lines}
        self._consumer = settings.consumer(**own)
        self._active: object = None  # what is assigned

    def close(self) -> None:
        self._consumer.close()

    def topics(self) -> Mapping[str, list[int]]:
        """Return the numbers of the partitions of every topic. Raises: Abend GG571."""
        with kafka_errors_stop(self.settings.shown):
            metadata = self._consumer.list_topics(timeout=SECONDS)
        self.name = f"{metadata.cluster_id} {sorted(map(str, metadata.brokers.values()))}"
        found = metadata.topics
        return {name: sorted(topic.partitions) for name, topic in found.items() if topic.error is None}

    def bounds(self, partitions: Collection[Pair]) -> dict[Pair, tuple[int, int]]:
        """Return the first offset of each partition, and its last stable offset: an open transaction hides the rest."""
        shown = self.settings.shown
        first, last = (_offsets(self._consumer, partitions, point, shown) for point in (_EARLIEST, _LATEST))
        return {pair: (first[pair], last[pair]) for pair in partitions}

    def at_time(self, bounds: Mapping[Pair, tuple[int, int]], milliseconds: int) -> dict[Pair, int]:
        """Return the offset of the first message of each partition that is not older; the end if there is none."""
        found = _offsets(self._consumer, bounds, milliseconds, self.settings.shown)
        return {pair: min(found[pair], end) if found[pair] >= 0 else end for pair, (_, end) in bounds.items()}

    def committed(self, partitions: Collection[Pair], group: str) -> dict[Pair, int]:
        """Return the offsets that a group of consumers has committed, without those that it lacks. This does not join
        the group."""
        from confluent_kafka import KafkaException, TopicPartition

        consumer = self.settings.consumer(group_id=group)
        try:
            with kafka_errors_stop(self.settings.shown):
                found = consumer.committed([TopicPartition(*pair) for pair in partitions], timeout=SECONDS)
                for place in found:
                    if place.error is not None:
                        raise KafkaException(place.error)
        finally:
            consumer.close()
        return {(place.topic, place.partition): place.offset for place in found if place.offset >= 0}

    def differences(
        self, marks: Mapping[Pair, Mark], ids: Mapping[str, str], bounds: Mapping[Pair, tuple[int, int]]
    ) -> dict[Pair, str]:
        """Return why partitions are not those of their marks, in words; none of those of which nothing shows that.

        `ids`: of the topics. Where there are none, the messages of the marks are read. Retention or compaction may have
        removed them.
        """
        found = {}
        doubtful = []
        for (topic, number), mark in marks.items():
            id, (first, end) = ids.get(topic, ""), bounds[topic, number]
            if mark.id and id:
                if mark.id != id:
                    found[topic, number] = f"its id was `{mark.id}`, and is `{id}`"
            elif mark.offset >= end:
                found[topic, number] = f"partition {number} had a message at offset {mark.offset}, and ends at {end}"
            elif mark.offset >= first:
                shown = f"{self.settings.shown}/{topic}/{number}"
                doubtful.append(Partition(topic, number, mark.offset, mark.offset + 1, shown))
        there = {part.pair: Mark.of(messages) for part, messages in self.read(doubtful)}
        gone = {part.topic for part in doubtful if part.pair not in there}
        policies = topic_settings(self.settings, sorted(gone)) if gone else {}
        for part in doubtful:
            mark, message = marks[part.pair], there.get(part.pair)
            if message is None:
                is_same = "compact" in policies[part.topic].get("cleanup.policy", "")
            else:
                is_same = message.digest == mark.digest and len({mark.timestamp, message.timestamp} - {-1}) < 2
            if not is_same:
                found[part.pair] = f"partition {part.number} has not the message at offset {mark.offset} that it had"
        return found

    def read(self, parts: Iterable[Partition]) -> Iterator[tuple[Partition, pa.RecordBatch]]:
        """Yield the messages of ranges as they arrive: a range, and its next messages, at least one, as the columns
        `MESSAGES`. Each range is read in order.

        All partitions are read at once; several ranges of one follow each other. What waits for the caller is bounded
        for all together (`queued.max.messages.kbytes`). A caller may lower the end of a range, and may begin another
        `read` before this one has ended. Raises: Abend GG571, GG579.
        """
        waiting = [*parts]
        while waiting := [part for part in waiting if part.place < part.end]:
            active: dict[Pair, Partition] = {}
            for part in waiting:
                active.setdefault(part.pair, part)
            yield from self._read(active)

    def _read(self, active: dict[Pair, Partition]) -> Iterator[tuple[Partition, pa.RecordBatch]]:
        """As `read`, for ranges of different partitions; those that have ended leave `active`."""
        from confluent_kafka import KafkaError, KafkaException, TopicPartition

        batch = _FIRST_BATCH
        ended: set[Pair] = set()  # of the partitions that are assigned
        surplus: set[Pair] = set()  # those that have brought more than was wanted
        heard = time.monotonic()
        while active:
            with kafka_errors_stop(self.settings.shown):
                if self._active is not active:
                    self._consumer.assign([TopicPartition(*pair, part.place) for pair, part in active.items()])
                    self._active = active
                    ended.clear()
                elif surplus:
                    self._consumer.incremental_unassign([TopicPartition(*pair) for pair in surplus])
                surplus.clear()
                # A full batch may never come: control records and aborted ones use offsets.
                first = self._consumer.poll(_WAIT_SECONDS)
                events = [] if first is None else [first, *self._consumer.consume(batch - 1, 0)]
            arrived = _by_partition([event for event in events if event.error() is None])
            failed: dict[tuple[str | None, int | None], list[Message]] = {}
            for event in events if sum(map(len, arrived.values())) < len(events) else ():
                if event.error() is not None:
                    failed.setdefault((event.topic(), event.partition()), []).append(event)
            columns, row = columns_of([message for own in arrived.values() for message in own]), 0
            offsets = int64_view(narrow(columns["offset"], pa.Int64Array))
            found: list[tuple[Partition, pa.RecordBatch]] = []
            is_silent = True
            for key in {**arrived, **failed}:
                pair, begin = (key[0] or "", key[1] or 0), row
                row += len(arrived.get(key, ()))
                part = active.get(pair)
                if part is None:  # an error of the group, which reads nothing here; or of no use any more
                    if pair in ended:
                        ended.remove(pair)
                        surplus.add(pair)
                    continue
                is_silent = False
                first_row, end_row = part.take(offsets, begin, row)
                for event in failed.get(key, ()):
                    error = event.error()
                    if error is not None and error.code() != KafkaError._PARTITION_EOF:
                        if error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
                            raise Abend.of(lost_messages(part.shown, part.place, None))
                        raise Abend.of(kafka_error(KafkaException(error), part.shown))
                    part.place = max(part.place, event.offset() or 0)
                if part.place >= part.end or not part.limit:
                    part.end = min(part.end, part.place)
                    del active[pair]
                    ended.add(pair)
                if first_row < end_row:
                    found.append((part, columns.slice(first_row, end_row - first_row)))
            yield from found
            if row:
                batch = max(1, min(_LARGEST_BATCH, _BATCH_BYTES * row // max(1, columns.nbytes)))
            if not is_silent:
                heard = time.monotonic()  # after what the caller has done meanwhile
            elif time.monotonic() > heard + SECONDS:
                raise _silence(next(iter(active.values())), len(active) - 1, self._lines.reason)


@dataclass(eq=False)
class Partition:
    """Offsets of a partition to read: from `place`, which moves on, before `end`; and at most `limit` messages."""

    topic: str
    number: int
    place: int
    end: int
    shown: str
    limit: int = sys.maxsize

    @property
    def pair(self) -> Pair:
        return self.topic, self.number

    def take(self, offsets: Sequence[int], begin: int, end: int) -> tuple[int, int]:
        """Return which of the next messages of the partition, with the offsets in this range, are wanted, and move
        on."""
        first, stop = (bisect_left(offsets, place, begin, end) for place in (self.place, self.end))
        if stop - first >= self.limit:
            stop = first + self.limit
            self.place = offsets[stop - 1] + 1
        elif begin < end:
            self.place = max(self.place, offsets[end - 1] + 1 if stop == end else self.end)
        self.limit -= stop - first
        return first, stop


def _silence(part: Partition, others: int, reason: str) -> Abend:
    where = f"at offset {part.place}, although the range ends at {part.end}"
    message = f"Kafka: no message in {SECONDS:g} seconds {where}"
    message += f", nor in {others:,} more" if others else ""
    message += f": {reason}" if reason else ""
    help = "check that the brokers run, and that the topic is still there; then run again"
    return Abend("GG571", message, part.shown, help)


def lost_messages(shown: str, start: int, first: int | None) -> Diagnostic:
    """Return the error for offsets that the topic does not have any more, from `start` up to `first`."""
    to = "" if first is None else f" to {first - 1}"
    message = f"the messages from offset {start}{to} are gone: the topic does not keep them any more"
    help = "read what is left with `?from=beginning`, without `--checkpoint` or with a new one"
    return Diagnostic("GG579", message, shown, help)
