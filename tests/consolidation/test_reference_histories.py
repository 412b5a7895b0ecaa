"""The reference of consolidation on histories that a database tells: what it finds is what the database has."""

from __future__ import annotations

import pytest
from consolidation_reference import Key, Table, consolidated
from histories import SHAPES, history
from round_trips import Row


def current(table: Table) -> dict[Key, Row]:
    return {key: table.in_order(row) for key, row in table.rows.items() if table.is_known(row)}


@pytest.mark.parametrize("name", [name for name, shape in SHAPES.items() if shape.key])
@pytest.mark.parametrize("seed", range(2))
def test_the_reference_finds_what_a_database_has(name: str, seed: int) -> None:
    shape = SHAPES[name]
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


@pytest.mark.parametrize("name", [name for name, shape in SHAPES.items() if shape.key])
def test_the_reference_over_a_base_finds_what_a_database_has(name: str) -> None:
    told = history(SHAPES[name], 3)
    key = told.shape.key
    there = {
        tuple(row[name] for name in key): {name: row[name] for name in told.last.column_names} for row in told.rows
    }
    for place in (0, 200, 500, len(told.story)):
        older, newer, columns = told.cut(place)
        base = current(consolidated(older, told.shape.columns, key, told.started))
        found = current(consolidated(newer, columns, key, base.values()))
        assert {one: row for one, row in found.items() if told.number_of(one) in told.tame} == there
