"""Participants of a commit, and the commit itself. The package's docstring has the states and what a crash in each of
them leaves."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from hashlib import sha256
from typing import TYPE_CHECKING

from msgspec import structs

from ggfmt import signals
from ggfmt.commit.journal import (
    COMMITS,
    JOURNAL,
    POINTER,
    STAGING,
    VERSION,
    Journal,
    Move,
    check_done,
    damaged,
    delete_if_of_run,
    is_below,
    map_parallel,
    read_document,
    read_journal,
    replay_journal,
    staging_of,
)
from ggfmt.commit.locking import LEASES, DirectoryLock, lease_of, lock_directory
from ggfmt.commit.names import FILE_NAME_BYTES, METADATA_DIRECTORY, counted, folded
from ggfmt.commit.store import FAILURES, Store, directories_above, parent
from ggfmt.commit.versions import Switch
from ggfmt.dataclasses import dataclass, field
from ggfmt.diagnostics.diagnostic import Abend, CommittedWithErrors, Diagnostic, UsageError
from ggfmt.java.text import visible
from ggfmt.location import Location, is_directory, is_uri, local_status, reason, remedy, write_problem

if TYPE_CHECKING:
    from ggfmt.commit.interrupted import Interrupted

MODES = {
    "error": "stop if the output directory already holds output",
    "append": "add files to the existing output",
    "overwrite": "replace the earlier output of the same handlers",
}

_STOPPED = "a signal stopped the run"
LINK_MESSAGE = "the output directory holds a symbolic link, which ggfmt does not follow"
LINK_HELP = "replace the link with a directory, or use the target of the link as a separate output directory"

log = logging.getLogger("ggfmt")


def check_directories(participants: Sequence[Participant]) -> None:
    """Check directories as a dry run does, without locks. Raises: Abend GG506 if one cannot be written, GG509 as
    `lock_all`."""
    known = [participant.root for participant in participants]
    for participant in participants:
        with write_errors_stop(participant.root, participant.what):
            participant.check_pointer(known)
            problem = write_problem(participant.root)
            waiting = read_journal(participant.store) is not None
            left = any(found is not None for _, found in participant.dead_runs())
        if problem is not None:
            raise Abend.of(write_error(participant.root, problem, participant.what))
        if waiting:
            log.info("%s has an interrupted commit; the next run finishes it first", visible(participant.root.shown))
        if left:
            log.info("%s has an interrupted run; the same command goes on with it", visible(participant.root.shown))


@dataclass(frozen=True)
class StagedMove:
    """A staged file and its final name in the participant. `replaces`: a file may have that name already."""

    source: str
    target: str
    size: int
    sha256: str
    replaces: bool = False


@dataclass
class CommitPart:
    """What a commit does in one participant: files to rename, names to delete unless a file gets them, directories that
    then get another version; and `copies` of staged files elsewhere: a directory, and a name relative to it."""

    participant: Participant
    moves: list[StagedMove] = field(default_factory=list)
    deletes: list[str] = field(default_factory=list)
    copies: list[tuple[Location, StagedMove]] = field(default_factory=list)
    switches: list[Switch] = field(default_factory=list)


class Participant:
    """A directory that takes part in commits. One run at a time locks it. ggfmt keeps its own files in `_ggfmt`.

    keeps        the staging directory of the run stays if the run fails
    process      how many processes have worked on the run before: one may have been frozen, and go on
    interrupted  whether other runs have left staging directories that stay
    """

    what = "the directory"
    has_success_file = False

    def __init__(self, root: Location) -> None:
        self.root = root
        self.store = Store(root)
        self.run = ""
        self.keeps = self.interrupted = False
        self.process = 0
        self._hold: DirectoryLock | None = None
        self._staged = 0

    def stage(self, documents: Iterable[tuple[str, bytes]]) -> list[StagedMove]:
        """Write documents (final name, content) to staging. Return the moves that give them their names."""
        staged = []
        for target, content in documents:
            source = f"{staging_of(self.run)}/documents{self.process or ''}/{self._staged:07d}"
            move = StagedMove(source, target, len(content), sha256(content).hexdigest(), replaces=True)
            staged.append((move, content))
            self._staged += 1
        map_parallel(staged, [self.store], lambda item: self.store.write(item[0].source, item[1]))
        return [move for move, _ in staged]

    def move(self, file: Location, target: str, size: int, sha256: str) -> StagedMove:
        """Return the move that gives a file in staging its final name."""
        source = file.name_below(self.root)
        assert source is not None
        return StagedMove(source, target, size, sha256)

    def staging(self, run: str) -> Location:
        return self.store.location(staging_of(run))

    def put(self, name: str, content: bytes, ready: Callable[[], None] | None = None) -> None:
        self.store.put(name, content, self.draft(name), ready)

    def draft(self, name: str) -> str:
        """Return the staged name of a document of the metadata directory, until it is complete."""
        return f"{staging_of(self.run)}/{name.rpartition('/')[2]}"

    def is_held(self) -> bool:
        return self._hold is not None and self._hold.is_held()

    def check_pointer(self, known: Sequence[Location]) -> None:
        """Raise Abend GG509 if the directory has the pointer of a commit whose first directory is not what it was."""
        self._pointed(known)

    def acquire(self, run: str, known: Sequence[Location] = ()) -> None:
        """Lock the directory for a run, complete the commit of an earlier run, and delete the staging directories of
        dead runs. `known` are locations whose credentials may open other directories of that commit.

        Raises: UsageError GG501 if another run has the lock, Abend GG506 if ggfmt cannot make the directory, GG509 if
        it cannot complete a commit.
        """
        self.run = run
        try:
            with write_errors_stop(self.root, self.what):
                with signals.deferred():
                    self._hold = lock_directory(self.store, run, self.what)
                self._recover(known)
                self._drop_staging_of_dead_runs()
        except (UsageError, Abend, KeyboardInterrupt):  # another run has locked it, or the first directory
            self.release()
            raise

    def release(self) -> None:
        """Delete the staging directory of this run, unless a journal still needs it, and unlock the directory."""
        with signals.deferred():
            if self._hold is None:
                return
            if not self.keeps:
                self._drop_staging(self.run)
            self._release_lock(self._hold)
            self._hold = None

    def discard_staging(self, run: str) -> None:
        """Delete what the tasks of a run that will not be committed have left. Only these tasks hold a lease."""
        self._drop_staging(run)
        with suppress(*FAILURES):
            self.store.delete(lease_of(run))
        self._remove_leftovers()

    def _drop_staging(self, run: str) -> None:
        with suppress(*FAILURES):  # a later run deletes it
            if not self.store.exists(JOURNAL) and not self.store.exists(POINTER):
                self.store.delete_tree(staging_of(run))

    def _remove_leftovers(self) -> None:
        for name in (LEASES, COMMITS, STAGING, METADATA_DIRECTORY, ""):
            self.store.remove_if_empty(name)

    def _release_lock(self, holding: DirectoryLock) -> None:
        holding.release()
        self._remove_leftovers()

    def dead_runs(self) -> Iterator[tuple[str, Interrupted | None]]:
        """Yield the runs whose staging directories are left, each with what the same command can go on with."""
        living = {self.run, *(name.removesuffix(".json") for name in self.store.names(LEASES))}
        for run in self.store.names(STAGING):
            if run not in living:
                from ggfmt.commit.interrupted import read_interrupted  # few directories have such runs

                yield run, read_interrupted(self.store, run)

    def _drop_staging_of_dead_runs(self) -> None:
        for run, found in self.dead_runs():
            if found is not None:
                self.interrupted = True
            else:
                # A worker that outlived its driver may still write there; then a later run deletes the directory.
                with suppress(*FAILURES):
                    self.store.delete_tree(f"{STAGING}/{run}")

    def _pointed(self, known: Sequence[Location]) -> tuple[Participant, Journal | None, int] | None:
        """Return the first directory of the commit that the pointer names, its journal if the run is decided, and the
        number of this directory in the journal; None without a pointer. Raises: Abend GG509 if ggfmt cannot know."""
        document = read_document(self.store, POINTER)
        if document is None:
            return None
        try:
            root, run, place = document["root"], document["run"], document["place"]
        except KeyError:
            raise damaged(self.store, POINTER, "is from another version of ggfmt, or damaged") from None
        first = Participant(Location.of_record(root, known))
        journal = read_journal(first.store)
        if journal is not None and journal.run == run:
            return first, journal, place
        if not first.store.exists(f"{COMMITS}/{run}.json"):
            message = f"the run {run} may have been committed, but `{first.root.shown}` has no record of the run"
            help = (
                "if that directory was moved, move it back; if you no longer need its output, remove "
                f"`{self.store.shown(POINTER)}` and run again with the same inputs"
            )
            raise Abend("GG509", message, self.root.shown, help)
        return first, None, place

    def _recover(self, known: Sequence[Location]) -> None:
        pointed = self._pointed(known)
        if pointed is not None:
            first, journal, place = pointed
            if journal is not None:
                first._finish_commit(self.run, {place: self.store}, known)
            else:
                self.store.delete(POINTER)
        journal = read_journal(self.store)
        if journal is not None:
            self._replay(journal, {}, known)
        for name in self.store.names(COMMITS):
            self._withdraw(name.removesuffix(".json"), known)

    def _finish_commit(self, run: str, places: dict[int, Store], known: Sequence[Location]) -> None:
        holding = lock_directory(self.store, run, self.what)
        try:
            journal = read_journal(self.store)
            if journal is not None:
                self._replay(journal, places, known)
        finally:
            self._release_lock(holding)

    def _replay(self, journal: Journal, places: dict[int, Store], known: Sequence[Location]) -> None:
        if len(journal.places) > journal.others:
            self._refuse_foreign(journal.places[journal.others :])
        stores = [self.store]
        for number, place in enumerate(journal.places, 1):
            stores.append(places.get(number) or Store(Location.of_record(place, [self.root, *known])))
        # A directory without its pointer is done, or is another directory of the same name: delete nothing in it.
        theirs = {0}
        for number in range(1, 1 + journal.others):
            pointer = read_document(stores[number], POINTER)
            if pointer is not None and pointer.get("run") == journal.run:
                theirs.add(number)
        deletes = tuple(item for item in journal.deletes if item[0] in theirs)
        switches = tuple(item for item in journal.switches if item[0] in theirs)
        replay_journal(structs.replace(journal, deletes=deletes, switches=switches), stores)
        message = "finished the interrupted commit of run %s: %s"
        log.warning(message, journal.run, counted(len(journal.moves), "file"))

    def _refuse_foreign(self, outside: Sequence[str]) -> None:
        """Raise Abend GG509 if another user may have made a journal that writes outside of the participants."""
        if self.store.local:
            trusted = not hasattr(os, "geteuid") or os.stat(self.store.inner(JOURNAL)).st_uid in (os.geteuid(), 0)
        else:
            trusted = all(is_uri(place) for place in outside)
        if not trusted:
            message = f"the journal belongs to another user, and writes to `{visible(outside[0])}`"
            help = (
                "let that user run ggfmt with this output directory once, or remove the journal if you know that it "
                "is wrong"
            )
            raise Abend("GG509", message, self.store.shown(JOURNAL), help)

    def _withdraw(self, run: str, known: Sequence[Location]) -> None:
        """Delete the pointers of a run that was never decided, and then its intent."""
        intent = f"{COMMITS}/{run}.json"
        document = read_document(self.store, intent) or {}
        with suppress(*FAILURES):  # while there may be pointers, the intent stays
            for place in document.get("places", []):
                delete_if_of_run(Store(Location.of_record(place, [self.root, *known])), POINTER, run)
            self.store.delete(intent)


def lock_all(participants: Sequence[Participant], run: str, held: ExitStack) -> None:
    """Lock directories for a run, in order; `held` unlocks them. Errors as of `Participant.acquire`."""
    known = [participant.root for participant in participants]
    for participant in participants:  # before ggfmt makes any of them: a pointer may name it
        with write_errors_stop(participant.root, participant.what):
            participant.check_pointer(known)
    for participant in participants:
        held.callback(participant.release)  # does nothing unless this run has the lock
        participant.acquire(run, known)


def commit(run: str, parts: Sequence[CommitPart]) -> None:
    """Commit a run: all of its parts, or none. If the process dies in here, the next run completes or undoes it.
    Raises: Abend if nothing was committed, CommittedWithErrors GG506 if the run is decided and an error interrupted
    it."""
    journal, stores = _journal(run, parts)
    first = parts[0].participant
    try:
        _check_held(parts)
        _check_targets(parts)
        _check_encoding(journal, stores)
        check_done(journal, stores, [part.participant.store.below(staging_of(run)) for part in parts])
        if journal.others:
            intent = {"version": VERSION, "run": run, "places": journal.places[: journal.others]}
            first.put(f"{COMMITS}/{run}.json", json.dumps(intent).encode())
        for place, part in enumerate(parts[1:], 1):
            pointer = {"version": VERSION, "run": run, "root": first.root.recorded, "place": place}
            part.participant.put(POINTER, json.dumps(pointer).encode())
        _check_held(parts)
        first.put(JOURNAL, journal.to_bytes(), lambda: _sync(parts))
    except FAILURES as error:
        if not _is_decided(first, run, error):
            _withdraw(parts, run)
            raise Abend.of(write_error(first.root, error)) from None
    except KeyboardInterrupt as error:
        if _is_decided(first, run, error):
            raise _interrupted(first.root, _STOPPED) from None
        _withdraw(parts, run)
        raise
    except Abend:
        _withdraw(parts, run)
        raise
    try:
        replay_journal(journal, stores)
    except FAILURES as error:
        raise _interrupted(first.root, reason(error)) from None
    except KeyboardInterrupt:
        raise _interrupted(first.root, _STOPPED) from None
    except Abend as error:
        raise CommittedWithErrors.of(*error.diagnostics) from None


def _check_encoding(journal: Journal, stores: Sequence[Store]) -> None:
    """Raise Abend GG506 for a name that Arrow writes in UTF-8, and Python in the encoding of the locale."""
    encoding = sys.getfilesystemencoding()
    for move in journal.moves if encoding != "utf-8" else ():
        store = stores[move.target_place]
        if store.local and not store.inner(move.target).isascii():
            message = f"the locale has the encoding `{encoding}`, in which ggfmt cannot write this name"
            help = "nothing was committed; set `PYTHONUTF8=1`, or a locale with UTF-8, and run again"
            raise Abend("GG506", message, store.shown(move.target), help)


def _sync(parts: Sequence[CommitPart]) -> None:
    for part in parts:
        names = [move.source for move in (*part.moves, *(move for _, move in part.copies))]
        names += [METADATA_DIRECTORY] if part is not parts[0] else [part.participant.draft(JOURNAL)]
        part.participant.store.sync_all(names)


def _journal(run: str, parts: Sequence[CommitPart]) -> tuple[Journal, list[Store]]:
    stores = [part.participant.store for part in parts]
    outside: dict[Location, int] = {}
    moves, deletes, switches = [], [], []
    for place, part in enumerate(parts):
        moves += [Move(place, move.source, place, move.target, move.size, move.sha256) for move in part.moves]
        deletes += [(place, name) for name in part.deletes]
        switches += [(place, one.name, one.version) for one in part.switches]
        for directory, move in part.copies:
            if directory not in outside:
                outside[directory] = len(stores)
                stores.append(Store(directory))
            moves.append(Move(place, move.source, outside[directory], move.target, move.size, move.sha256))
    outputs = tuple(place for place, part in enumerate(parts) if part.participant.has_success_file)
    places = tuple(store.root.recorded for store in stores[1:])
    journal = Journal(run, places, len(parts) - 1, outputs, tuple(moves), tuple(deletes), tuple(switches))
    return journal, stores


def _check_held(parts: Sequence[CommitPart]) -> None:
    for part in parts:
        if not part.participant.is_held():
            message = f"the run no longer holds {part.participant.what}: the lock or lease was removed or expired"
            help = "nothing was committed; make sure that no other run writes to the directory, and run again"
            raise Abend("GG506", message, part.participant.root.shown, help)


def _is_decided(first: Participant, run: str, error: BaseException) -> bool:
    """Return whether the journal exists after an error. Raises: CommittedWithErrors if ggfmt cannot find out."""
    try:
        journal = read_journal(first.store)
    except (Abend, *FAILURES):
        what = "ggfmt does not know whether the run is committed"
        raise _interrupted(first.root, reason(error) or _STOPPED, what) from None
    return journal is not None and journal.run == run


def _withdraw(parts: Sequence[CommitPart], run: str) -> None:
    """Delete the pointers and the intent of a commit that was not decided, as far as the stores allow."""
    with suppress(Abend, *FAILURES):
        for part in parts[1:]:
            delete_if_of_run(part.participant.store, POINTER, run)
        parts[0].participant.store.delete(f"{COMMITS}/{run}.json")


def _interrupted(root: Location, why: str, what: str = "the commit was interrupted") -> CommittedWithErrors:
    help = "fix the cause; the next run to this directory finishes the commit before it starts"
    return CommittedWithErrors("GG506", f"{what}: {why}", root.shown, help)


_TARGET_HELP = "nothing was committed; choose another output directory, or another schema directory"


def _check_targets(parts: Sequence[CommitPart]) -> None:
    """Check all final names before the run is decided: a name that fails later blocks the directory. Raises: Abend
    GG506 for the first name that is too long, used twice, or not free."""
    for part in parts:
        store = part.participant.store
        _check_names(store, [move.target for move in part.moves])
        if store.local:
            # Files of messages never replace a file that the run does not list as replaced.
            messages = {move.target for move in part.moves if not move.replaces}.difference(part.deletes)
            taken = next((name for name in sorted(messages) if local_status(store.inner(name))), None)
            if taken is not None:
                raise _target_error(store, taken, "a file of this name exists, and the run would replace it")
        outside: dict[Location, list[str]] = {}
        for directory, move in part.copies:
            outside.setdefault(directory, []).append(move.target)
        for directory, targets in outside.items():
            _check_names(Store(directory), targets)


def _check_names(store: Store, targets: Sequence[str]) -> None:
    names: dict[str, str] = {}
    one_case = store.local and knows_no_case(store)
    for target in targets:
        if not is_below(target):
            raise _target_error(store, target, "a file would be outside its directory")
        long = next((part for part in target.split("/") if len(part.encode()) > FILE_NAME_BYTES), None)
        if long is not None:
            message = f"a name has {len(long.encode())} bytes, more than the limit of {FILE_NAME_BYTES}"
            raise _target_error(store, target, message)
        key = folded(target) if one_case else target
        if key in names:
            raise _target_error(store, target, f"two files would have the same name; the other file is `{names[key]}`")
        names[key] = target
    for directory in sorted({above for target in targets for above in directories_above(target)}):
        if (folded(directory) if one_case else directory) in names:
            raise _target_error(store, directory, "a file and a directory would have the same name")
    for directory in sorted({parent(target) for target in targets}):
        link = store.link_above(f"{directory}/file")
        if link is not None:
            raise Abend("GG506", LINK_MESSAGE, store.shown(link), LINK_HELP)
        problem = write_problem(store.location(directory))
        if problem is not None:
            raise _target_error(store, directory, f"a directory cannot be written: {problem.strerror}")
    for target in targets if store.local else ():
        if is_directory(store.inner(target)):
            raise _target_error(store, target, "a directory has the name of an output file")


def knows_no_case(store: Store) -> bool:
    """Return whether a disk takes names for one that differ in case only. The metadata directory has to exist."""
    return local_status(store.inner(METADATA_DIRECTORY.upper())) is not None


def _target_error(store: Store, name: str, message: str) -> Abend:
    return Abend("GG506", message, store.shown(name), _TARGET_HELP)


def opened(given: str, what: str) -> Location:
    """Return the location of an output, which a message calls `what`. Raises: UsageError GG506 if it is none."""
    try:
        root = Location.of(given)
        root.file_system()
    except OSError as error:
        raise UsageError("GG506", f"{what} cannot be opened: {error}", given, getattr(error, "help", None)) from None
    return root


@contextmanager
def write_errors_stop(root: Location, what: str = "the output directory") -> Iterator[None]:
    """Raise Abend GG506 for one of `FAILURES`."""
    try:
        yield
    except FAILURES as error:
        raise Abend.of(write_error(root, error, what)) from None


def write_error(root: Location, error: Exception, what: str = "the output directory") -> Diagnostic:
    help = remedy(error, "choose another directory")
    return Diagnostic("GG506", f"{what} cannot be written: {reason(error)}", root.shown, help)
