"""What the jobs of ggfmt have sent, in a topic of the cluster, and the transactions that send and remember it.

A job has a record with the name of the job as its key, and one for each partition that it sends to, with the key
`JOB/TOPIC/PARTITION`. The topic is compacted: the last record of a key counts. Records are in the transactions of the
messages that they describe, so that a partition has exactly the messages that its record says.

`Transactions` fences every earlier producer of its id, and ends its transaction, before the records are read.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from ggfmt.diagnostics.diagnostic import Abend
from ggfmt.java.text import visible
from ggfmt.kafka.client import SECONDS, ClientSettings, LibraryLog, kafka_error, kafka_errors_stop
from ggfmt.kafka.cluster import topic_settings
from ggfmt.kafka.consume import Cluster, Partition, ends

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, KafkaException, Producer
    from confluent_kafka import Message as KafkaMessage

STATE_TOPIC = "ggfmt.state"
STATE = STATE_TOPIC, 0  # its one partition
OWN_TOPICS = {STATE_TOPIC, "__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata"}
TRANSACTION_SECONDS = 60  # after which the cluster ends the transaction of a producer that is gone
ATOMIC_SECONDS = 900  # the most that clusters take by default
_HIDDEN_SECONDS = 3.0  # that a transaction which is being committed may take
_PIECE_BYTES = 500_000  # of a long record, which is divided into several
_QUEUE_KILOBYTES = 2_000_000

_REPORT_EVERY = 50  # messages: a report of each takes as long as to send it

Message = dict[str, Any]  # as `Producer.produce_batch` takes it: `key`, `value`, and perhaps `headers` and `timestamp`


class Fenced(Exception):
    """Another producer with the same transactional id has taken over."""


class Transactions:
    """A producer of messages in transactions. Raises: Abend GG571 for errors of the cluster, `Fenced` where another
    took over.

    After an error the transaction that was open is aborted, by this producer or by the next one of its id.
    """

    def __init__(self, settings: ClientSettings, id: str, seconds: int = TRANSACTION_SECONDS, **own: Any) -> None:
        self._shown = settings.shown
        self._open = False
        self.delivered: dict[tuple[str, int], KafkaMessage] = {}  # the last one of each partition
        self._lines = LibraryLog()
        self._producer: Producer = settings.producer(
            logger=self._lines,
            transactional_id=id,
            transaction_timeout_ms=seconds * 1000,
            queue_buffering_max_kbytes=_QUEUE_KILOBYTES,
            queue_buffering_max_messages=10_000_000,
            **own,
        )
        with self._errors():
            self._producer.init_transactions(SECONDS)

    def _note(self, error: KafkaError | None, message: KafkaMessage) -> None:
        """Keep a message that was delivered, or why it was not, which the error of the transaction does not say."""
        from confluent_kafka import KafkaError

        if error is None:
            self.delivered[message.topic() or "", message.partition() or 0] = message
        elif error.code() not in (KafkaError._MSG_TIMED_OUT, KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT):
            self._lines.reason = error.str()

    @contextmanager
    def _errors(self, topic: str | None = None) -> Iterator[None]:
        from confluent_kafka import KafkaError, KafkaException

        try:
            yield
        except KafkaException as error:
            cause = self._cause(error)
            self._open &= not cause.args[0].fatal()
            fencing = KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED
            if cause.args[0].code() in fencing:
                raise Fenced from None
            reason = ""
            if cause.args[0].code() in (KafkaError._TIMED_OUT, KafkaError._INCONSISTENT, KafkaError._STATE):
                self._producer.poll(0)  # takes the lines
                reason = self._lines.reason
            place = self._shown if topic is None or self._lines.has_failed_transaction else f"{self._shown}/{topic}"
            raise Abend.of(kafka_error(cause, place, reason)) from None

    def _cause(self, error: KafkaException) -> KafkaException:
        """Return why the producer has failed for good, if an error says only that it has."""
        from confluent_kafka import KafkaError, KafkaException

        if error.args[0].code() == KafkaError._FATAL:
            try:
                self._producer.abort_transaction(SECONDS)
            except KafkaException as cause:
                return cause
        return error

    def send(self, topic: str, partition: int, messages: list[Message]) -> None:
        """Add messages to the open transaction. The caller ends it before the queue is full."""
        from confluent_kafka import KafkaException

        producer = self._producer
        with self._errors(topic):
            if not self._open:
                producer.begin_transaction()
                self._open = True
            for message in (*messages[::_REPORT_EVERY], messages[-1]):
                message["callback"] = self._note
            if messages[0].keys() & {"headers", "timestamp"}:  # `produce_batch` takes none
                for message in messages:
                    producer.produce(topic, partition=partition, **message)
            elif producer.produce_batch(topic, messages, partition) != len(messages):
                raise KafkaException(next(message["_error"] for message in messages if "_error" in message))
            producer.poll(0)

    def flush(self) -> None:
        """Wait until the cluster has all messages of the transaction. If it has failed, `commit` says why."""
        limit = time.monotonic() + TRANSACTION_SECONDS
        with self._errors():
            while len(self._producer) and not self._lines.has_failed_transaction:
                self._producer.poll(0.1)  # `flush` raises what is no exception where a producer was fenced
                if time.monotonic() > limit:
                    reason = self._lines.reason or f"messages were not delivered in {TRANSACTION_SECONDS} seconds"
                    raise Abend.of(kafka_error(TimeoutError(), self._shown, reason))

    def commit(self, records: Mapping[str, bytes]) -> None:
        """Commit the transaction, with these records of the job."""
        from confluent_kafka import KafkaException

        messages: list[Message] = []
        for key, value in records.items():
            pieces = [value[at : at + _PIECE_BYTES] for at in range(0, len(value), _PIECE_BYTES)] or [b""]
            pieces[0] = b"%d " % len(pieces) + pieces[0]
            names = (f"{key}#{number}" if number else key for number in range(len(pieces)))
            messages += [{"key": name.encode(), "value": piece} for name, piece in zip(names, pieces, strict=True)]
        if messages:
            self.send(STATE_TOPIC, 0, messages)
        limit = time.monotonic() + TRANSACTION_SECONDS
        with self._errors():
            while self._open:
                try:
                    self._producer.commit_transaction(1.0)  # which an interrupt waits for
                    self._open = False
                except KafkaException as error:
                    found = error.args[0]
                    if found.txn_requires_abort():
                        self._producer.abort_transaction(SECONDS)
                    if not found.retriable() or time.monotonic() > limit:
                        raise

    def close(self) -> None:
        """End an open transaction without its messages, as far as the cluster can be reached."""
        from confluent_kafka import KafkaException

        with suppress(KafkaException):  # then the cluster ends it, or the next producer of this id
            if self._open:
                self._producer.purge()
                self._producer.abort_transaction(SECONDS)
        del self._producer  # its `close` would warn of an open transaction


def make_state_topic(settings: ClientSettings, replication: int = -1) -> None:
    """Make the topic of the records, unless it is there. Raises: Abend GG574 if its records may expire."""
    make_topics(settings, {STATE_TOPIC: 1}, replication, {"cleanup.policy": "compact"})
    policy = topic_settings(settings, [STATE_TOPIC])[STATE_TOPIC].get("cleanup.policy", "compact")
    if policy != "compact":
        message = f"the cluster forgets what jobs have sent: the topic has `cleanup.policy={policy}`"
        raise Abend("GG574", message, f"{settings.shown}/{STATE_TOPIC}", "set `cleanup.policy=compact` for the topic")


def make_topics(
    settings: ClientSettings, topics: Mapping[str, int], replication: int = -1, config: Mapping[str, str] | None = None
) -> None:
    """Make topics with these numbers of partitions; those that are there stay. `replication` -1: the cluster's."""
    from confluent_kafka import KafkaError, KafkaException
    from confluent_kafka.cimpl import NewTopic

    if not topics:
        return
    admin = settings.admin()
    wanted = [NewTopic(name, count, replication, config=dict(config or {})) for name, count in topics.items()]
    for topic, made in admin.create_topics(wanted, operation_timeout=SECONDS, request_timeout=SECONDS).items():
        with kafka_errors_stop(f"{settings.shown}/{topic}"):
            try:
                made.result(2 * SECONDS)
            except KafkaException as error:
                if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise


def read_records(settings: ClientSettings, job: str | None, since: int = 0, whole: bool = True) -> dict[str, bytes]:
    """Return the records of a job, or of all jobs, from an offset on.

    Open transactions hide what follows them: wait for their end. Raises: Abend GG571 if one does not end. Without
    `whole` return the records before it then, after some seconds.
    """
    end = ends(settings, [STATE])[STATE]
    limit = time.monotonic() + (1.5 * TRANSACTION_SECONDS if whole else _HIDDEN_SECONDS)
    while (stable := ends(settings, [STATE], committed=True)[STATE]) < end:
        if time.monotonic() > limit:
            if not whole:
                end = stable
                break
            help = "run again when the cluster has ended that transaction (`transaction.timeout.ms` of its producer)"
            message = f"Kafka: an open transaction of another producer hides the records in `{STATE_TOPIC}`"
            raise Abend("GG571", message, settings.shown, help)
        time.sleep(0.05)
    found: dict[str, bytes] = {}
    cluster = Cluster(settings)
    try:
        first = cluster.bounds([STATE])[STATE][0]
        part = Partition(*STATE, max(first, since), end, f"{settings.shown}/{STATE_TOPIC}")
        for _, messages in cluster.read([part]):
            for key, value in zip(messages["key"].to_pylist(), messages["value"].to_pylist(), strict=True):
                name = (key or b"").decode(errors="replace")
                if value is None:
                    found.pop(name, None)
                elif job is None or name == job or name.startswith((f"{job}/", f"{job}#")):
                    found[name] = value
    finally:
        cluster.close()
    return _joined(found)


def _joined(found: Mapping[str, bytes]) -> dict[str, bytes]:
    joined = {}
    for name, value in found.items():
        if "#" not in name:
            count, _, first = value.partition(b" ")
            if not count.isdigit():
                raise foreign_record(name)
            joined[name] = b"".join([first, *(found.get(f"{name}#{number}", b"") for number in range(1, int(count)))])
    return joined


def foreign_record(name: str) -> Abend:
    message = f"the topic `{STATE_TOPIC}` has a record `{visible(name)}` that is not one of this ggfmt"
    help = "give another `--job`; or send a message without a value to the topic, with the key of the record"
    return Abend("GG574", message, STATE_TOPIC, help)


def owner_of(topic: str, partition: int | None, owners: int) -> int:
    """Return which of several producers sends to a partition; with None, to all partitions of a topic."""
    return (zlib.crc32(topic.encode()) + (partition or 0)) % owners
