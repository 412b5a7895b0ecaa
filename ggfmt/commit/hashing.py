"""A stream that hashes what is written."""

from __future__ import annotations

import io
from hashlib import sha256
from typing import Any

import pyarrow as pa


class HashingStream(io.RawIOBase):
    """Passes bytes on to a stream, and computes their number and their digest. `discards`: drops the bytes instead.
    Arrow's writers write the end of a file when they are deleted, also after an error."""

    def __init__(self, stream: pa.NativeFile) -> None:
        super().__init__()
        self._stream = stream
        self.digest = sha256()
        self.size = 0
        self.discards = False

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        view = memoryview(data)
        self.digest.update(view)
        self.size += view.nbytes
        if not self.discards:
            self._stream.write(data)
        return view.nbytes

    def tell(self) -> int:
        return self.size
