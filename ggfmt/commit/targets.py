"""The last look at the names that a commit gives, before it is decided: what fails after that blocks the directory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from ggfmt.commit.commit import CommitPart
from ggfmt.commit.directory import LINK_HELP, LINK_MESSAGE
from ggfmt.commit.journal import is_below
from ggfmt.commit.names import FILE_NAME_BYTES, METADATA_DIRECTORY, folded
from ggfmt.commit.store import Store, parent
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic, Span
from ggfmt.location import Location, write_problem

_HELP = "nothing was committed; give another output directory, or another directory for schemas"


def check_targets(parts: Sequence[CommitPart]) -> None:
    """Abend GG506 for the first name that cannot be given: too long, given twice, or not free for a file."""
    for part in parts:
        store = part.participant.store
        _check(store, [move.target for move in part.moves])
        if store.local:
            messages = {move.target for move in part.moves if not move.replaces}
            _check_free(store, messages.difference(part.deletes))
        outside: dict[Location, list[str]] = {}
        for directory, move in part.copies:
            outside.setdefault(directory, []).append(move.target)
        for directory, targets in outside.items():
            _check(Store(directory), targets)


def _check(store: Store, targets: Sequence[str]) -> None:
    names: dict[str, str] = {}
    one_case = store.local and _knows_no_case(store)
    for target in targets:
        if not is_below(target):
            raise _refused(store, target, "a file would lie outside of its directory")
        long = next((part for part in target.split("/") if len(part.encode()) > FILE_NAME_BYTES), None)
        if long is not None:
            raise _refused(store, target, f"a name has {len(long.encode())} bytes, more than a file system takes")
        key = folded(target) if one_case else target
        if key in names:
            raise _refused(store, target, f"two files would have one name, the other is `{names[key]}`")
        names[key] = target
    for directory in sorted({above for target in targets for above in _directories(target)}):
        if (folded(directory) if one_case else directory) in names:
            raise _refused(store, directory, "a file and a directory would have one name")
    for directory in sorted({parent(target) for target in targets}):
        _check_directory(store, directory)
    for target in targets if store.local else ():
        if os.path.isdir(store.inner(target)):
            raise _refused(store, target, "there is a directory where a file is to be")


def _directories(name: str) -> list[str]:
    """All directories that a name lies in, below the root."""
    parts = name.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


def _check_free(store: Store, targets: Iterable[str]) -> None:
    """Files of messages never take the place of a file that the run does not replace."""
    taken = next((target for target in sorted(targets) if os.path.lexists(store.inner(target))), None)
    if taken is not None:
        raise _refused(store, taken, "there is a file already that the run would replace")


def _check_directory(store: Store, directory: str) -> None:
    link = store.link_above(f"{directory}/file")
    if link is not None:
        raise Abend(Diagnostic("GG506", LINK_MESSAGE, Span(file=store.shown(link)), LINK_HELP))
    problem = write_problem(store.location(directory))
    if problem is not None:
        raise _refused(store, directory, f"a directory cannot be written: {problem.strerror}")


def _knows_no_case(store: Store) -> bool:
    return os.path.lexists(store.inner(METADATA_DIRECTORY.upper()))


def _refused(store: Store, name: str, message: str) -> Abend:
    return Abend(Diagnostic("GG506", message, Span(file=store.shown(name)), _HELP))
