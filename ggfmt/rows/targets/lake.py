"""Tables of a lakehouse, each with its own commits. `rounds` has the states of a run."""

from __future__ import annotations

import logging
import uuid
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet

from ggfmt import signals
from ggfmt.commit.commit import CommitPart, write_error, write_errors_stop
from ggfmt.commit.directory import existing_output_error, refuse_foreign
from ggfmt.commit.journal import ROUND
from ggfmt.commit.names import counted
from ggfmt.commit.records import (
    CONSOLIDATION_MEMBER,
    LAKE_MEMBER,
    MANIFEST,
    is_of_rows,
    kept_runs,
    rows_manifest,
    run_file,
)
from ggfmt.commit.store import FAILURES, Store
from ggfmt.diagnostics.diagnostic import Abend, CommittedWithErrors, GgfmtError, Span, UsageError
from ggfmt.java.text import visible
from ggfmt.location import Location
from ggfmt.options.value_types import EVERY_TABLE, keys_of
from ggfmt.rowfiles.deleted_rows import decode_places
from ggfmt.rowfiles.formats import ROW_FORMATS
from ggfmt.rowfiles.writers import WrittenFile
from ggfmt.rows.base import BaseFile, BaseSnapshot, BaseTable, location_of, result_snapshot
from ggfmt.rows.layout import FileLayout, files_to_join
from ggfmt.rows.manifest import (
    COMPACTED_MEMBER,
    PREFIX_MEMBER,
    PreviousResult,
    PublishedFile,
    TableResult,
    with_set_aside,
)
from ggfmt.rows.output import RowsDirectory
from ggfmt.rows.query import RowQuery, query_error
from ggfmt.rows.readers import read_rows
from ggfmt.rows.request import TargetOptions
from ggfmt.rows.results import TableQuery, check_names
from ggfmt.rows.targets.rounds import OpenRound, read_round
from ggfmt.rows.targets.table import LakeTable, Round, TableChange, WriteMode
from ggfmt.rows.targets.target import Describe, Results, RowTarget

ROUND_COLUMN = "_round"  # of net changes that grow
_FILE_BYTES = 128 << 20  # without a size of files; those below a quarter of it are small
_INTERRUPTED = OSError("a signal stopped the run")

log = logging.getLogger("ggfmt")


class LakeTarget(RowTarget):
    """Tables of a lakehouse. The output directory has the lock, the manifest, and `_unresolved`."""

    suffix = "parquet"
    keeps_results = True

    def __init__(self, output: RowsDirectory, to: str, options: TargetOptions) -> None:
        super().__init__(output, to, options)
        self._before: dict[str, Any] = {}  # the manifest as the tables are, which `previous` has
        self._operation_files: list[str] = []  # of earlier runs
        self._done: set[str] = set()
        self._tables: dict[str, LakeTable] = {}
        self._columns: dict[str, list[str]] = {}  # by table those of new files
        self._layouts: dict[str, FileLayout] = {}  # by table, of new files
        self._compacted: dict[str, list[WrittenFile]] = {}  # by table the files in place of small ones
        self._appends = False
        format = ROW_FORMATS[to]
        self._folds = format.title if format.folds else ""
        self._prefix = ""  # of metadata columns
        self._round = (uuid.uuid4().hex, 1)  # the stream, and the number of this run in it

    @abstractmethod
    def open_table(self, name: str) -> LakeTable:
        """Return the present state of a table. Raises: Abend GG506."""

    def check(self, query: RowQuery, merges: bool) -> None:
        if merges and query.kind == "history":
            message = "`--checkpoint` supports current rows and net changes, not a history"
            raise query_error(message, "leave out `--checkpoint`: each run then replaces the history")
        if merges and (query.keep or query.as_of or query.since):
            message = "`--checkpoint` merges all new operations, and only into certain rows"
            raise query_error(message, "leave out `--as-of`, `--since` and `--keep`")
        super().check(query, merges)
        self._appends = merges and query.kind == "changes"
        self._prefix = query.metadata_prefix

    def recover(self) -> None:
        store = self.output.store
        try:
            self._before = rows_manifest(store) or {}
            files = [entry for entry in self._before.get("files", []) if "rejects" not in entry]
            self._operation_files = [entry["path"] for entry in files if not is_of_rows(entry)]
            if LAKE_MEMBER in self._before:
                self._round = self._before[LAKE_MEMBER]["stream"], self._before[LAKE_MEMBER]["round"] + 1
            begun = read_round(self.output)
            if begun is None:
                return
            tables = [self._open(name) for name in begun.tables]
            self._done = {table.name for table in tables if table.round(begun.stream) >= begun.number}
            gone = begun.new_files(self._done, self._before)
            for path in gone:
                _delete(location_of(store, path))
            if not self._done:
                store.delete(ROUND)
                return
        except FAILURES as error:
            raise Abend.of(write_error(self.output.root, error)) from None
        self._before = begun.mixed(self._before, self._done)
        self._round = begun.stream, begun.number
        self.unfinished = begun.inputs
        message = "run %s was interrupted with %s of %s committed; this run finishes it first"
        log.warning(message, begun.run, len(self._done), counted(len(tables), "table"))

    def open(self, run: str, mode: str) -> None:
        self.run = run
        if mode == "append":
            self.previous = self._previous(self._before)
            return
        if mode == "error":
            with write_errors_stop(self.output.root):
                refuse_foreign(self.output)
        if self._before and mode == "error":
            help = "use `--mode overwrite`, or choose another output directory"
            raise existing_output_error(self.output.store, "the output already has tables", MANIFEST, help)
        if self._before.get(CONSOLIDATION_MEMBER, {"to": self.to})["to"] != self.to:
            help = "choose another output directory"
            raise existing_output_error(self.output.store, "the output has rows of another format", MANIFEST, help)
        if self._done:
            self._round = self._round[0], self._round[1] + 1
            self._done, self.unfinished = set(), None

    def base(self) -> BaseSnapshot | None:
        assert self.previous is not None
        document = self.previous.document
        to, kind = document[CONSOLIDATION_MEMBER]["to"], document[CONSOLIDATION_MEMBER]["kind"]
        if to != self.to or (kind == "changes") != self._appends:
            shown = f"`{to}`" if to != self.to else f"of the kind `{kind}`"
            raise query_error(f"the rows in the output are {shown}", "use the options of the first run")
        if self._appends and (known := document[CONSOLIDATION_MEMBER].get(PREFIX_MEMBER, "")) != self._prefix:
            message = f"the metadata columns in the output have the prefix `{known}`"
            raise query_error(message, "use the `--metadata-prefix` of the first run")
        if self._appends or not document["tables"]:
            return None
        return result_snapshot(self.output.store, self.output.root.address, document)

    def prepare(self, names: Sequence[str], bases: Mapping[str, BaseTable]) -> dict[str, BaseTable]:
        found = super().prepare([name for name in names if name not in self._done], bases)
        for name in found:
            try:
                found[name] = self._current(self._open(name), bases.get(name)) or found[name]
            except UsageError as error:
                if self.options.on_table_error == "stop":
                    raise
                self.refused[name] = error
        return found

    def _current(self, table: LakeTable, base: BaseTable | None) -> BaseTable | None:
        """Return the present rows of a table to start from. Raises: UsageError GG553 for a table that was changed."""
        entry = self._before.get("tables", {}).get(table.name, {})
        columns = {*entry.get("columns", ()), *entry.get("marks", ()), *entry.get("dropped", ())}
        if self._is_as_left(table, columns) and bool(entry) == (table.version is not None):
            return base if base is None or self.previous is None else self._with_present_files(table, base, entry)
        same = columns == set(table.columns) and self._has_same_rows(table, entry)
        if same:
            log.info("%s: another program has moved the rows to other files", visible(table.name))
        what = "was changed by another program" if entry else "does not belong to this output"
        if table.version is None:
            what = "is missing"
        if not same:
            self._check_accepted(table, entry, what)
            version = table.version
            log.warning("%s: continuing with version %s, which another program wrote", visible(table.name), version)
        if self.previous is None or self._appends:
            self._take_over(table)
            return base
        table.check_readable()
        if base is None or columns != set(table.columns):
            message = f"the table {what}, and its columns differ from the columns that this output knows"
            help = "give the table the columns of the manifest again, or consolidate into another output"
            raise UsageError("GG553", message, Span(table=table.name), help)
        types = base.types if same else {column: table.columns[column] for column in base.types}
        # Other programs mix the rows of buckets: a single one has them all.
        bucket = 0 if same and base.bucket_count == 1 and not self._drops(entry) else None
        self._take_over(table, bucket)
        files = (BaseFile(file, self.suffix, bucket, table.deleted.get(file, "")) for file in table.files)
        return replace(base, files=tuple(files), types=types, bucket_count=int(bucket == 0))

    def _drops(self, entry: Mapping[str, Any]) -> bool:
        return self.options.drop_columns and bool(entry.get("dropped"))

    def _has_same_rows(self, table: LakeTable, entry: Mapping[str, Any]) -> bool:
        """Return whether other programs say that they have left the rows of the last run, and the rows are as many."""
        if "round" not in entry or not table.has_same_rows(self._round[0], entry["round"]) or not table.knows_deleted:
            return False
        files = [entry for entry in self._before["files"] if entry["table"] == table.name and is_of_rows(entry)]
        known = {location_of(self.output.store, file["path"]).canonical for file in files}
        for file in table.files:
            if file.canonical in known:
                continue
            try:
                with file.open_file() as stream:
                    table.files[file] = parquet.read_metadata(stream).num_rows
            except (FileNotFoundError, pa.ArrowInvalid):
                return False
        present = sum(table.files.values()) - sum(table.deleted_counts().values())
        return present == sum(int(file["rows"]) for file in files)

    def _is_as_left(self, table: LakeTable, columns: set[str]) -> bool:
        """Return whether a table has the files, the deleted rows and the columns that the manifest lists."""
        entries = [entry for entry in self._before.get("files", []) if entry["table"] == table.name]
        locations = {location_of(self.output.store, entry["path"]).canonical: entry for entry in entries}
        table.deleted = {
            file: locations[file.canonical]["deleted"]
            for file in table.files
            if "deleted" in locations.get(file.canonical, ())
        }
        known = {location for location, entry in locations.items() if is_of_rows(entry)}
        same = known == {file.canonical for file in table.files} and columns == set(table.columns)
        return same and table.knows_deleted

    def _with_present_files(self, table: LakeTable, base: BaseTable, entry: Mapping[str, Any]) -> BaseTable:
        """Return a base with the files of the table, which knows the keys of its store. The manifest does not."""
        known = {file.location.canonical: file for file in base.files}
        files = tuple(replace(known[location.canonical], location=location) for location in table.files)
        return replace(base, files=files, bucket_count=0 if self._drops(entry) else base.bucket_count)

    def _check_accepted(self, table: LakeTable, entry: Mapping[str, Any], what: str) -> None:
        """Raises: UsageError GG553 for a changed table, unless the run may and can go on with it."""
        help = None
        if self.options.on_foreign_commit != "accept":
            help = "use `--on-foreign-commit accept` to continue with the table as it is, or restore the table"
        elif table.version is None and self.previous is not None:
            help = "restore the table, or consolidate into another output"
        if help is not None:
            raise UsageError("GG553", f"the table {what}", Span(table=table.name), help)
        if self.previous is not None:
            self._check_round(table, entry)

    def _check_round(self, table: LakeTable, entry: Mapping[str, Any]) -> None:
        """Raises: UsageError GG553 for a table without the rows of the last run that wrote to it."""
        known = entry.get("round")  # an earlier ggfmt wrote none
        found = table.held_round(self._round[0])
        if known is not None and found != known:
            message = (
                f"the table has the rows of run {found} of this output, and the output has the rows of run {known}"
            )
            help = f"restore the table as it was after run {known}, or consolidate into another output"
            raise UsageError("GG553", message, Span(table=table.name), help)

    def _take_over(self, table: LakeTable, bucket: int | None = None) -> None:
        files = [
            entry for entry in self._before.get("files", []) if entry["table"] != table.name or not is_of_rows(entry)
        ]
        for file, rows in table.files.items():
            deleted = table.deleted.get(file, "")
            entry = {"path": self._path(file), "table": table.name, "rows": rows - len(decode_places(deleted))}
            more = {"deleted": deleted or None, "bucket": bucket}
            files.append(entry | {name: value for name, value in more.items() if value is not None})
        self._before["files"] = files

    def check_names(self, query: TableQuery) -> None:
        marks = [*query.marks, self._round_column] if self._appends else query.marks
        check_names(query.table.name, query.columns, marks, self._folds)

    @property
    def _round_column(self) -> str:
        return self._prefix + ROUND_COLUMN

    def layout(self, query: TableQuery, number: int) -> FileLayout:
        table = self._open(query.table.name)
        schema = query.schema
        if self._appends:
            schema = schema.append(pa.field(self._round_column, pa.int64()))
        if table.version is not None and self.previous is not None:
            schema = table.evolved(schema, self.options.drop_columns)
            check_names(table.name, schema.names, folds=self._folds)
        wanted = keys_of(table.name, self.options.partition_by)
        everywhere = keys_of(EVERY_TABLE, self.options.partition_by)
        if not wanted and set(everywhere) <= set(query.schema.names):
            wanted = everywhere
        table.check_partitions(query.schema, wanted)
        constants = {self._round_column: self._round[1]} if self._appends else {}
        options = self.options
        self._columns[table.name] = schema.names
        layout = table.layout(schema, self.run, self._mode)
        deletes = self._mode == "merge" and table.marks_deleted and not table.partition_by
        self._layouts[table.name] = layout = replace(
            layout, constants=constants, sort_by=options.sort_by, partition_by=table.partition_by, deletes=deletes
        )
        return layout

    def sets_aside(self, query: TableQuery) -> bool:
        # A run that replaces a table would leave its old rows to the next run.
        goes_on = self.previous is not None or query.table.name not in self._before.get("tables", {})
        return super().sets_aside(query) and goes_on

    @property
    def _mode(self) -> WriteMode:
        if self.previous is None:
            return "replace"
        return "append" if self._appends else "merge"

    def _open(self, name: str) -> LakeTable:
        if name not in self._tables:
            self._tables[name] = self.open_table(name)
        return self._tables[name]

    def _path(self, file: Location) -> str:
        return file.entry_below(self.output.root) or file.canonical

    # Publishing

    def publish(self, results: Results, describe: Describe, others: Sequence[CommitPart]) -> dict[str, Any]:
        operations = [entry for entry in self._before.get("files", []) if not is_of_rows(entry)]
        parts = PreviousResult({"files": operations}).last_parts()
        published: list[PublishedFile] = []
        for result in results:
            if self._appends and result.aside is None:
                self._compact(result)
            compacted = [(None, file) for file in self._compacted.get(result.table.name, ())]
            for bucket, file in [*result.files, *compacted]:
                if file.rows:
                    published.append(PublishedFile(result, "rows", self._path(file.location), file, bucket))
            published += self.operation_files(result, parts)
        document = self._with_others(describe(published), results)
        results = [result for result in results if result.aside is None]
        stream, number = self._round
        document[LAKE_MEMBER] = {"stream": stream, "round": number}
        document[COMPACTED_MEMBER] = {
            each.table.name: len(each.replaced) for each in results if each.table.name in self._compacted
        }
        for result in results:
            name = result.table.name
            document["tables"][name]["round"] = number
            document["tables"][name]["dropped"] = [
                column for column in self._columns[name] if column not in result.query.schema.names
            ]
        committed: list[str] = []
        try:
            # A signal between two commits would leave a message that nothing was committed.
            with signals.deferred():
                self._announce(document, results, published)
                for result in results:
                    name = result.table.name
                    round = Round(stream, number, _facts(self.run, document["tables"][name]))
                    document["tables"][name]["version"] = self._commit_table(result, round)
                    committed.append(name)
                for name in self._done:
                    document["tables"][name]["version"] = self._open(name).version
                self._commit(document, others)
        except FAILURES as error:
            raise self._cut_off(published, committed, Abend.of(write_error(self.output.root, error))) from None
        except Abend as error:
            raise self._cut_off(published, committed, error) from None
        except KeyboardInterrupt:
            if not committed:
                raise
            raise self._cut_off(published, committed, Abend.of(write_error(self.output.root, _INTERRUPTED))) from None
        return document

    def _compact(self, result: TableResult) -> None:
        """Join small files of net changes."""
        table = self._open(result.table.name)
        layout = self._layouts[table.name]
        stored = layout.stored
        if (
            stored is None
            or stored.names != list(table.columns)
            or table.partition_by
            or table.deleted_counts()
            or not any(file.rows for _, file in result.files)
        ):
            return
        small = (self.options.file_size or _FILE_BYTES) // 4
        entries = [entry for entry in self._before.get("files", []) if entry["table"] == table.name]
        sizes = {entry["path"]: entry["bytes"] for entry in entries if entry.get("bytes", small) < small}
        joined = files_to_join({file: sizes[path] for file in table.files if (path := self._path(file)) in sizes})
        if not joined:
            return
        batches = (layout.as_stored(rows) for file in joined for rows in read_rows(file, self.suffix, {}, table.name))
        written = layout.write(result.buckets, result.buckets, 0, table.name, stored, batches)
        self._compacted[table.name] = written
        result.replaced += [BaseFile(file, self.suffix) for file in joined]
        result.counts.present -= sum(file.rows for file in written)

    def _with_others(self, document: dict[str, Any], results: Results) -> dict[str, Any]:
        names = {result.table.name for result in results}
        document = with_set_aside(document, self._before, names)
        if self.previous is not None:
            again = {*self.previous.read_again(results)}
            results = [result for result in results if result.aside is None]
            again.update(self._path(file.location) for result in results for file in result.replaced)
            shortened = {
                self._path(each.file.location): {"rows": each.rows, "deleted": each.deleted}
                for result in results
                for each in result.shortened
            }
            return self.previous.merged(document, results, again, shortened)
        tables = {name: table for name, table in self._before.get("tables", {}).items() if name not in names}
        files = [entry for entry in self._before.get("files", []) if entry["table"] not in names]
        tables = dict(sorted({**tables, **document["tables"]}.items()))
        return {**document, "tables": tables, "files": [*files, *document["files"]]}

    def _announce(self, document: dict[str, Any], results: Results, published: Sequence[PublishedFile]) -> None:
        store = self.output.store
        names = sorted({*self._done, *(result.table.name for result in results)})
        lake = document[LAKE_MEMBER]
        assert all(name in document["tables"] for name in names)
        OpenRound(self.run, lake["stream"], lake["round"], names, self.inputs, document).announce(self.output)
        rows = [self._path(item.file.location) for item in published if item.what == "rows"]
        for item in published:
            if item.what != "rows":
                move = self.output.move(item.file.location, item.name, item.file.size, item.file.sha256)
                store.make_directory(move.target.partition("/")[0])
                store.move(move.source, move.target, move.size)
                rows.append(move.target)
        store.sync_all([name for name in rows if not name.startswith("/") and "://" not in name])

    def _commit_table(self, result: TableResult, round: Round) -> int:
        table = self._open(result.table.name)
        replaces_all = self.previous is None or table.version is None
        present = {file.canonical: file for file in table.files}
        replaced = [present[file.location.canonical] for file in result.replaced]
        removed = list(table.files) if replaces_all else replaced
        if self._appends:
            removed = replaced
        added = [file for _, file in result.files if file.rows]
        deleted = {present[each.file.location.canonical]: each.deleted for each in result.shortened}
        compacted = self._compacted.get(table.name, ())
        change = TableChange(added, removed, len(removed) == len(table.files), round, deleted, compacted)
        return table.commit(change)

    def _commit(self, document: dict[str, Any], others: Sequence[CommitPart]) -> None:
        listed = {entry["path"] for entry in document["files"]}
        stale = [path for path in self._operation_files if path not in listed]
        part = CommitPart(self.output, deletes=[ROUND, *stale, *map(run_file, kept_runs(self.output.store))])
        self.commit(part, document, others)

    def _cut_off(self, published: Sequence[PublishedFile], committed: Sequence[str], error: Abend) -> GgfmtError:
        """Return the error of a run that ended between two commits; without commits, delete what the run has left."""
        if committed:
            first, *others = error.diagnostics
            message = f"{first.message}; {counted(len(committed), 'table')} of this run had been committed"
            help = f"{first.help}; the next run finishes this run first, with the same input files"
            return CommittedWithErrors.of(replace(first, message=message, help=help), *others)
        try:
            for item in published:
                _delete(item.file.location if item.what == "rows" else self.output.store.location(item.name))
            if not self._done:
                self.output.store.delete(ROUND)
        except FAILURES as failure:
            log.warning("%s: files of this run cannot be deleted: %s", visible(self.output.root.shown), failure)
        return error


def _facts(run: str, table: Mapping[str, Any]) -> dict[str, str]:
    """Return what a commit says of itself: the point in time to which the rows belong."""
    known = {"run": run, "last_position": table["last_position"], "last_time": table["last_time"]}
    return {name: value for name, value in known.items() if value is not None}


def _delete(file: Location) -> None:
    """Delete a file to which no table refers, if that is possible: it does no harm."""
    parent = file.parent
    assert parent is not None
    try:
        Store(parent).delete(file.name)
    except FAILURES as error:
        log.warning("%s: a file of an uncommitted run cannot be deleted: %s", visible(file.shown), error)
