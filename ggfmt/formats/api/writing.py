"""The interface of writers: a formatter makes one message per operation, a framing makes the bytes of files, and a show
presents messages to a person."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import narrow, non_null_values
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
    summary; `notes` counts losses. `delimiter` ends binary messages. `floats` has the type of each column that messages
    have as binary floating-point numbers, by its place."""

    fields: tuple[str, ...] = ()
    floats: Mapping[int, pa.DataType] = {}
    delimiter: str = ""

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

    def decoded(self, message: bytes) -> Sequence[Any]:
        """Return the JSON values in a binary message, the record last; none if there is no decoder."""
        return ()

    @abstractmethod
    def format(self, batch: ChangeBatch) -> pa.Array[Any]:
        """Return n messages, text or binary, for a batch of n operations. Raises: RowErrors if some cannot be
        formatted."""


_FLOATS = {**dict.fromkeys(("float", "float32"), pa.float32()), **dict.fromkeys(("double", "float64"), pa.float64())}


def floating(types: Iterable[Any]) -> dict[int, pa.DataType]:
    """Return `Formatter.floats` by the types of the columns in a schema of Avro or Connect."""
    return {index: _FLOATS[type] for index, type in enumerate(types) if isinstance(type, str) and type in _FLOATS}


class Framing(ABC):
    """Makes the bytes of a file from messages. Each file starts with `header`. `container` describes files in which
    messages are not as they were before; empty for others. `joins`: messages can follow each other without a frame."""

    header: bytes = b""
    container: str = ""
    joins: bool = True

    @abstractmethod
    def frame(self, messages: pa.Array[Any]) -> tuple[pa.Buffer | bytes, int]:
        """Return the bytes to append to a file, and the number of characters that the encoding lacks."""

    def encode(self, messages: pa.Array[Any]) -> tuple[pa.BinaryArray, int]:
        """Return the bytes of each message, as it is outside of a file, and the number of characters as `frame`."""
        return narrow(messages, pa.BinaryArray), 0


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
    show         presents texts to a person, by (formatter, options, context); None: they have no lines
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

    def encode(self, messages: pa.Array[Any]) -> tuple[pa.BinaryArray, int]:
        if self._unchanged:
            return pc.cast(messages, pa.binary()), 0
        encoded = [self._encoder.encode(message) for message in non_null_values(messages)]
        return pa.array([part for part, _ in encoded], pa.binary()), sum(lost for _, lost in encoded)

    def frame(self, messages: pa.Array[Any]) -> tuple[pa.Buffer | bytes, int]:
        data = text_buffer(messages)
        if self._unchanged:
            return data, 0
        if self._encoder.whole:
            return self._encoder.encode(str(data, "utf-8"))
        encoded, lost = self.encode(messages)
        return b"".join(value.as_py() for value in encoded), lost


_HEX_LINES = 8
_HEX_BYTES = 16  # in a line
_FLAT = 100  # characters; a longer JSON value takes several lines


@dataclass(frozen=True)
class ShownField:
    """A field of a message. `remark` says what the text of the value does not show; empty if that is nothing."""

    name: str
    value: str
    remark: str


@dataclass(frozen=True)
class ShownMessage:
    """A message: its lines, its fields if it has any, and warnings about what a reader may misread."""

    lines: Sequence[str]
    fields: Sequence[ShownField] = ()
    warnings: Sequence[str] = ()


@dataclass(frozen=True)
class Show:
    """Presents the messages of a table definition as lines of text; rendering makes invisible characters visible.
    `message` takes the bytes of a message, including the delimiter after it. `about` has facts about the files, one per
    line. `framed`: messages are as in a file, not as they were before ggfmt made blocks of them."""

    message: Callable[[bytes], ShownMessage]
    about: tuple[str, ...] = ()
    framed: bool = True


def show_text(charset: str, shown: Callable[[str], ShownMessage] = lambda text: ShownMessage((text,))) -> Show:
    """Present text messages in a charset; as hexadecimal digits if Python lacks it."""
    mark, codec = byte_order_mark(charset), codec_of(charset)
    about = [f"encoding {charset}"] * (charset != "UTF-8")
    about += [f"each file starts with the byte order mark {mark.hex(' ')}"] * bool(mark)
    if not can_decode(charset):
        return Show(lambda data: ShownMessage(hex_lines(data)), tuple(about))
    return Show(lambda data: shown(data.decode(codec, "replace")), tuple(about))


def show_bytes(formatter: Formatter, container: str = "") -> Show:
    """Present binary messages as hexadecimal digits, if they are not in a `container`, and decoded."""

    def message(data: bytes) -> ShownMessage:
        lines = [] if container else hex_lines(data)
        for value in formatter.decoded(data):
            lines += json_lines(value)
        return ShownMessage([*lines, *[f"line delimiter {formatter.delimiter}"] * bool(formatter.delimiter)])

    return Show(message, (container,) if container else (), framed=not container)


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=repr)


def hex_lines(data: bytes) -> list[str]:
    """Return the first bytes as hexadecimal digits and as ASCII, with the offset of each line."""
    lines = []
    for start in range(0, min(len(data), _HEX_LINES * _HEX_BYTES), _HEX_BYTES):
        part = data[start : start + _HEX_BYTES]
        ascii = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in part)
        lines.append(f"{start:08x}  {part.hex(' '):{3 * _HEX_BYTES - 1}}  {ascii}")
    left = len(data) - _HEX_LINES * _HEX_BYTES
    if left > 0:
        lines.append(f"... {left:,} more byte{'s' * (left > 1)}")
    return lines


def json_lines(value: Any) -> list[str]:
    """Return the JSON text of a value with a member per line. Below the top, only long members are divided."""
    return _pretty(value, 0).split("\n")


def _pretty(value: Any, depth: int) -> str:
    flat = as_json(value)
    if not isinstance(value, dict | list) or not value or (depth and len(flat) <= _FLAT):
        return flat
    gap, end = "\n" + "  " * (depth + 1), "\n" + "  " * depth
    if isinstance(value, list):
        return "[" + ",".join(gap + _pretty(item, depth + 1) for item in value) + end + "]"
    members: Sequence[str] = [f"{gap}{as_json(name)}: {_pretty(item, depth + 1)}" for name, item in value.items()]
    return "{" + ",".join(members) + end + "}"
