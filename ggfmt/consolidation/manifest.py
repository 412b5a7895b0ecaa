"""What a consolidation leaves in writing: its manifest, and what it says on standard error."""

from __future__ import annotations

import platform
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ggfmt.commit.names import counted, folded, safe_name, stamp
from ggfmt.commit.records import CONSOLIDATION_MEMBER, LAYOUT
from ggfmt.consolidation.asked import CURRENT, DELETED, UNRESOLVED, shown
from ggfmt.consolidation.conversion import Written
from ggfmt.diagnostics.diagnostic import without_credentials
from ggfmt.scan.files import InputFile
from ggfmt.scan.splits import ReadJob
from ggfmt.version import VERSION

if TYPE_CHECKING:
    from ggfmt.consolidation.run import ConsolidationSettings
    from ggfmt.consolidation.writing import Answer


@dataclass(frozen=True)
class Finished:
    """A file of rows, or of unresolved operations, and the name that it gets."""

    answer: Answer
    unresolved: bool
    name: str
    file: Written


def table_directory(table: str) -> str:
    """The directory with the rows of a table; no table has that of unresolved operations."""
    return safe_name(table)


def described(
    run: str,
    moment: datetime,
    settings: ConsolidationSettings,
    job: ReadJob,
    inputs: Sequence[InputFile],
    finished: Sequence[Finished],
    seconds: float,
) -> dict[str, Any]:
    """The manifest."""
    asked = settings.asked
    answers = {item.answer.table.name: item.answer for item in finished}
    return {
        "ggfmt": VERSION,
        "layout": LAYOUT,
        "versions": {"python": platform.python_version(), "pyarrow": pa.__version__},
        "run": run,
        "time": stamp(moment),
        "mode": settings.mode,
        CONSOLIDATION_MEMBER: {
            "kind": asked.kind,
            "as_of": asked.as_of,
            "since": asked.since,
            "order": asked.order,
            "keep": sorted(asked.keep),
            "to": settings.to,
            "base": None if settings.base is None else without_credentials(settings.base),
        },
        "input_format": job.input_format,
        "inputs": [{"path": without_credentials(file.shown), "bytes": file.size} for file in inputs],
        "tables": {name: _table(answer, asked.marks, asked.keep) for name, answer in sorted(answers.items())},
        "seconds": round(seconds, 3),
        "files": [_entry(item) for item in finished],
        "schemas": [],
    }


def _table(answer: Answer, marks: Sequence[str], kept: Collection[str]) -> dict[str, Any]:
    table, seen = answer.table, answer.staged.seen
    counts = answer.counts
    return {
        "key": list(table.definition.primary_keys),
        "columns": answer.types,
        "marks": [shown(mark) for mark in marks],
        "operations": dict(sorted(seen.operations.items())),
        "order": answer.order,
        "rows": counts[CURRENT],
        "deleted": counts[DELETED] if DELETED in kept else None,
        "unresolved": counts[UNRESOLVED],
        "defaults": answer.defaults,
        "without_time": seen.without_time,
        "without_position": seen.without_position,
        "first_time": _time(seen.first_time),
        "last_time": _time(seen.last_time),
        "first_position": seen.first_position,
        "last_position": seen.last_position,
    }


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else moment.astimezone(timezone.utc).isoformat(timespec="microseconds")


def _entry(item: Finished) -> dict[str, Any]:
    entry: dict[str, Any] = {"path": item.name, "table": item.answer.table.name}
    entry |= {"unresolved": item.file.rows} if item.unresolved else {}
    return entry | {"bytes": item.file.size, "sha256": item.file.sha256}


def told_of(document: dict[str, Any]) -> Iterator[str]:
    """What is told of a run: a line for each table."""
    for name, table in document["tables"].items():
        parts = [counted(table["rows"], "row")]
        if table["deleted"]:
            parts.append(f"{table['deleted']:,} deleted")
        if table["unresolved"]:
            parts.append(f"{table['unresolved']:,} unresolved")
        if table["defaults"]:
            parts.append(f"{counted(table['defaults'], 'value')} that no operation told")
        yield f"{name}: {', '.join(parts)}; in the order of {table['order']}"


@dataclass(frozen=True)
class Previous:
    """The result that is merged into, by its manifest."""

    document: Mapping[str, Any]

    def last_parts(self) -> dict[str, int]:
        """By directory, folded, the number of its last file."""
        last: dict[str, int] = {}
        for entry in self.document["files"]:
            directory, _, name = entry["path"].rpartition("/")
            key = folded(directory)
            last[key] = max(last.get(key, -1), int(name.partition(".")[0].rpartition("-")[2]))
        return last

    def merged(self, document: dict[str, Any], removed: Mapping[str, int], gone: set[str]) -> dict[str, Any]:
        """The manifest of a run with what stays of this one. `removed` are rows by table that were written anew, and
        `gone` the files that they were in."""
        tables = dict(self.document["tables"])
        for name, table in document["tables"].items():
            before = tables.get(name, {"rows": 0, "unresolved": 0, "defaults": 0})
            counts = {what: before[what] + table[what] for what in ("unresolved", "defaults")}
            tables[name] = {**table, **counts, "rows": before["rows"] - removed.get(name, 0) + table["rows"]}
        stay = [entry for entry in self.document["files"] if entry["path"] not in gone]
        return {**document, "tables": dict(sorted(tables.items())), "files": [*stay, *document["files"]]}
