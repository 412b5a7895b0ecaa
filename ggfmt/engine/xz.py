"""xz files of any number of streams, with or without padding between them; Arrow has no reader for them."""

from __future__ import annotations

import io
import lzma
from typing import Any

import pyarrow as pa

MOST_MEMORY_BYTES = 256 << 20  # `xz -9` takes 65 MiB; a file may ask for 4 GiB
_READ_BYTES = 1 << 18


class Xz(io.RawIOBase):
    """The bytes of an xz file, decompressed as they are asked for; `stored` is the file.

    OSError for damaged data, a stream that is cut off, one that takes more than `MOST_MEMORY_BYTES` to be read, and
    anything but a stream or padding after the end of one.
    """

    def __init__(self, stored: pa.NativeFile) -> None:
        self._stored = stored
        self._stream: lzma.LZMADecompressor | None = None
        self._input = b""
        self._begun = False

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._stored.close()
        super().close()

    def readinto(self, buffer: Any) -> int:
        while True:
            if self._stream is not None and self._stream.eof:
                self._input, self._stream = self._stream.unused_data, None
            if self._stream is None:
                if not self._next():
                    return 0
                self._begun = True
                self._stream = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MOST_MEMORY_BYTES)
            elif self._stream.needs_input:
                self._input = self._stored.read(_READ_BYTES)
                if not self._input:
                    raise OSError("the compressed data are cut off")
            try:
                data = self._stream.decompress(self._input, len(buffer))
            except (lzma.LZMAError, EOFError) as error:
                reason = str(error)
                if "memory" in reason.lower():
                    limit = f"{MOST_MEMORY_BYTES >> 20} MiB"
                    raise OSError(f"xz data need more than {limit} of memory: pack them with `xz -9` or less") from None
                raise OSError(f"xz data are damaged, or followed by something else: {reason}") from None
            self._input = b""
            if data:
                buffer[: len(data)] = data
                return len(data)

    def _next(self) -> bool:
        """Whether another stream begins, after the padding that may lie before it."""
        while True:
            self._input = self._input or self._stored.read(_READ_BYTES)
            if not self._input:
                return False
            if self._begun:
                self._input = self._input.lstrip(b"\0")
            if self._input:
                return True
