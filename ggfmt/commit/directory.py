"""Output directories: the files that are in them, and what a run may do with these."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Iterator, Sequence
from datetime import datetime

import pyarrow.fs as pafs

from ggfmt.commit.commit import LINK_HELP, LINK_MESSAGE, Participant, write_errors_stop
from ggfmt.commit.journal import JOURNAL, POINTER, ROUND, read_document
from ggfmt.commit.names import EMBEDDED_CATALOG, METADATA_DIRECTORY, SUCCESS_FILE, moment_of
from ggfmt.commit.records import MANIFEST, RUNS, records
from ggfmt.commit.store import Store
from ggfmt.commit.versions import present_version
from ggfmt.diagnostics.diagnostic import UsageError
from ggfmt.location import is_directory, is_link, local_status

_LOST = "lost+found"  # of a file system, in its first directory
_OF_RUNS = {name.rpartition("/")[2] for name in (MANIFEST, RUNS, JOURNAL, POINTER, ROUND)}
_NOT_OF_OTHERS = (METADATA_DIRECTORY, SUCCESS_FILE, EMBEDDED_CATALOG, _LOST)


class OutputDirectory(Participant):
    what = "the output directory"
    has_success_file = True

    def check(self, handlers: Sequence[str], mode: str) -> list[str]:
        """Return the files that the run replaces under `overwrite`. Raises: UsageError GG501 if `mode` forbids the
        run, Abend GG506 if the directory cannot be read, GG509 if a record of it is damaged.

        `overwrite` replaces the files that the records of earlier runs list, and no others: it leaves other output
        directories within this one alone, and refuses a file that no record lists.
        """
        with write_errors_stop(self.root):
            return self._check(handlers, mode)

    def _check(self, handlers: Sequence[str], mode: str) -> list[str]:
        for handler in handlers:
            if self.store.is_link(handler):
                raise existing_output_error(self.store, LINK_MESSAGE, handler, LINK_HELP)
            if self.store.exists(f"{handler}/{METADATA_DIRECTORY}"):
                what = "the directory of the handler is a separate output directory"
                help = "choose another output directory, or rename the handler"
                raise existing_output_error(self.store, what, handler, help)
        if mode == "append":
            return []
        present = [name for handler in handlers for name in files_below(self.store, handler)]
        if mode == "error":
            help = "use `--mode append` or `--mode overwrite`, or choose another output directory"
            if present:
                raise existing_output_error(self.store, "the output directory already holds output", present[0], help)
            if handlers:
                refuse_foreign(self, "add files to this one with `--mode append`")
        if not present:
            return []
        listed: set[str] = set()
        for record in records(self.store):
            listed.update(name for name, entry in record.files(self.store) if entry.get("handler") in handlers)
        check_listed(self.store, present, listed)
        return present


def latest_moment(outputs: Iterable[Participant]) -> datetime | None:
    """Return the time in the names of the last run that is committed in directories, if there is one."""
    found = []
    for output in outputs:
        with write_errors_stop(output.root):
            document = read_document(output.store, MANIFEST)
        if document is not None:
            found.append(moment_of(f"{document.get('time')}-") or moment_of(str(document.get("run"))))
    return max(filter(None, found), default=None)


def check_listed(store: Store, present: Iterable[str], listed: Container[str]) -> None:
    """Raise UsageError GG501 for a file that ggfmt may not replace: a link, or a file that no manifest lists."""
    for name in present:
        if store.is_link(name):
            raise existing_output_error(store, LINK_MESSAGE, name, LINK_HELP)
        if name not in listed:
            help = "move the file away yourself, or choose another output directory"
            message = "the output directory holds a file that no manifest of ggfmt lists"
            raise existing_output_error(store, message, name, help)


def existing_output_error(store: Store, message: str, name: str, help: str) -> UsageError:
    return UsageError("GG501", message, store.shown(name), help)


def refuse_foreign(directory: Participant, other: str = "") -> None:
    """Raise UsageError GG501 for a directory that has files of others, and no run of ggfmt. `other`: what else helps.

    What starts with a dot does not count, and neither does what a run that was cut off has left.
    """
    found = _foreign_file(directory.store)
    if found is not None:
        help = "choose an empty or new directory" + f", or {other}" * bool(other)
        raise existing_output_error(directory.store, f"{directory.what} has files of others", found, help)


def _foreign_file(store: Store, directory: str = "") -> str | None:
    selector = pafs.FileSelector(store.inner(directory), allow_not_found=True)
    infos = {info.base_name: info for info in store.fs.get_file_info(selector)}
    others = [
        name
        for name in sorted(infos)
        if not name.startswith(".") and name not in _NOT_OF_OTHERS and moment_of(name) is None
    ]
    metadata = f"{directory}/{METADATA_DIRECTORY}".lstrip("/")
    if others and METADATA_DIRECTORY in infos and _OF_RUNS & {*store.names(metadata)}:
        return None
    for base in others:
        name = store.name_of(infos[base])
        is_link = store.local and os.path.islink(store.inner(name))
        is_directory = infos[base].type == pafs.FileType.Directory and not is_link
        found = _foreign_file(store, name) if is_directory else name
        if found is not None:
            return found
    return None


def output_files(store: Store) -> Iterator[str]:
    """Yield all files and symbolic links in an output directory except ggfmt's own, and other outputs in it. Of a
    directory with versions, the files of the present one."""
    for name in store.names(""):
        if name in (METADATA_DIRECTORY, SUCCESS_FILE, _LOST):
            continue
        is_foreign = store.link_target(name) is not None and present_version(store, name) is None
        if store.size(name) is not None or is_foreign:
            yield name
        else:
            yield from files_below(store, name)


def files_below(store: Store, directory: str) -> Iterator[str]:
    """Yield all files and symbolic links below a directory, in order. Links are not followed. Output directories within
    it, and a directory that is itself an output, are left out."""
    if store.local:
        yield from _on_disk(store, directory)
        return
    selector = pafs.FileSelector(store.inner(directory), recursive=True, allow_not_found=True)
    names = sorted(store.name_of(info) for info in store.fs.get_file_info(selector) if info.type == pafs.FileType.File)
    mark = f"/{METADATA_DIRECTORY}/"
    nested = tuple({name[: name.index(mark) + 1] for name in names if mark in name})
    yield from (name for name in names if not name.startswith(nested))


def _on_disk(store: Store, directory: str) -> Iterator[str]:
    if not is_directory(store.inner(directory)) or local_status(store.inner(directory, METADATA_DIRECTORY)):
        return
    for name in sorted(os.listdir(store.inner(directory))):
        path = f"{directory}/{name}"
        inner = store.inner(path)
        if is_directory(inner) and not is_link(inner):
            yield from _on_disk(store, path)
        else:
            yield path
