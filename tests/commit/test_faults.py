"""Some of the faults of commits (`tests/tools/faults.py`), and what holds a directory where there are no locks."""

from __future__ import annotations

import json
import os
import random
import threading
import time
from datetime import datetime
from pathlib import Path

import pytest
from faults import FAULTS, KINDS, MODES, Faults, Laboratory, faulty
from runs import JSON_LINES, content, operation, run_ggfmt, snapshot, write_lines

from ggfmt.commit import locking
from ggfmt.commit.commit import Participant
from ggfmt.commit.directory import OutputDirectory
from ggfmt.commit.store import Store
from ggfmt.diagnostics.diagnostic import Abend, UsageError
from ggfmt.location import Location
from ggfmt.sinks.messages.verification import verify

CASES = 50


@pytest.fixture(scope="module", params=[False, True], ids=["in order", "divided by table"])
def laboratory(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Laboratory:
    return Laboratory(tmp_path_factory.mktemp("faults"), request.param)


def test_a_fault_leaves_all_or_nothing(laboratory: Laboratory) -> None:
    cases = random.Random(CASES).sample(laboratory.cases(), CASES)
    assert {case.kind for case in cases} == set(KINDS)
    assert {case.mode for case in cases} == set(MODES)
    assert {case.fault for case in cases} == set(FAULTS)
    results = {laboratory.try_case(case) for case in cases}
    assert {"Abend, as before", "CommittedWithErrors, committed", "Died, as before", "Died, committed"} <= results


def test_runs_with_faults_one_after_the_other(laboratory: Laboratory) -> None:
    for seed in range(3):
        laboratory.try_chain(random.Random(seed))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "in.json", [operation(n, f"GG.T{n % 3}") for n in range(30)])


def test_a_live_lease_refuses_another_run_and_names_its_owner(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with faulty(Faults(), "objects"):
        first = OutputDirectory(Location.of(str(out)))
        first.acquire("first")
        staged = out / "_ggfmt" / "staging" / "first" / "0000001"
        staged.parent.mkdir(parents=True)
        staged.write_text("what the first run has written so far")
        before = snapshot(out)
        with pytest.raises(UsageError, match=r"GG501.*another run is writing") as caught:
            run_ggfmt([source], out, *JSON_LINES)
        assert f"process {os.getpid()} on " in str(caught.value)
        assert "last seen 0 s ago" in str(caught.value)
        assert snapshot(out) == before, "what is staged by a run that lives is left alone, and no lease is left"
        assert first.is_held()
        first.release()
        run_ggfmt([source], out, *JSON_LINES)
    assert content(out, "j").count(b"\n") == 30
    assert verify(str(out)).findings == []


@pytest.mark.parametrize(("age", "lives"), [(590, True), (610, False)])
def test_the_age_of_a_lease_is_told_by_the_clock_of_the_store(
    source: Path, tmp_path: Path, age: int, lives: bool
) -> None:
    out = tmp_path / "out"
    lease = out / "_ggfmt" / "leases" / "other.json"
    staged = out / "_ggfmt" / "staging" / "other" / "0000001"
    for path in (lease, staged):
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({"run": "other", "host": "far", "pid": 1, "since": "2999-01-01"}))
    os.utime(lease, (time.time() - age,) * 2)
    for kind in KINDS:  # a lock does not overlook a lease: the disk may be one of a network
        with faulty(Faults(), kind):
            if lives:
                with pytest.raises(UsageError, match=r"process 1 on far, since 2999-01-01, last seen 59\d s ago"):
                    run_ggfmt([source], out, *JSON_LINES)
                assert staged.exists()
                assert [path.name for path in lease.parent.iterdir()] == ["other.json"]
            else:
                run_ggfmt([source], out, *JSON_LINES, mode="append")
                assert not staged.exists()


@pytest.mark.parametrize("how", ["removed", "another"])
def test_a_run_that_lost_its_lease_commits_nothing(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """It stood still for so long that another run took it for dead."""
    out = tmp_path / "out"
    real = Participant.stage

    def stage(output: Participant, documents: object) -> object:
        staged = real(output, documents)  # type: ignore[arg-type]
        (own,) = (path for path in (out / "_ggfmt" / "leases").iterdir() if path.name != "another.json")
        own.unlink() if how == "removed" else (own.parent / "another.json").touch()
        monkeypatch.setattr(Participant, "stage", real)
        return staged

    with faulty(Faults(), "objects"):
        monkeypatch.setattr(Participant, "stage", stage)
        with pytest.raises(Abend, match=r"GG506.*no longer holds"):
            run_ggfmt([source], out, *JSON_LINES)
    assert not list(out.glob("j/*"))
    assert not (out / "_ggfmt" / "journal.json").exists()


def test_a_lease_is_renewed_while_its_run_lives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locking, "RENEWAL_SECONDS", 0.01)
    with faulty(Faults(), "objects"):
        output = OutputDirectory(Location.of(str(tmp_path / "out")))
        output.acquire("one")
        lease = tmp_path / "out" / "_ggfmt" / "leases" / "one.json"
        os.utime(lease, (0, 0))
        deadline = time.monotonic() + 10
        while lease.stat().st_mtime == 0 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert lease.stat().st_mtime > time.time() - 60
        output.release()
    assert not lease.exists()
    assert not any(thread.name == "ggfmt-lease" for thread in threading.enumerate())


def test_a_copy_that_is_not_whole_does_not_cost_the_original(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with faulty(Faults(), "objects"):
        store = Store(Location.of(str(tmp_path)))
        store.write("a", b"0123456789")
        monkeypatch.setattr("ggfmt.commit.store.COPIED_BY_THE_STORE", 5)  # what is larger goes by this machine
        with pytest.raises(OSError, match="the copy of `a` has 10 bytes, not 11"):
            store.move("a", "b", 11)
        assert store.read("a") == b"0123456789"
        store.move("a", "b", 10)
        assert (store.read("a"), store.read("b")) == (b"0123456789", b"0123456789")


def test_what_decides_is_synced_before_it_is_there(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The staged files and the draft of the journal, then its directory, and all again before it is removed."""
    out = tmp_path / "out"
    journal = out / "_ggfmt" / "journal.json"
    seen: list[tuple[str, bool, bool]] = []

    def note(path: str) -> bool:
        seen.append((Path(path).name, journal.exists(), (out / "_SUCCESS").exists()))
        return True

    def fail(path: str) -> bool:
        raise AssertionError(path)

    monkeypatch.setattr("ggfmt.commit.store.sync", note)
    monkeypatch.setattr("ggfmt.commit.store.sync_file_system", note)
    monkeypatch.setattr("ggfmt.commit.store.FEW_FILES", 0)
    run_ggfmt([source], out, *JSON_LINES, current_timestamp=datetime(2020, 1, 1))
    assert seen == [("out", False, False), ("_ggfmt", True, False), ("out", True, True)]
    seen.clear()
    monkeypatch.setattr("ggfmt.commit.store.sync_file_system", lambda path: False)
    run_ggfmt([source], out, *JSON_LINES, mode="append")
    several = [name for name, decided, _ in seen if not decided]
    assert several[-6:-4] == ["documents", "journal.json"]
    assert several[-3:] == ["staging", "_ggfmt", "out"]
    assert len(several) == 12, "each staged file, document and directory, where the system cannot sync all at once"
    seen.clear()
    monkeypatch.setattr("ggfmt.commit.store.FEW_FILES", 32)
    monkeypatch.setattr("ggfmt.commit.store.sync_file_system", fail)
    run_ggfmt([source], out, *JSON_LINES, mode="append")
    assert len([name for name, decided, _ in seen if not decided]) == 12, "and where there are few of them"
