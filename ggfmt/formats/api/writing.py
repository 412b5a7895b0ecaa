"""The interface of writers: a formatter makes one message per operation, a framing makes the bytes of files, and a show
presents messages to a person."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa

from ggfmt.arrow.arrays import non_null_values
from ggfmt.columnar.metadata import Clock
from ggfmt.columnar.pieces import text_buffer
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.format import Context, Projection
from ggfmt.formats.api.losses import Loss
from ggfmt.java.charsets import byte_order_mark, can_decode, codec_of, encoder
from ggfmt.model.change import ChangeBatch
from ggfmt.model.table import TableDef

NOT_FINITE = frozenset({"NaN", "Infinity", "-Infinity", "+Infinity"})  # doubles that JSON cannot write as numbers
RIGHT_TYPE = "correct the type of the column with `--definitions`"  # help for values that are not of the column's type


class RowErrors(Exception):
    """Operations of a batch that cannot be formatted: pairs of row and diagnostic, in row order."""

    def __init__(self, rows: Sequence[tuple[int, Diagnostic]]) -> None:
        super().__init__(rows)
        self.rows = rows


@dataclass(frozen=True)
class LossNote:
    """A loss (by its id) of values in a column, or of operations if `field` is empty. The totals report their
    number."""

    code: str
    table: str
    field: str
    detail: str
    loss: str

    @property
    def unit(self) -> str:
        return "value" if self.field else "operation"


class Formatter(ABC):
    """Makes the messages of one table definition. `__init__` computes everything that depends on the definition and the
    options: after a schema change, ggfmt builds a new formatter. `fields` has the names of a message's fields for the
    summary; `notes` counts losses. `floats` has the type of each column that messages have as binary floating-point
    numbers, by its place."""

    fields: tuple[str, ...] = ()
    floats: Mapping[int, pa.DataType] = {}

    def __init__(self, table: TableDef, context: Context, clock: Clock) -> None:
        self.table = table
        self.include_tokens = context.include_tokens
        self.clock = clock
        self.notes: Counter[LossNote] = Counter()

    def arrange(self, batch: ChangeBatch) -> tuple[ChangeBatch, Sequence[int]]:
        """Return the operations to write, and the row that each comes from. Raises: RowErrors if some are refused."""
        return batch, range(len(batch))

    def count(self, loss: Loss, field: str, values: int, **words: str) -> None:
        """Count a loss of values of a column, or, if `field` is empty, of operations; `words` fill in its note."""
        if values:
            self.notes[LossNote(loss.code, self.table.full_name, field, loss.note.format(**words), loss.id)] += values

    def traced(self, messages: pa.Array[Any]) -> Iterator[str]:
        """Yield the messages as text for a log at level TRACE, if they are not text themselves."""
        return iter(())

    @abstractmethod
    def format(self, batch: ChangeBatch) -> pa.Array[Any]:
        """Return n messages, text or binary, for a batch of n operations; RowErrors if some cannot be formatted."""


_FLOATS = {**dict.fromkeys(("float", "float32"), pa.float32()), **dict.fromkeys(("double", "float64"), pa.float64())}


def floating(types: Iterable[Any]) -> dict[int, pa.DataType]:
    """Return `Formatter.floats` by the types of the columns in a schema of Avro or Connect."""
    return {index: _FLOATS[type] for index, type in enumerate(types) if isinstance(type, str) and type in _FLOATS}


class Framing(ABC):
    """Makes the bytes of a file from messages. Each file starts with `header`."""

    header: bytes = b""

    @abstractmethod
    def frame(self, messages: pa.Array[Any]) -> tuple[pa.Buffer | bytes, int]:
        """Return the bytes to append to a file, and the number of characters that the encoding lacks."""


@dataclass(frozen=True)
class SchemaFile:
    name: str
    content: bytes


@dataclass(frozen=True)
class WriteSupport:
    """The writer of a format.

    formatter    makes a Formatter of (table, options, context, clock)
    framing      makes a Framing of (table, options, context); the table is None for files of many tables
    projection   what the formatter needs from the reader, by its options
    preamble     bytes before the first operation of a definition in a file, by (table, options); empty for none
    schema       schema files of a table, by (table, options, context); none if the options switch them off
    ddl          statement for a Hive table over the files, by (table, options, context, location), or why there is none
    show         presents messages to a person, by (formatter, options, context); None: they are plain text
    """

    formatter: Callable[[TableDef, Any, Context, Clock], Formatter]
    framing: Callable[[TableDef | None, Any, Context], Framing]
    projection: Callable[[Any], Projection] = lambda options: Projection()
    preamble: Callable[[TableDef, Any], bytes] | None = None
    schema: Callable[[TableDef, Any, Context], tuple[SchemaFile, ...]] | None = None
    ddl: Callable[[TableDef, Any, Context, str], str | Diagnostic] | None = None
    show: Callable[[Formatter, Any, Context], Show] | None = None


class TextFraming(Framing):
    """Concatenates text messages in a charset; delimiters are part of the messages. A character that the charset lacks
    becomes the charset's replacement, as in Java, and is counted. A file starts with one byte order mark, followed by
    `head`. In charsets with a state (ISO 2022, mixed EBCDIC), each message starts and ends in the initial state, so
    that files can be cut and joined."""

    def __init__(self, charset: str, head: str = "") -> None:
        self._unchanged = codec_of(charset) == "utf-8"
        self._encoder = encoder(charset)
        self.header = byte_order_mark(charset) + self._encoder.encode(head)[0]

    def frame(self, messages: pa.Array[Any]) -> tuple[pa.Buffer | bytes, int]:
        data = text_buffer(messages)
        if self._unchanged:
            return data, 0
        if self._encoder.whole:
            return self._encoder.encode(str(data, "utf-8"))
        encoded = [self._encoder.encode(message) for message in non_null_values(messages)]
        return b"".join(part for part, _ in encoded), sum(lost for _, lost in encoded)


Role = Literal["name", "value", "null", "delimiter", "punctuation", "remark"]

HEX_LINES = 8
HEX_BYTES = 16  # in a line
_FLAT = 100  # characters; a longer JSON value takes several lines


@dataclass(frozen=True)
class ShownPiece:
    role: Role
    text: str


Line = tuple[ShownPiece, ...]


@dataclass(frozen=True)
class ShownField:
    """A field of a message. `remark` says what the text of the value does not show; empty if that is nothing."""

    name: str
    value: str
    remark: str


@dataclass(frozen=True)
class ShownMessage:
    """A message: its lines, its fields if it has any, and warnings about what a reader may misread."""

    lines: tuple[Line, ...]
    fields: tuple[ShownField, ...] = ()
    warnings: tuple[str, ...] = ()


class Show(ABC):
    """Presents the messages of a table definition. A message is lines of pieces. Each piece has a text as in the
    message and a role; rendering styles the roles and makes invisible characters visible. `about` has facts about the
    files, one per line. `framed`: messages are as in a file, not as they were before ggfmt made blocks of them."""

    about: tuple[str, ...] = ()
    framed: bool = True

    @abstractmethod
    def message(self, data: bytes) -> ShownMessage:
        """Return a message from its bytes, including the delimiter after it."""


class TextShow(Show):
    """Presents text messages in a charset, each in one line; as hexadecimal digits if Python lacks the charset."""

    def __init__(self, charset: str) -> None:
        self._codec = codec_of(charset) if can_decode(charset) else None
        mark = byte_order_mark(charset)
        self.about = () if charset == "UTF-8" else (f"encoding {charset}",)
        if mark:
            self.about += (f"each file starts with the byte order mark {mark.hex(' ')}",)

    def message(self, data: bytes) -> ShownMessage:
        return ShownMessage(hex_lines(data)) if self._codec is None else self.text(data.decode(self._codec, "replace"))

    def text(self, text: str) -> ShownMessage:
        return ShownMessage(((ShownPiece("value", text),),))


class BytesShow(Show):
    def message(self, data: bytes) -> ShownMessage:
        return ShownMessage(hex_lines(data))


def hex_lines(data: bytes) -> tuple[Line, ...]:
    """Return the first bytes as hexadecimal digits and as ASCII, with the offset of each line."""
    lines: list[Line] = []
    for start in range(0, min(len(data), HEX_LINES * HEX_BYTES), HEX_BYTES):
        part = data[start : start + HEX_BYTES]
        ascii = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in part)
        digits = f"{part.hex(' '):{3 * HEX_BYTES - 1}}"
        lines.append(
            (
                ShownPiece("remark", f"{start:08x}  "),
                ShownPiece("value", digits),
                ShownPiece("punctuation", "  "),
                ShownPiece("name", ascii),
            )
        )
    left = len(data) - HEX_LINES * HEX_BYTES
    if left > 0:
        lines.append((ShownPiece("remark", f"... {left:,} more byte{'s' * (left > 1)}"),))
    return tuple(lines)


_TOKEN = re.compile(
    r"""
      (?P<text> "[^"\\]*(?:\\.[^"\\]*)*" ) (?P<named> (?=[ ]*:) )?
    | (?P<break> \n )
    | (?P<punctuation> [\]\[{},:] | [ \t\r]+ )
    | (?P<word> [^\]\[{},:"\s]+ )
    """,
    re.VERBOSE | re.DOTALL,
)


def json_lines(text: str) -> tuple[tuple[Line, ...], str]:
    """Return the lines of the JSON object or array at the start of a text, and the rest of the text."""
    lines: list[list[ShownPiece]] = [[]]
    end = depth = 0
    for token in _tokens(text):
        kind, text_of = token.lastgroup, token[0]
        end = token.end()
        if kind == "break":
            lines.append([])
        elif kind == "word":
            lines[-1].append(ShownPiece("null" if text_of == "null" else "value", text_of))
        elif kind == "punctuation":
            lines[-1].append(ShownPiece("punctuation", text_of))
            depth += (text_of in "{[") - (text_of in "}]")
            if text_of in "}]" and not depth:
                break
        else:
            lines[-1].append(ShownPiece("name" if kind == "named" else "value", text_of))
    return tuple(map(tuple, lines)), text[end:]


def _tokens(text: str) -> Iterator[re.Match[str]]:
    place = 0
    while (token := _TOKEN.match(text, place)) is not None:
        yield token
        place = token.end()


def pretty_json(value: Any, depth: int = 0) -> str:
    """Return the JSON text of a value with a member per line. Below the top, only long members are divided."""
    flat = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or not value or (depth and len(flat) <= _FLAT):
        return flat
    gap, end = "\n" + "  " * (depth + 1), "\n" + "  " * depth
    if isinstance(value, list):
        return "[" + ",".join(gap + pretty_json(item, depth + 1) for item in value) + end + "]"
    members: Sequence[str] = [
        f"{gap}{json.dumps(name, ensure_ascii=False)}: {pretty_json(item, depth + 1)}" for name, item in value.items()
    ]
    return "{" + ",".join(members) + end + "}"
