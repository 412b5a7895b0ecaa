"""What there is of operations besides their images: types, times, positions, tokens, and which images they have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from ggfmt.arrow.arrays import StringMapArray
from ggfmt.columnar.from_python import texts
from ggfmt.columnar.timestamps import micros_text
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.records.batching import Wrong


@dataclass(frozen=True, eq=False)
class Heads:
    """Of n operations."""

    op: pa.StringArray
    op_ts: pa.StringArray
    position: pa.StringArray
    has_before: pa.BooleanArray
    has_after: pa.BooleanArray
    ordinal: pa.Int64Array
    tokens: StringMapArray | None


def stamps(values: Sequence[str | int | None]) -> tuple[pa.StringArray, Wrong]:
    """The time stamps as texts; numbers are microseconds since 1970."""
    alone = [value for value in values if value is None or isinstance(value, str)]
    if len(alone) == len(values):
        return texts(alone), {}
    found, wrong = stamps_of([value if isinstance(value, int) else None for value in values])
    if any(isinstance(value, str) for value in values):
        found = texts([v if isinstance(v, str) else s for v, s in zip(values, found.to_pylist(), strict=True)])
    return found, wrong


def stamps_of(micros: Sequence[int | None] | pa.Int64Array) -> tuple[pa.StringArray, Wrong]:
    """The time stamps of microseconds since 1970 as texts, and what is wrong with some."""
    found, bad = micros_text(micros)
    return found, dict.fromkeys(bad, Diagnostic("GG308", "the time of the operation is out of range"))
