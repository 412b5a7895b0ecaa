"""Tokens looked up by name."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import StringMapArray, as_strings, string_maps


def token(tokens: StringMapArray | None, name: str, rows: int) -> pa.StringArray:
    """The token of each of n operations, NULL where it has none of that name."""
    if tokens is None:
        return pa.nulls(rows, pa.string())
    return as_strings(pc.map_lookup(tokens, pa.scalar(name, pa.string()), "first"))


def with_common(tokens: StringMapArray, common: Mapping[str, str]) -> StringMapArray:
    """The tokens of n operations, and behind those of each the ones that all have."""
    if not common:
        return tokens
    rows, count = len(tokens), len(common)
    every = pa.array(range(rows), pa.int64())
    own = pa.ListArray.from_arrays(tokens.offsets, tokens.keys)
    rows_of = pa.concat_arrays([pc.list_parent_indices(own).cast(pa.int64()), *[every] * count])
    order = pc.sort_indices(rows_of)  # which is stable
    names, texts = (
        pa.concat_arrays([mine, *(pa.repeat(pa.scalar(text, pa.string()), rows) for text in more)]).take(order)
        for mine, more in ((tokens.keys, common.keys()), (tokens.items, common.values()))
    )
    places = pc.add(tokens.offsets, pa.array(range(0, (rows + 1) * count, count), pa.int32()))
    return string_maps(places, as_strings(names), as_strings(texts))
