"""Causes of failures of Java and Spark, in one clause, from stack traces, messages and logs; and what to do."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ggfmt.diagnostics.diagnostic import Abend, without_credentials

log = logging.getLogger("ggfmt")

_MAX_CLAUSE = 200
_EXCEPTION = re.compile(r"(?:[\w$]+\.)+[\w$]*(?:Exception|Error|Throwable)\b")
_MAX_LOG_LINES = 200

# Lines of a log that say why a Java virtual machine ended. The first match counts.
_FATAL: Sequence[re.Pattern[str]] = (
    re.compile(r"^(?:Exception in thread \S+ |Caused by: )?((?:[\w$]+\.)+[\w$]*(?:Exception|Error): .+)"),
    re.compile(r"^((?:Unrecognized|Invalid|Conflicting|Could not|Error: (?!Could not create)).+)"),
    re.compile(r"^#\s+((?:SIG|Internal Error|There is insufficient memory).*)"),
    re.compile(r"^((?!WARNING|#|Error occurred during initialization).*\S.*)"),
)

# What a driver logs once the cluster has ended its application. Null pointers and stopped contexts follow from it.
_ENDED_APPLICATION = re.compile(
    r"(?:Application has been killed\. Reason: |(?=Y(?:ARN|arn) application has (?:exited|already ended)))(.+)"
)

_MEMORY = "give more memory, for example `--spark-conf spark.driver.memory=2g`"
_PYTHON = "set PYSPARK_PYTHON to a Python that every worker has"
_SPLITS = "or a smaller `--split-size`"
_REMEDIES: Sequence[tuple[str, str]] = (
    (
        r"removed our application|Y(?:ARN|arn) application",
        "executors do not start, or soon end: see their logs on the workers, and the page of the cluster",
    ),
    (
        r"maxResultSize",
        "give `--spark-conf spark.driver.maxResultSize=4g` and a `spark.driver.memory` above it, or, for fewer tasks, "
        "a larger `--split-size`",
    ),
    (r"[Ee]xecutor memory|EXECUTOR_MEMORY", "give more memory, for example `--spark-conf spark.executor.memory=2g`"),
    (r"heap|[Ii]nsufficient memory|[Ss]ystem memory|DRIVER_MEMORY|OutOfMemoryError", _MEMORY),
    (
        r"MemoryError|launch worker thread",
        f"give workers more memory, `spark.executor.pyspark.memory` if that is set, {_SPLITS}",
    ),
    (
        r"exited unexpectedly|code 137|memory limits|OOM",
        f"if memory was short, give more by `--spark-conf spark.executor.memoryOverhead=2g`, {_SPLITS}",
    ),
    (r"[Mm]aster URL|[Mm]aster must", "give `--master` as `local[4]`, `spark://HOST:PORT`, `yarn` or `k8s://...`"),
    (r"HADOOP_CONF_DIR", "set HADOOP_CONF_DIR to the directory of the cluster's configuration"),
    (r"Cannot run program|pyspark\.daemon", _PYTHON),
    (r"PYTHON_VERSION_MISMATCH|Python in worker has different version", f"{_PYTHON}, of this version"),
    (r"No module named", "install it for the Python of the workers, or set PYSPARK_PYTHON to a Python that has it"),
    (r"No space left|disk quota", "free some space, or write to another directory"),
    (r"Read-only file system|Permission denied|AccessDenied", "check who may write to the directory"),
    (r"^not done within", "check that executors start, and get the memory and cores that they request"),
    (r"usable temporary directory", "set TMPDIR to a writable directory"),
    (r"create a temp directory|local dir|NoSuchFile", "set `--spark-conf spark.local.dir` to a writable directory"),
    (r"assign requested address|bind", "set `--spark-conf spark.driver.bindAddress` to an address of this machine"),
    (r"UnsupportedClassVersionError|class file version", "name a newer Java with `--java-home`"),
    (r"VM option|garbage collector|max heap", "correct `spark.driver.extraJavaOptions`"),
    (r"ClassNotFoundException", "correct the name of the class in `--spark-conf`"),
    (r"Connection refused|UnknownHost|Connection timed out", "check that the cluster is up and can be reached"),
)


def spark_error(
    code: str, headline: str, reason: str, log_file: Path | None, full: str = "", *, adopted: bool = False
) -> Abend:
    """Return the error for a failure of Spark: cause, help, and where to read more. The cause is the `reason`, or what
    the log says of the cluster, which has ended the application. If the Spark is `adopted`, the help
    names its owner. At level DEBUG, ggfmt's own log has the `full` text and the end of Spark's log."""
    if full:
        log.debug("%s", without_credentials(full.rstrip()))
    if log_file is not None:
        lines = _lines(log_file)
        for line in lines[-_MAX_LOG_LINES:]:
            log.debug("spark: %s", without_credentials(line))
        reason = next((clause(found[1]) for line in lines if (found := _ENDED_APPLICATION.search(line))), reason)
    remedy = next((remedy for pattern, remedy in _REMEDIES if re.search(pattern, reason)), None)
    if remedy is not None and adopted:
        remedy = remedy.replace("--spark-conf ", "")
    see = None if log_file is None else f"see the log file `{log_file}`"
    return Abend(code, f"{headline}: {reason}", help="; ".join(filter(None, (remedy, see))) or None)


def cause_in_log(log_file: Path) -> str:
    lines = _lines(log_file)
    for pattern in _FATAL:
        for number, line in enumerate(lines):
            match = pattern.match(line)
            if match is not None:
                return innermost([match[1], *_causes_below(lines[number + 1 :])])
    return "the Java virtual machine ended without a word"


def cause_of_job(message: str) -> str:
    """Return why a Spark job failed, in one clause: the exception of a traceback, or the reason of the last failure."""
    worker = re.search(r"Error from python worker:\n(.*?)\s+PYTHONPATH was:", message, re.DOTALL)
    if worker:  # if a Python did not start, its last line has the cause
        return clause(worker[1].rpartition("\n")[2])
    _, traceback, trace = message.rpartition("Traceback (most recent call last):\n")
    if traceback:
        lines = [line for line in trace.partition("\n\tat ")[0].splitlines() if line[:1].strip()]
        return clause(lines[0] if lines else "an exception without a message")
    lost = re.search(r"most recent failure: (?:Lost task \S+ in stage \S+ \(TID \d+\) \([^)]*\): )?(.+)", message)
    return clause(lost[1] if lost else message.replace("Job aborted due to stage failure: ", ""))


def cause_of_exception(error: Exception) -> str:
    """Return why Java threw, in one clause. Nested causes are requested from the JVM, which may be gone by now."""
    causes: list[str] = []
    try:
        throwable = error.java_exception  # type: ignore[attr-defined]
        while throwable is not None and len(causes) < 20:
            causes.append(str(throwable.toString()))
            throwable = throwable.getCause()
    except Exception:
        causes = causes or [str(error)]
    return innermost(causes)


def java_message(error: Exception) -> str:
    try:
        return str(error.java_exception.toString())  # type: ignore[attr-defined]
    except Exception:
        return str(error)


def innermost(messages: Sequence[str]) -> str:
    """Return the last message of a chain of exceptions, or an earlier one that contains it and more."""
    clauses = [clause(message) for message in messages]
    best = clauses.pop()
    while clauses and clauses[-1].startswith(best):
        best = clauses.pop()
    return best


def clause(text: str) -> str:
    """Return the first line without the name of its Java class, which stays if there is nothing else to understand."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "Spark gave no reason")
    line = line.removeprefix("Error: ")
    while (exception := _EXCEPTION.match(line)) and line[exception.end() :].startswith(": "):
        rest = line[exception.end() + 2 :]
        if " " not in rest.strip():
            line = line[exception.start() :].rpartition(f": {rest}")[0].rpartition(".")[2] + f": {rest}"
            break
        line = rest
    if len(line) > _MAX_CLAUSE:
        line = re.split(r"(?<=[a-z)])[.!] | \(was ", line, maxsplit=1)[0]
    if len(line) > _MAX_CLAUSE:
        line = line[: _MAX_CLAUSE - 3] + "..."
    return line if line.endswith("...") else line.rstrip(".")


def _lines(log_file: Path) -> list[str]:
    try:
        return log_file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _causes_below(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        if line.startswith("Caused by: "):
            yield line.removeprefix("Caused by: ")
        elif not re.match(r"\s+(?:at |\.\.\. |Suppressed)|\t", line):
            return


def drop_py4j_records(record: logging.LogRecord) -> bool:
    """Return False for records of py4j about a lost connection, which a diagnostic reports. A logging filter."""
    return Path(record.pathname).parent.name != "py4j"
