"""Framings: the bytes of a file from messages."""

from __future__ import annotations

import pyarrow as pa

from ggfmt.columnar.text import text_buffer
from ggfmt.formats.base import Framing
from ggfmt.options.kinds import byte_order_mark, codec_of


class TextFraming(Framing):
    """Text messages, one after the other, in a charset; delimiters are part of the messages.

    A character that the charset lacks becomes `?`, as in Java. UTF-16 has one byte order mark, at the start of a file.
    """

    def __init__(self, charset: str) -> None:
        self.header = byte_order_mark(charset)
        self._codec = codec_of(charset)

    def frame(self, messages: pa.Array) -> tuple[pa.Buffer | bytes, int]:
        data = text_buffer(messages)
        if self._codec == "utf-8":
            return data, 0
        text = str(data, "utf-8")
        try:
            return text.encode(self._codec), 0
        except UnicodeEncodeError:
            encoded = text.encode(self._codec, "replace")
            return encoded, encoded.count(b"?") - text.count("?")
