"""Where unresolved operations are, for an error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from ggfmt.diagnostics.diagnostic import Span

if TYPE_CHECKING:
    from ggfmt.consolidation.writing import Answer


def first_places(answer: Answer, most: int) -> Iterator[tuple[str, Span]]:
    """The reasons and places of a few unresolved operations of a table."""
    left = most
    for file in answer.unresolved:
        with file.open_file() as stream:
            for batch in pq.ParquetFile(stream).iter_batches(left, columns=["reason", "file", "offset", "position"]):
                for row in batch.to_pylist()[:left]:
                    place = Span(
                        file=row["file"], offset=row["offset"], table=answer.table.name, position=row["position"]
                    )
                    yield row["reason"], place
                    left -= 1
                if not left:
                    return
