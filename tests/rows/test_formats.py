"""The same story gives the same rows in every format that is read, less what the format does not show."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from round_trips import READ, STORY, TABLES, handler, losses_of, survives, write_as, write_story
from rows_oracle import Change, consolidate

from ggfmt.rows.query import RowQuery
from ggfmt.rows.run import ConsolidationSettings, execute
from ggfmt.scan.runner import InProcess

TABLE = "GG.ORDERS"


@pytest.mark.parametrize("name", READ)
def test_the_story_in_every_format(name: str, tmp_path: Path) -> None:
    path, source = write_as(write_story(tmp_path / "in.json", STORY), name, tmp_path / "written")
    settings = ConsolidationSettings(
        inputs=[str(path)],
        output=str(tmp_path / "out"),
        query=RowQuery(order="input"),
        input_format=name,
        source=source,
        definitions=dict(TABLES),
        keys=(("*", ("ID",)),),
        types=(("*.*", "string"),),
    )
    document = execute(settings, InProcess)
    rows = [row for file in sorted((tmp_path / "out" / TABLE).iterdir()) for row in pq.read_table(file).to_pylist()]
    losses = losses_of(name, handler(name, tmp_path / "written" / "dirdef"))
    changes = [Change(item.op, item.before, item.after) for item in survives(STORY, losses)]
    expected = consolidate(changes, TABLES[TABLE].column_names, ("ID",), complete=False)
    print([r for f in (tmp_path / "out" / "_unresolved").glob("*") for r in pq.read_table(f).to_pylist()]); print([dict(r) for r in expected.rows if dict(r) not in rows], [r for r in rows if r not in [dict(e) for e in expected.rows]])
    assert sorted(rows, key=str) == sorted(map(dict, expected.rows), key=str)
    assert document["tables"][TABLE]["unresolved"] <= len(expected.unresolved)
    assert rows
