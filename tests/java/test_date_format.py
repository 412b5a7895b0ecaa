"""Times that are written by a mask, as `java.text.SimpleDateFormat` writes them in UTC and with English names."""

from __future__ import annotations

from datetime import datetime

import pytest

from ggfmt.java.date_format import parse_date_format

NIGHT = datetime(2024, 1, 1, 0, 5, 9, 7000)
NOON = datetime(2024, 12, 31, 12, 34, 56, 789000)
EVENING = datetime(2023, 3, 14, 23, 59, 59, 999000)


@pytest.mark.parametrize(
    ("mask", "night", "noon", "evening"),
    [
        ("H HH", "0 00", "12 12", "23 23"),
        ("k kk", "24 24", "12 12", "23 23"),
        ("K KK a", "0 00 AM", "0 00 PM", "11 11 PM"),
        ("h hh a", "12 12 AM", "12 12 PM", "11 11 PM"),
        ("m:s.S", "5:9.7", "34:56.789", "59:59.999"),
        ("mm:ss.SSS", "05:09.007", "34:56.789", "59:59.999"),
        ("D DDD d dd", "1 001 1 01", "366 366 31 31", "73 073 14 14"),
        ("F u", "1 1", "5 2", "2 2"),
        ("E EEE EEEE", "Mon Mon Monday", "Tue Tue Tuesday", "Tue Tue Tuesday"),
        ("M MM MMM MMMM", "1 01 Jan January", "12 12 Dec December", "3 03 Mar March"),
        ("L LL LLL LLLL", "1 01 Jan January", "12 12 Dec December", "3 03 Mar March"),
        ("y yy yyyy yyyyy G", "2024 24 2024 02024 AD", "2024 24 2024 02024 AD", "2023 23 2023 02023 AD"),
        ("z zzzz Z X", *["UTC Coordinated Universal Time +0000 Z"] * 3),
    ],
)
def test_letters_of_a_mask(mask: str, night: str, noon: str, evening: str) -> None:
    format = parse_date_format(mask)
    assert [format.show(moment) for moment in (NIGHT, NOON, EVENING)] == [night, noon, evening]
