"""A directory on a disk or in an object store, and what a failure leaves in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ggfmt.commit.store import Store
from ggfmt.location import Location


class FullDisk:
    """A file system whose disk is full after three bytes of a file."""

    def __init__(self, fs: Any) -> None:
        self._fs = fs

    def __getattr__(self, name: str) -> Any:
        return getattr(self._fs, name)

    def open_output_stream(self, path: str, **options: Any) -> Any:
        with self._fs.open_output_stream(path, **options) as stream:
            stream.write(b"par")
        raise OSError(28, "No space left on device")


def test_a_file_that_cannot_be_written_whole_is_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(Location.of(str(tmp_path)))
    store.write("d/good", b"whole")
    monkeypatch.setattr(store, "fs", FullDisk(store.fs))
    with pytest.raises(OSError, match="No space left"):
        store.write("d/bad", b"part and rest")
    assert [path.name for path in (tmp_path / "d").iterdir()] == ["good"]
