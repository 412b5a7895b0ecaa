"""The records of a split through a reader; what keeps them from being read is an Abend with its place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa

from ggfmt.diagnostics.diagnostic import Abend, Span
from ggfmt.engine.files import defect, open_unchanged, unreadable
from ggfmt.engine.plan import Range
from ggfmt.formats.api.reading import Chunk, Event, Reader, SplitBoundaryError


def chunks_of(reader: type[Reader], part: Range) -> Iterator[Chunk]:
    """The chunks of a range; Abend GG310 where its file cannot be read, or is not what it was when it was planned."""
    file = part.input.file
    try:
        with open_unchanged(file) as stream:
            for chunk in reader.chunks(stream, file.shown, part.start, part.length, part.input.layout):
                yield replace(chunk, input=part.input.index)
    except (OSError, pa.ArrowException) as error:
        raise Abend(unreadable(file.shown, error)) from None


def guarded(events: Iterator[Event], place: Span) -> Iterator[Event]:
    """The events of a chunk that lies there; Abend GG512 for what no reader should raise."""
    try:
        yield from events
    except (SplitBoundaryError, OSError, MemoryError, Abend):
        raise
    except Exception as error:
        raise Abend(defect(error, place)) from None
