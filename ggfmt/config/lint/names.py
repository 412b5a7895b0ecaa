"""Names that templates make: keywords that are none because of their marks, and characters that no store takes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from ggfmt.config.comments import before_comment, check_quotes
from ggfmt.config.properties import Entry
from ggfmt.dataclasses import dataclass, replace
from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.java.text import InvalidValueError, trim, visible
from ggfmt.lazy import lazy_regex
from ggfmt.options.templates import (
    KEYWORDS,
    OF_METADATA,
    Literal,
    MessageTemplate,
    PathTemplate,
    Piece,
    Regex,
    Substring,
    find_other_marks,
    meant_keyword,
    parse_pieces,
)
from ggfmt.options.value_types import MemberName, OpKey, Path, Text, Uri, ValueType, unwrap_cdata

# Placeholders of a manual or a template that are still in the file.
LEFT_IN = lazy_regex(r"<[a-z][\w .-]*>|(?<![a-z0-9])your[-_ ][\w-]+", re.IGNORECASE)


def part_span(entry: Entry, part: str | None) -> Span:
    """Return the place of a part of a value; of the whole value if the part is not visible in the file."""
    if not part or entry.secret:
        return entry.value_span
    return entry.span_of(part, entry.value_span, entry.value_column - 1)


# A keyword without its marks as the whole of a template, or of an argument; and a suffix in braces.
_CAMEL = "|".join(word for word in KEYWORDS if word != word.lower())
_BARE = lazy_regex(
    rf"\A(?:{_CAMEL}|null)\Z|(?:(?<=case\[)|(?<=string\[)|(?<=regex\[))(?:{_CAMEL})(?=\])|(?<!\$)\{{(\.\w+)\}}",
    re.IGNORECASE,
)
_VARIABLE = lazy_regex(r"\A~(?=/|\Z)|\$[A-Z][A-Z_]+\b|%[A-Z][A-Z_]+%")


def check_marks(entry: Entry, kind: ValueType[Any]) -> Iterator[Diagnostic]:
    """Yield GG142 for a value in quotes, keywords in other marks than `${}`, and blanks at the end of a name."""
    is_name = isinstance(kind, (MessageTemplate, Path, PathTemplate))
    of_text = type(kind) in (Text, MemberName, OpKey, Uri) and not entry.secret
    if not (is_name or of_text):
        return
    yield from check_quotes(entry)
    if not is_name:
        return
    yield from _trailing_blanks(entry)
    if isinstance(kind, Path) or entry.secret:
        return
    for bare in _BARE.finditer(entry.value):
        right = bare[1] or f"${{{meant_keyword(bare[0], KEYWORDS, {})}}}"
        message = f"`{bare[0]}` is a text in `{entry.key}`" + ("" if bare[1] else ", not a keyword")
        yield Diagnostic("GG142", message, part_span(entry, bare[0]), f"write `{right}`")
    others = list(find_other_marks(entry.value, KEYWORDS, OF_METADATA))
    variable = _VARIABLE.search(entry.value)
    if isinstance(kind, PathTemplate) and variable is not None and not others:
        message = f"`{variable[0]}` is a text in `{entry.key}`: GoldenGate knows no variables of the shell"
        yield Diagnostic("GG142", message, part_span(entry, variable[0]), "write the path itself")
    for found, meant, is_certain in others:
        right = f"${{{meant}}}"
        try:
            kind.parse(right)
        except InvalidValueError:  # it needs an argument, or is not for this template
            right, is_certain = f"${{{meant}[...]}}", False
        span, start = entry.value_span, entry.source.find(entry.value, entry.value_column - 1)
        if start >= 0:
            span = replace(span, column=start + found.start() + 1, length=len(found[0]))
        message = f"`{visible(found[0])}` is a text in `{entry.key}`, not a keyword"
        yield Diagnostic("GG142", message, span, f"write `{right}`", right if is_certain and start >= 0 else None)


def _trailing_blanks(entry: Entry) -> Iterator[Diagnostic]:
    kept = entry.value.rstrip(" \t\f")
    if not kept or kept == entry.value or unwrap_cdata(trim(kept)) != trim(kept):
        return
    message = f"`{entry.key}` ends with a blank, which some releases of GoldenGate keep in the name"
    span, fix = entry.value_span, None
    if not (entry.secret or entry.continued or entry.raw.rstrip(" \t\f").endswith("\\")):
        text = entry.source[entry.value_column - 1 :]
        span, fix = replace(span, length=len(text)), text.rstrip(" \t\f")
    yield Diagnostic("GG142", message, span, "remove it", fix)


@dataclass(frozen=True)
class _Names:
    what: str
    refused: re.Pattern[str]
    legal: str
    length: int
    least: int = 1


_TOPIC = _Names("topic of Kafka", lazy_regex(r"[^A-Za-z0-9._-]+"), "letters of ASCII, digits, `.`, `_` and `-`", 249)
_RULES = {
    "kafka topicMappingTemplate": _TOPIC,
    "kafka schemaTopicName": _TOPIC,
    "kafka topicName": _TOPIC,
    "kafkaconnect topicMappingTemplate": _TOPIC,
    "kafkarestproxy topicMappingTemplate": _TOPIC,
    "kinesis_streams streamMappingTemplate": _Names("stream of Kinesis", _TOPIC.refused, _TOPIC.legal, 128),
    "s3 bucketMappingTemplate": _Names(
        "bucket of S3", lazy_regex(r"[^a-z0-9.-]+"), "small letters, digits, `.` and `-`", 63, 3
    ),
    "gcs bucketMappingTemplate": _Names(
        "bucket of Google", lazy_regex(r"[^a-z0-9._-]+"), "small letters, digits, `.`, `_` and `-`", 222, 3
    ),
    "abs bucketMappingTemplate": _Names(
        "container of Azure", lazy_regex(r"[^a-z0-9$-]+"), "small letters, digits and `-`", 63, 3
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
    if any(piece.keyword == "null" for piece in pieces):
        message = f"`{entry.key}` has `${{null}}`, and a {rule.what} needs a name"
        yield Diagnostic("GG141", message, part_span(entry, "${null}"), "write a name")
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
    if whole is not None and (whole in (".", "..") or not rule.least <= len(whole) <= rule.length):
        message = f"`{entry.key}` is not a legal name of a {rule.what}"
        yield Diagnostic("GG141", message, entry.value_span, f"give a name of {rule.least} to {rule.length} characters")


def _lower(refused: str) -> str:
    return "; `${toLowerCase[${schemaName}]}` makes small letters of a name" if refused.lower() != refused else ""


def _literals(pieces: Sequence[Piece]) -> Iterator[str]:
    """Yield the texts that names have for certain; a regular expression or a part of a text may leave them out."""
    for piece in pieces:
        if not isinstance(piece, (Regex, Substring)):
            yield from filter(None, piece.texts)
            yield from _literals(piece.within)
