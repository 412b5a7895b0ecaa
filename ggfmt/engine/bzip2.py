"""bzip2 files of any number of members; Arrow's reader stops at an empty member."""

from __future__ import annotations

import bz2
import io
from typing import Any

import pyarrow as pa

_READ_BYTES = 1 << 18


class Bzip2(io.RawIOBase):
    """The bytes of a bzip2 file, decompressed as they are asked for; `stored` is the file.

    OSError for damaged data, a member that is cut off, and anything but a member after the end of one.
    """

    def __init__(self, stored: pa.NativeFile) -> None:
        self._stored = stored
        self._member: bz2.BZ2Decompressor | None = None
        self._input = b""

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._stored.close()
        super().close()

    def readinto(self, buffer: Any) -> int:
        while True:
            if self._member is not None and self._member.eof:
                self._input, self._member = self._member.unused_data, None
            if self._member is None:
                self._input = self._input or self._stored.read(_READ_BYTES)
                if not self._input:
                    return 0
                self._member = bz2.BZ2Decompressor()
            elif self._member.needs_input:
                self._input = self._stored.read(_READ_BYTES)
                if not self._input:
                    raise OSError("the compressed data are cut off")
            try:
                data = self._member.decompress(self._input, len(buffer))
            except (OSError, EOFError) as error:
                raise OSError(f"bzip2 data are damaged, or followed by something else: {error}") from None
            self._input = b""
            if data:
                buffer[: len(data)] = data
                return len(data)
