"""A committed run as its output directory has it: its manifest, and examples of its rejected records.

It changes nothing and locks nothing. Apart from the manifest, it reads a bounded part of the output.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import msgspec

from ggfmt.commit import records
from ggfmt.commit.store import FAILURES, Store
from ggfmt.dataclasses import dataclass, replace
from ggfmt.diagnostics.diagnostic import Span, UsageError, list_names
from ggfmt.location import Location
from ggfmt.reading.rejects import REASONS, RejectedRecord
from ggfmt.version import VERSION

MAX_EXAMPLES = 3  # of each code that a handler set records aside for
MAX_REASON_FILES = 16
REASON_BYTES = 1 << 18  # of each of them
_RUNS_NAMED = 5


@dataclass(frozen=True)
class PastRun:
    """A run with the first rejects of each handler and code; `runs` counts those of the directory with a record."""

    root: str
    manifest: records.Manifest
    rejects: tuple[RejectedRecord, ...]
    runs: int


def read_run(root: str, run: str | None = None) -> PastRun:
    """Read a run by its id or the start of it, the latest by default.

    Raises: UsageError GG310 if the directory is no output, GG560 if there is no such run; Abend GG506 if it cannot be
    read, GG509, GG561 or GG562 for a manifest that cannot be understood.
    """
    with records.output_to_read(root) as store:
        record = records.latest_record(store)
        if record is None:
            raise records.no_output(root)
        runs = records.kept_runs(store)
        if run is not None and record.document.get("run") != run:
            record = _record_of(store, root, run, runs)
        manifest = records.manifest_of(record.document, Span(file=store.shown(record.place)))
        return PastRun(root, manifest, tuple(_rejects(store, record)), max(len(runs), 1))


def run_of(root: str, document: Mapping[str, Any], totals: Mapping[str, Any] | None = None) -> PastRun:
    """Return a run that has just ended, by its manifest; one of topics, or of no output, has its `totals` alone."""
    known = {"ggfmt": VERSION, "run": "", **document, "totals": document.get("totals") if totals is None else totals}
    manifest = records.manifest_of(known, Span(file=root))
    rejects: list[RejectedRecord] = []
    if any(file.rejects for file in manifest.files):
        with suppress(*FAILURES):  # the run is committed all the same
            rejects += _rejects(Store(Location.of(root)), records.RunRecord("", dict(known)))
    return PastRun(root, manifest, tuple(rejects), 1)


def _record_of(store: Store, root: str, run: str, runs: list[str]) -> records.RunRecord:
    found = [name for name in runs if name == run] or [name for name in runs if run and name.startswith(run)]
    record = records.record_of(store, found[0]) if len(found) == 1 else None
    if record is not None:
        return record
    last = list_names((found or runs)[-_RUNS_NAMED:])
    if len(found) > 1:
        message = f"{len(found):,} runs start with `{run}`"
        help = f"give the full name of one run; the latest are {last}"
    else:
        message = f"run `{run}` not found in this output"
        help = f"choose one of the latest runs: {last}" if last else "leave out the run: the output has one run"
    raise UsageError("GG560", message, root, help)


def _rejects(store: Store, record: records.RunRecord) -> Iterator[RejectedRecord]:
    seen: Counter[tuple[str, str]] = Counter()
    names = [
        (name, str(entry.get("handler") or "")) for name, entry in record.files(store) if name.endswith(f".{REASONS}")
    ]
    for name, handler in names[:MAX_REASON_FILES]:
        for line in _first_lines(store, name):
            try:
                found = msgspec.json.decode(line, type=RejectedRecord)
            except (msgspec.DecodeError, UnicodeDecodeError):
                continue
            seen[handler, found.code] += 1
            if seen[handler, found.code] <= MAX_EXAMPLES:
                yield replace(found, handler=handler)


def _first_lines(store: Store, name: str) -> list[bytes]:
    """Return the complete lines at the start of a file; none behind a symbolic link."""
    if store.link_above(name) is not None or store.is_link(name):
        return []
    if store.size(name) is None:
        return []
    with store.open(name) as stream:
        lines = bytes(stream.read(REASON_BYTES)).split(b"\n")
    return lines[:-1]
