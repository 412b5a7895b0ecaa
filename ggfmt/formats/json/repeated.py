"""Members that a JSON object has twice. JSON allows them; decoders take the last one, and do not report the others."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec
from msgspec import Raw

from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.json.values import raw_members
from ggfmt.java.text import visible
from ggfmt.lazy import lazy_regex

_raws = msgspec.json.Decoder(Raw).decode_lines
_items = msgspec.json.Decoder(list[Raw]).decode
_text = msgspec.json.Decoder(str).decode
_TOKENS = lazy_regex(rb'("[^"\\]*(?:\\.[^"\\]*)*")\s*(:?)|[\[\]{}]', re.DOTALL)


class Once(NamedTuple):
    """The members that an object may have only once.

    members   by name, with the members of the object in them that may be there only once, or None
    prefixes  of the names of other such members; an empty one for all members
    """

    members: Mapping[str, Once | None]
    prefixes: tuple[str, ...] = ()


EVERY = Once({}, ("",))


def repeated_member(data: bytes | Raw, once: Once) -> str | None:
    """Return the full name of a member that is in an object twice and should not be; None without one."""
    data = bytes(data)
    try:
        if data.startswith(b'"'):  # the object is in a text
            data = _text(data).encode()
        if data.startswith(b"["):
            return next(filter(None, (repeated_member(item, once) for item in _items(data))), None)
        members = raw_members(data)
    except (ValueError, RecursionError):  # no object: the decoder reports it
        return None
    if not _is_whole(data, members):
        met = set()
        for name in _names(data):
            if name in met and (name in once.members or name.startswith(once.prefixes)):
                return name
            met.add(name)
    for name, within in once.members.items():
        if within is not None and name in members:
            found = repeated_member(members[name], within)
            if found is not None:
                return f"{name}.{found}"
    return None


def _is_whole(data: bytes, members: Mapping[str, Raw]) -> bool:
    """Return whether an object, in one of the two usual spellings, has no other members than the decoded ones."""
    size = sum(map(len, members.values())) + len("".join(members).encode()) + 4 * len(members) + 1
    if len(data) == size:
        return True
    if len(data) != size + 2 * len(members) - 1:
        return False
    return b"{%b}" % b", ".join([b'"%b": %b' % (name.encode(), value) for name, value in members.items()]) == data


def _names(data: bytes) -> Iterator[str]:
    """Yield the names of the members of an object, in their order."""
    depth = 0
    for token in _TOKENS.finditer(data):
        bracket = token[0][:1]
        if bracket in b"{[":
            depth += 1
        elif bracket in b"}]":
            depth -= 1
        elif depth == 1 and token[2]:
            yield _text(token[1])


def repeated_in_lines(data: bytes, once: Once) -> Iterator[tuple[int, str]]:
    """Yield the index and the member of each record of lines that has a member twice."""
    for index, record in enumerate(_raws(data)):
        name = repeated_member(record, once)
        if name is not None:
            yield index, name


def repeated_error(name: str, what: str = "the record") -> Diagnostic:
    help = "correct the program that writes the records: ggfmt cannot know which of the two values is right"
    return Diagnostic("GG329", f"{what} has the member `{visible(name[:80])}` twice", help=help)
