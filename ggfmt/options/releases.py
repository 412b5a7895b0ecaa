"""The releases of GoldenGate for Big Data that `ggfmt.compatibility` names, and what each changed in messages."""

from __future__ import annotations

import re
from enum import Enum

from ggfmt.dataclasses import dataclass


class Metadata(str, Enum):
    FIXED = "metadata fields are fixed, and some can be switched off"
    UNKNOWN = "the metadata without a `metaColumnsTemplate` are unknown: ggfmt asks for a template"
    TEMPLATE = "the only metadata fields are the fields of a `metaColumnsTemplate`"


@dataclass(frozen=True)
class Release:
    """A release of GoldenGate.

    manual         the release as its manual names it
    typed_numbers  whole numbers are long integers, and a NUMBER without precision is a number
    fingerprint    by default, wrappers name the schema of an Avro message by its fingerprint
    """

    name: str
    manual: str
    typed_numbers: bool
    metadata: Metadata
    fingerprint: bool

    @property
    def changes(self) -> tuple[str, ...]:
        """Return the properties of the release's messages, one fact per text."""
        return (
            "whole numbers are long integers, and a NUMBER without precision is a double"
            if self.typed_numbers
            else "numbers are doubles; a NUMBER without precision is text, as it is in the trail",
            self.metadata.value,
            f"wrappers name schemas by {'fingerprint' if self.fingerprint else 'hash'}",
        )

    @property
    def doc(self) -> str:
        return "; ".join(self.changes)


_RELEASES = (
    Release("12.2", "12.2.0.1", typed_numbers=False, metadata=Metadata.FIXED, fingerprint=False),
    Release("12.3", "12.3.1.1", typed_numbers=True, metadata=Metadata.FIXED, fingerprint=True),
    Release("12.3.2", "12.3.2.1", typed_numbers=True, metadata=Metadata.FIXED, fingerprint=True),
    Release("19.1", "19.1", typed_numbers=True, metadata=Metadata.UNKNOWN, fingerprint=True),
    Release("21", "21.1", typed_numbers=True, metadata=Metadata.TEMPLATE, fingerprint=True),
    Release("23", "23ai", typed_numbers=True, metadata=Metadata.TEMPLATE, fingerprint=True),
    Release("26", "26ai", typed_numbers=True, metadata=Metadata.TEMPLATE, fingerprint=True),
)

RELEASES = {release.name: release for release in _RELEASES}
GOLDENGATE = "GoldenGate for Big Data"
DEFAULT_RELEASE = "12.2"
FIRST_RELEASE = "12.2"
UNKNOWN = "unknown"  # in place of the first release: nothing follows from it


def find_release(text: str) -> str | None:
    """Return the release that a text names, or None. `21.1` and `21c` name `21`, `12.3.1.1` names `12.3`."""
    name = re.sub("(c|ai)$", "", text.strip().lower())
    return max((known for known in RELEASES if f"{name}.".startswith(f"{known}.")), key=len, default=None)


def manual_name(release: str) -> str:
    """Return a release as manuals name it: `12.3.2.1` for `12.3.2`; a text that is no key of `RELEASES` as it is."""
    return RELEASES[release].manual if release in RELEASES else release


def is_later(release: str, other: str) -> bool:
    return release_numbers(release) > release_numbers(other)


def is_available(release: str, since: str, until: str | None) -> bool:
    return not is_later(since, release) and (until is None or not is_later(release, until))


def is_later_than_named(since: str, named: str) -> bool:
    """Return whether `since` is after a release that a user names. `23` may name any release of 23, thus 23.7 too."""
    if since in RELEASES:
        return is_later(since, find_release(named) or named)
    given, first = release_numbers(named), release_numbers(since)
    return first > given and first[: len(given)] != given


def release_numbers(release: str) -> list[int]:
    return [int(number) for number in re.findall("[0-9]+", release)]
