"""Positions sort as their sources order them, one by one as in columns."""

from __future__ import annotations

import random
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from ggfmt.rows.positions import KINDS as DECLARED
from ggfmt.rows.positions import common_kind, kind_of

KINDS = {kind.name: kind for kind in DECLARED}

# Of each kind texts in the order of their source, those in one line at one place. The last number is the family.
UUID, OTHER = "3e11fa47-71ca-11e1-9e33-c80aa9429562", "4E11FA47-71CA-11E1-9E33-C80AA9429562"
IN_ORDER = {
    "numbers": ["0", "00000000020000001443", "00000000020000001444", "999999999999999999"],
    "long numbers": ["7", "000000000000000000000000000000000099", "9223372036854775808", "9" * 38],
    "places in a binary log of MySQL": [
        *("binlog.000003:9", "binlog.000003:9:0", "binlog.000003:9:1", "binlog.000003:10"),
        *("binlog.000003:1547:2", "binlog.000003:1547:10", "binlog.999999:1", "binlog.1000000:0"),
    ],
    "log sequence numbers of SQL Server": [
        *("00000027:00000ac0:0002", "00000027:00000AC0:0002:NULL:1", "00000027:00000ac0:0002:00000027:00000abf:0001"),
        *("00000027:00000ac0:0002:00000027:00000ABF:0001:2", "00000027:00000ac0:0002:00000027:00000abf:0001:10"),
        *("00000027:00000ac0:0002:00000027:00000ac0:0001:1", "0000002A:00000001:0001"),
    ],
    "sequences of PostgreSQL": [
        '[null,"9"]',
        '[null, "10"]',
        '["9","11"]',
        '["10","10"]',
        '["36893488147419103232","1"]',
    ],
    "log sequence numbers of PostgreSQL": ["0/9", "0/A", "0/1f", "9/0", "A/0", "16/B374D848", "16/b374d849", "100/0"],
    "numbers of commits and changes": [
        *("5:5", ":6", "7:6", "7:6:0x000014.000012b4.0010:1", "7:6:0x000014.000012B4.0010:2", "7:10"),
        *("10:3: 0x000014.000012b4.0010 :0", "10:9::4"),
    ],
    "GTIDs of MySQL": [f"{UUID}:9", f"{UUID.upper()}:10", f"{UUID}:123456789012"],
    "GTIDs of MariaDB": ["0-2-9", "0-1-10", "0-2-100"],
    "hybrid logical clocks": [
        *("999.0000000001", "1679337613000000000.0000000003", "1679337613000000000.0000000010"),
    ],
    "offsets of Kafka": ["orders.v-1_x:0:9", "orders.v-1_x:0:10", "orders.v-1_x:0:123456789"],
    "hexadecimal numbers": ["00FF:0009", "00ff:000A", "0100:0000"],
}

# What belongs to no kind: what only looks like one, what is cut off, what a pattern may not reach over.
OF_NO_KIND = [
    *("", " ", " 1", "1 ", "1\n", "\n1", "-1", "+1", "1.5", "1e3", "0x10", "9" * 39, "١٢٣", "1٢", "1_000"),
    *("binlog.000003", "binlog.00003:4", "binlog.000003:", "binlog.000003:4:5:6", "bin\nlog.000003:4", "x:y.000003:4"),
    *("binlog.000003:4\n", '["1"]', '["1","2"', "[null,null]x"),
    *("1/", "/1", "123456789/0", "1/2/3", ":", "1:", "::1", "7:6:14.12:1", f"{UUID}", f"{UUID}:", f"{UUID}:1-5"),
    *("1679337613000000000.3", "orders:0", "or ders:0:1", "ördérs:0:1", "orders:x:1", "abc:def", "deadbeef", "null"),
    *("12345678-1234-1234-1234-123456789012", "00000000.01ab5068.00000001.0000.02.0000:88.67945.16", "\x00", "1\x00"),
]


@pytest.mark.parametrize("name", KINDS)
def test_positions_of_a_kind_sort_as_their_source_orders_them(name: str) -> None:
    kind = KINDS[name]
    texts = IN_ORDER[name]
    assert kind_of(lambda kind: all(kind.value(text) is not None for text in texts)) is kind
    assert len(pc.unique(kind.families(pa.array(texts)))) == 1
    places = [kind.value(text) for text in texts]
    assert all(one < next for one, next in pairwise(places))  # type: ignore[operator]


def test_what_belongs_to_no_kind() -> None:
    for text in OF_NO_KIND:
        found = kind_of(lambda kind, text=text: kind.fits_all(pa.array([text])))  # type: ignore[misc]
        assert found is None, f"{text!r} counts as {found.name}"


def test_a_text_belongs_to_a_kind_by_arrow_and_python_alike() -> None:
    texts = [*OF_NO_KIND, *(text for some in IN_ORDER.values() for text in some)]
    chosen = random.Random(5)
    letters = '0123456789aAfF:./-,[]"x \n\rNULLbinlog.000003'
    texts += ["".join(chosen.choices(letters, k=chosen.randrange(1, 24))) for _ in range(400)]
    texts += [text[:place] + chosen.choice(letters) + text[place:] for text in list(texts) for place in (0, len(text))]
    for text in texts:
        expected = {name: kind.value(text) is not None for name, kind in KINDS.items()}
        assert {name: kind.fits_all(pa.array([text, None])) for name, kind in KINDS.items()} == expected, text


@pytest.mark.parametrize("name", KINDS)
def test_columns_sort_positions_as_their_values_do(name: str) -> None:
    kind = KINDS[name]
    texts = [*IN_ORDER[name], None]
    random.Random(7).shuffle(texts)
    columns = kind.sort_columns(pa.array(texts, pa.string()))
    places = dict(zip(texts, zip(*(column.to_pylist() for column in columns), strict=True), strict=True))
    assert {len(column) for column in columns} == {len(texts)}
    assert set(places.pop(None)) == {None}
    assert sorted(places, key=places.__getitem__) == IN_ORDER[name]
    one, *others = (kind.value(text) for text in IN_ORDER[name])
    assert all(one < other for other in others)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [
        ("numbers", "7", "0000007"),
        ("long numbers", "9" * 20, f"00{'9' * 20}"),
        ("log sequence numbers of SQL Server", "00000027:00000ac0:0002", "00000027:00000AC0:0002"),
        ("log sequence numbers of PostgreSQL", "0/1f", "00/01F"),
        ("numbers of commits and changes", "7:6:0x000014.000012b4.0010:1", "7:6: 0x000014.000012B4.0010 :01"),
        ("hexadecimal numbers", "00ff:000a", "00FF:000A"),
    ],
)
def test_leading_zeros_and_upper_case_make_no_other_position(name: str, one: str, other: str) -> None:
    for column in KINDS[name].sort_columns(pa.array([one, other])):
        assert column[0] == column[1]
    assert KINDS[name].value(one) == KINDS[name].value(other)


def test_positions_of_two_families_do_not_compare() -> None:
    for name, one, other in (
        ("places in a binary log of MySQL", "a.000001:4", "b.000001:4"),
        ("GTIDs of MySQL", f"{UUID}:1", f"{OTHER}:1"),
        ("GTIDs of MySQL", f"{UUID}:1", f"{UUID}:tag:1"),
        ("GTIDs of MariaDB", "0-1-1", "1-1-1"),
        ("offsets of Kafka", "t:0:1", "t:1:1"),
        ("hexadecimal numbers", "0000:0000", "0000:00000"),
    ):
        first, nothing, second, third = KINDS[name].families(pa.array([one, None, other, one])).to_pylist()
        assert first == third != second
        assert nothing is None
        assert KINDS[name].families(pa.array([one]))[0].as_py() == first


def test_an_example_is_of_its_kind() -> None:
    for kind in DECLARED:
        assert kind_of(lambda other, kind=kind: other.value(kind.example) is not None) is kind  # type: ignore[misc]


def test_a_kind_for_parts_of_a_table() -> None:
    numbers, long, gtids = (KINDS[name] for name in ("numbers", "long numbers", "GTIDs of MySQL"))
    assert common_kind(numbers, numbers) is numbers
    assert common_kind(numbers, long) is common_kind(long, numbers) is long
    assert common_kind(numbers, gtids) is common_kind(numbers, None) is common_kind(None, long) is None
    for kind in KINDS.values():
        if kind.wider:
            assert all(KINDS[kind.wider].value(text) is not None for text in IN_ORDER[kind.name])
