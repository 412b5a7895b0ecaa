"""Which numbers a binary floating-point type changes."""

from __future__ import annotations

import pyarrow as pa
import pytest

from ggfmt.sinks.messages.pipeline import changed_digits


@pytest.mark.parametrize(
    ("text", "lost"),
    [
        ("9007199254740993", True),
        ("9007199254740992", False),
        ("3916589616287113937", True),
        ("0.1234567890123456789", True),
        ("0.12345678901234568", False),
        ("-00017520.000000000000000", False),
        ("+1.50", False),
        ("1e-400", True),
        ("1E5", False),
        ("NaN", False),
        ("-Infinity", False),
    ],
)
def test_a_double_keeps_a_number_or_loses_digits(text: str, lost: bool) -> None:
    assert changed_digits(pa.array([None, text, "1.5"]), pa.float64()) == lost


@pytest.mark.parametrize(
    ("text", "lost"), [("16777217", True), ("0.1", False), ("0.123456789", True), ("1.5e3", False)]
)
def test_a_float_keeps_fewer_digits(text: str, lost: bool) -> None:
    assert changed_digits(pa.array([text, None]), pa.float32()) == lost
