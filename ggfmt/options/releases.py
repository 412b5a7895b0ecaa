"""The releases of GoldenGate for Big Data that `ggfmt.compatibility` names, and what each changed in messages.

Each fact stands once, here. An option says itself from which release on it is (`since`) and which was the last to have
it (`until`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum


class Metadata(str, Enum):
    """Where the metadata of messages come from, if a handler gives no `metaColumnsTemplate`."""

    FIXED = "metadata fields are fixed, and some can be switched off"
    UNKNOWN = "what metadata are written without a `metaColumnsTemplate` is not known: ggfmt asks for one"
    TEMPLATE = "there are no metadata fields but those of a `metaColumnsTemplate`"


@dataclass(frozen=True)
class Release:
    """One release: `typed_numbers` tells that whole numbers are long integers and that a NUMBER without precision is a
    number; `fingerprint` that wrappers name the schema of an Avro message by its fingerprint unless told otherwise."""

    name: str
    typed_numbers: bool
    metadata: Metadata
    fingerprint: bool

    @property
    def changes(self) -> tuple[str, ...]:
        """What the release says of messages, one fact a text."""
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
    Release("12.2", typed_numbers=False, metadata=Metadata.FIXED, fingerprint=False),
    Release("12.3", typed_numbers=True, metadata=Metadata.FIXED, fingerprint=True),
    Release("12.3.2", typed_numbers=True, metadata=Metadata.FIXED, fingerprint=True),
    Release("19.1", typed_numbers=True, metadata=Metadata.UNKNOWN, fingerprint=True),
    Release("21", typed_numbers=True, metadata=Metadata.TEMPLATE, fingerprint=True),
    Release("23", typed_numbers=True, metadata=Metadata.TEMPLATE, fingerprint=True),
    Release("26", typed_numbers=True, metadata=Metadata.TEMPLATE, fingerprint=True),
)

RELEASES = {release.name: release for release in _RELEASES}
DEFAULT_RELEASE = "12.2"
FIRST_RELEASE = "12.2"


def named(text: str) -> str | None:
    """The release that a text means: `21.1`, `21c`, `12.3.1.1` are written for `21` and `12.3`; None for no release."""
    name = re.sub("(c|ai)$", "", text.strip().lower())
    return max((known for known in RELEASES if f"{name}.".startswith(f"{known}.")), key=len, default=None)


def is_later(release: str, other: str) -> bool:
    """Whether a release is later than another, by their numbers."""
    return _numbers(release) > _numbers(other)


def has(release: str, since: str, until: str | None) -> bool:
    """Whether a release has what came with one release and ended, if it did, with another."""
    return not is_later(since, release) and (until is None or not is_later(release, until))


def _numbers(release: str) -> list[int]:
    return [int(number) for number in re.findall("[0-9]+", release)]
