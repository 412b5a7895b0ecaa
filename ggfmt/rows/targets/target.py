"""What a run needs to know of a target of rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pkgutil import resolve_name
from typing import Any

from ggfmt.commit.commit import CommitPart, commit
from ggfmt.commit.journal import damaged
from ggfmt.commit.names import folded
from ggfmt.commit.records import CONSOLIDATION_MEMBER, MANIFEST, SET_ASIDE_MEMBER, as_bytes, rows_manifest, run_file
from ggfmt.diagnostics.diagnostic import GgfmtError, UsageError, package_error
from ggfmt.location import Location
from ggfmt.reading.checkpoint import OutputTarget
from ggfmt.reading.tasks import StagedFile
from ggfmt.rowfiles.formats import ROW_FORMATS
from ggfmt.rows.base import BaseSnapshot, BaseTable, read_base
from ggfmt.rows.kept import KEPT_DIRECTORY
from ggfmt.rows.layout import FileLayout
from ggfmt.rows.manifest import PreviousResult, PublishedFile, TableResult
from ggfmt.rows.output import RowsDirectory
from ggfmt.rows.query import RowQuery, query_error
from ggfmt.rows.request import TargetOptions
from ggfmt.rows.results import TableQuery, check_names
from ggfmt.rows.staging import StagedInput

MIN_DIGITS = 5  # of the number of a file

Results = Sequence[TableResult]
Describe = Callable[[Sequence[PublishedFile]], dict[str, Any]]


def make_target(to: str, output: RowsDirectory, options: TargetOptions) -> RowTarget:
    """Return the target of a name in `ROW_FORMATS`. Raises: UsageError GG555 if its library is not installed."""
    format = ROW_FORMATS[to]
    if format.library and find_spec(format.library) is None:
        help = f"run `pip install 'ggfmt[{to}]'`"
        message = f"`--to {to}` needs the package `{format.library}`"
        raise UsageError.of(package_error("GG555", message, format.library, None, help))
    target: RowTarget = resolve_name(format.target)(output, to, options)
    return target


class RowTarget(ABC):
    """Where the rows of a run go. A run calls the methods in the order in which they are here.

    to        the format of the rows, as the manifest has it
    suffix    the format of the files with rows, a key of `ROW_FORMATS`
    previous  the result that the run merges into; None if the run writes a new one
    rejects   files of records that could not be read, which `publish` makes visible
    inputs    what this run has read, as the checkpoint records it; None without a checkpoint
    staged    the operations of the run, before `prepare`
    owner     what a checkpoint belongs to; `shown`: the target for people; `ending`: what became of it
    keeps_unresolved  whether unresolved operations are a part of the result; otherwise they stop the run
    keeps_results  whether results of tasks may stay in staging, if all of their files are there
    refused   tables that cannot go on; with `--on-table-error set-aside`, the next run has to write them
    unfinished  what a run that was cut off has read, as the checkpoint records it, if this run has to end it first
    """

    suffix: str
    staged: StagedInput
    keeps_unresolved = True
    keeps_results = False

    def __init__(self, output: RowsDirectory, to: str, options: TargetOptions) -> None:
        self.output, self.to, self.options = output, to, options
        self.owner: OutputTarget = output
        self.shown, self.ending = output.root.shown, "committed to"
        self.previous: PreviousResult | None = None
        self.unfinished: Sequence[Any] | None = None
        self.rejects: Sequence[StagedFile] = ()
        self.inputs: Sequence[Any] | None = None
        self.refused: dict[str, GgfmtError] = {}
        self.run = ""

    def check(self, query: RowQuery, merges: bool) -> None:
        """Check what is asked before anything is read. `merges`: later runs merge changes. Raises: UsageError."""
        if self.options.on_table_error == "set-aside" and not merges:
            message = "only a run with `--checkpoint` can leave a table to the next run"
            raise query_error(message, "give `--checkpoint`, or leave out `--on-table-error`")

    def recover(self) -> None:  # noqa: B027 - most targets have nothing to do
        """Find out what an earlier run has left, once the output is locked."""

    def open(self, run: str, mode: str) -> None:
        """Look at the locked output; `append` merges into an earlier result. Raises: UsageError GG501. Raises: Abend
        GG509 without a manifest of that result."""
        self.run = run
        if mode == "append":
            self.previous = self._previous(rows_manifest(self.output.store))

    def _previous(self, document: dict[str, Any] | None) -> PreviousResult:
        if document is None or CONSOLIDATION_MEMBER not in document:
            raise damaged(self.output.store, MANIFEST, "is missing, or lists no rows of an earlier run")
        return PreviousResult(document)

    def base(self) -> BaseSnapshot | None:
        """Return the rows to merge into; None for no tables. Raises: UsageError GG551 for another format."""
        assert self.previous is not None
        to = self.previous.document[CONSOLIDATION_MEMBER]["to"]
        if to != self.to:
            raise query_error(f"the rows in the output are `{to}`", f"use `--to {to}`")
        return read_base(self.output.root.address) if self.previous.document["tables"] else None

    def described(self, name: str) -> BaseTable | None:
        """Return what is known of a table of which neither the input nor the base shows a column."""
        return None

    def prepare(self, names: Sequence[str], bases: Mapping[str, BaseTable]) -> dict[str, BaseTable]:
        """Return the tables that the run has to write, of those that it may, with the rows to start from."""
        return {name: bases.get(name) or BaseTable(name) for name in names}

    def check_names(self, query: TableQuery) -> None:
        """Raises: UsageError GG558 if rows had a name twice."""
        check_names(query.table.name, query.columns, query.marks)

    @abstractmethod
    def layout(self, query: TableQuery, number: int) -> FileLayout:
        """Return where tasks write the rows of the table with a number. Raises: UsageError for its columns."""

    def sets_aside(self, query: TableQuery) -> bool:
        """Return whether the operations of a table that cannot go on are left to the next run. Equal rows of a table
        without a key count by file, and what is set aside has no files any more."""
        return self.options.on_table_error == "set-aside" and bool(query.table.key)

    @abstractmethod
    def publish(self, results: Results, describe: Describe, others: Sequence[CommitPart]) -> dict[str, Any]:
        """Make the result of a run visible, and commit it with `others`; return the manifest. `describe` returns that
        of this run alone. Raises: Abend if nothing was committed, CommittedWithErrors if an error came later."""

    # For all targets

    @property
    def staging(self) -> Location:
        return self.output.staging(self.run)

    def operation_files(self, result: TableResult, parts: dict[str, int]) -> list[PublishedFile]:
        """Return the named files of unresolved operations and of those for later runs. `parts`: as `next_name`."""
        suffix = ROW_FORMATS[self.suffix].of_operations
        kept = result.kept.files(result.query.ordering)
        aside = [] if result.aside is None else [result.aside.file]
        return [
            *(
                PublishedFile(result, "unresolved", next_name("_unresolved", suffix, parts), file, None)
                for file in result.unresolved
            ),
            *(
                PublishedFile(result, what, next_name(KEPT_DIRECTORY, "parquet", parts), file, None)
                for what, files in (("kept", kept), ("free", result.free), (SET_ASIDE_MEMBER, aside))
                for file in files
            ),
        ]

    def commit(self, part: CommitPart, document: dict[str, Any], others: Sequence[CommitPart]) -> None:
        """Commit a part with the records that could not be read, the manifest and `others`. Raises: a `FAILURES`."""
        for number, file in enumerate(self.rejects):
            name = f"_rejects/{self.run}-{number // 2:05d}.{file.table}"  # records, or reasons
            part.moves.append(self.output.move(file.location, name, file.size, file.sha256))
            entry = {"path": name, "table": None, "handler": file.handler, "rejects": file.operations}
            document["files"].append(entry | {"bytes": file.size, "sha256": file.sha256})
        text = as_bytes(document)
        part.moves += self.output.stage([(run_file(self.run), text), (MANIFEST, text)])
        commit(self.run, [part, *others])


def next_name(directory: str, suffix: str, parts: dict[str, int]) -> str:
    """Return the name of the next file in a directory. `parts`: by directory the number of its last file."""
    number = parts[folded(directory)] = parts.get(folded(directory), -1) + 1
    return f"{directory}/part-{number:0{MIN_DIGITS}d}.{suffix}"
