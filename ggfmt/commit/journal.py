"""The journal: everything that is left to do once a run is decided, and the replay that does it.

Every path in the journal is a pair: a place, and a name below it. Place 0 is the directory that has the journal,
whatever its path is today; the other places are absolute, without credentials.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import msgspec

from ggfmt.commit.names import METADATA_DIRECTORY, SUCCESS_FILE
from ggfmt.commit.store import Store, parent
from ggfmt.commit.versions import Switch, switch
from ggfmt.diagnostics.diagnostic import Abend
from ggfmt.location import REQUESTS_AT_ONCE

VERSION = 3
READABLE_VERSIONS = (2, VERSION)  # of journals; one of version 2 has no switches
JOURNAL = f"{METADATA_DIRECTORY}/journal.json"
POINTER = f"{METADATA_DIRECTORY}/pointer.json"
COMMITS = f"{METADATA_DIRECTORY}/commits"
ROUND = f"{METADATA_DIRECTORY}/round.json"  # of a run that commits several tables of a lakehouse
STAGING = f"{METADATA_DIRECTORY}/staging"

T = TypeVar("T")


class Move(msgspec.Struct, frozen=True, array_like=True):
    """A staged file and its final name. If the places differ it is a copy: of a schema outside of the output."""

    place: int
    source: str
    target_place: int
    target: str
    size: int
    sha256: str


class Journal(msgspec.Struct, frozen=True):
    """A decided run."""

    run: str
    # the places from the second on: first the other participants, then directories that only get files
    places: tuple[str, ...]
    others: int  # the number of other participants
    outputs: tuple[int, ...]  # the places that get a `_SUCCESS`
    moves: tuple[Move, ...]
    deletes: tuple[tuple[int, str], ...]  # the files that the run replaces, each with its place and name
    # directories that get another version: the place, the name and the version of each
    switches: tuple[tuple[int, str, str], ...] = ()

    def to_bytes(self) -> bytes:
        return json.dumps({"version": VERSION, **msgspec.to_builtins(self)}).encode()

    @classmethod
    def of(cls, document: dict[str, Any]) -> Journal:
        """Return the journal in a document. Raises: ValueError if it is no journal, or a name leaves its place."""
        try:
            journal = msgspec.convert(document, cls)
        except msgspec.ValidationError as error:
            raise ValueError(f"invalid content: {error}") from None
        if not journal._is_sound():
            raise ValueError("a name is outside its directory, or the directory is unknown")
        return journal

    def _is_sound(self) -> bool:
        taking_part, places = range(1 + self.others), range(1 + len(self.places))
        return (
            0 <= self.others <= len(self.places)
            and is_below(self.run)
            and set(self.outputs) <= set(taking_part)
            and all(
                move.place in taking_part
                and move.target_place in places
                and move.source.startswith(f"{staging_of(self.run)}/")
                and is_below(move.source)
                and is_below(move.target)
                for move in self.moves
            )
            and all(place in taking_part and is_below(name) for place, name in self.deletes)
            and all(place in taking_part and Switch(*one).is_sound() for place, *one in self.switches)
        )


def is_below(name: str) -> bool:
    return all(part not in ("", ".", "..") for part in name.split("/"))


def staging_of(run: str) -> str:
    return f"{STAGING}/{run}"


def read_document(store: Store, name: str) -> dict[str, Any] | None:
    """Return a JSON object of the metadata directory; None if there is none. Raises: Abend GG509 if it is damaged."""
    content = store.read(name)
    if content is None:
        return None
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise damaged(store, name, "is empty" if not content.strip() else "is damaged")
    return document


def damaged(store: Store, name: str, what: str) -> Abend:
    file = name.rpartition("/")[2]
    help = _HELP.get(name, "restore the file from a copy, or choose another output directory")
    return Abend("GG509", f"`{file}` {what}", store.shown(name), help)


_UNDECIDED = (
    "find the files of the interrupted run, published or in `_ggfmt/staging`; then remove this file, and run again "
    "with the inputs of missing files"
)
_HELP = {JOURNAL: _UNDECIDED, POINTER: _UNDECIDED}


def read_journal(store: Store) -> Journal | None:
    """Return the journal of a place; None if it has none. Raises: Abend GG509 if ggfmt cannot replay the journal."""
    document = read_document(store, JOURNAL)
    if document is None:
        return None
    if document.get("version") not in READABLE_VERSIONS:
        help = "finish the commit with the version that started it: start any `ggfmt run` to this directory"
        raise Abend("GG509", "the journal is from another version of ggfmt", store.shown(JOURNAL), help)
    try:
        return Journal.of(document)
    except ValueError as error:
        raise damaged(store, JOURNAL, f"is damaged: {error}") from None


def replay_journal(journal: Journal, stores: Sequence[Store]) -> None:
    """Do what the journal lists, again if need be. Raises: Abend GG509, with nothing changed, if a file is neither
    staged nor final; one of `FAILURES` if a file system fails."""
    taking_part = stores[: 1 + journal.others]
    staged = [store.below(staging_of(journal.run)) for store in taking_part]
    waiting = [move for move in journal.moves if move.source in staged[move.place]]
    check_done(journal, stores, staged)
    directories = sorted({(move.target_place, parent(move.target)) for move in waiting})
    for place, directory in directories:
        link = stores[place].link_above(f"{directory}/file")
        if link is not None:
            raise _not_as_listed(stores[place], link, "would be written through a symbolic link")
    for place in journal.outputs:
        stores[place].delete(SUCCESS_FILE)
    targets = {(move.target_place, move.target) for move in journal.moves}
    map_parallel(set(journal.deletes) - targets, stores, lambda item: _delete(stores[item[0]], item[1]))
    versions = {(place, version) for place, _, version in journal.switches if version}
    for place, directory in sorted({*directories, *versions}):
        stores[place].make_directory(directory)
    map_parallel(waiting, stores, lambda move: _move(move, stores))
    for place, store in enumerate(taking_part if versions else ()):  # before a link leads to them
        store.sync_all(version for where, version in versions if where == place)
    for place, *one in journal.switches:
        switch(stores[place], Switch(*one), journal.run, f"{staging_of(journal.run)}/link")
    for place in journal.outputs:
        stores[place].write(SUCCESS_FILE, b"")
    for place, store in enumerate(stores):
        store.sync_all({parent(move.target) for move in journal.moves if move.target_place == place} | {""})
    for store in taking_part:
        store.delete_tree(staging_of(journal.run))
    for store in taking_part[1:]:
        delete_if_of_run(store, POINTER, journal.run)
    delete_if_of_run(taking_part[0], JOURNAL, journal.run)
    taking_part[0].delete(f"{COMMITS}/{journal.run}.json")


def check_done(journal: Journal, stores: Sequence[Store], staged: Sequence[dict[str, int]]) -> None:
    """Raise Abend GG509 for the first file that is neither staged nor final, in the size of the journal."""
    gone: dict[int, list[Move]] = {}
    for move in journal.moves:
        size = staged[move.place].get(move.source)
        if size is None:
            gone.setdefault(move.target_place, []).append(move)
        elif size != move.size:
            raise _not_as_listed(stores[move.place], move.source, f"has {size:,} bytes, not {move.size:,}")
    replaced = set(journal.deletes)
    for place, moves in gone.items():
        sizes = stores[place].sizes([move.target for move in moves])
        for move in moves:
            size = sizes.get(move.target)
            if size is None:
                what = f"is missing, and `{move.target}` does not exist"
                raise _not_as_listed(stores[move.place], move.source, what)
            if size != move.size:
                raise _not_as_listed(stores[place], move.target, f"has {size:,} bytes, not {move.size:,}")
            if (place, move.target) in replaced and stores[place].digest(move.target) != move.sha256:
                raise _not_as_listed(
                    stores[move.place], move.source, f"is missing, and `{move.target}` is an older file"
                )


def _not_as_listed(store: Store, name: str, what: str) -> Abend:
    help = (
        "restore the file or its moved directory; to continue without the missing files, remove "
        "`_ggfmt/journal.json` and `_ggfmt/pointer.json`, and run again with the same inputs"
    )
    return Abend("GG509", f"a file of an interrupted commit {what}", store.shown(name), help)


def _move(move: Move, stores: Sequence[Store]) -> None:
    store, into = stores[move.place], stores[move.target_place]
    if move.place == move.target_place:
        store.move(move.source, move.target, move.size)
    else:
        store.copy(move.source, into, move.target, move.size)


def _delete(store: Store, name: str) -> None:
    if store.link_above(name) is None:  # a link leads to files that are not ours
        store.delete(name)


def delete_if_of_run(store: Store, name: str, run: str) -> None:
    document = read_document(store, name)
    if document is not None and document.get("run") == run:
        store.delete(name)


def map_parallel(items: Iterable[T], stores: Sequence[Store], do: Callable[[T], object]) -> None:
    """Call `do` with each item; with many at once, if a store is on the network."""
    if all(store.local for store in stores):
        for item in items:
            do(item)
        return
    with ThreadPoolExecutor(REQUESTS_AT_ONCE) as pool:
        for _ in pool.map(do, items):
            pass
