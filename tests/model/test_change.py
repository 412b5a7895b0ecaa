"""Batches of operations put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given
from strategies import Changes, changes, examples, make_batch, slice_batch

from ggfmt.arrow.arrays import map_items
from ggfmt.columnar.images import complete_before_images
from ggfmt.model.change import ChangeBatch, Image, ImageColumn, merge_in_order
from ggfmt.model.table import Column, TableDef


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


@pytest.mark.parametrize("without", [{0}, {1}, {0, 1}, set()])
@examples(30)
@given(made=changes())
def test_ids_of_transactions_are_kept_beside_batches_that_have_none(without: set[int], made: Changes) -> None:
    batch = make_batch(made)
    ids = [str(row // 2) for row in range(len(batch))]
    batch = replace(batch, transaction=pa.array(ids, pa.string()))
    middle = len(batch) // 2
    parts = [batch.take(pa.array(rows, pa.int64())) for rows in (range(middle), range(middle, len(batch)))]
    assume(all(map(len, parts)))
    given = [replace(part, transaction=None) if number in without else part for number, part in enumerate(parts)]
    merged = merge_in_order(given).transaction
    expected = [None if (row >= middle) in without else text for row, text in enumerate(ids)]
    assert (None if merged is None else merged.to_pylist()) == (None if len(without) == 2 else expected)


def test_an_empty_id_of_a_transaction_is_none() -> None:
    assert _update(transaction=pa.array([""], pa.string())).transaction.to_pylist() == [None]  # type: ignore[union-attr]


def test_unavailable_values_stay_with_their_columns() -> None:
    update, delete = _update(), replace(_update(1), op=pa.array(["D"]))
    assert _unavailable(update.before) == _unavailable(delete.before) == [[True], [False]]
    merged = merge_in_order(
        [update, delete, replace(_update(2), before=_image([None, None]), after=_image([None, None]))]
    )
    assert _unavailable(merged.before) == [[True, True, False], [False, False, False]]
    assert _unavailable(merged.after) == [[False, False, False], [True, True, False]]
    assert _unavailable(merged.row_image()) == [[False, True, False], [True, False, False]]
    assert _unavailable(merged.take(pa.array([1, 0], pa.int64())).row_image()) == [[True, False], [False, True]]


def test_a_row_image_lacks_what_the_image_lacks_that_it_is_of() -> None:
    """Also where the other image has all values of the column, and therefore no mask."""
    update, delete = _update(), replace(_update(), op=pa.array(["D"]))
    present = {batch.op[0].as_py(): [batch.row_column(place).present for place in (0, 1)] for batch in (update, delete)}
    assert present == {"U": [pa.array([True]), pa.array([False])], "D": [pa.array([False]), pa.array([True])]}


def test_before_images_take_unavailable_values_from_the_after_image() -> None:
    absent = ImageColumn(pa.array([None], pa.string()), pa.array([False]))
    before = Image((absent, absent))
    completed = complete_before_images(before, _update().after, pa.array(["U"]))
    assert _unavailable(completed) == [[False], [True]]
    assert [column.present for column in completed.columns] == [None, pa.array([False])]


def _update(ordinal: int = 0, **others: Any) -> ChangeBatch:
    """An update of two columns: the before image lacks the first one, and the after image the second one."""
    texts, ordinals = pa.array(["x"]), pa.array([ordinal], pa.int64())
    before, after = _image([True, False]), _image([False, True])
    return ChangeBatch(_TABLE, pa.array(["U"]), texts, texts, before, after, ordinals, **others)


def _image(unavailable: Sequence[bool | None]) -> Image:
    """An image of one operation. None: the column has no mask."""
    return Image(
        tuple(
            ImageColumn(
                pa.array([None if mask else "x"], pa.string()),
                pa.array([not mask]) if mask else None,
                unavailable=None if mask is None else pa.array([mask]),
            )
            for mask in unavailable
        )
    )


def _unavailable(image: Image) -> list[list[bool | None] | None]:
    return [None if column.unavailable is None else column.unavailable.to_pylist() for column in image.columns]


_TABLE = TableDef("S.T", (Column("A"), Column("B")))
