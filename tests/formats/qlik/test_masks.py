"""Masks that leave columns out, as the scanner takes them."""

from __future__ import annotations

from typing import Any

import pytest
from contract import qlik_avro
from contract.qlik import ROW, change, metadata
from dialects import EVERYTHING, lines, read
from hypothesis import given
from hypothesis import strategies as st
from scanners import operations_taken, without_kernels
from strategies import examples

from ggfmt.formats.api.format import Projection

NAMES = ("NAME", "ID", "PRICE")
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "NAME": st.sampled_from(["a", "é", ""]),
    "ID": st.integers(-3, 3),
    "PRICE": st.sampled_from(["1.50", "0"]),
}


@st.composite
def images(draw: st.DrawFn) -> Any:
    names = draw(st.sets(st.sampled_from(NAMES), min_size=draw(st.sampled_from([0, 3, 3]))))
    order = draw(st.permutations(sorted(names)))
    return draw(st.sampled_from([None, {name: draw(st.none() | VALUES[name]) for name in order}]))


@st.composite
def masked_changes(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Changes as anybody might write them, most of them with few masks, and every image with any of them."""
    masks = draw(st.lists(st.sampled_from(["01", "03", "05", "06", "00", "07", "", None]), min_size=1, max_size=3))
    return [
        change(
            draw(st.sampled_from(["INSERT", "UPDATE", "UPDATE", "DELETE"])),
            draw(images()),
            draw(images()),
            columnMask=draw(st.sampled_from(masks)),
        )
        for _ in range(draw(st.integers(1, 12)))
    ]


@given(masked_changes(), st.booleans(), st.booleans())
@examples(300)
def test_the_scanner_takes_what_the_exact_reader_takes(
    records: list[dict[str, Any]], headers_first: bool, row_only: bool
) -> None:
    if headers_first:
        for record in records:
            record["message"] = {"headers": record["message"].pop("headers"), **record["message"]}
    data = lines(metadata(), *records)
    wanted = Projection(row_only=True, key_updates=True) if row_only else EVERYTHING
    found = read("qlik_json", data, projection=wanted)
    with without_kernels():
        expected = read("qlik_json", data, projection=wanted)
    assert (found.plain, found.reasons) == (expected.plain, expected.reasons)


@pytest.mark.parametrize("mask", ["01", "05", "06"])
def test_changes_of_one_mask_are_taken_together(mask: str) -> None:
    old = {"ID": 1, "NAME": "was", "PRICE": None}
    updates = [change("UPDATE", {**ROW, "ID": number}, old, columnMask=mask) for number in range(50)]
    deletes = [change("DELETE", {"ID": 1, "NAME": None, "PRICE": None}, columnMask=mask)] * 50
    with operations_taken() as taken:
        found = read("qlik_json", lines(metadata(), *updates, *deletes))
    assert len(found.plain) == 100
    assert taken.operations >= 98 - 50 * (mask == "06")  # a delete without its key is for the exact reader
    assert found.plain[0].before is not None
    assert found.plain[0].before["NAME"] == "was"


def test_changes_in_avro() -> None:
    row = {**ROW, "PRICE": None}
    records = [qlik_avro.change("UPDATE", row, row, columnMask=b"\x03")] * 50
    data = b"".join((qlik_avro.metadata(), *records))
    with operations_taken() as taken:
        found = read("qlik_avro", data)
    with without_kernels():
        expected = read("qlik_avro", data)
    assert (found.plain, found.reasons) == (expected.plain, expected.reasons)
    assert len(found.plain) == 50
    assert taken.operations >= 48
    assert found.plain[9].after is not None
    assert "PRICE" not in found.plain[9].after
