from __future__ import annotations

import random

import pyarrow as pa
import pytest

from ggfmt.rowfiles.deleted_rows import decode_places, encode_places, size_in_bytes


@pytest.mark.parametrize(
    "places",
    [[0], [5, 2], list(range(1000, 90_000)), [65_535, 65_536, 2**32 - 1], random.Random(1).sample(range(10**6), 9000)],
    ids=["first", "order", "range", "bounds", "random"],
)
def test_places_come_back_in_order(places: list[int]) -> None:
    text = encode_places(pa.array(places, pa.int64()))
    assert decode_places(text).to_pylist() == sorted(places)
    assert 0 <= len(text) * 4 // 5 - size_in_bytes(text) < 4


def test_an_empty_text_has_no_places() -> None:
    assert decode_places("").to_pylist() == []
