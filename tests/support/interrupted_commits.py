"""Commits that end in the middle, as if the process had died."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from ggfmt.commit.store import Store


class Died(BaseException):
    """The end of the process: nothing handles it."""


@contextmanager
def dies_in_commit(monkeypatch: pytest.MonkeyPatch, moves: int) -> Iterator[None]:
    """Let the commit of the run in the block die after `moves` moves of files. Fails if the run does not die."""
    left = moves
    real = Store.move

    def move(store: Store, old: str, new: str, size: int) -> None:
        nonlocal left
        if not left:
            raise Died
        left -= 1
        real(store, old, new, size)

    with monkeypatch.context() as patch:
        patch.setattr(Store, "move", move)
        with pytest.raises(Died):
            yield
