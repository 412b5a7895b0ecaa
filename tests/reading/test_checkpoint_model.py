"""A model of repeated runs takes steps: every operation is read once, or an error says why not."""

from __future__ import annotations

import pytest
from checkpoint_model import RealMachine, StubbedMachine, take_steps

from ggfmt.reading import checkpoint

ACCEPTED = ("rename", "touch", "restore", "compress", "recreate", "rotate")


def test_every_operation_is_read_once_whatever_becomes_of_files() -> None:
    found = take_steps(StubbedMachine, 30, 30)
    runs = sum(found[verdict] for verdict in ("idle", "read", "refused"))
    assert found["steps"] > 300
    assert found["refused"] < runs / 4, "an error is no answer to everything"
    assert not [kind for kind in ACCEPTED if not found[f"accepted: {kind}"]]


def test_the_model_is_that_of_real_runs() -> None:
    assert take_steps(RealMachine, 4, 12)["read"] > 0


def test_the_model_finds_operations_that_are_read_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "_overlap", lambda *_: None)
    monkeypatch.setattr(checkpoint._InputMatcher, "_same", lambda *_: [])
    with pytest.raises(AssertionError, match="read again"):
        take_steps(StubbedMachine, 100, 50, shrink=False)
