"""What a consolidation writes beside rows: its manifest, and the summary on standard error."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

import pyarrow as pa

from ggfmt.commit.names import counted, folded, stamp
from ggfmt.commit.records import CONSOLIDATION_MEMBER, LAYOUT, MAPPED_MEMBER, SET_ASIDE_MEMBER, is_of_rows
from ggfmt.dataclasses import asdict, astuple, dataclass, field
from ggfmt.diagnostics.diagnostic import Diagnostic, Span, without_credentials
from ggfmt.engine import Run
from ggfmt.frames.shapes import ddl_type
from ggfmt.location import Location
from ggfmt.model.change import PASSING
from ggfmt.reading.tasks import account
from ggfmt.rowfiles.writers import WrittenFile
from ggfmt.rows.base import HIDDEN_MEMBER, BaseFile
from ggfmt.rows.kept import KeptOperations, load_free_keys, load_kept
from ggfmt.rows.numbers import NumberRange
from ggfmt.rows.operations import staged_schema
from ggfmt.rows.ordering import Ordering
from ggfmt.rows.query import CURRENT, DELETED, UNRESOLVED
from ggfmt.rows.request import ConsolidationSettings
from ggfmt.rows.results import RowCounts, TableQuery
from ggfmt.rows.staging import StagedInput
from ggfmt.rows.table_stats import Place, TableStats
from ggfmt.rows.tables import RowTable
from ggfmt.rows.units import KeptFiles, ShortenedFile
from ggfmt.version import VERSION

PREFIX_MEMBER = "metadata_prefix"
COMPACTED_MEMBER = "compacted"  # by table the number of small files that a run has joined
MAX_TABLES = 20  # with a line each
_OF_SET_ASIDE = ("key", "columns", "numbers", "operations", "order", "unfit", "last_position", "last_places", "sources")


@dataclass(frozen=True)
class SetAside:
    reason: Diagnostic
    file: WrittenFile


@dataclass
class TableResult:
    """The rows of a table in staging."""

    query: TableQuery
    stats: TableStats
    buckets: int = 1
    counts: RowCounts = field(default_factory=RowCounts)
    # of rows, with their bucket and the number of buckets
    files: list[tuple[int, WrittenFile]] = field(default_factory=list)
    unresolved: list[WrittenFile] = field(default_factory=list)  # files of unresolved operations
    replaced: list[BaseFile] = field(default_factory=list)  # files of the base in the output that this run replaces
    shortened: list[ShortenedFile] = field(default_factory=list)  # files of the base with rows that this run deletes
    places: list[tuple[str, Span]] = field(default_factory=list)  # of the first unresolved operations, with the reason
    kept: KeptFiles = field(default_factory=KeptFiles)  # files of operations for later runs
    free: list[WrittenFile] = field(default_factory=list)  # files of hashes of keys without a row, for later runs
    # by column the range of numbers that were found in the data
    numbers: dict[str, NumberRange] = field(default_factory=dict)
    aside: SetAside | None = None  # what the next run has to do, if the table cannot go on: there are no rows

    @property
    def is_complete(self) -> bool:
        """Return whether a key without a row is free."""
        return self.query.complete or bool(self.stats.truncates)

    @property
    def last_position(self) -> str | None:
        """The highest position so far; the last one in the input if positions do not order the operations."""
        by, known = self.query.ordering.total, [*self.query.bounds, *self.counts.last_places]
        if by is None or not self.counts.last_places:
            return self.stats.last_position
        if len(known) == 1:
            return known[0].position
        return max((place.position for place in known), key=lambda position: by.value(position) or ())

    @property
    def last_places(self) -> list[Place]:
        """The last place of each log so far."""
        found: dict[tuple[str, str | None], Place] = {}
        by = self.query.ordering.by
        if by is None:
            return []
        for place in (*self.query.bounds, *self.counts.last_places):
            passes, both = place.origin == PASSING, (found.setdefault(place.log, place), place)
            if both[0] is not place:
                found[place.log] = max(
                    both, key=lambda one: one.micros or 0 if passes else by.value(one.position) or ()
                )
        return list(found.values())

    @property
    def table(self) -> RowTable:
        return self.query.table


@dataclass(frozen=True)
class PublishedFile:
    """A file and its name in the output. `what`: `rows`, or the operations that are `unresolved`, or `kept` or
    `set_aside` for later runs, or keys that are `free`; `bucket`: of its keys."""

    result: TableResult
    what: str
    name: str
    file: WrittenFile
    bucket: int | None


def build_manifest(
    run: Run,
    settings: ConsolidationSettings,
    to: str,
    staged: StagedInput,
    results: Sequence[TableResult],
    published: Sequence[PublishedFile],
    seconds: float,
) -> dict[str, Any]:
    query = settings.query
    return {
        "ggfmt": VERSION,
        "layout": LAYOUT,
        "versions": {"python": platform.python_version(), "pyarrow": pa.__version__},
        "run": run.id,
        "time": stamp(run.moment),
        "mode": settings.mode,
        CONSOLIDATION_MEMBER: {
            "kind": query.kind,
            "as_of": query.as_of,
            "since": query.since,
            "order": query.order,
            "keep": sorted(query.keep),
            "on_unfit": query.on_unfit,
            "to": to,
            "base": None if settings.base is None else without_credentials(settings.base),
            **({PREFIX_MEMBER: query.metadata_prefix} if query.metadata_prefix else {}),
            **({HIDDEN_MEMBER: settings.selection.hidden} if settings.selection.hides else {}),
        },
        "input_format": staged.job.input_format,
        "inputs": [{"path": without_credentials(file.shown), "bytes": file.size} for file in run.files],
        "rejects": dict(sorted(staged.rejected.items())),
        "other_records": dict(sorted(staged.others.items())),
        "skipped_records": dict(sorted(staged.skipped.items())),
        **({MAPPED_MEMBER: account(staged.mapped).document} if staged.mapped else {}),
        "tables": {result.table.name: _table(result) for result in results if result.aside is None},
        SET_ASIDE_MEMBER: {
            result.table.name: _set_aside(result, result.aside) for result in results if result.aside is not None
        },
        "spark_application": run.application,
        "seconds": round(seconds, 3),
        "warnings": list(map(str, staged.warnings)),
        "files": [_entry(item) for item in published],
        "schemas": [],
    }


def _table(result: TableResult) -> dict[str, Any]:
    table, stats, counts, query = result.table, result.stats, result.counts, result.query.query
    return {
        "key": list(table.key),
        **({"number_texts": table.number_texts} if table.number_texts else {}),
        "columns": {name: ddl_type(table.types[name]) for name in result.query.columns},
        "types_from": "definitions" if table.defined else "data",
        "numbers": {name: list(astuple(numbers)) for name, numbers in result.numbers.items()},
        "marks": result.query.marks,
        "operations": dict(sorted(stats.operations.items())),
        "order": str(result.query.ordering),
        "rows": counts.states[CURRENT] - counts.present,  # as of new files, less the rows deleted in others
        "deleted": counts.states[DELETED] if DELETED in query.keep else None,
        "unresolved": counts.states[UNRESOLVED],
        "defaults": counts.defaults.total() + counts.added.total(),
        "unset": _unset(counts),
        "unfit": dict(sorted(counts.unfit.items())),
        "contradictions": dict(sorted(counts.contradictions.items())),
        "timed": counts.timed,
        "buckets": result.buckets,
        "complete": result.is_complete,
        "without_time": stats.without_time,
        "without_position": stats.without_position,
        "first_time": _time(stats.first_time),
        "last_time": _time(stats.last_time),
        "first_position": stats.first_position,
        "last_position": result.last_position,
        "last_places": list(map(asdict, result.last_places)),
        "sources": {**stats.sources},
    }


def _set_aside(result: TableResult, aside: SetAside) -> dict[str, Any]:
    table = _table(result)
    kept = {"reason": str(aside.reason), "kept": aside.file.rows}
    # A wrong type in the options must not stay when it is left out.
    otherwise = {name: ddl_type(type) for name, type in result.table.chosen.items() if name in table["columns"]}
    return kept | {name: table[name] for name in _OF_SET_ASIDE} | {"columns": table["columns"] | otherwise}


def _unset(counts: RowCounts) -> dict[str, dict[str, int]]:
    causes = {"not_in_insert": counts.defaults, "added_later": counts.added}
    names = sorted({*counts.defaults, *counts.added})
    return {name: {cause: count[name] for cause, count in causes.items() if count[name]} for name in names}


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else moment.astimezone(timezone.utc).isoformat(timespec="microseconds")


def _entry(item: PublishedFile) -> dict[str, Any]:
    entry: dict[str, Any] = {"path": item.name, "table": item.result.table.name, "rows": item.file.rows}
    if item.what != "rows":
        entry[item.what] = entry.pop("rows")
    elif item.bucket is not None:
        entry["bucket"] = item.bucket
    return entry | {"bytes": item.file.size, "sha256": item.file.sha256}


def with_set_aside(document: Mapping[str, Any], before: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Return the manifest of a run with what earlier runs have set aside of other tables than `names`."""
    aside = {name: table for name, table in before.get(SET_ASIDE_MEMBER, {}).items() if name not in names}
    return {**document, SET_ASIDE_MEMBER: dict(sorted({**aside, **document[SET_ASIDE_MEMBER]}.items()))}


def summary_lines(document: dict[str, Any], whole: bool = False) -> Iterator[str]:
    """Yield what a run has made. `whole`: a line for each table, also if many have nothing but rows."""
    inputs, tables = document["inputs"], document["tables"].values()
    operations = sum(sum(table["operations"].values()) for table in tables)
    size, rows = sum(file["bytes"] for file in inputs), sum(table["rows"] for table in tables)
    yield f"Totals: {counted(operations, 'operation')} read from {counted(len(inputs), 'file')} ({size:,} bytes)"
    yield f"{counted(rows, 'row')} of {counted(len(tables), 'table')} in {document['seconds']:.1f} s"
    if document["skipped_records"]:
        tables, records = len(document["skipped_records"]), sum(document["skipped_records"].values())
        yield f"not selected: {counted(tables, 'table')}, {counted(records, 'record')}"
    if MAPPED_MEMBER in document:
        yield from account(Counter()).of_document(document[MAPPED_MEMBER]).lines
    if document["rejects"]:
        records = counted(sum(document["rejects"].values()), "record")
        yield f"set aside in `_rejects`: {records}; the rows may lack their changes"
    for name, aside in document[SET_ASIDE_MEMBER].items():
        yield f"{name}: {counted(aside['kept'], 'operation')} set aside for the next run; the rows lack them"
    for name, count in document.get(COMPACTED_MEMBER, {}).items():
        yield f"{name}: {counted(count, 'file')} became 1"
    plain: list[str] = []
    for name, table in document["tables"].items():
        parts = [counted(table["rows"], "row")]
        if table["deleted"]:
            parts.append(f"{table['deleted']:,} deleted")
        if table["unresolved"]:
            parts.append(f"{table['unresolved']:,} unresolved")
        if table["defaults"]:
            columns = ", ".join(f"{column} {sum(causes.values()):,}" for column, causes in table["unset"].items())
            parts.append(f"{counted(table['defaults'], 'value')} that no operation set ({columns})")
        if table["unfit"]:
            columns = ", ".join(f"{column} {count:,}" for column, count in table["unfit"].items())
            parts.append(f"{counted(sum(table['unfit'].values()), 'value')} that did not fit their type ({columns})")
        if wrong := table["contradictions"]:
            kinds = ", ".join(f"{what} {count:,}" for what, count in wrong.items())
            parts.append(f"{counted(sum(wrong.values()), 'operation')} that contradicted the row ({kinds})")
        order = table["order"] + ("; operations of one time are taken for a transaction" if table["timed"] else "")
        key = "" if table["key"] else "; no primary key: all columns identify a row, see `--key`"
        line = f"{name}: {', '.join(parts)}; in the order of {order}{key}"
        if len(parts) > 1 or key:
            yield line
        else:
            plain.append(line)
    if whole or len(plain) <= MAX_TABLES:
        yield from plain
    else:
        yield f"{counted(len(plain), 'table')} more, each with rows alone: `-v` shows them"


@dataclass(frozen=True)
class PreviousResult:
    document: Mapping[str, Any]
    _kept: dict[Any, KeptOperations] = field(default_factory=dict, init=False, repr=False, compare=False)

    def last_parts(self) -> dict[str, int]:
        """Return by directory, with case folded, the number of its last file."""
        last: dict[str, int] = {}
        for entry in self.document["files"]:
            directory, _, name = entry["path"].rpartition("/")
            key = folded(directory)
            last[key] = max(last.get(key, -1), int(name.partition(".")[0].rpartition("-")[2]))
        return last

    def table_files(self) -> list[str]:
        return [entry["path"] for entry in self.document["files"] if is_of_rows(entry)]

    def last_places(self, table: str) -> tuple[Place, ...]:
        """Return the last place of each log of a table whose operations were ordered by positions, with those set
        aside. An earlier ggfmt wrote the last position alone."""
        found = self.set_aside.get(table) or self.document["tables"].get(table)
        kind = None if found is None else Ordering.named(found["order"]).by
        if found is None or kind is None or found["last_position"] is None:
            return ()
        if "last_places" in found:
            return tuple(Place(**place) for place in found["last_places"])
        family = kind.families(pa.array([found["last_position"]]))[0].as_py()
        return (Place(found["last_position"], family),)

    def sources(self, table: str) -> dict[str, str]:
        found = self.set_aside.get(table) or self.document["tables"].get(table, {})
        return {**found.get("sources", {})}

    def is_complete(self, table: str) -> bool:
        return bool(self.document["tables"].get(table, {}).get("complete", False))

    @property
    def set_aside(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.document.get(SET_ASIDE_MEMBER, {})
        return found

    def pending(self, table: str) -> list[str]:
        """Return the files of unresolved and of kept operations of a table that a run reads, and replaces. An earlier
        ggfmt kept none, so that its unresolved operations stay."""
        if "complete" not in self.document["tables"].get(table, {}):
            return []
        entries = (entry for entry in self.document["files"] if entry["table"] == table)
        return [entry["path"] for entry in entries if not is_of_rows(entry)]

    def read_again(self, results: Sequence[TableResult]) -> list[str]:
        """Return the files of operations that a run has read, so that it replaces them."""
        aside = [name for result in results for name in self.paths(result.table.name, SET_ASIDE_MEMBER)]
        done = [result.table.name for result in results if result.aside is None]
        return [*aside, *(path for name in done for path in self.pending(name) if path not in aside)]

    def paths(self, table: str, what: str) -> list[str]:
        return [entry["path"] for entry in self.document["files"] if entry["table"] == table and what in entry]

    def kept(self, table: RowTable, output: Location, before: int = 0) -> KeptOperations:
        """Return the operations that earlier runs have kept. `before`: as `load_kept`."""
        place = table.name, before, staged_schema(table)
        if place not in self._kept:
            paths = self.paths(table.name, "kept")
            order = self.document["tables"][table.name]["order"] if paths else ""
            self._kept[place] = load_kept(list(map(output.child, paths)), table, Ordering.named(order), before)
        return self._kept[place]

    def load_set_aside(self, table: RowTable, output: Location) -> KeptOperations:
        """Return the operations of a table that the last run has set aside, with truncates."""
        ordering = Ordering.named(self.set_aside[table.name]["order"])
        return load_kept(list(map(output.child, self.paths(table.name, SET_ASIDE_MEMBER))), table, ordering)

    def free_keys(self, table: str, output: Location, kept: KeptOperations) -> pa.UInt64Array | None:
        """Return the hashes of keys of a table without a row before kept operations; None if they are not known."""
        paths = self.paths(table, "free")
        return load_free_keys(list(map(output.child, paths)), kept) if paths else None

    def merged(
        self,
        document: dict[str, Any],
        results: Sequence[TableResult],
        gone: set[str],
        changed: Mapping[str, Mapping[str, Any]],
    ) -> dict[str, Any]:
        """Return the manifest of a run with what stays of this one. `gone`: replaced files; `changed`: by old name the
        new members of files that stay."""
        tables = dict(self.document["tables"])
        removed: Counter[str] = Counter()
        kept = {entry["table"] for entry in self.document["files"] if entry["path"] not in gone and is_of_rows(entry)}
        for entry in self.document["files"]:
            if entry["path"] in gone and is_of_rows(entry):
                removed[entry["table"]] += entry.get("rows", 0)
        for result in results:
            name = result.table.name
            table = document["tables"][name]
            before = tables.get(name, {"rows": 0, "unresolved": 0, "defaults": 0, "unset": {}})
            if name not in kept:  # also an earlier layout, which does not count the rows of a file
                before, removed[name] = {**before, "rows": 0}, 0
            if result.stats.truncates:
                before = {**before, "defaults": 0, "unset": {}, "unfit": {}}
            if "complete" in before:  # all unresolved operations have been read again
                before = {**before, "unresolved": 0}
            rows = before["rows"] - removed[name] + table["rows"]
            counts = {what: before[what] + table[what] for what in ("unresolved", "defaults")}
            unset = {column: Counter(causes) for column, causes in before.get("unset", {}).items()}
            for column, causes in table["unset"].items():
                unset[column] = unset.get(column, Counter()) + Counter(causes)
            unfit = Counter(before.get("unfit", {})) + Counter(table["unfit"])
            tables[name] = {**table, **counts, "rows": rows, "unset": unset, "unfit": dict(sorted(unfit.items()))}
        stay = [entry for entry in self.document["files"] if entry["path"] not in gone]
        stay = [{**entry, **changed.get(entry["path"], {})} for entry in stay]
        return {**document, "tables": dict(sorted(tables.items())), "files": [*stay, *document["files"]]}
