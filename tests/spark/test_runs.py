"""Spark adds nothing but scale: its output is that of one process, on every kind of master, and whatever dies."""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cluster_runs import TABLES, Harm, Sabotage, data, over, write_files
from round_trips import READ, STORY, WRITTEN, handler, write_story, written_by
from round_trips import TABLES as DEFINITIONS
from runs import (
    JSON_LINES,
    MOMENT,
    PIPES,
    content,
    manifest,
    operation,
    output_files,
    run_ggfmt,
    snapshot,
    write_lines,
)
from spark_cluster import quick_executors, standalone_cluster

import ggfmt
from ggfmt.commands.runners import RunnerChoice
from ggfmt.diagnostics.diagnostic import Abend
from ggfmt.reading.runner import InProcess
from ggfmt.spark.session import SparkRunner, SparkSettings

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_files(tmp_path_factory.mktemp("in"))


@pytest.fixture(scope="module")
def expected(source: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    out = tmp_path_factory.mktemp("expected")
    run_ggfmt([source], out / "out")
    return data(out / "out")


@pytest.fixture(scope="module")
def session() -> Iterator[SparkRunner]:
    with SparkRunner(SparkSettings("local[2]")) as running:
        yield running


@pytest.mark.parametrize("split_size", [None, 20_000])
def test_local_spark_writes_what_one_process_writes(
    source: Path, expected: dict[str, str], session: SparkRunner, tmp_path: Path, split_size: int | None
) -> None:
    result = run_ggfmt([source], tmp_path / "out", start=over(session), split_size=split_size)
    assert data(tmp_path / "out") == expected
    assert result.totals.read == 6000


def descriptions(session: SparkRunner) -> list[str]:
    """What Spark's pages show of the jobs of a session, in their order."""
    context: Any = session._context
    jobs = context._jsc.sc().statusStore().jobsList(None)
    return [jobs.apply(number).description().get() for number in range(jobs.size())][::-1]


def test_spark_shows_what_each_job_is_for_and_a_manifest_the_application(
    source: Path, session: SparkRunner, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    before, out, rows = len(descriptions(session)), tmp_path / "out,é\t<b>", tmp_path / "rows"
    with caplog.at_level("DEBUG", "ggfmt"):
        run_ggfmt([source], out, start=over(session), split_size=50_000)
        choice = "ggfmt.commands.consolidation.choose_runner"
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(choice, lambda *_: RunnerChoice(over(session)))
            ggfmt.consolidate(source, rows, key="ID", keep="unresolved")
    context: Any = session._context
    written, consolidated = manifest(out), manifest(rows)
    assert written["totals"]["spark_application"] == consolidated["spark_application"] == context.applicationId
    assert caplog.messages.count(f"Spark application {context.applicationId}") == 2
    sizes = [file.stat().st_size for file in source.iterdir()]
    read = f"from {len(sizes)} files ({sum(sizes):,} bytes)"
    shown = f"→ {tmp_path}/out,é\\t<b>, {read}"
    assert list(dict.fromkeys(descriptions(session)[before:])) == [
        *(f"ggfmt {written['run']} {step} {shown}" for step in ("routing", "discovery", "reading")),
        *(f"ggfmt {consolidated['run']} {step} → {rows}, {read}" for step in ("discovery", "reading", "finding rows")),
    ]


def test_spark_gives_the_names_that_one_process_gives(session: SparkRunner, tmp_path: Path) -> None:
    """Workers make names by templates and by values of columns."""
    items = [operation(n, TABLES[n % 2], NAME=f"{n // 2 % 3}/é") for n in range(60)]
    source = write_lines(tmp_path / "in.json", items)
    layout = (
        *(f"gg.handler.d.partitioner.{table}=NAME" for table in TABLES[:2]),
        "gg.handler.d.pathMappingTemplate=${toLowerCase[${tableName}]}/${columnValue[NAME][null][none]}",
        "gg.handler.d.fileNameMappingTemplate=${regex[${tableName}][T][t]}_${currentTimestamp[yyyy]}.csv",
        "gg.handler.d.bom=efbbbf",
    )
    run_ggfmt([source], tmp_path / "one", *PIPES, *layout, split_size=3_000)
    run_ggfmt([source], tmp_path / "out", *PIPES, *layout, start=over(session), split_size=3_000)
    names = data(tmp_path / "out")
    assert names == data(tmp_path / "one")
    assert len(names) >= 6


def test_one_process_writes_and_reads_every_format_as_spark_does(session: SparkRunner, tmp_path: Path) -> None:
    lines = []
    for name in WRITTEN:
        own = handler(name, Path("dirdef"))
        lines += [line.replace("gg.handler.h.", f"gg.handler.{name}.") for line in own]
    story = write_story(tmp_path / "in.json", STORY)
    told: dict[str, Any] = {"definitions": DEFINITIONS, "quarantine": True}
    run_ggfmt([story], tmp_path / "one", *lines, **told)
    run_ggfmt([story], tmp_path / "spark", *lines, **told, start=over(session))
    written = data(tmp_path / "one")
    assert written == data(tmp_path / "spark")
    assert {name.partition("/")[0] for name in written} >= set(WRITTEN)
    for name in READ:
        told |= {"input_format": name, "source": written_by(handler(name, Path("dirdef")))}
        one, spark = tmp_path / f"one-{name}", tmp_path / f"spark-{name}"
        run_ggfmt([tmp_path / "one" / name], one, *JSON_LINES, **told)
        run_ggfmt([tmp_path / "spark" / name], spark, *JSON_LINES, **told, start=over(session))
        assert data(one) == data(spark), name
        assert content(one, "j").count(b"op_type") > 5, name


def test_standard_input_becomes_standard_output_by_spark(
    source: Path, session: SparkRunner, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """Workers read what the driver keeps, and nothing of Spark's is among the messages."""
    told: dict[str, Any] = {"split_size": 200_000}
    streams = []
    for start in (InProcess, over(session)):
        with (source / "0.json").open() as stream:
            monkeypatch.setattr("sys.stdin", stream)
            run_ggfmt([Path("-")], Path("-"), *JSON_LINES, start=start, **told)
        streams.append(capfdbinary.readouterr().out)
    assert streams[0] == streams[1]
    assert streams[0].count(b"op_type") == 1_000


def by_command_line(source: Path, out: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A run as a user starts it, in a process of its own."""
    command = [sys.executable, "-m", "ggfmt", "run", str(source), "-o", str(out), "--split-size", "60k"]
    command += ["--current-timestamp", MOMENT.isoformat(), "--set", "gg.handlerlist=j,d"]
    command += [argument for setting in (*JSON_LINES, *PIPES) for argument in ("--set", setting)]
    command += ["--spark-conf", "=".join(quick_executors())]
    environment = {**os.environ, **variables}
    done = subprocess.run(
        [*command, *arguments], capture_output=True, text=True, check=False, cwd=out.parent, env=environment
    )
    assert done.stdout == ""
    assert ("6,000 operations read from 6 files" in done.stderr) == (done.returncode == 0), done.stderr
    return done


@pytest.mark.long
def test_a_local_cluster_writes_what_one_process_writes(source: Path, expected: dict[str, str], tmp_path: Path) -> None:
    assert by_command_line(source, tmp_path / "out", "--master", "local-cluster[1,2,1024]").returncode == 0
    assert data(tmp_path / "out") == expected


@pytest.mark.long
def test_a_standalone_master_writes_what_one_process_writes(
    source: Path, expected: dict[str, str], tmp_path: Path
) -> None:
    """Or it says what the Python of the workers lacks."""
    bare = tmp_path / "bare"
    venv.create(bare)
    with standalone_cluster(tmp_path, cores=2) as master:
        arguments = "--master", master, "--spark-conf", "spark.executor.memory=512m"
        done = by_command_line(source, tmp_path / "out", *arguments)
        refused = by_command_line(source, tmp_path / "no", *arguments, PYSPARK_PYTHON=str(bare / "bin" / "python"))
    assert data(tmp_path / "out") == expected
    assert f"the workers run Python {platform.python_version()} (`" in done.stderr
    assert refused.returncode == 3
    assert f"error[GG522] the Python of the workers, {platform.python_version()} (`{bare}" in refused.stderr
    assert not (tmp_path / "no").exists()


def killing(every_attempt: bool) -> Harm:
    """Kill the worker after its work: always, or after the first attempt at some items."""

    def kill(number: int, tries: int) -> None:
        if every_attempt or (not tries and number % 4 == 1):
            os.kill(os.getpid(), signal.SIGKILL)  # a whole set of staged files, which no one will ever ask for

    return kill


def test_killed_workers_leave_no_gap_and_no_duplicate(
    source: Path, expected: dict[str, str], session: SparkRunner, tmp_path: Path
) -> None:
    sabotage = Sabotage(session, tmp_path / "marks", after=killing(every_attempt=False))
    run_ggfmt([source], tmp_path / "out", start=over(sabotage), split_size=50_000)
    assert sabotage.repeated == sabotage.passes
    assert data(tmp_path / "out") == expected
    assert {path.name for path in (tmp_path / "out" / "_ggfmt").iterdir()} == {"manifest.json", "runs"}


@pytest.mark.example("GG505")
def test_when_every_attempt_fails_the_output_is_as_before(source: Path, session: SparkRunner, tmp_path: Path) -> None:
    out = tmp_path / "out"
    small = write_lines(tmp_path / "small.json", [operation(1)])
    run_ggfmt([small], out)
    before = snapshot(out)
    sabotage = Sabotage(session, tmp_path / "marks", after=killing(every_attempt=True))
    with pytest.raises(Abend, match="GG505"):
        run_ggfmt([source], out, start=over(sabotage), mode="overwrite")
    assert snapshot(out) == before
    assert len(output_files(out, "j")) == 1


def test_a_mistake_in_the_data_is_not_tried_again(source: Path, session: SparkRunner, tmp_path: Path) -> None:
    bad = tmp_path / "in"
    bad.mkdir()
    for path in source.iterdir():
        (bad / path.name).write_bytes(path.read_bytes())
    with (bad / "2.json").open("ab") as stream:
        offset = stream.tell()
        stream.write(b"{]\n")
    with pytest.raises(Abend) as caught:
        run_ggfmt([bad], tmp_path / "out", start=over(session), split_size=20_000)
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.span.file, diagnostic.span.offset) == ("GG301", str(bad / "2.json"), offset)
    assert not (tmp_path / "out").exists()
