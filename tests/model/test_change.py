"""Batches of operations put together."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given
from strategies import Changes, changes, examples, make_batch, slice_batch

from ggfmt.arrow.arrays import map_items
from ggfmt.model.change import ChangeBatch, merge_in_order


@pytest.mark.parametrize("without", [{0}, {1}, {0, 1}, set()])
@examples(30)
@given(made=changes())
def test_tokens_are_kept_beside_batches_that_have_none(without: set[int], made: Changes) -> None:
    batch = make_batch(made)
    middle = len(batch) // 2
    parts = [slice_batch(batch, 0, middle), slice_batch(batch, middle, len(batch))]
    assume(all(map(len, parts)))
    given = [replace(part, tokens=None) if number in without else part for number, part in enumerate(parts)]
    tokens = merge_in_order(given).tokens
    if len(without) == 2:
        assert tokens is None
    else:
        expected = [[] if number in without else pairs for number, part in enumerate(parts) for pairs in _tokens(part)]
        assert tokens is not None
        tokens.validate(full=True)
        assert map_items(tokens) == expected


def _tokens(batch: ChangeBatch) -> list[list[tuple[str, str]]]:
    assert batch.tokens is not None
    return map_items(batch.tokens)
