"""Offsets keep the progress of many files in few bytes, and lose nothing of it."""

from __future__ import annotations

import json
import random
from dataclasses import asdict, replace

import pytest

from ggfmt.frames import offsets
from ggfmt.frames.offsets import BLOCK_FILES, FileProgress, FilesByPath, ProgressCodec

NAMES = ["a b.json", "ü\n€\t.json", "\udcff.json", 'q"\\ .json', "s3://bucket/x?y=1", "日本.json"]


def some_files(count: int, seed: int = 1) -> dict[str, FileProgress]:
    chance = random.Random(seed)
    files, number, inode = {}, 0, 1 << 40
    for place in range(count):
        number += chance.choice([1, 1, 1, 4000])
        inode += chance.randrange(-3, 20)
        path = f"/data/{place:06}.json" if chance.random() < 0.9 else f"{chance.choice(NAMES)}{place}"
        state = chance.randrange(1, 1 << 50), chance.random() < 0.5, f"{chance.getrandbits(48):012x}"
        files[path] = FileProgress(number, *state, chance.choice([inode, None, 0, (1 << 64) - 1]))
    return files


@pytest.mark.parametrize("count", [0, 1, 2, BLOCK_FILES, BLOCK_FILES + 1, 3 * BLOCK_FILES])
def test_nothing_is_lost_whatever_the_files_are(count: int) -> None:
    files = some_files(count)
    shuffled = dict(random.Random(2).sample(list(files.items()), count))
    packed = json.loads(json.dumps(ProgressCodec().pack(shuffled)))
    found = ProgressCodec().unpack(packed)
    assert found == files
    assert list(found) == list(files)  # by their numbers
    assert ProgressCodec().pack(found) == packed
    assert all(text.isascii() and text.isprintable() and not {'"', "\\"} & set(text) for text in packed)


def test_a_block_without_a_change_is_not_read_or_written_again(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {f"{number}": FileProgress(number, 9, False, "00" * 6, number) for number in range(3 * BLOCK_FILES)}
    codec = ProgressCodec()
    packed = codec.pack(files)
    touched: list[str] = []
    pack, unpack = offsets._pack, offsets._unpack

    def noted_pack(block: FilesByPath) -> str:
        touched.append(min(block))
        return pack(block)

    def noted_unpack(text: str) -> dict[str, FileProgress]:
        touched.append(text)
        return unpack(text)

    monkeypatch.setattr(offsets, "_pack", noted_pack)
    monkeypatch.setattr(offsets, "_unpack", noted_unpack)
    assert codec.unpack(packed) == files
    assert codec.pack(files) == packed
    assert touched == []
    changed = {**codec.unpack(packed), "1": replace(files["1"], end=10)}
    again = codec.pack(changed)
    assert touched == ["0"]
    assert again[1:] == packed[1:]
    assert ProgressCodec().unpack(again) == changed
    assert codec.unpack(packed) == files  # Spark may go back to an offset


@pytest.mark.parametrize("change", [{"end": 8}, {"closed": True}, {"digest": "11" * 6}, {"inode": None}, {"number": 6}])
def test_every_part_of_the_progress_counts_as_a_change(change: dict[str, object]) -> None:
    codec, before = ProgressCodec(), {"a": FileProgress(5, 9, False, "00" * 6, 0)}
    packed = codec.pack(before)
    after = {"a": replace(before["a"], **change)}  # type: ignore[arg-type]
    assert codec.pack(after) != packed
    assert codec.pack({"b": before["a"]}) != packed
    assert codec.pack(before) == packed


def test_offsets_of_earlier_versions_are_read() -> None:
    files = some_files(50)
    states = {path: {**asdict(known), "digest": known.digest + "ab" * 10} for path, known in files.items()}
    codec = ProgressCodec()
    found = codec.unpack(json.loads(json.dumps(states)))
    assert found == files
    assert ProgressCodec().unpack(codec.pack(found)) == files
