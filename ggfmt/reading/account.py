"""The account of what was read: a record is an operation, a reject, not selected, or not an operation at all.

Names come from the data: every text shows them with escapes.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator

from ggfmt.commit.names import counted
from ggfmt.diagnostics.codes import CODES
from ggfmt.formats.api.reading import Reader
from ggfmt.java.text import visible
from ggfmt.reading.tasks import RecordCounts

log = logging.getLogger("ggfmt")

MAX_LINES = 20  # of a kind, in a log that is not at level `debug`


def take_counts(counts: RecordCounts, reader: Reader, skipped: Counter[str]) -> None:
    """Add what a reader has counted, and the records of tables that are not selected."""
    counts.others += reader.others
    counts.members += reader.members
    counts.remarks += reader.remarks
    counts.skipped += skipped


def sections(counts: RecordCounts) -> list[tuple[list[str], str]]:
    """Return lines on what is in no operation, by kind, each with the line that stands for all of its kind."""
    others, skipped, members = (sorted(each.items()) for each in (counts.others, counts.skipped, counts.members))
    return [
        (
            [f"not operations: {counted(count, f'{name} record')}" for name, count in others],
            f"not operations: {counted(counts.others.total(), 'record')}",
        ),
        (
            [f"not selected: {name}, {counted(count, 'record')}" for name, count in skipped],
            f"not selected: {counted(len(skipped), 'table')}, {counted(counts.skipped.total(), 'record')}",
        ),
        (
            [f"unknown member `{name}` left out of {counted(count, 'operation')}" for name, count in members],
            f"{counted(len(members), 'unknown member')} left out, {counts.members.total():,} times",
        ),
    ]


def remarks(counts: RecordCounts) -> Iterator[str]:
    for remark, count in sorted(counts.remarks.items(), key=lambda item: (item[0].table, item[0].code, item[0].detail)):
        yield visible(f"[{remark.code}] table {remark.table}: {counted(count, 'operation')} {remark.detail}")


def log_account(counts: RecordCounts, rejected: Counter[str] | None = None, level: int = logging.INFO) -> None:
    """Log the account of a command that has no report. `rejected`: the records that it left out, by code; `level`: of
    what is no mistake."""
    for warning in remarks(counts):
        log.warning("%s", warning)
    for code, count in sorted((rejected or {}).items()):
        log.warning("rejected: %s [%s] %s", f"{count:,}", code, CODES[code].title)
    for lines, short in sections(counts):
        for line in lines if len(lines) <= MAX_LINES or log.isEnabledFor(logging.DEBUG) else [short]:
            log.log(level, "%s", visible(line))
