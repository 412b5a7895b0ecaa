"""Patterns of table names."""

from __future__ import annotations

import pytest

from ggfmt.model.selection import TableSelection
from ggfmt.model.table import join_name, name_parts


@pytest.mark.parametrize(
    ("pattern", "name", "fits"),
    [
        ("orders", "GG.ORDERS", True),
        ("GG.ORDERS", "gg.orders", True),
        ("GG.ORDERS", "CAT.GG.ORDERS", True),
        ("GG.ORDERS", "ORDERS", False),
        ("GG.*", "GG.ORDERS", True),
        ("GG.*", "GG2.ORDERS", False),
        ("T*", "TEST.ORDERS", False),
        ("*", "GG.ORDERS", True),
        ("ORDER?", "GG.ORDERS", True),
        ("ORDER?", "GG.ORDER", False),
        ("[x]", "GG.[x]", True),
        ('"a.b"', 'GG."a.b"', True),
        ("a.b", 'GG."a.b"', False),
        ('GG."a.*"', 'GG."a.b"', True),
    ],
)
def test_what_a_pattern_matches(pattern: str, name: str, fits: bool) -> None:
    assert TableSelection(tables=(pattern,)).selects(name) is fits
    assert TableSelection(exclude=(pattern,)).selects(name) is not fits
    assert list(TableSelection((pattern,), (pattern,)).unmatched([name])) == (
        [] if fits else [("--table", pattern), ("--exclude", pattern)]
    )


def test_exclusions_win() -> None:
    selection = TableSelection(("GG.*",), ("*_OLD", "TMP*"))
    names = ["GG.A", "GG.A_OLD", "GG.TMP1", "X.A"]
    assert [name for name in names if selection.selects(name)] == ["GG.A"]
    assert all(map(TableSelection().selects, names))


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("a.b", ("a", "b")),
        ('s."a.b"', ("s", "a.b")),
        ('"x""y.z".t', ('x"y.z', "t")),
        ('"F"."G"', ('"F"', '"G"')),
        ('s."a.b', ("s", '"a', "b")),
        ('"a.b"x.c', ('"a', 'b"x', "c")),
        ('"."', (".",)),
    ],
)
def test_the_parts_of_a_name(name: str, parts: tuple[str, ...]) -> None:
    assert name_parts(name) == parts
    if "." in name.strip('".'):
        assert name_parts(join_name(*parts)) == parts
