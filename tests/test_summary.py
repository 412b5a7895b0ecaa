"""Summaries are short, and show what is in them and nothing else."""

from __future__ import annotations

from ggfmt.summary import MAX_ROWS, Summary, SummaryTable


def test_a_line_and_a_page_have_the_facts() -> None:
    summary = Summary("ggfmt.Result", ["1 row\nread", "in <b>"], [SummaryTable(("table", "rows"), [("A&B", 12345)])])
    assert summary.line() == "<ggfmt.Result: 1 row\\nread; in <b>>"
    assert summary.html() == (
        "<div><b>ggfmt.Result</b><br>1 row\\nread<br>in &lt;b&gt;"
        "<table><thead><tr><th>table</th><th>rows</th></tr></thead>"
        "<tbody><tr><td>A&amp;B</td><td>12,345</td></tr></tbody></table></div>"
    )


def test_a_table_shows_its_first_rows_and_how_many_more_there_are() -> None:
    many = SummaryTable(("number",), [(number,) for number in range(MAX_ROWS + 5)])
    shown = Summary("x", [], [many, SummaryTable(("none",), [])]).html()
    assert shown.count("<tr>") == 1 + MAX_ROWS + 1
    assert "and 5 more" in shown and "none" not in shown
