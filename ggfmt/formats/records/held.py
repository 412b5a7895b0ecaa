"""The chunks of a split whose operations a reader holds back, so that the place of a record can still be told."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence

from ggfmt.formats.api.reading import Chunk

BATCH_ROWS = 4096
HELD_BYTES = 32 << 20  # operations of rare tables are held back over this much input

Spans = Sequence[tuple[int, int]]


class HeldChunks:
    """Chunks in order; `spans` finds start and end of every record of one, which is work and is done once a chunk."""

    def __init__(self, spans: Callable[[Chunk], Spans]) -> None:
        self._spans = spans
        self._chunks: list[tuple[int, Chunk]] = []
        self._latest: tuple[Chunk, Spans] | None = None

    @property
    def full(self) -> bool:
        """Whether there is so much input that all operations have to be handed out."""
        return sum(len(chunk.data) for _, chunk in self._chunks) >= HELD_BYTES

    def add(self, first: int, chunk: Chunk) -> None:
        """Takes a chunk, the first record of which has this ordinal."""
        self._chunks.append((first, chunk))

    def clear(self) -> None:
        self._chunks.clear()
        self._latest = None

    def locate(self, ordinal: int) -> tuple[Chunk, int, int]:
        """The chunk of a record, and where in its data the record starts and ends."""
        first, chunk = self._chunks[bisect_right(self._chunks, ordinal, key=lambda held: held[0]) - 1]
        if self._latest is None or self._latest[0] is not chunk:
            self._latest = chunk, self._spans(chunk)
        start, end = self._latest[1][ordinal - first]
        return chunk, start, end
