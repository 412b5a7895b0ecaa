"""The progress of files in the offsets of a stream, as text that stays small with many files.

Each batch stores its offset, and Spark hands an offset to Python several times per batch. As JSON a file takes about
150 bytes. Files are packed in blocks by number instead, column by column: names and inodes of neighbors are alike. The
blocks lose nothing, so that the rows of a batch still follow from its two offsets alone. A block in which no file has
changed keeps its text, and is neither read nor written again.
"""

from __future__ import annotations

import json
import lzma
from base64 import b85decode, b85encode
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, groupby
from typing import Any

from ggfmt.dataclasses import dataclass, replace

BLOCK_FILES = 2048
DIGEST_DIGITS = 12  # earlier versions kept 32

FilesByPath = Mapping[str, "FileProgress"]


@dataclass(frozen=True)
class FileProgress:
    """How far a file was read: number, bytes, whether it is complete, a checksum of both ends; `inode` if local."""

    number: int
    end: int
    closed: bool
    digest: str
    inode: int | None


class ProgressCodec:
    """Packs the files of offsets as blocks of text, by number, and unpacks them. It also reads offsets of earlier
    versions, with an object of JSON for each path. A block that the last offset has too is not decoded again."""

    def __init__(self) -> None:
        self._blocks: dict[str, FilesByPath] = {}  # of the last offset, by their text

    def pack(self, files: FilesByPath) -> list[str]:
        same = {_block(next(iter(block.values()))): (text, block) for text, block in self._blocks.items()}
        ordered = sorted(files.items(), key=lambda item: item[1].number)
        packed = []
        for number, group in groupby(ordered, lambda item: _block(item[1])):
            block = dict(group)
            text, known = same.get(number, ("", {}))
            packed.append(text if block == known else _pack(block))
            self._blocks[packed[-1]] = block
        return packed

    def unpack(self, files: Sequence[str] | Mapping[str, dict[str, Any]]) -> dict[str, FileProgress]:
        if isinstance(files, Mapping):
            known = {path: FileProgress(**state) for path, state in files.items()}
            return {path: replace(state, digest=state.digest[:DIGEST_DIGITS]) for path, state in known.items()}
        self._blocks = {text: self._blocks.get(text) or _unpack(text) for text in files}
        return {path: known for block in self._blocks.values() for path, known in block.items()}


def _block(known: FileProgress) -> int:
    return known.number // BLOCK_FILES


def _pack(block: FilesByPath) -> str:
    files = block.values()
    columns = [
        list(block),
        list(_steps([known.number for known in files])),
        [known.end for known in files],
        [known.closed for known in files],
        list(_steps([known.inode or 0 for known in files])),
        [known.inode is not None for known in files],
    ]
    digests = bytes.fromhex("".join(known.digest for known in files))  # random: nothing makes them smaller
    return " ".join(b85encode(part).decode() for part in (digests, lzma.compress(json.dumps(columns).encode())))


def _unpack(text: str) -> dict[str, FileProgress]:
    digests, packed = map(b85decode, text.split(" "))
    paths, numbers, ends, closed, inodes, local = json.loads(lzma.decompress(packed))
    size = DIGEST_DIGITS // 2
    rows = zip(
        paths,
        accumulate(numbers),
        ends,
        closed,
        (digests[place : place + size].hex() for place in range(0, len(digests), size)),
        (inode if is_local else None for inode, is_local in zip(accumulate(inodes), local, strict=True)),
        strict=True,
    )
    return {path: FileProgress(*state) for path, *state in rows}


def _steps(values: Sequence[int]) -> Iterator[int]:
    return (value - before for before, value in zip((0, *values), values, strict=False))
