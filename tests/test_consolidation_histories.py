"""The reference of consolidation on histories that a database tells: what it finds is what the database has."""

from __future__ import annotations

import pytest
from consolidation import Key, Table, consolidated
from histories import Shape, history
from survival import Row

SHAPES = (
    Shape("PLAIN"),
    Shape("WHOLE", full=True, before=("full",)),
    Shape("COMPOSITE", key=("S", "K", "L"), truncates=2),
    Shape("DEFINED", definitions=4, truncates=1),
)


def current(table: Table) -> dict[Key, Row]:
    return {key: table.in_order(row) for key, row in table.rows.items() if table.is_known(row)}


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
@pytest.mark.parametrize("seed", range(3))
def test_the_reference_finds_what_a_database_has(shape: Shape, seed: int) -> None:
    told = history(shape, seed)
    alone = consolidated(told.story, shape.columns, shape.key)
    over_base = consolidated(told.story, shape.columns, shape.key, told.started)
    there = {tuple(row[name] for name in shape.key): {name: row[name] for name in alone.columns} for row in told.rows}
    assert len(there) > 30
    tame = {key for key in (*alone.rows, *over_base.rows) if told.number_of(key) in told.tame}
    assert {key: row for key, row in current(over_base).items() if key in tame} == there
    found = {key: row for key, row in current(alone).items() if key in tame}
    assert found.items() <= there.items()
    assert 0 < len(found) <= len(there)
    unknown = {key for key in tame & set(alone.rows) if not alone.is_known(alone.rows[key])}
    unseen = set(there) - set(found) - unknown
    assert unseen <= {tuple(row[name] for name in shape.key) for row in told.started}
