"""Outputs of ggfmt as input: their manifests say which files are messages, of which handler, and in which order."""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import unquote

import pyarrow.fs as pafs

from ggfmt.commit.journal import JOURNAL, POINTER
from ggfmt.commit.names import METADATA_DIRECTORY, RECORDS, counted
from ggfmt.commit.records import CONSOLIDATION_MEMBER, NEWER_LAYOUT_HELP, RunRecord, later_layout, records
from ggfmt.commit.store import FAILURES, Store
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic, Span
from ggfmt.java.text import visible
from ggfmt.location import Location, StoreError
from ggfmt.scan.files import InputFile

log = logging.getLogger("ggfmt")


class DiffersError(StoreError):
    """The files of an output are not those that its manifests list; a later look may find the commit complete."""


@dataclass(frozen=True)
class _Entry:
    """A file of messages as a manifest lists it. `place` orders the files of all runs; `format` is that of its run."""

    handler: str
    format: str
    size: int | None
    place: tuple[str, int, str]


@dataclass
class _Contents:
    """The files that the manifests of an output list, by name."""

    messages: dict[str, _Entry] = field(default_factory=dict)
    schemas: set[str] = field(default_factory=set)
    rejects: dict[str, int] = field(default_factory=dict)
    is_of_rows: bool = False

    @property
    def handlers(self) -> set[str]:
        return {entry.handler for entry in self.messages.values()}


@dataclass(frozen=True)
class CommittedOutput:
    """An output of ggfmt that is, or contains, a directory to read. `inside` is the path of the directory in the
    output, empty for the output itself."""

    root: Location
    inside: str

    def select(self, top: Location, files: Sequence[InputFile], named: bool, growing: bool = False) -> list[int]:
        """Return the places of the files of messages among `files`, which lie below `top`, in the order of the
        manifests. `named`: `top` is what the user named, not the start of a glob. `growing`: the caller looks again
        later, so that files that are not committed yet are no error.

        If the output itself is named, its manifests alone decide: DiffersError for a file that they do not list, or
        that is missing. Elsewhere in it, what is there is read, but for schemas. StoreError for messages of several
        handlers or formats, for rows, and for a commit that is not ended; Abend for a damaged manifest.
        """
        store = Store(self.root)
        shown = self.root.shown
        if not growing:
            _check_ended(store, shown)
        contents = _contents(store)
        if contents is None:
            return list(range(len(files)))
        whole = named and not self.inside
        names = {self._name(top, file): place for place, file in enumerate(files)}
        listed = {name: entry for name, entry in contents.messages.items() if name in names}
        others = [name for name in names if name not in listed and name not in contents.schemas]
        if contents.is_of_rows and (listed or whole):
            message = f"`{shown}` holds rows of `ggfmt consolidate`, not changes"
            raise StoreError(message, "name the changes that they were made of; `ggfmt compare` reads rows")
        if whole and not growing:
            _check_whole(store, contents, names, others)
        for name, entry in listed.items():
            size = files[names[name]].size
            if entry.size is not None and size != entry.size:
                message = f"`{store.shown(name)}` has {size:,} bytes, and {entry.size:,} by its manifest"
                raise DiffersError(message, "bring the file back; `ggfmt verify` checks the others too")
        _check_one_handler(self.root, listed.values())
        self._log_selection(shown, contents, listed, sum(name in contents.schemas for name in names))
        if whole:
            if others:
                message = "left for later, as no manifest of `%s` lists them yet: %s, such as `%s`"
                log.info(message, visible(shown), counted(len(others), "file"), visible(others[0]))
        elif others:  # whose place among the others is unknown
            return [place for name, place in names.items() if name not in contents.schemas]
        return [names[name] for name in sorted(listed, key=lambda name: listed[name].place)]

    def _name(self, top: Location, file: InputFile) -> str:
        """The name of a file below the output."""
        name = file.location.name_below(top)
        assert name is not None
        return "/".join(filter(None, (self.inside, name if top.is_local else unquote(name))))

    def _log_selection(self, shown: str, contents: _Contents, listed: Mapping[str, _Entry], schemas: int) -> None:
        start = f"{self.inside}/" if self.inside else ""
        rejects = sum(number for name, number in contents.rejects.items() if name.startswith(start))
        left = [counted(schemas, "schema")] if schemas else []
        left += [counted(rejects, "rejected record")] if rejects else []
        if listed:
            handler = next(iter(listed.values())).handler
            message = "`%s` is an output of ggfmt: %s of handler `%s`, in the order of its manifests"
            log.info(message, visible(shown), counted(len(listed), "file"), visible(handler))
        if left:
            level = logging.WARNING if rejects else logging.INFO
            log.log(level, "left out, of the output `%s`: %s", visible(shown), " and ".join(left))


def output_at(path: str) -> CommittedOutput | None:
    """Return the output of ggfmt that is, or contains, a local directory; None if there is none."""
    top = root = os.path.realpath(path)
    while not os.path.isdir(os.path.join(root, METADATA_DIRECTORY)):
        if root == os.path.dirname(root):
            return None
        root = os.path.dirname(root)
    return CommittedOutput(Location.local(root), os.path.relpath(top, root) if top != root else "")


def stored_output_at(top: Location) -> CommittedOutput | None:
    """Return the output of ggfmt that is, or contains, a directory of a store; None if there is none."""
    root: Location | None = top
    inside: list[str] = []
    while root is not None:
        try:
            info = root.child(METADATA_DIRECTORY).info()
        except FAILURES:  # the user may be allowed to read only the input
            return None
        if info.type == pafs.FileType.Directory:
            return CommittedOutput(root, "/".join(inside))
        inside.insert(0, root.name)
        root = root.parent
    return None


def _check_ended(store: Store, shown: str) -> None:
    for name in (JOURNAL, POINTER):
        if store.exists(name):
            help = "wait for the run that is at work; if there is none, run ggfmt to this output again, which ends it"
            raise DiffersError(f"the commit of a run to `{shown}` is not ended", help)


def _check_whole(store: Store, contents: _Contents, names: Mapping[str, int], others: Sequence[str]) -> None:
    """DiffersError unless the files of an output are those that its manifests list."""
    handlers = ", ".join(f"`{store.shown(handler)}`" for handler in sorted(contents.handlers)) or "its files"
    if others:
        message = f"no manifest of the output lists `{store.shown(others[0])}`"
        if len(others) > 1:
            message += f" and {counted(len(others) - 1, 'other file')}"
        help = f"name what is to be read: {handlers}, or the other files; or move them out of the output"
        raise DiffersError(message, help)
    missing = [name for name in contents.messages if name not in names]
    if missing:
        message = f"`{store.shown(missing[0])}` is not there"
        if len(missing) > 1:
            message += f", nor {'is' if len(missing) == 2 else 'are'} {counted(len(missing) - 1, 'other file')}"
        help = f"bring it back; to read the files that are there, name {handlers}"
        raise DiffersError(f"{message}, which the manifests of the output list", help)


def _check_one_handler(root: Location, listed: Collection[_Entry]) -> None:
    """StoreError for messages of several handlers, each of which has all operations, and for several formats."""
    handlers = sorted({entry.handler for entry in listed})
    if len(handlers) > 1:
        names = ", ".join(f"`{handler}`" for handler in handlers)
        message = f"`{root.shown}` has the messages of {len(handlers)} handlers, each with all operations: {names}"
        raise StoreError(message, f"name the directory of one of them, such as `{root.show(handlers[0])}`")
    formats = sorted({entry.format for entry in listed if entry.format})
    if len(formats) > 1:
        names = ", ".join(f"`{name}`" for name in formats)
        message = f"handler `{handlers[0]}` has written files of several formats to `{root.shown}`: {names}"
        raise StoreError(message, "name the files of one format, by their directories or by a glob")


def _contents(store: Store) -> _Contents | None:
    """The files that all records of an output list; None if it has no record."""
    found = _Contents()
    runs: Counter[str] = Counter()
    for record in records(store):
        later = later_layout(record.document)
        if later is not None:
            raise Abend(Diagnostic("GG561", later, Span(file=store.shown(record.place)), NEWER_LAYOUT_HELP))
        stamp = str(record.document.get("time") or record.document.get("run"))
        runs[stamp] += 1
        _add(found, record, store, stamp)
    # The numbers of files order two runs of one time; the ids of the runs do not.
    for name, entry in found.messages.items():
        if runs[entry.place[0]] > 1:
            found.messages[name] = replace(entry, place=(entry.place[0], 0, name))
    return found if runs else None


def _add(found: _Contents, record: RunRecord, store: Store, stamp: str) -> None:
    """Add what one record lists."""
    found.schemas.update(name for name, _ in record.schemas(store))
    found.is_of_rows |= CONSOLIDATION_MEMBER in record.document
    about = record.document.get("handlers")
    handlers = about if isinstance(about, dict) else {}
    for number, (name, entry) in enumerate(record.files(store)):
        if "table" in entry:
            handler, size = str(entry.get("handler")), entry.get("bytes")
            settings = handlers.get(handler)
            format = str(settings.get("format", "")) if isinstance(settings, dict) else ""
            place = stamp, number, name
            found.messages[name] = _Entry(handler, format, size if isinstance(size, int) else None, place)
        elif name.endswith(f".{RECORDS}"):
            found.rejects[name] = int(entry.get("rejects", 0))
