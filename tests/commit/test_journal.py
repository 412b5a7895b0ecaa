"""The replay of a journal changes nothing if a file is not as the journal lists it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from runs import snapshot

from ggfmt.commit.journal import Journal, Move, replay_journal, staging_of
from ggfmt.commit.store import Store
from ggfmt.diagnostics.diagnostic import Abend
from ggfmt.location import Location

STAGED, FINAL = f"{staging_of('run')}/a", "j/a"
CONTENT = b"0123456789"
MOVE = Move(0, STAGED, 0, FINAL, len(CONTENT), hashlib.sha256(CONTENT).hexdigest())
JOURNAL = Journal("run", (), 0, (0,), (MOVE,), ((0, FINAL),))


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({STAGED: CONTENT[1:]}, rf"{STAGED}: .*has 9 bytes, not 10"),
        ({STAGED: CONTENT + b"a", FINAL: CONTENT}, rf"{STAGED}: .*has 11 bytes, not 10"),
        ({FINAL: CONTENT[1:]}, rf"{FINAL}: .*has 9 bytes, not 10"),
        ({FINAL: CONTENT[::-1]}, rf"{STAGED}: .*is missing, and `{FINAL}` is an older file"),
        ({}, rf"{STAGED}: .*is missing, and `{FINAL}` does not exist"),
    ],
)
def test_a_file_that_is_not_as_listed(tmp_path: Path, files: dict[str, bytes], message: str) -> None:
    store = Store(Location.of(str(tmp_path)))
    for name, content in files.items():
        store.write(name, content)
    before = snapshot(tmp_path)
    with pytest.raises(Abend, match=message):
        replay_journal(JOURNAL, [store])
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("files", [{STAGED: CONTENT}, {FINAL: CONTENT}, {STAGED: CONTENT, FINAL: b"old"}])
def test_files_as_listed(tmp_path: Path, files: dict[str, bytes]) -> None:
    store = Store(Location.of(str(tmp_path)))
    for name, content in files.items():
        store.write(name, content)
    replay_journal(JOURNAL, [store])
    assert (store.read(FINAL), store.read(STAGED)) == (CONTENT, None)
