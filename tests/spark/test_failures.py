"""Why Java or Spark failed: one clause out of what they say, and what to do."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from ggfmt.spark.failures import cause_in_log, cause_of_exception, cause_of_job, clause, innermost, spark_error

JOB = """org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 1.0 failed 4 times, \
most recent failure: Lost task 0.3 in stage 1.0 (TID 7) (127.0.0.1 executor driver): """
PYTHON = JOB + (
    "org.apache.spark.api.python.PythonException: Traceback (most recent call last):\n"
    '  File "worker.py", line 1, in main\n'
    "    process()\n"
    "OSError: [Errno 28] Error writing bytes to file. Detail: [errno 28] No space left on device\n"
    "\n"
    "\tat org.apache.spark.api.python.BasePythonRunner.read(PythonRunner.scala:1)\n"
)


class Throwable:
    """A Java exception as py4j shows it."""

    def __init__(self, text: str, cause: Throwable | None = None) -> None:
        self.text = text
        self.cause = cause

    def toString(self) -> str:
        return self.text

    def getCause(self) -> Throwable | None:
        return self.cause


class JavaError(Exception):
    def __init__(self, throwable: Throwable | None) -> None:
        super().__init__("An error occurred while calling None.x")
        if throwable is not None:
            self.java_exception = throwable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("org.apache.spark.SparkException: Could not parse Master URL: 'x'", "Could not parse Master URL: 'x'"),
        ("java.lang.ClassNotFoundException: foo.Bar", "ClassNotFoundException: foo.Bar"),
        ("java.lang.RuntimeException: java.io.IOException: it is full.", "it is full"),
        ("\n  ValueError: no good\nsecond line", "ValueError: no good"),
        (
            "ggfmt.diagnostics.diagnostic.Abend: error[GG506] full",
            "ggfmt.diagnostics.diagnostic.Abend: error[GG506] full",
        ),
        ("java.lang.IllegalStateException", "java.lang.IllegalStateException"),
        ("Error: Not allowed (x)", "Not allowed (x)"),
        ("", "Spark gave no reason"),
        ("Too long. " + "x " * 200, "Too long"),
        ("y" * 300, "y" * 197 + "..."),
    ],
)
def test_a_clause(text: str, shown: str) -> None:
    assert clause(text) == shown


def test_the_innermost_exception_counts_or_one_that_says_more() -> None:
    refused = ["io.fabric8.X: An error has occurred.", "a.b.IOException: Connection refused: localhost/127.0.0.1:1"]
    assert innermost([*refused, "java.net.ConnectException: Connection refused"]) == (
        "Connection refused: localhost/127.0.0.1:1"
    )
    assert innermost(["a.b.CException: outer message", "a.b.DException: inner message"]) == "inner message"


def test_the_cause_of_a_java_exception() -> None:
    inner = Throwable("java.net.UnknownHostException: no such host")
    assert cause_of_exception(JavaError(Throwable("a.b.CException: it went wrong", inner))) == "no such host"
    assert cause_of_exception(JavaError(None)) == "An error occurred while calling None.x"


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        (PYTHON, "OSError: [Errno 28] Error writing bytes to file. Detail: [errno 28] No space left on device"),
        (
            JOB + "org.apache.spark.SparkException: \nError from python worker:\n  Traceback (most recent call last):\n"
            '    File "<frozen runpy>", line 189, in main\n'
            "  python3: Error while finding module specification for 'pyspark.daemon' (ModuleNotFoundError: No "
            "module named 'pyspark')\nPYTHONPATH was:\n  /spark/python.zip\njava.io.EOFException",
            "python3: Error while finding module specification for 'pyspark.daemon' (ModuleNotFoundError: No "
            "module named 'pyspark')",
        ),
        (
            JOB + 'java.io.IOException: Cannot run program "/no/python": error=2',
            'Cannot run program "/no/python": error=2',
        ),
        (
            "org.apache.spark.SparkException: Job aborted due to stage failure: Total size of serialized results of "
            "634 tasks (1025.0 MiB) is bigger than spark.driver.maxResultSize (1024.0 MiB)",
            "Total size of serialized results of 634 tasks (1025.0 MiB) is bigger than spark.driver.maxResultSize "
            "(1024.0 MiB)",
        ),
        (JOB + "ExecutorLostFailure (executor 1 exited)", "ExecutorLostFailure (executor 1 exited)"),
        (
            "org.apache.spark.SparkException: Job 0 cancelled because SparkContext was shut down",
            "Job 0 cancelled because SparkContext was shut down",
        ),
    ],
)
def test_the_cause_of_a_failed_job(message: str, shown: str) -> None:
    assert cause_of_job(message) == shown


REMOVED = (
    "26/11/28 10:15:01 WARN StandaloneAppClient$ClientEndpoint: x\n"
    "26/11/28 10:15:02 ERROR StandaloneSchedulerBackend: Application has been killed. Reason: Master removed our "
    "application: FAILED\n"
    "26/11/28 10:15:02 ERROR SparkContext: Error initializing SparkContext.\n"
    'java.lang.NullPointerException: Cannot invoke "x.Proxy.y()" because the return value of "x.z()" is null\n'
)
YARN = (
    "26/11/28 10:15:02 ERROR YarnClientSchedulerBackend: YARN application has exited unexpectedly with state FAILED! x"
)


@pytest.mark.parametrize(
    ("lines", "shown"),
    [
        (REMOVED, "Master removed our application: FAILED"),
        (YARN, "YARN application has exited unexpectedly with state FAILED! x"),
        ("26/11/28 10:15:02 WARN TaskSetManager: Lost task 0.0\n", "of a null pointer"),
    ],
    ids=["standalone", "YARN", "another failure"],
)
@pytest.mark.parametrize("code", ["GG503", "GG505"])
def test_an_application_that_the_cluster_has_ended(code: str, lines: str, shown: str, tmp_path: Path) -> None:
    """The null pointers and stopped contexts that follow are no cause."""
    file = tmp_path / "spark.log"
    file.write_text(lines)
    (found,) = spark_error(code, "Spark did not start", "of a null pointer", file).diagnostics
    assert found.message == f"Spark did not start: {shown}"
    assert found.help is not None
    assert ("logs on the workers" in found.help) == ("pointer" not in shown)
    (found,) = spark_error(code, "Spark did not start", "of a null pointer", None).diagnostics
    assert found.message == "Spark did not start: of a null pointer"


@pytest.mark.parametrize(
    ("log", "shown"),
    [
        ("Error occurred during initialization of VM\nToo small maximum heap\n", "Too small maximum heap"),
        (
            "Unrecognized VM option 'X'\nError: Could not create the Java Virtual Machine.\n",
            "Unrecognized VM option 'X'",
        ),
        (
            'WARNING: x\nException in thread "main" a.b.CException: outer words\n\tat a.b\n'
            "Caused by: a.DException: inner words\n\tat c.d\n\t... 5 more\nother\n"
            "Caused by: a.EException: not of this trace\n",
            "inner words",
        ),
        ("# A fatal error\n#  SIGSEGV (0xb) at pc=0x0\n", "SIGSEGV (0xb) at pc=0x0"),
        ("", "the Java virtual machine ended without a word"),
    ],
)
def test_the_cause_in_a_log(log: str, shown: str, tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_text(log, encoding="utf-8")
    assert cause_in_log(file) == shown


@pytest.mark.parametrize(
    ("reason", "help"),
    [
        ("Too small maximum heap", "give more memory, for example `--spark-conf spark.driver.memory=2g`"),
        (
            "Insufficient executor memory: 1024",
            "give more memory, for example `--spark-conf spark.executor.memory=2g`",
        ),
        (
            "Could not parse Master URL: 'x'",
            "give `--master` as `local[4]`, `spark://HOST:PORT`, `yarn` or `k8s://...`",
        ),
        ('Cannot run program "/no/python"', "set PYSPARK_PYTHON to a Python that every worker has"),
        ("OSError: [Errno 28] No space left on device", "free some space, or write to another directory"),
        (
            "ModuleNotFoundError: No module named 'msgspec'",
            "install it for the Python of the workers, or set PYSPARK_PYTHON to a Python that has it",
        ),
        ("ClassNotFoundException: foo.Bar", "correct the name of the class in `--spark-conf`"),
        (
            "Total size of serialized results of 634 tasks (1 GiB) is bigger than spark.driver.maxResultSize (1 GiB)",
            "give `--spark-conf spark.driver.maxResultSize=4g` and a `spark.driver.memory` above it, or, for fewer "
            "tasks, a larger `--split-size`",
        ),
        (
            "MemoryError",
            "give workers more memory, `spark.executor.pyspark.memory` if that is set, or a smaller `--split-size`",
        ),
        *(
            (
                reason,
                "if memory was short, give more by `--spark-conf spark.executor.memoryOverhead=2g`, or a smaller "
                "`--split-size`",
            )
            for reason in (
                "Python worker exited unexpectedly (crashed)",
                "ExecutorLostFailure (executor 3 exited) Reason: Command exited with code 137",
                "ExecutorLostFailure (executor 1 exited) Reason: Container killed by YARN for exceeding memory limits",
            )
        ),
        (
            "java.lang.OutOfMemoryError: Java heap space",
            "give more memory, for example `--spark-conf spark.driver.memory=2g`",
        ),
    ],
)
def test_what_to_do(reason: str, help: str) -> None:
    (diagnostic,) = spark_error("GG503", "Spark did not start", reason, Path("/nowhere.log")).diagnostics
    assert diagnostic.message == f"Spark did not start: {reason}"
    assert diagnostic.help == f"{help}; see the log file `/nowhere.log`"
    (diagnostic,) = spark_error("GG503", "Spark did not start", reason, None).diagnostics
    assert diagnostic.help == help


def test_without_a_remedy_there_is_the_log_file() -> None:
    (diagnostic,) = spark_error("GG505", "a Spark task failed", "ValueError: no good", Path("/x.log")).diagnostics
    assert diagnostic.help == "see the log file `/x.log`"


def test_the_rest_is_told_at_debug(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "log"
    file.write_text("".join(f"line {number}\n" for number in range(300)), encoding="utf-8")
    with caplog.at_level(logging.INFO, "ggfmt"):
        spark_error("GG505", "a Spark task failed", "x", file, "the trace")
    assert caplog.messages == []
    with caplog.at_level(logging.DEBUG, "ggfmt"):
        spark_error("GG505", "a Spark task failed", "x", file, "the trace\n")
    assert caplog.messages == ["the trace", *(f"spark: line {number}" for number in range(100, 300))]
