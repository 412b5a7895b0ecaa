"""A text is a value of a type only if the type gives the same value back."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ggfmt.columnar.typed import as_text, typed_values

SINGLE, DOUBLE = pa.float32(), pa.float64()
TENTH = Decimal(float("0.1"))  # the number that a double for 0.1 is
WIDENED = "3.1400001049041748046875"  # the number that a float for 3.14 is


def is_value(text: str, type: pa.DataType) -> bool:
    values, wrong = typed_values(pa.array([None, text, text]), type)
    assert wrong in ([], [1, 2])
    assert values[0].as_py() is None
    return not wrong


@pytest.mark.parametrize(
    "text",
    ["3.14", "3.1400001", "3.140000104904175", WIDENED, "3.1400E0", "16777216", "1.10", "123457000000", "-0", "NaN",
     "Infinity", "-Infinity", "1E-45", "3.4028235E38", "0.1", "+.5", "1."],
)  # fmt: skip
def test_what_writers_print_for_a_float_is_its_value(text: str) -> None:
    assert is_value(text, SINGLE)
    assert typed_values(pa.array([text, "2.5"]), SINGLE)[0][0].as_py() == pytest.approx(
        float(text), rel=1e-6, nan_ok=True
    )


@pytest.mark.parametrize(
    "text",
    ["123456789.123", "16777217", "3.14000010490418", "3.1400002", "0.123456789", "1E39", "1E-46", "3.4028236E38"],
)
def test_other_digits_are_no_value_of_a_float(text: str) -> None:
    assert not is_value(text, SINGLE)


@pytest.mark.parametrize(
    "text",
    ["123456789.123", "0.10000000000000001", "9007199254740992", "1E23", "5e-324", "1.10", "-0", "0E-999999", WIDENED,
     "1.7976931348623157E308", f"{TENTH:f}", f"{TENTH:.30f}"],
)  # fmt: skip
def test_what_writers_print_for_a_double_is_its_value(text: str) -> None:
    assert is_value(text, DOUBLE)


@pytest.mark.parametrize(
    "text",
    ["9007199254740993", "3.14159265358979323846", "1e-400", "1E400", "3e-324", "1e-99999999", "0.1000000000000000012",
     f"{Decimal(1) + Decimal(2) ** -53:f}", "123456789012345678901234567890.12345678", "", "inf", "0x10", " 1", "1,5"],
)  # fmt: skip
def test_other_digits_are_no_value_of_a_double(text: str) -> None:
    assert not is_value(text, DOUBLE)


def test_what_older_javas_print_is_a_value() -> None:
    """Recorded from `Float.toString` and `Double.toString` of Java 17."""
    for text, type in (("4.0038053E25", SINGLE), ("3.7464019948129452E25", DOUBLE), ("2.6790402414904164E25", SINGLE)):
        assert is_value(text, type)
    assert not is_value("3.7464019948129454E25", DOUBLE)


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(17, 60))
def test_a_double_may_be_printed_with_any_digits(value: float, digits: int) -> None:
    assert is_value(repr(value), DOUBLE)
    assert is_value(f"{value:.{digits - 1}e}", DOUBLE)
    assert is_value(str(Decimal(value)), DOUBLE)


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_a_float_may_be_printed_as_a_double(value: float) -> None:
    for text in (
        repr(value),
        f"{value:.8e}",
        f"{value:.16e}",
        str(Decimal(value)),
        str(pa.array([value], SINGLE).cast(pa.string())[0]),
    ):
        found, wrong = typed_values(pa.array([text]), SINGLE)
        assert (found.to_pylist(), wrong) == ([value], [])


@given(st.from_regex(r"\A-?[1-9][0-9]{0,24}(\.[0-9]{1,24})?(e-?[1-3]?[0-9])?\Z"), st.sampled_from((SINGLE, DOUBLE)))
def test_a_value_is_the_number_rounded_to_the_digits_of_the_text(text: str, type: pa.DataType) -> None:
    number = Fraction(text)
    mantissa, _, exponent = text.lstrip("-").partition("e")
    places = len(mantissa.partition(".")[2])
    whole = mantissa.replace(".", "")
    unit = Fraction(10) ** (int(exponent or 0) - places + len(whole) - len(whole.rstrip("0")))
    value = pa.array([text]).cast(type)[0].as_py()
    exact = abs(Fraction(value) - number) * 2 <= unit if abs(value) != float("inf") else False
    assert is_value(text, type) == exact


@pytest.mark.parametrize(
    ("text", "type", "back"),
    [
        ("2020-01-01 00:00:00.123456000", pa.timestamp("us"), "2020-01-01 00:00:00.123456"),
        ("2020-01-01 00:00:00.1234567", pa.timestamp("us"), None),
        ("2020-01-01 12:00:00+02", pa.timestamp("us"), None),
        ("2020-01-01 12:00:00 +02:00", pa.timestamp("us", "UTC"), "2020-01-01 10:00:00.000000"),
        ("2020-01-01 24:00:00", pa.timestamp("us"), None),
        ("2020-01-01 00:00:00.0000001", pa.date32(), None),
        ("12:00:00.1234567", pa.time64("us"), None),
        ("12:00:00+02", pa.time64("us"), None),
        ("1.0", pa.int64(), "1"),
        ("1.5", pa.int64(), None),
        ("9223372036854775808", pa.int64(), None),
        ("1.100", pa.decimal128(4, 2), "1.10"),
        ("1.101", pa.decimal128(4, 2), None),
        ("TRUE", pa.bool_(), None),
        ("QQ==", pa.binary(), "QQ=="),
        ("QR==", pa.binary(), None),
        ("[123456789.123]", pa.list_(SINGLE), None),
    ],
)
def test_other_types_give_the_value_back_too(text: str, type: pa.DataType, back: str | None) -> None:
    values, wrong = typed_values(pa.array([text, None]), type)
    assert wrong == ([0] if back is None else [])
    assert as_text(values)[0].as_py() == back
