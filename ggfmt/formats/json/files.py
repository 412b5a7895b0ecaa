"""JSON records in files: one a line, concatenated, pretty-printed, divided by a delimiter, or in one array.

Shared by all dialects whose messages are JSON objects. Where a file has one record a line, any line may start a split;
the other layouts are read from their start. Boundaries between concatenated records are guessed and then proved by
decoding what lies before them; where that fails (a damaged record), every record is found by scanning.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import BinaryIO

import msgspec

from ggfmt.formats.api.reading import Chunk, Layout

CHUNK_BYTES = 1 << 20
MAX_RECORD_BYTES = 256 << 20
BOM = b"\xef\xbb\xbf"

_WHITE = b" \t\r\n"
_STRICT = json.JSONDecoder(parse_int=str)  # Python does not make an int of thousands of digits
_LENIENT = json.JSONDecoder(
    parse_int=str, strict=False
)  # finds the end of a record in spite of line ends inside of strings
_RAW = msgspec.json.Decoder(msgspec.Raw)
_MAX_DELIMITER = 64
_MAX_CUT = 12  # of a pair of escapes, the longest that the decoder takes at once


_COMMENT = re.compile(rb"\s*/\*.*?\*/", re.DOTALL)


def preamble(head: bytes) -> int:
    """How many bytes at the start of a file are no records: a byte order mark, and a comment as some files have it."""
    mark = len(BOM) if head.startswith(BOM) else 0
    comment = _COMMENT.match(head, mark)
    return comment.end() if comment else mark


def find_layout(head: bytes, whole: bool) -> Layout:
    """The layout of a file that starts with `head`; `whole` tells that there is no more of it."""
    start = preamble(head)
    layout = _layout(head[start:], whole)
    return layout if start <= len(BOM) else replace(layout, splittable=False)


def _layout(head: bytes, whole: bool) -> Layout:
    text = head.decode("latin-1")
    start = _skip(text, 0, "")
    if text.startswith("[", start):
        return Layout(splittable=False, delimiter=b",", array=True)
    end = _end_of_record(text, start, _LENIENT)
    if end is None:
        first_line, _, rest = head[start:].partition(b"\n")
        pretty = first_line.strip() == b"{" or (not rest and whole)
        return Layout(splittable=not pretty)
    one_line = b"\n" not in head[start:end]
    if one_line and re.match(r"[ \t\r]*(\n|$)", text[end:]):
        return Layout(splittable=True)
    following = text.find("{", end)
    if following < 0 and whole:
        following = len(text)
    gap = text[end:following].strip() if following >= 0 else ""
    if len(gap) > _MAX_DELIMITER or "\n" in gap:
        return Layout(splittable=one_line)
    return Layout(splittable=False, delimiter=gap.encode("latin-1"))


def chunks(stream: BinaryIO, file: str, start: int, length: int | None, layout: Layout) -> Iterator[Chunk]:
    """The records that start in the `length` bytes from `start`, about `CHUNK_BYTES` at a time."""
    if layout.splittable:
        return _line_chunks(stream, file, start, length, layout)
    return _stream_chunks(stream, file, layout)


def record_spans(chunk: Chunk) -> tuple[tuple[int, int], ...]:
    """Start and end of every record of a chunk, those that are damaged among them."""
    if chunk.spans is not None:
        return chunk.spans
    return tuple(_scan(chunk.data, chunk.layout))


def _line_chunks(stream: BinaryIO, file: str, start: int, length: int | None, layout: Layout) -> Iterator[Chunk]:
    offset = start
    if start:
        stream.seek(start - 1)
        offset += len(stream.readline()) - 1  # the line that holds the byte before `start` belongs to another split
    end = None if length is None else start + length
    while end is None or offset < end:
        data = stream.read(CHUNK_BYTES if end is None else min(CHUNK_BYTES, end - offset))
        if not data:
            return
        if not data.endswith(b"\n"):
            data += stream.readline()
        mark = len(BOM) if not offset and data.startswith(BOM) else 0
        yield Chunk(file, offset + mark, data[mark:], layout)
        offset += len(data)


def _stream_chunks(stream: BinaryIO, file: str, layout: Layout) -> Iterator[Chunk]:
    offset, left, more = 0, b"", True
    while more:
        block = stream.read(CHUNK_BYTES)
        more = bool(block)
        if not offset and not left:
            offset = preamble(block)
            block = block[offset:]
        data = left + block
        left = b""
        if more:
            cut = _proven_boundary(data) if not layout.delimiter else None
            if cut is None:
                spans = tuple(_scan(data, layout, more))
                # The last record may go on in the next block.
                cut = spans[-1][0] if spans and len(data) - spans[-1][0] < MAX_RECORD_BYTES else len(data)
                kept = tuple(span for span in spans if span[1] <= cut)
                if kept:
                    yield Chunk(file, offset, data[:cut], layout, kept)
            else:
                yield Chunk(file, offset, data[:cut], layout)
            left, offset = data[cut:], offset + cut
        elif data.strip(_WHITE):
            yield Chunk(file, offset, data, layout, tuple(_scan(data, layout)))


def _proven_boundary(data: bytes) -> int | None:
    """The last place before which there are nothing but whole JSON values, or None if a few guesses fail."""
    guess = len(data)
    for _ in range(4):
        guess = data.rfind(b"{", 0, guess)
        while guess > 0 and not data[:guess].endswith((b"}", b"}\n", b"}\r\n")):
            guess = data.rfind(b"{", 0, guess)
        if guess <= 0:
            return None
        try:
            _RAW.decode_lines(data[:guess])
        except (msgspec.DecodeError, RecursionError):
            continue
        return guess
    return None


def _scan(data: bytes, layout: Layout, more: bool = False) -> Iterator[tuple[int, int]]:
    """Start and end of every record.

    A damaged one reaches to the next line, or where lines mean nothing, to the next line that starts with a brace.
    Where `more` follows, a record that is damaged only by ending too early is the last.
    """
    text = data.decode("latin-1")  # one character a byte, so that offsets stay what they are
    delimiter = layout.delimiter.decode("latin-1")
    decoder = _STRICT if layout.splittable else _LENIENT
    brackets = "[]" if layout.array else ""
    position = _skip(text, 0, delimiter, brackets)
    while position < len(text):
        end = _end_of_record(text, position, decoder)
        if end is None and more and _ends_early(text, position):
            end = len(text)
        elif end is None:
            end = text.find("\n" if layout.splittable else "\n{", position)
            end = len(text) if end < 0 else end
        yield position, end
        position = _skip(text, end, delimiter, brackets)


def _end_of_record(text: str, start: int, decoder: json.JSONDecoder) -> int | None:
    try:
        return decoder.raw_decode(text, start)[1]
    except (ValueError, RecursionError):
        return None


def _ends_early(text: str, start: int) -> bool:
    try:
        _LENIENT.raw_decode(text, start)
    except json.JSONDecodeError as error:
        # Of a number, a literal or an escape that is cut, the error may be told some characters before the end.
        return error.msg.startswith("Unterminated") or error.pos >= len(text) - _MAX_CUT
    except RecursionError:
        return False
    return False


def _skip(text: str, position: int, delimiter: str, brackets: str = "") -> int:
    """The next place that is neither white space nor delimiter."""
    while position < len(text):
        if text[position] in " \t\r\n" or text[position] in brackets:
            position += 1
        elif delimiter and text.startswith(delimiter, position):
            position += len(delimiter)
        else:
            break
    return position
