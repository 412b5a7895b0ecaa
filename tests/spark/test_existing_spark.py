"""A run takes the Spark that is there, writes what one process writes, and leaves that Spark as it was."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import textwrap
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from places import ROOT
from runs import JSON_LINES, MOMENT, operation, run_ggfmt, snapshot, write_lines
from spark_cluster import QUICK_JAVA, closed_port, connect_server, quick_executors, standalone_cluster

from ggfmt.diagnostics.diagnostic import Abend, UsageError
from ggfmt.doctor.finding import LIBRARIES
from ggfmt.reading.runner import InProcess
from ggfmt.sinks.messages.join import join_group
from ggfmt.spark.installations import find_java, spark_home
from ggfmt.spark.jobs import ContextJobs
from ggfmt.spark.jvm import tolerant_home
from ggfmt.spark.runners import resolve_spark, runner_for
from ggfmt.spark.target import SparkSettings, SubmittedSpark, attempts, detect_spark, remote_address
from ggfmt.spark.workers import (
    NEEDED,
    NEEDED_BY_SOME,
    WorkerFacts,
    examiner,
    pack_task,
    pickle_by_value,
    prepare_workers,
    zip_package,
)

ARGUMENTS = ["--current-timestamp", MOMENT.isoformat(), "--split-size", "60k"]
ARGUMENTS += [word for line in JSON_LINES for word in ("--set", line)]

# What the scripts below begin with. `converted` is a run, and `same` says whether it wrote what it is to write.
HEAD = f"""
import json, logging, os, signal, sys, threading, time
from pathlib import Path
import ggfmt
from ggfmt.diagnostics.diagnostic import GgfmtError
source, expected, work = map(Path, json.loads(os.environ["GGFMT_TEST"]))
def converted(name, **more):
    ggfmt.convert(source, output=work / name, settings={list(JSON_LINES)!r}, current_timestamp={MOMENT.isoformat()!r},
                  split_size="60k", **more)
def same(name):
    files = {{path.relative_to(work / name): path.read_bytes() for path in (work / name).rglob("*.txt")
             if "_ggfmt" not in path.parts}}
    wanted = {{path.relative_to(expected): path.read_bytes() for path in expected.rglob("*.txt")
              if "_ggfmt" not in path.parts}}
    return files == wanted and len(files) > 3
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("in")
    for number in range(3):
        numbers = range(number * 300, number * 300 + 300)
        items = [operation(n, f"GG.T{n % 5}", "IUD"[n % 3], NOTE=f"é{n}") for n in numbers]
        write_lines(folder / f"{number}.json", items)
    return folder


@pytest.fixture(scope="module")
def expected(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("expected") / "out"
    run_ggfmt([source], out, *JSON_LINES)
    return out


def data(out: Path) -> dict[str, str]:
    return {name: digest for name, digest in snapshot(out).items() if not name.startswith("_ggfmt")}


class Place:
    """Where a script runs: with what it is given, and an environment without a Spark."""

    def __init__(self, source: Path, expected: Path, work: Path) -> None:
        self.source, self.expected, self.work = source, expected, work

    def run(self, command: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
        given = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
        given |= {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(ROOT), "SPARK_LOCAL_IP": "127.0.0.1"}
        given |= {"GGFMT_TEST": f'["{self.source}", "{self.expected}", "{self.work}"]', **environment}
        return subprocess.run(
            command, env=given, cwd=self.work, capture_output=True, text=True, timeout=300, check=False
        )

    def script(self, text: str, **environment: str) -> str:
        """What a script of the head and `text` prints on standard output; it has to succeed."""
        done = self.run([sys.executable, self.file(text)], **environment)
        assert done.returncode == 0, done.stderr[-6000:]
        return done.stdout

    def file(self, text: str) -> str:
        path = self.work / "script.py"
        path.write_text(HEAD + textwrap.dedent(text))
        return str(path)

    def submit(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        home = spark_home()
        command = [str(home / "bin" / "spark-submit"), "--driver-java-options", QUICK_JAVA]
        command += ["--conf", "spark.ui.enabled=false", "--conf", "spark.driver.host=127.0.0.1"]
        # What a program says on standard error comes on standard output.
        java = str(tolerant_home(find_java(), self.work))
        return self.run([*command, *words], SPARK_HOME=str(home), JAVA_HOME=java, **environment)


@pytest.fixture
def place(source: Path, expected: Path, tmp_path: Path) -> Place:
    return Place(source, expected, tmp_path)


@pytest.mark.spark
@pytest.mark.long
def test_an_active_session_and_a_bare_context_stay_their_users(place: Place) -> None:
    """Also after a task that fails, and after Ctrl-C, which leaves a job of the user's alone."""
    printed = place.script("""
        from pyspark import SparkContext
        from pyspark.sql import SparkSession, functions as F
        builder = SparkSession.builder.master("local[3,2]").config("spark.ui.enabled", "false")
        spark = builder.config("spark.log.level", "OFF").getOrCreate()
        context = spark.sparkContext
        assert spark.range(7).select(F.col("id")).count() == 7  # which makes a directory for tables known
        context.setJobGroup("users", "the job of a user")
        context.setLocalProperty("spark.scheduler.pool", "pool of a user")

        def state():
            properties = {name: context.getLocalProperty(name) for name in (
                "spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel", "spark.scheduler.pool")}
            return (dict(os.environ), list(sys.path), signal.getsignal(signal.SIGINT), properties, list(warnings()),
                    sorted(context.getConf().getAll()), context._python_includes, logging.getLogger().handlers[:],
                    logging.getLogger("py4j").handlers[:])
        def warnings():
            import warnings
            return map(str, warnings.filters)

        def unchanged():
            changed = [(now, then) for now, then in zip(state(), before) if now != then]
            assert not changed, changed

        before = state()
        converted("active")
        assert same("active")
        unchanged()
        assert spark.range(7).select(F.col("id")).count() == 7
        assert context.parallelize([1, 2]).map(lambda n: n + 1).collect() == [2, 3]
        converted("given", spark=spark)
        assert same("given")

        from ggfmt.spark.runners import runner_for
        def told(item, attempt):
            from pyspark import TaskContext
            task = TaskContext.get()
            names = "spark.scheduler.pool", "spark.jobGroup.id", "spark.job.description"
            return tuple(map(task.getLocalProperty, names))
        def bad(item, attempt):
            raise ValueError("the reason of a task")
        with runner_for(spark) as runner:
            assert runner.name_jobs(lambda: "trying") == context.applicationId
            (pool, group, description), (_, same_group, _) = runner.run(told, [1, 2])
            assert description == "ggfmt trying"
            assert pool == "pool of a user" and group == same_group and group.startswith("ggfmt-")
            try:
                runner.run(bad, [1])
            except GgfmtError as error:
                print(error)
        for wrong in ({"master": "local[2]"}, {"spark_conf": {"a": "b"}}, {"java_home": "/"}, {"remote": "sc://h"}):
            try:
                converted("refused", **wrong)
            except GgfmtError as error:
                print(error)

        # A job of the user's is at work while ours is cancelled.
        began, ended = work / "began", []
        def users():
            context.setJobGroup("other", "other")
            ended.append(context.parallelize([1], 1).map(wait_for_end).collect())
        def wait_for_end(item):
            while not (work / "over").exists():
                time.sleep(0.05)
            return item
        user = threading.Thread(target=users)
        user.start()
        def slow(item, attempt):
            began.touch()
            time.sleep(60)
        def interrupt():
            while not began.exists():
                time.sleep(0.05)
            os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=interrupt).start()
        started = time.monotonic()
        try:
            with runner_for() as runner:
                runner.run(slow, [1, 2])
        except KeyboardInterrupt:
            assert time.monotonic() - started < 40
        else:
            raise AssertionError("not interrupted")
        time.sleep(1)  # in which a job that was cancelled would end
        (work / "over").touch()
        user.join()
        assert ended == [[1]], "the job of the user was cancelled"
        unchanged()
        assert spark.range(7).select(F.col("id")).count() == 7

        spark.stop()
        try:
            converted("stopped", spark=spark)
        except GgfmtError as error:
            print(error)
        context = SparkContext("local[2]", "bare")
        converted("bare")
        assert same("bare")
        assert context.parallelize([1, 2]).sum() == 3
        """)
    lines = printed.splitlines()
    assert lines[0] == "error[GG505] a Spark task failed: ValueError: the reason of a task"
    assert [line.partition("]")[0] for line in lines[1:]] == ["error[GG520"] * 4 + ["error[GG521"]
    assert "`master` cannot change the Spark session of this process" in lines[1]


@pytest.mark.spark
@pytest.mark.long
def test_spark_submit_on_this_machine(place: Place) -> None:
    """Also with an option that is spark-submit's business, and in a program that the driver starts in turn."""
    script = place.file("""
        import subprocess
        from ggfmt import main
        arguments = sys.argv[1:]
        for more in (["--master", "local"], []):
            print("ended with", main([*arguments, *more]))
        from pyspark import SparkContext
        assert SparkContext._active_spark_context is None and SparkContext._gateway is not None
        context = SparkContext()
        command = [sys.executable, "-c", "import sys, ggfmt; sys.exit(ggfmt.main())", *arguments, "--mode", "overwrite"]
        told = subprocess.run(command, capture_output=True, text=True).stderr.splitlines()
        print(next(line for line in told if line.startswith("error")))
        assert context.parallelize([1, 2]).sum() == 3
        """)
    out = place.work / "out"
    done = place.submit("--master", "local[2,2]", script, "run", str(place.source), "-o", str(out), *ARGUMENTS)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    told = [line for line in done.stdout.splitlines() if line.startswith(("error", "ended"))]
    assert [line.partition("]")[0] for line in told] == ["error[GG520", "ended with 2", "ended with 0", "error[GG521"]
    assert "`--master` cannot change the Spark that `spark-submit` started" in told[0]
    assert "PYSPARK_GATEWAY_PORT names the Spark of another process, which has a session already" in told[3]
    assert data(out) == data(place.expected)


MAIN = "import sys, ggfmt\nsys.exit(ggfmt.main())\n"


@pytest.mark.spark
@pytest.mark.long
def test_spark_submit_on_a_cluster(place: Place) -> None:
    """Workers that have another ggfmt get this one, and those that were given this one by `--py-files` get nothing."""
    main = place.work / "main.py"
    main.write_text(MAIN)
    cluster = place.work / "cluster"
    other = cluster / "other" / "ggfmt"
    other.mkdir(parents=True)
    (other / "__init__.py").write_text("raise RuntimeError('an old version')\n")
    sent = zip_package(cluster)
    with standalone_cluster(cluster) as master:
        submit = ["--master", master, "--executor-memory", "512m", "--conf"]
        submit += [f"spark.executorEnv.PYTHONPATH={other.parent}", "--conf", "=".join(quick_executors())]
        for name, more in (("other", []), ("given", ["--py-files", str(sent)])):
            out = place.work / name
            words = [*submit, *more, str(main), "--log-level", "info", "run", str(place.source), "-o", str(out)]
            done = place.submit(*words, *ARGUMENTS)
            assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
            assert data(out) == data(place.expected)
            assert f"the workers run Python {platform.python_version()} (`" in done.stdout
    assert len(list(cluster.glob("work-?/app-*"))) == 4
    fetched = {path.parents[1].name for path in cluster.glob(f"work-?/app-*/?/{sent.name}")}
    assert len(fetched) == 2


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.usefixtures("interruptible")
def test_spark_connect(place: Place) -> None:
    """By an address, by SPARK_REMOTE, and by the session of a process, which goes on; also after Ctrl-C."""
    with connect_server(place.work) as address:
        printed = place.script(f"""
            converted("remote", remote={address!r})
            assert same("remote")
            totals = json.loads((work / "remote/_ggfmt/manifest.json").read_text())["totals"]
            assert totals["spark_application"].startswith("local-"), totals
            os.environ["SPARK_REMOTE"] = {address!r}
            converted("variable")
            assert same("variable")
            del os.environ["SPARK_REMOTE"]

            from pyspark.sql.connect.session import SparkSession
            import pyspark.sql.connect.functions as F
            spark = SparkSession.builder.remote({address!r}).create()
            spark.addTag("users")
            converted("active")
            assert same("active")
            assert spark.getTags() == {{"users"}} and not spark.client._progress_handlers
            assert spark.range(7).select(F.col("id")).count() == 7

            def rows(name, **arguments):
                manifest = ggfmt.consolidate(source, work / name, key="ID", keep="unresolved", **arguments)
                return {{table: (entry["rows"], entry["unresolved"]) for table, entry in manifest["tables"].items()}}
            of_connect, expected_rows = rows("rows"), rows("plain", master="none")
            assert of_connect == expected_rows, of_connect
            given = rows("versions", spark=spark, history=True, split_size="30k")
            assert given == rows("plain versions", master="none", history=True), given

            from ggfmt.spark.runners import runner_for
            def bad(item, attempt):
                raise ValueError("the reason of a task")
            def slow(item, attempt):
                (work / "began").touch()
                time.sleep(60)
            def interrupt():
                while not (work / "began").exists():
                    time.sleep(0.05)
                os.kill(os.getpid(), signal.SIGINT)
            seen = []
            with runner_for(spark) as runner:
                assert runner.parallelism == 2
                assert runner.run(lambda item, attempt: item, ["a", None, b"b"], lambda *it: seen.append(it)) == [
                    "a", None, b"b"]
                assert seen[-1] == (3, 3)
                try:
                    runner.run(bad, [1])
                except GgfmtError as error:
                    print(error)
                threading.Thread(target=interrupt).start()
                started = time.monotonic()
                try:
                    runner.run(slow, [1, 2])
                except KeyboardInterrupt:
                    assert time.monotonic() - started < 40
                else:
                    raise AssertionError("not interrupted")
            assert spark.range(7).count() == 7
            spark.stop()
            """)
        frames = place.script(f"""
            from pyspark.sql import SparkSession
            spark = SparkSession.builder.remote({address!r}).create()
            frame = ggfmt.current(spark, str(source), "GG.T1", key="ID", keep=["unresolved"])
            print(frame.count(), ggfmt.read(spark, source).count(), ggfmt.scan(source).read_all().num_rows)
            """)
    assert printed.splitlines() == ["error[GG505] a Spark task failed: ValueError: the reason of a task"]
    assert frames.splitlines() == ["120 900 900"]


def test_a_process_without_spark_has_none() -> None:
    assert detect_spark({}) is None
    assert detect_spark({"PYSPARK_GATEWAY_PORT": "7"}) == SubmittedSpark()


def test_looking_for_a_spark_loads_none_of_it() -> None:
    program = "import sys; from ggfmt.spark.runners import runner_for; runner_for(); print('pyspark' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "False\n"


@pytest.mark.example("GG520", "GG521")
@pytest.mark.parametrize("spark", ["local", 7, InProcess()])
def test_what_is_no_spark(spark: object) -> None:
    with pytest.raises(UsageError, match="GG521") as caught:
        runner_for(spark)
    assert f"a `{type(spark).__name__}` is not a Spark session" in str(caught.value)


@pytest.mark.process
def test_what_a_submitted_spark_has_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "7")
    monkeypatch.setenv("PYSPARK_GATEWAY_SECRET", "secret")
    for option, settings in (
        ("--master", SparkSettings("local")),
        ("--remote", SparkSettings(remote="sc://host")),
        ("--spark-conf", SparkSettings(conf=(("a", "b"),))),
        ("--java-home", SparkSettings(java_home="/")),
    ):
        with pytest.raises(UsageError, match="GG520") as refused:
            resolve_spark(None, settings)
        (found,) = refused.value.diagnostics
        assert found.message == f"`{option}` cannot change the Spark that `spark-submit` started, which the run takes"
    with pytest.raises(Abend, match="GG521") as caught, runner_for():
        pass
    assert "which does not answer" in str(caught.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("sc://host", "sc://host:15002"),
        ("sc://host:1/;token=secret;use_ssl=true", "sc://host:1"),
        ("sc://[::1]:15002/", "sc://[::1]:15002"),
    ],
)
def test_addresses_of_servers(url: str, shown: str) -> None:
    for found in (remote_address(SparkSettings(remote=url)), remote_address(SparkSettings(), {"SPARK_REMOTE": url})):
        assert found is not None
        assert (found.url, found.shown) == (url, shown)
    assert remote_address(SparkSettings("local"), {"SPARK_REMOTE": url}) is None
    assert remote_address(SparkSettings(conf=(("spark.master", "local"),)), {"SPARK_REMOTE": url}) is None


@pytest.mark.parametrize("url", ["", "host:15002", "local[2]", "sc://", "sc://host:0", "sc://host:99999", "sc://a b"])
def test_addresses_that_are_none(url: str) -> None:
    with pytest.raises(UsageError, match="GG524"):
        remote_address(SparkSettings(remote=url))


def test_options_beside_the_address_of_a_server() -> None:
    for settings in (SparkSettings("local", remote="sc://h"), SparkSettings(java_home="/", remote="sc://h")):
        with pytest.raises(UsageError, match="GG520"):
            runner_for(None, settings)


@pytest.mark.example("GG524")
def test_a_server_that_does_not_answer() -> None:
    with closed_port() as port, pytest.raises(Abend, match="GG524") as caught:
        runner_for(None, SparkSettings(remote=f"sc://127.0.0.1:{port}/;token=secret")).__enter__()
    assert "connection refused" in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("master", "configured", "expected"),
    [
        ("local", "4", 1),
        ("local[*]", None, 1),
        ("local[2, 3]", None, 3),
        ("local-cluster[1,1,1]", None, 4),
        ("yarn", "1", 1),
        ("spark://h:1", None, 4),
        ("", None, 4),
    ],
)
def test_how_often_a_task_is_tried(master: str, configured: str | None, expected: int) -> None:
    assert attempts(master, configured) == expected


@pytest.mark.example("GG523")
def test_the_home_that_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = spark_home()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    with pytest.raises(Abend, match="GG523"):
        spark_home()
    (tmp_path / "jars").mkdir()
    (jar,) = (installed / "jars").glob("spark-core_*.jar")
    (tmp_path / "jars" / jar.name).touch()
    assert spark_home() == tmp_path
    (tmp_path / "jars" / jar.name).rename(tmp_path / "jars" / "spark-core_2.12-3.5.1.jar")
    with pytest.raises(Abend, match=r"a Spark 3\.5\.1, and the pyspark of this Python is"):
        spark_home()


def test_the_home_around_a_zip_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a Spark that was unpacked: its Python is in `python/lib/pyspark.zip`."""
    archive = tmp_path / "spark" / "python" / "lib" / "pyspark.zip"
    archive.parent.mkdir(parents=True)
    with zipfile.ZipFile(archive, "w") as opened:
        opened.writestr("pyspark/__init__.py", "")
    program = "from ggfmt.spark.installations import spark_home; print(spark_home())"

    def tell() -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join((str(archive), str(ROOT)))
        environment = {**os.environ, "PYTHONPATH": path}
        return subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False
        )

    assert "which contains only Python code and not a Spark" in tell().stderr
    (tmp_path / "spark" / "jars").mkdir()
    (tmp_path / "spark" / "jars" / "spark-core_2.13-4.0.0.jar").touch()
    assert tell().stdout == f"{tmp_path / 'spark'}\n"


def test_a_package_in_a_zip_file_is_sent_as_it_is(tmp_path: Path) -> None:
    """As of a driver that has it by `--py-files`."""
    file = zip_package(tmp_path)
    (tmp_path / "again").mkdir()
    program = "from ggfmt.spark.workers import zip_package; from pathlib import Path; print(zip_package(Path('again')))"
    environment = {**os.environ, "PYTHONPATH": str(file)}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == f"again/{file.name}\n"
    assert (tmp_path / "again" / file.name).read_bytes() == file.read_bytes()


@pytest.fixture
def own() -> WorkerFacts:
    return WorkerFacts(*examiner()())


def test_workers_that_have_the_package_are_sent_nothing(own: WorkerFacts) -> None:
    assert prepare_workers(lambda archive: [own], pytest.fail) is None


def test_workers_that_have_another_package_are_sent_this_one(own: WorkerFacts) -> None:
    asked = []

    def ask(archive: str | None) -> list[WorkerFacts]:
        asked.append(archive)
        return [own, own if archive else replace(own, content=None)]

    assert prepare_workers(ask, lambda: "a.zip") == "a.zip"
    assert asked == [None, "a.zip"]


@pytest.mark.example("GG522")
def test_workers_that_go_on_with_another_package(own: WorkerFacts) -> None:
    with pytest.raises(Abend, match=r"GG522.*from `/old`"):
        prepare_workers(lambda archive: [replace(own, content="x", origin="/old")], lambda: "a.zip")


def test_workers_that_lack_something(own: WorkerFacts, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "ggfmt"):
        prepare_workers(lambda archive: [replace(own, lacks=("fastavro",))], pytest.fail)
    (told,) = caplog.messages
    assert told == f"the workers run Python {own.version} (`{own.python}`), without fastavro, which some formats need"
    with pytest.raises(
        Abend, match=rf"GG522.* lacks msgspec>=0\.21 and lxml.* such as `{re.escape(sys.executable)}` on"
    ):
        prepare_workers(lambda archive: [replace(own, lacks=("lxml", "msgspec>=0.21"))], pytest.fail)


@pytest.mark.parametrize(
    ("reason", "code"), [("pyarrow", "GG522"), ("msgspec.json", "GG522"), ("lxml", "GG505"), ("pyarrowed", "GG505")]
)
def test_tasks_that_fail_for_lack_of_a_library(reason: str, code: str) -> None:
    """As of a worker that was not asked, or of Spark Connect, which itself needs Arrow to ask."""
    with ThreadPoolExecutor() as threads:
        jobs = ContextJobs(cast(Any, None), threads)
    (found,) = jobs._failed(f"ModuleNotFoundError: No module named '{reason}'").diagnostics
    assert found.code == code
    assert code == "GG505" or found.message == f"the Python of the workers lacks {NEEDED[reason != 'pyarrow']}"


def test_what_workers_are_asked_for_is_what_a_run_loads() -> None:
    names = {requirement.partition(">=")[0] for requirement in (*NEEDED, *NEEDED_BY_SOME)}
    assert names == {package for package, *_ in LIBRARIES.values()}


def test_a_worker_that_has_loaded_another_package_loads_it_anew(tmp_path: Path) -> None:
    """Spark keeps workers: one may have imported a ggfmt before this one was sent."""
    file = zip_package(tmp_path)
    (tmp_path / "old" / "ggfmt").mkdir(parents=True)
    (tmp_path / "old" / "ggfmt" / "__init__.py").write_text("OLD = True\n")
    bytes_of_task = pickle_by_value(pack_task(join_group, file.name))
    program = (
        "import sys, pickle, ggfmt; assert ggfmt.OLD; sys.path.insert(1, sys.argv[1]);"
        "task = pickle.load(sys.stdin.buffer)(); print(task.__module__, sys.modules['ggfmt'].__file__)"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "old")}
    command = [sys.executable, "-c", program, str(file)]
    done = subprocess.run(command, env=environment, input=bytes_of_task, capture_output=True, check=True, cwd=tmp_path)
    assert done.stdout.decode() == f"ggfmt.sinks.messages.join {file / 'ggfmt' / '__init__.py'}\n"
