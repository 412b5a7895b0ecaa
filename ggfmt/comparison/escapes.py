"""Files whose escapes Arrow's reader of CSV does not know, rewritten while it reads them.

Without quotes (MySQL, PostgreSQL's text format) a letter behind an escape stands for a character, and `\\N` for NULL:
escapes become those of letters, so that they are in nobody's way, stay in the texts that Arrow gives, and are taken out
of them a column at once. Within quotes (Spark, and MySQL with `FIELDS ENCLOSED BY`) they become the characters.
"""

from __future__ import annotations

import io
import re
from abc import abstractmethod
from typing import BinaryIO

import pyarrow as pa

from ggfmt.arrow import compute as pc

BLOCK_BYTES, _MOST_BYTES = 4 << 20, 64 << 20
_LETTERS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0", "Z": "\x1a"}
_DELIMITER = "\2"  # stands behind an escape for a delimiter that is no letter's
_PRIVATE = range(0xE000, 0xF900)  # characters for private use


class _RewritingStream(io.RawIOBase):
    """A file that is read in blocks, each rewritten."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._ready = self._rest = b""
        self._ended = False

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """As many bytes as are wanted, unless the file ends: Arrow takes fewer for a block that is short."""
        parts, count = [self._ready], len(self._ready)
        while not self._ended and (size < 0 or count < size):
            block = self._stream.read(BLOCK_BYTES)
            self._ended = not block
            new, self._rest = self._rewritten(self._rest + block, self._ended)
            parts.append(new)
            count += len(new)
        ready = b"".join(parts)
        size = count if size < 0 else size
        self._ready = ready[size:]
        return ready[:size]

    @abstractmethod
    def _rewritten(self, data: bytes, last: bool) -> tuple[bytes, bytes]:
        """The data as Arrow is to have it, and what of it has to wait for what is behind it."""


class Lines(_RewritingStream):
    """A file without quotes, in which a line feed or a delimiter behind an escape, and a carriage return that ends no
    line, become escapes of letters, so that a reader can divide it into lines and fields."""

    def __init__(self, stream: BinaryIO, delimiter: str) -> None:
        super().__init__(stream)
        letter = b"\\t" if delimiter == "\t" else f"\\{_DELIMITER}".encode()
        self._pairs = {b"\\\n": b"\\n", b"\\\r": b"\\r", f"\\{delimiter}".encode(): letter}
        self._pattern = re.compile(rb"\\.|\r(?!\n)", re.DOTALL)

    def _rewritten(self, data: bytes, last: bool) -> tuple[bytes, bytes]:
        # What ends within a pair, or with a carriage return, waits.
        end = len(data) if last else len(data.rstrip(b"\\\r"))
        whole, rest = data[:end], data[end:]
        if b"\r" in whole or any(pair in whole for pair in self._pairs):
            whole = self._pattern.sub(self._replaced, whole)
        return whole, rest

    def _replaced(self, match: re.Match[bytes]) -> bytes:
        return self._pairs.get(match[0], b"\\r" if match[0] == b"\r" else match[0])


class Quotes(_RewritingStream):
    """A file with quotes, in which what is behind an escape within quotes becomes what it stands for, a quote two."""

    def __init__(self, stream: BinaryIO, quote: str, escape: str) -> None:
        super().__init__(stream)
        self._quote, self._escape = quote.encode(), escape.encode()
        mark, back = re.escape(self._quote), re.escape(self._escape)
        plain = b"[^" + mark + back + b"]*"
        self._field = re.compile(mark + plain + b"(?:" + back + b"." + plain + b")*" + mark, re.DOTALL)
        self._pair = re.compile(back + b"(.)", re.DOTALL)
        self._meant = {letter.encode(): character.encode() for letter, character in _LETTERS.items()}
        self._meant[self._quote] = 2 * self._quote

    def _rewritten(self, data: bytes, last: bool) -> tuple[bytes, bytes]:
        parts: list[bytes] = []
        end = 0
        for match in self._field.finditer(data):
            parts += (data[end : match.start()], self._pair.sub(self._replaced, match[0]))
            end = match.end()
        opening = data.find(self._quote, end)
        if opening < 0 or last:
            return b"".join((*parts, data[end:])), b""
        if len(data) - opening > _MOST_BYTES:
            raise ValueError("a quote has no end")
        return b"".join((*parts, data[end:opening])), data[opening:]

    def _replaced(self, match: re.Match[bytes]) -> bytes:
        return self._meant.get(match[1], match[1])


def unescaped(texts: pa.StringArray, delimiter: str) -> pa.StringArray:
    """Texts of a file without quotes with the characters that their escapes stand for."""

    def holds(part: str) -> bool:
        return bool(pc.any(pc.match_substring(texts, part), min_count=0).as_py())

    if not holds("\\"):
        return texts
    mark = next(character for character in map(chr, _PRIVATE) if not holds(character))
    texts = pc.replace_substring(texts, "\\\\", mark)
    for letter, character in {**_LETTERS, _DELIMITER: delimiter}.items():
        texts = pc.replace_substring(texts, f"\\{letter}", character)
    texts = pc.replace_substring_regex(texts, r"(?s)\\(.)", r"\1")
    return pc.replace_substring(texts, mark, "\\")
