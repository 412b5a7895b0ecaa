"""Topics of Kafka as inputs: a range of each partition, in a file for as long as a command runs.

The end of the range is fixed at the start: the last stable offset. The first values of a topic decide what its files
are. They follow each other as in a file of their format. An index beside the file has the offsets of their messages,
and the keys of values in JSON (`formats.api.topic_index`).
"""

from __future__ import annotations

import logging
import re
import sys
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime, timezone
from enum import Enum
from fnmatch import fnmatchcase
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa
from msgspec import Raw

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import memory, non_null_values
from ggfmt.columnar.pieces import join_binary
from ggfmt.commit.names import counted
from ggfmt.dataclasses import dataclass, field, replace
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic, Span, UsageError, list_names, suggestion
from ggfmt.formats.api.reading import Chunk
from ggfmt.formats.api.topic_index import index_schema
from ggfmt.formats.json.cut import WHITE
from ggfmt.formats.json.files import find_layout, record_spans
from ggfmt.formats.json.topic_values import is_text
from ggfmt.java.text import visible
from ggfmt.lazy import lazy_regex
from ggfmt.location import Location
from ggfmt.reading.files import InputFile, stat_file
from ggfmt.reading.recognition import reader_of
from ggfmt.reading.standard_input import Offsets, Spool, SpooledInputs, append_bytes

if TYPE_CHECKING:
    from ggfmt.kafka.address import KafkaAddress
    from ggfmt.kafka.consume import Cluster, Mark, Pair, Partition

_OPTIONS = ("from", "to", "partitions")
_BEGINNING, _END = "beginning", "end"
_GROUP = "group:"  # precedes the name of a group of consumers
_FIRST_TIME = 10**12  # as milliseconds; smaller numbers are offsets
_MAX_PARTITIONS = 100_000
_HIDDEN = "__"  # how topics of Kafka itself start, which globs leave out; and one of ggfmt

log = logging.getLogger("ggfmt")


def files_of(inputs: SpooledInputs, given: str) -> list[InputFile]:
    """Return the files of topics. Raises: UsageError, or Abend GG321, GG518, GG571, GG572 or GG579."""
    from ggfmt.config.kafka_producer import client_of
    from ggfmt.kafka.cluster import topic_ids
    from ggfmt.kafka.consume import Cluster, Mark, Partition

    wanted = TopicRange.of(given)
    cluster = Cluster(client_of(wanted.address, inputs.topics.properties))
    with ExitStack() as connected:
        connected.callback(cluster.close)
        topics = dict(wanted.topics(cluster))
        ids = topic_ids(cluster.settings, topics)
        marks, ranges = _ranges(inputs, wanted, cluster, topics, ids)
        spool = Spool(inputs.held, inputs.lazy, inputs.topics.staging)
        limit = sys.maxsize if inputs.limit is None else inputs.limit
        kinds: dict[str, ValueKind] = {}
        sources = []
        for (name, number), offsets in ranges.items():
            whole = Partition(name, number, *offsets, partition_name(wanted.address, name, number), limit)
            sources.append(_PartitionBytes(whole, spool.path(whole.shown, f"{name}-{number}"), kinds))
        if not inputs.lazy:
            _fill(cluster, sources)
            for name, id in topic_ids(cluster.settings, topics).items():
                if ids.get(name, id) != id:
                    shown = replace(wanted.address, topic=name).shown
                    raise Abend.of(_other_topic(shown, "the topic was deleted and made again while ggfmt read it"))
        files: list[InputFile] = []
        for name, own in groupby(sources, lambda source: source.whole.topic):
            total, skipped, count = 0, 0, len(files)
            for source in own:
                pair, shown, id = source.whole.pair, source.whole.shown, ids.get(name, "")
                if inputs.lazy:
                    source.batches = cluster.read([source.begin()])
                    file = spool.keep(source, shown, source.path)
                else:
                    file = stat_file(Location.of(str(source.path)), shown)
                mark = replace(marks[pair], id=id) if source.last is None else Mark.of(source.last, id)
                text = msgspec.json.encode(mark).decode()
                file = replace(file, offsets=ranges[pair], messages=str(source.index), mark=text)
                files.append(replace(file, key_schema=source.key_schema))
                total += ranges[pair][1] - ranges[pair][0]
                skipped += source.skipped
            where = visible(replace(wanted.address, topic=name).shown)
            log.info("%s: %s of %s", where, counted(total, "offset"), counted(len(files) - count, "partition"))
            if inputs.limit is not None:
                log.info("%s: only the first %s of each partition", where, counted(inputs.limit, "message"))
            if skipped:
                log.info("%s: skipped %s without a value", where, counted(skipped, "message"))
        if inputs.lazy:
            inputs.held.push(connected.pop_all())
        return files


def _ranges(
    inputs: SpooledInputs,
    wanted: TopicRange,
    cluster: Cluster,
    topics: Mapping[str, Sequence[int]],
    ids: Mapping[str, str],
) -> tuple[dict[Pair, Mark], dict[Pair, Offsets]]:
    """Return the mark and the range of each partition to read. Raises: UsageError GG571 or GG579."""
    shown = {(name, number): partition_name(wanted.address, name, number) for name in topics for number in topics[name]}
    if inputs.begun is not None:
        shown = {pair: path for pair, path in shown.items() if path in inputs.begun}
    marks = {pair: _mark_of((inputs.marks or {}).get(path)) for pair, path in shown.items()}
    bounds = cluster.bounds(shown)
    ranges = wanted.ranges(cluster, bounds)
    differences = cluster.differences(marks, ids, bounds)
    problems = []
    by_topic = {path.split("/", 3)[3]: path for path in inputs.ends}
    for pair, (first, end) in bounds.items():
        path, place = shown[pair], f"{pair[0]}/{pair[1]}"
        if (cluster.name, place) in inputs.taken:
            message, help = "the partition is an input twice", "name each topic once, or different partitions"
            problems.append(Diagnostic("GG571", message, path, help))
        inputs.taken.add((cluster.name, place))
        known = inputs.ends.get(path)
        if known is None and inputs.begun is None and place in by_topic:
            message = f"the checkpoint has this topic by another address: `{by_topic[place]}`"
            help = "use that address; for a topic of another cluster, use another `--checkpoint`"
            problems.append(Diagnostic("GG579", message, path, help))
        if inputs.begun is not None:
            ranges[pair] = inputs.begun[path]
        elif known is not None:
            ranges[pair] = known, max(known, ranges[pair][1])
        problem = _range_problem(path, ranges[pair][0], first, end)
        if problem is None and pair in differences:
            problem = _other_topic(path, f"the topic is not the one of the checkpoint: {differences[pair]}")
        problems += [] if problem is None else [problem]
    if problems:
        raise UsageError.of(*problems)
    for name in dict.fromkeys(name for name, _ in shown if wanted.starts):
        if any(shown.get((name, number)) in inputs.ends for number in topics[name]):
            log.info("`from` of `%s` is for new partitions alone: the checkpoint has the others", visible(name))
    return marks, ranges


def _fill(cluster: Cluster, sources: Sequence[_PartitionBytes]) -> None:
    """Write the files of partitions, whose messages arrive in any order. A topic is what the first values of its first
    partition with some are: a partition that was read as something else is read again. Raises: Abend GG321."""
    kinds: dict[str, ValueKind] = {}
    wanted = sources
    while wanted:
        by_part = {source.begin(): source for source in wanted}
        for part, messages in cluster.read(by_part):
            by_part[part].add(part, messages)
        for source in sources:
            if source.votes:
                kinds.setdefault(source.whole.topic, source.first_kind)
        wanted = [source for source in wanted if not source.settle(kinds.get(source.whole.topic))]


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

    def ranges(self, cluster: Cluster, bounds: Mapping[Pair, Offsets]) -> dict[Pair, Offsets]:
        """Return the range of each partition. Raises: UsageError GG571 if `to` is before `from`, or if the group has no
        offsets."""
        starts, ends = (self._offsets(point, cluster, bounds) for point in (self.start, self.end))
        found = {pair: (starts[pair], min(ends[pair], end)) for pair, (_, end) in bounds.items()}
        for pair, (start, end) in found.items():
            if end < start <= bounds[pair][1]:
                raise _wrong(self.address, "`to` is before `from`", "exchange them")
        return found

    def _offsets(
        self, point: int | datetime | str, cluster: Cluster, bounds: Mapping[Pair, Offsets]
    ) -> Mapping[Pair, int]:
        if isinstance(point, str) and point.startswith(_GROUP):
            name = point.removeprefix(_GROUP)
            committed = cluster.committed(bounds, name)
            if bounds and not committed:
                help = "check the name of the group, or give `from` an offset or a time"
                raise _wrong(self.address, f"the group `{visible(name)}` has committed no offset of the topic", help)
            for topic, number in bounds.keys() - committed.keys():
                place = partition_name(self.address, topic, number)
                log.info("%s: the group has committed no offset, so ggfmt reads from the beginning", visible(place))
            return {pair: committed.get(pair, first) for pair, (first, _) in bounds.items()}
        if isinstance(point, datetime):
            return cluster.at_time(bounds, int(point.timestamp() * 1000))
        if isinstance(point, int):
            return dict.fromkeys(bounds, point)
        return {pair: end if point == _END else first for pair, (first, end) in bounds.items()}


def _matches(pattern: str, every: Mapping[str, object]) -> list[str]:
    from ggfmt.kafka.jobs import STATE_TOPIC

    own = pattern.startswith(_HIDDEN)
    hidden = (name for name in every if not own and (name.startswith(_HIDDEN) or name == STATE_TOPIC))
    return sorted(name for name in set(every).difference(hidden) if fnmatchcase(name, pattern))


def _point(address: KafkaAddress, option: str, text: str) -> int | datetime | str:
    is_group = option == "from" and text.startswith(_GROUP) and text != _GROUP
    if text in (_BEGINNING, _END) or is_group:
        return text
    try:
        if re.fullmatch(r"[0-9]{1,18}", text):
            number = int(text)
            return number if number < _FIRST_TIME else datetime.fromtimestamp(number / 1000, timezone.utc)
        spaced = re.sub(r"^([0-9]{4}-[0-9]{2}-[0-9]{2})\+", r"\1 ", text)  # as forms write a space
        moment = datetime.fromisoformat(spaced.replace("Z", "+00:00"))
        return moment if moment.tzinfo is not None else moment.replace(tzinfo=timezone.utc)
    except ValueError:
        group = ", `group:NAME`" * (option == "from")
        help = f"give an offset, `beginning`, `end`{group}, or a time such as `2026-01-31T18:30:51`, which is in UTC"
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


class ValueKind(Enum):
    """What the values of a topic are, as the text of an error. A line end follows each text."""

    JSON = "JSON"
    TEXT = "text"
    CONFLUENT = "Avro in Confluent's wire format"
    CONTAINER = "Avro containers"
    DTS = "records of DTS"
    BINARY = "binary"


_MAYBE_DTS = (ValueKind.CONFLUENT, ValueKind.BINARY)
_decode_lines = msgspec.json.Decoder(Raw).decode_lines
_decode = msgspec.json.Decoder(Raw).decode
_CONTROL = lazy_regex(rb"[\0\x02-\x08\x0e-\x1a\x1c-\x1f]")  # none of a text; \x01 divides fields
_HEAD_BYTES = 4096
_FIRST_VALUES = 100  # that show what a topic has
_TOMBSTONE = b"null"


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
    """The bytes of a partition's file, as they are read: by `add`, or as the source of a `Spool` with `batches`.

    kinds    of the values of topics, as far as they are known: for all partitions together
    kind     as which the values are read
    votes    the kinds of the first values of this partition; `voters`: their number
    skipped  messages without a value; `early`: those before any value of the topic
    problem  why a value is not of the kind
    last     the last messages
    """

    whole: Partition
    path: Path
    kinds: dict[str, ValueKind]
    kind: ValueKind | None = None
    votes: Counter[ValueKind] = field(default_factory=Counter)
    voters: int = 0
    skipped: int = 0
    early: int = 0
    problem: Abend | None = None
    size: int = 0
    last: pa.RecordBatch | None = None
    batches: Iterator[tuple[Partition, pa.RecordBatch]] = iter(())
    _heads: set[bytes] = field(default_factory=set)  # of keys beside values in the wire format

    @property
    def index(self) -> Path:
        """The file with the places of values that follow each other."""
        return self.path.with_name(f"{self.path.name}.messages")

    @property
    def key_schema(self) -> int | None:
        """The id of the schema of all keys; None if they have several, or none."""
        from ggfmt.formats.avro.confluent import HEAD_BYTES

        (head, *others) = self._heads or (b"",)
        return int.from_bytes(head[1:], "big") if len(head) == HEAD_BYTES and head[0] == 0 and not others else None

    @property
    def first_kind(self) -> ValueKind:
        """What most of the first values are: the very first one may be a bad one."""
        kind = self.votes.most_common(1)[0][0]
        return ValueKind.DTS if kind in _MAYBE_DTS and self.votes[ValueKind.DTS] else kind

    def begin(self) -> Partition:
        """Return what to read for the file, which is empty then."""
        self.voters = self.skipped = self.early = self.size = 0
        self.problem = self.last = None
        self.votes.clear()
        self._heads.clear()
        self.index.unlink(missing_ok=True)
        self.path.unlink(missing_ok=True)
        append_bytes(self.path, self.whole.shown, b"")
        return replace(self.whole)

    def read(self, size: int) -> bytes:
        """Return more bytes, of one batch of messages; none at the end. Raises: as `_bytes`."""
        return next((data for _, messages in self.batches if (data := self._bytes(messages))), b"")

    def add(self, part: Partition, messages: pa.RecordBatch) -> None:
        """Append the next messages, up to one of another kind; end the range there. Raises: Abend GG518."""
        if self.problem is None:
            try:
                append_bytes(self.path, self.whole.shown, self._bytes(messages))
            except Abend as problem:
                if problem.diagnostics[0].code != "GG321":
                    raise
                self.problem = problem
        else:
            self._vote(messages)
        if self.problem is not None and self.voters == _FIRST_VALUES:
            part.end = part.place

    def settle(self, kind: ValueKind | None) -> bool:
        """Return whether the file is what it is in a topic of this kind. Raises: Abend GG321 for a value of another."""
        is_complete = self.kind in (None, kind) and not (kind is ValueKind.JSON and self.early)
        if is_complete and self.problem is not None:
            raise self.problem
        self.kind = kind
        return is_complete

    def _vote(self, messages: pa.RecordBatch) -> None:
        if self.voters == _FIRST_VALUES:
            return
        values = filter(None, messages["value"].to_pylist())
        for value in islice(values, _FIRST_VALUES - self.voters):
            self.voters += 1
            kind = kind_of(value)
            self.votes[kind] += 1
            if kind in _MAYBE_DTS and not self.votes[ValueKind.DTS] and is_of_dts(value):
                self.votes[ValueKind.DTS] = 1

    def _bytes(self, messages: pa.RecordBatch) -> bytes:
        """Return the bytes of the next messages. Raises: Abend GG321 for a value of another kind, GG518."""
        self.last = messages
        self._vote(messages)
        if self.kind is None:
            if self.votes:
                self.kinds.setdefault(self.whole.topic, self.first_kind)
            self.kind = self.kinds.get(self.whole.topic)
        if self.kind is None:
            self.early += len(messages)
            self.skipped += len(messages)
            return b""
        return self._lines(messages) if self.kind is ValueKind.JSON else self._joined(messages, self.kind)

    def _joined(self, messages: pa.RecordBatch, kind: ValueKind) -> bytes:
        from ggfmt.formats.avro.confluent import HEAD_BYTES
        from ggfmt.formats.dts.files import with_length

        if kind is ValueKind.CONFLUENT:
            self._heads |= {(key or b"")[:HEAD_BYTES] for key in messages["key"].to_pylist()}
        found: list[bytes] = []
        offsets: list[int] = []
        is_first = not self.size
        columns = messages["value"].to_pylist(), non_null_values(messages["offset"])
        for value, offset in zip(*columns, strict=True):
            if not value:
                self.skipped += 1
                continue
            is_marked = kind in (ValueKind.CONFLUENT, ValueKind.CONTAINER) or value[0] == 0
            other = kind_of(value) if is_marked and kind is not ValueKind.DTS else kind
            if other is not kind or (kind is ValueKind.CONTAINER and (found or not is_first)):
                what = f"the value is {other.value}, and the first values of the topic are {kind.value}"
                if other is kind:
                    what = "the value is an Avro container after another, and ggfmt reads one of a partition in a run"
                help = "read the ranges before and after it on their own, with `?from=` and `?to=`"
                raise Abend("GG321", what, Span(file=self.whole.shown, message=offset), help)
            if kind is ValueKind.TEXT and not value.endswith(b"\n"):
                value += b"\n"
            if kind is ValueKind.DTS:
                value = with_length(value)
            offsets.append(offset)
            found.append(value)
        self._note(pa.array(found, pa.binary()), pa.array(offsets, pa.int64()), b"")
        return b"".join(found)

    def _lines(self, messages: pa.RecordBatch) -> bytes:
        """Return values in JSON, each with a line end."""
        keys, offsets = messages["key"], messages["offset"]
        values = messages["value"]
        lines = _joined_lines(values)
        if not _are_records(values, lines):
            records = [_records(value) for value in values.to_pylist()]
            rows = pa.array([row for row, own in enumerate(records) for _ in own], pa.int64())
            keys, offsets = keys.take(rows), offsets.take(rows)
            values = pa.array([record for own in records for record in own], pa.binary())
            lines = _joined_lines(values)
        self._note(values, offsets, b"\n", keys)
        return lines

    def _note(self, values: pa.Array[Any], offsets: pa.Array[Any], after: bytes, *keys: pa.Array[Any]) -> None:
        """Append the places of the next values to the index; `after`: what follows each of them."""
        lengths = pc.add(pc.binary_length(values).cast(pa.int64()), len(after))
        following = pc.add(pc.cumulative_sum(lengths), self.size)
        columns = pc.subtract(following, lengths), pc.subtract(following, len(after)), offsets, *keys
        schema = index_schema(*self.whole.pair, bool(keys))
        rows = pa.RecordBatch.from_arrays(list(columns), schema=schema)
        head = b"" if self.index.exists() else schema.serialize().to_pybytes()
        append_bytes(self.index, self.whole.shown, head + rows.serialize().to_pybytes())
        self.size += pc.sum(lengths).as_py() or 0


def _joined_lines(values: pa.Array[Any]) -> bytes:
    joined = join_binary([pc.fill_null(values, b""), "\n"], len(values))
    return memory(joined.buffers()[2]).tobytes()


def _are_records(values: pa.Array[Any], lines: bytes) -> bool:
    """Return whether each value is one object in one line; `lines` has them, with a line end after each."""
    bounded = pc.and_(pc.starts_with(values, "{"), pc.ends_with(values, "}"))  # NULL for a tombstone
    if values.null_count or not pc.all(bounded).as_py() or lines.count(b"\n") != len(values):
        return False
    try:
        return len(_decode_lines(lines)) == len(values)
    except (ValueError, RecursionError):
        return False


def _records(value: bytes | None) -> list[bytes]:
    """Return the records of a value, which has several if it is a transaction; for none, a tombstone."""
    value = (value or b"").removeprefix(BOM_UTF8).strip(WHITE)
    if not value:
        return [_TOMBSTONE]
    try:
        _decode(value)
    except (ValueError, RecursionError):
        if _is_json(value, b"{") and is_text(value):
            return [value[start:end] for start, end in record_spans(Chunk("", 0, value, find_layout(value, True)))]
    return [value]
