"""The checkpoint of repeated runs: which inputs committed runs have read, so that no later run reads them again.

It takes part in the commit of the output, so that an input is remembered if and only if its operations are there. Each
run adds a segment, and rewrites no other; small segments are put together now and then. A segment has blocks, one for
each run: a line that tells the run and how many lines follow, and a line for each input.

An input is known by its path, and on disks also by its inode with size, time and checksum, which a renaming does not
change. The checksum is of its first and last bytes.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from ggfmt.diagnostics.credentials import without_credentials
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic, Span, UsageError
from ggfmt.engine.files import InputFile, each_of, lines_of, read_ends, same_time, unreadable
from ggfmt.engine.output.commit import Part, Participant, cannot_write
from ggfmt.engine.output.journal import damaged, read_document
from ggfmt.engine.output.names import METADATA_DIRECTORY, counted
from ggfmt.engine.output.records import run_file
from ggfmt.engine.output.store import FAILURES
from ggfmt.engine.uris import plain
from ggfmt.java.text import visible

log = logging.getLogger("ggfmt")

DOCUMENT = f"{METADATA_DIRECTORY}/checkpoint.json"
SEGMENTS = f"{METADATA_DIRECTORY}/inputs"
END_BYTES = 64 << 10  # at each end of an input, for its checksum
MOST_SEGMENTS = 64  # before small ones are put together
SMALL_BYTES = 8 << 20  # of a segment
_VERSION = 1
_COARSE_NANOSECONDS = 2_000_000_000  # some file systems tell the time to two seconds


class OutputTarget(Protocol):
    """What a checkpoint is of: an output directory, and who writes to it."""

    @property
    def root(self) -> str: ...

    @property
    def handler(self) -> str: ...


class Seen(msgspec.Struct, frozen=True, array_like=True):
    """An input as a run has read it. `fresh`: it was written so shortly before that its time does not show whether it
    was written again."""

    path: str
    size: int
    modified: int | None
    inode: int | None
    digest: str
    fresh: bool

    @property
    def identity(self) -> tuple[int, int, int] | None:
        if self.inode is None or self.modified is None:
            return None
        return self.inode, self.size, self.modified


class _Block(msgspec.Struct, frozen=True):
    """The line before the inputs of a run. `number` counts runs: of two lines of one path the later run's holds."""

    number: int
    run: str
    inputs: int


@dataclass(frozen=True)
class Chosen:
    """What a run is to read, in order, and how many of the inputs were done before, or are left for later."""

    files: list[InputFile]
    done: int
    left: int

    def __str__(self) -> str:
        """Why there is nothing to do."""
        done, left = (counted(number, "input file") for number in (self.done, self.left))
        told = [f"{done} {_have(self.done)} been read by earlier runs"] if self.done else []
        told += [f"{left} {_have(self.left)} to wait for a later one"] if self.left else []
        return ", ".join(told) or "there is no input file"


def _have(number: int) -> str:
    return "has" if number == 1 else "have"


def open_checkpoint(
    directory: str | None, settle: float | None, mode: str, outputs: Sequence[Participant]
) -> Checkpoint | None:
    """The checkpoint of a run; UsageError GG513 for what makes no sense."""
    if directory is None:
        if settle is not None:
            message = "`--settle` needs `--checkpoint`: without one, no later run knows what was left for it"
            raise UsageError(Diagnostic("GG513", message, help="give a directory to `--checkpoint`"))
        return None
    try:
        checkpoint = Checkpoint(directory)
    except OSError as error:
        message = f"the checkpoint cannot be opened: {without_credentials(str(error))}"
        raise UsageError(Diagnostic("GG513", message, Span(file=directory), getattr(error, "help", None))) from None
    if mode == "overwrite":
        message = "`--mode overwrite` takes away what the checkpoint remembers"
        help = "leave out `--mode`, or `--checkpoint`; to begin again, remove the output and the checkpoint"
        raise UsageError(Diagnostic("GG513", message, Span(file=checkpoint.root), help))
    if plain(checkpoint.root) in {plain(output.root) for output in outputs}:
        message = "the checkpoint cannot be the output directory"
        raise UsageError(Diagnostic("GG513", message, Span(file=checkpoint.root), "give a directory of its own"))
    return checkpoint


class Checkpoint(Participant):
    """A directory that remembers inputs; one for one set of output directories and handlers."""

    what = "the checkpoint"

    def bind(self, targets: Sequence[OutputTarget], outputs: Sequence[Participant], mode: str) -> str:
        """The mode of the run: output of runs that the checkpoint knows of is added to. UsageError GG513 if it is of
        other output, or the output is not what those runs left."""
        document = read_document(self.store, DOCUMENT)
        if document is None:
            return mode
        if document.get("version") != _VERSION:
            raise damaged(self.store, DOCUMENT, "is of another version of ggfmt, or damaged")
        if document.get("outputs") != _outputs(targets):
            theirs = "; ".join(f"`{root}` by {_listed(names)}" for root, names in document["outputs"].items())
            message = f"the checkpoint is of other output: {theirs}"
            help = "give the same output and handlers as before, or another directory to `--checkpoint`"
            raise self._refused(message, help)
        for output in outputs:
            if not output.store.exists(run_file(document["run"])):
                root, run = plain(output.root), document["run"]
                message = f"`{root}` has no record of run {run}, which the checkpoint knows of"
                help = (
                    "bring the output back with its `_ggfmt`; or to read all inputs again, give another directory to "
                    "`--checkpoint`"
                )
                raise self._refused(message, help)
        return "append"

    def _refused(self, message: str, help: str) -> UsageError:
        return UsageError(Diagnostic("GG513", visible(message), Span(file=self.root), help))

    def choose(self, files: Sequence[InputFile], settle: float | None = None) -> Chosen:
        """Which files no committed run has read. With `settle`, one that was written to in the last so many seconds is
        left for later, and so are those that follow it in its INPUT, as operations keep their order.

        UsageError GG310 for every input that has changed since it was read, or cannot be read.
        """
        known = self._look_up(files)
        verdicts = [known.is_done(file) for file in files]
        problems = [verdict for verdict in verdicts if isinstance(verdict, Diagnostic)]
        if problems:
            raise UsageError(*problems)
        every = list(zip(files, verdicts, strict=True))
        new = [file for file, done in every if not done]
        _tell_of_late([(file, done, known.is_by_path(file)) for file, done in every])
        settled, waiting = _settled(new, settle)
        if waiting:
            first = waiting[0]
            when = f"which was written to less than {settle:g} seconds ago"
            if first.modified is not None and first.modified > time.time_ns():
                when = "whose time of modification is still to come"
            message = "left for a later run: %s, from `%s` on, %s"
            log.info(message, counted(len(waiting), "input file"), visible(first.shown), when)
        chosen = Chosen(settled, len(files) - len(new), len(waiting))
        if settled and chosen.done:
            log.info("%s to read; %s", counted(len(settled), "new input file"), chosen)
        return chosen

    def part(self, run: str, targets: Sequence[OutputTarget], files: Sequence[InputFile]) -> Part:
        """What a commit has to do here: the files are done. Abend GG310 if one is not there any more, GG506 if nothing
        can be written here."""
        seen = []
        for found in each_of(files, _seen):
            if isinstance(found, Diagnostic):
                raise Abend(found)
            seen.append(found)
        try:
            return self._part(run, targets, seen)
        except FAILURES as error:
            raise Abend(cannot_write(self.root, error, self.what)) from None

    def _part(self, run: str, targets: Sequence[OutputTarget], seen: Sequence[Seen]) -> Part:
        names = self.store.names(SEGMENTS)
        number = max((int(name.partition(".")[0]) for name in names), default=0) + 1
        encode = msgspec.json.encode
        content = b"".join(encode(line) + b"\n" for line in (_Block(number, run, len(seen)), *seen))
        part = Part(self)
        if len(names) >= MOST_SEGMENTS:
            sizes = self.store.sizes([f"{SEGMENTS}/{name}" for name in names])
            small = [name for name in sorted(sizes) if sizes[name] < SMALL_BYTES]
            content = b"".join([*(self.store.read(name) or b"" for name in small), content])
            part.deletes += small
        document = {"version": _VERSION, "run": run, "outputs": _outputs(targets)}
        part.moves += self.stage(
            [
                (f"{SEGMENTS}/{number:08d}.jsonl", content),
                (DOCUMENT, json.dumps(document, indent=2, ensure_ascii=False).encode()),
            ]
        )
        return part

    def _look_up(self, files: Sequence[InputFile]) -> _Known:
        """What the segments know of these files; no more of them is kept, since there may be millions of others."""
        paths = {_path(file) for file in files}
        identities = {identity for file in files if (identity := _identity(file)) is not None}
        known = _Known()
        numbers: dict[str, int] = {}
        for number, seen in self._records():
            if seen.path in paths and number >= numbers.get(seen.path, 0):
                numbers[seen.path] = number
                known.by_path[seen.path] = seen
            identity = seen.identity
            if identity in identities:
                known.by_identity[identity] = f"{known.by_identity.get(identity, '')} {seen.digest}"
        known.look_at([file for file in files if known.is_doubtful(file)])
        known.present = {
            identity for file in files if known.is_known(file) and (identity := _identity(file)) is not None
        }
        return known

    def _records(self) -> Iterator[tuple[int, Seen]]:
        """All that runs have read, and the numbers of the runs; one line at a time, as there may be millions."""
        decode_block, decode = msgspec.json.Decoder(_Block).decode, msgspec.json.Decoder(Seen).decode
        for name in self.store.names(SEGMENTS):
            path = f"{SEGMENTS}/{name}"
            with lines_of(self.store.fs, self.store.inner(path)) as lines:
                try:
                    for line in lines:
                        block = decode_block(line)
                        for _ in range(block.inputs):
                            yield block.number, decode(next(lines, b""))
                except ValueError:  # msgspec's errors are such
                    raise damaged(self.store, path, "is damaged") from None


@dataclass
class _Known:
    """What is known of the files of a run: of each path the last record, of each identity the checksums, and which
    identities are among the files, under whatever name. `digests` are those of files that have to be looked at."""

    by_path: dict[str, Seen] = field(default_factory=dict)
    by_identity: dict[tuple[int, int, int], str] = field(default_factory=dict)
    present: set[tuple[int, int, int]] = field(default_factory=set)
    digests: dict[str, str | Diagnostic] = field(default_factory=dict)

    def look_at(self, files: Sequence[InputFile]) -> None:
        found = each_of(files, _digest)
        self.digests = {file.path: digest for file, digest in zip(files, found, strict=True)}

    def is_by_path(self, file: InputFile) -> bool:
        """Whether a run has read a file of this path."""
        return _path(file) in self.by_path

    def is_doubtful(self, file: InputFile) -> bool:
        """Whether it takes the checksum of a file to see if it was read."""
        seen = self.by_path.get(_path(file))
        if seen is not None and _is_same(file, seen):
            return False
        return _identity(file) in self.by_identity or (seen is not None and seen.size == file.size)

    def is_known(self, file: InputFile) -> bool:
        """Whether a run has read this very file, by whatever name it had."""
        digests = self.by_identity.get(_identity(file) or (-1, -1, -1))
        if digests is None:
            return False
        digest = self.digests.get(file.path)
        return digest is None or (isinstance(digest, str) and digest in digests)

    def is_done(self, file: InputFile) -> bool | Diagnostic:
        """Whether a file has been read; the diagnostic if it is another one than that which was."""
        seen, digest = self.by_path.get(_path(file)), self.digests.get(file.path)
        if isinstance(digest, Diagnostic):
            return digest
        if _identity(file) in self.present:
            return True
        if seen is None:
            return False
        if seen.size == file.size and digest in (None, seen.digest):
            return True
        if seen.identity in self.present:  # it has another name today, and this one is of another file
            return False
        what = "its first or last bytes are others" if seen.size == file.size else f"{seen.size} bytes then"
        message = f"the input has changed since a committed run read it: {what}, {file.size} bytes now"
        return Diagnostic("GG310", message, Span(file=file.shown), _CHANGED_HELP)


def _is_same(file: InputFile, seen: Seen) -> bool:
    """Whether a file is as it was read, by what the file system tells."""
    same = seen.size == file.size and seen.inode == file.inode and same_time(file, seen.modified)
    return same and not seen.fresh


_CHANGED_HELP = (
    "what was added to it needs a file of its own; move this one out of the input, and let `--settle` wait longer for "
    "files that grow"
)


def _identity(file: InputFile) -> tuple[int, int, int] | None:
    if file.inode is None or file.modified is None:
        return None
    return file.inode, file.size, file.modified


def _path(file: InputFile) -> str:
    """The path of a file as the checkpoint has it: without credentials, and one for all ways to write it."""
    path = plain(file.path)
    try:
        path.encode()
    except UnicodeEncodeError:
        return f"bytes:{os.fsencode(path).hex()}"
    return path


def _digest(file: InputFile) -> str | Diagnostic:
    """The checksum of the ends of a file; the diagnostic if it cannot be read."""
    try:
        return hashlib.sha256(read_ends(file, END_BYTES)).hexdigest()[:32]
    except FAILURES as error:
        return unreadable(file.shown, error)


def _seen(file: InputFile) -> Seen | Diagnostic:
    fresh = file.modified is None or time.time_ns() - file.modified < _COARSE_NANOSECONDS
    digest = _digest(file)
    if isinstance(digest, Diagnostic):
        return digest
    return Seen(_path(file), file.size, file.modified, file.inode, digest, fresh)


def _settled(files: Sequence[InputFile], settle: float | None) -> tuple[list[InputFile], list[InputFile]]:
    """The files that may be read, and those that have to wait: one that was just written to, and all behind it in the
    same INPUT."""
    if settle is None:
        return list(files), []
    limit = time.time_ns() - int(settle * 1_000_000_000)
    held: set[int] = set()
    ready: list[InputFile] = []
    waiting: list[InputFile] = []
    for file in files:
        if file.modified is not None and file.modified > limit:
            held.add(file.argument)
        (waiting if file.argument in held else ready).append(file)
    return ready, waiting


def _tell_of_late(every: Sequence[tuple[InputFile, object, bool]]) -> None:
    """Warns of new files that stand before others of their INPUT that were read by earlier runs, under the names that
    they have today: logs that are renamed stand behind the new one."""
    last = {file.argument: number for number, (file, done, by_path) in enumerate(every) if done and by_path}
    late = [file for number, (file, done, _) in enumerate(every) if not done and number < last.get(file.argument, -1)]
    if late:
        message = "%s in order before others that earlier runs have read, the first is `%s`: their operations follow"
        log.warning(message, counted(len(late), "new input file"), visible(late[0].shown))


def _outputs(targets: Sequence[OutputTarget]) -> dict[str, list[str]]:
    """The output directories and the handlers that write to them."""
    outputs: dict[str, list[str]] = {}
    for target in targets:
        outputs.setdefault(plain(target.root), []).append(target.handler)
    return {root: sorted(names) for root, names in sorted(outputs.items())}


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
