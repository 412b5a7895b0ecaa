"""Tokens looked up by name."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc


def token(tokens: pa.MapArray | None, name: str, rows: int) -> pa.StringArray:
    """The token of each of n operations, NULL where it has none of that name."""
    if tokens is None:
        return pa.nulls(rows, pa.string())
    return pc.map_lookup(tokens, pa.scalar(name, pa.string()), "first")
