"""Small staged files of one table that follow each other become one: fewer files, and the same ones however the input
was split."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from ggfmt.engine.files import extended, file_system
from ggfmt.engine.output.staging import StagedFile

JOIN_BYTES = 16 << 20
BLOCK_BYTES = 4 << 20


@dataclass(frozen=True)
class Group:
    """Staged files that become one output file."""

    parts: tuple[StagedFile, ...]


def plan_groups(files: Sequence[StagedFile], max_file_size: Callable[[str], int]) -> list[Group]:
    """The files of each handler and table in order, those that follow each other put together.

    A group grows up to `JOIN_BYTES` and the handler's `maxFileSize`; a larger file stays as it is, since to copy it
    would cost more than it saves.
    """
    groups: list[Group] = []

    def series(file: StagedFile) -> tuple[str, str]:
        return file.handler, file.table

    for (handler, _), members in groupby(sorted(files, key=lambda f: (*series(f), f.split, f.sequence)), series):
        limit = min(JOIN_BYTES, max_file_size(handler))
        parts: list[StagedFile] = []
        size = 0
        for file in members:
            grown = size + file.size - (file.header if parts else 0)
            if parts and (grown > limit or file.definition != parts[-1].definition):
                groups.append(Group(tuple(parts)))
                parts, grown = [], file.size
            parts.append(file)
            size = grown
        groups.append(Group(tuple(parts)))
    return groups


def join_group(group: Group, attempt: int) -> StagedFile:
    """One staged file with the messages of all parts, and one header. `attempt` keeps attempts of one join apart."""
    first, last = group.parts[0], group.parts[-1]
    if len(group.parts) == 1:
        return first
    path = extended(first.path, f"-joined-{attempt}")
    digest, size = hashlib.sha256(), 0
    fs, inner = file_system(path)
    with fs.open_output_stream(inner) as out:
        for number, part in enumerate(group.parts):
            source, source_path = file_system(part.path)
            with source.open_input_stream(source_path) as stream:
                if number and part.header:
                    stream.read(part.header)
                while block := stream.read(BLOCK_BYTES):
                    out.write(block)
                    digest.update(block)
                    size += len(block)
    return replace(
        first,
        path=path,
        size=size,
        sha256=digest.hexdigest(),
        operations=sum(part.operations for part in group.parts),
        last_position=last.last_position,
    )
