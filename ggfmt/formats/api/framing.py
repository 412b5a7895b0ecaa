"""Framings: the bytes of a file from messages."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from ggfmt.arrow.arrays import non_null_values
from ggfmt.columnar.pieces import text_buffer
from ggfmt.formats.api.writing import Framing
from ggfmt.java.charsets import byte_order_mark, codec_of, encoder


class TextFraming(Framing):
    """Text messages, one after the other, in a charset; delimiters are part of the messages.

    A character that the charset lacks becomes the charset's replacement, as in Java, and is counted. A byte order mark
    stands once, at the start of a file, and `head` behind it. In charsets whose bytes depend on what came before
    (ISO 2022, mixed EBCDIC), each message starts and ends in the first state, so that files can be cut and joined.
    """

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
