"""Publication of a run: final names, schemas, the manifest, and the commit."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

import pyarrow as pa

from ggfmt.commit.commit import CommitPart, commit, write_errors_stop
from ggfmt.commit.directory import OutputDirectory
from ggfmt.commit.names import FileLocation, folded, reject_file, safe_file_name, stamp
from ggfmt.commit.records import LAYOUT, MANIFEST, as_bytes, earlier_manifest, records, run_file, without_replaced
from ggfmt.diagnostics.diagnostic import without_credentials
from ggfmt.engine import Run
from ggfmt.location import Location
from ggfmt.model.table import TableDef
from ggfmt.options.releases import manual_name
from ggfmt.reading.tasks import StagedFile
from ggfmt.sinks.messages import report
from ggfmt.sinks.messages.execution import RunResults
from ggfmt.sinks.messages.layout import Partition, event_name_conflict_error, file_name_conflict_error
from ggfmt.sinks.messages.pipeline import HandlerOutput
from ggfmt.version import VERSION

MIN_DIGITS = 5

Replaced = Mapping[OutputDirectory, Sequence[str]]  # by output directory, the files that a run replaces


@dataclass(frozen=True)
class NamedFile:
    file: StagedFile
    target: HandlerOutput
    name: str

    @property
    def root(self) -> Location:
        return self.target.root_of(self.file.event)


class FileNamer:
    """Final names, below an output directory, of the files of one run.

    Parts are counted from 0 for each table, with as many digits as the last one needs, so that names in order are parts
    in order. Tables whose names differ in case only are counted together, for the disks that take them for one. Taken
    names are left out where there can be some: if a run `appends` by templates, or at the `same_time` as an earlier
    one.
    """

    def __init__(self, outputs: Sequence[OutputDirectory], moment: datetime, appends: bool, same_time: bool) -> None:
        self._outputs = {output.root: output for output in outputs}
        self._stamp = stamp(moment)
        self._appends = appends
        self._same_time = appends and same_time
        # by location the event handler, and the table or partition
        self._owners: dict[tuple[Location, str, FileLocation], tuple[str, tuple[str, Partition]]] = {}
        self._taken: dict[tuple[Location, str], set[str]] = {}

    def names(self, files: Sequence[tuple[StagedFile, HandlerOutput]]) -> Iterator[NamedFile]:
        counts = Counter(self._series(*item) for item in files)
        parts: dict[str, int] = {}
        for file, target in files:
            series = self._series(file, target)
            self._check_alone(file, target)
            digits = max(MIN_DIGITS, len(str(counts[series] - 1)))
            while True:
                part = parts[series] = parts.get(series, -1) + 1
                if file.place is None:
                    name = reject_file(file.table, self._stamp, part, digits)
                else:
                    name = file.place.numbered(part, digits)
                named = NamedFile(file, target, f"{target.handler}/{name}")
                if not self._is_taken(named):
                    yield named
                    break

    @staticmethod
    def _series(file: StagedFile, target: HandlerOutput) -> str:
        by_place = target.layout.has_templates or target.has_chain
        name = file.place.path if file.place is not None and by_place else file.table
        kind = "rejects" if file.place is None else "data"
        return folded("/".join((target.root_of(file.event).address, target.handler, kind, name)))

    def _check_alone(self, file: StagedFile, target: HandlerOutput) -> None:
        """Raises: Abend GG514 if another table or partition already has the location of the file."""
        if file.place is not None:
            own = file.table, file.partition
            place = target.root_of(file.event), target.handler, file.place
            event, first = self._owners.setdefault(place, (file.event, own))
            if event != file.event:
                raise event_name_conflict_error(event, file.event, file.place.path)
            if first != own:
                raise file_name_conflict_error(first, own, target.layout.columns(file.table), file.place.path)

    def _is_taken(self, named: NamedFile) -> bool:
        root, templates = named.root, named.target.layout.has_templates or named.target.has_chain
        if not (self._same_time or (self._appends and templates)):
            return False
        directory, _, last = named.name.rpartition("/")
        if (root, directory) not in self._taken:
            self._taken[root, directory] = set(map(folded, self._outputs[root].store.names(directory)))
        return folded(last) in self._taken[root, directory]


def publish(
    run: Run, replaced: Replaced, results: RunResults, others: Sequence[CommitPart]
) -> dict[str, dict[str, Any]]:
    """Commit the staged files of a run together with `others`; return the manifests by output directory.

    Raises: Abend if nothing was committed; CommittedWithErrors GG506 if an error interrupted a decided commit, which
    the next run completes.
    """
    outputs = list(replaced)
    with write_errors_stop(outputs[0].root):
        named = _named(run, outputs, results)
        schemas = list(_schema_files(results.job.targets, results.definitions, run.moment))
        described, targets = _describe(run, results), results.job.targets
        manifests = {output: _manifest(output, named, schemas, described) for output in outputs}
        parts = [_part(output, replaced[output], targets, named, schemas, manifests[output]) for output in outputs]
        commit(results.job.run, [*parts, *others])
    return {output.root.address: manifest for output, manifest in manifests.items()}


def _named(run: Run, outputs: Sequence[OutputDirectory], results: RunResults) -> list[NamedFile]:
    # The clock's time is after that of all earlier runs; one that was given may be that of an earlier run.
    same_time = results.job.current_timestamp is not None
    naming = FileNamer(outputs, run.moment, run.mode == "append", same_time)
    targets = {target.handler: target for target in results.job.targets}
    return list(naming.names([(file, targets[file.handler]) for file in (*results.files, *results.rejects)]))


def _part(
    output: OutputDirectory,
    replaced: Sequence[str],
    targets: Sequence[HandlerOutput],
    named: Sequence[NamedFile],
    schemas: Sequence[PublishedSchema],
    manifest: dict[str, Any],
) -> CommitPart:
    part = CommitPart(output, deletes=list(replaced))
    for item in named:
        if item.root == output.root:
            part.moves.append(output.move(item.file.location, item.name, item.file.size, item.file.sha256))
    own = [schema for schema in schemas if schema.root == output.root]
    inside = {schema.inside: schema.content for schema in own if schema.inside is not None}
    handlers = {target.handler for target in targets if output.root in target.roots}
    documents = list(_earlier_records(part, manifest["mode"], handlers, set(inside)))
    part.moves += output.stage(inside.items())
    outside = {(schema.directory, schema.name): schema.content for schema in own if schema.inside is None}
    staged = output.stage((name, content) for (_, name), content in outside.items())
    part.copies += [(directory, move) for (directory, _), move in zip(outside, staged, strict=True)]
    text = as_bytes(manifest)
    part.moves += output.stage([*documents, (run_file(manifest["run"]), text), (MANIFEST, text)])
    return part


def _earlier_records(part: CommitPart, mode: str, handlers: set[str], schemas: set[str]) -> Iterator[tuple[str, bytes]]:
    """Yield the records that list replaced files, to write again; delete those without remaining files."""
    store = part.participant.store
    if mode != "overwrite":
        earlier = earlier_manifest(store)
        if earlier is not None:
            yield earlier.name, as_bytes(earlier.document)
        return
    for record in records(store):
        if record.is_kept and not record.lists(store, handlers, schemas):
            continue
        content = without_replaced(record, store, handlers, schemas)
        if content is not None:
            yield record.name, content
        elif record.is_kept:
            part.deletes.append(record.name)


def _manifest(
    output: OutputDirectory, named: Sequence[NamedFile], schemas: Sequence[PublishedSchema], described: dict[str, Any]
) -> dict[str, Any]:
    """Return the manifest of a run for an output directory: paths within it are relative, others absolute."""

    def path(root: Location, name: str) -> str:
        return name if root == output.root else root.show(name)

    files = [_entry(item.file, path(item.root, item.name)) for item in named]
    listed = {}
    for schema in schemas:
        place = schema.inside
        shown = schema.directory.show(schema.name) if place is None else path(schema.root, place)
        listed[shown] = {"path": shown, "bytes": len(schema.content), "sha256": sha256(schema.content).hexdigest()}
    return {**described, "files": files, "schemas": list(listed.values())}


def _entry(file: StagedFile, path: str) -> dict[str, Any]:
    is_reject = file.place is None
    entry: dict[str, Any] = {"handler": file.handler, "path": path}
    if file.event:
        entry["event_handler"] = file.event
    entry |= {"rejects": file.operations} if is_reject else {"table": file.table, "operations": file.operations}
    entry |= {"bytes": file.size, "sha256": file.sha256}
    if not is_reject:
        entry |= {"first_position": file.first_position, "last_position": file.last_position}
    return entry


def _describe(run: Run, results: RunResults) -> dict[str, Any]:
    job, release, goldengate = results.job, results.job.release, {}
    if release is not None:
        goldengate = {"goldengate": {"release": manual_name(release.release), "reason": release.reason}}
    return {
        "ggfmt": VERSION,
        "layout": LAYOUT,
        "versions": {"python": platform.python_version(), "pyarrow": pa.__version__},
        "run": job.run,
        "time": stamp(run.moment),
        "mode": run.mode,
        "input_format": job.input_format,
        **goldengate,
        "inputs": [{"path": without_credentials(file.shown), "bytes": file.size} for file in run.files],
        "handlers": {target.handler: _configuration(target) for target in job.targets},
        "totals": report.as_document(results.totals),
    }


def _configuration(target: HandlerOutput) -> dict[str, Any]:
    settings = target.settings
    options = {spec.name: spec.kind.render(value) for spec, value in settings.options.non_defaults()}
    return {"format": settings.format, "includeTokens": settings.context.include_tokens, "options": options}


@dataclass(frozen=True)
class PublishedSchema:
    root: Location
    directory: Location
    name: str
    content: bytes

    @property
    def inside(self) -> str | None:
        """Return its name below the output directory; None if it is outside."""
        return self.directory.child(self.name).name_below(self.root)


def _schema_files(
    targets: Sequence[HandlerOutput], tables: Sequence[TableDef], moment: datetime
) -> Iterator[PublishedSchema]:
    """Yield the schemas of all definitions; the last of a table counts, `versionSchemas` keeps a copy of each."""
    for target in targets:
        directories = target.schema_directories
        for number, table in enumerate(tables if directories else ()):
            version = stamp(moment + timedelta(milliseconds=number))
            for schema in target.settings.schema_files(table):
                names = [schema.name]
                versions = getattr(target.settings.options, "version_schemas", False)
                if versions and schema.name.startswith(table.full_name):
                    names.append(schema.name.replace(table.full_name, f"{table.full_name}_{version}", 1))
                for directory in directories:
                    for name in names:
                        yield PublishedSchema(target.root, directory, safe_file_name(name), schema.content)
