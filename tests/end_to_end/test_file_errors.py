"""Errors of files of ggfmt's own that no step expects: they have a place, and say whether the run is committed."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest
from runs import JSON_LINES, operation, run_ggfmt, write_lines

from ggfmt.commit.store import Store
from ggfmt.commit.versions import has_links
from ggfmt.diagnostics.diagnostic import Abend, CommittedWithErrors
from ggfmt.location import Location
from ggfmt.reading.scan import Scan
from ggfmt.sinks.messages.run import MessageSink


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "in.json", [operation(1, "GG.T")])


def fail(*arguments: Any, **others: Any) -> None:
    raise OSError(errno.EIO, "Input/output error", "/some/file")


def test_before_the_commit(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Scan, "open_all", fail)
    with pytest.raises(Abend, match=r"/some/file: error\[GG506\] a file cannot be read or written: Input/output error"):
        run_ggfmt([source], tmp_path / "out", *JSON_LINES)
    assert not (tmp_path / "out").exists()


def test_after_the_commit(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MessageSink, "report", fail)
    with pytest.raises(CommittedWithErrors, match=r"GG506.*but the run is committed; do not repeat the run"):
        run_ggfmt([source], tmp_path / "out", *JSON_LINES)
    assert (tmp_path / "out" / "_SUCCESS").exists()


def test_a_sink_without_a_directory(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MessageSink, "report", fail)
    monkeypatch.setattr(MessageSink, "outputs", property(lambda sink: (), lambda sink, given: None), raising=False)
    sink = MessageSink.__new__(MessageSink)
    run: Any = type("Run", (), {"decides": True})
    assert isinstance(sink.failed(run, OSError(errno.EIO, "Input/output error", "/some/file")), Abend)


@pytest.mark.parametrize(("error", "links"), [("EPERM", False), ("EOPNOTSUPP", False), ("EIO", None), ("EACCES", None)])
def test_only_the_errors_of_disks_without_links_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: str, links: bool | None
) -> None:
    def refuse(*arguments: Any, **others: Any) -> None:
        raise OSError(getattr(errno, error), error)

    store = Store(Location.of(str(tmp_path)))
    assert has_links(store, "_ggfmt/staging/r/link")
    (tmp_path / "_ggfmt" / "versions" / "T" / "r").mkdir(parents=True)
    (tmp_path / "T").symlink_to("_ggfmt/versions/T/r")
    monkeypatch.setattr("os.symlink", refuse)
    assert has_links(store, "_ggfmt/staging/r/link", ["T"]), "a directory shows it"
    if links is not None:
        assert has_links(store, "_ggfmt/staging/r/link") is links
    else:
        with pytest.raises(OSError, match=error):
            has_links(store, "_ggfmt/staging/r/link")
    monkeypatch.setattr("os.readlink", refuse)
    with pytest.raises(OSError, match=error):
        store.link_target("T")
