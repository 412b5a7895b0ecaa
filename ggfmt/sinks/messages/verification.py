"""Verification of an output: each file against its manifest, the counts, and files that no manifest lists.

It changes nothing and locks nothing: the staged files of an active run are reported.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ggfmt.commit import records as run_records
from ggfmt.commit.commit import LINK_HELP, LINK_MESSAGE
from ggfmt.commit.directory import output_files
from ggfmt.commit.journal import COMMITS, JOURNAL, POINTER, ROUND, STAGING
from ggfmt.commit.locking import LEASES, LOCK
from ggfmt.commit.names import METADATA_DIRECTORY, SUCCESS_FILE
from ggfmt.commit.store import Store
from ggfmt.commit.versions import VERSIONS
from ggfmt.dataclasses import dataclass, field
from ggfmt.diagnostics.diagnostic import Diagnostic, GgfmtError, Span

_RERUN_HELP = "restore the file from a copy, or run again with `--mode overwrite`"
_READS_AT_ONCE = 16
_NEXT_RUN = "wait for the active run; if no run is active, the next run to this directory finishes or removes it"


@dataclass
class Verification:
    """What an output holds: `messages` by handler and table, as manifests have them. `words` name these and files."""

    words: tuple[str, str, str] = ("handler", "table", "file")
    runs: int = 0
    files: int = 0
    size: int = 0
    messages: Counter[tuple[str, str]] = field(default_factory=Counter)
    rejects: Counter[str] = field(default_factory=Counter)
    findings: list[Diagnostic] = field(default_factory=list)


def verify(root: str) -> Verification:
    """Verify an output directory. Raises: UsageError GG310 if there is none, Abend GG506 if it cannot be read."""
    with run_records.output_to_read(root) as store:
        return _verify(store, root)


def _verify(store: Store, root: str) -> Verification:
    found = Verification()
    left = list(_left_over(store))
    if not store.exists(run_records.MANIFEST) and not store.exists(run_records.RUNS) and not left:
        raise run_records.no_output(root)
    found.findings += left
    listed: dict[str, set[tuple[int, str]]] = {}
    has_tables = False
    try:
        for record in run_records.records(store):
            found.runs += 1
            place = Span(file=store.shown(record.place))
            later = run_records.later_layout(record.document)
            if later is not None:
                found.findings.append(Diagnostic("GG561", later, place, run_records.NEWER_LAYOUT_HELP))
                continue
            counts = _Counts(record.document.get("files", []))
            found.findings += (Diagnostic("GG510", text, place) for text in _sums(record.document, counts))
            has_tables |= run_records.LAKE_MEMBER in record.document
            here = []
            for name, entry in record.files(store):
                if run_records.LAKE_MEMBER in record.document and "sha256" not in entry:
                    continue  # another program wrote the file
                found.files += 1
                listed.setdefault(name, set()).add(_expected(entry))
                if "handler" in entry:  # no rows of a consolidation
                    here.append(entry)
            own = _Counts(here)
            found.rejects += own.rejects
            for handler in own.stages:
                for table, count in own.messages(handler, counts.first(handler)).items():
                    found.messages[handler, str(table)] += count
            for name, entry in record.schemas(store):
                listed.setdefault(name, set()).add(_expected(entry))
    except GgfmtError as error:
        found.findings += error.diagnostics
    present = dict.fromkeys(output_files(store))
    if has_tables:  # which have files of their versions, and logs
        present = {name: None for name in present if name in listed}
    found.findings += _compare(store, listed, present, found)
    if found.runs and not store.exists(SUCCESS_FILE):
        found.findings.append(_as_listed(store, SUCCESS_FILE, "the file that marks the output as complete is missing"))
    return found


def _expected(entry: dict[str, Any]) -> tuple[int, str]:
    return int(entry.get("bytes", -1)), str(entry.get("sha256"))


def _left_over(store: Store) -> Iterator[Diagnostic]:
    for name, what in (
        (JOURNAL, "the commit of a run is not finished"),
        (POINTER, "the commit of a run that writes to several directories is not finished"),
        (ROUND, "a run was interrupted between the commits of two tables"),
    ):
        if store.size(name) is not None:
            yield Diagnostic("GG511", what, store.shown(name), _NEXT_RUN)
    records = (run_records.MANIFEST, run_records.RUNS)
    own = (*records, LOCK, LEASES, JOURNAL, POINTER, ROUND, STAGING, COMMITS, VERSIONS)
    known = {name.rpartition("/")[2] for name in own}
    for name in store.names(METADATA_DIRECTORY):
        if name not in known:
            place = store.shown(METADATA_DIRECTORY, name)
            yield Diagnostic("GG511", "the file does not belong to ggfmt", place, "move it away")
    for directory in (STAGING, COMMITS):
        for name in store.names(directory):
            place = store.shown(f"{directory}/{name}")
            yield Diagnostic("GG511", "a run is active, or was interrupted", place, _NEXT_RUN)


def _compare(
    store: Store, listed: dict[str, set[tuple[int, str]]], present: Iterable[str], found: Verification
) -> Iterator[Diagnostic]:
    there = set(present)
    for name in sorted(there - listed.keys()):
        if store.is_link(name):
            yield Diagnostic("GG511", LINK_MESSAGE, store.shown(name), LINK_HELP)
        else:
            help = "move the file away, unless you need it here"
            yield Diagnostic("GG511", "no manifest lists this file", store.shown(name), help)
    for name in sorted(listed.keys() - there):
        yield _as_listed(store, name, "a file in the manifest is missing")
    waiting = sorted(listed.keys() & there)
    at_once = (os.cpu_count() or 1) if store.local else _READS_AT_ONCE
    with ThreadPoolExecutor(at_once) as pool:
        for size, finding in pool.map(lambda name: _read_back(store, name, listed[name]), waiting):
            found.size += size
            if finding is not None:
                yield finding


def _read_back(store: Store, name: str, expected: set[tuple[int, str]]) -> tuple[int, Diagnostic | None]:
    size = store.size(name) or 0
    sizes = {size for size, _ in expected}
    if size not in sizes:
        wanted = " or ".join(f"{size:,}" for size in sorted(sizes))
        return size, _as_listed(store, name, f"a file has {size:,} bytes, but its manifest lists {wanted}")
    if (size, store.digest(name)) not in expected:
        return size, _as_listed(
            store, name, "the content of a file differs from its manifest: the SHA-256 is different"
        )
    return size, None


def _as_listed(store: Store, name: str, message: str) -> Diagnostic:
    return Diagnostic("GG510", message, store.shown(name), _RERUN_HELP)


class _Counts:
    """What entries of a manifest count: the operations by table of each handler and event handler (None: the File
    Writer), and rejects. Of a handler, the first that made files counts."""

    def __init__(self, entries: Iterable[dict[str, Any]]) -> None:
        self.stages: dict[str, dict[Any, Counter[Any]]] = {}
        self.rejects: Counter[str] = Counter()
        for entry in entries:
            handler = str(entry.get("handler"))
            if "table" in entry:
                stages = self.stages.setdefault(handler, {})
                stages.setdefault(entry.get("event_handler"), Counter())[entry["table"]] += entry.get("operations", 0)
            elif entry["path"].endswith(".records"):
                self.rejects[handler] += entry.get("rejects", 0)

    def first(self, handler: str) -> Any:
        return next(iter(self.stages.get(handler, ())), None)

    def messages(self, handler: str, event: Any) -> Counter[Any]:
        return self.stages.get(handler, {}).get(event, Counter())


def _sums(document: dict[str, Any], found: _Counts) -> Iterator[str]:
    """Yield the differences between the files of a run and its totals, unless later runs replaced them."""
    totals = document.get("totals", {})
    for handler, stages in found.stages.items():
        for event, own in stages.items():
            if own != stages[found.first(handler)]:
                yield (
                    f"handler {handler}: the files of the event handler {event} hold other operations than the files "
                    "before it"
                )
    operations = {table: sum(kinds.values()) for table, kinds in totals.get("operations", {}).items()}
    read = totals.get("operations_read", 0)
    if sum(operations.values()) != read:
        yield f"all tables together have {sum(operations.values()):,} operations, but {read:,} were read"
    if "operations_by_time" in totals:  # earlier versions did not write it
        by_time = totals["operations_by_time"]
        counts_by_time = [*by_time["times"].values(), by_time["untimed"]]
        timed = sum(sum(kinds.values()) for kinds in counts_by_time)
        if timed != read:
            yield f"all times together have {timed:,} operations, but {read:,} were read"
    for handler, counts in totals.get("handlers", {}).items():
        if handler in document.get("replaced", []):
            continue
        by_table, rejects = found.messages(handler, found.first(handler)), found.rejects[handler]
        messages = by_table.total()
        if messages != counts["messages"]:
            yield f"handler {handler}: its files hold {messages:,} messages of {counts['messages']:,} written"
        rejected = sum(counts["rejects"].values())
        if rejects != rejected:
            yield f"handler {handler}: its files hold {rejects:,} rejects, but {rejected:,} were counted"
        left_out = counts.get("left_out", 0)  # earlier versions did not write it
        accounted = messages - counts["extra_messages"] + left_out + rejects
        records_read = read + totals.get("records_rejected_by_reader", 0)
        if accounted != records_read:
            yield f"handler {handler}: {records_read:,} records were read, but {accounted:,} are accounted for"
        if rejected or left_out or counts["extra_messages"] or not all(by_table):
            continue
        for table, count in operations.items():
            if by_table[table] != count:
                yield f"handler {handler}, table {table}: {by_table[table]:,} messages for {count:,} operations"
