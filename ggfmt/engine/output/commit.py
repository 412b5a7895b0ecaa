"""The commit: staged files get their final names all at once, or none does.

Once every task has succeeded, a journal that lists all moves is put in place with one rename: from then on the run is
committed. A journal that is found at the start of a later run was left by a driver that died, and is carried out to the
end. Without a journal, what is in staging belongs to no one and is removed.

A run may write to several output directories (handlers with a `rootFilePath` of their own). The first holds the
journal; the others hold a pointer to it, written before it, that means nothing unless the journal exists.
"""

from __future__ import annotations

import base64
import json
import os
import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import IO, Any

import pyarrow as pa
import pyarrow.fs as pafs

from ggfmt.diagnostics.diagnostic import Abend, Diagnostic, Span, UsageError
from ggfmt.engine.files import child, file_system, is_local
from ggfmt.engine.output.names import METADATA_DIRECTORY, SUCCESS_FILE

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows has no advisory locks of this kind
    fcntl = None  # type: ignore[assignment]

MODES = {
    "error": "refuse to write where there is output already",
    "append": "add files to those that are there",
    "overwrite": "replace what the same handlers wrote before",
}

_JOURNAL, _POINTER, _STAGING, _LOCK, _MANIFEST = "journal.json", "pointer.json", "staging", "lock", "manifest.json"


@dataclass(frozen=True)
class Journal:
    """What is left to be done once a run is decided: `moves` from staging to final names, `deletes` of what the run
    replaces, `writes` of small files (path to Base64)."""

    run: str
    roots: tuple[str, ...]
    moves: tuple[tuple[str, str], ...]
    deletes: tuple[str, ...]
    writes: tuple[tuple[str, str], ...]


class OutputDirectory:
    """One output directory, held by one run at a time."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.fs, self.path = file_system(root)
        self._lock: IO[str] | None = None

    def metadata(self, *names: str) -> str:
        return child(self.path, METADATA_DIRECTORY, *names)

    def staging(self, run: str) -> str:
        """The staging directory of a run, as a path or URI."""
        return child(self.root, METADATA_DIRECTORY, _STAGING, run)

    def drop_staging(self) -> None:
        """Removes what runs have in staging."""
        if self.fs.get_file_info(self.metadata(_STAGING)).type == pafs.FileType.Directory:
            self.fs.delete_dir(self.metadata(_STAGING))

    def acquire(self) -> None:
        """Takes the directory for this run; carries out a journal that an earlier run left, and removes its staging.

        UsageError if another run holds it, Abend if it cannot be made."""
        try:
            self.fs.create_dir(self.metadata())
            self._take_lock()
            self._recover()
            self.drop_staging()
        except (OSError, pa.ArrowException) as error:
            self._free_lock()
            raise Abend(_cannot_write(self.root, error)) from None
        except UsageError:  # another run holds this directory, or the first one of a commit that is to be ended
            self._free_lock()
            raise

    def release(self) -> None:
        """Removes the staging directory, unless a journal still needs it, and gives the output directory free."""
        try:
            if self._read(self.metadata(_JOURNAL)) is None and self._read(self.metadata(_POINTER)) is None:
                self.drop_staging()
        except (OSError, pa.ArrowException):
            pass  # a later run will remove it
        self._free_lock()
        self._remove_if_empty(self.metadata())
        self._remove_if_empty(self.path)

    def check(self, handlers: Sequence[str], mode: str) -> list[str]:
        """The files that the run replaces under `overwrite`; UsageError if `mode` does not allow the run."""
        files = [
            child(self.root, info.path[len(self.path) :].lstrip("/"))
            for handler in handlers
            for info in self._files(child(self.path, handler))
        ]
        if mode == "append" or not files:
            return []
        place = Span(file=files[0])
        if mode == "error":
            help = "give `--mode append` or `--mode overwrite`, or another output directory"
            raise UsageError(Diagnostic("GG501", "the output directory already holds output", place, help))
        if self.fs.get_file_info(self.metadata(_MANIFEST)).type != pafs.FileType.File:
            help = "remove it yourself, or give another output directory"
            raise UsageError(
                Diagnostic("GG501", "the output directory holds files that ggfmt did not write", place, help)
            )
        return files

    def existing(self, directory: str) -> set[str]:
        """Names of the files in a directory below the root."""
        return {os.path.basename(info.path) for info in self._files(child(self.path, directory), recursive=False)}

    def _files(self, directory: str, recursive: bool = True) -> list[pafs.FileInfo]:
        infos = self.fs.get_file_info(pafs.FileSelector(directory, recursive=recursive, allow_not_found=True))
        return [info for info in infos if info.type == pafs.FileType.File]

    def _take_lock(self) -> None:
        if fcntl is None or not is_local(self.fs):
            return
        path = self.metadata(_LOCK)
        while self._lock is None:
            lock = open(path, "w", encoding="utf-8")  # noqa: SIM115 - held until the run ends
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.exists(path) and os.path.samestat(os.fstat(lock.fileno()), os.stat(path)):
                    self._lock = lock  # and not of a file that its last holder has removed in the meantime
            except BlockingIOError:
                diagnostic = Diagnostic("GG501", "another run is writing to the output directory", Span(file=self.root))
                raise UsageError(diagnostic) from None
            finally:
                if self._lock is None:
                    lock.close()

    def _free_lock(self) -> None:
        if self._lock is not None:
            os.unlink(self._lock.name)
            self._lock.close()
            self._lock = None

    def _recover(self) -> None:
        pointed = self._read(self.metadata(_POINTER))
        if pointed is not None:
            first = OutputDirectory(pointed["root"])
            journal = first._read(first.metadata(_JOURNAL))
            if journal is not None and journal["run"] == pointed["run"]:
                first._take_lock()
                try:
                    _carry_out(_journal(journal))
                finally:
                    first._free_lock()
            _delete(self.fs, self.metadata(_POINTER))
        journal = self._read(self.metadata(_JOURNAL))
        if journal is not None:
            _carry_out(_journal(journal))

    def _read(self, path: str) -> dict[str, Any] | None:
        if self.fs.get_file_info(path).type != pafs.FileType.File:
            return None
        with self.fs.open_input_stream(path) as stream:
            document: dict[str, Any] = json.loads(stream.read())
            return document

    def put(self, name: str, document: object) -> None:
        """Writes a JSON document into the metadata directory with one rename: it is there whole or not at all."""
        path = self.metadata(name)
        draft = f"{path}.{uuid.uuid4().hex}"
        _write(self.fs, draft, json.dumps(document).encode())
        self.fs.move(draft, path)

    def _remove_if_empty(self, directory: str) -> None:
        if not is_local(self.fs):
            return
        try:
            os.rmdir(directory)
        except OSError:
            pass


def commit(outputs: Sequence[OutputDirectory], journal: Journal) -> None:
    """Commits a run. If the process dies in here, the next run finds the journal and ends the work."""
    first = outputs[0]
    for other in outputs[1:]:
        other.put(_POINTER, {"root": first.root, "run": journal.run})
    first.put(_JOURNAL, asdict(journal))
    _carry_out(journal)


def manifest_path(root: str) -> str:
    return child(root, METADATA_DIRECTORY, _MANIFEST)


def small_write(path: str, content: bytes) -> tuple[str, str]:
    """An entry for `Journal.writes`."""
    return path, base64.b64encode(content).decode()


def _journal(document: dict[str, Any]) -> Journal:
    return Journal(
        document["run"],
        tuple(document["roots"]),
        tuple((source, target) for source, target in document["moves"]),
        tuple(document["deletes"]),
        tuple((path, content) for path, content in document["writes"]),
    )


def _carry_out(journal: Journal) -> None:
    """Does what the journal lists; what is done already stays done, so that it can be carried out again."""
    outputs = [OutputDirectory(root) for root in journal.roots]
    for output in outputs:
        _delete(output.fs, child(output.path, SUCCESS_FILE))
    targets = {target for _, target in journal.moves}
    for path in journal.deletes:
        if path not in targets:
            _delete(*file_system(path))
    for source, target in journal.moves:
        fs, inner = file_system(source)
        _, goal = file_system(target)
        if fs.get_file_info(inner).type == pafs.FileType.File:
            fs.create_dir(goal.rsplit("/", 1)[0])
            _rename(fs, inner, goal)
    for path, content in journal.writes:
        fs, inner = file_system(path)
        fs.create_dir(inner.rsplit("/", 1)[0])
        _write(fs, inner, base64.b64decode(content))
    for output in outputs:
        _write(output.fs, child(output.path, SUCCESS_FILE), b"")
        output.drop_staging()
    for output in outputs[1:]:
        _delete(output.fs, output.metadata(_POINTER))
    _delete(outputs[0].fs, outputs[0].metadata(_JOURNAL))


def _rename(fs: pafs.FileSystem, source: str, target: str) -> None:
    fs.move(source, target)


def _write(fs: pafs.FileSystem, path: str, content: bytes) -> None:
    with fs.open_output_stream(path) as stream:
        stream.write(content)


def _delete(fs: pafs.FileSystem, path: str) -> None:
    if fs.get_file_info(path).type == pafs.FileType.File:
        fs.delete_file(path)


def _cannot_write(root: str, error: Exception) -> Diagnostic:
    reason = getattr(error, "strerror", None) or str(error).split("\n", 1)[0]
    return Diagnostic("GG506", f"the output directory cannot be written: {reason}", Span(file=root))
