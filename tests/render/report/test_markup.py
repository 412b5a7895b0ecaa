"""Elements and bars of the page of a report, and its figures in few characters."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from lxml import etree
from reports import changed, output

from ggfmt.commit.records import STEPS
from ggfmt.render.report.facts import ReportData, seconds_text, time_text
from ggfmt.render.report.markup import Html, bar, element, join, marked, text
from ggfmt.sinks.messages.run_history import read_run


def test_seconds_in_few_characters() -> None:
    assert [seconds_text(n) for n in (0, 0.34, 12.345, 59.96, 125, 3725)] == [
        *("0.00 s", "0.34 s", "12.3 s", "1 min 0 s", "2 min 5 s", "1 h 2 min")
    ]


def test_parts_of_a_bar_follow_each_other() -> None:
    drawn = etree.fromstring(bar({"D": 1, "I": 2, "?": 1, "U": 0}, 8))
    found = [(rect.get("class"), rect.get("x"), rect.get("width")) for rect in drawn]
    assert found == [
        ("op-insert", "0.000%", "25.000%"),
        ("op-delete", "25.000%", "12.500%"),
        ("op-other", "37.500%", "12.500%"),
    ]
    assert len(etree.fromstring(bar({"I": 0}, 0))) == 0


def test_what_is_no_markup_is_text() -> None:
    assert text("<&\"'\u202e\n") == "&lt;&amp;&quot;&#x27;\\u202e\\n"
    assert element("p", "<b>", Html("<i>"), None, 1234, class_="a", data_x='"', id=None) == (
        '<p class="a" data-x="&quot;">&lt;b&gt;<i>1,234</p>'
    )
    assert join(["a", None, Html("&amp;")]) == "a&amp;"


# Operations over time


@pytest.mark.parametrize(
    ("step", "times", "most", "expected"),
    [
        ("second", ["2026-01-31 18:30:00", "2026-01-31 18:30:01"], 2, ("second", "2026-01-31 18:30:01")),
        ("second", ["2026-01-31 18:30:00", "2026-01-31 18:30:11"], 1, ("minute", "2026-01-31 18:30")),
        ("10 seconds", ["2026-01-31 18:30:0", "2026-01-31 18:30:1"], 2, ("10 seconds", "2026-01-31 18:30:10")),
        ("second", ["2026-01-31 18:30:00", "2026-01-31 18:39:00"], 1, ("10 minutes", "2026-01-31 18:30")),
        ("minute", ["2026-01-31 18:30", "2026-01-31 18:59"], 1, ("hour", "2026-01-31 18")),
        ("day", ["2026-01-30", "2026-02-30"], 1, ("year", "2026")),
        ("year", ["1970", "2026"], 1, ("year", "2026")),
        ("second", [], 1, ("second", None)),
    ],
)
def test_times_are_in_the_shortest_steps_that_are_few(
    tmp_path: Path, step: str, times: list[str], most: int, expected: tuple[str, str | None]
) -> None:
    out = output(tmp_path, count=1)
    by_time = {"step": step, "times": {time: {"I": 2, "D": 1} for time in times}}
    changed(out, lambda document: document["totals"].update(operations_by_time=by_time))
    found, starts = ReportData(read_run(str(out))).by_time(most)
    assert (found, max(starts, default=None)) == expected
    assert list(starts) == sorted(starts)
    assert sum(starts.values(), Counter()) == Counter({"I": 2 * len(times), "D": len(times)})


def test_every_time_unit_has_a_first_second() -> None:
    whole = "2026-01-31 18:30:00"
    starts = {time_text(whole[:width]) for width in STEPS.values()}
    assert starts == {whole, "2026-01-31 18:00:00", "2026-01-31 00:00:00", "2026-01-01 00:00:00"}


def test_what_is_between_backticks_is_code() -> None:
    shown = '<bdi>give <code class="word">a&lt;b</code> or <code class="word">c</code></bdi>'
    assert marked("give `a<b` or `c`") == shown
    linked = '<a href="#GG301"><code class="word"><bdi>GG301</bdi></code></a>'
    assert marked("`x` [GG301] GG3011") == f'<bdi><code class="word">x</code> [{linked}] GG3011</bdi>'
    assert marked("one ` has no end") == "<bdi>one ` has no end</bdi>"
