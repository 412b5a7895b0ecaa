"""Plain files: a directory for each table. On disks, a commit replaces each directory at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ggfmt.commit.commit import CommitPart, write_errors_stop
from ggfmt.commit.journal import damaged
from ggfmt.commit.names import folded, safe_name
from ggfmt.commit.records import kept_runs, run_file
from ggfmt.commit.versions import last_number
from ggfmt.rowfiles.formats import ROW_FORMATS
from ggfmt.rows.base import BaseTable
from ggfmt.rows.layout import FileLayout
from ggfmt.rows.manifest import PublishedFile, with_set_aside
from ggfmt.rows.output import RowsDirectory
from ggfmt.rows.query import RowQuery, query_error
from ggfmt.rows.request import TargetOptions
from ggfmt.rows.results import TableQuery
from ggfmt.rows.targets.target import Describe, Results, RowTarget, next_name
from ggfmt.rows.targets.versions import DirectoryVersions, find_versions


class FileTarget(RowTarget):
    """Files in staging, which the commit moves to the directories of their tables."""

    keeps_results = True

    def __init__(self, output: RowsDirectory, to: str, options: TargetOptions) -> None:
        super().__init__(output, to, options)
        self.suffix = to
        self._replaced: list[str] = []

    def check(self, query: RowQuery, merges: bool) -> None:
        is_current = query.kind == "current" and query.as_of is None and not query.keep
        if merges and not (is_current and ROW_FORMATS[self.to].merges):
            titles = " or ".join(each.title for each in ROW_FORMATS.values() if each.merges)
            message = f"`--checkpoint` merges changes only into current rows, as {titles}"
            raise query_error(message, "leave out `--checkpoint`, or the options for other rows")

        if self.options.partition_by:
            raise query_error("plain files have no partitions", "leave out `--partition-by`, or write Delta or Iceberg")
        super().check(query, merges)

    def open(self, run: str, mode: str) -> None:
        super().open(run, mode)
        if self.previous is None:
            self._replaced = self.output.replaced(mode)

    def prepare(self, names: Sequence[str], bases: Mapping[str, BaseTable]) -> dict[str, BaseTable]:
        """Raises: Abend GG509 for a file of a table that is gone: a merge does not read all files."""
        found, store = super().prepare(names, bases), self.output.store
        known = () if self.previous is None else self.previous.table_files()
        for directory in map(safe_name, found) if known else ():
            present = {f"{directory}/{name}" for name in store.names(directory)}
            gone = [name for name in known if name.startswith(f"{directory}/") and name not in present]
            if gone:
                raise damaged(store, gone[0], "is missing, and has rows of the table")
        return found

    def layout(self, query: TableQuery, number: int) -> FileLayout:
        # To delete a directory for each of many tables may take longer than to find their rows.
        rows = self.staging.child("rows")
        return FileLayout(rows, self.suffix, sort_by=self.options.sort_by, start=f"{number:05d}-")

    def publish(self, results: Results, describe: Describe, others: Sequence[CommitPart]) -> dict[str, Any]:
        parts = {} if self.previous is None else self.previous.last_parts()
        versions = self._versions(results)
        published = []
        for result in results:
            directory = safe_name(result.table.name)
            if versions is not None:
                last = last_number(self.output.store, directory)
                parts[folded(directory)] = max(parts.get(folded(directory), -1), last)
            for bucket, file in result.files:
                published.append(PublishedFile(result, "rows", next_name(directory, self.to, parts), file, bucket))
            published += self.operation_files(result, parts)
        document = describe(published)
        replaced = [*self._replaced]
        if self.previous is not None:
            root = self.output.root
            document = with_set_aside(document, self.previous.document, {result.table.name for result in results})
            again = self.previous.read_again(results)
            results = [result for result in results if result.aside is None]
            again += [
                file.location.entry_below(root) or file.location.address
                for result in results
                for file in result.replaced
            ]
            names = {} if versions is None else versions.rename(self.previous.table_files(), set(again), parts)
            changed = {old: {"path": new} for old, new in names.items()}
            document = self.previous.merged(document, results, set(again), changed)
            replaced = [*again, *map(run_file, kept_runs(self.output.store))]
        part = CommitPart(self.output, deletes=replaced)
        with write_errors_stop(self.output.root):
            for item in published:
                part.moves.append(self.output.move(item.file.location, item.name, item.file.size, item.file.sha256))
            if versions is not None:
                versions.apply(part)
            self.commit(part, document, others)
        if versions is not None:
            versions.delete_expired({entry["path"].partition("/")[0] for entry in document["files"]})
        return document

    def _versions(self, results: Results) -> DirectoryVersions | None:
        if self.previous is None and not self._replaced:
            return None
        earlier = self._replaced if self.previous is None else self.previous.table_files()
        tables = {safe_name(result.table.name) for result in results if result.files or result.replaced}
        return find_versions(self.output, self.run, tables, earlier, replaces_all=self.previous is None)
