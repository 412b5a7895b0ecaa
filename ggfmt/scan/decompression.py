"""Compressed files of any number of members: bzip2, whose reader in Arrow stops at an empty member, and xz, for which
Arrow has none."""

from __future__ import annotations

import bz2
import io
import lzma
from abc import abstractmethod
from typing import Any

import pyarrow as pa

MOST_MEMORY_BYTES = 256 << 20  # `xz -9` takes 65 MiB; a file may ask for 4 GiB
_READ_BYTES = 1 << 18


class _MultiMemberStream(io.RawIOBase):
    """The bytes of a compressed file, decompressed as they are asked for; `stored` is the file.

    OSError for damaged data, a member that is cut off, and anything but a member or padding after the end of one.
    """

    _padding = b""  # the bytes that may lie behind a member

    def __init__(self, stored: pa.NativeFile) -> None:
        self._stored = stored
        self._member: bz2.BZ2Decompressor | lzma.LZMADecompressor | None = None
        self._input = b""
        self._begun = False

    @abstractmethod
    def _decompressor(self) -> bz2.BZ2Decompressor | lzma.LZMADecompressor:
        """What reads the next member."""

    @abstractmethod
    def _damaged(self, error: Exception) -> str:
        """What is wrong with data that cannot be decompressed."""

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
                if not self._next():
                    return 0
                self._begun = True
                self._member = self._decompressor()
            elif self._member.needs_input:
                self._input = self._stored.read(_READ_BYTES)
                if not self._input:
                    raise OSError("the compressed data are cut off")
            try:
                data = self._member.decompress(self._input, len(buffer))
            except (OSError, EOFError, lzma.LZMAError) as error:
                raise OSError(self._damaged(error)) from None
            self._input = b""
            if data:
                buffer[: len(data)] = data
                return len(data)

    def _next(self) -> bool:
        """Whether another member begins, after the padding that may lie before it."""
        while True:
            self._input = self._input or self._stored.read(_READ_BYTES)
            if not self._input:
                return False
            if self._begun:
                self._input = self._input.lstrip(self._padding)
            if self._input:
                return True


class Bzip2(_MultiMemberStream):
    def _decompressor(self) -> bz2.BZ2Decompressor:
        return bz2.BZ2Decompressor()

    def _damaged(self, error: Exception) -> str:
        return f"bzip2 data are damaged, or followed by something else: {error}"


class Xz(_MultiMemberStream):
    """Also for a member that takes more than `MOST_MEMORY_BYTES` to be read an OSError."""

    _padding = b"\0"

    def _decompressor(self) -> lzma.LZMADecompressor:
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MOST_MEMORY_BYTES)

    def _damaged(self, error: Exception) -> str:
        if "memory" in str(error).lower():
            limit = f"{MOST_MEMORY_BYTES / 1e6:.0f} MB"
            return f"xz data need more than {limit} of memory: pack them with `xz -9` or less"
        return f"xz data are damaged, or followed by something else: {error}"
