"""Versions of a directory: readers see one of them whole, and the one before stays for some time.

A directory of an output on a disk that has been replaced is a symbolic link: `GG.ORDERS` leads to
`_ggfmt/versions/GG.ORDERS/<run>`, relative to the output, so that the output can be moved. A commit fills the directory
of a new version and then renames a new link over the old one. Files that stay are hard links. No version has the name
of a file in another one that is still there: a program that lists one version and opens the files of the next finds
none of them, and cannot mix the two.

The modification time of a version is the time at which it was replaced. The first commit that comes later than
`KEPT_SECONDS` after it deletes the version.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from ggfmt.commit.names import METADATA_DIRECTORY
from ggfmt.commit.store import Store, parent

VERSIONS = f"{METADATA_DIRECTORY}/versions"
KEPT_SECONDS = 3600  # of a version that was replaced; `ggfmt docs consolidation` states it
_NO_LINKS = {errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP}  # of disks without symbolic links
_NUMBER = re.compile(r"-([0-9]+)\.")


@dataclass(frozen=True)
class Switch:
    """A directory right below the root that gets another `version`, named from there; empty if it goes."""

    name: str
    version: str

    def is_sound(self) -> bool:
        simple = "/" not in self.name and self.name not in ("", ".", "..", METADATA_DIRECTORY)
        return simple and (not self.version or _is_version(self.name, self.version))


def version_of(name: str, run: str) -> str:
    return f"{VERSIONS}/{name}/{run}"


def _is_version(name: str, version: str) -> bool:
    above, _, last = version.rpartition("/")
    return above == f"{VERSIONS}/{name}" and last not in ("", ".", "..")


def present_version(store: Store, name: str) -> str | None:
    """Return the version that a directory shows; None if it has no versions, or is a foreign link."""
    target = store.link_target(name)
    return target if target is not None and _is_version(name, target) else None


def shown_path(path: str) -> str:
    """Return a path into a version, as users name it: through the link of the directory."""
    start, slash, rest = path.partition(f"{VERSIONS}/")
    if start or not slash:
        return path
    name, _, below = rest.partition("/")
    return "/".join(filter(None, (name, below.partition("/")[2])))


def has_links(store: Store, draft: str, names: Iterable[str] = ()) -> bool:
    """Return whether a directory has symbolic links that one rename replaces: directories of these `names` show it, or
    a trial with a free name, `draft`. Raises: OSError for another error than that the disk has no links."""
    if not store.local or os.name == "nt":
        return False
    if any(present_version(store, name) is not None for name in names):
        return True
    store.make_directory(parent(draft))
    store.delete_link(draft)
    try:
        store.make_link(draft, ".")
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        return False
    store.delete_link(draft)
    return True


def last_number(store: Store, name: str) -> int:
    directories = [name, *(f"{VERSIONS}/{name}/{version}" for version in store.names(f"{VERSIONS}/{name}"))]
    found = (_NUMBER.search(file) for directory in directories for file in _names(store, directory))
    return max((int(number[1]) for number in found if number is not None), default=-1)


def _names(store: Store, directory: str) -> list[str]:
    with suppress(FileNotFoundError, NotADirectoryError):
        return os.listdir(store.inner(directory))
    return []


def switch(store: Store, one: Switch, run: str, draft: str) -> None:
    """Let a directory show another version. What is done already stays done. `draft`: a name for the new link."""
    target = store.link_target(one.name)
    if target is not None and target == one.version:
        return
    if target is not None:
        with suppress(FileNotFoundError):
            store.touch(one.name)  # the version that it leads to
    elif store.exists(one.name) and _retired(store, one, run):
        return
    if not one.version:
        store.delete_link(one.name)
        return
    store.make_directory(parent(draft))
    store.make_link(draft, one.version)
    store.rename(draft, one.name)


def _retired(store: Store, one: Switch, run: str) -> bool:
    """Make a version of a directory that has none. Return whether the new link is in its place at the same moment."""
    before = version_of(one.name, f"{run}-before")
    store.make_directory(parent(before))
    store.touch(one.name)
    if one.version:
        store.make_link(before, one.version)
        if store.exchange(before, one.name):
            return True
        store.delete_link(before)
    store.rename(one.name, before)
    return False


def expired(store: Store, now: float, listed: Collection[str]) -> Iterator[str]:
    """Yield the versions to delete.

    now     the time of a commit, by the clock of the disk
    listed  the directories of the manifest: without its link, such a directory keeps all versions. So does one with
            a link that ggfmt did not make
    """
    for name in store.names(VERSIONS):
        present = present_version(store, name)
        is_foreign = present is None and store.link_target(name) is not None
        if is_foreign or (present is None and name in listed and not store.exists(name)):
            continue
        for run in store.names(f"{VERSIONS}/{name}"):
            version = f"{VERSIONS}/{name}/{run}"
            if version != present and now - os.lstat(store.inner(version)).st_mtime >= KEPT_SECONDS:
                yield version
