"""The checkpoint of repeated runs: which inputs committed runs have read, so that no later run reads them again.

It takes part in the commit of the output, so that an input is remembered if and only if its operations are there. Each
run adds a segment, and rewrites no other; small segments are put together now and then. A segment has blocks, one for
each run: a line with the run and the number of lines that follow, and a line for each input.

An input is known by its content (`recognition`). A file that was recognized under another path, inode or time gets a
new record at every run, so that later runs need not open it.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import msgspec

from ggfmt.commit.commit import CommitPart, Participant, commit, write_error
from ggfmt.commit.journal import damaged, read_document
from ggfmt.commit.names import METADATA_DIRECTORY, counted
from ggfmt.commit.records import run_file
from ggfmt.commit.store import FAILURES
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic, Span, UsageError, without_credentials
from ggfmt.java.text import visible
from ggfmt.location import Location
from ggfmt.scan.content import Content, examine
from ggfmt.scan.files import InputFile, map_files
from ggfmt.scan.processed_inputs import UNMEASURED, ProcessedInput, Verdict, recognize
from ggfmt.scan.recognition import PlannedInput

log = logging.getLogger("ggfmt")

DOCUMENT = f"{METADATA_DIRECTORY}/checkpoint.json"
SEGMENTS = f"{METADATA_DIRECTORY}/inputs"
MOST_SEGMENTS = 64  # before small ones are put together
SMALL_BYTES = 8 << 20  # of a segment
_VERSION = 2
_READABLE = (1, _VERSION)
_COARSE_NANOSECONDS = 2_000_000_000  # some file systems record time to two seconds


class OutputTarget(Protocol):
    """An output directory and a handler that writes to it."""

    @property
    def root(self) -> Location: ...

    @property
    def handler(self) -> str: ...


class _SegmentHeader(msgspec.Struct, frozen=True):
    """The line before the inputs of a run. `number` counts runs: of two lines of one path the later run's holds."""

    number: int
    run: str
    inputs: int


@dataclass(frozen=True)
class InputSelection:
    """The files to read, in order, and the numbers of files that earlier runs read and that later runs will read."""

    files: list[InputFile]
    done: int
    left: int

    def __str__(self) -> str:
        """Why no file is left to read."""
        done, left = (counted(number, "input file") for number in (self.done, self.left))
        reasons = [f"{done} {_have(self.done)} been read by earlier runs"] if self.done else []
        reasons += [f"{left} {_have(self.left)} to wait for a later one"] if self.left else []
        return ", ".join(reasons) or "there is no input file"


def _have(number: int) -> str:
    return "has" if number == 1 else "have"


def open_checkpoint(
    directory: str | None, settle: float | None, mode: str, outputs: Sequence[Participant]
) -> Checkpoint | None:
    """Open the checkpoint of a run. UsageError GG513 for options that exclude each other."""
    if directory is None:
        if settle is not None:
            message = "`--settle` needs `--checkpoint`: without one, no later run knows what was left for it"
            raise UsageError(Diagnostic("GG513", message, help="give a directory to `--checkpoint`"))
        return None
    try:
        checkpoint = Checkpoint(Location.of(directory))
    except OSError as error:
        message = f"the checkpoint cannot be opened: {without_credentials(str(error))}"
        raise UsageError(Diagnostic("GG513", message, Span(file=directory), getattr(error, "help", None))) from None
    if mode == "overwrite":
        message = "`--mode overwrite` takes away what the checkpoint remembers"
        help = "leave out `--mode`, or `--checkpoint`; to begin again, remove the output and the checkpoint"
        raise UsageError(Diagnostic("GG513", message, Span(file=checkpoint.root.shown), help))
    if checkpoint.root.canonical in {output.root.canonical for output in outputs}:
        message = "the checkpoint cannot be the output directory"
        raise UsageError(Diagnostic("GG513", message, Span(file=checkpoint.root.shown), "give a directory of its own"))
    return checkpoint


class Checkpoint(Participant):
    """A directory with the records of inputs, for one set of output directories and handlers."""

    what = "the checkpoint"

    def __init__(self, root: Location) -> None:
        super().__init__(root)
        self._renewed: list[ProcessedInput] = []

    def bind(self, targets: Sequence[OutputTarget], outputs: Sequence[Participant], mode: str) -> str:
        """Return the mode of the run: `append` if the checkpoint has runs. UsageError GG513 if it belongs to other
        output, or the output has lost the record of such a run."""
        document = read_document(self.store, DOCUMENT)
        if document is None:
            return mode
        if document.get("version") not in _READABLE:
            raise damaged(self.store, DOCUMENT, "is of another version of ggfmt, or damaged")
        if document.get("outputs") != _outputs(targets):
            theirs = "; ".join(f"`{root}` by {_listed(names)}" for root, names in document["outputs"].items())
            message = f"the checkpoint is of other output: {theirs}"
            help = "give the same output and handlers as before, or another directory to `--checkpoint`"
            raise self._refused(message, help)
        for output in outputs:
            if not output.store.exists(run_file(document["run"])):
                root, run = output.root.canonical, document["run"]
                message = f"`{root}` has no record of run {run}, which the checkpoint knows of"
                help = (
                    "bring the output back with its `_ggfmt`; or to read all inputs again, give another directory to "
                    "`--checkpoint`"
                )
                raise self._refused(message, help)
        return "append"

    def _refused(self, message: str, help: str) -> UsageError:
        return UsageError(Diagnostic("GG513", visible(message), Span(file=self.root.shown), help))

    def choose(self, files: Sequence[InputFile], settle: float | None = None) -> InputSelection:
        """Select the files that no committed run has read. With `settle`, a file that was written to in the last
        `settle` seconds waits for a later run, and so do those after it in its INPUT: operations keep their order.

        UsageError GG310 for every input that has changed since it was read, is a copy of one, or cannot be read.
        """
        verdicts = recognize(files, _path, self._records, examine)
        problems = [verdict.problem for verdict in verdicts if verdict.problem is not None]
        if problems:
            raise UsageError(*problems)
        every = list(zip(files, verdicts, strict=True))
        new = [file for file, verdict in every if not verdict.done]
        self._renewed = [seen for file, verdict in every if (seen := _renewed(file, verdict)) is not None]
        _warn_late_files([(file, verdict.done, _has_kept_its_name(file, verdict)) for file, verdict in every])
        settled, waiting = _settled(new, settle)
        if waiting:
            first = waiting[0]
            when = f"which was written to less than {settle:g} seconds ago"
            if first.modified is not None and first.modified > time.time_ns():
                when = "whose time of modification is still to come"
            message = "left for a later run: %s, from `%s` on, %s"
            log.info(message, counted(len(waiting), "input file"), visible(first.shown), when)
        chosen = InputSelection(settled, len(files) - len(new), len(waiting))
        if settled and chosen.done:
            log.info("%s to read; %s", counted(len(settled), "new input file"), chosen)
        return chosen

    def part(self, run: str, targets: Sequence[OutputTarget], inputs: Sequence[PlannedInput]) -> CommitPart:
        """The part of a commit that records the files as read. Abend GG310 if a file is gone, GG506 if ggfmt cannot
        write here."""
        seen = []
        plans = {item.file.location: item for item in inputs}
        for found in map_files([item.file for item in inputs], lambda file: _seen(plans[file.location])):
            if isinstance(found, Diagnostic):
                raise Abend(found)
            seen.append(found)
        _warn_equal_files(seen, inputs)
        document = {"version": _VERSION, "run": run, "outputs": _outputs(targets)}
        try:
            return self._part(run, document, [*seen, *self._renewed])
        except FAILURES as error:
            raise Abend(write_error(self.root, error, self.what)) from None

    def record_renewed(self, run: str) -> None:
        """Commit the new names, inodes and times of files that `choose` recognized, for a run that has nothing to read.

        If that fails, log a warning: the next run recognizes the files by their content again.
        """
        document = read_document(self.store, DOCUMENT) if self._renewed else None
        if document is None:
            return
        try:
            commit(run, [self._part(run, {**document, "version": _VERSION}, self._renewed)])
        except (Abend, *FAILURES) as error:
            message = "%s: new names and times of files were not recorded, so that the next run opens them again: %s"
            log.warning(message, visible(self.root.shown), visible(str(error)))

    def _part(self, run: str, document: dict[str, object], seen: Sequence[ProcessedInput]) -> CommitPart:
        names = self.store.names(SEGMENTS)
        number = max((int(name.partition(".")[0]) for name in names), default=0) + 1
        encode = msgspec.json.encode
        content = b"".join(encode(line) + b"\n" for line in (_SegmentHeader(number, run, len(seen)), *seen))
        part = CommitPart(self)
        if len(names) >= MOST_SEGMENTS:
            sizes = self.store.sizes([f"{SEGMENTS}/{name}" for name in names])
            small = [name for name in sorted(sizes) if sizes[name] < SMALL_BYTES]
            content = b"".join([*(self.store.read(name) or b"" for name in small), content])
            part.deletes += small
        part.moves += self.stage(
            [
                (f"{SEGMENTS}/{number:08d}.jsonl", content),
                (DOCUMENT, json.dumps(document, indent=2, ensure_ascii=False).encode()),
            ]
        )
        return part

    def _records(self) -> Iterator[tuple[int, ProcessedInput]]:
        """All records with the numbers of their runs, one line at a time: there may be millions."""
        decode_block, decode = msgspec.json.Decoder(_SegmentHeader).decode, msgspec.json.Decoder(ProcessedInput).decode
        for name in self.store.names(SEGMENTS):
            path = f"{SEGMENTS}/{name}"
            with self.store.lines(path) as lines:
                try:
                    for line in lines:
                        block = decode_block(line)
                        for _ in range(block.inputs):
                            yield block.number, decode(next(lines, b""))
                except ValueError:  # msgspec's errors are such
                    raise damaged(self.store, path, "is damaged") from None


def _path(file: InputFile) -> str:
    """The path of a file in the checkpoint: without credentials, the same for all spellings."""
    path = file.location.canonical
    try:
        path.encode()
    except UnicodeEncodeError:
        return f"bytes:{os.fsencode(path).hex()}"
    return path


def _seen(item: PlannedInput) -> ProcessedInput | Diagnostic:
    """The record of a file that a run has read."""
    content = examine(item.file)
    if isinstance(content, Diagnostic):
        return content
    layout = item.layout
    lined = layout.splittable and layout.delimiter in (b"", b"\n", b"\r\n")
    start = max(layout.skipped, content.header)
    whole = content.whole
    if whole is not None and (content.blank or (content.only_metadata and lined)):
        start = whole[0]
    return _recorded(item.file, content, ProcessedInput("", 0, None, None, "", False, start=start, lined=lined))


def _recorded(file: InputFile, content: Content, known: ProcessedInput) -> ProcessedInput:
    """The record of a file as it is, with the layout of a known one."""
    return msgspec.structs.replace(
        known,
        path=_path(file),
        size=file.size,
        modified=file.modified,
        inode=file.inode,
        digest=content.stored[1],
        fresh=file.modified is None or time.time_ns() - file.modified < _COARSE_NANOSECONDS,
        lines=content.digests,
        first=content.first_operation(known.start),
        unpacked=None if file.compression is None else content.whole or UNMEASURED,
        version=_VERSION,
    )


def _renewed(file: InputFile, verdict: Verdict) -> ProcessedInput | None:
    """The new record of a file that was recognized by its content; None if the old one still fits."""
    known, content = verdict.record, verdict.content
    if not verdict.done or known is None or content is None:
        return None
    seen = _recorded(file, content, known)
    seen = msgspec.structs.replace(seen, origin=known.read, renamed=known.renamed or known.path != seen.path)
    same = msgspec.structs.replace(known, origin=seen.origin, version=_VERSION)
    return None if seen == same and known.version == _VERSION else seen


def _has_kept_its_name(file: InputFile, verdict: Verdict) -> bool:
    """Whether a file still has the name under which a run read it."""
    known = verdict.record
    return known is not None and known.path == _path(file) and not known.renamed


def _settled(files: Sequence[InputFile], settle: float | None) -> tuple[list[InputFile], list[InputFile]]:
    """The files to read now, and those that wait: a file that was just written to, and all after it in the same
    INPUT."""
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


def _warn_late_files(every: Sequence[tuple[InputFile, object, bool]]) -> None:
    """Warn of new files that precede files of their INPUT which earlier runs have read under their present names.
    Renamed logs follow the new one, and cause no warning."""
    last = {file.argument: number for number, (file, done, by_path) in enumerate(every) if done and by_path}
    late = [file for number, (file, done, _) in enumerate(every) if not done and number < last.get(file.argument, -1)]
    if late:
        message = "%s in order before others that earlier runs have read, the first is `%s`: their operations follow"
        log.warning(message, counted(len(late), "new input file"), visible(late[0].shown))


def _warn_equal_files(seen: Sequence[ProcessedInput], inputs: Sequence[PlannedInput]) -> None:
    """Warn of files of one run that have the same content: ggfmt reads each of them."""
    first: dict[object, PlannedInput] = {}
    equal = []
    for record, item in zip(seen, inputs, strict=True):
        before = first.setdefault(record.read, item)
        if before is not item and not record.is_idle:
            equal.append((before, item))
    if equal:
        message = "%s with the same content as another one: ggfmt reads all of them; the first is `%s`, a copy of `%s`"
        before, item = equal[0]
        number = counted(len(equal), "new input file")
        log.warning(message, number, visible(item.file.shown), visible(before.file.shown))


def _outputs(targets: Sequence[OutputTarget]) -> dict[str, list[str]]:
    """The output directories and the handlers that write to them."""
    outputs: dict[str, list[str]] = {}
    for target in targets:
        outputs.setdefault(target.root.canonical, []).append(target.handler)
    return {root: sorted(names) for root, names in sorted(outputs.items())}


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
