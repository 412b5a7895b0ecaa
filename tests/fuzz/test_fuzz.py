"""What fuzzing found stays repaired, and some damage to every format's messages each time; see `fuzz`."""

from __future__ import annotations

import random

import pytest
from dialects import read
from scanners import operations_taken, without_kernels

from fuzz import (
    CORPUS,
    MAX_BYTES,
    PROPERTIES,
    TARGETS,
    corpus,
    damaged,
    definitions,
    repeated,
    seeds,
    sources,
    target,
)
from ggfmt import kernels

EXACT = ("jsonl", "mysqlbinlog_text")  # which the exact reader alone reads


@pytest.mark.parametrize("name", TARGETS)
def test_no_bytes_are_too_much(name: str) -> None:
    look = target(name)
    given = seeds(name)
    for data in (*given[:4], *corpus(name)):
        look(data)
    draw = random.Random(name)
    for _ in range(6):
        look(damaged(draw, draw.choice(given)))


def test_the_corpus_is_small() -> None:
    assert {path.name for path in CORPUS.iterdir()} <= set(TARGETS)
    assert sum(path.stat().st_size for path in CORPUS.rglob("*")) < 200 << 10


@pytest.mark.skipif(kernels.native is None, reason=f"no native kernels: {kernels.state}")
@pytest.mark.parametrize("name", [name for name in TARGETS if name not in (PROPERTIES, *EXACT)])
def test_seeds_reach_the_scanner_of_their_format(name: str) -> None:
    """Else fuzzing would look at the exact reader alone."""
    data = repeated(name)[:MAX_BYTES]  # as much as is fuzzed
    with operations_taken() as taken:
        for source in sources(name):
            read(name, data, source, trusted=definitions(name))
    assert taken.operations > 0
    with without_kernels(), operations_taken() as taken:
        for source in sources(name):
            read(name, data, source, trusted=definitions(name))
    assert not taken.operations
