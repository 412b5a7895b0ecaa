"""Kafka messages in files: what tools that dump topics put around the JSON records of a format.

* `kcat -J` (`json.c` of edenhill/kcat): one object a line with `topic`, `partition`, `offset`, `key` and `payload`, the
  last two as texts; a null `payload` is a tombstone. kcat puts the bytes of a message into the text as they are, so
  that what is no UTF-8 is lost. What it made of Avro (`-s value=avro`) is an object with the names of union branches,
  and `payload` is null beside a `payload_error` where it failed.
* Pairs: an object with `key` and `value`, each a text with JSON in it or the JSON itself, and perhaps where the message
  was, as `rpk topic consume` and Aiven's sinks write them.
* `kafka-console-consumer --property print.key=true`: a key, a TAB and a value a line, `null` for none. `CreateTime:`,
  `Partition:` and `Offset:` may come first.

The first message of a file decides which of them it has. Each record is then handed on where it stands in the file, its
value at its start and blanks behind: readers see the records of their format at the offsets of the messages. What is no
such message is handed on as no JSON, and its reason beside it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, BinaryIO

import msgspec
from msgspec import Raw

from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.reading import Chunk, KafkaEnvelopes, KafkaMessage, Layout
from ggfmt.formats.json import files
from ggfmt.formats.json.cut import BOM, WHITE
from ggfmt.formats.json.values import decode, invalid_utf8, json_kind, parse

KCAT, PAIRS, LINES = "kcat", "pairs", "lines"
NAMES = {
    KCAT: "messages as `kcat -J` writes them",
    PAIRS: "messages with a `key` and a `value`",
    LINES: "messages as `kafka-console-consumer` prints them",
}

_NO_JSON = b"!"
_OF_PAIRS = {"key", "value", "headers", "topic", "partition", "offset", "timestamp", "timestampType", "timestamp_type"}
_OF_RECORDS = {"op_type", "op", "before", "after", "payload"}
_LINE = re.compile(
    rb"(?:(?:(?:CreateTime|LogAppendTime):-?[0-9]+|NO_TIMESTAMP)\t)?"
    rb"(?:Partition:([0-9]+)\t)?(?:Offset:([0-9]+)\t)?(?:([^\t]*)\t)?(.*)",
    re.DOTALL,
)
_KCAT_START = re.compile(rb'\s*\{"topic":"(?:[^"\\]|\\.)*","partition":[0-9]+,"offset":[0-9]+,')
_TEXTS_ONLY = "dump it with a consumer that makes JSON of it, or read the files of a sink"
_LOSES = "`kcat -J` loses the bytes of such messages"

# Keys before a TAB, as `kafka-console-consumer` prints them. A key is one JSON value that is no change record (a
# number, a text, the columns of a primary key, with or without a schema of Connect), or a text without a change record.
# Anything else may be records that another tool wrote before a TAB: they must not vanish as a key.

# Members of change records that hold an object or array.
_PARTS = {"before", "after", "data", "old", "message", "meta", "metadata", "headers", "source", "columns", "def"}
# Members that together identify a change record, with any values.
_SIGNS = (
    {"table", "op_type"},
    {"qual_table", "op_type"},
    {"ddl", "op_type"},
    {"tableName", "opType"},
    {"before", "after", "op"},
    {"database", "table", "type"},
    {"status", "event_count"},
    {"isDdl"},
    {"headers_operation"},
    {"message_version"},
    {"__op"},
    {"__deleted"},
)
_SCALED = {"scale", "value"}  # Debezium's VariableScaleDecimal: a number of any scale, which may be a key

_START = re.compile(r'\{\s*"')
_MAX_FAILURES = 64  # each takes time in proportion to the text
_lenient = json.JSONDecoder(parse_int=str, strict=False).raw_decode  # Python makes no int of thousands of digits


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
    """As `is_key`, of a text that is not one JSON value: several values in a row are no key either."""
    try:
        return not any(text.startswith("{") or _holds_record(value) for value in _objects_in(text))
    except _Unclear:
        return False


class _Unclear(Exception):
    """A text has too many starts of objects that do not end."""


def _objects_in(text: str) -> Iterator[Any]:
    """The JSON objects in a text, one after the other."""
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
    """Whether a value is a change record, or an array with one."""
    if isinstance(value, list):
        return any(map(_holds_record, value))
    if not isinstance(value, dict):
        return False
    payload = value.get("payload")
    if isinstance(payload, dict) and value.keys() <= {"schema", "payload"}:
        value = payload
    if any(value.keys() >= sign for sign in _SIGNS):
        return True
    return any(_is_part(value[name]) for name in _PARTS & value.keys())


def _is_part(value: Any) -> bool:
    return isinstance(value, list) or (isinstance(value, dict) and value.keys() != _SCALED)


class KcatLine(msgspec.Struct, gc=False):
    topic: str
    partition: int
    offset: int
    payload: Raw
    key: Raw = Raw(b"null")
    payload_error: str | None = None


class Pair(msgspec.Struct, gc=False):
    key: Raw
    value: Raw
    topic: str | None = None
    partition: int | None = None
    offset: int | None = None


_decoders: dict[str, msgspec.json.Decoder[Any]] = {
    KCAT: msgspec.json.Decoder(KcatLine),
    PAIRS: msgspec.json.Decoder(Pair),
}
_text = msgspec.json.Decoder(str).decode


def find_layout(head: bytes, whole: bool) -> Layout:
    """The layout of a file of JSON records that starts with `head`, with what is around each of them; `whole` says
    that there is no more of it."""
    layout = files.find_layout(head, whole)
    envelope = _envelope(head, layout)
    if envelope == LINES:
        return Layout(splittable=True, skipped=layout.skipped, envelope=LINES)
    return layout if envelope is None else replace(layout, envelope=envelope)


def plain_head(head: bytes) -> tuple[bytes, str | None]:
    """The records in the first bytes of a file, one a line, without what is around them; and what that is, in words.
    The bytes themselves, and None, where nothing is."""
    layout = find_layout(head, False)
    if layout.envelope is None:
        return head, None
    chunk = Chunk("", layout.skipped, head[layout.skipped :], layout, last=False)
    if layout.envelope == LINES:
        chunk = replace(chunk, data=chunk.data[: chunk.data.rfind(b"\n") + 1] or chunk.data)
    inner = _unwrapped(chunk)
    assert inner.spans is not None
    values = (b" ".join(inner.data[start:end].split(b"\n")) for start, end in inner.spans)
    return b"\n".join(values), NAMES[layout.envelope]


def chunks(stream: BinaryIO, file: str, start: int, length: int | None, layout: Layout) -> Iterator[Chunk]:
    """As `files.chunks`, of the records without what is around them."""
    read = files.chunks(stream, file, start, length, layout)
    return read if layout.envelope is None else map(_unwrapped, read)


def key_names(key: bytes | None) -> tuple[str, ...]:
    """The names of the members of a message's key, without a schema of Connect around them; none if it is no object.

    Maxwell's keys (`kafka_key_format: hash`) name the database and the table besides columns, as `pk.` and their name.
    """
    members = _object(key)
    if members is None:
        return ()
    if set(members) == {"schema", "payload"}:
        members = members["payload"]
        if not isinstance(members, dict):
            return ()
    if {"database", "table"} <= members.keys():
        return tuple(name.removeprefix("pk.") for name in members if name.startswith("pk."))
    return tuple(members)


def names_of_keys(head: bytes) -> tuple[str, ...] | None:
    """The names of the members that all keys have in a file of keys that starts with `head`, one a line; none if they
    have no names, or not the same. None if the file has something else than keys."""
    lines = [line.strip(WHITE) for line in head[: head.rfind(b"\n") + 1 or len(head)].split(b"\n")]
    found = set()
    for line in filter(None, lines):
        if not _is_key(line):
            return None
        found.add(key_names(line))
    return None if not found else found.pop() if len(found) == 1 else ()


def _is_key(line: bytes) -> bool:
    """Whether a line is a key: a text, a number, or an object of such that no record of changes is."""
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


# Which envelope a file has


def _envelope(head: bytes, layout: Layout) -> str | None:
    has_names = (b'"payload"' in head and b'"offset"' in head) or (b'"value"' in head and b'"key"' in head)
    if has_names or _KCAT_START.match(head, layout.skipped):
        first = next(files.head_objects(head), None)
        if first is None:  # it is longer than the head
            return KCAT if _KCAT_START.match(head, layout.skipped) else None
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
    """Whether the first line that has a value has an object for it, behind what may stand there."""
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


def _unwrapped(chunk: Chunk) -> Chunk:
    """A chunk of messages as one of their values, which stand where the messages do."""
    if chunk.problem is not None:
        return chunk
    chunk, messages = _lines(chunk) if chunk.layout.envelope == LINES else _objects(chunk)
    assert chunk.spans is not None
    data = bytearray(chunk.data)
    spans = []
    wrapped = []
    problems = {}
    for place, ((start, end), message) in enumerate(zip(chunk.spans, messages, strict=True)):
        if isinstance(message, Diagnostic):
            problems[place] = message
            message = KafkaMessage(_NO_JSON)
        value = message.value
        assert len(value) <= end - start, "escapes are no shorter than what they stand for"
        data[start:end] = value.ljust(end - start)
        spans.append((start, start + len(value)))
        wrapped.append(message)
    values = replace(chunk, data=bytes(data), spans=spans, settle=None)
    return replace(values, wrapped=KafkaEnvelopes(chunk, wrapped, problems))


def _objects(chunk: Chunk) -> tuple[Chunk, Sequence[KafkaMessage | Diagnostic]]:
    """The messages of a chunk of objects, and the chunk as it was cut to find them."""
    kind = chunk.layout.envelope
    assert kind is not None
    decoder = _decoders[kind]
    made = _of_kcat if kind == KCAT else _of_pair
    records: Sequence[Any] | None = None
    if chunk.spans is None:
        try:
            records = decoder.decode_lines(chunk.data)
        except (ValueError, RecursionError):
            chunk = chunk.settled()
    spans = files.record_spans(chunk)
    chunk = replace(chunk, spans=spans, settle=None)
    if records is not None and len(records) == len(spans):
        return chunk, [made(record) for record in records]
    messages: list[KafkaMessage | Diagnostic] = []
    for start, end in spans:
        record = chunk.data[start:end]
        try:
            messages.append(made(decoder.decode(record)))
        except (ValueError, RecursionError) as error:
            messages.append(_refused(record, kind, chunk.last and end == len(chunk.data), str(error)))
    return chunk, messages


def _refused(record: bytes, kind: str, last: bool, reason: str) -> Diagnostic:
    members = parse(record, last)
    if isinstance(members, Diagnostic):
        return members
    what = "null" if members is None else reason.partition(" - at ")[0]
    help = f"the file has {NAMES[kind]}: records of another kind belong into another file"
    return Diagnostic("GG320", f"the record is no message: {what[:1].lower()}{what[1:]}", help=help)


def _of_kcat(line: KcatLine) -> KafkaMessage | Diagnostic:
    if line.payload_error is not None:
        return Diagnostic("GG321", "`kcat` could not read the message, by its `payload_error`", help=_TEXTS_ONLY)
    payload = bytes(line.payload)
    if payload[:1] not in (b'"', b"n"):
        reason = f"`payload` is {json_kind(payload)} and not a text: `kcat` made it of Avro, and its types are lost"
        return Diagnostic("GG321", reason, help="dump the topic with a consumer that makes plain JSON of it")
    return _message(payload, bytes(line.key), line.topic, line.partition, line.offset)


def _of_pair(pair: Pair) -> KafkaMessage | Diagnostic:
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
    except ValueError:  # a key may be a number of eight bytes where the value is JSON: it has no names
        own = b""
    return KafkaMessage(text or b"null", None if own == b"null" else own, topic, partition, offset)


def _unquoted(value: bytes) -> bytes:
    return _text(value).encode().strip(WHITE) if value.startswith(b'"') else value


def _lines(chunk: Chunk) -> tuple[Chunk, Sequence[KafkaMessage | Diagnostic]]:
    """The messages of a chunk of lines, and the chunk with their places."""
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
        return Diagnostic("GG320", "the line is no message: it has no key, a TAB and a value")
    if key is not None and not is_key(key):
        help = "write each record into a line of its own, without a TAB between records"
        return Diagnostic("GG320", "the line is no message: what stands before its TAB has a change record", help=help)
    where = (None if number is None else int(number) for number in (partition, offset))
    return KafkaMessage(value or _NO_JSON, None if key == b"null" else key, None, *where)
