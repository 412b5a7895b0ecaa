"""A small job on a cluster: what its machines have of what a run needs."""

from __future__ import annotations

import math
import os
import platform
import socket
import sys
import tempfile
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ggfmt.dataclasses import dataclass
from ggfmt.diagnostics.diagnostic import GgfmtError, without_credentials
from ggfmt.doctor.finding import (
    LIBRARIES,
    LITTLE_SPACE,
    Directory,
    Finding,
    Library,
    State,
    load,
    size_text,
    try_directory,
)
from ggfmt.spark.runners import runner_for
from ggfmt.spark.session import SparkRunner
from ggfmt.spark.target import SparkSettings
from ggfmt.version import VERSION

if TYPE_CHECKING:
    from ggfmt.spark.runners import SomeRunner

_TASK_SECONDS = 0.5  # a task occupies its slot for this time, so that the others go to other executors
_ANSWER_SECONDS = 60.0
_LATECOMERS_SECONDS = 3.0  # executors of one machine register one after another
_SILENT_SECONDS = 20.0

_PYTHON = "set PYSPARK_PYTHON to a Python that every worker has, of this version"


@dataclass(frozen=True)
class ExecutorReport:
    host: str
    python: str
    path: str
    ggfmt: str
    libraries: Mapping[str, Library]
    scratch: tuple[Directory, ...]

    @property
    def executor(self) -> tuple[str, ...]:
        return (self.host, *(directory.path for directory in self.scratch))

    @property
    def free(self) -> int | None:
        """Return the free bytes in the fullest directory; None if one cannot be written."""
        sizes = [directory.free for directory in self.scratch]
        return None if None in sizes else min(size for size in sizes if size is not None)


def report_executor(item: int, attempt: int) -> ExecutorReport:
    """Return what this process and its machine have. Runs as a task."""
    time.sleep(_TASK_SECONDS)
    given = [path for path in os.environ.get("SPARK_LOCAL_DIRS", "").split(",") if path]
    return ExecutorReport(
        socket.gethostname(),
        platform.python_version(),
        sys.executable,
        VERSION,
        {name: load(name) for name in LIBRARIES},
        tuple(try_directory(path) for path in given or [tempfile.gettempdir()]),
    )


def ask_cluster(settings: SparkSettings) -> list[Finding]:
    """Start a session on the master or the server of `settings`; return `session`, `executors`, and an `executor` for
    each problem. Raises: UsageError GG520 if they name both, GG524 for an invalid address of a server."""
    # On a master, the runner need not look at the workers: the job here does.
    runner: SomeRunner = SparkRunner(settings) if settings.remote is None else runner_for(None, settings)
    master = without_credentials(settings.master or runner.master)
    facts: dict[str, object] = {"master": master, "runs": None, "seconds": None}
    clock = time.monotonic()
    findings: list[Finding] = []
    try:
        with runner as session:
            took = time.monotonic() - clock
            facts |= {"runs": session.version, "seconds": round(took, 1)}
            message = f"{session.version} at `{master}`, started in {took:.1f} seconds"
            findings.append(Finding("session", State.OK, message, facts=facts))
            findings += assess_executors(*_ask(session), platform.python_version())
    except GgfmtError as error:
        diagnostic = error.diagnostics[0]
        message, help = diagnostic.message, diagnostic.help
        if findings:
            findings.append(Finding("executors", State.PROBLEM, message, help, _executors_facts(None, [])))
        else:
            findings.append(Finding("session", State.PROBLEM, message, help, facts))
    return findings


def _ask(session: SomeRunner) -> tuple[list[ExecutorReport], int | None]:
    """Return the reports, and the number of executors, which a server does not show."""

    def ask(tasks: int) -> dict[tuple[str, ...], ExecutorReport]:
        answers = session.run(report_executor, range(tasks), seconds=_ANSWER_SECONDS)
        return {report.executor: report for report in answers}

    if not isinstance(session, SparkRunner):
        return _sorted(ask(session.parallelism)), None
    reports: dict[tuple[str, ...], ExecutorReport] = {}
    first = newest = math.inf  # when the first executor answered
    while True:
        answers = ask(max(session.parallelism, session.executors))
        now, registered = time.monotonic(), session.executors
        if answers.keys() - reports.keys():
            first, newest = min(first, now), now
        reports |= answers
        complete = len(reports) >= registered and (session.is_local or now - newest > _LATECOMERS_SECONDS)
        if complete or now - first > _SILENT_SECONDS:
            return _sorted(reports), registered


def _sorted(reports: Mapping[tuple[str, ...], ExecutorReport]) -> list[ExecutorReport]:
    return sorted(reports.values(), key=lambda report: report.executor)


def assess_executors(reports: list[ExecutorReport], registered: int | None, own: str) -> list[Finding]:
    """Assess the reports of `registered` executors. `own`: the Python version of the driver."""
    facts = _executors_facts(registered, reports)
    if registered is not None and len(reports) < registered:
        message = f"only {len(reports)} of {registered} executors answer"
        help = f"{_PYTHON}; see what the others wrote to `stderr` in the work directories of their workers"
        summary = Finding("executors", State.PROBLEM, message, help, facts)
    else:
        hosts = len({report.host for report in reports})
        count = f"{len(reports)} executor{'s' * (len(reports) != 1)} on {hosts} machine{'s' * (hosts != 1)}"
        versions = {
            "Python": {report.python for report in reports},
            "ggfmt": {report.ggfmt for report in reports},
            "Arrow": {report.libraries["arrow"].version or "none" for report in reports},
        }
        listed = ", ".join(f"{name} {' and '.join(sorted(found))}" for name, found in versions.items())
        summary = Finding("executors", State.OK, f"{count} answered: {listed}", facts=facts)
    return [summary, *(finding for report in reports for finding in _wrong(report, own))]


def _wrong(report: ExecutorReport, own: str) -> list[Finding]:
    where, facts = f"the executor on `{report.host}`", _facts(report)
    findings = []
    if report.python.split(".")[:2] != own.split(".")[:2]:
        findings.append((State.PROBLEM, f"{where} has Python {report.python}, and this is {own}", _PYTHON))
    if report.ggfmt != VERSION:
        message = f"{where} has ggfmt {report.ggfmt}, and this is {VERSION}"
        findings.append((State.PROBLEM, message, "install the same there, or none: it is sent along"))
    for name, library in report.libraries.items():
        if library.problem is not None:
            package = LIBRARIES[name][0]
            message = f"{where} cannot load {package}: {library.problem}"
            help = f"pip install {package} for `{report.path}`, or set PYSPARK_PYTHON to a Python that has it"
            findings.append((State.PROBLEM, message, help))
    for directory in report.scratch:
        if directory.free is None:
            message = f"{where} cannot write to `{directory.path}`: {directory.problem}"
            help = "set SPARK_LOCAL_DIRS of the workers to a writable directory with free space"
            findings.append((State.PROBLEM, message, help))
        elif directory.free < LITTLE_SPACE:
            message = f"{where} has {size_text(directory.free)} free in `{directory.path}`, which is little"
            findings.append((State.WARNING, message, "free some space, or set SPARK_LOCAL_DIRS of the workers"))
    return [Finding("executor", state, message, help, facts) for state, message, help in findings]


def _executors_facts(registered: int | None, reports: list[ExecutorReport]) -> dict[str, object]:
    return {"registered": registered, "answered": len(reports), "reports": [_facts(report) for report in reports]}


def _facts(report: ExecutorReport) -> dict[str, object]:
    versions = {name: library.version for name, library in report.libraries.items()}
    return {
        "host": report.host,
        "python": report.python,
        "path": report.path,
        "ggfmt": report.ggfmt,
        **versions,
        "scratch": [directory.path for directory in report.scratch],
        "free_bytes": report.free,
    }
