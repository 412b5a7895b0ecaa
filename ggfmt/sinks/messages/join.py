"""The join of small consecutive files of a table: fewer files, and the same ones for every way to split the input."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TypeVar

from ggfmt.commit.store import HashingStream
from ggfmt.dataclasses import dataclass, replace
from ggfmt.location import Location
from ggfmt.reading.tasks import PlacedPreamble, StagedFile

JOIN_BYTES = 16 << 20
MAX_JOINED_BYTES = 64 << 20  # to copy a larger file would cost more than it saves
BLOCK_BYTES = 4 << 20


@dataclass(frozen=True)
class Group:
    parts: tuple[StagedFile, ...]

    @property
    def size(self) -> int:
        return sum(part.size for part in self.parts)


def plan_groups(files: Sequence[StagedFile], max_file_size: Callable[[str], int]) -> list[Group]:
    """Group consecutive files of each handler, table and partition, in order.

    A group grows to `JOIN_BYTES`, but not beyond `MAX_JOINED_BYTES` and the handler's `maxFileSize`: a table of one
    definition has at most one file more than it has times `JOIN_BYTES`, if `maxFileSize` allows that.
    """
    groups: list[Group] = []
    for (handler, *_), members in groupby(in_order(files), _series):
        limit = min(MAX_JOINED_BYTES, max_file_size(handler))
        parts: list[StagedFile] = []
        size = 0
        said: dict[str, str] = {}
        for file in members:
            again = sum(preamble.size for preamble in _repeated(file, said))
            grown = size + file.size - again - (file.header if parts else 0)
            if parts and (size >= JOIN_BYTES or grown > limit or file.definition != parts[-1].definition):
                groups.append(Group(tuple(parts)))
                parts, grown, said = [], file.size, {}
            parts.append(file)
            size = grown
            said |= _last_said(file)
        groups.append(Group(tuple(parts)))
    return groups


def in_order(files: Iterable[StagedFile]) -> list[StagedFile]:
    """Sort the files of each handler, table and partition together, in the order of their operations."""
    return sorted(files, key=lambda file: (*_series(file), file.split, file.sequence))


def _series(file: StagedFile) -> tuple[str, str, str]:
    return file.handler, file.table, "" if file.place is None else file.place.path


SizedT = TypeVar("SizedT", Group, StagedFile)


def shares(parts: Sequence[SizedT], count: int) -> list[list[SizedT]]:
    """Divide parts in order into at most `count` shares of about one size: a task costs more than a small file."""
    total = sum(part.size for part in parts)
    shared: dict[int, list[SizedT]] = {}
    done = 0
    for part in parts:
        shared.setdefault(done * count // max(total, 1), []).append(part)
        done += part.size
    return list(shared.values())


@dataclass(frozen=True)
class JoinedShare:
    """The outcome of a task: the file of each group."""

    files: tuple[StagedFile, ...]
    is_whole = True

    def staged(self) -> Iterator[tuple[Location, int, str | None]]:
        """Yield the files, with the size and the SHA-256 of each."""
        for file in self.files:
            yield file.location, file.size, file.sha256


def join_share(groups: Sequence[Group], attempt: int) -> JoinedShare:
    return JoinedShare(tuple(join_group(group, attempt) for group in groups))


def join_group(group: Group, attempt: int) -> StagedFile:
    """Write one staged file of all parts, with one header and no repeated preamble. `attempt` keeps attempts apart."""
    first, last = group.parts[0], group.parts[-1]
    if len(group.parts) == 1:
        return first
    location = first.location.extended(f"-joined-{attempt}")
    with location.create() as stream:
        out = HashingStream(stream)
        for block in joined(group.parts):
            out.write(block)
    return replace(
        first,
        location=location,
        size=out.size,
        sha256=out.digest.hexdigest(),
        preambles=(),
        operations=sum(part.operations for part in group.parts),
        counts=tuple(sorted(sum((Counter(dict(part.counts)) for part in group.parts), Counter[str]()).items())),
        last_position=last.last_position,
    )


def joined(parts: Sequence[StagedFile]) -> Iterator[bytes]:
    said: dict[str, str] = {}
    for number, part in enumerate(parts):
        yield from _blocks(part, number > 0, _repeated(part, said))
        said |= _last_said(part)


def _repeated(file: StagedFile, said: Mapping[str, str]) -> list[PlacedPreamble]:
    current = dict(said)
    repeated = []
    for preamble in file.preambles:
        if current.get(preamble.table) == preamble.definition:
            repeated.append(preamble)
        current[preamble.table] = preamble.definition
    return repeated


def _last_said(file: StagedFile) -> dict[str, str]:
    return {preamble.table: preamble.definition for preamble in file.preambles}


def _blocks(file: StagedFile, without_header: bool, left_out: Sequence[PlacedPreamble]) -> Iterator[bytes]:
    with file.location.open_stream() as stream:
        place = len(stream.read(file.header)) if without_header and file.header else 0
        for preamble in left_out:
            while place < preamble.offset:
                block = stream.read(min(BLOCK_BYTES, preamble.offset - place))
                place += len(block)
                yield block
            place += len(stream.read(preamble.size))
        while block := stream.read(BLOCK_BYTES):
            yield block
