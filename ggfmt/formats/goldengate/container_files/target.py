"""The target of a conversion: a file for a library of Arrow, which has an end only if the conversion has one."""

from __future__ import annotations

import io
from typing import Any, BinaryIO


class HeldTarget(io.RawIOBase):
    """Gets the bytes of a writer, and passes them on, holds them back or throws them away. A writer of Arrow ends its
    file whenever it is closed, also after an error, and when it is collected: a file that is not whole would look
    whole. The owner of the target closes it."""

    def __init__(self, target: BinaryIO) -> None:
        super().__init__()
        self._target = target
        self._place = 0
        self._held: bytearray | None = None
        self._abandoned = False

    def write(self, data: Any, /) -> int:
        view = memoryview(data).cast("B")
        self._place += len(view)
        if self._abandoned:
            pass
        elif self._held is not None:
            self._held += view
        else:
            self._target.write(view)
        return len(view)

    def tell(self) -> int:
        return self._place

    def writable(self) -> bool:
        return True

    def hold(self) -> None:
        self._held = bytearray()

    def pass_on(self, keep: int = 0) -> None:
        """Write what is held back to the target, without its last `keep` bytes."""
        assert self._held is not None
        end = max(len(self._held) - keep, 0)
        if end:
            self._target.write(self._held[:end])
            del self._held[:end]

    def held(self) -> bytes:
        return bytes(self._held or b"")

    def abandon(self) -> None:
        self._held, self._abandoned = None, True
