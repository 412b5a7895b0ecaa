"""Kafka messages in files: the envelopes that dump tools write around the JSON records of a format.

* `kcat -J` (`json.c` of edenhill/kcat): one object per line with `topic`, `partition`, `offset`, `key` and `payload`,
  the last two as texts; a null `payload` is a tombstone. kcat copies the bytes of a message into the text, so bytes
  that are not UTF-8 are lost. From Avro (`-s value=avro`) it makes an object with the names of union branches; if this
  fails, `payload` is null beside a `payload_error`.
* Pairs: an object with `key` and `value`, each as JSON or as a text with JSON, and perhaps the place of the message.
  `rpk topic consume` and Aiven's sinks write them.
* `kafka-console-consumer --property print.key=true`: a key, a TAB and a value per line, with `null` for none.
  `CreateTime:`, `Partition:` and `Offset:` may come first.

The first message of a file determines the envelope. A chunk has each record at the place of its message, with the value
at its start and spaces after it, so readers see records at the offsets of the messages. Anything else becomes bytes
that are not JSON, with its reason beside it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, BinaryIO, NamedTuple

import msgspec
import pyarrow as pa
from msgspec import Raw

from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.reading import KAFKA_MESSAGES, Chunk, KafkaEnvelopes, Layout
from ggfmt.formats.json import files
from ggfmt.formats.json.cut import BOM, WHITE
from ggfmt.formats.json.repeated import EVERY, Once, repeated_error, repeated_in_lines, repeated_member
from ggfmt.formats.json.values import decode, invalid_utf8, json_kind, parse, raw_members
from ggfmt.lazy import lazy_regex

KCAT, PAIRS, LINES = "kcat", "pairs", "lines"
TOPIC = "topic"  # of the values of a topic, which are no dump (`topic_values`)
NAMES = {
    KCAT: "messages as `kcat -J` writes them",
    PAIRS: "messages with a `key` and a `value`",
    LINES: "messages as `kafka-console-consumer` prints them",
}

NO_JSON = b"!"
_OF_PAIRS = {"key", "value", "headers", "topic", "partition", "offset", "timestamp", "timestampType", "timestamp_type"}
_OF_RECORDS = {"op_type", "op", "before", "after", "payload"}
_LINE = lazy_regex(
    rb"(?:(?:(?:CreateTime|LogAppendTime):-?[0-9]+|NO_TIMESTAMP)\t)?"
    rb"(?:Partition:([0-9]+)\t)?(?:Offset:([0-9]+)\t)?(?:([^\t]*)\t)?(.*)",
    re.DOTALL,
)
_START_OF_MESSAGE = lazy_regex(rb'\s*\{"topic":"(?:[^"\\]|\\.)*","partition":[0-9]+,"offset":[0-9]+,')
_TEXTS_ONLY = (
    "read the topic itself, or dump it with a consumer that writes JSON or, for Avro with `--schema-registry`, Base64"
)
_LOSES = "`kcat -J` loses the bytes of such messages"

# Keys before a TAB, as `kafka-console-consumer` prints them. A key is one JSON value that is not a change record (a
# number, a text, the columns of a primary key, with or without a Connect schema), or a text without a change record.
# Anything else may be records of another tool before a TAB: ggfmt must not discard them as a key.

# Members of change records that hold an object or array.
_PARTS = {
    "before", "after", "data", "old", "message", "meta", "metadata", "headers", "source", "columns", "def", "change",
}  # fmt: skip
# Members that together identify a change record, with any values.
_SIGNS = (
    {"table", "op_type"},
    {"qual_table", "op_type"},
    {"ddl", "op_type"},
    {"tableName", "opType"},
    {"before", "after", "op"},
    {"action", "table"},
    {"action", "xid"},
    {"action", "lsn"},
    {"action", "content"},
    {"database", "table", "type"},
    {"status", "event_count"},
    {"isDdl"},
    {"headers_operation"},
    {"message_version"},
    {"__op"},
    {"__deleted"},
)
_SCALED = {"scale", "value"}  # Debezium's VariableScaleDecimal: a number of any scale, which may be a key

_START = lazy_regex(r'\{\s*"')
_MAX_FAILURES = 64  # each failure takes time in proportion to the text
# Python does not parse integers of thousands of digits.
_lenient = json.JSONDecoder(parse_int=str, strict=False).raw_decode


def is_key(text: bytes) -> bool:
    """Say whether the text before a TAB can be a key: it contains no change record."""
    if b"{" not in text:
        return True
    try:
        value = decode(text)
    except (ValueError, RecursionError):
        return _is_text_key(text.decode("latin-1"))
    return is_key(value.encode(errors="replace")) if isinstance(value, str) else not _holds_record(value)


def _is_text_key(text: str) -> bool:
    """Say whether a text that is not one JSON value can be a key. Several values in a row are not a key."""
    try:
        return not any(text.startswith("{") or _holds_record(value) for value in _objects_in(text))
    except _Unclear:
        return False


class _Unclear(Exception):
    """The text has too many starts of objects that do not end."""


def _objects_in(text: str) -> Iterator[Any]:
    place = failures = 0
    while (found := _START.search(text, place)) is not None:
        try:
            value, place = _lenient(text, found.start())
        except (ValueError, RecursionError):
            place = found.start() + 1
            failures += 1
            if failures > _MAX_FAILURES:
                raise _Unclear from None
        else:
            yield value


def _holds_record(value: Any) -> bool:
    if isinstance(value, list):
        return any(map(_holds_record, value))
    if not isinstance(value, dict):
        return False
    payload = value.get("payload")
    if isinstance(payload, dict) and value.keys() <= {"schema", "payload"}:
        value = payload
    if any(value.keys() >= sign for sign in _SIGNS):
        return True
    parts = [value[name] for name in _PARTS & value.keys()]
    return any(isinstance(p, list) or (isinstance(p, dict) and p.keys() != _SCALED) for p in parts)


class KafkaMessage(NamedTuple):
    """A message of a dump. `value` is the record, `null` for a tombstone; what is unknown is None."""

    value: bytes
    key: bytes | None = None
    topic: str | None = None
    partition: int | None = None
    offset: int | None = None


class KcatLine(msgspec.Struct, gc=False):
    topic: str
    partition: int
    offset: int
    payload: Raw
    key: Raw = Raw(b"null")
    payload_error: str | None = None


class DumpedPair(msgspec.Struct, gc=False):
    key: Raw
    value: Raw
    topic: str | None = None
    partition: int | None = None
    offset: int | None = None


_decoders: dict[str, msgspec.json.Decoder[Any]] = {
    KCAT: msgspec.json.Decoder(KcatLine),
    PAIRS: msgspec.json.Decoder(DumpedPair),
}
_ONCE = {
    KCAT: Once(dict.fromkeys(KcatLine.__struct_fields__)),
    PAIRS: Once(dict.fromkeys(DumpedPair.__struct_fields__)),
}
_KEY = Once({"payload": EVERY}, ("",))
_text = msgspec.json.Decoder(str).decode


def find_layout(head: bytes, whole: bool) -> Layout:
    """Detect the layout of a file and its envelope from its `head`; `whole`: the file has no more bytes."""
    layout = files.find_layout(head, whole)
    envelope = _envelope(head, layout)
    if envelope == LINES:
        return Layout(splittable=True, skipped=layout.skipped, envelope=LINES)
    return layout if envelope is None else replace(layout, envelope=envelope)


def plain_head(head: bytes) -> tuple[bytes, str | None]:
    """Return the records in the first bytes of a file, one per line, and the name of their envelope; None for none."""
    layout = replace(find_layout(head, False), max_record=len(head))
    if layout.envelope is None:
        return head, None
    chunk = Chunk("", layout.skipped, head[layout.skipped :], layout, last=False)
    if layout.envelope == LINES:
        chunk = replace(chunk, data=chunk.data[: chunk.data.rfind(b"\n") + 1] or chunk.data)
    inner = unwrapped(chunk)
    assert inner.spans is not None
    values = (b" ".join(inner.data[start:end].split(b"\n")) for start, end in inner.spans)
    return b"\n".join(values), NAMES[layout.envelope]


def chunks(stream: BinaryIO, file: str, start: int, length: int | None, layout: Layout) -> Iterator[Chunk]:
    """Yield chunks like `files.chunks`, of the records without their envelope."""
    if layout.envelope == TOPIC:
        from ggfmt.formats.json import topic_values

        return topic_values.chunks(stream, file, start, length, layout)
    return map(unwrapped, files.chunks(stream, file, start, length, layout))


def key_names(key: bytes | None) -> tuple[str, ...]:
    """Return the member names of a message's key, without a Connect schema around it; none if it is not an object.
    Maxwell's keys (`kafka_key_format: hash`) contain the database and the table, and columns as `pk.` and their
    name."""
    return tuple(key_values(key))


def key_values(key: bytes | None) -> dict[str, Raw]:
    """Return the members of a message's key by the names that `key_names` returns."""
    if key is None or not key.startswith(b"{"):
        return {}
    try:
        members = raw_members(key)
        if set(members) == {"schema", "payload"}:
            members = raw_members(members["payload"])
    except (ValueError, RecursionError):
        return {}
    if {"database", "table"} <= members.keys():
        return {name.removeprefix("pk."): value for name, value in members.items() if name.startswith("pk.")}
    return members


def names_of_keys(head: bytes) -> tuple[str, ...] | None:
    """Return the member names that all keys have in the head of a file of keys, one key per line. An empty tuple: the
    keys have no names, or different ones. None: the file contains something else."""
    lines = [line.strip(WHITE) for line in head[: head.rfind(b"\n") + 1 or len(head)].split(b"\n")]
    found = set()
    for line in filter(None, lines):
        if not _is_key(line):
            return None
        found.add(key_names(line))
    return None if not found else found.pop() if len(found) == 1 else ()


def _is_key(line: bytes) -> bool:
    """Return whether a line is a key: a text, a number, or an object of them that is not a change record."""
    try:
        value = decode(line)
    except (ValueError, RecursionError):
        return False
    if isinstance(value, dict) and set(value) == {"schema", "payload"}:
        value = value["payload"]
    if not isinstance(value, dict):
        return not isinstance(value, list) and value is not None
    other = any(name in _OF_RECORDS or name.startswith("__") for name in value)
    return not other and not any(isinstance(part, (dict, list)) for part in value.values())


def _object(text: bytes | None) -> dict[str, Any] | None:
    if text is None or not text.startswith(b"{"):
        return None
    try:
        value = decode(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


# Detection of the envelope


def _envelope(head: bytes, layout: Layout) -> str | None:
    has_names = (b'"payload"' in head and b'"offset"' in head) or (b'"value"' in head and b'"key"' in head)
    start = _START_OF_MESSAGE.match(head, layout.skipped)
    if has_names or start is not None:
        first = next(files.head_objects(head), None)
        if first is None:  # the value is longer than the head
            return None if start is None else KCAT
        if {"topic", "partition", "offset", "key", "payload"} <= first.keys():
            return KCAT
        if {"key", "value"} <= first.keys() <= _OF_PAIRS and _is_value(first["value"], first["key"]):
            return PAIRS
    if b"\t" in head:
        return LINES if _are_lines(head[layout.skipped :]) else None
    return None


def _is_value(value: Any, key: Any) -> bool:
    if isinstance(value, str):
        value = _object(value.encode(errors="replace"))
    if isinstance(key, str):
        key = _object(key.encode(errors="replace"))
    return isinstance(value, dict) or (value is None and isinstance(key, dict))


def _are_lines(head: bytes) -> bool:
    """Return whether the first line with a value has an object as the value, after the optional prefixes."""
    for line in head.split(b"\n", 20)[:20]:
        parts = _LINE.fullmatch(line.strip(WHITE)) if line.strip(WHITE) else None
        if parts is None or parts[4] == b"null":
            continue
        prefixed = parts.start(3) > 0 or (parts[3] is None and parts.start(4) > 0)
        if parts[3] is not None and not prefixed and not is_key(parts[3]):
            return False
        return (prefixed or parts[3] is not None) and _object(parts[4]) is not None
    return False


# Messages


def unwrapped(chunk: Chunk) -> Chunk:
    """Return a chunk of messages as a chunk of their values, at the places of the messages."""
    if chunk.problem is not None or chunk.layout.envelope is None:
        return chunk
    if chunk.layout.envelope == TOPIC:
        from ggfmt.formats.json import topic_values

        return topic_values.with_messages(chunk)
    chunk, messages = _lines(chunk) if chunk.layout.envelope == LINES else _objects(chunk)
    assert chunk.spans is not None
    data = bytearray(chunk.data)
    spans = []
    places = []
    problems = {}
    for index, ((start, end), message) in enumerate(zip(chunk.spans, messages, strict=True)):
        if isinstance(message, Diagnostic):
            problems[index] = message
            message = KafkaMessage(NO_JSON)
        value, *place = message
        assert len(value) <= end - start, "escapes are at least as long as what they stand for"
        data[start:end] = value.ljust(end - start)
        spans.append((start, start + len(value)))
        places.append(place)
    columns = zip(*places, strict=True) if places else [()] * len(KAFKA_MESSAGES)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, KAFKA_MESSAGES, strict=True)]
    batch = pa.RecordBatch.from_arrays(arrays, schema=KAFKA_MESSAGES)
    return enveloped(replace(chunk, data=bytes(data), spans=spans), chunk, batch, problems)


def key_problem(key: bytes | None) -> Diagnostic | None:
    """Return the problem of a key that is an object with a member twice."""
    name = repeated_member(key, _KEY) if key is not None and key.startswith(b"{") else None
    return None if name is None else repeated_error(name, "the key of the message")


def enveloped(
    values: Chunk, messages: Chunk, columns: pa.RecordBatch | None, problems: Mapping[int, Diagnostic]
) -> Chunk:
    """Return a chunk of values with their messages. A value with a problem becomes bytes that are not JSON; arguments
    as of `KafkaEnvelopes`. Both chunks are cut into records."""
    assert values.spans is not None
    if problems:
        data = bytearray(values.data)
        for place in problems:
            start, end = values.spans[place]
            data[start:end] = NO_JSON.ljust(end - start)
        values = replace(values, data=bytes(data))
    return replace(values, settle=None, wrapped=KafkaEnvelopes(messages, columns, problems))


def _objects(chunk: Chunk) -> tuple[Chunk, Sequence[KafkaMessage | Diagnostic]]:
    """Return the chunk cut into messages, and its messages."""
    kind = chunk.layout.envelope
    assert kind is not None
    decoder, once = _decoders[kind], _ONCE[kind]
    made = _of_kcat if kind == KCAT else _of_pair
    messages: list[KafkaMessage | Diagnostic] = []
    if chunk.spans is None:
        try:
            messages = [made(record) for record in decoder.decode_lines(chunk.data)]
            for index, member in repeated_in_lines(chunk.data, once):
                messages[index] = repeated_error(member, "the message")
        except (ValueError, RecursionError):
            chunk = chunk.settled()
    spans = files.record_spans(chunk)
    chunk = replace(chunk, spans=spans, settle=None)
    if len(messages) == len(spans):
        return chunk, messages
    messages = []
    for start, end in spans:
        record = chunk.data[start:end]
        try:
            message = made(decoder.decode(record))
            name = repeated_member(record, once)
            messages.append(message if name is None else repeated_error(name, "the message"))
        except (ValueError, RecursionError) as error:
            messages.append(_refused(record, kind, chunk.last and end == len(chunk.data), str(error)))
    return chunk, messages


def _refused(record: bytes, kind: str, last: bool, reason: str) -> Diagnostic:
    members = parse(record, last)
    if isinstance(members, Diagnostic):
        return members
    what = "null" if members is None else reason.partition(" - at ")[0]
    help = f"move records of another kind to another file; this file has {NAMES[kind]}"
    return Diagnostic("GG320", f"the record is not a Kafka message: {what[:1].lower()}{what[1:]}", help=help)


def _of_kcat(line: KcatLine) -> KafkaMessage | Diagnostic:
    if line.payload_error is not None:
        return Diagnostic("GG321", "`kcat` could not read the message: it has a `payload_error`", help=_TEXTS_ONLY)
    payload = bytes(line.payload)
    if payload[:1] not in (b'"', b"n"):
        reason = f"`payload` is {json_kind(payload)} and not a string: `kcat` converted it from Avro and lost its types"
        return Diagnostic("GG321", reason, help="dump the topic with a consumer that writes plain JSON")
    return _message(payload, bytes(line.key), line.topic, line.partition, line.offset)


def _of_pair(pair: DumpedPair) -> KafkaMessage | Diagnostic:
    return _message(bytes(pair.value), bytes(pair.key), pair.topic, pair.partition, pair.offset)


def _message(
    value: bytes, key: bytes, topic: str | None, partition: int | None, offset: int | None
) -> KafkaMessage | Diagnostic:
    try:
        text = _unquoted(value)
    except ValueError:
        return Diagnostic("GG321", f"the message is not UTF-8: {_LOSES}", help=_TEXTS_ONLY)
    if text.startswith((b"\0", b"Obj\1")):
        return Diagnostic("GG321", f"the message is binary, such as Avro: {_LOSES}", help=_TEXTS_ONLY)
    try:
        own = _unquoted(key)
    except ValueError:  # A key may be an eight-byte number although the value is JSON: it has no names.
        own = b""
    return _with_key(text or b"null", own, topic, partition, offset)


def _with_key(
    value: bytes, key: bytes | None, topic: str | None, partition: int | None, offset: int | None
) -> KafkaMessage | Diagnostic:
    problem = key_problem(key)
    if problem is not None:
        return problem
    return KafkaMessage(value, None if key == b"null" else key, topic, partition, offset)


def _unquoted(value: bytes) -> bytes:
    return _text(value).encode().strip(WHITE) if value.startswith(b'"') else value


def _lines(chunk: Chunk) -> tuple[Chunk, Sequence[KafkaMessage | Diagnostic]]:
    spans: list[tuple[int, int]] = []
    messages: list[KafkaMessage | Diagnostic] = []
    end = -1
    for line in chunk.data.split(b"\n"):
        start, end = end + 1, end + 1 + len(line)
        text = line.removeprefix(BOM).removesuffix(b"\r")
        start += len(BOM) * line.startswith(BOM)
        if text.strip(WHITE):
            spans.append((start, start + len(text)))
            messages.append(_of_line(text))
    return replace(chunk, spans=spans, settle=None), messages


def _of_line(line: bytes) -> KafkaMessage | Diagnostic:
    parts = _LINE.fullmatch(line)
    assert parts is not None, "the expression takes everything"
    partition, offset, key, value = parts.groups()
    if not value.isascii():
        try:
            value.decode()
        except UnicodeDecodeError:
            return invalid_utf8(value)
    if key is None and partition is None and offset is None and parts.start(4) == 0:
        return Diagnostic("GG320", "the line is not a Kafka message: it does not have a key, a TAB and a value")
    if key is not None and not is_key(key):
        help = "write each record on a separate line, without a TAB between records"
        return Diagnostic("GG320", "the line is not a Kafka message: it has a change record before its TAB", help=help)
    where = (None if number is None else int(number) for number in (partition, offset))
    return _with_key(value or NO_JSON, key, None, *where)
