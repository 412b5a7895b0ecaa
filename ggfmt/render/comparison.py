"""The result of `ggfmt compare`: as text for people, as JSON for programs, and for GitHub Actions."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TextIO

from ggfmt.commit.names import counted
from ggfmt.comparison.comparison import Comparison, TableComparison
from ggfmt.comparison.rows import RowExample
from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.java.text import visible
from ggfmt.render.ci_formats import diagnostics_github
from ggfmt.render.diagnostics import as_dict, escape_surrogates, page_lines, print_diagnostics
from ggfmt.render.terminal import write_text

if TYPE_CHECKING:
    from ggfmt.render.tables import FittedTable

_MAX_WIDTH = 60  # characters of a value, and of a list of columns
_MARKS = {"missing": "-", "extra": "+", "different": "~"}


def findings_of(found: Comparison) -> list[Diagnostic]:
    return [*(finding for table in found.tables for finding in _of_table(found, table)), *_of_sides(found)]


def _of_sides(found: Comparison) -> Iterator[Diagnostic]:
    for skipped, side in ((found.skipped_a, found.a), (found.skipped_b, found.b)):
        if skipped:
            message = f"{counted(len(skipped), 'file')} not compared, for example `{visible(skipped[0])}`"
            help = "move other files away, find lost ones with `ggfmt verify`, or compare one table with `--table`"
            yield Diagnostic("GG567", message, side, help)
    if not (found.equal or found.differing):
        yield Diagnostic("GG581", "no side has a row to compare", help="check both paths, and the options of CSV files")


def _of_table(found: Comparison, table: TableComparison) -> Iterator[Diagnostic]:
    place = Span(table=table.table)
    if table.only is not None:
        has, lacks = (found.a, found.b) if table.only == "a" else (found.b, found.a)
        yield Diagnostic("GG584", f"the table is in `{has}`, but not in `{lacks}`", place)
    for columns, side in ((table.columns_a, found.a), (table.columns_b, found.b)):
        if columns:
            message = f"{counted(len(columns), 'column')} only in `{side}`: {_names(columns)}"
            yield Diagnostic("GG585", message, place, "if this is intended, skip them with `--ignore-column`")
    for name, reason in table.unread.items():
        message = f"the column {_name(name)} cannot be compared: {reason}"
        yield Diagnostic("GG590", message, place, "change its type, or skip it with `--ignore-column`")
    for repeated, side in ((table.repeated_a, found.a), (table.repeated_b, found.b)):
        if repeated:
            message = f"{counted(repeated, 'duplicate key')} in `{side}`; the key is {_names(table.key)}"
            help = "choose a unique key with `--key`; rows with duplicate keys were compared by all columns"
            yield Diagnostic("GG586", message, place, help)
    if table.missing or table.extra or table.different:
        yield Diagnostic("GG583", _counts(table), place)


def _counts(table: TableComparison) -> str:
    parts = [f"{number:,} {kind}" for kind, number in (("missing", table.missing), ("extra", table.extra)) if number]
    if table.different:
        columns = _names(f"{name} ({count:,})" for name, count in table.by_column.items())
        parts.append(f"{table.different:,} different in {columns}")
    return f"rows are not the same: {', '.join(parts)}; {table.equal:,} equal"


def comparison_github(found: Comparison) -> str:
    examples = {
        table.table: [*_column_lines(table), *(_line(example) for example in table.examples)] for table in found.tables
    }
    findings = []
    for finding in findings_of(found):
        help = " / ".join(examples[finding.span.table or ""]) if finding.code == "GG583" else finding.help
        findings.append(Diagnostic(finding.code, f"{finding.span}: {finding.message}", Span(), help or None))
    return diagnostics_github(findings)


def comparison_json(found: Comparison) -> str:
    document = {
        "same": found.same,
        "a": found.a,
        "b": found.b,
        "skipped_files": {"a": len(found.skipped_a), "b": len(found.skipped_b)},
        "tables": [_table_dict(table) for table in found.tables],
        "findings": list(map(as_dict, findings_of(found))),
    }
    return json.dumps(document, indent=2) + "\n"


def _table_dict(table: TableComparison) -> dict[str, Any]:
    return {
        "table": escape_surrogates(table.table),
        "same": table.same,
        "only": table.only,
        "key": table.key,
        "rows": {"a": table.rows_a, "b": table.rows_b},
        "equal": table.equal,
        "missing": table.missing,
        "extra": table.extra,
        "different": table.different,
        "by_column": table.by_column,
        "column_examples": {name: _example_dict(example) for name, example in table.column_examples.items()},
        "respelled": table.respelled,
        "respelled_examples": {name: _example_dict(example) for name, example in table.respelled_examples.items()},
        "respelled_rows": table.respelled_rows,
        "repeated_keys": {"a": table.repeated_a, "b": table.repeated_b},
        "columns": {"a": table.columns_a, "b": table.columns_b},
        "unread": table.unread,
        "examples": [
            {"kind": example.kind, **_example_dict(example), "rows": example.rows} for example in table.examples
        ],
    }


def _example_dict(example: RowExample) -> dict[str, Any]:
    return {"key": _plain(example.key), "a": _plain(example.a), "b": _plain(example.b)}


def _plain(row: Mapping[str, Any] | None) -> dict[str, Any] | None:
    def shown(value: object) -> object:
        known = value is None or isinstance(value, (bool, int)) or (isinstance(value, float) and math.isfinite(value))
        return value if known else escape_surrogates(_text(value))

    return None if row is None else {name: shown(value) for name, value in row.items()}


def print_comparison(found: Comparison, stream: TextIO) -> None:
    """Print a table of all tables, then findings and examples of each, and the total in the last line."""
    from ggfmt.render.reference import print_rich

    print_rich(_summary(found), stream)
    every: list[Diagnostic] = []
    for table in found.tables:
        findings = list(_of_table(found, table))
        if findings:
            write_text("\n", stream)
            print_diagnostics(findings, stream, with_pages=False)
            every += findings
        lines = [*_column_lines(table), *(_line(example) for example in table.examples), *_respelled_lines(table)]
        write_text("".join(f"  {line}\n" for line in lines), stream)
    of_sides = list(_of_sides(found))
    if of_sides:
        write_text("\n", stream)
        print_diagnostics(of_sides, stream, with_pages=False)
    tables, skipped = counted(len(found.tables), "table"), len(found.skipped_a) + len(found.skipped_b)
    parts = [f"{found.differing:,} of them not the same"] if found.differing else []
    parts += [f"{counted(skipped, 'file')} not compared"] if skipped else []
    result = "the same" if found.same else ", ".join(parts) or "nothing to compare"
    pages = page_lines([*every, *of_sides])
    write_text(f"\n{pages}{tables}, {counted(found.equal, 'row')} equal: {result}\n", stream)


def _summary(found: Comparison) -> FittedTable:
    from rich.text import Text

    from ggfmt.render.tables import FittedTable

    rows = []
    for row in found.tables:
        counts = (row.equal, row.missing, row.extra, row.different)
        cells = ["" if row.only else f"{count:,}" for count in counts]
        key = ", ".join(row.key) or ("" if row.only else "whole rows")
        style = "" if row.same else "red"
        rows.append([Text(visible(row.table), style), Text(visible(key)), *map(Text, cells)])
    headings = [Text(heading) for heading in ("table", "key", "equal", "missing", "extra", "different")]
    return FittedTable(headings, rows, right=4, box=None, pad_edge=False)


def _column_lines(table: TableComparison) -> Iterator[str]:
    for name, count in table.by_column.items():
        yield f"*  {_name(name)}  {counted(count, 'row')}, such as {_of_column(table.column_examples[name])}"


def _respelled_lines(table: TableComparison) -> Iterator[str]:
    for name, count in table.respelled.items():
        what = f"{counted(count, 'equal value')} in two spellings"
        yield f"=  {_name(name)}  {what}, such as {_of_column(table.respelled_examples[name])}"
    if table.respelled_rows:
        yield f"=  {counted(table.respelled_rows, 'equal row')} with values in two spellings"


def _of_column(example: RowExample) -> str:
    (of_a,), (of_b,) = (row.values() for row in (example.a or {}, example.b or {}))
    return "  ".join([*(pair(name, value) for name, value in example.key.items()), f"{_shown(of_a)} | {_shown(of_b)}"])


def _line(example: RowExample) -> str:
    parts = [_MARKS[example.kind], *(pair(name, value) for name, value in example.key.items())]
    if example.a is not None and example.b is not None:
        parts += [
            f"{_name(name)}: {_shown(value)} | {_shown(example.b.get(name))}" for name, value in example.a.items()
        ]
    else:
        row = example.a if example.a is not None else example.b or {}
        parts += [pair(name, value) for name, value in row.items() if name not in example.key]
    if example.rows > 1:
        parts.append(f"({example.rows:,} such rows)")
    return "  ".join(parts)


def pair(name: str, value: object) -> str:
    return f"{_name(name)}={_shown(value)}"


def _name(name: str) -> str:
    return visible(name) if name and " " not in name else json.dumps(visible(name), ensure_ascii=False)


def _names(names: Iterable[str]) -> str:
    text = ", ".join(names)
    return text if len(text) <= 3 * _MAX_WIDTH else f"{text[: 3 * _MAX_WIDTH]}..."


def _shown(value: object) -> str:
    """Return a value for people; quotes make an empty text, blanks and the text `NULL` visible."""
    if value is None:
        return "NULL"
    text = visible(_text(value))
    text = text if len(text) <= _MAX_WIDTH else f"{text[:_MAX_WIDTH]}..."
    return f"'{text}'" if isinstance(value, str) else text


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return f"\\x{value.hex()}"
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)
