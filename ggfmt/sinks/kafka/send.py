"""The senders of a run: each takes its staged messages to whole partitions of topics, exactly once.

A sender goes on where the last transaction of its partitions ended. The record of a partition has the number of
messages that the run has sent to it, and a digest of them; so one that has sent other messages is found out.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import READ, memory, non_null_values
from ggfmt.dataclasses import dataclass, field, replace
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic
from ggfmt.kafka.client import ClientSettings
from ggfmt.kafka.cluster import topic_ids
from ggfmt.kafka.consume import Cluster, Mark, Pair, columns_of
from ggfmt.kafka.jobs import ATOMIC_SECONDS, TRANSACTION_SECONDS, Fenced, Message, Transactions, read_records
from ggfmt.kafka.request import Pace
from ggfmt.sinks.kafka.pace import Pacer
from ggfmt.sinks.kafka.staging import SCHEMA, Descriptions, Grouping, StagedMessages
from ggfmt.sinks.kafka.state import JobState, decode_record

_COMMIT_MESSAGES, _COMMIT_BYTES, _COMMIT_SECONDS = 50_000, 32 << 20, 10.0
_PACED_SECONDS = 1.0  # as _COMMIT_SECONDS, with a pace: consumers see a message when its transaction ends
JOB, RUN, SEQUENCE = "ggfmt.job", "ggfmt.run", "ggfmt.sequence"  # headers; the sequence counts from 1 in a partition
_BATCH_BYTES = 1_000_000  # of the protocol, as clients have it by default


class PartitionRecord(msgspec.Struct, frozen=True):
    """What a run has sent to a partition. `last`: its last message, `at`: when it was committed, in seconds since 1970;
    records of earlier versions have neither."""

    run: str
    messages: int
    digest: str
    last: Mark = Mark()
    at: float = 0.0


class PartitionDigest:
    """A digest of messages in order, the same for every way to divide them into batches."""

    def __init__(self) -> None:
        self.messages = self.bytes = 0
        self._parts = [hashlib.blake2b(digest_size=16) for _ in range(4)]

    def update(self, keys: pa.Array[Any], values: pa.Array[Any]) -> None:
        self.messages += len(values)
        lengths = (pc.fill_null(pc.cast(pc.binary_length(column), pa.int32()), -1) for column in (keys, values))
        data = [_data(column) for column in (keys, values, *lengths)]
        self.bytes += len(data[0]) + len(data[1])
        for part, bytes in zip(self._parts, data, strict=True):
            part.update(bytes)

    @property
    def text(self) -> str:
        return hashlib.blake2b(b"".join(part.digest() for part in self._parts), digest_size=16).hexdigest()


def _data(column: pa.Array[Any]) -> memoryview:
    """Return the bytes of the values of an array, one after the other."""
    *_, data = column.buffers()
    if data is None:
        return memoryview(b"")
    if pa.types.is_binary(column.type):
        offsets = memory(column.buffers()[1]).cast("i")
        return memory(data)[offsets[column.offset] : offsets[column.offset + len(column)]]
    width = column.type.bit_width // 8
    return memory(data)[column.offset * width : (column.offset + len(column)) * width]


@dataclass(frozen=True)
class Sending:
    """What all senders of a run share.

    run        the id of the run whose messages they are, which may have been begun by an earlier one
    session    the id of this attempt, by which a sender knows that its run was overtaken
    since      the offset of the records in the state topic from which on there may be some of this run
    partitions of each topic
    is_complete  all messages are sent, so that there must be no others
    """

    settings: ClientSettings
    job: str
    run: str
    session: str
    since: int
    partitions: Mapping[str, int]
    atomic: bool = False
    rate: float | None = None
    pace: Pace | None = None
    joined: Grouping | None = None
    is_complete: bool = False
    largest: int = _BATCH_BYTES
    limit: int = _BATCH_BYTES
    headers: bool = False


@dataclass
class SendOutcome:
    """What a sender has done: the record of each of its partitions, and whether another run has taken over."""

    records: dict[Pair, PartitionRecord] = field(default_factory=dict)
    sent: int = 0
    overtaken: bool = False


def transactional_id(job: str, owner: int | None = None) -> str:
    return f"ggfmt.{job}" if owner is None else f"ggfmt.{job}.{owner}"


def send(
    sending: Sending,
    share: Sequence[StagedMessages],
    attempt: int,
    waits: Callable[[float, float], None] = lambda seconds, due: None,
) -> SendOutcome:
    """Send the messages of one owner. `waits` takes the seconds of each pause, and when what follows is due, in seconds
    of the schedule. Raises: Abend GG571, and GG574 if the job has sent others."""
    outcome = SendOutcome()
    if not share:
        return outcome
    if _is_overtaken(sending, whole=False):  # before this producer would fence that of the newer run
        outcome.overtaken = True
        return outcome
    try:
        transactions = Transactions(
            sending.settings,
            transactional_id(sending.job, share[0].owner),
            ATOMIC_SECONDS if sending.atomic else TRANSACTION_SECONDS,
            message_max_bytes=max(_BATCH_BYTES, sending.largest),
            batch_size=min(_BATCH_BYTES, sending.limit),
        )
        try:
            records = read_records(sending.settings, sending.job, sending.since)
            if _session(records, sending.job) != sending.session:
                outcome.overtaken = True
                return outcome
            begun = partition_records(records, sending.job, sending.run)
            _Sender(sending, transactions, begun, outcome, waits).send(share)
        finally:
            transactions.close()
    except Fenced:
        if not _is_overtaken(sending):
            raise OSError("a copy of this task has taken over") from None
        outcome.overtaken = True
    return outcome


def _is_overtaken(sending: Sending, whole: bool = True) -> bool:
    records = read_records(sending.settings, sending.job, sending.since, whole)
    return _session(records, sending.job) != sending.session


class _Session(msgspec.Struct):
    session: str


def _session(records: Mapping[str, bytes], job: str) -> str | None:
    return decode_record(job, records[job], _Session).session if job in records else None


def partition_records(records: Mapping[str, bytes], job: str, run: str) -> dict[Pair, PartitionRecord]:
    """Return what a run has sent to each partition."""
    found = {}
    for name, value in records.items():
        if name != job:
            record = decode_record(name, value, PartitionRecord)
            if record.run == run:
                _, topic, number = name.split("/")
                found[topic, int(number)] = record
    return found


class _Sender:
    def __init__(
        self,
        sending: Sending,
        transactions: Transactions,
        begun: Mapping[Pair, PartitionRecord],
        outcome: SendOutcome,
        waits: Callable[[float, float], None],
    ) -> None:
        self._sending = sending
        self._waits = waits
        self._transactions = transactions
        self._begun = begun
        self._outcome = outcome
        self._digests: dict[Pair, PartitionDigest] = {}
        self._touched: set[Pair] = set()
        self._turns: dict[str, int] = {}
        self._headers = [(JOB, sending.job.encode()), (RUN, sending.run.encode())]
        self._messages = self._bytes = 0
        self._last = time.monotonic()
        self._next = 0.0  # the monotonic time from which on the rate allows messages

    def send(self, share: Sequence[StagedMessages]) -> None:
        seconds = 0.0
        for batch, due, seconds in self._parts(slices(staged(share, self._sending.joined), self._sending.rate)):
            self._wait(max(due, self._next), seconds)
            start, before = time.monotonic(), self._outcome.sent
            self._send(batch)
            if self._sending.rate is not None:
                self._next = max(self._next, start) + (self._outcome.sent - before) / self._sending.rate
            if self._messages < _COMMIT_MESSAGES and self._bytes < _COMMIT_BYTES:
                continue
            if self._sending.atomic:
                self._transactions.flush()
                self._messages = self._bytes = 0
            else:
                self._commit()
        self._wait(self._next, seconds)  # so that the rate holds for what another run sends next
        self._commit()
        rest = self._digests.keys() - self._outcome.records.keys()  # of which earlier attempts have sent all
        self._outcome.records |= {pair: self._record(pair) for pair in rest}

    def _parts(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[pa.RecordBatch, float, float]]:
        """Yield messages to send together, the monotonic time at which they are due, and that time in the schedule."""
        if self._sending.pace is None:
            yield from ((batch, 0.0, 0.0) for batch in batches)
            return
        sent = sum(record.messages for record in self._begun.values())
        pacer = Pacer(self._sending.pace, sent, max((record.at for record in self._begun.values()), default=0.0))
        for batch in batches:
            yield from pacer.parts(batch)

    def _wait(self, due: float, seconds: float) -> None:
        """Wait until a monotonic time. A transaction that would be open for too long meanwhile ends before."""
        most = _COMMIT_SECONDS if self._sending.pace is None else _PACED_SECONDS
        if max(due, time.monotonic()) - self._last > most and not self._sending.atomic:
            self._commit()
        pause = due - time.monotonic()
        if pause > 0:
            self._waits(pause, seconds)
            time.sleep(pause)

    def _send(self, batch: pa.RecordBatch) -> None:
        for pair, part in self._divided(batch):
            digest = self._digests.setdefault(pair, PartitionDigest())
            before = self._begun[pair].messages - digest.messages if pair in self._begun else 0
            if before > 0:
                digest.update(part["key"].slice(0, before), part["value"].slice(0, before))
                part = part.slice(before)
                if digest.messages == self._begun[pair].messages and digest.text != self._begun[pair].digest:
                    raise Abend.of(other_messages(self._sending.settings, self._sending.job, pair))
            if len(part):
                if self._sending.is_complete:
                    raise Abend.of(other_messages(self._sending.settings, self._sending.job, pair))
                messages = _messages(part)
                if self._sending.headers:
                    for number, message in enumerate(messages, digest.messages + 1):
                        message["headers"] = [*message.get("headers", ()), *self._headers, (SEQUENCE, b"%d" % number)]
                digest.update(part["key"], part["value"])
                self._transactions.send(*pair, messages)
                self._touched.add(pair)
                self._messages += len(part)
                self._bytes += part.nbytes
                self._outcome.sent += len(part)

    def _divided(self, batch: pa.RecordBatch) -> Iterator[tuple[Pair, pa.RecordBatch]]:
        """Yield the partitions with their messages."""
        names = batch["topic"].dictionary_encode()
        topics, places = non_null_values(names.dictionary), pc.cast(names.indices, pa.int64())
        partitions = pc.cast(self._chosen(batch["topic"], batch["partition"]), pa.int64())
        width = 1 + (pc.max(partitions).as_py() or 0)
        numbers = pc.add(pc.multiply(places, width), partitions)
        order = pc.array_sort_indices(numbers)  # a stable sort
        runs = pc.run_end_encode(numbers.take(order))
        batch = batch.take(order) if len(runs.values) > 1 else batch
        start = 0
        for number, end in zip(non_null_values(runs.values), non_null_values(runs.run_ends), strict=True):
            yield (topics[number // width], number % width), batch.slice(start, end - start)
            start = end

    def _chosen(self, topics: pa.Array[Any], partitions: pa.Array[Any]) -> pa.Array[Any]:
        """Return the partitions of messages. Those without one take the partitions of their topic in turn."""
        if not partitions.null_count:
            return partitions
        chosen: list[int] = []
        for topic, partition in zip(non_null_values(topics), partitions.to_pylist(), strict=True):
            if partition is None:
                turn = self._turns.get(topic, 0)
                self._turns[topic], partition = turn + 1, turn % self._sending.partitions[topic]
            chosen.append(partition)
        return pa.array(chosen, pa.int32())

    def _record(self, pair: Pair) -> PartitionRecord:
        digest, last = self._digests[pair], self._transactions.delivered.get(pair)
        known = self._begun[pair].last if pair in self._begun else Mark()
        mark = known if last is None else Mark.of(columns_of([last]))
        return PartitionRecord(self._sending.run, digest.messages, digest.text, mark, time.time())

    def _commit(self) -> None:
        if self._touched:
            self._transactions.flush()  # so that the offsets of the last messages are known
            made = {pair: self._record(pair) for pair in self._touched}
            names = {pair: f"{self._sending.job}/{pair[0]}/{pair[1]}" for pair in made}
            self._transactions.commit({names[pair]: msgspec.json.encode(record) for pair, record in made.items()})
            self._outcome.records |= made
        self._touched.clear()
        self._messages = self._bytes = 0
        self._last = time.monotonic()


def changed_topics(
    settings: ClientSettings, run: JobState, sent: Mapping[Pair, PartitionRecord]
) -> Iterator[tuple[str, str, bool]]:
    """Yield each topic that does not have all that a run has sent to it, the reason, and whether it is another topic of
    the same name: else it keeps messages for a shorter time."""
    ids = topic_ids(settings, run.partitions)
    cluster = Cluster(settings, "read_uncommitted")  # an open transaction of another program may hide messages
    try:
        there = cluster.topics()
        topics = sorted({topic for topic, _ in sent})
        pairs = [(topic, n) for topic in topics for n in range(min(len(run.begins[topic]), len(there.get(topic, ()))))]
        records = {pair: sent.get(pair, PartitionRecord(run.run, 0, "")) for pair in pairs}
        bounds = cluster.bounds(pairs)
        marks = {pair: replace(records[pair].last, id=run.ids.get(pair[0], "")) for pair in pairs}
        differences = cluster.differences(marks, ids, bounds)
        for topic in topics:
            begins = run.begins[topic]
            if len(there.get(topic, ())) < len(begins):
                yield topic, "it was deleted", True  # and perhaps made again, with fewer partitions
                continue
            for number, begin in enumerate(begins):
                pair = topic, number
                if pair in differences:
                    yield topic, f"it was deleted and made again; {differences[pair]}", True
                    break
                if records[pair].messages and begin < bounds[pair][0]:
                    yield topic, f"partition {number} keeps messages only from offset {bounds[pair][0]} on", False
                    break
    finally:
        cluster.close()


def other_messages(settings: ClientSettings, job: str, pair: Pair) -> Diagnostic:
    message = f"an earlier attempt of the job `{job}` has sent other messages to partition {pair[1]}"
    help = "run with the inputs, the settings and the version of ggfmt of that attempt, or give another `--job`"
    return Diagnostic("GG574", message, f"{settings.shown}/{pair[0]}", help)


_DESCRIPTION = ("topic", "key", "definition")


def _messages(batch: pa.RecordBatch) -> list[Message]:
    columns = zip(batch["key"].to_pylist(), batch["value"].to_pylist(), strict=True)
    messages: list[Message] = [{"key": key, "value": value} for key, value in columns]
    headers, times = batch["headers"], batch["timestamp"]
    if headers.null_count < len(batch):
        for message, own in zip(messages, headers.to_pylist(), strict=True):
            message["headers"] = own or []
    if times.null_count < len(batch):
        for message, time in zip(messages, times.to_pylist(), strict=True):
            message["timestamp"] = time or 0  # the client takes 0 for the present time
    return messages


def staged(share: Iterable[StagedMessages], joined: Grouping | None = None) -> Iterator[pa.RecordBatch]:
    """Yield staged messages in their order, less repetitions; `joined`: those of a group as one."""
    batches = _without_repetitions(_batches(share))
    return batches if joined is None else join_messages(batches, joined)


def staged_times(share: Iterable[StagedMessages]) -> Iterator[pa.Array[Any]]:
    """Yield the times by which staged messages are paced, in their order."""
    options = pa.ipc.IpcReadOptions(use_threads=False, included_fields=[SCHEMA.get_field_index("op_ts")])
    return (batch["op_ts"] for batch in _batches(share, options))


def _batches(share: Iterable[StagedMessages], options: pa.ipc.IpcReadOptions = READ) -> Iterator[pa.RecordBatch]:
    for file in sorted(share, key=lambda file: file.split):
        with file.location.open_file() as stream, pa.ipc.open_stream(stream, options=options) as reader:
            yield from reader


def _without_repetitions(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    descriptions = Descriptions()
    for batch in batches:
        if batch["definition"].null_count < len(batch):
            rows = zip(*(batch[name].to_pylist() for name in _DESCRIPTION), strict=True)
            batch = batch.filter(pa.array([row[-1] is None or descriptions.are_new(*row) for row in rows], pa.bool_()))
        yield batch


def join_messages(batches: Iterable[pa.RecordBatch], grouping: Grouping) -> Iterator[pa.RecordBatch]:
    """Yield batches of one message for each group: its first message, with the bytes of all."""
    rows: list[dict[str, Any]] = []
    for batch in batches:
        for row in batch.to_pylist():
            if rows and row["definition"] is not None and rows[-1]["definition"] is None:
                rows.insert(-1, {**row, "parts": [row["value"]]})  # before the group that has its first operation
            elif rows and row["transaction"] is not None and _goes_on(grouping, rows[-1], row["transaction"]):
                rows[-1]["parts"].append(row["value"])
                rows[-1]["transaction"] = row["transaction"]
            else:
                rows.append({**row, "parts": [row["value"]]})
        ready, rows = rows[:-1], rows[-1:]
        if ready:
            yield _of_rows(ready, batch.schema)
    if rows:
        yield _of_rows(rows, batch.schema)


def _goes_on(grouping: Grouping, message: Mapping[str, Any], transaction: str) -> bool:
    last = message["transaction"]
    return last is not None and grouping.goes_on(len(message["parts"]), last == transaction)


def _of_rows(rows: Sequence[dict[str, Any]], schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{**row, "value": b"".join(row["parts"])} for row in rows], schema=schema)


def slices(batches: Iterable[pa.RecordBatch], rate: float | None) -> Iterator[pa.RecordBatch]:
    """Yield batches that are small enough to end a transaction in time."""
    most = _COMMIT_MESSAGES if rate is None else max(1, min(_COMMIT_MESSAGES, int(rate)))
    for batch in batches:
        size = max(1, min(most, len(batch) * _COMMIT_BYTES // max(batch.nbytes, 1)))
        for start in range(0, len(batch), size):
            yield batch.slice(start, size)
