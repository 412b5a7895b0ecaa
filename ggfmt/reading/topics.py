"""Topics of Kafka as inputs: a range of each partition, in a file for as long as a command runs.

The end of the range is fixed at the start: the last stable offset. The first values of a topic decide what its files
are. Values in JSON become lines with the whole message, as dumps have them (`formats.json.dumps`); bytes that are not
UTF-8 are there in Base64, for the rejects. All other values follow each other as in a file of their format.
"""

from __future__ import annotations

import base64
import logging
import re
from array import array
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime, timezone
from enum import Enum
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw

from ggfmt.commit.names import counted
from ggfmt.dataclasses import dataclass, field, replace
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic, Span, UsageError, list_names, suggestion
from ggfmt.formats.api.reading import Chunk
from ggfmt.formats.json.files import find_layout, record_spans
from ggfmt.java.text import visible
from ggfmt.lazy import lazy_regex
from ggfmt.reading.files import InputFile
from ggfmt.reading.recognition import reader_of
from ggfmt.reading.standard_input import Offsets, Spool, SpooledInputs

if TYPE_CHECKING:
    from ggfmt.kafka.address import KafkaAddress
    from ggfmt.kafka.consume import Cluster, Mark, Partition

_OPTIONS = ("from", "to", "partitions")
_BEGINNING, _END = "beginning", "end"
_FIRST_TIME = 10**12  # as milliseconds; smaller numbers are offsets
_MAX_PARTITIONS = 100_000
_HIDDEN = "__"  # how topics of Kafka itself start, which globs leave out; and one of ggfmt

log = logging.getLogger("ggfmt")


def files_of(inputs: SpooledInputs, given: str) -> list[InputFile]:
    """Return the files of topics. Raises: UsageError, or Abend GG518, GG571, GG572 or GG579."""
    from ggfmt.config.kafka_producer import client_of
    from ggfmt.kafka.consume import Cluster

    wanted = TopicRange.of(given)
    cluster = Cluster(client_of(wanted.address, inputs.topics.properties))
    with ExitStack() as connected:
        connected.callback(cluster.close)
        spool = Spool(inputs.held, inputs.lazy, inputs.topics.staging)
        topics = wanted.topics(cluster)
        files = [file for topic in topics for file in _of_topic(inputs, wanted, topic, cluster, spool)]
        if inputs.lazy:
            inputs.held.push(connected.pop_all())
        return files


def _of_topic(
    inputs: SpooledInputs, wanted: TopicRange, topic: tuple[str, Sequence[int]], cluster: Cluster, spool: Spool
) -> list[InputFile]:
    from ggfmt.kafka.cluster import topic_ids
    from ggfmt.kafka.consume import Mark, Partition

    name, numbers = topic
    shown = {number: partition_name(wanted.address, name, number) for number in numbers}
    if inputs.begun is not None:
        numbers = [number for number in numbers if shown[number] in inputs.begun]
    id = "" if inputs.marks is None else topic_ids(cluster.settings, [name]).get(name, "")
    marks = {number: _mark_of((inputs.marks or {}).get(shown[number])) for number in numbers}
    bounds = cluster.bounds(name, numbers)
    ranges = wanted.ranges(cluster, name, bounds)
    problems = []
    by_topic = {path.split("/", 3)[3]: path for path in inputs.ends}
    for number, (first, end) in bounds.items():
        place = f"{name}/{number}"
        if (cluster.name, place) in inputs.taken:
            message, help = "the partition is an input twice", "name each topic once, or different partitions"
            problems.append(Diagnostic("GG571", message, shown[number], help))
        inputs.taken.add((cluster.name, place))
        known = inputs.ends.get(shown[number])
        if known is None and inputs.begun is None and place in by_topic:
            message = f"the checkpoint has this topic by another address: `{by_topic[place]}`"
            help = "use that address; for a topic of another cluster, use another `--checkpoint`"
            problems.append(Diagnostic("GG579", message, shown[number], help))
        if inputs.begun is not None:
            ranges[number] = inputs.begun[shown[number]]
        elif known is not None:
            ranges[number] = known, max(known, ranges[number][1])
        problem = _range_problem(shown[number], ranges[number][0], first, end)
        if problem is None and (difference := cluster.difference(name, number, marks[number], id, (first, end))):
            problem = _other_topic(shown[number], f"the topic is not the one of the checkpoint: {difference}")
        problems += [] if problem is None else [problem]
    if problems:
        raise UsageError.of(*problems)
    if wanted.starts and any(shown[number] in inputs.ends for number in numbers):
        log.info("`from` of `%s` is for new partitions alone: the checkpoint has the others", visible(name))
    kind = _Kind()
    files = []
    for number, (start, end) in ranges.items():
        part = Partition(name, number, start, end, shown[number], start)
        path = spool.path(shown[number], f"{name}-{number}")
        index = path.with_name(f"{path.name}.messages")
        source = _PartitionBytes(part, partial(cluster.take, part), kind, inputs.limit, index)
        file = replace(spool.keep(source, shown[number], path), key_schema=source.key_schema)
        mark = replace(marks[number], id=id) if source.last is None else Mark.of(source.last, id)
        text = msgspec.json.encode(mark).decode()
        files.append(replace(file, offsets=(start, end), messages=str(index), mark=text))
    total = sum(end - start for start, end in ranges.values())
    where = visible(replace(wanted.address, topic=name).shown)
    log.info("%s: %s of %s", where, counted(total, "offset"), counted(len(ranges), "partition"))
    if inputs.limit is not None:
        log.info("%s: only the first %s of each partition", where, counted(inputs.limit, "message"))
    if kind.skipped:
        log.info("%s: skipped %s without a value", where, counted(kind.skipped, "message"))
    return files


def _mark_of(text: str | None) -> Mark:
    """Return the mark in a checkpoint; those of earlier versions have none."""
    from ggfmt.kafka.consume import Mark

    return msgspec.json.decode(text, type=Mark) if text else Mark()


def partition_name(address: KafkaAddress, topic: str, number: int) -> str:
    return f"{replace(address, topic=topic).shown}/{number}"


def _range_problem(shown: str, start: int, first: int, end: int) -> Diagnostic | None:
    from ggfmt.kafka.consume import lost_messages

    if start < first:
        return lost_messages(shown, start, first)
    if start > end:
        return _other_topic(shown, f"offset {start} is after the end of the partition, {end}")
    return None


def _other_topic(shown: str, message: str) -> Diagnostic:
    help = "is this another topic of that name? Read it from its beginning, with a new `--checkpoint` or none"
    return Diagnostic("GG579", message, shown, help)


# Ranges


@dataclass(frozen=True)
class TopicRange:
    """The topics and offsets that an input names. `starts`: it says where to start."""

    address: KafkaAddress
    starts: bool
    start: int | datetime | str
    end: int | datetime | str
    partitions: Sequence[int] | None

    @classmethod
    def of(cls, given: str) -> TopicRange:
        """Parse an input. Raises: UsageError GG571."""
        from ggfmt.kafka.address import parse_address

        address = parse_address(given)
        options = dict(address.options)
        for name, _ in address.options:
            if name not in _OPTIONS:
                help = suggestion(name, _OPTIONS) or f"legal options are {list_names(_OPTIONS)}"
                raise _wrong(address, f"`{visible(name)}` is not an option of a topic", help)
        if not address.topic:
            raise _wrong(address, "the address names no topic", "write `kafka://HOST:9092/TOPIC`")
        return cls(
            address,
            "from" in options,
            _point(address, "from", options.get("from", _BEGINNING)),
            _point(address, "to", options.get("to", _END)),
            _partitions(address, options["partitions"]) if "partitions" in options else None,
        )

    def topics(self, cluster: Cluster) -> list[tuple[str, Sequence[int]]]:
        """Return the topics with their partitions, each once. Raises: UsageError GG572, GG579."""
        every = cluster.topics()
        names: dict[str, None] = {}
        for pattern in self.address.topic.split(","):
            found = [pattern] if pattern in every else _matches(pattern, every)
            if not found:
                place = Span(file=replace(self.address, topic=pattern).shown)
                help = suggestion(pattern, every) or "check the name of the topic and the address of the broker"
                raise UsageError("GG572", "the topic does not exist", place, help)
            names |= dict.fromkeys(found)
        for name in names:
            lacking = sorted(set(self.partitions or ()) - set(every[name]))
            if lacking:
                message = f"the topic has no partition {lacking[0]}: it has {counted(len(every[name]), 'partition')}"
                raise UsageError("GG579", message, replace(self.address, topic=name).shown)
        return [(name, every[name] if self.partitions is None else self.partitions) for name in names]

    def ranges(self, cluster: Cluster, topic: str, bounds: Mapping[int, tuple[int, int]]) -> dict[int, Offsets]:
        starts, ends = (self._offsets(point, cluster, topic, bounds) for point in (self.start, self.end))
        found = {number: (starts[number], min(ends[number], end)) for number, (_, end) in bounds.items()}
        for number, (start, end) in found.items():
            if end < start <= bounds[number][1]:
                raise _wrong(self.address, "`to` is before `from`", "exchange them")
        return found

    @staticmethod
    def _offsets(
        point: int | datetime | str, cluster: Cluster, topic: str, bounds: Mapping[int, tuple[int, int]]
    ) -> Mapping[int, int]:
        if isinstance(point, datetime):
            return cluster.at_time(topic, bounds, int(point.timestamp() * 1000))
        if isinstance(point, int):
            return dict.fromkeys(bounds, point)
        return {number: end if point == _END else first for number, (first, end) in bounds.items()}


def _matches(pattern: str, every: Mapping[str, object]) -> list[str]:
    from ggfmt.kafka.jobs import STATE_TOPIC

    own = pattern.startswith(_HIDDEN)
    hidden = (name for name in every if not own and (name.startswith(_HIDDEN) or name == STATE_TOPIC))
    return sorted(name for name in set(every).difference(hidden) if fnmatchcase(name, pattern))


def _point(address: KafkaAddress, option: str, text: str) -> int | datetime | str:
    if text in (_BEGINNING, _END):
        return text
    try:
        if re.fullmatch(r"[0-9]{1,18}", text):
            number = int(text)
            return number if number < _FIRST_TIME else datetime.fromtimestamp(number / 1000, timezone.utc)
        spaced = re.sub(r"^([0-9]{4}-[0-9]{2}-[0-9]{2})\+", r"\1 ", text)  # as forms write a space
        moment = datetime.fromisoformat(spaced.replace("Z", "+00:00"))
        return moment if moment.tzinfo is not None else moment.replace(tzinfo=timezone.utc)
    except ValueError:
        help = "give an offset, `beginning`, `end`, or a time such as `2026-01-31T18:30:51`, which is in UTC"
        raise _wrong(address, f"`{option}` cannot be `{visible(text)}`", help) from None


def _partitions(address: KafkaAddress, text: str) -> list[int]:
    numbers: set[int] = set()
    for part in text.split(","):
        found = re.fullmatch(r"([0-9]{1,6})(?:-([0-9]{1,6}))?", part.strip())
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
        if first > last or last >= _MAX_PARTITIONS:
            raise _wrong(address, f"`partitions` cannot be `{visible(text)}`", "give numbers, for example `0,2-5`")
        numbers |= set(range(first, last + 1))
    return sorted(numbers)


def _wrong(address: KafkaAddress, message: str, help: str) -> UsageError:
    return UsageError("GG571", message, address.shown, help)


# Values


class _Envelope(msgspec.Struct, gc=False, omit_defaults=True):
    """A message with its value, as `formats.json.dumps` reads it."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: str | None
    value: Raw | str | None
    headers: list[str | None] | None = None
    key_base64: str | None = None
    value_base64: str | None = None


class ValueKind(Enum):
    """What the values of a topic are, as the text of an error. A line end follows each text."""

    JSON = "JSON"
    TEXT = "text"
    CONFLUENT = "Avro in Confluent's wire format"
    CONTAINER = "Avro containers"
    DTS = "records of DTS"
    BINARY = "binary"


@dataclass
class _Kind:
    """The kind of the values of one topic, once its first value is known. `skipped`: messages without a value."""

    value: ValueKind | None = None
    skipped: int = 0


_decode_lines = msgspec.json.Decoder(Raw).decode_lines
_decode = msgspec.json.Decoder(Raw).decode
_encode_lines = msgspec.json.Encoder().encode_lines
_CONTROL = lazy_regex(rb"[\0\x02-\x08\x0e-\x1a\x1c-\x1f]")  # none of a text; \x01 divides fields
_HEAD_BYTES = 4096
_OBJECT_OR_ARRAY = frozenset(b"{[")


def _is_json(value: bytes, starts: bytes) -> bool:
    start = value.removeprefix(BOM_UTF8).lstrip()[:1]
    return bool(start) and start in starts


def kind_of(value: bytes) -> ValueKind:
    if value.startswith(b"\0"):
        return ValueKind.CONFLUENT
    if value.startswith(b"Obj\1"):
        return ValueKind.CONTAINER
    if _is_json(value, b"{["):
        return ValueKind.JSON
    return ValueKind.BINARY if _CONTROL.search(value, 0, _HEAD_BYTES) else ValueKind.TEXT


def is_of_dts(value: bytes) -> bool:
    from ggfmt.formats.dts.files import with_length

    return reader_of("dts_avro").sniff(with_length(value)) is not None


@dataclass
class _PartitionBytes:
    """The bytes of a partition's file, as they are read: the source of a `Spool`."""

    part: Partition
    take: Callable[[], list[Any]]
    kind: _Kind
    limit: int | None
    index: Path  # of the file with the places of values that follow each other
    size: int = 0
    last: Any = None  # the last message
    _heads: set[bytes] = field(default_factory=set)  # of keys beside values in the wire format

    @property
    def key_schema(self) -> int | None:
        """The id of the schema of all keys; None if they have several, or none."""
        from ggfmt.formats.avro.confluent import HEAD_BYTES

        (head, *others) = self._heads or (b"",)
        return int.from_bytes(head[1:], "big") if len(head) == HEAD_BYTES and head[0] == 0 and not others else None

    def read(self, size: int) -> bytes:
        """Return more bytes, of one batch of messages; none at the end. Raises: Abend GG321 for a value of another
        kind."""
        while messages := self._next():
            if data := self._bytes(messages):
                return data
        return b""

    def _next(self) -> list[Any]:
        if self.limit is None:
            messages = self.take()
            self.last = messages[-1] if messages else self.last
            return messages
        messages = self.take()[: self.limit] if self.limit > 0 else []
        self.limit -= len(messages)
        return messages

    def _bytes(self, messages: Sequence[Any]) -> bytes:
        if self.kind.value is None:
            values = [value for message in messages if (value := message.value())]
            if not values:
                self.kind.skipped += len(messages)
                return b""
            self.kind.value = Counter(map(kind_of, values)).most_common(1)[0][0]  # the first value may be a bad one
            if self.kind.value in (ValueKind.CONFLUENT, ValueKind.BINARY) and any(map(is_of_dts, values)):
                self.kind.value = ValueKind.DTS
        return self._lines(messages) if self.kind.value is ValueKind.JSON else self._joined(messages, self.kind.value)

    def _joined(self, messages: Sequence[Any], kind: ValueKind) -> bytes:
        from ggfmt.formats.avro.confluent import HEAD_BYTES
        from ggfmt.formats.dts.files import with_length

        if kind is ValueKind.CONFLUENT:
            self._heads |= {(message.key() or b"")[:HEAD_BYTES] for message in messages}
        found: list[bytes] = []
        places = array("q")
        for message in messages:
            value = message.value()
            if not value:
                self.kind.skipped += 1
                continue
            is_marked = kind in (ValueKind.CONFLUENT, ValueKind.CONTAINER) or value[0] == 0
            other = kind_of(value) if is_marked and kind is not ValueKind.DTS else kind
            if other is not kind or (kind is ValueKind.CONTAINER and self.size):
                what = f"the value is {other.value}, and the first values of the topic are {kind.value}"
                if other is kind:
                    what = "the value is an Avro container after another, and ggfmt reads one of a partition in a run"
                help = "read the ranges before and after it on their own, with `?from=` and `?to=`"
                raise Abend("GG321", what, Span(file=self.part.shown, message=message.offset()), help)
            if kind is ValueKind.TEXT and not value.endswith(b"\n"):
                value += b"\n"
            if kind is ValueKind.DTS:
                value = with_length(value)
            places.extend((self.size, message.offset()))
            self.size += len(value)
            found.append(value)
        with self.index.open("ab") as file:
            file.write(places.tobytes())
        return b"".join(found)

    def _lines(self, messages: Sequence[Any]) -> bytes:
        topic, number = self.part.topic, self.part.number
        values: Sequence[Any] = [message.value() for message in messages]
        try:
            # Each value is one line with one object: only then the values are in the lines as they are.
            if None in values or not _OBJECT_OR_ARRAY.issuperset(value[0] for value in values):
                raise ValueError
            raw: Sequence[Raw] = _decode_lines(b"\n".join(values))
            if len(raw) != len(values) or any(message.headers() for message in messages):
                raise ValueError
            return _encode_lines(
                [
                    _Envelope(topic, number, message.offset(), message.timestamp()[1], _text(message.key()), value)
                    for message, value in zip(messages, raw, strict=True)
                ]
            )
        except (ValueError, IndexError, RecursionError):
            return _encode_lines([line for message in messages for line in _envelopes(message)])


def _text(data: Any) -> str | None:
    return None if data is None else str(data, "utf-8")


def _envelopes(message: Any) -> list[_Envelope]:
    """Return the lines of a message: one for each record of a value that has several, as transactions have them."""
    key, value = message.key(), message.value()
    value = value and value.removeprefix(BOM_UTF8)
    place = message.topic(), message.partition(), message.offset(), message.timestamp()[1]
    line = _Envelope(*place, key=None, value=None)
    try:
        line.key = _text(key)
    except ValueError:
        line.key_base64 = base64.b64encode(key).decode()
    for name, data in message.headers() or ():
        text = None if data is None else data.decode(errors="backslashreplace")
        line.headers = [*(line.headers or ()), name, text]
    try:
        line.value = _text(value)
    except ValueError:
        line.value_base64 = base64.b64encode(value).decode()
    records = _records(value) if value is not None and _is_json(value, b"{") else []
    if len(records) < 2 or line.value_base64 is not None:
        return [line]
    return [msgspec.structs.replace(line, value=str(record, "utf-8")) for record in records]


def _records(value: bytes) -> list[bytes]:
    try:
        _decode(value)
    except (ValueError, RecursionError):
        return [value[start:end] for start, end in record_spans(Chunk("", 0, value, find_layout(value, True)))]
    return [value]
