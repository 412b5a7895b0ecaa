"""What fuzzing found stays repaired, and some damage to every format's messages each time; see `fuzz`."""

from __future__ import annotations

import random

import pytest
from fuzz import CORPUS, TARGETS, corpus, seeds, target

PIECES = [b"{", b"}", b"[", b'"', b"\\", b"\n", b"\r", b"\xff", b"\0", b"null", b"]]>", b"</", b"\x80" * 9, b",", b"|"]


def damaged(draw: random.Random, data: bytes) -> bytes:
    for _ in range(draw.randint(1, 4)):
        start = draw.randrange(len(data) + 1)
        end = min(len(data), start + draw.choice([0, 1, 1, 8, 60]))
        other = draw.randrange(len(data) + 1)
        piece = draw.choice([draw.choice(PIECES), bytes([draw.randrange(256)]), data[other : other + 40], b""])
        data = data[:start] + piece + data[end:]
    return data


@pytest.mark.parametrize("name", TARGETS)
def test_no_bytes_are_too_much(name: str) -> None:
    look = target(name)
    given = seeds(name)
    for data in (*given[:3], *corpus(name)):
        look(data)
    draw = random.Random(name)
    for _ in range(6):
        look(damaged(draw, draw.choice(given)))


def test_the_corpus_is_small() -> None:
    assert {path.name for path in CORPUS.iterdir()} <= set(TARGETS)
    assert sum(path.stat().st_size for path in CORPUS.rglob("*")) < 200 << 10
