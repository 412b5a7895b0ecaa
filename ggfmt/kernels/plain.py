"""The functions of the native kernels in plain Python, a value at a time.

They do the work on machines without kernels, and what kernels refuse, with the same results.
"""

from __future__ import annotations

import re
import struct
from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise, repeat
from typing import Any

from ggfmt.lazy import lazy_regex

# Escapes of single characters. javax.json escapes all other characters below U+0020 as \u00xx and none above.
_SHORT = {"\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\", '"': '\\"'}
JSON_ESCAPES = str.maketrans({chr(code): f"\\u{code:04x}" for code in range(0x20)} | _SHORT)
# Jackson writes the digits of \u00xx in capitals.
JACKSON_ESCAPES = str.maketrans({chr(code): f"\\u{code:04X}" for code in range(0x20)} | _SHORT)


class _ConnectEscapes(dict[int, str]):
    """Jackson's escapes in UTF-8, as Kafka's converter writes them: also those of characters beyond the BMP."""

    def __missing__(self, code: int) -> str:
        if code <= 0xFFFF:
            raise LookupError
        units = chr(code).encode("utf-16-be").hex().upper()
        return f"\\u{units[:4]}\\u{units[4:]}"


CONNECT_ESCAPES = _ConnectEscapes(JACKSON_ESCAPES)
# An XML parser turns a bare tab or line end in an attribute into a blank, and a bare carriage return into a line feed.
ATTRIBUTE_ESCAPES = str.maketrans(
    {"&": "&amp;", "<": "&lt;", "'": "&apos;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}
)


def varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def zigzag_varint(number: int) -> bytes:
    """Encode an int or a long of Avro."""
    return varint((number << 1) ^ (number >> 63))


def sized(value: str | bytes) -> bytes:
    data = _bytes(value)
    return zigzag_varint(len(data)) + data


def _bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value


def _escaped(characters: str, escapes: dict[int, str]) -> Callable[[str], bytes]:
    """Return the encoder of texts some characters of which have escapes. Most texts have no such character."""
    replace = lazy_regex(f"[{characters}]").sub
    return lambda text: replace(lambda found: found[0].translate(escapes), text).encode()


# By `columnar.pieces.Encoding`. A float comes from the nearest double: with so few digits, rounding twice does no harm.
_ENCODERS: tuple[Callable[[Any], bytes], ...] = (
    _bytes,
    _escaped('\\x00-\\x1f"\\\\', JSON_ESCAPES),
    _escaped('\\x00-\\x1f"\\\\', JACKSON_ESCAPES),
    _escaped('\\x00-\\x1f"\\\\\U00010000-\U0010ffff', CONNECT_ESCAPES),
    lambda text: text.replace("]]>", "]]]]><![CDATA[>").replace("\r", "]]>&#13;<![CDATA[").encode(),
    _escaped("&<'\\t\\n\\r", ATTRIBUTE_ESCAPES),
    lambda text: text.replace('"', '""').encode(),
    lambda number: b"%d" % number,
    lambda micros: b"%d" % (micros // 1000),
    lambda micros: b"%d000" % micros if micros else b"0",
    sized,
    zigzag_varint,
    lambda text: zigzag_varint(int(text)),
    lambda text: struct.pack("<f", float(text)),
    lambda text: struct.pack("<d", float(text)),
    lambda text: b"\1" if text == "true" else b"\0",
)


# What a piece writes: the same bytes in all rows, or bytes for each row, None where it has no value.
_Column = Any
_Kinds = tuple[type, ...]


def join(pieces: Sequence[Any], rows: int, kinds: _Kinds) -> tuple[int, array[int], bytes]:
    """Return the number of messages, their n + 1 offsets, and their bytes; `rows` is -1 if arrays have the number.
    Raises: AssertionError if a piece is null, or nothing shows the number of rows. Raises: OverflowError for too large
    messages."""
    messages = _joined(pieces, kinds)
    if isinstance(messages, bytes):
        if rows < 0:
            raise AssertionError("a join of constants needs a number of rows")
        messages = [messages] * rows
    if None in messages:
        raise AssertionError("a join lost rows: a piece is null")
    if rows not in (-1, len(messages)):
        raise ValueError(f"an array of {len(messages)} rows among others of {rows}")
    return len(messages), array("i", accumulate(map(len, messages), initial=0)), b"".join(messages)


def _joined(pieces: Sequence[Any], kinds: _Kinds) -> _Column:
    columns = [_column(piece, kinds) for piece in pieces]
    if all(isinstance(column, bytes) for column in columns):
        return b"".join(columns)
    if any(None in column for column in columns if isinstance(column, list)):
        return [None if None in row else b"".join(row) for row in _rows(*columns)]
    return columns[0] if len(columns) == 1 else list(map(b"".join, _rows(*columns)))


def _rows(*columns: _Column) -> Iterator[tuple[Any, ...]]:
    """Yield what columns have in each row; at least one is a list."""
    lengths = sorted({len(column) for column in columns if isinstance(column, list)})
    if len(lengths) > 1:
        raise ValueError(f"an array of {lengths[0]} rows among others of {lengths[1]}")
    return zip(*(repeat(column) if isinstance(column, bytes) else column for column in columns), strict=False)


def _column(piece: Any, kinds: _Kinds) -> _Column:
    if isinstance(piece, (str, bytes)):
        return _bytes(piece)
    if type(piece) in kinds:
        return _MAKERS[kinds.index(type(piece))](kinds, *piece)
    return _bytes(piece.as_py()) if hasattr(piece, "as_py") else _text(kinds, piece)


def _text(
    kinds: _Kinds,
    values: Any,
    encoding: int = 0,
    null: str | bytes | None = None,
    lead: str | bytes = b"",
    tail: str | bytes = b"",
) -> _Column:
    encode, lead, tail = _ENCODERS[encoding], _bytes(lead), _bytes(tail)
    absent = None if null is None else _bytes(null)
    return [absent if value is None else lead + encode(value) + tail for value in values.to_pylist()]


def _conditional(kinds: _Kinds, where: Any, then: Sequence[Any], otherwise: Sequence[Any]) -> _Column:
    if hasattr(where, "to_pylist"):
        mask = where.to_pylist()
    else:
        values, text = where
        mask = [value == text for value in values.to_pylist()]
    if None in mask:
        raise AssertionError("a join lost rows: a piece is null")
    branches = _joined(then, kinds), _joined(otherwise, kinds)
    return [one if holds else other for holds, one, other in _rows(mask, *branches)]


def _comma_joined(kinds: _Kinds, pieces: Sequence[Any]) -> _Column:
    joined = _joined(pieces, kinds)
    if isinstance(joined, bytes):
        return joined.removeprefix(b",")
    return [members and members.removeprefix(b",") for members in joined]


def _repeated(kinds: _Kinds, lists: Any, pieces: Sequence[Any], between: str, counted: bool) -> _Column:
    items, ends = _joined(pieces, kinds), lists.offsets.to_pylist()
    if isinstance(items, bytes):
        items = [items] * ends[-1]
    if len(items) < ends[-1]:
        raise ValueError("lists of other items than the pieces have")
    texts: list[bytes | None] = []
    for (start, end), there in zip(pairwise(ends), lists.is_valid().to_pylist(), strict=True):
        size = zigzag_varint(end - start) if counted and end > start else b""
        own = items[start:end]
        texts.append(size + _bytes(between).join(own) if there and None not in own else None)
    return texts


_MAKERS: tuple[Callable[..., _Column], ...] = (_text, _conditional, _comma_joined, _repeated, lambda kinds: b",")


# By `columnar.strings.TextPattern`.
_PATTERNS = tuple(
    map(
        re.compile,
        (
            r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?",
            "true|false",
            "[^\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]*",
            "-?(?:0|[1-9][0-9]{0,17})",
            r"-?(?:[0-9]{1,7}|(?=[0-9.]{3,8}\Z)[0-9]+\.[0-9]+)",
            r"-?(?:[0-9]{1,15}|(?=[0-9.]{3,16}\Z)[0-9]+\.[0-9]+)",
        ),
    )
)


_DECIMAL = lazy_regex(r"-?0*([0-9]+)(?:[.]([0-9]+))?")


def fits(texts: Any, form: int) -> bool:
    """Return whether all values are NULL or match a pattern."""
    matches = _PATTERNS[form].fullmatch
    return all(value is None or matches(value) is not None for value in texts.to_pylist())


def digits(texts: Any) -> tuple[int, int, int]:
    """Return the most digits before and after the point of numbers, and how many values are no numbers without an
    exponent. NULL does not count, nor do zeros in front."""
    values = [value for value in texts.to_pylist() if value is not None]
    found = [match.groups("") for match in map(_DECIMAL.fullmatch, values) if match is not None]
    whole, fraction = (max((len(match[group]) for match in found), default=0) for group in (0, 1))
    return whole, fraction, len(values) - len(found)


def count(texts: Any, parts: tuple[str, ...], wholes: tuple[str, ...]) -> tuple[int, ...]:
    """Count the values that contain each of the parts, none for an empty one, then those that equal each whole."""
    values = [value for value in texts.to_pylist() if value is not None]
    held = (sum(part in value for value in values) if part else 0 for part in parts)
    return (*held, *map(values.count, wholes))


def differ(texts: Any, others: Any, rows: Any = None, other_rows: Any = None) -> bytes:
    """Return, as bits, where two columns, or some rows of each, have different values. NULL equals only NULL."""
    if rows is not None:
        texts, others = texts.take(rows), others.take(other_rows)
    pairs = zip(texts.to_pylist(), others.to_pylist(), strict=True)
    bits = "".join("01"[value != other] for value, other in pairs)
    return int(f"0{bits[::-1]}", 2).to_bytes((len(bits) + 7) // 8, "little")


def occurrences(data: bytes, text: bytes) -> int:
    return data.count(text)


def envelopes(data: bytes, place: int, most: int) -> bytes:
    """Return the places of no envelope of Qlik Replicate: the exact reader finds them all."""
    return b""


def partitions(keys: Any, count: int) -> bytes:
    """Return the partitions (int32) that Kafka's Java producer chooses for keys; of a NULL any number."""
    hashes = (0 if key is None else _murmur2(key) for key in keys.to_pylist())
    return array("i", ((number & 0x7FFFFFFF) % count for number in hashes)).tobytes()


def _murmur2(data: bytes) -> int:
    factor, mask, end = 0x5BD1E995, 0xFFFFFFFF, len(data) & ~3
    found = 0x9747B28C ^ len(data)
    for (word,) in struct.iter_unpack("<I", data[:end]):
        word = word * factor & mask
        found = found * factor & mask ^ (word ^ word >> 24) * factor & mask
    if data[end:]:
        found = (found ^ int.from_bytes(data[end:], "little")) * factor & mask
    found = (found ^ found >> 13) * factor & mask
    return found ^ found >> 15


# How escapes are written in CSV: a quote twice; after a backslash in quotes; after one anywhere, also as letters.
DOUBLED, IN_QUOTES, LETTERS = range(3)


def csv_rows(
    data: bytes, place: int, more: bool, most: int, delimiter: str, quote: str, escapes: int
) -> tuple[bytes, int]:
    """Return starts and ends of rows in turns, and where the next row starts. If `more` bytes follow, a row that may go
    on in them ends the search; a row of more than `most` bytes always does. A field whose closing quote never comes
    ends with its line."""
    match_row, spans = _csv_row(delimiter, quote, escapes).match, array("q")
    while place < len(data):
        stop = min(len(data), place + most + 1)  # the line end of the longest row is its next byte
        is_rest = stop <= place + most
        match = match_row(data, place, stop)
        end = -1 if match is None else match.end()
        if end < 0 or (end == stop and (more or not is_rest)):
            if more and is_rest:
                break
            end = data.find(b"\n", place, stop)
            if end < 0 and not is_rest:
                break
            end = stop if end < 0 else end
        spans.extend((place, end - (end < len(data) and data.endswith(b"\r", place, end))))
        place = min(end + 1, len(data))
    return spans.tobytes(), place


@lru_cache(maxsize=64)
def _csv_row(delimiter: str, quote: str, escapes: int) -> re.Pattern[bytes]:
    """Return the expression of a row. It can match in one way only, so that trying others takes no time: a closing
    quote is never followed by a quote."""
    d, q = re.escape(delimiter), re.escape(quote)
    bodies = rf"[^{q}]*(?:{q}{q}[^{q}]*)*", rf"[^{q}\\]*(?:\\.[^{q}\\]*)*", rf"[^{q}\\]*(?:(?:\\.|{q}{q})[^{q}\\]*)*"
    plain = rf"[^{d}\n\\]*(?:\\(?:.|\Z)[^{d}\n\\]*)*" if escapes == LETTERS else rf"[^{d}\n]*"
    closed = rf"{q}{bodies[escapes]}{q}" + ("" if escapes == IN_QUOTES else rf"(?!{q})")
    whole = rf"(?:{closed}{plain}|(?!{q}){plain})" if quote else plain
    return re.compile(rf"{whole}(?:{d}{whole})*(?=\n|\Z)".encode(), re.DOTALL)
