"""Names that templates make: keywords that are none because of their marks, and characters that no store takes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ggfmt.config.comments import before_comment, check_quotes
from ggfmt.config.properties import Entry
from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.java.text import InvalidValueError, visible
from ggfmt.options.message_templates import MessageTemplate
from ggfmt.options.templates import (
    KEYWORDS,
    OF_METADATA,
    Literal,
    PathTemplate,
    Piece,
    Regex,
    Substring,
    find_other_marks,
    parse_pieces,
)
from ggfmt.options.value_types import ValueType, unwrap_cdata

# Placeholders of a manual or a template that are still in the file.
LEFT_IN = re.compile(r"<[a-z][\w .-]*>|(?<![a-z0-9])your[-_ ][\w-]+", re.IGNORECASE)


def part_span(entry: Entry, part: str | None) -> Span:
    """Return the place of a part of a value; of the whole value if the part is not visible in the file."""
    if not part or entry.secret:
        return entry.value_span
    return entry.span_of(part, entry.value_span, entry.value_column - 1)


def check_marks(entry: Entry, kind: ValueType[Any]) -> Iterator[Diagnostic]:
    """Yield GG142 for a template in quotes, and for keywords in other marks than `${}`."""
    if entry.secret or not isinstance(kind, (MessageTemplate, PathTemplate)):
        return
    yield from check_quotes(entry)
    for found, meant, is_certain in find_other_marks(entry.value, KEYWORDS, OF_METADATA):
        right = f"${{{meant}}}"
        try:
            kind.parse(right)
        except InvalidValueError:  # it needs an argument, or is not for this template
            right, is_certain = f"${{{meant}[...]}}", False
        span, start = entry.value_span, entry.source.find(entry.value, entry.value_column - 1)
        if start >= 0:
            span = replace(span, column=start + found.start() + 1, length=len(found[0]))
        message = f"`{visible(found[0])}` is a text in `{entry.key}`, not a keyword"
        fix = right if is_certain and start >= 0 else None
        yield Diagnostic("GG142", message, span, f"write `{right}`", fix)


@dataclass(frozen=True)
class _Names:
    what: str
    refused: re.Pattern[str]
    legal: str
    length: int


_TOPIC = _Names("topic of Kafka", re.compile(r"[^A-Za-z0-9._-]+"), "letters of ASCII, digits, `.`, `_` and `-`", 249)
_RULES = {
    "kafka topicMappingTemplate": _TOPIC,
    "kafka schemaTopicName": _TOPIC,
    "kafka topicName": _TOPIC,
    "kafkaconnect topicMappingTemplate": _TOPIC,
    "kafkarestproxy topicMappingTemplate": _TOPIC,
    "kinesis_streams streamMappingTemplate": _Names("stream of Kinesis", _TOPIC.refused, _TOPIC.legal, 128),
    "s3 bucketMappingTemplate": _Names(
        "bucket of S3", re.compile(r"[^a-z0-9.-]+"), "small letters, digits, `.` and `-`", 63
    ),
    "gcs bucketMappingTemplate": _Names(
        "bucket of Google", re.compile(r"[^a-z0-9._-]+"), "small letters, digits, `.`, `_` and `-`", 222
    ),
    "abs bucketMappingTemplate": _Names(
        "container of Azure", re.compile(r"[^a-z0-9$-]+"), "small letters, digits and `-`", 63
    ),
    "oci bucketMappingTemplate": _Names("bucket of Oracle Cloud", _TOPIC.refused, _TOPIC.legal, 256),
}


def check_names(entry: Entry, property: str) -> Iterator[Diagnostic]:
    """Yield GG141 for a template of names that its store refuses. `property`: the type of the handler, and the name."""
    rule = _RULES.get(property)
    text = unwrap_cdata(before_comment(entry))
    if (
        rule is None
        or entry.secret
        or not text.isascii()
        or LEFT_IN.search(text)
        or any(check_marks(entry, MessageTemplate()))
    ):
        return
    try:
        pieces = parse_pieces(text)
    except InvalidValueError:
        return  # it is reported
    texts = list(_literals(pieces))
    whole = "".join(texts) if all(isinstance(piece, Literal) for piece in pieces) else None
    for literal in texts:
        refused = rule.refused.search(literal)
        if refused is None:
            continue
        shown = "a blank" if refused[0].isspace() else f"`{visible(refused[0])}`"
        message = f"`{entry.key}` has {shown}, which no {rule.what} can have"
        yield Diagnostic("GG141", message, part_span(entry, literal), f"names have {rule.legal}{_lower(refused[0])}")
        return
    if whole is not None and (whole in (".", "..") or len(whole) > rule.length):
        message = f"`{entry.key}` is not a legal name of a {rule.what}"
        yield Diagnostic("GG141", message, entry.value_span, f"give a name of 1 to {rule.length} characters")


def _lower(refused: str) -> str:
    return "; `${toLowerCase[${schemaName}]}` makes small letters of a name" if refused.lower() != refused else ""


def _literals(pieces: Sequence[Piece]) -> Iterator[str]:
    """Yield the texts that names have for certain; a regular expression or a part of a text may leave them out."""
    for piece in pieces:
        if not isinstance(piece, (Regex, Substring)):
            yield from filter(None, piece.texts)
            yield from _literals(piece.within)
