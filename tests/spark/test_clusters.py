"""What can happen to a cluster changes no result: executors are lost, come and go, are slow, full or short of memory.

Each run has two forms: its records are divided by table first, or read in their order.
"""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

import pytest
from cluster_runs import Harm, Sabotage, data, over, records, write_files
from kafka_broker import KafkaBroker, kafka_broker
from kafka_runs import Changes
from kills import Case, Matrix, victims
from places import ROOT
from runs import manifest, run_ggfmt, write_lines
from spark_cluster import quick_executors, standalone_cluster

from ggfmt.diagnostics.diagnostic import Abend
from ggfmt.reading import routing
from ggfmt.spark.session import SparkRunner, SparkSettings

pytestmark = [pytest.mark.spark, pytest.mark.long]

__all__ = ["kafka_broker"]

FORMS = {"divided": routing.MIN_TABLES, "in-order": 1 << 30}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_files(tmp_path_factory.mktemp("in"))


@pytest.fixture(scope="module")
def expected(source: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    out = tmp_path_factory.mktemp("expected") / "out"
    run_ggfmt([source], out)
    return data(out)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A master, and the directory of its two workers, each on a host of its own."""
    directory = tmp_path_factory.mktemp("cluster")
    with standalone_cluster(directory) as master:
        yield master, directory


@contextmanager
def running(master: str, executors: int = 2, conf: Mapping[str, str] = MappingProxyType({})) -> Iterator[SparkRunner]:
    """A session with so many executors, and settings whose names start with `spark.`."""
    given = (("spark.executor.memory", "512m"), quick_executors())
    settings = SparkSettings(master, (*given, *((f"spark.{name}", value) for name, value in conf.items())))
    with SparkRunner(settings) as session:
        wait_for_executors(session, executors)
        yield session


def wait_for_executors(session: SparkRunner, count: int) -> None:
    deadline = time.monotonic() + 60
    while session.executors != count:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def run_both(
    source: Path, top: Path, sabotage: Callable[[Path], Sabotage], split_size: int = 150_000
) -> Iterator[tuple[Path, Sabotage]]:
    """Run each form, and yield its output and what was done to it."""
    for form, least in FORMS.items():
        harmed = sabotage(top / f"marks-{form}")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(routing, "MIN_TABLES", least)
            run_ggfmt([source], top / form, start=over(harmed), split_size=split_size)
        assert any("route_split" in name for name in harmed.passes) == (form == "divided")
        assert {path.name for path in (top / form / "_ggfmt").iterdir()} == {"manifest.json", "runs"}
        yield top / form, harmed


def test_executors_that_are_lost(
    source: Path, expected: dict[str, str], cluster: tuple[str, Path], tmp_path: Path
) -> None:
    """One in the middle of a pass, after it has finished tasks, and one after each pass."""

    def lose(number: int, tries: int) -> None:
        if number == 3 and not tries:
            process = os.getpid()
            while "java" not in Path(f"/proc/{process}/comm").read_text():
                process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
            os.kill(process, signal.SIGKILL)
            time.sleep(60)

    master, directory = cluster
    with running(master) as session:
        for out, harmed in run_both(
            source,
            tmp_path,
            lambda marks: Sabotage(session, marks, after=lose, between=lambda: kill_executor(directory)),
        ):
            assert data(out) == expected
            assert harmed.repeated
            assert len(harmed.executors) > 2


def kill_executor(directory: Path) -> None:
    for process in victims(Case("executor", "half", "KILL", "append"), os.getpid(), directory):
        os.kill(process, signal.SIGKILL)


def test_copies_of_slow_tasks(
    source: Path, expected: dict[str, str], cluster: tuple[str, Path], tmp_path: Path
) -> None:
    """Of each pass one task is slow, so that Spark starts a copy, which ends first. Both write."""

    def sabotage(marks: Path) -> Sabotage:
        def wait_for_copy(number: int, tries: int) -> None:
            if number == 0 and not tries:
                mine = max(marks.glob("*-0-*"), key=lambda mark: mark.stat().st_mtime_ns).name.rpartition("-")[0]
                deadline = time.monotonic() + 60
                while len(list(marks.glob(f"{mine}-*"))) < 2 and time.monotonic() < deadline:
                    time.sleep(0.05)
                time.sleep(0.3)

        return Sabotage(session, marks, after=wait_for_copy)

    conf = {"speculation": "true", "speculation.interval": "100ms", "speculation.quantile": "0.3"}
    conf |= {"speculation.efficiency.enabled": "false", "speculation.multiplier": "1.01"}
    with running(cluster[0], conf=conf) as session:
        for out, harmed in run_both(source, tmp_path, sabotage):
            assert data(out) == expected
            assert harmed.repeated == harmed.passes


def test_executors_that_come_and_go(
    source: Path, expected: dict[str, str], cluster: tuple[str, Path], tmp_path: Path
) -> None:
    conf = {"enabled": "true", "shuffleTracking.enabled": "true", "minExecutors": "0", "maxExecutors": "2"}
    conf |= {"executorIdleTimeout": "1s", "schedulerBacklogTimeout": "1s"}
    conf = {f"dynamicAllocation.{name}": value for name, value in conf.items()}
    with running(cluster[0], executors=0, conf=conf) as session:
        for out, harmed in run_both(
            source, tmp_path, lambda marks: Sabotage(session, marks, between=lambda: wait_for_executors(session, 0))
        ):
            assert data(out) == expected
            assert len(harmed.executors) > 2


def filling(everywhere: bool) -> Harm:
    """Let no file grow beyond 2 kB on the first worker, or on each, as if their disks were full."""

    def fill(number: int, tries: int) -> None:
        if everywhere or "/work-0/" in os.getcwd():
            resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, resource.RLIM_INFINITY))

    return fill


def test_an_executor_with_a_full_disk(
    source: Path, expected: dict[str, str], cluster: tuple[str, Path], tmp_path: Path
) -> None:
    """Another one does its tasks; if none can, nothing is committed."""
    conf = {"excludeOnFailure.enabled": "true", "excludeOnFailure.application.enabled": "false"}
    with running(cluster[0], conf=conf) as session:
        for out, harmed in run_both(source, tmp_path, lambda marks: Sabotage(session, marks, before=filling(False))):
            assert data(out) == expected
            assert harmed.repeated
    with running(cluster[0]) as session, pytest.raises(Abend, match=r"GG505.*File too large") as caught:
        run_ggfmt([source], tmp_path / "out", start=over(Sabotage(session, tmp_path / "marks", before=filling(True))))
    assert caught.value.diagnostics[0].help
    assert not (tmp_path / "out" / "j").exists()


def test_workers_beyond_their_memory(cluster: tuple[str, Path], tmp_path: Path) -> None:
    """The first attempt at a task gets no more memory than its worker has; the next one gets all that it wants."""
    items = records(6000)
    for item in items:
        for image in {"before", "after"} & item.keys():
            item[image]["NOTE"] = "".join(random.choices("abcdefgh", k=3000))
    source = write_lines(tmp_path / "in.json", items)
    run_ggfmt([source], tmp_path / "expected")

    def limit(number: int, tries: int) -> None:
        used = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_DATA, (resource.RLIM_INFINITY if tries else used, resource.RLIM_INFINITY))

    master, _ = cluster
    with running(master) as session:
        for out, harmed in run_both(
            source, tmp_path, lambda marks: Sabotage(session, marks, before=limit), split_size=10_000_000
        ):
            assert data(out) == data(tmp_path / "expected")
            assert harmed.repeated
    with (
        running(master, conf={"executor.pyspark.memory": "150m"}) as session,
        pytest.raises(Abend, match="GG505") as caught,
    ):
        run_ggfmt([source], tmp_path / "out", start=over(session), split_size=10_000_000)
    (found,) = caught.value.diagnostics
    assert found.help is not None and "memory" in found.help, found
    assert not (tmp_path / "out" / "j").exists()


@pytest.mark.parametrize(
    ("case", "endings"),
    [
        (Case("driver", "journal", "KILL", "append"), {"nothing committed", "committed by the next run", "committed"}),
        (Case("driver", "moves", "KILL", "overwrite"), {"committed by the next run", "committed"}),
    ],
    ids=["before the first move", "among the moves"],
)
def test_a_kill_leaves_all_or_nothing(cluster: tuple[str, Path], tmp_path: Path, case: Case, endings: set[str]) -> None:
    how, _, came_of_it = Matrix(tmp_path).try_case(case, *cluster).partition(", ")
    assert how == "missed" or came_of_it in endings


def test_workers_stage_messages_of_kafka_where_all_reach_them(
    cluster: tuple[str, Path], kafka_broker: KafkaBroker, tmp_path: Path
) -> None:
    master, _ = cluster
    changes = Changes(tmp_path, 3_000, 50, files=4)
    staging = tmp_path / "staging"
    staging.mkdir()
    conf = ("spark.executor.memory=512m", "=".join(quick_executors()))
    options = [word for pair in conf for word in ("--spark-conf", pair)]
    common = ("--master", master, "--create-topics", "3", "--job", changes.schema, *options)
    code, text = changes.run(kafka_broker.address, *common)
    assert code != 0
    assert "GG519" in text
    code, text = changes.run(kafka_broker.address, *common, "--staging", str(staging))
    assert code == 0, text
    changes.assert_exact(kafka_broker.brokers)
    assert os.listdir(staging) == []
    topics = f"{kafka_broker.address}/{changes.schema}.*"
    back = ["-q", "run", topics, "--set", "gg.handler.j.format=json", "-o", str(tmp_path / "out")]
    ended = subprocess.run(
        [sys.executable, "-m", "ggfmt", *back, "--master", master, *options, "--staging", str(staging)],
        capture_output=True, text=True, cwd=ROOT, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert manifest(tmp_path / "out")["operations_read"] == 3_000
    assert os.listdir(staging) == []
