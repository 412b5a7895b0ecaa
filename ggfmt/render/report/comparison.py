"""The report of `ggfmt compare`."""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote

from ggfmt.commit.names import counted
from ggfmt.comparison.comparison import Comparison
from ggfmt.comparison.rows import RowExample
from ggfmt.render.comparison import findings_of, pair
from ggfmt.render.report.facts import seconds_text
from ggfmt.render.report.markup import Fact, Html, Row, bar, code, name, path, section, table
from ggfmt.render.report.page import Report, findings

_BARS = {"": "equal", "D": "missing", "I": "extra", "U": "different"}  # the color of a type of operation


def comparison_report(found: Comparison, seconds: float) -> Report:
    skipped = len(found.skipped_a) + len(found.skipped_b)
    tables = counted(len(found.tables), "table")
    troubles = [f"{found.differing:,} of {tables} not the same"] if found.differing else []
    troubles += [f"{counted(skipped, 'file')} not compared"] if skipped else []
    if not (found.same or troubles):
        troubles = ["nothing to compare"]
    different = next((each.table for each in found.tables if not each.same), None)
    about: list[Fact] = [("A", path(found.a)), ("B", path(found.b))]
    if different is not None:
        words = map(quote, ("ggfmt", "compare", found.a, found.b, "--table", different, "--examples", "100"))
        about.append(("Next", code(" ".join(words))))
    cards = [_tables(found), findings("Findings", findings_of(found)), _examples(found)]
    counts = [(kind.capitalize(), getattr(found, kind), "rows") for kind in _BARS.values()]
    time = ("Time", seconds_text(seconds), f"for {tables}")
    return Report("compare", "", troubles, "the same", about, [*counts, time], cards)


def _tables(found: Comparison) -> Html | None:
    most = max((each.equal + each.missing + each.extra + each.different for each in found.tables), default=0)
    rows = []
    for each in found.tables:
        counts = [getattr(each, kind) for kind in _BARS.values()]
        result = "the same" if each.same else f"only in {each.only.upper()}" if each.only else "not the same"
        key = ", ".join(each.key) or "whole rows"
        rows.append((name(each.table), bar(dict(zip(_BARS, counts, strict=True)), most), *counts, result, name(key)))
    titles = ("Table", "", *(f"#{kind.capitalize()}" for kind in _BARS.values()), "Result", "Key")
    return section("Tables", table(titles, rows, "Missing rows are only in A, extra rows only in B."))


def _examples(found: Comparison) -> Html | None:
    rows: list[Row] = []
    for each in found.tables:
        shown = [(example.kind, example.rows, example) for example in each.examples]
        shown += [(f"different: {column}", n, each.column_examples[column]) for column, n in each.by_column.items()]
        spelled = each.respelled_examples
        shown += [(f"two spellings: {column}", n, spelled[column]) for column, n in each.respelled.items()]
        rows += [(name(each.table), name(kind), count, *_cells(example)) for kind, count, example in shown]
    return section("Examples", table(("Table", "Kind", "#Rows", "Key", "A", "B"), rows, "The first rows of each kind."))


def _cells(example: RowExample) -> Iterator[Html]:
    for row in (example.key, example.a, example.b):
        pairs = (pair(*item) for item in (row or {}).items() if row is example.key or item[0] not in example.key)
        yield name(", ".join(pairs))
