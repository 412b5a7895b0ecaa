"""Messages on their way to Kafka: what tasks stage, with the topic, the partition, the key and the headers of each.

They wait in files of Arrow, one for each task and sender, until all of them are there: so a mistake in the data sends
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import STAGED, as_strings, concatenated, narrow, non_null_values
from ggfmt.columnar.metadata import Clock
from ggfmt.columnar.pieces import join_binary
from ggfmt.columnar.strings import rows_where
from ggfmt.columnar.timestamps import floor_millis, text_micros
from ggfmt.dataclasses import dataclass, field, replace
from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import Projection
from ggfmt.formats.api.writing import Formatter, RowErrors, TextFraming
from ggfmt.formats.avro.confluent import head
from ggfmt.formats.goldengate.kafkaconnect.converters import Converter, Converters, converted_keys
from ggfmt.kafka.jobs import owner_of
from ggfmt.kernels import primitives
from ggfmt.location import Location
from ggfmt.model.change import ChangeBatch, OpType
from ggfmt.model.table import TableDef
from ggfmt.reading.progress import Stopwatch
from ggfmt.reading.tasks import unique_name
from ggfmt.sinks.kafka.templates import Addressed, Addressing, AddressSettings
from ggfmt.sinks.messages.pipeline import FormattedBatch, HandlerOutput, Job
from ggfmt.sinks.messages.sink import HandlerTaskOutput, HandlerWriter

_FLUSH_BYTES = 4 << 20
OVERHEAD_BYTES = 100  # of a message in a batch of the protocol, at most
_JOB_HEADERS_BYTES = 300  # of the headers with the job, the run and the sequence, at most
_HEADERS = pa.map_(pa.string(), pa.binary())
_COLUMNS: dict[str, pa.DataType] = {
    "topic": pa.string(),
    "partition": pa.int32(),  # null: the sender takes one after the other
    "key": pa.binary(),
    "value": pa.binary(),
    "headers": _HEADERS,
    "timestamp": pa.int64(),  # milliseconds since 1970; null: the time at which the message is sent
    "transaction": pa.string(),  # of messages that the sender joins; else null
    "op_ts": pa.int64(),  # of the change, where the sender paces messages by it, in microseconds since 1970; else null
    "definition": pa.string(),  # of the table that a message describes; else null
}
SCHEMA = pa.schema(_COLUMNS)


@dataclass(frozen=True)
class Grouping:
    """Which operations become one message: whole transactions of the source until there are `least` operations, but no
    more than `most`, so that a larger transaction is divided. As of GROUPTRANSOPS and MAXTRANSOPS of a Replicat."""

    least: int = 1
    most: int | None = None

    def goes_on(self, count: int, same: bool) -> bool:
        """Return whether an operation joins a message of so many. `same`: it is of the last one's transaction."""
        return (same or count < self.least) and (self.most is None or count < self.most)


@dataclass(frozen=True, kw_only=True)
class TopicOutput(HandlerOutput):
    """The topics that a handler's messages go to.

    partitions   of each topic of the cluster
    missing      the partitions of a topic that the run makes; None if it makes none
    owners       how many senders there are; each has whole partitions
    joined       which operations become one message; None: each is a message
    in_order     the order of different tables matters
    schemas      the topic of schemas; None for none
    converters   of Kafka Connect; None for a handler of another type
    is_dry       no schema may be registered
    headers      messages have headers with the job, the run and the sequence
    by_op_ts     messages have the times of their changes
    is_paced     the sender needs the times of changes
    tombstones   a message without a value follows each delete
    """

    addresses: AddressSettings
    partitions: Mapping[str, int] = field(default_factory=dict)
    missing: int | None = None
    owners: int = 1
    joined: Grouping | None = None
    in_order: bool = True
    schemas: str | None = None
    converters: Converters | None = None
    is_dry: bool = False
    headers: bool = False
    by_op_ts: bool = False
    is_paced: bool = False
    tombstones: bool = False

    @property
    def overhead(self) -> int:
        """Bytes of a message beside its key, its value and the headers of the handler, at most."""
        return OVERHEAD_BYTES + _JOB_HEADERS_BYTES * self.headers


@dataclass
class TopicTotals:
    """What goes to a topic; `largest` is the size of a message with its key and headers; `times`: the first and the
    last time of messages that do not have the time of sending, in milliseconds since 1970."""

    messages: int = 0
    bytes: int = 0
    largest: int = 0
    times: tuple[int, int] | None = None

    @property
    def described(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if value is not None}

    def add(self, other: TopicTotals) -> None:
        self.messages += other.messages
        self.bytes += other.bytes
        self.largest = max(self.largest, other.largest)
        both = [*(self.times or ()), *(other.times or ())]
        self.times = (min(both), max(both)) if both else None


@dataclass(frozen=True)
class StagedMessages:
    """A file of staged messages of one sender; `split` gives the order of files."""

    owner: int
    split: int
    location: Location
    size: int


class Descriptions:
    """Which descriptions of tables are new in their order: each task stages those of its first operations."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, bytes, str], str] = {}

    def are_new(self, topic: str, key: bytes, definition: str) -> bool:
        name, _, fingerprint = definition.rpartition(" ")
        last = self._last.get((topic, key, name))
        self._last[topic, key, name] = fingerprint
        return last != fingerprint


@dataclass
class TopicTaskOutput(HandlerTaskOutput):
    """`descriptions`: topic, key, definition and size of each, with repetitions; `topics` counts other messages."""

    staged: list[StagedMessages] = field(default_factory=list)
    topics: dict[str, TopicTotals] = field(default_factory=dict)
    descriptions: list[tuple[str, bytes, str, int]] = field(default_factory=list)


class TopicWriter(HandlerWriter):
    """Stages the messages of a task."""

    target: TopicOutput

    def __init__(
        self, job: Job, ordinal: int, epoch: int, target: HandlerOutput, attempt: int, clock: Clock, watch: Stopwatch
    ) -> None:
        super().__init__(job, ordinal, target, attempt, clock, watch)
        assert isinstance(self.target, TopicOutput)
        self._result: TopicTaskOutput = TopicTaskOutput()
        self._clock = clock
        self._tables: dict[str, _StagedTable] = {}
        self._parts: list[tuple[pa.RecordBatch, pa.Int64Array]] = []
        self._waiting: list[pa.RecordBatch] = []
        self._bytes = 0
        self._lost = 0
        self._files: dict[int, _File] = {}

    @property
    def projection(self) -> Projection:
        own, target = super().projection, self.target
        tokens = own.tokens or target.addresses.needs_tokens
        return replace(own, tokens=tokens, transactions=target.joined is not None, in_order=target.in_order)

    def _write(self, formatted: FormattedBatch) -> Iterator[tuple[int, Diagnostic]]:
        definition = formatted.operations.table
        table = self._tables.get(definition.full_name)
        if table is None or table.definition != definition:
            table = self._tables[definition.full_name] = _StagedTable(self.target, definition, self._clock)
        values, lost = table.encoded(formatted.messages)
        try:
            batch = table.batch(formatted.arranged, values, formatted.formatter)
        except RowErrors as errors:
            yield from ((formatted.rows[formatted.sources[row]], diagnostic) for row, diagnostic in errors.rows)
            return
        self._count(formatted)
        self._lost += lost
        self._parts += (
            (description, pa.repeat(formatted.arranged.ordinal[0], len(description)))
            for description in table.descriptions(batch["topic"])
        )
        ordinals = formatted.arranged.ordinal
        if self.target.tombstones:
            rows, batch = with_tombstones(batch, formatted.arranged.op)
            ordinals = ordinals.take(rows)
        self._parts.append((batch, ordinals))

    @property
    def _lost_characters(self) -> int:
        return self._lost

    def end_of_chunk(self) -> None:
        if not self._parts:
            return
        batches = [batch for batch, _ in self._parts]
        if self.target.in_order and len(batches) > 1:
            order = pc.array_sort_indices(pa.concat_arrays([ordinals for _, ordinals in self._parts]))  # a stable sort
            batches = [concatenated(batches, SCHEMA).take(order)]
        self._parts = []
        for batch in batches:
            self._total(batch)
            self._waiting.append(batch)
            self._bytes += batch.nbytes
        if self._bytes >= _FLUSH_BYTES:
            self._flush()

    def new_epoch(self, epoch: int) -> None:
        self.end_of_chunk()

    def _total(self, batch: pa.RecordBatch) -> None:
        lengths = pc.add(_length(batch["value"]), _length(batch["key"]))
        headers = batch["headers"]
        if headers.null_count < len(headers):
            lengths = pc.add(lengths, pa.scalar(max(_header_bytes(row) for row in headers.to_pylist()), pa.int64()))
        table = pa.table({"topic": batch["topic"], "bytes": lengths, "time": batch["timestamp"]})
        if batch["definition"].null_count < len(batch):
            described = batch["definition"].is_valid()
            columns = batch["topic"], batch["key"], batch["definition"], lengths
            rows = zip(*(column.filter(described).to_pylist() for column in columns), strict=True)
            self._result.descriptions += rows
            table = table.filter(pc.invert(described))
        found = table.group_by("topic", use_threads=False).aggregate(
            [("bytes", "count"), ("bytes", "sum"), ("bytes", "max"), ("time", "min"), ("time", "max")]
        )
        for topic, count, size, largest, *times in zip(*(found[name].to_pylist() for name in _TOTALS), strict=True):
            totals = TopicTotals(
                count, size, largest + self.target.overhead, None if times[0] is None else (times[0], times[1])
            )
            self._result.topics.setdefault(topic, TopicTotals()).add(totals)

    def _flush(self) -> None:
        batches, self._waiting, self._bytes = self._waiting, [], 0
        if not batches:
            return
        batch = concatenated(batches, SCHEMA)
        if self.target.owners == 1:
            self._file(0).write(batch)
            return
        pairs = zip(non_null_values(batch["topic"]), batch["partition"].to_pylist(), strict=True)
        owners = pa.array([owner_of(topic, partition, self.target.owners) for topic, partition in pairs], pa.int64())
        for owner in non_null_values(pc.unique(owners)):
            self._file(owner).write(batch.filter(pc.equal(owners, owner)))

    def _file(self, owner: int) -> _File:
        file = self._files.get(owner)
        if file is None:
            location = self._directory.location(f"{unique_name()}.arrow")
            file = self._files[owner] = _File(location)
        return file

    def close(self) -> HandlerTaskOutput:
        self.end_of_chunk()
        self._flush()
        for owner, file in self._files.items():
            self._result.staged.append(StagedMessages(owner, self._split, file.location, file.close()))
        return super().close()


_TOTALS = ("topic", "bytes_count", "bytes_sum", "bytes_max", "time_min", "time_max")


def _length(texts: pa.Array[Any]) -> pa.Int64Array:
    return pc.cast(pc.fill_null(pc.binary_length(texts), 0), pa.int64())


def _header_bytes(headers: list[tuple[str, bytes]] | None) -> int:
    return sum(len(name) + len(value or b"") + 10 for name, value in headers or ())


class _File:
    def __init__(self, location: Location) -> None:
        self.location = location
        self._stream = location.create()
        self._writer = pa.ipc.new_stream(self._stream, SCHEMA, options=STAGED)

    def write(self, batch: pa.RecordBatch) -> None:
        self._writer.write_batch(batch)

    def close(self) -> int:
        self._writer.close()
        size = self._stream.tell()
        self._stream.close()
        return size


class _StagedTable:
    """Where the messages of one definition go, and how they become bytes."""

    def __init__(self, target: TopicOutput, definition: TableDef, clock: Clock) -> None:
        self.definition = definition
        self._target = target
        self._addressing = Addressing(definition, target.addresses, clock)
        self._framing = target.settings.framing(definition)
        # In files, messages of other systems and of converters are lines, and their ends are no part of them.
        format = FORMATS[target.settings.format]
        is_of_formatter = format.is_formatter
        self._strips = isinstance(self._framing, TextFraming) and not is_of_formatter
        self._described: set[str] = set()  # topics that have the preamble, or the schemas

    def encoded(self, messages: pa.Array[Any]) -> tuple[pa.BinaryArray, int]:
        """Return the bytes of each message, and the number of characters that the encoding does not have."""
        if self._strips:
            messages = pc.utf8_rtrim(messages, "\n")
        return self._framing.encode(messages)

    def batch(self, operations: ChangeBatch, values: pa.BinaryArray, formatter: Formatter) -> pa.RecordBatch:
        addressed: Addressed = self._addressing.of(operations)
        count, target = len(values), self._target
        topic = addressed.topic
        topics = pa.repeat(pa.scalar(topic, pa.string()), count) if isinstance(topic, str) else topic
        keys = pa.nulls(count, pa.binary()) if addressed.keys is None else pc.cast(addressed.keys, pa.binary())
        if target.converters is not None:
            if addressed.keys is not None:
                keys = converted_keys(addressed.keys, target.converters.key)
                keys = self._with_heads(keys, target.converters.key, topics, target.converters.key.key_schema)
            values = self._with_heads(
                values, target.converters.value, topics, target.converters.value.schema_of(formatter)
            )
        transactions = _transactions(operations) if target.joined else None
        times = _times(operations) if target.by_op_ts else None
        op_ts = text_micros(operations.op_ts)[0] if target.is_paced else None
        if target.tombstones:
            _check_keys(operations, keys)
        headers = _headers(addressed, count)
        return _batch(topics, self._partitions(topic, keys), keys, values, headers, times, transactions, op_ts, None)

    def _with_heads(
        self, data: pa.BinaryArray, converter: Converter, topics: pa.StringArray, schema: str
    ) -> pa.BinaryArray:
        """Return data with the id that its schema has for the topic in front, if the converter has a registry."""
        if converter.registry is None:
            return data
        names = topics.dictionary_encode()
        numbers = (converter.schema_id(name, schema, self._target.is_dry) for name in non_null_values(names.dictionary))
        heads = pa.array([head(number or 0) for number in numbers], pa.binary()).take(names.indices)
        return join_binary([heads, data], len(data))

    def _partitions(self, topic: str | pa.StringArray, keys: pa.BinaryArray) -> pa.Int32Array:
        known, missing = self._target.partitions, self._target.missing
        if isinstance(topic, str):
            return partitions_of(keys, known.get(topic, missing))
        names = topic.dictionary_encode()
        parts = pa.nulls(len(keys), pa.int32())
        for place, name in enumerate(non_null_values(as_strings(names.dictionary))):
            parts = pc.if_else(pc.equal(names.indices, place), partitions_of(keys, known.get(name, missing)), parts)
        return narrow(parts, pa.Int32Array)

    def descriptions(self, topics: pa.Array[Any]) -> Iterator[pa.RecordBatch]:
        """Yield messages that describe the definition, before the first operation in each topic or in the topic of
        schemas; the sender drops repetitions."""
        settings, definition, schemas = self._target.settings, self.definition, self._target.schemas
        named = non_null_values(pc.unique(topics)) if schemas is None else [schemas]
        for topic in (name for name in named if name not in self._described):
            self._described.add(topic)
            files = {} if schemas is None else {file.name: file.content for file in settings.schema_files(definition)}
            preamble = settings.preamble(definition)
            if preamble is not None:
                files[""] = preamble.data.rstrip(b"\n") if self._strips else preamble.data
            if files:
                keys = pa.array([definition.full_name.encode()] * len(files), pa.binary())
                names = pa.array([f"{name} {definition.fingerprint}" for name in files])
                repeated = pa.repeat(pa.scalar(topic, pa.string()), len(files))
                values = pa.array(files.values(), pa.binary())
                yield _batch(repeated, self._partitions(topic, keys), keys, values, None, None, None, None, names)


def partitions_of(keys: pa.BinaryArray, count: int | None) -> pa.Int32Array:
    """Return the partition that Kafka's own Java producer chooses for each key, null for a null key. `count`: how many
    the topic has, None if unknown."""
    if count is None:
        return pa.nulls(len(keys), pa.int32())
    found = pa.py_buffer(primitives.partitions(keys, count))
    numbers = pa.Int32Array.from_buffers(pa.int32(), len(keys), [None, found])
    return narrow(pc.if_else(keys.is_valid(), numbers, pa.scalar(None, pa.int32())), pa.Int32Array)


def _transactions(operations: ChangeBatch) -> pa.StringArray:
    """Return the transaction of each operation. Raises: RowErrors with GG577 for operations without one."""
    found = operations.transaction
    lacking = range(len(operations)) if found is None else rows_where(found.is_null())
    if found is None or lacking:
        place = Span(table=operations.table.full_name)
        help = "set `mode=op` in the handler file, so that each operation is a message"
        message = "with `mode=tx` a message is a transaction, and the input does not show which one an operation has"
        raise RowErrors([(row, Diagnostic("GG577", message, place, help)) for row in lacking])
    return found


def _times(operations: ChangeBatch) -> pa.Int64Array:
    """Return the time of each operation. Raises: RowErrors with GG577 for operations without one."""
    micros, wrong = text_micros(operations.op_ts)
    times = floor_millis(micros)
    # Clients take 0 for the present time, and brokers refuse what is before.
    lacking = {*wrong, *rows_where(pc.fill_null(pc.less(times, 1), True))}
    if lacking:
        place = Span(table=operations.table.full_name)
        help = "leave out `--timestamps op_ts`, so that a message has the time at which it is sent"
        problem = Diagnostic("GG577", "the operation does not show its time, or one before 1970", place, help)
        raise RowErrors([(row, problem) for row in sorted(lacking)])
    return times


def _check_keys(operations: ChangeBatch, keys: pa.BinaryArray) -> None:
    """Raises: RowErrors with GG577 for deletes without a key."""
    rows = rows_where(pc.and_(pc.equal(operations.op, OpType.DELETE.value), keys.is_null()))
    if rows:
        place = Span(table=operations.table.full_name)
        help = "set `keyMappingTemplate` to a key, or leave out `--tombstones`"
        raise RowErrors([(row, Diagnostic("GG577", "a tombstone needs a key", place, help)) for row in rows])


def with_tombstones(batch: pa.RecordBatch, op: pa.StringArray) -> tuple[pa.Int64Array, pa.RecordBatch]:
    """Return messages with one more, without a value, after each delete; before them, the row of each message."""
    places = pa.array(range(len(batch)), pa.int64())
    deletes = places.filter(pc.equal(op, OpType.DELETE.value))
    rows = pa.concat_arrays([places, deletes])
    order = pc.array_sort_indices(rows)  # a stable sort
    values = pa.concat_arrays([batch["value"], pa.nulls(len(deletes), pa.binary())]).take(order)
    rows = narrow(rows.take(order), pa.Int64Array)
    found = batch.take(rows)
    return rows, found.set_column(SCHEMA.get_field_index("value"), SCHEMA.field("value"), values)


def _headers(addressed: Addressed, count: int) -> pa.Array[Any] | None:
    if not addressed.headers:
        return None
    names = pa.array([name for name, _ in addressed.headers] * count, pa.string())
    values = [non_null_values(column) for _, column in addressed.headers]
    offsets = pa.array(range(0, count * len(values) + 1, len(values)), pa.int64())
    texts = pa.array([value for row in zip(*values, strict=True) for value in row], pa.binary())
    return pa.MapArray.from_arrays(offsets, names, texts)


def _batch(*columns: pa.Array[Any] | None) -> pa.RecordBatch:
    count = next(len(column) for column in columns if column is not None)
    pairs = zip(columns, SCHEMA, strict=True)
    whole = [pa.nulls(count, item.type) if column is None else column for column, item in pairs]
    return pa.RecordBatch.from_arrays(whole, schema=SCHEMA)
