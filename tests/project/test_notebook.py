"""A notebook that Jupyter runs: results show themselves as tables, and operations go to pandas and Polars."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from places import ROOT

CELLS = (
    "import ggfmt, polars",
    f"sample = {str(ROOT / 'samples' / 'tcustord.json')!r}\n"
    "result = ggfmt.convert(sample, to='json', output='out', master='none')\nresult",
    "print(repr(result))",
    "ggfmt.scan(sample).read_pandas().groupby('table').size().to_dict()",
    "polars.DataFrame(ggfmt.scan(sample, 'GG.TCUSTORD'))['op_type'].to_list()",
    "ggfmt.consolidate(sample, 'rows', key='CUST_CODE', table='GG.TCUSTMER', master='none')",
    "open('a.csv', 'w').write('ID\\n1\\n'); ggfmt.compare('a.csv', 'a.csv', key='ID')",
    "ggfmt.convert(sample, to='json', output='out', master='none')",
)


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """The cells with their outputs; the last one fails."""
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code in CELLS])
    place = tmp_path_factory.mktemp("notebook")
    nbclient.NotebookClient(
        notebook, timeout=120, resources={"metadata": {"path": str(place)}}, allow_errors=True
    ).execute()
    done: list[Any] = notebook.cells
    return done


def shown(cell: Any, kind: str) -> str:
    (text,) = [output["data"][kind] for output in cell.outputs if "data" in output]
    return str(text)


@pytest.mark.long
def test_results_are_tables(cells: list[Any], tmp_path: Path) -> None:
    converted, line, consolidated, compared = cells[1], cells[2], cells[5], cells[6]
    assert "<table" in shown(converted, "text/html")
    assert "GG.TCUSTORD" in shown(converted, "text/html")
    assert line.outputs[0]["text"].count("\n") == 1
    assert shown(converted, "text/plain") == line.outputs[0]["text"].strip()
    assert "GG.TCUSTMER" in shown(consolidated, "text/html")
    assert "<table" in shown(compared, "text/html")


@pytest.mark.long
def test_operations_are_frames(cells: list[Any]) -> None:
    assert shown(cells[3], "text/plain") == "{'GG.ARTIKEL': 4, 'GG.TCUSTMER': 4, 'GG.TCUSTORD': 6}"
    assert shown(cells[4], "text/plain").count("'I'") > 0


@pytest.mark.long
def test_an_error_shows_the_cell_and_no_more(cells: list[Any]) -> None:
    (error,) = cells[-1].outputs
    assert error["ename"] == "UsageError"
    assert "GG501" in error["evalue"]
    frames = [line for line in error["traceback"] if "File" in line or "Cell" in line]
    assert len(frames) == 2, frames  # the cell and the function; IPython hides no last frame
