"""Summaries of results for people: a line for a terminal, and tables for a notebook."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from html import escape

from ggfmt.dataclasses import dataclass
from ggfmt.java.text import visible

MAX_ROWS = 20  # of a table in a notebook
Cell = str | int


@dataclass(frozen=True)
class SummaryTable:
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]


@dataclass(frozen=True)
class Summary:
    name: str
    facts: Sequence[str]
    tables: Sequence[SummaryTable] = ()

    def line(self) -> str:
        return f"<{self.name}: {visible('; '.join(self.facts))}>"

    def html(self) -> str:
        parts = [f"<b>{escape(self.name)}</b>", *(_html(fact) for fact in self.facts)]
        return f"<div>{'<br>'.join(parts)}{''.join(map(_html_table, self.tables))}</div>"


class Summarized(ABC):
    """A result that programs and notebooks show as its summary."""

    def __repr__(self) -> str:
        return self._summary.line()

    def _repr_html_(self) -> str:
        return self._summary.html()

    @property
    @abstractmethod
    def _summary(self) -> Summary: ...


def _html_table(table: SummaryTable) -> str:
    if not table.rows:
        return ""
    head = "".join(f"<th>{_html(name)}</th>" for name in table.columns)
    rows = ["".join(f"<td>{_html(cell)}</td>" for cell in row) for row in table.rows[:MAX_ROWS]]
    if len(table.rows) > MAX_ROWS:
        rows.append(f'<td colspan="{len(table.columns)}">and {len(table.rows) - MAX_ROWS:,} more</td>')
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _html(cell: Cell) -> str:
    return f"{cell:,}" if isinstance(cell, int) else escape(visible(cell))
