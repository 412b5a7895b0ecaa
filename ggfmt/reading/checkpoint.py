"""The checkpoint of repeated runs: which inputs committed runs have read, so that no later run reads them again.

It takes part in the commit of the output, so that an input is remembered if and only if its operations are there. Each
run adds a segment, and rewrites no other; small segments are put together now and then. A segment has blocks, one for
each run: a line with the run and the number of lines that follow, and a line for each input.

An input is known by its content (`recognition`). A file that was recognized under another path, inode or time gets a
new record at every run, so that later runs need not open it.
"""

from __future__ import annotations

import logging
import os
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import msgspec

from ggfmt.commit.commit import CommitPart, Participant, commit, write_errors_stop
from ggfmt.commit.directory import refuse_foreign
from ggfmt.commit.journal import damaged, read_document
from ggfmt.commit.names import METADATA_DIRECTORY, counted
from ggfmt.commit.records import MANIFEST, as_bytes, run_file
from ggfmt.commit.store import FAILURES
from ggfmt.dataclasses import dataclass, replace
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic, UsageError, without_credentials
from ggfmt.java.text import visible
from ggfmt.kafka import is_kafka
from ggfmt.location import Location
from ggfmt.model.selection import ALL_TABLES, TableSelection
from ggfmt.reading.content import DIGEST_DIGITS, END_BYTES, Content, Ends, digests_at, examine, measure
from ggfmt.reading.files import COMPRESSIONS, InputFile, has_same_mtime, map_files, unreadable
from ggfmt.reading.listing import NO_LIMITS, CommitLimits
from ggfmt.reading.recognition import PlannedInput

log = logging.getLogger("ggfmt")

PAGE = "checkpoints"  # the topic of the documents
DOCUMENT = f"{METADATA_DIRECTORY}/checkpoint.json"
SEGMENTS = f"{METADATA_DIRECTORY}/inputs"
MAX_SEGMENTS = 64  # before small ones are put together
SMALL_BYTES = 8 << 20  # of a segment
_VERSION = 2
_SELECTION_VERSION = 3  # of a document with a selection, which earlier versions of ggfmt would not see
_READABLE = (1, _VERSION, _SELECTION_VERSION)
_SELECTION = "selection"
_COARSE_NANOSECONDS = 2_000_000_000  # some file systems record time to two seconds

# Which files of a run have been read by earlier runs: content decides, names and inodes choose between equal files. A
# file that is as the last record of its path has it is not opened. Any other is compared with the records that may be
# of its content. Files of one content are matched one to one, so that equal files that were read stay several.

UNMEASURED: Ends = (-1, "")
_MAX_CANDIDATES = 64  # records of other content that begin alike, for each beginning; one is enough for an error


def warn_rejected_files_are_done() -> None:
    log.warning(
        "the checkpoint counts files with rejected records as read, and no later run reads them again. Put the "
        "corrected records into a new file: see `ggfmt docs handle-bad-records`"
    )


class ProcessedInput(msgspec.Struct, frozen=True, array_like=True):
    """An input as a run has read it, or as a later run has recognized it. The members from `lines` on are missing in
    records of version 1. Of a partition of a topic: its address as `path`, its first offset as `start`, its end as
    `size`, and by what it is known again as `lines`.

    unpacked  size and checksum of the decompressed content of a compressed file; `UNMEASURED` of a large one
    """

    path: str
    size: int
    modified: int | None
    inode: int | None
    digest: str
    fresh: bool  # the file was written so shortly before that its time does not show whether it was written again
    lines: str = ""  # digests of the first lines of the decompressed content
    start: int = 0  # bytes of a header, before the first record; the whole size if the file contains no operation
    first: int = 0  # the number of the digest of the first line that is a record
    lined: bool = False  # each line is a record
    unpacked: Ends | None = None
    origin: Ends | None = None  # for a file that was recognized and not read: the content that was read
    renamed: bool = False  # it was read under another name
    version: int = 1

    @property
    def content(self) -> Ends | None:
        """Size and checksum of the decompressed content; None if they are unknown."""
        if self.is_packed:
            return self.unpacked if self.unpacked != UNMEASURED else None
        return self.size, self.digest

    @property
    def is_packed(self) -> bool:
        return self.unpacked is not None or (self.version == 1 and _unpacked_path(self.path) is not None)

    @property
    def read(self) -> Ends:
        return self.origin or self.content or (self.size, self.digest)

    @property
    def offsets(self) -> tuple[int, int] | None:
        return (self.start, self.size) if is_kafka(self.path) else None

    def is_of(self, file: InputFile) -> bool:
        same = self.size == file.size and self.inode == file.inode and has_same_mtime(file, self.modified)
        return same and not self.fresh

    def is_near(self, file: InputFile, path: str) -> bool:
        return self.path == path or (self.inode is not None and self.inode == file.inode)

    @property
    def is_idle(self) -> bool:
        """Whether the file contained no operation, so that nothing can be read twice."""
        content = self.content
        return self.size == 0 or (content is not None and self.version > 1 and self.start >= content[0])

    def line(self, number: int) -> str:
        return self.lines[number * DIGEST_DIGITS : (number + 1) * DIGEST_DIGITS]

    @property
    def last(self) -> int:
        return len(self.lines) // DIGEST_DIGITS - 1


@dataclass(frozen=True)
class ChangedFile:
    file: InputFile
    path: str
    content: Content


@dataclass(frozen=True)
class MatchResult:
    """What is known of one file: `done` if it was read, `problem` if it cannot be read and must not be left out.
    `record` is the record whose content it has, `content` what a look at it has shown."""

    done: bool = False
    problem: Diagnostic | None = None
    record: ProcessedInput | None = None
    content: Content | None = None


def recognize(
    files: Sequence[InputFile], records: Callable[[], Iterator[tuple[int, ProcessedInput]]]
) -> list[MatchResult]:
    """Return the result on each file. `records` streams all records, each with the number of its run: there may be
    millions, so that only those that matter to these files are kept."""
    paths = [_path(file) for file in files]
    latest, old = _latest(set(paths), records)
    results: list[MatchResult | None] = []
    for file, path in zip(files, paths, strict=True):
        seen = latest.get(path)
        results.append(MatchResult(True, record=seen) if seen is not None and seen.is_of(file) else None)
    left = [number for number, result in enumerate(results) if result is None]
    if left and old is not None:
        changed: dict[int, ChangedFile] = {}
        for number, found in zip(left, map_files([files[number] for number in left], examine), strict=True):
            if isinstance(found, Diagnostic):
                results[number] = MatchResult(problem=found)
            else:
                if old and found.whole is None and found.damaged is None:
                    found = _measured(files[number], found)
                changed[number] = ChangedFile(files[number], paths[number], found)
        taken = [(file, result.record) for file, result in zip(files, results, strict=True) if result is not None]
        matcher = _InputMatcher(_Records(list(changed.values()), records), latest)
        matcher.take([(file, record) for file, record in taken if record is not None])
        for number, result in matcher.match(changed).items():
            results[number] = result
    return [result or MatchResult() for result in results]


def _latest(
    paths: set[str], records: Callable[[], Iterator[tuple[int, ProcessedInput]]]
) -> tuple[dict[str, ProcessedInput], bool | None]:
    """Return the last record of each path, and whether there are records of version 1; None if there are none."""
    latest: dict[str, tuple[int, ProcessedInput]] = {}
    old: bool | None = None
    for number, seen in records():
        old = old or seen.version == 1
        if seen.path in paths and (seen.path not in latest or number >= latest[seen.path][0]):
            latest[seen.path] = number, seen
    return {path: seen for path, (_, seen) in latest.items()}, old


def _measured(file: InputFile, content: Content) -> Content:
    try:
        return measure(file, content)
    except FAILURES as error:
        return replace(content, damaged=error)


class _Records:
    """The records that may be of the content of changed files, and how often each content was read. `by` has them by
    path, inode, size and checksum, and digest of a line."""

    def __init__(
        self, files: Sequence[ChangedFile], records: Callable[[], Iterator[tuple[int, ProcessedInput]]]
    ) -> None:
        self.by: dict[object, list[ProcessedInput]] = defaultdict(list)
        self.reads: Counter[Ends] = Counter()
        wanted: set[object] = set()
        for item in files:
            wanted |= {item.path, _unpacked_path(item.path), item.file.inode, item.content.stored, item.content.whole}
        wanted.discard(None)
        lines = {line.digest for item in files for line in item.content.lines}
        firsts = {item.content.lines[0].digest for item in files if item.content.lines}
        lasts = {item.content.lines[-1].digest for item in files if item.content.lines}
        for _, seen in records():
            same = {seen.path, seen.inode, (seen.size, seen.digest), seen.unpacked, seen.origin} & wanted
            alike = _keys(seen, lines, firsts, lasts) if seen.lines else set()
            for key in same:
                self.by[key].append(seen)
            for digest in alike:
                if len(self.by[digest]) < _MAX_CANDIDATES:
                    self.by[digest].append(seen)
            if (same or alike) and seen.origin is None:
                self.reads[seen.read] += 1


def _keys(seen: ProcessedInput, lines: set[str], firsts: set[str], lasts: set[str]) -> set[str]:
    """Return the lines by which a record and a file may be equal, one the beginning of the other, or overlap."""
    last = seen.last
    found = {seen.line(number) for number in (seen.first, last, max(0, last - 1))} & lines
    if seen.line(0) in firsts:
        found |= {seen.line(number) for number in range(last + 1)} & lasts
    return found


def _unpacked_path(path: str) -> str | None:
    base, dot, ending = path.partition("?")[0].rpartition(".")
    return base if dot + ending in COMPRESSIONS else None


class _InputMatcher:
    """Decides for changed files, in the order of how much speaks for each: the same path, the same inode, others."""

    def __init__(self, records: _Records, latest: dict[str, ProcessedInput]) -> None:
        self._records = records
        self._latest = latest
        self._taken: dict[Ends, list[str]] = defaultdict(list)

    def take(self, known: Sequence[tuple[InputFile, ProcessedInput]]) -> None:
        for file, record in known:
            self._taken[record.read].append(file.shown)

    def match(self, changed: dict[int, ChangedFile]) -> dict[int, MatchResult]:
        found: dict[int, MatchResult] = {}
        equal: list[tuple[int, int, ChangedFile, list[ProcessedInput]]] = []
        for number, item in changed.items():
            if item.file.size == 0:
                last = self._latest.get(item.path)
                found[number] = MatchResult(last is not None and last.size == 0, record=last, content=item.content)
                continue
            candidates = self._candidates(item)
            if candidates and item.content.whole is None and item.content.damaged is None:
                item = replace(item, content=_measured(item.file, item.content))
            same = self._same(item, candidates)
            if same:
                rank = min(3 - 2 * (seen.path == item.path) - seen.is_near(item.file, item.path) for seen in same)
                equal.append((rank, number, item, same))
            else:
                found[number] = MatchResult(problem=self._problem(item, candidates), content=item.content)
        for _, number, item, same in sorted(equal, key=lambda one: one[:2]):
            found[number] = self._one_to_one(item, same)
        return found

    def _candidates(self, item: ChangedFile) -> list[ProcessedInput]:
        """Return the records that may have to do with a file, each once, those of its path and inode first."""
        keys = [item.path, _unpacked_path(item.path), item.file.inode, *(line.digest for line in item.content.lines)]
        return list({id(seen): seen for key in keys for seen in self._records.by.get(key, ())}.values())

    def _same(self, item: ChangedFile, candidates: Sequence[ProcessedInput]) -> list[ProcessedInput]:
        content = item.content
        same = list(self._records.by.get(content.stored, ()))
        if content.whole is not None and content.damaged is None and content.whole != content.stored:
            same += self._records.by.get(content.whole, ())
            same += [seen for seen in candidates if content.whole in (seen.content, seen.origin)]
        return same

    def _one_to_one(self, item: ChangedFile, same: Sequence[ProcessedInput]) -> MatchResult:
        """Return a file of a content that was read: done, unless there are more such files than were read."""
        for seen in same:
            if len(self._taken[seen.read]) < max(1, self._records.reads[seen.read]):
                self._taken[seen.read].append(item.file.shown)
                return MatchResult(True, record=seen, content=item.content)
        seen = same[0]
        if seen.is_idle or item.content.blank or item.content.only_metadata:
            return MatchResult(content=item.content)
        there = self._taken[seen.read][0]
        message = f"the input is a copy of `{there}`, which a committed run has read"
        return MatchResult(problem=Diagnostic("GG310", message, item.file.shown, _COPY_HELP, topic=PAGE))

    def _problem(self, item: ChangedFile, candidates: Sequence[ProcessedInput]) -> Diagnostic | None:
        file, content = item.file, item.content
        others = [seen for seen in candidates if not seen.is_idle]
        grown = self._grown(item, others)
        if isinstance(grown, Diagnostic):
            return grown
        if grown is not None:
            return _changed(file, grown, item.path, "has grown", _GROWN_HELP)
        if content.damaged is not None:
            return None  # the run cannot read it either
        for seen in others:
            if seen.version == 1:
                if seen is self._latest.get(item.path):
                    return _changed(file, seen, item.path, "has changed", _CHANGED_HELP)
                continue
            what = _overlap(content, seen, seen.is_near(file, item.path))
            if what is not None:
                return _changed(file, seen, item.path, what, _CHANGED_HELP)
        return None

    @staticmethod
    def _grown(item: ChangedFile, others: Sequence[ProcessedInput]) -> ProcessedInput | Diagnostic | None:
        content, size = item.content, (item.content.whole or item.content.stored)[0]
        shorter: dict[int, list[tuple[str, ProcessedInput]]] = defaultdict(list)
        stored: dict[int, list[tuple[str, ProcessedInput]]] = defaultdict(list)
        for seen in others:
            near = seen.is_near(item.file, item.path)
            if near and seen.is_packed and seen.size < item.file.size:
                stored[seen.size].append((seen.digest, seen))
            ends = seen.content
            if ends is None or ends[0] >= size or (content.whole is None and content.damaged is not None):
                continue
            # A last line that has grown is another one: that the line before is equal is enough to compare.
            shared = len(content.shared(seen.lines))
            if shared >= seen.last or (near and seen.version == 1):
                shorter[ends[0]].append((ends[1], seen))
        try:
            for file, sizes in ((item.file, shorter), (replace(item.file, packed=False), stored)):
                digests = digests_at(file, sizes)[0] if sizes else {}
                for length, known in sizes.items():
                    for digest, seen in known:
                        if digests.get(length) == digest:
                            return seen
        except FAILURES as error:
            return unreadable(item.file.shown, error)
        return None


def _overlap(content: Content, seen: ProcessedInput, near: bool) -> str | None:
    """Return in words how a file overlaps with content that was read, if it does. `near`: of one path or inode."""
    shared = content.shared(seen.lines)
    if not shared or shared[-1].end <= seen.start:
        return None
    ends = seen.content
    size = None if content.whole is None else content.whole[0]
    is_shorter = size is not None and (ends is None or size < ends[0])
    # A file that was cut off within a line has a last line of its own.
    begins = len(shared) >= len(content.lines) - content.open_end
    if ends is None and len(shared) > seen.last:
        return "may be a copy"  # of a compressed file whose size unpacked is unknown
    if seen.lined:
        if any(line.operation and line.end > seen.start for line in shared):
            return "is shorter" if is_shorter and begins else "has changed"
        return None
    if len(shared) == len(content.lines) and is_shorter:
        return "is shorter"
    reach = min(END_BYTES, size or END_BYTES, ends[0] if ends is not None else END_BYTES) - seen.start
    if near and shared[-1].end - seen.start > reach / 2:
        return "has changed"
    return None


def _changed(file: InputFile, seen: ProcessedInput, path: str, what: str, help: str) -> Diagnostic:
    name = "" if seen.path == path else f" as `{seen.path}`"
    if what == "may be a copy":
        message = f"the input starts with data that a committed run has read{name}: it may be a copy"
        return Diagnostic("GG310", message, file.shown, _COPY_HELP, topic=PAGE)
    sizes = f"{seen.size} bytes then, {file.size} bytes now"
    message = f"the input {what} since a committed run read it{name}: {sizes}"
    return Diagnostic("GG310", message, file.shown, help, topic=PAGE)


_ALL_THE_SAME = (
    "if the whole file is new, read it once without `--checkpoint` (`ggfmt run --mode append`) and move it away, or "
    "start again with another output and checkpoint"
)
_GROWN_HELP = (
    "put added data into a separate file; move this file out of the input, and let `--settle` wait longer for files "
    "that grow"
)
_CHANGED_HELP = f"restore the file as it was read; put added data into a separate file; {_ALL_THE_SAME}"
_COPY_HELP = f"keep only one of the two files in the input; {_ALL_THE_SAME}"


class OutputTarget(Protocol):
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
    """The files to read, in order, and the numbers of files that earlier runs read and that later runs will read; and
    of partitions without new messages, if there is nothing to read. `later`: files for other commits of this run."""

    files: list[InputFile]
    done: int
    left: int
    idle: int = 0
    later: int = 0

    def __str__(self) -> str:
        done, left = (counted(number, "input file") for number in (self.done, self.left))
        have = "has" if self.done == 1 else "have"
        reasons = [f"{done} {have} been read by earlier runs"] if self.done else []
        reasons += [f"{left} left for a later run"] if self.left else []
        reasons += [f"{counted(self.later, 'input file')} left for the next commit"] if self.later else []
        reasons += [f"no new messages in {counted(self.idle, 'partition')}"] if self.idle else []
        return ", ".join(reasons) or "no input files"


def open_checkpoint(
    directory: str | None,
    settle: float | None,
    mode: str,
    outputs: Sequence[Participant],
    selection: TableSelection = ALL_TABLES,
) -> Checkpoint | None:
    """Open the checkpoint of a run. Raises: UsageError GG513 for options that exclude each other."""
    if directory is None:
        if settle is not None:
            why = "without a checkpoint, no later run reads the files that were left"
            message = f"`--settle` needs `--checkpoint`: {why}"
            raise UsageError("GG513", message, help="pass a directory to `--checkpoint`")
        return None
    try:
        checkpoint = Checkpoint(Location.of(directory), selection)
    except OSError as error:
        message = f"the checkpoint cannot be opened: {without_credentials(str(error))}"
        raise UsageError("GG513", message, directory, getattr(error, "help", None)) from None
    if mode == "overwrite":
        message = (
            "`--mode overwrite` and `--checkpoint` exclude each other: overwriting deletes output that the "
            "checkpoint lists as done"
        )
        help = "remove one of the options; to start again, delete the output and the checkpoint"
        raise UsageError("GG513", message, checkpoint.root.shown, help)
    if checkpoint.root.canonical in {output.root.canonical for output in outputs}:
        message = "the checkpoint cannot be the output directory"
        raise UsageError("GG513", message, checkpoint.root.shown, "choose another directory")
    return checkpoint


def _not_of_one_time(output: Participant, run: str) -> tuple[str, str]:
    """Return message and help for an output without the last run of the checkpoint: one of them is a backup."""
    root = output.root.canonical
    last = (read_document(output.store, MANIFEST) or {}).get("run")
    again = "or, to read all inputs again, use other directories for the output and for `--checkpoint`"
    if last is not None and last > run:
        message = (
            f"the checkpoint is older than `{root}`: its last run is {run}, and the last run of the output is {last}"
        )
        return message, f"restore the checkpoint as it was after run {last}; {again}"
    shown = "has no run" if last is None else f"has {last} as its last run"
    message = f"`{root}` is older than the checkpoint, or another: it {shown}, and the checkpoint has run {run}"
    return message, f"restore the output, with its `_ggfmt`, as it was after run {run}; {again}"


class Checkpoint(Participant):
    """A directory with the records of inputs, for one set of output directories and handlers, and for one selection of
    tables: of a file that was read, later runs do not read other tables."""

    what = "the checkpoint"

    def __init__(self, root: Location, selection: TableSelection = ALL_TABLES) -> None:
        super().__init__(root)
        self.marks: dict[str, str] = {}
        self._selection = selection
        self._renewed: list[ProcessedInput] = []
        self._seen: list[ProcessedInput] = []

    @property
    def recorded(self) -> list[Any]:
        """What `part` has recorded, as JSON has it."""
        return [msgspec.to_builtins(seen) for seen in self._seen]

    @property
    def last_run(self) -> str | None:
        document = read_document(self.store, DOCUMENT)
        return None if document is None else str(document["run"])

    def bind(self, targets: Sequence[OutputTarget], outputs: Sequence[Participant], mode: str) -> str:
        """Return the mode of the run: `append` if the checkpoint has runs. Raises: UsageError GG513 if it belongs to
        other output, or the output has lost the record of such a run; GG501 for a new one among files of others."""
        document = read_document(self.store, DOCUMENT)
        if document is None:
            if mode == "error":
                with write_errors_stop(self.root, self.what):
                    refuse_foreign(self)
            return mode
        if document.get("version") not in _READABLE:
            raise damaged(self.store, DOCUMENT, "is from another version of ggfmt, or damaged")
        if document.get("outputs") != _outputs(targets):
            theirs = "; ".join(f"`{root}` by {_listed(names)}" for root, names in document["outputs"].items())
            message = f"the checkpoint belongs to other output: {theirs}"
            help = "use the same output and handlers as before, or another directory for `--checkpoint`"
            raise self._refused(message, help)
        if document.get(_SELECTION, {}) != self._selection.options:
            before = document.get(_SELECTION, {})
            shown = " ".join(f"{option} '{pattern}'" for option in before for pattern in before[option])
            message = f"the checkpoint belongs to another selection of tables: {shown or 'all tables'}"
            given = ", ".join(f"`{option}`" for option in sorted({*before, *self._selection.options}))
            help = f"use the same {given} as before, or other directories for output and checkpoint"
            raise self._refused(message, help)
        for output in outputs:
            if not output.store.exists(run_file(document["run"])):
                raise self._refused(*_not_of_one_time(output, document["run"]))
        return "append"

    def _refused(self, message: str, help: str) -> UsageError:
        return UsageError("GG513", visible(message), self.root.shown, help)

    def choose(
        self,
        files: Sequence[InputFile],
        settle: float | None = None,
        only: Sequence[Any] | None = None,
        limits: CommitLimits = NO_LIMITS,
    ) -> InputSelection:
        """Select the files that no committed run has read. With `settle`, a file that was written to in the last
        `settle` seconds waits for a later run, and so do those after it in its INPUT: operations keep their order.

        only  records of `recorded`: these files and no others, for a run that another one has begun

        UsageError GG310 for every input that has changed since it was read, is a copy of one, or cannot be read.
        """
        topics = [file for file in files if file.offsets is not None]
        files = [file for file in files if file.offsets is None]
        results = recognize(files, self._records_of_files)
        problems = [result.problem for result in results if result.problem is not None]
        if problems:
            raise UsageError.of(*problems)
        every = list(zip(files, results, strict=True))
        new = [file for file, result in every if not result.done]
        self._renewed = [seen for file, result in every if (seen := _renewed(file, result)) is not None]
        _warn_late_files(every)
        if only is not None:
            return InputSelection(_in_order(self._begun(new, only, topics)), len(files) - len(new), 0)
        settled, waiting = _settled(new, settle)
        every_new, settled = len(settled), limits.first(settled)
        later = every_new - len(settled)
        idle = len(topics) if not settled and not any(file.size for file in topics) else 0
        settled = [] if idle else _in_order([*settled, *topics])
        if waiting:
            first = waiting[0]
            when = f"which was modified less than {settle:g} seconds ago"
            if first.modified is not None and first.modified > time.time_ns():
                when = "whose modification time is in the future"
            message = "left for a later run: %s, starting with `%s`, %s"
            log.info(message, counted(len(waiting), "input file"), visible(first.shown), when)
        chosen = InputSelection(settled, len(files) - len(new), len(waiting), idle, later)
        if settled and (chosen.done or later):
            log.info("%s to read; %s", counted(len(settled), "new input file"), chosen)
        return chosen

    def offsets(self, only: Sequence[Any] | None) -> tuple[dict[str, int], dict[str, tuple[int, int]] | None]:
        """Return where committed runs have ended, by partition; and the ranges of a run that was cut off, if `only` has
        its records. Sets `marks`: by what partitions are known again, those of that run or else of the last one."""
        ends: dict[str, int] = {}
        for _, record in self._records():
            if record.offsets is not None and record.size >= ends.get(record.path, 0):
                ends[record.path], self.marks[record.path] = record.size, record.lines
        if only is None:
            return ends, None
        records = [msgspec.convert(record, ProcessedInput) for record in only]
        self.marks |= {record.path: record.lines for record in records if record.offsets is not None}
        return ends, {record.path: record.offsets for record in records if record.offsets is not None}

    def _begun(self, files: Sequence[InputFile], only: Sequence[Any], topics: Sequence[InputFile]) -> list[InputFile]:
        """Return the files of a run that was cut off. Raises: UsageError GG310 if one is not among the inputs any
        more."""
        records = [msgspec.convert(record, ProcessedInput) for record in only]
        there = {file.shown for file in topics}
        records = [record for record in records if record.path not in there]
        results = recognize(files, lambda: ((1, record) for record in records))
        found = [file for file, result in zip(files, results, strict=True) if result.done]
        if len(found) != len(records):
            have = {id(result.record) for result in results if result.done}
            lost = next((record for record in records if id(record) not in have), records[0])
            message = "an interrupted run had read this file, which is no longer among the inputs"
            help = "restore the file, and run again: the new run then finishes the interrupted run"
            raise UsageError("GG310", message, lost.path, help, topic=PAGE)
        return [*found, *topics]

    def part(self, run: str, targets: Sequence[OutputTarget], inputs: Sequence[PlannedInput]) -> CommitPart:
        """Return the part of a commit that records the files as read. Raises: Abend GG310 if a file is gone, GG506."""
        seen = []
        plans = {item.file.location: item for item in inputs}
        for found in map_files([item.file for item in inputs], lambda file: _seen(plans[file.location])):
            if isinstance(found, Diagnostic):
                raise Abend.of(found)
            seen.append(found)
        self._seen = seen
        _warn_equal_files(seen, inputs)
        document: dict[str, object] = {"version": _VERSION, "run": run, "outputs": _outputs(targets)}
        if self._selection:
            document |= {"version": _SELECTION_VERSION, _SELECTION: self._selection.options}
        with write_errors_stop(self.root, self.what):
            return self._part(run, document, [*seen, *self._renewed])

    def record_renewed(self, run: str) -> None:
        """Commit the new names, inodes and times of files that `choose` recognized, for a run that has nothing to read.
        If that fails, log a warning: the next run recognizes the files by their content again."""
        document = read_document(self.store, DOCUMENT) if self._renewed else None
        if document is None:
            return
        try:
            commit(run, [self._part(run, {**document, "version": max(_VERSION, document["version"])}, self._renewed)])
        except (Abend, *FAILURES) as error:
            message = "%s: new names and times of files were not recorded, so the next run opens the files again: %s"
            log.warning(message, visible(self.root.shown), visible(str(error)))

    def _part(self, run: str, document: dict[str, object], seen: Sequence[ProcessedInput]) -> CommitPart:
        names = self.store.names(SEGMENTS)
        number = max((int(name.partition(".")[0]) for name in names), default=0) + 1
        encode = msgspec.json.encode
        content = b"".join(encode(line) + b"\n" for line in (_SegmentHeader(number, run, len(seen)), *seen))
        part = CommitPart(self)
        if len(names) >= MAX_SEGMENTS:
            sizes = self.store.sizes([f"{SEGMENTS}/{name}" for name in names])
            small = [name for name in sorted(sizes) if sizes[name] < SMALL_BYTES]
            content = b"".join([*(self.store.read(name) or b"" for name in small), content])
            part.deletes += small
        part.moves += self.stage([(f"{SEGMENTS}/{number:08d}.jsonl", content), (DOCUMENT, as_bytes(document))])
        return part

    def _records_of_files(self) -> Iterator[tuple[int, ProcessedInput]]:
        return ((number, record) for number, record in self._records() if record.offsets is None)

    def _records(self) -> Iterator[tuple[int, ProcessedInput]]:
        """Yield all records with the numbers of their runs, one line at a time: there may be millions."""
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
    """Return the path of a file in the checkpoint: without credentials, the same for all spellings."""
    path = file.location.canonical
    try:
        path.encode()
    except UnicodeEncodeError:
        return f"bytes:{os.fsencode(path).hex()}"
    return path


def _in_order(files: Sequence[InputFile]) -> list[InputFile]:
    return sorted(files, key=lambda file: file.argument)


def _seen(item: PlannedInput) -> ProcessedInput | Diagnostic:
    if item.file.offsets is not None:
        path, (start, end) = item.file.shown, item.file.offsets
        return ProcessedInput(path, end, None, None, path, False, item.file.mark, start, version=_VERSION)
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
    """Return the record of a file as it is, with the layout of a known one."""
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


def _renewed(file: InputFile, result: MatchResult) -> ProcessedInput | None:
    """Return the new record of a file that was recognized by its content; None if the old one still fits."""
    known, content = result.record, result.content
    if not result.done or known is None or content is None:
        return None
    seen = _recorded(file, content, known)
    seen = msgspec.structs.replace(seen, origin=known.read, renamed=known.renamed or known.path != seen.path)
    same = msgspec.structs.replace(known, origin=seen.origin, version=_VERSION)
    return None if seen == same and known.version == _VERSION else seen


def _settled(files: Sequence[InputFile], settle: float | None) -> tuple[list[InputFile], list[InputFile]]:
    """Return the files to read now, and those that wait: a file just written to, and all after it in its INPUT."""
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


def _warn_late_files(every: Sequence[tuple[InputFile, MatchResult]]) -> None:
    """Warn of new files that precede files of their INPUT which earlier runs have read under their present names.
    Renamed logs follow the new one, and cause no warning."""
    late, last = [], {}
    for number, (file, result) in enumerate(every):
        known = result.record
        if result.done and known is not None and known.path == _path(file) and not known.renamed:
            last[file.argument] = number
    for number, (file, result) in enumerate(every):
        if not result.done and number < last.get(file.argument, -1):
            late.append(file)
    if late:
        message = (
            "%s sorted before files of earlier runs, first: `%s`; the operations come out late. Use file names that "
            "sort by time"
        )
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
        message = "%s with the same content as another file, first: `%s`, a copy of `%s`; ggfmt reads all of them"
        before, item = equal[0]
        number = counted(len(equal), "new input file")
        log.warning(message, number, visible(item.file.shown), visible(before.file.shown))


def _outputs(targets: Sequence[OutputTarget]) -> dict[str, list[str]]:
    outputs: dict[str, list[str]] = {}
    for target in targets:
        outputs.setdefault(target.root.canonical, []).append(target.handler)
    return {root: sorted(names) for root, names in sorted(outputs.items())}


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
