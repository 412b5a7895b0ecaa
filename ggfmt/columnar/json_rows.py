"""JSON lines: a row of a table in each, with values in their own characters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import BinaryIO

import msgspec
import pyarrow as pa

from ggfmt.columnar.columns import JsonColumn, raw_column

JsonRow = dict[str, msgspec.Raw]
_NULL = msgspec.Raw(b"null")
_BLOCK_BYTES = 4 << 20
_DECODER = msgspec.json.Decoder(JsonRow)


class JsonLineError(ValueError):
    """A line is no JSON object. `offset`: where it begins, in bytes. `help`: what to do."""

    help = "write one JSON object per line, as `ggfmt consolidate --to json` does"

    def __init__(self, offset: int) -> None:
        super().__init__("a line is not a JSON object")
        self.offset = offset


def read_json_rows(stream: BinaryIO | pa.NativeFile) -> Iterator[list[JsonRow]]:
    """Yield the rows of a file, a block at a time. Raises: JsonLineError."""
    place, rest = 0, b""
    while block := stream.read(_BLOCK_BYTES):
        lines, newline, block = (rest + block).rpartition(b"\n")
        yield _decoded(lines, place)
        place, rest = place + len(lines) + len(newline), block
    yield _decoded(rest, place)


def _decoded(lines: bytes, place: int) -> list[JsonRow]:
    try:
        return _DECODER.decode_lines(lines)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        for line in lines.split(b"\n"):
            try:
                _DECODER.decode_lines(line)
            except (msgspec.MsgspecError, UnicodeDecodeError):
                break
            place += len(line) + 1
    raise JsonLineError(place)


def json_column(rows: Sequence[JsonRow], name: str) -> JsonColumn:
    return raw_column([row.get(name, _NULL) for row in rows])
