"""From staged files to a committed run: names, manifest, schemas."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa

from ggfmt import __version__
from ggfmt.diagnostics.credentials import without_credentials
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic, Span
from ggfmt.engine import report
from ggfmt.engine.execution import RunResults
from ggfmt.engine.files import child
from ggfmt.engine.output import commit
from ggfmt.engine.output.commit import Journal, OutputDirectory
from ggfmt.engine.output.names import data_file, reject_file, safe_name, stamp
from ggfmt.engine.output.staging import StagedFile
from ggfmt.engine.plan import HandlerOutput
from ggfmt.engine.preparation import PreparedRun
from ggfmt.model.table import TableDef


class Naming:
    """Final names, below an output directory, of the files of one run.

    Parts are counted from 0 for each table; under `append`, numbers that files with the same stamp have already are
    left out.
    """

    def __init__(self, outputs: Sequence[OutputDirectory], moment: datetime, append: bool) -> None:
        self._outputs = {output.root: output for output in outputs}
        self._stamp = stamp(moment)
        self._append = append
        self._taken: dict[tuple[str, str], set[str]] = {}
        self._parts: dict[tuple[str, str, bool], int] = {}

    def name(self, file: StagedFile, target: HandlerOutput, is_reject: bool) -> str:
        key = (file.handler, file.table, is_reject)
        while True:
            part = self._parts[key] = self._parts.get(key, -1) + 1
            if is_reject:
                below = reject_file(file.table, self._stamp, part)
            else:
                below = data_file(file.table, self._stamp, part, target.suffix)
            directory, _, name = f"{target.handler}/{below}".rpartition("/")
            if not self._append or name not in self._existing(target.root, directory):
                return f"{directory}/{name}"

    def _existing(self, root: str, directory: str) -> set[str]:
        if (root, directory) not in self._taken:
            self._taken[root, directory] = self._outputs[root].existing(directory)
        return self._taken[root, directory]


def publish(prepared: PreparedRun, results: RunResults) -> dict[str, Any]:
    """Commits what the tasks of a run left in staging; the manifest.

    Abend GG506 if the commit was interrupted: it is decided then, and the next run ends it.
    """
    outputs, job = prepared.outputs, results.job
    naming = Naming(outputs, prepared.moment, prepared.mode == "append")
    targets = {target.handler: target for target in job.targets}
    moves: list[tuple[str, str]] = []
    listed: list[dict[str, Any]] = []
    every = [*((file, False) for file in results.files), *((file, True) for file in results.rejects)]
    for file, is_reject in every:
        target = targets[file.handler]
        path = naming.name(file, target, is_reject)
        moves.append((file.path, child(target.root, path)))
        listed_path = path if len(outputs) == 1 else child(without_credentials(target.root), path)
        listed.append(_entry(file, listed_path, is_reject))
    manifest = {**_describe(prepared, results), "files": listed}
    text = json.dumps(manifest, indent=2, ensure_ascii=False).encode()
    schemas = _schema_files(job.targets, results.definitions, prepared.moment)
    writes = [commit.small_write(path, content) for path, content in schemas.items()]
    writes += [commit.small_write(commit.manifest_path(output.root), text) for output in outputs]
    journal = Journal(job.run, tuple(o.root for o in outputs), tuple(moves), prepared.replaced, tuple(writes))
    try:
        commit.commit(outputs, journal)
    except (OSError, pa.ArrowException) as error:
        reason = getattr(error, "strerror", None) or str(error).split("\n", 1)[0]
        help = "remove the cause; the next run to this directory ends the commit before it starts"
        message = f"the commit was interrupted: {reason}"
        raise Abend(Diagnostic("GG506", message, Span(file=outputs[0].root), help)) from None
    return manifest


def _entry(file: StagedFile, path: str, is_reject: bool) -> dict[str, Any]:
    """What the manifest says of a file."""
    entry: dict[str, Any] = {"handler": file.handler, "path": path}
    entry |= {"rejects": file.operations} if is_reject else {"table": file.table, "operations": file.operations}
    entry |= {"bytes": file.size, "sha256": file.sha256}
    if not is_reject:
        entry |= {"first_position": file.first_position, "last_position": file.last_position}
    return entry


def _describe(prepared: PreparedRun, results: RunResults) -> dict[str, Any]:
    """The manifest without the list of files."""
    job = results.job
    return {
        "ggfmt": __version__,
        "run": job.run,
        "mode": prepared.mode,
        "input_format": job.input_format,
        "inputs": [{"path": without_credentials(item.file.shown), "bytes": item.file.size} for item in prepared.inputs],
        "handlers": {target.handler: _configuration(target) for target in job.targets},
        "totals": report.as_document(results.totals),
    }


def _configuration(target: HandlerOutput) -> dict[str, Any]:
    """A handler's configuration as properties, those at their default left out."""
    settings = target.settings
    options = {spec.name: spec.kind.render(value) for spec, value in settings.options.non_defaults()}
    return {"format": settings.format, "includeTokens": settings.context.include_tokens, "options": options}


def _schema_files(targets: Sequence[HandlerOutput], tables: Sequence[TableDef], moment: datetime) -> dict[str, bytes]:
    """Paths and contents of the schemas of all definitions met; of several of one table the last, and all of them as
    copies with a time stamp under `versionSchemas`."""
    files: dict[str, bytes] = {}
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
                    files |= {child(directory, safe_name(name)): schema.content for name in names}
    return files
