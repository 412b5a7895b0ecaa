"""The record of what committed runs have left in an output directory: for each run that still has files there its
manifest, as `_ggfmt/runs/<run>.json`. `_ggfmt/manifest.json` is that of the latest run.

They are read one at a time: there may be thousands.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ggfmt.commit.journal import damaged, is_below, read_document
from ggfmt.commit.names import METADATA_DIRECTORY
from ggfmt.commit.store import FAILURES, Store
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic, Span, UsageError
from ggfmt.location import Location

MANIFEST = f"{METADATA_DIRECTORY}/manifest.json"
RUNS = f"{METADATA_DIRECTORY}/runs"
CONSOLIDATION_MEMBER = "consolidated"  # the member of the manifest of a consolidation that tells what was asked


@dataclass(frozen=True)
class RunRecord:
    """The manifest of a committed run. `is_kept` is False for one that was read from `manifest.json`, which is
    all that an earlier ggfmt left."""

    name: str
    document: dict[str, Any]
    is_kept: bool = True

    @property
    def place(self) -> str:
        """Where it is in its output directory."""
        return self.name if self.is_kept else MANIFEST

    def files(self, store: Store) -> Iterator[tuple[str, dict[str, Any]]]:
        """The files of messages and rejects that are in this output directory, by name."""
        yield from self._named(store, "files")

    def schemas(self, store: Store) -> Iterator[tuple[str, dict[str, Any]]]:
        yield from self._named(store, "schemas")

    def lists(self, store: Store, handlers: Collection[str], schemas: Collection[str]) -> bool:
        """Whether it lists a file of one of the handlers, or one of the schemas."""
        files = any(entry.get("handler") in handlers for _, entry in self.files(store))
        return files or any(name in schemas for name, _ in self.schemas(store))

    def _named(self, store: Store, member: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Entries with a relative path; those with an absolute one are in other directories, unless a manifest of an
        earlier ggfmt calls this one by its absolute path."""
        absolute = f"{store.root.address}/"
        for entry in self.document.get(member, []):
            name = entry["path"].removeprefix(absolute)
            if is_below(name) and "://" not in name:
                yield name, entry


@contextmanager
def output_to_read(root: str) -> Iterator[Store]:
    """Open the output directory that a user names, to read it. Abend GG506 for what of it cannot be read."""
    try:
        yield Store(Location.of(root))
    except FAILURES as error:
        reason = getattr(error, "strerror", None) or str(error).split("\n", 1)[0]
        message = f"the output directory cannot be read: {reason}"
        raise Abend(Diagnostic("GG506", message, Span(file=root), getattr(error, "help", None))) from None


def no_output(root: str) -> UsageError:
    message = "this is not an output of ggfmt: it has no `_ggfmt/manifest.json`"
    return UsageError(Diagnostic("GG310", message, Span(file=root), "give the directory that `-o` named"))


def records(store: Store) -> Iterator[RunRecord]:
    """The records of an output directory, in the order of the ids of their runs. Abend GG509 for a damaged one."""
    names = store.names(RUNS)
    latest = _manifest(store, MANIFEST)
    if latest is not None and run_file(latest.get("run")) not in {f"{RUNS}/{name}" for name in names}:
        yield RunRecord(run_file(latest.get("run")), latest, is_kept=False)
    del latest
    for name in names:
        document = _manifest(store, f"{RUNS}/{name}")
        if document is not None:
            yield RunRecord(f"{RUNS}/{name}", document)


def kept_runs(store: Store) -> list[str]:
    """The ids of the runs that have a record, in order."""
    return [name.removesuffix(".json") for name in store.names(RUNS) if name.endswith(".json")]


def latest_record(store: Store) -> RunRecord | None:
    """The record of the latest run. Abend GG509 for a damaged one."""
    document = _manifest(store, MANIFEST)
    if document is not None:
        return RunRecord(run_file(document.get("run")), document, is_kept=False)
    runs = kept_runs(store)
    return record_of(store, runs[-1]) if runs else None


def record_of(store: Store, run: str) -> RunRecord | None:
    """The record of a run; None if there is none. Abend GG509 for a damaged one."""
    document = _manifest(store, run_file(run))
    return None if document is None else RunRecord(run_file(run), document)


def earlier_manifest(store: Store) -> RunRecord | None:
    """The manifest of a run of an earlier ggfmt, which kept no records."""
    latest = _manifest(store, MANIFEST)
    if latest is None or store.exists(run_file(latest.get("run"))):
        return None
    return RunRecord(run_file(latest.get("run")), latest, is_kept=False)


def run_file(run: object) -> str:
    """Where the record of a run is; of a run that has no proper id, under a name that no other run has."""
    proper = isinstance(run, str) and is_below(run) and "/" not in run
    return f"{RUNS}/{run if proper else 'unknown'}.json"


def without_replaced(
    record: RunRecord, store: Store, handlers: Collection[str], schemas: Collection[str]
) -> bytes | None:
    """A record less the files of some handlers and less schemas that are written anew; None if no file remains."""
    gone = {id(entry) for _, entry in record.files(store) if entry.get("handler") in handlers}
    gone |= {id(entry) for name, entry in record.schemas(store) if name in schemas}
    lists = {
        member: [entry for entry in record.document.get(member, []) if id(entry) not in gone]
        for member in ("files", "schemas")
    }
    left = RunRecord(record.name, {**record.document, **lists})
    if not any(left.files(store)) and not any(left.schemas(store)):
        return None
    replaced = sorted({*record.document.get("replaced", []), *handlers})
    return as_bytes({**left.document, "replaced": replaced})


def as_bytes(document: dict[str, Any]) -> bytes:
    return json.dumps(document, indent=2, ensure_ascii=False).encode()


def _manifest(store: Store, name: str) -> dict[str, Any] | None:
    document = read_document(store, name)
    if document is not None:
        for member in ("files", "schemas"):
            entries = document.get(member, [])
            proper = isinstance(entries, list) and all(isinstance(entry, dict) for entry in entries)
            if not proper or not all(isinstance(entry.get("path"), str) for entry in entries):
                raise damaged(store, name, f"is damaged: `{member}` does not list files")
    return document
