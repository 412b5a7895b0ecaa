"""What a commit of plain files does on disks: it makes versions of the directories of tables."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace

from ggfmt.commit.commit import LINK_HELP, LINK_MESSAGE, CommitPart, StagedMove, knows_no_case
from ggfmt.commit.directory import existing_output_error
from ggfmt.commit.journal import staging_of
from ggfmt.commit.names import counted, folded
from ggfmt.commit.records import MANIFEST
from ggfmt.commit.store import FAILURES
from ggfmt.commit.versions import VERSIONS, Switch, expired, has_links, present_version, version_of
from ggfmt.java.text import visible
from ggfmt.location import local_status
from ggfmt.rows.output import RowsDirectory
from ggfmt.rows.targets.target import next_name

log = logging.getLogger("ggfmt")


class DirectoryVersions:
    """The versions that a run makes of the directories of its tables.

    tables  directories that get other files
    gone    directories whose tables are no longer in the output
    """

    def __init__(self, output: RowsDirectory, run: str, tables: Collection[str], gone: Collection[str]) -> None:
        self._store, self._run = output.store, run
        self._tables, self._gone = tables, gone
        self._names: dict[str, str] = {}

    def rename(self, names: Iterable[str], gone: Collection[str], parts: dict[str, int]) -> Mapping[str, str]:
        """Return new names for files that stay, by their old names. `parts`: as `next_name`. Programs list a directory
        and then look at each name, and many leave out a name that has vanished meanwhile. If a file kept its name in
        two versions, they would take it for the whole table."""
        for name in names:
            directory = name.partition("/")[0]
            if directory in self._tables and name not in gone:
                self._names[name] = next_name(directory, name.rpartition(".")[2], parts)
        return self._names

    def apply(self, part: CommitPart) -> None:
        """Turn files into versions. Raises: UsageError GG501 for what is not ggfmt's; one of `FAILURES`."""
        deletes = {name for name in part.deletes if name.partition("/")[0] in {*self._tables, *self._gone}}
        part.deletes = [name for name in part.deletes if name not in deletes]
        part.moves = [self._move(move) for move in part.moves]
        copied: list[int] = []
        for number, table in enumerate(sorted(self._tables)):
            version = version_of(table, self._run)
            for name, size in self._files(table):
                if f"{table}/{name}" in deletes:
                    continue
                source = f"{staging_of(self._run)}/kept/{number:05d}/{name}"
                self._store.make_directory(source.rpartition("/")[0])
                if not self._store.share(f"{table}/{name}", source):
                    copied.append(size)
                target = self._names.get(f"{table}/{name}", f"{table}/{name}").partition("/")[2]
                part.moves.append(StagedMove(source, f"{version}/{target}", size, ""))
            part.switches.append(Switch(table, version))
        for table in sorted(self._gone):
            self._files(table)
            part.switches.append(Switch(table, ""))
        if copied:
            message = "the file system has no hard links: copied %s without changes, %s bytes"
            log.info(message, counted(len(copied), "file"), f"{sum(copied):,}")

    def _move(self, move: StagedMove) -> StagedMove:
        table, _, name = move.target.partition("/")
        return replace(move, target=f"{version_of(table, self._run)}/{name}") if table in self._tables else move

    def _files(self, table: str) -> list[tuple[str, int]]:
        """Return the files of a directory, also of others, with sizes. Raises: UsageError GG501 for other entries."""
        store = self._store
        if local_status(store.inner(table)) is None:
            return []
        if store.link_target(table) is not None and present_version(store, table) is None:
            raise existing_output_error(store, LINK_MESSAGE, table, LINK_HELP)
        found = []
        for name in sorted(os.listdir(store.inner(table))):
            status = os.lstat(store.inner(table, name))
            if not stat.S_ISREG(status.st_mode):
                message = "the directory of a table holds an entry that is not a file"
                raise existing_output_error(store, message, f"{table}/{name}", "move the entry away")
            found.append((name, status.st_size))
        return found

    def delete_expired(self, listed: Collection[str]) -> None:
        """Delete versions that were replaced long ago, after a commit. `listed`: the directories of its manifest."""
        store = self._store
        with suppress(*FAILURES):  # the next commit deletes them
            now = os.stat(store.inner(MANIFEST)).st_mtime
            for version in list(expired(store, now, listed)):
                store.delete_link(version)
                store.delete_tree(version)
                store.remove_if_empty(version.rpartition("/")[0])
            store.remove_if_empty(VERSIONS)


def find_versions(
    output: RowsDirectory, run: str, tables: Collection[str], earlier: Iterable[str], replaces_all: bool
) -> DirectoryVersions | None:
    """Return the versions of an output; None where its disk or its store can have none.

    earlier       the files of earlier runs with rows, by their names in the output
    replaces_all  tables that are not in this run go
    """
    store = output.store
    if not store.local:
        return None
    before = {name.partition("/")[0] for name in earlier if "/" in name}
    before = {name for name in before if not name.startswith("_")}
    every = {*before, *tables}
    if len({folded(name) for name in every}) < len(every) and knows_no_case(store):
        why = "names of tables differ only in case"
    elif not has_links(store, f"{staging_of(run)}/link", every):
        why = "the file system has no symbolic links"
    else:
        return DirectoryVersions(output, run, tables, before - {*tables} if replaces_all else ())
    message = "%s in `%s`: readers may see only some files of a table while a run commits"
    log.warning(message, why, visible(output.root.shown))
    return None
